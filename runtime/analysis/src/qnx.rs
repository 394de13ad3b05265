//! Feeds QNX records to the state machine.

use crate::gaps::GapStarts;
use crate::machine::{Machine, Returned, ThreadSlot};
use crate::marks::Mark;
use crate::totals::{Missed, Totals};
use crate::{AnalysisError, AnalysisOptions, InterruptRules, Observer};
use std::collections::HashMap;
use tfbc::internal::analysis::{BuiltInEvents, ClassName, KevHeader, RecordRules, classes};
use tfbc::internal::{KevItem, KevLog, KevRecord};
use tfbc::{Monitor, System};

/// Events of the class CONTROL.
mod control {
    pub const TIME: u16 = 1;
    pub const BUFFER: u16 = 2;
    pub const DROPPED: u16 = 8;
}

/// Events of the class PR_TH.
mod threads {
    pub const DEAD: u16 = 0;
    pub const RUNNING: u16 = 1;
    pub const CREATE: u16 = 24;
    pub const DESTROY: u16 = 25;
    /// First number of an event about a process; lower numbers are states of threads.
    pub const PROCESSES: u16 = 64;
    pub const PROC_CREATE: u16 = 64;
    pub const PROC_DESTROY: u16 = 128;
    pub const PROC_CREATE_NAME: u16 = 192;
    pub const PROC_DESTROY_NAME: u16 = 256;
    pub const THREAD_NAME: u16 = 320;
}

/// Events of the class COMM.
mod messages {
    pub const SEND: u16 = 0;
    pub const RECEIVE: u16 = 2;
    pub const REPLY: u16 = 10;
    pub const ERROR: u16 = 11;
}

/// Modulus of buffer numbers, which wrap.
const BUFFER_NUMBERS: u32 = 2048;
/// Number of kernel calls. An event number is the call plus a multiple of this: enter, exit, interrupted, and the same
/// with 64-bit values.
const CALLS: u16 = 128;
/// First word of the exit record of a call that failed.
const FAILED: u32 = u32::MAX;
/// Number of records between two reports of progress.
const PROGRESS_EVERY: u64 = 1 << 16;

/// Process and thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct ThreadIds {
    pub pid: u32,
    pub tid: u32,
}

/// Loss that has been reported, whose end depends on the next record.
struct PendingLoss {
    cpu: u8,
    /// Time of the record that reports the loss.
    mark: u64,
    missed_events: Option<u64>,
    missed_buffers: Option<u64>,
}

pub(super) struct Analyser<'o> {
    pub(super) machine: Machine,
    pub(super) rules: RecordRules,
    pub(super) options: &'o AnalysisOptions,
    big_endian: bool,
    /// True for the numbers of the class PR_TH that are states of threads.
    is_state: [bool; threads::PROCESSES as usize],
    n_cpus: u64,
    /// Time of the first record, in nanoseconds of the machine's clock.
    start: Option<u64>,
    /// Time of the last record.
    last: u64,
    last_buffer: Option<u32>,
    loss: Option<PendingLoss>,
    /// Names of the kernel calls, by number.
    calls: Vec<String>,
    /// Names of addresses, from the rules.
    pub(super) symbols: HashMap<u64, Vec<u8>>,
}

