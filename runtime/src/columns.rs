//! The columns of a report: their order, widths and headings, written without a formatter.
//!
//! ```text
//! ID  PROCESS NAME   PID      I    ELAPSED_SEC     DELTA_MSEC   APPL    SYSCALL KERNEL  INTERRUPT
//! 010 sample         4522            0.000105984       0.105984   hook = 1
//! ```
//!
//! A value is never cut: a wider one moves the rest of its line, and a blank is put in where two values would touch.

use crate::context::{Facts, Wanted};
use crate::spelling::hint;
use std::fmt;
use tfbc_vm::{COLUMNS, Layout, Level, TextBuf, num};

/// A column before the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Column {
    /// The hook id.
    Id,
    /// The log that the event came from.
    File,
    /// The name of the process: `-PID-` where only its id is known, `-?-` where that is not either.
    Exec,
    /// The CPU, blank when unknown.
    Cpu,
    /// How many of the CPU logs go on: `$REPORTEDCPUS`.
    ReportedCpus,
    /// The process id, blank when unknown.
    Pid,
    /// The thread id.
    Tid,
    /// The depth of interrupts, blank at 0.
    Int,
    /// The system call that the thread is in, blank for none.
    Svc,
    /// Time since the trace began, right-justified.
    Elapsed,
    /// Time since the event that was reported before, right-justified.
    Delta,
}

impl Column {
    /// The columns in the report's own order, with the names that `--columns` takes.
    pub const NAMES: [(Column, &str); 11] = [
        (Column::Id, "id"),
        (Column::File, "filename"),
        (Column::Exec, "exec"),
        (Column::Cpu, "cpu"),
        (Column::ReportedCpus, "reportedcpus"),
        (Column::Pid, "pid"),
        (Column::Tid, "tid"),
        (Column::Int, "int"),
        (Column::Svc, "svc"),
        (Column::Elapsed, "elapsed"),
        (Column::Delta, "delta"),
    ];

    /// The name that `--columns` takes.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(column, _)| *column == self).map_or("", |(_, name)| name)
    }

    /// Whether values are numbers.
    pub fn is_number(self) -> bool {
        !matches!(self, Column::Id | Column::File | Column::Exec | Column::Svc)
    }

    fn is_right(self) -> bool {
        matches!(self, Column::Elapsed | Column::Delta)
    }
}

/// What the columns of one event show.
#[derive(Debug, Clone, Copy)]
pub struct Row<'r> {
    /// Canonical hook id.
    pub id: u16,
    /// Nanoseconds since the trace began.
    pub elapsed_ns: u64,
    /// Nanoseconds since the event that was reported before.
    pub delta_ns: i128,
    /// Who ran where.
    pub facts: &'r Facts<'r>,
    /// The log that the event came from.
    pub file: &'r [u8],
    /// `$REPORTEDCPUS`
    pub reported_cpus: u32,
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

/// A millisecond.
const MS: u64 = 1_000_000;

/// Blanks between the columns and the text's first margin.
const GAP: usize = 3;
/// Where the text begins that stands on a line of its own.
const SECOND_LINE: usize = 8;
/// The margins of the text, as the heading names them.
const MARGINS: &[u8] = b"APPL    SYSCALL KERNEL  INTERRUPT";

