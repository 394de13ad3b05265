//! One canonical layout of a format file.
//!
//! Stanzas are laid out from their tokens (`layout`), which stay as they are, so that the layout of a layout is the same.
//! Comments stay in their place, one blank line stays of several, and a stanza with an error stays byte for byte.

use super::layout;
use super::lines::{LineKind, LogicalLine, is_blank, is_update, logical_lines};
use super::parse::parse_within;
use crate::{Arena, Formatted, Rewrite, Severity, Source, SourceId, SourceLimits, Span};

/// Lays out a format file: what to rewrite to bring it into the canonical form. What it means stays the same, and so does
/// every comment.
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

/// What to rewrite in a format file, with the layout of each stanza, without its last line end, from somebody who keeps
/// them. A stanza for which there is none stays as it is.
pub fn rewrites(source: &Source, mut stanza: impl FnMut(&LogicalLine) -> Option<Vec<u8>>) -> Vec<Rewrite> {
    let line_end = line_end(source);
    let is_update = is_update(source);
    let mut writer = Writer { source, line_end, rewrites: Vec::new(), blank: None, begun: false };
    for line in logical_lines(source) {
        let text = match line.kind {
            LineKind::Stanza if is_update => stanza(&line).map(|layout| [b"+ ", &layout[..]].concat()),
            LineKind::Stanza => stanza(&line),
            // What stands before the `\` may end in another.
            LineKind::Comment => line.dangling.is_none().then(|| writer.comment(&line)),
            LineKind::Blank | LineKind::Deletion | LineKind::Unknown => None,
        };
        writer.line(&line, text);
    }
    writer.finish();
    writer.rewrites
}

/// The layout of a stanza that is the whole of a source; `None` where it has an error.
pub fn format_stanza(source: &Source, line_end: &[u8]) -> Option<Vec<u8>> {
    let arena = Arena::new();
    let (file, diagnostics) = parse_within(&arena, SourceId(0), source, &SourceLimits::default());
    let is_whole = diagnostics.iter().all(|found| found.severity != Severity::Error);
    let stanza = file.stanzas.first().filter(|_| is_whole)?;
    let whole = Span::new(0, source.bytes().len() as u32);
    Some(layout::stanza(source, whole, stanza, line_end))
}

/// The line end of a file: that of the first line that is not blank, since those before it go.
pub fn line_end(source: &Source) -> &'static [u8] {
    let first = logical_lines(source).find(|line| line.kind != LineKind::Blank);
    first_line_end(&source.bytes()[first.map_or(0, |line| line.span.start as usize)..])
}

/// The first line end in some bytes, `\n` where there is none.
pub fn first_line_end(bytes: &[u8]) -> &'static [u8] {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(at) if bytes[..at].ends_with(b"\r") => b"\r\n",
        _ => b"\n",
    }
}

struct Writer<'s> {
    source: &'s Source,
    line_end: &'static [u8],
    rewrites: Vec<Rewrite>,
    /// The blank lines behind what has been written.
    blank: Option<Span>,
    /// Whether anything stands before.
    begun: bool,
}

impl Writer<'_> {
    /// Takes in a line and its layout.
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
            self.replace(whole, self.ended(text));
        }
    }

    /// A comment without the blanks around it; one that is continued as it is. A `\r` at its end goes with the blanks, since
    /// it would make a line end of another kind, unless a `\` stands before it, which would join the next line.
    fn comment(&self, line: &LogicalLine) -> Vec<u8> {
        let text = self.source.slice(line.span);
        let start = text.iter().position(|byte| !is_blank(*byte)).unwrap_or(0);
        let end = text.iter().rposition(|byte| !is_blank(*byte) && *byte != b'\r').map_or(start, |last| last + 1);
        let trimmed = &text[start..end];
        let stays = !line.joins.is_empty() || trimmed.ends_with(b"\\");
        if stays { text } else { trimmed }.to_vec()
    }

    /// A text with its line end. A `\r` at its end is no part of that.
    fn ended(&self, mut text: Vec<u8>) -> Vec<u8> {
        text.extend_from_slice(if text.ends_with(b"\r") { b"\r\n" } else { self.line_end });
        text
    }

    fn replace(&mut self, span: Span, text: Vec<u8>) {
        if self.source.slice(span) != text {
            self.rewrites.push(Rewrite { span, text });
        }
    }

    /// Blank lines at the end of the file go.
    fn finish(&mut self) {
        if let Some(blank) = self.blank.take() {
            self.replace(blank, Vec::new());
        }
    }
}
