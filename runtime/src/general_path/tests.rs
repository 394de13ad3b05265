//! Property test: fast and general paths print the same reports of random traces, with random flags.

use super::{Paths, paths};
use crate::aix::{AixReportOptions, IdSet, Timestamp};
use crate::columns::Column;
use crate::common::damage::reference_kev;
use crate::common::{
    LogBuilder, Noise, STREAM64, factors32, factors64, generic_by32, generic_by64, plain64, process, words32, words64,
};
use crate::event::Item;
use crate::expression::Expression;
use crate::fields::{flags_of_word, label_of_word};
use crate::filter::{Filter, Numbers, Processes, Threads};
use crate::qnx::{FieldLayout, QnxReportOptions, TimeForm};
use crate::qnx_report::{RecordFilter, RecordIds};
use crate::reader::Notice;
use crate::reader::files::Files;
use crate::reader::{AnyTrace, Input};
use crate::row_block::{Long, RowBlock, Short};
use crate::row_facts::TraceFacts;
use crate::row_run::rows;
use crate::rows::{Names, RowFields, RowOptions, RowSink, split_cells};
use crate::traceprinter::{self, Layout, PrintOptions};
use crate::{
    Columns, Form, Formats, Limits, MaxWork, Pattern, ReportColour, ReportOptions, ReportSummary, System, Trace, aix,
    report_with,
};
use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tfbc_vm::{CellValue, Cells, Row, SchemaField};

const TEMPLATES: &str = r#"
010 1.0 L=APPL "@USER HOOK" "hook = " $D1%U4
011 1.0 L=KERN "@SOME" "odd, " $D1%U4 $D1%1, 0 { $SKIP } "more"
012 1.0 L=SVC "@MANY" "first " X4 \n "second" X4 \n
013 1.0 L=INT "@EMPTY" ""
014 1.0 L=APPL "@KNOWN" "pid=" $PID "cpu=" $CPUID "pri=" $PRI "svc=" $SVC " path=" $EXECPATH
016 1.0 L=APPL "@DIVIDED" {{ $A = 100 / $D1 }} "by" $A
017 1.0 L=APPL "@CUT" X4 X4 X4 X4 X4
018 1.0 L=KERN "@QUOTED" "a\tb of, " $D1, 1 "one", 2 "two, 2", \* "other"
019 1.0 L=APPL "@LOOPED" "n=" $D1%U4 {{ $n = 3 }} LOOP $n { U2 " " }
01A 1.0 L=SVC "@TEXT" "name=" S8 " and=" G4 W4
01B 1.0 L=INT "@LONG" "long" {{ $n = 5000 }} LOOP $n { }
01C 1.0 L=APPL "@FLAT" $D1%U4 " " $D2%X4 " " $D3
100 1.0 L=INT "@RAISE" "interrupt"
101 1.0 L=SVC "@ENTER" "enter"
102 1.0 L=INT "@LOWER" "back"
104 1.0 L=SVC "@RETURN" "return"
106 1.0 L=KERN "@DISPATCH" "dispatch " $D2
"#;

/// Templates whose text depends on earlier events, and one that ends the report.
const IN_ORDER: &str = r#"
015 1.0 L=0 "@PATH" "path of " P4
020 1.0 L=APPL "@BEGIN" starttimer($TID,1) "begin"
021 1.0 L=KERN "@END" "took " endtimer($TID,1)
022 1.0 L=0 "@HIDDEN" starttimer($TID,1) $SKIP
023 1.0 L=APPL "@STOP" "the end" $D1, 999 { $STOP }
"#;

const CONTEXT: &str = "106 dispatch pid=D1 tid=D2 cpu=HD\n100 raise\n102 lower\n101 enter address=D1\n104 return\n\
                       134 generic exec pid=D1 path=P@W2\n135 exit pid=D1\n";

fn one_in(n: u64, noise: &mut Noise) -> bool {
    noise.below(n) == 0
}

