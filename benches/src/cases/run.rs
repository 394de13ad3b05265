//! Benchmarks of the machine on events in memory: text without columns.

use super::case::{BenchCase, Measure, Side};
use crate::{
    Engine, Load, NativeText, Pick, RecordLoad, Shape, UserEvent, assert_same_text, blob, definitions, program,
    run_native, templates,
};
use std::rc::Rc;
use tfbc_vm::{Event, Program};

/// The four event shapes of the load, and mixes over 4, 200 and 4096 templates.
pub(super) fn shapes() -> Vec<Measure> {
    let loads = [
        ("disk-read", Pick::Only(Shape::DiskRead)),
        ("ioctl", Pick::Only(Shape::Ioctl)),
        ("wakeup", Pick::Only(Shape::Wakeup)),
        ("dump", Pick::Only(Shape::Dump)),
        ("mix4", Pick::Mix(4)),
        ("mix200", Pick::Mix(200)),
        ("mix4096", Pick::Mix(4096)),
    ];
    let measure = |(name, pick): (&str, Pick)| {
        Measure::new(name, move |n_events| {
            let load: &'static Load = Box::leak(Box::new(Load::new(pick, n_events)));
            formatted("load.trcfmt", &templates(pick.n_templates()), n_events, move || load.events(), NativeText::event)
        })
    };
    loads.into_iter().map(measure).collect()
}

/// QNX user events through datakeys: each alone, and a mix.
pub(super) fn datakeys() -> Vec<Measure> {
    let only = UserEvent::SHARES.into_iter().map(|(event, _)| Some(event));
    let measure = |only: Option<UserEvent>| {
        Measure::new(only.map_or("mix", UserEvent::name), move |n_events| {
            let load: &'static RecordLoad = Box::leak(Box::new(RecordLoad::new(only, n_events)));
            formatted("load.xml", &definitions(), n_events, move || load.events(), NativeText::record)
        })
    };
    only.chain([None]).map(measure).collect()
}

/// Runs a load through the machine one event at a time, with lookahead, through the loop, the checked interpreter, and a
/// hand-written formatter.
pub(super) fn formatted<E: Iterator<Item = Event<'static>> + Clone + 'static>(
    name: &str,
    format_file: &str,
    n_events: usize,
    events: impl Fn() -> E + 'static,
    native: impl Fn(&mut NativeText, &Event<'static>) -> Option<()> + 'static,
) -> BenchCase {
    let blob: &'static [u8] = blob(name, format_file).leak();
    let program: &'static Program<'static> = Box::leak(Box::new(program(blob)));
    let (mut engine, mut ahead, mut checked) = (Engine::new(program), Engine::new(program), Engine::checked(program));
    let mut in_loop = Engine::in_loop(program);
    assert_same_text(&mut engine, Engine::run, events(), &native);
    assert_same_text(&mut ahead, Engine::run_ahead, events(), &native);
    assert_same_text(&mut in_loop, Engine::run, events(), &native);
    assert_same_text(&mut checked, Engine::run, events(), &native);
    let events = Rc::new(events);
    let (for_engine, for_ahead, for_checked) = (Rc::clone(&events), Rc::clone(&events), Rc::clone(&events));
    let for_loop = Rc::clone(&events);
    let mut text = NativeText::new();
    BenchCase::new(n_events)
        .side(Side::Engine, move || engine.run(for_engine()))
        .side(Side::Ahead, move || ahead.run_ahead(for_ahead()))
        .side(Side::Loop, move || in_loop.run(for_loop()))
        .side(Side::Checked, move || checked.run(for_checked()))
        .side(Side::Native, move || run_native(events(), &mut text, &native))
}
