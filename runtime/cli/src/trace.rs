//! Shared by the commands that read traces: flags, opening, and reports with their messages.

use super::console::{CommandResult, Console, Failure, Message, Progress, Status};
use super::file_column::FileColumn;
use super::formats;
use super::inputs::{self, InputCounts, RunSummary};
use super::links::LinkArgs;
use super::pager::{Pager, PagerArgs, ReportOutput};
use super::split_file;
use super::terminal::LinkPlace;
use super::trace_args::TraceArgs;
use std::io::Write;
use std::path::{Path, PathBuf};
use tfbc::aix::{AixSummary, IdSet, TableLimits};
use tfbc::qnx::{QnxReportOptions, QnxSummary};
use tfbc::{
    Form, FormatFile, Formats, Imbalance, MaxWork, Monitor, Notice, Pattern, QnxHeader, ReportError, ReportOptions,
    ReportSummary, Split, System, Trace, TraceInfo, TraceKind, aix, report_with,
};
#[cfg(feature = "arrow")]
use tfbc_data::{NoticeLog, RowSource, Tables};
use tfbc_vm::Limits;

/// Maximum number of damaged places shown per trace. The same number applies separately to notices without a byte
/// range, such as the reason why a compressed file ends.
const MAX_SHOWN: u64 = 100;

/// Opens one trace.
pub fn open(path: &Path, args: &TraceArgs) -> Result<Trace, Failure> {
    if let Some(number) = args.part {
        let split = Split::open_only(path, number);
        let split = split.map_err(|error| split_file::failure(&path.to_string_lossy(), error))?;
        split_file::check_flags(path, &split, args)?;
        return split_file::open_part(path, &split, number);
    }
    Trace::open_with(path, &args.options()).map_err(|error| {
        let forced = if args.format.is_some() { "; --format overrides the detected kind: leave it out" } else { "" };
        let name = if path == Path::new("-") { "standard input".into() } else { path.to_string_lossy() };
        Failure::Error(Message::Unreadable, format!("cannot read {name}: {error}{forced}"))
    })
}

/// Warns if `--format` contradicts the first bytes of the file.
fn warn_of_format(console: &Console, path: &Path, args: &TraceArgs) {
    let given = args.options().format.filter(|given| given.system() == System::Aix);
    if let Some(given) = given
        && path.is_file()
        && let Ok(Some(kind)) = TraceKind::of_file(path)
        && kind != given
    {
        let (name, given, kind) = (path.display(), given.name(), kind.name());
        let text = format!("{name} looks like {kind}, but is read as {given} because of --format {given}");
        console.warning(Message::Notable, text);
    }
}

/// Index of a trace among the inputs.
#[derive(Debug, Clone, Copy)]
pub struct InputIndex {
    pub at: usize,
    pub n: usize,
    pub grows: bool,
}

/// Prints the messages about one trace, with the progress bar hidden.
pub struct Reporter<'c> {
    console: &'c Console,
    /// Prefix of messages; with several logs, the name of the log.
    name: Option<String>,
    progress: Progress,
    /// Number of damaged places with and without a byte range.
    n_seen: [u64; 2],
    /// Damaged places that were not printed: their number, and the byte range from the first to the last.
    unshown: (u64, Option<(u64, u64)>),
}

impl<'c> Reporter<'c> {
    /// Creates a reporter for one trace.
    pub fn new(console: &'c Console, trace: &TraceInfo) -> Self {
        let name = (trace.files.len() == 1).then(|| trace.name.clone());
        Self { console, name, progress: console.progress(trace.progress_end), n_seen: [0; 2], unshown: (0, None) }
    }

    /// Sets the index of the input. A growing trace shows no progress.
    pub fn place(mut self, place: InputIndex) -> Self {
        self.progress.set_input(place.at, place.n);
        if place.grows {
            self.progress.leave_out();
        }
        self
    }

    /// Removes the progress bar and prints what was left out.
    pub fn end(&mut self) {
        self.progress.clear();
        let (n, range) = std::mem::take(&mut self.unshown);
        if n > 0 {
            let range = range.map_or(String::new(), |(from, to)| format!(", from offset {from:#x} to {to:#x}"));
            self.console.error(Message::InvalidEvent, self.named(&format!("{n} more damaged places{range}")));
        }
    }

    fn named(&self, text: &str) -> String {
        self.name.as_ref().map_or_else(|| text.to_owned(), |name| format!("{name}: {text}"))
    }

