/// A diagnostic's stable code with its title and long text.
///
/// Numbers are never reused. `S` codes are about syntax, `C` codes about meaning, `B` codes about blobs.
#[derive(Debug, PartialEq, Eq)]
pub struct CodeInfo {
    /// Such as `S07`.
    pub code: &'static str,
    /// A short title, lower case.
    pub title: &'static str,
    /// The text of `tfbc explain`, with an example that triggers the code.
    pub explain: &'static str,
}

/// Declares the codes of one package: a doc comment (the long text), a name, the code, the title.
#[macro_export]
macro_rules! declare_codes {
    ($($(#[doc = $doc:literal])* $name:ident = $code:literal, $title:literal;)*) => {
        $(#[doc = $title] pub static $name: $crate::CodeInfo = $crate::CodeInfo {
            code: $code, title: $title, explain: concat!($($doc, "\n"),*),
        };)*
        /// Every code of this table, in order.
        pub static ALL: &[&$crate::CodeInfo] = &[$(&$name),*];
    };
}

/// Every syntax code, in order.
pub static CODES: &[&CodeInfo] = rows::ALL;

pub(crate) mod rows {
    declare_codes! {
        /// A source file is larger than 64 MiB.
        SOURCE_TOO_LARGE = "S01", "source too large";
        /// x
        UNEXPECTED = "S02", "unexpected token";
        /// x
        HOOK_ID = "S03", "bad event id";
        /// x
        VERSION = "S04", "bad version";
        /// x
        LEVEL = "S05", "unknown level";
        /// x
        UNCLOSED = "S06", "string without end";
        /// x
        CODE_SIZE = "S07", "illegal size of a format code";
        /// x
        CAST = "S08", "bad cast";
        /// x
        STRAY_BYTE = "S09", "byte that begins nothing";
        /// x
        BRACKET = "S10", "unmatched brace or parenthesis";
        /// x
        STRAY_AMPERSAND = "S11", "`&` without mask";
        /// x
        STRAY_COMMA = "S12", "comma without switch";
        /// x
        CASE_BODY = "S13", "bad case body";
        /// x
        CONSTANT = "S14", "bad constant";
        /// x
        POSITION_VALUE = "S15", "position code as value";
        /// x
        ARGUMENT = "S16", "expression as argument";
        /// x
        PARAMETER = "S17", "bad parameter";
        /// x
        NESTED_FUNCTION = "S18", "function inside a function";
        /// x
        NESTING = "S19", "nesting too deep";
        /// x
        OPERATORS = "S20", "expression too long";
        /// x
        SETTING = "S21", "bad setting";
        /// x
        BLANK_BEHIND_BACKSLASH = "S40", "blank behind backslash";
        /// x
        DANGLING_BACKSLASH = "S41", "backslash at end of file";
        /// x
        SWALLOWED_LINE = "S42", "line swallowed by a comment";
        /// x
        LATE_SETTING = "S43", "setting behind a stanza";
        /// x
        TRAILING_COMMA = "S44", "comma after the last entry";
        /// x
        MISSING_COMMA = "S45", "missing comma";
        /// x
        UNKNOWN_CAST = "S46", "unknown cast";
        /// x
        CODE_LIKE_WORD = "S47", "code-like bare word";
        /// x
        KEYWORD_CASE = "S48", "keyword in another case";
        /// x
        ESCAPE_IN_QUOTES = "S49", "newline escape inside quotes";
    }
}
