//! `tfbc latency`: times between two events.

use super::analyse::{self, Screen, SpanArgs};
use super::console::{CommandResult, Console, Failure, Message, Status};
use super::formats::{self, LanguageArgs};
use super::inputs;
use super::overwrite;
use super::pager::{Pager, PagerArgs, ReportOutput};
use super::summary::FormArg;
use super::terminal::TerminalWriter;
use super::trace_args::TraceArgs;
use clap::{ArgGroup, Args, ValueEnum};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tfbc::{Expression, Form, Formats, System};
use tfbc_analysis::latency::{
    GroupOrder, Latency, Matching, Pair, PairOptions, PairSource, PairWriter, Percentile, field_names, latency,
};
use tfbc_analysis::{AnalysisOptions, TextLayout, write};
use tfbc_vm::TextBuf;

/// Largest number of pairs for `--outliers`.
const MAX_OUTLIERS: u64 = 1 << 20;
/// Groups with a histogram.
const HISTOGRAMS: usize = 8;

/// Flags of `tfbc latency`.
#[derive(Debug, Clone, Args)]
#[command(group(ArgGroup::new("pairs").required(true).args(["start", "pair", "timers"])))]
pub struct LatencyArgs {
    /// Events that start a pair: ids as --only takes them, HOOK.SUBHOOK, and conditions on fields, such as
    /// '101{svc=kread}' or '105.1|105.2'
    #[arg(long, value_name = "EXPR", value_parser = Expression::parse, requires = "end")]
    start: Option<Expression>,
    /// Events that end a pair
    #[arg(long, value_name = "EXPR", value_parser = Expression::parse, requires = "start")]
    end: Option<Expression>,
    /// Pair of the context table. AIX: svc, slih, flih, run, lvm. QNX: kercall, irq, handler, ready, reply
    #[arg(long, value_name = "NAME")]
    pair: Option<String>,
    /// Timers that templates start and end (AIX)
    #[arg(long)]
    timers: bool,
    /// Fields that start and end have in common; `a=b` compares the start's a with the end's b. By default tid (AIX) or
    /// thread (QNX)
    #[arg(long, value_name = "FIELDS")]
    key: Option<String>,
    /// Fields of the start (`end.x`: of the end) by which pairs are grouped
    #[arg(long, value_name = "FIELDS")]
    by: Option<String>,
    /// Which start an end belongs to if several are open
    #[arg(long = "match", value_name = "WHICH", default_value = "newest", value_enum)]
    matching: MatchArg,
    /// Count pairs even if events were lost or tracing was off between their events
    #[arg(long)]
    across_gaps: bool,
    /// Only pairs of at least this time
    #[arg(long, value_name = "NS", default_value_t = 0, hide_default_value = true)]
    min: u64,
    /// Only pairs of at most this time
    #[arg(long, value_name = "NS", default_value_t = u64::MAX, hide_default_value = true)]
    max: u64,
    /// Percentiles, with at most three decimals
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "50,90,99,99.9", value_parser = percentile)]
    percentiles: Vec<Percentile>,
    /// Show a histogram per group, as long as the terminal is wide
    #[arg(long, visible_alias = "plot")]
    hist: bool,
    /// List all pairs in the order of their ends, instead of groups
    #[arg(long)]
    list: bool,
    /// List the longest pairs, longest first, instead of groups
    #[arg(long, value_name = "N", conflicts_with = "list", value_parser = clap::value_parser!(u64).range(1..=MAX_OUTLIERS))]
    outliers: Option<u64>,
    /// Order of the groups
    #[arg(long, value_name = "KEY", default_value = "sum", value_enum)]
    sort: GroupSortArg,
    /// Number of groups; another row sums up the others. Histograms: 8 by default
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    #[command(flatten)]
    span: SpanArgs,
    /// Output format
    #[arg(long, value_name = "FORM", default_value = "text", value_enum)]
    to: FormArg,
    /// Format file, source or blob, for --timers and the fields text and data.NAME; later ones win. `default` is the
    /// built-in file
    #[arg(short = 't', long = "formats", value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    /// Read all traces as one, merged by time (AIX)
    #[arg(short = 'm', long)]
    merge: bool,
    /// File for the result
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Maximum number of starts that are open at once
    #[arg(long, value_name = "N", default_value_t = 1 << 20, help_heading = "Limits")]
    max_open: u32,
    /// Maximum number of groups; pairs of further groups share a row
    #[arg(long, value_name = "N", default_value_t = 1 << 16, help_heading = "Limits")]
    max_groups: u32,
    /// Maximum number of times in memory; with more, percentiles are approximate
    #[arg(long, value_name = "N", default_value_t = 1 << 22, help_heading = "Limits")]
    max_values: u32,
    #[command(flatten)]
    language: LanguageArgs,
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    pager: PagerArgs,
    /// Traces; `-` is standard input, and a directory means the traces in it. Compressed files (.gz, .zst, .Z) are
    /// unpacked
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
}

