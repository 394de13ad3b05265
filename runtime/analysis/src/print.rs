//! Printing of sections, as text for people and as tables.

use crate::numbers::{milliseconds, push_milliseconds, push_number, push_percent};
use crate::section::{Column, ColumnKind, Section, TextLayout, Value};
use crate::utilisation;
use tfbc::Form;
use tfbc_vm::TextBuf;

/// Limit on the error numbers that text lists per call; the rest become one number.
const MAX_COUNTS: usize = 4;

/// Columns that text combines: the dispatches of a thread to the CPU of its last dispatch, and those that have a last one.
const AFFINITY: &str = "affinity_same";
const AFFINITY_WHOLE: &str = "affinity_known";

/// Appends a section.
pub fn write(section: &Section, form: Form, layout: TextLayout, out: &mut TextBuf) {
    match form {
        Form::Text => text(section, layout, out),
        Form::Tsv | Form::Csv => table(section, form, out),
        Form::Ndjson => lines(section, out),
    }
}

fn lines(section: &Section, out: &mut TextBuf) {
    section.rows().for_each(|row| json_row(section.name, section.columns(), row, out));
}

/// Appends a row as a JSON object on a line.
pub fn json_row(section: &str, columns: &[Column], row: &[Value], out: &mut TextBuf) {
    out.push(b"{\"section\":");
    Form::Ndjson.value(section.as_bytes(), out);
    for (column, value) in columns.iter().zip(row) {
        out.push(b",");
        Form::Ndjson.value(column.name.as_bytes(), out);
        out.push(b":");
        json(value, out);
    }
    out.push(b"}\n");
}

fn json(value: &Value, out: &mut TextBuf) {
    match value {
        Value::Null => out.push(b"null"),
        Value::Number(_) | Value::Ratio(_) | Value::Flag(_) => out.push(value.to_string().as_bytes()),
        Value::Fields(fields) => {
            out.push(b"{");
            for (at, (name, value)) in fields.iter().enumerate() {
                out.push(if at > 0 { &b","[..] } else { b"" });
                Form::Ndjson.value(name.as_bytes(), out);
                out.push(b":");
                json(value, out);
            }
            out.push(b"}");
        }
        Value::Text(text) => Form::Ndjson.value(text.as_bytes(), out),
        Value::List(values) => {
            out.push(b"[");
            for (at, value) in values.iter().enumerate() {
                out.push(if at > 0 { &b","[..] } else { b"" });
                json(value, out);
            }
            out.push(b"]");
        }
        Value::Counts(counts) => {
            let pairs: Vec<String> = counts.iter().map(|(number, n)| format!("\"{number}\":{n}")).collect();
            out.push(format!("{{{}}}", pairs.join(",")).as_bytes());
        }
    }
}

fn table(section: &Section, form: Form, out: &mut TextBuf) {
    table_row(form, section.columns().iter().map(|column| column.name.clone()), out);
    section.rows().for_each(|row| table_row(form, row.iter().map(Value::to_string), out));
}

/// Appends a line of a table.
pub fn table_row(form: Form, cells: impl Iterator<Item = String>, out: &mut TextBuf) {
    for (at, cell) in cells.enumerate() {
        if at > 0 {
            out.push(&form.delimiter());
        }
        form.value(cell.as_bytes(), out);
    }
    out.push(b"\n");
}

/// Appends the text of a value in a column. `names_time` is true in a row of a comparison whose numbers are times.
fn push_cell(section: &Section, row: &[Value], at: usize, names_time: bool, out: &mut Vec<u8>) {
    let column = &section.columns()[at];
    let is_time = column.kind.is_time() || (column.kind == ColumnKind::Count && names_time);
    match &row[at] {
        Value::Number(same) if column.name == AFFINITY => push_affinity(section, row, *same, out),
        Value::Number(ns) if is_time => push_milliseconds(*ns, out),
        Value::Number(number) => match u64::try_from(*number) {
            Ok(number) => push_number(number, 1, out),
            Err(_) => out.extend(number.to_string().bytes()),
        },
        Value::Null if column.name == "name" => match section.get(row, "pid") {
            Some(pid) if *pid != Value::Null => out.extend(format!("-{pid}-").bytes()),
            _ => out.push(b'-'),
        },
        Value::Null => out.push(b'-'),
        // A call can fail with hundreds of different errors.
        Value::Counts(counts) if counts.len() > MAX_COUNTS => {
            let first = counts.iter().take(MAX_COUNTS).map(|(number, n)| (*number, *n)).collect();
            out.extend(format!("{} …", Value::Counts(first)).bytes());
        }
        Value::Counts(counts) if counts.is_empty() => {}
        Value::Text(text) => push_visible(text, out),
        value => push_visible(&value.to_string(), out),
    }
}

