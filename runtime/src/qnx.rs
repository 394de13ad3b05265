//! Options and counts of QNX kernel logs.

pub use crate::reader::kev::KevCounts;
pub use crate::records::{
    RecordColumn, RecordColumns, RecordColumnsError, RecordFilter, RecordIds, RecordOptions, RecordSummary, TimeForm,
};
