//! Sections of a summary: tables of values.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use tfbc::System;

/// Summary of a trace.
#[derive(Debug)]
pub struct Summary {
    /// System of the trace.
    pub system: System,
    pub(crate) sections: Vec<Section>,
    /// Number of CPUs times the span, in nanoseconds: 100 percent in the column of shares.
    pub whole_ns: u128,
    /// Number of events.
    pub n_events: u64,
    /// Number of damaged places.
    pub n_damaged: u64,
}

impl Summary {
    /// Sections that have rows, in order.
    pub fn sections(&self) -> impl Iterator<Item = &Section> {
        self.sections.iter().filter(|section| !section.rows.is_empty())
    }

    /// Section by its name; `None` if the system has no such section.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// All sections, to filter, sort and shorten.
    pub fn sections_mut(&mut self) -> impl Iterator<Item = &mut Section> {
        self.sections.iter_mut()
    }
}

/// Section of a summary: a table.
#[derive(Debug, Clone)]
pub struct Section {
    /// Name, such as `cpu`.
    pub name: &'static str,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Value>>,
}

/// Column of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name in the heading of tables, and key in JSON lines.
    pub name: String,
    /// Kind of its values.
    pub kind: ColumnKind,
}

/// Kind of a column's values; it decides how rows are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Part of the row's identity, or a fact about it.
    Id,
    /// Count of events, calls or similar.
    Count,
    /// Sum of nanoseconds.
    Ns,
    /// Smallest number of nanoseconds.
    Min,
    /// Mean number of nanoseconds.
    Mean,
    /// Largest number of nanoseconds.
    Max,
}

impl ColumnKind {
    /// True for nanoseconds.
    pub fn is_time(self) -> bool {
        !matches!(self, Self::Id | Self::Count)
    }
}

