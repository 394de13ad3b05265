//! Lines, limits and dumps of an event: columns, margins, and truncation.

use crate::common::printed;
use std::cell::RefCell;
use tfbc_vm::table::{TableKind, pack_str, text_table};
use tfbc_vm::{
    BlobBuilder, COLUMNS, Context, EnvValue, Event, EventInput, HookRow, Instr, Job, Layout, Limits, LineStart,
    Machine, Op, Outcome, Program, RecordHeader, RoutineRow, Slot, SourcePos, Space, Step, TextBuf, Timers, Unobserved,
};

/// Parameters for printing an event.
#[derive(Clone, Copy)]
struct PrintOptions {
    bytes: &'static [u8],
    limits: Limits,
    layout: Layout,
    context: Context<'static>,
}

impl Default for PrintOptions {
    fn default() -> Self {
        PrintOptions { bytes: &[], limits: Limits::default(), layout: Layout::default(), context: Context::EMPTY }
    }
}

fn blob(make: impl FnOnce(&mut BlobBuilder) -> Vec<Instr>) -> Vec<u8> {
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    let called = RoutineRow { called: 1, ..RoutineRow::default() };
    blob.routine(called, &[printed("called"), Instr::new(Op::Ret)], &[SourcePos::default(); 2]);
    let code = make(&mut blob);
    let row = RoutineRow { zeroed: 8, ..RoutineRow::default() };
    let routine = blob.routine(row, &code, &vec![SourcePos::default(); code.len()]);
    blob.hook(HookRow { id: 0x0100, flags: 4, routines: [routine; 4], ..HookRow::default() });
    blob.finish()
}

