//! Generates a .kev log of any length: four CPUs run threads, call the kernel, pass messages and trace user events.

use crate::kev::{KevHead, KevWriter, SlotBytes};
use crate::rng::Rng;
use std::collections::VecDeque;

/// Slots of a kernel buffer when it is flushed.
const BUFFER_SLOTS: usize = 714;
/// Number of kernel buffers, used in turn.
const N_BUFFERS: u32 = 32;
const N_CPUS: u8 = 4;
const CYCLES_PER_SEC: u32 = 736_629_000;
/// Average cycles between two events of a CPU, for 150,000 slots per second.
const MEAN_CYCLES: u32 = 20_000;
/// Slots at the end in which no combine record begins, so that all of them are complete.
const TAIL_SLOTS: u64 = 128;

/// Maximum words of an event made by [`CpuQueue::payload`].
const MAX_WORDS: usize = 20;

const CONTROL: u8 = 1;
const KER_CALL: u8 = 2;
const INT: u8 = 3;
const PR_TH: u8 = 4;
const SYSTEM: u8 = 5;
const USER: u8 = 6;
const COMM: u8 = 7;

const TIME: u16 = 1;
const BUFFER: u16 = 2;
const KERNEL_EXIT: u16 = 128;
const THREAD_CREATE: u16 = 24;
const PROCESS_CREATE_NAME: u16 = 192;
const THREAD_NAME: u16 = 320;

/// A kernel call: number, and fast and wide words on entry and on exit, one letter each (see [`CpuQueue::payload`]).
struct Call {
    number: u16,
    entry: [&'static str; 2],
    exit: [&'static str; 2],
}

const CALLS: [Call; 9] = [
    Call { number: 11, entry: ["ct", "cnnttt"], exit: ["zt", "zttt"] },
    Call { number: 14, entry: ["nn", "nn"], exit: ["rt", "rtttnnpncccnnnnzz"] },
    Call { number: 15, entry: ["rz", "rnzttt"], exit: ["zz", "zz"] },
    Call { number: 16, entry: ["rn", "rann"], exit: ["nt", "nttt"] },
    Call { number: 17, entry: ["rn", "rnnttt"], exit: ["nz", "nz"] },
    Call { number: 39, entry: ["zp", "zpnnz"], exit: ["cz", "cz"] },
    Call { number: 75, entry: ["nn", "nnnnnana"], exit: ["nn", "nnn"] },
    Call { number: 81, entry: ["an", "ann"], exit: ["zz", "zz"] },
    Call { number: 82, entry: ["aa", "aannnn"], exit: ["zz", "zz"] },
];

const PROCESSES: [(u32, &str); 6] = [
    (1, "proc/boot/procnto-smp-instr"),
    (4098, "sbin/devb-eide"),
    (8195, "sbin/io-pkt-v4-hc"),
    (12292, "usr/sbin/random"),
    (98309, "usr/photon/bin/Photon"),
    (131078, "home/qnx/control-loop"),
];

/// Settings of a generated log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KevLoad {
    /// Number of slots of all kinds.
    pub slots: u64,
    /// True if the target is big-endian.
    pub big_endian: bool,
    /// Seed of times and data.
    pub seed: u64,
    /// True to include events of several slots. Otherwise the log contains only the most common events: threads,
    /// successful kernel calls, messages and interrupts.
    pub combines: bool,
}

impl KevLoad {
    /// Log in pieces: the header, then the buffers.
    ///
    /// ```
    /// use tfbc_benches::KevLoad;
    /// let log: Vec<Vec<u8>> = KevLoad { slots: 1000, big_endian: false, seed: 1, combines: true }.pieces().collect();
    /// assert!(log[0].starts_with(b"TRACE_HEADER_BEGIN::"));
    /// assert_eq!(log[1..].concat().len(), 16 * 1000);
    /// ```
    pub fn pieces(self) -> impl Iterator<Item = Vec<u8>> {
        let writer = KevWriter { big_endian: self.big_endian };
        let head = KevHead { writer, cycles_per_sec: CYCLES_PER_SEC, n_cpus: u16::from(N_CPUS), one_clock: false };
        let mut target = Target::new(self, writer);
        std::iter::once(head.to_bytes()).chain(std::iter::from_fn(move || target.next_buffer()))
    }
}

/// The traced machine.
struct Target {
    writer: KevWriter,
    rng: Rng,
    cpus: Vec<CpuQueue>,
    left: u64,
    n_buffers: u32,
}

impl Target {
    fn new(load: KevLoad, writer: KevWriter) -> Self {
        let rng = Rng::new(load.seed);
        let cpus = (0..N_CPUS).map(|id| CpuQueue::new(id, !load.combines)).collect();
        let mut target = Self { writer, rng, cpus, left: load.slots, n_buffers: 0 };
        if load.combines && load.slots > 16 * TAIL_SLOTS {
            target.cpus[0].dump_state(writer);
        }
        target
    }

