//! Table of the busy time of CPUs over time, and its picture on a terminal.
//!
//! The crates that plot on terminals were not used: `textplots` and `rasciigraph` draw lines in characters that need
//! UTF-8, and `ratatui` draws whole screens.

use crate::numbers::push_percent;
use crate::section::{Column, ColumnKind, Section, TextLayout, Value};
use crate::totals::Totals;
use std::collections::BTreeMap;
use tfbc_vm::TextBuf;

/// Largest number of CPUs whose charts are tall: they have several lines.
const MAX_TALL: usize = 4;
/// Lines of a tall chart.
const TALL: usize = 4;

/// Section with a row per CPU and bucket.
pub fn section(totals: &Totals) -> Section {
    let columns = [("cpu", ColumnKind::Id), ("from_ns", ColumnKind::Id), ("to_ns", ColumnKind::Id)];
    let columns = columns.into_iter().chain([("busy_ns", ColumnKind::Ns)]);
    let columns = columns.map(|(name, kind)| Column { name: name.to_owned(), kind }).collect();
    let mut rows = Vec::new();
    let (start, end) = totals.span;
    let busy = &totals.utilisation;
    let mut cpus: Vec<_> = totals.cpus.iter().map(|cpu| cpu.id).enumerate().collect();
    cpus.sort_by_key(|(_, id)| *id);
    let n = if end > start { ((end - start - 1) >> busy.shift) + 1 } else { 0 };
    for (at, id) in cpus {
        for bucket in 0..n {
            let parts = busy.cpus.get(at).into_iter().flatten();
            let ns: u64 = parts.filter_map(|buckets| buckets.get(bucket as usize)).sum();
            let begin = start + (bucket << busy.shift);
            let length = (1 << busy.shift).min(end - begin);
            rows.push(vec![id.map_or(Value::from("-"), Value::from), begin.into(), (begin + length).into(), ns.into()]);
        }
    }
    Section { name: "utilisation", columns, rows }
}

/// Buckets of a CPU: their lengths and busy times.
type Buckets = Vec<(u64, u64)>;

/// Appends a chart per CPU.
pub fn draw(section: &Section, layout: TextLayout, out: &mut TextBuf) {
    let mut cpus: BTreeMap<&Value, Buckets> = BTreeMap::new();
    let mut span: Option<(u64, u64)> = None;
    for row in section.rows() {
        let [cpu, numbers @ ..] = row else { continue };
        let number = |value: &Value| if let Value::Number(number) = value { *number as u64 } else { 0 };
        let [from, to, busy] = [0, 1, 2].map(|at| numbers.get(at).map_or(0, number));
        span = Some(span.map_or((from, to), |(start, end)| (start.min(from), end.max(to))));
        cpus.entry(cpu).or_default().push((to - from, busy));
    }
    let Some((start, end)) = span else { return };
    let is_tall = cpus.len() <= MAX_TALL;
    let n_lines = if is_tall { TALL } else { 1 };
    let label = cpus.keys().map(|cpu| cpu.to_string().len()).max().unwrap_or(0) + "CPU ".len();
    let scale = if is_tall { " 100 % " } else { " " };
    let room = layout.width.saturating_sub(label + scale.len() + "|| 100.00 %".len()).max(10);
    // Whole buckets per place, so that a place is exact.
    let n_buckets = cpus.values().map(Vec::len).max().unwrap_or(0);
    let n_joined = n_buckets.div_ceil(room).max(1);
    let width = n_buckets.div_ceil(n_joined);
    for (cpu, buckets) in cpus {
        let joined: Buckets = buckets
            .chunks(n_joined)
            .map(|part| part.iter().fold((0, 0), |(length, busy), bucket| (length + bucket.0, busy + bucket.1)))
            .collect();
        for line in 0..n_lines {
            let name = if line == 0 { format!("CPU {cpu}") } else { String::new() };
            let scale = match line {
                _ if !is_tall => " ",
                0 => " 100 % ",
                _ if line + 1 == n_lines => "   0 % ",
                _ => "       ",
            };
            let from_bottom = n_lines - 1 - line;
            let places =
                joined.iter().map(|(length, busy)| glyph(*length, *busy, n_lines, from_bottom, layout.is_utf8));
            let mut text = format!("{name:label$}{scale}|{}", places.collect::<String>()).into_bytes();
            if line + 1 == n_lines {
                let sum = buckets.iter().fold((0u128, 0u128), |sum, (length, busy)| {
                    (sum.0 + u128::from(*length), sum.1 + u128::from(*busy))
                });
                text.extend_from_slice(b"| ");
                push_percent(sum.1, sum.0, &mut text);
                text.extend_from_slice(b" %");
            } else {
                text.push(b'|');
            }
            out.push(&text);
            out.push(b"\n");
        }
    }
    let (from, to) = (seconds(start), format!("{} s", seconds(end)));
    let n_between = (width + 2).saturating_sub(from.len()).max(to.len() + 1);
    out.push(format!("{:1$}{from}{to:>n_between$}\n", "", label + scale.len()).as_bytes());
}

