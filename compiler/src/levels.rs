//! Levels of warnings: set by the caller, and by `allow=` comments in sources.

use crate::codes::{self, BAD_ALLOW, UNUSED_ALLOW};
use std::cmp::Reverse;
use std::collections::HashMap;
use tfbc_grammar::trcfmt::ast::Allow;
use tfbc_grammar::{CodeInfo, Diagnostic, Edit, Fix, Severity, SourceId, Span, Spanned, nearest};

/// Treatment of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LintLevel {
    /// Dropped.
    Allow,
    /// Reported as a warning.
    Warn,
    /// Reported as an error.
    Deny,
}

/// Levels set by the caller. If several apply to a code, the most specific one is used; among equals, the strictest.
///
/// ```
/// use tfbc_compiler::{LintLevel, Levels};
/// let mut levels = Levels::default();
/// levels.set("all", LintLevel::Deny)?;
/// levels.set("C4x", LintLevel::Warn)?;
/// levels.set("C49", LintLevel::Allow)?;
/// assert_eq!(levels.set("S02", LintLevel::Allow).unwrap_err(), "S02 is an error and cannot be allowed");
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Levels {
    /// Prefixes of codes, each with its level.
    rules: Vec<(String, LintLevel)>,
}

impl Levels {
    /// Sets the level of a code, of a group of ten (`C4x`), of a letter (`C`), or of `all` warnings.
    ///
    /// # Errors
    /// The code is unknown, or it is an error, whose level cannot be lowered.
    pub fn set(&mut self, code: &str, level: LintLevel) -> Result<(), String> {
        let start = if code == "all" { "" } else { code.trim_end_matches('x') };
        if let Some(known) = known().find(|known| known.code == code) {
            if known.severity == Severity::Error && level != LintLevel::Deny {
                let verb = if level == LintLevel::Allow { "allowed" } else { "made a warning" };
                return Err(format!("{code} is an error and cannot be {verb}"));
            }
        } else {
            let is_group = code == "all" || start.len() < 3 && code.len() <= 3 && !start.is_empty();
            let has_warning = |known: &CodeInfo| known.code.starts_with(start) && known.severity == Severity::Warning;
            if !is_group || !known().any(has_warning) {
                return Err(format!("unknown code `{code}`{}", did_you_mean(code.as_bytes())));
            }
        }
        self.rules.push((start.into(), level));
        Ok(())
    }

    /// True if no level is set.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    fn of(&self, code: &CodeInfo) -> LintLevel {
        let about = self.rules.iter().filter(|(start, _)| code.code.starts_with(&start[..]));
        about.map(|(start, level)| (start.len(), *level)).max().map_or(LintLevel::Warn, |(_, level)| level)
    }

    /// Drops the allowed warnings and turns the denied ones into errors.
    pub(crate) fn apply(&self, diagnostics: &mut Vec<Diagnostic>) {
        if self.is_empty() {
            return;
        }
        diagnostics.retain_mut(|found| {
            let level = if found.severity == Severity::Warning { self.of(found.code) } else { LintLevel::Warn };
            if level == LintLevel::Deny {
                found.severity = Severity::Error;
            }
            level != LintLevel::Allow
        });
    }
}

/// All codes about sources.
fn known() -> impl Iterator<Item = &'static CodeInfo> {
    tfbc_grammar::CODES.iter().chain(codes::ALL).copied()
}

fn find(code: &[u8]) -> Option<&'static CodeInfo> {
    known().find(|known| known.code.as_bytes() == code)
}

fn near(code: &[u8]) -> Option<&'static CodeInfo> {
    let warnings = || known().filter(|known| known.severity == Severity::Warning);
    let near = nearest(code, warnings().map(|known| known.code.as_bytes()))?;
    find(near)
}

fn did_you_mean(code: &[u8]) -> String {
    near(code).map_or(String::new(), |near| format!("; did you mean `{}` ({})?", near.code, near.title))
}

/// Codes that depend on the other files of the set. Allowing them is never reported as unnecessary.
const OF_THE_SET: &[&str] = &["S22", "C40", "C42", "C48", "C50", "X94", "X95", "C53"];

