//! The events of an AIX trace in their order: those that programs recorded, and those that the recorder adds.
//!
//! ```text
//! 003, 00A   what the trace tells of itself and its system, ahead of all others; 00A/1 also later, for new threads
//! 001, 002   collection is on, is off                       00A, 0   keeps 32-bit stamps from wrapping unseen
//! 005        the log begins again at its first buffer       006      events were missed
//! ```

use super::encode::{Encoder, Hook, MAX_BYTES};
use super::setup::{Layout, Process, Setup, Symbol};
use super::{Note, Summary};
use crate::options::{Hooks, Options};
use crate::record::{Data, Record, Width};

const TRACE_ON: u16 = 0x0010;
const TRACE_OFF: u16 = 0x0020;
const HEADER: u16 = 0x0030;
const LOG_WRAP: u16 = 0x0050;
const BUFFER_WRAP: u16 = 0x0060;
pub(super) const UTILITY: u16 = 0x00A0;

/// Ticks after which a 32-bit stamp is followed by another one at the latest: 0.85 of a wrap.
const SYNC_TICKS: u64 = (1 << 32) / 100 * 85;
/// The longest silence that is told whole; of a longer one, whole wraps are left out.
const MAX_SILENCE: u64 = SYNC_TICKS << 16;

/// Bytes of paths and names in 00A events.
const MAX_NAME: usize = 1023;
/// Bytes of the trace command, and of the message, in 003 events.
const MAX_TEXT: usize = 1024;
/// What the recorder calls itself: the words of its hooks are those of `docs/hooks.md`.
const RECORDER: &[u8] = b"tfbc\0";
/// 00A/6: a segment that is shared with the programs.
const SEPARATE_SEGMENT: u32 = 2;

/// Puts events one behind the other.
#[derive(Debug, Clone)]
pub(super) struct Scribe {
    encoder: Encoder,
    /// The last stamp, or the start where none has been written.
    last: u64,
    /// Whether that stamp has been written, so that the next one counts from it.
    is_stamped: bool,
    channel: u16,
    /// Thread id of the recorder's own events.
    tid: u64,
    /// Refused events that no 006 event has told.
    untold: u64,
    /// 006 events so far.
    n_misses: u64,
    pub summary: Summary,
}

/// What a [`Scribe`] goes back to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    last: u64,
    is_stamped: bool,
    events: u64,
}

impl Scribe {
    /// At the start of a session. `is_stamped` tells that the header carries stamps.
    pub fn new(setup: &Setup, options: &Options, channel: usize) -> Self {
        Scribe {
            encoder: Encoder { trace: options.trace, cpu_ids: options.cpu_ids && options.trace == Width::W64 },
            last: setup.start_ticks,
            is_stamped: false,
            channel: channel as u16,
            tid: setup.recorder.into(),
            untold: 0,
            n_misses: 0,
            summary: Summary::default(),
        }
    }

