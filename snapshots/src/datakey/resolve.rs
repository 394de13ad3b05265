//! Finds the field that each condition reads, for each event.

use std::collections::{BTreeMap, BTreeSet};

use super::document::{Contents, Finding, Key, Severity};
use super::format::FieldKind;

/// Class and id of an event.
type EventKey = (u8, u16);

/// Index of a key, and index of a field in it.
pub type FieldOf = (usize, usize);

/// Fields that the conditions read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// By event, key and condition. A condition without an entry is ignored for that event.
    pub reads: BTreeMap<(EventKey, usize, usize), FieldOf>,
}

/// Indices of the keys that name an event, including refused ones.
fn named(keys: &[Key], event: EventKey) -> Vec<usize> {
    (0..keys.len()).filter(|at| keys[*at].events.contains(&event)).collect()
}

/// Resolves all conditions, and refuses keys with invalid ones.
pub fn resolve(contents: &mut Contents) -> Links {
    let mut links = Links::default();
    let mut told = BTreeSet::new();
    let mut on_text = BTreeSet::new();
    for (at, key) in contents.keys.iter().enumerate() {
        for event in &key.events {
            let others: Vec<usize> = named(&contents.keys, *event).into_iter().filter(|other| *other != at).collect();
            for (number, condition) in key.conditions.iter().enumerate() {
                let with_label = |other: &usize| {
                    let fields = &contents.keys[*other].fields;
                    fields.iter().position(|field| field.field.label == condition.label).map(|field| (*other, field))
                };
                let found: Vec<FieldOf> = others.iter().filter_map(with_label).collect();
                let place = (key.file, condition.place);
                let Some(first) = found.first() else {
                    told.insert((place, Severity::Warning, "no other datakey has this label"));
                    continue;
                };
                if found.len() > 1 {
                    told.insert((place, Severity::Warning, "several datakeys have this label"));
                }
                let field = &contents.keys[first.0].fields[first.1].field;
                let mut literals = condition.value.iter().chain(&condition.mask);
                if literals.any(|literal| literal.pattern(field.size).is_none()) {
                    told.insert((place, Severity::Warning, "never equal"));
                }
                // A key that is already refused gets no second report.
                if field.kind != FieldKind::Number && !key.refused {
                    told.insert((place, Severity::Error, "a condition on a string or an array"));
                    on_text.insert(at);
                }
                links.reads.insert((*event, at, number), *first);
            }
        }
    }
    for at in on_text {
        contents.keys[at].refused = true;
    }
    for at in on_cycles(&contents.keys, &links) {
        contents.keys[at].refused = true;
        told.insert(((contents.keys[at].file, contents.keys[at].place), Severity::Error, "conditions in a cycle"));
    }
    let finding = |((file, place), severity, message)| Finding { file, severity, place, message };
    contents.findings.extend(told.into_iter().map(finding));
    links
}

/// Keys whose conditions lead back to themselves for some event, through keys that are not refused.
fn on_cycles(keys: &[Key], links: &Links) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    for (start, key) in keys.iter().enumerate() {
        for event in &key.events {
            let next = |from: usize| {
                let reads = links.reads.range((*event, from, 0)..=(*event, from, usize::MAX));
                reads.map(|(_, field)| field.0).filter(|to| !keys[*to].refused).collect::<Vec<_>>()
            };
            let mut seen = BTreeSet::new();
            let mut open = if key.refused { Vec::new() } else { next(start) };
            while let Some(at) = open.pop() {
                if seen.insert(at) {
                    open.extend(next(at));
                }
            }
            if seen.contains(&start) {
                found.insert(start);
            }
        }
    }
    found
}
