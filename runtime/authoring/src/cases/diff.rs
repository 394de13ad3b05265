//! Unified diff of two texts.

use anstyle::{AnsiColor, Style};
use similar::{ChangeTag, TextDiff};
use std::fmt::Write;
use tfbc::internal::terminal::visible;

/// Number of context lines around a difference.
const AROUND: usize = 3;
/// Maximum number of lines of a text that is compared line by line.
const MAX_LINES: usize = 200_000;

/// A text with the name that the diff shows for it.
#[derive(Debug, Clone, Copy)]
pub struct NamedText<'t> {
    pub name: &'t str,
    pub text: &'t str,
}

/// Unified diff from `old` to `new`, which have no line end after the last line.
pub fn unified(old: NamedText<'_>, new: NamedText<'_>, colour: bool) -> String {
    let (old_text, new_text) = (with_line_end(old.text), with_line_end(new.text));
    let mut out = String::new();
    // Snapshots and case files cannot be trusted more than traces.
    let paint = |out: &mut String, style: Style, line: &str| {
        let line = visible(line);
        let _ = if colour { writeln!(out, "{style}{line}{style:#}") } else { writeln!(out, "{line}") };
    };
    let bold = Style::new().bold();
    paint(&mut out, bold, &format!("--- {}", old.name));
    paint(&mut out, bold, &format!("+++ {}", new.name));
    // The comparison takes quadratic time in the worst case.
    if old_text.lines().count().max(new_text.lines().count()) > MAX_LINES {
        out.push_str("(too long to compare line by line)\n");
        return out;
    }
    let diff = TextDiff::from_lines(&old_text, &new_text);
    for hunk in diff.unified_diff().context_radius(AROUND).iter_hunks() {
        paint(&mut out, AnsiColor::Cyan.on_default(), &hunk.header().to_string());
        for change in hunk.iter_changes() {
            let (sign, style) = match change.tag() {
                ChangeTag::Delete => ('-', AnsiColor::Red.on_default()),
                ChangeTag::Insert => ('+', AnsiColor::Green.on_default()),
                ChangeTag::Equal => (' ', Style::new()),
            };
            let line = change.value().trim_end_matches('\n');
            // A blank at the end of a line is a difference, which a terminal only shows by its colour.
            paint(&mut out, style, format!("{sign}{line}").as_str());
        }
    }
    out
}

fn with_line_end(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{text}\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_distinguished() {
        let text = unified(NamedText { name: "a", text: "x\ny" }, NamedText { name: "b", text: "x\nz" }, false);
        assert_eq!(text, "--- a\n+++ b\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n");
        assert!(
            unified(NamedText { name: "a", text: "" }, NamedText { name: "b", text: "x" }, true)
                .contains("\u{1b}[32m+x")
        );
    }
}
