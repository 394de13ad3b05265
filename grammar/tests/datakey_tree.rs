//! Syntax trees of event definitions.

use tfbc_grammar::datakey::ast::{KeyKind, TopLevelElement};
use tfbc_grammar::{Arena, Source, SourceId, Span, datakey};

/// Compares the listing of elements inside the root, from line 2 on.
fn check(items: &str, expected: &str) {
    let arena = Arena::new();
    let source = Source::new("test", format!("<eventdefinitions>\n{items}</eventdefinitions>"));
    let (file, _) = datakey::parse(&arena, SourceId(0), &source);
    assert_eq!(datakey::show(&file, &source), expected, "{items}");
}

#[test]
fn everything() {
    check(
        "<datakey format='%2u1x ipicmd %s  my  label' offset='0x4' wide_offset='8' show_masked_value='False'>\n\
         <event class='6' id='65'/><event class='KER_CALL' id=' __KER_MSG_SENDV:exit64 '/>\n\
         <bitmask name='ipicmd' value='0xff00'/><enum key='ipicmd' mask='!1' string='a&amp;b'/>\n\
         <enum name='my  label' default='&#xe4;'/>\n\
         <condition name='len=' value='-1' mask=' ! 0x3'/></datakey>\n\
         <eventclass id='USER' name='User Events'><event id='1' sformat='%4u10c t'/></eventclass>\n",
        "2:1 datakey offset 4 wide_offset 8 without masked value\n\
        \x20 2:18 field %2u1x \"ipicmd\"\n\
        \x20 2:31 field %s \"my label\"\n\
        \x20 3:1 event 6 65\n\
        \x20 3:27 event \"KER_CALL\" \"__KER_MSG_SENDV:exit64\"\n\
        \x20 4:1 bitmask \"ipicmd\" 65280\n\
        \x20 4:40 enum \"ipicmd\" mask !1 \"a&b\"\n\
        \x20 5:1 enum \"my label\" default \"\\xc3\\xa4\"\n\
        \x20 6:1 condition \"len=\" value -1 mask !3\n\
        7:1 eventclass \"USER\"\n\
        \x20 7:42 event 1\n\
        \x20   7:65 field %4u10c \"t\"\n",
    );
}

#[test]
fn what_is_bad_is_marked_and_the_rest_kept() {
    check(
        "<datakey format='%x a'><event class='6' id='1'/><event class='6'/><enum value='1'/><enum value='2' string='b'/></datakey>\n\
         <datakey format='%y a'><event class='6' id='1'/></datakey>\n\
         <eventclass name='x'><event id='1' sformat='%x a'/><event sformat='%x a'/></eventclass>\n",
        "2:1 datakey refused\n\
        \x20 2:18 field %x \"a\"\n\
        \x20 2:24 event 6 1\n\
        \x20 2:84 enum value 2 \"b\"\n\
        3:1 datakey refused\n\
        \x20 3:24 event 6 1\n\
        4:1 eventclass ?\n\
        \x20 4:22 event 1\n\
        \x20   4:45 field %x \"a\"\n\
        \x20 4:52 event ? refused\n\
        \x20   4:68 field %x \"a\"\n",
    );
}

#[test]
fn values_are_normalised() {
    // A line end is a blank, also as `\r\n`; a reference is replaced by its character.
    check(
        "<datakey format='%x a'><event class='6' id='1'/><enum default='a\n\tb\r\nc\rd&#9;&#xA;&quot;&apos;&gt;'/></datakey>\n",
        "2:1 datakey\n  2:18 field %x \"a\"\n  2:24 event 6 1\n  2:49 enum default \"a  b c d\\t\\n\\\"\\'>\"\n",
    );
}

#[test]
fn positions_after_references_are_right() {
    let text = "<eventdefinitions><datakey format='&#x25;x&#9;a\r\nb &lt;%d&#32;&#x65;tage&amp;'>\
                <event class='&#32;&#54;' id='1'/></datakey></eventdefinitions>";
    let (arena, source) = (Arena::new(), Source::new("test", text));
    let (file, found) = datakey::parse(&arena, SourceId(0), &source);
    assert_eq!(found, []);
    let [TopLevelElement::Datakey(datakey)] = file.items else { panic!("{file:?}") };
    let place = |span: Span| String::from_utf8_lossy(source.slice(span)).into_owned();
    let fields = datakey.format.unwrap().fields;
    assert_eq!([fields[0].label.node, fields[1].label.node], [b"a b <".as_slice(), b"etage&"]);
    assert_eq!(place(fields[0].span), "&#x25;x&#9;a\r\nb &lt;");
    assert_eq!(place(fields[0].label.span), "a\r\nb &lt;");
    assert_eq!(place(fields[1].span), "%d&#32;&#x65;tage&amp;");
    assert_eq!(place(fields[1].label.span), "&#x65;tage&amp;");
    assert_eq!(
        (place(datakey.events[0].class.span), datakey.events[0].class.kind),
        ("&#54;".into(), KeyKind::Number(6))
    );
}

#[test]
fn settings() {
    let text = "<!-- tfbc: bare-s = number -->\n<eventdefinitions><!--tfbc:wide-offset=zero--></eventdefinitions>";
    let (arena, source) = (Arena::new(), Source::new("test", text));
    let (file, _) = datakey::parse(&arena, SourceId(0), &source);
    let settings: Vec<_> = file.settings.iter().map(|setting| (setting.name.node, setting.value.node)).collect();
    assert_eq!(settings, [(b"bare-s".as_slice(), b"number".as_slice()), (b"wide-offset", b"zero")]);
    for setting in file.settings {
        assert_eq!(source.slice(setting.name.span), setting.name.node);
        assert_eq!(source.slice(setting.value.span), setting.value.node);
    }
}

#[test]
fn kinds_are_found_by_content() {
    for text in ["<a", "  \r\n\t<a", "\u{feff}<a", "\u{feff} <a"] {
        assert!(datakey::looks_like_xml(text.as_bytes()), "{text:?}");
    }
    assert!(datakey::looks_like_xml(b"\xff\xfe<\0") && datakey::looks_like_xml(b"\xfe\xff\0<"));
    for text in ["", " ", "a<", "\u{feff}", "010 1.0 <", "#<"] {
        assert!(!datakey::looks_like_xml(text.as_bytes()), "{text:?}");
    }
}

#[test]
fn much_is_read_in_no_time() {
    let enums: String = (0..200_000).map(|value| format!("<enum value='{value}' string='&#65;&#66;'/>\n")).collect();
    let fields: String = (0..100_000).map(|n| format!("%x f{n} ")).collect();
    let text = format!("<eventdefinitions><datakey format='{fields}'>{enums}</datakey></eventdefinitions>");
    let (arena, source) = (Arena::new(), Source::new("test", text));
    let (file, _) = datakey::parse(&arena, SourceId(0), &source);
    let [TopLevelElement::Datakey(datakey)] = file.items else { panic!() };
    assert_eq!((datakey.enums.len(), datakey.format.unwrap().fields.len()), (200_000, 100_000));
}
