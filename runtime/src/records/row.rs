//! One record's line, in each form.

use super::clock::Clock;
use super::names::{Name, Names};
use super::print::RecordPrinter;
use super::{RecordOptions, RecordWriter, Tallied};
use crate::catalog::Catalog;
use crate::events::{class_name, is_interrupt};
use crate::forms::Form;
use crate::json;
use crate::reader::kev::{KevHeader, KevRecord};
use crate::screen::marks;
use crate::spelling::hint;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tfbc_vm::{Space, TextBuf, num};

/// A column of a log's report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordColumn {
    /// The record's number in the log, from 1.
    Event,
    /// Seconds since the clock's zero, with nine decimals; `-` where the clock's high half or rate is not known.
    Time,
    /// The CPU.
    Cpu,
    /// The class's name, or its number where there is none.
    Class,
    /// The event's number in its class.
    Id,
    /// The event's label.
    Type,
    /// The text of the definitions, or the arguments.
    Data,
}

impl RecordColumn {
    /// Every column with its name and its least width in text.
    const ALL: [(RecordColumn, &'static str, usize); 7] = [
        (RecordColumn::Event, "event", 8),
        (RecordColumn::Time, "time", 18),
        (RecordColumn::Cpu, "cpu", 3),
        (RecordColumn::Class, "class", 8),
        (RecordColumn::Id, "id", 4),
        (RecordColumn::Type, "type", 20),
        (RecordColumn::Data, "data", 0),
    ];

    /// What stands before the data, if nothing else is asked for.
    const USUAL: [RecordColumn; 6] = [
        RecordColumn::Event,
        RecordColumn::Time,
        RecordColumn::Cpu,
        RecordColumn::Class,
        RecordColumn::Id,
        RecordColumn::Type,
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(column, ..)| *column == self).map_or("", |(_, name, _)| name)
    }

    /// The name as a key of JSON.
    fn key(self) -> &'static [u8] {
        match self {
            RecordColumn::Event => b"\"event\":",
            RecordColumn::Time => b"\"time_ns\":",
            RecordColumn::Cpu => b"\"cpu\":",
            RecordColumn::Class => b"\"class\":",
            RecordColumn::Id => b"\"id\":",
            RecordColumn::Type => b"\"type\":",
            RecordColumn::Data => b"\"data\":",
        }
    }

    fn width(self) -> usize {
        Self::ALL.iter().find(|(column, ..)| *column == self).map_or(0, |(.., width)| *width)
    }

    /// Whether text stands at the right of its column.
    fn is_number(self) -> bool {
        matches!(self, RecordColumn::Event | RecordColumn::Time | RecordColumn::Cpu | RecordColumn::Id)
    }
}

/// The columns of a log's report, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordColumns(Vec<RecordColumn>);

impl Default for RecordColumns {
    fn default() -> Self {
        RecordColumns(RecordColumn::ALL.map(|(column, ..)| column).to_vec())
    }
}

/// Why a list of columns was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordColumnsError(String);

impl fmt::Display for RecordColumnsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RecordColumnsError {}

impl RecordColumns {
    /// Reads a list such as `class,id,data`; `text` is another name of `data`.
    ///
    /// # Errors
    /// A name that is none or comes twice, or an empty list.
    pub fn parse(list: &str) -> Result<Self, RecordColumnsError> {
        let mut columns = Vec::new();
        for name in list.split(',').map(str::trim) {
            let known =
                RecordColumn::ALL.iter().find(|(_, known, _)| *known == name || (*known, name) == ("data", "text"));
            let Some((column, ..)) = known else {
                let names = RecordColumn::ALL.map(|(_, name, _)| name);
                let hint = hint(name, &names);
                let names = names.join(",");
                let text = format!("unknown column `{name}` for a QNX log: there are {names}{hint}");
                return Err(RecordColumnsError(text));
            };
            if columns.contains(column) {
                return Err(RecordColumnsError(format!("column `{name}` is named twice")));
            }
            columns.push(*column);
        }
        Ok(Self(columns))
    }

    /// Whether there is nothing but the data: no heading, no margins.
    pub fn is_bare(&self) -> bool {
        self.0 == [RecordColumn::Data]
    }
}

