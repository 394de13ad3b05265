//! Checks the XML files as a set: resolves names, types literals, and removes definitions with errors.
//!
//! Each datakey is checked on its own first. Then come conditions, which read fields of other datakeys of the same
//! event in any file, and cycles among them. A refused datakey keeps its events and labels until the end, so that
//! references to them do not cause more errors.

mod conditions;
mod events;
mod fields;
mod findings;
#[cfg(test)]
mod tests;

use super::model::{AppliedDefinition, Definition, EventPlan, FormatField, Model, ResolvedCondition};
use crate::Dialect;
use crate::codes::WIDE_OFFSET;
use crate::dialect::WideOffset;
use conditions::Conditions;
use findings::Findings;
use std::collections::{BTreeMap, HashMap};
use tfbc_grammar::datakey::ast::{Datakey, EventClass, File, TopLevelElement};
use tfbc_grammar::{Diagnostic, Edit, Fix, SourceId, Span, Spanned};

/// One parsed XML file.
pub(crate) struct XmlUnit<'ast> {
    pub id: SourceId,
    pub file: File<'ast>,
    pub dialect: Dialect,
}

/// (class, event id).
type EventKey = (u8, u16);

/// A datakey or an event of an eventclass, before conditions are resolved.
struct Candidate<'ast> {
    source: SourceId,
    tag: Span,
    refused: bool,
    /// Format as written; empty if it has an error.
    text: &'ast [u8],
    /// `None` if the format has an error.
    fields: Option<Vec<FormatField>>,
    offset: u64,
    wide_offset: Option<u64>,
    wide_default: WideOffset,
    show_masked_value: bool,
    /// Valid events, without duplicates.
    events: Vec<EventKey>,
    /// Events of a datakey with the spans of their start tags.
    event_tags: Vec<(EventKey, Span)>,
    conditions: &'ast [tfbc_grammar::datakey::ast::Condition<'ast>],
    /// Entries of the `fields` comments.
    comment: &'ast [Spanned<&'ast [u8]>],
}

impl Candidate<'_> {
    /// Offsets of the format in simple and in wide records of a class, in bytes.
    fn offsets(&self, class: u8) -> [u64; 2] {
        let default = match self.wide_default {
            WideOffset::Class if class == events::USER => self.offset,
            WideOffset::Class | WideOffset::Zero => 0,
            WideOffset::Offset => self.offset,
        };
        [self.offset, self.wide_offset.unwrap_or(default)]
    }
}

