//! Text of one record, by the definitions that name its event or by the built-in tables.

use super::FormatCounts;
use super::fields::Fields;
use crate::catalog::{Catalog, RecordEntry};
use crate::events::{ArgumentForm, ArgumentPrinter, BuiltInEvents, FlatArguments};
use crate::reader::kev::KevRecord;
use crate::work::{MaxWork, Meter};
use tfbc_vm::{
    Context, Event, EventInput, Layout, Limits, LineStart, Machine, Observer, Outcome, RecordHeader, Space, TextBuf,
    Timers, Unobserved,
};

/// Prints the records of one log.
#[derive(Debug)]
pub struct RecordPrinter<'r> {
    catalog: &'r Catalog<'r>,
    events: BuiltInEvents,
    arguments: ArgumentPrinter,
    flat_arguments: FlatArguments,
    flat_fields: FlatArguments,
    scratch: TextBuf,
    big_endian: bool,
    machine: Machine,
    timers: Timers,
    meter: Meter,
    /// Event whose definitions took most of the recent steps.
    slow: Option<(u8, u16)>,
    /// Records that end before the fields of a definition, and definitions whose text a limit cut.
    pub(super) n_truncated: u64,
    pub(super) n_limited: u64,
    pub(super) n_refused: u64,
    /// Definitions that had too few steps left, because earlier ones had used those of the whole report.
    pub(super) n_over_work: u64,
}

impl<'r> RecordPrinter<'r> {
    /// Printer for a log of a byte order and release (major, minor), if the log names one.
    pub fn new(catalog: &'r Catalog<'r>, big_endian: bool, release: Option<(u32, u32)>, limits: Limits) -> Self {
        let events = BuiltInEvents::of(release, big_endian);
        RecordPrinter {
            catalog,
            events,
            arguments: events.argument_printer(true),
            flat_arguments: FlatArguments::new(events, ArgumentForm::Text),
            flat_fields: FlatArguments::new(events, ArgumentForm::Json),
            scratch: TextBuf::new(),
            big_endian,
            machine: Machine::new(limits),
            timers: Timers::new(),
            meter: Meter::new(MaxWork::default(), limits.steps),
            slow: None,
            n_truncated: 0,
            n_limited: 0,
            n_refused: 0,
            n_over_work: 0,
        }
    }

    /// Sets the budget of all records together.
    #[must_use]
    pub fn with_max_work(mut self, max: MaxWork) -> Self {
        self.meter = self.meter.with_max(max);
        self
    }

