//! Parses a whole file: logical lines, settings and stanzas.

use super::actions::{Actions, NodeStacks};
use super::ast::{Allow, BrokenStanza, File, Setting, Stanza};
use super::expected;
use super::grammar::StanzaParser;
use super::lexer::Lexer;
use super::lines::{self, BYTE_ORDER_MARK, LineKind, LogicalLine, is_blank, logical_lines};
use super::token::Token;
use crate::allow;
use crate::excerpt::excerpt;
use crate::field_entries;
use crate::limits::bytes;
use crate::reports::Reports;
use crate::{Arena, Diagnostic, Edit, Fix, Source, SourceId, SourceLimits, Span, Spanned, codes};

/// Parses a trcfmt file. The tree lives in `arena`; diagnostics refer to the source by `id`.
///
/// A stanza with an error is left out of the tree, without effect on the next. Diagnostics are in source order.
///
/// ```
/// use tfbc_grammar::{Arena, Source, SourceId, trcfmt};
///
/// let arena = Arena::new();
/// let source = Source::new("a.trcfmt", "010 1.0 \"GOOD\" X4\n020 1.0 \"BAD\" X17\n");
/// let (file, diagnostics) = trcfmt::parse(&arena, SourceId(0), &source);
/// assert_eq!(file.stanzas.len(), 1);
/// assert_eq!(diagnostics[0].code.code, "S07");
/// ```
pub fn parse<'ast>(arena: &'ast Arena, id: SourceId, source: &Source) -> (File<'ast>, Vec<Diagnostic>) {
    parse_within(arena, id, source, &SourceLimits::default())
}

/// Parses with the given limits. Reading stops at the limit on stanzas.
pub fn parse_within<'ast>(
    arena: &'ast Arena,
    id: SourceId,
    source: &Source,
    limits: &SourceLimits,
) -> (File<'ast>, Vec<Diagnostic>) {
    parse_with(arena, id, source, limits, WordOptions::default())
}

/// Options for ambiguous words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WordOptions {
    /// True if an undefined format code is read as a bare word, with a warning, where a bare word is valid.
    pub codes_as_text: bool,
    /// True if codes in backquotes expand anywhere in a word, unless a letter, digit or `_` touches them. A comment `#
    /// tfbc: backquote=` overrides it for its file.
    pub codes_anywhere: bool,
}

/// Parses with the given limits and options for ambiguous words.
///
/// ```
/// use tfbc_grammar::{Arena, Severity, Source, SourceId, SourceLimits, trcfmt};
///
/// let arena = Arena::new();
/// let source = Source::new("a.trcfmt", "010 1.0 \"TEXT\" X17\n020 1.0 \"SELECTOR\" X17, 1 \"one\"\n");
/// let reading = trcfmt::WordOptions { codes_as_text: true, ..trcfmt::WordOptions::default() };
/// let (file, diagnostics) = trcfmt::parse_with(&arena, SourceId(0), &source, &SourceLimits::default(), reading);
/// assert_eq!(file.stanzas.len(), 1);
/// assert_eq!(diagnostics[0].severity, Severity::Warning);
/// assert_eq!(diagnostics[1].severity, Severity::Error);
/// ```
pub fn parse_with<'ast>(
    arena: &'ast Arena,
    id: SourceId,
    source: &Source,
    limits: &SourceLimits,
    reading: WordOptions,
) -> (File<'ast>, Vec<Diagnostic>) {
    let reports = Reports::new(id, source);
    let stacks = NodeStacks::default();
    let mut parser = FileParser { reading, ..FileParser::new(arena, &reports, &stacks, limits) };
    if source.bytes().len() > limits.source.min(SourceLimits::MAX_BYTES) {
        let message = format!("source is larger than {}", bytes(limits.source));
        let error = reports.error(&codes::SOURCE_TOO_LARGE, Span::default(), message);
        reports.add(error.with_help("split it, or raise the limit with `--max-source`"));
    } else {
        parser.warn_byte_order_mark();
        // A generated file can have a million errors; ten thousand of them are enough to see why.
        let mut lines = logical_lines(source).take_while(|_| !reports.is_full());
        while lines.next().is_some_and(|line| parser.line(&line)) {}
    }
    let file = parser.finish();
    (file, reports.finish())
}

