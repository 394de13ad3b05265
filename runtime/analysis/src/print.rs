//! Printing of sections, as text for people and as tables.

use crate::tables::{ColumnKind, Section, Value};
use tfbc::Form;
use tfbc_vm::TextBuf;

/// Limit on the error numbers that text lists per call; the rest become one number.
const MAX_COUNTS: usize = 4;

/// Layout of a section in text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout {
    /// Nanoseconds that count as 100 percent in the column of shares.
    pub whole_ns: u128,
    /// True to print the title of the section first.
    pub is_titled: bool,
}

/// Appends a section.
pub fn write(section: &Section, form: Form, layout: Layout, out: &mut TextBuf) {
    match form {
        Form::Text => text(section, layout, out),
        Form::Tsv | Form::Csv => table(section, form, out),
        Form::Ndjson => lines(section, out),
    }
}

fn lines(section: &Section, out: &mut TextBuf) {
    for row in section.rows() {
        out.push(b"{\"section\":");
        Form::Ndjson.value(section.name.as_bytes(), out);
        for (column, value) in section.columns().iter().zip(row) {
            out.push(b",");
            Form::Ndjson.value(column.name.as_bytes(), out);
            out.push(b":");
            json(value, out);
        }
        out.push(b"}\n");
    }
}

fn json(value: &Value, out: &mut TextBuf) {
    match value {
        Value::Null => out.push(b"null"),
        Value::Number(_) | Value::Ratio(_) => out.push(value.to_string().as_bytes()),
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
    let mut line = |cells: Vec<String>| {
        for (at, cell) in cells.iter().enumerate() {
            if at > 0 {
                out.push(&form.delimiter());
            }
            form.value(cell.as_bytes(), out);
        }
        out.push(b"\n");
    };
    line(section.columns().iter().map(|column| column.name.clone()).collect());
    section.rows().for_each(|row| line(row.iter().map(Value::to_string).collect()));
}

/// Milliseconds with six decimals, so that no nanosecond is rounded away.
pub fn milliseconds(ns: i128) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{}.{:06}", ns.unsigned_abs() / 1_000_000, ns.unsigned_abs() % 1_000_000)
}

/// Share in percent with two decimals, rounded half up.
pub fn percent(part: u128, whole: u128) -> String {
    if whole == 0 {
        return String::from("-");
    }
    // Both are below 2^75, so the products fit.
    let hundredths = (part * 20_000 + whole) / (2 * whole);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// Text of one cell.
fn cell(section: &Section, row: &[Value], at: usize) -> String {
    let is_time = section.columns()[at].kind.is_time()
        || (section.columns()[at].kind == ColumnKind::Count
            && matches!(section.get(row, "number"), Some(Value::Text(name)) if name.ends_with("_ns")));
    match &row[at] {
        Value::Number(ns) if is_time => milliseconds(*ns),
        Value::Null => match section.columns()[at].name.as_str() {
            "name" | "call" | "thread_name" => section
                .get(row, "pid")
                .filter(|pid| section.columns()[at].name == "name" && **pid != Value::Null)
                .map_or(String::from("-"), |pid| format!("-{pid}-")),
            _ => String::from("-"),
        },
        // A call can fail with hundreds of different errors.
        Value::Counts(counts) if counts.len() > MAX_COUNTS => {
            let first = counts.iter().take(MAX_COUNTS).map(|(number, n)| (*number, *n)).collect();
            format!("{} …", Value::Counts(first))
        }
        value => visible(&value.to_string()),
    }
}

/// Replaces control characters, so that a text stays on one line.
fn visible(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{FFFD}' } else { letter }).collect()
}

fn text(section: &Section, layout: Layout, out: &mut TextBuf) {
    if section.name == "head" {
        return head(section, out);
    }
    if layout.is_titled {
        out.push(format!("\n{}\n", title(section.name)).as_bytes());
    }
    let is_empty = |value: &Value| matches!(value, Value::Null | Value::Number(0)) || value.to_string().is_empty();
    // Columns without information are left out: all zeros or all empty. A CPU number of 0 is information.
    let shown: Vec<usize> = (0..section.columns().len())
        .filter(|at| *at == 0 || section.rows().any(|row| !is_empty(&row[*at])))
        .filter(|at| section.columns()[*at].name != "generation" || section.rows().any(|row| has_generation(&row[*at])))
        .collect();
    let name = |at: usize| {
        let name = &section.columns()[at].name;
        match name.strip_suffix("_ns") {
            Some(time) if section.column(time).is_some() => format!("{time} time"),
            Some(time) => time.replace('_', " "),
            None => name.replace('_', " "),
        }
    };
    let mut lines: Vec<Vec<String>> = vec![shown.iter().map(|at| name(*at)).collect()];
    let total = section.total().filter(|_| section.name != "pending");
    if total.is_some() {
        lines[0].push(String::from("share"));
    }
    for row in section.rows() {
        let mut line: Vec<String> = shown.iter().map(|at| cell(section, row, *at)).collect();
        if let Some(total) = total {
            let share = if let Value::Number(ns) = row[total] {
                percent(ns.unsigned_abs(), layout.whole_ns)
            } else {
                String::from("-")
            };
            line.push(share);
        }
        lines.push(line);
        // A second line per CPU has the categories in percent of the span.
        if section.name == "cpu"
            && let Some(Value::Number(span)) = section.get(row, "span_ns")
        {
            let shares = shown.iter().map(|at| match (&row[*at], section.columns()[*at].kind) {
                (Value::Number(ns), ColumnKind::Ns) => format!("{}%", percent(ns.unsigned_abs(), span.unsigned_abs())),
                _ => String::new(),
            });
            lines.push(shares.collect());
        }
    }
    let is_text = |value: &Value| matches!(value, Value::Text(_) | Value::List(_) | Value::Counts(_));
    let is_left: Vec<bool> = shown.iter().map(|at| section.rows().any(|row| is_text(&row[*at]))).collect();
    let widths: Vec<usize> =
        (0..lines[0].len()).map(|at| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0)).collect();
    for line in lines {
        let mut text = String::new();
        for (at, cell) in line.iter().enumerate() {
            let gap = " ".repeat(widths[at] - cell.chars().count());
            let (before, after) = if is_left.get(at) == Some(&true) { ("", gap.as_str()) } else { (gap.as_str(), "") };
            text.push_str(&format!("{}{before}{cell}{after}", if at > 0 { "  " } else { "" }));
        }
        out.push(text.trim_end().as_bytes());
        out.push(b"\n");
    }
}

fn has_generation(value: &Value) -> bool {
    matches!(value, Value::Number(generation) if *generation > 1)
}

fn title(section: &str) -> &'static str {
    match section {
        "cpu" => "CPUs, in milliseconds",
        "process" => "Processes",
        "thread" => "Threads",
        "call" => "Calls",
        "pending" => "Calls that had not returned at the end",
        "interrupt" => "Interrupts, each without nested ones",
        "state" => "States of threads",
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
