//! Sets of classes and events.

use crate::events::spelling::{self, ClassPart};
use crate::events::{BuiltInEvents, class_name};
use crate::reader::kev::{QnxRelease, classes};
use crate::suggest::hint;
use std::fmt;

/// Number of classes, and of events per class.
const N_CLASSES: usize = 32;
const N_EVENTS: usize = 1024;

/// A set of classes and events.
#[derive(Clone, PartialEq, Eq)]
pub struct RecordIds {
    bits: Vec<u64>,
}

impl Default for RecordIds {
    fn default() -> Self {
        Self { bits: vec![0; N_CLASSES * N_EVENTS / 64] }
    }
}

impl fmt::Debug for RecordIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl RecordIds {
    /// Number of indices that [`RecordIds::index`] returns for events.
    pub(crate) const N_INDICES: usize = N_CLASSES * N_EVENTS;

    /// Index of an event in a table of all events; [`RecordIds::N_INDICES`] or more if a number is out of range.
    #[inline]
    pub(crate) fn index(class: u8, event: u16) -> usize {
        if usize::from(event) < N_EVENTS { usize::from(class) * N_EVENTS + usize::from(event) } else { usize::MAX }
    }

    /// Adds an event; numbers out of range are ignored.
    pub fn insert(&mut self, class: u8, event: u16) {
        let at = Self::index(class, event);
        if let Some(word) = self.bits.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }

    /// Adds all events of another set.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(own, other)| *own |= other);
    }

    /// Removes all events of another set.
    pub(crate) fn remove_all(&mut self, other: &Self) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(own, other)| *own &= !other);
    }

    /// True if the set contains the event.
    #[inline]
    pub fn contains(&self, class: u8, event: u16) -> bool {
        let at = usize::from(class) * N_EVENTS + usize::from(event);
        self.bits.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// Every event, by class and number.
    pub fn iter(&self) -> impl Iterator<Item = (u8, u16)> {
        let all = (0..N_CLASSES as u8).flat_map(|class| (0..N_EVENTS as u16).map(move |event| (class, event)));
        all.filter(|(class, event)| self.contains(*class, *event))
    }

    /// Adds the events that an item such as `6`, `USER`, `6:65`, `KER_CALL:10-20`, `PR_TH:THREADY` or `THREADY` means,
    /// in logs of a release. A kernel call without `:enter`, `:exit` or `:int` means all its records.
    ///
    /// # Errors
    /// A message that describes the mistake in the item.
    pub fn add(&mut self, item: &str, release: Option<QnxRelease>) -> Result<(), String> {
        let events = BuiltInEvents::of(release, false);
        let (class_text, event_text) = item.split_once(':').map_or((item, None), |(class, event)| (class, Some(event)));
        let Some((class, part)) = spelling::class(class_text) else {
            return self.add_name(item, class_text, release);
        };
        // The records of both classes count as SYSTEM.
        let class = if class == classes::STRAY_SYSTEM { classes::SYSTEM } else { class };
        let found = match event_text {
            None => (0..N_EVENTS as u16).collect(),
            Some(text) => match range(text) {
                Some(found) => found,
                None => named(release, class, text).map_err(|why| format!("`{item}`: {why}"))?,
            },
        };
        found.into_iter().filter(|event| part.contains(events, *event)).for_each(|event| self.insert(class, event));
        Ok(())
    }

    /// Adds an event that is named without its class.
    fn add_name(&mut self, item: &str, class_text: &str, release: Option<QnxRelease>) -> Result<(), String> {
        let name = spelling::split_call(classes::KER_CALL, item).0;
        let rows = spelling::events(release, None, name);
        if rows.len() > 1 {
            return Err(format!("`{item}`: several events have this name: give one of {}", spelling::row_list(&rows)));
        }
        let Some((class, ..)) = rows.first() else {
            let names: Vec<_> = (0..N_CLASSES as u8).filter_map(class_name).collect();
            let (list, hint) = (spelling::class_list(), hint(class_text, &names));
            return Err(format!("`{item}`: `{class_text}` is not a class: expected 0 to 31, or one of {list}{hint}"));
        };
        let found = named(release, *class, item).map_err(|why| format!("`{item}`: {why}"))?;
        found.into_iter().for_each(|event| self.insert(*class, event));
        Ok(())
    }

    /// Resolves a class and an event to one event, see [`EventId::of_record`](crate::EventId::of_record).
    pub(crate) fn one(class: &str, event: &str) -> Result<(u8, u16), String> {
        let item = format!("{class}:{event}");
        let events = BuiltInEvents::of(None, false);
        let mut ids = Self::default();
        ids.add(&item, None)?;
        let kind = spelling::split_call(classes::KER_CALL, event).1;
        let add = kind.and_then(spelling::call_record).unwrap_or(match spelling::class(class) {
            Some((_, ClassPart::Exits)) => 128,
            Some((_, ClassPart::Interrupted)) => 256,
            _ => 0,
        });
        let mut found: Vec<(u8, u16)> = ids.iter().collect();
        if spelling::number(event).is_none() && found.len() > 1 {
            found.retain(|(class, event)| *class != classes::KER_CALL || event & !127 == add);
        }
        match found[..] {
            [id] => Ok(id),
            [] => Err(format!("`{item}`: class {class} does not contain the event")),
            [(class, _), ..] => {
                let labels = spelling::event_list(events, class);
                Err(format!("`{event}` means several events: give the number, or one of {labels}"))
            }
        }
    }
}

