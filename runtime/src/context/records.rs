//! Rules for records of QNX logs: the entries of the sections `[qnx]`.
//!
//! ```text
//! USER:5 if W0=1 enter class=REQUEST name=call
//! ```

use super::rules::{Effect, Values, effect};
use super::table::{Action, ClassName, ContextTable, RecordEntry, RecordPos};
use crate::events::{ArgumentValue, BuiltInEvents};
use crate::qnx_report::ids::RecordIds;
use crate::reader::kev::{KevRecord, QnxRelease, classes};
use std::collections::HashMap;

/// Number of kernel calls. An event number is the call plus a multiple of this.
const CALLS: u16 = 128;

/// Rules of the context table for a QNX log.
///
/// ```
/// use tfbc::internal::analysis::RecordRules;
/// use tfbc::qnx::QnxRelease;
/// let table = "[qnx]\nUSER:5 raise class=DRIVER type=W0\n".parse::<tfbc::aix::ContextTable>()?;
/// let rules = RecordRules::new(&table, Some(QnxRelease { major: 7, minor: 1 }), false).unwrap();
/// assert!(rules.has(6, 5) && !rules.has(6, 4));
/// # Ok::<(), tfbc::aix::ContextError>(())
/// ```
#[derive(Debug, Clone)]
pub struct RecordRules {
    entries: Vec<RecordEntry>,
    /// Entries per event.
    lookup: RecordLookup,
    /// Names of the types of interrupts: class, type and name.
    labels: Vec<(ClassName, u64, String)>,
    events: BuiltInEvents,
    big_endian: bool,
}

impl RecordRules {
    /// Looks up the events of a table's entries in a log of a release. A section's entries for an event replace the
    /// entries of all earlier sections.
    ///
    /// # Errors
    /// An event that does not exist, or a name that several events of the release have.
    pub fn new(table: &ContextTable, release: Option<QnxRelease>, big_endian: bool) -> Result<Self, String> {
        let (mut all, mut reversed) = (RecordIds::default(), Vec::new());
        for section in table.sections.iter().rev() {
            let mut of_section = RecordIds::default();
            for entry in section.record_entries.iter().rev() {
                let mut ids = RecordIds::default();
                ids.add(&entry.events, release)?;
                of_section.extend(&ids);
                ids.remove_all(&all);
                reversed.push((ids, entry.clone()));
            }
            all.extend(&of_section);
        }
        reversed.reverse();
        let lookup = RecordLookup::new(&all, &reversed);
        let entries = reversed.into_iter().map(|(_, entry)| entry).collect();
        let qnx = table.sections.iter().filter(|section| section.is_qnx);
        let labels = qnx.flat_map(|section| section.labels.clone()).collect();
        Ok(Self { entries, lookup, labels, events: BuiltInEvents::of(release, big_endian), big_endian })
    }

    /// True if the table has entries for an event, which replace its built-in rule.
    #[inline]
    pub fn has(&self, class: u8, event: u16) -> bool {
        !self.lookup.list(class, event).is_empty()
    }

    /// Calls `visit` with the effects of a record. `own_tid` is the id of its thread, without the process.
    pub fn visit<'e>(&self, record: &KevRecord<'e>, own_tid: Option<u64>, mut visit: impl FnMut(Effect<'e>)) {
        let values = RecordValues { record, own_tid, rules: self };
        for index in self.lookup.list(record.meant_class(), record.event) {
            let entry = &self.entries[usize::from(*index)];
            if entry.condition.is_none_or(|(place, value)| values.number(&place) == Some(value)) {
                visit(effect(&entry.action, &values).unwrap_or(Effect::Nothing));
            }
        }
    }

    /// True if an entry lowers interrupts of a class.
    pub fn lowers(&self, class: ClassName) -> bool {
        self.entries.iter().any(|entry| entry.action == Action::Lower { class })
    }

    /// Name of a type of interrupts.
    pub fn label(&self, class: ClassName, kind: u64) -> Option<&str> {
        let label = self.labels.iter().rfind(|label| (label.0, label.1) == (class, kind));
        label.map(|label| label.2.as_str())
    }
}

/// Lists of entries, by event.
#[derive(Debug, Clone)]
struct RecordLookup {
    /// Index into `lists`, by class and event; empty if there are no entries.
    index: Vec<u16>,
    /// Indices of entries. Many events share a list; the first one is empty.
    lists: Vec<Vec<u16>>,
}

impl RecordLookup {
    /// Collects the entries per event in `all`.
    fn new(all: &RecordIds, entries: &[(RecordIds, RecordEntry)]) -> Self {
        let mut lookup = Self { index: Vec::new(), lists: vec![Vec::new()] };
        let mut known = HashMap::new();
        for (class, event) in all.iter() {
            let list: Vec<u16> =
                (0u16..).zip(entries).filter(|(_, (ids, _))| ids.contains(class, event)).map(|(at, _)| at).collect();
            lookup.index.resize(RecordIds::N_INDICES, 0);
            let number = *known.entry(list).or_insert_with_key(|list| {
                lookup.lists.push(list.clone());
                lookup.lists.len() as u16 - 1
            });
            lookup.index[RecordIds::index(class, event)] = number;
        }
        lookup
    }

