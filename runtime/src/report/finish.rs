//! The end of a line, after its text is formatted: `--grep`, the values of tables, texts that are not shown.

use super::ReportOptions;
use crate::columns::Columns;
use crate::forms::Form;
use memchr::{memchr, memchr_iter};
use regex::bytes::Regex;
use tfbc_vm::{Layout, TextBuf};

/// What is done with a line after its text is formatted.
pub(super) struct Finish {
    /// Only lines whose text has a match. A copy of the options' with scratch of its own.
    grep: Option<Regex>,
    ending: Ending,
    counts_lines: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The text as it is.
    Text,
    /// The text on a line of its own; no line if it is empty.
    SecondLine,
    /// The text as the last value of a table's row.
    Value(Form),
    /// Nothing: the columns are all.
    Dropped,
}

impl Finish {
    pub fn new(options: &ReportOptions, columns: &Columns) -> Self {
        let ending = match options.form {
            _ if options.stats || !columns.has_text() => Ending::Dropped,
            Form::Text if columns.has_two_lines() => Ending::SecondLine,
            Form::Text => Ending::Text,
            form => Ending::Value(form),
        };
        let has_pages = options.page_size > 0 && !options.no_heading && !columns.is_bare();
        Self { grep: options.grep.clone(), ending, counts_lines: has_pages && options.is_text() }
    }

    /// True if lines stay as they are.
    pub fn is_nothing(&self) -> bool {
        self.grep.is_none() && self.ending == Ending::Text && !self.counts_lines
    }

    /// True if the report has pages.
    pub fn counts_lines(&self) -> bool {
        self.counts_lines
    }

    /// Ends the line of an event, which begins at `line` and whose text begins at `start`, margins included. False, and
    /// nothing of it stays, if the text has no match.
    #[inline(always)]
    pub fn line(&mut self, layout: Layout, line: usize, start: usize, out: &mut TextBuf) -> bool {
        if let Some(wanted) = &self.grep {
            let text = out.as_bytes().get(start..).unwrap_or_default();
            if !is_match(wanted, text, layout) {
                out.truncate(line);
                return false;
            }
        }
        match self.ending {
            Ending::Text => {}
            Ending::SecondLine if out.len() == start + 1 && start > line => out.truncate(start),
            Ending::SecondLine => {}
            Ending::Dropped => out.truncate(start),
            Ending::Value(form) => {
                let n_ends = usize::from(out.as_bytes()[start..].ends_with(b"\n"));
                out.truncate(out.len() - n_ends);
                form.end_value(start, out);
                out.push(if form == Form::Ndjson { b"}\n" } else { form.line_end() });
            }
        }
        true
    }

    /// Number of lines in a text.
    #[inline]
    pub fn count_lines(&self, text: &[u8]) -> u64 {
        // Most lines have their newline at their end alone, and `memchr` tells so at once.
        match text.split_last() {
            Some((_, text)) if self.counts_lines => 1 + memchr_iter(b'\n', text).fold(0, |n, _| n + 1),
            _ => 0,
        }
    }
}

/// True if the text of an event has a match, without the blanks of its margins and the newline at its end.
#[inline]
pub(super) fn is_match(wanted: &Regex, text: &[u8], layout: Layout) -> bool {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    // An empty line has no margin.
    let first = if text.starts_with(b" ") { usize::from(layout.first) } else { 0 };
    let text = text.get(first..).unwrap_or(text);
    if layout.further == 0 || memchr(b'\n', text).is_none() {
        return wanted.is_match(text);
    }
    wanted.is_match(&without_margins(text, layout.further.into()))
}

/// Lines without the margin of all but the first.
fn without_margins(text: &[u8], margin: usize) -> Vec<u8> {
    let lines: Vec<_> = text.split(|byte| *byte == b'\n').collect();
    let further = lines[1..].iter().map(|line| without_blanks(line, margin));
    std::iter::once(lines[0]).chain(further).collect::<Vec<_>>().join(&b'\n')
}

/// A line without its first `n` bytes, if these are blanks.
fn without_blanks(line: &[u8], n: usize) -> &[u8] {
    match line.split_at_checked(n) {
        Some((blanks, rest)) if blanks.iter().all(|byte| *byte == b' ') => rest,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_no_text() {
        let layout = Layout { first: 3, further: 5 };
        for (text, layout, wanted) in [
            ("   one\n      two\n\n", layout, r"\Aone\n two\n\z"),
            ("\n     two\n", layout, r"\A\ntwo\z"),
            ("  one\n two\n", Layout::default(), r"\A  one\n two\z"),
            ("\n", layout, r"\A\z"),
        ] {
            assert!(is_match(&Regex::new(wanted).unwrap(), text.as_bytes(), layout), "{text:?}");
        }
    }
}
