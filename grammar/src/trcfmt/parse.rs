//! A whole file: its logical lines, settings and stanzas.

use super::actions::{Actions, Aside};
use super::ast::{File, HookId, Setting, Stanza};
use super::expected;
use super::grammar::StanzaParser;
use super::lexer::Lexer;
use super::lines::{LineKind, LogicalLine, is_blank, logical_lines};
use crate::reports::Reports;
use crate::{Arena, Diagnostic, Source, SourceId, Span, Spanned, codes};

/// Parses a trcfmt file. The tree lives in `arena`; `id` names the source in the diagnostics.
///
/// A stanza with an error is left out of the tree, and the next is not affected. Diagnostics come in the order of
/// the source.
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
    let reports = Reports::new(id, source);
    let aside = Aside::default();
    let mut parser = FileParser::new(arena, &reports, &aside);
    if source.bytes().len() > Source::MAX_LEN {
        let message = format!("source is larger than {} MiB", Source::MAX_LEN >> 20);
        reports.add(reports.error(&codes::SOURCE_TOO_LARGE, Span::default(), message));
    } else {
        logical_lines(source).take_while(|_| !reports.is_full()).for_each(|line| parser.line(&line));
    }
    let file = parser.finish();
    (file, reports.finish())
}

struct FileParser<'ast, 's> {
    arena: &'ast Arena,
    reports: &'s Reports<'s>,
    aside: &'s Aside<'ast>,
    grammar: StanzaParser,
    settings: bumpalo::collections::Vec<'ast, Setting<'ast>>,
    stanzas: bumpalo::collections::Vec<'ast, Stanza<'ast>>,
    broken: bumpalo::collections::Vec<'ast, HookId>,
    broken_functions: bumpalo::collections::Vec<'ast, &'ast [u8]>,
    saw_stanza: bool,
}

impl<'ast, 's> FileParser<'ast, 's> {
    fn new(arena: &'ast Arena, reports: &'s Reports<'s>, aside: &'s Aside<'ast>) -> Self {
        Self {
            arena,
            reports,
            aside,
            grammar: StanzaParser::new(),
            settings: arena.list(),
            stanzas: arena.list(),
            broken: arena.list(),
            broken_functions: arena.list(),
            saw_stanza: false,
        }
    }

    fn finish(self) -> File<'ast> {
        File {
            settings: self.settings.into_bump_slice(),
            stanzas: self.stanzas.into_bump_slice(),
            broken: self.broken.into_bump_slice(),
            broken_functions: self.broken_functions.into_bump_slice(),
        }
    }

    fn line(&mut self, line: &LogicalLine) {
        match line.kind {
            LineKind::Blank => {}
            LineKind::Comment => {
                self.warn_swallowed(line);
                self.setting(line);
            }
            LineKind::Stanza => {
                self.warn_joins(line);
                self.saw_stanza = true;
                self.stanza(line.span);
            }
        }
    }

    fn stanza(&mut self, line: Span) {
        let n_errors = self.reports.n_errors();
        let actions = Actions::new(self.arena, self.reports, self.aside, line);
        let mut lexer = Lexer::new(self.reports.source.bytes(), line);
        match self.grammar.parse(&actions, &mut lexer) {
            Ok(stanza) if self.reports.n_errors() == n_errors => self.stanzas.push(stanza),
            Ok(_) => self.break_stanza(&mut lexer),
            Err(error) => {
                self.reports.add(expected::explain(self.reports, &lexer, error));
                self.break_stanza(&mut lexer);
            }
        }
    }

    /// Notes what a stanza with errors would have defined, so that its users stay quiet.
    fn break_stanza(&mut self, lexer: &mut Lexer) {
        self.broken.extend(lexer.hook_id());
        let names = lexer.drain_defined().iter();
        self.broken_functions.extend(names.map(|name| self.arena.slice(self.reports.source.slice(*name))));
    }

    fn warn_joins(&self, line: &LogicalLine) {
        for join in line.joins.iter().chain(&line.dangling).filter(|join| join.len() > 1) {
            let blanks = Span::new(join.start + 1, join.end);
            let warning =
                self.reports.warning(&codes::BLANK_BEHIND_BACKSLASH, blanks, "blanks behind the `\\` at line end");
            self.reports.add(warning.with_help("the line is continued all the same; delete them"));
        }
        if let Some(join) = line.dangling {
            let span = Span::new(join.start, join.start + 1);
            let warning = self.reports.warning(&codes::DANGLING_BACKSLASH, span, "`\\` at the end of the file");
            self.reports.add(warning.with_help("there is no line to continue with; delete it"));
        }
    }

    /// A comment that is continued hides what would have been a stanza.
    fn warn_swallowed(&self, line: &LogicalLine) {
        let bytes = self.reports.source.bytes();
        let next = |join: &Span| {
            let end = line.joins.iter().find(|next| next.start > join.start).map_or(line.span.end, |next| next.start);
            let text = &bytes[join.end as usize..end as usize];
            text.iter().copied().find(|b| !is_blank(*b) && !matches!(b, b'\r' | b'\n'))
        };
        if let Some(join) = line.joins.iter().find(|join| next(join).is_some_and(|first| first != b'#')) {
            let span = Span::new(join.start, join.start + 1);
            let message = "comment ends in `\\`, so the next line is comment too";
            let warning = self.reports.warning(&codes::SWALLOWED_LINE, span, message);
            self.reports.add(warning.with_help("delete the `\\`, or begin the next line with `#`"));
        }
    }

    /// `# tfbc: NAME=VALUE`
    fn setting(&mut self, line: &LogicalLine) {
        let end = line.joins.first().map_or(line.span.end, |join| join.start);
        let text = self.reports.source.slice(Span::new(line.span.start, end));
        let Some(hash) = text.iter().position(|b| *b == b'#') else { return };
        let at = hash + 1 + n_blanks(&text[hash + 1..]);
        let Some(setting) = text[at..].strip_prefix(b"tfbc:") else { return };
        let span = trimmed(setting, line.span.start + (at + b"tfbc:".len()) as u32);
        let text = self.reports.source.slice(span);
        let equals = text.iter().position(|b| *b == b'=');
        match equals {
            _ if self.saw_stanza => self.reports.add(self.late_setting(span)),
            Some(equals) if equals > 0 => self.settings.push(Setting {
                name: self.spanned(trimmed(&text[..equals], span.start)),
                value: self.spanned(trimmed(&text[equals + 1..], span.start + equals as u32 + 1)),
            }),
            _ => self.reports.add(self.bad_setting(span)),
        }
    }

    fn spanned(&self, span: Span) -> Spanned<&'ast [u8]> {
        Spanned::new(self.arena.slice(self.reports.source.slice(span)), span)
    }

    fn late_setting(&self, span: Span) -> Diagnostic {
        let warning = self.reports.warning(&codes::LATE_SETTING, span, "setting behind the first stanza has no effect");
        warning.with_help("settings hold for the whole file: move it to the top")
    }

    fn bad_setting(&self, span: Span) -> Diagnostic {
        let error = self.reports.error(&codes::SETTING, span, "setting is not of the form NAME=VALUE");
        error.with_help("write such as `# tfbc: level=APPL`")
    }
}

fn n_blanks(text: &[u8]) -> usize {
    text.iter().take_while(|b| is_blank(**b)).count()
}

/// The place of `text`, which begins at offset `start`, without the blanks around it.
fn trimmed(text: &[u8], start: u32) -> Span {
    let from = n_blanks(text);
    let to = text.iter().rposition(|b| !is_blank(*b)).map_or(from, |last| last + 1);
    Span::new(start + from as u32, start + to as u32)
}
