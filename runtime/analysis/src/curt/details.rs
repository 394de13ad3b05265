//! Reports of single threads and processes.

use super::calls::{has_class, of_class};
use super::{ApplicationRow, Report, count, interrupt_label, ms, scaled, text};
use crate::print::Grid;
use crate::section::{Column, ColumnKind, Section, Summary, Value};
use std::collections::BTreeMap;

/// Classes of calls with a table, and their names.
const CLASSES: [(&str, &str); 4] =
    [("SYSCALL", "System Call"), ("HCALL", "Hypervisor Call"), ("NFS", "NFS Call"), ("PTHREAD", "Pthread Call")];

/// Number of columns that identify a thread: process, generation and thread.
const THREAD_IDS: usize = 3;
/// Number of columns that identify a process.
const PROCESS_IDS: usize = 2;

/// Rows of a section by the ids of a thread or process. A trace may have 65,536 threads, so a search of all rows for
/// each of them would take too long.
struct OwnRows<'s> {
    section: Option<&'s Section>,
    by_ids: BTreeMap<&'s [Value], Vec<&'s Vec<Value>>>,
}

impl<'s> OwnRows<'s> {
    fn new(section: Option<&'s Section>, n_ids: usize) -> Self {
        let mut by_ids: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for row in section.into_iter().flat_map(|section| &section.rows) {
            by_ids.entry(&row[..n_ids]).or_default().push(row);
        }
        Self { section, by_ids }
    }

    /// Rows that begin with these ids.
    fn of(&self, ids: &[Value]) -> &[&'s Vec<Value>] {
        self.by_ids.get(ids).map_or(&[], Vec::as_slice)
    }

    /// Rows with these ids and a class of calls, with their section.
    fn of_class(&self, ids: &[Value], class: &str) -> Option<(&'s Section, Vec<&'s Vec<Value>>)> {
        let section = self.section?;
        let rows: Vec<_> = self.of(ids).iter().copied().filter(|row| has_class(section, row, class)).collect();
        (!rows.is_empty()).then_some((section, rows))
    }
}

/// Finished and pending calls of threads or processes.
struct OwnCalls<'s> {
    finished: OwnRows<'s>,
    pending: OwnRows<'s>,
}

impl<'s> OwnCalls<'s> {
    fn new(summary: &'s Summary, n_ids: usize) -> Self {
        let own = |name: &str| OwnRows::new(summary.section(name), n_ids);
        Self { finished: own("thread_call"), pending: own("pending") }
    }
}

