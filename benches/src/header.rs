//! Events that the trace command writes at the start of a trace.

use crate::{EventWriter, Stamp, TraceHook, Width};

/// A process that was running when the trace started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartProcess<'p> {
    /// Process id.
    pub pid: u64,
    /// Its thread.
    pub tid: u64,
    /// Path of the executable.
    pub path: &'p str,
}

/// Conversion of ticks to time: `ns = ticks * multiplier / divisor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeBase {
    /// `m` of hook 00A/25C.
    pub multiplier: u64,
    /// `d` of hook 00A/25C.
    pub divisor: u64,
}

/// Events that the trace command writes before all others: hooks 003 and 00A.
#[derive(Debug, Clone, Copy)]
pub struct Header<'h> {
    /// Seconds from 1970 to the start.
    pub start: u32,
    /// System name, node name, release, version and machine; each up to 31 bytes.
    pub utsname: [&'h str; 5],
    /// The trace command.
    pub command: &'h str,
    /// Time factors.
    pub time_base: TimeBase,
    /// The machine's address.
    pub ip_address: [u8; 4],
    /// CPUs of the machine, all of them traced.
    pub cpus: u32,
    /// Processes that the trace found running.
    pub processes: &'h [StartProcess<'h>],
}

const HEADER: u16 = 0x0030;
const UTILITY: u16 = 0x00A0;
/// Name of the recorder in its own hooks; `docs/hooks.md` describes their words.
pub(crate) const RECORDER: &[u8] = b"tfbc\0";

impl Header<'_> {
    /// Appends the header's events, stamped with the start's ticks and traced by thread `tid`.
    ///
    /// # Panics
    /// If a name is longer than 31 bytes.
    pub fn write(&self, tid: u64, ticks: u64, width: Width, writer: &mut EventWriter) {
        let mut put = |id, kind, bytes: &[u8]| {
            writer.put(&TraceHook::generic(id, 0, kind, bytes).width(width), &Stamp::at(tid, ticks));
        };
        let TimeBase { multiplier, divisor } = self.time_base;
        put(HEADER, 1, &start_and_names(self.start, self.utsname));
        put(HEADER, 2, self.command.as_bytes());
        put(UTILITY, 0x1E, RECORDER);
        put(UTILITY, 0x25C, &[multiplier, divisor, 2].map(u64::to_be_bytes).concat());
        put(UTILITY, 5, &self.ip_address);
        put(UTILITY, 6, &1u32.to_be_bytes());
        put(UTILITY, 0x12, &[self.cpus; 2].map(u32::to_be_bytes).concat());
        for process in self.processes {
            put(UTILITY, 1, &process.record());
        }
    }
}

/// Start time and five names of 32 bytes, padded with NUL.
pub(crate) fn start_and_names(start: u32, names: [&str; 5]) -> Vec<u8> {
    let mut bytes = start.to_be_bytes().to_vec();
    for name in names {
        assert!(name.len() < 32, "a name has at most 31 bytes: {name}");
        let end = bytes.len() + 32;
        bytes.extend_from_slice(name.as_bytes());
        bytes.resize(end, 0);
    }
    bytes
}

impl StartProcess<'_> {
    /// `u64` process id, `u64` thread id, path, NUL.
    pub(crate) fn record(&self) -> Vec<u8> {
        [&self.pid.to_be_bytes()[..], &self.tid.to_be_bytes(), self.path.as_bytes(), &[0]].concat()
    }
}
