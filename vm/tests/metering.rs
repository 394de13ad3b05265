//! Cost limits: every repeated action of a routine is counted and ends at the limit.

use tfbc_vm::table::{TableKind, number_table, pack_str};
use tfbc_vm::{
    BlobBuilder, Context, Event, HookRow, Instr, Job, Layout, Limits, Machine, Observer, Op, Outcome, Program,
    RoutineRow, Slot, SourcePos, Step, TextBuf, Timers, Unobserved,
};

const LIMITS: Limits = Limits { turns: u32::MAX, steps: 50_000, text: 1 << 22 };

/// Blob whose hook 010 runs `body` repeatedly. `body` is made from the indices of a table with 4,096 BITFLAGS entries
/// that no value matches, and of a called routine with a hundred instructions. The next table has a text of 4,096 bytes
/// for 0 and one of 64 bytes for other values. Register 0 contains the highest 32-bit number, register 1 contains 0.
fn endless(body: impl Fn(u32, u32) -> Vec<Instr>) -> Vec<u8> {
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    blob.string(&[b'A'; 4096]);
    let flags = blob.table(TableKind::Flags, &[0, 1, 0, 0, 0].repeat(4096));
    let mut code = vec![Instr::of(Op::Const, &[9]); 99];
    code.push(Instr::new(Op::Ret));
    let (kind, words) = number_table(&[(0, pack_str(0, 4096))], pack_str(0, 64));
    assert_eq!(blob.table(kind, &words), flags + 1);
    let called =
        blob.routine(RoutineRow { called: 1, ..RoutineRow::default() }, &code, &vec![SourcePos::default(); code.len()]);
    let mut code = vec![Instr::of(Op::Const, &[0, u32::MAX]), Instr::of(Op::Const, &[1, 0])];
    let top = code.len() as u32 + 1;
    let inner = body(flags, called);
    code.push(Instr::of(Op::Loop, &[2, 0, top + inner.len() as u32 + 1]));
    code.extend(inner);
    code.push(Instr::of(Op::LoopNext, &[2, top]));
    let routine = blob.routine(RoutineRow::default(), &code, &vec![SourcePos::default(); code.len()]);
    blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
    blob.finish()
}

