//! The columns of a report: one table for both vendors, and the list that a report shows.
//!
//! ```text
//! ID  PROCESS NAME   PID      I    ELAPSED_SEC     DELTA_MSEC   APPL    SYSCALL KERNEL  INTERRUPT
//! 010 sample         4522            0.000105984       0.105984   hook = 1
//! ```
//!
//! A value is never cut: a wider one moves the rest of its line, and a blank is inserted if two values would touch.

use crate::context::{RequiredContext, ThreadContext};
use crate::events::{BuiltInEvents, class_name};
use crate::json;
use crate::output_format::Form;
use crate::qnx_report::clock::TimeForm;
use crate::qnx_report::owners::Owner;
use crate::reader::System;
use crate::reader::kev::KevRecord;
use crate::suggest::hint;
use std::borrow::Cow;
use std::fmt;
use tfbc_vm::{Layout, Level, TextBuf};

/// Side of its column at which a value is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// Type of a column's values in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueType {
    Text,
    Number,
}

/// Part of the trace that a column's values depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnSource {
    /// The event itself.
    Event,
    /// The event's log or thread, which is the same for many events in a row.
    Log,
    /// Processes and CPUs, known from earlier events.
    Context,
    /// Depth of interrupts.
    Depth,
    /// System call of the thread.
    Svc,
    /// Processes and threads of a QNX log, known from earlier records.
    Owner,
}

/// Writer of a column's values.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ColumnWriter {
    Aix(AixWriter),
    Qnx(QnxWriter),
}

/// Writer for AIX. Values that change from event to event have cells in `aix_report/cells.rs`; its `match` makes sure that
/// none is forgotten.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AixWriter {
    HookId,
    /// Seconds since the trace began, with 9 decimals.
    Elapsed,
    /// Seconds since the trace began, with 6 decimals.
    ElapsedShort,
    /// Milliseconds since the previous reported event.
    Delta,
    /// Microseconds since the previous reported event.
    DeltaMicro,
    /// Depth of interrupts.
    Depth,
    /// System call of the thread.
    Svc,
    /// Value of a context and thread, rendered once for all their events.
    Context(for<'r> fn(&ContextRow<'r>) -> ContextValue<'r>),
    /// Fields of the event as JSON.
    Fields,
    /// Text of the template, which comes last.
    Text,
}