/// Reads a log to its end, or to the end of the span. The observer gets every record of a CPU that has a time.
pub fn analyse(
    log: &mut KevLog,
    options: &AnalysisOptions,
    monitor: &mut dyn Monitor,
    mut observer: Option<&mut dyn Observer>,
) -> Result<(Totals, GapStarts), AnalysisError> {
    let header = log.header().clone();
    let events = BuiltInEvents::of(header.release, header.big_endian);
    let rules = RecordRules::new(&options.context, header.release, header.big_endian);
    let rules = rules.map_err(|text| AnalysisError::Pairs(format!("--context: {text}")))?;
    let mut machine = Machine::new(System::Qnx, options);
    machine.add_stream(None);
    let n_cpus = u64::from(header.cpu_num.unwrap_or(0)).min(64).max(options.cpus.min(64));
    (0..n_cpus).for_each(|cpu| machine.declare(cpu, 0));
    let calls = (0..CALLS).map(|call| {
        let label = events.label(classes::KER_CALL, call);
        label.map_or_else(|| call.to_string(), |label| label.split('/').next().unwrap_or(label).to_owned())
    });
    let mut analyser = Analyser {
        machine,
        rules,
        options,
        big_endian: header.big_endian,
        is_state: std::array::from_fn(|state| {
            events.label(classes::PR_TH, state as u16).is_some_and(|label| label.starts_with("TH"))
        }),
        n_cpus,
        start: None,
        last: 0,
        last_buffer: None,
        loss: None,
        calls: calls.collect(),
        symbols: HashMap::new(),
    };
    if let Some(observer) = &mut observer {
        observer.begin(&mut analyser.machine);
    }
    let (mut n_records, mut n_damaged, mut stopped) = (0u64, 0, false);
    let mut next_progress = PROGRESS_EVERY;
    // No record is later than the largest time.
    let until = options.until.unwrap_or(u64::MAX);
    while !stopped {
        if n_records >= next_progress {
            next_progress = n_records + PROGRESS_EVERY;
            monitor.progress(log.progress(), n_records);
        }
        let mut take = |record: &KevRecord<'_>| {
            let ns = record.cycles().and_then(|cycles| header.ns(cycles));
            let now = ns.map(|ns| ns.saturating_sub(*analyser.start.get_or_insert(ns)));
            if stopped {
                return;
            }
            if now.is_some_and(|now| now > until) {
                stopped = true;
                return analyser.stop(record, now, until);
            }
            n_records += 1;
            if let (Some(at), Some(_)) = (analyser.push(record, now), now)
                && let Some(observer) = &mut observer
            {
                let now = analyser.machine.current;
                observer.record(record, now, &mut analyser.machine, at, &analyser.rules);
            }
        };
        let row = log.row(PROGRESS_EVERY as usize);
        if !row.is_empty() {
            row.each(take);
            continue;
        }
        match log.next()? {
            Some(KevItem::Record(record)) => take(&record),
            Some(KevItem::Slot(_)) => {}
            Some(KevItem::Notice(notice)) => {
                n_damaged += u64::from(notice.damage);
                if notice.damage && notice.skipped.is_some() {
                    analyser.machine.begin_loss(0, analyser.last);
                }
                monitor.notice(&notice);
            }
            None => break,
        }
    }
    analyser.end_loss(None, None);
    if n_records > 0 && analyser.start.is_none() {
        return Err(AnalysisError::NoTime);
    }
    let end = analyser.machine.end_at(options.until.filter(|_| stopped));
    if let Some(observer) = &mut observer {
        observer.finish(&mut analyser.machine, end, &analyser.rules);
    }
    let gap_starts = std::mem::take(&mut analyser.machine.gap_starts);
    let Analyser { machine, rules, .. } = analyser;
    let mut totals = machine.finish(end, |class| InterruptRules::lowers(&rules, class));
    totals.name_interrupts(|class, kind| rules.label(class, kind));
    totals.n_damaged = n_damaged;
    totals.state_names = state_names(&header);
    Ok((totals, gap_starts))
}

/// Names of the states of threads, by number.
pub fn state_names(header: &KevHeader) -> Vec<String> {
    let events = BuiltInEvents::of(header.release, header.big_endian);
    (0..threads::PROCESSES)
        .map(|state| {
            let label = events.label(classes::PR_TH, state);
            label.map_or_else(|| state.to_string(), |label| label.trim_start_matches("TH").to_owned())
        })
        .collect()
}

