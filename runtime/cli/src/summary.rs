//! `tfbc summary`: where the time of a trace went.

use super::analyse::{self, Screen, SpanArgs};
use super::console::{CommandResult, Console, Failure, Message, Status};
use super::inputs;
use super::limits::RatioArgs;
use super::overwrite;
use super::pager::{self, PagerArgs};
use super::trace_args::TraceArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tfbc::{EventFilter, Form, System};
use tfbc_analysis::{AnalysisOptions, Section, SortKey, Summary, TextLayout, Value, against, write};
use tfbc_authoring::times::seconds;
use tfbc_vm::TextBuf;

/// Sections that are shown if none are named.
const DEFAULT: [&str; 7] = ["head", "cpu", "process", "thread", "call", "interrupt", "state"];
/// All sections.
const SECTIONS: [&str; 13] = [
    "head",
    "cpu",
    "utilisation",
    "process",
    "thread",
    "call",
    "pending",
    "interrupt",
    "state",
    "client",
    "priority",
    "gap",
    "snapshot",
];

/// Flags of `tfbc summary`.
#[derive(Debug, Clone, Args)]
pub struct SummaryArgs {
    /// Sections, in this order: head, cpu, utilisation, process, thread, call, pending, interrupt, state, client,
    /// priority, gap, snapshot. By default all but utilisation, pending, client, priority, gap and snapshot; state,
    /// client and snapshot are for QNX logs
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    sections: Vec<String>,
    /// Draw how busy the CPUs were over time: adds the section utilisation
    #[arg(long, conflicts_with = "against")]
    plot: bool,
    /// Compare with this trace, in rows of base, this, difference and ratio
    #[arg(long, value_name = "BASE")]
    against: Option<PathBuf>,
    /// Rows per section; one more row sums up the others
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Order of the rows
    #[arg(long, value_name = "KEY", default_value = "total", value_enum)]
    sort: SortArg,
    /// Only rows of these processes, by id. Shares still refer to the whole trace
    #[arg(long, value_name = "PIDS")]
    pid: Vec<String>,
    /// Only rows of these threads
    #[arg(long, value_name = "TIDS")]
    tid: Vec<String>,
    /// Only rows of processes with these names
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    exec: Vec<String>,
    /// Only rows of these CPUs, such as 0,2-3
    #[arg(long, value_name = "CPUS")]
    cpu: Vec<String>,
    /// Interrupts by CPU
    #[arg(long)]
    per_cpu: bool,
    /// The section client by server (QNX)
    #[arg(long)]
    all: bool,
    /// States of all threads at this time, in seconds, instead of a summary (QNX)
    #[arg(long, value_name = "SECONDS", value_parser = seconds, conflicts_with_all = ["sections", "plot", "until", "against"])]
    at: Option<u64>,
    #[command(flatten)]
    span: SpanArgs,
    /// Output format. Tables (tsv, csv, arrow) have one section
    #[arg(long, value_name = "FORM", default_value = "text", value_enum)]
    to: FormArg,
    /// Mode of threads while the trace does not show their mode
    #[arg(long, value_name = "MODE", value_enum)]
    assume: Option<AssumeArg>,
    /// Idle threads (QNX), such as 1.1,1.2. By default the threads of process 1 with priority 0
    #[arg(long, value_name = "PID.TID", value_delimiter = ',', value_parser = analyse::thread)]
    idle: Vec<(u32, u32)>,
    /// List of names for processes that the trace does not name: lines of a pid and a name
    #[arg(long, value_name = "FILE")]
    pids: Option<PathBuf>,
    /// Read all traces as one, merged by time (AIX)
    #[arg(short = 'm', long)]
    merge: bool,
    /// File for the summary
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Names of calls with rows of their own
    #[arg(long, value_name = "N", default_value_t = 65_536, help_heading = "Limits")]
    max_calls: u32,
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    ratio: RatioArgs,
    #[command(flatten)]
    pager: PagerArgs,
    /// Traces; `-` is standard input, and a directory means the traces in it. Compressed files (.gz, .zst, .Z) are
    /// unpacked
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
}

