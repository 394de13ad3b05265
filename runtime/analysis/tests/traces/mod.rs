//! Traces of AIX and logs of QNX, written event by event.
#![allow(dead_code, reason = "each test uses its part")]

use std::collections::BTreeMap;
use tfbc::{Notice, Trace};
use tfbc_analysis::timeline::{InstantChoice, TRACKS, TimelineForm, TimelineOptions, timeline};
use tfbc_analysis::{AnalysisOptions, Section, Summary, Value, summarise};

/// Pseudo-random numbers, determined by a seed.
pub struct PseudoRandom(pub u64);

impl PseudoRandom {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Event as tfbc's recorder writes it, with the words that `docs/hooks.md` lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedHook {
    pub t: u64,
    /// Hook id of three digits.
    pub id: u16,
    /// Low half of the hook word.
    pub sub: u16,
    pub tid: u64,
    pub words: Vec<u64>,
    /// Bytes after the data word of a generic hook; `None` for a plain one.
    pub bytes: Option<Vec<u8>>,
}

pub fn hook(t: u64, id: u16, cpu: u16, tid: u64, words: &[u64]) -> RecordedHook {
    RecordedHook { t, id, sub: cpu, tid, words: words.to_vec(), bytes: None }
}

pub fn generic(t: u64, id: u16, tid: u64, word: u64, bytes: &[u8]) -> RecordedHook {
    RecordedHook { t, id, sub: 0, tid, words: vec![word], bytes: Some(bytes.to_vec()) }
}

/// System call: hook 101 if it begins, 104 if it returns.
pub fn call(t: u64, id: u16, tid: u64, name: &str) -> RecordedHook {
    let bytes = if id == 0x104 { [&[0; 4][..], name.as_bytes()].concat() } else { name.as_bytes().to_vec() };
    generic(t, id, tid, 0, &bytes)
}

/// Dispatch of a thread: hook 106, or 10C for the idle one.
pub fn dispatch(t: u64, id: u16, cpu: u16, pid: u64, tid: u64) -> RecordedHook {
    hook(t, id, cpu, tid, &[pid, tid, 60])
}

/// Stream of a 64-bit kernel with `cpus` declared CPUs; 0 declares none.
pub fn stream(cpus: u32, hooks: &[RecordedHook]) -> Vec<u8> {
    stream_of(cpus, hooks, false)
}

/// Stream whose events contain their CPUs, which `sub` has for generic hooks too.
pub fn stream_with_cpus(cpus: u32, hooks: &[RecordedHook]) -> Vec<u8> {
    stream_of(cpus, hooks, true)
}

fn stream_of(cpus: u32, hooks: &[RecordedHook], with_cpus: bool) -> Vec<u8> {
    let mut bytes = 0xEFDF_1114u32.to_be_bytes().to_vec();
    let factors: Vec<u8> = [1u64, 1, 2].iter().flat_map(|word| word.to_be_bytes()).collect();
    let counts: Vec<u8> = [cpus, cpus].iter().flat_map(|word| word.to_be_bytes()).collect();
    let first = hooks.first().map_or(0, |hook| hook.t);
    let mut header = vec![generic(first, 0x00A, 1, 0x25C, &factors), generic(first, 0x00A, 1, 0x1E, b"tfbc\0")];
    if cpus > 0 {
        header.push(generic(first, 0x00A, 1, 0x12, &counts));
    }
    for RecordedHook { t, id, sub: cpu, tid, words, bytes: data } in header.iter().chain(hooks) {
        let id = u64::from(*id) << 20;
        let body = match data {
            None => words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>(),
            Some(data) => data.clone(),
        };
        let flags: u64 = if data.is_some() { 0xC000_0000_0000_0000 } else { 0x8000_0000_0000_0000 };
        let flags = if with_cpus { flags | 0x1000_0000_0000_0000 } else { flags };
        let sub = if data.is_some() { 0 } else { u64::from(*cpu) };
        bytes.extend((flags | (body.len() as u64) << 32 | id | sub).to_be_bytes());
        if data.is_some() {
            bytes.extend(words[0].to_be_bytes());
        }
        bytes.extend(&body);
        // The stream's mark has 4 bytes.
        bytes.resize((bytes.len() - 4).next_multiple_of(8) + 4, 0);
        bytes.extend(tid.to_be_bytes());
        bytes.extend((*t).to_be_bytes());
        if with_cpus {
            bytes.extend(u64::from(*cpu).to_be_bytes());
        }
    }
    bytes
}

