//! Bundled trace `copy.trc`: a shell starts `cp`, which copies a file while `cron` opens another.
//!
//! It serves the tutorial about the events of one program: list the hooks, find the open event, show all opens, then
//! those of `cp`. The words of a hook follow `docs/hooks.md`. Times are exact microseconds.

use crate::{EventWriter, Stamp, StartProcess, TraceHook, Width};

/// Thread in the header's events.
const HEADER_TID: u64 = 5;
const START: u32 = 941_117_645; // Thu Oct 28 13:34:05 1999
const NAMES: [&str; 5] = ["AIX", "lantern", "2", "7", "00C0FFEE4C00"];
const NS_PER_USEC: u64 = 1000;

/// Addresses of the callers of system calls.
const READ_CALLER: u64 = 0xD011_0028;
const WRITE_CALLER: u64 = 0xD011_0030;

const TRACE: u64 = 9747;
const CRON: u64 = 3901;
const KSH: u64 = 8191;
const CP: u64 = 10_027;
const CP_PID: u64 = 6424;

const PROCESSES: [StartProcess<'_>; 5] = [
    StartProcess { pid: 1, tid: 259, path: "/etc/init" },
    StartProcess { pid: 516, tid: 517, path: "wait" },
    StartProcess { pid: 3382, tid: CRON, path: "/usr/sbin/cron" },
    StartProcess { pid: 4522, tid: KSH, path: "/usr/bin/ksh" },
    StartProcess { pid: 6160, tid: TRACE, path: "/usr/bin/trace" },
];

/// Number of trace buffers in the log.
pub const COPY_SLOTS: usize = 2;

/// Trace buffers of the recording: the initial conditions, then one buffer of events of a 64-bit kernel.
pub fn copy_buffers() -> [Vec<u8>; 2] {
    [initial(), events()]
}

fn initial() -> Vec<u8> {
    let mut writer = EventWriter::new(Width::W64);
    let mut put = |id, kind, bytes: &[u8]| {
        writer.put(&TraceHook::generic(id, 0, kind, bytes).width(Width::W64), &Stamp::at(HEADER_TID, 0));
    };
    put(0x0030, 1, &crate::header::start_and_names(START, NAMES));
    put(0x0030, 2, b"trace -a\0");
    put(0x00A0, 0x25C, &[1_u64, 1, 2].map(u64::to_be_bytes).concat());
    put(0x00A0, 0x1E, crate::header::RECORDER);
    for process in PROCESSES {
        put(0x00A0, 1, &process.record());
    }
    writer.take()
}

fn events() -> Vec<u8> {
    let mut trace = CopiedTrace(EventWriter::new(Width::W64));
    trace.put(0, TRACE, &TraceHook::words(0x0010, 0, &[]));
    trace.put(120, KSH, &TraceHook::words(0x1390, 0, &[CP_PID, CP]));
    trace.put(180, CP, &TraceHook::generic(0x1340, 0, CP_PID, b"/usr/bin/cp"));
    trace.open([240, 252, 271], CP, "/etc/trcfmt", 0, 3);
    trace.open([300, 309, 322], CRON, "/var/spool/cron/FIFO", 4, 5);
    trace.open([360, 371, 402], CP, "/tmp/junk", 0x301, 4);
    trace.call([450, 520], CP, "kread", READ_CALLER, 4096);
    trace.call([530, 590], CP, "kwrite", WRITE_CALLER, 4096);
    trace.open([640, 648, 655], KSH, "/dev/null", 1, 3);
    trace.put(700, CP, &TraceHook::words(0x1350, 0, &[CP_PID, 0]));
    trace.put(760, TRACE, &TraceHook::words(0x0020, 0, &[]));
    trace.0.take()
}

struct CopiedTrace(EventWriter);

impl CopiedTrace {
    fn put(&mut self, usec: u64, tid: u64, hook: &TraceHook) {
        self.0.put(&hook.clone().width(Width::W64), &Stamp::at(tid, usec * NS_PER_USEC));
    }

    /// A call of `kopen`: entry, open, return.
    fn open(&mut self, [enters, opens, returns]: [u64; 3], tid: u64, path: &str, flags: u64, result: u64) {
        self.enter(enters, tid, "kopen", READ_CALLER);
        self.put(opens, tid, &TraceHook::generic(0x15B0, 0, flags, path.as_bytes()));
        self.leave(returns, tid, "kopen", result);
    }

    fn call(&mut self, [enters, returns]: [u64; 2], tid: u64, name: &str, caller: u64, result: u64) {
        self.enter(enters, tid, name, caller);
        self.leave(returns, tid, name, result);
    }

    fn enter(&mut self, usec: u64, tid: u64, name: &str, caller: u64) {
        self.put(usec, tid, &TraceHook::generic(0x1010, 0, caller, name.as_bytes()));
    }

    fn leave(&mut self, usec: u64, tid: u64, name: &str, result: u64) {
        let bytes = [&0_u32.to_be_bytes()[..], name.as_bytes()].concat();
        self.put(usec, tid, &TraceHook::generic(0x1040, 0, result, &bytes));
    }
}
