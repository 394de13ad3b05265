//! Context table: the meaning of hooks, in sections, and the lookup of the entries for one trace.

use crate::events::argument_names;
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
    /// Entries of a section of QNX logs.
    pub record_entries: Vec<RecordEntry>,
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

/// Effect of an event, with the positions of its numbers and texts. A missing position means the event's own thread or
/// process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action<N = NumberPos, T = TextPos> {
    None,
    Process {
        pid: N,
        tid: Option<N>,
        path: Option<T>,
    },
    Exec {
        pid: Option<N>,
        path: T,
    },
    Fork {
        pid: N,
        tid: Option<N>,
    },
    Thread {
        tid: N,
        pid: Option<N>,
        priority: Option<N>,
    },
    Exit {
        pid: Option<N>,
    },
    Dispatch {
        pid: Option<N>,
        tid: Option<N>,
        priority: Option<N>,
        idle: bool,
    },
    Undispatch {
        tid: Option<N>,
    },
    Enter {
        class: ClassName,
        name: Option<NamePos<N, T>>,
    },
    Symbol {
        address: N,
        name: T,
    },
    Return {
        class: ClassName,
        name: Option<T>,
        errno: Option<N>,
        result: Option<N>,
    },
    Raise {
        class: ClassName,
        kind: Option<N>,
        name: Option<NamePos<N, T>>,
    },
    Lower {
        class: ClassName,
    },
    /// True for `resume`, which also ends a dispatch.
    Reset {
        resume: bool,
    },
    Kproc {
        pid: N,
    },
    Lost {
        count: Option<N>,
    },
    On,
    Off,
}

/// Position of a name, or of an address that can be resolved to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamePos<N = NumberPos, T = TextPos> {
    Text(T),
    Address(N),
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
    /// Position in the events of one form.
    Resolved(ResolvedPos),
    /// None of the events of a form has the number.
    Missing,
}

/// Position of a big-endian number in the events of one form: the eight bytes from `start`, shifted to the left and
/// back to the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResolvedPos {
    start: u32,
    left: u8,
    right: u8,
}

impl ResolvedPos {
    /// Position of `width` bytes, 1 to 8.
    fn new(at: usize, width: usize) -> Self {
        // The eight bytes end with the number, so that they are no longer than the event. Only near its start, they
        // begin with the event.
        let start = (at + width).saturating_sub(8);
        Self { start: start as u32, left: 8 * (at - start) as u8, right: 64 - 8 * width as u8 }
    }

    /// Reads the number; `None` if the event is too short.
    #[inline(always)]
    pub fn read(&self, bytes: &[u8]) -> Option<u64> {
        self.read_fast(bytes).or_else(|| self.read_short(bytes))
    }

    /// Reads the number of an event of at least eight bytes; `None` if the event is too short.
    #[inline(always)]
    pub fn read_fast(&self, bytes: &[u8]) -> Option<u64> {
        let start = self.start as usize;
        // One comparison tests both ends.
        let word = bytes.get(start..start + 8)?.first_chunk()?;
        Some(u64::from_be_bytes(*word) << (self.left & 63) >> (self.right & 63))
    }

    /// True if the number is part of the hook word.
    pub fn is_in_hook_word(&self, wide: bool) -> bool {
        let end = self.start as usize + usize::from(self.left) / 8 + 8 - usize::from(self.right) / 8;
        end <= if wide { 8 } else { 4 }
    }

    /// Reads the number of an event of less than eight bytes.
    #[cold]
    fn read_short(&self, bytes: &[u8]) -> Option<u64> {
        let (at, width) = (self.start as usize + usize::from(self.left) / 8, 8 - usize::from(self.right) / 8);
        let number = bytes.get(at..at + width)?;
        Some(number.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }
}

/// Form of an event, which determines where its numbers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HookForm {
    wide: bool,
    generic: bool,
}

impl HookForm {
    const ALL: [Self; 4] = [Self::of_index(0), Self::of_index(1), Self::of_index(2), Self::of_index(3)];

    /// Form of an event with these bytes. `wide` is true for a 64-bit hook.
    #[inline(always)]
    pub fn of(wide: bool, bytes: &[u8]) -> Self {
        let high = bytes.first_chunk().map_or(0, |word| u16::from_be_bytes(*word));
        Self { wide, generic: if wide { high & 0x4000 != 0 } else { high & 7 == 0 } }
    }

    const fn of_index(index: usize) -> Self {
        Self { wide: index & 2 != 0, generic: index & 1 != 0 }
    }

