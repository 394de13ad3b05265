//! Lines of a report: columns, and the text of each event's template.

use super::batch::{Batch, Shown};
use super::cells::{Cells, ContextTexts, Labels, Times, Values};
use super::finish::Finish;
use super::heading::{write_heading, write_histogram, write_stats};
use super::prepared::{AHEAD, PreparedLines, Text};
use super::{ReportOptions, Summary};
use crate::catalog::Catalog;
use crate::columns::{Columns, trim};
use crate::engine::{Format, WRITE_AT};
use crate::forms::Form;
use crate::ids::IdSet;
use crate::needs::Readers;
use crate::reader::aix::{LogInfo, SystemInfo};
use crate::screen::marks;
use crate::work::{Meter, Work};
use std::sync::atomic::{AtomicU64, Ordering};
use tfbc_vm::{Context, Event, Layout, Machine, Outcome, ProcessNames, Run, Scene, TextBuf, Timers};

/// Paths of processes are asked for by templates that the walk runs.
static NO_PATHS: ProcessNames = ProcessNames::new();

/// What a line depends on of the lines before it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Carried {
    /// Elapsed time of the event that was reported last.
    pub(super) last_elapsed_ns: u64,
    /// Steps that templates took.
    steps: u64,
    begun: bool,
    lines_on_page: u64,
}

/// Formatter of a report's lines; each thread has one.
pub(super) struct LineFormat<'r> {
    catalog: &'r Catalog<'r>,
    options: &'r ReportOptions,
    columns: &'r Columns,
    logs: &'r [LogInfo],
    cells: Cells,
    finish: Finish,
    /// True if lines have nothing after their text, and nothing but events is counted.
    is_plain: bool,
    layouts: [Layout; 5],
    machine: Machine,
    /// Templates that ask for timers are run by the walk.
    timers: Timers,
    meter: Meter,
    /// Steps of all events up to a batch that was written; those of later ones are more.
    known_steps: &'r AtomicU64,
    /// Hook of the template that took most of the steps lately.
    slow: Option<u16>,
    lines: PreparedLines<'r>,
    times: Times,
    context_texts: ContextTexts,
    labels: Labels,
    /// Tells which routines may skip an event, if the report counts events and formats no others.
    readers: Option<Readers<'r>>,
    /// Index of the event that comes next.
    at: usize,
    /// True if the batch has begun, and for how many of its events the meter knows the bytes.
    in_batch: bool,
    n_metered: usize,
    /// What is left to be settled.
    left: Option<Left>,
    /// What had been counted before a batch, and the ids that were counted in it as long as its text may not stand.
    before: Counted,
    unsettled: Vec<u16>,
    /// Events that were reported, by canonical id; empty unless they are asked for.
    counts: Vec<u64>,
    /// Hooks whose events a stanza of the built-in format file printed.
    guessed: IdSet,
    counted: Counted,
    /// Ends of the lines in the text, if they are collected.
    ends: Option<Vec<LineEnd>>,
}

/// End of an event's line in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineEnd {
    /// Index of the event in its batch.
    pub event: u32,
    pub end: u32,
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

/// How many events are formatted in one go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    One,
    /// Up to the first one that is reported.
    First,
    Many,
}

/// What formatting counts.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    n_formatted: u64,
    n_reported: u64,
    n_truncated: u64,
    n_limited: u64,
    n_over_work: u64,
    n_divided: u64,
    n_refused: u64,
}

impl Counted {
    /// Counts an event that did not end normally; `is_over_work` tells that a limit of it is that of the whole report.
    #[inline]
    fn tell(&mut self, outcome: Outcome, is_over_work: bool) {
        self.n_reported += u64::from(!outcome.skipped);
        self.n_truncated += u64::from(outcome.truncated);
        self.n_limited += u64::from(outcome.limited && !is_over_work);
        self.n_over_work += u64::from(outcome.limited && is_over_work);
        self.n_divided += u64::from(outcome.divided_by_zero);
        self.n_refused += u64::from(outcome.refused);
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
        self.batch.hook(self.taken, self.event)
    }

    fn context(&self) -> Context<'b> {
        let Self { batch, event, logs, .. } = *self;
        let setting = batch.setting(event.setting);
        let log = &logs[setting.log as usize];
        batch.system(setting).context(log, setting.reported_cpus, &batch.facts(setting, event.tid), &NO_PATHS)
    }
}

