//! States of reports between two events, as split files contain them.

use super::codec::stored;
use crate::context::ContextSnapshot;
use crate::qnx_report::OwnersSnapshot;
use crate::reader::aix::{StartTime, SystemInfo};

/// State of a report of an AIX log.
#[derive(Debug, Clone, Default)]
pub(crate) struct AixState {
    /// Events so far.
    pub n_events: u64,
    pub system: SystemInfo,
    pub start: Option<StartTime>,
    pub context: ContextSnapshot,
    /// Running timers and their start times.
    pub timers: Vec<([u64; 3], u64)>,
    /// Time at which the trace was switched off.
    pub off_since_ns: Option<u64>,
    /// Hooks of the reported events, the latest first, each with the elapsed time of its last event.
    pub shown: Vec<(u16, u64)>,
}

stored!(AixState { n_events, system, start, context, timers, off_since_ns, shown } where |state| state.n_events < 1 << 60);

/// State of a report of a QNX log.
#[derive(Debug, Clone, Default)]
pub(crate) struct QnxState {
    pub owners: OwnersSnapshot,
}

stored!(QnxState { owners });
