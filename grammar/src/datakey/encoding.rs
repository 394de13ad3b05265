//! Encodings of event definitions, given by the byte order mark or by the XML declaration.

use std::borrow::Cow;
use std::ops::Range;

use encoding_rs::{UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::number::is_blank;
use crate::excerpt::excerpt;

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF16LE_MARK: &[u8] = b"\xff\xfe";
const UTF16BE_MARK: &[u8] = b"\xfe\xff";

/// Encoding of a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, with or without a byte order mark.
    Utf8,
    /// Little-endian UTF-16 with a byte order mark.
    Utf16Le,
    /// Big-endian UTF-16 with a byte order mark.
    Utf16Be,
    /// US-ASCII: bytes up to 0x7f.
    UsAscii,
    /// Latin-1: each byte is the Unicode character with that number.
    Iso8859_1,
    /// Windows' Western European code page.
    Windows1252,
}

/// Undecodable bytes: their range and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EncodingError {
    pub place: Range<usize>,
    pub message: String,
}

impl Encoding {
    /// The encoding named by the byte order mark, and the length of the mark.
    fn of_mark(bytes: &[u8]) -> Option<(Self, usize)> {
        let marks = [(UTF8_MARK, Self::Utf8), (UTF16LE_MARK, Self::Utf16Le), (UTF16BE_MARK, Self::Utf16Be)];
        marks.iter().find(|(mark, _)| bytes.starts_with(mark)).map(|(mark, encoding)| (*encoding, mark.len()))
    }

    /// True if a declaration may use this name for the encoding. The name of UTF-16 may omit the byte order, because
    /// the mark gives it.
    pub(crate) fn is_named(self, name: &str) -> bool {
        let names: &[&str] = match self {
            Self::Utf8 => &["UTF-8", "UTF8"],
            Self::Utf16Le => &["UTF-16", "UTF-16LE"],
            Self::Utf16Be => &["UTF-16", "UTF-16BE"],
            Self::UsAscii => &["US-ASCII", "ASCII"],
            Self::Iso8859_1 => &["ISO-8859-1", "latin1"],
            Self::Windows1252 => &["windows-1252", "cp1252"],
        };
        names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Usual name, as messages print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16Le | Self::Utf16Be => "UTF-16",
            Self::UsAscii => "US-ASCII",
            Self::Iso8859_1 => "ISO-8859-1",
            Self::Windows1252 => "windows-1252",
        }
    }

    /// Encodes UTF-8 text. Characters outside the encoding become references such as `&#8364;`.
    pub fn encode(self, text: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(text);
        let narrow = |last: char| {
            let mut bytes = Vec::with_capacity(text.len());
            for c in text.chars() {
                match u8::try_from(c) {
                    // A character that the encoding lacks becomes a reference, which every XML reader understands.
                    Ok(byte) if c <= last => bytes.push(byte),
                    _ => bytes.extend_from_slice(format!("&#{};", u32::from(c)).as_bytes()),
                }
            }
            bytes
        };
        let units = |mark: &[u8], bytes: fn(u16) -> [u8; 2]| {
            mark.iter().copied().chain(text.encode_utf16().flat_map(bytes)).collect()
        };
        match self {
            Self::Utf8 => text.into_owned().into_bytes(),
            Self::Utf16Le => units(UTF16LE_MARK, u16::to_le_bytes),
            Self::Utf16Be => units(UTF16BE_MARK, u16::to_be_bytes),
            Self::UsAscii => narrow('\u{7f}'),
            Self::Iso8859_1 => narrow('\u{ff}'),
            Self::Windows1252 => WINDOWS_1252.encode(&text).0.into_owned(),
        }
    }
}

/// Decodes a file. A UTF-8 byte order mark is kept; bytes that are UTF-8 already are borrowed.
///
/// # Errors
/// The encoding is unknown, or the bytes are invalid in it.
pub(crate) fn decode(bytes: &[u8]) -> Result<(Encoding, Cow<'_, str>), EncodingError> {
    let mark = Encoding::of_mark(bytes);
    let (encoding, len) = match mark {
        Some(marked) => marked,
        None => (declared_encoding(bytes)?, 0),
    };
    let content = &bytes[len..];
    let text = match encoding {
        Encoding::Utf8 | Encoding::UsAscii => return utf8(encoding, bytes).map(|text| (encoding, text)),
        Encoding::Iso8859_1 => encoding_rs::mem::decode_latin1(content),
        Encoding::Windows1252 => {
            // encoding_rs follows the web and maps these five undefined bytes to control characters.
            let unknown = content.iter().position(|byte| matches!(byte, 0x81 | 0x8d | 0x8f | 0x90 | 0x9d));
            if let Some(at) = unknown {
                return Err(no_character(encoding, bytes, at));
            }
            WINDOWS_1252.decode_without_bom_handling(content).0
        }
        Encoding::Utf16Le | Encoding::Utf16Be => {
            let decoder = if encoding == Encoding::Utf16Le { UTF_16LE } else { UTF_16BE };
            let decoded = decoder.decode_without_bom_handling_and_without_replacement(content);
            decoded.ok_or_else(|| bad_utf16(encoding, bytes, len))?
        }
    };
    Ok((encoding, text))
}

