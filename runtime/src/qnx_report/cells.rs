//! Cells of a record's line, compiled once per report: columns, delimiters, keys, colour codes, and the data.
//!
//! ```text
//! default                 Number "  " Time "  " Cpu Event(0) Data "\n"        Event(0): class, id, type and their blanks
//! --to ndjson             {"event": Number ,"time_ns": Time ,"cpu": Cpu Event(0) Data Fields }
//! --columns pid,arg.fd    Owner(0) "  " Argument "\n"
//! ```
//!
//! Adjacent columns that depend on the event number alone are rendered once per event number, columns of owners once
//! per owner.

use super::clock::{Clock, TimeForm, date_and_time};
use super::fields::{RecordFields, push_escaped};
use super::owners::Owner;
use crate::columns::{Column, ColumnWriter, Columns, OwnerValue, QnxWriter, Side, ValueType};
use crate::events::{BuiltInEvents, is_interrupt};
use crate::general_path;
use crate::literal::{Literal, MAX_START, store};
use crate::output_format::Form;
use crate::reader::kev::{KevHeader, KevRecord, TraceStart};
use crate::scan::any_byte;
use crate::terminal::ReportColour;
use tfbc_vm::{TextBuf, num};

/// Cells of a report.
pub(super) struct LineCells {
    pub list: Box<[LineCell]>,
    /// Columns per [`LineCell::Event`] and [`LineCell::Owner`].
    pub segments: Box<[Segment]>,
}

/// A part of a line.
#[derive(Debug, Clone, Copy)]
pub(super) enum LineCell {
    Literal(Literal),
    /// Comma before a key, unless the object is empty so far.
    Comma,
    /// Number of the record.
    Number,
    BareNumber,
    /// Time of the record.
    Time,
    BareTime,
    JsonTime,
    Cpu,
    BareCpu,
    /// Texts of an event's segment.
    Event(u8),
    /// Texts of an owner's segment.
    Owner(u8),
    /// Value of an `arg.NAME` column; JSON output prints the key, too.
    Argument {
        column: Column,
        last: bool,
    },
    Data,
    /// JSON array of the fields.
    Fields,
    /// Appends the short cells so far, which makes room for the next.
    Flush,
}

/// Adjacent columns of one kind, each with the bytes before it.
#[derive(Debug, Default)]
pub(super) struct Segment {
    columns: Vec<(Vec<u8>, Column, usize)>,
    /// Bytes after the last column.
    end: Vec<u8>,
}

impl LineCells {
    pub fn new(columns: &Columns, form: Form, colour: ReportColour) -> Self {
        let mut cells = Builder { columns, form, colour, list: Vec::new(), segments: Vec::new(), len: 0 };
        match form {
            Form::Ndjson => cells.object(),
            Form::Text | Form::Tsv | Form::Csv => cells.line(),
        }
        Self { list: cells.list.into(), segments: cells.segments.into() }
    }
}

/// Compiles cells.
struct Builder<'c> {
    columns: &'c Columns,
    form: Form,
    colour: ReportColour,
    list: Vec<LineCell>,
    segments: Vec<Segment>,
    /// Bytes of the cells since the last one that is written directly to the output.
    len: usize,
}