impl RecordOptions {
    /// The columns before the data, where lines have nothing behind it and nothing depends on what it is.
    fn plain_columns(&self) -> Option<&[RecordColumn]> {
        let is_plain = self.form == Form::Text && self.grep.is_none() && !self.stats;
        match self.columns.0.split_last() {
            Some((RecordColumn::Data, columns)) if is_plain && !columns.is_empty() => Some(columns),
            _ => None,
        }
    }
}

/// Writes the lines of one log's report.
pub(super) struct RowWriter<'r> {
    catalog: &'r Catalog<'r>,
    options: &'r RecordOptions,
    /// Byte order, release and clock.
    header: KevHeader,
    /// The clock, where anything asks for times.
    clock: Option<Clock>,
    /// The columns before the data, where a line is written from its beginning to its end.
    plain: Option<&'r [RecordColumn]>,
    /// Names of events, where those columns are the usual ones.
    names: Option<Names>,
    /// The CPUs in their column, with the blanks around it, by number.
    cpus: [[u8; 8]; 256],
    printer: RecordPrinter<'r>,
    /// What is made of a record before its line, where that is not plain; each is `None` while it is in use.
    data: Option<TextBuf>,
    fields: Option<TextBuf>,
    /// The names of the classes, by number.
    classes: [Option<&'static str>; 32],
    n_reported: u64,
    counts: Arc<Counts>,
}

/// How often each event was reported, counted by all workers together.
pub(super) struct Counts(Vec<AtomicU64>);

impl Counts {
    const N_EVENTS: usize = 1024;

    fn new(wanted: bool) -> Self {
        let n = if wanted { 32 * Self::N_EVENTS } else { 0 };
        Self((0..n).map(|_| AtomicU64::new(0)).collect())
    }

    fn add(&self, class: u8, event: u16) {
        if let Some(count) = self.0.get(usize::from(class) * Self::N_EVENTS + usize::from(event)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Class, event and count of every event that was met, by class and event.
    pub fn iter(&self) -> impl Iterator<Item = (u8, u16, u64)> {
        let counts = self.0.iter().enumerate().map(|(at, n)| (at, n.load(Ordering::Relaxed)));
        counts.filter(|(_, n)| *n > 0).map(|(at, n)| ((at / Self::N_EVENTS) as u8, (at % Self::N_EVENTS) as u16, n))
    }
}

impl Clone for RowWriter<'_> {
    fn clone(&self) -> Self {
        RowWriter { counts: self.counts(), ..RowWriter::new(self.catalog, self.options, &self.header) }
    }
}

impl<'r> RowWriter<'r> {
    pub fn new(catalog: &'r Catalog<'r>, options: &'r RecordOptions, header: &KevHeader) -> Self {
        let is_timed = options.columns.0.contains(&RecordColumn::Time) || options.filter.is_timed();
        let plain = options.plain_columns();
        let is_usual = |columns: &[RecordColumn]| !options.colour && columns == RecordColumn::USUAL;
        RowWriter {
            catalog,
            options,
            printer: RecordPrinter::new(catalog, header.big_endian, header.release, options.limits),
            header: KevHeader { attributes: Vec::new(), syspage: None, ..*header },
            clock: Clock::new(header).filter(|_| is_timed),
            plain,
            names: plain.is_some_and(is_usual).then(Names::new),
            cpus: std::array::from_fn(|cpu| {
                let [.., a, b, c] = num::right_aligned(cpu as u32);
                [b' ', b' ', a, b, c, b' ', b' ', b' ']
            }),
            data: None,
            fields: None,
            classes: std::array::from_fn(|class| class_name(class as u8)),
            n_reported: 0,
            counts: Arc::new(Counts::new(options.stats)),
        }
    }

    /// What is counted in place of a report.
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    /// The line of names, where the form has one.
    pub fn heading(&self, out: &mut TextBuf) {
        let columns = &self.options.columns;
        let bare = columns.is_bare() && self.options.form == Form::Text;
        if self.options.no_heading || bare || self.options.form == Form::Ndjson {
            return;
        }
        self.dim(true, out);
        for (at, column) in columns.0.iter().enumerate() {
            out.push(if at > 0 { self.options.form.separator() } else { b"" });
            match self.options.form {
                Form::Text => aligned(*column, at + 1 == columns.0.len(), column.name().as_bytes(), out),
                _ => out.push(column.name().as_bytes()),
            }
        }
        self.dim(false, out);
        self.end_line(out);
    }

