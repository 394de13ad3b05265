//! Writes AIX trace events, streams and log files.
//!
//! A [`TraceHook`] is traced by a program, and has that program's environment (32 or 64 bits). A [`EventWriter`] is the
//! kernel that records it, and has the trace's environment. If the two differ, the hook is stored as that kernel would:
//! a 32-bit hook in a 64-bit trace with flag B, a 64-bit hook in a 32-bit trace inside hook 00B.
//!
//! ```text
//! 32-bit trace    iiitdddd  words or data word + bytes, filled to 4   tid u32   [stamp u32]
//! 64-bit trace    ffffllllhhhhssss  words or data word + bytes, filled to 8   tid u64   [stamp u64] [registers] [cpu]
//! ```
//!
//! All fields are big-endian. The writer serves generators and tests, so it panics on input that cannot be written.

/// Word size of a kernel or program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// 4-byte words.
    W32,
    /// 8-byte words.
    W64,
}

/// First four bytes of a 64-bit stream; a 32-bit stream has none.
pub const STREAM64_MAGIC: [u8; 4] = [0xEF, 0xDF, 0x11, 0x14];
/// First four bytes of a 32-bit log file.
pub const LOG32_MAGIC: [u8; 4] = [0xEF, 0xDF, 0x11, 0x12];
/// First four bytes of a 64-bit log file.
pub const LOG64_MAGIC: [u8; 4] = [0xEF, 0xDF, 0x11, 0x13];

const STAMPED: u64 = 0x8000 << 48;
const GENERIC: u64 = 0x4000 << 48;
const NARROW: u64 = 0x2000 << 48;
const CPU: u64 = 0x1000 << 48;
const REGISTERS: u64 = 0x0800 << 48;

/// Data of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// Up to five data words, cut to the hook's width. A 32-bit hook records none, one or five of them, like the macros
    /// of 32-bit programs; missing ones are 0.
    Words(Vec<u64>),
    /// Data word and up to 65535 bytes.
    Generic {
        /// The data word, `$D1`.
        word: u64,
        /// The variable bytes.
        bytes: Vec<u8>,
    },
}

/// One traced hook.
///
/// ```
/// use tfbc_benches::{TraceHook, Width};
///
/// let hook = TraceHook::words(0x0100, 0, &[10]).width(Width::W32);
/// assert_eq!(hook.template_bytes(true), [0x01, 0x0A, 0, 0, 0, 0, 0, 10]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceHook {
    /// Width of the program.
    pub width: Width,
    /// 16-bit id; id `hhh` is `hhh0`.
    pub id: u16,
    /// Subhook; a 32-bit generic hook has no room for it.
    pub subhook: u16,
    /// The data.
    pub data: Data,
}

/// Running thread, and the fields that the kernel adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp<'r> {
    /// Thread id.
    pub tid: u64,
    /// Raw time in ticks; `None` writes an event without a time stamp.
    pub ticks: Option<u64>,
    /// Up to eight registers (flag R, 64-bit traces only).
    pub registers: &'r [u64],
    /// CPU id (flag P, 64-bit traces only), stored in the event's last word.
    pub cpu: Option<u32>,
}

impl Stamp<'_> {
    /// A thread at a time.
    pub fn at(tid: u64, ticks: u64) -> Self {
        Stamp { tid, ticks: Some(ticks), ..Self::default() }
    }

    /// A thread without a time stamp.
    pub fn unstamped(tid: u64) -> Self {
        Stamp { tid, ..Self::default() }
    }
}

impl TraceHook {
    /// 64-bit hook with data words.
    pub fn words(id: u16, subhook: u16, words: &[u64]) -> Self {
        TraceHook { width: Width::W64, id, subhook, data: Data::Words(words.to_vec()) }
    }

    /// 64-bit generic hook.
    pub fn generic(id: u16, subhook: u16, word: u64, bytes: &[u8]) -> Self {
        TraceHook { width: Width::W64, id, subhook, data: Data::Generic { word, bytes: bytes.to_vec() } }
    }

    /// Changes the width of the program.
    pub fn width(self, width: Width) -> Self {
        TraceHook { width, ..self }
    }

    /// Bytes that a template sees: hook word and data, without padding, thread id and time stamp.
    ///
    /// # Panics
    /// See [`EventWriter::put`].
    pub fn template_bytes(&self, stamped: bool) -> Vec<u8> {
        let mut out = Vec::new();
        match self.width {
            Width::W32 => {
                out.extend(self.word32(stamped).to_be_bytes());
                self.push_data(Width::W32, &mut out);
            }
            Width::W64 => {
                out.extend(self.word64(stamped).to_be_bytes());
                self.push_data(Width::W64, &mut out);
            }
        }
        out
    }