    /// Indices of the entries of an event.
    #[inline]
    fn list(&self, class: u8, event: u16) -> &[u16] {
        let number = self.index.get(RecordIds::index(class, event)).copied().unwrap_or(0);
        &self.lists[usize::from(number)]
    }
}

/// Record with its numbers and texts.
struct RecordValues<'v, 'e> {
    record: &'v KevRecord<'e>,
    own_tid: Option<u64>,
    rules: &'v RecordRules,
}

impl<'e> RecordValues<'_, 'e> {
    fn argument(&self, name: &str) -> Option<ArgumentValue<'e>> {
        let mut arguments = self.rules.events.arguments(self.record);
        let found = arguments.find(|argument| argument.name_is(name));
        found.map(|argument| argument.value)
    }

    fn word(&self, at: usize) -> Option<u64> {
        let bytes = *self.record.bytes.get(4 * at..)?.first_chunk()?;
        Some(if self.rules.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }.into())
    }
}

impl<'e> Values<'e, RecordPos, RecordPos> for RecordValues<'_, 'e> {
    fn own_tid(&self) -> Option<u64> {
        self.own_tid
    }

    fn number(&self, place: &RecordPos) -> Option<u64> {
        match *place {
            RecordPos::Word(at) => self.word(at.into()),
            RecordPos::Call => None,
            RecordPos::Vector if self.record.meant_class() == classes::INT => match self.record.event {
                3 | 6 => self.word(1),
                _ => self.word(0),
            },
            RecordPos::Vector => None,
            RecordPos::Argument(name) => match self.argument(name)? {
                ArgumentValue::Decimal(number) => Some(i64::from(number) as u64),
                ArgumentValue::Hex(number) | ArgumentValue::Pointer(number) => Some(number.into()),
                ArgumentValue::Decimal64(number) => Some(number as u64),
                ArgumentValue::Hex64(number) => Some(number),
                ArgumentValue::Text(_) | ArgumentValue::Name(_) => None,
            },
        }
    }

    fn text(&self, place: RecordPos) -> Option<&'e [u8]> {
        let before_nul = |bytes: &'e [u8]| bytes.split(|byte| *byte == 0).next();
        match place {
            RecordPos::Word(at) => before_nul(self.record.bytes.get(4 * usize::from(at)..)?),
            RecordPos::Call if self.record.meant_class() == classes::KER_CALL => {
                let label = self.rules.events.label(classes::KER_CALL, self.record.event % CALLS)?;
                label.split('/').next().map(str::as_bytes)
            }
            RecordPos::Call | RecordPos::Vector => None,
            RecordPos::Argument(name) => match self.argument(name)? {
                ArgumentValue::Text(words) => before_nul(words.as_flattened()),
                ArgumentValue::Name(name) => Some(name),
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_arguments_and_words() {
        let places = ["pid", "interrupt_number", "W0", "W12", "call", "vector"].map(RecordPos::parse);
        let expected = [
            RecordPos::Argument("pid"),
            RecordPos::Argument("interrupt_number"),
            RecordPos::Word(0),
            RecordPos::Word(12),
            RecordPos::Call,
            RecordPos::Vector,
        ];
        assert_eq!(places, expected.map(Some));
        assert_eq!(["pidd", "W", "W99999", "D1", "U4@8", ""].map(RecordPos::parse), [None; 6]);
    }

    #[test]
    fn a_later_section_replaces_the_entries_of_an_event() {
        let table: ContextTable = "[qnx]\nUSER:5-6 raise class=A\nUSER:5 none\n".parse().unwrap();
        let table = table.overlay("[qnx]\nUSER:6 raise class=B type=W1\n".parse().unwrap());
        let rules = RecordRules::new(&table, None, false).unwrap();
        let bytes = [1, 0, 0, 0, 2, 0, 0, 0];
        let effects = |event| {
            let mut found = Vec::new();
            let (class, stamp, msb) = (classes::USER, 0, None);
            let bytes = &bytes[..];
            let record = KevRecord { number: 1, offset: 0, class, event, cpu: 0, wide: false, stamp, msb, bytes };
            rules.visit(&record, None, |effect| found.push(format!("{effect:?}")));
            found.join(" ")
        };
        assert!(effects(5).starts_with("Raise") && effects(5).ends_with("Nothing"), "{}", effects(5));
        assert!(effects(6).contains("kind: Some(2)") && !effects(6).contains("Nothing"), "{}", effects(6));
        assert_eq!(effects(7), "");
        assert!(rules.has(6, 5) && rules.has(6, 6) && !rules.has(6, 7));
    }
}