/// Command-line form of [`Form`], for results of an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormArg {
    /// Milliseconds and percent, for people
    Text,
    /// Nanoseconds, separated by tabs
    Tsv,
    /// Nanoseconds, separated by commas
    Csv,
    /// One JSON object per row
    Ndjson,
    /// Arrow stream, for other programs
    Arrow,
}

impl FormArg {
    /// Form of the library. Columns of Arrow are those of CSV.
    pub fn form(self) -> Form {
        match self {
            FormArg::Text => Form::Text,
            FormArg::Tsv => Form::Tsv,
            FormArg::Csv | FormArg::Arrow => Form::Csv,
            FormArg::Ndjson => Form::Ndjson,
        }
    }

    /// True if the output is a table.
    pub fn is_table(self) -> bool {
        matches!(self, FormArg::Tsv | FormArg::Csv | FormArg::Arrow)
    }

    /// Refuses a form that this program cannot write.
    pub fn check(self) -> Result<(), Failure> {
        if self == FormArg::Arrow && cfg!(not(feature = "arrow")) {
            return Err(usage(super::not_built("arrow")));
        }
        Ok(())
    }
}

/// Mode that `--assume` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AssumeArg {
    /// User mode
    User,
}

/// Command-line form of [`SortKey`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SortArg {
    Total,
    Count,
    Mean,
    Max,
    Name,
    Id,
}

impl SortArg {
    fn key(self) -> SortKey {
        match self {
            SortArg::Total => SortKey::Total,
            SortArg::Count => SortKey::Count,
            SortArg::Mean => SortKey::Mean,
            SortArg::Max => SortKey::Max,
            SortArg::Name => SortKey::Name,
            SortArg::Id => SortKey::Id,
        }
    }
}

fn usage(text: String) -> Failure {
    Failure::Error(Message::Usage, text)
}

/// Ranges of numbers, both ends included.
type Ranges = Vec<(u64, u64)>;

/// Choices of rows.
struct RowFilter {
    pids: Option<Ranges>,
    tids: Option<Ranges>,
    cpus: Option<Ranges>,
    names: Vec<String>,
}

impl RowFilter {
    fn of(args: &SummaryArgs) -> Result<Self, Failure> {
        let numbers = |flag: &str, lists: &[String]| {
            let mut numbers = Ranges::new();
            for list in lists {
                let expected = "expected a number, a range or a list, such as 2,5-8";
                // The list of a filter's CPUs has the same form.
                let parsed = EventFilter { cpus: vec![list.clone()], ..EventFilter::default() }.aix();
                let parsed = parsed.map_err(|_| usage(format!("{flag}: `{list}` is not understood; {expected}")))?;
                numbers.extend(parsed.cpus.into_iter().flat_map(|numbers| numbers.0));
            }
            Ok::<_, Failure>((!lists.is_empty()).then_some(numbers))
        };
        Ok(Self {
            pids: numbers("--pid", &args.pid)?,
            tids: numbers("--tid", &args.tid)?,
            cpus: numbers("--cpu", &args.cpu)?,
            names: args.exec.clone(),
        })
    }

    /// Chooses rows of all sections. Returns a note for each flag that matches none.
    fn apply(&self, summary: &mut Summary) -> Vec<String> {
        let cpus: Vec<u64> = numbers(summary, "cpu").collect();
        // A section whose rows are all removed is no section any more.
        let has_column = |name| summary.sections().any(|section| section.column(name).is_some());
        let (has_pids, has_tids) = (has_column("pid"), has_column("tid"));
        let has_names = summary.sections().any(is_of_processes);
        for section in summary.sections_mut() {
            self.apply_to(section);
        }
        let is_empty = |column| numbers(summary, column).next().is_none();
        let mut notes = Vec::new();
        if self.pids.is_some() && has_pids && is_empty("pid") {
            notes.push(String::from("--pid matches no row"));
        }
        if self.tids.is_some() && has_tids && is_empty("tid") {
            notes.push(String::from("--tid matches no row"));
        }
        if self.cpus.is_some()
            && let (Some(first), Some(last)) = (cpus.iter().min(), cpus.iter().max())
            && is_empty("cpu")
        {
            notes.push(if first == last {
                format!("--cpu matches no row; the trace has only the CPU {first}")
            } else {
                format!("--cpu matches no row; the CPUs of the trace are from {first} to {last}")
            });
        }
        if !self.names.is_empty() && has_names && !summary.sections().any(is_of_processes) {
            notes.push(String::from("--exec matches no row"));
        }
        notes
    }

