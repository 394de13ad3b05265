//! Passes over a dataset, one trace after another.
//!
//! ```text
//! Dataset ──path──> EventReader ─┐
//!         ──path──> EventReader ─┴─batches, in the order of the paths──> DatasetReader
//! ```
//!
//! Each reader runs on threads of its own and waits when it has computed two batches. So the traces after the current
//! one are opened and formatted ahead, and memory does not depend on the number or size of the traces.

use crate::contents::Contents;
use crate::dataset::{Dataset, Unreadable};
use crate::selection::{Release, report_options};
use crate::source::{InputArg, OpenTrace, Raised};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use tfbc::aix::{ContextTable, ReadOptions};
use tfbc::{EventId, System};
use tfbc_data::{EventReader, NoticeInput, OpenedInput, Outcome, Selection, TableOptions};

/// Maximum number of traces that are open at a time.
const MAX_OPEN: usize = 16;

/// Metadata of a table that describes a single trace.
const OF_ONE_TRACE: [&str; 4] = ["tfbc:kind", "tfbc:system", "tfbc:time_basis", "tfbc:time_zero"];

/// Recipe for a pass over each trace of a dataset.
pub struct DatasetPass {
    pub dataset: Arc<Dataset>,
    pub options: ReadOptions,
    pub formats: tfbc::Formats,
    pub context: Option<Arc<ContextTable>>,
    pub contents: Contents,
    pub selection: Selection,
    pub table: TableOptions,
}

/// System that has an event.
fn system_of(id: EventId) -> System {
    match id {
        EventId::Hook(_) => System::Aix,
        EventId::Record(..) => System::Qnx,
    }
}

/// Start of a pass over one trace.
enum Begun {
    Reader(Box<EventReader>),
    /// The filter names events of the other system.
    OtherSystem,
    Failed(Unreadable),
}

impl DatasetPass {
    fn open(&self, path: &Path) -> Result<OpenTrace, Unreadable> {
        let given = InputArg::Files(vec![path.to_path_buf()]);
        // Only Python's file objects raise exceptions.
        given.open(&self.options, &Raised::default()).map_err(|failure| Unreadable::new(path, &failure.reason()))
    }

    fn begin(&self, path: &Path) -> Begun {
        let OpenTrace { trace, release } = match self.open(path) {
            Ok(opened) => opened,
            Err(error) => return Begun::Failed(error),
        };
        let is_other = matches!(&self.contents, Contents::Event(id, _) if system_of(*id) != trace.info().system);
        let release: Release = (trace.info().system == System::Qnx).then_some(release);
        let report = match report_options(&self.selection, &self.formats, release, self.context.as_ref()) {
            Ok(report) if !is_other => report,
            _ => return Begun::OtherSystem,
        };
        let table = TableOptions { files: vec![path.to_string_lossy().into_owned()], ..self.table.clone() };
        match self.contents.begin(trace, self.formats.clone(), report, table) {
            Ok(reader) => Begun::Reader(Box::new(reader)),
            Err(error) => Begun::Failed(Unreadable::new(path, &error)),
        }
    }

    /// Starts a pass over the table of notices. The traces are opened one at a time.
    ///
    /// # Errors
    /// The run has failed.
    pub fn notices(self) -> Result<EventReader, ArrowError> {
        let (formats, table) = (self.formats.clone(), self.table.clone());
        let pass = Arc::new(self);
        let dataset = Arc::clone(&pass.dataset);
        let directories = dataset.unreadable.clone().into_iter().map(|Unreadable { name, why }| NoticeInput {
            name,
            opened: Err(why),
            ends_run: false,
        });
        let traces = dataset.traces.clone().into_iter().map(move |path| {
            let opened = pass.open(&path).map_err(|error| error.why).and_then(|OpenTrace { trace, release }| {
                let release = (trace.info().system == System::Qnx).then_some(release);
                let report = report_options(&pass.selection, &pass.formats, release, pass.context.as_ref())?;
                Ok(OpenedInput { trace, report })
            });
            NoticeInput { name: path.to_string_lossy().into_owned(), opened, ends_run: false }
        });
        tfbc_data::notices_of(directories.chain(traces), formats, table)
    }
}

/// Iterator over the batches of all traces of a dataset. A trace that cannot be read is passed over.
pub struct DatasetReader {
    pass: DatasetPass,
    rest: std::vec::IntoIter<PathBuf>,
    /// Readers of the current trace and of those after it.
    open: VecDeque<OpenReader>,
    n_open: usize,
    schema: SchemaRef,
    outcome: Outcome,
    unreadable: Vec<Unreadable>,
}

struct OpenReader {
    path: PathBuf,
    reader: Box<EventReader>,
}

impl DatasetReader {
    /// Opens the first traces.
    ///
    /// # Errors
    /// No trace can be read.
    pub fn new(pass: DatasetPass) -> Result<Self, ArrowError> {
        let cores =
            pass.selection.threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let mut reader = Self {
            rest: pass.dataset.traces.clone().into_iter(),
            open: VecDeque::new(),
            n_open: cores.min(MAX_OPEN),
            schema: Arc::new(Schema::empty()),
            outcome: Outcome::default(),
            unreadable: pass.dataset.unreadable.clone(),
            pass,
        };
        reader.open_ahead();
        let Some(first) = reader.open.front() else {
            let why =
                reader.unreadable.first().map_or_else(String::new, |error| format!("{}: {}", error.name, error.why));
            return Err(ArrowError::ExternalError(format!("no trace can be read: {why}").into()));
        };
        let schema = first.reader.schema();
        let mut metadata = schema.metadata().clone();
        metadata.retain(|key, _| !OF_ONE_TRACE.contains(&key.as_str()));
        reader.schema = Arc::new(Schema::new_with_metadata(schema.fields().clone(), metadata));
        Ok(reader)
    }

    fn open_ahead(&mut self) {
        while self.open.len() < self.n_open
            && let Some(path) = self.rest.next()
        {
            match self.pass.begin(&path) {
                Begun::Reader(reader) => self.open.push_back(OpenReader { path, reader }),
                Begun::OtherSystem => {}
                Begun::Failed(error) => self.unreadable.push(error),
            }
        }
    }

    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Counts and damage of the traces read so far.
    pub fn outcome(&self) -> Outcome {
        self.outcome.clone()
    }

    /// Traces and directories that could not be read.
    pub fn unreadable(&self) -> &[Unreadable] {
        &self.unreadable
    }
}

impl Iterator for DatasetReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let OpenReader { path, reader } = self.open.front_mut()?;
            let failed = match reader.next() {
                Some(Ok(batch)) => match RecordBatch::try_new(Arc::clone(&self.schema), batch.columns().to_vec()) {
                    Ok(batch) => return Some(Ok(batch)),
                    Err(error) => Some(Unreadable::new(path, &format!("its columns differ: {error}"))),
                },
                Some(Err(ArrowError::ExternalError(error))) => Some(Unreadable::new(path, &error)),
                Some(Err(error)) => Some(Unreadable::new(path, &error)),
                None => None,
            };
            if let Some(ended) = reader.outcome() {
                let all = &mut self.outcome;
                all.summary.add(&ended.summary);
                all.n_damaged += ended.n_damaged;
                let name = path.to_string_lossy();
                let named = ended.first_damage.map(|message| format!("{name}: {message}"));
                all.first_damage = all.first_damage.take().or(named);
            }
            self.unreadable.extend(failed);
            self.open.pop_front();
            self.open_ahead();
        }
    }
}
