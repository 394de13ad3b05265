//! QNX kernel logs: options, counts and inventory.

pub use crate::events::{class_name, display_id, label};
pub use crate::inventory::QnxInventory;
pub use crate::qnx_report::{FieldLayout, QnxReportOptions, QnxSummary, RecordFilter, RecordIds, TimeForm};
pub use crate::reader::kev::{KevCounts, KevRefusal, KevRefusalKind};
