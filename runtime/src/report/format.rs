//! Lines of a report: columns, and the text of each event's template.

use super::batch::{Batch, Setting, Shown};
use super::begins::{AHEAD, Begins, PlainBegin};
use super::heading::{write_heading, write_histogram};
use super::{ReportOptions, Summary, apart, layouts};
use crate::catalog::{Catalog, Entry};
use crate::columns::{Columns, FactsText, Row, Times, trim};
use crate::context::Facts;
use crate::engine::{Format, WRITE_AT};
use crate::forms::Form;
use crate::reader::aix::{LogInfo, SystemInfo};
use crate::screen::{MARK_LEN, marks};
use regex::bytes::Regex;
use tfbc_vm::{Context, Event, Job, Layout, Level, Machine, Outcome, ProcessNames, Run, Scene, TextBuf, Timers};

/// Paths of processes are asked for by templates that the walk runs.
static NO_PATHS: ProcessNames = ProcessNames::new();

/// What a line depends on of the lines before it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Carried {
    /// Elapsed time of the event that was reported last.
    pub(super) last_elapsed_ns: u64,
    begun: bool,
    lines_on_page: u64,
}

/// What makes the lines of a report; each thread has one.
pub(super) struct LineFormat<'r> {
    pub(super) catalog: &'r Catalog<'r>,
    pub(super) options: &'r ReportOptions,
    pub(super) columns: &'r Columns,
    pub(super) logs: &'r [LogInfo],
    /// As in the options, with scratch of its own.
    pub(super) grep: Option<Regex>,
    /// Whether events are formatted apart from their lines.
    apart: bool,
    /// Whether lines are columns and text, and nothing else is asked for.
    plain: bool,
    pub(super) layouts: [Layout; 5],
    machine: Machine,
    /// Templates that ask for timers are run by the walk.
    timers: Timers,
    begins: Begins<'r>,
    facts_texts: FactsTexts,
    /// Text of an event that is formatted apart.
    pub(super) unseen: TextBuf,
    /// A value of a table.
    pub(super) cell: TextBuf,
    pub(super) called: apart::Called,
    /// Index of the event that comes next.
    at: usize,
    /// What is left to be settled.
    left: Option<Left>,
    /// Events that were reported, by canonical id; empty unless they are asked for.
    counts: Vec<u64>,
    counted: Counted,
}

/// What was left out of a text since it was not known what stands before it.
#[derive(Debug, Clone, Copy, Default)]
struct Left {
    /// Index of the event that the heading stands before, if there is none yet.
    heading: Option<usize>,
    /// Index of the first event that is reported: its delta was not known.
    reported: Option<usize>,
    /// What is carried behind the text.
    carried: Carried,
}

/// What formatting counts.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    n_formatted: u64,
    n_reported: u64,
    n_truncated: u64,
    n_limited: u64,
    n_divided: u64,
    n_refused: u64,
}

impl Counted {
    /// Takes in how an event ended; whether it was skipped.
    #[inline]
    fn tell(&mut self, outcome: Outcome) -> bool {
        self.n_reported += u64::from(!outcome.skipped);
        self.n_truncated += u64::from(outcome.truncated);
        self.n_limited += u64::from(outcome.limited);
        self.n_divided += u64::from(outcome.divided_by_zero);
        self.n_refused += u64::from(outcome.refused);
        outcome.skipped
    }
}

/// An event, with all that its line depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'b> {
    pub batch: &'b Batch,
    pub event: &'b Shown,
    pub facts: Facts<'b>,
    context: Context<'b>,
    setting: &'b Setting,
    pub file: &'b [u8],
}

impl<'b> Subject<'b> {
    fn new(batch: &'b Batch, event: &'b Shown, logs: &'b [LogInfo]) -> Self {
        let setting = batch.setting(event.setting);
        let facts = batch.facts(setting, event.tid);
        let log = &logs[setting.log as usize];
        let context = batch.system(setting).context(log, setting.reported_cpus, &facts, &NO_PATHS);
        Self { batch, event, facts, context, setting, file: log.name.as_bytes() }
    }

    /// Goes to another event of the batch.
    #[inline]
    fn go(&mut self, event: &'b Shown, logs: &'b [LogInfo]) {
        if event.setting != self.event.setting {
            *self = Self::new(self.batch, event, logs);
        }
        self.event = event;
        self.facts.tid = event.tid;
        self.context.tid = event.tid;
    }

