//! Syntax trees of all constructs of the language.

use tfbc_grammar::{Arena, Severity, Source, SourceId, trcfmt};

/// Listing of a file's tree; the file must have no errors.
fn tree(text: &[u8]) -> String {
    let arena = Arena::new();
    let source = Source::new("test", text);
    let (file, found) = trcfmt::parse(&arena, SourceId(0), &source);
    let errors: Vec<_> = found.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{}: {errors:?}", String::from_utf8_lossy(text));
    trcfmt::show(&file, &source)
}

/// Line of a listing without its position, indented by one blank per level.
fn without_place(line: &str) -> String {
    let node = line.trim_start();
    let depth = (line.len() - node.len()) / 2;
    let text = node.split_once(' ').map_or("", |(_, text)| text);
    format!("{}{text}", " ".repeat(depth))
}

/// Compares the tree of a whole file.
fn check_file(text: impl AsRef<[u8]>, expected: &[&str]) {
    let found: Vec<String> = tree(text.as_ref()).lines().map(without_place).collect();
    assert_eq!(found, expected, "{}", String::from_utf8_lossy(text.as_ref()));
}

/// Compares the tree of a descriptor in a stanza with an empty label.
fn check(descriptor: impl AsRef<[u8]>, expected: &[&str]) {
    let text = [b"010 1.0 \"\" ", descriptor.as_ref()].concat();
    let tree = tree(&text);
    let found: Vec<String> = tree.lines().skip(2).map(|line| without_place(&line[2..])).collect();
    assert_eq!(found, expected, "{}", String::from_utf8_lossy(descriptor.as_ref()));
}

#[test]
fn heads() {
    check_file("010 1.0", &["stanza 0100 1.0"]);
    check_file("abc 11.29 L=APPL", &["stanza ABC0 11.29 L=APPL"]);
    check_file("  F5f2\t1.0 L=0 @bare", &["stanza F5F2 1.0 L=0", " label \"@bare\" hidden"]);
    check_file("0FE0 1.0 \"@A b\"", &["stanza 0FE0 1.0", " label \"@A b\" hidden"]);
    check_file("010 1.0 L=INT LABEL$x", &["stanza 0100 1.0 L=INT", " label \"LABEL\"", " $x"]);
    check_file("010 1.0 L=SVC \"\" x", &["stanza 0100 1.0 L=SVC", " label \"\"", " word \"x\" soft"]);
    check_file("010 4294967295.0 L=KERN X4", &["stanza 0100 4294967295.0 L=KERN", " X4"]);
}

#[test]
fn codes_keywords_calls_and_backquoted_strings_are_no_labels() {
    check_file("010 1.0 LOOP $x {}", &["stanza 0100 1.0", " loop $x"]);
    check_file("010 1.0 f()", &["stanza 0100 1.0", " call f"]);
    check_file("010 1.0 `a`", &["stanza 0100 1.0", " backquoted", "  text \"a\""]);
    check_file("010 1.0 $x \"a\"", &["stanza 0100 1.0", " $x", " string \"a\""]);
}

#[test]
fn logical_lines() {
    check_file("# c\n\n \t\n010 1.0 # \"x\"\n", &["stanza 0100 1.0", " label \"#\"", " string \"x\""]);
    check_file("010 1.0 a\\\n  b\n", &["stanza 0100 1.0", " label \"a\"", " word \"b\" soft"]);
    check_file("010 1.0 a\\ \t\r\nb\r\n", &["stanza 0100 1.0", " label \"a\"", " word \"b\" soft"]);
    check_file("# c \\\n010 1.0\n020 1.0", &["stanza 0200 1.0"]);
    check_file("010 1.0 a \\", &["stanza 0100 1.0", " label \"a\""]);
    check_file("010 \\\n1.0 \\\n L=APPL", &["stanza 0100 1.0 L=APPL"]);
}

#[test]
fn settings() {
    check_file(
        "# tfbc: level=APPL\n#tfbc:a = b \n010 1.0",
        &["setting \"level\" \"APPL\"", "setting \"a\" \"b\"", "stanza 0100 1.0"],
    );
    check_file("#  tfbc : a=b\n# x tfbc: a=b\n010 1.0\n# tfbc: c=d", &["stanza 0100 1.0"]);
}

