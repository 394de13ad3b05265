//! Numbers of attributes.

/// A number behind which `!` may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Literal {
    /// Whether `!` stands before it.
    pub not: bool,
    /// The number.
    pub value: i128,
}

impl Literal {
    /// Reads `[!] number`; with whether it has leading zeros.
    pub fn read(text: &str) -> Option<(Literal, bool)> {
        let text = trim(text);
        let (not, digits) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
        number(digits).map(|(value, zeros)| (Literal { not, value }, zeros))
    }

    /// The bit pattern of a field's width; `None` for a number that such a field never holds.
    pub fn pattern(self, bytes: u32) -> Option<u64> {
        let bits = 8 * bytes;
        let fits = -(1i128 << (bits - 1)) <= self.value && self.value < 1i128 << bits;
        fits.then_some(self.value as u64 & mask(bytes))
    }
}

/// The ones of a width.
pub fn mask(bytes: u32) -> u64 {
    u64::MAX >> (64 - 8 * bytes)
}

/// Without the white space around.
pub fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r'])
}

/// Reads decimal or `0x` hex of 64 bits, with `-` and blanks around; with whether it is decimal with leading zeros.
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
