//! The iterator of the public interface yields the events and texts of the report.

use crate::common::{event32, factors32};
use std::io;
use std::path::{Path, PathBuf};
use tfbc::aix::{AixKind, ReadOptions, write_raw};
use tfbc::testing::unix_compress::compress;
use tfbc::{
    Columns, Compression, EventFilter, EventId, Events, FieldValue, Formats, Item, Notice, ReportOptions,
    ReportSummary, Trace, TraceKind, report,
};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Options of a report that contains only the text of events.
fn text_only() -> ReportOptions {
    let mut options = ReportOptions::default();
    options.aix.columns = Columns::text_only();
    options.qnx.columns = Columns::data_only();
    options.qnx.no_heading = true;
    options
}

pub fn reported(trace: &mut Trace, formats: &Formats, options: &ReportOptions) -> String {
    let mut text = Vec::new();
    report(trace, formats, options, &mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

/// Texts of all events, each with a newline, and the number of notices.
fn iterated(trace: &mut Trace, formats: &Formats, options: &ReportOptions) -> (String, usize) {
    let (mut text, mut n_notices) = (String::new(), 0);
    let mut events = trace.events(formats).with_options(options.clone());
    while let Some(item) = events.next().unwrap() {
        match item {
            Item::Event(event) => {
                text.push_str(&event.text());
                text.push('\n');
            }
            Item::Notice(_) => n_notices += 1,
        }
    }
    assert!(events.next().unwrap().is_none(), "the end stays the end");
    (text, n_notices)
}

/// Traces, each with the format files for it.
pub fn samples() -> Vec<(PathBuf, Formats)> {
    let mut samples = vec![
        (file("samples/shell.trc"), Formats::builtin()),
        (file("samples/copy.trc"), Formats::builtin()),
        (file("samples/user.kev"), Formats::load([file("samples/user.xml")]).unwrap()),
        (file("samples/user.kev"), Formats::builtin()),
    ];
    for folder in ["tests/data/aix", "tests/data/qnx"] {
        let mut paths: Vec<_> = file(folder).read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let is_trace = |path: &PathBuf| Trace::open(path).is_ok();
        samples.extend(paths.into_iter().filter(is_trace).map(|path| (path, Formats::builtin())));
    }
    samples
}

#[test]
fn events_have_the_texts_of_the_report() {
    let mut n_texts = 0;
    for (path, formats) in samples() {
        let expected = reported(&mut Trace::open(&path).unwrap(), &formats, &text_only());
        let (text, _) = iterated(&mut Trace::open(&path).unwrap(), &formats, &ReportOptions::default());
        assert_eq!(text, expected, "{}", path.display());
        n_texts += usize::from(!text.is_empty());
    }
    assert!(n_texts > 10, "{n_texts} traces with text");
}

/// Everything of all items but their texts. Texts are empty unless `has_texts`.
fn without_texts(trace: &mut Trace, formats: &Formats, has_texts: bool) -> Vec<String> {
    let events = trace.events(formats).with_context();
    items(if has_texts { events } else { events.without_texts() }, has_texts)
}

fn items(mut events: Events<'_>, has_texts: bool) -> Vec<String> {
    let mut items = Vec::new();
    while let Some(item) = events.next().unwrap() {
        items.push(match item {
            Item::Event(event) => {
                assert!(has_texts || event.text().is_empty() && event.note().is_none(), "{event:?} {:?}", event.note());
                let ids = (event.event_id(), event.seq(), event.cpu(), event.pid(), event.tid());
                let names = (event.label(), event.process(), event.executable());
                let times = (event.time_ns(), event.elapsed_ns(), event.unix_us());
                format!("{ids:?} {names:?} {times:?} {:?} {:?}", event.bytes(), event.fields())
            }
            Item::Notice(notice) => format!("{notice:?}"),
        });
    }
    items
}

#[test]
fn events_without_texts_have_everything_else() {
    for (path, formats) in samples() {
        let [with, without] =
            [true, false].map(|has_texts| without_texts(&mut Trace::open(&path).unwrap(), &formats, has_texts));
        assert_eq!(without, with, "{}", path.display());
    }
    // The built-in templates may skip events; these do not, so they need not run.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trcfmt");
    std::fs::write(&path, "010 1.0 L=0 \"\" $D1%U4\n").unwrap();
    let formats = Formats::load([&path]).unwrap();
    let [with, without] = [true, false]
        .map(|has_texts| without_texts(&mut Trace::from_bytes("a", stream(1..=12)).unwrap(), &formats, has_texts));
    assert_eq!((without.len(), &without), (12, &with));
}

/// A 64-bit stream with events of all encodings, most of them of the most frequent one, and some damage.
fn mixed_stream(random: &mut u64, n_events: usize, is_damaged: bool) -> Vec<u8> {
    let mut below = |n: u64| {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*random >> 33) % n
    };
    // Hook 00A: time factors of 3 / 2, and the CPUs.
    let mut bytes = [0xEF, 0xDF, 0x11, 0x14].to_vec();
    bytes.extend(words64(&[0x8000_0020_00A0_0000, 0x25C, 3, 2, 2, 5, 100]));
    let mut ticks = 1000;
    for _ in 0..n_events {
        ticks += below(2000);
        let tid = 5 + below(4);
        let id = [0x0100, 0x0110, 0x0120, 0x0130, 0x0140, 0x1060, 0x1000, 0x0770][below(16).saturating_sub(8) as usize];
        let head = |flags: u64, len: u64| flags << 48 | len << 32 | id << 16 | 7;
        let n_words = below(6);
        let words: Vec<u64> = (0..n_words).map(|_| below(9)).collect();
        bytes.extend(match below(60) {
            0 => words64(&[&[head(0, 8 * n_words)], &words[..], &[tid]].concat()),
            1 => words64(&[head(0xC000, 11), 11, 0x4142_4344_4546_4748, 0x494A_4B00_0000_0000, tid, ticks]),
            2 => words64(&[head(0x9000, 8), 3, tid, ticks, 1]),
            3 => words64(&[head(0x8801, 8), 3, tid, ticks, 1, 2]),
            4 => words64(&[head(0xA000, 4), 3 << 32, tid, ticks]),
            5 => words64(&[0x8000_0020_00A0_0000, 0x25C, 3 + below(2), 2, 2, 5, ticks]),
            6 if is_damaged => vec![0xFF; 40],
            _ => words64(&[&[head(0x8000, 8 * n_words)], &words[..], &[tid, ticks]].concat()),
        });
    }
    bytes
}

fn words64(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

#[test]
fn events_read_where_they_are_have_everything_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trcfmt");
    let plain =
        "010 1.0 L=0 \"\" $D1%U4 $D2%X8\n011 1.0 L=0 \"\" $D1\n012 1.0 L=0 \"\" $D1%U4 $TID\n106 1.0 L=0 \"\" $D1\n";
    let with_timers =
        format!("{plain}013 1.0 L=0 \"\" starttimer($D1,1)\n014 1.0 L=0 \"\" $D1, 5 {{ $SKIP }} endtimer($D1,1)\n");
    let with_context = format!("{with_timers}100 1.0 L=0 \"\" $PID $SVC $EXECPATH\n");
    let (mut random, mut n_events) = (1, 0);
    for (case, source) in [plain, &with_timers, &with_context].into_iter().cycle().take(9).enumerate() {
        std::fs::write(&path, source).unwrap();
        let formats = Formats::load([&path]).unwrap();
        let bytes = mixed_stream(&mut random, [300, 9000][case % 2], case % 4 == 0);
        let file = folder.path().join("a.trc");
        std::fs::write(&file, &bytes).unwrap();
        let filter = match case % 3 {
            2 => EventFilter { only: vec!["010,011,014,106".into()], ..EventFilter::default() },
            _ => EventFilter::default(),
        };
        let read = |trace: Result<Trace, tfbc::TraceError>, has_texts: bool, has_context: bool| {
            let mut trace = trace.unwrap();
            let events = trace.events(&formats).with_filter(&filter).unwrap();
            let events = if has_context { events.with_context() } else { events };
            items(if has_texts { events } else { events.without_texts() }, has_texts)
        };
        for has_context in [false, true] {
            let expected = read(Trace::from_bytes("a", bytes.clone()), true, has_context);
            assert!(expected.len() > 100, "case {case}: {}", expected.len());
            n_events += expected.len();
            let whole = read(Trace::from_bytes("a", bytes.clone()), false, has_context);
            let pieces = read(Trace::from_reader("a", std::io::Cursor::new(bytes.clone())), false, has_context);
            let from_file = [false, true].map(|has_texts| read(Trace::open(&file), has_texts, has_context));
            for (items, expected) in [(&whole, &expected), (&pieces, &expected), (&from_file[0], &from_file[1])] {
                let differs = items.iter().zip(expected).find(|(one, other)| one != other);
                assert_eq!(differs, None, "case {case}");
                assert_eq!(items.len(), expected.len(), "case {case}");
            }
        }
    }
    assert!(n_events > 20_000, "{n_events}");
}

#[test]
fn streams_and_bytes_in_memory_have_equal_events() {
    for (path, formats) in samples() {
        let bytes = std::fs::read(&path).unwrap();
        let Ok(mut trace) = Trace::from_bytes("memory", bytes.clone()) else { continue };
        let (expected, _) = iterated(&mut trace, &formats, &ReportOptions::default());
        let mut stream = Trace::from_reader("stream", std::io::Cursor::new(bytes)).unwrap();
        assert_eq!(iterated(&mut stream, &formats, &ReportOptions::default()).0, expected, "{}", path.display());
    }
}

/// A 32-bit stream with an event of hook 010 per word; the word is also its time in nanoseconds.
pub fn stream(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    let events = words.into_iter().map(|word| event32(word, word));
    std::iter::once(factors32(1, 1, 0)).chain(events).flatten().collect()
}

#[test]
fn templates_skip_and_stop() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trcfmt");
    // The words 1 and 3 are skipped; the word 8 ends the report.
    let text = "010 1.0 L=0 \"\" $D1%U4, 1 { $SKIP }, 3 { $SKIP }, 8 { \"end\" $STOP }, \\* \"other\"\n";
    std::fs::write(&path, text).unwrap();
    let formats = Formats::load([&path]).unwrap();
    let bytes = stream(1..=12);
    let (text, _) = iterated(&mut Trace::from_bytes("a", bytes.clone()).unwrap(), &formats, &ReportOptions::default());
    let [with, without] = [true, false]
        .map(|has_texts| without_texts(&mut Trace::from_bytes("a", bytes.clone()).unwrap(), &formats, has_texts));
    assert_eq!((without.len(), &without), (6, &with));
    let expected = reported(&mut Trace::from_bytes("a", bytes).unwrap(), &formats, &text_only());
    assert_eq!(text, expected);
    assert_eq!(text, format!("{}end\n", "other\n".repeat(5)));
}

