//! Lints on single words, casts and strings.

use super::actions::Actions;
use super::ast::{Cast, Code, Size};
use super::lexemes::KEYWORDS;
use super::lines::PhysicalLine;
use super::word::{self, CodeWord};
use crate::excerpt::excerpt;
use crate::{Diagnostic, Edit, Fix, Span, codes};

/// AIX's message about an undefined format code.
const UNDEFINED_CODE_TEXT: &str = "0454-031 undefined format code (treated as string)";

impl<'ast> Actions<'ast, '_> {
    /// Warns about a bare word that was probably meant as something else. `soft` is true if a soft blank follows it.
    pub(super) fn lint_word(&self, span: Span, soft: bool) {
        let bytes = self.reports.source.slice(span);
        if word::code(bytes) == Some(CodeWord::IllegalSize) {
            let message = format!("`{}`: {UNDEFINED_CODE_TEXT}", excerpt(bytes));
            let warning = self.reports.warning(&codes::UNDEFINED_CODE, span, message);
            self.reports.add(warning.with_help("put the word in quotes if it is text"));
        } else if is_level(bytes) {
            let shown = excerpt(bytes);
            let message = format!("`{shown}` is not directly after the version: it is printed and sets no level");
            let warning = self.reports.warning(&codes::MISPLACED_LEVEL, span, message);
            let level = format!("L={}", shown[2..].to_ascii_uppercase());
            self.reports.add(warning.with_help(format!("write `{level}` directly after the version")));
        } else if is_remark(bytes) && self.is_last_text(span) {
            let message =
                format!("`{}` does not begin a comment after an item: the rest of the line is printed", excerpt(bytes));
            let warning = self.reports.warning(&codes::REMARK, span, message);
            self.reports.add(warning.with_help("put a comment on a line of its own, after `#`; put text in quotes"));
        } else if let Some(keyword) = KEYWORDS.iter().find(|keyword| bytes.eq_ignore_ascii_case(keyword.as_bytes())) {
            let message = format!("bare word `{}` differs from keyword `{keyword}` only in case", excerpt(bytes));
            let warning = self.reports.warning(&codes::KEYWORD_CASE, span, message);
            let warning = warning.with_help(format!("write `{keyword}`, or put the word in quotes to print it"));
            let fix = Fix::guess(format!("write `{keyword}`"), [Edit::replace(span, *keyword)]);
            self.reports.add(warning.with_fix(fix));
        } else if let Some(similar) = IntendedWord::to(bytes) {
            let message = format!("bare word `{}` looks like a format code and is printed as text", excerpt(bytes));
            let warning = self.reports.warning(&codes::CODE_LIKE_WORD, span, message);
            let warning = warning.with_help(format!("{}; put the word in quotes if it is text", similar.help(bytes)));
            // Quotes would remove the soft blank after the word. So they are only offered if there is none.
            let fix = if soft { similar.fix(bytes, span) } else { Some(quote(span)) };
            self.reports.add(match fix {
                Some(fix) => warning.with_fix(fix),
                None => warning,
            });
        }
    }

    /// Warns about escapes such as `\n` inside quotes, which are printed literally.
    pub(super) fn lint_escapes(&self, inner: Span, letters: &[u8]) {
        let text = self.reports.source.slice(inner);
        let is_escape = |pair: &[u8]| pair[0] == b'\\' && letters.contains(&pair[1]);
        let escapes =
            || text.windows(2).enumerate().filter(|(_, pair)| is_escape(pair)).map(|(at, pair)| (at, pair[1]));
        // All escapes of the string in one fix: edits that end the same string more than once would overlap.
        let edits = || {
            escapes().map(|(at, letter)| {
                let escape = format!("\\{}", char::from(letter));
                let place = Span::new(inner.start + at as u32, inner.start + at as u32 + 2);
                match (at == 0, place.end == inner.end) {
                    (_, true) => Edit::replace(Span::new(place.start, place.end + 1), format!("\" {escape}")),
                    (true, _) => Edit::replace(Span::new(place.start - 1, place.end), format!("{escape} \"")),
                    _ => Edit::replace(place, format!("\" {escape} \"")),
                }
            })
        };
        for (n, (at, letter)) in escapes().enumerate() {
            let (start, letter) = (inner.start + at as u32, char::from(letter));
            let message = format!("`\\{letter}` inside quotes prints a backslash and a letter");
            let warning = self.reports.warning(&codes::ESCAPE_IN_QUOTES, Span::new(start, start + 2), message);
            let warning = warning.with_help(format!("end the string before it: `\"text\" \\{letter} \"more\"`"));
            // The first warning's fix repairs the whole string.
            let title = "end the string before each of them";
            self.reports.add(if n == 0 { warning.with_fix(Fix::guess(title, edits())) } else { warning });
        }
    }

    /// True if the word is not the first on its line, and no string, brace, macro or comma follows on that line.
    fn is_last_text(&self, word: Span) -> bool {
        let line = match self.searched.get() {
            // A line of a thousand words would be searched a thousand times.
            known if (known.start..known.end).contains(&word.start) => known,
            _ => PhysicalLine::around(self.reports.source.bytes(), self.line, word),
        };
        let is_remark = !line.has_remark && line.first < word.start && line.last_mark < word.end;
        self.searched.set(PhysicalLine { has_remark: line.has_remark || is_remark, ..line });
        is_remark
    }

    /// Parses a cast; `text` follows the `%`.
    pub(super) fn cast(&self, text: &[u8], span: Span) -> Cast<'ast> {
        match (text, word::code(text)) {
            // `%W4.7` is a range of bits, `%W` alone an unknown cast (docs/readings.md).
            ([b'W', range @ ..], _) if !range.is_empty() && is_range(range) => self.bits(range, span),
            (_, Some(CodeWord::Prints(code))) if is_cast(code) => Cast::Code(code),
            ([letter, ..], Some(CodeWord::IllegalSize)) if !b"GOR".contains(letter) => self.illegal_cast(text, span),
            _ => self.unknown_cast(text, span),
        }
    }

    fn bits(&self, range: &[u8], span: Span) -> Cast<'ast> {
        let mut ends = range.split(|b| *b == b'.').map(word::number);
        match (ends.next().flatten(), ends.next().flatten(), ends.next()) {
            (Some(low), Some(high @ 0..64), None) if low <= high => Cast::Bits { low: low as u8, high: high as u8 },
            _ => {
                let message = format!("`%W{}` is not a range of bits from 0 to 63", excerpt(range));
                let error = self.reports.error(&codes::CAST, span, message);
                self.reports
                    .add(error.with_help("write `%Wm.n` for bits m to n, with m at most n; bit 0 is the lowest"));
                Cast::Bits { low: 0, high: 63 }
            }
        }
    }

    fn illegal_cast(&self, text: &[u8], span: Span) -> Cast<'ast> {
        let message = format!("cast `%{}` has an invalid size", excerpt(text));
        let error = self.reports.error(&codes::CAST, span, message).with_label("invalid size");
        self.reports.add(error.with_help(word::legal_sizes(text[0])));
        Cast::Code(Code::Hex(Size::Bytes(2)))
    }

    fn unknown_cast(&self, text: &[u8], span: Span) -> Cast<'ast> {
        let message = format!("cast `%{}` is unknown: the value prints as without one", excerpt(text));
        let warning = self.reports.warning(&codes::UNKNOWN_CAST, span, message);
        let warning = warning.with_help("use a printing code such as `%U4`, or a range of bits such as `%W0.3`");
        let other_case = [text.to_ascii_uppercase(), text.to_ascii_lowercase()];
        let is_cast = |text: &[u8]| matches!(word::code(text), Some(CodeWord::Prints(code)) if is_cast(code));
        let fix = other_case.iter().find(|text| is_cast(text)).map(|known| {
            let known = String::from_utf8_lossy(known);
            Fix::guess(format!("write `%{known}`"), [Edit::replace(span, known)])
        });
        self.reports.add(Diagnostic { fix, ..warning });
        Cast::Unknown(self.arena.slice(text))
    }
}

