//! Lines of a report: columns, then the text that the event's template prints.

use super::batch::{Batch, EventRef};
use super::cells::{Cells, CellsPath, ContextTexts, EventTimes, EventValues, IdCells, Times};
use super::finish::Finish;
use super::heading::{write_heading, write_histogram, write_stats};
use super::options::{AixReportOptions, AixSummary, FieldPlacement};
use super::prepared::{AHEAD, LineSettings, PreparedLine, PreparedLines, Text};

use crate::catalog::Catalog;
use crate::columns::{Columns, trim};
use crate::demand::Readers;
use crate::engine::{Format, WRITE_AT};
use crate::fields::{FieldsForm, PreparedFields};
use crate::general_path;
use crate::ids::IdSet;
use crate::output_format::Form;
use crate::reader::aix::{LogInfo, SystemInfo};
use crate::row_facts::RowNote;
use crate::work::{Meter, Work};
use std::sync::atomic::{AtomicU64, Ordering};
use tfbc_vm::{
    Context, Event, EventContext, Layout, LineStart, Machine, Outcome, PreparedEntry, ProcessNames, Run, TextBuf,
    Timers,
};

/// End of a text in a JSON line, before the fields.
const AFTER_TEXT: &[u8; 11] = b"\",\"fields\":";
/// End of a JSON line after its fields.
const END_LINE: &[u8; 2] = b"}\n";

/// Always empty, because the producer runs the templates that need paths of processes.
pub(super) static NO_PATHS: ProcessNames = ProcessNames::new();

/// State that a line needs from the lines before it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LineState {
    /// Elapsed time of the event that was reported last.
    pub(super) last_elapsed_ns: u64,
    /// Steps that templates took.
    steps: u64,
    has_heading: bool,
    lines_on_page: u64,
}

impl LineState {
    /// State after the first part of a report, which has the heading.
    pub fn after_heading(last_elapsed_ns: u64) -> Self {
        Self { last_elapsed_ns, has_heading: true, ..Self::default() }
    }

    /// State before the next part, whose steps are counted from 0.
    pub fn before_part(self) -> Self {
        Self { steps: 0, ..self }
    }

    /// True if the heading is written.
    pub fn has_heading(&self) -> bool {
        self.has_heading
    }
}

/// Formatter of a report's lines; each thread has one.
pub(super) struct LineFormat<'r> {
    catalog: &'r Catalog<'r>,
    options: &'r AixReportOptions,
    columns: &'r Columns,
    layouts: [Layout; 5],
    lines: PreparedLines<'r>,
    line: LineWriter<'r>,
    machine: Machine,
    /// Always empty, because the producer runs the templates that read timers.
    timers: Timers,
    meter: Meter,
    /// Steps of all written batches: a lower bound for the steps before any later batch.
    known_steps: &'r AtomicU64,
    /// Hook of the template that took most of the recent steps.
    slow: Option<u16>,
    /// Routines that may skip an event. Set if the report only counts events, because then only these routines must
    /// run.
    readers: Option<Readers<'r>>,
    /// Index of the next event.
    at: usize,
    /// True after [`LineFormat::begin_batch`]. `n_metered` is the number of events whose bytes have been added to the
    /// meter.
    in_batch: bool,
    n_metered: usize,
    deferred: Option<Deferred>,
    /// True if no line depends on the lines before it.
    is_independent: bool,
    /// Counts before the batch.
    before: OutcomeCounts,
}

/// Writer of one line: everything that does not depend on the hook.
struct LineWriter<'r> {
    logs: &'r [LogInfo],
    cells: Cells,
    times: Times,
    context_texts: ContextTexts,
    finish: Finish,
    /// Lines of a page; `u64::MAX` if there are no pages.
    page_size: u64,
    /// True if a line needs no work after its text, except that its event is counted.
    ends_with_text: bool,
    /// Form of the rows, if a line needs no more work after its text than to become a row and to be counted.
    ends_with_row: Option<Form>,
    /// True if a line needs no more work after its text than to become a JSON line with its fields at the end.
    ends_with_fields: bool,
    delta_of_all: bool,
    bounds: RunLimits,
    /// True if [`LineWriter::note`] must be called after a line.
    has_notes: bool,
    /// True if a line needs no more after its text than [`Finish::line`], its fields and to be counted.
    ends_simply: bool,
    /// True if [`Cells::put`] must check more than the lengths of times and context texts.
    has_more_conditions: bool,
    counted: OutcomeCounts,
    /// Number of reported events by canonical id; empty if no option needs it.
    counts: Vec<u64>,
    /// Ids counted while the start of the text is deferred; subtracted again if the text is formatted a second time.
    unresolved: Option<Vec<u16>>,
    /// Hooks whose events were printed by a stanza of the built-in format file.
    guessed: IdSet,
    /// Ends of the lines in the text; empty unless `collects_ends`.
    ends: Vec<LineEnd>,
    collects_ends: bool,
    form: Form,
    fields: FieldPlacement,
    /// Fields of the current event.
    fields_json: TextBuf,
    fields_form: FieldsForm,
    /// Fields of all lines whose ends are collected.
    all_fields: TextBuf,
    /// True if rows have texts.
    has_row_texts: bool,
    /// True if collected lines end without a newline.
    drops_newlines: bool,
    /// Rows whose fields are at fixed places, by the index of their prepared line.
    flat_rows: Vec<Vec<u32>>,
    /// Prepared lines that have such rows.
    flat_lines: Vec<u32>,
}

/// End of an event's line in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineEnd {
    /// Index of the event in its batch.
    pub event: u32,
    pub end: u32,
    /// End of its fields in [`LineFormat::fields_of_lines`].
    pub fields: u32,
    pub note: RowNote,
}

/// Start of a batch's text, deferred because the preceding line was not known yet.
#[derive(Debug, Clone, Copy, Default)]
struct Deferred {
    /// Index of the event after the deferred heading, if there is one.
    heading: Option<usize>,
    /// Index of the first reported event, whose delta was not known.
    reported: Option<usize>,
    /// State after the text.
    state: LineState,
}

/// Number of events to format in one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunLength {
    One,
    /// Up to the first one that is reported.
    First,
    Many,
}

/// Variant of [`LineFormat::format_on`], compiled separately for each implementation: the lines of a report need only a
/// few of the checks, and all events are formatted there.
trait Path {
    const CELLS: CellsPath;
    const END: EndPath;
}

/// Work after the text of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndPath {
    /// No work.
    Text,
    /// The end of the line is collected.
    CollectedText,
    /// The text is the last value of a row.
    Row,
    /// The text is the last value of a JSON line before the fields.
    Fields,
    Any,
}

macro_rules! paths {
    ($($name:ident: $cells:ident $end:ident;)*) => {$(
        enum $name {}

        impl Path for $name {
            const CELLS: CellsPath = CellsPath::$cells;
            const END: EndPath = EndPath::$end;
        }
    )*};
}

paths! {
    PlainToText: Plain Text;
    PlainToEnds: Plain CollectedText;
    PlainToAny: Plain Any;
    RowToRow: TableRow Row;
    RowToFields: TableRow Fields;
    RowToAny: TableRow Any;
    HeadedToText: Headed Text;
    HeadedToAny: Headed Any;
    AnyToText: Any Text;
    AnyToAny: Any Any;
}

