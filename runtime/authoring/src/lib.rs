//! Tools for authors of format files: snapshot tests, coverage, hex view, fixes, updates, and a report that follows the
//! editor.

#![forbid(unsafe_code)]

pub mod cases;
pub mod coverage;
pub mod explanation;
pub mod fix;
pub mod folder;
pub mod hexview;
pub mod record;
pub mod render;
pub mod sarif;
pub mod times;
pub mod update;
pub mod watch;