/// True if the word is `L=` with a level, in upper or lower case.
fn is_level(word: &[u8]) -> bool {
    let Some((start, level)) = word.split_at_checked(2) else { return false };
    let levels = [&b"APPL"[..], b"SVC", b"KERN", b"INT", b"0"];
    start.eq_ignore_ascii_case(b"L=") && levels.iter().any(|known| known.eq_ignore_ascii_case(level))
}

/// True if the word begins a comment in other languages.
fn is_remark(word: &[u8]) -> bool {
    match word {
        b"#" => true,
        [b'#', letter, ..] => letter.is_ascii_alphabetic(),
        _ => [b"//".as_slice(), b"/*", b";"].iter().any(|start| word.starts_with(start)),
    }
}

/// True if a printing code is valid as a cast.
fn is_cast(code: Code) -> bool {
    !matches!(code, Code::HookBytes | Code::HookType)
}

/// True if the text after `%W` consists of digits and dots.
fn is_range(text: &[u8]) -> bool {
    text.iter().all(|b| b.is_ascii_digit() || *b == b'.')
}

/// Puts a word in quotes. Safe only if no soft blank follows it, because quotes remove that.
fn quote(word: Span) -> Fix {
    Fix::safe("put the word in quotes", [Edit::insert(word.start, "\""), Edit::insert(word.end, "\"")])
}