    fn leave_out(&mut self, notice: &Notice) {
        let (n, range) = &mut self.unshown;
        *n += 1;
        if let Some((from, to)) = notice.skipped {
            let (first, last) = range.unwrap_or((from, to));
            *range = Some((first.min(from), last.max(to)));
        }
    }
}

impl Monitor for Reporter<'_> {
    fn notice(&mut self, notice: &Notice) {
        // Counted separately: a file with thousands of damaged places must not hide the one notice that the compressed
        // data end early.
        let n_seen = &mut self.n_seen[usize::from(notice.skipped.is_none())];
        *n_seen += u64::from(notice.damage);
        if notice.damage && *n_seen > MAX_SHOWN {
            return self.leave_out(notice);
        }
        let text = self.named(&notice.message);
        // Printed while the bar is drawn, the message would end up in the middle of the bar's line.
        self.progress.suspend(|| {
            if notice.damage {
                self.console.error(Message::InvalidEvent, text);
            } else {
                self.console.warning(Message::Notable, text);
            }
        });
    }

    fn guessed_layouts(&mut self, hooks: &IdSet) {
        if !self.console.terse {
            self.progress.suspend(|| self.console.note(hooks.guessed_layouts_note()));
        }
    }

    fn progress(&mut self, offset: u64, n_events: u64) {
        self.progress.advance(offset, n_events);
    }

    fn slow(&mut self, template: &str) {
        self.progress.slow(template);
    }
}

/// Meaning of a command's flags for each kind of trace, computed when the first such trace is opened.
pub struct SystemOptions<'w> {
    /// For AIX traces.
    pub aix: &'w dyn Fn() -> Result<aix::AixReportOptions, Failure>,
    /// For QNX logs: from the log's name and header.
    pub qnx: &'w dyn Fn(&str, &QnxHeader) -> Result<QnxReportOptions, Failure>,
    /// Verbosity per file: 0 nothing, 1 its name, 2 also its kind and how much was reported.
    pub verbose: u8,
    /// Format files from the command line.
    pub formats: Vec<FormatFile>,
    /// Flags that select events.
    pub filters: Vec<&'static str>,
    /// Pattern whose matches are coloured.
    pub hits: Option<Pattern>,
    /// Flag of links to templates; `None` for reports without links.
    pub links: Option<&'w LinkArgs>,
    /// Flags of the pager.
    pub pager: PagerArgs,
}

