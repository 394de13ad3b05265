//! Arguments of a record: assigns its words to the event's argument list, and names the words that are left over.

use super::table::{self, ArgLayout, ArgStyle, ArgType, Args, ListArg, Lists, Row, Table};
use crate::reader::kev::{KevRecord, classes};
use tfbc_vm::{TextBuf, num};

/// Iterator over a record's arguments in the order of the list, then over its leftover words.
#[derive(Debug, Clone)]
pub struct Arguments<'r> {
    pub(super) list: &'static [ListArg],
    bytes: &'r [u8],
    big_endian: bool,
    /// Index of the next word.
    pub(super) at: usize,
    /// Index after the last leftover word to show; `None` until the list has ended.
    end: Option<usize>,
    /// True to show every leftover word, padding included.
    pub(super) open: bool,
    pub(super) own_lines: bool,
    /// False if the record prints as `EVENT n`: it is unknown, or too short for its form.
    pub(super) named: bool,
}

/// An argument of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument<'r> {
    /// Name of the argument.
    pub name: ArgumentName,
    /// Value of the argument.
    pub value: ArgumentValue<'r>,
    pub(super) show: ArgStyle,
}

impl Argument<'_> {
    /// True if the event's argument list has this name for the argument.
    pub fn name_is(&self, name: &str) -> bool {
        matches!(self.name, ArgumentName::Listed(listed) if listed == name)
    }
}

/// Name of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArgumentName {
    /// Name from the event's argument list.
    Listed(&'static str),
    /// Word without a name, printed as `w` and its index in the record.
    Word(usize),
}

/// Value of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentValue<'r> {
    /// 32-bit decimal (letter `D`).
    Decimal(i32),
    /// 32-bit hexadecimal with eight digits (letter `H`, and words without a name).
    Hex(u32),
    /// Hexadecimal without leading zeros (letter `P`).
    Pointer(u32),
    /// 64-bit decimal (letter `E`).
    Decimal64(i64),
    /// 64-bit hexadecimal with 16 digits (letter `X`).
    Hex64(u64),
    /// Text of whole words in memory order (letters `Ss`). [`text_of_words`] extracts the text.
    Text(&'r [[u8; 4]]),
    /// Bytes before the NUL (letter `N`). traceprinter prints them if `is_text` is true.
    Name(&'r [u8]),
}

/// True if traceprinter prints these bytes: all are printable ASCII or line ends.
pub fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| (0x20..=0x7e).contains(byte) || *byte == b'\n')
}

/// Iterates over the text in words, up to the first NUL. A word that is not text ends it too.
pub fn text_of_words(words: &[[u8; 4]]) -> impl Iterator<Item = &[u8]> {
    let mut ended = false;
    words.iter().map_while(move |word| {
        let n = word.iter().position(|byte| *byte == 0).unwrap_or(4);
        let shown = !ended && is_text(&word[..n]);
        ended |= n < 4;
        shown.then_some(&word[..n])
    })
}

/// Arguments of a record, by the table row of its event.
#[inline]
pub(super) fn arguments<'r>(row: Option<&'static Row>, record: &KevRecord<'r>, big_endian: bool) -> Arguments<'r> {
    let n_words = record.bytes.len() / 4;
    let list = row.and_then(|row| fitting(row, record, n_words, big_endian));
    let Some(row) = row.filter(|_| list.is_some()) else {
        let own_lines = n_words > 2 && record.class != classes::CONTROL && record.class != classes::USER;
        return Arguments {
            list: &[],
            bytes: record.bytes,
            big_endian,
            at: 0,
            end: None,
            open: true,
            own_lines,
            named: false,
        };
    };
    let (list, on_line) = list.unwrap_or_default();
    let (list, open) = match list {
        Some(list) => (list, matches!(row.lists, Lists::Prefix(_))),
        None => (&[][..], true),
    };
    let own_lines = !on_line && (n_words > 2 || row.form == ArgLayout::OwnLines);
    Arguments { list, bytes: record.bytes, big_endian, at: 0, end: None, open, own_lines, named: true }
}

