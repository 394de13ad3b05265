//! Tools for those who write format files: tests with kept text, what the tests reach, and a report that follows the
//! editor.

pub mod cases;
pub mod coverage;
pub mod fix;
pub mod view;
pub mod watch;
