//! Contents of a table: which rows and columns it has.

use crate::selection::Words;
use arrow_schema::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tfbc::EventId;
use tfbc_data::{BY_EVENT, EventColumn, EventReader, TableOptions};

/// Contents of a table.
#[derive(Clone)]
pub enum Contents {
    /// Events, with these columns.
    Events(Option<Vec<EventColumn>>),
    /// Typed fields of one event, after these columns.
    Event(EventId, Option<Vec<EventColumn>>),
    /// Damaged places, warnings and the summary.
    Notices,
}

impl Contents {
    /// Table of events with the given columns, or with the default ones. `text` and `fields` are false to leave out
    /// these two default columns.
    pub fn events(columns: Option<Words>, text: bool, fields: bool) -> PyResult<Self> {
        let columns = match columns {
            Some(names) => Some(parse(&names.0)?),
            None if text && fields => None,
            None => {
                let is_wanted = |column: &EventColumn| match column {
                    EventColumn::Text => text,
                    EventColumn::Fields => fields,
                    column => column.is_default(),
                };
                Some(EventColumn::ALL.iter().copied().filter(is_wanted).collect())
            }
        };
        Ok(Contents::Events(columns))
    }

    /// Starts a pass over one trace.
    ///
    /// # Errors
    /// The trace cannot be read up to its first event.
    pub fn begin(
        &self,
        trace: tfbc::Trace,
        formats: tfbc::Formats,
        report: tfbc::ReportOptions,
        mut options: TableOptions,
    ) -> Result<EventReader, ArrowError> {
        match self {
            Contents::Events(columns) => {
                options.columns.clone_from(columns);
                tfbc_data::events(trace, formats, report, options)
            }
            Contents::Event(id, columns) => {
                options.columns.clone_from(columns);
                tfbc_data::event(trace, formats, report, options, *id)
            }
            Contents::Notices => tfbc_data::notices(trace, formats, report, options),
        }
    }

    /// Table of one event's typed fields, after the given columns or the default ones.
    pub fn event(id: EventId, columns: Option<Words>) -> PyResult<Self> {
        let columns = columns.map(|names| parse(&names.0)).transpose()?;
        if let Some(column) = columns.iter().flatten().find(|column| !BY_EVENT.contains(column)) {
            let known: Vec<_> = BY_EVENT.iter().map(|column| column.name()).collect();
            let (name, known) = (column.name(), known.join(", "));
            return Err(PyValueError::new_err(format!(
                "a table of one event has no column `{name}`; columns: {known}"
            )));
        }
        Ok(Contents::Event(id, columns))
    }
}

/// Columns from their names.
pub fn parse(names: &[String]) -> PyResult<Vec<EventColumn>> {
    EventColumn::parse(&names.join(",")).map_err(|error| PyValueError::new_err(error.to_string()))
}
