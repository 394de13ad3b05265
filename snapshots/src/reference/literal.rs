//! Numbers in match values, masks and flags.

/// Base of a number without prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberBase {
    Binary,
    Octal,
    Decimal,
    Hex,
}

impl NumberBase {
    fn radix(self) -> u32 {
        match self {
            NumberBase::Binary => 2,
            NumberBase::Octal => 8,
            NumberBase::Decimal => 10,
            NumberBase::Hex => 16,
        }
    }
}

/// Parses a number: `0x` for hex, a leading `o` for octal, otherwise the given base. A binary base falls back to
/// decimal, and a decimal one accepts a minus. `None` if the word is not a number of less than 128 bits.
pub(super) fn number(word: &[u8], base: NumberBase) -> Option<i128> {
    let word = std::str::from_utf8(word).ok()?;
    if let Some(digits) = word.strip_prefix("0x").or(word.strip_prefix("0X")) {
        return digits_in(digits, NumberBase::Hex);
    }
    if let Some(digits) = word.strip_prefix('o') {
        return digits_in(digits, NumberBase::Octal);
    }
    match base {
        NumberBase::Decimal => match word.strip_prefix('-') {
            Some(digits) => digits_in(digits, base).map(|value| -value),
            None => digits_in(word, base),
        },
        NumberBase::Binary => digits_in(word, base).or_else(|| digits_in(word, NumberBase::Decimal)),
        NumberBase::Octal | NumberBase::Hex => digits_in(word, base),
    }
}

/// Parses a number of BITFLAGS: one with a digit that the base does not have is hex.
pub(super) fn flag(word: &[u8], base: NumberBase) -> Option<i128> {
    let is_prefixed = word.starts_with(b"o") || word.starts_with(b"0x") || word.starts_with(b"0X");
    let is_decimal =
        base == NumberBase::Binary && !is_prefixed && word.iter().any(|digit| !matches!(digit, b'0' | b'1'));
    number(word, base).filter(|_| !is_decimal).or_else(|| number(word, NumberBase::Hex))
}

fn digits_in(digits: &str, base: NumberBase) -> Option<i128> {
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(base.radix())) {
        return None;
    }
    i128::from_str_radix(digits, base.radix()).ok()
}

/// Bit pattern of a number in up to 64 bits; `None` if it fits neither signed nor unsigned.
pub(super) fn pattern(value: i128, bits: u32) -> Option<u64> {
    let modulus = 1i128 << bits;
    (-modulus / 2..modulus).contains(&value).then(|| value.rem_euclid(modulus) as u64)
}