/// Checks all files, in the order given.
pub(crate) fn check(units: &[XmlUnit<'_>]) -> (Model, Vec<Diagnostic>) {
    let mut findings = Findings::default();
    let mut entries = Vec::new();
    // Collects all datakeys first, because a condition may name a label of any file.
    for unit in units {
        for item in unit.file.items {
            match item {
                TopLevelElement::Datakey(datakey) => entries.push(check_datakey(unit, datakey, &mut findings)),
                TopLevelElement::EventClass(class) => check_class(unit, class, &mut entries, &mut findings),
            }
        }
    }
    let mut by_event: BTreeMap<EventKey, Vec<usize>> = BTreeMap::new();
    for (at, entry) in entries.iter().enumerate() {
        entry.events.iter().for_each(|event| by_event.entry(*event).or_default().push(at));
    }
    let conditions = conditions::resolve(&mut entries, &by_event, &mut findings);
    let files: HashMap<SourceId, &File> = units.iter().map(|unit| (unit.id, &unit.file)).collect();
    let mut found = findings.finish();
    for diagnostic in &mut found {
        files.get(&diagnostic.primary.source).iter().for_each(|file| file.name_refused(diagnostic));
    }
    (model(entries, &by_event, &conditions), found)
}

fn check_datakey<'ast>(unit: &XmlUnit<'ast>, datakey: &Datakey<'ast>, findings: &mut Findings) -> Candidate<'ast> {
    let n_errors = findings.n_errors();
    let mut named = events::DatakeyEvents::default();
    for event in datakey.events {
        named.name(unit.id, event, findings);
    }
    let event_tags = named.finish();
    let fields = datakey.format.and_then(|format| fields::fields(unit, datakey.tag, &format, findings));
    // Bitmasks and enums need the widths of the fields, so a format with an error is not refined.
    let fields = fields.map(|fields| fields::apply_bitmasks_and_enums(unit, datakey, fields, findings));
    let entry = Candidate {
        source: unit.id,
        tag: datakey.tag,
        refused: datakey.refused || findings.n_errors() != n_errors,
        text: datakey.format.map_or(b"", |format| format.text),
        fields,
        offset: datakey.offset.map_or(0, |offset| offset.node),
        wide_offset: datakey.wide_offset.map(|offset| offset.node),
        wide_default: unit.dialect.wide_offset,
        show_masked_value: datakey.show_masked_value,
        events: event_tags.iter().map(|(event, _)| *event).collect(),
        event_tags,
        conditions: datakey.conditions,
        comment: datakey.fields,
    };
    warn_wide(&entry, datakey, findings);
    entry
}

/// Warns if wide records of a datakey are read from another offset than simple ones by default.
fn warn_wide(entry: &Candidate, datakey: &Datakey, findings: &mut Findings) {
    let Some(offset) = datakey.offset.filter(|_| entry.wide_offset.is_none() && !entry.refused) else { return };
    let other = entry.events.iter().find(|(class, _)| entry.offsets(*class)[0] != entry.offsets(*class)[1]);
    let Some((class, _)) = other else { return };
    let [simple, wide] = entry.offsets(*class);
    let message = format!("wide records of class {class} are read from byte {wide}, simple ones from byte {simple}");
    let warning = Diagnostic::warning(&WIDE_OFFSET, entry.source, entry.tag, message);
    let warning = warning.with_secondary(entry.source, offset.span, "only for simple records");
    let attribute = format!("wide_offset=\"{simple}\"");
    let fix = Fix::guess(format!("add `{attribute}`"), [Edit::insert(entry.tag.end, format!(" {attribute}"))]);
    findings.add(warning.with_help(format!("add the offset of wide records, such as `{attribute}`")).with_fix(fix));
}

fn check_class<'ast>(
    unit: &XmlUnit<'ast>,
    class: &EventClass<'ast>,
    entries: &mut Vec<Candidate<'ast>>,
    findings: &mut Findings,
) {
    let number = class.id.and_then(|id| events::class(unit.id, class.tag, &id, findings));
    for event in class.events {
        let n_errors = findings.n_errors();
        let id = event.id.and_then(|id| events::id(unit.id, event.tag, number, &id, findings));
        let fields = event.format.and_then(|format| fields::fields(unit, event.tag, &format, findings));
        entries.push(Candidate {
            source: unit.id,
            tag: event.tag,
            refused: number.is_none() || event.refused || findings.n_errors() != n_errors,
            text: event.format.map_or(b"", |format| format.text),
            fields,
            offset: 0,
            wide_offset: None,
            wide_default: unit.dialect.wide_offset,
            show_masked_value: true,
            events: number.zip(id).into_iter().collect(),
            event_tags: Vec::new(),
            conditions: &[],
            comment: &[],
        });
    }
}

/// Builds the model from the valid entries.
fn model(entries: Vec<Candidate>, by_event: &BTreeMap<EventKey, Vec<usize>>, conditions: &Conditions) -> Model {
    let mut n_standing = 0;
    let mut standing = |entry: &Candidate| {
        n_standing += usize::from(!entry.refused);
        (!entry.refused).then_some(n_standing.saturating_sub(1))
    };
    let definitions: Vec<Option<usize>> = entries.iter().map(&mut standing).collect();
    let mut events = Vec::new();
    for (event, named) in by_event {
        // Keys are numbered here and not before, because the numbers change when a datakey is refused.
        let kept: Vec<usize> = named.iter().copied().filter(|entry| definitions[*entry].is_some()).collect();
        let key_of: HashMap<usize, usize> = kept.iter().enumerate().map(|(key, entry)| (*entry, key)).collect();
        let keys = kept.iter().map(|entry| AppliedDefinition {
            definition: definitions[*entry].unwrap_or_default(),
            offsets: entries[*entry].offsets(event.0),
            conditions: (conditions.of(*entry, *event).iter())
                .map(|read| {
                    let field = key_of.get(&read.entry).map(|key| (*key, read.field));
                    ResolvedCondition { field, test: read.test, tag: read.tag }
                })
                .collect(),
        });
        let plan = EventPlan { class: event.0, id: event.1, keys: keys.collect() };
        events.extend(Some(plan).filter(|plan| !plan.keys.is_empty()));
    }
    let definitions = entries.into_iter().filter(|entry| !entry.refused).map(|entry| Definition {
        source: entry.source,
        span: entry.tag,
        format: entry.text.to_vec(),
        fields: entry.fields.unwrap_or_default(),
        show_masked_value: entry.show_masked_value,
        event_tags: entry.event_tags,
        comment: entry.comment.iter().map(|entry| Spanned::new(entry.node.to_vec(), entry.span)).collect(),
    });
    Model { definitions: definitions.collect(), events }
}
