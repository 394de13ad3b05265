//! Compares coverage with the reference: an instrumented program reaches the same parts, and prints the same text as
//! without probes.
//!
//! `TFBC_CASES=100000` runs that many templates, `TFBC_SEED=17` only that one.

use tfbc_compiler::coverage::{Instrumented, PointKind, instrument, probe};
use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Arena, Source, Sources, Span};
use tfbc_snapshots::datakey::Definitions;
use tfbc_snapshots::differential::{LimitKind, TemplateCase, as_event};
use tfbc_snapshots::differential_qnx::{self, as_record};
use tfbc_snapshots::generate::{Rng, seeds};
use tfbc_snapshots::reference::{Reference, Timers};
use tfbc_vm::{
    Context, Event, Job, Layout, Machine, Program, RecordHeader, Space, Step, TextBuf, Timers as MachineTimers,
};

/// Default number of templates, and of sets of event definitions.
const TEMPLATES: u64 = 200;
const DEFINITIONS: u64 = 40;

fn sorted(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    spans
}

fn check_template(seed: u64) {
    let case = TemplateCase::new(&mut Rng::new(seed), 1 + (seed % 40) as usize, LimitKind::Turns);
    let sources = case.sources();
    let plain = compile(&sources, &Options::default()).blob.expect("generated templates compile");
    let Instrumented { compiled, points } = instrument(&sources, &Options::default());
    let probed = compiled.blob.expect("what compiles does so with probes");
    let arena = Arena::new();
    let reference = Reference::parse(&arena, &sources).expect("generated templates parse");
    let programs = [&plain, &probed].map(|blob| Program::open(blob).expect("a blob of the compiler's opens"));
    let (mut timers, mut timers_of) = (Timers::default(), [MachineTimers::new(), MachineTimers::new()]);
    for (hook, event) in &case.events {
        let (stanza, line) = case.place(&reference, *hook);
        let (printed, expected) = reference.reach(stanza, &as_event(event), &case.facts.context(), &mut timers, line);
        let mut met = Vec::new();
        let [(plain, was_limited), (with_probes, _)] = [0, 1].map(|at| {
            let program = &programs[at];
            let hook = program.hook(stanza.id.node.0).expect("the stanza is in every blob");
            let mut out = TextBuf::new();
            out.push(line.columns);
            let (event, context) = (as_event(event), case.facts.context());
            let job = Job {
                event: &event,
                context: &context,
                timers: &mut timers_of[at],
                layout: line.layout,
                line: 0,
                out: &mut out,
            };
            met.clear();
            let observer = &mut |step: Step<'_>| met.extend(probe(step.instr));
            let outcome = Machine::new(case.limits).run_observed(program, hook.index, job, observer);
            (out.as_bytes().to_vec(), outcome.limited)
        });
        assert_eq!(plain, with_probes, "seed {seed}: probes change what is printed\n{}", case.template.source);
        if printed.limited || was_limited {
            continue;
        }
        let met = met.iter().map(|at| &points[*at]).filter(|point| point.kind != PointKind::Rest);
        let met = sorted(met.map(|point| point.span).collect());
        assert_eq!(met, sorted(expected), "seed {seed}, hook {hook:04X}\n{}", case.template.source);
    }
}

#[test]
fn coverage_matches_the_reference() {
    seeds(TEMPLATES).for_each(check_template);
}

fn check_definitions(seed: u64) {
    let case = differential_qnx::RecordCase::new(&mut Rng::new(seed));
    let mut sources = Sources::new();
    for (at, file) in case.files.iter().enumerate() {
        sources.add(Source::new(format!("generated{at}.xml"), file.as_slice()));
    }
    let reference = Definitions::read(&case.files);
    let Some(plain) = compile(&sources, &Options::default()).blob else { return };
    let Instrumented { compiled, points } = instrument(&sources, &Options::default());
    let probed = compiled.blob.expect("what compiles does so with probes");
    let programs = [&plain, &probed].map(|blob| Program::open(blob).expect("a blob of the compiler's opens"));
    for record in &case.records {
        let record = as_record(record);
        let class = if record.class == 13 { 5 } else { record.class };
        let id = Space::record_id(class, record.id);
        let expected = reference.show(&record);
        let mut met = Vec::new();
        let [plain, with_probes] = [0, 1].map(|at| {
            let program: &Program<'_> = &programs[at];
            let entry = program.entry(Space::Record, id)?;
            let header = Some(RecordHeader { event: record.id, big_endian: record.big_endian });
            let event = Event { bytes: record.payload, wide: record.wide, record: header, time_ns: 0, offset: 0 };
            let mut out = TextBuf::new();
            let job = Job {
                event: &event,
                context: &Context::EMPTY,
                timers: &mut MachineTimers::new(),
                layout: Layout::default(),
                line: 0,
                out: &mut out,
            };
            met.clear();
            let observer = &mut |step: Step<'_>| met.extend(probe(step.instr));
            let outcome = Machine::default().run_observed(program, entry.index, job, observer);
            Some((out.as_bytes().to_vec(), outcome.truncated, outcome.skipped))
        });
        assert_eq!(plain, with_probes, "seed {seed}: probes change what is printed");
        let of = |kinds: &[PointKind]| {
            let met = met.iter().map(|at| &points[*at]).filter(|point| kinds.contains(&point.kind));
            met.cloned().collect::<Vec<_>>()
        };
        let strings: Vec<_> = of(&[PointKind::Enum, PointKind::EnumDefault]).into_iter().map(|met| met.name).collect();
        let shown = expected.unwrap_or_default();
        let wanted = shown.fields.iter().flat_map(|field| &field.strings);
        let wanted: Vec<_> = wanted.map(|text| String::from_utf8_lossy(text).into_owned()).collect();
        assert_eq!(strings, wanted, "seed {seed}: {record:?}");
        let places = of(&[PointKind::Datakey]).into_iter().map(|met| {
            let source = sources.get(met.source).expect("a source of the case");
            let (line, _) = source.line_column(met.span.start);
            (usize::from(met.source.0), line as usize)
        });
        let wanted: Vec<_> = shown.keys.iter().map(|(file, place)| (*file, place.0 as usize)).collect();
        assert_eq!(places.collect::<Vec<_>>(), wanted, "seed {seed}: {record:?}");
    }
}

#[test]
fn reached_enums_and_datakeys_are_the_shown_ones() {
    seeds(DEFINITIONS).for_each(check_definitions);
}
