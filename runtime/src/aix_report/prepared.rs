//! Cache of prepared lines: data that all lines of one hook in one environment share, looked up once.

use super::batch::{EventRef, Position};
use super::cells::{Cells, IdCells};
use super::options::FieldPlacement;
use crate::catalog::Catalog;
use crate::fields::PreparedFields;
use crate::general_path;
use crate::output_format::Form;
use std::cell::Cell;
use tfbc_vm::{Layout, Level, PreparedEntry};

/// A thread's cache of prepared lines.
pub(super) struct PreparedLines<'r> {
    lines: Vec<PreparedLine<'r>>,
    /// Hash table with open addressing, at most half full: indices into `lines` plus 1, or 0.
    slots: Vec<u32>,
    /// Right shift that turns a hash into an index of `slots`.
    shift: u32,
}

/// Prepared line for the events of one hook in one environment.
pub(super) struct PreparedLine<'r> {
    pub text: Text<'r>,
    pub id: IdCells,
    pub layout: Layout,
    /// True if something precedes the text. Lines of level 0 have no columns.
    pub has_cells: bool,
    /// True if [`Cells::put`] can write the cells before the text of a routine, unless a value is wider than its
    /// column.
    pub fits: bool,
    /// True if `fits`, unless the event must be recorded as the first one printed with a guessed layout.
    pub is_quick: Cell<bool>,
    /// True if the stanza is a guess of the built-in format file.
    pub is_guess: bool,
    /// True if the text surely is one line that needs no escapes in the report's form, and the report asks for that.
    pub is_plain: bool,
    /// Prepared fields, if the report shows them.
    pub fields: Option<Box<PreparedFields<'r>>>,
    /// Index of the line.
    pub index: u32,
    key: u32,
}

impl PreparedLine<'_> {
    /// True if the fields of an event are numbers at fixed places, and nothing else needs to be done for its row.
    #[inline(always)]
    pub fn has_flat_fields(&self, event: &EventRef) -> bool {
        let flat = self.fields.as_ref().and_then(|fields| fields.flat_cells());
        self.is_quick.get() && flat.is_some_and(|flat| flat.fit(event.len as usize))
    }
}

/// Settings of the report that a prepared line depends on.
#[derive(Clone, Copy)]
pub(super) struct LineSettings<'s> {
    /// Layouts by level.
    pub layouts: &'s [Layout; 5],
    pub cells: &'s Cells,
    pub form: Form,
    pub fields: FieldPlacement,
    /// True if lines are counted for pages.
    pub counts_lines: bool,
}

/// Source of a line's text.
pub(super) enum Text<'r> {
    /// Routine, run for each event.
    Run(PreparedEntry<'r>),
    /// Routine that the verifier refuses.
    Refused,
    /// Text that the producer has formatted.
    Ready,
    /// No text: the event is counted.
    Counted,
    /// No stanza: the event is left out.
    Nothing,
}

impl<'r> PreparedLines<'r> {
    pub fn new() -> Self {
        Self { lines: Vec::new(), slots: vec![0; 1 << FIRST_BITS], shift: u32::BITS - FIRST_BITS }
    }

