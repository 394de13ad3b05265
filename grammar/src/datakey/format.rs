//! Formats of fields, `%spec label %spec label …`: lexer, and errors of the grammar.

use std::collections::HashMap;
use std::ops::Range;

use lalrpop_util::ParseError;
use logos::Logos;

use super::ast::{Field, Format, NumberStyle, Sign, Spec};
use super::codes;
use super::grammar::FieldsParser;
use super::number::is_blank;
use super::xml::{Attribute, AttributeValue, Tag};
use crate::excerpt::excerpt;
use crate::reports::Reports;
use crate::{Arena, CodeInfo, Diagnostic, Span, Spanned};

/// Tokens between specs.
#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq)]
enum TextToken {
    #[token("%")]
    Percent,
    #[regex("[^%]+")]
    Text,
}

/// Tokens of a spec, up to the blank that ends it.
#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq)]
enum SpecToken {
    #[regex("[0-9]+")]
    Digits,
    #[token("s", |_| Sign::Signed)]
    #[token("u", |_| Sign::Unsigned)]
    Sign(Sign),
    #[token("d", |_| NumberStyle::Decimal)]
    #[token("x", |_| NumberStyle::Hex)]
    #[token("o", |_| NumberStyle::Octal)]
    #[token("c", |_| NumberStyle::Char)]
    Show(NumberStyle),
    #[regex("[ \t\r\n]+")]
    Blank,
    #[token("%")]
    Percent,
}

/// Token of the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    Percent,
    Size(u8),
    /// Saturates at 64 bits: such a count is invalid anyway.
    Count(u64),
    Sign(Sign),
    Show(NumberStyle),
    /// White space after a spec.
    Blank,
    /// Text up to the next `%` or the end, trimmed.
    Label,
    /// Character that no spec contains.
    Stray,
}

impl Token {
    /// Name in listings.
    pub fn name(self) -> &'static str {
        match self {
            Token::Percent => "%",
            Token::Size(_) => "size",
            Token::Count(_) => "count",
            Token::Sign(_) => "sign",
            Token::Show(_) => "format",
            Token::Blank => "blank",
            Token::Label => "label",
            Token::Stray => "stray character",
        }
    }
}

enum LexerMode<'t> {
    Text(logos::Lexer<'t, TextToken>),
    /// The flag is true until a token of the spec has been read.
    Spec(logos::Lexer<'t, SpecToken>, bool),
}

/// Lexer of one format; yields tokens with their ranges in it.
pub(crate) struct Lexer<'t> {
    text: &'t str,
    mode: Option<LexerMode<'t>>,
    /// A count directly after a size: the digits `12` are size 1, count 2.
    count: Option<Range<usize>>,
}

impl<'t> Lexer<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, mode: Some(LexerMode::Text(TextToken::lexer(text))), count: None }
    }

    fn in_text(&mut self, mut tokens: logos::Lexer<'t, TextToken>) -> Option<(Token, Range<usize>)> {
        loop {
            let token = tokens.next()?;
            let span = tokens.span();
            if token == Ok(TextToken::Percent) {
                self.mode = Some(LexerMode::Spec(tokens.morph(), true));
                return Some((Token::Percent, span));
            }
            let place = trimmed(self.text, span);
            if !place.is_empty() {
                self.mode = Some(LexerMode::Text(tokens));
                return Some((Token::Label, place));
            }
        }
    }

    fn in_spec(&mut self, mut tokens: logos::Lexer<'t, SpecToken>, first: bool) -> Option<(Token, Range<usize>)> {
        let token = tokens.next()?;
        let mut span = tokens.span();
        let token = match token {
            Ok(SpecToken::Digits) if first && matches!(tokens.slice().as_bytes()[0], b'1' | b'2' | b'4' | b'8') => {
                let size = tokens.slice().as_bytes()[0] - b'0';
                self.count = Some(span.start + 1..span.end).filter(|count| !count.is_empty());
                span.end = span.start + 1;
                Token::Size(size)
            }
            Ok(SpecToken::Digits) => Token::Count(count(tokens.slice())),
            Ok(SpecToken::Sign(sign)) => Token::Sign(sign),
            Ok(SpecToken::Show(show)) => Token::Show(show),
            Ok(SpecToken::Blank) => {
                self.mode = Some(LexerMode::Text(tokens.morph()));
                return Some((Token::Blank, span));
            }
            Ok(SpecToken::Percent) => {
                self.mode = Some(LexerMode::Spec(tokens, true));
                return Some((Token::Percent, span));
            }
            Err(()) => Token::Stray,
        };
        self.mode = Some(LexerMode::Spec(tokens, false));
        Some((token, span))
    }
}