    /// Next buffer: a BUFFER record, then the slots of the CPUs, each with a TIME record before its first slot.
    fn next_buffer(&mut self) -> Option<Vec<u8>> {
        let n = self.left.min(BUFFER_SLOTS as u64) as usize;
        let mut slots: Vec<SlotBytes> = Vec::with_capacity(n);
        if n > 0 {
            let index = self.n_buffers % N_BUFFERS;
            let words = [index << 13 | (self.n_buffers % 2048), n as u32];
            slots.push(self.cpus[0].control(self.writer, BUFFER, words));
        }
        self.n_buffers += 1;
        self.cpus.iter_mut().for_each(|cpu| cpu.needs_time = true);
        while slots.len() < n {
            let left = self.left - slots.len() as u64;
            slots.push(self.next_slot(left));
        }
        self.left -= n as u64;
        (n > 0).then(|| slots.into_flattened())
    }

    fn next_slot(&mut self, left: u64) -> SlotBytes {
        let is_busy = |cpu: &CpuQueue| !cpu.queue.is_empty();
        let busy = if left <= TAIL_SLOTS { self.cpus.iter().position(is_busy) } else { None };
        let at = busy.unwrap_or_else(|| self.rng.below(u32::from(N_CPUS)) as usize);
        let cpu = &mut self.cpus[at];
        if cpu.queue.is_empty() {
            cpu.next_event(self.writer, &mut self.rng, left > TAIL_SLOTS);
        }
        if std::mem::take(&mut cpu.needs_time) {
            let words = [(cpu.cycles >> 32) as u32, cpu.cycles as u32];
            return cpu.control(self.writer, TIME, words);
        }
        cpu.queue.pop_front().unwrap_or_default()
    }
}

/// One processor: its clock, and its pending slots.
struct CpuQueue {
    id: u8,
    cycles: u64,
    queue: VecDeque<SlotBytes>,
    needs_time: bool,
    /// True if every event fits into a single slot.
    is_simple: bool,
    /// Index in [`CALLS`] of the current call.
    in_call: Option<usize>,
    pid: u32,
    tid: u32,
}

impl CpuQueue {
    fn new(id: u8, is_simple: bool) -> Self {
        let cycles = 0x37B0_4F81_E014 + u64::from(id);
        let (queue, tid) = (VecDeque::new(), u32::from(id) + 1);
        Self { id, cycles, queue, needs_time: true, is_simple, in_call: None, pid: 1, tid }
    }

    fn control(&self, writer: KevWriter, event: u16, words: [u32; 2]) -> SlotBytes {
        let mut slot = SlotBytes::default();
        let payload = words.map(|word| writer.word(word));
        writer.each_slot(self.id, CONTROL, event, self.cycles as u32, payload.as_flattened(), |only| slot = only);
        slot
    }

    /// Stamps an event with the next cycle or a later one, and queues its slots.
    fn record(&mut self, writer: KevWriter, cycles: u32, class: u8, event: u16, payload: &[u8]) {
        let high = self.cycles >> 32;
        self.cycles += u64::from(cycles) + 1;
        self.needs_time |= self.cycles >> 32 != high;
        let queue = &mut self.queue;
        writer.each_slot(self.id, class, event, self.cycles as u32, payload, |slot| queue.push_back(slot));
    }

    /// State at the start of a trace: every process, its threads, their states and names.
    fn dump_state(&mut self, writer: KevWriter) {
        for (pid, name) in PROCESSES {
            let process = [writer.words(&[1, pid]), name.as_bytes().to_vec(), vec![0]].concat();
            self.record(writer, 300, PR_TH, PROCESS_CREATE_NAME, &process);
            for tid in 1..=4 {
                let thread = writer.words(&[pid, tid]);
                self.record(writer, 100, PR_TH, THREAD_CREATE, &thread);
                self.record(writer, 100, PR_TH, 5, &thread);
                let name = [thread, format!("worker-{tid}\0").into_bytes()].concat();
                self.record(writer, 100, PR_TH, THREAD_NAME, &name);
            }
        }
    }

