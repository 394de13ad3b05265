//! Forms in which a value is shown, with their types.

use tfbc_grammar::trcfmt::ast::{Code, Size};

use super::super::datum::{Datum, bits_of};
use super::super::number;

use super::value::FieldValue;

/// Form in which a printed value prints its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PrintForm {
    /// A code or cast.
    Code(Code),
    /// Uncast 64-bit number.
    Uncast,
    /// Uncast `$HD`.
    HookData,
    /// `%Wm.n`
    Bits { low: u8, high: u8 },
    /// `endtimer`
    Duration,
    /// Predefined macro that prints in decimal.
    Fact,
    /// `$IPADDR`
    Address,
    /// Predefined text.
    FactText,
}

/// Type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldType {
    Bool,
    Int64,
    Uint64,
    Float32,
    Float64,
    Utf8,
    Binary,
    FixedBinary(u8),
    Timestamp,
    /// List of the only member's type.
    List,
    /// List of structs of all members.
    ListOfStructs,
}

/// Width of a printed value, to compare with the width of a selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormWidth {
    Bits(u32),
    Word,
    Range(u8, u8),
    /// Shows something else than the number.
    Never,
}

impl PrintForm {
    pub(super) fn type_of(self) -> FieldType {
        match self {
            PrintForm::Code(code) => type_of_code(code),
            PrintForm::Uncast | PrintForm::Bits { .. } => FieldType::Uint64,
            PrintForm::HookData | PrintForm::Duration | PrintForm::Fact | PrintForm::Address => FieldType::Int64,
            PrintForm::FactText => FieldType::Utf8,
        }
    }

    pub(super) fn hint(self) -> Option<&'static str> {
        match self {
            PrintForm::Uncast | PrintForm::HookData | PrintForm::Bits { .. } | PrintForm::Address => Some("hex"),
            PrintForm::Duration => Some("ns"),
            PrintForm::Fact | PrintForm::FactText => None,
            PrintForm::Code(code) => match code {
                Code::HexByte | Code::Hex(_) | Code::HookType => Some("hex"),
                Code::Octal(_) => Some("oct"),
                Code::Binary { .. } => Some("bin"),
                Code::Errno(_) => Some("errno"),
                Code::Path(_) => Some("pid"),
                Code::Ascii { .. }
                | Code::Counted(_)
                | Code::Signed(_)
                | Code::Unsigned(_)
                | Code::Float(_)
                | Code::HookBytes
                | Code::Time(_) => None,
            },
        }
    }

    /// True if the code has a text of its own: `E` and `P`.
    pub(super) fn has_text(self) -> bool {
        matches!(self, PrintForm::Code(Code::Errno(_) | Code::Path(_)))
    }

    /// Width of a cast.
    pub(super) fn width(self) -> FormWidth {
        let code = match self {
            PrintForm::Code(code) => code,
            PrintForm::HookData => return FormWidth::Bits(16),
            PrintForm::Bits { low, high } => return FormWidth::Range(low, high),
            _ => return FormWidth::Bits(64),
        };
        match code {
            Code::Ascii { .. } | Code::Counted(_) | Code::Float(_) => FormWidth::Never,
            Code::Binary { bits } => FormWidth::Bits(bits.into()),
            Code::HexByte => FormWidth::Bits(8),
            Code::HookBytes | Code::HookType => FormWidth::Bits(64),
            Code::Hex(size)
            | Code::Signed(size)
            | Code::Unsigned(size)
            | Code::Octal(size)
            | Code::Time(size)
            | Code::Errno(size)
            | Code::Path(size) => match size {
                Size::Bytes(bytes) => FormWidth::Bits(8 * u32::from(bytes)),
                Size::Word => FormWidth::Word,
            },
        }
    }

    /// Applies the form to the 64-bit value of a macro; `word` is the size of a word in bytes.
    pub(super) fn cast(self, value: u64, word: u8) -> Datum {
        let code = match self {
            PrintForm::Code(code) => code,
            PrintForm::Bits { low, high } => {
                return Datum::Number { raw: bits_of(value, low, high).into(), bits: 64 };
            }
            _ => return Datum::Number { raw: value.into(), bits: 64 },
        };
        let bits = match self.width() {
            FormWidth::Bits(bits) => bits,
            FormWidth::Word => 8 * u32::from(word),
            FormWidth::Range(..) | FormWidth::Never => match code {
                Code::Ascii { len, .. } => {
                    let bytes = value.to_be_bytes();
                    return Datum::Text(number::ascii(&bytes[8 - len.min(8) as usize..]));
                }
                Code::Float(bytes) => 8 * u32::from(bytes),
                _ => 64,
            },
        };
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        Datum::Number { raw: u128::from(value & mask), bits }
    }

    /// Value of the field.
    pub(super) fn value(self, datum: &Datum) -> FieldValue {
        let (raw, bits) = match datum {
            Datum::Number { raw, bits } => (*raw, *bits),
            Datum::Text(text) => return FieldValue::Text(text.clone()),
        };
        match (self.type_of(), self) {
            (FieldType::Bool, _) => FieldValue::Bool(raw & 1 == 1),
            (FieldType::Int64, PrintForm::Code(Code::Signed(_) | Code::Errno(_))) => {
                FieldValue::Int(number::sign_extend(raw, bits))
            }
            (FieldType::Int64, _) => FieldValue::Int(raw as u64 as i64),
            (FieldType::Uint64, _) => FieldValue::Uint(raw as u64),
            (FieldType::Float32, _) => FieldValue::Float32(f32::from_bits(raw as u32)),
            (FieldType::Float64, _) => FieldValue::Float64(f64::from_bits(raw as u64)),
            (FieldType::FixedBinary(bytes), _) => {
                FieldValue::Bytes(raw.to_be_bytes()[16 - usize::from(bytes)..].to_vec())
            }
            (FieldType::Timestamp, _) => FieldValue::Time(raw as u32),
            (FieldType::Utf8 | FieldType::Binary | FieldType::List | FieldType::ListOfStructs, _) => FieldValue::Null,
        }
    }
}

