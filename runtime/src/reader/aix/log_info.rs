//! Properties of an opened log.

use super::sniff::AixKind;
use super::step::StepRules;

/// Properties of one log of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogInfo {
    /// Name as the user wrote it.
    pub name: String,
    /// Kind of the trace.
    pub kind: AixKind,
    /// Size of the file in bytes, if it is known.
    pub size: Option<u64>,
    /// CPU of the file, in a log with one file per CPU.
    pub cpu: Option<u32>,
    /// Layout of its events.
    pub rules: StepRules,
}
