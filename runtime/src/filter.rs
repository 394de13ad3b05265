//! Filter of AIX events.

use crate::context::{RequiredContext, ThreadContext};
use crate::ids::IdSet;
use crate::reader::aix::hooks;
use std::collections::BTreeSet;

/// Conditions that an event must meet to be reported. The default admits every event.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Admits only these ids.
    pub only: Option<IdSet>,
    /// Excludes these ids.
    pub except: IdSet,
    /// Admits only events of these processes.
    pub processes: Option<Processes>,
    /// Admits only events of these threads, or excludes them.
    pub threads: Option<Threads>,
    /// Admits only events on these CPUs.
    pub cpus: Option<Numbers>,
    /// Earliest time, in nanoseconds since the start of the trace.
    pub from_ns: Option<u64>,
    /// Latest time, inclusive, in nanoseconds since the start of the trace.
    pub to_ns: Option<u64>,
    /// Earliest second since 1970.
    pub from_date: Option<u32>,
    /// Latest second since 1970, inclusive.
    pub to_date: Option<u32>,
}

/// Set of processes, given by id or name. May include interrupts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Processes {
    /// Process ids.
    pub pids: BTreeSet<u64>,
    /// Names, each a whole path or its last part.
    pub names: BTreeSet<Vec<u8>>,
    /// True to admit events at interrupt level, which belong to no process.
    pub interrupts: bool,
}

/// Set of threads, or all threads outside it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Threads {
    /// Thread ids.
    pub tids: BTreeSet<u64>,
    /// True if the set is excluded instead of admitted.
    pub excluded: bool,
}

/// Set of numbers, as inclusive ranges.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Numbers(pub Vec<(u64, u64)>);

impl Processes {
    /// Adds a list such as `cp,4522,INTR`.
    ///
    /// # Errors
    /// The list is empty.
    pub fn add(&mut self, list: &str) -> Result<(), String> {
        for item in items(list)? {
            match number(item) {
                _ if item == "INTR" => self.interrupts = true,
                Some(pid) => drop(self.pids.insert(pid)),
                None => drop(self.names.insert(item.as_bytes().to_vec())),
            }
        }
        Ok(())
    }

    fn admits(&self, facts: &ThreadContext<'_>) -> bool {
        facts.pid.is_some_and(|pid| self.pids.contains(&pid))
            || (self.interrupts && facts.depth > 0)
            || (!facts.path.is_empty() && self.names_path(facts.path))
    }

    fn names_path(&self, path: &[u8]) -> bool {
        let base = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        self.names.contains(base) || self.names.contains(path)
    }
}

impl Threads {
    /// Adds a list such as `8191,10011`; `!8191` excludes the thread.
    ///
    /// # Errors
    /// An item is not a number, or one list starts with `!` and another does not.
    pub fn add(&mut self, list: &str) -> Result<(), String> {
        let (excluded, rest) = list.trim_start().strip_prefix('!').map_or((false, list), |rest| (true, rest));
        if !self.tids.is_empty() && excluded != self.excluded {
            return Err(String::from(
                "one list of threads starts with `!` and another does not; use `!` in all of them or in none",
            ));
        }
        self.excluded = excluded;
        for item in items(rest)? {
            self.tids.insert(number(item).ok_or_else(|| format!("`{item}` is not a thread id; expected a number"))?);
        }
        Ok(())
    }
}

impl Numbers {
    /// Adds a list such as `0,2-3`.
    ///
    /// # Errors
    /// An item is neither a number nor a range.
    pub fn add(&mut self, list: &str) -> Result<(), String> {
        for item in items(list)? {
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            match (number(first), number(last)) {
                (Some(first), Some(last)) if first <= last => self.0.push((first, last)),
                _ => return Err(format!("`{item}` is not a CPU; expected a number or a range such as 2-5")),
            }
        }
        Ok(())
    }

    /// True if a number is in one of the ranges.
    pub fn contains(&self, number: u64) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&number))
    }
}