    /// The event as a template sees it.
    #[inline]
    fn hook(&self) -> Event<'b> {
        self.batch.hook(self.event)
    }

    /// What the columns show.
    #[inline]
    pub fn row<'s>(&'s self, last_elapsed_ns: u64) -> Row<'s> {
        let elapsed_ns = self.event.elapsed_ns;
        Row {
            id: self.event.id,
            elapsed_ns,
            delta_ns: i128::from(elapsed_ns) - i128::from(last_elapsed_ns),
            facts: &self.facts,
            file: self.file,
            reported_cpus: self.context.reported_cpus,
        }
    }
}

/// An event of a batch, for its template.
struct Shot<'b> {
    batch: &'b Batch,
    /// [`Batch::taken`].
    taken: &'b [u8],
    event: &'b Shown,
    logs: &'b [LogInfo],
}

impl<'b> Scene<'b> for Shot<'b> {
    #[inline(always)]
    fn bytes(&self) -> &'b [u8] {
        self.event().bytes
    }

    #[inline(always)]
    fn event(&self) -> Event<'b> {
        self.batch.hook_in(self.taken, self.event)
    }

    fn context(&self) -> Context<'b> {
        Subject::new(self.batch, self.event, self.logs).context
    }
}

/// What the columns show of the settings of a batch, as text.
#[derive(Default)]
struct FactsTexts {
    /// By setting: the thread, and the text where it is not too long.
    known: Vec<Option<(u64, Option<FactsText>)>>,
    scratch: TextBuf,
}

impl FactsTexts {
    /// The text of an event; `None` where it is too long.
    #[inline]
    fn of(&mut self, batch: &Batch, event: &Shown, columns: &Columns, logs: &[LogInfo]) -> Option<&FactsText> {
        let setting = event.setting as usize;
        if !matches!(self.known.get(setting), Some(Some((tid, _))) if *tid == event.tid) {
            if setting >= self.known.len() {
                self.known.resize(setting + 1, None);
            }
            let row = Subject::new(batch, event, logs);
            self.known[setting] = Some((event.tid, columns.facts_text(&row.row(0), &mut self.scratch)));
        }
        self.known[setting].as_ref().and_then(|(_, text)| text.as_ref())
    }

    /// Another batch has other settings.
    fn forget(&mut self) {
        self.known.clear();
    }
}

impl<'r> LineFormat<'r> {
    pub fn new(
        catalog: &'r Catalog<'r>,
        options: &'r ReportOptions,
        columns: &'r Columns,
        logs: &'r [LogInfo],
    ) -> Self {
        Self {
            catalog,
            options,
            columns,
            logs,
            grep: options.grep.clone(),
            apart: options.grep.is_some() || !options.is_text(),
            plain: options.grep.is_none()
                && options.has_lines()
                && options.page_size == 0
                && !options.histogram
                && !options.colour
                && !columns.has_two_lines(),
            layouts: layouts(columns),
            machine: Machine::new(options.limits),
            timers: Timers::new(),
            begins: Begins::new(),
            facts_texts: FactsTexts::default(),
            unseen: TextBuf::new(),
            cell: TextBuf::new(),
            called: apart::Called::default(),
            at: 0,
            left: None,
            counts: if options.histogram || options.stats { vec![0; 1 << 16] } else { Vec::new() },
            counted: Counted::default(),
        }
    }

