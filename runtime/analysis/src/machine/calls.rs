//! Calls: modes that a thread enters and leaves.

use super::change::{CallEnding, Change, Returned};
use super::parts::{CallRows, Class, Frame, OTHERS, OpenCall, ThreadSlot, cells};
use super::state::{MAX_NAME, MAX_ROWS, Machine, add, index_of};
use crate::totals::CallCounts;
use tfbc::internal::analysis::{ClassName, ContextRules, PreparedAction, RawEvent, RunTimes};

/// Cells of the first class of modes.
const USER: usize = cells::user(0);
const WITHIN: usize = cells::within(0);

/// Limits on nested interrupts and on their classes in a [`Turn`].
const MAX_DEPTH: usize = 7;
const MAX_CLASSES: usize = 4;

/// Events of the thread that runs on the only CPU of a trace, as long as they change nothing but its mode and interrupts.
/// Nearly all events of a trace are in such turns, and [`Machine::end_turn`] applies them together.
#[derive(Debug, Default)]
pub struct Turn {
    /// Id of the thread, and number of its CPU; `None` if nothing is part of a turn.
    runs: Option<(u64, Option<u64>)>,
    /// True if only times are kept of calls and interrupts.
    may_change: bool,
    /// True if the turn takes more than events that change nothing.
    takes_changes: bool,
    /// True if the trace has the events that prove the meaning of modes.
    has_modes: bool,
    has_events: bool,
    /// True if an event has changed the mode or the interrupts.
    has_changed: bool,
    /// True if the last event before the turn is a dispatch.
    is_fresh: bool,
    /// Ticks of the last event, which are also the largest.
    last: u64,
    /// Time up to which the time is in `spent`.
    since: u64,
    /// Time before which no event is.
    floor: u64,
    /// True if the thread is in a call.
    is_within: bool,
    /// Classes of the open interrupts.
    frames: [u8; MAX_DEPTH],
    depth: usize,
    /// Time outside and inside of calls, and per class of interrupts.
    spent: [u64; 2 + MAX_CLASSES],
}

impl Turn {
    /// True if only times are kept of calls and interrupts. Otherwise, turns are too short to be worth their cost.
    pub fn may_change(&self) -> bool {
        self.may_change
    }

    /// True if the turn has events.
    #[inline(always)]
    pub fn has_events(&self) -> bool {
        self.has_events
    }

    /// Charges the time up to an event.
    #[inline(always)]
    fn charge(&mut self, now: u64) {
        let now = now.max(self.floor);
        let part = match self.frames[..self.depth].last() {
            Some(class) => 2 + usize::from(*class),
            None => usize::from(self.is_within),
        };
        self.spent[part] += now - self.since;
        self.since = now;
    }
}

/// Name of the calls that exceed the limit.
pub(super) const OTHER_CALLS: &[u8] = b"(others)";

impl Machine {
    /// Begins a call: a thread enters a class of modes.
    pub fn enter(&mut self, at: Option<usize>, slot: ThreadSlot, class: ClassName, name: Option<&[u8]>, now: u64) {
        let class = self.mode(class);
        let row = if slot == OTHERS { 0 } else { self.call(class, name) };
        self.enter_row(at, slot, class, (row, None), name.is_some(), now);
    }

    /// Begins the call at an address, whose name `name_of` returns.
    pub fn enter_address(
        &mut self,
        at: Option<usize>,
        slot: ThreadSlot,
        class: ClassName,
        address: u64,
        name_of: impl FnOnce(u64) -> Option<Vec<u8>>,
        now: u64,
    ) {
        let class = self.mode(class);
        let row = if slot == OTHERS { (0, None) } else { self.call_at(class, address, name_of) };
        self.enter_row(at, slot, class, row, true, now);
    }

    /// True if calls are told apart.
    #[inline]
    pub fn keeps_calls(&self) -> bool {
        self.keeps_calls
    }

    /// Enters a class of modes. Without the sections about calls, nothing else is known of a call.
    #[inline(always)]
    pub fn enter_mode(&mut self, at: Option<usize>, slot: ThreadSlot, class: ClassName) {
        let class = self.mode(class);
        self.modes[class].has_first = true;
        self.begin_mode(at, slot, cells::user(class));
        self.set_mode(slot, cells::within(class));
    }