fn declared_encoding(bytes: &[u8]) -> Result<Encoding, EncodingError> {
    let without_mark = || "UTF-16 without byte order mark".to_owned();
    if bytes.starts_with(b"<\0") || bytes.starts_with(b"\0<") {
        return Err(EncodingError { place: 0..2, message: without_mark() });
    }
    let Some(place) = declared(bytes) else { return Ok(Encoding::Utf8) };
    let name = String::from_utf8_lossy(&bytes[place.clone()]);
    let known = [Encoding::Utf8, Encoding::UsAscii, Encoding::Iso8859_1, Encoding::Windows1252];
    if let Some(encoding) = known.into_iter().find(|known| known.is_named(&name)) {
        return Ok(encoding);
    }
    let is_utf16 = [Encoding::Utf16Le, Encoding::Utf16Be].iter().any(|encoding| encoding.is_named(&name));
    let message = if is_utf16 {
        without_mark()
    } else {
        let name = excerpt(name.as_bytes());
        format!("declared encoding is `{name}`, expected UTF-8, UTF-16, US-ASCII, ISO-8859-1 or windows-1252")
    };
    Err(EncodingError { place, message })
}

/// Range of the encoding's name in the declaration. Well-formedness is checked by [`Xml`](super::xml::Xml).
fn declared(bytes: &[u8]) -> Option<Range<usize>> {
    let rest = bytes.strip_prefix(b"<?xml").filter(|rest| rest.first().is_some_and(|byte| blank(*byte)))?;
    let rest = &rest[..rest.windows(2).position(|end| end == b"?>")?];
    let key = b"encoding";
    let at = rest.windows(key.len()).position(|word| word == key).filter(|at| blank(rest[at - 1]))?;
    let value = rest[at + key.len()..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let quote = value.first().filter(|quote| matches!(quote, b'"' | b'\''))?;
    let len = value[1..].iter().position(|byte| byte == quote)?;
    let start = "<?xml".len() + (rest.len() - value.len()) + 1;
    Some(start..start + len)
}

fn blank(byte: u8) -> bool {
    is_blank(char::from(byte))
}

fn utf8(encoding: Encoding, bytes: &[u8]) -> Result<Cow<'_, str>, EncodingError> {
    if encoding == Encoding::UsAscii
        && let Some(at) = bytes.iter().position(|byte| !byte.is_ascii())
    {
        return Err(no_character(encoding, bytes, at));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| no_character(encoding, bytes, error.valid_up_to()))?;
    Ok(Cow::Borrowed(text))
}

fn no_character(encoding: Encoding, bytes: &[u8], at: usize) -> EncodingError {
    let message = format!("byte 0x{:02x} is not {} here", bytes[at], encoding.name());
    EncodingError { place: at..at + 1, message }
}

/// Finds the invalid unit in UTF-16 bytes, which begin after the mark at `start`.
fn bad_utf16(encoding: Encoding, bytes: &[u8], start: usize) -> EncodingError {
    let unit = |pair: &[u8]| match (encoding, pair) {
        (Encoding::Utf16Be, [high, low]) => u16::from_be_bytes([*high, *low]),
        (_, [low, high]) => u16::from_le_bytes([*low, *high]),
        _ => 0,
    };
    let mut at = start;
    for decoded in char::decode_utf16(bytes[start..].chunks_exact(2).map(unit)) {
        match decoded {
            Ok(c) => at += 2 * c.len_utf16(),
            Err(error) => {
                let message = format!("unpaired surrogate 0x{:04x}", error.unpaired_surrogate());
                return EncodingError { place: at..at + 2, message };
            }
        }
    }
    EncodingError { place: at..bytes.len(), message: "UTF-16 file has an odd number of bytes".into() }
}

