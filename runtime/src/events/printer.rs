//! Formats records with the programs of the built-in events.
//!
//! Most records belong to few events, and most of those print only text and numbers at fixed indices. Such routines are
//! flattened at the first record and run without the machine.

use super::programs::{BuiltInEntry, OpenedProgram};
use crate::general_path;
use crate::reader::kev::KevRecord;
use tfbc_vm::{Context, Env, Event, FlatRoutine, Job, Layout, Limits, Machine, RecordHeader, TextBuf, Timers};

/// Prints one part of a record's line. Contains the state of the machine, so each thread needs its own.
#[derive(Debug)]
pub struct EventPrinter {
    opened: &'static OpenedProgram,
    big_endian: bool,
    flat: FlatRoutines,
    machine: Machine,
    timers: Timers,
}

/// Cache of flattened routines, filled as records arrive.
#[derive(Debug)]
struct FlatRoutines {
    /// Index into `known`, by entry and record size (simple or combine). Empty if a line's limit is below the size of a
    /// flattened text, so that the machine checks the limit.
    indices: Vec<u32>,
    known: Vec<FlatRoutine>,
}

/// Index of an entry that has had no record yet.
const UNKNOWN: u32 = u32::MAX;
/// Index of an entry that only the machine can run.
const RUN: u32 = u32::MAX - 1;

impl FlatRoutines {
    #[inline(always)]
    fn find(&self, index: usize) -> Option<&FlatRoutine> {
        self.known.get(*self.indices.get(index)? as usize)
    }

    fn is_unknown(&self, index: usize) -> bool {
        self.indices.get(index) == Some(&UNKNOWN)
    }

    fn learn(&mut self, index: usize, flat_routine: Option<FlatRoutine>) {
        if let Some(known) = self.indices.get_mut(index) {
            *known = if flat_routine.is_some() { self.known.len() as u32 } else { RUN };
            self.known.extend(flat_routine);
        }
    }
}

impl EventPrinter {
    pub(super) fn new(opened: &'static OpenedProgram, big_endian: bool, limits: Limits) -> Self {
        let n_indices = if limits.text < FlatRoutine::MAX_TEXT || general_path::is_required() {
            0
        } else {
            2 * opened.entries.len()
        };
        EventPrinter {
            opened,
            big_endian,
            flat: FlatRoutines { indices: vec![UNKNOWN; n_indices], known: Vec::new() },
            machine: Machine::new(limits),
            timers: Timers::new(),
        }
    }

    /// Appends the part of a record and a line end. Returns false if the part has no entry for the record.
    #[inline]
    pub fn print(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) -> bool {
        self.print_after([], record, out)
    }

    /// Like [`EventPrinter::print`], with a text before the part. The text is appended only if the part is.
    #[inline(always)]
    pub(crate) fn print_after<const N: usize>(
        &mut self,
        before: [u8; N],
        record: &KevRecord<'_>,
        out: &mut TextBuf,
    ) -> bool {
        let number = self.opened.number(record.class, record.event);
        let flat_routine = self.flat.find(2 * number + usize::from(record.wide));
        if flat_routine.is_some_and(|flat_routine| flat_routine.write(before, record.bytes, out)) {
            return true;
        }
        // Only the slow path takes references, and it takes them to copies: the originals can stay in registers.
        self.run_after(&{ before }, number, &{ *record }, out)
    }

    /// Slow path: flattens the routine at an entry's first record, and runs the machine for this record.
    #[inline(never)]
    fn run_after(&mut self, before: &[u8], number: usize, record: &KevRecord<'_>, out: &mut TextBuf) -> bool {
        let opened = self.opened;
        let Some(entry) = opened.entries.get(number) else { return false };
        let index = 2 * number + usize::from(record.wide);
        if self.flat.is_unknown(index) {
            self.flat.learn(index, self.flat_routine(entry, record.wide));
        }
        out.push(before);
        entry.push_label(out);
        let of_record = Some(RecordHeader { event: record.event, big_endian: self.big_endian });
        let KevRecord { bytes, wide, offset, .. } = *record;
        let event = Event { bytes, wide, record: of_record, time_ns: 0, offset };
        let (context, timers, layout) = (&Context::EMPTY, &mut self.timers, Layout::default());
        let job = Job { event: &event, context, timers, layout, line: out.len(), out };
        self.machine.run(&opened.program, entry.index, job);
        true
    }

    /// Flattens the routine of an entry; `None` if it needs the machine.
    #[cold]
    fn flat_routine(&self, entry: &BuiltInEntry, wide: bool) -> Option<FlatRoutine> {
        let env = match (wide, self.big_endian) {
            (false, false) => Env::SimpleLittle,
            (true, false) => Env::WideLittle,
            (false, true) => Env::SimpleBig,
            (true, true) => Env::WideBig,
        };
        let label = entry.start.get(..entry.start_len)?;
        self.opened.program.flat_routine(&self.opened.program.entry_at(entry.index)?, env, label)
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::payload;
    use super::super::{BuiltInEvents, LayoutPart};
    use super::*;
    use crate::reader::kev::QnxRelease;

    #[test]
    fn flattened_routines_print_as_the_machine_does() {
        let mut n_flat = 0;
        for part in [LayoutPart::Compat, LayoutPart::CompatOneLine, LayoutPart::CompatHeading] {
            for (release, big_endian) in [(6, false), (6, true), (7, false), (8, true)] {
                let events = BuiltInEvents::of(Some(QnxRelease { major: release, minor: 0 }), big_endian);
                let mut printer = events.printer(part, Limits::default());
                let mut machine = events.printer(part, Limits::default());
                machine.flat.indices.clear();
                let is_known = |id: u32| part.opened().entry((id >> 10) as u8, (id & 1023) as u16).is_some();
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
                        // Twice, since the first record only flattens the routine.
                        let prints = [(); 2].map(|()| printer.print_after(*b"before", &record, &mut text));
                        let expect = [(); 2].map(|()| machine.print_after(*b"before", &record, &mut expected));
                        assert_eq!(prints, expect);
                        assert_eq!(text.as_bytes(), expected.as_bytes(), "{part:?} {release} {big_endian} {record:?}");
                    }
                }
                n_flat += printer.flat.known.len();
            }
        }
        assert!(n_flat > 5000, "{n_flat} are flattened");
    }
}
