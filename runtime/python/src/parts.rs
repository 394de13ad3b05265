//! Parts of a trace, which other processes format.

use crate::errors::{PartError, part_error};
use crate::input::{BegunTrace, TraceInput};
use crate::source::InputArg;
use crate::table::Table;
use crate::worker::Worker;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use tfbc::internal::Output;
use tfbc::{PartInfo, PartSize, Split};

/// Part of a trace, made by :meth:`Trace.split`. It can be pickled, and :func:`tfbc.open_part` opens it in any process
/// that can read the trace under the same name.
///
/// It contains the name of the trace, what identifies the file, a hash of the format files, and the state of the reader
/// at the start of the part, but no events.
///
/// >>> import pickle, tfbc
/// >>> first, second = tfbc.open(sample).split(n=2)
/// >>> copy = pickle.loads(pickle.dumps(second))
/// >>> next(iter(tfbc.open_part(copy))).seq >= first.n_events
/// True
#[pyclass(module = "tfbc", frozen)]
pub struct Part {
    /// Split with this part only.
    pub split: Arc<Split>,
    pub info: PartInfo,
}

impl Part {
    fn new(split: Split) -> Option<Self> {
        let info = match split.parts() {
            [info] => *info,
            _ => return None,
        };
        Some(Self { split: Arc::new(split), info })
    }
}

/// Splits a trace.
pub fn split(py: Python<'_>, input: &TraceInput, size: PartSize) -> PyResult<Vec<Part>> {
    let name = input.name();
    let refuse = |why: &str| Err(PartError::new_err(format!("{name}: {why}")));
    if !matches!(input.given, InputArg::Files(_) | InputArg::Dataset(_) | InputArg::Part(..)) || input.is_once() {
        return refuse("only a file can be split, because other processes open it by its name");
    }
    if input.follow {
        return refuse("a trace that is opened with follow=True cannot be split");
    }
    if input.context.is_some() {
        return refuse("a part has the context of the built-in table, so a trace with context= cannot be split");
    }
    if input.is_dataset() && matches!(size, PartSize::Count(_)) {
        return Err(PyTypeError::new_err("the traces of a folder or glob are split by bytes=, not by n"));
    }
    let worker = Worker::start()?;
    let (mut all, mut unreadable) = (Vec::new(), input.unreadable());
    for path in input.traces() {
        let begun = input.begin_readable(py, &worker, path, &mut unreadable)?;
        let Some(BegunTrace { trace, name, .. }) = begun else { continue };
        let formats = input.formats.clone();
        let parts = worker.run(py, move || {
            let split = trace.parts(&formats, size)?;
            split.parts().iter().map(|part| split.only(part.number)).collect::<Result<Vec<_>, _>>()
        })?;
        let parts = parts.map_err(|error| part_error(&name, &error))?;
        all.extend(parts.into_iter().filter_map(Part::new));
    }
    input.warn_of_passed_over(py, &unreadable)?;
    Ok(all)
}

#[pymethods]
impl Part {
    /// Number of the part, from 1.
    #[getter]
    fn number(&self) -> u64 {
        self.info.number
    }

    /// Name of the trace, as it was given.
    #[getter]
    fn input(&self) -> &str {
        self.split.input()
    }

    /// File offset of the first byte.
    #[getter]
    fn offset(&self) -> u64 {
        self.info.offset
    }

    /// Number of bytes, damage included.
    #[getter]
    fn n_bytes(&self) -> u64 {
        self.info.n_bytes
    }

    /// Number of events.
    #[getter]
    fn n_events(&self) -> u64 {
        self.info.n_events
    }

    /// True if a table may have rows of the part: the part's times, ids and CPUs match the table's filters.
    fn _may_match(&self, table: &Table) -> PyResult<bool> {
        table.may_match(&self.split, self.info.number)
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.split.encode())
    }

    /// Part from its bytes, which are checked.
    #[staticmethod]
    #[pyo3(name = "_from_bytes")]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let split = Split::decode(bytes).map_err(|error| PartError::new_err(error.to_string()))?;
        Self::new(split).ok_or_else(|| PartError::new_err("a split file of several parts, expected one part"))
    }

    /// Writes parts of one trace to a split file, as ``tfbc split`` does. If writing fails, there is no file.
    #[staticmethod]
    #[pyo3(name = "_write")]
    fn write(parts: Vec<PyRef<'_, Self>>, path: PathBuf) -> PyResult<()> {
        let split = Split::join(parts.iter().map(|part| &*part.split));
        let split = split.ok_or_else(|| PartError::new_err("there is no part to write"))?;
        let mut output = Output::open(Some(&path))?;
        output.write_all(&split.encode())?;
        Ok(output.commit()?)
    }

    /// Parts in a split file.
    #[staticmethod]
    #[pyo3(name = "_read")]
    fn read(path: PathBuf) -> PyResult<Vec<Self>> {
        let name = path.to_string_lossy().into_owned();
        let parts = Split::open(&path)
            .and_then(|split| split.parts().iter().map(|part| split.only(part.number)).collect::<Result<Vec<_>, _>>());
        let parts = parts.map_err(|error| part_error(&name, &error))?;
        Ok(parts.into_iter().filter_map(Self::new).collect())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("_from_bytes")?, (self.__bytes__(py),)))
    }

    fn __repr__(&self) -> String {
        format!("<tfbc.Part {} of {:?}: {} events>", self.info.number, self.split.input(), self.info.n_events)
    }
}
