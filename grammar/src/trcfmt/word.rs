//! Classification of words: format codes, codes of invalid size, constants.

use super::ast::{Code, Move, Size};

/// Word with the shape of a format code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeWord {
    /// Code that prints.
    Prints(Code),
    /// Code that moves the data pointer.
    Moves(Move),
    /// Letter of a code with an invalid size: `X17`, `B0.65`, `X4.2`.
    IllegalSize,
}

/// Classifies a whole word; `None` if it does not have the shape of a code.
///
/// ```
/// use tfbc_grammar::trcfmt::{CodeWord, ast::{Code, Size}, code_word};
/// assert_eq!(code_word(b"X4"), Some(CodeWord::Prints(Code::Hex(Size::Bytes(4)))));
/// assert_eq!(code_word(b"X17"), Some(CodeWord::IllegalSize));
/// assert_eq!(code_word(b"X4foo"), None);
/// ```
pub fn code(word: &[u8]) -> Option<CodeWord> {
    let (letter, size) = word.split_first()?;
    match (letter, size) {
        (b'H', b"B") => Some(CodeWord::Prints(Code::HookBytes)),
        (b'H', b"T") => Some(CodeWord::Prints(Code::HookType)),
        (_, b"W") => word_sized(*letter),
        // AIX's documentation spells `oW` this way.
        (b'o', b"w") => word_sized(b'o'),
        _ => {
            let (whole, part) = numbers(size)?;
            is_code_letter(*letter).then(|| sized(*letter, whole, part).unwrap_or(CodeWord::IllegalSize))
        }
    }
}

/// Help text with the valid sizes of a code.
pub(crate) fn legal_sizes(letter: u8) -> &'static str {
    match letter {
        b'A' => "give `A` a length and optionally a width, such as `A8` or `A8.16`",
        b'B' => "give `B` 1 to 64 bits, written as bytes.bits, such as `B4` or `B0.19`",
        b'X' => "give `X` 0 to 16 bytes or `W`",
        b'F' => "give `F` 4 or 8 bytes",
        b'T' | b'P' => "use 4 or 8 bytes or `W`",
        b'G' | b'O' => "give bytes and optionally bits, such as `G4` or `G4.2`",
        b'R' | b'W' => "give `R` and `W` one whole number",
        _ => "use 1, 2, 4 or 8 bytes or `W`",
    }
}

fn is_code_letter(letter: u8) -> bool {
    b"ABSXDUoFTEPGORW".contains(&letter)
}

/// Parses `m` or `m.n`, saturating.
fn numbers(text: &[u8]) -> Option<(u32, Option<u32>)> {
    match text.iter().position(|b| *b == b'.') {
        None => Some((number(text)?, None)),
        Some(dot) => Some((number(&text[..dot])?, Some(number(&text[dot + 1..])?))),
    }
}

/// Parses decimal digits, saturating at `u32::MAX`; `None` if empty or not all digits.
pub(crate) fn number(digits: &[u8]) -> Option<u32> {
    let add = |sum: u32, digit: &u8| {
        digit.is_ascii_digit().then(|| sum.saturating_mul(10).saturating_add(u32::from(digit - b'0')))
    };
    if digits.is_empty() { None } else { digits.iter().try_fold(0, add) }
}

fn word_sized(letter: u8) -> Option<CodeWord> {
    let code = match letter {
        b'S' => Code::Counted(Size::Word),
        b'X' => Code::Hex(Size::Word),
        b'D' => Code::Signed(Size::Word),
        b'U' => Code::Unsigned(Size::Word),
        b'o' => Code::Octal(Size::Word),
        b'T' => Code::Time(Size::Word),
        b'E' => Code::Errno(Size::Word),
        b'P' => Code::Path(Size::Word),
        _ => return None,
    };
    Some(CodeWord::Prints(code))
}

fn sized(letter: u8, whole: u32, part: Option<u32>) -> Option<CodeWord> {
    let bits = part.unwrap_or(0);
    match (letter, part) {
        (b'G', _) => Some(CodeWord::Moves(Move::Goto { bytes: whole, bits })),
        (b'O', _) => Some(CodeWord::Moves(Move::Omit { bytes: whole, bits })),
        (b'R', None) => Some(CodeWord::Moves(Move::Reverse { bytes: whole })),
        (b'W', None) => Some(CodeWord::Moves(Move::Word { words: whole })),
        (b'A', _) => Some(CodeWord::Prints(Code::Ascii { len: whole, width: bits })),
        (b'B', _) => binary(whole, bits).map(CodeWord::Prints),
        (b'X', None) if whole == 0 => Some(CodeWord::Prints(Code::HexByte)),
        (_, None) => whole_sized(letter, u8::try_from(whole).ok()?).map(CodeWord::Prints),
        _ => None,
    }
}

fn binary(bytes: u32, bits: u32) -> Option<Code> {
    let bits = u8::try_from(bytes.saturating_mul(8).saturating_add(bits)).ok()?;
    (1..=64).contains(&bits).then_some(Code::Binary { bits })
}

fn whole_sized(letter: u8, bytes: u8) -> Option<Code> {
    let size = Size::Bytes(bytes);
    match (letter, bytes) {
        (b'X', 1..=16) => Some(Code::Hex(size)),
        (b'S', 1 | 2 | 4 | 8) => Some(Code::Counted(size)),
        (b'D', 1 | 2 | 4 | 8) => Some(Code::Signed(size)),
        (b'U', 1 | 2 | 4 | 8) => Some(Code::Unsigned(size)),
        (b'o', 1 | 2 | 4 | 8) => Some(Code::Octal(size)),
        (b'E', 1 | 2 | 4 | 8) => Some(Code::Errno(size)),
        (b'F', 4 | 8) => Some(Code::Float(bytes)),
        (b'T', 4 | 8) => Some(Code::Time(size)),
        (b'P', 4 | 8) => Some(Code::Path(size)),
        _ => None,
    }
}

