//! Report of CPU use in the layout of AIX's `curt`, from the sections of a summary.
//!
//! IBM has published parts of the layout: the tables of categories and of threads, and the columns of interrupts. The
//! rest follows them, with columns as wide as their widest value.

mod calls;
mod details;

use crate::print::Grid;
use crate::section::{Section, Summary, Value};
use std::collections::HashMap;
use tfbc_vm::TextBuf;

/// Width in which titles are centred.
const WIDTH: usize = 80;

/// Parts of the report that are not always printed.
#[derive(Debug, Clone, Copy, Default)]
pub struct CurtOptions {
    /// True for elapsed times of system calls (`-e`).
    pub elapsed: bool,
    /// True for the errors of system calls (`-s`).
    pub errors: bool,
    /// True for a report per thread (`-t`).
    pub threads: bool,
    /// True for a report per process (`-p`).
    pub processes: bool,
    /// True for a report of pthreads (`-P`).
    pub pthreads: bool,
}

/// Appends the report. The summary needs the sections cpu, process, thread, call, pending and interrupt, with the options
/// `per_cpu` and `addresses`, and `per_thread` for reports per thread or process.
pub fn write_curt(summary: &Summary, options: CurtOptions, out: &mut TextBuf) {
    let Some(cpus) = summary.section("cpu") else { return };
    let mut report = Report { summary, options, whole: summary.whole_ns, addresses: addresses(summary), out };
    let (all, each) = match cpus.rows.split_last() {
        Some((all, each)) => (all, each),
        None => return,
    };
    report.title("System Summary");
    report.categories(cpus, all);
    report.line("");
    let (same, known) = (count(cpus, all, "affinity_same"), count(cpus, all, "affinity_known"));
    report.affinity("Avg. Thread Affinity", same, known);
    report.application_calls(cpus, all);
    for row in each {
        report.title(&format!("Processor Summary  processor number {}", row[0]));
        report.categories(cpus, row);
        report.line("");
        let (same, known) = (count(cpus, row, "affinity_same"), count(cpus, row, "affinity_known"));
        report.affinity("Avg. Thread Affinity", same, known);
        report.line("");
        report.line(&format!("Total number of process dispatches = {}", count(cpus, row, "dispatches")));
        report.line(&format!("Total number of idle dispatches = {}", count(cpus, row, "idle_dispatches")));
    }
    report.applications();
    report.kernel_processes();
    report.calls("SYSCALL", "System Calls");
    report.calls("HCALL", "Hypervisor Calls");
    report.calls("NFS", "NFS Calls");
    report.calls("PTHREAD", "Pthread Calls");
    report.interrupts("FLIH", "Flih");
    report.interrupts("SLIH", "Slih");
    report.details();
}

fn addresses(summary: &Summary) -> HashMap<(String, String), String> {
    let Some(calls) = summary.section("call") else { return HashMap::new() };
    let address = |row: &Vec<Value>| match calls.get(row, "address") {
        Some(Value::Text(address)) => Some(((text(calls, row, "class"), text(calls, row, "call")), address.clone())),
        _ => None,
    };
    calls.rows.iter().filter_map(address).collect()
}

/// Number in a column of a row; 0 if it is unknown.
fn count(section: &Section, row: &[Value], name: &str) -> u128 {
    if let Some(Value::Number(number)) = section.get(row, name) { number.unsigned_abs() } else { 0 }
}

/// Text in a column of a row; `?` if it is unknown.
fn text(section: &Section, row: &[Value], name: &str) -> String {
    match section.get(row, name) {
        Some(Value::Null) | None => String::from("?"),
        Some(value) => value.to_string(),
    }
}

/// Type and name, or name and address, of an interrupt.
fn interrupt_label(section: &Section, row: &[Value]) -> String {
    match (section.get(row, "type"), section.get(row, "address")) {
        (Some(Value::Number(kind)), _) => format!("{kind:>5}({})", text(section, row, "name")),
        (_, Some(Value::Text(address))) => {
            format!(" {}({})", text(section, row, "name"), address.to_ascii_lowercase())
        }
        _ => String::from("    ?"),
    }
}

/// Milliseconds with `decimals` decimals, rounded half up.
fn ms(ns: u128, decimals: u32) -> String {
    scaled(ns, 1_000_000, decimals)
}

/// Share in percent with `decimals` decimals, rounded half up.
fn percent(part: u128, whole: u128, decimals: u32) -> String {
    if whole == 0 { format!("{:.*}", decimals as usize, 0.0) } else { scaled(part * 100, whole, decimals) }
}

fn scaled(number: u128, unit: u128, decimals: u32) -> String {
    let scale = 10u128.pow(decimals);
    let rounded = (number * scale * 2 + unit) / (2 * unit);
    format!("{}.{:0width$}", rounded / scale, rounded % scale, width = decimals as usize)
}

