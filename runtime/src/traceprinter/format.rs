//! The line format that traceprinter's `-p` takes.

use std::fmt;
use tfbc_vm::{TextBuf, num};

/// Digits of `%e`.
const NUMBER_DIGITS: usize = 10;

/// Maximum width and precision.
const MAX_WIDTH: u32 = 4096;

/// Text before an event's arguments, as C's `printf` would write it.
///
/// `%c` is the clock in hex, `%C` the CPU, `%e` the number of the event in at least ten digits, `%t` the time since the
/// trace's start as `seconds.milliseconds.microseconds` and `us`, `%Z` the class, `%z` the event, `%%` a percent sign.
/// A conversion may have flags (`-`, `0`, blank, `+`, `#`), a width, and a precision after a dot: the maximum length of
/// texts, the minimum digits of numbers. A negative precision cuts leading characters. `%t` takes none of them, and
/// `%e` only a width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineFormat {
    pub(super) pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(Vec<u8>),
    Field(ConversionSpec),
}

/// Value that a conversion prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conversion {
    Cycles,
    Cpu,
    Number,
    Time,
    Class,
    Event,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConversionSpec {
    pub conversion: Conversion,
    /// `-`: pads on the right.
    left: bool,
    /// `0`: pads with zeros.
    zero: bool,
    /// `+` or a blank, printed before numbers that are not negative.
    sign: Option<u8>,
    /// `#`: prints a prefix, such as `0x`.
    alternate: bool,
    width: usize,
    precision: Option<Precision>,
}

/// Effect of a precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Precision {
    /// Number of characters of a text, or minimum digits of a number.
    Plain(usize),
    /// Number of characters to keep at the end of a text.
    Last(usize),
}

/// Reason why a line format is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineFormatError(String);

impl fmt::Display for LineFormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LineFormatError {}

/// Values of an event's line.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Line<'l> {
    pub cycles: u64,
    pub cpu: u8,
    pub number: u64,
    pub elapsed: Elapsed,
    pub class_text: &'l [u8],
    pub event_text: &'l [u8],
}

/// Time of an event since the start of the trace.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Elapsed {
    /// The clock's rate is not known.
    #[default]
    Unknown,
    /// Nanoseconds; negative before the start.
    Ns(i128),
}

impl Elapsed {
    /// Appends `0.000.016us`.
    fn write(self, out: &mut TextBuf) {
        let Elapsed::Ns(ns) = self else { return out.push(b"-") };
        if ns < 0 {
            out.push(b"-");
        }
        let us = (ns.unsigned_abs() / 1000) as u64;
        out.dec(us / 1_000_000);
        let mut digits = *b".000.000us";
        for (at, n) in [(1, us / 1000 % 1000), (5, us % 1000)] {
            let n = n as u32;
            for (digit, unit) in digits[at..at + 3].iter_mut().zip([100, 10, 1]) {
                *digit += (n / unit % 10) as u8;
            }
        }
        out.push(&digits);
    }
}

impl Piece {
    pub fn write(&self, line: &Line<'_>, out: &mut TextBuf) {
        match self {
            Piece::Text(text) => out.push(text),
            Piece::Field(field) => field.write(line, out),
        }
    }
}

impl LineFormat {
    /// Reads a format.
    ///
    /// ```
    /// use tfbc::traceprinter::LineFormat;
    /// assert!(LineFormat::parse("%t %-16Z:%z").is_ok());
    /// let error = LineFormat::parse("%08x").unwrap_err();
    /// assert_eq!(error.to_string(), "`%08x` at column 1: expected one of the letters c, C, e, t, Z, z and %");
    /// ```
    ///
    /// # Errors
    /// The format contains an unknown or incomplete conversion, or a width above 4096.
    pub fn parse(text: &str) -> Result<Self, LineFormatError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            push_text(&mut pieces, &rest[..at]);
            let column = text.len() - rest.len() + at + 1;
            let spec_on = &rest[at + 1..];
            let (spec, letter, after) =
                split(spec_on).map_err(|spec_text| refused(&format!("%{spec_text}"), column))?;
            let spec_text = || format!("%{spec}{letter}");
            match (letter, spec) {
                ('%', "") => push_text(&mut pieces, "%"),
                _ => {
                    let conversion = conversion(letter).ok_or_else(|| refused(&spec_text(), column))?;
                    let field = field(conversion, spec).ok_or_else(|| bad_spec(&spec_text(), column))?;
                    pieces.push(Piece::Field(field));
                }
            }
            rest = after;
        }
        push_text(&mut pieces, rest);
        Ok(LineFormat { pieces })
    }
}

