//! What the events of a trace tell of its system.

use super::hooks;
use super::internal::{Record, SystemInfo};
use super::logs::{LogInfo, TimedEvent};
use super::trace::RawEvent;
use crate::context::Facts;
use tfbc_vm::{Context, ProcessNames};

/// System facts, advanced by every event of a report's logs in the order of the report.
#[derive(Debug, Clone, Default)]
pub struct TraceState {
    system: SystemInfo,
}

impl TraceState {
    /// Takes in an event.
    #[inline]
    pub fn advance(&mut self, event: &RawEvent<'_>) {
        if matches!(event.id, hooks::HEADER | hooks::UTILITY) {
            self.note(event);
        }
    }

    #[cold]
    fn note(&mut self, event: &RawEvent<'_>) {
        if let Some(record) = Record::parse(event.id, event.wide, event.bytes) {
            self.system.note(&record);
        }
    }

    /// What templates may ask about the event that was taken in last; `log` is its own, `facts` and `paths` are what is
    /// known of processes and threads.
    #[inline]
    pub fn context<'c>(
        &self,
        timed: &TimedEvent<'_>,
        log: &'c LogInfo,
        facts: &Facts<'c>,
        paths: &'c ProcessNames,
    ) -> Context<'c> {
        Context {
            trace_env: log.kind.kernel().env(),
            total_cpus: self.system.total_cpus.unwrap_or(0),
            traced_cpus: self.system.traced_cpus.unwrap_or(0),
            reported_cpus: self.reported_cpus(timed),
            large_data_types: u8::from(self.system.large_data_types.unwrap_or(0) != 0),
            buffering: self.system.buffering.and_then(|scheme| u8::try_from(scheme).ok()).unwrap_or(0),
            ip_address: self.system.ip_address.unwrap_or(0),
            pid: facts.pid.unwrap_or(0),
            tid: facts.tid,
            cpu: facts.cpu.unwrap_or(0),
            priority: facts.priority,
            svc: facts.svc,
            exec_path: facts.path,
            log_file: log.name.as_bytes(),
            processes: paths,
        }
    }

    /// Processors whose events go on at an event: all that were traced, where they have no files of their own.
    #[inline]
    pub fn reported_cpus(&self, timed: &TimedEvent<'_>) -> u32 {
        timed.reported_cpus.or(self.system.traced_cpus).unwrap_or(0)
    }

    /// What the trace told of its system so far.
    pub fn system(&self) -> &SystemInfo {
        &self.system
    }
}
