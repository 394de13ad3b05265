//! Diagnostics with their positions, and the models of valid definitions.

use super::{XmlUnit, check};
use crate::Dialect;
use crate::datakey::model::{EnumSearch, Model, NumberStyle, PayloadType, Test};
use tfbc_grammar::{Arena, Diagnostic, Severity, Source, SourceId, datakey};

/// Model and diagnostics of some files; diagnostics as `file:line:column code`, warnings with a `?` after the code.
fn checked(files: &[(&str, &Dialect)]) -> (Model, Vec<String>) {
    let arena = Arena::new();
    let sources: Vec<Source> = files.iter().map(|(text, _)| Source::new("test", *text)).collect();
    let (mut units, mut found) = (Vec::new(), Vec::new());
    for (at, (source, (_, dialect))) in sources.iter().zip(files).enumerate() {
        let id = SourceId(at as u16);
        let (file, mut more) = datakey::parse(&arena, id, source);
        found.append(&mut more);
        units.push(XmlUnit { id, file, dialect: (*dialect).clone() });
    }
    let (model, mut more) = check(&units);
    found.append(&mut more);
    found.sort_by_key(|found| (found.primary.source, found.primary.span));
    let describe = |found: &Diagnostic| {
        let source = &sources[usize::from(found.primary.source.0)];
        let (line, column) = source.line_column(found.primary.span.start);
        let mark = if found.severity == Severity::Warning { "?" } else { "" };
        format!("{}:{line}:{column} {}{mark}", found.primary.source.0, found.code.code)
    };
    (model, found.iter().map(describe).collect())
}

/// Compares the diagnostics of elements inside the root of one file, which are on its second line.
fn check_items(items: &str, expected: &[&str]) {
    let (_, found) = checked(&[(&format!("<eventdefinitions>\n{items}</eventdefinitions>"), &Dialect::default())]);
    let found: Vec<&str> = found.iter().filter_map(|found| found.strip_prefix("0:")).collect();
    assert_eq!(found, expected, "{items}");
}

/// Compares the diagnostics of elements after an event inside a datakey.
fn check_inside(format: &str, inside: &str, expected: &[&str]) {
    check_items(&format!("<datakey format='{format}'><event class='6' id='1'/>\n{inside}</datakey>"), expected);
}

fn model_of(items: &str, dialect: &Dialect) -> Model {
    checked(&[(&format!("<eventdefinitions>{items}</eventdefinitions>"), dialect)]).0
}

/// First field of a format under a dialect setting.
fn field(attribute: &str, setting: Option<(&str, &str)>) -> (PayloadType, NumberStyle) {
    let mut dialect = Dialect::default();
    setting.iter().for_each(|(name, value)| dialect.set(name, value).unwrap());
    let model = model_of(&format!("<datakey {attribute}><event class='6' id='1'/></datakey>"), &dialect);
    (model.definitions[0].fields[0].shape, model.definitions[0].fields[0].show)
}

/// Events of a model as `class:id`, with the definitions and the fields of their conditions.
fn plan(model: &Model) -> Vec<String> {
    let key = |key: &crate::datakey::model::AppliedDefinition| {
        let read = |(at, field): (usize, usize)| format!("?{at}.{field}");
        let reads: Vec<_> = key.conditions.iter().map(|c| c.field.map_or("?-".into(), read)).collect();
        format!(" {}{}", key.definition, reads.concat())
    };
    let event = |event: &crate::datakey::model::EventPlan| {
        let keys: Vec<_> = event.keys.iter().map(key).collect();
        format!("{}:{}{}", event.class, event.id, keys.concat())
    };
    model.events.iter().map(event).collect()
}

