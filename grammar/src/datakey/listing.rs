//! Listing of a file's tokens.

use std::fmt::Write;

use super::format::Lexer;
use super::xml::{Attribute, Tag, XmlReader, XmlToken};
use crate::excerpt::excerpt;
use crate::reports::Reports;
use crate::{Source, SourceId, SourceLimits, Span};

/// Lists the tokens of a file, one per line: line and column, name, text. Comments and white space are left out;
/// formats are split into their own tokens. The list ends at the first place that is not well-formed.
///
/// ```
/// let source = tfbc_grammar::Source::new("a.xml", "<datakey format=\"%x a\"/>");
/// assert_eq!(tfbc_grammar::datakey::tokens(&source), "\
/// 1:1 start tag `datakey`
/// 1:10 attribute `format`
/// 1:18 % `%`
/// 1:19 format `x`
/// 1:20 blank ` `
/// 1:21 label `a`
/// end tag
/// ");
/// ```
pub fn tokens(source: &Source) -> String {
    let reports = Reports::new(SourceId(0), source);
    let (xml, nesting) = (SourceLimits::MAX_BYTES, SourceLimits::MAX_NESTING);
    let widest = SourceLimits { xml, nesting, ..SourceLimits::default() };
    let mut listing = Listing { out: String::new(), source };
    if let Ok(mut xml) = XmlReader::new(&reports, &widest) {
        while let Ok(Some(piece)) = xml.next() {
            listing.piece(&piece);
        }
    }
    listing.out
}

struct Listing<'s> {
    out: String,
    source: &'s Source,
}

impl Listing<'_> {
    fn line(&mut self, span: Span, name: &str, text: &[u8]) {
        let (line, column) = self.source.line_column(span.start);
        let _ = writeln!(self.out, "{line}:{column} {name} `{}`", excerpt(text));
    }

    fn piece(&mut self, piece: &XmlToken) {
        match piece {
            XmlToken::Start(tag) => self.tag(tag),
            XmlToken::End => self.out.push_str("end tag\n"),
            XmlToken::Text(span) => self.line(*span, "text", self.source.slice(*span)),
            XmlToken::Doctype(span) => self.line(*span, "declaration", self.source.slice(*span)),
            XmlToken::Comment(..) => {}
        }
    }

    fn tag(&mut self, tag: &Tag) {
        self.line(tag.span, "start tag", tag.name.as_bytes());
        for attribute in &tag.attributes {
            self.line(attribute.span, "attribute", attribute.name.as_bytes());
            if matches!(attribute.name, "format" | "sformat") {
                self.format(attribute);
            } else {
                self.line(attribute.value.span, "value", attribute.value.text.as_bytes());
            }
        }
    }

    fn format(&mut self, attribute: &Attribute) {
        let value = &attribute.value;
        for (token, place) in Lexer::new(&value.text) {
            let span = value.place(place.start, place.end);
            self.line(span, token.name(), value.text[place].as_bytes());
        }
    }
}
