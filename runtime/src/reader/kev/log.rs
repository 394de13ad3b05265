//! An open log: its records, in the order of their last slots.

use super::combine::CompleteCombine;
use super::header::{self, KevHeader, KevRefusal};
use super::join::{Joiner, KevCounts};
use super::record::KevRecord;
use super::row::{Clocks, KevRow};
use super::slot::{SLOT_BYTES, Slot, SlotKind, SlotMasks, word};
use super::syspage::Syspage;
use super::{classes, control};
use crate::general_path;
use crate::reader::window::{Input, Packing, Window};
use crate::reader::{MaxRatio, Notice, RecordingGap, Tally};
use crate::split::codec::{Codec, Malformed, Stored, stored};
use crate::split::state::QnxState;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Number of distinct buffer numbers, which wrap.
const BUFFER_NUMBERS: u32 = 2048;
/// Limit on the joined payloads of a row in bytes; its last combine may exceed it.
const MAX_ROW_BYTES: usize = 128 << 10;
/// Slots that decide whether a position is in step, that is, at the start of a slot.
const JUDGED_SLOTS: usize = 8;
/// Bytes searched for a position in step.
const JUDGED_BYTES: usize = 4 * JUDGED_SLOTS * SLOT_BYTES;
/// Number of gaps that are reported one by one; a notice at the end of the log counts all.
const MAX_GAP_NOTICES: u64 = 100;

/// Options for reading logs.
#[derive(Debug, Clone, Copy, Default)]
pub struct KevOptions {
    /// True if every slot is also returned as [`KevItem::Slot`], before the record it completes.
    pub slots: bool,
    /// True if slots that are out of step are read unchanged, as traceprinter 1.02 does.
    pub out_of_step: bool,
    /// True if logs of versions before 1.01 are refused, as traceprinter 1.02 refuses them.
    pub only_new: bool,
    /// True if slots that the header counts as system page are read: see [`KevLog`].
    pub salvage: bool,
    /// Limit on the decompression ratio.
    pub max_ratio: MaxRatio,
}

/// Next item of a log.
#[derive(Debug)]
pub enum KevItem<'k> {
    /// An event.
    Record(KevRecord<'k>),
    /// A slot as it is in the file.
    Slot(KevSlot),
    /// A damaged place.
    Notice(Notice),
}

/// A slot as it is in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KevSlot {
    /// Header, stamp and two words of payload. The payload is read as little-endian in every log, as traceprinter shows
    /// it.
    pub words: [u32; 4],
    /// True for a continuation or end while no combine is open.
    pub unbalanced: bool,
}

/// Time of the first record with a time; set by the reader when it reads that record.
#[derive(Debug, Clone, Default)]
pub struct TraceStart(Arc<OnceLock<u64>>);

impl TraceStart {
    /// Clock in cycles; `None` before that record.
    pub fn cycles(&self) -> Option<u64> {
        self.0.get().copied()
    }
}

enum FoundItem {
    /// The simple slot at the window's start.
    Simple(Slot),
    /// A combine, whose payload is in `payloads`.
    Joined(Slot, CompleteCombine),
    Slot(KevSlot),
    /// The oldest pending notice.
    Notice,
    End,
}

/// An opened log.
///
/// The system page's length is in `TRACE_SYSPAGE_LEN`, and in the page itself. If the page is shorter,
/// and slots follow it directly, the attribute is damaged: the slots up to its end are skipped as damage, or salvaged.
///
/// ```
/// use tfbc::testing::qnx::{KevItem, KevLog, KevOptions, classes};
/// let mut bytes = b"TRACE_HEADER_BEGIN::TRACE_VER_MAJOR::1TRACE_VER_MINOR::01TRACE_LITTLE_ENDIAN::TRUE\
///     TRACE_CPU_NUM::2TRACE_HEADER_END::".to_vec();
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
    /// Bytes of the slot returned last.
    pending: usize,
    /// True if a notice, or the slot itself, may come before the next record.
    detour: bool,
    /// True if the next slot was already returned as [`KevItem::Slot`].
    slot_shown: bool,
    ended: bool,
    clocks: Clocks,
    start: TraceStart,
    marks: SlotMasks,
    joiner: Joiner,
    /// Combines that ended in the row returned last, and their payloads.
    ends: Vec<Option<CompleteCombine>>,
    payloads: Vec<u8>,
    last_buffer: Option<u32>,
    notices: VecDeque<Notice>,
    /// True if events that show gaps give notices too.
    lists_gaps: bool,
    /// Offset at which the log ends, at the next record; `u64::MAX` for all.
    end_offset: u64,
    /// Offset at which the log was opened.
    first_offset: u64,
    /// Counts and bytes before the part that is read.
    before: (KevCounts, Tally),
    /// State of a report before the part that is read; `None` at the start of the log.
    resumed: Option<Box<QnxState>>,
}

