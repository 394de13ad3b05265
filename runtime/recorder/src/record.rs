//! What a program recorded, as it comes out of the buffers: whole, and not yet in any log's layout.

/// The width of a program's words.
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
    /// Raw time in ticks of the session's [`Clock`](crate::clock::Clock), taken also where the event is to show none.
    pub ticks: u64,
    /// The process that recorded.
    pub pid: u32,
    /// The thread that recorded.
    pub tid: u32,
    /// The CPU on which it ran; 0 unless the session asks for CPUs.
    pub cpu: u16,
    /// What it recorded.
    pub event: Event<'b>,
}

/// What was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'b> {
    /// An AIX hook.
    Hook {
        /// The width of the calling program's words.
        width: Width,
        /// Whether the event shows its time: the macros with T.
        stamped: bool,
        /// The 16-bit id; id `hhh` is `hhh0`. The low digit of a 32-bit hook is 0.
        id: u16,
        /// The subhook.
        subhook: u16,
        /// The data.
        data: Data<'b>,
    },
    /// An event of QNX's trace functions.
    Kernel {
        /// The internal class, 0 to 31.
        class: u8,
        /// The event number, 0 to 1023.
        event: u16,
        /// The data in the recording machine's byte order, a multiple of 4 bytes: one simple slot up to 8 bytes, a
        /// combine otherwise.
        data: &'b [u8],
        /// Whether the data is made of bytes (a text) rather than 32-bit words, so that its order is never changed.
        bytes: bool,
    },
}

/// What an AIX hook carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data<'b> {
    /// Up to five data words; those of a 32-bit hook are below 2³².
    Words(&'b [u64]),
    /// A data word and up to 4096 bytes: `trcgen`.
    Generic {
        /// The data word.
        word: u64,
        /// The variable bytes.
        bytes: &'b [u8],
    },
}
