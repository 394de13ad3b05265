//! Resolves conditions: finds the field of another datakey that each condition reads, per event.

use super::events::with_suggestion;
use super::fields::{bits, describe, never_matches, show_label};
use super::{Candidate, EventKey, Findings};
use crate::codes::{CYCLE, NO_CONTRIBUTOR, NOT_A_NUMBER, OWN_LABEL, SEVERAL_CONTRIBUTORS, TOO_MANY_CONDITIONS};
use crate::datakey::model::{PayloadType, Test};
use std::collections::{BTreeMap, HashMap};
use tfbc_grammar::datakey::ast;
use tfbc_grammar::{CodeInfo, Diagnostic, Span};

/// Limit on the conditions of all datakeys; each is counted once per event of its datakey.
const MAX_CONDITIONS: usize = 1 << 22;

/// Condition with the field it reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConditionRead {
    /// Index of the entry that has the field.
    pub entry: usize,
    pub field: usize,
    pub test: Test,
    /// Start tag of the condition.
    pub tag: Span,
}

/// Resolved conditions, by datakey and event.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    by_key: HashMap<(usize, EventKey), Vec<ConditionRead>>,
}

impl Conditions {
    pub fn of(&self, entry: usize, event: EventKey) -> &[ConditionRead] {
        self.by_key.get(&(entry, event)).map_or(&[], Vec::as_slice)
    }
}

/// Resolves all conditions. Datakeys with an invalid condition are marked as refused.
pub(crate) fn resolve(
    entries: &mut [Candidate],
    by_event: &BTreeMap<EventKey, Vec<usize>>,
    findings: &mut Findings,
) -> Conditions {
    let mut resolver = Resolver::new(entries, by_event, findings);
    let with_conditions = (0..entries.len()).filter(|at| !entries[*at].conditions.is_empty());
    let refused: Vec<usize> = with_conditions.filter(|at| !resolver.datakey(*at)).collect();
    let conditions = resolver.conditions;
    refused.into_iter().for_each(|at| entries[at].refused = true);
    refuse_cycles(entries, &conditions, findings);
    conditions
}

/// First entry with a label and its field, and true if other entries have the label too.
type Contributor = Option<(usize, usize, bool)>;

struct Resolver<'r, 'ast> {
    entries: &'r [Candidate<'ast>],
    by_event: &'r BTreeMap<EventKey, Vec<usize>>,
    /// Numbers of the labels that conditions name.
    labels: HashMap<&'ast [u8], usize>,
    /// Per label: the entries that have it, in order, with the index of the field.
    entries_by_label: Vec<Vec<(usize, usize)>>,
    /// Index of the field by (label, entry), for lookups.
    field_of: HashMap<(usize, usize), usize>,
    contributors: HashMap<(EventKey, usize), Contributor>,
    conditions: Conditions,
    n_conditions: usize,
    findings: &'r mut Findings,
}

