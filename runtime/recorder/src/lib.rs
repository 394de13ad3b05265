//! Records traces: AIX's trace hooks and QNX's trace functions for programs on Linux.
//!
//! A session belongs to a channel and is run by a process of its own, which makes the log out of what the traced programs
//! leave in shared memory. A hook whose channel is off costs one load and one branch; one that is on writes a time stamp
//! and its data into a buffer that its thread alone writes to, so that threads and processes never wait for each other.
//!
//! Sessions exist on Linux alone; what tells of ids, groups, flags and places is the same everywhere.

#[cfg(target_os = "linux")]
mod access;
#[cfg(target_os = "linux")]
pub mod clock;
#[cfg(target_os = "linux")]
mod control;
#[cfg(target_os = "linux")]
mod drain;
pub mod flags;
#[cfg(target_os = "linux")]
pub mod hook;
#[cfg(target_os = "linux")]
pub mod hooks;
#[cfg(target_os = "linux")]
mod lane;
pub mod logger;
pub mod options;
pub mod place;
#[cfg(target_os = "linux")]
mod pool;
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
pub mod write;
