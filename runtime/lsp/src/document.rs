//! A file of the project with its analysis, open in the editor or not.

use super::facts::StanzaFacts;
use super::protocol::Encoding;
use super::protocol::{Position, Range, TextChange};
use super::text::Lines;
use super::xml::XmlFacts;
use std::cell::{Cell, OnceCell};
use std::sync::Arc;
use tfbc_grammar::trcfmt::{self, LineKind, logical_lines};
use tfbc_grammar::{Rewrite, Source, SourceId, SourceLimits, Span, datakey};

/// Logical lines that are analysed ahead at a time: well under a millisecond's work.
const READ_AHEAD: usize = 16;

/// A text with its version.
#[derive(Debug)]
pub struct Document {
    pub uri: String,
    /// Version in the editor; `None` if the file is not open.
    pub version: Option<i32>,
    pub source: Arc<Source>,
    lines: Lines,
    content: DocumentContent,
    /// Total number of stanzas analysed, for tests.
    n_read: Cell<u64>,
    /// Index of the first logical line that was not analysed ahead.
    n_ahead: Cell<usize>,
}

#[derive(Debug)]
enum DocumentContent {
    Trcfmt(Vec<StanzaLine>),
    Xml(OnceCell<XmlFacts>),
}

/// A logical line, with its analysis if it is a stanza.
#[derive(Debug, Clone)]
pub struct StanzaLine {
    pub span: Span,
    pub kind: LineKind,
    facts: OnceCell<Arc<StanzaFacts>>,
    /// Canonical layout, if it differs from the text.
    layout: OnceCell<Option<Arc<[u8]>>>,
}

impl Document {
    pub fn new(uri: String, version: Option<i32>, bytes: Vec<u8>) -> Self {
        let lines = Lines::new(&bytes);
        // The editor has already decoded the file.
        let source = Arc::new(Source::from_text(&uri, bytes, tfbc_grammar::datakey::Encoding::Utf8));
        let content = read(&source, None);
        Self { uri, version, source, lines, content, n_read: Cell::new(0), n_ahead: Cell::new(0) }
    }

    /// Applies changes in order.
    pub fn change(&mut self, version: i32, changes: &[TextChange], encoding: Encoding) {
        let mut bytes = self.source.bytes().to_vec();
        for change in changes {
            match change.range {
                Some(range) => {
                    let start = self.lines.offset(&bytes, range.start, encoding);
                    let end = self.lines.offset(&bytes, range.end, encoding).max(start);
                    self.lines.replace(&mut bytes, start, end, &change.text);
                }
                None => {
                    bytes = change.text.clone().into_bytes();
                    self.lines = Lines::new(&bytes);
                }
            }
        }
        self.version = Some(version);
        let source = Arc::new(self.source.changed(bytes));
        self.content = read(&source, Some(self));
        self.source = source;
        self.n_ahead.set(0);
    }

    pub fn bytes(&self) -> &[u8] {
        self.source.bytes()
    }

    pub fn slice(&self, span: Span) -> String {
        String::from_utf8_lossy(self.source.slice(span)).into_owned()
    }

    pub fn offset(&self, position: Position, encoding: Encoding) -> u32 {
        self.lines.offset(self.bytes(), position, encoding) as u32
    }

    pub fn range(&self, span: Span, encoding: Encoding) -> Range {
        self.lines.range(self.bytes(), span, encoding)
    }

    /// Offset per line.
    pub fn line_starts(&self) -> &[u32] {
        self.lines.starts()
    }

    /// Analysis of an XML file.
    pub fn xml(&self) -> Option<&XmlFacts> {
        match &self.content {
            DocumentContent::Xml(facts) => Some(facts.get_or_init(|| XmlFacts::read(&self.source))),
            DocumentContent::Trcfmt(_) => None,
        }
    }

    /// Logical lines; empty for an XML file.
    pub fn lines(&self) -> &[StanzaLine] {
        match &self.content {
            DocumentContent::Trcfmt(lines) => lines,
            DocumentContent::Xml(_) => &[],
        }
    }

