//! What commands that read traces share: flags, opening, running a report with its messages.

use super::console::{Console, Ending, Failure, Message, Progress, Status};
use super::inputs::{self, Counts, Overview};
use crate::catalog::Catalog;
use crate::output::Output;
use crate::reader::aix::{AfterDamage, CpuidWord, Kind, Logs, ReadOptions};
use crate::reader::kev::KevLog;
use crate::reader::{AnyTrace, Imbalance, MaxRatio, Notice};
use crate::records::{self, Form, RecordOptions, RecordSummary};
use crate::report::{Monitor, ReportError, ReportOptions, Summary, TableLimits, report};
use crate::screen::Screen;
use clap::{Args, ValueEnum};
use std::io::Write;
use std::path::{Path, PathBuf};
use tfbc_vm::Limits;

/// Damaged places of one trace that are shown one by one; as many that have no bytes of their own, such as why a
/// compressed file ends, come on top.
const MAX_SHOWN: u64 = 100;

/// Flags of every command that reads traces.
#[derive(Debug, Clone, Default, Args)]
pub struct TraceArgs {
    /// Kind of the traces, in place of what their first bytes say
    #[arg(long, value_name = "KIND", help_heading = "Traces")]
    pub format: Option<KindArg>,
    /// Where the cpu id of `trace -p` stands: last word of the event, first behind the hook word, or behind the thread id
    #[arg(long, value_name = "PLACE", default_value = "last", help_heading = "Traces")]
    pub cpuid_word: CpuidWordArg,
    /// Accept generic events longer than a trace buffer takes
    #[arg(long, help_heading = "Traces")]
    pub lenient: bool,
    /// Where an AIX trace goes on behind a malformed event: `resync` at the next place where eight events step cleanly or
    /// the next entry of a log, `next-entry` at the latter alone, so that a stream ends, as AIX's trcrpt does
    #[arg(long, value_name = "WHERE", help_heading = "Traces")]
    pub after_damage: Option<AfterDamageArg>,
    /// Whether the trace grows, for the command that can follow it.
    #[arg(skip)]
    pub follow: bool,
    /// CPUs whose files are read, of a log of one file a CPU: ranges with both ends.
    #[arg(skip)]
    pub cpus: Option<Vec<(u64, u64)>>,
    /// What compressed traces may come to.
    #[arg(skip)]
    pub max_ratio: MaxRatio,
}

/// [`Kind`] on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum KindArg {
    Stream32,
    Stream64,
    Log32,
    Log64,
    Kev,
}

/// [`CpuidWord`] on the command line.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub enum CpuidWordArg {
    #[default]
    Last,
    First,
    AfterTid,
    None,
}

/// [`AfterDamage`] on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum AfterDamageArg {
    Resync,
    NextEntry,
}

impl TraceArgs {
    /// The flags as the reader takes them.
    pub fn options(&self) -> ReadOptions {
        ReadOptions {
            format: self.format.and_then(|kind| match kind {
                KindArg::Stream32 => Some(Kind::Stream32),
                KindArg::Stream64 => Some(Kind::Stream64),
                KindArg::Log32 => Some(Kind::Log32),
                KindArg::Log64 => Some(Kind::Log64),
                KindArg::Kev => None,
            }),
            cpuid_word: match self.cpuid_word {
                CpuidWordArg::Last => CpuidWord::Last,
                CpuidWordArg::First => CpuidWord::First,
                CpuidWordArg::AfterTid => CpuidWord::AfterTid,
                CpuidWordArg::None => CpuidWord::None,
            },
            lenient: self.lenient,
            follow: self.follow,
            cpus: self.cpus.clone(),
            after_damage: match self.after_damage {
                None | Some(AfterDamageArg::Resync) => AfterDamage::Resync,
                Some(AfterDamageArg::NextEntry) => AfterDamage::NextEntry,
            },
            max_ratio: self.max_ratio,
        }
    }
}

/// Opens one trace.
pub fn open(path: &Path, args: &TraceArgs) -> Result<AnyTrace, Failure> {
    let refused = |error| Failure::Say(Message::Unreadable, format!("cannot read {}: {error}", path.display()));
    match args.format {
        Some(KindArg::Kev) => AnyTrace::open_kev(path, &args.options()),
        _ => AnyTrace::open(path, &args.options()),
    }
    .map_err(refused)
}

