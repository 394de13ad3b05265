//! Rows of AIX traces, see [`crate::rows`].

use super::batch::{Batch, EventRef, Origin, SvcText};
use super::line::{LineFormat, LineState};
use super::producer::{EventUse, LogProducer, ProducerCounts};
use super::{AixReportOptions, AixSummary, layouts, summary_of};
use crate::catalog::Catalog;
use crate::columns::{Column, Columns, Timestamp};
use crate::engine::{self, Format, RunResult};
use crate::fields::FieldsForm;
use crate::ids::EventId;
use crate::monitor::{Monitor, ReportError};
use crate::output_format::Form;
use crate::reader::aix::{Logs, SystemInfo};
use crate::row_block::{BlockWriter, Long, NULL, Short, id_number};
use crate::row_facts::{HOOK_003, RowNote, SYSTEM, TraceFacts};
use crate::rows::{RowDecoder, RowFields, RowOptions};
use crate::terminal::ReportColour;
use std::io::Write;
use std::sync::atomic::AtomicU64;
use tfbc_vm::TextBuf;

/// Formatter of rows; each thread has one.
struct RowFormat<'r> {
    lines: LineFormat<'r>,
    wanted: RowOptions,
    block: BlockWriter,
    threads: Vec<ThreadNames>,
    /// Events with a row and their origins, if others are between them.
    events: Vec<EventRef>,
    origins: Vec<Origin>,
    /// Fields at fixed places.
    flat: Vec<u64>,
}

/// Context of a thread in a block.
#[derive(Clone, Copy)]
struct ThreadNames {
    pid: Option<i64>,
    cpu: u32,
    process: u32,
}

impl RowFormat<'_> {
    /// Makes a block of the lines that were formatted last; `out` contains their text.
    fn finish(&mut self, batch: &Batch, out: &mut TextBuf) {
        let Self { lines, wanted, block, threads, events, origins, flat } = self;
        let ends = lines.ends();
        let Some(first) = ends.first() else { return out.clear() };
        // Usually all events of a run have a row.
        let range = first.event as usize..first.event as usize + ends.len();
        let is_run = ends.last().is_some_and(|last| last.event as usize + 1 == range.end);
        let (events, origins) = match (batch.events.get(range.clone()), batch.origins.get(range)) {
            (Some(events), Some(origins)) if is_run => (events, origins),
            _ => {
                let rows = ends.iter().filter_map(|end| {
                    let row = end.event as usize;
                    Some((batch.events.get(row)?, batch.origins.get(row)?))
                });
                (*events, *origins) = rows.unzip();
                (&events[..], &origins[..])
            }
        };
        let contexts = || events.iter().map(|event| batch.shared_context(event.setting));
        block.extend_long(Long::Seq, origins.iter().map(|origin| origin.number.saturating_sub(1) as i64));
        let elapsed = events.iter().map(|event| i64::try_from(event.elapsed_ns).unwrap_or(i64::MAX));
        block.extend_long(Long::ElapsedNs, elapsed);
        block.extend_long(Long::Tid, events.iter().map(|event| event.tid as i64));
        block.extend_short(Short::Id, events.iter().map(|event| id_number(EventId::Hook(event.id))));
        if wanted.time {
            match unix_zero(batch, first.event as usize, events) {
                Some(zero) => {
                    let times = events.iter().map(|event| ((zero + event.time_ns) / 1000) as i64);
                    block.extend_long(Long::TimeUs, times);
                }
                None => {
                    let times = ends.iter().map(|end| batch.unix_us(end.event as usize));
                    times.for_each(|time| block.push_long(Long::TimeUs, time));
                }
            }
        }
        if wanted.context {
            threads.clear();
            let contexts_of_threads = batch.threads().iter().map(|thread| ThreadNames {
                pid: thread.pid.map(|pid| pid as i64),
                cpu: thread.cpu.and_then(|cpu| u32::try_from(cpu).ok()).unwrap_or(NULL),
                process: block.name(batch.path(thread)),
            });
            threads.extend(contexts_of_threads);
            for run in events.chunk_by(|event, next| event.setting == next.setting) {
                let ThreadNames { pid, cpu, process } = threads[batch.shared_context(run[0].setting).thread as usize];
                block.fill_long(Long::Pid, pid, run.len());
                block.fill_short(Short::Cpu, cpu, run.len());
                block.fill_short(Short::Process, process, run.len());
            }
        }
        if wanted.depth {
            block.extend_short(Short::Depth, contexts().map(|context| context.depth));
        }
        if wanted.svc {
            let mut last = (SvcText::default(), NULL);
            contexts().for_each(|context| {
                if last.0 != context.svc {
                    last = (context.svc, block.new_name(batch.svc(context).name()));
                }
                block.push_short(Short::Svc, last.1);
            });
        }
        if wanted.note && ends.iter().any(|end| end.note != RowNote::None) {
            block.extend_short(Short::Note, ends.iter().map(|end| end.note as u32));
        }
        if wanted.origins {
            block.extend_long(Long::Offset, origins.iter().map(|origin| origin.offset as i64));
            block.extend_short(Short::Bytes, origins.iter().map(|origin| origin.n_bytes));
        }
        if wanted.logs {
            block.extend_short(Short::Log, contexts().map(|context| batch.thread(context).log));
        }
        if wanted.text {
            block.extend_short(Short::TextEnd, ends.iter().map(|end| end.end));
        } else {
            out.clear();
        }
        if wanted.fields != RowFields::No && lines.has_fields() {
            block.extend_short(Short::FieldsEnd, ends.iter().map(|end| end.fields));
        }
        let facts = facts(batch, first.event as usize);
        flat.clear();
        lines.take_flat_rows(batch, events, flat);
        let n_text = out.len();
        lines.take_fields(out);
        block.finish(n_text, flat, &facts, out);
    }
}

