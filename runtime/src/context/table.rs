//! Context table: the meaning of hooks, in sections, and the lookup of the entries for one trace.

use crate::expression::Expression;
use crate::reader::System;
use crate::reader::aix::RawEvent;

/// Kind of hook 00A that contains the name of the recorder.
pub(super) const DAEMON_IDENTITY: u64 = 0x1E;
/// Position of the recorder's name in that hook.
pub(super) const DAEMON_NAME: TextPos = TextPos { at: Offset { words: 2, bytes: 0 }, path: false };

/// Table of the hooks that carry processes, threads, CPUs and system calls, and of the words that contain them.
///
/// ```
/// use tfbc::aix::ContextTable;
/// let own: ContextTable = "106 dispatch pid=D1 tid=D2  # as on my machine".parse()?;
/// let table = ContextTable::default().overlay(own);
/// let errors = "106 dispach".parse::<ContextTable>().unwrap_err();
/// assert_eq!(errors.to_string(), "1:5: unknown action `dispach`; did you mean `dispatch`?");
/// # Ok::<(), tfbc::aix::ContextError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextTable {
    /// Sections; a later one overrides earlier ones, hook by hook.
    pub(super) sections: Vec<Section>,
}

/// Entries for all traces, or for traces of one recorder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Section {
    /// Recorder name in hook 00A, kind 1E, that the section requires; `None` for all traces.
    pub daemon: Option<Vec<u8>>,
    pub entries: Vec<TableEntry>,
    /// Names of the types of interrupts: class, type and name.
    pub labels: Vec<(ClassName, u64, String)>,
    /// True for a section of QNX logs.
    pub is_qnx: bool,
    pub pairs: Vec<PairRule>,
    pub counters: Vec<CounterRule>,
}

/// Named pair of events, for `tfbc latency`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairRule {
    /// Name.
    pub name: String,
    /// Events that start it.
    pub start: Expression,
    /// Events that end it.
    pub end: Expression,
    /// Fields that start and end have in common, separated by commas.
    pub key: String,
    /// Fields of the groups, separated by commas; empty for none.
    pub by: String,
}

/// Value of an event, for a counter of `tfbc timeline`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterRule {
    /// Name.
    pub name: String,
    /// Events that have it.
    pub events: Expression,
    /// Field with the value.
    pub value: String,
    /// Field that splits the counter: each of its values gets a counter of its own.
    pub key: Option<String>,
}

/// Name of a class of interrupts or of modes: up to 15 capitals and digits, filled with zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassName([u8; 16]);

impl ClassName {
    /// Mode of a system call.
    pub const SYSCALL: Self = Self(*b"SYSCALL\0\0\0\0\0\0\0\0\0");
    /// First-level interrupt.
    pub const FLIH: Self = Self(*b"FLIH\0\0\0\0\0\0\0\0\0\0\0\0");
    /// Second-level interrupt.
    pub const SLIH: Self = Self(*b"SLIH\0\0\0\0\0\0\0\0\0\0\0\0");
    /// Any other interrupt.
    pub const INT: Self = Self(*b"INT\0\0\0\0\0\0\0\0\0\0\0\0\0");
    /// Handler of an interrupt of QNX.
    pub const HANDLER: Self = Self(*b"HANDLER\0\0\0\0\0\0\0\0\0");

    /// Reads a name; `None` if it is not 1 to 15 capitals and digits, the first of them a capital.
    pub fn parse(text: &str) -> Option<Self> {
        let is_name = text.starts_with(|first: char| first.is_ascii_uppercase())
            && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
        let mut name = [0; 16];
        name[..15].get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        is_name.then_some(Self(name))
    }

    /// Name as text.
    pub fn as_str(&self) -> &str {
        let len = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        std::str::from_utf8(&self.0[..len]).unwrap_or_default()
    }
}