    /// Line of an event, if it is prepared.
    #[inline(always)]
    pub fn get(&self, event: &EventRef) -> Option<&PreparedLine<'r>> {
        let key = key(event);
        let first = self.slot(key);
        let line = self.in_slot(first)?;
        if line.key == key { Some(line) } else { self.get_after(first, key) }
    }

    /// Line of an index.
    pub fn at(&self, index: u32) -> Option<&PreparedLine<'r>> {
        self.lines.get(index as usize)
    }

    /// Line of a key that is not in its first slot.
    #[cold]
    fn get_after(&self, first: usize, key: u32) -> Option<&PreparedLine<'r>> {
        (first + 1..).map_while(|slot| self.in_slot(slot)).find(|line| line.key == key)
    }

    #[inline(always)]
    fn slot(&self, key: u32) -> usize {
        (key.wrapping_mul(0x9E37_79B1) >> self.shift) as usize
    }

    #[inline(always)]
    fn in_slot(&self, slot: usize) -> Option<&PreparedLine<'r>> {
        let number = *self.slots.get(slot & (self.slots.len() - 1))?;
        self.lines.get((number as usize).wrapping_sub(1))
    }

    /// Stores the index of a line in its slot.
    fn enter(&mut self, line: usize) {
        let mut slot = self.slot(self.lines[line].key);
        while self.in_slot(slot).is_some() {
            slot += 1;
        }
        let mask = self.slots.len() - 1;
        self.slots[slot & mask] = line as u32 + 1;
    }

    /// Looks up the lines of the next events, up to one not in the cache, and returns their number. With many templates,
    /// most lines are no longer in the CPU's caches when their event comes, so they are prefetched.
    #[inline(always)]
    pub fn look_ahead<'s>(&'s self, events: &[EventRef], lines: &mut [&'s PreparedLine<'r>; AHEAD]) -> usize {
        let mut n_known = 0;
        for (event, line) in events.iter().zip(&mut *lines) {
            let Some(known) = self.get(event) else { break };
            *line = known;
            n_known += 1;
        }
        if self.lines.len() > MAX_CACHED {
            prefetch(&lines[..n_known]);
        }
        n_known
    }

    /// Prepares the line of an event. `is_counted` is true if its text is not needed.
    #[cold]
    pub fn add(
        &mut self,
        event: &EventRef,
        catalog: &'r Catalog<'r>,
        LineSettings { layouts, cells, form, fields: shown, counts_lines }: LineSettings<'_>,
        is_counted: bool,
    ) {
        let entry = catalog.lookup(event.id);
        let text = match entry {
            None => Text::Nothing,
            Some(_) if is_counted => Text::Counted,
            Some(_) if event.position == Position::Ready => Text::Ready,
            Some(entry) => general_path::prepare(catalog.program(entry), entry.hook, event.env.into())
                .map_or(Text::Refused, Text::Run),
        };
        let level = entry.map_or(Level::Zero, |entry| entry.level);
        let is_guess = catalog.get(event.id).is_some_and(|entry| entry.is_guess);
        let has_cells = cells.precede(level);
        let id = cells.id(event.id, catalog);
        let mut fields = entry
            .filter(|_| shown != FieldPlacement::No)
            .and_then(|entry| PreparedFields::new(catalog, entry, event.env.into()).map(Box::new));
        let has_simple_cells = match shown {
            FieldPlacement::No | FieldPlacement::Last | FieldPlacement::Row => true,
            FieldPlacement::Alone | FieldPlacement::Column | FieldPlacement::Only => fields.is_some(),
        };
        let fits = !general_path::is_required()
            && has_simple_cells
            && has_cells != cells.is_empty()
            && cells.fit(&id)
            && matches!(text, Text::Run(_));
        let is_plain_text = |text: &[u8]| form.is_plain(text) && !text.contains(&b'\n');
        // In a text, only pages ask for it, and the search in thousands of templates costs half as much as their lines.
        let is_plain = (form != Form::Text || counts_lines)
            && matches!(&text, Text::Run(entry) if entry.prints_only(is_plain_text));
        if let Some(fields) = fields.as_mut().filter(|_| !is_plain) {
            fields.refuse_newlines();
        }
        self.lines.push(PreparedLine {
            fits,
            is_quick: Cell::new(fits && !is_guess),
            text,
            id,
            layout: layouts[level as usize],
            has_cells,
            is_guess,
            is_plain,
            fields,
            index: self.lines.len() as u32,
            key: key(event),
        });
        if self.lines.len() * 2 > self.slots.len() {
            self.slots = vec![0; self.slots.len() * 4];
            self.shift -= 2;
            (0..self.lines.len()).for_each(|line| self.enter(line));
        } else {
            self.enter(self.lines.len() - 1);
        }
    }
}

/// Prefetches lines, then the code of their routines.
#[inline(never)]
fn prefetch(lines: &[&PreparedLine<'_>]) {
    let entries = || {
        lines.iter().filter_map(|line| match &line.text {
            Text::Run(entry) => Some(entry),
            _ => None,
        })
    };
    entries().for_each(PreparedEntry::prefetch);
    entries().for_each(PreparedEntry::prefetch_code);
}

/// Number of lines that surely stay in the CPU's caches.
const MAX_CACHED: usize = 128;

/// Events whose lines are looked up at once.
pub(super) const AHEAD: usize = 16;

/// Binary logarithm of the number of slots in an empty table.
const FIRST_BITS: u32 = 8;

/// Key of a line: hook id, environment and location of the event's bytes.
#[inline(always)]
fn key(event: &EventRef) -> u32 {
    u32::from(event.id) | u32::from(event.env) << 16 | (event.position as u32) << 24
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format_files::{FormatSet, LoadOptions};

    fn event(id: u16, env: u8) -> EventRef {
        EventRef { id, env, ..EventRef::default() }
    }

    #[test]
    fn every_id_in_every_environment_has_its_own_line() {
        let formats = FormatSet::load(&[], &LoadOptions::default()).unwrap();
        let catalog = formats.catalog().unwrap();
        let mut lines = PreparedLines::new();
        let all = || (0..=u16::MAX).flat_map(|id| [event(id, 0), event(id, 3)]);
        // Hooks without a stanza are printed by the stanza of hook 007.
        for event in all() {
            assert!(lines.get(&event).is_none(), "{:04X} in {} is not known yet", event.id, event.env);
            lines.add(
                &event,
                &catalog,
                LineSettings {
                    layouts: &[Layout::default(); 5],
                    cells: &Cells::none(),
                    form: Form::Text,
                    fields: FieldPlacement::No,
                    counts_lines: false,
                },
                false,
            );
            assert!(lines.slots.len() >= 2 * lines.lines.len());
        }
        for event in all() {
            let line = lines.get(&event).unwrap();
            assert_eq!((line.key, &line.id), (key(&event), &Cells::none().id(event.id, &catalog)));
        }
    }
}
