//! Programs that try to reach beyond their event: into the text of others, into memory, or past the limits.

use crate::common::printed;
use tfbc_vm::table::{TableKind, pack_str, text_table};
use tfbc_vm::{
    BlobBuilder, BlobError, Context, Event, EventInput, HookRow, Instr, Job, Layout, Limits, LineStart, Machine, Op,
    Outcome, Program, RoutineRow, Slot, SourcePos, Step, TextBuf, Timers, Unobserved, form,
};

const FIRST: u16 = 0x0100;

/// Blob whose hook 010 runs `code`. Registers 0 to 7 are zeroed, and the routine needs 8 bytes.
fn blob(make: impl FnOnce(&mut BlobBuilder) -> Vec<Instr>) -> Vec<u8> {
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    let code = make(&mut blob);
    let row = RoutineRow { need: 8, zeroed: 8, ..RoutineRow::default() };
    let routine = blob.routine(row, &code, &vec![SourcePos::default(); code.len()]);
    blob.hook(HookRow { id: FIRST, flags: 4, routines: [routine; 4], ..HookRow::default() });
    blob.finish()
}

fn event(bytes: &[u8]) -> Event<'_> {
    Event { bytes, wide: false, record: None, time_ns: 0, offset: 0 }
}

const EIGHT: &[u8] = &[1, 0x0a, 0, 0, 0, 0, 0, 5];