    /// Data words as recorded: all of a 64-bit hook; none, one or five of a 32-bit one.
    fn recorded_words<'w>(&self, words: &'w [u64]) -> impl Iterator<Item = u64> + use<'w> {
        assert!(words.len() <= 5, "a hook has at most five data words, not {}", words.len());
        let n = match (self.width, words.len()) {
            (Width::W32, 2..=5) => 5,
            (_, n) => n,
        };
        words.iter().copied().chain(std::iter::repeat(0)).take(n)
    }

    /// Data in words of the given width, without padding.
    fn push_data(&self, word_width: Width, out: &mut Vec<u8>) {
        match &self.data {
            Data::Words(words) => self.recorded_words(words).for_each(|word| push_word(word_width, word, out)),
            Data::Generic { word, bytes } => {
                push_word(word_width, *word, out);
                out.extend_from_slice(bytes);
            }
        }
    }

    /// Length in the hook word: bytes of the words, or of the variable part of a generic hook.
    fn data_len(&self) -> u16 {
        let len = match &self.data {
            Data::Words(words) => self.recorded_words(words).count() * if self.width == Width::W32 { 4 } else { 8 },
            Data::Generic { bytes, .. } => bytes.len(),
        };
        u16::try_from(len).expect("a generic hook has at most 65535 bytes")
    }

    fn id12(&self) -> u32 {
        assert!(self.id & 15 == 0, "id {:04X} does not fit a 32-bit hook word", self.id);
        u32::from(self.id >> 4)
    }

    /// Hook word of a 32-bit hook: id, type, and subhook or length.
    fn word32(&self, stamped: bool) -> u32 {
        let (n_words, low) = match &self.data {
            Data::Words(_) => (1 + u32::from(self.data_len() / 4), self.subhook),
            Data::Generic { .. } => (0, self.data_len()),
        };
        self.id12() << 20 | u32::from(stamped) << 19 | n_words << 16 | u32::from(low)
    }

    /// Hook word of a 64-bit hook: flags, length, id, subhook.
    fn word64(&self, stamped: bool) -> u64 {
        let generic = if matches!(self.data, Data::Generic { .. }) { GENERIC } else { 0 };
        let stamped = if stamped { STAMPED } else { 0 };
        stamped | generic | u64::from(self.data_len()) << 32 | u64::from(self.id) << 16 | u64::from(self.subhook)
    }
}

/// Appends the low bytes of a word.
fn push_word(width: Width, word: u64, out: &mut Vec<u8>) {
    match width {
        Width::W32 => out.extend_from_slice(&(word as u32).to_be_bytes()),
        Width::W64 => out.extend_from_slice(&word.to_be_bytes()),
    }
}

/// Growing sequence of complete events, as one kernel writes them.
///
/// ```
/// use tfbc_benches::{EventWriter, Stamp, TraceHook, Width};
///
/// let mut writer = EventWriter::new(Width::W32);
/// writer.put(&TraceHook::words(0x0100, 0, &[10]).width(Width::W32), &Stamp::at(0x1a2b, 0x0f00_ba50));
/// assert_eq!(writer.events(), [1, 0x0A, 0, 0, 0, 0, 0, 10, 0, 0, 0x1a, 0x2b, 0x0f, 0, 0xba, 0x50]);
/// ```
#[derive(Debug, Clone)]
pub struct EventWriter {
    trace: Width,
    events: Vec<u8>,
}

impl EventWriter {
    /// Creates a writer for a kernel of this width.
    pub fn new(trace: Width) -> Self {
        EventWriter { trace, events: Vec::new() }
    }

    /// Bytes of the events.
    pub fn events(&self) -> &[u8] {
        &self.events
    }

