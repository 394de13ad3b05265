//! Source text with a count per line, and underlines below unreached parts.

use super::{Coverage, Covered, segments};
use anstyle::{AnsiColor, Style};
use std::fmt::Write;
use tfbc::internal::terminal::visible;

/// Maximum bytes shown of a line; a format file may be one line of megabytes.
const MAX_SHOWN: usize = 400;

/// Every file, one output line per source line with its count, and `^` below unreached parts.
pub fn marked(coverage: &Coverage, colour: bool) -> String {
    let mut out = String::new();
    for file in &coverage.files {
        if coverage.files.len() > 1 {
            let _ = writeln!(out, "{}{}:", if out.is_empty() { "" } else { "\n" }, file.source.name());
        }
        mark(file, colour, &mut out);
    }
    out
}

fn mark(file: &Covered, colour: bool, out: &mut String) {
    let counts = file.line_counts();
    let widest = counts.iter().flatten().max().map_or(1, |n| n.to_string().len()).max(5);
    let mut unreached = unreached(file).into_iter().peekable();
    let mut open: Option<(u32, u32)> = None;
    let mut start = 0u32;
    for (line, count) in file.source.bytes().split_inclusive(|byte| *byte == b'\n').zip(&counts) {
        let end = start + line.len() as u32;
        let text = line.trim_ascii_end();
        let mut marks = Vec::new();
        let text_end = start + text.len() as u32;
        while let Some((from, to)) = open.take().or_else(|| unreached.next_if(|(from, _)| *from < end)) {
            marks.push((from.max(start).min(text_end), to.min(text_end)));
            if to > end {
                open = Some((end, to));
                break;
            }
        }
        write_line(text, *count, widest, start, &marks, colour, out);
        start = end;
    }
}

/// Outermost unreached ranges, without the reached parts inside them.
fn unreached(file: &Covered) -> Vec<(u32, u32)> {
    let segments = segments::of(&file.hits).into_iter();
    segments.filter(|segment| segment.n == 0).map(|segment| (segment.start, segment.end)).collect()
}

fn write_line(
    text: &[u8],
    count: Option<u64>,
    widest: usize,
    start: u32,
    marks: &[(u32, u32)],
    colour: bool,
    out: &mut String,
) {
    let count = count.map_or(String::new(), |n| if n == 0 { String::from("#####") } else { n.to_string() });
    let cut = text.get(..MAX_SHOWN).unwrap_or(text);
    let is_marked = |at: usize| marks.iter().any(|(from, to)| (*from..*to).contains(&(start + at as u32)));
    let _ = write!(out, "{count:>widest$} | ");
    let (mut line, mut under) = (String::new(), String::new());
    let mut at = 0;
    for chunk in cut.utf8_chunks() {
        let chars = chunk.valid().chars().map(|char| (char, char.len_utf8()));
        for (char, len) in chars.chain(chunk.invalid().iter().map(|_| ('\u{fffd}', 1))) {
            let char = if char == '\t' { ' ' } else { char };
            let shown = visible(char.encode_utf8(&mut [0; 4])).into_owned();
            let sign = if is_marked(at) { '^' } else { ' ' };
            under.extend(std::iter::repeat_n(sign, shown.chars().count()));
            line.push_str(&shown);
            at += len;
        }
    }
    let more = if cut.len() < text.len() { "…" } else { "" };
    if colour {
        write_coloured(&line, &under, out);
    } else {
        out.push_str(&line);
    }
    let _ = writeln!(out, "{more}");
    if !colour && under.contains('^') {
        let _ = writeln!(out, "{:>widest$} | {}", "", under.trim_end());
    }
}

/// Writes a line with its unreached ranges in colour.
fn write_coloured(line: &str, under: &str, out: &mut String) {
    let style: Style = AnsiColor::Red.on_default().underline();
    let mut inside = false;
    for (char, sign) in line.chars().zip(under.chars()) {
        if (sign == '^') != inside {
            inside = !inside;
            let _ = if inside { write!(out, "{style}") } else { write!(out, "{style:#}") };
        }
        out.push(char);
    }
    if inside {
        let _ = write!(out, "{style:#}");
    }
}
