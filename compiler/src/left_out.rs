//! Leaves out stanzas with errors, so that the others can be used.
//!
//! A stanza that calls one that was left out has an error too, and is left out in turn. An earlier stanza of the same
//! id, or an earlier definition of the same function, applies again. So the files are lowered again after each round.

use crate::codes::{NO_FUNCTION, NO_SUBROUTINE};
use crate::ir::ShowId;
use crate::names::{NameTable, Unit, for_each_item};
use foldhash::{HashMap, HashSet};
use tfbc_grammar::trcfmt::ast::*;
use tfbc_grammar::{Arena, Diagnostic, Severity, SourceId, Span};

/// Limit on the rounds before all files are refused. Two or three are usual; more need as many stanzas of one id.
pub(crate) const MAX_ROUNDS: usize = 100;

/// Stanza that was left out because of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    /// Its source.
    pub source: SourceId,
    /// Span of the whole logical line.
    pub span: Span,
    /// Canonical id, if it is readable.
    pub id: Option<u16>,
}

/// A stanza: index of its unit, and index in that unit's file.
type StanzaRef = (usize, usize);

/// Stanza or function that others call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum CallTarget<'ast> {
    Stanza(u16),
    Function(&'ast [u8]),
}

/// Removes the stanzas with errors from the files, and those that call them. `found` contains the errors of this round.
/// Returns an error per stanza that calls a removed one, or `None` if an error belongs to no stanza of a format file.
pub(crate) fn leave_out<'ast>(
    arena: &'ast Arena,
    units: &mut [Unit<'ast>],
    names: &NameTable<'ast>,
    found: &[Diagnostic],
    left_out: &mut Vec<LeftOut>,
) -> Option<Vec<Diagnostic>> {
    // Collected once per round: a search of all bodies per removed stanza would take quadratic time.
    let mut calls = Calls::of(units, names);
    let mut removed: HashSet<StanzaRef> = HashSet::default();
    let mut queue = Vec::new();
    for error in found.iter().filter(|found| found.severity == Severity::Error) {
        // An error outside of every stanza concerns the file as a whole.
        let node = stanza_at(units, error)?;
        if removed.insert(node) {
            queue.push(node);
        }
    }
    let mut gone = Vec::new();
    for unit in units.iter_mut() {
        let broken = unit.file.broken.iter();
        left_out.extend(broken.map(|broken| LeftOut {
            source: unit.id,
            span: broken.span,
            id: broken.id.map(|id| id.0),
        }));
        gone.extend(unit.file.broken.iter().filter_map(|broken| broken.id).map(|id| CallTarget::Stanza(id.0)));
        gone.extend(unit.file.broken_functions.iter().map(|name| CallTarget::Function(name)));
        unit.file.broken = &[];
        unit.file.broken_functions = &[];
    }
    // An earlier stanza with the same id takes the place of a broken one.
    gone.retain(|name| !calls.n_definitions.contains_key(name));
    let mut errors = Vec::new();
    loop {
        for name in std::mem::take(&mut gone) {
            for (node, span) in calls.users.remove(&name).unwrap_or_default() {
                errors.push(missing(units[node.0].id, span, name));
                if removed.insert(node) {
                    queue.push(node);
                }
            }
        }
        let Some(node) = queue.pop() else { break };
        gone.extend(calls.remove(&units[node.0].file.stanzas[node.1]));
    }
    for (at, unit) in units.iter_mut().enumerate() {
        let is_kept = |index: usize| !removed.contains(&(at, index));
        let stanzas = unit.file.stanzas.iter().enumerate();
        let (kept, out): (Vec<_>, Vec<_>) = stanzas.partition(|(index, _)| is_kept(*index));
        let place = |stanza: &Stanza<'_>| LeftOut { source: unit.id, span: stanza.span, id: Some(stanza.id.node.0) };
        left_out.extend(out.iter().map(|(_, stanza)| place(stanza)));
        let kept: Vec<Stanza<'ast>> = kept.into_iter().map(|(_, stanza)| *stanza).collect();
        unit.file.stanzas = arena.slice(&kept);
    }
    Some(errors)
}

/// Finds the stanza that contains an error.
fn stanza_at(units: &[Unit<'_>], error: &Diagnostic) -> Option<StanzaRef> {
    let at = units.iter().position(|unit| unit.id == error.primary.source && !unit.builtin)?;
    let stanzas = units[at].file.stanzas;
    let place = error.primary.span;
    // Stanzas are in the order of the source.
    let index = stanzas.partition_point(|stanza| stanza.span.start <= place.start).checked_sub(1)?;
    (place.end <= stanzas[index].span.end).then_some((at, index))
}

fn missing(source: SourceId, span: Span, name: CallTarget<'_>) -> Diagnostic {
    match name {
        CallTarget::Stanza(id) => {
            let text = format!("calls stanza {}, which is left out", ShowId(id));
            Diagnostic::error(&NO_SUBROUTINE, source, span, text)
        }
        CallTarget::Function(name) => {
            let text = format!("calls function `{}`, which is left out", String::from_utf8_lossy(name));
            Diagnostic::error(&NO_FUNCTION, source, span, text)
        }
    }
}

/// Callers and number of definitions per name.
struct Calls<'ast> {
    n_definitions: HashMap<CallTarget<'ast>, usize>,
    users: HashMap<CallTarget<'ast>, Vec<(StanzaRef, Span)>>,
}

impl<'ast> Calls<'ast> {
    fn of(units: &[Unit<'ast>], names: &NameTable<'ast>) -> Self {
        let mut calls = Calls { n_definitions: HashMap::default(), users: HashMap::default() };
        for (at, unit) in units.iter().enumerate() {
            for (index, stanza) in unit.file.stanzas.iter().enumerate() {
                let node = (at, index);
                definitions(stanza).for_each(|name| *calls.n_definitions.entry(name).or_default() += 1);
                let mut add = |name, span| calls.users.entry(name).or_default().push((node, span));
                for_each_item(stanza.body, &mut |item| {
                    names.each_insertion(item, &mut |id, span| add(CallTarget::Stanza(id), span));
                    if let DescriptorItem::Call(call) = item {
                        add(CallTarget::Function(call.name.node), call.name.span);
                    }
                });
            }
        }
        calls
    }

    /// Removes the definitions of a stanza. Returns the names that are no longer defined.
    fn remove(&mut self, stanza: &Stanza<'ast>) -> Vec<CallTarget<'ast>> {
        let mut gone = Vec::new();
        for name in definitions(stanza) {
            if let Some(n) = self.n_definitions.get_mut(&name) {
                *n -= 1;
                if *n == 0 {
                    self.n_definitions.remove(&name);
                    gone.push(name);
                }
            }
        }
        gone
    }
}

/// Names that a stanza defines: its id and its functions.
fn definitions<'ast>(stanza: &Stanza<'ast>) -> impl Iterator<Item = CallTarget<'ast>> {
    let mut names = vec![CallTarget::Stanza(stanza.id.node.0)];
    for_each_item(stanza.body, &mut |item| {
        if let DescriptorItem::Function(function) = item {
            names.push(CallTarget::Function(function.name.node));
        }
    });
    names.into_iter()
}
