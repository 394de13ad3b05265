//! What formatting an event needs to know of the events before it.

use super::hooks;
use super::internal::{Record, SystemInfo};
use super::logs::{LogInfo, TimedEvent};
use super::trace::RawEvent;
use std::collections::HashMap;
use tfbc_vm::{Context, ProcessNames};

/// Processes and threads that are remembered. The ids come from the trace; what exceeds this is not kept.
const MAX_PROCESSES: usize = 1 << 16;
/// Bytes of a path that are remembered.
const MAX_PATH: usize = 1023;

/// System facts, process and thread tables, advanced by every event of a report's logs in the order of the report.
#[derive(Debug, Clone, Default)]
pub struct TraceState {
    system: SystemInfo,
    processes: ProcessNames,
    pids: HashMap<u64, u64>,
    /// The thread that was looked up last, with its process: events come in runs of one thread.
    last: (u64, u64),
}

impl TraceState {
    /// Takes in an event.
    #[inline]
    pub fn advance(&mut self, event: &RawEvent<'_>) {
        if matches!(event.id, hooks::HEADER | hooks::UTILITY | hooks::EXEC) {
            self.note(event);
        }
    }

    #[cold]
    fn note(&mut self, event: &RawEvent<'_>) {
        let Some(record) = Record::parse(event.id, event.wide, event.bytes) else { return };
        match record {
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

    /// What templates may ask about the event that was taken in last; `log` is its own.
    #[inline]
    pub fn context<'c>(&'c mut self, timed: &TimedEvent<'_>, log: &'c LogInfo) -> Context<'c> {
        let event = &timed.event;
        let pid = self.pid(event.tid);
        let exec_path = if pid == 0 { &[][..] } else { self.processes.get(&pid).map_or(&[][..], Vec::as_slice) };
        let traced_cpus = self.system.traced_cpus.unwrap_or(0);
        Context {
            trace_env: log.kind.kernel().env(),
            total_cpus: self.system.total_cpus.unwrap_or(0),
            traced_cpus,
            reported_cpus: timed.reported_cpus.unwrap_or(traced_cpus),
            large_data_types: u8::from(self.system.large_data_types.unwrap_or(0) != 0),
            buffering: self.system.buffering.and_then(|scheme| u8::try_from(scheme).ok()).unwrap_or(0),
            ip_address: self.system.ip_address.unwrap_or(0),
            pid,
            tid: event.tid,
            cpu: event.cpu.unwrap_or(0),
            priority: 0,
            svc: b"",
            exec_path,
            log_file: log.name.as_bytes(),
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
}