/// Writer for QNX. Values that change from record to record have cells in `qnx_report/cells.rs`; its `match` makes sure
/// that none is forgotten.
#[derive(Debug, Clone, Copy)]
pub(crate) enum QnxWriter {
    /// Number of the record.
    Number,
    /// Time of the record.
    Time,
    Cpu,
    /// Text of a class and event number, rendered once for all their records. The texts of interrupts depend on their
    /// bytes, too.
    Event(fn(&BuiltInEvents, &KevRecord<'_>, &mut TextBuf)),
    /// Value of a process and thread.
    Owner(for<'o> fn(&'o Owner) -> OwnerValue<'o>),
    /// Field of the argument list.
    Argument,
    /// Text of the definitions, or the arguments.
    Data,
}

/// Values of AIX's context columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContextRow<'r> {
    pub facts: ThreadContext<'r>,
    pub file: &'r [u8],
    pub reported_cpus: u32,
}

/// Value of a context column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ContextValue<'r> {
    /// Text; empty if it is not known.
    Text(&'r [u8]),
    Number(Option<u64>),
}

/// Value of a column of owners; `None` if it is not known.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OwnerValue<'o> {
    Number(Option<i32>),
    Name(Option<&'o [u8]>),
}

/// Row of the table: everything that a report knows about a column.
#[derive(Debug)]
pub(crate) struct ColumnInfo {
    /// System whose traces have the column.
    pub system: System,
    /// Name in `--columns` and in the line of names of a table.
    pub name: &'static str,
    pub heading: &'static str,
    pub width: usize,
    pub side: Side,
    /// Key in JSON with its colon.
    pub key: &'static str,
    pub value: ValueType,
    pub source: ColumnSource,
    pub writer: ColumnWriter,
    /// Name and description of the column in `trcrpt -O`, if it is one of that flag's options.
    pub option: Option<(&'static str, &'static str)>,
}

macro_rules! columns {
    (@option) => { None };
    (@option $option:literal $help:literal) => { Some(($option, $help)) };
    ($(
        $(#[doc = $doc:literal])*
        $column:ident $(($index:ident))?: $system:ident $name:literal, $heading:literal $width:literal $side:ident,
            $key:literal $value:ident, $source:ident by $writer:expr $(, -O $option:literal $help:literal)?;
    )*) => {
        /// A column of a report.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Column {
            $($(#[doc = $doc])* $column $(($index))?,)*
        }

        impl Column {
            /// All columns in the order of reports. A column with several forms has a row for each.
            const ALL: &[Column] = &[$(Column::$column $(($index::MIN))?),*];

            pub(crate) const fn info(self) -> &'static ColumnInfo {
                match self {
                    $(Column::$column { .. } => {
                        const INFO: ColumnInfo = ColumnInfo {
                            system: System::$system,
                            name: $name,
                            heading: $heading,
                            width: $width,
                            side: Side::$side,
                            key: concat!("\"", $key, "\":"),
                            value: ValueType::$value,
                            source: ColumnSource::$source,
                            writer: ColumnWriter::$system($writer),
                            option: columns!(@option $($option $help)?),
                        };
                        &INFO
                    })*
                }
            }
        }
    };
}

// system, name; heading, width, side in text; key, type in JSON; source; writer; name and help in `trcrpt -O`.
columns! {
    /// Hook id. Its column is one character wider if there are ids of four digits.
    Id: Aix "id", "ID" 4 Left, "id" Text, Event by AixWriter::HookId, -O "ids" "the ID column";
    /// Log that the event came from.
    File: Aix "filename", "FILENAME" 15 Left, "filename" Text, Log by AixWriter::Context(|row| ContextValue::Text(row.file)),
        -O "filename" "the column of the log that an event came from";
    /// Name of the process: `-PID-` if only its id is known, `-?-` if that is not known either.
    Exec: Aix "exec", "PROCESS NAME" 15 Left, "exec" Text, Context by AixWriter::Context(|row| match row.facts.name {
        [] => ContextValue::Number(row.facts.pid),
        name => ContextValue::Text(name),
    }), -O "exec" "the PROCESS NAME column";
    /// CPU, blank if it is unknown.
    Cpu: Aix "cpu", "CPU" 4 Left, "cpu" Number, Context by AixWriter::Context(|row| ContextValue::Number(row.facts.cpu)),
        -O "cpuid" "the CPU column";
    /// Number of CPUs whose logs have not ended, as in `$REPORTEDCPUS`.
    ReportedCpus: Aix "reportedcpus", "RCPUS" 6 Left, "reportedcpus" Number, Log
        by AixWriter::Context(|row| ContextValue::Number(Some(row.reported_cpus.into()))),
        -O "reportedcpus" "the number of CPU logs that still have events; also reportedprocessors";
    /// Process id, blank if it is unknown.
    Pid: Aix "pid", "PID" 9 Left, "pid" Number, Context by AixWriter::Context(|row| ContextValue::Number(row.facts.pid)),
        -O "pid" "the PID column";
    /// Thread id.
    Tid: Aix "tid", "TID" 9 Left, "tid" Number, Log by AixWriter::Context(|row| ContextValue::Number(Some(row.facts.tid))),
        -O "tid" "the TID column";
    /// Depth of interrupts, blank at 0.
    Int: Aix "int", "I" 2 Left, "int" Number, Depth by AixWriter::Depth;
    /// System call that the thread is in, blank for none.
    Svc: Aix "svc", "SYSTEM CALL" 15 Left, "svc" Text, Svc by AixWriter::Svc,
        -O "svc" "the SYSTEM CALL column";
    /// Seconds since the trace began, with 9 decimals.
    Elapsed: Aix "elapsed", "ELAPSED_SEC" 14 Right, "elapsed" Number, Event by AixWriter::Elapsed;
    /// Seconds since the trace began, with 6 decimals, truncated.
    ElapsedShort: Aix "elapsed", "ELAPSED" 10 Right, "elapsed" Number, Event by AixWriter::ElapsedShort;
    /// Milliseconds since the previous reported event, with 6 decimals.
    Delta: Aix "delta", "DELTA_MSEC" 15 Right, "delta" Number, Event by AixWriter::Delta;
    /// Microseconds since the previous reported event, with 3 decimals.
    DeltaMicro: Aix "delta", "DELTA_USEC" 15 Right, "delta" Number, Event by AixWriter::DeltaMicro;
    /// Typed fields that the template prints, as a JSON object.
    Fields: Aix "fields", "FIELDS" 20 Left, "fields" Text, Event by AixWriter::Fields;
    /// Text of the template, under the margins of its levels. It comes last.
    Text: Aix "text", "APPL    SYSCALL KERNEL  INTERRUPT" 0 Left, "text" Text, Event by AixWriter::Text;

    /// Number of the record in the log, from 1.
    Number: Qnx "event", "event" 8 Right, "event" Number, Event by QnxWriter::Number;
    /// Seconds since the clock's zero, with 9 decimals; `-` if the clock's high half or rate is not known.
    Time: Qnx "time", "time" 18 Right, "time_ns" Number, Event by QnxWriter::Time;
    /// Seconds since the trace's start, with 9 decimals.
    TimeRelative: Qnx "time", "time" 18 Right, "time_ns" Number, Event by QnxWriter::Time;
    /// Date and time, UTC.
    TimeClock: Qnx "time", "time" 29 Right, "time_ns" Number, Event by QnxWriter::Time;
    /// CPU.
    RecordCpu: Qnx "cpu", "cpu" 3 Right, "cpu" Number, Event by QnxWriter::Cpu;
    /// Name of the class, or its number if it has none.
    Class: Qnx "class", "class" 8 Left, "class" Text, Event by QnxWriter::Event(|_, record, out| {
        match class_name(record.class) {
            Some(name) => out.push(name.as_bytes()),
            None => out.dec(record.class.into()),
        }
    });
    /// Number of the event in its class.
    EventId: Qnx "id", "id" 4 Right, "id" Number, Event by QnxWriter::Event(|_, record, out| out.dec(record.event.into()));
    /// Label of the event.
    EventType: Qnx "type", "type" 20 Left, "type" Text, Event
        by QnxWriter::Event(|events, record, out| events.type_text(record, out));
    /// Text of the definitions, or the arguments.
    Data: Qnx "data", "data" 0 Left, "data" Text, Event by QnxWriter::Data;
    /// Process id of the record's owner; `-` if it is not known, as in the other columns of owners.
    OwnerPid: Qnx "pid", "pid" 8 Right, "pid" Number, Owner by QnxWriter::Owner(|owner| OwnerValue::Number(owner.pid));
    /// Number of the owner's thread in its process.
    OwnerTid: Qnx "tid", "tid" 4 Right, "tid" Number, Owner by QnxWriter::Owner(|owner| OwnerValue::Number(owner.tid));
    /// Name of the owner.
    OwnerProcess: Qnx "process", "process" 24 Left, "process" Text, Owner
        by QnxWriter::Owner(|owner| OwnerValue::Name(owner.process.as_deref()));
    /// Name of the owner's thread.
    OwnerThread: Qnx "thread", "thread" 12 Left, "thread" Text, Owner
        by QnxWriter::Owner(|owner| OwnerValue::Name(owner.thread.as_deref()));
    /// Field of the argument list, by its index in the names that the columns select; `-` if the record does not have
    /// it.
    Argument(u16): Qnx "arg.NAME", "arg.NAME" 12 Left, "arg.NAME" Text, Event by QnxWriter::Argument;
}

/// Columns of QNX logs that are shown if no others are asked for.
const QNX_DEFAULT: [Column; 7] =
    [Column::Number, Column::Time, Column::RecordCpu, Column::Class, Column::EventId, Column::EventType, Column::Data];

impl Column {
    /// Names that `--columns` accepts for a system, in the order of reports. `arg.NAME` means any field.
    #[doc(hidden)]
    pub fn names(system: System) -> impl Iterator<Item = &'static str> {
        let rows = Column::ALL.iter().map(|column| column.info()).filter(move |info| info.system == system);
        let mut last = "";
        rows.map(|info| info.name).filter(move |name| std::mem::replace(&mut last, name) != *name)
    }

    /// The columns that `trcrpt -O` switches on and off, each with the option's name and description.
    #[doc(hidden)]
    pub fn options() -> impl Iterator<Item = (Column, &'static str, &'static str)> {
        Column::ALL.iter().filter_map(|column| column.info().option.map(|(name, help)| (*column, name, help)))
    }

    /// Name that `--columns` accepts.
    #[doc(hidden)]
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Variant of the column for a format of AIX's times.
    fn with_timestamp(self, timestamp: Timestamp) -> Self {
        match (self, timestamp) {
            (Column::Elapsed, Timestamp::Short) => Column::ElapsedShort,
            (Column::Delta, Timestamp::Micro) => Column::DeltaMicro,
            _ => self,
        }
    }

    /// Variant of the column for a format of QNX's times.
    fn with_time_form(self, form: TimeForm) -> Self {
        match (self, form) {
            (Column::Time, TimeForm::Relative) => Column::TimeRelative,
            (Column::Time, TimeForm::Clock) => Column::TimeClock,
            _ => self,
        }
    }
}

/// Format of the times of an AIX report: the values 0 to 3 of `trcrpt -O timestamp=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Timestamp {
    /// 0: elapsed seconds with 9 decimals, delta milliseconds with 6.
    #[default]
    Milli,
    /// 1: elapsed seconds with 6 decimals, truncated.
    Short,
    /// 2: elapsed seconds with 9 decimals, delta microseconds with 3.
    Micro,
    /// 3: no times.
    None,
}

