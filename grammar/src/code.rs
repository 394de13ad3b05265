use crate::datakey::codes as datakey;
use std::fmt;

/// Severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The file compiles but probably does something else than its author meant. `--strict` turns warnings into errors.
    Warning,
    /// The stanza or datakey cannot be compiled.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        })
    }
}

/// Stable code of a diagnostic, with title and long text.
///
/// Numbers are never reused. `S` is for trcfmt syntax, `X` for event definitions, `C` for meaning, `B` for blobs, `K`
/// for case files.
#[derive(Debug, PartialEq, Eq)]
pub struct CodeInfo {
    /// The code, such as `S07`.
    pub code: &'static str,
    /// Severity of diagnostics with this code.
    pub severity: Severity,
    /// Short title in lower case.
    pub title: &'static str,
    /// Text of `tfbc explain`, with an example that triggers the code.
    pub explain: &'static str,
}

/// Declares a table of codes. Each row has a doc comment (the long text), name, code, `error` or `warning`, and title.
///
/// ```
/// use tfbc_grammar::{Severity, codes};
/// assert_eq!(codes::UNEXPECTED.severity, Severity::Error);
/// assert_eq!(codes::CODE_LIKE_WORD.severity, Severity::Warning);
/// ```
#[macro_export]
macro_rules! declare_codes {
    ($($(#[doc = $doc:literal])* $name:ident = $code:literal, $severity:ident, $title:literal;)*) => {
        $(#[doc = $title] pub static $name: $crate::CodeInfo = $crate::CodeInfo {
            code: $code, severity: $crate::declare_codes!(@$severity), title: $title, explain: concat!($($doc, "\n"),*),
        };)*
        /// Every code of this table, in order.
        pub static ALL: &[&$crate::CodeInfo] = &[$(&$name),*];
    };
    (@error) => {
        $crate::Severity::Error
    };
    (@warning) => {
        $crate::Severity::Warning
    };
}

/// All codes of this package, in order.
pub static CODES: &[&CodeInfo] = &{
    let mut all = [rows::ALL[0]; rows::ALL.len() + datakey::ALL.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < rows::ALL.len() { rows::ALL[at] } else { datakey::ALL[at - rows::ALL.len()] };
        at += 1;
    }
    all
};

/// Codes of trcfmt diagnostics, one constant each.
pub mod rows {
    declare_codes! {
        /// The source file is larger than 64 MiB, or than the limit given by `--max-source`. It is not read at all.
        ///
        /// Split it: `-t` accepts several files.
        SOURCE_TOO_LARGE = "S01", error, "source too large";
        /// The stanza is valid up to the marked place, but this token cannot follow.
        ///
        /// The message says what may follow. The mistake is often just before this place: a missing operand, comma or
        /// quote.
        ///
        /// ```text
        /// 010 1.0 "EVENT" {{ $x = 1 + }}
        /// ```
        UNEXPECTED = "S02", error, "unexpected token";
        /// A stanza begins with an event id: 3 or 4 hexadecimal digits. `hhh` is the same hook as `hhh0`, and a 4-digit
        /// id below 1000 must end in 0.
        ///
        /// Often the line continues a stanza, and the `\` at the end of the line before it is missing.
        ///
        /// ```text
        /// 010 1.0 "EVENT"
        ///   "value " X4
        /// ```
        HOOK_ID = "S03", error, "bad event id";
        /// Version and release follow the event id: two decimal numbers separated by a dot.
        ///
        /// ```text
        /// 010 "EVENT" X4
        /// ```
        VERSION = "S04", error, "bad version";
        /// `L=` after the version sets the text column: `APPL`, `SVC`, `KERN` or `INT`, or `0` for an event without
        /// columns.
        ///
        /// ```text
        /// 010 1.0 L=USER "EVENT" X4
        /// ```
        LEVEL = "S05", error, "unknown level";
        /// A string or backquoted string has no closing quote before its stanza ends. A string continues on the next
        /// line only if its line ends in `\`.
        ///
        /// ```text
        /// 010 1.0 "EVENT
        /// ```
        UNCLOSED = "S06", error, "string without end";
        /// A word looks like a format code, but its number is not valid for this code, such as `X17` or `D3`. It is not
        /// printed as text, because it is nearly always a mistake.
        ///
        /// Put the word in quotes to print it.
        ///
        /// ```text
        /// 010 1.0 "EVENT" D3
        /// ```
        CODE_SIZE = "S07", error, "invalid size of a format code";
        /// The text after the `%` of a macro is not a valid cast: a printing code with an invalid size, an invalid
        /// range of bits, or nothing. A macro that is assigned or declared cannot have a cast either.
        ///
        /// ```text
        /// 010 1.0 "EVENT" $D1%W24.70
        /// ```
        CAST = "S08", error, "bad cast";
        /// No token begins with this byte: a `$` without a name, a word that begins with `%`, a `\` that is no escape,
        /// or a character that expressions do not have.
        ///
        /// ```text
        /// 010 1.0 "EVENT" costs $ X4
        /// ```
        STRAY_BYTE = "S09", error, "unexpected byte";
        /// A brace or parenthesis has no partner or is not allowed here. Outside quotes they are never text: `{{ … }}`
        /// contains an assignment or a function, `{ … }` the body of a case or LOOP, `( … )` arguments.
        ///
        /// ```text
        /// 010 1.0 "EVENT" LOOP X2 { X0
        /// ```
        BRACKET = "S10", error, "unmatched brace or parenthesis";
        /// Outside expressions and BITFLAGS, `&` begins the mask of a switch: after a code or macro, before a number
        /// and a comma.
        ///
        /// ```text
        /// 010 1.0 "EVENT" HT & 0x07 X4
        /// ```
        STRAY_AMPERSAND = "S11", error, "`&` without mask";
        /// The comma follows something that cannot select. A comma after a code or macro makes it a switch, and commas
        /// separate the entries of a switch or BITFLAGS. Often the text of a case has several words and needs quotes.
        ///
        /// ```text
        /// 010 1.0 "EVENT" U4, 0 not found, 1 found
        /// ```
        STRAY_COMMA = "S12", error, "comma without switch";
        /// The body of a case is a string, a backquoted string, one bare word, or items in braces. Codes, macros,
        /// keywords and calls need braces.
        ///
        /// ```text
        /// 010 1.0 "EVENT" U4, 0 "none", \* X4
        /// ```
        CASE_BODY = "S13", error, "bad case body";
        /// A constant in an expression is decimal, hexadecimal after `0x`, or octal after `o`, and fits in 64 bits.
        ///
        /// ```text
        /// 010 1.0 "EVENT" {{ $x = 0x1FFFFFFFFFFFFFFFF }}
        /// ```
        CONSTANT = "S14", error, "bad constant";
        /// `G`, `O`, `R` and `W` with a number move the data pointer. They have no value, so an expression or a switch
        /// cannot use them.
        ///
        /// ```text
        /// 010 1.0 "EVENT" {{ $x = G4 + 1 }}
        /// ```
        POSITION_VALUE = "S15", error, "position code as value";
        /// Arguments of a function are format codes, macros with or without a cast, or numbers. Only timers accept
        /// expressions.
        ///
        /// ```text
        /// 010 1.0 "EVENT" {{ f(a) $a }} f($D1 + 1)
        /// ```
        ARGUMENT = "S16", error, "expression as argument";
        /// The name of a parameter consists of letters, digits and `_`.
        ///
        /// ```text
        /// 010 1.0 "EVENT" {{ f(a.b) X4 }}
        /// ```
        PARAMETER = "S17", error, "bad parameter";
        /// A function cannot be defined inside another. Functions are visible in every stanza, before and after their
        /// definition, so it can be moved anywhere else.
        ///
        /// ```text
        /// 010 1.0 "EVENT" {{ f(a) {{ g(b) $b }} g($a) }}
        /// ```
        NESTED_FUNCTION = "S18", error, "function inside a function";
        /// Braces and parentheses of one stanza are nested deeper than 64, or than the limit given by `--max-nesting`,
        /// which is at most 200.
        NESTING = "S19", error, "nesting too deep";
        /// An expression has more than 1000 operators.
        OPERATORS = "S20", error, "expression too long";
        /// A comment that begins with `# tfbc:` sets an option for its file, as `# tfbc: NAME=VALUE`, or allows
        /// warnings, as `# tfbc: allow=CODE` or `# tfbc: allow=CODE,CODE`.
        ///
        /// ```text
        /// # tfbc: level
        /// 010 1.0 "EVENT"
        /// ```
        SETTING = "S21", error, "bad setting";
        /// The file has 10,000 errors or warnings, and further ones are left out. A trcfmt file is not read any further
        /// after 10,000 errors. It is probably not a trace format file.
        LEFT_OUT = "S22", error, "too many findings";
        /// The format files contain more than 65,536 templates, or than the limit given by `--max-templates`. Stanzas,
        /// datakeys and events of eventclasses count.
        TOO_MANY_TEMPLATES = "S23", error, "too many templates";
        /// Blanks follow the `\` at the end of a line. tfbc continues the line anyway, but other programs may not. In
        /// the example, `␠` is a blank.
        ///
        /// ```text
        /// 010 1.0 "EVENT" \␠
        ///   X4
        /// ```
        BLANK_AFTER_BACKSLASH = "S40", warning, "blank after backslash";
        /// The last line of the file ends in `\`, but no line follows.
        ///
        /// ```text
        /// 010 1.0 "EVENT" \
        /// ```
        DANGLING_BACKSLASH = "S41", warning, "backslash at end of file";
        /// A comment ends in `\`, so the next line is part of the comment and ignored, although it does not begin with
        /// `#`.
        ///
        /// ```text
        /// # the next line is lost \
        /// 010 1.0 "EVENT"
        /// ```
        SWALLOWED_LINE = "S42", warning, "line swallowed by a comment";
        /// A `# tfbc: NAME=VALUE` comment has an effect only before the first stanza of its file. After that, only `#
        /// tfbc: allow=CODE` has an effect, on the stanza directly below it. A comment `# tfbc: fields=NAME` always
        /// belongs to the stanza directly below.
        ///
        /// ```text
        /// 010 1.0 "EVENT"
        /// # tfbc: level=APPL
        /// ```
        LATE_SETTING = "S43", warning, "setting after a stanza";
        /// A comma follows the last case of a switch or the last entry of BITFLAGS.
        ///
        /// ```text
        /// 010 1.0 "EVENT" U4, 0 "none", 1 "one",
        /// ```
        TRAILING_COMMA = "S44", warning, "comma after the last entry";
        /// An entry of BITFLAGS has no comma before it.
        ///
        /// ```text
        /// 010 1.0 "EVENT" BITFLAGS X4, 1 "a" 2 "b"
        /// ```
        MISSING_COMMA = "S45", warning, "missing comma";
        /// The cast after a macro's `%` is neither a printing code nor a range of bits. The value prints as without a
        /// cast.
        ///
        /// ```text
        /// 010 1.0 "EVENT" $D1%Z4
        /// ```
        UNKNOWN_CAST = "S46", warning, "unknown cast";
        /// A bare word looks like a format code, but its letter has the wrong case, something follows it without a
        /// blank, or it has a size `W` that this code does not accept. It is printed as text.
        ///
        /// Put it in quotes if it is text.
        ///
        /// ```text
        /// 010 1.0 "EVENT" x4
        /// ```
        CODE_LIKE_WORD = "S47", warning, "code-like bare word";
        /// A bare word differs from a keyword only in case, so it is printed as text.
        ///
        /// ```text
        /// 010 1.0 "EVENT" Loop
        /// ```
        KEYWORD_CASE = "S48", warning, "keyword in another case";
        /// Quoted strings have no escapes: `\n` prints a backslash and an `n`. Outside quotes, `\n` ends the line.
        ///
        /// ```text
        /// 010 1.0 "EVENT\n" X4
        /// ```
        ESCAPE_IN_QUOTES = "S49", warning, "escape inside quotes";
        /// `L=` is only read directly after the version. Anywhere else, or in lower case, it is a bare word: it is
        /// printed, and the text column stays `KERN`.
        ///
        /// ```text
        /// 010 1.0 "EVENT" L=APPL X4
        /// ```
        MISPLACED_LEVEL = "S50", warning, "misplaced level";
        /// A continued stanza cannot contain comments: a line that begins with `#` is printed, and format codes in it
        /// read data. Move the comment above the stanza.
        ///
        /// ```text
        /// 010 1.0 "EVENT" \
        ///   # the process \
        ///   X4
        /// ```
        COMMENT_IN_STANZA = "S51", warning, "comment inside a stanza";
        /// The file begins with a byte order mark (EF BB BF), which some editors write. It is skipped here, but other
        /// programs may print it.
        BYTE_ORDER_MARK = "S52", warning, "byte order mark";
        /// A comment is a line of its own that begins with `#`. After an item, `#`, `//`, `/*`, `;` and the words after
        /// them are printed.
        ///
        /// ```text
        /// 010 1.0 "EVENT" X4 # the process
        /// ```
        REMARK = "S53", warning, "remark after an item";
        /// A word looks like a format code, but its number is not valid for this code, such as `X17` or `D3`. Reports
        /// print it as text, with this warning; `tfbc check` refuses it (S07).
        UNDEFINED_CODE = "S54", warning, "undefined format code";
    }
}

#[cfg(test)]
mod tests {
    use super::CODES;
    use crate::{Arena, Source, SourceId, datakey, trcfmt};

    /// Lines of the fenced block in a long text.
    fn example(explain: &str) -> Option<String> {
        let lines = explain.lines().map(|line| line.strip_prefix(' ').unwrap_or(line));
        let fenced: Vec<&str> = lines.skip_while(|line| *line != "```text").skip(1).collect();
        let len = fenced.iter().position(|line| *line == "```")?;
        Some(fenced[..len].join("\n").replace('␠', " ").replace('␟', "\u{feff}"))
    }

    #[test]
    fn each_example_triggers_its_code() {
        for info in CODES {
            let Some(text) = example(info.explain) else { continue };
            let arena = Arena::new();
            let source = Source::new("example", text.as_str());
            let found = match info.code.starts_with('X') {
                true => datakey::parse(&arena, SourceId(0), &source).1,
                false => trcfmt::parse(&arena, SourceId(0), &source).1,
            };
            let codes: Vec<&str> = found.iter().map(|diagnostic| diagnostic.code.code).collect();
            assert_eq!(codes, [info.code], "{text}");
        }
    }

    #[test]
    fn codes_are_in_order() {
        assert!(CODES.is_sorted_by(|a, b| a.code < b.code));
    }
}
