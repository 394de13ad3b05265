//! One log, opened: its records in the order of their last slots.

use super::combine::{Combine, Continued, MAX_EVENT_BYTES, MAX_OPEN_BYTES, OpenCombines};
use super::header::{self, KevHeader, KevRefusal};
use super::slot::{Payload, SLOT_BYTES, Slot, SlotKind, word};
use super::{classes, control};
use crate::reader::window::{Input, Packing, Window};
use crate::reader::{Notice, Tally};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::Path;

/// Buffer numbers count up to here.
const BUFFER_NUMBERS: u32 = 2048;
/// Gaps that are said one by one; the rest is summed up at the end.
const MAX_GAP_NOTICES: u64 = 100;

/// How to read logs.
#[derive(Debug, Clone, Copy, Default)]
pub struct KevOptions {
    /// Whether every slot is handed out as [`KevItem::Slot`], too, before what it completes.
    pub slots: bool,
}

/// What stands next in a log.
#[derive(Debug)]
pub enum KevItem<'k> {
    /// An event.
    Record(KevRecord<'k>),
    /// A slot in the host's byte order: header, stamp and two words of payload.
    Slot([u32; 4]),
    /// A damaged place.
    Notice(Notice),
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KevRecord<'k> {
    /// Place in the order of delivery, from 1.
    pub number: u64,
    /// Offset in the file of its first slot.
    pub offset: u64,
    /// Class as the header numbers it, 0 to 31.
    pub class: u8,
    /// Event in its class, 0 to 1023.
    pub event: u16,
    /// CPU, 0 to 63.
    pub cpu: u8,
    /// Whether it came in several slots, or as a begin and an end.
    pub wide: bool,
    /// Low half of the clock.
    pub stamp: u32,
    /// High half of the clock; `None` before the first `TIME` record that counts for its CPU.
    pub msb: Option<u32>,
    /// Payload in memory order, 8 bytes for each slot.
    pub bytes: &'k [u8],
}

impl KevRecord<'_> {
    /// The clock, where its high half is known.
    #[inline]
    pub fn cycles(&self) -> Option<u64> {
        self.msb.map(|msb| u64::from(msb) << 32 | u64::from(self.stamp))
    }

    /// The class that is meant: what 6.4 writes as [`classes::STRAY_SYSTEM`] is [`classes::SYSTEM`].
    #[inline]
    pub fn meant_class(&self) -> u8 {
        if self.class == classes::STRAY_SYSTEM { classes::SYSTEM } else { self.class }
    }
}

/// What a log held, and what of it could not be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KevCounts {
    /// Records delivered.
    pub records: u64,
    /// Slots taken in.
    pub slots: u64,
    /// Combines dropped since another one of their key began.
    pub dropped_begins: u64,
    /// Continuation slots dropped since no combine of their key was open.
    pub continuations_without_begin: u64,
    /// End slots dropped since no combine of their key was open.
    pub ends_without_begin: u64,
    /// Combines open at the end of the log, dropped.
    pub open_at_end: u64,
    /// Combines dropped at a limit: [`MAX_OPEN_BYTES`](super::MAX_OPEN_BYTES) or [`MAX_EVENT_BYTES`](super::MAX_EVENT_BYTES).
    pub over_limits: u64,
    /// Slots of all that was dropped.
    pub dropped_slots: u64,
    /// Gaps in the numbers of the buffers.
    pub gaps: u64,
    /// Buffers lost in them, as far as their numbers tell.
    pub lost_buffers: u64,
    /// Bytes behind the last whole slot.
    pub cut_bytes: u64,
}

impl KevCounts {
    /// Whether anything was dropped that belongs to combines.
    fn has_dropped(&self) -> bool {
        self.dropped_slots > 0
    }
}

/// The clocks' high halves.
#[derive(Debug, Clone)]
pub(crate) struct Clocks {
    msbs: [Option<u32>; 64],
    /// Selects a CPU's place; 0 where one clock serves all.
    mask: u8,
    /// How often they were set.
    pub version: u64,
}

impl Clocks {
    fn new(one_clock: bool) -> Self {
        Self { msbs: [None; 64], mask: if one_clock { 0 } else { 63 }, version: 0 }
    }

    #[inline]
    fn msb(&self, cpu: u8) -> Option<u32> {
        self.msbs[usize::from(cpu & self.mask)]
    }