/// Events of a few threads. A tenth of them change the context.
fn events(noise: &mut Noise, n: u64, wide: bool) -> Vec<Vec<u8>> {
    const IDS: [u16; 24] = [
        0x010, 0x010, 0x010, 0x011, 0x012, 0x013, 0x014, 0x015, 0x016, 0x017, 0x018, 0x018, 0x019, 0x01A, 0x01C, 0x01C,
        0x020, 0x021, 0x022, 0x023, 0x106, 0x106, 0x100, 0x999,
    ];
    let is_long = one_in(24, noise);
    let mut ticks = 1000;
    let mut all = Vec::new();
    for _ in 0..n {
        // Some gaps need wider columns.
        ticks += if one_in(60, noise) { 3_000_000_000 } else { noise.below(3000) };
        let (tid, word) = (noise.below(5) + 1, noise.below(8));
        let id = match noise.below(30) {
            0 => noise.pick(&[0x101, 0x102, 0x104, 0x135]),
            1..8 if is_long => 0x01B,
            _ => noise.pick(&IDS),
        };
        all.push(match (wide, noise.below(60)) {
            (true, 0) => generic_by64(0x1340, word, b"/usr/bin/some_program\0", tid, ticks),
            (false, 0) => generic_by32(0x134, word as u32, b"/usr/bin/some_program\0", tid as u32, ticks as u32),
            (true, 1) => generic_by64(0x0030, 2, b"trace -a\0", tid, ticks),
            (false, 1) => generic_by32(0x003, 2, b"trace -a\0", tid as u32, ticks as u32),
            // Unstamped, with a CPU number, or with registers.
            (true, 2) => words64(&[0x0000_0008_0000_0000 | u64::from(id) << 20, word, tid]),
            (true, 3 | 4) => words64(&[0x9000_0008_0000_0000 | u64::from(id) << 20, word, tid, ticks, word % 3]),
            (true, 5) => words64(&[0x8801_0008_0000_0000 | u64::from(id) << 20, word, tid, ticks, 1, 2]),
            (false, 2) => words32(&[u32::from(id) << 20 | 2 << 16, word as u32, tid as u32]),
            // Bytes that JSON, CSV and terminals treat in their own way.
            (true, 6 | 7) => generic_by64(id << 4, word, b"a\"b\\,\tc\n\x1b[1m\xFFz\0", tid, ticks),
            (false, 6 | 7) => {
                let bytes = b"a\"b\\,\tc\n\x1b[1m\xFFz\0";
                generic_by32(id.into(), word as u32, bytes, tid as u32, ticks as u32)
            }
            (true, _) => {
                let words = [word, word + 1, 0x6162_6300_2C22_6364, 60, 7];
                plain64(id << 4, 1, &words[..noise.below(6) as usize], tid, ticks)
            }
            (false, _) => words32(&[u32::from(id) << 20 | 0xB << 16, word as u32, 7, tid as u32, ticks as u32]),
        });
    }
    all
}

/// Bytes of a trace, or of several.
enum Logs {
    /// One trace, or several to merge.
    Each(Vec<Vec<u8>>),
    /// A base file of AIX, and the files of its CPUs by number.
    OfCpus(Vec<Vec<u8>>),
}

