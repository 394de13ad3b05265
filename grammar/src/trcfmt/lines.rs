//! Logical lines: a physical line with every line that a `\` at line end joins to it.
//!
//! The cut needs no knowledge of quotes: a `\` at line end continues the line wherever it stands.

use smallvec::SmallVec;

use super::ast::HookId;
use super::lexer::Lexer;
use super::token::Token;
use crate::{Source, Span};

/// What a logical line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Nothing but blanks.
    Blank,
    /// Its first byte that is no blank is `#`.
    Comment,
    /// Anything else.
    Stanza,
}

/// One logical line.
#[derive(Debug, Clone)]
pub struct LogicalLine {
    /// All of it, continuations included, the line end excluded.
    pub span: Span,
    /// Offset behind the line end, where the next line begins.
    pub end: u32,
    /// What it is.
    pub kind: LineKind,
    /// Each `\` that joins two physical lines, with the blanks behind it.
    pub joins: SmallVec<[Span; 8]>,
    /// A `\` at the end of the file, with nothing to join; not part of `span`.
    pub dangling: Option<Span>,
}

/// How a stanza begins, as far as it can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The event id.
    pub id: Option<HookId>,
    /// Version and release, compared as a pair.
    pub version: Option<(u32, u32)>,
}

/// Reads the head of the stanza that stands at `span`, whatever follows it.
///
/// ```
/// use tfbc_grammar::{Source, Span, trcfmt};
/// let source = Source::new("a.trc", "+ F5F1 2.10 X17\n");
/// let head = trcfmt::head(&source, Span::new(1, 15));
/// assert_eq!((head.id.unwrap().0, head.version), (0xF5F1, Some((2, 10))));
/// ```
pub fn head(source: &Source, span: Span) -> Head {
    let mut tokens = Lexer::new(source.bytes(), span);
    let mut next = || tokens.next().and_then(Result::ok).map(|(_, token, _)| token);
    let id = match next() {
        Some(Token::HookId(id)) => Some(id),
        _ => None,
    };
    let version = match next() {
        Some(Token::Version(version)) => Some(version),
        _ => None,
    };
    Head { id, version }
}

/// The logical lines of a source, in order. Each begins where the one before it ended, so that they are the whole source.
pub fn logical_lines(source: &Source) -> impl Iterator<Item = LogicalLine> {
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
                return LogicalLine { span: span(start, end), end: *at as u32, kind, joins, dangling: join };
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
