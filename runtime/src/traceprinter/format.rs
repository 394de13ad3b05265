//! The line format that traceprinter's `-p` takes.

use crate::events::N_IDS;
use crate::reader::kev::{KevHeader, KevRecord};
use std::fmt;
use tfbc_vm::{Space, TextBuf, num};

/// What begins an event's line in the default layout.
pub const DEFAULT: &str = "t:0x%08c CPU:%02C %-16Z:%-18z";

/// Widths and precisions up to here are taken.
const MAX_WIDTH: u32 = 4096;

/// What stands before an event's arguments, as C's `printf` would write it.
///
/// `%c` is the clock in hex, `%C` the CPU, `%e` the event's number in its class, `%t` the time in µs, `%Z` the class, `%z`
/// the event, `%%` a percent sign. Between `%` and letter stand flags (`-`, `0`, blank, `+`, `#`), a width, and a
/// precision behind a dot: of texts the longest length, of numbers the least digits. A negative precision cuts leading
/// characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineFormat {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Field(Field),
}

/// What a conversion shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conversion {
    Cycles,
    Cpu,
    Number,
    Time,
    Class,
    Event,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    conversion: Conversion,
    /// `-`
    left: bool,
    /// `0`
    zero: bool,
    /// `+` or a blank, which stand before numbers that are not negative.
    sign: Option<u8>,
    /// `#`
    alternate: bool,
    width: usize,
    precision: Option<Precision>,
}

/// What a precision does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Precision {
    /// A text's first characters, a number's least digits.
    Plain(usize),
    /// The last characters.
    Last(usize),
}

/// Why a format was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError(String);

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FormatError {}

/// What an event's line is made of.
#[derive(Debug, Clone, Copy, Default)]
struct Line<'l> {
    cycles: u64,
    cpu: u8,
    event: u16,
    /// `None` where the clock's rate is not known.
    time_us: Option<u64>,
    class_text: &'l [u8],
    event_text: &'l [u8],
}

/// Writes lines of a format. What class, event or CPU alone determine is put together once for each of them.
#[derive(Debug, Clone)]
pub(super) struct LineWriter {
    steps: Vec<Step>,
    /// The pieces of each [`Step::Named`].
    runs: Vec<Vec<Piece>>,
    /// The texts of the runs, those of one event behind those of another.
    named: Vec<Fixed>,
    /// By class and event, where their texts begin in `named`; 0 where they are not known.
    places: Vec<u32>,
}

/// What comes next of a line.
#[derive(Debug, Clone)]
enum Step {
    Text(Fixed),
    Cycles(Field),
    Time(Field),
    /// The text of each CPU.
    Cpu(Vec<Fixed>),
    /// The run of pieces with this number, which class and event determine.
    Named(usize),
}

/// A text that is appended often.
#[derive(Debug, Clone)]
enum Fixed {
    Short { text: [u8; Fixed::SHORT], len: usize },
    Long(Box<[u8]>),
}

impl Fixed {
    const SHORT: usize = 48;

    fn new(bytes: &[u8]) -> Self {
        let mut text = [0; Self::SHORT];
        match text.get_mut(..bytes.len()) {
            Some(room) => room.copy_from_slice(bytes),
            None => return Fixed::Long(bytes.into()),
        }
        Fixed::Short { text, len: bytes.len() }
    }

    /// The text that `write` appends.
    fn of(write: impl FnOnce(&mut TextBuf)) -> Self {
        let mut out = TextBuf::new();
        write(&mut out);
        Fixed::new(out.as_bytes())
    }

    #[inline(always)]
    fn push(&self, out: &mut TextBuf) {
        match self {
            Fixed::Short { text, len } => {
                out.spare()[..Self::SHORT].copy_from_slice(text);
                out.advance(*len);
            }
            Fixed::Long(text) => out.push(text),
        }
    }
}

/// Texts that are kept, and bytes of each.
const MAX_KEPT: usize = 1 << 13;
const MAX_KEPT_BYTES: usize = 256;