#[test]
fn specs_default_from_the_left() {
    let number = |bytes, signed| PayloadType::Number { bytes, signed };
    for (spec, shape, show) in [
        ("%2u1x", number(2, false), NumberStyle::Hex),
        ("%x", number(4, false), NumberStyle::Hex),
        ("%d", number(4, true), NumberStyle::Decimal),
        ("%o", number(4, false), NumberStyle::Octal),
        ("%ud", number(4, false), NumberStyle::Decimal),
        ("%8", number(8, false), NumberStyle::Decimal),
        ("%4s1x", number(4, true), NumberStyle::Hex),
        ("%1s", number(1, true), NumberStyle::Decimal),
        ("%1s1", number(1, true), NumberStyle::Decimal),
        ("%c", number(4, false), NumberStyle::Char),
        ("%s", PayloadType::Text, NumberStyle::Decimal),
        ("%1s0", PayloadType::Text, NumberStyle::Decimal),
        ("%1u0", PayloadType::Text, NumberStyle::Decimal),
        ("%21x", number(2, false), NumberStyle::Hex),
    ] {
        assert_eq!(field(&format!("format='{spec} a'"), None), (shape, show), "{spec}");
    }
    for (spec, shape, show) in [
        ("%2s3", PayloadType::Array { bytes: 2, signed: true, count: 3 }, NumberStyle::Decimal),
        ("%4u10o", PayloadType::Array { bytes: 4, signed: false, count: 10 }, NumberStyle::Octal),
        ("%1s4c", PayloadType::Chars { count: 4 }, NumberStyle::Char),
    ] {
        assert_eq!(field(&format!("sformat='{spec} a'"), None), (shape, show), "{spec}");
    }
}

#[test]
fn dialects_decide_what_fields_are() {
    let signed = PayloadType::Number { bytes: 4, signed: true };
    assert_eq!(field("format='%s a'", Some(("bare-s", "number"))), (signed, NumberStyle::Decimal));
    assert_eq!(field("format='%4s1 a'", Some(("plain-number", "hex"))), (signed, NumberStyle::Hex));
    let list = PayloadType::Array { bytes: 2, signed: false, count: 4 };
    assert_eq!(field("sformat='%2u4c a'", Some(("char-array", "list"))), (list, NumberStyle::Char));
    let mut dialect = Dialect::default();
    dialect.set("enum-search", "all").unwrap();
    let model = model_of("<datakey format='%x a'><event class='6' id='1'/></datakey>", &dialect);
    assert_eq!(model.definitions[0].fields[0].search, EnumSearch::All);
}

#[test]
fn bare_strings_warn() {
    check_inside("%s a", "", &["2:1 X99?"]);
    check_inside("%1s a", "", &["2:1 X99?"]);
    check_inside("%2s a %4s1 b %1s0 c", "", &[]);
}

#[test]
fn arrays_of_wide_characters() {
    check_items("<datakey sformat='%1u4c a'><event class='6' id='1'/></datakey>", &["2:1 X45?"]);
    check_items("<datakey sformat='%2u4c a'><event class='6' id='1'/></datakey>", &["2:1 X45?", "2:1 X84"]);
    check_items("<eventclass id='6'><event id='1' sformat='%4c4c a'/></eventclass>", &["2:20 X12"]);
    check_items("<eventclass id='6'><event id='1' sformat='%44c a'/></eventclass>", &["2:20 X84"]);
}

#[test]
fn names_of_fields() {
    check_inside("%x a", "<bitmask value='1'/><enum value='1' string='x'/>", &[]);
    check_inside("%x a %x b", "<bitmask value='1'/>\n<enum value='1' string='x'/>", &["3:1 X80", "4:1 X80"]);
    check_inside("%x a", "<enum name='b' value='1' string='x'/>", &["3:1 X80"]);
    check_inside("%x a", "<enum name='A' value='1' string='x'/>", &["3:1 X80"]);
    check_inside("%x a", "<enum name='' value='1' string='x'/>", &["3:1 X80"]);
    check_inside("%x  my \t label", "<enum name=' my&#10;label ' value='1' string='x'/>", &[]);
    check_inside("%x len=", "<enum key='len=' value='1' string='x'/>", &[]);
    // The labels of a format with an error are unknown.
    check_inside("%y a", "<enum name='b' value='1' string='x'/>", &["2:1 X12"]);
}