/// Record of a QNX log. A cycle of its clock is a nanosecond.
#[derive(Debug, Clone)]
pub struct Record {
    pub t: u64,
    pub class: u32,
    pub event: u32,
    pub cpu: u32,
    pub words: Vec<u32>,
}

pub fn record(t: u64, class: u32, event: u32, words: &[u32]) -> Record {
    Record { t, class, event, cpu: 0, words: words.to_vec() }
}

/// Log of a little-endian machine. Records of more than two words have several slots.
pub fn log(cpus: u32, records: &[Record]) -> Vec<u8> {
    log_in(false, cpus, records)
}

/// Log of a machine of either byte order.
pub fn log_in(big_endian: bool, cpus: u32, records: &[Record]) -> Vec<u8> {
    let order = if big_endian { "TRACE_BIG_ENDIAN" } else { "TRACE_LITTLE_ENDIAN" };
    let mut bytes = format!(
        "TRACE_HEADER_BEGIN::TRACE_VER_MAJOR::1TRACE_VER_MINOR::01{order}::TRUE\
         TRACE_CYCLES_PER_SEC::1000000000TRACE_CPU_NUM::{cpus}TRACE_HEADER_END::"
    )
    .into_bytes();
    for Record { t, class, event, cpu, words } in records {
        let n_slots = words.len().div_ceil(2).max(1);
        for slot in 0..n_slots {
            let kind: u32 = match (n_slots, slot) {
                (1, _) => 0,
                (_, 0) => 1,
                (n, slot) if slot + 1 == n => 3,
                _ => 2,
            };
            let word = |at: usize| words.get(at).copied().unwrap_or(0);
            let head = kind << 30 | cpu << 24 | class << 10 | event;
            for value in [head, *t as u32, word(2 * slot), word(2 * slot + 1)] {
                bytes.extend(if big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
            }
        }
    }
    bytes
}

/// Summarises a trace, and asserts that its timeline has the same times.
pub fn summary(bytes: Vec<u8>, options: &AnalysisOptions) -> Summary {
    let own = |bytes: &[u8]| Trace::from_bytes("t", bytes.to_vec()).unwrap();
    let summary = summarise(&mut own(&bytes), options, &mut |_: &Notice| {}).unwrap();
    check_utilisation(&summary);
    if let Some(cpus) = summary.section("cpu").filter(|_| bytes.len() < MAX_DRAWN) {
        let (mut drawn, charged) = (drawn(&mut own(&bytes), options), charged(cpus));
        // A summary drops the CPU without a number when it finds one with a number. What is drawn stays.
        if !numbers(cpus, &["cpu"]).contains_key("-") {
            drawn.retain(|(cpu, _), _| cpu != "CPU -");
        }
        assert_eq!(drawn, charged, "{:?}", summary.section("head"));
    }
    summary
}

/// Asserts that the buckets of a CPU follow each other without gaps, fill the span, and sum to the CPU's busy time.
fn check_utilisation(summary: &Summary) {
    let (Some(cpus), Some(buckets)) = (summary.section("cpu"), summary.section("utilisation")) else { return };
    let mut sums: BTreeMap<String, (i128, i128)> = BTreeMap::new();
    let head = numbers(summary.section("head").unwrap(), &["system"]);
    let (start, end) = head.values().next().map(|row| (row["from_ns"], row["until_ns"])).unwrap();
    for row in buckets.rows() {
        let number = |name: &str| match buckets.get(row, name) {
            Some(Value::Number(number)) => *number,
            other => panic!("{other:?}"),
        };
        let (last, sum) = sums.entry(row[0].to_string()).or_insert((start, 0));
        assert!(number("from_ns") == *last && number("busy_ns") <= number("to_ns") - *last, "{row:?}");
        (*last, *sum) = (number("to_ns"), *sum + number("busy_ns"));
    }
    for (cpu, row) in numbers(cpus, &["cpu"]).into_iter().filter(|(cpu, _)| cpu != "all") {
        let (last, sum) = sums.get(&cpu).copied().unwrap_or((start, 0));
        assert_eq!((last, sum), (end, row["busy_ns"]), "CPU {cpu}");
    }
}

/// Largest trace whose timeline is compared, in bytes.
const MAX_DRAWN: usize = 1 << 17;

/// Time per track of a CPU and category.
type TrackTimes = BTreeMap<(String, String), u128>;

/// Times of the CPUs' slices in a timeline, without the slices inside. Panics if slices overlap or have unequal times.
fn drawn(trace: &mut Trace, options: &AnalysisOptions) -> TrackTimes {
    let what = TimelineOptions {
        form: TimelineForm::Chrome,
        tracks: TRACKS.to_vec(),
        instants: InstantChoice::Never,
        has_formats: false,
        pairs: Vec::new(),
        own_context: None,
        max_slices: u64::MAX,
    };
    let formats = tfbc::Formats::builtin();
    let mut json = Vec::new();
    let monitor = &mut |_: &Notice| {};
    timeline(trace, options, &what, formats.catalog(), monitor, &mut json).unwrap();
    let lines = String::from_utf8(json).unwrap().lines().map(in_nanoseconds).collect::<Vec<_>>();
    let parsed: serde_json::Value = serde_json::from_str(&lines.join("\n")).unwrap();
    let events = parsed["traceEvents"].as_array().unwrap();
    let names = |what: &str| {
        let named = events.iter().filter(|event| event["name"] == what && event["ph"] == "M");
        let name = |event: &serde_json::Value| {
            let id = event[if what == "thread_name" { "tid" } else { "pid" }].as_u64().unwrap();
            (id, event["args"]["name"].as_str().unwrap().to_owned())
        };
        named.map(name).collect::<BTreeMap<_, _>>()
    };
    let (groups, tracks) = (names("process_name"), names("thread_name"));
    let mut of_tracks: BTreeMap<u64, Vec<(u128, u128, String)>> = BTreeMap::new();
    let ns = |value: &serde_json::Value| u128::from(value.as_u64().unwrap());
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let (begin, length) = (ns(&event["ts"]), ns(&event["dur"]));
        let slice = (begin, begin + length, event["cat"].as_str().unwrap().to_owned());
        let track = event["tid"].as_u64().unwrap();
        of_tracks.entry(track).or_default().push(slice);
        assert!(groups.contains_key(&event["pid"].as_u64().unwrap()) && tracks.contains_key(&track));
    }
    let mut times = TrackTimes::new();
    for (track, mut slices) in of_tracks {
        // Readers keep the order of the file among slices that begin at the same time.
        slices.sort_by_key(|slice| slice.0);
        let mut own: BTreeMap<String, u128> = BTreeMap::new();
        let mut open: Vec<(u128, u128, String)> = Vec::new();
        for slice in slices {
            open.retain(|outer| outer.1 > slice.0);
            if let Some(outer) = open.last() {
                assert!(slice.1 <= outer.1, "{slice:?} overlaps {outer:?} on {}", tracks[&track]);
                *own.get_mut(&outer.2).unwrap() -= slice.1 - slice.0;
            }
            *own.entry(slice.2.clone()).or_default() += slice.1 - slice.0;
            open.push(slice);
        }
        if tracks[&track].starts_with("CPU ") {
            let own = own.into_iter().filter(|(_, ns)| *ns > 0);
            times.extend(own.map(|(category, ns)| ((tracks[&track].clone(), category), ns)));
        }
    }
    times
}

