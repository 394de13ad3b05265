//! Diagnostics of event definitions, which point at the tag of the element in error.

use tfbc_grammar::{Arena, Diagnostic, Severity, Source, SourceId, datakey};

fn parse(text: &[u8]) -> (bool, Vec<Diagnostic>) {
    let arena = Arena::new();
    let (file, found) = datakey::parse(&arena, SourceId(0), &Source::new("test", text));
    (file.refused, found)
}

/// Diagnostics of a file as `line:column code`; warnings have a `?` after the code.
fn findings(text: &[u8]) -> Vec<String> {
    let source = Source::new("test", text);
    let describe = |diagnostic: &Diagnostic| {
        let (line, column) = source.line_column(diagnostic.primary.span.start);
        let mark = if diagnostic.severity == Severity::Warning { "?" } else { "" };
        format!("{line}:{column} {}{mark}", diagnostic.code.code)
    };
    parse(text).1.iter().map(describe).collect()
}

/// Checks a file that is refused as a whole.
fn refused(text: &str, expected: &str) {
    refused_bytes(text.as_bytes(), expected);
}

fn refused_bytes(text: &[u8], expected: &str) {
    assert_eq!(findings(text), [expected], "{}", text.escape_ascii());
    assert!(parse(text).0, "{}", text.escape_ascii());
}

/// Checks a file whose valid parts are used.
fn check(text: &str, expected: &[&str]) {
    assert_eq!(findings(text.as_bytes()), expected, "{text}");
    assert!(!parse(text.as_bytes()).0, "{text}");
}

/// Checks elements inside the root, from line 2 on.
fn items(text: &str, expected: &[&str]) {
    check(&format!("<eventdefinitions>\n{text}</eventdefinitions>"), expected);
}

/// Checks elements inside a datakey with one field, from line 3 on.
fn inside(text: &str, expected: &[&str]) {
    items(&format!("<datakey format='%x a'><event class='6' id='1'/>\n{text}</datakey>"), expected);
}

/// Checks a format; errors point at its datakey.
fn format(attribute: &str, expected: &[&str]) {
    let expected: Vec<String> = expected.iter().map(|code| format!("2:1 {code}")).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    items(&format!("<datakey {attribute}><event class='6' id='1'/></datakey>"), &expected);
}

/// Message, help and second label of the first diagnostic.
fn first(text: &str) -> (String, String, String) {
    let source = Source::new("test", text);
    let (_, found) = parse(text.as_bytes());
    let place = found[0].secondary.first().map(|label| source.slice(label.span));
    let place = String::from_utf8_lossy(place.unwrap_or_default()).into_owned();
    (found[0].message.clone(), found[0].help.clone().unwrap_or_default(), place)
}

/// Message, help and second label of the first diagnostic inside a datakey with one field.
fn first_inside(text: &str) -> (String, String, String) {
    first(&format!(
        "<eventdefinitions><datakey format='%x a'><event class='6' id='1'/>{text}</datakey></eventdefinitions>"
    ))
}

fn first_format(format: &str) -> (String, String, String) {
    first(&format!(
        "<eventdefinitions><datakey format='{format}'><event class='6' id='1'/></datakey></eventdefinitions>"
    ))
}

#[test]
fn encodings() {
    check("<eventdefinitions/>", &[]);
    check("\u{feff}<eventdefinitions/>", &[]);
    check("<?xml version='1.0'?><eventdefinitions/>", &[]);
    check("\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\" standalone='yes' ?>\n<eventdefinitions/>", &[]);
    check("<?xml version='1.0' encoding='ISO-8859-1'?>\n<eventdefinitions/>", &[]);
    refused("<?xml version='1.0' encoding='KOI8-R'?>\n<eventdefinitions/>", "1:31 X02");
    refused("<?xml version='1.0' encoding='UTF-16'?>\n<eventdefinitions/>", "1:31 X02");
    refused_bytes(b"<?xml version='1.0' encoding='ascii'?>\n<eventdefinitions a='\xe4'/>", "2:22 X02");
    refused_bytes(b"<?xml version='1.0' encoding='cp1252'?>\n<eventdefinitions a='\x81'/>", "2:22 X02");
    refused_bytes(b"<eventdefinitions\n a='\xe4'/>", "2:5 X02");
    refused_bytes(b"\xff\xfe<\0e\0/", "1:7 X02");
    refused_bytes(b"<\0e\0", "1:1 X02");
    check("\u{feff}<?xml version='1.0' encoding='KOI8-R'?>\n<eventdefinitions/>", &["1:24 X50?"]);
}

