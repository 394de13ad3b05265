//! Writer of a log's report: a line per record, or counts.

use super::cells::{CellSource, EventTexts, LineCell, LineCells, Times, append_argument, cpu_texts, put_number};
use super::options::{FieldLayout, QnxReportOptions};
use super::owners::Owner;
use super::print::{DefinedText, RecordPrinter};
use super::writer::{FormatCounts, RecordWriter};
use crate::catalog::Catalog;
use crate::columns::Column;
use crate::conditions::RecordConditions;
use crate::events::{ListIndex, fields_key};
use crate::general_path;
use crate::literal::{self, store};
use crate::output_format::Form;
use crate::reader::kev::{KevHeader, KevRecord, TraceStart};
use crate::work::Meter;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tfbc_vm::{TextBuf, num};

/// Writes the lines of one log's report.
pub(super) struct RowWriter<'r> {
    catalog: &'r Catalog<'r>,
    options: &'r QnxReportOptions,
    /// Byte order, release and clock.
    header: KevHeader,
    cells: LineCells,
    source: CellSource,
    /// True if times are shown or filtered.
    is_timed: bool,
    /// Point at which the data of a record is formatted.
    data_use: DataUse,
    conditions: Option<RecordConditions<'r>>,
    /// True if every record is shown.
    shows_all: bool,
    /// True if lines have the fields of the data after the data.
    has_fields: bool,
    printer: RecordPrinter<'r>,
    cpus: [[u8; 4]; 256],
    event_texts: EventTexts,
    owners: OwnerTexts,
    /// Buffer for data formatted before the line. `None` while in use, because an empty replacement would cost an
    /// allocation.
    data: Option<TextBuf>,
    n_reported: u64,
    counts: Arc<EventCounts>,
    /// Events counted in the current batch.
    counted: Vec<(u8, u16)>,
}

/// Point at which the data of a record is formatted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DataUse {
    /// In its cell.
    InPlace,
    /// Before the line, because a pattern or another column depends on it.
    First,
    /// Before the line, only to count problems of definitions; no column shows the text.
    Unseen,
    /// Not at all: records are counted.
    Never,
}

/// Texts of a batch's owners, each rendered once.
#[derive(Default)]
struct OwnerTexts {
    /// Per owner: true if the filter admits it, and the index of its first text in `ends`.
    known: Vec<Option<(bool, u32)>>,
    /// Ends of the texts; a text starts at the end of the previous one.
    ends: Vec<u32>,
    texts: TextBuf,
    /// Owner of the next record: true if the filter admits it, and the index of its first text.
    current: (bool, u32),
}

/// Number of reported records per event, shared by all workers.
pub(super) struct EventCounts(Vec<AtomicU64>);

impl EventCounts {
    const N_EVENTS: usize = 1024;

    fn new(wanted: bool) -> Self {
        let n = if wanted { 32 * Self::N_EVENTS } else { 0 };
        Self((0..n).map(|_| AtomicU64::new(0)).collect())
    }

