//! Snapshot tests of format files: what `tfbc test` runs.
//!
//! A case file ([`CaseFile`]) names format files and events. What these print is one text, compared with the one that was
//! accepted. Whoever changes a template sees what becomes of every event, and decides.
//!
//! ```text
//! *.case.toml ─CaseFile::parse─┐
//! format files ─FormatSet──────┴─Suite::run─> Results ─> diff, review, JUnit, JSON
//! *.case.snap ─────────────────┘
//! ```

mod codes;
mod diff;
mod event;
mod fields;
mod file;
mod find;
pub mod first_case;
mod observe;
mod pick;
mod record;
mod review;
mod run;
mod show;
mod slice;
mod snapshot;

pub use event::{CaseEvent, EventSource, HookContext, HookEvent, RecordEvent, Slice};
pub use file::{BadCaseFile, CaseFile, SUFFIX};
pub use find::{CaseFiles, find};
pub use observe::watch as slice_watch;
pub use record::{json, junit, reason};
pub use review::{ReviewStyle, Reviewed, review};
pub use run::{CaseError, CaseResult, EventResult, FormatsOf, Results, RunOptions, SetOfFormats, Suite, Verdict};
pub(crate) use run::{side_by_side, watch_case};
pub use show::ProgramObserver;
pub use slice::{SliceOptions, text as slice_text};
pub use snapshot::SnapshotPaths;

/// Every code of case files' diagnostics, in order.
pub static CODES: &[&tfbc_grammar::CodeInfo] = codes::ALL;
