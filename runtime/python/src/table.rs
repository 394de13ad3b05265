//! Tables for Arrow consumers.
//!
//! A [`Table`] is a recipe: every stream or loop over batches opens the trace again. Other threads compute the rows,
//! and a worker waits for the batches, so that the caller's thread can react to Ctrl-C.

use crate::contents::{Contents, parse};
use crate::dataset::{Unreadable, passed_over};
use crate::dataset_pass::DatasetReader;
use crate::display;
use crate::errors::{Error, part_error, warn_of_damage};
use crate::html;
use crate::input::TraceInput;
use crate::plain::{Plain, plain_batch, plain_schema};
use crate::selection::Selection;
use crate::source;
use crate::worker::Worker;
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyCapsule;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};
use tfbc::Split;
use tfbc::internal::Output;
use tfbc_data::{EventColumn, EventReader, IpcStream, MAX_BATCH_ROWS, Outcome, ParquetFile, TableOptions};

/// Rows and columns for Arrow consumers, such as ``polars.DataFrame``, ``pyarrow.table`` or a query of DuckDB.
///
/// A table is a recipe: nothing is read until a consumer asks for it, and each time it is read from the start.
#[pyclass(module = "tfbc", frozen)]
pub struct Table {
    input: Arc<TraceInput>,
    contents: Contents,
    selection: Selection,
    batch_rows: usize,
    portable: bool,
    /// Maximum number of rows.
    limit: Option<usize>,
    /// Pass that was started to learn the schema. It is kept if the input can be read only once.
    begun: Mutex<Option<Pass>>,
}

/// Batches of a trace, or of the traces of a dataset.
enum Batches {
    Trace(EventReader),
    Dataset(Box<DatasetReader>),
}

impl Batches {
    fn schema(&self) -> SchemaRef {
        match self {
            Batches::Trace(reader) => reader.schema(),
            Batches::Dataset(reader) => reader.schema(),
        }
    }

    fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        match self {
            Batches::Trace(reader) => reader.next(),
            Batches::Dataset(reader) => reader.next(),
        }
    }

    /// Outcome after the last batch.
    fn outcome(&self) -> Option<PassOutcome> {
        match self {
            Batches::Trace(reader) => reader.outcome().map(|outcome| PassOutcome { outcome, unreadable: Vec::new() }),
            Batches::Dataset(reader) => {
                Some(PassOutcome { outcome: reader.outcome(), unreadable: reader.unreadable().to_vec() })
            }
        }
    }
}

/// Result of a complete pass.
struct PassOutcome {
    outcome: Outcome,
    /// Traces of a dataset that could not be read.
    unreadable: Vec<Unreadable>,
}

/// One pass over a trace, which yields batches.
struct Pass {
    input: Arc<TraceInput>,
    worker: Worker,
    reader: Arc<Mutex<Option<Batches>>>,
    /// Schema of the batches.
    schema: SchemaRef,
    /// Indices of the reader's columns that the batches contain; `None` for all.
    columns: Option<Vec<usize>>,
    plain: Vec<Option<Plain>>,
    /// Number of rows still to yield.
    left: Option<usize>,
    /// Thread that started the pass. Only this thread can safely wait for Python's lock.
    owner: ThreadId,
    has_ended: bool,
}

/// Columns that a consumer requests; true for texts instead of a dictionary.
type Requested = Vec<(String, bool)>;

impl Table {
    pub fn new(
        input: Arc<TraceInput>,
        contents: Contents,
        selection: Selection,
        batch_rows: usize,
        portable: bool,
    ) -> PyResult<Self> {
        if !(1..=MAX_BATCH_ROWS).contains(&batch_rows) {
            return Err(PyValueError::new_err(format!("batch_rows takes 1 to {MAX_BATCH_ROWS}, found {batch_rows}")));
        }
        // Wrong filters raise an exception here, not later when the table is read.
        input.report_options(&selection)?;
        Ok(Self { input, contents, selection, batch_rows, portable, limit: None, begun: Mutex::new(None) })
    }

