//! Parsing accepts any bytes, and every reported position is inside the source.

use proptest::prelude::*;
use tfbc_grammar::{Arena, Severity, Source, SourceId, Span, trcfmt};

/// File with every construct of the language.
const SAMPLE: &[u8] = b"# tfbc: level=KERN\n\
010 1.0 L=APPL \"USER EVENT\" O2.0 \\n\\\n\
   \"iterations =\" U4\\n endtimer(0x010,$TID) starttimer(0x010,$TID & 3)\n\
900 1.0 @bare {{ $rv = 0 }} {{ $stat = (X2 + o17) * 2 & $x%B0.3 }} \\ \n\
   $90F status=$stat `X4, $rv%U4 \\\n G16` $x%W4.11 \\* \n\
90F0 1.0 \"\" G4 {{ $return }} HT & 0x07, 1 B_FLAG0, -1- { LOOP $n {X0} }, \"a\" `b`, \\* {}\\\n\
  BITFLAGS $m%o4, 00400 \"r\" \"-\" & 3 1 \"x\" 2 y z, 4 w,\n\
# a comment \\\r\n swallowed\r\n\
ABC 2.10 {{ f(a, b) $a, 0 \"DOWN\", \\* { \"S(\" $a%UW \")\" } }}f($D1,X4)x$y\\t\n";

/// Pieces inserted into the sample.
const PIECES: &[&[u8]] = &[
    b"\"",
    b"`",
    b"\\",
    b"\\\n",
    b"\n",
    b"\r\n",
    b"{",
    b"}",
    b"{{",
    b"}}",
    b"(",
    b")",
    b",",
    b"&",
    b"%",
    b"$",
    b" ",
    b"#",
    b"X17",
    b"X4",
    b"G4",
    b"LOOP ",
    b"BITFLAGS ",
    b"starttimer(",
    b"f(",
    b"$x",
    b"$x%",
    b"\\*",
    b"\\n",
    b"0x",
    b"-",
    b"=",
    b"99999999999999999999",
    b"\0",
    b"\xff",
    b"010 1.0 ",
    b"L=",
    b"+1",
    b"# tfbc:",
];

/// Parses and lists a source, and checks every reported position.
fn check(text: &[u8]) -> Result<(), TestCaseError> {
    let arena = Arena::new();
    let source = Source::new("test", text);
    let (file, found) = trcfmt::parse(&arena, SourceId(0), &source);
    for diagnostic in &found {
        let labels = diagnostic.secondary.iter().chain([&diagnostic.primary]);
        for Span { start, end } in labels.map(|label| label.span) {
            prop_assert!(start <= end && end as usize <= text.len(), "{diagnostic:?}");
        }
    }
    let n_errors = found.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count();
    prop_assert!(n_errors > 0 || file.broken.is_empty());
    prop_assert!(file.stanzas.is_sorted_by_key(|stanza| stanza.span));
    for stanza in file.stanzas {
        prop_assert!(stanza.body.iter().all(|item| item.span().start <= item.span().end));
        prop_assert!(stanza.body.iter().all(|item| item.span().end <= stanza.span.end));
    }
    let _ = (trcfmt::show(&file, &source), trcfmt::tokens(&source));
    Ok(())
}

/// Replaces a range of bytes by a piece.
fn damage(text: &mut Vec<u8>, at: usize, len: usize, piece: &[u8]) {
    let start = at % (text.len() + 1);
    let end = (start + len).min(text.len());
    text.splice(start..end, piece.iter().copied());
}

#[test]
fn the_sample_has_one_error() {
    let arena = Arena::new();
    let (file, found) = trcfmt::parse(&arena, SourceId(0), &Source::new("test", SAMPLE));
    let errors: Vec<_> = found.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).collect();
    assert_eq!((errors.len(), file.stanzas.len()), (1, 3), "{errors:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_templates(edits in prop::collection::vec((any::<usize>(), 0usize..12, prop::sample::select(PIECES)), 1..8)) {
        let mut text = SAMPLE.to_vec();
        edits.iter().for_each(|(at, len, piece)| damage(&mut text, *at, *len, piece));
        check(&text)?;
    }

    #[test]
    fn pieces_in_any_order(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
        check(&[b"010 1.0 ", pieces.concat().as_slice()].concat())?;
    }

    #[test]
    fn any_bytes(text in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&text)?;
    }
}

#[test]
fn long_comment_includes_the_text_after_it() {
    let arena = Arena::new();
    let comment = "# a \\\n".repeat(300_000);
    let source = Source::new("test", format!("{comment}010 1.0 \"SWALLOWED\"\n020 1.0 \"SEEN\"\n"));
    let (file, found) = trcfmt::parse(&arena, SourceId(0), &source);
    let [warning] = &found[..] else { panic!("{} findings", found.len()) };
    assert_eq!(warning.code.code, "S42");
    assert_eq!(file.stanzas.len(), 1);
}
