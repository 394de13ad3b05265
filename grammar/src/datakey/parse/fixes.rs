//! Fixes of elements and attributes.

use crate::{Edit, Fix, Span};

/// Replaces the name at `place`.
pub(super) fn write(place: Span, name: &str) -> Fix {
    Fix::guess(format!("write `{name}`"), [Edit::replace(place, name)])
}

/// True if a field of the format may have a count above 1. Used before the format is parsed, so it errs towards true.
pub(super) fn may_hold_array(format: &str) -> bool {
    format.split('%').any(|field| {
        let sized = field.strip_prefix(['1', '2', '4', '8']).unwrap_or(field);
        let counted = sized.strip_prefix(['s', 'u']).unwrap_or(sized);
        let digits = &counted[..counted.len() - counted.trim_start_matches(|c: char| c.is_ascii_digit()).len()];
        !matches!(digits, "" | "0" | "1")
    })
}

/// Offset and number of the leading zeros of a decimal number. Of `000` one zero stays.
pub(super) fn zeros(text: &str) -> (usize, usize) {
    let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let n_zeros = digits.len() - digits.trim_start_matches('0').len();
    (text.len() - digits.len(), n_zeros.min(digits.len() - 1))
}
