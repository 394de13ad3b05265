//! Fields of AIX events through the public interface: typed values, equal to the values in JSON lines.
#![cfg(feature = "compile")]

use crate::common::{factors32, words32};
use crate::face::{reported, samples, stream};
use crate::fields::{ESDI, LOOPS, blob};
use serde_json::Value;
use tfbc::FieldValue::{Bool, Bytes, Float, Integer, List, Missing, Struct, Text, Timestamp};
use tfbc::aix::IdSet;
use tfbc::{Columns, Field, FieldValue, Formats, Item, ReportOptions, System, Trace};

/// Fields as the object of JSON lines.
fn object(fields: &[Field]) -> Value {
    let known = fields.iter().filter(|field| field.value != FieldValue::Missing);
    known.map(|field| (field.name.clone(), json(&field.value, &field.text))).collect()
}

fn json(value: &FieldValue, text: &str) -> Value {
    match value {
        FieldValue::Missing => Value::Null,
        FieldValue::Bool(bit) => Value::from(*bit),
        FieldValue::Integer(number) if *number > 1 << 53 => Value::from(number.to_string()),
        FieldValue::Integer(number) => Value::from(i64::try_from(*number).unwrap()),
        FieldValue::Float(number) => Value::from(*number),
        FieldValue::Text(text) => Value::from(text.as_str()),
        FieldValue::Bytes(bytes) => Value::from(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        FieldValue::Timestamp(_) => Value::from(text),
        FieldValue::List(items) => items.iter().map(|item| json(item, "")).collect(),
        FieldValue::Struct(fields) => object(fields),
    }
}

/// Objects of the fields of all events. The text of every second event is read too.
fn objects(trace: &mut Trace, formats: &Formats, options: &ReportOptions) -> Vec<Value> {
    let (mut found, mut n_text) = (Vec::new(), 0);
    let mut events = trace.events(formats).with_options(options.clone());
    while let Some(item) = events.next().unwrap() {
        if let Item::Event(event) = item {
            if found.len() % 2 == 0 {
                n_text += event.text().len();
            }
            found.push(object(&event.fields()));
            assert_eq!(object(&event.fields()), found[found.len() - 1], "twice the same");
        }
    }
    assert!(n_text > 0 || found.len() < 2);
    found
}

/// Objects of `tfbc report --to ndjson --columns id,fields`.
fn reported_objects(trace: &mut Trace, formats: &Formats, options: &ReportOptions) -> Vec<Value> {
    let mut options = options.clone();
    options.aix.form = tfbc::Form::Ndjson;
    options.aix.columns = Columns::parse("id,fields", tfbc::aix::Timestamp::None).unwrap();
    let table = reported(trace, formats, &options);
    table.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["fields"].clone()).collect()
}

#[test]
fn fields_match_those_of_ndjson() {
    let (mut n_fields, mut n_timers, mut n_paths) = (0, 0, 0);
    // With a filter, hidden events start timers and name processes.
    let mut only = ReportOptions::default();
    only.aix.filter.only = Some(IdSet::parse("106,10C,105").unwrap());
    for (path, formats) in samples() {
        if Trace::open(&path).unwrap().info().system != System::Aix {
            continue;
        }
        for options in [&ReportOptions::default(), &only] {
            let expected = reported_objects(&mut Trace::open(&path).unwrap(), &formats, options);
            assert_eq!(objects(&mut Trace::open(&path).unwrap(), &formats, options), expected, "{}", path.display());
            for row in &expected {
                n_fields += row.as_object().unwrap().len();
                n_timers += usize::from(row.get("timer").is_some());
                n_paths += usize::from(row.get("cmd_text").is_some());
            }
        }
    }
    assert!(n_fields > 100 && n_timers > 10 && n_paths > 10, "{n_fields} {n_timers} {n_paths}");
}

/// A 32-bit stream of events: hook word and data in each.
fn stream_of(events: &[&[u32]]) -> Vec<u8> {
    let mut bytes = factors32(1, 1, 0);
    for (at, words) in events.iter().enumerate() {
        bytes.extend(words32(words));
        bytes.extend(words32(&[0x1a2b, 8000 * (at as u32 + 1)]));
    }
    bytes
}

/// Compares name and value of all fields, missing ones too.
#[track_caller]
fn check_fields(source: &str, events: &[&[u32]], expected: &[&[(&str, FieldValue)]]) {
    let formats = Formats::from_blob(blob(source)).unwrap();
    let mut trace = Trace::from_bytes("a", stream_of(events)).unwrap();
    let mut found = Vec::new();
    let mut iterator = trace.events(&formats);
    while let Some(Item::Event(event)) = iterator.next().unwrap() {
        let all = event.fields();
        let schema = formats.events().find(|format| format.id == event.id()).unwrap().fields;
        assert!(all.iter().map(|field| &field.name).eq(schema.iter().map(|field| &field.name)));
        found.push(all.into_iter().map(|field| (field.name, field.value)).collect::<Vec<_>>());
    }
    let own = |row: &&[(&str, FieldValue)]| row.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    assert_eq!(found, expected.iter().map(own).collect::<Vec<Vec<_>>>(), "{source}");
    // The JSON lines have the same values.
    let (options, trace) = (ReportOptions::default(), || Trace::from_bytes("a", stream_of(events)).unwrap());
    assert_eq!(objects(&mut trace(), &formats, &options), reported_objects(&mut trace(), &formats, &options));
}

