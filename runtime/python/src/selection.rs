//! Conversion of a table's filters from keyword arguments to report options.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyString};
use std::num::NonZeroUsize;
use tfbc::aix::{Filter, IdSet, Numbers, Processes, Threads};
use tfbc::qnx::{RecordFilter, RecordIds};
use tfbc::{EventId, Pattern, ReportOptions};
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
    /// Report options with these filters. Names of QNX events depend on the release.
    pub fn options(&self, release: Option<Option<(u32, u32)>>) -> PyResult<ReportOptions> {
        let mut options = ReportOptions::default();
        let grep = self.grep.as_deref().map(regex).transpose()?;
        match release {
            None => {
                let aix = &mut options.aix;
                (aix.filter, aix.grep, aix.defined, aix.threads) = (self.aix()?, grep, self.defined, self.threads);
            }
            Some(release) => {
                let qnx = &mut options.qnx;
                (qnx.filter, qnx.grep, qnx.defined, qnx.threads) =
                    (self.qnx(release)?, grep, self.defined, self.threads);
            }
        }
        Ok(options)
    }

    /// Parses an event id. Names of QNX events depend on the release.
    pub fn event(id: &str, release: Option<Option<(u32, u32)>>) -> PyResult<EventId> {
        let one = |ids: Vec<EventId>| match ids[..] {
            [id] => Ok(id),
            _ => Err(PyValueError::new_err(format!("{id:?} is not the id of one event"))),
        };
        match release {
            None => {
                let ids = IdSet::parse(id).map_err(|error| PyValueError::new_err(error.to_string()))?;
                one(ids.iter().map(EventId::Hook).collect())
            }
            Some(release) => match id.split_once(':') {
                Some((class, event)) => {
                    let (class, event) = RecordIds::one(class, event).map_err(PyValueError::new_err)?;
                    Ok(EventId::Record(class, event))
                }
                None => {
                    let mut ids = RecordIds::default();
                    ids.add(id, release).map_err(PyValueError::new_err)?;
                    one(ids.iter().map(|(class, event)| EventId::Record(class, event)).collect())
                }
            },
        }
    }

    fn aix(&self) -> PyResult<Filter> {
        let ids = |lists: &Words| {
            lists.0.iter().try_fold(IdSet::default(), |mut ids, list| {
                ids.extend(&IdSet::parse(list).map_err(|error| PyValueError::new_err(error.to_string()))?);
                Ok::<_, PyErr>(ids)
            })
        };
        let mut processes = Processes::default();
        self.pid.0.iter().try_for_each(|list| processes.add(list)).map_err(PyValueError::new_err)?;
        processes.names.extend(self.names());
        let mut numbers = Numbers::default();
        self.cpu.0.iter().try_for_each(|list| numbers.add(list)).map_err(PyValueError::new_err)?;
        let unsigned = |Seconds(ns): Seconds| {
            let refused = |_| PyValueError::new_err("times of AIX are not negative");
            ns.map(|ns| u64::try_from(ns).map_err(refused)).transpose()
        };
        Ok(Filter {
            only: (!self.only.0.is_empty()).then(|| ids(&self.only)).transpose()?,
            except: ids(&self.excluding)?,
            processes: (processes != Processes::default()).then_some(processes),
            threads: self.threads_filter()?,
            cpus: (!self.cpu.0.is_empty()).then_some(numbers),
            from_ns: unsigned(self.start)?,
            to_ns: unsigned(self.end)?,
            ..Filter::default()
        })
    }

    fn qnx(&self, release: Option<(u32, u32)>) -> PyResult<RecordFilter> {
        let ids = |lists: &Words| {
            let mut ids = RecordIds::default();
            let items = lists.0.iter().flat_map(|list| list.split([',', ' '])).filter(|item| !item.is_empty());
            items.into_iter().try_for_each(|item| ids.add(item, release)).map_err(PyValueError::new_err)?;
            Ok::<_, PyErr>((!lists.0.is_empty()).then_some(ids))
        };
        let mut processes = Processes::default();
        self.pid.0.iter().try_for_each(|list| processes.add(list)).map_err(PyValueError::new_err)?;
        let mut filter = RecordFilter {
            only: ids(&self.only)?,
            except: ids(&self.excluding)?,
            cpus: None,
            from_ns: self.start.0,
            to_ns: self.end.0,
            pids: (!self.pid.0.is_empty()).then_some(processes.pids),
            threads: self.threads_filter()?,
            names: (!self.exec.0.is_empty()).then(|| self.names().collect()),
        };
        self.cpu.0.iter().try_for_each(|list| filter.add_cpus(list)).map_err(PyValueError::new_err)?;
        Ok(filter)
    }

    fn threads_filter(&self) -> PyResult<Option<Threads>> {
        let mut threads = Threads::default();
        self.tid.0.iter().try_for_each(|list| threads.add(list)).map_err(PyValueError::new_err)?;
        Ok((!self.tid.0.is_empty()).then_some(threads))
    }

    /// Names of programs.
    fn names(&self) -> impl Iterator<Item = Vec<u8>> {
        self.exec.0.iter().map(|name| name.as_bytes().to_vec())
    }
}

/// Regular expression over bytes; `^` and `$` match at line ends.
fn regex(text: &str) -> PyResult<Pattern> {
    Pattern::new(text).map_err(|error| PyValueError::new_err(error.to_string()))
}
