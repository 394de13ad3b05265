//! Parts of a trace, one after another, are the whole report.

use crate::common::damage::{Damage, Reference, events32, events64, reference_kev, references};
use crate::common::{LogBuilder, Noise, STREAM64, factors32, factors64, generic_by64, plain64, words32, words64};
use crate::face::samples;
use std::fs;
use std::io;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use tfbc::aix::{AixKind, IdSet, ReadOptions};
use tfbc::internal::filter::{Filter, Numbers, Processes, RecordIds};
use tfbc::internal::rows::{Long, Names, RowBlock, RowFields, RowOptions, RowSink, Short, TraceFacts, rows};
use tfbc::qnx::TimeForm;
use tfbc::testing::splits::{split_state, with_split_state};
use tfbc::{
    Columns, Form, FormatInput, Formats, Item, LoadOptions, Monitor, Notice, PartSize, ReportError, ReportOptions,
    ReportSummary, Split, SplitError, Tally, Trace, TraceKind, report_with,
};

fn parts(n: u64) -> PartSize {
    PartSize::Count(NonZeroU64::new(n).unwrap())
}

/// Parts of one event each.
fn single_events() -> PartSize {
    PartSize::Bytes(NonZeroU64::MIN)
}

/// A trace to split.
struct Subject {
    name: String,
    bytes: Vec<u8>,
    /// Logs that are merged with it.
    others: Vec<Vec<u8>>,
    removes_duplicates: bool,
    /// File to read instead of the bytes.
    path: Option<PathBuf>,
    formats: Formats,
    read: ReadOptions,
}

impl Subject {
    fn new(name: impl Into<String>, bytes: Vec<u8>, formats: Formats) -> Self {
        let (others, read) = (Vec::new(), ReadOptions::default());
        Self { name: name.into(), bytes, others, removes_duplicates: false, path: None, formats, read }
    }

    fn merged(name: &str, logs: &[&[u8]]) -> Self {
        let others = logs[1..].iter().map(|log| log.to_vec()).collect();
        Self { others, ..Self::new(name, logs[0].to_vec(), Formats::builtin()) }
    }

    fn of(reference: &Reference, bytes: Vec<u8>) -> Self {
        let read = ReadOptions { format: reference.kind.map(TraceKind::Aix), ..ReadOptions::default() };
        Self { read, ..Self::new(reference.name, bytes, Formats::builtin()) }
    }

    fn open(&self) -> Option<Trace> {
        if let Some(path) = &self.path {
            return Trace::open_with(path, &self.read).ok();
        }
        if self.others.is_empty() {
            return Trace::from_bytes_with(&self.name, self.bytes.clone(), &self.read).ok();
        }
        let logs = std::iter::once(&self.bytes).chain(&self.others);
        let logs = logs.map(|bytes| Trace::from_bytes_with(&self.name, bytes.clone(), &self.read).ok());
        let logs: Vec<Trace> = logs.collect::<Option<_>>()?;
        if self.removes_duplicates { Trace::merge_without_duplicates(logs) } else { Trace::merge(logs) }.ok()
    }

    /// Splits the trace, and decodes the bytes of the split again.
    fn split(&self, size: PartSize) -> Split {
        let split = self.open().unwrap().parts(&self.formats, size);
        let split = split.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let bytes = split.encode();
        let decoded = Split::decode(&bytes).unwrap();
        assert!(decoded.encode() == bytes, "{}: encoding is deterministic", self.name);
        decoded
    }

    /// Bytes of all logs.
    fn files(&self) -> Vec<Vec<u8>> {
        std::iter::once(&self.bytes).chain(&self.others).cloned().collect()
    }

    fn part(&self, split: &Split, number: u64) -> Trace {
        let opened = match self.path {
            Some(_) => split.open_part(number),
            None => split.open_part_in_all(number, self.files()),
        };
        opened.unwrap_or_else(|error| panic!("{}, part {number}: {error}", self.name))
    }
}

/// A report: its text, its notices, and its accounting.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Report {
    text: String,
    notices: Vec<Notice>,
    n_events: u64,
    n_reported: u64,
    tally: Tally,
}

impl Report {
    fn of(trace: &mut Trace, formats: &Formats, options: &ReportOptions) -> Result<Self, ReportError> {
        let (mut text, mut notices) = (Vec::new(), Vec::new());
        let summary =
            report_with(trace, formats, options, &mut text, &mut |notice: &Notice| notices.push(notice.clone()))?;
        Ok(Self::new(String::from_utf8_lossy(&text).into_owned(), notices, &summary))
    }

    fn new(text: String, notices: Vec<Notice>, summary: &ReportSummary) -> Self {
        let (n_events, n_reported, tally, imbalance) = match summary {
            ReportSummary::Aix(counts) => (counts.n_events, counts.n_reported, counts.tally, counts.imbalance),
            ReportSummary::Qnx(counts) => (counts.counts.records, counts.n_reported, counts.tally, counts.imbalance),
        };
        assert_eq!(imbalance, None);
        Self { text, notices, n_events, n_reported, tally }
    }

    fn add(&mut self, part: Self) {
        self.text += &part.text;
        self.notices.extend(part.notices);
        self.n_events += part.n_events;
        self.n_reported += part.n_reported;
        self.tally = self.tally + part.tally;
    }
}

/// Checks that the reports of all parts are the report of the whole; returns the number of parts.
fn check(subject: &Subject, size: PartSize, options: &[ReportOptions]) -> usize {
    let split = subject.split(size);
    for (at, options) in options.iter().enumerate() {
        let whole = Report::of(&mut subject.open().unwrap(), &subject.formats, options).unwrap();
        let mut all = Report::default();
        for part in split.parts() {
            let found = Report::of(&mut subject.part(&split, part.number), &subject.formats, options).unwrap();
            assert_eq!(found.n_events, part.n_events, "{}: events of {part:?}", subject.name);
            all.add(found);
        }
        let place = || format!("{}, {size:?}, options {at}", subject.name);
        if all.text != whole.text {
            let (mut all, mut whole) = (all.text.lines(), whole.text.lines());
            let line = (1..).find_map(|n| {
                let (all, whole) = (all.next(), whole.next());
                (all != whole || all.is_none()).then_some((n, all, whole))
            });
            panic!("{}: line, parts, whole: {line:#?}", place());
        }
        assert_eq!(all, whole, "{}", place());
    }
    split.parts().len()
}