impl Default for LineFormat {
    /// Start of a line in the default layout: `t:0x%08c CPU:%02C %-16Z:%-18z`.
    fn default() -> Self {
        let field = |conversion, left, zero, width| {
            Piece::Field(ConversionSpec {
                conversion,
                left,
                zero,
                sign: None,
                alternate: false,
                width,
                precision: None,
            })
        };
        let text = |text: &str| Piece::Text(text.into());
        LineFormat {
            pieces: vec![
                text("t:0x"),
                field(Conversion::Cycles, false, true, 8),
                text(" CPU:"),
                field(Conversion::Cpu, false, true, 2),
                text(" "),
                field(Conversion::Class, true, false, 16),
                text(":"),
                field(Conversion::Event, true, false, 18),
            ],
        }
    }
}

fn refused(spec_text: &str, column: usize) -> LineFormatError {
    LineFormatError(format!("`{spec_text}` at column {column}: expected one of the letters c, C, e, t, Z, z and %"))
}

fn bad_spec(spec_text: &str, column: usize) -> LineFormatError {
    LineFormatError(format!(
        "`{spec_text}` at column {column}: expected flags, a width up to {MAX_WIDTH} and `.` with a precision up to that"
    ))
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        Some(Piece::Text(last)) => last.extend_from_slice(text.as_bytes()),
        _ if text.is_empty() => {}
        _ => pieces.push(Piece::Text(text.into())),
    }
}

/// Splits off a conversion: its spec, its letter, and the text after it. Without a letter, the error is the incomplete
/// spec.
fn split(text: &str) -> Result<(&str, char, &str), &str> {
    let spec = |c: char| c.is_ascii_digit() || "-0 +#.".contains(c);
    let at = text.find(|c: char| !spec(c)).ok_or(text)?;
    let letter = text[at..].chars().next().ok_or(text)?;
    Ok((&text[..at], letter, &text[at + letter.len_utf8()..]))
}

fn conversion(letter: char) -> Option<Conversion> {
    Some(match letter {
        'c' => Conversion::Cycles,
        'C' => Conversion::Cpu,
        'e' => Conversion::Number,
        't' => Conversion::Time,
        'Z' => Conversion::Class,
        'z' => Conversion::Event,
        _ => return None,
    })
}

/// A conversion with its flags, width and precision.
fn field(conversion: Conversion, spec: &str) -> Option<ConversionSpec> {
    let numbers = spec.trim_start_matches(['-', '0', ' ', '+', '#']);
    let flags = &spec[..spec.len() - numbers.len()];
    let has = |flag| flags.contains(flag);
    let (width, precision) = match numbers.split_once('.') {
        Some((width, precision)) => (width, Some(precision)),
        None => (numbers, None),
    };
    let precision = match precision {
        Some(text) => Some(match text.strip_prefix('-') {
            Some(last) => Precision::Last(number(last)?),
            None => Precision::Plain(number(text)?),
        }),
        None => None,
    };
    Some(ConversionSpec {
        conversion,
        left: has('-'),
        zero: has('0'),
        sign: if has('+') { Some(b'+') } else { has(' ').then_some(b' ') },
        alternate: has('#'),
        width: number(width)?,
        precision,
    })
}

