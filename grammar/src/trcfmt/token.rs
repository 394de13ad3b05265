//! Tokens: what logos cuts from the bytes, and what the grammar reads.
//!
//! A word's end depends on where it stands, so there are three automata: [`TextToken`] for descriptors, where a word
//! runs up to a blank or a mark; [`ExprToken`] between parentheses and in assignments, where operators need no blanks;
//! [`QuoteToken`] inside backquotes, where all that is neither word nor macro is text. [`Token`] is what the grammar sees.

use logos::Logos;

use super::ast::{Code, HookId, Level, Move};

/// A piece of a stanza's head or descriptor.
#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq)]
#[logos(utf8 = false)]
#[logos(skip br"([ \t]|\\[ \t]*\r?\n)+")]
pub(crate) enum TextToken {
    /// A run up to a blank or a mark, and none of the words below.
    #[regex(br#"[^ \t\n$"`\\,{}()&%][^ \t\n$"`\\,{}()]*"#, priority = 1)]
    Word,
    /// The shape of a format code, of legal size or not.
    #[regex(br"[ABSXDUoFTEPGORW][0-9]+(\.[0-9]+)?|[SXDUoTEP]W|ow|HB|HT", priority = 20)]
    Code,
    /// A number that begins with a digit.
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
    /// `$name`, perhaps with `%cast`, in which a dot stands only between digits.
    #[regex(br"\$[0-9A-Za-z_]+(%([A-Za-z]|[0-9]+(\.[0-9]+)*)+)?")]
    Macro,
    #[regex(br#""[^"]*""#)]
    Quoted,
    #[regex(br"`[^`]*`")]
    Backquoted,
    /// A string or backquoted string without its end.
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

/// A piece of an assignment, of arguments or parameters.
#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq)]
#[logos(utf8 = false)]
#[logos(skip br"([ \t]|\\[ \t]*\r?\n)+")]
pub(crate) enum ExprToken {
    /// A code, a constant or a name.
    #[regex(br"[0-9A-Za-z_.]+")]
    Word,
    /// `$name`, perhaps with `%cast`.
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

/// A piece of a backquoted string, continuations already joined.
#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq)]
#[logos(utf8 = false)]
pub(crate) enum QuoteToken {
    /// A word as in a descriptor; a code is expanded, any other is text.
    #[regex(br#"[^ \t\n$"`\\,{}()&%][^ \t\n$"`\\,{}()]*"#)]
    Word,
    /// `$name`, perhaps with `%cast`.
    #[regex(br"\$[0-9A-Za-z_]+(%([A-Za-z]|[0-9]+(\.[0-9]+)*)+)?")]
    Macro,
    /// A blank or mark: text.
    #[regex(br#"[ \t\n$"`\\,{}()&%]"#)]
    Mark,
}

/// A token of the grammar. Words and strings are read from the source by their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    HookId(HookId),
    Version((u32, u32)),
    Level(Level),
    Word,
    Number,
    Code(Code),
    Move(Move),
    /// A code's letter with an illegal size: an error where a word is text or code, a value elsewhere.
    IllegalCode,
    /// A word directly before `(`.
    FunctionName,
    Loop,
    Bitflags,
    StartTimer,
    EndTimer,
    /// A word of an expression that is neither code nor constant, such as a parameter.
    Name,
    Constant(u64),
    /// A constant above 2^64 - 1.
    LargeConstant,
    /// A word that begins like a constant and goes on otherwise.
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
    /// `{`, not directly before another.
    OpenBrace,
    /// `{` directly before another: the first half of `{{` where the grammar wants that, else one brace.
    OpenBraces,
    /// `}`, not directly before another.
    CloseBrace,
    /// `}` directly before another.
    CloseBraces,
    /// The first word of a stanza, when it is no event id.
    BadHookId,
    /// What stands where a version belongs.
    BadVersion,
    /// `L=` with an unknown level.
    BadLevel,
    /// A string without its end.
    Unclosed,
    /// A byte that begins no token here: `%`, a lone `$`, `\` before anything but `n`, `t`, `*` and the line end.
    Stray,
}

impl Token {
    /// The token's name as listings and the grammar write it.
    pub fn name(self) -> &'static str {
        match self {
            Token::HookId(_) => "event id",
            Token::Version(_) => "version",
            Token::Level(_) => "level",
            Token::Word => "word",
            Token::Number => "number",
            Token::Code(_) => "format code",
            Token::Move(_) => "position code",
            Token::IllegalCode => "code of illegal size",
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
