//! Python package `tfbc`: traces and format files as Python objects.
//!
//! ```text
//! Trace ──iter───> EventIterator ──next──> Event     a worker thread reads; the caller's thread watches for Ctrl-C
//!   ├────events──> Table ──> Arrow stream, batches   each pass opens the trace again
//!   └────parts───> Part ──open_part──> Trace         in any process
//! Formats, Diagnostic                                compiled once for many traces
//! ```
//!
//! Classes are immutable and can be used by several threads. The exceptions are Python classes, in
//! `python/tfbc/_errors.py`.
#![forbid(unsafe_code)]

mod contents;
mod dataset;
mod dataset_pass;
mod display;
mod errors;
mod events;
mod formats;
mod html;
mod input;
mod parts;
mod plain;
mod selection;
mod single;
mod source;
mod table;
mod trace;
mod values;
mod worker;

use pyo3::prelude::*;

/// Compiled part of the package.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::events::{Event, EventIterator};
    #[pymodule_export]
    use crate::formats::{Diagnostic, Field, Formats, check, compile};
    #[pymodule_export]
    use crate::parts::Part;
    #[pymodule_export]
    use crate::single::format_event;
    #[pymodule_export]
    use crate::table::{Batch, BatchIterator, Schema, Table};
    #[pymodule_export]
    use crate::trace::{Trace, find_traces, open, open_part};
}