/// Converts the times of a timeline event from microseconds to nanoseconds: whole numbers are exact in JSON.
fn in_nanoseconds(line: &str) -> String {
    let mut line = line.to_owned();
    for key in ["\"ts\":", "\"dur\":"] {
        let Some(start) = line.find(key).map(|at| at + key.len()) else { continue };
        let end = start + line[start..].find([',', '}']).unwrap();
        let ns: u64 = line[start..end].replace('.', "").parse().unwrap();
        line.replace_range(start..end, &ns.to_string());
    }
    line
}

/// Times of a summary, by the categories of a timeline.
fn charged(cpus: &Section) -> TrackTimes {
    let mut times = TrackTimes::new();
    for (cpu, row) in numbers(cpus, &["cpu"]).into_iter().filter(|(cpu, _)| cpu != "all") {
        for (name, ns) in row {
            let category = match name.strip_suffix("_ns") {
                None | Some("span" | "busy" | "unknown") => continue,
                Some(own @ ("idle" | "lost" | "off" | "switch" | "dispatch" | "idle_dispatch")) => own.to_owned(),
                Some(class @ ("flih" | "slih" | "int" | "handler" | "driver")) => class.to_uppercase(),
                Some(_) => String::from("run"),
            };
            *times.entry((format!("CPU {cpu}"), category)).or_default() += ns as u128;
        }
    }
    times.retain(|_, ns| *ns > 0);
    times
}

