//! Header information of a log: session, machine, and running processes.

use crate::clock::Clock;
use crate::logger::Logger;
use crate::options::TraceOptions;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Everything a writer needs at the start.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Layout and options of the log. The output in the options is ignored, because it is a separate argument.
    pub layout: LogLayout,
    /// Clock, which defines the length of ticks.
    pub clock: Clock,
    /// Start in ticks: time of the 001 event, and not later than any record.
    pub start_ticks: u64,
    /// Start in wall-clock time, in seconds since 1970.
    pub start_seconds: u64,
    /// The machine.
    pub machine: HostMachine,
    /// Processes and threads at the start.
    pub processes: Vec<ThreadInfo>,
    /// Thread id of the recorder's own events.
    pub recorder: u32,
    /// Symbols known at the start (`-n`).
    pub symbols: Vec<Symbol>,
}

/// Layout of a log.
#[derive(Debug, Clone)]
pub enum LogLayout {
    /// An AIX trace.
    Aix {
        /// The flags of `trace`.
        options: TraceOptions,
        /// Channel of the session, for 001 and 002.
        channel: usize,
    },
    /// A QNX .kev log.
    Kev(Logger),
}

/// Properties of the machine. Unknown ones are empty, 0 or `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostMachine {
    /// `uname -s`.
    pub sysname: String,
    /// `uname -n`.
    pub nodename: String,
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    pub version: String,
    /// `uname -m`.
    pub machine: String,
    /// IP address of the machine.
    pub ip_address: Option<[u8; 4]>,
    /// Number of online processors.
    pub n_cpus: u32,
    /// Time of boot, in seconds since 1970.
    pub boot_seconds: u64,
}

/// A thread, and the program of its process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadInfo {
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Path of the program.
    pub path: Vec<u8>,
}

/// A symbol of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Process id.
    pub pid: u32,
    /// Address in the memory of the process.
    pub address: u64,
    /// Name of the symbol.
    pub name: Vec<u8>,
}

impl Setup {
    /// Setup for a session of this process that starts at `ticks`. An AIX trace describes this process, which the
    /// recorder's own events belong to; the caller adds other processes and symbols.
    pub fn for_this_process(layout: LogLayout, clock: Clock, ticks: u64) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let pid = std::process::id();
        let path = std::env::current_exe().unwrap_or_default().into_os_string().into_encoded_bytes();
        let own = matches!(layout, LogLayout::Aix { .. }).then_some(ThreadInfo { pid, tid: pid, path });
        Setup {
            layout,
            clock,
            start_ticks: ticks,
            start_seconds: now,
            machine: HostMachine::current(),
            processes: own.into_iter().collect(),
            recorder: pid,
            symbols: Vec::new(),
        }
    }

    /// Smallest multiplier and divisor that convert ticks to nanoseconds.
    pub(super) fn factors(&self) -> (u64, u64) {
        const NS: u64 = 1_000_000_000;
        let hertz = if self.clock.hertz == 0 { NS } else { self.clock.hertz };
        let common = greatest_common_divisor(NS, hertz);
        (NS / common, hertz / common)
    }
}

fn greatest_common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

impl HostMachine {
    /// The machine that this code runs on.
    pub fn current() -> Self {
        let fact = |name: &str| {
            let text = fs::read(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
            String::from_utf8_lossy(text.trim_ascii()).into_owned()
        };
        HostMachine {
            sysname: fact("ostype"),
            nodename: fact("hostname"),
            release: fact("osrelease"),
            version: fact("version"),
            machine: std::env::consts::ARCH.to_owned(),
            ip_address: own_address(),
            n_cpus: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
            boot_seconds: boot_seconds().unwrap_or(0),
        }
    }
}

/// Address from which a datagram to a distant network would be sent; nothing is sent.
fn own_address() -> Option<[u8; 4]> {
    const FAR: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 0, 2, 1), 9);
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect(FAR).ok()?;
    match socket.local_addr().ok()?.ip() {
        std::net::IpAddr::V4(address) if !address.is_unspecified() => Some(address.octets()),
        _ => None,
    }
}

fn boot_seconds() -> Option<u64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

/// Creates a log file. `begin` writes the header to a temporary file, which then takes the log's name, so the log never
/// lacks its header. An existing path that is not a regular file is written directly.
pub(super) fn new_file<T>(path: &Path, keeps_old: bool, begin: impl FnOnce(File) -> io::Result<T>) -> io::Result<T> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(&path).ok();
    if old.is_some_and(|old| !old.is_file()) {
        return begin(OpenOptions::new().write(true).open(&path)?);
    }
    let mut beside = path.clone().into_os_string();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = PathBuf::from(beside);
    let made =
        OpenOptions::new().write(true).create(true).truncate(true).open(&beside).and_then(begin).and_then(|log| {
            if keeps_old && path.exists() {
                let mut kept = path.clone().into_os_string();
                kept.push(".old");
                fs::rename(&path, kept)?;
            }
            fs::rename(&beside, &path)?;
            Ok(log)
        });
    if made.is_err() {
        // The first error is reported; a failure to remove the temporary file adds nothing.
        let _ = fs::remove_file(&beside);
    }
    made
}
