//! The bytecode, its blob format, its verifier and its machine. Knows nothing of source text.
//!
//! [`Program::open`] checks a `.tfbc` blob; [`Machine::run`] prints one event with it.

mod context;
mod errno;
mod event;
mod machine;
mod program;
mod text;
mod timers;

pub use context::{Context, ProcessNames};
pub use errno::{ERRNO_NAMES, errno_name, errno_value};
pub use event::{Env, Event};
pub use machine::{Layout, Limits, Machine, Outcome};
pub use program::{BlobError, Hook, Level, Program};
pub use text::TextBuf;
pub use timers::Timers;
