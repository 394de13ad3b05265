//! Filter of the records to report.

use super::ids::RecordIds;
use super::owners::Owner;
use crate::filter::Threads;
use std::collections::BTreeSet;

/// Filter of the records to report.
#[derive(Debug, Clone, Default)]
pub struct RecordFilter {
    /// Only these events.
    pub only: Option<RecordIds>,
    /// All but these events.
    pub except: Option<RecordIds>,
    /// Only these CPUs, one bit per CPU.
    pub cpus: Option<u64>,
    /// Earliest time, in ns of the report's time format. With a time range, records of unknown time are left out.
    pub from_ns: Option<i128>,
    /// Latest time, in ns of the report's time format.
    pub to_ns: Option<i128>,
    /// Only records of these processes.
    pub pids: Option<BTreeSet<u64>>,
    /// Only records of these threads, or of all other threads.
    pub threads: Option<Threads>,
    /// Only records of processes with these names: the whole name, or the part after its last `/`.
    pub names: Option<BTreeSet<Vec<u8>>>,
}

impl RecordFilter {
    /// Adds CPUs such as `0,2-3` to those that the filter admits.
    ///
    /// # Errors
    /// An item of the list is neither a number from 0 to 63 nor a range.
    pub fn add_cpus(&mut self, list: &str) -> Result<(), String> {
        let bits = self.cpus.get_or_insert(0);
        for item in list.split([',', ' ']).filter(|item| !item.is_empty()) {
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            let number = |text: &str| text.parse::<u32>().ok().filter(|cpu| *cpu < 64);
            match (number(first), number(last)) {
                (Some(first), Some(last)) if first <= last => (first..=last).for_each(|cpu| *bits |= 1u64 << cpu),
                _ => return Err(format!("`{item}` is not a CPU: expected 0 to 63, or two numbers with - between")),
            }
        }
        Ok(())
    }

    /// True if every event in `only` is also in `except`.
    pub fn leaves_nothing(&self) -> bool {
        let (Some(only), Some(except)) = (&self.only, &self.except) else { return false };
        only.iter().all(|(class, event)| except.contains(class, event))
    }

    /// True if it shows every record.
    pub(crate) fn shows_all(&self) -> bool {
        let Self { only, except, cpus, from_ns, to_ns, pids, threads, names } = self;
        only.is_none()
            && except.is_none()
            && cpus.is_none()
            && from_ns.is_none()
            && to_ns.is_none()
            && pids.is_none()
            && threads.is_none()
            && names.is_none()
    }

    /// True if it has a time range.
    #[inline]
    pub fn is_timed(&self) -> bool {
        self.from_ns.is_some() || self.to_ns.is_some()
    }

    /// True if the filter depends on the owners of records.
    pub(crate) fn depends_on_owners(&self) -> bool {
        self.pids.is_some() || self.threads.is_some() || self.names.is_some()
    }

    /// True if records of an owner are reported.
    #[inline]
    pub(crate) fn admits(&self, owner: &Owner) -> bool {
        !self.depends_on_owners() || self.admits_known(owner)
    }

    fn admits_known(&self, owner: &Owner) -> bool {
        let has_number = |numbers: &BTreeSet<u64>, number: Option<i32>| {
            number.and_then(|number| u64::try_from(number).ok()).is_some_and(|number| numbers.contains(&number))
        };
        let has_name = |names: &BTreeSet<Vec<u8>>| {
            let name = owner.process.as_deref();
            let base = name.and_then(|name| name.rsplit(|byte| *byte == b'/').next());
            [name, base].into_iter().flatten().any(|name| names.contains(name))
        };
        let is_wanted =
            |threads: &Threads| owner.tid.is_some() && has_number(&threads.tids, owner.tid) != threads.excluded;
        self.pids.as_ref().is_none_or(|pids| has_number(pids, owner.pid))
            && self.threads.as_ref().is_none_or(is_wanted)
            && self.names.as_ref().is_none_or(has_name)
    }

    /// True if the filter admits a record. Does not test the record's owner; class 13 counts as class 5. `time_ns` is
    /// the displayed time, which only a time range uses.
    #[inline]
    pub fn shows(&self, class: u8, event: u16, cpu: u8, time_ns: Option<i128>) -> bool {
        self.only.as_ref().is_none_or(|ids| ids.contains(class, event))
            && !self.except.as_ref().is_some_and(|ids| ids.contains(class, event))
            && self.cpus.is_none_or(|cpus| cpus >> (cpu & 63) & 1 == 1)
            && (!self.is_timed()
                || time_ns.is_some_and(|ns| {
                    self.from_ns.is_none_or(|from| ns >= from) && self.to_ns.is_none_or(|to| ns <= to)
                }))
    }
}
