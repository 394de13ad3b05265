//! The table of what hooks tell: sections of entries, and the entries that hold for one trace.

use super::parse::{self, ContextError};
use crate::reader::Input;
use crate::reader::aix::RawEvent;
use std::fmt;
use std::io;
use std::path::Path;

/// The entries that hold where no file says otherwise.
const BUILT_IN: &str = include_str!("../../formats/default.context");
/// The largest table that is read, in bytes.
const MAX_TEXT: u64 = 1 << 20;

/// Which hooks tell of processes, threads, CPUs and system calls, and in which words.
///
/// ```
/// use tfbc::context::ContextTable;
/// let own: ContextTable = "106 dispatch pid=D1 tid=D2  # as on my machine".parse()?;
/// let table = ContextTable::default().overlay(own);
/// let errors = "106 dispach".parse::<ContextTable>().unwrap_err();
/// assert_eq!(errors.to_string(), "1:5: unknown action `dispach`; did you mean `dispatch`?");
/// # Ok::<(), tfbc::context::ContextError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextTable {
    /// Later ones win, hook by hook.
    pub(super) sections: Vec<Section>,
}

/// Entries that hold for every trace, or for those of one recorder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Section {
    /// What hook 00A, kind 1E, has to say.
    pub daemon: Option<Vec<u8>>,
    pub entries: Vec<Entry>,
}

/// What one form of a hook tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// Canonical hook id.
    pub id: u16,
    /// The subhook that it takes; `None` for any.
    pub subhook: Option<u16>,
    /// Generic or plain; `None` for both.
    pub generic: Option<bool>,
    /// The data word of a generic event that it takes; `None` for any.
    pub kind: Option<u64>,
    /// Where the number of the CPU stands on which it happened.
    pub cpu: Option<Number>,
    pub action: Action,
}

/// What an event does, with the places of what it says. What is left out is the event's own thread and its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    None,
    Process { pid: Number, tid: Option<Number>, path: Option<Text> },
    Exec { pid: Option<Number>, path: Text },
    Fork { pid: Number, tid: Option<Number> },
    Thread { tid: Number, pid: Option<Number>, priority: Option<Number> },
    Exit { pid: Option<Number> },
    Dispatch { pid: Option<Number>, tid: Option<Number>, priority: Option<Number> },
    Undispatch { tid: Option<Number> },
    EnterName { name: Text },
    EnterAddress { address: Number },
    Symbol { address: Number, name: Text },
    Return,
    Raise,
    Lower,
    Reset,
}

/// Where a number stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    /// Data word 1 to 5 of the hook's width; a generic event has one.
    Word(u8),
    /// The low 16 bits of the hook word.
    Subhook,
    /// The thread id that every event carries.
    Tid,
    /// Up to 8 bytes, big-endian.
    Bytes { at: Offset, width: u8 },
}

/// Where a text stands: up to a NUL, or to the end of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Text {
    pub at: Offset,
    /// Whether only a text that begins with `/` counts.
    pub path: bool,
}

/// A place in the presented buffer, from its first byte: words of the hook's width, then bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offset {
    pub words: u8,
    pub bytes: u16,
}

/// Why a table could not be loaded.
#[derive(Debug)]
pub enum LoadError {
    /// The file cannot be read.
    Io(io::Error),
    /// The file has more than 1 MiB.
    TooLarge,
    /// All that is wrong with the text.
    Text(ContextError),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Io(error) => error.fmt(f),
            LoadError::TooLarge => write!(f, "a context table has at most {MAX_TEXT} bytes"),
            LoadError::Text(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LoadError {}

impl Default for ContextTable {
    /// The built-in table: what is documented, and the hooks whose words are ours.
    fn default() -> Self {
        BUILT_IN.parse().unwrap_or(Self { sections: Vec::new() })
    }
}

impl ContextTable {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, or has mistakes: all of them.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let text = Input::open(path).and_then(|mut input| input.read_whole(MAX_TEXT));
        let text = text.map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => LoadError::TooLarge,
            _ => LoadError::Io(error),
        })?;
        parse::parse(&text).map_err(LoadError::Text)
    }

    /// This table, with another one whose entries win hook by hook.
    #[must_use]
    pub fn overlay(mut self, other: Self) -> Self {
        self.sections.extend(other.sections);
        self
    }

    /// The ids of all hooks that tell something, whoever recorded.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u16> {
        self.sections.iter().flat_map(|section| section.entries.iter().map(|entry| entry.id))
    }

    /// What holds for a trace of the recorder `daemon`. A section's entries for a hook take the place of all that
    /// earlier sections have for it. Of these, only those that are `wanted` are kept.
    pub(super) fn lookup(&self, daemon: &[u8], wanted: impl Fn(&Entry) -> bool) -> Lookup {
        let mut lookup = Lookup { index: vec![0; 1 << 16], lists: Vec::new() };
        let holds = |section: &&Section| section.daemon.as_deref().is_none_or(|name| name == daemon);
        for section in self.sections.iter().filter(holds) {
            let mut ids: Vec<_> = section.entries.iter().map(|entry| entry.id).collect();
            ids.sort_unstable();
            ids.dedup();
            ids.into_iter().for_each(|id| lookup.clear(id));
            section.entries.iter().filter(|entry| wanted(entry)).for_each(|entry| lookup.list(entry.id).push(*entry));
        }
        lookup
    }
}

impl std::str::FromStr for ContextTable {
    type Err = ContextError;

    fn from_str(text: &str) -> Result<Self, ContextError> {
        parse::parse(text.as_bytes())
    }
}

