//! What every reader says beside the events: notices, and where bytes and events went.

use std::fmt;

/// Something the reader of a report must know about the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Whether bytes of the trace could not be read as events.
    pub damage: bool,
    /// Where and what, without the file's name.
    pub message: String,
    /// The bytes that are skipped, as the first one's offset and that behind the last; `None` where none are, or where
    /// they do not stand in one piece.
    pub skipped: Option<(u64, u64)>,
}

impl Notice {
    /// A damaged place.
    pub fn damage(message: impl Into<String>) -> Self {
        Self { damage: true, message: message.into(), skipped: None }
    }

    /// Something that is no damage.
    pub fn warning(message: impl Into<String>) -> Self {
        Self { damage: false, ..Self::damage(message) }
    }

    /// The same of bytes that are skipped.
    pub fn skipping(self, from: u64, to: u64) -> Self {
        Self { skipped: (from < to).then_some((from, to)), ..self }
    }
}

/// Where the bytes of a trace went. `read == header + events + skipped` whenever [`Tally::check`] may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Bytes taken in.
    pub read: u64,
    /// Bytes of headers and tables.
    pub header: u64,
    /// Bytes of whole events.
    pub events: u64,
    /// Bytes that notices named as left out.
    pub skipped: u64,
}

impl Tally {
    /// Whether every byte went somewhere.
    ///
    /// ```
    /// use tfbc::reader::Tally;
    /// let tally = Tally { read: 100, header: 36, events: 48, skipped: 16 };
    /// assert!(tally.check().is_ok());
    /// let error = Tally { read: 101, ..tally }.check().unwrap_err();
    /// assert_eq!(error.to_string(), "101 bytes were read, and 100 are accounted for: header 36, events 48, skipped 16");
    /// ```
    ///
    /// # Errors
    /// The figures do not add up: a fault of this program.
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

/// Figures that do not add up: a fault of this program, never of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imbalance {
    what: &'static str,
    read: u64,
    /// What became of it, as far as the names are not empty.
    parts: [(&'static str, u64); 3],
}

impl Imbalance {
    /// Compares what was read with what became of it, in at most three parts.
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
    fn a_place_of_no_bytes_is_not_skipped() {
        let skipped = |from, to| Notice::damage("x").skipping(from, to).skipped;
        assert_eq!((skipped(3, 3), skipped(3, 5), skipped(5, 3)), (None, Some((3, 5)), None));
    }

    #[test]
    fn what_does_not_add_up_is_told_by_its_parts() {
        let error = Imbalance::check("events", 5, &[("formatted", 3), ("filtered out", 1)]).unwrap_err();
        assert_eq!(error.to_string(), "5 events were read, and 4 are accounted for: formatted 3, filtered out 1");
    }
}
