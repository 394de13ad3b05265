//! Settings of `tracelogger`.

use crate::options::Output;
use std::time::Duration;

/// The flags of `tracelogger`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logger {
    /// `-f`: the log; [`Output::Default`] is `/dev/shmem/tracebuffer.kev`, or the user's own.
    pub output: Output,
    /// `-n`: buffers of 16 KiB to log, 0 for no end. With a ring, the number of buffers that it keeps.
    pub buffers: u32,
    /// `-s`: time to log.
    pub time: Option<Duration>,
    /// `-S`: upper limit of the log's bytes.
    pub max_bytes: Option<u64>,
    /// `-r`: the newest buffers are kept in memory, and written at the stop.
    pub ring: bool,
    /// `-F`: events that are left out.
    pub except: Vec<EventRange>,
    /// `-w`: states of threads have priority and policy.
    pub wide: bool,
    /// `-A`: more attributes for the header.
    pub attributes: Vec<(String, String)>,
    /// `-vv`: a line on standard error for every buffer.
    pub tell_buffers: bool,
    /// The log is written as a big-endian target's.
    pub big_endian: bool,
    /// The command line's arguments, for the header.
    pub arguments: String,
}

/// Events of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRange {
    /// The internal class, 0 to 31.
    pub class: u8,
    /// The first event number.
    pub first: u16,
    /// The last event number.
    pub last: u16,
}

impl EventRange {
    /// Every event of a class.
    pub const fn class(class: u8) -> Self {
        EventRange { class, first: 0, last: 1023 }
    }

    /// True if an event is one of them.
    pub const fn contains(self, class: u8, event: u16) -> bool {
        self.class == class && self.first <= event && event <= self.last
    }
}

impl Default for Logger {
    /// 32 buffers, little-endian, to the default log.
    fn default() -> Self {
        Logger {
            output: Output::Default,
            buffers: 32,
            time: None,
            max_bytes: None,
            ring: false,
            except: Vec::new(),
            wide: false,
            attributes: Vec::new(),
            tell_buffers: false,
            big_endian: false,
            arguments: String::new(),
        }
    }
}