/// Writes the reports of traces in order to `-o` or standard output. If there are several, unreadable ones are reported
/// and skipped.
pub fn run(
    console: &Console,
    formats: &Formats,
    traces: &[PathBuf],
    args: &TraceArgs,
    wanted: &SystemOptions<'_>,
    output: Option<&Path>,
) -> CommandResult {
    let what = output.map_or(String::from("standard output"), |path| path.display().to_string());
    let failed = |error| Failure::write(&error, &what);
    // Directories are expanded first, so that an output inside one of them is recognised as an input and not
    // overwritten.
    let inputs = inputs::find(console, traces, args)?;
    let traces = &inputs.traces;
    inputs::refuse_output(output, traces, args)?;
    let several = inputs.names_files();
    // Dropped after the output: the pager ends when its input does.
    let mut pager = None;
    let mut out = None;
    let mut so_far = InputsSoFar {
        several: several && !console.compatible,
        mixed: several && inputs::are_mixed(traces, args),
        ..InputsSoFar::default()
    };
    let mut run_summary = RunSummary::default();
    let mut status = inputs.status;
    for (at, path) in traces.iter().enumerate() {
        let place = InputIndex { at: at + 1, n: traces.len(), grows: args.follow };
        let mut ran = || {
            let mut trace = PlannedReport::open_whole(path, args, wanted)?;
            let path = &trace.path(path);
            if trace.info.system == System::Aix {
                name_files(console, &trace.info, wanted.verbose);
            }
            // Warnings about an input follow its opening: an unreadable file gets one message, not two.
            warn_of_format(console, path, args);
            so_far.add(&trace)?;
            // The warning comes after the last input, because any later trace may need the format file.
            if at + 1 == traces.len() {
                let input = path.to_string_lossy();
                formats::warn_of_others(console, &wanted.formats, &so_far.systems, (!several).then_some(&input));
            }
            // The output is created only after the first trace could be opened.
            let out = match &mut out {
                Some(out) => out,
                None => {
                    let (opened, started) = ReportOutput::open(console, output, wanted.pager).map_err(failed)?;
                    pager = started;
                    let is_styled = trace.is_text() && console.colours_output(output);
                    let hits = wanted.hits.as_ref().filter(|_| is_styled);
                    let has_links = is_styled && pager.as_ref().is_none_or(Pager::has_links);
                    let links = wanted.links.filter(|_| has_links);
                    let links = links.and_then(|links| links.links(formats, trace.link_place()?));
                    let opened = match hits {
                        Some(hits) => opened.with_hits(hits),
                        None => opened,
                    };
                    out.insert(match links {
                        Some(links) => opened.with_links(links),
                        None => opened,
                    })
                }
            };
            let counts = if so_far.several && trace.form() != Form::Text {
                let mut rows = FileColumn::new(out, trace.form(), trace.names_columns(&mut so_far), path);
                trace.report(console, formats, wanted.verbose, place, &mut rows)
            } else {
                out.write_all(&trace.divide(path, &mut so_far)).map_err(failed)?;
                trace.report(console, formats, wanted.verbose, place, out)
            };
            let counts = counts.map_err(|error| failure(&path.to_string_lossy(), &what, error))?;
            Ok((path.clone(), trace.info.kind.name(), counts))
        };
        match ran() {
            Ok((path, kind, counts)) => {
                status = status.max(if counts.n_damaged > 0 { Status::Damaged } else { Status::Well });
                run_summary.add(&path, kind, counts);
            }
            // Only unreadable inputs are skipped. A usage error or a full disk would repeat for every input.
            Err(Failure::Error(Message::Unreadable, text)) if several => {
                console.error(Message::Unreadable, text);
                status = status.max(inputs.status_of_unreadable(path));
                run_summary.add_unreadable(path);
            }
            Err(failure) => return Err(failure),
        }
    }
    if let Some(mut out) = out {
        out.flush().map_err(failed)?;
        // Only now does a file of `-o` get its name: a command that fails leaves the previous report unchanged.
        out.into_inner().commit().map_err(failed)?;
    }
    if run_summary.is_unreadable() {
        status = Status::Failed;
    }
    if so_far.several {
        console.note(run_summary.table());
    }
    let InputCounts { n_events, n_reported, .. } = run_summary.total();
    report_no_match(console, &wanted.filters, n_events, n_reported);
    drop(pager);
    Ok(status)
}

/// Failure for a report of the trace `name` to `what`.
pub fn failure(name: &str, what: &str, error: ReportError) -> Failure {
    match error {
        ReportError::Write(error) => Failure::write(&error, what),
        ReportError::Read(error) => Failure::Error(Message::Unreadable, format!("cannot read {name}: {error}")),
        ReportError::NoStart | ReportError::WrongSystem(_) | ReportError::Part(_) => {
            Failure::Error(Message::Usage, format!("{name}: {error}"))
        }
        ReportError::NoStream(why) => {
            Failure::Error(Message::Unsupported, format!("the logs cannot be one raw stream: {why}"))
        }
    }
}

/// Prints the names of opened files if `verbose` asks for it.
pub fn name_files(console: &Console, trace: &TraceInfo, verbose: u8) {
    if verbose > 0 {
        trace.files.iter().for_each(|file| console.note(&file.name));
    }
}

/// Prints the kind of the trace and how much was reported if `verbose` asks for it.
pub fn describe(console: &Console, trace: &TraceInfo, summary: &AixSummary, verbose: u8) {
    if verbose > 1 {
        let (read, reported) = (super::count(summary.n_events, "event"), summary.n_reported);
        console.note(format!("{}: {}, {read}, {reported} reported", trace.name, trace.kind));
    }
}

/// If per-CPU files were selected, their events need no CPU filter; the base file has events of no CPU.
pub fn chosen_files(trace: &TraceInfo, args: &TraceArgs, mut options: aix::AixReportOptions) -> aix::AixReportOptions {
    if args.cpus.is_some() && trace.has_cpu_files {
        options.filter.cpus = None;
    }
    options
}

/// Prints that the selecting flags matched no event.
pub fn report_no_match(console: &Console, filters: &[&str], n_events: u64, n_reported: u64) {
    // Scripts expect an empty report without comment if nothing matches, so this is shown only to people.
    if n_events > 0 && n_reported == 0 && !filters.is_empty() {
        let events = super::count(n_events, "event");
        console.note_on_terminal(format!("0 of {events} match {}", filters.join(", ")));
    }
}

