//! Feeds AIX events to the state machine, by the rules of the context table.

use crate::gaps::GapStarts;
use crate::machine::{MAX_CPUS, Machine, Returned, Turn};
use crate::marks::Mark;
use crate::totals::{Missed, RecordedKinds, Totals};
use crate::{AnalysisError, AnalysisOptions, EventCpu, Observer};
use std::collections::HashMap;
use std::sync::Arc;
use tfbc::internal::analysis::{Ahead, CommonIds, RawEvent, RunTimes, TimedEvent, hooks};
use tfbc::internal::analysis::{ContextRules, Effect, EffectName, PreparedAction, PreparedRule, RuledEvent};
use tfbc::internal::{LogItem, Logs, TraceState};
use tfbc::{Monitor, System};

/// Hook at the start of a log that has wrapped.
const LOG_WRAP: u16 = 0x0050;
/// Hooks that describe the trace.
const HEADERS: [u16; 4] = [hooks::ZERO, hooks::HEADER, hooks::UTILITY, LOG_WRAP];
/// Number of events between two reports of progress.
const PROGRESS_EVERY: u64 = 1 << 16;
/// Limit on names of addresses that the trace itself contains.
pub(crate) const MAX_SYMBOLS: usize = 1 << 16;

/// State of one log.
#[derive(Clone, Default)]
struct LogState {
    /// Properties of the system.
    system: TraceState,
    /// Number of CPUs that its header has declared.
    n_declared: u64,
    /// Time of the last event, as the log has it; 0 before the first one.
    last: u64,
    /// Index of the last event's CPU.
    last_cpu: Option<usize>,
}

impl LogState {
    /// Time of the last event on its CPU's clock, which never goes back.
    fn last_time(&self, machine: &Machine) -> u64 {
        self.last_cpu.map_or(self.last, |at| machine.time_at(at, self.last))
    }
}

/// State of an analysis of AIX logs.
struct Analyser<'o> {
    options: &'o AnalysisOptions,
    machine: Machine,
    rules: ContextRules,
    names: Names<'o>,
    logs: Vec<LogState>,
    /// CPU per log; `None` if a log has events of all CPUs.
    cpus: Vec<Option<u64>>,
    has_cpu_files: bool,
    n_events: u64,
    n_damaged: u64,
    /// True if the end of the span was reached.
    stopped: bool,
}

/// Reads logs to their end, or to the end of the span. The observer gets every event.
pub fn analyse(
    logs: &mut Logs,
    options: &AnalysisOptions,
    monitor: &mut dyn Monitor,
    observer: Option<&mut dyn Observer>,
) -> Result<(Totals, GapStarts), AnalysisError> {
    let cpus: Vec<Option<u64>> = logs.logs().iter().map(|log| log.cpu.map(u64::from)).collect();
    let mut machine = Machine::new(System::Aix, options);
    cpus.iter().for_each(|cpu| machine.add_stream(*cpu));
    (0..options.cpus.min(MAX_CPUS as u64)).for_each(|cpu| machine.declare(cpu, 0));
    let analyser = Analyser {
        options,
        machine,
        rules: ContextRules::new(Arc::clone(&options.context)),
        names: Names { options, symbols: HashMap::new() },
        logs: vec![LogState::default(); cpus.len()],
        has_cpu_files: cpus.iter().any(Option::is_some),
        cpus,
        n_events: 0,
        n_damaged: 0,
        stopped: false,
    };
    match observer {
        Some(observer) => analyser.observed(logs, monitor, observer),
        None => analyser.alone(logs, monitor),
    }
}

