//! Sections of a summary: tables computed from the totals.

use crate::machine::parts::{Class, Thread, cells};
use crate::machine::{OTHERS, ThreadState};
use crate::rows::{CALL_TIMES, call_times, hex, process_ids, process_of, spread, tid};
use crate::section::ColumnKind::{self, Count, Id, Max, Mean, Min, Ns};
use crate::section::{Column, Section, Summary, Value, by_total, number};
use crate::totals::{GapKind, InterruptCounts, Totals};
use crate::{AnalysisOptions, thread_tables, utilisation};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tfbc::System;

/// Categories of a trace, with the names that its system uses.
struct Categories<'b> {
    totals: &'b Totals,
    assume_user: bool,
    /// Names of the categories of threads, and the cells that each sums.
    threads: Vec<(String, Vec<usize>)>,
    /// Names of the classes of interrupts, and their indices.
    interrupts: Vec<(String, Option<usize>)>,
}

/// Names of built-in categories. A class of a context table with such a name gets the suffix `_class`.
const RESERVED: [&str; 12] = [
    "application",
    "user",
    "syscall",
    "system",
    "mode",
    "idle",
    "dispatch",
    "idle_dispatch",
    "switch",
    "unknown",
    "lost",
    "off",
];

fn class_key(class: &Class) -> String {
    let name = class.name.as_str().to_ascii_lowercase();
    if RESERVED.contains(&name.as_str()) { format!("{name}_class_ns") } else { format!("{name}_ns") }
}

impl<'b> Categories<'b> {
    fn new(totals: &'b Totals, system: System, assume_user: bool) -> Self {
        let (user, call, builtin) = match system {
            System::Aix => ("application_ns", "syscall_ns", ["FLIH", "SLIH"]),
            System::Qnx => ("user_ns", "system_ns", ["INT", "HANDLER"]),
        };
        let mut users: Vec<usize> = (0..totals.modes.len()).map(cells::user).collect();
        if assume_user {
            users.push(cells::MODE);
        }
        let of_class = |name: &str| totals.modes.iter().position(|class| class.name.as_str() == name);
        let within = |name: &str| of_class(name).map(cells::within).into_iter().collect::<Vec<_>>();
        let mut threads = vec![(user.to_owned(), users), (call.to_owned(), within("SYSCALL"))];
        let has_kproc = totals.cpus.iter().any(|cpu| cpu.cells.get(cells::KPROC).is_some_and(|ns| *ns > 0));
        if has_kproc || of_class("KPROC").is_some() {
            let mut kproc = within("KPROC");
            kproc.push(cells::KPROC);
            threads.push((String::from("kproc_ns"), kproc));
        }
        for (at, class) in totals.modes.iter().enumerate() {
            if !matches!(class.name.as_str(), "SYSCALL" | "KPROC") {
                threads.push((class_key(class), vec![cells::within(at)]));
            }
        }
        threads.push((String::from("mode_ns"), if assume_user { Vec::new() } else { vec![cells::MODE] }));
        threads.push((String::from("idle_ns"), vec![cells::IDLE]));
        let index = |name: &str| totals.classes.iter().position(|class| class.name.as_str() == name);
        let mut interrupts: Vec<_> =
            builtin.iter().map(|name| (format!("{}_ns", name.to_ascii_lowercase()), index(name))).collect();
        for (at, class) in totals.classes.iter().enumerate() {
            if !builtin.contains(&class.name.as_str()) {
                let key = class_key(class);
                let is_mode = threads.iter().any(|(name, _)| *name == key);
                interrupts.push((if is_mode { key.replace("_ns", "_interrupt_ns") } else { key }, Some(at)));
            }
        }
        Self { totals, assume_user, threads, interrupts }
    }

    /// Time per category of threads.
    fn of(&self, known: &[u128]) -> Vec<u128> {
        let sum = |which: &Vec<usize>| which.iter().filter_map(|cell| known.get(*cell)).sum();
        self.threads.iter().map(|(_, which)| sum(which)).collect()
    }

    fn columns(&self) -> impl Iterator<Item = Column> {
        self.threads.iter().map(|(name, _)| Column { name: name.clone(), kind: ColumnKind::Ns })
    }
}

