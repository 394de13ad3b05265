//! Tables that a program fills on its own thread, from traces and split files.

use crate::by_event::EventTables;
use crate::events::{EventTable, TableOptions};
use crate::notices::NoticeLog;
use std::io;
use tfbc::aix::IdSet;
use tfbc::internal::filter::RecordIds;
use tfbc::internal::rows::{Names, RowBlock, RowOptions, RowSink, TraceFacts, names, qnx_release, rows};
use tfbc::{EventId, Formats, Monitor, Notice, ReportError, ReportOptions, ReportSummary, Split, Trace};

/// Tables of events.
pub enum Tables<'t> {
    /// One table of all events.
    Events(Box<EventTable<'t>>),
    /// A table per event id.
    ByEvent(Box<EventTables<'t>>),
}

impl Tables<'_> {
    /// Number of rows so far.
    pub fn n_rows(&self) -> u64 {
        match self {
            Tables::Events(table) => table.n_rows(),
            Tables::ByEvent(tables) => tables.n_rows(),
        }
    }

    /// Starts the rows of another input. `has_offsets` is true if offsets count bytes of its files.
    pub fn set_files(&mut self, files: Vec<String>, has_offsets: bool) {
        match self {
            Tables::Events(table) => table.set_files(files, has_offsets),
            Tables::ByEvent(tables) => tables.set_files(files),
        }
    }

    fn options(&self) -> &TableOptions {
        match self {
            Tables::Events(table) => table.options(),
            Tables::ByEvent(tables) => tables.options(),
        }
    }

    fn wanted(&self) -> RowOptions {
        match self {
            Tables::Events(_) => self.options().wanted(),
            Tables::ByEvent(_) => EventTables::wanted(self.options()),
        }
    }

    fn sink(&mut self) -> &mut dyn RowSink {
        match self {
            Tables::Events(table) => &mut **table,
            Tables::ByEvent(tables) => &mut **tables,
        }
    }
}

/// Report whose events become rows.
pub struct RowSource<'r> {
    /// The trace.
    pub trace: &'r mut Trace,
    /// Split file that is read instead of the trace.
    pub split: Option<&'r Split>,
    /// Format files.
    pub formats: &'r Formats,
    /// Options of the report.
    pub options: &'r ReportOptions,
}

impl RowSource<'_> {
    /// Fills tables, and gives the notices of a log their times.
    ///
    /// # Errors
    /// Reading the trace or writing a table failed.
    pub fn fill(
        &mut self,
        tables: &mut Tables<'_>,
        notices: Option<&NoticeLog<'_>>,
        monitor: &mut (dyn Monitor + Send),
    ) -> Result<ReportSummary, ReportError> {
        let wanted = tables.wanted();
        match notices {
            // The table of notices has times and CPUs, too.
            Some(log) => {
                let wanted = RowOptions { gaps: true, time: true, context: true, ..wanted };
                self.rows(wanted, &mut log.rows(tables.sink()), monitor)
            }
            None => self.rows(wanted, tables.sink(), monitor),
        }
    }

    /// Opens the table of an event that has no rows, if the report admits this event alone.
    ///
    /// # Errors
    /// The table cannot be created.
    pub fn open_only(&self, tables: &mut Tables<'_>) -> io::Result<()> {
        let Tables::ByEvent(tables) = tables else { return Ok(()) };
        let release = qnx_release(self.trace);
        let ids: Vec<_> = match release {
            None => self.options.aix.filter.only.iter().flat_map(IdSet::iter).map(EventId::Hook).collect(),
            Some(_) => {
                let ids = self.options.qnx.filter.only.iter().flat_map(RecordIds::iter);
                ids.map(|(class, event)| EventId::Record(class, event)).collect()
            }
        };
        let names = names(self.formats, release);
        let Some((first, others)) = ids.split_first() else { return Ok(()) };
        let table = names.table(*first);
        if others.iter().any(|id| names.table(*id) != table) {
            return Ok(());
        }
        tables.open_only(ids, &names)
    }

    /// Counts the events of the report.
    ///
    /// # Errors
    /// Reading the trace failed.
    pub fn count(&mut self) -> Result<u64, ReportError> {
        let mut count = CountedRows(0);
        self.rows(RowOptions::default(), &mut count, &mut |_: &Notice| {})?;
        Ok(count.0)
    }

    fn rows(
        &mut self,
        wanted: RowOptions,
        sink: &mut dyn RowSink,
        monitor: &mut (dyn Monitor + Send),
    ) -> Result<ReportSummary, ReportError> {
        match self.split {
            Some(split) => split.rows(self.formats, self.options, wanted, sink, monitor),
            None => rows(self.trace, self.formats, self.options, wanted, sink, monitor),
        }
    }
}

/// Sink that only counts rows.
pub(crate) struct CountedRows(pub u64);

impl RowSink for CountedRows {
    fn begin(&mut self, _: &TraceFacts) -> io::Result<()> {
        Ok(())
    }

    fn rows(&mut self, rows: &RowBlock<'_>, _: &Names<'_>) -> io::Result<()> {
        self.0 += rows.len() as u64;
        Ok(())
    }
}