    /// Takes in what another thread's has counted.
    pub fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, n)| *sum += n);
        let Counted { n_formatted, n_reported, n_truncated, n_limited, n_divided, n_refused } = other.counted;
        self.counted.n_formatted += n_formatted;
        self.counted.n_reported += n_reported;
        self.counted.n_truncated += n_truncated;
        self.counted.n_limited += n_limited;
        self.counted.n_divided += n_divided;
        self.counted.n_refused += n_refused;
    }

    /// Events of the batches that were formatted.
    pub fn n_formatted(&self) -> u64 {
        self.counted.n_formatted
    }

    /// What was counted.
    pub fn summary(&self) -> Summary {
        let Counted { n_reported, n_truncated, n_limited, n_divided, n_refused, .. } = self.counted;
        Summary { n_reported, n_truncated, n_limited, n_divided, n_refused, ..Summary::default() }
    }

    /// Appends what stands behind the last line.
    pub fn end(&mut self, system: &SystemInfo, carried: &mut Carried, text: &mut TextBuf) {
        if !carried.begun {
            self.begin(system, text);
        }
        if self.options.stats {
            apart::write_stats(&self.counts, self.catalog, self.options.form, !self.options.no_heading, text);
        } else {
            write_histogram(&self.counts, self.catalog, text);
        }
    }

    /// Appends the lines of events, until there is text enough: false at the end of the batch.
    #[inline]
    fn lines<'b>(&mut self, subject: &mut Subject<'b>, carried: &mut Carried, text: &mut TextBuf) -> bool
    where
        'r: 'b,
    {
        while let Some(event) = subject.batch.events.get(self.at) {
            let is_plain = self.plain && carried.begun;
            if !is_plain || (!self.plain_lines(subject, carried, text) && !self.knows(event)) {
                self.at += 1;
                subject.go(event, self.logs);
                self.event(subject, carried, text);
            }
            if text.len() >= WRITE_AT {
                return true;
            }
        }
        self.end_batch();
        false
    }

    /// Counts the batch's events, and makes ready for the next one.
    fn end_batch(&mut self) {
        self.counted.n_formatted += self.at as u64;
        self.at = 0;
        self.facts_texts.forget();
    }

    /// Formats events where it is not known what was reported before, up to the first one that is reported.
    fn leave<'b>(&mut self, subject: &mut Subject<'b>, text: &mut TextBuf) -> Carried
    where
        'r: 'b,
    {
        let mut carried = Carried::default();
        let mut left = Left::default();
        let before = self.counted.n_reported;
        self.left = Some(left);
        let batch = subject.batch;
        while let Some(event) = batch.events.get(self.at) {
            self.at += 1;
            subject.go(event, self.logs);
            self.event(subject, &mut carried, text);
            if self.counted.n_reported > before {
                left.reported = Some(self.at - 1);
                text.clear();
                break;
            }
        }
        if let Some(known) = &mut self.left {
            known.reported = left.reported;
        }
        carried
    }

    /// As [`LineFormat::line`], where its questions are answered, of the event that comes next and of those behind it: until
    /// one is ready, or is of another kind than all before, or has more to tell than its text, or there is text enough. False
    /// where nothing was printed.
    fn plain_lines<'b>(&mut self, subject: &mut Subject<'b>, carried: &mut Carried, text: &mut TextBuf) -> bool
    where
        'r: 'b,
    {
        if self.columns.are_usual() && self.columns.show_facts() {
            self.plain_lines_of::<true>(subject, carried, text)
        } else {
            self.plain_lines_of::<false>(subject, carried, text)
        }
    }

    /// The same, where the usual columns show what the events before tell, or show nothing of it.
    #[inline(never)]
    fn plain_lines_of<'b, const FACTS: bool>(
        &mut self,
        subject: &mut Subject<'b>,
        carried: &mut Carried,
        text: &mut TextBuf,
    ) -> bool
    where
        'r: 'b,
    {
        let LineFormat { begins, facts_texts, columns, logs, machine, timers, counted, .. } = self;
        let batch = subject.batch;
        let taken = &batch.taken.bytes[..];
        let events = batch.events.get(self.at..).unwrap_or_default();
        let Some(first) = events.first().and_then(|event| begins.get(event)) else { return false };
        let mut run = machine.start(first.begin.program(), timers);
        let mut rows = [first; AHEAD];
        let are_usual = columns.are_usual();
        let mut times = Times::new();
        let mut last_ns = carried.last_elapsed_ns;
        let (mut n_printed, mut n_told) = (0, 0);
        'events: loop {
            let events = &events[n_printed..];
            let n_known = begins.look_ahead(events, &mut rows);
            if n_known == 0 {
                break;
            }
            for (n, (event, row)) in events.iter().zip(&rows[..n_known]).enumerate() {
                let elapsed_ns = event.elapsed_ns;
                let facts = if FACTS { facts_texts.of(batch, event, columns, logs) } else { None };
                let usual = are_usual && times.hold(elapsed_ns, last_ns) && FACTS == facts.is_some();
                let is_plain = if usual {
                    let shown = (&times, elapsed_ns, elapsed_ns - last_ns);
                    let put = |room: &mut _| columns.put_usual(row.id, facts, shown, room);
                    let place = (row.layout, text.len());
                    run.begun(&row.begin, &Shot { batch, taken, event, logs }, place, put, text)
                } else {
                    subject.go(event, logs);
                    unusual_line(&mut run, row, (subject, logs), (columns, last_ns), text)
                };
                let mut skipped = false;
                if !is_plain {
                    n_told += 1;
                    skipped = counted.tell(run.outcome());
                }
                if !skipped {
                    last_ns = elapsed_ns;
                }
                if text.len() >= WRITE_AT {
                    n_printed += n + 1;
                    break 'events;
                }
            }
            n_printed += n_known;
        }
        self.at += n_printed;
        counted.n_reported += n_printed as u64 - n_told;
        carried.last_elapsed_ns = last_ns;
        true
    }

    /// Makes the next line plain, where it may be.
    #[cold]
    fn knows(&mut self, event: &Shown) -> bool {
        self.begins.add(event, self.catalog, self.columns, &self.layouts)
    }

    fn event(&mut self, subject: &Subject<'_>, carried: &mut Carried, text: &mut TextBuf) {
        let Some(entry) = self.catalog.lookup(subject.event.id) else { return };
        if self.apart {
            self.apart(subject, entry, carried, text);
        } else if self.columns.has_text() {
            self.line(subject, entry, carried, text);
        } else {
            self.columns_only(subject, entry, carried, text);
        }
    }

    fn line(&mut self, subject: &Subject<'_>, entry: &Entry, carried: &mut Carried, text: &mut TextBuf) {
        if !carried.begun || self.options.page_size > 0 {
            self.page_break(subject, carried, text);
        }
        if subject.event.is_ready() {
            return self.ready_line(subject, entry, carried, text);
        }
        let line = text.len();
        self.columns_of(subject, entry.level, carried, text);
        let behind_columns = text.len();
        let layout = self.layouts[entry.level as usize];
        let program = (self.catalog, entry);
        let outcome = run_apart(&mut self.machine, &mut self.timers, program, subject, (layout, line), text);
        if self.columns.has_two_lines() && text.len() == behind_columns + 1 && entry.level != Level::Zero {
            // No text, no line for it.
            text.truncate(behind_columns);
        }
        self.count(subject, outcome, carried);
        self.count_lines(line, carried, text);
    }

    /// The line of an event whose text is ready.
    fn ready_line(&mut self, subject: &Subject<'_>, entry: &Entry, carried: &mut Carried, text: &mut TextBuf) {
        let outcome = self.run_unseen(subject, entry, self.layouts[entry.level as usize]);
        if !outcome.skipped {
            self.take_line(subject, entry.level, carried, text);
        }
        self.count(subject, outcome, carried);
    }

    /// Counts the lines of an event that begins at `line`.
    #[inline]
    pub(super) fn count_lines(&self, line: usize, carried: &mut Carried, text: &TextBuf) {
        if self.options.page_size > 0 {
            let lines = text.as_bytes()[line..].iter().filter(|byte| **byte == b'\n').count();
            carried.lines_on_page += lines as u64;
        }
    }

    #[inline]
    pub(super) fn count(&mut self, subject: &Subject<'_>, outcome: Outcome, carried: &mut Carried) {
        if !self.counted.tell(outcome) {
            carried.last_elapsed_ns = subject.event.elapsed_ns;
            if let Some(count) = self.counts.get_mut(usize::from(subject.event.id)) {
                *count += 1;
            }
        }
    }

    /// A report without text: the template still decides whether there is a line.
    fn columns_only(&mut self, subject: &Subject<'_>, entry: &Entry, carried: &mut Carried, text: &mut TextBuf) {
        let outcome = self.run_unseen(subject, entry, Layout::default());
        if !outcome.skipped {
            self.columns_line(subject, entry.level, carried, text);
        }
        self.count(subject, outcome, carried);
    }

    /// A line of nothing but columns.
    pub(super) fn columns_line(
        &mut self,
        subject: &Subject<'_>,
        level: Level,
        carried: &mut Carried,
        text: &mut TextBuf,
    ) {
        if level != Level::Zero {
            self.page_break(subject, carried, text);
            let line = text.len();
            self.columns_of(subject, level, carried, text);
            trim(line, text);
            text.push(b"\n");
            carried.lines_on_page += 1;
        }
    }

    /// Appends the columns of an event.
    #[inline]
    pub(super) fn columns_of(&self, subject: &Subject<'_>, level: Level, carried: &Carried, text: &mut TextBuf) {
        if level != Level::Zero {
            write_columns(self.columns, self.options.colour, &subject.row(carried.last_elapsed_ns), text);
        }
    }

    /// Formats an event apart from its line.
    pub(super) fn run_unseen(&mut self, subject: &Subject<'_>, entry: &Entry, layout: Layout) -> Outcome {
        self.unseen.clear();
        if let Some((outcome, text)) = subject.batch.ready(subject.event) {
            self.unseen.push(text);
            return outcome;
        }
        let program = (self.catalog, entry);
        run_apart(&mut self.machine, &mut self.timers, program, subject, (layout, 0), &mut self.unseen)
    }

    /// The same behind what stands in a text.
    pub(super) fn run_behind(&mut self, subject: &Subject<'_>, entry: &Entry, out: &mut TextBuf) -> Outcome {
        if let Some((outcome, text)) = subject.batch.ready(subject.event) {
            out.push(text);
            return outcome;
        }
        let (program, line) = ((self.catalog, entry), (Layout::default(), out.len()));
        run_apart(&mut self.machine, &mut self.timers, program, subject, line, out)
    }

    /// The heading before the first line, and the heading line again where a page is full.
    #[cold]
    pub(super) fn page_break(&mut self, subject: &Subject<'_>, carried: &mut Carried, text: &mut TextBuf) {
        if !std::mem::replace(&mut carried.begun, true) {
            match &mut self.left {
                Some(left) => left.heading = Some(self.at.saturating_sub(1)),
                None => self.begin(subject.batch.system(subject.setting), text),
            }
        } else if self.options.form == Form::Text
            && !self.options.no_heading
            && !self.options.stats
            && !self.columns.is_bare()
            && self.options.page_size > 0
            && carried.lines_on_page >= self.options.page_size
        {
            carried.lines_on_page = 0;
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
                write_heading(system, text);
                self.column_heading(text);
            }
            form @ (Form::Tsv | Form::Csv) => apart::write_names(form, self.columns, text),
            Form::Ndjson => {}
        }
    }

    fn column_heading(&self, text: &mut TextBuf) {
        if self.options.colour {
            text.push(&marks().dim);
            self.columns.write_heading(text);
            text.push(&marks().plain);
        } else {
            self.columns.write_heading(text);
        }
    }
}

