//! Form in which a template prints a value. It decides the type of the field.

use crate::ir::{EventField, Value};
use tfbc_grammar::Spanned;
use tfbc_grammar::trcfmt::ast::*;
use tfbc_vm::{FieldKind, Hint};

/// Form in which a value is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Code(Code),
    /// `%Wm.n`
    Bits {
        low: u8,
        high: u8,
    },
    /// Uncast `$D1` to `$D5`.
    DataWord,
    /// Uncast `$HD`.
    HookData,
    /// Any other uncast macro.
    Plain,
    /// Macro with an unknown cast.
    UnknownCast,
    /// `endtimer`
    Timer,
}

/// Width of a number. Forms with equal widths show the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberWidth {
    Bits(u32),
    Word,
    /// `%Wm.n`
    Range(u8, u8),
}

impl Form {
    /// Form of a macro, from its cast.
    pub fn of_macro(node: &MacroRef<'_>) -> Form {
        match node.cast {
            Some(Spanned { node: Cast::Code(code), .. }) => Form::Code(code),
            Some(Spanned { node: Cast::Bits { low, high }, .. }) => Form::Bits { low, high },
            Some(Spanned { node: Cast::Unknown(_), .. }) => Form::UnknownCast,
            None => Form::of_uncast(node.name),
        }
    }

    /// Form of a macro without cast.
    pub fn of_uncast(name: &[u8]) -> Form {
        match name {
            [b'D', b'1'..=b'5'] => Form::DataWord,
            b"HD" => Form::HookData,
            _ => Form::Plain,
        }
    }

    /// True for a macro without cast.
    pub fn is_uncast(self) -> bool {
        matches!(self, Form::DataWord | Form::HookData | Form::Plain)
    }

    /// Width of the printed number; `None` if the form prints something else.
    pub fn width(self) -> Option<NumberWidth> {
        let sized = |size| match size {
            Size::Bytes(n) => Some(NumberWidth::Bits(u32::from(n) * 8)),
            Size::Word => Some(NumberWidth::Word),
        };
        match self {
            Form::Code(code) => match code {
                Code::HexByte => Some(NumberWidth::Bits(8)),
                Code::Binary { bits } => Some(NumberWidth::Bits(bits.into())),
                Code::Hex(size)
                | Code::Signed(size)
                | Code::Unsigned(size)
                | Code::Octal(size)
                | Code::Time(size)
                | Code::Errno(size)
                | Code::Path(size) => sized(size),
                Code::Ascii { .. } | Code::Counted(_) | Code::Float(_) | Code::HookBytes | Code::HookType => None,
            },
            Form::Bits { low, high } => Some(NumberWidth::Range(low, high)),
            Form::DataWord => Some(NumberWidth::Word),
            Form::HookData => Some(NumberWidth::Bits(16)),
            Form::Plain | Form::UnknownCast => Some(NumberWidth::Bits(64)),
            Form::Timer => None,
        }
    }

    /// Kind, size and hint of the field's type.
    pub fn shape(self) -> (FieldKind, u8, Hint) {
        let by_size = |size, hint| match size {
            Size::Bytes(..=4) => (FieldKind::Int64, 0, hint),
            Size::Bytes(n @ 9..) => (FieldKind::FixedBinary, n, hint),
            _ => (FieldKind::UInt64, 0, hint),
        };
        match self {
            Form::Code(code) => match code {
                Code::Unsigned(size) => by_size(size, Hint::None),
                Code::Signed(_) | Code::HookBytes => (FieldKind::Int64, 0, Hint::None),
                Code::HexByte | Code::HookType => (FieldKind::Int64, 0, Hint::Hex),
                Code::Hex(size) => by_size(size, Hint::Hex),
                Code::Octal(size) => by_size(size, Hint::Oct),
                Code::Binary { bits: 1 } => (FieldKind::Bool, 0, Hint::Bin),
                Code::Binary { bits: 64.. } => (FieldKind::UInt64, 0, Hint::Bin),
                Code::Binary { .. } => (FieldKind::Int64, 0, Hint::Bin),
                Code::Float(4) => (FieldKind::Float32, 0, Hint::None),
                Code::Float(_) => (FieldKind::Float64, 0, Hint::None),
                Code::Ascii { .. } | Code::Counted(_) => (FieldKind::Utf8, 0, Hint::None),
                Code::Time(_) => (FieldKind::Timestamp, 0, Hint::None),
                Code::Errno(_) => (FieldKind::Int64, 0, Hint::Errno),
                Code::Path(_) => (FieldKind::Int64, 0, Hint::Pid),
            },
            Form::HookData => (FieldKind::Int64, 0, Hint::Hex),
            Form::Bits { .. } | Form::DataWord | Form::Plain | Form::UnknownCast => (FieldKind::UInt64, 0, Hint::Hex),
            Form::Timer => (FieldKind::Int64, 0, Hint::Ns),
        }
    }

    /// True if the code has a text of its own for each number.
    pub fn has_texts(self) -> bool {
        matches!(self, Form::Code(Code::Errno(_) | Code::Path(_)))
    }

