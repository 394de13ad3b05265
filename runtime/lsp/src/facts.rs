//! Names in one stanza, found from its tokens, so that a stanza with syntax errors is covered too.
//!
//! Offsets are relative to the stanza's start, so that the facts stay valid when the stanza moves.

use tfbc_grammar::trcfmt::{Lexeme, lexemes};
use tfbc_grammar::{Source, Span};

/// One use of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameUse {
    /// Text without `$`.
    pub text: String,
    /// Span with `$`, if there is one.
    pub span: Span,
    pub role: NameRole,
    /// Index in [`Facts::functions`] of the function that contains it.
    pub within: Option<usize>,
}

/// Role of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRole {
    /// `$name` in an expression.
    Used,
    /// `{{ $name = …` or `{{ $name }}`.
    Assigned,
    /// `{{ name(`
    Defined,
    /// `name(`
    Called,
    /// Parameter in a function's head.
    Param,
}

/// Definition of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionDef {
    pub name: String,
    /// Span of the name.
    pub span: Span,
    /// Span from brace to brace.
    pub whole: Span,
    pub params: Vec<String>,
}

/// Names and brackets of a stanza.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StanzaFacts {
    /// Canonical id with its span.
    pub id: Option<(u16, Span)>,
    /// Label without quotes, with its span.
    pub label: Option<(String, Span)>,
    pub words: Vec<(Lexeme, Span)>,
    pub names: Vec<NameUse>,
    pub functions: Vec<FunctionDef>,
    /// Matching brackets, in pairs: the span of a closing `}` or `)`, then the span of the opening one.
    pub pairs: Vec<Span>,
}

impl StanzaFacts {
    /// Analyses a source that consists of one stanza.
    pub fn read(source: &Source) -> Self {
        let words = lexemes(source, Span::new(0, source.bytes().len() as u32));
        let mut reader =
            FactsReader { source, facts: StanzaFacts { words, ..StanzaFacts::default() }, open: Vec::new() };
        reader.head();
        reader.names();
        reader.facts
    }

    /// Token at an offset. If that is punctuation or white space, the token that ends there.
    pub fn word_at(&self, offset: u32) -> Option<(Lexeme, Span)> {
        let first = self.words.partition_point(|(_, span)| span.end < offset);
        let mut near = self.words[first..].iter().copied().take_while(|(_, span)| span.start <= offset);
        let ended = near.clone().find(|(lexeme, span)| span.end == offset && *lexeme != Lexeme::Mark);
        let around = near.find(|(_, span)| offset < span.end);
        around.filter(|(lexeme, _)| *lexeme != Lexeme::Mark).or(ended).or(around)
    }

    /// Name at an offset, or the name that ends there.
    pub fn name_at(&self, offset: u32) -> Option<&NameUse> {
        self.names.iter().find(|name| name.span.start <= offset && offset <= name.span.end)
    }

    /// Index of the function whose definition contains an offset.
    pub fn function_at(&self, offset: u32) -> Option<usize> {
        self.functions.iter().position(|function| function.whole.start <= offset && offset <= function.whole.end)
    }
}

struct FactsReader<'s> {
    source: &'s Source,
    facts: StanzaFacts,
    /// Open brackets, with the function that begins there, if any.
    open: Vec<(Span, Option<usize>)>,
}

