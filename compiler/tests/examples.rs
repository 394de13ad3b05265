//! The example of every code triggers only that code, and fixes have the described effect.

use tfbc_compiler::{CODES, Compiled, Options, compile};
use tfbc_grammar::{Diagnostic, Source, SourceId, Sources};

fn check_sources(texts: &[&str]) -> Compiled {
    let mut sources = Sources::new();
    for text in texts {
        sources.add(Source::new("example", *text));
    }
    compile(&sources, &Options::default())
}

/// Lines of a long text that are indented or between fences, without their indentation.
fn example(explain: &str) -> Option<String> {
    let lines = explain.lines().filter_map(|line| line.strip_prefix("     "));
    let text: Vec<&str> = lines.collect();
    (!text.is_empty()).then(|| text.join("\n") + "\n")
}

/// Codes without an example: limits, codes of translations, and those whose example would be too long.
const WITHOUT: &[&str] = &["C05", "C14", "C16", "C17", "C56", "X86", "V01", "V02"];

#[test]
fn each_example_triggers_its_code() {
    let mut wrong = Vec::new();
    for info in CODES {
        let Some(text) = example(info.explain) else {
            assert!(WITHOUT.contains(&info.code), "{} has no example", info.code);
            continue;
        };
        let found = check_sources(&[&text]).diagnostics;
        let mut codes: Vec<&str> = found.iter().map(|found| found.code.code).collect();
        codes.dedup();
        let has_severity = found.iter().all(|found| found.severity == found.code.severity);
        if codes != [info.code] || !has_severity {
            wrong.push((info.code, codes, text));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn codes_are_known_by_their_numbers() {
    let all: Vec<&str> = CODES.iter().map(|info| info.code).collect();
    let mut once = all.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(all.len(), once.len());
}

fn apply(text: &str, found: &Diagnostic) -> String {
    let fix = found.fix.as_ref().expect("a fix");
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
    let found = check_sources(&[text]).diagnostics;
    let codes: Vec<&str> = found.iter().map(|found| found.code.code).collect();
    assert_eq!(codes, [code], "{text}");
    assert_eq!(apply(text, &found[0]), expected);
    assert_eq!(found[0].fix.as_ref().map(|fix| fix.safe), Some(safe), "{text}");
    let left = check_sources(&[expected]).diagnostics;
    assert!(left.is_empty(), "{expected}{left:#?}");
}

/// Codes of all diagnostics, in order.
#[track_caller]
fn check_codes(text: &str, expected: &[&str]) {
    let found = check_sources(&[text]).diagnostics;
    let codes: Vec<&str> = found.iter().map(|found| found.code.code).collect();
    assert_eq!(codes, expected, "{text}");
}

#[test]
fn cases_that_are_never_reached() {
    check("C43", true, "010 1.0 \"E\" U4, \\* any, 1 \"one\"", "010 1.0 \"E\" U4, \\* any");
    check("C43", true, "010 1.0 \"E\" U4, \\* any, 1 { X4 U1, 2 `X4` } ", "010 1.0 \"E\" U4, \\* any ");
    check("C43", true, "010 1.0 \"E\" U4, \\* any, 1 \"one\"U2", "010 1.0 \"E\" U4, \\* any U2");
    check("C44", true, "010 1.0 \"E\" U4, 1 a, 01 b, 2 c", "010 1.0 \"E\" U4, 1 a, 2 c");
    let counts = "010 1.0 \"E\" U4, 1 a, 1 { {{ $x = X4 }} }, 2 { {{ $x = X4 }} $x }";
    check("C44", false, counts, "010 1.0 \"E\" U4, 1 a, 2 { {{ $x = X4 }} $x }");
    check_codes("010 1.0 \"E\" U4, 1 a, 0x2 b, \\* c", &[]);
}

#[test]
fn decimal_looking_values() {
    let stanza = |selector: &str| format!("010 1.0 \"E\" {selector}, 9 nine, 10 ten");
    for (selector, cast) in [("$D1", "$D1%UW"), ("$HD", "$HD%U8"), ("X4", "U4"), ("XW", "UW"), ("$D2%X2", "$D2%U2")] {
        check("C46", false, &stanza(selector), &stanza(cast));
    }
    check_codes("010 1.0 \"E\" X4, 9 nine, A ten", &[]);
    check_codes("010 1.0 \"E\" X4, 9 nine, 0x10 sixteen", &[]);
}

#[test]
fn names_that_were_meant() {
    let text = |name: &str| format!("010 1.0 \"E\" {{{{ $count = X4 }}}} $count ${name}%X4");
    check("C47", false, &text("cuont"), &text("count"));
    let text = |name: &str| format!("010 1.0 \"E\" ${name}");
    check("C47", false, &text("DATAPONTER"), &text("DATAPOINTER"));
    let text = |name: &str| format!("010 1.0 \"E\" {{{{ state(v) $v }}}} state($D1) {name}($D1)");
    check("C02", false, &text("stat"), &text("state"));
    check("C12", false, "010 1.0 \"E\" E4, ENOEMT none", "010 1.0 \"E\" E4, ENOENT none");
}

#[test]
fn subroutines_past_the_smallest_event() {
    let files = |body: &str| format!("010 1.0 \"E\" $90F\n90F 1.0 \"\" {body}\n");
    for (body, is_past) in [
        ("G20 X4", false),
        ("G21 X4", true),
        ("G25", true),
        ("W5 XW", false),
        ("W6 XW", true),
        ("G16 U8", false),
        ("G16 U8 U1", true),
        ("G16 A8", false),
        ("G24 A8 X1", true),
        ("G20 O4 R4 X4", false),
        ("O40 X4", false),
        ("G4 $x X4 {{ $x = X4 }}", false),
        ("$GENERIC, 1 { G28 X4 }", false),
        ("HT, 0 { G28 X4 }", false),
        ("{{ $n = $HL }} $n G28 X4", false),
        ("U4, 1 { G28 X4 }", true),
        ("LOOP 2 { G28 X4 }", true),
        ("{{ $DATAPOINTER = $D1 }} X16 X16", false),
        ("G4 LOOP $D1 { X4 } X16 X16", false),
    ] {
        let body = body.replace("LOOP 2", "LOOP $D1");
        check_codes(&files(&body), if is_past { &["C48"] } else { &[] });
    }
    check_codes("90F 1.0 \"E\" G40 X4\n", &[]);
    check_codes("010 1.0 \"E\" $HOOKENV, 64 { $90F }\n90F 1.0 \"\" G40 X4\n", &[]);
}

fn datakey(inside: &str) -> String {
    let begin = "<eventdefinitions>\n<datakey format=\"%1u1x a\">\n  <event class=\"6\" id=\"65\"/>";
    format!("{begin}{inside}\n</datakey>\n</eventdefinitions>\n")
}

#[test]
fn elements_that_count_for_nothing() {
    let one = "\n  <enum value=\"1\" string=\"one\"/>";
    check("X91", true, &datakey(&format!("{one}\n  <enum value=\"0x1\" string=\"uno\"></enum>")), &datakey(one));
    check(
        "X92",
        true,
        &datakey(&format!("{one}<enum default=\"b\"/>\n<enum default=\"a\"/>")),
        &datakey(&format!("{one}<enum default=\"b\"/>")),
    );
    check("X97", true, &datakey("<event class=\"6\" id=\"65\"/>"), &datakey(""));
    check("X97", true, &datakey("\r\n\t<event class=\"USER\" id=\"65\"/>"), &datakey(""));
}

#[test]
fn attributes_that_were_meant() {
    check(
        "X80",
        false,
        &datakey("<enum name=\"A\" value=\"1\" string=\"b\"/>"),
        &datakey("<enum name=\"a\" value=\"1\" string=\"b\"/>"),
    );
    let text = |class: &str| datakey(&format!("<event class=\"{class}\" id=\"1\"/>"));
    check("X82", false, &text("USR"), &text("USER"));
    check("X96", true, &text("13"), &text("5"));
    let text = |more: &str| {
        format!(
            "<eventdefinitions><datakey{more} format=\"%4u1x pid\" offset=\"4\"><event class=\"7\" id=\"0\"/></datakey></eventdefinitions>"
        )
    };
    check("X98", false, &text(""), &text(" wide_offset=\"4\""));
    let text = |spec: &str| {
        format!(
            "<eventdefinitions><datakey format=\"%d a {spec} b\"><event class=\"6\" id=\"0\"/></datakey></eventdefinitions>"
        )
    };
    check("X99", true, &text("%s"), &text("%1s0"));
    check("X99", true, &text("%1s"), &text("%1s1"));
}

#[test]
fn comments_allow_warnings() {
    let unused = "{{ $x = X4 }}";
    let word = "x4 X4";
    check_codes(&format!("# tfbc: allow=C49\n010 1.0 \"E\" {unused}\n020 1.0 \"E\" {unused}\n"), &[]);
    check_codes(&format!("# tfbc: allow=S47, C49: as the vendor has it\n010 1.0 \"E\" {unused} {word}\n"), &[]);
    check_codes(
        &format!("001 1.0 \"E\"\n# tfbc: allow=C49\n# why\n010 1.0 \"E\" {unused}\n020 1.0 \"E\" {unused}\n"),
        &["C41", "C49"],
    );
    check_codes(&format!("010 1.0 \"E\"\n# tfbc: allow=C49\n\n020 1.0 \"E\" {unused}\n"), &["S43", "C49"]);
    check_codes(&format!("010 1.0 \"E\" {unused}\n# tfbc: allow=C49\n"), &["C49", "S43"]);
    check_codes("# tfbc: allow=\n010 1.0 \"E\"\n", &["S21"]);
}

#[test]
fn comments_allow_warnings_of_elements() {
    let wide = "<datakey format=\"%4u1x pid\" offset=\"4\"><event class=\"7\" id=\"0\"/></datakey>";
    let file = |inside: &str| format!("<eventdefinitions>{inside}</eventdefinitions>");
    let allow = "<!-- tfbc: allow=X98 -->";
    check_codes(&file(&format!("{allow}{wide}{wide}")), &[]);
    check_codes(&format!("{allow}\n{}", file(wide)), &[]);
    check_codes(&file(&format!("{wide}{allow}\n  {wide}{wide}")), &["X98", "X98"]);
    check_codes(&file(&format!("{wide}{allow}")), &["X98", "X47"]);
    let zeros = "<datakey format=\"%4u1x a\"><!-- tfbc: allow=X46 --><event class=\"06\" id=\"01\"/><event class=\"6\" id=\"02\"/></datakey>";
    check_codes(&file(zeros), &["X46"]);
}

#[test]
fn what_need_not_be_allowed_is_said() {
    check("C53", true, "# a\n# tfbc: allow=S47\n# b\n010 1.0 \"E\"\n", "# a\n# b\n010 1.0 \"E\"\n");
    check(
        "C53",
        true,
        "# tfbc: allow=S48,S47 as is\n010 1.0 \"E\" x4 X4\n",
        "# tfbc: allow=S47 as is\n010 1.0 \"E\" x4 X4\n",
    );
    check("C53", true, "# tfbc: allow=S47, S48\r\n010 1.0 \"E\" x4 X4\n", "# tfbc: allow=S47\r\n010 1.0 \"E\" x4 X4\n");
    let unknown = check_sources(&["# tfbc: allow=T47\n010 1.0 \"E\"\n"]).diagnostics;
    assert_eq!((unknown.len(), unknown[0].code.code), (1, "C52"));
    assert_eq!(unknown[0].help.as_deref(), Some("did you mean `S47` (code-like bare word)?"));
    check("C52", true, "010 1.0 \"E\"\n  # tfbc: allow=S02\n020 1.0 \"E\"\n", "010 1.0 \"E\"\n020 1.0 \"E\"\n");
    check_codes("# tfbc: allow=C50\n010 1.0 \"E\"\n", &[]);
    check_codes("# tfbc: allow=C53\n# tfbc: allow=S47\n010 1.0 \"E\"\n", &[]);
    check_codes("# tfbc: allow=S47\n010 1.0 \"E\" X17\n", &["S07"]);
    check_codes("<!-- tfbc: allow=X98 --><eventdefinitions/>", &["C54", "C53"]);
}

#[test]
fn a_file_that_defines_nothing_is_named() {
    for text in ["", "\n\n", "# 010 1.0 X4\n", "<eventdefinitions/>"] {
        check_codes(text, &["C54"]);
    }
    // The error already explains why the file defines nothing.
    check_codes("010 1.0 X17\n", &["S07"]);
    let two = check_sources(&["010 1.0 \"E\"\n", "# nothing\n"]);
    assert!(two.blob.is_some());
    let place = two.diagnostics[0].primary.source;
    assert_eq!((two.diagnostics.len(), place), (1, SourceId(1)));
}

#[test]
fn entries_of_comments_about_fields() {
    let check = |entries: &str, expected: &[&str]| {
        let text = format!(
            "# tfbc: fields={entries}\n010 1.0 \"\" {{{{ $x = 1 }}}} $x \"n=\" U4 \"s=\" X4, 0 \"no\" \"t=\" A4 endtimer(1,1)\n"
        );
        let compiled = check_sources(&[&text]);
        assert!(compiled.blob.is_some(), "{entries}");
        let found: Vec<_> = compiled
            .diagnostics
            .iter()
            .map(|found| {
                format!(
                    "{} {}",
                    found.code.code,
                    &text[found.primary.span.start as usize..found.primary.span.end as usize]
                )
            })
            .collect();
        assert_eq!(found, expected, "{entries}");
    };
    check("*, -, s:enum, t2, timer_2", &[]);
    check("a, b:U8, c:X4, *, z=$x%D4, w=$PID, p=$EXECPATH, d=$D1%P4", &[]);
    check("*, *, *, *, *, more, most", &["C55 more"]);
    check("A, 1, pid, *, *", &["C20 A", "C20 1", "C20 pid"]);
    // `s_text` is the name of the column with the third field's words.
    check("*, x, *, s_text", &["C20 x", "C20 s_text"]);
    check("-, x, s_2", &[]);
    check("*, *, *, t:U4, u:U4", &["C20 U4", "C20 U4"]);
    check("*, n:enum, s:S4, *", &["C20 enum", "C20 S4"]);
    check("*, n:HB, s:X17, *", &["C20 HB", "C20 X17"]);
    check("y=$nosuch, z=$BREAK, v=$SVC%X4, u=7", &["C20 $nosuch", "C20 $BREAK", "C20 $SVC%X4", "C20 u=7"]);
    check(&format!("{}, {}", "a".repeat(64), "b".repeat(65)), &[&format!("C20 {}", "b".repeat(65))]);
}
