//! The end of a line, after its text is formatted: `--grep`, values of tables, and hidden texts.

use super::options::AixReportOptions;
use crate::columns::Columns;
use crate::output_format::Form;
use crate::pattern::Pattern;
use crate::reader::aix::LogInfo;
use memchr::memchr_iter;
use tfbc_vm::{Layout, TextBuf, contains_any};

/// Last step of a line, after its text is formatted.
pub(super) struct Finish {
    /// Pattern that the text must match.
    grep: Option<Grep>,
    ending: LineEnding,
    counts_lines: bool,
    /// True if the cells before a text and a plain text have one line together.
    has_one_line: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnding {
    /// Text, unchanged.
    Text,
    /// Text on its own line. Omitted if it is empty.
    SecondLine,
    /// Text as the last value of a table row.
    Value(Form),
    /// No text: the line has columns only.
    Dropped,
}

impl Finish {
    pub fn new(options: &AixReportOptions, columns: &Columns, logs: &[LogInfo]) -> Self {
        let ending = match options.form {
            _ if options.stats || !columns.has_text() => LineEnding::Dropped,
            Form::Text if columns.has_two_lines() => LineEnding::SecondLine,
            Form::Text => LineEnding::Text,
            form => LineEnding::Value(form),
        };
        let has_pages = options.page_size > 0 && !options.no_heading && !columns.is_bare();
        let is_line = |log: &LogInfo| !log.name.contains('\n');
        Self {
            grep: options.grep.as_ref().map(Grep::new),
            ending,
            counts_lines: has_pages && options.is_text(),
            has_one_line: ending == LineEnding::Text && logs.iter().all(is_line),
        }
    }

    /// True if lines need no change.
    pub fn is_nothing(&self) -> bool {
        self.grep.is_none() && self.ending == LineEnding::Text && !self.counts_lines
    }

    /// Form of the rows, if a line only becomes a row.
    #[inline(always)]
    pub fn only_rows(&self) -> Option<Form> {
        match self.ending {
            LineEnding::Value(form) if self.grep.is_none() && !self.counts_lines => Some(form),
            _ => None,
        }
    }

    /// True if the report has pages.
    pub fn counts_lines(&self) -> bool {
        self.counts_lines
    }

    /// True if the text of an event, which begins at `start`, margins included, has a match.
    #[inline(always)]
    pub fn admits(&self, layout: Layout, start: usize, out: &TextBuf) -> bool {
        match &self.grep {
            Some(wanted) => wanted.is_match(out.as_bytes().get(start..).unwrap_or_default(), layout),
            None => true,
        }
    }

    /// Ends the line of an event, which begins at `line` and whose text begins at `start`, margins included. `is_plain`
    /// is true if the text is one line that needs no escapes.
    #[inline(always)]
    pub fn line(&self, line: usize, start: usize, is_plain: bool, out: &mut TextBuf) {
        match self.ending {
            LineEnding::Text => {}
            LineEnding::SecondLine if out.len() == start + 1 && start > line => out.truncate(start),
            LineEnding::SecondLine => {}
            LineEnding::Dropped => out.truncate(start),
            LineEnding::Value(form) => form.end(start, is_plain, out),
        }
    }

    /// Number of lines of an event, whose text ends in a newline and is surely one line if it `is_plain`; 0 if the
    /// report has no pages.
    #[inline(always)]
    pub fn count_lines(&self, is_plain: bool, line: &[u8]) -> u64 {
        match self.counts_lines {
            false => 0,
            true if is_plain && self.has_one_line => 1,
            true => Self::count_newlines(line),
        }
    }

    #[inline(never)]
    fn count_newlines(text: &[u8]) -> u64 {
        match text.split_last() {
            Some((_, text)) if contains_any::<NEWLINES, { i8::MIN }>(text) => {
                1 + memchr_iter(b'\n', text).count() as u64
            }
            Some(_) => 1,
            None => 0,
        }
    }
}

const NEWLINES: u32 = u32::from_be_bytes(*b"\n\n\n\n");

/// Search in the texts of events, ignoring the blanks of their margins and the newline at their end.
pub(super) struct Grep {
    /// Clone of the pattern in the options, with its own scratch memory.
    wanted: Pattern,
}

impl Grep {
    pub fn new(wanted: &Pattern) -> Self {
        Self { wanted: wanted.clone() }
    }

    /// True if the text of an event has a match.
    #[inline(never)]
    pub fn is_match(&self, text: &[u8], layout: Layout) -> bool {
        let text = match text {
            [line @ .., b'\n'] => line,
            text => text,
        };
        // An empty line has no margin.
        let text = match text {
            [b' ', ..] => text.get(layout.first.into()..).unwrap_or(text),
            text => text,
        };
        self.wanted.is_match_in_line(text).unwrap_or_else(|| self.is_match_in_lines(text, layout.further.into()))
    }

    #[inline(never)]
    fn is_match_in_lines(&self, text: &[u8], margin: usize) -> bool {
        match margin {
            0 => self.wanted.is_match_by_regex(text),
            _ => self.wanted.is_match_by_regex(&without_margins(text, margin)),
        }
    }
}

/// Removes the margin from all lines but the first.
fn without_margins(text: &[u8], margin: usize) -> Vec<u8> {
    let lines: Vec<_> = text.split(|byte| *byte == b'\n').collect();
    let further = lines[1..].iter().map(|line| without_blanks(line, margin));
    std::iter::once(lines[0]).chain(further).collect::<Vec<_>>().join(&b'\n')
}

/// Removes the first `n` bytes of a line if they are blanks.
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
            assert!(Grep::new(&Pattern::new(wanted).unwrap()).is_match(text.as_bytes(), layout), "{text:?}");
        }
    }

    #[test]
    fn texts_match_as_without_their_margins() {
        let layout = Layout { first: 3, further: 5 };
        let texts = [
            "   a\n",
            "   7F3\n",
            "   x AB/C\n     7f3\n",
            "   ab\n     c  ab 7f3\n     \n",
            "\n",
            "   ab c\n",
            "   é\n",
        ];
        for wanted in
            ["a", "7f3", "ab/c", "a.c", "^ab", "c$", "b\nc", r"\s", "(?i)AB", "[^a]b", "é", " c", "^$", r"\b7", ""]
        {
            let pattern = Pattern::new(wanted).unwrap();
            for text in texts {
                let lines = without_margins(text.trim_end_matches('\n').as_bytes(), 5);
                let expected = pattern.is_match_by_regex(lines.strip_prefix(b"   ").unwrap_or(&lines));
                assert_eq!(Grep::new(&pattern).is_match(text.as_bytes(), layout), expected, "{wanted} in {text:?}");
            }
        }
    }
}
