//! Canonical layout of a format file.
//!
//! Stanzas are laid out from their tokens (see `layout`). Tokens never change, so a second run changes nothing.
//! Comments stay in place, several blank lines become one, and a stanza with an error is kept byte for byte.

use super::layout;
use super::lines::{LineKind, LogicalLine, is_blank, is_update, logical_lines};
use super::parse::parse_within;
use crate::{Arena, Formatted, Rewrite, Severity, Source, SourceId, SourceLimits, Span};

/// Returns the rewrites that bring a format file into the canonical layout. Meaning and comments stay unchanged.
///
/// ```
/// use tfbc_grammar::{Source, SourceId, SourceLimits, trcfmt};
/// let source = Source::new("a.trcfmt", "# one\n\n\n010   1.0 \"A\"\\\n X4\n020 1.0 X17\n");
/// let formatted = trcfmt::format(SourceId(0), &source, &SourceLimits::default());
/// assert_eq!(formatted.text(&source), b"# one\n\n010 1.0 \"A\" X4\n020 1.0 X17\n");
/// assert_eq!(formatted.diagnostics[0].code.code, "S07");
/// ```
pub fn format(id: SourceId, source: &Source, limits: &SourceLimits) -> Formatted {
    let arena = Arena::new();
    let (file, mut diagnostics) = parse_within(&arena, id, source, limits);
    diagnostics.retain(|found| found.severity == Severity::Error);
    let line_end = line_end(source);
    let mut stanzas = file.stanzas.iter().peekable();
    let rewrites = rewrites(source, |line| {
        let stanza = stanzas.next_if(|stanza| stanza.span.start == line.span.start)?;
        Some(layout::stanza(source, line.span, stanza, line_end))
    });
    Formatted { rewrites, diagnostics }
}

/// Returns the rewrites of a format file, with the layout of stanzas from a caller that caches them. `stanza` returns a
/// layout without its last line end, or `None` to keep the stanza as it is.
pub fn rewrites(source: &Source, mut stanza: impl FnMut(&LogicalLine) -> Option<Vec<u8>>) -> Vec<Rewrite> {
    let line_end = line_end(source);
    let is_update = is_update(source);
    let mut writer = RewriteBuilder { source, line_end, rewrites: Vec::new(), blank: None, begun: false };
    for line in logical_lines(source) {
        let text = match line.kind {
            LineKind::Stanza if is_update => stanza(&line).map(|layout| [b"+ ", &layout[..]].concat()),
            LineKind::Stanza => stanza(&line),
            // Trimming must not bring another `\` to the end of the comment.
            LineKind::Comment => line.dangling.is_none().then(|| writer.comment(&line)),
            LineKind::Blank | LineKind::Deletion | LineKind::Unknown => None,
        };
        writer.line(&line, text);
    }
    writer.finish();
    writer.rewrites
}

/// Layout of a source that consists of one stanza; `None` if it has an error.
pub fn format_stanza(source: &Source, line_end: &[u8]) -> Option<Vec<u8>> {
    let arena = Arena::new();
    let (file, diagnostics) = parse_within(&arena, SourceId(0), source, &SourceLimits::default());
    let is_whole = diagnostics.iter().all(|found| found.severity != Severity::Error);
    let stanza = file.stanzas.first().filter(|_| is_whole)?;
    let whole = Span::new(0, source.bytes().len() as u32);
    Some(layout::stanza(source, whole, stanza, line_end))
}

/// Line end of a file, taken from its first line that is not blank, because blank lines at the start are removed.
pub fn line_end(source: &Source) -> &'static [u8] {
    let first = logical_lines(source).find(|line| line.kind != LineKind::Blank);
    first_line_end(&source.bytes()[first.map_or(0, |line| line.span.start as usize)..])
}

/// The first line end in `bytes`; `\n` if there is none.
pub fn first_line_end(bytes: &[u8]) -> &'static [u8] {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(at) if bytes[..at].ends_with(b"\r") => b"\r\n",
        _ => b"\n",
    }
}

struct RewriteBuilder<'s> {
    source: &'s Source,
    line_end: &'static [u8],
    rewrites: Vec<Rewrite>,
    /// Blank lines read but not yet written.
    blank: Option<Span>,
    /// True if a line was written.
    begun: bool,
}

impl RewriteBuilder<'_> {
    /// Writes a line; `text` is its layout.
    fn line(&mut self, line: &LogicalLine, text: Option<Vec<u8>>) {
        let whole = Span::new(line.start, line.end);
        if line.kind == LineKind::Blank {
            self.blank = Some(self.blank.map_or(whole, |blank| blank.to(whole)));
            return;
        }
        if let Some(blank) = self.blank.take() {
            let kept = if self.begun { self.line_end } else { b"" };
            self.replace(blank, kept.to_vec());
        }
        self.begun = true;
        if let Some(text) = text {
            self.replace(whole, self.with_line_end(text));
        }
    }

    /// Trims a comment. A continued comment is kept as it is. A `\r` before the line end is trimmed too, because it
    /// would change the kind of line end; but not after a `\`, which would join the next line.
    fn comment(&self, line: &LogicalLine) -> Vec<u8> {
        let text = self.source.slice(line.span);
        let start = text.iter().position(|byte| !is_blank(*byte)).unwrap_or(0);
        let end = text.iter().rposition(|byte| !is_blank(*byte) && *byte != b'\r').map_or(start, |last| last + 1);
        let trimmed = &text[start..end];
        let stays = !line.joins.is_empty() || trimmed.ends_with(b"\\");
        if stays { text } else { trimmed }.to_vec()
    }

    /// Adds a line end. A text that ends in `\r` gets `\r\n`, so that the `\r` stays part of the text.
    fn with_line_end(&self, mut text: Vec<u8>) -> Vec<u8> {
        text.extend_from_slice(if text.ends_with(b"\r") { b"\r\n" } else { self.line_end });
        text
    }

    fn replace(&mut self, span: Span, text: Vec<u8>) {
        if self.source.slice(span) != text {
            self.rewrites.push(Rewrite { span, text });
        }
    }

    /// Removes blank lines at the end of the file.
    fn finish(&mut self) {
        if let Some(blank) = self.blank.take() {
            self.replace(blank, Vec::new());
        }
    }
}
