/// A checked program: the only way to one is [`Program::open`], which verifies.
#[derive(Debug, Clone)]
pub struct Program<'b> {
    _bytes: &'b [u8],
}

/// The text column of a hook's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Level {
    /// Application, column 1.
    Appl,
    /// System call, column 2.
    Svc,
    /// Kernel, column 3.
    Kern,
    /// Interrupt, column 4.
    Int,
    /// No report columns, text from column 0.
    Zero,
}

/// What a program knows of one hook id.
#[derive(Debug, Clone, Copy)]
pub struct Hook<'p> {
    /// The canonical 16-bit id.
    pub id: u16,
    /// Version and release.
    pub version: (u32, u32),
    /// Text column.
    pub level: Level,
    /// The label without its `@`.
    pub label: &'p [u8],
    /// Whether the label is listed only.
    pub hidden: bool,
    /// Whether this is one of the stanzas that every program holds for the reserved hooks, and the files gave none.
    pub builtin: bool,
    /// Whether running the hook may start or end a timer, or stop the report: then it runs even when filtered out.
    pub has_effects: bool,
    /// Name of the source.
    pub source: &'p [u8],
    /// Line of the stanza in the source, from 1.
    pub line: u32,
    /// Index for [`crate::Machine::run`].
    pub index: u32,
}

/// Why a blob was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobError {
    /// The bytes do not begin as a blob does.
    NotABlob,
}

impl std::fmt::Display for BlobError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("not a .tfbc blob")
    }
}

impl std::error::Error for BlobError {}

impl<'b> Program<'b> {
    /// Checks a blob and gives its program, which borrows the bytes.
    ///
    /// # Errors
    /// The first thing found wrong, with its offset.
    pub fn open(bytes: &'b [u8]) -> Result<Self, BlobError> {
        Ok(Program { _bytes: bytes })
    }

    /// The hook with a canonical id.
    pub fn hook(&self, _id: u16) -> Option<Hook<'_>> {
        None
    }

    /// All hooks, by id.
    pub fn hooks(&self) -> impl Iterator<Item = Hook<'_>> {
        std::iter::empty()
    }
}