/// Computes all sections.
pub fn summary(totals: &Totals, files: Vec<String>, options: &AnalysisOptions) -> Summary {
    let system = totals.system.unwrap_or(System::Aix);
    let categories = Categories::new(totals, system, options.assume_user);
    let span_ns = u128::from(totals.span.1 - totals.span.0);
    let mut sections = Vec::new();
    let mut add = |name: &str, section: &dyn Fn() -> Section| {
        if options.wants(name) {
            sections.push(section());
        }
    };
    add("head", &|| head(totals, system, files.clone(), &categories));
    add("cpu", &|| cpus(&categories, system, span_ns));
    add("utilisation", &|| utilisation::section(totals));
    add("process", &|| processes(&categories, system));
    add("thread", &|| threads(&categories, system));
    add("call", &|| calls(totals, options.addresses));
    add("pending", &|| pending(totals, system));
    add("interrupt", &|| interrupts(totals, system, options.per_cpu));
    if system == System::Qnx {
        add("state", &|| states(totals));
        add("client", &|| clients(totals, options.per_server));
    }
    add("priority", &|| priorities(totals));
    add("gap", &|| gaps(totals));
    if system == System::Qnx {
        add("snapshot", &|| snapshot(totals));
    }
    if let Some(details) = &totals.details {
        sections.extend(thread_tables::sections(totals, details, system));
    }
    let whole_ns = span_ns * totals.cpus.len() as u128;
    Summary { system, sections, whole_ns, n_events: totals.n_events, n_damaged: totals.n_damaged }
}

fn head(totals: &Totals, system: System, files: Vec<String>, categories: &Categories<'_>) -> Section {
    let mut section = Section::new(
        "head",
        &[
            ("system", Id),
            ("files", Id),
            ("from_ns", Ns),
            ("until_ns", Ns),
            ("span_ns", Ns),
            ("cpus", Count),
            ("events", Count),
            ("marks", Count),
            ("contradictions", Count),
            ("unmatched_lowers", Count),
            ("without_thread", Count),
            ("assume", Id),
            ("notes", Id),
        ],
    );
    let name = if system == System::Aix { "aix" } else { "qnx" };
    let notes = notes(totals, system).into_iter().map(Value::Text).collect();
    section.rows.push(vec![
        Value::from(name),
        Value::List(files.into_iter().map(Value::Text).collect()),
        totals.span.0.into(),
        totals.span.1.into(),
        (totals.span.1 - totals.span.0).into(),
        (totals.cpus.len() as u64).into(),
        totals.n_events.into(),
        totals.n_marks.into(),
        totals.n_contradictions.into(),
        totals.n_unmatched.into(),
        totals.n_without_thread.into(),
        categories.assume_user.then_some("user").into(),
        Value::List(notes),
    ]);
    section
}

/// Notes on kinds of events that were not recorded, and on the categories that this affects.
fn notes(totals: &Totals, system: System) -> Vec<String> {
    let mut notes = Vec::new();
    if totals.n_events == 0 {
        notes.push(String::from("the trace has no events"));
        return notes;
    }
    if totals.n_receives > 2 * totals.n_matched_receives {
        let (n, all) = (totals.n_matched_receives, totals.n_receives);
        notes.push(format!("only {n} of {all} received messages have a known sender: imposed times are incomplete"));
    }
    let is_aix = system == System::Aix;
    let hooks = "record it with `trace -j 100,101,102,103,104,106,10C,134,135,139,200,465`";
    let recorded = totals.recorded;
    if !totals.has_dispatch && !recorded.dispatches {
        notes.push(if is_aix {
            format!("no dispatch (106): all time is unknown; {hooks}")
        } else {
            String::from("no THRUNNING: all time outside interrupts is unknown; record the class PR_TH")
        });
    }
    let any_class = |has: fn(&Class) -> bool| totals.modes.iter().any(has);
    if totals.modes.is_empty() {
        if !recorded.calls {
            notes.push(if is_aix {
                format!("no system calls (101, 104): running time is in `mode`; {hooks}")
            } else {
                String::from("no kernel calls: running time is in `mode`; record the class KER_CALL")
            });
        }
    } else if !any_class(|class| class.has_first && class.has_second) {
        let missing = if any_class(|class| class.has_first) { "return" } else { "beginning" };
        notes.push(format!("no call has a {missing}: running time is in `mode`"));
    }
    if totals.classes.is_empty() && !recorded.interrupts {
        notes.push(if is_aix {
            format!("no interrupts (100 to 103, 200): their time is counted in the other categories; {hooks}")
        } else {
            String::from("no interrupts: their time is counted in the other categories; record the class INT")
        });
    }
    for class in totals.classes.iter().filter(|class| !class.has_first) {
        notes.push(format!("no interrupt of class {} has an end: their time is unknown", class.name.as_str()));
    }
    if is_aix && totals.has_dispatch && !totals.has_idle_dispatch && !recorded.idle_dispatches {
        notes.push(String::from("no idle dispatch (10C): idle time is in the time of the threads"));
    }
    if totals.n_contradictions > 0 && totals.has_dispatch {
        let often = if u128::from(totals.n_contradictions) * 1000 > u128::from(totals.n_events) {
            "; many events are missing, and the trace does not mark where"
        } else {
            ""
        };
        notes.push(format!("thread switches without an event: {}{often}", totals.n_contradictions));
    }
    if totals.n_unmatched > 0 {
        notes.push(format!("interrupts that began before the trace: {}", totals.n_unmatched));
    }
    if totals.n_other_threads + totals.n_other_processes > 0 {
        notes.push(String::from("too many threads or processes: see the rows (others), and --max-processes"));
    }
    if let Some(n) = totals.details.as_ref().map(|details| details.n_unlisted).filter(|n| *n > 0) {
        notes.push(format!("calls, dispatches and interrupts that are not listed by thread: {n}"));
    }
    if totals.has_dropped_undecided {
        notes.push(String::from("too many threads on too many CPUs: some of their time stays in mode"));
    }
    if totals.n_unlisted_gaps > 0 {
        notes.push(format!("gaps not listed: {}", totals.n_unlisted_gaps));
    }
    notes
}