    /// Meter of the steps that definitions take.
    pub(crate) fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }

    /// Event whose definitions took most of the recent steps.
    pub(crate) fn slow(&mut self) -> &mut Option<(u8, u16)> {
        &mut self.slow
    }

    /// Counts so far.
    pub(crate) fn tallied(&self) -> FormatCounts {
        let Self { n_truncated, n_limited, n_refused, n_over_work, .. } = *self;
        FormatCounts { n_truncated, n_limited, n_refused, n_over_work, ..FormatCounts::default() }
    }

    /// Resets the counts to earlier ones.
    pub(crate) fn set_tallied(&mut self, tallied: FormatCounts) {
        let FormatCounts { n_truncated, n_limited, n_refused, n_over_work, .. } = tallied;
        (self.n_truncated, self.n_limited) = (n_truncated, n_limited);
        (self.n_refused, self.n_over_work) = (n_refused, n_over_work);
    }

    /// The built-in events of the log's release.
    pub(super) fn events(&self) -> BuiltInEvents {
        self.events
    }

    /// Appends the texts of all definitions that apply to a record, with blanks between them. Returns false and appends
    /// nothing if none does.
    pub fn definitions(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) -> bool {
        let entries = self.catalog.records(Space::Record, record.class, record.event);
        if entries.is_empty() { false } else { self.each(entries, Space::Record, record, out) }
    }

    /// True if a definition names the record's event.
    #[inline]
    pub(super) fn is_named(&self, record: &KevRecord<'_>) -> bool {
        !self.catalog.records(Space::Record, record.class, record.event).is_empty()
    }

    /// Appends the fields of all definitions that apply, as [`Space::Fields`] has them.
    pub(super) fn fields(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let counted = (self.n_truncated, self.n_limited, self.n_over_work);
        let entries = self.catalog.records(Space::Fields, record.class, record.event);
        self.each(entries, Space::Fields, record, out);
        (self.n_truncated, self.n_limited, self.n_over_work) = counted;
    }

    /// Appends the arguments of a record as traceprinter's default layout has them, without the blanks around them.
    pub fn arguments(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        if !self.flat_arguments.print(record, out) {
            self.scratch.clear();
            self.arguments.print(record, &mut self.scratch);
            out.push(self.scratch.as_bytes().trim_ascii());
        }
    }

    /// Appends the arguments of a record as objects of an array of JSON.
    pub(super) fn argument_fields(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        if self.flat_fields.print(record, out) {
            return;
        }
        for (at, field) in Fields::new(self.events.arguments(record)).enumerate() {
            out.push(if at > 0 { b"," } else { b"" });
            field.push_object(&mut self.scratch, out);
        }
    }

    /// Appends the texts of some entries; false if none applies.
    fn each(&mut self, entries: &[RecordEntry], space: Space, record: &KevRecord<'_>, out: &mut TextBuf) -> bool {
        let mut any = false;
        for entry in entries {
            let before = out.len();
            if any && space == Space::Record {
                out.push(b" ");
            }
            let outcome = self.one_of(space, entry, record, out);
            if outcome.skipped {
                out.truncate(before);
            }
            any |= !outcome.skipped;
        }
        any
    }

    /// Appends the text of one program's definitions, without a field that a limit cut.
    #[inline]
    fn one_of(&mut self, space: Space, entry: &RecordEntry, record: &KevRecord<'_>, out: &mut TextBuf) -> Outcome {
        let start = out.len();
        let outcome = self.one(entry, record, out, &mut Unobserved);
        if space == Space::Fields && (outcome.limited || outcome.refused) {
            let whole = out.as_bytes()[start..].iter().rposition(|byte| *byte == Space::FIELD);
            out.truncate(start + whole.map_or(0, |last| last + 1));
        }
        outcome
    }

    /// Appends the text of one program's definitions; `observer` sees each instruction first.
    #[inline]
    pub fn one<O: Observer>(
        &mut self,
        entry: &RecordEntry,
        record: &KevRecord<'_>,
        out: &mut TextBuf,
        observer: &mut O,
    ) -> Outcome {
        let of_record = Some(RecordHeader { event: record.event, big_endian: self.big_endian });
        let event =
            Event { bytes: record.bytes, wide: record.wide, record: of_record, time_ns: 0, offset: record.offset };
        // A slot of 16 bytes has 8 of payload.
        self.meter.next(8 + record.bytes.len() as u64);
        let mut run = self.machine.start(self.catalog.record_program(entry), &mut self.timers);
        let start = LineStart { layout: Layout::default(), line: out.len() };
        let input = EventInput { event: &event, context: &Context::EMPTY };
        let outcome = self.meter.run(&mut run, entry.hook, input, start, out, observer);
        if self.meter.take_slow() {
            self.slow = Some((record.class, record.event));
        }
        if !outcome.skipped {
            // Removes the newline that the machine appends.
            out.truncate(out.len() - 1);
            self.n_truncated += u64::from(outcome.truncated);
            let is_over_work = outcome.limited && self.meter.limit().is_some();
            self.n_limited += u64::from(outcome.limited && !is_over_work);
            self.n_over_work += u64::from(is_over_work);
            self.n_refused += u64::from(outcome.refused);
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{FormatSet, LoadOptions};
    use crate::events::samples::payload;

    #[test]
    fn flattened_lists_print_as_one_argument_after_the_other() {
        let formats = FormatSet::load(&[], &LoadOptions::default()).unwrap();
        let catalog = formats.catalog().unwrap();
        let mut n_flat = [0; 2];
        for (release, big_endian) in [(6, false), (6, true), (7, false), (8, true)] {
            let release = Some((release, 0));
            let events = BuiltInEvents::of(release, big_endian);
            let mut printer = RecordPrinter::new(&catalog, big_endian, release, Limits::default());
            for id in 0..32_768 {
                let (class, event) = ((id >> 10) as u8, (id & 1023) as u16);
                if events.label(class, event).is_none() && id % 97 > 0 {
                    continue;
                }
                for (wide, n_words) in [(false, 2), (true, 2), (false, 2), (true, 4), (true, 6), (true, 18), (true, 40)]
                {
                    let bytes = payload(id * 31 + n_words as u32, n_words);
                    let (number, offset, cpu, stamp, msb) = (1, 0, 0, 0, None);
                    let bytes = &bytes[..];
                    let record = KevRecord { number, offset, class, event, cpu, wide, stamp, msb, bytes };
                    let [mut text, mut expected, mut fields, mut objects] = [(); 4].map(|()| TextBuf::new());
                    printer.arguments(&record, &mut text);
                    events.argument_printer(true).print(&record, &mut expected);
                    assert_eq!(text.as_bytes(), expected.as_bytes().trim_ascii(), "{record:?}");
                    printer.argument_fields(&record, &mut fields);
                    for (at, field) in Fields::new(events.arguments(&record)).enumerate() {
                        objects.push(if at > 0 { b"," } else { b"" });
                        field.push_object(&mut TextBuf::new(), &mut objects);
                    }
                    assert_eq!(fields.as_bytes(), objects.as_bytes(), "{record:?}");
                    let flat = [
                        printer.flat_arguments.print(&record, &mut text),
                        printer.flat_fields.print(&record, &mut fields),
                    ];
                    n_flat.iter_mut().zip(flat).for_each(|(n, flat)| *n += usize::from(flat));
                }
            }
        }
        assert!(n_flat.iter().all(|n| *n > 10_000), "{n_flat:?}");
    }
}
