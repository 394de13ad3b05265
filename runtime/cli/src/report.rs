//! `tfbc report`: flags of the report.

use super::console::{CommandResult, Console, Failure, Message};
use super::context_args;
use super::filter_args::FilterArgs;
use super::formats::{self, LanguageArgs};
use super::limits::{LimitArgs, TableArgs, threads};
use super::links::LinkArgs;
use super::overwrite;
use super::pager::PagerArgs;
use super::split_file;
use super::trace::{self, SystemOptions};
use super::trace_args::TraceArgs;
use super::zone::ZoneArgs;
use clap::{Args, ValueEnum};
use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use tfbc::aix::{AixReportOptions, TimeZone, Timestamp};
use tfbc::qnx::{FieldLayout, QnxReportOptions, TimeForm};
use tfbc::{Column, Columns, Form, Formats, QnxHeader, ReportColour, System};
use tfbc_authoring::times::seconds;
use tfbc_grammar::hint;

/// Flags of `tfbc report`.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// Format file, source or blob; later ones win. `default` is the built-in file, which is also used if none is given
    #[arg(short = 't', long = "formats", value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    /// File for the report
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[arg(long, value_name = "LIST", help = columns_help())]
    columns: Option<String>,
    /// Format of times: 0 seconds and milliseconds, 1 seconds with 6 decimals, 2 seconds and microseconds, 3 none
    #[arg(long, value_name = "FORM", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=3), allow_negative_numbers = true)]
    timestamp: u64,
    /// Lines per page, each with a heading; 0 for a single heading
    #[arg(long, value_name = "LINES", default_value_t = 0, allow_negative_numbers = true)]
    pagesize: u64,
    /// Format of QNX times: `absolute` seconds of the clock, `relative` to the start of the trace, `clock` date and
    /// time in UTC
    #[arg(long, value_name = "FORM", default_value = "absolute")]
    time: TimeArg,
    /// Order of the rows of a QNX log: `file` as in the file, `time` by time across CPUs
    #[arg(long, value_name = "ORDER", default_value = "file")]
    sort: SortArg,
    #[command(flatten)]
    filter: FilterArgs,
    /// Output format: text, tsv, csv, ndjson; arrow and parquet in builds with these features
    #[arg(long, value_name = "FORM", value_parser = To::parse)]
    to: Vec<To>,
    /// Fields in JSON lines of QNX logs: an `array` of labels, raw values and texts, or an `object` with the names and
    /// types that `tfbc fields` lists. AIX events always have an object
    #[arg(long, value_name = "FORM", default_value = "array")]
    fields: FieldsArg,
    /// Count events by id, most frequent first, instead of printing them
    #[arg(long, conflicts_with = "follow")]
    stats: bool,
    /// List of system call names by address, from trcnm (AIX)
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// Table of the hooks that name processes and threads, added to the built-in one (AIX; docs/context.md)
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,
    /// Wait for more events as a file or pipe grows, until Ctrl-C or the end of the pipe. AIX: streams only. Takes one
    /// trace
    #[arg(long, conflicts_with = "output")]
    follow: bool,
    /// Report only this part, from 1, of a trace that `tfbc split` divided. TRACE is the split file
    #[arg(long, value_name = "K", conflicts_with_all = ["follow", "stats", "salvage"], value_parser = clap::value_parser!(u64).range(1..), allow_negative_numbers = true)]
    part: Option<u64>,
    /// Search directories with all directories below them: their traces are one dataset, in the order of their paths, in
    /// which every report or row names its file. A trace that cannot be read is skipped with exit status 2
    #[arg(short, long, conflicts_with_all = ["follow", "part"])]
    recursive: bool,
    /// Threads for formatting; all cores by default. The output does not depend on it. Parts of a split file are read side
    /// by side
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    threads: Option<NonZeroUsize>,
    /// Leave out the heading
    #[arg(long)]
    no_heading: bool,
    #[command(flatten)]
    zone: ZoneArgs,
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    language: LanguageArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    tables: TableArgs,
    #[command(flatten)]
    pager: PagerArgs,
    #[command(flatten)]
    links: LinkArgs,
    #[cfg(feature = "arrow")]
    #[command(flatten)]
    table_flags: super::tables::TableFlags,
    /// Traces; `-` is standard input, and a directory means the traces in it. Compressed files (.gz, .zst, .Z) are
    /// unpacked; offsets in messages count unpacked bytes
    #[arg(value_name = "TRACE", required_unless_present = "dialect")]
    traces: Vec<PathBuf>,
}

