//! Logical lines: a physical line with all lines that are joined to it by a `\` at line end.
//!
//! Splitting does not depend on quotes: a `\` at line end always continues the line.

use smallvec::SmallVec;

use super::ast::HookId;
use super::lexer::Lexer;
use super::token::Token;
use crate::{Source, Span};

/// Kind of a logical line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Empty or only blanks.
    Blank,
    /// Begins with `#`, after blanks.
    Comment,
    /// Any other line; in an update file, the text after `+`.
    Stanza,
    /// Stanza to delete in an update file: the text after `-`.
    Deletion,
    /// Any other line of an update file.
    Unknown,
}

/// One logical line.
#[derive(Debug, Clone)]
pub struct LogicalLine {
    /// Offset of its first byte.
    pub start: u32,
    /// The line without its line end, continuations included. In an update file, without the `+` or `-`.
    pub span: Span,
    /// Offset of the next line.
    pub end: u32,
    /// Kind of the line.
    pub kind: LineKind,
    /// Each `\` that joins two physical lines, including blanks after it.
    pub joins: SmallVec<[Span; 8]>,
    /// A `\` at the end of the file, with no line to join; not part of `span`.
    pub dangling: Option<Span>,
}

/// Readable part of a stanza's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The event id.
    pub id: Option<HookId>,
    /// Version and release; compared as a pair.
    pub version: Option<(u32, u32)>,
}

/// The byte order mark of UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Parses the head of the stanza at `span`, even if the rest is invalid.
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

/// First line of an update file, after `*` and blanks.
const UPDATED_FILE: &[u8] = b"/etc/trcfmt";

/// True if the source is an update file of `trcupdate`: its first line is `* /etc/trcfmt`, optionally followed by a
/// comment.
///
/// ```
/// use tfbc_grammar::{Source, trcfmt::is_update};
/// assert!(is_update(&Source::new("a.trc", "* /etc/trcfmt\n- 010\n")));
/// assert!(!is_update(&Source::new("a.trcfmt", "# * /etc/trcfmt\n010 1.0\n")));
/// assert!(!is_update(&Source::new("a.trc", " * /etc/trcfmt\n- 010\n")));
/// ```
pub fn is_update(source: &Source) -> bool {
    begins_update(source.line(1))
}

/// True if `line` is the first line of an update file.
pub fn begins_update(line: &[u8]) -> bool {
    let name = line.strip_prefix(b"*").map(<[u8]>::trim_ascii_start).and_then(|rest| rest.strip_prefix(UPDATED_FILE));
    name.is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
}

/// Logical lines of a format file or an update file, in order.
pub fn logical_lines(source: &Source) -> impl Iterator<Item = LogicalLine> {
    let is_update = is_update(source);
    raw_lines(source).map(move |line| if is_update { entry(source.bytes(), line) } else { line })
}

/// Classifies a line of an update file: `+ stanza`, `- id` or a comment.
fn entry(bytes: &[u8], mut line: LogicalLine) -> LogicalLine {
    let text = &bytes[line.span.start as usize..line.span.end as usize];
    let n_blanks = |text: &[u8]| text.iter().take_while(|byte| is_blank(**byte)).count();
    let indent = n_blanks(text);
    line.kind = match text.get(indent) {
        _ if matches!(line.kind, LineKind::Blank | LineKind::Comment) => return line,
        Some(b'*') => LineKind::Comment,
        Some(b'+') => LineKind::Stanza,
        Some(b'-') => LineKind::Deletion,
        _ => LineKind::Unknown,
    };
    if matches!(line.kind, LineKind::Stanza | LineKind::Deletion) {
        line.span.start += (indent + 1 + n_blanks(&text[indent + 1..])) as u32;
    }
    line
}

/// Logical lines without the rules of update files, in order. They are contiguous and cover the source after its byte
/// order mark.
pub fn raw_lines(source: &Source) -> impl Iterator<Item = LogicalLine> {
    let bytes = source.bytes();
    let mut at = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
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
        // A `\` at the end of a line continues it even inside a string, so quotes do not matter here.
        let join = trailing_backslash(&bytes[line..end]).map(|n| span(line + n, end));
        match (join, newline) {
            (Some(join), Some(_)) => joins.push(join),
            (join, _) => {
                let end = join.map_or(end, |join| join.start as usize);
                let kind = kind(&bytes[start..end]);
                let (line, span) = (start as u32, span(start, end));
                return LogicalLine { start: line, span, end: *at as u32, kind, joins, dangling: join };
            }
        }
    }
}

