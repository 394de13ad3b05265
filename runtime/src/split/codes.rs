//! Codes of the reader's options in split files.

use crate::reader::TraceKind;
use crate::reader::aix::{AixKind, CpuidWord};

/// Kinds of traces, in the order of their numbers.
pub(super) const KINDS: [TraceKind; 5] = [
    TraceKind::Kev,
    TraceKind::Aix(AixKind::Stream32),
    TraceKind::Aix(AixKind::Stream64),
    TraceKind::Aix(AixKind::Log32),
    TraceKind::Aix(AixKind::Log64),
];

/// Places of the CPU id, in the order of their numbers.
pub(super) const CPUID_WORDS: [CpuidWord; 4] =
    [CpuidWord::Last, CpuidWord::First, CpuidWord::AfterTid, CpuidWord::None];

/// Number of a value in a list of all values.
pub(super) fn of<T: PartialEq>(all: &[T], value: Option<T>) -> u8 {
    all.iter().position(|known| value.as_ref() == Some(known)).unwrap_or(0) as u8
}