    fn add(&self, class: u8, event: u16) {
        if let Some(count) = self.0.get(usize::from(class) * Self::N_EVENTS + usize::from(event)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn take_back(&self, class: u8, event: u16) {
        if let Some(count) = self.0.get(usize::from(class) * Self::N_EVENTS + usize::from(event)) {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Class, event and count of every reported event, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u8, u16, u64)> {
        let counts = self.0.iter().enumerate().map(|(at, n)| (at, n.load(Ordering::Relaxed)));
        counts.filter(|(_, n)| *n > 0).map(|(at, n)| ((at / Self::N_EVENTS) as u8, (at % Self::N_EVENTS) as u16, n))
    }
}

impl Clone for RowWriter<'_> {
    fn clone(&self) -> Self {
        let times = self.source.times.clone();
        let mut clone = RowWriter::new(self.catalog, self.options, &self.header, times.start.clone());
        // The stored header has no system page, so the boot time is copied.
        clone.source.times = times;
        clone.counts = self.counts();
        clone
    }
}

impl DataUse {
    fn of(options: &QnxReportOptions, catalog: &Catalog<'_>) -> Self {
        let columns = options.columns.list();
        let is_argument = |column: &Column| matches!(column, Column::Argument(_));
        let is_data = |column: &Column| *column == Column::Data;
        // Counting needs no text unless a filter depends on it. Otherwise no template runs at all.
        if options.stats && options.grep.is_none() && !options.defined {
            DataUse::Never
        } else if options.grep.is_some() || options.stats {
            DataUse::First
        } else if !columns.iter().any(is_data) {
            // Only definitions cause errors that are counted; the built-in arguments do not.
            if options.defined || catalog.has_records() || columns.iter().any(is_argument) {
                DataUse::Unseen
            } else {
                DataUse::InPlace
            }
        } else if columns.iter().any(is_argument) {
            DataUse::First
        } else {
            DataUse::InPlace
        }
    }
}

impl<'r> RowWriter<'r> {
    pub fn new(catalog: &'r Catalog<'r>, options: &'r QnxReportOptions, header: &KevHeader, start: TraceStart) -> Self {
        let columns = options.columns.clone().with_time_form(options.time);
        let cells = LineCells::new(&columns, options.form, options.colour);
        let printer = RecordPrinter::new(catalog, header.big_endian, header.release, options.limits)
            .with_max_work(options.max_work)
            .with_form(options.form);
        let data_use = DataUse::of(options, catalog);
        RowWriter {
            catalog,
            options,
            header: KevHeader { attributes: Vec::new(), syspage: None, ..*header },
            is_timed: !options.stats && columns.has(Column::Time.name()) || options.filter.is_timed(),
            data_use,
            conditions: (options.conditions.as_ref())
                .map(|expression| RecordConditions::new(expression, catalog, header, options.limits)),
            shows_all: options.filter.shows_all() && options.conditions.is_none(),
            has_fields: options.form == Form::Ndjson && options.columns.list().contains(&Column::Data),
            source: CellSource {
                events: printer.events(),
                columns,
                form: options.form,
                times: Times::new(options.time, header, start),
            },
            cells,
            printer,
            cpus: cpu_texts(),
            event_texts: EventTexts::new(),
            owners: OwnerTexts { current: (true, 0), ..OwnerTexts::default() },
            data: None,
            n_reported: 0,
            counts: Arc::new(EventCounts::new(options.stats)),
            counted: Vec::new(),
        }
    }

    /// Counts, which replace the report.
    pub fn counts(&self) -> Arc<EventCounts> {
        Arc::clone(&self.counts)
    }

    /// Appends the heading, if the output format has one.
    pub fn heading(&self, out: &mut TextBuf) {
        let columns = &self.source.columns;
        if self.options.no_heading {
            return;
        }
        match self.options.form {
            Form::Ndjson => {}
            Form::Text if columns.is_bare() => {}
            Form::Text => {
                out.push(self.options.colour.dim());
                columns.write_heading(out);
                out.truncate(out.len() - 1);
                out.push(self.options.colour.plain());
                out.push(b"\n");
            }
            form @ (Form::Tsv | Form::Csv) => columns.write_names(form, out),
        }
    }

    /// Appends the line of a record. `defined` is true if definitions produced `data`, and `None` if the data is
    /// formatted in its cell; then the result is false if the record has no line.
    fn line(
        &mut self,
        record: &KevRecord<'_>,
        time_ns: Option<u64>,
        mut defined: Option<bool>,
        data: &[u8],
        out: &mut TextBuf,
    ) -> bool {
        let mut next = 0;
        let mut list = None;
        loop {
            // Short cells are written to one buffer, which is appended once.
            let room = out.spare();
            let mut at = 0;
            let cell = loop {
                at = literal::start(at);
                let Some(cell) = self.cells.list.get(next) else {
                    out.advance(at);
                    return true;
                };
                next += 1;
                match cell {
                    LineCell::Literal(literal) => at = literal.put(room, at),
                    // `black_box` keeps the digits here. The compiler would compute those of all forms before the loop.
                    LineCell::Number => at = put_number(room, at, black_box(record.number)),
                    LineCell::BareNumber => at = num::dec(room, at, black_box(record.number)),
                    LineCell::Cpu => {
                        store(room, at, self.cpus[usize::from(record.cpu)]);
                        at += 3;
                    }
                    LineCell::BareCpu => at = num::dec(room, at, record.cpu.into()),
                    LineCell::Time | LineCell::BareTime | LineCell::JsonTime => {
                        match self.source.times.put(*cell, time_ns, room, at) {
                            Some(end) => at = end,
                            None => break *cell,
                        }
                    }
                    LineCell::Event(n) => match self.event_texts.find(*n, record) {
                        Some(text) if !general_path::is_required() => at = text.put(room, at),
                        _ => break *cell,
                    },
                    cell => break *cell,
                }
            };
            out.advance(at);
            let source = &mut self.source;
            match cell {
                LineCell::Event(n) => self.event_texts.append(n, &self.cells, source, record, out),
                LineCell::Owner(n) => self.owners.append(n, &self.cells, out),
                LineCell::Time => source.times.append(time_ns, out),
                LineCell::BareTime => source.times.append_bare(time_ns, out),
                LineCell::JsonTime => source.times.append_json(time_ns, out),
                // Columns without a value are left out of JSON, so only the text before shows whether a comma is due.
                LineCell::Comma => out.push(if out.as_bytes().ends_with(b"{") { b"" } else { b"," }),
                LineCell::Argument { column, last } => {
                    append_argument(column, last, source, defined == Some(true), record, out);
                }
                LineCell::Data => match self.data(record, defined, data, out) {
                    Some((is_defined, known)) => (defined, list) = (Some(is_defined), known),
                    None => return false,
                },
                LineCell::Fields => self.fields(record, defined == Some(true), list, out),
                LineCell::Flush
                | LineCell::Literal(_)
                | LineCell::Number
                | LineCell::BareNumber
                | LineCell::Cpu
                | LineCell::BareCpu => {}
            }
        }
    }

    /// Appends the data of a record. Returns true if definitions produced it, and the flattened list of its arguments,
    /// if it is known. `None` if the record has no line, which is known only now; the caller removes its earlier cells.
    // Not inlined, because the compiler would compute parts of it before the cells, where they cost as much as a cell.
    #[inline(never)]
    fn data(
        &mut self,
        record: &KevRecord<'_>,
        defined: Option<bool>,
        data: &[u8],
        out: &mut TextBuf,
    ) -> Option<(bool, Option<ListIndex>)> {
        let Self { printer, source: CellSource { form, .. }, has_fields, options, .. } = self;
        // Only JSON lines use these.
        let may_be_defined = *has_fields && defined.is_none() && printer.is_named(record);
        let list = if *has_fields && !may_be_defined { printer.find_list(record) } else { None };
        if defined.is_none() && list.is_some_and(|list| printer.json_text(list, record, out)) {
            return Some((false, list));
        }
        let start = form.begin_value(out);
        let is_defined = if let Some(is_defined) = defined {
            out.push(data);
            is_defined
        } else if may_be_defined && printer.text_by_row(record, out) == Some(true) {
            out.push(b"\"");
            return Some((true, None));
        } else {
            match printer.defined_text(record, out) {
                DefinedText::Plain => {
                    form.end_plain(out);
                    return Some((true, list));
                }
                DefinedText::Any => true,
                DefinedText::None if options.defined => return None,
                DefinedText::None => {
                    printer.arguments(record, out);
                    false
                }
            }
        };
        form.end_value(start, out);
        Some((is_defined, list))
    }

    /// Appends the fields of the definitions that apply, or the arguments.
    #[inline(never)]
    fn fields(&mut self, record: &KevRecord<'_>, defined: bool, list: Option<ListIndex>, out: &mut TextBuf) {
        if self.options.fields == FieldLayout::Object {
            out.push(if record.wide { b",\"wide\":true,\"fields\":{" } else { b",\"fields\":{" });
            self.printer.members(record, defined, out);
            return out.push(b"}");
        }
        if !defined {
            return self.printer.argument_fields(list, record, out);
        }
        out.push(fields_key(record.wide));
        self.printer.objects(record, out);
        out.push(b"]");
    }

    /// Formats the data of a record before its line. Returns `None` if the record has no line, otherwise true if
    /// definitions produced the data.
    fn first(&mut self, record: &KevRecord<'_>, data: &mut TextBuf) -> Option<bool> {
        let defined = self.printer.definitions(record, data);
        if !defined && self.options.defined {
            return None;
        }
        if !defined && self.data_use == DataUse::First {
            self.printer.arguments(record, data);
        }
        let is_wanted = self.options.grep.as_ref().is_none_or(|wanted| wanted.is_match(data.as_bytes()));
        is_wanted.then_some(defined)
    }

    /// True if filter and conditions select a record.
    #[inline(never)]
    fn shows(&mut self, record: &KevRecord<'_>, time_ns: Option<u64>) -> bool {
        let filter = &self.options.filter;
        let shown_ns = time_ns.filter(|_| filter.is_timed()).map(|ns| self.source.times.shown_ns(ns));
        filter.shows(record.class, record.event, record.cpu, shown_ns)
            && self.owners.current.0
            && self.conditions.as_mut().is_none_or(|conditions| conditions.select(record))
    }

    /// Counts a record instead of writing its line.
    fn count(&mut self, record: &KevRecord<'_>) {
        self.counts.add(record.class, record.event);
        self.counted.push((record.class, record.event));
    }
}

impl OwnerTexts {
    /// Begins a batch, which has its own list of owners.
    fn begin(&mut self) {
        self.known.clear();
        self.ends.clear();
        self.texts.clear();
    }

    #[inline(always)]
    fn set(&mut self, id: u32, owner: &Owner, cells: &LineCells, options: &QnxReportOptions) {
        self.current = match self.known.get(id as usize) {
            Some(Some(known)) => *known,
            _ => self.render(id, owner, cells, options),
        };
    }

    #[inline(never)]
    fn render(&mut self, id: u32, owner: &Owner, cells: &LineCells, options: &QnxReportOptions) -> (bool, u32) {
        self.ends.push(self.texts.len() as u32);
        let known = (options.filter.admits(owner), self.ends.len() as u32 - 1);
        for segment in &cells.segments {
            segment.append_owner(options.form, owner, &mut self.texts);
            self.ends.push(self.texts.len() as u32);
        }
        if id as usize >= self.known.len() {
            self.known.resize(id as usize + 1, None);
        }
        self.known[id as usize] = Some(known);
        known
    }

    /// Appends the text of one segment.
    #[inline]
    fn append(&self, n: u8, cells: &LineCells, out: &mut TextBuf) {
        debug_assert!(usize::from(n) < cells.segments.len());
        let first = self.current.1 as usize + usize::from(n);
        if let Some(&[start, end]) = self.ends.get(first..first + 2)
            && let Some(text) = self.texts.as_bytes().get(start as usize..end as usize)
        {
            out.push(text);
        }
    }
}

impl RecordWriter for RowWriter<'_> {
    fn record(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let class = record.meant_class();
        if self.data_use == DataUse::Never && self.shows_all {
            self.n_reported += 1;
            return self.counts.add(class, record.event);
        }
        let time_ns = if self.is_timed { self.source.times.ns(record) } else { None };
        let record = &KevRecord { class, ..*record };
        if !self.shows_all && !self.shows(record, time_ns) {
            return;
        }
        if self.options.defined && !self.printer.is_named(record) {
            return;
        }
        match self.data_use {
            DataUse::Never => {
                self.n_reported += 1;
                self.counts.add(class, record.event);
            }
            DataUse::InPlace => {
                let line = out.len();
                if self.line(record, time_ns, None, b"", out) {
                    self.n_reported += 1;
                } else {
                    out.truncate(line);
                }
            }
            DataUse::First | DataUse::Unseen => {
                let mut data = self.data.take().unwrap_or_default();
                data.clear();
                if let Some(defined) = self.first(record, &mut data) {
                    self.n_reported += 1;
                    if self.options.stats {
                        self.count(record);
                    } else {
                        self.line(record, time_ns, Some(defined), data.as_bytes(), out);
                    }
                }
                self.data = Some(data);
            }
        }
    }

    fn needs_owners(&self) -> bool {
        let QnxReportOptions { columns, filter, follow_owners, conditions, .. } = self.options;
        *follow_owners || conditions.is_some() || columns.need_context() || filter.depends_on_owners()
    }

    fn set_owner(&mut self, id: u32, owner: &Owner) {
        if let Some(conditions) = &mut self.conditions {
            conditions.owner.clone_from(owner);
        }
        self.owners.set(id, owner, &self.cells, self.options);
    }

    fn begin_batch(&mut self) {
        self.counted.clear();
        self.owners.begin();
    }

    fn tallied(&self) -> FormatCounts {
        FormatCounts { n_reported: self.n_reported, ..self.printer.tallied() }
    }

    fn take_back(&mut self, tallied: FormatCounts) {
        self.n_reported = tallied.n_reported;
        self.printer.set_tallied(tallied);
        // A batch that is formatted again, because of the work limit, must not count twice.
        self.counted.drain(..).for_each(|(class, event)| self.counts.take_back(class, event));
    }

    fn meter(&mut self) -> Option<&mut Meter> {
        // Records that are only counted take no steps.
        (self.data_use != DataUse::Never).then(|| self.printer.meter())
    }

    fn slow(&mut self) -> Option<&mut Option<(u8, u16)>> {
        Some(self.printer.slow())
    }
}

#[cfg(test)]
mod tests {
    use super::super::clock::{Clock, TimeForm, date_and_time};
    use super::*;
    use crate::columns::{Columns, Side};
    use crate::events::{BuiltInEvents, class_name};
    use crate::format_files::{FormatSet, LoadOptions};
    use crate::json;
    use crate::pattern::Pattern;
    use crate::qnx_report::fields::{RecordField, RecordFields, push_escaped};
    use crate::reader::kev::QnxRelease;
    use crate::terminal::ReportColour;

