//! Sections of a summary that describe single threads: calls, dispatches and interrupts.

use crate::machine::ThreadSlot;
use crate::machine::details::Details;
use crate::rows::{CALL_TIMES, call_times, hex, process_ids, process_of, tid};
use crate::section::ColumnKind::{Count, Id};
use crate::section::{Section, Value, by_total};
use crate::totals::Totals;
use std::collections::BTreeMap;
use tfbc::System;

/// Computes the sections `thread_call`, `thread_dispatch` and `thread_interrupt`.
pub fn sections(totals: &Totals, details: &Details, system: System) -> [Section; 3] {
    let ids = |slot: ThreadSlot| {
        let (pid, generation, _) = process_ids(process_of(totals, slot as usize));
        vec![pid, generation, tid(system, &totals.threads[slot as usize])]
    };
    let section = |name| Section::new(name, &[("pid", Id), ("generation", Id), ("tid", Id)]);

    let mut calls = section("thread_call");
    calls.add_columns(&[("class", Id), ("call", Id), ("address", Id)]);
    calls.add_columns(&CALL_TIMES);
    calls.add_columns(&[("errors", Id)]);
    for ((slot, row), counts) in &details.calls {
        let call = &totals.calls[*row];
        let mut values = ids(*slot);
        values.push(totals.modes[call.class].name.as_str().into());
        values.push(call.label().map_or(Value::Null, Value::Text));
        values.push(call.address.map_or(Value::Null, hex));
        values.extend(call_times(totals, &counts.cpu, &counts.elapsed));
        values.push(Value::Counts(counts.errors.clone()));
        calls.rows.push(values);
    }
    by_total(&mut calls.rows, 7, 6);

    let mut dispatches = section("thread_dispatch");
    dispatches.add_columns(&[("cpu", Id), ("count", Count)]);
    for ((slot, cpu), n) in &details.dispatches {
        let cpu = totals.cpus[*cpu as usize].id.map_or(Value::from("-"), Value::from);
        dispatches.rows.push([ids(*slot), vec![cpu, (*n).into()]].concat());
    }
    dispatches.rows.sort();

    let mut interrupts = section("thread_interrupt");
    interrupts.add_columns(&[("class", Id), ("type", Id), ("address", Id), ("name", Id), ("count", Count)]);
    let mut sums: BTreeMap<Vec<Value>, u64> = BTreeMap::new();
    for ((slot, row), n) in &details.interrupts {
        let interrupt = &totals.interrupts[*row];
        let mut values = ids(*slot);
        values.push(totals.classes[interrupt.class].name.as_str().into());
        values.push(interrupt.kind.into());
        values.push(interrupt.address.map_or(Value::Null, hex));
        values.push(interrupt.name.as_ref().into());
        // Rows of several CPUs.
        *sums.entry(values).or_default() += n;
    }
    interrupts.rows = sums.into_iter().map(|(values, n)| [values, vec![n.into()]].concat()).collect();
    [calls, dispatches, interrupts]
}