impl Builder<'_> {
    /// Adds values with blanks or delimiters between them.
    fn line(&mut self) {
        for (at, column) in self.columns.list().iter().enumerate() {
            if at > 0 {
                self.literal(self.form.separator());
            }
            let is_dim = self.form == Form::Text
                && !matches!(column.info().writer, ColumnWriter::Qnx(QnxWriter::Data))
                && *column != Column::EventType;
            if is_dim {
                self.literal(self.colour.dim());
            }
            self.value(*column, at + 1 == self.columns.list().len());
            if is_dim {
                self.literal(self.colour.plain());
            }
        }
        self.literal(self.form.line_end());
    }

    /// `{"event":1,"time_ns":…,"cpu":0,"class":"USER","id":65,"type":"…","data":"…","fields":[…]}`
    fn object(&mut self) {
        self.literal(b"{");
        let list = self.columns.list();
        let is_argument = |column: &Column| matches!(column, Column::Argument(_));
        for (at, column) in list.iter().enumerate() {
            // A field that the record does not have is left out with its key.
            let may_be_first = list[..at].iter().all(is_argument);
            if is_argument(column) || (may_be_first && at > 0) {
                self.put(LineCell::Comma, 1);
            } else if at > 0 {
                self.literal(b",");
            }
            if !is_argument(column) {
                self.literal(&self.columns.key(*column));
            }
            self.value(*column, false);
        }
        if list.contains(&Column::Data) {
            self.put(LineCell::Fields, 0);
        }
        self.literal(b"}\n");
    }

    fn value(&mut self, column: Column, last: bool) {
        let ColumnWriter::Qnx(writer) = column.info().writer else { return };
        let is_text = self.form == Form::Text;
        match writer {
            QnxWriter::Number => self.put(if is_text { LineCell::Number } else { LineCell::BareNumber }, 20),
            QnxWriter::Cpu => self.put(if is_text { LineCell::Cpu } else { LineCell::BareCpu }, 8),
            QnxWriter::Time => {
                let cell = match self.form {
                    Form::Text => LineCell::Time,
                    Form::Tsv | Form::Csv => LineCell::BareTime,
                    Form::Ndjson => LineCell::JsonTime,
                };
                self.put(cell, Literal::MAX);
            }
            QnxWriter::Event(_) => self.segment(column, LineCell::Event, MAX_TEXT, last),
            QnxWriter::Owner(_) => self.segment(column, LineCell::Owner, 0, last),
            QnxWriter::Argument => self.put(LineCell::Argument { column, last }, 0),
            QnxWriter::Data => self.put(LineCell::Data, 0),
        }
    }

    /// Adds a column to the last cell if both are of the same kind, together with the literals between them. `len` is
    /// the maximum size of the cell, as for [`Builder::put`].
    fn segment(&mut self, column: Column, cell: fn(u8) -> LineCell, len: usize, last: bool) {
        let mut before = Vec::new();
        while let Some(LineCell::Literal(literal)) = self.list.last() {
            before.splice(..0, literal.as_bytes().iter().copied());
            self.list.pop();
        }
        let width = if last && column.info().side == Side::Left { 0 } else { self.columns.width(column) };
        let next = cell(self.segments.len() as u8);
        let follows =
            self.list.last().is_some_and(|last| std::mem::discriminant(last) == std::mem::discriminant(&next));
        if !follows {
            self.put(next, len);
            self.segments.push(Segment::default());
        }
        if let Some(segment) = self.segments.last_mut() {
            before.splice(..0, std::mem::take(&mut segment.end));
            segment.columns.push((before, column, width));
        }
    }

    /// Adds a cell of at most `len` bytes, or 0 if it is written directly to the output.
    fn put(&mut self, cell: LineCell, len: usize) {
        if self.len + len > MAX_START {
            self.list.push(LineCell::Flush);
            self.len = 0;
        }
        self.len = if len == 0 { 0 } else { self.len + len };
        self.list.push(cell);
    }

    /// Adds bytes, to the last literal or segment.
    fn literal(&mut self, bytes: &[u8]) {
        let rest = match self.list.last_mut() {
            Some(LineCell::Event(_) | LineCell::Owner(_)) => {
                if let Some(segment) = self.segments.last_mut() {
                    segment.end.extend_from_slice(bytes);
                }
                return;
            }
            Some(LineCell::Literal(last)) => last.append(bytes),
            _ => bytes,
        };
        Literal::all(rest).for_each(|literal| self.put(LineCell::Literal(literal), Literal::MAX));
    }
}

/// Sources of cell values other than the record.
pub(super) struct CellSource {
    pub events: BuiltInEvents,
    pub columns: Columns,
    pub form: Form,
    pub times: Times,
}

impl Segment {
    /// Appends the texts of an event.
    pub fn append_event(&self, source: &CellSource, record: &KevRecord<'_>, out: &mut TextBuf) {
        for (before, column, width) in &self.columns {
            out.push(before);
            let ColumnWriter::Qnx(QnxWriter::Event(write)) = column.info().writer else { continue };
            let is_string = source.form == Form::Ndjson && column.info().value == ValueType::Text;
            out.push(if is_string { b"\"" } else { b"" });
            let start = out.len();
            // Names of classes and events contain no characters that need escapes.
            write(&source.events, record, out);
            if source.form == Form::Text {
                align(start, *width, column.info().side, out);
            }
            out.push(if is_string { b"\"" } else { b"" });
        }
        out.push(&self.end);
    }

