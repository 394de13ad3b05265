//! Generates traces of any length in constant memory, for benchmarks of whole programs.

use crate::stanzas::{self, Ranks, ThreadOnCpu};
use crate::{EventWriter, Header, Rng, Stamp, StartProcess, TimeBase, TraceHook, Width};

/// Content of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceKind {
    /// Realistic 64-bit kernel: forty hooks, rank `r` with weight `1/r`, mostly with 3 to 5 data words, 48 bytes on
    /// average.
    Realistic,
    /// 32-bit kernel: stamped hooks with one word, 16 bytes each.
    Small32,
    /// 64-bit kernel: generic hooks of 4096 bytes, printed by a loop.
    Dumps,
}

/// Length of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceLength {
    /// Number of events, not counting those that begin and end the trace.
    Events(u64),
    /// Events with at least this many bytes in total.
    Bytes(u64),
}

impl TraceLength {
    /// Share of one of `n` parts. The remainder goes to the first parts.
    #[must_use]
    pub fn share(self, part: u64, n: u64) -> Self {
        let share = |total: u64| total / n + u64::from(part < total % n);
        match self {
            TraceLength::Events(total) => TraceLength::Events(share(total)),
            TraceLength::Bytes(total) => TraceLength::Bytes(share(total)),
        }
    }
}

/// Settings of a trace, or of one CPU's part of it.
///
/// ```
/// use tfbc_benches::{TraceLength, TraceKind, TraceLoad};
///
/// let load = TraceLoad { kind: TraceKind::Small32, extent: TraceLength::Events(1000), seed: 1, cpu: 0, cpus: 1 };
/// let bytes: usize = load.buffers().map(|buffer| buffer.len()).sum();
/// assert_eq!(bytes, 12 + 16 * 1000 + 12, "trace on, the events, trace off");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceLoad {
    /// Content.
    pub kind: TraceKind,
    /// Length of the trace.
    pub extent: TraceLength,
    /// Seed of times and data.
    pub seed: u64,
    /// Index of the CPU.
    pub cpu: u32,
    /// Number of CPUs, each with its own file.
    pub cpus: u32,
}

/// Bytes of events in a full buffer.
const BUFFER_BYTES: usize = 256 << 10;
const START_NS: u64 = 1_000_000;
/// Average nanoseconds between two events of a single CPU.
const MEAN_NS: u32 = 1000;
const THREADS_OF_CPU: u64 = 12;
const GENERIC_BYTES: usize = 4096;

const TRACE_ON: u16 = 0x0010;
const TRACE_OFF: u16 = 0x0020;
const UTILITY: u16 = 0x00A0;
const CPU_FILE: u64 = 0x10;
const BASE_FILE: u64 = 0x11;
/// First id of [`TraceKind::Small32`] and [`TraceKind::Dumps`], as in hook words.
const FIRST_ID: u16 = 0x1000;
const DISPATCH: u16 = 0x106;

const PATHS: [&str; 6] = [
    "/etc/init",
    "/usr/sbin/syncd",
    "/usr/bin/ksh",
    "/usr/sbin/rpc.statd",
    "/opt/db2/adm/db2sysc",
    "/usr/es/sbin/cluster/clstrmgr",
];

impl TraceKind {
    /// Width of the kernel.
    pub fn width(self) -> Width {
        if self == TraceKind::Small32 { Width::W32 } else { Width::W64 }
    }

    /// Format file for the events.
    pub fn format_file(self) -> String {
        match self {
            TraceKind::Realistic => stanzas::format_file(),
            TraceKind::Small32 => SMALL_STANZAS.into(),
            TraceKind::Dumps => DUMP_STANZAS.into(),
        }
    }

    /// Size of the largest event.
    fn max_event_bytes(self) -> u64 {
        match self {
            TraceKind::Realistic => 64,
            TraceKind::Small32 => 16,
            TraceKind::Dumps => 32 + GENERIC_BYTES as u64,
        }
    }
}