    /// Span and facts of the stanza at an index.
    pub fn stanza(&self, index: usize) -> Option<(Span, &StanzaFacts)> {
        let stanza = self.lines().get(index).filter(|line| line.kind == LineKind::Stanza)?;
        let facts = stanza.facts.get_or_init(|| {
            self.n_read.set(self.n_read.get() + 1);
            Arc::new(StanzaFacts::read(&Source::new("", self.source.slice(stanza.span))))
        });
        Some((stanza.span, facts))
    }

    /// All stanzas with their facts.
    pub fn stanzas(&self) -> impl Iterator<Item = (usize, Span, &StanzaFacts)> {
        (0..self.lines().len()).filter_map(|index| self.stanza(index).map(|(span, facts)| (index, span, facts)))
    }

    /// Edits that bring the file into its canonical layout, or the parts of it that touch `within`.
    pub fn rewrites(&self, within: Option<Span>) -> Vec<Rewrite> {
        let touches = |span: Span| within.is_none_or(|within| span.start <= within.end && within.start <= span.end);
        let lines = match &self.content {
            DocumentContent::Trcfmt(lines) => lines,
            DocumentContent::Xml(_) => {
                let formatted = datakey::format(SourceId(0), &self.source, &SourceLimits::default());
                return formatted.rewrites.into_iter().filter(|rewrite| touches(rewrite.span)).collect();
            }
        };
        let line_end = trcfmt::line_end(&self.source);
        let mut lines = lines.iter();
        let mut rewrites = trcfmt::rewrites(&self.source, |line| {
            let stanza = lines.find(|known| known.span.start == line.span.start)?;
            if touches(line.span) { self.layout(stanza, line_end) } else { None }
        });
        rewrites.retain(|rewrite| within.is_none_or(|within| self.is_part(rewrite.span, within)));
        rewrites
    }

    /// True if whole lines belong to a range. Blank lines belong to it if the lines around them do.
    fn is_part(&self, lines: Span, within: Span) -> bool {
        if self.source.slice(lines).iter().all(u8::is_ascii_whitespace) {
            return within.start < lines.start && lines.end <= within.end;
        }
        let is_last = lines.end as usize == self.bytes().len();
        lines.start <= within.end && (within.start < lines.end || is_last)
    }

    /// Canonical layout of a stanza, if it differs from the text.
    fn layout(&self, stanza: &StanzaLine, line_end: &[u8]) -> Option<Vec<u8>> {
        let layout = stanza.layout.get_or_init(|| {
            let text = self.source.slice(stanza.span);
            let layout = trcfmt::format_stanza(&Source::new("", text), line_end)?;
            (layout != text).then(|| layout.into())
        });
        layout.as_ref().map(|layout| layout.to_vec())
    }

    /// Analyses a few stanzas before a request needs them. Returns false if nothing is left.
    pub fn read_ahead(&self) -> bool {
        let line_end = trcfmt::line_end(&self.source);
        let first = self.n_ahead.get();
        let lines = self.lines().get(first..).unwrap_or(&[]);
        for (index, stanza) in lines.iter().take(READ_AHEAD).enumerate() {
            if self.stanza(first + index).is_some() {
                self.layout(stanza, line_end);
            }
        }
        self.n_ahead.set(first + lines.len().min(READ_AHEAD));
        !lines.is_empty()
    }

    /// Index of the logical line at an offset.
    pub fn line_at(&self, offset: u32) -> Option<usize> {
        self.lines().partition_point(|line| line.span.start <= offset).checked_sub(1)
    }
}