/// AIX traces: one, several to merge, or one with a file per CPU. A log may have wrapped.
fn aix_traces(noise: &mut Noise) -> Logs {
    let first = generic_by64(0x00A0, 1, &process(3, 2, "/usr/sbin/first"), 0, 0);
    let stream64 =
        |events: Vec<Vec<u8>>| [STREAM64.to_vec(), factors64(3, 2, 2), first.clone(), events.concat()].concat();
    let stream32 = |events: Vec<Vec<u8>>| [factors32(1000, 512, 2), events.concat()].concat();
    let log = |events: &[Vec<u8>], wide, current| {
        let ic = if wide { factors64(1, 1, 2) } else { factors32(1, 1, 2) };
        let entries = events.chunks(40).map(|chunk| chunk.concat()).collect();
        LogBuilder { wide, current, wraps: 1, ic, entries }.bytes()
    };
    let n = 60 + noise.below(120);
    // A log without initial conditions takes those of its base file.
    let of_mode = |mode: u32, ic: Vec<u8>, events: &[Vec<u8>]| {
        let entries = events.chunks(40).map(|chunk| chunk.concat()).collect();
        let mut bytes = LogBuilder { wide: true, current: 1, wraps: 0, ic, entries }.bytes();
        bytes[12..16].copy_from_slice(&mode.to_be_bytes());
        bytes
    };
    let kind = noise.below(7);
    let mut traces = match kind {
        6 => {
            let mut files = vec![of_mode(4, factors64(1, 1, 2), &events(noise, n / 8, true))];
            files.extend((0..1 + noise.below(3)).map(|_| of_mode(8, Vec::new(), &events(noise, n / 2, true))));
            files
        }
        0 => vec![stream64(events(noise, n, true))],
        1 => vec![stream32(events(noise, n, false))],
        2 => vec![log(&events(noise, n, true), true, 1)],
        3 => vec![log(&events(noise, n, false), false, 0)],
        4 => vec![stream64(events(noise, n, true)), stream64(events(noise, n / 2, true))],
        _ => vec![stream64(events(noise, n, true)), stream32(events(noise, n, false)), stream64(Vec::new())],
    };
    if one_in(3, noise) {
        traces.iter_mut().for_each(|bytes| damage(noise, bytes));
    }
    if kind == 6 { Logs::OfCpus(traces) } else { Logs::Each(traces) }
}

/// A QNX log. Some of its slots may be missing.
fn qnx_log(noise: &mut Noise) -> Vec<u8> {
    let big = one_in(2, noise);
    let reference = reference_kev(big, 300 + 16 * (60 + noise.below(200) as usize));
    let (mut bytes, head) = (reference.bytes, reference.head);
    // Some slots become other events, among them those that the definitions name.
    let n_slots = (bytes.len() - head) / 16;
    for slot in 0..n_slots {
        if !one_in(3, noise) {
            continue;
        }
        let at = head + 16 * slot;
        let number = |bytes: &[u8]| bytes.try_into().map(if big { u32::from_be_bytes } else { u32::from_le_bytes });
        let Ok(header) = number(&bytes[at..at + 4]) else { continue };
        // Slots of combines and of class CONTROL stay as they are.
        if header >> 30 != 0 || header >> 10 & 0x1F == 1 {
            continue;
        }
        let (class, event) =
            noise.pick(&[(6, 111), (6, 65), (6, 15), (6, 100), (2, 11), (2, 139), (4, 1), (9, 3), (5, 2)]);
        let words = [header & 0x3F00_0000 | class << 10 | event, noise.below(16) as u32, noise.below(300) as u32];
        for (word, at) in words.into_iter().zip([at, at + 8, at + 12]) {
            bytes[at..at + 4].copy_from_slice(&if big { word.to_be_bytes() } else { word.to_le_bytes() });
        }
    }
    if one_in(4, noise) {
        let at = head + 16 * noise.below(n_slots as u64) as usize;
        bytes.drain(at..(at + 16 * 3).min(bytes.len()));
    }
    if one_in(4, noise) {
        damage(noise, &mut bytes);
    }
    bytes
}

/// Overwrites some bytes, or cuts the end.
fn damage(noise: &mut Noise, bytes: &mut Vec<u8>) {
    for _ in 0..noise.below(4) {
        let at = 300 + noise.below(bytes.len().max(301) as u64 - 300) as usize;
        if let Some(byte) = bytes.get_mut(at) {
            *byte = noise.below(256) as u8;
        }
    }
    if one_in(4, noise) {
        bytes.truncate(bytes.len() - noise.below(bytes.len() as u64 / 4) as usize);
    }
}

/// Some of the names, in random order.
fn some<'n>(names: &[&'n str], noise: &mut Noise) -> Vec<&'n str> {
    let mut some: Vec<&str> = names.iter().copied().filter(|_| noise.below(3) == 0).collect();
    for at in (1..some.len()).rev() {
        some.swap(at, noise.below(at as u64 + 1) as usize);
    }
    some
}

fn form(noise: &mut Noise) -> Form {
    noise.pick(&[Form::Text, Form::Text, Form::Tsv, Form::Csv, Form::Ndjson, Form::Ndjson])
}