    /// True if the table may have rows of a part of its trace.
    pub fn may_match(&self, split: &Split, number: u64) -> PyResult<bool> {
        if matches!(self.contents, Contents::Notices) {
            return Ok(true);
        }
        let options = self.input.report_options(&self.selection)?;
        let found = split.may_show(number, &self.input.formats, &options);
        found.map_err(|error| part_error(&self.input.name(), &error))
    }

    /// Starts a pass.
    fn begin(&self, py: Python<'_>, requested: Option<&Requested>) -> PyResult<Pass> {
        let begun = self.begun.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).take();
        let pass = match begun {
            Some(pass) => pass,
            None => {
                let mut contents = self.contents.clone();
                if let (Contents::Events(columns), Some(requested)) = (&mut contents, requested) {
                    // Columns that were not requested need not be computed.
                    let names: Vec<String> = requested.iter().map(|(name, _)| name.clone()).collect();
                    let known = TableOptions { columns: columns.clone(), ..self.options() }.columns();
                    if let Ok(wanted) = parse(&names)
                        && wanted.iter().all(|column| known.contains(column))
                    {
                        *columns = Some(wanted);
                    }
                }
                self.open(py, contents)?
            }
        };
        Ok(pass.with_types(requested, self.portable).with_limit(self.limit))
    }

    fn options(&self) -> TableOptions {
        TableOptions {
            batch_rows: self.batch_rows,
            has_file: self.input.info.files.len() > 1 || self.input.is_dataset(),
            follow: self.input.follow,
            time_zero: self.input.time_zero,
            ..TableOptions::default()
        }
    }

    fn open(&self, py: Python<'_>, contents: Contents) -> PyResult<Pass> {
        let input = Arc::clone(&self.input);
        let worker = Worker::start()?;
        let options = self.options();
        let opened = match input.dataset_pass(&contents, &self.selection, &options) {
            Some(pass) => worker.run(py, move || match contents {
                Contents::Notices => pass.notices().map(Batches::Trace),
                _ => DatasetReader::new(pass).map(Box::new).map(Batches::Dataset),
            })?,
            None => {
                let trace = input.begin(py, &worker)?;
                let (formats, report) = (input.formats.clone(), input.report_options(&self.selection)?);
                worker.run(py, move || contents.begin(trace, formats, report, options).map(Batches::Trace))?
            }
        };
        let reader = opened.map_err(|error| failure(&input, &error))?;
        let schema = reader.schema();
        let plain = vec![None; schema.fields().len()];
        Ok(Pass {
            input,
            worker,
            reader: Arc::new(Mutex::new(Some(reader))),
            schema,
            columns: None,
            plain,
            left: None,
            owner: thread::current().id(),
            has_ended: false,
        })
    }

    /// Schema of the rows. If the input can be read only once, the pass that this starts is kept for the rows.
    fn schema_of_rows(&self, py: Python<'_>) -> PyResult<SchemaRef> {
        let pass = {
            let begun = self.begun.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).take();
            begun.map_or_else(|| self.open(py, self.contents.clone()), Ok)?
        };
        let plain = self.portable.then_some(Plain::All);
        let schema = plain_schema(&pass.schema, &vec![plain; pass.schema.fields().len()]);
        if self.input.is_once() {
            *self.begun.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner) = Some(pass);
        }
        Ok(schema)
    }
}

/// Exception for an error of a pass. An exception that the file object raised takes precedence.
fn failure(input: &TraceInput, error: &ArrowError) -> PyErr {
    let text = match error {
        ArrowError::ExternalError(cause) => cause.to_string(),
        error => error.to_string(),
    };
    source::take(&input.raised).unwrap_or_else(|| Error::new_err(format!("{}: {text}", input.name())))
}

impl Pass {
    /// Restricts the pass to the requested columns, if all of them exist, and replaces types.
    fn with_types(mut self, requested: Option<&Requested>, portable: bool) -> Self {
        let names: Vec<String> = self.schema.fields().iter().map(|field| field.name().clone()).collect();
        self.plain = vec![portable.then_some(Plain::All); names.len()];
        if let Some(requested) = requested {
            let index = |(name, _): &(String, bool)| names.iter().position(|known| known == name);
            if let Some(columns) = requested.iter().map(index).collect::<Option<Vec<usize>>>()
                && let Ok(schema) = self.schema.project(&columns)
            {
                self.schema = Arc::new(schema);
                let kind = |(_, is_words): &(String, bool)| match portable {
                    true => Some(Plain::All),
                    false => is_words.then_some(Plain::Words),
                };
                self.plain = requested.iter().map(kind).collect();
                self.columns = Some(columns);
            }
        }
        self.schema = plain_schema(&self.schema, &self.plain);
        self
    }

