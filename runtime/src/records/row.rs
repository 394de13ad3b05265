//! One record's line, in each form.

use super::print::RecordPrinter;
use super::{RecordOptions, RecordWriter, Tallied};
use crate::catalog::Catalog;
use crate::events::class_name;
use crate::forms::{DIM, Form, PLAIN};
use crate::json;
use crate::reader::kev::{KevHeader, KevRecord};
use crate::spelling::hint;
use std::fmt;
use std::io::Write;
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
    data: TextBuf,
    cell: TextBuf,
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
            data: TextBuf::new(),
            cell: TextBuf::new(),
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

    fn separate(&self, at: usize, out: &mut TextBuf) {
        out.push(if at > 0 { self.options.form.separator() } else { b"" });
    }

    fn end_line(&self, out: &mut TextBuf) {
        out.push(self.options.form.line_end());
    }

    /// Begins or ends what steps back on a terminal.
    fn dim(&self, begins: bool, out: &mut TextBuf) {
        if self.options.colour && self.options.form == Form::Text {
            out.push(if begins { DIM } else { PLAIN });
        }
    }

    fn line(&mut self, record: &KevRecord<'_>, time_ns: Option<u64>, defined: bool, data: &[u8], out: &mut TextBuf) {
        if self.options.form == Form::Ndjson {
            return self.object(record, time_ns, defined, data, out);
        }
        let mut cell = std::mem::take(&mut self.cell);
        let columns = &self.options.columns.0;
        for (at, column) in columns.iter().enumerate() {
            self.separate(at, out);
            let value = if *column == RecordColumn::Data {
                data
            } else {
                cell.clear();
                self.value(*column, record, time_ns, &mut cell);
                cell.as_bytes()
            };
            match self.options.form {
                Form::Text => {
                    let steps_back = !matches!(column, RecordColumn::Type | RecordColumn::Data);
                    if steps_back {
                        self.dim(true, out);
                    }
                    aligned(*column, at + 1 == columns.len(), value, out);
                    if steps_back {
                        self.dim(false, out);
                    }
                }
                form => form.value(value, out),
            }
        }
        self.end_line(out);
        self.cell = cell;
    }

    fn value(&self, column: RecordColumn, record: &KevRecord<'_>, time_ns: Option<u64>, out: &mut TextBuf) {
        match column {
            RecordColumn::Event => out.dec(record.number),
            RecordColumn::Time => match time_ns {
                None => out.push(b"-"),
                Some(ns) => {
                    let mut text = [0; 64];
                    let end = num::dec(&mut text, 0, ns / 1_000_000_000);
                    text[end] = b'.';
                    let end = num::dec_padded::<9>(&mut text, end + 1, ns % 1_000_000_000);
                    out.push(&text[..end]);
                }
            },
            RecordColumn::Cpu => out.dec(record.cpu.into()),
            RecordColumn::Class => match class_name(record.class) {
                Some(name) => out.push(name.as_bytes()),
                None => out.dec(record.class.into()),
            },
            RecordColumn::Id => out.dec(record.event.into()),
            RecordColumn::Type => self.printer.events().type_text(record, out),
            RecordColumn::Data => {}
        }
    }

    /// `{"event":1,"time_ns":…,"cpu":0,"class":"USER","id":65,"type":"…","data":"…","fields":[…]}`
    fn object(&mut self, record: &KevRecord<'_>, time_ns: Option<u64>, defined: bool, data: &[u8], out: &mut TextBuf) {
        let mut cell = std::mem::take(&mut self.cell);
        out.push(b"{");
        for (at, column) in self.options.columns.0.iter().enumerate() {
            self.separate(at, out);
            match column {
                RecordColumn::Time => {
                    // Writing into memory does not fail.
                    let _ = match time_ns {
                        Some(ns) => write!(json::Into(out), "\"time_ns\":{ns}"),
                        None => write!(json::Into(out), "\"time_ns\":null"),
                    };
                    continue;
                }
                _ => json::string(column.name().as_bytes(), out),
            }
            out.push(b":");
            cell.clear();
            self.value(*column, record, time_ns, &mut cell);
            match column {
                RecordColumn::Data => json::string(data, out),
                RecordColumn::Class | RecordColumn::Type => json::string(cell.as_bytes(), out),
                _ => out.push(cell.as_bytes()),
            }
        }
        if defined && self.options.columns.0.contains(&RecordColumn::Data) {
            cell.clear();
            self.printer.fields(record, &mut cell);
            out.push(b",\"fields\":[");
            for (at, field) in cell.as_bytes().split(|byte| *byte == Space::FIELD).filter(|f| !f.is_empty()).enumerate()
            {
                out.push(if at > 0 { b"," } else { b"" });
                field_object(field, out);
            }
            out.push(b"]");
        }
        out.push(b"}\n");
        self.cell = cell;
    }
}

impl RecordWriter for RowWriter<'_> {
    fn record(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let class = record.meant_class();
        let time_ns = record.cycles().and_then(|cycles| self.header.ns(cycles));
        if !self.options.filter.shows(class, record.event, record.cpu, time_ns) {
            return;
        }
        let record = KevRecord { class, ..*record };
        let mut data = std::mem::take(&mut self.data);
        data.clear();
        let defined = self.printer.definitions(&record, &mut data);
        if defined || !self.options.defined {
            if !defined {
                self.printer.arguments(&record, &mut data);
            }
            let wanted = self.options.grep.as_ref().is_none_or(|wanted| wanted.is_match(data.as_bytes()));
            self.n_reported += u64::from(wanted);
            if wanted && self.options.stats {
                self.counts.add(class, record.event);
            } else if wanted {
                self.line(&record, time_ns, defined, data.as_bytes(), out);
            }
        }
        self.data = data;
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
