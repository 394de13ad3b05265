//! `tfbc hexview` on generated templates: the parts' texts form the event's text, and changing an unread byte changes
//! nothing.

use tfbc_authoring::hexview::{Recorder, View};
use tfbc_compiler::{Options, compile, compile_plainly};
use tfbc_grammar::Sources;
use tfbc_snapshots::differential::{LimitKind, TemplateCase, as_event};
use tfbc_snapshots::generate::{Rng, seeds};
use tfbc_vm::{Context, Event, Job, Layout, Machine, Observer, Program, Space, TextBuf, Timers, Unobserved};

/// Default number of templates.
const CASES: u64 = 90;

fn run(
    program: &Program<'_>,
    event: &Event<'_>,
    context: &Context<'_>,
    observer: &mut impl Observer,
) -> Option<Vec<u8>> {
    let hook = program.entry(Space::Hook, event.hook_id())?;
    let (mut text, mut timers) = (TextBuf::new(), Timers::new());
    let job = Job { event, context, timers: &mut timers, layout: Layout::default(), line: 0, out: &mut text };
    Machine::default().run_observed(program, hook.index, job, observer);
    Some(text.as_bytes().to_vec())
}

/// View of an event, and the text of the linked program.
fn view(sources: &Sources, case: &TemplateCase, at: usize) -> Option<(View, Vec<u8>)> {
    let plain = compile_plainly(sources, &Options::default());
    let blob = plain.compiled.blob.expect("generated templates compile");
    let program = Program::open(&blob).expect("a sound blob");
    let linked = compile(sources, &Options::default()).blob.expect("generated templates compile");
    let linked = Program::open(&linked).expect("a sound blob");
    let event = as_event(&case.events[at].1);
    let context = case.facts.context();
    let mut views = Vec::new();
    run(&program, &event, &context, &mut Recorder::new(&program, &plain.places, &mut views))?;
    let text = run(&linked, &event, &context, &mut Unobserved)?;
    Some((views.pop()?, text))
}

#[test]
fn parts_print_the_text_and_read_nothing_else() {
    let (mut n_unread, mut n_views) = (0, 0);
    for seed in seeds(CASES) {
        let mut rng = Rng::new(seed);
        let case = TemplateCase::new(&mut rng, 1 + (seed % 30) as usize, LimitKind::Turns);
        let sources = case.sources();
        for at in 0..case.events.len().min(3) {
            let Some((view, text)) = view(&sources, &case, at) else { continue };
            n_views += 1;
            let text = text.strip_suffix(b"\n").unwrap_or(&text);
            assert_eq!(view.text.escape_ascii().to_string(), text.escape_ascii().to_string(), "seed {seed}");
            let mut runs: Vec<_> = view.parts.iter().flat_map(|part| &part.text).collect();
            runs.sort_unstable_by_key(|run| run.start);
            let mut end = 0;
            for run in runs {
                assert_eq!(run.start, end, "seed {seed}: {view:#?}");
                end = run.end;
            }
            assert_eq!(end, view.text.len(), "seed {seed}: {view:#?}");
            n_unread += check_unread(&case, &sources, at, &view, text, seed);
        }
    }
    assert!(n_views > 100 && n_unread > 100, "{n_views} views, {n_unread} bytes that nothing reads");
}

/// Changes the unread bytes, all at once and each alone.
fn check_unread(case: &TemplateCase, sources: &Sources, at: usize, view: &View, text: &[u8], seed: u64) -> usize {
    let linked = compile(sources, &Options::default()).blob.expect("generated templates compile");
    let linked = Program::open(&linked).expect("a sound blob");
    let event = as_event(&case.events[at].1);
    let unread = view.unread();
    let all = std::slice::from_ref(&unread).iter().cloned();
    for some in all.chain(unread.iter().take(20).map(|at| vec![*at])) {
        for mask in [0xff, 0x01, 0x80] {
            let mut bytes = event.bytes.to_vec();
            some.iter().for_each(|at| bytes[*at] ^= mask);
            let changed = Event { bytes: &bytes, ..event };
            let printed = run(&linked, &changed, &case.facts.context(), &mut Unobserved).expect("the same hook");
            let printed = printed.strip_suffix(b"\n").unwrap_or(&printed);
            assert_eq!(
                printed.escape_ascii().to_string(),
                text.escape_ascii().to_string(),
                "seed {seed}: bytes {some:?} of {:02x?}\n{}\n{view:#?}",
                event.bytes,
                case.template.source
            );
        }
    }
    unread.len()
}

#[test]
fn bytes_of_a_field_can_change_its_text() {
    let mut sources = Sources::new();
    let text = "0A1 1.0 \"E\" X4 $D2 G12 S1 \"-\" $D5%W4.7 G3 B0.4 LOOP $D1%X1 { X0 }";
    sources.add(tfbc_grammar::Source::new("a", text));
    let plain = compile_plainly(&sources, &Options::default());
    let blob = plain.compiled.blob.expect("it compiles");
    let program = Program::open(&blob).expect("a sound blob");
    let mut bytes = vec![0x0a, 0x1e, 0, 5, 0, 0, 0, 3];
    bytes.extend([1, 2, 3, 4, 2, b'h', b'i', 9, 9, 9, 9, 9, 7, 7, 7, 0x77]);
    let print = |bytes: &[u8], views: &mut Vec<View>| {
        let event = Event { bytes, wide: false, record: None, time_ns: 0, offset: 0 };
        let mut recorder = Recorder::new(&program, &plain.places, views);
        run(&program, &event, &Context::EMPTY, &mut recorder).expect("a hook")
    };
    let mut views = Vec::new();
    let before = print(&bytes, &mut views);
    let view = views.pop().expect("a view");
    let unread = view.unread();
    for at in 4..bytes.len() {
        let mut some = false;
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            some |= print(&changed, &mut views) != before;
        }
        // A data word is read as a whole, even if only some bits are used.
        let is_read_unused = (20..23).contains(&at) || (4..7).contains(&at);
        assert!(some != unread.contains(&at) || is_read_unused, "byte {at}: {view:#?}");
    }
}
