//! Fixes of findings, applied to their sources.
//!
//! Fixes are applied in rounds. Each round takes the fixes that do not overlap, compiles the result, and keeps them if
//! every one solved its problem. If not, the set is halved until the harmful fix is alone; that one is skipped.
//! Problems that hide others come first: syntax, then errors of meaning, then warnings.

use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Diagnostic, Fix, Severity, SourceId, Sources};

/// Limit on rounds. One fix can reveal the next problem, but real files need only a few rounds.
const MAX_ROUNDS: usize = 64;

/// Limit on compilations per round, for the search for a harmful fix.
const MAX_TRIALS: usize = 64;

/// Fixes to apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixLevel {
    /// Fixes that keep the meaning of the file, or that the author surely meant.
    Safe,
    /// Guesses as well, such as the nearest known name.
    All,
}

impl FixLevel {
    fn includes(self, fix: &Fix) -> bool {
        fix.safe || self == FixLevel::All
    }
}

/// Result of applying fixes.
#[derive(Debug)]
pub struct Fixed {
    /// Sources after the fixes.
    pub sources: Sources,
    /// Diagnostics of the fixed sources.
    pub diagnostics: Vec<Diagnostic>,
    /// Number of fixed diagnostics per source.
    pub n_fixed: Vec<usize>,
}

/// Applies fixes until none is left that helps.
///
/// ```
/// use tfbc_authoring::fix::{FixLevel, fix};
/// use tfbc_grammar::{Source, SourceId, Sources};
/// let mut sources = Sources::new();
/// sources.add(Source::new("a", "010 1.0 \"E\" U4, 0 no, 1 yes, 1 ja,\n"));
/// let fixed = fix(sources, &tfbc_compiler::Options::default(), FixLevel::Safe);
/// assert_eq!(fixed.n_fixed, [2]);
/// assert_eq!(fixed.sources.get(SourceId(0)).unwrap().bytes(), b"010 1.0 \"E\" U4, 0 no, 1 yes\n");
/// ```
pub fn fix(sources: Sources, options: &Options, wanted: FixLevel) -> Fixed {
    let diagnostics = compile(&sources, options).diagnostics;
    let n_fixed = vec![0; sources.iter().count()];
    let mut fixer = Fixer { options, wanted, fixed: Fixed { sources, diagnostics, n_fixed } };
    let mut grade = Grade::Syntax;
    for _ in 0..MAX_ROUNDS {
        // A fix may reveal problems of every grade, so the search starts again at the first grade.
        grade = if fixer.apply_grade(grade) { Grade::Syntax } else { grade.next() };
        if grade == Grade::Done {
            break;
        }
    }
    fixer.fixed
}

/// Rank of a problem by how many others it hides. Grades are fixed in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Grade {
    /// Syntax errors: the rest of the stanza was not parsed.
    Syntax,
    /// Errors of meaning.
    Meaning,
    Warning,
    Done,
}

impl Grade {
    fn of(found: &Diagnostic) -> Self {
        let is_syntax = || {
            let number = found.code.code.get(1..).and_then(|digits| digits.parse::<u32>().ok());
            found.code.code.starts_with('S') || (found.code.code.starts_with('X') && number.is_some_and(|n| n < 40))
        };
        match found.code.severity {
            Severity::Warning => Grade::Warning,
            Severity::Error if is_syntax() => Grade::Syntax,
            Severity::Error => Grade::Meaning,
        }
    }

    fn next(self) -> Self {
        match self {
            Grade::Syntax => Grade::Meaning,
            Grade::Meaning => Grade::Warning,
            Grade::Warning | Grade::Done => Grade::Done,
        }
    }
}

struct Fixer<'o> {
    options: &'o Options,
    wanted: FixLevel,
    fixed: Fixed,
}