/// True if bytes look like XML: white space or a byte order mark, then `<`, in UTF-8 or UTF-16.
///
/// ```
/// use tfbc_grammar::datakey::looks_like_xml;
/// assert!(looks_like_xml(b"\xef\xbb\xbf \n<eventdefinitions/>"));
/// assert!(!looks_like_xml(b"010 1.0 \"EVENT\" X4\n"));
/// ```
pub fn looks_like_xml(bytes: &[u8]) -> bool {
    first_character(bytes) == Some(b'<')
}

/// First character that is not white space, after any byte order mark. Returns 0xff for a character beyond ASCII.
pub(super) fn first_character(bytes: &[u8]) -> Option<u8> {
    let is_dark = |byte: &&u8| !is_blank(char::from(**byte));
    let units = |low: usize| {
        let mut units = bytes.chunks(2).skip(1).map(move |unit| match unit {
            [0, byte] if low == 1 => *byte,
            [byte, 0] if low == 0 => *byte,
            _ => 0xff,
        });
        units.find(|byte| is_dark(&byte))
    };
    match bytes {
        [0xff, 0xfe, ..] => units(0),
        [0xfe, 0xff, ..] => units(1),
        [0, b'<', ..] => Some(b'<'),
        _ => bytes.strip_prefix(UTF8_MARK).unwrap_or(bytes).iter().find(is_dark).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        decode(bytes).map_or_else(|error| format!("{}: {}", error.place.start, error.message), |(_, text)| text.into())
    }

    #[test]
    fn marks_and_declarations_tell_the_encoding() {
        assert_eq!(text(b"<a/>"), "<a/>");
        assert_eq!(text("\u{feff}<\u{e9}/>".as_bytes()), "\u{feff}<\u{e9}/>");
        assert_eq!(text(b"\xff\xfe<\0\xe9\0\x3d\xd8\x00\xde"), "<\u{e9}\u{1f600}");
        assert_eq!(text(b"\xfe\xff\0<\0\xe9"), "<\u{e9}");
        for (name, byte, expected) in [
            ("ISO-8859-1", 0xe9, Some('\u{e9}')),
            ("Latin1", 0x80, Some('\u{80}')),
            ("WINDOWS-1252", 0x80, Some('\u{20ac}')),
            ("cp1252", 0x9f, Some('\u{178}')),
            ("cp1252", 0x9d, None),
            ("us-ascii", 0x7e, Some('~')),
            ("ASCII", 0x80, None),
            ("utf-8", 0x80, None),
            ("ISO-8859-15", 0x41, None),
            ("UTF-16", 0x41, None),
        ] {
            for declaration in
                ["<?xml version='1.0' encoding='NAME'?>", "<?xml version=\"1.0\"\tencoding = \"NAME\" ?>"]
            {
                let declaration = declaration.replace("NAME", name);
                let bytes = [declaration.as_bytes(), &[byte]].concat();
                let found = decode(&bytes).ok().and_then(|(_, text)| text.chars().last());
                assert_eq!(found, expected, "{declaration}");
            }
        }
    }

    #[test]
    fn a_mark_wins_over_the_declaration() {
        let marked = "\u{feff}<?xml version='1.0' encoding='KOI8-R'?>\u{e9}";
        assert_eq!(text(marked.as_bytes()), marked);
    }

    #[test]
    fn errors_name_the_problem_and_its_place() {
        assert_eq!(text(b"<\0a\0"), "0: UTF-16 without byte order mark");
        assert_eq!(text(b"<?xml version='1.0' encoding='utf-16'?>"), "30: UTF-16 without byte order mark");
        assert_eq!(text(b"\xff\xfe<\0\x3d\xd8<\0"), "4: unpaired surrogate 0xd83d");
        assert_eq!(text(b"\xff\xfe<\0a"), "4: UTF-16 file has an odd number of bytes");
        assert_eq!(text(b"<?xml version='1.0' encoding='ascii'?>\n\xe9"), "39: byte 0xe9 is not US-ASCII here");
    }

    #[test]
    fn encoding_gives_the_bytes_that_were_decoded() {
        for bytes in [
            &b"\xff\xfe<\0\xe9\0\x3d\xd8\x00\xde"[..],
            b"\xfe\xff\0<\0\xe9",
            b"<?xml version='1.0' encoding='latin1'?>\x80\xe9",
            b"<?xml version='1.0' encoding='cp1252'?>\x80\xe9",
            b"<a/>",
        ] {
            let (encoding, text) = decode(bytes).expect("an encoding that is known");
            assert_eq!(encoding.encode(text.as_bytes()), bytes);
        }
        assert_eq!(Encoding::UsAscii.encode("\u{e9}<".as_bytes()), b"&#233;<");
    }
}
