//! What one stanza names, by its words: it need not parse.
//!
//! Places count from the stanza's start, so that facts stay when a stanza moves.

use tfbc_grammar::trcfmt::{Lexeme, lexemes};
use tfbc_grammar::{Source, Span};

/// A name where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Without `$`.
    pub text: String,
    /// With `$` where there is one.
    pub span: Span,
    pub role: Role,
    /// The function in whose head or body it stands, by its index in [`Facts::functions`].
    pub within: Option<usize>,
}

/// What a name does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `$name` where it is read.
    Used,
    /// `{{ $name = …` or `{{ $name }}`.
    Assigned,
    /// `{{ name(`
    Defined,
    /// `name(`
    Called,
    /// A parameter in a function's head.
    Param,
}

/// A function's definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// The name.
    pub span: Span,
    /// From brace to brace.
    pub whole: Span,
    pub params: Vec<String>,
}

/// What stands in a stanza.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// The canonical id, with its place.
    pub id: Option<(u16, Span)>,
    /// The label without quotes, with its place.
    pub label: Option<(String, Span)>,
    pub words: Vec<(Lexeme, Span)>,
    pub names: Vec<Name>,
    pub functions: Vec<Function>,
    /// Every `{`, `}`, `(` or `)` that closes another, and that other.
    pub pairs: Vec<Span>,
}

impl Facts {
    /// Reads the stanza that is the whole of `source`.
    pub fn read(source: &Source) -> Self {
        let words = lexemes(source, Span::new(0, source.bytes().len() as u32));
        let mut reader = Reader { source, facts: Facts { words, ..Facts::default() }, open: Vec::new() };
        reader.head();
        reader.names();
        reader.facts
    }

    /// The word at an offset; where that is a mark or nothing, the one that ends there.
    pub fn word_at(&self, offset: u32) -> Option<(Lexeme, Span)> {
        let first = self.words.partition_point(|(_, span)| span.end < offset);
        let mut near = self.words[first..].iter().copied().take_while(|(_, span)| span.start <= offset);
        let ended = near.clone().find(|(lexeme, span)| span.end == offset && *lexeme != Lexeme::Mark);
        let around = near.find(|(_, span)| offset < span.end);
        around.filter(|(lexeme, _)| *lexeme != Lexeme::Mark).or(ended).or(around)
    }

    /// The name at an offset, or the one that ends there.
    pub fn name_at(&self, offset: u32) -> Option<&Name> {
        self.names.iter().find(|name| name.span.start <= offset && offset <= name.span.end)
    }

    /// The function whose definition holds an offset.
    pub fn function_at(&self, offset: u32) -> Option<usize> {
        self.functions.iter().position(|function| function.whole.start <= offset && offset <= function.whole.end)
    }
}

struct Reader<'s> {
    source: &'s Source,
    facts: Facts,
    /// Open braces and parentheses; with the function that begins there, if one does.
    open: Vec<(Span, Option<usize>)>,
}

impl Reader<'_> {
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
                Lexeme::Macro => self.name(span, if self.is_assigned(at) { Role::Assigned } else { Role::Used }),
                Lexeme::Function if self.is_behind_braces(at) => self.define(span),
                Lexeme::Function => self.name(span, Role::Called),
                Lexeme::Name | Lexeme::Code | Lexeme::Number | Lexeme::Move => self.param(span),
                _ => {}
            }
        }
    }

    fn is_mark(&self, at: usize, mark: &[u8]) -> bool {
        matches!(self.facts.words.get(at), Some((Lexeme::Mark, span)) if self.source.slice(*span) == mark)
    }

    /// Whether `{{` stands before a word.
    fn is_behind_braces(&self, at: usize) -> bool {
        at >= 2 && self.is_mark(at - 1, b"{") && self.is_mark(at - 2, b"{")
    }

    fn is_assigned(&self, at: usize) -> bool {
        self.is_behind_braces(at) && (self.is_mark(at + 1, b"=") || self.is_mark(at + 1, b"}"))
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

    /// The innermost function that is open.
    fn within(&self) -> Option<usize> {
        self.open.iter().rev().find_map(|(_, function)| *function)
    }

    fn name(&mut self, span: Span, role: Role) {
        let text = self.text(span);
        let text = text.strip_prefix('$').unwrap_or(&text).to_owned();
        self.facts.names.push(Name { text, span, role, within: self.within() });
    }

    fn define(&mut self, span: Span) {
        let end = self.source.bytes().len() as u32;
        let n_open = self.open.len();
        // Its definition ends with the outer of the two braces.
        let Some(outer) = n_open.checked_sub(2).and_then(|outer| self.open.get_mut(outer)) else { return };
        let start = outer.0.start;
        outer.1 = Some(self.facts.functions.len());
        let function = Function { name: self.text(span), span, whole: Span::new(start, end), params: Vec::new() };
        self.facts.functions.push(function);
        self.name(span, Role::Defined);
    }

    /// A word between the parentheses of a function's head.
    fn param(&mut self, span: Span) {
        let is_head = self.open.last().is_some_and(|(open, _)| self.source.slice(*open) == b"(");
        let Some(function) = self.within().filter(|_| is_head) else { return };
        let head = self.facts.functions[function].span.end;
        if self.open.last().is_some_and(|(open, _)| open.start == head) {
            let text = self.text(span);
            self.facts.functions[function].params.push(text);
            self.name(span, Role::Param);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let facts = Facts::read(&Source::new("t", text));
        facts.names.iter().map(|name| format!("{} {:?} {:?}", name.text, name.role, name.within)).collect()
    }

    #[test]
    fn names_are_told_apart() {
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