/// Time of stamp 0 in nanoseconds since 1970, if it is known at the first event, and if the times of all events
/// fit into 64 bits. It is not negative.
fn unix_zero(batch: &Batch, first: usize, events: &[EventRef]) -> Option<u64> {
    let (start, _) = batch.start.filter(|(_, known)| first >= *known)?;
    let zero = u64::try_from(start.unix_ns(0)).ok()?;
    let last = events.iter().map(|event| event.time_ns).max()?;
    zero.checked_add(last).map(|_| zero)
}

impl Format<Batch> for RowFormat<'_> {
    type State = LineState;
    const NOTICES_FIRST: bool = true;

    fn format(&mut self, batch: &Batch, state: Option<&mut LineState>, out: &mut TextBuf) -> bool {
        let more = self.lines.format(batch, state, out);
        self.finish(batch, out);
        more
    }

    fn resolve(&mut self, batch: &Batch, state: &mut LineState, head: &mut TextBuf) -> bool {
        // No line depends on earlier ones, so `head` stays empty.
        self.lines.resolve(batch, state, head)
    }

    fn take_slow(&mut self) -> Option<String> {
        self.lines.take_slow()
    }
}

/// Properties of the trace that are known at an event.
fn facts(batch: &Batch, index: usize) -> TraceFacts {
    let Some(event) = batch.events.get(index) else { return TraceFacts::default() };
    let start = batch.start.filter(|(_, first)| index >= *first);
    let zero_ns = start.map(|(start, _)| start.unix_ns(event.time_ns) - i128::from(event.elapsed_ns));
    system_facts(batch.system(batch.shared_context(event.setting)), zero_ns)
}

fn system_facts(system: &SystemInfo, zero_ns: Option<i128>) -> TraceFacts {
    let text = |bytes: &[u8]| (!bytes.is_empty()).then(|| String::from_utf8_lossy(bytes).into_owned());
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    let values = [
        text(&system.sysname),
        text(&system.nodename),
        text(&system.machine),
        text(&system.release),
        text(&system.version),
        number(system.total_cpus),
        number(system.traced_cpus),
    ];
    TraceFacts {
        zero_ns,
        basis: if zero_ns.is_some() { HOOK_003 } else { "" },
        system: SYSTEM.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?))).collect(),
    }
}

/// Columns that need the same data from the reader as the rows.
fn demand(wanted: RowOptions) -> Columns {
    let columns = [
        (wanted.context, Column::Pid),
        (wanted.depth, Column::Int),
        (wanted.svc, Column::Svc),
        (wanted.fields != RowFields::No, Column::Fields),
    ];
    let columns: Vec<Column> =
        columns.into_iter().filter_map(|(is_wanted, column)| is_wanted.then_some(column)).collect();
    let columns = Columns::new(&columns, Timestamp::None);
    if has_text(wanted) { columns } else { columns.without_text() }
}

/// True if texts are formatted.
fn has_text(wanted: RowOptions) -> bool {
    wanted.text || (wanted.note && wanted.fields == RowFields::No)
}

/// Writes a row for each event of the logs.
pub(crate) fn write_rows(
    logs: &mut Logs,
    catalog: &Catalog<'_>,
    options: &AixReportOptions,
    wanted: RowOptions,
    out: &mut RowDecoder<'_>,
    monitor: &mut (dyn Monitor + Send),
) -> Result<AixSummary, ReportError> {
    let options = AixReportOptions {
        columns: demand(wanted),
        form: Form::Text,
        no_heading: true,
        page_size: 0,
        colour: ReportColour::Off,
        stats: false,
        histogram: false,
        delta_of_all: false,
        ..options.clone()
    };
    let infos = logs.logs().to_vec();
    let wanted = RowOptions { logs: wanted.logs && infos.len() > 1, ..wanted };
    let columns = if has_text(wanted) { Columns::text_only() } else { Columns::text_only().without_text() };
    let layouts = layouts(&columns);
    let fields = if wanted.fields == RowFields::Cells { FieldsForm::Cells } else { FieldsForm::Json };
    let only_counts = !has_text(wanted) && wanted.fields == RowFields::No;
    let uses = EventUse { lists_gaps: wanted.gaps, only_counts, ..EventUse::default() };
    let producer = LogProducer::new(logs, &infos, catalog, &options, layouts, uses).for_rows(fields);
    let known_steps = AtomicU64::new(0);
    let first = producer.first_line();
    let make = || {
        let mut lines = LineFormat::new(catalog, &options, &columns, layouts, &infos, &known_steps);
        lines.for_rows(fields, wanted.note);
        lines.drop_newlines();
        RowFormat {
            lines,
            wanted,
            block: BlockWriter::default(),
            threads: Vec::new(),
            events: Vec::new(),
            origins: Vec::new(),
            flat: Vec::new(),
        }
    };
    let RunResult { producer, formats, .. } = engine::run(producer, make, first, options.threads, out, monitor)?;
    let counts: ProducerCounts = producer.counts();
    let (lost, state) = (producer.lost(), producer.state().clone());
    let zero_ns = producer.start().map(|start| start.unix_ns(start.time_ns));
    out.end(|| system_facts(state.system(), zero_ns)).and_then(|()| out.flush()).map_err(ReportError::Write)?;
    drop(producer);
    let mut lines = formats.into_iter().map(|format| format.lines);
    let Some(mut all) = lines.next() else { return Ok(AixSummary::default()) };
    lines.for_each(|other| all.add(&other));
    if !all.guessed().is_empty() && !state.system().has_our_layouts() {
        monitor.guessed_layouts(all.guessed());
    }
    Ok(summary_of(logs, &all, &counts, lost))
}