fn with_columns(columns: &str) -> ReportOptions {
    let mut options = ReportOptions::default();
    options.aix.columns = Columns::parse(columns, Default::default()).unwrap();
    options
}

/// Options that show all that depends on earlier events.
fn all_options() -> Vec<ReportOptions> {
    let mut ndjson = with_columns("id,exec,cpu,pid,tid,int,svc,elapsed,delta,text");
    ndjson.aix.form = Form::Ndjson;
    ndjson.qnx.form = Form::Ndjson;
    let mut csv = with_columns("id,delta,svc");
    (csv.aix.form, csv.qnx.form) = (Form::Csv, Form::Csv);
    let mut only = ReportOptions::default();
    only.aix.filter.only = Some(IdSet::parse("106,10C,200,101,134,139").unwrap());
    let mut except = ReportOptions::default();
    except.aix.filter.except = IdSet::parse("106").unwrap();
    let mut late = with_columns("id,exec,svc,elapsed,text");
    late.aix.filter = Filter { from_ns: Some(1000), ..Filter::default() };
    late.qnx.follow_owners = true;
    vec![
        ReportOptions::default(),
        with_columns("id,exec,cpu,pid,tid,int,svc,elapsed,delta,text"),
        ndjson,
        csv,
        only,
        except,
        late,
    ]
}

fn sample_subjects() -> Vec<Subject> {
    let subject = |(path, formats): (std::path::PathBuf, Formats)| {
        Subject::new(path.to_string_lossy(), fs::read(&path).unwrap(), formats)
    };
    samples().into_iter().map(subject).collect()
}

#[test]
fn parts_are_the_whole_for_all_samples() {
    let (mut n_parts, options) = (0, all_options());
    for subject in sample_subjects() {
        for size in [1, 2, 3, 7, 64].map(parts) {
            n_parts += check(&subject, size, &options);
        }
    }
    assert!(n_parts > 300, "{n_parts} parts");
}

/// Rows of a report as text, with names instead of their indexes.
#[derive(Default)]
struct RowTexts(Vec<String>);

impl RowSink for RowTexts {
    fn begin(&mut self, _: &TraceFacts) -> io::Result<()> {
        Ok(())
    }

    fn rows(&mut self, rows: &RowBlock<'_>, _: &Names<'_>) -> io::Result<()> {
        let longs = [Long::Seq, Long::ElapsedNs, Long::TimeUs, Long::Pid, Long::Tid, Long::Offset];
        let shorts = [Short::Id, Short::Cpu, Short::Depth, Short::Bytes, Short::Log];
        for row in 0..rows.len() {
            let longs = longs.map(|column| rows.long(column).get(row));
            let shorts = shorts.map(|column| rows.short(column).get(row));
            let names =
                [Short::Process, Short::Thread, Short::Svc].map(|column| rows.name(rows.short(column).value(row)));
            let (text, fields) = (rows.text(row), rows.fields(row));
            let texts = [&names[..], &[text, fields]]
                .concat()
                .iter()
                .map(|text| text.escape_ascii().to_string())
                .collect::<Vec<_>>();
            // The column of notes is left out of blocks without any.
            let note = rows.short(Short::Note).get(row).unwrap_or(0);
            self.0.push(format!("{longs:?} {shorts:?} {note} {texts:?}"));
        }
        Ok(())
    }
}

/// Rows and notices of a trace.
fn rows_of(trace: &mut Trace, formats: &Formats) -> (Vec<String>, Vec<Notice>) {
    rows_with(trace, formats, &ReportOptions::default())
}

/// Rows and notices of a trace, with a filter.
fn rows_with(trace: &mut Trace, formats: &Formats, options: &ReportOptions) -> (Vec<String>, Vec<Notice>) {
    let (mut sink, mut notices) = (RowTexts::default(), Vec::new());
    let mut monitor = |notice: &Notice| notices.push(notice.clone());
    rows(trace, formats, options, all_columns(), &mut sink, &mut monitor).unwrap();
    (sink.0, notices)
}

/// All that rows may contain.
fn all_columns() -> RowOptions {
    RowOptions {
        text: true,
        fields: RowFields::Json,
        note: true,
        time: true,
        origins: true,
        logs: true,
        context: true,
        depth: true,
        svc: true,
        gaps: true,
    }
}

/// Events of the iterator as text.
fn events_of(trace: &mut Trace, formats: &Formats) -> Vec<String> {
    let mut events = trace.events(formats).with_context();
    let mut all = Vec::new();
    while let Some(item) = events.next().unwrap() {
        all.push(match item {
            Item::Event(event) => {
                let times = (event.seq(), event.time_ns(), event.elapsed_ns(), event.unix_us());
                let owner = (event.cpu(), event.pid(), event.tid(), event.process());
                format!("{} {times:?} {owner:?} {} {:?}", event.id(), event.text(), event.fields())
            }
            Item::Notice(notice) => format!("{notice:?}"),
        });
    }
    all
}