impl Iterator for Lexer<'_> {
    type Item = (Token, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(span) = self.count.take() {
            return Some((Token::Count(count(&self.text[span.clone()])), span));
        }
        match self.mode.take()? {
            LexerMode::Text(tokens) => self.in_text(tokens),
            LexerMode::Spec(tokens, first) => self.in_spec(tokens, first),
        }
    }
}

fn count(digits: &str) -> u64 {
    digits.parse().unwrap_or(u64::MAX)
}

/// Range without surrounding blanks.
fn trimmed(text: &str, place: Range<usize>) -> Range<usize> {
    let slice = &text[place.clone()];
    let start = place.end - slice.trim_start_matches(is_blank).len();
    start..start.max(place.start + slice.trim_end_matches(is_blank).len())
}

/// Trims the text and replaces each run of white space by one blank.
pub(crate) fn canonical(text: &str) -> String {
    let mut words = text.split(is_blank).filter(|word| !word.is_empty());
    let mut out = words.next().unwrap_or("").to_owned();
    words.for_each(|word| {
        out.push(' ');
        out.push_str(word);
    });
    out
}

/// A field as the grammar returns it; ranges are offsets in the format.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub spec: Spec,
    pub label: Range<usize>,
    /// Offset of the `%`.
    pub start: usize,
}

/// Parser of formats, reused for all datakeys of a file.
pub(crate) struct FormatParser<'ast, 's> {
    arena: &'ast Arena,
    reports: &'s Reports<'s>,
    grammar: FieldsParser,
}

impl<'ast, 's> FormatParser<'ast, 's> {
    pub fn new(arena: &'ast Arena, reports: &'s Reports<'s>) -> Self {
        Self { arena, reports, grammar: FieldsParser::new() }
    }

    /// Parses the format in an attribute of `tag`. Reports errors and returns `None` if there are any.
    pub fn read(&self, tag: &Tag, attribute: &Attribute) -> Option<Format<'ast>> {
        let value = &attribute.value;
        let tokens = Lexer::new(&value.text).map(|(token, place)| Ok((place.start, token, place.end)));
        let context = Context { reports: self.reports, tag, value, arrays: attribute.name == "sformat" };
        let parsed = match self.grammar.parse(tokens) {
            Ok(parsed) => parsed,
            Err(error) => {
                self.reports.add(context.explain(&error));
                return None;
            }
        };
        let fields: Vec<Field> = parsed.iter().map(|parsed| self.field(value, parsed)).collect();
        context.check(&fields).then(|| Format {
            span: value.span,
            text: self.arena.slice(value.text.as_bytes()),
            fields: self.arena.slice(&fields),
        })
    }

    fn field(&self, value: &AttributeValue, parsed: &Parsed) -> Field<'ast> {
        let Range { start, end } = parsed.label;
        let label = self.arena.slice(canonical(&value.text[start..end]).as_bytes());
        Field {
            span: value.place(parsed.start, end),
            spec: parsed.spec,
            label: Spanned::new(label, value.place(start, end)),
        }
    }
}

/// Context for the errors of one format.
struct Context<'c> {
    reports: &'c Reports<'c>,
    tag: &'c Tag<'c>,
    value: &'c AttributeValue<'c>,
    /// True if fields may be arrays.
    arrays: bool,
}