/// Text and outcome of an event after `before`, which must not change.
fn print_after(before: &[u8], blob: &[u8], limits: Limits) -> (Vec<u8>, Outcome) {
    let program = Program::open(blob).expect("code that keeps the rules");
    let ways = [(false, false), (true, false), (false, true)].map(|(checked, watched)| {
        let mut machine = if checked { Machine::checked(limits) } else { Machine::new(limits) };
        let (mut timers, mut out) = (Timers::new(), TextBuf::new());
        out.push(before);
        let (event, context, layout) = (&event(EIGHT), &Context::EMPTY, Layout::default());
        let job = Job { event, context, timers: &mut timers, layout, line: before.len(), out: &mut out };
        let outcome = match watched {
            false => machine.run_observed(&program, 0, job, &mut Unobserved),
            true => machine.run_observed(&program, 0, job, &mut |_: Step<'_>| {}),
        };
        assert_eq!(out.as_bytes().get(..before.len()), Some(before), "the text of other events stays");
        (out.as_bytes()[before.len()..].to_vec(), outcome)
    });
    assert_eq!(ways[0], ways[1]);
    assert_eq!(ways[0], ways[2]);
    ways[0].clone()
}

fn print(blob: &[u8], limits: Limits) -> (String, Outcome) {
    let (text, outcome) = print_after(b"the event before\n", blob, limits);
    (String::from_utf8_lossy(&text).into_owned(), outcome)
}

fn refused(make: impl FnOnce(&mut BlobBuilder) -> Vec<Instr>) -> Option<u8> {
    match Program::open(&blob(make)).err() {
        Some(BlobError::Instr { rule, .. }) => Some(rule.number()),
        _ => None,
    }
}

fn any_text(blob: &mut BlobBuilder, to: u32) -> u32 {
    let (kind, words) = text_table(&[], to);
    blob.table(kind, &words)
}

#[test]
fn v15_a_mark_is_no_number() {
    let mark = Instr::of(Op::Mark, &[0]);
    assert_eq!(refused(|_| vec![mark, Instr::of(Op::PutDec, &[0])]), Some(15));
    assert_eq!(refused(|_| vec![mark, Instr::of(Op::Move, &[1, 0])]), Some(15));
    assert_eq!(refused(|_| vec![mark, Instr::of(Op::PtrTo, &[0])]), Some(15));
}

#[test]
fn v15_a_number_is_no_mark() {
    // A zeroed register, used as a mark, would refer to the start of the whole report.
    assert_eq!(refused(|_| vec![Instr::of(Op::Lower, &[0])]), Some(15));
    assert_eq!(refused(|blob| vec![Instr::of(Op::SwitchText, &[0, any_text(blob, 1)])]), Some(15));
    let big = Instr::of(Op::Const, &[9, u32::MAX]);
    assert_eq!(refused(|_| vec![big, Instr::of(Op::Lower, &[9])]), Some(15));
}

#[test]
fn a_mark_reaches_no_text_before_its_event() {
    // A line end removes the blanks before an empty text, so the text becomes shorter than at the event's start.
    let make = |blob: &mut BlobBuilder| {
        vec![
            Instr::of(Op::Mark, &[0]),
            printed("GONE"),
            Instr::of(Op::SwitchText, &[0, any_text(blob, 3)]),
            Instr::new(Op::Newline),
            Instr::of(Op::Mark, &[0]),
            printed("ABC"),
            Instr::of(Op::Lower, &[0]),
        ]
    };
    for before in [&b""[..], b"x\n", &[b'A'; 5000]] {
        let (text, outcome) = print_after(before, &blob(make), Limits::default());
        assert_eq!((text.as_slice(), outcome), (&b"\nabc\n"[..], Outcome::default()));
    }
}

#[test]
fn flags_end_at_the_text_limit() {
    let make = |op: Op| {
        blob(|blob| {
            let [offset, len] = blob.string(&vec![b'x'; 2_000_000]);
            let entry = [0, 0, pack_str(offset, len), 0, 0];
            let table = blob.table(TableKind::Flags, &entry.repeat(4000));
            vec![Instr::of(op, &[0, table])]
        })
    };
    for op in [Op::Flags, Op::FlagsList] {
        let blob = make(op);
        let program = Program::open(&blob).expect("code that keeps the rules");
        for limit in [0, 7, 100_000] {
            let limits = Limits { text: limit, ..Limits::default() };
            let (printed, outcome) = print(&blob, limits);
            assert_eq!(printed, "x".repeat(limit as usize) + " [limit]\n");
            assert!(outcome.limited);
            let (mut machine, mut timers, mut out) = (Machine::new(limits), Timers::new(), TextBuf::new());
            let (event, context, layout) = (&event(EIGHT), &Context::EMPTY, Layout::default());
            machine.run(&program, 0, Job { event, context, timers: &mut timers, layout, line: 0, out: &mut out });
            assert!(out.capacity() <= 2 * limit as usize + 8192, "{} bytes for {limit} of text", out.capacity());
        }
    }
}

#[test]
fn code_without_loops_ends_at_the_step_limit() {
    // Each instruction scans 60,000 entries, and none jumps.
    let blob = blob(|blob| {
        let table = blob.table(TableKind::Flags, &[1, 2, 0, 0, 0].repeat(60_000));
        let mut code = vec![Instr::of(Op::FlagsAny, &[1, 0, table]); 1000];
        code.push(printed("done"));
        code
    });
    let limits = |steps| Limits { steps, ..Limits::default() };
    let mut n_run = 0;
    let program = Program::open(&blob).expect("code that keeps the rules");
    let (mut machine, mut timers, mut out) = (Machine::new(limits(600_001)), Timers::new(), TextBuf::new());
    let (event, context, layout) = (&event(EIGHT), &Context::EMPTY, Layout::default());
    let job = Job { event, context, timers: &mut timers, layout, line: 0, out: &mut out };
    let outcome = machine.run_observed(&program, 0, job, &mut |_: Step<'_>| n_run += 1);
    assert_eq!((n_run, outcome.limited), (12, true), "11 run, and the next is shown but not run");
    assert_eq!(print(&blob, limits(600_001)).0, " [limit]\n");
    assert_eq!(print(&blob, limits(60_000_001)).0, "done\n");
}

#[test]
fn selectors_cost_a_step_for_eight_bytes() {
    let n = 100;
    let blob = blob(|blob| {
        let text = 800_000;
        (0..n)
            .flat_map(|at| {
                let table = any_text(blob, at * 3 + 3);
                let padded = Instr::of(Op::Text, &[4, 1, text]);
                [Instr::of(Op::Mark, &[9]), padded, Instr::of(Op::SwitchText, &[9, table])]
            })
            .chain([printed("done")])
            .collect()
    });
    let limits = |steps| Limits { steps, ..Limits::default() };
    assert_eq!(print(&blob, limits(n * 100_000)).0, " [limit]\n");
    assert_eq!(print(&blob, limits(n * 101_000)).0, "done\n");
}

#[test]
fn more_digits_than_a_number_has_are_refused() {
    for op in [Op::HexFullAt, Op::HexLowFullAt] {
        for digits in [17, 20, 32] {
            let code = [Instr::of(op, &[digits, 0, 8 << form::END | 3 << form::MORE]), printed("")];
            assert_eq!(refused(|_| vec![code[0]; 4]), Some(10), "{digits} digits");
        }
    }
}

#[test]
fn a_base_moves_fused_texts_as_it_moves_others() {
    let bytes = b"\x01\x0a\0\0first\0second\0";
    let of = |code: &[Instr]| {
        let blob = blob(|_| code.to_vec());
        let program = Program::open(&blob).expect("code that keeps the rules");
        let (mut machine, mut timers, mut out) = (Machine::default(), Timers::new(), TextBuf::new());
        let (event, context, layout) = (&event(bytes), &Context::EMPTY, Layout::default());
        machine.run(&program, 0, Job { event, context, timers: &mut timers, layout, line: 0, out: &mut out });
        String::from_utf8_lossy(out.as_bytes()).into_owned()
    };
    let base = |to: i64| {
        let constant = Instr::of(Op::Const, &[1, to as u32]).with(Slot::C, (to >> 32) as u32);
        [constant, Instr::of(Op::BaseTo, &[1])]
    };
    for (to, expected) in [(0, "first\n"), (6, "second\n"), (-4, "\x01\\n\n"), (1 << 40, "\n")] {
        let [constant, set] = base(to);
        let plain =
            [constant, set, Instr::of(Op::Reach, &[5, 5]), Instr::of(Op::PtrSet, &[4]), Instr::new(Op::TakeString)];
        let fused = [constant, set, Instr::of(Op::StringAt, &[4, 0, 3])];
        assert_eq!(of(&plain).replace("\\x01", "\x01"), expected, "base {to}");
        assert_eq!(of(&fused), of(&plain), "base {to}");
    }
    // The data pointer is at 4, so the result depends on the base.
    for (to, reaches) in [(0, true), (8, false), (-4, true), (-5, false), (i64::MIN, false), (i64::MAX, false)] {
        let [constant, set] = base(to);
        let at = Instr::of(Op::PtrSet, &[4]);
        let code = [constant, set, at, Instr::of(Op::TakeReach, &[10, 5]), printed("reaches")];
        assert_eq!(of(&code), if reaches { "reaches\n" } else { "\n" }, "base {to}");
    }
}

#[test]
fn a_limited_event_tells_the_same_to_who_watches() {
    // The second of two numbers that run together is past the event's end and past the limit.
    let number = |at: u32, more: u32| {
        Instr::of(Op::HexFullAt, &[8, at, 4 << form::END | 32 << form::RIGHT | more << form::MORE])
    };
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    let code = [number(0, 1), number(8, 0), Instr::new(Op::End)];
    let row = RoutineRow { need: 16, ..RoutineRow::default() };
    let routine = blob.routine(row, &code, &[SourcePos::default(); 3]);
    blob.hook(HookRow { id: FIRST, routines: [routine; 4], ..HookRow::default() });
    let (text, outcome) = print(&blob.finish(), Limits { text: 4, ..Limits::default() });
    assert_eq!((text.as_str(), outcome), ("010A [limit]\n", Outcome { limited: true, ..Outcome::default() }));
}

#[test]
fn a_run_keeps_its_program() {
    let blobs = ["own", "other"].map(|text| blob(|_| vec![printed(text)]));
    let [own, other] = [&blobs[0], &blobs[1]].map(|blob| Program::open(blob).expect("code that keeps the rules"));
    let (mut machine, mut timers, mut out) = (Machine::default(), Timers::new(), TextBuf::new());
    let (event, context, layout) = (event(EIGHT), Context::EMPTY, Layout::default());
    let begin = other.prepare(0, event.env_index()).expect("a sound routine");
    let mut run = machine.start(&own, &mut timers);
    run.run_prepared(
        &begin,
        &EventInput { event: &event, context: &context },
        LineStart { layout, line: 0 },
        |_| 0,
        &mut out,
    );
    let line = out.len();
    run.event(0, EventInput { event: &event, context: &context }, LineStart { layout, line }, &mut out);
    assert_eq!(String::from_utf8_lossy(out.as_bytes()), "other\nown\n");
}

#[test]
fn a_report_may_lower_the_limit_of_steps() {
    // A loop of 100 iterations, two instructions each.
    let blob = blob(|_| {
        vec![
            Instr::of(Op::Const, &[0, 100]),
            Instr::of(Op::Loop, &[1, 0, 4]),
            printed("x"),
            Instr::of(Op::LoopNext, &[1, 2]),
        ]
    });
    let program = Program::open(&blob).expect("code that keeps the rules");
    let (event, context, layout) = (event(EIGHT), Context::EMPTY, Layout::default());
    let (mut machine, mut timers) = (Machine::new(Limits { steps: 1000, ..Limits::default() }), Timers::new());
    let mut run = machine.start(&program, &mut timers);
    let print = |run: &mut tfbc_vm::Run<'_>| {
        let mut out = TextBuf::new();
        let outcome =
            run.event(0, EventInput { event: &event, context: &context }, LineStart { layout, line: 0 }, &mut out);
        (out.as_bytes().iter().filter(|byte| **byte == b'x').count(), outcome.limited)
    };
    assert_eq!(run.n_steps(), 0);
    assert_eq!(print(&mut run), (100, false));
    let cost = run.n_steps();
    assert!((200..=210).contains(&cost), "{cost} steps");
    assert_eq!(print(&mut run), (100, false));
    assert_eq!(run.n_steps(), 2 * cost, "an event costs what it cost before");
    run.limit_steps(50);
    for _ in 0..2 {
        let (n_turns, limited) = print(&mut run);
        assert!(limited && (20..=30).contains(&n_turns), "{n_turns} turns");
    }
    run.limit_steps(u64::MAX);
    assert_eq!(print(&mut run), (100, false), "no more than the machine's own limit");
    let mut out = TextBuf::new();
    out.push(b"before  \n columns  ");
    assert!(run.limited(9, &mut out).limited);
    assert_eq!(out.as_bytes(), b"before  \n columns [limit]\n");
}
