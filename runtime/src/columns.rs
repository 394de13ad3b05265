//! The columns of a report: their order, widths and headings, written without a formatter.
//!
//! ```text
//! ID    ELAPSED_SEC     DELTA_MSEC   APPL    SYSCALL KERNEL  INTERRUPT
//! 010   0.000105984       0.105984                   hook = 1
//! ```
//!
//! A value is never cut: a wider one moves the rest of its line, and a blank is put in where two values would touch.

use std::fmt;
use tfbc_vm::{Layout, Level, TextBuf};

/// A column before the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Column {
    /// The hook id, left-justified.
    Id,
    /// Time since the trace began, right-justified.
    Elapsed,
    /// Time since the event that was reported before, right-justified.
    Delta,
}

impl Column {
    /// The columns with the names that `--columns` takes.
    pub const NAMES: [(Column, &str); 3] = [(Column::Id, "id"), (Column::Elapsed, "elapsed"), (Column::Delta, "delta")];
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

/// Which columns a report has, and how wide they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    list: Vec<Column>,
    timestamp: Timestamp,
    id_width: usize,
    text: bool,
    /// Nothing but the formatted text: no blanks before it, no margins, no heading.
    bare: bool,
}

impl Default for Columns {
    fn default() -> Self {
        Self::new(true, Timestamp::Milli)
    }
}

impl Columns {
    /// The columns that `-O ids=` and `-O timestamp=` ask for.
    pub fn new(ids: bool, timestamp: Timestamp) -> Self {
        let mut list = Vec::new();
        if ids {
            list.push(Column::Id);
        }
        match timestamp {
            Timestamp::Milli | Timestamp::Micro => list.extend([Column::Elapsed, Column::Delta]),
            Timestamp::Short => list.push(Column::Elapsed),
            Timestamp::None => {}
        }
        Self { list, timestamp, id_width: 4, text: true, bare: false }
    }