/// Events of a class with this name.
fn named(release: Option<QnxRelease>, class: u8, text: &str) -> Result<Vec<u16>, String> {
    let events = BuiltInEvents::of(release, false);
    let (name, kind) = spelling::split_call(class, text);
    let rows = spelling::events(release, Some(class), name);
    if rows.len() > 1 {
        return Err(format!("several events are called `{name}`: give one of {}", spelling::row_list(&rows)));
    }
    let is_known_kind = kind.is_none_or(|kind| spelling::call_record(kind).is_some());
    let Some((_, first, last)) = rows.first().copied().filter(|_| is_known_kind) else {
        let (list, hint) = (spelling::event_list(events, class), hint(name, &events.labels(class)));
        let names = if list.is_empty() { list } else { format!(", or one of {list}") };
        return Err(format!("`{text}` is not an event: expected 0 to 1023, two numbers with - between{names}{hint}"));
    };
    if class != classes::KER_CALL {
        return Ok((first..=last).collect());
    }
    let records = (0..8).map(|record| first + 128 * record);
    Ok(match kind.and_then(spelling::call_record) {
        None => records.collect(),
        // Numbers of records with 64-bit values are 512 higher.
        Some(add @ 0..512) => vec![first + add, first + add + 512],
        Some(add) => vec![first + add],
    })
}

/// `n` or `n-m`.
fn range(text: &str) -> Option<Vec<u16>> {
    let number = |text: &str| spelling::number(text).filter(|number| usize::from(*number) < N_EVENTS);
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (number(first)?, number(last)?);
    (first <= last).then(|| (first..=last).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(items: &[&str]) -> Vec<(u8, u16)> {
        let mut ids = RecordIds::default();
        items.iter().for_each(|item| ids.add(item, None).unwrap());
        ids.iter().collect()
    }

    #[test]
    fn items_name_classes_and_events() {
        let mut ids = RecordIds::default();
        for item in ["USER:65", "PR_TH:THREADY", "2:10-12", "31"] {
            ids.add(item, None).unwrap();
        }
        assert!(ids.contains(6, 65) && !ids.contains(6, 64));
        assert!(ids.contains(4, 2) && ids.contains(2, 12) && !ids.contains(2, 13));
        assert!(ids.contains(31, 0) && ids.contains(31, 1023));
        for bad in ["32", "QNX", "6:1024", "6:x", "6:", "6:9-8", ""] {
            assert!(ids.clone().add(bad, None).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_spelling_is_taken() {
        for item in ["user:0x41", "_NTO_TRACE_USER:65", "0x6:65"] {
            assert_eq!(ids(&[item]), [(6, 65)], "{item}");
        }
        for item in ["THRUNNING", "_nto_trace_thrunning", "Thread:THRUNNING", "pr_th:1"] {
            assert_eq!(ids(&[item]), [(4, 1)], "{item}");
        }
        assert_eq!(ids(&["KERCALLEXIT:MSG_SENDV"]), [(2, 139), (2, 651)]);
        assert_eq!(ids(&["__KER_MSG_SENDV:exit64"]), [(2, 651)]);
        assert_eq!(ids(&["msg_sendv:int"]), [(2, 267), (2, 779)]);
        assert_eq!(ids(&["INTENTER"]), [(3, 1)]);
        // Class 13 is SYSTEM.
        assert_eq!(ids(&["13:9", "0x0d:8"]), [(5, 8), (5, 9)]);
        assert_eq!(ids(&["13"]), ids(&["SYSTEM"]));
        assert_eq!(ids(&["PROCESS:0-1023"]).len(), 1024 - 64);
        assert_eq!(ids(&["KERCALLENTER"]).len(), 256);
    }

    #[test]
    fn unknown_and_ambiguous_names_are_listed() {
        let refused = |item: &str| RecordIds::default().add(item, None).unwrap_err();
        assert!(refused("SYSTEM:MAPNAME").ends_with("give one of SYSTEM:8, SYSTEM:21"));
        assert!(refused("COMM:X").contains("SND_MESSAGE, SND_PULSE, REC_MESSAGE"));
        assert!(refused("QNX").contains("EMPTY, CONTROL, KER_CALL, INT, PR_TH, SYSTEM, USER"));
        assert!(refused("USERX").ends_with("did you mean `USER`?"));
    }

    #[test]
    fn one_event_is_named_by_class_and_name() {
        assert_eq!(RecordIds::one("KER_CALL", "MSG_SENDV"), Ok((2, 11)));
        assert_eq!(RecordIds::one("KERCALLEXIT", "MSG_SENDV"), Ok((2, 139)));
        assert_eq!(RecordIds::one("2", "__ker_msg_sendv:EXIT64"), Ok((2, 651)));
        assert_eq!(RecordIds::one("13", "10"), Ok((5, 10)));
        assert_eq!(RecordIds::one("_NTO_TRACE_THREAD", "0x1"), Ok((4, 1)));
        assert!(RecordIds::one("USER", "USREVENT").is_err());
        assert!(RecordIds::one("PROCESS", "1").is_err());
    }
}
