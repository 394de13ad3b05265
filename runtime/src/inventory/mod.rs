//! Inventory of a whole trace, collected in one pass: events per id, time range, CPUs, damage, gaps.
//!
//! ```
//! use tfbc::Notice;
//! use tfbc::aix::ReadOptions;
//! use tfbc::internal::input::AnyTrace;
//! use tfbc::internal::inventory::AixInventory;
//!
//! let AnyTrace::Aix(mut logs) = AnyTrace::open("samples/shell.trc".as_ref(), &ReadOptions::default())? else { panic!() };
//! let inventory = AixInventory::take(&mut logs, &mut |_: &Notice| {})?;
//! // Hook 134 as a four-digit id.
//! assert!(inventory.by_id().any(|(id, n)| (id, n) == (0x1340, 3)));
//! assert_eq!(inventory.n_damaged, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Kind, size and other header data are properties of the opened trace: [`Trace`](crate::reader::aix::Trace) and
//! [`KevLog`](crate::reader::kev::KevLog).

mod aix;
mod qnx;

pub use aix::{AixInventory, FileInventory, Gap};
pub use qnx::QnxInventory;

/// Number of events between two progress reports.
const PROGRESS_EVERY: u64 = 1 << 14;