fn cpus(categories: &Categories<'_>, system: System, span_ns: u128) -> Section {
    let totals = categories.totals;
    let mut section = Section::new("cpu", &[("cpu", Id), ("span_ns", Ns), ("busy_ns", Ns)]);
    let (idle, modes) =
        categories.threads.split_last().map_or((&[][..], &[][..]), |(idle, modes)| (std::slice::from_ref(idle), modes));
    let interrupts = categories.interrupts.iter().map(|(name, _)| name.as_str());
    let others = match system {
        System::Aix => &["dispatch_ns", "idle_dispatch_ns"][..],
        System::Qnx => &["switch_ns"][..],
    };
    let names = modes.iter().map(|(name, _)| name.as_str()).chain(interrupts).chain(others.iter().copied());
    let names = names.chain(idle.iter().map(|(name, _)| name.as_str())).chain(["unknown_ns", "lost_ns", "off_ns"]);
    section.columns.extend(names.map(|name| Column { name: name.to_owned(), kind: Ns }));
    for name in ["dispatches", "idle_dispatches", "affinity_same", "affinity_known"] {
        section.columns.push(Column { name: name.to_owned(), kind: Count });
    }
    let mut all = vec![0u128; section.columns.len() - 1];
    let mut rows = Vec::new();
    for cpu in &totals.cpus {
        let mut threads = categories.of(&cpu.cells);
        let idle = threads.pop().unwrap_or(0);
        let interrupts = categories
            .interrupts
            .iter()
            .map(|(_, class)| class.and_then(|class| cpu.interrupts.get(class).copied()).unwrap_or(0));
        let mut values = threads;
        values.extend(interrupts);
        match system {
            System::Aix => values.extend([cpu.dispatch, cpu.idle_dispatch]),
            System::Qnx => values.push(cpu.switch),
        }
        let busy = values.iter().sum();
        values.extend([idle, cpu.unknown, cpu.lost, cpu.off]);
        let counts = [cpu.n_dispatches, cpu.n_idle_dispatches, cpu.affinity.n_same, cpu.affinity.n_known];
        values.extend(counts.map(u128::from));
        values.splice(0..0, [span_ns, busy]);
        all.iter_mut().zip(&values).for_each(|(sum, value)| *sum += value);
        let id = cpu.id.map_or(Value::from("-"), Value::from);
        rows.push((cpu.id, std::iter::once(id).chain(values.into_iter().map(Value::from)).collect::<Vec<_>>()));
    }
    rows.sort_by_key(|(id, _)| *id);
    section.rows = rows.into_iter().map(|(_, row)| row).collect();
    section.rows.push(std::iter::once(Value::from("all")).chain(all.into_iter().map(Value::from)).collect());
    section
}

