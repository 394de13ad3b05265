//! `tfbc view`: a report as one HTML file.

use super::console::{CommandResult, Console, Failure, Message, Status};
use super::context_args;
use super::events_args::EventsArgs;
use super::files::Output;
use super::formats;
use super::inputs;
use super::overwrite;
use super::trace::{self, Reporter};
use super::trace_args::TraceArgs;
use clap::Args;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use tfbc::{Formats, Monitor, Notice, TraceInfo};
use tfbc_analysis::timeline::{TimelineTracks, tracks};
use tfbc_analysis::{AnalysisError, AnalysisOptions, Summary, summarise};
use tfbc_authoring::times;
use tfbc_view::{EventTable, LeftOut, NoticeList, Page, TableLimit};

/// Flags of `tfbc view`.
#[derive(Debug, Clone, Args)]
pub struct ViewArgs {
    /// File for the page; an existing one is replaced. Without it, the page is TRACE.html in the current directory, and
    /// an existing file is never replaced
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// Number of events on the page, and of slices of its timeline. The page says what was left out
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    limit: usize,
    #[command(flatten)]
    events: EventsArgs,
    /// Trace; `-` is standard input. Compressed files (.gz, .zst, .Z) are unpacked
    #[arg(value_name = "TRACE", required_unless_present = "dialect")]
    trace: Option<PathBuf>,
}

