//! The run that passes the events of a report to a sink as rows.

use crate::events::BuiltInEvents;
use crate::formats::Formats;
use crate::monitor::{Monitor, ReportError};
use crate::reader::AnyTrace;
use crate::reader::kev::QnxRelease;
use crate::rows::{Names, RowDecoder, RowOptions, RowSink};
use crate::trace::{ReportOptions, ReportSummary, Trace};
use crate::{aix_report, qnx_report};

/// Release of QNX (major, minor) that a kernel log names; `None` for a trace of AIX.
pub fn qnx_release(trace: &Trace) -> Option<Option<QnxRelease>> {
    trace.qnx_release()
}

/// Labels and schemas of the events of AIX, or of a release of QNX.
pub fn names(formats: &Formats, release: Option<Option<QnxRelease>>) -> Names<'_> {
    // Names do not depend on the byte order.
    Names::new(formats.catalog(), release.map(|release| BuiltInEvents::of(release, false)))
}

/// Passes a row for each event of a report to a sink. Ignores the options for columns, output format, heading, pages,
/// order and counts.
///
/// Rows are the same for any number of threads.
///
/// # Errors
/// Reading the trace failed, or the sink failed ([`ReportError::Write`]).
pub fn rows(
    trace: &mut Trace,
    formats: &Formats,
    options: &ReportOptions,
    wanted: RowOptions,
    sink: &mut dyn RowSink,
    monitor: &mut (dyn Monitor + Send),
) -> Result<ReportSummary, ReportError> {
    trace.check_part(formats, options, false)?;
    let catalog = formats.catalog();
    let mut decoder = RowDecoder::new(sink, names(formats, qnx_release(trace)));
    Ok(match trace.source_mut() {
        AnyTrace::Aix(logs) => {
            ReportSummary::Aix(aix_report::write_rows(logs, catalog, &options.aix, wanted, &mut decoder, monitor)?)
        }
        AnyTrace::Kev(log) => {
            ReportSummary::Qnx(qnx_report::write_rows(log, catalog, &options.qnx, wanted, &mut decoder, monitor)?)
        }
    })
}
