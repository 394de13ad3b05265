//! Text of one record, by the definitions that name its event or by the built-in tables.

use super::defined::{DefinedEvents, DefinedFields, DefinedTexts, FieldText, PreparedText};
use super::fields::{RecordFields, find_named, named, push_members};
use super::writer::FormatCounts;
use crate::catalog::{Catalog, RecordEntry};
use crate::events::{ArgumentPrinter, BuiltInEvents, EventColumns, FlatArguments, ListIndex, fields_key};
use crate::fields::{self, write_members};
use crate::fields::{Field, FieldValue};
use crate::general_path;
use crate::output_format::Form;
use crate::reader::kev::{KevRecord, QnxRelease};
use crate::work::{MaxWork, Meter};
use std::collections::HashMap;
use tfbc_vm::{
    Cells, Context, Event, EventInput, Layout, Limits, LineStart, Machine, Observer, Outcome, RecordHeader, Row, Space,
    TextBuf, Timers, Unobserved,
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
    /// Routines of definitions.
    texts: DefinedTexts<'r>,
    /// Fields of definitions.
    defined: DefinedEvents<'r>,
    /// Format in which texts may need escapes.
    form: Form,
    /// True if the machine's row has the fields of the current record.
    has_row: bool,
    /// Texts of the current record's fields in the output, if there is a row.
    field_texts: Vec<FieldText>,
    /// Limit on the text of a record in bytes.
    max_text: usize,
    /// Columns of built-in events, by class and event.
    columns: HashMap<u16, EventColumns>,
    /// Buffer of a record's arguments.
    arguments_row: Row,
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
    /// Definitions that had too few steps left, because earlier ones had used the steps of the whole report.
    pub(super) n_over_work: u64,
}

impl<'r> RecordPrinter<'r> {
    /// Printer for a log of a byte order and release, if the log names one.
    pub fn new(catalog: &'r Catalog<'r>, big_endian: bool, release: Option<QnxRelease>, limits: Limits) -> Self {
        let events = BuiltInEvents::of(release, big_endian);
        RecordPrinter {
            catalog,
            events,
            arguments: events.argument_printer(true),
            flat_arguments: FlatArguments::of_text(events),
            flat_fields: FlatArguments::of_json(events),
            scratch: TextBuf::new(),
            texts: DefinedTexts::default(),
            defined: DefinedEvents::default(),
            form: Form::Text,
            has_row: false,
            field_texts: Vec::new(),
            max_text: limits.text as usize,
            columns: HashMap::new(),
            arguments_row: Row::default(),
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

    /// Sets the format for [`DefinedText::Plain`].
    #[must_use]
    pub(super) fn with_form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// Meter of the steps that definitions take.
    pub(crate) fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }

    /// Event whose definitions took most of the recent steps.
    pub(crate) fn slow(&mut self) -> &mut Option<(u8, u16)> {
        &mut self.slow
    }

    /// Counts so far, for [`RecordPrinter::set_tallied`].
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
        self.defined_text(record, out) != DefinedText::None
    }

    /// Like [`RecordPrinter::definitions`]; also says if the text may need escapes.
    #[inline]
    pub(super) fn defined_text(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) -> DefinedText {
        match self.catalog.records(Space::Record, record.class, record.event) {
            [] => DefinedText::None,
            [entry] if !general_path::is_in_order() => self.only(entry, record, out),
            entries if self.each(entries, record, out) => DefinedText::Any,
            _ => DefinedText::None,
        }
    }

    /// True if a definition names the record's event.
    #[inline]
    pub fn is_named(&self, record: &KevRecord<'_>) -> bool {
        !self.catalog.records(Space::Record, record.class, record.event).is_empty()
    }