/// Command-line form of [`Matching`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MatchArg {
    /// The latest; earlier ones are dropped
    Newest,
    /// The latest; earlier ones stay open
    Nested,
    /// The earliest
    Oldest,
}

/// Command-line form of [`GroupOrder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GroupSortArg {
    Count,
    Sum,
    Mean,
    P99,
    Max,
}

impl GroupSortArg {
    fn order(self) -> GroupOrder {
        match self {
            GroupSortArg::Count => GroupOrder::Count,
            GroupSortArg::Sum => GroupOrder::Sum,
            GroupSortArg::Mean => GroupOrder::Mean,
            GroupSortArg::P99 => GroupOrder::P99,
            GroupSortArg::Max => GroupOrder::Max,
        }
    }
}

fn percentile(text: &str) -> Result<Percentile, String> {
    let expected = "expected a number from 0 to 100 with at most three decimals, such as 99.9";
    Percentile::parse(text).ok_or_else(|| String::from(expected))
}

fn usage(text: impl Into<String>) -> Failure {
    Failure::Error(Message::Usage, text.into())
}

/// Output that is written while the traces are read. It keeps the first error.
struct Sink<'s> {
    console: &'s Console,
    path: Option<&'s Path>,
    pager_args: PagerArgs,
    /// `None` for standard output until the first text, so that a trace that cannot be read starts no pager.
    out: Option<BufWriter<TerminalWriter<ReportOutput>>>,
    /// Dropped after the output: the pager ends when its input does.
    pager: Option<Pager>,
    error: Option<io::Error>,
}

impl<'s> Sink<'s> {
    fn open(console: &'s Console, path: Option<&'s Path>, pager_args: PagerArgs) -> Result<Self, Failure> {
        let mut sink = Self { console, path, pager_args, out: None, pager: None, error: None };
        if path.is_some_and(|path| path != Path::new("-"))
            && let Err(error) = sink.start()
        {
            return Err(sink.failure(&error));
        }
        Ok(sink)
    }

    fn start(&mut self) -> io::Result<()> {
        let (out, pager) = ReportOutput::open(self.console, self.path, self.pager_args)?;
        self.pager = pager;
        self.out = Some(BufWriter::new(out));
        Ok(())
    }

    fn failure(&self, error: &io::Error) -> Failure {
        Failure::write(error, self.path.map_or(String::from("standard output"), |path| path.display().to_string()))
    }

    /// Writes a text and empties it.
    fn write(&mut self, text: &mut TextBuf) {
        if self.error.is_none() && !text.is_empty() {
            self.error = self.write_bytes(text.as_bytes()).err();
        }
        text.clear();
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.out.is_none() {
            self.start()?;
        }
        self.out.as_mut().map_or(Ok(()), |out| out.write_all(bytes))
    }

    fn commit(mut self) -> Result<(), Failure> {
        let ended = match (self.error.take(), self.out.take()) {
            (Some(error), _) => Err(error),
            (None, None) => Ok(()),
            (None, Some(out)) => {
                out.into_inner().map_err(|error| error.into_error()).and_then(|out| out.into_inner().commit())
            }
        };
        drop(self.pager.take());
        ended.map_err(|error| self.failure(&error))
    }
}

/// Settings that all traces of a command share.
#[derive(Clone, Copy)]
struct Measurement<'m> {
    options: &'m AnalysisOptions,
    pairs: &'m PairOptions,
    formats: &'m Formats,
}

