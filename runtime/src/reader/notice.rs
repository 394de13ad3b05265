//! What every reader says beside the events: notices, and where the bytes went.

/// Something the reader of a report must know about the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Whether bytes of the trace could not be read as events.
    pub damage: bool,
    /// Where and what, without the file's name.
    pub message: String,
}

/// Where the bytes of a trace went. `read == header + events + skipped` at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Bytes taken in.
    pub read: u64,
    /// Bytes of headers and tables.
    pub header: u64,
    /// Bytes of whole events.
    pub events: u64,
    /// Bytes that notices reported as unreadable.
    pub skipped: u64,
}
