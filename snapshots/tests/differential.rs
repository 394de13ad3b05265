//! The machine against the reference, on random templates and events.
//!
//! `TFBC_CASES=100000` tries that many templates, `TFBC_SEED=17` only that one.

use std::fmt::Write;

use tfbc_compiler::{Options, compile};
use tfbc_grammar::trcfmt::ast::Stanza;
use tfbc_grammar::{Arena, Severity, Source, Sources};
use tfbc_snapshots::generate::{GeneratedEvent, Rng, Template, event, facts, template};
use tfbc_snapshots::reference::{Line, Printed, Reference, Timers, layout_without_columns};
use tfbc_snapshots::runner::Runner;
use tfbc_vm::{Event, Limits, Machine};

/// Templates of an ordinary run.
const CASES: u64 = 3000;

/// Events of each template.
const EVENTS: usize = 8;

fn env(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn seeds() -> std::ops::Range<u64> {
    match env("TFBC_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..env("TFBC_CASES").unwrap_or(CASES),
    }
}

/// Small limits now and then, so that reaching them is compared, too.
fn limits(rng: &mut Rng) -> Limits {
    match rng.below(4) {
        0 => Limits { turns: rng.below(20) as u32, text: 1 << 20 },
        1 => Limits { turns: 1000, text: rng.below(200) as u32 * 0 + 20_000 },
        _ => Limits { turns: 1000, text: 20_000 },
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
}

fn case(seed: u64) -> Case {
    let mut rng = Rng::new(seed);
    let template = template(&mut rng, 1 + (seed % 40) as usize);
    let hooks: Vec<u16> = (0..EVENTS)
        .map(|_| if rng.chance(90) { *rng.pick(&template.hooks) } else { *rng.pick(&[0x5550, 0x0010, 0, 0xE5E5]) })
        .collect();
    let events = hooks.iter().map(|hook| (*hook, event(&mut rng, *hook))).collect();
    let columns = *rng.pick::<&[u8]>(&[b"", b"010 ", b"ID  col "]);
    Case { template, events, facts: facts(&mut rng), limits: limits(&mut rng), columns }
}

fn as_event(event: &GeneratedEvent) -> Event<'_> {
    Event { bytes: &event.bytes, wide: event.wide, time_ns: event.time_ns, offset: event.offset }
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

fn compare(seed: u64) -> Result<(), String> {
    let case = case(seed);
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
    let open = |machine| Runner::new(&blob, machine).map_err(|error| format!("seed {seed}: {error}\n{}", case.template.source));
    let mut fast = open(Machine::new(case.limits))?;
    let mut checked = open(Machine::checked(case.limits))?;
    let mut timers = Timers::default();
    for (at, (hook, event)) in case.events.iter().enumerate() {
        let expected = with_reference(&case, &reference, at, &mut timers);
        let (stanza, line) = place(&case, &reference, *hook);
        for (name, machine) in [("fast", &mut fast), ("checked", &mut checked)] {
            let got = machine.print(stanza.id.node.0, &as_event(event), &case.facts.context(), line);
            if got != expected {
                return Err(format!("{name} {}", describe(seed, &case, at, &expected, &got)));
            }
        }
    }
    Ok(())
}

#[test]
fn the_machine_prints_what_the_reference_prints() {
    let differences: Vec<String> = seeds().filter_map(|seed| compare(seed).err()).collect();
    if std::env::var_os("TFBC_DUMP").is_some() { std::fs::write("/tmp/dump.txt", differences.join("\n@@@@\n")).unwrap(); }
    if let Some(shortest) = differences.iter().min_by_key(|text| text.len()) {
        panic!("{} templates differ; the shortest of them:\n{shortest}", differences.len());
    }
}

#[test]
fn generated_templates_parse_and_the_reference_formats_them() {
    for seed in seeds() {
        let case = case(seed);
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
    for seed in seeds().take(50) {
        let case = case(seed);
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
