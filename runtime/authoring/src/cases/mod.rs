//! Snapshot tests of format files, as `tfbc test` runs them.
//!
//! A case file ([`CaseFile`]) names format files and events. The text of these events is compared with the accepted
//! text, so that the author of a template sees every event that a change affects.
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
pub(crate) use run::{run_case_observed, side_by_side};
pub use show::ProgramObserver;
pub use slice::{SliceOptions, text as slice_text};
pub use snapshot::SnapshotPaths;

/// All diagnostic codes of case files, in order.
pub static CODES: &[&tfbc_grammar::CodeInfo] = codes::ALL;
