//! Marks: events about the trace itself.

/// Mark of the context table.
#[derive(Debug, Clone, Copy)]
pub enum Mark {
    /// Events are missing before this one, as many as the mark counts.
    Lost(Option<u64>),
    /// Tracing is switched on.
    On,
    /// Tracing is switched off.
    Off,
}

impl Mark {
    /// Name in timelines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lost(_) => "lost",
            Self::On => "on",
            Self::Off => "off",
        }
    }

    /// Number of events that the mark counts.
    pub fn missed(self) -> Option<u64> {
        if let Self::Lost(missed) = self { missed } else { None }
    }
}
