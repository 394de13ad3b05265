//! Notices of the readers, and the accounting of bytes and events.

use std::fmt;

/// Message about a trace: a warning, or a damaged place that was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// True if bytes of the trace could not be read as events.
    pub damage: bool,
    /// Text with the offset and the problem; the caller adds the name of the trace.
    pub message: String,
    /// Skipped bytes: offsets of the first one and after the last. `None` if nothing was skipped, or several ranges
    /// were.
    pub skipped: Option<(u64, u64)>,
    /// Number of the input's events before it, malformed ones included.
    pub n_before: u64,
    /// Gap in the recording, if the notice is about one.
    #[doc(hidden)]
    pub gap: Option<RecordingGap>,
}

/// Events that were not recorded, or that the recorder lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordingGap {
    /// Number of events, buffers or combines that are missing, if it is known.
    pub n_missing: Option<u64>,
    /// Offset in the file of the event that shows the gap, or of the first dropped slot.
    pub offset: u64,
    /// Bytes of dropped slots.
    pub n_bytes: u64,
    /// CPU of the event that shows the gap.
    pub cpu: Option<u32>,
    /// True if an event of the trace reports the gap too, so that a report prints it anyway. Only tables of notices
    /// request such notices.
    pub is_event: bool,
}

impl Notice {
    /// Creates a notice of damage.
    pub(crate) fn damage(message: impl Into<String>) -> Self {
        Self { damage: true, message: message.into(), skipped: None, n_before: 0, gap: None }
    }

    /// Creates a notice that is not about damage.
    pub(crate) fn warning(message: impl Into<String>) -> Self {
        Self { damage: false, ..Self::damage(message) }
    }

    /// Adds the gap that the notice is about.
    pub(crate) fn with_gap(self, gap: RecordingGap) -> Self {
        Self { gap: Some(gap), ..self }
    }

    /// True if an event of the trace reports the gap too, so that a report omits the notice.
    #[doc(hidden)]
    pub fn is_quiet(&self) -> bool {
        self.gap.is_some_and(|gap| gap.is_event)
    }

    /// Adds the range of bytes that were skipped.
    pub(crate) fn skipping(self, from: u64, to: u64) -> Self {
        Self { skipped: (from < to).then_some((from, to)), ..self }
    }
}

/// Accounting of a trace's bytes. `read == header + events + skipped` at the end and between two events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Bytes read from the input.
    pub read: u64,
    /// Bytes of headers and tables.
    pub header: u64,
    /// Bytes of whole events.
    pub events: u64,
    /// Bytes that notices report as skipped.
    pub skipped: u64,
}

impl Tally {
    /// Checks that every byte is accounted for.
    ///
    /// ```
    /// use tfbc::Tally;
    /// let tally = Tally { read: 100, header: 36, events: 48, skipped: 16 };
    /// assert!(tally.check().is_ok());
    /// let error = Tally { read: 101, ..tally }.check().unwrap_err();
    /// assert_eq!(error.to_string(), "101 bytes were read, and 100 are accounted for: header 36, events 48, skipped 16");
    /// ```
    ///
    /// # Errors
    /// The counts do not add up, which is a bug of this library.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), Imbalance> {
        let Self { read, header, events, skipped } = *self;
        Imbalance::check("bytes", read, &[("header", header), ("events", events), ("skipped", skipped)])
    }
}

impl std::ops::Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            read: self.read + other.read,
            header: self.header + other.header,
            events: self.events + other.events,
            skipped: self.skipped + other.skipped,
        }
    }
}

/// Counts that do not add up. Always a bug of this library, never a property of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imbalance {
    what: &'static str,
    read: u64,
    /// Named shares of `read`; unused ones have an empty name.
    parts: [(&'static str, u64); 3],
}

impl Imbalance {
    /// Checks that `read` is the sum of at most three parts.
    pub(crate) fn check(what: &'static str, read: u64, parts: &[(&'static str, u64)]) -> Result<(), Self> {
        let mut all = [("", 0); 3];
        all.iter_mut().zip(parts).for_each(|(part, named)| *part = *named);
        let balance = Self { what, read, parts: all };
        if balance.accounted() == u128::from(read) { Ok(()) } else { Err(balance) }
    }

    fn accounted(&self) -> u128 {
        self.parts.iter().map(|(_, n)| u128::from(*n)).sum()
    }
}

impl fmt::Display for Imbalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, read, parts } = self;
        write!(f, "{read} {what} were read, and {} are accounted for", self.accounted())?;
        let mut separator = ": ";
        for (part, n) in parts.iter().filter(|(part, _)| !part.is_empty()) {
            write!(f, "{separator}{part} {n}")?;
            separator = ", ";
        }
        Ok(())
    }
}

impl std::error::Error for Imbalance {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_range_is_not_skipped() {
        let skipped = |from, to| Notice::damage("x").skipping(from, to).skipped;
        assert_eq!((skipped(3, 3), skipped(3, 5), skipped(5, 3)), (None, Some((3, 5)), None));
    }

    #[test]
    fn an_imbalance_lists_its_parts() {
        let error = Imbalance::check("events", 5, &[("formatted", 3), ("filtered out", 1)]).unwrap_err();
        assert_eq!(error.to_string(), "5 events were read, and 4 are accounted for: formatted 3, filtered out 1");
    }
}