/// Inputs of a run seen so far.
#[derive(Debug, Default)]
struct InputsSoFar {
    /// True if there are several inputs and the output separates them.
    several: bool,
    /// True if there are inputs of both systems.
    mixed: bool,
    systems: Vec<System>,
    /// True if the output has headings.
    is_headed: bool,
    /// True if the output already contains the column names of its table.
    has_names: bool,
}

impl InputsSoFar {
    /// Adds an input. Tables of the two systems have different columns, so they cannot be mixed.
    fn add(&mut self, trace: &PlannedReport) -> Result<(), Failure> {
        if !self.systems.contains(&trace.info.system) {
            self.systems.push(trace.info.system);
        }
        if self.several && (self.mixed || self.systems.len() > 1) && trace.has_columns_of_its_own() {
            let text = "AIX traces and QNX logs are among the inputs, and tables of both have different columns: \
                        report those of one system at a time, or use `--to ndjson`";
            return Err(Failure::Error(Message::Usage, String::from(text)));
        }
        Ok(())
    }
}

/// Opened trace with its report options.
pub struct PlannedReport {
    pub trace: Trace,
    /// Split file that is read instead of the trace.
    split: Option<Split>,
    /// True if the path is one of a split file.
    is_divided: bool,
    pub info: TraceInfo,
    pub options: ReportOptions,
}

impl PlannedReport {
    /// Opens a trace, or a split file for a report of all its parts.
    pub fn open_whole(path: &Path, args: &TraceArgs, wanted: &SystemOptions<'_>) -> Result<Self, Failure> {
        let split = if args.part.is_none() { split_file::open(path)? } else { None };
        let Some(split) = split else { return Self::plan(open(path, args)?, None, args, wanted) };
        split_file::check_flags(path, &split, args)?;
        let first = split_file::open_part(path, &split, 1)?;
        Self::plan(first, Some(split), args, wanted)
    }

    fn plan(trace: Trace, split: Option<Split>, args: &TraceArgs, wanted: &SystemOptions<'_>) -> Result<Self, Failure> {
        let info = trace.info();
        let mut options = ReportOptions::default();
        match &info.qnx_header {
            None => options.aix = chosen_files(&info, args, (wanted.aix)()?),
            Some(header) => options.qnx = (wanted.qnx)(&info.name, header)?,
        }
        let is_divided = split.is_some() || args.part.is_some();
        Ok(Self { trace, split, is_divided, info, options })
    }

    /// Path of the trace; for a split file, the name of the trace that it divides.
    pub fn path(&self, path: &Path) -> PathBuf {
        if self.is_divided { PathBuf::from(&self.info.name) } else { path.to_owned() }
    }

    /// Fills tables with a row for each event, and the times of notices.
    #[cfg(feature = "arrow")]
    pub fn fill(
        &mut self,
        formats: &Formats,
        tables: &mut Tables<'_>,
        notices: Option<&NoticeLog<'_>>,
        monitor: &mut (dyn Monitor + Send),
    ) -> Result<ReportSummary, ReportError> {
        self.row_source(formats).fill(tables, notices, monitor)
    }

    /// Opens the table of an event that has no rows, if the report admits this event alone.
    #[cfg(feature = "arrow")]
    pub fn open_only(&mut self, formats: &Formats, tables: &mut Tables<'_>) -> std::io::Result<()> {
        self.row_source(formats).open_only(tables)
    }

    /// Number of events of a report; `None` if the trace cannot be read.
    #[cfg(feature = "arrow")]
    pub fn count_rows(&mut self, formats: &Formats) -> Option<u64> {
        self.row_source(formats).count().ok()
    }

    #[cfg(feature = "arrow")]
    fn row_source<'r>(&'r mut self, formats: &'r Formats) -> RowSource<'r> {
        RowSource { trace: &mut self.trace, split: self.split.as_ref(), formats, options: &self.options }
    }

    fn form(&self) -> Form {
        match self.info.system {
            System::Aix => self.options.aix.form,
            System::Qnx => self.options.qnx.form,
        }
    }

