//! Context of events: which thread, process and system call runs on which CPU.
//!
//! ```text
//! default.context, --context FILE ─parse─> ContextTable ─┐
//! trace ─reader─> RawEvent ──────────────────────────────┴─ContextState::advance─> ThreadContext
//! ```
//!
//! No hook has a fixed meaning in the code. A [`ContextTable`] says which hooks carry context, and in which of their
//! words, because IBM has not published the layouts. Users can derive them from their own templates:
//!
//! ```text
//! 106 dispatch pid=D1 tid=D2 priority=D3 cpu=HD
//! ```
//!
//! `docs/context.md` is the manual of the text format.

mod keys;
mod load;
mod names;
mod parse;
mod prepared;
mod records;
mod rules;
mod state;
mod table;

pub use load::LoadError;
pub use names::{AddressNames, NamesError};
pub use parse::ContextError;
pub use prepared::{Place, PreparedAction, PreparedRule};
pub use records::RecordRules;
pub use rules::{ContextRules, Effect, EffectName, EventPlace, EventTraits, RuledEvent};
pub(crate) use state::ContextSnapshot;
pub use state::{ContextState, MAX_KNOWN, ThreadContext};
pub(crate) use state::{DepthAndSvc, RequiredContext, SVC_BLOCK, Shortcut, SvcName, SvcRef, ThreadFacts, svc_digits};
pub use table::{ClassName, ContextTable, CounterRule, PairRule};