/// Numbers of a section: `key` → column → number. The key is the text of some columns.
pub fn numbers(section: &Section, key: &[&str]) -> BTreeMap<String, BTreeMap<String, i128>> {
    let mut rows = BTreeMap::new();
    for row in section.rows() {
        let text = |name: &&str| section.get(row, name).unwrap().to_string();
        let name: Vec<String> = key.iter().map(text).collect();
        let numbers = section.columns().iter().zip(row).filter_map(|(column, value)| match value {
            Value::Number(number) => Some((column.name.clone(), *number)),
            _ => None,
        });
        assert!(rows.insert(name.join("."), numbers.collect()).is_none(), "{name:?} twice");
    }
    rows
}

/// Asserts numbers of a row: `name=number` words.
pub fn check(summary: &Summary, section: &str, key: &[&str], row: &str, expected: &str) {
    let section = summary.section(section).unwrap();
    let rows = numbers(section, key);
    let found = rows.get(row).unwrap_or_else(|| panic!("{row} in {:?}", rows.keys()));
    for pair in expected.split_whitespace() {
        let (name, number) = pair.split_once('=').unwrap();
        assert_eq!(found.get(name).map(ToString::to_string).as_deref(), Some(number), "{name} of {row}: {found:?}");
    }
}

/// Asserts that the categories of every CPU sum to the span, and that the rows of threads and interrupts account for all
/// of the time that has a category.
pub fn check_conservation(summary: &Summary) {
    let cpus = summary.section("cpu").unwrap();
    let rows = numbers(cpus, &["cpu"]);
    let mut n_cpus = 0;
    for (cpu, row) in &rows {
        let is_category = |name: &str| name.ends_with("_ns") && name != "span_ns" && name != "busy_ns";
        let sum: i128 = row.iter().filter(|(name, _)| is_category(name)).map(|(_, ns)| ns).sum();
        assert_eq!(sum, row["span_ns"], "CPU {cpu}: {row:?}");
        let rest = row["idle_ns"] + row["unknown_ns"] + row["lost_ns"] + row["off_ns"];
        assert_eq!(row["busy_ns"], sum - rest, "CPU {cpu}");
        n_cpus += i128::from(cpu != "all");
    }
    let all = &rows["all"];
    let head = numbers(summary.section("head").unwrap(), &["system"]);
    assert_eq!(all["span_ns"], n_cpus * head.values().next().unwrap()["span_ns"]);
    let sum = |section: &str, name: &str| -> i128 {
        let section = summary.section(section).unwrap();
        section.rows().map(|row| if let Some(Value::Number(ns)) = section.get(row, name) { *ns } else { 0 }).sum()
    };
    let get = |name: &str| all.get(name).copied().unwrap_or(0);
    let others = ["dispatch_ns", "idle_dispatch_ns", "switch_ns", "unknown_ns", "lost_ns", "off_ns"];
    let charged = sum("thread", "total_ns") + sum("interrupt", "total_ns") + others.map(get).iter().sum::<i128>();
    assert_eq!(charged, all["span_ns"]);
    assert_eq!(sum("process", "total_ns"), sum("thread", "total_ns"));
}
