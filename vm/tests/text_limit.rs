//! End of a text that reaches its limit.

use crate::common::printed;
use tfbc_vm::{
    BlobBuilder, Context, Event, HookRow, Instr, Job, Layout, Limits, Machine, Op, Outcome, Program, RoutineRow,
    SourcePos, TextBuf, Timers,
};

/// Output of code under a text limit, in both loops.
fn run(code: &[Instr], text: u32) -> (String, Outcome) {
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    let routine = blob.routine(RoutineRow::default(), code, &vec![SourcePos::default(); code.len()]);
    blob.hook(HookRow { id: 0x0100, flags: 4, routines: [routine; 4], ..HookRow::default() });
    let bytes = blob.finish();
    let program = Program::open(&bytes).expect("sound code");
    let limits = Limits { text, ..Limits::default() };
    let [fast, checked] = [Machine::new(limits), Machine::checked(limits)].map(|mut machine| {
        let event = Event { bytes: &[1, 0, 0, 0], wide: false, record: None, time_ns: 0, offset: 0 };
        let (mut timers, mut out) = (Timers::new(), TextBuf::new());
        let layout = Layout::default();
        let job = Job { event: &event, context: &Context::EMPTY, timers: &mut timers, layout, line: 0, out: &mut out };
        let outcome = machine.run(&program, 0, job);
        (String::from_utf8_lossy(out.as_bytes()).into_owned(), outcome)
    });
    assert_eq!(fast, checked);
    fast
}

#[test]
fn a_soft_blank_counts_when_something_follows_it() {
    let (soft, drop, stop) = (Instr::new(Op::Soft), Instr::new(Op::SoftDrop), Instr::new(Op::Stop));
    let limited = Outcome { limited: true, ..Outcome::default() };
    let stopped = Outcome { stop: true, ..Outcome::default() };
    // At the limit, and one byte before it.
    assert_eq!(run(&[printed(b"abc"), soft, stop, drop], 3), ("abc\n".into(), stopped));
    assert_eq!(run(&[printed(b"abc"), soft, stop, drop], 4), ("abc\n".into(), stopped));
    assert_eq!(run(&[printed(b"abc"), soft, printed(b"d"), stop, drop], 3), ("abc [limit]\n".into(), limited));
    assert_eq!(run(&[printed(b"abc"), soft, drop, printed(b"d"), stop], 3), ("abc [limit]\n".into(), limited));
    assert_eq!(run(&[printed(b"abc"), soft, printed(b"d"), drop, stop], 5), ("abc d\n".into(), stopped));
}
