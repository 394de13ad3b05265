//! Typed fields of the reference: the cases of `data/fields`, the worked examples of the specification, and one test
//! per rule.
//!
//! A case contains a format file `t.trcfmt`, a stream `s.stream` with its events in `s.txt`, the listing `fields.json`,
//! and the rows `fields.ndjson`, all worked out by hand from the specification.

use std::collections::BTreeMap;
use std::path::Path;

use tfbc_grammar::{Arena, Source, Sources};
use tfbc_snapshots::differential::{LimitKind, TemplateCase, messages};
use tfbc_snapshots::generate::{Rng, seeds};
use tfbc_snapshots::reference::{Line, Reference, Timers};
use tfbc_snapshots::report::rows;
use tfbc_vm::{Context, Event, Layout, Limits, ProcessNames};

fn sources(text: &str) -> Sources {
    let mut sources = Sources::new();
    sources.add(Source::new("t.trcfmt", text));
    sources
}

/// The format file that applies if none is given.
fn default_formats() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/formats/default.trcfmt");
    std::fs::read_to_string(path).expect("the built-in format file")
}

#[test]
fn the_reference_fills_the_fields_of_every_case() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/fields");
    let mut failures = Vec::new();
    let mut n_cases = 0;
    for case in std::fs::read_dir(&data).expect("data/fields") {
        let case = case.expect("an entry").path();
        let read = |name: &str| std::fs::read(case.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let text = |name: &str| String::from_utf8(read(name)).expect("UTF-8");
        let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (arena, sources) = (Arena::new(), sources(&text("t.trcfmt")));
        let reference = Reference::parse(&arena, &sources).unwrap_or_else(|found| panic!("{}", messages(&found)));
        for (part, got) in
            [("fields.json", reference.listing()), ("fields.ndjson", rows(&reference, &read("s.stream"), b"s.stream"))]
        {
            if got != text(part) {
                failures.push(format!("{name}, {part}\n got {got}want {}", text(part)));
            }
        }
        n_cases += 1;
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(n_cases >= 12, "{n_cases} cases");
}

/// Events of one stanza, for short examples.
struct Example {
    text: String,
    timers: Timers,
    processes: ProcessNames,
    limits: Limits,
}

impl Example {
    fn new(text: &str) -> Example {
        Example {
            text: text.into(),
            timers: Timers::default(),
            processes: ProcessNames::default(),
            limits: Limits::default(),
        }
    }

    /// Row of one event of the first hook that it names; `None` for a skipped event.
    fn event(&mut self, wide: bool, hex: &str, time_ns: u64) -> Option<String> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
        let bytes: Vec<u8> = digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect();
        let hook = match wide {
            true => u16::from_be_bytes([bytes[4], bytes[5]]),
            false => u16::from_be_bytes([bytes[0], bytes[1]]) & 0xFFF0,
        };
        let (arena, sources) = (Arena::new(), sources(&self.text));
        let reference = Reference::parse(&arena, &sources).unwrap_or_else(|found| panic!("{}", messages(&found)));
        let stanza = reference.stanza(hook).expect("there is always 007");
        let schema = reference.schema(stanza);
        let errors: Vec<_> = schema.problems.iter().filter(|problem| problem.is_error).collect();
        assert!(errors.is_empty(), "{errors:?}");
        let event = Event { bytes: &bytes, wide, record: None, time_ns, offset: 0 };
        let context = Context { processes: &self.processes, ..Context::EMPTY };
        let line = Line { columns: b"", layout: Layout::default(), limits: self.limits };
        let row = reference.row(stanza, &schema, &event, &context, &mut self.timers, line);
        row.map(|row| row.to_json())
    }

    /// Row of a 32-bit event.
    fn row(&mut self, hex: &str) -> String {
        self.event(false, hex, 0).expect("the event is not skipped")
    }
}

/// Names and types of the first stanza's fields, separated by blanks.
fn schema(text: &str) -> String {
    listing(text, &["name", "type"]).iter().map(|field| field.join(":")).collect::<Vec<_>>().join(" ")
}

/// Values of keys in the listing of the first stanza. Good enough for flat fields.
fn listing(text: &str, keys: &[&str]) -> Vec<Vec<String>> {
    let (arena, sources) = (Arena::new(), sources(text));
    let reference = Reference::parse(&arena, &sources).unwrap_or_else(|found| panic!("{}", messages(&found)));
    let json = reference.listing();
    let line = json.lines().nth(1).expect("a stanza");
    let fields = line.split_once("\"fields\":[").expect("fields").1;
    let value = |object: &str, key: &str| {
        let at = object.find(&format!("\"{key}\":"))? + key.len() + 3;
        let rest = object[at..].trim_start_matches('"');
        Some(rest[..rest.find(['"', ',', '}']).unwrap_or(rest.len())].to_owned())
    };
    let objects = fields.split("},{").filter(|object| object.contains("\"name\""));
    objects.map(|object| keys.iter().filter_map(|key| value(object, key)).collect()).collect()
}