#[test]
fn a_filter_leaves_events_out_and_context_names_processes() {
    let formats = Formats::builtin();
    let filter = EventFilter { only: vec!["106,10C".into()], ..EventFilter::default() };
    let mut trace = Trace::open(file("samples/shell.trc")).unwrap();
    let mut events = trace.events(&formats).with_filter(&filter).unwrap().with_context();
    let (mut n_events, mut n_named, mut last_ns) = (0, 0, 0);
    while let Some(item) = events.next().unwrap() {
        let Item::Event(event) = item else { continue };
        assert!(matches!(event.id().as_str(), "106" | "10C"), "{}", event.id());
        assert_eq!(event.event_id(), EventId::Hook(u16::from_str_radix(&event.id(), 16).unwrap() << 4));
        assert!(!event.label().is_empty() && !event.bytes().is_empty());
        let elapsed_ns = event.elapsed_ns().unwrap();
        assert!(elapsed_ns >= last_ns);
        last_ns = elapsed_ns;
        n_events += 1;
        n_named += usize::from(event.process().is_some() && event.pid().is_some());
    }
    assert!(n_events > 3 && n_named > 0, "{n_events} events, {n_named} of a known process");
}

#[test]
fn fields_match_those_of_ndjson() {
    let formats = Formats::load([file("samples/user.xml")]).unwrap();
    let mut options = ReportOptions::default();
    options.qnx.form = tfbc::Form::Ndjson;
    options.qnx.fields = tfbc::qnx::FieldLayout::Object;
    let table = reported(&mut Trace::open(file("samples/user.kev")).unwrap(), &formats, &options);
    let mut trace = Trace::open(file("samples/user.kev")).unwrap();
    let mut events = trace.events(&formats);
    let mut n_fields = 0;
    for row in table.lines() {
        let event = loop {
            match events.next().unwrap().expect("as many events as rows") {
                Item::Event(event) => break event,
                Item::Notice(_) => {}
            }
        };
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        assert_eq!(Some(event.id()), row["class"].as_str().map(|class| format!("{class}:{}", row["id"])));
        assert_eq!(event.time_ns(), row["time_ns"].as_u64());
        let fields = event.fields();
        let known: Vec<_> = fields.iter().filter(|field| field.value != FieldValue::Missing).collect();
        assert_eq!(known.len(), row["fields"].as_object().unwrap().len());
        for field in known {
            let value = match &field.value {
                FieldValue::Integer(n) => serde_json::Value::from(i64::try_from(*n).unwrap()),
                FieldValue::Text(text) => serde_json::Value::from(text.as_str()),
                value => serde_json::from_str(&field.text).unwrap_or_else(|_| panic!("{value:?}")),
            };
            assert_eq!(value, row["fields"][&field.name]);
            assert_eq!(field.value.to_string(), value.as_str().map_or_else(|| value.to_string(), String::from));
            n_fields += 1;
        }
    }
    assert!(n_fields > 10, "{n_fields} fields");
}