/// Which columns a report has, and how wide they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    list: Vec<Column>,
    timestamp: Timestamp,
    /// Whether there is room for ids of four digits.
    wide_ids: bool,
    text: bool,
    /// Whether the text stands on a line of its own.
    two_lines: bool,
    /// Nothing but the formatted text: no blanks before it, no margins, no heading.
    bare: bool,
    /// Whether a value that fits leaves a blank before the next one: none that stands at the left of its column follows
    /// one that stands at the right.
    apart: bool,
    /// Whether the columns are those of most reports: id, what the events before tell, elapsed seconds and delta
    /// milliseconds.
    usual: bool,
    /// Whether some of them show what the events before tell.
    facts: bool,
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
        let of_process = wanted.iter().any(|column| matches!(column, Column::Exec | Column::Pid));
        let is_shown = |column: &Column| {
            wanted.contains(column) || times.contains(column) || (of_process && *column == Column::Int)
        };
        let list: Vec<_> = Column::NAMES.iter().map(|(column, _)| *column).filter(is_shown).collect();
        let mut columns = Self {
            list,
            timestamp,
            wide_ids: false,
            text: true,
            two_lines: false,
            bare: false,
            apart: true,
            usual: false,
            facts: false,
        };
        columns.look();
        columns
    }

    /// The columns of a list such as `id,elapsed,text`, in its order; `text` may only stand last. `text` alone has no
    /// margins either.
    ///
    /// # Errors
    /// A name that is none or stands twice, and text that is not last.
    pub fn parse(list: &str, timestamp: Timestamp) -> Result<Self, ColumnsError> {
        let mut columns = Self { list: Vec::new(), text: false, ..Self::new(&[], timestamp) };
        for name in list.split(',').map(str::trim) {
            if columns.text {
                return Err(ColumnsError(format!("column `{name}` stands behind `text`, which is the last one")));
            }
            match Column::NAMES.iter().find(|(_, known)| *known == name) {
                Some((column, _)) if columns.list.contains(column) => {
                    return Err(ColumnsError(format!("column `{name}` stands twice")));
                }
                Some((column, _)) => columns.list.push(*column),
                None if name == "text" => columns.text = true,
                None => return Err(ColumnsError(unknown_column(name))),
            }
        }
        columns.bare = columns.list.is_empty();
        columns.look();
        columns.apart = !columns.list.windows(2).any(|pair| pair[0].is_right() && !pair[1].is_right());
        Ok(columns)
    }

    /// Sees whether they are the usual ones.
    fn look(&mut self) {
        let of_event = |column: &Column| matches!(column, Column::Id | Column::Elapsed | Column::Delta);
        let ends = matches!(self.list[..], [Column::Id, .., Column::Elapsed, Column::Delta]);
        self.usual = self.timestamp == Timestamp::Milli && ends && !self.facts().iter().any(of_event);
        self.facts = !self.facts().is_empty();
    }

    /// The columns before the text.
    pub fn list(&self) -> &[Column] {
        &self.list
    }

    /// Whether there is nothing but the formatted text: `text` alone was asked for.
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

    /// Whether the text stands on a line of its own.
    pub fn has_two_lines(&self) -> bool {
        self.two_lines
    }

    /// Whether a column shows what the events before have told of processes, threads and CPUs.
    pub(crate) fn need_context(&self) -> bool {
        const OF_EVENT: [Column; 6] =
            [Column::Id, Column::File, Column::ReportedCpus, Column::Tid, Column::Elapsed, Column::Delta];
        !self.list.iter().all(|column| OF_EVENT.contains(column))
    }

    /// Which of these facts a column shows.
    pub(crate) fn wanted(&self) -> Wanted {
        Wanted { depth: self.list.contains(&Column::Int), priority: false, svc: self.list.contains(&Column::Svc) }
    }

    /// Whether the text is shown.
    pub fn has_text(&self) -> bool {
        self.text
    }

    fn width(&self, column: Column) -> usize {
        match column {
            Column::Id => self.id_width(),
            Column::File | Column::Exec | Column::Svc => 15,
            Column::Cpu => 4,
            Column::ReportedCpus => 6,
            Column::Pid | Column::Tid => 9,
            Column::Int => 2,
            Column::Elapsed if self.timestamp == Timestamp::Short => 10,
            Column::Elapsed => 14,
            Column::Delta => 15,
        }
    }

    fn heading(&self, column: Column) -> &'static [u8] {
        match column {
            Column::Id => b"ID",
            Column::File => b"FILENAME",
            Column::Exec => b"PROCESS NAME",
            Column::Cpu => b"CPU",
            Column::ReportedCpus => b"RCPUS",
            Column::Pid => b"PID",
            Column::Tid => b"TID",
            Column::Int => b"I",
            Column::Svc => b"SYSTEM CALL",
            Column::Elapsed if self.timestamp == Timestamp::Short => b"ELAPSED",
            Column::Elapsed => b"ELAPSED_SEC",
            Column::Delta if self.timestamp == Timestamp::Micro => b"DELTA_USEC",
            Column::Delta => b"DELTA_MSEC",
        }
    }

    /// Where the text of an event stands, by its level.
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

    /// The value of a column that the event tells itself.
    #[inline(never)]
    fn own_value(&self, column: Column, row: &Row<'_>) -> Option<Value> {
        let mut value = Value::new();
        value.len = self.put_own(column, row, &mut value.bytes)?;
        Some(value)
    }

    /// Writes the value of a column that the event tells itself; how long it is.
    #[inline(always)]
    fn put_own(&self, column: Column, row: &Row<'_>, room: &mut ValueRoom) -> Option<usize> {
        Some(match column {
            Column::Id => {
                room[..4].copy_from_slice(&num::hex4(row.id));
                // A zero at the end of a canonical id is dropped.
                if row.id & 15 == 0 { 3 } else { 4 }
            }
            Column::Elapsed if self.timestamp == Timestamp::Short => num::decimal::<6>(room, 0, row.elapsed_ns / 1000),
            Column::Elapsed => num::decimal::<9>(room, 0, row.elapsed_ns),
            Column::Delta => {
                room[0] = b'-';
                let (at, delta_ns) = (usize::from(row.delta_ns < 0), row.delta_ns.unsigned_abs() as u64);
                if self.timestamp == Timestamp::Micro {
                    num::decimal::<3>(room, at, delta_ns)
                } else {
                    num::decimal::<6>(room, at, delta_ns)
                }
            }
            _ => return None,
        })
    }

    /// Appends a value without blanks, for tables that programs read; nothing where it is not known.
    #[inline]
    pub(crate) fn write_value(&self, column: Column, row: &Row<'_>, out: &mut TextBuf) {
        let len = out.spare().first_chunk_mut().and_then(|room| self.put_own(column, row, room));
        match len {
            Some(len) => out.advance(len),
            None => write_fact_alone(column, row, out),
        }
    }

    /// Appends the columns of one event; `line` is where its line begins.
    #[inline]
    pub fn write(&self, line: usize, row: &Row<'_>, out: &mut TextBuf) {
        if self.are_usual()
            && !self.show_facts()
            && out.len() == line
            && self.hold_id(row.id)
            && let Ok(delta_ns) = u64::try_from(row.delta_ns)
        {
            let spare = out.spare();
            spare[..8].copy_from_slice(&IdText::new(row.id).0.to_le_bytes());
            if let Some(times) = spare[self.id_width()..].first_chunk_mut::<{ Times::WIDTH }>()
                && times.first_chunk_mut().is_some_and(|cell| num::fixed::<14, 9>(cell, row.elapsed_ns))
                && times.last_chunk_mut().is_some_and(|cell| num::fixed::<15, 6>(cell, delta_ns))
            {
                return out.advance(self.id_width() + Times::WIDTH);
            }
        }
        self.write_each(line, row, out);
    }

    /// The same for any columns.
    #[inline(never)]
    fn write_each(&self, line: usize, row: &Row<'_>, out: &mut TextBuf) {
        let mut list = &self.list[..];
        if self.apart && out.len() == line {
            list = &list[self.put_narrow(list, row, out)..];
        }
        if !list.is_empty() {
            self.write_wide(list, line, row, out);
        }
        if self.two_lines {
            trim(line, out);
            out.push(b"\n");
        }
    }

    /// Appends the first columns, up to one whose value fills it, or more; how many they are.
    #[inline(always)]
    fn put_narrow(&self, list: &[Column], row: &Row<'_>, out: &mut TextBuf) -> usize {
        let spare = out.spare();
        let mut at = 0;
        for (n, column) in list.iter().enumerate() {
            let Some(cell) = spare.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) else {
                out.advance(at);
                return n;
            };
            let fits = match column {
                Column::Id => self.put_id(row.id, cell),
                Column::Elapsed if self.timestamp == Timestamp::Short => put_elapsed_short(row, cell),
                Column::Elapsed => put_elapsed(row, cell),
                Column::Delta if self.timestamp == Timestamp::Micro => put_delta_micro(row, cell),
                Column::Delta => put_delta(row, cell),
                _ => put_fact(*column, self.width(*column), row, cell),
            };
            if !fits {
                out.advance(at);
                return n;
            }
            at += self.width(*column);
        }
        out.advance(at);
        list.len()
    }

    /// Appends columns of which the first has a value that fills it, or more, or may touch the one before it.
    #[cold]
    fn write_wide(&self, mut list: &[Column], line: usize, row: &Row<'_>, out: &mut TextBuf) {
        while let Some((column, rest)) = list.split_first() {
            let width = self.width(*column);
            match self.own_value(*column, row) {
                Some(value) if column.is_right() => right(value.as_bytes(), width, line, out),
                Some(value) => left(value.as_bytes(), width, line, out),
                None => write_fact(*column, width, line, row, out),
            }
            list = rest;
            // A value at the left of its column may touch what ends without a blank.
            if self.apart && (list.first().is_some_and(|next| next.is_right()) || out.as_bytes().ends_with(b" ")) {
                list = &list[self.put_narrow(list, row, out)..];
            }
        }
    }

    /// Whether they are id, facts, elapsed time and delta in milliseconds, which [`Columns::put_usual`] writes.
    #[inline]
    pub(crate) fn are_usual(&self) -> bool {
        self.usual && !self.two_lines
    }

    /// The columns of [`Columns::are_usual`] that show what the events before tell.
    fn facts(&self) -> &[Column] {
        self.list.get(1..self.list.len().saturating_sub(2)).unwrap_or_default()
    }

    /// Whether there are any.
    #[inline]
    pub(crate) fn show_facts(&self) -> bool {
        self.facts
    }

    /// Their text behind an id that leaves a blank free; `None` where it is too long.
    pub(crate) fn facts_text(&self, row: &Row<'_>, scratch: &mut TextBuf) -> Option<FactsText> {
        scratch.clear();
        scratch.push(b" ");
        self.write_wide(self.facts(), 0, row, scratch);
        let found = &scratch.as_bytes()[1..];
        let mut text = FactsText { text: [b' '; FactsText::MAX], len: found.len() };
        text.text.get_mut(..found.len())?.copy_from_slice(found);
        Some(text)
    }

    /// Whether the usual columns leave a blank free beside an id.
    pub(crate) fn hold_id(&self, id: u16) -> bool {
        self.wide_ids || id & 15 == 0
    }

    /// Writes the usual columns, where they leave a blank beside the id; how many bytes they take. Id and facts are given as
    /// text, and `times` holds the elapsed time.
    #[inline(always)]
    pub(crate) fn put_usual(
        &self,
        IdText(id): IdText,
        facts: Option<&FactsText>,
        (times, elapsed_ns, delta_ns): (&Times, u64, u64),
        room: &mut [u8; COLUMNS],
    ) -> usize {
        const { assert!(5 + FactsText::MAX + Times::WIDTH <= COLUMNS) };
        let mut at = self.id_width();
        room[..8].copy_from_slice(&id.to_le_bytes());
        if let Some(facts) = facts {
            room[at..at + FactsText::MAX].copy_from_slice(&facts.text);
            at += facts.len.min(FactsText::MAX);
        }
        if let Some(text) = room[at..].first_chunk_mut() {
            times.put(elapsed_ns, delta_ns, text);
        }
        at + Times::WIDTH
    }

    #[inline(always)]
    fn id_width(&self) -> usize {
        4 + usize::from(self.wide_ids)
    }

    #[inline(always)]
    fn put_id(&self, id: u16, cell: &mut Cell) -> bool {
        cell[..8].copy_from_slice(&IdText::new(id).0.to_le_bytes());
        self.hold_id(id)
    }

    /// Appends the heading line, or two of them.
    pub fn write_heading(&self, out: &mut TextBuf) {
        let line = out.len();
        for column in &self.list {
            let (word, width) = (self.heading(*column), self.width(*column));
            if column.is_right() {
                right(word, width, line, out);
            } else {
                left(word, width, line, out);
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

/// A canonical hook id as its column shows it: three digits, or all four where the last is not 0, and blanks. The first
/// character is the lowest byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IdText(u64);

impl IdText {
    /// The text of an id.
    #[inline]
    pub fn new(id: u16) -> Self {
        let [a, b, c, d] = num::hex4(id);
        let d = if id & 15 == 0 { b' ' } else { d };
        Self(u64::from_le_bytes([a, b, c, d, b' ', b' ', b' ', b' ']))
    }
}

/// Elapsed times and deltas as the usual columns show them, of events in a row: many have the same millisecond.
pub(crate) struct Times {
    /// Where the millisecond begins.
    since_ns: u64,
    /// Its text, with seconds before it.
    text: [u8; 8],
}

impl Times {
    /// Bytes of both columns.
    pub const WIDTH: usize = 14 + 15;

    pub fn new() -> Self {
        Self { since_ns: 0, text: *b"   0.000" }
    }

    /// Takes in an elapsed time; false where it and its delta from the one before do not leave a blank free before each.
    #[inline(always)]
    pub fn hold(&mut self, elapsed_ns: u64, last_ns: u64) -> bool {
        (elapsed_ns.wrapping_sub(self.since_ns) < MS || self.turn(elapsed_ns)) && last_ns <= elapsed_ns
    }

    /// Writes the elapsed time that was taken in last, and its delta.
    #[inline(always)]
    pub fn put(&self, elapsed_ns: u64, delta_ns: u64, text: &mut [u8; Self::WIDTH]) {
        let Some((elapsed, delta)) = text.split_first_chunk_mut::<14>() else { return };
        if let Some(text) = elapsed.last_chunk_mut() {
            num::point6(text, (elapsed_ns - self.since_ns) as u32);
        }
        elapsed[..8].copy_from_slice(&self.text);
        let Some(delta) = delta.first_chunk_mut::<15>() else { return };
        if delta_ns < MS {
            delta[..8].copy_from_slice(b"       0");
            if let Some(text) = delta.last_chunk_mut() {
                num::point6(text, delta_ns as u32);
            }
        } else {
            Self::put_long(delta, delta_ns);
        }
    }

    /// Takes in the millisecond of an elapsed time; false where it is too long.
    #[inline(never)]
    fn turn(&mut self, elapsed_ns: u64) -> bool {
        let mut text = [0; 14];
        let fits = num::fixed::<14, 9>(&mut text, elapsed_ns);
        if fits && let Some(first) = text.first_chunk() {
            (self.text, self.since_ns) = (*first, elapsed_ns - elapsed_ns % MS);
        }
        fits
    }

    #[inline(never)]
    fn put_long(delta: &mut [u8; 15], delta_ns: u64) {
        num::fixed::<15, 6>(delta, delta_ns);
    }
}

/// What the columns show of the events before one, as text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FactsText {
    text: [u8; Self::MAX],
    len: usize,
}

impl FactsText {
    /// Bytes of it: some more than all columns of facts are wide together.
    const MAX: usize = 80;
}

fn unknown_column(name: &str) -> String {
    let mut names = Column::NAMES.map(|(_, name)| name).to_vec();
    names.push("text");
    format!("unknown column `{name}`, expected one of {}{}", names.join(", "), hint(name, &names))
}

/// Room for a value of any column, and more.
type Cell = [u8; 16];

// Each fills a cell; false where its value leaves no blank free. Inlined, all of them would do their work before the loop
// over the columns, whichever are shown.

#[inline(never)]
fn put_elapsed(row: &Row<'_>, cell: &mut Cell) -> bool {
    cell.first_chunk_mut().is_some_and(|cell| num::fixed::<14, 9>(cell, row.elapsed_ns))
}

#[inline(never)]
fn put_elapsed_short(row: &Row<'_>, cell: &mut Cell) -> bool {
    cell.first_chunk_mut().is_some_and(|cell| num::fixed::<10, 6>(cell, row.elapsed_ns / 1000))
}

#[inline(never)]
fn put_delta(row: &Row<'_>, cell: &mut Cell) -> bool {
    let Ok(delta_ns) = u64::try_from(row.delta_ns) else { return false };
    cell.first_chunk_mut().is_some_and(|cell| num::fixed::<15, 6>(cell, delta_ns))
}

#[inline(never)]
fn put_delta_micro(row: &Row<'_>, cell: &mut Cell) -> bool {
    let Ok(delta_ns) = u64::try_from(row.delta_ns) else { return false };
    cell[..3].copy_from_slice(b"   ");
    cell[3..].first_chunk_mut().is_some_and(|cell| num::fixed::<12, 3>(cell, delta_ns))
}

/// A column of what the events before tell.
#[inline(never)]
fn put_fact(column: Column, width: usize, row: &Row<'_>, cell: &mut Cell) -> bool {
    let number = match fact(column, row) {
        Fact::Text(text) => return put_text(text, width, cell),
        Fact::Number(number) => number,
        Fact::Process(_) => return false,
    };
    if number >= 100_000_000 {
        return false;
    }
    *cell = [b' '; 16];
    // What stands behind the number's digits is no text.
    let n = num::dec(cell, 0, number);
    cell[n..].fill(b' ');
    n < width
}

#[inline]
fn put_text(text: &[u8], width: usize, cell: &mut Cell) -> bool {
    *cell = [b' '; 16];
    if text.len() >= width.min(cell.len()) {
        return false;
    }
    cell[..text.len()].copy_from_slice(text);
    true
}

/// What a column shows of what the events before tell.
enum Fact<'r> {
    /// Empty where it is not known.
    Text(&'r [u8]),
    Number(u64),
    /// The id of a process in place of its name.
    Process(u64),
}

#[inline(always)]
fn fact<'r>(column: Column, row: &Row<'r>) -> Fact<'r> {
    let facts = row.facts;
    let number = match column {
        Column::File => return Fact::Text(row.file),
        Column::Svc => return Fact::Text(facts.svc),
        Column::Exec if !facts.name.is_empty() => return Fact::Text(facts.name),
        Column::Exec => return facts.pid.map_or(Fact::Text(b"-?-"), Fact::Process),
        Column::Pid => facts.pid,
        Column::Cpu => facts.cpu,
        Column::ReportedCpus => Some(u64::from(row.reported_cpus)),
        Column::Tid => Some(facts.tid),
        Column::Int => Some(u64::from(facts.depth)).filter(|depth| *depth > 0),
        Column::Id | Column::Elapsed | Column::Delta => None,
    };
    number.map_or(Fact::Text(b""), Fact::Number)
}

