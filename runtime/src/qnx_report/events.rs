//! Events of QNX logs, one at a time.

use super::clock::Clock;
use super::line::RowWriter;
use super::options::QnxReportOptions;
use super::owners::Owner;
use super::print::RecordPrinter;
use super::run::{RecordFormat, RecordProducer};
use super::writer::{FormatCounts, RecordWriter};
use crate::catalog::Catalog;
use crate::engine::{StepResult, Stepper};
use crate::fields::Field;
use crate::monitor::ReportError;
use crate::reader::kev::{KevLog, KevRecord, TraceStart};
use crate::row_facts::RowNote;
use crate::work::{Meter, Work};
use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use tfbc_vm::TextBuf;

/// Events of a log with their texts.
pub(crate) struct QnxEvents<'a> {
    steps: Stepper<RecordProducer<'a>, RecordFormat<'a, Collector<'a>>>,
    /// Index of the line to return next.
    next: usize,
    shared: Shared<RefCell<RecordPrinter<'a>>>,
}

/// Data that all events share.
struct Shared<P: ?Sized> {
    clock: Option<Clock>,
    start: TraceStart,
    /// Nanoseconds from 1970 to the boot.
    boot_ns: Option<i128>,
    /// Printer of fields, which texts do not need.
    printer: P,
}

/// One event. It contains only references, because the iterator moves it several times.
#[derive(Clone, Copy)]
pub(crate) struct QnxEvent<'e> {
    written: &'e WrittenRecord,
    /// Payload.
    bytes: &'e [u8],
    shared: &'e Shared<dyn PrintFields + 'e>,
}

/// Printer of an event's label and fields.
pub(super) trait PrintFields {
    fn label(&self, class: u8, event: u16) -> Option<Cow<'static, str>>;
    fn fields(&self, record: &KevRecord<'_>) -> Vec<Field>;
}

/// Writer that keeps the records whose lines it has written.
#[derive(Clone)]
pub(super) struct Collector<'a> {
    rows: RowWriter<'a>,
    written: Vec<WrittenRecord>,
    /// Payloads of the records.
    bytes: Vec<u8>,
    owner: Owner,
}

/// Record whose line was written.
#[derive(Clone)]
struct WrittenRecord {
    record: KevRecord<'static>,
    payload: Range<usize>,
    owner: Owner,
    note: RowNote,
    /// End of its line.
    end: usize,
}

impl RecordWriter for Collector<'_> {
    #[inline]
    fn record(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let (start, before) = (out.len(), self.rows.tallied());
        self.rows.record(record, out);
        if out.len() > start {
            let note = self.rows.tallied().note_since(before);
            let payload = self.bytes.len()..self.bytes.len() + record.bytes.len();
            self.bytes.extend_from_slice(record.bytes);
            let record = KevRecord { bytes: &[], class: record.meant_class(), ..*record };
            self.written.push(WrittenRecord { record, payload, owner: self.owner.clone(), note, end: out.len() });
        }
    }

    fn begin_text(&mut self) {
        self.written.clear();
        self.bytes.clear();
    }

    fn needs_owners(&self) -> bool {
        self.rows.needs_owners()
    }

    fn set_owner(&mut self, id: u32, owner: &Owner) {
        self.owner.clone_from(owner);
        self.rows.set_owner(id, owner);
    }

    fn begin_batch(&mut self) {
        self.rows.begin_batch();
    }

    fn tallied(&self) -> FormatCounts {
        self.rows.tallied()
    }

    fn take_back(&mut self, tallied: FormatCounts) {
        self.rows.take_back(tallied);
    }

    fn meter(&mut self) -> Option<&mut Meter> {
        self.rows.meter()
    }

    fn slow(&mut self) -> Option<&mut Option<(u8, u16)>> {
        self.rows.slow()
    }
}

impl<'a> QnxEvents<'a> {
    pub fn new(
        log: &'a mut KevLog,
        catalog: &'a Catalog<'a>,
        options: &'a QnxReportOptions,
        known_steps: &'a AtomicU64,
    ) -> Self {
        let rows = RowWriter::new(catalog, options, log.header(), log.start());
        let printer =
            RefCell::new(RecordPrinter::new(catalog, log.header().big_endian, log.header().release, options.limits));
        let (clock, start, boot_ns) = (Clock::new(log.header()), log.start(), log.header().boot_ns());
        let writer = Collector { rows, written: Vec::new(), bytes: Vec::new(), owner: Owner::default() };
        let producer = RecordProducer::new(log, writer.needs_owners());
        let steps = Stepper::new(producer, RecordFormat::new(writer, known_steps), Work::default());
        Self { steps, next: 0, shared: Shared { clock, start, boot_ns, printer } }
    }