impl<'r, 'ast> Resolver<'r, 'ast> {
    fn new(
        entries: &'r [Candidate<'ast>],
        by_event: &'r BTreeMap<EventKey, Vec<usize>>,
        findings: &'r mut Findings,
    ) -> Self {
        let mut labels: HashMap<&[u8], usize> = HashMap::new();
        // Only labels that a condition names are collected: most fields are never tested.
        for condition in entries.iter().flat_map(|entry| entry.conditions) {
            let next = labels.len();
            labels.entry(condition.name.node).or_insert(next);
        }
        let mut entries_by_label = vec![Vec::new(); labels.len()];
        let mut field_of = HashMap::new();
        for (entry, fields) in entries.iter().enumerate().filter_map(|(at, entry)| Some((at, entry.fields.as_ref()?))) {
            for (field, node) in fields.iter().enumerate() {
                if let Some(label) = labels.get(&node.label[..]) {
                    entries_by_label[*label].push((entry, field));
                    field_of.insert((*label, entry), field);
                }
            }
        }
        let (contributors, conditions) = (HashMap::new(), Conditions::default());
        Self {
            entries,
            by_event,
            labels,
            entries_by_label,
            field_of,
            contributors,
            conditions,
            n_conditions: 0,
            findings,
        }
    }

    /// Resolves the conditions of a datakey. Returns false if it must be refused.
    fn datakey(&mut self, at: usize) -> bool {
        let entry = &self.entries[at];
        if entry.fields.is_none() {
            // Its format has an error, so its own labels are unknown.
            return true;
        }
        // Each condition is resolved per event, and one datakey can name all 32,768 of them.
        self.n_conditions += entry.conditions.len().saturating_mul(entry.events.len());
        if self.n_conditions > MAX_CONDITIONS {
            let message = format!("the events have more than {MAX_CONDITIONS} conditions in all");
            let error = Diagnostic::error(&TOO_MANY_CONDITIONS, entry.source, entry.tag, message);
            self.findings.add(error.with_help("split the files, or name fewer events"));
            return false;
        }
        let mut is_valid = true;
        for condition in entry.conditions {
            is_valid &= self.condition(at, condition);
        }
        is_valid
    }

    /// Resolves a condition for each event. Returns false if its datakey must be refused.
    fn condition(&mut self, at: usize, condition: &ast::Condition) -> bool {
        let entry = &self.entries[at];
        let Some(label) = self.labels.get(condition.name.node).copied() else { return true };
        if self.field_of.contains_key(&(label, at)) {
            self.warn_own_label(entry, condition);
            return true;
        }
        let (mut missing, mut several, mut odd, mut never) = (Vec::new(), None, None, None);
        for event in &entry.events {
            let Some((contributor, field, is_first_of_several)) = self.contributor(*event, label) else {
                missing.push(*event);
                continue;
            };
            let shape = self.entries[contributor].fields.as_ref().map(|fields| fields[field].shape);
            let Some(PayloadType::Number { bytes, .. }) = shape else {
                // Reported once, after the loop, and not for every event.
                odd = shape.map(|shape| (contributor, field, shape));
                continue;
            };
            if is_first_of_several {
                several = several.or(Some(contributor));
            }
            let (test, odd_literal) = test(condition, bytes);
            never = never.or(odd_literal.map(|literal| (literal, bytes)));
            let read = ConditionRead { entry: contributor, field, test, tag: condition.tag };
            self.conditions.by_key.entry((at, *event)).or_default().push(read);
        }
        if !missing.is_empty() {
            self.warn_missing(entry, condition, &missing);
        }
        if let Some(first) = several {
            self.warn_several(entry, condition, first);
        }
        if let Some((literal, bytes)) = never {
            let name = condition.name.node;
            self.findings.add(never_matches(entry.source, condition.tag, literal, name, bytes));
        }
        if let Some((contributor, field, shape)) = odd {
            self.not_a_number(entry, condition, contributor, field, shape);
        }
        odd.is_none()
    }

    /// Finds the first entry of an event that has the label. Never called for a label of the datakey itself.
    fn contributor(&mut self, event: EventKey, label: usize) -> Contributor {
        // Many datakeys of an event usually test the same field.
        if let Some(known) = self.contributors.get(&(event, label)) {
            return *known;
        }
        let named = self.by_event.get(&event).map_or(&[][..], Vec::as_slice);
        let entries_by_label = &self.entries_by_label[label];
        // Both lists are sorted; scan the shorter one.
        let mut found = [None; 2];
        if named.len() <= entries_by_label.len() {
            let have = named.iter().filter_map(|entry| Some((*entry, *self.field_of.get(&(label, *entry))?)));
            have.zip(&mut found).for_each(|(have, place)| *place = Some(have));
        } else {
            let have = entries_by_label.iter().copied().filter(|(entry, _)| named.binary_search(entry).is_ok());
            have.zip(&mut found).for_each(|(have, place)| *place = Some(have));
        }
        let contributor = found[0].map(|(entry, field)| (entry, field, found[1].is_some()));
        self.contributors.insert((event, label), contributor);
        contributor
    }

    fn warn_own_label(&mut self, entry: &Candidate, condition: &ast::Condition) {
        let label = show_label(condition.name.node);
        let has_name = condition.name.span != condition.tag;
        let without = if has_name { "" } else { " without `name`" };
        let message = format!("condition{without} on field `{label}` of its own datakey is ignored");
        let warning = warning(&OWN_LABEL, entry, condition, message);
        let help = if has_name {
            "move the field, or the fields that depend on it, to another datakey: conditions read other datakeys"
        } else {
            "add `name`: it is the label of a field of another datakey"
        };
        self.findings.add(warning.with_help(help));
    }

    fn warn_missing(&mut self, entry: &Candidate, condition: &ast::Condition, missing: &[EventKey]) {
        const LISTED: usize = 3;
        let listed: Vec<String> =
            missing.iter().take(LISTED).map(|(class, id)| format!("class {class} id {id}")).collect();
        let more = missing.len() - listed.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let (label, events) = (show_label(condition.name.node), listed.join(", "));
        let message =
            format!("no other datakey of {events}{more} has a field `{label}`: the condition is ignored there");
        let warning = warning(&NO_CONTRIBUTOR, entry, condition, message);
        let entries = missing.iter().filter_map(|event| self.by_event.get(event)).flatten();
        let fields = entries.filter_map(|entry| self.entries[*entry].fields.as_ref()).flatten();
        let near = self.findings.near(condition.name.node, fields.map(|field| &field.label[..]));
        self.findings.add(match near {
            Some(near) => with_suggestion(warning, condition.name.span, &near),
            None => warning,
        });
    }

    fn warn_several(&mut self, entry: &Candidate, condition: &ast::Condition, first: usize) {
        let label = show_label(condition.name.node);
        let message = format!("several other datakeys have a field `{label}`: the first is read");
        let warning = warning(&SEVERAL_CONTRIBUTORS, entry, condition, message);
        let first = &self.entries[first];
        let warning = warning.with_secondary(first.source, first.tag, "the first");
        self.findings.add(warning.with_help("make sure that the first one applies: otherwise the condition is false"));
    }

    fn not_a_number(
        &mut self,
        entry: &Candidate,
        condition: &ast::Condition,
        contributor: usize,
        field: usize,
        shape: PayloadType,
    ) {
        let label = show_label(condition.name.node);
        let message = format!("`condition` on field `{label}`, which is {}", describe(shape));
        let error = Diagnostic::error(&NOT_A_NUMBER, entry.source, condition.tag, message);
        let contributor = &self.entries[contributor];
        let field = contributor.fields.as_ref().map_or(contributor.tag, |fields| fields[field].span);
        self.findings.add(error.with_secondary(contributor.source, field, "the field"));
    }
}

