//! What every instruction touches: the instruction itself, the text's end, the event's bytes at fixed places, tables.
//! Twice: by pointers, in `unsafe` blocks that stand on what the verifier has proved, and with bounds checks (feature
//! `safe`). Both do the same, and the same tests run with either.

use crate::form;

#[cfg(feature = "safe")]
mod guarded;
#[cfg(not(feature = "safe"))]
mod raw;

#[cfg(feature = "safe")]
pub(crate) use guarded::{At, Pc, Stage, at_bytes, at_words, behind, part, prefetch, row_at, window};
#[cfg(not(feature = "safe"))]
pub(crate) use raw::{At, Pc, Stage, at_bytes, at_words, behind, part, prefetch, row_at, window};

/// Asserts what a rule promises, where somebody wants to know: in builds with debug assertions, and with the feature
/// `paranoid`.
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

/// Bytes that an instruction may print before it asks for room: its literal (16), and a sign or a hex number (18 at most); or
/// the literals and numbers of those that are run with it, each of at most 16 digits (rule V10).
pub(crate) const BEFORE: usize = 36 * (1 + form::MAX_MORE as usize);
/// Room that it has then.
pub(crate) const ROOM: usize = crate::TextBuf::SLACK - BEFORE;

/// The longest margin that is stored at once.
#[cfg(not(feature = "safe"))]
const MARGIN: u16 = 32;

/// Calls a function that relies on a rule of the verifier, or on the loop: `room` says that there is room for the text of
/// the instruction that runs. Without the feature `safe` such a function is `unsafe`.
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