#[test]
fn other_encodings_are_decoded() {
    for (name, encode) in [
        ("latin1", (|text| text.chars().map(|c| c as u8).collect()) as fn(&str) -> Vec<u8>),
        ("UTF-16", |text| "\u{feff}".chars().chain(text.chars()).flat_map(|c| (c as u16).to_le_bytes()).collect()),
        ("UTF-16BE", |text| "\u{feff}".chars().chain(text.chars()).flat_map(|c| (c as u16).to_be_bytes()).collect()),
    ] {
        let text = format!("<?xml version='1.0' encoding='{name}'?>\n<eventdefinitions a='\u{e9}'/>");
        assert_eq!(findings(&encode(&text)), ["2:1 X41?"], "{name}");
        let source = Source::new("test", encode(&text));
        assert_eq!(source.bytes(), text.as_bytes());
        assert_eq!(*source.encode(source.bytes()), encode(&text));
    }
    let little: Vec<u8> = "\u{feff}<?xml version='1.0' encoding='UTF-16BE'?><eventdefinitions/>"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(findings(&little), ["1:21 X50?"]);
}

#[test]
fn prefixes_of_names() {
    check("<q:eventdefinitions xmlns:q='urn:q'/>", &[]);
    check("<eventdefinitions xmlns='urn:q' xml:lang='en' xsi:schemaLocation='a' xmlns:xsi='b'/>", &[]);
    let prefixed = "<q:datakey q:format='%x a' xmlns:q='urn:q'><q:event class='6' q:id='1'/></q:datakey>";
    items(prefixed, &[]);
}

#[test]
fn prefixes_are_bound_in_their_element_alone() {
    refused("<q:eventdefinitions/>", "1:1 X03");
    refused("<eventdefinitions q:a='1'/>", "1:19 X03");
    refused(
        "<eventdefinitions><eventclass id='6' xmlns:q='u'><event id='1' sformat='%x a'/></eventclass><q:a/></eventdefinitions>",
        "1:93 X03",
    );
    refused("<eventdefinitions xmlns:q='u' q:a='1' a='2'/>", "1:39 X03");
}

#[test]
fn fix_replaces_a_prefixed_name_completely() {
    let text = "<q:eventdefinitions xmlns:q='u'><q:datakye></q:datakye></q:eventdefinitions>";
    let fix = parse(text.as_bytes()).1.into_iter().find_map(|found| found.fix).expect("a fix");
    let mut mended = text.to_owned();
    for edit in fix.edits.iter().rev() {
        mended.replace_range(edit.span.start as usize..edit.span.end as usize, &edit.text);
    }
    assert_eq!(mended, "<q:eventdefinitions xmlns:q='u'><datakey></datakey></q:eventdefinitions>");
}

#[test]
fn roots() {
    for root in ["eventdefinitions", "eventdefinition", "eventformatting"] {
        check(&format!("<{root}/>"), &[]);
        check(&format!("<{root}>\n</{root} >"), &[]);
    }
    refused("\n <events/>", "2:2 X06");
    refused("<EventDefinitions/>", "1:1 X06");
    refused("", "1:1 X06");
    refused(" \n <!-- nothing --> ", "1:1 X06");
    assert!(first("<events/>").1.contains("<eventdefinitions><datakey format="));
    check("<eventdefinitions version='2'/>", &["1:1 X41?"]);
}