#[test]
fn rows_and_events_of_parts_are_those_of_the_whole() {
    let (mut noisy, mut n_rows) = (Vec::new(), 0);
    for reference in references(2000).into_iter().chain([reference_kev(false, 2000)]) {
        let mut bytes = reference.bytes.clone();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 40].fill(0xFF);
        noisy.push(Subject::of(&reference, bytes));
    }
    let (_directory, cpus) = cpu_logs();
    for subject in sample_subjects().into_iter().chain(noisy).chain(merged_subjects()).chain(cpus) {
        let rows = rows_of(&mut subject.open().unwrap(), &subject.formats);
        let events = events_of(&mut subject.open().unwrap(), &subject.formats);
        n_rows += rows.0.len();
        for size in [2, 7, 40].map(parts) {
            let split = subject.split(size);
            let mut all = (Vec::new(), Vec::new(), Vec::new());
            for part in split.parts() {
                let (rows, notices) = rows_of(&mut subject.part(&split, part.number), &subject.formats);
                all.0.extend(rows);
                all.1.extend(notices);
                all.2.extend(events_of(&mut subject.part(&split, part.number), &subject.formats));
            }
            assert_eq!((&all.0, &all.1), (&rows.0, &rows.1), "{}, {size:?}", subject.name);
            assert_eq!(all.2, events, "{}, {size:?}", subject.name);
        }
    }
    assert!(n_rows > 900, "{n_rows} rows");
}

/// Monitor that counts reads.
#[derive(Default)]
struct Reads {
    notices: Vec<Notice>,
    n_reads: usize,
}

impl Monitor for Reads {
    fn notice(&mut self, notice: &Notice) {
        self.notices.push(notice.clone());
    }

    fn progress(&mut self, _: u64, _: u64) {
        self.n_reads += 1;
    }
}

/// Report of a whole split file, and the number of reads.
fn whole_report(
    split: &Split,
    formats: &Formats,
    options: &ReportOptions,
    threads: usize,
) -> Result<(Report, usize), ReportError> {
    let mut options = options.clone();
    (options.aix.threads, options.qnx.threads) = (NonZeroUsize::new(threads), NonZeroUsize::new(threads));
    let (mut text, mut reads) = (Vec::new(), Reads::default());
    let summary = split.report(formats, &options, &mut text, &mut reads)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    Ok((Report::new(text, reads.notices, &summary), reads.n_reads))
}

/// Rows and notices of a whole split file.
fn rows_of_split(split: &Split, formats: &Formats, options: &ReportOptions) -> (Vec<String>, Vec<Notice>) {
    let (mut sink, mut notices) = (RowTexts::default(), Vec::new());
    let mut monitor = |notice: &Notice| notices.push(notice.clone());
    split.rows(formats, options, all_columns(), &mut sink, &mut monitor).unwrap();
    (sink.0, notices)
}

/// A report that ends after some bytes.
struct Closed(usize);

impl io::Write for Closed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = bytes.len().min(self.0);
        self.0 -= n;
        if n == 0 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(n) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn errors_end_a_report_of_several_threads() {
    let directory = tempfile::tempdir().unwrap();
    for reference in references(6000).into_iter().chain([reference_kev(false, 6000)]) {
        let path = directory.path().join(reference.name);
        fs::write(&path, &reference.bytes).unwrap();
        let subject = Subject { path: Some(path.clone()), ..Subject::of(&reference, reference.bytes.clone()) };
        let split = subject.split(parts(20));
        let (whole, _) = whole_report(&split, &subject.formats, &Default::default(), 1).unwrap();
        let mut options = ReportOptions::default();
        (options.aix.threads, options.qnx.threads) = (NonZeroUsize::new(3), NonZeroUsize::new(3));
        for len in (0..whole.text.len()).step_by(whole.text.len() / 7) {
            let ended = split.report(&subject.formats, &options, Closed(len), &mut |_: &Notice| {});
            assert!(matches!(ended, Err(ReportError::Write(_))), "{ended:?}");
        }
        // Parts before a change are reported, as without threads.
        let state = split_state(&split, 9);
        let damaged = with_split_state(&split, 9, [state[0][1..].to_vec(), state[1].clone()]);
        let texts = [1, 3].map(|threads| {
            let mut text = Vec::new();
            (options.aix.threads, options.qnx.threads) = (NonZeroUsize::new(threads), NonZeroUsize::new(threads));
            let ended = damaged.report(&subject.formats, &options, &mut text, &mut |_: &Notice| {});
            (text, ended.unwrap_err().to_string())
        });
        assert!(texts[0] == texts[1] && whole.text.as_bytes().starts_with(&texts[0].0), "{}", texts[1].1);
        assert!(texts[0].0.len() > whole.text.len() / 4);
    }
}

#[test]
fn an_index_leaves_out_parts_and_no_line() {
    let directory = tempfile::tempdir().unwrap();
    let mut n_left_out = 0;
    let kev = [false, true].map(|big| reference_kev(big, 3000));
    for reference in references(3000).into_iter().chain(kev) {
        // Damage, whose notice must not be lost.
        let mut bytes = reference.bytes.clone();
        let at = bytes.len() - 400;
        bytes[at..at + 40].fill(0xFF);
        let path = directory.path().join(reference.name);
        fs::write(&path, &bytes).unwrap();
        let mut subject = Subject::of(&reference, bytes);
        subject.name = path.to_string_lossy().into_owned();
        let mut options = all_options();
        options.truncate(6);
        for (from, to) in [(0, 0), (50_000, 90_000), (100_000, 100_500), (1 << 50, 1 << 51)] {
            let mut timed = ReportOptions::default();
            (timed.aix.filter.from_ns, timed.aix.filter.to_ns) = (Some(from), Some(to));
            (timed.qnx.filter.from_ns, timed.qnx.filter.to_ns) = (Some(from.into()), Some(to.into()));
            for form in [TimeForm::Relative, TimeForm::Absolute] {
                timed.qnx.time = form;
                options.push(timed.clone());
            }
        }
        let mut one_cpu = ReportOptions::default();
        one_cpu.aix.filter.cpus = Some(Numbers(vec![(2, 3)]));
        one_cpu.qnx.filter.add_cpus("2-3").unwrap();
        let mut one_process = ReportOptions::default();
        one_process.aix.filter.processes = Some(Processes { pids: [2].into(), ..Processes::default() });
        one_process.qnx.filter.pids = Some([2].into());
        let mut nothing = ReportOptions::default();
        nothing.aix.filter.only = Some(IdSet::parse("0AB").unwrap());
        nothing.qnx.filter.only = Some(RecordIds::default());
        options.extend([one_cpu, one_process, nothing]);
        for size in [parts(1), parts(6), single_events()] {
            let split = subject.split(size);
            for (at, options) in options.iter().enumerate() {
                let whole = Report::of(&mut subject.open().unwrap(), &subject.formats, options).unwrap();
                // All sizes and options together meet all numbers of threads.
                for threads in [1, [2, 3, 8][at % 3]] {
                    let (found, n_read) = whole_report(&split, &subject.formats, options, threads).unwrap();
                    let place = format!("{}, {size:?}, options {at}, {threads} threads", subject.name);
                    assert!(found.text == whole.text, "{place}: {}\n{}", found.text, whole.text);
                    assert_eq!(found, whole, "{place}");
                    n_left_out += usize::from(threads == 1 && n_read < split.parts().len());
                }
                let rows = rows_with(&mut subject.open().unwrap(), &subject.formats, options);
                assert_eq!(rows_of_split(&split, &subject.formats, options), rows, "{}, {size:?}", subject.name);
            }
        }
    }
    assert!(n_left_out > 60, "{n_left_out} reports left out parts");
}

