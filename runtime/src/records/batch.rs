//! Records that are on their way to a worker.

use crate::reader::Notice;
use crate::reader::kev::KevRecord;

/// Records of one batch, at most.
const MAX_RECORDS: usize = 1 << 13;
/// Bytes of payload of one batch, unless one record has more.
const MAX_BYTES: usize = 256 << 10;

/// Some records with their payloads, and what is to be said behind them.
#[derive(Debug, Default)]
pub(super) struct Batch {
    heads: Vec<Head>,
    bytes: Vec<u8>,
    pub notices: Vec<Notice>,
    /// Where the reader stands.
    pub offset: u64,
}

/// A record without its payload, which ends at `end`.
#[derive(Debug, Clone, Copy)]
struct Head {
    record: KevRecord<'static>,
    end: usize,
}

impl Batch {
    pub fn push(&mut self, record: &KevRecord<'_>) {
        self.bytes.extend_from_slice(record.bytes);
        self.heads.push(Head { record: KevRecord { bytes: &[], ..*record }, end: self.bytes.len() });
    }

    pub fn is_full(&self) -> bool {
        self.heads.len() >= MAX_RECORDS || self.bytes.len() >= MAX_BYTES
    }

    pub fn len(&self) -> usize {
        self.heads.len()
    }

    pub fn records(&self) -> impl Iterator<Item = KevRecord<'_>> {
        let starts = std::iter::once(0).chain(self.heads.iter().map(|head| head.end));
        let payloads = starts.zip(&self.heads).map(|(start, head)| &self.bytes[start..head.end]);
        self.heads.iter().zip(payloads).map(|(head, bytes)| KevRecord { bytes, ..head.record })
    }
}