#[test]
fn masks_and_enums_are_on_numbers() {
    check_inside("%1s0 a", "<bitmask value='1'/>\n<enum value='1' string='x'/>", &["3:1 X81", "4:1 X81"]);
    let items = "<datakey sformat='%2u4x a %1u4c b'><event class='6' id='1'/>\n<bitmask name='a' value='1'/>\n\
                 <enum name='b' default='x'/></datakey>";
    check_items(items, &["2:1 X45?", "3:1 X81", "4:1 X81"]);
}

#[test]
fn masks_intersect() {
    let mask = |format: &str, masks: &[&str], expected: &[&str]| {
        let bitmasks: String = masks.iter().map(|mask| format!("<bitmask value='{mask}'/>\n")).collect();
        check_inside(format, &bitmasks, expected);
        let items = format!("<datakey format='{format}'><event class='6' id='1'/>{bitmasks}</datakey>");
        model_of(&items, &Dialect::default()).definitions[0].fields[0].mask
    };
    assert_eq!(mask("%2u1x a", &["0xff00"], &[]), Some(0xff00));
    assert_eq!(mask("%2u1x a", &["-2"], &[]), Some(0xfffe));
    assert_eq!(mask("%8u1x a", &["0xffffffffffffffff"], &[]), Some(u64::MAX));
    assert_eq!(mask("%2u1x a", &["0xff0", "0x0ff"], &["4:1 X89?"]), Some(0xf0));
    assert_eq!(mask("%1u1x a", &["0x10f"], &["3:1 X87?"]), Some(0x0f));
    assert_eq!(mask("%1u1x a", &["0xff00"], &["3:1 X87?", "3:1 X88?"]), Some(0));
    assert_eq!(mask("%1u1x a", &["0"], &["3:1 X88?"]), Some(0));
    assert_eq!(mask("%1u1x a", &["0xf0", "0xf", "1"], &["4:1 X89?", "4:1 X88?", "5:1 X89?"]), Some(0));
}

#[test]
fn literals_are_patterns_of_the_width() {
    let test = |format: &str, attribute: &str, expected: &[&str]| {
        let inside = format!("<enum {attribute} string='x'/>");
        check_inside(format, &inside, expected);
        let items = format!("<datakey format='{format}'><event class='6' id='1'/>{inside}</datakey>");
        model_of(&items, &Dialect::default()).definitions[0].fields[0].enums[0].test
    };
    let (value, mask) = (|bits, not| Test::Value { bits, not }, |bits, not| Test::Mask { bits, not });
    assert_eq!(test("%1u1x a", "value='-1'", &[]), value(Some(0xff), false));
    assert_eq!(test("%1s1x a", "value=' ! 255 '", &[]), value(Some(0xff), true));
    assert_eq!(test("%1s1x a", "value='256'", &["3:1 X90?"]), value(None, false));
    assert_eq!(test("%1s1x a", "value='!-129'", &["3:1 X90?"]), value(None, true));
    assert_eq!(test("%x a", "mask='!0x80000000'", &[]), mask(Some(0x8000_0000), true));
    assert_eq!(test("%x a", "mask='0x100000000'", &["3:1 X90?"]), mask(None, false));
    assert_eq!(test("%8u1x a", "value='-9223372036854775808'", &[]), value(Some(1 << 63), false));
}

#[test]
fn enums_that_no_value_reaches() {
    let check = |enums: &[&str], expected: &[&str]| {
        let enums: String = enums.iter().map(|test| format!("<enum {test} string='x'/>\n")).collect();
        check_inside("%1u1x a", &enums, expected);
    };
    check(&["value='1'", "value='2'", "value='0x1'"], &["5:1 X91?"]);
    check(&["value='255'", "value='-1'"], &["4:1 X91?"]);
    check(&["value='!1'", "value='2'", "value='1'"], &["4:1 X91?"]);
    check(&["value='!1'", "value='!2'"], &[]);
    check(&["mask='1'", "mask='1'", "value='1'"], &[]);
    check(&["value='256'", "value='256'"], &["3:1 X90?", "4:1 X90?"]);
    check(&["value='!256'", "value='1'"], &["3:1 X90?", "4:1 X91?"]);
}

