//! From one logical line to the grammar's tokens.
//!
//! What a word means depends on where it stands. The lexer settles what can be settled from the left: the stanza's
//! head, and whether text or an expression is read. The rest is the grammar's: it takes a code as a value after a
//! comma, and `{` directly before `{` as one brace or as half of `{{`, as it wants.

use logos::Logos;
use smallvec::SmallVec;

use super::MAX_OPERATORS;
use super::ast::{HookId, Level};
use super::token::{ExprToken, TextToken, Token};
use super::word::{self, CodeWord, Number};
use crate::{SourceLimits, Span};

/// What ends the parse of a stanza from within the lexer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fatal {
    /// Braces and parentheses nest deeper than this.
    Nesting(Span, usize),
    /// An expression has more than [`MAX_OPERATORS`] operators.
    Operators(Span),
}

/// The part of the stanza that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    HookId,
    Version,
    Level,
    Descriptor,
}

enum Mode<'s> {
    Text(logos::Lexer<'s, TextToken>),
    Expr(logos::Lexer<'s, ExprToken>),
}

/// The tokens of one stanza.
pub(crate) struct Lexer<'s> {
    /// The bytes of the source up to the end of the logical line, so that places are offsets in the source.
    text: &'s [u8],
    mode: Mode<'s>,
    part: Part,
    /// The braces and parentheses that are open.
    open: SmallVec<[Open; 8]>,
    /// How many may be open.
    max_nesting: usize,
    /// Whether the last token closed what it fits.
    closed: bool,
    /// How many are open when a closing parenthesis ends the expression; `None` in an assignment, which a brace ends.
    call_depth: Option<usize>,
    n_operators: usize,
    /// The event id, once it has been read.
    hook_id: Option<HookId>,
    /// True if an undefined format code is a word.
    lenient: bool,
    /// True if an undefined format code has been read.
    has_illegal_code: bool,
    /// The three tokens read last.
    recent: [(Token, Span); 3],
    /// Names after `{{`, for functions of a stanza that does not parse.
    defined: SmallVec<[Span; 2]>,
}

/// An open brace or parenthesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Open {
    /// Where it stands.
    pub span: Span,
    /// Whether it is a parenthesis.
    pub is_paren: bool,
    /// Whether it is a brace directly behind another.
    pub follows_brace: bool,
}

impl<'s> Lexer<'s> {
    /// The tokens of the stanza at `line` in `source`.
    pub fn new(source: &'s [u8], line: Span) -> Self {
        let text = &source[..line.end as usize];
        let mut tokens = TextToken::lexer(text);
        tokens.bump(line.start as usize);
        Self {
            text,
            mode: Mode::Text(tokens),
            part: Part::HookId,
            open: SmallVec::new(),
            max_nesting: SourceLimits::MAX_NESTING,
            closed: false,
            call_depth: None,
            n_operators: 0,
            hook_id: None,
            lenient: false,
            has_illegal_code: false,
            recent: [(Token::Stray, Span::new(line.start, line.start)); 3],
            defined: SmallVec::new(),
        }
    }

    /// The same with fewer braces and parentheses that may be open.
    pub fn with_nesting(self, max: usize) -> Self {
        Self { max_nesting: max.min(SourceLimits::MAX_NESTING), ..self }
    }

    /// Takes an undefined format code for a word, outside expressions.
    pub fn lenient(self) -> Self {
        Self { lenient: true, ..self }
    }

    /// True if an undefined format code has been read.
    pub fn has_illegal_code(&self) -> bool {
        self.has_illegal_code
    }

    /// The event id, when it has been read.
    pub fn hook_id(&self) -> Option<HookId> {
        self.hook_id
    }

    /// The three tokens read last, in order.
    pub fn recent(&self) -> [(Token, Span); 3] {
        self.recent
    }

    /// Whether the last token, a brace or parenthesis, closed what it fits.
    pub fn has_closed(&self) -> bool {
        self.closed
    }

    /// The innermost brace or parenthesis that is open.
    pub fn innermost(&self) -> Option<Open> {
        self.open.last().copied()
    }

    /// Whether the token read last stands in an expression, or ends one.
    pub fn is_in_expression(&self) -> bool {
        matches!(self.mode, Mode::Expr(_))
    }

    /// The offset behind the stanza.
    pub fn end(&self) -> u32 {
        self.text.len() as u32
    }

    /// Reads on to the end and gives the names that stand after a `{{`, before a `(`.
    pub fn drain_defined(&mut self) -> &[Span] {
        while self.take().is_some() {}
        &self.defined
    }

    fn take(&mut self) -> Option<(Token, Span)> {
        let (token, span) = match &mut self.mode {
            Mode::Text(tokens) => {
                let token = tokens.next()?;
                let span = span_of(tokens.span());
                let token = self.text_token(token, span);
                self.has_illegal_code |= token == Token::IllegalCode;
                (if self.lenient && token == Token::IllegalCode { Token::Word } else { token }, span)
            }
            Mode::Expr(tokens) => {
                let token = tokens.next()?;
                let span = span_of(tokens.span());
                (self.expr_token(token, span), span)
            }
        };
        self.follow(token, span);
        let [_, second, third] = self.recent;
        self.recent = [second, third, (token, span)];
        Some((token, span))
    }

