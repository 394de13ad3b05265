//! Hex view as text: a dump with labels below the bytes, and a table of the parts with the text they print.

use super::View;
use super::rows::{PartRow, excerpt, rows};
use anstyle::{AnsiColor, Color, Style};
use std::fmt::Write;
use std::ops::Range;
use tfbc::FieldFormat;
use tfbc::internal::terminal::visible;
use tfbc_grammar::Sources;

/// Bytes per line of the dump.
const PER_LINE: usize = 16;

/// Maximum lines of labels below a line of bytes.
const MAX_LAYERS: usize = 4;

/// Maximum characters shown of a printed text.
const MAX_TEXT: usize = 60;

/// Colours of fields, in rotation.
const INKS: [AnsiColor; 6] =
    [AnsiColor::Green, AnsiColor::Cyan, AnsiColor::Yellow, AnsiColor::Magenta, AnsiColor::Blue, AnsiColor::Red];

/// Formats one event as a dump with labels, followed by a table of the labels. `sources` are the sources that the
/// positions refer to, `fields` those of the event. Ends with a newline.
pub fn show(view: &View, sources: &Sources, fields: &[FieldFormat], colour: bool) -> String {
    let rows = rows(view, sources);
    let (mut labels, mut inks) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
    let mut n_labels = 0;
    for row in &rows {
        labels.push(row.reads_any().then(|| label(n_labels)));
        inks.push(INKS[n_labels % INKS.len()]);
        n_labels += usize::from(row.reads_any());
    }
    let mut row_of = vec![0; view.parts.len()];
    for (at, row) in rows.iter().enumerate() {
        row.parts.iter().for_each(|part| row_of[*part] = at);
    }
    let page = Dump { view, sources, fields, rows: &rows, row_of: &row_of, labels: &labels, inks: &inks, colour };
    let mut out = format!("{}, {}\n\n", view.name, n_bytes(view.bytes.len()));
    page.dump(&mut out);
    page.list(&mut out);
    page.text(&mut out);
    out
}

fn n_bytes(n: usize) -> String {
    format!("{n} byte{}", if n == 1 { "" } else { "s" })
}

/// `a` to `z`, then `aa` to `zz`.
fn label(n: usize) -> String {
    let letter = |n: usize| char::from(b'a' + (n % 26) as u8);
    match n {
        0..26 => letter(n).to_string(),
        26..702 => [letter((n - 26) / 26), letter(n - 26)].iter().collect(),
        _ => String::from("**"),
    }
}

struct Dump<'p> {
    view: &'p View,
    sources: &'p Sources,
    fields: &'p [FieldFormat],
    rows: &'p [PartRow],
    /// Labels of the rows that read bytes.
    labels: &'p [Option<String>],
    inks: &'p [AnsiColor],
    /// Row index per part.
    row_of: &'p [usize],
    colour: bool,
}