#[test]
fn every_match_shows_on_demand() {
    let text = "<!-- tfbc: enum-search=all --><eventdefinitions><datakey format='%x a'><event class='6' id='1'/>\
                <enum value='1' string='x'/><enum value='1' string='y'/></datakey></eventdefinitions>";
    let mut dialect = Dialect::default();
    dialect.set("enum-search", "all").unwrap();
    assert_eq!(checked(&[(text, &dialect)]).1, [""; 0]);
}

#[test]
fn the_first_default_counts() {
    let inside = "<enum default='x'/><enum value='1' string='one'/>\n<enum default='y'/>";
    check_inside("%x a", inside, &["4:1 X92?"]);
    let items = format!("<datakey format='%x a'><event class='6' id='1'/>{inside}</datakey>");
    let model = model_of(&items, &Dialect::default());
    assert_eq!(model.definitions[0].fields[0].default.as_deref(), Some(b"x".as_slice()));
    assert_eq!(model.definitions[0].fields[0].enums.len(), 1);
}

#[test]
fn classes_and_ids() {
    let check = |event: &str, expected: &[&str]| {
        check_items(&format!("<datakey format='%x a'>\n<event {event}/></datakey>"), expected);
    };
    check("class='31' id='1023'", &[]);
    check("class=' 0 ' id='0x3ff'", &[]);
    check("class='32' id='1'", &["3:1 X82"]);
    check("class='-1' id='1'", &["3:1 X82"]);
    check("class='6' id='1024'", &["3:1 X83"]);
    check("class='32' id='1024'", &["3:1 X82", "3:1 X83"]);
    check("class='USERS' id='x'", &["3:1 X82"]);
    check("class='users' id='1'", &["3:1 X82"]);
    check("class='13' id='1'", &["3:1 X96?"]);
    check("class='KER_CALL' id='MSG_SENDX'", &["3:1 X83"]);
    check("class='KER_CALL' id='MSG_SENDV:end'", &["3:1 X83"]);
    check("class='6' id='MSG_SENDV'", &["3:1 X83"]);
}

#[test]
fn names_of_classes_and_events() {
    let event = |class: &str, id: &str| {
        let items = format!("<datakey format='%x a'><event class='{class}' id='{id}'/></datakey>");
        plan(&model_of(&items, &Dialect::default())).concat()
    };
    assert_eq!(event("USER", "65"), "6:65 0");
    assert_eq!(event("13", "1"), "5:1 0");
    assert_eq!(event("KER_CALL", "MSG_SENDV"), "2:11 0");
    assert_eq!(event("2", "__KER_MSG_SENDV:enter"), "2:11 0");
    assert_eq!(event("KER_CALL", "MSG_SENDV:exit"), "2:139 0");
    assert_eq!(event("KER_CALL", "__KER_MSG_SENDV:int"), "2:267 0");
    assert_eq!(event("KER_CALL", " MSG_SENDV:enter64 "), "2:523 0");
    assert_eq!(event("KER_CALL", "MSG_SENDV:exit64"), "2:651 0");
}

#[test]
fn the_same_event_twice_applies_once() {
    let items = "<datakey format='%x a'><event class='6' id='1'/>\n<event class='USER' id='0x1'/></datakey>\n";
    check_items(items, &["3:1 X97?"]);
    assert_eq!(plan(&model_of(items, &Dialect::default())), ["6:1 0"]);
    let items = "<datakey format='%x a'><event class='5' id='1'/>\n<event class='13' id='1'/></datakey>\n";
    check_items(items, &["3:1 X96?", "3:1 X97?"]);
    // Two datakeys may name one event, and so may an eventclass.
    let two = "<eventclass id='6'><event id='1' sformat='%x a'/><event id='1' sformat='%x a'/></eventclass>";
    check_items(two, &[]);
    assert_eq!(plan(&model_of(two, &Dialect::default())), ["6:1 0 1"]);
}