fn limits(noise: &mut Noise) -> Limits {
    if one_in(8, noise) { Limits { turns: 5, steps: 40, text: 30 } } else { Limits::default() }
}

/// Work limit of the report. With the low one, events of many steps reach it.
fn max_work(noise: &mut Noise) -> MaxWork {
    noise.pick(&[MaxWork::default(), MaxWork::default(), MaxWork(1), MaxWork(1), MaxWork(0)])
}

fn colour(noise: &mut Noise) -> ReportColour {
    noise.pick(&[ReportColour::Off, ReportColour::Off, ReportColour::Ansi, ReportColour::Marked])
}

fn aix_columns(noise: &mut Noise) -> Columns {
    // Flags of `trcrpt -O`.
    const OPTIONS: [Column; 7] =
        [Column::Id, Column::File, Column::Exec, Column::Cpu, Column::ReportedCpus, Column::Pid, Column::Tid];
    let timestamp = noise.pick(&[Timestamp::Milli, Timestamp::Micro, Timestamp::Short, Timestamp::None]);
    if one_in(2, noise) {
        let mut wanted: Vec<Column> = OPTIONS.into_iter().filter(|_| noise.below(3) == 0).collect();
        wanted.extend(one_in(3, noise).then_some(Column::Svc));
        return Columns::new(&wanted, timestamp).on_two_lines(one_in(4, noise)).with_fields_last(one_in(3, noise));
    }
    let names: Vec<&str> = Column::names(System::Aix).filter(|name| *name != "text").collect();
    let mut list = some(&names, noise);
    list.sort_by_key(|name| *name == "fields" && one_in(2, &mut noise.clone()));
    if list.is_empty() || !one_in(4, noise) {
        list.push("text");
    }
    Columns::parse(&list.join(","), timestamp).unwrap()
}

fn aix_options(noise: &mut Noise) -> AixReportOptions {
    let ids = |text: &str| IdSet::parse(text).unwrap();
    let mut filter = Filter::default();
    match noise.below(12) {
        0 => filter.only = Some(ids("010,011,018,021")),
        1 => filter.except = ids("010,020,022,023"),
        2 => filter.cpus = Some(Numbers(vec![(0, 1)])),
        3 => filter.processes = Some(Processes { pids: [1, 3].into(), interrupts: true, ..Processes::default() }),
        4 => (filter.from_ns, filter.to_ns) = (Some(50_000), Some(4_000_000_000)),
        5 => filter.threads = Some(Threads { tids: [1, 2].into(), excluded: one_in(2, noise) }),
        6 | 7 => filter.except = ids("023"),
        _ => {}
    }
    let conditions = [
        "010 | 018",
        "tid=3",
        "011{tid!=1} | 014",
        "010{d1>3}",
        "seq<40 | svc!=none && depth>0",
        "process~some | cpu!=1",
        "d1_text=one | d1>3 | hook<4 | name!=x",
        "018{d1_text~o} | 01C{d1>2,d3!=0} | 015{path_text!=x} | 021{took>9} | 019{f2=60}",
    ];
    AixReportOptions {
        columns: aix_columns(noise),
        page_size: if one_in(6, noise) { 10 } else { 0 },
        no_heading: one_in(3, noise),
        delta_of_all: one_in(6, noise),
        filter,
        defined: one_in(5, noise),
        grep: one_in(4, noise).then(|| Pattern::new(noise.pick(&["[13]|^more", "o", "\\bone$", "a\"b"])).unwrap()),
        conditions: one_in(6, noise).then(|| Expression::parse(noise.pick(&conditions)).unwrap()),
        form: form(noise),
        colour: colour(noise),
        follow_context: one_in(8, noise),
        stats: one_in(10, noise),
        histogram: one_in(8, noise),
        context: Arc::new(CONTEXT.parse().unwrap()),
        limits: limits(noise),
        max_work: max_work(noise),
        ..AixReportOptions::default()
    }
}

