//! Error messages for syntax errors.
//!
//! The parser only knows the unexpected token and the list of valid ones. Earlier tokens and open braces often reveal
//! more: most of this file guesses the mistake that was probably made.

use lalrpop_util::ParseError;

use super::MAX_OPERATORS;
use super::lexer::{IdError, Lexer, StanzaError, hook_id};
use super::token::Token;
use crate::excerpt::excerpt;
use crate::reports::Reports;
use crate::{CodeInfo, Diagnostic, Edit, Fix, Span, codes};

/// Turns the error that ended the parse of a stanza into a diagnostic.
pub(crate) fn explain<'s>(
    reports: &Reports<'s>,
    lexer: &Lexer<'s>,
    error: ParseError<u32, Token, StanzaError>,
) -> Diagnostic {
    match error {
        ParseError::User { error: StanzaError::Nesting(span, max) } => reports
            .error(&codes::NESTING, span, format!("braces and parentheses are nested deeper than {max}"))
            .with_help("move inner parts to functions, or raise the limit with `--max-nesting`"),
        ParseError::User { error: StanzaError::Operators(span) } => reports
            .error(&codes::OPERATORS, span, format!("expression has more than {MAX_OPERATORS} operators"))
            .with_help("assign parts of it to macros"),
        ParseError::UnrecognizedToken { token: (start, token, end), expected } => {
            let found = UnexpectedToken { token: Some(token), span: Span::new(start, end) };
            Explainer { reports, lexer, found, expected }.explain()
        }
        ParseError::UnrecognizedEof { expected, .. } => {
            let [.., (_, last)] = lexer.recent();
            let end = last.end;
            let found = UnexpectedToken { token: None, span: Span::new(end, end) };
            Explainer { reports, lexer, found, expected }.explain()
        }
        ParseError::ExtraToken { token: (start, ..) } | ParseError::InvalidToken { location: start } => {
            reports.error(&codes::UNEXPECTED, Span::new(start, start), "unexpected token")
        }
    }
}

/// Token that the parser did not accept; `None` at the end of the stanza.
#[derive(Debug, Clone, Copy)]
struct UnexpectedToken {
    token: Option<Token>,
    span: Span,
}

struct Explainer<'c, 's> {
    reports: &'c Reports<'s>,
    lexer: &'c Lexer<'s>,
    found: UnexpectedToken,
    /// Names of the accepted tokens in the grammar, in double quotes.
    expected: Vec<String>,
}

impl Explainer<'_, '_> {
    fn explain(&self) -> Diagnostic {
        if let Some(diagnostic) = self.stray_ampersand() {
            return diagnostic;
        }
        if let Some(diagnostic) = self.foreign_word() {
            return diagnostic;
        }
        let Some(token) = self.found.token else { return self.at_end() };
        match token {
            Token::BadHookId => self.bad_hook_id(),
            Token::BadVersion => self.bad_version(),
            Token::BadLevel => self.bad_level(),
            Token::Unclosed => self.unclosed_string(),
            Token::Stray => self.stray_byte(),
            Token::CloseParen | Token::CloseBrace | Token::CloseBraces => self.closing(token),
            Token::OpenBrace | Token::OpenBraces if self.wants_item() => self.lone_brace(),
            Token::OpenParen => self.open_paren(),
            Token::Comma if self.wants_item() => self.stray_comma(),
            Token::Any => self.wildcard(),
            _ if self.wants("backquoted string") && !self.wants_item() => self.case_body(),
            _ => self.unexpected(),
        }
    }

    fn error(&self, code: &'static CodeInfo, message: impl Into<String>) -> Diagnostic {
        self.reports.error(code, self.found.span, message)
    }

    fn text(&self, span: Span) -> String {
        excerpt(self.reports.source.slice(span))
    }

    fn found_text(&self) -> String {
        self.text(self.found.span)
    }

    fn wants(&self, name: &str) -> bool {
        self.expected.iter().any(|expected| expected.trim_matches('"') == name)
    }