/// Limits of a run of lines.
#[derive(Clone, Copy)]
struct RunLimits {
    extent: RunLength,
    /// Maximum number of steps of one event, if it is below the normal limit.
    limit: Option<u64>,
    /// Maximum number of steps of all events together.
    steps: u64,
}

/// Numbers of events by outcome.
#[derive(Debug, Clone, Copy, Default)]
struct OutcomeCounts {
    n_formatted: u64,
    n_reported: u64,
    n_truncated: u64,
    n_limited: u64,
    n_over_work: u64,
    n_divided: u64,
    n_refused: u64,
}

impl OutcomeCounts {
    /// Counts an event that did not end normally. `is_over_work` is true if it reached the limit of the whole report.
    #[inline]
    fn add_outcome(&mut self, outcome: Outcome, is_over_work: bool) {
        self.n_reported += u64::from(!outcome.skipped);
        self.n_truncated += u64::from(outcome.truncated);
        self.n_limited += u64::from(outcome.limited && !is_over_work);
        self.n_over_work += u64::from(outcome.limited && is_over_work);
        self.n_divided += u64::from(outcome.divided_by_zero);
        self.n_refused += u64::from(outcome.refused);
    }
}

/// An event of a batch with the context of its template.
#[derive(Clone, Copy)]
struct BatchedEvent<'b> {
    batch: &'b Batch,
    /// [`Batch::taken`].
    taken: &'b [u8],
    event: &'b EventRef,
    logs: &'b [LogInfo],
    /// The event's bytes, if they were looked up in advance because they are needed twice.
    bytes: Option<&'b [u8]>,
}

/// An event of a batch with its prepared line.
#[derive(Clone, Copy)]
struct PreparedEvent<'p, 'b> {
    batch: &'b Batch,
    event: &'b EventRef,
    prepared: &'p PreparedLine<'b>,
}

impl<'b> PreparedEvent<'_, 'b> {
    /// The event as its template sees it.
    #[inline(always)]
    fn input(self, logs: &'b [LogInfo]) -> BatchedEvent<'b> {
        BatchedEvent { batch: self.batch, taken: &self.batch.taken.bytes, event: self.event, logs, bytes: None }
    }
}

/// Context of an event's template, without the paths of processes.
#[inline(never)]
pub(super) fn context_of<'b>(batch: &'b Batch, event: &EventRef, logs: &'b [LogInfo]) -> Context<'b> {
    let shared = batch.shared_context(event.setting);
    let thread = batch.thread(shared);
    let log = &logs[thread.log as usize];
    batch.system(shared).context(log, thread.reported_cpus, &batch.facts_with_svc(event.setting, event.tid), &NO_PATHS)
}

impl<'b> EventContext<'b> for BatchedEvent<'b> {
    #[inline(always)]
    fn bytes(&self) -> &'b [u8] {
        match self.bytes {
            Some(bytes) => bytes,
            None => self.event().bytes,
        }
    }

    #[inline(always)]
    fn event(&self) -> Event<'b> {
        self.batch.hook(self.taken, self.event)
    }

    // Passed by value. A reference would force the event into memory, only for the few templates that read their
    // context.
    #[inline(always)]
    fn context(&self) -> Context<'b> {
        context_of(self.batch, self.event, self.logs)
    }
}

impl<'r> LineFormat<'r> {
    pub fn new(
        catalog: &'r Catalog<'r>,
        options: &'r AixReportOptions,
        columns: &'r Columns,
        layouts: [Layout; 5],
        logs: &'r [LogInfo],
        known_steps: &'r AtomicU64,
    ) -> Self {
        Self {
            catalog,
            options,
            columns,
            layouts,
            lines: PreparedLines::new(),
            line: LineWriter::new(options, columns, logs),
            machine: Machine::new(options.limits),
            timers: Timers::new(),
            meter: Meter::new(options.max_work, options.limits.steps),
            known_steps,
            slow: None,
            readers: (options.stats && options.grep.is_none() && !general_path::is_required())
                .then(|| Readers::new(catalog)),
            at: 0,
            in_batch: false,
            n_metered: 0,
            deferred: None,
            is_independent: false,
            before: OutcomeCounts::default(),
        }
    }

    /// Collects the ends of lines from now on.
    pub fn collect_ends(&mut self) {
        self.line.collects_ends = true;
    }

    /// Prepares for lines that become rows of a table: they do not depend on each other, and have no heading. Fields
    /// are shown if they are one of the columns. Texts are formatted only if the columns, a pattern or `with_notes`
    /// need them.
    pub fn for_rows(&mut self, fields: FieldsForm, with_notes: bool) {
        self.collect_ends();
        self.is_independent = true;
        let has_text = self.columns.has_text() || self.options.grep.is_some();
        self.line.fields_form = fields;
        self.line.fields = match self.options.columns.has_fields() {
            false => FieldPlacement::No,
            true => FieldPlacement::Row,
        };
        self.line.has_row_texts = has_text;
        if !has_text && !with_notes && self.line.fields == FieldPlacement::No && !general_path::is_required() {
            self.readers = Some(Readers::new(self.catalog));
        }
    }

    /// Leaves out the newline after each line, so that the texts of a column follow each other.
    pub fn drop_newlines(&mut self) {
        self.line.drops_newlines = true;
    }

    /// True if a row that was formatted last has fields that are not at fixed places.
    pub fn has_fields(&self) -> bool {
        !self.line.all_fields.is_empty()
    }

    /// Appends the fields of the rows that were formatted last.
    pub fn take_fields(&mut self, out: &mut TextBuf) {
        let fields = &mut self.line.all_fields;
        if out.is_empty() {
            std::mem::swap(out, fields);
        } else {
            out.push(fields.as_bytes());
        }
        fields.clear();
    }

    /// Appends the fields at fixed places of the rows that were formatted last, encoded for
    /// [`RowBlock::flat_rows`](crate::row_block::RowBlock::flat_rows). `events` are those of the rows.
    pub fn take_flat_rows(&mut self, batch: &Batch, events: &[EventRef], words: &mut Vec<u64>) {
        let LineWriter { flat_rows, flat_lines, .. } = &mut self.line;
        let taken = &batch.taken.bytes[..];
        let mut all_bytes = Vec::new();
        for index in flat_lines.drain(..) {
            let rows = &mut flat_rows[index as usize];
            let fields = self.lines.at(index).and_then(|line| line.fields.as_ref());
            if let Some(flat) = fields.and_then(|fields| fields.flat_cells()) {
                all_bytes.clear();
                all_bytes.extend(rows.iter().map(|row| batch.hook(taken, &events[*row as usize]).bytes));
                words.extend([rows.len() as u64, flat.n_columns() as u64]);
                words.extend(rows.iter().map(|row| u64::from(*row)));
                flat.extend(&all_bytes, words);
            }
            rows.clear();
        }
    }

    /// True if a formatted event was only counted: it has no text, and its template cannot skip it.
    pub fn only_counts(&self, event: &EventRef) -> bool {
        self.lines.get(event).is_some_and(|line| matches!(line.text, Text::Counted))
    }