fn warning(code: &'static CodeInfo, entry: &Candidate, condition: &ast::Condition, message: String) -> Diagnostic {
    let warning = Diagnostic::warning(code, entry.source, condition.tag, message);
    warning.with_secondary(entry.source, condition.name.span, "")
}

/// Converts a condition to a test. Also returns a literal that no value of the field can have.
fn test(condition: &ast::Condition, bytes: u8) -> (Test, Option<ast::Literal>) {
    let not = condition.value.is_some_and(|value| value.not) != condition.mask.is_some_and(|mask| mask.not);
    let bits_of = |literal: ast::Literal| bits(literal, bytes);
    let test = match (condition.value, condition.mask) {
        (Some(value), Some(mask)) => Test::Both { mask: bits_of(mask), bits: bits_of(value), not },
        (Some(value), None) => Test::Value { bits: bits_of(value), not },
        // The grammar guarantees that one of the two is present.
        (None, mask) => Test::Mask { bits: mask.and_then(bits_of), not },
    };
    let literals = [condition.value, condition.mask].into_iter().flatten();
    let odd = literals.into_iter().find(|literal| bits_of(*literal).is_none());
    (test, odd.map(|literal| ast::Literal { not, ..literal }))
}

/// Refuses every datakey whose conditions form a cycle.
fn refuse_cycles(entries: &mut [Candidate], conditions: &Conditions, findings: &mut Findings) {
    let graph = ReadGraph::new(entries, conditions);
    for (at, condition) in graph.members() {
        let entry = &mut entries[at];
        entry.refused = true;
        let message = "conditions of this datakey form a cycle";
        let error = Diagnostic::error(&CYCLE, entry.source, entry.tag, message);
        let error = error.with_secondary(entry.source, condition, "reads a datakey that depends on this one");
        findings.add(error.with_help("remove the condition of one of the datakeys"));
    }
}