    /// Returns from a class of modes, like [`Machine::enter_mode`].
    #[inline(always)]
    pub fn return_mode(&mut self, at: Option<usize>, slot: ThreadSlot, class: ClassName) {
        let class = self.mode(class);
        self.modes[class].has_second = true;
        self.begin_mode(at, slot, cells::within(class));
        let is_kproc = self.threads[slot as usize].is_kproc;
        self.set_mode(slot, if is_kproc { cells::KPROC } else { cells::user(class) });
    }

    /// Fast path for an AIX event by which the thread that runs on a CPU enters or leaves a class of modes: does the same
    /// as [`Machine::evidence`] and then [`Machine::enter_mode`] or [`Machine::return_mode`], in a third of the
    /// instructions. Such events are a third of a usual trace. Returns false, and does nothing, in all other states.
    #[inline(always)]
    pub fn switch_mode(&mut self, at: usize, id: u64, class: ClassName, is_entry: bool, now: u64) -> bool {
        let class = self.mode(class);
        let is_usual = self.pending_gap_start.is_none() && !self.keeps_utilisation && !self.keeps_priorities;
        let (Some(cpu), Some(known)) = (self.cpus.get_mut(at), self.modes.get_mut(class)) else { return false };
        // A CPU in a gap has no thread.
        let Some((_, slot)) = cpu.thread.filter(|(running, slot)| *running == id && *slot != OTHERS) else {
            return false;
        };
        let Some(thread) = self.threads.get_mut(slot as usize) else { return false };
        if !is_usual || cpu.since < self.from || !thread.undecided.is_empty() {
            return false;
        }
        let now = now.max(cpu.seen);
        let ns = u128::from(now - cpu.since);
        if let Some(frame) = cpu.frames.last_mut() {
            let Some(of_class) = cpu.interrupts.get_mut(frame.class) else { return false };
            frame.own_ns += ns;
            *of_class += ns;
        } else {
            let cell = if thread.is_idle { Some(cells::IDLE as u32) } else { thread.mode };
            let Some(cell) = cell.filter(|_| cpu.is_thread_noted && cpu.is_known) else { return false };
            let of_both = (thread.cells.get_mut(cell as usize), cpu.cells.get_mut(cell as usize));
            let (Some(of_thread), Some(of_cpu)) = of_both else { return false };
            *of_thread += ns;
            *of_cpu += ns;
        }
        (cpu.since, cpu.seen, cpu.just_dispatched) = (now, now, None);
        *(if is_entry { &mut known.has_first } else { &mut known.has_second }) = true;
        let left = if thread.is_kproc { cells::KPROC } else { cells::user(class) };
        thread.mode = Some(if is_entry { cells::within(class) } else { left } as u32);
        true
    }

    /// Creates a turn without events. It takes changes if calls and interrupts are not told apart.
    pub fn new_turn(&self) -> Turn {
        let keeps_more = self.keeps_calls || self.keeps_interrupts || self.keeps_priorities || self.keeps_utilisation;
        Turn { may_change: !keeps_more && self.details.is_none(), ..Turn::default() }
    }

    /// Begins a turn, if a thread runs on the only CPU. Its calls are of the class SYSCALL. If it is not sure what a change
    /// does, the turn takes only events that change nothing.
    #[inline(always)]
    pub fn begin_turn(&self, turn: &mut Turn) {
        (turn.runs, turn.takes_changes) = (None, false);
        let [cpu] = &self.cpus[..] else { return };
        let Some((id, slot)) = cpu.thread else { return };
        let is_only = cpu.is_declared || cpu.id.is_none();
        if !is_only || self.has_gap() || self.pending_gap_start.is_some() {
            return;
        }
        (turn.runs, turn.last) = (Some((id, cpu.id)), 0);
        let is_sure = slot != OTHERS && cpu.is_known && cpu.is_thread_noted && cpu.since >= self.from;
        if !is_sure || !(turn.has_modes || self.has_modes_of_turns()) {
            return;
        }
        turn.has_modes = true;
        let thread = &self.threads[slot as usize];
        turn.is_within = match thread.mode {
            Some(mode) if mode == WITHIN as u32 => true,
            Some(mode) if mode == USER as u32 => false,
            _ => return,
        };
        let has_cells = thread.cells.len() > WITHIN && cpu.cells.len() > WITHIN;
        if thread.is_idle || thread.is_kproc || !has_cells || cpu.frames.len() > MAX_DEPTH {
            return;
        }
        for (known, frame) in turn.frames.iter_mut().zip(&cpu.frames) {
            if frame.class >= MAX_CLASSES {
                return;
            }
            *known = frame.class as u8;
        }
        (turn.depth, turn.is_fresh) = (cpu.frames.len(), cpu.just_dispatched.is_some());
        (turn.since, turn.floor, turn.takes_changes) = (cpu.since, cpu.seen, true);
    }

