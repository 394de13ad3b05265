//! One record's line, in each form.

use super::clock::{Clock, TimeForm, date_and_time};
use super::fields::{Field, Fields, push_escaped};
use super::names::{Name, Names};
use super::owners::Owner;
use super::print::RecordPrinter;
use super::{RecordOptions, RecordWriter, Tallied};
use crate::catalog::Catalog;
use crate::columns::Column;
use crate::events::{class_name, is_interrupt};
use crate::forms::{Form, any_byte};
use crate::json;
use crate::reader::kev::{KevHeader, KevRecord, TraceStart};
use crate::screen::marks;
use crate::spelling::hint;
use crate::work::Meter;
use std::borrow::Cow;
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
    /// Process id of the record's owner; `-` if it is not known, as in the other columns of owners.
    Pid,
    /// The owner's thread number.
    Tid,
    /// The owner's name.
    Process,
    /// Name of the owner's thread.
    Thread,
    /// A field of the record's argument list, by its place among the names that the columns ask for; `-` if the record does
    /// not have it.
    Argument(u16),
}

impl RecordColumn {
    /// Every column with its name and its least width in text.
    const ALL: [(RecordColumn, &'static str, usize); 11] = [
        (RecordColumn::Event, "event", 8),
        (RecordColumn::Time, "time", 18),
        (RecordColumn::Cpu, "cpu", 3),
        (RecordColumn::Class, "class", 8),
        (RecordColumn::Id, "id", 4),
        (RecordColumn::Type, "type", 20),
        (RecordColumn::Data, "data", 0),
        (RecordColumn::Pid, "pid", 8),
        (RecordColumn::Tid, "tid", 4),
        (RecordColumn::Process, "process", 24),
        (RecordColumn::Thread, "thread", 12),
    ];

    /// Width of a field's column in text.
    const ARGUMENT_WIDTH: usize = 12;

    /// What stands before the data, if nothing else is asked for.
    const USUAL: [RecordColumn; 6] = [
        RecordColumn::Event,
        RecordColumn::Time,
        RecordColumn::Cpu,
        RecordColumn::Class,
        RecordColumn::Id,
        RecordColumn::Type,
    ];

    /// The names of the columns, as `--columns` takes them.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(|(_, name, _)| name)
    }

    /// True if the column is about the record's owner.
    fn is_of_owner(self) -> bool {
        matches!(self, RecordColumn::Pid | RecordColumn::Tid | RecordColumn::Process | RecordColumn::Thread)
    }

    fn width(self) -> usize {
        let known = Self::ALL.iter().find(|(column, ..)| *column == self);
        known.map_or(Self::ARGUMENT_WIDTH, |(.., width)| *width)
    }

    /// Whether text stands at the right of its column.
    fn is_number(self) -> bool {
        use RecordColumn::{Cpu, Event, Id, Pid, Tid, Time};
        matches!(self, Event | Time | Cpu | Id | Pid | Tid)
    }
}

/// The columns of a log's report, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordColumns {
    list: Vec<RecordColumn>,
    /// Names of the fields that have columns.
    arguments: Vec<String>,
}