impl Analyser<'_> {
    fn alone(mut self, logs: &mut Logs, monitor: &mut dyn Monitor) -> Result<(Totals, GapStarts), AnalysisError> {
        self.read(logs, monitor, true, |_, _, _| ())?;
        let end = self.end();
        Ok(self.totals(end))
    }

    fn observed(
        mut self,
        logs: &mut Logs,
        monitor: &mut dyn Monitor,
        observer: &mut dyn Observer,
    ) -> Result<(Totals, GapStarts), AnalysisError> {
        observer.begin(&mut self.machine);
        let sees_unchanged = observer.sees_unchanged();
        self.read(
            logs,
            monitor,
            false,
            #[inline(always)]
            |analyser, timed, cpu| {
                if sees_unchanged || !analyser.machine.is_unchanged() {
                    observer.hook(timed, cpu, &mut analyser.machine, &analyser.rules);
                }
            },
        )?;
        let end = self.end();
        observer.finish(&mut self.machine, end, &self.rules);
        Ok(self.totals(end))
    }

    /// Applies the events of the logs. `observe` is called after each one, with its CPU; if `may_collect` is true, not after
    /// those of a turn.
    #[inline(always)]
    fn read(
        &mut self,
        logs: &mut Logs,
        monitor: &mut dyn Monitor,
        may_collect: bool,
        mut observe: impl FnMut(&mut Self, &TimedEvent<'_>, EventCpu),
    ) -> Result<(), AnalysisError> {
        let n_logs = self.logs.len();
        if n_logs > 1 {
            for log in 0..n_logs {
                if !self.is_base(log) {
                    self.look_ahead(logs, log, 0)?;
                }
            }
        }
        let common = (n_logs == 1).then(|| CommonIds::all_but(&HEADERS));
        // No event is later than the largest time.
        let until = self.options.until.unwrap_or(u64::MAX);
        let mut turn = self.machine.new_turn();
        let has_turns = may_collect && turn.may_change() && self.options.until.is_none();
        loop {
            if let (Some(ids), Some(times)) = (&common, logs.run_times()) {
                let before = self.n_events;
                // Number of events that are not part of a turn.
                let mut n_others = 0;
                if has_turns {
                    self.machine.begin_turn(&mut turn);
                }
                let n_read = logs.common(
                    ids,
                    #[inline(always)]
                    |event, ticks| {
                        if has_turns {
                            if self.machine.take(&mut turn, event, ticks, &times, &self.rules) {
                                return true;
                            }
                            if turn.has_events() {
                                self.end_turn(&mut turn, &times);
                            }
                        }
                        let timed = times.timed(event, ticks);
                        if timed.time.elapsed_ns > until {
                            return false;
                        }
                        n_others += 1;
                        let cpu = self.push_common(&timed);
                        observe(self, &timed, cpu);
                        if has_turns {
                            self.machine.begin_turn(&mut turn);
                        }
                        true
                    },
                );
                if turn.has_events() {
                    self.end_turn(&mut turn, &times);
                }
                self.machine.note_events(n_read - n_others);
                self.n_events += n_read;
                if self.n_events / PROGRESS_EVERY > before / PROGRESS_EVERY {
                    monitor.progress(logs.progress(), self.n_events);
                }
            }
            let log = match logs.next()? {
                Some(LogItem::Event(timed)) => {
                    if timed.time.elapsed_ns > until {
                        // The loss that a later mark reports begins before it.
                        if self.rules.is_loss(timed.event.id) {
                            let begin = self.logs[timed.log].last_time(&self.machine);
                            self.machine.begin_loss(timed.log, begin);
                        }
                        self.stopped = true;
                        return Ok(());
                    }
                    let cpu = self.push(&timed);
                    observe(self, &timed, cpu);
                    self.n_events += 1;
                    Some(timed.log)
                }
                Some(LogItem::Notice { log, notice }) => {
                    self.n_damaged += u64::from(notice.damage);
                    // A base file lists its CPU files. A missing CPU file is damage, but the other CPUs have lost nothing.
                    if notice.damage && !self.is_base(log) {
                        let begin = self.logs[log].last_time(&self.machine);
                        self.machine.begin_loss(log, begin);
                    }
                    monitor.notice(&notice);
                    None
                }
                Some(LogItem::Passed) => None,
                None => return Ok(()),
            };
            if let Some(log) = log {
                if n_logs > 1 && !self.is_base(log) {
                    let now = self.logs[log].last_time(&self.machine);
                    self.look_ahead(logs, log, now)?;
                }
                if self.n_events.is_multiple_of(PROGRESS_EVERY) {
                    monitor.progress(logs.progress(), self.n_events);
                }
            }
        }
    }

    /// Applies the events of a turn.
    fn end_turn(&mut self, turn: &mut Turn, times: &RunTimes) {
        let log = &mut self.logs[0];
        (log.last, log.last_cpu) = (self.machine.end_turn(turn, times), Some(0));
    }

    /// True for the base file of a log with one file per CPU.
    fn is_base(&self, log: usize) -> bool {
        self.has_cpu_files && self.cpus[log].is_none()
    }

    /// End of the span.
    fn end(&mut self) -> u64 {
        self.machine.end_at(self.options.until.filter(|_| self.stopped))
    }

    fn totals(self, end: u64) -> (Totals, GapStarts) {
        let Self { mut machine, rules, n_damaged, .. } = self;
        let gap_starts = std::mem::take(&mut machine.gap_starts);
        let mut totals = machine.finish(end, |class| rules.lowers(class));
        totals.n_damaged = n_damaged;
        totals.name_interrupts(|class, kind| rules.label(class, kind));
        (totals, gap_starts)
    }

    /// Starts a loss right after the last event before it. Otherwise the CPU would be charged up to the first event after it.
    fn look_ahead(&mut self, logs: &mut Logs, log: usize, now: u64) -> Result<(), AnalysisError> {
        match logs.look_ahead(log)? {
            Ahead::Event(id) if self.rules.is_loss(id) => self.machine.begin_loss(log, now),
            Ahead::Damage => self.machine.begin_loss(log, now),
            Ahead::Event(_) | Ahead::Unknown => {}
        }
        Ok(())
    }

    /// Applies an event. Returns its CPU.
    fn push(&mut self, timed: &TimedEvent<'_>) -> EventCpu {
        let (id, now, log) = (timed.event.id, timed.time.elapsed_ns, timed.log);
        if !is_header(id) {
            return self.push_common(timed);
        }
        self.machine.note_header(now);
        let log = &mut self.logs[log];
        (log.last, log.last_cpu) = (now.max(log.last_time(&self.machine)), None);
        self.push_header(timed);
        EventCpu::None
    }

    /// Applies an event that does not describe the trace.
    #[inline(always)]
    fn push_common(&mut self, timed: &TimedEvent<'_>) -> EventCpu {
        let RawEvent { id, wide, bytes, tid, cpu, .. } = timed.event;
        let (now, log) = (timed.time.elapsed_ns, timed.log);
        let Self { machine, rules, names, logs, .. } = self;
        machine.note_event(now);
        let list = rules.list(id);
        let rule = rules.prepared(list, wide, bytes);
        if list != 0 && rule.is_none() {
            // The copy keeps the fields of other events in registers.
            let copy = *timed;
            return self.push_ruled(&copy);
        }
        let log_state = &mut logs[log];
        log_state.last = now;
        if machine.has_gap() {
            end_gap(machine, log, id, now);
        }
        let Some(rule) = rule else {
            log_state.last_cpu = cpu_of(machine, cpu, tid, now);
            let Some(at) = log_state.last_cpu else { return EventCpu::None };
            machine.pass_unchanged(at, tid, now);
            return EventCpu::At(at);
        };
        let cpu = cpu.or_else(|| rule.cpu.read(bytes));
        if matches!(rule.action, PreparedAction::Dispatch { .. }) {
            log_state.last_cpu = apply_dispatch(machine, rule, &PreparedHook { bytes, tid, cpu, now });
            return EventCpu::of(log_state.last_cpu);
        }
        let at = cpu_of(machine, cpu, tid, now);
        log_state.last_cpu = at;
        if let Some(at) = at {
            let is_done = match rule.action {
                PreparedAction::Enter { class, .. } if !machine.keeps_calls() => {
                    machine.switch_mode(at, tid, class, true, now)
                }
                PreparedAction::Return { class, .. } if !machine.keeps_calls() => {
                    machine.switch_mode(at, tid, class, false, now)
                }
                PreparedAction::Raise { class, .. } if !machine.keeps_interrupts() => {
                    machine.raise_nameless(at, tid, class, now)
                }
                PreparedAction::Reset { resume } if !machine.keeps_interrupts() => {
                    machine.reset_nameless(at, tid, resume, now)
                }
                _ => false,
            };
            if is_done {
                return EventCpu::At(at);
            }
        }
        apply_prepared(machine, rule, at, &PreparedHook { bytes, tid, cpu, now }, names);
        EventCpu::of(at)
    }

    /// Declares the CPUs that the header of a log states. The header of a merged log may come late: at its time.
    #[cold]
    fn note_system(&mut self, timed: &TimedEvent<'_>) {
        let log = &mut self.logs[timed.log];
        if !log.system.advance(&timed.event) || self.has_cpu_files {
            return;
        }
        let system = log.system.system();
        if let (true, Some(total), Some(traced)) = (system.has_our_layouts(), system.total_cpus, system.traced_cpus)
            && total == traced
        {
            let n_before = log.n_declared;
            log.n_declared = n_before.max(u64::from(total).min(MAX_CPUS as u64));
            (n_before..log.n_declared).for_each(|cpu| self.machine.declare(cpu, timed.time.elapsed_ns));
        }
    }

    /// Applies an event whose rules are not prepared. Returns its CPU.
    #[inline(never)]
    fn push_ruled(&mut self, timed: &TimedEvent<'_>) -> EventCpu {
        let (event, now, log) = (&timed.event, timed.time.elapsed_ns, timed.log);
        let Self { machine, rules, names, logs, .. } = self;
        let log_state = &mut logs[log];
        let ruled = rules.ruled(event);
        let traits = ruled.traits();
        if traits.is_mark {
            let last = log_state.last_time(machine);
            let at = traits.cpu.and_then(|cpu| machine.index_of_cpu(cpu));
            let now = at.map_or(now, |at| machine.next_time(at, now));
            (log_state.last, log_state.last_cpu) = (now, at);
            let cpu = push_mark(machine, &ruled, log, last, now);
            if let Some(at) = at {
                machine.note_own(at);
            }
            return cpu;
        }
        if machine.has_gap() {
            end_gap(machine, log, event.id, now);
        }
        let at = match traits.cpu {
            None if traits.is_dispatch => machine.cpu_of_dispatch(),
            cpu => cpu_of(machine, cpu, event.tid, now),
        };
        (log_state.last, log_state.last_cpu) = (now, at);
        let now = at.map_or(now, |at| machine.next_time(at, now));
        if let Some(at) = at.filter(|_| !traits.is_dispatch) {
            machine.evidence(at, event.tid, now, traits.is_resume);
        }
        ruled.read(|effect| apply(machine, names, effect, event.tid, at, now));
        EventCpu::of(at)
    }

    /// Applies an event that describes the trace. It happens on no CPU.
    #[cold]
    fn push_header(&mut self, timed: &TimedEvent<'_>) {
        let (event, now) = (&timed.event, timed.time.elapsed_ns);
        let is_daemon = self.rules.learn_daemon(event);
        if is_daemon {
            self.machine.note_rules();
        }
        if let Some(recorded) = RecordedHooks::of(event.id, event.wide, event.bytes) {
            self.machine.note_recorded(recorded.kinds());
        }
        end_gap(&mut self.machine, timed.log, event.id, now);
        self.note_system(timed);
        if !is_daemon && self.rules.has(event.id) {
            let Self { machine, rules, names, .. } = self;
            rules.ruled(event).read(|effect| apply(machine, names, effect, event.tid, None, now));
        }
    }
}

