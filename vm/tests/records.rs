//! QNX records: both byte orders, checked reads, texts.

use tfbc_vm::{
    BlobBuilder, Context, Env, Event, HookRow, Instr, Job, Layout, Machine, Op, Outcome, Program, RecordHeader,
    RoutineRow, Slot, SourcePos, Space, TextBuf, Timers, form,
};

/// Class 6, event 65, in the space of records.
fn blob(code: &[Instr], need: u32) -> Vec<u8> {
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    let row = RoutineRow { zeroed: 16, need, ..RoutineRow::default() };
    let routine = blob.routine(row, code, &vec![SourcePos::default(); code.len()]);
    let (id, flags) = (Space::record_id(6, 65), (Space::Record as u8) << 3);
    blob.hook(HookRow { id, flags, routines: [routine; 4], ..HookRow::default() });
    blob.finish()
}

/// Text and outcome for a payload, in the fast and the checked loop.
fn run(code: &[Instr], need: u32, payload: &[u8], wide: bool) -> (String, Outcome) {
    let blob = blob(code, need);
    let program = Program::open(&blob).unwrap();
    assert!(program.hook(Space::record_id(6, 65)).is_none(), "a record is no hook");
    let entry = program.record(6, 65).unwrap();
    let record = Some(RecordHeader { event: 65, big_endian: false });
    let event = Event { bytes: payload, wide, record, time_ns: 0, offset: 0 };
    let [fast, checked] = [Machine::default(), Machine::checked(Default::default())].map(|mut machine| {
        let mut out = TextBuf::new();
        let job = Job {
            event: &event,
            context: &Context::EMPTY,
            timers: &mut Timers::new(),
            layout: Layout::default(),
            line: 0,
            out: &mut out,
        };
        let outcome = machine.run(&program, entry.index, job);
        (String::from_utf8(out.as_bytes().to_vec()).unwrap(), outcome)
    });
    assert_eq!(fast, checked);
    fast
}

fn text(code: &[Instr], payload: &[u8]) -> String {
    run(code, 0, payload, true).0.trim_end_matches('\n').to_owned()
}

#[test]
fn numbers_are_read_in_either_order() {
    let payload = [1, 2, 3, 4, 5, 6, 7, 8];
    for (width, little, big) in
        [(1, "1", "1"), (2, "201", "102"), (4, "4030201", "1020304"), (8, "807060504030201", "102030405060708")]
    {
        let fixed = |op| run(&[Instr::of(op, &[9, 0, width]), Instr::of(Op::PutHexMin, &[9])], 8, &payload, true).0;
        let moving = |op| run(&[Instr::of(op, &[9, width]), Instr::of(Op::PutHexMin, &[9])], 8, &payload, true).0;
        assert_eq!((fixed(Op::LoadLe), fixed(Op::Load)), (format!("{little}\n"), format!("{big}\n")));
        assert_eq!((moving(Op::TakeLe), moving(Op::Take)), (format!("{little}\n"), format!("{big}\n")));
    }
}

#[test]
fn reads_that_do_not_fit_go_elsewhere() {
    let code = [
        Instr::of(Op::Reach, &[5, 3]),
        Instr::of(Op::LoadLe, &[0, 4, 1]),
        Instr::of(Op::PutDec, &[0]),
        Instr::new(Op::Cut),
    ];
    assert_eq!(run(&code[..3], 5, &[0, 0, 0, 0, 42], true).0, "42\n");
    let (shown, outcome) = run(&code, 5, &[0; 4], true);
    assert_eq!((shown.as_str(), outcome.truncated), ("\n", true));
    let code = [Instr::of(Op::PtrSet, &[2, 0]), Instr::of(Op::TakeReach, &[3, 3]), Instr::of(Op::PutDec, &[5])];
    assert_eq!(run(&code, 0, &[0; 5], true).0, "0\n");
    assert_eq!(run(&code, 0, &[0; 4], true).0, "\n");
}

#[test]
fn numbers_are_printed_as_qnx_does() {
    let put = |op, value: u64| {
        let constant = Instr::of(Op::Const, &[0, value as u32]).with(Slot::C, (value >> 32) as u32);
        text(&[constant, Instr::of(op, &[0])], &[])
    };
    assert_eq!((put(Op::PutHexMin, 0), put(Op::PutHexMin, u64::MAX)), ("0".into(), "ffffffffffffffff".into()));
    assert_eq!((put(Op::PutHexMin, 0xabc), put(Op::PutHexMin, 1 << 32)), ("abc".into(), "100000000".into()));
    assert_eq!((put(Op::PutOctC, 0), put(Op::PutOctC, 8)), ("0".into(), "010".into()));
    assert_eq!(put(Op::PutOctC, u64::MAX), "01777777777777777777777");
    let ascii = [(0x1f, "0x1f"), (0x20, " "), (0x7e, "~"), (0x7f, "0x7f"), (0x141, "0x141")];
    for (value, shown) in ascii {
        assert_eq!(put(Op::PutAscii, value), shown);
    }
    let constant = Instr::of(Op::Const, &[0, 0x1a]);
    assert_eq!(text(&[constant, Instr::of(Op::PutHexLow, &[0, 8])], &[]), "0000001a");
}