#[test]
fn an_index_leaves_out_parts_of_other_processes() {
    let mut n_left_out = 0;
    for subject in sample_subjects() {
        let split = subject.split(parts(12));
        for pid in [1, 4522, 6418] {
            let mut options = ReportOptions::default();
            options.aix.filter.processes = Some(Processes { pids: [pid].into(), ..Processes::default() });
            options.qnx.filter.pids = Some([pid].into());
            let whole = Report::of(&mut subject.open().unwrap(), &subject.formats, &options).unwrap();
            let (found, n_read) = whole_report(&split, &subject.formats, &options, 1).unwrap();
            assert_eq!(found, whole, "{}, process {pid}", subject.name);
            n_left_out += split.parts().len() - n_read;
            let rows = rows_with(&mut subject.open().unwrap(), &subject.formats, &options);
            assert_eq!(rows_of_split(&split, &subject.formats, &options), rows, "{}, process {pid}", subject.name);
        }
    }
    assert!(n_left_out > 30, "{n_left_out} parts left out");
}

#[test]
fn every_event_may_be_a_part() {
    let options = all_options();
    for subject in sample_subjects().into_iter().filter(|subject| subject.bytes.len() < 4000) {
        check(&subject, single_events(), &options);
    }
}

#[test]
fn wrapped_logs_and_both_byte_orders_are_split_anywhere() {
    let options = all_options();
    let kev = [false, true].map(|big| reference_kev(big, 3000));
    for reference in references(3000).into_iter().chain(kev) {
        let subject = Subject::of(&reference, reference.bytes.clone());
        let n = check(&subject, single_events(), &options[..2]);
        check(&subject, parts(7), &options);
        assert!(n > 40, "{}: {n} parts", subject.name);
    }
}

/// A stream or a log of 64-bit events.
fn wide(seed: u64, n: u64, first_ticks: u64, is_log: bool) -> Vec<u8> {
    let events = events64(&mut Noise::new(seed), n, first_ticks);
    if !is_log {
        return [&STREAM64[..], &factors64(3, 2, 2), &events.concat()].concat();
    }
    let entries = events.chunks(events.len().div_ceil(3)).map(|chunk| chunk.concat()).collect();
    LogBuilder { wide: true, current: 3, wraps: 0, ic: factors64(3, 2, 2), entries }.bytes()
}

/// A log of 32-bit events.
fn narrow(seed: u64, n: u64, first_ticks: u32) -> Vec<u8> {
    let events = events32(&mut Noise::new(seed), n, first_ticks);
    let entries = events.chunks(events.len().div_ceil(2)).map(|chunk| chunk.concat()).collect();
    LogBuilder { wide: false, current: 2, wraps: 0, ic: factors32(3, 2, 2), entries }.bytes()
}

/// Several logs that are merged by time: of both kernels, some of them damaged, cut, with equal times or without events.
fn merged_subjects() -> Vec<Subject> {
    let (one, two, three) = (wide(1, 60, 1000, false), wide(2, 50, 30_000, true), wide(3, 20, 900, true));
    let mut damaged = one.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 40].fill(0xFF);
    let empty = [&STREAM64[..], &factors64(3, 2, 2)].concat();
    let removed = |name, logs: &[&[u8]]| Subject { removes_duplicates: true, ..Subject::merged(name, logs) };
    vec![
        Subject::merged("two logs", &[&one, &two]),
        removed("duplicates", &[&one, &two, &one]),
        Subject::merged("32 and 64 bits", &[&narrow(4, 60, 1000), &two, &narrow(5, 40, 500)]),
        Subject::merged("equal logs", &[&one, &one]),
        Subject::merged("damage", &[&three, &damaged, &two[..two.len() - 7]]),
        removed("damage and duplicates", &[&one, &one[..one.len() - 7], &two, &two[..two.len() / 2]]),
        Subject::merged("an empty log", &[&empty, &two, &empty]),
        Subject::merged("no factors", &[&[&STREAM64[..], &plain64(0x1010, 1, &[2], 7, 5)].concat(), &three]),
    ]
}

/// Unstamped event that names the file of a CPU.
fn cpu_file(wide: bool, cpu: u32) -> Vec<u8> {
    let mut payload = cpu.to_be_bytes().to_vec();
    payload.extend(format!("/var/adm/ras/trc-{cpu}\0").bytes());
    payload.resize(payload.len().next_multiple_of(8), 0);
    let n = payload.len() as u64;
    match wide {
        true => [words64(&[0x4000_0000_00A0_0000 | n << 32, 0x10]), payload, words64(&[1])].concat(),
        false => [words32(&[0x00A0_0000 | n as u32, 0x10]), payload, words32(&[1])].concat(),
    }
}