impl LineWriter {
    pub fn new(format: &LineFormat) -> Self {
        let (mut steps, mut runs) = (Vec::new(), Vec::new());
        // Texts go with what follows them where that is put together once.
        let mut before = Vec::new();
        for piece in &format.pieces {
            let field = match piece {
                Piece::Text(text) => {
                    before.extend_from_slice(text);
                    continue;
                }
                Piece::Field(field) => field,
            };
            match field.conversion {
                Conversion::Cycles | Conversion::Time => {
                    push_step(Step::Text(Fixed::new(&std::mem::take(&mut before))), &mut steps);
                    steps.push(if field.conversion == Conversion::Time {
                        Step::Time(*field)
                    } else {
                        Step::Cycles(*field)
                    });
                }
                Conversion::Cpu => {
                    let before = std::mem::take(&mut before);
                    let text = |cpu| {
                        Fixed::of(|out| {
                            out.push(&before);
                            field.write(&Line { cpu, ..Line::default() }, out);
                        })
                    };
                    steps.push(Step::Cpu((0..64).map(text).collect()));
                }
                Conversion::Number | Conversion::Class | Conversion::Event => {
                    if !before.is_empty() {
                        named(Piece::Text(std::mem::take(&mut before)), &mut steps, &mut runs);
                    }
                    named(piece.clone(), &mut steps, &mut runs);
                }
            }
        }
        push_step(Step::Text(Fixed::new(&before)), &mut steps);
        // Place 0 is nobody's.
        LineWriter { steps, runs, named: vec![Fixed::new(b"")], places: vec![0; N_IDS] }
    }

    /// Where the texts of a record's class and event stand, where they are known.
    #[inline]
    pub fn find(&self, record: &KevRecord<'_>) -> Option<usize> {
        let id = usize::from(Space::record_id(record.class, record.event));
        self.places.get(id).map(|place| *place as usize).filter(|place| *place > 0)
    }

    /// Puts together what a record's class and event come to, where it is worth being kept; where it stands.
    pub fn learn(&mut self, record: &KevRecord<'_>, names: Names<'_>) -> Option<usize> {
        let line = names.line(record);
        let text = |run: &Vec<Piece>| Fixed::of(|out| run.iter().for_each(|piece| piece.write(&line, out)));
        let texts: Vec<Fixed> = self.runs.iter().map(text).collect();
        let is_short = |text: &Fixed| !matches!(text, Fixed::Long(text) if text.len() > MAX_KEPT_BYTES);
        if !texts.iter().all(is_short) || self.named.len() + texts.len() > MAX_KEPT {
            return None;
        }
        let place = self.named.len();
        self.named.extend(texts);
        let id = usize::from(Space::record_id(record.class, record.event));
        if let Some(known) = self.places.get_mut(id) {
            *known = place as u32;
        }
        Some(place)
    }

    /// Writes a line up to the arguments: with the texts that [`LineWriter::find`] or [`LineWriter::learn`] gave the
    /// place of, or else with names.
    #[inline]
    pub fn write(
        &self,
        place: Result<usize, Names<'_>>,
        record: &KevRecord<'_>,
        header: &KevHeader,
        out: &mut TextBuf,
    ) {
        let cycles = record.cycles().unwrap_or(record.stamp.into());
        for step in &self.steps {
            match step {
                Step::Text(text) => text.push(out),
                Step::Cycles(field) => field.write_cycles(cycles, out),
                Step::Time(field) => {
                    let time_us = header.ns(cycles).map(|ns| ns / 1000);
                    field.write(&Line { time_us, ..Line::default() }, out);
                }
                Step::Cpu(texts) => texts[usize::from(record.cpu) % texts.len()].push(out),
                Step::Named(run) => match place {
                    Ok(place) => self.named[place + run].push(out),
                    Err(names) => self.runs[*run].iter().for_each(|piece| piece.write(&names.line(record), out)),
                },
            }
        }
    }
}

/// What stands for an event's class and for itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names<'l> {
    pub class_text: &'l [u8],
    pub event_text: &'l [u8],
}