    /// Appends the texts of an owner.
    pub fn append_owner(&self, form: Form, owner: &Owner, out: &mut TextBuf) {
        for (before, column, width) in &self.columns {
            out.push(before);
            let ColumnWriter::Qnx(QnxWriter::Owner(value)) = column.info().writer else { continue };
            let start = out.len();
            match value(owner) {
                OwnerValue::Number(None) | OwnerValue::Name(None) if form == Form::Ndjson => out.push(b"null"),
                OwnerValue::Number(None) | OwnerValue::Name(None) => out.push(b"-"),
                OwnerValue::Number(Some(number)) => {
                    let len = num::int(out.spare(), 0, i64::from(number) as u64);
                    out.advance(len);
                }
                OwnerValue::Name(Some(name)) => {
                    let start = form.begin_value(out);
                    push_escaped(name, out);
                    form.end_value(start, out);
                }
            }
            if form == Form::Text {
                align(start, *width, column.info().side, out);
            }
        }
        out.push(&self.end);
    }
}

/// Aligns the value that was appended at `start`.
fn align(start: usize, width: usize, side: Side, out: &mut TextBuf) {
    let len = out.len() - start;
    if len >= width {
        return;
    }
    match side {
        Side::Left => out.pad(width - len),
        Side::Right => {
            let value = out.as_bytes()[start..].to_vec();
            out.truncate(start);
            out.pad(width - len);
            out.push(&value);
        }
    }
}

/// Maximum bytes of a cached segment text.
const MAX_TEXT: usize = 96;

/// Texts of segments by class and event number, each rendered once.
pub(super) struct EventTexts {
    /// By class and event, the index of the first text plus 1; 0 if they are not rendered yet.
    places: Vec<u32>,
    texts: Vec<ShortText>,
}

/// Text of a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShortText {
    text: [u8; MAX_TEXT],
    len: u8,
}

impl ShortText {
    fn new(text: &[u8]) -> Option<Self> {
        let mut short = Self { text: [b' '; MAX_TEXT], len: text.len() as u8 };
        short.text.get_mut(..text.len())?.copy_from_slice(text);
        Some(short)
    }

    /// Writes the text at an offset, and returns its end.
    #[inline(always)]
    pub fn put(&self, room: &mut [u8], at: usize) -> usize {
        store(room, at, self.text);
        at + usize::from(self.len)
    }
}

impl EventTexts {
    const N_CLASSES: usize = 32;
    const N_EVENTS: usize = 1024;

    pub fn new() -> Self {
        Self { places: vec![0; Self::N_CLASSES * Self::N_EVENTS], texts: Vec::new() }
    }

    #[inline(always)]
    fn place(record: &KevRecord<'_>) -> usize {
        let event = usize::from(record.event);
        if event < Self::N_EVENTS { usize::from(record.class) * Self::N_EVENTS + event } else { usize::MAX }
    }

    /// The text of one segment, if it is cached.
    #[inline(always)]
    pub fn find(&self, n: u8, record: &KevRecord<'_>) -> Option<&ShortText> {
        let first = self.places.get(Self::place(record))?.checked_sub(1)?;
        self.texts.get(first as usize + usize::from(n))
    }

    /// Appends the text of one segment, and caches the texts of the event. The label of an interrupt contains its
    /// number, which is data, so its texts are not cached.
    #[inline(never)]
    pub fn append(&mut self, n: u8, cells: &LineCells, source: &CellSource, record: &KevRecord<'_>, out: &mut TextBuf) {
        if !is_interrupt(record.class, record.event)
            && let Some(kept) = self.places.get_mut(Self::place(record)).filter(|place| **place == 0)
        {
            let mut text = TextBuf::new();
            let texts = cells.segments.iter().map(|segment| {
                text.clear();
                segment.append_event(source, record, &mut text);
                ShortText::new(text.as_bytes())
            });
            if let Some(texts) = texts.collect::<Option<Vec<_>>>() {
                *kept = self.texts.len() as u32 + 1;
                self.texts.extend(texts);
            }
        }
        if let Some(segment) = cells.segments.get(usize::from(n)) {
            segment.append_event(source, record, out);
        }
    }
}

/// Times of a log as a report shows them.
#[derive(Clone)]
pub(super) struct Times {
    pub form: TimeForm,
    pub clock: Option<Clock>,
    /// Start of the trace, for [`TimeForm::Relative`].
    pub start: TraceStart,
    /// Time of the clock's zero in ns since 1970, for [`TimeForm::Clock`].
    boot_ns: i128,
    /// Cache for [`TimeForm::Clock`]: the last second and its text.
    second: (i128, [u8; Times::SECOND]),
}

