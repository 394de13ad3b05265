//! `tfbc info` of QNX logs.

use super::console::{Console, Failure, Message};
use super::trace::{Announcer, announce_imbalance};
use crate::catalog::Catalog;
use crate::events::{Events, class_name};
use crate::reader::kev::{KevItem, KevLog, KevRecord};
use crate::report::Monitor;
use std::collections::BTreeMap;
use std::fmt::Write;
use tfbc_vm::Space;

/// What one pass over a log counts.
#[derive(Default)]
pub struct LogInventory {
    pub n_damaged: u64,
    /// Whether what was read does not add up.
    pub is_at_fault: bool,
    n_untimed: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    cpus: u64,
    by_event: BTreeMap<(u8, u16), u64>,
}

impl LogInventory {
    /// Reads a log to its end.
    pub fn take(console: &Console, log: &mut KevLog) -> Result<Self, Failure> {
        let mut announcer = Announcer::new(console, log.name(), log.file_size());
        let mut inventory = Self::default();
        let header = log.header().clone();
        let name = log.name().to_owned();
        let unreadable = |error| Failure::Say(Message::Unreadable, format!("cannot read {name}: {error}"));
        let mut n_records = 0u64;
        loop {
            let offset = log.progress();
            match log.next().map_err(unreadable)? {
                Some(KevItem::Record(record)) => {
                    inventory.count(&record, record.cycles().and_then(|cycles| header.ns(cycles)));
                    n_records += 1;
                    if n_records.is_multiple_of(1 << 14) {
                        announcer.progress(offset, n_records);
                    }
                }
                Some(KevItem::Slot(_)) => {}
                Some(KevItem::Notice(notice)) => {
                    inventory.n_damaged += u64::from(notice.damage);
                    announcer.notice(&notice);
                }
                None => break,
            }
        }
        announcer.end();
        let imbalance = log.tally().check().err();
        announce_imbalance(console, &name, imbalance);
        inventory.is_at_fault = imbalance.is_some();
        Ok(inventory)
    }

    fn count(&mut self, record: &KevRecord<'_>, time_ns: Option<u64>) {
        let class = record.meant_class();
        *self.by_event.entry((class, record.event)).or_default() += 1;
        self.cpus |= 1 << (record.cpu & 63);
        match time_ns {
            None => self.n_untimed += 1,
            Some(ns) => {
                self.first_ns = Some(self.first_ns.map_or(ns, |first| first.min(ns)));
                self.last_ns = Some(self.last_ns.map_or(ns, |last| last.max(ns)));
            }
        }
    }

    /// Describes the log.
    pub fn write(&self, log: &KevLog, catalog: &Catalog<'_>, out: &mut String) {
        let header = log.header();
        let order = if header.big_endian { "big-endian" } else { "little-endian" };
        let _ = writeln!(out, "{}: QNX kernel log, {order}", log.name());
        if let Some(size) = log.size() {
            let _ = writeln!(out, "  size       {size} bytes");
        }
        if let Some(packing) = log.packing() {
            let _ = writeln!(out, "  packed     {packing}");
        }
        for (key, value) in &header.attributes {
            let _ = writeln!(out, "  {:<20} {}", key.escape_ascii().to_string(), value.escape_ascii());
        }
        if let (Some(first), Some(last)) = (self.first_ns, self.last_ns) {
            let seconds = |ns: u64| format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
            let _ =
                writeln!(out, "  time       {} to {} s, {} s", seconds(first), seconds(last), seconds(last - first));
        }
        if self.n_untimed > 0 {
            let _ = writeln!(out, "  no time    {}", super::count(self.n_untimed, "event"));
        }
        let (counts, tally) = (log.counts(), log.tally());
        let cpus: Vec<_> = (0..64).filter(|cpu| self.cpus >> cpu & 1 == 1).map(|cpu| cpu.to_string()).collect();
        let _ = writeln!(out, "  events     {} of {}", counts.records, super::count(counts.slots, "slot"));
        let _ = writeln!(out, "  cpus       {}", cpus.join(", "));
        let damaged = super::count(self.n_damaged, "place");
        let _ = writeln!(out, "  damaged    {damaged}, {}", super::count(tally.skipped, "byte"));
        let _ = writeln!(out, "  gaps       {}, {} lost", counts.gaps, super::count(counts.lost_buffers, "buffer"));
        self.write_events(Events::of(header.release, header.big_endian), catalog, out);
    }

    fn write_events(&self, events: Events, catalog: &Catalog<'_>, out: &mut String) {
        for ((class, event), n) in &self.by_event {
            let name = class_name(*class).map_or_else(|| class.to_string(), str::to_owned);
            let label = events.label(*class, *event).map_or_else(|| format!("EVENT {event}"), str::to_owned);
            let entries = catalog.records(Space::Record, *class, *event);
            let formats = entries.iter().filter_map(|entry| {
                let program = catalog.record_program(entry);
                program.record(*class, *event).map(|hook| String::from_utf8_lossy(hook.label).into_owned())
            });
            let formats = formats.collect::<Vec<_>>().join("; ");
            let _ = writeln!(out, "  {:<14} {n:>12}  {label:<20} {formats}", format!("{name}:{event}"));
        }
    }
}