/// Position of a log between two records.
#[derive(Debug, Clone, Default)]
pub(crate) struct KevPosition {
    /// File offset.
    pub offset: u64,
    start: Option<u64>,
    last_buffer: Option<u32>,
    /// Encoded clocks and open combines.
    state: Vec<u8>,
}

stored!(KevPosition { offset, start, last_buffer, state });

/// State of a reader, for a codec.
struct ReaderState<'l> {
    clocks: &'l mut Clocks,
    joiner: &'l mut Joiner,
}

impl Stored for ReaderState<'_> {
    fn visit(&mut self, codec: &mut Codec<'_>) -> Result<(), Malformed> {
        self.clocks.visit(codec)?;
        self.joiner.visit(codec)
    }
}

impl KevLog {
    /// Opens a log by its path; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read, or is not a log.
    pub fn open(path: &Path, options: &KevOptions) -> Result<Self, KevRefusal> {
        Self::from_window(Window::new(Input::open(path)?.within(options.max_ratio)), &path.to_string_lossy(), options)
    }

    /// Reads a log from any input. Messages show `name`.
    ///
    /// # Errors
    /// The input cannot be read, or is not a log.
    pub fn from_input(name: &str, input: Input, options: &KevOptions) -> Result<Self, KevRefusal> {
        Self::from_window(Window::new(input), name, options)
    }

    /// Reads a log from any reader. [`KevLog::size`] returns `size`.
    ///
    /// # Errors
    /// The input cannot be read, or is not a log.
    pub fn from_read(
        read: impl Read + Send + 'static,
        name: &str,
        size: Option<u64>,
        options: &KevOptions,
    ) -> Result<Self, KevRefusal> {
        let log = Self::from_input(name, Input::Stream(Box::new(read)), options)?;
        Ok(Self { size, ..log })
    }

    /// Reads a log from a window at the start of its input.
    pub(in crate::reader) fn from_window(
        mut window: Window,
        name: &str,
        options: &KevOptions,
    ) -> Result<Self, KevRefusal> {
        let size = window.input_mut().size()?;
        let (header, page_len, warnings) =
            header::read(&mut window, options.only_new).map_err(|refusal| match window.fault() {
                Some(fault) => KevRefusal { message: format!("{}; {fault}", refusal.message), ..refusal },
                None => refusal,
            })?;
        let marks = SlotMasks::new(header.big_endian, header.cpu_num);
        let hidden = hidden_slots(&mut window, &header, page_len, marks)?;
        let header_bytes = window.offset() + hidden.unwrap_or(page_len) as u64;
        let mut log = Self {
            name: name.to_string(),
            size,
            header_bytes,
            options: *options,
            window,
            pending: 0,
            detour: options.slots,
            slot_shown: false,
            ended: false,
            clocks: Clocks::new(header.one_clock),
            start: TraceStart::default(),
            marks,
            joiner: Joiner::default(),
            ends: Vec::new(),
            payloads: Vec::new(),
            last_buffer: None,
            notices: VecDeque::new(),
            lists_gaps: false,
            end_offset: u64::MAX,
            first_offset: 0,
            before: Default::default(),
            resumed: None,
            header,
        };
        match hidden {
            Some(from) => log.skip_hidden(from, page_len),
            None => log.window.consume(page_len),
        }
        warnings.into_iter().for_each(|warning| log.damage(Notice::warning(warning)));
        Ok(log)
    }

