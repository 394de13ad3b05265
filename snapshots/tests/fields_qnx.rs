//! Fields of QNX events: the worked examples of their rules, by the machine and by the reference.

use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Severity, Source, Sources};
use tfbc_snapshots::datakey::{Definitions, ReferenceRecord};
use tfbc_snapshots::runner::Runner;
use tfbc_vm::Machine;

/// File with datakeys for event 6:65; `%` is the place of the event's element.
fn file(datakeys: &str) -> String {
    let event = "<event class=\"6\" id=\"65\"/>";
    format!("<eventdefinitions>{}</eventdefinitions>", datakeys.replace("<E/>", event))
}

fn compiled(text: &str) -> (Vec<u8>, Vec<String>) {
    let mut sources = Sources::new();
    sources.add(Source::new("a.xml", text));
    let found = compile(&sources, &Options::default());
    let message = |found: &tfbc_grammar::Diagnostic| {
        let severity = if found.severity == Severity::Error { "error" } else { "warning" };
        format!("{severity} {}: {}", found.code.code, found.message)
    };
    (found.blob.expect("a blob"), found.diagnostics.iter().map(message).collect())
}

/// Columns of event 6:65.
fn columns(datakeys: &str) -> String {
    let text = file(datakeys);
    let (blob, _) = compiled(&text);
    let columns = Runner::new(&blob, Machine::default()).unwrap().columns(6, 65);
    assert_eq!(columns, Definitions::read(&[&text]).columns(6, 65), "{text}");
    columns.join(", ")
}

/// JSON object of a record's fields.
fn row(datakeys: &str, payload: &[u8]) -> String {
    let text = file(datakeys);
    let (blob, _) = compiled(&text);
    let record = ReferenceRecord { class: 6, id: 65, wide: false, big_endian: false, payload };
    let expected = Definitions::read(&[&text]).row(&record);
    for machine in [Machine::default(), Machine::checked(Default::default())] {
        assert_eq!(Runner::new(&blob, machine).unwrap().row(&record), expected, "{text}");
    }
    expected.unwrap_or_default()
}

fn messages(datakeys: &str) -> Vec<String> {
    compiled(&file(datakeys)).1
}

/// Enums of QNX's guide.
const ENUMS: &str = r#"<datakey format="%2u1x ipicmd %2u1x ipicmd2"><E/>
    <enum name="ipicmd" mask="0x100" string="1_bit_8"/><enum name="ipicmd" mask="0x200" string="1_bit_9"/>
    <enum name="ipicmd2" value="0x1" string="2_val_1"/><enum name="ipicmd2" value="0x4" string="2_val_3"/>
    </datakey>"#;