struct FileParser<'ast, 's> {
    arena: &'ast Arena,
    limits: &'s SourceLimits,
    reading: WordOptions,
    reports: &'s Reports<'s>,
    stacks: &'s NodeStacks<'ast>,
    n_stanzas: usize,
    grammar: StanzaParser,
    settings: bumpalo::collections::Vec<'ast, Setting<'ast>>,
    allows: bumpalo::collections::Vec<'ast, Allow<'ast>>,
    /// `allow=` comments directly above the current line; used only after the first stanza.
    above: Vec<Allow<'ast>>,
    /// Entries of the `fields=` comments directly above the current line.
    fields: Vec<Spanned<&'ast [u8]>>,
    stanzas: bumpalo::collections::Vec<'ast, Stanza<'ast>>,
    broken: bumpalo::collections::Vec<'ast, BrokenStanza>,
    broken_functions: bumpalo::collections::Vec<'ast, &'ast [u8]>,
    saw_stanza: bool,
}

impl<'ast, 's> FileParser<'ast, 's> {
    fn new(
        arena: &'ast Arena,
        reports: &'s Reports<'s>,
        stacks: &'s NodeStacks<'ast>,
        limits: &'s SourceLimits,
    ) -> Self {
        Self {
            limits,
            reading: WordOptions::default(),
            arena,
            reports,
            stacks,
            n_stanzas: 0,
            grammar: StanzaParser::new(),
            settings: arena.list(),
            allows: arena.list(),
            above: Vec::new(),
            fields: Vec::new(),
            stanzas: arena.list(),
            broken: arena.list(),
            broken_functions: arena.list(),
            saw_stanza: false,
        }
    }