/// Argument list of a record, and true if its arguments stay on the event's line. `None` if the record is too short for
/// its form.
#[inline]
fn fitting(row: &'static Row, record: &KevRecord<'_>, n_words: usize, big_endian: bool) -> Option<(Args, bool)> {
    let fixed = |list: &'static [ListArg]| {
        let needed: usize = list.iter().map(ListArg::n_words).sum();
        (n_words >= needed).then_some((Some(list), true))
    };
    match row.form {
        ArgLayout::State if record.event < 24 => Some((Some(&table::STATE), true)),
        ArgLayout::State => Some((Some(&table::NEW_STATE), true)),
        ArgLayout::Buffer => fixed(&table::BUFFER),
        ArgLayout::User if record.wide => Some((Some(&table::USER_TEXT), true)),
        ArgLayout::User => fixed(&table::USER),
        ArgLayout::Interrupt => fixed(table::INTERRUPTS.get(usize::from(record.event).wrapping_sub(1))?),
        ArgLayout::Interrupted => Some((Some(&[]), false)),
        ArgLayout::Exit if word(record.bytes, 0, big_endian) == Some(u32::MAX) => fixed(&table::FAILED),
        ArgLayout::Listed | ArgLayout::OwnLines | ArgLayout::Exit => {
            let list = match row.lists {
                Lists::ByLength { short, long } => {
                    if n_words > 2 {
                        long
                    } else {
                        short
                    }
                }
                Lists::Prefix(list) => Some(list),
                Lists::With64 { fast, wide, fast_32 } => with_64(fast, wide, fast_32, n_words),
            };
            Some((list, record.class == classes::CONTROL))
        }
    }
}

/// Picks the list of a kernel call with 64-bit values by the number of words.
fn with_64(fast: Args, wide: Args, fast_32: Args, n_words: usize) -> Args {
    let fits =
        |list: &&'static [ListArg]| list.iter().map(ListArg::n_words).sum::<usize>().next_multiple_of(2) == n_words;
    fast.filter(fits).or(wide.filter(fits)).or(fast_32.filter(|_| n_words == 2)).or(wide)
}

/// Reads a word of a record.
#[inline]
fn word(bytes: &[u8], at: usize, big_endian: bool) -> Option<u32> {
    let word = *bytes.get(at * 4..)?.first_chunk()?;
    Some(if big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) })
}

impl<'r> Arguments<'r> {
    fn n_words(&self) -> usize {
        self.bytes.len() / 4
    }

    fn word(&self) -> Option<u32> {
        word(self.bytes, self.at, self.big_endian)
    }

