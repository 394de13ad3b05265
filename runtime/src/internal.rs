//! Items that the packages above this one use besides the public ones. They may change at any time.
//!
//! Commands for authors run one template, list templates and take expressions apart, and `tfbc test`, tables and
//! analyses read events before they are formatted: such types follow the engine and would tie it if they were public.
//! The rest (files, terminal text, suggestions) is here because commands and reports must follow the same rules, not
//! because it is about traces. In `tfbc-cli`, only `files.rs` and `terminal.rs` use it.
//!
//! Methods of public types that are only for these packages are marked `#[doc(hidden)]`.

/// Lookup of templates, for tools that run one of them with an observer, or list them: `tfbc event`, `hexview`,
/// `disasm`, `list` and `test`.
pub mod templates {
    /// Lookup of the template of one event, and the list of all templates.
    pub use crate::catalog::{Catalog, HookEntry, RecordEntry};
    /// Printing of one record without a log.
    pub use crate::qnx_report::RecordPrinter;
}

// Events as the reader returns them: `tfbc test` copies them to case files, and `tfbc-analysis` tracks threads and CPUs.

/// Context of events that are formatted one by one.
pub use crate::context::ContextState;
/// Fields of one event.
pub use crate::fields::FieldReader;
/// Events as the reader returns them, of both vendors.
pub use crate::reader::AnyTrace;
pub use crate::reader::aix::{LogItem, Logs, TraceState};
pub use crate::reader::kev::{KevItem, KevLog, KevRecord};
/// Filters per system, which [`EventFilter`](crate::EventFilter) is translated to, for AIX's own flags.
pub mod filter {
    pub use crate::filter::{Filter, Numbers, Processes, Threads};
    pub use crate::qnx_report::{RecordFilter, RecordIds};
    /// Filter of AIX reports, applied to one event.
    pub use crate::selection::admits;
}
/// Work limit of a report, for events that are formatted one by one.
pub use crate::work::Meter;

// Files: format files and outputs follow the same rules as in a report.

/// Identity of files, to refuse an output that is also an input.
pub use crate::file_id::FileId;
/// Output files that are complete or absent.
pub use crate::output::Output;
/// Recognition of files that are not format files, for messages, and of the files that a log has per CPU.
pub use crate::reader::aix::{compressed, cpu_files, cpu_files_among, is_trace};
/// Files of a trace that are not on disk.
pub use crate::reader::files::Files;
/// Reading of files that may be compressed.
pub use crate::reader::{Input, Unpacker};
/// Output directories that are complete or absent.
pub use crate::unfinished::UnfinishedDirectory;

// Names: messages and flags use the spellings and suggestions of the library.

/// Names of QNX's events, such as `THREADY`.
pub use crate::events::label as event_label;
/// Suggestions for misspelled names.
pub use crate::suggest::hint;
/// Output to a terminal, and text that cannot control it.
pub mod terminal {
    pub use crate::terminal::{LinkPlace, Links, TerminalWriter, show, visible};
}

use crate::trace::Trace;

/// Compression in the format of `compress`: an updated format file stays compressed.
pub mod unix_compress {
    pub use crate::reader::unix_compress::{Reader, compress_to, max_width};
}

/// Names and contents of format files, in their order, for the metadata of tables.
pub fn format_contents(formats: &crate::Formats) -> Vec<(String, &[u8])> {
    formats.set().contents()
}

/// Times of tables as text, and dates in flags.
pub mod iso_time {
    pub use crate::iso_time::{format_us, parse_ns};
}

/// Rows of tables.
pub mod rows {
    pub use crate::fields::{flags_of_word, label_of_word};
    pub use crate::row_block::{
        FlatRows, JoinedTexts, Long, LongColumn, NULL, RowBlock, RowCopies, Short, ShortColumn,
    };
    pub use crate::row_facts::{RowNote, TraceFacts};
    pub use crate::row_run::{names, qnx_release, rows};
    pub use crate::rows::{Names, ProgramFields, RowFields, RowOptions, RowSink, RowStore, split_cells};
}

/// Events and rules of the context table, for `tfbc-analysis`, which tracks threads and CPUs itself.
pub mod analysis {
    pub use crate::context::{
        ClassName, ContextRules, CounterRule, Effect, EffectName, EventPlace, EventTraits, PairRule, Place,
        PreparedAction, PreparedRule, RecordRules, RuledEvent, ThreadContext,
    };
    pub use crate::events::{ArgumentName, ArgumentValue, BuiltInEvents, text_of_words};
    pub use crate::reader::aix::{Ahead, CommonIds, LogInfo, RawEvent, RunTimes, TimedEvent, hooks};
    pub use crate::reader::kev::{KevHeader, classes};
}

/// Expressions that choose events by ids and fields.
pub mod expression {
    pub use crate::expression::{Bound, Condition, Operand, Verdict};
}

/// Returns the reader of a trace.
pub fn source_mut(trace: &mut Trace) -> &mut AnyTrace {
    trace.source_mut()
}
