//! Groups, counts and pairs as tables, and histograms as bars.

use super::fields::{decode, split_first};
use super::statistics::Statistics;
use super::{FieldNames, Latency, Pair, Percentile};
use crate::numbers::milliseconds;
use crate::print::{Grid, json_row, table_row, visible};
use crate::section::{Column, ColumnKind, Section, Value};
use std::cmp::Reverse;
use tfbc::Form;
use tfbc_vm::TextBuf;

/// Order of groups. Groups that compare equal are sorted by their fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroupOrder {
    /// Largest sum first.
    #[default]
    Sum,
    /// Largest count first.
    Count,
    /// Largest mean first.
    Mean,
    /// Largest 99th percentile first.
    P99,
    /// Largest maximum first.
    Max,
}

/// Values of encoded fields.
pub fn values(mut encoded: &[u8], n: usize) -> Vec<Value> {
    let next = |_| {
        let (value, rest) = split_first(encoded);
        encoded = rest;
        decode(value)
    };
    (0..n).map(next).collect()
}

fn fields(names: &[String], values: &[Value]) -> Value {
    Value::Fields(names.iter().cloned().zip(values.iter().cloned()).collect())
}

/// Value as text; `-` if there is none.
fn cell(value: &Value) -> String {
    if *value == Value::Null { String::from("-") } else { visible(&value.to_string()) }
}

impl Latency {
    /// Sorts the groups, and adds up those after the first `top`.
    pub fn sort(&mut self, order: GroupOrder, top: Option<usize>) {
        let n = self.by.len();
        let p99 = Percentile::parse("99");
        let mut groups: Vec<_> = std::mem::take(&mut self.groups)
            .into_iter()
            .map(|(key, mut numbers)| {
                let size = match order {
                    GroupOrder::Sum => numbers.sum,
                    GroupOrder::Count => numbers.n.into(),
                    GroupOrder::Mean => numbers.mean(),
                    GroupOrder::P99 => numbers.percentiles(p99.as_slice()).iter().map(|ns| u128::from(*ns)).sum(),
                    GroupOrder::Max => numbers.max.into(),
                };
                let named = key.as_ref().map(|key| values(key, n));
                ((Reverse(size), named.is_none(), named), (key, numbers))
            })
            .collect();
        groups.sort_by(|(one, _), (other, _)| one.cmp(other));
        self.groups = groups.into_iter().map(|(_, group)| group).collect();
        let Some(top) = top.filter(|top| self.groups.len() > *top) else { return };
        let rest = self.groups.split_off(top);
        let mut others = Statistics::new(rest.iter().all(|(_, numbers)| numbers.is_exact()));
        rest.iter().for_each(|(_, numbers)| others.merge(numbers));
        self.groups.push((None, others));
    }

    /// Fields of a group. Those that share a row are called `(others)`.
    fn fields_of(&self, key: Option<&[u8]>) -> Vec<Value> {
        match key {
            Some(key) => values(key, self.by.len()),
            None => {
                let mut fields = vec![Value::Null; self.by.len()];
                if let Some(first) = fields.first_mut() {
                    *first = Value::from("(others)");
                }
                fields
            }
        }
    }

    /// Groups as a section: fields, counts, nanoseconds. JSON lines have the fields as one object, and histograms.
    pub fn groups(&mut self, percentiles: &[Percentile], form: Form) -> Section {
        let is_json = form == Form::Ndjson;
        let column = |name: String, kind| Column { name, kind };
        let mut columns = match is_json {
            true => vec![column(String::from("by"), ColumnKind::Id)],
            false => self.by.iter().map(|name| column(name.clone(), ColumnKind::Id)).collect(),
        };
        let numbers = [
            ("count", ColumnKind::Count),
            ("sum_ns", ColumnKind::Ns),
            ("min_ns", ColumnKind::Min),
            ("mean_ns", ColumnKind::Mean),
        ];
        columns.extend(numbers.map(|(name, kind)| column(name.to_owned(), kind)));
        columns.extend(percentiles.iter().map(|percentile| column(format!("p{percentile}_ns"), ColumnKind::Max)));
        columns
            .extend([column(String::from("max_ns"), ColumnKind::Max), column(String::from("exact"), ColumnKind::Id)]);
        if is_json {
            columns.push(column(String::from("buckets"), ColumnKind::Id));
        }
        let mut rows = Vec::new();
        for at in 0..self.groups.len() {
            let values = self.fields_of(self.groups[at].0.as_deref());
            let numbers = &mut self.groups[at].1;
            let mut row = if is_json { vec![fields(&self.by, &values)] } else { values };
            row.extend([numbers.n.into(), numbers.sum.into(), numbers.min.into(), numbers.mean().into()]);
            row.extend(numbers.percentiles(percentiles).into_iter().map(Value::from));
            row.extend([numbers.max.into(), Value::Flag(numbers.is_exact())]);
            if is_json {
                let bucket = |(from, to, n): (u128, u128, u64)| Value::List(vec![from.into(), to.into(), n.into()]);
                row.push(Value::List(numbers.histogram().map(bucket).collect()));
            }
            rows.push(row);
        }
        Section { name: "group", columns, rows }
    }