    /// Index in [`HookForm::ALL`].
    #[inline(always)]
    pub fn index(self) -> usize {
        usize::from(self.wide) * 2 + usize::from(self.generic)
    }

    fn word_len(self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    fn offset(self, at: Offset) -> usize {
        self.word_len() * usize::from(at.words) + usize::from(at.bytes)
    }
}

impl NumberPos {
    /// Position in the events of a form.
    fn resolve(self, form: HookForm) -> Self {
        let word = form.word_len();
        let (at, width) = match self {
            NumberPos::Word(n) if n > 1 && form.generic => return NumberPos::Missing,
            NumberPos::Word(n) => (word * usize::from(n), word),
            // The low half of a generic 32-bit hook word is the length, not a value.
            NumberPos::Subhook if form.generic && !form.wide => return NumberPos::Missing,
            NumberPos::Subhook => (word - 2, 2),
            NumberPos::Bytes { at, width } => (form.offset(at), usize::from(width)),
            NumberPos::Tid | NumberPos::Resolved(_) | NumberPos::Missing => return self,
        };
        NumberPos::Resolved(ResolvedPos::new(at, width))
    }
}

impl Action {
    /// Positions of its numbers.
    fn numbers_mut(&mut self) -> [Option<&mut NumberPos>; 3] {
        match self {
            Action::Process { pid, tid, .. } | Action::Fork { pid, tid } => [Some(pid), tid.as_mut(), None],
            Action::Exec { pid, .. } | Action::Exit { pid } => [pid.as_mut(), None, None],
            Action::Thread { tid, pid, priority } => [Some(tid), pid.as_mut(), priority.as_mut()],
            Action::Dispatch { pid, tid, priority, .. } => [pid.as_mut(), tid.as_mut(), priority.as_mut()],
            Action::Undispatch { tid } => [tid.as_mut(), None, None],
            Action::Enter { name: Some(NamePos::Address(number)), .. }
            | Action::Symbol { address: number, .. }
            | Action::Kproc { pid: number } => [Some(number), None, None],
            Action::Return { errno, result, .. } => [errno.as_mut(), result.as_mut(), None],
            Action::Lost { count } => [count.as_mut(), None, None],
            Action::Raise { kind, name: Some(NamePos::Address(address)), .. } => [kind.as_mut(), Some(address), None],
            Action::Raise { kind, .. } => [kind.as_mut(), None, None],
            Action::Enter { .. } | Action::Lower { .. } | Action::Reset { .. } => [None, None, None],
            Action::None | Action::On | Action::Off => [None, None, None],
        }
    }
}

impl TableEntry {
    /// Entry for the events of a form; `None` if it applies to none of them.
    fn resolve(mut self, form: HookForm) -> Option<Self> {
        if self.generic.is_some_and(|generic| generic != form.generic) || (self.kind.is_some() && !form.generic) {
            return None;
        }
        let places = self.action.numbers_mut().into_iter().flatten();
        places.chain(self.cpu.as_mut()).for_each(|place| *place = place.resolve(form));
        Some(self)
    }

    /// True if an entry requires more of an event than its form.
    #[inline(always)]
    pub fn has_conditions(&self) -> bool {
        self.subhook.is_some() || self.kind.is_some() || self.condition.is_some()
    }
}

/// Effect of the entries for the events of one form, for the fast path of
/// [`ContextState::advance`](super::ContextState::advance).
#[derive(Debug, Clone, Copy)]
pub(super) struct FastEntry {
    pub action: FastAction,
    /// True if the action has `number`.
    pub has_number: bool,
    /// Process id of a dispatch, or address of a system call.
    pub number: ResolvedPos,
    pub cpu: Option<ResolvedPos>,
    pub tid: Option<ResolvedPos>,
    pub priority: Option<ResolvedPos>,
}

/// Action of a [`FastEntry`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FastAction {
    /// The entries have no fast path.
    Slow,
    None,
    Dispatch,
    /// System call with an address.
    Enter,
    Return,
    Raise,
    Lower,
    Reset,
}

impl FastEntry {
    const SLOW: Self = Self::without_numbers(FastAction::Slow);

    const fn without_numbers(action: FastAction) -> Self {
        let number = ResolvedPos { start: 0, left: 0, right: 0 };
        Self { action, has_number: false, number, cpu: None, tid: None, priority: None }
    }

    /// Effect of the entries for one form. Only one entry without conditions has a fast path.
    fn of(entries: &[TableEntry]) -> Self {
        match entries {
            [] => Self::without_numbers(FastAction::None),
            [entry] if !entry.has_conditions() => Self::of_entry(entry).unwrap_or(Self::SLOW),
            _ => Self::SLOW,
        }
    }