    fn set(&mut self, cpu: u8, msb: u32) {
        self.msbs[usize::from(cpu & self.mask)] = Some(msb);
        self.version += 1;
    }
}

/// Simple records in a row.
#[derive(Debug, Clone, Copy)]
pub struct SimpleRecords<'k> {
    /// Their slots.
    pub(crate) slots: &'k [[u8; SLOT_BYTES]],
    /// Number of the record before the first.
    pub(crate) number: u64,
    /// Offset in the file of the first.
    pub(crate) offset: u64,
    pub(crate) clocks: &'k Clocks,
    pub(crate) big_endian: bool,
}

impl<'k> SimpleRecords<'k> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The records, in their order.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = KevRecord<'k>> {
        let places = (self.number + 1..).zip((self.offset..).step_by(SLOT_BYTES));
        self.slots.iter().zip(places).map(move |(slot, (number, offset))| {
            let head = Slot::read(slot, self.big_endian);
            let (class, event, cpu, stamp) = (head.class(), head.event(), head.cpu(), head.stamp);
            let (msb, bytes) = (self.clocks.msb(cpu), &slot[SLOT_BYTES / 2..]);
            KevRecord { number, offset, class, event, cpu, wide: false, stamp, msb, bytes }
        })
    }
}

enum Found {
    /// The simple slot at the window's start.
    Simple(Slot),
    /// The combine in `joined`.
    Joined(Slot),
    Slot([u32; 4]),
    /// The notice that was made first.
    Notice,
    End,
}

/// An opened log.
///
/// ```
/// use tfbc::reader::kev::{KevItem, KevLog, KevOptions, classes};
/// let mut bytes = b"TRACE_HEADER_BEGIN::TRACE_LITTLE_ENDIAN::TRUETRACE_CPU_NUM::2TRACE_HEADER_END::".to_vec();
/// bytes.extend([0x07, 0x18, 0, 0x01, 0x10, 0, 0, 0, 0xaa, 0, 0, 0, 0xbb, 0, 0, 0]);
/// let mut log = KevLog::from_read(std::io::Cursor::new(bytes), "a.kev", None, &KevOptions::default())?;
/// assert_eq!(log.header().cpu_num, Some(2));
/// let Some(KevItem::Record(record)) = log.next()? else { panic!() };
/// assert_eq!((record.class, record.event, record.cpu, record.stamp), (classes::USER, 7, 1, 16));
/// assert_eq!(record.bytes, [0xaa, 0, 0, 0, 0xbb, 0, 0, 0]);
/// assert!(log.next()?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct KevLog {
    name: String,
    size: Option<u64>,
    header: KevHeader,
    header_bytes: u64,
    options: KevOptions,
    window: Window,
    /// Bytes of the slot that was handed out last.
    pending: usize,
    /// Whether something may stand before the next slot: a notice, or the slot itself.
    detour: bool,
    /// Whether the next slot was handed out as a slot.
    slot_shown: bool,
    ended: bool,
    clocks: Clocks,
    open: OpenCombines,
    joined: Combine,
    last_buffer: Option<u32>,
    first_dropped: Option<u64>,
    notices: VecDeque<Notice>,
    counts: KevCounts,
}

impl KevLog {
    /// Opens a log by its path; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read, or is no log that can be read.
    pub fn open(path: &Path, options: &KevOptions) -> Result<Self, KevRefusal> {
        Self::from_window(Window::new(Input::open(path)?), &path.to_string_lossy(), options)
    }

    /// Reads a log from any input. `name` is what messages show.
    ///
    /// # Errors
    /// The input cannot be read, or is no log that can be read.
    pub fn from_input(name: &str, input: Input, options: &KevOptions) -> Result<Self, KevRefusal> {
        Self::from_window(Window::new(input), name, options)
    }

    /// Reads a log from anything that can be read. `size` is told on by [`KevLog::size`].
    ///
    /// # Errors
    /// The input cannot be read, or is no log that can be read.
    pub fn from_read(
        read: impl Read + Send + 'static,
        name: &str,
        size: Option<u64>,
        options: &KevOptions,
    ) -> Result<Self, KevRefusal> {
        let log = Self::from_input(name, Input::Stream(Box::new(read)), options)?;
        Ok(Self { size, ..log })
    }