/// Word of an expression that looks like a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExprConstant {
    /// Valid constant.
    Value(u64),
    /// Constant above 2^64 - 1.
    TooLarge,
    /// Begins like a constant but is not one: `12ab`, `0x`, `1.5`.
    Malformed,
}

/// Parses a constant of an expression: decimal, `0x` hexadecimal, `o` octal. Returns `None` if the word does not begin
/// like one.
///
/// `o1`, `o2`, `o4` and `o8` are codes, `o01` and `o3` constants.
pub(crate) fn constant(word: &[u8]) -> Option<ExprConstant> {
    let (digits, base) = match word {
        [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
        [b'0'..=b'9', ..] => (word, 10),
        [b'o', digits @ ..] if is_octal_constant(digits) => (digits, 8),
        _ => return None,
    };
    Some(in_base(digits, base))
}

fn is_octal_constant(digits: &[u8]) -> bool {
    let is_octal = !digits.is_empty() && digits.iter().all(|b| matches!(b, b'0'..=b'7'));
    is_octal && !matches!(digits, b"1" | b"2" | b"4")
}

fn in_base(digits: &[u8], base: u32) -> ExprConstant {
    let values = || digits.iter().map(|b| char::from(*b).to_digit(base));
    if digits.is_empty() || values().any(|digit| digit.is_none()) {
        return ExprConstant::Malformed;
    }
    let add = |sum: u64, digit: u32| sum.checked_mul(u64::from(base))?.checked_add(u64::from(digit));
    values().flatten().try_fold(0, add).map_or(ExprConstant::TooLarge, ExprConstant::Value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, expected: Option<CodeWord>) {
        assert_eq!(code(word.as_bytes()), expected, "{word}");
    }

    fn prints(code: Code) -> Option<CodeWord> {
        Some(CodeWord::Prints(code))
    }

    #[test]
    fn codes_that_print() {
        check("A8.16", prints(Code::Ascii { len: 8, width: 16 }));
        check("A0", prints(Code::Ascii { len: 0, width: 0 }));
        check("S2", prints(Code::Counted(Size::Bytes(2))));
        check("B2.3", prints(Code::Binary { bits: 19 }));
        check("B0.19", prints(Code::Binary { bits: 19 }));
        check("B8", prints(Code::Binary { bits: 64 }));
        check("X0", prints(Code::HexByte));
        check("X04", prints(Code::Hex(Size::Bytes(4))));
        check("X16", prints(Code::Hex(Size::Bytes(16))));
        check("D1", prints(Code::Signed(Size::Bytes(1))));
        check("UW", prints(Code::Unsigned(Size::Word)));
        check("o4", prints(Code::Octal(Size::Bytes(4))));
        check("oW", prints(Code::Octal(Size::Word)));
        check("ow", prints(Code::Octal(Size::Word)));
        check("F8", prints(Code::Float(8)));
        check("HB", prints(Code::HookBytes));
        check("HT", prints(Code::HookType));
        check("TW", prints(Code::Time(Size::Word)));
        check("E1", prints(Code::Errno(Size::Bytes(1))));
        check("P4", prints(Code::Path(Size::Bytes(4))));
    }

    #[test]
    fn codes_that_move() {
        check("G1.5", Some(CodeWord::Moves(Move::Goto { bytes: 1, bits: 5 })));
        check("O2.0", Some(CodeWord::Moves(Move::Omit { bytes: 2, bits: 0 })));
        check("O0.11", Some(CodeWord::Moves(Move::Omit { bytes: 0, bits: 11 })));
        check("R0", Some(CodeWord::Moves(Move::Reverse { bytes: 0 })));
        check("W1", Some(CodeWord::Moves(Move::Word { words: 1 })));
        check("G99999999999", Some(CodeWord::Moves(Move::Goto { bytes: u32::MAX, bits: 0 })));
    }

    #[test]
    fn a_code_of_illegal_size_is_no_text() {
        for word in ["X17", "D3", "F5", "X4.2", "B0.65", "B0", "B9", "B7.9", "T1", "P2", "R1.2", "W1.5", "S0", "o16"] {
            check(word, Some(CodeWord::IllegalSize));
        }
    }

    #[test]
    fn other_words_are_no_codes() {
        for word in ["B_FLAG0", "byte", "Disk0", "X4foo", "AW", "HX", "HBx", "A8.", "A.8", "X", "W", "RW", "x4", "D_3"]
        {
            check(word, None);
        }
    }

    #[test]
    fn constants_of_expressions() {
        let check = |word: &str, expected| assert_eq!(constant(word.as_bytes()), expected, "{word}");
        check("08", Some(ExprConstant::Value(8)));
        check("0x1F", Some(ExprConstant::Value(31)));
        check("0X1f", Some(ExprConstant::Value(31)));
        check("o04", Some(ExprConstant::Value(4)));
        check("o3", Some(ExprConstant::Value(3)));
        check("o17", Some(ExprConstant::Value(15)));
        check("o00", Some(ExprConstant::Value(0)));
        check("o4", None);
        check("o8", None);
        check("oW", None);
        check("value", None);
        check("18446744073709551615", Some(ExprConstant::Value(u64::MAX)));
        check("18446744073709551616", Some(ExprConstant::TooLarge));
        check("0x10000000000000000", Some(ExprConstant::TooLarge));
        check("o2000000000000000000000", Some(ExprConstant::TooLarge));
        check("12ab", Some(ExprConstant::Malformed));
        check("0x", Some(ExprConstant::Malformed));
        check("1.5", Some(ExprConstant::Malformed));
    }
}