/// Offset of the `\` that ends a physical line, ignoring blanks after it.
fn trailing_backslash(line: &[u8]) -> Option<usize> {
    let last = line.iter().rposition(|b| !is_blank(*b))?;
    (line[last] == b'\\').then_some(last)
}

fn kind(mut line: &[u8]) -> LineKind {
    while let Some((first, rest)) = line.split_first() {
        match first {
            b'#' => return LineKind::Comment,
            b' ' | b'\t' => line = rest,
            // A line may consist of blanks and a `\`. Then the next line decides.
            b'\\' => match join_len(line) {
                Some(len) => line = &line[len..],
                None => return LineKind::Stanza,
            },
            _ => return LineKind::Stanza,
        }
    }
    LineKind::Blank
}

/// Length of the continuation at the start of `text`: `\`, blanks, line end.
pub(crate) fn join_len(text: &[u8]) -> Option<usize> {
    let blanks = text.strip_prefix(b"\\")?;
    let rest = &blanks[blanks.iter().take_while(|b| is_blank(**b)).count()..];
    let rest = rest.strip_prefix(b"\r").unwrap_or(rest);
    Some(text.len() - rest.strip_prefix(b"\n")?.len())
}

/// True for a space or tab.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn span(start: usize, end: usize) -> Span {
    Span::new(start as u32, end as u32)
}

/// Physical line of a stanza.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PhysicalLine {
    pub start: u32,
    pub end: u32,
    /// Offset of the first byte that is not blank.
    pub first: u32,
    /// Offset after the last quote, brace, `$` or comma; 0 if there is none.
    pub last_mark: u32,
    /// True if a remark on it was reported.
    pub has_remark: bool,
}

impl PhysicalLine {
    /// Finds the physical line that contains a word of the stanza at `stanza`.
    pub fn around(bytes: &[u8], stanza: Span, word: Span) -> Self {
        let (from, at, to) = (stanza.start as usize, word.start as usize, stanza.end as usize);
        let start = bytes[from..at].iter().rposition(|byte| *byte == b'\n').map_or(from, |n| from + n + 1);
        let end = bytes[at..to].iter().position(|byte| *byte == b'\n').map_or(to, |n| at + n);
        let line = &bytes[start..end];
        let first = line.iter().position(|byte| !matches!(byte, b' ' | b'\t')).unwrap_or(0);
        let last_mark = line.iter().rposition(|byte| b"\"`{}$,".contains(byte)).map_or(0, |n| start + n + 1);
        PhysicalLine {
            start: start as u32,
            end: end as u32,
            first: (start + first) as u32,
            last_mark: last_mark as u32,
            has_remark: false,
        }
    }
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
                    LineKind::Deletion => "deletion",
                    LineKind::Unknown => "unknown",
                };
                format!("{kind}:{}..{}{}", line.span.start, line.span.end, "+".repeat(line.joins.len()))
            })
            .collect();
        assert_eq!(lines, expected, "{text:?}");
    }

    #[test]
    fn an_update_file_has_entries() {
        let text = "* /etc/trcfmt ours\n+ 010 1.0 \\\n X4\n\n+020 1.0\n - 030 \n# c\n* c\n040 1.0\n+";
        check(
            text,
            &[
                "comment:0..18",
                "stanza:21..34+",
                "blank:35..35",
                "stanza:37..44",
                "deletion:48..52",
                "comment:53..56",
                "comment:57..60",
                "unknown:61..68",
                "stanza:70..70",
            ],
        );
        check("* /etc/trcfmts\n+ 010\n", &["stanza:0..14", "stanza:15..20"]);
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
    fn backslash_at_the_end_of_file_joins_nothing() {
        check("a\\", &["stanza:0..1"]);
        check("a\\\n", &["stanza:0..3+"]);
    }

    #[test]
    fn comments_and_blank_lines_are_distinguished() {
        check(" \t\n  # x\nx # y\n", &["blank:0..2", "comment:3..8", "stanza:9..14"]);
        check(" \\\n# x\n", &["comment:0..6+"]);
        check("# x \\\n010 1.0\n", &["comment:0..13+"]);
    }
}
