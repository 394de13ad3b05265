//! Compares fields from the machine with fields from the reference, on random templates, comments and events.
//!
//! `TFBC_CASES=100000` runs that many templates, `TFBC_SEED=17` only that one, both together that many from 17 on.

use std::path::Path;
use tfbc::internal::FieldReader;
use tfbc::testing::fields::{PreparedFields, list_json, write_row};
use tfbc::testing::formats::{Catalog, FormatSet};
use tfbc::{LoadOptions, MaxWork};
use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Arena, Source, Sources};
use tfbc_snapshots::differential::{LimitKind, TemplateCase, as_event, messages};
use tfbc_snapshots::generate::{Rng, seeds};
use tfbc_snapshots::reference::{self, Line, Reference};
use tfbc_vm::{Context, Event, EventInput, Layout, Limits, Machine, TextBuf, Timers};

/// Default number of templates.
const CASES: u64 = 300;

/// Template and events of a seed. Three in four templates have comments.
fn case(seed: u64) -> TemplateCase {
    let mut rng = Rng::new(seed);
    let case = TemplateCase::new(&mut rng, 1 + (seed % 40) as usize, LimitKind::Turns);
    if seed.is_multiple_of(4) { case } else { case.commented(&mut rng) }
}

/// Rows of a case's events as JSON, or `None` for a skipped event.
fn rows(case: &TemplateCase, catalog: &Catalog<'_>, ids: &[u16], mut machine: Machine) -> Vec<Option<String>> {
    let (mut timers, mut scratch) = (Timers::new(), TextBuf::new());
    let mut found = Vec::new();
    for ((_, event), id) in case.events.iter().zip(ids) {
        let entry = catalog.get(*id).expect("an entry per stanza");
        let (event, context) = (as_event(event), case.facts.context());
        let fields = PreparedFields::new(catalog, entry, event.env_index()).expect("fields of every stanza");
        let mut run = machine.start(catalog.program(entry), &mut timers);
        let input = EventInput { event: &event, context: &context };
        // Runs a trial first, as reports do.
        let mut trial = TextBuf::new();
        fields.write(&mut run, &input, true, &mut trial);
        let (outcome, row) = fields.row(&mut run, input, &mut scratch);
        let mut json = TextBuf::new();
        write_row(fields.schema(), row, &mut json);
        assert_eq!(String::from_utf8_lossy(trial.as_bytes()), String::from_utf8_lossy(json.as_bytes()));
        let json = String::from_utf8_lossy(json.as_bytes()).into_owned();
        found.push(if outcome.skipped { None } else { Some(json) });
    }
    found
}

/// Compares the schemas and the rows of one seed. With a path, the blob is written to that file and read from it.
fn compare(seed: u64, file: Option<&Path>) -> Result<(), String> {
    let case = case(seed);
    let (arena, sources) = (Arena::new(), case.sources());
    let source = &case.template.source;
    let reference = Reference::parse(&arena, &sources).map_err(|found| messages(&found))?;
    let compiled = compile(&sources, &Options::default());
    let blob = compiled.blob.ok_or_else(|| format!("{}{source}", messages(&compiled.diagnostics)))?;
    let set = match file {
        Some(path) => {
            std::fs::write(path, &blob).map_err(|error| error.to_string())?;
            FormatSet::load(&[path.into()], &LoadOptions::default()).map_err(|error| format!("{error}\n{source}"))?
        }
        None => FormatSet::from_blob(blob),
    };
    let catalog = set.catalog().map_err(|error| format!("{error}\n{source}"))?;
    let (expected, got) = (reference.listing(), String::from_utf8_lossy(&list_json(&catalog, None)).into_owned());
    if expected != got {
        let lines = expected.lines().zip(got.lines()).find(|(expected, got)| expected != got);
        let (expected, got) = lines.unwrap_or((&expected, &got));
        return Err(format!("the schema differs\nexpected {expected}\ngot      {got}\n{source}"));
    }
    let ids: Vec<u16> = case.events.iter().map(|(hook, _)| case.place(&reference, *hook).0.id.node.0).collect();
    let expected: Vec<_> = case.rows(&reference).into_iter().map(|row| row.map(|row| row.to_json())).collect();
    for (name, machine) in [("fast", Machine::new(case.limits)), ("checked", Machine::checked(case.limits))] {
        let got = rows(&case, &catalog, &ids, machine);
        if let Some(at) = (0..got.len()).find(|at| got[*at] != expected[*at]) {
            let ((hook, event), context) = (&case.events[at], case.facts.context());
            let (expected, got) = (&expected[at], &got[at]);
            return Err(format!(
                "event {at} of hook {hook:04X} differs in the {name} interpreter\n\
                 expected {expected:?}\ngot      {got:?}\n{event:02x?}\n{context:?}\n{:?}\n{source}",
                case.limits
            ));
        }
    }
    Ok(())
}

