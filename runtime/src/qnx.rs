//! QNX kernel logs: options and counts.

pub use crate::qnx_report::{FieldLayout, QnxReportOptions, QnxSummary, TimeForm};
pub use crate::reader::kev::{KevCounts, KevRefusal, KevRefusalKind, QnxRelease};
