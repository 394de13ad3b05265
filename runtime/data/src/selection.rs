//! Filters of a table as programs give them: lists of texts.

use std::num::NonZeroUsize;
use tfbc::aix::IdSet;
use tfbc::internal::filter::RecordIds;
use tfbc::internal::rows::names;
use tfbc::qnx::QnxRelease;
use tfbc::{EventFilter, EventId, FilterError, Formats, Pattern, ReportOptions};

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
        let filter = EventFilter {
            only: self.only.clone(),
            except: self.excluding.clone(),
            pids: self.pids.clone(),
            tids: self.tids.clone(),
            cpus: self.cpus.clone(),
            programs: self.names.clone(),
            from_ns: self.start_ns,
            until_ns: self.end_ns,
            ..EventFilter::default()
        };
        let refused = |error: FilterError| error.message.replace("`programs`", "`exec`");
        let grep = self.grep.as_deref().map(Pattern::new).transpose().map_err(|error| error.to_string())?;
        let mut options = ReportOptions::default();
        match release {
            None => {
                let aix = &mut options.aix;
                aix.filter = filter.aix().map_err(refused)?;
                (aix.grep, aix.defined, aix.threads) = (grep, self.defined, self.threads);
            }
            Some(release) => {
                let qnx = &mut options.qnx;
                qnx.filter = filter.qnx(release).map_err(refused)?;
                (qnx.grep, qnx.defined, qnx.threads) = (grep, self.defined, self.threads);
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
                let (class, event) = EventId::of_record(class, event)?;
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