    /// True if an item is accepted here.
    fn wants_item(&self) -> bool {
        self.wants("newline")
    }

    /// The two tokens before the unexpected one, nearest first.
    fn previous_tokens(&self) -> [(Token, Span); 2] {
        let [first, second, third] = self.lexer.recent();
        if self.found.token.is_some() { [second, first] } else { [third, second] }
    }

    fn at_end(&self) -> Diagnostic {
        if let Some(diagnostic) = self.unclosed_bracket() {
            return diagnostic;
        }
        let message = format!("stanza ends, expected {}", self.wanted());
        let error = self.error(&codes::UNEXPECTED, message).with_label("the stanza ends here");
        error.with_help("end the line with `\\` if the stanza continues on the next line")
    }

    /// Reports the innermost open bracket; `{{` is reported as one.
    fn unclosed_bracket(&self) -> Option<Diagnostic> {
        let open = self.lexer.innermost()?;
        let span = if open.follows_brace { Span::new(open.span.start - 1, open.span.end) } else { open.span };
        let message = format!("`{}` is not closed", self.text(span));
        let error = self.reports.error(&codes::BRACKET, span, message).with_label("opened here");
        Some(error.with_secondary(self.reports.id(), self.found.span, "expected the closing bracket before this"))
    }

    fn bad_hook_id(&self) -> Diagnostic {
        let word = self.reports.source.slice(self.found.span);
        let text = self.found_text();
        if hook_id(word) == Err(IdError::Subhook) {
            let message = format!("`{text}` is not an event id: a 4-digit id below 1000 must end in 0");
            let help = "write the 3 digits of the hook, with or without a 0 after them";
            return self.error(&codes::HOOK_ID, message).with_help(help);
        }
        let error = self.error(&codes::HOOK_ID, format!("stanza begins with `{text}`, which is not an event id"));
        error.with_help("write 3 or 4 hexadecimal digits; to continue a stanza, end the previous line with `\\`")
    }

    fn bad_version(&self) -> Diagnostic {
        let message = format!("expected version and release such as `1.0`, found `{}`", self.found_text());
        let help = "write two decimal numbers below 2^32, separated by a dot, after the event id";
        self.error(&codes::VERSION, message).with_help(help)
    }

    fn bad_level(&self) -> Diagnostic {
        let text = self.found_text();
        const LEVELS: &str = "use one of the levels `APPL`, `SVC`, `KERN`, `INT` and `0`";
        let levels = ["L=APPL", "L=SVC", "L=KERN", "L=INT"];
        let error = self.error(&codes::LEVEL, format!("`{text}` is not a level"));
        match levels.iter().find(|level| level.eq_ignore_ascii_case(&text)) {
            Some(level) => {
                let title = format!("write `{level}`");
                error
                    .with_help(format!("{title}; {LEVELS}"))
                    .with_fix(Fix::guess(title, [Edit::replace(self.found.span, *level)]))
            }
            None => error.with_help(LEVELS),
        }
    }

    fn unclosed_string(&self) -> Diagnostic {
        let start = self.found.span.start;
        let quote = Span::new(start, start + 1);
        let message = format!("string has no closing `{}` in its stanza", self.text(quote));
        let error = self.reports.error(&codes::UNCLOSED, quote, message).with_label("begins here");
        error.with_help("add the closing quote, or end the line with `\\` to continue the string")
    }

    fn stray_byte(&self) -> Diagnostic {
        let [(before, place), _] = self.previous_tokens();
        let bytes = self.reports.source.slice(Span::new(self.found.span.start, self.lexer.end()));
        match bytes.first() {
            Some(b'%') if matches!(before, Token::Macro) && place.end == self.found.span.start => {
                let error = self.error(&codes::CAST, "`%` does not begin a cast here");
                error.with_help("write a cast such as `%U4`, or put the `%` in quotes to print it")
            }
            Some(b'$') => self.error(&codes::STRAY_BYTE, "`$` is not followed by a name").with_help(QUOTE_HELP),
            Some(b'\\') => {
                let next = Span::new(self.found.span.start, (self.found.span.start + 2).min(self.lexer.end()));
                let error = self.error(&codes::STRAY_BYTE, format!("`{}` is not an escape", self.text(next)));
                error.with_help("use `\\n`, `\\t`, `\\*` or, at line end, `\\`")
            }
            _ if self.lexer.is_in_expression() => {
                let message = format!("`{}` is not allowed in an expression", self.found_text());
                self.error(&codes::STRAY_BYTE, message).with_help(OPERATORS_HELP)
            }
            _ => {
                let message = format!("a word cannot begin with `{}`", self.found_text());
                self.error(&codes::STRAY_BYTE, message).with_help(QUOTE_HELP)
            }
        }
    }

