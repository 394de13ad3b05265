//! Inventory of QNX kernel logs.

use super::PROGRESS_EVERY;
use crate::reader::Imbalance;
use crate::reader::kev::{KevItem, KevLog, KevRecord};
use crate::report::Monitor;
use std::collections::BTreeMap;
use std::io;

/// Inventory of a QNX kernel log.
#[derive(Debug, Clone, Default)]
pub struct QnxInventory {
    /// Number of damaged places.
    pub n_damaged: u64,
    /// Number of events without a time.
    pub n_untimed: u64,
    /// Earliest and latest event, in nanoseconds since boot.
    pub time_ns: Option<(u64, u64)>,
    /// Number of events per class and event number.
    pub by_event: BTreeMap<(u8, u16), u64>,
    /// Mismatch between the reader's counts, which is a bug of this library.
    pub imbalance: Option<Imbalance>,
    /// Bit mask of CPUs with events.
    cpus: u64,
}

impl QnxInventory {
    /// Reads a log to its end. Notices and progress go to the monitor.
    ///
    /// # Errors
    /// Reading the log failed.
    pub fn take(log: &mut KevLog, monitor: &mut dyn Monitor) -> io::Result<Self> {
        let mut inventory = Self::default();
        let header = log.header().clone();
        let mut n_records = 0u64;
        loop {
            let offset = log.progress();
            match log.next()? {
                Some(KevItem::Record(record)) => {
                    inventory.count(&record, record.cycles().and_then(|cycles| header.ns(cycles)));
                    n_records += 1;
                    if n_records.is_multiple_of(PROGRESS_EVERY) {
                        monitor.progress(offset, n_records);
                    }
                }
                Some(KevItem::Slot(_)) => {}
                Some(KevItem::Notice(notice)) => {
                    inventory.n_damaged += u64::from(notice.damage);
                    monitor.notice(&notice);
                }
                None => break,
            }
        }
        inventory.imbalance = log.tally().check().err();
        Ok(inventory)
    }

    /// CPUs with events, in ascending order.
    pub fn cpus(&self) -> impl Iterator<Item = u32> {
        (0..u64::BITS).filter(|cpu| self.cpus >> cpu & 1 == 1)
    }

    fn count(&mut self, record: &KevRecord<'_>, time_ns: Option<u64>) {
        *self.by_event.entry((record.meant_class(), record.event)).or_default() += 1;
        self.cpus |= 1 << (record.cpu & 63);
        match time_ns {
            None => self.n_untimed += 1,
            Some(now) => {
                let (first, last) = self.time_ns.unwrap_or((now, now));
                self.time_ns = Some((first.min(now), last.max(now)));
            }
        }
    }
}