/// Splits a list at commas and blanks. An empty list is an error.
fn items(list: &str) -> Result<impl Iterator<Item = &str>, String> {
    let mut items = list.split([',', ' ', '\t']).filter(|item| !item.is_empty()).peekable();
    if items.peek().is_some() { Ok(items) } else { Err(format!("`{list}` is empty; expected at least one item")) }
}

/// Parses decimal digits, or hexadecimal digits after `0x`.
fn number(text: &str) -> Option<u64> {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |digits| (digits, 16));
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u64::from_str_radix(digits, radix).ok())?
}

impl Filter {
    /// True if events of a canonical id pass. Hooks 003 and 00A describe the trace to its reader, so they pass only if
    /// [`Filter::only`] contains them.
    #[inline]
    pub(crate) fn shows(&self, id: u16) -> bool {
        let wanted = match &self.only {
            Some(only) => only.contains(id),
            None => id != hooks::HEADER && id != hooks::UTILITY,
        };
        wanted && !self.except.contains(id)
    }

    /// True if every admitted id is also excluded.
    pub fn leaves_nothing(&self) -> bool {
        self.only.as_ref().is_some_and(|only| only.iter().all(|id| self.except.contains(id)))
    }

    /// True if the filter depends on more than the hook id.
    pub(crate) fn needs_context(&self) -> bool {
        self.processes.is_some() || self.threads.is_some() || self.cpus.is_some() || self.has_times()
    }

    /// The context that the filter depends on.
    pub(crate) fn wanted(&self) -> RequiredContext {
        let interrupts = self.processes.as_ref().is_some_and(|processes| processes.interrupts);
        RequiredContext { depth: interrupts, ..RequiredContext::default() }
    }

    fn has_times(&self) -> bool {
        self.from_ns.is_some() || self.to_ns.is_some() || self.has_dates()
    }

    /// True if the filter has conditions besides those on ids.
    pub(crate) fn depends_on_more_than_ids(&self) -> bool {
        let Self { only: _, except: _, processes, threads, cpus, from_ns, to_ns, from_date, to_date } = self;
        let has_times = [from_ns.is_some(), to_ns.is_some(), from_date.is_some(), to_date.is_some()].contains(&true);
        has_times || processes.is_some() || threads.is_some() || cpus.is_some()
    }

    /// True if the filter contains dates, which need the start time of the trace.
    pub fn has_dates(&self) -> bool {
        self.from_date.is_some() || self.to_date.is_some()
    }

    /// Converts the dates to times since the start of the trace; `start` is in seconds since 1970.
    pub(crate) fn date(&mut self, start: u32) {
        const SECOND: u64 = 1_000_000_000;
        if let Some(from) = self.from_date.take() {
            self.from_ns = Some(u64::from(from.saturating_sub(start)) * SECOND);
        }
        if let Some(to) = self.to_date.take() {
            match (u64::from(to) + 1).checked_sub(start.into()) {
                Some(seconds @ 1..) => self.to_ns = Some(seconds * SECOND - 1),
                // The trace started after the last admitted second: no event passes.
                _ => self.from_ns = Some(u64::MAX),
            }
        }
    }

    /// True if the filter selects processes or CPUs, which depend on earlier events.
    pub(crate) fn needs_earlier_events(&self) -> bool {
        self.processes.is_some() || self.cpus.is_some()
    }

    /// True if an event passes the conditions on thread and time.
    #[inline]
    pub(crate) fn admits_event(&self, tid: u64, elapsed_ns: u64) -> bool {
        self.from_ns.is_none_or(|from| elapsed_ns >= from)
            && self.to_ns.is_none_or(|to| elapsed_ns <= to)
            && self.threads.as_ref().is_none_or(|threads| threads.tids.contains(&tid) != threads.excluded)
    }

    /// True if process and CPU of an event are admitted.
    pub(crate) fn admits_facts(&self, facts: &ThreadContext<'_>) -> bool {
        self.processes.as_ref().is_none_or(|processes| processes.admits(facts)) && self.admits_cpu(facts.cpu)
    }

