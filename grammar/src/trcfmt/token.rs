//! Tokens of the grammar, and of the three lexers that produce them.
//!
//! The end of a word depends on its position, so there are three lexers. [`TextToken`] is for descriptors: a word ends
//! at a blank or a mark. [`ExprToken`] is for assignments and parentheses: operators need no blanks. [`QuoteToken`] is
//! for backquotes: everything except words and macros is text. [`Token`] is the grammar's token.

use logos::Logos;

use super::ast::{Code, HookId, Level, Move};

/// Token of a stanza's head or descriptor.
#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq)]
#[logos(utf8 = false)]
#[logos(skip br"([ \t]|\\[ \t]*\r?\n)+")]
pub(crate) enum TextToken {
    /// Run of bytes up to a blank or a mark.
    #[regex(br#"[^ \t\n$"`\\,{}()&%][^ \t\n$"`\\,{}()]*"#, priority = 1)]
    Word,
    /// Word with the shape of a format code, of valid size or not.
    #[regex(br"[ABSXDUoFTEPGORW][0-9]+(\.[0-9]+)?|[SXDUoTEP]W|ow|HB|HT", priority = 20)]
    Code,
    /// Number that begins with a digit.
    #[regex(br"[0-9][0-9A-Fa-f]*|0[xX][0-9A-Fa-f]+", priority = 20)]
    Number,
    #[token(b"LOOP", priority = 20)]
    Loop,
    #[token(b"BITFLAGS", priority = 20)]
    Bitflags,
    #[token(b"starttimer", priority = 20)]
    StartTimer,
    #[token(b"endtimer", priority = 20)]
    EndTimer,
    /// `$name` with an optional `%cast`; the cast contains a dot only between digits.
    #[regex(br"\$[0-9A-Za-z_]+(%([A-Za-z]|[0-9]+(\.[0-9]+)*)+)?")]
    Macro,
    #[regex(br#""[^"]*""#)]
    Quoted,
    #[regex(br"`[^`]*`")]
    Backquoted,
    /// String or backquoted string without a closing quote.
    #[regex(br#""[^"]*|`[^`]*"#)]
    Unclosed,
    #[token(br"\n")]
    Newline,
    #[token(br"\t")]
    Tab,
    #[token(br"\*")]
    Any,
    #[token(b",")]
    Comma,
    #[token(b"&")]
    Ampersand,
    #[token(b"(")]
    OpenParen,
    #[token(b")")]
    CloseParen,
    #[token(b"{")]
    OpenBrace,
    #[token(b"}")]
    CloseBrace,
}

/// Token of an assignment, of arguments or of parameters.
#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq)]
#[logos(utf8 = false)]
#[logos(skip br"([ \t]|\\[ \t]*\r?\n)+")]
pub(crate) enum ExprToken {
    /// Code, constant or name.
    #[regex(br"[0-9A-Za-z_.]+")]
    Word,
    /// `$name` with an optional `%cast`.
    #[regex(br"\$[0-9A-Za-z_]+(%([A-Za-z]|[0-9]+(\.[0-9]+)*)+)?")]
    Macro,
    #[regex(br#""[^"]*""#)]
    Quoted,
    #[regex(br"`[^`]*`")]
    Backquoted,
    #[regex(br#""[^"]*|`[^`]*"#)]
    Unclosed,
    #[token(b"=")]
    Equals,
    #[token(b"+")]
    Plus,
    #[token(b"-")]
    Minus,
    #[token(b"*")]
    Star,
    #[token(b"/")]
    Slash,
    #[token(b"&")]
    Ampersand,
    #[token(b",")]
    Comma,
    #[token(b"(")]
    OpenParen,
    #[token(b")")]
    CloseParen,
    #[token(b"{")]
    OpenBrace,
    #[token(b"}")]
    CloseBrace,
}

/// Token of a backquoted string whose lines are already joined.
#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq)]
#[logos(utf8 = false)]
pub(crate) enum QuoteToken {
    /// Word as in a descriptor: expanded if it is a code, otherwise text.
    #[regex(br#"[^ \t\n$"`\\,{}()&%][^ \t\n$"`\\,{}()]*"#)]
    Word,
    /// `$name` with an optional `%cast`.
    #[regex(br"\$[0-9A-Za-z_]+(%([A-Za-z]|[0-9]+(\.[0-9]+)*)+)?")]
    Macro,
    /// Blank or mark: text.
    #[regex(br#"[ \t\n$"`\\,{}()&%]"#)]
    Mark,
}

/// Token of the grammar. The bytes of words and strings are looked up in the source by span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    HookId(HookId),
    Version((u32, u32)),
    Level(Level),
    Word,
    Number,
    Code(Code),
    Move(Move),
    /// Letter of a code with an invalid size: an error where a code or text is expected, valid as a match value.
    IllegalCode,
    /// Word directly before `(`.
    FunctionName,
    Loop,
    Bitflags,
    StartTimer,
    EndTimer,
    /// Word of an expression that is neither code nor constant, such as a parameter.
    Name,
    Constant(u64),
    /// Constant above 2^64 - 1.
    LargeConstant,
    /// Word that begins like a constant but is not one.
    BadConstant,
    Macro,
    Quoted,
    Backquoted,
    Newline,
    Tab,
    Any,
    Comma,
    Ampersand,
    Equals,
    Plus,
    Minus,
    Star,
    Slash,
    OpenParen,
    CloseParen,
    /// `{` that is not directly before another.
    OpenBrace,
    /// `{` directly before another. The grammar decides if it is the first half of `{{`.
    OpenBraces,
    /// `}` that is not directly before another.
    CloseBrace,
    /// `}` directly before another.
    CloseBraces,
    /// First word of a stanza that is not an event id.
    BadHookId,
    /// Second word of a stanza that is not a version.
    BadVersion,
    /// `L=` with an unknown level.
    BadLevel,
    /// String without a closing quote.
    Unclosed,
    /// Byte that begins no token: `%`, a `$` without a name, or `\` before anything but `n`, `t`, `*` and the line end.
    Stray,
}

impl Token {
    /// Name in listings and in the grammar.
    pub fn name(self) -> &'static str {
        match self {
            Token::HookId(_) => "event id",
            Token::Version(_) => "version",
            Token::Level(_) => "level",
            Token::Word => "word",
            Token::Number => "number",
            Token::Code(_) => "format code",
            Token::Move(_) => "position code",
            Token::IllegalCode => "code of invalid size",
            Token::FunctionName => "function name",
            Token::Loop => "LOOP",
            Token::Bitflags => "BITFLAGS",
            Token::StartTimer => "starttimer",
            Token::EndTimer => "endtimer",
            Token::Name => "name",
            Token::Constant(_) => "constant",
            Token::LargeConstant | Token::BadConstant => "bad constant",
            Token::Macro => "macro",
            Token::Quoted => "string",
            Token::Backquoted => "backquoted string",
            Token::Newline => "newline",
            Token::Tab => "tab",
            Token::Any => "wildcard",
            Token::Comma => "comma",
            Token::Ampersand => "ampersand",
            Token::Equals => "=",
            Token::Plus => "+",
            Token::Minus => "-",
            Token::Star => "*",
            Token::Slash => "/",
            Token::OpenParen => "(",
            Token::CloseParen => ")",
            Token::OpenBrace | Token::OpenBraces => "{",
            Token::CloseBrace | Token::CloseBraces => "}",
            Token::BadHookId => "bad event id",
            Token::BadVersion => "bad version",
            Token::BadLevel => "bad level",
            Token::Unclosed => "unclosed string",
            Token::Stray => "stray byte",
        }
    }
}