/// Names of the first stanza's fields.
fn names(text: &str) -> String {
    listing(text, &["name"]).concat().join(" ")
}

/// Names and rules of the first stanza's fields, without text columns.
fn rules(text: &str) -> String {
    let pairs = listing(text, &["name", "rule"]).into_iter().filter(|pair| pair.len() == 2);
    pairs.map(|pair| pair.join(":")).collect::<Vec<_>>().join(" ")
}

fn stanza(body: &str) -> String {
    format!("015 1.0 \"\" {body}\n")
}

/// Minimum number of templates per 100 with something that the rules distinguish.
const COMMON: &[(&str, usize)] = &[
    ("at the end", 20),
    ("code of a comment", 20),
    ("column's name", 20),
    ("enum", 8),
    ("flag", 8),
    ("in a list: flag", 2),
    ("in a list: rule Macro", 10),
    ("in a list: rule Position", 20),
    ("in a list: rule Text", 20),
    ("in a list: several printed values", 2),
    ("in a list: text", 10),
    ("in a list: type List, hint none", 2),
    ("in a list: type ListOfStructs, hint none", 2),
    ("list of texts", 40),
    ("long name", 10),
    ("number", 40),
    ("omitted", 20),
    ("own printed value", 8),
    ("own printed value with a text", 2),
    ("own switch", 2),
    ("rule Case", 4),
    ("rule Comment", 40),
    ("rule Macro", 50),
    ("rule Position", 50),
    ("rule Text", 50),
    ("rule Timer", 20),
    ("several lists", 1),
    ("several printed values", 4),
    ("surplus entries", 8),
    ("switch with the form of an own printed value", 6),
    ("text value List", 20),
    ("text value Null", 40),
    ("text value Text", 30),
    ("type Binary, hint hex", 4),
    ("type Bool, hint bin", 20),
    ("type FixedBinary(12), hint hex", 4),
    ("type Float32, hint none", 10),
    ("type Float64, hint none", 10),
    ("type Int64, hint errno", 20),
    ("type Int64, hint ns", 20),
    ("type Int64, hint pid", 20),
    ("type Timestamp, hint none", 20),
    ("type Uint64, hint none", 10),
    ("type Uint64, hint oct", 10),
    ("value Float64", 8),
    ("value List", 20),
    ("value Null", 50),
    ("value Time", 10),
];

#[test]
fn generated_templates_reach_every_rule() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let seeds = seeds(200);
    for seed in seeds.clone() {
        let mut rng = Rng::new(seed);
        let case = TemplateCase::new(&mut rng, 1 + (seed % 40) as usize, LimitKind::Turns).commented(&mut rng);
        let (arena, sources) = (Arena::new(), case.sources());
        let reference = Reference::parse(&arena, &sources).unwrap_or_else(|found| panic!("{}", messages(&found)));
        let mut found = Vec::new();
        for stanza in reference.stanzas_of_files() {
            let schema = reference.schema(stanza);
            let errors = schema.problems.iter().filter(|problem| problem.is_error).count();
            assert_eq!(errors, 0, "seed {seed}: {:?}\n{}", schema.problems, case.template.source);
            found.extend(schema.traits());
        }
        for row in case.rows(&reference) {
            let Some(row) = row else {
                found.push("skipped".into());
                continue;
            };
            for (name, value) in row.fields {
                let kind = if name.ends_with("_text") { "text " } else { "" };
                let value = format!("{value:?}");
                let value = value.split(['(', ' ']).next().unwrap_or_default();
                found.push(format!("{kind}value {value}"));
            }
        }
        found.sort_unstable();
        found.dedup();
        for text in found {
            *counts.entry(text).or_default() += 1;
        }
    }
    println!("{counts:#?}");
    for (text, least) in COMMON {
        let count = counts.get(*text).copied().unwrap_or_default();
        let least = least * (seeds.end - seeds.start) as usize / 100;
        assert!(count >= least, "{text}: {count} templates instead of {least}");
    }
}

mod worked_examples {
    use super::*;

    const SEED_010: &str = "010 1.0 L=APPL \"USER EVENT - HKWD_USER1\" O2.0 \\n\\\n\
        \"The # of loop iterations =\" U4\\n\\\n\"The elapsed time of the last loop = \"\\\n\
        endtimer(0x010,0x010) starttimer(0x010,0x010)\n";

