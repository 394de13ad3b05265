//! Accesses of every instruction: to the code, the text, the event's bytes at fixed offsets, and tables. There are two
//! versions: by pointer, in `unsafe` blocks justified by the verifier's rules, and with bounds checks (feature `safe`).
//! Both behave the same and run the same tests.

use crate::form;

#[cfg(feature = "safe")]
mod guarded;
#[cfg(not(feature = "safe"))]
mod raw;

#[cfg(feature = "safe")]
pub(crate) use guarded::{ExecState, OutPtr, Pc, at_bytes, at_words, part, prefetch, row_at, tail, window};
#[cfg(not(feature = "safe"))]
pub(crate) use raw::{ExecState, OutPtr, Pc, at_bytes, at_words, part, prefetch, row_at, tail, window};

/// Asserts that a rule holds, in builds with debug assertions or the feature `paranoid`.
#[cfg(not(feature = "safe"))]
macro_rules! debug_assert_rule {
    ($rule:ident: $holds:expr) => {
        if cfg!(any(debug_assertions, feature = "paranoid")) {
            assert!($holds, "rule {} does not hold", $crate::rule::Rule::$rule);
        }
    };
}
#[cfg(not(feature = "safe"))]
pub(crate) use debug_assert_rule;

/// Maximum number of bytes that an instruction prints before it asks for room: its literal (16) and a sign or a hex
/// number (at most 18), also of the instructions that run with it, each of at most 16 digits (rule V10).
pub(crate) const BEFORE: usize = 36 * (1 + form::MAX_MORE as usize);
/// Bytes that an instruction may print after these, without asking for more room.
pub(crate) const ROOM: usize = crate::TextBuf::TEXT_ROOM - BEFORE;

/// Bytes that an instruction of a straight routine may use after its literal: its text, and what its last store adds.
#[cfg(not(feature = "safe"))]
pub(crate) const LENT: usize = 256;

/// Calls a function whose safety depends on a rule of the verifier, or, with `room`, on the loop having made room for
/// the current instruction's text. With the feature `safe` these functions are safe.
#[cfg(not(feature = "safe"))]
macro_rules! unchecked {
    (room: $call:expr) => {{
        #[expect(unsafe_code, reason = "the loop makes room for the text of every instruction")]
        // SAFETY: the loop has made room before the instruction that runs.
        let value = unsafe { $call };
        value
    }};
    ($rule:ident: $call:expr) => {{
        const _: $crate::rule::Rule = $crate::rule::Rule::$rule;
        #[expect(unsafe_code, reason = "the rule that is named holds for every instruction of a program")]
        // SAFETY: the rule that is named has been checked of the instruction that runs: rules P1 and P2.
        let value = unsafe { $call };
        value
    }};
}
#[cfg(feature = "safe")]
macro_rules! unchecked {
    (room: $call:expr) => {
        $call
    };
    ($rule:ident: $call:expr) => {{
        const _: $crate::rule::Rule = $crate::rule::Rule::$rule;
        $call
    }};
}
pub(crate) use unchecked;