/// Value in a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// Whole number.
    Number(i128),
    /// Number of thousandths.
    Ratio(u128),
    /// True or false.
    Flag(bool),
    /// Text.
    Text(String),
    /// List of values.
    List(Vec<Value>),
    /// Count per number, such as per errno.
    Counts(BTreeMap<u64, u64>),
    /// Values by name.
    Fields(Vec<(String, Value)>),
    /// Unknown. The last variant, so that rows without a value sort last.
    Null,
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl From<u128> for Value {
    fn from(number: u128) -> Self {
        Self::Number(number as i128)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl<V: Into<Value>> From<Option<V>> for Value {
    fn from(value: Option<V>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<&Box<[u8]>> for Value {
    fn from(text: &Box<[u8]>) -> Self {
        Self::Text(String::from_utf8_lossy(text).into_owned())
    }
}

impl fmt::Display for Value {
    /// Formats a value for a cell of a table. An unknown value is empty.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |f: &mut fmt::Formatter<'_>, parts: Vec<String>| f.write_str(&parts.join(" "));
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Ratio(thousandths) => write!(f, "{}.{:03}", thousandths / 1000, thousandths % 1000),
            Self::Flag(flag) => flag.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::Fields(fields) => joined(f, fields.iter().map(|(name, value)| format!("{name}={value}")).collect()),
            Self::List(values) => joined(f, values.iter().map(Self::to_string).collect()),
            Self::Counts(counts) => joined(f, counts.iter().map(|(number, n)| format!("{number}:{n}")).collect()),
            Self::Null => Ok(()),
        }
    }
}

/// Order of the rows of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SortKey {
    /// Largest total first.
    #[default]
    Total,
    /// Largest count first.
    Count,
    /// Largest mean first.
    Mean,
    /// Largest maximum first.
    Max,
    /// By name.
    Name,
    /// By id.
    Id,
}

impl Section {
    pub(crate) fn new(name: &'static str, columns: &[(&str, ColumnKind)]) -> Self {
        let mut section = Self { name, columns: Vec::new(), rows: Vec::new() };
        section.add_columns(columns);
        section
    }

    pub(crate) fn add_columns(&mut self, columns: &[(&str, ColumnKind)]) {
        self.columns.extend(columns.iter().map(|(name, kind)| Column { name: (*name).to_owned(), kind: *kind }));
    }

    /// Columns, in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Rows, each with a value per column.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[Value]> + DoubleEndedIterator {
        self.rows.iter().map(Vec::as_slice)
    }

    /// Index of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Value of a row by the name of its column.
    pub fn get<'r>(&self, row: &'r [Value], name: &str) -> Option<&'r Value> {
        row.get(self.column(name)?)
    }

    /// Column from which shares are computed.
    pub fn total(&self) -> Option<usize> {
        ["total_ns", "cpu_total_ns", "cpu_ns"].iter().find_map(|name| self.column(name))
    }

    /// Removes the rows whose value in a column `keep` rejects. Has no effect if the section has no such column.
    pub fn retain(&mut self, column: &str, keep: impl Fn(&Value) -> bool) {
        if let Some(at) = self.column(column) {
            self.rows.retain(|row| keep(&row[at]) || row[at] == Value::Text(String::from("all")));
        }
    }

    /// Names the rows of processes that have no name, by their ids.
    pub fn name_rows(&mut self, name_of: impl Fn(&Value) -> Option<String>) {
        let (Some(pid), Some(name)) = (self.column("pid"), self.column("name")) else { return };
        for row in self.rows.iter_mut().filter(|row| row[name] == Value::Null) {
            if let Some(found) = name_of(&row[pid]) {
                row[name] = Value::Text(found);
            }
        }
    }

    /// Sorts the rows. Rows with equal keys stay in the order of their totals and ids.
    pub fn sort(&mut self, key: SortKey) {
        let by = match key {
            SortKey::Total => return,
            SortKey::Count => self.column("count").or_else(|| self.column("dispatches")),
            SortKey::Mean => self.columns.iter().position(|column| column.kind == ColumnKind::Mean),
            SortKey::Max => self.columns.iter().position(|column| column.kind == ColumnKind::Max),
            SortKey::Name => ["call", "name", "state"].iter().find_map(|name| self.column(name)),
            SortKey::Id => Some(0),
        };
        let Some(by) = by.filter(|_| !matches!(self.name, "cpu" | "utilisation" | "head")) else { return };
        match key {
            SortKey::Name => self.rows.sort_by(|one, other| one[by].cmp(&other[by])),
            SortKey::Id => {
                let ids = self.columns.iter().take_while(|column| column.kind == ColumnKind::Id).count();
                self.rows.sort_by(|one, other| one[..ids].cmp(&other[..ids]));
            }
            _ => self.rows.sort_by_key(|row| Reverse(number(&row[by]))),
        }
    }

    /// Keeps the first `n` rows and combines the others to one. `cpu`, `utilisation`, `head` and `gap` keep all rows.
    pub fn keep_top(&mut self, n: usize) {
        if matches!(self.name, "cpu" | "utilisation" | "head" | "gap") || self.rows.len() <= n {
            return;
        }
        let others = self.rows.split_off(n);
        let label = ["call", "name", "state", "pid"].iter().find_map(|name| self.column(name)).unwrap_or(0);
        let mut sum = vec![Value::Null; self.columns.len()];
        for (at, column) in self.columns.iter().enumerate() {
            let values = others.iter().filter_map(|row| match row[at] {
                Value::Number(number) => Some(number),
                _ => None,
            });
            let merged = match column.kind {
                ColumnKind::Count | ColumnKind::Ns => values.reduce(|sum, number| sum + number),
                ColumnKind::Min => values.min(),
                ColumnKind::Max => values.max(),
                ColumnKind::Id | ColumnKind::Mean => None,
            };
            sum[at] = merged.map_or(Value::Null, Value::Number);
        }
        sum[label] = Value::from("(others)");
        self.rows.push(sum);
    }
}

pub(crate) fn number(value: &Value) -> i128 {
    if let Value::Number(number) = value { *number } else { 0 }
}

/// Sorts rows by a total, largest first, then by their ids.
pub(crate) fn by_total(rows: &mut [Vec<Value>], total: usize, n_ids: usize) {
    rows.sort_by(|one, other| {
        number(&other[total]).cmp(&number(&one[total])).then_with(|| one[..n_ids].cmp(&other[..n_ids]))
    });
}

/// Layout of a section in text.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextLayout {
    /// Nanoseconds that count as 100 percent in the column of shares.
    pub whole_ns: u128,
    /// True to print the title of the section first.
    pub is_titled: bool,
    /// Width of charts in characters.
    pub width: usize,
    /// True if charts may have characters that are not ASCII.
    pub is_utf8: bool,
}
