//! The end of a line, after its text is formatted: `--grep`, the values of tables, texts that are not shown.

use super::options::ReportOptions;
use crate::columns::Columns;
use crate::output_format::Form;
use memchr::memchr_iter;
use memchr::memmem::Finder;
use regex::bytes::Regex;
use tfbc_vm::{Layout, TextBuf, contains_any};

/// Last step of a line, after its text is formatted.
pub(super) struct Finish {
    /// Pattern that the text must match.
    grep: Option<Grep>,
    ending: LineEnding,
    counts_lines: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnding {
    /// The text as it is.
    Text,
    /// The text on a line of its own; no line if it is empty.
    SecondLine,
    /// The text as the last value of a table's row.
    Value(Form),
    /// Nothing: the line has columns only.
    Dropped,
}

impl Finish {
    pub fn new(options: &ReportOptions, columns: &Columns) -> Self {
        let ending = match options.form {
            _ if options.stats || !columns.has_text() => LineEnding::Dropped,
            Form::Text if columns.has_two_lines() => LineEnding::SecondLine,
            Form::Text => LineEnding::Text,
            form => LineEnding::Value(form),
        };
        let has_pages = options.page_size > 0 && !options.no_heading && !columns.is_bare();
        Self { grep: options.grep.as_ref().map(Grep::new), ending, counts_lines: has_pages && options.is_text() }
    }

    /// True if lines stay as they are.
    pub fn is_nothing(&self) -> bool {
        self.grep.is_none() && self.ending == LineEnding::Text && !self.counts_lines
    }

    /// Form of the table whose rows are the lines; `None` for text, or if lines are filtered.
    pub fn table(&self) -> Option<Form> {
        match self.ending {
            LineEnding::Value(form) if self.grep.is_none() => Some(form),
            _ => None,
        }
    }

    /// True if the report has pages.
    pub fn counts_lines(&self) -> bool {
        self.counts_lines
    }

    /// Ends the line of an event, which begins at `line` and whose text begins at `start`, margins included. Returns
    /// false and removes the line if the text has no match.
    #[inline(always)]
    pub fn line(&self, layout: Layout, line: usize, start: usize, out: &mut TextBuf) -> bool {
        if let Some(wanted) = &self.grep {
            let text = out.as_bytes().get(start..).unwrap_or_default();
            if !wanted.is_match(text, layout) {
                out.truncate(line);
                return false;
            }
        }
        match self.ending {
            LineEnding::Text => {}
            LineEnding::SecondLine if out.len() == start + 1 && start > line => out.truncate(start),
            LineEnding::SecondLine => {}
            LineEnding::Dropped => out.truncate(start),
            LineEnding::Value(form) => form.end_row(start, out),
        }
        true
    }

    /// Number of lines in a text.
    #[inline]
    pub fn count_lines(&self, text: &[u8]) -> u64 {
        // Most texts have one newline, at their end.
        match text.split_last() {
            Some((_, text)) if self.counts_lines => 1 + memchr_iter(b'\n', text).fold(0, |n, _| n + 1),
            _ => 0,
        }
    }
}

/// Search in the texts of events, ignoring the blanks of their margins and the newline at their end.
pub(super) struct Grep {
    /// Clone of the pattern in the options, with its own scratch memory.
    wanted: Regex,
    /// The pattern if it is a literal without blanks, which cannot match part of a margin.
    literal: Option<Finder<'static>>,
}

impl Grep {
    pub fn new(wanted: &Regex) -> Self {
        let pattern = wanted.as_str();
        let is_literal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'=' | b':' | b',' | b'/');
        // A `Regex` does not reveal its flags, so a match in the other letter case detects "ignore case".
        let other_case: String = pattern.chars().map(other_case).collect();
        let is_exact = other_case == pattern || !wanted.is_match(other_case.as_bytes());
        let literal = (!pattern.is_empty() && pattern.bytes().all(is_literal) && is_exact)
            .then(|| Finder::new(pattern).into_owned());
        Self { wanted: wanted.clone(), literal }
    }

    /// True if the text of an event has a match.
    #[inline]
    pub fn is_match(&self, text: &[u8], layout: Layout) -> bool {
        match &self.literal {
            Some(literal) => literal.find(text).is_some(),
            None => self.is_match_within_margins(text, layout),
        }
    }

    fn is_match_within_margins(&self, text: &[u8], layout: Layout) -> bool {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        // An empty line has no margin.
        let first = if text.starts_with(b" ") { usize::from(layout.first) } else { 0 };
        let text = text.get(first..).unwrap_or(text);
        const NEWLINES: u32 = u32::from_be_bytes(*b"\n\n\n\n");
        if layout.further == 0 || !contains_any::<NEWLINES, { i8::MIN }>(text) {
            return self.wanted.is_match(text);
        }
        self.wanted.is_match(&without_margins(text, layout.further.into()))
    }
}

fn other_case(char: char) -> char {
    if char.is_ascii_lowercase() { char.to_ascii_uppercase() } else { char.to_ascii_lowercase() }
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
            assert!(Grep::new(&Regex::new(wanted).unwrap()).is_match(text.as_bytes(), layout), "{text:?}");
        }
    }

    #[test]
    fn plain_texts_match_like_regular_expressions() {
        let pattern = |text: &str, ignores_case| {
            regex::bytes::RegexBuilder::new(text).multi_line(true).case_insensitive(ignores_case).build().unwrap()
        };
        let layout = Layout { first: 3, further: 5 };
        for wanted in ["a", "7f3", "ab/c", "x=1,y:2", "a.c", "0", "é", "ab c"] {
            for ignores_case in [false, true] {
                let grep = Grep::new(&pattern(wanted, ignores_case));
                for text in ["   a\n", "   7F3\n", "   x AB/C\n     7f3\n", "   x=1,y:2\n", "\n", "   ab c\n", "   é\n"]
                {
                    let found = grep.is_match_within_margins(text.as_bytes(), layout);
                    assert_eq!(grep.is_match(text.as_bytes(), layout), found, "{wanted} in {text:?}");
                }
            }
        }
    }
}
