//! Diagnostics of trcfmt files and their positions.

use tfbc_grammar::{Arena, Severity, Source, SourceId, SourceLimits, trcfmt};

/// Diagnostics of a file as `line:column code text`; warnings have a `?` after the code.
fn findings(text: &str) -> Vec<String> {
    let arena = Arena::new();
    let source = Source::new("test", text);
    let (_, found) = trcfmt::parse(&arena, SourceId(0), &source);
    let describe = |diagnostic: &tfbc_grammar::Diagnostic| {
        let span = diagnostic.primary.span;
        let (line, column) = source.line_column(span.start);
        let mark = if diagnostic.severity == Severity::Warning { "?" } else { "" };
        let text = String::from_utf8_lossy(source.slice(span)).into_owned();
        format!("{line}:{column} {}{mark} {text}", diagnostic.code.code)
    };
    found.iter().map(describe).collect()
}

fn check_file(text: &str, expected: &[&str]) {
    assert_eq!(findings(text), expected, "{text}");
}

/// Compares the diagnostics of a descriptor; columns count from its start.
fn check(descriptor: &str, expected: &[&str]) {
    let found = findings(&format!("010 1.0 \"\" \\\n{descriptor}"));
    let found: Vec<&str> = found.iter().filter_map(|finding| finding.strip_prefix("2:")).collect();
    assert_eq!(found, expected, "{descriptor}");
}

fn message(descriptor: &str) -> (String, Option<String>) {
    let arena = Arena::new();
    let source = Source::new("test", format!("010 1.0 \"\" {descriptor}"));
    let (_, found) = trcfmt::parse(&arena, SourceId(0), &source);
    (found[0].message.clone(), found[0].help.clone())
}

#[test]
fn heads() {
    check_file("12 1.0 X4", &["1:1 S03 12"]);
    check_file("01G 1.0", &["1:1 S03 01G"]);
    check_file("0FE1 1.0", &["1:1 S03 0FE1"]);
    check_file("\"a\" 1.0", &["1:1 S03 \"a\""]);
    check_file("010", &["1:4 S02 "]);
    check_file("010 \"a\"", &["1:5 S04 \"a\""]);
    check_file("010 1 X4", &["1:5 S04 1"]);
    check_file("010 1.0.1 X4", &["1:5 S04 1.0.1"]);
    check_file("010 4294967296.0 X4", &["1:5 S04 4294967296.0"]);
    check_file("010 1.+2 X4", &["1:5 S04 1.+2"]);
    check_file("010 1.0 L=kern X4", &["1:9 S05 L=kern"]);
    check_file("010 1.0 L= X4", &["1:9 S05 L="]);
}

#[test]
fn a_bad_stanza_hides_no_other() {
    check_file("010 1.0 X17\n020 1.0 (\n030 1.0 X4\n040 1.0 \"a\n", &["1:9 S07 X17", "2:9 S10 (", "4:9 S06 \""]);
}

#[test]
fn several_errors_of_a_stanza() {
    check("X17 D3 {{ $x = F5 + G4 }} X4, 0 X4", &["1 S07 X17", "5 S07 D3", "16 S07 F5", "21 S15 G4", "33 S13 X4"]);
}

#[test]
fn what_broke_is_known() {
    let text = "010 1.0 {{ f(a) X4 }} X17\n020 1.0 )) {{ g(b) }} {{ $x }} h(1)\nxx\n030 1.0 {{ ok() }}\n0FE 1";
    let arena = Arena::new();
    let (file, _) = trcfmt::parse(&arena, SourceId(0), &Source::new("test", text));
    assert_eq!(file.stanzas.iter().map(|stanza| stanza.id.node.0).collect::<Vec<_>>(), [0x0300]);
    assert_eq!(
        file.broken.iter().filter_map(|broken| broken.id).map(|id| id.0).collect::<Vec<_>>(),
        [0x0100, 0x0200, 0x0FE0]
    );
    assert_eq!(file.broken_functions, [b"f", b"g"]);
}

