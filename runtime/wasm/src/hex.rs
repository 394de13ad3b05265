//! Bytes that people paste: hex digits, or a dump of `xxd` or `hexdump -C`.

use crate::Failure;

/// Parses hex digits, with or without blanks and `0x`. Lines may be those of a dump: an offset before the bytes, and
/// their text after two blanks or a bar.
///
/// # Errors
/// A letter is not a hex digit, or there is an odd number of digits.
pub fn parse_hex(text: &str) -> Result<Vec<u8>, Failure> {
    let mut digits = Vec::new();
    for line in text.lines() {
        let bytes = bytes_of_line(line);
        for word in bytes.split([' ', '\t', ',', '|', '-']) {
            let word = word.strip_prefix("0x").unwrap_or(word).trim_end();
            for letter in word.chars() {
                let digit = letter.to_digit(16);
                digits.push(digit.ok_or_else(|| Failure(format!("`{letter}` in `{word}` is not a hex digit")))? as u8);
            }
        }
    }
    if !digits.len().is_multiple_of(2) {
        let n = digits.len();
        return Err(Failure(format!("{n} hex digits, expected an even number: two for each byte")));
    }
    Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// The bytes of a line, without the offset and the text of a dump.
fn bytes_of_line(line: &str) -> &str {
    // `xxd`: the offset ends with a colon, and two blanks come before the text.
    if let Some((offset, rest)) = line.split_once(':')
        && !offset.is_empty()
        && offset.bytes().all(|byte| byte.is_ascii_hexdigit())
    {
        return rest.trim_start().split("  ").next().unwrap_or_default();
    }
    // `hexdump -C`: eight digits and two blanks before the bytes, bars around the text.
    if let Some((offset, rest)) = line.split_once("  ")
        && offset.len() >= 7
        && offset.bytes().all(|byte| byte.is_ascii_hexdigit())
    {
        return rest.split('|').next().unwrap_or_default();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_dumps_are_bytes() {
        let parse = |text| parse_hex(text).map_err(|Failure(text)| text);
        let bytes = vec![0x10, 0x60, 0x00, 0x2a, 0x66];
        assert_eq!(parse("1060002a66"), Ok(bytes.clone()));
        assert_eq!(parse("0x1060 0x002A\n 66 "), Ok(bytes.clone()));
        assert_eq!(parse("00000000: 1060 002a 66         .`.*f"), Ok(bytes.clone()));
        assert_eq!(parse("00000000  10 60 00 2a 66     |.`.*f|\n"), Ok(bytes.clone()));
        assert_eq!(parse("xy"), Err(String::from("`x` in `xy` is not a hex digit")));
        assert_eq!(parse("106"), Err(String::from("3 hex digits, expected an even number: two for each byte")));
        assert_eq!(parse(""), Ok(Vec::new()));
    }
}
