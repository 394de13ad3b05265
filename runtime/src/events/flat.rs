//! Argument lists flattened to texts and numbers at fixed words.
//!
//! The arguments of a record depend on its class, event number, length and little else. So the argument list of the
//! first record of a kind is flattened, and later records of that kind are printed without looking at the tables.
//!
//! ```text
//! pid:4098 tid:2          "pid:" Int(0)  " tid:" Int(1)
//! in JSON, the text       "\"pid:" Int(0)  " tid:" Int(1)  "\""
//! and the fields          ,"fields":[{"name":"pid","raw":  Int(0)  },{"name":"tid","raw":  Int(1)  }]
//! ```
//!
//! `report --columns data` on a log of `make-kev` takes 680 instructions per slot.

use super::arguments::{Arguments, push_name, text_of_words};
use super::table::{ArgStyle, ArgType};
use super::{ArgumentName, ArgumentValue, BuiltInEvents};
use crate::general_path;
use crate::json;
use crate::literal::{self, Literal, MAX_START, store};
use crate::reader::kev::KevRecord;
use tfbc_vm::{TextBuf, num};

/// Records with more words are printed one argument after the other.
const MAX_WORDS: usize = 32;
/// Limit on flattened lists. Records of further kinds are printed one argument after the other.
const MAX_LISTS: usize = 1 << 13;
/// Maximum number of words of a text.
const MAX_TEXT_WORDS: usize = 4;
/// Maximum length of a 64-bit number with its sign.
const MAX_INT: usize = 20;
/// Maximum number of bytes that a step writes: its literal, and a value.
const MAX_STEP: usize = Literal::MAX + 72;

/// Cache of flattened lists, by kind of record.
#[derive(Debug)]
pub(crate) struct FlatArguments {
    events: BuiltInEvents,
    /// Notation of the texts.
    text_form: ArgNotation,
    /// By class and event, the index of the first list plus 1; 0 if there is none.
    places: Vec<u32>,
    lists: Vec<FlatList>,
}

/// Index of a flattened list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListIndex(u32);

/// The form in which arguments are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArgNotation {
    /// Text in the one-line form of [`ArgumentPrinter`](super::ArgumentPrinter), without surrounding blanks.
    Text,
    /// That text as a JSON string.
    JsonText,
    /// Objects of a JSON array, with its key.
    Objects,
}

/// Flattened list of one kind of record.
#[derive(Debug)]
struct FlatList {
    kind: RecordShape,
    /// `None` if records of this kind are printed one argument after the other.
    text: Option<Box<[PrintStep]>>,
    /// `None` if records of this kind are printed one argument after the other, and for lists without JSON.
    objects: Option<Box<[PrintStep]>>,
    /// Index of the first word that is not shown; it and all later words must be 0.
    end: usize,
    /// Index plus 1 of the next list of the same event.
    next: u32,
}

/// Properties of a record, besides class and event, that decide its argument list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RecordShape {
    n_words: u32,
    wide: bool,
    /// True if the first word is -1, as in the record of a failed kernel call.
    failed: bool,
}

/// A text, and the value after it.
#[derive(Debug, Clone, Copy)]
struct PrintStep {
    before: Literal,
    put: ValueNotation,
    /// Index of the value's first word.
    word: u16,
}

/// The way in which a value is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueNotation {
    Nothing,
    Int,
    Sequence,
    Hex,
    Pointer,
    Int64,
    Hex64,
    /// Text of this many words, followed by the words in hexadecimal.
    Words(u8),
}

/// Bytes before the fields of a JSON line.
pub(crate) fn fields_key(is_wide: bool) -> &'static [u8] {
    if is_wide { b",\"wide\":true,\"fields\":[" } else { b",\"fields\":[" }
}

impl FlatArguments {
    /// Lists that print text.
    pub fn of_text(events: BuiltInEvents) -> Self {
        Self::new(events, ArgNotation::Text)
    }

    /// Lists that print JSON: the text as a string, and objects.
    pub fn of_json(events: BuiltInEvents) -> Self {
        Self::new(events, ArgNotation::JsonText)
    }

    fn new(events: BuiltInEvents, text_form: ArgNotation) -> Self {
        Self { events, text_form, places: vec![0; 1 << 15], lists: Vec::new() }
    }