    fn with_limit(mut self, limit: Option<usize>) -> Self {
        self.left = limit;
        self
    }

    /// Receives a batch from the reader.
    fn take(reader: &Mutex<Option<Batches>>) -> (Option<Result<RecordBatch, ArrowError>>, Option<PassOutcome>) {
        let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(reader) = &mut *reader else { return (None, None) };
        let batch = reader.next();
        let outcome = if batch.is_none() { reader.outcome() } else { None };
        (batch, outcome)
    }

    /// Returns the next batch.
    fn next_batch(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        if self.has_ended || self.left == Some(0) {
            return Ok(None);
        }
        let reader = Arc::clone(&self.reader);
        let taken = self.worker.run(py, move || Self::take(&reader));
        self.has_ended = !matches!(taken, Ok((Some(Ok(_)), _)));
        match taken? {
            (Some(batch), _) => {
                let batch = batch.and_then(|batch| self.finish(batch));
                batch.map(Some).map_err(|error| failure(&self.input, &error))
            }
            (None, outcome) => {
                let Some(text) = self.keep(outcome) else { return Ok(None) };
                warn_of_damage(py, text, self.input.strict)?;
                Ok(None)
            }
        }
    }

    /// Stores the outcome of a complete pass. Returns a message if the trace is damaged, or if a trace of a dataset could
    /// not be read.
    fn keep(&self, outcome: Option<PassOutcome>) -> Option<String> {
        let PassOutcome { outcome, unreadable } = outcome?;
        let damage = outcome.first_damage.as_ref().map(|first| {
            let places = if outcome.n_damaged == 1 { "place" } else { "places" };
            format!("{}: {} damaged {places}; the first one: {first}", self.input.name(), outcome.n_damaged)
        });
        *self.input.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        let texts: Vec<String> = damage.into_iter().chain(passed_over(&self.input.name(), &unreadable)).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }

    /// Selects columns and rows, and replaces types.
    fn finish(&mut self, batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
        let mut batch = match &self.columns {
            Some(columns) => batch.project(columns)?,
            None => batch,
        };
        if let Some(left) = &mut self.left {
            batch = batch.slice(0, batch.num_rows().min(*left));
            *left -= batch.num_rows();
        }
        if self.plain.iter().all(Option::is_none) {
            return Ok(batch);
        }
        plain_batch(&batch, &self.plain, &self.schema)
    }
}

impl Iterator for Pass {
    type Item = Result<RecordBatch, ArrowError>;

    /// Returns the next batch to a consumer in C, which may call from any thread. Only the thread that began the pass
    /// takes Python's lock: it may react to Ctrl-C and warn, and cannot wait for itself.
    fn next(&mut self) -> Option<Self::Item> {
        if thread::current().id() == self.owner {
            let next = Python::try_attach(|py| {
                self.next_batch(py).map_err(|error| {
                    let text = error.to_string();
                    if error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) {
                        // The consumer replaces errors by its own exceptions, so Ctrl-C would be lost. Python raises
                        // this one afterwards.
                        let _ = py.import("_thread").and_then(|module| module.call_method0("interrupt_main"));
                    }
                    ArrowError::ExternalError(text.into())
                })
            });
            let stopped = || Err(ArrowError::ExternalError("Python is shutting down".into()));
            return next.unwrap_or_else(stopped).transpose();
        }
        if self.has_ended || self.left == Some(0) {
            return None;
        }
        let reader = Arc::clone(&self.reader);
        let (batch, outcome) = self.worker.wait(move || Self::take(&reader)).unwrap_or_default();
        self.has_ended = !matches!(batch, Some(Ok(_)));
        match batch {
            Some(batch) => Some(batch.and_then(|batch| self.finish(batch))),
            None => {
                let text = self.keep(outcome)?;
                self.input.strict.then(|| Err(ArrowError::ExternalError(text.into())))
            }
        }
    }
}