    /// Reads a log of which nothing has been consumed.
    pub(in crate::reader) fn from_window(
        mut window: Window,
        name: &str,
        options: &KevOptions,
    ) -> Result<Self, KevRefusal> {
        let size = window.input_mut().size()?;
        let header = header::read(&mut window).map_err(|refusal| match window.fault() {
            Some(fault) => KevRefusal { message: format!("{}; {fault}", refusal.message), ..refusal },
            None => refusal,
        })?;
        Ok(Self {
            name: name.to_string(),
            size,
            header_bytes: window.offset(),
            options: *options,
            window,
            pending: 0,
            detour: options.slots,
            slot_shown: false,
            ended: false,
            clocks: Clocks::new(header.one_clock),
            open: OpenCombines::default(),
            joined: Combine::default(),
            last_buffer: None,
            first_dropped: None,
            notices: VecDeque::new(),
            counts: KevCounts::default(),
            header,
        })
    }

    /// What stands before the slots.
    pub fn header(&self) -> &KevHeader {
        &self.header
    }

    /// The name as the user gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the whole file, where that is known.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Whether reading may wait for another program.
    pub(crate) fn is_live(&self) -> bool {
        self.window.is_live()
    }

    /// Whether the next record must be waited for: it is not at hand, and the log comes from another program.
    #[inline]
    pub fn waits(&self) -> bool {
        self.window.is_live()
            && !self.ended
            && self.notices.is_empty()
            && self.window.bytes().len() < self.pending + SLOT_BYTES
    }

    /// How the file is compressed.
    pub fn packing(&self) -> Option<Packing> {
        self.window.packing()
    }

    /// Bytes of the file as it stands, which may be compressed; `None` where they are not known.
    pub fn file_size(&self) -> Option<u64> {
        self.size.or_else(|| self.packing()?.size)
    }

    /// How far the reading of the file is, in bytes of the file as it stands.
    pub fn progress(&self) -> u64 {
        self.window.progress()
    }

    /// Whether slots are handed out, too.
    pub(crate) fn shows_slots(&self) -> bool {
        self.options.slots
    }

    /// Offset in the file of the slot that was handed out last.
    pub fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// What the log held so far, and what was dropped.
    pub fn counts(&self) -> KevCounts {
        KevCounts { slots: self.n_slots(), ..self.counts }
    }

    /// Where the bytes went that were taken in so far. Slots of open combines count as events.
    pub fn tally(&self) -> Tally {
        let read = self.window.offset() + self.pending as u64;
        let skipped = self.counts.dropped_slots * SLOT_BYTES as u64 + self.counts.cut_bytes;
        Tally { read, header: self.header_bytes, events: read - self.header_bytes - skipped, skipped }
    }

    fn n_slots(&self) -> u64 {
        let tally = self.tally();
        (tally.read - tally.header) / SLOT_BYTES as u64
    }