#[test]
fn strings_are_exact() {
    check(r#""a  b" """#, &["string \"a  b\"", "string \"\""]);
    check(r#""$x X4 { \t `""#, &["string \"$x X4 { \\\\t `\""]);
    check("\"a \\\n b\"", &["string \"a  b\""]);
    check("\"a\\\\\nb\"", &["string \"a\\\\b\""]);
    check(b"\"h\xe9\0\"", &["string \"h\\xe9\\x00\""]);
}

#[test]
fn bare_words_end_at_blanks_and_marks() {
    check("B_FLAG0 byte Disk0", &["word \"B_FLAG0\" soft", "word \"byte\" soft", "word \"Disk0\" soft"]);
    check("X4foo AW HX", &["word \"X4foo\" soft", "word \"AW\" soft", "word \"HX\" soft"]);
    check(
        "a=b a&b 100% =ok it's",
        &["word \"a=b\" soft", "word \"a&b\" soft", "word \"100%\" soft", "word \"=ok\" soft", "word \"it's\" soft"],
    );
    check(
        "* + - # v1.2 no. <ok>",
        &[
            "word \"*\" soft",
            "word \"+\" soft",
            "word \"-\" soft",
            "word \"#\" soft",
            "word \"v1.2\" soft",
            "word \"no.\" soft",
            "word \"<ok>\" soft",
        ],
    );
    check(b"\xe9t\xe9 a\0b", &["word \"\\xe9t\\xe9\" soft", "word \"a\\x00b\" soft"]);
}

#[test]
fn words_have_a_soft_blank_unless_followed_directly() {
    check("a$x", &["word \"a\"", "$x"]);
    check("a\"b\"", &["word \"a\"", "string \"b\""]);
    check("a`b`", &["word \"a\"", "backquoted", " text \"b\""]);
    check("a\\n b\\t", &["word \"a\"", "newline", "word \"b\"", "tab"]);
    check("a{{ $x }}", &["word \"a\"", "declare $x"]);
    check("a $x", &["word \"a\" soft", "$x"]);
    check("a\\\n$x", &["word \"a\" soft", "$x"]);
    check("LOOP X1 {a}$x", &["loop X1", " word \"a\" soft", "$x"]);
    check("X1, 1 a, 2 b$x", &["switch X1", " case 1", "  word \"a\" soft", " case 2", "  word \"b\"", "$x"]);
    check("BITFLAGS X1, 1 a\"b\"", &["bitflags X1", " flag 1", "  word \"a\"", "  else string \"b\""]);
    check(
        "BITFLAGS X1, 1 a b, 2 c",
        &["bitflags X1", " flag 1", "  word \"a\" soft", "  else word \"b\" soft", " flag 2", "  word \"c\" soft"],
    );
}

#[test]
fn codes() {
    check("A8.16 A0 S1 SW B2.3 X0 X04 XW D1", &["A8.16", "A0", "S1", "SW", "B0.19", "X0", "X4", "XW", "D1"]);
    check("UW o8 F4 HB HT TW E1 P8", &["UW", "o8", "F4", "HB", "HT", "TW", "E1", "P8"]);
    check("G1.5 O0.11 R0 W1 G3000000000", &["G1.5", "O0.11", "R0", "W1", "G3000000000"]);
    check("\\n\\n\\t", &["newline", "newline", "tab"]);
    check("\\nX4", &["newline", "X4"]);
}

#[test]
fn macros_and_casts() {
    check("$x $_1 $0FE", &["$x", "$_1", "$0FE"]);
    check("$x%U4 $x%X0 $x%B0.3 $x%A8.16", &["$x%U4", "$x%X0", "$x%B0.3", "$x%A8.16"]);
    check("$x%W4.11 $x%W0.63 $x%D04", &["$x%W4.11", "$x%W0.63", "$x%D4"]);
    check("$x%W $x%HB $x%Z9 $x%G4", &["$x%W", "$x%HB", "$x%Z9", "$x%G4"]);
    check("$x%U4. $x%X.5", &["$x%U4", "word \".\" soft", "$x%X", "word \".5\" soft"]);
    check("$x-X4", &["$x", "word \"-X4\" soft"]);
}

#[test]
fn backquoted_strings_expand_codes_and_macros() {
    check("`X4, G4 $x%U4/s`", &["backquoted", " X4", " text \", \"", " G4", " text \" \"", " $x%U4", " text \"/s\""]);
    check("`X2/X2 X17 \\n f(1) 100% $ \"`", &["backquoted", " text \"X2/X2 X17 \\\\n f(1) 100% $ \\\"\""]);
    check("`a=$x`", &["backquoted", " text \"a=\"", " $x"]);
    check("`X\\\n4 $\\\nx`", &["backquoted", " X4", " text \" \"", " $x"]);
    check("``", &["backquoted"]);
}

#[test]
fn assignments() {
    check("{{ $x = 7 + 6 }}", &["assign $x", " +", "  7", "  6"]);
    check("{{$x=o4*2-0x1F}}", &["assign $x", " -", "  *", "   o4", "   2", "  31"]);
    check("{{ $x = 1 & 2 + 3 * 4 }}", &["assign $x", " &", "  1", "  +", "   2", "   *", "    3", "    4"]);
    check("{{ $x = 1 - 2 - 3 }}", &["assign $x", " -", "  -", "   1", "   2", "  3"]);
    check("{{ $x = (1 - (2)) / $y%X4 }}", &["assign $x", " /", "  -", "   1", "   2", "  $y%X4"]);
    check(
        "{{ $x = o3 + o4 + o04 + oW + 08 }}",
        &["assign $x", " +", "  +", "   +", "    +", "     3", "     o4", "    4", "   oW", "  8"],
    );
    check("{{ $x }}{{ $y }}", &["declare $x", "declare $y"]);
    check("{{ $x = A4 + HB }}", &["assign $x", " +", "  A4", "  HB"]);
    check("{{ $x = 18446744073709551615 }}", &["assign $x", " 18446744073709551615"]);
}

#[test]
fn functions_and_calls() {
    check("{{ f() \"a\" }}", &["function f()", " string \"a\""]);
    check("{{ f(a, b2) $a }}f($D1,X4)", &["function f(a, b2)", " $a", "call f", " $D1", " X4"]);
}

#[test]
fn switches() {
    check(
        "HT & 0x07, 1 \"a\", \\* { X4 \\n }",
        &["switch HT & 0x07", " case 1", "  string \"a\"", " case \\*", "  X4", "  newline"],
    );
    check(
        "$x%U4, 1 `b`, \"c\" d, \"\" {}",
        &["switch $x%U4", " case 1", "  backquoted", "   text \"b\"", " case \"c\"", "  word \"d\" soft", " case \"\""],
    );
    check(
        "A8, /bin/ksh\"a\", -1-{ }, D3 b, X17 c, LOOP d",
        &[
            "switch A8",
            " case /bin/ksh",
            "  string \"a\"",
            " case -1-",
            " case D3",
            "  word \"b\" soft",
            " case X17",
            "  word \"c\" soft",
            " case LOOP",
            "  word \"d\" soft",
        ],
    );
    check("$x&3, 0 5 X4", &["switch $x & 3", " case 0", "  word \"5\" soft", "X4"]);
    check(
        "X1, 0 {X1, 1 \"a\", \\* {}}, 1 \"b\"",
        &[
            "switch X1",
            " case 0",
            "  switch X1",
            "   case 1",
            "    string \"a\"",
            "   case \\*",
            " case 1",
            "  string \"b\"",
        ],
    );
    check("LOOP X1 { X1, 1 \"a\", }", &["loop X1", " switch X1", "  case 1", "   string \"a\""]);
    check(
        "BITFLAGS X1, 1 a, $x, 1 b,",
        &["bitflags X1", " flag 1", "  word \"a\" soft", "switch $x", " case 1", "  word \"b\" soft"],
    );
}

#[test]
fn a_brace_is_the_one_that_is_wanted() {
    check("X1, 0 {{{ $x = 1 }}}", &["switch X1", " case 0", "  assign $x", "   1"]);
    check("LOOP $x {{{ $x }} {{ $y }}}", &["loop $x", " declare $x", " declare $y"]);
    check("{{ f(a) $a, \\* { X1 }}}", &["function f(a)", " switch $a", "  case \\*", "   X1"]);
    check(
        "{{ f(a) $a, \\* {{{ $b = X1 }}}}}",
        &["function f(a)", " switch $a", "  case \\*", "   assign $b", "    X1"],
    );
}

#[test]
fn bitflags() {
    check(
        "BITFLAGS $m%o4, 00400 \"r\" \"-\", 00200 \"w\"",
        &["bitflags $m%o4", " flag 00400", "  string \"r\"", "  else string \"-\"", " flag 00200", "  string \"w\""],
    );
    check(
        "BITFLAGS X4, & F0 3 a, D3 b \"c\" \"d\"",
        &[
            "bitflags X4",
            " field & F0 3",
            "  word \"a\" soft",
            " flag D3",
            "  word \"b\" soft",
            "  else string \"c\"",
            "string \"d\"",
        ],
    );
    check(
        "BITFLAGS X4, & 1 1 \"a\" \"b\" 5",
        &["bitflags X4", " field & 1 1", "  string \"a\"", "string \"b\"", "word \"5\" soft"],
    );
}

#[test]
fn codes_keywords_and_calls_are_no_text_for_false() {
    check("BITFLAGS X4, 1 \"a\" X4", &["bitflags X4", " flag 1", "  string \"a\"", "X4"]);
    check(
        "BITFLAGS X4, 1 \"a\" X4, 1 \"b\"",
        &["bitflags X4", " flag 1", "  string \"a\"", "switch X4", " case 1", "  string \"b\""],
    );
    check("BITFLAGS X4, 1 \"a\" f(1)", &["bitflags X4", " flag 1", "  string \"a\"", "call f", " 1"]);
    check(
        "BITFLAGS X4, 1 \"a\" BITFLAGS X2, 1 b c",
        &[
            "bitflags X4",
            " flag 1",
            "  string \"a\"",
            "bitflags X2",
            " flag 1",
            "  word \"b\" soft",
            "  else word \"c\" soft",
        ],
    );
    check("BITFLAGS X4, 1 \"a\" LOOP X1 {}", &["bitflags X4", " flag 1", "  string \"a\"", "loop X1"]);
}

#[test]
fn a_missing_comma_before_a_digit_or_ampersand() {
    check(
        "BITFLAGS $m%o4, 00400 \"r\" \"-\" 00200 \"w\" \"-\"",
        &[
            "bitflags $m%o4",
            " flag 00400",
            "  string \"r\"",
            "  else string \"-\"",
            " flag 00200",
            "  string \"w\"",
            "  else string \"-\"",
        ],
    );
    check(
        "BITFLAGS X4, & 012 040 \"I\" & 012 020 B 1 c & 1 1 d",
        &[
            "bitflags X4",
            " field & 012 040",
            "  string \"I\"",
            " field & 012 020",
            "  word \"B\" soft",
            " flag 1",
            "  word \"c\" soft",
            " field & 1 1",
            "  word \"d\" soft",
        ],
    );
}

#[test]
fn a_comma_after_the_last_entry() {
    check("BITFLAGS X4, 1 \"a\",", &["bitflags X4", " flag 1", "  string \"a\""]);
    check(
        "BITFLAGS X4, 1 \"a\", \"b\" c",
        &["bitflags X4", " flag 1", "  string \"a\"", "string \"b\"", "word \"c\" soft"],
    );
    check("BITFLAGS X4, 1 \"a\", \\n X4", &["bitflags X4", " flag 1", "  string \"a\"", "newline", "X4"]);
}

#[test]
fn loops_and_timers() {
    check("LOOP $n {X0}", &["loop $n", " X0"]);
    check("LOOP B0.5{ }", &["loop B0.5"]);
    check(
        "starttimer(0x101,$TID) endtimer((2),1 + 1)",
        &["starttimer", " 257", " $TID", "endtimer", " 2", " +", "  1", "  1"],
    );
}

#[test]
fn the_published_examples() {
    check_file(
        "900 1.0 \"ESDI STRATEGY\" {{ $rv = 0 }} {{ $stat = X2 }} \\\n    $90F \\n\\\nspecial_esdi_status=$stat for minor device $rv\n",
        &[
            "stanza 9000 1.0",
            " label \"ESDI STRATEGY\"",
            " assign $rv",
            "  0",
            " assign $stat",
            "  X2",
            " $90F",
            " newline",
            " word \"special_esdi_status=\"",
            " $stat",
            " word \"for\" soft",
            " word \"minor\" soft",
            " word \"device\" soft",
            " $rv",
        ],
    );
    check(
        "G4 {{ $return }} B0.1, 1 B_FLAG0 \\\n B0.1, 1 B_FLAG1 G16 {{ $return = X2 }}",
        &[
            "G4",
            "declare $return",
            "switch B0.1",
            " case 1",
            "  word \"B_FLAG0\" soft",
            "switch B0.1",
            " case 1",
            "  word \"B_FLAG1\" soft",
            "G16",
            "assign $return",
            " X2",
        ],
    );
    check(
        "{{ state(value) $value, 0 \"DOWN\", 1 \"UP\", \\* { \"STATE(\" $value%UW \")\" } }} \"state=\" state($D3) $D4%E4",
        &[
            "function state(value)",
            " switch $value",
            "  case 0",
            "   string \"DOWN\"",
            "  case 1",
            "   string \"UP\"",
            "  case \\*",
            "   string \"STATE(\"",
            "   $value%UW",
            "   string \")\"",
            "string \"state=\"",
            "call state",
            " $D3",
            "$D4%E4",
        ],
    );
}