    /// Opens a log at a position.
    ///
    /// # Errors
    /// The input cannot be read, is not a log, or does not have this position.
    pub(crate) fn at_position(name: &str, input: Input, position: KevPosition) -> io::Result<Self> {
        let refuse = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
        let mut log = Self::from_input(name, input, &KevOptions::default())
            .map_err(|refusal| io::Error::new(io::ErrorKind::InvalidData, refusal.message))?;
        let KevPosition { offset, start, last_buffer, state } = position;
        if offset < log.header_bytes || log.size.is_some_and(|size| offset > size) {
            return Err(refuse("the position is not between two records"));
        }
        log.joiner = Joiner::default();
        let mut known = ReaderState { clocks: &mut log.clocks, joiner: &mut log.joiner };
        Codec::decode(&state, &mut known).map_err(|Malformed| refuse("the state of its reader is malformed"))?;
        let fits = log.joiner.counts.fit(offset - log.header_bytes) && log.joiner.open_before(offset);
        log.window.seek(offset)?;
        log.clocks.version += 1;
        log.last_buffer = last_buffer;
        log.notices.clear();
        log.detour = false;
        if let Some(cycles) = start {
            log.start.0.get_or_init(|| cycles);
        }
        // Slots of open combines count for the part in which these end.
        (log.first_offset, log.end_offset) = (offset, offset);
        if !fits || log.tally().check().is_err() {
            return Err(refuse("the counts of its reader do not fit its position"));
        }
        log.before = (log.counts(), log.tally());
        log.end_offset = u64::MAX;
        Ok(log)
    }

    /// Position after the last returned record; `None` if notices come before the next one.
    pub(crate) fn position(&mut self) -> Option<KevPosition> {
        if !self.notices.is_empty() {
            return None;
        }
        let (offset, start, last_buffer) = (self.n_read(), self.start.cycles(), self.last_buffer);
        let Self { clocks, joiner, .. } = self;
        let state = Codec::encode(&mut ReaderState { clocks, joiner });
        Some(KevPosition { offset, start, last_buffer, state })
    }

    /// Ends the log at the first record after `n_bytes` bytes from the position at which it was opened.
    pub(crate) fn set_read_limit(&mut self, n_bytes: u64) {
        self.end_offset = self.first_offset.saturating_add(n_bytes);
    }

    /// True if the log was opened at its start.
    pub(crate) fn is_at_start(&self) -> bool {
        self.first_offset == 0
    }

    /// True if the log can be opened again at a position.
    pub(crate) fn can_resume(&self) -> bool {
        let KevOptions { slots, out_of_step, only_new, salvage, .. } = self.options;
        !(slots || out_of_step || only_new || salvage)
    }

    pub(crate) fn input_mut(&mut self) -> &mut Input {
        self.window.input_mut()
    }

    /// Sets the state of a report before the first record that is read.
    pub(crate) fn resume(&mut self, state: QnxState) {
        self.resumed = Some(Box::new(state));
    }

    /// Takes the state of a report before the first record.
    pub(crate) fn take_resumed(&mut self) -> Option<Box<QnxState>> {
        self.resumed.take()
    }

    /// Skips the slots that the header counts as system page, and reports that. With `salvage`, skips only the page
    /// itself.
    fn skip_hidden(&mut self, from: usize, to: usize) {
        let (start, n) = (self.window.offset(), to - from);
        let (from_offset, to_offset) = (start + from as u64, start + to as u64);
        let text = format!(
            "TRACE_SYSPAGE_LEN:: is {to}, and the system page at offset {start:#x} has {from} bytes by its own size: slots follow it \
             at offset {from_offset:#x} to {to_offset:#x}"
        );
        if self.options.salvage {
            self.window.consume(from);
            self.damage(Notice::damage(format!("{text}, read anyway ({n} bytes)")));
        } else {
            self.window.consume(to);
            self.joiner.counts.skipped_bytes += n as u64;
            let advice = "`tfbc report --salvage` reads them";
            self.damage(
                Notice::damage(format!("{text}, skipped ({n} bytes); {advice}")).skipping(from_offset, to_offset),
            );
        }
    }

    /// Header of the log.
    pub fn header(&self) -> &KevHeader {
        &self.header
    }

    /// Time of the first record that has one.
    pub fn start(&self) -> TraceStart {
        self.start.clone()
    }

    /// Name as the user wrote it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Size of the file in bytes, if it is known.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// True if reading may block on another program.
    pub(crate) fn is_live(&self) -> bool {
        self.window.is_live()
    }