    /// List of a record; `None` if it is not flattened.
    #[inline]
    pub fn find(&mut self, record: &KevRecord<'_>) -> Option<ListIndex> {
        let n_words = record.bytes.len() / 4;
        if n_words > MAX_WORDS || record.event > 1023 || general_path::is_required() {
            return None;
        }
        let first = record.bytes.first_chunk::<4>();
        let kind = RecordShape { n_words: n_words as u32, wide: record.wide, failed: first == Some(&[0xFF; 4]) };
        let place = usize::from(record.meant_class()) << 10 | usize::from(record.event);
        let mut next = self.places.get(place).copied().unwrap_or(0);
        let list = loop {
            match self.lists.get(next.wrapping_sub(1) as usize) {
                Some(list) if list.kind == kind => break list,
                Some(list) => next = list.next,
                None => next = self.add(place, kind, record)?,
            }
        };
        let rest = record.bytes.get(4 * list.end..4 * n_words).unwrap_or_default();
        rest.iter().all(|byte| *byte == 0).then_some(ListIndex(next - 1))
    }

    /// Appends the text of a record's arguments. Returns false and appends nothing if its list has none.
    #[inline]
    pub fn print_text(&self, list: ListIndex, record: &KevRecord<'_>, out: &mut TextBuf) -> bool {
        let Some(steps) = self.lists.get(list.0 as usize).and_then(|list| list.text.as_deref()) else { return false };
        let start = out.len();
        let done = match self.events.big_endian {
            false => print::<false, false>(steps, record.bytes, self.text_form, out),
            true => print::<true, false>(steps, record.bytes, self.text_form, out),
        };
        if !done {
            out.truncate(start);
        }
        done
    }

    /// Appends the fields of a JSON line. Returns false and appends nothing if the list of the record has none.
    #[inline]
    pub fn print_objects(&self, list: ListIndex, record: &KevRecord<'_>, out: &mut TextBuf) -> bool {
        let Some(steps) = self.lists.get(list.0 as usize).and_then(|list| list.objects.as_deref()) else {
            return false;
        };
        let start = out.len();
        let done = match self.events.big_endian {
            false => print::<false, true>(steps, record.bytes, ArgNotation::Objects, out),
            true => print::<true, true>(steps, record.bytes, ArgNotation::Objects, out),
        };
        if !done {
            out.truncate(start);
        }
        done
    }

    /// Adds the list of a kind of record; returns its index plus 1, or `None` if there are too many.
    #[cold]
    fn add(&mut self, place: usize, kind: RecordShape, record: &KevRecord<'_>) -> Option<u32> {
        if self.lists.len() == MAX_LISTS {
            return None;
        }
        let first = self.places.get_mut(place)?;
        let steps = |form| flatten(form, record.wide, self.events.arguments(record));
        let text = steps(self.text_form);
        let objects = if self.text_form == ArgNotation::Text { None } else { steps(ArgNotation::Objects) };
        // All forms end at the same word.
        let end = text.as_ref().or(objects.as_ref()).map_or(0, |(_, end)| *end);
        let [text, objects] = [text, objects].map(|steps| steps.map(|(steps, _)| steps.into()));
        self.lists.push(FlatList { kind, text, objects, end, next: *first });
        *first = self.lists.len() as u32;
        Some(*first)
    }
}

