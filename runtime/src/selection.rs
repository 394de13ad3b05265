//! Event filter together with the context that it depends on.

use crate::aix_report::options::AixReportOptions;
use crate::context::ContextState;
use crate::filter::Filter;
use crate::monitor::ReportError;
use crate::reader::aix::{TimedEvent, TraceState, hooks};
use std::sync::Arc;

/// A filter and the context that it needs, updated by every event.
pub struct ContextFilter {
    filter: Filter,
    /// True if the filter depends on more than the hook id.
    needs_context: bool,
    state: TraceState,
    context: ContextState,
}

impl ContextFilter {
    /// The filter of a report's options, in its state before the first event.
    pub fn new(options: &AixReportOptions) -> Self {
        Self {
            filter: options.filter.clone(),
            needs_context: options.filter.needs_context(),
            state: TraceState::default(),
            context: ContextState::new(Arc::clone(&options.context), Arc::clone(&options.names)),
        }
    }

    /// Updates the context by an event. Returns true if the event passes the filter.
    ///
    /// # Errors
    /// The filter has dates, but the trace does not contain its start time.
    pub fn admits(&mut self, timed: &TimedEvent<'_>) -> Result<bool, ReportError> {
        let event = &timed.event;
        let shown = self.filter.shows(event.id);
        if !self.needs_context {
            return Ok(shown);
        }
        self.state.advance(event);
        self.context.advance(event);
        Ok(admits(&mut self.filter, &self.state, &mut self.context, timed)? && shown)
    }
}

/// True if an event passes all conditions except the one on its id. State and context must be up to date with the
/// event.
pub fn admits(
    filter: &mut Filter,
    state: &TraceState,
    context: &mut ContextState,
    timed: &TimedEvent<'_>,
) -> Result<bool, ReportError> {
    if filter.has_dates() {
        match state.system().start_time {
            Some(start) => filter.date(start),
            // The header events come before the start time is known, and are never shown.
            None if matches!(timed.event.id, hooks::HEADER | hooks::UTILITY) => return Ok(false),
            None => return Err(ReportError::NoStart),
        }
    }
    Ok(admits_facts(filter, context, timed.event.tid, timed.event.cpu, timed.time.elapsed_ns))
}

/// Like [`admits`], but without dates and for a given thread and CPU.
pub(crate) fn admits_facts(
    filter: &mut Filter,
    context: &mut ContextState,
    tid: u64,
    cpu: Option<u64>,
    elapsed_ns: u64,
) -> bool {
    filter.admits_event(tid, elapsed_ns)
        && match (&filter.processes, &filter.cpus) {
            (None, None) => true,
            (None, Some(_)) => filter.admits_cpu(context.cpu_of(tid, cpu)),
            (Some(_), _) => filter.admits_facts(&context.facts_of(tid, cpu)),
        }
}
