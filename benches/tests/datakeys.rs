//! The machine and the hand-written decoder print the same text for user events.

use tfbc_benches::{Engine, NativeText, RecordLoad, UserEvent, assert_same_text, blob, definitions, program};

#[test]
fn every_load_prints_the_same() {
    let blob = blob("load.xml", &definitions());
    let program = program(&blob);
    for only in UserEvent::SHARES.map(|(event, _)| Some(event)).into_iter().chain([None]) {
        let load = RecordLoad::new(only, 2000);
        assert_same_text(&mut Engine::new(&program), Engine::run, load.events(), NativeText::record);
        assert_same_text(&mut Engine::new(&program), Engine::run_ahead, load.events(), NativeText::record);
        assert_same_text(&mut Engine::checked(&program), Engine::run, load.events(), NativeText::record);
    }
}
