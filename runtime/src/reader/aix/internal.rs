//! Hooks 003 and 00A: properties of the trace and its system. Their data about processes belongs to the context table.
//!
//! Both hooks are generic: the data word contains the kind, and the variable bytes follow it.

use super::clock::Factors;
use super::hooks;
use super::log_info::LogInfo;
use crate::context::ThreadContext;
use crate::split::codec::stored;
use std::sync::Arc;
use tfbc_vm::{Context, ProcessNames};

/// Size of a `utsname` field in bytes; there are five.
const UTSNAME_FIELD: usize = 32;

/// Start of a trace: date and time stamp of its header event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StartTime {
    /// Seconds since 1970.
    pub seconds: u32,
    /// Time stamp of the event, in nanoseconds.
    pub time_ns: u64,
}

stored!(StartTime { seconds, time_ns });

impl StartTime {
    /// Time in nanoseconds since 1970, UTC.
    pub fn unix_ns(self, time_ns: u64) -> i128 {
        i128::from(self.seconds) * 1_000_000_000 + i128::from(time_ns) - i128::from(self.time_ns)
    }
}

/// Properties of the system, for the heading and for macros. `None` if the trace does not contain a property.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SystemInfo {
    /// Start of the trace in seconds since the epoch.
    pub start_time: Option<u32>,
    /// System name, such as `AIX`.
    pub sysname: Vec<u8>,
    /// Name of the node.
    pub nodename: Vec<u8>,
    /// Release of the system.
    pub release: Vec<u8>,
    /// Version of the system.
    pub version: Vec<u8>,
    /// Machine id.
    pub machine: Vec<u8>,
    /// Command line of the trace command.
    pub command: Option<Arc<[u8]>>,
    /// Internet address.
    pub ip_address: Option<u32>,
    /// Place of the trace buffers: 1 kernel heap, 2 separate segment.
    pub buffering: Option<u32>,
    /// Number of CPUs of the machine.
    pub total_cpus: Option<u32>,
    /// Number of traced CPUs.
    pub traced_cpus: Option<u32>,
    /// Nonzero if large data types are in use.
    pub large_data_types: Option<u32>,
    /// Name of the recorder.
    pub recorder: Option<Vec<u8>>,
}

stored!(SystemInfo {
    start_time,
    sysname,
    nodename,
    release,
    version,
    machine,
    command,
    ip_address,
    buffering,
    total_cpus,
    traced_cpus,
    large_data_types,
    recorder
});