    fn end_line(&self, out: &mut TextBuf) {
        out.push(self.options.form.line_end());
    }

    /// Begins or ends what steps back on a terminal.
    fn dim(&self, begins: bool, out: &mut TextBuf) {
        if self.options.colour && self.options.form == Form::Text {
            let marks = marks();
            out.push(if begins { &marks.dim } else { &marks.plain });
        }
    }

    fn line(&mut self, record: &KevRecord<'_>, time_ns: Option<u64>, defined: bool, data: &[u8], out: &mut TextBuf) {
        if self.options.form == Form::Ndjson {
            return self.object(record, time_ns, defined, data, out);
        }
        if self.options.form == Form::Text {
            self.aligned_line(record, time_ns, data, out);
        } else {
            let delimiter = self.options.form.delimiter();
            for (at, column) in self.options.columns.0.iter().enumerate() {
                if at > 0 {
                    out.push(&delimiter);
                }
                self.cell(*column, record, time_ns, data, out);
            }
        }
        self.end_line(out);
    }

    fn aligned_line(&self, record: &KevRecord<'_>, time_ns: Option<u64>, data: &[u8], out: &mut TextBuf) {
        if let Some((last, columns)) = self.options.columns.0.split_last() {
            self.columns(columns, record, time_ns, data, out);
            self.column(*last, true, record, time_ns, data, out);
        }
    }

    /// Appends values in their columns, with two blanks behind each.
    fn columns(
        &self,
        columns: &[RecordColumn],
        record: &KevRecord<'_>,
        time_ns: Option<u64>,
        data: &[u8],
        out: &mut TextBuf,
    ) {
        for column in columns {
            self.column(*column, false, record, time_ns, data, out);
            out.spare()[..2].copy_from_slice(b"  ");
            out.advance(2);
        }
    }

    #[inline(always)]
    fn column(
        &self,
        column: RecordColumn,
        last: bool,
        record: &KevRecord<'_>,
        time_ns: Option<u64>,
        data: &[u8],
        out: &mut TextBuf,
    ) {
        let steps_back = self.options.colour && !matches!(column, RecordColumn::Type | RecordColumn::Data);
        if steps_back {
            self.dim(true, out);
        }
        self.aligned_cell(column, last, record, time_ns, data, out);
        if steps_back {
            self.dim(false, out);
        }
    }

    /// Appends a record's line from its beginning to its end, where these columns stand before the data.
    #[inline(always)]
    fn plain_line(
        &mut self,
        columns: &[RecordColumn],
        record: &KevRecord<'_>,
        time_ns: Option<u64>,
        out: &mut TextBuf,
    ) {
        if self.options.defined && !self.printer.is_named(record) {
            return;
        }
        let line = out.len();
        if self.put_usual(record, time_ns, out).is_none() {
            self.columns(columns, record, time_ns, b"", out);
        }
        if self.printer.definitions(record, out) {
            self.end_line(out);
        } else if self.options.defined {
            return out.truncate(line);
        } else {
            self.push_arguments(record, out);
        }
        self.n_reported += 1;
    }

    /// Appends the usual columns, with two blanks behind each; `None`, and nothing appended, where a value is wider than
    /// its column.
    #[inline(always)]
    fn put_usual(&mut self, record: &KevRecord<'_>, time_ns: Option<u64>, out: &mut TextBuf) -> Option<()> {
        const TIME: usize = 8 + 2;
        const CPU: usize = TIME + TIME_WIDTH;
        const NAME: usize = CPU + 2 + 3 + 2;
        let place = match self.names.as_ref()?.find(record) {
            Some(place) => place,
            None => self.learn(record)?,
        };
        let name = self.names.as_ref()?.get(place)?;
        let number = u32::try_from(record.number).ok().filter(|number| *number < 100_000_000)?;
        let room = out.spare();
        room[..8].copy_from_slice(&num::right_aligned(number));
        room[8..TIME].copy_from_slice(b"  ");
        let time = room[TIME..].first_chunk_mut::<TIME_WIDTH>()?;
        match time_ns {
            Some(ns) if num::fixed::<TIME_WIDTH, 9>(time, ns) => {}
            Some(_) => return None,
            None => *time = *b"                 -",
        }
        room[CPU..][..8].copy_from_slice(&self.cpus[usize::from(record.cpu)]);
        room[NAME..][..Name::MAX].copy_from_slice(&name.text);
        out.advance(NAME + usize::from(name.len));
        if is_interrupt(record.class, record.event) {
            self.columns(&[RecordColumn::Type], record, time_ns, b"", out);
        }
        Some(())
    }

