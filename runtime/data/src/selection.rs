//! Filters of a table as programs give them: lists of texts.

use std::num::NonZeroUsize;
use tfbc::aix::{Filter, IdSet, Numbers, Processes, Threads};
use tfbc::internal::rows::names;
use tfbc::qnx::{QnxRelease, RecordFilter, RecordIds};
use tfbc::{EventId, Formats, Pattern, ReportOptions};

/// Filters of a table. Each text is one of the lists that the flags of `tfbc report` take; without texts, all events pass.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Ids of events.
    pub only: Vec<String>,
    /// Ids of events that are left out.
    pub excluding: Vec<String>,
    /// Process ids.
    pub pids: Vec<String>,
    /// Thread ids.
    pub tids: Vec<String>,
    /// CPUs.
    pub cpus: Vec<String>,
    /// Names of programs.
    pub names: Vec<String>,
    /// Earliest time in nanoseconds since the start of the trace.
    pub start_ns: Option<i128>,
    /// Latest time in nanoseconds since the start of the trace.
    pub end_ns: Option<i128>,
    /// Regular expression for the text.
    pub grep: Option<String>,
    /// True if only events with a template of a format file pass.
    pub defined: bool,
    /// Number of threads.
    pub threads: Option<NonZeroUsize>,
}

/// Release (major, minor) of a QNX log, if it names one; `None` for a trace of AIX.
type LogRelease = Option<Option<QnxRelease>>;

impl Selection {
    /// Report options with these filters. Names of QNX events depend on the release.
    ///
    /// # Errors
    /// A filter is wrong.
    pub fn options(&self, release: LogRelease) -> Result<ReportOptions, String> {
        let mut options = ReportOptions::default();
        let grep = self.grep.as_deref().map(Pattern::new).transpose().map_err(|error| error.to_string())?;
        match release {
            None => {
                let aix = &mut options.aix;
                (aix.filter, aix.grep, aix.defined, aix.threads) = (self.aix()?, grep, self.defined, self.threads);
            }
            Some(release) => {
                let qnx = &mut options.qnx;
                (qnx.filter, qnx.grep, qnx.defined, qnx.threads) =
                    (self.qnx(release)?, grep, self.defined, self.threads);
            }
        }
        Ok(options)
    }

    /// Finds the table of an event, given by id or name. Returns the event, and the ids of all events in the table.
    ///
    /// # Errors
    /// The id or name does not mean exactly one event.
    pub fn table(id: &str, formats: &Formats, release: LogRelease) -> Result<(EventId, Vec<String>), String> {
        let names = names(formats, release);
        let event = match names.kernel_call(id) {
            Some(event) => event,
            None => event(id, release)?,
        };
        Ok((event, names.same_table(event).into_iter().map(EventId::name).collect()))
    }

    fn aix(&self) -> Result<Filter, String> {
        let ids = |lists: &[String]| {
            lists.iter().try_fold(IdSet::default(), |mut ids, list| {
                ids.extend(&IdSet::parse(list).map_err(|error| error.to_string())?);
                Ok::<_, String>(ids)
            })
        };
        let mut processes = Processes::default();
        self.pids.iter().try_for_each(|list| processes.add(list))?;
        processes.names.extend(self.program_names());
        let mut numbers = Numbers::default();
        self.cpus.iter().try_for_each(|list| numbers.add(list))?;
        let unsigned = |ns: Option<i128>| {
            ns.map(|ns| u64::try_from(ns).map_err(|_| String::from("times of AIX are not negative"))).transpose()
        };
        Ok(Filter {
            only: (!self.only.is_empty()).then(|| ids(&self.only)).transpose()?,
            except: ids(&self.excluding)?,
            processes: (processes != Processes::default()).then_some(processes),
            threads: self.threads_filter()?,
            cpus: (!self.cpus.is_empty()).then_some(numbers),
            from_ns: unsigned(self.start_ns)?,
            to_ns: unsigned(self.end_ns)?,
            ..Filter::default()
        })
    }

    fn qnx(&self, release: Option<QnxRelease>) -> Result<RecordFilter, String> {
        let ids = |lists: &[String]| {
            let mut ids = RecordIds::default();
            let items = lists.iter().flat_map(|list| list.split([',', ' '])).filter(|item| !item.is_empty());
            items.into_iter().try_for_each(|item| ids.add(item, release))?;
            Ok::<_, String>((!lists.is_empty()).then_some(ids))
        };
        let mut processes = Processes::default();
        self.pids.iter().try_for_each(|list| processes.add(list))?;
        let mut filter = RecordFilter {
            only: ids(&self.only)?,
            except: ids(&self.excluding)?,
            cpus: None,
            from_ns: self.start_ns,
            to_ns: self.end_ns,
            pids: (!self.pids.is_empty()).then_some(processes.pids),
            threads: self.threads_filter()?,
            names: (!self.names.is_empty()).then(|| self.program_names().collect()),
        };
        self.cpus.iter().try_for_each(|list| filter.add_cpus(list))?;
        Ok(filter)
    }

    fn threads_filter(&self) -> Result<Option<Threads>, String> {
        let mut threads = Threads::default();
        self.tids.iter().try_for_each(|list| threads.add(list))?;
        Ok((!self.tids.is_empty()).then_some(threads))
    }

    fn program_names(&self) -> impl Iterator<Item = Vec<u8>> {
        self.names.iter().map(|name| name.as_bytes().to_vec())
    }
}

/// Parses an event id. Names of QNX events depend on the release.
fn event(id: &str, release: LogRelease) -> Result<EventId, String> {
    let one = |ids: Vec<EventId>| match ids[..] {
        [id] => Ok(id),
        _ => Err(format!("{id:?} is not the id of one event")),
    };
    match release {
        None => {
            let ids = IdSet::parse(id).map_err(|error| error.to_string())?;
            one(ids.iter().map(EventId::Hook).collect())
        }
        Some(release) => match id.split_once(':') {
            Some((class, event)) => {
                let (class, event) = RecordIds::one(class, event)?;
                Ok(EventId::Record(class, event))
            }
            None => {
                let mut ids = RecordIds::default();
                ids.add(id, release)?;
                one(ids.iter().map(|(class, event)| EventId::Record(class, event)).collect())
            }
        },
    }
}