/// Runs the hook after 4,096 bytes of columns. Returns the number of instructions that ran.
fn run(blob: &[u8], machine: &mut Machine) -> (u64, Outcome) {
    let bytes: Vec<u8> = [&[0x01, 0x0a, 0, 0][..], &[b'x'; 60_000], &[1, 0], &[b'y'; 100], &[0], &[b'z'; 100]].concat();
    let mut n_run = 0;
    let outcome = run_observed(blob, machine, &bytes, &mut |_: Step<'_>| n_run += 1);
    (n_run, outcome)
}

fn run_observed(blob: &[u8], machine: &mut Machine, bytes: &[u8], observer: &mut impl Observer) -> Outcome {
    let program = Program::open(blob).expect("it keeps the rules");
    let event = Event { bytes, wide: false, record: None, time_ns: 0, offset: 0 };
    let (mut timers, mut out) = (Timers::new(), TextBuf::new());
    out.push(&[b'A'; 4096]);
    let job = Job {
        event: &event,
        context: &Context::EMPTY,
        timers: &mut timers,
        layout: Layout::default(),
        line: 0,
        out: &mut out,
    };
    machine.run_observed(&program, 0, job, observer)
}

/// Expected number of instructions up to the limit, if an iteration costs `cost` steps and has `len` instructions.
#[track_caller]
fn count(cost: u64, len: u64, body: impl Fn(u32, u32) -> Vec<Instr>) -> Vec<u8> {
    let blob = endless(body);
    let (n_run, outcome) = run(&blob, &mut Machine::new(LIMITS));
    assert!(outcome.limited);
    let n_turns = u64::from(LIMITS.steps) / cost;
    assert!(n_run.abs_diff(n_turns * len) <= 2 * len + 3, "{n_run} instructions, {n_turns} turns of {len}");
    blob
}

/// Checks the limit observed and, for a short event, unobserved.
#[track_caller]
fn check(cost: u64, len: u64, body: impl Fn(u32, u32) -> Vec<Instr>) {
    let blob = count(cost, len, body);
    assert!(run_observed(&blob, &mut Machine::new(LIMITS), &[1, 0x0a, 0, 0], &mut Unobserved).limited);
}

#[test]
fn instructions_count() {
    check(1, 1, |_, _| vec![]);
    check(501, 501, |_, _| vec![Instr::of(Op::Const, &[1]); 500]);
}

#[test]
fn what_is_jumped_over_counts() {
    check(501, 2, |_, _| {
        let mut code = vec![Instr::of(Op::Jump, &[503])];
        code.extend([Instr::of(Op::Const, &[1]); 499]);
        code
    });
}

#[test]
fn callees_count() {
    check(102, 102, |_, called| vec![Instr::of(Op::Call, &[called])]);
}

#[test]
fn entries_of_flags_count() {
    check(4098, 2, |flags, _| vec![Instr::of(Op::Flags, &[1, flags])]);
    check(4098, 2, |flags, _| vec![Instr::of(Op::FlagsAny, &[3, 1, flags])]);
    check(4098, 2, |flags, _| vec![Instr::of(Op::FlagsList, &[1, flags])]);
}

#[test]
fn text_that_is_looked_through_counts() {
    // 32 bytes cost a step.
    check(60_000 / 32 + 3, 3, |_, _| vec![Instr::of(Op::PtrSet, &[4]), Instr::new(Op::PassString)]);
    check(60_000 / 32 + 3, 3, |_, _| vec![Instr::of(Op::PtrSet, &[4]), Instr::of(Op::TakeName, &[0])]);
}

#[test]
fn text_that_is_copied_counts() {
    // Texts of up to 64 bytes cost no step.
    count(2, 2, |_, _| vec![Instr::of(Op::Text, &[4, 64, 0])]);
    count(200 / 32 + 2, 2, |_, _| vec![Instr::of(Op::Text, &[4, 200, 0])]);
    count(60_000 / 32 + 2, 2, |_, _| vec![Instr::of(Op::Text, &[4, 60_000, 0])]);
    count(2, 2, |table, _| vec![Instr::of(Op::PutCase, &[0, table + 1])]);
    count(4096 / 32 + 2, 2, |table, _| vec![Instr::of(Op::PutCase, &[1, table + 1])]);
    count(2, 2, |_, _| vec![Instr::of(Op::StringAt, &[60_006, 0, 4])]);
    count(2, 2, |_, _| vec![Instr::of(Op::StringAt, &[60_107, 0, 4])]);
    // Printing an escaped byte takes more bytes than scanning it: the last step is for the text alone.
    count(60_001 / 32 + 2, 2, |_, _| vec![Instr::of(Op::StringAt, &[4, 0, 4])]);
    count(64 / 32 + 2, 2, |_, _| vec![Instr::of(Op::PutBin, &[1, 64])]);
    // `"`, 48 bytes, `" (`, twelve numbers of ten digits with blanks between, `)`.
    count(184 / 32 + 3, 3, |_, _| vec![Instr::of(Op::PtrSet, &[4, 0]), Instr::of(Op::TakeWords, &[12])]);
    // Charged for scanning and for copying.
    count(1 + 1 + 3, 3, |_, _| vec![Instr::of(Op::PtrSet, &[60_107, 0]), Instr::of(Op::TakeName, &[37])]);
}

#[test]
fn text_that_goes_again_counts() {
    let mark = Instr::of(Op::Mark, &[3]);
    let lit = Instr::of(Op::Lit, &[0]).with(Slot::C, 4096);
    // Charged for printing, and for the table lookup: a step per 8 bytes.
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    blob.string(&[b'A'; 4096]);
    let (kind, words) = tfbc_vm::table::text_table(&[], 6);
    let table = blob.table(kind, &words);
    let code = [
        Instr::of(Op::Const, &[0, u32::MAX]),
        Instr::of(Op::Loop, &[2, 0, 7]),
        mark,
        lit,
        Instr::of(Op::SwitchText, &[3, table]),
        Instr::new(Op::End),
        Instr::of(Op::LoopNext, &[2, 2]),
    ];
    let routine = blob.routine(RoutineRow::default(), &code, &[SourcePos::default(); 7]);
    blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
    let (n_run, outcome) = run(&blob.finish(), &mut Machine::new(LIMITS));
    assert!(outcome.limited);
    assert!(n_run.abs_diff(u64::from(LIMITS.steps) / (128 + 512 + 5) * 4) <= 12, "{n_run} instructions");
    // Repeated conversion to lower case.
    check(128 + 128 + 4, 4, |table, _| vec![mark, Instr::of(Op::PutCase, &[1, table + 1]), Instr::of(Op::Lower, &[3])]);
}

#[test]
fn events_before_do_not_count() {
    let blob = endless(|_, _| vec![]);
    let mut machine = Machine::new(LIMITS);
    for _ in 0..3 {
        let (n_run, _) = run(&blob, &mut machine);
        assert!(n_run >= LIMITS.steps.into(), "{n_run}");
    }
}