#[test]
fn not_well_formed() {
    refused("<eventdefinitions>", "1:1 X03");
    refused("<eventdefinitions>\n <eventclass id='6'>\n</eventdefinitions>", "3:1 X03");
    refused("<eventdefinitions/>\n</eventdefinitions>", "2:1 X03");
    refused("<eventdefinitions/>\n<eventdefinitions/>", "2:1 X03");
    refused("<eventdefinitions/> x", "1:21 X03");
    refused("x<eventdefinitions/>", "1:1 X03");
    refused("<eventdefinitions/>&amp;", "1:20 X03");
    refused("<![CDATA[x]]><eventdefinitions/>", "1:1 X03");
    refused(" <?xml version='1.0'?><eventdefinitions/>", "1:2 X03");
    refused("<?xml encoding='UTF-8'?><eventdefinitions/>", "1:1 X03");
    refused("<?xml version='2.0'?><eventdefinitions/>", "1:1 X03");
    refused("<?XML version='1.0'?><eventdefinitions/>", "1:1 X03");
    refused("<eventdefinitions\n a=1/>", "2:4 X03");
    refused("<eventdefinitions a/>", "1:20 X03");
    refused("<eventdefinitions a='1'b='2'/>", "1:24 X03");
    refused("<eventdefinitions a='1' a='2'/>", "1:25 X03");
    refused("<eventdefinitions 1a='1'/>", "1:19 X03");
    refused("<eventdefinitions a='<'/>", "1:22 X03");
    refused("<eventdefinitions a='&'/>", "1:22 X03");
    refused("<eventdefinitions a='&user;'/>", "1:22 X03");
    refused("<eventdefinitions a='&#0;'/>", "1:22 X03");
    refused("<eventdefinitions>&user;</eventdefinitions>", "1:19 X03");
    refused("<eventdefinitions>& b</eventdefinitions>", "1:19 X03");
    refused("<eventdefinitions>]]></eventdefinitions>", "1:19 X03");
    refused("<eventdefinitions><1/></eventdefinitions>", "1:19 X03");
    refused("<eventdefinitions>< a/></eventdefinitions>", "1:19 X03");
    refused("<eventdefinitions><!-- a -- b --></eventdefinitions>", "1:19 X03");
    refused("<eventdefinitions><!-- a", "1:19 X03");
    refused("<eventdefinitions><![CDATA[ a", "1:19 X03");
    refused("<eventdefinitions><!x></eventdefinitions>", "1:19 X03");
    refused("<eventdefinitions><? a", "1:19 X03");
    refused("<eventdefinitions a=\"", "1:1 X03");
    refused("<eventdefinitions a='\u{1}'/>", "1:22 X03");
    refused("<eventdefinitions a='\u{ffff}'/>", "1:22 X03");
    refused("\u{feff}\u{feff}<eventdefinitions/>", "1:4 X03");
    // A missing quote pulls the following tags into the value.
    refused("<eventdefinitions>\n<datakey format=\"%x a>\n<event class=\"6\" id=\"1\"/></datakey>", "2:1 X03");
}

#[test]
fn what_is_found_before_a_fault_is_reported_too() {
    let text = "<eventdefinitions>\n<datakey format='%y a'><event class='6' id='1'/></datakey>\n</x>";
    assert_eq!(findings(text.as_bytes()), ["2:1 X12", "3:1 X03"]);
}

#[test]
fn doctypes() {
    check("<!DOCTYPE eventdefinitions>\n<eventdefinitions/>", &["1:1 X42?"]);
    check("<!DOCTYPE eventdefinitions SYSTEM \"a.dtd\" [<!ELEMENT a ANY>]><eventdefinitions/>", &["1:1 X42?"]);
    check("<!DOCTYPE a [<!-- <!ENTITY b 'c'> -->]><eventdefinitions/>", &["1:1 X42?"]);
    refused("<?xml version='1.0'?>\n<!DOCTYPE a [<!ENTITY b 'c'>]>\n<eventdefinitions/>", "2:1 X05");
    refused("<!DOCTYPE a [<!ENTITY % b SYSTEM 'c'>]><eventdefinitions/>", "1:1 X05");
    refused("<eventdefinitions/><!DOCTYPE a>", "1:20 X03");
    refused("<!doctype a><eventdefinitions/>", "1:1 X03");
    refused("<!DOCTYPE a]]b>\n<eventdefinitions/>", "1:11 X03");
    refused("<!DOCTYPE a []\n]>\n<eventdefinitions/>", "2:1 X03");
}

#[test]
fn limits() {
    let nested = |depth: usize| {
        let (open, close) = ("<a>".repeat(depth - 1), "</a>".repeat(depth - 1));
        format!("<eventdefinitions>{open}{close}</eventdefinitions>")
    };
    check(&nested(64), &["1:19 X40?"]);
    assert_eq!(findings(nested(65).as_bytes()), ["1:19 X40?", "1:208 X04"]);
    let attributes = |n: usize| (0..n).map(|n| format!(" a{n}=''")).collect::<String>();
    assert_eq!(findings(format!("<eventdefinitions{}/>", attributes(64)).as_bytes()).len(), 64);
    refused(&format!("<eventdefinitions{}/>", attributes(65)), "1:457 X04");
    let large = |len: usize| format!("<eventdefinitions><!--{}--></eventdefinitions>", "x".repeat(len - 44));
    check(&large(16 << 20), &[]);
    refused(&large((16 << 20) + 1), "1:1 X01");
}