impl ReportArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        if self.language.asks_for_help() {
            return super::print(console, formats::dialect_help(), None);
        }
        if self.follow && (self.traces.len() > 1 || self.traces.iter().any(|path| path.is_dir())) {
            return Err(Failure::Error(
                Message::Usage,
                String::from("--follow needs exactly one trace, a file or a pipe"),
            ));
        }
        if self.follow && self.sort == SortArg::Time {
            let text = "--sort time needs the whole log, and --follow waits for more of it: leave one of them out";
            return Err(Failure::Error(Message::Usage, String::from(text)));
        }
        if self.part.is_some() && (self.traces.len() > 1 || self.traces.iter().any(|path| path.is_dir())) {
            return Err(Failure::Error(Message::Usage, String::from("--part needs exactly one split file")));
        }
        // The files that a split file names are inputs, too.
        let divided: Vec<PathBuf> = self.traces.iter().flat_map(|path| split_file::files(path)).collect();
        let tables = [&self.names, &self.context].into_iter().flatten().chain(&divided);
        let files = self.traces.iter().chain(tables).map(PathBuf::as_path);
        let inputs = overwrite::files(&self.formats).chain(files);
        overwrite::refuse(self.outputs(), inputs)?;
        let usage = |text| Failure::Error(Message::Usage, text);
        self.check_table().map_err(usage)?;
        // Ranges and numbers are checked before any file is read: format files may take seconds to compile.
        let mut filter = self.filter.clone();
        filter.until = self.until(console)?;
        filter.check(console)?;
        let set = formats::load_for_report(console, &self.formats, &self.language)?;
        let colour = console.report_colour(self.output.as_deref());
        // Files from flags are read once, when the first AIX trace is opened.
        let known = RefCell::new(None);
        let aix = || {
            let mut known = known.borrow_mut();
            if known.is_none() {
                *known = Some(self.report_options(&set, &filter, colour, self.zone.zone(console))?);
            }
            Ok(known.clone().unwrap_or_default())
        };
        let wanted = SystemOptions {
            aix: &aix,
            qnx: &|name, header| self.record_options(&set, name, header, &filter, colour),
            verbose: 0,
            formats: set.files(),
            filters: filter.names(),
            hits: filter.grep.clone(),
            links: Some(&self.links),
            // A pager would keep events back that have just been read.
            pager: if self.follow { self.pager.never() } else { self.pager },
        };
        let max_ratio = self.language.ratio.ratio();
        let short_generic_word = self.language.report_dialect()?.short_generic_word;
        let args = TraceArgs {
            follow: self.follow,
            part: self.part,
            recursive: Some(self.recursive),
            max_ratio,
            short_generic_word,
            ..self.trace.clone()
        };
        #[cfg(feature = "arrow")]
        if let Some(form) = self.to.iter().rev().find_map(To::table) {
            let run = super::tables::TableRun {
                console,
                formats: &set,
                traces: &self.traces,
                args: &args,
                wanted: &wanted,
                form,
                flags: &self.table_flags,
                columns: self.columns.as_deref(),
                dialect: self.language.changed_settings(),
                output: self.output.as_deref(),
            };
            return Ok(run.run()?.max(formats::loaded(&set)));
        }
        let ended = trace::run(console, &set, &self.traces, &args, &wanted, self.output.as_deref())?;
        Ok(ended.max(formats::loaded(&set)))
    }

    /// Files that the command writes; `None` is standard output.
    fn outputs(&self) -> impl Iterator<Item = Option<&Path>> {
        let notices: Option<&Path> = None;
        #[cfg(feature = "arrow")]
        let notices = notices.or(self.table_flags.notices.as_deref());
        std::iter::once(self.output.as_deref()).chain(notices.map(Some))
    }

    /// Checks that a table can be written, and that the other flags suit it.
    fn check_table(&self) -> Result<(), String> {
        let Some(To::Table(name)) = self.to.iter().rev().find(|to| matches!(to, To::Table(_) | To::Form(_))) else {
            #[cfg(feature = "arrow")]
            if let Some(flag) = self.table_flags.given() {
                return Err(format!("{flag} is for --to arrow and --to parquet: add one of them, or leave {flag} out"));
            }
            return Ok(());
        };
        let built: &[&str] = match () {
            () if cfg!(feature = "parquet") => &["arrow", "parquet"],
            () if cfg!(feature = "arrow") => &["arrow"],
            () => &[],
        };
        if !built.contains(name) {
            return Err(super::not_built(name));
        }
        if self.stats || self.sort == SortArg::Time {
            let flag = if self.stats { "--stats" } else { "--sort time" };
            return Err(format!("{flag} has no effect with --to {name}: leave one of them out"));
        }
        Ok(())
    }

    /// End of the time range: from --until, or from --to with a number, as earlier versions took it.
    fn until(&self, console: &Console) -> Result<Option<i128>, Failure> {
        // Older scripts still work, with a warning that names the new spelling.
        let Some((text, ns)) = self.to.iter().rev().find_map(To::time) else { return Ok(self.filter.until) };
        if self.filter.until.is_some() {
            let text = format!("--to {text} and --until both set the end of the time range: give only --until");
            return Err(Failure::Error(Message::Usage, text));
        }
        let forms = FORM_NAMES.join(", ");
        let text = format!(
            "--to {text} is not an output format; expected {forms}. The end of a time range is `--until {text}`"
        );
        console.warning(Message::Usage, text);
        Ok(Some(ns.into()))
    }

    fn report_options(
        &self,
        set: &Formats,
        filter: &FilterArgs,
        colour: ReportColour,
        time_zone: TimeZone,
    ) -> Result<AixReportOptions, Failure> {
        if self.time != TimeArg::Absolute {
            let text = "--time is for QNX logs; the times of an AIX trace are in the columns elapsed and delta";
            return Err(Failure::Error(Message::Usage, String::from(text)));
        }
        if self.sort != SortArg::File {
            let text = "--sort is for QNX logs; the events of an AIX trace are already in the order of time";
            return Err(Failure::Error(Message::Usage, String::from(text)));
        }
        Ok(AixReportOptions {
            columns: self.columns()?,
            page_size: self.pagesize,
            delta_of_all: self.language.report_dialect()?.delta_of_all,
            no_heading: self.no_heading,
            time_zone,
            form: self.form(),
            stats: self.stats,
            colour,
            context: context_args::context(self.context.as_deref())?,
            names: context_args::names(self.names.as_deref())?,
            limits: self.limits.limits(),
            max_work: self.limits.max_work(),
            tables: self.tables.limits(),
            threads: self.threads,
            ..filter.aix(set)?
        })
    }

    /// Time format, if the log supports it.
    fn time_form(&self, name: &str, header: &QnxHeader, is_timed: bool) -> Result<TimeForm, Failure> {
        let refused = |text: &str| Err(Failure::Error(Message::Usage, format!("{name}: --time clock: {text}")));
        // Without a boot time, clock times would begin in 1970 and look like real dates.
        match self.time {
            TimeArg::Clock if is_timed => {
                refused("--from and --until take seconds: use `--time absolute` or `--time relative`")
            }
            TimeArg::Clock if !header.has_system_page => {
                refused("the log has no system page, which would contain the boot time")
            }
            TimeArg::Clock if header.boot_ns.is_none() => {
                refused("the log's system page has no boot time: its boot_time is 0 or missing")
            }
            TimeArg::Clock => Ok(TimeForm::Clock),
            TimeArg::Relative => Ok(TimeForm::Relative),
            TimeArg::Absolute => Ok(TimeForm::Absolute),
        }
    }

    fn record_options(
        &self,
        set: &Formats,
        name: &str,
        header: &QnxHeader,
        filter: &FilterArgs,
        colour: ReportColour,
    ) -> Result<QnxReportOptions, Failure> {
        let usage = |text: String| Failure::Error(Message::Usage, text);
        let of_aix = [(self.names.is_some(), "--names"), (self.context.is_some(), "--context")];
        if let Some((_, flag)) = of_aix.into_iter().find(|(given, _)| *given) {
            return Err(usage(format!("{flag} is for AIX traces, but this is a QNX log")));
        }
        let columns = self.columns.as_deref().filter(|_| !self.is_table()).map(Columns::parse_qnx).transpose();
        let filter = filter.qnx(set, header)?;
        let time = self.time_form(name, header, filter.filter.is_timed())?;
        Ok(QnxReportOptions {
            columns: columns.map_err(|error| usage(error.to_string()))?.unwrap_or_else(Columns::qnx),
            form: self.form(),
            fields: match self.fields {
                FieldsArg::Array => FieldLayout::Array,
                FieldsArg::Object => FieldLayout::Object,
            },
            time,
            sort: self.sort == SortArg::Time,
            stats: self.stats,
            colour,
            no_heading: self.no_heading,
            limits: self.limits.limits(),
            max_work: self.limits.max_work(),
            threads: self.threads,
            ..filter
        })
    }

    /// True if the output is a table for other programs.
    fn is_table(&self) -> bool {
        self.to.iter().any(|to| matches!(to, To::Table(_)))
    }

    fn form(&self) -> Form {
        self.to.iter().rev().find_map(To::form).unwrap_or_default()
    }

    fn columns(&self) -> Result<Columns, Failure> {
        let timestamp = Timestamp::from_number(self.timestamp).unwrap_or_default();
        match self.columns.as_ref().filter(|_| !self.is_table()) {
            None => Ok(Columns::new(&[Column::Id], timestamp).with_fields_last(true)),
            Some(list) => {
                Columns::parse(list, timestamp).map_err(|error| Failure::Error(Message::Usage, error.to_string()))
            }
        }
    }
}