    /// Returns `None` if the entry has no fast path.
    fn of_entry(entry: &TableEntry) -> Option<Self> {
        let resolved = |place: Option<NumberPos>| match place {
            Some(NumberPos::Resolved(place)) => Some(Some(place)),
            Some(_) => None,
            None => Some(None),
        };
        let mut fast = match entry.action {
            Action::None => Self::without_numbers(FastAction::None),
            Action::Dispatch { pid, tid, priority, .. } => {
                let pid = resolved(pid)?;
                let fast = Self::without_numbers(FastAction::Dispatch);
                Self {
                    has_number: pid.is_some(),
                    number: pid.unwrap_or(fast.number),
                    tid: resolved(tid.filter(|tid| *tid != NumberPos::Tid))?,
                    priority: resolved(priority)?,
                    ..fast
                }
            }
            Action::Enter { name: Some(NamePos::Address(NumberPos::Resolved(number))), .. } => {
                Self { has_number: true, number, ..Self::without_numbers(FastAction::Enter) }
            }
            Action::Return { .. } => Self::without_numbers(FastAction::Return),
            Action::Raise { .. } => Self::without_numbers(FastAction::Raise),
            Action::Lower { .. } => Self::without_numbers(FastAction::Lower),
            Action::Reset { .. } => Self::without_numbers(FastAction::Reset),
            _ => return None,
        };
        fast.cpu = resolved(entry.cpu)?;
        Some(fast)
    }
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
        let mut lookup = HookLookup::new();
        for section in self.sections_of(daemon) {
            let mut ids: Vec<_> = section.entries.iter().map(|entry| entry.id).collect();
            ids.sort_unstable();
            ids.dedup();
            ids.into_iter().for_each(|id| lookup.clear(id));
            section.entries.iter().filter_map(&wanted).for_each(|entry| lookup.list(entry.id).push(entry));
        }
        lookup.lists.iter_mut().for_each(HookEntries::resolve);
        lookup
    }
}

/// Lookup of entries by hook id.
#[derive(Debug, Clone)]
pub(super) struct HookLookup {
    /// Index into `lists` plus 1, by canonical id; 0 if there is no list.
    index: Box<[u32; 1 << 16]>,
    lists: Vec<HookEntries>,
    /// Effects by list and form; empty unless [`HookLookup::prepare_fast`] was called.
    fast: Vec<[FastEntry; 4]>,
}

/// Entries of a hook.
#[derive(Debug, Clone, Default)]
struct HookEntries {
    all: Vec<TableEntry>,
    /// Entries that apply to each form of event, in the order of [`HookForm::ALL`], with resolved positions.
    by_form: [Vec<TableEntry>; 4],
}

impl HookEntries {
    /// Resolves the entries for each form.
    fn resolve(&mut self) {
        self.by_form = HookForm::ALL.map(|form| self.all.iter().filter_map(|entry| entry.resolve(form)).collect());
    }
}

impl HookLookup {
    fn new() -> Self {
        // A zeroed vector costs nothing until it is read; an array would be filled with zeros first.
        let index = vec![0; 1 << 16].into_boxed_slice().try_into();
        let index = index.unwrap_or_else(|_| Box::new([0; 1 << 16]));
        Self { index, lists: Vec::new(), fast: Vec::new() }
    }

    /// List of an id, created if necessary.
    pub fn list(&mut self, id: u16) -> &mut Vec<TableEntry> {
        let at = &mut self.index[usize::from(id)];
        if *at == 0 {
            self.lists.push(HookEntries::default());
            *at = self.lists.len() as u32;
        }
        &mut self.lists[*at as usize - 1].all
    }

    /// Empties the list of an id.
    fn clear(&mut self, id: u16) {
        if let Some(list) = self.lists.get_mut((self.index[usize::from(id)] as usize).wrapping_sub(1)) {
            list.all.clear();
        }
    }

    /// Handle of an id's list; 0 if there is none.
    #[inline(always)]
    pub fn find(&self, id: u16) -> u32 {
        self.index[usize::from(id)]
    }

    /// Entries of an id.
    pub fn list_of(&self, id: u16) -> &[TableEntry] {
        self.lists.get((self.find(id) as usize).wrapping_sub(1)).map_or(&[], |list| &list.all)
    }

    /// Entries per list and form of event, in the order of the lists' handles.
    pub fn by_form(&self) -> impl Iterator<Item = &[Vec<TableEntry>; 4]> {
        self.lists.iter().map(|list| &list.by_form)
    }

