//! Rows of QNX logs, see [`crate::rows`].

use super::clock::{Clock, TimeForm};
use super::line::RowWriter;
use super::options::{QnxReportOptions, QnxSummary};
use super::owners::Owner;
use super::print::RecordPrinter;
use super::run::run;
use super::writer::{FormatCounts, RecordWriter};
use crate::catalog::Catalog;
use crate::columns::Columns;
use crate::ids::EventId;
use crate::monitor::{Monitor, ReportError};
use crate::output_format::Form;
use crate::reader::kev::{KevHeader, KevLog, KevRecord, TraceStart};
use crate::row_block::{BlockWriter, Long, Short, id_number};
use crate::row_facts::{BOOT_TIME, SYSTEM, TraceFacts};
use crate::rows::{RowDecoder, RowFields, RowOptions, micros};
use crate::terminal::ReportColour;
use crate::work::Meter;
use std::io::Write;
use std::sync::Arc;
use tfbc_vm::TextBuf;

/// Writer of rows; each thread has a clone.
#[derive(Clone)]
struct TableWriter<'r> {
    lines: RowWriter<'r>,
    source: Arc<RowSource<'r>>,
    wanted: RowOptions,
    /// Printer of fields, which texts do not need.
    printer: FieldPrinter<'r>,
    owner: Owner,
    /// Index of the owner in its batch.
    owner_id: u32,
    rows: Rows,
}

/// Data that all rows of a log share.
struct RowSource<'r> {
    catalog: &'r Catalog<'r>,
    options: &'r QnxReportOptions,
    header: KevHeader,
    clock: Option<Clock>,
    start: TraceStart,
    boot_ns: Option<i128>,
}

/// Printer of one thread.
struct FieldPrinter<'r>(RecordPrinter<'r>, Arc<RowSource<'r>>);

impl<'r> FieldPrinter<'r> {
    fn new(source: Arc<RowSource<'r>>) -> Self {
        let RowSource { catalog, options, header, .. } = &*source;
        let printer = RecordPrinter::new(catalog, header.big_endian, header.release, options.limits);
        Self(printer, source)
    }
}

impl Clone for FieldPrinter<'_> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.1))
    }
}

/// Rows that are not written yet.
#[derive(Default)]
struct Rows {
    block: BlockWriter,
    fields: TextBuf,
    /// Names of process and thread in the block, by the index of their owner.
    owners: Vec<Option<(u32, u32)>>,
}

impl Clone for Rows {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl RowSource<'_> {
    /// Time of the start, once the reader has found it.
    fn start_ns(&self) -> Option<u64> {
        self.start.cycles().zip(self.clock).map(|(cycles, clock)| clock.ns(cycles))
    }

    fn facts(&self) -> TraceFacts {
        let zero_ns = self.boot_ns.zip(self.start_ns()).map(|(boot, start)| boot + i128::from(start));
        let attribute =
            |name: &str| self.header.attribute(name).map(|value| String::from_utf8_lossy(value).into_owned());
        let values = [
            attribute("SYSNAME"),
            attribute("NODENAME"),
            attribute("MACHINE"),
            attribute("SYS_RELEASE"),
            attribute("SYS_VERSION"),
            attribute("CPU_NUM"),
            None,
        ];
        TraceFacts {
            zero_ns,
            basis: if zero_ns.is_some() { BOOT_TIME } else { "" },
            system: SYSTEM.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?))).collect(),
        }
    }
}

