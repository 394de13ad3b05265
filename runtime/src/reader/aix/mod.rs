//! AIX traces: 32- and 64-bit sequential streams and log files.
//!
//! ```text
//! file ─Window─> areas of events ─StepRules::step─> Parts ─present─> RawEvent ─Clock─> TimedEvent
//!                                                                                        │ TraceState::advance
//!                                                                                        └─> heading facts
//! ```
//!
//! The size of an event follows from its hook word alone, so a trace is read at memory speed and in constant memory.
//! The areas of a log are read in the order of recording. [`Trace`] yields events, and notices at damaged places;
//! damage never hides the events before it. [`Logs`] adds times to the events and merges several traces; reports read
//! from it.

mod clock;
mod cpu_files;
mod duplicates;
mod internal;
mod log_info;
mod log_layout;
mod logs;
mod merge;
mod raw_event;
mod sniff;
mod step;
mod trace;
mod trace_state;

pub(crate) use clock::TimeScale;
pub use cpu_files::{cpu_files, cpu_files_among};
pub(crate) use internal::StartTime;
pub use internal::SystemInfo;
pub use log_info::LogInfo;
pub use log_layout::LogHeader;
pub(crate) use logs::{BufferPos, EventSpan, InputToResume};
pub use logs::{CommonIds, LogItem, Logs, PASSED, RunTimes, TimedEvent};
pub use merge::Ahead;
pub use raw_event::RawEvent;
pub use sniff::AixKind;
pub(in crate::reader) use sniff::format_file;
pub use sniff::{compressed, is_trace, may_be_stream32};
pub use step::{CpuidWord, Kernel, Step, StepRules, present};
pub(super) use trace::find_kind;
pub use trace::{AfterDamage, AixItem, OpenError, ReadOptions, Trace};
pub(crate) use trace::{FastEvent, FastPosition, OpenedInput, SkipAction, SkipPolicy, VisitResult};
pub use trace_state::TraceState;

/// Canonical ids of hooks with a fixed meaning.
pub mod hooks {
    /// Hook word of zeros, which is usually damage.
    pub const ZERO: u16 = 0x0000;
    /// Trace on.
    pub const TRACE_ON: u16 = 0x0010;
    /// Trace off.
    pub const TRACE_OFF: u16 = 0x0020;
    /// Header events: start time, system, command.
    pub const HEADER: u16 = 0x0030;
    /// Id of the template for hook 000.
    pub const ID_IS_ZERO: u16 = 0x0040;
    /// Events are missing, because the buffers were full.
    pub const BUFFER_WRAP: u16 = 0x0060;
    /// Events that show gaps in the recording.
    pub const GAPS: [u16; 3] = [TRACE_ON, TRACE_OFF, BUFFER_WRAP];
    /// Id of the template for ids without a stanza.
    pub const UNDEFINED: u16 = 0x0070;
    /// Utility events: time factors, processes, processors.
    pub const UTILITY: u16 = 0x00A0;
    /// An event of a 64-bit program on a 32-bit kernel.
    pub const WRAPPED: u16 = 0x00B0;
}
