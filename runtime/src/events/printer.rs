//! Prints records by the programs of the built-in events.
//!
//! Nearly all records are of few events, most of which print text and numbers at fixed places: these are laid out when the
//! first record comes, and the machine is left to the others.

use super::{Entry, Opened};
use crate::reader::kev::KevRecord;
use tfbc_vm::{Context, Env, Event, Job, Layout, Limits, Machine, Record, Straight, TextBuf, Timers};

/// Prints a part of records: the program for it, and the scratch to run it.
#[derive(Debug)]
pub struct EventPrinter {
    opened: &'static Opened,
    big_endian: bool,
    straights: Straights,
    machine: Machine,
    timers: Timers,
}

/// What is known of the entries whose text is laid out, from their first record on.
#[derive(Debug)]
struct Straights {
    /// By entry, for simple records and combines: where it stands in `known`. Empty where a limit is below a line's length.
    places: Vec<u32>,
    known: Vec<Straight>,
}

/// The place of an entry of which no record has come, and of one that a machine has to run.
const UNKNOWN: u32 = u32::MAX;
const RUN: u32 = u32::MAX - 1;

impl Straights {
    #[inline(always)]
    fn find(&self, place: usize) -> Option<&Straight> {
        self.known.get(*self.places.get(place)? as usize)
    }

    fn is_unknown(&self, place: usize) -> bool {
        self.places.get(place) == Some(&UNKNOWN)
    }

    fn learn(&mut self, place: usize, straight: Option<Straight>) {
        if let Some(known) = self.places.get_mut(place) {
            *known = if straight.is_some() { self.known.len() as u32 } else { RUN };
            self.known.extend(straight);
        }
    }
}

impl EventPrinter {
    pub(super) fn new(opened: &'static Opened, big_endian: bool, limits: Limits) -> Self {
        let n_places = if limits.text < Straight::MAX_TEXT { 0 } else { 2 * opened.entries.len() };
        EventPrinter {
            opened,
            big_endian,
            straights: Straights { places: vec![UNKNOWN; n_places], known: Vec::new() },
            machine: Machine::new(limits),
            timers: Timers::new(),
        }
    }

    /// Appends the part of a record, with its line end; false where the part has none for it.
    #[inline]
    pub fn print(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) -> bool {
        self.print_behind([], record, out)
    }

    /// The same behind a text, which is appended where the part is.
    #[inline(always)]
    pub(crate) fn print_behind<const N: usize>(
        &mut self,
        before: [u8; N],
        record: &KevRecord<'_>,
        out: &mut TextBuf,
    ) -> bool {
        let number = self.opened.number(record.class, record.event);
        let straight = self.straights.find(2 * number + usize::from(record.wide));
        if straight.is_some_and(|straight| straight.write(before, record.bytes, out)) {
            return true;
        }
        // What is lent is a copy, so that it stands in memory here alone.
        self.run_behind(&{ before }, number, &{ *record }, out)
    }

    /// The same by the machine, which has to run some entries, and those whose text is not laid out yet.
    #[inline(never)]
    fn run_behind(&mut self, before: &[u8], number: usize, record: &KevRecord<'_>, out: &mut TextBuf) -> bool {
        let opened = self.opened;
        let Some(entry) = opened.entries.get(number) else { return false };
        let place = 2 * number + usize::from(record.wide);
        if self.straights.is_unknown(place) {
            self.straights.learn(place, self.straight(entry, record.wide));
        }
        out.push(before);
        entry.push_label(out);
        let of_record = Some(Record { event: record.event, big_endian: self.big_endian });
        let KevRecord { bytes, wide, offset, .. } = *record;
        let event = Event { bytes, wide, record: of_record, time_ns: 0, offset };
        let (context, timers, layout) = (&Context::EMPTY, &mut self.timers, Layout::default());
        let job = Job { event: &event, context, timers, layout, line: out.len(), out };
        self.machine.run(&opened.program, entry.index, job);
        true
    }

    /// What an entry prints, where it can be laid out.
    #[cold]
    fn straight(&self, entry: &Entry, wide: bool) -> Option<Straight> {
        let env = match (wide, self.big_endian) {
            (false, false) => Env::SimpleLittle,
            (true, false) => Env::WideLittle,
            (false, true) => Env::SimpleBig,
            (true, true) => Env::WideBig,
        };
        let label = entry.start.get(..entry.start_len)?;
        self.opened.program.straight(&self.opened.program.entry_at(entry.index)?, env, label)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Events, Part};
    use super::*;

    /// Words that make a difference: what prints and what does not, failed calls, signs, lengths.
    const WORDS: [u32; 12] =
        [0, 1, 9, 999, 1000, 0x6162_6364, 0x6100_0a7e, 0x7F20_2020, u32::MAX, 0x8000_0000, 123_456_789, 0x0A0B_0C0D];

    fn payload(seed: u32, n_words: usize) -> Vec<u8> {
        let mut state = seed.wrapping_mul(2_654_435_761) | 1;
        let mut word = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            WORDS[(state >> 16) as usize % WORDS.len()]
        };
        (0..n_words).flat_map(|_| word().to_be_bytes()).collect()
    }

    #[test]
    fn what_is_laid_out_prints_as_the_machine_does() {
        let mut n_straight = 0;
        for part in [Part::Compat, Part::CompatOneLine, Part::CompatHeading] {
            for (release, big_endian) in [(6, false), (6, true), (7, false), (8, true)] {
                let events = Events::of(Some((release, 0)), big_endian);
                let mut printer = events.printer(part, Limits::default());
                let mut machine = events.printer(part, Limits::default());
                machine.straights.places.clear();
                let is_known = |id: u32| Events::opened(part).entry((id >> 10) as u8, (id & 1023) as u16).is_some();
                for id in (0..32_768).filter(|id| id % 97 == 0 || id >> 10 != 6 && is_known(*id)) {
                    for (wide, n_words) in [(false, 2), (true, 2), (true, 4), (true, 6), (true, 18)] {
                        let bytes = payload(id + n_words as u32, n_words);
                        let record = KevRecord {
                            number: 1,
                            offset: 0,
                            class: (id >> 10) as u8,
                            event: (id & 1023) as u16,
                            cpu: 0,
                            wide,
                            stamp: 0,
                            msb: None,
                            bytes: &bytes,
                        };
                        let (mut text, mut expected) = (TextBuf::new(), TextBuf::new());
                        // The first time it is not laid out yet.
                        let prints = [(); 2].map(|()| printer.print_behind(*b"before", &record, &mut text));
                        let expect = [(); 2].map(|()| machine.print_behind(*b"before", &record, &mut expected));
                        assert_eq!(prints, expect);
                        assert_eq!(text.as_bytes(), expected.as_bytes(), "{part:?} {release} {big_endian} {record:?}");
                    }
                }
                n_straight += printer.straights.known.len();
            }
        }
        assert!(n_straight > 5000, "{n_straight} are laid out");
    }
}