/// Appends a column of what the events before tell.
fn write_fact(column: Column, width: usize, line: usize, row: &Row<'_>, out: &mut TextBuf) {
    let mut value = Value::new();
    match fact(column, row) {
        Fact::Text(text) => return left(text, width, line, out),
        Fact::Number(number) => value.whole(number),
        Fact::Process(pid) => {
            value.push(b'-');
            value.whole(pid);
            value.push(b'-');
        }
    }
    left(value.as_bytes(), width, line, out);
}

/// Appends the value of a column of what the events before tell, without blanks; nothing where it is not known.
fn write_fact_alone(column: Column, row: &Row<'_>, out: &mut TextBuf) {
    let facts = row.facts;
    match column {
        Column::File => out.push(row.file),
        Column::Exec => out.push(facts.name),
        Column::Svc => out.push(facts.svc),
        Column::Pid => facts.pid.into_iter().for_each(|pid| out.dec(pid)),
        Column::Cpu => facts.cpu.into_iter().for_each(|cpu| out.dec(cpu)),
        Column::ReportedCpus => out.dec(row.reported_cpus.into()),
        Column::Tid => out.dec(facts.tid),
        Column::Int => out.dec(facts.depth.into()),
        Column::Id | Column::Elapsed | Column::Delta => {}
    }
}