    /// Puts together what a record's event is called; where that stands.
    #[cold]
    fn learn(&mut self, record: &KevRecord<'_>) -> Option<usize> {
        let mut text = TextBuf::new();
        self.columns(Name::columns(record), record, None, b"", &mut text);
        self.names.as_mut()?.learn(record, text.as_bytes())
    }

    /// Appends a record's arguments without the blanks around them, behind columns, and ends the line.
    #[inline(always)]
    fn push_arguments(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        // They begin with a blank, which serves as one of those behind the columns.
        let start = out.len() - 1;
        out.truncate(start);
        self.printer.whole_arguments(record, out);
        let text = out.as_bytes()[start..].trim_ascii_end();
        if matches!(text, [b' ', first, ..] if !first.is_ascii_whitespace()) {
            out.truncate(start + text.len());
        } else {
            let text = text.trim_ascii_start().to_vec();
            out.truncate(start);
            out.push(b" ");
            out.push(&text);
        }
        out.push(b"\n");
    }

    /// A value between separators. What stands in the other columns has nothing that a form writes otherwise.
    #[inline(always)]
    fn cell(&self, column: RecordColumn, record: &KevRecord<'_>, time_ns: Option<u64>, data: &[u8], out: &mut TextBuf) {
        match column {
            RecordColumn::Data => self.options.form.value(data, out),
            _ => self.value(column, record, time_ns, out),
        }
    }

    /// A value in its column; the last column has no blanks behind it.
    #[inline(always)]
    fn aligned_cell(
        &self,
        column: RecordColumn,
        last: bool,
        record: &KevRecord<'_>,
        time_ns: Option<u64>,
        data: &[u8],
        out: &mut TextBuf,
    ) {
        match column {
            RecordColumn::Event => right_aligned::<8>(record.number, out),
            RecordColumn::Cpu => right_aligned::<3>(record.cpu.into(), out),
            RecordColumn::Id => right_aligned::<4>(record.event.into(), out),
            RecordColumn::Time => {
                let cell = out.spare().first_chunk_mut::<TIME_WIDTH>();
                if cell.is_some_and(|cell| time_ns.is_some_and(|ns| num::fixed::<TIME_WIDTH, 9>(cell, ns))) {
                    out.advance(TIME_WIDTH);
                } else {
                    let mut text = [0; TextBuf::SPARE];
                    let len = write_time(time_ns, &mut text);
                    aligned(column, last, &text[..len], out);
                }
            }
            RecordColumn::Class | RecordColumn::Type => {
                let start = out.len();
                self.value(column, record, time_ns, out);
                if !last {
                    out.pad((start + column.width()).saturating_sub(out.len()));
                }
            }
            RecordColumn::Data => aligned(column, last, data, out),
        }
    }

    fn value(&self, column: RecordColumn, record: &KevRecord<'_>, time_ns: Option<u64>, out: &mut TextBuf) {
        match column {
            RecordColumn::Event => out.dec(record.number),
            RecordColumn::Time => {
                let len = write_time(time_ns, out.spare());
                out.advance(len);
            }
            RecordColumn::Cpu => out.dec(record.cpu.into()),
            RecordColumn::Class => match self.classes.get(usize::from(record.class)) {
                Some(Some(name)) => out.push(name.as_bytes()),
                _ => out.dec(record.class.into()),
            },
            RecordColumn::Id => out.dec(record.event.into()),
            RecordColumn::Type => self.printer.events().type_text(record, out),
            RecordColumn::Data => {}
        }
    }

