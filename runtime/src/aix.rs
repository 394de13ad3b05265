//! Options and counts of AIX traces.

pub use crate::columns::Timestamp;
pub use crate::context::{AddressNames, ContextError, ContextTable, LoadError as ContextLoadError, NamesError};
pub use crate::filter::{Filter, Numbers, Processes, Threads};
pub use crate::ids::{IdListError, IdSet};
pub use crate::reader::aix::{AfterDamage, AixKind, CpuidWord, OpenError, ReadOptions};
pub use crate::report::{ReportOptions, Summary, TableLimits};
pub use crate::time_zone::TimeZone;