impl Context<'_> {
    fn error(&self, code: &'static CodeInfo, message: String, place: Span, label: &str) -> Diagnostic {
        let error = self.reports.error(code, self.tag.span, message);
        error.with_secondary(self.reports.id(), place, label)
    }

    /// Reports repeated labels and invalid counts, which the grammar accepts. Returns true if there are none.
    fn check(&self, fields: &[Field]) -> bool {
        let mut labels: HashMap<&[u8], Span> = HashMap::with_capacity(fields.len());
        let mut is_good = true;
        let mut report = |error: Diagnostic| {
            is_good = false;
            self.reports.add(error);
        };
        for field in fields {
            if let Some(error) = self.bad_count(field) {
                report(error);
            }
            if let Some(first) = labels.insert(field.label.node, field.label.span) {
                let message = format!("label `{}` appears twice in one format", excerpt(field.label.node));
                let error = self.error(&codes::LABEL, message, field.label.span, "again here");
                report(error.with_secondary(self.reports.id(), first, "first here"));
            }
        }
        is_good
    }

    fn bad_count(&self, field: &Field) -> Option<Diagnostic> {
        let label = excerpt(field.label.node);
        match field.spec {
            Spec { size: Some(1), count: Some(0), show: None, .. } => None,
            Spec { count: Some(0), .. } => {
                let message = format!("field `{label}` has a count of 0");
                let error = self.error(&codes::COUNT, message, field.span, "count of 0");
                Some(error.with_help("write `%1s0`, without a format, for a text up to its NUL"))
            }
            Spec { count: Some(2..), .. } if !self.arrays => {
                let message = format!("field `{label}` is an array in a `format`");
                let error = self.error(&codes::ARRAY, message, field.span, "array");
                Some(error.with_help("spell the attribute `sformat`, or give each element a field of its own"))
            }
            _ => None,
        }
    }

    /// Turns an error of the grammar into a diagnostic.
    fn explain(&self, error: &ParseError<usize, Token, ()>) -> Diagnostic {
        let text = &*self.value.text;
        let (token, place) = match error {
            ParseError::UnrecognizedToken { token: (start, token, end), .. }
            | ParseError::ExtraToken { token: (start, token, end) } => (Some(*token), *start..*end),
            _ => (None, text.len()..text.len()),
        };
        let Some(percent) = text[..place.start].rfind('%') else { return self.before_first(token, place) };
        let word_len = text[percent + 1..].find(|c| is_blank(c) || c == '%');
        let word = &text[percent..word_len.map_or(text.len(), |len| percent + 1 + len)];
        let whole = self.value.place(percent, place.end.max(percent + word.len()));
        let is_spec = !matches!(token, None | Some(Token::Percent | Token::Blank | Token::Label));
        if is_spec {
            return self.bad_spec(word, place.start - percent, whole);
        }
        if word == "%" {
            let error = self.error(&codes::FORMAT, "`%` without spec".into(), whole, "nothing after it");
            return error.with_help("write for example `%4u1x label`; a label cannot contain `%`");
        }
        let message = format!("field `{}` has no label", excerpt(word.as_bytes()));
        let error = self.error(&codes::LABEL, message, whole, "no label");
        error.with_help(format!("write for example `{word} label`"))
    }

    fn before_first(&self, token: Option<Token>, place: Range<usize>) -> Diagnostic {
        let (message, label) = match token {
            None => ("format is empty", "no field"),
            Some(_) => ("text before the first `%` of a format", "text"),
        };
        let error = self.error(&codes::FORMAT, message.into(), self.value.place(place.start, place.end), label);
        error.with_help("write for example `%4u1x label`")
    }

    /// Error for the spec `word`, which is valid only up to byte `len`.
    fn bad_spec(&self, word: &str, len: usize, whole: Span) -> Diagnostic {
        const HELP: &str = "write a size (1, 2, 4 or 8), a sign (s or u), a count and a format (d, x, o or c) in this order; any \
                            part may be left out";
        let (good, rest) = word.split_at(len);
        let digits = good.trim_start_matches('%');
        let is_size = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()) && rest.starts_with(['s', 'u']);
        if let Some(meant) = with_sign(good, rest) {
            let message = format!("format before the count in spec `{}`", excerpt(word.as_bytes()));
            let error = self.error(&codes::FORMAT, message, whole, "no sign");
            return error
                .with_help(format!("write `{meant}`: a spec is a size, a sign (s or u), a count and a format"));
        }
        let (good, rest) = (excerpt(good.as_bytes()), excerpt(rest.as_bytes()));
        if is_size {
            let message = format!("size must be 1, 2, 4 or 8 bytes, found {}", excerpt(digits.as_bytes()));
            return self.error(&codes::FORMAT, message, whole, "size").with_help(HELP);
        }
        if good.ends_with(['d', 'x', 'o', 'c']) {
            let message = format!("no blank between spec `{good}` and label `{rest}`");
            let error = self.error(&codes::FORMAT, message, whole, "no blank");
            return error.with_help(format!("write `{good} {rest}`"));
        }
        let message = match good.as_str() {
            "%" => format!("`{rest}` is not a spec"),
            _ => format!("`{rest}` cannot follow `{good}` in a spec"),
        };
        self.error(&codes::FORMAT, message, whole, "spec").with_help(HELP)
    }
}