/// Drops the warnings that a source's comments allow, and reports problems with those comments.
pub(crate) fn allow(source: SourceId, allows: &[Allow<'_>], diagnostics: &mut Vec<Diagnostic>) {
    if allows.is_empty() {
        return;
    }
    let rules: Vec<Rule> = allows.iter().flat_map(Rule::all).collect();
    let mut scopes = Scopes::of(&rules);
    let has_errors =
        diagnostics.iter().any(|found| found.primary.source == source && found.severity == Severity::Error);
    diagnostics.retain(|found| !scopes.allow(source, found));
    let mut found: Vec<Diagnostic> = Vec::new();
    for rule in &rules {
        match rule.known {
            None => found.push(rule.unknown(source)),
            Some(known) if known.severity == Severity::Error => found.push(rule.is_error(source, known)),
            // After an error, the warnings of its stanza are unknown.
            Some(known) if !scopes.is_used(rule) && !has_errors && !OF_THE_SET.contains(&known.code) => {
                found.push(rule.unused(source, known));
            }
            Some(_) => {}
        }
    }
    found.retain(|found| !scopes.allow(source, found));
    diagnostics.append(&mut found);
}

/// Scopes in which each code is allowed. Scopes are stanzas or elements, so two of them are nested or disjoint.
struct Scopes(HashMap<&'static str, Vec<AllowScope>>);

/// Scope of one `allow=`; a span of `None` is the whole file. The scopes of a code are sorted by start, outer ones
/// first.
struct AllowScope {
    span: Option<Span>,
    /// Index of the innermost scope around this one.
    around: Option<usize>,
    used: bool,
}

impl Scopes {
    fn of(rules: &[Rule<'_>]) -> Self {
        let mut scopes: HashMap<&'static str, Vec<AllowScope>> = HashMap::new();
        for rule in rules {
            if let Some(known) = rule.known {
                scopes.entry(known.code).or_default().push(AllowScope { span: rule.scope, around: None, used: false });
            }
        }
        for list in scopes.values_mut() {
            list.sort_by_key(|scope| scope.order());
            list.dedup_by_key(|scope| scope.span);
            for at in 1..list.len() {
                let mut around = Some(at - 1);
                while let Some(outer) = around.filter(|outer| !list[*outer].contains(list[at].start())) {
                    around = list[outer].around;
                }
                list[at].around = around;
            }
        }
        Scopes(scopes)
    }

    /// True if a diagnostic is allowed. Marks every scope that contains it as used.
    fn allow(&mut self, source: SourceId, found: &Diagnostic) -> bool {
        if found.severity != Severity::Warning || found.primary.source != source {
            return false;
        }
        let Some(list) = self.0.get_mut(found.code.code) else { return false };
        let place = found.primary.span.start;
        let mut inner = list.partition_point(|scope| scope.start() <= place).checked_sub(1);
        let mut allowed = false;
        while let Some(at) = inner {
            let is_inside = list[at].contains(place);
            list[at].used |= is_inside;
            allowed |= is_inside;
            inner = list[at].around;
        }
        allowed
    }

    fn is_used(&self, rule: &Rule<'_>) -> bool {
        let list = rule.known.and_then(|known| self.0.get(known.code));
        let order = AllowScope { span: rule.scope, around: None, used: false }.order();
        list.is_some_and(|list| list.binary_search_by_key(&order, AllowScope::order).is_ok_and(|at| list[at].used))
    }
}

impl AllowScope {
    fn start(&self) -> u32 {
        self.span.map_or(0, |span| span.start)
    }

    /// Sort key: by start, then larger scopes first.
    fn order(&self) -> (u32, bool, Reverse<u32>) {
        (self.start(), self.span.is_some(), Reverse(self.span.map_or(u32::MAX, |span| span.end)))
    }

    fn contains(&self, place: u32) -> bool {
        self.span.is_none_or(|span| (span.start..span.end.max(span.start + 1)).contains(&place))
    }
}

/// One code of an `allow=` comment.
struct Rule<'a> {
    code: Spanned<&'a [u8]>,
    known: Option<&'static CodeInfo>,
    scope: Option<Span>,
    /// The range that a fix deletes.
    removal: Span,
}

impl<'a> Rule<'a> {
    fn all(allow: &Allow<'a>) -> Vec<Self> {
        let codes = allow.codes;
        let rule = |(at, code): (usize, &Spanned<&'a [u8]>)| {
            let removal = match at {
                _ if codes.len() == 1 => allow.whole,
                0 => Span::new(code.span.start, codes[1].span.start),
                _ => Span::new(codes[at - 1].span.end, code.span.end),
            };
            Rule { code: *code, known: find(code.node), scope: allow.scope, removal }
        };
        codes.iter().enumerate().map(rule).collect()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(self.code.node).into_owned()
    }

    fn unknown(&self, source: SourceId) -> Diagnostic {
        let message = format!("unknown code `{}` in `allow=`", self.text());
        let warning = Diagnostic::warning(&BAD_ALLOW, source, self.code.span, message);
        match near(self.code.node) {
            None => warning.with_help("use the code of a diagnostic, such as S47 of `warning[S47]`"),
            Some(near) => {
                let fix = Fix::guess(format!("write `{}`", near.code), [Edit::replace(self.code.span, near.code)]);
                warning.with_help(format!("did you mean `{}` ({})?", near.code, near.title)).with_fix(fix)
            }
        }
    }

    fn is_error(&self, source: SourceId, known: &CodeInfo) -> Diagnostic {
        let message = format!("{} ({}) is an error and cannot be allowed", known.code, known.title);
        let warning = Diagnostic::warning(&BAD_ALLOW, source, self.code.span, message);
        warning.with_help("delete it: only warnings can be allowed").with_fix(self.deletion())
    }

    fn unused(&self, source: SourceId, known: &CodeInfo) -> Diagnostic {
        let here = if self.scope.is_some() { "here" } else { "in this file" };
        let message = format!("{} ({}) does not occur {here}, so it need not be allowed", known.code, known.title);
        let warning = Diagnostic::warning(&UNUSED_ALLOW, source, self.code.span, message);
        warning.with_help("delete it").with_fix(self.deletion())
    }

    fn deletion(&self) -> Fix {
        Fix::safe(format!("delete `{}`", self.text()), [Edit::delete(self.removal)])
    }
}
