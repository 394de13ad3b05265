//! The timeline as a file for Perfetto.

use crate::host::{Host, HostMonitor};
use crate::job::{Failure, Job};
use crate::page::analysis;
use serde_json::{Value, json};
use std::io::{BufWriter, Read, Seek, Write};
use std::sync::{Arc, Mutex, PoisonError};
use tfbc_analysis::timeline::{TimelineForm, TimelineOptions, timeline as write_timeline};
use tfbc_view::timeline_options;

/// Bytes of a piece.
const PIECE: usize = 1 << 20;
/// Slices of a timeline.
const MAX_SLICES: u64 = 5_000_000;

/// Collected pieces: the host is the monitor's while the timeline is written.
#[derive(Default, Clone)]
struct Pieces(Arc<Mutex<Vec<Vec<u8>>>>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes the timeline of a trace in pieces, for Perfetto.
pub fn timeline<R: Read + Seek + Send + 'static>(
    job: &Job,
    open: &impl Fn(usize) -> R,
    host: &mut impl Host,
) -> Result<Value, Failure> {
    let formats = job.load(false)?;
    let what =
        TimelineOptions { form: TimelineForm::Perfetto, ..timeline_options(!job.formats.is_empty(), None, MAX_SLICES) };
    let pieces = Pieces::default();
    let mut out = BufWriter::with_capacity(PIECE, pieces.clone());
    let mut trace = job.open(open)?;
    let mut monitor = HostMonitor(&mut *host);
    let counts = write_timeline(&mut trace, &analysis(job), &what, formats.catalog(), &mut monitor, &mut out);
    let counts = counts.map_err(|error| Failure(error.to_string()))?;
    out.flush().map_err(|error| Failure(error.to_string()))?;
    for piece in pieces.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        host.piece(&piece);
    }
    Ok(json!({ "events": counts.n_events, "full": counts.is_full }))
}
