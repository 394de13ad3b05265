//! `trcrpt`: AIX's flags.

use super::CommonArgs;
use super::console::{CommandResult, Console, Failure, Message};
use super::context_args;
use super::formats::{self, LanguageArgs};
use super::inputs;
use super::limits::{LimitArgs, TableArgs};
use super::merge::{self, Product};
use super::overwrite;
use super::pager::PagerArgs;
use super::rptopts::{self, ReportSettings};
use super::trace::{self, SystemOptions};
use super::trace_args::TraceArgs;
use super::trcevgrp;
use super::zone::ZoneArgs;
use clap::{ArgAction, Args};
use std::path::{Path, PathBuf};
use tfbc::Column;
use tfbc::aix::{AixReportOptions, IdSet, TimeZone};
use tfbc_authoring::times::check_times;
use tfbc_recorder::groups;
use tfbc_recorder::paths::{self, AIX_LOG};

/// Format file of an AIX system.
const SYSTEM_FORMATS: &str = "/etc/trcfmt";

/// Flags and files of `trcrpt`.
#[derive(Debug, Clone, Default, Args)]
#[command(
    disable_help_flag = true,
    about = "Write the report of AIX traces, as AIX's trcrpt does",
    after_help = EXAMPLES,
    args_override_self = true,
    // Other commands default to `resync`.
    mut_arg("after_damage", |arg| arg.default_value("next-entry"))
)]
pub struct TrcrptArgs {
    /// Format file, source or blob, instead of /etc/trcfmt or the built-in file; later ones win. `default` is the
    /// built-in file
    #[arg(short = 't', value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    /// File for the report
    #[arg(short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// Leave out the heading
    #[arg(short = 'h')]
    no_heading: bool,
    /// Only these hooks: hh, hhh or hhhh, separated by commas or blanks
    #[arg(short = 'd', value_name = "IDS")]
    only: Vec<String>,
    /// Leave out these hooks
    #[arg(short = 'k', value_name = "IDS")]
    except: Vec<String>,
    /// Only the hooks of these event groups, as defined with `trcevgrp`
    #[arg(short = 'D', value_name = "GROUPS")]
    only_groups: Vec<String>,
    /// Leave out the hooks of these event groups
    #[arg(short = 'K', value_name = "GROUPS")]
    except_groups: Vec<String>,
    /// List the event groups; excludes all other flags
    #[arg(short = 'G', exclusive = true)]
    list_groups: bool,
    /// List the ids and labels of the format files instead of a report
    #[arg(short = 'j')]
    list: bool,
    /// Check the format files instead of writing a report
    #[arg(short = 'c')]
    check: bool,
    /// Report options: columns, times, pages and more; `help` lists them
    #[arg(short = 'O', value_name = "NAME=VALUE,...")]
    options: Vec<String>,
    /// Only events of these processes: ids, program names, or INTR for events at interrupt level
    #[arg(short = 'p', value_name = "LIST", allow_hyphen_values = true)]
    processes: Vec<String>,
    /// Only events of these threads; with ! before the list, of all others
    #[arg(short = 'T', value_name = "LIST", allow_hyphen_values = true)]
    threads: Vec<String>,
    /// Only events from this date, in local time (TZ): month, day, hour, minute, second, year
    #[arg(short = 's', value_name = "MMddhhmmssyy", allow_hyphen_values = true)]
    start: Option<String>,
    /// Only events until this date
    #[arg(short = 'e', value_name = "MMddhhmmssyy", allow_hyphen_values = true)]
    end: Option<String>,
    /// List of system call names by address, from trcnm
    #[arg(short = 'n', value_name = "FILE")]
    names: Option<PathBuf>,
    /// Table of the hooks that name processes and threads, added to the built-in one (docs/context.md)
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,
    /// Only events on these CPUs, such as 0,2-3, or all
    #[arg(short = 'C', value_name = "CPUS")]
    cpus: Vec<String>,
    /// Merge the logs into one report, ordered by time
    #[arg(short = 'm')]
    merge: bool,
    /// Write the selected events as a raw stream that trcrpt can read, instead of a report
    #[arg(short = 'r')]
    raw: bool,
    /// Show process names and system calls: -O exec=on,svc=on
    #[arg(short = 'x')]
    exec: bool,
    /// Print the name of every opened file; twice, also its kind and how much of it is reported
    #[arg(short = 'v', action = ArgAction::Count)]
    verbose: u8,
    /// Show errors in format files without source lines
    #[arg(short = 'q')]
    terse: bool,
    /// Accepted without effect
    #[arg(short = 'L', hide = true, value_name = "FILE")]
    old_list: Option<String>,
    #[command(flatten)]
    refused: RefusedArgs,
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
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
    /// Traces; `-` is standard input. By default the log of `trace`: /var/adm/ras/trcfile or your own
    #[arg(value_name = "TRACE", trailing_var_arg = true)]
    files: Vec<PathBuf>,
}