    /// True if reading the next record may block on another program.
    #[inline]
    pub fn waits(&self) -> bool {
        let next = self.window.bytes().get(self.pending..).unwrap_or_default();
        let needs = match next.first_chunk() {
            Some(slot) if self.looks_out_of_step(slot) => JUDGED_BYTES,
            _ => SLOT_BYTES,
        };
        self.window.is_live() && !self.ended && self.notices.is_empty() && next.len() < needs
    }

    /// Compression of the file.
    pub fn packing(&self) -> Option<Packing> {
        self.window.packing()
    }

    /// Size of the file on disk in bytes, compressed or not; `None` if it is unknown.
    pub fn file_size(&self) -> Option<u64> {
        self.size.or_else(|| self.packing()?.size)
    }

    /// Progress in bytes of the file on disk, compressed or not.
    pub fn progress(&self) -> u64 {
        self.window.progress()
    }

    /// File offset of the last returned slot.
    pub fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// Gives a notice for each event that shows a gap too.
    pub fn list_gaps(&mut self) {
        self.lists_gaps = true;
    }

    /// Counts so far.
    pub fn counts(&self) -> KevCounts {
        KevCounts { slots: self.n_slots(), ..self.joiner.counts } - self.before.0
    }

    /// Number of records from the start of the log to the last one that was returned.
    pub(crate) fn n_records(&self) -> u64 {
        self.joiner.counts.records
    }

    /// Accounting of the bytes read so far. Slots of open combines count as events.
    pub fn tally(&self) -> Tally {
        let KevCounts { dropped_slots, cut_bytes, skipped_bytes, .. } = self.joiner.counts;
        // Slots of combines that are open at the end of a part count for the part in which these end.
        let open = if self.end_offset < u64::MAX { self.joiner.open_bytes() } else { 0 };
        let before = self.before.1;
        Tally {
            read: self.n_read().saturating_sub(open).saturating_sub(before.read),
            header: self.header_bytes - before.header,
            events: (self.joiner.event_bytes() - open).saturating_sub(before.events),
            skipped: dropped_slots * SLOT_BYTES as u64 + cut_bytes + skipped_bytes - before.skipped,
        }
    }

    /// File offset after the last returned slot.
    pub(crate) fn n_read(&self) -> u64 {
        self.window.offset() + self.pending as u64
    }

    fn n_slots(&self) -> u64 {
        (self.n_read() - self.header_bytes - self.joiner.counts.skipped_bytes) / SLOT_BYTES as u64
    }

