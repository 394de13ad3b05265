use crate::datakey;

/// Limits on format files. A file that exceeds one gets a diagnostic that names the limit and its flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceLimits {
    /// Bytes of a trcfmt source, at most [`SourceLimits::MAX_BYTES`]. Flag: `--max-source`.
    pub source: usize,
    /// Bytes of an XML source, at most [`SourceLimits::MAX_BYTES`]. Flag: `--max-xml`.
    pub xml: usize,
    /// Nesting of braces and parentheses in a stanza, and of XML elements, at most [`SourceLimits::MAX_NESTING`]. Flag:
    /// `--max-nesting`.
    pub nesting: usize,
    /// Number of stanzas, datakeys, and events of eventclasses in all sources together. Flag: `--max-templates`.
    pub templates: usize,
}

impl SourceLimits {
    /// Upper limit on `nesting`: code that walks a tree recurses once per level.
    pub const MAX_NESTING: usize = 200;
    /// Upper limit on `source` and `xml`: offsets are 32-bit, with a margin against overflow.
    pub const MAX_BYTES: usize = 1 << 30;

    /// Limit on the size of a source in bytes, which depends on its language, and the flag that raises it.
    pub fn of_language(&self, source: &[u8]) -> (usize, &'static str) {
        if datakey::looks_like_xml(source) { (self.xml, "--max-xml") } else { (self.source, "--max-source") }
    }
}

impl Default for SourceLimits {
    /// 64 MiB, 16 MiB, 64 levels, 65,536 templates.
    fn default() -> Self {
        Self { source: 64 << 20, xml: 16 << 20, nesting: 64, templates: 1 << 16 }
    }
}

/// Formats a number of bytes for a message.
pub(crate) fn bytes(n: usize) -> String {
    if n > 0 && n.is_multiple_of(1 << 20) { format!("{} MiB", n >> 20) } else { format!("{n} bytes") }
}
