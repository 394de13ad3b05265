//! Listing of a file's tokens.

use std::fmt::Write;

use super::lexer::Lexer;
use super::lines::{LineKind, logical_lines};
use crate::excerpt::excerpt;
use crate::{Source, Span};

/// Lists the tokens of a file, one per line: line and column, name, text. Comments and blanks are left out.
///
/// Words are listed as the lexer reads them: a code after a comma is listed as a code, although the grammar uses it as
/// a value.
///
/// ```
/// let source = tfbc_grammar::Source::new("a.trcfmt", "010 1.0 X4\n");
/// assert_eq!(
///     tfbc_grammar::trcfmt::tokens(&source),
///     "1:1 event id `010`\n1:5 version `1.0`\n1:9 format code `X4`\n",
/// );
/// ```
pub fn tokens(source: &Source) -> String {
    let mut out = String::new();
    for line in logical_lines(source).filter(|line| line.kind == LineKind::Stanza) {
        for token in Lexer::new(source.bytes(), line.span) {
            let Ok((start, token, end)) = token else { break };
            let (line, column) = source.line_column(start);
            let text = excerpt(source.slice(Span::new(start, end)));
            let _ = writeln!(out, "{line}:{column} {} `{text}`", token.name());
        }
    }
    out
}