impl Timestamp {
    /// Format with a number from 0 to 3.
    #[doc(hidden)]
    pub fn from_number(number: u64) -> Option<Self> {
        [Timestamp::Milli, Timestamp::Short, Timestamp::Micro, Timestamp::None]
            .get(usize::try_from(number).ok()?)
            .copied()
    }
}

/// Mistake in a list of columns: an unknown name, a name that comes twice, or `text` before other columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnsError(String);

impl fmt::Display for ColumnsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ColumnsError {}

/// Blanks between the columns and the text's first margin.
const GAP: usize = 3;
/// Column in which the text starts if it has its own line.
const SECOND_LINE: usize = 8;

/// The columns of a report, in their order.
///
/// ```
/// use tfbc::Columns;
/// use tfbc::aix::Timestamp;
///
/// assert!(Columns::parse("id,elapsed,text", Timestamp::Milli).is_ok());
/// assert!(Columns::parse_qnx("class,id,text").is_ok());
/// let error = Columns::parse("id,elapsd", Timestamp::Milli).unwrap_err();
/// assert!(error.to_string().contains("did you mean `elapsed`?"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    system: System,
    /// The columns, without AIX's text, which comes last.
    list: Vec<Column>,
    /// Names of the fields of [`Column::Argument`].
    arguments: Vec<String>,
    /// True if there is room for ids of four digits.
    wide_ids: bool,
    /// True if AIX's text is shown.
    text: bool,
    /// True if the text has a line of its own.
    two_lines: bool,
    /// True if lines consist of the formatted text alone, without blanks before it, margins or heading.
    bare: bool,
    /// True if JSON lines have AIX's fields after the text.
    fields_last: bool,
}