impl RecordBatchReader for Pass {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Drop for Pass {
    /// Ends the pass on the worker thread, because ending may wait for a pipe, or for Python's lock.
    fn drop(&mut self) {
        let reader = Arc::clone(&self.reader);
        self.worker.begin(move || drop(reader.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

/// Wraps a schema in a capsule, the form in which Python packages exchange Arrow data.
fn schema_capsule<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(&**schema).map_err(|error| Error::new_err(error.to_string()))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

/// Columns and types that a consumer requests.
fn requested_columns(py: Python<'_>, schema: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Requested>> {
    match schema {
        None => Ok(None),
        Some(schema) => py.import("tfbc._requested")?.call_method1("columns", (schema,))?.extract(),
    }
}

/// Summary of the last complete pass as JSON. If there was none, runs one.
pub fn summary(py: Python<'_>, input: &Arc<TraceInput>) -> PyResult<String> {
    let known = || {
        let outcome = input.outcome.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        outcome.as_ref().map(|outcome| outcome.summary.to_json())
    };
    if let Some(summary) = known() {
        return Ok(summary);
    }
    let table = Table::new(Arc::clone(input), Contents::Notices, Selection::default(), 8192, false)?;
    let mut pass = table.begin(py, None)?;
    while pass.next_batch(py)?.is_some() {}
    known().ok_or_else(|| Error::new_err(format!("{}: the pass has not ended", input.name())))
}

/// Ids of the events in a trace.
pub fn ids(py: Python<'_>, input: &Arc<TraceInput>) -> PyResult<BTreeSet<String>> {
    let contents = Contents::Events(Some(vec![EventColumn::Id]));
    let mut pass = Table::new(Arc::clone(input), contents, Selection::default(), 8192, false)?.begin(py, None)?;
    let mut ids = BTreeSet::new();
    while let Some(batch) = pass.next_batch(py)? {
        if let Some(words) = batch.column(0).as_any_dictionary_opt() {
            ids.extend(words.values().as_string::<i32>().iter().flatten().map(String::from));
        }
    }
    Ok(ids)
}

#[pymethods]
impl Table {
    /// Names and types of the columns.
    #[getter]
    fn schema(&self, py: Python<'_>) -> PyResult<Schema> {
        self.schema_of_rows(py).map(|schema| Schema { schema })
    }

    /// Capsule of the schema, for Arrow consumers.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema_of_rows(py)?)
    }

    /// Capsule of a stream of batches, for Arrow consumers. A requested schema can select columns, and ask for texts
    /// instead of dictionaries; anything else in it is ignored.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let requested = requested_columns(py, requested_schema)?;
        let pass = self.begin(py, requested.as_ref())?;
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(pass)), c"arrow_array_stream")
    }

    /// Iterator over the batches.
    fn batches(&self, py: Python<'_>) -> PyResult<BatchIterator> {
        Ok(BatchIterator { pass: Mutex::new(self.begin(py, None)?) })
    }

    /// Table of the first rows.
    #[pyo3(signature = (n=10))]
    fn head(&self, n: usize) -> Self {
        let (input, contents, selection) = (Arc::clone(&self.input), self.contents.clone(), self.selection.clone());
        let (batch_rows, portable) = (self.batch_rows, self.portable);
        let limit = Some(self.limit.map_or(n, |limit| limit.min(n)));
        Self { input, contents, selection, batch_rows, portable, limit, begun: Mutex::new(None) }
    }

    /// Writes the table as an Arrow stream to a file. If writing fails, there is no file.
    fn to_arrow_ipc(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let mut output = Output::open(Some(&path))?;
        let mut pass = self.begin(py, None)?;
        let mut stream = IpcStream::new(io::BufWriter::new(&mut output));
        tfbc_data::BatchSink::begin(&mut stream, &pass.schema)?;
        while let Some(batch) = pass.next_batch(py)? {
            tfbc_data::BatchSink::batch(&mut stream, batch)?;
        }
        let summary = summary(py, &self.input)?;
        stream.finish(&summary)?.flush()?;
        Ok(output.commit()?)
    }