/// True if a thread has anything to print.
fn is_shown(thread: &Thread) -> bool {
    thread.n_dispatches > 0
        || thread.cells.iter().any(|ns| *ns > 0)
        || thread.states.iter().any(|(state, _)| state.is_some())
}

fn running(thread: &Thread) -> u128 {
    thread.states.iter().find(|(state, _)| *state == Some(1)).map_or(0, |(_, counts)| counts.total)
}

fn processes(categories: &Categories<'_>, system: System) -> Section {
    let totals = categories.totals;
    let mut section =
        Section::new("process", &[("pid", Id), ("generation", Id), ("name", Id), ("threads", Count), ("total_ns", Ns)]);
    section.columns.extend(categories.columns());
    if system == System::Qnx {
        for name in ["running_ns", "running_sum_ns"] {
            section.columns.push(Column { name: name.to_owned(), kind: Ns });
        }
    }
    let mut sums: BTreeMap<Option<u32>, (u64, Vec<u128>, u128)> = BTreeMap::new();
    for (slot, thread) in totals.threads.iter().enumerate().filter(|(_, thread)| is_shown(thread)) {
        let process = process_of(totals, slot).map(|(process, _)| process);
        let (n, sum, running_sum) = sums.entry(process).or_default();
        *n += 1;
        *running_sum += running(thread);
        let values = categories.of(&thread.cells);
        sum.resize(values.len(), 0);
        sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    for (process, (n, values, running_sum)) in sums {
        let known = process.map(|process| (process, &totals.processes[process as usize]));
        let (pid, generation, name) = process_ids(known);
        let mut row = vec![pid, generation, name, n.into(), values.iter().sum::<u128>().into()];
        row.extend(values.into_iter().map(Value::from));
        if system == System::Qnx {
            row.push(known.map(|(_, process)| process.running.ns()).into());
            row.push(running_sum.into());
        }
        section.rows.push(row);
    }
    by_total(&mut section.rows, 4, 3);
    section
}

fn threads(categories: &Categories<'_>, system: System) -> Section {
    let totals = categories.totals;
    let mut section = Section::new(
        "thread",
        &[("pid", Id), ("generation", Id), ("tid", Id), ("name", Id), ("thread_name", Id), ("total_ns", Ns)],
    );
    section.columns.extend(categories.columns());
    let more = ["dispatches", "cpus", "migrations", "affinity_same", "affinity_known"];
    section.columns.extend(more.map(|name| Column { name: name.to_owned(), kind: Count }));
    section.columns.push(Column { name: String::from("waited_ns"), kind: Ns });
    if totals.details.is_some() {
        section.add_columns(&[("waits", Count)]);
    }
    for (slot, thread) in totals.threads.iter().enumerate().filter(|(_, thread)| is_shown(thread)) {
        let (pid, generation, name) = process_ids(process_of(totals, slot));
        let values = categories.of(&thread.cells);
        let tid = if slot == OTHERS as usize { Value::Null } else { tid(system, thread) };
        let total: u128 = values.iter().sum();
        let mut row = vec![pid, generation, tid, name, thread.name.as_ref().into(), total.into()];
        row.extend(values.into_iter().map(Value::from));
        let affinity = thread.affinity;
        let counts = [
            thread.n_dispatches,
            thread.n_cpus().into(),
            affinity.n_known - affinity.n_same,
            affinity.n_same,
            affinity.n_known,
        ];
        row.extend(counts.map(Value::from));
        row.push(thread.waited.into());
        if totals.details.is_some() {
            row.push(thread.n_waits.into());
        }
        section.rows.push(row);
    }
    by_total(&mut section.rows, 5, 3);
    section
}

/// Calls by name. `has_addresses` adds the first address per name.
fn calls(totals: &Totals, has_addresses: bool) -> Section {
    let mut section = Section::new("call", &[("class", Id), ("call", Id)]);
    let counts = ["interrupted", "begun_before", "pending", "cut", "not_returned", "ended"];
    section.add_columns(&CALL_TIMES);
    section.add_columns(&[("errors", Id)]);
    section.add_columns(&counts.map(|name| (name, Count)));
    if has_addresses {
        section.add_columns(&[("address", Id)]);
    }
    section.rows.reserve_exact(totals.calls.len());
    for call in &totals.calls {
        let counts =
            [call.n_interrupted, call.n_begun_before, call.n_pending, call.n_cut, call.n_not_returned, call.n_ended];
        if call.elapsed.n == 0 && counts.iter().all(|n| *n == 0) {
            continue;
        }
        let class = totals.modes[call.class].name.as_str();
        let mut row = Vec::with_capacity(section.columns.len());
        row.extend([Value::from(class), call.label().map_or(Value::Null, Value::Text)]);
        row.extend(call_times(totals, &call.cpu, &call.elapsed));
        row.push(Value::Counts(call.errors.as_deref().cloned().unwrap_or_default()));
        row.extend(counts.map(Value::from));
        if has_addresses {
            row.push(call.address.map_or(Value::Null, hex));
        }
        section.rows.push(row);
    }
    by_total(&mut section.rows, 3, 2);
    section
}

fn pending(totals: &Totals, system: System) -> Section {
    let mut section = Section::new(
        "pending",
        &[
            ("pid", Id),
            ("generation", Id),
            ("tid", Id),
            ("class", Id),
            ("call", Id),
            ("cpu_ns", Ns),
            ("elapsed_ns", Ns),
        ],
    );
    for pending in &totals.pending {
        let (pid, generation, _) = process_ids(process_of(totals, pending.thread as usize));
        let call = &totals.calls[pending.row];
        section.rows.push(vec![
            pid,
            generation,
            tid(system, &totals.threads[pending.thread as usize]),
            totals.modes[call.class].name.as_str().into(),
            call.label().map_or(Value::Null, Value::Text),
            pending.cpu_ns.into(),
            pending.elapsed_ns.into(),
        ]);
    }
    by_total(&mut section.rows, 5, 3);
    section
}

fn interrupts(totals: &Totals, system: System, per_cpu: bool) -> Section {
    let mut columns = vec![
        ("class", Id),
        ("type", Id),
        ("address", Id),
        ("name", Id),
        ("count", Count),
        ("total_ns", Ns),
        ("min_ns", Min),
        ("mean_ns", Mean),
        ("max_ns", Max),
        ("unfinished", Count),
        ("unfinished_ns", Ns),
    ];
    if per_cpu {
        columns.insert(0, ("cpu", Id));
    }
    let mut section = Section::new("interrupt", &columns);
    let mut sums: HashMap<_, InterruptCounts> = HashMap::new();
    for interrupt in &totals.interrupts {
        let key = (per_cpu.then_some(interrupt.cpu), interrupt.class, interrupt.kind, interrupt.address);
        match sums.get_mut(&key) {
            Some(sum) => {
                sum.own.merge(&interrupt.own);
                sum.n_unfinished += interrupt.n_unfinished;
                sum.unfinished_ns += interrupt.unfinished_ns;
            }
            None => drop(sums.insert(key, interrupt.clone())),
        }
    }
    for interrupt in sums.into_values().filter(|interrupt| interrupt.own.n + interrupt.n_unfinished > 0) {
        let class = totals.classes[interrupt.class];
        let mut row = Vec::new();
        if per_cpu {
            row.push(totals.cpus[interrupt.cpu].id.map_or(Value::from("-"), Value::from));
        }
        row.extend([
            Value::from(class.name.as_str()),
            interrupt.kind.into(),
            interrupt.address.map_or(Value::Null, hex),
            interrupt.name.as_ref().into(),
            interrupt.own.n.into(),
        ]);
        if class.has_first && (totals.has_dispatch || system == System::Qnx) {
            row.push((interrupt.own.total + interrupt.unfinished_ns).into());
            row.extend(spread(&interrupt.own));
            row.extend([interrupt.n_unfinished.into(), interrupt.unfinished_ns.into()]);
        } else {
            row.extend([Value::Null, Value::Null, Value::Null, Value::Null]);
            row.extend([interrupt.n_unfinished.into(), Value::Null]);
        }
        section.rows.push(row);
    }
    let n_ids = if per_cpu { 5 } else { 4 };
    by_total(&mut section.rows, n_ids + 1, n_ids);
    section
}

fn states(totals: &Totals) -> Section {
    let mut section = Section::new(
        "state",
        &[
            ("pid", Id),
            ("generation", Id),
            ("tid", Id),
            ("state", Id),
            ("count", Count),
            ("total_ns", Ns),
            ("min_ns", Min),
            ("mean_ns", Mean),
            ("max_ns", Max),
        ],
    );
    for (slot, thread) in totals.threads.iter().enumerate().skip(1) {
        for (state, counts) in &thread.states {
            let (pid, generation, _) = process_ids(process_of(totals, slot));
            let mut row = vec![pid, generation, tid(System::Qnx, thread), state_name(totals, *state).into()];
            row.extend([counts.n.into(), counts.total.into()]);
            row.extend(spread(counts));
            section.rows.push(row);
        }
    }
    by_total(&mut section.rows, 5, 4);
    section
}

/// Time that threads ran, and that others ran on their behalf. `per_server` lists the latter by thread.
fn clients(totals: &Totals, per_server: bool) -> Section {
    let mut columns = vec![("pid", Id), ("generation", Id), ("tid", Id)];
    if per_server {
        columns.extend([("server_pid", Id), ("server_tid", Id)]);
    }
    columns.extend([("self_ns", Ns), ("imposed_ns", Ns), ("total_ns", Ns)]);
    let mut section = Section::new("client", &columns);
    for (slot, thread) in totals.threads.iter().enumerate().skip(1) {
        let running = thread.states.iter().find(|(state, _)| *state == Some(1));
        let own = running.map_or(0, |(_, counts)| counts.total);
        let imposed: u128 = thread.imposed.iter().map(|(_, ns)| ns).sum();
        if own + imposed == 0 {
            continue;
        }
        let (pid, generation, _) = process_ids(process_of(totals, slot));
        let ids = [pid, generation, tid(System::Qnx, thread)];
        let servers: &[_] = if per_server { &thread.imposed } else { &[] };
        for (server, ns) in servers {
            let mut row = ids.to_vec();
            let (pid, ..) = process_ids(process_of(totals, *server as usize));
            row.extend([pid, tid(System::Qnx, &totals.threads[*server as usize])]);
            row.extend([0u64.into(), (*ns).into(), (*ns).into()]);
            section.rows.push(row);
        }
        let mut row = ids.to_vec();
        let imposed = if per_server {
            row.extend([Value::Null, Value::Null]);
            0
        } else {
            imposed
        };
        row.extend([own.into(), imposed.into(), (own + imposed).into()]);
        section.rows.push(row);
    }
    let n_ids = if per_server { 5 } else { 3 };
    by_total(&mut section.rows, n_ids + 2, n_ids);
    section
}

/// States of threads at the end of the span.
fn snapshot(totals: &Totals) -> Section {
    let columns = [("pid", Id), ("generation", Id), ("tid", Id), ("state", Id), ("since_ns", Ns)];
    let mut section = Section::new("snapshot", &columns);
    for (slot, thread) in totals.threads.iter().enumerate().skip(1) {
        let Some((state, since)) = thread.last_state else { continue };
        let (pid, generation, _) = process_ids(process_of(totals, slot));
        let since = if state.is_some() { since.into() } else { Value::Null };
        section.rows.push(vec![pid, generation, tid(System::Qnx, thread), state_name(totals, state).into(), since]);
    }
    section.rows.sort();
    section
}

/// Name of a state; `unknown` if the trace does not show it.
fn state_name(totals: &Totals, state: ThreadState) -> &str {
    match state {
        None => "unknown",
        Some(state) => totals.state_names.get(usize::from(state)).map_or("?", String::as_str),
    }
}

fn priorities(totals: &Totals) -> Section {
    let mut section = Section::new("priority", &[("priority", Id), ("total_ns", Ns)]);
    let used = totals.priorities.iter().enumerate().filter(|(_, ns)| **ns > 0);
    section.rows = used.map(|(priority, ns)| vec![Value::from(priority as u64), (*ns).into()]).collect();
    by_total(&mut section.rows, 1, 1);
    section
}

fn gaps(totals: &Totals) -> Section {
    let mut section = Section::new(
        "gap",
        &[
            ("cpus", Id),
            ("from_ns", Ns),
            ("to_ns", Ns),
            ("category", Id),
            ("missed_events", Count),
            ("missed_buffers", Count),
        ],
    );
    let mut all: Vec<Value> = totals.cpus.iter().map(|cpu| cpu.id.map_or(Value::from("-"), Value::from)).collect();
    all.sort();
    for gap in &totals.gaps {
        let cpus = gap.cpu.map_or_else(|| all.clone(), |cpu| vec![cpu.into()]);
        let category = if gap.kind == GapKind::Lost { "lost" } else { "off" };
        section.rows.push(vec![
            Value::List(cpus),
            gap.from.into(),
            gap.to.into(),
            category.into(),
            gap.missed.events.into(),
            gap.missed.buffers.into(),
        ]);
    }
    section.rows.sort_by(|one, other| (&one[1], &one[0]).cmp(&(&other[1], &other[0])));
    section
}

/// Columns that match the rows of two traces. Names rather than ids, because process ids differ from run to run.
fn comparable(section: &str) -> Option<&'static [&'static str]> {
    Some(match section {
        "cpu" => &["cpu"],
        "process" => &["name"],
        "thread" => &["name", "thread_name"],
        "call" => &["class", "call"],
        "interrupt" => &["class", "type", "address", "name"],
        "state" => &["state"],
        "priority" => &["priority"],
        _ => return None,
    })
}