    /// Ends of the lines in the text that was formatted last, in order.
    #[inline]
    pub fn ends(&self) -> &[LineEnd] {
        &self.line.ends
    }

    /// Hooks whose events were printed by a stanza of the built-in format file.
    pub fn guessed(&self) -> &IdSet {
        &self.line.guessed
    }

    /// Adds the counts of another thread.
    pub fn add(&mut self, other: &Self) {
        let (line, other) = (&mut self.line, &other.line);
        line.guessed.extend(&other.guessed);
        line.counts.iter_mut().zip(&other.counts).for_each(|(sum, n)| *sum += n);
        let OutcomeCounts { n_formatted, n_reported, n_truncated, n_limited, n_over_work, n_divided, n_refused } =
            other.counted;
        line.counted.n_formatted += n_formatted;
        line.counted.n_reported += n_reported;
        line.counted.n_truncated += n_truncated;
        line.counted.n_limited += n_limited;
        line.counted.n_over_work += n_over_work;
        line.counted.n_divided += n_divided;
        line.counted.n_refused += n_refused;
    }

    /// Number of events in the formatted batches.
    pub fn n_formatted(&self) -> u64 {
        self.line.counted.n_formatted
    }

    /// Counts so far.
    pub fn summary(&self) -> AixSummary {
        let OutcomeCounts { n_reported, n_truncated, n_limited, n_over_work, n_divided, n_refused, .. } =
            self.line.counted;
        AixSummary { n_reported, n_truncated, n_limited, n_over_work, n_divided, n_refused, ..AixSummary::default() }
    }

    /// Appends the end of the report.
    pub fn end(&mut self, system: &SystemInfo, state: &mut LineState, text: &mut TextBuf) {
        if !state.has_heading {
            self.begin(system, text);
        }
        if self.options.stats {
            write_stats(&self.line.counts, self.catalog, self.options.form, !self.options.no_heading, text);
        } else {
            write_histogram(&self.line.counts, self.catalog, text);
        }
    }

