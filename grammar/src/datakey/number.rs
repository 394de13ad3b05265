//! Numbers in attributes.

/// A parsed number with its optional `!`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AttributeNumber {
    /// True if `!` precedes the number.
    pub not: bool,
    /// -2^63 … 2^64-1.
    pub value: i128,
    /// True if a decimal number has leading zeros.
    pub zeros: bool,
}

/// Reason why a text is not a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberError {
    /// Empty or only white space.
    Empty,
    /// `+` before the number.
    Plus,
    /// `0X` instead of `0x`.
    UpperX,
    /// More than 64 bits.
    TooLarge,
    /// Any other invalid text.
    Form,
}

/// True for the white space of XML.
pub(crate) const fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// Parses `[!] [-] digits` or `[!] [-] 0xdigits`, with optional blanks around and after `!`.
pub(crate) fn number(text: &str) -> Result<AttributeNumber, NumberError> {
    let text = text.trim_matches(is_blank);
    let (not, text) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest.trim_start_matches(is_blank)));
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (digits, base) = digits.strip_prefix("0x").map_or((digits, 10), |rest| (rest, 16));
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(base)) {
        return Err(fault(text, digits));
    }
    let magnitude = u64::from_str_radix(digits, base).map_err(|_| NumberError::TooLarge)?;
    let value = if negative { -i128::from(magnitude) } else { i128::from(magnitude) };
    if value < i128::from(i64::MIN) {
        return Err(NumberError::TooLarge);
    }
    Ok(AttributeNumber { not, value, zeros: base == 10 && digits.len() > 1 && digits.starts_with('0') })
}

/// Classifies an invalid number; `digits` is the part that should be digits.
fn fault(text: &str, digits: &str) -> NumberError {
    match digits {
        _ if text.is_empty() => NumberError::Empty,
        _ if text.starts_with('+') => NumberError::Plus,
        digits if digits.starts_with("0X") => NumberError::UpperX,
        _ => NumberError::Form,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (text, expected) in [
            ("0", (false, 0, false)),
            (" 12\t", (false, 12, false)),
            ("007", (false, 7, true)),
            ("-0x10", (false, -16, false)),
            ("0x00fF", (false, 255, false)),
            (" ! -010 ", (true, -10, true)),
            ("18446744073709551615", (false, u64::MAX.into(), false)),
            ("-9223372036854775808", (false, i64::MIN.into(), false)),
        ] {
            let (not, value, zeros) = expected;
            assert_eq!(number(text), Ok(AttributeNumber { not, value, zeros }), "{text}");
        }
    }

    #[test]
    fn others() {
        for (text, expected) in [
            ("", NumberError::Empty),
            (" ! ", NumberError::Empty),
            ("+5", NumberError::Plus),
            ("0X5", NumberError::UpperX),
            ("-0X5", NumberError::UpperX),
            ("18446744073709551616", NumberError::TooLarge),
            ("-9223372036854775809", NumberError::TooLarge),
            ("0x", NumberError::Form),
            ("!!5", NumberError::Form),
            ("- 5", NumberError::Form),
            ("--5", NumberError::Form),
            ("5 6", NumberError::Form),
            ("0x-5", NumberError::Form),
            ("٣", NumberError::Form),
        ] {
            assert_eq!(number(text), Err(expected), "{text}");
        }
    }
}