    fn written(&self) -> &[WrittenRecord] {
        &self.steps.format.writer().written
    }

    /// Moves to the next event, notice or the end.
    #[inline]
    pub fn advance(&mut self) -> Result<StepResult, ReportError> {
        self.next += 1;
        while self.next >= self.written().len() {
            match self.steps.advance()? {
                StepResult::Text => self.next = 0,
                step => {
                    self.next = usize::MAX - 1;
                    return Ok(step);
                }
            }
        }
        Ok(StepResult::Text)
    }

    /// True if the chunk has another event after the current one.
    #[inline]
    pub fn has_buffered(&self) -> bool {
        self.next.wrapping_add(1) < self.written().len()
    }

    /// Text and event `n_before` positions before the current one; 0 is the current one. `None` if it is not in the
    /// chunk.
    #[inline]
    pub fn recent(&self, n_before: usize) -> Option<(&[u8], QnxEvent<'_>)> {
        self.at(self.next.checked_sub(n_before)?)
    }

    #[inline]
    fn at(&self, index: usize) -> Option<(&[u8], QnxEvent<'_>)> {
        let written = self.written();
        let record = written.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| written[before].end);
        let line = self.steps.text().get(start..record.end)?;
        let bytes = self.steps.format.writer().bytes.get(record.payload.clone())?;
        let event = QnxEvent { written: record, bytes, shared: &self.shared };
        Some((line.strip_suffix(b"\n").unwrap_or(line), event))
    }
}

impl<'e> QnxEvent<'e> {
    pub fn class(&self) -> u8 {
        self.written.record.class
    }

    pub fn event(&self) -> u16 {
        self.written.record.event
    }

    pub fn label(&self) -> Cow<'static, str> {
        self.shared.printer.label(self.written.record.class, self.written.record.event).unwrap_or_default()
    }

    /// Position in the input, from 0.
    pub fn seq(&self) -> u64 {
        self.written.record.number.saturating_sub(1)
    }

    /// Microseconds since 1970.
    pub fn unix_us(&self) -> Option<i64> {
        let time_ns = i128::from(self.time_ns()?);
        i64::try_from((self.shared.boot_ns? + time_ns).div_euclid(1000)).ok()
    }

    pub fn note(&self) -> RowNote {
        self.written.note
    }

    pub fn time_ns(&self) -> Option<u64> {
        self.shared.clock.zip(self.written.record.cycles()).map(|(clock, cycles)| clock.ns(cycles))
    }

    pub fn elapsed_ns(&self) -> Option<i64> {
        let start = i128::from(self.shared.clock?.ns(self.shared.start.cycles()?));
        i64::try_from(i128::from(self.time_ns()?) - start).ok()
    }

    pub fn cpu(&self) -> u64 {
        self.written.record.cpu.into()
    }

    pub fn pid(&self) -> Option<u64> {
        self.written.owner.pid.and_then(|pid| u64::try_from(pid).ok())
    }

    pub fn tid(&self) -> Option<u64> {
        self.written.owner.tid.and_then(|tid| u64::try_from(tid).ok())
    }

    pub fn process(&self) -> Option<&'e [u8]> {
        self.written.owner.process.as_deref()
    }

    pub fn bytes(&self) -> &'e [u8] {
        self.bytes
    }

    /// The fields of the definitions that apply, or the arguments.
    pub fn fields(&self) -> Vec<Field> {
        self.shared.printer.fields(&KevRecord { bytes: self.bytes, ..self.written.record })
    }
}

impl PrintFields for RefCell<RecordPrinter<'_>> {
    fn label(&self, class: u8, event: u16) -> Option<Cow<'static, str>> {
        self.borrow().events().distinct_label(class, event)
    }

    fn fields(&self, record: &KevRecord<'_>) -> Vec<Field> {
        self.borrow_mut().list_fields(record)
    }
}
