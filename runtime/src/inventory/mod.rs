//! Inventory of a whole trace, collected in one pass: events per id, time range, CPUs, damage, gaps.
//!
//! Kind, size and other header data are properties of the opened trace: [`Trace::info`](crate::Trace::info).

mod aix;
mod qnx;

pub use aix::{AixInventory, FileInventory, Gap};
pub use qnx::QnxInventory;

/// Inventory of a trace, by vendor. See [`Trace::inventory`](crate::Trace::inventory).
#[derive(Debug, Clone)]
pub enum Inventory {
    /// Inventory of an AIX trace.
    Aix(Box<AixInventory>),
    /// Inventory of a QNX log.
    Qnx(Box<QnxInventory>),
}
