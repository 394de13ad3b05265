//! Event sequence of an AIX trace: the events of programs, and the events that the recorder adds.
//!
//! ```text
//! 003, 00A   trace and system, before all other events; 00A/1 also later, for new threads
//! 001, 002   collection is on, is off                       00A, 0   keeps 32-bit stamps from wrapping unnoticed
//! 005        the log begins again at its first buffer       006      events were missed
//! ```

use super::encode::{EncodedHook, Encoder, MAX_BYTES};
use super::note::{Note, WriteSummary};
use super::setup::{LogLayout, Setup, Symbol, ThreadInfo};
use crate::options::{Hooks, TraceOptions};
use crate::record::{Data, Record, Width};

const TRACE_ON: u16 = 0x0010;
const TRACE_OFF: u16 = 0x0020;
const HEADER: u16 = 0x0030;
const LOG_WRAP: u16 = 0x0050;
const BUFFER_WRAP: u16 = 0x0060;
pub(super) const UTILITY: u16 = 0x00A0;

/// Maximum ticks between two 32-bit time stamps; 0.85 of a wrap.
const SYNC_TICKS: u64 = (1 << 32) / 100 * 85;
/// Longest gap that is recorded in full. From a longer one, whole wraps are removed.
const MAX_SILENCE: u64 = SYNC_TICKS << 16;

/// Maximum bytes of paths and names in 00A events.
const MAX_NAME: usize = 1023;
/// Maximum bytes of the trace command, and of the message, in 003 events.
const MAX_TEXT: usize = 1024;
/// Name of the recorder in its own hooks; `docs/hooks.md` describes their words.
const RECORDER: &[u8] = b"tfbc\0";
/// 00A/6: a segment shared with the programs.
const SEPARATE_SEGMENT: u32 = 2;

/// Appends events in sequence.
#[derive(Debug, Clone)]
pub(super) struct AixEventWriter {
    encoder: Encoder,
    /// Last time stamp, or the start of the session before the first one.
    last: u64,
    /// True if that time stamp was written, so that the next one is relative to it.
    is_stamped: bool,
    channel: u16,
    /// Thread id of the recorder's own events.
    tid: u64,
    /// Refused events that no 006 event has reported yet.
    unreported: u64,
    /// Number of 006 events so far.
    n_misses: u64,
    pub summary: WriteSummary,
}

/// State that a [`AixEventWriter`] can return to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    last: u64,
    is_stamped: bool,
    events: u64,
}

impl AixEventWriter {
    /// Creates the writer at the start of a session. `is_stamped` is true if the header contains time stamps.
    pub fn new(setup: &Setup, options: &TraceOptions, channel: usize) -> Self {
        AixEventWriter {
            encoder: Encoder { trace: options.trace, cpu_ids: options.cpu_ids && options.trace == Width::W64 },
            last: setup.start_ticks,
            is_stamped: false,
            channel: channel as u16,
            tid: setup.recorder.into(),
            unreported: 0,
            n_misses: 0,
            summary: WriteSummary::default(),
        }
    }

    /// Appends the event of a record, or counts it as refused.
    #[inline]
    pub fn record(&mut self, record: &Record<'_>, out: &mut Vec<u8>) {
        let Ok(mut hook) = self.encoder.hook(record, record.ticks) else { return self.count_refused() };
        if let Some(ticks) = hook.ticks {
            hook.ticks = Some(self.stamp(ticks, out));
        }
        self.encoder.put_checked(&hook, out);
        self.summary.events += 1;
    }

    #[cold]
    fn count_refused(&mut self) {
        self.summary.refused += 1;
        self.unreported += 1;
    }

    /// Time stamp for a time, never less than the previous one. In a 32-bit trace, sync events fill a long gap.
    #[inline]
    fn stamp(&mut self, ticks: u64, out: &mut Vec<u8>) -> u64 {
        let late = ticks < self.last;
        self.summary.clamped += u64::from(late);
        let ticks = if late { self.last } else { ticks };
        if self.encoder.trace == Width::W32 && ticks - self.last > SYNC_TICKS && self.is_stamped {
            self.fill_silence(ticks, out);
        }
        self.last = ticks;
        self.is_stamped = true;
        ticks
    }

    #[cold]
    fn fill_silence(&mut self, until: u64, out: &mut Vec<u8>) {
        let mut at = self.last;
        if until - at > MAX_SILENCE {
            at = until - (until - at) % (1 << 32) - (MAX_SILENCE >> 32 << 32);
        }
        while until - at > SYNC_TICKS {
            at += SYNC_TICKS;
            self.own(UTILITY, 0, Data::Words(&[]), Some(at), out);
        }
    }

