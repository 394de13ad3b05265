use crate::Severity;
use crate::datakey::codes as datakey;

/// A diagnostic's stable code with its title and long text.
///
/// Numbers are never reused. `S` codes are about syntax, `C` codes about meaning, `X` codes about event definitions, `B` codes
/// about blobs, `K` codes about case files.
#[derive(Debug, PartialEq, Eq)]
pub struct CodeInfo {
    /// Such as `S07`.
    pub code: &'static str,
    /// How bad a finding with this code is.
    pub severity: Severity,
    /// A short title, lower case.
    pub title: &'static str,
    /// The text of `tfbc explain`, with an example that triggers the code.
    pub explain: &'static str,
}

/// Declares the codes of one package: a doc comment (the long text), a name, the code, `error` or `warning`, the title.
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

/// Every code of this package, in order.
pub static CODES: &[&CodeInfo] = &{
    let mut all = [rows::ALL[0]; rows::ALL.len() + datakey::ALL.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < rows::ALL.len() { rows::ALL[at] } else { datakey::ALL[at - rows::ALL.len()] };
        at += 1;
    }
    all
};

pub(crate) mod rows {
    declare_codes! {
        /// A source file is larger than 64 MiB, or than `--max-source` says. Such a file is not read at all.
        ///
        /// Split it: `-t` takes several files.
        SOURCE_TOO_LARGE = "S01", error, "source too large";
        /// The stanza is well-formed up to the marked place, and what stands there cannot follow.
        ///
        /// The message says what could stand there. Often the mistake is before the place: a missing operand, comma or quote.
        ///
        /// ```text
        /// 010 1.0 "EVENT" {{ $x = 1 + }}
        /// ```
        UNEXPECTED = "S02", error, "unexpected token";
        /// A stanza begins with an event id: 3 or 4 hexadecimal digits. `hhh` is the same hook as `hhh0`, and a 4-digit id below
        /// 1000 must end in 0.
        ///
        /// Any other line is most often the rest of a stanza whose line before lacks its `\` at the end.
        ///
        /// ```text
        /// 010 1.0 "EVENT"
        ///   "value " X4
        /// ```
        HOOK_ID = "S03", error, "bad event id";
        /// Version and release follow the event id: two decimal numbers with a dot between.
        ///
        /// ```text
        /// 010 "EVENT" X4
        /// ```
        VERSION = "S04", error, "bad version";
        /// `L=` behind the version sets the text column: `APPL`, `SVC`, `KERN` or `INT`, or `0` for an event without columns.
        ///
        /// ```text
        /// 010 1.0 L=USER "EVENT" X4
        /// ```
        LEVEL = "S05", error, "unknown level";
        /// A string or backquoted string has no closing quote before its stanza ends. A string goes on in the next line only where
        /// a `\` ends the line.
        ///
        /// ```text
        /// 010 1.0 "EVENT
        /// ```
        UNCLOSED = "S06", error, "string without end";
        /// A word with a format code's letter and a number that this code does not take, such as `X17` or `D3`. It is not taken for
        /// text, since it is nearly always a slip.
        ///
        /// Put it in quotes to print it.
        ///
        /// ```text
        /// 010 1.0 "EVENT" D3
        /// ```
        CODE_SIZE = "S07", error, "illegal size of a format code";
        /// What stands behind the `%` of a macro is no cast: a printing code with an illegal size, a range of bits that is none, or
        /// nothing at all. Also a macro that is assigned or declared with a cast.
        ///
        /// ```text
        /// 010 1.0 "EVENT" $D1%W24.70
        /// ```
        CAST = "S08", error, "bad cast";
        /// A byte stands where nothing can begin with it: a `$` without name, a word that begins with `%`, a `\` that is no escape, a
        /// mark that expressions do not know.
        ///
        /// ```text
        /// 010 1.0 "EVENT" costs $ X4
        /// ```
        STRAY_BYTE = "S09", error, "byte that begins nothing";
        /// A brace or parenthesis has no partner, or stands where none can. Outside quotes they are never text: `{{ … }}` holds an
        /// assignment or a function, `{ … }` the body of a case or LOOP, `( … )` arguments.
        ///
        /// ```text
        /// 010 1.0 "EVENT" LOOP X2 { X0
        /// ```
        BRACKET = "S10", error, "unmatched brace or parenthesis";
        /// Outside expressions and BITFLAGS, `&` begins the mask of a switch: behind a code or macro, before a number and a comma.
        ///
        /// ```text
        /// 010 1.0 "EVENT" HT & 0x07 X4
        /// ```
        STRAY_AMPERSAND = "S11", error, "`&` without mask";
        /// A comma stands behind something that selects nothing. It makes a switch of the code or macro before it, and separates
        /// entries of a switch or BITFLAGS. Often a case's text has several words and lacks its quotes.
        ///
        /// ```text
        /// 010 1.0 "EVENT" U4, 0 not found, 1 found
        /// ```
        STRAY_COMMA = "S12", error, "comma without switch";
        /// The body of a case is a string, a backquoted string, one bare word, or items in braces. Codes, macros, keywords and calls
        /// need the braces.
        ///
        /// ```text
        /// 010 1.0 "EVENT" U4, 0 "none", \* X4
        /// ```
        CASE_BODY = "S13", error, "bad case body";
        /// A constant of an expression is decimal, `0x` hexadecimal or, with a leading `o`, octal, and fits in 64 bits.
        ///
        /// ```text
        /// 010 1.0 "EVENT" {{ $x = 0x1FFFFFFFFFFFFFFFF }}
        /// ```
        CONSTANT = "S14", error, "bad constant";
        /// `G`, `O`, `R` and `W` with a number move the data pointer. They have no value, so they cannot stand in an expression and
        /// cannot select.
        ///
        /// ```text
        /// 010 1.0 "EVENT" {{ $x = G4 + 1 }}
        /// ```
        POSITION_VALUE = "S15", error, "position code as value";
        /// The arguments of a function are format codes, macros with or without cast, or numbers. Timers take expressions.
        ///
        /// ```text
        /// 010 1.0 "EVENT" {{ f(a) $a }} f($D1 + 1)
        /// ```
        ARGUMENT = "S16", error, "expression as argument";
        /// A parameter's name is made of letters, digits and `_`.
        ///
        /// ```text
        /// 010 1.0 "EVENT" {{ f(a.b) X4 }}
        /// ```
        PARAMETER = "S17", error, "bad parameter";
        /// A function cannot be defined inside another. Functions are visible in every stanza, before and behind their definition,
        /// so it can stand anywhere else.
        ///
        /// ```text
        /// 010 1.0 "EVENT" {{ f(a) {{ g(b) $b }} g($a) }}
        /// ```
        NESTED_FUNCTION = "S18", error, "function inside a function";
        /// Braces and parentheses of one stanza nest deeper than 64, or than `--max-nesting` says, which goes up to 200.
        NESTING = "S19", error, "nesting too deep";
        /// An expression has more than 1000 operators.
        OPERATORS = "S20", error, "expression too long";
        /// A comment that begins with `# tfbc:` sets an option for its file and must read `# tfbc: NAME=VALUE`; or it allows
        /// warnings, and reads `# tfbc: allow=CODE`, or several codes with commas between.
        ///
        /// ```text
        /// # tfbc: level
        /// 010 1.0 "EVENT"
        /// ```
        SETTING = "S21", error, "bad setting";
        /// A file has 10,000 errors, and the rest of it is not read (of event definitions: is not shown); or it has more than
        /// 10,000 warnings, and the rest is not shown. Probably the file is no trace format file.
        LEFT_OUT = "S22", error, "too many findings";
        /// The format files hold more than 65,536 templates, or than `--max-templates` says. Stanzas count, and datakeys, and the
        /// events of eventclasses.
        TOO_MANY_TEMPLATES = "S23", error, "too many templates";
        /// Blanks stand between the `\` that continues a line and the line's end. The line is continued all the same; other programs
        /// may see it otherwise. In the example, `␠` is a blank.
        ///
        /// ```text
        /// 010 1.0 "EVENT" \␠
        ///   X4
        /// ```
        BLANK_BEHIND_BACKSLASH = "S40", warning, "blank behind backslash";
        /// The file's last line ends in `\`, and there is nothing to continue with.
        ///
        /// ```text
        /// 010 1.0 "EVENT" \
        /// ```
        DANGLING_BACKSLASH = "S41", warning, "backslash at end of file";
        /// A comment ends in `\`, so the line behind it belongs to the comment and is ignored, though it does not begin with `#`.
        ///
        /// ```text
        /// # the next line is lost \
        /// 010 1.0 "EVENT"
        /// ```
        SWALLOWED_LINE = "S42", warning, "line swallowed by a comment";
        /// A `# tfbc: NAME=VALUE` comment has an effect only before the first stanza of its file. Behind it, only `# tfbc: allow=CODE`
        /// has one: right above a stanza, for that stanza.
        ///
        /// ```text
        /// 010 1.0 "EVENT"
        /// # tfbc: level=APPL
        /// ```
        LATE_SETTING = "S43", warning, "setting behind a stanza";
        /// A comma follows the last case of a switch or the last entry of BITFLAGS.
        ///
        /// ```text
        /// 010 1.0 "EVENT" U4, 0 "none", 1 "one",
        /// ```
        TRAILING_COMMA = "S44", warning, "comma after the last entry";
        /// An entry of BITFLAGS begins without a comma before it.
        ///
        /// ```text
        /// 010 1.0 "EVENT" BITFLAGS X4, 1 "a" 2 "b"
        /// ```
        MISSING_COMMA = "S45", warning, "missing comma";
        /// The cast behind a macro's `%` is neither a printing code nor a range of bits; the value prints as without a cast.
        ///
        /// ```text
        /// 010 1.0 "EVENT" $D1%Z4
        /// ```
        UNKNOWN_CAST = "S46", warning, "unknown cast";
        /// A bare word looks like a format code: its letter has the wrong case, something follows without a blank, or a size `W` that
        /// this code does not take. It is printed as text.
        ///
        /// Put it in quotes if it is text.
        ///
        /// ```text
        /// 010 1.0 "EVENT" x4
        /// ```
        CODE_LIKE_WORD = "S47", warning, "code-like bare word";
        /// A bare word differs from a keyword only in the case of its letters, so it is printed as text.
        ///
        /// ```text
        /// 010 1.0 "EVENT" Loop
        /// ```
        KEYWORD_CASE = "S48", warning, "keyword in another case";
        /// There are no escapes inside quotes: `\n` prints a backslash and an `n` there. Outside, it ends the line.
        ///
        /// ```text
        /// 010 1.0 "EVENT\n" X4
        /// ```
        ESCAPE_IN_QUOTES = "S49", warning, "escape inside quotes";
        /// `L=` with a level is read directly after the version only. Elsewhere, and in lower case, it is a bare word: it is printed,
        /// and the text column stays `KERN`.
        ///
        /// ```text
        /// 010 1.0 "EVENT" L=APPL X4
        /// ```
        MISPLACED_LEVEL = "S50", warning, "misplaced level";
        /// A stanza that is continued has no comments inside: a line that begins with `#` is printed, and format codes in it read
        /// data. Move it above the stanza.
        ///
        /// ```text
        /// 010 1.0 "EVENT" \
        ///   # the process \
        ///   X4
        /// ```
        COMMENT_IN_STANZA = "S51", warning, "comment inside a stanza";
        /// The file begins with a byte order mark (EF BB BF), which some editors write. It is skipped here; other programs may
        /// take it for text.
        BYTE_ORDER_MARK = "S52", warning, "byte order mark";
        /// A comment is a line of its own that begins with `#`. After an item, `#`, `//`, `/*` and `;` and the words after them are
        /// printed.
        ///
        /// ```text
        /// 010 1.0 "EVENT" X4 # the process
        /// ```
        REMARK = "S53", warning, "remark after an item";
        /// A word has a format code's letter and a number that this code does not take, such as `X17` or `D3`. A report treats it
        /// as text, with this warning; `tfbc check` refuses it (S07).
        UNDEFINED_CODE = "S54", warning, "undefined format code";
    }
}

#[cfg(test)]
mod tests {
    use super::CODES;
    use crate::{Arena, Source, SourceId, datakey, trcfmt};

    /// The lines of the fenced block in a long text.
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
