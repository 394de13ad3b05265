//! Canonical layout of event definitions.
//!
//! ```text
//! <eventdefinitions>
//!   <datakey format="%4u1x state">
//!     <event class="6" id="65"/> <!-- from the motor -->
//!     <enum name="state" value="1" string="ON"/>
//!   </datakey>
//! </eventdefinitions>
//! ```
//!
//! A tag is one line, or has one line per attribute if it is too wide. Values, texts, comments, instructions and
//! unknown elements are kept as they are. A comment after a tag stays on the tag's line.

use std::ops::Range;

use quick_xml::Reader;
use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesStart, Event};

use super::number::is_blank;
use super::parse::{ROOTS, parse_within};
use crate::trcfmt::first_line_end;
use crate::{Arena, Formatted, Rewrite, Severity, Source, SourceId, SourceLimits, Span};

/// Maximum width of a line.
const WIDTH: usize = 100;
/// Indentation of children.
const STEP: usize = 2;
/// Indentation of attributes that have lines of their own.
const ATTRIBUTE_STEP: usize = 4;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Returns the rewrites that bring event definitions into the canonical layout. Meaning and comments stay unchanged. A
/// source that is not XML or has another root is not rewritten.
///
/// ```
/// use tfbc_grammar::{Source, SourceId, SourceLimits, datakey};
/// let source = Source::new("a.xml", "<eventdefinitions><datakey format = '%x a'>
/// <event class='6'   id='1'></event></datakey></eventdefinitions>");
/// let formatted = datakey::format(SourceId(0), &source, &SourceLimits::default());
/// assert_eq!(String::from_utf8(formatted.text(&source)).unwrap(), r#"<eventdefinitions>
///   <datakey format="%x a">
///     <event class="6" id="1"/>
///   </datakey>
/// </eventdefinitions>
/// "#);
/// ```
pub fn format(id: SourceId, source: &Source, limits: &SourceLimits) -> Formatted {
    let arena = Arena::new();
    let (file, mut diagnostics) = parse_within(&arena, id, source, limits);
    diagnostics.retain(|found| file.refused && found.severity == Severity::Error);
    let bytes = source.bytes();
    let base = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let rewrites = match std::str::from_utf8(&bytes[base..]) {
        Ok(text) if !file.refused => nodes(text).map(|nodes| layout(text, base, &nodes)),
        _ => None,
    };
    Formatted { rewrites: rewrites.unwrap_or_default(), diagnostics }
}

/// A piece of the document. White space between pieces is not a piece.
struct LayoutPiece<'s> {
    kind: PieceKind<'s>,
    place: Range<usize>,
}

