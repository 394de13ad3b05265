//! Options and counts of QNX kernel logs.

pub use crate::reader::kev::{KevCounts, KevRefusal, KevRefusalKind};
pub use crate::records::{FieldLayout, RecordFilter, RecordIds, RecordOptions, RecordSummary, TimeForm};