    /// Reads the next record, notice or, if requested, slot; `None` at the end.
    ///
    /// # Errors
    /// Reading the input failed.
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
            FoundItem::Simple(slot) => Some(KevItem::Record(self.simple(slot))),
            FoundItem::Joined(slot, ended) => Some(KevItem::Record(self.joined(slot, ended))),
            FoundItem::Slot(slot) => Some(KevItem::Slot(slot)),
            FoundItem::Notice => self.notices.pop_front().map(KevItem::Notice),
            FoundItem::End => None,
        })
    }

    /// Reads a run of at most `max_slots` slots from the buffer. It ends before a record of class CONTROL and before a
    /// damaged place. After an empty row, call [`KevLog::next`].
    ///
    /// Fast path: nearly all records of a log are in rows, and a row costs far less than its records one by one.
    #[inline]
    pub fn row(&mut self, max_slots: usize) -> KevRow<'_> {
        self.window.consume(self.pending);
        self.ends.clear();
        self.payloads.clear();
        let (number, offset) = (self.joiner.counts.records, self.window.offset());
        let (n_slots, n_records) =
            if self.detour || general_path::is_required() { (0, 0) } else { self.take_row(max_slots) };
        self.pending = n_slots * SLOT_BYTES;
        self.joiner.counts.records += n_records as u64;
        let slots = &self.window.bytes().as_chunks().0[..n_slots];
        let Self { ends, payloads, clocks, .. } = self;
        KevRow { slots, ends, payloads, n_records, number, offset, clocks, big_endian: self.header.big_endian }
    }

    /// Reads the slots of a row. Returns the number of slots and of records.
    fn take_row(&mut self, max_slots: usize) -> (usize, usize) {
        let in_step = !self.options.out_of_step;
        let Self { window, joiner, clocks, ends, payloads, header, marks, .. } = self;
        let slots = window.bytes().as_chunks::<SLOT_BYTES>().0;
        let n_left = self.end_offset.saturating_sub(window.offset()).div_ceil(SLOT_BYTES as u64);
        let max_slots = max_slots.min(usize::try_from(n_left).unwrap_or(usize::MAX));
        let (mut n_slots, mut n_records) = (0, 0);
        for bytes in &slots[..slots.len().min(max_slots)] {
            // Two masks classify nearly every slot without decoding it.
            if marks.is_simple(bytes) {
                // Control records may change the clock, so the row ends before them.
                if marks.is_control(bytes) {
                    break;
                }
                n_records += 1;
                n_slots += 1;
                continue;
            }
            let slot = Slot::read(bytes, header.big_endian);
            if marks.is_foreign(bytes) {
                if in_step || (slot.kind() == SlotKind::Simple && slot.class() == classes::CONTROL) {
                    break;
                }
                if slot.kind() == SlotKind::Simple {
                    n_records += 1;
                    n_slots += 1;
                    continue;
                }
            }
            let [.., payload] = bytes.as_chunks().0 else { break };
            let offset = window.offset() + (n_slots * SLOT_BYTES) as u64;
            let ended = joiner.take(slot, payload, offset, clocks.msb(slot.cpu()), payloads);
            n_records += usize::from(ended.is_some());
            n_slots += 1;
            if slot.kind() == SlotKind::End {
                ends.push(ended);
                // Bounds the memory of the joined payloads.
                if payloads.len() >= MAX_ROW_BYTES {
                    break;
                }
            }
        }
        (n_slots, n_records)
    }

    #[inline]
    fn simple(&self, slot: Slot) -> KevRecord<'_> {
        let bytes = &self.window.bytes()[SLOT_BYTES / 2..SLOT_BYTES];
        self.record(slot, false, self.window.offset(), self.clocks.msb(slot.cpu()), bytes)
    }

    fn joined(&self, slot: Slot, ended: CompleteCombine) -> KevRecord<'_> {
        self.record(slot, true, ended.offset, ended.msb, &self.payloads)
    }

    #[inline]
    fn record<'k>(&self, slot: Slot, wide: bool, offset: u64, msb: Option<u32>, bytes: &'k [u8]) -> KevRecord<'k> {
        let (class, event, cpu) = (slot.class(), slot.event(), slot.cpu());
        KevRecord { number: self.joiner.counts.records, offset, class, event, cpu, wide, stamp: slot.stamp, msb, bytes }
    }

    /// Consumes the last returned slot. Returns the next one if it is a simple slot outside of class CONTROL.
    #[inline]
    fn find_plain(&mut self) -> Option<Slot> {
        self.window.consume(self.pending);
        self.pending = 0;
        if self.detour || self.window.offset() >= self.end_offset {
            return None;
        }
        let bytes = self.window.bytes().first_chunk()?;
        // A control record may set the clock or report lost buffers.
        if !self.marks.is_simple(bytes) || self.marks.is_control(bytes) {
            return None;
        }
        let slot = Slot::read(bytes, self.header.big_endian);
        self.count_record();
        Some(slot)
    }

    /// Counts the record that the slot at the window's start completes. The slot stays until the next call.
    #[inline]
    fn count_record(&mut self) {
        self.pending = SLOT_BYTES;
        self.joiner.counts.records += 1;
    }

    fn find(&mut self) -> io::Result<FoundItem> {
        loop {
            if !self.notices.is_empty() {
                return Ok(FoundItem::Notice);
            }
            if self.ended || self.window.offset() >= self.end_offset {
                return Ok(FoundItem::End);
            }
            self.detour = self.options.slots;
            let Some(bytes) = self.window.bytes().first_chunk().copied() else {
                if !self.window.fill()? {
                    self.end();
                }
                continue;
            };
            if self.looks_out_of_step(&bytes) && self.resync()? {
                continue;
            }
            if self.options.slots && !self.slot_shown {
                self.slot_shown = true;
                return Ok(FoundItem::Slot(self.raw(&bytes)));
            }
            self.slot_shown = false;
            if let Some(found) = self.take_slot(&bytes) {
                self.count_record();
                return Ok(found);
            }
            self.window.consume(SLOT_BYTES);
        }
    }

    fn raw(&self, bytes: &[u8; SLOT_BYTES]) -> KevSlot {
        let Slot { header, stamp } = Slot::read(bytes, self.header.big_endian);
        let continues = matches!(Slot { header, stamp }.kind(), SlotKind::Continuation | SlotKind::End);
        let words = [header, stamp, word(bytes, 2, false), word(bytes, 3, false)];
        KevSlot { words, unbalanced: continues && !self.joiner.has_open() }
    }

    /// Reads the slot at the window's start. Returns the record that it completes.
    #[inline]
    fn take_slot(&mut self, bytes: &[u8; SLOT_BYTES]) -> Option<FoundItem> {
        let slot = Slot::read(bytes, self.header.big_endian);
        let payload = bytes.last_chunk()?;
        if slot.kind() == SlotKind::Simple {
            if slot.class() == classes::CONTROL {
                self.take_control(slot, word(bytes, 2, self.header.big_endian));
            }
            return Some(FoundItem::Simple(slot));
        }
        self.payloads.clear();
        let (offset, msb) = (self.window.offset(), self.clocks.msb(slot.cpu()));
        let ended = self.joiner.take(slot, payload, offset, msb, &mut self.payloads)?;
        Some(FoundItem::Joined(slot, ended))
    }

    fn take_control(&mut self, slot: Slot, word: u32) {
        match slot.event() {
            control::TIME => {
                self.clocks.set(slot.cpu(), word);
                self.start.0.get_or_init(|| u64::from(word) << 32 | u64::from(slot.stamp));
            }
            control::BUFFER => self.take_buffer(word % BUFFER_NUMBERS, slot.cpu()),
            control::DROPPED if self.lists_gaps => {
                let offset = self.window.offset();
                let gap =
                    RecordingGap { offset, cpu: Some(slot.cpu().into()), is_event: true, ..RecordingGap::default() };
                self.damage(Notice::warning(format!("at offset {offset:#x}: buffers dropped")).with_gap(gap));
            }
            _ => {}
        }
    }

    fn take_buffer(&mut self, number: u32, cpu: u8) {
        let Some(last) = self.last_buffer.replace(number) else { return };
        // The numbers wrap, so this is a lower bound.
        let lost = number.wrapping_sub(last).wrapping_sub(1) % BUFFER_NUMBERS;
        if lost == 0 {
            return;
        }
        self.joiner.counts.gaps += 1;
        self.joiner.counts.lost_buffers += u64::from(lost);
        if self.joiner.counts.gaps <= MAX_GAP_NOTICES {
            let offset = self.window.offset();
            let text = format!("at offset {offset:#x}: buffers lost between sequence {last} and {number}: {lost}");
            let gap =
                RecordingGap { n_missing: Some(lost.into()), offset, cpu: Some(cpu.into()), ..RecordingGap::default() };
            self.damage(Notice::damage(text).with_gap(gap));
        }
    }

    fn damage(&mut self, notice: Notice) {
        self.notices.push_back(notice);
        self.detour = true;
    }

    /// True if these bytes might not be the start of a slot. If so, the slots after them decide.
    #[inline]
    fn looks_out_of_step(&self, bytes: &[u8; SLOT_BYTES]) -> bool {
        !self.options.out_of_step && self.marks.is_foreign(bytes)
    }

    /// Skips to the next position in step. Returns false if nothing had to be skipped.
    #[cold]
    fn resync(&mut self) -> io::Result<bool> {
        // A slot has no mark. Only the slots after it show if this one is damaged, or if bytes are missing.
        while self.window.bytes().len() < JUDGED_BYTES && self.window.fill()? {}
        let judged = self.window.bytes();
        let judged = &judged[..judged.len().min(JUDGED_BYTES)];
        let Some(n) = out_of_step(judged, |slot| self.is_likely(slot), self.header.big_endian) else {
            return Ok(false);
        };
        let (from, to) = (self.window.offset(), self.window.offset() + n as u64);
        self.window.consume(n);
        self.joiner.counts.skipped_bytes += n as u64;
        let text = format!("at offset {from:#x}: slots out of step; skipped to offset {to:#x} ({n} bytes)");
        self.damage(Notice::damage(text).skipping(from, to));
        Ok(true)
    }

    /// True if the bytes look like a slot.
    fn is_likely(&self, bytes: &[u8; SLOT_BYTES]) -> bool {
        is_likely(self.marks, self.header.big_endian, bytes)
    }

    /// Ends the log after its last whole slot, and adds notices about all lost bytes and slots.
    fn end(&mut self) {
        self.ended = true;
        self.detour = true;
        // Combines without an end are dropped: a payload that stops in the middle would print wrong values.
        self.joiner.end();
        let left = self.window.bytes().len();
        if left > 0 {
            let offset = self.window.offset();
            let text = format!("truncated at offset {offset:#x}: {left} bytes left, a slot needs {SLOT_BYTES}");
            self.damage(Notice::damage(text).skipping(offset, offset + left as u64));
            self.window.consume(left);
            self.joiner.counts.cut_bytes = left as u64;
        }
        self.notices.extend(self.window.ending());
        if self.joiner.counts.gaps > MAX_GAP_NOTICES {
            let KevCounts { gaps, lost_buffers, .. } = self.joiner.counts;
            let text = format!("gaps in the sequence of buffers: {gaps}, buffers lost: {lost_buffers}");
            self.damage(Notice::damage(text));
        }
        if let Some((message, gap)) = self.joiner.dropped() {
            self.damage(Notice::damage(message).with_gap(gap));
        }
    }
}