#[test]
fn what_is_bad_is_refused_alone() {
    let items = "<datakey format='%x a'><event class='6' id='1'/><enum name='b' value='1' string='x'/></datakey>\n\
                 <eventclass id='40'>\n<event id='1' sformat='%x a'/></eventclass>\n\
                 <eventclass id='6'>\n<event id='2000' sformat='%x a'/>\n<event id='2' sformat='%x a'/></eventclass>";
    check_items(items, &["2:49 X80", "3:1 X82", "6:1 X83"]);
    assert_eq!(plan(&model_of(items, &Dialect::default())), ["6:2 0"]);
}

#[test]
fn wide_records() {
    let offsets = |attributes: &str, wide: &str| {
        let mut dialect = Dialect::default();
        dialect.set("wide-offset", wide).unwrap();
        let items =
            format!("<datakey format='%x a' {attributes}><event class='6' id='1'/><event class='7' id='1'/></datakey>");
        let model = model_of(&items, &dialect);
        model.events.iter().map(|event| event.keys[0].offsets).collect::<Vec<_>>()
    };
    assert_eq!(offsets("offset='4' wide_offset='8'", "class"), [[4, 8], [4, 8]]);
    assert_eq!(offsets("offset='4'", "class"), [[4, 4], [4, 0]]);
    assert_eq!(offsets("offset='4'", "offset"), [[4, 4], [4, 4]]);
    assert_eq!(offsets("offset='4'", "zero"), [[4, 0], [4, 0]]);
    assert_eq!(offsets("", "class"), [[0, 0], [0, 0]]);
    check_items("<datakey format='%x a' offset='4'><event class='7' id='1'/></datakey>", &["2:1 X98?"]);
    check_items("<datakey format='%x a' offset='4'><event class='6' id='1'/></datakey>", &[]);
    check_items("<datakey format='%x a' offset='4' wide_offset='0'><event class='7' id='1'/></datakey>", &[]);
}

#[test]
fn conditions_read_other_datakeys() {
    let items = "<datakey format='%x b'><event class='6' id='1'/><condition name='a' mask='1'/></datakey>\n\
                 <datakey format='%2u1x x %2u1x a'><event class='6' id='1'/></datakey>";
    check_items(items, &[]);
    let model = model_of(items, &Dialect::default());
    assert_eq!(plan(&model), ["6:1 0?1.1 1"]);
    assert_eq!(model.events[0].keys[0].conditions[0].test, Test::Mask { bits: Some(1), not: false });
}

#[test]
fn unnamed_condition_on_the_only_label_is_ignored() {
    let items = "<datakey format='%x b'><event class='6' id='1'/>\n<condition mask='1'/></datakey>\n\
                 <datakey format='%x a'><event class='6' id='1'/></datakey>";
    check_items(items, &["3:1 X93?"]);
    assert_eq!(plan(&model_of(items, &Dialect::default())), ["6:1 0 1"]);
    let of_text = "<datakey format='%1s0 b'><event class='6' id='1'/>\n<condition mask='1'/></datakey>";
    check_items(of_text, &["3:1 X93?"]);
}

#[test]
fn conditions_read_across_files_and_eventclasses() {
    let first = "<eventdefinitions><datakey format='%x b'><event class='6' id='1'/><condition name='a' value='1'/></datakey>\
                 </eventdefinitions>";
    let second = "<eventdefinitions><eventclass id='6'><event id='1' sformat='%x a'/></eventclass></eventdefinitions>";
    let (model, found) = checked(&[(first, &Dialect::default()), (second, &Dialect::default())]);
    assert_eq!((plan(&model), found), (vec!["6:1 0?1.0 1".to_owned()], vec![]));
}

