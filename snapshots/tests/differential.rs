//! The machine against the reference, on random templates and events.
//!
//! `TFBC_CASES=100000` tries that many templates, `TFBC_SEED=17` only that one.

use std::fmt::Write;

use tfbc_compiler::{Options, compile};
use tfbc_grammar::trcfmt::ast::Stanza;
use tfbc_grammar::{Arena, Severity, Source, Sources};
use tfbc_snapshots::generate::{GeneratedEvent, Rng, Template, event, facts, seeds, template};
use tfbc_snapshots::reference::{Line, Printed, Reference, Timers, layout_without_columns};
use tfbc_snapshots::runner::Runner;
use tfbc_vm::{Event, Layout, Limits, Machine};

/// Templates of an ordinary run.
const CASES: u64 = 2000;

/// Events of each template.
const EVENTS: usize = 8;

/// Which limit an event may reach.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Turns,
    Text,
}

/// Small limits now and then, so that reaching them is compared, too.
fn limits(rng: &mut Rng, reach: Reach) -> Limits {
    match (reach, rng.below(4)) {
        (Reach::Text, _) => Limits { turns: 1000, text: rng.below(200) as u32 },
        (Reach::Turns, 0) => Limits { turns: rng.below(20) as u32, text: 1 << 20 },
        (Reach::Turns, _) => Limits { turns: 1000, text: 1 << 20 },
    }
}

fn sources(template: &Template) -> Sources {
    let mut sources = Sources::new();
    sources.add(Source::new("generated.trcfmt", template.source.as_str()));
    sources
}

/// One seed's template and events.
struct Case {
    template: Template,
    events: Vec<(u16, GeneratedEvent)>,
    facts: tfbc_snapshots::generate::Facts,
    limits: Limits,
    columns: &'static [u8],
    reach: Reach,
}

fn case(seed: u64, reach: Reach) -> Case {
    let mut rng = Rng::new(seed);
    let template = template(&mut rng, 1 + (seed % 40) as usize);
    let hooks: Vec<u16> = (0..EVENTS)
        .map(|_| if rng.chance(90) { *rng.pick(&template.hooks) } else { *rng.pick(&[0x5550, 0x0010, 0, 0xE5E5]) })
        .collect();
    let events = hooks.iter().map(|hook| (*hook, event(&mut rng, *hook))).collect();
    let columns = match reach {
        Reach::Turns => *rng.pick::<&[u8]>(&[b"", b"010 ", b"ID  col "]),
        Reach::Text => b"",
    };
    Case { template, events, facts: facts(&mut rng), limits: limits(&mut rng, reach), columns, reach }
}

fn as_event(event: &GeneratedEvent) -> Event<'_> {
    Event { bytes: &event.bytes, wide: event.wide, record: None, time_ns: event.time_ns, offset: event.offset }
}

fn messages(diagnostics: &[tfbc_grammar::Diagnostic]) -> String {
    let errors = diagnostics.iter().filter(|found| found.severity == Severity::Error);
    errors.map(|found| format!("{} {:?} {}\n", found.code.code, found.primary.span, found.message)).collect()
}

/// The stanza that formats an event of a case, and where its text stands.
fn place<'r, 'ast>(case: &Case, reference: &'r Reference<'ast>, hook: u16) -> (&'r Stanza<'ast>, Line<'static>) {
    let stanza = reference.stanza(hook).expect("there is always 007");
    let mut layout = layout_without_columns(stanza.level.map(|level| level.node));
    layout.further += case.columns.len() as u16;
    if case.reach == Reach::Text {
        // Whether margins count towards the limit is not what is asked here.
        layout = Layout::default();
    }
    (stanza, Line { columns: case.columns, layout, limits: case.limits })
}