/// True if the bytes look like a slot.
fn is_likely(marks: SlotMasks, big_endian: bool, bytes: &[u8; SLOT_BYTES]) -> bool {
    let class = Slot::read(bytes, big_endian).class();
    !marks.is_foreign(bytes) && (classes::CONTROL..=classes::STRAY_SYSTEM).contains(&class)
}

/// Offset of slots that the header counts as part of the system page, which is at the window's start. They start at the
/// page's own end, if most of the eight slots from there look like slots.
fn hidden_slots(
    window: &mut Window,
    header: &KevHeader,
    page_len: usize,
    marks: SlotMasks,
) -> io::Result<Option<usize>> {
    let own_len = header.syspage.as_ref().and_then(Syspage::own_len).filter(|own| *own < page_len);
    let Some(from) = own_len else { return Ok(None) };
    // A page may be padded with zeros.
    if window.bytes()[from..page_len].iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    while window.bytes().len() < from + JUDGED_SLOTS * SLOT_BYTES && window.fill()? {}
    let slots = window.bytes()[from..].as_chunks::<SLOT_BYTES>().0.iter().take(JUDGED_SLOTS);
    let n_slots = slots.len();
    let n_likely = slots.filter(|slot| is_likely(marks, header.big_endian, slot)).count();
    Ok((2 * n_likely > n_slots).then_some(from))
}