    /// Takes the events written so far, as a kernel does with a full buffer.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.events)
    }

    /// Appends raw bytes, valid or not.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.events.extend_from_slice(bytes);
    }

    /// Reserves space for events.
    pub fn reserve(&mut self, n_bytes: usize) {
        self.events.reserve(n_bytes);
    }

    /// Fast path of [`EventWriter::put`] for a stamped event with data words, from a program of the kernel's own width.
    ///
    /// # Panics
    /// See [`EventWriter::put`].
    #[inline]
    pub fn words(&mut self, id: u16, subhook: u16, words: &[u64], tid: u64, ticks: u64) {
        match (self.trace, words) {
            (Width::W64, [] | [_] | [_, _] | [_, _, _] | [_, _, _, _] | [_, _, _, _, _]) => {
                let len = 8 * words.len();
                let head = STAMPED | (len as u64) << 32 | u64::from(id) << 16 | u64::from(subhook);
                let parts = [head].into_iter().chain(words.iter().copied()).chain([tid, ticks]);
                let mut event = [0; 64];
                event.as_chunks_mut::<8>().0.iter_mut().zip(parts).for_each(|(at, word)| *at = word.to_be_bytes());
                self.events.extend_from_slice(&event[..len + 24]);
            }
            (Width::W32, &[word]) if id & 15 == 0 => {
                let head = u32::from(id) << 16 | 0xA << 16 | u32::from(subhook);
                let mut event = [0; 16];
                let parts = [head, word as u32, tid as u32, ticks as u32];
                event.as_chunks_mut::<4>().0.iter_mut().zip(parts).for_each(|(at, word)| *at = word.to_be_bytes());
                self.events.extend_from_slice(&event);
            }
            _ => self.put(&TraceHook::words(id, subhook, words).width(self.trace), &Stamp::at(tid, ticks)),
        }
    }

    /// Fast path of [`EventWriter::put`] for a stamped generic event.
    ///
    /// # Panics
    /// See [`EventWriter::put`].
    pub fn generic(&mut self, id: u16, word: u64, bytes: &[u8], tid: u64, ticks: u64) {
        self.put(&TraceHook::generic(id, 0, word, bytes).width(self.trace), &Stamp::at(tid, ticks));
    }

    /// Appends one event.
    ///
    /// # Panics
    /// More than five data words or 65535 bytes; a four-digit id in a 32-bit hook; registers or a CPU id in a 32-bit
    /// trace; more than eight registers.
    pub fn put(&mut self, hook: &TraceHook, stamp: &Stamp<'_>) {
        match (self.trace, hook.width) {
            (Width::W32, Width::W32) => self.put_native32(hook, stamp),
            (Width::W32, Width::W64) => self.put_native32(&wrapped(hook, stamp.ticks.is_some()), stamp),
            (Width::W64, _) => self.put64(hook, stamp),
        }
    }

    fn put_native32(&mut self, hook: &TraceHook, stamp: &Stamp<'_>) {
        assert!(stamp.registers.is_empty() && stamp.cpu.is_none(), "a 32-bit trace holds no registers and CPU ids");
        let start = self.events.len();
        self.events.extend(hook.template_bytes(stamp.ticks.is_some()));
        self.fill(start, 4);
        push_word(Width::W32, stamp.tid, &mut self.events);
        if let Some(ticks) = stamp.ticks {
            push_word(Width::W32, ticks, &mut self.events);
        }
    }

    fn put64(&mut self, hook: &TraceHook, stamp: &Stamp<'_>) {
        let start = self.events.len();
        let word = hook.word64(stamp.ticks.is_some()) | added_flags(hook, stamp);
        self.events.extend(word.to_be_bytes());
        // In a stream, the data word of a generic hook takes 8 bytes for either program width.
        let narrow_words = hook.width == Width::W32 && matches!(hook.data, Data::Words(_));
        hook.push_data(if narrow_words { Width::W32 } else { Width::W64 }, &mut self.events);
        self.fill(start, 8);
        let added = [stamp.tid].into_iter().chain(stamp.ticks).chain(stamp.registers.iter().copied());
        for word in added.chain(stamp.cpu.map(u64::from)) {
            push_word(Width::W64, word, &mut self.events);
        }
    }

    fn fill(&mut self, start: usize, align: usize) {
        let len = (self.events.len() - start).next_multiple_of(align);
        self.events.resize(start + len, 0);
    }

    /// Events as a sequential stream. A 64-bit stream begins with its magic number, a 32-bit one has no header.
    pub fn into_stream(self) -> Vec<u8> {
        match self.trace {
            Width::W32 => self.events,
            Width::W64 => [&STREAM64_MAGIC[..], &self.events].concat(),
        }
    }
}

/// Flags for the fields that a 64-bit kernel adds: B, P, and R with the number of registers.
fn added_flags(hook: &TraceHook, stamp: &Stamp<'_>) -> u64 {
    let mut flags = 0;
    if hook.width == Width::W32 {
        hook.id12();
        flags |= NARROW;
    }
    if stamp.cpu.is_some() {
        flags |= CPU;
    }
    if let Some(more) = stamp.registers.len().checked_sub(1) {
        assert!(more < 8, "an event holds at most eight registers");
        flags |= REGISTERS | (more as u64) << 48;
    }
    flags
}