/// Graph of datakeys that read each other. A node is a datakey at one event.
struct ReadGraph {
    /// Datakey per node.
    entries: Vec<usize>,
    /// Per node: the nodes that it reads, with the tags of the conditions. Datakeys without conditions are not nodes.
    reads: Vec<Vec<(usize, Span)>>,
}

impl ReadGraph {
    fn new(entries: &[Candidate], conditions: &Conditions) -> Self {
        let kept = conditions.by_key.iter().filter(|((entry, _), _)| !entries[*entry].refused);
        let mut keys: Vec<_> = kept.collect();
        keys.sort_unstable_by_key(|(key, _)| **key);
        let nodes: HashMap<_, _> = keys.iter().enumerate().map(|(node, (key, _))| (**key, node)).collect();
        let reads = keys.iter().map(|((_, event), reads)| {
            let node_of = |read: &ConditionRead| Some((*nodes.get(&(read.entry, *event))?, read.tag));
            reads.iter().filter_map(node_of).collect()
        });
        Self { entries: keys.iter().map(|((entry, _), _)| *entry).collect(), reads: reads.collect() }
    }

    /// Datakeys that are part of a cycle, each with a condition that closes it.
    fn members(&self) -> BTreeMap<usize, Span> {
        let component = self.components();
        let mut members = BTreeMap::new();
        for (node, reads) in self.reads.iter().enumerate() {
            // No datakey reads itself, so a node is on a cycle if it reads a node of its own component.
            if let Some((_, tag)) = reads.iter().find(|(read, _)| component[*read] == component[node]) {
                members.entry(self.entries[node]).or_insert(*tag);
            }
        }
        members
    }

    /// Strongly connected component per node: Tarjan's algorithm without recursion, because chains can be long.
    fn components(&self) -> Vec<usize> {
        const NONE: usize = usize::MAX;
        let n_nodes = self.reads.len();
        let (mut index, mut low, mut component) = (vec![NONE; n_nodes], vec![0; n_nodes], vec![NONE; n_nodes]);
        let (mut open, mut path, mut n_seen) = (Vec::new(), Vec::new(), 0);
        for root in 0..n_nodes {
            if index[root] == NONE {
                path.push((root, 0));
            }
            while let Some((node, next)) = path.pop() {
                if next == 0 {
                    (index[node], low[node]) = (n_seen, n_seen);
                    n_seen += 1;
                    open.push(node);
                } else {
                    low[node] = low[node].min(low[self.reads[node][next - 1].0]);
                }
                if let Some((read, _)) = self.reads[node].get(next) {
                    path.push((node, next + 1));
                    if index[*read] == NONE {
                        path.push((*read, 0));
                    }
                } else if low[node] == index[node] {
                    while let Some(member) = open.pop() {
                        component[member] = node;
                        low[member] = NONE;
                        if member == node {
                            break;
                        }
                    }
                }
            }
        }
        component
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_of_chains_and_circles() {
        let check = |reads: &[&[usize]], expected: &[usize]| {
            let reads = reads.iter().map(|reads| reads.iter().map(|read| (*read, Span::default())).collect());
            let graph = ReadGraph { entries: (0..reads.len()).collect(), reads: reads.collect() };
            assert_eq!(graph.members().into_keys().collect::<Vec<_>>(), expected);
        };
        check(&[&[1], &[2], &[]], &[]);
        check(&[&[1], &[0]], &[0, 1]);
        // A path between two cycles, and one that leads into them.
        check(&[&[1], &[0, 2], &[3], &[4], &[3], &[0]], &[0, 1, 3, 4]);
        check(&[&[1, 2], &[3], &[3], &[0], &[3]], &[0, 1, 2, 3]);
    }
}
