//! Which events of a run are chosen: the filter, and what it needs to know of the events before.

use crate::context::ContextState;
use crate::filter::Filter;
use crate::reader::aix::{TimedEvent, TraceState, hooks};
use crate::report::{ReportError, ReportOptions};
use std::sync::Arc;

/// A filter with its context, advanced by every event.
pub struct Selection {
    filter: Filter,
    /// Whether the filter asks for more than the hook id.
    by_facts: bool,
    state: TraceState,
    context: ContextState,
}

impl Selection {
    /// The choice of a report's options, before the first event.
    pub fn new(options: &ReportOptions) -> Self {
        Self {
            filter: options.filter.clone(),
            by_facts: options.filter.asks_for_facts(),
            state: TraceState::default(),
            context: ContextState::new(Arc::clone(&options.context), Arc::clone(&options.names)),
        }
    }

    /// Takes in an event, and tells whether it is chosen.
    ///
    /// # Errors
    /// Events of certain dates are asked for, and the trace does not tell when it began.
    pub fn admits(&mut self, timed: &TimedEvent<'_>) -> Result<bool, ReportError> {
        let event = &timed.event;
        let shown = self.filter.shows(event.id);
        if !self.by_facts {
            return Ok(shown);
        }
        self.state.advance(event);
        self.context.advance(event);
        Ok(admits(&mut self.filter, &self.state, &mut self.context, timed)? && shown)
    }
}

/// Whether a filter admits an event for more than its id. State and context have taken the event in.
///
/// # Errors
/// As [`Selection::admits`].
pub fn admits(
    filter: &mut Filter,
    state: &TraceState,
    context: &mut ContextState,
    timed: &TimedEvent<'_>,
) -> Result<bool, ReportError> {
    if filter.asks_for_dates() {
        match state.system().start_time {
            Some(start) => filter.date(start),
            // The header's events come first.
            None if matches!(timed.event.id, hooks::HEADER | hooks::UTILITY) => return Ok(false),
            None => return Err(ReportError::NoStart),
        }
    }
    let event = &timed.event;
    Ok(filter.admits_event(event.tid, timed.time.elapsed_ns)
        && (!filter.asks_for_context() || filter.admits_facts(&context.facts(event))))
}
