//! QNX kernel trace logs (`.kev`).
//!
//! ```text
//! file = text header   TRACE_HEADER_BEGIN::TRACE_<KEY>::<value>...TRACE_HEADER_END::
//!      + syspage       SYSPAGE_LEN bytes
//!      + slots         16 bytes each, to the end
//!
//! slot = header u32    event 0-9, class 10-14, CPU 24-29, kind 30-31 (simple, begin, continuation, end)
//!      + stamp u32     low half of the clock
//!      + 8 bytes       payload
//! ```
//!
//! [`KevLog`] yields one [`KevRecord`] per simple slot, and one per combine at its end slot. The slots of a combine have
//! the same CPU, class, event and stamp. Bytes are read in order, so a log may be a pipe. Payloads stay in memory order,
//! because strings are never swapped; header and stamp are decoded in the byte order that the log's header names.
//!
//! Memory is constant. A combine is kept until its end slot or the end of the log, and counts for its payload and 256
//! bytes. If all open combines exceed [`MAX_OPEN_BYTES`], the oldest are dropped. An event has at most
//! [`MAX_EVENT_BYTES`]. [`KevCounts`] counts what was dropped, and a notice reports it.

mod combine;
mod header;
mod join;
mod log;
mod record;
mod row;
mod slot;
mod syspage;

pub(crate) use combine::CompleteCombine;
pub use combine::MAX_EVENT_BYTES;
pub use header::{
    HeaderAttribute, KevHeader, KevRefusal, KevRefusalKind, MAX_HEADER_BYTES, MAX_MARKER_OFFSET, QnxRelease, is_kev,
};
pub use join::KevCounts;
pub use log::{KevItem, KevLog, KevOptions, KevSlot, TraceStart};
pub use record::KevRecord;
pub(crate) use row::Clocks;
pub use row::KevRow;
pub(crate) use slot::SLOT_BYTES;
pub use syspage::{PageSection, Syspage};

/// Classes by number.
pub mod classes {
    /// Start event, which tools generate; it is not in logs.
    pub const EMPTY: u8 = 0;
    /// Clock and buffers.
    pub const CONTROL: u8 = 1;
    /// Kernel calls: 128 more on exit, 256 more when interrupted, 512 more with 64-bit values.
    pub const KER_CALL: u8 = 2;
    /// Interrupts.
    pub const INT: u8 = 3;
    /// Processes, threads and virtual threads.
    pub const PR_TH: u8 = 4;
    /// System events.
    pub const SYSTEM: u8 = 5;
    /// User events.
    pub const USER: u8 = 6;
    /// Messages, pulses and signals.
    pub const COMM: u8 = 7;
    /// Wrong number for [`SYSTEM`] that `trace_here` and `trace_func_enter` of QNX 6.4 write.
    pub const STRAY_SYSTEM: u8 = 13;
}

/// Events of the class [`classes::CONTROL`] that a reader needs.
pub mod control {
    /// High half of the clock, then the low half.
    pub const TIME: u16 = 1;
    /// First slot of a buffer: its number and its number of slots.
    pub const BUFFER: u16 = 2;
    /// Buffers were dropped, since 8.0.
    pub const DROPPED: u16 = 8;
}
