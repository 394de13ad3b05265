//! Recorded events, complete and not yet in the layout of any log.

/// Word size of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Width {
    /// 4-byte words.
    W32,
    /// 8-byte words.
    W64,
}

/// One recorded event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'b> {
    /// Time in ticks of the session's [`Clock`](crate::clock::Clock), present even if the event has no time stamp in
    /// the log.
    pub ticks: u64,
    /// Process that recorded the event.
    pub pid: u32,
    /// Thread that recorded the event.
    pub tid: u32,
    /// CPU of the thread; 0 unless the session records CPUs.
    pub cpu: u16,
    /// The event itself.
    pub event: EventContent<'b>,
}

/// Content of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventContent<'b> {
    /// An AIX hook.
    Hook {
        /// Word size of the program.
        width: Width,
        /// True if the event has a time stamp in the log: the macros with T.
        stamped: bool,
        /// 16-bit id; id `hhh` is `hhh0`. The low digit of a 32-bit hook is 0.
        id: u16,
        /// Subhook.
        subhook: u16,
        /// Data.
        data: Data<'b>,
    },
    /// Event of QNX's trace functions.
    Kernel {
        /// Internal class, 0 to 31.
        class: u8,
        /// Event number, 0 to 1023.
        event: u16,
        /// Data in the byte order of the recording machine, a multiple of 4 bytes. Up to 8 bytes make one simple slot,
        /// more make a combine record.
        data: &'b [u8],
        /// True if the data is bytes (a text), whose order never changes; false for 32-bit words.
        bytes: bool,
    },
}

/// Data of an AIX hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data<'b> {
    /// Up to five data words. The words of a 32-bit hook are below 2³².
    Words(&'b [u64]),
    /// Data word and up to 4096 bytes: `trcgen`.
    Generic {
        /// Data word.
        word: u64,
        /// Variable bytes.
        bytes: &'b [u8],
    },
}