    fn bytes(&self, span: Span) -> &'s [u8] {
        &self.text[span.start as usize..span.end as usize]
    }

    fn byte_behind(&self, span: Span) -> Option<u8> {
        self.text.get(span.end as usize).copied()
    }

    fn text_token(&mut self, token: Result<TextToken, ()>, span: Span) -> Token {
        if self.part != Part::Descriptor
            && let Some(token) = self.head_token(span)
        {
            return token;
        }
        token.map_or(Token::Stray, |token| self.descriptor_token(token, span))
    }

    /// A token of the head; `None` where the descriptor begins.
    fn head_token(&mut self, span: Span) -> Option<Token> {
        let word = self.bytes(span);
        match self.part {
            Part::HookId => {
                self.part = Part::Version;
                self.hook_id = hook_id(word).ok();
                Some(self.hook_id.map_or(Token::BadHookId, Token::HookId))
            }
            Part::Version => {
                self.part = Part::Level;
                Some(version(word).map_or(Token::BadVersion, Token::Version))
            }
            Part::Level | Part::Descriptor => {
                self.part = Part::Descriptor;
                let name = word.strip_prefix(b"L=")?;
                Some(level(name).map_or(Token::BadLevel, Token::Level))
            }
        }
    }

    fn descriptor_token(&self, token: TextToken, span: Span) -> Token {
        match token {
            TextToken::Word | TextToken::Code | TextToken::Number if self.is_called(span) => Token::FunctionName,
            TextToken::Word => Token::Word,
            TextToken::Number => Token::Number,
            TextToken::Code => word::code(self.bytes(span)).map_or(Token::Word, code_token),
            TextToken::Loop => Token::Loop,
            TextToken::Bitflags => Token::Bitflags,
            TextToken::StartTimer => Token::StartTimer,
            TextToken::EndTimer => Token::EndTimer,
            TextToken::Macro => Token::Macro,
            TextToken::Quoted => Token::Quoted,
            TextToken::Backquoted => Token::Backquoted,
            TextToken::Unclosed => Token::Unclosed,
            TextToken::Newline => Token::Newline,
            TextToken::Tab => Token::Tab,
            TextToken::Any => Token::Any,
            TextToken::Comma => Token::Comma,
            TextToken::Ampersand => Token::Ampersand,
            TextToken::OpenParen => Token::OpenParen,
            TextToken::CloseParen => Token::CloseParen,
            TextToken::OpenBrace => self.open_brace(span),
            TextToken::CloseBrace => self.close_brace(span),
        }
    }

    fn expr_token(&self, token: Result<ExprToken, ()>, span: Span) -> Token {
        let Ok(token) = token else { return Token::Stray };
        match token {
            ExprToken::Word => self.expr_word(span),
            ExprToken::Macro => Token::Macro,
            ExprToken::Quoted => Token::Quoted,
            ExprToken::Backquoted => Token::Backquoted,
            ExprToken::Unclosed => Token::Unclosed,
            ExprToken::Equals => Token::Equals,
            ExprToken::Plus => Token::Plus,
            ExprToken::Minus => Token::Minus,
            ExprToken::Star => Token::Star,
            ExprToken::Slash => Token::Slash,
            ExprToken::Ampersand => Token::Ampersand,
            ExprToken::Comma => Token::Comma,
            ExprToken::OpenParen => Token::OpenParen,
            ExprToken::CloseParen => Token::CloseParen,
            ExprToken::OpenBrace => self.open_brace(span),
            ExprToken::CloseBrace => self.close_brace(span),
        }
    }

    fn expr_word(&self, span: Span) -> Token {
        let word = self.bytes(span);
        match word::constant(word) {
            Some(Number::Value(value)) => Token::Constant(value),
            Some(Number::TooLarge) => Token::LargeConstant,
            Some(Number::Malformed) => Token::BadConstant,
            None => word::code(word).map_or(Token::Name, code_token),
        }
    }

    /// Whether a word is a function's name: letters, digits and `_`, directly before `(`.
    fn is_called(&self, span: Span) -> bool {
        let is_name = |word: &[u8]| word.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_');
        self.byte_behind(span) == Some(b'(') && is_name(self.bytes(span))
    }

    fn open_brace(&self, span: Span) -> Token {
        if self.byte_behind(span) == Some(b'{') { Token::OpenBraces } else { Token::OpenBrace }
    }

    fn close_brace(&self, span: Span) -> Token {
        if self.byte_behind(span) == Some(b'}') { Token::CloseBraces } else { Token::CloseBrace }
    }

    /// Whether the two tokens read last are `{{`.
    fn after_double_brace(&self) -> bool {
        let [_, (first, _), (second, _)] = self.recent;
        matches!(first, Token::OpenBraces) && matches!(second, Token::OpenBrace | Token::OpenBraces)
    }

    /// Keeps count of what is open, and changes between text and expressions: these stand between parentheses and from
    /// `{{ $name` to the closing brace.
    fn follow(&mut self, token: Token, span: Span) {
        self.closed = false;
        let is_text = matches!(self.mode, Mode::Text(_));
        match token {
            Token::OpenParen => {
                if is_text {
                    self.enter_expr(span.end, Some(self.open.len()));
                }
                self.push_open(Open { span, is_paren: true, follows_brace: false });
            }
            Token::CloseParen => {
                self.close(true);
                if !is_text && self.call_depth == Some(self.open.len()) {
                    self.enter_text(span.end);
                }
            }
            Token::OpenBrace | Token::OpenBraces => {
                let follows_brace = matches!(self.recent[2].0, Token::OpenBraces);
                self.push_open(Open { span, is_paren: false, follows_brace });
            }
            Token::CloseBrace | Token::CloseBraces => {
                self.close(false);
                if !is_text {
                    self.enter_text(span.end);
                }
            }
            Token::Macro if is_text && self.after_double_brace() => self.enter_expr(span.end, None),
            Token::FunctionName if self.after_double_brace() => self.defined.push(span),
            Token::Plus | Token::Minus | Token::Star | Token::Slash | Token::Ampersand => self.n_operators += 1,
            _ => {}
        }
    }

    /// One above the limit is enough to report it; what is only drained needs no more.
    fn push_open(&mut self, open: Open) {
        if self.open.len() <= self.max_nesting {
            self.open.push(open);
        }
    }

    fn close(&mut self, is_paren: bool) {
        if self.open.last().is_some_and(|open| open.is_paren == is_paren) {
            self.open.pop();
            self.closed = true;
        }
    }

    fn enter_expr(&mut self, at: u32, call_depth: Option<usize>) {
        let mut tokens = ExprToken::lexer(self.text);
        tokens.bump(at as usize);
        self.mode = Mode::Expr(tokens);
        self.call_depth = call_depth;
        self.n_operators = 0;
    }

    fn enter_text(&mut self, at: u32) {
        let mut tokens = TextToken::lexer(self.text);
        tokens.bump(at as usize);
        self.mode = Mode::Text(tokens);
    }

    fn check_limits(&self, span: Span) -> Result<(), Fatal> {
        if self.open.len() > self.max_nesting {
            Err(Fatal::Nesting(span, self.max_nesting))
        } else if self.n_operators > MAX_OPERATORS && matches!(self.mode, Mode::Expr(_)) {
            Err(Fatal::Operators(span))
        } else {
            Ok(())
        }
    }
}

