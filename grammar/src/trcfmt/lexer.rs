//! Lexer: splits one logical line into the tokens of the grammar.
//!
//! The meaning of a word depends on its position. The lexer decides what is decidable from the left: the stanza's head,
//! and whether text or an expression comes next. The grammar decides the rest: a code after a comma is a value, and `{`
//! directly before `{` is one brace or half of `{{`.

use logos::Logos;
use smallvec::SmallVec;

use super::MAX_OPERATORS;
use super::ast::{HookId, Level};
use super::token::{ExprToken, TextToken, Token};
use super::word::{self, CodeWord, ExprConstant};
use crate::{SourceLimits, Span};

/// Error that ends the parse of a stanza.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StanzaError {
    /// Braces and parentheses are nested deeper than this limit.
    Nesting(Span, usize),
    /// An expression has more than [`MAX_OPERATORS`] operators.
    Operators(Span),
}

/// Part of the stanza that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StanzaPart {
    HookId,
    Version,
    Level,
    Descriptor,
}

enum LexerMode<'s> {
    Text(logos::Lexer<'s, TextToken>),
    Expr(logos::Lexer<'s, ExprToken>),
}

/// Lexer over one stanza.
pub(crate) struct Lexer<'s> {
    /// Bytes of the source up to the end of the logical line. Starting at offset 0 makes token offsets source offsets.
    text: &'s [u8],
    mode: LexerMode<'s>,
    part: StanzaPart,
    /// Open braces and parentheses.
    open: SmallVec<[Open; 8]>,
    /// Limit on `open`.
    max_nesting: usize,
    /// True if the last token closed the matching bracket.
    closed: bool,
    /// Number of brackets open at the closing parenthesis that ends the expression; `None` in an assignment, which ends
    /// at a brace.
    call_depth: Option<usize>,
    n_operators: usize,
    /// The event id, once read.
    hook_id: Option<HookId>,
    /// True if an undefined format code counts as a word.
    lenient: bool,
    /// True if an undefined format code was read.
    has_illegal_code: bool,
    /// The last three tokens.
    recent: [(Token, Span); 3],
    /// Names after `{{`: if the stanza does not parse, these are the functions it would have defined.
    defined: SmallVec<[Span; 2]>,
}

/// Open brace or parenthesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Open {
    /// Span of the bracket.
    pub span: Span,
    /// True for a parenthesis.
    pub is_paren: bool,
    /// True for a brace directly after another.
    pub follows_brace: bool,
}

