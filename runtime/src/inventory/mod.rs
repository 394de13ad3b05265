//! Inventory of a whole trace, collected in one pass: events per id, time range, CPUs, damage, gaps.
//!
//! Kind, size and other header data are properties of the opened trace: [`Trace::info`](crate::Trace::info).

mod aix;
mod qnx;

pub use aix::{AixInventory, FileInventory, Gap};
pub use qnx::QnxInventory;

use crate::monitor::Monitor;
use crate::reader::AnyTrace;
use crate::trace::Trace;
use std::io;

/// Inventory of a trace, by vendor.
#[derive(Debug, Clone)]
pub enum Inventory {
    /// Inventory of an AIX trace.
    Aix(Box<AixInventory>),
    /// Inventory of a QNX log.
    Qnx(Box<QnxInventory>),
}

impl Inventory {
    /// Reads a trace to its end and counts its events by id, CPU and thread. Notices and progress go to a monitor.
    ///
    /// ```
    /// use tfbc::internal::inventory::Inventory;
    /// use tfbc::{Notice, Trace};
    ///
    /// let mut trace = Trace::open("samples/shell.trc")?;
    /// let Inventory::Aix(inventory) = Inventory::take(&mut trace, &mut |_: &Notice| {})? else { panic!() };
    /// // Hook 134 as a four-digit id.
    /// assert!(inventory.by_id().any(|(id, n)| (id, n) == (0x1340, 3)));
    /// assert_eq!(inventory.n_damaged, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Reading the trace failed. Damage is not an error.
    pub fn take(trace: &mut Trace, monitor: &mut dyn Monitor) -> io::Result<Self> {
        match trace.source_mut() {
            AnyTrace::Aix(logs) => AixInventory::take(logs, monitor).map(|inventory| Self::Aix(Box::new(inventory))),
            AnyTrace::Kev(log) => QnxInventory::take(log, monitor).map(|inventory| Self::Qnx(Box::new(inventory))),
        }
    }
}
