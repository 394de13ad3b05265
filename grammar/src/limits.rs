/// What format files may ask for. What goes beyond is refused with a diagnostic that names the limit and its flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceLimits {
    /// Bytes of a source, at most [`SourceLimits::MAX_BYTES`]. The flag `--max-source`.
    pub source: usize,
    /// Bytes of a source that is XML, at most [`SourceLimits::MAX_BYTES`]. The flag `--max-xml`.
    pub xml: usize,
    /// Open braces and parentheses of a stanza, open elements of XML, at most [`SourceLimits::MAX_NESTING`]. The flag
    /// `--max-nesting`.
    pub nesting: usize,
    /// Stanzas, datakeys, and events of eventclasses, of all sources together. The flag `--max-templates`.
    pub templates: usize,
}

impl SourceLimits {
    /// As deep as whatever walks a tree may recurse.
    pub const MAX_NESTING: usize = 200;
    /// Places in a source are 32-bit numbers, with room to count on.
    pub const MAX_BYTES: usize = 1 << 30;
}

impl Default for SourceLimits {
    /// 64 MiB, 16 MiB, 64 levels, 65,536 templates.
    fn default() -> Self {
        Self { source: 64 << 20, xml: 16 << 20, nesting: 64, templates: 1 << 16 }
    }
}

/// A number of bytes for a message.
pub(crate) fn bytes(n: usize) -> String {
    if n > 0 && n.is_multiple_of(1 << 20) { format!("{} MiB", n >> 20) } else { format!("{n} bytes") }
}