impl Format<Batch> for LineFormat<'_> {
    type Carried = Carried;

    fn format(&mut self, batch: &Batch, carried: Option<&mut Carried>, text: &mut TextBuf) -> bool {
        let Some(first) = batch.events.get(self.at) else {
            self.end_batch();
            return false;
        };
        let mut subject = Subject::new(batch, first, self.logs);
        if let Some(carried) = carried {
            return self.lines(&mut subject, carried, text);
        }
        let mut carried = self.leave(&mut subject, text);
        let more = self.lines(&mut subject, &mut carried, text);
        if let Some(left) = &mut self.left {
            left.carried = carried;
        }
        more
    }

    fn settle(&mut self, batch: &Batch, carried: &mut Carried, head: &mut TextBuf) {
        let Some(left) = self.left.take() else { return };
        if let Some(event) = left.heading.and_then(|at| batch.events.get(at))
            && !carried.begun
        {
            let subject = Subject::new(batch, event, self.logs);
            self.page_break(&subject, carried, head);
        }
        if let Some(event) = left.reported.and_then(|at| batch.events.get(at)) {
            // It has been counted.
            let counted = self.counted;
            self.event(&Subject::new(batch, event, self.logs), carried, head);
            self.counted = counted;
            if let Some(count) = self.counts.get_mut(usize::from(event.id)) {
                *count -= 1;
            }
            *carried = Carried { begun: carried.begun, ..left.carried };
        }
    }
}