    #[test]
    fn classes_and_labels_are_the_same_in_every_form() {
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() && !b",\"\\".contains(&byte));
        for class in 0..32 {
            assert!(class_name(class).is_none_or(plain));
            for release in [None, Some(QnxRelease { major: 7, minor: 1 }), Some(QnxRelease { major: 8, minor: 0 })] {
                assert!(BuiltInEvents::of(release, false).labels(class).into_iter().all(plain));
            }
        }
    }

    fn text(write: impl FnOnce(&mut TextBuf)) -> Vec<u8> {
        let mut out = TextBuf::new();
        write(&mut out);
        out.as_bytes().to_vec()
    }

    /// A log and the options of its report.
    struct ReportSetup<'s> {
        options: &'s QnxReportOptions,
        header: KevHeader,
        events: BuiltInEvents,
        owner: Owner,
    }

    impl ReportSetup<'_> {
        fn data(&self, record: &KevRecord<'_>) -> Vec<u8> {
            let printer = self.events.argument_printer(true);
            text(|out| printer.print(record, out)).trim_ascii().to_vec()
        }

        /// Value as the report shows it; `None` for a field that the record does not have.
        fn value(&self, column: Column, record: &KevRecord<'_>) -> Option<Vec<u8>> {
            let ns = Clock::new(&self.header).zip(record.cycles()).map(|(clock, cycles)| i128::from(clock.ns(cycles)));
            let seconds = |ns: i128| {
                let (sign, ns) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
                format!("{sign}{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
            };
            let Owner { pid, tid, process, thread } = &self.owner;
            let number = |number: &Option<i32>| number.map_or("-".into(), |number| number.to_string().into_bytes());
            let name =
                |name: &Option<Arc<[u8]>>| name.as_ref().map_or("-".into(), |name| text(|out| push_escaped(name, out)));
            Some(match column {
                Column::Number => record.number.to_string().into(),
                Column::Time => match (ns, self.options.time, self.options.form) {
                    (None, _, Form::Ndjson) => "null".into(),
                    (None, ..) => "-".into(),
                    (Some(ns), TimeForm::Clock, Form::Ndjson) => {
                        (ns + self.header.boot_ns().unwrap_or_default()).to_string().into()
                    }
                    (Some(ns), _, Form::Ndjson) => ns.to_string().into(),
                    (Some(ns), TimeForm::Clock, _) => {
                        date_and_time(ns + self.header.boot_ns().unwrap_or_default()).into()
                    }
                    (Some(ns), ..) => seconds(ns).into(),
                },
                Column::RecordCpu => record.cpu.to_string().into(),
                Column::Class => class_name(record.class).map_or(record.class.to_string(), str::to_owned).into(),
                Column::EventId => record.event.to_string().into(),
                Column::EventType => text(|out| self.events.type_text(record, out)),
                Column::Data => self.data(record),
                Column::OwnerPid => number(pid),
                Column::OwnerTid => number(tid),
                Column::OwnerProcess => name(process),
                Column::OwnerThread => name(thread),
                Column::Argument(_) => {
                    let name = self.options.columns.argument(column);
                    let field = RecordFields::new(self.events.arguments(record)).find(name);
                    let is_json = self.options.form == Form::Ndjson;
                    let push = |field: RecordField<'_>| {
                        text(|out| if is_json { field.push_raw(out) } else { field.push_text(out) })
                    };
                    return field.map(push);
                }
                _ => return None,
            })
        }

        fn line(&self, record: &KevRecord<'_>) -> Vec<u8> {
            let QnxReportOptions { columns, form, grep, colour, .. } = self.options;
            if grep.as_ref().is_some_and(|grep| !grep.is_match(&self.data(record))) {
                return Vec::new();
            }
            let mut out = TextBuf::new();
            let last = columns.list().len() - 1;
            if *form == Form::Ndjson {
                let members = columns.list().iter().filter_map(|column| {
                    let value = self.value(*column, record)?;
                    let is_text = matches!(
                        column,
                        Column::Class | Column::EventType | Column::Data | Column::OwnerProcess | Column::OwnerThread
                    );
                    let is_owner = matches!(
                        column,
                        Column::OwnerPid | Column::OwnerTid | Column::OwnerProcess | Column::OwnerThread
                    );
                    let value = match &value[..] {
                        b"-" if is_owner => b"null".to_vec(),
                        value if is_text => text(|out| json::string(value, out)),
                        value => value.to_vec(),
                    };
                    Some([columns.key(*column).into_owned(), value].concat())
                });
                let mut members: Vec<Vec<u8>> = members.collect();
                if columns.has("data") {
                    let fields = RecordFields::new(self.events.arguments(record));
                    let objects: Vec<Vec<u8>> =
                        fields.map(|field| text(|out| field.push_object(&mut TextBuf::new(), out))).collect();
                    members.extend(record.wide.then(|| b"\"wide\":true".to_vec()));
                    members.push([b"\"fields\":[", &objects.join(&b","[..])[..], b"]"].concat());
                }
                return [b"{", &members.join(&b","[..])[..], b"}\n"].concat();
            }
            for (at, column) in columns.list().iter().enumerate() {
                out.push(if at > 0 { form.separator() } else { b"" });
                let value = self.value(*column, record).unwrap_or_else(|| b"-".to_vec());
                if *form != Form::Text {
                    form.value(&value, &mut out);
                    continue;
                }
                let is_dim = !matches!(column, Column::EventType | Column::Data);
                out.push(if is_dim { colour.dim() } else { b"" });
                let value = match column {
                    Column::Argument(_) => text(|out| push_escaped(&value, out)),
                    _ => value,
                };
                let shown = columns.clone().with_time_form(self.options.time);
                let blanks = vec![b' '; shown.width(shown.list()[at]).saturating_sub(value.len())];
                match column.info().side {
                    Side::Right => out.push(&[blanks, value].concat()),
                    Side::Left if at == last => out.push(&value),
                    Side::Left => out.push(&[value, blanks].concat()),
                }
                out.push(if is_dim { colour.plain() } else { b"" });
            }
            out.push(b"\n");
            out.as_bytes().to_vec()
        }
    }

    #[test]
    fn lines_are_put_together_from_their_columns() {
        let formats = FormatSet::load(&[], &LoadOptions::default()).unwrap();
        let catalog = formats.catalog().unwrap();
        let bytes: Vec<u8> = b"na\"e\0 \n".iter().copied().chain(0..41).chain([0; 24]).chain([0xFF; 8]).collect();
        let numbers = [1, 99_999_999, 100_000_000, u64::MAX];
        let clocks = [None, Some(0), Some(83_122), Some(u32::MAX)];
        let lists = [
            "event,time,cpu,class,id,type,data",
            "type,cpu,data",
            "data",
            "data,event,type",
            "type",
            "id,class",
            "time,pid,tid,cpu,process,thread,data",
            "thread,process,event,tid",
            "arg.pid,arg.w1,event,data",
            "class,arg.w3,arg.name,type",
            "arg.w0",
        ];
        let name = |name: &str| Some(Arc::<[u8]>::from(name.as_bytes()));
        let owners = [
            Owner::default(),
            Owner { pid: Some(-1), tid: Some(123_456), process: name("proc/a\tb"), thread: None },
            Owner { pid: Some(7), tid: Some(1), process: name(&"long".repeat(40)), thread: name("a,\"b\"") },
        ];
        let odd = Pattern::new("[13579]$").unwrap();
        let mut n_lines = 0;
        for (n, list) in (0..4 * 3 * 11 * 4).map(|n| (n, lists[n / 12 % lists.len()])) {
            let release =
                [None, Some(QnxRelease { major: 7, minor: 1 }), Some(QnxRelease { major: 8, minor: 0 })][n % 3];
            let big_endian = n % 5 == 0;
            let options = QnxReportOptions {
                columns: Columns::parse_qnx(list).unwrap(),
                form: [Form::Text, Form::Tsv, Form::Csv, Form::Ndjson][n / 3 % 4],
                time: if n % 7 == 0 { TimeForm::Clock } else { TimeForm::Absolute },
                colour: [ReportColour::Ansi, ReportColour::Marked, ReportColour::Off][(n % 11).min(2)],
                grep: (n % 13 == 0).then(|| odd.clone()),
                ..QnxReportOptions::default()
            };
            let header = KevHeader { cycles_per_sec: Some(1_000_000_007), release, big_endian, ..KevHeader::default() };
            let setup = ReportSetup {
                options: &options,
                header: KevHeader { attributes: Vec::new(), syspage: None, ..header },
                events: BuiltInEvents::of(release, big_endian),
                owner: owners[n % 3].clone(),
            };
            let mut writer = RowWriter::new(&catalog, &options, &header, TraceStart::default());
            writer.set_owner(n as u32 % 4, &setup.owner);
            // Every event occurs twice, but its texts are rendered once.
            for k in (0..6000).flat_map(|k| [k, k]) {
                let (class, event) = ((k >> 2 & 31) as u8, (((k >> 7) * 11 + k * 7) & 1023) as u16);
                if setup.events.label(class, event).is_none() && k % 37 > 0 {
                    continue;
                }
                let pick = |j: usize| (k + n) / (j + 1) + j;
                let n_bytes = [0, 8, 16, 24, 40, 72, 80][pick(5) % 7];
                let start = [0, 0, 8, 40, 48][pick(6) % 5].min(bytes.len() - n_bytes);
                let record = KevRecord {
                    number: numbers[pick(0) % 4],
                    offset: 0,
                    class,
                    event,
                    cpu: pick(1) as u8,
                    wide: pick(2) % 3 == 0,
                    stamp: pick(3) as u32 * 48_271,
                    msb: clocks[pick(4) % 4],
                    bytes: &bytes[start..start + n_bytes],
                };
                let mut out = TextBuf::new();
                writer.record(&record, &mut out);
                n_lines += usize::from(!out.is_empty());
                let record = KevRecord { class: record.meant_class(), ..record };
                let [text, expected] =
                    [out.as_bytes(), &setup.line(&record)].map(|text| String::from_utf8_lossy(text).into_owned());
                assert_eq!(text, expected, "{list} {:?} {record:?}", options.form);
            }
        }
        assert!(n_lines > 100_000, "{n_lines}");
    }

    #[test]
    fn counts_format_nothing() {
        let formats = FormatSet::load(&[], &LoadOptions::default()).unwrap();
        let catalog = formats.catalog().unwrap();
        let options = QnxReportOptions { stats: true, ..QnxReportOptions::default() };
        assert_eq!(DataUse::of(&options, &catalog), DataUse::Never);
        let pattern = QnxReportOptions { grep: Pattern::new("x").ok(), ..options };
        assert_eq!(DataUse::of(&pattern, &catalog), DataUse::First);
    }
}