impl RecordWriter for TableWriter<'_> {
    const IS_TABLE: bool = true;

    fn record(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let start = out.len();
        let before = self.lines.tallied();
        self.lines.record(record, out);
        let after = self.lines.tallied();
        if after.n_reported == before.n_reported {
            return;
        }
        let Self { source, wanted, rows: Rows { block, fields, owners }, owner, .. } = self;
        let record = &KevRecord { class: record.meant_class(), ..*record };
        let time_ns = source.clock.zip(record.cycles()).map(|(clock, cycles)| clock.ns(cycles));
        let elapsed = time_ns.zip(source.start_ns()).map(|(time, start)| i128::from(time) - i128::from(start));
        block.push_long(Long::Seq, Some(record.number.saturating_sub(1) as i64));
        block.push_long(Long::ElapsedNs, elapsed.and_then(|ns| i64::try_from(ns).ok()));
        block.push_short(Short::Id, id_number(EventId::Record(record.class, record.event)));
        block.push_short(Short::Cpu, record.cpu.into());
        if wanted.time {
            let time = source.boot_ns.zip(time_ns).map(|(boot, time)| micros(boot + i128::from(time)));
            block.push_long(Long::TimeUs, time);
        }
        if wanted.context {
            let id = self.owner_id as usize;
            if id >= owners.len() {
                owners.resize(id + 1, None);
            }
            let mut name = |name: &Option<Arc<[u8]>>| block.name(name.as_deref().unwrap_or_default());
            let (process, thread) = *owners[id].get_or_insert_with(|| (name(&owner.process), name(&owner.thread)));
            block.push_long(Long::Pid, owner.pid.map(i64::from));
            block.push_long(Long::Tid, owner.tid.map(i64::from));
            block.push_short(Short::Process, process);
            block.push_short(Short::Thread, thread);
        }
        if wanted.note {
            block.push_short(Short::Note, after.note_since(before) as u32);
        }
        if wanted.origins {
            block.push_long(Long::Offset, Some(record.offset as i64));
            block.push_short(Short::Bytes, record.bytes.len() as u32);
        }
        if wanted.text {
            if out.as_bytes().ends_with(b"\n") {
                out.truncate(out.len() - 1);
            }
            block.push_short(Short::TextEnd, out.len() as u32);
        } else {
            out.truncate(start);
        }
        match wanted.fields {
            RowFields::No => return,
            RowFields::Json => self.printer.0.object(record, fields),
            RowFields::Cells => self.printer.0.cells(record, fields),
        }
        block.push_short(Short::FieldsEnd, fields.len() as u32);
    }

    fn begin_text(&mut self) {
        self.rows.block.clear();
        self.rows.fields.clear();
        self.rows.owners.clear();
        self.lines.begin_text();
    }

    fn end_text(&mut self, out: &mut TextBuf) {
        let Rows { block, fields, .. } = &mut self.rows;
        if block.len() > 0 {
            let n_text = out.len();
            out.push(fields.as_bytes());
            block.finish(n_text, &[], &self.source.facts(), out);
        }
    }

    fn needs_owners(&self) -> bool {
        self.wanted.context || self.lines.needs_owners()
    }

    fn set_owner(&mut self, id: u32, owner: &Owner) {
        self.owner.clone_from(owner);
        self.owner_id = id;
        self.lines.set_owner(id, owner);
    }

    fn begin_batch(&mut self) {
        self.lines.begin_batch();
    }

    fn tallied(&self) -> FormatCounts {
        self.lines.tallied()
    }

    fn take_back(&mut self, tallied: FormatCounts) {
        self.lines.take_back(tallied);
    }

    fn meter(&mut self) -> Option<&mut Meter> {
        self.lines.meter()
    }

    fn slow(&mut self) -> Option<&mut Option<(u8, u16)>> {
        self.lines.slow()
    }
}

/// Writes a row for each record of a log.
pub(crate) fn write_rows(
    log: &mut KevLog,
    catalog: &Catalog<'_>,
    options: &QnxReportOptions,
    wanted: RowOptions,
    out: &mut RowDecoder<'_>,
    monitor: &mut (dyn Monitor + Send),
) -> Result<QnxSummary, ReportError> {
    let has_text = wanted.text || wanted.note;
    let options = QnxReportOptions {
        columns: if has_text { Columns::data_only() } else { Columns::number_only() },
        form: Form::Text,
        time: if options.time == TimeForm::Clock { TimeForm::Absolute } else { options.time },
        no_heading: true,
        sort: false,
        stats: false,
        colour: ReportColour::Off,
        ..options.clone()
    };
    if wanted.gaps {
        log.list_gaps();
    }
    let header = log.header().clone();
    let source = Arc::new(RowSource {
        catalog,
        options: &options,
        clock: Clock::new(&header),
        start: log.start(),
        boot_ns: header.boot_ns(),
        header,
    });
    let writer = TableWriter {
        lines: RowWriter::new(catalog, &options, log.header(), log.start()),
        printer: FieldPrinter::new(Arc::clone(&source)),
        source: Arc::clone(&source),
        wanted,
        owner: Owner::default(),
        owner_id: 0,
        rows: Rows::default(),
    };
    let summary = run(log, writer, options.threads, out, monitor)?;
    out.end(|| source.facts()).and_then(|()| out.flush()).map_err(ReportError::Write)?;
    Ok(summary)
}