/// Code or text that the author of a similar-looking word probably meant.
enum IntendedWord {
    /// Code whose letter has the wrong case.
    OtherCase(Vec<u8>),
    /// Code of this many bytes, with other text directly after it.
    Prefix(usize),
    /// Code that does not accept the size `W`.
    NoWord,
}

impl IntendedWord {
    fn to(word: &[u8]) -> Option<Self> {
        let (&first, rest) = word.split_first()?;
        if !first.is_ascii_alphabetic() || !(rest.len() == 1 || rest.first().is_some_and(u8::is_ascii_digit)) {
            return None;
        }
        let is_legal = |word: &[u8]| matches!(word::code(word), Some(CodeWord::Prints(_) | CodeWord::Moves(_)));
        let other_case = [word.to_ascii_uppercase(), word.to_ascii_lowercase()];
        if let Some(code) = other_case.into_iter().find(|code| is_legal(code)) {
            return Some(IntendedWord::OtherCase(code));
        }
        let len = code_len(word);
        if len < word.len() && is_legal(&word[..len]) {
            return Some(IntendedWord::Prefix(len));
        }
        matches!(word, [b'A' | b'B' | b'F', b'W']).then_some(IntendedWord::NoWord)
    }

    fn help(&self, word: &[u8]) -> String {
        match self {
            IntendedWord::OtherCase(code) => format!("write `{}` for the code", excerpt(code)),
            IntendedWord::Prefix(len) => {
                format!(
                    "write `{} {}`: a code ends at a blank or punctuation mark",
                    excerpt(&word[..*len]),
                    excerpt(&word[*len..])
                )
            }
            IntendedWord::NoWord => format!("give `{}` a number", char::from(word[0])),
        }
    }

    /// Replaces the word at `span` by the code.
    fn fix(&self, word: &[u8], span: Span) -> Option<Fix> {
        match self {
            IntendedWord::OtherCase(code) => {
                let code = String::from_utf8_lossy(code);
                Some(Fix::guess(format!("write `{code}`"), [Edit::replace(span, code)]))
            }
            IntendedWord::Prefix(len) => {
                let title = format!("put a blank after `{}`", excerpt(&word[..*len]));
                Some(Fix::guess(title, [Edit::insert(span.start + *len as u32, " ")]))
            }
            IntendedWord::NoWord => None,
        }
    }
}

/// Length of the leading letter and digits of a word, with a dot and more digits if present.
fn code_len(word: &[u8]) -> usize {
    let digits = |from: usize| from + word[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(1);
    let part = if word.get(whole) == Some(&b'.') { digits(whole + 1) } else { whole };
    if part > whole + 1 { part } else { whole }
}