    /// True if the first class of modes is that of turns, and the trace has shown what its times mean.
    #[cold]
    fn has_modes_of_turns(&self) -> bool {
        let is_proven = |class: &Class| class.name == ClassName::SYSCALL && class.has_first && class.has_second;
        self.modes.first().is_some_and(is_proven)
    }

    /// Adds an event to a turn. Returns false, and does nothing, if it is not part of the turn.
    #[inline(always)]
    pub fn take(
        &self,
        turn: &mut Turn,
        event: &RawEvent<'_>,
        ticks: u64,
        times: &RunTimes,
        rules: &ContextRules,
    ) -> bool {
        let Some((tid, cpu)) = turn.runs else { return false };
        if event.tid != tid || ticks < turn.last || event.cpu.is_some() {
            return false;
        }
        let list = rules.list(event.id);
        if list != 0 {
            if !turn.takes_changes {
                return false;
            }
            let Some(rule) = rules.prepared(list, event.wide, event.bytes) else { return false };
            let is_here = rule.cpu.read(event.bytes).is_none_or(|number| Some(number) == cpu);
            if !is_here || !self.change_turn(turn, rule.action, ticks, times) {
                return false;
            }
            turn.has_changed = true;
        }
        (turn.last, turn.has_events, turn.is_fresh) = (ticks, true, false);
        true
    }

    /// Changes the mode or the interrupts in a turn.
    #[inline(always)]
    fn change_turn(&self, turn: &mut Turn, action: PreparedAction, ticks: u64, times: &RunTimes) -> bool {
        let class_of = |name: ClassName| self.classes.iter().position(|class| class.name == name);
        match action {
            PreparedAction::Enter { class, .. } | PreparedAction::Return { class, .. }
                if class == ClassName::SYSCALL =>
            {
                // The time in an interrupt does not depend on the mode.
                if turn.depth == 0 {
                    turn.charge(times.elapsed_ns(ticks));
                }
                turn.is_within = matches!(action, PreparedAction::Enter { .. });
            }
            PreparedAction::Raise { class, .. } => {
                let is_known = |class: &usize| *class < MAX_CLASSES && !self.totals.interrupts.is_empty();
                let class = class_of(class).filter(is_known).filter(|_| turn.depth < MAX_DEPTH);
                let Some(class) = class else { return false };
                turn.charge(times.elapsed_ns(ticks));
                turn.frames[turn.depth] = class as u8;
                turn.depth += 1;
            }
            PreparedAction::Lower { class } => {
                let is_last =
                    |class: &usize| turn.frames[..turn.depth].last().map(|last| (*last).into()) == Some(*class);
                let class = class_of(class).filter(is_last).filter(|class| self.classes[*class].has_first);
                if class.is_none() {
                    return false;
                }
                turn.charge(times.elapsed_ns(ticks));
                turn.depth -= 1;
            }
            PreparedAction::Reset { resume } => {
                if !self.totals.has_reset || (resume && turn.is_fresh) {
                    return false;
                }
                turn.charge(times.elapsed_ns(ticks));
                turn.depth = 0;
            }
            _ => return false,
        }
        true
    }

