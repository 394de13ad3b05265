//! The columns of a report: one table for both vendors, and the list that a report shows.
//!
//! ```text
//! ID  PROCESS NAME   PID      I    ELAPSED_SEC     DELTA_MSEC   APPL    SYSCALL KERNEL  INTERRUPT
//! 010 sample         4522            0.000105984       0.105984   hook = 1
//! ```
//!
//! A value is never cut: a wider one moves the rest of its line, and a blank is inserted if two values would touch.

use crate::context::Wanted;
use crate::records::RecordColumn;
use crate::spelling::hint;
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
pub(crate) enum Value {
    Text,
    Number,
}

/// Source of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The event itself.
    Event,
    /// The event's log or thread, which is the same for many events in a row.
    Log,
    /// Processes and CPUs, as earlier events told them.
    Context,
    /// Depth of interrupts.
    Depth,
    /// System call of the thread.
    Svc,
}

/// Row of the table: everything that a report knows about a column, except how its value is written.
#[derive(Debug)]
pub(crate) struct Info {
    /// Name in `--columns` and in the line of names of a table.
    pub name: &'static str,
    /// Key in JSON with its colon.
    pub key: &'static str,
    pub heading: &'static str,
    pub width: usize,
    pub side: Side,
    pub value: Value,
    pub source: Source,
}

macro_rules! columns {
    ($($(#[$doc:meta])* $column:ident: $name:literal, $heading:literal, $width:literal, $side:ident, $value:ident, $source:ident;)*) => {
        /// A column before the text.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Column {
            $($(#[$doc])* $column,)*
        }

        impl Column {
            /// All columns in the report's own order. A column with several forms comes once for each.
            const ALL: &[Column] = &[$(Column::$column),*];

            pub(crate) const fn info(self) -> &'static Info {
                match self {
                    $(Column::$column => &Info {
                        name: $name,
                        key: concat!("\"", $name, "\":"),
                        heading: $heading,
                        width: $width,
                        side: Side::$side,
                        value: Value::$value,
                        source: Source::$source,
                    },)*
                }
            }
        }
    };
}

columns! {
    /// The hook id. Its column is one wider if there are ids of four digits.
    Id: "id", "ID", 4, Left, Text, Event;
    /// The log that the event came from.
    File: "filename", "FILENAME", 15, Left, Text, Log;
    /// The name of the process: `-PID-` if only its id is known, `-?-` if that is not known either.
    Exec: "exec", "PROCESS NAME", 15, Left, Text, Context;
    /// The CPU, blank if it is unknown.
    Cpu: "cpu", "CPU", 4, Left, Number, Context;
    /// How many of the CPU logs continue: `$REPORTEDCPUS`.
    ReportedCpus: "reportedcpus", "RCPUS", 6, Left, Number, Log;
    /// The process id, blank if it is unknown.
    Pid: "pid", "PID", 9, Left, Number, Context;
    /// The thread id.
    Tid: "tid", "TID", 9, Left, Number, Log;
    /// The depth of interrupts, blank at 0.
    Int: "int", "I", 2, Left, Number, Depth;
    /// The system call that the thread is in, blank for none.
    Svc: "svc", "SYSTEM CALL", 15, Left, Text, Svc;
    /// Seconds since the trace began, with 9 decimals.
    Elapsed: "elapsed", "ELAPSED_SEC", 14, Right, Number, Event;
    /// Seconds since the trace began, with 6 decimals, truncated.
    ElapsedShort: "elapsed", "ELAPSED", 10, Right, Number, Event;
    /// Milliseconds since the previous reported event, with 6 decimals.
    Delta: "delta", "DELTA_MSEC", 15, Right, Number, Event;
    /// Microseconds since the previous reported event, with 3 decimals.
    DeltaMicro: "delta", "DELTA_USEC", 15, Right, Number, Event;
}

impl Column {
    /// The names that `--columns` takes, in the report's own order, without `text`.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let first = |column: &Column| Column::ALL.iter().find(|known| known.name() == column.name()) == Some(column);
        Column::ALL.iter().filter(move |column| first(column)).map(|column| column.name())
    }

    /// The name that `--columns` takes.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The column with a name, in a report's form of times; `None` for an unknown name.
    fn named(name: &str, timestamp: Timestamp) -> Option<Self> {
        let column = Column::ALL.iter().find(|column| column.name() == name)?;
        Some(column.with_timestamp(timestamp))
    }

    /// The form of the column for a form of times.
    fn with_timestamp(self, timestamp: Timestamp) -> Self {
        match (self, timestamp) {
            (Column::Elapsed, Timestamp::Short) => Column::ElapsedShort,
            (Column::Delta, Timestamp::Micro) => Column::DeltaMicro,
            _ => self,
        }
    }
}

/// How times are shown: the values of `-O timestamp=`.
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
    /// The form with a number, 0 to 3.
    pub fn from_number(number: u64) -> Option<Self> {
        [Timestamp::Milli, Timestamp::Short, Timestamp::Micro, Timestamp::None]
            .get(usize::try_from(number).ok()?)
            .copied()
    }
}