impl<'l> Names<'l> {
    fn line(self, record: &KevRecord<'_>) -> Line<'l> {
        let Names { class_text, event_text } = self;
        Line { event: record.event, class_text, event_text, ..Line::default() }
    }
}

/// Adds a step that is not for an empty text.
fn push_step(step: Step, steps: &mut Vec<Step>) {
    if !matches!(step, Step::Text(Fixed::Short { len: 0, .. })) {
        steps.push(step);
    }
}

/// Adds a piece that class and event determine, to the run that comes last where there is one.
fn named(piece: Piece, steps: &mut Vec<Step>, runs: &mut Vec<Vec<Piece>>) {
    match (steps.last(), runs.last_mut()) {
        (Some(Step::Named(_)), Some(run)) => run.push(piece),
        _ => {
            steps.push(Step::Named(runs.len()));
            runs.push(vec![piece]);
        }
    }
}

impl Piece {
    fn write(&self, line: &Line<'_>, out: &mut TextBuf) {
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
    /// assert_eq!(error.to_string(), "`%08x` at column 1: expected one of c, C, e, t, Z, z and % as its letter");
    /// ```
    ///
    /// # Errors
    /// A conversion that does not exist or is not complete, a width above 4096.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            push_text(&mut pieces, &rest[..at]);
            let column = text.len() - rest.len() + at + 1;
            let behind = &rest[at + 1..];
            let (spec, letter, after) = split(behind).map_err(|spelt| refused(&format!("%{spelt}"), column))?;
            let spelt = || format!("%{spec}{letter}");
            match (letter, spec) {
                ('%', "") => push_text(&mut pieces, "%"),
                _ => {
                    let conversion = conversion(letter).ok_or_else(|| refused(&spelt(), column))?;
                    let field = field(conversion, spec).ok_or_else(|| bad_spec(&spelt(), column))?;
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
    /// [`DEFAULT`].
    fn default() -> Self {
        let field = |conversion, left, zero, width| {
            Piece::Field(Field { conversion, left, zero, sign: None, alternate: false, width, precision: None })
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

fn refused(spelt: &str, column: usize) -> FormatError {
    FormatError(format!("`{spelt}` at column {column}: expected one of c, C, e, t, Z, z and % as its letter"))
}

fn bad_spec(spelt: &str, column: usize) -> FormatError {
    FormatError(format!(
        "`{spelt}` at column {column}: expected flags, a width up to {MAX_WIDTH} and `.` with a precision up to that"
    ))
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        Some(Piece::Text(last)) => last.extend_from_slice(text.as_bytes()),
        _ if text.is_empty() => {}
        _ => pieces.push(Piece::Text(text.into())),
    }
}

/// A conversion's spec, its letter, and what follows it; what there is of it where it has no letter.
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
fn field(conversion: Conversion, spec: &str) -> Option<Field> {
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
    Some(Field {
        conversion,
        left: has('-'),
        zero: has('0'),
        sign: if has('+') { Some(b'+') } else { has(' ').then_some(b' ') },
        alternate: has('#'),
        width: number(width)?,
        precision,
    })
}

/// A width or precision: none is 0.
fn number(text: &str) -> Option<usize> {
    if text.is_empty() {
        return Some(0);
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse::<u32>().ok().filter(|number| digits && *number <= MAX_WIDTH).map(|number| number as usize)
}

impl Field {
    /// Appends the clock, which nearly always has as many digits as are asked for.
    #[inline]
    fn write_cycles(&self, cycles: u64, out: &mut TextBuf) {
        if self.precision.is_none() && !self.alternate {
            let n_digits = num::hex_min(out.spare(), 0, cycles);
            if n_digits >= self.width {
                return out.advance(n_digits);
            }
        }
        self.write(&Line { cycles, ..Line::default() }, out);
    }

    fn write(&self, line: &Line<'_>, out: &mut TextBuf) {
        let mut digits = [0; 48];
        let end = match self.conversion {
            Conversion::Cycles => num::hex_min(&mut digits, 0, line.cycles),
            Conversion::Cpu => num::dec(&mut digits, 0, line.cpu.into()),
            Conversion::Number => num::dec(&mut digits, 0, line.event.into()),
            Conversion::Time => match line.time_us {
                Some(time) => num::dec(&mut digits, 0, time),
                None => return self.write_text(b"-", out),
            },
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
    use super::*;

    fn check(format: &str, expected: &str) {
        let cycles = 0x37b0_4f81_e014_u64;
        let header = KevHeader { cycles_per_sec: Some(cycles * 1000 / 83_123 * 1000), ..KevHeader::default() };
        let (stamp, msb) = (cycles as u32, Some((cycles >> 32) as u32));
        let record =
            KevRecord { number: 1, offset: 0, class: 4, event: 24, cpu: 3, wide: false, stamp, msb, bytes: &[] };
        let mut writer = LineWriter::new(&LineFormat::parse(format).unwrap());
        let text = |writer: &LineWriter, place: Result<usize, Names<'_>>| {
            let mut out = TextBuf::new();
            writer.write(place, &record, &header, &mut out);
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
    fn the_default_is_what_its_text_says() {
        assert_eq!(LineFormat::parse(DEFAULT), Ok(LineFormat::default()));
    }

    #[test]
    fn conversions_print_as_in_c() {
        check("%c %C %e %t %Z %z %%", "37b04f81e014 3 24 83123 THREAD THCREATE %");
        check("t:0x%08c CPU:%02C %-16Z:%-18z|", "t:0x37b04f81e014 CPU:03 THREAD          :THCREATE          |");
        check("%#16c|%-4C|%+e|% t", "  0x37b04f81e014|3   |+24| 83123");
        check("%10Z|%.3Z|%6.2z|%.8e|%8.4C|%.0Z|", "    THREAD|THR|    TH|00000024|    0003||");
        check("100%%%-6e|", "100%24    |");
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