/// Appends the values of flattened arguments. Returns false if a text cannot be printed from its words alone.
#[inline(always)]
fn print<const BIG_ENDIAN: bool, const JSON: bool>(
    steps: &[PrintStep],
    bytes: &[u8],
    form: ArgNotation,
    out: &mut TextBuf,
) -> bool {
    let mut room = out.spare();
    let mut at = 0;
    for PrintStep { before, put, word } in steps {
        if at > MAX_START - MAX_STEP {
            out.advance(at);
            (room, at) = (out.spare(), 0);
        }
        at = literal::start(before.put(room, at));
        let from = 4 * usize::from(*word);
        let number = || {
            let word = bytes.get(from..from + 4).and_then(|word| word.first_chunk()).copied().unwrap_or_default();
            if BIG_ENDIAN { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
        };
        let number_64 = || {
            let word = bytes.get(from..from + 8).and_then(|word| word.first_chunk()).copied().unwrap_or_default();
            if BIG_ENDIAN { u64::from_be_bytes(word) } else { u64::from_le_bytes(word) }
        };
        at = match put {
            ValueNotation::Nothing => at,
            ValueNotation::Int => put_int::<16, JSON>(room, at, i64::from(number() as i32)),
            ValueNotation::Sequence => put_int::<16, JSON>(room, at, i64::from(number() & 0x7ff)),
            ValueNotation::Int64 => put_int::<MAX_INT, JSON>(room, at, number_64() as i64),
            ValueNotation::Hex => {
                let (number, at) = (number(), if JSON { put_raw(room, at, number().into()) } else { at });
                store(room, at, *b"0x");
                let end = num::hex_low(room, at + 2, number.into(), 8);
                close::<JSON>(room, end)
            }
            ValueNotation::Hex64 => {
                let (number, at) = (number_64(), if JSON { put_raw(room, at, number_64()) } else { at });
                store(room, at, *b"0x");
                let end = num::hex_low(room, at + 2, number, 16);
                close::<JSON>(room, end)
            }
            ValueNotation::Pointer => {
                let (number, at) = (number(), if JSON { put_raw(room, at, number().into()) } else { at });
                let end = num::hex_min(room, at, number.into());
                close::<JSON>(room, end)
            }
            ValueNotation::Words(n) => {
                let words = bytes.get(from..).unwrap_or_default().as_chunks().0;
                let words = words.get(..usize::from(*n)).unwrap_or_default();
                match put_words(room, at, words, form) {
                    Some(at) => at,
                    None => return false,
                }
            }
        };
    }
    out.advance(at);
    true
}

/// Writes a number of at most `MAX` bytes. In JSON, also writes its text, which is the number between quotes.
#[inline(always)]
fn put_int<const MAX: usize, const JSON: bool>(room: &mut [u8; TextBuf::SPARE], at: usize, number: i64) -> usize {
    let end = num::int(room, at, number as u64);
    if !JSON {
        return end;
    }
    let end = literal::start(end);
    store(room, end, *b",\"text\":\"");
    // A block of fixed size is copied without a loop.
    if let Some(digits) = room.get(at..).and_then(|digits| digits.first_chunk::<MAX>()).copied() {
        store(room, end + 9, digits);
    }
    close::<JSON>(room, end + 9 + (end - at))
}

/// Writes a JSON number, and the bytes between it and its text.
#[inline(always)]
fn put_raw(room: &mut [u8; TextBuf::SPARE], at: usize, number: u64) -> usize {
    let at = literal::start(num::dec(room, at, number));
    store(room, at, *b",\"text\":\"");
    at + 9
}

/// Closes the text and the object of JSON.
#[inline(always)]
fn close<const JSON: bool>(room: &mut [u8; TextBuf::SPARE], at: usize) -> usize {
    if !JSON {
        return at;
    }
    store(room, at, *b"\"}");
    at + 2
}

/// Writes a text of words: `"ping" (0x676e6970)`, as an object `"ping","text":"ping"}`. `None` if JSON escapes it.
#[inline(never)]
fn put_words(room: &mut [u8; TextBuf::SPARE], at: usize, words: &[[u8; 4]], form: ArgNotation) -> Option<usize> {
    let mut text = [0; 4 * MAX_TEXT_WORDS];
    let mut len = 0;
    for part in text_of_words(words) {
        text.get_mut(len..len + part.len())?.copy_from_slice(part);
        len += part.len();
    }
    if form != ArgNotation::Text && !json::is_plain(&text[..len]) {
        return None;
    }
    if form == ArgNotation::Objects {
        store(room, at, [b'"']);
        store(room, at + 1, text);
        store(room, at + 1 + len, *b"\",\"text\":\"");
        store(room, at + 11 + len, text);
        return Some(close::<true>(room, at + 11 + 2 * len));
    }
    let quote = Literal::of(if form == ArgNotation::Text { b"\"" } else { b"\\\"" });
    let mut at = quote.put(room, at);
    store(room, at, text);
    at = quote.put(room, at + len);
    store(room, at, *b" (");
    at += 2;
    for (n, word) in words.iter().enumerate() {
        if n > 0 {
            store(room, at, [b' ']);
            at += 1;
        }
        store(room, at, *b"0x");
        at = num::hex_low(room, at + 2, u32::from_le_bytes(*word).into(), 8);
    }
    store(room, at, [b')']);
    Some(at + 1)
}

/// Flattens an argument list: the steps, and the index of the first word that is not shown. `None` if an argument does
/// not have a fixed place.
fn flatten(form: ArgNotation, is_wide: bool, mut arguments: Arguments<'_>) -> Option<(Vec<PrintStep>, usize)> {
    let mut builder = PrintStepBuilder { form, steps: Vec::new(), text: TextBuf::new() };
    if form == ArgNotation::Objects {
        builder.text.push(fields_key(is_wide));
    }
    let mut names = Vec::new();
    loop {
        let (word, letter) = (arguments.at, arguments.list.first().map(|arg| arg.letter));
        let Some(argument) = arguments.next() else { break };
        if let ArgumentName::Word(at) = argument.name
            && !arguments.open
        {
            // Arguments of this kind are shown only if one of them is not 0.
            return Some((builder.finish()?, at));
        }
        let put = match argument.value {
            ArgumentValue::Decimal(_) if letter == Some(ArgType::Sequence) => ValueNotation::Sequence,
            ArgumentValue::Decimal(_) => ValueNotation::Int,
            ArgumentValue::Hex(_) => ValueNotation::Hex,
            ArgumentValue::Pointer(_) => ValueNotation::Pointer,
            ArgumentValue::Decimal64(_) => ValueNotation::Int64,
            ArgumentValue::Hex64(_) => ValueNotation::Hex64,
            ArgumentValue::Text(words) if words.len() <= MAX_TEXT_WORDS => ValueNotation::Words(words.len() as u8),
            ArgumentValue::Text(_) | ArgumentValue::Name(_) => return None,
        };
        if form == ArgNotation::Objects {
            let n_before = names.iter().filter(|name| **name == argument.name).count();
            names.push(argument.name);
            builder.text.push(if names.len() > 1 { b",{\"name\":\"" } else { b"{\"name\":\"" });
            push_name(argument.name, &mut builder.text);
            if n_before > 0 {
                builder.text.push(b"_");
                builder.text.dec(n_before as u64 + 1);
            }
            builder.text.push(b"\",\"raw\":");
            builder.step(put, word)?;
            continue;
        }
        match (argument.show, put) {
            (ArgStyle::Named, _) => {
                builder.text.push(b" ");
                push_name(argument.name, &mut builder.text);
                builder.text.push(b":");
                builder.step(put, word)?;
            }
            (ArgStyle::Decimal(before), ValueNotation::Int | ValueNotation::Sequence) => {
                builder.text.push(before.as_bytes());
                builder.step(put, word)?;
            }
            (ArgStyle::Between(before, after), ValueNotation::Int | ValueNotation::Sequence) => {
                builder.text.push(before.as_bytes());
                builder.step(put, word)?;
                builder.text.push(after.as_bytes());
            }
            (ArgStyle::Hex(before), ValueNotation::Hex | ValueNotation::Hex64) => {
                // The value brings its own prefix.
                builder.text.push(before.strip_suffix("0x")?.as_bytes());
                builder.step(put, word)?;
            }
            (ArgStyle::Hidden, _) => {}
            _ => return None,
        }
    }
    let end = arguments.at;
    Some((builder.finish()?, end))
}

/// Builder of a list of steps.
struct PrintStepBuilder {
    form: ArgNotation,
    steps: Vec<PrintStep>,
    /// Text before the next value.
    text: TextBuf,
}

impl PrintStepBuilder {
    /// Adds a value, and the text before it.
    fn step(&mut self, put: ValueNotation, word: usize) -> Option<()> {
        let word = u16::try_from(word).ok()?;
        self.check()?;
        self.steps.extend(Literal::all(self.text.as_bytes()).map(|before| PrintStep {
            before,
            put: ValueNotation::Nothing,
            word,
        }));
        self.text.clear();
        match self.steps.last_mut() {
            Some(last) if last.put == ValueNotation::Nothing => last.put = put,
            _ => self.steps.push(PrintStep { before: Literal::default(), put, word }),
        }
        Some(())
    }

    /// `None` if JSON would escape the text before the next value.
    fn check(&self) -> Option<()> {
        (self.form != ArgNotation::JsonText || json::is_plain(self.text.as_bytes())).then_some(())
    }

    /// Adds the text after the last value. Trims a text, and adds the quotes of JSON.
    fn finish(mut self) -> Option<Vec<PrintStep>> {
        self.check()?;
        let (before, after): (&[u8], &[u8]) = match self.form {
            ArgNotation::Text => (b"", b""),
            ArgNotation::JsonText => (b"\"", b"\""),
            ArgNotation::Objects => (b"", b"]"),
        };
        let rest = [self.text.as_bytes().trim_ascii_end(), after].concat();
        self.steps.extend(Literal::all(&rest).map(|before| PrintStep { before, put: ValueNotation::Nothing, word: 0 }));
        if self.form != ArgNotation::Objects
            && let Some(first) = self.steps.first_mut()
        {
            first.before = Literal::fitting(&[before, first.before.as_bytes().trim_ascii_start()].concat())?;
        }
        Some(self.steps)
    }
}