/// Output of hook 010 after `columns`, in the fast loop, in the checked loop, and observed.
fn print(how: PrintOptions, make: impl FnOnce(&mut BlobBuilder) -> Vec<Instr>) -> (String, Outcome) {
    let bytes = blob(make);
    let program = Program::open(&bytes).expect("code that keeps the rules");
    let event = Event { bytes: how.bytes, wide: false, record: None, time_ns: 0, offset: 0x100 };
    let texts = [(false, false), (true, false), (false, true)].map(|(checked, watched)| {
        let mut machine = if checked { Machine::checked(how.limits) } else { Machine::new(how.limits) };
        let mut out = TextBuf::new();
        out.push(b"before\n 1 columns");
        let (context, timers, layout) = (&how.context, &mut Timers::new(), how.layout);
        let job = Job { event: &event, context, timers, layout, line: 7, out: &mut out };
        let outcome = match watched {
            false => machine.run_observed(&program, 0, job, &mut Unobserved),
            true => machine.run_observed(&program, 0, job, &mut |_: Step<'_>| {}),
        };
        (String::from_utf8_lossy(out.as_bytes()).into_owned(), outcome)
    });
    assert_eq!(texts[0], texts[1]);
    assert_eq!(texts[0], texts[2]);
    let (text, outcome) = texts.into_iter().next().expect("three");
    (text.strip_prefix("before\n").expect("the line before stays").to_owned(), outcome)
}

/// Output of a few instructions after `columns`.
fn of(how: PrintOptions, code: &[Instr]) -> String {
    print(how, |_| code.to_vec()).0
}

fn limits(text: u32) -> PrintOptions {
    PrintOptions { limits: Limits { text, ..Limits::default() }, ..PrintOptions::default() }
}

const NEWLINE: Instr = Instr::new(Op::Newline);
const SOFT: Instr = Instr::new(Op::Soft);
const STOP: Instr = Instr::new(Op::Stop);

#[test]
fn margins_go_where_no_text_follows_them() {
    for first in [0, 1, 3, 40, 300] {
        let how = PrintOptions { layout: Layout { first, further: 4 }, ..PrintOptions::default() };
        let margin = " ".repeat(first.into());
        // With and without a changed machine state.
        for rest in [&[][..], &[STOP]] {
            let of = |code: &[Instr]| of(how, &[code, rest].concat());
            assert_eq!(of(&[printed("text")]), format!(" 1 columns{margin}text\n"));
            assert_eq!(of(&[printed("")]), " 1 columns\n");
            // Printed blanks are text.
            assert_eq!(of(&[printed("  ")]), format!(" 1 columns{margin}  \n"));
            assert_eq!(of(&[printed("a"), NEWLINE, printed("b")]), format!(" 1 columns{margin}a\n    b\n"));
            assert_eq!(of(&[NEWLINE, printed("b")]), " 1 columns\n    b\n");
            assert_eq!(of(&[printed("a"), NEWLINE]), format!(" 1 columns{margin}a\n\n"));
            assert_eq!(of(&[printed("a"), NEWLINE, NEWLINE, printed(" ")]), format!(" 1 columns{margin}a\n\n     \n"));
        }
    }
}

#[test]
fn lines_are_counted_from_one() {
    let line = [Instr::of(Op::Env, &[0, EnvValue::RelLine as u32]), Instr::of(Op::PutDec, &[0])];
    let code = [&line[..], &[NEWLINE], &line, &[NEWLINE], &line].concat();
    assert_eq!(of(PrintOptions::default(), &code), " 1 columns1\n2\n3\n");
}

#[test]
fn an_event_that_is_skipped_leaves_nothing() {
    for code in [&[Instr::new(Op::Skip)][..], &[printed("text"), NEWLINE, STOP, Instr::new(Op::Skip)]] {
        let (text, outcome) = print(PrintOptions::default(), |_| code.to_vec());
        assert_eq!((text.as_str(), outcome.skipped, outcome.limited), ("", true, false));
        assert_eq!(outcome.stop, code.len() > 1);
    }
    // The margin does not count, even if it is longer than the limit.
    let (text, outcome) = print(limits(2), |_| vec![printed("text"), SOFT, Instr::new(Op::Skip)]);
    assert_eq!((text.as_str(), outcome.limited), (" 1 columnste [limit]\n", true));
}

#[test]
fn text_is_cut_at_its_limit() {
    for rest in [&[][..], &[STOP]] {
        let of = |limit, code: &[Instr]| {
            let (text, outcome) = print(limits(limit), |_| [code, rest].concat());
            assert_eq!(outcome.limited, text.ends_with(" [limit]\n"));
            text
        };
        assert_eq!(of(4, &[printed("text")]), " 1 columnstext\n");
        assert_eq!(of(3, &[printed("text")]), " 1 columnstex [limit]\n");
        assert_eq!(of(0, &[printed("text")]), " 1 columns [limit]\n");
        // Padding is text of any length.
        let text = |pad| Instr::of(Op::Text, &[0, 1, pad]);
        assert_eq!(of(9, &[text(9)]), format!(" 1 columns{}\n", " ".repeat(9)));
        for pad in [10, 100, u32::MAX] {
            assert_eq!(of(9, &[text(pad)]), format!(" 1 columns{} [limit]\n", " ".repeat(9)));
            assert_eq!(of(9, &[printed("ab"), text(pad)]), format!(" 1 columnsab{} [limit]\n", " ".repeat(7)));
        }
    }
}

#[test]
fn soft_blank_at_the_limit_is_dropped_at_end() {
    // No iteration is left, and a soft blank is at the end.
    let how = PrintOptions { limits: Limits { turns: 0, text: 9, ..Limits::default() }, ..PrintOptions::default() };
    let call = Instr::of(Op::Call, &[0]);
    assert_eq!(of(how, &[printed("text"), SOFT, call]), " 1 columnstext [limit]\n");
    assert_eq!(of(how, &[printed("text "), call]), " 1 columnstext  [limit]\n");
    assert_eq!(of(how, &[printed("text"), SOFT, printed("more"), call]), " 1 columnstext more [limit]\n");
    assert_eq!(
        of(PrintOptions { limits: Limits::default(), ..how }, &[printed("text "), call]),
        " 1 columnstext called\n"
    );
}

/// Continues after the selector's text.
fn selected(length: u32) -> impl FnOnce(&mut BlobBuilder) -> Vec<Instr> {
    move |blob| {
        let [text, _] = blob.string(&vec![b's'; length as usize]);
        let (kind, words) = text_table(&[], 3);
        let table = blob.table(kind, &words);
        let lit = Instr::of(Op::Lit, &[text]).with(Slot::C, length);
        vec![Instr::of(Op::Mark, &[1]), lit, Instr::of(Op::SwitchText, &[1, table]), printed("text")]
    }
}

#[test]
fn the_text_of_a_selector_does_not_count() {
    let how = |text| PrintOptions { limits: Limits { text, ..Limits::default() }, ..PrintOptions::default() };
    for length in [0, 1, 5, 100, 5000, 1 << 20] {
        let (text, outcome) = print(how(4), selected(length));
        assert_eq!((text.as_str(), outcome.limited), (" 1 columnstext\n", false), "{length}");
        let (text, outcome) = print(how(3), selected(length));
        assert_eq!((text.as_str(), outcome.limited), (" 1 columnstex [limit]\n", true), "{length}");
    }
    // The exception is text longer than any event.
    let (text, outcome) = print(how(3), selected((1 << 20) + 10));
    assert_eq!((text.as_str(), outcome.limited), (" 1 columnssss [limit]\n", true));
    // The event ends inside the selector.
    let code = [Instr::of(Op::Mark, &[1]), printed("selector")];
    assert_eq!(of(how(3), &code), " 1 columnssel [limit]\n");
    assert_eq!(of(how(8), &code), " 1 columnsselector\n");
}

#[test]
fn text_after_a_mark_becomes_lower_case() {
    let code = [printed("ABC"), Instr::of(Op::Mark, &[1]), printed("DEF0"), Instr::of(Op::Lower, &[1]), printed("GHI")];
    assert_eq!(of(PrintOptions::default(), &code), " 1 columnsABCdef0GHI\n");
    assert_eq!(of(limits(9), &code), " 1 columnsABCdef0GH [limit]\n");
}

fn dump(how: PrintOptions, count: u64, soft: bool) -> (String, Outcome) {
    let constant = Instr::of(Op::Const, &[0, count as u32]).with(Slot::C, (count >> 32) as u32);
    let dump = Instr::of(Op::Dump, &[0, soft.into()]);
    let (text, outcome) = print(how, |_| vec![Instr::of(Op::PtrSet, &[2, 0]), constant, dump, printed("|")]);
    (text.strip_prefix(" 1 columns").expect("columns").to_owned(), outcome)
}

/// Bytes from the third one on in hex. The byte after the end is zero, and the last one printed.
fn pairs(bytes: &[u8], count: u64, soft: bool) -> (String, bool) {
    let count = if (count as i64) < 0 { 0 } else { count };
    let held = bytes.get(2..).unwrap_or(&[]);
    let whole = held.len().min(count as usize);
    let mut text: String =
        held[..whole].iter().map(|byte| format!("{byte:02X}{}", if soft { " " } else { "" })).collect();
    let truncated = count > held.len() as u64;
    if truncated {
        text.push_str(if soft { "00 " } else { "00" });
    }
    (text, truncated)
}

const DUMPED: &[u8] = b"\x00\x01\xa2\xb3\xc4\xd5\xe6\xf7\x08\x19\x2a\x3b\x4c\x5d\x6e\x7f\x80\x91";

#[test]
fn dumps_end_after_the_first_missing_byte() {
    for bytes in [DUMPED, &DUMPED[..10], &DUMPED[..3], &DUMPED[..2], &[]] {
        for count in [0, 1, 2, 7, 8, 9, 16, 17, 100, i64::MAX as u64, u64::MAX, 1 << 63] {
            for soft in [false, true] {
                let (text, truncated) = pairs(bytes, count, soft);
                let how = PrintOptions { bytes, ..PrintOptions::default() };
                let outcome = Outcome { truncated, ..Outcome::default() };
                assert_eq!(dump(how, count, soft), (format!("{text}|\n"), outcome), "{count} of {}", bytes.len());
            }
        }
    }
    // Nothing is printed if the event was already cut.
    let code =
        [Instr::of(Op::Const, &[0, 5]), Instr::of(Op::Take, &[1, 1]), Instr::of(Op::Dump, &[0, 0]), printed("|")];
    assert_eq!(of(PrintOptions::default(), &code), " 1 columns|\n");
    // The soft blank after the last byte is removed.
    let code = [Instr::of(Op::Const, &[0, 2]), Instr::of(Op::Dump, &[0, 1]), Instr::new(Op::SoftDrop), printed("|")];
    assert_eq!(of(PrintOptions { bytes: DUMPED, ..PrintOptions::default() }, &code), " 1 columns00 01|\n");
    let code =
        [SOFT, Instr::of(Op::Const, &[0, 0]), Instr::of(Op::Dump, &[0, 1]), Instr::new(Op::SoftDrop), printed("|")];
    assert_eq!(of(PrintOptions { bytes: DUMPED, ..PrintOptions::default() }, &code), " 1 columns|\n");
}

#[test]
fn an_event_that_is_cut_twice_is_cut() {
    let code = [Instr::of(Op::Take, &[0, 4]), Instr::new(Op::Cut)];
    for code in [&code[..], &code[..1], &code[1..]] {
        assert!(print(PrintOptions::default(), |_| code.to_vec()).1.truncated);
    }
}

#[test]
fn a_dump_without_any_room_is_cut() {
    let bytes = blob(|_| vec![Instr::of(Op::Const, &[0, 9]), Instr::of(Op::Dump, &[0, 0])]);
    let program = Program::open(&bytes).expect("sound code");
    let (mut timers, mut out) = (Timers::new(), TextBuf::new());
    let event = Event { bytes: DUMPED, wide: false, record: None, time_ns: 0, offset: 0 };
    let (context, timers, layout, line) = (&Context::EMPTY, &mut timers, Layout::default(), 0);
    let mut machine = Machine::new(Limits { text: 0, ..Limits::default() });
    machine.run(&program, 0, Job { event: &event, context, timers, layout, line, out: &mut out });
    assert_eq!(out.as_bytes(), b" [limit]\n");
}

#[test]
fn each_byte_of_a_dump_is_a_turn() {
    for (bytes, count) in [(DUMPED, 10), (DUMPED, 16), (DUMPED, 17), (&DUMPED[..6], 9), (&DUMPED[..6], 4)] {
        let n_turns = count.min(bytes.len() as u64 - 2 + 1) as u32;
        for turns in 0..20 {
            let how = PrintOptions { bytes, limits: Limits { turns, ..Limits::default() }, ..PrintOptions::default() };
            let (text, outcome) = dump(how, count, false);
            let (whole, _) = pairs(bytes, count, false);
            let expected = match turns < n_turns {
                true => format!("{} [limit]\n", &whole[..turns as usize * 2]),
                false => format!("{whole}|\n"),
            };
            assert_eq!((text, outcome.limited), (expected, turns < n_turns), "{turns} turns, {count} bytes");
        }
    }
    // Iterations used by a dump are gone.
    let how =
        PrintOptions { bytes: DUMPED, limits: Limits { turns: 6, ..Limits::default() }, ..PrintOptions::default() };
    let twice = [Instr::of(Op::Const, &[0, 4]), Instr::of(Op::Dump, &[0, 0]), Instr::of(Op::Dump, &[0, 0])];
    assert_eq!(of(how, &twice), " 1 columns0001A2B3C4D5 [limit]\n");
}

#[test]
fn dumps_are_cut_at_the_text_limit() {
    for bytes in [DUMPED, &DUMPED[..6]] {
        for soft in [false, true] {
            for text in 0..60 {
                let (whole, truncated) = pairs(bytes, 20, soft);
                let how = PrintOptions { bytes, ..limits(text) };
                let expected = match text as usize {
                    text if text < whole.len() + 1 => format!("{} [limit]\n", &whole[..text.min(whole.len())]),
                    _ => format!("{whole}|\n"),
                };
                let (shown, outcome) = dump(how, 20, soft);
                assert_eq!((&shown, outcome.limited), (&expected, expected.ends_with("[limit]\n")), "{text} bytes");
                assert!(outcome.truncated <= truncated);
            }
        }
    }
}

#[test]
fn long_dumps_find_room() {
    static LONG: [u8; 20_000] = [0xab; 20_000];
    for soft in [false, true] {
        let (text, _) = dump(PrintOptions { bytes: &LONG, ..PrintOptions::default() }, 19_998, soft);
        assert_eq!(text, format!("{}|\n", if soft { "AB " } else { "AB" }.repeat(19_998)));
    }
}

#[test]
fn numbers_are_divided_toward_zero() {
    let divide = |left: i64, right: i64| {
        let constant =
            |register, value: i64| Instr::of(Op::Const, &[register, value as u32]).with(Slot::C, (value >> 32) as u32);
        let code = [constant(0, left), constant(1, right), Instr::of(Op::Div, &[2, 0, 1]), Instr::of(Op::PutInt, &[2])];
        let (text, outcome) = print(PrintOptions::default(), |_| code.to_vec());
        assert_eq!(outcome.divided_by_zero, right == 0);
        text.trim_start_matches(" 1 columns").trim_end().parse::<i64>().expect("a number")
    };
    for (left, right, quotient) in [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (-7, -2, 3), (5, 0, 0), (1 << 40, 1 << 38, 4)]
    {
        assert_eq!(divide(left, right), quotient, "{left} / {right}");
    }
    assert_eq!(divide(i64::MIN, -1), i64::MIN);
}

#[test]
fn seconds_are_shown_as_date_and_time() {
    let time =
        |seconds| of(PrintOptions::default(), &[Instr::of(Op::Const, &[0, seconds]), Instr::of(Op::PutTime, &[0])]);
    assert!(time(0).contains("1970") && time(0).contains("00:00:00"), "{}", time(0));
    assert!(time(1_000_000_000).contains("2001") && time(1_000_000_000).contains("01:46:40"));
}

#[test]
fn environment_macros_print_as_numbers() {
    let context = Context {
        trace_env: 64,
        total_cpus: 2,
        traced_cpus: 3,
        reported_cpus: 4,
        large_data_types: 1,
        buffering: 5,
        ip_address: 6,
        pid: 7,
        tid: 8,
        cpu: 9,
        priority: 10,
        ..Context::EMPTY
    };
    let how = PrintOptions { bytes: &[0x12, 0x3a, 0x45, 0x67, 0, 0], context, ..PrintOptions::default() };
    for (what, value) in [
        (EnvValue::TraceEnv, 64),
        (EnvValue::TotalCpus, 2),
        (EnvValue::TracedCpus, 3),
        (EnvValue::ReportedCpus, 4),
        (EnvValue::LargeDataTypes, 1),
        (EnvValue::Buffering, 5),
        (EnvValue::IpAddress, 6),
        (EnvValue::Pid, 7),
        (EnvValue::Tid, 8),
        (EnvValue::Cpu, 9),
        (EnvValue::Priority, 10),
        (EnvValue::HookData, 0x4567),
        (EnvValue::HookLen, 4),
        (EnvValue::HookType, 10),
        (EnvValue::LogIndex0, 0x100),
        (EnvValue::LogIndex, 0x105),
        (EnvValue::PayloadLen, 6),
        (EnvValue::EventNumber, 0),
    ] {
        let code = [Instr::of(Op::PtrSet, &[5, 0]), Instr::of(Op::Env, &[0, what as u32]), Instr::of(Op::PutDec, &[0])];
        assert_eq!(of(how, &code), format!(" 1 columns{value}\n"), "{what:?}");
    }
}

#[test]
fn timers_differ_by_both_numbers_and_optionally_thread() {
    // A start with the key 1 and 2, then an end with another key.
    let elapsed = |dialect: &str, numbers: [u32; 2], tids: [u64; 2]| {
        let mut blob = BlobBuilder::new();
        blob.dialect(dialect);
        blob.source("test", b"");
        for (id, op, [first, second]) in [(0x0100, Op::TimerStart, [1, 2]), (0x0110, Op::TimerEnd, numbers)] {
            let constants = [Instr::of(Op::Const, &[0, first]), Instr::of(Op::Const, &[1, second])];
            let code = [constants[0], constants[1], Instr::of(op, &[0, 1])];
            let routine = blob.routine(RoutineRow::default(), &code, &[SourcePos::default(); 3]);
            blob.hook(HookRow { id, flags: 4, routines: [routine; 4], ..HookRow::default() });
        }
        let bytes = blob.finish();
        let program = Program::open(&bytes).expect("sound code");
        let (mut machine, mut timers, mut out) = (Machine::default(), Timers::new(), TextBuf::new());
        for (hook, (tid, time_ns)) in tids.into_iter().zip([5000, 12_000]).enumerate() {
            let event = Event { bytes: &[1, 0x0a, 0, 0], wide: false, record: None, time_ns, offset: 0 };
            let context = Context { tid, ..Context::EMPTY };
            let (timers, layout, out) = (&mut timers, Layout::default(), &mut out);
            machine.run(&program, hook as u32, Job { event: &event, context: &context, timers, layout, line: 0, out });
        }
        String::from_utf8_lossy(out.as_bytes()).into_owned()
    };
    let (known, unknown) = ("\n[7 usec]\n", "\n\n");
    assert_eq!(
        [[1, 2], [1, 3], [2, 2], [2, 1]].map(|numbers| elapsed("", numbers, [5, 5])),
        [known, unknown, unknown, unknown]
    );
    assert_eq!([[5, 5], [5, 6]].map(|tids| elapsed("", [1, 2], tids)), [known, known]);
    assert_eq!([[5, 5], [5, 6]].map(|tids| elapsed("timer-key=thread\n", [1, 2], tids)), [known, unknown]);
}

#[test]
fn words_needing_more_room_print_the_same() {
    let words = |count: u32, bytes: &'static [u8]| {
        let code =
            [Instr::of(Op::TakeWords, &[count]), Instr::new(Op::PtrGet), printed(" "), Instr::of(Op::PutDec, &[0])];
        let text = of(PrintOptions { bytes, ..PrintOptions::default() }, &code);
        text.strip_prefix(" 1 columns").expect("columns").trim_end().to_owned()
    };
    let expected = |bytes: &[u8], text: &str| {
        let words: Vec<_> =
            bytes.as_chunks().0.iter().map(|word| format!("0x{:08x}", u32::from_le_bytes(*word))).collect();
        format!("\"{text}\" ({}) {}", words.join(" "), words.len() * 4)
    };
    let text: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.,";
    for n in 0..=16 {
        let shown = std::str::from_utf8(&text[..n * 4]).expect("letters");
        assert_eq!(words(n as u32, text), expected(&text[..n * 4], shown), "{n} words");
    }
    assert_eq!(words(u32::MAX, text), expected(text, std::str::from_utf8(text).expect("letters")));
    // A line end is printed; a NUL ends the text; a word with an unprintable byte is left out and ends it.
    assert_eq!(words(2, b"ab\ncdefg"), expected(b"ab\ncdefg", "ab\ncdefg"));
    assert_eq!(words(2, b"\nb\0cdefgmore"), expected(b"\nb\0cdefg", "\nb"));
    assert_eq!(words(1, b"\nbcdefghmore"), expected(b"\nbcd", "\nbcd"));
    assert_eq!(words(3, b"\nbcdef\x01hijkl"), expected(b"\nbcdef\x01hijkl", "\nbcd"));
    assert_eq!(words(3, b"\nbcde\0\x01hijkl"), expected(b"\nbcde\0\x01hijkl", "\nbcde"));
    assert_eq!(words(9, b"\nbcdefg"), expected(b"\nbcd", "\nbcd"));
}

