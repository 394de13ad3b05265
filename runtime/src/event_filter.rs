//! Filter of events as texts, for traces of both systems.

use crate::expression::Expression;
use crate::filter::{Filter, Numbers, Processes, Threads};
use crate::formats::Formats;
use crate::ids::IdSet;
use crate::pattern::Pattern;
use crate::qnx_report::{RecordFilter, RecordIds};
use crate::reader::System;
use crate::reader::kev::QnxRelease;
use crate::trace::{ReportOptions, Trace};
use std::fmt;

/// Filter of events, for traces of both systems. An event passes if it meets every condition; the default has none.
///
/// Conditions are texts, as the flags of `tfbc report` take them: lists separated by commas or blanks. Several lists of
/// a condition are combined.
///
/// ```
/// use tfbc::{EventFilter, Formats, Item, Trace};
///
/// let formats = Formats::builtin();
/// for (name, ids) in [("samples/shell.trc", "106,10C"), ("samples/user.kev", "USER,KER_CALL:MSG_SENDV")] {
///     let mut trace = Trace::open(name)?;
///     let filter = EventFilter { only: vec![ids.into()], cpus: vec!["0-3".into()], ..EventFilter::default() };
///     let mut events = trace.events(&formats).with_filter(&filter)?;
///     assert!(matches!(events.next()?, Some(Item::Event(_))));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventFilter {
    /// Ids of events to admit (`--only`): `15b` for AIX; `6`, `USER`, `6:65`, `KER_CALL:10-20` or `THREADY` for QNX.
    pub only: Vec<String>,
    /// Ids of events to leave out (`--except`).
    pub except: Vec<String>,
    /// Ids of processes (`--pid`). For AIX, `INTR` admits events at interrupt level.
    pub pids: Vec<String>,
    /// Names of programs (`--exec`), one per text: a path or its last part. An AIX event passes if its process is among
    /// these or [`EventFilter::pids`], a QNX event if it is among both.
    pub programs: Vec<String>,
    /// Ids of threads (`--tid`); `!` before a list leaves them out.
    pub tids: Vec<String>,
    /// CPUs (`--cpu`), such as `0,2-3`.
    pub cpus: Vec<String>,
    /// Earliest time in nanoseconds (`--from`): since the start of an AIX trace; for QNX, in the form of
    /// [`QnxReportOptions::time`](crate::qnx::QnxReportOptions::time).
    pub from_ns: Option<i128>,
    /// Latest time, inclusive (`--until`).
    pub until_ns: Option<i128>,
    /// Regular expression that must match the event's text (`--grep`).
    pub grep: Option<String>,
    /// Conditions on fields and properties (`--where`), such as `size > 100 && process == cp`.
    pub conditions: Option<String>,
    /// True to admit only events with a template in the given format files (`--defined`).
    pub defined: bool,
}

/// Mistake in an [`EventFilter`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    /// Condition with the mistake, named as in the flags of `tfbc report`: `only`, `pid`, `exec`, `from` or `where`.
    pub flag: &'static str,
    /// Description of the mistake.
    pub message: String,
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.flag, self.message)
    }
}

impl std::error::Error for FilterError {}

/// Adds the flag of a condition to the description of a mistake.
fn at<E: fmt::Display>(flag: &'static str) -> impl Fn(E) -> FilterError {
    move |error| FilterError { flag, message: error.to_string() }
}

impl ReportOptions {
    /// Replaces the filter, for a report of `trace`. Names of events depend on the trace's system and release.
    ///
    /// ```
    /// use tfbc::{EventFilter, Formats, ReportOptions, Trace, report};
    ///
    /// let (formats, mut trace) = (Formats::builtin(), Trace::open("samples/user.kev")?);
    /// let filter = EventFilter { only: vec!["USER".into()], ..EventFilter::default() };
    /// let options = ReportOptions::default().with_filter(&filter, &trace, &formats)?;
    /// let mut text = Vec::new();
    /// report(&mut trace, &formats, &options, &mut text)?;
    /// assert!(String::from_utf8(text)?.lines().skip(1).all(|line| line.contains("USER")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A text of the filter is malformed, or names something that no event has.
    pub fn with_filter(self, filter: &EventFilter, trace: &Trace, formats: &Formats) -> Result<Self, FilterError> {
        self.with_filter_of(filter, trace.qnx_release(), formats)
    }

    /// Like [`ReportOptions::with_filter`], for a trace of AIX (`None`) or a log of a release of QNX, if it names one.
    ///
    /// # Errors
    /// A text of the filter is malformed, or names something that no event has.
    #[doc(hidden)]
    pub fn with_filter_of(
        mut self,
        filter: &EventFilter,
        release: Option<Option<QnxRelease>>,
        formats: &Formats,
    ) -> Result<Self, FilterError> {
        let grep = filter.grep.as_deref().map(Pattern::new).transpose().map_err(at("grep"))?;
        let conditions = filter.conditions.as_deref().map(Expression::parse).transpose().map_err(at("where"))?;
        if let Some(conditions) = &conditions {
            let system = if release.is_some() { System::Qnx } else { System::Aix };
            conditions.check(formats, system, release.flatten()).map_err(at("where"))?;
        }
        match release {
            None => {
                let aix = &mut self.aix;
                (aix.filter, aix.grep, aix.conditions, aix.defined) = (filter.aix()?, grep, conditions, filter.defined);
            }
            Some(release) => {
                let qnx = &mut self.qnx;
                (qnx.filter, qnx.grep, qnx.conditions, qnx.defined) =
                    (filter.qnx(release)?, grep, conditions, filter.defined);
            }
        }
        Ok(self)
    }
}