/// Which of the inputs a trace is.
#[derive(Debug, Clone, Copy)]
struct Place {
    at: usize,
    n: usize,
    grows: bool,
}

/// Says what happens to one trace, with the bar out of the way.
pub struct Announcer<'c> {
    console: &'c Console,
    /// Ahead of each message; of several logs, each message names its own.
    name: Option<String>,
    progress: Progress,
    /// Damaged places with and without bytes of their own.
    n_met: [u64; 2],
    /// Damaged places that were not shown, and the bytes that are skipped from the first of them to the last.
    unshown: (u64, Option<(u64, u64)>),
}

impl<'c> Announcer<'c> {
    /// An announcer for a trace.
    pub fn new(console: &'c Console, name: &str, size: Option<u64>) -> Self {
        Self {
            console,
            name: Some(name.to_owned()),
            progress: console.progress(size),
            n_met: [0; 2],
            unshown: (0, None),
        }
    }

    /// An announcer for the logs of one report.
    pub fn of(console: &'c Console, logs: &Logs) -> Self {
        let name = (logs.logs().len() == 1).then(|| logs.name().to_owned());
        Self { console, name, progress: console.progress(logs.file_size()), n_met: [0; 2], unshown: (0, None) }
    }

    /// Tells which of several inputs it is, counted from 1; a growing one has no progress.
    fn place(mut self, place: Place) -> Self {
        self.progress.among(place.at, place.n);
        if place.grows {
            self.progress.leave_out();
        }
        self
    }

    /// Takes the progress away, and says what was not shown.
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

impl Monitor for Announcer<'_> {
    fn notice(&mut self, notice: &Notice) {
        let n_met = &mut self.n_met[usize::from(notice.skipped.is_none())];
        *n_met += u64::from(notice.damage);
        if notice.damage && *n_met > MAX_SHOWN {
            return self.leave_out(notice);
        }
        let text = self.named(&notice.message);
        self.progress.suspend(|| {
            if notice.damage {
                self.console.error(Message::InvalidEvent, text);
            } else {
                self.console.warning(Message::Notable, text);
            }
        });
    }

    fn progress(&mut self, offset: u64, n_events: u64) {
        self.progress.advance(offset, n_events);
    }
}

/// What a command's flags mean for each kind of trace: known when one is met.
pub struct Wanted<'w> {
    /// For traces of AIX.
    pub aix: &'w dyn Fn() -> Result<ReportOptions, Failure>,
    /// For logs of QNX.
    pub kev: &'w dyn Fn(&KevLog) -> Result<RecordOptions, Failure>,
    /// How much is said of each file: nothing, its name when it is opened, and also what it is and how much of it was
    /// reported.
    pub verbose: u8,
}

/// Writes the reports of traces, one after another, to `-o` or standard output. Of several, one that cannot be read is
/// named and left out.
pub fn run(
    console: &Console,
    catalog: &Catalog<'_>,
    traces: &[PathBuf],
    args: &TraceArgs,
    wanted: &Wanted<'_>,
    output: Option<&Path>,
) -> Ending {
    let what = output.map_or(String::from("standard output"), |path| path.display().to_string());
    let failed = |error| Failure::write(&error, &what);
    let traces = inputs::expand(console, traces, args)?;
    let several = traces.len() > 1;
    let mut out = None;
    let mut headed = Headed::default();
    let mut overview = Overview::default();
    let mut status = Status::Well;
    for (at, path) in traces.iter().enumerate() {
        let place = Place { at: at + 1, n: traces.len(), grows: args.follow };
        let mut ran = || {
            let mut trace = Planned::open(path, args, wanted)?;
            if let Planned::Aix(logs, _) = &trace {
                name_files(console, logs, wanted.verbose);
            }
            // Only a trace that can be read is worth an output.
            let out = match &mut out {
                Some(out) => out,
                None => out.insert(console.open(output).map_err(failed)?),
            };
            if several && !console.compatible {
                out.write_all(&trace.divide(path, &mut headed)).map_err(failed)?;
            }
            trace
                .report(console, catalog, wanted.verbose, place, out)
                .map_err(|error| failure(&path.to_string_lossy(), &what, error))
        };
        match ran() {
            Ok(counts) => {
                status = status.max(if counts.n_damaged > 0 { Status::Damaged } else { Status::Well });
                overview.add(path, Some(counts));
            }
            Err(Failure::Say(Message::Unreadable, text)) if several => {
                console.error(Message::Unreadable, text);
                status = Status::Failed;
                overview.add(path, None);
            }
            Err(failure) => return Err(failure),
        }
    }
    if let Some(out) = out {
        out.into_inner().commit().map_err(failed)?;
    }
    if several && !console.compatible {
        console.note(overview.table());
    }
    Ok(status)
}