    /// Appends lines until the text is long enough. Returns false at the end of the batch.
    #[inline]
    fn lines<'b>(&mut self, batch: &'b Batch, state: &mut LineState, text: &mut TextBuf) -> bool
    where
        'r: 'b,
    {
        while self.at < batch.events.len() {
            if !self.has_work_left(batch) || self.slow.is_some() {
                return true;
            }
            if self.heading_is_due(state) {
                self.first_line(batch, state, text);
            } else {
                if self.readers.is_some() {
                    self.count_events(batch, state);
                }
                if self.line.fields == FieldPlacement::Row && self.meter.limit().is_none() {
                    self.format_rows(batch, state, text);
                } else {
                    self.format_lines(batch, RunLength::Many, state, text);
                }
            }
            if text.len() >= WRITE_AT {
                return true;
            }
        }
        self.end_batch();
        false
    }

    /// Sets the limit of the next event. Returns false if the work limit makes the batch's text invalid, so that it
    /// must be formatted again.
    #[inline]
    fn has_work_left(&mut self, batch: &Batch) -> bool {
        self.meter.room() > 0 || self.look(batch)
    }

    #[cold]
    fn look(&mut self, batch: &Batch) -> bool {
        let events = batch.events.get(self.n_metered..=self.at).unwrap_or_default();
        self.meter.next(events.iter().map(|event| u64::from(event.len)).sum());
        self.n_metered = self.at + 1;
        if self.meter.take_slow() {
            self.slow = batch.events.get(self.at.saturating_sub(1)).map(|event| event.id);
        }
        !self.meter.has_given_up()
    }

    /// Starts a batch. `state` is the state before it, if known.
    fn begin_batch(&mut self, batch: &Batch, state: Option<&LineState>) {
        (self.in_batch, self.n_metered) = (true, 0);
        self.before = self.line.counted;
        let known = || self.known_steps.load(Ordering::Relaxed);
        let steps = state.map_or_else(known, |state| state.steps);
        self.meter.begin(Work { steps, bytes: batch.bytes_before }, state.is_none());
    }

    /// Discards the text of a batch for which the number of earlier steps was guessed wrongly.
    #[cold]
    fn take_back(&mut self) {
        self.line.counted = self.before;
        for id in self.line.unresolved.take().unwrap_or_default() {
            self.line.counts[usize::from(id)] -= 1;
        }
        (self.at, self.in_batch, self.deferred) = (0, false, None);
        self.line.context_texts.forget();
    }

    /// Counts the batch's events, and resets for the next batch.
    fn end_batch(&mut self) {
        self.line.counted.n_formatted += self.at as u64;
        (self.at, self.in_batch) = (0, false);
        self.line.context_texts.forget();
    }

    /// Formats events up to the first one that is reported, without knowing the line before them.
    fn format_deferred(&mut self, batch: &Batch, text: &mut TextBuf) -> LineState {
        let mut state = LineState::default();
        let before = self.line.counted.n_reported;
        self.deferred = Some(Deferred::default());
        self.line.unresolved = Some(Vec::new());
        if self.is_independent {
            return LineState { has_heading: true, ..state };
        }
        while self.at < batch.events.len() && self.has_work_left(batch) {
            self.first_line(batch, &mut state, text);
            if self.line.counted.n_reported > before {
                if let Some(deferred) = &mut self.deferred {
                    deferred.reported = Some(self.at - 1);
                }
                text.clear();
                break;
            }
        }
        state
    }

    /// Appends the next reported line, after a heading if one is needed.
    #[inline(never)]
    fn first_line(&mut self, batch: &Batch, state: &mut LineState, text: &mut TextBuf) {
        let (line, n_reported) = (text.len(), self.line.counted.n_reported);
        let is_due = self.heading_is_due(state);
        // In text form, the heading is written even if the event is skipped.
        let comes_first = self.options.has_lines() && self.options.grep.is_none();
        if is_due && comes_first {
            self.page_break(batch, self.at, state, text);
        }
        let lines_before = state.lines_on_page;
        self.format_lines(batch, RunLength::First, state, text);
        if is_due && !comes_first && self.line.counted.n_reported > n_reported && text.len() > line {
            let own = text.as_bytes()[line..].to_vec();
            text.truncate(line);
            let n_lines = state.lines_on_page - lines_before;
            self.page_break(batch, self.at - 1, state, text);
            state.lines_on_page = n_lines;
            text.push(&own);
        }
    }

    /// Prepares the line of an event.
    #[cold]
    fn prepare(&mut self, event: &EventRef) {
        let entry = self.catalog.lookup(event.id);
        // An event whose text is not needed is only counted. But a template with `$SKIP` must still run, because a
        // skipped event is not counted.
        let is_counted = !event.is_ready()
            && self.readers.as_mut().zip(entry).is_some_and(|(readers, entry)| !readers.decides(entry));
        let settings = LineSettings {
            layouts: &self.layouts,
            cells: &self.line.cells,
            form: self.options.form,
            fields: self.line.fields,
            counts_lines: self.line.finish.counts_lines(),
        };
        self.lines.add(event, self.catalog, settings, is_counted);
    }

    /// Counts events whose text is not needed, up to one that is formatted.
    fn count_events(&mut self, batch: &Batch, state: &mut LineState) {
        let first = self.at;
        let events = batch.events.get(first..).unwrap_or_default();
        let mut n = 0;
        loop {
            // Nothing else in the loop, so that the compiler keeps the table of lines in registers.
            let lines = &self.lines;
            let counted = |event: &&EventRef| lines.get(event).is_some_and(|line| matches!(line.text, Text::Counted));
            n += events[n..].iter().take_while(counted).count();
            let Some(unknown) = events.get(n).filter(|event| lines.get(event).is_none()) else { break };
            self.prepare(unknown);
            // The first event of a guess is recorded when its line is written.
            if self.lines.get(unknown).is_none_or(|line| line.is_guess) {
                break;
            }
        }
        let (events, line) = (&events[..n], &mut self.line);
        if !line.counts.is_empty() {
            events.iter().for_each(|event| line.count(event.id));
        }
        if line.collects_ends {
            let ends = first as u32..(first + n) as u32;
            line.ends.extend(ends.map(|event| LineEnd { event, end: 0, fields: 0, note: RowNote::None }));
        }
        if let Some(last) = events.last() {
            state.last_elapsed_ns = last.elapsed_ns;
        }
        self.at += n;
        line.counted.n_reported += n as u64;
        self.meter.take(0, n as u64);
    }

    /// Appends lines up to `extent`; stops early if the text is long enough, the page is full, or many steps were used.
    #[inline(never)]
    fn format_lines<'b>(&mut self, batch: &'b Batch, extent: RunLength, state: &mut LineState, text: &mut TextBuf)
    where
        'r: 'b,
    {
        let LineWriter { cells, ends_with_text, ends_with_row, ends_with_fields, collects_ends, delta_of_all, .. } =
            &self.line;
        let has_limit = self.meter.limit().is_some();
        let cells = if has_limit || *delta_of_all { CellsPath::Any } else { cells.path() };
        let end = match extent == RunLength::Many && !has_limit {
            true if *ends_with_text && *collects_ends => EndPath::CollectedText,
            true if *ends_with_text => EndPath::Text,
            true if ends_with_row.is_some() && !collects_ends => EndPath::Row,
            true if *ends_with_fields && !collects_ends => EndPath::Fields,
            _ => EndPath::Any,
        };
        match (cells, end) {
            (CellsPath::Plain, EndPath::Text) => self.format_on::<PlainToText>(batch, extent, state, text),
            (CellsPath::Plain, EndPath::CollectedText) => self.format_on::<PlainToEnds>(batch, extent, state, text),
            (CellsPath::Plain, _) => self.format_on::<PlainToAny>(batch, extent, state, text),
            (CellsPath::TableRow, EndPath::Row) => self.format_on::<RowToRow>(batch, extent, state, text),
            (CellsPath::TableRow, EndPath::Fields) => self.format_on::<RowToFields>(batch, extent, state, text),
            (CellsPath::TableRow, _) => self.format_on::<RowToAny>(batch, extent, state, text),
            (CellsPath::Headed, EndPath::Text) => self.format_on::<HeadedToText>(batch, extent, state, text),
            (CellsPath::Headed, _) => self.format_on::<HeadedToAny>(batch, extent, state, text),
            (CellsPath::Any, EndPath::Text) => self.format_on::<AnyToText>(batch, extent, state, text),
            (CellsPath::Any, _) => self.format_on::<AnyToAny>(batch, extent, state, text),
        }
    }

    /// Like [`LineFormat::format_lines`], compiled for one path.
    #[inline(never)]
    fn format_on<'b, P: Path>(&mut self, batch: &'b Batch, extent: RunLength, state: &mut LineState, text: &mut TextBuf)
    where
        'r: 'b,
    {
        let events = batch.events.get(self.at..).unwrap_or_default();
        let Some(first) = events.first() else { return };
        if self.lines.get(first).is_none() {
            self.prepare(first);
        }
        let LineFormat { lines, line, machine, timers, meter, catalog, at: first_index, .. } = self;
        let limit = meter.limit();
        // Near the work limit of the whole report, each event has its own limit, so events run one by one.
        let extent = if limit.is_some() { RunLength::One } else { extent };
        let events = if extent == RunLength::One { &events[..1] } else { events };
        let (Some(first), Some(program)) = (lines.get(first), catalog.programs().first()) else { return };
        line.begin(RunLimits { extent, limit, steps: meter.room() });
        let mut run = machine.start(program, timers);
        limit.into_iter().for_each(|limit| run.limit_steps(limit));
        let (taken, logs) = (&batch.taken.bytes[..], line.logs);

        let mut ahead = [first; AHEAD];
        let (mut n_done, mut n_counted) = (0, 0);
        'events: loop {
            let events = &events[n_done..];
            let n_known = lines.look_ahead(events, &mut ahead);
            if n_known == 0 {
                break;
            }
            let (known, of_known) = (&events[..n_known], &ahead[..n_known]);
            // One counter for both: a pair of iterators has three.
            for n in 0..n_known {
                let (event, prepared) = (&known[n], of_known[n]);
                let time = EventTimes { elapsed_ns: event.elapsed_ns, last_ns: state.last_elapsed_ns };
                // Computed late, because most events do not need it.
                let index = || *first_index + n_done + n;
                let goes_on = match &prepared.text {
                    // The common case: the template ends normally, and the cells fit. One call runs the template and
                    // writes the columns.
                    Text::Run(_)
                        if matches!(P::END, EndPath::Any)
                            && line.fields.precedes_text()
                            && prepared.is_quick.get()
                            && line.is_fast::<P>(batch, event, time) =>
                    {
                        n_counted += 1;
                        let shown = PreparedEvent { batch, event, prepared };
                        if line.fields == FieldPlacement::Alone {
                            line.write_fields(shown, index(), &mut run, state, text)
                        } else {
                            line.write_around_fields(shown, index(), &mut run, state, text)
                        }
                    }
                    Text::Run(entry) if prepared.is_quick.get() && line.is_fast::<P>(batch, event, time) => {
                        let start = text.len();
                        let mut n_columns = 0;
                        let put = |room: &mut _| {
                            let values = || line.values(batch, event, &prepared.id, time);
                            n_columns = line.cells.put_on(P::CELLS, &prepared.id, values, time, &line.times, room);
                            n_columns
                        };
                        let mut input = BatchedEvent { batch, taken, event, logs, bytes: None };
                        if matches!(P::END, EndPath::Fields) {
                            input.bytes = Some(input.bytes());
                        }
                        let line_start = LineStart { layout: prepared.layout, line: start };
                        // Most events take no steps.
                        let is_normal = run.run_prepared(entry, &input, line_start, put, text)
                            || run.outcome() == Outcome::default() && run.n_steps() < line.bounds.steps;
                        if is_normal && !matches!(P::END, EndPath::Any) {
                            state.last_elapsed_ns = time.elapsed_ns;
                            if matches!(P::END, EndPath::Row)
                                && let Some(form) = line.ends_with_row
                            {
                                form.end(start + n_columns, prepared.is_plain, text);
                            }
                            if matches!(P::END, EndPath::Fields) {
                                let is_done = match &prepared.fields {
                                    Some(fields) => fields.replace_newline(input.bytes(), AFTER_TEXT, END_LINE, text),
                                    None => false,
                                };
                                if !is_done {
                                    let place = LinePos { index: index(), start, text: start + n_columns };
                                    let shown = PreparedEvent { batch, event, prepared };
                                    if !line.end_with_fields(shown, place, &mut run, text) {
                                        n_done += n + 1;
                                        break 'events;
                                    }
                                }
                            }
                            if matches!(P::END, EndPath::CollectedText) {
                                line.drop_newline(text);
                                let (event, end) = (index() as u32, text.len() as u32);
                                line.ends.push(LineEnd { event, end, fields: 0, note: RowNote::None });
                            }
                            if text.len() >= WRITE_AT {
                                n_done += n + 1;
                                break 'events;
                            }
                            continue;
                        }
                        let text_start = start + n_columns;
                        if is_normal && !line.finish.admits(prepared.layout, text_start, text) {
                            text.truncate(start);
                            n_counted += 1;
                            true
                        } else if is_normal && line.ends_simply && line.fields != FieldPlacement::Last {
                            state.last_elapsed_ns = time.elapsed_ns;
                            line.finish.line(start, text_start, prepared.is_plain, text);
                            line.count(event.id);
                            state.lines_on_page +=
                                line.finish.count_lines(prepared.is_plain, &text.as_bytes()[start..]);
                            state.lines_on_page < line.page_size
                        } else {
                            let place = LinePos { index: index(), start, text: text_start };
                            let shown = PreparedEvent { batch, event, prepared };
                            if is_normal && line.ends_simply {
                                state.last_elapsed_ns = time.elapsed_ns;
                                line.end_with_fields(shown, place, &mut run, text)
                            } else {
                                n_counted += 1;
                                let outcome = if is_normal { None } else { Some(run.outcome()) };
                                line.end_slowly(shown, place, outcome, &mut run, state, text)
                            }
                        }
                    }
                    _ => {
                        n_counted += 1;
                        line.write(PreparedEvent { batch, event, prepared }, index(), &mut run, state, text)
                    }
                };
                if !goes_on || text.len() >= WRITE_AT {
                    n_done += n + 1;
                    break 'events;
                }
            }
            n_done += n_known;
        }
        meter.take(run.n_steps(), n_done as u64);
        self.at += n_done;
        line.counted.n_reported += n_done as u64 - n_counted;
    }

    /// Appends the texts of rows, and collects their fields, like [`LineFormat::format_lines`].
    #[inline(never)]
    fn format_rows<'b>(&mut self, batch: &'b Batch, state: &mut LineState, text: &mut TextBuf)
    where
        'r: 'b,
    {
        let events = batch.events.get(self.at..).unwrap_or_default();
        let Some(first) = events.first() else { return };
        if self.lines.get(first).is_none() {
            self.prepare(first);
        }
        let LineFormat { lines, line, machine, timers, meter, catalog, at: first_index, .. } = self;
        let (Some(first), Some(program)) = (lines.get(first), catalog.programs().first()) else { return };
        line.begin(RunLimits { extent: RunLength::Many, limit: None, steps: meter.room() });
        let mut run = machine.start(program, timers);
        let is_by_column = line.fields_form == FieldsForm::Cells && !line.has_row_texts;
        let mut ahead = [first; AHEAD];
        let mut n_done = 0;
        'events: loop {
            let mut events = &events[n_done..];
            if is_by_column {
                let n_flat = line.push_flat_rows(lines, events, *first_index + n_done, state);
                n_done += n_flat;
                // Only the next event is known to need more.
                events = &events[n_flat..events.len().min(n_flat + 1)];
            }
            let n_known = lines.look_ahead(events, &mut ahead);
            if n_known == 0 {
                break;
            }
            for (event, prepared) in events.iter().zip(&ahead[..n_known]) {
                let shown = PreparedEvent { batch, event, prepared };
                let index = *first_index + n_done;
                n_done += 1;
                let goes_on = match (&prepared.text, &prepared.fields) {
                    (Text::Run(entry), Some(fields)) if prepared.is_quick.get() => {
                        line.write_row(shown, RowRoutines { text: entry, fields }, index, &mut run, state, text)
                    }
                    _ => line.write(shown, index, &mut run, state, text),
                };
                if !goes_on || text.len() >= WRITE_AT {
                    break 'events;
                }
            }
        }
        meter.take(run.n_steps(), n_done as u64);
        self.at += n_done;
    }

    /// True if a heading comes before the next line.
    fn heading_is_due(&self, state: &LineState) -> bool {
        !self.options.stats && !self.is_independent && (!state.has_heading || self.page_is_full(state))
    }

    /// True if a heading must come before the next line.
    fn page_is_full(&self, state: &LineState) -> bool {
        state.lines_on_page >= self.line.page_size
    }

    /// Appends the heading before the first line, and the heading line again if a page is full. `at` is the index of
    /// the event that follows.
    #[cold]
    fn page_break(&mut self, batch: &Batch, at: usize, state: &mut LineState, text: &mut TextBuf) {
        // A chunk of a parallel report does not know whether it is the first. It notes the position of the heading, and
        // the writer inserts it.
        if !std::mem::replace(&mut state.has_heading, true) {
            match &mut self.deferred {
                Some(deferred) => deferred.heading = Some(at),
                None => self.begin(batch.system(batch.shared_context(batch.events[at].setting)), text),
            }
        } else if self.page_is_full(state) {
            state.lines_on_page = 0;
            self.column_heading(text);
        }
    }

    /// Appends the heading.
    fn begin(&self, system: &SystemInfo, text: &mut TextBuf) {
        if self.options.no_heading || self.options.stats {
            return;
        }
        match self.options.form {
            Form::Text if self.columns.is_bare() => {}
            Form::Text => {
                write_heading(system, &self.options.time_zone, text);
                self.column_heading(text);
            }
            form @ (Form::Tsv | Form::Csv) => self.columns.write_names(form, text),
            Form::Ndjson => {}
        }
    }

    fn column_heading(&self, text: &mut TextBuf) {
        text.push(self.options.colour.dim());
        self.columns.write_heading(text);
        text.push(self.options.colour.plain());
    }
}