#[test]
fn soft_blanks_of_flags_precede_later_output() {
    let code = |value: u32| {
        move |blob: &mut BlobBuilder| {
            let mut string = |text: &[u8]| {
                let [offset, len] = blob.string(text);
                pack_str(offset, len)
            };
            let entries = [
                [1, 1, string(b"A"), string(b"a"), 1],
                [2, 2, string(b"B"), string(b"b"), 2],
                [4, 4, string(b"\tC"), string(b" c"), 3],
                [8, 8, string(b"D"), string(b"d"), 0],
            ];
            let table = blob.table(TableKind::Flags, entries.as_flattened());
            vec![Instr::of(Op::Const, &[0, value]), Instr::of(Op::Flags, &[0, table]), SOFT, printed("|")]
        }
    };
    for (value, text) in [(0, "ab c d |"), (1, "A b c d |"), (15, "A B\tC D |"), (3, "A B c d |"), (4, "ab\tC d |")] {
        assert_eq!(print(PrintOptions::default(), code(value)).0, format!(" 1 columns{text}\n"), "{value:#x}");
    }
}

/// Output of an event after a text and columns, which are written with it or before it; and true if it ended normally.
fn print_with_columns(before: usize, columns: &[u8], layout: Layout, max_text: u32, at_once: bool) -> (Vec<u8>, bool) {
    let bytes = blob(|_| vec![printed("text"), Instr::of(Op::Const, &[0, 7]), Instr::of(Op::PutHex, &[0, 16])]);
    let program = Program::open(&bytes).expect("sound code");
    let limits = Limits { text: max_text, ..Limits::default() };
    let (mut machine, mut timers, mut out) = (Machine::new(limits), Timers::new(), TextBuf::new());
    out.push(&vec![b'#'; before]);
    let event = Event { bytes: &[1, 0x0a, 0, 0], wide: false, record: None, time_ns: 0, offset: 0 };
    let begin = program.prepare(0, event.env_index()).expect("a sound routine");
    let input = EventInput { event: &event, context: &Context::EMPTY };
    let mut run = machine.start(&program, &mut timers);
    let is_usual = if at_once {
        let put = |room: &mut [u8; COLUMNS]| {
            room[..columns.len()].copy_from_slice(columns);
            columns.len()
        };
        run.run_prepared(&begin, &input, LineStart { layout, line: before }, put, &mut out)
    } else {
        out.push(columns);
        run.run_prepared(&begin, &input, LineStart { layout, line: before }, |_| 0, &mut out)
    };
    (out.as_bytes().to_vec(), is_usual)
}

