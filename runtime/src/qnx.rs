//! Options and counts of QNX kernel logs.

pub use crate::reader::kev::KevCounts;
pub use crate::records::{RecordFilter, RecordIds, RecordOptions, RecordSummary, TimeForm};
