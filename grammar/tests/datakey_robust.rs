//! Parsing accepts any bytes, and every reported position is inside the source.

use proptest::prelude::*;
use tfbc_grammar::{Arena, Severity, Source, SourceId, Span, datakey};

/// File with every construct of the language.
const SAMPLE: &[u8] = b"\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- tfbc: bare-s=number -->\r\n\
<!DOCTYPE eventdefinitions>\n<eventdefinitions>\n\
  <datakey format=\"%2u1x&#9;ipicmd %s  my label%d \xc3\xa9tage\" offset='0x0' wide_offset=\" 4 \" show_masked_value=\"TRUE\">\n\
    <event class=\"6\" id=\"65\"/> <event class='KER_CALL' id='__KER_MSG_SENDV:exit64'></event>\n\
    <bitmask name=\"ipicmd\" value=\"0xff00\"/><![CDATA[x]]>&amp;\n\
    <enum name=\"ipicmd\" mask=\" ! 0x80\" string=\"a&lt;b\"/> <enum key='ipicmd' default='none'/>\n\
    <enum name='\xc3\xa9tage' value='-1' string='&quot;'/>\n\
    <condition name=\"kind\" value=\"!1\" mask=\"0xf\"/>\n  </datakey>\n\
  <eventclass id=\"6\" name=\"User Events\">\n    <event id=\"66\" sformat=\"%1u0 s %4u4x a\"/>\n  </eventclass>\n\
</eventdefinitions>\n<?pi?>";

/// Pieces inserted into the sample.
const PIECES: &[&[u8]] = &[
    b"<",
    b">",
    b"</",
    b"/>",
    b"\"",
    b"'",
    b"&",
    b";",
    b"&#",
    b"&#x",
    b"&lt;",
    b"&#9;",
    b"&#0;",
    b"%",
    b"% ",
    b"%x",
    b"%1s0 ",
    b"%9",
    b"!",
    b"-",
    b"+",
    b"0x",
    b"0X",
    b"=",
    b" ",
    b"\n",
    b"\r\n",
    b"\r",
    b"\t",
    b"<!--",
    b"-->",
    b"--",
    b"<![CDATA[",
    b"]]>",
    b"<?",
    b"?>",
    b"<?xml ",
    b"<!DOCTYPE ",
    b"[<!ENTITY a 'b'>]",
    b"<!",
    b"]",
    b"[",
    b"<datakey ",
    b"</datakey>",
    b"<event ",
    b"<enum ",
    b" name=''",
    b" value='1'",
    b"99999999999999999999",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xc3",
    b"\xc3\xa9",
    b"xml",
    b"<a b='",
    b"tfbc:",
    b"encoding='x'",
];

/// Parses and lists a source, and checks every reported position.
fn check(text: &[u8]) -> Result<(), TestCaseError> {
    let arena = Arena::new();
    let source = Source::new("test", text);
    let (file, found) = datakey::parse(&arena, SourceId(0), &source);
    for diagnostic in &found {
        let labels = diagnostic.secondary.iter().chain([&diagnostic.primary]);
        for Span { start, end } in labels.map(|label| label.span) {
            prop_assert!(start <= end && end as usize <= text.len(), "{diagnostic:?}");
        }
    }
    let n_errors = found.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count();
    prop_assert!(n_errors > 0 || !file.refused);
    prop_assert!(!file.refused || file.items.is_empty());
    let _ = (datakey::show(&file, &source), datakey::tokens(&source), datakey::looks_like_xml(text));
    Ok(())
}

/// Replaces a range of bytes by a piece.
fn damage(text: &mut Vec<u8>, at: usize, len: usize, piece: &[u8]) {
    let start = at % (text.len() + 1);
    let end = (start + len).min(text.len());
    text.splice(start..end, piece.iter().copied());
}

#[test]
fn the_sample_has_no_errors() {
    let arena = Arena::new();
    let (file, found) = datakey::parse(&arena, SourceId(0), &Source::new("test", SAMPLE));
    let errors: Vec<_> = found.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).collect();
    assert_eq!((errors.len(), file.items.len(), file.refused), (0, 2, false), "{errors:?}");
}

#[test]
fn every_cut_is_read() {
    (0..SAMPLE.len()).for_each(|len| check(&SAMPLE[..len]).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_definitions(edits in prop::collection::vec((any::<usize>(), 0usize..12, prop::sample::select(PIECES)), 1..8)) {
        let mut text = SAMPLE.to_vec();
        edits.iter().for_each(|(at, len, piece)| damage(&mut text, *at, *len, piece));
        check(&text)?;
    }

    #[test]
    fn damaged_values(format in "[%0-9sudxoc a&;#<\t]{0,20}", number in "[ !+0-9xX-]{0,8}") {
        let text = format!("<eventdefinitions><datakey format='{format}' offset='{number}'><event class='{number}' id='1'/>\
                            <enum value='{number}' string='{format}'/></datakey></eventdefinitions>");
        check(text.as_bytes())?;
    }

    #[test]
    fn pieces_in_any_order(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
        check(&[b"<eventdefinitions>".as_slice(), pieces.concat().as_slice()].concat())?;
    }

    #[test]
    fn any_bytes(text in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&text)?;
    }
}
