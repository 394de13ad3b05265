//! What `tracelogger` is told.

use crate::options::Output;

/// The flags of `tracelogger`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logger {
    /// `-f`: the log; [`Output::Default`] is `/dev/shmem/tracebuffer.kev`, or the user's own.
    pub output: Output,
    /// `-n`: buffers of 16 KiB to log, 0 for as many as come. With a ring, the number that it keeps.
    pub buffers: u32,
    /// `-s`: seconds to log.
    pub seconds: Option<u32>,
    /// `-r`: the newest buffers are kept in memory, and written at the stop.
    pub ring: bool,
    /// `-F`: classes that are left out, by internal number.
    pub except: Vec<u8>,
    /// `-A`: more attributes for the header.
    pub attributes: Vec<(String, String)>,
    /// The log is written as a big-endian target's.
    pub big_endian: bool,
    /// The command line's arguments, for the header.
    pub arguments: String,
}

impl Default for Logger {
    /// 32 buffers, little-endian, to the default log.
    fn default() -> Self {
        Logger {
            output: Output::Default,
            buffers: 32,
            seconds: None,
            ring: false,
            except: Vec::new(),
            attributes: Vec::new(),
            big_endian: false,
            arguments: String::new(),
        }
    }
}
