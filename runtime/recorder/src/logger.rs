//! Settings of `tracelogger`.

use crate::options::Output;
use std::time::Duration;

/// Flags of `tracelogger`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logger {
    /// `-f`: log; [`Output::Default`] is `/dev/shmem/tracebuffer.kev`, or the user's own.
    pub output: Output,
    /// `-n`: number of 16 KiB buffers to log, 0 for no limit. With a ring, the number of buffers in it.
    pub buffers: u32,
    /// `-s`: time to log.
    pub time: Option<Duration>,
    /// `-S`: maximum size of the log in bytes.
    pub max_bytes: Option<u64>,
    /// `-r`: keep the newest buffers in memory and write them at the stop.
    pub ring: bool,
    /// `-F`: events to leave out.
    pub except: Vec<EventRange>,
    /// `-w`: state records of threads contain priority and policy.
    pub wide: bool,
    /// `-A`: additional attributes for the header.
    pub attributes: Vec<(String, String)>,
    /// `-vv`: print a line on standard error for every buffer.
    pub print_buffers: bool,
    /// True if the log imitates a big-endian target.
    pub big_endian: bool,
    /// Command-line arguments, for the header.
    pub arguments: String,
}

/// Range of events of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRange {
    /// Internal class, 0 to 31.
    pub class: u8,
    /// First event number.
    pub first: u16,
    /// Last event number.
    pub last: u16,
}

impl EventRange {
    /// All events of a class.
    pub const fn class(class: u8) -> Self {
        EventRange { class, first: 0, last: 1023 }
    }

    /// True if the range contains an event.
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
            print_buffers: false,
            big_endian: false,
            arguments: String::new(),
        }
    }
}