/// Ends a loss, or the time after hook 002 (trace off), because the stream has an event again.
#[cold]
fn end_gap(machine: &mut Machine, log: usize, id: u16, now: u64) {
    if machine.is_losing(log) {
        machine.end_loss(log, now, Missed::default());
    }
    if machine.is_off(log) && !is_header(id) {
        machine.switch_on(log, now);
    }
}

/// Applies a mark. Returns its CPU. `last` is the time of the event before it.
#[cold]
fn push_mark(machine: &mut Machine, ruled: &RuledEvent<'_, '_>, log: usize, last: u64, now: u64) -> EventCpu {
    let (cpu, mut mark) = (ruled.traits().cpu, None);
    ruled.read(|effect| match effect {
        Effect::Lost { count } => mark = Some(Mark::Lost(count)),
        Effect::On => mark = Some(Mark::On),
        Effect::Off => mark = Some(Mark::Off),
        _ => {}
    });
    let Some(mark) = mark else { return EventCpu::None };
    machine.note_mark();
    match mark {
        Mark::Lost(count) => {
            machine.begin_loss(log, last.min(now));
            machine.end_loss(log, now, Missed { events: count, buffers: None });
        }
        Mark::On | Mark::Off => {
            if machine.is_losing(log) {
                machine.end_loss(log, now, Missed::default());
            }
            if matches!(mark, Mark::On) { machine.switch_on(log, now) } else { machine.switch_off(log, now) }
        }
    }
    machine.note_mark_at(cpu, mark.name(), mark.missed(), now);
    cpu.map_or(EventCpu::None, EventCpu::Number)
}