/// Corrects a spec that has its format in the place of the sign: `%4x1d` to `%4s1d`. Here `good` is `%4x` and `rest` is
/// `1d`.
fn with_sign(good: &str, rest: &str) -> Option<String> {
    let size = good.trim_end_matches(['d', 'x', 'o', 'c']);
    let count = rest.trim_end_matches(['d', 'x', 'o', 'c']);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let formats = good.len() - size.len();
    if formats != 1 || rest.len() - count.len() > 1 || !is_number(count) || !is_number(size.strip_prefix('%')?) {
        return None;
    }
    let format = if count.len() < rest.len() { &rest[count.len()..] } else { &good[size.len()..] };
    let sign = if format == "d" { "s" } else { "u" };
    Some(format!("{size}{sign}{count}{format}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specs(text: &str) -> Vec<(Spec, &str)> {
        let tokens = Lexer::new(text).map(|(token, place)| Ok((place.start, token, place.end)));
        let parsed = FieldsParser::new().parse(tokens).unwrap();
        parsed.into_iter().map(|parsed| (parsed.spec, &text[parsed.label])).collect()
    }

    #[test]
    fn parts_are_read_from_the_left() {
        let (signed, unsigned) = (Some(Sign::Signed), Some(Sign::Unsigned));
        for (text, expected) in [
            ("%2u1x", (Some(2), unsigned, Some(1), Some(NumberStyle::Hex))),
            ("%x", (None, None, None, Some(NumberStyle::Hex))),
            ("%d", (None, None, None, Some(NumberStyle::Decimal))),
            ("%s", (None, signed, None, None)),
            ("%1s0", (Some(1), signed, Some(0), None)),
            ("%21x", (Some(2), None, Some(1), Some(NumberStyle::Hex))),
            ("%10", (Some(1), None, Some(0), None)),
            ("%8", (Some(8), None, None, None)),
            ("%3x", (None, None, Some(3), Some(NumberStyle::Hex))),
            ("%uc", (None, unsigned, None, Some(NumberStyle::Char))),
            ("%4u18446744073709551616", (Some(4), unsigned, Some(u64::MAX), None)),
        ] {
            let (size, sign, count, show) = expected;
            assert_eq!(specs(&format!("{text} a")), [(Spec { size, sign, count, show }, "a")], "{text}");
        }
    }

    #[test]
    fn labels_reach_to_the_next_percent() {
        let labels = |text| specs(text).into_iter().map(|(_, label)| label).collect::<Vec<_>>();
        assert_eq!(labels(" %x  a \t b%d\nlen= %o étage "), ["a \t b", "len=", "étage"]);
    }

    #[test]
    fn format_letter_in_place_of_the_sign_is_found() {
        for (good, rest, meant) in [
            ("%4x", "1d", Some("%4s1d")),
            ("%4d", "1x", Some("%4u1x")),
            ("%4d", "1", Some("%4s1d")),
            ("%1c", "8", Some("%1u8c")),
            ("%4x", "frame", None),
            ("%4u1x", "2", None),
            ("%x", "1d", None),
            ("%4ux", "d", None),
        ] {
            assert_eq!(with_sign(good, rest).as_deref(), meant, "{good} {rest}");
        }
    }

    #[test]
    fn white_space_is_one_blank() {
        assert_eq!([" a \t\r\nb ", "", " ", "a"].map(canonical), ["a b", "", "", "a"]);
    }
}