impl Default for Columns {
    /// The columns of AIX that are shown if no others are asked for.
    fn default() -> Self {
        Self::new(&[Column::Id], Timestamp::Milli)
    }
}

impl Columns {
    fn empty(system: System) -> Self {
        Self {
            system,
            list: Vec::new(),
            arguments: Vec::new(),
            wide_ids: false,
            text: false,
            two_lines: false,
            bare: false,
            fields_last: false,
        }
    }

    /// Creates a list of AIX columns in report order. Adds dependent columns: the depth of interrupts for a process's
    /// name or id, and the times that `timestamp` selects.
    pub fn new(wanted: &[Column], timestamp: Timestamp) -> Self {
        let times: &[Column] = match timestamp {
            Timestamp::Milli | Timestamp::Micro => &[Column::Elapsed, Column::Delta],
            Timestamp::Short => &[Column::Elapsed],
            Timestamp::None => &[],
        };
        let wanted: Vec<Column> = wanted.iter().chain(times).map(|column| column.with_timestamp(timestamp)).collect();
        let of_process = wanted.iter().any(|column| matches!(column, Column::Exec | Column::Pid));
        let is_shown = |column: &&Column| {
            column.info().system == System::Aix
                && **column != Column::Text
                && (wanted.contains(column) || (of_process && **column == Column::Int))
        };
        let list = Column::ALL.iter().filter(is_shown).copied().collect();
        Self { list, text: true, ..Self::empty(System::Aix) }
    }

    /// The columns of QNX that are shown if no others are asked for.
    #[doc(hidden)]
    pub fn qnx() -> Self {
        Self { list: QNX_DEFAULT.to_vec(), ..Self::empty(System::Qnx) }
    }

    /// Parses AIX columns from a list such as `id,elapsed,text`. `text` must be the last one; `text` alone has no
    /// margins.
    ///
    /// # Errors
    /// An unknown name, a name that comes twice, and text that is not last.
    pub fn parse(list: &str, timestamp: Timestamp) -> Result<Self, ColumnsError> {
        let mut columns = Self::parse_names(list, System::Aix)?;
        columns.list.iter_mut().for_each(|column| *column = column.with_timestamp(timestamp));
        Ok(columns)
    }

    /// Parses QNX columns from a list such as `class,id,data`. `text` is another name for `data`.
    ///
    /// # Errors
    /// An unknown name, and a name that comes twice.
    pub fn parse_qnx(list: &str) -> Result<Self, ColumnsError> {
        Self::parse_names(list, System::Qnx)
    }