/// Hooks that were recorded, as events 003 say.
enum RecordedHooks<'e> {
    All,
    Only(&'e [u8]),
    Except(&'e [u8]),
    /// One bit for each id of three digits.
    Map(&'e [u8]),
}

impl<'e> RecordedHooks<'e> {
    /// Parses an event 003 of kind 3 to 6.
    fn of(id: u16, wide: bool, bytes: &'e [u8]) -> Option<Self> {
        let word = if wide { 8 } else { 4 };
        let (kind, payload) = (bytes.get(word..2 * word)?.split_last()?, bytes.get(2 * word..)?);
        if id != hooks::HEADER || kind.1.iter().any(|byte| *byte != 0) {
            return None;
        }
        match *kind.0 {
            3 => Some(Self::All),
            4 => Some(Self::Only(payload)),
            5 => Some(Self::Except(payload)),
            6 => Some(Self::Map(payload)),
            _ => None,
        }
    }

    fn has(&self, id: u16) -> bool {
        let lists = |ids: &[u8]| ids.chunks_exact(2).any(|listed| listed == id.to_be_bytes());
        match self {
            Self::All => true,
            Self::Only(ids) => lists(ids),
            Self::Except(ids) => !lists(ids),
            Self::Map(map) => map.get(usize::from(id >> 7)).is_some_and(|byte| byte >> (id >> 4 & 7) & 1 == 1),
        }
    }

    fn kinds(&self) -> RecordedKinds {
        RecordedKinds {
            dispatches: self.has(0x1060),
            idle_dispatches: self.has(0x10C0),
            calls: self.has(0x1010) && self.has(0x1040),
            interrupts: self.has(0x1000) && self.has(0x2000) || self.has(0x1020) && self.has(0x1030),
        }
    }
}

/// True for the hooks of [`HEADERS`].
fn is_header(id: u16) -> bool {
    matches!(id, hooks::ZERO | hooks::HEADER | hooks::UTILITY | LOG_WRAP)
}

/// Last component of a path.
pub fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').find(|part| !part.is_empty()).unwrap_or_default()
}

/// Names of addresses.
struct Names<'o> {
    options: &'o AnalysisOptions,
    /// Names that the trace itself contains.
    symbols: HashMap<u64, Vec<u8>>,
}