impl Fixer<'_> {
    /// Applies the fixes of one grade; false if none of them helps.
    fn apply_grade(&mut self, grade: Grade) -> bool {
        let chosen = self.chosen(grade);
        let mut kept: Vec<usize> = Vec::new();
        let mut best = None;
        let mut groups = vec![chosen];
        let mut n_trials = 0;
        while let Some(group) = groups.pop().filter(|_| n_trials < MAX_TRIALS) {
            if group.is_empty() {
                continue;
            }
            n_trials += 1;
            let mut tried = kept.clone();
            tried.extend(&group);
            let sources = self.with_fixes(&tried);
            let diagnostics = compile(&sources, self.options).diagnostics;
            if self.helps(&tried, grade, &diagnostics) {
                kept = tried;
                best = Some((sources, diagnostics));
            } else if group.len() > 1 {
                let (first, second) = group.split_at(group.len() / 2);
                groups.extend([second.to_vec(), first.to_vec()]);
            }
        }
        let Some((sources, diagnostics)) = best else { return false };
        for at in kept {
            let source = self.fixed.diagnostics[at].primary.source;
            self.fixed.n_fixed[usize::from(source.0)] += 1;
        }
        (self.fixed.sources, self.fixed.diagnostics) = (sources, diagnostics);
        true
    }

    /// Indices of the diagnostics of a grade whose fixes are allowed and do not overlap.
    fn chosen(&self, grade: Grade) -> Vec<usize> {
        let mut chosen: Vec<usize> = Vec::new();
        let mut taken: Vec<(SourceId, u32, u32)> = Vec::new();
        for (at, found) in self.fixed.diagnostics.iter().enumerate() {
            let Some(fix) = found.fix.as_ref().filter(|fix| self.wanted.includes(fix)) else { continue };
            let source = found.primary.source;
            let whole = fix.edits.first().zip(fix.edits.last());
            let Some((start, end)) = whole.map(|(first, last)| (first.span.start, last.span.end)) else { continue };
            // Diagnostics are sorted by position, but the fix of one may begin before its position.
            let near = taken.iter().rev().take(64);
            let is_free = near.clone().all(|(other, from, to)| *other != source || end < *from || *to < start);
            if Grade::of(found) == grade && is_free && self.fixed.sources.get(source).is_some() {
                chosen.push(at);
                taken.push((source, start, end));
            }
        }
        chosen
    }

    /// Copy of the sources with the fixes of the chosen diagnostics.
    fn with_fixes(&self, chosen: &[usize]) -> Sources {
        let mut sources = Sources::new();
        for (id, source) in self.fixed.sources.iter() {
            let fixes = chosen.iter().map(|at| &self.fixed.diagnostics[*at]);
            let fixes = fixes.filter(|found| found.primary.source == id).filter_map(|found| found.fix.as_ref());
            let mut edits: Vec<_> = fixes.flat_map(|fix| &fix.edits).collect();
            edits.sort_by_key(|edit| edit.span);
            let edits =
                edits.into_iter().map(|edit| (edit.span.start as usize..edit.span.end as usize, &edit.text[..]));
            sources.add(match edits.len() {
                0 => source.clone(),
                _ => source.changed(edited(source.bytes(), edits)),
            });
        }
        sources
    }

    /// True if the fixes removed their problems without causing worse ones. Safe fixes must not even cause problems of
    /// the same grade.
    fn helps(&self, chosen: &[usize], grade: Grade, after: &[Diagnostic]) -> bool {
        let before = &self.fixed.diagnostics;
        let count = |found: &[Diagnostic], grade: Grade| found.iter().filter(|found| Grade::of(found) == grade).count();
        let is_worse = |other: &Grade| *other < grade && count(after, *other) > count(before, *other);
        if [Grade::Syntax, Grade::Meaning].iter().any(is_worse) {
            return false;
        }
        let is_safe = |at: &usize| before[*at].fix.as_ref().is_some_and(|fix| fix.safe);
        if grade != Grade::Warning || chosen.iter().all(is_safe) {
            return count(after, grade) + chosen.len() <= count(before, grade);
        }
        // A guess may reveal warnings, for example in a stanza that was part of a comment before.
        chosen.iter().all(|at| {
            let (code, source) = (before[*at].code, before[*at].primary.source);
            let is_same = |found: &&Diagnostic| found.code == code && found.primary.source == source;
            let n_chosen = chosen.iter().filter(|at| is_same(&&before[**at])).count();
            after.iter().filter(is_same).count() + n_chosen <= before.iter().filter(is_same).count()
        })
    }
}

/// Replaces ranges of `bytes` by texts. The ranges are sorted and do not overlap.
fn edited<'e>(bytes: &[u8], edits: impl Iterator<Item = (std::ops::Range<usize>, &'e str)>) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for (place, text) in edits {
        out.extend_from_slice(bytes.get(at..place.start).unwrap_or_default());
        out.extend_from_slice(text.as_bytes());
        at = place.end;
    }
    out.extend_from_slice(bytes.get(at..).unwrap_or_default());
    out
}
