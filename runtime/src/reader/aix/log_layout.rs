//! Layout of log files: a header, a table of buffers, and the areas that these refer to.
//!
//! ```text
//!            32-bit                     64-bit
//!  0   u32 magic EFDF1112         u32 magic EFDF1113
//!  4   u32 nentries, currentry, mode, wrapcount, fd (junk)
//! 24   u32 fp (junk)              u64 fp (junk)
//! 28   ic: u32 offset, size       32  ic: u64 offset, size
//! 36   entry[nentries]: as ic     48  entry[nentries]: as ic
//! ```
//!
//! The layout is not published; this is our interpretation. Offsets count from the start of the file. An entry of size
//! 0 is unused; otherwise the size is the number of bytes of its events. `currentry` is the next slot to write. The
//! area `ic` contains the events that the trace command wrote at the start.

use super::step::Kernel;
use std::collections::BTreeMap;

/// Largest accepted table, in entries.
const MAX_ENTRIES: u64 = 1 << 18;

/// Fixed part of a log's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogHeader {
    /// Number of entries of the table.
    pub n_entries: u32,
    /// Index of the table's entry that would be written next.
    pub current: u32,
    /// Mode bits: 1 no wrap, 2 stop on wrap, 4 base file of a log with one file per CPU, 8 file of one CPU.
    pub mode: u32,
    /// Number of times that writing continued at the first entry, over older events.
    pub wraps: u32,
    pub(super) ic: EventRegion,
}

/// Byte range of whole events in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventRegion {
    pub offset: u64,
    pub size: u64,
}

/// Size of the fixed part in bytes.
pub(super) const fn header_len(kernel: Kernel) -> usize {
    match kernel {
        Kernel::Bits32 => 36,
        Kernel::Bits64 => 48,
    }
}

/// Size of a table entry in bytes.
const fn row_len(kernel: Kernel) -> usize {
    2 * kernel.word()
}

/// Mode bit of a base file.
const MODE_BASE: u32 = 4;
/// Mode bit of a CPU's file.
const MODE_CPU: u32 = 8;

impl LogHeader {
    /// True for the base file of a log with one file per CPU.
    pub(crate) fn is_base(&self) -> bool {
        self.mode & MODE_BASE != 0
    }

    /// True for the file of one CPU.
    pub(crate) fn is_cpu_file(&self) -> bool {
        self.mode & MODE_CPU != 0
    }

    /// Parses the fixed part; the caller has checked the magic.
    pub(super) fn parse(kernel: Kernel, bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
        let ic = bytes.get(header_len(kernel) - row_len(kernel)..)?;
        Some(Self {
            n_entries: word(4)?,
            current: word(8)?,
            mode: word(12)?,
            wraps: word(16)?,
            ic: parse_row(kernel, ic)?,
        })
    }

    /// Size of the table in bytes; `None` if it is above the limit.
    pub(super) fn table_len(&self, kernel: Kernel) -> Option<u64> {
        let n = u64::from(self.n_entries);
        (n <= MAX_ENTRIES).then_some(n * row_len(kernel) as u64)
    }

    /// Entries in reading order. `None` if the header is inconsistent: it misses a used entry or points outside the
    /// table.
    pub(super) fn order(&self, entries: &[EventRegion]) -> Option<Vec<usize>> {
        let current = self.current as usize;
        if entries.iter().all(|entry| entry.size == 0) {
            return Some(Vec::new());
        }
        if current > entries.len() {
            return None;
        }
        let order: Vec<usize> =
            if self.wraps > 0 { (current..entries.len()).chain(0..current).collect() } else { (0..current).collect() };
        let used = |at: &usize| entries[*at].size > 0;
        let complete = order.iter().filter(|at| used(at)).count() == (0..entries.len()).filter(used).count();
        complete.then(|| order.into_iter().filter(used).collect())
    }
}

pub(super) fn parse_table(kernel: Kernel, bytes: &[u8]) -> Vec<EventRegion> {
    bytes.chunks_exact(row_len(kernel)).filter_map(|row| parse_row(kernel, row)).collect()
}

fn parse_row(kernel: Kernel, bytes: &[u8]) -> Option<EventRegion> {
    let number = |at: usize| match kernel {
        Kernel::Bits32 => Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?).into()),
        Kernel::Bits64 => Some(u64::from_be_bytes(*bytes.get(at..)?.first_chunk()?)),
    };
    Some(EventRegion { offset: number(0)?, size: number(kernel.word())? })
}

/// Byte ranges of a file that are in use, so that no byte is read as part of two events.
#[derive(Debug, Default)]
pub(super) struct ClaimedRanges {
    ends: BTreeMap<u64, u64>,
}

impl ClaimedRanges {
    /// Claims a range. The error is the range that overlaps it.
    pub fn take(&mut self, start: u64, end: u64) -> Result<(), (u64, u64)> {
        let before = self.ends.range(..end).next_back();
        if let Some((taken, taken_end)) = before
            && *taken_end > start
        {
            return Err((*taken, *taken_end));
        }
        self.ends.insert(start, end);
        Ok(())
    }

    /// Unclaimed ranges before the offset `end`.
    pub fn gaps(&self, end: u64) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut at = 0;
        for (&from, &to) in self.ends.iter().chain([(&end, &end)]) {
            if at < from {
                gaps.push((at, from.min(end)));
            }
            at = at.max(to);
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(current: u32, wraps: u32) -> LogHeader {
        LogHeader { n_entries: 4, current, mode: 0, wraps, ic: EventRegion { offset: 0, size: 0 } }
    }

    fn entries(sizes: [u64; 4]) -> Vec<EventRegion> {
        sizes.iter().map(|size| EventRegion { offset: 100, size: *size }).collect()
    }

    #[test]
    fn a_wrapped_log_starts_at_the_next_entry() {
        assert_eq!(header(1, 1).order(&entries([8, 8, 8, 8])), Some(vec![1, 2, 3, 0]));
        assert_eq!(header(4, 1).order(&entries([8, 8, 8, 8])), Some(vec![0, 1, 2, 3]));
    }

    #[test]
    fn an_unwrapped_log_ends_there() {
        assert_eq!(header(2, 0).order(&entries([8, 8, 0, 0])), Some(vec![0, 1]));
        assert_eq!(header(3, 0).order(&entries([8, 0, 8, 0])), Some(vec![0, 2]));
    }

    #[test]
    fn an_order_without_a_used_entry_is_rejected() {
        assert_eq!(header(1, 0).order(&entries([8, 8, 0, 0])), None);
        assert_eq!(header(5, 1).order(&entries([8, 8, 8, 8])), None);
    }

    #[test]
    fn claims_refuse_overlap() {
        let mut claims = ClaimedRanges::default();
        assert_eq!(claims.take(10, 20), Ok(()));
        assert_eq!(claims.take(20, 30), Ok(()));
        assert_eq!(claims.take(0, 10), Ok(()));
        assert_eq!(claims.take(15, 16), Err((10, 20)));
        assert_eq!(claims.take(5, 40), Err((20, 30)));
    }

    #[test]
    fn gaps_are_what_nobody_claimed() {
        let mut claims = ClaimedRanges::default();
        for (start, end) in [(10, 20), (20, 30), (35, 50)] {
            claims.take(start, end).unwrap();
        }
        assert_eq!(claims.gaps(60), [(0, 10), (30, 35), (50, 60)]);
        assert_eq!(claims.gaps(50), [(0, 10), (30, 35)]);
        assert_eq!(ClaimedRanges::default().gaps(0), []);
    }
}
