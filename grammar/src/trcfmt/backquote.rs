//! Backquoted strings: splits them into text, codes and macros.

use std::ops::Range;

use bumpalo::collections::Vec as List;
use logos::Logos;

use super::actions::Actions;
use super::ast::{Backquoted, BackquotedPart};
use super::text::QuotedText;
use super::token::QuoteToken;
use super::word::{self, CodeWord};
use crate::{Span, Spanned, codes};

impl<'ast> Actions<'ast, '_> {
    /// Parses the backquoted string at `span`, quotes included.
    pub fn backquoted(&self, span: Span) -> Backquoted<'ast> {
        let inner = Span::new(span.start + 1, span.end - 1);
        self.lint_escapes(inner, b"n");
        let text = QuotedText::new(self.reports.source.slice(inner), inner.start);
        Backquoted { parts: self.parts(&text), span }
    }

    fn parts(&self, text: &QuotedText) -> &'ast [BackquotedPart<'ast>] {
        let mut parts = self.arena.list();
        let mut own = 0;
        for (token, range) in QuoteToken::lexer(text.bytes()).spanned() {
            let found = if self.codes_anywhere && token == Ok(QuoteToken::Word) {
                let bytes = &text.bytes()[range.clone()];
                let place = |within: Range<usize>| range.start + within.start..range.start + within.end;
                codes_in(bytes)
                    .into_iter()
                    .filter_map(|within| Some((self.code(text, place(within.clone()))?, place(within))))
                    .collect()
            } else {
                Vec::from_iter(self.part(text, token, range.clone()).map(|part| (part, range)))
            };
            for (part, range) in found {
                self.push_text(&mut parts, text, own..range.start);
                parts.push(part);
                own = range.end;
            }
        }
        self.push_text(&mut parts, text, own..text.bytes().len());
        parts.into_bump_slice()
    }

    /// Expansion of a token; `None` if it is text.
    fn part(
        &self,
        text: &QuotedText,
        token: Result<QuoteToken, ()>,
        range: Range<usize>,
    ) -> Option<BackquotedPart<'ast>> {
        match token {
            Ok(QuoteToken::Word) => self.code(text, range),
            Ok(QuoteToken::Macro) => {
                self.require_cast(text, range.end);
                Some(BackquotedPart::Macro(self.macro_in(text, range)))
            }
            Ok(QuoteToken::Mark) | Err(()) => None,
        }
    }

    /// The format code at `range`; `None` if it is text.
    fn code(&self, text: &QuotedText, range: Range<usize>) -> Option<BackquotedPart<'ast>> {
        match word::code(&text.bytes()[range.clone()])? {
            CodeWord::Prints(code) => Some(BackquotedPart::Code(Spanned::new(code, text.span(range)))),
            CodeWord::Moves(code) => Some(BackquotedPart::Move(Spanned::new(code, text.span(range)))),
            CodeWord::IllegalSize => None,
        }
    }

    /// Reports a `%` after a macro that begins no valid cast: it is never text there.
    fn require_cast(&self, text: &QuotedText, at: usize) {
        if text.bytes().get(at) == Some(&b'%') {
            let error = self.reports.error(&codes::CAST, text.span(at..at + 1), "`%` does not begin a cast here");
            self.reports.add(error.with_help("put the `%` in a string of its own to print it"));
        }
    }

    fn push_text(&self, parts: &mut List<'ast, BackquotedPart<'ast>>, text: &QuotedText, range: Range<usize>) {
        if !range.is_empty() {
            let bytes = self.arena.slice(&text.bytes()[range.clone()]);
            parts.push(BackquotedPart::Text(Spanned::new(bytes, text.span(range))));
        }
    }
}

/// Ranges of the format codes in a word that are not adjacent to a letter, digit or `_`.
fn codes_in(word: &[u8]) -> Vec<Range<usize>> {
    // A code must not touch a letter, digit or `_`; then it is part of a word (`backquote` in docs/readings.md).
    let n_touching = |from: usize| {
        let is_touching = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        word[from..].iter().take_while(is_touching).count()
    };
    let mut found = Vec::new();
    let mut at = 0;
    while at < word.len() {
        let end = at + n_touching(at);
        if end == at {
            at += 1;
            continue;
        }
        // A bit-position code such as `B0.3` has a dot and more digits.
        let more = if word.get(end) == Some(&b'.') { n_touching(end + 1) } else { 0 };
        let is_longer = more > 0 && word::code(&word[at..end + 1 + more]).is_some();
        let end = if is_longer { end + 1 + more } else { end };
        found.extend(word::code(&word[at..end]).map(|_| at..end));
        at = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_anywhere_in_a_word() {
        let check = |word: &str, expected: &[&str]| {
            let found: Vec<&str> = codes_in(word.as_bytes()).into_iter().map(|range| &word[range]).collect();
            assert_eq!(found, expected, "{word}");
        };
        check("rc=X4", &["X4"]);
        check("X4", &["X4"]);
        check("X4;B0.3-UW.", &["X4", "B0.3", "UW"]);
        check("rcX4 X4b _X4 X4_ 9X4", &[]);
        check("A8.16/A8.x", &["A8.16", "A8"]);
    }
}
