//! Parser of context tables, which have one entry per line.
//!
//! ```text
//! entry   = hook[.subhook] ["generic" | "plain"] ["kind=" hex] ["if" place "=" number] action {key "=" place}
//! label   = "label" class type name
//! counter = expression "counter" name "value=" field ["key=" field]
//! pair    = "pair" name "start=" expression "end=" expression "key=" fields ["by=" fields]
//! section = "[daemon " name "]" | "[qnx]"
//! place   = D1 … D5 | HD | TID | U1@offset | U2@… | U4@… | U8@… | S@offset | P@offset
//! offset  = bytes | Wn | Wn+bytes
//! in the section [qnx]:
//! entry   = event ["if" place "=" number] action {key "=" place}       event: what `--only` takes
//! place   = argument of the event table | W0 | W1 … | call | vector
//! ```

use super::table::{
    Action, ClassName, ContextTable, CounterRule, NamePos, NumberPos, Offset, PairRule, RecordEntry, RecordPos,
    Section, TableEntry, TextPos,
};
use crate::events::argument_names;
use crate::expression::Expression;
use crate::qnx_report::ids::RecordIds;
use crate::suggest::hint;
use std::collections::BTreeSet;
use std::fmt;

/// Largest number of reported mistakes.
const MAX_MISTAKES: usize = 100;

/// Keys of an action besides `cpu`: required ones and optional ones.
type Keys = (&'static [&'static str], &'static [&'static str]);

/// Largest number of classes in a table.
const MAX_CLASSES: usize = 64;
/// Largest number of counters in a table.
const MAX_COUNTERS: usize = 256;
/// Largest number of pairs in a table.
const MAX_PAIRS: usize = 256;

/// Largest number of entries for QNX in a table. Each record is compared with all of them.
const MAX_RECORD_ENTRIES: usize = 256;

/// Actions and their keys; `enter` requires one of its optional keys.
const ACTIONS: [(&str, Keys); 19] = [
    ("none", (&[], &[])),
    ("process", (&["pid"], &["tid", "path"])),
    ("exec", (&["path"], &["pid"])),
    ("fork", (&["pid"], &["tid"])),
    ("thread", (&["tid"], &["pid", "priority"])),
    ("exit", (&[], &["pid"])),
    ("dispatch", (&[], &["pid", "tid", "priority"])),
    ("undispatch", (&[], &["tid"])),
    ("enter", (&[], &["class", "name", "address"])),
    ("symbol", (&["address", "name"], &[])),
    ("return", (&[], &["class", "name", "result", "errno"])),
    ("raise", (&[], &["class", "type", "name", "address"])),
    ("lower", (&[], &["class"])),
    ("reset", (&[], &[])),
    ("resume", (&[], &[])),
    ("kproc", (&["pid"], &[])),
    ("lost", (&[], &["count"])),
    ("on", (&[], &[])),
    ("off", (&[], &[])),
];

/// All mistakes in the text of a context table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextError {
    /// Line and column, both from 1, and message per mistake.
    pub mistakes: Vec<(u32, u32, String)>,
}