/// Parses a width or precision; an empty one is 0.
fn number(text: &str) -> Option<usize> {
    if text.is_empty() {
        return Some(0);
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse::<u32>().ok().filter(|number| digits && *number <= MAX_WIDTH).map(|number| number as usize)
}

impl ConversionSpec {
    /// Fast path for a clock that already has the requested number of digits, as nearly all do. Writes it at `at` and
    /// returns its end.
    #[inline]
    pub fn write_cycles(&self, cycles: u64, room: &mut [u8; TextBuf::SPARE], at: usize) -> Option<usize> {
        if self.precision.is_some() || self.alternate || at > TextBuf::SPARE - 16 {
            return None;
        }
        let end = num::hex_min(room, at, cycles);
        (end >= at + self.width).then_some(end)
    }

    pub fn write(&self, line: &Line<'_>, out: &mut TextBuf) {
        let mut digits = [0; 48];
        let end = match self.conversion {
            Conversion::Cycles => num::hex_min(&mut digits, 0, line.cycles),
            Conversion::Cpu => num::dec(&mut digits, 0, line.cpu.into()),
            Conversion::Number => {
                let end = num::dec(&mut digits, 0, line.number);
                let zeros = self.width.max(NUMBER_DIGITS).saturating_sub(end);
                (0..zeros).for_each(|_| out.push(b"0"));
                return out.push(&digits[..end]);
            }
            Conversion::Time => return line.elapsed.write(out),
            Conversion::Class => return self.write_text(line.class_text, out),
            Conversion::Event => return self.write_text(line.event_text, out),
        };
        self.write_number(&digits[..end], out);
    }

    fn write_text(&self, text: &[u8], out: &mut TextBuf) {
        let text = match self.precision {
            Some(Precision::Plain(most)) => &text[..text.len().min(most)],
            Some(Precision::Last(most)) => &text[text.len().saturating_sub(most)..],
            None => text,
        };
        let blanks = self.width.saturating_sub(text.len());
        if !self.left {
            out.pad(blanks);
        }
        out.push(text);
        if self.left {
            out.pad(blanks);
        }
    }

    fn write_number(&self, digits: &[u8], out: &mut TextBuf) {
        let (digits, least) = match self.precision {
            Some(Precision::Plain(least)) => (digits, least),
            Some(Precision::Last(most)) => (&digits[digits.len().saturating_sub(most)..], 0),
            None => (digits, 0),
        };
        let is_hex = self.conversion == Conversion::Cycles;
        let before: &[u8] = match self.sign {
            _ if is_hex && self.alternate && digits != b"0" => b"0x",
            Some(b'+') if !is_hex => b"+",
            Some(b' ') if !is_hex => b" ",
            _ => b"",
        };
        let mut zeros = least.saturating_sub(digits.len());
        let mut blanks = self.width.saturating_sub(before.len() + zeros + digits.len());
        if self.zero && !self.left && self.precision.is_none() {
            zeros += std::mem::take(&mut blanks);
        }
        if !self.left {
            out.pad(blanks);
        }
        out.push(before);
        (0..zeros).for_each(|_| out.push(b"0"));
        out.push(digits);
        if self.left {
            out.pad(blanks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::{LineWriter, Names, TimeBase};
    use super::*;
    use crate::reader::kev::{KevHeader, KevRecord};

    fn check(format: &str, expected: &str) {
        let cycles = 0x37b0_4f81_e014_u64;
        let header = KevHeader { cycles_per_sec: Some(1_000_000), ..KevHeader::default() };
        let (stamp, msb) = (cycles as u32, Some((cycles >> 32) as u32));
        let record =
            KevRecord { number: 24, offset: 0, class: 4, event: 24, cpu: 3, wide: false, stamp, msb, bytes: &[] };
        let mut writer = LineWriter::new(&LineFormat::parse(format).unwrap());
        let text = |writer: &LineWriter, place: Result<usize, Names<'_>>| {
            let mut out = TextBuf::new();
            writer.write(place, &record, TimeBase { header: &header, start: Some(cycles - 12_345_678) }, &mut out);
            String::from_utf8_lossy(out.as_bytes()).into_owned()
        };
        let names = Names { class_text: b"THREAD", event_text: b"THCREATE" };
        assert_eq!(text(&writer, Err(names)), expected, "{format}");
        assert_eq!(writer.find(&record), None);
        let place = writer.learn(&record, names).unwrap();
        assert_eq!(writer.find(&record), Some(place));
        let other = KevRecord { event: 25, ..record };
        writer.learn(&other, Names { event_text: b"THDESTROY", ..names }).unwrap();
        assert_eq!(text(&writer, Ok(place)), expected, "{format}");
    }

    #[test]
    fn the_default_matches_its_text() {
        assert_eq!(LineFormat::parse("t:0x%08c CPU:%02C %-16Z:%-18z"), Ok(LineFormat::default()));
    }

    #[test]
    fn conversions_print_as_in_c() {
        check("%c %C %e %t %Z %z %%", "37b04f81e014 3 0000000024 12.345.678us THREAD THCREATE %");
        check("t:0x%08c CPU:%02C %-16Z:%-18z|", "t:0x37b04f81e014 CPU:03 THREAD          :THCREATE          |");
        check("%#16c|%-4C|%+C|% C", "  0x37b04f81e014|3   |+3| 3");
        check("%10Z|%.3Z|%6.2z|%8.4C|%.0Z|", "    THREAD|THR|    TH|    0003||");
        check("100%%%-6C|", "100%3     |");
        check("%06e|%-3e|%12e|%+.2e", "0000000024|0000000024|000000000024|0000000024");
        check("%014t|%-20t|%+.2t", "12.345.678us|12.345.678us|12.345.678us");
    }

    #[test]
    fn negative_precisions_keep_the_end() {
        check("%.-4z|%.-40z|%6.-2z|%.-4c|%.-8c", "EATE|THCREATE|    TE|e014|4f81e014");
    }

    #[test]
    fn bad_formats_are_refused_with_their_place() {
        let error = |format: &str| LineFormat::parse(format).unwrap_err().to_string();
        assert!(error("ab%d").starts_with("`%d` at column 3"));
        assert!(error("%").starts_with("`%` at column 1"));
        assert!(error("%-12").starts_with("`%-12` at column 1"));
        assert!(error("%5000c").contains("a width up to 4096"));
        assert!(error("%1.2.3c").starts_with("`%1.2.3c` at column 1"));
        assert!(error("%.+3c").starts_with("`%.+3c`"));
        assert!(error("%-%").starts_with("`%-%`"));
        assert!(error("%ü").starts_with("`%ü`"));
    }
}