/// Position of a line in its batch and in the text.
#[derive(Clone, Copy)]
struct LinePos {
    /// Index of the event.
    index: usize,
    /// Start of the line.
    start: usize,
    /// Start of the event's text, margin included.
    text: usize,
}

/// The two routines of a row.
#[derive(Clone, Copy)]
struct RowRoutines<'p, 'b> {
    text: &'p PreparedEntry<'b>,
    fields: &'p PreparedFields<'b>,
}

impl<'r> LineWriter<'r> {
    fn new(options: &AixReportOptions, columns: &Columns, logs: &'r [LogInfo]) -> Self {
        let finish = Finish::new(options, columns, logs);
        let fields = FieldPlacement::of(options, columns);
        let cells = match fields {
            _ if options.stats => Cells::none(),
            FieldPlacement::Alone => Cells::before_fields(columns),
            _ => Cells::new(columns, options.form, options.colour),
        };
        let has_counts = options.histogram || options.stats;
        let ends_with_text = finish.is_nothing() && !has_counts && !fields.precedes_text();
        let only_rows = finish.only_rows().filter(|_| !has_counts);
        let ends_with_row = only_rows.filter(|_| fields == FieldPlacement::No);
        Self {
            logs,
            cells,
            times: Times::new(columns),
            context_texts: ContextTexts::new(),
            page_size: if finish.counts_lines() { options.page_size } else { u64::MAX },
            ends_with_text,
            ends_with_row,
            ends_with_fields: only_rows.is_some() && fields == FieldPlacement::Last,
            finish,
            delta_of_all: options.delta_of_all,
            bounds: RunLimits { extent: RunLength::Many, limit: None, steps: 0 },
            has_notes: false,
            ends_simply: false,
            has_more_conditions: false,
            counted: OutcomeCounts::default(),
            counts: if has_counts { vec![0; 1 << 16] } else { Vec::new() },
            unresolved: None,
            guessed: IdSet::default(),
            ends: Vec::new(),
            collects_ends: false,
            form: options.form,
            fields,
            fields_json: TextBuf::new(),
            fields_form: FieldsForm::Json,
            all_fields: TextBuf::new(),
            has_row_texts: false,
            drops_newlines: false,
            flat_rows: Vec::new(),
            flat_lines: Vec::new(),
        }
    }

