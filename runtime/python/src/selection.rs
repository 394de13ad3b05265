//! Conversion of a table's filters from keyword arguments to report options.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyString};
use std::num::NonZeroUsize;
use std::sync::Arc;
use tfbc::aix::ContextTable;
use tfbc::qnx::QnxRelease;
use tfbc::{EventFilter, Formats, ReportOptions};
use tfbc_authoring::times::signed_seconds;

/// Filters from keyword arguments, not checked yet.
#[derive(Clone, Default)]
pub struct Selection {
    pub only: Words,
    pub excluding: Words,
    pub pid: Words,
    pub tid: Words,
    pub cpu: Words,
    pub exec: Words,
    pub start: Seconds,
    pub end: Seconds,
    pub grep: Option<String>,
    pub defined: bool,
    pub threads: Option<NonZeroUsize>,
}

/// Argument that is a text, a number, or a list of them.
#[derive(Clone, Default)]
pub struct Words(pub Vec<String>);

impl<'py> FromPyObject<'_, 'py> for Words {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if given.is_none() {
            return Ok(Self::default());
        }
        let word = |item: &Bound<'py, PyAny>| match item.is_instance_of::<PyString>() || item.is_instance_of::<PyInt>()
        {
            true => item.str()?.extract::<String>(),
            false => {
                let found = item.get_type();
                Err(PyTypeError::new_err(format!("expected a text, a number or a list of them, found {found}")))
            }
        };
        if let Ok(one) = word(&given) {
            return Ok(Self(vec![one]));
        }
        match given.try_iter() {
            Ok(items) => items.map(|item| word(&item?)).collect::<PyResult<_>>().map(Self),
            Err(_) => word(&given).map(|one| Self(vec![one])),
        }
    }
}

/// Time in nanoseconds, from seconds as a number or text.
#[derive(Clone, Copy, Default)]
pub struct Seconds(pub Option<i128>);

impl<'py> FromPyObject<'_, 'py> for Seconds {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if given.is_none() {
            return Ok(Self(None));
        }
        if given.is_instance_of::<PyInt>() {
            return Ok(Self(Some(i128::from(given.extract::<i64>()?) * 1_000_000_000)));
        }
        if given.is_instance_of::<PyFloat>() {
            let seconds: f64 = given.extract()?;
            if !seconds.is_finite() {
                return Err(PyValueError::new_err(format!("expected seconds, found {seconds}")));
            }
            // The cast saturates at a time far beyond the end of any trace.
            return Ok(Self(Some((seconds * 1e9).round() as i128)));
        }
        let text: String = given.extract()?;
        signed_seconds(&text).map(|ns| Self(Some(ns))).map_err(PyValueError::new_err)
    }
}

impl Selection {
    /// The filters without Python's types.
    pub fn filters(&self) -> tfbc_data::Selection {
        let filter = EventFilter {
            only: self.only.0.clone(),
            except: self.excluding.0.clone(),
            pids: self.pid.0.clone(),
            tids: self.tid.0.clone(),
            cpus: self.cpu.0.clone(),
            programs: self.exec.0.clone(),
            from_ns: self.start.0,
            until_ns: self.end.0,
            grep: self.grep.clone(),
            defined: self.defined,
            ..EventFilter::default()
        };
        tfbc_data::Selection { filter, threads: self.threads }
    }
}

/// `None` for AIX. For QNX, the release, if the log names it.
pub type Release = Option<Option<QnxRelease>>;

/// Report options of a trace for a selection of events.
///
/// # Errors
/// The selection is wrong.
pub fn report_options(
    selection: &tfbc_data::Selection,
    formats: &Formats,
    release: Release,
    context: Option<&Arc<ContextTable>>,
) -> Result<ReportOptions, String> {
    let mut options = selection.options(formats, release)?;
    if let Some(context) = context {
        options.aix.context = Arc::clone(context);
    }
    Ok(options)
}
