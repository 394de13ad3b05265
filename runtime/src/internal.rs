//! Parts of the engine that the packages above this one use beside the public face. They may change at any time.
//!
//! No report needs them. They serve two purposes: tools that look at single events of a trace instead of a report, and
//! rules that must not be written twice.

// Single events: `tfbc event`, `hexview`, `test` and `list` look up one template and run it under an observer, or copy
// events into case files.

/// Looks up the template of one event, and lists them with their places.
pub use crate::catalog::{Catalog, HookEntry, RecordEntry};
/// Processes and threads of events that are run one by one.
pub use crate::context::ContextState;
/// Events and layouts as the reader sees them.
pub use crate::reader::AnyTrace;
pub use crate::reader::aix::{LogItem, Logs, TraceState};
pub use crate::reader::kev::{KevItem, KevLog, KevRecord};
/// Prints one record without a log.
pub use crate::records::RecordPrinter;
/// The filter of AIX reports, for one event.
pub use crate::selection::admits;
/// The limit on the work of a report, for events that are run one by one.
pub use crate::work::Meter;

// Files: the rules of reports for format files, tables and outputs.

/// Reads a source of format files with the limits of a report.
#[cfg(feature = "compile")]
pub use crate::catalog::read_source;
/// Tells whether an output is one of the inputs.
pub use crate::file_id::FileId;
/// Output files that are whole or absent.
pub use crate::output::Output;
/// Describes files that are not format files.
pub use crate::reader::aix::{compressed, is_trace};
/// Reads any file that may be compressed.
pub use crate::reader::{Input, Unpacker};

// Names: suggestions and spellings in messages and flags are those of the library.

/// Names of classes that `tracelogger -F` takes, as filters do.
pub use crate::events::spelling::{class_events, class_list};
/// Suggestions for misspelled names.
pub use crate::suggest::{closest, hint};

use crate::formats::Formats;
use crate::trace::Trace;

/// Packs files as `compress` does, for format files that were packed before an update.
pub mod unix_compress {
    pub use crate::unix_compress::{Reader, compress_to, max_width};
}

/// Rows of tables.
pub mod rows {
    pub use crate::rows::{EventRow, Names, RowFields, RowNote, RowOptions, RowSink, TraceFacts, names, rows};
}

/// Events of a trace, and the rules of the context table, for `tfbc-analysis`, which follows threads and CPUs itself.
pub mod analysis {
    pub use crate::context::{ClassName, ContextRules, Effect, Name};
    pub use crate::events::BuiltInEvents;
    pub use crate::reader::AnyTrace;
    pub use crate::reader::aix::{Ahead, LogItem, Logs, TimedEvent, TraceState, hooks};
    pub use crate::reader::kev::{KevItem, KevLog, KevRecord, classes};
}

/// Reader of a trace.
pub fn source_mut(trace: &mut Trace) -> &mut AnyTrace {
    trace.source_mut()
}

/// Programs of format files, looked up by event.
pub fn catalog(formats: &Formats) -> &Catalog<'_> {
    formats.catalog()
}