#[test]
fn strings_without_end() {
    check("X4 \"abc", &["4 S06 \""]);
    check("X4 `abc", &["4 S06 `"]);
    check_file("010 1.0 \"abc\nxyz\" X4\n", &["1:9 S06 \"", "2:1 S03 xyz"]);
}

#[test]
fn codes_of_illegal_size() {
    for word in ["X17", "D3", "F5", "X4.2", "B0.65", "B0", "T2", "P1", "R1.2", "W0.1"] {
        check(word, &[&format!("1 S07 {word}")]);
    }
    check("X17, 1 \"a\" LOOP D3 {}", &["1 S07 X17", "17 S07 D3"]);
    check("A8, X17 \"a\" BITFLAGS X4, & D3 F5 \"a\" `X17`", &[]);
}

#[test]
fn casts() {
    check("$x%X17", &["4 S08 X17"]);
    check("$x%W64", &["4 S08 W64"]);
    check("$x%W5.3", &["4 S08 W5.3"]);
    check("$x%W1.64", &["4 S08 W1.64"]);
    check("$x%W1.2.3", &["4 S08 W1.2.3"]);
    check("$x% a", &["3 S08 %"]);
    check("`$x% a`", &["4 S08 %"]);
    check("`$x%D3`", &["5 S08 D3"]);
    check("{{ $x%X4 = 1 }}", &["6 S08 %X4"]);
    check("{{ $x%X4 }}", &["6 S08 %X4"]);
    check("$x%W $x%HT $x%Z9 $x%G4", &["4 S46? W", "9 S46? HT", "15 S46? Z9", "21 S46? G4"]);
}

#[test]
fn bytes_that_begin_nothing() {
    check("a $ b", &["3 S09 $"]);
    check("a %b", &["3 S09 %"]);
    check("a\\d", &["2 S09 \\"]);
    check("{{ $x = 1 ^ 2 }}", &["11 S09 ^"]);
}

#[test]
fn braces_and_parentheses() {
    check("X4 }", &["4 S10 }"]);
    check("X4 )", &["4 S10 )"]);
    check("{ X4 }", &["1 S10 {"]);
    check("LOOP X4 { X0", &["9 S10 {"]);
    check("LOOP X4 {{ $x = 1 }}", &["10 S10 {"]);
    check("LOOP X4 {X0}}", &["13 S10 }"]);
    check("{{ $x = 1 }", &["11 S10 }"]);
    check("{{ $x = 1", &["1 S10 {{"]);
    check("{{ f(v) X4 }", &["12 S10 }"]);
    check("{{ $x = ( 1 + 2 }}", &["9 S10 ("]);
    check("{{ $x = 1 + 2 ) }}", &["15 S10 )"]);
    check("f(X4", &["2 S10 ("]);
    check("foo (X4)", &["5 S10 ("]);
    check("foo-bar(X4)", &["8 S10 ("]);
}

#[test]
fn expressions() {
    check("{{ $x = 1 + }}", &["13 S02 }"]);
    check("{{ $x = }}", &["9 S02 }"]);
    check("{{ $x 5 }}", &["7 S02 5"]);
    check("{{ 5 }}", &["4 S02 5"]);
    check("{{ }}", &["4 S02 }"]);
    check("{{ $x = 1 2 }}", &["11 S02 2"]);
    check("{{ $x = \"a\" }}", &["9 S02 \"a\""]);
    check("{{ $x = -1 }}", &["9 S02 -"]);
    check("{{ $x = foo }}", &["9 S02 foo"]);
    check("{{ $x = 1.5 }}", &["9 S14 1.5"]);
    check("{{ $x = 0x }}", &["9 S14 0x"]);
    check("{{ $x = 18446744073709551616 }}", &["9 S14 18446744073709551616"]);
    check("{{ $x = G4 }}", &["9 S15 G4"]);
}