    /// Applies the events of a turn. Returns the time of the last one. The caller counts them.
    #[inline]
    pub fn end_turn(&mut self, turn: &mut Turn, times: &RunTimes) -> u64 {
        let last = times.elapsed_ns(turn.last);
        self.last = self.last.max(last);
        let cpu = &mut self.cpus[0];
        cpu.seen = cpu.seen.max(last);
        cpu.just_dispatched = None;
        turn.has_events = false;
        if std::mem::take(&mut turn.has_changed)
            && let Some((_, slot)) = cpu.thread
        {
            let [outside, within, of_classes @ ..] = std::mem::take(&mut turn.spent).map(u128::from);
            let thread = &mut self.threads[slot as usize];
            cpu.since = turn.since;
            thread.mode = Some(if turn.is_within { WITHIN } else { USER } as u32);
            for cells in [&mut thread.cells, &mut cpu.cells] {
                add(cells, USER, outside);
                add(cells, WITHIN, within);
            }
            for (class, ns) in of_classes.into_iter().enumerate().filter(|(_, ns)| *ns > 0) {
                add(&mut cpu.interrupts, class, ns);
            }
            cpu.frames.clear();
            for class in &turn.frames[..turn.depth] {
                // If interrupts are not told apart, all are in one row.
                let frame = Frame { number: 0, class: (*class).into(), row: 0, own_ns: 0, thread: Some(slot) };
                cpu.frames.push(frame);
            }
        }
        last
    }

    /// Counts events of turns.
    pub fn note_events(&mut self, n: u64) {
        self.totals.n_events += n;
    }

    /// Charges a thread whose mode changes, and decides its mode before.
    #[inline(always)]
    fn begin_mode(&mut self, at: Option<usize>, slot: ThreadSlot, before: usize) {
        self.apply_gap_start();
        if let Some(at) = at {
            let cpu = &mut self.cpus[at];
            cpu.is_known |= cpu.frames.is_empty() && !cpu.is_untraced();
        }
        // Threads that share a slot have no mode.
        if slot != OTHERS {
            self.settle_thread(slot);
            self.decide(slot, before);
        }
    }

    fn enter_row(
        &mut self,
        at: Option<usize>,
        slot: ThreadSlot,
        class: usize,
        (row, address): (usize, Option<u64>),
        is_named: bool,
        now: u64,
    ) {
        self.modes[class].has_first = true;
        self.begin_mode(at, slot, cells::user(class));
        if slot == OTHERS {
            return;
        }
        self.drop_call(slot, now);
        self.set_mode(slot, cells::within(class));
        let thread = &mut self.threads[slot as usize];
        let charged = thread.cells.get(cells::within(class)).copied().unwrap_or(0);
        thread.call = Some(OpenCall { class, row, is_named, start: now, charged });
        self.note(Change::Entered { thread: slot, row, address, time: now });
    }

    /// Drops the open call of a thread, which has not returned.
    fn drop_call(&mut self, slot: ThreadSlot, now: u64) {
        let call = &mut self.threads[slot as usize].call;
        if call.is_some()
            && let Some(call) = call.take()
        {
            self.totals.calls[call.row].n_not_returned += u64::from(self.counts(now));
            self.note(Change::Left { thread: slot, time: now, ending: CallEnding::NotReturned });
        }
    }

    /// Ends a call: a thread returns from a class of modes.
    pub fn leave_mode(
        &mut self,
        at: Option<usize>,
        slot: ThreadSlot,
        class: ClassName,
        name: Option<&[u8]>,
        returned: Returned,
        now: u64,
    ) {
        let errno = returned.errno;
        let class = self.mode(class);
        self.modes[class].has_second = true;
        self.begin_mode(at, slot, cells::within(class));
        let counts = u64::from(self.counts(now));
        if slot == OTHERS {
            return;
        }
        let own_row = name.map(|name| self.call(class, Some(name)));
        let open = self.threads[slot as usize].call;
        let matching =
            open.filter(|call| call.class == class && own_row.is_none_or(|row| row == call.row || !call.is_named));
        let row = match matching {
            Some(call) => {
                let row = if call.is_named { call.row } else { own_row.unwrap_or(call.row) };
                let thread = &mut self.threads[slot as usize];
                thread.call = None;
                let spent = thread.cells.get(cells::within(class)).copied().unwrap_or(0) - call.charged;
                if counts > 0 {
                    let known = &mut self.totals.calls[row];
                    known.cpu.add(spent);
                    known.elapsed.add(now.saturating_sub(call.start).into());
                    if let Some(details) = &mut self.details {
                        details.add_call(slot, row, spent, now.saturating_sub(call.start).into());
                    }
                }
                self.note(Change::Left { thread: slot, time: now, ending: CallEnding::Returned(returned) });
                row
            }
            None => {
                self.drop_call(slot, now);
                let row = own_row.unwrap_or_else(|| self.call(class, None));
                self.totals.calls[row].n_begun_before += counts;
                row
            }
        };
        self.totals.calls[row].n_interrupted += counts * u64::from(returned.interrupted);
        if errno != 0 && counts > 0 {
            if let Some(details) = &mut self.details {
                details.add_error(slot, row, errno);
            }
            let errors = self.totals.calls[row].errors.get_or_insert_default();
            match errors.get_mut(&errno) {
                Some(n) => *n += 1,
                None if self.n_errors < MAX_ROWS => {
                    self.n_errors += 1;
                    errors.insert(errno, 1);
                }
                None => {}
            }
        }
        let is_kproc = self.threads[slot as usize].is_kproc;
        self.set_mode(slot, if is_kproc { cells::KPROC } else { cells::user(class) });
    }

