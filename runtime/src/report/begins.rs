//! What events begin with, looked up once for each id and environment.

use super::batch::Shown;
use crate::catalog::Catalog;
use crate::columns::{Columns, IdText};
use tfbc_vm::{Begin, Layout, Level};

/// The beginnings of the plain lines that a thread has met.
pub(super) struct Begins<'r> {
    rows: Vec<PlainBegin<'r>>,
    /// A hash table with open addressing, at most half full: an index of `rows` and 1, or 0.
    slots: Vec<u16>,
    /// By how much a hash is moved to be an index of `slots`.
    shift: u32,
}

/// What the line of an event begins with, and its text.
pub(super) struct PlainBegin<'r> {
    pub begin: Begin<'r>,
    pub id: IdText,
    pub layout: Layout,
    key: u32,
}

impl<'r> Begins<'r> {
    pub fn new() -> Self {
        Self { rows: Vec::new(), slots: vec![0; 1 << FIRST_BITS], shift: u32::BITS - FIRST_BITS }
    }

    /// The beginning of an event's line, where it is known.
    #[inline(always)]
    pub fn get(&self, event: &Shown) -> Option<&PlainBegin<'r>> {
        let key = key(event);
        let first = self.slot(key);
        let row = self.in_slot(first)?;
        if row.key == key { Some(row) } else { self.get_behind(first, key) }
    }

    /// The row of a key that is not in its first slot.
    #[cold]
    fn get_behind(&self, first: usize, key: u32) -> Option<&PlainBegin<'r>> {
        (first + 1..).map_while(|slot| self.in_slot(slot)).find(|row| row.key == key)
    }

    #[inline(always)]
    fn slot(&self, key: u32) -> usize {
        (key.wrapping_mul(0x9E37_79B1) >> self.shift) as usize
    }

    #[inline(always)]
    fn in_slot(&self, slot: usize) -> Option<&PlainBegin<'r>> {
        let number = *self.slots.get(slot & (self.slots.len() - 1))?;
        self.rows.get(usize::from(number).wrapping_sub(1))
    }

    /// Puts a row into its slot.
    fn enter(&mut self, row: usize) {
        let mut slot = self.slot(self.rows[row].key);
        while self.in_slot(slot).is_some() {
            slot += 1;
        }
        let mask = self.slots.len() - 1;
        self.slots[slot & mask] = row as u16 + 1;
    }

    /// The beginnings of the events that come next, up to one that is not known; how many they are. Of many templates, most
    /// are in no near cache when their event comes: this asks for them.
    #[inline(always)]
    pub fn look_ahead<'s>(&'s self, events: &[Shown], rows: &mut [&'s PlainBegin<'r>; AHEAD]) -> usize {
        let mut n_known = 0;
        for (event, row) in events.iter().zip(&mut *rows) {
            let Some(known) = self.get(event) else { break };
            known.begin.prefetch();
            *row = known;
            n_known += 1;
        }
        rows[..n_known].iter().for_each(|row| row.begin.prefetch_code());
        n_known
    }

    /// Looks up the beginning of an event's line; false where its line is not plain: no stanza prints it, or not behind
    /// columns, or its routine is refused, or its id fills its column, or its text is ready, or too many are known.
    #[cold]
    pub fn add(&mut self, event: &Shown, catalog: &'r Catalog<'r>, columns: &Columns, layouts: &[Layout; 5]) -> bool {
        let entry = catalog.lookup(event.id).filter(|entry| !event.is_ready() && entry.level != Level::Zero);
        let Some(entry) = entry else { return false };
        let Some(begin) = catalog.program(entry).begin(entry.hook, event.env.into()) else { return false };
        if !columns.hold_id(event.id) || self.rows.len() == MAX_ROWS {
            return false;
        }
        let layout = layouts[entry.level as usize];
        self.rows.push(PlainBegin { begin, id: IdText::new(event.id), layout, key: key(event) });
        if self.rows.len() * 2 > self.slots.len() {
            self.slots = vec![0; self.slots.len() * 4];
            self.shift -= 2;
            (0..self.rows.len()).for_each(|row| self.enter(row));
        } else {
            self.enter(self.rows.len() - 1);
        }
        true
    }
}

/// Events whose beginnings are looked up at once.
pub(super) const AHEAD: usize = 16;

/// The slots of an empty table, as a power of two.
const FIRST_BITS: u32 = 8;
/// As many as a slot can tell apart.
const MAX_ROWS: usize = u16::MAX as usize;

/// An id in an environment, and where the event's bytes are: one word of the row.
#[inline(always)]
fn key(event: &Shown) -> u32 {
    u32::from(event.id) | u32::from(event.env) << 16 | (event.stands as u32) << 24
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{FormatSet, LoadOptions};
    use crate::report::batch::Stands;

    fn event(id: u16, env: u8) -> Shown {
        Shown { id, env, ..Shown::default() }
    }

    #[test]
    fn every_id_in_every_environment_has_its_own_beginning() {
        let formats = FormatSet::load(&[], &LoadOptions::default()).unwrap();
        let catalog = formats.catalog().unwrap();
        let columns = Columns::default().with_wide_ids(true);
        let mut begins = Begins::new();
        let mut known = Vec::new();
        // Those without a stanza are printed by that of hook 007.
        for (id, env) in (0..=u16::MAX).flat_map(|id| [(id, 0), (id, 3)]) {
            let event = event(id, env);
            assert!(begins.get(&event).is_none(), "{id:04X} in {env} is not known yet");
            if begins.add(&event, &catalog, &columns, &[Layout::default(); 5]) {
                known.push(event);
            } else if known.len() == MAX_ROWS {
                break;
            }
            assert!(begins.slots.len() >= 2 * known.len());
        }
        assert_eq!(known.len(), MAX_ROWS);
        for event in known {
            let row = begins.get(&event).unwrap();
            assert_eq!((row.key, row.id), (key(&event), IdText::new(event.id)));
        }
        // It is of a hook without columns, or too many are known.
        assert!(begins.get(&event(0xFFF1, 3)).is_none());
    }

    #[test]
    fn ready_and_narrow_ones_are_not_plain() {
        let formats = FormatSet::load(&[], &LoadOptions::default()).unwrap();
        let catalog = formats.catalog().unwrap();
        let add = |event: &Shown, columns: &Columns| {
            let mut begins = Begins::new();
            begins.add(event, &catalog, columns, &[Layout::default(); 5])
        };
        let columns = Columns::default();
        assert!(add(&event(0x1000, 2), &columns));
        assert!(!add(&Shown { stands: Stands::Ready, ..event(0x1000, 2) }, &columns));
        assert!(!add(&event(0x1001, 2), &columns));
        assert!(add(&event(0x1001, 2), &columns.with_wide_ids(true)));
    }
}