    fn apply_to(&self, section: &mut Section) {
        for (column, numbers) in [("pid", &self.pids), ("tid", &self.tids), ("cpu", &self.cpus)] {
            if let Some(numbers) = numbers {
                let contains = |number: i128| {
                    u64::try_from(number)
                        .is_ok_and(|number| numbers.iter().any(|(first, last)| (*first..=*last).contains(&number)))
                };
                section.retain(column, |value| matches!(value, Value::Number(number) if contains(*number)));
            }
        }
        if !self.names.is_empty() && is_of_processes(section) {
            section.retain("name", |value| matches!(value, Value::Text(name) if self.names.contains(name)));
        }
    }
}

/// True if the rows of a section have names of processes, by which `--exec` chooses.
fn is_of_processes(section: &Section) -> bool {
    matches!(section.name, "process" | "thread")
}

/// Numbers in a column of all sections.
fn numbers(summary: &Summary, column: &str) -> impl Iterator<Item = u64> {
    summary.sections().flat_map(move |section| {
        let at = section.column(column);
        section.rows().filter_map(move |row| match row[at?] {
            Value::Number(number) => u64::try_from(number).ok(),
            _ => None,
        })
    })
}

impl SummaryArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        let sections = self.sections()?;
        let filter = RowFilter::of(self)?;
        self.span.check()?;
        self.to.check()?;
        let args = TraceArgs { max_ratio: self.ratio.ratio(), ..self.trace.clone() };
        let traces = inputs::expand(console, &self.traces, &args)?;
        let told = self.span.files().chain([&self.pids, &self.against].into_iter().flatten());
        overwrite::refuse([self.output.as_deref()], told.map(PathBuf::as_path))?;
        inputs::refuse_output(self.output.as_deref(), &traces, &args)?;
        if traces.len() > 1 && self.to.is_table() && !self.merge {
            return Err(usage(String::from("a table has the rows of one trace: give one trace, or use `--to ndjson`")));
        }
        let options = self.options(&sections)?;
        let _held = self.pager.hold(self.output.as_deref());
        let mut status = Status::Well;
        let base = match &self.against {
            Some(path) => {
                Some(self.summary(console, std::slice::from_ref(path), &args, &options, &filter, &mut status)?)
            }
            None => None,
        };
        let mut out = TextBuf::new();
        let read = analyse::for_each_trace(console, &traces, self.merge, |at, paths| {
            let mut status = Status::Well;
            let summary = self.summary(console, paths, &args, &options, &filter, &mut status)?;
            if at > 0 && self.to == FormArg::Text {
                out.push(b"\n");
            }
            if self.at.is_some() && summary.system == System::Aix {
                return Err(usage(String::from(
                    "--at is for QNX logs: AIX traces do not contain the states of threads",
                )));
            }
            self.print(&sections, base.as_ref(), &summary, &mut out)?;
            if summary.n_events == 0 {
                console.note(format_args!("{}: the trace has no events", analyse::names_of(paths)));
            }
            Ok(status)
        })?;
        status = status.max(read);
        pager::print(console, out.as_bytes(), self.output.as_deref(), self.pager)?;
        Ok(status)
    }

    fn sections(&self) -> Result<Vec<&'static str>, Failure> {
        let known = |name: &String| {
            let found = SECTIONS.iter().find(|section| *section == name);
            let text = || format!("--sections: {}", analyse::unknown("section", name, &SECTIONS));
            found.copied().ok_or_else(|| usage(text()))
        };
        let sections: Vec<&str> = self.sections.iter().map(known).collect::<Result<_, _>>()?;
        match sections[..] {
            _ if self.plot && self.to != FormArg::Text => {
                return Err(usage(String::from("--plot is text; its numbers are in `--sections utilisation`")));
            }
            _ if self.at.is_some() => return Ok(vec!["snapshot"]),
            [_] => {}
            _ if self.to.is_table() => {
                let text = "a table has one section: name it, as in `tfbc summary --to tsv --sections call TRACE`";
                return Err(usage(String::from(text)));
            }
            _ => {}
        }
        let chosen = if sections.is_empty() { &DEFAULT[..] } else { &sections };
        let is_chosen = |name: &&str| chosen.contains(name) || (self.plot && *name == "utilisation");
        Ok(SECTIONS.into_iter().filter(is_chosen).collect())
    }

    fn options(&self, sections: &[&str]) -> Result<AnalysisOptions, Failure> {
        let span = self.span.options()?;
        Ok(AnalysisOptions {
            until: self.at.or(span.until),
            sections: Some(sections.iter().map(|section| (*section).to_owned()).collect()),
            idle: (!self.idle.is_empty()).then(|| self.idle.clone()),
            assume_user: self.assume == Some(AssumeArg::User),
            per_cpu: self.per_cpu,
            per_server: self.all,
            max_calls: self.max_calls as usize,
            ..span
        })
    }

    /// Summary of one trace, with the chosen rows.
    fn summary(
        &self,
        console: &Console,
        paths: &[PathBuf],
        args: &TraceArgs,
        options: &AnalysisOptions,
        filter: &RowFilter,
        status: &mut Status,
    ) -> Result<Summary, Failure> {
        let mut summary = summarise(console, paths, args, options)?;
        if summary.n_damaged > 0 {
            *status = (*status).max(Status::Damaged);
        }
        if let Some(names) = &self.process_names(console)? {
            names.apply(&mut summary);
        }
        let mut notes = filter.apply(&mut summary);
        if options.from.is_some() && summary.whole_ns == 0 && summary.n_events > 0 {
            notes.push(String::from("the trace has no time after --from"));
        }
        for note in notes {
            console.note(format_args!("{}: {note}", analyse::names_of(paths)));
        }
        for section in summary.sections_mut() {
            section.sort(self.sort.key());
            if let (Some(top), None) = (self.top, &self.against) {
                section.keep_top(top);
            }
        }
        Ok(summary)
    }

    fn process_names(&self, console: &Console) -> Result<Option<analyse::ProcessNames>, Failure> {
        self.pids.as_deref().map(|path| analyse::pids(console, path)).transpose()
    }

    fn print(
        &self,
        sections: &[&str],
        base: Option<&Summary>,
        summary: &Summary,
        out: &mut TextBuf,
    ) -> Result<(), Failure> {
        let form = self.to.form();
        let screen = Screen::of(self.output.as_deref());
        let layout = TextLayout {
            whole_ns: summary.whole_ns,
            is_titled: sections.len() > 1,
            width: screen.width.unwrap_or(80),
            is_utf8: screen.is_utf8,
        };
        for name in sections {
            let compared = base.and_then(|base| against(base.section(name)?, summary.section(name)?, self.top));
            let section = if compared.is_some() { compared.as_ref() } else { summary.section(name) };
            if base.is_some() && compared.is_none() && *name != "head" {
                if self.sections.is_empty() {
                    continue;
                }
                let text = format!("--against does not compare the section {name}; leave it out of --sections");
                return Err(usage(text));
            }
            if let (FormArg::Arrow, Some(section)) = (self.to, section) {
                analyse::push_arrow(section, self.output.as_deref(), out)?;
            } else if let Some(section) = section.filter(|section| section.rows().len() > 0 || form != Form::Text) {
                write(section, form, layout, out);
            }
        }
        Ok(())
    }
}

/// Opens a trace, or several ones merged by time, and summarises it.
pub fn summarise(
    console: &Console,
    paths: &[PathBuf],
    args: &TraceArgs,
    options: &AnalysisOptions,
) -> Result<Summary, Failure> {
    analyse::analyse(
        console,
        paths,
        args,
        |_| "tfbc summary TRACE",
        None,
        |opened, reporter| tfbc_analysis::summarise(opened, options, reporter),
    )
}