#[test]
fn the_machine_stores_what_the_reference_stores() {
    let seeds = seeds(CASES);
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    let worker = |from: usize| {
        let own = seeds.clone().skip(from).step_by(workers);
        own.filter_map(|seed| compare(seed, None).err().map(|text| format!("seed {seed}: {text}"))).collect::<Vec<_>>()
    };
    let mut differences: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..workers)
            .map(|from| {
                let worker = &worker;
                scope.spawn(move || worker(from))
            })
            .collect();
        running.into_iter().flat_map(|worker| worker.join().expect("a worker that does not panic")).collect()
    });
    differences.sort_by_key(String::len);
    let shortest: Vec<_> = differences.iter().take(5).map(String::as_str).collect();
    assert!(shortest.is_empty(), "{} templates differ; the shortest:\n{}", differences.len(), shortest.join("\n\n"));
}

/// Listing and rows of the only stanza of a source, by the reference and by the machine.
fn both(source: &str, events: &[&[u8]]) -> [(String, Vec<String>); 2] {
    let (arena, mut sources) = (Arena::new(), Sources::new());
    sources.add(Source::new("t.trcfmt", source));
    let reference = Reference::parse(&arena, &sources).unwrap_or_else(|found| panic!("{}", messages(&found)));
    let blob = compile(&sources, &Options::default()).blob.expect("a blob");
    let set = FormatSet::from_blob(blob);
    let catalog = set.catalog().expect("a catalog");
    let (mut expected, mut got) = (Vec::new(), Vec::new());
    for bytes in events {
        let event = Event { bytes, wide: false, record: None, time_ns: 0, offset: 0 };
        let stanza = reference.stanza(event.hook_id()).expect("a stanza");
        let (schema, mut timers) = (reference.schema(stanza), reference::Timers::default());
        let line = Line { columns: b"", layout: Layout::default(), limits: Limits::default() };
        let row = reference.row(stanza, &schema, &event, &Context::EMPTY, &mut timers, line);
        expected.push(row.expect("the event is not skipped").to_json());
        let entry = catalog.lookup(event.hook_id()).expect("a stanza");
        let mut json = TextBuf::new();
        let mut reader = FieldReader::new(Limits::default(), MaxWork::default());
        reader.write_json(
            &catalog,
            entry,
            &mut Timers::new(),
            &EventInput { event: &event, context: &Context::EMPTY },
            &mut json,
        );
        got.push(String::from_utf8_lossy(json.as_bytes()).into_owned());
    }
    let listing = String::from_utf8_lossy(&list_json(&catalog, None)).into_owned();
    [(reference.listing(), expected), (listing, got)]
}

#[test]
fn replaced_codes_keep_texts_of_values_that_set_types() {
    let source = "# tfbc: fields=code:U8\n015 1.0 \"\" \"code=\" $D1, 3 \"three\", \\* { $D1%E4 }\n";
    let events: [&[u8]; 2] = [&[0x01, 0x52, 0, 0, 0, 0, 0, 2], &[0x01, 0x52, 0, 0, 0, 0, 0, 3]];
    let [expected, got] = both(source, &events);
    assert_eq!(got, expected);
    assert_eq!(got.1, [r#"{"code":2,"code_text":"ENOENT"}"#, r#"{"code":3,"code_text":"three"}"#]);
}

#[test]
fn texts_of_nested_flags_are_not_the_outer_ones() {
    let source = "015 1.0 \"\" \"on=\" $D1, 2 \"two\", \\* { $D1%B0.1, 1 \"on\" }\n";
    let events: [&[u8]; 2] = [&[0x01, 0x52, 0, 0, 0, 0, 0, 1], &[0x01, 0x52, 0, 0, 0, 0, 0, 2]];
    let [expected, got] = both(source, &events);
    assert_eq!(got, expected);
    assert!(got.0.contains(r#""texts":["two"]"#), "{}", got.0);
}

#[test]
fn a_blob_read_from_a_file_stores_the_same() {
    let path = std::env::temp_dir().join(format!("tfbc-differential-fields-{}.tfbc", std::process::id()));
    let differences: Vec<_> =
        seeds(CASES).take(50).filter_map(|seed| compare(seed, Some(&path)).err().map(|text| (seed, text))).collect();
    let _ = std::fs::remove_file(&path);
    assert!(differences.is_empty(), "{differences:?}");
}
