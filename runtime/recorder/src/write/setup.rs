//! What a log tells of itself: the session, the machine, and the processes that were running.

use crate::clock::Clock;
use crate::logger::Logger;
use crate::options::Options;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// All that a writer knows at the start.
#[derive(Debug, Clone)]
pub struct Setup {
    /// What is written, and as the user wants it. The writer takes no output from it: that is an argument of its own.
    pub layout: Layout,
    /// How long ticks are.
    pub clock: Clock,
    /// The start in ticks: the time of the 001 event, and not later than any record's.
    pub start_ticks: u64,
    /// The start by the wall clock, in seconds since 1970.
    pub start_seconds: u64,
    /// The machine.
    pub machine: Machine,
    /// Processes and threads that are there at the start.
    pub processes: Vec<Process>,
    /// Thread id of the events that the recorder itself adds.
    pub recorder: u32,
    /// Names and addresses that are known at the start (`-n`).
    pub symbols: Vec<Symbol>,
}

/// What is written.
#[derive(Debug, Clone)]
pub enum Layout {
    /// An AIX trace.
    Aix {
        /// The flags of `trace`.
        options: Options,
        /// The session's channel, for 001 and 002.
        channel: usize,
    },
    /// A QNX .kev log.
    Kev(Logger),
}

/// Facts of the machine. What is not known is empty, or 0, or `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Machine {
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
    /// The address by which others reach it.
    pub ip_address: Option<[u8; 4]>,
    /// Its processors that are online.
    pub n_cpus: u32,
    /// The boot, in seconds since 1970.
    pub boot_seconds: u64,
}

/// A thread and what its process runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// The path of the program.
    pub path: Vec<u8>,
}

/// A name in a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// The process.
    pub pid: u32,
    /// Where it lies in the process's memory.
    pub address: u64,
    /// Its name.
    pub name: Vec<u8>,
}

impl Setup {
    /// A session of this process, which starts now: `ticks` is the clock's reading. An AIX trace tells of this process, which
    /// is the thread of the recorder's own events; other processes and symbols are for the caller to add.
    pub fn here(layout: Layout, clock: Clock, ticks: u64) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let pid = std::process::id();
        let path = std::env::current_exe().unwrap_or_default().into_os_string().into_encoded_bytes();
        let own = matches!(layout, Layout::Aix { .. }).then_some(Process { pid, tid: pid, path });
        Setup {
            layout,
            clock,
            start_ticks: ticks,
            start_seconds: now,
            machine: Machine::this(),
            processes: own.into_iter().collect(),
            recorder: pid,
            symbols: Vec::new(),
        }
    }

    /// Multiplier and divisor by which ticks become nanoseconds, as small as they can be.
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

impl Machine {
    /// The machine that this runs on.
    pub fn this() -> Self {
        let fact = |name: &str| {
            let text = fs::read(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
            String::from_utf8_lossy(text.trim_ascii()).into_owned()
        };
        Machine {
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

/// The address that a datagram to a far network would be sent from; none is sent.
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

/// Makes a log file: `begin` writes its header to a file of another name, which takes the log's name when that went well. So
/// there is no moment at which the log lacks its header. What is there and is no regular file is written to directly.
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
        // What is wrong is told; a half file that cannot be removed adds nothing to it.
        let _ = fs::remove_file(&beside);
    }
    made
}
