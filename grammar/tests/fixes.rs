//! Effects of fixes on a source.

use tfbc_grammar::{Arena, Diagnostic, Fix, Source, SourceId, datakey, trcfmt};

fn findings(text: &str) -> Vec<Diagnostic> {
    let arena = Arena::new();
    let source = Source::new("a", text);
    match datakey::looks_like_xml(text.as_bytes()) {
        true => datakey::parse(&arena, SourceId(0), &source).1,
        false => trcfmt::parse(&arena, SourceId(0), &source).1,
    }
}

fn apply(text: &str, fix: &Fix) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for edit in &fix.edits {
        out.push_str(&text[at..edit.span.start as usize]);
        out.push_str(&edit.text);
        at = edit.span.end as usize;
    }
    out + &text[at..]
}

/// Checks that the only diagnostic has `code`, and that its fix turns the text into `expected`, which has no
/// diagnostics.
#[track_caller]
fn check(code: &str, safe: bool, text: &str, expected: &str) {
    let found = findings(text);
    let codes: Vec<&str> = found.iter().map(|found| found.code.code).collect();
    assert_eq!(codes, [code], "{text:?}");
    let fix = found[0].fix.as_ref().expect("a fix");
    assert_eq!((apply(text, fix).as_str(), fix.safe), (expected, safe));
    assert_eq!(findings(expected), [], "{expected:?}");
}

/// Checks that the only diagnostic has `code` and no fix.
#[track_caller]
fn check_none(code: &str, text: &str) {
    let found = findings(text);
    assert_eq!(found.len(), 1, "{text:?}");
    assert_eq!((found[0].code.code, &found[0].fix), (code, &None), "{text:?}");
}

#[test]
fn line_ends() {
    check("S40", true, "010 1.0 \"E\" \\ \t\n X4\n", "010 1.0 \"E\" \\\n X4\n");
    check("S40", true, "010 1.0 \"E\" \\ \r\n X4\r\n", "010 1.0 \"E\" \\\r\n X4\r\n");
    check("S41", true, "010 1.0 \"E\" \\", "010 1.0 \"E\" ");
    check("S41", true, "010 1.0 \"E\" \\\n", "010 1.0 \"E\" \n");
    check("S41", true, "010 1.0 \"E\" \\\r\n", "010 1.0 \"E\" \r\n");
    assert_eq!(findings("010 1.0 \"E\" \\\n\n"), [], "an empty line continues");
}

#[test]
fn swallowed_lines() {
    let stanza = "# text \\ \n 010 1.0 \"E\"\n";
    check("S42", false, stanza, "# text \n 010 1.0 \"E\"\n");
    check("S42", true, "# one \\\n  two \\\n# three \\\nfour\n", "# one \\\n  # two \\\n# three \\\n# four\n");
}

#[test]
fn commas() {
    check("S44", true, "010 1.0 \"E\" U4, 0 \"no\", 1 one,\n", "010 1.0 \"E\" U4, 0 \"no\", 1 one\n");
    check("S44", true, "010 1.0 \"E\" BITFLAGS X4, 1 \"a\" , $D1", "010 1.0 \"E\" BITFLAGS X4, 1 \"a\"  $D1");
    check("S45", true, "010 1.0 \"E\" BITFLAGS X4, 1 \"a\" 2 b", "010 1.0 \"E\" BITFLAGS X4, 1 \"a\", 2 b");
    check("S45", true, "010 1.0 \"E\" BITFLAGS X4, 1 a b & 3 2 c", "010 1.0 \"E\" BITFLAGS X4, 1 a b, & 3 2 c");
}

#[test]
fn string_after_a_comma_is_no_text_for_false() {
    let text = "010 1.0 \"E\" BITFLAGS X4, 1 \"a\",\\\n \"b\"";
    check("S44", true, text, "010 1.0 \"E\" BITFLAGS X4, 1 \"a\" \"\"\\\n \"b\"");
    check("S44", true, "010 1.0 \"E\" BITFLAGS X4, 1 a b, \"c\"", "010 1.0 \"E\" BITFLAGS X4, 1 a b \"c\"");
    check("S44", true, "010 1.0 \"E\" BITFLAGS X4, & 3 1 a, \"c\"", "010 1.0 \"E\" BITFLAGS X4, & 3 1 a \"c\"");
}

#[test]
fn words_that_look_like_codes() {
    check("S47", true, "010 1.0 \"E\" x4$D1", "010 1.0 \"E\" \"x4\"$D1");
    check("S47", true, "010 1.0 \"E\" x4\\n $D1", "010 1.0 \"E\" \"x4\"\\n $D1");
    check("S47", false, "010 1.0 \"E\" x4 $D1", "010 1.0 \"E\" X4 $D1");
    check("S47", false, "010 1.0 \"E\" X8foo $D1", "010 1.0 \"E\" X8 foo $D1");
    check_none("S47", "010 1.0 \"E\" BW $D1");
}

#[test]
fn keywords_casts_and_levels() {
    check("S48", false, "010 1.0 \"E\" BitFlags X4, 1 a", "010 1.0 \"E\" BITFLAGS X4, 1 a");
    check("S46", false, "010 1.0 \"E\" $D1%u4", "010 1.0 \"E\" $D1%U4");
    check_none("S46", "010 1.0 \"E\" $D1%Z4");
    check("S05", false, "010 1.0 L=Appl \"E\"", "010 1.0 L=APPL \"E\"");
    check_none("S05", "010 1.0 L=USER \"E\"");
}

