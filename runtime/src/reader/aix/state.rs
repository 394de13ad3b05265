//! What formatting an event needs to know of the events before it.

use super::clock::{Clock, EventTime};
use super::internal::{Record, SystemInfo};
use super::trace::{RawEvent, Survey};
use super::{Kernel, hooks};
use std::collections::HashMap;
use tfbc_vm::{Context, ProcessNames};

/// Processes and threads that are remembered. The ids come from the trace; what exceeds this is not kept.
const MAX_PROCESSES: usize = 1 << 16;
/// Bytes of a path that are remembered.
const MAX_PATH: usize = 1023;

/// Time base, system facts, process and thread tables, advanced by every event of one trace in file order.
#[derive(Debug, Clone)]
pub struct TraceState {
    kernel: Kernel,
    clock: Clock,
    system: SystemInfo,
    processes: ProcessNames,
    pids: HashMap<u64, u64>,
    /// The thread that was looked up last, with its process: events come in runs of one thread.
    last: (u64, u64),
}

impl TraceState {
    /// The state before the first event.
    pub fn new(kernel: Kernel, survey: &Survey) -> Self {
        let clock =
            Clock::new(survey.factors.unwrap_or_default(), kernel == Kernel::Bits32, survey.starts_with_trace_on);
        Self {
            kernel,
            clock,
            system: SystemInfo::default(),
            processes: ProcessNames::new(),
            pids: HashMap::new(),
            last: (0, 0),
        }
    }

    /// Takes in an event and tells its time.
    #[inline]
    pub fn advance(&mut self, event: &RawEvent<'_>) -> EventTime {
        let time = self.clock.advance(event.id, event.ticks);
        if matches!(event.id, hooks::HEADER | hooks::UTILITY | hooks::EXEC) {
            self.note(event);
        }
        time
    }

    #[cold]
    fn note(&mut self, event: &RawEvent<'_>) {
        let Some(record) = Record::parse(event.id, event.wide, event.bytes) else { return };
        match record {
            Record::Factors(factors) => self.clock.set_factors(factors),
            Record::Process { pid, tid, path } => self.note_process(pid, tid, path),
            Record::Exec { pid, path } => self.note_process(pid, event.tid, path),
            _ => {}
        }
        self.system.note(&record);
    }

    fn note_process(&mut self, pid: u64, tid: u64, path: &[u8]) {
        if self.processes.len() < MAX_PROCESSES || self.processes.contains_key(&pid) {
            self.processes.insert(pid, path[..path.len().min(MAX_PATH)].to_vec());
        }
        if self.pids.len() < MAX_PROCESSES || self.pids.contains_key(&tid) {
            self.pids.insert(tid, pid);
        }
        self.last = (0, 0);
    }

    /// What templates may ask about the event that was taken in last.
    #[inline]
    pub fn context<'c>(&'c mut self, event: &RawEvent<'_>, log_file: &'c [u8]) -> Context<'c> {
        let pid = self.pid(event.tid);
        let exec_path = if pid == 0 { &[][..] } else { self.processes.get(&pid).map_or(&[][..], Vec::as_slice) };
        let traced_cpus = self.system.traced_cpus.unwrap_or(0);
        Context {
            trace_env: self.kernel.env(),
            total_cpus: self.system.total_cpus.unwrap_or(0),
            traced_cpus,
            reported_cpus: traced_cpus,
            large_data_types: u8::from(self.system.large_data_types.unwrap_or(0) != 0),
            buffering: self.system.buffering.and_then(|scheme| u8::try_from(scheme).ok()).unwrap_or(0),
            ip_address: self.system.ip_address.unwrap_or(0),
            pid,
            tid: event.tid,
            cpu: event.cpu.unwrap_or(0),
            priority: 0,
            svc: b"",
            exec_path,
            log_file,
            processes: &self.processes,
        }
    }

    #[inline]
    fn pid(&mut self, tid: u64) -> u64 {
        if self.pids.is_empty() {
            return 0;
        }
        if self.last.0 != tid {
            self.last = (tid, self.pids.get(&tid).copied().unwrap_or(0));
        }
        self.last.1
    }

    /// What the trace told of its system so far.
    pub fn system(&self) -> &SystemInfo {
        &self.system
    }

    /// Stamps that went back a little and were taken for the one before them.
    pub fn clamped(&self) -> u64 {
        self.clock.clamped()
    }
}