impl fmt::Display for ContextError {
    /// Formats a line per mistake: `line:column: message`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (line, column, message)) in self.mistakes.iter().enumerate() {
            let end = if at + 1 < self.mistakes.len() { "\n" } else { "" };
            write!(f, "{line}:{column}: {message}{end}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ContextError {}

/// Column and message of a mistake in a line.
type LineError = (u32, String);

/// Parses a context table.
pub(super) fn parse(text: &[u8]) -> Result<ContextTable, ContextError> {
    let mut sections = vec![Section::default()];
    let mut mistakes = Vec::new();
    let mut classes = BTreeSet::new();
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = String::from_utf8_lossy(line);
        let parsed = parse_line(&line, &mut sections, &mut classes);
        if let Err((column, message)) = parsed
            && mistakes.len() < MAX_MISTAKES
        {
            mistakes.push((number as u32 + 1, column, message));
        }
    }
    if mistakes.is_empty() { Ok(ContextTable { sections }) } else { Err(ContextError { mistakes }) }
}

fn parse_line(line: &str, sections: &mut Vec<Section>, classes: &mut BTreeSet<ClassName>) -> Result<(), LineError> {
    let mut words = words(line);
    if let Some(section) = words.first().filter(|word| word.text.starts_with('[')).map(|_| section(&words)) {
        // Entries after a bad heading are parsed too, to report their mistakes.
        sections.push(Section::default());
        let daemon = section?;
        if let Some(section) = sections.last_mut() {
            (section.is_qnx, section.daemon) = (daemon.is_none(), daemon);
        }
        return Ok(());
    }
    words.reverse();
    let Some(first) = words.pop() else { return Ok(()) };
    let LineWord { column, text: hook } = first;
    if hook == "pair" {
        let pair = pair(column, words)?;
        if sections.iter().map(|section| section.pairs.len()).sum::<usize>() >= MAX_PAIRS {
            return Err((column, format!("a table has at most {MAX_PAIRS} pairs")));
        }
        if let Some(section) = sections.last_mut() {
            section.pairs.push(pair);
        }
        return Ok(());
    }
    if words.last().is_some_and(|word| word.text == "counter") {
        words.pop();
        let counter = counter(first, words)?;
        if sections.iter().map(|section| section.counters.len()).sum::<usize>() >= MAX_COUNTERS {
            return Err((column, format!("a table has at most {MAX_COUNTERS} counters")));
        }
        if let Some(section) = sections.last_mut() {
            section.counters.push(counter);
        }
        return Ok(());
    }
    let class = if hook == "label" {
        let label = label(column, words)?;
        let class = label.0;
        if let Some(section) = sections.last_mut() {
            section.labels.push(label);
        }
        Some(class)
    } else if sections.last().is_some_and(|section| section.is_qnx) {
        let entry = record_entry(first, words)?;
        if sections.iter().map(|section| section.record_entries.len()).sum::<usize>() >= MAX_RECORD_ENTRIES {
            return Err((column, format!("a table has at most {MAX_RECORD_ENTRIES} entries for QNX")));
        }
        let class = entry.action.class();
        if let Some(section) = sections.last_mut() {
            section.record_entries.push(entry);
        }
        class
    } else {
        let entry = entry(column, hook, words)?;
        if let Some(section) = sections.last_mut() {
            section.entries.push(entry);
        }
        entry.action.class()
    };
    classes.extend(class);
    if classes.len() > MAX_CLASSES {
        return Err((column, format!("a table has at most {MAX_CLASSES} classes")));
    }
    Ok(())
}

/// Parses the rest of a line `label CLASS TYPE NAME`. `words` are in reverse order.
fn label(column: u32, mut words: Vec<LineWord<'_>>) -> Result<(ClassName, u64, String), LineError> {
    let mut next =
        |what: &str| words.pop().ok_or_else(|| (column, format!("`label` needs {what}: `label FLIH 4 I/O`")));
    let class = next("a class")?;
    let class = ClassName::parse(class.text).ok_or_else(|| (class.column, no_class(class.text)))?;
    let LineWord { column, text } = next("a type")?;
    let kind = number_value(text).ok_or_else(|| (column, format!("`{text}` is not a type: expected a number")))?;
    let mut name = String::from(next("a name")?.text);
    while let Some(word) = words.pop() {
        name.push(' ');
        name.push_str(word.text);
    }
    Ok((class, kind, name))
}

/// Parses the rest of a line `pair NAME start=… end=… key=… by=…`. `words` are in reverse order.
fn pair(column: u32, mut words: Vec<LineWord<'_>>) -> Result<PairRule, LineError> {
    const EXAMPLE: &str = "`pair lock start=112 end=113 key=tid,d1`";
    let name = words.pop().ok_or_else(|| (column, format!("`pair` needs a name: {EXAMPLE}")))?;
    let (mut start, mut end, mut key, mut by) = (None, None, None, None);
    while let Some(LineWord { column, text: word }) = words.pop() {
        let expected = || (column, format!("expected start=, end=, key= or by=, found `{word}`: {EXAMPLE}"));
        let (what, text) = word.split_once('=').ok_or_else(expected)?;
        let expression = || {
            Expression::parse(text).map_err(|error| (column + what.len() as u32 + error.column as u32, error.message))
        };
        let is_twice = match what {
            "start" => start.replace(expression()?).is_some(),
            "end" => end.replace(expression()?).is_some(),
            "key" => key.replace(text.to_owned()).is_some(),
            "by" => by.replace(text.to_owned()).is_some(),
            _ => return Err(expected()),
        };
        if is_twice {
            return Err((column, format!("`{what}` is given twice")));
        }
    }
    let needs = |what: &str| (column, format!("`pair` needs `{what}=`: {EXAMPLE}"));
    Ok(PairRule {
        name: name.text.to_owned(),
        start: start.ok_or_else(|| needs("start"))?,
        end: end.ok_or_else(|| needs("end"))?,
        key: key.ok_or_else(|| needs("key"))?,
        by: by.unwrap_or_default(),
    })
}

/// Parses the rest of a line `EVENTS counter NAME value=… key=…`. `words` are in reverse order.
fn counter(events: LineWord<'_>, mut words: Vec<LineWord<'_>>) -> Result<CounterRule, LineError> {
    const EXAMPLE: &str = "`1A5 counter queue value=D2 key=D1`";
    let column = events.column;
    let events = Expression::parse(events.text).map_err(|error| (column - 1 + error.column as u32, error.message))?;
    let name = words.pop().ok_or_else(|| (column, format!("`counter` needs a name: {EXAMPLE}")))?;
    let (mut value, mut key) = (None, None);
    while let Some(LineWord { column, text: word }) = words.pop() {
        let is_twice = match word.split_once('=') {
            Some(("value", field)) => value.replace(field.to_owned()).is_some(),
            Some(("key", field)) => key.replace(field.to_owned()).is_some(),
            _ => return Err((column, format!("expected value= or key=, found `{word}`: {EXAMPLE}"))),
        };
        if is_twice {
            return Err((column, format!("`{word}`: the key is given twice")));
        }
    }
    let value = value.ok_or_else(|| (column, format!("`counter` needs `value=`: {EXAMPLE}")))?;
    Ok(CounterRule { name: name.text.to_owned(), events, value, key })
}

fn no_class(text: &str) -> String {
    format!("`{text}` is not a class: expected up to 15 capitals, such as `FLIH`")
}

/// Decimal number, or hexadecimal with `0x`.
fn number_value(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => hex(digits),
        None => text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?,
    }
}

