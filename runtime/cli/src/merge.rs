//! Merges several logs into one report or one raw stream.

use super::console::{CommandResult, Console, Failure, Message, Status};
use super::formats;
use super::pager::ReportOutput;
use super::trace::{self, Reporter, SystemOptions, report_counts};
use super::trace_args::TraceArgs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use tfbc::aix::AixSummary;
use tfbc::aix::write_raw;
use tfbc::{Formats, ReportOptions, ReportSummary, System, Trace, report_with};

/// Output made from the logs.
pub enum Product<'p> {
    /// Report of all events.
    Report(&'p Formats),
    /// Raw stream of events that can be read again.
    Raw,
}

/// Opens logs as one trace, merged by time.
pub fn open(paths: &[PathBuf], args: &TraceArgs, remove_duplicates: bool) -> Result<Trace, Failure> {
    let unreadable = |text| Failure::Error(Message::Unreadable, text);
    if paths.iter().filter(|path| path.as_path() == Path::new("-")).count() > 1 {
        return Err(unreadable(String::from("standard input (-) is named more than once")));
    }
    let mut traces = Vec::new();
    for path in paths {
        let trace = trace::open(path, args)?;
        let info = trace.info();
        if info.system == System::Qnx {
            let text = format!("{} is a QNX log: only AIX traces can be merged or written raw", info.name);
            return Err(unreadable(text));
        }
        traces.push(trace);
    }
    let merged = if remove_duplicates { Trace::merge_without_duplicates(traces) } else { Trace::merge(traces) };
    merged.map_err(|error| unreadable(format!("cannot read the logs from their beginning: {error}")))
}

/// Writes the output to `-o` or standard output.
pub fn run(
    console: &Console,
    mut trace: Trace,
    options: &ReportOptions,
    product: &Product<'_>,
    wanted: &SystemOptions<'_>,
    output: Option<&Path>,
) -> CommandResult {
    let verbose = wanted.verbose;
    let info = trace.info();
    trace::name_files(console, &info, verbose);
    if let Product::Report(_) = product {
        formats::warn_of_others(console, &wanted.formats, &[System::Aix], Some(&info.name));
    }
    let what = output.map_or(String::from("standard output"), |path| path.display().to_string());
    let to_stdout = output.is_none_or(|path| path == Path::new("-"));
    if matches!(product, Product::Raw) && to_stdout && std::io::stdout().is_terminal() {
        let text = "a raw stream is not for a terminal: write it to a file with -o, or into a pipe";
        return Err(Failure::Error(Message::Usage, String::from(text)));
    }
    // A raw stream is not for people.
    let args = if matches!(product, Product::Raw) { wanted.pager.never() } else { wanted.pager };
    let opened = ReportOutput::open(console, output, args);
    let (opened, pager) = opened.map_err(|error| Failure::write(&error, &what))?;
    // Declared after the pager, which ends when its input is dropped.
    let mut out = opened;
    let mut reporter = Reporter::new(console, &info);
    let ran = match product {
        Product::Report(formats) => report_with(&mut trace, formats, options, &mut out, &mut reporter),
        Product::Raw => write_raw(&mut trace, &options.aix, &mut out, &mut reporter).map(ReportSummary::Aix),
    };
    reporter.end();
    let ReportSummary::Aix(summary) = ran.map_err(|error| trace::failure(&info.name, &what, error))? else {
        return Ok(Status::Well);
    };
    report_counts(console, &info.name, &summary, &options.aix);
    trace::describe(console, &info, &summary, verbose);
    trace::report_no_match(console, &wanted.filters, summary.n_events, summary.n_reported);
    out.into_inner().commit().map_err(|error| Failure::write(&error, &what))?;
    drop(pager);
    Ok(status(&summary))
}

fn status(summary: &AixSummary) -> Status {
    if trace::n_faults(summary) > 0 { Status::Damaged } else { Status::Well }
}