#[test]
fn timers_have_the_values_of_their_event() {
    // All three events are in one batch. The second end has no matching start.
    let events: [&[u32]; 3] = [&[0x010A_0000, 1], &[0x010A_0000, 2], &[0x010A_0000, 3]];
    let (count, time) = ("loop_iterations", "elapsed_time_last_loop");
    check_fields(
        LOOPS,
        &events,
        &[
            &[(count, Integer(1)), (time, Missing)],
            &[(count, Integer(2)), (time, Integer(8000))],
            &[(count, Integer(3)), (time, Integer(8000))],
        ],
    );
}

#[test]
fn fields_after_the_end_of_the_event_are_missing() {
    let [number, byte_count, flags] = ["block_number", "byte_count", "b_flag0"];
    check_fields(
        ESDI,
        &[&[0x900D_0005, 0x10, 0x1000, 0xA000_0000, 0x0003_0000], &[0x900A_0005, 0x10]],
        &[
            &[
                (number, Integer(16)),
                (byte_count, Integer(4096)),
                (flags, Bool(true)),
                ("b_flag1", Bool(false)),
                ("b_flag2", Bool(true)),
                ("special_esdi_status", Integer(5)),
                ("minor_device", Integer(3)),
            ],
            &[
                (number, Integer(16)),
                (byte_count, Missing),
                (flags, Missing),
                ("b_flag1", Missing),
                ("b_flag2", Missing),
                ("special_esdi_status", Integer(5)),
                ("minor_device", Missing),
            ],
        ],
    );
}

#[test]
fn every_type_has_its_value() {
    let source = "015 1.0 \"\" W2 \"f=\" F4 \"d=\" F8 \"s=\" A4 \"t=\" T4 \"u=\" U8 \"e=\" E4 \"state=\" $D1%U4, 0 \"off\", 1 \"on\" \
        \"b=\" LOOP $D1 { X0 } \"all \" LOOP $D1 { \"n=\" U1 \"m=\" X1 } \"one \" LOOP $D1 { U1 } ";
    let float = 1.5f32.to_bits();
    let event = [0x0158_0024, 1, float, 0x4004_0000, 0, 0x6162_6364, 941_117_645, u32::MAX, u32::MAX, 2, 0x0102_0304];
    let members = [("n", 2), ("m", 3)];
    let members =
        members.map(|(name, value)| Field { name: name.into(), value: Integer(value), text: value.to_string() });
    check_fields(
        source,
        &[&event],
        &[&[
            ("f", Float(1.5)),
            ("d", Float(2.5)),
            ("s", Text("abcd".into())),
            ("t", Timestamp(941_117_645)),
            ("u", Integer(u64::MAX.into())),
            ("e", Integer(2)),
            ("e_text", Text("ENOENT".into())),
            ("state", Integer(1)),
            ("state_text", Text("on".into())),
            ("b", Bytes(vec![1])),
            ("all", List(vec![Struct(members.to_vec())])),
            ("one", List(vec![Integer(4)])),
        ]],
    );
}

#[test]
fn words_of_flags_are_a_list() {
    let source = "011 1.0 \"\" {{ $omode = $D2 }} \"fd=\" $D1%UW \"mode=\" BITFLAGS $omode%o4, 00400 \"r\" \"-\", 00200 \"w\" \"-\"";
    check_fields(
        source,
        &[&[0x011A_0000, 3], &[0x011A_0000 | 1 << 16, 3, 0o600]],
        &[
            &[("fd", Integer(3)), ("mode", Missing), ("mode_text", Missing)],
            &[
                ("fd", Integer(3)),
                ("mode", Integer(0o600)),
                ("mode_text", List(vec![Text("r".into()), Text("w".into())])),
            ],
        ],
    );
}

/// The trace has more events than a batch.
#[test]
fn timers_cross_batches() {
    let formats = Formats::from_blob(blob(LOOPS)).unwrap();
    let (options, trace) = (ReportOptions::default(), || Trace::from_bytes("a", stream(1..=20_000)).unwrap());
    let expected = reported_objects(&mut trace(), &formats, &options);
    assert_eq!(expected.len(), 20_000);
    let found = objects(&mut trace(), &formats, &options);
    assert!(found == expected);
}

#[test]
fn a_path_belongs_to_the_event() {
    // A process has another path after exec. One batch contains its dispatches before and after that.
    let formats = Formats::builtin();
    let mut trace = Trace::open(concat!(env!("CARGO_MANIFEST_DIR"), "/samples/shell.trc")).unwrap();
    let mut events = trace.events(&formats);
    let mut paths = std::collections::HashMap::<Vec<u8>, Vec<FieldValue>>::new();
    while let Some(item) = events.next().unwrap() {
        let Item::Event(event) = item else { continue };
        let fields = event.fields();
        if let Some(path) = fields.iter().find(|field| field.name == "cmd_text" && event.id() == "106") {
            let seen = paths.entry(event.bytes()[4..8].to_vec()).or_default();
            if seen.last() != Some(&path.value) {
                seen.push(path.value.clone());
            }
        }
    }
    assert!(paths.values().any(|seen| seen.len() > 1), "{paths:?}");
}