impl<'s> Lexer<'s> {
    /// Lexer over the stanza at `line` in `source`.
    pub fn new(source: &'s [u8], line: Span) -> Self {
        let text = &source[..line.end as usize];
        let mut tokens = TextToken::lexer(text);
        // The lexer starts inside the source, so offsets need no conversion.
        tokens.bump(line.start as usize);
        Self {
            text,
            mode: LexerMode::Text(tokens),
            part: StanzaPart::HookId,
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

    /// Lowers the limit on open braces and parentheses.
    pub fn with_nesting(self, max: usize) -> Self {
        Self { max_nesting: max.min(SourceLimits::MAX_NESTING), ..self }
    }

    /// Treats an undefined format code outside expressions as a word.
    pub fn lenient(self) -> Self {
        Self { lenient: true, ..self }
    }

    /// True if an undefined format code was read.
    pub fn has_illegal_code(&self) -> bool {
        self.has_illegal_code
    }

    /// The event id, once read.
    pub fn hook_id(&self) -> Option<HookId> {
        self.hook_id
    }

    /// The last three tokens, oldest first.
    pub fn recent(&self) -> [(Token, Span); 3] {
        self.recent
    }

    /// True if the last token, a closing bracket, matched the innermost open one.
    pub fn has_closed(&self) -> bool {
        self.closed
    }

    /// The innermost open bracket.
    pub fn innermost(&self) -> Option<Open> {
        self.open.last().copied()
    }

    /// True if the last token is inside or at the end of an expression.
    pub fn is_in_expression(&self) -> bool {
        matches!(self.mode, LexerMode::Expr(_))
    }

    /// Offset of the end of the stanza.
    pub fn end(&self) -> u32 {
        self.text.len() as u32
    }

    /// Reads to the end and returns the names between `{{` and `(`.
    pub fn drain_defined(&mut self) -> &[Span] {
        while self.take().is_some() {}
        &self.defined
    }

    fn take(&mut self) -> Option<(Token, Span)> {
        let (token, span) = match &mut self.mode {
            LexerMode::Text(tokens) => {
                let token = tokens.next()?;
                let span = span_of(tokens.span());
                let token = self.text_token(token, span);
                self.has_illegal_code |= token == Token::IllegalCode;
                (if self.lenient && token == Token::IllegalCode { Token::Word } else { token }, span)
            }
            LexerMode::Expr(tokens) => {
                let token = tokens.next()?;
                let span = span_of(tokens.span());
                (self.expr_token(token, span), span)
            }
        };
        // Before the token is handed out, because it decides in which mode the next one is read.
        self.follow(token, span);
        // A message often depends on the words before the unexpected one; three are enough for all of them.
        let [_, second, third] = self.recent;
        self.recent = [second, third, (token, span)];
        Some((token, span))
    }

    fn bytes(&self, span: Span) -> &'s [u8] {
        &self.text[span.start as usize..span.end as usize]
    }

    fn byte_after(&self, span: Span) -> Option<u8> {
        self.text.get(span.end as usize).copied()
    }

    fn text_token(&mut self, token: Result<TextToken, ()>, span: Span) -> Token {
        if self.part != StanzaPart::Descriptor
            // The head is read by position: its id and version would otherwise be numbers or words.
            && let Some(token) = self.head_token(span)
        {
            return token;
        }
        token.map_or(Token::Stray, |token| self.descriptor_token(token, span))
    }

    /// Reads a token of the head; `None` if the descriptor begins here.
    fn head_token(&mut self, span: Span) -> Option<Token> {
        let word = self.bytes(span);
        match self.part {
            StanzaPart::HookId => {
                self.part = StanzaPart::Version;
                self.hook_id = hook_id(word).ok();
                Some(self.hook_id.map_or(Token::BadHookId, Token::HookId))
            }
            StanzaPart::Version => {
                self.part = StanzaPart::Level;
                Some(version(word).map_or(Token::BadVersion, Token::Version))
            }
            // `L=` is optional. Without it, the word is the first of the descriptor.
            StanzaPart::Level | StanzaPart::Descriptor => {
                self.part = StanzaPart::Descriptor;
                let name = word.strip_prefix(b"L=")?;
                Some(level(name).map_or(Token::BadLevel, Token::Level))
            }
        }
    }

    fn descriptor_token(&self, token: TextToken, span: Span) -> Token {
        match token {
            // A function may have the name of a code: `U4(` is a call.
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
            Some(ExprConstant::Value(value)) => Token::Constant(value),
            Some(ExprConstant::TooLarge) => Token::LargeConstant,
            Some(ExprConstant::Malformed) => Token::BadConstant,
            // A word that is neither a constant nor a code is a name; the grammar decides if one is valid here.
            None => word::code(word).map_or(Token::Name, code_token),
        }
    }

    /// True if the word is a function name: letters, digits and `_`, directly before `(`.
    fn is_called(&self, span: Span) -> bool {
        let is_name = |word: &[u8]| word.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_');
        self.byte_after(span) == Some(b'(') && is_name(self.bytes(span))
    }

    fn open_brace(&self, span: Span) -> Token {
        if self.byte_after(span) == Some(b'{') { Token::OpenBraces } else { Token::OpenBrace }
    }

    fn close_brace(&self, span: Span) -> Token {
        if self.byte_after(span) == Some(b'}') { Token::CloseBraces } else { Token::CloseBrace }
    }

    /// True if the last two tokens are `{{`.
    fn after_double_brace(&self) -> bool {
        let [_, (first, _), (second, _)] = self.recent;
        // `{{` is two tokens, because `{ {{` and `{{{` can both begin a body with an assignment.
        matches!(first, Token::OpenBraces) && matches!(second, Token::OpenBrace | Token::OpenBraces)
    }

    /// Tracks open brackets and switches between text and expressions. Expressions are between parentheses, and from
    /// `{{ $name` to the closing brace.
    fn follow(&mut self, token: Token, span: Span) {
        self.closed = false;
        let is_text = matches!(self.mode, LexerMode::Text(_));
        match token {
            // An argument may contain parentheses of its own. The expression ends at the one that was open when it
            // began.
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
            // Also ends an expression whose parenthesis was never closed, so that the rest of the stanza is read as
            // text again.
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

    /// Stops at one bracket above the limit: that is enough to report it, and bounds the memory.
    fn push_open(&mut self, open: Open) {
        if self.open.len() <= self.max_nesting {
            self.open.push(open);
        }
    }

    fn close(&mut self, is_paren: bool) {
        // A bracket that does not match closes nothing: the innermost one is still the best place for the message.
        if self.open.last().is_some_and(|open| open.is_paren == is_paren) {
            self.open.pop();
            self.closed = true;
        }
    }

    fn enter_expr(&mut self, at: u32, call_depth: Option<usize>) {
        let mut tokens = ExprToken::lexer(self.text);
        tokens.bump(at as usize);
        self.mode = LexerMode::Expr(tokens);
        self.call_depth = call_depth;
        self.n_operators = 0;
    }

    fn enter_text(&mut self, at: u32) {
        let mut tokens = TextToken::lexer(self.text);
        tokens.bump(at as usize);
        self.mode = LexerMode::Text(tokens);
    }

    fn check_limits(&self, span: Span) -> Result<(), StanzaError> {
        if self.open.len() > self.max_nesting {
            Err(StanzaError::Nesting(span, self.max_nesting))
        } else if self.n_operators > MAX_OPERATORS && matches!(self.mode, LexerMode::Expr(_)) {
            Err(StanzaError::Operators(span))
        } else {
            Ok(())
        }
    }
}

impl Iterator for Lexer<'_> {
    /// (start offset, token, end offset).
    type Item = Result<(u32, Token, u32), StanzaError>;

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

/// Reason why a word is not an event id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdError {
    /// Not 3 or 4 hexadecimal digits.
    Shape,
    /// Four digits below 1000 whose last digit is not 0.
    Subhook,
}

/// Parses an event id; `hhh` means `hhh0`.
pub(crate) fn hook_id(word: &[u8]) -> Result<HookId, IdError> {
    let digits = word.iter().map(|b| char::from(*b).to_digit(16));
    let value = digits
        .map(|digit| digit.map(|digit| digit as u16))
        .try_fold(0, |sum: u16, digit| digit.map(|digit| sum.wrapping_mul(16) | digit));
    match (word.len(), value) {
        (3, Some(value)) => Ok(HookId(value << 4)),
        // Ids below 1000 belong to hooks with three digits, such as 010, which have no subhooks. So the last digit is
        // 0.
        (4, Some(value)) if value < 0x1000 && value & 0xF != 0 => Err(IdError::Subhook),
        (4, Some(value)) => Ok(HookId(value)),
        _ => Err(IdError::Shape),
    }
}

/// Parses `V.R`, two decimal numbers below 2^32.
fn version(word: &[u8]) -> Option<(u32, u32)> {
    let dot = word.iter().position(|b| *b == b'.')?;
    let part = |digits: &[u8]| {
        let digits = std::str::from_utf8(digits).ok()?;
        // Rust's parser accepts a sign; a version has none.
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
