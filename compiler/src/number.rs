//! Numbers in templates.

/// Base of a number without a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base {
    /// Binary; digits other than 0 and 1 make it decimal.
    Binary,
    Octal,
    Decimal,
    Hex,
}

/// Sign and magnitude of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number {
    pub negative: bool,
    pub magnitude: u64,
}

/// Parses a number: hexadecimal after `0x`, octal after `o`, otherwise in the given base. Only decimal numbers may have
/// a minus sign.
pub(crate) fn parse(text: &[u8], base: Base) -> Option<Number> {
    let digits = |text: &[u8], radix: u32| {
        let text = std::str::from_utf8(text).ok()?;
        let plain = !text.is_empty() && text.chars().all(|c| c.is_digit(radix));
        plain.then(|| u64::from_str_radix(text, radix).ok()).flatten()
    };
    let positive = |magnitude| Number { negative: false, magnitude };
    if let [b'0', b'x' | b'X', hex @ ..] = text {
        return digits(hex, 16).map(positive);
    }
    if let [b'o', octal @ ..] = text {
        return digits(octal, 8).map(positive);
    }
    match base {
        Base::Hex => digits(text, 16).map(positive),
        Base::Octal => digits(text, 8).map(positive),
        Base::Binary if text.iter().all(|c| matches!(c, b'0' | b'1')) => digits(text, 2).map(positive),
        Base::Binary | Base::Decimal => match text {
            [b'-', rest @ ..] => digits(rest, 10).map(|magnitude| Number { negative: magnitude > 0, magnitude }),
            _ => digits(text, 10).map(positive),
        },
    }
}

/// Parses a number of BITFLAGS. A number with a digit that the base does not have is hexadecimal, as without a cast; the
/// `bool` is true if the number is in the given base.
pub(crate) fn parse_flag(text: &[u8], base: Base) -> Option<(Number, bool)> {
    let prefixed = matches!(text, [b'0', b'x' | b'X', ..] | [b'o', ..]);
    let in_base = base != Base::Binary || prefixed || text.iter().all(|c| matches!(c, b'0' | b'1'));
    let own = parse(text, base).filter(|_| in_base).map(|number| (number, true));
    own.or_else(|| parse(text, Base::Hex).map(|number| (number, false)))
}

impl Base {
    /// Name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Octal => "octal",
            Self::Decimal => "decimal",
            Self::Hex => "hex",
        }
    }
}

impl Number {
    /// Bit pattern in a field of `width` bits; `None` if the number fits neither signed nor unsigned.
    pub fn pattern(self, width: u32) -> Option<u64> {
        let all = low_mask(width);
        if self.negative {
            return (self.magnitude <= 1 << (width - 1)).then(|| self.magnitude.wrapping_neg() & all);
        }
        (self.magnitude <= all).then_some(self.magnitude)
    }
}

/// Mask of the lowest `width` bits, 1 to 64.
pub(crate) fn low_mask(width: u32) -> u64 {
    u64::MAX >> (64 - width.clamp(1, 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, base: Base, expected: Option<i128>) {
        let found = parse(text.as_bytes(), base);
        let signed = found.map(|n| if n.negative { -i128::from(n.magnitude) } else { n.magnitude.into() });
        assert_eq!(signed, expected, "{text} in {base:?}");
    }

    #[test]
    fn prefixes_override_the_base() {
        check("0x1F", Base::Decimal, Some(31));
        check("0X1f", Base::Octal, Some(31));
        check("o17", Base::Hex, Some(15));
        check("o8", Base::Hex, None);
        check("0x", Base::Hex, None);
    }

    #[test]
    fn each_base_reads_its_own_digits() {
        check("10", Base::Hex, Some(16));
        check("010", Base::Decimal, Some(10));
        check("17", Base::Octal, Some(15));
        check("18", Base::Octal, None);
        check("101", Base::Binary, Some(5));
        check("12", Base::Binary, Some(12));
        check("-1", Base::Decimal, Some(-1));
        check("-1", Base::Hex, None);
        check("18446744073709551616", Base::Decimal, None);
    }

    #[test]
    fn flags_with_digits_of_another_base_are_hex() {
        let flag =
            |text: &str, base| parse_flag(text.as_bytes(), base).map(|(number, in_base)| (number.magnitude, in_base));
        assert_eq!(flag("080", Base::Octal), Some((0x80, false)));
        assert_eq!(flag("2A", Base::Decimal), Some((0x2A, false)));
        assert_eq!(flag("20", Base::Binary), Some((0x20, false)));
        assert_eq!(flag("10", Base::Binary), Some((2, true)));
        assert_eq!(flag("o20", Base::Binary), Some((16, true)));
        assert_eq!(flag("20", Base::Hex), Some((0x20, true)));
        assert_eq!(flag("xyz", Base::Octal), None);
        assert_eq!(flag("99999999999999999999", Base::Decimal), None);
    }

    #[test]
    fn patterns_fit_signed_or_unsigned() {
        let number = |text: &str| parse(text.as_bytes(), Base::Decimal).unwrap();
        assert_eq!(number("255").pattern(8), Some(255));
        assert_eq!(number("-128").pattern(8), Some(128));
        assert_eq!(number("-129").pattern(8), None);
        assert_eq!(number("256").pattern(8), None);
        assert_eq!(number("-1").pattern(64), Some(u64::MAX));
    }
}