/// Number of bytes to skip until eight likely slots in a row. `None` if most of the slots at the start are likely: then
/// only the first is damaged. Data may look like slots, too, so among several positions it takes the one with the
/// fewest later slots that are unlikely or go back in time.
fn out_of_step(bytes: &[u8], is_likely: impl Fn(&[u8; SLOT_BYTES]) -> bool, big_endian: bool) -> Option<usize> {
    let slots = |at: usize| bytes.get(at..).unwrap_or_default().as_chunks::<SLOT_BYTES>().0.iter();
    let n_likely = |at: usize| slots(at).take(JUDGED_SLOTS).filter(|slot| is_likely(slot)).count();
    if n_likely(0) > JUDGED_SLOTS / 2 {
        return None;
    }
    let follows = |one: &[u8; SLOT_BYTES], next: &[u8; SLOT_BYTES]| {
        is_likely(next) && word(next, 1, big_endian).wrapping_sub(word(one, 1, big_endian)) < 1 << 31
    };
    let n_strange = |at: &usize| slots(*at).zip(slots(*at).skip(1)).filter(|(one, next)| !follows(one, next)).count();
    // Two slots are enough: positions repeat after one slot, and the first one may be damaged.
    (1..2 * SLOT_BYTES).filter(|at| n_likely(*at) == JUDGED_SLOTS).min_by_key(n_strange)
}
