//! Trace reports by template: readers, catalog, report writer and commands around the machine of `tfbc-vm`.
//!
//! ```text
//! format files ─catalog─> Catalog ┐
//! trace ─reader─> RawEvent ───────┴─report─> text
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "compiler")]
pub mod authoring;
#[cfg(feature = "compiler")]
pub mod cache;
pub mod catalog;
pub mod cli;
pub mod columns;
pub mod context;
mod engine;
pub mod events;
mod explanation;
pub mod filter;
pub mod forms;
pub mod groups;
mod json;
#[cfg(feature = "compiler")]
pub mod lsp;
mod needs;
pub mod output;
pub mod raw;
pub mod reader;
pub mod records;
#[cfg(feature = "compiler")]
pub mod render;
pub mod report;
#[cfg(feature = "compiler")]
pub mod sarif;
pub mod screen;
pub mod selection;
mod spelling;
pub mod traceprinter;
pub mod unix_compress;
#[cfg(feature = "compiler")]
pub mod update;

pub use tfbc_recorder::ids;