impl Report<'_> {
    /// Reports that flags ask for.
    pub(super) fn details(&mut self) {
        if self.options.threads {
            self.threads();
        }
        if self.options.processes {
            self.processes();
        }
        if self.options.pthreads {
            self.pthreads();
        }
    }

    fn threads(&mut self) {
        let summary = self.summary;
        let Some(threads) = summary.section("thread") else { return };
        let calls = OwnCalls::new(summary, THREAD_IDS);
        let [dispatches, interrupts] =
            ["thread_dispatch", "thread_interrupt"].map(|name| OwnRows::new(summary.section(name), THREAD_IDS));
        for row in sorted(threads, "tid") {
            let (tid, pid) = (text(threads, row, "tid"), text(threads, row, "pid"));
            let hex = |name: &str| match threads.get(row, name) {
                Some(Value::Number(id)) => format!("{id:x}"),
                _ => String::from("?"),
            };
            let (tid_hex, pid_hex) = (hex("tid"), hex("pid"));
            self.line("");
            self.line(&format!("Report for Thread Id: {tid} (hex {tid_hex}) Pid: {pid} (hex {pid_hex})"));
            self.line(&format!("Process Name: {}", text(threads, row, "name")));
            self.line("---------------------");
            self.times(threads, row);
            self.own_calls(&calls, &row[..THREAD_IDS], "Thread", &CLASSES);
            self.line("");
            let (same, known) = (count(threads, row, "affinity_same"), count(threads, row, "affinity_known"));
            let affinity = if known == 0 { String::from("-") } else { scaled(same, known, 6) };
            self.line(&format!("processor affinity: {affinity}"));
            self.dispatches(&dispatches, row);
            self.line(&format!("total number of dispatches: {}", count(threads, row, "dispatches")));
            let (waited, n) = (count(threads, row, "waited_ns"), count(threads, row, "waits"));
            let mean = if n == 0 { String::from("-") } else { scaled(waited, 1_000_000 * n, 6) };
            self.line(&format!("avg. dispatch wait time (ms): {mean}"));
            self.own_interrupts(&interrupts, row);
        }
    }

    fn processes(&mut self) {
        let summary = self.summary;
        let (Some(processes), Some(threads)) = (summary.section("process"), summary.section("thread")) else { return };
        let (members, calls) = (OwnRows::new(Some(threads), PROCESS_IDS), OwnCalls::new(summary, PROCESS_IDS));
        for row in sorted(processes, "pid") {
            self.line("");
            self.line(&format!("Process Details for Pid: {}", text(processes, row, "pid")));
            self.line(&format!("Process Name: {}", text(processes, row, "name")));
            let own = members.of(&row[..PROCESS_IDS]);
            let tids: Vec<String> = own.iter().map(|row| text(threads, row, "tid")).collect();
            self.line(&format!("{} Tids for this Pid: {}", tids.len(), tids.join(" ")));
            self.line("---------------------");
            self.times(processes, row);
            self.own_calls(&calls, &row[..PROCESS_IDS], "Process", &CLASSES);
        }
    }

    /// Pthread calls per thread.
    fn pthreads(&mut self) {
        let summary = self.summary;
        let has_calls = summary.section("call").is_some_and(|calls| of_class(calls, "PTHREAD").next().is_some());
        let Some(threads) = summary.section("thread").filter(|_| has_calls) else {
            self.line("");
            return self.line("no pthread events are told of by the context table");
        };
        let calls = OwnCalls::new(summary, THREAD_IDS);
        for row in sorted(threads, "tid") {
            let ids = &row[..THREAD_IDS];
            if [&calls.finished, &calls.pending].iter().all(|own| own.of_class(ids, "PTHREAD").is_none()) {
                continue;
            }
            self.line("");
            self.line(&format!("Pthread Report for Thread Id: {}", text(threads, row, "tid")));
            self.line(&format!("Process Name: {}", text(threads, row, "name")));
            self.line("---------------------");
            self.time("Pthread", count(threads, row, "pthread_ns"));
            self.own_calls(&calls, ids, "Thread", &CLASSES[3..]);
        }
    }

    /// Times of a thread or process. Time in an unknown mode counts as application.
    fn times(&mut self, section: &Section, row: &[Value]) {
        let ApplicationRow { application, call, .. } = Self::application(section, row, String::new());
        self.time("Application", application);
        self.time("System Call", call);
        for column in &section.columns {
            let Some(name) = column.name.strip_suffix("_ns") else { continue };
            let ns = count(section, row, &column.name);
            let name = match name {
                "total" | "application" | "mode" | "syscall" | "waited" => continue,
                "hcall" => String::from("Hypervisor"),
                "nfs" => String::from("NFS"),
                _ => name[..1].to_uppercase() + &name[1..],
            };
            if ns > 0 {
                self.time(&name, ns);
            }
        }
    }

    fn time(&mut self, name: &str, ns: u128) {
        let label = format!("Total {name} Time (ms):");
        self.line(&format!("{label:<28}{:>13}", ms(ns, 6)));
    }

    /// Calls of a thread or process, their errors, and the calls that have not returned.
    fn own_calls(&mut self, own_calls: &OwnCalls<'_>, ids: &[Value], owner: &str, classes: &[(&str, &str)]) {
        for (class, name) in classes {
            let own = own_calls.finished.of_class(ids, class).map(|(calls, rows)| merged(calls, rows));
            if let Some(calls) = &own {
                self.heading(&format!("{owner} {name} Summary"));
                let finished: Vec<_> = calls.rows.iter().filter(|row| count(calls, row, "count") > 0).collect();
                self.call_table(calls, &finished, class);
            }
            if self.options.errors && *class == "SYSCALL" {
                self.line("");
                let errors = own.as_ref().map(|calls| self.errors(calls, calls.rows.iter())).unwrap_or_default();
                if errors.is_empty() {
                    self.line("No Errors Returned by System Calls");
                } else {
                    self.error_lines(&errors, "System Calls");
                }
            }
            if let Some((pending, rows)) = own_calls.pending.of_class(ids, class) {
                self.heading(&format!("Pending {name}s Summary"));
                self.pending_table(pending, &rows, false);
            }
        }
    }

    /// Dispatches of a thread by CPU.
    fn dispatches(&mut self, dispatches: &OwnRows<'_>, row: &[Value]) {
        let (Some(section), own @ [_, ..]) = (dispatches.section, dispatches.of(&row[..THREAD_IDS])) else { return };
        self.line("");
        self.line("Dispatch Histogram for thread (CPUid : times_dispatched).");
        for row in own {
            self.line(&format!("    CPU {} : {}", text(section, row, "cpu"), count(section, row, "count")));
        }
        self.line("");
    }

    /// Interrupts by type that occurred while a thread ran.
    fn own_interrupts(&mut self, interrupts: &OwnRows<'_>, row: &[Value]) {
        let Some(section) = interrupts.section else { return };
        let own = interrupts.of(&row[..THREAD_IDS]);
        self.heading("Data on Interrupts that Occurred while Thread was Running");
        let mut grid = Grid::new(2);
        super::head(&mut grid, &["Type of Interrupt", "Count"]);
        for row in own {
            let name = format!("{} {}", text(section, row, "class"), interrupt_label(section, row).trim_start());
            for cell in [name, count(section, row, "count").to_string()] {
                grid.cell(|out| out.extend(cell.bytes()));
            }
        }
        grid.write(&[true, false], self.out);
    }

    fn heading(&mut self, title: &str) {
        self.line("");
        self.line(title);
        self.line(&"-".repeat(title.len()));
    }
}

