//! `trcrpt`: AIX's flags on our report.

use super::console::{Colour, Console, Ending, Failure, Message};
use super::formats::{self, LanguageArgs};
use super::trace::{self, TraceArgs, Wanted};
use crate::columns::{Columns, Timestamp};
use crate::ids::IdSet;
use crate::report::{Filter, ReportOptions};
use clap::{ArgAction, Args};
use std::path::{Path, PathBuf};

/// The format file of an AIX system.
const SYSTEM_FORMATS: &str = "/etc/trcfmt";
/// The log that the trace command writes by default.
const SYSTEM_LOG: &str = "/var/adm/ras/trcfile";
/// The most lines that a page may have.
const MAX_PAGE: u64 = 500;

/// Flags and files of `trcrpt`.
#[derive(Debug, Clone, Default, Args)]
#[command(
    disable_help_flag = true,
    about = "Write the report of AIX traces, as AIX's trcrpt does",
    after_help = EXAMPLES
)]
pub struct TrcrptArgs {
    /// Format file, source or blob, in place of /etc/trcfmt or the built-in one; later ones win, `default` is the
    /// built-in one
    #[arg(short = 't', value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    /// Write the report to a file
    #[arg(short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// No heading
    #[arg(short = 'h')]
    no_heading: bool,
    /// Only these hooks: hh, hhh or hhhh, separated by commas or blanks
    #[arg(short = 'd', value_name = "IDS")]
    only: Vec<String>,
    /// All but these hooks
    #[arg(short = 'k', value_name = "IDS")]
    except: Vec<String>,
    /// List the ids and labels of the format files, and no report
    #[arg(short = 'j')]
    list: bool,
    /// Check the format files, and no report
    #[arg(short = 'c')]
    check: bool,
    /// Options: ids=on|off, timestamp=0|1|2|3, pagesize=0 to 500; `help` tells more
    #[arg(short = 'O', value_name = "NAME=VALUE,...")]
    options: Vec<String>,
    /// Name each file that is opened
    #[arg(short = 'v', action = ArgAction::Count)]
    verbose: u8,
    /// Accepted without effect
    #[arg(short = 'q', hide = true)]
    terse: bool,
    /// Accepted without effect
    #[arg(short = 'L', hide = true, value_name = "FILE")]
    old_list: Option<String>,
    #[command(flatten)]
    refused: RefusedArgs,
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    language: LanguageArgs,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
    /// Traces, `-` for standard input; without any, /var/adm/ras/trcfile
    #[arg(value_name = "TRACE", trailing_var_arg = true)]
    files: Vec<PathBuf>,
}

/// Flags that AIX's command has and this one has not.
#[derive(Debug, Clone, Default, Args)]
struct RefusedArgs {
    #[arg(short = 'C', hide = true)]
    cpus: Option<String>,
    #[arg(short = 'D', hide = true)]
    only_groups: Option<String>,
    #[arg(short = 'e', hide = true)]
    end: Option<String>,
    #[arg(short = 's', hide = true)]
    start: Option<String>,
    #[arg(short = 'G', hide = true)]
    list_groups: bool,
    #[arg(short = 'K', hide = true)]
    except_groups: Option<String>,
    #[arg(short = 'l', hide = true)]
    components: Option<String>,
    #[arg(short = 'm', hide = true)]
    merge: bool,
    #[arg(short = 'M', hide = true)]
    memory: Option<String>,
    #[arg(short = 'n', hide = true)]
    names: Option<String>,
    #[arg(short = 'p', hide = true)]
    processes: Option<String>,
    #[arg(short = 'r', hide = true)]
    raw: bool,
    #[arg(short = 'T', hide = true)]
    threads: Option<String>,
    #[arg(short = 'x', hide = true)]
    exec: bool,
    #[arg(short = '@', hide = true)]
    wpars: Option<String>,
}