    fn parse_names(list: &str, system: System) -> Result<Self, ColumnsError> {
        let mut columns = Self::empty(system);
        for name in list.split(',').map(str::trim) {
            if columns.text && name == Column::Fields.name() && !columns.fields_last {
                columns.fields_last = true;
                continue;
            }
            if columns.text {
                return Err(ColumnsError(format!("`text` must be the last column, but `{name}` follows it")));
            }
            let column = columns.named(name)?;
            if columns.list.contains(&column) {
                return Err(ColumnsError(format!("column `{name}` is named twice")));
            }
            if column == Column::Text {
                columns.text = true;
            } else {
                columns.list.push(column);
            }
        }
        columns.bare = columns.list.is_empty() || columns.list == [Column::Data];
        Ok(columns)
    }

    /// The column with a name.
    fn named(&mut self, name: &str) -> Result<Column, ColumnsError> {
        if let Some(argument) =
            name.strip_prefix("arg.").filter(|argument| self.system == System::Qnx && !argument.is_empty())
        {
            let index = self.arguments.iter().position(|known| known == argument).unwrap_or_else(|| {
                self.arguments.push(argument.to_owned());
                self.arguments.len() - 1
            });
            let column = u16::try_from(index).map(Column::Argument);
            return column.map_err(|_| ColumnsError(String::from("too many columns `arg.NAME`")));
        }
        let known = if self.system == System::Qnx && name == "text" { "data" } else { name };
        let is_named = |column: &&Column| column.info().system == self.system && column.name() == known;
        Column::ALL.iter().find(is_named).copied().ok_or_else(|| ColumnsError(unknown_column(name, self.system)))
    }

    /// Only the text of AIX events, without columns, margins or heading.
    #[doc(hidden)]
    pub fn text_only() -> Self {
        Self { bare: true, ..Self::new(&[], Timestamp::None) }
    }

    /// Only the data of QNX events, without a heading.
    #[doc(hidden)]
    pub fn data_only() -> Self {
        Self { list: vec![Column::Data], bare: true, ..Self::empty(System::Qnx) }
    }

    /// Removes the text column of AIX.
    #[must_use]
    pub(crate) fn without_text(self) -> Self {
        Self { text: false, ..self }
    }

    /// Removes all columns of QNX.
    #[must_use]
    pub(crate) fn without_data(self) -> Self {
        Self { list: Vec::new(), ..self }
    }

    /// Only the number of QNX events, without a heading.
    pub(crate) fn number_only() -> Self {
        Self { list: vec![Column::Number], ..Self::data_only() }
    }

    /// The columns, without AIX's text, which comes last.
    #[doc(hidden)]
    pub fn list(&self) -> &[Column] {
        &self.list
    }

    /// True if a column with a name is shown.
    #[doc(hidden)]
    pub fn has(&self, name: &str) -> bool {
        self.list.iter().any(|column| column.name() == name)
    }

    /// True if lines consist of the text alone, because only `text` or `data` was requested.
    #[doc(hidden)]
    pub fn is_bare(&self) -> bool {
        self.bare
    }

    /// Selects the format of QNX's time columns.
    #[must_use]
    pub(crate) fn with_time_form(mut self, form: TimeForm) -> Self {
        self.list.iter_mut().for_each(|column| *column = column.with_time_form(form));
        self
    }

    /// Name of the field that a column shows; empty for another column.
    pub(crate) fn argument(&self, column: Column) -> &str {
        let Column::Argument(index) = column else { return "" };
        self.arguments.get(usize::from(index)).map_or("", String::as_str)
    }