    /// True if the report has the texts of events, after dimmed columns.
    fn is_text(&self) -> bool {
        let stats = match self.info.system {
            System::Aix => self.options.aix.stats,
            System::Qnx => self.options.qnx.stats,
        };
        self.form() == Form::Text && !stats
    }

    /// Place of the id in a line of the report.
    fn link_place(&self) -> Option<LinkPlace> {
        let columns = match self.info.system {
            System::Aix => &self.options.aix.columns,
            System::Qnx => &self.options.qnx.columns,
        };
        LinkPlace::of(columns, self.info.system)
    }

    /// True if the report is a table whose columns depend on the system.
    fn has_columns_of_its_own(&self) -> bool {
        let stats = match self.info.system {
            System::Aix => self.options.aix.stats,
            System::Qnx => self.options.qnx.stats,
        };
        matches!(self.form(), Form::Tsv | Form::Csv) && !stats
    }

    fn no_heading(&mut self) -> &mut bool {
        match self.info.system {
            System::Aix => &mut self.options.aix.no_heading,
            System::Qnx => &mut self.options.qnx.no_heading,
        }
    }

    /// True if this input writes the column names for all inputs.
    fn names_columns(&mut self, so_far: &mut InputsSoFar) -> bool {
        let no_heading = self.no_heading();
        // Tables of all inputs are one table, so only the first line of the output contains the column names.
        *no_heading |= std::mem::replace(&mut so_far.has_names, true);
        !*no_heading
    }

    /// Line before the report of one of several traces: its name, and its kind if the kinds differ.
    fn divide(&mut self, path: &Path, so_far: &mut InputsSoFar) -> Vec<u8> {
        let is_bare = match self.info.system {
            System::Aix => self.options.aix.columns.is_bare(),
            System::Qnx => self.options.qnx.columns.is_bare(),
        };
        // Bare text and reports without headings are read by other programs, which expect only events.
        if !so_far.several || is_bare || *self.no_heading() {
            return Vec::new();
        }
        let blank = if std::mem::replace(&mut so_far.is_headed, true) { "\n" } else { "" };
        let kind = if so_far.mixed { format!(" ({})", self.info.kind) } else { String::new() };
        format!("{blank}==> {}{kind} <==\n", path.display()).into_bytes()
    }

    /// Writes the report.
    fn report(
        &mut self,
        console: &Console,
        formats: &Formats,
        verbose: u8,
        place: InputIndex,
        out: &mut (impl Write + Send),
    ) -> Result<InputCounts, ReportError> {
        let (info, options) = (&self.info, &self.options);
        let mut reporter = Reporter::new(console, info).place(place);
        let ran = match &self.split {
            Some(split) => split.report(formats, options, out, &mut reporter),
            None => report_with(&mut self.trace, formats, options, out, &mut reporter),
        };
        reporter.end();
        let summary = ran?;
        let n_damaged = self.report_counts(console, &summary);
        let (n_events, n_reported) = match &summary {
            ReportSummary::Aix(summary) => {
                describe(console, info, summary, verbose);
                (summary.n_events, summary.n_reported)
            }
            ReportSummary::Qnx(summary) => (summary.counts.records, summary.n_reported),
        };
        Ok(InputCounts { n_events, n_reported, n_damaged })
    }

    /// Prints the counts of a run. Returns the number of problems that cause exit status 2.
    pub fn report_counts(&self, console: &Console, summary: &ReportSummary) -> u64 {
        let (name, options) = (&self.info.name, &self.options);
        match summary {
            ReportSummary::Aix(summary) => {
                report_counts(console, name, summary, &options.aix);
                n_faults(summary)
            }
            ReportSummary::Qnx(summary) => {
                report_records(console, name, summary, &options.qnx);
                summary.n_damaged + summary.n_refused + u64::from(summary.imbalance.is_some())
            }
        }
    }
}

/// Prints the counts of a QNX log's report.
fn report_records(console: &Console, name: &str, summary: &QnxSummary, options: &QnxReportOptions) {
    let QnxReportOptions { limits, max_work, .. } = *options;
    report_damage(console, name, summary.n_damaged, summary.tally.read, summary.tally.skipped);
    report_imbalance(console, name, summary.imbalance);
    report_refused(console, name, summary.n_refused);
    if summary.n_truncated > 0 {
        let events = super::count(summary.n_truncated, "event");
        console.warning(Message::PastEnd, format!("{name}: the payload ends before the fields of {events}"));
    }
    report_limited(console, name, summary.n_limited, limits);
    report_over_work(console, name, summary.n_over_work, max_work);
}