#[test]
fn texts_between_elements() {
    items("user <!-- a --> events &lt; <![CDATA[x]]>", &["2:1 X43?"]);
    items("<!-- a -->\n<?pi x?>\n", &[]);
    inside("a<enum value='1' string='x'/>b", &["3:1 X43?", "3:30 X43?"]);
    items("<![CDATA[]]>", &["2:1 X43?"]);
}

#[test]
fn unknown_elements() {
    items("<Datakey><datakey/>x</Datakey>", &["2:1 X40?"]);
    items("<event class='6' id='1'/>", &["2:1 X40?"]);
    inside("<eunm value='1'/>\n<eventclass/>", &["3:1 X40?", "4:1 X40?"]);
    inside("<enum value='1' string='x'><enum/></enum>", &["3:28 X40?"]);
    items(
        "<eventclass id='6'>\n<event id='1' sformat='%x a'><enum/></event><datakey/></eventclass>",
        &["3:30 X40?", "3:45 X40?"],
    );
    assert_eq!(first_inside("<eunm/>").1, "did you mean `enum`?");
    assert_eq!(first("<eventdefinitions><enum/></eventdefinitions>").1, "move `enum` directly into `datakey`");
}

#[test]
fn unknown_attributes() {
    items("<datakey format='%x a'\n ofset='4'><event class='6' id='1' x=''/></datakey>", &["2:1 X41?", "3:12 X41?"]);
    inside("<bitmask value='1' string=''/>\n<condition name='b' value='1' id=''/>", &["3:1 X41?", "4:1 X41?"]);
    items(
        "<eventclass id='6' format='x'><event id='1' sformat='%x a' offset='1'/></eventclass>",
        &["2:1 X41?", "2:31 X41?"],
    );
    let (message, help, place) = first_inside("<enum value='1' strin='x' string='y'/>");
    assert_eq!(message, "`enum` has no attribute `strin`: it is ignored");
    assert_eq!((help.as_str(), place.as_str()), ("did you mean `string`?", "strin='x'"));
}

#[test]
fn required_attributes() {
    items("<datakey><event class='6' id='1'/></datakey>", &["2:1 X07"]);
    items("<datakey format='%x a'><event class='6'/><event id='1'/></datakey>", &["2:24 X07", "2:42 X07"]);
    items("<datakey format='%x a'><event/></datakey>", &["2:24 X07", "2:24 X07"]);
    items("<eventclass name='User'>\n<event id='1' sformat='%x a'/></eventclass>", &["2:1 X07"]);
    items("<eventclass id='6'>\n<event sformat='%x a'/>\n<event id='1'/></eventclass>", &["3:1 X07", "4:1 X07"]);
    inside("<bitmask name='a'/>", &["3:1 X07"]);
    items("<datakey format='%x a'/>", &["2:1 X11"]);
    items("<eventclass id='6'/>", &["2:1 X48?"]);
    let (message, help, _) = first("<eventdefinitions><eventclass name='User Events'/></eventdefinitions>");
    assert_eq!(message, "`eventclass` has no `id`");
    assert!(help.starts_with("add `id`: `id=\"6\"` is the class of user events; older samples by QNX"), "{help}");
}

#[test]
fn numbers() {
    let offset = |value: &str, expected: &[&str]| {
        items(&format!("<datakey format='%x a' offset='{value}'><event class='6' id='1'/></datakey>"), expected);
    };
    for good in ["0", " 4\t", "0x10", "-0", "18446744073709551615", "0x00ff"] {
        offset(good, &[]);
    }
    for bad in ["", " ", "+5", "0X5", "5 6", "0x", "abc", "1.5", "0b1", "--5", "- 5", "!5", "18446744073709551616"] {
        offset(bad, &["2:1 X08"]);
    }
    offset("-1", &["2:1 X10"]);
    offset("-9223372036854775809", &["2:1 X08"]);
    offset("010", &["2:1 X46?"]);
    offset("-010", &["2:1 X46?", "2:1 X10"]);
    items("<datakey format='%x a' wide_offset='-1'><event class='6' id='1'/></datakey>", &["2:1 X10"]);
    items("<datakey format='%x a'><event class='0x' id='+1'/></datakey>", &["2:24 X08", "2:24 X08"]);
    items("<datakey format='%x a'><event class='' id='!1'/></datakey>", &["2:24 X08", "2:24 X08"]);
    items("<datakey format='%x a'><event class='006' id='1'/></datakey>", &["2:24 X46?"]);
    inside(
        "<bitmask value='!1'/>\n<enum value='!!1' string='x'/>\n<enum mask='1 !' string='x'/>",
        &["3:1 X08", "4:1 X08", "5:1 X08"],
    );
    inside("<enum value=' ! -1 ' string='x'/><enum mask='!0xff' string='x'/>", &[]);
    assert_eq!(first_inside("<bitmask value='&#9;+5 '/>").2, "+5");
    assert_eq!(first_inside("<bitmask value='0X5'/>").1, "write a lower-case `x`");
}