    /// Name of a column, as [`Columns::parse`] and [`Columns::parse_qnx`] take it.
    fn name(&self, column: Column) -> Cow<'static, str> {
        match column {
            Column::Argument(_) => Cow::Owned(format!("arg.{}", self.argument(column))),
            _ => Cow::Borrowed(column.name()),
        }
    }

    /// Key of a column in JSON with its colon.
    pub(crate) fn key(&self, column: Column) -> Cow<'static, [u8]> {
        if !matches!(column, Column::Argument(_)) {
            return Cow::Borrowed(column.info().key.as_bytes());
        }
        let mut key = TextBuf::new();
        self.push_argument_key(column, &mut key);
        Cow::Owned(key.as_bytes().to_vec())
    }

    /// Appends the key of an `arg.NAME` column with its colon.
    pub(crate) fn push_argument_key(&self, column: Column, out: &mut TextBuf) {
        json::string(self.name(column).as_bytes(), out);
        out.push(b":");
    }

    /// Makes room for ids of four digits.
    #[must_use]
    pub(crate) fn with_wide_ids(mut self, wide: bool) -> Self {
        self.wide_ids = wide;
        self
    }

    /// Puts the text on a line of its own.
    #[must_use]
    #[doc(hidden)]
    pub fn on_two_lines(mut self, two_lines: bool) -> Self {
        self.two_lines = two_lines && self.text && !self.list.is_empty();
        self
    }

    /// True if the text has a line of its own.
    pub(crate) fn has_two_lines(&self) -> bool {
        self.two_lines
    }

    /// True if a column shows processes, threads, CPUs or system calls: they come from earlier events.
    pub(crate) fn need_context(&self) -> bool {
        self.list.iter().any(|column| !matches!(column.info().source, ColumnSource::Event | ColumnSource::Log))
    }

    /// Parts of the context that a column shows, besides processes and CPUs.
    pub(crate) fn wanted(&self) -> RequiredContext {
        let shows = |source| self.list.iter().any(|column| column.info().source == source);
        RequiredContext { depth: shows(ColumnSource::Depth), priority: false, svc: shows(ColumnSource::Svc) }
    }

    /// Adds AIX's fields to JSON lines, after the text.
    #[must_use]
    #[doc(hidden)]
    pub fn with_fields_last(mut self, fields_last: bool) -> Self {
        self.fields_last = fields_last;
        self
    }

    /// True if JSON lines have AIX's fields after the text.
    pub(crate) fn has_fields_last(&self) -> bool {
        self.fields_last
    }

    /// True if a column has AIX's fields.
    pub(crate) fn has_fields(&self) -> bool {
        self.fields_last || self.list.contains(&Column::Fields)
    }

    /// True if a column has the time since the event before.
    pub(crate) fn has_delta(&self) -> bool {
        self.list.contains(&Column::Delta) || self.list.contains(&Column::DeltaMicro)
    }

    /// True if the text is shown.
    pub(crate) fn has_text(&self) -> bool {
        self.text
    }

    pub(crate) fn width(&self, column: Column) -> usize {
        match column {
            Column::Id => column.info().width + usize::from(self.wide_ids),
            Column::Argument(_) => column.info().width.max("arg.".len() + self.argument(column).len()),
            _ => column.info().width,
        }
    }

    /// Blanks between two columns.
    pub(crate) fn gap(&self) -> usize {
        match self.system {
            System::Aix => 0,
            System::Qnx => 2,
        }
    }

    /// Margins of an event's text, by its level.
    #[inline]
    pub(crate) fn layout(&self, level: Level) -> Layout {
        let margin = match level {
            _ if self.bare => return Layout::default(),
            Level::Zero => return Layout::default(),
            Level::Appl => 0,
            Level::Svc => 8,
            Level::Kern => 16,
            Level::Int => 24,
        };
        if self.two_lines {
            return Layout { first: (SECOND_LINE + margin) as u16, further: (SECOND_LINE + margin) as u16 };
        }
        let columns: usize = self.list.iter().map(|column| self.width(*column)).sum();
        Layout { first: (GAP + margin) as u16, further: (columns + GAP + margin) as u16 }
    }

    /// Appends the heading line, or two of them.
    pub(crate) fn write_heading(&self, out: &mut TextBuf) {
        let line = out.len();
        for (at, column) in self.list.iter().enumerate() {
            let heading: Cow<'_, str> = match column {
                Column::Argument(_) => self.name(*column),
                _ => Cow::Borrowed(column.info().heading),
            };
            out.pad(if at > 0 { self.gap() } else { 0 });
            match column.info().side {
                Side::Right => push_right_aligned(heading.as_bytes(), self.width(*column), line, out),
                Side::Left => left(heading.as_bytes(), self.width(*column), line, out),
            }
        }
        if self.two_lines {
            trim(line, out);
            out.push(b"\n");
        }
        if self.text {
            out.pad(if self.two_lines { SECOND_LINE } else { GAP });
            out.push(Column::Text.info().heading.as_bytes());
        }
        trim(line, out);
        out.push(b"\n");
    }

    /// Appends the line of names above a table.
    pub(crate) fn write_names(&self, form: Form, out: &mut TextBuf) {
        for (at, column) in self.list.iter().chain(self.text.then_some(&Column::Text)).enumerate() {
            out.push(if at > 0 { form.separator() } else { b"" });
            form.value(self.name(*column).as_bytes(), out);
        }
        out.push(form.line_end());
    }
}

fn unknown_column(name: &str, system: System) -> String {
    let names: Vec<&str> = Column::names(system).collect();
    let (other, traces) = match system {
        System::Aix => (System::Qnx, "QNX logs"),
        System::Qnx => (System::Aix, "AIX traces"),
    };
    let what = match name {
        "" => String::from("a column without a name"),
        _ if Column::names(other).any(|known| known == name) => format!("column `{name}` is only for {traces}"),
        _ => format!("unknown column `{name}`"),
    };
    format!("{what}, expected one of {}{}", names.join(", "), hint(name, &names))
}

