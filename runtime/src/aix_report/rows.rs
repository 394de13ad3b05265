//! Rows of AIX traces, see [`crate::rows`].

use super::batch::{Batch, Origin};
use super::line::{LineEnd, LineFormat, LineState};
use super::producer::{LogProducer, ProducerCounts};
use super::{AixReportOptions, AixSummary, layouts, summary_of};
use crate::catalog::Catalog;
use crate::columns::{Column, Columns, Timestamp};
use crate::engine::{self, Format, RunResult};
use crate::fields::FieldsForm;
use crate::ids::EventId;
use crate::monitor::{Monitor, ReportError};
use crate::output_format::Form;
use crate::reader::aix::{Logs, SystemInfo};
use crate::rows::{EventRow, HOOK_003, RowDecoder, RowFields, RowOptions, SYSTEM, TraceFacts};
use crate::terminal::ReportColour;
use std::io::Write;
use std::sync::atomic::AtomicU64;
use tfbc_vm::TextBuf;

/// Formatter of rows; each thread has one.
struct RowFormat<'r> {
    lines: LineFormat<'r>,
    wanted: RowOptions,
    /// Texts of the rows.
    texts: TextBuf,
}

impl RowFormat<'_> {
    /// Appends the rows of the lines that were formatted last.
    fn encode(&self, batch: &Batch, out: &mut TextBuf) {
        let (mut line, mut fields) = (0, 0);
        for (at, end) in self.lines.ends().iter().enumerate() {
            let index = end.event as usize;
            let text = self.texts.as_bytes().get(line..end.end as usize).unwrap_or_default();
            let own_fields = self.lines.fields_of_lines().get(fields..end.fields as usize).unwrap_or_default();
            (line, fields) = (end.end as usize, end.fields as usize);
            if at == 0 {
                facts(batch, index).encode(out);
            }
            self.row(batch, end, text, own_fields, out);
        }
    }

    fn row(&self, batch: &Batch, end: &LineEnd, text: &[u8], fields: &[u8], out: &mut TextBuf) {
        let index = end.event as usize;
        let Some(event) = batch.events.get(index) else { return };
        let shared = batch.shared_context(event.setting);
        let context = batch.facts(shared, event.tid);
        let origin = batch.origins.get(index).copied().unwrap_or_default();
        let Origin { number, offset, n_bytes } = origin;
        let row = EventRow {
            seq: number.saturating_sub(1),
            id: EventId::Hook(event.id),
            time_us: batch.unix_us(index),
            elapsed_ns: Some(i64::try_from(event.elapsed_ns).unwrap_or(i64::MAX)),
            cpu: context.cpu.and_then(|cpu| u32::try_from(cpu).ok()),
            pid: context.pid.map(|pid| pid as i64),
            tid: Some(event.tid as i64),
            process: context.path,
            thread: b"",
            svc: context.svc,
            depth: self.wanted.depth.then_some(context.depth),
            text: if self.wanted.text { text.strip_suffix(b"\n").unwrap_or(text) } else { b"" },
            fields,
            note: end.note,
            log: batch.thread(shared).log,
            offset,
            n_bytes,
        };
        row.encode(out);
    }
}

impl Format<Batch> for RowFormat<'_> {
    type State = LineState;
    const NOTICES_FIRST: bool = true;

    fn format(&mut self, batch: &Batch, state: Option<&mut LineState>, out: &mut TextBuf) -> bool {
        self.texts.clear();
        let more = self.lines.format(batch, state, &mut self.texts);
        self.encode(batch, out);
        more
    }

    fn resolve(&mut self, batch: &Batch, state: &mut LineState, head: &mut TextBuf) -> bool {
        // No line depends on those before it, so `head` stays empty.
        self.lines.resolve(batch, state, head)
    }

    fn take_slow(&mut self) -> Option<String> {
        self.lines.take_slow()
    }
}

/// Facts that are known at an event.
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
    let columns = if has_text(wanted) { Columns::text_only() } else { Columns::text_only().without_text() };
    let layouts = layouts(&columns);
    let fields = if wanted.fields == RowFields::Cells { FieldsForm::Cells } else { FieldsForm::Json };
    let producer = LogProducer::new(logs, &infos, catalog, &options, layouts, false, wanted.gaps).for_rows(fields);
    let known_steps = AtomicU64::new(0);
    let make = || {
        let mut lines = LineFormat::new(catalog, &options, (&columns, layouts), &infos, &known_steps);
        lines.for_rows(fields, wanted.note);
        RowFormat { lines, wanted, texts: TextBuf::new() }
    };
    let RunResult { producer, formats, .. } = engine::run(producer, make, options.threads, out, monitor)?;
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
