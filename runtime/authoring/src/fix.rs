//! Fixes of findings, applied to their sources.
//!
//! Fixes go in rounds: each takes those that do not overlap, compiles the outcome, and keeps them if all did what they are
//! for. Where they did not, halves of them are tried, down to the single fix that does harm, which is left out. Mistakes that
//! hide others go first: those of syntax, then errors of meaning, then warnings.

use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Diagnostic, Fix, Severity, SourceId, Sources};

/// The most rounds: more than fixes ever uncover one below the other.
const MAX_ROUNDS: usize = 64;

/// The most compilations of one round, in search of fixes that do harm.
const MAX_TRIALS: usize = 64;

/// Which fixes are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixLevel {
    /// Those that keep what a file means, or are surely meant.
    Safe,
    /// Guesses too, such as the nearest name.
    All,
}

impl FixLevel {
    fn takes(self, fix: &Fix) -> bool {
        fix.safe || self == FixLevel::All
    }
}

/// What became of the sources.
#[derive(Debug)]
pub struct Fixed {
    /// The sources as they are with the fixes.
    pub sources: Sources,
    /// What is found in them.
    pub diagnostics: Vec<Diagnostic>,
    /// How many findings of each source have been mended.
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
        // What is mended may uncover findings of every grade.
        grade = if fixer.round(grade) { Grade::Syntax } else { grade.next() };
        if grade == Grade::Done {
            break;
        }
    }
    fixer.fixed
}

/// How much a finding hides of what else there is to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Grade {
    /// Errors of syntax: what is wrong with the rest of the stanza is not known.
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
    /// Applies what fixes there are of a grade; false where none helps.
    fn round(&mut self, grade: Grade) -> bool {
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
            let sources = self.with(&tried);
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

    /// The findings of a grade whose fixes are wanted and do not overlap.
    fn chosen(&self, grade: Grade) -> Vec<usize> {
        let mut chosen: Vec<usize> = Vec::new();
        let mut taken: Vec<(SourceId, u32, u32)> = Vec::new();
        for (at, found) in self.fixed.diagnostics.iter().enumerate() {
            let Some(fix) = found.fix.as_ref().filter(|fix| self.wanted.takes(fix)) else { continue };
            let source = found.primary.source;
            let whole = fix.edits.first().zip(fix.edits.last());
            let Some((start, end)) = whole.map(|(first, last)| (first.span.start, last.span.end)) else { continue };
            // Findings come in the order of their places, but their fixes may begin before.
            let near = taken.iter().rev().take(64);
            let is_free = near.clone().all(|(other, from, to)| *other != source || end < *from || *to < start);
            if Grade::of(found) == grade && is_free && self.fixed.sources.get(source).is_some() {
                chosen.push(at);
                taken.push((source, start, end));
            }
        }
        chosen
    }

    /// The sources with the fixes of some findings.
    fn with(&self, chosen: &[usize]) -> Sources {
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

    /// Whether fixes of a grade took their findings away and made none that is worse or, of safe ones, as bad.
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
        // A guess may uncover warnings, such as those of a stanza that a comment had swallowed.
        chosen.iter().all(|at| {
            let (code, source) = (before[*at].code, before[*at].primary.source);
            let is_same = |found: &&Diagnostic| found.code == code && found.primary.source == source;
            let n_chosen = chosen.iter().filter(|at| is_same(&&before[**at])).count();
            after.iter().filter(is_same).count() + n_chosen <= before.iter().filter(is_same).count()
        })
    }
}

/// Bytes with texts in place of some runs of them, which come in order and do not overlap.
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