/// Drops the blanks at the end of the line that begins at `line`.
pub(crate) fn trim(line: usize, out: &mut TextBuf) {
    let text = &out.as_bytes()[line..];
    let n = text.iter().rev().take_while(|byte| **byte == b' ').count();
    out.truncate(out.len() - n);
}

#[inline]
fn keep_apart(line: usize, out: &mut TextBuf) {
    if out.len() > line && out.as_bytes()[out.len() - 1] != b' ' {
        out.push(b" ");
    }
}

#[inline]
fn left(value: &[u8], width: usize, line: usize, out: &mut TextBuf) {
    if !value.is_empty() {
        keep_apart(line, out);
    }
    out.push(value);
    out.pad(width.saturating_sub(value.len()));
}

#[inline]
fn right(value: &[u8], width: usize, line: usize, out: &mut TextBuf) {
    if value.len() < width {
        out.pad(width - value.len());
    } else {
        keep_apart(line, out);
    }
    out.push(value);
}

/// Room for any value in digits, and for what is stored behind it.
type ValueRoom = [u8; 32];

/// A value in digits.
struct Value {
    bytes: ValueRoom,
    len: usize,
}

impl Value {
    #[inline]
    fn new() -> Self {
        Self { bytes: [0; 32], len: 0 }
    }