/// A path that only a comment asks for, and the text does not print, is known as in the text of another stanza.
#[test]
fn paths_that_only_comments_ask_for_are_fields() {
    let owners = |source: &str, name: &str| {
        let source = tfbc::FormatInput::Memory { name: "a.trcfmt".into(), bytes: source.as_bytes().to_vec() };
        let formats = Formats::load_with([source], &tfbc::LoadOptions::default()).unwrap();
        let mut trace = Trace::open(file("samples/shell.trc")).unwrap();
        let mut events = trace.events(&formats);
        let mut found = Vec::new();
        while let Some(item) = events.next().unwrap() {
            if let Item::Event(event) = item
                && event.id() == "106"
            {
                found.push(event.fields().into_iter().find(|field| field.name == name).map(|field| field.value));
            }
        }
        found
    };
    let printed = owners("106 1.0 \"DISPATCH\" \"cmd=\" $D1%PW\n", "cmd_text");
    assert!(printed.iter().any(|value| matches!(value, Some(FieldValue::Text(_)))), "{printed:?}");
    let asked = owners("# tfbc: fields=cmd=$D1%P4\n106 1.0 \"DISPATCH\" \"dispatched\"\n", "cmd_text");
    assert_eq!(asked, printed);
}

#[test]
fn damage_is_a_notice_between_events() {
    let mut bytes = stream(1..=4);
    bytes.extend([0xFF; 40]);
    bytes.extend((5..=40).flat_map(|word| event32(word, word)));
    let formats = Formats::builtin();
    let (text, n_notices) =
        iterated(&mut Trace::from_bytes("a", bytes.clone()).unwrap(), &formats, &ReportOptions::default());
    assert_eq!(text, reported(&mut Trace::from_bytes("a", bytes).unwrap(), &formats, &text_only()));
    assert!(n_notices > 0 && !text.is_empty());
}