/// Removes the blanks at the end of the line that begins at `line`.
pub(crate) fn trim(line: usize, out: &mut TextBuf) {
    let text = &out.as_bytes()[line..];
    let n = text.iter().rev().take_while(|byte| **byte == b' ').count();
    out.truncate(out.len() - n);
}

/// Appends a blank if the line that begins at `line` ends with a value.
fn keep_apart(line: usize, out: &mut TextBuf) {
    if out.len() > line && out.as_bytes()[out.len() - 1] != b' ' {
        out.push(b" ");
    }
}

/// Appends a value at the left of its column.
pub(crate) fn left(value: &[u8], width: usize, line: usize, out: &mut TextBuf) {
    if !value.is_empty() {
        keep_apart(line, out);
    }
    out.push(value);
    out.pad(width.saturating_sub(value.len()));
}

/// Appends a value at the right of its column.
pub(crate) fn push_right_aligned(value: &[u8], width: usize, line: usize, out: &mut TextBuf) {
    if value.len() < width {
        out.pad(width - value.len());
    } else {
        keep_apart(line, out);
    }
    out.push(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heading(columns: &Columns) -> String {
        let mut out = TextBuf::new();
        columns.write_heading(&mut out);
        String::from_utf8_lossy(out.as_bytes()).into_owned()
    }

    #[test]
    fn headings_name_the_form_of_times() {
        let columns = Columns::default();
        assert_eq!(heading(&columns), "ID     ELAPSED_SEC     DELTA_MSEC   APPL    SYSCALL KERNEL  INTERRUPT\n");
        let short = Columns::new(&[Column::Id], Timestamp::Short);
        assert_eq!(heading(&short), "ID     ELAPSED   APPL    SYSCALL KERNEL  INTERRUPT\n");
        let micro = Columns::new(&[], Timestamp::Micro);
        assert_eq!(heading(&micro), "   ELAPSED_SEC     DELTA_USEC   APPL    SYSCALL KERNEL  INTERRUPT\n");
        assert_eq!(heading(&Columns::new(&[], Timestamp::None)), "   APPL    SYSCALL KERNEL  INTERRUPT\n");
    }

    #[test]
    fn columns_have_their_order_whatever_the_order_of_asking() {
        let is_form = |column: &&Column| matches!(column, Column::ElapsedShort | Column::DeltaMicro);
        let all: Vec<Column> = Column::ALL.iter().rev().filter(|column| !is_form(column)).copied().collect();
        assert_eq!(
            heading(&Columns::new(&all, Timestamp::Milli)),
            "ID  FILENAME       PROCESS NAME   CPU RCPUS PID      TID      I SYSTEM CALL       ELAPSED_SEC     \
             DELTA_MSEC FIELDS                 APPL    SYSCALL KERNEL  INTERRUPT\n"
        );
        let columns = Columns::new(&[Column::Id, Column::Exec, Column::Pid], Timestamp::Milli);
        let text = heading(&columns);
        let at = |word: &str| text.find(word).unwrap();
        assert_eq!((at("PROCESS NAME"), at("PID"), at("I "), at("APPL")), (4, 19, 28, 62));
        assert_eq!((at("SYSCALL"), at("KERNEL"), at("INTERRUPT")), (70, 78, 86));
        assert_eq!((at("ELAPSED_SEC") + 11, at("DELTA_MSEC") + 10), (44, 59));
        let names: Vec<_> = Column::names(System::Aix).collect();
        assert_eq!(names.join(","), "id,filename,exec,cpu,reportedcpus,pid,tid,int,svc,elapsed,delta,fields,text");
    }

    #[test]
    fn every_column_is_in_the_book() {
        let book = include_str!("../../docs/report.md");
        for (system, table) in [(System::Aix, "| AIX | contains |"), (System::Qnx, "| QNX | contains |")] {
            let (_, rows) = book.split_once(table).unwrap();
            let rows: Vec<_> = rows.trim_start().lines().take_while(|row| row.starts_with('|')).collect();
            let is_listed = |name: &str| {
                rows.iter().any(|row| row.split('|').nth(1).is_some_and(|cell| cell.contains(&format!("`{name}`"))))
            };
            let missing: Vec<_> = Column::names(system).filter(|name| !is_listed(name)).collect();
            assert!(missing.is_empty(), "docs/report.md has no row for {missing:?}");
        }
    }

    #[test]
    fn margins_come_after_the_columns() {
        let columns = Columns::default();
        assert_eq!(columns.layout(Level::Kern), Layout { first: 19, further: 52 });
        assert_eq!(columns.layout(Level::Zero), Layout { first: 0, further: 0 });
        assert_eq!(columns.with_wide_ids(true).layout(Level::Appl).further, 37);
        let processes = Columns::new(&[Column::Id, Column::Exec, Column::Pid], Timestamp::Milli);
        assert_eq!(processes.layout(Level::Kern), Layout { first: 19, further: 78 });
        let threads = Columns::new(&[Column::Id, Column::Tid], Timestamp::Milli);
        assert_eq!(threads.layout(Level::Kern).further, 61);
    }

    #[test]
    fn column_lists() {
        assert!(!Columns::parse("delta,id", Timestamp::Milli).unwrap().has_text());
        let bare = Columns::parse("text", Timestamp::Milli).unwrap();
        assert!(bare.is_bare() && bare.layout(Level::Int) == Layout::default());
        assert!(Columns::parse("text,id", Timestamp::Milli).is_err());
        assert!(Columns::parse("id,id", Timestamp::Milli).is_err());
        assert!(Columns::parse("idd", Timestamp::Milli).is_err());
    }

    #[test]
    fn qnx_has_its_own_columns_by_the_same_names() {
        let names: Vec<_> = Column::names(System::Qnx).collect();
        assert_eq!(names.join(","), "event,time,cpu,class,id,type,data,pid,tid,process,thread,arg.NAME");
        let all = "event,time,cpu,class,id,type,data,pid,tid,process,thread,arg.pid,arg.a_rather_long_name";
        let columns = Columns::parse_qnx(all).unwrap();
        let expected = "   event                time  cpu  class       id  type                  data       pid   tid  \
                        process                   thread        arg.pid       arg.a_rather_long_name\n";
        assert_eq!(heading(&columns), expected);
        let mut names = TextBuf::new();
        columns.write_names(Form::Csv, &mut names);
        assert_eq!(String::from_utf8_lossy(names.as_bytes()), format!("{all}\n"));
        assert_eq!(Columns::parse_qnx("text"), Ok(Columns::data_only()));
        assert_eq!(Columns::parse_qnx("event,time,cpu,class,id,type,data"), Ok(Columns::qnx()));
        assert!(Columns::parse_qnx("data,id").is_ok_and(|columns| !columns.is_bare()));
        let key = |column| columns.key(column).into_owned();
        assert_eq!((key(Column::Time), key(Column::Argument(0))), (b"\"time_ns\":".to_vec(), b"\"arg.pid\":".to_vec()));
        let clock = Columns::qnx().with_time_form(TimeForm::Clock);
        assert_eq!(clock.width(clock.list()[1]), "2009-06-23 15:47:46.000000000".len());
    }

    #[test]
    fn refusals_name_the_columns_that_there_are() {
        let aix = |list| Columns::parse(list, Timestamp::Milli).unwrap_err().to_string();
        let qnx = |list| Columns::parse_qnx(list).unwrap_err().to_string();
        let (aix_names, qnx_names) =
            [System::Aix, System::Qnx].map(|system| Column::names(system).collect::<Vec<_>>().join(", ")).into();
        assert_eq!(aix("thread"), format!("column `thread` is only for QNX logs, expected one of {aix_names}"));
        assert_eq!(qnx("exec"), format!("column `exec` is only for AIX traces, expected one of {qnx_names}"));
        assert_eq!(aix("arg.pid"), format!("unknown column `arg.pid`, expected one of {aix_names}"));
        assert!(qnx("threat").ends_with("did you mean `thread`?"));
        assert!(qnx("arg.").starts_with("unknown column `arg.`"));
        assert!(qnx("").starts_with("a column without a name"));
        assert_eq!([aix("id,id"), qnx("id,id")], ["column `id` is named twice"; 2]);
        assert_eq!(
            [qnx("data,text"), qnx("arg.a,arg.a")],
            ["column `text` is named twice", "column `arg.a` is named twice"]
        );
        assert_eq!(aix("text,id"), "`text` must be the last column, but `id` follows it");
    }

    #[test]
    fn the_text_may_have_a_line_of_its_own() {
        let columns = Columns::new(&[Column::Id, Column::Cpu], Timestamp::None).on_two_lines(true);
        assert_eq!(heading(&columns), "ID  CPU\n        APPL    SYSCALL KERNEL  INTERRUPT\n");
        assert_eq!(columns.layout(Level::Kern), Layout { first: 24, further: 24 });
        assert!(!Columns::parse("text", Timestamp::None).unwrap().on_two_lines(true).has_two_lines());
    }
}