    /// True if the CPU of an event is admitted.
    pub(crate) fn admits_cpu(&self, cpu: Option<u64>) -> bool {
        self.cpus.as_ref().is_none_or(|cpus| cpu.is_some_and(|cpu| cpus.contains(cpu)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(filter: &Filter, facts: &ThreadContext<'_>, elapsed_ns: u64) -> bool {
        filter.admits_event(facts.tid, elapsed_ns) && filter.admits_facts(facts)
    }

    #[test]
    fn header_hooks_are_shown_when_asked_for() {
        let mut filter = Filter::default();
        assert!(filter.shows(0x0100) && !filter.shows(hooks::UTILITY) && !filter.shows(hooks::HEADER));
        filter.only = Some(IdSet::parse("00").unwrap());
        assert!(!filter.shows(0x0100) && filter.shows(hooks::UTILITY) && filter.shows(hooks::HEADER));
        filter.except = IdSet::parse("00a").unwrap();
        assert!(!filter.shows(hooks::UTILITY) && filter.shows(hooks::HEADER));
    }

    #[test]
    fn processes_are_ids_names_or_interrupts() {
        let mut processes = Processes::default();
        processes.add("cp, 4522,INTR").unwrap();
        let facts = ThreadContext::default();
        assert!(!processes.admits(&facts));
        assert!(processes.admits(&ThreadContext { pid: Some(4522), ..facts }));
        assert!(processes.admits(&ThreadContext { depth: 1, ..facts }));
        assert!(processes.admits(&ThreadContext { path: b"/usr/bin/cp", ..facts }));
        assert!(!processes.admits(&ThreadContext { path: b"/usr/bin/cpio", ..facts }));
        assert!(processes.add(" ,").is_err());
    }

    #[test]
    fn threads_are_listed_or_excluded() {
        let mut threads = Threads::default();
        threads.add("!7,0x10").unwrap();
        assert!(threads.excluded && threads.tids.contains(&16));
        assert!(threads.add("8").is_err() && threads.add("!x").is_err());
        let filter = Filter { threads: Some(threads), ..Filter::default() };
        assert!(!admits(&filter, &ThreadContext { tid: 7, ..ThreadContext::default() }, 0));
        assert!(admits(&filter, &ThreadContext { tid: 8, ..ThreadContext::default() }, 0));
    }

    #[test]
    fn cpus_are_numbers_and_ranges() {
        let mut cpus = Numbers::default();
        cpus.add("0,2-3").unwrap();
        assert_eq!([0, 1, 2, 3, 4].map(|cpu| cpus.contains(cpu)), [true, false, true, true, false]);
        assert!(cpus.add("3-2").is_err() && cpus.add("x").is_err() && cpus.add("").is_err());
    }

    #[test]
    fn ids_may_be_admitted_and_excluded_at_once() {
        let of = |only, except| Filter {
            only: Some(IdSet::parse(only).unwrap()),
            except: IdSet::parse(except).unwrap(),
            ..Filter::default()
        };
        assert!(of("15b", "15b,106").leaves_nothing() && of("15b,15c", "15").leaves_nothing());
        assert!(!of("15", "15b").leaves_nothing() && !of("15b,106", "15b").leaves_nothing());
        assert!(!Filter { except: IdSet::parse("15b").unwrap(), ..Filter::default() }.leaves_nothing());
    }

    #[test]
    fn dates_become_times() {
        let mut filter = Filter { from_date: Some(105), to_date: Some(107), ..Filter::default() };
        filter.date(100);
        assert_eq!((filter.from_ns, filter.to_ns), (Some(5_000_000_000), Some(7_999_999_999)));
        let mut filter = Filter { to_date: Some(98), ..Filter::default() };
        filter.date(100);
        assert!(!admits(&filter, &ThreadContext::default(), 0));
    }
}