    /// True if [`Cells::put_on`] can write the cells of an event.
    #[inline(always)]
    fn is_fast<P: Path>(&mut self, batch: &Batch, event: &EventRef, time: EventTimes) -> bool {
        match P::CELLS {
            CellsPath::Plain => return self.times.advance(time),
            CellsPath::Headed => {
                return self.times.advance(time) && self.context_texts.find(batch, event, &self.cells, self.logs);
            }
            CellsPath::TableRow => {
                self.times.advance(time);
                return !self.has_more_conditions || self.context_texts.find(batch, event, &self.cells, self.logs);
            }
            CellsPath::Any => {}
        }
        self.cells.times_fit(&mut self.times, time)
            && (!self.has_more_conditions || self.meets_conditions(batch, event))
    }

    /// Values for the cells of an event.
    #[inline(always)]
    fn values<'v>(&'v self, batch: &'v Batch, event: &EventRef, id: &'v IdCells, time: EventTimes) -> EventValues<'v> {
        let Self { times, context_texts: texts, fields_json, .. } = self;
        EventValues { id, time, times, texts, batch, setting: event.setting, fields: fields_json.as_bytes() }
    }

    #[inline(always)]
    fn meets_conditions(&mut self, batch: &Batch, event: &EventRef) -> bool {
        let has_simple_times = self.bounds.limit.is_none() && !self.delta_of_all;
        has_simple_times && self.context_texts.find(batch, event, &self.cells, self.logs)
    }

    /// Starts a run of lines.
    fn begin(&mut self, bounds: RunLimits) {
        self.bounds = bounds;
        self.has_more_conditions = bounds.limit.is_some() || self.delta_of_all || self.cells.has_context();
        self.has_notes = self.collects_ends || !self.counts.is_empty() || self.finish.counts_lines();
        self.ends_simply = !self.collects_ends && bounds.extent == RunLength::Many;
    }

    /// True if the text of a line matches the pattern. Otherwise the line is removed.
    #[inline(always)]
    fn keeps(&self, layout: Layout, place: LinePos, text: &mut TextBuf) -> bool {
        let keeps = self.finish.admits(layout, place.text, text);
        if !keeps {
            text.truncate(place.start);
        }
        keeps
    }

    /// Slow path: ends a line whose text was printed, and keeps it if the event ended normally. Returns false if the
    /// run of lines ends after it.
    #[inline(never)]
    fn end_slowly<'b>(
        &mut self,
        shown: PreparedEvent<'_, 'b>,
        place: LinePos,
        outcome: Option<Outcome>,
        run: &mut Run<'b>,
        state: &mut LineState,
        text: &mut TextBuf,
    ) -> bool
    where
        'r: 'b,
    {
        let is_skipped = outcome.is_some_and(|outcome| outcome.skipped);
        if outcome.is_some() && !is_skipped && !self.keeps(shown.prepared.layout, place, text) {
            return run.n_steps() < self.bounds.steps;
        }
        if self.fields == FieldPlacement::Last && !is_skipped {
            self.run_fields(shown, run);
        }
        self.end(shown, place, outcome, run, state, text)
    }

    /// Slow path: appends the line of any event. Returns false if the run of lines ends after it.
    #[inline(never)]
    fn write<'b>(
        &mut self,
        shown: PreparedEvent<'_, 'b>,
        index: usize,
        run: &mut Run<'b>,
        state: &mut LineState,
        text: &mut TextBuf,
    ) -> bool
    where
        'r: 'b,
    {
        let PreparedEvent { batch, event, prepared } = shown;
        let logs = self.logs;
        let start = text.len();
        let last_ns = state.last_elapsed_ns;
        let last_ns = if self.delta_of_all { batch.previous_ns(event).unwrap_or(last_ns) } else { last_ns };
        let time = EventTimes { elapsed_ns: event.elapsed_ns, last_ns };
        // Fields that follow the text run only for lines that are kept.
        let has_fields_first = self.fields.precedes_text() || self.fields == FieldPlacement::Row && !self.has_row_texts;
        let of_fields = if has_fields_first { self.run_fields(shown, run) } else { None };
        if prepared.has_cells {
            if self.cells.has_context() {
                self.context_texts.find(batch, event, &self.cells, logs);
            }
            let is_narrow = self.times.advance(time) && !general_path::is_required();
            let values = self.values(batch, event, &prepared.id, time);
            self.cells.append(&values, is_narrow, text);
        }
        if self.fields == FieldPlacement::Alone {
            text.push(self.fields_json.as_bytes());
            text.push(b"}\n");
        }
        let place = LinePos { index, start, text: text.len() };
        let outcome = match &prepared.text {
            // The step limit of the whole report is used up.
            Text::Run(_) if self.bounds.limit == Some(0) => Some(run.limited(start, text)),
            Text::Run(_) if self.has_only_fields() && of_fields.is_some() => of_fields,
            Text::Run(entry) => {
                let line_start = LineStart { layout: prepared.layout, line: start };
                let is_normal = run.run_prepared(entry, &shown.input(logs), line_start, |_| 0, text);
                if is_normal { None } else { Some(run.outcome()) }
            }
            Text::Refused => Some(run.refused(prepared.layout, text)),
            Text::Nothing => Some(Outcome { skipped: true, ..Outcome::default() }),
            Text::Counted => None,
            Text::Ready => batch.formatted(event).map(|(outcome, ready)| {
                if ready.is_empty() && outcome.limited {
                    return run.limited(start, text);
                }
                if ready.starts_with(b"\n") {
                    trim(start, text);
                }
                text.push(ready);
                outcome
            }),
        };
        let is_skipped = outcome.is_some_and(|outcome| outcome.skipped);
        if !is_skipped && !self.keeps(prepared.layout, place, text) {
            return run.n_steps() < self.bounds.steps;
        }
        if !(has_fields_first || is_skipped || self.fields == FieldPlacement::No) {
            self.run_fields(shown, run);
        }
        self.end(shown, place, outcome, run, state, text)
    }

    /// Appends the text of a row, if it has one, and collects its fields. Returns false if the run of lines ends after it.
    #[inline]
    fn write_row<'b>(
        &mut self,
        shown: PreparedEvent<'_, 'b>,
        routines: RowRoutines<'_, 'b>,
        index: usize,
        run: &mut Run<'b>,
        state: &mut LineState,
        text: &mut TextBuf,
    ) -> bool
    where
        'r: 'b,
    {
        let PreparedEvent { event, prepared, .. } = shown;
        let (start, start_of_fields) = (text.len(), self.all_fields.len());
        let input = shown.input(self.logs);
        let mut outcome = Outcome::default();
        if self.has_row_texts {
            let line = LineStart { layout: prepared.layout, line: start };
            if !run.run_prepared(routines.text, &input, line, |_| 0, text) {
                outcome = run.outcome();
            }
            if !outcome.skipped && !self.keeps(prepared.layout, LinePos { index, start, text: start }, text) {
                return run.n_steps() < self.bounds.steps;
            }
        }
        if !outcome.skipped {
            let of_fields = match self.fields_form {
                FieldsForm::Json => routines.fields.write_between(run, &input, true, b"", b"", &mut self.all_fields),
                FieldsForm::Cells => Some(routines.fields.write_cells(run, &input, true, &mut self.all_fields)),
            };
            if !self.has_row_texts {
                outcome = of_fields.unwrap_or_default();
            }
        }
        self.counted.add_outcome(outcome, false);
        if outcome.skipped {
            text.truncate(start);
            self.all_fields.truncate(start_of_fields);
        } else {
            state.last_elapsed_ns = event.elapsed_ns;
            self.drop_newline(text);
            let (event, end, fields) = (index as u32, text.len() as u32, self.all_fields.len() as u32);
            self.ends.push(LineEnd { event, end, fields, note: RowNote::of(outcome) });
        }
        run.n_steps() < self.bounds.steps
    }

    /// Collects rows whose fields are at fixed places, up to one with other fields. Returns their number. `index` is
    /// the index of the first event.
    #[inline]
    fn push_flat_rows(
        &mut self,
        lines: &PreparedLines<'_>,
        events: &[EventRef],
        index: usize,
        state: &mut LineState,
    ) -> usize {
        let fields = self.all_fields.len() as u32;
        let mut n_rows = 0;
        for event in events {
            let Some(line) = lines.get(event).filter(|line| line.has_flat_fields(event)) else { break };
            let index_of_line = line.index as usize;
            if self.flat_rows.len() <= index_of_line {
                self.flat_rows.resize(index_of_line + 1, Vec::new());
            }
            let rows = &mut self.flat_rows[index_of_line];
            if rows.is_empty() {
                self.flat_lines.push(line.index);
            }
            rows.push(self.ends.len() as u32);
            self.ends.push(LineEnd { event: (index + n_rows) as u32, end: 0, fields, note: RowNote::None });
            n_rows += 1;
        }
        if let Some(last) = events[..n_rows].last() {
            state.last_elapsed_ns = last.elapsed_ns;
        }
        self.counted.n_reported += n_rows as u64;
        n_rows
    }

    /// Appends the JSON line of an event that ends with its fields and has no text. Returns false if the run of lines
    /// ends after it.
    #[inline(never)]
    fn write_fields<'b>(
        &mut self,
        shown: PreparedEvent<'_, 'b>,
        index: usize,
        run: &mut Run<'b>,
        state: &mut LineState,
        text: &mut TextBuf,
    ) -> bool
    where
        'r: 'b,
    {
        let PreparedEvent { batch, event, prepared } = shown;
        let start = text.len();
        let time = EventTimes { elapsed_ns: event.elapsed_ns, last_ns: state.last_elapsed_ns };
        text.put_columns(|room| {
            let values = || self.values(batch, event, &prepared.id, time);
            self.cells.put(&prepared.id, values, time, &self.times, room)
        });
        let input = shown.input(self.logs);
        let fields = prepared.fields.as_ref();
        let outcome = fields.and_then(|fields| fields.write_between(run, &input, true, b"", END_LINE, text));
        if outcome.is_none() && self.ends_simply && !self.has_notes && !prepared.is_guess {
            self.counted.n_reported += 1;
            state.last_elapsed_ns = event.elapsed_ns;
            return run.n_steps() < self.bounds.steps;
        }
        let place = LinePos { index, start, text: text.len() };
        self.end(shown, place, outcome, run, state, text)
    }

    /// Appends the line of an event with its fields in a column. Returns false if the run of lines ends after it.
    #[inline(never)]
    fn write_around_fields<'b>(
        &mut self,
        shown: PreparedEvent<'_, 'b>,
        index: usize,
        run: &mut Run<'b>,
        state: &mut LineState,
        text: &mut TextBuf,
    ) -> bool
    where
        'r: 'b,
    {
        let PreparedEvent { batch, event, prepared } = shown;
        let start = text.len();
        let time = EventTimes { elapsed_ns: event.elapsed_ns, last_ns: state.last_elapsed_ns };
        let values = self.values(batch, event, &prepared.id, time);
        text.put_columns(|room| self.cells.put_before_fields(&values, room));
        let input = shown.input(self.logs);
        let mut write = |out: &mut TextBuf| {
            let fields = prepared.fields.as_ref();
            fields.and_then(|fields| fields.write_between(run, &input, true, b"", b"", out))
        };
        let of_fields = match self.form {
            Form::Text | Form::Ndjson => write(text),
            form @ (Form::Tsv | Form::Csv) => {
                self.fields_json.clear();
                let outcome = write(&mut self.fields_json);
                form.value(self.fields_json.as_bytes(), text);
                outcome
            }
        };
        let values = self.values(batch, event, &prepared.id, time);
        text.replace_last(|room| self.cells.put_after_fields(&values, room));
        let place = LinePos { index, start, text: text.len() };
        let outcome = match &prepared.text {
            Text::Run(entry) if self.fields == FieldPlacement::Column => {
                let line_start = LineStart { layout: prepared.layout, line: start };
                let is_normal = run.run_prepared(entry, &input, line_start, |_| 0, text);
                if is_normal { None } else { Some(run.outcome()) }
            }
            _ => of_fields,
        };
        let is_skipped = outcome.is_some_and(|outcome| outcome.skipped);
        if !is_skipped && !self.keeps(prepared.layout, place, text) {
            return run.n_steps() < self.bounds.steps;
        }
        self.end(shown, place, outcome, run, state, text)
    }

    /// Ends a JSON line with the fields of its event. Returns false if the run of lines ends after it.
    #[inline(never)]
    fn end_with_fields<'b>(
        &mut self,
        shown: PreparedEvent<'_, 'b>,
        place: LinePos,
        run: &mut Run<'b>,
        text: &mut TextBuf,
    ) -> bool
    where
        'r: 'b,
    {
        let prepared = shown.prepared;
        self.count(shown.event.id);
        debug_assert!(!prepared.is_plain || Form::Ndjson.is_plain(&text.as_bytes()[place.text..text.len() - 1]));
        // Without the newline, or the quote, the brace and the newline.
        let n_bytes = if prepared.is_plain {
            1
        } else {
            self.finish.line(place.start, place.text, false, text);
            3
        };
        text.truncate(text.len() - n_bytes);
        match &prepared.fields {
            Some(fields) => {
                fields.write_between(run, &shown.input(self.logs), true, AFTER_TEXT, END_LINE, text);
            }
            None => {
                text.push(AFTER_TEXT);
                text.push(b"{}}\n");
            }
        }
        run.n_steps() < self.bounds.steps
    }

    /// True if an event's fields are shown and its text is not.
    fn has_only_fields(&self) -> bool {
        match self.fields {
            FieldPlacement::Only | FieldPlacement::Alone => true,
            FieldPlacement::Row => !self.has_row_texts,
            FieldPlacement::No | FieldPlacement::Column | FieldPlacement::Last => false,
        }
    }

    /// Writes the fields of an event to [`LineWriter::fields_json`]. Returns the outcome if their routine ran.
    #[inline(never)]
    fn run_fields<'b>(&mut self, shown: PreparedEvent<'_, 'b>, run: &mut Run<'b>) -> Option<Outcome>
    where
        'r: 'b,
    {
        let PreparedEvent { batch, event, prepared } = shown;
        self.fields_json.clear();
        match (&prepared.text, &prepared.fields) {
            (Text::Run(_), Some(fields)) if self.bounds.limit != Some(0) => {
                return Some(fields.write_as(
                    self.fields_form,
                    run,
                    &shown.input(self.logs),
                    true,
                    &mut self.fields_json,
                ));
            }
            (Text::Ready, _) => self.fields_json.push(batch.ready_fields(event)),
            _ => self.fields_json.push(self.fields_form.none()),
        }
        None
    }

    /// Ends a line whose text is kept. Returns false if the run of lines ends after it. `outcome` is `None` if the event
    /// ended normally.
    #[inline(never)]
    fn end(
        &mut self,
        shown: PreparedEvent<'_, '_>,
        place: LinePos,
        outcome: Option<Outcome>,
        run: &Run<'_>,
        state: &mut LineState,
        text: &mut TextBuf,
    ) -> bool {
        let PreparedEvent { event, prepared, .. } = shown;
        let has_steps = run.n_steps() < self.bounds.steps;
        let is_skipped = outcome.is_some_and(|outcome| outcome.skipped);
        if is_skipped {
            text.truncate(place.start);
        } else {
            self.finish.line(place.start, place.text, prepared.is_plain && outcome.is_none(), text);
            if self.fields == FieldPlacement::Last && text.as_bytes().ends_with(b"}\n") {
                text.truncate(text.len() - 2);
                text.push(b",\"fields\":");
                text.push(self.fields_json.as_bytes());
                text.push(b"}\n");
            }
        }
        match outcome {
            None => self.counted.n_reported += 1,
            Some(outcome) => {
                let is_over_work = self.bounds.limit.is_some() && !event.is_ready();
                self.counted.add_outcome(outcome, is_over_work);
            }
        }
        if is_skipped {
            return has_steps;
        }
        state.last_elapsed_ns = event.elapsed_ns;
        if self.has_notes | prepared.is_guess {
            self.note(shown, place, outcome, state, text);
        }
        has_steps && self.bounds.extent == RunLength::Many && state.lines_on_page < self.page_size
    }

    /// Records the end of a line, its number of lines on the page, and the hook of its event.
    fn note(
        &mut self,
        PreparedEvent { event, prepared, .. }: PreparedEvent<'_, '_>,
        place: LinePos,
        outcome: Option<Outcome>,
        state: &mut LineState,
        text: &mut TextBuf,
    ) {
        if prepared.is_guess {
            self.guessed.insert(event.id);
            prepared.is_quick.set(prepared.fits);
        }
        state.lines_on_page += self.finish.count_lines(prepared.is_plain, &text.as_bytes()[place.start..]);
        if self.collects_ends {
            if self.fields != FieldPlacement::No {
                self.all_fields.push(self.fields_json.as_bytes());
            }
            self.drop_newline(text);
            let (event, end, fields) = (place.index as u32, text.len() as u32, self.all_fields.len() as u32);
            self.ends.push(LineEnd { event, end, fields, note: outcome.map_or(RowNote::None, RowNote::of) });
        }
        self.count(event.id);
    }

    /// Removes the newline at the end of a line, if lines are collected without it.
    #[inline(always)]
    fn drop_newline(&self, text: &mut TextBuf) {
        if self.drops_newlines && text.as_bytes().last() == Some(&b'\n') {
            text.truncate(text.len() - 1);
        }
    }

    /// Counts a reported event, if events are counted by hook.
    #[inline]
    fn count(&mut self, id: u16) {
        if let Some(count) = self.counts.get_mut(usize::from(id)) {
            *count += 1;
            if let Some(unresolved) = &mut self.unresolved {
                unresolved.push(id);
            }
        }
    }
}