/// Why a list of columns was refused.
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
/// Column of the text that has a line of its own.
const SECOND_LINE: usize = 8;
/// The margins of the text, as the heading names them.
const MARGINS: &[u8] = b"APPL    SYSCALL KERNEL  INTERRUPT";

/// Which columns a report has, and how wide they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    list: Vec<Column>,
    /// True if there is room for ids of four digits.
    wide_ids: bool,
    text: bool,
    /// True if the text has a line of its own.
    two_lines: bool,
    /// Nothing but the formatted text: no blanks before it, no margins, no heading.
    bare: bool,
}

impl Default for Columns {
    fn default() -> Self {
        Self::new(&[Column::Id], Timestamp::Milli)
    }
}

impl Columns {
    /// The columns that are asked for, in the report's own order, and those that come with them: the depth of
    /// interrupts with name or id of the process, and the times of `timestamp`.
    pub fn new(wanted: &[Column], timestamp: Timestamp) -> Self {
        let times: &[Column] = match timestamp {
            Timestamp::Milli | Timestamp::Micro => &[Column::Elapsed, Column::Delta],
            Timestamp::Short => &[Column::Elapsed],
            Timestamp::None => &[],
        };
        let wanted: Vec<Column> = wanted.iter().chain(times).map(|column| column.with_timestamp(timestamp)).collect();
        let of_process = wanted.iter().any(|column| matches!(column, Column::Exec | Column::Pid));
        let is_shown = |column: &&Column| wanted.contains(column) || (of_process && **column == Column::Int);
        let list = Column::ALL.iter().filter(is_shown).copied().collect();
        Self { list, wide_ids: false, text: true, two_lines: false, bare: false }
    }

    /// The columns of a list such as `id,elapsed,text`, in its order; `text` may only come last. `text` alone has no
    /// margins either.
    ///
    /// # Errors
    /// An unknown name, a name that comes twice, and text that is not last.
    pub fn parse(list: &str, timestamp: Timestamp) -> Result<Self, ColumnsError> {
        let mut columns = Self { list: Vec::new(), text: false, ..Self::new(&[], timestamp) };
        for name in list.split(',').map(str::trim) {
            if columns.text {
                return Err(ColumnsError(format!("column `{name}` stands behind `text`, which is the last one")));
            }
            match Column::named(name, timestamp) {
                Some(column) if columns.list.contains(&column) => {
                    return Err(ColumnsError(format!("column `{name}` stands twice")));
                }
                Some(column) => columns.list.push(column),
                None if name == "text" => columns.text = true,
                None => return Err(ColumnsError(unknown_column(name))),
            }
        }
        columns.bare = columns.list.is_empty();
        Ok(columns)
    }

    /// The text alone: no columns, margins or heading.
    pub fn text_only() -> Self {
        Self { bare: true, ..Self::new(&[], Timestamp::None) }
    }

    /// The columns before the text.
    pub fn list(&self) -> &[Column] {
        &self.list
    }

    /// True if there is nothing but the formatted text: `text` alone was asked for.
    pub fn is_bare(&self) -> bool {
        self.bare
    }