impl Names<'_> {
    /// Name of an address.
    fn of(&self, address: u64) -> Option<Vec<u8>> {
        // Most traces have no names of addresses, and may have a new address in each call.
        if self.symbols.is_empty() && self.options.names.is_empty() {
            return None;
        }
        self.options.names.get(address).map(<[u8]>::to_vec).or_else(|| self.symbols.get(&address).cloned())
    }
}

/// Parts of an event that prepared rules need.
struct PreparedHook<'e> {
    bytes: &'e [u8],
    tid: u64,
    cpu: Option<u64>,
    now: u64,
}

/// Index of the CPU of an event that dispatches no thread.
#[inline(always)]
fn cpu_of(machine: &mut Machine, cpu: Option<u64>, tid: u64, now: u64) -> Option<usize> {
    match cpu {
        Some(cpu) => machine.cpu(cpu, now),
        None => machine.cpu_without_id(tid),
    }
}

/// Applies an event that dispatches a thread. Returns the index of its CPU.
#[inline(never)]
fn apply_dispatch(machine: &mut Machine, rule: &PreparedRule, hook: &PreparedHook<'_>) -> Option<usize> {
    let PreparedHook { bytes, tid, cpu, now } = *hook;
    let PreparedAction::Dispatch { tid: place, pid, priority, idle } = rule.action else { return None };
    let Some(tid) = place.map_or(Some(tid), |place| place.read(bytes)) else {
        // The event is too short for its thread.
        let at = cpu_of(machine, cpu, tid, now)?;
        machine.evidence(at, tid, now, false);
        return Some(at);
    };
    let at = match cpu {
        Some(cpu) => machine.cpu(cpu, now),
        None => machine.cpu_of_dispatch(),
    };
    let now = at.map_or(now, |at| machine.next_time(at, now));
    let priority = if machine.reads_priorities() { priority.read(bytes) } else { None };
    let slot = match pid.read(bytes) {
        Some(pid) => machine.attach_dispatched(tid, pid),
        None => machine.thread(tid),
    };
    if let Some(priority) = priority.and_then(|priority| u8::try_from(priority).ok()) {
        machine.prioritise(slot, Some(priority));
    }
    if !at.is_some_and(|at| machine.switch_thread(at, tid, slot, now, idle)) {
        machine.dispatch(at, tid, slot, now, idle);
    }
    at
}