    /// Appends one of the recorder's own events, in the width of the trace.
    fn own(&self, id: u16, subhook: u16, data: Data<'_>, ticks: Option<u64>, out: &mut Vec<u8>) {
        let Encoder { trace: width, .. } = self.encoder;
        let hook = EncodedHook { width, id, subhook, data, tid: self.tid, ticks, cpu: None };
        let put = self.encoder.put(&hook, out);
        debug_assert!(put.is_ok(), "the recorder's own events have short ids, few words and at most 4096 bytes");
    }

    fn generic(&self, id: u16, kind: u64, bytes: &[u8], ticks: Option<u64>, out: &mut Vec<u8>) {
        let bytes = &bytes[..bytes.len().min(MAX_BYTES)];
        self.own(id, 0, Data::Generic { word: kind, bytes }, ticks, out);
    }

    /// Appends the event for a note.
    pub fn note(&mut self, note: Note<'_>, out: &mut Vec<u8>) {
        match note {
            Note::Missed(n, ticks) => {
                self.summary.lost += n;
                self.push_missed(n, Some(ticks), out);
            }
            Note::Process(pid, tid, path) => self.process(pid, tid, path, out),
            Note::Symbol(pid, address, name) => self.symbol(pid, address, name, out),
            Note::On(ticks) => self.switch(TRACE_ON, ticks, out),
            Note::Off(ticks) => self.switch(TRACE_OFF, ticks, out),
        }
    }

    fn switch(&mut self, id: u16, ticks: u64, out: &mut Vec<u8>) {
        let ticks = self.stamp(ticks, out);
        self.own(id, self.channel, Data::Words(&[]), Some(ticks), out);
    }

    /// 006: total number of losses, and number of events lost this time. Without `ticks`, it has the time of the last
    /// event.
    pub fn push_missed(&mut self, n: u64, ticks: Option<u64>, out: &mut Vec<u8>) {
        let n = n + std::mem::take(&mut self.unreported);
        if n == 0 {
            return;
        }
        self.n_misses += 1;
        let ticks = self.stamp(ticks.unwrap_or(self.last), out);
        self.own(BUFFER_WRAP, 0, Data::Words(&[self.n_misses, n]), Some(ticks), out);
    }

    /// 006 before events that are older than the last one, with the time of the first of them.
    pub fn push_overwritten(&mut self, n: u64, ticks: Option<u64>, out: &mut Vec<u8>) {
        self.n_misses += 1;
        self.own(BUFFER_WRAP, 0, Data::Words(&[self.n_misses, n]), ticks, out);
    }

    /// 005, before the events appended since `mark`.
    pub fn push_wrap(&mut self, wraps: u32, mark: Mark, out: &mut Vec<u8>) {
        self.own(LOG_WRAP, 0, Data::Words(&[wraps.into()]), mark.is_stamped.then_some(mark.last), out);
    }

    /// State before an event.
    #[inline]
    pub fn mark(&self) -> Mark {
        Mark { last: self.last, is_stamped: self.is_stamped, events: self.summary.events }
    }

    /// Removes everything appended since `mark`. Returns the number of program events among it. Counts made by notes
    /// remain.
    fn take_back(&mut self, mark: Mark) -> u64 {
        let n = self.summary.events - mark.events;
        (self.summary.events, self.last, self.is_stamped) = (mark.events, mark.last, mark.is_stamped);
        n
    }

    /// Undoes events for which the log has no room.
    pub fn pass_over(&mut self, mark: Mark) {
        self.summary.over += self.take_back(mark);
    }

    /// Undoes events that could not be written.
    pub fn undo(&mut self, mark: Mark) {
        let n = self.take_back(mark);
        self.summary.lost += n;
        self.unreported += n;
    }

    /// Undoes events that no buffer is large enough for.
    pub fn refuse(&mut self, mark: Mark) {
        let n = self.take_back(mark);
        self.summary.refused += n;
        self.unreported += n;
    }

    /// 00A/1, without a time stamp, because it applies to all following events.
    pub fn process(&self, pid: u32, tid: u32, path: &[u8], out: &mut Vec<u8>) {
        let record = [&u64::from(pid).to_be_bytes()[..], &u64::from(tid).to_be_bytes(), name(path), &[0]].concat();
        self.generic(UTILITY, 1, &record, None, out);
    }

    /// 00A/10.
    pub fn cpu_file(&self, cpu: u16, file: &[u8], out: &mut Vec<u8>) {
        self.generic(UTILITY, 0x10, &[&u32::from(cpu).to_be_bytes()[..], name(file), &[0]].concat(), None, out);
    }

