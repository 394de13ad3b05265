use std::borrow::Cow;

use crate::Span;
use crate::datakey::{self, Encoding};

/// Names one source of a [`Sources`] list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub u16);

/// A source text: its name for messages, its bytes, and where its physical lines start.
///
/// Source is bytes, not UTF-8: text in strings goes to the report byte for byte. Event definitions in another encoding
/// are decoded to UTF-8, and all offsets are those of the decoded text.
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
    /// The file's encoding, if `bytes` is known to be its text in UTF-8.
    encoding: Option<Encoding>,
    line_starts: Vec<u32>,
}

impl Source {
    /// A source named `name` with the given bytes. More than [`crate::SourceLimits`] admits are for the caller to
    /// refuse; `parse` reports them.
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        if datakey::looks_like_xml(&bytes)
            && let Ok((encoding, Cow::Owned(text))) = datakey::decode(&bytes)
        {
            return Self::from_text(name, text, encoding);
        }
        Self::with(name.into(), bytes, None)
    }

    /// A source whose text has been decoded from an encoding.
    pub fn from_text(name: impl Into<String>, text: impl Into<Vec<u8>>, encoding: Encoding) -> Self {
        Self::with(name.into(), text.into(), Some(encoding))
    }

    /// The source after a change of its text.
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

    /// The encoding that the text was decoded from; `None` if the bytes are those of the file.
    pub fn encoding(&self) -> Option<Encoding> {
        self.encoding
    }

    /// A text as bytes of the file: in the encoding that the source was decoded from.
    pub fn encode<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        match self.encoding {
            None | Some(Encoding::Utf8) => Cow::Borrowed(text),
            Some(encoding) => Cow::Owned(encoding.encode(text)),
        }
    }

    /// The name that messages show, as the user gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All bytes, as they were read or decoded.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes of a span; what lies outside the source is left out.
    pub fn slice(&self, span: Span) -> &[u8] {
        let end = (span.end as usize).min(self.bytes.len());
        &self.bytes[(span.start as usize).min(end)..end]
    }

    /// Line and column of a byte offset, both from 1, the column in bytes.
    pub fn line_column(&self, offset: u32) -> (u32, u32) {
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        (line as u32, offset.saturating_sub(self.line_starts[line - 1]) + 1)
    }

    /// One physical line, from 1, without its line end; empty past the last.
    pub fn line(&self, line: u32) -> &[u8] {
        let at = |line: u32| self.line_starts.get(line as usize).map(|start| *start as usize);
        let Some(start) = line.checked_sub(1).and_then(at) else { return b"" };
        let end = at(line).unwrap_or(self.bytes.len());
        let text = &self.bytes[start..end];
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        text.strip_suffix(b"\r").unwrap_or(text)
    }
}

/// The sources of one compilation, in the order in which later ones win.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    list: Vec<Source>,
}

impl Sources {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a source and names it. At most 65,535 sources are told apart.
    pub fn add(&mut self, source: Source) -> SourceId {
        self.list.push(source);
        SourceId((self.list.len() - 1).min(u16::MAX as usize) as u16)
    }

    /// The source of an id that [`Sources::add`] gave out, `None` for any other.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.list.get(id.0 as usize)
    }

    /// All sources with their ids, in order.
    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        self.list.iter().enumerate().map(|(at, source)| (SourceId(at as u16), source))
    }
}
