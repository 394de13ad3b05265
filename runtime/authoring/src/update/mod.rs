//! Updates of format files, as `trcupdate` applies them.
//!
//! ```text
//! update file ─script─> entries ┐
//! format file ─document─> slots ┴─> edits ─┬─splice─> new format file ─compile─> accepted or refused
//!                                          └─undo──> update file that undoes this
//! ```
//!
//! An edit replaces a range of bytes; all other bytes stay the same. An undo file is an AIX update file with comments
//! that say where each stanza was. Applied to the updated file, it restores the old file byte for byte.

mod document;
mod edit;
mod file;
mod script;
mod undo;
mod undo_comments;

pub use file::{FormatFile, OpenError};
pub use file::{changed, locked, replace, staged, trace_or_packed, with_suffix};
pub use script::{Problem, UpdateFault};

use document::FormatDocument;
use edit::{Edit, splice};
use script::{Script, UpdateAction};
use std::collections::HashSet;
use tfbc::Findings;
use tfbc::aix::IdSet;
use tfbc_compiler::{LeftOut, Options, compile};
use tfbc_grammar::trcfmt::{LineKind, head, raw_lines};
use tfbc_grammar::{Diagnostic, Label, Severity, Source, SourceId, SourceLimits, Sources, Span};

/// Result of applying an update file.
#[derive(Debug)]
pub struct UpdateResult {
    /// Problems in the update file, by line.
    pub problems: Vec<Problem>,
    /// Problems that the compiler finds in the updated format file: all errors, and warnings about the changed stanzas.
    /// They point into the update file.
    pub findings: Findings,
    /// The change; `None` if it is refused.
    pub change: Option<Change>,
    /// Number of stanzas that have errors with and without the update. They are ignored.
    pub n_bystanders: usize,
}

/// An accepted update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Text of the new format file.
    pub format: Vec<u8>,
    /// Update file that restores the old format file.
    pub undo: Vec<u8>,
    /// Number of added stanzas.
    pub n_added: usize,
    /// Number of replaced stanzas.
    pub n_replaced: usize,
    /// Number of deleted stanzas.
    pub n_deleted: usize,
}

impl Change {
    /// True if nothing changes.
    pub fn is_empty(&self) -> bool {
        self.n_added + self.n_replaced + self.n_deleted == 0
    }

    fn new(old: &[u8], new: Vec<u8>, edits: &[Edit]) -> Self {
        let n = |wanted: fn(&Edit) -> bool| edits.iter().filter(|edit| wanted(edit)).count();
        Self {
            undo: undo::write(old, &new, edits),
            format: new,
            n_added: n(|edit| edit.old.is_empty()),
            n_replaced: n(|edit| !edit.old.is_empty() && !edit.new.is_empty()),
            n_deleted: n(|edit| edit.new.is_empty()),
        }
    }
}

/// Applies an update file to a format file, both unpacked. Stanzas older than the ones they replace are refused, unless
/// `any_version`. `limits` apply to the updated format file.
///
/// ```
/// use tfbc_grammar::{Source, SourceLimits};
/// let format = Source::new("trcfmt", "# ours\n010 1.0 \"OLD\"\n020 1.0 \"KEPT\"");
/// let update = Source::new("a.trc", "* /etc/trcfmt\n+ 010 1.1 \"NEW\"\n+ 030 1.0 \"MORE\"\n");
/// let change = tfbc_authoring::update::apply(&format, update, false, SourceLimits::default()).change.unwrap();
/// assert_eq!(change.format, b"# ours\n010 1.1 \"NEW\"\n020 1.0 \"KEPT\"\n030 1.0 \"MORE\"\n");
///
/// let changed = Source::new("trcfmt", change.format);
/// let undo = Source::new("a.undo.trc", change.undo);
/// assert_eq!(tfbc_authoring::update::apply(&changed, undo, true, SourceLimits::default()).change.unwrap().format, format.bytes());
/// ```
pub fn apply(format: &Source, update: Source, any_version: bool, limits: SourceLimits) -> UpdateResult {
    let (script, mut problems) = Script::parse(&update);
    let exact = undo::exact_edits(format.bytes(), update.bytes(), &script);
    if exact.is_none() && script.undoes.is_some() {
        problems.push(Problem { line: 1, fault: UpdateFault::Changed });
    }
    let mut document = FormatDocument::new(format);
    for (order, entry) in script.entries.iter().enumerate() {
        let fault = enter(&mut document, &script, order, any_version, exact.is_some());
        problems.extend(fault.map(|fault| Problem { line: entry.line, fault }));
    }
    problems.sort_by_key(|problem| problem.line);
    let refused = problems.iter().any(|problem| !problem.fault.is_warning());
    let mut outcome = UpdateResult { problems, findings: Findings::default(), change: None, n_bystanders: 0 };
    match exact {
        _ if refused => {}
        // An undo restores the old file even if that has errors.
        Some((edits, new)) => outcome.change = Some(Change::new(format.bytes(), new, &edits)),
        None => check(format, &document.edits(update.bytes()), update, limits, &mut outcome),
    }
    outcome
}