    /// All entries.
    pub fn entries(&self) -> impl Iterator<Item = &TableEntry> {
        self.lists.iter().flat_map(|list| &list.all)
    }

    /// Prepares the fast path for all hooks but one.
    pub fn prepare_fast(&mut self, slow: u16) {
        self.fast = self.lists.iter().map(|list| list.by_form.each_ref().map(|form| FastEntry::of(form))).collect();
        if let Some(fast) = self.fast.get_mut((self.index[usize::from(slow)] as usize).wrapping_sub(1)) {
            *fast = [FastEntry::SLOW; 4];
        }
    }

    /// Removes the fast path, which must not change any result.
    #[cfg(test)]
    pub fn remove_fast(&mut self) {
        self.fast.clear();
    }

    /// Effect of a list, by the list's handle, on an event.
    #[inline(always)]
    pub fn fast(&self, list: u32, event: &RawEvent<'_>) -> &FastEntry {
        let list = self.fast.get((list as usize).wrapping_sub(1));
        list.map_or(&FastEntry::SLOW, |list| &list[HookForm::of(event.wide, event.bytes).index()])
    }

    /// Index of [`HookLookup::fast`] among the effects of all lists and forms.
    pub fn fast_index(&self, list: u32, event: &RawEvent<'_>) -> u32 {
        (list.wrapping_sub(1)).wrapping_mul(4) + HookForm::of(event.wide, event.bytes).index() as u32
    }

    /// Effect with such an index.
    #[inline(always)]
    pub fn fast_at(&self, index: u32) -> &FastEntry {
        self.fast.as_flattened().get(index as usize).unwrap_or(&FastEntry::SLOW)
    }

    /// Entries of a list, by the list's handle, that apply to an event.
    #[inline(always)]
    pub fn matches<'l>(&'l self, list: u32, event: &DecodedHook<'_>) -> impl Iterator<Item = &'l TableEntry> {
        let list = self.lists.get((list as usize).wrapping_sub(1));
        let entries = list.map_or(&[][..], |list| &list.by_form[event.form.index()]);
        entries.iter().filter(|entry| !entry.has_conditions() || event.meets_conditions(entry))
    }
}

/// Buffer of an event as templates see it, with its decoded hook word.
#[derive(Debug, Clone, Copy)]
pub(super) struct DecodedHook<'e> {
    bytes: &'e [u8],
    form: HookForm,
    /// Canonical hook id.
    pub id: u16,
    pub tid: u64,
    /// CPU that the event states itself.
    pub cpu: Option<u64>,
}

impl<'e> DecodedHook<'e> {
    #[inline(always)]
    pub fn new(event: &RawEvent<'e>) -> Self {
        let RawEvent { bytes, wide, id, tid, cpu, .. } = *event;
        DecodedHook { bytes, form: HookForm::of(wide, bytes), id, tid, cpu }
    }

    /// True if subhook, kind and condition are those that an entry requires. Few entries require any.
    #[inline(never)]
    fn meets_conditions(&self, entry: &TableEntry) -> bool {
        entry.subhook.is_none_or(|subhook| self.number(&NumberPos::Subhook) == Some(u64::from(subhook)))
            && entry.kind.is_none_or(|kind| self.kind() == Some(kind))
            && entry.condition.is_none_or(|(place, value)| self.number(&place) == Some(value))
    }

    /// Data word of a generic event.
    pub fn kind(&self) -> Option<u64> {
        self.number(&NumberPos::Word(1)).filter(|_| self.form.generic)
    }

    /// Reads a number; `None` if the event is too short.
    #[inline(always)]
    pub fn number(&self, place: &NumberPos) -> Option<u64> {
        match place {
            NumberPos::Resolved(place) => place.read(self.bytes),
            NumberPos::Tid => Some(self.tid),
            place => self.any_number(*place),
        }
    }

    /// Reads a number that an entry may leave out.
    #[inline(always)]
    pub fn optional(&self, place: &Option<NumberPos>) -> Option<u64> {
        place.as_ref().and_then(|place| self.number(place))
    }

    /// Reads a thread id; the event's own one if the entry leaves it out.
    #[inline(always)]
    pub fn tid_or_own(&self, place: &Option<NumberPos>) -> Option<u64> {
        place.as_ref().map_or(Some(self.tid), |place| self.number(place))
    }

    /// Reads a number at a position that is not resolved.
    #[inline(never)]
    fn any_number(&self, place: NumberPos) -> Option<u64> {
        match place.resolve(self.form) {
            NumberPos::Resolved(place) => place.read(self.bytes),
            _ => None,
        }
    }