    /// `{"event":1,"time_ns":…,"cpu":0,"class":"USER","id":65,"type":"…","data":"…","fields":[…]}`
    fn object(&mut self, record: &KevRecord<'_>, time_ns: Option<u64>, defined: bool, data: &[u8], out: &mut TextBuf) {
        out.push(b"{");
        for (at, column) in self.options.columns.0.iter().enumerate() {
            if at > 0 {
                out.push(b",");
            }
            out.push(column.key());
            match column {
                RecordColumn::Time => match time_ns {
                    Some(ns) => out.dec(ns),
                    None => out.push(b"null"),
                },
                RecordColumn::Data => json::string(data, out),
                RecordColumn::Class | RecordColumn::Type => {
                    out.push(b"\"");
                    self.value(*column, record, time_ns, out);
                    out.push(b"\"");
                }
                _ => self.value(*column, record, time_ns, out),
            }
        }
        if defined && self.options.columns.0.contains(&RecordColumn::Data) {
            let mut fields = self.fields.take().unwrap_or_default();
            fields.clear();
            self.printer.fields(record, &mut fields);
            out.push(b",\"fields\":[");
            for (at, field) in
                fields.as_bytes().split(|byte| *byte == Space::FIELD).filter(|f| !f.is_empty()).enumerate()
            {
                out.push(if at > 0 { b"," } else { b"" });
                field_object(field, out);
            }
            out.push(b"]");
            self.fields = Some(fields);
        }
        out.push(b"}\n");
    }
}

impl RecordWriter for RowWriter<'_> {
    fn record(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let class = record.meant_class();
        let time_ns = self.clock.zip(record.cycles()).map(|(clock, cycles)| clock.ns(cycles));
        if !self.options.filter.shows(class, record.event, record.cpu, time_ns) {
            return;
        }
        let record = KevRecord { class, ..*record };
        if let Some(columns) = self.plain {
            return self.plain_line(columns, &record, time_ns, out);
        }
        let mut data = self.data.take().unwrap_or_default();
        data.clear();
        let defined = self.printer.definitions(&record, &mut data);
        if defined || !self.options.defined {
            if !defined {
                self.printer.whole_arguments(&record, &mut data);
            }
            let text = if defined { data.as_bytes() } else { data.as_bytes().trim_ascii() };
            let wanted = self.options.grep.as_ref().is_none_or(|wanted| wanted.is_match(text));
            self.n_reported += u64::from(wanted);
            if wanted && self.options.stats {
                self.counts.add(class, record.event);
            } else if wanted {
                self.line(&record, time_ns, defined, text, out);
            }
        }
        self.data = Some(data);
    }

    fn take_tallied(&mut self) -> Tallied {
        Tallied {
            n_reported: std::mem::take(&mut self.n_reported),
            n_truncated: std::mem::take(&mut self.printer.n_truncated),
            n_limited: std::mem::take(&mut self.printer.n_limited),
            n_refused: std::mem::take(&mut self.printer.n_refused),
            n_left_out: 0,
        }
    }
}

/// `{"name":"ipicmd","raw":768,"text":"0x300 1_bit_8"}`
fn field_object(field: &[u8], out: &mut TextBuf) {
    let mut parts = field.splitn(3, |byte| *byte == Space::UNIT);
    let [name, raw, text] = [(); 3].map(|()| parts.next().unwrap_or_default());
    out.push(b"{\"name\":");
    json::string(name, out);
    out.push(b",\"raw\":");
    match raw {
        b"" => out.push(b"null"),
        b"\"" => json::string(text, out),
        number => out.push(number),
    }
    out.push(b",\"text\":");
    json::string(text, out);
    out.push(b"}");
}

const NS: u64 = 1_000_000_000;
/// The width of [`RecordColumn::Time`].
const TIME_WIDTH: usize = 18;

/// Writes seconds with nine decimals; gives their length.
fn write_time(time_ns: Option<u64>, text: &mut [u8; TextBuf::SPARE]) -> usize {
    let Some(ns) = time_ns else {
        text[0] = b'-';
        return 1;
    };
    let end = num::dec(text, 0, ns / NS);
    text[end] = b'.';
    num::dec_padded::<9>(text, end + 1, ns % NS)
}

/// A number with blanks before it up to a width of at most eight.
#[inline(always)]
fn right_aligned<const WIDTH: usize>(number: u64, out: &mut TextBuf) {
    if number >= const { 10u64.pow(WIDTH as u32) } {
        return out.dec(number);
    }
    out.spare()[..WIDTH].copy_from_slice(&num::right_aligned(number as u32)[8 - WIDTH..]);
    out.advance(WIDTH);
}

