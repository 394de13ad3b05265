//! The built-in events of QNX's kernel: classes, events and kernel calls of 6.4, 7.1 and 8.0 with their arguments.
//!
//! The table, `qnx-events.toml`, becomes static rows when this package is built.

mod table;

pub use table::Release;
pub(crate) use table::{class_number, event_numbers};