/// Help of `--columns`: the columns of both systems.
fn columns_help() -> String {
    let names = |system| Column::names(system).collect::<Vec<_>>();
    let (aix, qnx) = (names(System::Aix), names(System::Qnx));
    let (shown, others): (Vec<_>, Vec<_>) = qnx.into_iter().partition(|name| Columns::qnx().has(name));
    format!(
        "Columns in this order. AIX: {}. QNX: {}, and on request {}. With only `text` or `data`, nothing else is \
         printed. A table of several traces begins with the column file",
        aix.join(", "),
        shown.join(", "),
        others.join(", ")
    )
}

/// Command-line form of [`TimeForm`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TimeArg {
    Absolute,
    Relative,
    Clock,
}

/// Command-line form of [`FieldLayout`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FieldsArg {
    Array,
    Object,
}

/// Row order on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SortArg {
    File,
    Time,
}

/// Value of `--to`: an output format, or a time as in earlier versions.
#[derive(Debug, Clone, PartialEq, Eq)]
enum To {
    Form(Form),
    /// Tables for other programs: `arrow` or `parquet`.
    Table(&'static str),
    /// Seconds as written, and in nanoseconds.
    Time(String, u64),
}

/// Values of `--to` that need features of the build.
const TABLE_NAMES: [&str; 2] = ["arrow", "parquet"];

/// Output formats of `--to`.
pub const FORM_NAMES: [&str; 4] = ["text", "tsv", "csv", "ndjson"];

impl To {
    fn parse(text: &str) -> Result<Self, String> {
        let forms = [Form::Text, Form::Tsv, Form::Csv, Form::Ndjson];
        if let Some((_, form)) = FORM_NAMES.iter().zip(forms).find(|(name, _)| **name == text) {
            return Ok(To::Form(form));
        }
        if let Some(name) = TABLE_NAMES.iter().find(|name| **name == text) {
            return Ok(To::Table(name));
        }
        seconds(text)
            .map(|ns| To::Time(text.to_owned(), ns))
            .map_err(|_| format!("expected one of {}{}", FORM_NAMES.join(", "), hint(text, &FORM_NAMES)))
    }

    fn form(&self) -> Option<Form> {
        if let To::Form(form) = self { Some(*form) } else { None }
    }

    #[cfg(feature = "arrow")]
    fn table(&self) -> Option<super::tables::TableForm> {
        use super::tables::TableForm;
        match self {
            To::Table("parquet") => Some(TableForm::Parquet),
            To::Table(_) => Some(TableForm::Arrow),
            _ => None,
        }
    }

    fn time(&self) -> Option<(&str, u64)> {
        if let To::Time(text, ns) = self { Some((text, *ns)) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read() {
        assert_eq!(To::parse("tsv"), Ok(To::Form(Form::Tsv)));
        assert!(To::parse("ndjsn").unwrap_err().contains("did you mean `ndjson`"));
    }
}