    /// Index of a class of modes.
    #[inline(always)]
    pub(super) fn mode(&mut self, name: ClassName) -> usize {
        // Most traces have one class.
        if self.modes.first().is_some_and(|first| first.name == name) {
            return 0;
        }
        index_of(&mut self.modes, name)
    }

    /// Row of a call.
    fn call(&mut self, class: usize, name: Option<&[u8]>) -> usize {
        let name = name.filter(|_| self.keeps_calls).map(|name| &name[..name.len().min(MAX_NAME)]);
        let known = self.calls.get(class).and_then(|rows| match name {
            Some(name) => rows.by_name.get(name).copied(),
            None => rows.unnamed,
        });
        known.unwrap_or_else(|| self.new_call(class, name, None))
    }

    /// Row of a call at an address, whose name `name_of` returns. A timeline counts no calls: those without a name
    /// share a row, and the address comes with it.
    fn call_at(
        &mut self,
        class: usize,
        address: u64,
        name_of: impl FnOnce(u64) -> Option<Vec<u8>>,
    ) -> (usize, Option<u64>) {
        if !self.keeps_calls {
            return (self.call(class, None), None);
        }
        if let Some(row) = self.calls.get(class).and_then(|rows| rows.by_address.get(&address)) {
            return (*row, None);
        }
        let name = name_of(address);
        if name.is_none() && self.changes.is_some() {
            return (self.call(class, None), Some(address));
        }
        let row = match name {
            Some(name) => {
                let row = self.call(class, Some(&name));
                let known = &mut self.totals.calls[row];
                if known.name.as_deref() == Some(&name) {
                    known.address.get_or_insert(address);
                }
                row
            }
            None => self.new_call(class, None, Some(address)),
        };
        // Addresses beyond the limit share a row.
        if self.calls[class].by_address.len() < self.max_calls {
            self.calls[class].by_address.insert(address, row);
        }
        (row, None)
    }

    /// Adds a row for a call.
    fn new_call(&mut self, class: usize, name: Option<&[u8]>, address: Option<u64>) -> usize {
        if self.calls.len() <= class {
            self.calls.resize_with(class + 1, CallRows::default);
        }
        let is_full = self.totals.calls.len() >= self.max_calls;
        let (name, address) = if is_full { (Some(OTHER_CALLS), None) } else { (name, address) };
        if let Some(row) = name.filter(|_| is_full).and_then(|name| self.calls[class].by_name.get(name)) {
            return *row;
        }
        let row = self.totals.calls.len();
        self.totals.calls.push(CallCounts { class, name: name.map(Box::from), address, ..CallCounts::default() });
        match name {
            Some(name) => drop(self.calls[class].by_name.insert(name.into(), row)),
            None if address.is_none() => self.calls[class].unnamed = Some(row),
            None => {}
        }
        row
    }

    /// Forgets the calls at all addresses, because there are new names.
    pub fn forget_addresses(&mut self) {
        self.calls.iter_mut().for_each(|rows| rows.by_address.clear());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AnalysisOptions;
    use tfbc::System;

    #[test]
    fn addresses_beyond_the_limit_take_no_memory() {
        let mut machine = Machine::new(System::Aix, &AnalysisOptions { max_calls: 3, ..AnalysisOptions::default() });
        let slot = machine.thread(5);
        for address in 0..100 {
            machine.enter_address(None, slot, ClassName::SYSCALL, address, |_| None, address);
        }
        assert!(machine.calls.iter().all(|rows| rows.by_address.len() <= 3));
        assert_eq!(machine.totals.calls.iter().map(|call| call.n_not_returned).sum::<u64>(), 99);
    }
}
