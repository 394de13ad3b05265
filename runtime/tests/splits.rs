//! Parts of a trace, one after another, are the whole report.

use crate::common::damage::{Damage, Reference, reference_kev, references};
use crate::face::samples;
use std::fs;
use std::io;
use std::num::NonZeroU64;
use tfbc::aix::{Filter, IdSet, Numbers, ReadOptions};
use tfbc::internal::rows::{Long, Names, RowBlock, RowFields, RowOptions, RowSink, Short, TraceFacts, rows};
use tfbc::qnx::{RecordIds, TimeForm};
use tfbc::testing::splits::{split_state, with_split_state};
use tfbc::{
    Columns, Form, FormatInput, Formats, Item, LoadOptions, Notice, PartSize, ReportError, ReportOptions,
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
    formats: Formats,
    read: ReadOptions,
}

impl Subject {
    fn new(name: impl Into<String>, bytes: Vec<u8>, formats: Formats) -> Self {
        Self { name: name.into(), bytes, formats, read: ReadOptions::default() }
    }

    fn of(reference: &Reference, bytes: Vec<u8>) -> Self {
        let read = ReadOptions { format: reference.kind.map(TraceKind::Aix), ..ReadOptions::default() };
        Self { read, ..Self::new(reference.name, bytes, Formats::builtin()) }
    }

    fn open(&self) -> Option<Trace> {
        Trace::from_bytes_with(&self.name, self.bytes.clone(), &self.read).ok()
    }

    /// Splits the trace, and decodes the bytes of the split again.
    fn split(&self, size: PartSize) -> Split {
        let split = self.open().unwrap().parts(&self.formats, size).unwrap();
        let bytes = split.encode();
        let decoded = Split::decode(&bytes).unwrap();
        assert!(decoded.encode() == bytes, "{}: encoding is deterministic", self.name);
        decoded
    }

    fn part(&self, split: &Split, number: u64) -> Trace {
        split.open_part_in(number, self.bytes.clone()).unwrap_or_else(|error| panic!("{}: {error}", self.name))
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
        let (n_events, n_reported, tally, imbalance) = match summary {
            ReportSummary::Aix(counts) => (counts.n_events, counts.n_reported, counts.tally, counts.imbalance),
            ReportSummary::Qnx(counts) => (counts.counts.records, counts.n_reported, counts.tally, counts.imbalance),
        };
        assert_eq!(imbalance, None);
        Ok(Self { text: String::from_utf8_lossy(&text).into_owned(), notices, n_events, n_reported, tally })
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
    let wanted = RowOptions {
        text: true,
        fields: RowFields::Json,
        note: true,
        time: true,
        origins: true,
        context: true,
        depth: true,
        svc: true,
        gaps: true,
    };
    let (mut sink, mut notices) = (RowTexts::default(), Vec::new());
    let mut monitor = |notice: &Notice| notices.push(notice.clone());
    rows(trace, formats, &ReportOptions::default(), wanted, &mut sink, &mut monitor).unwrap();
    (sink.0, notices)
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
    for subject in sample_subjects().into_iter().chain(noisy) {
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
        let mut nothing = ReportOptions::default();
        nothing.aix.filter.only = Some(IdSet::parse("0AB").unwrap());
        nothing.qnx.filter.only = Some(RecordIds::default());
        options.extend([one_cpu, nothing]);
        for size in [parts(1), parts(6), single_events()] {
            let split = subject.split(size);
            for (at, options) in options.iter().enumerate() {
                let whole = Report::of(&mut subject.open().unwrap(), &subject.formats, options).unwrap();
                let (mut text, mut notices) = (Vec::new(), Vec::new());
                let mut monitor = |notice: &Notice| notices.push(notice.clone());
                let summary = split.report(&subject.formats, options, &mut text, &mut monitor).unwrap();
                let n_read = match summary {
                    ReportSummary::Aix(counts) => counts.tally.read,
                    ReportSummary::Qnx(counts) => counts.tally.read,
                };
                let text = String::from_utf8_lossy(&text);
                assert!(text == whole.text, "{}, {size:?}, options {at}: {text}\n{}", subject.name, whole.text);
                assert_eq!(notices, whole.notices);
                n_left_out += usize::from(n_read < whole.tally.read);
            }
        }
    }
    assert!(n_left_out > 60, "{n_left_out} reports left out parts");
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
    assert!(error.to_string().contains("other format files"), "{error}");
    let error = subject.part(&split, 2).events(&other).next().err().map(|error| error.to_string());
    assert!(error.is_some_and(|error| error.contains("other format files")));
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
    assert!(open(&other, 1).unwrap().contains("bytes differ"));
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
    for reference in aix.into_iter().chain([reference_kev(false, 700)]) {
        let subject = Subject::of(&reference, reference.bytes.clone());
        let split = subject.split(parts(3));
        let state = split_state(&split, 2);
        for at in 0..state.iter().map(Vec::len).sum() {
            let mut hostile = state.clone();
            let place = if at < state[0].len() { &mut hostile[0][at] } else { &mut hostile[1][at - state[0].len()] };
            *place = place.wrapping_add([1, 0x7F, 0x80, 0xFF][at % 4]);
            match with_split_state(&split, 2, hostile).open_part_in(2, subject.bytes.clone()) {
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
    let refused = |trace: Trace| trace.parts(&subject.formats, parts(2)).err().map(|error| error.to_string()).unwrap();
    let pipe = Trace::from_reader("x", std::io::Cursor::new(subject.bytes.clone())).unwrap();
    assert!(refused(pipe).contains("a pipe cannot be split"));
    let packed = tfbc::testing::unix_compress::compress(&subject.bytes);
    assert!(refused(Trace::from_bytes("x", packed).unwrap()).contains("compressed"));
    let logs = [0, 1].map(|_| subject.open().unwrap());
    assert!(refused(Trace::merge(logs).unwrap()).contains("several logs"));
    assert!(refused(subject.part(&split, 2)).contains("split again"));
    assert!(Trace::merge([1, 2].map(|number| subject.part(&split, number))).is_err());
}