/// Prints one event with the reference.
fn with_reference(case: &Case, reference: &Reference, at: usize, timers: &mut Timers) -> Printed {
    let (hook, event) = &case.events[at];
    let (stanza, line) = place(case, reference, *hook);
    reference.format(stanza, &as_event(event), &case.facts.context(), timers, line)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn describe(seed: u64, case: &Case, at: usize, reference: &Printed, machine: &Printed) -> String {
    let (hook, event) = &case.events[at];
    let show = |printed: &Printed| {
        let Printed { text, skipped, stop, truncated, limited, divided_by_zero } = printed;
        format!(
            "skipped {skipped} stop {stop} truncated {truncated} limited {limited} divided {divided_by_zero}\n{}",
            text.escape_ascii().to_string().replace("\\n", "\n")
        )
    };
    format!(
        "seed {seed}, event {at} of hook {hook:04X}, wide {}, time {} ns, offset {}: {}\nlimits {:?}\n{:?}\n\
         ---- template\n{}---- reference\n{}\n---- machine\n{}\n",
        event.wide,
        event.time_ns,
        event.offset,
        hex(&event.bytes),
        case.limits,
        case.facts,
        case.template.source,
        show(reference),
        show(machine),
    )
}

/// What must be equal: where a limit ended an event, what the rest of it would have met does not count.
fn comparable(printed: &Printed) -> Printed {
    let ended = printed.limited;
    Printed {
        truncated: printed.truncated && !ended,
        divided_by_zero: printed.divided_by_zero && !ended,
        ..printed.clone()
    }
}

fn compare(seed: u64, reach: Reach) -> Result<(), String> {
    let case = case(seed, reach);
    let sources = sources(&case.template);
    let compiled = compile(&sources, &Options::default());
    let Some(blob) = compiled.blob else {
        return Err(format!(
            "seed {seed} does not compile:\n{}{}",
            messages(&compiled.diagnostics),
            case.template.source
        ));
    };
    let arena = Arena::new();
    let reference = Reference::parse(&arena, &sources).map_err(|found| messages(&found))?;
    let open = |machine| {
        Runner::new(&blob, machine).map_err(|error| format!("seed {seed}: {error}\n{}", case.template.source))
    };
    let mut fast = open(Machine::new(case.limits))?;
    let mut checked = open(Machine::checked(case.limits))?;
    let mut timers = Timers::default();
    for (at, (hook, event)) in case.events.iter().enumerate() {
        let expected = with_reference(&case, &reference, at, &mut timers);
        let (stanza, line) = place(&case, &reference, *hook);
        for (name, machine) in [("fast", &mut fast), ("checked", &mut checked)] {
            let got = machine.print(stanza.id.node.0, &as_event(event), &case.facts.context(), line);
            if comparable(&got) != comparable(&expected) {
                return Err(format!("{name} {}", describe(seed, &case, at, &expected, &got)));
            }
        }
    }
    Ok(())
}

/// Compares all of some seeds, and shows the shortest difference.
fn compare_all(seeds: std::ops::Range<u64>, reach: Reach) {
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    let worker = |from: usize| {
        let own = seeds.clone().skip(from).step_by(workers);
        own.filter_map(|seed| compare(seed, reach).err()).collect::<Vec<_>>()
    };
    let differences: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..workers)
            .map(|from| {
                scope.spawn({
                    let worker = &worker;
                    move || worker(from)
                })
            })
            .collect();
        running.into_iter().flat_map(|worker| worker.join().expect("a worker that does not panic")).collect()
    });
    if let Some(shortest) = differences.iter().min_by_key(|text| text.len()) {
        panic!("{} templates differ; the shortest of them:\n{shortest}", differences.len());
    }
}

#[test]
fn the_machine_prints_what_the_reference_prints() {
    compare_all(seeds(CASES), Reach::Turns);
}

#[test]
fn the_text_limit_cuts_at_the_same_byte() {
    let seeds = seeds(CASES);
    compare_all(seeds.start..seeds.end.min(seeds.start + 500), Reach::Text);
}

#[test]
fn generated_templates_parse_and_the_reference_formats_them() {
    for seed in seeds(CASES).take(300) {
        let case = case(seed, Reach::Turns);
        let arena = Arena::new();
        let sources = sources(&case.template);
        let reference = Reference::parse(&arena, &sources)
            .unwrap_or_else(|found| panic!("seed {seed}\n{}{}", messages(&found), case.template.source));
        let mut timers = Timers::default();
        for at in 0..case.events.len() {
            let printed = with_reference(&case, &reference, at, &mut timers);
            assert_eq!(printed.skipped, printed.text.is_empty(), "seed {seed}");
            assert!(printed.skipped || printed.text.ends_with(b"\n"), "seed {seed}");
        }
    }
}

#[test]
fn a_blob_read_back_from_a_file_prints_the_same() {
    let path = std::env::temp_dir().join(format!("tfbc-differential-{}.tfbc", std::process::id()));
    for seed in seeds(CASES).take(50) {
        let case = case(seed, Reach::Turns);
        let sources = sources(&case.template);
        let blob = compile(&sources, &Options::default()).blob.expect("generated templates compile");
        std::fs::write(&path, &blob).expect("a temporary file");
        let copy = std::fs::read(&path).expect("the same file");
        let arena = Arena::new();
        let reference = Reference::parse(&arena, &sources).expect("generated templates parse");
        let open = |blob| Runner::new(blob, Machine::new(case.limits)).expect("a blob of the compiler's opens");
        let (mut first, mut second) = (open(&blob), open(&copy));
        for (hook, event) in &case.events {
            let (stanza, line) = place(&case, &reference, *hook);
            let [first, second] = [&mut first, &mut second]
                .map(|run| run.print(stanza.id.node.0, &as_event(event), &case.facts.context(), line));
            assert_eq!(first, second, "seed {seed}");
        }
    }
    let _ = std::fs::remove_file(path);
}