/// Word of a line, with its column from 1.
#[derive(Clone, Copy)]
struct LineWord<'l> {
    column: u32,
    text: &'l str,
}

/// Splits a line into words, up to a comment.
fn words(line: &str) -> Vec<LineWord<'_>> {
    let mut words = Vec::new();
    let mut rest = line;
    let mut column = 1;
    while let Some(start) = rest.find(|letter: char| !letter.is_whitespace()) {
        column += rest[..start].chars().count() as u32;
        rest = &rest[start..];
        if rest.starts_with('#') {
            break;
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        words.push(LineWord { column, text: &rest[..end] });
        column += rest[..end].chars().count() as u32;
        rest = &rest[end..];
    }
    words
}

/// Parses a heading: returns the name for `[daemon NAME]`, and `None` for `[qnx]`.
fn section(words: &[LineWord<'_>]) -> Result<Option<Vec<u8>>, LineError> {
    match words {
        [LineWord { text: "[daemon", .. }, LineWord { text: name, .. }] if name.len() > 1 && name.ends_with(']') => {
            Ok(Some(name.as_bytes()[..name.len() - 1].to_vec()))
        }
        [LineWord { text: "[qnx]", .. }] => Ok(None),
        [first, ..] => Err((first.column, String::from("expected a section such as `[daemon tfbc]` or `[qnx]`"))),
        [] => Ok(None),
    }
}

/// Parses an entry. `words` are the words after the hook, in reverse order.
fn entry(column: u32, hook: &str, mut words: Vec<LineWord<'_>>) -> Result<TableEntry, LineError> {
    let (id, subhook) = hook.split_once('.').map_or((hook, None), |(id, subhook)| (id, Some(subhook)));
    let Some(id) = hook_id(id) else {
        return Err((column, format!("`{id}` is not a hook id; expected 3 or 4 hex digits")));
    };
    let subhook = match subhook.map(|text| (text, hex(text))) {
        None => None,
        Some((_, Some(number @ 0..=0xFFFF))) => Some(number as u16),
        Some((text, _)) => return Err((column, format!("`{text}` is not a subhook: expected 1 to 4 hex digits"))),
    };
    let mut generic = None;
    let mut kind = None;
    let mut condition = None;
    let (column, name) = loop {
        let Some(LineWord { column, text: word }) = words.pop() else {
            return Err((column, format!("hook `{hook}` has no action, such as `dispatch`")));
        };
        match (word, word.strip_prefix("kind=")) {
            ("generic", _) => generic = Some(true),
            ("plain", _) => generic = Some(false),
            (_, Some(text)) => {
                let missing = || (column, format!("`{text}` is not a kind: expected a hex number"));
                kind = Some(hex(text).ok_or_else(missing)?);
            }
            ("if", _) => {
                let LineWord { column, text } = words.pop().unwrap_or(LineWord { column, text: "" });
                let parsed = text.split_once('=').and_then(|(place, value)| number(place).zip(number_value(value)));
                let missing = || (column, format!("`{text}` is not a condition: expected one such as `if D1=1`"));
                condition = Some(parsed.ok_or_else(missing)?);
            }
            _ => break (column, word),
        }
    };
    let (action, places) = action::<InHook>(LineWord { column, text: name }, id, words)?;
    Ok(TableEntry { id, subhook, generic, kind, condition, cpu: places.number("cpu"), action })
}

/// Parses an entry of a section `[qnx]`. `words` are the words after the event, in reverse order.
fn record_entry(events: LineWord<'_>, mut words: Vec<LineWord<'_>>) -> Result<RecordEntry, LineError> {
    let LineWord { column, text: events } = events;
    RecordIds::default().add(events, None).map_err(|message| (column, message))?;
    let mut condition = None;
    if words.pop_if(|word| word.text == "if").is_some() {
        let LineWord { column, text } = words.pop().unwrap_or(LineWord { column, text: "" });
        let parsed = text.split_once('=');
        let parsed = parsed.and_then(|(place, value)| RecordPos::parse(place).zip(number_value(value)));
        let missing = || (column, format!("`{text}` is not a condition: expected one such as `if W0=1`"));
        condition = Some(parsed.ok_or_else(missing)?);
    }
    let missing = || (column, format!("`{events}` has no action, such as `enter`"));
    let name = words.pop().ok_or_else(missing)?;
    let (action, _) = action::<InRecord>(name, 0, words)?;
    Ok(RecordEntry { events: events.to_owned(), condition, action })
}

/// Action with the positions of its values, and all positions.
type ParsedAction<P> = (Action<<P as Notation>::Number, <P as Notation>::Text>, Places<P>);

/// Parses an action with its keys. `words` are the words after its name, in reverse order.
fn action<P: Notation>(
    name: LineWord<'_>,
    id: u16,
    mut words: Vec<LineWord<'_>>,
) -> Result<ParsedAction<P>, LineError> {
    let LineWord { column, text: name } = name;
    let Some((name, keys)) = ACTIONS.iter().find(|(known, _)| *known == name) else {
        let hint = hint(name, &ACTIONS.map(|(name, _)| name));
        return Err((column, format!("unknown action `{name}`{hint}")));
    };
    let idle = *name == "dispatch" && words.pop_if(|word| word.text == "idle").is_some();
    let places = Places::<P>::parse(column, name, keys, words)?;
    Ok((places.action(column, name, id, idle)?, places))
}

/// Notation of positions.
trait Notation {
    type Number: Copy;
    type Text: Copy;
    /// Keys that every action takes.
    const KEYS: &[&'static str];

    fn number(text: &str) -> Result<Self::Number, String>;
    fn text(text: &str) -> Result<Self::Text, String>;
}

/// Positions in an AIX event.
enum InHook {}

impl Notation for InHook {
    type Number = NumberPos;
    type Text = TextPos;
    const KEYS: &[&'static str] = &["cpu"];

    fn number(place: &str) -> Result<NumberPos, String> {
        let expected = "expected D1 to D5, HD, TID, or U1@, U2@, U4@, U8@ and an offset";
        number(place).ok_or_else(|| format!("`{place}` is not a place of a number: {expected}"))
    }

    fn text(place: &str) -> Result<TextPos, String> {
        let expected = "expected S@OFFSET, or P@OFFSET for one that begins with `/`";
        text(place).ok_or_else(|| format!("`{place}` is not a place of a text: {expected}"))
    }
}

/// Positions in a record of QNX.
enum InRecord {}

impl Notation for InRecord {
    type Number = RecordPos;
    type Text = RecordPos;
    const KEYS: &[&'static str] = &[];

    fn number(place: &str) -> Result<RecordPos, String> {
        RecordPos::parse(place).ok_or_else(|| {
            let hint = hint(place, &argument_names().collect::<Vec<_>>());
            format!("`{place}` is not a place: expected W0, W1 and so on, or an argument that `tfbc list` shows{hint}")
        })
    }

    fn text(place: &str) -> Result<RecordPos, String> {
        Self::number(place)
    }
}

fn hook_id(text: &str) -> Option<u16> {
    let id = u16::try_from(hex(text)?).ok()?;
    match text.len() {
        3 => Some(id << 4),
        4 => Some(id),
        _ => None,
    }
}

fn hex(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u64::from_str_radix(text, 16).ok())?
}

/// Keys and values after an action.
struct Places<P: Notation> {
    numbers: Vec<(&'static str, P::Number)>,
    texts: Vec<(&'static str, P::Text)>,
    class: Option<ClassName>,
}

impl<P: Notation> Places<P> {
    fn parse(column: u32, action: &str, keys: &Keys, mut words: Vec<LineWord<'_>>) -> Result<Self, LineError> {
        let (needed, more) = keys;
        let known: Vec<&'static str> = [needed, more, P::KEYS].concat();
        let mut places = Self { numbers: Vec::new(), texts: Vec::new(), class: None };
        while let Some(LineWord { column, text: word }) = words.pop() {
            let Some((key, place)) = word.split_once('=') else {
                return Err((column, format!("expected KEY=PLACE, found `{word}`")));
            };
            let Some(key) = known.iter().find(|known| **known == key) else {
                let hint = hint(key, &known);
                return Err((column, format!("`{action}` has no `{key}`, but {}{hint}", known.join(", "))));
            };
            if places.number(key).is_some() || places.text(key).is_some() || (*key == "class" && places.class.is_some())
            {
                return Err((column, format!("`{key}` is given twice")));
            }
            places.add(key, place).map_err(|message| (column, message))?;
        }
        match needed.iter().find(|key| places.number(key).is_none() && places.text(key).is_none()) {
            Some(key) => Err((column, format!("`{action}` needs `{key}=`"))),
            None => Ok(places),
        }
    }

    fn add(&mut self, key: &'static str, place: &str) -> Result<(), String> {
        if key == "class" {
            self.class = Some(ClassName::parse(place).ok_or_else(|| no_class(place))?);
        } else if matches!(key, "path" | "name") {
            self.texts.push((key, P::text(place)?));
        } else {
            self.numbers.push((key, P::number(place)?));
        }
        Ok(())
    }

    fn number(&self, key: &str) -> Option<P::Number> {
        self.numbers.iter().find(|(known, _)| *known == key).map(|(_, number)| *number)
    }

    fn text(&self, key: &str) -> Option<P::Text> {
        self.texts.iter().find(|(known, _)| *known == key).map(|(_, text)| *text)
    }

    /// Class of an interrupt; by default, the class that belongs to the hook.
    fn interrupt_class(&self, id: u16) -> ClassName {
        self.class.unwrap_or(match id {
            0x1000 => ClassName::FLIH,
            0x1020 | 0x1030 => ClassName::SLIH,
            _ => ClassName::INT,
        })
    }

    /// Name or address; `None` unless exactly one is given.
    fn name(&self) -> Option<NamePos<P::Number, P::Text>> {
        match (self.text("name"), self.number("address")) {
            (Some(name), None) => Some(NamePos::Text(name)),
            (None, Some(address)) => Some(NamePos::Address(address)),
            _ => None,
        }
    }

    fn action(&self, column: u32, name: &str, id: u16, idle: bool) -> Result<Action<P::Number, P::Text>, LineError> {
        let (pid, tid, priority) = (self.number("pid"), self.number("tid"), self.number("priority"));
        let needs = |key: &str| (column, format!("`{name}` needs `{key}=`"));
        let needed = |key: &str| self.number(key).ok_or_else(|| needs(key));
        Ok(match name {
            "process" => Action::Process { pid: needed("pid")?, tid, path: self.text("path") },
            "exec" => Action::Exec { pid, path: self.text("path").ok_or_else(|| needs("path"))? },
            "fork" => Action::Fork { pid: needed("pid")?, tid },
            "thread" => Action::Thread { tid: needed("tid")?, pid, priority },
            "exit" => Action::Exit { pid },
            "dispatch" => Action::Dispatch { pid, tid, priority, idle },
            "undispatch" => Action::Undispatch { tid },
            "enter" if self.name().is_none() && (self.class.is_none() || self.number("address").is_some()) => {
                return Err((column, String::from("`enter` needs `name=`, `address=` or `class=`")));
            }
            "enter" => Action::Enter { class: self.class.unwrap_or(ClassName::SYSCALL), name: self.name() },
            "symbol" => {
                Action::Symbol { address: needed("address")?, name: self.text("name").ok_or_else(|| needs("name"))? }
            }
            "return" => Action::Return {
                class: self.class.unwrap_or(ClassName::SYSCALL),
                name: self.text("name"),
                errno: self.number("errno"),
                result: self.number("result"),
            },
            "raise" => Action::Raise { class: self.interrupt_class(id), kind: self.number("type"), name: self.name() },
            "lower" => Action::Lower { class: self.interrupt_class(id) },
            "reset" => Action::Reset { resume: false },
            "resume" => Action::Reset { resume: true },
            "kproc" => Action::Kproc { pid: needed("pid")? },
            "lost" => Action::Lost { count: self.number("count") },
            "on" => Action::On,
            "off" => Action::Off,
            _ => Action::None,
        })
    }
}

impl<N: Copy, T: Copy> Action<N, T> {
    /// Class that the action names.
    fn class(&self) -> Option<ClassName> {
        match *self {
            Action::Enter { class, .. }
            | Action::Return { class, .. }
            | Action::Raise { class, .. }
            | Action::Lower { class } => Some(class),
            _ => None,
        }
    }
}

pub(super) fn number(place: &str) -> Option<NumberPos> {
    Some(match place.as_bytes() {
        b"HD" => NumberPos::Subhook,
        b"TID" => NumberPos::Tid,
        [b'D', n @ b'1'..=b'5'] => NumberPos::Word(n - b'0'),
        [b'U', width @ (b'1' | b'2' | b'4' | b'8'), b'@', ..] => {
            NumberPos::Bytes { at: offset(&place[3..])?, width: width - b'0' }
        }
        _ => return None,
    })
}

pub(super) fn text(place: &str) -> Option<TextPos> {
    let (letter, at) = place.split_once('@')?;
    let path = match letter {
        "S" => false,
        "P" => true,
        _ => return None,
    };
    Some(TextPos { at: offset(at)?, path })
}

fn offset(text: &str) -> Option<Offset> {
    let decimal = |text: &str| text.parse::<u16>().ok().filter(|_| !text.starts_with('+'));
    match text.strip_prefix('W') {
        None => Some(Offset { words: 0, bytes: decimal(text)? }),
        Some(text) => {
            let (words, bytes) = text.split_once('+').unwrap_or((text, "0"));
            Some(Offset { words: u8::try_from(decimal(words)?).ok()?, bytes: decimal(bytes)? })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::System;

    fn mistakes(text: &str) -> Vec<String> {
        parse(text.as_bytes()).unwrap_err().to_string().lines().map(str::to_owned).collect()
    }

    #[test]
    fn entries_are_read() {
        let table = parse(b"# x\n\n106.1f plain dispatch tid=U4@W2+8 cpu=HD # y\n[daemon a-b]\nF5F1 reset").unwrap();
        let tid = Some(NumberPos::Bytes { at: Offset { words: 2, bytes: 8 }, width: 4 });
        let expected = TableEntry {
            id: 0x1060,
            subhook: Some(0x1F),
            generic: Some(false),
            kind: None,
            condition: None,
            cpu: Some(NumberPos::Subhook),
            action: Action::Dispatch { pid: None, tid, priority: None, idle: false },
        };
        assert_eq!(table.sections[0], Section { entries: vec![expected], ..Section::default() });
        assert_eq!(table.sections[1].daemon.as_deref(), Some(&b"a-b"[..]));
        assert_eq!(table.sections[1].entries[0].id, 0xF5F1);
        assert!(parse(b"").is_ok());
    }

    #[test]
    fn all_mistakes_are_reported_in_one_run() {
        let text = "106 dispach\n  15 raise\n106.12345 reset\n106 dispatch pidd=D1\n106 dispatch pid=D6\n106\n\
                    134 exec\n106 dispatch pid\n106 dispatch pid=D1 pid=D2\n[demon x]\n00A kind=x reset\n\
                    101 enter\n101 enter name=D1\n101 enter address=U3@4\n101 enter name=S@W2+\n";
        let found = mistakes(text);
        let expected = [
            "1:5: unknown action `dispach`; did you mean `dispatch`?",
            "2:3: `15` is not a hook id",
            "3:1: `12345` is not a subhook",
            "4:14: `dispatch` has no `pidd`, but pid, tid, priority, cpu; did you mean `pid`?",
            "5:14: `D6` is not a place of a number",
            "6:1: hook `106` has no action",
            "7:5: `exec` needs `path=`",
            "8:14: expected KEY=PLACE",
            "9:21: `pid` is given twice",
            "10:1: expected a section",
            "11:5: `x` is not a kind",
            "12:5: `enter` needs `name=`",
            "13:11: `D1` is not a place of a text",
            "14:11: `U3@4` is not a place of a number",
            "15:11: `S@W2+` is not a place of a text",
        ];
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{found}\n{expected}");
        }
    }

    #[test]
    fn classes_labels_and_conditions_are_read() {
        let text = "492 if D1=0x1F enter class=HCALL name=S@W2\n10C dispatch idle cpu=HD\n100 raise type=D1\n\
                    100 lower\n1F0 raise class=MY_1 address=D1\nlabel FLIH 0x2 data access  # c\n";
        let table = parse(text.as_bytes()).unwrap();
        let [hcall, idle, raise, lower, own] = &table.sections[0].entries[..] else { panic!() };
        assert_eq!(hcall.condition, Some((NumberPos::Word(1), 0x1F)));
        assert_eq!(hcall.action.class().unwrap().as_str(), "HCALL");
        assert_eq!(idle.action, Action::Dispatch { pid: None, tid: None, priority: None, idle: true });
        assert_eq!(raise.action, Action::Raise { class: ClassName::FLIH, kind: Some(NumberPos::Word(1)), name: None });
        assert_eq!(lower.action, Action::Lower { class: ClassName::FLIH });
        assert_eq!(own.action.class().unwrap().as_str(), "MY_1");
        assert_eq!(table.sections[0].labels, [(ClassName::FLIH, 2, String::from("data access"))]);
        let found = mistakes(
            "100 raise class=flih\n100 if D1 raise\n100 if\nlabel FLIH x y\nlabel FLIH 1\nlabel f 1 x\n\
             106 idle\n100 raise class=A class=B\n200 resume class=A",
        );
        let expected = [
            "1:11: `flih` is not a class",
            "2:8: `D1` is not a condition",
            "3:5: `` is not a condition",
            "4:12: `x` is not a type",
            "5:1: `label` needs a name",
            "6:7: `f` is not a class",
            "7:5: unknown action `idle`",
            "8:19: `class` is given twice",
            "9:12: `resume` has no `class`",
        ];
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{found}\n{expected}");
        }
        let many: String = (0..65).map(|n| format!("100 raise class=C{n}\n")).collect();
        assert_eq!(mistakes(&many), ["65:1: a table has at most 64 classes"]);
    }

    #[test]
    fn pairs_are_read() {
        let text = "pair lock start=112{d1>0} end=113|114 key=tid,d1 by=svc\n[qnx]\npair r key=thread end=2 start=1\n";
        let table = parse(text.as_bytes()).unwrap();
        let lock = table.pair("lock", System::Aix).unwrap();
        assert_eq!((lock.key.as_str(), lock.by.as_str()), ("tid,d1", "svc"));
        assert_eq!(lock.start, Expression::parse("112{d1>0}").unwrap());
        assert!(table.pair("lock", System::Qnx).is_none() && table.pair("r", System::Qnx).is_some());
        assert_eq!(table.pair_names(System::Qnx).collect::<Vec<_>>(), ["r"]);
        let found = mistakes(
            "pair\npair a start=1\npair a start=101 end=104\npair a start=10{ end=104 key=tid\npair a key=b key=c\n\
             pair a star=1\n[qnx]\n106 dispatch",
        );
        let expected = [
            "1:1: `pair` needs a name",
            "2:1: `pair` needs `end=`",
            "3:1: `pair` needs `key=`",
            "4:17: expected a condition",
            "5:14: `key` is given twice",
            "6:8: expected start=",
            "8:1: `106`: `106` is not a class",
        ];
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{found}\n{expected}");
        }
        let many = "pair a start=101 end=104 key=tid\n".repeat(257);
        assert_eq!(mistakes(&many), ["257:1: a table has at most 256 pairs"]);
    }

    #[test]
    fn counters_are_read() {
        let table = parse(b"1A5{d1>0} counter queue value=D2 key=D1\n[qnx]\n6:7 counter load value=w0\n").unwrap();
        let queue = table.counters(System::Aix).next().unwrap();
        assert_eq!((queue.name.as_str(), queue.value.as_str(), queue.key.as_deref()), ("queue", "D2", Some("D1")));
        assert_eq!(table.counters(System::Qnx).map(|counter| counter.name.as_str()).collect::<Vec<_>>(), ["load"]);
        let found = mistakes("1A5 counter\n1A5 counter a\n1A5 counter a vale=D1\n1A5 counter a value=D1 value=D2\n");
        let expected =
            ["1:1: `counter` needs a name", "2:1: `counter` needs `value=`", "3:15: expected value= or key=", "4:24:"];
        assert!(found.iter().zip(expected).all(|(found, expected)| found.starts_with(expected)), "{found:#?}");
    }

    #[test]
    fn a_table_has_at_most_256_counters() {
        let line = "1A5 counter a value=D1\n";
        assert!(parse(line.repeat(256).as_bytes()).is_ok());
        assert_eq!(mistakes(&line.repeat(257)), ["257:1: a table has at most 256 counters"]);
    }

    #[test]
    fn entries_of_qnx_are_read() {
        let text = "[qnx]\nUSER:5 if W0=0x1F enter class=REQUEST  # c\nTHRUNNING dispatch idle pid=pid tid=tid\n\
                    label DRIVER 2 disk\nINT:1 raise type=vector\nKERCALLEXIT return name=call errno=errno\n";
        let table = parse(text.as_bytes()).unwrap();
        let [request, dispatch, raise, leave] = &table.sections[1].record_entries[..] else { panic!() };
        assert_eq!((request.events.as_str(), request.condition), ("USER:5", Some((RecordPos::Word(0), 0x1F))));
        assert_eq!(request.action, Action::Enter { class: ClassName::parse("REQUEST").unwrap(), name: None });
        let [pid, tid, errno] = ["pid", "tid", "errno"].map(RecordPos::Argument);
        let expected = Action::Dispatch { pid: Some(pid), tid: Some(tid), priority: None, idle: true };
        assert_eq!(dispatch.action, expected);
        let expected = Action::Raise { class: ClassName::INT, kind: Some(RecordPos::Vector), name: None };
        assert_eq!(raise.action, expected);
        let (name, class) = (Some(RecordPos::Call), ClassName::SYSCALL);
        assert_eq!(leave.action, Action::Return { class, name, errno: Some(errno), result: None });
        assert_eq!(table.sections[1].labels.len(), 1);
        let found = mistakes(
            "[qnx]\nUSER:5\nUSER:x none\nUSER:5 if D1=1 none\nUSER:5 enter\nUSER:5 raise type=D1\nUSER:5 raise cpu=W0\n\
             THRUNNING dispatch tid=tidd\nUSER:5 ented class=A",
        );
        let expected = [
            "2:1: `USER:5` has no action",
            "3:1: `USER:x`: ",
            "4:11: `D1=1` is not a condition",
            "5:8: `enter` needs `name=`",
            "6:14: `D1` is not a place: expected W0",
            "7:14: `raise` has no `cpu`",
            "8:20: `tidd` is not a place: expected W0, W1 and so on, or an argument that `tfbc list` shows; did you mean `tid`?",
            "9:8: unknown action `ented`; did you mean `enter`?",
        ];
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{found}\n{expected}");
        }
        let many = mistakes(&format!("[qnx]\n{}", "USER:5 none\n".repeat(257)));
        assert_eq!(many, ["258:1: a table has at most 256 entries for QNX"]);
    }

    #[test]
    fn a_class_needs_no_name() {
        let table = parse(b"492 if D1=1 enter class=HCALL").unwrap();
        let class = ClassName::parse("HCALL").unwrap();
        assert_eq!(table.sections[0].entries[0].action, Action::Enter { class, name: None });
    }

    #[test]
    fn no_bytes_are_too_strange() {
        assert!(parse(&[0xFF; 100]).is_err());
        assert!(parse(b"106 dispatch pid=U8@W65535").is_err());
        assert!(parse("é.1 raise".as_bytes()).is_err());
        assert!(parse(b"[").is_err() && parse(b"[daemon ]").is_err());
        assert_eq!(parse(b"\r\n 100 raise\r\n").unwrap().sections[0].entries.len(), 1);
        assert_eq!(mistakes(&"x\n".repeat(1000)).len(), MAX_MISTAKES);
    }
}