/// Rows in the order of an id.
fn sorted<'s>(section: &'s Section, id: &str) -> Vec<&'s Vec<Value>> {
    let mut rows: Vec<_> = section.rows.iter().collect();
    rows.sort_by_key(|row| (section.get(row, id), &row[..PROCESS_IDS]));
    rows
}

/// Calls of a thread or process, each name once.
fn merged(calls: &Section, rows: Vec<&Vec<Value>>) -> Section {
    let mut by_name: BTreeMap<&[Value], Vec<Value>> = BTreeMap::new();
    for row in rows {
        // Class, name and address.
        let name = &row[THREAD_IDS..THREAD_IDS + 3];
        match by_name.get_mut(name) {
            Some(sum) => add(&calls.columns, sum, row),
            None => drop(by_name.insert(name, row.clone())),
        }
    }
    let mut own = Section { name: calls.name, columns: calls.columns.clone(), rows: by_name.into_values().collect() };
    let total = |row: &Vec<Value>| count(calls, row, "cpu_total_ns");
    own.rows.sort_by_key(|row| std::cmp::Reverse(total(row)));
    own
}

/// Adds the numbers of a row to another one.
fn add(columns: &[Column], sum: &mut [Value], row: &[Value]) {
    let n = columns.iter().position(|column| column.kind == ColumnKind::Count);
    for (at, column) in columns.iter().enumerate() {
        sum[at] = match (&sum[at], &row[at], column.kind) {
            (Value::Number(one), Value::Number(other), kind) => Value::Number(match kind {
                ColumnKind::Count | ColumnKind::Ns => one + other,
                ColumnKind::Min => *one.min(other),
                ColumnKind::Max => *one.max(other),
                // Total and minimum are to the left of the mean.
                ColumnKind::Mean => match (&sum[at - 2], n.map(|n| &sum[n])) {
                    (Value::Number(total), Some(Value::Number(n @ 1..))) => total / n,
                    _ => continue,
                },
                ColumnKind::Id => continue,
            }),
            (Value::Null, other, ColumnKind::Min | ColumnKind::Mean | ColumnKind::Max) => other.clone(),
            (Value::Counts(one), Value::Counts(other), _) => {
                let mut counts = one.clone();
                other.iter().for_each(|(number, n)| *counts.entry(*number).or_default() += n);
                Value::Counts(counts)
            }
            _ => continue,
        };
    }
}