/// Prints how many events reached a limit; their text also shows it.
pub fn report_limited(console: &Console, name: &str, n_limited: u64, limits: Limits) {
    if n_limited > 0 {
        let Limits { turns, steps, text } = limits;
        let events = super::count(n_limited, "event");
        let reached = format!(
            "{turns} iterations (--max-turns), {steps} steps (--max-steps) or {text} bytes of text (--max-text)"
        );
        console.warning(Message::Notable, format!("{name}: a limit cut the text of {events}: {reached} an event"));
    }
}

/// Prints how many events exceeded the work limit of the whole report; their text also shows it.
pub fn report_over_work(console: &Console, name: &str, n_over_work: u64, max: MaxWork) {
    if n_over_work > 0 {
        let (events, MaxWork(steps)) = (super::count(n_over_work, "event"), max);
        let text = format!(
            "{name}: the templates took more than {steps} steps for each byte of the events: [limit] ends the text of {events} \
             (--max-work raises the limit)"
        );
        console.warning(Message::Notable, text);
    }
}

/// Prints which tables of the report were full.
fn report_lost(console: &Console, name: &str, summary: &AixSummary, tables: TableLimits) {
    let lost = [
        (summary.n_timers_lost, "timers", tables.timers, "--max-timers"),
        (summary.n_processes_lost, "processes or threads", tables.processes, "--max-processes"),
    ];
    for (n, what, max, flag) in lost.into_iter().filter(|(n, ..)| *n > 0) {
        let text = format!("{name}: more than {max} {what} at once: {n} dropped ({flag} raises the limit)");
        console.warning(Message::Notable, text);
    }
}

/// Prints how much of a damaged trace was skipped. AIX's command prints no such line.
fn report_damage(console: &Console, name: &str, n_damaged: u64, read: u64, skipped: u64) {
    if n_damaged > 0 && !console.compatible {
        let (places, bytes) = (super::count(n_damaged, "damaged place"), super::count(read, "byte"));
        console.note(format!("{name}: {places}, {skipped} of {bytes} skipped"));
    }
}

/// Prints which counts of a run do not add up, which would be an internal error.
pub fn report_imbalance(console: &Console, name: &str, imbalance: Option<Imbalance>) {
    if let Some(imbalance) = imbalance {
        console.error(Message::Internal, format!("{name}: internal error: {imbalance}"));
    }
}

/// Number of problems that cause exit status 2.
pub fn n_faults(summary: &AixSummary) -> u64 {
    summary.n_damaged + summary.n_refused + u64::from(summary.imbalance.is_some())
}

/// Prints how many events have the text `[refused]`.
fn report_refused(console: &Console, name: &str, n_refused: u64) {
    if n_refused > 0 {
        let events = super::count(n_refused, "event");
        let text = format!("{name}: the verifier refuses the templates of {events}: `tfbc verify BLOB` shows why");
        console.error(Message::Formats, text);
    }
}

/// Prints the counts of an AIX report.
pub fn report_counts(console: &Console, name: &str, summary: &AixSummary, options: &aix::AixReportOptions) {
    let (read, skipped) = summary.bytes;
    report_damage(console, name, summary.n_damaged, read, skipped);
    report_imbalance(console, name, summary.imbalance);
    report_refused(console, name, summary.n_refused);
    report_limited(console, name, summary.n_limited, options.limits);
    report_over_work(console, name, summary.n_over_work, options.max_work);
    report_lost(console, name, summary, options.tables);
    let counts = [
        (summary.n_truncated, Message::PastEnd, "templates read past the end of"),
        (summary.n_divided, Message::Notable, "templates divided by zero in"),
        (summary.n_clamped, Message::Notable, "time went back in"),
    ];
    for (n, message, what) in counts.into_iter().filter(|(n, ..)| *n > 0) {
        console.warning(message, format!("{name}: {what} {}", super::count(n, "event")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfbc::Tally;

    #[test]
    fn run_with_inconsistent_counts_fails() {
        let sound = Tally { read: 8, header: 0, events: 8, skipped: 0 };
        let of = |tally: Tally| n_faults(&AixSummary { imbalance: tally.check().err(), ..AixSummary::default() });
        assert_eq!((of(sound), of(Tally { read: 9, ..sound })), (0, 1));
    }
}