/// Wraps a 64-bit hook in hook 00B, whose data word is the high half of the inner hook word.
fn wrapped(hook: &TraceHook, stamped: bool) -> TraceHook {
    let inner = hook.template_bytes(stamped);
    let (high, rest) = inner.split_at(4);
    let word = high.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
    TraceHook { width: Width::W32, id: 0x00B0, subhook: 0, data: Data::Generic { word, bytes: rest.to_vec() } }
}

/// Parts of a log file.
///
/// Entries are trace buffers in order of recording. A log has room for [`LogBuilder::slots`] of them; if there are
/// more, it wraps, and the oldest are lost.
#[derive(Debug, Clone)]
pub struct LogBuilder {
    /// Width of the kernel.
    pub trace: Width,
    /// Initial conditions: header events, time base, process table.
    pub initial: Vec<u8>,
    /// Trace buffers of complete events, oldest first.
    pub entries: Vec<Vec<u8>>,
    /// Number of entries that fit.
    pub slots: usize,
    /// Mode bits of the header: 1 no wrap, 2 stop on wrap, 4 base file, 8 file of one CPU.
    pub mode: u32,
}

impl LogBuilder {
    /// A log that has not wrapped.
    pub fn new(trace: Width, initial: Vec<u8>, entries: Vec<Vec<u8>>) -> Self {
        let slots = entries.len();
        LogBuilder { trace, initial, entries, slots, mode: 0 }
    }

    /// File contents: header, entry table, initial conditions, and the buffers by slot, at ascending offsets.
    ///
    /// # Panics
    /// Buffers without slots; offsets above 4 GiB in a 32-bit log.
    pub fn to_bytes(&self) -> Vec<u8> {
        let slots = self.slotted();
        let sizes: Vec<usize> = slots.iter().map(|buffer| buffer.len()).collect();
        let mut out = self.head_of(self.entries.len(), &sizes);
        out.extend_from_slice(&self.initial);
        slots.iter().for_each(|buffer| out.extend_from_slice(buffer));
        out
    }

    /// Header and table of a log that has not wrapped, for buffers of these sizes.
    pub(crate) fn head(&self, sizes: &[usize]) -> Vec<u8> {
        let mut slots = sizes.to_vec();
        slots.resize(self.slots, 0);
        self.head_of(sizes.len(), &slots)
    }

    /// Header and table of a log with `n_used` written buffers, for slots of these sizes.
    fn head_of(&self, n_used: usize, sizes: &[usize]) -> Vec<u8> {
        let wraps = n_used.saturating_sub(1).checked_div(self.slots).unwrap_or(0);
        let next = if wraps == 0 { n_used } else { n_used % self.slots };
        let mut out = Vec::new();
        out.extend(if self.trace == Width::W32 { LOG32_MAGIC } else { LOG64_MAGIC });
        for field in [self.slots, next, self.mode as usize, wraps, 0] {
            push_word(Width::W32, field as u64, &mut out);
        }
        self.push_field(0, &mut out); // the recorder's stream pointer, meaningless on disk
        self.push_table(sizes, &mut out);
        out
    }

    /// Final contents per slot; unused slots are empty.
    fn slotted(&self) -> Vec<&[u8]> {
        assert!(self.slots > 0 || self.entries.is_empty(), "a log without slots has no room for buffers");
        let mut slots: Vec<&[u8]> = vec![&[]; self.slots];
        for (i, entry) in self.entries.iter().enumerate() {
            slots[i % self.slots] = entry;
        }
        slots
    }

    /// Offset and size of the initial conditions and of every slot; unused slots are zero.
    fn push_table(&self, sizes: &[usize], out: &mut Vec<u8>) {
        let pair = if self.trace == Width::W32 { 8 } else { 16 };
        let mut offset = out.len() + pair * (1 + sizes.len());
        for len in std::iter::once(self.initial.len()).chain(sizes.iter().copied()) {
            self.push_field(if len == 0 { 0 } else { offset }, out);
            self.push_field(len, out);
            offset += len;
        }
    }

    fn push_field(&self, value: usize, out: &mut Vec<u8>) {
        assert!(self.trace == Width::W64 || u32::try_from(value).is_ok(), "a 32-bit log ends at 4 GiB");
        push_word(self.trace, value as u64, out);
    }
}