/// Applies an event on a CPU by its prepared rule, which dispatches no thread.
#[inline(never)]
fn apply_prepared(
    machine: &mut Machine,
    rule: &PreparedRule,
    at: Option<usize>,
    hook: &PreparedHook<'_>,
    names: &Names<'_>,
) {
    let PreparedHook { bytes, tid, now, .. } = *hook;
    let now = at.map_or(now, |at| machine.next_time(at, now));
    if let Some(at) = at {
        machine.evidence(at, tid, now, matches!(rule.action, PreparedAction::Reset { resume: true }));
    }
    match rule.action {
        PreparedAction::Enter { class, address } => {
            let slot = machine.thread(tid);
            match address.read(bytes) {
                _ if !machine.keeps_calls() => machine.enter_mode(at, slot, class),
                Some(address) => machine.enter_address(at, slot, class, address, |address| names.of(address), now),
                None => machine.enter(at, slot, class, None, now),
            }
        }
        PreparedAction::Return { class, errno, result } => {
            let slot = machine.thread(tid);
            if !machine.keeps_calls() {
                return machine.return_mode(at, slot, class);
            }
            let (errno, result) = (errno.read(bytes).unwrap_or(0), result.read(bytes).map(|result| result as i64));
            machine.leave_mode(at, slot, class, None, Returned { result, errno, interrupted: false }, now);
        }
        PreparedAction::Raise { class, kind, address } => {
            let Some(at) = at else { return };
            if machine.keeps_interrupts() {
                let address = address.read(bytes);
                machine.raise(at, class, kind.read(bytes), address, || names.of(address?));
            } else {
                machine.raise(at, class, None, None, || None::<&[u8]>);
            }
        }
        PreparedAction::Lower { class } => machine.lower(at, class, now),
        PreparedAction::Reset { .. } => machine.reset(at, now),
        PreparedAction::Dispatch { .. } => {}
    }
}