fn qnx_options(noise: &mut Noise) -> QnxReportOptions {
    let ids = |list: &[&str]| {
        let mut ids = RecordIds::default();
        list.iter().for_each(|item| ids.add(item, None).unwrap());
        Some(ids)
    };
    let mut filter = RecordFilter::default();
    match noise.below(9) {
        0 => filter.only = ids(&["6", "2"]),
        1 => filter.except = ids(&["4"]),
        2 => filter.cpus = Some(0b101),
        3 => (filter.from_ns, filter.to_ns) = (Some(50_000), Some(5_000_000)),
        4 => filter.pids = Some([1, 2, 3, 4].into()),
        _ => {}
    }
    let mut names: Vec<&str> = Column::names(System::Qnx).filter(|name| !name.starts_with("arg.")).collect();
    names.extend(["arg.pid", "arg.tid", "arg.seq_id"]);
    let columns = match some(&names, noise) {
        list if list.is_empty() || one_in(3, noise) => Columns::qnx(),
        list => Columns::parse_qnx(&list.join(",")).unwrap(),
    };
    QnxReportOptions {
        columns,
        form: form(noise),
        fields: noise.pick(&[FieldLayout::Array, FieldLayout::Object]),
        time: noise.pick(&[TimeForm::Absolute, TimeForm::Relative, TimeForm::Clock]),
        sort: one_in(4, noise),
        no_heading: one_in(3, noise),
        defined: one_in(5, noise),
        filter,
        grep: one_in(4, noise).then(|| Pattern::new(noise.pick(&["[13]", "pid", "^z", "one|two"])).unwrap()),
        conditions: one_in(6, noise).then(|| Expression::parse(noise.pick(&["6 | 2", "cpu=1", "4{cpu>1}"])).unwrap()),
        follow_owners: one_in(6, noise),
        stats: one_in(10, noise),
        colour: colour(noise),
        limits: limits(noise),
        max_work: max_work(noise),
        ..QnxReportOptions::default()
    }
}

/// Pipe that returns few bytes at a time.
struct Trickle(io::Cursor<Vec<u8>>, Noise);

impl Read for Trickle {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = into.len().min(1 + self.1.below(900) as usize);
        self.0.read(&mut into[..n])
    }
}

/// Files in memory: `log`, and next to it `log-0` and so on.
struct FilesOfCpus<'l>(&'l [Vec<u8>]);

impl FilesOfCpus<'_> {
    fn names(&self) -> impl Iterator<Item = PathBuf> {
        (0..self.0.len()).map(|at| match at.checked_sub(1) {
            None => PathBuf::from("log"),
            Some(cpu) => PathBuf::from(format!("log-{cpu}")),
        })
    }
}

impl Files for FilesOfCpus<'_> {
    fn is_file(&self, path: &Path) -> bool {
        self.names().any(|name| name == path)
    }

    fn next_to(&self, _: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(self.names().collect())
    }

    fn open(&self, path: &Path) -> io::Result<Input> {
        let at = self.names().position(|name| name == path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Input::from_bytes(self.0[at].clone()))
    }
}

fn open(logs: &Logs, piped: bool) -> Option<Trace> {
    let logs = match logs {
        Logs::Each(logs) => logs,
        Logs::OfCpus(files) => {
            let options = aix::ReadOptions::default();
            return AnyTrace::open_among(&FilesOfCpus(files), Path::new("log"), &options).ok().map(Trace::from);
        }
    };
    let traces: Option<Vec<Trace>> = (0_u64..)
        .zip(logs)
        .map(|(n, bytes)| match piped {
            true => Trace::from_reader("log", Trickle(io::Cursor::new(bytes.clone()), Noise::new(n))).ok(),
            false => Trace::from_bytes("log", bytes.clone()).ok(),
        })
        .collect();
    let mut traces = traces?;
    if traces.len() == 1 { traces.pop() } else { Trace::merge(traces).ok() }
}

/// Text and counts of a report.
#[derive(Debug, PartialEq)]
struct Written {
    text: String,
    n_notices: usize,
    /// Numbers of events and of reported events; `None` if the report failed.
    counts: Option<[u64; 2]>,
}