/// Logs with one file per CPU, for both kernels. The file of one CPU is missing.
fn cpu_logs() -> (tempfile::TempDir, Vec<Subject>) {
    const BASE: u32 = 4;
    const CPU: u32 = 8;
    let directory = tempfile::tempdir().unwrap();
    let mut subjects = Vec::new();
    for wide in [true, false] {
        let world = directory.path().join(if wide { "wide" } else { "narrow" });
        fs::create_dir(&world).unwrap();
        let hook = |id: u64, ticks: u64| match wide {
            true => words64(&[0x8000_0000_0000_0000 | id << 16, 0x1a2b, ticks]),
            false => words32(&[(id << 16) as u32 | 9 << 16, 0x1a2b, ticks as u32]),
        };
        let write = |name: &str, mode: u32, ic: Vec<u8>, events: Vec<Vec<u8>>| {
            let entries = events.chunks(events.len().div_ceil(2)).map(|chunk| chunk.concat()).collect();
            let mut bytes = LogBuilder { wide, current: 2, wraps: 0, ic, entries }.bytes();
            bytes[12..16].copy_from_slice(&mode.to_be_bytes());
            fs::write(world.join(name), bytes).unwrap();
        };
        let files = [0, 1, 3, 9].map(|cpu| cpu_file(wide, cpu)).concat();
        let factors = if wide { factors64(3, 2, 2) } else { factors32(3, 2, 2) };
        write("trc", BASE, [factors, files].concat(), vec![hook(0x0010, 900), hook(0x0020, 200_000)]);
        for (cpu, n) in [(0, 50), (1, 40), (3, 3)] {
            let mut noise = Noise::new(cpu + 20);
            let mut events = if wide { events64(&mut noise, n, 1000) } else { events32(&mut noise, n, 1000) };
            // Switched off in between, so that the number of CPUs that report changes.
            events.insert(n as usize / 2, hook(0x0020, 1000 + 2500 * n / 2));
            write(&format!("trc-{cpu}"), CPU, Vec::new(), events);
        }
        let path = world.join("trc");
        let subject = Subject { path: Some(path.clone()), ..Subject::new("CPU files", Vec::new(), Formats::builtin()) };
        subjects.push(Subject { name: path.to_string_lossy().into_owned(), ..subject });
    }
    (directory, subjects)
}

#[test]
fn merged_logs_are_split_by_time() {
    let options = all_options();
    let (_directory, cpus) = cpu_logs();
    for subject in merged_subjects().into_iter().chain(cpus) {
        let n = check(&subject, single_events(), &options[..2]);
        assert!(n > if subject.name == "no factors" { 10 } else { 30 }, "{}: {n} parts", subject.name);
        for size in [1, 2, 3, 7, 64].map(parts) {
            check(&subject, size, &options);
        }
    }
}

#[test]
fn parts_of_a_merge_have_about_equal_sizes() {
    let large = [wide(1, 3000, 1000, true), wide(2, 2000, 1000, false), narrow(3, 2500, 1000)];
    let small = [wide(4, 150, 1000, false), wide(5, 100, 1000, false)];
    for (logs, n) in [(&large[..], 8), (&small[..], 5), (&small[..], 3)] {
        let logs: Vec<&[u8]> = logs.iter().map(Vec::as_slice).collect();
        let subject = Subject::merged("logs", &logs);
        let split = subject.split(parts(n));
        let sizes: Vec<u64> = split.parts().iter().map(|part| part.n_bytes).collect();
        let mean = sizes.iter().sum::<u64>() / n;
        assert!(sizes.len() as u64 == n && sizes.iter().all(|size| size.abs_diff(mean) < mean / 8), "{sizes:?}");
        check(&subject, parts(n), &all_options());
    }
}

#[test]
fn the_heading_of_a_merge_does_not_depend_on_the_first_event_that_is_shown() {
    let log = |command: &[u8], first: u64| {
        let events = (0..20).flat_map(|n| plain64(0x1010, 1, &[2], 7, first + 1000 * n)).collect();
        [STREAM64.to_vec(), generic_by64(0x0030, 2, command, 7, first - 1), events].concat()
    };
    let subject = Subject::merged("two commands", &[&log(b"trace -a one\0", 1000), &log(b"trace -a two\0", 4500)]);
    let mut late = with_columns("id,elapsed,text");
    late.aix.filter.from_ns = Some(8000);
    let whole = Report::of(&mut subject.open().unwrap(), &subject.formats, &late).unwrap();
    assert!(whole.text.contains("trace -a one") && !whole.text.contains("trace -a two"), "{}", whole.text);
    assert!(check(&subject, single_events(), &[late]) > 20);
}

#[test]
fn an_index_counts_the_times_that_go_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("back");
    let stamps = (0..60_u32).map(|n| 1000 * n - if n % 20 == 9 { 3000 } else { 0 });
    fs::write(&path, stamps.flat_map(|stamp| words32(&[0x1019_0000, 7, stamp])).collect::<Vec<u8>>()).unwrap();
    let read = ReadOptions { format: Some(TraceKind::Aix(AixKind::Stream32)), ..ReadOptions::default() };
    let subject = Subject { path: Some(path), read, ..Subject::new("back", Vec::new(), Formats::builtin()) };
    let mut late = ReportOptions::default();
    late.aix.filter.from_ns = Some(55_000);
    let n_clamped = |summary: ReportSummary| match summary {
        ReportSummary::Aix(summary) => summary.n_clamped,
        ReportSummary::Qnx(_) => 0,
    };
    let ignore = &mut |_: &Notice| {};
    let mut trace = subject.open().unwrap();
    let whole = n_clamped(report_with(&mut trace, &subject.formats, &late, Vec::new(), ignore).unwrap());
    let split = subject.split(parts(12));
    let found = n_clamped(split.report(&subject.formats, &late, Vec::new(), ignore).unwrap());
    assert_eq!((whole, found), (3, 3));
    let mut reads = Reads::default();
    split.report(&subject.formats, &late, Vec::new(), &mut reads).unwrap();
    assert!(reads.n_reads < split.parts().len(), "parts without such times are left out");
}