    /// 00A/C.
    pub fn symbol(&self, pid: u32, address: u64, symbol: &[u8], out: &mut Vec<u8>) {
        let record = [&u64::from(pid).to_be_bytes()[..], &address.to_be_bytes(), name(symbol), &[0]].concat();
        self.generic(UTILITY, 0xC, &record, None, out);
    }

    /// Events before all others. The time stamps of a 64-bit trace start here. In a 32-bit trace they would mislead:
    /// after a wrap of the log, later events do not count from them.
    pub fn header(&mut self, setup: &Setup, options: &TraceOptions) -> Vec<u8> {
        let mut out = Vec::new();
        let ticks = (options.trace == Width::W64).then_some(setup.start_ticks);
        self.is_stamped = ticks.is_some();
        let mut put = |id, kind, bytes: &[u8]| self.generic(id, kind, bytes, ticks, &mut out);
        let (multiplier, divisor) = setup.factors();
        put(UTILITY, 0x25C, &[multiplier, divisor, 2].map(u64::to_be_bytes).concat());
        if !options.headless {
            put(HEADER, 1, &start_and_names(setup));
        }
        put(HEADER, 2, &text(&options.command));
        let (kind, hooks) = recorded_hooks(&options.hooks);
        put(HEADER, kind, &hooks);
        if let Some(message) = options.message.as_ref().filter(|_| !options.headless) {
            put(HEADER, 0xFF, &text(message));
        }
        put(UTILITY, 0x1E, RECORDER);
        if let Some(address) = setup.machine.ip_address {
            put(UTILITY, 5, &address);
        }
        put(UTILITY, 6, &SEPARATE_SEGMENT.to_be_bytes());
        put(UTILITY, 0x12, &[setup.machine.n_cpus; 2].map(u32::to_be_bytes).concat());
        put(UTILITY, 0x13, &u32::from(options.trace == Width::W64).to_be_bytes());
        for ThreadInfo { pid, tid, path } in &setup.processes {
            self.process(*pid, *tid, path, &mut out);
        }
        for Symbol { pid, address, name } in &setup.symbols {
            self.symbol(*pid, *address, name, &mut out);
        }
        out
    }
}

/// Options and channel of an AIX trace.
pub(super) fn options(setup: &Setup) -> std::io::Result<(&TraceOptions, usize)> {
    match &setup.layout {
        LogLayout::Aix { options, channel } => Ok((options, *channel)),
        LogLayout::Kev(_) => Err(std::io::Error::other("the setup is that of a .kev log")),
    }
}

/// Bytes before a name's NUL.
fn name(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    &bytes[..end.min(MAX_NAME)]
}

/// Text with its NUL.
fn text(bytes: &[u8]) -> Vec<u8> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    [&bytes[..end.min(MAX_TEXT)], &[0]].concat()
}

/// 003/1: start in seconds, and the five names of `utsname`, each in 32 bytes with its NUL.
fn start_and_names(setup: &Setup) -> Vec<u8> {
    const FIELD: usize = 32;
    let seconds = u32::try_from(setup.start_seconds).unwrap_or(u32::MAX);
    let mut bytes = seconds.to_be_bytes().to_vec();
    let machine = &setup.machine;
    for name in [&machine.sysname, &machine.nodename, &machine.release, &machine.version, &machine.machine] {
        let end = bytes.len() + FIELD;
        bytes.extend_from_slice(&name.as_bytes()[..name.len().min(FIELD - 1)]);
        bytes.resize(end, 0);
    }
    bytes
}

/// 003/3: all hooks; /4: these, /5: all but these, as 16-bit ids; /6: a bit map of 512 bytes for long lists, with bit
/// `1 << id % 8` of byte `id / 8` for each three-digit id.
fn recorded_hooks(hooks: &Hooks) -> (u64, Vec<u8>) {
    let listed = |ids: &[u16]| ids.iter().flat_map(|id| id.to_be_bytes()).collect();
    match hooks {
        Hooks::All => (3, Vec::new()),
        Hooks::Only(ids) if 2 * ids.len() <= MAX_BYTES => (4, listed(ids)),
        Hooks::Except(ids) if 2 * ids.len() <= MAX_BYTES => (5, listed(ids)),
        Hooks::Only(ids) => (6, map_of(ids, 0)),
        Hooks::Except(ids) => (6, map_of(ids, 0xFF)),
    }
}

/// Bit map in which only the bits of `ids` differ from `rest`.
fn map_of(ids: &[u16], rest: u8) -> Vec<u8> {
    let mut map = vec![rest; 512];
    for id in ids.iter().map(|id| usize::from(id >> 4)) {
        let bit = 1 << (id % 8);
        map[id / 8] = if rest == 0 { map[id / 8] | bit } else { map[id / 8] & !bit };
    }
    map
}