#[test]
fn hints_say_how_to_mend() {
    assert_eq!(message("{{ $x = foo }}").1.unwrap(), "write macros with `$`: `$foo`");
    assert_eq!(message("{{ $x = -1 }}").1.unwrap(), "write `0 - …`: there is no unary minus");
    assert_eq!(message("foo (X4)").1.unwrap(), "write the call without a blank: `foo(`");
    for (text, word) in [
        ("if ($D1 = 1) \"x\"", "if"),
        ("if($D1 = 1) \"x\"", "if"),
        ("if (X4) { \"x\" } else { \"y\" }", "if"),
        ("while ($D1) { X4 }", "while"),
        ("printf (\"%d\", $D1)", "printf"),
    ] {
        let (found, help) = message(text);
        assert_eq!(found, format!("trcfmt has no `{word}`"), "{text}");
        let help = help.unwrap();
        let expected = match word {
            "if" => "`$D1%U4, 0 \"off\"",
            "while" => "`LOOP $D1 { X4 }`",
            _ => "`\"pid=\" $D1%U4`",
        };
        assert!(help.contains(expected), "{text}: {help}");
    }
    assert!(message("{{ if ($D1 == 1) }}").1.unwrap().contains("use a switch"));
    assert_eq!(message("LOOP 5 {X0}").1.unwrap(), "assign it first: `{{ $n = 5 }}`, and use `$n`");
    assert_eq!(message("{{ $x = 1 2 }}").0, "expected an operator or `}}`, found `2`");
    assert_eq!(message("X4, 1, 2 a").0, "expected the body of a case, found `,`");
    assert_eq!(message("X4, \\n").0, "expected a match value, found `\\n`");
}

#[test]
fn a_comma_forgotten_before_a_brace_is_named() {
    for (text, help) in [
        ("$D1, 1 \"a\" 2 { X4 }", "add a comma before the match value: `, 2 { … }`"),
        ("$D1 1 { X4 }", "add a comma before the match value: `, 1 { … }`"),
        ("$D1, 1 { X4 } 2 { X4 }", "add a comma before the match value: `, 2 { … }`"),
        ("$D1 { X4 }", "add a comma and a match value before the body: `$D1, 1 { … }`"),
        ("X4, 1 \"a\", 2 \"b\" { X4 }", "move the text into the braces: `{ \"b\" … }`"),
    ] {
        assert_eq!(message(text).1.unwrap(), help, "{text}");
    }
    assert!(message("$D1, 1 \"a\" \\* { X4 }").1.unwrap().contains("write `, \\*`"));
}

#[test]
fn functions_and_calls() {
    check("f($D1 + 1)", &["3 S16 $D1 + 1"]);
    check("f((1))", &["3 S16 (1)"]);
    check("f(1,)", &["5 S02 )"]);
    check("f(\"a\")", &["3 S02 \"a\""]);
    check("{{ f($v) X4 }}", &["6 S02 $v"]);
    check("{{ f(a.b) X4 }}", &["6 S17 a.b"]);
    check("{{ f(a) {{ g(b) $b }} {{ h() }} }}", &["12 S18 g", "26 S18 h"]);
    check("{{ f(a) $a }} {{ g(b) $b }}", &[]);
    check("starttimer(1)", &["13 S02 )"]);
    check("starttimer(1,2,3)", &["15 S02 ,"]);
}

