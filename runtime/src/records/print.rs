//! The text of one record: by the definitions that name its event, or by the built-in tables.

use crate::catalog::{Catalog, RecordEntry};
use crate::events::{EventPrinter, Events, Part};
use crate::reader::kev::KevRecord;
use tfbc_vm::{
    Context, Event, Job, Layout, Limits, Machine, Observer, Outcome, Record, Space, TextBuf, Timers, Unobserved,
};

/// Prints the records of one log.
#[derive(Debug)]
pub struct RecordPrinter<'r> {
    catalog: &'r Catalog<'r>,
    events: Events,
    arguments: EventPrinter,
    big_endian: bool,
    machine: Machine,
    timers: Timers,
    /// Records that end before the fields of a definition, and definitions whose text a limit cut.
    pub(super) n_truncated: u64,
    pub(super) n_limited: u64,
    pub(super) n_refused: u64,
}

impl<'r> RecordPrinter<'r> {
    /// A printer for a log of a byte order, and of a release (major, minor) where it tells one.
    pub fn new(catalog: &'r Catalog<'r>, big_endian: bool, release: Option<(u32, u32)>, limits: Limits) -> Self {
        let events = Events::of(release, big_endian);
        RecordPrinter {
            catalog,
            events,
            arguments: events.printer(Part::Arguments, limits),
            big_endian,
            machine: Machine::new(limits),
            timers: Timers::new(),
            n_truncated: 0,
            n_limited: 0,
            n_refused: 0,
        }
    }

    /// The built-in events of the log's release.
    pub(super) fn events(&self) -> Events {
        self.events
    }

    /// Appends the texts of all definitions that apply to a record, a blank between two; false, and nothing appended,
    /// where none does.
    pub fn definitions(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) -> bool {
        self.all(Space::Record, record, out)
    }

    /// Whether any definitions name a record's event.
    #[inline]
    pub(super) fn is_named(&self, record: &KevRecord<'_>) -> bool {
        !self.catalog.records(Space::Record, record.class, record.event).is_empty()
    }

    /// Appends the fields of all definitions that apply, as [`Space::Fields`] has them.
    pub(super) fn fields(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let counted = (self.n_truncated, self.n_limited);
        self.all(Space::Fields, record, out);
        (self.n_truncated, self.n_limited) = counted;
    }

    /// Appends the arguments of a record as traceprinter's default layout has them, without the blanks around them.
    pub fn arguments(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        self.arguments.print_trimmed(record, out);
    }

    /// The same with the blanks around them and a line end.
    #[inline]
    pub(super) fn whole_arguments(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        self.arguments.print(record, out);
    }

    #[inline]
    fn all(&mut self, space: Space, record: &KevRecord<'_>, out: &mut TextBuf) -> bool {
        let entries = self.catalog.records(space, record.class, record.event);
        if entries.is_empty() { false } else { self.each(entries, space, record, out) }
    }

    /// The texts of these entries.
    fn each(&mut self, entries: &[RecordEntry], space: Space, record: &KevRecord<'_>, out: &mut TextBuf) -> bool {
        if let [entry] = entries {
            return !self.one(entry, record, out, &mut Unobserved).skipped;
        }
        let mut any = false;
        for entry in entries {
            let before = out.len();
            if any && space == Space::Record {
                out.push(b" ");
            }
            let outcome = self.one(entry, record, out, &mut Unobserved);
            if outcome.skipped {
                out.truncate(before);
            }
            any |= !outcome.skipped;
        }
        any
    }

    /// Appends the text of one program's definitions, and shows each instruction to `observer` first.
    #[inline]
    pub fn one<O: Observer>(
        &mut self,
        entry: &RecordEntry,
        record: &KevRecord<'_>,
        out: &mut TextBuf,
        observer: &mut O,
    ) -> Outcome {
        let of_record = Some(Record { event: record.event, big_endian: self.big_endian });
        let event =
            Event { bytes: record.bytes, wide: record.wide, record: of_record, time_ns: 0, offset: record.offset };
        let job = Job {
            event: &event,
            context: &Context::EMPTY,
            timers: &mut self.timers,
            layout: Layout::default(),
            line: out.len(),
            out,
        };
        let outcome = self.machine.run_observed(self.catalog.record_program(entry), entry.hook, job, observer);
        if !outcome.skipped {
            // The machine ends a line.
            out.truncate(out.len() - 1);
            self.n_truncated += u64::from(outcome.truncated);
            self.n_limited += u64::from(outcome.limited);
            self.n_refused += u64::from(outcome.refused);
        }
        outcome
    }
}