impl<'r> LineFormat<'r> {
    pub fn new(
        catalog: &'r Catalog<'r>,
        options: &'r ReportOptions,
        (columns, layouts): (&'r Columns, [Layout; 5]),
        logs: &'r [LogInfo],
        known_steps: &'r AtomicU64,
    ) -> Self {
        let finish = Finish::new(options, columns);
        Self {
            catalog,
            options,
            columns,
            logs,
            cells: if options.stats { Cells::none() } else { Cells::new(columns, options.form, options.colour) },
            is_plain: finish.is_nothing() && !options.histogram && !options.stats && !options.delta_of_all,
            finish,
            layouts,
            machine: Machine::new(options.limits),
            timers: Timers::new(),
            meter: Meter::new(options.max_work, options.limits.steps),
            known_steps,
            slow: None,
            lines: PreparedLines::new(),
            times: Times::new(columns),
            context_texts: ContextTexts::default(),
            labels: Labels::default(),
            readers: (options.stats && options.grep.is_none()).then(|| Readers::new(catalog)),
            at: 0,
            in_batch: false,
            n_metered: 0,
            left: None,
            before: Counted::default(),
            unsettled: Vec::new(),
            counts: if options.histogram || options.stats { vec![0; 1 << 16] } else { Vec::new() },
            guessed: IdSet::default(),
            counted: Counted::default(),
            ends: None,
        }
    }

    /// Collects where each event's line ends from now on.
    pub fn collect_ends(&mut self) {
        self.ends = Some(Vec::new());
        self.is_plain = false;
    }

    /// Ends of the lines in the text that was formatted last, in order.
    #[inline]
    pub fn ends(&self) -> &[LineEnd] {
        self.ends.as_deref().unwrap_or_default()
    }

    /// Hooks whose events a stanza of the built-in format file printed.
    pub fn guessed(&self) -> &IdSet {
        &self.guessed
    }

    /// Takes in what another thread's has counted.
    pub fn add(&mut self, other: &Self) {
        self.guessed.extend(&other.guessed);
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, n)| *sum += n);
        let Counted { n_formatted, n_reported, n_truncated, n_limited, n_over_work, n_divided, n_refused } =
            other.counted;
        self.counted.n_formatted += n_formatted;
        self.counted.n_reported += n_reported;
        self.counted.n_truncated += n_truncated;
        self.counted.n_limited += n_limited;
        self.counted.n_over_work += n_over_work;
        self.counted.n_divided += n_divided;
        self.counted.n_refused += n_refused;
    }

    /// Events of the batches that were formatted.
    pub fn n_formatted(&self) -> u64 {
        self.counted.n_formatted
    }

    /// What was counted.
    pub fn summary(&self) -> Summary {
        let Counted { n_reported, n_truncated, n_limited, n_over_work, n_divided, n_refused, .. } = self.counted;
        Summary { n_reported, n_truncated, n_limited, n_over_work, n_divided, n_refused, ..Summary::default() }
    }

    /// Appends what stands behind the last line.
    pub fn end(&mut self, system: &SystemInfo, carried: &mut Carried, text: &mut TextBuf) {
        if !carried.begun {
            self.begin(system, text);
        }
        if self.options.stats {
            write_stats(&self.counts, self.catalog, self.options.form, !self.options.no_heading, text);
        } else {
            write_histogram(&self.counts, self.catalog, text);
        }
    }

    /// Appends the lines of events, until there is text enough: false at the end of the batch.
    #[inline]
    fn lines<'b>(&mut self, batch: &'b Batch, carried: &mut Carried, text: &mut TextBuf) -> bool
    where
        'r: 'b,
    {
        while self.at < batch.events.len() {
            if !self.may_go_on(batch) || self.slow.is_some() {
                return true;
            }
            if self.heading_is_due(carried) {
                self.first_line(batch, carried, text);
            } else {
                self.prepared_lines(batch, Extent::Many, carried, text);
            }
            if text.len() >= WRITE_AT {
                return true;
            }
        }
        self.end_batch();
        false
    }

    /// Sees to the limit of the event that comes next; false if all is in vain, and to be formatted again.
    #[inline]
    fn may_go_on(&mut self, batch: &Batch) -> bool {
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

    /// Begins with a batch, after what is carried to it where that is known.
    fn begin_batch(&mut self, batch: &Batch, carried: Option<&Carried>) {
        (self.in_batch, self.n_metered) = (true, 0);
        self.before = self.counted;
        let known = || self.known_steps.load(Ordering::Relaxed);
        let steps = carried.map_or_else(known, |carried| carried.steps);
        self.meter.begin(Work { steps, bytes: batch.bytes_before }, carried.is_none());
    }

    /// Forgets the text of a batch whose beginning was guessed wrong.
    #[cold]
    fn take_back(&mut self) {
        self.counted = self.before;
        for id in self.unsettled.drain(..) {
            self.counts[usize::from(id)] -= 1;
        }
        (self.at, self.in_batch, self.left) = (0, false, None);
        self.context_texts.forget();
    }

    /// Counts the batch's events, and makes ready for the next one.
    fn end_batch(&mut self) {
        self.counted.n_formatted += self.at as u64;
        (self.at, self.in_batch) = (0, false);
        self.context_texts.forget();
    }

    /// Formats events if it is not known what was reported before, up to the first one that is reported.
    fn leave(&mut self, batch: &Batch, text: &mut TextBuf) -> Carried {
        let mut carried = Carried::default();
        let before = self.counted.n_reported;
        self.left = Some(Left::default());
        while self.at < batch.events.len() && self.may_go_on(batch) {
            self.first_line(batch, &mut carried, text);
            if self.counted.n_reported > before {
                if let Some(left) = &mut self.left {
                    left.reported = Some(self.at - 1);
                }
                text.clear();
                break;
            }
        }
        carried
    }

    /// Appends the next line that is reported, after the heading if that is due.
    #[inline(never)]
    fn first_line(&mut self, batch: &Batch, carried: &mut Carried, text: &mut TextBuf) {
        let (line, n_reported) = (text.len(), self.counted.n_reported);
        let is_due = self.heading_is_due(carried);
        // Lines for people come after a heading even if their event is skipped.
        let comes_first = self.options.has_lines() && self.options.grep.is_none();
        if is_due && comes_first {
            self.page_break(batch, self.at, carried, text);
        }
        let lines_before = carried.lines_on_page;
        self.prepared_lines(batch, Extent::First, carried, text);
        if is_due && !comes_first && self.counted.n_reported > n_reported && text.len() > line {
            let own = text.as_bytes()[line..].to_vec();
            text.truncate(line);
            let n_lines = carried.lines_on_page - lines_before;
            self.page_break(batch, self.at - 1, carried, text);
            carried.lines_on_page = n_lines;
            text.push(&own);
        }
    }

    /// Appends the lines of events: at most `extent`, until there is text enough, the page is full, or the events have taken
    /// many steps.
    fn prepared_lines<'b>(&mut self, batch: &'b Batch, extent: Extent, carried: &mut Carried, text: &mut TextBuf)
    where
        'r: 'b,
    {
        if let Some(event) = batch.events.get(self.at)
            && self.lines.get(event).is_none()
        {
            self.prepare(event);
        }
        // The limit of the whole report is that of one event.
        let extent = if self.meter.limit().is_some() { Extent::One } else { extent };
        if self.is_plain && extent == Extent::Many {
            self.lines_of::<false>(batch, extent, carried, text);
        } else {
            self.lines_of::<true>(batch, extent, carried, text);
        }
    }

    /// Prepares the line of an event.
    #[cold]
    fn prepare(&mut self, event: &Shown) {
        let entry = self.catalog.lookup(event.id);
        let is_counted = !event.is_ready()
            && self.readers.as_mut().zip(entry).is_some_and(|(readers, entry)| !readers.may_skip(entry));
        self.lines.add(event, self.catalog, (&self.layouts, &self.cells), is_counted);
    }

    /// Appends lines as of [`LineFormat::prepared_lines`]. `MORE` is false if a line ends with its text and nothing but
    /// events is counted: [`LineFormat::is_plain`].
    #[inline(never)]
    fn lines_of<'b, const MORE: bool>(
        &mut self,
        batch: &'b Batch,
        extent: Extent,
        carried: &mut Carried,
        text: &mut TextBuf,
    ) where
        'r: 'b,
    {
        let max_lines = self.page_size();
        let LineFormat {
            lines,
            context_texts,
            labels,
            cells,
            finish,
            times,
            logs,
            machine,
            timers,
            counted,
            meter,
            counts,
            unsettled,
            left,
            guessed,
            catalog,
            options,
            ends,
            ..
        } = self;
        let room = meter.room();
        let limit = if MORE { meter.limit() } else { None };
        let taken = &batch.taken.bytes[..];
        let events = batch.events.get(self.at..).unwrap_or_default();
        let events = if extent == Extent::One { &events[..events.len().min(1)] } else { events };
        let Some(first) = events.first().and_then(|event| lines.get(event)) else { return };
        let Some(program) = catalog.programs().first() else { return };
        let mut run = machine.start(program, timers);
        limit.into_iter().for_each(|limit| run.limit_steps(limit));
        let mut ahead = [first; AHEAD];
        let mut last_ns = carried.last_elapsed_ns;
        let (mut n_printed, mut n_told) = (0, 0);
        'events: loop {
            let events = &events[n_printed..];
            let n_known = lines.look_ahead(events, &mut ahead);
            if n_known == 0 {
                break;
            }
            for (n, (event, prepared)) in events.iter().zip(&ahead[..n_known]).enumerate() {
                let elapsed_ns = event.elapsed_ns;
                let from_ns =
                    if MORE && options.delta_of_all { batch.previous_ns(event).unwrap_or(last_ns) } else { last_ns };
                if MORE && matches!(prepared.text, Text::Counted) {
                    if let Some(count) = counts.get_mut(usize::from(event.id)) {
                        *count += 1;
                    }
                    if left.is_some() {
                        unsettled.push(event.id);
                    }
                    last_ns = elapsed_ns;
                    if extent == Extent::First {
                        n_printed += n + 1;
                        break 'events;
                    }
                    continue;
                }
                let line = text.len();
                let mut fits = prepared.is_quick && limit.is_none();
                if prepared.has_cells {
                    fits &= context_texts.find(batch, event, cells, logs) && cells.hold(times, elapsed_ns, from_ns);
                }
                let label = if MORE && prepared.has_cells { labels.of(event.id, catalog, cells) } else { &[] };
                let context = context_texts.of(event, cells);
                let values = || Values { id: prepared.id, elapsed_ns, last_ns: from_ns, context, label };
                if prepared.has_cells && !fits {
                    cells.append(&values(), times, text);
                }
                let routine = match &prepared.text {
                    Text::Run(begin) if limit != Some(0) => Some(begin),
                    _ => None,
                };
                let mut start = text.len();
                // None if the event ended normally.
                let outcome = match routine {
                    Some(begin) => {
                        let put = |room: &mut _| {
                            let len = if fits { cells.put(values, times, room) } else { 0 };
                            start += len;
                            len
                        };
                        let shot = Shot { batch, taken, event, logs };
                        let is_normal = run.begun(begin, &shot, (prepared.layout, line), put, text);
                        if is_normal { None } else { Some(run.outcome()) }
                    }
                    None => Some(other_text(&prepared.text, (batch, event), (prepared.layout, line), &run, text)),
                };
                let is_skipped = outcome.is_some_and(|outcome| outcome.skipped);
                if is_skipped {
                    text.truncate(line);
                }
                let is_wanted = !MORE || is_skipped || finish.line(prepared.layout, line, start, text);
                let mut has_room = true;
                if let Some(outcome) = outcome {
                    has_room = run.n_steps() < room;
                    if is_wanted {
                        n_told += 1;
                        counted.tell(outcome, limit.is_some() && !event.is_ready());
                    }
                }
                if !is_wanted {
                    n_told += 1;
                } else if !is_skipped {
                    last_ns = elapsed_ns;
                    if prepared.is_guess {
                        guessed.insert(event.id);
                    }
                    if MORE {
                        if let Some(ends) = ends {
                            let event = (self.at + n_printed + n) as u32;
                            ends.push(LineEnd { event, end: text.len() as u32 });
                        }
                        carried.lines_on_page += finish.count_lines(&text.as_bytes()[line..]);
                        if let Some(count) = counts.get_mut(usize::from(event.id)) {
                            *count += 1;
                            if left.is_some() {
                                unsettled.push(event.id);
                            }
                        }
                    }
                }
                let is_full =
                    MORE && (carried.lines_on_page >= max_lines || extent == Extent::First && is_wanted && !is_skipped);
                if text.len() >= WRITE_AT || is_full || !has_room {
                    n_printed += n + 1;
                    break 'events;
                }
            }
            n_printed += n_known;
        }
        meter.take(run.n_steps(), n_printed as u64);
        self.at += n_printed;
        counted.n_reported += n_printed as u64 - n_told;
        carried.last_elapsed_ns = last_ns;
    }

    /// Lines of a page; as good as no limit if there are no pages.
    fn page_size(&self) -> u64 {
        if self.finish.counts_lines() { self.options.page_size } else { u64::MAX }
    }

    /// True if a heading comes before the next line.
    fn heading_is_due(&self, carried: &Carried) -> bool {
        !self.options.stats && (!carried.begun || self.page_is_full(carried))
    }

    /// True if the heading line is due.
    fn page_is_full(&self, carried: &Carried) -> bool {
        carried.lines_on_page >= self.page_size()
    }

    /// Appends the heading before the first line, and the heading line again if a page is full. `at` is the index of the
    /// event that follows.
    #[cold]
    fn page_break(&mut self, batch: &Batch, at: usize, carried: &mut Carried, text: &mut TextBuf) {
        if !std::mem::replace(&mut carried.begun, true) {
            match &mut self.left {
                Some(left) => left.heading = Some(at),
                None => self.begin(batch.system(batch.setting(batch.events[at].setting)), text),
            }
        } else if self.page_is_full(carried) {
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
                write_heading(system, &self.options.time_zone, text);
                self.column_heading(text);
            }
            form @ (Form::Tsv | Form::Csv) => self.columns.write_names(form, text),
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
        if let Some(ends) = &mut self.ends {
            ends.clear();
        }
        if self.at >= batch.events.len() {
            self.end_batch();
            return false;
        }
        if !self.in_batch {
            self.begin_batch(batch, carried.as_deref());
        }
        if let Some(carried) = carried {
            let more = self.lines(batch, carried, text);
            carried.steps = self.meter.work().steps;
            self.known_steps.fetch_max(carried.steps, Ordering::Relaxed);
            return more;
        }
        let mut carried = self.leave(batch, text);
        let more = self.lines(batch, &mut carried, text);
        if let Some(left) = &mut self.left {
            left.carried = carried;
        }
        more
    }

    fn settle(&mut self, batch: &Batch, carried: &mut Carried, head: &mut TextBuf) -> bool {
        if self.left.is_some() && !self.meter.settle(Work { steps: carried.steps, bytes: batch.bytes_before }) {
            self.take_back();
            return false;
        }
        self.unsettled.clear();
        let Some(left) = self.left.take() else { return true };
        if let Some(at) = left.heading
            && !carried.begun
        {
            self.page_break(batch, at, carried, head);
        }
        if let Some(at) = left.reported {
            // It has been counted.
            let (counted, meter, next) = (self.counted, self.meter, std::mem::replace(&mut self.at, at));
            self.lines_of::<true>(batch, Extent::One, carried, head);
            (self.counted, self.meter, self.at) = (counted, meter, next);
            // The next batch has other contexts.
            self.context_texts.forget();
            if let Some(count) = batch.events.get(at).and_then(|event| self.counts.get_mut(usize::from(event.id))) {
                *count -= 1;
            }
            *carried = Carried { begun: carried.begun, ..left.carried };
        }
        carried.steps = self.meter.work().steps;
        self.known_steps.fetch_max(carried.steps, Ordering::Relaxed);
        true
    }

    fn take_slow(&mut self) -> Option<String> {
        Some(self.catalog.name_of(self.slow.take()?))
    }
}

/// Appends the text of an event whose routine is not run.
#[inline(never)]
fn other_text(
    text: &Text<'_>,
    (batch, event): (&Batch, &Shown),
    (layout, line): (Layout, usize),
    run: &Run<'_>,
    out: &mut TextBuf,
) -> Outcome {
    match text {
        // The report's steps are used up.
        Text::Run(_) => run.limited(line, out),
        Text::Refused => run.refused(layout, out),
        Text::Counted | Text::Nothing => Outcome { skipped: true, ..Outcome::default() },
        Text::Ready => {
            let Some((outcome, text)) = batch.ready(event) else { return Outcome::default() };
            if text.starts_with(b"\n") {
                trim(line, out);
            }
            out.push(text);
            outcome
        }
    }
}