#[test]
fn switches() {
    check("a & b", &["3 S11 &"]);
    check("X4 & foo, 1 \"a\"", &["4 S11 &"]);
    check("X4 & 7 \"a\"", &["4 S11 &"]);
    check("X4 & 7", &["4 S11 &"]);
    check("$x & $y, 1 \"a\"", &["4 S11 &"]);
    check("BITFLAGS X4 & 7, 1 \"a\"", &["13 S11 &"]);
    check("G4, 1 \"a\"", &["1 S15 G4"]);
    check("a, 1 \"a\"", &["2 S12 ,"]);
    check("X4, 1 two words, 2 \"b\"", &["16 S12 ,"]);
    check("HT&0x07, 1 \"a\"", &["8 S12 ,"]);
    let (_, help) = message("HT&0x07, 1 \"a\"");
    assert_eq!(help.unwrap(), "write `HT & 0x07`: without blanks, `&` is part of a word");
    check("X4, 1 X4, 2 $x, 3 G4", &["7 S13 X4", "13 S13 $x", "19 S13 G4"]);
    check("X4, 1 LOOP X4 {X0}", &["7 S13 LOOP"]);
    check("X4, 1 f(X4)", &["7 S13 f"]);
    check("X4, 1, 2 \"a\"", &["6 S13 ,"]);
    check("X4, 1", &["6 S02 "]);
    check("X4, 1 \"a\", $x", &["12 S02 $x"]);
    check("X4, 1 \"a\",", &["10 S44? ,"]);
    check("\\* \"a\"", &["1 S02 \\*"]);
}

#[test]
fn bitflags() {
    check("BITFLAGS X4, 1 X4", &["16 S02 X4"]);
    check("BITFLAGS X4, & 3 \"a\"", &["18 S02 \"a\""]);
    check("BITFLAGS X4, \"a\"", &["14 S02 \"a\""]);
    check("BITFLAGS X4, 1 a 2 b & 3 1 c, 4 d,", &["18 S45? 2", "22 S45? &", "34 S44? ,"]);
}

#[test]
fn lints_about_lines() {
    check_file("010 1.0 \\ \t\n X4 \\\n X4\n", &["1:10 S40?  \t"]);
    check_file("010 1.0 X4 \\", &["1:12 S41? \\"]);
    check_file("# a \\\n010 1.0\n020 1.0\n", &["1:5 S42? \\"]);
    check_file("# a \\\n# b \\\n\n020 1.0\n", &[]);
    check_file("# tfbc: a\n# tfbc: =b\n", &["1:9 S21 a", "2:9 S21 =b"]);
    check_file("010 1.0\n# tfbc: a=b\n", &["2:9 S43? a=b"]);
}

#[test]
fn comments_with_fields() {
    check_file("# tfbc: fields=a, b:U4 , - remark\n# a comment\n#tfbc:fields = *\n010 1.0\n", &[]);
    check_file("010 1.0\n# tfbc: fields=a\n020 1.0\n", &[]);
    check_file("# tfbc: fields=\n010 1.0\n", &["1:9 S21 fields="]);
    check_file("# tfbc: fields=a, b\n\n010 1.0\n", &["1:16 S43? a, b"]);
    check_file("010 1.0\n# tfbc: fields=a", &["2:16 S43? a"]);
    let arena = Arena::new();
    let source =
        Source::new("test", "# tfbc: fields=a, b:U4 , - remark\n# tfbc: fields=c=$x%U4, *\n010 1.0\n020 1.0\n");
    let (file, _) = trcfmt::parse(&arena, SourceId(0), &source);
    let entries = |at: usize| file.stanzas[at].fields.iter().map(|entry| source.slice(entry.span)).collect::<Vec<_>>();
    assert_eq!(entries(0), [&b"a"[..], b"b:U4", b"-", b"c=$x%U4", b"*"]);
    assert!(entries(1).is_empty());
}

#[test]
fn lints_about_words() {
    check("Loop bitflags StartTimer", &["1 S48? Loop", "6 S48? bitflags", "15 S48? StartTimer"]);
    check(
        "x4 hb X4foo X4: D4=$x AW X2/X2",
        &["1 S47? x4", "4 S47? hb", "7 S47? X4foo", "13 S47? X4:", "17 S47? D4=", "23 S47? AW", "26 S47? X2/X2"],
    );
    check("byte B_FLAG0 Disk0 word device a1b RW no. A-Z", &[]);
    check("A8, x4 \"a\", Loop \"b\"", &[]);
    check("\"a\\nb\" `a\\n`", &["3 S49? \\n", "10 S49? \\n"]);
}

