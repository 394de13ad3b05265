//! Rows of QNX logs, see [`crate::rows`].

use super::clock::{Clock, TimeForm};
use super::events::PrintFields;
use super::line::RowWriter;
use super::options::{QnxReportOptions, QnxSummary};
use super::owners::Owner;
use super::print::RecordPrinter;
use super::run::run;
use super::writer::{FormatCounts, RecordWriter};
use crate::catalog::Catalog;
use crate::columns::Columns;
use crate::fields::write_fields;
use crate::ids::EventId;
use crate::monitor::{Monitor, ReportError};
use crate::output_format::Form;
use crate::reader::kev::{KevHeader, KevLog, KevRecord, TraceStart};
use crate::rows::{BOOT_TIME, EventRow, RowDecoder, RowFields, RowOptions, SYSTEM, TraceFacts};
use crate::terminal::ReportColour;
use crate::work::Meter;
use std::cell::RefCell;
use std::io::Write;
use std::sync::Arc;
use tfbc_vm::TextBuf;

/// Writer of rows; each thread has a clone.
#[derive(Clone)]
struct TableWriter<'r> {
    lines: RowWriter<'r>,
    source: Arc<Source<'r>>,
    wanted: RowOptions,
    /// Printer of fields; texts do not use it.
    printer: FieldPrinter<'r>,
    owner: Owner,
    line: Line,
    has_rows: bool,
}

/// Data that all rows of a log share.
struct Source<'r> {
    catalog: &'r Catalog<'r>,
    options: &'r QnxReportOptions,
    header: KevHeader,
    clock: Option<Clock>,
    start: TraceStart,
    boot_ns: Option<i128>,
}

/// Printer of one thread.
struct FieldPrinter<'r>(RefCell<RecordPrinter<'r>>, Arc<Source<'r>>);

impl<'r> FieldPrinter<'r> {
    fn new(source: Arc<Source<'r>>) -> Self {
        let Source { catalog, options, header, .. } = &*source;
        let printer = RecordPrinter::new(catalog, header.big_endian, header.release, options.limits);
        Self(RefCell::new(printer), source)
    }
}

impl Clone for FieldPrinter<'_> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.1))
    }
}

/// Buffers of one line.
#[derive(Default)]
struct Line {
    text: TextBuf,
    fields: TextBuf,
}

impl Clone for Line {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Source<'_> {
    fn facts(&self) -> TraceFacts {
        let start_ns = self.start.cycles().zip(self.clock).map(|(cycles, clock)| clock.ns(cycles));
        let zero_ns = self.boot_ns.zip(start_ns).map(|(boot, start)| boot + i128::from(start));
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
        let Line { text, fields } = &mut self.line;
        text.clear();
        let before = self.lines.tallied();
        self.lines.record(record, text);
        let after = self.lines.tallied();
        if after.n_reported == before.n_reported {
            return;
        }
        let Source { clock, start, boot_ns, .. } = &*self.source;
        let record = &KevRecord { class: record.meant_class(), ..*record };
        let time_ns = clock.zip(record.cycles()).map(|(clock, cycles)| clock.ns(cycles));
        let start_ns = start.cycles().zip(*clock).map(|(cycles, clock)| clock.ns(cycles));
        let elapsed = time_ns.zip(start_ns).map(|(time, start)| i128::from(time) - i128::from(start));
        fields.clear();
        match self.wanted.fields {
            RowFields::No => {}
            RowFields::Json => write_fields(&self.printer.0.fields(record), fields),
            RowFields::Cells => self.printer.0.borrow_mut().cells(record, fields),
        }
        let name = |name: &'_ Option<Arc<[u8]>>| name.clone().unwrap_or_default();
        let (process, thread) = (name(&self.owner.process), name(&self.owner.thread));
        let row = EventRow {
            seq: record.number.saturating_sub(1),
            id: EventId::Record(record.class, record.event),
            time_us: boot_ns.zip(time_ns).map(|(boot, time)| (boot + i128::from(time)).div_euclid(1000) as i64),
            elapsed_ns: elapsed.and_then(|ns| i64::try_from(ns).ok()),
            cpu: Some(record.cpu.into()),
            pid: self.owner.pid.map(i64::from),
            tid: self.owner.tid.map(i64::from),
            process: &process,
            thread: &thread,
            svc: b"",
            depth: None,
            text: if self.wanted.text { without_newline(text.as_bytes()) } else { b"" },
            fields: fields.as_bytes(),
            note: after.note_since(before),
            log: 0,
            offset: record.offset,
            n_bytes: record.bytes.len() as u32,
        };
        if !std::mem::replace(&mut self.has_rows, true) {
            self.source.facts().encode(out);
        }
        row.encode(out);
    }

    fn begin_text(&mut self) {
        self.has_rows = false;
        self.lines.begin_text();
    }

    fn needs_owners(&self) -> bool {
        self.wanted.context || self.lines.needs_owners()
    }

    fn set_owner(&mut self, id: u32, owner: &Owner) {
        self.owner.clone_from(owner);
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

fn without_newline(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
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
    let source = Arc::new(Source {
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
        line: Line::default(),
        has_rows: false,
    };
    let summary = run(log, writer, options.threads, out, monitor)?;
    out.end(|| source.facts()).and_then(|()| out.flush()).map_err(ReportError::Write)?;
    Ok(summary)
}
