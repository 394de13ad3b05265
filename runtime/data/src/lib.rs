//! Tables of traces: the rows of a report as Arrow columns, for programs that compute with them.
//!
//! ```text
//! tfbc ─rows─> EventTable ─RecordBatch─> IpcStream, Parquet file, or a reader in the same process
//!      └─notices─> NoticeTable ──────────┘
//! ```
//!
//! [`EventTable`] has a row per event that a report prints, and [`NoticeTable`] one per damaged place and warning.
//! [`events`] and [`notices`] return them as iterators of batches:
//!
//! ```
//! use tfbc::{Formats, ReportOptions, Trace};
//! use tfbc_data::{TableOptions, events};
//!
//! let trace = Trace::open("../samples/shell.trc")?;
//! let reader = events(trace, Formats::builtin(), ReportOptions::default(), TableOptions::default())?;
//! let n_rows: usize = reader.map(|batch| batch.map(|batch| batch.num_rows())).sum::<Result<_, _>>()?;
//! assert!(n_rows > 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod by_event;
#[cfg(feature = "parquet")]
mod column_chunk;
mod columns;
mod dictionary;
mod events;
mod fields;
mod ipc;
mod metadata;
mod notices;
mod numbers;
#[cfg(feature = "parquet")]
mod parquet;
mod row_set;
mod selection;
mod stream;
mod strings;
mod tables;
mod text;

pub use by_event::{BY_EVENT, EventTables, OpenTables};
pub use columns::{ColumnError, EventColumn};
pub use events::{BatchSink, EventTable, MAX_BATCH_ROWS, TableOptions};
pub use ipc::{END_KEY, IpcStream};
pub use metadata::{Summary, TableMetadata, kind_name};
pub use notices::{NoticeKind, NoticeLog, NoticeTable};
#[cfg(feature = "parquet")]
pub use parquet::ParquetFile;
pub use selection::Selection;
pub use stream::{EventReader, NoticeInput, NoticeReader, OpenedInput, Outcome, event, events, notices, notices_of};
pub use tables::{RowSource, Tables};
pub use text::{TextForm, TextTable};

/// Parses a time such as 2026-01-31T12:00:00Z, as nanoseconds since 1970, UTC.
pub fn parse_time(text: &str) -> Option<i128> {
    tfbc::internal::iso_time::parse_ns(text)
}
