//! Lazily opened programs: refused routines never run, and all others run as if the whole program was verified.

use crate::common::printed;
use tfbc_vm::{
    BlobBuilder, Context, Event, HookRow, Instr, Job, Layout, Machine, Op, Outcome, Program, RoutineRow, Slot,
    SourcePos, Space, TextBuf, Timers,
};

/// Blob with a hook per code, from id 010 on, and a called routine 0.
fn blob(codes: &[Vec<Instr>]) -> Vec<u8> {
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    blob.string(b"text");
    let called = RoutineRow { called: 1, ..RoutineRow::default() };
    blob.routine(called, &[Instr::new(Op::Ret)], &[SourcePos::default()]);
    for (id, code) in codes.iter().enumerate() {
        let places: Vec<_> = (0..code.len()).map(|_| SourcePos { line: id as u32, ..SourcePos::default() }).collect();
        let routine = blob.routine(RoutineRow { need: 8, ..RoutineRow::default() }, code, &places);
        blob.hook(HookRow { id: (id as u16 + 1) << 4, routines: [routine; 4], ..HookRow::default() });
    }
    blob.finish()
}

/// Output of the hook with an index for a 64-bit event.
fn run(program: &Program<'_>, hook: u32) -> (String, Outcome) {
    let event = Event { bytes: &[7; 16], wide: true, record: None, time_ns: 0, offset: 0 };
    let (mut timers, mut out) = (Timers::new(), TextBuf::new());
    let layout = Layout { first: 2, further: 0 };
    let job = Job { event: &event, context: &Context::EMPTY, timers: &mut timers, layout, line: 0, out: &mut out };
    let outcome = Machine::default().run(program, hook, job);
    (String::from_utf8_lossy(out.as_bytes()).into_owned(), outcome)
}

#[test]
fn what_is_refused_prints_that_and_the_rest_runs() {
    let bad = Instr::of(Op::Lit, &[1]).with(Slot::C, 8);
    let bytes =
        blob(&[vec![printed(b"good")], vec![bad], vec![Instr::of(Op::Call, &[2])], vec![Instr::of(Op::Call, &[0])]]);
    assert!(Program::open(&bytes).is_err());
    let program = Program::open_lazily(&bytes).unwrap();
    for _ in 0..2 {
        assert_eq!(run(&program, 0), ("  good\n".to_owned(), Outcome::default()));
        for hook in [1, 2] {
            let refused = Outcome { refused: true, ..Outcome::default() };
            assert_eq!(run(&program, hook), ("  [refused]\n".to_owned(), refused));
        }
        assert!(!run(&program, 3).1.refused);
    }
    // There are only four hooks.
    for hook in [4, 9] {
        assert_eq!(run(&program, hook), ("\n".to_owned(), Outcome::default()));
    }
    assert!(program.disassemble(None).contains("refused by the verifier"));
}

#[test]
fn routines_that_share_callees_are_each_checked_once() {
    // Each routine calls the one before it twice: 2^40 paths.
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    let called = |line| (RoutineRow { called: 1, ..RoutineRow::default() }, SourcePos { line, ..SourcePos::default() });
    let (row, place) = called(0);
    let mut last = blob.routine(row, &[Instr::new(Op::Ret)], &[place]);
    for line in 1..=100 {
        let (row, place) = called(line);
        let code = [Instr::of(Op::Call, &[last]), Instr::of(Op::Call, &[last]), Instr::new(Op::Ret)];
        last = blob.routine(row, &code, &[place; 3]);
        let own = blob.routine(RoutineRow::default(), &[Instr::of(Op::Call, &[last])], &[place]);
        blob.hook(HookRow { id: line as u16, routines: [own; 4], ..HookRow::default() });
    }
    let bytes = blob.finish();
    let program = Program::open_lazily(&bytes).unwrap();
    // Calls may be nested 64 deep.
    let refused = |hook: u32| {
        let listing = program.disassemble(program.entry_at(hook).as_ref());
        listing.contains("refused by the verifier")
    };
    assert_eq!([62, 63, 98].map(refused), [false, true, true]);
    assert!(Program::open(&bytes).is_err());
}

#[test]
fn altered_code_is_refused_or_runs_as_if_verified() {
    let code = |k: u32| {
        vec![
            printed(b"a"),
            Instr::of(Op::Load, &[1, k, 4]),
            Instr::of(Op::JumpZero, &[1, 5]),
            Instr::of(Op::PutHex, &[1, 8]),
            Instr::of(Op::Call, &[0]),
            Instr::new(Op::End),
        ]
    };
    let codes: Vec<_> = (0..4).map(code).collect();
    let whole = blob(&codes);
    let (mut n_refused, mut n_run) = (0, 0);
    for at in 32..whole.len() {
        for flip in [1, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            let Ok(program) = Program::open_lazily(&bytes) else { continue };
            let mut mended = bytes.clone();
            tfbc_vm::write_checksum(&mut mended);
            let checked = Program::open(&mended);
            for hook in 0..4 {
                let (text, outcome) = run(&program, hook);
                match &checked {
                    Ok(checked) => assert_eq!((text, outcome), run(checked, hook), "byte {at}"),
                    Err(_) => n_refused += u32::from(outcome.refused),
                }
                n_run += u32::from(!outcome.refused);
            }
            // A blob that is refused as a whole has a refused routine.
            let refused_one = program.disassemble(None).contains("refused by the verifier");
            assert_eq!(refused_one, checked.is_err(), "byte {at}, flip {flip}");
        }
    }
    assert!(n_refused > 100 && n_run > 100, "{n_refused} refused, {n_run} run");
}

#[test]
fn fields_are_verified_when_asked_for_after_text() {
    let bad = [Instr::of(Op::Lit, &[1]).with(Slot::C, 800)];
    let good = [Instr::of(Op::FieldRow, &[1])];
    let blob = |text: &[Instr], fields: &[Instr]| {
        let mut blob = BlobBuilder::new();
        blob.source("test", b"");
        for (space, code) in [(Space::Hook, text), (Space::HookFields, fields)] {
            let place = SourcePos { line: 1 + space as u32, ..SourcePos::default() };
            let routine = blob.routine(RoutineRow::default(), code, &vec![place; code.len()]);
            blob.hook(HookRow { id: 0x10, flags: (space as u8) << 3, routines: [routine; 4], ..HookRow::default() });
        }
        blob.finish()
    };
    let bytes = blob(&[printed(b"text")], &bad);
    assert!(Program::open(&bytes).is_err());
    let program = Program::open_for_text(&bytes).expect("its text is sound");
    assert_eq!(run(&program, 0), ("  text\n".to_owned(), Outcome::default()));
    let fields = |program: &Program<'_>| {
        let hook = program.entry(Space::HookFields, 0x10).expect("an entry").index;
        program.prepare(hook, 0).is_some()
    };
    assert!(!fields(&program));
    let bytes = blob(&[printed(b"text")], &good);
    assert!(fields(&Program::open_for_text(&bytes).expect("it is sound")));
    let bytes = blob(&bad, &good);
    let [whole, text] = [Program::open(&bytes), Program::open_for_text(&bytes)].map(Result::err);
    assert!(whole.is_some() && whole == text, "{text:?}");
}
