//! Splits a QNX log into parts.

use super::run::RecordProducer;
use crate::engine::{Chunk, Producer};
use crate::monitor::ReportError;
use crate::reader::kev::KevLog;
use crate::split::codec::Codec;
use crate::split::{Border, Cuts, LogParts};

/// Reads a log to its end, and returns the state at each border.
pub(crate) fn split(log: &mut KevLog, mut cuts: Cuts) -> Result<LogParts, ReportError> {
    let mut producer = RecordProducer::new(log, true);
    let (mut chunk, mut parts) = (Chunk::default(), LogParts::default());
    loop {
        let limit = cuts.next(producer.log().n_read());
        producer.log().set_read_limit(limit);
        while producer.fill(&mut chunk, false)? {
            chunk.notices.clear();
        }
        chunk.notices.clear();
        let (read, n_events) = (producer.log().n_read(), producer.log().n_records());
        if read < limit {
            parts.end(read, n_events, false);
            return Ok(parts);
        }
        let Some(mut position) = producer.log().position() else {
            cuts.delay();
            continue;
        };
        let offset = position.offset;
        let (position, state) = (Codec::encode(&mut position), Codec::encode(&mut producer.snapshot()));
        parts.borders.push(Border { read, n_events, offset, position, state });
    }
}