#[test]
fn newlines_in_quotes() {
    check("S49", false, "010 1.0 \"E\" \"a\\n\"", "010 1.0 \"E\" \"a\" \\n");
    check("S49", false, "010 1.0 \"E\" \"a\\tb\"", "010 1.0 \"E\" \"a\" \\t \"b\"");
    // Each escape is reported, but one fix repairs the string.
    let source = Source::new("test", "010 1.0 \"E\" \"\\na\\nb\"");
    let arena = Arena::new();
    let found = trcfmt::parse(&arena, SourceId(0), &source).1;
    assert_eq!(found.iter().map(|found| found.primary.span.start).collect::<Vec<_>>(), [13, 16]);
    let n_edits: Vec<usize> = found.iter().map(|found| found.fix.as_ref().map_or(0, |fix| fix.edits.len())).collect();
    assert_eq!(n_edits, [2, 0]);
}

#[test]
fn marks() {
    check("S13", false, "010 1.0 \"E\" U4, 1 X4", "010 1.0 \"E\" U4, 1 { X4 }");
    check("S08", false, "010 1.0 \"E\" {{ $x%U4 = X4 }}", "010 1.0 \"E\" {{ $x = X4 }}");
    check("S02", false, "010 1.0 \"E\" {{ $x = X4 + y }}", "010 1.0 \"E\" {{ $x = X4 + $y }}");
    check("S02", false, "010 1.0 \"E\" {{ f($a) $a }}", "010 1.0 \"E\" {{ f(a) $a }}");
    check("S10", false, "010 1.0 \"E\" f ($D1)", "010 1.0 \"E\" f($D1)");
}

/// Checks a fix in event definitions, given without their root; `D` is replaced by the first lines of a datakey.
#[track_caller]
fn check_xml(code: &str, safe: bool, text: &str, expected: &str) {
    let whole = |text: &str| {
        let datakey = "<datakey format=\"%x a\"><event class=\"6\" id=\"65\"/>";
        format!("<eventdefinitions>\n{}\n</eventdefinitions>\n", text.replace('D', datakey))
    };
    check(code, safe, &whole(text), &whole(expected));
}

#[test]
fn names_of_elements_and_attributes() {
    check_xml(
        "X40",
        false,
        "D<enun  value=\"1\" string=\"a\"/></datakey>",
        "D<enum  value=\"1\" string=\"a\"/></datakey>",
    );
    check_xml(
        "X40",
        false,
        "D\n<Enum default=\"a\"\n></Enum ></datakey>",
        "D\n<enum default=\"a\"\n></enum ></datakey>",
    );
    let text = |name| format!("<datakey {name}=\"4\" format=\"%x a\"><event class=\"6\" id=\"1\"/></datakey>");
    check_xml("X41", false, &text("ofset"), &text("offset"));
}

#[test]
fn attributes_that_count_for_nothing() {
    let with_key = "D<enum name=\"a\"\n key=\"b\" value=\"1\" string=\"c\"/></datakey>";
    check_xml("X44", true, with_key, "D<enum name=\"a\" value=\"1\" string=\"c\"/></datakey>");
    let both = "<datakey sformat=\"%x b\" format=\"%x a\"><event class=\"6\" id=\"1\"/></datakey>";
    check_xml("X45", true, both, "<datakey format=\"%x a\"><event class=\"6\" id=\"1\"/></datakey>");
    let other = "<eventclass id=\"6\"><event id=\"1\" format=\"%x a\"/></eventclass>";
    check_xml("X45", true, other, "<eventclass id=\"6\"><event id=\"1\" sformat=\"%x a\"/></eventclass>");
    let other = "<datakey sformat='%x a'><event class=\"6\" id=\"1\"/></datakey>";
    check_xml("X45", true, other, "<datakey format='%x a'><event class=\"6\" id=\"1\"/></datakey>");
}

#[test]
fn an_array_stays_in_its_sformat() {
    let text =
        "<eventdefinitions><datakey sformat=\"%1u4x a\"><event class=\"6\" id=\"1\"/></datakey></eventdefinitions>";
    check_none("X45", text);
}

#[test]
fn numbers() {
    let text = |value: &str| format!("D<enum value=\"{value}\" string=\"c\"/></datakey>");
    for (value, expected) in [("010", "10"), (" ! -0080", " ! -80"), ("00", "0")] {
        check_xml("X46", true, &text(value), &text(expected));
    }
    let text = "<eventdefinitions><eventclass id=\"&#48;6\"><event id=\"1\" sformat=\"%x a\"/></eventclass></eventdefinitions>";
    check_none("X46", text);
    let text = |value, mask| format!("D<condition name=\"b\" mask=\"{mask}\" value=\"{value}\"/></datakey>");
    check_xml("X49", true, &text("!1", " !0xf"), &text("1", " 0xf"));
}

#[test]
fn doctypes() {
    check("X42", true, "<!DOCTYPE a>\n<eventdefinitions/>", "<eventdefinitions/>");
    check("X42", true, "<!DOCTYPE a [<!ELEMENT a ANY>]><eventdefinitions/>", "<eventdefinitions/>");
}
