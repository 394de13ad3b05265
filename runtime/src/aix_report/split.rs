//! Splits an AIX log into parts: the log is read like a report that only counts events.

use super::producer::{EventUse, LogProducer};
use super::{AixReportOptions, Layout};
use crate::catalog::Catalog;
use crate::engine::{Chunk, Producer};
use crate::monitor::ReportError;
use crate::reader::Tally;
use crate::reader::aix::Logs;
use crate::split::borders::{Border, Cuts, LogParts};
use crate::split::codec::Codec;
use crate::split::index::PartIndex;

/// Reads a log to its end, and returns the state at each border.
pub(crate) fn split(logs: &mut Logs, catalog: &Catalog<'_>, cuts: Cuts) -> Result<LogParts, ReportError> {
    let options = AixReportOptions { stats: true, follow_context: true, ..AixReportOptions::default() };
    let (infos, layouts) = (logs.logs().to_vec(), [Layout::default(); 5]);
    let uses = EventUse { keeps_state: true, lists_gaps: true, notes_events: true, ..EventUse::default() };
    let mut producer = LogProducer::new(logs, &infos, catalog, &options, layouts, uses).with_whole_context();
    let (mut chunk, mut parts) = (Chunk::default(), LogParts::default());
    // Number of the last reported event at the last notice; a chunk with notices counts as a whole.
    let mut number_noted = 0;
    // Number of times that went back up to the last border.
    let mut n_clamped = 0;
    if producer.logs().is_merged() {
        parts.start = producer.logs().position().map_or(Vec::new(), |mut position| Codec::encode(&mut position));
    }
    let mut limit = cuts.next(producer.logs().tally().read);
    loop {
        producer.logs().set_read_limit(limit);
        while {
            let more = producer.fill(&mut chunk, false)?;
            let n_notices = chunk.notices.len();
            chunk.notices.clear();
            if n_notices > 0
                && let Some(notes) = producer.notes()
            {
                notes.note_notices(n_notices);
                number_noted = notes.last_number();
            }
            more
        } {}
        let counts = producer.counts();
        let tally = producer.logs().tally();
        let read = tally.read;
        if counts.stopped || !producer.logs().is_at_limit() {
            let lost = producer.lost();
            parts.end(read, counts.n_events, counts.stopped, take_index(&mut producer, tally, &mut n_clamped));
            parts.has_lost_state = lost.n_timers + lost.n_processes > 0;
            return Ok(parts);
        }
        // A merge comes near in steps.
        if read < limit {
            continue;
        }
        limit = cuts.next(read);
        // The first part contains the heading, which comes before the first event that is reported. A notice is in the
        // part of the next event, whose time it gets in tables.
        let position = if producer.notes().is_none_or(|notes| notes.last_number() == number_noted) {
            None
        } else {
            producer.logs().position()
        };
        let Some(mut position) = position else {
            limit = read + 1;
            continue;
        };
        let shown = producer.notes().map(|notes| notes.last_shown()).unwrap_or_default();
        parts.borders.push(Border {
            read,
            n_events: counts.n_events,
            offset: position.offset().unwrap_or(read),
            index: take_index(&mut producer, tally, &mut n_clamped),
            position: Codec::encode(&mut position),
            state: Codec::encode(&mut producer.snapshot(shown)),
        });
    }
}

/// Index of the events since the border before, at which `n_clamped` times had gone back.
fn take_index(producer: &mut LogProducer<'_>, tally: Tally, n_clamped: &mut u64) -> PartIndex {
    let now = producer.logs().clamped();
    // A report says how many times went back, so it reads the parts in which one did.
    let has_clamped = std::mem::replace(n_clamped, now) < now;
    let Some(notes) = producer.notes() else { return PartIndex::default() };
    notes.note_notices(usize::from(has_clamped));
    notes.take_index(tally)
}
