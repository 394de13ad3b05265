//! What events begin with, looked up once for each id and environment.

use super::batch::Shown;
use crate::catalog::Catalog;
use crate::columns::{Columns, IdText};
use tfbc_vm::{Begin, Layout, Level};

/// The beginnings of the plain lines that a thread has met.
pub(super) struct Begins<'r> {
    /// By environment and id: an index of `rows` and 1, or 0 where none is known.
    places: Vec<u32>,
    rows: Vec<PlainBegin<'r>>,
}

/// What the line of an event begins with, and its text.
pub(super) struct PlainBegin<'r> {
    pub begin: Begin<'r>,
    pub id: IdText,
    pub layout: Layout,
}

impl<'r> Begins<'r> {
    pub fn new() -> Self {
        Self { places: Vec::new(), rows: Vec::new() }
    }

    /// The beginning of an event's line, where it is known.
    #[inline(always)]
    pub fn get(&self, event: &Shown) -> Option<&PlainBegin<'r>> {
        let place = *self.places.get(place(event))?;
        if event.ready == 0 { self.rows.get(place.wrapping_sub(1) as usize) } else { None }
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
    /// columns, or its routine is refused, or its id fills its column.
    #[cold]
    pub fn add(&mut self, event: &Shown, catalog: &'r Catalog<'r>, columns: &Columns, layouts: &[Layout; 5]) -> bool {
        let entry = catalog.lookup(event.id).filter(|entry| event.ready == 0 && entry.level != Level::Zero);
        let Some(entry) = entry else { return false };
        let Some(begin) = catalog.program(entry).begin(entry.hook, event.env.into()) else { return false };
        if !columns.hold_id(event.id) {
            return false;
        }
        self.rows.push(PlainBegin { begin, id: IdText::new(event.id), layout: layouts[entry.level as usize] });
        self.places.resize(ENVS << 16, 0);
        self.places[place(event)] = self.rows.len() as u32;
        true
    }
}

/// Events whose beginnings are looked up at once.
pub(super) const AHEAD: usize = 16;

/// Environments of hooks.
const ENVS: usize = 4;

#[inline(always)]
fn place(event: &Shown) -> usize {
    usize::from(event.env) << 16 | usize::from(event.id)
}
