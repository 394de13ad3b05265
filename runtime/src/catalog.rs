//! Lookup from a hook id or QNX event to the program that formats it.

use crate::reader::aix::hooks;
use tfbc_vm::{Hook, Level, Program, Space};

/// Name that selects the built-in format file, as in `-t default`.
pub(crate) const BUILT_IN: &str = "default";

/// Position of a blob's stanzas in the list of files; later files override earlier ones.
#[derive(Debug)]
pub(crate) struct Rank {
    /// Position of the blob's file.
    pub file: usize,
    /// Name and position per source that was compiled into the blob.
    pub sources: Vec<(String, usize)>,
}

impl Rank {
    /// Rank of the stanzas of a source.
    fn of(&self, source: &[u8]) -> usize {
        let named = self.sources.iter().filter(|(name, _)| name.as_bytes() == source);
        named.map(|(_, rank)| *rank).max().unwrap_or(self.file)
    }
}

/// The template of one hook id.
#[derive(Debug, Clone, Copy)]
pub struct HookEntry {
    /// Index of the program in [`Catalog::programs`].
    program: u32,
    /// Index of the entry in its program.
    pub hook: u32,
    /// Column in which the event's text starts.
    pub level: Level,
    /// True if the template must run even for hidden events, because it starts timers or skips and stops the report.
    pub has_effects: bool,
    builtin: bool,
    /// True if the stanza is from the built-in format file, which guesses the layouts of AIX's own hooks.
    pub is_guess: bool,
    rank: usize,
    id: u16,
}

impl HookEntry {
    /// Canonical id of the stanza. Differs from the event's id for hook 000 and for ids without a stanza.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// Index of the program in [`Catalog::programs`].
    pub(crate) fn program_index(&self) -> usize {
        self.program as usize
    }
}

/// Definition of one QNX event in one program.
#[derive(Debug, Clone, Copy)]
pub struct RecordEntry {
    /// Index of the program in [`Catalog::programs`].
    program: u32,
    /// Index of the entry in its program.
    pub hook: u32,
    rank: usize,
}

/// Lookup table from hook ids and QNX events to the programs that format them.
#[derive(Debug)]
pub struct Catalog<'b> {
    programs: Vec<Program<'b>>,
    /// Entries per defined QNX event, in the order of the files.
    records: Vec<Vec<RecordEntry>>,
    /// Index into `records` plus 1, by space and event id; 0 if the event is not defined. Empty if no event is.
    by_record: Vec<u32>,
    entries: Vec<HookEntry>,
    /// Index into `entries` plus 1, by canonical id; 0 if no stanza defines the id.
    by_id: Vec<u32>,
}

impl<'b> Catalog<'b> {
    pub(crate) fn new() -> Self {
        Self {
            programs: Vec::new(),
            records: Vec::new(),
            by_record: Vec::new(),
            entries: Vec::new(),
            by_id: vec![0; 1 << 16],
        }
    }

    pub(crate) fn add(&mut self, program: Program<'b>, rank: &Rank) {
        let index = self.programs.len() as u32;
        for hook in program.hooks() {
            let entry = HookEntry {
                program: index,
                hook: hook.index,
                level: hook.level,
                has_effects: hook.has_effects,
                builtin: hook.builtin,
                is_guess: !hook.builtin && hook.source == BUILT_IN.as_bytes(),
                rank: rank.of(hook.source),
                id: hook.id,
            };
            self.add_entry(entry);
        }
        let spaces = [Some(Space::Record), program.has_record_fields().then_some(Space::RecordFields)];
        for space in spaces.into_iter().flatten() {
            for hook in program.entries(space) {
                let entry = RecordEntry { program: index, hook: hook.index, rank: rank.of(hook.source) };
                self.add_record(record_index(space, hook.id), entry);
            }
        }
        self.programs.push(program);
    }

    fn add_record(&mut self, place: usize, entry: RecordEntry) {
        self.by_record.resize(2 << 15, 0);
        let at = &mut self.by_record[place];
        if *at == 0 {
            self.records.push(Vec::new());
            *at = self.records.len() as u32;
        }
        let all = &mut self.records[*at as usize - 1];
        all.insert(all.partition_point(|known| known.rank <= entry.rank), entry);
    }

    /// Adds a stanza. A file's stanza overrides a built-in one, and a later file an earlier one.
    fn add_entry(&mut self, entry: HookEntry) {
        let at = &mut self.by_id[usize::from(entry.id)];
        match at.checked_sub(1) {
            None => {
                self.entries.push(entry);
                *at = self.entries.len() as u32;
            }
            Some(old) => {
                let old = &mut self.entries[old as usize];
                // Every blob contains the built-in stanzas, and they must not override stanzas of an earlier file.
                if (!entry.builtin, entry.rank) >= (!old.builtin, old.rank) {
                    *old = entry;
                }
            }
        }
    }