impl Analyser<'_> {
    /// Applies a record. Returns the index of its CPU; `None` for marks.
    #[inline(always)]
    fn push(&mut self, record: &KevRecord<'_>, now: Option<u64>) -> Option<usize> {
        let class = record.meant_class();
        if self.loss.is_some() {
            self.end_loss(Some(record), now);
        }
        match now {
            Some(now) => self.machine.note_event(now),
            None => self.machine.note_untimed(),
        }
        if class == classes::CONTROL {
            self.control(record, now);
            self.last = now.unwrap_or(self.last);
            return None;
        }
        let has_rules = self.rules.has(class, record.event);
        if let Some(mark) = has_rules.then(|| self.mark_of(record)).flatten() {
            self.mark(mark, record.cpu, now.unwrap_or(self.last));
            self.last = now.unwrap_or(self.last);
            return None;
        }
        let time = now.unwrap_or(self.last);
        if self.machine.has_gap() {
            self.machine.end_loss(0, time, Missed::default());
            self.machine.switch_on(0, time);
        }
        self.last = time;
        let at = self.machine.cpu(record.cpu.into(), now.unwrap_or(0))?;
        // A record without a time still changes states.
        let is_timed = now.is_some();
        let now = match now {
            Some(now) => self.machine.record_time(at, now),
            None => self.machine.last_event(at),
        };
        if is_timed {
            self.last = now;
        }
        self.machine.current = now;
        self.machine.pass(at, now);
        match class {
            _ if has_rules => self.apply_rules(record, at, now),
            classes::PR_TH => self.thread(record, at, now),
            classes::KER_CALL => self.call(record, at, now),
            classes::INT => self.interrupt(record, at, now),
            classes::COMM if self.machine.keeps_messages() => self.message(record, at, now),
            _ => {}
        }
        if !is_timed {
            self.machine.touch(at, now);
        }
        Some(at)
    }

    fn word(&self, record: &KevRecord<'_>, at: usize) -> Option<u32> {
        let bytes = *record.bytes.get(4 * at..)?.first_chunk()?;
        Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    /// Applies a mark. A loss ends with the next record.
    fn mark(&mut self, mark: Mark, cpu: u8, time: u64) {
        self.machine.note_mark();
        self.machine.note_mark_at(Some(cpu.into()), mark.name(), mark.missed(), time);
        match mark {
            Mark::Lost(missed_events) => {
                self.machine.begin_loss(0, self.last);
                self.loss = Some(PendingLoss { cpu, mark: time, missed_events, missed_buffers: None });
            }
            Mark::On => self.machine.switch_on(0, time),
            Mark::Off => self.machine.switch_off(0, time),
        }
    }

    fn control(&mut self, record: &KevRecord<'_>, now: Option<u64>) {
        let mark = now.unwrap_or(self.last);
        if self.rules.has(classes::CONTROL, record.event) {
            if let Some(found) = self.mark_of(record) {
                self.mark(found, record.cpu, mark);
            }
            return;
        }
        let previous = self.last_buffer;
        if record.event == control::BUFFER {
            self.last_buffer = self.buffer_number(record).or(previous);
        }
        let Some(missed_buffers) = self.reported_loss(record, previous) else {
            let is_other = record.event != control::BUFFER || self.word(record, 0).is_none();
            if is_other && self.machine.is_losing(0) {
                self.machine.end_loss(0, mark, Missed::default());
            }
            return;
        };
        self.machine.note_mark();
        let name = if record.event == control::BUFFER { "lost" } else { "dropped" };
        self.machine.note_mark_at(Some(record.cpu.into()), name, missed_buffers, mark);
        self.machine.begin_loss(0, self.last);
        self.loss = Some(PendingLoss { cpu: record.cpu, mark, missed_events: None, missed_buffers });
    }

    /// Number of the buffer that a BUFFER record begins.
    fn buffer_number(&self, record: &KevRecord<'_>) -> Option<u32> {
        Some(self.word(record, 0)? % BUFFER_NUMBERS)
    }

    /// Number of lost buffers, if known, if a control record reports a loss. `previous` is the last buffer's number.
    fn reported_loss(&self, record: &KevRecord<'_>, previous: Option<u32>) -> Option<Option<u64>> {
        match record.event {
            control::BUFFER => {
                let n_lost = self.buffer_number(record)?.wrapping_sub(previous?).wrapping_sub(1) % BUFFER_NUMBERS;
                (n_lost > 0).then_some(Some(n_lost.into()))
            }
            control::DROPPED => Some(None),
            _ => None,
        }
    }

    /// Handles the first record after the end of the span. It may report a loss that began before, or end one.
    #[cold]
    fn stop(&mut self, record: &KevRecord<'_>, now: Option<u64>, until: u64) {
        self.end_loss(Some(record), now.map(|now| now.min(until)));
        let has_rules = self.rules.has(record.meant_class(), record.event);
        let is_loss = if has_rules {
            matches!(self.mark_of(record), Some(Mark::Lost(_)))
        } else {
            record.meant_class() == classes::CONTROL && self.reported_loss(record, self.last_buffer).is_some()
        };
        if is_loss {
            self.machine.begin_loss(0, self.last);
        }
    }

    /// Ends a reported loss. If the next record, at `now`, is a TIME of the same CPU, tracing resumed then; otherwise it
    /// resumed at the time of the report.
    fn end_loss(&mut self, next: Option<&KevRecord<'_>>, now: Option<u64>) {
        let Some(PendingLoss { cpu, mark, missed_events, missed_buffers }) = self.loss.take() else { return };
        let time = next.and_then(|record| {
            let is_time = record.class == classes::CONTROL && record.event == control::TIME && record.cpu == cpu;
            now.filter(|_| is_time)
        });
        let end = time.unwrap_or(mark).max(self.last.min(mark));
        self.machine.end_loss(0, end, Missed { events: missed_events, buffers: missed_buffers });
    }

    fn thread(&mut self, record: &KevRecord<'_>, at: usize, now: u64) {
        let (Some(first), Some(second)) = (self.word(record, 0), self.word(record, 1)) else { return };
        let event = record.event;
        if event < threads::PROCESSES {
            return self.thread_event(record, first, second, at, now);
        }
        let text = record.bytes.get(8..).unwrap_or_default();
        let name = &text[..text.iter().position(|byte| *byte == 0).unwrap_or(text.len())];
        match event {
            threads::THREAD_NAME => {
                let slot = self.slot(first, second);
                self.machine.name_thread(slot, name);
            }
            threads::PROC_CREATE | threads::PROC_CREATE_NAME => {
                let process = self.machine.create(second.into());
                self.machine.name_process(process, name);
                if let Some(slot) = self.machine.runs(at) {
                    self.machine.note_lifetime(slot, "exec", now);
                }
            }
            threads::PROC_DESTROY | threads::PROC_DESTROY_NAME => {
                let process = self.machine.process(second.into());
                if event == threads::PROC_DESTROY_NAME {
                    self.machine.name_process(process, name);
                }
                self.machine.end_threads(process, now);
                self.machine.exit(process, now);
            }
            _ => {}
        }
    }

    fn thread_event(&mut self, record: &KevRecord<'_>, pid: u32, tid: u32, at: usize, now: u64) {
        let event = record.event;
        if !self.is_state.get(usize::from(event)).is_some_and(|is_state| *is_state) {
            return;
        }
        let id = thread_id(pid, tid);
        let slot = match event {
            threads::RUNNING => self.machine.attach_dispatched(id, pid.into()),
            threads::CREATE => self.created_slot(pid, tid),
            _ => self.slot(pid, tid),
        };
        let priority = self.word(record, 2).filter(|_| record.wide);
        if event != threads::CREATE && priority.is_some() {
            self.machine.prioritise(slot, priority.and_then(|priority| u8::try_from(priority).ok()));
        }
        match event {
            threads::RUNNING => self.machine.run(at, id, slot, now, self.is_idle(pid, tid, priority)),
            threads::CREATE => {
                self.machine.begin_thread(slot, now);
                self.machine.note_lifetime(slot, "create", now);
            }
            threads::DEAD | threads::DESTROY => {
                self.machine.state(id, slot, None, now);
                self.machine.note_lifetime(slot, "exit", now);
            }
            state => self.machine.state(id, slot, Some(state as u8), now),
        }
    }

    /// True if a thread that begins to run is an idle one.
    pub(super) fn is_idle(&self, pid: u32, tid: u32, priority: Option<u32>) -> bool {
        match (&self.options.idle, priority) {
            (Some(idle), _) => idle.contains(&(pid, tid)),
            (None, Some(priority)) => pid == 1 && priority == 0,
            (None, None) => pid == 1 && (1..=self.n_cpus).contains(&u64::from(tid)),
        }
    }

    /// Process and thread of a record: PR_TH records name their thread, others belong to the one that runs on their CPU.
    pub(super) fn owner(&self, record: &KevRecord<'_>, at: usize) -> Option<ThreadIds> {
        if record.meant_class() == classes::PR_TH {
            let names_thread = record.event < threads::PROCESSES || record.event == threads::THREAD_NAME;
            let (pid, tid) = (self.word(record, 0)?, self.word(record, 1)?);
            return names_thread.then_some(ThreadIds { pid, tid });
        }
        let (id, _) = self.machine.running_thread(at)?;
        Some(ThreadIds { pid: (id >> 32) as u32, tid: id as u32 })
    }

    fn message(&mut self, record: &KevRecord<'_>, at: usize, now: u64) {
        let (Some(first), Some(pid)) = (self.word(record, 0), self.word(record, 1)) else { return };
        match record.event {
            messages::SEND => self.machine.send(at, first, pid, now),
            messages::RECEIVE => self.machine.receive(at, first, pid, now),
            messages::REPLY | messages::ERROR => self.machine.reply(at, thread_id(pid, first), now),
            _ => {}
        }
    }

    pub(super) fn slot(&mut self, pid: u32, tid: u32) -> ThreadSlot {
        let process = self.machine.process(pid.into());
        self.machine.attach(thread_id(pid, tid), process)
    }

    /// Slot of a thread that a record creates. A process with that id that has ended is followed by a new one.
    pub(super) fn created_slot(&mut self, pid: u32, tid: u32) -> ThreadSlot {
        let process = self.machine.create(pid.into());
        self.machine.attach(thread_id(pid, tid), process)
    }

    fn call(&mut self, record: &KevRecord<'_>, at: usize, now: u64) {
        let Some(slot) = self.machine.runs(at) else {
            let is_entry = (record.event / CALLS).is_multiple_of(4);
            return self.machine.mode_without_thread(ClassName::SYSCALL, is_entry, now);
        };
        let name = self.calls[usize::from(record.event % CALLS)].as_bytes();
        match record.event / CALLS % 4 {
            0 if !self.machine.keeps_calls() => self.machine.enter_mode(Some(at), slot, ClassName::SYSCALL),
            _ if !self.machine.keeps_calls() => self.machine.return_mode(Some(at), slot, ClassName::SYSCALL),
            0 => self.machine.enter(Some(at), slot, ClassName::SYSCALL, Some(name), now),
            kind => {
                let word = |at| self.word(record, at);
                let errno = match (kind, word(0), word(1)) {
                    (1, Some(FAILED), Some(errno)) => errno.into(),
                    _ => 0,
                };
                let result = word(0).filter(|_| kind == 1).map(|word| i64::from(word as i32));
                let returned = Returned { result, errno, interrupted: kind > 1 };
                self.machine.leave_mode(Some(at), slot, ClassName::SYSCALL, Some(name), returned, now);
            }
        }
    }

    fn interrupt(&mut self, record: &KevRecord<'_>, at: usize, now: u64) {
        let kind = self.word(record, usize::from(matches!(record.event, 3 | 6))).map(u64::from);
        match record.event {
            1 | 5 => self.machine.raise(at, ClassName::INT, kind, None, || None::<&[u8]>),
            2 => self.machine.lower(Some(at), ClassName::INT, now),
            3 | 6 => self.machine.raise(at, ClassName::HANDLER, kind, None, || None::<&[u8]>),
            4 => self.machine.lower(Some(at), ClassName::HANDLER, now),
            _ => {}
        }
    }
}

/// Unique id of a thread. QNX numbers threads per process, from 1.
pub(super) fn thread_id(pid: u32, tid: u32) -> u64 {
    u64::from(pid) << 32 | u64::from(tid)
}