    fn finish(mut self) -> File<'ast> {
        self.allow_nothing();
        File {
            allows: self.allows.into_bump_slice(),
            settings: self.settings.into_bump_slice(),
            stanzas: self.stanzas.into_bump_slice(),
            broken: self.broken.into_bump_slice(),
            broken_functions: self.broken_functions.into_bump_slice(),
        }
    }

    /// Parses a line. Returns false if parsing should stop.
    fn line(&mut self, line: &LogicalLine) -> bool {
        match line.kind {
            LineKind::Blank => self.allow_nothing(),
            LineKind::Comment => {
                self.warn_swallowed(line);
                self.setting(line);
            }
            LineKind::Stanza => {
                self.warn_joins(line);
                self.warn_comments(line);
                self.saw_stanza = true;
                self.allow_stanza(line.span);
                // Stanzas with errors count too: the limit bounds the work, not the result.
                self.n_stanzas += 1;
                if self.n_stanzas > self.limits.templates {
                    self.reports.add(self.too_many_templates(line.span));
                    return false;
                }
                self.stanza(line.span);
            }
            LineKind::Deletion => self.deletion(line),
            LineKind::Unknown => self.unknown(line),
        }
        true
    }

    /// Checks `- id` of an update file.
    fn deletion(&mut self, line: &LogicalLine) {
        self.allow_nothing();
        self.saw_stanza = true;
        let text = self.reports.source.slice(line.span);
        let content = Span::new(line.span.start, line.span.start + text.trim_ascii_end().len() as u32);
        // The id is read as in a stanza, so both accept the same forms.
        let mut tokens = Lexer::new(self.reports.source.bytes(), content);
        let is_id = tokens.next().is_some_and(|token| matches!(token, Ok((_, Token::HookId(_), _))));
        if !is_id || tokens.next().is_some() {
            // The span of a missing id is the `-`.
            let place = if content.is_empty() { Span::new(line.span.start - 1, line.span.start) } else { content };
            let found = match self.reports.source.slice(content) {
                b"" => String::from("nothing"),
                text => format!("`{}`", excerpt(text)),
            };
            let message = format!("expected 3 or 4 hex digits of an event id after `-`, found {found}");
            self.reports.add(self.reports.error(&codes::HOOK_ID, place, message));
        }
    }

    /// Reports a line of an update file that is neither an entry nor a comment.
    fn unknown(&mut self, line: &LogicalLine) {
        self.allow_nothing();
        self.saw_stanza = true;
        let text = self.reports.source.slice(line.span);
        let at = line.span.start + text.iter().take_while(|byte| is_blank(**byte)).count() as u32;
        let error = self.reports.error(&codes::HOOK_ID, Span::new(at, at + 1), "expected `+` or `-` of an update file");
        self.reports.add(error.with_help(
            "write `+ stanza` to add or replace, `- id` to delete; end a line with `\\` to continue a stanza",
        ));
    }

    fn too_many_templates(&self, stanza: Span) -> Diagnostic {
        let message = format!("source has more than {} templates", self.limits.templates);
        let place = Span::new(stanza.start, stanza.start.saturating_add(1).min(stanza.end));
        let error = self.reports.error(&codes::TOO_MANY_TEMPLATES, place, message);
        error.with_help("raise the limit with `--max-templates`")
    }

    fn stanza(&mut self, line: Span) {
        let fields = std::mem::take(&mut self.fields);
        let before = self.reports.mark();
        let mut lexer = Lexer::new(self.reports.source.bytes(), line).with_nesting(self.limits.nesting);
        let mut stanza = self.parse_stanza(&mut lexer, line);
        // Strict first: a report must read a correct stanza exactly as `tfbc check` does. The second attempt is only
        // for stanzas that AIX reads with a warning.
        if stanza.is_none() && self.reading.codes_as_text && lexer.has_illegal_code() {
            let errors = self.reports.take_since(before);
            let mut lenient = Lexer::new(self.reports.source.bytes(), line).with_nesting(self.limits.nesting).lenient();
            stanza = self.parse_stanza(&mut lenient, line);
            if stanza.is_none() {
                // Keep the errors of the strict attempt, because `tfbc check` reports them too.
                self.reports.take_since(before);
                errors.into_iter().for_each(|error| self.reports.add(error));
            }
        }
        match stanza {
            Some(stanza) => self.stanzas.push(Stanza { fields: self.arena.slice(&fields), ..stanza }),
            None => self.break_stanza(&mut lexer, line),
        }
    }

    /// Parses the stanza at `line`. Reports errors and returns `None` if there are any.
    fn parse_stanza(&self, lexer: &mut Lexer<'s>, line: Span) -> Option<Stanza<'ast>> {
        let n_errors = self.reports.n_errors();
        let mut actions = Actions::new(self.arena, self.reports, self.stacks, line);
        actions.codes_anywhere = self.reading.codes_anywhere;
        // An action can report an error without failing, so that one pass finds all of them. The stanza is dropped
        // then, too.
        match self.grammar.parse(&actions, &mut *lexer) {
            Ok(stanza) => (self.reports.n_errors() == n_errors).then_some(stanza),
            Err(error) => {
                self.reports.add(expected::explain(self.reports, lexer, error));
                None
            }
        }
    }

    /// Records the names that a broken stanza would have defined, so that references to them are not reported.
    fn break_stanza(&mut self, lexer: &mut Lexer, line: Span) {
        self.broken.push(BrokenStanza { span: line, id: lexer.hook_id() });
        let names = lexer.drain_defined().iter();
        self.broken_functions.extend(names.map(|name| self.arena.slice(self.reports.source.slice(*name))));
    }

    fn warn_byte_order_mark(&self) {
        if self.reports.source.bytes().starts_with(BYTE_ORDER_MARK) {
            let mark = Span::new(0, BYTE_ORDER_MARK.len() as u32);
            let message = "file begins with a byte order mark, which is skipped";
            let warning = self.reports.warning(&codes::BYTE_ORDER_MARK, mark, message);
            let warning = warning.with_help("save it as plain UTF-8 or ASCII: other programs may print the mark");
            self.reports.add(warning.with_fix(Fix::safe("delete the mark", [Edit::delete(mark)])));
        }
    }

    /// Warns about each line inside a continued stanza that begins with `#` outside quotes.
    fn warn_comments(&self, line: &LogicalLine) {
        let bytes = self.reports.source.bytes();
        // Quotes are followed across lines: a `#` inside of a string is text.
        let mut quote = None;
        let mut at = line.span.start as usize;
        for join in &line.joins {
            for byte in &bytes[at..join.start as usize] {
                match quote {
                    None if matches!(byte, b'"' | b'`') => quote = Some(*byte),
                    Some(open) if open == *byte => quote = None,
                    _ => {}
                }
            }
            at = join.start as usize;
            let next = &bytes[join.end as usize..line.span.end as usize];
            let n_before = next.iter().take_while(|byte| is_blank(**byte) || matches!(byte, b'\r' | b'\n')).count();
            if quote.is_none() && next.get(n_before) == Some(&b'#') {
                let start = join.end + n_before as u32;
                let message = "`#` does not begin a comment inside a stanza: the line is printed";
                let mark = Span::new(start, start + 1);
                let warning = self.reports.warning(&codes::COMMENT_IN_STANZA, mark, message);
                self.reports.add(warning.with_help("move the comment above the stanza, or put the text in quotes"));
            }
        }
    }

    fn warn_joins(&self, line: &LogicalLine) {
        for join in line.joins.iter().chain(&line.dangling).filter(|join| join.len() > 1) {
            let blanks = Span::new(join.start + 1, join.end);
            let warning =
                self.reports.warning(&codes::BLANK_AFTER_BACKSLASH, blanks, "blanks after the `\\` at line end");
            let warning = warning.with_help("delete them: other programs may not continue the line");
            self.reports.add(warning.with_fix(Fix::safe("delete the blanks", [Edit::delete(blanks)])));
        }
        if let Some(join) = self.dangling(line) {
            let span = Span::new(join.start, join.start + 1);
            let warning = self.reports.warning(&codes::DANGLING_BACKSLASH, span, "`\\` at the end of the file");
            let warning = warning.with_help("delete it: no line follows");
            self.reports.add(warning.with_fix(Fix::safe("delete the `\\`", [Edit::delete(join)])));
        }
    }

    /// A `\` without a following line, at the end of the file or before its last line end.
    fn dangling(&self, line: &LogicalLine) -> Option<Span> {
        let rest = |join: &Span| self.reports.source.bytes().get(join.end as usize..).unwrap_or_default();
        line.dangling.or_else(|| line.joins.last().copied().filter(|join| matches!(rest(join), b"\n" | b"\r\n")))
    }

    /// Warns about a continued comment that hides the next line.
    fn warn_swallowed(&self, line: &LogicalLine) {
        let bytes = self.reports.source.bytes();
        let next = |at: usize, join: &Span| {
            let end = line.joins.get(at + 1).map_or(line.span.end, |next| next.start);
            let text = bytes.get(join.end as usize..end as usize)?;
            let start = text.iter().position(|b| !is_blank(*b) && !matches!(b, b'\r' | b'\n'))?;
            Some(Span::new(join.end + start as u32, end))
        };
        let is_lost = |text: &Span| bytes.get(text.start as usize) != Some(&b'#');
        let joins = line.joins.iter().enumerate().filter_map(|(at, join)| Some((join, next(at, join)?)));
        let mut lines = joins.filter(|(_, text)| is_lost(text)).peekable();
        if let Some((join, lost)) = lines.peek().copied() {
            let span = Span::new(join.start, join.start + 1);
            let message = "comment ends in `\\`, so the next line is a comment too";
            let warning = self.reports.warning(&codes::SWALLOWED_LINE, span, message);
            let head = lines::head(self.reports.source, lost);
            let fix = if head.id.is_some() && head.version.is_some() {
                Fix::guess("delete the `\\`", [Edit::delete(*join)])
            } else {
                let marks = lines.map(|(_, text)| Edit::insert(text.start, "# "));
                Fix::safe("begin the next line with `#`", marks)
            };
            self.reports.add(warning.with_help("delete the `\\`, or begin the next line with `#`").with_fix(fix));
        }
    }

    /// Reads `# tfbc: NAME=VALUE`; other comments are ignored.
    fn setting(&mut self, line: &LogicalLine) {
        // A setting ends with its line, although the `\` continues the comment; `warn_swallowed` reports that.
        let end = line.joins.first().map_or(line.span.end, |join| join.start);
        let text = self.reports.source.slice(Span::new(line.span.start, end));
        let Some(hash) = text.iter().position(|b| *b == b'#') else { return };
        let at = hash + 1 + n_blanks(&text[hash + 1..]);
        let Some(setting) = text[at..].strip_prefix(b"tfbc:") else { return };
        let span = trimmed(setting, line.span.start + (at + b"tfbc:".len()) as u32);
        let text = self.reports.source.slice(span);
        let equals = text.iter().position(|b| *b == b'=');
        let name = equals.map(|equals| self.reports.source.slice(trimmed(&text[..equals], span.start)));
        if let (Some(equals), Some(allow::NAME)) = (equals, name) {
            let value = Span::new(span.start + equals as u32 + 1, span.end);
            return self.allow(value, Span::new(line.span.start, end), span);
        }
        if let (Some(equals), Some(field_entries::NAME)) = (equals, name) {
            let value = Span::new(span.start + equals as u32 + 1, span.end);
            return self.field_entries(value, span);
        }
        // This setting changes how the following stanzas are parsed, so it takes effect here and not after the file was
        // read.
        if let (Some(equals), Some(b"backquote"), false) = (equals, name, self.saw_stanza) {
            self.reading.codes_anywhere = text[equals + 1..].trim_ascii() == b"anywhere";
        }
        match equals {
            _ if self.saw_stanza => self.reports.add(self.late_setting(span)),
            Some(equals) if equals > 0 => self.settings.push(Setting {
                name: self.spanned(trimmed(&text[..equals], span.start)),
                value: self.spanned(trimmed(&text[equals + 1..], span.start + equals as u32 + 1)),
            }),
            _ => self.reports.add(self.bad_setting(span)),
        }
    }

    /// Reads `# tfbc: allow=CODE`. Before the first stanza it applies to the file, later to the stanza directly below.
    fn allow(&mut self, value: Span, comment: Span, setting: Span) {
        match allow::read(self.arena, self.reports.source, value, comment) {
            None => {
                let error = self.reports.error(&codes::SETTING, setting, "`allow=` names no code");
                self.reports.add(error.with_help("write for example `# tfbc: allow=S47`"));
            }
            Some(allow) if self.saw_stanza => self.above.push(allow),
            Some(allow) => self.allows.push(allow),
        }
    }

    /// Reads `# tfbc: fields=ENTRY, ENTRY`, which applies to the stanza directly below.
    fn field_entries(&mut self, value: Span, setting: Span) {
        let entries = field_entries::read(self.arena, self.reports.source, value);
        if entries.is_empty() {
            let error = self.reports.error(&codes::SETTING, setting, "`fields=` names no field");
            self.reports.add(error.with_help("write for example `# tfbc: fields=count, time`"));
        }
        self.fields.extend(entries);
    }

    /// Applies the `allow=` comments directly above a stanza to it.
    fn allow_stanza(&mut self, stanza: Span) {
        self.allows.extend(self.above.drain(..).map(|allow| Allow { scope: Some(stanza), ..allow }));
    }

    /// Warns about `allow=` and `fields=` comments with no stanza directly below: they have no effect.
    fn allow_nothing(&mut self) {
        if let [first, .., last] | [first @ last] = &std::mem::take(&mut self.fields)[..] {
            let message = "`fields=` is not directly above a stanza";
            let warning = self.reports.warning(&codes::LATE_SETTING, first.span.to(last.span), message);
            self.reports.add(warning.with_help("move it directly above its stanza"));
        }
        for allow in self.above.drain(..) {
            let ([first, .., last] | [first @ last]) = allow.codes else { continue };
            let message = "`allow=` after the first stanza is not directly above a stanza";
            let warning = self.reports.warning(&codes::LATE_SETTING, first.span.to(last.span), message);
            self.reports.add(warning.with_help("move it directly above its stanza, or to the top for the whole file"));
        }
    }

    fn spanned(&self, span: Span) -> Spanned<&'ast [u8]> {
        Spanned::new(self.arena.slice(self.reports.source.slice(span)), span)
    }

    fn late_setting(&self, span: Span) -> Diagnostic {
        let warning = self.reports.warning(&codes::LATE_SETTING, span, "setting after the first stanza has no effect");
        warning.with_help("move it to the top: settings apply to the whole file")
    }

    fn bad_setting(&self, span: Span) -> Diagnostic {
        let error = self.reports.error(&codes::SETTING, span, "setting does not have the form NAME=VALUE");
        error.with_help("write for example `# tfbc: level=APPL`")
    }
}

fn n_blanks(text: &[u8]) -> usize {
    text.iter().take_while(|b| is_blank(**b)).count()
}

/// Span of `text` without surrounding blanks; `start` is its offset.
fn trimmed(text: &[u8], start: u32) -> Span {
    let from = n_blanks(text);
    let to = text.iter().rposition(|b| !is_blank(*b)).map_or(from, |last| last + 1);
    Span::new(start + from as u32, start + to as u32)
}