/// Prints a line whose columns are not the usual ones, or have a value that fills its column; as of [`Run::begun`].
#[inline(never)]
fn unusual_line<'b>(
    run: &mut Run<'b>,
    row: &PlainBegin<'b>,
    (subject, logs): (&Subject<'b>, &'b [LogInfo]),
    (columns, last_ns): (&Columns, u64),
    text: &mut TextBuf,
) -> bool {
    let line = text.len();
    columns.write(line, &subject.row(last_ns), text);
    let Subject { batch, event, .. } = *subject;
    let shot = Shot { batch, taken: &batch.taken.bytes, event, logs };
    run.begun(&row.begin, &shot, (row.layout, line), |_| 0, text)
}

/// Runs the template of an event, whose text goes behind what stands from `line` on, where events are not many.
#[inline(never)]
fn run_apart(
    machine: &mut Machine,
    timers: &mut Timers,
    (catalog, entry): (&Catalog<'_>, &Entry),
    subject: &Subject<'_>,
    (layout, line): (Layout, usize),
    out: &mut TextBuf,
) -> Outcome {
    let job = Job { event: &subject.hook(), context: &subject.context, timers, layout, line, out };
    machine.run(catalog.program(entry), entry.hook, job)
}

/// Appends the columns of a line.
#[inline]
fn write_columns(columns: &Columns, colour: bool, row: &Row<'_>, out: &mut TextBuf) {
    let line = out.len();
    if colour {
        out.push(&marks().dim);
        columns.write(line + MARK_LEN, row, out);
        out.push(&marks().plain);
    } else {
        columns.write(line, row, out);
    }
}
