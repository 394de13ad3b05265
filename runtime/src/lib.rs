//! Trace reports by template: readers, catalog, report writer and commands around the machine of `tfbc-vm`.
//!
//! ```text
//! format files ─catalog─> Catalog ┐
//! trace ─reader─> RawEvent ───────┴─report─> text
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "compiler")]
pub mod cache;
pub mod catalog;
pub mod cli;
pub mod columns;
pub mod context;
mod engine;
pub mod events;
pub mod filter;
pub mod forms;
pub mod groups;
pub mod ids;
mod json;
mod needs;
pub mod output;
pub mod raw;
pub mod reader;
pub mod records;
#[cfg(feature = "compiler")]
pub mod render;
pub mod report;
pub mod selection;
mod spelling;
pub mod traceprinter;
pub mod unix_compress;
#[cfg(feature = "compiler")]
pub mod update;
