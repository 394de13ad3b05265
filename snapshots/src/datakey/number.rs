//! Numbers of attributes.

/// Number with an optional `!`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberLiteral {
    /// True if there is a `!`.
    pub not: bool,
    /// The number.
    pub value: i128,
}

impl NumberLiteral {
    /// Reads `[!] number`; true if it has leading zeros.
    pub fn read(text: &str) -> Option<(NumberLiteral, bool)> {
        let text = trim(text);
        let (not, digits) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
        number(digits).map(|(value, zeros)| (NumberLiteral { not, value }, zeros))
    }

    /// Bit pattern in a field of `bytes` bytes; `None` if the number does not fit.
    pub fn pattern(self, bytes: u32) -> Option<u64> {
        let bits = 8 * bytes;
        let fits = -(1i128 << (bits - 1)) <= self.value && self.value < 1i128 << bits;
        fits.then_some(self.value as u64 & mask(bytes))
    }
}

/// Mask with all bits of a width set.
pub fn mask(bytes: u32) -> u64 {
    u64::MAX >> (64 - 8 * bytes)
}

/// Removes white space at both ends.
pub fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r'])
}

/// Reads a decimal or `0x` hex number of 64 bits, with an optional `-` and blanks around it. Returns true if it is
/// decimal with leading zeros.
pub fn number(text: &str) -> Option<(i128, bool)> {
    let text = trim(text);
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (digits, radix) = digits.strip_prefix("0x").map_or((digits, 10), |rest| (rest, 16));
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let size = i128::from_str_radix(digits, radix).ok()?;
    let value = if negative { -size } else { size };
    let fits = i128::from(i64::MIN) <= value && value <= i128::from(u64::MAX);
    fits.then_some((value, radix == 10 && digits.len() > 1 && digits.starts_with('0')))
}