    /// Makes room for ids of four digits.
    #[must_use]
    pub fn with_wide_ids(mut self, wide: bool) -> Self {
        self.wide_ids = wide;
        self
    }

    /// Puts the text on a line of its own.
    #[must_use]
    pub fn on_two_lines(mut self, two_lines: bool) -> Self {
        self.two_lines = two_lines && self.text && !self.list.is_empty();
        self
    }

    /// True if the text has a line of its own.
    pub fn has_two_lines(&self) -> bool {
        self.two_lines
    }

    /// True if a column shows processes, CPUs or system calls, which earlier events told.
    pub(crate) fn need_context(&self) -> bool {
        self.list.iter().any(|column| !matches!(column.info().source, Source::Event | Source::Log))
    }

    /// Which parts of the context a column shows, except processes and CPUs.
    pub(crate) fn wanted(&self) -> Wanted {
        let shows = |source| self.list.iter().any(|column| column.info().source == source);
        Wanted { depth: shows(Source::Depth), priority: false, svc: shows(Source::Svc) }
    }

    /// True if the text is shown.
    pub fn has_text(&self) -> bool {
        self.text
    }

    pub(crate) fn width(&self, column: Column) -> usize {
        column.info().width + usize::from(self.wide_ids && column == Column::Id)
    }

    /// Margins of an event's text, by its level.
    #[inline]
    pub fn layout(&self, level: Level) -> Layout {
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
    pub fn write_heading(&self, out: &mut TextBuf) {
        let line = out.len();
        for column in &self.list {
            let (word, width) = (column.info().heading.as_bytes(), self.width(*column));
            match column.info().side {
                Side::Right => right(word, width, line, out),
                Side::Left => left(word, width, line, out),
            }
        }
        if self.two_lines {
            trim(line, out);
            out.push(b"\n");
        }
        if self.text {
            out.pad(if self.two_lines { SECOND_LINE } else { GAP });
            out.push(MARGINS);
        }
        trim(line, out);
        out.push(b"\n");
    }
}

fn unknown_column(name: &str) -> String {
    let names: Vec<&str> = Column::names().chain(["text"]).collect();
    let what = match name {
        "" => String::from("a column without a name"),
        _ if RecordColumn::names().any(|known| known == name) => format!("column `{name}` is of QNX logs"),
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
pub(crate) fn right(value: &[u8], width: usize, line: usize, out: &mut TextBuf) {
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
        let all: Vec<Column> = Column::ALL.iter().rev().copied().collect();
        assert_eq!(
            heading(&Columns::new(&all[4..], Timestamp::Milli)),
            "ID  FILENAME       PROCESS NAME   CPU RCPUS PID      TID      I SYSTEM CALL       ELAPSED_SEC     \
             DELTA_MSEC   APPL    SYSCALL KERNEL  INTERRUPT\n"
        );
        let columns = Columns::new(&[Column::Id, Column::Exec, Column::Pid], Timestamp::Milli);
        let text = heading(&columns);
        let at = |word: &str| text.find(word).unwrap();
        assert_eq!((at("PROCESS NAME"), at("PID"), at("I "), at("APPL")), (4, 19, 28, 62));
        assert_eq!((at("SYSCALL"), at("KERNEL"), at("INTERRUPT")), (70, 78, 86));
        assert_eq!((at("ELAPSED_SEC") + 11, at("DELTA_MSEC") + 10), (44, 59));
        let names: Vec<_> = Column::names().collect();
        assert_eq!(names.join(","), "id,filename,exec,cpu,reportedcpus,pid,tid,int,svc,elapsed,delta");
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
    fn the_text_may_have_a_line_of_its_own() {
        let columns = Columns::new(&[Column::Id, Column::Cpu], Timestamp::None).on_two_lines(true);
        assert_eq!(heading(&columns), "ID  CPU\n        APPL    SYSCALL KERNEL  INTERRUPT\n");
        assert_eq!(columns.layout(Level::Kern), Layout { first: 24, further: 24 });
        assert!(!Columns::parse("text", Timestamp::None).unwrap().on_two_lines(true).has_two_lines());
    }
}