impl Iterator for Lexer<'_> {
    /// A token between the offsets of its first byte and of the byte behind it.
    type Item = Result<(u32, Token, u32), Fatal>;

    fn next(&mut self) -> Option<Self::Item> {
        let (token, span) = self.take()?;
        Some(self.check_limits(span).map(|()| (span.start, token, span.end)))
    }
}

fn span_of(range: std::ops::Range<usize>) -> Span {
    Span::new(range.start as u32, range.end as u32)
}

fn code_token(word: CodeWord) -> Token {
    match word {
        CodeWord::Prints(code) => Token::Code(code),
        CodeWord::Moves(code) => Token::Move(code),
        CodeWord::IllegalSize => Token::IllegalCode,
    }
}

/// Why a word is no event id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdFault {
    /// Not 3 or 4 hexadecimal digits.
    Shape,
    /// 4 digits below 1000 whose last is not 0.
    Subhook,
}

/// Reads an event id: `hhh` is `hhh0`.
pub(crate) fn hook_id(word: &[u8]) -> Result<HookId, IdFault> {
    let digits = word.iter().map(|b| char::from(*b).to_digit(16));
    let value = digits
        .map(|digit| digit.map(|digit| digit as u16))
        .try_fold(0, |sum: u16, digit| digit.map(|digit| sum.wrapping_mul(16) | digit));
    match (word.len(), value) {
        (3, Some(value)) => Ok(HookId(value << 4)),
        (4, Some(value)) if value < 0x1000 && value & 0xF != 0 => Err(IdFault::Subhook),
        (4, Some(value)) => Ok(HookId(value)),
        _ => Err(IdFault::Shape),
    }
}

/// `V.R`, two decimal numbers below 2^32.
fn version(word: &[u8]) -> Option<(u32, u32)> {
    let dot = word.iter().position(|b| *b == b'.')?;
    let part = |digits: &[u8]| {
        let digits = std::str::from_utf8(digits).ok()?;
        if digits.starts_with('+') { None } else { digits.parse().ok() }
    };
    Some((part(&word[..dot])?, part(&word[dot + 1..])?))
}

fn level(name: &[u8]) -> Option<Level> {
    match name {
        b"APPL" => Some(Level::Appl),
        b"SVC" => Some(Level::Svc),
        b"KERN" => Some(Level::Kern),
        b"INT" => Some(Level::Int),
        b"0" => Some(Level::Zero),
        _ => None,
    }
}