fn written(trace: &mut Trace, formats: &Formats, options: &ReportOptions) -> Written {
    let (mut text, mut n_notices) = (Vec::new(), 0);
    let summary = report_with(trace, formats, options, &mut text, &mut |_: &Notice| n_notices += 1);
    let counts = summary.ok().map(|summary| match summary {
        ReportSummary::Aix(summary) => [summary.n_events, summary.n_reported],
        ReportSummary::Qnx(summary) => [summary.counts.records, summary.n_reported],
    });
    Written { text: String::from_utf8_lossy(&text).into_owned(), n_notices, counts }
}

/// Everything of all events, a line each.
fn iterated(trace: &mut Trace, formats: &Formats, options: &ReportOptions) -> String {
    let mut lines = String::new();
    let mut events = trace.events(formats).with_options(options.clone()).with_context();
    while let Ok(Some(item)) = events.next() {
        lines += &match item {
            Item::Event(event) => {
                let ids = (event.event_id(), event.seq(), event.cpu(), event.pid(), event.tid());
                let texts = (event.label(), event.process(), event.text(), event.note());
                format!("{ids:?} {texts:?} {:?} {:?} {:?}\n", event.time_ns(), event.bytes(), event.fields())
            }
            Item::Notice(notice) => format!("{}\n", notice.message),
        };
    }
    lines
}

const LONGS: [Long; 6] = [Long::Seq, Long::ElapsedNs, Long::TimeUs, Long::Pid, Long::Tid, Long::Offset];
const SHORTS: [Short; 6] = [Short::Id, Short::Cpu, Short::Depth, Short::Log, Short::Bytes, Short::Note];
const NAMES: [Short; 3] = [Short::Process, Short::Thread, Short::Svc];

/// Rows as lines.
struct RowLines {
    lines: String,
    fields: RowFields,
    row: Row,
}

impl RowLines {
    /// Fields of a row as text. Numbers at fixed places have an encoding of their own, which must mean the same.
    fn fields(&mut self, id: u32, bytes: &[u8], flat: Option<&Vec<[u8; 8]>>, names: &Names<'_>) -> String {
        if self.fields != RowFields::Cells {
            return String::from_utf8_lossy(bytes).into_owned();
        }
        let programs = names.fields(RowBlock::id(id));
        let parts = programs.iter().zip(split_cells(bytes, programs.len()));
        let texts = parts.map(|(program, part)| match flat {
            Some(words) => flat_text(&program.fields, words),
            None if self.row.decode(part) => row_text(&program.fields, self.row.cells()),
            None => format!("no row: {part:?}"),
        });
        texts.collect()
    }
}

/// Values and labels of a row.
fn row_text(fields: &[SchemaField], cells: Cells<'_>) -> String {
    let text = |field: &SchemaField| {
        let value = cells.get(field.cell);
        let label = field.labels.as_ref().filter(|_| !matches!(value, CellValue::Null));
        let label = label.map(|labels| match cells.get(labels.cell) {
            CellValue::List(items) => items.map(|item| label_text(&labels.texts, item.get(0))).collect(),
            label => label_text(&labels.texts, label),
        });
        format!("{}={} {label:?} ", field.name, value_text(value))
    };
    fields.iter().map(text).collect()
}

/// Values and labels from flat cells, like [`row_text`].
fn flat_text(fields: &[SchemaField], words: &[[u8; 8]]) -> String {
    let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
    let mut next = || words.next().unwrap_or_default();
    let text = |field: &SchemaField| {
        let value = value_text(CellValue::Number(next()));
        let label = field.labels.as_ref().map(|labels| match labels.is_list {
            true => flags_of_word(next()).map(|label| label_text(&labels.texts, CellValue::Label(label))).collect(),
            false => label_text(&labels.texts, label_of_word(next())),
        });
        format!("{}={value} {label:?} ", field.name)
    };
    fields.iter().map(text).collect()
}

fn value_text(value: CellValue<'_>) -> String {
    match value {
        CellValue::List(items) => {
            items.map(|item| format!("[{} {}]", value_text(item.get(0)), value_text(item.get(1)))).collect()
        }
        value => format!("{value:?}"),
    }
}

