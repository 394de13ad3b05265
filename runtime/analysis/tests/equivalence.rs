//! Tables do not depend on the form of the files, and records that are cut out of a log never rename time.

use crate::properties::{cpus_alone, system};
use crate::timeline::{TrackSlice, draw, what};
use crate::traces::{
    PseudoRandom, Record, RecordedHook, check_conservation, dispatch, hook, log, log_in, numbers, stream,
    stream_with_cpus,
};
use std::collections::BTreeMap;
use tfbc::internal::unix_compress;
use tfbc::{Notice, Trace};
use tfbc_analysis::{AnalysisOptions, Summary, summarise};

/// Rows of all sections but the named ones, as texts.
fn tables(summary: &Summary, left_out: &[&str]) -> BTreeMap<&'static str, Vec<String>> {
    let names = ["cpu", "process", "thread", "call", "pending", "interrupt", "state", "client", "priority", "gap"];
    let names = names.into_iter().filter(|name| !left_out.contains(name));
    let rows = names.filter_map(|name| {
        let row = |row: &[tfbc_analysis::Value]| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        Some((name, summary.section(name)?.rows().map(row).collect()))
    });
    rows.collect()
}

fn summarised(mut trace: Trace) -> Summary {
    let summary = summarise(&mut trace, &AnalysisOptions::default(), &mut |_: &Notice| {}).unwrap();
    check_conservation(&summary);
    summary
}

fn open(bytes: Vec<u8>) -> Trace {
    Trace::from_bytes("t", bytes).unwrap()
}

#[test]
fn split_and_merged_traces_have_equal_tables() {
    for seed in 0..30 {
        let mut noise = PseudoRandom(seed);
        let n_cpus = 1 + noise.below(4) as usize;
        let (mut hooks, _) = system(&mut noise, n_cpus, 120);
        // Calls have a CPU of their own only in the stream with CPUs, so every thread must be known to run from the start.
        let idle = (0..n_cpus as u16).map(|cpu| dispatch(0, 0x10C, cpu, 516, 1000 + u64::from(cpu)));
        hooks.splice(1..1, idle);
        // Merged logs have no order of their own at equal times.
        hooks.iter_mut().zip(0..).for_each(|(hook, n)| hook.t = hook.t * 1000 + n);
        let whole = tables(&summarised(open(stream(n_cpus as u32, &hooks))), &[]);
        assert!(whole["thread"].len() > 1 && !whole["call"].is_empty(), "{whole:?}");
        let with_cpus = summarised(open(stream_with_cpus(n_cpus as u32, &hooks)));
        assert_eq!(tables(&with_cpus, &[]), whole, "{seed}");
        let packed = unix_compress::compress_to(&stream(n_cpus as u32, &hooks), 16);
        assert_eq!(tables(&summarised(open(packed)), &[]), whole, "{seed}");
        for n_logs in 2..4 {
            let mut logs = vec![Vec::<RecordedHook>::new(); n_logs];
            for hook in &hooks {
                logs[noise.below(n_logs as u64) as usize].push(hook.clone());
            }
            let traces = logs.iter().map(|hooks| open(stream(n_cpus as u32, hooks)));
            let merged = summarised(Trace::merge(traces.collect::<Vec<_>>()).unwrap());
            assert_eq!(tables(&merged, &[]), whole, "{seed} {n_logs}");
        }
    }
}

#[test]
fn a_later_log_declares_its_cpus_at_its_header() {
    let off = |t| hook(t, 0x002, 0, 9, &[]);
    let on = |t| hook(t, 0x001, 0, 9, &[]);
    // The first log declares no CPUs, and is switched off before the second one begins.
    for (n_first, cpu_0) in [(0, [90, 10, 200]), (1, [90, 10, 200])] {
        let first = stream(n_first, &[on(0), dispatch(10, 0x106, 0, 100, 11), off(100)]);
        let second = stream(2, &[on(200), dispatch(210, 0x106, 1, 102, 13), off(300)]);
        let merged = summarised(Trace::merge(vec![open(first), open(second)]).unwrap());
        let rows = numbers(merged.section("cpu").unwrap(), &["cpu"]);
        let of = |cpu: &str| ["mode_ns", "unknown_ns", "off_ns"].map(|name| rows[cpu][name]);
        assert_eq!((of("0"), of("1")), (cpu_0, [0, 200, 100]), "{n_first}");
    }
}

