//! Conditions of `--where` on the properties and fields of events.

use crate::catalog::Catalog;
use crate::context::{EventPlace, RequiredContext, ThreadContext};
use crate::events::EventColumns;
use crate::expression::{Bound, Condition, Expression, Operand, Verdict};
use crate::fields::{Field, FieldValue, FieldsProgress, NamedFields};
use crate::formats::Formats;
use crate::ids::EventId;
use crate::qnx_report::owners::Owner;
use crate::qnx_report::print::RecordPrinter;
use crate::reader::System;
use crate::reader::aix::RawEvent;
use crate::reader::kev::{KevHeader, KevRecord, QnxRelease};
use crate::suggest::hint;
use crate::time_zone::utc;
use crate::work::MaxWork;
use std::collections::{HashMap, HashSet};
use tfbc_vm::{Context, Event, Limits, Timers};

/// Property of an event, or name of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    Seq,
    Cpu,
    Pid,
    Tid,
    Process,
    Thread,
    Svc,
    Depth,
    Field(String),
}

/// Properties by name. As columns of tables, they take precedence over fields.
const PROPERTIES: [(&str, Subject); 8] = [
    ("seq", Subject::Seq),
    ("cpu", Subject::Cpu),
    ("pid", Subject::Pid),
    ("tid", Subject::Tid),
    ("process", Subject::Process),
    ("thread", Subject::Thread),
    ("svc", Subject::Svc),
    ("depth", Subject::Depth),
];

impl Subject {
    fn parse(name: &str) -> Self {
        let name = if name == "exec" { "process" } else { name };
        match PROPERTIES.iter().find(|(known, _)| *known == name) {
            Some((_, property)) => property.clone(),
            None => Self::Field(name.strip_prefix("data.").unwrap_or(name).to_owned()),
        }
    }
}

impl Expression {
    /// Checks the ids and names of an expression of `--where`.
    ///
    /// # Errors
    /// The first id that does not exist, or the first name that is neither a property nor a field.
    pub(crate) fn check(&self, formats: &Formats, system: System, release: Option<QnxRelease>) -> Result<(), String> {
        // An expression may have thousands of conditions, and the fields of all events are many.
        let mut known: Option<HashSet<String>> = None;
        let check = |name: &str| match Subject::parse(name) {
            Subject::Field(field)
                if !is_field(&field, known.get_or_insert_with(|| field_names(formats)), system, release) =>
            {
                let properties: Vec<&str> = PROPERTIES.iter().map(|(name, _)| *name).collect();
                let fields: Vec<String> =
                    formats.events().flat_map(|event| event.fields).map(|field| field.name).collect();
                let known: Vec<&str> = properties.iter().copied().chain(fields.iter().map(String::as_str)).collect();
                let (hint, names) = (hint(name, &known), properties.join(", "));
                Err(format!(
                    "no event has a field `{name}`: expected {names}, or a name that `tfbc fields` lists{hint}"
                ))
            }
            _ => Ok(()),
        };
        self.bind(system, release, check).map(drop)
    }
}

/// Names of the fields that formats describe.
fn field_names(formats: &Formats) -> HashSet<String> {
    formats.events().flat_map(|event| event.fields).map(|field| field.name).collect()
}

/// True if some event has a field of this name. `known` are the names of fields so far; a new one is added.
fn is_field(name: &str, known: &mut HashSet<String>, system: System, release: Option<QnxRelease>) -> bool {
    if known.contains(name) {
        return true;
    }
    let is_column = system == System::Qnx && EventColumns::any_has(name, release);
    if is_column {
        known.insert(name.to_owned());
    }
    is_column
}

/// Binds an expression of `--where`. An expression with unknown ids, which [`Expression::check`] refuses, selects
/// nothing.
fn bind(expression: &Expression, system: System, release: Option<QnxRelease>) -> Bound<Subject> {
    expression.bind(system, release, |name| Ok(Subject::parse(name))).unwrap_or_default()
}