/// Compares the counts and sums of a section in two traces. The result has a row per number that differs from 0 in at
/// least one of them. `top` keeps the rows whose time differs most, and sums up the others. `None` if rows of the
/// section cannot be matched.
pub fn against(base: &Section, this: &Section, top: Option<usize>) -> Option<Section> {
    let keys = comparable(this.name)?;
    let mut columns: Vec<(&str, ColumnKind)> = keys.iter().map(|key| (*key, Id)).collect();
    let values = [("number", Id), ("base", Count), ("this", Count), ("difference", Count), ("ratio", Id)];
    columns.extend(values);
    let mut section = Section::new(this.name, &columns);
    let (mut base, mut this_sums) = (sums(base, keys), sums(this, keys));
    let mut names: Vec<&String> = Vec::new();
    let summed = |column: &&Column| matches!(column.kind, Count | Ns);
    names.extend(this.columns.iter().filter(summed).map(|column| &column.name));
    let order: BTreeSet<_> = base.keys().chain(this_sums.keys()).map(|(key, _)| key.clone()).collect();
    let mut order: Vec<_> = order.into_iter().collect();
    if let Some(top) = top.filter(|top| this.name != "cpu" && *top < order.len())
        && let Some(time) = this.columns.iter().find(|column| column.kind == Ns)
    {
        let of = |sums: &Sums, key: &[Value]| sums.get(&(key.to_vec(), time.name.clone())).copied().unwrap_or(0);
        order.sort_by_cached_key(|key| Reverse((of(&this_sums, key) - of(&base, key)).abs()));
        let mut others = vec![Value::Null; keys.len()];
        others[keys.iter().position(|key| matches!(*key, "call" | "name")).unwrap_or(0)] = Value::from("(others)");
        for key in order.split_off(top) {
            for sums in [&mut base, &mut this_sums] {
                for name in &names {
                    let number = sums.remove(&(key.clone(), (*name).clone())).unwrap_or(0);
                    *sums.entry((others.clone(), (*name).clone())).or_default() += number;
                }
            }
        }
        order.push(others);
    }
    for key in order {
        for name in &names {
            let get = |sums: &Sums| sums.get(&(key.clone(), (*name).clone())).copied().unwrap_or(0);
            let (base, this) = (get(&base), get(&this_sums));
            if base == 0 && this == 0 {
                continue;
            }
            let ratio = (base > 0)
                .then(|| Value::Ratio((this.unsigned_abs() * 1000 + base.unsigned_abs() / 2) / base.unsigned_abs()));
            let mut row = key.clone();
            row.extend([Value::Text((*name).clone()), Value::Number(base), Value::Number(this)]);
            row.extend([Value::Number(this - base), ratio.unwrap_or(Value::Null)]);
            section.rows.push(row);
        }
    }
    Some(section)
}

/// Sums of a section's numbers, per key and column.
type Sums = BTreeMap<(Vec<Value>, String), i128>;

fn sums(section: &Section, keys: &[&str]) -> Sums {
    let mut sums = BTreeMap::new();
    let keys: Vec<usize> = keys.iter().filter_map(|key| section.column(key)).collect();
    for row in &section.rows {
        let key: Vec<Value> = keys.iter().map(|at| row[*at].clone()).collect();
        for (at, column) in section.columns.iter().enumerate().filter(|(_, column)| matches!(column.kind, Count | Ns)) {
            *sums.entry((key.clone(), column.name.clone())).or_default() += number(&row[at]);
        }
    }
    sums
}
