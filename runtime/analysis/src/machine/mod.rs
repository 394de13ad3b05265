//! State machine of CPUs and threads: charges each interval of a CPU to a category and a thread.
//!
//! ```text
//! aix.rs, qnx.rs ─dispatch, enter, raise, lost, …─> Machine ─finish─> Totals
//! ```
//!
//! The state of a CPU does not change between two of its events. The second one charges the interval between them, and
//! then changes the state. Whatever the trace does not describe is charged to `unknown`, `lost`, `off` or, if a thread
//! ran in an unknown mode, to `mode`.
//!
//! | module | part of the state |
//! | --- | --- |
//! | `parts`, `state` | what CPUs, threads and processes are, and the state of all of them |
//! | `cpus`, `dispatches` | CPUs, the intervals that they are charged, and the threads that come and leave |
//! | `threads`, `calls` | threads and processes, their modes, and calls |
//! | `interrupts` | interrupts of a CPU |
//! | `untraced` | losses, and intervals in which tracing is off |
//! | `states`, `clients` | QNX: states of threads, and which thread works for which |
//! | `details` | counts per thread, if they are wanted |
//! | `change`, `changes` | changes that a timeline draws |
//! | `finish` | the end of the span |

mod calls;
mod change;
mod changes;
mod clients;
mod cpus;
pub mod details;
mod dispatches;
mod finish;
mod interrupts;
pub mod parts;
mod state;
mod states;
mod threads;
mod untraced;

pub use calls::Turn;
pub use change::{Base, CallEnding, Change, MessageStep, Returned, RunningThread};
pub use parts::{OTHERS, ThreadSlot, ThreadState};
pub use state::{MAX_CPUS, Machine};
