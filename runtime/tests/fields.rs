//! Typed fields of AIX events: the worked examples, compiled from source and loaded from a blob.
#![cfg(feature = "compile")]

use tfbc::LoadOptions;
use tfbc::testing::fields::{PreparedFields, list_json, write_row};
use tfbc::testing::formats::FormatSet;
use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Source, Sources};
use tfbc_vm::{Context, Event, EventInput, Machine, ProcessNames, TextBuf, Timers};

/// Event: hook word and data in hex, and its time.
type EventSpec<'e> = (&'e str, u64);

pub fn blob(source: &str) -> Vec<u8> {
    let mut sources = Sources::new();
    sources.add(Source::new("s.trcfmt", source));
    let compiled = compile(&sources, &Options::default());
    compiled.blob.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics))
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Fields of events in turn, as JSON. `wide` is true for 64-bit hooks.
fn fields_of(set: &FormatSet, wide: bool, events: &[EventSpec<'_>], processes: &ProcessNames) -> Vec<String> {
    let catalog = set.catalog().unwrap();
    let (mut machine, mut timers, mut scratch) = (Machine::default(), Timers::new(), TextBuf::new());
    let mut found = Vec::new();
    for (hex, time_ns) in events {
        let bytes = bytes(hex);
        let event = Event { bytes: &bytes, wide, record: None, time_ns: *time_ns, offset: 0 };
        let entry = catalog.lookup(event.hook_id()).unwrap();
        let fields = PreparedFields::new(&catalog, entry, event.env_index()).unwrap();
        let context = Context { processes, ..Context::EMPTY };
        let mut run = machine.start(catalog.program(entry), &mut timers);
        let input = EventInput { event: &event, context: &context };
        let (mut json, mut written) = (TextBuf::new(), TextBuf::new());
        // Lines of reports read most fields without the machine.
        fields.write(&mut run, &input, true, &mut written);
        let (_, row) = fields.row(&mut run, input, &mut scratch);
        write_row(fields.schema(), row, &mut json);
        assert_eq!(String::from_utf8_lossy(written.as_bytes()), String::from_utf8_lossy(json.as_bytes()));
        found.push(String::from_utf8(json.as_bytes().to_vec()).unwrap());
    }
    found
}

#[track_caller]
fn check(source: &str, events: &[EventSpec<'_>], expected: &[&str]) {
    check_with(source, false, events, &ProcessNames::new(), expected);
}

#[track_caller]
fn check_with(source: &str, wide: bool, events: &[EventSpec<'_>], processes: &ProcessNames, expected: &[&str]) {
    let set = FormatSet::from_blob(blob(source));
    assert_eq!(fields_of(&set, wide, events, processes), expected, "{source}");
}

/// The schema of `tfbc fields --to json`.
fn schema(source: &str) -> String {
    let set = FormatSet::from_blob(blob(source));
    String::from_utf8(list_json(&set.catalog().unwrap(), None)).unwrap()
}

pub const LOOPS: &str = "010 1.0 L=APPL \"USER EVENT - HKWD_USER1\" O2.0 \\n\\\n    \"The # of loop iterations =\" U4\\n\\\n    \
    \"The elapsed time of the last loop = \"\\\n    endtimer(0x010,0x010) starttimer(0x010,0x010)\n";

#[test]
fn user_event_of_the_sample() {
    let events = [("01020000 00000001", 1000), ("01020000 00000002", 8936)];
    let expected = [r#"{"loop_iterations":1}"#, r#"{"loop_iterations":2,"elapsed_time_last_loop":7936}"#];
    check(LOOPS, &events, &expected);
    let commented = format!("# tfbc: fields=iterations, loop_time\n{LOOPS}");
    check(&commented, &events, &[r#"{"iterations":1}"#, r#"{"iterations":2,"loop_time":7936}"#]);
}

#[test]
fn flags_have_a_list_of_words() {
    let flags = |name| {
        format!(
            "011 1.0 \"\" {{{{ $omode = $D2 }}}} \"fd=\" $D1%UW {name} BITFLAGS $omode%o4, 00400 \"r\" \"-\", 00200 \"w\" \"-\""
        )
    };
    let events = [("01130000 00000003 00000100", 0)];
    check(&flags("\"mode=\""), &events, &[r#"{"fd":3,"mode":256,"mode_text":["r"]}"#]);
    check(&flags(""), &events, &[r#"{"fd":3,"omode":256,"omode_text":["r"]}"#]);
}

pub const ESDI: &str = "900 1.0 \"ESDI STRATEGY\" {{ $rv = 0 }} {{ $stat = X2 }} \\\n $90F \\n\\\n \
    special_esdi_status=$stat for minor device $rv\n90F 1.0 \"\" G4 {{ $return }} \\\n block number X4 \\n\\\n \
    byte count X4 \\n\\\n B0.1, 1 B_FLAG0 \\\n B0.1, 1 B_FLAG1 \\\n B0.1, 1 B_FLAG2 \\\n G16 {{ $return = X2 }}\n";

#[test]
fn subroutines_and_flags_of_the_disk_driver() {
    check(
        ESDI,
        &[("90050005 00000010 00001000 A0000000 00030000", 0), ("90020005 00000010", 0)],
        &[
            r#"{"block_number":16,"byte_count":4096,"b_flag0":true,"b_flag1":false,"b_flag2":true,"special_esdi_status":5,"minor_device":3}"#,
            r#"{"block_number":16,"special_esdi_status":5}"#,
        ],
    );
}

#[test]
fn selectors_have_values_and_words() {
    let two = |word| format!("01520000 00000000 {word}");
    let (one, zero) = (two("00000001"), two("00000000"));
    let state = "015 1.0 \"\" \"state=\" $D2%U4, 0 \"off\", 1 \"on\", \\* \"unknown\"";
    check(state, &[(&one, 0), (&zero, 0)], &[r#"{"state":1,"state_text":"on"}"#, r#"{"state":0,"state_text":"off"}"#]);
    // If the word is missing there is no value, although the text shows `off`.
    check(state, &[("01520000 00000000", 0)], &["{}"]);
    let error = "015 1.0 \"\" $D2, 0 \"\", \\* { \"error=\" $D2%EW }";
    let enoent = two("00000002");
    check(error, &[(&enoent, 0), (&zero, 0)], &[r#"{"error":2,"error_text":"ENOENT"}"#, r#"{"error":0}"#]);
    let kind = "015 1.0 \"\" \"kind=\" $D1%UW, 1 \"DATA\", \\* { $D1%UW } \" \"";
    check(kind, &[("01520000 00000009", 0)], &[r#"{"kind":9}"#]);
}

#[test]
fn loops_over_bytes_are_bytes() {
    let source = "015 1.0 \"\" G1.5 {{ $count = B0.5 }} G11 LOOP $count {X0}";
    check(source, &[("0150c000 00000000 000000 010203", 0)], &[r#"{"f1":"010203"}"#]);
    let source = "015 1.0 \"\" W2 LOOP $D1 {X0}";
    check(source, &[("01520000 00000003 01020300", 0)], &[r#"{"f1":"010203"}"#]);
    // The count is 0, negative, or missing; the event ends in the loop.
    check(source, &[("01520000 00000000", 0), ("01520000 ffffffff", 0)], &[r#"{"f1":""}"#, r#"{"f1":""}"#]);
    check(source, &[("01520000", 0), ("01520000 00000003 0102", 0)], &["{}", r#"{"f1":"0102"}"#]);
}

#[test]
fn fields_after_the_end_of_the_event_are_null() {
    check("015 1.0 \"\" G4 \"a=\" A8 \"b=\" S2 \"c=\" X12", &[("01520000 616263", 0)], &["{}"]);
    check("015 1.0 \"\" G4 \"a=\" A8", &[("01520000 61620000 00000000", 0)], &[r#"{"a":"ab"}"#]);
    check(
        "015 1.0 \"\" G4 {{ $x = U4 + 1 }} \"x=\" $x%U4 {{ $x = 2 }} \"y=\" $x%U4",
        &[("01520000", 0)],
        &[r#"{"y":2}"#],
    );
    check("015 1.0 \"\" {{ f(v) \"v=\" $v%U4 }} f($D1) f($D2)", &[("01520000 00000007", 0)], &[r#"{"v":7}"#]);
}

#[test]
fn the_end_of_an_event_leaves_later_fields_null() {
    let source =
        "# tfbc: fields=*, *, last=$x%U4\n015 1.0 \"\" {{ $x = 5 }} \"a=\" $D1%U4 $BREAK \"b=\" $D1%U4 {{ $x = 6 }}";
    check(source, &[("01520000 00000007", 0)], &[r#"{"a":7,"last":5}"#]);
}

#[test]
fn only_a_break_keeps_the_value_at_the_end() {
    let row = |body: &str, expected: &str| {
        let source = format!("# tfbc: fields=n=$x\n015 1.0 \"\" {{{{ $x = 1 }}}} {body}\n");
        check(&source, &[("01520000 00000005", 0)], &[expected]);
    };
    row("$HL, 4 { $ERROR }", "{}");
    row("$HL, 4 `$ERROR`", "{}");
    row("$HL, 5 { $ERROR }", r#"{"n":1}"#);
    row("$HL, 4 { $ERROR $BREAK }", r#"{"n":1}"#);
}

#[test]
fn uncast_switches_are_as_wide_as_their_first_showing() {
    let three = "015 1.0 \"\" $D1, 1 { $D1 }, 2 { $D1, 3 \"three\" }, 4 { $D1, 5 \"five\", 6 { $D1%E4 } }";
    let names = |source: &str| {
        let listed = schema(source);
        let names = listed.split("{\"name\":\"").skip(1).filter_map(|field| field.split('"').next());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(three), "d1 d1_text d1_2 d1_2_text");
    let two = "015 1.0 \"\" {{ $x = $D1 }} $x%UW, 1 { $x, 2 { $x%DW }, 3 \"three\" }";
    assert_eq!(names(two), "x x_text");
    let assigned = "015 1.0 \"\" {{ $x = $D1 }} $x%UW, 1 { $x, 2 { {{ $x = 3 }} $x%DW } }";
    assert_eq!(names(assigned), "x x_2 x_3");
    let shown = "015 1.0 \"\" \"a=\" $D1%UW, \\* { $D1, 2 { $D1%EW }, 3 {} }";
    let events = [("01520000 00000002", 0), ("01520000 00000003", 0)];
    check(shown, &events, &[r#"{"a":2,"a_text":"ENOENT"}"#, r#"{"a":3}"#]);
}

#[test]
fn paths_of_processes_are_words() {
    let processes = ProcessNames::from([(7, b"/usr/bin/ls".to_vec())]);
    let source = "015 1.0 \"\" \"cmd=\" $D1%PW";
    let events = [("01520000 00000007", 0), ("01520000 00000008", 0)];
    check_with(source, false, &events, &processes, &[r#"{"cmd":7,"cmd_text":"/usr/bin/ls"}"#, r#"{"cmd":8}"#]);
}

#[test]
fn lists_have_structs_and_lists() {
    let source = "015 1.0 \"\" W2 \"all \" LOOP $D1 { \"n=\" U1 LOOP $D1 { \"x=\" X1 } }";
    check(
        source,
        &[("01520000 00000002 01 02 03 04 05 06 0000", 0), ("01520000 00000002 01 02 03 04 05", 0)],
        &[r#"{"all":[{"n":1,"x":[2,3]},{"n":4,"x":[5,6]}]}"#, r#"{"all":[{"n":1,"x":[2,3]},{"n":4,"x":[5,null]}]}"#],
    );
}

#[test]
fn comments_choose_names_and_types() {
    let source = "# tfbc: fields=-, state:enum, -, at:T4, w:X8\n\
        015 1.0 \"\" \"a=\" U4 \"s=\" $D1%U4, 0 \"idle\", 1 { \"busy \" X1 } \"t=\" $D2%U4 \"w=\" $D2%U4";
    check(
        source,
        &[("01520000 00000001 381850cd", 0)],
        &[r#"{"state":1,"state_text":"busy","at":"1999-10-28T13:34:05Z","w":941117645}"#],
    );
}

#[test]
fn the_schema_has_its_keys_in_order() {
    let source = "015 1.0 \"STATE\" \"state=\" $D2%U4, 0 \"off\", 1 \"on\", \\* \"unknown\"\n\
        016 1.0 \"ARGS\" W1 \"args=\" LOOP $GENERIC { X4 }\n";
    let expected = r#"[
{"id":"015","label":"STATE","fields":[{"name":"state","type":"int64","shown":"$D2%U4","file":"s.trcfmt","line":1,"column":26,"rule":"text"},{"name":"state_text","type":"dictionary","of":"state","texts":["off","on","unknown"]}]},
{"id":"016","label":"ARGS","fields":[{"name":"args","type":"list","items":{"type":"int64","hint":"hex"},"shown":"LOOP","file":"s.trcfmt","line":2,"column":27,"rule":"text"}]}
]
"#;
    assert_eq!(schema(source), expected);
}

/// Names of all fields, including those of the built-in format file.
#[test]
fn built_in_stanzas_have_names() {
    let set = FormatSet::load(&[], &LoadOptions::default()).unwrap();
    let catalog = set.catalog().unwrap();
    let json = String::from_utf8(list_json(&catalog, None)).unwrap();
    assert!(!json.contains("\"rule\":\"position\""), "{json}");
    assert!(json.contains("{\"name\":\"arg_pid\",\"type\":\"uint64\",\"shown\":\"$D1%UW\""), "{json}");
}