    #[inline]
    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    #[inline]
    fn whole(&mut self, number: u64) {
        self.len = num::dec(&mut self.bytes, self.len, number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Row<'static> = Row {
        id: 0,
        elapsed_ns: 0,
        delta_ns: 0,
        facts: &Facts { tid: 0, pid: None, path: b"", name: b"", cpu: None, depth: 0, priority: 0, svc: b"" },
        file: b"",
        reported_cpus: 0,
    };

    fn row(columns: &Columns, row: &Row<'_>) -> String {
        let mut out = TextBuf::new();
        columns.write(0, row, &mut out);
        String::from_utf8_lossy(out.as_bytes()).into_owned()
    }

    fn line(columns: &Columns, id: u16, elapsed_ns: u64, delta_ns: i128) -> String {
        row(columns, &Row { id, elapsed_ns, delta_ns, ..NOTHING })
    }

    fn heading(columns: &Columns) -> String {
        let mut out = TextBuf::new();
        columns.write_heading(&mut out);
        String::from_utf8_lossy(out.as_bytes()).into_owned()
    }

    #[test]
    fn default_columns() {
        let columns = Columns::default();
        assert_eq!(heading(&columns), "ID     ELAPSED_SEC     DELTA_MSEC   APPL    SYSCALL KERNEL  INTERRUPT\n");
        assert_eq!(line(&columns, 0x0100, 105_984, 105_984), "010    0.000105984       0.105984");
        assert_eq!(columns.layout(Level::Kern), Layout { first: 19, further: 52 });
        assert_eq!(columns.layout(Level::Zero), Layout { first: 0, further: 0 });
    }

    #[test]
    fn times_in_other_forms() {
        let short = Columns::new(&[Column::Id], Timestamp::Short);
        assert_eq!(heading(&short), "ID     ELAPSED   APPL    SYSCALL KERNEL  INTERRUPT\n");
        assert_eq!(line(&short, 0x0100, 1_999_999_999, 0), "010   1.999999");
        let micro = Columns::new(&[], Timestamp::Micro);
        assert_eq!(heading(&micro), "   ELAPSED_SEC     DELTA_USEC   APPL    SYSCALL KERNEL  INTERRUPT\n");
        assert_eq!(line(&micro, 0x0100, 105_984, 105_984), "   0.000105984        105.984");
        assert_eq!(heading(&Columns::new(&[], Timestamp::None)), "   APPL    SYSCALL KERNEL  INTERRUPT\n");
    }

    #[test]
    fn values_are_never_cut_and_never_touch() {
        let columns = Columns::default();
        assert_eq!(line(&columns, 0xF5F1, 12_345_678_901_234, 5), "F5F1 12345.678901234       0.000005");
        assert_eq!(line(&columns, 0x0100, 1_000_000_000_000, 5), "010 1000.000000000       0.000005");
        assert_eq!(line(&columns, 0xF5F1, 1_000_000_000_000, 5), "F5F1 1000.000000000       0.000005");
        let wide = u64::MAX as i128;
        assert_eq!(line(&columns, 0x0100, 0, wide), "010    0.000000000 18446744073709.551615");
    }

    #[test]
    fn times_of_every_size() {
        let point = |units: u64, decimals: usize| {
            let digits = format!("{units:0width$}", width = decimals + 1);
            let (whole, fraction) = digits.split_at(digits.len() - decimals);
            format!("{whole}.{fraction}")
        };
        let powers = (0..20).map(|k| 10u64.pow(k)).chain((0..64).map(|k| 1 << k)).chain([u64::MAX]);
        let times: Vec<u64> = powers.flat_map(|n| [n - 1, n, n.saturating_add(1)]).collect();
        for (at, &elapsed_ns) in times.iter().enumerate() {
            let delta_ns = times[at * 7 % times.len()];
            for (timestamp, decimals) in [(Timestamp::Milli, 6), (Timestamp::Micro, 3)] {
                let columns = Columns::new(&[Column::Id], timestamp);
                let mut expected = format!("010 {:>14}", point(elapsed_ns, 9));
                let delta = point(delta_ns, decimals);
                expected += if delta.len() < 15 { "" } else { " " };
                expected += &format!("{delta:>15}");
                assert_eq!(line(&columns, 0x0100, elapsed_ns, delta_ns.into()), expected);
            }
            let short = Columns::new(&[Column::Id], Timestamp::Short);
            assert_eq!(line(&short, 0x0100, elapsed_ns, 0), format!("010 {:>10}", point(elapsed_ns / 1000, 6)));
        }
    }

    #[test]
    fn values_of_tables_have_no_blanks() {
        let point = |units: u128, decimals: usize| {
            let scale = 10u128.pow(decimals as u32);
            format!("{}.{:0decimals$}", units / scale, units % scale)
        };
        for n in 0..2000u32 {
            let elapsed_ns = 10u64.pow(n % 20).wrapping_mul(n.into()).wrapping_sub(u64::from(n % 3));
            let delta_ns = i128::from(elapsed_ns / 7) * if n % 5 == 0 { -1 } else { 1 };
            let id = (n.wrapping_mul(40_503) >> 4) as u16 & if n % 2 == 0 { 0xFFF0 } else { 0xFFFF };
            let row = Row { id, elapsed_ns, delta_ns, ..NOTHING };
            let sign = if delta_ns < 0 { "-" } else { "" };
            for timestamp in [Timestamp::Milli, Timestamp::Short, Timestamp::Micro] {
                let value = |column| {
                    let mut out = TextBuf::new();
                    Columns::new(&[], timestamp).write_value(column, &row, &mut out);
                    String::from_utf8_lossy(out.as_bytes()).into_owned()
                };
                let (cut, decimals) = if timestamp == Timestamp::Short { (1000, 6) } else { (1, 9) };
                assert_eq!(value(Column::Elapsed), point((elapsed_ns / cut).into(), decimals));
                let decimals = if timestamp == Timestamp::Micro { 3 } else { 6 };
                assert_eq!(value(Column::Delta), format!("{sign}{}", point(delta_ns.unsigned_abs(), decimals)));
                let digits = if id & 15 == 0 { 3 } else { 4 };
                assert_eq!(value(Column::Id), format!("{id:04X}")[..digits]);
            }
        }
    }

    #[test]
    fn narrow_values_are_written_as_wide_ones_are() {
        let names: [&[u8]; 4] = [b"", b"sh", b"fourteen bytes", b"fifteen letters"];
        let numbers = [None, Some(0), Some(7), Some(100), Some(99_999_999), Some(u64::MAX)];
        let all = Column::NAMES.map(|(column, _)| column);
        let usual = [Column::Id, Column::Elapsed, Column::Delta];
        for (list, n) in [all.to_vec(), usual.to_vec(), vec![Column::Delta, Column::Id]]
            .into_iter()
            .flat_map(|list| (0..600).map(move |n| (list.clone(), n)))
        {
            let pick = |k: usize| numbers[(n / (k + 1) + k) % numbers.len()];
            let facts = Facts {
                tid: pick(0).unwrap_or(5),
                pid: pick(1),
                cpu: pick(2),
                depth: pick(3).unwrap_or(0).min(99) as u32,
                name: names[n % 4],
                svc: names[n / 4 % 4],
                ..*NOTHING.facts
            };
            let row = Row {
                id: if n % 3 == 0 { 0x0100 } else { 0xF5F1 },
                elapsed_ns: 10u64.pow(n as u32 % 20),
                delta_ns: 7 * 10i128.pow(n as u32 / 3 % 19) * if n % 7 == 0 { -1 } else { 1 },
                facts: &facts,
                file: names[n / 2 % 4],
                reported_cpus: n as u32,
            };
            for timestamp in [Timestamp::Milli, Timestamp::Short, Timestamp::Micro] {
                let apart = list[0] == Column::Id;
                let mut columns = Columns { list: list.clone(), apart, ..Columns::new(&[], timestamp) };
                columns.look();
                let columns = columns.with_wide_ids(n % 2 == 0);
                let (mut quick, mut wide) = (TextBuf::new(), TextBuf::new());
                columns.write(0, &row, &mut quick);
                Columns { apart: false, ..columns }.write_each(0, &row, &mut wide);
                assert_eq!(String::from_utf8_lossy(quick.as_bytes()), String::from_utf8_lossy(wide.as_bytes()));
            }
        }
    }

    #[test]
    fn usual_columns_are_written_at_once_as_one_by_one() {
        let all: Vec<_> = Column::NAMES.iter().map(|(column, _)| *column).collect();
        let names: [&[u8]; 4] = [b"", b"sh", b"fourteen bytes", b"more than fifteen letters"];
        let numbers = [None, Some(0), Some(7), Some(99_999_999), Some(1_000_000_000)];
        let mut times = Times::new();
        let (mut n_usual, mut last_ns) = (0, 0);
        for n in 0..5000usize {
            let list: Vec<_> = all.iter().enumerate().filter(|(at, _)| n >> at & 1 == 0).map(|(_, c)| *c).collect();
            let columns = Columns::new(&list, Timestamp::Milli).with_wide_ids(n % 3 == 0);
            let pick = |k: usize| numbers[(n / (k + 1) + k) % numbers.len()];
            let facts = Facts {
                tid: pick(0).unwrap_or(5),
                pid: pick(1),
                cpu: pick(2),
                depth: pick(3).unwrap_or(0).min(99) as u32,
                name: names[n % 4].get(..14).unwrap_or(names[n % 4]),
                svc: names[n / 4 % 4],
                ..*NOTHING.facts
            };
            // Within a millisecond, beyond it, and beyond a second.
            let elapsed_ns = last_ns + [1, 999, 1_000_000, 31_000_000, 2_000_000_000][n % 5];
            let shown = Row {
                id: if n % 3 == 0 { 0xF5F1 } else { 0x0100 },
                elapsed_ns,
                delta_ns: i128::from(elapsed_ns - last_ns),
                facts: &facts,
                file: names[n / 16 % 4],
                reported_cpus: n as u32,
            };
            let mut expected = TextBuf::new();
            columns.write_each(0, &shown, &mut expected);
            if columns.are_usual()
                && times.hold(elapsed_ns, last_ns)
                && let Some(text) = columns.facts_text(&shown, &mut TextBuf::new())
            {
                let mut room = [0; COLUMNS];
                let text = columns.show_facts().then_some(&text);
                let times = (&times, elapsed_ns, elapsed_ns - last_ns);
                let len = columns.put_usual(IdText::new(shown.id), text, times, &mut room);
                assert_eq!(String::from_utf8_lossy(&room[..len]), String::from_utf8_lossy(expected.as_bytes()));
                n_usual += 1;
            }
            // Where elapsed times fill their column, time begins again.
            last_ns = if elapsed_ns > 1_100_000_000_000 { 0 } else { elapsed_ns };
        }
        assert!(n_usual > 1000, "{n_usual}");
        assert!(!times.hold(1_000_000_000_000, 0) && !times.hold(5, 6) && times.hold(6, 6));
    }

    #[test]
    fn a_delta_that_goes_back_has_a_minus() {
        assert_eq!(line(&Columns::default(), 0x0100, 1, -2_500_000), "010    0.000000001      -2.500000");
    }

    #[test]
    fn wide_ids() {
        let columns = Columns::default().with_wide_ids(true);
        assert_eq!(line(&columns, 0xF5F1, 0, 0), "F5F1    0.000000000       0.000000");
        assert_eq!(columns.layout(Level::Appl).further, 37);
    }

    #[test]
    fn column_lists() {
        let columns = Columns::parse("delta,id", Timestamp::Milli).unwrap();
        assert!(!columns.has_text());
        assert_eq!(line(&columns, 0x0100, 0, 7), "       0.000007 010 ");
        let bare = Columns::parse("text", Timestamp::Milli).unwrap();
        assert!(bare.is_bare() && bare.layout(Level::Int) == Layout::default());
        assert!(Columns::parse("text,id", Timestamp::Milli).is_err());
        assert!(Columns::parse("id,id", Timestamp::Milli).is_err());
        assert!(Columns::parse("idd", Timestamp::Milli).is_err());
    }

    const ALL: [Column; 9] = [
        Column::Id,
        Column::File,
        Column::Exec,
        Column::Cpu,
        Column::ReportedCpus,
        Column::Pid,
        Column::Tid,
        Column::Int,
        Column::Svc,
    ];

    fn facts() -> Facts<'static> {
        Facts {
            tid: 8191,
            pid: Some(4522),
            path: b"/usr/bin/ksh",
            name: b"ksh",
            cpu: Some(3),
            depth: 1,
            svc: b"kread",
            ..Facts::default()
        }
    }