/// Appends the affinity of a row, such as `3/4 0.75`; `-` if no dispatch has a last one.
fn push_affinity(section: &Section, row: &[Value], same: i128, out: &mut Vec<u8>) {
    match section.get(row, AFFINITY_WHOLE) {
        Some(Value::Number(known)) if *known > 0 => {
            let (same, known) = (same.unsigned_abs(), known.unsigned_abs());
            out.extend(format!("{same}/{known} ").bytes());
            push_percent(same, 100 * known, out);
        }
        _ => out.push(b'-'),
    }
}

/// Text on one line.
pub fn visible(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{FFFD}' } else { letter }).collect()
}

fn push_visible(text: &str, out: &mut Vec<u8>) {
    if text.bytes().all(|byte| (0x20..0x7F).contains(&byte)) {
        return out.extend_from_slice(text.as_bytes());
    }
    out.extend(visible(text).bytes());
}

/// True if a value is empty or 0.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Number(0) => true,
        Value::Text(text) => text.is_empty(),
        Value::List(values) => values.is_empty(),
        Value::Counts(counts) => counts.is_empty(),
        Value::Fields(fields) => fields.is_empty(),
        Value::Number(_) | Value::Ratio(_) | Value::Flag(_) => false,
    }
}

fn text(section: &Section, layout: TextLayout, out: &mut TextBuf) {
    if section.name == "head" {
        return head(section, out);
    }
    if layout.is_titled {
        out.push(format!("\n{}\n", title(section.name)).as_bytes());
    }
    if section.name == "utilisation" {
        return utilisation::draw(section, layout, out);
    }
    let (grid, is_left) = grid(section, layout.whole_ns);
    grid.write(&is_left, out);
}

/// Section as a table of texts, for pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextTable {
    /// Title for people.
    pub title: &'static str,
    /// True per column if it is aligned to the left.
    pub is_left: Vec<bool>,
    /// Heading, and rows.
    pub rows: Vec<Vec<String>>,
}

/// Returns a section as the table that its text shows: times in milliseconds, and shares in percent of `whole_ns`. The
/// sections `head` and `utilisation` are not tables.
pub fn text_table(section: &Section, whole_ns: u128) -> TextTable {
    let (grid, mut is_left) = grid(section, whole_ns);
    is_left.resize(grid.widths.len(), false);
    let texts: Vec<String> = grid.texts().map(|text| String::from_utf8_lossy(text).into_owned()).collect();
    let rows = texts.chunks(grid.widths.len()).map(<[String]>::to_vec).collect();
    TextTable { title: title(section.name), is_left, rows }
}

/// Cells of a section, and the columns that are aligned to the left.
fn grid(section: &Section, whole_ns: u128) -> (Grid, Vec<bool>) {
    // A column of such values is left out, but not from a comparison. The CPU's number may be 0.
    let number = section.column("number");
    let is_used = |at: usize| {
        let at = if section.columns()[at].name == AFFINITY { section.column(AFFINITY_WHOLE).unwrap_or(at) } else { at };
        section.rows().any(|row| !is_empty(&row[at]))
    };
    let shown: Vec<usize> = (0..section.columns().len())
        .filter(|at| *at == 0 || number.is_some() || is_used(*at))
        .filter(|at| section.columns()[*at].name != AFFINITY_WHOLE)
        .filter(|at| section.columns()[*at].name != "generation" || section.rows().any(|row| has_generation(&row[*at])))
        .collect();
    let name = |at: usize| {
        let name = &section.columns()[at].name;
        if name == AFFINITY {
            return String::from("affinity");
        }
        match name.strip_suffix("_ns") {
            Some(time) if section.column(time).is_some() => format!("{time} time"),
            Some(time) => time.replace('_', " "),
            None => name.replace('_', " "),
        }
    };
    let total = section.total().filter(|_| section.name != "pending");
    let mut grid = Grid::new(shown.len() + usize::from(total.is_some()));
    shown.iter().for_each(|at| grid.cell(|out| out.extend(name(*at).bytes())));
    if total.is_some() {
        grid.cell(|out| out.extend_from_slice(b"share"));
    }
    // The categories of a CPU are also printed in percent of its span.
    let span = section.column("span_ns").filter(|_| section.name == "cpu");
    for row in section.rows() {
        let named = number.map(|at| &row[at]);
        let names_time = matches!(named, Some(Value::Text(name)) if name.ends_with("_ns"));
        shown.iter().for_each(|at| grid.cell(|out| push_cell(section, row, *at, names_time, out)));
        if let Some(total) = total {
            grid.cell(|out| match row[total] {
                Value::Number(ns) => push_percent(ns.unsigned_abs(), whole_ns, out),
                _ => out.push(b'-'),
            });
        }
        if let Some(Value::Number(span)) = span.map(|span| &row[span]) {
            for at in &shown {
                grid.cell(|out| {
                    if let (Value::Number(ns), ColumnKind::Ns) = (&row[*at], section.columns()[*at].kind) {
                        push_percent(ns.unsigned_abs(), span.unsigned_abs(), out);
                        out.push(b'%');
                    }
                });
            }
        }
    }
    let is_text = |value: &Value| matches!(value, Value::Text(_) | Value::List(_) | Value::Counts(_));
    let is_left = shown.iter().map(|at| section.rows().any(|row| is_text(&row[*at]))).collect();
    (grid, is_left)
}

