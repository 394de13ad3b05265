//! Times between two events: worked examples, random traces compared with a second implementation, hostile input.

use crate::traces::{PseudoRandom, Record, RecordedHook, call, generic, hook, log, record, stream};
use std::collections::BTreeMap;
use tfbc::Expression;
use tfbc::{Form, Formats, Notice, Trace};
use tfbc_analysis::latency::{
    GroupOrder, Latency, Matching, PairOptions, PairSource, PairWriter, Percentile, field_names, latency,
};
use tfbc_analysis::{AnalysisOptions, Value};
use tfbc_vm::TextBuf;

fn events(start: &str, end: &str) -> PairSource {
    PairSource::Events { start: Expression::parse(start).unwrap(), end: Expression::parse(end).unwrap() }
}

fn options(source: PairSource) -> PairOptions {
    PairOptions {
        source,
        key: None,
        by: None,
        matching: Matching::Newest,
        across_gaps: false,
        range: (0, u64::MAX),
        outliers: 0,
        max_open: 1 << 20,
        max_groups: 1 << 16,
        max_values: 1 << 22,
    }
}

fn by_d1(start: &str, end: &str) -> PairOptions {
    PairOptions { key: Some(String::from("d1")), ..options(events(start, end)) }
}

/// Measures pairs, and returns the lengths of all of them in order.
fn measure(trace: &mut Trace, options: &PairOptions) -> (Latency, Vec<u64>) {
    let formats = Formats::load::<&str>([]).unwrap();
    let mut found = Vec::new();
    let mut visit = |pair: &tfbc_analysis::latency::Pair<'_>| found.push(pair.ns);
    let analysis = AnalysisOptions::default();
    let measured = latency(trace, &analysis, options, formats.catalog(), &mut |_: &Notice| {}, &mut visit);
    (measured.unwrap(), found)
}

fn measure_bytes(bytes: Vec<u8>, options: &PairOptions) -> (Latency, Vec<u64>) {
    measure(&mut Trace::from_bytes("t", bytes).unwrap(), options)
}