/// Flags of AIX's command that this command does not have.
#[derive(Debug, Clone, Default, Args)]
struct RefusedArgs {
    #[arg(short = 'l', hide = true)]
    components: Option<String>,
    #[arg(short = 'M', hide = true)]
    memory: Option<String>,
    #[arg(short = '@', hide = true)]
    wpars: Option<String>,
}

impl RefusedArgs {
    /// First such flag on the command line.
    fn first(&self) -> Option<(char, &'static str)> {
        const COMPONENTS: &str =
            "component traces exist only in AIX's kernel, and the layout of their directories is not public";
        const MEMORY: &str = "memory traces exist only in AIX's kernel, and the layout of their files is not public";
        const WPARS: &str = "workload partitions exist only on AIX, and their place in an event is not public";
        [
            (self.components.is_some(), 'l', COMPONENTS),
            (self.memory.is_some(), 'M', MEMORY),
            (self.wpars.is_some(), '@', WPARS),
        ]
        .into_iter()
        .find_map(|(given, flag, why)| given.then_some((flag, why)))
    }
}

/// Examples of the help page.
const EXAMPLES: &str = "\
Examples:
  trcrpt trace.log                          format with /etc/trcfmt or the built-in format file
  trcrpt -t my.trcfmt -o report trace.log   format with a file of your own
  trcrpt -h -O ids=off,timestamp=3 -d 010 - < trace.stream
  trcrpt -D io trace.log                    the hooks of an event group (trcevgrp)
  trcrpt -O exec=on,pid=on -p ksh,4522 trace.log
  trcrpt -x -n kernel.names trace.log       process names, and system calls by name
  trcrpt -m -O filename=on a.log b.log      two logs in one report, in the order of time
  trcrpt -r -C all -o trace.raw trace.log   the files of all CPUs as one stream
  trcrpt -c -t my.trcfmt                    check a format file";

impl TrcrptArgs {
    /// Runs the command.
    pub fn run(mut self, common: CommonArgs) -> (Console, CommandResult) {
        let mut console = Console::new(true, common);
        console.terse = self.terse;
        // On an AIX system, the system's own file describes its kernel better than the built-in one.
        if self.formats.is_empty() && Path::new(SYSTEM_FORMATS).is_file() {
            self.formats.push(SYSTEM_FORMATS.into());
        }
        let unnamed = self.files.is_empty();
        if unnamed {
            self.files.push(paths::to_read(AIX_LOG));
        }
        let ending = self.dispatch(&console, unnamed);
        (console, ending)
    }

    fn dispatch(&self, console: &Console, unnamed: bool) -> CommandResult {
        if self.list_groups {
            return super::print(console, trcevgrp::listing(&trcevgrp::load()?), None);
        }
        // Help comes before the checks of other flags, because users who ask for it may not know these flags yet.
        self.refuse()?;
        if self.options.iter().any(|option| option == "help") {
            return super::print(console, rptopts::help(), None);
        }
        if self.language.asks_for_help() {
            return super::print(console, formats::dialect_help(), None);
        }
        self.refuse_output()?;
        let settings = self.settings(console)?;
        // Warns of an unknown TZ only if dates appear in the output.
        let shows_dates = !self.list && !self.check;
        let zone = if shows_dates { self.zone.zone(console) } else { TimeZone::UTC };
        let selected = self.filter(&settings, &zone)?;
        warn_of_no_match(console, &selected);
        self.name_files(console);
        if self.check {
            return formats::check(console, &self.formats, &self.language);
        }
        let set = formats::load_for_report(console, &self.formats, &self.language)?;
        if self.list {
            super::print(console, super::list::labels(&set), self.output.as_deref())?;
            return Ok(formats::loaded(&set));
        }
        // Traces are checked last. `-j`, `-c` and `-G` need none, and AIX users call them without one.
        self.refuse_directories()?;
        // Files that the user named get the system's message when they are opened. The user did not type this name, so
        // the message says where it comes from.
        if unnamed && !self.files[0].exists() {
            let text = no_log(&self.files[0]);
            return Err(Failure::Error(Message::Unreadable, text));
        }
        let options = AixReportOptions {
            columns: settings.columns(),
            page_size: settings.page_size,
            delta_of_all: self.language.report_dialect()?.delta_of_all,
            no_heading: self.no_heading,
            time_zone: zone,
            histogram: settings.histogram,
            context: context_args::context(self.context.as_deref())?,
            names: context_args::names(self.names.as_deref())?,
            limits: self.limits.limits(),
            max_work: self.limits.max_work(),
            tables: self.tables.limits(),
            ..selected
        };
        let wanted = SystemOptions {
            aix: &|| Ok(options.clone()),
            qnx: &|name, _| {
                let text = format!("{name} is a QNX log: `traceprinter` and `tfbc report` read it");
                Err(Failure::Error(Message::Unreadable, text))
            },
            verbose: self.verbose,
            formats: set.files(),
            filters: self.filters(&settings),
            hits: None,
            links: None,
            pager: self.pager,
        };
        let output = self.output.as_deref();
        let args = TraceArgs {
            cpus: options.filter.cpus.clone().map(|cpus| cpus.0),
            max_ratio: self.language.ratio.ratio(),
            short_generic_word: self.language.report_dialect()?.short_generic_word,
            ..self.trace.clone()
        };
        if self.merge || self.raw {
            inputs::refuse_output(output, &self.files, &args)?;
            let merged = merge::open(&self.files, &args, self.merge && settings.remove_duplicates)?;
            let aix = trace::chosen_files(&merged.info(), &args, options.clone());
            let options = tfbc::ReportOptions { aix, ..tfbc::ReportOptions::default() };
            let product = if self.raw { Product::Raw } else { Product::Report(&set) };
            let ended = merge::run(console, merged, &options, &product, &wanted, output)?;
            return Ok(ended.max(formats::loaded(&set)));
        }
        let ended = trace::run(console, &set, &self.files, &args, &wanted, output)?;
        Ok(ended.max(formats::loaded(&set)))
    }