/// Cells of a table in text, row by row.
pub struct Grid {
    text: Vec<u8>,
    /// End in `text` and width per cell.
    cells: Vec<(usize, usize)>,
    /// Width per column.
    widths: Vec<usize>,
}

impl Grid {
    /// Creates a table with `n_columns` columns.
    pub fn new(n_columns: usize) -> Self {
        Self { text: Vec::new(), cells: Vec::new(), widths: vec![0; n_columns] }
    }

    /// Adds a cell, whose text `write` appends.
    pub fn cell(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.text.len();
        write(&mut self.text);
        let text = &self.text[start..];
        // Bytes that continue a character have no width.
        let width = text.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        let column = self.cells.len() % self.widths.len();
        self.widths[column] = self.widths[column].max(width);
        self.cells.push((self.text.len(), width));
    }

    /// Texts of the cells, row by row.
    fn texts(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.cells.iter().map(|cell| cell.0));
        starts.zip(&self.cells).map(|(start, cell)| &self.text[start..cell.0])
    }

    /// Appends the lines. Columns are aligned to the right, unless `is_left` says otherwise.
    pub fn write(&self, is_left: &[bool], out: &mut TextBuf) {
        let mut start = 0;
        for row in self.cells.chunks(self.widths.len()) {
            // Blanks are written before the next text, so no line ends with blanks.
            let mut n_blanks = 0;
            for (at, (end, width)) in row.iter().enumerate() {
                let (text, gap) = (&self.text[start..*end], self.widths[at] - width);
                start = *end;
                n_blanks += if at > 0 { 2 } else { 0 };
                let is_left = is_left.get(at) == Some(&true);
                n_blanks += if is_left { 0 } else { gap };
                if !text.is_empty() {
                    out.pad(n_blanks);
                    out.push(text);
                    n_blanks = 0;
                }
                n_blanks += if is_left { gap } else { 0 };
            }
            out.push(b"\n");
        }
    }
}

fn has_generation(value: &Value) -> bool {
    matches!(value, Value::Number(generation) if *generation > 1)
}

fn title(section: &str) -> &'static str {
    match section {
        "cpu" => "CPUs, in milliseconds",
        "utilisation" => "Busy CPUs over time",
        "process" => "Processes",
        "thread" => "Threads",
        "call" => "Calls",
        "pending" => "Calls that had not returned at the end",
        "interrupt" => "Interrupts, each without nested ones",
        "state" => "States of threads",
        "client" => "Time of threads, and of the servers that worked for them",
        "snapshot" => "States at the end of the span",
        "priority" => "Time by priority",
        "gap" => "Untraced time",
        _ => "",
    }
}

fn head(section: &Section, out: &mut TextBuf) {
    for row in section.rows() {
        let get = |name: &str| section.get(row, name).map(Value::to_string).unwrap_or_default();
        let ns = |name: &str| match section.get(row, name) {
            Some(Value::Number(ns)) => milliseconds(*ns),
            _ => String::new(),
        };
        let mut line = |text: String| {
            out.push(visible(&text).as_bytes());
            out.push(b"\n");
        };
        line(get("files"));
        line(format!("span    {} ms, from {} to {}", ns("span_ns"), ns("from_ns"), ns("until_ns")));
        line(format!("CPUs    {}", get("cpus")));
        line(format!("events  {}", get("events")));
        if get("assume") == "user" {
            line(String::from("assumed: a thread in an unknown mode ran in user mode"));
        }
        if let Some(Value::List(notes)) = section.get(row, "notes") {
            notes.iter().for_each(|note| line(format!("note    {note}")));
        }
    }
}
