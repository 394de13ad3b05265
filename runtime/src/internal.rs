//! Parts of the engine that the other packages of this repository use beside the public face.
//!
//! They may change at any time. They are here for three kinds of users:
//!
//! - The commands and the tools for authors describe, merge, slice and observe single logs, print one event without a
//!   trace, and lay out `traceprinter`'s text. A library user needs none of this.
//! - They share rules with the library that must not be written twice: how outputs replace files, how text is shown on a
//!   terminal, how numbers and times are spelt.
//! - Tests, fuzz targets and benches call the readers and the formatting directly.

/// Logs of AIX, event by event.
pub mod aix {
    pub use crate::context::ContextState;
    pub use crate::ids::display_id;
    pub use crate::raw::write_raw;
    pub use crate::reader::aix::{
        AixItem, Kernel, LogInfo, LogItem, Logs, RawEvent, Step, StepRules, SystemInfo, Trace, TraceState, compressed,
        cpu_files, hooks, is_trace, present,
    };
    pub use crate::report::report;
}

/// QNX's names of classes and events.
pub mod events {
    pub use crate::events::{BuiltInEvents, LISTING, class_name};

    /// Spellings of names in flags.
    pub mod spelling {
        pub use crate::events::spelling::{ClassPart, class, class_list};
    }
}

/// Typed fields of events.
pub mod fields {
    pub use crate::fields::{ListedId, PreparedFields, list_json, list_text, write_row};
    pub use crate::ids::IdSet;
    pub use crate::records::{write_objects, write_record_text};
}

/// Values of filter flags.
pub mod filter {
    pub use crate::filter::{check_times, seconds, shown, signed_seconds};
}

/// Format files before and after they are verified.
pub mod formats {
    pub use crate::catalog::{BUILT_IN, Catalog, FormatFile, FormatSet, HookEntry, MAX_BLOB, RecordEntry};
    #[cfg(feature = "compile")]
    pub use crate::catalog::{limit_of, read_source};
}

/// Inputs before their kind is known.
pub mod input {
    pub use crate::reader::{AnyTrace, Input, ReadSeek, TraceKind, Unpacker};
}

/// Analysis for `tfbc info`.
pub mod inventory {
    pub use crate::inventory::{AixInventory, FileInventory, Gap, QnxInventory};
}

/// Output files that are whole or absent.
pub mod output {
    pub use crate::file_id::FileId;
    pub use crate::output::{Output, directory, is_at, mind_signals, replace_by_link, stdout_is_closed};
}

/// Logs of QNX, record by record.
pub mod qnx {
    pub use crate::reader::kev::{
        KevHeader, KevItem, KevLog, KevOptions, KevRecord, MAX_EVENT_BYTES, MAX_HEADER_BYTES, Section, classes, is_kev,
    };
    pub use crate::records::{RecordPrinter, cpus, report};
}

/// Rows of tables.
pub mod rows {
    pub use crate::rows::{
        EventId, EventRow, Names, RowFields, RowNote, RowOptions, RowSink, TraceFacts, rows, rows_of,
    };
}

/// Selection of AIX events.
pub mod selection {
    pub use crate::selection::admits;
}

/// Suggestions for misspelled names.
pub mod suggest {
    pub use crate::suggest::{closest, hint};
}

/// Text from strangers on a terminal.
pub mod terminal {
    pub use crate::terminal::{TerminalWriter, show, visible};
}

/// The layouts of QNX's `traceprinter`.
pub mod traceprinter {
    pub use crate::traceprinter::{DEFAULT, Layout, LineFormat, PrintOptions, print, write_refused};
}

/// The format of `compress` (`.Z`).
pub mod unix_compress {
    pub use crate::unix_compress::{Reader, compress, compress_to, max_width};
}

pub use crate::work::Meter;
