//! AIX traces: options, counts and inventory.

pub use crate::aix_report::{AixReportOptions, AixSummary, TableLimits};
pub use crate::columns::Timestamp;
pub use crate::context::{AddressNames, ContextError, ContextTable, LoadError as ContextLoadError, NamesError};
pub use crate::filter::{Filter, Numbers, Processes, Threads};
pub use crate::ids::{IdListError, IdSet, display_id};
pub use crate::inventory::{AixInventory, FileInventory, Gap};
pub use crate::reader::aix::{AfterDamage, AixKind, CpuidWord, LogHeader, OpenError, ReadOptions, SystemInfo};
pub use crate::time_zone::TimeZone;