/// Line of a table of application times, in nanoseconds.
struct ApplicationRow {
    name: String,
    application: u128,
    /// Time in system calls.
    call: u128,
}

struct Report<'r> {
    summary: &'r Summary,
    options: CurtOptions,
    /// CPUs × span.
    whole: u128,
    /// Addresses of calls, by class and name.
    addresses: HashMap<(String, String), String>,
    out: &'r mut TextBuf,
}

impl Report<'_> {
    fn line(&mut self, line: &str) {
        self.out.push(line.trim_end().as_bytes());
        self.out.push(b"\n");
    }

    fn title(&mut self, title: &str) {
        let indent = " ".repeat(WIDTH.saturating_sub(title.len()) / 2);
        self.line("");
        self.line(&format!("{indent}{title}"));
        self.line(&format!("{indent}{}", "-".repeat(title.len())));
    }

    fn affinity(&mut self, name: &str, same: u128, known: u128) {
        let share = if known == 0 { String::from("-") } else { scaled(same, known, 2) };
        self.line(&format!("{name} ={share:>12}"));
    }

    /// Table of categories of one CPU or of all.
    fn categories(&mut self, cpus: &Section, row: &[Value]) {
        let total = count(cpus, row, "span_ns");
        let busy = count(cpus, row, "busy_ns");
        let get = |name: &str| count(cpus, row, name);
        self.line(" processing       percent       percent");
        self.line(" total time    total time     busy time");
        self.line("     (msec)  (incl. idle)  (excl. idle)  processing category");
        self.line("===========   ===========   ===========  ===================");
        let mut rows = Vec::new();
        rows.push((get("application_ns"), String::from("APPLICATION")));
        rows.push((get("syscall_ns"), String::from("SYSCALL")));
        let hcall = get("hcall_ns");
        if hcall > 0 {
            rows.push((hcall, String::from("HCALL")));
        }
        rows.push((get("kproc_ns"), String::from("KPROC (excluding IDLE and NFS)")));
        let nfs = get("nfs_ns");
        if nfs > 0 {
            rows.push((nfs, String::from("NFS")));
        }
        rows.push((get("flih_ns"), String::from("FLIH")));
        rows.push((get("slih_ns"), String::from("SLIH")));
        rows.extend(self.classes(cpus, row));
        rows.push((get("dispatch_ns") + get("idle_dispatch_ns"), String::from("DISPATCH (all procs. incl. IDLE)")));
        rows.push((get("idle_dispatch_ns"), String::from("IDLE DISPATCH (only IDLE proc.)")));
        let mode = get("mode_ns");
        if mode > 0 {
            rows.push((mode, String::from("THREAD (mode not told)")));
        }
        for (ns, name) in rows {
            let (share, of_busy) = (percent(ns, total, 2), percent(ns, busy, 2));
            self.line(&format!("{:>11}{share:>14}{of_busy:>14}  {name}", ms(ns, 2)));
        }
        self.line("-----------    ----------       -------");
        let share = percent(busy, total, 2);
        self.line(&format!("{:>11}{share:>14}{:>14}  CPU(s) busy time", ms(busy, 2), "100.00"));
        let idle = get("idle_ns");
        self.line(&format!("{:>11}{:>14}{:>14}  IDLE", ms(idle, 2), percent(idle, total, 2), ""));
        for (name, label) in [
            ("unknown_ns", "UNKNOWN (not told by the trace)"),
            ("lost_ns", "LOST (events missed)"),
            ("off_ns", "OFF (tracing was off)"),
        ] {
            let ns = get(name);
            if ns > 0 {
                self.line(&format!("{:>11}{:>14}{:>14}  {label}", ms(ns, 2), percent(ns, total, 2), ""));
            }
        }
        self.line("-----------    ----------");
        self.line(&format!("{:>11}{:>28}  TOTAL", ms(total, 2), ""));
    }

    /// Share of pthread calls in the time of applications, if the trace has such calls.
    fn application_calls(&mut self, cpus: &Section, all: &[Value]) {
        if cpus.column("pthread_ns").is_none() {
            return;
        }
        let get = |name: &str| count(cpus, all, name);
        let (total, calls) = (get("span_ns"), get("pthread_ns"));
        let own = get("application_ns") + get("mode_ns");
        self.title("System Application Summary");
        self.line(" processing       percent       percent");
        self.line(" total time    total time   application");
        self.line("     (msec)  (incl. idle)          time  processing category");
        self.line("===========   ===========   ===========  ===================");
        let row = |ns: u128, name: &str| {
            format!("{:>11}{:>14}{:>14}  {name}", ms(ns, 2), percent(ns, total, 2), percent(ns, own + calls, 2))
        };
        self.line(&row(calls, "PTHREAD"));
        self.line(&row(own, "APPLICATION"));
        self.line("-----------    ----------       -------");
        self.line(&row(own + calls, "TOTAL APPLICATION"));
    }

    /// Times of the classes that a context table adds.
    fn classes(&self, cpus: &Section, row: &[Value]) -> Vec<(u128, String)> {
        let known = [
            "span",
            "busy",
            "mode",
            "application",
            "syscall",
            "hcall",
            "kproc",
            "nfs",
            "flih",
            "slih",
            "dispatch",
            "idle_dispatch",
            "idle",
            "unknown",
            "lost",
            "off",
        ];
        let names = cpus.columns.iter().filter_map(|column| column.name.strip_suffix("_ns"));
        let others = names.filter(|name| !known.contains(name));
        let class = |name: &str| (count(cpus, row, &format!("{name}_ns")), name.to_ascii_uppercase());
        others.map(class).filter(|(ns, _)| *ns > 0).collect()
    }

    /// Name, process and thread of a row.
    fn owner(section: &Section, row: &[Value]) -> String {
        format!("{}({}  {})", text(section, row, "name"), text(section, row, "pid"), text(section, row, "tid"))
    }

    /// Application and call times of a row. Time in an unknown mode counts as application.
    fn application(section: &Section, row: &[Value], name: String) -> ApplicationRow {
        ApplicationRow {
            name,
            application: count(section, row, "application_ns") + count(section, row, "mode_ns"),
            call: count(section, row, "syscall_ns"),
        }
    }

    fn applications(&mut self) {
        let (Some(threads), Some(processes)) = (self.summary.section("thread"), self.summary.section("process")) else {
            return;
        };
        let rows = |section: &Section, name: &dyn Fn(&[Value]) -> String| {
            let rows = section.rows.iter().map(|row| Self::application(section, row, name(row)));
            rows.filter(|row| row.application + row.call > 0).collect::<Vec<_>>()
        };
        let of_threads = rows(threads, &|row| Self::owner(threads, row));
        self.application_table("Application Summary (by Tid)", "name (Pid  Tid)", 13, of_threads);
        let of_processes = rows(processes, &|row| {
            let (name, pid) = (text(processes, row, "name"), text(processes, row, "pid"));
            format!("{name}({pid})({})", count(processes, row, "threads"))
        });
        self.application_table("Application Summary (by Pid)", "name (Pid)(Thread Count)", 9, of_processes);
        // Processes of a name share a row.
        let mut types: Vec<(ApplicationRow, u128)> = Vec::new();
        for row in &processes.rows {
            let new = Self::application(processes, row, text(processes, row, "name"));
            if new.application + new.call == 0 {
                continue;
            }
            let n = count(processes, row, "threads");
            match types.iter_mut().find(|(known, _)| known.name == new.name) {
                Some((known, threads)) => {
                    known.application += new.application;
                    known.call += new.call;
                    *threads += n;
                }
                None => types.push((new, n)),
            }
        }
        let of_types = types.into_iter().map(|(row, n)| ApplicationRow { name: format!("{}({n})", row.name), ..row });
        let title = "Application Summary (by process type)";
        self.application_table(title, "name (Thread Count)", 9, of_types.collect());
        if threads.rows.iter().any(|row| count(threads, row, "mode_ns") > 0) {
            self.line("");
            self.line("Note: application time includes time of threads whose mode is not told.");
        }
    }

    fn application_table(&mut self, title: &str, name: &str, last: usize, mut rows: Vec<ApplicationRow>) {
        rows.sort_by_key(|row| std::cmp::Reverse(row.application + row.call));
        self.title(title);
        self.line(" -- processing total (msec) --      -- percent of total processing time --");
        self.line(&format!(" combined  application  syscall  combined  application{:>last$}  {name}", "syscall"));
        let rule = "=".repeat(name.len());
        self.line(&format!(" ========  ===========  =======  ========  ==========={:>last$}  {rule}", "======="));
        for ApplicationRow { name, application, call } in rows {
            let both = application + call;
            let [a, b, c] = [both, application, call].map(|ns| ms(ns, 4));
            let [d, e, f] = [both, application, call].map(|ns| percent(ns, self.whole, 4));
            self.line(&format!("{a:>9}{b:>13}{c:>9}{d:>10}{e:>13}{f:>last$}  {name}"));
        }
    }

    fn kernel_processes(&mut self) {
        let (Some(threads), Some(processes)) = (self.summary.section("thread"), self.summary.section("process")) else {
            return;
        };
        let of_thread = |row: &[Value]| Self::owner(threads, row);
        self.kernel_table("Kproc Summary (by Tid)", "name (Pid  Tid)", threads, &of_thread);
        let of_process = |row: &[Value]| format!("{}({})", text(processes, row, "name"), text(processes, row, "pid"));
        self.kernel_table("Kproc Summary (by Pid)", "name (Pid)", processes, &of_process);
    }

    fn kernel_table(&mut self, title: &str, name: &str, section: &Section, name_of: &dyn Fn(&[Value]) -> String) {
        let time = |row: &[Value]| count(section, row, "kproc_ns") + count(section, row, "idle_ns");
        let mut rows: Vec<_> = section.rows.iter().filter(|row| time(row) > 0).collect();
        if rows.is_empty() {
            return;
        }
        rows.sort_by_key(|row| std::cmp::Reverse(time(row)));
        self.title(title);
        let mut grid = Grid::new(3);
        let whole = self.whole;
        head(&mut grid, &["Total Time (msec)", "% total", name]);
        for row in rows {
            let idle = if count(section, row, "idle_ns") > 0 { " IDLE" } else { "" };
            let cells = [ms(time(row), 4), percent(time(row), whole, 4), name_of(row) + idle];
            cells.iter().for_each(|cell| grid.cell(|out| out.extend(cell.bytes())));
        }
        grid.write(&[false, false, true], self.out);
    }

    /// Tables of the interrupts of a class: of all CPUs, by CPU, and those that were not finished.
    fn interrupts(&mut self, class: &str, name: &str) {
        let Some(section) = self.summary.section("interrupt") else { return };
        let is_own = |row: &&Vec<Value>| matches!(section.get(row, "class"), Some(Value::Text(own)) if own == class);
        let rows: Vec<_> = section.rows.iter().filter(is_own).collect();
        if rows.is_empty() {
            return;
        }
        let label = |row: &[Value]| interrupt_label(section, row);
        let mut sums: Vec<(String, [u128; 4])> = Vec::new();
        let mut place_of: HashMap<String, usize> = HashMap::new();
        for row in &rows {
            let [n, total, min, max] = ["count", "total_ns", "min_ns", "max_ns"].map(|name| count(section, row, name));
            let total = total - count(section, row, "unfinished_ns").min(total);
            let label = label(row);
            match place_of.get(&label) {
                Some(place) => {
                    let sum = &mut sums[*place].1;
                    sum[2] = if sum[0] == 0 || (n > 0 && min < sum[2]) { min } else { sum[2] };
                    sum[3] = sum[3].max(max);
                    (sum[0], sum[1]) = (sum[0] + n, sum[1] + total);
                }
                None => {
                    place_of.insert(label.clone(), sums.len());
                    sums.push((label, [n, total, min, max]));
                }
            }
        }
        sums.sort_by_key(|(_, [_, total, ..])| std::cmp::Reverse(*total));
        self.title(&format!("Global {name} Summary"));
        self.interrupt_head(name);
        for (label, [n, total, min, max]) in sums.into_iter().filter(|(_, numbers)| numbers[0] > 0) {
            self.interrupt_row(&label, n, [total, total / n, min, max]);
        }
        self.title(&format!("Per CPU {name} Summary"));
        let mut cpus: Vec<&Value> = rows.iter().map(|row| &row[0]).collect();
        cpus.sort();
        cpus.dedup();
        for cpu in cpus {
            self.line(&format!("CPU Number {cpu}:"));
            self.interrupt_head(name);
            for row in rows.iter().filter(|row| row[0] == *cpu && count(section, row, "count") > 0) {
                let n = count(section, row, "count");
                let total = count(section, row, "total_ns") - count(section, row, "unfinished_ns");
                self.interrupt_row(
                    &label(row),
                    n,
                    [total, total / n, count(section, row, "min_ns"), count(section, row, "max_ns")],
                );
            }
        }
        let open: Vec<_> = rows.iter().filter(|row| count(section, row, "unfinished") > 0).collect();
        if open.is_empty() {
            return;
        }
        self.title(&format!("Pending {name} Summary"));
        self.line("Accumulated Time (msec)  Type");
        for row in open {
            self.line(&format!("{:>23}{}", ms(count(section, row, "unfinished_ns"), 4), label(row)));
        }
    }

    fn interrupt_head(&mut self, name: &str) {
        self.line("        Count  Total Time    Avg Time    Min Time    Max Time");
        self.line(&format!("                   (msec)      (msec)      (msec)      (msec)  {name} Type"));
        self.line("=============  ==========  ==========  ==========  ==========  =========");
    }

    fn interrupt_row(&mut self, label: &str, n: u128, times: [u128; 4]) {
        let [total, mean, min, max] = times.map(|ns| ms(ns, 4));
        self.line(&format!("{n:>13}{total:>12}{mean:>12}{min:>12}{max:>12}{label}"));
    }
}

/// Adds the heading of a table, and a rule.
fn head(grid: &mut Grid, names: &[&str]) {
    names.iter().for_each(|name| grid.cell(|out| out.extend(name.bytes())));
    names.iter().for_each(|name| grid.cell(|out| out.extend("=".repeat(name.len()).bytes())));
}