impl Dump<'_> {
    fn style(&self, row: usize) -> Style {
        Style::new().fg_color(Some(Color::Ansi(self.inks[row]))).bold()
    }

    fn paint(&self, out: &mut String, style: Style, text: &str) {
        let _ = match self.colour {
            true => write!(out, "{style}{text}{style:#}"),
            false => write!(out, "{text}"),
        };
    }

    /// Rows that read each byte, in order, up to the number that can be shown.
    fn readers(&self) -> Vec<Vec<usize>> {
        let mut readers = vec![Vec::new(); self.view.bytes.len()];
        for (at, row) in self.rows.iter().enumerate() {
            for byte in row.reads.iter().flat_map(byte_range) {
                let is_new = |of_byte: &&mut Vec<usize>| of_byte.last() != Some(&at) && of_byte.len() <= MAX_LAYERS;
                if let Some(of_byte) = readers.get_mut(byte).filter(is_new) {
                    of_byte.push(at);
                }
            }
        }
        readers
    }

    fn dump(&self, out: &mut String) {
        let readers = self.readers();
        for (line, bytes) in self.view.bytes.chunks(PER_LINE).enumerate() {
            let start = line * PER_LINE;
            let readers = &readers[start..start + bytes.len()];
            let _ = write!(out, "{start:04x} ");
            for (byte, readers) in bytes.iter().zip(readers) {
                out.push(' ');
                let style = readers.first().map_or(Style::new().dimmed(), |first| self.style(*first));
                let style = if readers.len() > 1 { style.underline() } else { style };
                self.paint(out, style, &format!("{byte:02x}"));
            }
            let shown = bytes.iter().map(|byte| if (0x20..0x7f).contains(byte) { char::from(*byte) } else { '.' });
            let gap = 3 * (PER_LINE - bytes.len()) + 2;
            let _ = writeln!(out, "{:gap$}{}", "", shown.collect::<String>());
            self.layers(out, readers);
        }
        out.push('\n');
    }

    /// Labels below a line of bytes. If more parts read a byte than there are lines, the last line shows `+`.
    fn layers(&self, out: &mut String, readers: &[Vec<usize>]) {
        let n_layers = readers.iter().map(Vec::len).max().unwrap_or(0).clamp(1, MAX_LAYERS);
        for layer in 0..n_layers {
            let mut line = String::from("     ");
            for of_byte in readers {
                line.push(' ');
                match of_byte.get(layer) {
                    None if layer == 0 => self.paint(&mut line, Style::new().dimmed(), "- "),
                    None => line.push_str("  "),
                    Some(_) if layer + 1 == MAX_LAYERS && of_byte.len() > MAX_LAYERS => line.push_str("+ "),
                    Some(row) => {
                        let label = self.labels[*row].as_deref().unwrap_or("");
                        self.paint(&mut line, self.style(*row), &format!("{label:<2}"));
                    }
                }
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }

    fn list(&self, out: &mut String) {
        let cells: Vec<[String; 6]> = (0..self.rows.len()).map(|at| self.cells(at)).collect();
        let width = |column: usize| cells.iter().map(|cells| cells[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..5).map(width).collect();
        for (at, cells) in cells.iter().enumerate() {
            let mut line = String::new();
            for (column, (cell, width)) in cells.iter().zip(widths.iter().chain([&0])).enumerate() {
                let padded = format!("{cell:<width$}");
                match column {
                    0 if self.labels[at].is_some() => self.paint(&mut line, self.style(at), &padded),
                    _ => line.push_str(&padded),
                }
                line.push_str("  ");
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
        let unread = runs(&self.view.unread());
        if !unread.is_empty() {
            let listed: Vec<String> = unread.iter().map(|run| span_of(run.start, run.end - 1)).collect();
            let gap = widths.first().copied().unwrap_or(1).max(1);
            let _ = writeln!(out, "{:<gap$}  {}  not read", "-", listed.join(", "));
        }
    }

    /// Name of the field whose value a row prints; empty if it prints none.
    fn field(&self, row: &PartRow) -> &str {
        let Some((id, start)) = row.value_start else { return "" };
        let Some(source) = self.sources.get(id) else { return "" };
        let is_last = self.sources.iter().last().is_some_and(|(last, _)| last == id);
        // The source after the format files contains the built-in stanzas.
        let file = (!is_last).then(|| source.name());
        let is_it = |field: &&FieldFormat| {
            field.file.as_deref() == file && (field.line, field.column) == source.line_column(start)
        };
        find(self.fields, &is_it).map_or("", |field| &field.name)
    }

    /// Cells of a row: label, bytes, template, position, field, text.
    fn cells(&self, at: usize) -> [String; 6] {
        let row = &self.rows[at];
        let mut bytes: Vec<String> = row.reads.iter().map(bits_of).collect();
        let mut from: Vec<usize> = row.from.iter().filter_map(|part| self.row_of.get(*part).copied()).collect();
        from.retain(|other| *other != at);
        from.sort_unstable();
        from.dedup();
        let from: Vec<&str> = from.iter().filter_map(|other| self.labels[*other].as_deref()).collect();
        if !from.is_empty() {
            bytes.push(format!("from {}", from.join(", ")));
        }
        // Every cast to a whole number of bytes uses the low bits, so this is not worth a note.
        let is_bytes = |(low, high): &(u32, u32)| *low == 0 && matches!(high, 7 | 15 | 31 | 63);
        if let Some((low, high)) = row.bits.filter(|bits| !is_bytes(bits)) {
            bytes.push(if low == high { format!("bit {low}") } else { format!("bits {low}-{high}") });
        }
        let mut template = match row.place {
            Some((source, span)) => visible(&excerpt(self.sources, source, span)).into_owned(),
            None if row.is_header => String::from("(hook word)"),
            None => String::new(),
        };
        if row.n > 1 {
            let _ = write!(template, " ×{}", row.n);
        }
        let place = row.place.and_then(|(id, span)| {
            let source = self.sources.get(id)?;
            let (line, column) = source.line_column(span.start);
            Some(format!("{}:{line}:{column}", visible(source.name())))
        });
        let label = self.labels[at].clone().unwrap_or_default();
        [
            label,
            bytes.join(" "),
            template,
            place.unwrap_or_default(),
            self.field(row).to_owned(),
            self.printed(&row.text),
        ]
    }

    /// Text printed by a row, in quotes; empty if there is none.
    fn printed(&self, runs: &[Range<usize>]) -> String {
        let bytes: Vec<u8> = runs.iter().filter_map(|run| self.view.text.get(run.clone())).flatten().copied().collect();
        if bytes.is_empty() {
            return String::new();
        }
        let text = String::from_utf8_lossy(&bytes).replace('\n', "\\n").replace('\t', "\\t");
        let text = visible(&text).into_owned();
        if text.chars().count() <= MAX_TEXT {
            return format!("\"{text}\"");
        }
        format!("\"{}…\"", text.chars().take(MAX_TEXT - 1).collect::<String>())
    }

    fn text(&self, out: &mut String) {
        let text = String::from_utf8_lossy(&self.view.text).into_owned();
        out.push('\n');
        for line in text.split('\n') {
            let _ = writeln!(out, "{}", format_args!("> {}", visible(line)).to_string().trim_end());
        }
    }
}

/// First field, or member of a list's structs, for which the condition is true.
fn find<'f>(fields: &'f [FieldFormat], is_it: &dyn Fn(&&FieldFormat) -> bool) -> Option<&'f FieldFormat> {
    fields.iter().find_map(|field| Some(field).filter(is_it).or_else(|| find(&field.members, is_it)))
}

fn byte_range(bits: &Range<u64>) -> Range<usize> {
    (bits.start / 8) as usize..bits.end.div_ceil(8) as usize
}

/// Range of bits as bytes, or as `byte.bit` if it does not begin and end at a byte.
fn bits_of(bits: &Range<u64>) -> String {
    let last = bits.end.saturating_sub(1);
    if bits.start.is_multiple_of(8) && bits.end.is_multiple_of(8) {
        return span_of((bits.start / 8) as usize, (last / 8) as usize);
    }
    let place = |bit: u64| format!("{}.{}", bit / 8, bit % 8);
    if bits.start == last { place(last) } else { format!("{}-{}", place(bits.start), place(last)) }
}

fn span_of(first: usize, last: usize) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

/// Joins ascending numbers into ranges.
fn runs(numbers: &[usize]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for number in numbers {
        match runs.last_mut().filter(|run| run.end == *number) {
            Some(run) => run.end += 1,
            None => runs.push(*number..*number + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_continue_after_z() {
        assert_eq!([0, 25, 26, 27, 52, 701, 702].map(label), ["a", "z", "aa", "ab", "ba", "zz", "**"]);
    }

    #[test]
    fn runs_of_bits() {
        assert_eq!(
            [0..8, 0..32, 9..16, 12..13, 4..20].map(|bits| bits_of(&bits)),
            ["0", "0-3", "1.1-1.7", "1.4", "0.4-2.3"]
        );
        assert_eq!(runs(&[0, 1, 3, 5, 6]), [0..2, 3..4, 5..7]);
    }
}
