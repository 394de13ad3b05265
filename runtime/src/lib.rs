//! Formats AIX traces and QNX kernel logs with the vendors' own templates.
//!
//! ```text
//! format files, definitions, blobs ─load─> Formats ┐
//! trace ─open─> Trace ─────────────────────────────┴─> Events ─> Event: id, time, process, text, fields
//!                                                  └─> report: the lines of `tfbc report`
//! ```
//!
//! [`Formats`] contains the compiled templates. [`Trace`] is a trace or log of either vendor, recognised by its first
//! bytes. [`Trace::events`] iterates over the events that a report would show, each with its text. This program prints
//! the lines of `tfbc report --columns text runtime/samples/shell.trc`:
//!
//! ```
//! use tfbc::{Formats, Item, Trace};
//!
//! let formats = Formats::builtin();
//! let mut trace = Trace::open("samples/shell.trc")?;
//! let mut events = trace.events(&formats);
//! while let Some(item) = events.next()? {
//!     match item {
//!         Item::Event(event) => println!("{}", event.text()),
//!         Item::Notice(notice) => eprintln!("{}", notice.message),
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Events have typed [fields](Event::fields), too. QNX logs work in the same way; their user events are formatted by event
//! definitions (XML):
//!
//! ```
//! use tfbc::{FieldValue, Formats, Item, Trace};
//!
//! let formats = Formats::load(["samples/user.xml"])?;
//! let mut trace = Trace::open("samples/user.kev")?;
//! let mut events = trace.events(&formats);
//! while let Some(Item::Event(event)) = events.next()? {
//!     if event.id() == "USER:140" {
//!         assert_eq!(event.text(), "code:0xfe17a361 unknown");
//!         assert_eq!(event.fields()[0].value, FieldValue::Integer(0xfe17a361));
//!         break;
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/events.rs` is a whole program: events with fields, notices, diagnostics and a report.
//!
//! The feature `compile` (on by default) contains the compiler. Without it, only compiled blobs (`.tfbc`) can be loaded.
#![forbid(unsafe_code)]

/// The name by which `tests/common` uses the library.
#[cfg(all(test, feature = "compile"))]
extern crate self as tfbc;

#[cfg(all(test, feature = "compile"))]
#[path = "../tests/common/mod.rs"]
mod common;

pub mod aix;
pub mod qnx;
pub mod traceprinter;

// A report needs only the public items. What the commands need besides them, and why it is not public, is in `internal`.
#[doc(hidden)]
pub mod internal;
#[doc(hidden)]
pub mod testing;

mod aix_report;
#[cfg(feature = "compile")]
mod cache;
mod catalog;
mod columns;
mod conditions;
mod context;
mod demand;
mod engine;
mod event;
mod event_filter;
mod events;
mod expression;
mod fields;
mod file_id;
mod filter;
mod format_files;
mod formats;
mod general_path;
mod ids;
mod inventory;
mod iso_time;
mod json;
mod literal;
mod monitor;
mod output;
mod output_format;
mod pattern;
mod qnx_report;
mod raw;
mod reader;
mod row_block;
mod row_facts;
mod row_run;
mod rows;
mod scan;
mod selection;
mod split;
mod suggest;
mod temporary;
mod terminal;
mod time_zone;
mod trace;
mod unfinished;
mod work;

#[cfg(feature = "compile")]
pub use cache::Cache;
pub use columns::{Column, Columns, ColumnsError};
pub use event::{Event, Events, Item};
pub use event_filter::{EventFilter, FilterError};
pub use expression::{Expression, ExpressionError};
pub use fields::{Field, FieldFormat, FieldValue};
#[cfg(feature = "compile")]
pub use format_files::Findings;
pub use format_files::{FormatFile, FormatInput, LoadError, LoadOptions};
pub use formats::{EventFormat, Formats};
pub use ids::EventId;
pub use inventory::Inventory;
pub use monitor::{Monitor, ReportError};
pub use output_format::Form;
pub use pattern::Pattern;
pub use reader::{Compression, MaxRatio, Notice, System, TraceError, TraceKind};
#[doc(hidden)]
pub use reader::{Imbalance, RecordingGap, Tally};
pub use split::{PartInfo, PartSize, Split, SplitError};
pub use terminal::ReportColour;
/// Limits on the run of one event.
pub use tfbc_vm::Limits;
pub use trace::{QnxHeader, ReportOptions, ReportSummary, Trace, TraceFile, TraceInfo, report, report_with};
pub use work::MaxWork;
