//! Source files: their text, lines and encoding.

use std::borrow::Cow;
use std::ops::Range;

use crate::Span;
use crate::datakey::{self, Encoding};

/// Index of a source in its [`Sources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub u16);

/// Source text: name for messages, bytes, and start offsets of its lines.
///
/// Sources are bytes, not UTF-8: text in strings is copied to the report byte for byte. Event definitions in another
/// encoding are decoded to UTF-8, and all offsets refer to the decoded text.
///
/// ```
/// use tfbc_grammar::Source;
/// let source = Source::new("a.trcfmt", "010 1.0\n020 1.0\n");
/// assert_eq!(source.line_column(12), (2, 5)); // both from 1, columns in bytes
/// assert_eq!(source.line(2), b"020 1.0");
/// ```
#[derive(Debug, Clone)]
pub struct Source {
    name: String,
    bytes: Vec<u8>,
    /// Encoding of the file; `Some` only if `bytes` is its text in UTF-8.
    encoding: Option<Encoding>,
    line_starts: Vec<u32>,
}

impl Source {
    /// Creates a source; `name` is shown in messages. Its size is checked against [`crate::SourceLimits`] by `parse`.
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        if datakey::looks_like_xml(&bytes)
            && let Ok((encoding, Cow::Owned(text))) = datakey::decode(&bytes)
        {
            return Self::from_text(name, text, encoding);
        }
        Self::with(name.into(), bytes, None)
    }

    /// Creates a source from decoded text. `encoding` is the encoding of the file.
    pub fn from_text(name: impl Into<String>, text: impl Into<Vec<u8>>, encoding: Encoding) -> Self {
        Self::with(name.into(), text.into(), Some(encoding))
    }

    /// Copy with other text but with this name and encoding.
    pub fn changed(&self, bytes: Vec<u8>) -> Self {
        Self::with(self.name.clone(), bytes, self.encoding)
    }

    fn with(name: String, bytes: Vec<u8>, encoding: Option<Encoding>) -> Self {
        let newlines = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n');
        // A byte order mark is not part of a format file's first line; in XML its bytes count.
        let has_mark = bytes.starts_with(b"\xef\xbb\xbf") && !crate::datakey::looks_like_xml(&bytes[3..]);
        let start = if has_mark { 3 } else { 0 };
        let line_starts = std::iter::once(start).chain(newlines.map(|(at, _)| at as u32 + 1)).collect();
        Self { name, bytes, encoding, line_starts }
    }

    /// Encoding that the text was decoded from; `None` if the bytes are the file's own.
    pub fn encoding(&self) -> Option<Encoding> {
        self.encoding
    }

    /// Encodes text in the encoding of the file, for writing it back.
    pub fn encode<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        match self.encoding {
            None | Some(Encoding::Utf8) => Cow::Borrowed(text),
            Some(encoding) => Cow::Owned(encoding.encode(text)),
        }
    }

    /// Name for messages, as the user gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All bytes of the text.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes of a span, cut at the end of the source.
    pub fn slice(&self, span: Span) -> &[u8] {
        let end = (span.end as usize).min(self.bytes.len());
        &self.bytes[(span.start as usize).min(end)..end]
    }

    /// Line and column of a byte offset, both from 1, the column in bytes.
    pub fn line_column(&self, offset: u32) -> (u32, u32) {
        let (line, bytes) = self.line_at(offset);
        (line, offset.saturating_sub(bytes.start) + 1)
    }

    /// Line with a byte offset, from 1, and the offsets of its bytes.
    pub fn line_at(&self, offset: u32) -> (u32, Range<u32>) {
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        let end = self.line_starts.get(line).copied().unwrap_or(u32::MAX);
        (line as u32, self.line_starts[line - 1]..end)
    }

    /// Text of a line, counted from 1, without its line end. Empty after the last line.
    pub fn line(&self, line: u32) -> &[u8] {
        let at = |line: u32| self.line_starts.get(line as usize).map(|start| *start as usize);
        let Some(start) = line.checked_sub(1).and_then(at) else { return b"" };
        let end = at(line).unwrap_or(self.bytes.len());
        let text = &self.bytes[start..end];
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        text.strip_suffix(b"\r").unwrap_or(text)
    }
}

/// Sources of one compilation; later ones override earlier ones.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    list: Vec<Source>,
}

impl Sources {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a source and returns its id. Ids saturate after 65,535 sources.
    pub fn add(&mut self, source: Source) -> SourceId {
        self.list.push(source);
        SourceId((self.list.len() - 1).min(u16::MAX as usize) as u16)
    }

    /// Source of an id, `None` if [`Sources::add`] did not return it.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.list.get(id.0 as usize)
    }

    /// All sources with their ids, in order.
    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        self.list.iter().enumerate().map(|(at, source)| (SourceId(at as u16), source))
    }
}