#[test]
fn tests_of_conditions() {
    let test = |condition: &str, expected: &[&str]| {
        let items = format!(
            "<datakey format='%1u1x a'><event class='6' id='1'/></datakey>\n\
             <datakey format='%x b'><event class='6' id='1'/>\n<condition name='a' {condition}/></datakey>"
        );
        check_items(&items, expected);
        model_of(&items, &Dialect::default()).events[0].keys[1].conditions[0].test
    };
    let (value, both) = (|bits, not| Test::Value { bits, not }, |mask, bits, not| Test::Both { mask, bits, not });
    assert_eq!(test("value='1'", &[]), value(Some(1), false));
    assert_eq!(test("value='!-1'", &[]), value(Some(0xff), true));
    assert_eq!(test("value='256'", &["4:1 X90?"]), value(None, false));
    assert_eq!(test("value='1' mask='3'", &[]), both(Some(3), Some(1), false));
    assert_eq!(test("value='!1' mask='3'", &[]), both(Some(3), Some(1), true));
    assert_eq!(test("value='1' mask='!3'", &[]), both(Some(3), Some(1), true));
    assert_eq!(test("value='!1' mask='!3'", &["4:1 X49?"]), both(Some(3), Some(1), false));
    assert_eq!(test("value='1' mask='256'", &["4:1 X90?"]), both(None, Some(1), false));
}

#[test]
fn conditions_on_own_labels_are_ignored() {
    let items = "<datakey format='%x a'><event class='6' id='1'/>\n<condition name='a' value='1'/></datakey>\n\
                 <datakey format='%x a'><event class='6' id='1'/></datakey>";
    check_items(items, &["3:1 X93?"]);
    assert_eq!(plan(&model_of(items, &Dialect::default())), ["6:1 0 1"]);
}

#[test]
fn conditions_on_unknown_names_are_ignored_event_by_event() {
    let items = "<datakey format='%x b'><event class='6' id='1'/><event class='6' id='2'/>\n\
                 <condition name='a' value='1'/></datakey>\n\
                 <datakey format='%x a'><event class='6' id='1'/></datakey>";
    check_items(items, &["3:1 X94?"]);
    assert_eq!(plan(&model_of(items, &Dialect::default())), ["6:1 0?1.0 1", "6:2 0"]);
}

#[test]
fn the_first_of_several_contributors_is_read() {
    let items = "<datakey format='%x b'><event class='6' id='1'/>\n<condition name='a' value='1'/></datakey>\n\
                 <datakey format='%x x %x a'><event class='6' id='1'/></datakey>\n\
                 <datakey format='%x a'><event class='6' id='1'/></datakey>";
    check_items(items, &["3:1 X95?"]);
    assert_eq!(plan(&model_of(items, &Dialect::default())), ["6:1 0?1.1 1 2"]);
}

#[test]
fn a_refused_contributor_makes_a_condition_false() {
    // The first datakey keeps its event and its labels.
    let items = "<datakey format='%x a'><event class='6' id='1'/>\n<event class='6'/></datakey>\n\
                 <datakey format='%x b'><event class='6' id='1'/><condition name='a' value='1'/></datakey>\n\
                 <datakey format='%x a'><event class='6' id='1'/><enum value='1' string=''/></datakey>";
    check_items(items, &["3:1 X07", "4:49 X95?", "5:49 X17"]);
    assert_eq!(plan(&model_of(items, &Dialect::default())), ["6:1 0?-"]);
    // A bad format has no labels.
    let items = "<datakey format='%y a'><event class='6' id='1'/></datakey>\n\
                 <datakey format='%x b'><event class='6' id='1'/><condition name='a' value='1'/></datakey>";
    check_items(items, &["2:1 X12", "3:49 X94?"]);
    assert_eq!(plan(&model_of(items, &Dialect::default())), ["6:1 0"]);
}