    #[test]
    fn seed_010() {
        let mut example = Example::new(SEED_010);
        assert_eq!(example.event(false, "01020000 00000001", 0).unwrap(), r#"{"loop_iterations":1}"#);
        let second = example.event(false, "01020000 00000002", 7936).unwrap();
        assert_eq!(second, r#"{"loop_iterations":2,"elapsed_time_last_loop":7936}"#);
    }

    #[test]
    fn seed_010_with_a_comment() {
        let mut example = Example::new(&format!("# tfbc: fields=iterations, loop_time\n{SEED_010}"));
        assert_eq!(example.event(false, "01020000 00000001", 0).unwrap(), r#"{"iterations":1}"#);
        let second = example.event(false, "01020000 00000002", 7936).unwrap();
        assert_eq!(second, r#"{"iterations":2,"loop_time":7936}"#);
    }

    #[test]
    fn flags_of_seed_003() {
        let flags = "BITFLAGS $omode%o4, 00400 \"r\" \"-\", 00200 \"w\" \"-\"";
        let head = "{{ $omode = $D2 }} \"fd=\" $D1%UW";
        let with_text = format!("011 1.0 \"\" {head} \"mode=\" {flags}\n");
        let row = Example::new(&with_text).row("01130000 00000003 00000100");
        assert_eq!(row, r#"{"fd":3,"mode":256,"mode_text":["r"]}"#);
        assert_eq!(schema(&with_text), "fd:uint64 mode:int64 mode_text:list");
        assert_eq!(names(&format!("011 1.0 \"\" {head} {flags}\n")), "fd omode omode_text");
    }

    #[test]
    fn seed_001() {
        let text = "900 1.0 \"ESDI STRATEGY\" {{ $rv = 0 }} {{ $stat = X2 }} $90F \\n\\\n\
            special_esdi_status=$stat for minor device $rv\n\
            90F 1.0 \"\" G4 {{ $return }} block number X4 \\n byte count X4 \\n B0.1, 1 B_FLAG0 B0.1, 1 B_FLAG1 \\\n\
            B0.1, 1 B_FLAG2 G16 {{ $return = X2 }}\n";
        let row = Example::new(text).row("90050005 00000010 00001000 A0000000 00030000");
        let expected = concat!(
            r#"{"block_number":16,"byte_count":4096,"b_flag0":true,"b_flag1":false,"b_flag2":true,"#,
            r#""special_esdi_status":5,"minor_device":3}"#
        );
        assert_eq!(row, expected);
        let cut = Example::new(text).row("90020005 00000010");
        assert_eq!(cut, r#"{"block_number":16,"special_esdi_status":5}"#);
    }

    #[test]
    fn switches() {
        let state = stanza("\"state=\" $D2%U4, 0 \"off\", 1 \"on\", \\* \"unknown\"");
        assert_eq!(Example::new(&state).row("01530000 00000000 00000001"), r#"{"state":1,"state_text":"on"}"#);
        let error = stanza("$D2, 0 \"\", \\* { \"error=\" $D2%EW }");
        let mut example = Example::new(&error);
        assert_eq!(example.row("01530000 00000000 00000002"), r#"{"error":2,"error_text":"ENOENT"}"#);
        assert_eq!(example.row("01530000 00000000 00000000"), r#"{"error":0}"#);
        let kind = stanza("\"kind=\" $D1%UW, 1 \"DATA\", \\* { $D1%UW } \" \"");
        assert_eq!(schema(&kind), "kind:uint64 kind_text:dictionary");
        assert_eq!(Example::new(&kind).row("01520000 00000009"), r#"{"kind":9}"#);
    }

    #[test]
    fn bytes_of_a_loop() {
        let text = stanza("G1.5 {{ $count = B0.5 }} G11 LOOP $count {X0}");
        assert_eq!(schema(&text), "f1:binary");
        // The count is in the last three bits of byte 1 and the first two of byte 2.
        let row = Example::new(&text).row("01500000 00000000 00000001 020300");
        assert_eq!(row, r#"{"f1":""}"#);
        let row = Example::new(&text).row("0150C000 00000000 00000001 020300");
        assert_eq!(row, r#"{"f1":"010203"}"#);
    }

    #[test]
    fn built_in_stanzas() {
        let mut example = Example::new(&default_formats());
        let kind = example.row("10030000 00000004 00000010");
        assert_eq!(kind, r#"{"kind":4,"kind_text":"I/O INTERRUPT","iar":16,"cpuid":0}"#);
        assert_eq!(example.row("10030001 00000063 00000010"), r#"{"kind":99,"iar":16,"cpuid":1}"#);
        let lvm = example.row("10550001 00000010 00000002 00000003 00000004");
        assert_eq!(lvm, r#"{"event":1,"bp":16,"device":2,"block":3,"length":4}"#);
        let exec = example.event(true, "C0000004 13400000 00000000 00000001 6C730000", 0);
        assert_eq!(exec.unwrap(), r#"{"cmd":"ls","arg_pid":1}"#);
        let names = schema("134 1.0 \"\" \"cmd=\" $GENERIC, 1 { W2 $HL%S4 }, \\* { $D1%PW } \" pid=\" $D1%UW");
        assert_eq!(names, "cmd:utf8 cmd_2:int64 cmd_2_text:dictionary arg_pid:uint64");
        let undefined = example.row("FFF20000 01020304");
        assert_eq!(undefined, r#"{"hookword":4294049792,"data":"01020304"}"#);
        let dispatch = example.event(false, "10660002 0000012C 00000007 0000003C 00000008 0000003D", 0);
        let expected = r#"{"cmd":300,"arg_pid":300,"arg_tid":7,"priority":60,"old_tid":8,"old_priority":61,"cpuid":2}"#;
        assert_eq!(dispatch.unwrap(), expected);
    }
}

mod names {
    use super::*;

    #[test]
    fn the_text_before_a_showing_names_it() {
        let check = |body: &str, expected: &str| assert_eq!(rules(&stanza(body)), expected, "{body}");
        check("\"a=\" U4 U4", "a:text f2:position");
        check("\"a=\" \\n U4", "f1:position");
        check("block number X4 \\n byte count X4", "block_number:text byte_count:text");
        check("\"x\" \\t \"y \" U4", "x_y:text");
        check("\"tid=\" $TID U4", "f1:position");
        check("\"a=\" endtimer(1,1) endtimer(1,1)", "a:text timer:timer");
        check("`a=X2` `b=$D1`", "x2b:text");
        check("`a= X2 `", "a:text");
        check("\"a=\" BITFLAGS $HL, 1 \"x\" \"y\" $D1", "d1:macro");
        check("\"a=\" LOOP $HL { \"x\" } $D1", "d1:macro");
        check("\"a=\" {{ $x = U4 }} O4 starttimer(1,1) U4", "a:text");
        check("\"len=\" $HL%S2 $HL%S2", "len:text f2:position");
        check("{{ $x = 1 }} $x%A4 $HD%U2", "x:macro hd:macro");
    }

    #[test]
    fn calls_continue_the_text() {
        let text = "015 1.0 \"EVENT\" {{ show(v) \"= \" $v }} \"count \" show(U4) $90F U4\n90F 1.0 \"sub\" more U4 \"next \"\n";
        // The label of the event does not count; the label of the subroutine does.
        assert_eq!(rules(text), "count:text sub_more:text next:text");
        assert_eq!(rules("015 1.0 \"EVENT \" U4\n"), "f1:position");
        assert_eq!(rules("015 1.0 \"\" $90F U4\n90F 1.0 \"@hidden\" O0\n"), "f1:position");
    }

    #[test]
    fn a_selector_with_a_name_uses_the_text_up() {
        let named = stanza("\"a=\" U4, 1 { X4 } \"b=\" U4");
        assert_eq!(rules(&named), "a:text f2:position b:text");
        let unnamed = stanza("\"a=\" $GENERIC, 1 { X4 }, 2 { \"b (\" X4 }");
        assert_eq!(rules(&unnamed), "a:text f2:position");
        let phrase = stanza("\"a (\" U4, 1 { \"b \" X4 } X4");
        assert_eq!(rules(&phrase), "f1:position b:text f3:position");
    }

    #[test]
    fn flags_are_named_by_their_case() {
        assert_eq!(rules(&stanza("B0.1, 1 B_FLAG0 B0.1, 1 { \"is \" \\n \"on\" }")), "b_flag0:case is_on:case");
        assert_eq!(rules(&stanza("B0.1, 0 \"off\"")), "f1:position");
        assert_eq!(rules(&stanza("B0.1, 1 \"x\", 0 \"y\"")), "f1:position");
        assert_eq!(rules(&stanza("B0.2, 1 \"x\"")), "f1:position");
        assert_eq!(rules(&stanza("B0.1, 1 { \"x\" U4 }")), "f1:position x:text");
        assert_eq!(rules(&stanza("$D1%B0.1, 1 \"x\"")), "d1:macro");
    }

    #[test]
    fn equal_names_get_numbers() {
        let check = |body: &str, expected: &str| assert_eq!(names(&stanza(body)), expected, "{body}");
        check("\"a=\" U4 \"a=\" X4 \"a=\" U4", "a a_2 a_3");
        check("\"pid=\" U4 \"pid=\" U4", "arg_pid arg_pid_2");
        // `x_2` is in use, and so is `e_2_text`.
        check("\"x_2 \" U4 \"x=\" U4 \"x=\" U4", "x_2 x x_3");
        check("\"x=\" U4 \"x=\" U4 \"x_2 \" U4", "x x_3 x_2");
        check("\"e=\" E4 \"x text=\" U4 \"e=\" E4", "e e_text arg_text e_2 e_2_text");
        check("\"e_2_text \" U4 \"e=\" U4 \"e=\" E4", "e_2_text e e_3 e_3_text");
        check("\"e_text \" U4 \"e=\" E4", "e_text e_2 e_2_text");
        check("\"f2 \" X4 X4", "f2 f2_2");
    }

    #[test]
    fn lists_are_named_by_text_or_only_field() {
        let check = |body: &str, expected: &str| assert_eq!(rules(&stanza(body)), expected, "{body}");
        check("\"list=\" LOOP B1 { \"a=\" U4 }", "list:text");
        check("LOOP B1 { \"a=\" U4 }", "a:text");
        check("\"a (\" LOOP B1 { \"b \" U4 }", "b:text");
        check("LOOP B1 { $D1 }", "d1:macro");
        check("LOOP B1 { LOOP B1 { \"a=\" U4 } }", "a:text");
        check("LOOP B1 { X0 }", "f1:position");
        // The text of an error counts as a second field.
        assert!(names(&stanza("LOOP B1 { \"rc=\" E2 }")).starts_with("f1 "));
    }
}

mod merged {
    use super::*;

    #[test]
    fn equal_showings_of_different_cases_are_one_field() {
        let check =
            |cases: &str, expected: &str| assert_eq!(schema(&stanza(&format!("HB, {cases}"))), expected, "{cases}");
        check("1 { \"a=\" U4 }, 2 { \"a=\" U2 }", "f1:int64 a:int64");
        check("1 { \"a=\" U4 }, 2 { \"a=\" X4 }", "f1:int64 a:int64 a_2:int64");
        check("1 { \"a=\" U4 \"a=\" U4 }, 2 { \"a=\" U4 \"b=\" U4 \"a=\" U4 }", "f1:int64 a:int64 a_2:int64 b:int64");
        check("1 { U4 }, 2 { U4 }", "f1:int64 f2:int64 f3:int64");
        check("1 { $D1 }, 2 { \"d1=\" $D2 }", "f1:int64 d1:uint64");
        // Values with a text and without one are the same field; a text and a list of texts are two fields.
        check("1 { \"a=\" X4 }, 2 { \"a=\" X4, 0 \"zero\" }", "f1:int64 a:int64 a_text:dictionary");
        let two = "f1:int64 a:int64 a_text:list a_2:int64 a_2_text:dictionary";
        check("1 { \"a=\" BITFLAGS X4, 1 \"r\" O0 }, 2 { \"a=\" X4, 0 \"zero\" }", two);
    }

    #[test]
    fn lists_are_one_field_if_their_types_are_equal() {
        let check =
            |cases: &str, expected: &str| assert_eq!(schema(&stanza(&format!("HB, {cases}"))), expected, "{cases}");
        // A list of numbers does not contain the name of its only member.
        check("1 { \"a=\" LOOP B1 { U4 } }, 2 { LOOP B1 { \"a=\" U4 } }", "f1:int64 a:list");
        check("1 { \"a=\" LOOP B1 { U4 } }, 2 { LOOP B1 { \"a=\" X4 } }", "f1:int64 a:list a_2:list");
        let n_lists = |one: &str, other: &str| {
            let case = |body: &str| format!("{{ \"a=\" LOOP B1 {{ {body} }} }}");
            let text = stanza(&format!("HB, 1 {}, 2 {}", case(one), case(other)));
            schema(&text).split(' ').filter(|field| field.starts_with('a')).count()
        };
        // Items with several columns have their names.
        assert_eq!(n_lists("\"x=\" U4 \"y=\" U4", "\"x=\" U4 \"y=\" U4"), 1);
        assert_eq!(n_lists("\"x=\" U4 \"y=\" U4", "\"x=\" U4 \"z=\" U4"), 2);
        assert_eq!(n_lists("\"x=\" E4", "\"y=\" E4"), 2);
    }

    #[test]
    fn rows_take_the_value_of_the_case_that_ran() {
        let text = stanza(
            "\"k=\" $D1%U4, 1 { \"a=\" $D2%U4 }, 2 { \"b=\" $D3%U4 \"a=\" $D3%U4 }, 3 { \"a=\" $D2%U4, 5 \"five\" }",
        );
        let mut example = Example::new(&text);
        assert_eq!(example.row("01540000 00000001 00000005 00000006"), r#"{"k":1,"a":5}"#);
        assert_eq!(example.row("01540000 00000002 00000005 00000006"), r#"{"k":2,"a":6,"b":6}"#);
        assert_eq!(example.row("01540000 00000003 00000005 00000006"), r#"{"k":3,"a":5,"a_text":"five"}"#);
        assert_eq!(example.row("01540000 00000004 00000005 00000006"), r#"{"k":4}"#);
    }
}

mod own_items {
    use super::*;

    fn check(body: &str, expected: &str) {
        assert_eq!(schema(&stanza(body)), expected, "{body}");
    }

    #[test]
    fn the_width_decides() {
        check("$D1%U4, 1 { $D1%X4 }", "d1:int64");
        check("$D1%U4, 1 { $D1 }", "d1:int64 d1_2:uint64");
        check("$D1%U4, 1 { $D1%UW }", "d1:int64 d1_2:uint64");
        check("$D1%UW, 1 { $D1 }", "d1:uint64");
        check("$D1, 1 { $D1%E4 }, 2 { $D1%X2 $D1%D4 }", "d1:int64 d1_text:dictionary d1_2:int64");
        check("$HD%U2, 1 { $HD }", "hd:int64");
        check("$L1%Q, 1 { $L1%X8 }", "l1:uint64");
        // An unknown cast has 8 bytes. Without a cast, the word has another width.
        check("$D2%Q, 1 { $D2 \"s=\" $D2%X8 }", "s:uint64 d2:uint64");
        check("$D1, 1 { $D1%W0.3 }", "d1:uint64 d1_2:uint64");
        check("$D1%W0.3, 1 { $D1%W0.3 $D1%W0.4 }", "d1:uint64 d1_2:uint64");
        check("$D1%U4, 1 { $D1%A4 }", "d1:int64 d1_2:utf8");
        check("$D1%U4 & 3, 1 { $D1%U4 }", "d1:int64 d1_2:int64");
    }

    #[test]
    fn assignments_and_loops_end_them() {
        let text = |cases: &str| format!("{{{{ $x = $D1 }}}} $x%U4, {cases}");
        check(&text("1 { {{ $x = 2 }} $x%U4 }, 2 { $x%U4 }"), "x:int64 x_2:int64");
        check(&text("1 { LOOP $HL { $x%U4 } }"), "x:int64 x_2:list");
        let renamed = "015 1.0 \"\" {{ $x = $D1 }} $x%U4, 1 { $90F }\n90F 1.0 \"\" {{ $y }} \"y=\" $y%X4\n";
        assert_eq!(schema(renamed), "y:int64");
    }

    #[test]
    fn a_switch_on_the_same_macro_fills_the_text() {
        let text = stanza("\"a=\" $D1%U4, 0 \"zero\", \\* { $D1%U4, 1 \"one\", 2 { \"b=\" $D1%X4 } }");
        assert_eq!(schema(&text), "a:int64 a_text:dictionary");
        let mut example = Example::new(&text);
        assert_eq!(example.row("01520000 00000000"), r#"{"a":0,"a_text":"zero"}"#);
        assert_eq!(example.row("01520000 00000001"), r#"{"a":1,"a_text":"one"}"#);
        assert_eq!(example.row("01520000 00000002"), r#"{"a":2}"#);
    }

    #[test]
    fn showings_in_uncast_switches_decide_if_they_are_outer() {
        let inner = "1 { $D1 }, 2 { $D1, 3 \"three\" }, 4 { $D1, 5 \"five\", 6 { $D1%E4 } }";
        check(&format!("$D1, {inner}"), "d1:uint64 d1_text:dictionary d1_2:int64 d1_2_text:dictionary");
        check("{{ $x = $D1 }} $x%UW, 1 { $x, 2 { $x%DW }, 3 \"three\" }", "x:uint64 x_text:dictionary");
        // After an assignment, the inner switch is as wide as the macro.
        let assigned = "{{ $x = $D1 }} $x%UW, 1 { $x, 2 { {{ $x = 3 }} $x%DW } }";
        check(assigned, "x:uint64 x_2:uint64 x_3:int64");
    }

    #[test]
    fn only_a_showing_that_ran_adds_its_text() {
        let mut example = Example::new(&stanza("\"a=\" $D1%UW, \\* { $D1, 2 { $D1%EW }, 3 {} }"));
        assert_eq!(example.row("01520000 00000002"), r#"{"a":2,"a_text":"ENOENT"}"#);
        assert_eq!(example.row("01520000 00000003"), r#"{"a":3}"#);
    }

    #[test]
    fn the_text_of_an_own_item_comes_last() {
        let text = stanza("\"a=\" $D1%UW, 1 \"DATA\", 2 { $D1%EW }, 3 { \"x\" O0 $D2%U4 }");
        let mut example = Example::new(&text);
        assert_eq!(example.row("01520000 00000001"), r#"{"a":1,"a_text":"DATA"}"#);
        assert_eq!(example.row("01520000 00000002"), r#"{"a":2,"a_text":"ENOENT"}"#);
        assert_eq!(example.row("01520000 00000003"), r#"{"a":3}"#);
    }
}

mod texts {
    use super::*;

    #[test]
    fn cases_of_text_only_give_the_text() {
        let check = |body: &str, expected: &str| {
            let row = Example::new(&stanza(&format!("\"a=\" $D1%U4, 1 {body}, 2 \"two\""))).row("01520000 00000001");
            assert_eq!(row, format!("{{\"a\":1{expected}}}"), "{body}");
        };
        check("\" one \"", r#","a_text":"one""#);
        check("{ one \"two\" three \\n four }", r#","a_text":"one twothree four""#);
        check("{ \"one\" \\t \\t \"two\" }", r#","a_text":"one  two""#);
        check("{ \"one\" {{ $x = 1 }} O4 starttimer(1,1) $BREAK U4 }", r#","a_text":"one""#);
        check("\" \"", "");
        check("{ \"one\" $TID }", "");
        check("{ \"one\" BITFLAGS $TID, 1 \"x\" }", "");
        check("{ \"one\" LOOP $HL { } }", "");
        check("{ \"one\" $ERROR }", "");
    }

    #[test]
    fn flags_list_the_texts_that_apply() {
        let flags = "\"m=\" BITFLAGS $D1%X4, 1 \"a \" \"no\", 2 \"\", 4 \"a \", & f0 20 \"b\", & f0 30 c";
        let text = stanza(flags);
        assert_eq!(Example::new(&text).row("01520000 00000025"), r#"{"m":37,"m_text":["a","a","b"]}"#);
        assert_eq!(Example::new(&text).row("01520000 00000000"), r#"{"m":0,"m_text":[]}"#);
        assert_eq!(Example::new(&text).row("01510000"), "{}");
    }
}

mod nulls {
    use super::*;

    #[test]
    fn reads_past_the_end_are_null() {
        let row = |body: &str| Example::new(&stanza(body)).row("01530000 00000005 41424300");
        assert_eq!(row("\"a=\" U4 \"b=\" U4 \"c=\" U4"), r#"{"a":0,"b":344386}"#);
        assert_eq!(row("O6 \"t=\" A4 \"u=\" A4"), r#"{"t":"ABC"}"#);
        assert_eq!(row("O6 \"t=\" A3 G9 \"u=\" A5"), r#"{"t":"ABC","u":"BC"}"#);
        assert_eq!(row("{{ $x = $D2 }} {{ $y = $D3 + 1 }} \"x=\" $x%U4 \"y=\" $y"), r#"{"x":1094861568}"#);
        assert_eq!(row("{{ $y = $D3 }} {{ $y = 1 }} \"y=\" $y \"z=\" $z"), r#"{"y":1,"z":0}"#);
        assert_eq!(row("{{ f(v) \"v=\" $v }} f($L3) f($D1)"), r#"{"v_2":5}"#);
        assert_eq!(row("\"s=\" $D3%U4, 0 \"zero\""), "{}");
    }

    #[test]
    fn a_generic_event_has_one_data_word() {
        let row = Example::new(&stanza("$D1%U4 $D2%U4 $L1 $L2")).row("01500004 00000005 41424300");
        assert_eq!(row, r#"{"d1":5,"l1":5}"#);
    }

    #[test]
    fn fields_after_the_end_of_the_event_are_null() {
        let row = |body: &str| Example::new(&stanza(body)).row("01530000 00000005 41424300");
        assert_eq!(row("$D1%U4 $BREAK $D2"), r#"{"d1":5}"#);
        assert_eq!(row("$HL, 8 { $ERROR $D1%U4 } $D2"), r#"{"d1":5}"#);
        assert_eq!(row("$D1%U4, 5 { \"five\" $BREAK }"), r#"{"d1":5,"d1_text":"five"}"#);
        let skipped = Example::new(&stanza("$D1 $SKIP")).event(false, "01520000 00000005", 0);
        assert_eq!(skipped, None);
    }

    #[test]
    fn only_the_limit_of_turns_ends_a_row() {
        let mut example = Example::new(&stanza("\"a=\" $D1%U4 \"l=\" LOOP $HL { \"t\" U1 } \"b=\" $D1%U4"));
        example.limits = Limits { turns: 2, text: 1, ..Limits::default() };
        assert_eq!(example.row("01520000 00000005"), r#"{"a":5,"l":[0,0]}"#);
        example.limits.turns = 100;
        assert_eq!(example.row("01520000 00000005"), r#"{"a":5,"l":[0,0,0,0],"b":5}"#);
    }
}

mod lists {
    use super::*;

    #[test]
    fn bytes_and_texts() {
        let row = |body: &str, event: &str| Example::new(&stanza(body)).row(event);
        assert_eq!(row("W1 \"a=\" LOOP $HL { X1 }", "01530000 00000005 41420043"), r#"{"a":"0000000541420043"}"#);
        assert_eq!(row("W2 \"a=\" LOOP $HD { A1 }", "01530004 00000005 41420043"), r#"{"a":"ABC"}"#);
        // The last turn reads past the end, and no other turn begins.
        assert_eq!(row("W2 \"a=\" LOOP $HD { X0 }", "01530009 00000005 41420043"), r#"{"a":"41420043"}"#);
        assert_eq!(row("W2 \"a=\" LOOP $HD { U2 }", "01530009 00000005 41420043"), r#"{"a":[16706,67,null]}"#);
        assert_eq!(row("\"a=\" LOOP $HD { A1 }", "01530000 00000005 41420043"), r#"{"a":""}"#);
        assert_eq!(row("\"a=\" LOOP $HD { U1 } \"b=\" LOOP $D3 { U1 }", "01530000 00000005 41420043"), r#"{"a":[]}"#);
        assert_eq!(row("X8 \"a=\" LOOP $HD { U1 }", "01520009 00000005"), "{}");
    }

    #[test]
    fn structs_and_nested_lists() {
        let text = stanza("W1 \"a=\" LOOP $HD { \"n=\" U1 \"n=\" U1, 2 \"two\" \"pid=\" LOOP B1 { U1 } }");
        let members = r#"{"a":[{"n":1,"n_2":2,"n_2_text":"two","pid":[7]},{"n":3,"n_2":4,"pid":[]}]}"#;
        assert_eq!(Example::new(&text).row("01530002 01020107 03040000"), members);
    }
}

mod comments {
    use super::*;

    #[test]
    fn names_types_and_omissions() {
        let text = "# tfbc: fields=first, -, *\n# a note\n# tfbc: fields=d:X4 remark, not an entry\n\
            015 1.0 \"\" \"a=\" $D1%U4 \"b=\" $D2%U4 \"c=\" $D3%U4 \"d=\" $D1%D4 \"e=\" $D1%U4\n";
        let row = Example::new(text).row("01540000 FFFFFFFF 00000002 00000003");
        assert_eq!(row, r#"{"first":4294967295,"c":3,"d":4294967295,"e":4294967295}"#);
        assert_eq!(rules(text), "first:comment c:text d:comment e:text");
    }

    #[test]
    fn comments_not_directly_before_a_stanza_have_no_effect() {
        assert_eq!(names("# tfbc: fields=x\n\n015 1.0 \"\" \"a=\" U4\n"), "a");
        assert_eq!(names("015 1.0 \"\" \"a=\" U4 \\\n  # tfbc: fields=x\n"), "a");
    }

    #[test]
    fn unnamed_fields_keep_their_numbers() {
        let text = "# tfbc: fields=x\n015 1.0 \"\" \"a=\" U4 \"a=\" U4\n";
        assert_eq!(names(text), "x a_2");
    }

    #[test]
    fn every_case_gets_a_text() {
        let text = "# tfbc: fields=state:enum\n015 1.0 \"\" \"s=\" $D1%B0.1, 1 \"on\"\n";
        assert_eq!(Example::new(text).row("01520000 00000001"), r#"{"state":true,"state_text":"on"}"#);
        assert_eq!(Example::new(text).row("01520000 00000000"), r#"{"state":false}"#);
    }

    #[test]
    fn switches_whose_cases_begin_with_values_have_no_texts() {
        assert_eq!(names("# tfbc: fields=state:enum\n015 1.0 \"\" HB, 1 { X0 \"a\" }, 2 \"\"\n"), "state f2");
    }

    #[test]
    fn the_limit_of_turns_leaves_no_final_value() {
        let mut example = Example::new("# tfbc: fields=n=$x\n015 1.0 \"\" {{ $x = 1 }} LOOP $HL { O0 }\n");
        assert_eq!(example.row("01520000 00000005"), r#"{"n":1}"#);
        example.limits.turns = 2;
        assert_eq!(example.row("01520000 00000005"), "{}");
    }

    #[test]
    fn events_ended_by_an_error_have_no_final_value() {
        let row = |body: &str| {
            let text = format!("# tfbc: fields=n=$x\n015 1.0 \"\" {{{{ $x = 1 }}}} {body}\n");
            Example::new(&text).row("01520000 00000005")
        };
        assert_eq!(row("$HL, 4 { $ERROR }"), "{}");
        assert_eq!(row("$HL, 4 `$ERROR`"), "{}");
        assert_eq!(row("$HL, 5 { $ERROR }"), r#"{"n":1}"#);
        assert_eq!(row("$HL, 4 { $ERROR $BREAK }"), r#"{"n":1}"#);
    }

    #[test]
    fn values_at_the_end_of_the_event() {
        let text = "# tfbc: fields=n=$x%U4, last=$DATAPOINTER, addr=$IPADDR, file_name=$LOGFILE, err=$x%E4\n\
            015 1.0 \"\" {{ $x = 1 }} $D1%U4, 5 { {{ $x = 2 }} O7 $BREAK }\n";
        let row = Example::new(text).row("01520000 00000005");
        assert_eq!(row, r#"{"d1":5,"n":2,"last":9,"addr":0,"err":2,"err_text":"ENOENT"}"#);
        assert_eq!(schema(text), "d1:int64 n:int64 last:int64 addr:int64 file_name:utf8 err:int64 err_text:dictionary");
    }

    #[test]
    fn errors_leave_the_field_as_it_is() {
        let check = |entries: &str, message: &str| {
            let text = format!("# tfbc: fields={entries}\n015 1.0 \"\" \"a=\" $D1 \"b=\" A4 \"c=\" $D2, 1 \"x\"\n");
            let (arena, sources) = (Arena::new(), sources(&text));
            let reference = Reference::parse(&arena, &sources).unwrap_or_else(|found| panic!("{}", messages(&found)));
            let schema = reference.schema(reference.stanza(0x0150).expect("015"));
            let found: Vec<&str> = schema.problems.iter().map(|problem| problem.message).collect();
            assert_eq!(found, [message], "{entries}");
        };
        check("pid", "the name of a column");
        check("b", "the name of another field");
        check("c_text", "the name of another field");
        check("x, x", "the name of another field");
        check("A", "not a name");
        check("a:enum", "not a switch");
        check("a:S4", "no code that can be applied to a value");
        check("*, b:U4", "this type has no other form");
        check("n=$nothing", "neither a macro of the stanza nor a predefined one with a value");
        check("*, *, *, *, *", "more entries than fields");
        // The entries are read from left to right.
        let text = "# tfbc: fields=x, a\n015 1.0 \"\" \"a=\" $D1 \"b=\" $D2\n";
        assert_eq!(names(text), "x a");
    }
}