#[test]
fn columns_written_with_an_event_equal_earlier_ones() {
    // Near these lengths, the buffer is full and grows.
    for before in (0..8).chain(3500..4200) {
        for columns in [&[b'c'; COLUMNS][..], b"010 ", b""] {
            for (first, max_text) in [(0, 1 << 20), (19, 1 << 20), (32, 30), (33, 1 << 20), (300, 310), (19, 20)] {
                let of = |at_once| print_with_columns(before, columns, Layout { first, further: 0 }, max_text, at_once);
                assert_eq!(of(true), of(false), "{} bytes behind {before}, {first} blanks", columns.len());
            }
        }
    }
    let (text, is_usual) = print_with_columns(0, b"010 ", Layout { first: 3, further: 0 }, 100, true);
    assert_eq!((&text[..], is_usual), (&b"010    text0000000000000007\n"[..], true));
    let (text, is_usual) = print_with_columns(0, b"010 ", Layout { first: 3, further: 0 }, 7, true);
    assert_eq!((&text[..], is_usual), (&b"010    text000 [limit]\n"[..], false));
}

#[test]
fn columns_take_no_more_than_their_room() {
    let bytes = blob(|_| vec![printed("text")]);
    let program = Program::open(&bytes).expect("sound code");
    let (mut machine, mut timers, mut out) = (Machine::default(), Timers::new(), TextBuf::new());
    let event = Event { bytes: &[1, 0x0a, 0, 0], wide: false, record: None, time_ns: 0, offset: 0 };
    let begin = program.prepare(0, event.env_index()).expect("a sound routine");
    let put = |room: &mut [u8; COLUMNS]| {
        room.fill(b'c');
        usize::MAX
    };
    let start = LineStart::default();
    machine.start(&program, &mut timers).run_prepared(
        &begin,
        &EventInput { event: &event, context: &Context::EMPTY },
        start,
        put,
        &mut out,
    );
    assert_eq!(out.as_bytes(), [&[b'c'; COLUMNS][..], b"text\n"].concat());
}