enum PieceKind<'s> {
    Start(BytesStart<'s>),
    Empty(BytesStart<'s>),
    End(String),
    Comment,
    /// Text, an instruction, a declaration, or an unknown element: kept as it is.
    Other,
}

/// Splits the document into pieces; `None` if it is not well-formed.
fn nodes(text: &str) -> Option<Vec<LayoutPiece<'_>>> {
    let mut reader = Reader::from_str(text);
    let mut nodes: Vec<LayoutPiece> = Vec::new();
    // True if the last piece is text: adjacent text, CDATA and references are one piece.
    let mut in_text = false;
    loop {
        let start = reader.buffer_position() as usize;
        let event = reader.read_event().ok()?;
        let place = start..reader.buffer_position() as usize;
        let kind = match event {
            Event::Eof => return Some(nodes),
            Event::Text(_) if text[place.clone()].trim_matches(is_blank).is_empty() => continue,
            Event::Text(_) | Event::CData(_) | Event::GeneralRef(_) => {
                let place = trimmed(text, place);
                match nodes.last_mut().filter(|_| in_text) {
                    Some(last) => last.place.end = place.end,
                    None => nodes.push(LayoutPiece { kind: PieceKind::Other, place }),
                }
                in_text = true;
                continue;
            }
            Event::Start(tag) if is_known(&tag) => PieceKind::Start(tag),
            Event::Start(tag) => {
                // Blanks may matter in an unknown element, so it stays as it was written.
                reader.read_to_end(tag.name()).ok()?;
                let place = start..reader.buffer_position() as usize;
                nodes.push(LayoutPiece { kind: PieceKind::Other, place });
                in_text = false;
                continue;
            }
            Event::Empty(tag) if is_known(&tag) => PieceKind::Empty(tag),
            Event::End(tag) => PieceKind::End(tag.name().as_ref().to_owned()),
            Event::Comment(_) => PieceKind::Comment,
            Event::Empty(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => PieceKind::Other,
        };
        in_text = false;
        nodes.push(LayoutPiece { kind, place });
    }
}

fn is_known(tag: &BytesStart) -> bool {
    let name = tag.name();
    let is = |known: &&str| *known == name.as_ref();
    ROOTS.iter().chain(&["datakey", "eventclass", "event", "bitmask", "enum", "condition"]).any(is)
}

fn trimmed(text: &str, place: Range<usize>) -> Range<usize> {
    let slice = &text[place.clone()];
    let start = place.end - slice.trim_start_matches(is_blank).len();
    start..place.start + slice.trim_end_matches(is_blank).len()
}

fn layout(text: &str, base: usize, nodes: &[LayoutPiece]) -> Vec<Rewrite> {
    // The line end of the first line that is not blank: blank lines before it are removed.
    let line_end = match first_line_end(text.trim_start_matches(is_blank).as_bytes()) {
        b"\r\n" => "\r\n",
        _ => "\n",
    };
    let mut writer = LayoutWriter { text, base, line_end, depth: 0, at: 0, after_start: false, rewrites: Vec::new() };
    let mut rest = nodes;
    while let Some((node, others)) = rest.split_first() {
        rest = others;
        match (&node.kind, rest) {
            (PieceKind::Start(tag), [LayoutPiece { kind: PieceKind::End(_), place: end }, others @ ..]) => {
                writer.tag(tag, "/>", node.place.start..end.end);
                rest = others;
            }
            (PieceKind::Start(tag), _) => {
                writer.tag(tag, ">", node.place.clone());
                writer.depth += 1;
                writer.after_start = true;
            }
            (PieceKind::Empty(tag), _) => writer.tag(tag, "/>", node.place.clone()),
            (PieceKind::End(name), _) => {
                writer.depth = writer.depth.saturating_sub(1);
                // Suppresses a blank line before an end tag.
                writer.after_start = true;
                writer.put(node.place.clone(), &format!("</{name}>"), false);
            }
            (PieceKind::Comment, _) => writer.put(node.place.clone(), &text[node.place.clone()], true),
            (PieceKind::Other, _) => writer.put(node.place.clone(), &text[node.place.clone()], false),
        }
    }
    writer.replace(writer.at..text.len(), line_end.to_owned());
    writer.rewrites
}

struct LayoutWriter<'s> {
    text: &'s str,
    /// Offset of `text` in the source.
    base: usize,
    line_end: &'static str,
    depth: usize,
    /// Offset up to which the text is laid out.
    at: usize,
    /// True if a blank line must not come next.
    after_start: bool,
    rewrites: Vec<Rewrite>,
}

impl LayoutWriter<'_> {
    /// Writes a piece on a line of its own. If `may_follow`, it stays on the line of the piece before it.
    fn put(&mut self, place: Range<usize>, piece: &str, may_follow: bool) {
        let n_line_ends = self.text[self.at..place.start].matches('\n').count();
        let mut new = String::new();
        // A comment after a tag describes that tag. On a line of its own it would describe the next one.
        if self.at > 0 && may_follow && n_line_ends == 0 {
            new.push(' ');
        } else if self.at > 0 {
            let is_apart = n_line_ends > 1 && !self.after_start;
            new.push_str(&self.line_end.repeat(1 + usize::from(is_apart)));
            new.extend(std::iter::repeat_n(' ', self.depth * STEP));
        }
        new.push_str(piece);
        self.replace(self.at..place.end, new);
        self.at = place.end;
        self.after_start = false;
    }

    fn tag(&mut self, tag: &BytesStart, end: &str, place: Range<usize>) {
        let name = tag.name().as_ref().to_owned();
        let attributes: Vec<String> = tag.attributes().flatten().map(|attribute| written(&attribute)).collect();
        let line = format!("<{name}{}{end}", attributes.iter().map(|text| format!(" {text}")).collect::<String>());
        let column = self.depth * STEP;
        let is_wide = column + line.chars().count() > WIDTH || line.contains('\n');
        // A single attribute would gain only the width of the name.
        if !is_wide || attributes.len() < 2 {
            return self.put(place, &line, false);
        }
        let before = format!("{}{}", self.line_end, " ".repeat(column + ATTRIBUTE_STEP));
        let lines: String = attributes.iter().map(|text| format!("{before}{text}")).collect();
        self.put(place, &format!("<{name}{lines}{end}"), false);
    }

    fn replace(&mut self, place: Range<usize>, text: String) {
        if self.text[place.clone()] != text {
            let span = Span::new((self.base + place.start) as u32, (self.base + place.end) as u32);
            self.rewrites.push(Rewrite { span, text: text.into_bytes() });
        }
    }
}

/// An attribute with its value unchanged, in double quotes unless the value contains one.
fn written(attribute: &Attribute) -> String {
    let value = &attribute.value;
    let quote = if value.contains('"') { '\'' } else { '"' };
    format!("{}={quote}{value}{quote}", attribute.key.as_ref())
}