#[test]
fn an_index_keeps_the_gaps_of_dropped_buffers() {
    let head = b"TRACE_HEADER_BEGIN::TRACE_VER_MAJOR::1TRACE_VER_MINOR::01TRACE_LITTLE_ENDIAN::TRUE\
        TRACE_CPU_NUM::2TRACE_HEADER_END::";
    let slot = |header: u32, stamp: u32| [header, stamp, 0, 0].map(u32::to_le_bytes).concat();
    // Events of class USER, and in between one of class CONTROL: buffers were dropped.
    let slots: Vec<u8> = (0..40).flat_map(|n| slot(if n == 20 { 1 << 10 | 8 } else { 6 << 10 | 5 }, 100 * n)).collect();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("dropped.kev");
    fs::write(&path, [&head[..], &slots].concat()).unwrap();
    let subject = Subject { path: Some(path), ..Subject::new("dropped", Vec::new(), Formats::builtin()) };
    let mut nothing = ReportOptions::default();
    nothing.qnx.filter.only = Some(RecordIds::default());
    for options in [ReportOptions::default(), nothing] {
        let (rows, notices) = rows_with(&mut subject.open().unwrap(), &subject.formats, &options);
        assert_eq!(notices.len(), 1, "{notices:?}");
        let split = subject.split(single_events());
        assert_eq!(rows_of_split(&split, &subject.formats, &options), (rows, notices));
    }
}

#[test]
fn duplicates_are_not_removed_across_a_border() {
    let event = |ticks| plain64(0x1010, 1, &[2], 7, ticks);
    let stream = |ticks: &[u64]| [STREAM64.to_vec(), ticks.iter().flat_map(|ticks| event(*ticks)).collect()].concat();
    let back = stream(&[5, 10, 20, 30, 10, 20]);
    let subject = Subject { removes_duplicates: true, ..Subject::merged("back", &[&back, &stream(&[40])]) };
    let error = subject.open().unwrap().parts(&subject.formats, single_events()).unwrap_err().to_string();
    assert!(error.contains("times go back"), "{error}");
    let kept = Subject { removes_duplicates: false, ..subject };
    assert!(check(&kept, single_events(), &all_options()) > 3);
}

#[test]
fn a_merge_that_has_changed_is_refused() {
    let subject = &merged_subjects()[0];
    let split = subject.split(parts(3));
    let error = |files: Vec<Vec<u8>>| split.open_part_in_all(2, files).unwrap_err().to_string();
    let (one, two) = (&subject.bytes, &subject.others[0]);
    assert!(split.open_part_in_all(2, vec![one.clone(), two.clone()]).is_ok());
    assert!(error(vec![two.clone(), one.clone()]).contains("not the input that was split"));
    assert!(error(vec![one.clone(), [&two[..], &two[..50]].concat()]).contains("has grown"));
    assert!(error(vec![one.clone()]).contains("two logs"));
    let (_directory, cpus) = cpu_logs();
    let split = cpus[0].split(parts(2));
    let files: Vec<String> = split.files().map(str::to_owned).collect();
    assert!(files.len() == 4 && files[2].ends_with("trc-1"), "{files:?}");
    fs::remove_file(&files[2]).unwrap();
    let error = split.open_part(1).unwrap_err().to_string();
    assert!(error.contains("trc-1: No such file"), "{error}");
}

#[test]
fn damage_belongs_to_the_part_in_which_it_begins() {
    let options = [ReportOptions::default()];
    let kev = [false, true].map(|big| reference_kev(big, 1500));
    for reference in references(1500).into_iter().chain(kev) {
        let n = reference.bytes.len();
        for (turn, at) in (reference.head..n - 40).step_by(53).enumerate() {
            let damage = match turn % 5 {
                0 => Damage::Cut(at),
                1 => Damage::Flip(at, 7),
                2 => Damage::Insert(at, 0x55),
                3 => Damage::Delete(at),
                _ => Damage::Overwrite(at, 30, 0xFF),
            };
            let subject = Subject::of(&reference, damage.of(&reference.bytes));
            if subject.open().is_some() {
                check(&subject, if turn % 4 == 0 { single_events() } else { parts(9) }, &options);
            }
        }
    }
}

fn formats(text: &str) -> Formats {
    let input = FormatInput::Memory { name: "x.trcfmt".into(), bytes: text.as_bytes().to_vec() };
    Formats::load_with([input], &LoadOptions::default()).unwrap()
}

#[test]
fn timers_and_skipped_events_are_those_of_the_whole() {
    for reference in references(3000) {
        let text = "010 1.0 L=0 \"START\" starttimer(1,1) $D1\n101 1.0 L=0 \"END\" endtimer(1,1)\n\
                    104 1.0 L=0 \"SKIPPED\" $SKIP\n106 1.0 L=0 \"TID\" $TID $PID $SVC\n";
        let subject = Subject { formats: formats(text), ..Subject::of(&reference, reference.bytes.clone()) };
        check(&subject, single_events(), &all_options()[..2]);
        check(&subject, parts(5), &all_options());
    }
}

/// Hook that names the recorder, by which the hooks of the built-in context state processes and CPUs.
fn recorder() -> Vec<u8> {
    generic_by64(0x00A0, 0x16, b"tfbc\0", 1, 900)
}