/// Splits a text into logical lines. The analysis of stanzas that also exist in `before` is kept.
fn read(source: &Source, before: Option<&Document>) -> DocumentContent {
    if datakey::is_xml(source) {
        return DocumentContent::Xml(OnceCell::new());
    }
    let new = |line: tfbc_grammar::trcfmt::LogicalLine| StanzaLine {
        span: line.span,
        kind: line.kind,
        facts: OnceCell::new(),
        layout: OnceCell::new(),
    };
    let mut lines: Vec<StanzaLine> = logical_lines(source).map(new).collect();
    let Some(Document { source: old, content: DocumentContent::Trcfmt(before), .. }) = before else {
        return DocumentContent::Trcfmt(lines);
    };
    let is_same_end = trcfmt::line_end(old) == trcfmt::line_end(source);
    let is_same = |one: &StanzaLine, other: &StanzaLine| old.slice(one.span) == source.slice(other.span);
    let n_first = before.iter().zip(&lines).take_while(|(one, other)| is_same(one, other)).count();
    let (first, rest) = lines.split_at_mut(n_first);
    let kept = before[n_first..].iter().rev().zip(rest.iter_mut().rev()).take_while(|(one, other)| is_same(one, other));
    for (one, other) in before.iter().zip(first).chain(kept) {
        other.facts = one.facts.clone();
        if is_same_end {
            other.layout = one.layout.clone();
        }
    }
    DocumentContent::Trcfmt(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(n: usize) -> Document {
        let text: String = (0..n).map(|at| format!("{:03X} 1.0 \"L{at}\" X4 $x\n", 0x100 + at)).collect();
        Document::new("file:///a.trcfmt".into(), Some(1), text.into_bytes())
    }

    fn edit(document: &mut Document, line: u32, from: u32, to: u32, text: &str) {
        let range = Range::new(Position::new(line, from), Position::new(line, to));
        let change = TextChange { range: Some(range), text: text.into() };
        document.change(2, &[change], Encoding::Utf16);
    }

    #[test]
    fn only_the_stanza_that_changed_is_read_again() {
        let mut document = document(500);
        assert_eq!(document.stanzas().count(), 500);
        assert_eq!(document.n_read.get(), 500);
        edit(&mut document, 250, 0, 0, "# ");
        assert_eq!(document.stanzas().count(), 499);
        assert_eq!(document.n_read.get(), 500, "a comment is not read");
        edit(&mut document, 250, 0, 2, "");
        edit(&mut document, 10, 8, 8, "L=INT ");
        assert_eq!(document.stanzas().count(), 500);
        assert_eq!(document.n_read.get(), 502);
        let (span, facts) = document.stanza(499).unwrap();
        assert_eq!((document.slice(span), facts.id.unwrap().0), ("2F3 1.0 \"L499\" X4 $x".into(), 0x2F30));
    }

    #[test]
    fn kept_layouts_are_those_of_the_whole_text() {
        let text = "# one\n\n\n010   1.0 \"A\"\\\n X4\n020 1.0 X17\n  # two  \n\n030 1.0  X4 \\\n$x\n\n040 1.0 \\";
        let mut document = Document::new("file:///a.trcfmt".into(), Some(1), text.into());
        let check = |document: &Document| {
            let all = trcfmt::format(SourceId(0), &document.source, &SourceLimits::default()).rewrites;
            assert!(all.len() > 2);
            assert_eq!(document.rewrites(None), all);
            assert_eq!(document.rewrites(Some(Span::new(0, document.bytes().len() as u32))), all);
        };
        check(&document);
        while document.read_ahead() {}
        check(&document);
        edit(&mut document, 4, 1, 1, "  ");
        check(&document);
        edit(&mut document, 0, 5, 5, "\r");
        assert_eq!(document.bytes()[..7], *b"# one\r\n");
        check(&document);
    }

    #[test]
    fn all_stanzas_are_read_ahead() {
        let mut document = document(500);
        while document.read_ahead() {}
        assert_eq!(document.n_read.get(), 500);
        edit(&mut document, 250, 8, 8, "L=INT ");
        while document.read_ahead() {}
        assert_eq!(document.n_read.get(), 501);
    }

    #[test]
    fn a_stanza_is_read_when_it_is_asked_for() {
        let document = document(500);
        assert!(document.stanza(3).is_some());
        assert_eq!(document.n_read.get(), 1);
    }
}
