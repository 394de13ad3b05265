//! Summary table: reached parts per file and kind, and the positions of unreached ones.

use super::{Coverage, Covered};
use std::fmt::Write;
use tfbc_compiler::coverage::PointKind;

/// Maximum number of unreached parts listed per file.
const MAX_NAMED: usize = 40;

/// Columns, with the kinds of parts that each one counts.
const COLUMNS: [(&str, &[PointKind]); 10] = [
    ("stanzas", &[PointKind::Stanza]),
    ("functions", &[PointKind::Function]),
    ("cases", &[PointKind::Case]),
    ("flags", &[PointKind::FlagSet, PointKind::FlagClear]),
    ("loops", &[PointKind::Loop]),
    ("datakeys", &[PointKind::Datakey]),
    ("events", &[PointKind::Event]),
    ("enums", &[PointKind::Enum, PointKind::EnumDefault]),
    ("bitmasks", &[PointKind::Bitmask]),
    ("conditions", &[PointKind::ConditionTrue, PointKind::ConditionFalse]),
];

/// Summary as text; with `named`, followed by the unreached parts.
pub fn table(coverage: &Coverage, named: bool) -> String {
    let used: Vec<_> =
        COLUMNS.iter().filter(|(_, kinds)| coverage.files.iter().any(|file| file.reached(kinds).1 > 0)).collect();
    let mut rows = vec![std::iter::once("file").chain(used.iter().map(|(name, _)| *name)).map(str::to_owned).collect()];
    for file in &coverage.files {
        rows.push(row(file, used.iter().map(|(_, kinds)| *kinds)));
    }
    let mut out = aligned(&rows);
    if named {
        coverage.files.iter().for_each(|file| name_unreached(file, &mut out));
    }
    out
}

fn row<'k>(file: &Covered, kinds: impl Iterator<Item = &'k [PointKind]>) -> Vec<String> {
    let cell = |kinds: &[PointKind]| match file.reached(kinds) {
        (_, 0) => String::from("-"),
        (reached, all) => format!("{reached}/{all} {:>3}%", reached * 100 / all),
    };
    std::iter::once(file.source.name().to_owned()).chain(kinds.map(cell)).collect()
}

/// Aligns rows: the first column to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let n = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max();
    let widths: Vec<_> = (0..n).map(|at| width(at).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        for (at, cell) in row.iter().enumerate() {
            let width = widths[at];
            let _ = if at == 0 { write!(out, "{cell:<width$}") } else { write!(out, "  {cell:>width$}") };
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    out
}

fn name_unreached(file: &Covered, out: &mut String) {
    let unreached: Vec<_> = file.counted().filter(|hit| hit.n == 0).collect();
    if unreached.is_empty() {
        return;
    }
    out.push('\n');
    for hit in unreached.iter().take(MAX_NAMED) {
        let (line, column) = file.source.line_column(hit.point.span.start);
        let what = describe(hit.point.kind, &hit.point.name);
        let _ = writeln!(out, "{}:{line}:{column}: not reached: {what}", file.source.name());
    }
    if unreached.len() > MAX_NAMED {
        let _ = writeln!(
            out,
            "{}: and {} more (--coverage=source shows all)",
            file.source.name(),
            unreached.len() - MAX_NAMED
        );
    }
}

/// Description of a part.
pub(super) fn describe(kind: PointKind, name: &str) -> String {
    let name = tfbc::internal::terminal::visible(name);
    match kind {
        PointKind::Stanza => format!("stanza {name}"),
        PointKind::Function => format!("function {name}"),
        PointKind::Case if name.is_empty() => String::from("case \"\""),
        PointKind::Case => format!("case {name}"),
        PointKind::Loop => String::from("the body of this LOOP"),
        PointKind::FlagSet => format!("flag {name} set"),
        PointKind::FlagClear => format!("flag {name} not set"),
        PointKind::Datakey => format!("datakey \"{name}\""),
        PointKind::Event => format!("event {name}"),
        PointKind::Bitmask => format!("bitmask of {name}"),
        PointKind::Enum => format!("enum \"{name}\""),
        PointKind::EnumDefault => format!("default \"{name}\""),
        PointKind::ConditionTrue => format!("condition on {name} is true"),
        PointKind::ConditionFalse => format!("condition on {name} is false"),
        PointKind::Rest => String::from("the rest of the stanza"),
    }
}