    /// Appends the text of the definitions as in a JSON string, without its quotation marks. The text is made from the
    /// row of their fields, which [`RecordPrinter::fields`] reuses. Returns false if no definition applies. Returns
    /// `None` and appends nothing if [`RecordPrinter::definitions`] must print the text.
    pub(super) fn text_by_row(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) -> Option<bool> {
        if self.catalog.records(Space::Record, record.class, record.event).len() != 1 || general_path::is_required() {
            return None;
        }
        let event = self::event(record, self.big_endian);
        let [fields] = self.defined.of(self.catalog, record.class, record.event) else { return None };
        let prepared = fields.entry(event.env_index())?;
        self.meter.next(8 + record.bytes.len() as u64);
        self.scratch.clear();
        let mut run = self.machine.start(prepared.program(), &mut self.timers);
        let outcome = self.meter.run_fields(&mut run, prepared, &event, &mut self.scratch)?;
        if self.meter.take_slow() {
            self.slow = Some((record.class, record.event));
        }
        if outcome.skipped || outcome.limited {
            return outcome.skipped.then_some(false);
        }
        let start = out.len();
        self.field_texts.clear();
        fields.push_text(self.machine.row().cells(), &mut self.field_texts, out);
        if out.len() - start > self.max_text {
            out.truncate(start);
            return None;
        }
        self.n_truncated += u64::from(outcome.truncated);
        self.has_row = true;
        Some(true)
    }

    /// Calls `take` with a row per program whose definitions apply. Without cells, all fields are missing.
    pub(super) fn fields(
        &mut self,
        record: &KevRecord<'_>,
        mut take: impl FnMut(&DefinedFields<'r>, Option<Cells<'_>>),
    ) {
        let Self { catalog, machine, timers, meter, scratch, defined, .. } = self;
        let all = defined.of(catalog, record.class, record.event);
        if std::mem::take(&mut self.has_row) {
            return all.iter().for_each(|fields| take(fields, Some(machine.row().cells())));
        }
        let event = self::event(record, self.big_endian);
        for fields in all {
            let Some(prepared) = fields.entry(event.env_index()) else { continue };
            meter.next(8 + record.bytes.len() as u64);
            let mut run = machine.start(prepared.program(), timers);
            scratch.clear();
            match meter.run_fields(&mut run, prepared, &event, scratch) {
                Some(outcome) if outcome.skipped => {}
                Some(_) => take(fields, Some(run.row().cells())),
                None => take(fields, None),
            }
        }
    }

    /// Appends the fields of the definitions that apply, as objects of an empty array.
    pub(super) fn objects(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        if std::mem::take(&mut self.has_row) {
            let cells = self.machine.row().cells();
            for fields in &*self.defined.of(self.catalog, record.class, record.event) {
                fields.push_objects_of(cells, &self.field_texts, out);
            }
            return;
        }
        let mut is_first = true;
        self.fields(record, |fields, cells| {
            if let Some(cells) = cells {
                fields.push_objects(cells, &mut is_first, out);
            }
        });
    }

    /// Appends the arguments of a record as in traceprinter's default layout, without surrounding blanks.
    pub fn arguments(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let list = self.flat_arguments.find(record);
        if !list.is_some_and(|list| self.flat_arguments.print_text(list, record, out)) {
            self.scratch.clear();
            self.arguments.print(record, &mut self.scratch);
            out.push(self.scratch.as_bytes().trim_ascii());
        }
    }

    /// Appends members of a JSON object: the fields of the definitions that apply if `defined`, otherwise the
    /// arguments.
    pub fn members(&mut self, record: &KevRecord<'_>, defined: bool, out: &mut TextBuf) {
        if defined {
            let mut is_first = true;
            self.fields(record, |fields, cells| {
                if let Some(cells) = cells {
                    write_members(&fields.schema.fields, cells, &mut is_first, out);
                }
            });
        } else {
            let arguments = self.events.arguments(record);
            push_members(self.columns(record), arguments, out);
        }
    }

    /// Appends an object of JSON with the fields of the definitions that apply, or the arguments.
    pub(super) fn object(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let end = out.len();
        let defined = self.definitions(record, out);
        out.truncate(end);
        out.push(b"{");
        self.members(record, defined, out);
        out.push(b"}");
    }

    /// Value of the argument with the name of a column, if no definition names the record's event.
    pub fn argument(&mut self, record: &KevRecord<'_>, name: &str) -> Option<FieldValue> {
        let arguments = self.events.arguments(record);
        find_named(self.columns(record), arguments, name)
    }

    /// Fields of the definitions that apply, or the arguments.
    pub fn list_fields(&mut self, record: &KevRecord<'_>) -> Vec<Field> {
        let mut text = TextBuf::new();
        if self.definitions(record, &mut text) {
            let mut found = Vec::new();
            self.fields(record, |fields, cells| found.extend(fields::fields(&fields.schema.fields, cells)));
            return found;
        }
        let arguments = self.events.arguments(record);
        named(self.columns(record), arguments)
    }