/// Events of all hooks that change processes, threads, system calls, interrupt depths and timers. Threads of one hash
/// share notes of the splitter, and times go back.
fn random_events(seed: u64) -> Vec<u8> {
    const IDS: [u16; 21] = [
        0x100, 0x101, 0x102, 0x103, 0x104, 0x105, 0x106, 0x10B, 0x10C, 0x112, 0x134, 0x135, 0x139, 0x200, 0x465, 0x4B0,
        0x010, 0x011, 0x012, 0x013, 0x014,
    ];
    let mut noise = Noise::new(seed);
    let mut bytes = [&STREAM64[..], &factors64(3, 2, 2), &recorder()].concat();
    let (n_threads, n_cpus) = ([2, 20, 600][seed as usize % 3], [1, 4][seed as usize % 2]);
    let (mut tid, mut cpu, mut ticks) = (7, 0, 1000);
    for _ in 0..400 {
        if noise.below(3) == 0 {
            tid = 7 + 2 * noise.below(n_threads);
        }
        if noise.below(5) == 0 {
            cpu = noise.below(n_cpus);
        }
        ticks += noise.below(20);
        ticks -= if noise.below(50) == 0 { noise.below(30) } else { 0 };
        let pid = 4096 + noise.below(6);
        bytes.extend(match noise.below(40) {
            // The name of an address that system calls enter.
            0 => {
                let payload = [words64(&[pid, tid]), format!("symbol{}\0", noise.below(9)).into_bytes()].concat();
                generic_by64(0x00A0, 0xC, &payload, tid, ticks)
            }
            1 | 2 => {
                let path = format!("/bin/x{}\0", noise.below(4));
                generic_by64(noise.pick(&IDS) << 4, pid, path.as_bytes(), tid, ticks)
            }
            _ => {
                let words = noise.pick(&[[pid, tid, 60, 5, 0], [tid, pid, 5, 1, 2], [5, 5, 5, 5, 5]]);
                let words = &words[..noise.below(6) as usize];
                plain64(noise.pick(&IDS) << 4, cpu as u16, words, tid, ticks)
            }
        });
    }
    bytes
}

#[test]
fn the_state_of_random_events_is_the_one_of_the_whole() {
    let text = "010 1.0 L=0 \"A\" $D1 starttimer(1,$TID)\n011 1.0 L=0 \"B\" $SVC endtimer(1,$TID)\n\
                012 1.0 L=0 \"C\" endtimer(2,$HD) starttimer(2,$HD)\n\
                013 1.0 L=0 \"D\" endtimer(7,$D1) starttimer(7,$D1)\n\
                014 1.0 L=0 \"E\" $D1, 5 { $SKIP }, \\* { endtimer(1,$TID) } $PID\n";
    let own = FormatInput::Memory { name: "x.trcfmt".into(), bytes: text.as_bytes().to_vec() };
    let inputs = [FormatInput::Path(Formats::BUILT_IN.into()), own];
    let own = Formats::load_with(inputs, &LoadOptions::default()).unwrap();
    let columns = with_columns("id,cpu,pid,tid,exec,int,svc,elapsed,text");
    for seed in 0..12 {
        let subject = Subject::new(format!("random events {seed}"), random_events(seed), own.clone());
        check(&subject, parts(2 + seed), std::slice::from_ref(&columns));
    }
    let subject = Subject::new("random events", random_events(1), own);
    assert!(check(&subject, single_events(), &[columns]) > 300);
}

#[test]
fn a_template_that_stops_ends_the_last_part() {
    for reference in references(3000) {
        let text = "010 1.0 L=0 \"A\" $D1\n101 1.0 L=0 \"END\" end $STOP\n106 1.0 L=0 \"B\" $D1\n";
        let subject = Subject { formats: formats(text), ..Subject::of(&reference, reference.bytes.clone()) };
        let split = subject.split(single_events());
        let mut all = Report::default();
        for part in split.parts() {
            all.add(Report::of(&mut subject.part(&split, part.number), &subject.formats, &Default::default()).unwrap());
        }
        let whole = Report::of(&mut subject.open().unwrap(), &subject.formats, &Default::default()).unwrap();
        assert_eq!(all.text, whole.text);
        let only = &all_options()[4];
        let error = Report::of(&mut subject.part(&split, 1), &subject.formats, only).unwrap_err();
        assert!(error.to_string().contains("a filter needs the whole trace"), "{error}");
    }
}

/// An AIX log and its split of three parts.
fn three_parts() -> (Subject, Split) {
    let reference = references(3000).remove(1);
    let subject = Subject::of(&reference, reference.bytes.clone());
    let split = subject.split(parts(3));
    assert_eq!(split.parts().len(), 3);
    (subject, split)
}

#[test]
fn reports_that_need_the_whole_are_refused() {
    let (subject, split) = three_parts();
    let refused = |change: &dyn Fn(&mut ReportOptions)| {
        let mut options = ReportOptions::default();
        change(&mut options);
        let report = Report::of(&mut subject.part(&split, 2), &subject.formats, &options);
        assert!(matches!(report, Err(ReportError::Part(_))), "{report:?}");
    };
    refused(&|options| options.aix.stats = true);
    refused(&|options| options.aix.histogram = true);
    refused(&|options| options.aix.page_size = 60);
    refused(&|options| options.aix.delta_of_all = true);
    refused(&|options| options.aix.context = std::sync::Arc::new("106 dispatch pid=D1 tid=D2".parse().unwrap()));
    refused(&|options| options.aix.filter.from_ns = Some(5));
    let other = formats("010 1.0 L=0 \"A\" $D1\n");
    let error = Report::of(&mut subject.part(&split, 2), &other, &ReportOptions::default()).unwrap_err();
    // Both are named: the format files of the split, and those of the report.
    let both = |error: &str| {
        let (before, now) = error.split_once(", not with ").expect(error);
        assert!(before.contains("other format files: with the built-in one (BLAKE3 "), "{error}");
        assert!(now.starts_with("x.trcfmt (BLAKE3 "), "{error}");
        let hash = |text: &str| text.split_once("BLAKE3 ").expect(error).1[..12].to_owned();
        assert_ne!(hash(before), hash(now));
    };
    both(&error.to_string());
    both(&subject.part(&split, 2).events(&other).next().unwrap_err().to_string());
    both(&split.check_formats(&other).unwrap_err().to_string());
}