#[test]
fn strings_are_escaped_and_passed() {
    let payload = b"a\tb\n\r\x01\x7f\xc3\xa4\0rest";
    let string = Instr::new(Op::TakeString);
    assert_eq!(text(&[string], payload), "a\\tb\\n\\r\\x01\\x7f\u{e4}");
    assert_eq!(text(&[Instr::new(Op::PassString), string], payload), "rest");
    // Without a NUL the pointer is after the end of the payload.
    let code = [string, Instr::of(Op::TakeReach, &[0, 3]), Instr::of(Op::PutDec, &[0])];
    assert_eq!(text(&code, b"abc"), "abc");
    assert_eq!(text(&[Instr::of(Op::TakeEscaped, &[4]), string], b"a\0bcd"), "ad");
}

#[test]
fn words_and_names_are_printed_as_traceprinter_does() {
    let words = |count, payload: &[u8]| text(&[Instr::of(Op::TakeWords, &[count])], payload);
    assert_eq!(words(1, b"abcd"), "\"abcd\" (0x64636261)");
    assert_eq!(words(3, b"abcdefgh"), "\"abcdefgh\" (0x64636261 0x68676665)");
    assert_eq!(words(2, b"ab\0defgh"), "\"ab\" (0x64006261 0x68676665)");
    assert_eq!(words(2, b"a\x01cdefgh"), "\"\" (0x64630161 0x68676665)");
    assert_eq!(words(2, b"abcde\x80\0\0"), "\"abcd\" (0x64636261 0x00008065)");
    let name = |spare, payload: &[u8]| text(&[Instr::of(Op::TakeName, &[spare])], payload);
    assert_eq!((name(0, b"/dev/ser1"), name(1, b"/dev/ser1")), ("/dev/ser1".into(), "/dev/ser".into()));
    assert_eq!((name(0, b"ab\0\x01"), name(0, b"a\x01b\0")), ("ab".into(), String::new()));
}

#[test]
fn comparisons_and_jumps() {
    let code = |op| {
        let zero = Instr::of(Op::JumpZero, &[2, 5]);
        let pair = [Instr::of(Op::Const, &[0, 7]), Instr::of(Op::Const, &[1, 7])];
        let mut put = Instr::of(Op::PutDec, &[0]);
        put.lit_len = 1;
        put.lit[0] = b'=';
        [pair[0], pair[1], Instr::of(op, &[2, 0, 1]), zero, put]
    };
    assert_eq!((text(&code(Op::Equal), &[]), text(&code(Op::Differ), &[])), ("=7".into(), String::new()));
}

/// Output of the first four bytes of a window, flattened, after a label; `None` if the routine cannot be flattened.
fn flat_text(code: &[Instr], payload: &[u8]) -> Option<String> {
    let blob = blob(code, 8);
    let program = Program::open(&blob).unwrap();
    let routine = program.flat_routine(&program.record(6, 65)?, Env::SimpleLittle, b"label")?;
    let mut out = TextBuf::new();
    out.push(b"line\n");
    let printed = routine.write(*b"before ", payload, &mut out);
    assert!(printed || out.as_bytes() == b"line\n");
    Some(String::from_utf8(out.as_bytes().to_vec()).unwrap())
}

#[test]
fn text_and_numbers_at_fixed_places_are_laid_out() {
    let word = 32 | 32 << form::RIGHT | form::LITTLE | 4 << form::END;
    for payload in [[0x61, 0x62, 0x63, 0x64, 5, 6, 7, 8], [0xff; 8], [0; 8], [7, 0, 0, 0, 1, 0, 0, 0x80]] {
        let fields = [Op::IntAt, Op::DecAt, Op::HexMinAt].map(|op| Instr::of(op, &[0, word, 0]));
        let mut code = [fields[0], fields[1], Instr::of(Op::HexLowFullAt, &[8, 0, word, 0]), fields[2]];
        for (instr, lit) in code.iter_mut().zip([b" int:", b" dec:", b" hex:", b" min:"]) {
            instr.lit[..5].copy_from_slice(lit);
            instr.lit_len = 5;
        }
        let words = [Instr::of(Op::PtrSet, &[4, 0]), Instr::of(Op::TakeWords, &[1])];
        for code in [&code[..], &words[..], &[code[3], words[0], words[1], code[0]]] {
            let expected = run(code, 8, &payload, false).0;
            assert_eq!(flat_text(code, &payload), Some(format!("line\nbefore label{expected}")));
        }
    }
}

#[test]
fn routines_with_branches_run_in_the_machine() {
    let word = 32 | 32 << form::RIGHT | form::LITTLE | 4 << form::END;
    let number = Instr::of(Op::IntAt, &[0, word, 0]);
    assert_eq!(flat_text(&[number], &[0; 4]).as_deref(), Some("line\n"), "the record is too short");
    assert_eq!(flat_text(&[Instr::of(Op::Newline, &[]), number], &[0; 8]), None);
    assert_eq!(flat_text(&[number; 40], &[0; 8]), None, "the line is too long");
    let guarded = [Instr::of(Op::JumpDifferAt, &[0, 3, word, 2]), number, number];
    assert_eq!(flat_text(&guarded, &[3, 0, 0, 0, 0, 0, 0, 0]).as_deref(), Some("line\n"));
    assert_eq!(flat_text(&guarded, &[4, 0, 0, 0, 0, 0, 0, 0]).as_deref(), Some("line\nbefore label4\n"));
}
