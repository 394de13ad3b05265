//! Compares the machine with the reference on random templates and events.
//!
//! `TFBC_CASES=100000` runs that many templates, `TFBC_SEED=17` only that one.

use tfbc_compiler::{Options, compile};
use tfbc_grammar::Arena;
use tfbc_snapshots::differential::{LimitKind, TemplateCase, as_event, messages};
use tfbc_snapshots::generate::{Rng, seeds};
use tfbc_snapshots::reference::{Reference, Timers};
use tfbc_snapshots::runner::Runner;
use tfbc_vm::{Machine, Program};

/// Default number of templates.
const CASES: u64 = 2000;

/// Template and events of a seed.
fn case(seed: u64, reach: LimitKind) -> TemplateCase {
    TemplateCase::new(&mut Rng::new(seed), 1 + (seed % 40) as usize, reach)
}

/// Compares several seeds, and shows the shortest difference.
fn compare_all(seeds: std::ops::Range<u64>, reach: LimitKind) {
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    let worker = |from: usize| {
        let own = seeds.clone().skip(from).step_by(workers);
        own.filter_map(|seed| case(seed, reach).compare().err().map(|text| format!("seed {seed}: {text}")))
            .collect::<Vec<_>>()
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
    compare_all(seeds(CASES), LimitKind::Turns);
}

#[test]
fn the_text_limit_cuts_at_the_same_byte() {
    let seeds = seeds(CASES);
    compare_all(seeds.start..seeds.end.min(seeds.start + 500), LimitKind::Text);
}

#[test]
fn generated_templates_parse_and_the_reference_formats_them() {
    for seed in seeds(CASES).take(300) {
        let case = case(seed, LimitKind::Turns);
        let arena = Arena::new();
        let sources = case.sources();
        let reference = Reference::parse(&arena, &sources)
            .unwrap_or_else(|found| panic!("seed {seed}\n{}{}", messages(&found), case.template.source));
        let mut timers = Timers::default();
        for at in 0..case.events.len() {
            let printed = case.with_reference(&reference, at, &mut timers);
            assert_eq!(printed.skipped, printed.text.is_empty(), "seed {seed}");
            assert!(printed.skipped || printed.text.ends_with(b"\n"), "seed {seed}");
        }
    }
}

#[test]
fn texts_have_only_the_bytes_that_their_routines_print() {
    let is_plain = |text: &[u8]| text.iter().all(|byte| (b' '..0x7F).contains(byte) && !b"\"\\".contains(byte));
    let (mut n_plain, mut n_other) = (0, 0);
    for seed in seeds(CASES).take(500) {
        let case = case(seed, LimitKind::Turns);
        let sources = case.sources();
        let blob = compile(&sources, &Options::default()).blob.expect("generated templates compile");
        let arena = Arena::new();
        let reference = Reference::parse(&arena, &sources).expect("generated templates parse");
        let program = Program::open(&blob).expect("a blob of the compiler's opens");
        let mut runner = Runner::new(&blob, Machine::new(case.limits)).expect("a blob of the compiler's opens");
        for (hook, event) in &case.events {
            let (stanza, line) = case.place(&reference, *hook);
            let (id, event) = (stanza.id.node.0, as_event(event));
            let entry = program.hook(id).expect("the stanza's entry");
            let routine = program.prepare(entry.index, event.env_index()).expect("a verified routine");
            if !routine.prints_only(is_plain) {
                n_other += 1;
                continue;
            }
            n_plain += 1;
            let printed = runner.print(id, &event, &case.facts.context(), line);
            let text = printed.text.get(line.columns.len()..).unwrap_or_default();
            let text = text.strip_suffix(b"\n").unwrap_or(text);
            assert!(is_plain(text), "seed {seed}: {}\n{}", text.escape_ascii(), case.template.source);
        }
    }
    assert!(n_plain > 100 && n_other > 100, "{n_plain} and {n_other}");
}

#[test]
fn blob_read_from_a_file_prints_the_same() {
    let path = std::env::temp_dir().join(format!("tfbc-differential-{}.tfbc", std::process::id()));
    for seed in seeds(CASES).take(50) {
        let case = case(seed, LimitKind::Turns);
        let sources = case.sources();
        let blob = compile(&sources, &Options::default()).blob.expect("generated templates compile");
        std::fs::write(&path, &blob).expect("a temporary file");
        let copy = std::fs::read(&path).expect("the same file");
        let arena = Arena::new();
        let reference = Reference::parse(&arena, &sources).expect("generated templates parse");
        let open = |blob| Runner::new(blob, Machine::new(case.limits)).expect("a blob of the compiler's opens");
        let (mut first, mut second) = (open(&blob), open(&copy));
        for (hook, event) in &case.events {
            let (stanza, line) = case.place(&reference, *hook);
            let [first, second] = [&mut first, &mut second]
                .map(|run| run.print(stanza.id.node.0, &as_event(event), &case.facts.context(), line));
            assert_eq!(first, second, "seed {seed}");
        }
    }
    let _ = std::fs::remove_file(path);
}