#[test]
fn another_input_is_refused() {
    let (subject, split) = three_parts();
    let open = |bytes: &[u8], number| split.open_part_in(number, bytes.to_vec()).err().map(|error| error.to_string());
    let bytes = &subject.bytes;
    assert_eq!(open(bytes, 3), None);
    assert!(open(&bytes[..bytes.len() - 1], 1).unwrap().contains("bytes, and had"));
    let mut other = bytes.clone();
    *other.last_mut().unwrap() ^= 1;
    let error = open(&other, 1).unwrap();
    // The log is so short that its first 4 KiB are all of it.
    let [now, before] = [&other, bytes].map(|bytes| blake3::hash(bytes).to_hex()[..12].to_owned());
    let n = bytes.len();
    let both = format!("its first bytes differ (BLAKE3 {now} of {n} bytes, and was {before} of {n})");
    assert!(error.contains(&both), "{error}");
    // A log that has grown still has its first parts.
    let grown = [&bytes[..], &bytes[100..]].concat();
    assert_eq!(open(&grown, 2), None);
    assert!(open(&grown, 3).unwrap().contains("has grown"));
    assert!(matches!(split.open_part_in(4, bytes.clone()), Err(SplitError::NoPart { number: 4, n_parts: 3 })));
    assert!(matches!(split.open_part_in(0, bytes.clone()), Err(SplitError::NoPart { number: 0, .. })));
}

#[test]
fn hostile_states_are_refused_or_harmless() {
    let (mut n_refused, mut n_read) = (0, 0);
    let aix = references(700);
    let single = aix.into_iter().chain([reference_kev(false, 700)]);
    let single = single.map(|reference| Subject::of(&reference, reference.bytes.clone()));
    for subject in single.chain(merged_subjects().into_iter().take(3)) {
        let split = subject.split(parts(3));
        let state = split_state(&split, 2);
        for at in 0..state.iter().map(Vec::len).sum() {
            let mut hostile = state.clone();
            let place = if at < state[0].len() { &mut hostile[0][at] } else { &mut hostile[1][at - state[0].len()] };
            *place = place.wrapping_add([1, 0x7F, 0x80, 0xFF][at % 4]);
            let files = subject.files();
            match with_split_state(&split, 2, hostile).open_part_in_all(2, files) {
                Ok(mut trace) => {
                    let monitor = &mut |_: &Notice| {};
                    let _ = report_with(&mut trace, &subject.formats, &all_options()[1], Vec::new(), monitor);
                    n_read += 1;
                }
                Err(_) => n_refused += 1,
            }
        }
    }
    assert!(n_refused > 200 && n_read > 200, "{n_refused} refused, {n_read} read");
}

#[test]
fn swapped_states_are_refused_or_change_the_report() {
    let single = references(2000).into_iter().chain([reference_kev(false, 2000)]);
    let single = single.map(|reference| Subject::of(&reference, reference.bytes.clone()));
    let subjects: Vec<Subject> = single.chain(merged_subjects().into_iter().take(3)).collect();
    let splits: Vec<Split> = subjects.iter().map(|subject| subject.split(parts(4))).collect();
    let (mut n_refused, mut n_read) = (0, 0);
    for (subject, split) in subjects.iter().zip(&splits) {
        let files = subject.files();
        let own = Report::of(&mut subject.part(split, 2), &subject.formats, &Default::default()).unwrap();
        // States of the next part, and of parts of other traces.
        let others = splits.iter().map(|other| split_state(other, if std::ptr::eq(other, split) { 3 } else { 2 }));
        for [position, report] in others {
            let [own_position, own_report] = split_state(split, 2);
            let states = [[position.clone(), own_report], [own_position, report.clone()], [position, report]];
            for state in states {
                match with_split_state(split, 2, state).open_part_in_all(2, files.clone()) {
                    Ok(mut trace) => {
                        // A state that differs may have no effect on the text.
                        let (mut text, monitor) = (Vec::new(), &mut |_: &Notice| {});
                        let _ = report_with(&mut trace, &subject.formats, &all_options()[1], &mut text, monitor);
                        n_read += usize::from(text != own.text.as_bytes());
                    }
                    Err(_) => n_refused += 1,
                }
            }
        }
    }
    assert!(n_refused > 30 && n_read > 30, "{n_refused} refused, {n_read} read");
}

#[test]
fn damaged_split_files_are_refused() {
    let (_, split) = three_parts();
    let bytes = split.encode();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(matches!(Split::decode(&damaged), Err(SplitError::Malformed(_))), "byte {at}");
    }
    for len in 0..bytes.len() {
        assert!(Split::decode(&bytes[..len]).is_err(), "cut at {len}");
    }
}

#[test]
fn each_part_can_be_alone() {
    let (subject, split) = three_parts();
    let whole = Report::of(&mut subject.open().unwrap(), &subject.formats, &Default::default()).unwrap();
    let mut all = Report::default();
    for info in split.parts() {
        let bytes = split.only(info.number).unwrap().encode();
        let alone = Split::decode(&bytes).unwrap();
        assert_eq!((alone.parts(), alone.encode() == bytes), (&[*info][..], true));
        all.add(Report::of(&mut subject.part(&alone, info.number), &subject.formats, &Default::default()).unwrap());
        let other = info.number % 3 + 1;
        let error = alone.open_part_in(other, subject.bytes.clone()).unwrap_err().to_string();
        assert_eq!(error, format!("part {other} of 3 is not in this split file"));
        assert!(matches!(alone.open_part_in(4, subject.bytes.clone()), Err(SplitError::NoPart { n_parts: 3, .. })));
    }
    assert_eq!(all, whole);
    assert!(split.check_formats(&subject.formats).is_ok());
    assert!(split.check_formats(&formats("010 1.0 L=0 \"A\" $D1\n")).is_err());
    assert!(split.only(4).is_err() && split.only(0).is_err());
}

#[test]
fn inputs_that_cannot_be_read_again_are_refused() {
    let (subject, split) = three_parts();
    let refused = |trace: Trace| trace.parts(&subject.formats, parts(2)).unwrap_err().to_string();
    let pipe = Trace::from_reader("x", std::io::Cursor::new(subject.bytes.clone())).unwrap();
    assert!(refused(pipe).contains("a pipe cannot be split"));
    let packed = tfbc::testing::unix_compress::compress(&subject.bytes);
    assert!(refused(Trace::from_bytes("x", packed).unwrap()).contains("compressed"));
    assert!(refused(subject.part(&split, 2)).contains("split again"));
    assert!(Trace::merge([1, 2].map(|number| subject.part(&split, number))).is_err());
}
