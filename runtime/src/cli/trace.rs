//! What commands that read traces share: flags, opening, running a report with its messages.

use super::console::{Console, Ending, Failure, Message, Progress, Status};
use crate::catalog::Catalog;
use crate::output::Output;
use crate::reader::aix::{CpuidWord, Kind, Notice, ReadOptions, Trace};
use crate::report::{Monitor, ReportError, ReportOptions, Summary, report};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

/// Damaged places of one trace that are shown one by one.
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
}

/// [`Kind`] on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum KindArg {
    Stream32,
    Stream64,
    Log32,
    Log64,
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

impl TraceArgs {
    /// The flags as the reader takes them.
    pub fn options(&self) -> ReadOptions {
        ReadOptions {
            format: self.format.map(|kind| match kind {
                KindArg::Stream32 => Kind::Stream32,
                KindArg::Stream64 => Kind::Stream64,
                KindArg::Log32 => Kind::Log32,
                KindArg::Log64 => Kind::Log64,
            }),
            cpuid_word: match self.cpuid_word {
                CpuidWordArg::Last => CpuidWord::Last,
                CpuidWordArg::First => CpuidWord::First,
                CpuidWordArg::AfterTid => CpuidWord::AfterTid,
                CpuidWordArg::None => CpuidWord::None,
            },
            lenient: self.lenient,
        }
    }
}

/// Opens one trace.
pub fn open(path: &Path, options: &ReadOptions) -> Result<Trace, Failure> {
    let refused = |error| Failure::Say(Message::Unreadable, format!("cannot read {}: {error}", path.display()));
    Trace::open(path, options).map_err(refused)
}

/// Says what happens to one trace, with the bar out of the way.
pub struct Announcer<'c> {
    console: &'c Console,
    name: String,
    progress: Progress,
    n_shown: u64,
}

impl<'c> Announcer<'c> {
    /// An announcer for a trace.
    pub fn new(console: &'c Console, trace: &Trace) -> Self {
        Self { console, name: trace.name().to_owned(), progress: console.progress(trace.size()), n_shown: 0 }
    }
}

impl Monitor for Announcer<'_> {
    fn notice(&mut self, notice: &Notice) {
        let text = format!("{}: {}", self.name, notice.message);
        self.n_shown += u64::from(notice.damage);
        if notice.damage && self.n_shown > MAX_SHOWN {
            return;
        }
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

/// Writes the reports of traces, one after another, to `-o` or standard output.
pub fn run(
    console: &Console,
    catalog: &Catalog<'_>,
    traces: &[PathBuf],
    read: &ReadOptions,
    options: &ReportOptions,
    output: Option<&Path>,
) -> Ending {
    let what = output.map_or(String::from("standard output"), |path| path.display().to_string());
    let mut out = None;
    let mut status = Status::Well;
    for path in traces {
        let mut trace = open(path, read)?;
        // Only a trace that can be read is worth an output.
        let out = match &mut out {
            Some(out) => out,
            None => out.insert(Output::open(output).map_err(|error| Failure::write(&error, &what))?),
        };
        let mut announcer = Announcer::new(console, &trace);
        let ran = report(&mut trace, catalog, options, out, &mut announcer);
        announcer.progress.clear();
        let summary = ran.map_err(|error| match error {
            ReportError::Write(error) => Failure::write(&error, &what),
            ReportError::Read(error) => {
                Failure::Say(Message::Unreadable, format!("cannot read {}: {error}", path.display()))
            }
            error => Failure::Say(Message::Internal, format!("{}: {error}", path.display())),
        })?;
        announce(console, trace.name(), &summary);
        if summary.n_damaged > 0 {
            status = Status::Damaged;
        }
    }
    if let Some(out) = out {
        out.commit().map_err(|error| Failure::write(&error, &what))?;
    }
    Ok(status)
}

/// Says what a run counted.
fn announce(console: &Console, name: &str, summary: &Summary) {
    if summary.n_damaged > MAX_SHOWN {
        let more = summary.n_damaged - MAX_SHOWN;
        console.error(Message::InvalidEvent, format!("{name}: {more} more damaged places"));
    }
    let counts = [
        (summary.n_truncated, Message::PastEnd, "templates read past the end of"),
        (summary.n_limited, Message::Notable, "a limit cut the text of"),
        (summary.n_divided, Message::Notable, "templates divided by zero in"),
        (summary.n_clamped, Message::Notable, "time went back in"),
    ];
    for (n, message, what) in counts.into_iter().filter(|(n, ..)| *n > 0) {
        console.warning(message, format!("{name}: {what} {}", super::count(n, "event")));
    }
}