    /// Appends the encoded row of the definitions that name the record's event, or of its arguments.
    ///
    /// If several programs have definitions, each has a row after its length, which is 0 if no definition of it
    /// applies.
    pub(super) fn cells(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        if !self.is_named(record) {
            let arguments = self.events.arguments(record);
            let mut row = std::mem::take(&mut self.arguments_row);
            // A record is far smaller than the limit of a row.
            if self.columns(record).fill(arguments, &mut row).is_ok() {
                row.encode(|bytes| out.push(bytes));
            }
            self.arguments_row = row;
            return;
        }
        let Self { catalog, machine, timers, meter, scratch, defined, big_endian, .. } = self;
        let event = self::event(record, *big_endian);
        let all = defined.of(catalog, record.class, record.event);
        let has_lengths = all.len() > 1;
        for fields in all {
            scratch.clear();
            if let Some(prepared) = fields.entry(event.env_index()) {
                meter.next(8 + record.bytes.len() as u64);
                let mut run = machine.start(prepared.program(), timers);
                let outcome = meter.run_fields(&mut run, prepared, &event, scratch);
                scratch.clear();
                if outcome.is_some_and(|outcome| !outcome.skipped) {
                    run.row().encode(|bytes| scratch.push(bytes));
                }
            }
            if has_lengths {
                out.push(&(scratch.len() as u32).to_le_bytes());
            }
            out.push(scratch.as_bytes());
        }
    }

    /// Columns of a record's event.
    fn columns(&mut self, record: &KevRecord<'_>) -> &EventColumns {
        let id = Space::record_id(record.meant_class(), record.event);
        let events = &self.events;
        self.columns.entry(id).or_insert_with(|| EventColumns::of(events, record.meant_class(), record.event))
    }

    /// Flattened list of a record's arguments for JSON; `None` if it is not flattened.
    #[inline]
    pub(super) fn find_list(&mut self, record: &KevRecord<'_>) -> Option<ListIndex> {
        self.flat_fields.find(record)
    }

    /// Appends the text of [`RecordPrinter::arguments`] as a JSON string. Returns false and appends nothing if the text
    /// needs more than the list.
    #[inline]
    pub(super) fn json_text(&self, list: ListIndex, record: &KevRecord<'_>, out: &mut TextBuf) -> bool {
        self.flat_fields.print_text(list, record, out)
    }

    /// Appends the arguments of a record as the last members of a JSON line. `list` is that of
    /// [`RecordPrinter::find_list`], if it is known.
    pub(super) fn argument_fields(&mut self, list: Option<ListIndex>, record: &KevRecord<'_>, out: &mut TextBuf) {
        let list = list.or_else(|| self.flat_fields.find(record));
        if list.is_some_and(|list| self.flat_fields.print_objects(list, record, out)) {
            return;
        }
        out.push(fields_key(record.wide));
        for (at, field) in RecordFields::new(self.events.arguments(record)).enumerate() {
            out.push(if at > 0 { b"," } else { b"" });
            field.push_object(&mut self.scratch, out);
        }
        out.push(b"]");
    }

    /// Appends the text of the only program that has definitions of an event.
    fn only(&mut self, entry: &RecordEntry, record: &KevRecord<'_>, out: &mut TextBuf) -> DefinedText {
        let event = self::event(record, self.big_endian);
        let id = (record.class, record.event, event.env_index());
        let Some(PreparedText { entry, is_plain }) = self.texts.of(self.catalog, entry, id, self.form) else {
            let is_shown = self.each(std::slice::from_ref(entry), record, out);
            return if is_shown { DefinedText::Any } else { DefinedText::None };
        };
        self.meter.next(8 + record.bytes.len() as u64);
        let mut run = self.machine.start(entry.program(), &mut self.timers);
        let (line, input) = (out.len(), EventInput { event: &event, context: &Context::EMPTY });
        let start = LineStart { layout: Layout::default(), line };
        let outcome = self.meter.run_prepared(&mut run, entry, &input, start, out);
        let is_plain = *is_plain && outcome.is_none();
        if let Some(outcome) = outcome {
            self.note(record, outcome);
            if outcome.skipped {
                out.truncate(line);
                return DefinedText::None;
            }
        }
        // Removes the newline that the machine appends.
        out.truncate(out.len() - 1);
        if is_plain { DefinedText::Plain } else { DefinedText::Any }
    }