/// Simulates a QNX system: threads run, call, send states, and are interrupted. `interrupts` is false for none.
fn qnx_system(noise: &mut PseudoRandom, n_cpus: u32, n_records: usize, interrupts: bool) -> Vec<Record> {
    #[derive(Clone, Default)]
    struct Cpu {
        thread: Option<(u32, u32)>,
        frames: Vec<u32>,
    }
    let mut cpus = vec![Cpu::default(); n_cpus as usize];
    let mut calls: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut records: Vec<Record> =
        (0..n_cpus).map(|cpu| Record { t: 0, class: 1, event: 1, cpu, words: vec![0, 0] }).collect();
    let mut now = 0;
    while records.len() < n_records {
        now += 1 + noise.below(20);
        let at = noise.below(n_cpus.into()) as usize;
        let on = |class, event, words: Vec<u32>| Record { t: now, class, event, cpu: at as u32, words };
        let idle = (1, at as u32 + 1);
        let choice = noise.below(10);
        let (class, event, words) = match (cpus[at].thread, cpus[at].frames.last().copied()) {
            (_, Some(kind)) if interrupts && choice < 5 => {
                cpus[at].frames.pop();
                (3, kind + 1, vec![0x8C, 0])
            }
            (_, Some(1)) if interrupts && choice < 7 => {
                cpus[at].frames.push(3);
                (3, 3, vec![0, 0x8C, 0, 0])
            }
            (Some(_), None) if interrupts && choice == 0 => {
                cpus[at].frames.push(1);
                (3, 1, vec![0x8C, 0])
            }
            (None, _) => {
                let next = (7 + noise.below(2) as u32, 1 + noise.below(3) as u32);
                let is_free = cpus.iter().all(|cpu| cpu.thread != Some(next));
                let next = if is_free && choice < 8 { next } else { idle };
                cpus[at].thread = Some(next);
                (4, 1, vec![next.0, next.1, if next.0 == 1 { 0 } else { 10 }, 0])
            }
            (Some(thread), _) if choice < 5 || thread.0 == 1 => {
                cpus[at].thread = None;
                let state = if thread.0 == 1 { 2 } else { [2, 5, 6, 14][noise.below(4) as usize] };
                (4, state, vec![thread.0, thread.1, if thread.0 == 1 { 0 } else { 10 }, 0])
            }
            (Some(thread), _) => match calls.remove(&thread) {
                Some(call) => (2, 128 + call, vec![0, 0]),
                None => {
                    let call = [11, 14, 15][noise.below(3) as usize];
                    calls.insert(thread, call);
                    (2, call, vec![0, 0])
                }
            },
        };
        records.push(on(class, event, words));
    }
    records
}

#[test]
fn simple_and_wide_records_of_both_byte_orders_have_equal_tables() {
    for seed in 0..40 {
        let mut noise = PseudoRandom(seed);
        let n_cpus = 1 + noise.below(3) as u32;
        let wide = qnx_system(&mut noise, n_cpus, 120, true);
        let mut simple = wide.clone();
        simple.iter_mut().for_each(|record| record.words.truncate(2));
        let summary = summarised(open(log(n_cpus, &wide)));
        let whole = tables(&summary, &[]);
        assert!(whole["state"].len() > 1, "{whole:?}");
        // Without the other sections, less is kept.
        assert_eq!(cpus_alone(log(n_cpus, &wide)), numbers(summary.section("cpu").unwrap(), &["cpu"]), "{seed}");
        let big = tables(&summarised(open(log_in(true, n_cpus, &wide))), &[]);
        assert_eq!(big, whole, "{seed}");
        // Only wide records have priorities.
        let whole = tables(&summarised(open(log(n_cpus, &wide))), &["priority"]);
        for big_endian in [false, true] {
            let found = summarised(open(log_in(big_endian, n_cpus, &simple)));
            assert_eq!(tables(&found, &["priority"]), whole, "{seed} {big_endian}");
        }
    }
}