#[test]
fn conditions_on_texts_are_errors() {
    let items = "<datakey format='%1s0 a'><event class='6' id='1'/></datakey>\n\
                 <datakey format='%x b'><event class='6' id='1'/>\n<condition name='a' value='1'/></datakey>\n\
                 <datakey format='%x c'><event class='6' id='1'/><condition name='b' value='1'/></datakey>";
    check_items(items, &["4:1 X81"]);
    assert_eq!(plan(&model_of(items, &Dialect::default())), ["6:1 0 1?-"]);
}

#[test]
fn circles_refuse_who_is_on_them() {
    let key = |label: &str, reads: &str| {
        format!(
            "<datakey format='%x {label}'><event class='6' id='1'/><condition name='{reads}' value='1'/></datakey>\n"
        )
    };
    // `c` reads from a cycle but is not part of one; `e` reads nothing.
    let items = key("a", "b") + &key("b", "a") + &key("c", "a") + &key("d", "e");
    let items = items + "<datakey format='%x e'><event class='6' id='1'/></datakey>";
    check_items(&items, &["2:1 X85", "3:1 X85"]);
    assert_eq!(plan(&model_of(&items, &Dialect::default())), ["6:1 0?- 1?2.0 2"]);
    // A refused datakey is not part of a cycle.
    let broken = key("b", "a").replace("</datakey>", "<enum value='1' string=''/></datakey>");
    let items = key("a", "b") + &broken;
    check_items(&items, &["3:80 X17"]);
    assert_eq!(plan(&model_of(&items, &Dialect::default())), ["6:1 0?-"]);
}

#[test]
fn a_circle_is_one_of_one_event() {
    let items = "<datakey format='%x a'><event class='6' id='1'/><condition name='b' value='1'/></datakey>\n\
                 <datakey format='%x b'><event class='6' id='2'/><condition name='a' value='1'/></datakey>";
    check_items(items, &["2:49 X94?", "3:49 X94?"]);
}

#[test]
fn a_refused_file_has_no_items() {
    let (model, found) = checked(&[("<eventdefinitions><datakey", &Dialect::default())]);
    assert_eq!((model.definitions.len(), found), (0, vec!["0:1:19 X03".to_owned()]));
}

/// The time grows linearly with the input.
#[test]
fn much_is_checked_in_no_time() {
    let values: String = (0..100_000).map(|value| format!("<enum value='{value}' string='v'/>")).collect();
    let enums = format!("<datakey format='%x a'><event class='6' id='1'/>{values}</datakey>");
    assert_eq!(model_of(&enums, &Dialect::default()).definitions[0].fields[0].enums.len(), 100_000);
    // A long chain of conditions on one event.
    let key = |n: usize| {
        format!("<datakey format='%x a{n}'><event class='6' id='1'/><condition name='a{}' value='1'/></datakey>", n + 1)
    };
    let chain: String = (0..5000).map(key).collect();
    let model = model_of(&chain, &Dialect::default());
    assert_eq!(model.events[0].keys[..4999].iter().filter(|key| key.conditions.len() == 1).count(), 4999);
    // Many fields with the same label, many conditions on it, many events.
    let events: String = (0..1000).map(|id| format!("<event class='6' id='{id}'/>")).collect();
    let all = format!("<datakey format='%x a'>{events}</datakey>");
    let reads = format!("<datakey format='%x b'>{events}<condition name='a' value='1'/></datakey>");
    let model = model_of(&(all.repeat(40) + &reads.repeat(10)), &Dialect::default());
    assert_eq!((model.events.len(), model.events[0].keys.len()), (1000, 50));
    // As many unknown names as known ones.
    let names: String = (0..20_000).map(|n| format!("<enum name='c{n}' default='v'/>")).collect();
    let labels: String = (0..5000).map(|n| format!("%x b{n} ")).collect();
    let unknown = format!("<datakey format='{labels}'><event class='6' id='1'/>{names}</datakey>");
    assert_eq!(model_of(&unknown, &Dialect::default()).events.len(), 0);
}