/// Meaning of one variant of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableEntry {
    /// Canonical hook id.
    pub id: u16,
    /// Required subhook; `None` for any.
    pub subhook: Option<u16>,
    /// True for generic events only, false for plain ones only, `None` for both.
    pub generic: Option<bool>,
    /// Required data word of a generic event; `None` for any.
    pub kind: Option<u64>,
    /// Position and the value required there.
    pub condition: Option<(NumberPos, u64)>,
    /// Position of the CPU number.
    pub cpu: Option<NumberPos>,
    pub action: Action,
}

/// Effect of an event, with the positions of its values. A missing position means the event's own thread or process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    None,
    Process {
        pid: NumberPos,
        tid: Option<NumberPos>,
        path: Option<TextPos>,
    },
    Exec {
        pid: Option<NumberPos>,
        path: TextPos,
    },
    Fork {
        pid: NumberPos,
        tid: Option<NumberPos>,
    },
    Thread {
        tid: NumberPos,
        pid: Option<NumberPos>,
        priority: Option<NumberPos>,
    },
    Exit {
        pid: Option<NumberPos>,
    },
    Dispatch {
        pid: Option<NumberPos>,
        tid: Option<NumberPos>,
        priority: Option<NumberPos>,
        idle: bool,
    },
    Undispatch {
        tid: Option<NumberPos>,
    },
    Enter {
        class: ClassName,
        name: NamePos,
    },
    Symbol {
        address: NumberPos,
        name: TextPos,
    },
    Return {
        class: ClassName,
        name: Option<TextPos>,
        errno: Option<NumberPos>,
        result: Option<NumberPos>,
    },
    Raise {
        class: ClassName,
        kind: Option<NumberPos>,
        name: Option<NamePos>,
    },
    Lower {
        class: ClassName,
    },
    /// True for `resume`, which also ends a dispatch.
    Reset {
        resume: bool,
    },
    Kproc {
        pid: NumberPos,
    },
    Lost {
        count: Option<NumberPos>,
    },
    On,
    Off,
}

/// Position of a name, or of an address that can be resolved to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamePos {
    Text(TextPos),
    Address(NumberPos),
}

/// Position of a number in an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberPos {
    /// Data word 1 to 5, of the hook's width. A generic event has one.
    Word(u8),
    /// Low 16 bits of the hook word.
    Subhook,
    /// Thread id of the event.
    Tid,
    /// Up to 8 bytes at an offset, big-endian.
    Bytes { at: Offset, width: u8 },
}

/// Position of a text, which ends at a NUL or at the end of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextPos {
    pub at: Offset,
    /// True if only a text that starts with `/` is accepted.
    pub path: bool,
}

/// Offset in the buffer that templates see: words of the hook's width plus bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offset {
    pub words: u8,
    pub bytes: u16,
}

impl ContextTable {
    /// Adds a table whose entries override this one's, hook by hook.
    #[must_use]
    pub fn overlay(mut self, other: Self) -> Self {
        self.sections.extend(other.sections);
        self
    }

