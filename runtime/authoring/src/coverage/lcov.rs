//! Coverage as a tracefile of `lcov`, for `genhtml` and editors.
//!
//! Stanzas, functions and datakeys become functions (`FN`). Cases, flags, enums and conditions become branches
//! (`BRDA`). A line's count (`DA`) is the count of its innermost part.

use super::{Coverage, Covered, Hit, table};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use tfbc_compiler::coverage::PointKind;

/// Writes the tracefile. File names are absolute if possible.
pub fn lcov(coverage: &Coverage) -> String {
    let mut out = String::from("TN:\n");
    coverage.files.iter().for_each(|file| record(file, &mut out));
    out
}

fn record(file: &Covered, out: &mut String) {
    let name = file.source.name();
    let path =
        Path::new(name).canonicalize().map_or_else(|_| name.to_owned(), |path| path.to_string_lossy().into_owned());
    let _ = writeln!(out, "SF:{path}");
    let line = |hit: &Hit| file.source.line_column(hit.point.span.start).0;
    let is_function =
        |hit: &&Hit| matches!(hit.point.kind, PointKind::Stanza | PointKind::Function | PointKind::Datakey);
    let functions: Vec<_> = file.hits.iter().filter(is_function).collect();
    // Function names must be unique within a file.
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let names: Vec<_> = functions
        .iter()
        .map(|hit| {
            let text = table::describe(hit.point.kind, &hit.point.name).replace([',', '\n'], " ");
            let n = names.entry(text.clone()).or_insert(0);
            *n += 1;
            if *n == 1 { text } else { format!("{text} ({n})") }
        })
        .collect();
    for (hit, name) in functions.iter().zip(&names) {
        let _ = writeln!(out, "FN:{},{name}", line(hit));
    }
    for (hit, name) in functions.iter().zip(&names) {
        let _ = writeln!(out, "FNDA:{},{name}", hit.n);
    }
    let _ = writeln!(out, "FNF:{}\nFNH:{}", functions.len(), functions.iter().filter(|hit| hit.n > 0).count());
    let branches: Vec<_> = file
        .counted()
        .filter(|hit| !is_function(hit) && !matches!(hit.point.kind, PointKind::Loop | PointKind::Bitmask))
        .collect();
    let mut on_line: BTreeMap<u32, usize> = BTreeMap::new();
    for hit in &branches {
        let line = line(hit);
        let branch = on_line.entry(line).or_insert(0);
        let _ = writeln!(out, "BRDA:{line},0,{branch},{}", hit.n);
        *branch += 1;
    }
    let _ = writeln!(out, "BRF:{}\nBRH:{}", branches.len(), branches.iter().filter(|hit| hit.n > 0).count());
    let counts = file.line_counts();
    let counted = || counts.iter().enumerate().filter_map(|(at, count)| Some((at + 1, (*count)?)));
    for (line, count) in counted() {
        let _ = writeln!(out, "DA:{line},{count}");
    }
    let (found, hit) = (counted().count(), counted().filter(|(_, count)| *count > 0).count());
    let _ = writeln!(out, "LF:{found}\nLH:{hit}\nend_of_record");
}
