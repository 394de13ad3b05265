//! Generators of traces, and benchmark cases.
//!
//! [`EventWriter`] and [`LogBuilder`] write AIX events, streams and log files for generators and tests, and
//! [`shell_buffers`] the bundled trace. [`templates`] and [`Load`] are the benchmark load, and [`NativeText`] formats
//! it by hand; [`definitions`] and [`RecordLoad`] are the load of QNX user events. [`KevWriter`] and [`KevHead`] write
//! QNX logs, [`KevLoad`] one of any length, and [`TraceLoad`] an AIX trace of any length. [`cases`] contains the
//! benchmarks.
//!
//! The modules `native…` are written by hand for speed alone, and only they use `unsafe`: nothing of them is shipped.

pub mod cases;
mod copy;
mod datakeys;
mod engine;
mod header;
mod kev;
mod kev_load;
mod load;
mod log_file;
mod native;
mod native_datakeys;
mod native_kev;
mod native_line;
#[cfg(target_arch = "x86_64")]
mod native_sse;
mod native_switch;
mod report_run;
mod rng;
mod scan;
pub mod shapes;
mod shell;
mod stanzas;
mod trace_load;
mod writer;

pub use copy::{COPY_SLOTS, copy_buffers};
pub use datakeys::{RecordLoad, USER, UserEvent, definitions, user_log};
pub use engine::{Engine, assert_same_text, blob, program, run_native};
pub use header::{Header, StartProcess, TimeBase};
pub use kev::{KevEvent, KevHead, KevWriter, SLOT_BYTES, SlotBytes};
pub use kev_load::KevLoad;
pub use load::{FLAGS, Load, MAX_TEMPLATES, OPERATIONS, Pick, Shape, mix_buffers, template_id, templates};
pub use log_file::LogFile;
pub use native::NativeText;
pub use native_kev::{NativeKev, simple_log};
pub use native_line::{NativeReport, StreamEvent, StreamEvents};
pub use report_run::ReportRun;
pub use rng::Rng;
pub use scan::{Word, WordKind, scan, sum, translate};
pub use shell::shell_buffers;
pub use trace_load::{Files, TraceKind, TraceLength, TraceLoad};
pub use writer::{Data, EventWriter, LOG32_MAGIC, LOG64_MAGIC, LogBuilder, STREAM64_MAGIC, Stamp, TraceHook, Width};