/// Applies one entry.
fn enter(
    document: &mut FormatDocument<'_>,
    script: &Script,
    order: usize,
    any_version: bool,
    is_exact: bool,
) -> Option<UpdateFault> {
    match script.entries[order].action {
        UpdateAction::Delete(id) => {
            // The undo file names a stanza once for each copy, so the id may already be gone.
            let is_well = document.delete(id, order) || script.undoes.is_some() && document.has_or_had(id);
            (!is_well).then_some(UpdateFault::Missing { id })
        }
        UpdateAction::Put { id, version: None, .. } if !is_exact => Some(UpdateFault::BadVersion { id }),
        UpdateAction::Put { id, version, text } => {
            let version = version.unwrap_or_default();
            match document.put(id, version, text, order, any_version) {
                Err(known) => Some(UpdateFault::Older { id, version, known }),
                // An undo may restore several stanzas with the same id.
                Ok(first) => first
                    .filter(|_| !is_exact)
                    .map(|first| UpdateFault::Repeated { id, first: script.entries[first].line }),
            }
        }
    }
}

/// Compiles the updated format file. An error refuses the update if it is in a changed stanza, or in one that had no
/// errors before.
fn check(format: &Source, edits: &[Edit], update: Source, limits: SourceLimits, outcome: &mut UpdateResult) {
    let spliced = splice(format.bytes(), edits);
    let options = Options { limits, keep_going: true, ..Options::default() };
    let mut sources = Sources::new();
    let result = sources.add(Source::new(format.name(), spliced.bytes));
    let compiled = compile(&sources, &options);
    let in_result = |out: &LeftOut| sources.get(result).map_or(&[][..], |source| source.slice(out.span));
    let had_errors = if compiled.left_out.is_empty() { HashSet::new() } else { texts_with_errors(format, &options) };
    let places = edit::inserted(edits, &spliced.starts);
    let is_new = |out: &LeftOut| {
        let start = out.span.start as usize;
        places.iter().any(|(at, place)| (*at..=*at + place.len() as usize).contains(&start))
    };
    let is_bystander = |out: &&LeftOut| !is_new(out) && had_errors.contains(in_result(out));
    let (bystanders, refusing): (Vec<&LeftOut>, Vec<&LeftOut>) = compiled.left_out.iter().partition(is_bystander);
    let is_refused = compiled.blob.is_none() || !refusing.is_empty();
    outcome.n_bystanders = bystanders.len();
    // Errors in unchanged stanzas are not the update's fault.
    let is_about = |found: &Diagnostic| {
        let place = found.primary.span.start;
        !bystanders.iter().any(|out| (out.span.start..=out.span.end).contains(&place))
    };
    let mut diagnostics: Vec<Diagnostic> = compiled.diagnostics.into_iter().filter(is_about).collect();
    let update = sources.add(update);
    let moved = Moved { result, update, places };
    diagnostics.iter_mut().for_each(|found| moved.relabel(found));
    diagnostics.retain(|found| found.severity == Severity::Error || found.primary.source == update);
    if !is_refused {
        let new = sources.get(result).map_or(Vec::new(), |source| source.bytes().to_vec());
        outcome.change = Some(Change::new(format.bytes(), new, edits));
    }
    outcome.findings = Findings::new(sources, diagnostics);
}

/// Texts of the stanzas that have errors.
fn texts_with_errors(format: &Source, options: &Options) -> HashSet<Vec<u8>> {
    let mut sources = Sources::new();
    sources.add(Source::new(format.name(), format.bytes().to_vec()));
    let compiled = compile(&sources, options);
    compiled.left_out.iter().map(|out| format.slice(out.span).to_vec()).collect()
}

/// Maps positions in the updated file to positions in the update file.
struct Moved {
    result: SourceId,
    update: SourceId,
    /// Offset in the result and span in the update file, per inserted stanza, ascending.
    places: Vec<(usize, Span)>,
}

impl Moved {
    fn relabel(&self, found: &mut Diagnostic) {
        std::iter::once(&mut found.primary).chain(&mut found.secondary).for_each(|label| self.relabel_one(label));
    }

    fn relabel_one(&self, label: &mut Label) {
        let (start, end) = (label.span.start as usize, label.span.end as usize);
        let n_before = self.places.partition_point(|(at, _)| *at <= start);
        let Some((at, place)) = n_before.checked_sub(1).map(|n| self.places[n]) else { return };
        // The end of the stanza is included, since "missing" errors point there.
        if label.source == self.result && end <= at + place.len() as usize {
            label.source = self.update;
            let to_update = |offset: usize| place.start + (offset - at) as u32;
            label.span = Span::new(to_update(start), to_update(end));
        }
    }
}

/// Ids of all stanzas.
pub fn ids(format: &Source) -> IdSet {
    let mut ids = IdSet::default();
    let stanzas = raw_lines(format).filter(|line| line.kind == LineKind::Stanza);
    stanzas.filter_map(|line| head(format, line.span).id).for_each(|id| ids.insert(id.0));
    ids
}

/// Copies the stanzas with the given ids, in the order of the file. A missing line end is added to the last one.
pub fn extract(format: &Source, ids: &IdSet) -> Vec<u8> {
    let mut out = Vec::new();
    for line in raw_lines(format).filter(|line| line.kind == LineKind::Stanza) {
        if head(format, line.span).id.is_some_and(|id| ids.contains(id.0)) {
            out.extend_from_slice(format.slice(Span::new(line.span.start, line.end)));
        }
    }
    if !out.is_empty() && !out.ends_with(b"\n") {
        out.push(b'\n');
    }
    out
}
