//! Records traces of programs on Linux: AIX's trace hooks and QNX's trace functions.
//!
//! A session belongs to a channel. Its own process, a daemon, writes the log from events in shared memory. A hook whose
//! channel is off costs one load and one branch. A hook that is on writes a time stamp and its data to a buffer that
//! only its thread writes to, so threads and processes never wait for each other.
//!
//! Sessions exist only on Linux. Ids, groups, flags and paths are available on all systems.

#[cfg(target_os = "linux")]
mod access;
#[cfg(target_os = "linux")]
mod buffer_pool;
#[cfg(target_os = "linux")]
pub mod clock;
#[cfg(target_os = "linux")]
mod control;
pub mod flags;
pub mod groups;
#[cfg(target_os = "linux")]
pub mod hook;
#[cfg(target_os = "linux")]
pub mod hooks;
pub mod logger;
#[cfg(target_os = "linux")]
mod merger;
pub mod options;
pub mod paths;
#[cfg(target_os = "linux")]
pub mod qnx;
pub mod record;
#[cfg(target_os = "linux")]
pub mod session;
#[doc(hidden)]
#[cfg(target_os = "linux")]
pub mod stanza;
#[cfg(target_os = "linux")]
mod symbols;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod thread_writer;
#[cfg(target_os = "linux")]
pub mod write;