#[test]
fn who_watches_is_shown_the_event() {
    let bytes = blob(|_| vec![printed("text"), Instr::of(Op::Call, &[0]), printed("more")]);
    let program = Program::open(&bytes).expect("sound code");
    let (mut machine, mut timers, mut out) = (Machine::default(), Timers::new(), TextBuf::new());
    let seen = RefCell::new(Vec::new());
    let mut watch = |step: Step<'_>| {
        let text = String::from_utf8_lossy(step.text).into_owned();
        seen.borrow_mut().push((step.routine, step.pc, text, step.event.offset, step.pointer, step.bit, step.base));
    };
    let mut run = machine.start(&program, &mut timers);
    for offset in [77, 78] {
        let event = Event { bytes: &[1, 0x0a, 0, 0], wide: false, record: None, time_ns: 0, offset };
        let from = out.len();
        out.push(b"columns ");
        run.observed(
            0,
            EventInput { event: &event, context: &Context::EMPTY },
            LineStart { layout: Layout::default(), line: from },
            &mut out,
            &mut watch,
        );
        let expected = [(1, 0, ""), (1, 1, "text"), (0, 0, "text"), (0, 1, "textcalled"), (1, 2, "textcalled")]
            .map(|(routine, pc, text)| (routine, pc, format!("columns {text}"), offset, 0, 0, 0));
        assert_eq!(seen.take(), expected);
    }
}

