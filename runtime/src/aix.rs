//! AIX traces: options and counts.

pub use crate::aix_report::{AixReportOptions, AixSummary, TableLimits};
pub use crate::columns::Timestamp;
pub use crate::context::{AddressNames, ContextError, ContextTable, LoadError as ContextLoadError, NamesError};
pub use crate::ids::{IdListError, IdSet};
pub use crate::reader::aix::{AfterDamage, AixKind, CpuidWord, LogHeader, OpenError, ReadOptions};
pub use crate::time_zone::TimeZone;
pub use crate::trace::write_raw;
