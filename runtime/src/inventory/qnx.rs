//! Inventory of QNX kernel logs.

use crate::events::BuiltInEvents;
use crate::monitor::{Monitor, PROGRESS_EVERY};
use crate::reader::Imbalance;
use crate::reader::kev::{KevCounts, KevItem, KevLog, KevRecord};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

/// Inventory of a QNX kernel log.
#[derive(Debug, Clone)]
pub struct QnxInventory {
    /// Number of damaged places.
    pub n_damaged: u64,
    /// Number of events without a time.
    pub n_untimed: u64,
    /// Earliest and latest event, in nanoseconds since boot.
    pub time_ns: Option<(u64, u64)>,
    /// Number of events per class and event number.
    pub by_event: BTreeMap<(u8, u16), u64>,
    /// Counts of the reader.
    pub counts: KevCounts,
    /// Number of bytes skipped because of damage.
    pub n_skipped_bytes: u64,
    /// Mismatch between the reader's counts, which is a bug of this library.
    pub imbalance: Option<Imbalance>,
    built_in: BuiltInEvents,
    /// Bit mask of CPUs with events.
    cpus: u64,
}

impl QnxInventory {
    /// Reads a log to its end. Notices and progress go to the monitor.
    ///
    /// # Errors
    /// Reading the log failed.
    pub(crate) fn take(log: &mut KevLog, monitor: &mut dyn Monitor) -> io::Result<Self> {
        let header = log.header().clone();
        let mut inventory = Self {
            n_damaged: 0,
            n_untimed: 0,
            time_ns: None,
            by_event: BTreeMap::new(),
            counts: KevCounts::default(),
            n_skipped_bytes: 0,
            imbalance: None,
            built_in: BuiltInEvents::of(header.release, header.big_endian),
            cpus: 0,
        };
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
        let tally = log.tally();
        (inventory.counts, inventory.n_skipped_bytes) = (log.counts(), tally.skipped);
        inventory.imbalance = tally.check().err();
        Ok(inventory)
    }

    /// Label of a kernel event in the log's release, such as `MSG_SENDV/11 exit`; `None` if the event is unknown.
    pub fn label(&self, class: u8, event: u16) -> Option<Cow<'static, str>> {
        self.built_in.distinct_label(class, event)
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
