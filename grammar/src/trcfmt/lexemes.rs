//! Words of a stanza one by one, even if it does not parse: for highlighting, hover texts and renaming in editors.

use logos::Logos;

use super::ast::HookId;
use super::lexer::Lexer;
use super::text::QuotedText;
use super::token::{QuoteToken, Token};
use super::word::{self, CodeWord};
use crate::{Source, Span};

/// Words with a meaning of their own at the beginning of a statement.
pub const KEYWORDS: [&str; 4] = ["LOOP", "BITFLAGS", "starttimer", "endtimer"];

/// Role of a word at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lexeme {
    /// Event id.
    HookId(HookId),
    /// Version and release.
    Version,
    /// `L=…` at the head.
    Level,
    /// One of [`KEYWORDS`].
    Keyword,
    /// `\n`, `\t` or `\*`.
    Escape,
    /// Code that prints.
    Code,
    /// Code that moves the data pointer.
    Move,
    /// Number or name that a selector, flag or mask is compared with.
    Value,
    /// Number in an expression or an argument.
    Number,
    /// A bare word.
    Word,
    /// Name directly before `(`.
    Function,
    /// Name between parentheses: a parameter.
    Name,
    /// `$name`, without its cast.
    Macro,
    /// Cast, including its `%`.
    Cast,
    /// String or part of a backquoted one, including quotes.
    Text,
    /// A comma, brace, parenthesis or operator.
    Mark,
    /// Invalid word.
    Bad,
}

/// Returns the words of the stanza at `line` with their spans, in order. Lexing continues after an invalid word.
///
/// ```
/// use tfbc_grammar::{Source, Span, trcfmt::{Lexeme, lexemes}};
/// let source = Source::new("a.trcfmt", "010 1.0 $x%U4, X4 `n=X4`");
/// let found = lexemes(&source, Span::new(0, 24));
/// let kinds: Vec<_> = found[2..].iter().map(|(lexeme, _)| *lexeme).collect();
/// assert_eq!(kinds, [Lexeme::Macro, Lexeme::Cast, Lexeme::Mark, Lexeme::Value, Lexeme::Text]);
/// ```
pub fn lexemes(source: &Source, line: Span) -> Vec<(Lexeme, Span)> {
    let mut words = WordCollector { source, found: Vec::new(), n_values: 0, n_open: 0 };
    // A match value and a code can be the same token. A comma before it, outside of parentheses, makes it a match
    // value.
    let mut before = Token::Stray;
    for (start, token, end) in Lexer::new(source.bytes(), line).map_while(Result::ok) {
        words.add(before, token, Span::new(start, end));
        before = token;
    }
    words.found
}

struct WordCollector<'s> {
    source: &'s Source,
    found: Vec<(Lexeme, Span)>,
    /// Number of following words that are values.
    n_values: usize,
    /// Number of open parentheses.
    n_open: usize,
}

impl WordCollector<'_> {
    fn add(&mut self, before: Token, token: Token, span: Span) {
        let is_value = self.n_values > 0;
        self.n_values = self.n_values.saturating_sub(1);
        let lexeme = match token {
            Token::HookId(id) => Lexeme::HookId(id),
            Token::Version(_) => Lexeme::Version,
            Token::Level(_) => Lexeme::Level,
            // `X4` after a comma is a value to compare with, not a code.
            Token::Word | Token::Number | Token::Code(_) | Token::Move(_) | Token::IllegalCode if is_value => {
                Lexeme::Value
            }
            Token::Loop | Token::Bitflags | Token::StartTimer | Token::EndTimer if is_value => Lexeme::Value,
            Token::Loop | Token::Bitflags | Token::StartTimer | Token::EndTimer => Lexeme::Keyword,
            Token::Word | Token::Number => Lexeme::Word,
            Token::Code(_) => Lexeme::Code,
            Token::Move(_) => Lexeme::Move,
            Token::FunctionName => Lexeme::Function,
            Token::Name => Lexeme::Name,
            Token::Constant(_) => Lexeme::Number,
            Token::Newline | Token::Tab | Token::Any => Lexeme::Escape,
            Token::Macro => return self.cut_macro(span),
            Token::Quoted => Lexeme::Text,
            Token::Backquoted => return self.cut_backquoted(span),
            Token::IllegalCode | Token::LargeConstant | Token::BadConstant | Token::BadHookId => Lexeme::Bad,
            Token::BadVersion | Token::BadLevel | Token::Unclosed | Token::Stray => Lexeme::Bad,
            _ => {
                self.mark(before, token);
                Lexeme::Mark
            }
        };
        self.found.push((lexeme, span));
    }

    /// Notes the effect of a mark on the following words: after a comma and a `&` they are values.
    fn mark(&mut self, before: Token, token: Token) {
        match token {
            Token::OpenParen => self.n_open += 1,
            Token::CloseParen => self.n_open = self.n_open.saturating_sub(1),
            Token::Comma if self.n_open == 0 => self.n_values = 1,
            // An entry of BITFLAGS has a mask and a field, a selector only a mask.
            Token::Ampersand if self.n_open == 0 => {
                self.n_values = if matches!(before, Token::Code(_) | Token::Macro) { 1 } else { 2 };
            }
            _ => {}
        }
    }

    fn cut_macro(&mut self, span: Span) {
        let text = self.source.slice(span);
        let name_end = text.iter().position(|byte| *byte == b'%').map_or(span.end, |at| span.start + at as u32);
        self.found.push((Lexeme::Macro, Span::new(span.start, name_end)));
        if name_end < span.end {
            self.found.push((Lexeme::Cast, Span::new(name_end, span.end)));
        }
    }

    fn cut_backquoted(&mut self, span: Span) {
        let inner = Span::new(span.start + 1, span.end - 1);
        let text = QuotedText::new(self.source.slice(inner), inner.start);
        let mut own = span.start;
        for (token, range) in QuoteToken::lexer(text.bytes()).spanned() {
            let lexeme = match token {
                Ok(QuoteToken::Word) => match word::code(&text.bytes()[range.clone()]) {
                    Some(CodeWord::Prints(_)) => Lexeme::Code,
                    Some(CodeWord::Moves(_)) => Lexeme::Move,
                    // An invalid code in back quotes is text.
                    Some(CodeWord::IllegalSize) | None => continue,
                },
                Ok(QuoteToken::Macro) => Lexeme::Macro,
                Ok(QuoteToken::Mark) | Err(()) => continue,
            };
            let place = text.span(range);
            if own < place.start {
                self.found.push((Lexeme::Text, Span::new(own, place.start)));
            }
            own = place.end;
            // A name that continues on the next line is one span.
            match lexeme {
                Lexeme::Macro => self.cut_macro(place),
                _ => self.found.push((lexeme, place)),
            }
        }
        self.found.push((Lexeme::Text, Span::new(own, span.end)));
    }
}