    /// Reports a misplaced `&`. It is valid in BITFLAGS, in the mask of a switch and in expressions.
    fn stray_ampersand(&self) -> Option<Diagnostic> {
        let [(before, place), (second, second_place)] = self.previous_tokens();
        let is_selector = |token| matches!(token, Token::Code(_) | Token::IllegalCode | Token::Macro);
        let in_text = !self.lexer.is_in_expression();
        let is_ampersand = matches!(self.found.token, Some(Token::Ampersand));
        let (span, message) = if is_ampersand && in_text && !self.wants("constant") {
            (self.found.span, "`&` is not allowed here")
        } else if matches!(before, Token::Ampersand) && is_selector(second) && self.wants("word") {
            (place, "`&` is not followed by a mask")
        } else if matches!(second, Token::Ampersand) && self.expected.len() == 1 && self.wants(",") {
            (second_place, "`&` and mask are not followed by a comma")
        } else {
            return None;
        };
        Some(self.reports.error(&codes::STRAY_AMPERSAND, span, message).with_help(MASK_HELP))
    }

    fn closing(&self, token: Token) -> Diagnostic {
        let is_brace = !matches!(token, Token::CloseParen);
        let in_paren = self.lexer.innermost().is_some_and(|open| open.is_paren);
        if self.lexer.has_closed() {
            return self.closing_early();
        }
        match self.unclosed_bracket() {
            Some(diagnostic) if is_brace && in_paren && !self.wants("constant") => diagnostic,
            _ if self.wants("constant") => self.unexpected(),
            _ => self.error(&codes::BRACKET, format!("`{}` closes nothing", self.found_text())).with_help(QUOTE_HELP),
        }
    }

    /// Reports a closing bracket before its content is complete.
    fn closing_early(&self) -> Diagnostic {
        if self.wants("} before }") && !self.wants("}") && !self.wants("=") {
            let error = self.error(&codes::BRACKET, "`{{` is closed by a single `}`");
            return error.with_help("write `}}` without a blank");
        }
        if self.wants("backquoted string") { self.case_body() } else { self.unexpected() }
    }

