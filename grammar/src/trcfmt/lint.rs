//! Findings about single words, casts and strings.

use super::actions::Actions;
use super::ast::{Cast, Code, Size};
use super::word::{self, CodeWord};
use crate::reports::excerpt;
use crate::{Span, codes};

const KEYWORDS: [&str; 4] = ["LOOP", "BITFLAGS", "starttimer", "endtimer"];

impl<'ast> Actions<'ast, '_> {
    /// Warns about a bare word that was probably meant as something else.
    pub(super) fn lint_word(&self, span: Span) {
        let bytes = self.reports.source.slice(span);
        if let Some(keyword) = KEYWORDS.iter().find(|keyword| bytes.eq_ignore_ascii_case(keyword.as_bytes())) {
            let message = format!("bare word `{}` differs from keyword `{keyword}` only in case", excerpt(bytes));
            let warning = self.reports.warning(&codes::KEYWORD_CASE, span, message);
            self.reports.add(warning.with_help(format!("write `{keyword}`, or put the word in quotes to print it")));
        } else if let Some(code) = similar_code(bytes) {
            let message = format!("bare word `{}` looks like a format code and is printed as text", excerpt(bytes));
            let warning = self.reports.warning(&codes::CODE_LIKE_WORD, span, message);
            self.reports.add(warning.with_help(format!("{code}; put the word in quotes if it is text")));
        }
    }

    /// Warns about `\n` between quotes, where it prints these two letters.
    pub(super) fn lint_escape(&self, inner: Span) {
        let text = self.reports.source.slice(inner);
        if let Some(at) = text.windows(2).position(|pair| pair == b"\\n") {
            let start = inner.start + at as u32;
            let message = "`\\n` inside quotes prints a backslash and an `n`";
            let warning = self.reports.warning(&codes::ESCAPE_IN_QUOTES, Span::new(start, start + 2), message);
            self.reports.add(warning.with_help("end the string before it: `\"text\" \\n \"more\"`"));
        }
    }

    /// What stands behind `%`.
    pub(super) fn cast(&self, text: &[u8], span: Span) -> Cast<'ast> {
        match (text, word::code(text)) {
            ([b'W', range @ ..], _) if !range.is_empty() && is_range(range) => self.bits(range, span),
            (_, Some(CodeWord::Prints(code))) if !matches!(code, Code::HookBytes | Code::HookType) => Cast::Code(code),
            ([letter, ..], Some(CodeWord::IllegalSize)) if !b"GOR".contains(letter) => self.illegal_cast(text, span),
            _ => self.unknown_cast(text, span),
        }
    }

    fn bits(&self, range: &[u8], span: Span) -> Cast<'ast> {
        let mut ends = range.split(|b| *b == b'.').map(word::number);
        match (ends.next().flatten(), ends.next().flatten(), ends.next()) {
            (Some(low), Some(high @ 0..64), None) if low <= high => Cast::Bits { low: low as u8, high: high as u8 },
            _ => {
                let message = format!("`%W{}` is no range of bits from 0 to 63", excerpt(range));
                let error = self.reports.error(&codes::CAST, span, message);
                self.reports.add(error.with_help("`%Wm.n` takes bits m to n, bit 0 the lowest, with m not above n"));
                Cast::Bits { low: 0, high: 63 }
            }
        }
    }

    fn illegal_cast(&self, text: &[u8], span: Span) -> Cast<'ast> {
        let message = format!("cast `%{}` has an illegal size", excerpt(text));
        let error = self.reports.error(&codes::CAST, span, message).with_label("illegal size");
        self.reports.add(error.with_help(word::legal_sizes(text[0])));
        Cast::Code(Code::Hex(Size::Bytes(2)))
    }

    fn unknown_cast(&self, text: &[u8], span: Span) -> Cast<'ast> {
        let message = format!("cast `%{}` is unknown: the value prints as without one", excerpt(text));
        let warning = self.reports.warning(&codes::UNKNOWN_CAST, span, message);
        self.reports
            .add(warning.with_help("a cast is a printing code such as `%U4`, or a range of bits such as `%W0.3`"));
        Cast::Unknown(self.arena.slice(text))
    }
}

/// Whether all that follows `%W` is digits and dots.
fn is_range(text: &[u8]) -> bool {
    text.iter().all(|b| b.is_ascii_digit() || *b == b'.')
}

/// Says what a word was probably meant to be, when it looks like a code.
fn similar_code(word: &[u8]) -> Option<String> {
    let (&first, rest) = word.split_first()?;
    if !first.is_ascii_alphabetic() || !(rest.len() == 1 || rest.first().is_some_and(u8::is_ascii_digit)) {
        return None;
    }
    let is_legal = |word: &[u8]| matches!(word::code(word), Some(CodeWord::Prints(_) | CodeWord::Moves(_)));
    let other_case = [word.to_ascii_uppercase(), word.to_ascii_lowercase()];
    if let Some(code) = other_case.iter().find(|code| is_legal(code)) {
        return Some(format!("the code is `{}`", excerpt(code)));
    }
    let len = code_len(word);
    if len < word.len() && is_legal(&word[..len]) {
        return Some(format!("a code ends at a blank or mark: `{} {}`", excerpt(&word[..len]), excerpt(&word[len..])));
    }
    matches!(word, [b'A' | b'B' | b'F', b'W']).then(|| format!("`{}` takes a number", char::from(first)))
}

/// The length of the letter, digits and perhaps dot and digits that a word begins with.
fn code_len(word: &[u8]) -> usize {
    let digits = |from: usize| from + word[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(1);
    let part = if word.get(whole) == Some(&b'.') { digits(whole + 1) } else { whole };
    if part > whole + 1 { part } else { whole }
}