/// Property in one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventProperty<'e> {
    StartTime {
        seconds: u32,
        utsname: &'e [u8],
    },
    Command(&'e [u8]),
    IpAddress(u32),
    Buffering(u32),
    CpuCounts {
        total: u32,
        traced: u32,
    },
    LargeDataTypes(u32),
    Recorder(&'e [u8]),
    /// File of one CPU, as the base file names it.
    CpuFile {
        cpu: u32,
        name: &'e [u8],
    },
    Factors(Factors),
}

impl<'e> EventProperty<'e> {
    /// Parses an event's buffer. `None` for other hooks, unknown kinds, and payloads that are too short.
    pub fn parse(id: u16, wide: bool, bytes: &'e [u8]) -> Option<Self> {
        let word = if wide { 8 } else { 4 };
        let kind = match (wide, is_generic(wide, bytes)) {
            (true, true) => be(bytes.get(8..16)?),
            (false, true) => be(bytes.get(4..8)?),
            (_, false) => return None,
        };
        let payload = bytes.get(2 * word..)?;
        match id {
            hooks::HEADER => Self::header(kind, payload),
            hooks::UTILITY => Self::utility(kind, payload),
            _ => None,
        }
    }

    fn header(kind: u64, payload: &'e [u8]) -> Option<Self> {
        match kind {
            1 => Some(EventProperty::StartTime { seconds: word32(payload, 0)?, utsname: &payload[4..] }),
            2 => Some(EventProperty::Command(until_nul(payload))),
            _ => None,
        }
    }

    fn utility(kind: u64, payload: &'e [u8]) -> Option<Self> {
        Some(match kind {
            5 => EventProperty::IpAddress(word32(payload, 0)?),
            6 => EventProperty::Buffering(word32(payload, 0)?),
            0x10 => EventProperty::CpuFile { cpu: word32(payload, 0)?, name: until_nul(&payload[4..]) },
            0x12 => EventProperty::CpuCounts { total: word32(payload, 0)?, traced: word32(payload, 4)? },
            0x13 => EventProperty::LargeDataTypes(word32(payload, 0)?),
            0x1E => EventProperty::Recorder(until_nul(payload)),
            0x25C => {
                EventProperty::Factors(Factors::new(word64(payload, 0)?, word64(payload, 8)?, word64(payload, 16)?))
            }
            _ => return None,
        })
    }
}

impl SystemInfo {
    /// True if the trace uses the layouts of `docs/hooks.md`, because this project's recorder or `make-trace` wrote it.
    #[doc(hidden)]
    pub fn has_our_layouts(&self) -> bool {
        self.recorder.as_deref() == Some(b"tfbc")
    }

    /// Number of CPUs that still report events: the event's own count, or else the number of traced CPUs.
    #[inline]
    pub(crate) fn reported_cpus(&self, told: Option<u32>) -> u32 {
        told.or(self.traced_cpus).unwrap_or(0)
    }

    /// Builds the context that templates can read, from the thread's context and the paths of all processes.
    #[inline]
    #[doc(hidden)]
    pub fn context<'c>(
        &self,
        log: &'c LogInfo,
        reported_cpus: Option<u32>,
        facts: &ThreadContext<'c>,
        paths: &'c ProcessNames,
    ) -> Context<'c> {
        Context {
            trace_env: log.kind.kernel().env(),
            total_cpus: self.total_cpus.unwrap_or(0),
            traced_cpus: self.traced_cpus.unwrap_or(0),
            reported_cpus: self.reported_cpus(reported_cpus),
            large_data_types: u8::from(self.large_data_types.unwrap_or(0) != 0),
            buffering: self.buffering.and_then(|scheme| u8::try_from(scheme).ok()).unwrap_or(0),
            ip_address: self.ip_address.unwrap_or(0),
            pid: facts.pid.unwrap_or(0),
            tid: facts.tid,
            cpu: facts.cpu.unwrap_or(0),
            priority: facts.priority,
            svc: facts.svc,
            exec_path: facts.path,
            log_file: log.name.as_bytes(),
            processes: paths,
        }
    }

    /// Sets a property that is not known yet. Merged logs have the properties of the first one, whichever event a
    /// report shows first.
    pub(super) fn note(&mut self, record: &EventProperty<'_>) {
        match *record {
            EventProperty::StartTime { seconds, utsname } if self.start_time.is_none() => {
                self.start_time = Some(seconds);
                let mut names = utsname.chunks(UTSNAME_FIELD).map(|name| until_nul(name).to_vec());
                let mut next = || names.next().unwrap_or_default();
                self.sysname = next();
                self.nodename = next();
                self.release = next();
                self.version = next();
                self.machine = next();
            }
            EventProperty::Command(command) => {
                self.command.get_or_insert_with(|| command.into());
            }
            EventProperty::IpAddress(address) => {
                self.ip_address.get_or_insert(address);
            }
            EventProperty::Buffering(scheme) => {
                self.buffering.get_or_insert(scheme);
            }
            EventProperty::CpuCounts { total, traced } => {
                self.total_cpus.get_or_insert(total);
                self.traced_cpus.get_or_insert(traced);
            }
            EventProperty::Recorder(name) => {
                self.recorder.get_or_insert_with(|| name.to_vec());
            }
            EventProperty::LargeDataTypes(large) => {
                self.large_data_types.get_or_insert(large);
            }
            EventProperty::StartTime { .. } | EventProperty::CpuFile { .. } | EventProperty::Factors(_) => {}
        }
    }
}

fn is_generic(wide: bool, bytes: &[u8]) -> bool {
    let high = bytes.first_chunk().map_or(0, |word| u16::from_be_bytes(*word));
    if wide { high & 0x4000 != 0 } else { high & 7 == 0 }
}

fn be(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).map(|word| be(word) as u32)
}

fn word64(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8).map(be)
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}