    /// Reports a keyword of C before the current or innermost open parenthesis: `if (`, `printf(`.
    fn foreign_word(&self) -> Option<Diagnostic> {
        let paren = match self.found.token {
            Some(Token::OpenParen) => self.found.span,
            _ => self.lexer.innermost().filter(|open| open.is_paren)?.span,
        };
        let before = self.reports.source.bytes().get(..paren.start as usize)?.trim_ascii_end();
        let start = before.iter().rposition(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')? + 1;
        let word = Span::new(start as u32, before.len() as u32);
        let help = foreign_word(&before[start..])?;
        let message = format!("trcfmt has no `{}`", self.text(word));
        Some(self.reports.error(&codes::UNEXPECTED, word, message).with_help(help))
    }

    fn lone_brace(&self) -> Diagnostic {
        let [(before, place), (second, second_place)] = self.previous_tokens();
        let error = self.error(&codes::BRACKET, "`{` begins neither an assignment nor the body of a case");
        let text = self.text(place);
        let ends_case = matches!(second, Token::Quoted | Token::Backquoted | Token::Word | Token::CloseBrace);
        let may_precede = ends_case || matches!(second, Token::Macro | Token::Code(_));
        match before {
            Token::OpenBraces => {
                error.with_help("put the assignment inside the braces of the body: `{ {{ $name = … }} }`")
            }
            Token::Number | Token::Word if may_precede => {
                let fix = Fix::guess("add the comma", [Edit::insert(second_place.end, ",")]);
                let help = format!("add a comma before the match value: `, {text} {{ … }}`");
                error.with_help(help).with_fix(fix)
            }
            Token::Macro | Token::Code(_) => {
                let help = format!("add a comma and a match value before the body: `{text}, 1 {{ … }}`");
                error.with_help(help)
            }
            Token::Quoted if matches!(second, Token::Number | Token::Word | Token::Any) => {
                error.with_help(format!("move the text into the braces: `{{ {text} … }}`"))
            }
            _ => error.with_help("write `{{ $name = … }}`; braces of a body follow a match value or a LOOP count"),
        }
    }

    fn open_paren(&self) -> Diagnostic {
        let [(before, place), _] = self.previous_tokens();
        let is_word = matches!(before, Token::Word | Token::Number | Token::Code(_) | Token::Move(_));
        let error = self.error(&codes::BRACKET, "`(` does not begin a call here");
        if is_word && place.end < self.found.span.start {
            let fix = Fix::guess("delete the blank", [Edit::delete(Span::new(place.end, self.found.span.start))]);
            error.with_help(format!("write the call without a blank: `{}(`", self.text(place))).with_fix(fix)
        } else if matches!(before, Token::FunctionName) {
            self.case_body()
        } else {
            error.with_help(QUOTE_HELP)
        }
    }

    fn stray_comma(&self) -> Diagnostic {
        let [(before, place), _] = self.previous_tokens();
        if matches!(before, Token::Move(_)) {
            let message = format!("`{}` moves the data pointer and cannot select", self.text(place));
            return self
                .reports
                .error(&codes::POSITION_VALUE, place, message)
                .with_help("begin a switch with a code that reads, or with a macro");
        }
        let error = self.error(&codes::STRAY_COMMA, "comma after an item that cannot select");
        let text = self.text(place);
        if let (Token::Word, Some((selector, mask))) = (before, text.split_once('&'))
            && !selector.is_empty()
            && !mask.is_empty()
        {
            return error.with_help(format!("write `{selector} & {mask}`: without blanks, `&` is part of a word"));
        }
        error
            .with_help("use commas after the selector and the cases of a switch; put a text of several words in quotes")
    }

    fn wildcard(&self) -> Diagnostic {
        let error = self.error(&codes::UNEXPECTED, "`\\*` is only allowed as a match value");
        error.with_help("write `, \\*` to begin a case of a switch, or put it in quotes to print it")
    }

    fn case_body(&self) -> Diagnostic {
        let (text, span) = (self.found_text(), self.found.span);
        match self.found.token {
            Some(Token::Loop | Token::Bitflags | Token::StartTimer | Token::EndTimer | Token::FunctionName) => {
                let message = format!("`{text}` needs braces as the body of a case");
                self.reports.error(&codes::CASE_BODY, span, message).with_help(format!("write `{{ {text} … }}`"))
            }
            _ => {
                let error =
                    self.error(&codes::CASE_BODY, format!("expected the body of a case, found {}", self.found_name()));
                error.with_help("write a string, one bare word, or items in braces")
            }
        }
    }

    fn unexpected(&self) -> Diagnostic {
        let message = format!("expected {}, found {}", self.wanted(), self.found_name());
        let mut error = self.error(&codes::UNEXPECTED, message);
        error.help = self.hint();
        error.fix = self.fix();
        error
    }

    fn fix(&self) -> Option<Fix> {
        let span = self.found.span;
        let edit = match self.found.token? {
            Token::Name if self.wants("macro") => Edit::insert(span.start, "$"),
            Token::Macro if self.wants("name") => Edit::delete(Span::new(span.start, span.start + 1)),
            _ => return None,
        };
        let title = if edit.span.is_empty() { "put a `$` before it" } else { "delete the `$`" };
        Some(Fix::guess(title, [edit]))
    }

    fn hint(&self) -> Option<String> {
        let text = self.found_text();
        if let Some(help) = foreign_word(text.as_bytes()) {
            return Some(help.into());
        }
        match self.found.token? {
            Token::Name if self.wants("macro") => Some(format!("write macros with `$`: `${text}`")),
            Token::Minus if self.wants("constant") => Some("write `0 - …`: there is no unary minus".into()),
            Token::Quoted if self.wants("constant") => Some("move the text out of the expression".into()),
            Token::Number if self.wants("macro") && self.wants("format code") => {
                Some(format!("assign it first: `{{{{ $n = {text} }}}}`, and use `$n`"))
            }
            Token::Macro if self.wants("name") => Some("write parameters without `$`".into()),
            Token::Code(_) | Token::Loop | Token::Bitflags if self.wants("string") => {
                Some(format!("put it in quotes to print these letters: `\"{text}\"`"))
            }
            Token::Word if self.wants("function name") => {
                Some("write `{{ $name = … }}` for an assignment, `{{ name(param) … }}` for a function".into())
            }
            _ => None,
        }
    }

    /// Name of the unexpected token, for a message.
    fn found_name(&self) -> String {
        match self.found.token {
            None => "the end of the stanza".into(),
            Some(token @ (Token::Quoted | Token::Backquoted)) => format!("a {}", token.name()),
            Some(Token::Newline) => "`\\n`".into(),
            Some(Token::Tab) => "`\\t`".into(),
            Some(_) => format!("`{}`", self.found_text()),
        }
    }

    /// Name of the expected tokens, for a message.
    fn wanted(&self) -> &'static str {
        let wanted = [
            (self.wants("event id"), "an event id"),
            (self.wants("version"), "a version such as `1.0`"),
            (self.wants_item(), "an item"),
            (self.wants("wildcard"), "a match value"),
            (self.wants("backquoted string"), "the body of a case"),
            (self.wants("string"), "a text"),
            (self.wants("constant") && self.wants("name"), "the name of a parameter"),
            (self.wants("constant"), "a format code, a macro or a constant"),
            (self.wants("macro") && self.wants("function name"), "`$name =` or `name(`"),
            (self.wants("macro"), "a format code or a macro"),
            (self.wants("word") && self.wants("&"), "an entry of BITFLAGS"),
            (self.wants("word"), "a value"),
            (self.wants("="), "`=` or `}}`"),
            (self.wants(")") && self.wants("&"), "an operator or `)`"),
            (self.wants(",") && self.wants("&"), "an operator or a comma"),
            (self.wants("&") && self.wants("} before }"), "an operator or `}}`"),
            (self.wants(")") && self.wants(","), "a comma or `)`"),
            (self.wants(")"), "`)`"),
            (self.wants("("), "`(`"),
            (self.wants(","), "a comma"),
            (self.wants("{"), "`{`"),
            (self.wants("} before }"), "`}}`"),
            (self.wants("}"), "`}`"),
        ];
        wanted.iter().find(|(is_wanted, _)| *is_wanted).map_or("something else", |(_, text)| text)
    }
}

/// Help for keywords of C that trcfmt does not have.
pub fn foreign_word(word: &[u8]) -> Option<&'static str> {
    Some(match &word.to_ascii_lowercase()[..] {
        b"if" | b"else" | b"elif" | b"switch" | b"case" => {
            "use a switch: `$D1%U4, 0 \"off\", 1 { \"on \" X4 }, \\* \"other\"`"
        }
        b"while" | b"for" => "use LOOP with a count and a body: `LOOP $D1 { X4 }`",
        b"printf" => "write texts and codes in the order of the output: `\"pid=\" $D1%U4`",
        _ => return None,
    })
}

const QUOTE_HELP: &str = "put it in quotes to print it";
const OPERATORS_HELP: &str = "use the operators `+ - * / &`";
const MASK_HELP: &str = "write a mask between a selector and its comma, such as `HT & 0x07,`; \
    put the `&` in quotes to print it";