impl Times {
    /// Bytes of `YYYY-MM-DD HH:MM:SS`.
    const SECOND: usize = 19;

    pub fn new(form: TimeForm, header: &KevHeader, start: TraceStart) -> Self {
        let boot_ns = header.boot_ns().unwrap_or_default();
        Self { form, clock: Clock::new(header), start, boot_ns, second: (i128::MIN, [0; Self::SECOND]) }
    }

    /// Time of a record in ns since the clock's zero.
    #[inline]
    pub fn ns(&self, record: &KevRecord<'_>) -> Option<u64> {
        self.clock.zip(record.cycles()).map(|(clock, cycles)| clock.ns(cycles))
    }

    /// Time as the report shows it, in ns.
    #[inline]
    pub fn shown_ns(&self, ns: u64) -> i128 {
        match self.form {
            TimeForm::Absolute => ns.into(),
            TimeForm::Relative => {
                let start = self.clock.zip(self.start.cycles()).map_or(0, |(clock, cycles)| clock.ns(cycles));
                i128::from(ns) - i128::from(start)
            }
            TimeForm::Clock => i128::from(ns) + self.boot_ns,
        }
    }

    /// Fast path: writes the time of a cell at an offset, and returns its end. `None` for a date, a negative time, and
    /// a time wider than its column.
    #[inline(always)]
    pub fn put(&self, cell: LineCell, ns: Option<u64>, room: &mut [u8], at: usize) -> Option<usize> {
        if general_path::is_required() {
            return None;
        }
        let Some(ns) = ns else {
            let (text, len) = match cell {
                LineCell::Time if self.form == TimeForm::Clock => return None,
                LineCell::Time => {
                    store(room, at, *b"                 -");
                    return Some(at + TIME_WIDTH);
                }
                LineCell::BareTime => (*b"-   ", 1),
                _ => (*b"null", 4),
            };
            store(room, at, text);
            return Some(at + len);
        };
        let ns = match self.form {
            TimeForm::Absolute => ns,
            TimeForm::Relative => u64::try_from(self.shown_ns(ns)).ok()?,
            TimeForm::Clock => return None,
        };
        match cell {
            LineCell::Time => {
                let column = room.get_mut(at..)?.first_chunk_mut::<TIME_WIDTH>()?;
                num::fixed::<TIME_WIDTH, 9>(column, ns).then_some(at + TIME_WIDTH)
            }
            LineCell::BareTime => Some(num::decimal::<9>(room, at, ns)),
            _ => Some(num::dec(room, at, ns)),
        }
    }

    /// Appends any time in its column.
    #[inline(never)]
    pub fn append(&mut self, ns: Option<u64>, out: &mut TextBuf) {
        let start = out.len();
        self.append_bare(ns, out);
        let width = if self.form == TimeForm::Clock { DATE_WIDTH } else { TIME_WIDTH };
        align(start, width, Side::Right, out);
    }

    /// Appends a time without blanks, or `-`.
    pub fn append_bare(&mut self, ns: Option<u64>, out: &mut TextBuf) {
        let Some(ns) = ns.map(|ns| self.shown_ns(ns)) else { return out.push(b"-") };
        if self.form == TimeForm::Clock {
            return self.append_date(ns, out);
        }
        out.push(if ns < 0 { b"-" } else { b"" });
        // A time is at most 2^64 ns after the trace's start.
        let len = num::decimal::<9>(out.spare(), 0, u64::try_from(ns.unsigned_abs()).unwrap_or(u64::MAX));
        out.advance(len);
    }

    /// Appends date and time. Consecutive records share their second, whose text is cached.
    fn append_date(&mut self, ns: i128, out: &mut TextBuf) {
        let (second, fraction) = (ns.div_euclid(NS), ns.rem_euclid(NS));
        if second != self.second.0 {
            let text = date_and_time(ns);
            match text.as_bytes().split_first_chunk() {
                Some((first, [b'.', ..])) => self.second = (second, *first),
                // The time is outside the calendar.
                _ => return out.push(text.as_bytes()),
            }
        }
        let room = out.spare();
        store(room, 0, self.second.1);
        // The digit before the point is overwritten by the next store.
        let end = num::decimal::<9>(room, Self::SECOND - 1, fraction as u64);
        store(room, 0, self.second.1);
        out.advance(end);
    }

