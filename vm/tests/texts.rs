//! Instructions that print text from tables, the event or its context, each in all loops.

use crate::common::{after_text, printed};
use std::collections::BTreeSet;
use tfbc_vm::table::{LONG_TEXTS, TableKind, TextCase, number_table, pack_str, text_table};
use tfbc_vm::{
    BlobBuilder, Context, EnvText, Event, EventInput, HookRow, Instr, Layout, Limits, LineStart, Machine, Op, Outcome,
    ProcessNames, Program, RoutineRow, SourcePos, Step, TextBuf, Timers, Unobserved, form,
};

/// Form that takes all eight bytes of a window.
const WHOLE: u32 = 8 << form::END;

/// Output of hook 010 for each event: in the fast loop, in the checked loop, and observed. `code` builds the code with
/// the blob.
fn print_all(
    dialect: &str,
    make: impl Fn(&mut BlobBuilder) -> Vec<Instr>,
    events: &[Event<'_>],
    context: &Context<'_>,
) -> Vec<(String, Outcome)> {
    let blobs = [0, 8, 16].map(|need| {
        let mut blob = BlobBuilder::new();
        blob.dialect(dialect);
        blob.source("test", b"");
        // Makes sure that no list is at offset 0.
        blob.words(&[u64::MAX]);
        let code = make(&mut blob);
        let row = RoutineRow { zeroed: 8, need, ..RoutineRow::default() };
        let routine = blob.routine(row, &code, &vec![SourcePos::default(); code.len()]);
        blob.hook(HookRow { id: 0x0100, flags: 4, routines: [routine; 4], tab_origin: 3, ..HookRow::default() });
        blob.finish()
    });
    // With the shortest events that the rules allow.
    let program = &blobs.iter().find_map(|blob| Program::open(blob).ok()).expect("code that keeps the rules");
    let runs = [(false, false), (true, false), (false, true)].map(|(checked, watched)| {
        let limits = Limits::default();
        let mut machine = if checked { Machine::checked(limits) } else { Machine::new(limits) };
        let mut timers = Timers::new();
        let mut run = machine.start(program, &mut timers);
        let mut printed = Vec::new();
        for event in events {
            let mut out = TextBuf::new();
            let input = EventInput { event, context };
            let start = LineStart { layout: Layout { first: 0, further: 2 }, line: 0 };
            let outcome = match watched {
                false => run.observed(0, input, start, &mut out, &mut Unobserved),
                true => run.observed(0, input, start, &mut out, &mut |_: Step<'_>| {}),
            };
            let text = String::from_utf8_lossy(out.as_bytes());
            printed.push((text.strip_suffix('\n').expect("a line").to_owned(), outcome));
        }
        printed
    });
    let [fast, checked, watched] = runs;
    assert_eq!(fast, checked);
    assert_eq!(fast, watched);
    fast
}

fn event(bytes: &[u8]) -> Event<'_> {
    Event { bytes, wide: false, record: None, time_ns: 0, offset: 0x1234 }
}

/// Output for some bytes.
fn of_bytes(bytes: &[u8], make: impl Fn(&mut BlobBuilder) -> Vec<Instr>) -> (String, Outcome) {
    print_all("", make, &[event(bytes)], &Context::EMPTY).remove(0)
}

/// Output of instructions without an event.
fn of(bytes: &[u8], code: &[Instr]) -> String {
    of_bytes(bytes, |_| code.to_vec()).0
}

/// Output of an instruction for a value in the register that it reads.
fn of_value(value: u64, make: impl Fn(&mut BlobBuilder) -> Instr) -> String {
    of_bytes(&value.to_be_bytes(), |blob| vec![Instr::of(Op::Get, &[0, 0, WHOLE]), make(blob)]).0
}

/// Output of an instruction for the event's first eight bytes.
fn of_window(value: u64, op: Op, table: impl Fn(&mut BlobBuilder) -> u32) -> String {
    of_bytes(&value.to_be_bytes(), |blob| vec![Instr::of(op, &[0, table(blob), WHOLE])]).0
}

/// Text packed in words: its bytes, zeros, and its length in the last byte.
fn packed(text: &str, n_words: usize) -> Vec<u64> {
    let mut bytes = vec![0; n_words * 8];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    bytes[n_words * 8 - 1] = text.len() as u8;
    bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

#[test]
fn texts_of_a_list_are_found_by_index() {
    let short = ["zero", "", "fifteen letters", "more"];
    let long = ["zero", "", "thirty-one letters are the most", "more"];
    for (texts, head, n_words) in [(short, 3, 2), (long, 3 | LONG_TEXTS, 4)] {
        let list = |blob: &mut BlobBuilder| {
            blob.words(&[vec![head], texts.iter().flat_map(|text| packed(text, n_words)).collect()].concat())
        };
        for value in [0, 1, 2, 3, 4, 5, 16, u64::MAX] {
            let text = texts[value.min(3) as usize];
            let or_hex = if text.is_empty() { format!("{value:#x}") } else { text.to_owned() };
            assert_eq!(of_value(value, |blob| Instr::of(Op::SwitchLit, &[0, list(blob)])), text);
            assert_eq!(of_value(value, |blob| Instr::of(Op::SwitchLitHex, &[0, list(blob)])), or_hex);
            assert_eq!(of_window(value, Op::LitAt, list), text);
            assert_eq!(of_window(value, Op::LitHexAt, list), or_hex);
            assert_eq!(of_window(value, Op::HexCLitAt, list), format!("{value:#x}{text}"));
        }
    }
}

#[test]
fn texts_of_nibbles_start_with_the_lowest() {
    let text = |nibble: usize, digit: u64| match digit {
        0 => String::new(),
        15 => format!("<{nibble} is a text of 31 letters.>{}", ".".repeat(31))[..31].to_owned(),
        _ => format!("<{nibble}{digit:x}>"),
    };
    for (count, shift) in [(0, 0), (1, 0), (1, 60), (3, 8), (6, 0), (6, 4), (6, 40), (7, 0), (7, 5), (12, 16), (16, 0)]
    {
        let table = |blob: &mut BlobBuilder| {
            let texts = (0..count).flat_map(|nibble| (0..16).map(move |digit| text(nibble, digit)));
            let mut words = vec![count as u64 | shift << 8];
            words.extend(packed("none of them", 4));
            texts.for_each(|text| words.extend(packed(&text, 4)));
            blob.words(&words)
        };
        for value in [0, 1, 0xf, 0x10, 0x20_0000, 0x1234_5678_9abc_def0, 0xfedc_ba98_7654_3210, 0xf << 60, u64::MAX] {
            let mut expected: String =
                (0..count).map(|nibble| text(nibble, value >> shift >> (4 * nibble) & 15)).collect();
            if expected.is_empty() {
                expected.push_str("none of them");
            }
            for soft in [0, 1] {
                let put = |blob: &mut BlobBuilder| Instr::of(Op::Nibbles, &[0, table(blob), soft]);
                assert_eq!(of_value(value, put), expected, "{count} nibbles from bit {shift}");
            }
            assert_eq!(of_window(value, Op::NibblesAt, table), expected);
            assert_eq!(of_window(value, Op::HexCNibblesAt, table), format!("{value:#x}{expected}"));
        }
    }
}

#[test]
fn nibbles_that_print_end_in_a_soft_blank() {
    let code = |digits: &'static str| {
        move |blob: &mut BlobBuilder| {
            let mut words = vec![1];
            words.extend(packed("", 4));
            (0..16).for_each(|digit| words.extend(packed(if digit == 5 { digits } else { "" }, 4)));
            let table = blob.words(&words);
            vec![
                Instr::of(Op::Get, &[0, 0, WHOLE]),
                Instr::new(Op::Soft),
                Instr::new(Op::SoftDrop),
                Instr::new(Op::Tab),
                Instr::of(Op::Nibbles, &[0, table, 1]),
                Instr::new(Op::SoftDrop),
            ]
        }
    };
    // The five blanks up to the tab stop are not soft.
    assert_eq!(of_bytes(&5u64.to_be_bytes(), code("five ")).0, "     five");
    assert_eq!(of_bytes(&4u64.to_be_bytes(), code("five ")).0, "     ");
}

#[test]
fn texts_of_a_table_are_found_by_number() {
    let texts = ["short", "a text of thirty-two letters, 32", "one of thirty-three letters is 33", ""];
    let last = "the text at the very end";
    let table = |blob: &mut BlobBuilder| {
        let mut string = |text: &str| {
            let [offset, len] = blob.string(text.as_bytes());
            pack_str(offset, len)
        };
        let mut cases: Vec<_> = texts.iter().zip(7..).map(|(text, key)| (key, string(text))).collect();
        cases.push((1 << 40, string(&"long ".repeat(40))));
        let (kind, words) = number_table(&cases, string(last));
        blob.table(kind, &words)
    };
    for value in [7, 8, 9, 10, 1 << 40, 11, 0] {
        let long = "long ".repeat(40);
        let index = (value as usize).wrapping_sub(7);
        let text = if value == 1 << 40 { long.as_str() } else { texts.get(index).copied().unwrap_or(last) };
        assert_eq!(of_value(value, |blob| Instr::of(Op::PutCase, &[0, table(blob)])), text);
        assert_eq!(of_window(value, Op::CaseAt, table), text);
        assert_eq!(of_window(value, Op::HexCCaseAt, table), format!("{value:#x}{text}"));
    }
}

/// Switches on a text field of the event, and prints it if it is one of these.
fn by_text(len: u32, select: impl Fn(u32) -> Vec<Instr>) -> impl Fn(&mut BlobBuilder) -> Vec<Instr> {
    const TEXTS: [&str; 5] = ["", "READ", "a.b", "sixteen letters.", "READS"];
    move |blob| {
        let n = select(0).len() as u32;
        let place = |at: usize| n + 2 + at as u32 * 2;
        let mut case = |at: usize| {
            let [offset, len] = blob.string(TEXTS[at].as_bytes());
            TextCase { text: TEXTS[at].as_bytes(), string: pack_str(offset, len), target: place(at) }
        };
        let cases: Vec<_> = (0..TEXTS.len()).filter(|at| TEXTS[*at].len() <= len as usize).map(&mut case).collect();
        let (kind, words) = text_table(&cases, n);
        let table = blob.table(kind, &words);
        let end = place(TEXTS.len());
        let bodies = TEXTS
            .iter()
            .flat_map(|text| [printed(if text.is_empty() { "nothing" } else { text }), Instr::of(Op::Jump, &[end])]);
        [
            select(table),
            vec![printed("other"), Instr::of(Op::Jump, &[end])],
            bodies.collect(),
            vec![Instr::new(Op::End)],
        ]
        .concat()
    }
}

#[test]
fn a_selecting_field_has_the_value_it_would_print() {
    let mut events: Vec<Vec<u8>> = [
        "",
        "READ",
        "a\x01b",
        "a.b",
        "sixteen letters.",
        "READS",
        "sixteen letters.more",
        "READ\0more",
        "\0READ",
        "REA",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec();
    events.extend(events.clone().into_iter().map(|text| [&text[..], &[0; 20]].concat()));
    let mut found = BTreeSet::new();
    for len in 1..=16 {
        let fused = by_text(len, |table| vec![Instr::of(Op::SwitchTextAt, &[2, table, len])]);
        let apart = by_text(len, |table| {
            let text = Instr::of(Op::Text, &[2, len, 0]);
            vec![Instr::of(Op::Mark, &[0]), text, Instr::of(Op::SwitchText, &[0, table])]
        });
        for bytes in events.iter().map(|text| [b"..", &text[..]].concat()) {
            let (text, outcome) = of_bytes(&bytes, &fused);
            assert_eq!((text.clone(), outcome), of_bytes(&bytes, &apart), "{len} bytes of {bytes:?}");
            found.insert((text, outcome.truncated));
        }
    }
    let found: Vec<_> = found.iter().map(|(text, truncated)| (text.as_str(), *truncated)).collect();
    let whole = ["nothing", "READ", "READS", "a.b", "sixteen letters."].map(|text| (text, false));
    let cut = ["nothing", "READ", "READS", "a.b", "other"].map(|text| (text, true));
    assert!(whole.iter().chain(&cut).all(|wanted| found.contains(wanted)), "{found:?}");
}

/// Prints `read` for bit 0, `write` or `no write` for bit 1, `mode 2` if bits 4 to 7 are 2; `write` and `other` have
/// soft blanks.
fn flags(blob: &mut BlobBuilder) -> u32 {
    let mut string = |text: &[u8]| {
        let [offset, len] = blob.string(text);
        pack_str(offset, len)
    };
    let entries = [
        [1, 1, string(b"read"), string(b""), 0],
        [2, 2, string(b"write"), string(b"no write"), 1],
        [0xf0, 0x20, string(b" mode 2"), string(b"other"), 2],
    ];
    blob.table(TableKind::Flags, entries.as_flattened())
}

#[test]
fn flags_print_the_texts_that_match() {
    for (value, together, list) in [
        (0x23, "readwrite mode 2", "read write  mode 2"),
        (0x20, "no write mode 2", "no write  mode 2"),
        (0x33, "readwrite other", "read write other"),
        (0x01, "readno writeother", "read no write other"),
    ] {
        let code = |op| {
            move |blob: &mut BlobBuilder| {
                let table = flags(blob);
                vec![Instr::of(Op::Get, &[0, 0, WHOLE]), Instr::of(op, &[0, table]), Instr::new(Op::SoftDrop)]
            }
        };
        let bytes = u64::to_be_bytes(value);
        assert_eq!(of_bytes(&bytes, code(Op::Flags)).0, together, "{value:#x}");
        assert_eq!(of_bytes(&bytes, code(Op::FlagsList)).0, list, "{value:#x}");
    }
}

#[test]
fn flags_are_met_where_they_print_text() {
    let any = |value: u64| {
        let code = |blob: &mut BlobBuilder| {
            let [offset, len] = blob.string(b"met");
            let table = blob.table(TableKind::Flags, &[6, 4, pack_str(offset, len), 0, 0]);
            let any = Instr::of(Op::FlagsAny, &[1, 0, table]);
            vec![Instr::of(Op::Get, &[0, 0, WHOLE]), any, Instr::of(Op::PutDec, &[1])]
        };
        of_bytes(&value.to_be_bytes(), code).0
    };
    assert_eq!([4, 5, 0xfc, 6, 2, 0].map(any), ["1", "1", "1", "0", "0", "0"]);
}

#[test]
fn numbers_of_other_kinds() {
    let put = |op, value, width| of_value(value, |_| Instr::of(op, &[0, width]));
    assert_eq!(put(Op::PutFloat, 1.5f32.to_bits().into(), 4), "1.5000E+00");
    assert_eq!(put(Op::PutFloat, (-1.5f64).to_bits(), 8), "-1.5000E+00");
    assert_eq!(put(Op::PutErrno, 2, 4), "ENOENT");
    assert_eq!(put(Op::PutErrno, 2 | 1 << 32, 4), "ENOENT");
    assert_eq!(put(Op::PutErrno, 2 | 1 << 32, 8), "4294967298");
    assert_eq!(put(Op::PutErrno, 0xffff_fffe, 4), "-2");
    assert_eq!(put(Op::PutErrno, 0xffff_fffe, 8), "4294967294");
    assert_eq!(put(Op::PutErrno, 0xfe, 1), "-2");
    assert_eq!(put(Op::PutErrno, u64::MAX, 8), "-1");
    let number = |_: &mut BlobBuilder| vec![Instr::of(Op::Get, &[0, 0, WHOLE]), Instr::of(Op::PutErrno, &[0, 8])];
    assert_eq!(print_all("errno=number\n", number, &[event(&2u64.to_be_bytes())], &Context::EMPTY)[0].0, "2");
    let sext = |value, count| {
        let code =
            [Instr::of(Op::Get, &[0, 0, WHOLE]), Instr::of(Op::Sext, &[1, 0, count]), Instr::of(Op::PutInt, &[1])];
        of(&u64::to_be_bytes(value), &code)
    };
    assert_eq!([1, 4, 63, 64].map(|count| sext(u64::MAX, count)), ["-1"; 4]);
    assert_eq!(
        [(0x17, 4), (0x1b, 4), (1, 1), (2, 1), (1 << 63, 64)].map(|(v, n)| sext(v, n)),
        ["7", "-5", "-1", "0", "-9223372036854775808"]
    );
    let bits = |value: u64, low, count| {
        let bits = Instr::of(Op::Bits, &[1, 0, low, count]);
        of(&value.to_be_bytes(), &[Instr::of(Op::Get, &[0, 0, WHOLE]), bits, Instr::of(Op::PutHexMin, &[1])])
    };
    let value = 0x1234_5678_9abc_def0;
    assert_eq!(bits(value, 0, 64), "123456789abcdef0");
    assert_eq!(bits(value, 4, 63), "123456789abcdef");
    assert_eq!((bits(value, 4, 8), bits(u64::MAX, 63, 1), bits(u64::MAX, 0, 1)), ("ef".into(), "1".into(), "1".into()));
}

#[test]
fn missing_bytes_are_zeros_in_hex() {
    let bytes: Vec<u8> = (0xa0..0xb0).collect();
    for len in [9, 15, 16] {
        for held in 0..=16 {
            let mut expected: String = bytes[..held.min(len)].iter().map(|byte| format!("{byte:02X}")).collect();
            expected.push_str(&"00".repeat(len - held.min(len)));
            for instr in [Instr::of(Op::HexBytes, &[0, len as u32]), Instr::of(Op::TakeHexBytes, &[len as u32])] {
                let (text, outcome) = of_bytes(&bytes[..held], |_| vec![instr]);
                assert_eq!((text, outcome.truncated), (expected.clone(), held < len), "{len} bytes of {held}");
            }
        }
    }
}

#[test]
fn timers_tell_the_time_between_two_events() {
    let code = |blob: &mut BlobBuilder| {
        let (kind, words) = number_table(&[(1, 2), (2, 4)], 6);
        let table = blob.table(kind, &words);
        vec![
            Instr::of(Op::Load, &[0, 0, 4]),
            Instr::of(Op::Switch, &[0, table]),
            Instr::of(Op::TimerStart, &[1, 2]),
            Instr::new(Op::End),
            Instr::of(Op::TimerEnd, &[1, 2]),
            Instr::new(Op::End),
            Instr::new(Op::Stop),
        ]
    };
    let (start, end): (&[u8], &[u8]) = (&[0, 0, 0, 1, 0, 0, 0, 0], &[0, 0, 0, 2, 0, 0, 0, 0]);
    let elapsed = |dialect, ns: u64| {
        let at = |bytes, time_ns| Event { time_ns, ..event(bytes) };
        let events = [at(start, 500), at(end, 500 + ns), at(end, 9)];
        let texts = print_all(dialect, code, &events, &Context::EMPTY);
        assert_eq!((texts[0].0.as_str(), texts[2].0.as_str()), ("", ""), "a timer ends once");
        texts[1].0.clone()
    };
    assert_eq!([0, 999, 1000, 999_999].map(|ns| elapsed("", ns)), ["[0 usec]", "[0 usec]", "[1 usec]", "[999 usec]"]);
    assert_eq!([1_000_000, 2_999_999].map(|ns| elapsed("", ns)), ["[1 msec]", "[2 msec]"]);
    assert_eq!([4_999_999, 5_000_000].map(|ns| elapsed("msec=5000\n", ns)), ["[4999 usec]", "[5 msec]"]);
}

/// Expected escapes of a string up to its NUL, and its length.
fn escaped(bytes: &[u8]) -> (String, usize) {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let mut text = Vec::new();
    for byte in &bytes[..end] {
        match *byte {
            b'\t' => text.extend(b"\\t"),
            b'\n' => text.extend(b"\\n"),
            b'\r' => text.extend(b"\\r"),
            byte if byte < 0x20 || byte == 0x7f => text.extend(format!("\\x{byte:02x}").bytes()),
            byte => text.push(byte),
        }
    }
    (String::from_utf8_lossy(&text).into_owned(), end)
}

#[test]
fn fixed_strings_end_at_nul_or_event_end() {
    let string = Instr::of(Op::StringAt, &[3, 1, 3]);
    let rest = [after_text("=>", string), Instr::new(Op::PtrGet), Instr::of(Op::PutDec, &[0])];
    for len in [0, 1, 2, 3, 4, 5, 7, 8, 10, 11, 12, 13, 18, 19, 20, 66, 67, 68, 90, 378, 379, 380, 420] {
        for special in (3..len).filter(|at| len < 30 || at % 7 == 2 || *at + 9 > len) {
            for (byte, fill) in [0, b'\t', b'\n', 0x1f, 0x20, 0x7e, 0x7f, 0x80, 0xff].into_iter().flat_map(|byte| {
                // Odd and even ones, and those with the high bit set.
                [b'~', b'a', 0xe4, 0xff].map(|fill| (byte, fill))
            }) {
                for after_text in [fill, 0, b'\r'] {
                    let mut bytes = vec![fill; len];
                    bytes[special] = byte;
                    bytes[special + 1..].iter_mut().take(1).for_each(|next| *next = after_text);
                    let (text, end) = escaped(&bytes[3..]);
                    let expected = format!("=>{text}{}", 3 + end + 1);
                    assert_eq!(of(&bytes, &rest), expected, "{len} bytes of {fill:#x}, {byte:#x} at {special}");
                }
            }
        }
        let plain = vec![b'a'; len];
        let expected = if len <= 3 { "=".into() } else { format!("=>{}{}", "a".repeat(len - 3), len + 1) };
        assert_eq!(of(&plain, &rest), expected);
    }
}

#[test]
fn surroundings_are_named() {
    let processes = ProcessNames::from([(9, b"/bin/ls".to_vec())]);
    let context =
        Context { svc: b"kread", exec_path: b"/bin/cat", log_file: b"trc", processes: &processes, ..Context::EMPTY };
    let put = |instr: Instr, bytes: &[u8], wide| {
        let load = Instr::of(Op::Load, &[0, 4, 4]);
        print_all("", |_| vec![load, instr], &[Event { wide, ..event(bytes) }], &context).remove(0).0
    };
    let name = |what: EnvText, bytes: &[u8], wide| put(Instr::of(Op::PutName, &[what as u32]), bytes, wide);
    let bytes = [0x12, 0x3a, 0, 0, 0x45, 0x67, 0, 0];
    assert_eq!(name(EnvText::Svc, &bytes, false), "kread");
    assert_eq!(name(EnvText::ExecPath, &bytes, false), "/bin/cat");
    assert_eq!(name(EnvText::LogFile, &bytes, false), "trc");
    // As in the report's columns.
    assert_eq!(name(EnvText::TraceId, &bytes, false), "123");
    assert_eq!(name(EnvText::TraceId, &bytes, true), "4567");
    assert_eq!(name(EnvText::TraceId, &[0, 0, 0, 0, 0x45, 0x60, 0, 0], true), "456");
    assert_eq!(put(Instr::new(Op::Error), &bytes, false), "ERROR: log file trc, offset 0x1234, traceid 123");
    let path = Instr::of(Op::PutPath, &[0]);
    assert_eq!(put(path, &[0, 0, 0, 0, 0, 0, 0, 9], false), "/bin/ls");
    assert_eq!(put(path, &[0, 0, 0, 0, 0, 0, 0, 10], false), "-10-");
    let at = |offset| {
        let event = Event { offset, ..event(&bytes) };
        print_all("", |_| vec![Instr::new(Op::Error)], &[event], &context).remove(0).0
    };
    for offset in [0, 0xf, 0x10, 0xfff, 1 << 32, u64::MAX] {
        assert_eq!(at(offset), format!("ERROR: log file trc, offset {offset:#X}, traceid 123").replace("0X", "0x"));
    }
}

#[test]
fn tabs_go_to_stops_of_the_line() {
    // The text of the hook begins in column 3 of its tab stops.
    for (before, blanks) in [("", 5), ("a", 4), ("abcd", 1), ("abcde", 8), ("abcdefghijklm", 8)] {
        let expected = format!("{before}{}|", " ".repeat(blanks));
        assert_eq!(of(&[], &[printed(before), Instr::new(Op::Tab), printed("|")]), expected);
        let second = [printed("x"), Instr::new(Op::Newline), printed(before), Instr::new(Op::Tab), printed("|")];
        assert_eq!(of(&[], &second), format!("x\n  {expected}"));
    }
}

#[test]
fn event_texts_are_padded_and_show_dots() {
    let bytes =
        b"ab\x01cdefghijklmnopqrstuvwxyz\0rest of an event that is longer than what is copied at once, and still more";
    let model = |at: usize, len: usize, pad: usize| {
        let field = bytes.get(at..).unwrap_or(&[]);
        let field = &field[..len.min(field.len())];
        let field = &field[..field.iter().position(|byte| *byte == 0).unwrap_or(field.len())];
        let shown = |byte: &u8| if (0x20..0x7f).contains(byte) { *byte as char } else { '.' };
        format!("{:pad$}", field.iter().map(shown).collect::<String>())
    };
    for at in [0, 3, 20, 30, 90, 120] {
        for len in [1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 66, 90, 200] {
            for pad in [0, 5, 30, 100] {
                let instr = Instr::of(Op::Text, &[at as u32, len as u32, pad as u32]);
                let expected = format!("{}#", model(at, len, pad));
                assert_eq!(of(bytes, &[instr, printed("#")]), expected, "{len} bytes at {at}, padded to {pad}");
                let take = Instr::of(Op::TakeText, &[len as u32, pad as u32]);
                assert_eq!(of(bytes, &[Instr::of(Op::PtrSet, &[at as u32, 0]), take, printed("#")]), expected);
            }
        }
    }
    // Longer than the room in the buffer that every instruction finds.
    let mut long = [b'l'; 1000];
    long[700] = 0x80;
    for len in [65, 240, 241, 300, 699, 700, 701, 999, 1000] {
        let shown: String = long[..len].iter().map(|byte| if *byte == 0x80 { '.' } else { 'l' }).collect();
        assert_eq!(of(&long, &[Instr::of(Op::Text, &[0, len as u32, 0])]), shown);
        let rest = &shown[..len - 1].replace('.', "l");
        let dotted: Vec<u8> = [&[1], &vec![b'l'; len - 1][..]].concat();
        assert_eq!(of(&dotted, &[Instr::of(Op::Text, &[0, len as u32, 0])]), format!(".{rest}"));
    }
    let chars = |value: u64, len, pad| of_value(value, |_| Instr::of(Op::PutChars, &[0, len, pad]));
    assert_eq!(chars(0x6162_6364_6566_6768, 8, 0), "abcdefgh");
    assert_eq!((chars(0x6162_6300, 4, 5), chars(0x6162_6300, 3, 0)), ("abc  ".into(), "bc".into()));
    assert_eq!(chars(0x6101_63ff, 4, 0), "a.c.");
}