#[test]
fn booleans() {
    let shown = |value: &str, expected: &[&str]| {
        items(
            &format!("<datakey format='%x a' show_masked_value='{value}'><event class='6' id='1'/></datakey>"),
            expected,
        );
    };
    ["true", "FALSE", " True "].iter().for_each(|good| shown(good, &[]));
    ["", "1", "yes", "truee"].iter().for_each(|bad| shown(bad, &["2:1 X09"]));
}

#[test]
fn spellings() {
    format("sformat='%x a'", &["X45?"]);
    format("format='%x a' sformat='%y b'", &["X45?"]);
    items("<eventclass id='6'><event id='1' format='%x a'/></eventclass>", &["2:20 X45?"]);
    items("<eventclass id='6'><event id='1' format='%y a' sformat='%x a'/></eventclass>", &["2:20 X45?"]);
    inside("<enum name='a' key='b' value='1' string='x'/>", &["3:1 X44?"]);
    inside("<enum key='a' value='1' string='x'/>", &[]);
}

#[test]
fn formats() {
    for good in [
        "%x a",
        " %2u1x ipicmd %2u1x ipicmd2",
        "%x&#9;a",
        "%x\na",
        "%d a b  c%o d",
        "%1s0 s",
        "%1u0 s",
        "%10 s",
        "%8 a",
    ] {
        format(&format!("format='{good}'"), &[]);
    }
    for bad in [
        "", " ", "a", "a %x b", "% a", "%", "%x a %", "%%x a", "%3u1x a", "%xd a", "%2z a", "%xa", "%x1 a", "%su a",
        "%-1 a", "%é a",
    ] {
        format(&format!("format='{bad}'"), &["X12"]);
    }
    for bad in ["%x", "%x ", "%x%d a", "%x %d a", "%x a %d "] {
        format(&format!("format='{bad}'"), &["X13"]);
    }
    format("format='%x a %d b %x a %d b'", &["X13", "X13"]);
    format("format='%x my label %x my&#9; label'", &["X13"]);
    format("format='%x a %x A'", &[]);
}

#[test]
fn counts() {
    for bad in ["%0 a", "%2u0 a", "%1u0x a", "%s0 a", "%4s0 a", "%00 a"] {
        format(&format!("format='{bad}'"), &["X15"]);
    }
    format("format='%2u4x a %2u2d b'", &["X14", "X14"]);
    format("format='%3x a'", &["X14"]);
    format("format='%1u01x a'", &[]);
    format("sformat='%2u4x a %99999999999999999999 b'", &["X45?"]);
    items("<eventclass id='6'><event id='1' sformat='%2u4x a'/></eventclass>", &[]);
    items("<eventclass id='6'>\n<event id='1' format='%2u4x a'/></eventclass>", &["3:1 X45?", "3:1 X14"]);
    // If both are given, the attribute called `format` is used.
    format("sformat='%2u4x a' format='%2u4x a'", &["X45?", "X14"]);
}

#[test]
fn what_is_wrong_with_a_format() {
    let message = |format: &str, expected: &str, place: &str| {
        let (message, _, found) = first_format(format);
        assert_eq!((message.as_str(), found.as_str()), (expected, place), "{format}");
    };
    message("%3u1x a", "size must be 1, 2, 4 or 8 bytes, found 3", "%3u1x");
    message("%x a %16s a", "size must be 1, 2, 4 or 8 bytes, found 16", "%16s");
    message("%2u1xipicmd", "no blank between spec `%2u1x` and label `ipicmd`", "%2u1xipicmd");
    for (spec, meant) in [("%4u1x state %4x1d", "%4s1d"), ("%4d1x", "%4u1x"), ("%4d1", "%4s1d")] {
        let (message, help, _) = first_format(&format!("{spec} frame"));
        assert!(message.starts_with("format before the count in spec `%4"), "{message}");
        assert!(help.starts_with(&format!("write `{meant}`: ")), "{help}");
    }
    message("%2uz a", "`z` cannot follow `%2u` in a spec", "%2uz");
    message("%z a", "`z` is not a spec", "%z");
    message("a %x b", "text before the first `%` of a format", "a");
    message("%x done 50% %d b", "`%` without spec", "% ");
    message("%x %d b", "field `%x` has no label", "%x %");
    message("%x &lt; %x &lt;", "label `<` appears twice in one format", "&lt;");
    message("&#9;%2u4x hi&#x20;story", "field `hi story` is an array in a `format`", "%2u4x hi&#x20;story");
}

