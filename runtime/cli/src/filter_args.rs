//! Flags that select events, shared by `tfbc report`, `tfbc view` and `tfbc browse`.

use super::console::{Console, Failure, Message};
use clap::Args;
use tfbc::aix::AixReportOptions;
use tfbc::qnx::QnxReportOptions;
use tfbc::{EventFilter, Expression, ExpressionError, FilterError, Formats, Pattern, QnxHeader, ReportOptions, System};
use tfbc_authoring::times::{check_times, shown, signed_seconds};

/// Flags that select events.
#[derive(Debug, Clone, Default, Args)]
pub struct FilterArgs {
    /// Only these events, separated by commas or blanks. AIX: hh, hhh or hhhh. QNX: a class such as 6 or USER, an event
    /// such as 6:65, KER_CALL:10-20 or THREADY; names as in QNX's header or as in traceprinter
    #[arg(long, value_name = "IDS")]
    only: Vec<String>,
    /// Leave out these events
    #[arg(long, value_name = "IDS")]
    except: Vec<String>,
    /// Only events that have a template in the given files
    #[arg(long)]
    pub defined: bool,
    /// Only events of these processes, by id. With --exec, AIX events that match either flag, QNX events that match
    /// both
    #[arg(long, value_name = "PIDS")]
    pid: Vec<String>,
    /// Only events of processes that run these programs, by name or path
    #[arg(long, value_name = "NAMES")]
    exec: Vec<String>,
    /// Same as --exec, named as in QNX
    #[arg(long, value_name = "NAMES")]
    process: Vec<String>,
    /// Only events of these threads; with ! before the list, of all others. QNX: thread numbers within their processes
    #[arg(long, value_name = "TIDS")]
    tid: Vec<String>,
    /// Only events on these CPUs, such as 0,2-3
    #[arg(long, value_name = "CPUS")]
    cpu: Vec<String>,
    /// From this time, in seconds as in the elapsed or time column
    #[arg(long, value_name = "SECONDS", value_parser = signed_seconds, allow_negative_numbers = true)]
    pub from: Option<i128>,
    /// Until this time, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = signed_seconds, allow_negative_numbers = true)]
    pub until: Option<i128>,
    /// Only events whose text or data matches; `^` and `$` match at line ends
    #[arg(long, value_name = "REGEX", value_parser = Pattern::new)]
    pub grep: Option<Pattern>,
    /// Only events that meet these conditions on their fields and properties, such as `size > 100 && process == cp`
    /// (docs/latency.md)
    #[arg(long = "where", value_name = "EXPR", value_parser = conditions)]
    conditions: Option<String>,
}

impl FilterArgs {
    /// Filter that selects by a pattern alone.
    pub fn of_pattern(pattern: Pattern) -> Self {
        Self { grep: Some(pattern), ..Self::default() }
    }

    /// Checks what needs no trace: names of programs that are numbers get a warning, and a range of times must not end
    /// before it begins.
    pub fn check(&self, console: &Console) -> Result<(), Failure> {
        for name in self.exec_names().filter(|name| is_number(name)) {
            let text =
                format!("--exec {name} takes names of programs: a process is chosen by its id with --pid {name}");
            console.warning(Message::Usage, text);
        }
        check_times("--from", self.from, "--until", self.until).map_err(usage)
    }

    /// Flags that select events.
    pub fn names(&self) -> Vec<&'static str> {
        let given = [
            (!self.only.is_empty(), "--only"),
            (!self.except.is_empty(), "--except"),
            (self.defined, "--defined"),
            (!self.pid.is_empty(), "--pid"),
            (!self.exec.is_empty(), "--exec"),
            (!self.process.is_empty(), "--process"),
            (!self.tid.is_empty(), "--tid"),
            (!self.cpu.is_empty(), "--cpu"),
            (self.from.is_some(), "--from"),
            (self.until.is_some(), "--until"),
            (self.grep.is_some(), "--grep"),
            (self.conditions.is_some(), "--where"),
        ];
        given.into_iter().filter_map(|(given, flag)| given.then_some(flag)).collect()
    }

    /// The flags as a filter, without `--grep`, whose pattern is compiled already.
    fn filter(&self) -> EventFilter {
        EventFilter {
            only: self.only.clone(),
            except: self.except.clone(),
            pids: self.pid.clone(),
            programs: self.exec_names().map(String::from).collect(),
            tids: self.tid.clone(),
            cpus: self.cpu.clone(),
            from_ns: self.from,
            until_ns: self.until,
            conditions: self.conditions.clone(),
            defined: self.defined,
            ..EventFilter::default()
        }
    }

    /// Filter options of an AIX report.
    ///
    /// # Errors
    /// A flag is malformed, or no event is left.
    pub fn aix(&self, set: &Formats) -> Result<AixReportOptions, Failure> {
        for (flag, ns) in [("--from", self.from), ("--until", self.until)] {
            not_negative(flag, ns)?;
        }
        let options = ReportOptions::default().with_filter_of(&self.filter(), None, set);
        let options = options.map_err(|error| refused(error, System::Aix))?.aix;
        if options.filter.leaves_nothing() {
            return Err(usage(format!("--except: {NOTHING_LEFT}")));
        }
        Ok(AixReportOptions { grep: self.grep.clone(), ..options })
    }

    /// Names of `--exec`.
    fn exec_names(&self) -> impl Iterator<Item = &str> {
        self.exec.iter().chain(&self.process).flat_map(|list| list.split([',', ' '])).filter(|name| !name.is_empty())
    }

    /// Filter options of a report of a QNX log.
    ///
    /// # Errors
    /// A flag is malformed, or no event is left.
    pub fn qnx(&self, set: &Formats, header: &QnxHeader) -> Result<QnxReportOptions, Failure> {
        // Names of events depend on the release of the log, so `--only` can be read only when the log is open.
        let options = ReportOptions::default().with_filter_of(&self.filter(), Some(header.release), set);
        let options = options.map_err(|error| refused(error, System::Qnx))?.qnx;
        if options.filter.leaves_nothing() {
            return Err(usage(format!("--except: {NOTHING_LEFT}")));
        }
        Ok(QnxReportOptions { grep: self.grep.clone(), ..options })
    }
}

/// Checks the form of `--where`. Its ids and names are looked up when the trace is open.
fn conditions(text: &str) -> Result<String, ExpressionError> {
    Expression::parse(text).map(|_| text.to_owned())
}

fn usage(text: String) -> Failure {
    Failure::Error(Message::Usage, text)
}

/// Mistake in a filter, with its flag if the message does not show it.
fn refused(error: FilterError, system: System) -> Failure {
    let text = error.message.replace("`exec`", "--exec");
    match (error.flag, system) {
        ("only" | "except", System::Aix) => Failure::Error(Message::BadIdList, text),
        ("only" | "except" | "cpu", System::Qnx) => usage(text),
        (flag, _) => usage(format!("--{flag}: {text}")),
    }
}

/// Checks a time in an AIX trace, which cannot be negative. QNX logs have stamps before the start of the trace.
fn not_negative(flag: &str, ns: Option<i128>) -> Result<(), Failure> {
    match ns.filter(|ns| *ns < 0) {
        None => Ok(()),
        Some(ns) => {
            let found = shown(ns);
            Err(usage(format!("{flag}: expected seconds such as 12.5, found '{found}': AIX times are not negative")))
        }
    }
}

/// Error text for `--except` if it names everything that `--only` names.
const NOTHING_LEFT: &str = "it names all events that --only names, so no event is left";

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