impl Format<Batch> for LineFormat<'_> {
    type State = LineState;

    fn format(&mut self, batch: &Batch, state: Option<&mut LineState>, text: &mut TextBuf) -> bool {
        self.line.ends.clear();
        self.line.all_fields.clear();
        if self.at >= batch.events.len() {
            self.end_batch();
            return false;
        }
        if !self.in_batch {
            self.begin_batch(batch, state.as_deref());
        }
        if let Some(state) = state {
            let more = self.lines(batch, state, text);
            state.steps = self.meter.work().steps;
            self.known_steps.fetch_max(state.steps, Ordering::Relaxed);
            return more;
        }
        let mut state = self.format_deferred(batch, text);
        let more = self.lines(batch, &mut state, text);
        if let Some(deferred) = &mut self.deferred {
            deferred.state = state;
        }
        more
    }

    fn resolve(&mut self, batch: &Batch, state: &mut LineState, head: &mut TextBuf) -> bool {
        if self.deferred.is_some() && !self.meter.resolve(Work { steps: state.steps, bytes: batch.bytes_before }) {
            self.take_back();
            return false;
        }
        self.line.unresolved = None;
        let Some(deferred) = self.deferred.take() else { return true };
        if let Some(at) = deferred.heading
            && !state.has_heading
        {
            self.page_break(batch, at, state, head);
        }
        if let Some(at) = deferred.reported {
            // The line was counted when its batch was formatted.
            let (counted, meter, next) = (self.line.counted, self.meter, std::mem::replace(&mut self.at, at));
            self.format_lines(batch, RunLength::One, state, head);
            (self.line.counted, self.meter, self.at) = (counted, meter, next);
            // The next batch has other contexts.
            self.line.context_texts.forget();
            if let Some(count) = batch.events.get(at).and_then(|event| self.line.counts.get_mut(usize::from(event.id)))
            {
                *count -= 1;
            }
            *state = LineState { has_heading: state.has_heading, ..deferred.state };
        }
        state.steps = self.meter.work().steps;
        self.known_steps.fetch_max(state.steps, Ordering::Relaxed);
        true
    }

    fn take_slow(&mut self) -> Option<String> {
        Some(self.catalog.name_of(self.slow.take()?))
    }
}