/// Why a report of the trace `name` to `what` ended early.
pub fn failure(name: &str, what: &str, error: ReportError) -> Failure {
    match error {
        ReportError::Write(error) => Failure::write(&error, what),
        ReportError::Read(error) => Failure::Say(Message::Unreadable, format!("cannot read {name}: {error}")),
        ReportError::NoStart => Failure::Say(Message::Usage, format!("{name}: {error}")),
        ReportError::NoStream(why) => {
            Failure::Say(Message::Unsupported, format!("the logs cannot be one raw stream: {why}"))
        }
    }
}

/// Names the files that were opened, where that is asked for.
pub fn name_files(console: &Console, logs: &Logs, verbose: u8) {
    if verbose > 0 {
        logs.logs().iter().for_each(|log| console.note(&log.name));
    }
}

/// Says what was read, and how much of it was reported, where that is asked for.
pub fn describe(console: &Console, logs: &Logs, summary: &Summary, verbose: u8) {
    if verbose > 1 {
        let (read, reported) = (super::count(summary.n_events, "event"), summary.n_reported);
        console.note(format!("{}: {}, {read}, {reported} reported", logs.name(), logs.log(0).kind));
    }
}

/// Where files of CPUs were chosen, their events need no choice; the base file has events of no CPU.
pub fn chosen_files(logs: &Logs, args: &TraceArgs, mut options: ReportOptions) -> ReportOptions {
    if args.cpus.is_some() && logs.has_cpu_files() {
        options.filter.cpus = None;
    }
    options
}

/// Which headings stand in the output already.
#[derive(Debug, Default)]
struct Headed {
    any: bool,
    aix: bool,
    kev: bool,
}

/// An opened trace with what is wanted of it.
enum Planned {
    Aix(Box<Logs>, ReportOptions),
    Kev(Box<KevLog>, RecordOptions),
}

impl Planned {
    fn open(path: &Path, args: &TraceArgs, wanted: &Wanted<'_>) -> Result<Self, Failure> {
        Ok(match open(path, args)? {
            AnyTrace::Aix(logs) => {
                let options = chosen_files(&logs, args, (wanted.aix)()?);
                Planned::Aix(logs, options)
            }
            AnyTrace::Kev(log) => {
                let options = (wanted.kev)(&log)?;
                Planned::Kev(log, options)
            }
        })
    }

    /// What stands before the report of one of several traces: its name, where there are headings for people. A table
    /// for programs has one line of names.
    fn divide(&mut self, path: &Path, headed: &mut Headed) -> Vec<u8> {
        let (no_heading, form, bare, headed_kind) = match self {
            Planned::Aix(_, options) => {
                (&mut options.no_heading, options.form, options.columns.is_bare(), &mut headed.aix)
            }
            Planned::Kev(_, options) => {
                (&mut options.no_heading, options.form, options.columns.is_bare(), &mut headed.kev)
            }
        };
        let mut line = Vec::new();
        if form == Form::Text && !bare && !*no_heading {
            let blank = if headed.any { "\n" } else { "" };
            line = format!("{blank}==> {} <==\n", path.display()).into_bytes();
            headed.any = true;
        } else {
            *no_heading |= *headed_kind;
            *headed_kind = true;
        }
        line
    }

    /// Writes the report.
    fn report(
        &mut self,
        console: &Console,
        catalog: &Catalog<'_>,
        verbose: u8,
        place: Place,
        out: &mut Screen<Output>,
    ) -> Result<Counts, ReportError> {
        match self {
            Planned::Aix(logs, options) => {
                let mut announcer = Announcer::of(console, logs).place(place);
                let ran = report(logs, catalog, options, out, &mut announcer);
                announcer.end();
                let summary = ran?;
                announce(console, logs.name(), &summary, options);
                describe(console, logs, &summary, verbose);
                let Summary { n_events, n_reported, .. } = summary;
                Ok(Counts { n_events, n_reported, n_damaged: n_faults(&summary) })
            }
            Planned::Kev(log, options) => {
                let mut announcer = Announcer::new(console, log.name(), log.file_size()).place(place);
                let ran = records::report(log, catalog, options, out, &mut announcer);
                announcer.end();
                let summary = ran?;
                announce_records(console, log.name(), &summary, options.limits);
                let RecordSummary { n_reported, n_damaged, n_refused, counts, imbalance, .. } = summary;
                let n_damaged = n_damaged + n_refused + u64::from(imbalance.is_some());
                Ok(Counts { n_events: counts.records, n_reported, n_damaged })
            }
        }
    }
}