#[test]
fn enums_of_the_guide() {
    assert_eq!(
        columns(ENUMS),
        "ipicmd int64 hex, ipicmd_text list of dictionary, ipicmd2 int64 hex, ipicmd2_text dictionary"
    );
    assert_eq!(
        row(ENUMS, &[0, 3, 4, 0]),
        r#"{"ipicmd":768,"ipicmd_text":["1_bit_8","1_bit_9"],"ipicmd2":4,"ipicmd2_text":"2_val_3"}"#
    );
    // No match is an empty list, or null.
    assert_eq!(row(ENUMS, &[0, 0, 9, 0]), r#"{"ipicmd":0,"ipicmd_text":[],"ipicmd2":9}"#);
}

#[test]
fn a_bitmask_shifts_the_value() {
    let masked = r#"<datakey format="%2u1x ipicmd" show_masked_value="false"><E/><bitmask value="0xff00"/></datakey>"#;
    assert_eq!(row(masked, &[0xff, 0x7c]), r#"{"ipicmd":124}"#);
    let signed = r#"<datakey format="%1s1d a %1s1d b"><E/><bitmask name="a" value="0xff"/></datakey>"#;
    assert_eq!(row(signed, &[0xff, 0xff]), r#"{"a":255,"b":-1}"#);
}

#[test]
fn numbers_and_strings() {
    assert_eq!(
        row(r#"<datakey format="%4u1x myvalue %1s0 mystring"><E/></datakey>"#, b"\x2a\0\0\0hi\0"),
        r#"{"myvalue":42,"mystring":"hi"}"#
    );
}

#[test]
fn sizes_and_formats_decide_the_type() {
    let all = r#"<datakey format="%1s a %2s b %8s c %4u d %8u e %8s1x f %2s1x g %2s1o h %8u1o i"><E/></datakey>"#;
    assert_eq!(
        columns(all),
        "a int64, b int64, c int64, d int64, e uint64, f uint64 hex, g int64 hex, h int64 oct, i uint64 oct"
    );
    let all = r#"<datakey format="%2s1x a %2s1d b %8s1x c %8s1d d %8u1d e"><E/></datakey>"#;
    assert_eq!(
        row(all, &[0xff; 28]),
        r#"{"a":65535,"b":-1,"c":"18446744073709551615","d":-1,"e":"18446744073709551615"}"#
    );
}

#[test]
fn a_character_has_a_column_for_its_number() {
    let one = r#"<datakey format="%1c letter"><E/><enum value="0x41" string="first"/></datakey>"#;
    assert_eq!(columns(one), "letter utf8, letter_text dictionary, letter_raw int64");
    assert_eq!(row(one, b"A"), r#"{"letter":"A","letter_text":"first","letter_raw":65}"#);
    assert_eq!(row(one, b"\x07"), r#"{"letter_raw":7}"#);
}

#[test]
fn arrays_are_lists() {
    let arrays = r#"<datakey sformat="%2u3x words %1u4c name %4s12d many"><E/></datakey>"#;
    assert_eq!(columns(arrays), "words list of int64 hex, name utf8, many list of int64");
    let mut payload = b"\x01\0\x02\0\x03\0ab\0c".to_vec();
    payload.extend((0..12i32).flat_map(|n| (-n).to_le_bytes()));
    assert_eq!(row(arrays, &payload), r#"{"words":[1,2,3],"name":"ab","many":[0,-1,-2,-3,-4,-5,-6,-7,-8,-9,-10,-11]}"#);
    // The array is cut.
    assert_eq!(row(arrays, &payload[..30]), r#"{"words":[1,2,3],"name":"ab"}"#);
}

#[test]
fn an_array_after_a_cut_datakey_has_its_items() {
    let keys = r#"<datakey format="%8u1d long"><E/></datakey><datakey sformat="%1u9d many"><E/></datakey>"#;
    let short = keys.replace("%8u1d long", "%8u1d long %8u1d longer");
    assert_eq!(row(&short, &[1; 9]), r#"{"long":"72340172838076673","many":[1,1,1,1,1,1,1,1,1]}"#);
}

#[test]
fn conditions_and_short_records_give_null() {
    let keys = r#"<datakey format="%1u1d kind"><E/></datakey>
        <datakey format="%1u1d a" offset="1"><E/><condition name="kind" value="1"/></datakey>
        <datakey format="%1u1d b" offset="2"><E/><condition name="kind" value="2"/></datakey>"#;
    assert_eq!(row(keys, &[1, 7, 8]), r#"{"kind":1,"a":7}"#);
    assert_eq!(row(keys, &[2, 7, 8]), r#"{"kind":2,"b":8}"#);
    assert_eq!(row(keys, &[2, 7]), r#"{"kind":2}"#);
    assert_eq!(row(keys, &[]), "{}");
}

#[test]
fn labels_become_names() {
    let keys = r#"<datakey format="%4 pid %4 The Size of Buffer %4 3rd %4 ::"><E/></datakey>
        <datakey format="%4 The Size of Buffer"><E/></datakey>"#;
    assert_eq!(columns(keys), "arg_pid int64, size_buffer int64, n3rd int64, f4 int64, size_buffer_2 int64");
}

#[test]
fn a_comment_chooses_names_and_types() {
    let keys = r#"<datakey format="%4 before"><E/></datakey>
        <!-- tfbc: fields=when:T4, -, code:E2 -->
        <datakey format="%4 time %4 unused %2 rc %4 rest" offset="4"><E/><enum name="rc" value="0" string="fine"/></datakey>"#;
    assert_eq!(columns(keys), "before int64, when timestamp, code int64 errno, code_text dictionary, rest int64");
    let payload = |rc: u8| [&[0; 4][..], &0x38d7_e7f4u32.to_le_bytes(), &[9; 4], &[rc, 0, 5, 0, 0, 0]].concat();
    assert_eq!(
        row(keys, &payload(2)),
        r#"{"before":0,"when":"2000-03-21T21:21:56Z","code":2,"code_text":"ENOENT","rest":5}"#
    );
    assert_eq!(
        row(keys, &payload(0)),
        r#"{"before":0,"when":"2000-03-21T21:21:56Z","code":0,"code_text":"fine","rest":5}"#
    );
}

#[test]
fn bad_entries_keep_the_field() {
    let with = |entries: &str| {
        let keys = format!(
            r#"<datakey format="%4 other"><E/></datakey><!-- tfbc: fields={entries} -->
            <datakey format="%4 a %1s0 b"><E/></datakey>"#
        );
        let columns = Runner::new(&compiled(&file(&keys)).0, Machine::default()).unwrap().columns(6, 65);
        (columns.join(", "), messages(&keys).join(" / "))
    };
    let unchanged = "other int64, a int64, b utf8";
    for (entries, message) in [
        ("9", "error C20: `9` is not a name: expected `a` to `z`, digits and `_`, not beginning with a digit"),
        ("pid", "error C20: `pid` is the name of a column of every table"),
        ("other", "error C20: another field has the name `other`"),
        ("x:enum", "error C20: `a` has no enums"),
        ("*, y:U4", "error C20: `b` is a text, whose code cannot be changed"),
        ("x:HB", "error C20: `HB` is not a code for a value: expected one such as `U4`, `X8`, `T4` or `E4`"),
        ("n=$D1", "error C20: event definitions have no macros: expected a name, `-` or `*`"),
        ("*, *, c", "warning C55: entry for field 3, but the datakey has 2 fields"),
    ] {
        assert_eq!(with(entries), (unchanged.into(), message.into()));
    }
    assert_eq!(with("b2, a2"), ("other int64, b2 int64, a2 utf8".into(), String::new()));
}

#[test]
fn a_comment_of_several_events_is_reported_once() {
    let keys = r#"<!-- tfbc: fields=pid --><datakey format="%4 a"><E/><event class="6" id="66"/></datakey>"#;
    assert_eq!(messages(keys).len(), 1);
}

#[test]
fn blobs_keep_the_fields() {
    let (blob, _) = compiled(&file(ENUMS));
    let program = tfbc_vm::Program::open(&blob).unwrap();
    let schema = program.record_schema(6, 65).unwrap();
    assert_eq!(tfbc_vm::Schema::decode(&schema.encode()), Some(schema.clone()));
    assert_eq!(schema.formats.len(), 1);
    assert_eq!(schema.fields[0].shown, "%2u1x");
    assert!(program.has_record_fields());
}