    /// Cuts a value to the number that a field of this form stores.
    pub fn stored(self, value: Value) -> Value {
        let boxed = Box::new(value);
        let low = |value, size, signed| Value::Low { value, size, signed };
        match self {
            Form::Code(code) => match code {
                Code::Binary { bits } => Value::Bits { value: boxed, low: 0, count: bits },
                Code::HexByte => low(boxed, Size::Bytes(1), false),
                Code::Signed(size) | Code::Errno(size) => low(boxed, size, true),
                Code::Hex(size) | Code::Unsigned(size) | Code::Octal(size) | Code::Path(size) => {
                    low(boxed, size, false)
                }
                Code::Time(_) => low(boxed, Size::Bytes(4), false),
                Code::Float(n) => low(boxed, Size::Bytes(n), false),
                Code::Ascii { .. } | Code::Counted(_) | Code::HookBytes | Code::HookType => *boxed,
            },
            Form::Bits { low, high } => Value::Bits { value: boxed, low, count: high - low + 1 },
            Form::DataWord | Form::HookData | Form::Plain | Form::UnknownCast | Form::Timer => *boxed,
        }
    }

    /// Number that a code reads at the data pointer.
    pub fn read(self) -> Value {
        let bytes = |size, signed| Value::Read(EventField::Bytes { size, signed });
        match self {
            Form::Code(code) => match code {
                Code::Binary { bits } => Value::Read(EventField::Bits(bits)),
                Code::HexByte => bytes(Size::Bytes(1), false),
                Code::Float(n) => bytes(Size::Bytes(n), false),
                Code::Signed(size) | Code::Errno(size) => bytes(size, true),
                Code::Time(size) => {
                    Value::Low { value: Box::new(bytes(size, false)), size: Size::Bytes(4), signed: false }
                }
                Code::Hex(size) | Code::Unsigned(size) | Code::Octal(size) | Code::Path(size) => bytes(size, false),
                Code::Ascii { .. } | Code::Counted(_) | Code::HookBytes | Code::HookType => Value::Const(0),
            },
            _ => Value::Const(0),
        }
    }

    /// Bytes of an errno.
    pub fn errno_size(self) -> Option<Size> {
        match self {
            Form::Code(Code::Errno(size)) => Some(size),
            _ => None,
        }
    }
}

/// Code in the normal form of listings, without leading zeros and `.0`.
pub(super) fn code_shown(word: &[u8]) -> String {
    // Most codes are in it already.
    if let [b'A'..=b'Z', b'1'..=b'9', digits @ ..] = word
        && digits.iter().all(u8::is_ascii_digit)
    {
        return String::from_utf8_lossy(word).into_owned();
    }
    let word = String::from_utf8_lossy(word);
    let letter = word.find(|c: char| c.is_ascii_digit() || c == 'w').unwrap_or(word.len());
    let (letter, size) = word.split_at(letter);
    let number = |digits: &str| match digits.trim_start_matches('0') {
        "" if digits.is_empty() => String::new(),
        "" => "0".to_string(),
        digits => digits.to_string(),
    };
    match size.split_once('.') {
        Some((whole, part)) if letter == "B" => {
            // The parser allows 64 bits.
            let number = |digits: &str| digits.parse().unwrap_or(0u32);
            let bits = number(whole).saturating_mul(8).saturating_add(number(part));
            if bits.is_multiple_of(8) { format!("B{}", bits / 8) } else { format!("B{}.{}", bits / 8, bits % 8) }
        }
        Some((whole, part)) if part.bytes().all(|byte| byte == b'0') => format!("{letter}{}", number(whole)),
        Some((whole, part)) => format!("{letter}{}.{}", number(whole), number(part)),
        None if size == "w" => format!("{letter}W"),
        None => format!("{letter}{}", number(size)),
    }
}

/// Macro in the normal form of listings. `text` is its source.
pub(super) fn macro_shown(node: &MacroRef<'_>, text: &[u8]) -> String {
    let name = String::from_utf8_lossy(node.name);
    let name = name.as_ref();
    match (node.cast.map(|cast| cast.node), text.iter().position(|byte| *byte == b'%')) {
        (Some(Cast::Unknown(_)), _) => format!("${name}%X2"),
        (Some(Cast::Bits { low, high }), _) => format!("${name}%W{low}.{high}"),
        (Some(Cast::Code(_)), Some(percent)) => ["$", name, "%", &code_shown(&text[percent + 1..])].concat(),
        _ => ["$", name].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::code_shown;

    #[test]
    fn codes_are_shown_without_needless_digits() {
        for (written, expected) in [
            ("U4", "U4"),
            ("X0", "X0"),
            ("X04", "X4"),
            ("o4", "o4"),
            ("A19", "A19"),
            ("ow", "oW"),
            ("B1.0", "B1"),
            ("B0.01", "B0.1"),
            ("B0.12", "B1.4"),
            ("XW", "XW"),
        ] {
            assert_eq!(code_shown(written.as_bytes()), expected);
        }
    }
}