    fn refuse(&self) -> Result<(), Failure> {
        if let Some((flag, why)) = self.refused.first() {
            return Err(Failure::Error(Message::Unsupported, format!("flag -{flag} is refused: {why}")));
        }
        // The parser takes everything after the first file for file names. A flag there would only be reported as an
        // unreadable file. `-` alone is standard input.
        let is_flag = |file: &&PathBuf| file.as_os_str().len() > 1 && file.to_string_lossy().starts_with('-');
        match self.files.iter().find(is_flag) {
            Some(flag) => {
                let text = format!("{} comes after a file: put options before files", flag.display());
                Err(Failure::Error(Message::OptionBehindFile, text))
            }
            None => Ok(()),
        }
    }

    /// Refuses an output that is one of the inputs.
    fn refuse_output(&self) -> Result<(), Failure> {
        let asks_for_groups = !self.only_groups.is_empty() || !self.except_groups.is_empty();
        let groups = groups::default_path().filter(|_| asks_for_groups);
        let tables = [&self.context, &self.names, &groups].into_iter().flatten();
        let inputs = self.files.iter().chain(tables).map(PathBuf::as_path);
        overwrite::refuse([self.output.as_deref()], overwrite::files(&self.formats).chain(inputs))
    }

    /// Settings of `-O` and `-x`. Warns about settings that have no effect on these traces.
    fn settings(&self, console: &Console) -> Result<ReportSettings, Failure> {
        let mut settings = ReportSettings::parse(&self.options)?;
        if self.exec {
            settings.show(Column::Exec, true);
            settings.show(Column::Svc, true);
        }
        if settings.purr {
            let text = "-O PURR=on: traces have no PURR register, so elapsed times are shown";
            console.warning(Message::NoPurr, text);
        }
        if self.ignores_dates() && (self.start.is_some() || self.end.is_some()) {
            console.warning(Message::DatesIgnored, "-s and -e cannot be combined with -C, and are ignored");
        }
        if settings.component {
            console.note("-O component=on adds no column: only component traces contain the components of events");
        }
        Ok(settings)
    }

