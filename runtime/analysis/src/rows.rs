//! Values that the rows of several sections contain.

use crate::machine::OTHERS;
use crate::machine::parts::{Process, Thread};
use crate::section::ColumnKind::{self, Count, Max, Mean, Min, Ns};
use crate::section::Value;
use crate::tally::Tally;
use crate::totals::Totals;
use tfbc::System;

/// Process of a thread. Threads above the limit belong to the shared slot of processes.
pub(crate) fn process_of(totals: &Totals, slot: usize) -> Option<(u32, &Process)> {
    let process = if slot == OTHERS as usize { Some(OTHERS) } else { totals.threads[slot].process };
    process.map(|process| (process, &totals.processes[process as usize]))
}

/// Pid, generation and name of a process.
pub(crate) fn process_ids(process: Option<(u32, &Process)>) -> (Value, Value, Value) {
    match process {
        None => (Value::Null, Value::Null, Value::Null),
        Some((OTHERS, _)) => (Value::Null, Value::Null, Value::from("(others)")),
        Some((_, process)) => (process.pid.into(), u64::from(process.generation).into(), process.name.as_ref().into()),
    }
}

/// Id of a thread as it is printed. For QNX, it is the number in the process.
pub(crate) fn tid(system: System, thread: &Thread) -> Value {
    match system {
        System::Aix => thread.tid.into(),
        System::Qnx => (thread.tid & u64::from(u32::MAX)).into(),
    }
}

/// Columns of the times of calls.
pub(crate) const CALL_TIMES: [(&str, ColumnKind); 9] = [
    ("count", Count),
    ("cpu_total_ns", Ns),
    ("cpu_min_ns", Min),
    ("cpu_mean_ns", Mean),
    ("cpu_max_ns", Max),
    ("elapsed_total_ns", Ns),
    ("elapsed_min_ns", Min),
    ("elapsed_mean_ns", Mean),
    ("elapsed_max_ns", Max),
];

/// Values of [`CALL_TIMES`].
pub(crate) fn call_times(totals: &Totals, cpu: &Tally, elapsed: &Tally) -> Vec<Value> {
    let mut values = vec![elapsed.n.into()];
    if totals.has_dispatch {
        values.push(cpu.total.into());
        values.extend(spread(cpu));
    } else {
        values.extend([Value::Null, Value::Null, Value::Null, Value::Null]);
    }
    values.push(elapsed.total.into());
    values.extend(spread(elapsed));
    values
}

/// Address in hex digits.
pub(crate) fn hex(address: u64) -> Value {
    Value::Text(format!("{address:X}"))
}

/// Minimum, mean and maximum.
pub(crate) fn spread(tally: &Tally) -> [Value; 3] {
    tally.spread().map_or([Value::Null, Value::Null, Value::Null], |values| values.map(Value::from))
}
