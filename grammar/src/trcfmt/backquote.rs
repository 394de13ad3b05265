//! Backquoted strings: cut into their own text and what is expanded in them.

use bumpalo::collections::Vec;
use logos::Logos;

use super::actions::Actions;
use super::ast::{Backquoted, Part};
use super::text::Joined;
use super::token::QuoteToken;
use super::word::{self, CodeWord};
use crate::{Span, Spanned, codes};

impl<'ast> Actions<'ast, '_> {
    /// The backquoted string at `span`, quotes included.
    pub fn backquoted(&self, span: Span) -> Backquoted<'ast> {
        let inner = Span::new(span.start + 1, span.end - 1);
        self.lint_escape(inner);
        let text = Joined::new(self.reports.source.slice(inner), inner.start);
        Backquoted { parts: self.parts(&text), span }
    }

    fn parts(&self, text: &Joined) -> &'ast [Part<'ast>] {
        let mut parts = self.arena.list();
        let mut own = 0;
        for (token, range) in QuoteToken::lexer(text.bytes()).spanned() {
            let Some(part) = self.part(text, token, range.clone()) else { continue };
            self.push_text(&mut parts, text, own..range.start);
            parts.push(part);
            own = range.end;
        }
        self.push_text(&mut parts, text, own..text.bytes().len());
        parts.into_bump_slice()
    }

    /// What a token expands to; `None` when it is text.
    fn part(&self, text: &Joined, token: Result<QuoteToken, ()>, range: std::ops::Range<usize>) -> Option<Part<'ast>> {
        match token {
            Ok(QuoteToken::Word) => match word::code(&text.bytes()[range.clone()])? {
                CodeWord::Prints(code) => Some(Part::Code(Spanned::new(code, text.span(range)))),
                CodeWord::Moves(code) => Some(Part::Move(Spanned::new(code, text.span(range)))),
                CodeWord::IllegalSize => None,
            },
            Ok(QuoteToken::Macro) => {
                self.require_cast(text, range.end);
                Some(Part::Macro(self.macro_in(text, range)))
            }
            Ok(QuoteToken::Mark) | Err(()) => None,
        }
    }

    /// A `%` directly behind a macro always begins a cast.
    fn require_cast(&self, text: &Joined, at: usize) {
        if text.bytes().get(at) == Some(&b'%') {
            let error = self.reports.error(&codes::CAST, text.span(at..at + 1), "`%` behind a macro begins no cast");
            self.reports.add(error.with_help("put the `%` in a string of its own to print it"));
        }
    }

    fn push_text(&self, parts: &mut Vec<'ast, Part<'ast>>, text: &Joined, range: std::ops::Range<usize>) {
        if !range.is_empty() {
            let bytes = self.arena.slice(&text.bytes()[range.clone()]);
            parts.push(Part::Text(Spanned::new(bytes, text.span(range))));
        }
    }
}
