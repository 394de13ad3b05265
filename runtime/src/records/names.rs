//! What class and event come to in a report's usual columns.

use super::row::RecordColumn;
use crate::events::is_interrupt;
use crate::reader::kev::KevRecord;

/// The names of classes and events, each put together once.
pub(super) struct Names {
    /// By class and event, an index of `known` and 1; 0 where they are not known.
    places: Vec<u16>,
    known: Vec<Name>,
}

/// The text of the columns [`Name::columns`], with blanks behind it.
pub(super) struct Name {
    pub text: [u8; Name::MAX],
    pub len: u8,
}

impl Name {
    pub const MAX: usize = 48;

    /// What stands in the name of a record's event. Behind an interrupt's label stands its number.
    pub fn columns(record: &KevRecord<'_>) -> &'static [RecordColumn] {
        const ALL: &[RecordColumn] = &[RecordColumn::Class, RecordColumn::Id, RecordColumn::Type];
        if is_interrupt(record.class, record.event) { &ALL[..2] } else { ALL }
    }
}

impl Names {
    const N_CLASSES: usize = 32;
    const N_EVENTS: usize = 1024;

    pub fn new() -> Self {
        Names { places: vec![0; Self::N_CLASSES * Self::N_EVENTS], known: Vec::new() }
    }

    #[inline(always)]
    fn id(record: &KevRecord<'_>) -> usize {
        let event = usize::from(record.event);
        if event < Self::N_EVENTS { usize::from(record.class) * Self::N_EVENTS + event } else { usize::MAX }
    }

    /// Where a record's name stands, if it is known.
    #[inline(always)]
    pub fn find(&self, record: &KevRecord<'_>) -> Option<usize> {
        usize::from(*self.places.get(Self::id(record))?).checked_sub(1)
    }

    #[inline(always)]
    pub fn get(&self, place: usize) -> Option<&Name> {
        self.known.get(place)
    }

    /// Keeps a record's name, if it is not too long; where it stands.
    pub fn learn(&mut self, record: &KevRecord<'_>, name: &[u8]) -> Option<usize> {
        let mut text = [b' '; Name::MAX];
        text.get_mut(..name.len())?.copy_from_slice(name);
        let place = self.places.get_mut(Self::id(record))?;
        self.known.push(Name { text, len: name.len() as u8 });
        *place = self.known.len() as u16;
        Some(self.known.len() - 1)
    }
}