/// Says what the report of a log counted.
fn announce_records(console: &Console, name: &str, summary: &RecordSummary, limits: Limits) {
    announce_damage(console, name, summary.n_damaged, (summary.tally.read, summary.tally.skipped));
    announce_imbalance(console, name, summary.imbalance);
    announce_refused(console, name, summary.n_refused);
    if summary.n_truncated > 0 {
        let events = super::count(summary.n_truncated, "event");
        console.warning(Message::PastEnd, format!("{name}: the payload ends before the fields of {events}"));
    }
    announce_limited(console, name, summary.n_limited, limits);
}

/// Says how many events reached a limit, which their text shows.
fn announce_limited(console: &Console, name: &str, n_limited: u64, limits: Limits) {
    if n_limited > 0 {
        let Limits { turns, steps, text } = limits;
        let events = super::count(n_limited, "event");
        let reached =
            format!("{turns} turns (--max-turns), {steps} steps (--max-steps) or {text} bytes of text (--max-text)");
        console.warning(Message::Notable, format!("{name}: a limit cut the text of {events}: {reached} an event"));
    }
}

/// Says what was too much for the tables that live through a report.
fn announce_lost(console: &Console, name: &str, summary: &Summary, tables: TableLimits) {
    let lost = [
        (summary.n_timers_lost, "timer", tables.timers, "--max-timers"),
        (summary.n_processes_lost, "process or thread", tables.processes, "--max-processes"),
    ];
    for (n, what, max, flag) in lost.into_iter().filter(|(n, ..)| *n > 0) {
        let times = super::count(n, "time");
        let text = format!("{name}: {times} a {what} was not kept beside {max} others ({flag} raises the limit)");
        console.warning(Message::Notable, text);
    }
}

/// Says how much of a damaged trace was skipped. AIX's command does not say so.
fn announce_damage(console: &Console, name: &str, n_damaged: u64, (read, skipped): (u64, u64)) {
    if n_damaged > 0 && !console.compatible {
        let (places, bytes) = (super::count(n_damaged, "damaged place"), super::count(read, "byte"));
        console.note(format!("{name}: {places}, {skipped} of {bytes} skipped"));
    }
}

/// Says which figures of a run do not add up.
pub fn announce_imbalance(console: &Console, name: &str, imbalance: Option<Imbalance>) {
    if let Some(imbalance) = imbalance {
        console.error(Message::Internal, format!("{name}: a fault of this program: {imbalance}"));
    }
}

/// What makes the exit status 2.
pub fn n_faults(summary: &Summary) -> u64 {
    summary.n_damaged + summary.n_refused + u64::from(summary.imbalance.is_some())
}

/// Says how many events have `[refused]` for their text.
fn announce_refused(console: &Console, name: &str, n_refused: u64) {
    if n_refused > 0 {
        let events = super::count(n_refused, "event");
        let text =
            format!("{name}: the verifier refuses the templates of {events}: `tfbc verify` on the blob says why");
        console.error(Message::Formats, text);
    }
}

/// Says what a run counted.
pub fn announce(console: &Console, name: &str, summary: &Summary, options: &ReportOptions) {
    announce_damage(console, name, summary.n_damaged, summary.bytes);
    announce_imbalance(console, name, summary.imbalance);
    announce_refused(console, name, summary.n_refused);
    announce_limited(console, name, summary.n_limited, options.limits);
    announce_lost(console, name, summary, options.tables);
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
    use crate::reader::Tally;

    #[test]
    fn a_run_whose_figures_do_not_add_up_is_at_fault() {
        let sound = Tally { read: 8, header: 0, events: 8, skipped: 0 };
        let of = |tally: Tally| n_faults(&Summary { imbalance: tally.check().err(), ..Summary::default() });
        assert_eq!((of(sound), of(Tally { read: 9, ..sound })), (0, 1));
    }
}
