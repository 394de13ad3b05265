//! The parser's complaint, rewritten for people.

use lalrpop_util::ParseError;

use super::lexer::{Fatal, Lexer};
use super::reports::{Reports, excerpt};
use super::token::Token;
use crate::{Diagnostic, Span, codes};

/// Turns the error that ended a stanza's parse into a diagnostic.
pub(crate) fn explain(
    reports: &Reports,
    line: Span,
    lexer: &Lexer,
    error: ParseError<u32, Token, Fatal>,
) -> Diagnostic {
    let _ = (line, lexer);
    match error {
        ParseError::UnrecognizedToken { token: (start, token, end), expected } => {
            let span = Span::new(start, end);
            reports.error(
                &codes::UNEXPECTED,
                span,
                format!("unexpected {} `{}`: {expected:?}", token.name(), excerpt(reports.source.slice(span))),
            )
        }
        other => reports.error(&codes::UNEXPECTED, Span::default(), format!("{other:?}")),
    }
}
