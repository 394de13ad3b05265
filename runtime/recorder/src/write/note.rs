//! Information that a log receives besides events, and its counts.

/// Information for a log besides events; each variant belongs to the method of [`Writer`](super::Writer) with this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note<'n> {
    /// Number of lost events, and the time in ticks.
    Missed(u64, u64),
    /// Process, thread, and path of the program.
    Process(u32, u32, &'n [u8]),
    /// Process, address and name.
    Symbol(u32, u64, &'n [u8]),
    /// Time in ticks from which events are collected.
    On(u64),
    /// Time in ticks from which no events are collected.
    Off(u64),
}

/// Counts of events by result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteSummary {
    /// Events accepted: written, in memory, or overwritten later.
    pub events: u64,
    /// Events lost by the recorder, from [`Writer::missed`](super::Writer::missed).
    pub lost: u64,
    /// Events that the layout cannot store: a four-digit id in a 32-bit trace, more than five words, more than 4096
    /// bytes.
    pub refused: u64,
    /// Events after a single buffer, or a log that stops when full, was full.
    pub over: u64,
    /// Events overwritten by newer ones in a circular buffer or ring.
    pub overwritten: u64,
    /// Times that went back and were clamped.
    pub clamped: u64,
    /// Number of times the log wrapped to its first buffer.
    pub wraps: u32,
    /// Buffers of a .kev log, without those overwritten in a ring.
    pub buffers: u64,
}

impl WriteSummary {
    /// All events that are not in the log, except those from overwritten buffers of a wrapped log.
    pub fn missed(&self) -> u64 {
        self.lost + self.refused + self.over + self.overwritten
    }
}
