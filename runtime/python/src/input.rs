//! Input of a trace, which every pass opens again.

use crate::errors::SpentError;
use crate::selection::{Selection, Words};
use crate::source::{InputArg, Raised};
use crate::worker::Worker;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use std::sync::{Arc, Mutex, PoisonError};
use tfbc::aix::{ContextTable, ReadOptions};
use tfbc::qnx::QnxRelease;
use tfbc::{EventId, ReportOptions, System, TraceInfo};
use tfbc_data::Outcome;

/// Input, format files and options that all passes over a trace share.
pub struct TraceInput {
    pub given: InputArg,
    pub options: ReadOptions,
    pub context: Option<Arc<ContextTable>>,
    pub formats: tfbc::Formats,
    pub info: TraceInfo,
    /// QNX release in the header of a log.
    pub release: Option<QnxRelease>,
    pub strict: bool,
    pub follow: bool,
    /// UTC nanoseconds of elapsed time 0, instead of the trace's own start time.
    pub time_zero: Option<i128>,
    /// The opened input, if it can be read only once.
    pub once: Option<Mutex<Option<tfbc::Trace>>>,
    pub raised: Raised,
    /// Outcome of the last complete pass over a table.
    pub outcome: Mutex<Option<Outcome>>,
}

impl TraceInput {
    /// Name used in messages.
    pub fn name(&self) -> String {
        self.given.name()
    }

    /// Opens the input for a pass.
    pub fn begin(&self, py: Python<'_>, worker: &Worker) -> PyResult<tfbc::Trace> {
        if let Some(once) = &self.once {
            let trace = once.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).take();
            let text = || format!("{} was read before, and cannot be read again", self.name());
            return trace.ok_or_else(|| SpentError::new_err(text()));
        }
        Ok(self.given.open_on(worker, py, &self.options, &self.raised)?.trace)
    }

    /// `None` for AIX. For QNX, the release, if the log names it.
    pub fn qnx_release(&self) -> Option<Option<QnxRelease>> {
        (self.info.system == System::Qnx).then_some(self.release)
    }

    /// An event of the table with an id or name, and the selection of all events in the table.
    pub fn table(&self, id: &str) -> PyResult<(EventId, Words)> {
        let found = tfbc_data::Selection::table(id, &self.formats, self.qnx_release());
        found.map(|(event, only)| (event, Words(only))).map_err(PyValueError::new_err)
    }

    /// Report options for a selection of events.
    pub fn report_options(&self, selection: &Selection) -> PyResult<ReportOptions> {
        let mut options = selection.options(self.qnx_release())?;
        if let Some(context) = &self.context {
            options.aix.context = Arc::clone(context);
        }
        Ok(options)
    }

    /// True if the input can be read only once.
    pub fn is_once(&self) -> bool {
        self.once.is_some()
    }

    /// Names and values of a notebook's display.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let TraceInfo { system, kind, name, files, .. } = &self.info;
        let size: Option<u64> = files.iter().map(|file| file.size).sum();
        vec![
            ("name", name.clone()),
            ("system", system_name(*system).into()),
            ("kind", String::from(kind.name())),
            ("size", size.map_or_else(|| String::from("unknown"), |size| format!("{size} bytes"))),
            ("logs", files.len().to_string()),
        ]
    }
}

/// Name of a system in Python.
pub fn system_name(system: System) -> &'static str {
    match system {
        System::Aix => "aix",
        System::Qnx => "qnx",
    }
}