/// Removes runs of records. A report of lost buffers replaces each run, with the time at which tracing resumed.
fn cut(noise: &mut PseudoRandom, records: &[Record], n_cuts: u64) -> Vec<Record> {
    let mut kept = records.to_vec();
    let n_first = kept.iter().take_while(|record| record.class == 1).count();
    let mut sequence = 7;
    kept.insert(n_first, Record { t: 0, class: 1, event: 2, cpu: 0, words: vec![sequence, 0] });
    let mut at = n_first + 1;
    for _ in 0..n_cuts {
        at += 1 + noise.below(records.len() as u64 / (n_cuts + 1)) as usize;
        let end = (at + 1 + noise.below(8) as usize).min(kept.len());
        if at >= end {
            break;
        }
        let (t, cpu) = (kept[end - 1].t, kept[end - 1].cpu);
        sequence += 3;
        let mark = Record { t, class: 1, event: 2, cpu, words: vec![sequence, 0] };
        kept.splice(at..end, [mark, Record { t, class: 1, event: 1, cpu, words: vec![0, 0] }]);
        at += 2;
    }
    kept
}

/// Names of the innermost slices of a track between its changes: begin, end and name.
fn innermost(slices: &[TrackSlice]) -> Vec<TrackSlice> {
    let mut times: Vec<u64> = slices.iter().flat_map(|(begin, end, _)| [*begin, *end]).collect();
    times.sort_unstable();
    times.dedup();
    let name = |begin: u64, end: u64| {
        let covering = slices.iter().filter(|slice| slice.0 <= begin && slice.1 >= end);
        covering.min_by_key(|slice| slice.1 - slice.0).map(|slice| slice.2.clone())
    };
    times.windows(2).filter_map(|pair| Some((pair[0], pair[1], name(pair[0], pair[1])?))).collect()
}

#[test]
fn records_cut_out_never_give_time_another_name() {
    let mut n_checked = 0;
    for seed in 0..120 {
        let mut noise = PseudoRandom(seed);
        let n_cpus = 1 + noise.below(3) as u32;
        let interrupts = seed % 2 == 0;
        let whole = qnx_system(&mut noise, n_cpus, 100, interrupts);
        let n_cuts = 1 + noise.below(3);
        let cut = cut(&mut noise, &whole, n_cuts);
        let drawn = |records: &[Record]| -> BTreeMap<String, Vec<TrackSlice>> {
            draw(log(n_cpus, records), "", what(&["cpus"], &[])).into_iter().collect()
        };
        let (truth, found) = (drawn(&whole), drawn(&cut));
        check_conservation(&summarised(open(log(n_cpus, &cut))));
        for (cpu, slices) in &found {
            let truth = innermost(&truth[cpu]);
            for (begin, end, name) in innermost(slices).into_iter().filter(|slice| slice.2 != "lost") {
                for true_slice in truth.iter().filter(|slice| slice.0 < end && slice.1 > begin) {
                    n_checked += 1;
                    // After a loss a CPU may be in an interrupt that the log does not show.
                    let is_interrupt = true_slice.2.starts_with("INT") || true_slice.2.starts_with("HANDLER");
                    let is_exempt = is_interrupt && interrupts;
                    assert!(name == true_slice.2 || is_exempt, "{seed} {cpu} {begin}: {name} was {}", true_slice.2);
                }
            }
        }
    }
    assert!(n_checked > 1000, "{n_checked}");
}
