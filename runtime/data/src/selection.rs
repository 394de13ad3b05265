//! Filters of a table as programs give them: lists of texts.

use std::num::NonZeroUsize;
use tfbc::aix::IdSet;
use tfbc::internal::filter::RecordIds;
use tfbc::internal::rows::names;
use tfbc::qnx::QnxRelease;
use tfbc::{EventFilter, EventId, Formats, ReportOptions};

/// Filters of a table, and the number of threads that read it. Without filters, all events pass.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Filters, as the flags of `tfbc report` take them.
    pub filter: EventFilter,
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
    pub fn options(&self, formats: &Formats, release: LogRelease) -> Result<ReportOptions, String> {
        let options = ReportOptions::default().with_filter_of(&self.filter, release, formats);
        let mut options = options.map_err(|error| error.message)?;
        (options.aix.threads, options.qnx.threads) = (self.threads, self.threads);
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