/// Dispatches a thread of a process to a CPU.
fn dispatch(
    machine: &mut Machine,
    at: Option<usize>,
    tid: u64,
    pid: Option<u64>,
    priority: Option<u64>,
    idle: bool,
    now: u64,
) {
    let slot = match pid {
        Some(pid) => machine.attach_dispatched(tid, pid),
        None => machine.thread(tid),
    };
    if let Some(priority) = priority.and_then(|priority| u8::try_from(priority).ok()) {
        machine.prioritise(slot, Some(priority));
    }
    machine.dispatch(at, tid, slot, now, idle);
}

fn apply(machine: &mut Machine, names: &mut Names<'_>, effect: Effect<'_>, tid: u64, at: Option<usize>, now: u64) {
    match effect {
        Effect::Nothing | Effect::Lost { .. } | Effect::On | Effect::Off => {}
        Effect::Process { pid, tid, path } => {
            let process = machine.create(pid);
            machine.name_process(process, base_name(path.unwrap_or_default()));
            if let Some(tid) = tid {
                machine.attach(tid, process);
            }
        }
        Effect::Exec { pid, path } => {
            let own = machine.thread(tid);
            machine.note_lifetime(own, "exec", now);
            let process = pid.map(|pid| machine.process(pid)).or_else(|| machine.process_of(own));
            if let Some(process) = process {
                machine.name_process(process, base_name(path));
                machine.attach(tid, process);
            }
        }
        Effect::Fork { pid, tid: child } => {
            let own = machine.thread(tid);
            machine.note_lifetime(own, "fork", now);
            let name = machine.name_of(own).unwrap_or_default();
            let process = machine.create(pid);
            machine.name_process(process, &name);
            if let Some(child) = child {
                machine.attach(child, process);
            }
        }
        Effect::Thread { tid: new, pid } => {
            let own = machine.thread(tid);
            machine.note_lifetime(own, "create", now);
            let process = pid.map(|pid| machine.create(pid)).or_else(|| machine.process_of(own));
            if let Some(process) = process {
                machine.attach(new, process);
            }
        }
        Effect::Exit { pid } => {
            let own = machine.thread(tid);
            machine.note_lifetime(own, "exit", now);
            let process = pid.map(|pid| machine.process(pid)).or_else(|| machine.process_of(own));
            if let Some(process) = process {
                machine.exit(process, now);
            }
        }
        Effect::Kproc { pid } => {
            let process = machine.process(pid);
            machine.kproc(process);
        }
        Effect::Dispatch { tid, pid, priority, idle } => {
            dispatch(machine, at, tid, pid, priority, idle, now);
        }
        Effect::Undispatch => {
            if let Some(at) = at {
                machine.undispatch(at, now);
            }
        }
        Effect::Enter { class, name } => {
            let slot = machine.thread(tid);
            match name {
                EffectName::Text(name) => {
                    machine.enter(at, slot, class, Some(name).filter(|name| !name.is_empty()), now)
                }
                EffectName::Address(address) => {
                    machine.enter_address(at, slot, class, address, |address| names.of(address), now);
                }
            }
        }
        Effect::Return { class, name, errno, result } => {
            let slot = machine.thread(tid);
            let name = name.filter(|name| !name.is_empty());
            let result = result.map(|result| result as i64);
            let returned = Returned { result, errno: errno.unwrap_or(0), interrupted: false };
            machine.leave_mode(at, slot, class, name, returned, now);
        }
        Effect::Symbol { address, name } => {
            if names.symbols.len() < MAX_SYMBOLS {
                names.symbols.insert(address, name[..name.len().min(255)].to_vec());
                machine.forget_addresses();
            }
        }
        Effect::Raise { class, kind, name } => {
            let Some(at) = at else { return };
            match name {
                None => machine.raise(at, class, kind, None, || None::<&[u8]>),
                Some(EffectName::Text(name)) => machine.raise(at, class, kind, None, || Some(name)),
                Some(EffectName::Address(address)) => {
                    machine.raise(at, class, kind, Some(address), || names.of(address));
                }
            }
        }
        Effect::Lower { class } => machine.lower(at, class, now),
        Effect::Reset { .. } => machine.reset(at, now),
    }
}