    /// Appends a time as JSON.
    #[inline]
    pub fn append_json(&self, ns: Option<u64>, out: &mut TextBuf) {
        match ns.map(|ns| self.shown_ns(ns)) {
            None => out.push(b"null"),
            Some(ns) => match u64::try_from(ns) {
                Ok(ns) => out.dec(ns),
                Err(_) => out.push(ns.to_string().as_bytes()),
            },
        }
    }
}

const NS: i128 = 1_000_000_000;
/// Width of [`Column::Time`].
const TIME_WIDTH: usize = 18;
/// Width of [`Column::TimeClock`].
const DATE_WIDTH: usize = 29;

/// CPUs in their column, by number.
pub(super) fn cpu_texts() -> [[u8; 4]; 256] {
    std::array::from_fn(|cpu| {
        let [.., a, b, c] = num::right_aligned(cpu as u32);
        [a, b, c, b' ']
    })
}

/// Writes a record's number in its column at an offset, and returns its end.
#[inline(always)]
pub(super) fn put_number(room: &mut [u8], at: usize, number: u64) -> usize {
    if number >= 100_000_000 {
        return num::dec(room, at, number);
    }
    store(room, at, num::right_aligned(number as u32));
    at + 8
}

/// Appends the field that a column shows, in its column or with its key; `is_defined` if definitions format the record,
/// which then has no fields of its own.
pub(super) fn append_argument(
    column: Column,
    last: bool,
    source: &CellSource,
    is_defined: bool,
    record: &KevRecord<'_>,
    out: &mut TextBuf,
) {
    let CellSource { events, columns, form, .. } = source;
    let start = out.len();
    let field =
        (!is_defined).then(|| RecordFields::new(events.arguments(record)).find(columns.argument(column))).flatten();
    match (field, form) {
        (Some(field), Form::Ndjson) => {
            columns.push_argument_key(column, out);
            field.push_raw(out);
        }
        (None, Form::Ndjson) => {
            // Removes the comma before its key, too.
            if out.as_bytes().ends_with(b",") {
                out.truncate(start - 1);
            }
        }
        (Some(field), _) => field.push_text(out),
        (None, _) => out.push(b"-"),
    }
    match form {
        Form::Ndjson => {}
        Form::Text => {
            if any_byte(&out.as_bytes()[start..], |byte| byte.is_ascii_control()) {
                let text = out.as_bytes()[start..].to_vec();
                out.truncate(start);
                push_escaped(&text, out);
            }
            if !last {
                align(start, columns.width(column), Side::Left, out);
            }
        }
        Form::Tsv | Form::Csv => form.end_value(start, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::kev::QnxRelease;

    fn text(write: impl FnOnce(&mut TextBuf)) -> String {
        let mut out = TextBuf::new();
        write(&mut out);
        String::from_utf8_lossy(out.as_bytes()).into_owned()
    }

    #[test]
    fn names_of_known_events_are_kept() {
        // A column adds at most a delimiter, a key and quotes.
        let others = r#","class":"KER_CALL","id":1023,"type":"","data":"#.len();
        for class in 0..32 {
            for release in [None, Some(QnxRelease { major: 7, minor: 1 }), Some(QnxRelease { major: 8, minor: 0 })] {
                let labels = BuiltInEvents::of(release, false).labels(class);
                assert!(labels.iter().all(|label| others + label.len() + "/127".len() <= MAX_TEXT));
            }
        }
    }

    #[test]
    fn times_are_seconds_with_nine_decimals() {
        let times = |form| Times::new(form, &KevHeader::default(), TraceStart::default());
        for ns in [0, 1, 83_122_438_797_606, 9_999_999_000_000_000, 10_000_000_000_000_000, u64::MAX] {
            let bare = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
            let mut times = times(TimeForm::Absolute);
            assert_eq!(text(|out| times.append_bare(Some(ns), out)), bare);
            assert_eq!(text(|out| times.append(Some(ns), out)), format!("{bare:>18}"));
        }
        assert_eq!(text(|out| times(TimeForm::Absolute).append(None, out)), format!("{:>18}", "-"));
        let mut clock = times(TimeForm::Clock);
        for ns in [0, 999_999_999, 1_000_000_000, 5, 951_782_399_000_000_001, u64::MAX] {
            assert_eq!(text(|out| clock.append(Some(ns), out)), date_and_time(ns.into()));
        }
    }
}
