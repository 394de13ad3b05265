//! Values that a template prints, as the interpreter reads them.

use std::collections::HashMap;

/// Value read by a code or cast.
#[derive(Debug, Clone)]
pub(super) enum Datum {
    /// Number in the low `bits` bits.
    Number { raw: u128, bits: u32 },
    /// Text without padding.
    Text(Vec<u8>),
}

/// Printed values of an event or loop iteration, by their place in the stanza with all calls expanded.
pub(super) type Frame = HashMap<Vec<u32>, PrintedValue>;

/// One execution of a printed value.
#[derive(Debug, Clone, Default)]
pub(super) struct PrintedValue {
    /// True if the value depends on something that the event does not contain.
    pub(super) null: bool,
    /// Value by the printed value's own code or cast, after the mask.
    pub(super) datum: Option<Datum>,
    /// Value of the macro without cast and mask.
    pub(super) number: Option<u64>,
    /// Case of a switch that ran.
    pub(super) case: Option<usize>,
    /// Texts of the BITFLAGS entries that match.
    pub(super) flags: Option<Vec<Vec<u8>>>,
    /// Iterations of a loop, each with its values.
    pub(super) turns: Vec<Frame>,
}

impl PrintedValue {
    pub(super) fn of(datum: &Datum, number: Option<u64>) -> PrintedValue {
        PrintedValue { datum: Some(datum.clone()), number, ..PrintedValue::default() }
    }
}

/// Bits `low` to `high` of a value, shifted right by `low`.
pub(super) fn bits_of(value: u64, low: u8, high: u8) -> u64 {
    (u128::from(value) >> low & ((1 << (high - low + 1)) - 1)) as u64
}