#[test]
fn enums() {
    inside("<enum value='1' mask='1' string='x'/>", &["3:1 X16"]);
    inside("<enum string='x'/>", &["3:1 X16"]);
    inside("<enum/>", &["3:1 X16", "3:1 X16"]);
    inside("<enum value='1'/>", &["3:1 X16"]);
    inside(
        "<enum default='x' value='1'/>\n<enum default='x' mask='1'/>\n<enum default='x' string='1'/>",
        &["3:1 X16", "4:1 X16", "5:1 X16"],
    );
    inside("<enum value='1' string=''/>\n<enum default=''/>", &["3:1 X17", "4:1 X17"]);
    inside("<enum value='1' string=' '/><enum default='x'/>", &[]);
    inside("<enum value='x'/>", &["3:1 X08", "3:1 X16"]);
}

#[test]
fn errors_name_the_datakey_that_is_refused() {
    let text =
        "<eventdefinitions><datakey format='%x a'><event class='6'/><eunm/></datakey><eventclass/></eventdefinitions>";
    let refused = |found: &Diagnostic| found.secondary.last().map(|label| (label.span.start, label.text.clone()));
    let (_, found) = parse(text.as_bytes());
    let found: Vec<_> = found.iter().map(|found| (found.code.code, refused(found))).collect();
    let datakey = Some((18, "this datakey is refused".to_owned()));
    assert_eq!(found, [("X07", datakey), ("X40", None), ("X07", None), ("X48", None)]);
}

#[test]
fn conditions() {
    inside("<condition name='b'/>", &["3:1 X18"]);
    inside("<condition name='b' value='x'/>", &["3:1 X08"]);
    inside("<condition key='b' value='!1' mask='1'/>", &[]);
    inside("<condition mask='1'/>", &[]);
    inside("<condition name='b' value='!1' mask='!1'/>", &["3:1 X49?"]);
}

#[test]
fn conditions_without_name_need_a_format_of_one_label() {
    let of_format = |format: &str, expected: &[&str]| {
        let condition = "<condition mask='1'/>";
        items(&format!("<datakey format='{format}'><event class='6' id='1'/>\n{condition}</datakey>"), expected);
    };
    of_format("%1u1x a", &[]);
    of_format("%1s0 a", &[]);
    of_format("%1u1x a %1u1x b", &["3:1 X07"]);
    // The number of labels in a bad format is unknown.
    of_format("%3u1x a", &["2:1 X12"]);
}

#[test]
fn settings() {
    check("<!-- tfbc: bare-s=number -->\n<eventdefinitions><!--tfbc:a=b--></eventdefinitions>", &[]);
    check("<!-- tfbc: bare-s -->\n<eventdefinitions><!-- tfbc: =x --></eventdefinitions>", &["1:12 X19", "2:30 X19"]);
    items("<eventclass id='6'/>\n<!-- tfbc: bare-s=number -->", &["2:1 X48?", "3:12 X47?"]);
    check("<eventdefinitions/>\n<!-- tfbc: bare-s=number --><!-- a tfbc: b -->", &[]);
    items("<!-- tfbc: fields=a, b --><datakey format='%x a'><event class='6' id='1'/></datakey>", &[]);
    items("<!-- tfbc: fields=a --><eventclass id='6'/>", &["2:19 X47?", "2:24 X48?"]);
}

#[test]
fn too_many_findings_are_counted() {
    let bad = "<datakey format='%y a'><event class='6' id='1'/></datakey>".repeat(10_005);
    let found = findings(format!("<eventdefinitions>{bad}</eventdefinitions>").as_bytes());
    assert_eq!((found.len(), found[10_000].ends_with("S22")), (10_001, true));
    let (refused, found) = parse(format!("<eventdefinitions>{bad}</eventdefinitions>").as_bytes());
    assert_eq!((refused, found[10_000].message.as_str()), (false, "5 more errors are not shown"));
}
