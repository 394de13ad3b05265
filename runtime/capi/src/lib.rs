//! C library of tfbc: traces as Arrow streams.
//!
//! `tfbc.h` declares the functions. [`abi`] has them, and is the only file with `unsafe`; the other one opens traces and
//! tables by options in JSON. A stream opens its trace again, so it needs nothing of the handle that it came from.

mod abi;
mod options;

use arrow_schema::SchemaRef;
use options::Options;
use std::path::PathBuf;
use tfbc::qnx::QnxRelease;
use tfbc::{Formats, Trace};
use tfbc_data::{EventReader, Selection, TableOptions};

/// An opened trace.
pub struct OpenedTrace {
    path: PathBuf,
    formats: Formats,
    options: Options,
    /// Release of a QNX log, if it names one; `None` for a trace of AIX.
    release: Option<Option<QnxRelease>>,
}

/// Error of a function, with the number that C gets.
#[derive(Debug)]
pub struct Failure {
    /// Value of `errno`.
    pub errno: i32,
    /// Message.
    pub message: String,
}

/// Value of `errno` for wrong arguments.
pub const EINVAL: i32 = 22;
/// Value of `errno` for failed reading.
pub const EIO: i32 = 5;

impl Failure {
    fn usage(message: impl Into<String>) -> Self {
        Self { errno: EINVAL, message: message.into() }
    }

    fn reading(message: impl ToString) -> Self {
        Self { errno: EIO, message: message.to_string() }
    }
}

impl OpenedTrace {
    /// Opens a trace. `options` is a JSON object.
    ///
    /// # Errors
    /// The options are wrong, or a file cannot be read.
    pub fn open(path: PathBuf, options: Option<&str>) -> Result<Self, Failure> {
        let options = Options::parse(options.unwrap_or("{}")).map_err(Failure::usage)?;
        let formats = Formats::load(options.format_paths()).map_err(Failure::reading)?;
        let mut opened = Self { path, formats, options, release: None };
        opened.release = tfbc::internal::rows::qnx_release(&opened.trace()?);
        // Wrong filters are reported here, not at the first batch.
        opened.options.selection.options(&opened.formats, opened.release).map_err(Failure::usage)?;
        Ok(opened)
    }

    fn trace(&self) -> Result<Trace, Failure> {
        let refused = |error| Failure::reading(format!("{}: {error}", self.path.display()));
        Trace::open_with(&self.path, &self.options.read).map_err(refused)
    }

    /// Starts a pass over `events`, `notices`, or the table of an event.
    ///
    /// # Errors
    /// There is no such table, or the trace cannot be read.
    pub fn table(&self, name: &str) -> Result<EventReader, Failure> {
        let (trace, formats) = (self.trace()?, self.formats.clone());
        let mut options = self.options.table.clone();
        let report = |selection: &Selection| selection.options(&self.formats, self.release).map_err(Failure::usage);
        let reader = match name {
            "events" => tfbc_data::events(trace, formats, report(&self.options.selection)?, options),
            "notices" => tfbc_data::notices(trace, formats, report(&self.options.selection)?, options),
            id => {
                let (event, only) = Selection::table(id, &self.formats, self.release).map_err(Failure::usage)?;
                let mut selection = self.options.selection.clone();
                (selection.filter.only, selection.filter.except) = (only, Vec::new());
                options = TableOptions { columns: None, ..options };
                tfbc_data::event(trace, formats, report(&selection)?, options, event)
            }
        };
        reader.map_err(Failure::reading)
    }

    /// Schema of the table of an event.
    ///
    /// # Errors
    /// There is no such event, or the trace cannot be read.
    pub fn fields(&self, id: &str) -> Result<SchemaRef, Failure> {
        Ok(arrow_array::RecordBatchReader::schema(&self.table(id)?))
    }
}