    /// Counts as a section.
    pub fn counts(&self) -> Section {
        let named = self.named_counts();
        let columns = named.map(|(name, _)| Column { name: name.to_owned(), kind: ColumnKind::Count });
        Section { name: "counts", columns: columns.into(), rows: vec![named.map(|(_, n)| n.into()).into()] }
    }

    fn named_counts(&self) -> [(&'static str, u64); 8] {
        let counts = &self.counts;
        [
            ("pairs", counts.n_pairs),
            ("restarted", counts.n_restarted),
            ("unmatched", counts.n_unmatched),
            ("cut", counts.n_cut),
            ("pending", counts.n_pending),
            ("unused", counts.n_unused),
            ("dropped", counts.n_dropped),
            ("negative", counts.n_negative),
        ]
    }

    /// Appends counts for people: pairs, and the other counts that are not 0.
    pub fn write_counts(&self, out: &mut TextBuf) {
        for (name, n) in self.named_counts() {
            if n > 0 || name == "pairs" {
                out.push(format!("{name:9}  {n}\n").as_bytes());
            }
        }
    }

    /// Appends the groups for people, in milliseconds. Percentiles that are not exact begin with `~`.
    pub fn write_groups(&mut self, percentiles: &[Percentile], out: &mut TextBuf) {
        if self.groups.is_empty() {
            return;
        }
        let mut head = self.by.clone();
        head.extend(["count", "sum", "min", "mean"].map(str::to_owned));
        head.extend(percentiles.iter().map(|percentile| format!("p{percentile}")));
        head.push(String::from("max"));
        let mut grid = Grid::new(head.len());
        head.iter().for_each(|name| grid.cell(|out| out.extend(name.bytes())));
        for at in 0..self.groups.len() {
            let mut line: Vec<String> = self.fields_of(self.groups[at].0.as_deref()).iter().map(cell).collect();
            let numbers = &mut self.groups[at].1;
            let ms = |ns: u128| milliseconds(ns as i128);
            line.extend([numbers.n.to_string(), ms(numbers.sum), ms(numbers.min.into()), ms(numbers.mean())]);
            let mark = if numbers.is_exact() { "" } else { "~" };
            line.extend(numbers.percentiles(percentiles).into_iter().map(|ns| format!("{mark}{}", ms(ns.into()))));
            line.push(ms(numbers.max.into()));
            line.iter().for_each(|text| grid.cell(|out| out.extend(text.bytes())));
        }
        let is_text = |at: usize| {
            let texts = self.groups.iter().map(|(key, _)| self.fields_of(key.as_deref()));
            texts.into_iter().any(|fields| matches!(fields[at], Value::Text(_)))
        };
        let is_left: Vec<bool> = (0..self.by.len()).map(is_text).collect();
        grid.write(&is_left, out);
    }

    /// Appends histograms of the first `n` groups, in the form of [`bars`].
    pub fn write_histograms(&self, n: usize, width: Option<usize>, bar: char, out: &mut TextBuf) {
        for (key, numbers) in self.groups.iter().take(n) {
            let fields = self.fields_of(key.as_deref());
            let named = self.by.iter().zip(&fields).map(|(name, value)| format!("{name}={}", cell(value)));
            let title = named.collect::<Vec<_>>().join(" ");
            out.push(format!("\n{}{}nanoseconds\n", title, if title.is_empty() { "" } else { ", " }).as_bytes());
            out.push(bars(&numbers.histogram().collect::<Vec<_>>(), width, bar).as_bytes());
        }
    }
}

/// Number with a suffix for powers of 1024.
fn short(number: u128) -> String {
    let (shift, suffix) = match number {
        0..0x400 => (0, ""),
        0x400..0x10_0000 => (10, "K"),
        0x10_0000..0x4000_0000 => (20, "M"),
        0x4000_0000..0x100_0000_0000 => (30, "G"),
        0x100_0000_0000..0x4_0000_0000_0000 => (40, "T"),
        0x4_0000_0000_0000..0x1000_0000_0000_0000 => (50, "P"),
        _ => (60, "E"),
    };
    format!("{}{suffix}", number >> shift)
}

/// Lines of a histogram: bucket, count and bar. `width` is the width of the terminal. Bars have at least 10 characters,
/// and 40 without a terminal.
pub fn bars(buckets: &[(u128, u128, u64)], width: Option<usize>, bar: char) -> String {
    let labels: Vec<String> =
        buckets.iter().map(|(from, to, _)| format!("[{}, {})", short(*from), short(*to))).collect();
    let n_label = labels.iter().map(String::len).max().unwrap_or(0);
    let largest = buckets.iter().map(|(.., n)| *n).max().unwrap_or(0).max(1);
    let n_count = largest.to_string().len();
    let room = width.map_or(40, |width| width.saturating_sub(n_label + n_count + 4).max(10)) as u128;
    let mut text = String::new();
    for ((.., n), label) in buckets.iter().zip(labels) {
        let rounded = (2 * u128::from(*n) * room + u128::from(largest)) / (2 * u128::from(largest));
        let n_bar = rounded.max(u128::from(*n > 0)) as usize;
        let line = format!("{label:n_label$}  {n:n_count$} |{}", bar.to_string().repeat(n_bar));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Writes the rows of single pairs.
#[derive(Debug)]
pub struct PairWriter {
    form: Form,
    names: FieldNames,
    columns: Vec<Column>,
}

impl PairWriter {
    /// Creates a writer for pairs with these fields.
    pub fn new(form: Form, names: FieldNames) -> Self {
        let mut columns: Vec<String> = ["start_ns", "end_ns", "ns"].map(str::to_owned).into();
        if form == Form::Ndjson {
            columns.extend(["key", "by"].map(str::to_owned));
        } else {
            columns.extend(names.key.iter().map(|name| format!("key.{name}")));
            columns.extend(names.by.iter().cloned());
        }
        let columns = columns.into_iter().map(|name| Column { name, kind: ColumnKind::Id }).collect();
        Self { form, names, columns }
    }

    /// Appends the line before the first pair, if the form has one.
    pub fn head(&self, out: &mut TextBuf) {
        match self.form {
            Form::Ndjson => {}
            Form::Text => out.push(format!("{:>16}  {:>16}  {:>16}\n", "start", "end", "time").as_bytes()),
            form => table_row(form, self.columns.iter().map(|column| column.name.clone()), out),
        }
    }

    /// Appends a pair.
    pub fn row(&self, pair: &Pair<'_>, out: &mut TextBuf) {
        let (key, by) = (values(pair.key, self.names.key.len()), values(pair.by, self.names.by.len()));
        let mut row: Vec<Value> = vec![pair.start.into(), pair.end.into(), pair.ns.into()];
        match self.form {
            Form::Ndjson => {
                row.extend([fields(&self.names.key, &key), fields(&self.names.by, &by)]);
                json_row("pair", &self.columns, &row, out);
            }
            Form::Text => {
                for ns in [pair.start, pair.end, pair.ns] {
                    out.push(format!("{:>16}  ", milliseconds(ns.into())).as_bytes());
                }
                let names = self.names.key.iter().chain(&self.names.by).zip(key.iter().chain(&by));
                let named: Vec<String> = names.map(|(name, value)| format!("{name}={}", cell(value))).collect();
                out.push(named.join(" ").as_bytes());
                out.push(b"\n");
            }
            form => {
                row.extend(key.into_iter().chain(by));
                table_row(form, row.iter().map(Value::to_string), out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_rounded_half_up_and_never_empty() {
        let buckets = [(16, 32, 40), (32, 64, 1), (64, 128, 0), (1024, 2048, 21)];
        let expected = "[16, 32)  40 |████████████████████████████████████████\n[32, 64)   1 |█\n\
                        [64, 128)   0 |\n[1K, 2K)  21 |█████████████████████\n";
        let expected = expected.replace("[16, 32) ", "[16, 32)  ").replace("[32, 64) ", "[32, 64)  ");
        assert_eq!(bars(&buckets, None, '█'), expected.replace("[1K, 2K) ", "[1K, 2K)  "));
        let widest = |width| bars(&buckets, Some(width), '#').lines().map(str::len).max();
        assert_eq!((widest(80), widest(0)), (Some(80), Some(25)));
        assert_eq!(bars(&[(0, 1, 3)], Some(0), '#'), "[0, 1)  3 |##########\n");
        assert_eq!(bars(&[], None, '#'), "");
        assert_eq!(bars(&[(1 << 63, 1 << 64, u64::MAX)], None, '#').split(' ').next(), Some("[8E,"));
    }
}