impl EventFilter {
    /// Conditions of an AIX trace on everything but texts and fields.
    ///
    /// # Errors
    /// A text is malformed.
    #[doc(hidden)]
    pub fn aix(&self) -> Result<Filter, FilterError> {
        let ids = |lists: &[String], flag| {
            lists.iter().try_fold(IdSet::default(), |mut ids, list| {
                ids.extend(&IdSet::parse(list).map_err(at(flag))?);
                Ok(ids)
            })
        };
        let mut processes = self.processes()?;
        processes.names.extend(self.program_names());
        let mut cpus = Numbers::default();
        self.cpus.iter().try_for_each(|list| cpus.add(list)).map_err(at("cpu"))?;
        let time = |ns: Option<i128>, flag| {
            let negative = |_| at(flag)(format!("{} ns: times of AIX are not negative", ns.unwrap_or_default()));
            ns.map(u64::try_from).transpose().map_err(negative)
        };
        Ok(Filter {
            only: (!self.only.is_empty()).then(|| ids(&self.only, "only")).transpose()?,
            except: ids(&self.except, "except")?,
            processes: (processes != Processes::default()).then_some(processes),
            threads: self.threads()?,
            cpus: (!self.cpus.is_empty()).then_some(cpus),
            from_ns: time(self.from_ns, "from")?,
            to_ns: time(self.until_ns, "until")?,
            ..Filter::default()
        })
    }

    /// Conditions of a log of QNX on everything but texts and fields.
    ///
    /// # Errors
    /// A text is malformed.
    #[doc(hidden)]
    pub fn qnx(&self, release: Option<QnxRelease>) -> Result<RecordFilter, FilterError> {
        let ids = |lists: &[String], flag| {
            let mut ids = RecordIds::default();
            let mut items = lists.iter().flat_map(|list| list.split([',', ' '])).filter(|item| !item.is_empty());
            items.try_for_each(|item| ids.add(item, release)).map_err(at(flag))?;
            Ok::<_, FilterError>((!lists.is_empty()).then_some(ids))
        };
        let processes = self.processes()?;
        if processes.interrupts {
            return Err(at("pid")("INTR is for AIX traces, but this is a QNX log: expected numbers"));
        }
        let mut filter = RecordFilter {
            only: ids(&self.only, "only")?,
            except: ids(&self.except, "except")?,
            cpus: None,
            from_ns: self.from_ns,
            to_ns: self.until_ns,
            pids: (!self.pids.is_empty()).then_some(processes.pids),
            threads: self.threads()?,
            names: (!self.programs.is_empty()).then(|| self.program_names().collect()),
        };
        self.cpus.iter().try_for_each(|list| filter.add_cpus(list)).map_err(at("cpu"))?;
        Ok(filter)
    }

    fn processes(&self) -> Result<Processes, FilterError> {
        let mut processes = Processes::default();
        self.pids.iter().try_for_each(|list| processes.add(list)).map_err(at("pid"))?;
        match processes.names.first() {
            None => Ok(processes),
            // A mistyped number must not select a program of that name.
            Some(name) => {
                let name = String::from_utf8_lossy(name);
                Err(at("pid")(format!("`{name}` is not a process id: expected a number (`exec` takes names)")))
            }
        }
    }

    fn threads(&self) -> Result<Option<Threads>, FilterError> {
        let mut threads = Threads::default();
        self.tids.iter().try_for_each(|list| threads.add(list)).map_err(at("tid"))?;
        Ok((!self.tids.is_empty()).then_some(threads))
    }

    fn program_names(&self) -> impl Iterator<Item = Vec<u8>> {
        self.programs.iter().map(|name| name.as_bytes().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_name_their_flag() {
        let text = |text: &str| vec![String::from(text)];
        let none = EventFilter::default();
        let filters = [
            (EventFilter { only: text("1,x"), ..none.clone() }, "only"),
            (EventFilter { except: text("QNY"), ..none.clone() }, "except"),
            (EventFilter { pids: text("cp"), ..none.clone() }, "pid"),
            (EventFilter { tids: text("cp"), ..none.clone() }, "tid"),
            (EventFilter { cpus: text("3-2"), ..none.clone() }, "cpu"),
            (EventFilter { grep: Some(String::from("(")), ..none.clone() }, "grep"),
            (EventFilter { conditions: Some(String::from("size >")), ..none.clone() }, "where"),
            (EventFilter { conditions: Some(String::from("no_such_field == 1")), ..none.clone() }, "where"),
        ];
        let formats = Formats::builtin();
        for (filter, flag) in filters {
            for release in [None, Some(None)] {
                let error = ReportOptions::default().with_filter_of(&filter, release, &formats).unwrap_err();
                assert_eq!(error.flag, flag, "{error}");
            }
        }
        let negative = EventFilter { from_ns: Some(-1), ..none.clone() };
        assert_eq!(negative.aix().unwrap_err().flag, "from");
        assert!(negative.qnx(None).is_ok());
        let interrupts = EventFilter { pids: text("INTR"), ..none };
        assert!(interrupts.aix().is_ok());
        assert_eq!(interrupts.qnx(None).unwrap_err().flag, "pid");
    }
}