    /// Ids of all hooks in the table, for any recorder.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u16> {
        self.sections.iter().flat_map(|section| section.entries.iter().map(|entry| entry.id))
    }

    /// Sections that apply to traces of the recorder `daemon`.
    pub(super) fn sections_of<'a>(&'a self, daemon: &'a [u8]) -> impl DoubleEndedIterator<Item = &'a Section> {
        let applies = move |section: &&Section| section.daemon.as_deref().is_none_or(|name| name == daemon);
        self.sections.iter().filter(move |section| !section.is_qnx && applies(section))
    }

    /// Pair with a name, for traces of any recorder of a system. Later pairs override earlier ones.
    #[doc(hidden)]
    pub fn pair(&self, name: &str, system: System) -> Option<&PairRule> {
        self.pairs(system).rfind(|pair| pair.name == name)
    }

    /// Names of the pairs of a system.
    #[doc(hidden)]
    pub fn pair_names(&self, system: System) -> impl Iterator<Item = &str> {
        self.pairs(system).map(|pair| pair.name.as_str())
    }

    /// Counters of a system.
    #[doc(hidden)]
    pub fn counters(&self, system: System) -> impl Iterator<Item = &CounterRule> {
        let of_system = move |section: &&Section| section.is_qnx == (system == System::Qnx);
        self.sections.iter().filter(of_system).flat_map(|section| &section.counters)
    }

    fn pairs(&self, system: System) -> impl DoubleEndedIterator<Item = &PairRule> {
        let of_system = move |section: &&Section| section.is_qnx == (system == System::Qnx);
        self.sections.iter().filter(of_system).flat_map(|section| &section.pairs)
    }

    /// Builds the lookup for traces of the recorder `daemon`. A section's entries for a hook replace the entries of all
    /// earlier sections. `wanted` returns the parts of an entry that are needed.
    pub(super) fn lookup(&self, daemon: &[u8], wanted: impl Fn(&TableEntry) -> Option<TableEntry>) -> HookLookup {
        let mut lookup = HookLookup { index: vec![0; 1 << 16], lists: Vec::new() };
        for section in self.sections_of(daemon) {
            let mut ids: Vec<_> = section.entries.iter().map(|entry| entry.id).collect();
            ids.sort_unstable();
            ids.dedup();
            ids.into_iter().for_each(|id| lookup.clear(id));
            section.entries.iter().filter_map(&wanted).for_each(|entry| lookup.list(entry.id).push(entry));
        }
        lookup
    }
}

/// Lookup of entries by hook id.
#[derive(Debug, Clone)]
pub(super) struct HookLookup {
    /// Index into `lists` plus 1, by canonical id; 0 if there is no list.
    index: Vec<u32>,
    lists: Vec<Vec<TableEntry>>,
}

impl HookLookup {
    /// List of an id, created if necessary.
    pub fn list(&mut self, id: u16) -> &mut Vec<TableEntry> {
        let at = &mut self.index[usize::from(id)];
        if *at == 0 {
            self.lists.push(Vec::new());
            *at = self.lists.len() as u32;
        }
        &mut self.lists[*at as usize - 1]
    }

    /// Empties the list of an id.
    fn clear(&mut self, id: u16) {
        if let Some(list) = self.lists.get_mut((self.index[usize::from(id)] as usize).wrapping_sub(1)) {
            list.clear();
        }
    }

    /// Handle of an id's list; 0 if there is none.
    #[inline]
    pub fn find(&self, id: u16) -> u32 {
        self.index[usize::from(id)]
    }

    /// Entries of an id.
    pub fn list_of(&self, id: u16) -> &[TableEntry] {
        self.lists.get((self.index[usize::from(id)] as usize).wrapping_sub(1)).map_or(&[], Vec::as_slice)
    }

    /// All entries.
    pub fn entries(&self) -> impl Iterator<Item = &TableEntry> {
        self.lists.iter().flatten()
    }

    /// Entry of a list, by the list's handle.
    #[inline(always)]
    pub fn entry(&self, list: u32, n: usize) -> Option<&TableEntry> {
        self.lists.get(list as usize - 1)?.get(n)
    }
}

/// Buffer of an event as templates see it, with its decoded hook word.
#[derive(Debug, Clone, Copy)]
pub(super) struct DecodedHook<'e> {
    bytes: &'e [u8],
    wide: bool,
    generic: bool,
    /// Canonical hook id.
    pub id: u16,
    pub tid: u64,
    /// CPU that the event states itself.
    pub cpu: Option<u64>,
}

impl<'e> DecodedHook<'e> {
    #[inline(always)]
    pub fn new(event: &RawEvent<'e>) -> Self {
        let high = event.bytes.first_chunk().map_or(0, |word| u16::from_be_bytes(*word));
        let generic = if event.wide { high & 0x4000 != 0 } else { high & 7 == 0 };
        let RawEvent { bytes, wide, id, tid, cpu, .. } = *event;
        DecodedHook { bytes, wide, generic, id, tid, cpu }
    }