    /// Appends the texts of some entries; false if none applies.
    fn each(&mut self, entries: &[RecordEntry], record: &KevRecord<'_>, out: &mut TextBuf) -> bool {
        let mut any = false;
        for entry in entries {
            let before = out.len();
            if any {
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

    /// Appends the text of one program's definitions. `observer` is called before each instruction.
    #[inline]
    pub fn one<O: Observer>(
        &mut self,
        entry: &RecordEntry,
        record: &KevRecord<'_>,
        out: &mut TextBuf,
        observer: &mut O,
    ) -> Outcome {
        let event = self::event(record, self.big_endian);
        // A slot of 16 bytes has 8 of payload.
        self.meter.next(8 + record.bytes.len() as u64);
        let mut run = self.machine.start(self.catalog.record_program(entry), &mut self.timers);
        let start = LineStart { layout: Layout::default(), line: out.len() };
        let input = EventInput { event: &event, context: &Context::EMPTY };
        let outcome = self.meter.run(&mut run, entry.hook, input, start, out, observer);
        self.note(record, outcome);
        if !outcome.skipped {
            // Removes the newline that the machine appends.
            out.truncate(out.len() - 1);
        }
        outcome
    }

    /// Counts the outcome of a record's definitions.
    #[inline(never)]
    fn note(&mut self, record: &KevRecord<'_>, outcome: Outcome) {
        if self.meter.take_slow() {
            self.slow = Some((record.class, record.event));
        }
        if !outcome.skipped {
            self.n_truncated += u64::from(outcome.truncated);
            let is_over_work = outcome.limited && self.meter.limit().is_some();
            self.n_limited += u64::from(outcome.limited && !is_over_work);
            self.n_over_work += u64::from(is_over_work);
            self.n_refused += u64::from(outcome.refused);
        }
    }
}

/// Result of printing a record by its definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DefinedText {
    /// No definition applies.
    None,
    /// The text may need escapes.
    Any,
    /// The text needs no escapes in the report's format.
    Plain,
}

/// Record as definitions see it.
fn event<'b>(record: &KevRecord<'b>, big_endian: bool) -> Event<'b> {
    let header = Some(RecordHeader { event: record.event, big_endian });
    Event { bytes: record.bytes, wide: record.wide, record: header, time_ns: 0, offset: record.offset }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::samples::payload;
    use crate::format_files::{FormatSet, LoadOptions};
    use crate::json;

    #[test]
    fn flattened_lists_print_as_one_argument_after_the_other() {
        let formats = FormatSet::load(&[], &LoadOptions::default()).unwrap();
        let catalog = formats.catalog().unwrap();
        let mut n_flat = [0; 3];
        for (release, big_endian) in [(6, false), (6, true), (7, false), (8, true)] {
            let release = Some(QnxRelease { major: release, minor: 0 });
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
                    let [mut string, mut escaped] = [(); 2].map(|()| TextBuf::new());
                    printer.arguments(&record, &mut text);
                    events.argument_printer(true).print(&record, &mut expected);
                    assert_eq!(text.as_bytes(), expected.as_bytes().trim_ascii(), "{record:?}");
                    let list = printer.find_list(&record);
                    if list.is_some_and(|list| printer.json_text(list, &record, &mut string)) {
                        json::string(text.as_bytes(), &mut escaped);
                        n_flat[2] += 1;
                    }
                    assert_eq!(string.as_bytes(), escaped.as_bytes(), "{record:?}");
                    printer.argument_fields(list, &record, &mut fields);
                    objects.push(if wide { b",\"wide\":true" } else { b"" });
                    objects.push(b",\"fields\":[");
                    for (at, field) in RecordFields::new(events.arguments(&record)).enumerate() {
                        objects.push(if at > 0 { b"," } else { b"" });
                        field.push_object(&mut TextBuf::new(), &mut objects);
                    }
                    objects.push(b"]");
                    assert_eq!(fields.as_bytes(), objects.as_bytes(), "{record:?}");
                    let text_list = printer.flat_arguments.find(&record);
                    let flat = [
                        text_list.is_some_and(|list| printer.flat_arguments.print_text(list, &record, &mut text)),
                        list.is_some_and(|list| printer.flat_fields.print_objects(list, &record, &mut fields)),
                    ];
                    n_flat.iter_mut().zip(flat).for_each(|(n, flat)| *n += usize::from(flat));
                }
            }
        }
        assert!(n_flat.iter().all(|n| *n > 10_000), "{n_flat:?}");
    }
}
