//! Logical lines: a physical line with every line that a `\` at line end joins to it.
//!
//! The cut needs no knowledge of quotes: a `\` at line end continues the line wherever it stands.

use smallvec::SmallVec;

use crate::{Source, Span};

/// What a logical line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// Nothing but blanks.
    Blank,
    /// Its first byte that is no blank is `#`.
    Comment,
    /// Anything else.
    Stanza,
}

/// One logical line.
#[derive(Debug, Clone)]
pub(crate) struct LogicalLine {
    /// All of it, continuations included, the line end excluded.
    pub span: Span,
    /// What it is.
    pub kind: LineKind,
    /// Each `\` that joins two physical lines, with the blanks behind it.
    pub joins: SmallVec<[Span; 8]>,
    /// A `\` at the end of the file, with nothing to join.
    pub dangling: Option<Span>,
}

/// The logical lines of a source, in order.
pub(crate) fn logical_lines(source: &Source) -> impl Iterator<Item = LogicalLine> {
    let bytes = source.bytes();
    let mut at = 0;
    std::iter::from_fn(move || (at < bytes.len()).then(|| take_line(bytes, &mut at)))
}

fn take_line(bytes: &[u8], at: &mut usize) -> LogicalLine {
    let start = *at;
    let mut joins = SmallVec::new();
    loop {
        let line = *at;
        let newline = bytes[line..].iter().position(|b| *b == b'\n').map(|n| line + n);
        *at = newline.map_or(bytes.len(), |n| n + 1);
        let end = newline.map_or(bytes.len(), |n| n - usize::from(bytes[line..n].ends_with(b"\r")));
        let join = trailing_backslash(&bytes[line..end]).map(|n| span(line + n, end));
        match (join, newline) {
            (Some(join), Some(_)) => joins.push(join),
            (join, _) => {
                let end = join.map_or(end, |join| join.start as usize);
                let kind = kind(&bytes[start..end]);
                return LogicalLine { span: span(start, end), kind, joins, dangling: join };
            }
        }
    }
}

/// Where the `\` stands that ends a physical line, blanks behind it not counted.
fn trailing_backslash(line: &[u8]) -> Option<usize> {
    let last = line.iter().rposition(|b| !is_blank(*b))?;
    (line[last] == b'\\').then_some(last)
}

fn kind(mut line: &[u8]) -> LineKind {
    while let Some((first, rest)) = line.split_first() {
        match first {
            b'#' => return LineKind::Comment,
            b' ' | b'\t' => line = rest,
            b'\\' => match join_len(line) {
                Some(len) => line = &line[len..],
                None => return LineKind::Stanza,
            },
            _ => return LineKind::Stanza,
        }
    }
    LineKind::Blank
}

/// The length of the join that `text` begins with: `\`, blanks, line end.
pub(crate) fn join_len(text: &[u8]) -> Option<usize> {
    let blanks = text.strip_prefix(b"\\")?;
    let rest = &blanks[blanks.iter().take_while(|b| is_blank(**b)).count()..];
    let rest = rest.strip_prefix(b"\r").unwrap_or(rest);
    Some(text.len() - rest.strip_prefix(b"\n")?.len())
}

/// Blanks are space and tab.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn span(start: usize, end: usize) -> Span {
    Span::new(start as u32, end as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each logical line as `kind:start..end`, joins as `+`.
    fn check(text: &str, expected: &[&str]) {
        let source = Source::new("t", text);
        let lines: Vec<String> = logical_lines(&source)
            .map(|line| {
                let kind = match line.kind {
                    LineKind::Blank => "blank",
                    LineKind::Comment => "comment",
                    LineKind::Stanza => "stanza",
                };
                format!("{kind}:{}..{}{}", line.span.start, line.span.end, "+".repeat(line.joins.len()))
            })
            .collect();
        assert_eq!(lines, expected, "{text:?}");
    }

    #[test]
    fn a_line_ends_at_its_line_end() {
        check("", &[]);
        check("a\n", &["stanza:0..1"]);
        check("a\nb", &["stanza:0..1", "stanza:2..3"]);
        check("a\r\nb\r\n", &["stanza:0..1", "stanza:3..4"]);
    }

    #[test]
    fn a_backslash_joins_lines() {
        check("a\\\nb\n", &["stanza:0..4+"]);
        check("a\\\r\nb\r\n", &["stanza:0..5+"]);
        check("a\\ \t\nb\n", &["stanza:0..6+"]);
        check("a\\\n\\\nb\n", &["stanza:0..6++"]);
    }

    #[test]
    fn a_join_is_seen_inside_quotes_too() {
        check("\"a\\\\\nb\"\n", &["stanza:0..7+"]);
    }

    #[test]
    fn a_backslash_at_the_end_of_the_file_joins_nothing() {
        check("a\\", &["stanza:0..1"]);
        check("a\\\n", &["stanza:0..3+"]);
    }

    #[test]
    fn comments_and_blank_lines_are_told_apart() {
        check(" \t\n  # x\nx # y\n", &["blank:0..2", "comment:3..8", "stanza:9..14"]);
        check(" \\\n# x\n", &["comment:0..6+"]);
        check("# x \\\n010 1.0\n", &["comment:0..13+"]);
    }
}