    /// Generates the next event; `combines` allows records of several slots.
    fn next_event(&mut self, writer: KevWriter, rng: &mut Rng, combines: bool) {
        let wide = combines && !self.is_simple && rng.below(4) == 0;
        let cycles = rng.below(2 * MEAN_CYCLES);
        // Numbers from 94 on are combine records or user events.
        let (class, event, letters) = match rng.below(if self.is_simple { 94 } else { 100 }) {
            _ if !combines => (PR_TH, self.schedule(rng), "pi"),
            0..36 => (PR_TH, self.schedule(rng), if wide { "pinn" } else { "pi" }),
            36..74 => self.kernel_call(rng, wide),
            74..86 => (COMM, rng.below(5) as u16, "rp"),
            86..90 => (INT, 1, "na"),
            90..94 => (INT, 2, "nz"),
            94..95 => (INT, 3, "pnaa"),
            95..96 => (SYSTEM, rng.range(10, 12) as u16, "aa"),
            96..97 => return self.name_a_path(writer, rng, cycles),
            97..99 => (USER, rng.below(32) as u16, "nn"),
            _ => (USER, rng.range(32, 64) as u16, "nattttnn"),
        };
        let payload = self.payload(writer, rng, letters);
        self.record(writer, cycles, class, event, &payload.as_flattened()[..4 * letters.len()]);
    }

    /// Lets another thread run, or makes the running one wait.
    fn schedule(&mut self, rng: &mut Rng) -> u16 {
        self.pid = PROCESSES[rng.below(PROCESSES.len() as u32) as usize].0;
        self.tid = rng.range(1, 5);
        [1, 1, 2, 2, 4, 5, 6, 12, 13, 14, 17][rng.below(11) as usize]
    }

    fn kernel_call(&mut self, rng: &mut Rng, wide: bool) -> (u8, u16, &'static str) {
        match self.in_call.take() {
            Some(call) if !self.is_simple && rng.below(32) == 0 => (KER_CALL, KERNEL_EXIT + CALLS[call].number, "fn"),
            Some(call) => (KER_CALL, KERNEL_EXIT + CALLS[call].number, CALLS[call].exit[usize::from(wide)]),
            None => {
                let call = rng.below(CALLS.len() as u32) as usize;
                self.in_call = Some(call);
                (KER_CALL, CALLS[call].number, CALLS[call].entry[usize::from(wide)])
            }
        }
    }

    /// PATHMGR event; its path has no NUL if it fills the last slot.
    fn name_a_path(&mut self, writer: KevWriter, rng: &mut Rng, cycles: u32) {
        let mut payload = writer.words(&[self.pid, self.tid]);
        payload.extend(format!("/dev/ser{}/queue-{:05}", rng.below(4), rng.below(100_000) >> rng.below(16)).bytes());
        self.record(writer, cycles, SYSTEM, 2, &payload);
    }

    /// One word per letter: `p` process, `i` thread, `n` small number, `a` address, `r` rcvid, `c` connection, `t` four
    /// letters of text, `f` the -1 of a failed call, `z` zero.
    fn payload(&self, writer: KevWriter, rng: &mut Rng, letters: &str) -> [[u8; 4]; MAX_WORDS] {
        let mut word = |letter: u8| match letter {
            b'p' => writer.word(self.pid),
            b'i' => writer.word(self.tid),
            b'n' => writer.word(rng.below(256)),
            b'a' => writer.word(0x0804_8000 + 4 * rng.below(1 << 16)),
            b'r' => writer.word(0x0001_0000 + rng.below(64)),
            b'c' => writer.word(0x4000_0000 + rng.below(32)),
            b'f' => writer.word(u32::MAX),
            b't' => std::array::from_fn(|_| b'a' + rng.below(26) as u8),
            _ => writer.word(0),
        };
        let mut payload = [[0; 4]; MAX_WORDS];
        payload.iter_mut().zip(letters.bytes()).for_each(|(at, letter)| *at = word(letter));
        payload
    }
}