fn sample(name: &str) -> Trace {
    Trace::open(format!("{}/../samples/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Numbers of the groups, by their first field: count, sum, min, mean, p50, p90, p99, p99.9, max.
fn groups(latency: &mut Latency) -> Vec<(String, Vec<i128>)> {
    let percentiles = ["50", "90", "99", "99.9"].map(|text| Percentile::parse(text).unwrap());
    latency.sort(GroupOrder::Sum, None);
    let section = latency.groups(&percentiles, Form::Csv);
    let number = |value: &Value| if let Value::Number(number) = value { Some(*number) } else { None };
    let row = |row: &[Value]| {
        let at = section.column("count").unwrap();
        (row[..at].first().map(Value::to_string).unwrap_or_default(), row[at..].iter().filter_map(number).collect())
    };
    section.rows().map(row).collect()
}

fn counts(latency: &Latency) -> [u64; 6] {
    let counts = latency.counts;
    [counts.n_pairs, counts.n_restarted, counts.n_unmatched, counts.n_cut, counts.n_pending, counts.n_unused]
}

fn keys() -> Vec<RecordedHook> {
    let of = |t, id, key| hook(t, id, 0, 7, &[key]);
    vec![
        of(0, 0x1A0, 1),
        of(10, 0x1A0, 2),
        of(25, 0x1A1, 1),
        of(30, 0x1A0, 1),
        of(33, 0x1A0, 1),
        of(40, 0x1A1, 2),
        of(73, 0x1A1, 1),
        of(80, 0x1A1, 3),
        of(90, 0x1A0, 4),
        hook(100, 0x006, 0, 0, &[0, 1]),
        of(120, 0x1A1, 4),
        of(130, 0x1A0, 2),
        of(1154, 0x1A1, 2),
        of(1200, 0x1A0, 9),
    ]
}

#[test]
fn pairs_by_a_key() {
    let bytes = stream(1, &keys());
    let pairs = by_d1("1A0", "1A1");
    let (mut latency, found) = measure_bytes(bytes.clone(), &pairs);
    assert_eq!(found, [25, 30, 40, 1024]);
    assert_eq!(counts(&latency), [4, 1, 2, 1, 1, 0]);
    assert_eq!(groups(&mut latency), [(String::new(), vec![4, 1119, 25, 279, 30, 1024, 1024, 1024, 1024])]);
    let (latency, found) = measure_bytes(bytes.clone(), &PairOptions { across_gaps: true, ..pairs.clone() });
    assert_eq!((found, counts(&latency)), (vec![25, 30, 40, 30, 1024], [5, 1, 1, 0, 1, 0]));
    let (latency, _) = measure_bytes(bytes.clone(), &PairOptions { matching: Matching::Nested, ..pairs.clone() });
    assert_eq!(counts(&latency), [4, 0, 2, 2, 1, 0]);
    let (latency, found) = measure_bytes(bytes.clone(), &PairOptions { range: (30, 40), ..pairs.clone() });
    assert_eq!((found, counts(&latency)), (vec![30, 40], [2, 1, 2, 1, 1, 0]));
    let (_, found) = measure_bytes(bytes.clone(), &PairOptions { outliers: 2, ..pairs.clone() });
    assert_eq!(found, [1024, 40]);
    // A key that the events do not have.
    let (latency, _) = measure_bytes(bytes, &PairOptions { key: Some(String::from("U4@100")), ..pairs });
    assert_eq!(counts(&latency), [0, 0, 0, 0, 0, 13]);
}

#[test]
fn times_that_go_back_are_those_of_the_cpus_last_event() {
    let key = |t, id| hook(t, id, 0, 5, &[1]);
    let hooks = [key(0, 0x1A0), key(2000, 0x1A2), key(1500, 0x1A1), key(1600, 0x1A0), key(2300, 0x1A1)];
    let (_, found) = measure_bytes(stream(1, &hooks), &by_d1("1A0", "1A1"));
    assert_eq!(found, [2000, 300]);
}

#[test]
fn conditions_and_fields_choose_pairs() {
    let hooks = [
        generic(0, 0x101, 5, 0, b"kread"),
        generic(1, 0x101, 6, 0, b"kwrite"),
        call(10, 0x104, 5, "kread"),
        generic(20, 0x104, 6, 0, &[&5u32.to_be_bytes()[..], b"kwrite"].concat()),
        generic(30, 0x101, 5, 0, b"kread"),
        call(37, 0x104, 5, "kread"),
    ];
    let bytes = stream(1, &hooks);
    let (mut latency, _) =
        measure_bytes(bytes.clone(), &PairOptions { by: Some(String::from("svc")), ..options(events("101", "104")) });
    let names: Vec<_> = groups(&mut latency).into_iter().map(|(name, numbers)| (name, numbers[1])).collect();
    assert_eq!(names, [(String::from("kwrite"), 19), (String::from("kread"), 17)]);
    let (_, found) = measure_bytes(bytes.clone(), &options(events("101{svc~^kr,tid=5}", "104")));
    assert_eq!(found, [10, 7]);
    let (mut latency, _) = measure_bytes(
        bytes.clone(),
        &PairOptions { by: Some(String::from("end.errno,end.tid")), ..options(events("101", "104{errno!=0}")) },
    );
    assert_eq!(groups(&mut latency).into_iter().map(|(name, _)| name).collect::<Vec<_>>(), ["5"]);
    // Text of the built-in format file.
    let (_, found) = measure_bytes(bytes, &options(events("101{text~kwrite}", "104")));
    assert_eq!(found, [19]);
}

#[test]
fn pairs_of_the_sample() {
    let svc = PairOptions { by: Some(String::from("svc")), ..options(PairSource::Named(String::from("svc"))) };
    let (mut latency, _) = measure(&mut sample("shell.trc"), &svc);
    let rows: BTreeMap<_, _> = groups(&mut latency).into_iter().collect();
    assert_eq!(rows["kread"], [10, 27_520_888, 3955, 2_752_088, 2_694_763, 4_691_367, 5_603_295, 5_603_295, 5_603_295]);
    assert_eq!(rows["kfork"][..2], [3, 281_919]);
}

#[test]
fn timers_of_templates_are_the_pairs_of_their_events() {
    for name in ["shell.trc", "copy.trc"] {
        let (mut timers, _) = measure(&mut sample(name), &options(PairSource::Timers));
        let timers: BTreeMap<_, _> = groups(&mut timers).into_iter().collect();
        for (a, pair) in [(0x101, "svc"), (0x102, "slih"), (0x106, "run")] {
            let pairs = PairOptions { by: Some(String::new()), ..options(PairSource::Named(String::from(pair))) };
            let (mut latency, _) = measure(&mut sample(name), &pairs);
            let expected = groups(&mut latency).into_iter().next().map(|(_, numbers)| numbers);
            assert_eq!(timers.get(&a.to_string()), expected.as_ref(), "{name} {pair}");
        }
    }
}

#[test]
fn states_of_threads_are_pairs_of_qnx() {
    let records = [
        record(0, 1, 1, &[0, 0]),
        record(1600, 4, 2, &[7, 1, 10, 0]),
        record(1700, 4, 2, &[1, 1, 0, 0]),
        record(1800, 4, 1, &[7, 1, 10, 0]),
        record(2600, 2, 11, &[0, 0]),
        record(3000, 2, 128 + 11, &[0, 0]),
        record(5400, 4, 2, &[7, 1, 10, 0]),
        record(6300, 4, 1, &[7, 1, 10, 0]),
        record(8000, 6, 1, &[0, 0]),
    ];
    let measure = |name: &str| {
        let pairs = options(PairSource::Named(String::from(name)));
        let (mut latency, found) = measure_bytes(log(1, &records), &pairs);
        (groups(&mut latency).into_iter().map(|(name, _)| name).collect::<Vec<_>>(), found, counts(&latency))
    };
    assert_eq!(measure("ready"), (vec![String::from("7.1")], vec![200, 900], [2, 0, 0, 0, 1, 0]));
    assert_eq!(measure("kercall"), (vec![String::from("MSG_SENDV")], vec![400], [1, 0, 0, 0, 0, 0]));
    let user = options(events("USER{class=USER,w0=0}", "USER"));
    assert_eq!(counts(&measure_bytes(log(1, &records), &user).0), [0, 0, 1, 0, 1, 0]);
}

/// Pairs of the hooks 1A0 and 1A1 with the key D1, as the documentation of `--match` and of gaps words it.
fn naive(hooks: &[RecordedHook], matching: Matching, across_gaps: bool) -> ([u64; 6], Vec<u64>) {
    struct Open {
        key: u64,
        t: u64,
        gaps: Vec<u64>,
    }
    let (mut open, mut found, mut counts) = (Vec::<Open>::new(), Vec::new(), [0; 6]);
    let mut last = 0;
    for RecordedHook { t, id, words, .. } in hooks {
        match id {
            0x006 => open.iter_mut().for_each(|open| open.gaps.push(last)),
            0x002 => open.iter_mut().for_each(|open| open.gaps.push(*t)),
            0x1A1 => loop {
                let mut own = open.iter().enumerate().filter(|(_, open)| open.key == words[0]).map(|(at, _)| at);
                let at = if matching == Matching::Oldest { own.next() } else { own.next_back() };
                let Some(at) = at else {
                    counts[2] += 1;
                    break;
                };
                let start = open.remove(at);
                if !across_gaps && !start.gaps.is_empty() {
                    counts[3] += 1;
                    continue;
                }
                counts[0] += 1;
                found.push(t - start.t);
                break;
            },
            0x1A0 => {
                if matching == Matching::Newest
                    && let Some(at) = open.iter().position(|open| open.key == words[0])
                {
                    let old = open.remove(at);
                    counts[if across_gaps || old.gaps.is_empty() { 1 } else { 3 }] += 1;
                }
                open.push(Open { key: words[0], t: *t, gaps: Vec::new() });
            }
            _ => {}
        }
        last = *t;
    }
    for start in open {
        let is_cut = !across_gaps && start.gaps.iter().any(|gap| *gap < last);
        counts[if is_cut { 3 } else { 4 }] += 1;
    }
    (counts, found)
}

#[test]
fn random_traces_agree_with_a_second_implementation() {
    for seed in 0..250 {
        let mut random = PseudoRandom(seed);
        let mut t = 0;
        let hooks: Vec<RecordedHook> = (0..random.below(60))
            .map(|_| {
                t += random.below(4) * random.below(1000);
                match random.below(20) {
                    0 => hook(t, 0x006, 0, 0, &[0, 1]),
                    1 => hook(t, 0x002, 0, 0, &[]),
                    2 => hook(t, 0x001, 0, 0, &[]),
                    n => hook(t, 0x1A0 + (n % 2) as u16, 0, 7, &[random.below(4)]),
                }
            })
            .collect();
        for matching in [Matching::Newest, Matching::Nested, Matching::Oldest] {
            for across_gaps in [false, true] {
                let pairs = PairOptions { matching, across_gaps, ..by_d1("1A0", "1A1") };
                let (mut latency, found) = measure_bytes(stream(1, &hooks), &pairs);
                let (expected, mut times) = naive(&hooks, matching, across_gaps);
                assert_eq!((counts(&latency), &found), (expected, &times), "{seed} {matching:?} {across_gaps}");
                times.sort_unstable();
                let rank = |share: u128| times[(times.len() as u128 * share).div_ceil(1000).max(1) as usize - 1];
                if let [(_, numbers)] = &groups(&mut latency)[..] {
                    let sum: u64 = times.iter().sum();
                    let mean = sum / times.len() as u64;
                    let expected =
                        [times.len() as u64, sum, times[0], mean, rank(500), rank(900), rank(990), rank(999)];
                    assert!(numbers.iter().zip(expected).all(|(found, expected)| *found == expected.into()), "{seed}");
                } else {
                    assert!(times.is_empty());
                }
            }
        }
    }
}

#[test]
fn memory_has_limits() {
    let hooks: Vec<RecordedHook> = (0..5000).map(|n| hook(n, 0x1A0, 0, 7, &[n])).collect();
    let pairs = PairOptions { max_open: 1000, ..by_d1("1A0", "1A1") };
    let (latency, _) = measure_bytes(stream(1, &hooks), &pairs);
    assert_eq!((latency.counts.n_pending, latency.counts.n_dropped), (1000, 4000));
    let ends = (0..5000).map(|n| hook(5000 + n, 0x1A1, 0, 7, &[n]));
    let hooks: Vec<RecordedHook> = hooks.iter().cloned().chain(ends).collect();
    let pairs = PairOptions { max_groups: 10, max_values: 100, by: Some(String::from("d1")), ..by_d1("1A0", "1A1") };
    let (mut latency, found) = measure_bytes(stream(1, &hooks), &pairs);
    let rows = groups(&mut latency);
    assert_eq!((rows.len(), rows[0].0.as_str(), rows[0].1[0]), (11, "(others)", 4990));
    assert_eq!(rows.iter().map(|(_, numbers)| numbers[0]).sum::<i128>(), found.len() as i128);
    latency.sort(GroupOrder::Count, Some(2));
    assert_eq!(groups(&mut latency).len(), 3);
    // Starts that a gap has cut make room.
    let mut hooks: Vec<RecordedHook> = (0..10).map(|n| hook(n, 0x1A0, 0, 7, &[n])).collect();
    hooks.push(hook(20, 0x006, 0, 0, &[0, 1]));
    hooks.extend([hook(21, 0x1A0, 0, 7, &[99]), hook(25, 0x1A1, 0, 7, &[99])]);
    let (latency, found) = measure_bytes(stream(1, &hooks), &PairOptions { max_open: 10, ..by_d1("1A0", "1A1") });
    assert_eq!((found, counts(&latency)), (vec![4], [1, 0, 0, 10, 0, 0]));
}

#[test]
fn any_bytes_are_measured() {
    for seed in 0..60 {
        let mut random = PseudoRandom(seed);
        let hooks: Vec<RecordedHook> = (0..40)
            .map(|n| {
                let id =
                    [0x101, 0x104, 0x100, 0x102, 0x103, 0x106, 0x10C, 0x200, 0x002, 0x006][random.below(10) as usize];
                let t = if random.below(20) == 0 { random.below(u64::MAX) } else { n * 100 };
                hook(t, id, random.below(3) as u16, random.below(3), &[random.below(9), random.below(9)])
            })
            .collect();
        let mut bytes = stream(random.below(3) as u32, &hooks);
        for _ in 0..random.below(4) {
            let at = 4 + random.below(bytes.len() as u64 - 4) as usize;
            bytes[at] = random.below(256) as u8;
        }
        let records: Vec<Record> = (0..40u64)
            .map(|n| Record {
                cpu: random.below(3) as u32,
                ..record(n * 50, random.below(8) as u32, random.below(700) as u32, &[1, 2, 3])
            })
            .collect();
        let named =
            |name: &str| PairOptions { outliers: random.0 as usize % 3, ..options(PairSource::Named(name.to_owned())) };
        for name in ["svc", "slih", "flih", "run", "lvm"] {
            check(bytes.clone(), &named(name));
        }
        check(bytes, &options(PairSource::Timers));
        for name in ["kercall", "irq", "handler", "ready", "reply"] {
            check(log(2, &records), &named(name));
        }
    }
}

/// Measures pairs and prints them in every form.
fn check(bytes: Vec<u8>, pairs: &PairOptions) {
    let Ok(mut trace) = Trace::from_bytes("t", bytes.clone()) else { return };
    let formats = Formats::load::<&str>([]).unwrap();
    let analysis = AnalysisOptions::default();
    let mut out = TextBuf::new();
    for form in [Form::Text, Form::Tsv, Form::Ndjson] {
        let Ok(names) = field_names(&mut trace, &analysis, pairs) else { return };
        let writer = PairWriter::new(form, names);
        let mut visit = |pair: &tfbc_analysis::latency::Pair<'_>| {
            assert!(pair.ns <= pair.end.saturating_sub(pair.start));
            writer.row(pair, &mut out);
        };
        let Ok(mut trace) = Trace::from_bytes("t", bytes.clone()) else { return };
        let found = latency(&mut trace, &analysis, pairs, formats.catalog(), &mut |_: &Notice| {}, &mut visit);
        let Ok(mut found) = found else { return };
        found.sort(GroupOrder::P99, Some(1));
        assert!(groups(&mut found).iter().map(|(_, numbers)| numbers[0]).sum::<i128>() == found.counts.n_pairs.into());
        found.write_groups(&[], &mut out);
        found.write_histograms(2, Some(60), '#', &mut out);
        found.write_counts(&mut out);
    }
}