impl ViewArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        let (true, Some(path)) = (!self.events.language.asks_for_help(), &self.trace) else {
            return super::print(console, formats::dialect_help(), None);
        };
        let args = self.events.trace_args()?;
        let output = self.output(path)?;
        let to_stdout = output == Path::new("-");
        if self.open && to_stdout {
            return Err(usage("--open needs a file: name one with -o"));
        }
        let told = overwrite::files(&self.events.formats).chain(self.events.files().map(PathBuf::as_path));
        overwrite::refuse([Some(&*output)], told)?;
        inputs::refuse_output(Some(&output), std::slice::from_ref(path), &args)?;
        let set = self.events.load(console)?;
        // The trace is read three times, which standard input cannot be.
        let copy = (path == Path::new("-")).then(inputs::copy_of_stdin).transpose()?;
        let file = copy.as_ref().map_or(&**path, NamedTempFile::path);
        let (page, status) = self.page(console, &set, path, file, &args)?;
        let failed = |error: io::Error| Failure::write(&error, output.display());
        let mut out = if self.output.is_some() { Output::open(Some(&output)) } else { Output::create_new(&output) }
            .map_err(failed)?;
        tfbc_view::write(&page, &mut out).map_err(failed)?;
        out.flush().map_err(failed)?;
        out.commit().map_err(failed)?;
        for remark in &page.remarks {
            console.warning(Message::Notable, remark);
        }
        if !to_stdout {
            let size = std::fs::metadata(&output).map_or(0, |found| found.len());
            let events = super::count(page.events.n_events() as u64, "event");
            console.note(format_args!("{}: {events}, {} KB", output.display(), size.div_ceil(1000)));
        }
        if self.open {
            open::that_detached(&output).map_err(|error| {
                Failure::Error(Message::Unreadable, format!("cannot open {} in a browser: {error}", output.display()))
            })?;
        }
        Ok(status.max(formats::loaded(&set)))
    }

    /// File of the page. A name that the user did not give is of a new file.
    fn output(&self, trace: &Path) -> Result<PathBuf, Failure> {
        if let Some(output) = &self.output {
            return Ok(output.clone());
        }
        let is_stdin = trace == Path::new("-");
        let mut name = trace.file_name().filter(|_| !is_stdin).map_or(OsString::from("trace"), OsString::from);
        name.push(".html");
        let output = PathBuf::from(name);
        refuse_existing(&output)?;
        Ok(output)
    }

    fn page(
        &self,
        console: &Console,
        set: &Formats,
        path: &Path,
        file: &Path,
        args: &TraceArgs,
    ) -> Result<(Page, Status), Failure> {
        let failed = |error| trace::failure(&path.to_string_lossy(), "the page", error);
        let mut opened = trace::open(file, args)?;
        let info = opened.info();
        formats::warn_of_others(console, &set.files(), &[info.system], Some(&path.to_string_lossy()));
        let options = self.events.report_options(set, &info)?;
        let mut events = opened.events(set).with_options(options).with_context();
        let events = EventTable::read(&mut events, self.limit).map_err(failed)?;
        let mut page = Page { title: inputs::title(path), events, ..Page::default() };

        let analysis = self.analysis()?;
        let mut monitor = PageMonitor { reporter: Reporter::new(console, &info), notices: NoticeList::default() };
        let summary = summarise(&mut trace::open(file, args)?, &analysis, &mut monitor);
        monitor.reporter.end();
        page.notices = monitor.notices;
        let summary = known(summary, path, &mut page.remarks, "There is no summary and no timeline")?;
        let mut status = Status::Well;
        if let Some(summary) = &summary {
            if summary.n_damaged > 0 {
                status = Status::Damaged;
            }
            page.push_summary(summary);
            let timeline = self.timeline(set, file, args, &analysis, &mut page.remarks);
            page.timeline = known(timeline, path, &mut page.remarks, "There is no timeline")?;
        }
        self.push_facts(set, &info, summary.as_ref(), &mut page);
        Ok((page, status))
    }

    /// Options of summary and timeline: the filter's times apply to them, its other parts do not.
    fn analysis(&self) -> Result<AnalysisOptions, Failure> {
        let time = |ns: Option<i128>| ns.map(|ns| u64::try_from(ns.max(0)).unwrap_or(u64::MAX));
        Ok(AnalysisOptions {
            from: time(self.events.filter.from),
            until: time(self.events.filter.until),
            context: context_args::context(self.events.context())?,
            names: context_args::names(self.events.names())?,
            max_processes: self.events.max_processes(),
            sections: Some(tfbc_view::summary_sections()),
            ..AnalysisOptions::default()
        })
    }

    fn timeline(
        &self,
        set: &Formats,
        file: &Path,
        args: &TraceArgs,
        analysis: &AnalysisOptions,
        remarks: &mut Vec<String>,
    ) -> Result<TimelineTracks, AnalysisError> {
        let own = context_args::own(self.events.context()).ok().flatten();
        let what = tfbc_view::timeline_options(!self.events.formats.is_empty(), own, self.limit as u64);
        let options = AnalysisOptions { sections: Some(vec![String::from("call")]), ..analysis.clone() };
        let mut opened = trace::open(file, args).map_err(|_| AnalysisError::NoTime)?;
        let (timeline, counts) = tracks(&mut opened, &options, &what, set.catalog(), &mut |_: &Notice| {})?;
        if counts.is_full {
            let ends = timeline.tracks.iter().flat_map(|track| &track.slices).map(|slice| slice.end_ns);
            let end = times::shown(ends.max().unwrap_or(0).into());
            remarks.push(format!(
                "The timeline ends after {} slices, at {end} s: --limit raises the limit, --from chooses another part",
                self.limit
            ));
        }
        if counts.n_left_out > 0 {
            remarks
                .push(format!("{} pairs were left out of the timeline: there are too many tracks", counts.n_left_out));
        }
        Ok(timeline)
    }

    fn push_facts(&self, set: &Formats, info: &TraceInfo, summary: Option<&Summary>, page: &mut Page) {
        let n_all = summary.map_or(0, |summary| summary.n_events);
        if let Some(LeftOut { limit, from_ns }) = page.events.left_out() {
            let n = page.events.n_events();
            let from = from_ns.map_or(String::new(), |ns| format!(" from {} s on", times::shown(ns.into())));
            let limit = match limit {
                TableLimit::Events => "--limit raises the limit",
                TableLimit::Text => "a page has at most 64 MiB of text",
            };
            let all = if n_all > 0 { format!("; the trace has {n_all}") } else { String::new() };
            let text = format!(
                "Only the first {n} events are on this page{all}. Events{from} were left out: {limit}, --from chooses another \
                 part"
            );
            page.remarks.insert(0, text);
        }
        page.push_fact("trace", page.title.clone());
        page.push_fact("kind", info.kind.to_string());
        if let Some(size) = info.files.iter().map(|file| file.size).sum::<Option<u64>>() {
            page.push_fact("size", super::count(size, "byte"));
        }
        if n_all > 0 {
            page.push_events(n_all);
        }
        if let Some(summary) = summary {
            page.push_head(summary);
        }
        let filters = self.events.filter.names();
        if !filters.is_empty() {
            let scope = "; summary and timeline follow only --from and --until";
            page.push_fact("filters", format!("{}{scope}", filters.join(", ")));
        }
        // The page goes to others, whom the folders of this machine do not concern.
        let formats: Vec<String> = set.files().iter().map(|file| inputs::title(Path::new(&file.name))).collect();
        page.push_fact("formats", if formats.is_empty() { String::from("built in") } else { formats.join("\n") });
        page.push_fact("written by", format!("tfbc {}", env!("CARGO_PKG_VERSION")));
    }
}

fn usage(text: &str) -> Failure {
    Failure::Error(Message::Usage, String::from(text))
}

fn refuse_existing(path: &Path) -> Result<(), Failure> {
    match path.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(_) => {
            let name = path.display();
            let text = format!("{name} exists already: replace it with -o {name}, or name another file");
            Err(Failure::Error(Message::Unwritable, text))
        }
    }
}

/// Result of an analysis; if the trace does not allow it, `None` and a remark.
fn known<T>(
    result: Result<T, AnalysisError>,
    path: &Path,
    remarks: &mut Vec<String>,
    what: &str,
) -> Result<Option<T>, Failure> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(AnalysisError::Read(error)) => {
            Err(Failure::Error(Message::Unreadable, format!("cannot read {}: {error}", path.display())))
        }
        Err(error) => {
            remarks.push(format!("{what}: {error}"));
            Ok(None)
        }
    }
}

/// Prints notices, and collects them for the page.
struct PageMonitor<'c> {
    reporter: Reporter<'c>,
    notices: NoticeList,
}

impl Monitor for PageMonitor<'_> {
    fn notice(&mut self, notice: &Notice) {
        self.notices.push(notice);
        self.reporter.notice(notice);
    }

    fn progress(&mut self, offset: u64, n_events: u64) {
        self.reporter.progress(offset, n_events);
    }
}