    /// The columns of a list such as `id,elapsed,text`, in its order; `text` may only stand last. `text` alone has no
    /// margins either.
    ///
    /// # Errors
    /// A name that is none or stands twice, and text that is not last.
    pub fn parse(list: &str, timestamp: Timestamp) -> Result<Self, ColumnsError> {
        let mut columns = Self { list: Vec::new(), timestamp, id_width: 4, text: false, bare: false };
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
                None => {
                    return Err(ColumnsError(format!("unknown column `{name}`, expected id, elapsed, delta or text")));
                }
            }
        }
        columns.bare = columns.list.is_empty();
        Ok(columns)
    }

    /// Whether there is nothing but the formatted text: `text` alone was asked for.
    pub fn is_bare(&self) -> bool {
        self.bare
    }

    /// Makes room for ids of four digits.
    #[must_use]
    pub fn with_wide_ids(mut self, wide: bool) -> Self {
        self.id_width = if wide { 5 } else { 4 };
        self
    }

    /// Whether the text is shown.
    pub fn has_text(&self) -> bool {
        self.text
    }

    fn width(&self, column: Column) -> usize {
        match (column, self.timestamp) {
            (Column::Id, _) => self.id_width,
            (Column::Elapsed, Timestamp::Short) => 10,
            (Column::Elapsed, _) => 14,
            (Column::Delta, _) => 15,
        }
    }

    fn heading(&self, column: Column) -> &'static [u8] {
        match (column, self.timestamp) {
            (Column::Id, _) => b"ID",
            (Column::Elapsed, Timestamp::Short) => b"ELAPSED",
            (Column::Elapsed, _) => b"ELAPSED_SEC",
            (Column::Delta, Timestamp::Micro) => b"DELTA_USEC",
            (Column::Delta, _) => b"DELTA_MSEC",
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
        let columns: usize = self.list.iter().map(|column| self.width(*column)).sum();
        Layout { first: (GAP + margin) as u16, further: (columns + GAP + margin) as u16 }
    }

    /// Appends the columns of one event; `line` is where its line begins.
    #[inline]
    pub fn write(&self, line: usize, id: u16, elapsed_ns: u64, delta_ns: i128, out: &mut TextBuf) {
        for column in &self.list {
            let mut value = Value::new();
            match column {
                Column::Id => {
                    value.id(id);
                    left(&value, self.id_width, line, out);
                    continue;
                }
                Column::Elapsed if self.timestamp == Timestamp::Short => value.decimal(elapsed_ns / 1000, 6),
                Column::Elapsed => value.decimal(elapsed_ns, 9),
                Column::Delta => {
                    let decimals = if self.timestamp == Timestamp::Micro { 3 } else { 6 };
                    value.decimal(delta_ns.unsigned_abs() as u64, decimals);
                    if delta_ns < 0 {
                        value.push(b'-');
                    }
                }
            }
            right(value.as_bytes(), self.width(*column), line, out);
        }
    }

    /// Appends the heading line.
    pub fn write_heading(&self, out: &mut TextBuf) {
        let line = out.len();
        for column in &self.list {
            let (word, width) = (self.heading(*column), self.width(*column));
            if *column == Column::Id {
                out.push(word);
                out.pad(width - word.len());
            } else {
                right(word, width, line, out);
            }
        }
        if self.text {
            out.pad(GAP);
            out.push(b"APPL    SYSCALL KERNEL  INTERRUPT");
        }
        trim(line, out);
        out.push(b"\n");
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
fn left(value: &Value, width: usize, line: usize, out: &mut TextBuf) {
    let value = value.as_bytes();
    keep_apart(line, out);
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

/// Digits, written from the back.
struct Value {
    bytes: [u8; 32],
    start: usize,
}

/// The hundred pairs of decimal digits.
const PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut n = 0;
    while n < 100 {
        pairs[2 * n] = b'0' + (n / 10) as u8;
        pairs[2 * n + 1] = b'0' + (n % 10) as u8;
        n += 1;
    }
    pairs
};

impl Value {
    #[inline]
    fn new() -> Self {
        Self { bytes: [0; 32], start: 32 }
    }

    #[inline]
    fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        self.start -= 1;
        self.bytes[self.start] = byte;
    }

    /// A zero at the end of a canonical id is dropped.
    #[inline]
    fn id(&mut self, id: u16) {
        let (mut rest, n) = if id & 15 == 0 { (id >> 4, 3) } else { (id, 4) };
        for _ in 0..n {
            self.push(b"0123456789ABCDEF"[usize::from(rest & 15)]);
            rest >>= 4;
        }
    }

    /// A number of units, with a point before the last `decimals` digits. At most 20 digits and the point.
    #[inline]
    fn decimal(&mut self, units: u64, decimals: u32) {
        let scale = 10u64.pow(decimals);
        let (mut fraction, mut whole) = (units % scale, units / scale);
        for _ in 0..decimals / 2 {
            self.pair(fraction % 100);
            fraction /= 100;
        }
        if decimals % 2 == 1 {
            self.push(b'0' + fraction as u8);
        }
        self.push(b'.');
        while whole >= 100 {
            self.pair(whole % 100);
            whole /= 100;
        }
        if whole >= 10 {
            self.pair(whole);
        } else {
            self.push(b'0' + whole as u8);
        }
    }

    #[inline]
    fn pair(&mut self, n: u64) {
        let at = 2 * n as usize;
        self.start -= 2;
        self.bytes[self.start..self.start + 2].copy_from_slice(&PAIRS[at..at + 2]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(columns: &Columns, id: u16, elapsed_ns: u64, delta_ns: i128) -> String {
        let mut out = TextBuf::new();
        columns.write(0, id, elapsed_ns, delta_ns, &mut out);
        String::from_utf8_lossy(out.as_bytes()).into_owned()
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
        let short = Columns::new(true, Timestamp::Short);
        assert_eq!(heading(&short), "ID     ELAPSED   APPL    SYSCALL KERNEL  INTERRUPT\n");
        assert_eq!(line(&short, 0x0100, 1_999_999_999, 0), "010   1.999999");
        let micro = Columns::new(false, Timestamp::Micro);
        assert_eq!(heading(&micro), "   ELAPSED_SEC     DELTA_USEC   APPL    SYSCALL KERNEL  INTERRUPT\n");
        assert_eq!(line(&micro, 0x0100, 105_984, 105_984), "   0.000105984        105.984");
        assert_eq!(heading(&Columns::new(false, Timestamp::None)), "   APPL    SYSCALL KERNEL  INTERRUPT\n");
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
}