    #[test]
    fn columns_stand_in_their_order_whatever_the_order_of_asking() {
        let columns = Columns::new(&ALL.into_iter().rev().collect::<Vec<_>>(), Timestamp::Milli);
        assert_eq!(
            heading(&columns),
            "ID  FILENAME       PROCESS NAME   CPU RCPUS PID      TID      I SYSTEM CALL       ELAPSED_SEC     \
             DELTA_MSEC   APPL    SYSCALL KERNEL  INTERRUPT\n"
        );
        let shown = Row { id: 0x1060, facts: &facts(), file: b"trcfile", reported_cpus: 2, ..NOTHING };
        assert_eq!(
            row(&columns, &shown),
            "106 trcfile        ksh            3   2     4522     8191     1 kread             0.000000000       0.000000"
        );
    }

    #[test]
    fn columns_stand_where_measured_reports_have_them() {
        let columns = Columns::new(&[Column::Id, Column::Exec, Column::Pid], Timestamp::Milli);
        let text = heading(&columns);
        let at = |word: &str| text.find(word).unwrap();
        assert_eq!((at("PROCESS NAME"), at("PID"), at("I "), at("APPL")), (4, 19, 28, 62));
        assert_eq!((at("SYSCALL"), at("KERNEL"), at("INTERRUPT")), (70, 78, 86));
        assert_eq!((at("ELAPSED_SEC") + 11, at("DELTA_MSEC") + 10), (44, 59));
        let shown = Row { id: 0x1060, elapsed_ns: 3_109_888, delta_ns: 162_816, facts: &facts(), ..NOTHING };
        let line = row(&columns, &shown);
        assert_eq!((&line[33..44], &line[51..59], line.len()), ("0.003109888", "0.162816", 59));
        assert_eq!(columns.layout(Level::Kern), Layout { first: 19, further: 78 });
        let columns = Columns::new(&[Column::Id, Column::Tid], Timestamp::Milli);
        assert_eq!(columns.layout(Level::Kern).further, 61);
        let shown =
            Row { facts: &Facts { tid: 1_929_377, ..facts() }, elapsed_ns: 7_160_342_830, delta_ns: 826, ..shown };
        assert_eq!(row(&columns, &shown), "106 1929377     7.160342830       0.000826");
    }