    /// Reads a text; `None` if the event is too short, or if a path is required and the text is not a path.
    pub fn text(&self, place: TextPos) -> Option<&'e [u8]> {
        let rest = self.bytes.get(self.form.offset(place.at)..)?;
        let text = rest.split(|byte| *byte == 0).next().unwrap_or_default();
        (!place.path || text.starts_with(b"/")).then_some(text)
    }
}

/// Entry of a section `[qnx]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecordEntry {
    /// Events as `--only` takes them, such as `USER:5`.
    pub events: String,
    /// Position and the value required there.
    pub condition: Option<(RecordPos, u64)>,
    pub action: RecordAction,
}

/// Effect of a record.
pub(super) type RecordAction = Action<RecordPos, RecordPos>;

/// Position of a number or a text in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordPos {
    /// Argument of the event table.
    Argument(&'static str),
    /// Data word; as a text, the bytes from there on.
    Word(u16),
    /// Name of the kernel call.
    Call,
    /// Number of the interrupt.
    Vector,
}

impl RecordPos {
    /// Parses the name of an argument, `W0`, `call` or `vector`; `None` if no event has such an argument.
    pub fn parse(text: &str) -> Option<Self> {
        let word = text.strip_prefix('W').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        Some(match (text, word) {
            ("call", _) => Self::Call,
            ("vector", _) => Self::Vector,
            (_, Some(digits)) => Self::Word(digits.parse().ok()?),
            _ => Self::Argument(argument_names().find(|name| *name == text)?),
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
        let first = |lookup: &HookLookup, id| lookup.list_of(id)[0];
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
        assert_eq!(view.number(&NumberPos::Word(1)), Some(7));
        assert_eq!(view.number(&NumberPos::Word(2)), None);
        assert_eq!(view.number(&NumberPos::Subhook), Some(5));
        assert_eq!(view.number(&NumberPos::Tid), Some(3));
        assert_eq!(view.number(&NumberPos::Bytes { at: Offset { words: 1, bytes: 2 }, width: 2 }), Some(7));
        assert_eq!(view.number(&NumberPos::Bytes { at: Offset { words: 1, bytes: 2 }, width: 4 }), None);
        assert_eq!(view.text(TextPos { at: Offset { words: 3, bytes: 0 }, path: false }), None);
    }

    /// Reads a number by the definition of its place.
    fn read(bytes: &[u8], form: HookForm, place: NumberPos) -> Option<u64> {
        let word = if form.wide { 8 } else { 4 };
        let (at, width) = match place {
            NumberPos::Word(1) => (word, word),
            NumberPos::Word(n) if !form.generic => (word * usize::from(n), word),
            NumberPos::Subhook if form.wide || !form.generic => (word - 2, 2),
            NumberPos::Bytes { at, width } => (word * usize::from(at.words) + usize::from(at.bytes), width.into()),
            _ => return None,
        };
        let number = bytes.get(at..at + width)?;
        Some(number.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    #[test]
    fn resolved_places_have_the_numbers_of_their_definition() {
        let filling: Vec<u8> = (0..64u8).map(|n| n.wrapping_mul(37) ^ 0xA5).collect();
        let bytes = |at, width| NumberPos::Bytes { at, width };
        let offsets = [(0, 0), (0, 1), (0, 3), (0, 6), (0, 9), (1, 0), (2, 5), (3, 60), (255, u16::MAX)];
        let offsets = offsets.map(|(words, bytes)| Offset { words, bytes });
        let widths = [1, 2, 4, 8];
        let places = offsets.into_iter().flat_map(|at| widths.map(|width| bytes(at, width)));
        let places: Vec<_> = (1..=5).map(NumberPos::Word).chain([NumberPos::Subhook]).chain(places).collect();
        let mut n_found = 0;
        for form in HookForm::ALL {
            assert_eq!(HookForm::ALL[form.index()], form);
            for (len, place) in (0..=filling.len()).flat_map(|len| places.iter().map(move |place| (len, *place))) {
                let event = DecodedHook { bytes: &filling[..len], form, id: 0x0100, tid: 3, cpu: None };
                let expected = read(&filling[..len], form, place);
                assert_eq!(event.number(&place), expected, "{form:?} {place:?} {len}");
                assert_eq!(event.number(&place.resolve(form)), expected, "{form:?} {place:?} {len}");
                n_found += usize::from(expected.is_some());
            }
        }
        assert!(n_found > 1000, "{n_found}");
    }
}
