//! Inventory of a whole trace, collected in one pass: events per id, time range, CPUs, damage, gaps.
//!
//! Kind, size and other header data are properties of the opened trace: [`Trace::info`](crate::Trace::info).

mod aix;
mod aix_text;
mod qnx;
mod qnx_text;

use crate::formats::Formats;
use crate::ids::EventId;
use crate::monitor::Monitor;
use crate::reader::{AnyTrace, Imbalance};
use crate::trace::{Trace, TraceFile, TraceInfo};
use aix::AixInventory;
use qnx::QnxInventory;
use std::fmt::Write;
use std::io;

/// Inventory of a whole trace: its events per id, time range, damage and gaps. [`Trace::inventory`] takes it.
#[derive(Debug, Clone)]
pub struct Inventory {
    info: TraceInfo,
    counts: Counts,
}

/// Counts by vendor.
#[derive(Debug, Clone)]
enum Counts {
    Aix(Box<AixInventory>),
    Qnx(Box<QnxInventory>),
}

impl Trace {
    /// Reads the trace to its end and counts its events. Notices and progress go to a monitor.
    ///
    /// Memory does not grow with the length of the trace: up to 65,536 threads and CPUs, and 100 damaged places and
    /// gaps, are kept.
    ///
    /// ```
    /// use tfbc::{EventId, Formats, Notice, Trace};
    ///
    /// let mut trace = Trace::open("samples/shell.trc")?;
    /// let inventory = trace.inventory(&mut |_: &Notice| {})?;
    /// assert!(inventory.by_event().contains(&(EventId::Hook(0x1340), 3)));
    /// assert_eq!(inventory.n_damaged(), 0);
    /// print!("{}", inventory.text(&Formats::builtin()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Reading the trace failed. Damage is not an error.
    pub fn inventory(&mut self, monitor: &mut dyn Monitor) -> io::Result<Inventory> {
        let info = self.info();
        let counts = match self.source_mut() {
            AnyTrace::Aix(logs) => Counts::Aix(Box::new(AixInventory::take(logs, monitor)?)),
            AnyTrace::Kev(log) => Counts::Qnx(Box::new(QnxInventory::take(log, monitor)?)),
        };
        Ok(Inventory { info, counts })
    }
}

impl Inventory {
    /// Ids with their number of events, in ascending order. A QNX event that takes several slots counts once.
    pub fn by_event(&self) -> Vec<(EventId, u64)> {
        match &self.counts {
            Counts::Aix(inventory) => inventory.by_id().map(|(id, n)| (EventId::Hook(id), n)).collect(),
            Counts::Qnx(inventory) => {
                let events = inventory.by_event.iter();
                events.map(|(&(class, event), &n)| (EventId::Record(class, event), n)).collect()
            }
        }
    }

    /// Earliest and latest time, in nanoseconds: since the start of an AIX trace, since boot in a QNX log. `None` if no
    /// event has a time.
    pub fn time_ns(&self) -> Option<(u64, u64)> {
        match &self.counts {
            Counts::Aix(inventory) => inventory.elapsed_ns(),
            Counts::Qnx(inventory) => inventory.time_ns,
        }
    }

    /// Number of damaged places.
    pub fn n_damaged(&self) -> u64 {
        match &self.counts {
            Counts::Aix(inventory) => inventory.n_damaged,
            Counts::Qnx(inventory) => inventory.n_damaged,
        }
    }

    /// Lines that `tfbc info` prints, with labels from `formats`.
    pub fn text(&self, formats: &Formats) -> String {
        let mut out = String::new();
        match &self.counts {
            Counts::Aix(inventory) => aix_text::write(inventory, &self.info, formats, &mut out),
            Counts::Qnx(inventory) => qnx_text::write(inventory, &self.info, formats, &mut out),
        }
        out
    }

    /// Mismatch between the counts of reader and inventory, which is a bug of this library.
    #[doc(hidden)]
    pub fn imbalance(&self) -> Option<Imbalance> {
        match &self.counts {
            Counts::Aix(inventory) => inventory.imbalance,
            Counts::Qnx(inventory) => inventory.imbalance,
        }
    }
}

/// Writes the lines about the size of a file, and its compression if it is compressed.
fn write_size(file: &TraceFile, out: &mut String) {
    if let Some(size) = file.size {
        let _ = writeln!(out, "  size       {size} bytes");
    }
    if let Some(compression) = file.compression {
        let size = file.compressed_size.map_or(String::new(), |size| format!(", {size} bytes"));
        let _ = writeln!(out, "  packed     {compression}{size}");
    }
}

/// Number with a noun, such as `1 event` or `2 events`.
fn count(n: u64, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// Time in seconds with nine decimals.
fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}