    /// Report options with the flags that select events.
    fn filter(&self, settings: &ReportSettings, zone: &TimeZone) -> Result<AixReportOptions, Failure> {
        let mut options = AixReportOptions::default();
        let filter = &mut options.filter;
        for list in &self.only {
            filter.only.get_or_insert_default().extend(&ids(list)?);
        }
        for list in &self.except {
            filter.except.extend(&ids(list)?);
        }
        // Groups add to the hooks of `-d`. If `-D` names no hook, nothing is selected, not everything.
        if let Some(ids) = trcevgrp::hooks(&self.only_groups)? {
            filter.only.get_or_insert_default().extend(&ids);
        }
        filter.except.extend(&trcevgrp::hooks(&self.except_groups)?.unwrap_or_default());
        filter.from_ns = settings.from_ns;
        filter.to_ns = settings.to_ns;
        if !self.ignores_dates() {
            filter.from_date = self.start.as_deref().map(|text| date('s', text, zone)).transpose()?;
            filter.to_date = self.end.as_deref().map(|text| date('e', text, zone)).transpose()?;
        }
        // Both are ranges of time with different zero points. AIX's documentation does not say which one wins.
        if filter.has_dates() && (filter.from_ns.is_some() || filter.to_ns.is_some()) {
            let text = "-s and -e choose by date, -O starttime= and endtime= by seconds: give one or the other";
            return Err(Failure::Error(Message::Usage, String::from(text)));
        }
        for list in self.cpus.iter().filter(|list| list.trim() != "all") {
            filter.cpus.get_or_insert_default().add(list).map_err(|message| {
                let hint = if list.trim().eq_ignore_ascii_case("all") { "; did you mean `all`?" } else { "" };
                usage_error("-C", &format!("{message}, or `all`{hint}"))
            })?;
        }
        // `all` wins over numbers in another `-C`, in either order.
        if self.cpus.iter().any(|list| list.trim() == "all") {
            filter.cpus = None;
        }
        for list in &self.processes {
            let processes = filter.processes.get_or_insert_default();
            processes.add(list).map_err(|message| usage_error("-p", &message))?;
        }
        for list in &self.threads {
            filter.threads.get_or_insert_default().add(list).map_err(|message| usage_error("-T", &message))?;
        }
        Ok(options)
    }

    /// Flags that select events.
    fn filters(&self, settings: &ReportSettings) -> Vec<&'static str> {
        let given = [
            (!self.only.is_empty(), "-d"),
            (!self.only_groups.is_empty(), "-D"),
            (!self.except.is_empty(), "-k"),
            (!self.except_groups.is_empty(), "-K"),
            (!self.processes.is_empty(), "-p"),
            (!self.threads.is_empty(), "-T"),
            (!self.cpus.is_empty(), "-C"),
            (self.start.is_some() && !self.ignores_dates(), "-s"),
            (self.end.is_some() && !self.ignores_dates(), "-e"),
            (settings.from_ns.is_some(), "-O starttime="),
            (settings.to_ns.is_some(), "-O endtime="),
        ];
        given.into_iter().filter_map(|(given, flag)| given.then_some(flag)).collect()
    }

    /// True if dates are ignored, as in AIX's command.
    fn ignores_dates(&self) -> bool {
        !self.cpus.is_empty()
    }

    fn refuse_directories(&self) -> Result<(), Failure> {
        match self.files.iter().find(|file| file.is_dir()) {
            Some(directory) => {
                let why = "a directory is a component trace of AIX's kernel, whose layout is not public";
                let text = format!("cannot read {}: {why}", directory.display());
                Err(Failure::Error(Message::Unreadable, text))
            }
            None => Ok(()),
        }
    }

    fn name_files(&self, console: &Console) {
        if self.verbose > 0 {
            let tables = [&self.context, &self.names];
            for file in self.formats.iter().chain(tables.into_iter().flatten()) {
                console.note(file.display());
            }
        }
    }
}

/// Warns about a filter that no event can match.
fn warn_of_no_match(console: &Console, options: &AixReportOptions) {
    let filter = &options.filter;
    if filter.leaves_nothing() {
        console.warning(Message::Notable, "-k and -K name all hooks that -d and -D name, so no event is left");
    }
    if let Err(text) = check_times("-O starttime", filter.from_ns, "-O endtime", filter.to_ns) {
        console.warning(Message::Notable, text);
    }
    if let (Some(from), Some(to)) = (filter.from_date, filter.to_date)
        && from > to
    {
        console.warning(Message::Notable, "the date of -s is after that of -e: no event is in that range");
    }
}

/// Message if no trace is given and the default log does not exist.
fn no_log(own: &Path) -> String {
    let neither = if own == Path::new(AIX_LOG) { String::new() } else { format!(" and no {}", own.display()) };
    format!("no trace is named, and there is no {AIX_LOG}{neither}: name one, as in `trcrpt trace.log`")
}

fn ids(list: &str) -> Result<IdSet, Failure> {
    IdSet::parse(list).map_err(|error| Failure::Error(Message::BadIdList, error.to_string()))
}

fn usage_error(flag: &str, message: &str) -> Failure {
    Failure::Error(Message::Usage, format!("{flag}: {message}"))
}

fn date(flag: char, text: &str, zone: &TimeZone) -> Result<u32, Failure> {
    zone.seconds(text).ok_or_else(|| {
        let expected = "month, day, hour, minute, second and year of two digits each (MMddhhmmssyy)";
        Failure::Error(Message::BadDate, format!("-{flag} `{text}` is not a date: expected {expected}"))
    })
}
