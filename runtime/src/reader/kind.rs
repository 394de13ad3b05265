//! Systems, and kinds of trace files.

use super::aix::AixKind;
use std::fmt;

/// System that a trace was recorded on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// AIX: a log or stream of its trace.
    Aix,
    /// QNX: a kernel log.
    Qnx,
}

/// Kind of a trace file.
///
/// ```
/// use tfbc::{System, TraceKind};
///
/// let kind = TraceKind::of_file("samples/user.kev")?;
/// assert_eq!(kind.map(TraceKind::system), Some(System::Qnx));
/// assert_eq!(TraceKind::of_file("samples/user.xml")?, None);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceKind {
    /// An AIX trace.
    Aix(AixKind),
    /// A QNX kernel log.
    Kev,
}

impl TraceKind {
    /// Name of the kind, as `--format` accepts it: `stream32`, `stream64`, `log32`, `log64` or `kev`.
    #[doc(hidden)]
    pub const fn name(self) -> &'static str {
        match self {
            TraceKind::Aix(kind) => kind.name(),
            TraceKind::Kev => "kev",
        }
    }

    /// System that records such traces.
    pub const fn system(self) -> System {
        match self {
            TraceKind::Aix(_) => System::Aix,
            TraceKind::Kev => System::Qnx,
        }
    }
}

impl fmt::Display for TraceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceKind::Aix(kind) => kind.fmt(f),
            TraceKind::Kev => f.write_str("QNX kernel log"),
        }
    }
}