impl RefusedArgs {
    /// The first flag that was given.
    fn first(&self) -> Option<(char, &'static str)> {
        const MEANINGLESS: &str = "it has no meaning outside AIX";
        const MISSING: &str = "it is not supported";
        [
            (self.cpus.is_some(), 'C', MISSING),
            (self.only_groups.is_some(), 'D', MISSING),
            (self.end.is_some(), 'e', MISSING),
            (self.start.is_some(), 's', MISSING),
            (self.list_groups, 'G', MISSING),
            (self.except_groups.is_some(), 'K', MISSING),
            (self.components.is_some(), 'l', MEANINGLESS),
            (self.merge, 'm', MISSING),
            (self.memory.is_some(), 'M', MEANINGLESS),
            (self.names.is_some(), 'n', MISSING),
            (self.processes.is_some(), 'p', MISSING),
            (self.raw, 'r', MISSING),
            (self.threads.is_some(), 'T', MISSING),
            (self.exec, 'x', MISSING),
            (self.wpars.is_some(), '@', MEANINGLESS),
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
  trcrpt -c -t my.trcfmt                    check a format file";

const OPTIONS_HELP: &str = "\
ids=on|off             the ID column (on)
timestamp=0|1|2|3      0 elapsed seconds and delta milliseconds, 1 elapsed seconds alone,
                       2 elapsed seconds and delta microseconds, 3 no times (0)
pagesize=0..500        lines between two headings; 0 for a single heading (0)
";

/// Options of AIX's command that may be off and no more.
const OFF_ONLY: [&str; 13] = [
    "exec",
    "pid",
    "svc",
    "tid",
    "cpuid",
    "component",
    "filename",
    "PURR",
    "2line",
    "hist",
    "reportedcpus",
    "reportedprocessors",
    "removedups",
];

/// Options of AIX's command that are not here at all.
const UNSUPPORTED: [&str; 2] = ["starttime", "endtime"];

/// What `-O` sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReportSettings {
    ids: bool,
    timestamp: Timestamp,
    page_size: u64,
}

impl ReportSettings {
    fn parse(options: &[String]) -> Result<Self, Failure> {
        let mut settings = Self { ids: true, timestamp: Timestamp::Milli, page_size: 0 };
        for option in options.iter().flat_map(|list| list.split([',', ' '])).filter(|option| !option.is_empty()) {
            settings.set(option)?;
        }
        Ok(settings)
    }

    fn set(&mut self, option: &str) -> Result<(), Failure> {
        let usage = |expected: &str| Failure::Say(Message::Usage, format!("-O {option}: expected {expected}"));
        let (name, value) = option.split_once('=').ok_or_else(|| usage("NAME=VALUE"))?;
        let number = value.parse::<u64>().ok();
        match name {
            "ids" => self.ids = on_off(value).ok_or_else(|| usage("ids=on or ids=off"))?,
            "timestamp" => {
                self.timestamp =
                    number.and_then(Timestamp::from_number).ok_or_else(|| usage("timestamp=0, 1, 2 or 3"))?;
            }
            "pagesize" => {
                self.page_size =
                    number.filter(|lines| *lines <= MAX_PAGE).ok_or_else(|| usage("pagesize=0 to pagesize=500"))?;
            }
            _ if OFF_ONLY.contains(&name) && value == "off" => {}
            _ if OFF_ONLY.contains(&name) || UNSUPPORTED.contains(&name) => {
                return Err(Failure::Say(Message::Unsupported, format!("-O {option} is not supported")));
            }
            _ => {
                let hint = super::closest(name, &["ids", "timestamp", "pagesize"]);
                let hint = hint.map_or(String::new(), |hint| format!("; did you mean `{hint}`?"));
                let text = format!("-O {option}: unknown option `{name}`{hint} (`-O help` lists them)");
                return Err(Failure::Say(Message::Usage, text));
            }
        }
        Ok(())
    }
}

fn on_off(value: &str) -> Option<bool> {
    match value {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

impl TrcrptArgs {
    /// Runs the command.
    pub fn run(mut self, colour: Colour, quiet: bool) -> (Console, Ending) {
        let console = Console::new(true, colour, quiet);
        if self.formats.is_empty() && Path::new(SYSTEM_FORMATS).is_file() {
            self.formats.push(SYSTEM_FORMATS.into());
        }
        if self.files.is_empty() {
            self.files.push(SYSTEM_LOG.into());
        }
        let ending = self.dispatch(&console);
        (console, ending)
    }

    fn dispatch(&self, console: &Console) -> Ending {
        self.refuse()?;
        if self.options.iter().any(|option| option == "help") {
            return super::print(OPTIONS_HELP, None);
        }
        if self.language.asks_for_help() {
            return super::print(formats::dialect_help(), None);
        }
        let settings = ReportSettings::parse(&self.options)?;
        let filter = filter(&self.only, &self.except)?;
        self.name_files(console);
        if self.check {
            return formats::check(console, &self.formats, &self.language);
        }
        let set = formats::load(console, &self.formats, &self.language)?;
        let catalog = set.catalog().map_err(|error| formats::refusal(console, error, false))?;
        if self.list {
            return super::print(super::list::labels(&catalog), self.output.as_deref());
        }
        let options = ReportOptions {
            columns: Columns::new(settings.ids, settings.timestamp),
            page_size: settings.page_size,
            no_heading: self.no_heading,
            filter,
            ..ReportOptions::default()
        };
        let wanted = Wanted {
            aix: &|| Ok(options.clone()),
            kev: &|log| {
                let text = format!("{} is a log of QNX: `traceprinter` and `tfbc report` read it", log.name());
                Err(Failure::Say(Message::Unreadable, text))
            },
        };
        trace::run(console, &catalog, &self.files, &self.trace, &wanted, self.output.as_deref())
    }

    fn refuse(&self) -> Result<(), Failure> {
        if let Some((flag, why)) = self.refused.first() {
            return Err(Failure::Say(Message::Unsupported, format!("flag -{flag} is refused: {why}")));
        }
        let is_flag = |file: &&PathBuf| file.as_os_str().len() > 1 && file.to_string_lossy().starts_with('-');
        match self.files.iter().find(is_flag) {
            Some(flag) => {
                let text = format!("{} stands behind a file: options come before files", flag.display());
                Err(Failure::Say(Message::OptionBehindFile, text))
            }
            None => Ok(()),
        }
    }

    fn name_files(&self, console: &Console) {
        if self.verbose > 0 {
            for file in self.formats.iter().chain(&self.files) {
                console.note(file.display());
            }
        }
    }
}

/// The filter of id lists; several lists of a kind add up.
pub fn filter(only: &[String], except: &[String]) -> Result<Filter, Failure> {
    let parse = |lists: &[String]| {
        lists.iter().try_fold(IdSet::default(), |mut ids, list| {
            ids.extend(&IdSet::parse(list).map_err(|error| Failure::Say(Message::BadIdList, error.to_string()))?);
            Ok(ids)
        })
    };
    let only = if only.is_empty() { None } else { Some(parse(only)?) };
    Ok(Filter { only, except: parse(except)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(options: &[&str]) -> Result<ReportSettings, String> {
        let options: Vec<_> = options.iter().map(|option| (*option).to_owned()).collect();
        ReportSettings::parse(&options).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn options_may_be_listed_or_repeated() {
        let expected = ReportSettings { ids: false, timestamp: Timestamp::None, page_size: 20 };
        assert_eq!(settings(&["ids=off,timestamp=3", "pagesize=20"]), Ok(expected));
        assert_eq!(settings(&["exec=off"]).map(|settings| settings.ids), Ok(true));
    }

    #[test]
    fn wrong_options_are_refused() {
        for (option, part) in [
            ("ids=maybe", "ids=on"),
            ("timestamp=4", "0, 1, 2 or 3"),
            ("pagesize=501", "500"),
            ("exec=on", "not supported"),
            ("starttime=1", "not supported"),
            ("timestmp=1", "did you mean `timestamp`"),
            ("ids", "NAME=VALUE"),
        ] {
            let message = settings(&[option]).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
    }
}