/// A value in its column; the last column has no blanks behind it.
fn aligned(column: RecordColumn, last: bool, value: &[u8], out: &mut TextBuf) {
    let blanks = column.width().saturating_sub(value.len());
    if column.is_number() {
        out.pad(blanks);
    }
    out.push(value);
    if !column.is_number() && !last {
        out.pad(blanks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{FormatSet, LoadOptions};
    use crate::events::Events;

    #[test]
    fn classes_and_labels_are_the_same_in_every_form() {
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() && !b",\"\\".contains(&byte));
        for class in 0..32 {
            assert!(class_name(class).is_none_or(plain));
            for release in [None, Some((7, 1)), Some((8, 0))] {
                assert!(Events::of(release, false).labels(class).into_iter().all(plain));
            }
        }
    }

    #[test]
    fn plain_lines_are_those_that_are_put_together_from_their_columns() {
        let formats = FormatSet::load(&[], &LoadOptions::default()).unwrap();
        let catalog = formats.catalog().unwrap();
        let bytes: Vec<u8> = b"name\0 \n".iter().copied().chain(0..33).collect();
        let numbers = [1, 99_999_999, 100_000_000, u64::MAX];
        let clocks = [None, Some(0), Some(83_122), Some(u32::MAX)];
        let mut n_usual = 0;
        for (release, columns) in [None, Some((7, 1)), Some((8, 0))].into_iter().flat_map(|release| {
            [RecordColumns::default(), RecordColumns::parse("type,cpu,data").unwrap()].map(|list| (release, list))
        }) {
            let options = RecordOptions { columns, ..RecordOptions::default() };
            let header = KevHeader { cycles_per_sec: Some(1_000_000_007), release, ..KevHeader::default() };
            let mut plain = RowWriter::new(&catalog, &options, &header);
            let mut each = RowWriter { plain: None, ..plain.clone() };
            for n in 0..3 << 15 {
                let (class, event) = ((n >> 10 & 31) as u8, (n & 1023) as u16);
                let known = Events::of(release, false).label(class, event).is_some();
                if !known && n % 67 > 0 {
                    continue;
                }
                let pick = |k: usize| n / (k + 1) + k;
                let record = KevRecord {
                    number: numbers[pick(0) % 4],
                    offset: 0,
                    class,
                    event: if n % 5003 == 0 { 1024 + event } else { event },
                    cpu: pick(1) as u8,
                    wide: pick(2) % 3 == 0,
                    stamp: pick(3) as u32 * 48_271,
                    msb: clocks[pick(4) % 4],
                    bytes: &bytes[..[0, 4, 8, 24, 40][pick(5) % 5]],
                };
                let (mut text, mut expected) = (TextBuf::new(), TextBuf::new());
                n_usual += usize::from(plain.put_usual(&record, None, &mut text).is_some());
                text.clear();
                plain.record(&record, &mut text);
                each.record(&record, &mut expected);
                let [text, expected] =
                    [text, expected].map(|text| String::from_utf8_lossy(text.as_bytes()).into_owned());
                assert_eq!(text, expected, "{record:?}");
            }
        }
        assert!(n_usual > 3000, "{n_usual} have the usual columns");
    }

    #[test]
    fn names_of_known_events_are_kept() {
        for class in 0..32 {
            for release in [None, Some((7, 1)), Some((8, 0))] {
                // Behind a label may stand a number.
                let width = |label: &str| 8 + 2 + 4 + 2 + label.len() + 4 + 2;
                assert!(Events::of(release, false).labels(class).iter().all(|label| width(label) <= Name::MAX));
            }
        }
    }

    #[test]
    fn numbers_end_where_their_columns_do() {
        for number in [0, 7, 99, 1234, 99_999_999, 100_000_000, u64::MAX] {
            let mut out = TextBuf::new();
            right_aligned::<8>(number, &mut out);
            assert_eq!(out.as_bytes(), format!("{number:>8}").as_bytes());
        }
    }

    #[test]
    fn times_are_seconds_with_nine_decimals() {
        for ns in [0, 1, NS, 83_122_438_797_606, 9_999_999 * NS, 10_000_000 * NS, u64::MAX] {
            let mut text = [0; TextBuf::SPARE];
            let len = write_time(Some(ns), &mut text);
            let expected = format!("{}.{:09}", ns / NS, ns % NS);
            assert_eq!(text[..len], *expected.as_bytes());
            let mut text = [0; TIME_WIDTH];
            if num::fixed::<TIME_WIDTH, 9>(&mut text, ns) {
                assert_eq!(text, *format!("{expected:>18}").as_bytes());
            }
        }
    }
}