#[test]
fn observers_see_events_that_routines_do_not_read() {
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    let routine = blob.routine(RoutineRow::default(), &[printed("text")], &[SourcePos::default()]);
    blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
    let bytes = blob.finish();
    let program = Program::open(&bytes).expect("sound code");
    let (mut machine, mut timers, mut out) = (Machine::default(), Timers::new(), TextBuf::new());
    let mut seen = Vec::new();
    let mut watch = |step: Step<'_>| seen.push((step.event.offset, step.text.to_vec()));
    let mut run = machine.start(&program, &mut timers);
    out.push(b"before\ncolumns ");
    let event = Event { bytes: &[1, 0x0a, 0, 0], wide: false, record: None, time_ns: 0, offset: 77 };
    run.observed(
        0,
        EventInput { event: &event, context: &Context::EMPTY },
        LineStart { layout: Layout::default(), line: 7 },
        &mut out,
        &mut watch,
    );
    assert_eq!(seen, [(77, b"columns ".to_vec())]);
}

#[test]
fn each_environment_has_its_routine() {
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    let routines = |blob: &mut BlobBuilder, texts: [&str; 4]| {
        texts.map(|text| blob.routine(RoutineRow::default(), &[printed(text)], &[SourcePos::default()]))
    };
    let hook = routines(&mut blob, ["hook32", "generic32", "hook64", "generic64"]);
    let record = routines(&mut blob, ["simple-le", "wide-le", "simple-be", "wide-be"]);
    blob.hook(HookRow { id: 0x0100, routines: hook, ..HookRow::default() });
    let (id, flags) = (Space::record_id(6, 65), (Space::Record as u8) << 3);
    blob.hook(HookRow { id, flags, routines: record, ..HookRow::default() });
    let bytes = blob.finish();
    let program = Program::open(&bytes).expect("sound code");
    let record = program.record(6, 65).expect("the record").index;
    let hook = program.hook(0x0100).expect("the hook").index;
    let little = Some(RecordHeader { event: 65, big_endian: false });
    let big = Some(RecordHeader { event: 65, big_endian: true });
    for (index, record, wide, bytes) in [
        (hook, None, false, &[0x01, 0x0a, 0, 0][..]),
        (hook, None, false, &[0x01, 0x08, 0, 0]),
        (hook, None, true, &[0x80, 0, 0, 0, 0x01, 0, 0, 0]),
        (hook, None, true, &[0x40, 0, 0, 0, 0x01, 0, 0, 0]),
        (record, little, false, &[]),
        (record, little, true, &[]),
        (record, big, false, &[]),
        (record, big, true, &[]),
    ] {
        let event = Event { bytes, wide, record, time_ns: 0, offset: 0 };
        let (mut timers, mut out) = (Timers::new(), TextBuf::new());
        let (context, timers, layout, line) = (&Context::EMPTY, &mut timers, Layout::default(), 0);
        Machine::default().run(&program, index, Job { event: &event, context, timers, layout, line, out: &mut out });
        assert_eq!(String::from_utf8_lossy(out.as_bytes()), format!("{}\n", event.env().name()));
    }
}

#[test]
fn records_tell_their_number() {
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    let code = [Instr::of(Op::Env, &[0, EnvValue::EventNumber as u32]), Instr::of(Op::PutDec, &[0])];
    let routine = blob.routine(RoutineRow::default(), &code, &[SourcePos::default(); 2]);
    let (id, flags) = (Space::record_id(6, 65), (Space::Record as u8) << 3);
    blob.hook(HookRow { id, flags, routines: [routine; 4], ..HookRow::default() });
    let bytes = blob.finish();
    let program = Program::open(&bytes).expect("sound code");
    let (mut timers, mut out) = (Timers::new(), TextBuf::new());
    let record = Some(RecordHeader { event: 65, big_endian: false });
    let event = Event { bytes: &[], wide: false, record, time_ns: 0, offset: 0 };
    let (context, timers, layout, line) = (&Context::EMPTY, &mut timers, Layout::default(), 0);
    Machine::default().run(&program, 0, Job { event: &event, context, timers, layout, line, out: &mut out });
    assert_eq!(out.as_bytes(), b"65\n");
}