    /// Returns the entry of a canonical id; `None` if no stanza defines it.
    #[inline]
    pub fn get(&self, id: u16) -> Option<&HookEntry> {
        self.by_id[usize::from(id)].checked_sub(1).map(|at| &self.entries[at as usize])
    }

    /// All entries, one per id with a stanza.
    pub fn entries(&self) -> impl Iterator<Item = &HookEntry> {
        self.entries.iter()
    }

    /// True if a stanza of the loaded files, not a built-in rule, formats events of a canonical id.
    pub fn defines(&self, id: u16) -> bool {
        self.get(id).is_some_and(|entry| !entry.builtin)
    }

    /// Returns the entry that formats events of a canonical id. Stanza 004 formats hook 000, and stanza 007 formats ids
    /// without a stanza.
    #[inline]
    pub fn lookup(&self, id: u16) -> Option<&HookEntry> {
        // Stanzas 004 and 007 format events without a stanza. A format file can replace them.
        if id == hooks::ZERO {
            self.get(hooks::ID_IS_ZERO)
        } else {
            self.get(id).or_else(|| self.get(hooks::UNDEFINED))
        }
    }

    /// Returns the definitions of a QNX event: one entry per program that defines it, in the order of the files.
    #[inline]
    pub fn records(&self, space: Space, class: u8, event: u16) -> &[RecordEntry] {
        let at =
            self.by_record.get(record_index(space, Space::record_id(class, event))).and_then(|at| at.checked_sub(1));
        at.map_or(&[], |at| &self.records[at as usize])
    }

    /// True if any QNX event has a definition.
    pub fn has_records(&self) -> bool {
        !self.records.is_empty()
    }

    /// Names of a QNX event's definitions, separated by `; `.
    pub fn names_of_record(&self, class: u8, event: u16) -> String {
        let names = self.records(Space::Record, class, event).iter().filter_map(|entry| {
            let record = self.record_program(entry).record(class, event)?;
            Some(String::from_utf8_lossy(record.label).into_owned())
        });
        names.collect::<Vec<_>>().join("; ")
    }

    /// Program of a QNX event's entry.
    #[inline]
    pub fn record_program(&self, entry: &RecordEntry) -> &Program<'b> {
        &self.programs[entry.program as usize]
    }

    /// Program of a hook's entry.
    #[inline]
    pub fn program(&self, entry: &HookEntry) -> &Program<'b> {
        &self.programs[entry.program as usize]
    }

    /// Name of a hook for messages: its id and label, such as `hook 010 SENSOR`.
    pub(crate) fn name_of(&self, id: u16) -> String {
        let hook = self.lookup(id).and_then(|entry| self.program(entry).hook(entry.id()));
        let label = hook.map_or(String::new(), |hook| format!(" {}", String::from_utf8_lossy(hook.label)));
        format!("hook {}{label}", crate::ids::display_id(id))
    }

    /// All programs, in the order of loading.
    pub fn programs(&self) -> &[Program<'b>] {
        &self.programs
    }

    /// Properties of all hooks with a stanza, ordered by id.
    // A list, because an iterator would be compiled in the package that uses it, and commands are not optimised.
    pub fn hooks(&self) -> Vec<Hook<'_>> {
        let found = self.by_id.iter().filter_map(|at| at.checked_sub(1));
        let hooks = found.filter_map(|at| {
            let entry = &self.entries[at as usize];
            self.program(entry).hook(entry.id)
        });
        hooks.collect()
    }

    /// Class and number per QNX event with a definition, in ascending order.
    pub(crate) fn defined_records(&self) -> Vec<(u8, u16)> {
        let known = self.by_record.iter().take(1 << 15).enumerate().filter(|(_, at)| **at != 0);
        known.map(|(id, _)| ((id >> 10) as u8, (id & 1023) as u16)).collect()
    }

    /// True if a stanza has a four-digit id.
    pub fn has_wide_ids(&self) -> bool {
        self.entries.iter().any(|entry| entry.id & 15 != 0)
    }
}

/// Index into [`Catalog::by_record`] for a 15-bit event id; the second half of the table is for fields.
fn record_index(space: Space, id: u16) -> usize {
    usize::from(id & 0x7fff) | usize::from(space == Space::RecordFields) << 15
}
