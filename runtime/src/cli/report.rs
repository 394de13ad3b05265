//! `tfbc report`: our flags on the report.

use super::console::{Console, Ending, Failure, Message};
use super::formats::{self, LanguageArgs};
use super::known;
use super::limits::{LimitArgs, TableArgs};
use super::trace::{self, TraceArgs, Wanted};
use super::trcrpt;
use crate::columns::{Column, Columns, Timestamp};
use crate::filter::{Filter, Numbers, Processes, seconds};
use crate::reader::kev::KevLog;
use crate::records::{Form, RecordColumns, RecordFilter, RecordIds, RecordOptions, cpus};
use crate::report::ReportOptions;
use clap::{ArgAction, Args};
use regex::bytes::{Regex, RegexBuilder};
use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Flags of `tfbc report`.
#[derive(Debug, Clone, Args)]
#[command(disable_help_flag = true)]
pub struct ReportArgs {
    /// Format file, source or blob; later ones win. Without any the built-in one applies, also named `default`
    #[arg(short = 't', long = "formats", value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    /// Write the report to a file
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Columns, in their order. AIX: id, filename, exec, cpu, reportedcpus, pid, tid, int, svc, elapsed, delta, text.
    /// QNX: event, time, cpu, class, id, type, data. `text` or `data` alone prints nothing but that
    #[arg(long, value_name = "LIST")]
    columns: Option<String>,
    /// Form of times: 0 seconds and milliseconds, 1 seconds with 6 decimals, 2 seconds and microseconds, 3 none
    #[arg(long, value_name = "FORM", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=3))]
    timestamp: u64,
    /// Lines between two heading lines; 0 for a single one
    #[arg(long, value_name = "LINES", default_value_t = 0)]
    pagesize: u64,
    /// Only these events, separated by commas or blanks. AIX: hh, hhh or hhhh. QNX: a class as 6 or USER, an event as
    /// 6:65, KER_CALL:10-20 or PR_TH:THREADY
    #[arg(long, value_name = "IDS")]
    only: Vec<String>,
    /// All but these events
    #[arg(long, value_name = "IDS")]
    except: Vec<String>,
    /// Only events that a template of the given files formats
    #[arg(long)]
    defined: bool,
    /// Only events of these processes, by id; with --exec, of these or those (AIX)
    #[arg(long, value_name = "PIDS")]
    pid: Vec<String>,
    /// Only events of processes that run these programs, by name or path (AIX)
    #[arg(long, value_name = "NAMES")]
    exec: Vec<String>,
    /// Only events of these threads; with ! ahead of the list, all but theirs (AIX)
    #[arg(long, value_name = "TIDS")]
    tid: Vec<String>,
    /// Only events on these CPUs, such as 0,2-3
    #[arg(long, value_name = "CPUS")]
    cpu: Vec<String>,
    /// From this time on, in seconds as the elapsed or time column has them
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    from: Option<u64>,
    /// Up to this time, in seconds; or the form of the report: text, tsv, csv, ndjson
    #[arg(long, value_name = "SECONDS|FORM", value_parser = To::parse)]
    to: Vec<To>,
    /// Only events whose text, or data, has a match; `^` and `$` match at its lines' ends
    #[arg(long, value_name = "REGEX", value_parser = regex)]
    grep: Option<Regex>,
    /// Count the events by id in place of the report, the most frequent first
    #[arg(long, conflicts_with = "follow")]
    stats: bool,
    /// Names of system calls by address, as trcnm lists them (AIX)
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// What the hooks tell of processes and threads, on top of the built-in table (AIX; docs/context.md)
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,
    /// Go on as the trace grows, a file or a pipe, until Ctrl-C or the end of the pipe: whole events are written as they
    /// come. AIX: streams. One trace
    #[arg(long, conflicts_with = "output")]
    follow: bool,
    /// Threads that format; the output does not depend on it
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// No heading
    #[arg(short = 'h', long)]
    no_heading: bool,
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    language: LanguageArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    tables: TableArgs,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
    /// Traces, `-` for standard input; a directory stands for the traces in it. Compressed ones (.gz, .zst, .Z) are unpacked; offsets in messages count unpacked
    /// bytes
    #[arg(value_name = "TRACE", required_unless_present = "dialect")]
    traces: Vec<PathBuf>,
}

