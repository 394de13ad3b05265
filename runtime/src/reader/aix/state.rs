//! What the events of a trace tell of its system.

use super::hooks;
use super::internal::{Record, SystemInfo};
use super::trace::RawEvent;
use std::sync::Arc;

/// System facts, advanced by every event of a report's logs in the order of the report.
#[derive(Debug, Clone, Default)]
pub struct TraceState {
    system: Arc<SystemInfo>,
}

impl TraceState {
    /// Takes in an event, and tells whether it told anything.
    #[inline]
    pub fn advance(&mut self, event: &RawEvent<'_>) -> bool {
        matches!(event.id, hooks::HEADER | hooks::UTILITY) && self.note(event)
    }

    #[cold]
    fn note(&mut self, event: &RawEvent<'_>) -> bool {
        let record = Record::parse(event.id, event.wide, event.bytes);
        if let Some(record) = &record {
            Arc::make_mut(&mut self.system).note(record);
        }
        record.is_some()
    }

    /// What the trace told of its system so far.
    pub fn system(&self) -> &Arc<SystemInfo> {
        &self.system
    }
}