/// Entries by hook id.
#[derive(Debug, Clone)]
pub(super) struct Lookup {
    /// By canonical id: an index of `lists` and 1, or 0.
    index: Vec<u32>,
    lists: Vec<Vec<Entry>>,
}

impl Lookup {
    /// The list of an id, made where there is none.
    pub fn list(&mut self, id: u16) -> &mut Vec<Entry> {
        let at = &mut self.index[usize::from(id)];
        if *at == 0 {
            self.lists.push(Vec::new());
            *at = self.lists.len() as u32;
        }
        &mut self.lists[*at as usize - 1]
    }

    /// Forgets what is listed for an id.
    fn clear(&mut self, id: u16) {
        if let Some(list) = self.lists.get_mut((self.index[usize::from(id)] as usize).wrapping_sub(1)) {
            list.clear();
        }
    }

    /// The list of an id, by its place; 0 for none.
    #[inline]
    pub fn find(&self, id: u16) -> u32 {
        self.index[usize::from(id)]
    }

    /// An entry of a list.
    #[inline]
    pub fn entry(&self, list: u32, at: usize) -> Option<Entry> {
        self.lists[list as usize - 1].get(at).copied()
    }
}

/// The presented buffer of an event, with what its hook word says.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'e> {
    bytes: &'e [u8],
    wide: bool,
    generic: bool,
    tid: u64,
}

impl<'e> View<'e> {
    pub fn new(event: &RawEvent<'e>) -> Self {
        let high = event.bytes.first_chunk().map_or(0, |word| u16::from_be_bytes(*word));
        let generic = if event.wide { high & 0x4000 != 0 } else { high & 7 == 0 };
        View { bytes: event.bytes, wide: event.wide, generic, tid: event.tid }
    }

    /// Whether an entry holds for this form of its hook.
    pub fn meets(&self, entry: &Entry) -> bool {
        entry.generic.is_none_or(|generic| generic == self.generic)
            && entry.subhook.is_none_or(|subhook| self.number(Number::Subhook) == Some(u64::from(subhook)))
            && entry.kind.is_none_or(|kind| self.kind() == Some(kind))
    }

    /// The data word of a generic event.
    pub fn kind(&self) -> Option<u64> {
        self.number(Number::Word(1)).filter(|_| self.generic)
    }

    /// The number at a place; `None` where the event does not have it.
    pub fn number(&self, place: Number) -> Option<u64> {
        let word = self.word_len();
        match place {
            Number::Word(n) if n > 1 && self.generic => None,
            Number::Word(n) => self.be(word * usize::from(n), word),
            // The low half of a generic 32-bit hook word is a length.
            Number::Subhook if self.generic && !self.wide => None,
            Number::Subhook => self.be(word - 2, 2),
            Number::Tid => Some(self.tid),
            Number::Bytes { at, width } => self.be(self.offset(at), usize::from(width)),
        }
    }

    /// The text at a place; `None` where the event ends before it, and where it is no path but has to be.
    pub fn text(&self, place: Text) -> Option<&'e [u8]> {
        let rest = self.bytes.get(self.offset(place.at)..)?;
        let text = rest.split(|byte| *byte == 0).next().unwrap_or_default();
        (!place.path || text.starts_with(b"/")).then_some(text)
    }

    fn word_len(&self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    fn offset(&self, at: Offset) -> usize {
        self.word_len() * usize::from(at.words) + usize::from(at.bytes)
    }

    fn be(&self, at: usize, width: usize) -> Option<u64> {
        let bytes = self.bytes.get(at..at + width)?;
        Some(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_table_has_no_mistakes() {
        let table: ContextTable = BUILT_IN.parse().unwrap();
        assert_eq!(table.sections.iter().map(|section| section.entries.len()).collect::<Vec<_>>(), [14, 12]);
    }

    #[test]
    fn later_sections_win_hook_by_hook() {
        let table: ContextTable = "100 raise\n102 raise\n[daemon x]\n100 raise cpu=HD\n".parse().unwrap();
        let table = table.overlay("102 none".parse().unwrap());
        let (other, own) = (table.lookup(b"", |_| true), table.lookup(b"x", |_| true));
        let first = |lookup: &Lookup, id| lookup.entry(lookup.find(id), 0).unwrap();
        assert_eq!(first(&other, 0x1000).cpu, None);
        assert_eq!(first(&own, 0x1000).cpu, Some(Number::Subhook));
        assert_eq!(first(&own, 0x1020).action, Action::None);
        assert_eq!(own.find(0x1010), 0);
    }

    #[test]
    fn places_end_with_the_event() {
        let bytes = [0x01, 0x0A, 0x00, 0x05, 0, 0, 0, 7];
        let event = RawEvent {
            number: 1,
            offset: 0,
            bytes: &bytes,
            recorded: &[],
            wide: false,
            id: 0x0100,
            tid: 3,
            ticks: None,
            cpu: None,
        };
        let view = View::new(&event);
        assert_eq!(view.number(Number::Word(1)), Some(7));
        assert_eq!(view.number(Number::Word(2)), None);
        assert_eq!(view.number(Number::Subhook), Some(5));
        assert_eq!(view.number(Number::Tid), Some(3));
        assert_eq!(view.number(Number::Bytes { at: Offset { words: 1, bytes: 2 }, width: 2 }), Some(7));
        assert_eq!(view.number(Number::Bytes { at: Offset { words: 1, bytes: 2 }, width: 4 }), None);
        assert_eq!(view.text(Text { at: Offset { words: 3, bytes: 0 }, path: false }), None);
    }
}
