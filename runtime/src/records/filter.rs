//! Which records are reported.

use crate::events::{Events, class_name, class_number};
use crate::spelling::hint;
use std::fmt;

/// Classes and events of one class.
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
    /// Adds an event; numbers out of range are nobody's.
    pub fn insert(&mut self, class: u8, event: u16) {
        let at = usize::from(class) * N_EVENTS + usize::from(event);
        if usize::from(event) < N_EVENTS
            && let Some(word) = self.bits.get_mut(at / 64)
        {
            *word |= 1 << (at % 64);
        }
    }

    /// Whether an event is in the set.
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

    /// Adds what an item such as `6`, `USER`, `6:65`, `KER_CALL:10-20` or `PR_TH:THREADY` names, labels being those
    /// of a release (major, minor).
    ///
    /// # Errors
    /// What is wrong with the item.
    pub fn add(&mut self, item: &str, release: Option<(u32, u32)>) -> Result<(), String> {
        let (class_text, event_text) = item.split_once(':').map_or((item, None), |(class, event)| (class, Some(event)));
        let number = class_text.parse().ok().filter(|class| usize::from(*class) < N_CLASSES);
        let Some(class) = number.or_else(|| class_number(class_text)) else {
            let names: Vec<_> = (0..N_CLASSES as u8).filter_map(class_name).collect();
            let hint = hint(class_text, &names);
            return Err(format!(
                "`{item}`: `{class_text}` is no class: expected 0 to 31, or a name such as USER{hint}"
            ));
        };
        let found = match event_text {
            None => (0..N_EVENTS as u16).collect(),
            Some(text) => range(text).unwrap_or_else(|| Events::of(release, false).numbers(class, text)),
        };
        if found.is_empty() {
            let what = event_text.unwrap_or_default();
            let hint = hint(what, &Events::of(release, false).labels(class));
            return Err(format!(
                "`{item}`: `{what}` is no event: expected 0 to 1023, two numbers with - between, or a label{hint}"
            ));
        }
        found.into_iter().for_each(|event| self.insert(class, event));
        Ok(())
    }

    /// The one event that a class (a number or name) and an event (a number or label) name; class 13 is 5 here.
    ///
    /// # Errors
    /// What is wrong with them, or that they stand for several events.
    pub fn one(class: &str, event: &str) -> Result<(u8, u16), String> {
        let mut ids = Self::default();
        ids.add(&format!("{class}:{event}"), None)?;
        let mut found = ids.iter();
        match (found.next(), found.next()) {
            (Some((13, event)), None) => Ok((5, event)),
            (Some(id), None) => Ok(id),
            _ => Err(format!("`{event}` stands for several events of class {class}: give the number")),
        }
    }
}

/// CPUs as a bit each; `None` for all of them.
///
/// # Errors
/// The item that is neither a number nor a range.
pub(crate) fn cpus(lists: &[String]) -> Result<Option<u64>, String> {
    let mut bits = 0;
    for item in lists.iter().flat_map(|list| list.split([',', ' '])).filter(|item| !item.is_empty()) {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let number = |text: &str| text.parse::<u32>().ok().filter(|cpu| *cpu < 64);
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => (first..=last).for_each(|cpu| bits |= 1u64 << cpu),
            _ => return Err(format!("`{item}` is no CPU: expected 0 to 63, or two numbers with - between")),
        }
    }
    Ok((!lists.is_empty()).then_some(bits))
}

/// `n` or `n-m`.
fn range(text: &str) -> Option<Vec<u16>> {
    let number = |text: &str| text.parse::<u16>().ok().filter(|number| usize::from(*number) < N_EVENTS);
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (number(first)?, number(last)?);
    Some((first..=last).collect())
}

/// Which records are reported.
#[derive(Debug, Clone, Default)]
pub struct RecordFilter {
    /// Only these events.
    pub only: Option<RecordIds>,
    /// All but these events.
    pub except: Option<RecordIds>,
    /// Only these CPUs, a bit each.
    pub cpus: Option<u64>,
    /// From this time on, in ns. Records whose time is not known are left out where a time is asked for.
    pub from_ns: Option<u64>,
    /// Up to this time, in ns.
    pub to_ns: Option<u64>,
}

impl RecordFilter {
    /// Whether it asks for times.
    #[inline]
    pub fn is_timed(&self) -> bool {
        self.from_ns.is_some() || self.to_ns.is_some()
    }

    /// Whether a record is reported; class 13 is class 5 here.
    #[inline]
    pub fn shows(&self, class: u8, event: u16, cpu: u8, time_ns: Option<u64>) -> bool {
        self.only.as_ref().is_none_or(|ids| ids.contains(class, event))
            && !self.except.as_ref().is_some_and(|ids| ids.contains(class, event))
            && self.cpus.is_none_or(|cpus| cpus >> (cpu & 63) & 1 == 1)
            && (!self.is_timed()
                || time_ns.is_some_and(|ns| {
                    self.from_ns.is_none_or(|from| ns >= from) && self.to_ns.is_none_or(|to| ns <= to)
                }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
