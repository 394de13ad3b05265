//! One record's line, in each form.

use super::print::RecordPrinter;
use super::{RecordOptions, RecordWriter, Tallied};
use crate::catalog::Catalog;
use crate::events::class_name;
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

/// Writes the lines of one log's report.
pub(super) struct RowWriter<'r> {
    catalog: &'r Catalog<'r>,
    options: &'r RecordOptions,
    /// Byte order and clock.
    header: KevHeader,
    printer: RecordPrinter<'r>,
    /// What is made of a record before its line; each is `None` while it is in use.
    data: Option<TextBuf>,
    fields: Option<TextBuf>,
    /// The names of the classes, by number.
    classes: [Option<&'static str>; 32],
    /// Whether anything asks for times.
    timed: bool,
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
        RowWriter {
            catalog,
            options,
            printer: RecordPrinter::new(catalog, header.big_endian, header.release, options.limits),
            header: KevHeader { attributes: Vec::new(), syspage: None, ..*header },
            data: None,
            fields: None,
            classes: std::array::from_fn(|class| class_name(class as u8)),
            timed: options.columns.0.contains(&RecordColumn::Time) || options.filter.is_timed(),
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
            self.separate(at, out);
            match self.options.form {
                Form::Text => aligned(*column, at + 1 == columns.0.len(), column.name().as_bytes(), out),
                _ => out.push(column.name().as_bytes()),
            }
        }
        self.dim(false, out);
        self.end_line(out);
    }

    #[inline]
    fn separate(&self, at: usize, out: &mut TextBuf) {
        if at > 0 {
            out.push(self.options.form.separator());
        }
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
            for (at, column) in self.options.columns.0.iter().enumerate() {
                self.separate(at, out);
                self.cell(*column, record, time_ns, data, out);
            }
        }
        self.end_line(out);
    }

    fn aligned_line(&self, record: &KevRecord<'_>, time_ns: Option<u64>, data: &[u8], out: &mut TextBuf) {
        let columns = &self.options.columns.0;
        for (at, column) in columns.iter().enumerate() {
            if at > 0 {
                out.spare()[..2].copy_from_slice(b"  ");
                out.advance(2);
            }
            let steps_back = self.options.colour && !matches!(column, RecordColumn::Type | RecordColumn::Data);
            if steps_back {
                self.dim(true, out);
            }
            self.aligned_cell(*column, at + 1 == columns.len(), record, time_ns, data, out);
            if steps_back {
                self.dim(false, out);
            }
        }
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
            self.separate(at, out);
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
        let time_ns = record.cycles().filter(|_| self.timed).and_then(|cycles| self.header.ns(cycles));
        if !self.options.filter.shows(class, record.event, record.cpu, time_ns) {
            return;
        }
        let record = KevRecord { class, ..*record };
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
