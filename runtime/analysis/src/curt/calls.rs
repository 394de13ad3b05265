//! Tables of calls: finished and pending ones, and their errors.

use super::{Report, count, head, ms, percent, text};
use crate::print::Grid;
use crate::section::{Section, Value};
use std::collections::BTreeMap;

impl Report<'_> {
    /// Tables of the calls of a class, if the trace has any.
    pub(super) fn calls(&mut self, class: &str, title: &str) {
        let Some(calls) = self.summary.section("call") else { return };
        let rows: Vec<_> = of_class(calls, class).filter(|row| count(calls, row, "count") > 0).collect();
        let is_empty = of_class(calls, class).next().is_none();
        if !is_empty {
            self.title(&format!("{title} Summary"));
            self.call_table(calls, &rows, class);
            let errors = self.errors(calls, of_class(calls, class));
            if self.options.errors && !errors.is_empty() {
                self.title(&format!("Errors Returned by {title}"));
                self.error_lines(&errors, title);
            }
        }
        let Some(pending) = self.summary.section("pending") else { return };
        let rows: Vec<_> = of_class(pending, class).collect();
        if !rows.is_empty() {
            self.title(&format!("Pending {title} Summary"));
            self.pending_table(pending, &rows, true);
        }
    }

    /// Table of finished calls.
    pub(super) fn call_table(&mut self, calls: &Section, rows: &[&Vec<Value>], class: &str) {
        let mut names = vec!["Count", "Total Time (msec)", "% sys time", "Avg Time", "Min Time", "Max Time"];
        let mut keys = vec!["cpu_mean_ns", "cpu_min_ns", "cpu_max_ns"];
        if self.options.elapsed {
            names.extend(["Tot ETime", "Avg ETime", "Min ETime", "Max ETime"]);
            keys.extend(["elapsed_total_ns", "elapsed_mean_ns", "elapsed_min_ns", "elapsed_max_ns"]);
        }
        names.push(match class {
            "HCALL" => "HCALL (Address)",
            "NFS" => "Opcode",
            "PTHREAD" => "Pthread Routine",
            _ => "SVC (Address)",
        });
        let mut grid = Grid::new(names.len());
        head(&mut grid, &names);
        let whole = self.whole;
        for row in rows {
            let total = count(calls, row, "cpu_total_ns");
            let mut cells = vec![count(calls, row, "count").to_string(), ms(total, 4), percent(total, whole, 2)];
            cells.extend(keys.iter().map(|key| ms(count(calls, row, key), 4)));
            cells.push(self.call_label(calls, row));
            cells.iter().for_each(|cell| grid.cell(|out| out.extend(cell.bytes())));
        }
        let mut is_left = vec![false; names.len()];
        is_left[names.len() - 1] = true;
        grid.write(&is_left, self.out);
    }

    /// Name and address of a call: `kread(16a01c)`. A trace may contain only one of them.
    pub(super) fn call_label(&self, section: &Section, row: &[Value]) -> String {
        let name = text(section, row, "call");
        // Pending calls have no address of their own.
        let found = match section.get(row, "address") {
            Some(Value::Text(address)) => Some(address),
            _ => self.addresses.get(&(text(section, row, "class"), name.clone())),
        };
        match found {
            Some(address) if *address == name => format!("?({})", address.to_ascii_lowercase()),
            Some(address) => format!("{name}({})", address.to_ascii_lowercase()),
            None => name,
        }
    }

    /// Names and errors of the calls that failed.
    pub(super) fn errors<'s>(
        &self,
        calls: &'s Section,
        rows: impl Iterator<Item = &'s Vec<Value>>,
    ) -> Vec<(String, &'s BTreeMap<u64, u64>)> {
        let errors = |row: &'s Vec<Value>| match calls.get(row, "errors") {
            Some(Value::Counts(errors)) if !errors.is_empty() => Some((self.call_label(calls, row), errors)),
            _ => None,
        };
        rows.filter_map(errors).collect()
    }

    /// Lines of the errors of calls.
    pub(super) fn error_lines(&mut self, errors: &[(String, &BTreeMap<u64, u64>)], title: &str) {
        let singular = title.trim_end_matches('s');
        for (name, errors) in errors {
            self.line(&format!("Errors (errno : count) returned for {singular}: {name}"));
            for (errno, n) in *errors {
                self.line(&format!("   ({errno:>3} : {n})"));
            }
        }
    }

    /// Table of calls that have not returned. `is_named` adds their threads.
    pub(super) fn pending_table(&mut self, pending: &Section, rows: &[&Vec<Value>], is_named: bool) {
        let processes = self.summary.section("process");
        let mut names = vec!["Accumulated Time (msec)", "SVC (Address)"];
        names.extend(is_named.then_some("Procname (Pid Tid)"));
        let mut grid = Grid::new(names.len());
        head(&mut grid, &names);
        for row in rows {
            let mut cells = vec![ms(count(pending, row, "cpu_ns"), 4), self.call_label(pending, row)];
            if is_named {
                let (pid, tid) = (text(pending, row, "pid"), text(pending, row, "tid"));
                let is_own = |process: &&Vec<Value>| process[..2] == row[..2];
                let name = processes.and_then(|section| Some(text(section, section.rows.iter().find(is_own)?, "name")));
                cells.push(format!("{} ({pid} {tid})", name.unwrap_or_else(|| String::from("?"))));
            }
            cells.iter().for_each(|cell| grid.cell(|out| out.extend(cell.bytes())));
        }
        grid.write(&[false, true, true], self.out);
    }
}

/// Rows of a class.
pub(super) fn of_class<'s>(section: &'s Section, class: &str) -> impl Iterator<Item = &'s Vec<Value>> {
    section.rows.iter().filter(move |row| has_class(section, row, class))
}

/// True if a row is of a class.
pub(super) fn has_class(section: &Section, row: &[Value], class: &str) -> bool {
    matches!(section.get(row, "class"), Some(Value::Text(own)) if own == class)
}