impl Default for RecordColumns {
    fn default() -> Self {
        let list = RecordColumn::USUAL.into_iter().chain([RecordColumn::Data]).collect();
        RecordColumns { list, arguments: Vec::new() }
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
    /// The data alone.
    pub fn only_data() -> Self {
        RecordColumns { list: vec![RecordColumn::Data], arguments: Vec::new() }
    }

    /// Reads a list such as `class,id,data`; `text` is another name of `data`.
    ///
    /// # Errors
    /// A name that is none or comes twice, or an empty list.
    pub fn parse(list: &str) -> Result<Self, RecordColumnsError> {
        let mut columns = RecordColumns { list: Vec::new(), arguments: Vec::new() };
        for name in list.split(',').map(str::trim) {
            let column = columns.column(name).map_err(|what| {
                let names = RecordColumn::ALL.map(|(_, name, _)| name);
                RecordColumnsError(format!("{what}: a QNX log has {}, arg.NAME", names.join(", ")))
            })?;
            if columns.list.contains(&column) {
                return Err(RecordColumnsError(format!("column `{name}` is named twice")));
            }
            columns.list.push(column);
        }
        Ok(columns)
    }

    /// The column with a name.
    fn column(&mut self, name: &str) -> Result<RecordColumn, String> {
        if let Some(argument) = name.strip_prefix("arg.").filter(|argument| !argument.is_empty()) {
            let place = self.arguments.iter().position(|known| known == argument).unwrap_or_else(|| {
                self.arguments.push(argument.to_owned());
                self.arguments.len() - 1
            });
            let column = u16::try_from(place).map(RecordColumn::Argument);
            return column.map_err(|_| String::from("too many columns `arg.NAME`"));
        }
        let is_meant = |known: &str| known == name || (known, name) == ("data", "text");
        if let Some((column, ..)) = RecordColumn::ALL.iter().find(|(_, known, _)| is_meant(known)) {
            return Ok(*column);
        }
        let names = RecordColumn::ALL.map(|(_, name, _)| name);
        Err(match name {
            "" => String::from("a column without a name"),
            _ if Column::names().any(|known| known == name) => format!("column `{name}` is of AIX traces"),
            _ => format!("unknown column `{name}`{}", hint(name, &names)),
        })
    }

    /// The name of a column, as [`RecordColumns::parse`] takes it.
    fn name(&self, column: RecordColumn) -> Cow<'_, str> {
        let known = RecordColumn::ALL.iter().find(|(known, ..)| *known == column);
        match known {
            Some((_, name, _)) => Cow::Borrowed(name),
            None => Cow::Owned(format!("arg.{}", self.argument(column))),
        }
    }

    /// A column's name as a key of JSON, with its colon.
    fn key(&self, column: RecordColumn) -> Box<[u8]> {
        let name = if column == RecordColumn::Time { Cow::Borrowed("time_ns") } else { self.name(column) };
        let mut key = TextBuf::new();
        json::string(name.as_bytes(), &mut key);
        key.push(b":");
        key.as_bytes().into()
    }

    /// Name of the field that a column shows; empty for another column.
    fn argument(&self, column: RecordColumn) -> &str {
        let RecordColumn::Argument(at) = column else { return "" };
        self.arguments.get(usize::from(at)).map_or("", String::as_str)
    }

    /// True if any column is about the owners of records.
    fn show_owners(&self) -> bool {
        self.list.iter().any(|column| column.is_of_owner())
    }

    /// Whether there is nothing but the data: no heading, no margins.
    pub fn is_bare(&self) -> bool {
        self.list == [RecordColumn::Data]
    }
}

