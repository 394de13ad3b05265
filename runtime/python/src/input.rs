//! Input of a trace, which every pass opens again.

use crate::contents::Contents;
use crate::dataset::{Unreadable, passed_over};
use crate::dataset_pass::DatasetPass;
use crate::errors::{OpenError, SpentError, warn_of_damage};
use crate::selection::{Release, Selection, Words, report_options};
use crate::source::{InputArg, OpenTrace, Raised};
use crate::worker::Worker;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tfbc::aix::{ContextTable, ReadOptions};
use tfbc::internal::rows::names;
use tfbc::qnx::QnxRelease;
use tfbc::{EventId, ReportOptions, System, TraceInfo};
use tfbc_data::{Outcome, TableOptions};

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

    /// Traces of a folder or glob, which are opened one by one; `None` if the input is a single trace.
    pub fn traces(&self) -> Vec<Option<PathBuf>> {
        match &self.given {
            InputArg::Dataset(dataset) => dataset.traces.iter().cloned().map(Some).collect(),
            _ => vec![None],
        }
    }

    /// Opens one of [`TraceInput::traces`] for a pass.
    pub fn begin_one(&self, py: Python<'_>, worker: &Worker, path: Option<PathBuf>) -> PyResult<BegunTrace> {
        let Some(path) = path else {
            let trace = self.begin(py, worker)?;
            return Ok(BegunTrace { trace, name: self.name(), release: self.qnx_release() });
        };
        let given = InputArg::Files(vec![path]);
        let OpenTrace { trace, release } = given.open_on(worker, py, &self.options, &self.raised)?;
        let release = (trace.info().system == System::Qnx).then_some(release);
        Ok(BegunTrace { trace, name: given.name(), release })
    }

    /// Like [`TraceInput::begin_one`], but `None` for a trace of a dataset that cannot be opened, which is added to
    /// `unreadable`.
    pub fn begin_readable(
        &self,
        py: Python<'_>,
        worker: &Worker,
        path: Option<PathBuf>,
        unreadable: &mut Vec<Unreadable>,
    ) -> PyResult<Option<BegunTrace>> {
        let name = path.clone();
        match (self.begin_one(py, worker, path), name) {
            (Ok(begun), _) => Ok(Some(begun)),
            (Err(error), Some(path)) if error.is_instance_of::<OpenError>(py) => {
                unreadable.push(Unreadable::new(&path, &error.value(py)));
                Ok(None)
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Directories of a dataset that cannot be read.
    pub fn unreadable(&self) -> Vec<Unreadable> {
        match &self.given {
            InputArg::Dataset(dataset) => dataset.unreadable.clone(),
            _ => Vec::new(),
        }
    }

    /// Warns of the traces of a dataset that were passed over or, with `strict`, raises an exception.
    pub fn warn_of_passed_over(&self, py: Python<'_>, unreadable: &[Unreadable]) -> PyResult<()> {
        passed_over(&self.name(), unreadable).map_or(Ok(()), |message| warn_of_damage(py, message, self.strict))
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

    /// Release of the trace; for a dataset, the release of its first trace.
    pub fn qnx_release(&self) -> Release {
        (self.info.system == System::Qnx).then_some(self.release)
    }

    /// Release per system of the input.
    fn releases(&self) -> Vec<Release> {
        let of_system = |system: System| (system == System::Qnx).then_some(self.release);
        match &self.given {
            InputArg::Dataset(dataset) if !dataset.systems().is_empty() => {
                dataset.systems().into_iter().map(of_system).collect()
            }
            _ => vec![self.qnx_release()],
        }
    }

    /// Table of events with an id or name.
    pub fn table(&self, id: &str) -> PyResult<NamedTable> {
        let found = first_of(self.releases(), |release| {
            let (event, only) = tfbc_data::Selection::table(id, &self.formats, release)?;
            Ok(NamedTable { event, only: Words(only), name: names(&self.formats, release).table(event) })
        });
        found.map_err(PyValueError::new_err)
    }

    /// Report options for a selection of events. In a dataset of both systems, the selection may fit only one of them.
    pub fn report_options(&self, selection: &Selection) -> PyResult<ReportOptions> {
        let filters = selection.filters();
        let found = first_of(self.releases(), |release| {
            report_options(&filters, &self.formats, release, self.context.as_ref())
        });
        found.map_err(PyValueError::new_err)
    }

    /// Recipe for a pass over a dataset; `None` if the input is no dataset.
    pub fn dataset_pass(
        &self,
        contents: &Contents,
        selection: &Selection,
        table: &TableOptions,
    ) -> Option<DatasetPass> {
        let InputArg::Dataset(dataset) = &self.given else { return None };
        Some(DatasetPass {
            dataset: Arc::clone(dataset),
            options: self.options.clone(),
            formats: self.formats.clone(),
            context: self.context.clone(),
            contents: contents.clone(),
            selection: selection.filters(),
            table: table.clone(),
        })
    }

    /// True if the input is a dataset, whose rows name their file.
    pub fn is_dataset(&self) -> bool {
        matches!(self.given, InputArg::Dataset(_))
    }

    /// True if the input can be read only once.
    pub fn is_once(&self) -> bool {
        self.once.is_some()
    }

    /// Names and values of a notebook's display.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let InputFacts { name, system, kind, size, n_logs } = self.facts();
        vec![
            ("name", name),
            ("system", system.into()),
            ("kind", kind.into()),
            ("size", size.map_or_else(|| String::from("unknown"), |size| format!("{size} bytes"))),
            ("logs", n_logs.to_string()),
        ]
    }

    /// Facts about the trace, or about all traces of the dataset.
    pub fn facts(&self) -> InputFacts {
        if let InputArg::Dataset(dataset) = &self.given {
            return InputFacts {
                name: dataset.name.clone(),
                system: match dataset.systems().as_slice() {
                    [system] => system_name(*system),
                    _ => "mixed",
                },
                kind: dataset.kind(),
                size: dataset.size(),
                n_logs: dataset.traces.len(),
            };
        }
        let TraceInfo { system, kind, name, files, .. } = &self.info;
        InputFacts {
            name: name.clone(),
            system: system_name(*system),
            kind: kind.name(),
            size: files.iter().map(|file| file.size).sum(),
            n_logs: files.len(),
        }
    }
}

/// Facts about an input.
pub struct InputFacts {
    pub name: String,
    pub system: &'static str,
    pub kind: &'static str,
    /// Size in bytes; `None` if it is unknown.
    pub size: Option<u64>,
    pub n_logs: usize,
}

/// A trace that is opened for a pass.
pub struct BegunTrace {
    pub trace: tfbc::Trace,
    pub name: String,
    pub release: Release,
}

/// Table of one event.
pub struct NamedTable {
    /// An event of the table.
    pub event: EventId,
    /// Selection of all events in the table.
    pub only: Words,
    pub name: String,
}

/// First success for one of the releases, or the last error.
fn first_of<T>(releases: Vec<Release>, get: impl Fn(Release) -> Result<T, String>) -> Result<T, String> {
    let mut result = Err(String::from("there is no trace"));
    for release in releases {
        result = get(release);
        if result.is_ok() {
            break;
        }
    }
    result
}

/// Name of a system in Python.
fn system_name(system: System) -> &'static str {
    match system {
        System::Aix => "aix",
        System::Qnx => "qnx",
    }
}
