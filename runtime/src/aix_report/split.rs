//! Splits an AIX log into parts: the log is read like a report that only counts events.

use super::line::{LineFormat, LineState};
use super::producer::{EventUse, LogProducer};
use super::{AixReportOptions, Layout};
use crate::catalog::Catalog;
use crate::engine::{Chunk, Format, Producer};
use crate::monitor::ReportError;
use crate::reader::aix::Logs;
use crate::split::codec::Codec;
use crate::split::{Border, Cuts, IndexBuilder, LogParts};
use std::sync::atomic::AtomicU64;
use tfbc_vm::TextBuf;

/// Elapsed time of the last reported event, per hook.
#[derive(Default)]
struct LastShown {
    /// Number of the event among the reported ones, and its elapsed time, by hook.
    by_id: Vec<(u64, u64)>,
    /// Hooks with reported events.
    ids: Vec<u16>,
    n_shown: u64,
}

impl LastShown {
    fn note(&mut self, id: u16, elapsed_ns: u64) {
        if self.by_id.is_empty() {
            self.by_id = vec![(0, 0); 1 << 16];
        }
        self.n_shown += 1;
        let last = &mut self.by_id[usize::from(id)];
        if last.0 == 0 {
            self.ids.push(id);
        }
        *last = (self.n_shown, elapsed_ns);
    }

    /// Hooks and elapsed times, the latest first.
    fn list(&self) -> Vec<(u16, u64)> {
        let last = |id: &u16| self.by_id[usize::from(*id)];
        let mut ids = self.ids.clone();
        ids.sort_unstable_by_key(|id| std::cmp::Reverse(last(id).0));
        ids.into_iter().map(|id| (id, last(&id).1)).collect()
    }
}

/// Reads a log to its end, and returns the state at each border.
pub(crate) fn split(logs: &mut Logs, catalog: &Catalog<'_>, cuts: Cuts) -> Result<LogParts, ReportError> {
    let options = AixReportOptions { stats: true, follow_context: true, ..AixReportOptions::default() };
    let (infos, layouts) = (logs.logs().to_vec(), [Layout::default(); 5]);
    let known_steps = AtomicU64::new(0);
    let mut format = LineFormat::new(catalog, &options, &options.columns, layouts, &infos, &known_steps);
    format.collect_ends();
    let uses = EventUse { keeps_state: true, lists_gaps: true, ..EventUse::default() };
    let mut producer = LogProducer::new(logs, &infos, catalog, &options, layouts, uses).with_whole_context();
    let (mut chunk, mut state, mut text) = (Chunk::default(), LineState::default(), TextBuf::new());
    let (mut shown, mut parts, mut index) = (LastShown::default(), LogParts::default(), IndexBuilder::default());
    // Number of reported events up to the last notice; a chunk with notices counts as a whole.
    let mut n_noted = 0;
    if producer.logs().is_merged() {
        parts.start = producer.logs().position().map_or(Vec::new(), |mut position| Codec::encode(&mut position));
    }
    let mut limit = cuts.next(producer.logs().tally().read);
    loop {
        producer.logs().set_read_limit(limit);
        while {
            let more = producer.fill(&mut chunk, false)?;
            let has_notices = !chunk.notices.is_empty();
            index.note_notices(chunk.notices.len());
            chunk.notices.clear();
            while {
                text.clear();
                let more = format.format(&chunk.events, Some(&mut state), &mut text);
                let events = format.ends().iter().filter_map(|end| chunk.events.events.get(end.event as usize));
                for event in events {
                    shown.note(event.id, event.elapsed_ns);
                    let cpu = chunk.events.thread(chunk.events.shared_context(event.setting)).cpu;
                    index.note(event.id.into(), Some(event.elapsed_ns), cpu);
                }
                format.take_slow();
                more
            } {}
            if has_notices {
                n_noted = shown.n_shown;
            }
            more
        } {}
        let counts = producer.counts();
        let tally = producer.logs().tally();
        let read = tally.read;
        if counts.stopped || !producer.logs().is_at_limit() {
            let lost = producer.lost();
            parts.end(read, counts.n_events, counts.stopped, index.take(None, tally));
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
        let position = if shown.n_shown == n_noted { None } else { producer.logs().position() };
        let Some(mut position) = position else {
            limit = read + 1;
            continue;
        };
        parts.borders.push(Border {
            read,
            n_events: counts.n_events,
            offset: position.offset().unwrap_or(read),
            index: index.take(None, tally),
            position: Codec::encode(&mut position),
            state: Codec::encode(&mut producer.snapshot(shown.list())),
        });
    }
}