    #[test]
    fn what_is_unknown_is_blank_or_told_so() {
        let columns = Columns::new(&[Column::Exec, Column::Cpu, Column::Pid, Column::Svc], Timestamp::None);
        let unknown = Facts::default();
        assert_eq!(row(&columns, &Row { facts: &unknown, ..NOTHING }).trim_end(), "-?-");
        let unnamed = Facts { pid: Some(4522), ..unknown };
        assert_eq!(row(&columns, &Row { facts: &unnamed, ..NOTHING }).trim_end(), "-4522-             4522");
    }

    #[test]
    fn wide_values_move_the_rest_of_their_line() {
        let columns = Columns::new(&[Column::File, Column::Pid, Column::Tid], Timestamp::None);
        let shown = Facts { pid: Some(123_456_789), tid: u64::MAX, ..facts() };
        let line = row(&columns, &Row { facts: &shown, file: b"a/rather/long/name", ..NOTHING });
        assert_eq!(line, "a/rather/long/name 123456789 18446744073709551615 1 ");
    }

    #[test]
    fn the_text_may_have_a_line_of_its_own() {
        let columns = Columns::new(&[Column::Id, Column::Cpu], Timestamp::None).on_two_lines(true);
        assert_eq!(heading(&columns), "ID  CPU\n        APPL    SYSCALL KERNEL  INTERRUPT\n");
        let unknown = Facts { cpu: None, ..facts() };
        assert_eq!(row(&columns, &Row { id: 0x1060, facts: &unknown, ..NOTHING }), "106\n");
        assert_eq!(columns.layout(Level::Kern), Layout { first: 24, further: 24 });
        assert!(!Columns::parse("text", Timestamp::None).unwrap().on_two_lines(true).has_two_lines());
    }
}
