//! Properties of the traced system, collected from the events.

use super::hooks;
use super::internal::{EventProperty, SystemInfo};
use super::raw_event::RawEvent;
use std::sync::Arc;

/// Properties of the system, updated by every event in the report's order.
#[derive(Debug, Clone, Default)]
pub struct TraceState {
    system: Arc<SystemInfo>,
}

impl TraceState {
    /// Updates the properties by an event. Returns true if it contained one.
    #[inline]
    pub fn advance(&mut self, event: &RawEvent<'_>) -> bool {
        matches!(event.id, hooks::HEADER | hooks::UTILITY) && self.note(event)
    }

    #[cold]
    fn note(&mut self, event: &RawEvent<'_>) -> bool {
        let record = EventProperty::parse(event.id, event.wide, event.bytes);
        if let Some(record) = &record {
            Arc::make_mut(&mut self.system).note(record);
        }
        record.is_some()
    }

    /// Creates the state after events that contained these properties.
    pub(crate) fn resume(system: SystemInfo) -> Self {
        Self { system: Arc::new(system) }
    }

    /// Properties known so far.
    pub fn system(&self) -> &Arc<SystemInfo> {
        &self.system
    }
}
