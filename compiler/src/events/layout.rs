//! Layouts that blobs print.

/// Part of an event's line that a blob prints. The label of the entry begins the line; the routine prints the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventLayout {
    /// Output of traceprinter 1.02 after time and CPU, with one line per argument of a combine event. Events that it
    /// does not print have no entry.
    Compat,
    /// Output of traceprinter 1.02 with `-n`: one line per event.
    CompatOneLine,
    /// Class and event only, as traceprinter 1.02 prints them.
    CompatHeading,
}