fn label_text(texts: &[String], label: CellValue<'_>) -> String {
    match label {
        CellValue::Label(at) => format!("{:?};", texts.get(at as usize)),
        CellValue::Bytes(bytes) => format!("{};", String::from_utf8_lossy(bytes)),
        _ => String::from("-;"),
    }
}

impl RowSink for RowLines {
    fn begin(&mut self, _: &TraceFacts) -> io::Result<()> {
        Ok(())
    }

    fn rows(&mut self, rows: &RowBlock<'_>, names: &Names<'_>) -> io::Result<()> {
        let mut flat = HashMap::new();
        for group in rows.flat_rows() {
            for (at, row) in group.rows().enumerate() {
                flat.insert(row, group.columns(at..at + 1).flatten().copied().collect());
            }
        }
        for row in 0..rows.len() {
            let longs = LONGS.map(|column| rows.long(column).get(row));
            let shorts = SHORTS.map(|column| rows.short(column).get(row));
            // Numbers of names depend on the block.
            let of_names =
                NAMES.map(|column| rows.short(column).get(row).map(|name| String::from_utf8_lossy(rows.name(name))));
            let text = String::from_utf8_lossy(rows.text(row));
            let id = rows.short(Short::Id).get(row).unwrap_or_default();
            let fields = self.fields(id, rows.fields(row), flat.get(&row), names);
            self.lines += &format!("{longs:?} {shorts:?} {of_names:?} {text:?} {fields}\n");
        }
        Ok(())
    }
}

fn rows_of(trace: &mut Trace, formats: &Formats, options: &ReportOptions, wanted: RowOptions) -> String {
    let mut lines = RowLines { lines: String::new(), fields: wanted.fields, row: Row::default() };
    let _ = rows(trace, formats, options, wanted, &mut lines, &mut |_: &Notice| {});
    lines.lines
}

fn printed(trace: &mut Trace, formats: &Formats, options: &PrintOptions) -> String {
    let mut text = Vec::new();
    let _ = traceprinter::print(trace, formats, options, &mut text, &mut |_: &Notice| {});
    String::from_utf8_lossy(&text).into_owned()
}

#[track_caller]
fn assert_same(found: &str, expected: &str, case: &str) {
    let mut lines = found.lines().zip(expected.lines());
    if let Some((found, expected)) = lines.find(|(found, expected)| found != expected) {
        panic!("{case}:\n{found}\nexpected\n{expected}");
    }
    assert!(found == expected, "{case}: {} bytes, expected {}", found.len(), expected.len());
}

fn number(n: u64) -> Option<NonZeroUsize> {
    NonZeroUsize::new(n as usize)
}

/// Format files of the cases: the built-in ones, own templates, and the same with those that depend on the order.
fn all_formats() -> [Formats; 3] {
    let folder = tempfile::tempdir().unwrap();
    let definitions = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/user.xml");
    let load = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        Formats::load([path.as_path(), definitions.as_ref()]).unwrap()
    };
    [Formats::builtin(), load("a.trcfmt", TEMPLATES), load("b.trcfmt", &[TEMPLATES, IN_ORDER].concat())]
}

/// The routines of an event's fields count as work too, also of an event that is formatted where it is read.
#[test]
fn fields_count_as_work_on_all_paths() {
    let formats = &all_formats()[1];
    let events: Vec<_> = (0..100).map(|n| plain64(0x01B0, 1, &[n], 1, 1000 + n)).collect();
    let logs = Logs::Each(vec![[STREAM64.to_vec(), factors64(3, 2, 2), events.concat()].concat()]);
    // The report may take 262,144 steps and one per byte. The loop of a text takes 5,000, and that of the fields too.
    for (has_fields, n_complete) in [(false, 52), (true, 26)] {
        let mut options = ReportOptions::default();
        options.aix.columns = Columns::parse("id,elapsed,text", Timestamp::Milli).unwrap().with_fields_last(has_fields);
        (options.aix.form, options.aix.max_work) = (Form::Ndjson, MaxWork(1));
        for paths in [Paths::Fast, Paths::General, Paths::InOrder] {
            let found = paths::with(paths, || written(&mut open(&logs, false).unwrap(), formats, &options));
            let n_limited = found.text.lines().filter(|line| line.contains("[limit]")).count();
            assert_eq!(n_limited, 100 - n_complete, "{paths:?}, with fields: {has_fields}");
        }
    }
}