    /// True if an entry applies to this variant of its hook.
    #[inline(always)]
    pub fn matches(&self, entry: &TableEntry) -> bool {
        entry.generic.is_none_or(|generic| generic == self.generic)
            && (entry.subhook.is_none() && entry.kind.is_none() && entry.condition.is_none() || self.has_words(entry))
    }

    /// True if subhook, kind and condition are those that an entry requires. Few entries require any.
    #[inline(never)]
    fn has_words(&self, entry: &TableEntry) -> bool {
        entry.subhook.is_none_or(|subhook| self.number(NumberPos::Subhook) == Some(u64::from(subhook)))
            && entry.kind.is_none_or(|kind| self.kind() == Some(kind))
            && entry.condition.is_none_or(|(place, value)| self.number(place) == Some(value))
    }

    /// Data word of a generic event.
    pub fn kind(&self) -> Option<u64> {
        self.number(NumberPos::Word(1)).filter(|_| self.generic)
    }

    /// Reads a number; `None` if the event is too short.
    #[inline]
    pub fn number(&self, place: NumberPos) -> Option<u64> {
        let word = self.word_len();
        match place {
            NumberPos::Word(n) if n > 1 && self.generic => None,
            NumberPos::Word(n) => self.be(word * usize::from(n), word),
            // The low half of a generic 32-bit hook word is the length, not a value.
            NumberPos::Subhook if self.generic && !self.wide => None,
            NumberPos::Subhook => self.be(word - 2, 2),
            NumberPos::Tid => Some(self.tid),
            NumberPos::Bytes { at, width } => self.be(self.offset(at), usize::from(width)),
        }
    }

    /// Reads a text; `None` if the event is too short, or if a path is required and the text is not a path.
    pub fn text(&self, place: TextPos) -> Option<&'e [u8]> {
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
        Some(match width {
            8 => u64::from_be_bytes(*bytes.first_chunk()?),
            4 => u32::from_be_bytes(*bytes.first_chunk()?).into(),
            2 => u16::from_be_bytes(*bytes.first_chunk()?).into(),
            _ => bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_table_has_no_mistakes() {
        let table = ContextTable::default();
        assert_eq!(table.sections.iter().map(|section| section.entries.len()).collect::<Vec<_>>(), [17, 15, 0]);
    }

    #[test]
    fn later_sections_win_hook_by_hook() {
        let table: ContextTable = "100 raise\n102 raise\n[daemon x]\n100 raise cpu=HD\n".parse().unwrap();
        let table = table.overlay("102 none".parse().unwrap());
        let (other, own) = (table.lookup(b"", |entry| Some(*entry)), table.lookup(b"x", |entry| Some(*entry)));
        let first = |lookup: &HookLookup, id| lookup.lists[lookup.find(id) as usize - 1][0];
        assert_eq!(first(&other, 0x1000).cpu, None);
        assert_eq!(first(&own, 0x1000).cpu, Some(NumberPos::Subhook));
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
        let view = DecodedHook::new(&event);
        assert_eq!(view.number(NumberPos::Word(1)), Some(7));
        assert_eq!(view.number(NumberPos::Word(2)), None);
        assert_eq!(view.number(NumberPos::Subhook), Some(5));
        assert_eq!(view.number(NumberPos::Tid), Some(3));
        assert_eq!(view.number(NumberPos::Bytes { at: Offset { words: 1, bytes: 2 }, width: 2 }), Some(7));
        assert_eq!(view.number(NumberPos::Bytes { at: Offset { words: 1, bytes: 2 }, width: 4 }), None);
        assert_eq!(view.text(TextPos { at: Offset { words: 3, bytes: 0 }, path: false }), None);
    }
}