/// Seconds with nine decimals, which are exact.
fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// Character for a line of a bar. A bucket that is busy at all is never empty.
fn glyph(length: u64, busy: u64, n_lines: usize, from_bottom: usize, is_utf8: bool) -> char {
    let levels: &[char] =
        if is_utf8 { &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] } else { &['.', ':', '|', '#'] };
    let (length, steps) = (u128::from(length.max(1)), (levels.len() * n_lines) as u128);
    let rounded = (2 * u128::from(busy) * steps + length) / (2 * length);
    let height = rounded.max(u128::from(busy > 0)).min(steps) as usize;
    match height.saturating_sub(from_bottom * levels.len()) {
        0 => ' ',
        level => levels[level.min(levels.len()) - 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_rounded_half_up_and_never_empty() {
        let bar = |busy, is_utf8| (0..2).map(|line| glyph(1000, busy, 2, line, is_utf8)).collect::<String>();
        let shown = [0, 1, 93, 94, 500, 969, 1000].map(|busy| bar(busy, true));
        assert_eq!(shown, ["  ", "▁ ", "▁ ", "▂ ", "█ ", "██", "██"]);
        assert_eq!([1, 500, 750].map(|busy| bar(busy, false)), [". ", "# ", "#:"]);
        assert_eq!(glyph(0, 0, 1, 0, true), ' ');
    }

    fn section_of(rows: &[[u64; 4]]) -> Section {
        let rows = rows.iter().map(|row| row.map(Value::from).into()).collect();
        Section { name: "utilisation", columns: Vec::new(), rows }
    }

    #[test]
    fn charts_have_the_width_of_the_terminal() {
        let draw = |section: &Section, width, is_utf8| {
            let mut out = TextBuf::new();
            super::draw(section, TextLayout { width, is_utf8, ..TextLayout::default() }, &mut out);
            String::from_utf8(out.as_bytes().to_vec()).unwrap()
        };
        let few = section_of(&[[0, 0, 10, 10], [0, 10, 20, 0], [0, 20, 25, 1]]);
        let expected = "CPU 0 100 % |#  |\n            |#  |\n            |#  |\n        0 % |# || 44.00 %\n\
                        \x20           0.000000000 0.000000025 s\n";
        assert_eq!(draw(&few, 80, false), expected);
        let many: Vec<_> = (0..5).flat_map(|cpu| (0..200).map(move |at| [cpu, at, at + 1, at % 2])).collect();
        let shown = draw(&section_of(&many), 80, true);
        assert_eq!(shown.lines().count(), 6);
        assert!(shown.lines().all(|line| line.chars().count() <= 80) && shown.contains("| 50.00 %"), "{shown}");
        assert_eq!(draw(&section_of(&[]), 80, true), "");
    }
}