impl ReportArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> Ending {
        if self.language.asks_for_help() {
            return super::print(console, formats::dialect_help(), None);
        }
        if self.follow && (self.traces.len() > 1 || self.traces.iter().any(|path| path.is_dir())) {
            return Err(Failure::Say(Message::Usage, String::from("--follow takes one trace, a file or a pipe")));
        }
        let set = formats::load(console, &self.formats, &self.language)?;
        let catalog = set.catalog_to_run().map_err(|error| formats::refusal(console, error, false))?;
        let colour = console.colours_output(self.output.as_deref());
        // Files that the flags name are read once, when the first trace of AIX is met.
        let known = RefCell::new(None);
        let aix = || {
            let mut known = known.borrow_mut();
            if known.is_none() {
                *known = Some(self.report_options(colour)?);
            }
            Ok(known.clone().unwrap_or_default())
        };
        let wanted = Wanted { aix: &aix, kev: &|log| self.record_options(log, colour), verbose: 0 };
        let max_ratio = self.language.ratio.ratio();
        let args = TraceArgs { follow: self.follow, max_ratio, ..self.trace.clone() };
        let ended = trace::run(console, &catalog, &self.traces, &args, &wanted, self.output.as_deref())?;
        Ok(ended.max(formats::loaded(&set)))
    }

    fn report_options(&self, colour: bool) -> Result<ReportOptions, Failure> {
        Ok(ReportOptions {
            columns: self.columns()?,
            page_size: self.pagesize,
            no_heading: self.no_heading,
            filter: self.filter()?,
            grep: self.grep.clone(),
            form: self.form(),
            stats: self.stats,
            colour,
            defined: self.defined,
            context: known::context(self.context.as_deref())?,
            names: known::names(self.names.as_deref())?,
            limits: self.limits.limits(),
            tables: self.tables.limits(),
            threads: self.threads,
            histogram: false,
            batch: None,
        })
    }

    fn filter(&self) -> Result<Filter, Failure> {
        let usage = |flag: &str, text: String| Failure::Say(Message::Usage, format!("{flag}: {text}"));
        let mut processes = trcrpt::processes("--pid", &self.pid)?.unwrap_or_default();
        if let Some(name) = processes.names.first() {
            let name = String::from_utf8_lossy(name);
            return Err(usage("--pid", format!("`{name}` is no process id: expected a number (--exec takes names)")));
        }
        for item in self.exec.iter().flat_map(|list| list.split([',', ' '])).filter(|item| !item.is_empty()) {
            processes.names.insert(item.as_bytes().to_vec());
        }
        let mut cpus = Numbers::default();
        self.cpu.iter().try_for_each(|list| cpus.add(list)).map_err(|text| usage("--cpu", text))?;
        Ok(Filter {
            processes: (processes != Processes::default()).then_some(processes),
            threads: trcrpt::threads("--tid", &self.tid)?,
            cpus: (!self.cpu.is_empty()).then_some(cpus),
            from_ns: self.from,
            to_ns: self.to.iter().rev().find_map(|to| to.time_ns()),
            ..trcrpt::filter(&self.only, &self.except)?
        })
    }

    fn record_options(&self, log: &KevLog, colour: bool) -> Result<RecordOptions, Failure> {
        let usage = |text: String| Failure::Say(Message::Usage, text);
        let of_aix = [
            (!self.pid.is_empty(), "--pid"),
            (!self.exec.is_empty(), "--exec"),
            (!self.tid.is_empty(), "--tid"),
            (self.names.is_some(), "--names"),
            (self.context.is_some(), "--context"),
        ];
        if let Some((_, flag)) = of_aix.into_iter().find(|(given, _)| *given) {
            return Err(usage(format!("{flag} is for traces of AIX, and this is a log of QNX")));
        }
        let ids = |lists: &[String]| {
            let mut ids = RecordIds::default();
            let items = lists.iter().flat_map(|list| list.split([',', ' '])).filter(|item| !item.is_empty());
            items.into_iter().try_for_each(|item| ids.add(item, log.header().release)).map_err(usage)?;
            Ok((!lists.is_empty()).then_some(ids))
        };
        let columns = self.columns.as_deref().map(RecordColumns::parse).transpose();
        Ok(RecordOptions {
            columns: columns.map_err(|error| usage(error.to_string()))?.unwrap_or_default(),
            form: self.form(),
            grep: self.grep.clone(),
            stats: self.stats,
            colour,
            no_heading: self.no_heading,
            defined: self.defined,
            filter: RecordFilter {
                only: ids(&self.only)?,
                except: ids(&self.except)?,
                cpus: cpus(&self.cpu).map_err(usage)?,
                from_ns: self.from,
                to_ns: self.to.iter().rev().find_map(|to| to.time_ns()),
            },
            limits: self.limits.limits(),
            threads: self.threads,
        })
    }

    fn form(&self) -> Form {
        self.to.iter().rev().find_map(|to| to.form()).unwrap_or_default()
    }

    fn columns(&self) -> Result<Columns, Failure> {
        let timestamp = Timestamp::from_number(self.timestamp).unwrap_or_default();
        match &self.columns {
            None => Ok(Columns::new(&[Column::Id], timestamp)),
            Some(list) => {
                Columns::parse(list, timestamp).map_err(|error| Failure::Say(Message::Usage, error.to_string()))
            }
        }
    }
}

/// What `--to` names: a time, or the form of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    Ns(u64),
    Form(Form),
}

impl To {
    const FORMS: [(&str, Form); 4] =
        [("text", Form::Text), ("tsv", Form::Tsv), ("csv", Form::Csv), ("ndjson", Form::Ndjson)];

    fn parse(text: &str) -> Result<Self, String> {
        if let Some((_, form)) = Self::FORMS.iter().find(|(name, _)| *name == text) {
            return Ok(To::Form(*form));
        }
        let names = Self::FORMS.map(|(name, _)| name);
        seconds(text).map(To::Ns).map_err(|_| {
            let hint = super::closest(text, &names).map_or(String::new(), |name| format!("; did you mean `{name}`?"));
            format!("expected seconds, or one of {}{hint}", names.join(", "))
        })
    }

    fn form(self) -> Option<Form> {
        if let To::Form(form) = self { Some(form) } else { None }
    }

    fn time_ns(self) -> Option<u64> {
        if let To::Ns(ns) = self { Some(ns) } else { None }
    }
}

/// A regular expression over bytes, whose `^` and `$` match at lines' ends.
fn regex(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text).multi_line(true).build().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_cpus_are_read() {
        assert_eq!(seconds("12.5"), Ok(12_500_000_000));
        assert_eq!(seconds("0.000000001"), Ok(1));
        for bad in ["", ".5", "-1", "1.0000000001", "18446744074", "1e3"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
        assert_eq!(cpus(&["0,2-3".to_owned()]), Ok(Some(0b1101)));
        assert!(cpus(&["64".to_owned()]).is_err());
        assert_eq!(To::parse("tsv"), Ok(To::Form(Form::Tsv)));
        assert!(To::parse("ndjsn").unwrap_err().contains("did you mean `ndjson`"));
    }
}