/// Context that the conditions of an expression need, besides that of fields; `None` if they need none.
pub(crate) fn required_context(expression: &Expression) -> Option<RequiredContext> {
    let subjects = expression.fields().map(Subject::parse);
    subjects.fold(None, |required, subject| {
        let context = required.unwrap_or_default();
        match subject {
            Subject::Seq | Subject::Tid | Subject::Thread | Subject::Field(_) => required,
            Subject::Cpu | Subject::Pid | Subject::Process => Some(context),
            Subject::Svc => Some(RequiredContext { svc: true, ..context }),
            Subject::Depth => Some(RequiredContext { depth: true, ..context }),
        }
    })
}

/// Conditions on AIX events.
pub(crate) struct HookConditions<'c> {
    bound: Bound<HookSubject>,
    fields: NamedFields<'c>,
    needs: ConditionsNeed,
}

/// Part of an event's context that conditions need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ConditionsNeed {
    Nothing,
    Cpu,
    Everything,
}

/// Property of an event, or number of a field's name.
#[derive(Debug, Clone)]
enum HookSubject {
    Property(Subject),
    Field(usize),
}

impl<'c> HookConditions<'c> {
    pub fn new(catalog: &'c Catalog<'c>, expression: &Expression, limits: Limits, max_work: MaxWork) -> Self {
        let mut numbers = HashMap::new();
        let mut names = Vec::new();
        let subject = |name: &str| {
            Ok(match Subject::parse(name) {
                Subject::Field(name) => HookSubject::Field(*numbers.entry(name).or_insert_with_key(|name| {
                    names.push(name.clone());
                    names.len() - 1
                })),
                property => HookSubject::Property(property),
            })
        };
        let bound = expression.bind(System::Aix, None, subject).unwrap_or_default();
        let need = |subject: &HookSubject| match subject {
            HookSubject::Property(Subject::Seq | Subject::Tid) => ConditionsNeed::Nothing,
            HookSubject::Property(Subject::Cpu) => ConditionsNeed::Cpu,
            _ => ConditionsNeed::Everything,
        };
        let needs = bound.fields().map(need).max().unwrap_or(ConditionsNeed::Nothing);
        Self { bound, fields: NamedFields::new(catalog, names, limits, max_work), needs }
    }

    /// Part of an event's context that the conditions need.
    #[inline(always)]
    pub fn needs(&self) -> ConditionsNeed {
        self.needs
    }

    /// True if the expression selects an event. Does not change the timers.
    pub fn select<'e>(
        &mut self,
        raw: &RawEvent<'e>,
        time_ns: u64,
        facts: &ThreadContext<'_>,
        context: impl Fn() -> Context<'e>,
        timers: &mut Timers,
    ) -> bool {
        let Self { bound, fields, .. } = self;
        let mut progress = FieldsProgress::default();
        let verdict = bound.test_by(
            EventId::Hook(raw.id),
            || subhook(raw),
            |condition| {
                let number = match condition.field() {
                    HookSubject::Field(name) => {
                        let (record, offset) = (None, raw.offset);
                        let event = Event { bytes: raw.bytes, wide: raw.wide, record, time_ns, offset };
                        let value = fields.value(*name, raw.id, &event, &context, timers, &mut progress);
                        return meets_value(condition, &value);
                    }
                    HookSubject::Property(property) => match property {
                        Subject::Seq => raw.number.checked_sub(1),
                        Subject::Cpu => facts.cpu,
                        Subject::Pid => facts.pid,
                        Subject::Tid => Some(raw.tid),
                        Subject::Depth => Some(facts.depth.into()),
                        Subject::Process => return meets_path(condition, facts.path),
                        Subject::Svc if !facts.svc.is_empty() => {
                            return Some(condition.is_met_by(&Operand::from(facts.svc)));
                        }
                        Subject::Svc | Subject::Thread | Subject::Field(_) => None,
                    },
                };
                number.map(|number| condition.is_met_by_number(number.into()))
            },
        );
        verdict == Verdict::Yes
    }
}

fn subhook(raw: &RawEvent<'_>) -> Option<u16> {
    match EventPlace::parse("HD")?.read(raw)? {
        Operand::Number(number) => u16::try_from(number).ok(),
        Operand::Text(_) => None,
    }
}