/// With all flags, a report is the same whether its events take the fast paths or none of them. `TFBC_CASES=4000` tries
/// that many seeds, from `TFBC_SEED` on.
#[test]
fn fast_and_general_paths_print_the_same() {
    let all_formats = all_formats();
    let number_of = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let (first, n_cases) = (number_of("TFBC_SEED").unwrap_or(0), number_of("TFBC_CASES").unwrap_or(800));
    let mut n_reported = [0; 2];
    for seed in first..first + n_cases {
        let noise = &mut Noise::new(seed);
        let is_qnx = one_in(3, noise);
        let logs = if is_qnx { Logs::Each(vec![qnx_log(noise)]) } else { aix_traces(noise) };
        let n_formats = noise.below(3) as usize;
        let formats = &all_formats[n_formats];
        let mut options = ReportOptions { aix: aix_options(noise), qnx: qnx_options(noise) };
        let is_tight = options.aix.max_work != MaxWork::default();
        (options.aix.threads, options.qnx.threads) = (number(1), number(1));
        let Some(mut trace) = open(&logs, false) else { continue };
        let paths = match noise.pick(&[Paths::General, Paths::General, Paths::InOrder]) {
            // Events whose text depends on the order have a budget of their own, which the others must not share.
            Paths::InOrder if n_formats == 2 && is_tight => Paths::General,
            paths => paths,
        };
        let expected = paths::with(paths, || written(&mut trace, formats, &options));
        n_reported[usize::from(is_qnx)] += expected.counts.map_or(0, |counts| counts[1]);

        let (threads, batch, piped) = (1 + noise.below(3), noise.below(4), one_in(3, noise));
        let case = format!("seed {seed}, {threads} threads, batches of {batch}, piped {piped}, {paths:?}");
        let mut fast = options.clone();
        (fast.aix.threads, fast.qnx.threads, fast.aix.batch) = (number(threads), number(threads), number(batch));
        if let Some(mut trace) = open(&logs, piped) {
            let found = written(&mut trace, formats, &fast);
            assert_same(&found.text, &expected.text, &case);
            assert_eq!(found, expected, "{case}");
        }

        let general = |paths, run: &dyn Fn(&mut Trace) -> String| {
            let expected = paths::with(paths, || run(&mut open(&logs, false).unwrap()));
            assert_same(&run(&mut open(&logs, false).unwrap()), &expected, &case);
        };
        match noise.below(3) {
            0 => {
                // An iterator also runs the fields of events that are formatted in order, for what they look up.
                let paths = if is_tight && paths == Paths::InOrder { Paths::General } else { paths };
                general(paths, &|trace| iterated(trace, formats, &options));
            }
            1 => {
                let fields = noise.pick(&[RowFields::No, RowFields::Json, RowFields::Cells, RowFields::Cells]);
                let mut draw = || one_in(2, noise);
                let wanted = RowOptions {
                    text: draw(),
                    fields,
                    note: draw(),
                    time: draw(),
                    origins: draw(),
                    logs: draw(),
                    context: draw(),
                    depth: draw(),
                    svc: draw(),
                    gaps: draw(),
                };
                general(paths, &|trace| rows_of(trace, formats, &options, wanted));
            }
            _ if is_qnx => {
                let one_line = one_in(2, noise);
                let layout = match one_in(2, noise) {
                    true => Layout::Compat { one_line },
                    false => Layout::Default { format: Default::default(), one_line },
                };
                let options = PrintOptions { layout, sort: one_in(4, noise), threads: number(1), ..Default::default() };
                general(paths, &|trace| printed(trace, formats, &options));
            }
            _ => {}
        }
    }
    assert!(n_reported.iter().all(|n| *n > 10 * n_cases), "{n_reported:?} events of AIX and QNX");
}