fn type_of_code(code: Code) -> FieldType {
    match code {
        Code::Ascii { .. } | Code::Counted(_) => FieldType::Utf8,
        Code::Binary { bits: 1 } => FieldType::Bool,
        Code::Binary { bits: 64 } => FieldType::Uint64,
        Code::Hex(Size::Bytes(bytes @ 9..)) => FieldType::FixedBinary(bytes),
        Code::Hex(Size::Bytes(5..) | Size::Word)
        | Code::Unsigned(Size::Bytes(8) | Size::Word)
        | Code::Octal(Size::Bytes(8) | Size::Word) => FieldType::Uint64,
        Code::Float(4) => FieldType::Float32,
        Code::Float(_) => FieldType::Float64,
        Code::Time(_) => FieldType::Timestamp,
        Code::Binary { .. }
        | Code::HexByte
        | Code::Hex(_)
        | Code::Signed(_)
        | Code::Unsigned(_)
        | Code::Octal(_)
        | Code::HookBytes
        | Code::HookType
        | Code::Errno(_)
        | Code::Path(_) => FieldType::Int64,
    }
}

/// Code as the listing writes it.
pub(super) fn shown(code: Code) -> String {
    let size = |size: Size| match size {
        Size::Bytes(bytes) => bytes.to_string(),
        Size::Word => "W".into(),
    };
    match code {
        Code::Ascii { len, width: 0 } => format!("A{len}"),
        Code::Ascii { len, width } => format!("A{len}.{width}"),
        Code::Binary { bits } if bits.is_multiple_of(8) => format!("B{}", bits / 8),
        Code::Binary { bits } => format!("B{}.{}", bits / 8, bits % 8),
        Code::Counted(bytes) => format!("S{}", size(bytes)),
        Code::HexByte => "X0".into(),
        Code::Hex(bytes) => format!("X{}", size(bytes)),
        Code::Signed(bytes) => format!("D{}", size(bytes)),
        Code::Unsigned(bytes) => format!("U{}", size(bytes)),
        Code::Octal(bytes) => format!("o{}", size(bytes)),
        Code::Float(bytes) => format!("F{bytes}"),
        Code::HookBytes => "HB".into(),
        Code::HookType => "HT".into(),
        Code::Time(bytes) => format!("T{}", size(bytes)),
        Code::Errno(bytes) => format!("E{}", size(bytes)),
        Code::Path(bytes) => format!("P{}", size(bytes)),
    }
}

/// Parses a code that may be applied to a value: every printing code but `S`, `HB` and `HT`.
pub(super) fn parse(word: &str) -> Option<Code> {
    let letter = word.chars().next()?;
    let rest = &word[letter.len_utf8()..];
    let number = |digits: &str| match digits.bytes().all(|digit| digit.is_ascii_digit()) {
        true => digits.parse::<u32>().ok(),
        false => None,
    };
    let sized = |allowed: &[u8]| match rest {
        "W" => Some(Size::Word),
        "w" if letter == 'o' => Some(Size::Word),
        digits => number(digits)
            .and_then(|bytes| u8::try_from(bytes).ok())
            .filter(|bytes| allowed.contains(bytes))
            .map(Size::Bytes),
    };
    let pair = || match rest.split_once('.') {
        Some((first, second)) => Some((number(first)?, number(second)?)),
        None => Some((number(rest)?, 0)),
    };
    match letter {
        'A' => pair().map(|(len, width)| Code::Ascii { len, width }),
        'B' => {
            let (bytes, bits) = pair()?;
            let bits = bytes.checked_mul(8)?.checked_add(bits)?;
            (1..=64).contains(&bits).then_some(Code::Binary { bits: bits as u8 })
        }
        'X' if number(rest) == Some(0) => Some(Code::HexByte),
        'X' => sized(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]).map(Code::Hex),
        'D' => sized(&[1, 2, 4, 8]).map(Code::Signed),
        'U' => sized(&[1, 2, 4, 8]).map(Code::Unsigned),
        'o' => sized(&[1, 2, 4, 8]).map(Code::Octal),
        'E' => sized(&[1, 2, 4, 8]).map(Code::Errno),
        'T' => sized(&[4, 8]).map(Code::Time),
        'P' => sized(&[4, 8]).map(Code::Path),
        'F' => number(rest).filter(|bytes| matches!(bytes, 4 | 8)).map(|bytes| Code::Float(bytes as u8)),
        _ => None,
    }
}
