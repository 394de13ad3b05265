//! Merges several logs into one report or one raw stream.

use super::console::{CommandResult, Console, Failure, Message, Status};
use super::formats;
use super::trace::{self, Reporter, SystemOptions, report_counts};
use super::trace_args::TraceArgs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use tfbc::aix::{ReportOptions, Summary};
use tfbc::internal::aix::{Logs, report, write_raw};
use tfbc::internal::formats::Catalog;
use tfbc::internal::input::AnyTrace;
use tfbc::{ReportError, System};

/// Output made from the logs.
pub enum Product<'p> {
    /// Report of all events.
    Report(&'p Catalog<'p>),
    /// Raw stream of events that can be read again.
    Raw,
}

/// Opens logs as one trace, merged by time.
pub fn open(paths: &[PathBuf], args: &TraceArgs, remove_duplicates: bool) -> Result<Logs, Failure> {
    let unreadable = |text| Failure::Error(Message::Unreadable, text);
    if paths.iter().filter(|path| path.as_path() == Path::new("-")).count() > 1 {
        return Err(unreadable(String::from("standard input (-) is named more than once")));
    }
    let mut logs = Vec::new();
    for path in paths {
        match trace::open(path, args)? {
            AnyTrace::Aix(log) => logs.push(*log),
            AnyTrace::Kev(log) => {
                let text = format!("{} is a QNX log: only AIX traces can be merged or written raw", log.name());
                return Err(unreadable(text));
            }
        }
    }
    match <[Logs; 1]>::try_from(logs) {
        Ok([log]) => Ok(log),
        Err(logs) => Logs::merged(logs, remove_duplicates)
            .map_err(|error| unreadable(format!("cannot read the logs from their beginning: {error}"))),
    }
}

/// Writes the output to `-o` or standard output.
pub fn run(
    console: &Console,
    mut logs: Logs,
    options: &ReportOptions,
    product: &Product<'_>,
    wanted: &SystemOptions<'_>,
    output: Option<&Path>,
) -> CommandResult {
    let verbose = wanted.verbose;
    trace::name_files(console, &logs, verbose);
    if let Product::Report(_) = product {
        formats::warn_of_others(console, &wanted.formats, &[System::Aix], Some(logs.name()));
    }
    let what = output.map_or(String::from("standard output"), |path| path.display().to_string());
    let to_stdout = output.is_none_or(|path| path == Path::new("-"));
    if matches!(product, Product::Raw) && to_stdout && std::io::stdout().is_terminal() {
        let text = "a raw stream is not for a terminal: write it to a file with -o, or into a pipe";
        return Err(Failure::Error(Message::Usage, String::from(text)));
    }
    if let (Product::Raw, Some(why)) = (product, logs.no_stream()) {
        return Err(trace::failure(logs.name(), &what, ReportError::NoStream(why)));
    }
    let mut out = console.open(output).map_err(|error| Failure::write(&error, &what))?;
    let mut reporter = Reporter::of(console, &logs);
    let ran = match product {
        Product::Report(catalog) => report(&mut logs, catalog, options, &mut out, &mut reporter),
        Product::Raw => write_raw(&mut logs, options, &mut out, &mut reporter),
    };
    reporter.end();
    let summary = ran.map_err(|error| trace::failure(logs.name(), &what, error))?;
    report_counts(console, logs.name(), &summary, options);
    trace::describe(console, &logs, &summary, verbose);
    trace::report_no_match(console, &wanted.filters, summary.n_events, summary.n_reported);
    out.into_inner().commit().map_err(|error| Failure::write(&error, &what))?;
    Ok(status(&summary))
}

fn status(summary: &Summary) -> Status {
    if trace::n_faults(summary) > 0 { Status::Damaged } else { Status::Well }
}