impl FactsReader<'_> {
    fn text(&self, span: Span) -> String {
        String::from_utf8_lossy(self.source.slice(span)).into_owned()
    }

    fn head(&mut self) {
        let words = &self.facts.words;
        if let Some((Lexeme::HookId(id), span)) = words.first() {
            self.facts.id = Some((id.0, *span));
        }
        let n_head = 2 + usize::from(matches!(words.get(2), Some((Lexeme::Level, _))));
        if let Some((Lexeme::Text | Lexeme::Word, span)) = words.get(n_head) {
            let text = self.text(*span);
            self.facts.label = Some((text.trim_matches('"').to_owned(), *span));
        }
    }

    fn names(&mut self) {
        for at in 0..self.facts.words.len() {
            let (lexeme, span) = self.facts.words[at];
            match lexeme {
                Lexeme::Mark => self.mark(span),
                Lexeme::Macro => {
                    self.name(span, if self.is_assigned(at) { NameRole::Assigned } else { NameRole::Used })
                }
                Lexeme::Function if self.is_after_braces(at) => self.define(span),
                Lexeme::Function => self.name(span, NameRole::Called),
                Lexeme::Name | Lexeme::Code | Lexeme::Number | Lexeme::Move => self.param(span),
                _ => {}
            }
        }
    }

    fn is_mark(&self, at: usize, mark: &[u8]) -> bool {
        matches!(self.facts.words.get(at), Some((Lexeme::Mark, span)) if self.source.slice(*span) == mark)
    }

    /// True if the token follows `{{`.
    fn is_after_braces(&self, at: usize) -> bool {
        at >= 2 && self.is_mark(at - 1, b"{") && self.is_mark(at - 2, b"{")
    }

    fn is_assigned(&self, at: usize) -> bool {
        self.is_after_braces(at) && (self.is_mark(at + 1, b"=") || self.is_mark(at + 1, b"}"))
    }

    fn mark(&mut self, span: Span) {
        match self.source.slice(span) {
            b"{" | b"(" => self.open.push((span, None)),
            b"}" | b")" => {
                let Some((open, function)) = self.open.pop() else { return };
                self.facts.pairs.push(Span::new(open.start, span.end));
                if let Some(function) = function {
                    self.facts.functions[function].whole.end = span.end;
                }
            }
            _ => {}
        }
    }

    /// Innermost open function.
    fn within(&self) -> Option<usize> {
        self.open.iter().rev().find_map(|(_, function)| *function)
    }

    fn name(&mut self, span: Span, role: NameRole) {
        let text = self.text(span);
        let text = text.strip_prefix('$').unwrap_or(&text).to_owned();
        self.facts.names.push(NameUse { text, span, role, within: self.within() });
    }

    fn define(&mut self, span: Span) {
        let end = self.source.bytes().len() as u32;
        let n_open = self.open.len();
        // The definition ends with the outer of the two braces.
        let Some(outer) = n_open.checked_sub(2).and_then(|outer| self.open.get_mut(outer)) else { return };
        let start = outer.0.start;
        outer.1 = Some(self.facts.functions.len());
        let function = FunctionDef { name: self.text(span), span, whole: Span::new(start, end), params: Vec::new() };
        self.facts.functions.push(function);
        self.name(span, NameRole::Defined);
    }

    /// Adds a parameter from a function's head.
    fn param(&mut self, span: Span) {
        let is_head = self.open.last().is_some_and(|(open, _)| self.source.slice(*open) == b"(");
        let Some(function) = self.within().filter(|_| is_head) else { return };
        let head = self.facts.functions[function].span.end;
        if self.open.last().is_some_and(|(open, _)| open.start == head) {
            let text = self.text(span);
            self.facts.functions[function].params.push(text);
            self.name(span, NameRole::Param);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let facts = StanzaFacts::read(&Source::new("t", text));
        facts.names.iter().map(|name| format!("{} {:?} {:?}", name.text, name.role, name.within)).collect()
    }

    #[test]
    fn names_are_distinguished() {
        assert_eq!(
            names("010 1.0 \"A\" {{ f(a,X4) $a $b }} {{ $x = 1 }} f($D1,2) $x%U4 `n=$y` {{ $z }}"),
            [
                "f Defined Some(0)",
                "a Param Some(0)",
                "X4 Param Some(0)",
                "a Used Some(0)",
                "b Used Some(0)",
                "x Assigned None",
                "f Called None",
                "D1 Used None",
                "x Used None",
                "y Used None",
                "z Assigned None",
            ]
        );
    }

    #[test]
    fn a_stanza_that_does_not_parse_has_names() {
        assert_eq!(names("010 1.0 X17 , $x }"), ["x Used None"]);
        assert_eq!(names("010 1.0 {{ f(a"), ["f Defined Some(0)", "a Param Some(0)"]);
    }
}
