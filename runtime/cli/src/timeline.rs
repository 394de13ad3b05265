//! `tfbc timeline`: a picture of a trace for viewers such as Perfetto.

use super::analyse::{self, SpanArgs};
use super::console::{CommandResult, Console, Failure, Message, Status};
use super::context_args;
use super::files::Output;
use super::formats::{self, LanguageArgs};
use super::inputs;
use super::overwrite;
use super::trace_args::TraceArgs;
use clap::{Args, ValueEnum};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};
use std::path::PathBuf;
use tfbc::Expression;
use tfbc_analysis::timeline::{InstantChoice, TRACKS, TimelineForm, TimelineOptions, timeline};
use tfbc_analysis::{AnalysisError, AnalysisOptions};

/// Flags of `tfbc timeline`.
#[derive(Debug, Clone, Args)]
pub struct TimelineArgs {
    /// File for the timeline. `.json` and `.json.gz` mean Chrome's format, `.pftrace` Perfetto's
    #[arg(short = 'o', long, value_name = "FILE")]
    output: PathBuf,
    /// Format of the file, if its name does not show it
    #[arg(long, value_name = "FORM", value_enum)]
    to: Option<FormArg>,
    /// Groups of tracks: cpus, calls, states, timers, counters, events, marks, flows. By default all
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    tracks: Vec<String>,
    /// Events to show with their texts and fields: `defined` (AIX: those with a template in -t; QNX: the class USER),
    /// `none`, or ids as --only takes them, such as '1A0|1A1'
    #[arg(long, value_name = "IDS", default_value = "defined", value_parser = instants)]
    instants: InstantChoice,
    /// Pair of the context table to show in addition to those of --context, such as svc or ready
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pair: Vec<String>,
    #[command(flatten)]
    span: SpanArgs,
    /// Format file, source or blob, whose timers and events are shown; later ones win. `default` is the built-in file
    #[arg(short = 't', long = "formats", value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    /// Idle threads (QNX), such as 1.1,1.2. By default the threads of process 1 with priority 0
    #[arg(long, value_name = "PID.TID", value_delimiter = ',', value_parser = analyse::thread)]
    idle: Vec<(u32, u32)>,
    /// Maximum number of slices, instants and counter values that are written
    #[arg(long, value_name = "N", default_value_t = 20_000_000, help_heading = "Limits")]
    max_slices: u64,
    #[command(flatten)]
    language: LanguageArgs,
    #[command(flatten)]
    trace: TraceArgs,
    /// Trace, or several of AIX, which are merged by time; `-` is standard input. Compressed files (.gz, .zst, .Z) are
    /// unpacked
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
}

/// Command-line form of [`TimelineForm`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormArg {
    /// JSON of Chrome's trace event format, in microseconds with three decimals
    Chrome,
    /// Perfetto's protobuf, in nanoseconds
    Perfetto,
}

fn instants(text: &str) -> Result<InstantChoice, String> {
    Ok(match text {
        "defined" => InstantChoice::Defined,
        "none" => InstantChoice::Never,
        ids => InstantChoice::Events(Expression::parse(&ids.replace(',', "|")).map_err(|error| error.to_string())?),
    })
}

fn usage(text: impl Into<String>) -> Failure {
    Failure::Error(Message::Usage, text.into())
}

impl TimelineArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        if self.language.asks_for_help() {
            return super::print(console, formats::dialect_help(), None);
        }
        self.span.check()?;
        let form = self.form()?;
        let args = TraceArgs { max_ratio: self.language.ratio.ratio(), ..self.trace.clone() };
        let traces = inputs::expand(console, &self.traces, &args)?;
        let told = self.span.files().chain(&self.formats);
        overwrite::refuse([Some(&*self.output)], told.map(PathBuf::as_path))?;
        inputs::refuse_output(Some(&self.output), &traces, &args)?;
        let options = AnalysisOptions {
            sections: Some(Vec::new()),
            idle: (!self.idle.is_empty()).then(|| self.idle.clone()),
            ..self.span.options()?
        };
        let what = TimelineOptions {
            form,
            tracks: self.tracks()?,
            instants: self.instants.clone(),
            has_formats: !self.formats.is_empty(),
            pairs: self.pair.clone(),
            own_context: context_args::own(self.span.context())?,
            max_slices: self.max_slices,
        };
        let formats = formats::load_to_run(console, &self.formats, &self.language)?;
        let mut status = formats::loaded(&formats);
        let failed = |error: io::Error| Failure::write(&error, self.output.display().to_string());
        let mut output = Output::open(Some(&self.output)).map_err(failed)?;
        let example = |_| "tfbc timeline -o shell.json shell.trc";
        let counts = analyse::analyse(console, &traces, &args, example, Some(&self.output), |opened, reporter| {
            let catalog = formats.catalog();
            if self.output.extension().is_some_and(|ending| ending == "gz") {
                let mut packed = GzEncoder::new(&mut output, Compression::fast());
                let counts = timeline(opened, &options, &what, catalog, reporter, &mut packed)?;
                packed.finish().map_err(AnalysisError::Write)?;
                Ok(counts)
            } else {
                timeline(opened, &options, &what, catalog, reporter, &mut output)
            }
        })?;
        output.flush().map_err(failed)?;
        output.commit().map_err(failed)?;
        if counts.n_events == 0 {
            console.note(format_args!("{}: the trace has no events", analyse::names_of(&traces)));
        }
        if counts.has_unproven {
            let text = "some CPU time is not shown: the trace showed too late which events end it";
            console.warning(Message::Notable, String::from(text));
        }
        if counts.n_left_out > 0 {
            let n = counts.n_left_out;
            let text =
                format!("{n} pairs or values of counters were left out: there are too many tracks or open pairs");
            console.warning(Message::Notable, text);
            status = status.max(Status::Damaged);
        }
        if counts.is_full {
            let n = self.max_slices;
            console.warning(
                Message::Notable,
                format!("the timeline ends after {n} slices: --max-slices raises the limit"),
            );
            status = status.max(Status::Damaged);
        }
        Ok(if counts.n_damaged > 0 { status.max(Status::Damaged) } else { status })
    }

    fn form(&self) -> Result<TimelineForm, Failure> {
        let name = self.output.to_string_lossy();
        match self.to {
            Some(FormArg::Chrome) => Ok(TimelineForm::Chrome),
            Some(FormArg::Perfetto) => Ok(TimelineForm::Perfetto),
            None if name.ends_with(".json") || name.ends_with(".json.gz") => Ok(TimelineForm::Chrome),
            None if [".pftrace", ".pftrace.gz", ".perfetto-trace"].iter().any(|ending| name.ends_with(ending)) => {
                Ok(TimelineForm::Perfetto)
            }
            None => Err(usage(format!(
                "the ending of {name} is neither .json, .json.gz nor .pftrace: add `--to chrome` or `--to perfetto`"
            ))),
        }
    }

    fn tracks(&self) -> Result<Vec<&'static str>, Failure> {
        if self.tracks.is_empty() {
            return Ok(TRACKS.to_vec());
        }
        let known = |name: &String| {
            let text = || format!("--tracks: {}", analyse::unknown("group", name, &TRACKS));
            TRACKS.iter().copied().find(|track| track == name).ok_or_else(|| usage(text()))
        };
        self.tracks.iter().map(known).collect()
    }
}