    /// Appends a record's event, or counts it as refused.
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
        self.untold += 1;
    }

    /// The stamp for a time: never less than the one before. In a 32-bit trace, sync events fill a long silence.
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

    /// Appends an event of the recorder's own, in the trace's width.
    fn own(&self, id: u16, subhook: u16, data: Data<'_>, ticks: Option<u64>, out: &mut Vec<u8>) {
        let Encoder { trace: width, .. } = self.encoder;
        let hook = Hook { width, id, subhook, data, tid: self.tid, ticks, cpu: None };
        let put = self.encoder.put(&hook, out);
        debug_assert!(put.is_ok(), "the recorder's own events have short ids, few words and at most 4096 bytes");
    }

    fn generic(&self, id: u16, kind: u64, bytes: &[u8], ticks: Option<u64>, out: &mut Vec<u8>) {
        let bytes = &bytes[..bytes.len().min(MAX_BYTES)];
        self.own(id, 0, Data::Generic { word: kind, bytes }, ticks, out);
    }

    /// Appends what a note says.
    pub fn note(&mut self, note: Note<'_>, out: &mut Vec<u8>) {
        match note {
            Note::Missed(n, ticks) => {
                self.summary.lost += n;
                self.tell_missed(n, Some(ticks), out);
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

    /// 006: how often something was missed, and how many events this time. Without ticks at the time of the last event.
    pub fn tell_missed(&mut self, n: u64, ticks: Option<u64>, out: &mut Vec<u8>) {
        let n = n + std::mem::take(&mut self.untold);
        if n == 0 {
            return;
        }
        self.n_misses += 1;
        let ticks = self.stamp(ticks.unwrap_or(self.last), out);
        self.own(BUFFER_WRAP, 0, Data::Words(&[self.n_misses, n]), Some(ticks), out);
    }

    /// 006 ahead of events that are older than the last one: at the time of the first of them.
    pub fn tell_overwritten(&mut self, n: u64, ticks: Option<u64>, out: &mut Vec<u8>) {
        self.n_misses += 1;
        self.own(BUFFER_WRAP, 0, Data::Words(&[self.n_misses, n]), ticks, out);
    }

    /// 005, ahead of what was written since `mark`.
    pub fn tell_wrap(&mut self, wraps: u32, mark: Mark, out: &mut Vec<u8>) {
        self.own(LOG_WRAP, 0, Data::Words(&[wraps.into()]), mark.is_stamped.then_some(mark.last), out);
    }

    /// The state ahead of an event, to go back to.
    #[inline]
    pub fn mark(&self) -> Mark {
        Mark { last: self.last, is_stamped: self.is_stamped, events: self.summary.events }
    }

    /// Takes back what was appended since `mark`: the number of programs' events in it. What a note counted stays counted.
    fn take_back(&mut self, mark: Mark) -> u64 {
        let n = self.summary.events - mark.events;
        (self.summary.events, self.last, self.is_stamped) = (mark.events, mark.last, mark.is_stamped);
        n
    }

    /// Takes back what there is no room for.
    pub fn pass_over(&mut self, mark: Mark) {
        self.summary.over += self.take_back(mark);
    }

    /// Takes back what cannot be written out.
    pub fn lose(&mut self, mark: Mark) {
        let n = self.take_back(mark);
        self.summary.lost += n;
        self.untold += n;
    }

    /// Takes back what no buffer is large enough for.
    pub fn refuse(&mut self, mark: Mark) {
        let n = self.take_back(mark);
        self.summary.refused += n;
        self.untold += n;
    }

    /// 00A/1, without a time: what it says holds for all events that follow.
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

    /// What stands ahead of all events. The stamps of a 64-bit trace begin with it; a 32-bit stamp that the events behind
    /// a wrapped log's header cannot be counted from would only mislead.
    pub fn header(&mut self, setup: &Setup, options: &Options) -> Vec<u8> {
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
        for Process { pid, tid, path } in &setup.processes {
            self.process(*pid, *tid, path, &mut out);
        }
        for Symbol { pid, address, name } in &setup.symbols {
            self.symbol(*pid, *address, name, &mut out);
        }
        out
    }
}

/// The options and the channel of an AIX trace's setup.
pub(super) fn options(setup: &Setup) -> std::io::Result<(&Options, usize)> {
    match &setup.layout {
        Layout::Aix { options, channel } => Ok((options, *channel)),
        Layout::Kev(_) => Err(std::io::Error::other("the setup is that of a .kev log")),
    }
}

/// What stands before a name's NUL.
fn name(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    &bytes[..end.min(MAX_NAME)]
}

/// A text with its NUL.
fn text(bytes: &[u8]) -> Vec<u8> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    [&bytes[..end.min(MAX_TEXT)], &[0]].concat()
}

/// 003/1: the start in seconds, and the five names of `utsname`, each in 32 bytes with its NUL.
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

/// 003/3 all hooks; /4 these, /5 all but these, as 16-bit ids; /6 those of a map of 512 bytes, where they are many: bit
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

/// A map in which the bits of `ids` are other than all the rest.
fn map_of(ids: &[u16], rest: u8) -> Vec<u8> {
    let mut map = vec![rest; 512];
    for id in ids.iter().map(|id| usize::from(id >> 4)) {
        let bit = 1 << (id % 8);
        map[id / 8] = if rest == 0 { map[id / 8] | bit } else { map[id / 8] & !bit };
    }
    map
}