impl LatencyArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        if self.language.asks_for_help() {
            return super::print(console, formats::dialect_help(), None);
        }
        self.span.check()?;
        self.to.check()?;
        if self.to == FormArg::Arrow && self.lists_pairs() {
            return Err(usage("--to arrow is for groups: list pairs with `--to csv` or `--to ndjson`"));
        }
        if self.hist && (self.to != FormArg::Text || self.lists_pairs()) {
            return Err(usage("--hist draws histograms as text; `--to ndjson` has them as `buckets`"));
        }
        let args = TraceArgs { max_ratio: self.language.ratio.ratio(), ..self.trace.clone() };
        let traces = inputs::expand(console, &self.traces, &args)?;
        if traces.len() > 1 && self.to.is_table() && !self.merge {
            return Err(usage("a table has the rows of one trace: give one trace, or use `--to ndjson`"));
        }
        let told = self.span.files().chain(&self.formats);
        overwrite::refuse([self.output.as_deref()], told.map(PathBuf::as_path))?;
        inputs::refuse_output(self.output.as_deref(), &traces, &args)?;
        let (options, pairs) = (self.options()?, self.pairs());
        let formats = formats::load_to_run(console, &self.formats, &self.language)?;
        let measurement = Measurement { options: &options, pairs: &pairs, formats: &formats };
        let _held = self.pager.hold(self.output.as_deref());
        let mut sink = Sink::open(console, self.output.as_deref(), self.pager)?;
        let read = analyse::for_each_trace(console, &traces, self.merge, |at, paths| {
            if at > 0 && self.to == FormArg::Text {
                let mut text = TextBuf::new();
                text.push(b"\n");
                sink.write(&mut text);
            }
            self.measure(console, paths, &args, measurement, &mut sink)
        })?;
        sink.commit()?;
        Ok(formats::loaded(&formats).max(read))
    }

    fn lists_pairs(&self) -> bool {
        self.list || self.outliers.is_some()
    }

    fn options(&self) -> Result<AnalysisOptions, Failure> {
        Ok(AnalysisOptions { sections: Some(Vec::new()), ..self.span.options()? })
    }

    fn pairs(&self) -> PairOptions {
        let source = match (&self.start, &self.end, &self.pair) {
            (Some(start), Some(end), _) => PairSource::Events { start: start.clone(), end: end.clone() },
            (_, _, Some(pair)) => PairSource::Named(pair.clone()),
            _ => PairSource::Timers,
        };
        let matching = match self.matching {
            MatchArg::Newest => Matching::Newest,
            MatchArg::Nested => Matching::Nested,
            MatchArg::Oldest => Matching::Oldest,
        };
        PairOptions {
            source,
            key: self.key.clone(),
            by: self.by.clone(),
            matching,
            across_gaps: self.across_gaps,
            range: (self.min, self.max),
            outliers: self.outliers.unwrap_or(0) as usize,
            max_open: self.max_open as usize,
            max_groups: self.max_groups as usize,
            max_values: self.max_values as usize,
        }
    }

    /// Measures the pairs of one trace.
    fn measure(
        &self,
        console: &Console,
        paths: &[PathBuf],
        args: &TraceArgs,
        Measurement { options, pairs, formats }: Measurement<'_>,
        sink: &mut Sink<'_>,
    ) -> CommandResult {
        let form = self.to.form();
        let mut text = TextBuf::new();
        let example = |system| match system {
            System::Aix => "tfbc latency --start 101 --end 104 --key tid --by svc TRACE",
            System::Qnx => "tfbc latency --start THREADY --end THRUNNING --key arg.pid,arg.tid TRACE",
        };
        let mut latency = analyse::analyse(console, paths, args, example, None, |opened, reporter| {
            let writer = match self.lists_pairs() {
                true => Some(PairWriter::new(form, field_names(opened, options, pairs)?)),
                false => None,
            };
            if let Some(writer) = &writer {
                writer.head(&mut text);
                sink.write(&mut text);
            }
            let mut visit = |pair: &Pair<'_>| {
                if let Some(writer) = &writer {
                    writer.row(pair, &mut text);
                    sink.write(&mut text);
                }
            };
            latency(opened, options, pairs, formats.catalog(), reporter, &mut visit)
        })?;
        if latency.n_events == 0 {
            console.note(format_args!("{}: the trace has no events", analyse::names_of(paths)));
        }
        if latency.counts.n_dropped > 0 {
            let n = latency.counts.n_dropped;
            console.warning(Message::Notable, format!("{n} starts were not kept: --max-open raises the limit"));
        }
        self.print(paths, &mut latency, &mut text)?;
        sink.write(&mut text);
        Ok(if latency.n_damaged > 0 { Status::Damaged } else { Status::Well })
    }

    /// Appends the groups and counts.
    fn print(&self, paths: &[PathBuf], latency: &mut Latency, out: &mut TextBuf) -> Result<(), Failure> {
        let form = self.to.form();
        latency.sort(self.sort.order(), self.top);
        if form == Form::Text {
            out.push(if self.lists_pairs() { b"\n" } else { b"" });
            out.push(format!("{}\n", analyse::names_of(paths)).as_bytes());
            latency.write_counts(out);
            if !self.lists_pairs() {
                out.push(b"\n");
                latency.write_groups(&self.percentiles, out);
            }
            if self.hist {
                let screen = Screen::of(self.output.as_deref());
                let bar = if screen.is_utf8 { '█' } else { '#' };
                latency.write_histograms(self.top.unwrap_or(HISTOGRAMS), screen.width, bar, out);
            }
            return Ok(());
        }
        if self.to == FormArg::Arrow {
            return analyse::push_arrow(&latency.groups(&self.percentiles, form), self.output.as_deref(), out);
        }
        let layout = TextLayout::default();
        if !self.lists_pairs() {
            write(&latency.groups(&self.percentiles, form), form, layout, out);
        }
        if form == Form::Ndjson {
            write(&latency.counts(), form, layout, out);
        }
        Ok(())
    }
}