    /// Writes the table as a Parquet file, compressed by Snappy. If writing fails, there is no file.
    fn to_parquet(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let mut output = Output::open(Some(&path))?;
        let mut pass = self.begin(py, None)?;
        let mut file = ParquetFile::new(io::BufWriter::new(&mut output));
        tfbc_data::BatchSink::begin(&mut file, &pass.schema)?;
        while let Some(batch) = pass.next_batch(py)? {
            tfbc_data::BatchSink::batch(&mut file, batch)?;
        }
        file.finish()?.flush()?;
        Ok(output.commit()?)
    }

    fn __repr__(&self) -> String {
        let names = match &self.contents {
            Contents::Events(columns) => {
                let columns = TableOptions { columns: columns.clone(), ..self.options() }.columns();
                columns.into_iter().map(EventColumn::name).collect::<Vec<_>>().join(", ")
            }
            Contents::Event(id, _) => format!("of event {}", id.name()),
            Contents::Notices => String::from("kind, file, offset, bytes, seq, time, elapsed_ns, cpu, count, message"),
        };
        format!("<tfbc.Table {names}>")
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let mut pass = self.head(10).begin(py, None)?;
        let mut out = String::from("<table><thead><tr>");
        for field in pass.schema.fields() {
            out.push_str("<th style=\"text-align:left\">");
            html::escape(field.name(), &mut out);
            out.push_str("<br><small>");
            html::escape(&display::kind(field), &mut out);
            out.push_str("</small></th>");
        }
        out.push_str("</tr></thead><tbody>");
        while let Some(batch) = pass.next_batch(py)? {
            for row in 0..batch.num_rows() {
                out.push_str("<tr>");
                for column in 0..batch.num_columns() {
                    out.push_str("<td style=\"text-align:left;white-space:pre\">");
                    html::escape(&display::value(&batch, column, row), &mut out);
                    out.push_str("</td>");
                }
                out.push_str("</tr>");
            }
        }
        out.push_str("</tbody></table>");
        Ok(out)
    }
}

/// Names and types of a table's columns.
#[pyclass(module = "tfbc", frozen)]
pub struct Schema {
    schema: SchemaRef,
}

#[pymethods]
impl Schema {
    /// Names of the columns.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// Metadata of the table, such as ``tfbc:time_zero``.
    #[getter]
    fn metadata(&self) -> std::collections::BTreeMap<&str, &str> {
        self.schema.metadata().iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
    }

    /// Capsule of the schema, for Arrow consumers.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    fn __repr__(&self) -> String {
        display::schema(&self.schema).trim_end().to_owned()
    }
}

/// Iterator over the batches of a table, made by :meth:`Table.batches`.
#[pyclass(module = "tfbc", frozen)]
pub struct BatchIterator {
    pass: Mutex<Pass>,
}

#[pymethods]
impl BatchIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let batch = self.pass.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).next_batch(py)?;
        Ok(batch.map(|batch| Batch { batch }))
    }
}

/// Some rows of a table, for Arrow consumers.
#[pyclass(module = "tfbc", frozen)]
pub struct Batch {
    batch: RecordBatch,
}

#[pymethods]
impl Batch {
    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// Number of columns.
    #[getter]
    fn num_columns(&self) -> usize {
        self.batch.num_columns()
    }

    /// Names and types of the columns.
    #[getter]
    fn schema(&self) -> Schema {
        Schema { schema: self.batch.schema() }
    }

    /// Capsule of the schema, for Arrow consumers.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.batch.schema())
    }

    /// Capsules of schema and columns, for Arrow consumers. A requested schema has no effect.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let data = StructArray::from(self.batch.clone()).into_data();
        let (array, _): (FFI_ArrowArray, _) = to_ffi(&data).map_err(|error| Error::new_err(error.to_string()))?;
        Ok((schema_capsule(py, &self.batch.schema())?, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<tfbc.Batch of {} rows>", self.batch.num_rows())
    }
}
