//! Text for terminals: control characters of traces and files are visible there, and report lines have links.
//!
//! Commands use these items of the library through this module alone.

pub use tfbc::internal::terminal::{LinkPlace, Links, TerminalWriter, show, visible};
