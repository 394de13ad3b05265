//! The report as text.

use crate::host::{Host, HostWriter};
use crate::job::{Failure, Job, Prepared};
use serde_json::{Value, json};
use std::io::{Read, Seek};
use std::sync::{Arc, Mutex, PoisonError};
use tfbc::{Monitor, Notice, ReportSummary, report_with};

/// A host that the output and the monitor of a report share.
struct Shared<'h, H>(Arc<Mutex<&'h mut H>>);

impl<H: Host> Shared<'_, H> {
    fn with(&self, act: impl FnOnce(&mut H)) {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl<H: Host> std::io::Write for Shared<'_, H> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.with(|host| _ = std::io::Write::write(&mut HostWriter(host), bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<H: Host> Monitor for Shared<'_, H> {
    fn notice(&mut self, notice: &Notice) {
        self.with(|host| host.notice(notice));
    }

    fn progress(&mut self, offset: u64, n_events: u64) {
        self.with(|host| host.progress(offset, n_events));
    }
}

/// Writes the report of a trace in pieces. Returns the number of events and of damaged places.
pub fn report<R: Read + Seek + Send + 'static>(
    job: &Job,
    open: &impl Fn(usize) -> R,
    host: &mut impl Host,
) -> Result<Value, Failure> {
    let Prepared { formats, mut trace, info, options } = job.prepare(open)?;
    let host = Arc::new(Mutex::new(host));
    let mut monitor = Shared(host.clone());
    let summary = report_with(&mut trace, &formats, &options, Shared(host), &mut monitor);
    let summary = summary.map_err(|error| Failure(error.to_string()))?;
    let (n_shown, n_damaged) = match summary {
        ReportSummary::Aix(summary) => (summary.n_reported, summary.n_damaged),
        ReportSummary::Qnx(summary) => (summary.n_reported, summary.n_damaged),
    };
    Ok(json!({ "kind": info.kind.to_string(), "events": n_shown, "damaged": n_damaged }))
}