    fn word_64(&self) -> Option<u64> {
        let bytes = *self.bytes.get(self.at * 4..)?.first_chunk()?;
        Some(if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    /// Reads the next value of the list. Returns the number of its words too, and `None` if too few are left.
    #[inline]
    fn value(&self, letter: ArgType) -> Option<(ArgumentValue<'r>, usize)> {
        Some(match letter {
            ArgType::Decimal => (ArgumentValue::Decimal(self.word()? as i32), 1),
            ArgType::Hex => (ArgumentValue::Hex(self.word()?), 1),
            ArgType::Pointer => (ArgumentValue::Pointer(self.word()?), 1),
            ArgType::Sequence => (ArgumentValue::Decimal((self.word()? & 0x7ff) as i32), 1),
            ArgType::Decimal64 => (ArgumentValue::Decimal64(self.word_64()? as i64), 2),
            ArgType::Hex64 => (ArgumentValue::Hex64(self.word_64()?), 2),
            ArgType::Text(n) => {
                let words = self.bytes.get(self.at * 4..)?.as_chunks().0;
                let words = words.get(..words.len().min(n.into())).filter(|words| !words.is_empty())?;
                (ArgumentValue::Text(words), words.len())
            }
            ArgType::Name => {
                let rest = self.bytes.get(self.at * 4..).filter(|rest| !rest.is_empty())?;
                let end = rest.iter().position(|byte| *byte == 0);
                let name = &rest[..end.unwrap_or(rest.len())];
                // traceprinter prints the words of a name again if the name itself prints as nothing.
                let is_shown = !name.is_empty() && is_text(name);
                let n_words = end.map_or(rest.len().div_ceil(4), |end| end / 4 + 1);
                (ArgumentValue::Name(name), if is_shown { n_words } else { 0 })
            }
        })
    }

    /// Index after the last leftover word to show: zeros at the end are padding.
    #[inline]
    fn leftover_end(&self) -> usize {
        if self.open {
            return self.n_words();
        }
        let rest = self.bytes.get(self.at * 4..).unwrap_or_default().as_chunks::<4>().0;
        self.at + rest.iter().rposition(|word| *word != [0; 4]).map_or(0, |last| last + 1)
    }
}

impl<'r> Iterator for Arguments<'r> {
    type Item = Argument<'r>;

    #[inline]
    fn next(&mut self) -> Option<Argument<'r>> {
        if let [arg, rest @ ..] = self.list {
            if let Some((value, n_words)) = self.value(arg.letter) {
                self.list = rest;
                self.at += n_words;
                return Some(Argument { name: ArgumentName::Listed(arg.name), value, show: arg.show });
            }
            self.list = &[];
        }
        let end = match self.end {
            Some(end) => end,
            None => *self.end.insert(self.leftover_end()),
        };
        let value = ArgumentValue::Hex(self.word().filter(|_| self.at < end)?);
        let name = ArgumentName::Word(self.at);
        self.at += 1;
        Some(Argument { name, value, show: ArgStyle::Named })
    }
}

/// Column in which argument names end if each argument has its own line.
const NAME_END: usize = 26;

/// Prints the arguments of records as traceprinter's default layout does.
#[derive(Debug, Clone, Copy)]
pub struct ArgumentPrinter {
    pub(super) table: &'static Table,
    pub(super) big_endian: bool,
    pub(super) one_line: bool,
}

impl ArgumentPrinter {
    /// Appends the arguments and a line end. Each argument follows a blank or starts a new line.
    #[inline]
    pub fn print(&self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let row = self.table.row(record.meant_class(), record.event);
        let arguments = arguments(row, record, self.big_endian);
        let own_lines = arguments.own_lines && !self.one_line;
        for argument in arguments {
            match argument.show {
                ArgStyle::Named if own_lines => {
                    out.push(b"\n");
                    out.pad(NAME_END.saturating_sub(name_len(argument.name)));
                    push_name(argument.name, out);
                    out.push(b":");
                    push_value(argument.value, out);
                }
                ArgStyle::Named => push_named(argument, out),
                ArgStyle::Sigevent => sigevent(record.bytes, self.big_endian, out),
                show => push_fixed(show, argument, out),
            }
        }
        out.push(b"\n");
    }
}

fn name_len(name: ArgumentName) -> usize {
    match name {
        ArgumentName::Listed(name) => name.len(),
        ArgumentName::Word(at) => 2 + at.checked_ilog10().unwrap_or(0) as usize,
    }
}

pub(super) fn push_name(name: ArgumentName, out: &mut TextBuf) {
    match name {
        ArgumentName::Listed(name) => out.push(name.as_bytes()),
        ArgumentName::Word(at) => {
            out.push(b"w");
            out.dec(at as u64);
        }
    }
}

/// Length up to which a name and its number are written to the buffer in one go.
const MAX_SHORT_NAME: usize = 64;

/// Appends ` name:value`.
#[inline]
fn push_named(argument: Argument<'_>, out: &mut TextBuf) {
    if let ArgumentName::Listed(name) = argument.name
        && name.len() <= MAX_SHORT_NAME
    {
        let room = out.spare();
        let start = name.len() + 2;
        room[0] = b' ';
        room[1..start - 1].copy_from_slice(name.as_bytes());
        room[start - 1] = b':';
        if let Some(end) = put_number(argument.value, room, start) {
            return out.advance(end);
        }
    }
    out.push(b" ");
    push_name(argument.name, out);
    out.push(b":");
    push_value(argument.value, out);
}

/// Writes a number at offset `at` and returns the offset after it; `None` for texts.
#[inline]
fn put_number(value: ArgumentValue<'_>, room: &mut [u8], at: usize) -> Option<usize> {
    let hex = |room: &mut [u8], value: u64, digits| {
        room[at..at + 2].copy_from_slice(b"0x");
        num::hex_low(room, at + 2, value, digits)
    };
    Some(match value {
        ArgumentValue::Decimal(value) => num::int(room, at, i64::from(value) as u64),
        ArgumentValue::Hex(value) => hex(room, value.into(), 8),
        ArgumentValue::Pointer(value) => num::hex_min(room, at, value.into()),
        ArgumentValue::Decimal64(value) => num::int(room, at, value as u64),
        ArgumentValue::Hex64(value) => hex(room, value, 16),
        ArgumentValue::Text(_) | ArgumentValue::Name(_) => return None,
    })
}

fn push_int(value: i32, out: &mut TextBuf) {
    push_value(ArgumentValue::Decimal(value), out);
}

fn push_hex(value: u64, digits: usize, out: &mut TextBuf) {
    let end = num::hex_low(out.spare(), 0, value, digits);
    out.advance(end);
}

fn push_value(value: ArgumentValue<'_>, out: &mut TextBuf) {
    match value {
        ArgumentValue::Text(words) => {
            out.push(b"\"");
            text_of_words(words).for_each(|part| out.push(part));
            out.push(b"\" (");
            for (at, word) in words.iter().enumerate() {
                out.push(if at > 0 { b" 0x" } else { b"0x" });
                push_hex(u32::from_le_bytes(*word).into(), 8, out);
            }
            out.push(b")");
        }
        ArgumentValue::Name(name) if is_text(name) => out.push(name),
        ArgumentValue::Name(_) => {}
        number => {
            let end = put_number(number, out.spare(), 0).unwrap_or(0);
            out.advance(end);
        }
    }
}

/// Appends an argument that has a format of its own.
fn push_fixed(show: ArgStyle, argument: Argument<'_>, out: &mut TextBuf) {
    match (show, argument.value) {
        (ArgStyle::Decimal(before), ArgumentValue::Decimal(value)) => {
            out.push(before.as_bytes());
            push_int(value, out);
        }
        (ArgStyle::Between(before, after), ArgumentValue::Decimal(value)) => {
            out.push(before.as_bytes());
            push_int(value, out);
            out.push(after.as_bytes());
        }
        (ArgStyle::Hex(before), ArgumentValue::Hex(value) | ArgumentValue::Pointer(value)) => {
            out.push(before.as_bytes());
            push_hex(value.into(), 8, out);
        }
        (ArgStyle::Hex(before), ArgumentValue::Hex64(value)) => {
            out.push(before.as_bytes());
            push_hex(value, 16, out);
        }
        (ArgStyle::Quoted, value) => {
            out.push(b" ");
            push_name(argument.name, out);
            out.push(b":\"");
            push_value(value, out);
            out.push(b"\"");
        }
        _ => {}
    }
}

/// Appends the sigevent in the words after an interrupt's number.
fn sigevent(bytes: &[u8], big_endian: bool, out: &mut TextBuf) {
    let word = |at| word(bytes, at, big_endian).unwrap_or_default();
    let half = |at: usize| {
        let half = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
        if big_endian { i16::from_be_bytes(half) } else { i16::from_le_bytes(half) }
    };
    let (notify, signo, value) = (word(1), word(2), word(3));
    // traceprinter's C code sign-extends the code.
    let (code, priority) = (i32::from(half(16)) as u32, half(18));
    let alternate = |n: u32| if n == 0 { String::from("0") } else { format!("{n:#x}") };
    let code_and_value = || format!("{}:{}", alternate(code), alternate(value));
    let text = match notify & 0xff {
        0 => String::from("NONE"),
        1 => format!("SIGNAL {signo}"),
        2 => format!("SIGNAL_CODE {signo} {}", code_and_value()),
        3 => format!("SIGNAL_THREAD {signo} {}", code_and_value()),
        4 => format!("PULSE {}:{priority} {}", alternate(signo), code_and_value()),
        5 => String::from("UNBLOCK"),
        6 => String::from("INTR"),
        7 => format!("THREAD {code:x}:{value:x}"),
        other => format!("UNKNOWN({})", alternate(other)),
    };
    out.push(b" SIGEVENT:");
    out.push(text.as_bytes());
    if notify & 0x100 != 0 {
        out.push(b" CRITICAL");
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::thread_created;
    use super::*;
    use crate::events::BuiltInEvents;
    use crate::reader::kev::QnxRelease;

    #[test]
    fn arguments_have_names_from_the_list_then_numbers() {
        let bytes = [1, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0];
        let found = BuiltInEvents::of(Some(QnxRelease { major: 7, minor: 1 }), false)
            .arguments(&thread_created(&bytes, true))
            .map(|all| (all.name, all.value));
        let expected = [
            (ArgumentName::Listed("pid"), ArgumentValue::Decimal(1)),
            (ArgumentName::Listed("tid"), ArgumentValue::Decimal(2)),
            (ArgumentName::Word(2), ArgumentValue::Hex(7)),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn text_is_ascii_and_ends_at_the_first_nul() {
        assert!(is_text(b"two\nlines") && !is_text("caf\u{e9}".as_bytes()));
        assert_eq!(text_of_words(&[*b"abcd", *b"e\0fg"]).collect::<Vec<_>>().concat(), b"abcde");
    }
}
