//! Flags that select events, shared by `tfbc report`, `tfbc view` and `tfbc browse`.

use super::console::{Console, Failure, Message};
use super::trcrpt;
use clap::Args;
use std::collections::BTreeSet;
use tfbc::aix::{Filter, Numbers, Processes};
use tfbc::internal::expression::Expression;
use tfbc::qnx::{RecordFilter, RecordIds};
use tfbc::{Formats, Pattern, QnxHeader, System};
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
    #[arg(long = "where", value_name = "EXPR", value_parser = Expression::parse)]
    conditions: Option<Expression>,
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

    /// Conditions of `--where`, whose ids and names exist.
    pub fn conditions(&self, set: &Formats, header: Option<&QnxHeader>) -> Result<Option<Expression>, Failure> {
        let Some(expression) = &self.conditions else { return Ok(None) };
        let usage = |text| Failure::Error(Message::Usage, format!("--where: {text}"));
        let system = if header.is_some() { System::Qnx } else { System::Aix };
        let release = header.and_then(|header| header.release);
        expression.check(set, system, release).map_err(usage)?;
        Ok(Some(expression.clone()))
    }

    /// Filter of AIX events.
    pub fn aix(&self) -> Result<Filter, Failure> {
        let usage = |flag: &str, text: String| Failure::Error(Message::Usage, format!("{flag}: {text}"));
        let mut processes = self.processes()?.unwrap_or_default();
        processes.names.extend(self.exec_names().map(|name| name.as_bytes().to_vec()));
        let mut cpus = Numbers::default();
        self.cpu.iter().try_for_each(|list| cpus.add(list)).map_err(|text| usage("--cpu", text))?;
        let filter = Filter {
            processes: (processes != Processes::default()).then_some(processes),
            threads: trcrpt::threads("--tid", &self.tid)?,
            cpus: (!self.cpu.is_empty()).then_some(cpus),
            from_ns: unsigned("--from", self.from)?,
            to_ns: unsigned("--until", self.until)?,
            ..trcrpt::filter(&self.only, &self.except)?
        };
        if filter.leaves_nothing() {
            return Err(usage("--except", String::from(NOTHING_LEFT)));
        }
        Ok(filter)
    }

    /// Processes of `--pid`.
    fn processes(&self) -> Result<Option<Processes>, Failure> {
        // AIX's `-p` takes ids and names mixed, and shares this parser. Here names have their own flag, so that a
        // mistyped number is not taken for a program.
        let processes = trcrpt::processes("--pid", &self.pid)?;
        if let Some(name) = processes.iter().find_map(|processes| processes.names.first()) {
            let name = String::from_utf8_lossy(name);
            let text = format!("--pid: `{name}` is not a process id: expected a number (--exec takes names)");
            return Err(Failure::Error(Message::Usage, text));
        }
        Ok(processes)
    }

    /// Process ids of `--pid`.
    fn pids(&self) -> Result<Option<BTreeSet<u64>>, Failure> {
        let processes = self.processes()?;
        if processes.as_ref().is_some_and(|processes| processes.interrupts) {
            let text = "--pid: INTR is for AIX traces, but this is a QNX log: expected numbers";
            return Err(Failure::Error(Message::Usage, String::from(text)));
        }
        Ok(processes.map(|processes| processes.pids))
    }

    /// Names of `--exec`.
    fn exec_names(&self) -> impl Iterator<Item = &str> {
        self.exec.iter().chain(&self.process).flat_map(|list| list.split([',', ' '])).filter(|name| !name.is_empty())
    }

    /// Filter of a QNX log.
    pub fn qnx(&self, header: &QnxHeader) -> Result<RecordFilter, Failure> {
        // Names of events depend on the release of the log, so `--only` can be read only when the log is open.
        let ids = |lists: &[String]| {
            let mut ids = RecordIds::default();
            let items = lists.iter().flat_map(|list| list.split([',', ' '])).filter(|item| !item.is_empty());
            items.into_iter().try_for_each(|item| ids.add(item, header.release)).map_err(usage)?;
            Ok((!lists.is_empty()).then_some(ids))
        };
        let mut filter = RecordFilter {
            only: ids(&self.only)?,
            except: ids(&self.except)?,
            cpus: None,
            from_ns: self.from,
            to_ns: self.until,
            pids: self.pids()?,
            threads: trcrpt::threads("--tid", &self.tid)?,
            names: self
                .exec_names()
                .next()
                .is_some()
                .then(|| self.exec_names().map(|name| name.as_bytes().to_vec()).collect()),
        };
        self.cpu.iter().try_for_each(|list| filter.add_cpus(list)).map_err(usage)?;
        if filter.leaves_nothing() {
            return Err(usage(format!("--except: {NOTHING_LEFT}")));
        }
        Ok(filter)
    }
}

fn usage(text: String) -> Failure {
    Failure::Error(Message::Usage, text)
}

/// Time in an AIX trace, which cannot be negative.
fn unsigned(flag: &str, ns: Option<i128>) -> Result<Option<u64>, Failure> {
    // The flags take signed times for QNX logs, whose stamps can be before the start of the trace.
    let refused = |ns: i128| {
        let text = format!("{flag}: expected seconds such as 12.5, found '{}': AIX times are not negative", shown(ns));
        Failure::Error(Message::Usage, text)
    };
    ns.map(|ns| u64::try_from(ns).map_err(|_| refused(ns))).transpose()
}

/// Error text for `--except` if it names everything that `--only` names.
const NOTHING_LEFT: &str = "it names all events that --only names, so no event is left";

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