const SMALL_STANZAS: &str = r#"# One word each: as a number, in hex, by name, by flags.
100 1.0 L=KERN "COUNT" "value=" $D1%U4
101 1.0 L=KERN "ADDRESS" "addr=" $D1%X4
102 1.0 L=SVC "STATE" "state=" $D1%U4 & 7, 0 "idle", 1 "ready", 2 "running", 3 "waiting", 4 "stopped", 5 "zombie", 6 "swapped", 7 "gone"
103 1.0 L=INT "SIGNALS" "set=" BITFLAGS $D1%X1, 01 "HUP ", 02 "INT ", 04 "QUIT ", 08 "ILL ", 10 "TRAP ", 20 "ABRT ", 40 "EMT ", 80 "FPE "
"#;

const DUMP_STANZAS: &str = r#"# A generic hook: its data word is the length, too. One without blanks, one with a word a blank.
100 1.0 L=KERN "DUMP" "len=" $D1%U4 "data=" W2 LOOP $HL { X0 }
101 1.0 L=KERN "PACKET" "len=" $D1%U4 "data=" W2 LOOP $HL { X1 }
"#;

impl TraceLoad {
    /// Header events of a base file, of a CPU's file, or of a trace of one CPU.
    pub fn header(&self, files: Files<'_>) -> Vec<u8> {
        let processes: Vec<StartProcess<'_>> =
            (0..self.cpus).flat_map(|cpu| (0..THREADS_OF_CPU).map(move |n| process(cpu, n))).collect();
        let header = Header {
            start: 941_117_645, // Thu Oct 28 13:34:05 1999
            utsname: ["AIX", "lantern", "2", "7", "00C0FFEE4C00"],
            command: if self.cpus > 1 { "trace -a -C all -o made.trc" } else { "trace -a -o made.trc" },
            time_base: TimeBase { multiplier: 1, divisor: 1 },
            ip_address: [192, 0, 2, 17],
            cpus: self.cpus,
            processes: &processes,
        };
        let width = self.kind.width();
        let mut writer = EventWriter::new(width);
        header.write(1, 0, width, &mut writer);
        let mut utility = |kind, cpu: &[u8], name: &str| {
            let bytes = [cpu, name.as_bytes(), &[0]].concat();
            writer.put(&TraceHook::generic(UTILITY, 0, kind, &bytes).width(width), &Stamp::at(1, 0));
        };
        match files {
            Files::One => {}
            Files::Base(name) => {
                (0..self.cpus).for_each(|cpu| utility(CPU_FILE, &cpu.to_be_bytes(), &format!("{name}-{cpu}")))
            }
            Files::Cpu(base) => utility(BASE_FILE, &[], base),
        }
        writer.take()
    }

    /// Events, in buffers of complete ones.
    pub fn buffers(self) -> impl Iterator<Item = Vec<u8>> {
        let mut kernel = Kernel::new(self);
        std::iter::from_fn(move || kernel.next_buffer())
    }

    /// Maximum number of buffers.
    pub fn max_buffers(&self) -> u64 {
        let bytes = match self.extent {
            TraceLength::Events(n) => n.saturating_add(2).saturating_mul(self.kind.max_event_bytes()),
            TraceLength::Bytes(n) => n.saturating_add(3 * self.kind.max_event_bytes()),
        };
        bytes / BUFFER_BYTES as u64 + 1
    }
}

/// Files of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files<'f> {
    /// One file or stream.
    One,
    /// Base file with this name; the files of the CPUs are `name-0`, `name-1` and so on.
    Base(&'f str),
    /// File of a CPU, by the name of its base file.
    Cpu(&'f str),
}

fn process(cpu: u32, n: u64) -> StartProcess<'static> {
    let number = u64::from(cpu) * THREADS_OF_CPU + n;
    // Two threads per process.
    StartProcess {
        pid: 4096 + number / 2 * 2,
        tid: 8193 + 2 * number,
        path: PATHS[(number / 2) as usize % PATHS.len()],
    }
}