#[test]
fn limits() {
    let nested = |n: usize| format!("{}{}", "LOOP X1 { ".repeat(n), "}".repeat(n));
    check(&nested(64), &[]);
    check(&nested(65), &["649 S19 {"]);
    let parens = |n: usize| format!("{{{{ $x = {}1{} }}}}", "(".repeat(n), ")".repeat(n));
    check(&parens(62), &[]);
    check(&parens(100_000), &["71 S19 ("]);
    let sum = |n: usize| format!("{{{{ $x = 1{} }}}}", "+1".repeat(n));
    check(&sum(1000), &[]);
    check(&sum(1001), &["2010 S20 +"]);
}

/// Codes and messages of a source parsed with limits.
fn found_within(text: &str, limits: &SourceLimits) -> Vec<(&'static str, String)> {
    let arena = Arena::new();
    let (_, found) = trcfmt::parse_within(&arena, SourceId(0), &Source::new("test", text), limits);
    found.into_iter().map(|found| (found.code.code, found.message)).collect()
}

#[test]
fn limits_are_those_that_are_given() {
    let text = "010 1.0 \"A\" LOOP X1 { LOOP X1 { X2 } }\n020 1.0 \"B\"\n";
    let limits = SourceLimits { nesting: 2, templates: 2, source: text.len(), ..SourceLimits::default() };
    assert_eq!(found_within(text, &limits), []);
    let message = String::from("braces and parentheses are nested deeper than 1");
    assert_eq!(found_within(text, &SourceLimits { nesting: 1, ..limits }), [("S19", message)]);
    let message = String::from("source has more than 1 templates");
    assert_eq!(found_within(text, &SourceLimits { templates: 1, ..limits }), [("S23", message)]);
    let message = format!("source is larger than {} bytes", text.len() - 1);
    assert_eq!(found_within(text, &SourceLimits { source: text.len() - 1, ..limits }), [("S01", message)]);
    // No limit can exceed the depth that code can recurse into.
    let deep = format!("010 1.0 \"A\" {}{}\n", "LOOP X1 { ".repeat(201), "}".repeat(201));
    let message = String::from("braces and parentheses are nested deeper than 200");
    assert_eq!(found_within(&deep, &SourceLimits { nesting: 100_000, ..SourceLimits::default() }), [("S19", message)]);
}

#[test]
fn too_many_findings() {
    let last = |text: String| {
        let arena = Arena::new();
        let (_, found) = trcfmt::parse(&arena, SourceId(0), &Source::new("test", text));
        (found.len(), found[found.len() - 1].message.clone())
    };
    assert_eq!(last("x\n".repeat(20_000)), (10_001, "source has at least 10000 errors: the rest is not read".into()));
    assert_eq!(last("010 1.0 Loop\n".repeat(10_005)), (10_001, "5 more warnings are not shown".into()));
}

#[test]
fn remarks_after_an_item_are_named() {
    let remarks = |text: &str| -> Vec<u32> {
        let arena = Arena::new();
        let (_, found) = trcfmt::parse(&arena, SourceId(0), &Source::new("test", text));
        found.iter().filter(|found| found.code.code == "S53").map(|found| found.primary.span.start).collect()
    };
    for remark in ["# the process", "#process", "// the process", "//process", "/* the process", "; the process"] {
        assert_eq!(remarks(&format!("010 1.0 \"A\" X4 {remark}\n")), [15], "{remark}");
    }
    for text in [
        "010 1.0 \"A\" X4 \"# the process\"\n",
        "010 1.0 \"A\" #1 X4\n",
        "010 1.0 \"A\" a/b X4\n",
        "010 1.0 \"A\" X4 # \"no remark\"\n",
        "# the process\n010 1.0 \"A\" X4\n",
    ] {
        assert_eq!(remarks(text), [0; 0], "{text}");
    }
}