/// Conditions on QNX records.
pub(crate) struct RecordConditions<'r> {
    bound: Bound<Subject>,
    printer: RecordPrinter<'r>,
    /// Owner of the next record.
    pub owner: Owner,
}

impl<'r> RecordConditions<'r> {
    pub fn new(expression: &Expression, catalog: &'r Catalog<'r>, header: &KevHeader, limits: Limits) -> Self {
        Self {
            bound: bind(expression, System::Qnx, header.release),
            printer: RecordPrinter::new(catalog, header.big_endian, header.release, limits),
            owner: Owner::default(),
        }
    }

    /// True if the expression selects a record.
    pub fn select(&mut self, record: &KevRecord<'_>) -> bool {
        let Self { bound, printer, owner } = self;
        let mut found: Option<Vec<Field>> = None;
        let number = |number: Option<i32>| number.map(|number| Operand::Number(number.into()));
        let verdict = bound.test_by(
            EventId::Record(record.class, record.event),
            || None,
            |condition| {
                let operand = match condition.field() {
                    Subject::Field(name) if !printer.is_named(record) => {
                        return printer.argument(record, name).and_then(|value| meets_value(condition, &value));
                    }
                    Subject::Field(name) => {
                        return test_condition(
                            condition,
                            found.get_or_insert_with(|| printer.list_fields(record)),
                            name,
                        );
                    }
                    Subject::Seq => record.number.checked_sub(1).map(Operand::from),
                    Subject::Cpu => Some(Operand::from(u64::from(record.cpu))),
                    Subject::Pid => number(owner.pid),
                    Subject::Tid => number(owner.tid),
                    Subject::Process => return meets_path(condition, owner.process.as_deref().unwrap_or_default()),
                    Subject::Thread => owner.thread.as_deref().map(Operand::from),
                    Subject::Svc | Subject::Depth => None,
                };
                operand.map(|operand| condition.is_met_by(&operand))
            },
        );
        verdict == Verdict::Yes
    }
}

/// Tests the path of a program, or its last part if the condition's value has no `/`. `None` if it is unknown.
fn meets_path<F>(condition: &Condition<F>, path: &[u8]) -> Option<bool> {
    let base = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let path = if condition.text().contains('/') { path } else { base };
    (!path.is_empty()).then(|| condition.is_met_by(&Operand::from(path)))
}

/// Tests the field with a name; `None` if the event does not have it.
fn test_condition(condition: &Condition<Subject>, fields: &[Field], name: &str) -> Option<bool> {
    fields.iter().find(|field| field.name == name).and_then(|field| meets_value(condition, &field.value))
}

/// Tests a value. A list is tested by its items: one of them must meet the condition.
fn meets_value<F>(condition: &Condition<F>, value: &FieldValue) -> Option<bool> {
    let text = |text: &str| Some(condition.is_met_by(&Operand::from(text.as_bytes())));
    match value {
        FieldValue::Missing | FieldValue::Struct(_) => None,
        FieldValue::Bool(bit) => text(if *bit { "true" } else { "false" }),
        FieldValue::Integer(number) => Some(condition.is_met_by_number(*number)),
        FieldValue::Float(number) => Some(condition.is_met_by_float(*number)),
        FieldValue::Text(word) => text(word),
        FieldValue::Bytes(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            text(&hex)
        }
        FieldValue::Timestamp(seconds) => text(&format!("{}Z", utc((*seconds).into(), 'T'))),
        FieldValue::List(items) => Some(items.iter().any(|item| meets_value(condition, item) == Some(true))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::WORDS;

    /// `benches/doubling.sh` counts the work for them.
    #[test]
    fn an_expression_may_have_thousands_of_conditions() {
        let formats = Formats::builtin();
        let field =
            formats.events().find_map(|event| event.fields.into_iter().next()).expect("an event has fields").name;
        for (system, name, between) in
            [(System::Aix, &field[..], ","), (System::Aix, &field[..], "|"), (System::Qnx, WORDS, "&&")]
        {
            let text = vec![format!("{name}=1"); 5000].join(between);
            let expression = Expression::parse(&text).unwrap();
            assert_eq!(expression.check(&formats, system, None), Ok(()), "{system:?} {between}");
        }
    }
}