/// One CPU of the kernel.
struct Kernel {
    load: TraceLoad,
    ranks: Ranks,
    rng: Rng,
    writer: EventWriter,
    running: ThreadOnCpu,
    time_ns: u64,
    /// Number of traced events, and their bytes.
    done: (u64, u64),
    state: LoadState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoadState {
    Begins,
    Goes,
    Ended,
}

impl Kernel {
    fn new(load: TraceLoad) -> Self {
        let StartProcess { pid, tid, .. } = process(load.cpu, 0);
        Self {
            load,
            ranks: Ranks::new(),
            // The multiplication spreads neighbouring seeds, so that no CPU repeats another's numbers.
            rng: Rng::new(load.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(u64::from(load.cpu) << 40)),
            writer: EventWriter::new(load.kind.width()),
            running: ThreadOnCpu { pid, tid, old_tid: tid },
            time_ns: START_NS + u64::from(load.cpu),
            done: (0, 0),
            state: LoadState::Begins,
        }
    }

    fn is_done(&self) -> bool {
        match self.load.extent {
            TraceLength::Events(n) => self.done.0 >= n,
            TraceLength::Bytes(n) => self.done.1 >= n,
        }
    }

    fn next_buffer(&mut self) -> Option<Vec<u8>> {
        if self.state == LoadState::Ended {
            return None;
        }
        self.writer.reserve(BUFFER_BYTES + self.load.kind.max_event_bytes() as usize + 24);
        if self.state == LoadState::Begins {
            self.put(TRACE_ON, 0, &[]);
            self.state = LoadState::Goes;
        }
        while self.writer.events().len() < BUFFER_BYTES {
            if self.is_done() {
                self.put(TRACE_OFF, 0, &[]);
                self.state = LoadState::Ended;
                break;
            }
            let before = self.writer.events().len();
            self.time_ns += u64::from((1 + self.rng.below(2 * MEAN_NS - 1)) * self.load.cpus);
            match self.load.kind {
                TraceKind::Realistic => self.realistic(),
                TraceKind::Small32 => self.small(),
                TraceKind::Dumps => self.dump(),
            }
            self.done.0 += 1;
            self.done.1 += (self.writer.events().len() - before) as u64;
        }
        Some(self.writer.take())
    }

    #[inline]
    fn put(&mut self, id: u16, subhook: u16, words: &[u64]) {
        self.writer.words(id, subhook, words, self.running.tid, self.time_ns);
    }

    fn realistic(&mut self) {
        let stanza = self.ranks.next(&mut self.rng);
        if stanza.id == DISPATCH {
            let StartProcess { pid, tid, .. } = process(self.load.cpu, self.rng.below(THREADS_OF_CPU as u32).into());
            self.running = ThreadOnCpu { pid, tid, old_tid: self.running.tid };
        }
        let mut words = [0; 5];
        for (word, (_, field)) in words.iter_mut().zip(stanza.words) {
            *word = field.value(&self.running, &mut self.rng);
        }
        let cpu = if stanza.tells_cpu() { self.load.cpu as u16 } else { 0 };
        self.put(stanza.id << 4, cpu, &words[..stanza.words.len()]);
    }

    fn small(&mut self) {
        let random = self.rng.next_u64();
        let word = u64::from(random as u32 >> (random >> 58 & 31));
        self.put(FIRST_ID + 16 * (random >> 56 & 3) as u16, 0, &[word]);
    }

    fn dump(&mut self) {
        let id = FIRST_ID + 16 * self.rng.below(2) as u16;
        let mut bytes = [0; GENERIC_BYTES];
        bytes.as_chunks_mut::<8>().0.iter_mut().for_each(|word| *word = self.rng.next_u64().to_be_bytes());
        self.writer.generic(id, GENERIC_BYTES as u64, &bytes, self.running.tid, self.time_ns);
    }
}