impl RecordOptions {
    /// The columns before the data, if lines end with it and no column depends on it.
    fn columns_before_data(&self) -> Option<&[RecordColumn]> {
        // Fields depend on whether a definition formats the record.
        let has_arguments = !self.columns.arguments.is_empty();
        match self.columns.list.split_last() {
            Some((RecordColumn::Data, columns)) if self.form == Form::Text && !columns.is_empty() && !has_arguments => {
                Some(columns)
            }
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
    /// The columns before the data, if a line is written from its beginning to its end.
    plain: Option<&'r [RecordColumn]>,
    /// True if the data decides whether there is a line.
    looks_at_data: bool,
    /// Keys of the columns in JSON.
    keys: Vec<Box<[u8]>>,
    /// Names of events, if those columns are the usual ones.
    names: Option<Names>,
    /// The CPUs in their column, with the blanks around it, by number.
    cpus: [[u8; 8]; 256],
    printer: RecordPrinter<'r>,
    /// True if a definition formats the record that is written.
    is_defined: bool,
    /// Owner of the record that comes next, if columns or filters ask for it.
    owner: Owner,
    /// Time of the trace's start, for [`TimeForm::Relative`].
    start: TraceStart,
    /// Time of the clock's zero in ns since 1970, for [`TimeForm::Clock`].
    boot_ns: i128,
    /// What is made of a record before its line, where that is not plain; each is `None` while it is in use.
    data: Option<TextBuf>,
    fields: Option<TextBuf>,
    /// The names of the classes, by number.
    classes: [Option<&'static str>; 32],
    n_reported: u64,
    counts: Arc<Counts>,
    /// The events of a batch that were counted.
    counted: Vec<(u8, u16)>,
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

    fn take_back(&self, class: u8, event: u16) {
        if let Some(count) = self.0.get(usize::from(class) * Self::N_EVENTS + usize::from(event)) {
            count.fetch_sub(1, Ordering::Relaxed);
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
        let (start, boot_ns) = (self.start.clone(), self.boot_ns);
        RowWriter { counts: self.counts(), boot_ns, ..RowWriter::new(self.catalog, self.options, &self.header, start) }
    }
}

impl<'r> RowWriter<'r> {
    pub fn new(catalog: &'r Catalog<'r>, options: &'r RecordOptions, header: &KevHeader, start: TraceStart) -> Self {
        let is_timed = options.columns.list.contains(&RecordColumn::Time) || options.filter.is_timed();
        let plain = options.columns_before_data();
        let is_usual = |columns: &[RecordColumn]| {
            !options.colour && options.time != TimeForm::Clock && columns == RecordColumn::USUAL
        };
        RowWriter {
            catalog,
            options,
            printer: RecordPrinter::new(catalog, header.big_endian, header.release, options.limits)
                .with_max_work(options.max_work),
            header: KevHeader { attributes: Vec::new(), syspage: None, ..*header },
            clock: Clock::new(header).filter(|_| is_timed),
            plain,
            looks_at_data: options.grep.is_some(),
            keys: options.columns.list.iter().map(|column| options.columns.key(*column)).collect(),
            names: plain.is_some_and(is_usual).then(Names::new),
            cpus: std::array::from_fn(|cpu| {
                let [.., a, b, c] = num::right_aligned(cpu as u32);
                [b' ', b' ', a, b, c, b' ', b' ', b' ']
            }),
            is_defined: false,
            owner: Owner::default(),
            start,
            boot_ns: header.boot_ns().unwrap_or_default(),
            data: None,
            fields: None,
            classes: std::array::from_fn(|class| class_name(class as u8)),
            n_reported: 0,
            counts: Arc::new(Counts::new(options.stats)),
            counted: Vec::new(),
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
        for (at, column) in columns.list.iter().enumerate() {
            out.push(if at > 0 { self.options.form.separator() } else { b"" });
            match self.options.form {
                Form::Text => {
                    self.aligned(*column, at + 1 == columns.list.len(), columns.name(*column).as_bytes(), out)
                }
                _ => self.options.form.value(columns.name(*column).as_bytes(), out),
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
            for (at, column) in self.options.columns.list.iter().enumerate() {
                if at > 0 {
                    out.push(&delimiter);
                }
                self.cell(*column, record, time_ns, data, out);
            }
        }
        self.end_line(out);
    }

    fn aligned_line(&mut self, record: &KevRecord<'_>, time_ns: Option<u64>, data: &[u8], out: &mut TextBuf) {
        if let Some((last, columns)) = self.options.columns.list.split_last() {
            if self.put_usual(record, time_ns, out).is_none() {
                self.columns(columns, record, time_ns, data, out);
            }
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
        // Times before the trace's start are written one by one.
        let shown_ns = match time_ns {
            Some(ns) if self.options.time == TimeForm::Relative => Some(u64::try_from(self.shown_ns(ns)).ok()?),
            time_ns => time_ns,
        };
        let number = u32::try_from(record.number).ok().filter(|number| *number < 100_000_000)?;
        let room = out.spare();
        room[..8].copy_from_slice(&num::right_aligned(number));
        room[8..TIME].copy_from_slice(b"  ");
        let time = room[TIME..].first_chunk_mut::<TIME_WIDTH>()?;
        match shown_ns {
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
        let start = self.options.form.begin_value(out);
        match column {
            RecordColumn::Data => out.push(data),
            _ => self.value(column, record, time_ns, out),
        }
        if matches!(
            column,
            RecordColumn::Data | RecordColumn::Process | RecordColumn::Thread | RecordColumn::Argument(_)
        ) {
            self.options.form.end_value(start, out);
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
            RecordColumn::Time if self.options.time != TimeForm::Absolute => {
                let start = out.len();
                self.push_time(time_ns, out);
                self.align(column, last, start, out);
            }
            RecordColumn::Time => {
                let cell = out.spare().first_chunk_mut::<TIME_WIDTH>();
                if cell.is_some_and(|cell| time_ns.is_some_and(|ns| num::fixed::<TIME_WIDTH, 9>(cell, ns))) {
                    out.advance(TIME_WIDTH);
                } else {
                    let mut text = [0; TextBuf::SPARE];
                    let len = write_time(time_ns, &mut text);
                    self.aligned(column, last, &text[..len], out);
                }
            }
            RecordColumn::Class | RecordColumn::Type => {
                let start = out.len();
                self.value(column, record, time_ns, out);
                if !last {
                    out.pad((start + column.width()).saturating_sub(out.len()));
                }
            }
            RecordColumn::Data => self.aligned(column, last, data, out),
            _ => {
                let start = out.len();
                self.value(column, record, time_ns, out);
                let text = &out.as_bytes()[start..];
                if any_byte(text, |byte| byte.is_ascii_control()) {
                    let text = text.to_vec();
                    out.truncate(start);
                    push_escaped(&text, out);
                }
                self.align(column, last, start, out);
            }
        }
    }

    /// Aligns the value of a column that was appended at `start`.
    fn align(&self, column: RecordColumn, last: bool, start: usize, out: &mut TextBuf) {
        // Values at the right of their columns are numbers, which are short.
        if !column.is_number() {
            let blanks = self.width(column).saturating_sub(out.len() - start);
            return out.pad(if last { 0 } else { blanks });
        }
        let mut text = [0; 64];
        let value = &out.as_bytes()[start..];
        let len = value.len().min(text.len());
        text[..len].copy_from_slice(&value[..len]);
        out.truncate(start);
        self.aligned(column, last, &text[..len], out);
    }

    fn width(&self, column: RecordColumn) -> usize {
        match column {
            RecordColumn::Time if self.options.time == TimeForm::Clock => DATE_WIDTH,
            RecordColumn::Argument(_) => column.width().max("arg.".len() + self.options.columns.argument(column).len()),
            _ => column.width(),
        }
    }

    /// A value in its column; the last column has no blanks behind it.
    fn aligned(&self, column: RecordColumn, last: bool, value: &[u8], out: &mut TextBuf) {
        let blanks = self.width(column).saturating_sub(value.len());
        if column.is_number() {
            out.pad(blanks);
        }
        out.push(value);
        if !column.is_number() && !last {
            out.pad(blanks);
        }
    }

    /// The time as the report shows it, in ns.
    #[inline]
    fn shown_ns(&self, ns: u64) -> i128 {
        match self.options.time {
            TimeForm::Absolute => ns.into(),
            TimeForm::Relative => {
                let start = self.clock.zip(self.start.cycles()).map_or(0, |(clock, cycles)| clock.ns(cycles));
                i128::from(ns) - i128::from(start)
            }
            TimeForm::Clock => i128::from(ns) + self.boot_ns,
        }
    }

    /// Appends a time in the report's form, or `-`.
    fn push_time(&self, time_ns: Option<u64>, out: &mut TextBuf) {
        let Some(ns) = time_ns.map(|ns| self.shown_ns(ns)) else { return out.push(b"-") };
        if self.options.time == TimeForm::Clock {
            return out.push(date_and_time(ns).as_bytes());
        }
        let (sign, ns) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
        out.push(sign.as_bytes());
        let len = write_time(u64::try_from(ns).ok(), out.spare());
        out.advance(len);
    }

    fn value(&self, column: RecordColumn, record: &KevRecord<'_>, time_ns: Option<u64>, out: &mut TextBuf) {
        match column {
            RecordColumn::Event => out.dec(record.number),
            RecordColumn::Time => self.push_time(time_ns, out),
            RecordColumn::Pid => push_int(self.owner.pid, out),
            RecordColumn::Tid => push_int(self.owner.tid, out),
            RecordColumn::Process => push_escaped(self.owner.process.as_deref().unwrap_or(b"-"), out),
            RecordColumn::Thread => push_escaped(self.owner.thread.as_deref().unwrap_or(b"-"), out),
            RecordColumn::Argument(_) => match self.field(column, record) {
                Some(field) => field.push_text(out),
                None => out.push(b"-"),
            },
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

    /// The field that a column shows; `None` if the record does not have it, or a definition formats the record.
    fn field<'k>(&self, column: RecordColumn, record: &KevRecord<'k>) -> Option<Field<'k>> {
        if self.is_defined || !matches!(column, RecordColumn::Argument(_)) {
            return None;
        }
        Fields::new(self.printer.events().arguments(record)).find(self.options.columns.argument(column))
    }

    /// Counts a record in place of its line.
    fn count(&mut self, record: &KevRecord<'_>) {
        self.counts.add(record.class, record.event);
        self.counted.push((record.class, record.event));
    }

    /// `{"event":1,"time_ns":…,"cpu":0,"class":"USER","id":65,"type":"…","data":"…","fields":[…]}`
    fn object(&mut self, record: &KevRecord<'_>, time_ns: Option<u64>, defined: bool, data: &[u8], out: &mut TextBuf) {
        out.push(b"{");
        let start = out.len();
        for (column, key) in self.options.columns.list.iter().zip(&self.keys) {
            let field = if matches!(column, RecordColumn::Argument(_)) {
                let Some(field) = self.field(*column, record) else { continue };
                Some(field)
            } else {
                None
            };
            if out.len() > start {
                out.push(b",");
            }
            out.push(key);
            match column {
                RecordColumn::Time => match time_ns.map(|ns| self.shown_ns(ns)) {
                    Some(ns) => match u64::try_from(ns) {
                        Ok(ns) => out.dec(ns),
                        Err(_) => out.push(ns.to_string().as_bytes()),
                    },
                    None => out.push(b"null"),
                },
                RecordColumn::Data => json::string(data, out),
                RecordColumn::Class | RecordColumn::Type => {
                    out.push(b"\"");
                    self.value(*column, record, time_ns, out);
                    out.push(b"\"");
                }
                RecordColumn::Pid => push_json(self.owner.pid, out),
                RecordColumn::Tid => push_json(self.owner.tid, out),
                RecordColumn::Process => push_json_name(self.owner.process.as_deref(), out),
                RecordColumn::Thread => push_json_name(self.owner.thread.as_deref(), out),
                RecordColumn::Argument(_) => field.iter().for_each(|field| field.push_raw(out)),
                _ => self.value(*column, record, time_ns, out),
            }
        }
        if self.options.columns.list.contains(&RecordColumn::Data) {
            out.push(if record.wide { b",\"wide\":true,\"fields\":[" } else { b",\"fields\":[" });
            let mut scratch = self.fields.take().unwrap_or_default();
            if defined {
                self.push_defined_fields(record, &mut scratch, out);
            } else {
                for (at, field) in Fields::new(self.printer.events().arguments(record)).enumerate() {
                    out.push(if at > 0 { b"," } else { b"" });
                    field.push_object(&mut scratch, out);
                }
            }
            self.fields = Some(scratch);
            out.push(b"]");
        }
        out.push(b"}\n");
    }

    /// Appends the fields of the definitions that apply.
    fn push_defined_fields(&mut self, record: &KevRecord<'_>, scratch: &mut TextBuf, out: &mut TextBuf) {
        scratch.clear();
        self.printer.fields(record, scratch);
        let fields = scratch.as_bytes().split(|byte| *byte == Space::FIELD).filter(|field| !field.is_empty());
        for (at, field) in fields.enumerate() {
            out.push(if at > 0 { b"," } else { b"" });
            field_object(field, out);
        }
    }
}

impl RecordWriter for RowWriter<'_> {
    fn record(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let class = record.meant_class();
        let time_ns = self.clock.zip(record.cycles()).map(|(clock, cycles)| clock.ns(cycles));
        let filter = &self.options.filter;
        let shown_ns = time_ns.filter(|_| filter.is_timed()).map(|ns| self.shown_ns(ns));
        if !filter.shows(class, record.event, record.cpu, shown_ns) || !filter.admits(&self.owner) {
            return;
        }
        let record = KevRecord { class, ..*record };
        if self.options.stats && !self.looks_at_data && !self.options.defined {
            // Whatever its text is, it is reported.
            self.n_reported += 1;
            self.count(&record);
            return;
        }
        if let Some(columns) = self.plain.filter(|_| !self.looks_at_data && !self.options.stats) {
            return self.plain_line(columns, &record, time_ns, out);
        }
        let mut data = self.data.take().unwrap_or_default();
        data.clear();
        let defined = self.printer.definitions(&record, &mut data);
        self.is_defined = defined;
        if defined || !self.options.defined {
            if !defined {
                self.printer.whole_arguments(&record, &mut data);
            }
            let text = if defined { data.as_bytes() } else { data.as_bytes().trim_ascii() };
            let wanted = self.options.grep.as_ref().is_none_or(|wanted| wanted.is_match(text));
            self.n_reported += u64::from(wanted);
            if wanted && self.options.stats {
                self.count(&record);
            } else if wanted {
                self.line(&record, time_ns, defined, text, out);
            }
        }
        self.data = Some(data);
    }

    fn wants_owners(&self) -> bool {
        let RecordOptions { columns, filter, follow_owners, .. } = self.options;
        *follow_owners || columns.show_owners() || filter.asks_for_owners()
    }

    fn set_owner(&mut self, owner: &Owner) {
        self.owner.clone_from(owner);
    }

    fn begin_batch(&mut self) {
        self.counted.clear();
    }

    fn tallied(&self) -> Tallied {
        Tallied { n_reported: self.n_reported, ..self.printer.tallied() }
    }

    fn take_back(&mut self, tallied: Tallied) {
        self.n_reported = tallied.n_reported;
        self.printer.set_tallied(tallied);
        self.counted.drain(..).for_each(|(class, event)| self.counts.take_back(class, event));
    }

    fn meter(&mut self) -> Option<&mut Meter> {
        Some(self.printer.meter())
    }

    fn slow(&mut self) -> Option<&mut Option<(u8, u16)>> {
        Some(self.printer.slow())
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
        numbers if json::is_numbers(numbers) => out.push(numbers),
        _ => out.push(b"null"),
    }
    out.push(b",\"text\":");
    json::string(text, out);
    out.push(b"}");
}

const NS: u64 = 1_000_000_000;
/// The width of [`RecordColumn::Time`].
const TIME_WIDTH: usize = 18;
/// Its width in the form [`TimeForm::Clock`].
const DATE_WIDTH: usize = 29;

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

/// Appends a number, or `-` if it is not known.
fn push_int(number: Option<i32>, out: &mut TextBuf) {
    let Some(number) = number else { return out.push(b"-") };
    let len = num::int(out.spare(), 0, i64::from(number) as u64);
    out.advance(len);
}

/// Appends a number of JSON, or `null`.
fn push_json(number: Option<i32>, out: &mut TextBuf) {
    match number {
        Some(_) => push_int(number, out),
        None => out.push(b"null"),
    }
}

/// Appends a name as a string of JSON, or `null`.
fn push_json_name(name: Option<&[u8]>, out: &mut TextBuf) {
    let Some(name) = name else { return out.push(b"null") };
    let mut escaped = TextBuf::new();
    push_escaped(name, &mut escaped);
    json::string(escaped.as_bytes(), out);
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
    fn a_raw_value_is_numbers_or_null() {
        let object = |field: &[u8]| {
            let mut out = TextBuf::new();
            field_object(field, &mut out);
            String::from_utf8_lossy(out.as_bytes()).into_owned()
        };
        assert_eq!(object(b"a\x1f768\x1f0x300"), r#"{"name":"a","raw":768,"text":"0x300"}"#);
        assert_eq!(object(b"a\x1f[1, 2]\x1f1 2"), r#"{"name":"a","raw":[1, 2],"text":"1 2"}"#);
        assert_eq!(object(b"a\x1f\"\x1fhi"), r#"{"name":"a","raw":"hi","text":"hi"}"#);
        for raw in ["", "655 [limit]", "1}]}\n{\"event\":7", "07", "-", "1 ", "[1,", "{}", "true", "[1]]"] {
            let expected = r#"{"name":"a","raw":null,"text":"t"}"#;
            assert_eq!(object(format!("a\x1f{raw}\x1ft").as_bytes()), expected, "{raw:?}");
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
            let mut plain = RowWriter::new(&catalog, &options, &header, TraceStart::default());
            let mut each = RowWriter { plain: None, names: None, ..plain.clone() };
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