    /// The next record, notice or, where they were asked for, slot; `None` at the end.
    ///
    /// # Errors
    /// The input cannot be read on.
    #[expect(
        clippy::should_implement_trait,
        reason = "a record borrows the reader's buffer, which no Iterator can say"
    )]
    #[inline]
    pub fn next(&mut self) -> io::Result<Option<KevItem<'_>>> {
        if let Some(slot) = self.find_plain() {
            return Ok(Some(KevItem::Record(self.simple(slot))));
        }
        self.next_slow()
    }

    fn next_slow(&mut self) -> io::Result<Option<KevItem<'_>>> {
        Ok(match self.find()? {
            Found::Simple(slot) => Some(KevItem::Record(self.simple(slot))),
            Found::Joined(slot) => Some(KevItem::Record(self.joined(slot))),
            Found::Slot(words) => Some(KevItem::Slot(words)),
            Found::Notice => self.notices.pop_front().map(KevItem::Notice),
            Found::End => None,
        })
    }

    /// The simple records that stand next, of other classes than CONTROL, at most `max` of them and as many as are at
    /// hand; none where something else stands next, which is for [`KevLog::next`].
    ///
    /// Most records of a log are such, and taking them in rows costs a fraction of asking for each.
    #[inline]
    pub fn simple_records(&mut self, max: usize) -> SimpleRecords<'_> {
        self.window.consume(self.pending);
        self.pending = 0;
        let slots = if self.detour { &[] } else { self.window.bytes().as_chunks::<SLOT_BYTES>().0 };
        let big_endian = self.header.big_endian;
        let stands = |bytes: &&[u8; SLOT_BYTES]| {
            let slot = Slot::read(bytes, big_endian);
            slot.kind() == SlotKind::Simple && slot.class() != classes::CONTROL
        };
        let n = slots.iter().take(max).take_while(stands).count();
        self.pending = n * SLOT_BYTES;
        let number = self.counts.records;
        self.counts.records += n as u64;
        let offset = self.window.offset();
        let slots = &self.window.bytes().as_chunks().0[..n];
        SimpleRecords { slots, number, offset, clocks: &self.clocks, big_endian }
    }

    #[inline]
    fn simple(&self, slot: Slot) -> KevRecord<'_> {
        let bytes = &self.window.bytes()[SLOT_BYTES / 2..SLOT_BYTES];
        self.record(slot, false, self.window.offset(), self.clocks.msb(slot.cpu()), bytes)
    }

    fn joined(&self, slot: Slot) -> KevRecord<'_> {
        let Combine { offset, msb, payload, .. } = &self.joined;
        // Between its slots the low half may have wrapped, so the half of its begin holds where there was one.
        let msb = msb.or_else(|| self.clocks.msb(slot.cpu()));
        self.record(slot, true, *offset, msb, payload)
    }

    #[inline]
    fn record<'k>(&self, slot: Slot, wide: bool, offset: u64, msb: Option<u32>, bytes: &'k [u8]) -> KevRecord<'k> {
        let (class, event, cpu) = (slot.class(), slot.event(), slot.cpu());
        KevRecord { number: self.counts.records, offset, class, event, cpu, wide, stamp: slot.stamp, msb, bytes }
    }

    /// Steps over the slot that was handed out, and takes the next one where it is simple and changes nothing.
    #[inline]
    fn find_plain(&mut self) -> Option<Slot> {
        self.window.consume(self.pending);
        self.pending = 0;
        if self.detour {
            return None;
        }
        let slot = Slot::read(self.window.bytes().first_chunk()?, self.header.big_endian);
        if slot.kind() != SlotKind::Simple || slot.class() == classes::CONTROL {
            return None;
        }
        self.hand_out();
        Some(slot)
    }

    /// The slot at the window's start completes a record, and stays until the next call.
    #[inline]
    fn hand_out(&mut self) {
        self.pending = SLOT_BYTES;
        self.counts.records += 1;
    }

    fn find(&mut self) -> io::Result<Found> {
        loop {
            if !self.notices.is_empty() {
                return Ok(Found::Notice);
            }
            if self.ended {
                return Ok(Found::End);
            }
            self.detour = self.options.slots;
            let Some(bytes) = self.window.bytes().first_chunk().copied() else {
                if !self.window.fill()? {
                    self.end();
                }
                continue;
            };
            if self.options.slots && !self.slot_shown {
                self.slot_shown = true;
                return Ok(Found::Slot([0, 1, 2, 3].map(|at| word(&bytes, at, self.header.big_endian))));
            }
            self.slot_shown = false;
            if let Some(found) = self.take_slot(&bytes) {
                self.hand_out();
                return Ok(found);
            }
            self.window.consume(SLOT_BYTES);
        }
    }

    /// Takes in the slot at the window's start; returns the record that it completes.
    #[inline]
    fn take_slot(&mut self, bytes: &[u8; SLOT_BYTES]) -> Option<Found> {
        let slot = Slot::read(bytes, self.header.big_endian);
        let payload = bytes.last_chunk()?;
        match slot.kind() {
            SlotKind::Simple => {
                if slot.class() == classes::CONTROL {
                    self.take_control(slot, word(bytes, 2, self.header.big_endian));
                }
                return Some(Found::Simple(slot));
            }
            SlotKind::Begin => self.begin(slot, payload),
            SlotKind::Continuation => self.go_on(slot, payload),
            SlotKind::End => return self.finish(slot, payload),
        }
        None
    }

    fn take_control(&mut self, slot: Slot, word: u32) {
        match slot.event() {
            control::TIME => self.clocks.set(slot.cpu(), word),
            control::BUFFER => self.take_buffer(word % BUFFER_NUMBERS),
            _ => {}
        }
    }

    fn take_buffer(&mut self, number: u32) {
        let Some(last) = self.last_buffer.replace(number) else { return };
        let lost = number.wrapping_sub(last).wrapping_sub(1) % BUFFER_NUMBERS;
        if lost == 0 {
            return;
        }
        self.counts.gaps += 1;
        self.counts.lost_buffers += u64::from(lost);
        if self.counts.gaps <= MAX_GAP_NOTICES {
            let offset = self.window.offset();
            self.damage(format!("at offset {offset:#x}: buffers lost between sequence {last} and {number}: {lost}"));
        }
    }

    fn begin(&mut self, slot: Slot, payload: &Payload) {
        let (offset, msb) = (self.window.offset(), self.clocks.msb(slot.cpu()));
        if let Some(combine) = self.open.begin(slot.key(), offset, msb, payload) {
            self.counts.dropped_begins += 1;
            self.drop_combine(combine);
        }
        self.keep_limit();
    }

    fn go_on(&mut self, slot: Slot, payload: &Payload) {
        match self.open.go_on(slot.key(), payload) {
            Continued::Added => self.keep_limit(),
            Continued::Unknown => {
                self.counts.continuations_without_begin += 1;
                self.drop_slot();
            }
            Continued::TooLong(combine) => self.drop_too_long(combine),
        }
    }

    fn finish(&mut self, slot: Slot, payload: &Payload) -> Option<Found> {
        let Some(mut combine) = self.open.take(slot.key()) else {
            self.counts.ends_without_begin += 1;
            self.drop_slot();
            return None;
        };
        if !combine.add(payload) {
            self.drop_too_long(combine);
            return None;
        }
        self.open.recycle(std::mem::replace(&mut self.joined, combine));
        Some(Found::Joined(slot))
    }

    /// Drops a combine that has no room for the slot at the window's start, and the slot.
    fn drop_too_long(&mut self, combine: Combine) {
        self.counts.over_limits += 1;
        self.drop_combine(combine);
        self.drop_slot();
    }

    fn drop_slot(&mut self) {
        self.drop_bytes(self.window.offset(), SLOT_BYTES as u64);
    }

    fn keep_limit(&mut self) {
        while let Some(combine) = self.open.take_over_limit() {
            self.counts.over_limits += 1;
            self.drop_combine(combine);
        }
    }

    fn drop_combine(&mut self, combine: Combine) {
        self.drop_bytes(combine.offset, combine.slot_bytes());
        self.open.recycle(combine);
    }

    fn drop_bytes(&mut self, offset: u64, n: u64) {
        self.counts.dropped_slots += n / SLOT_BYTES as u64;
        self.first_dropped = Some(self.first_dropped.map_or(offset, |first| first.min(offset)));
    }

    fn damage(&mut self, message: String) {
        self.notices.push_back(Notice { damage: true, message });
        self.detour = true;
    }

    /// The log has no more whole slots: says what could not be delivered.
    fn end(&mut self) {
        self.ended = true;
        self.detour = true;
        while let Some(combine) = self.open.take_oldest() {
            self.counts.open_at_end += 1;
            self.drop_combine(combine);
        }
        let left = self.window.bytes().len();
        if left > 0 {
            let offset = self.window.offset();
            self.damage(format!("truncated at offset {offset:#x}: {left} bytes left, a slot needs {SLOT_BYTES}"));
            self.window.consume(left);
            self.counts.cut_bytes = left as u64;
        }
        self.notices.extend(self.window.ending());
        if self.counts.gaps > MAX_GAP_NOTICES {
            let KevCounts { gaps, lost_buffers, .. } = self.counts;
            self.damage(format!("gaps in the sequence of buffers: {gaps}, buffers lost: {lost_buffers}"));
        }
        if self.counts.has_dropped() {
            self.damage(self.dropped_message());
        }
    }

    fn dropped_message(&self) -> String {
        let counts = &self.counts;
        let limits = format!("over the limits of {MAX_OPEN_BYTES} bytes open and {MAX_EVENT_BYTES} bytes an event");
        let parts = [
            (counts.dropped_begins, "begun again before their end"),
            (counts.continuations_without_begin, "continuations without begin"),
            (counts.ends_without_begin, "ends without begin"),
            (counts.open_at_end, "open at the end"),
            (counts.over_limits, &limits),
        ];
        let parts: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{what}: {n}")).collect();
        let (slots, first) = (counts.dropped_slots, self.first_dropped.unwrap_or(0));
        format!("incomplete combines dropped, the first at offset {first:#x}: {}; slots: {slots}", parts.join(", "))
    }
}
