//! Who runs where: what the events of a trace tell of processes, threads, CPUs and system calls.
//!
//! ```text
//! default.context, --context FILE ─parse─> ContextTable ─┐
//! trace ─reader─> RawEvent ──────────────────────────────┴─ContextState::advance─> Facts
//! ```
//!
//! No hook is known here by its number. A [`ContextTable`] says which hooks mean something, what, and in which of their
//! words the ids stand, since IBM has published no layouts and a user may read them off his own templates:
//!
//! ```text
//! 106 dispatch pid=D1 tid=D2 priority=D3 cpu=HD
//! ```
//!
//! `docs/context.md` is the manual of the text form.

mod keys;
mod names;
mod parse;
mod state;
mod table;

pub use names::{AddressNames, NamesError};
pub use parse::ContextError;
pub(crate) use state::Wanted;
pub use state::{ContextState, Facts, MAX_KNOWN};
pub use table::{ContextTable, LoadError};