#[test]
fn merged_traces_are_ordered_by_time() {
    let formats = Formats::builtin();
    let parts = || [1, 2].map(|first| Trace::from_bytes("part", stream((first..=10).step_by(2))).unwrap());
    let mut trace = Trace::merge(parts()).unwrap();
    assert_eq!(trace.info().files.len(), 2);
    let mut events = trace.events(&formats);
    let mut words = Vec::new();
    while let Some(item) = events.next().unwrap() {
        if let Item::Event(event) = item
            && event.id() == "010"
        {
            words.push(event.bytes()[7]);
        }
    }
    assert_eq!(words, (1..=10).collect::<Vec<u8>>());
    let log = Trace::open(file("samples/user.kev")).unwrap();
    let [aix, _] = parts();
    assert_eq!(Trace::merge([aix, log]).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
}

#[test]
fn recent_events_are_those_just_returned() {
    for (path, formats) in samples() {
        let mut trace = Trace::open(&path).unwrap();
        let mut events = trace.events(&formats);
        let describe =
            |event: &tfbc::Event<'_>| (event.id(), event.elapsed_ns(), event.text().into_owned(), event.fields());
        let mut chunk = Vec::new();
        loop {
            if !events.has_buffered() {
                for (n_before, earlier) in chunk.drain(..).rev().enumerate() {
                    assert_eq!(events.recent(n_before).map(|event| describe(&event)), Some(earlier), "{path:?}");
                }
            }
            match events.next().unwrap() {
                Some(Item::Event(event)) => chunk.push(describe(&event)),
                Some(Item::Notice(_)) => assert!(events.recent(0).is_none()),
                None => break,
            }
        }
        assert!(events.recent(0).is_none(), "{path:?}");
    }
}

#[test]
fn compressed_bytes_in_memory_are_unpacked() {
    let packed = compress(&std::fs::read(file("samples/shell.trc")).unwrap());
    let (formats, options) = (Formats::builtin(), text_only());
    let from_file = reported(&mut Trace::open(file("samples/shell.trc")).unwrap(), &formats, &options);
    let mut trace = Trace::from_bytes("shell.trc.Z", packed).unwrap();
    assert_eq!(trace.info().files[0].compression, Some(Compression::Compress));
    assert_eq!(reported(&mut trace, &formats, &options), from_file);
}

#[test]
fn an_inventory_counts_what_a_report_shows() {
    let formats = Formats::builtin();
    for (path, _) in samples() {
        let Ok(summary) = report(&mut Trace::open(&path).unwrap(), &formats, &ReportOptions::default(), io::sink())
        else {
            continue;
        };
        let inventory = Trace::open(&path).unwrap().inventory(&mut |_: &Notice| {}).unwrap();
        let n_events: u64 = inventory.by_event().iter().map(|(_, n)| n).sum();
        match summary {
            ReportSummary::Aix(summary) => {
                assert_eq!((n_events, inventory.n_damaged()), (summary.n_events, summary.n_damaged), "{path:?}");
            }
            ReportSummary::Qnx(summary) => assert_eq!(n_events, summary.counts.records, "{path:?}"),
        }
    }
}

#[test]
fn raw_streams_are_traces_with_the_same_events() {
    let (formats, options) = (Formats::builtin(), text_only());
    let open = || Trace::open(file("samples/shell.trc")).unwrap();
    let mut raw = Vec::new();
    write_raw(&mut open(), &options.aix, &mut raw, &mut |_: &Notice| {}).unwrap();
    let of_raw = reported(&mut Trace::from_bytes("raw", raw).unwrap(), &formats, &options);
    assert_eq!(of_raw, reported(&mut open(), &formats, &options));
    let error =
        write_raw(&mut Trace::open(file("samples/user.kev")).unwrap(), &options.aix, io::sink(), &mut |_: &Notice| {});
    assert_eq!(error.unwrap_err().to_string(), "this is a log of QNX, expected a trace of AIX");
}

#[cfg(feature = "compile")]
#[test]
fn diagnostics_are_lines_with_positions() {
    use tfbc::{FormatInput, LoadError, LoadOptions};
    let load = |text: &str| {
        let source = FormatInput::Memory { name: "a.trcfmt".into(), bytes: text.as_bytes().to_vec() };
        Formats::load_with([source], &LoadOptions::default())
    };
    // The third column of the second line begins a stanza with an unknown descriptor.
    let error = load("# comment\n010 1.0 \"A\" $D1%?4\n").unwrap_err();
    let LoadError::Source(findings) = &error else { panic!("{error}") };
    let lines = findings.to_string();
    assert_eq!(lines.lines().count(), findings.diagnostics.len(), "{lines}");
    let first = lines.lines().next().unwrap();
    assert!(first.starts_with("a.trcfmt:2:") && first.contains(": error[S"), "{first}");
    assert_eq!(error.to_string(), format!("the format files do not compile: {first}"));
    assert_eq!(load("010 1.0 \"A\" $D1%U4\n").unwrap().findings().to_string(), "");
}

#[test]
fn values_are_displayed_as_their_fields_texts() {
    let formats = Formats::builtin();
    let mut n_fields = 0;
    for name in ["samples/shell.trc", "samples/copy.trc"] {
        let mut trace = Trace::open(file(name)).unwrap();
        let mut events = trace.events(&formats);
        while let Some(item) = events.next().unwrap() {
            let Item::Event(event) = item else { continue };
            for field in event.fields() {
                assert_eq!(field.value.to_string(), field.text, "{} {}", event.id(), field.name);
                n_fields += 1;
            }
        }
    }
    assert!(n_fields > 100, "{n_fields}");
}

#[test]
fn displayed_values_keep_their_precision() {
    let values = [
        (FieldValue::Float(0.1_f32.into()), "0.1"),
        (FieldValue::Float(0.1), "0.1"),
        (FieldValue::Float(1.0 / 3.0), "0.3333333333333333"),
        (FieldValue::Float(-2.0), "-2.0"),
        (FieldValue::Float(f64::NAN), "NaN"),
        (FieldValue::Float(f64::NEG_INFINITY), "-Infinity"),
        (FieldValue::Integer(u64::MAX.into()), "18446744073709551615"),
        (FieldValue::Bool(true), "true"),
        (FieldValue::Text(String::from("\"a\"")), "\"a\""),
        (FieldValue::List(Vec::new()), "[]"),
    ];
    for (value, text) in values {
        assert_eq!(value.to_string(), text);
    }
}

#[test]
fn the_same_filter_leaves_events_of_qnx_out() {
    let formats = Formats::load([file("samples/user.xml")]).unwrap();
    let filter = EventFilter { only: vec!["USER:65".into()], ..EventFilter::default() };
    let mut trace = Trace::open(file("samples/user.kev")).unwrap();
    let mut events = trace.events(&formats).with_filter(&filter).unwrap();
    let mut n_events = 0;
    while let Some(item) = events.next().unwrap() {
        let Item::Event(event) = item else { continue };
        assert_eq!(event.id(), "USER:65");
        n_events += 1;
    }
    assert!(n_events > 0);
}

#[test]
fn bytes_and_streams_are_read_with_options() {
    // The trace has no header, so only the option says that the bytes are an AIX stream.
    let bytes: Vec<u8> = (1..=3).flat_map(|word| event32(word, word)).collect();
    let options = ReadOptions { format: Some(TraceKind::Aix(AixKind::Stream32)), ..ReadOptions::default() };
    assert!(Trace::from_bytes("a", bytes.clone()).is_err());
    let formats = Formats::builtin();
    let of_bytes = Trace::from_bytes_with("a", bytes.clone(), &options).unwrap();
    let of_stream = Trace::from_reader_with("a", io::Cursor::new(bytes), &options).unwrap();
    for mut trace in [of_bytes, of_stream] {
        let mut events = trace.events(&formats);
        let mut n_events = 0;
        while let Some(item) = events.next().unwrap() {
            n_events += usize::from(matches!(item, Item::Event(_)));
        }
        assert_eq!(n_events, 3);
    }
}
