//! Times between two events: pairs chosen by expressions, by the context table, or by the timers of templates.
//!
//! ```text
//! trace ─aix, qnx─> events with their CPUs and gaps ─fields, matcher─> pairs ─statistics─> Latency ─print─> sections
//! ```

mod fields;
mod formats;
mod lanes;
mod matcher;
mod observers;
mod pairs;
mod print;
mod statistics;

pub use pairs::{Matching, PairCounts};
pub use print::{GroupOrder, PairWriter, bars};
pub use statistics::Percentile;

use crate::{AnalysisError, AnalysisOptions, aix, qnx};
pub(crate) use fields::{EventField, Fields, FormattedEvent, RecordFields, subhook};
pub(crate) use matcher::{Matcher, Plan};
pub(crate) use observers::{HookPairs, HookSource, RecordPairs};
pub(crate) use print::values;

use matcher::{GroupField, KeyField};
use statistics::Statistics;
use tfbc::internal::expression::Bound;
use tfbc::internal::templates::Catalog;
use tfbc::internal::{AnyTrace, hint, source_mut};
use tfbc::{Expression, Monitor, System, Trace};

/// Pairs to look for.
#[derive(Debug, Clone)]
pub enum PairSource {
    /// Pairs of two events.
    Events {
        /// Events that start a pair.
        start: Expression,
        /// Events that end it.
        end: Expression,
    },
    /// Pair of the context table, by its name.
    Named(String),
    /// Timers that templates start and end (AIX).
    Timers,
}

/// Options of a measurement.
#[derive(Debug, Clone)]
pub struct PairOptions {
    /// Pairs to look for.
    pub source: PairSource,
    /// Fields that start and end have in common; `None` for the default ones.
    pub key: Option<String>,
    /// Fields of the groups; `None` for the default ones.
    pub by: Option<String>,
    /// Rule that assigns an end to a start if several are open.
    pub matching: Matching,
    /// True if untraced time does not cut pairs.
    pub across_gaps: bool,
    /// Shortest and longest pairs that are counted, in nanoseconds.
    pub range: (u64, u64),
    /// Number of longest pairs that the visitor gets, at the end of the trace; 0 for all pairs as they end.
    pub outliers: usize,
    /// Largest number of starts that are open at once.
    pub max_open: usize,
    /// Largest number of groups. Pairs of further groups share one.
    pub max_groups: usize,
    /// Largest number of values in memory. With more, percentiles are approximate.
    pub max_values: usize,
}

/// Finished pair.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'p> {
    /// Time of the start, in nanoseconds since the start of the trace.
    pub start: u64,
    /// Time of the end.
    pub end: u64,
    /// Length of the pair.
    pub ns: u64,
    pub(crate) key: &'p [u8],
    pub(crate) by: &'p [u8],
    /// Number of the lane, if the pairs have lanes and there are enough of them.
    pub(crate) lane: Option<u16>,
}

/// Result of a measurement.
#[derive(Debug)]
pub struct Latency {
    /// Counts of pairs and events.
    pub counts: PairCounts,
    /// Groups with their encoded fields; `None` for those above the limit.
    groups: Vec<(Option<Box<[u8]>>, Statistics)>,
    by: Vec<String>,
    /// Number of events.
    pub n_events: u64,
    /// Number of damaged places.
    pub n_damaged: u64,
}

/// Names of the fields of keys and of groups.
#[derive(Debug, Clone)]
pub struct FieldNames {
    /// Fields of keys.
    pub key: Vec<String>,
    /// Fields of groups.
    pub by: Vec<String>,
}

/// Measures pairs of events. `visit` gets the finished pairs in the order of their ends or, with
/// [`PairOptions::outliers`], the longest ones.
///
/// # Errors
/// The trace cannot be read, or it has no such events or fields.
pub fn latency<'o>(
    trace: &mut Trace,
    options: &'o AnalysisOptions,
    pairs: &'o PairOptions,
    catalog: &'o Catalog<'o>,
    monitor: &mut dyn Monitor,
    visit: &'o mut dyn FnMut(&Pair<'_>),
) -> Result<Latency, AnalysisError> {
    let source = source_mut(trace);
    let plan = plan(source, options, pairs)?;
    let matcher = Matcher::new(plan, pairs, options.from.unwrap_or(0), visit);
    match source {
        AnyTrace::Aix(logs) => {
            let mut observer = observers::HookObserver::new(matcher, options, catalog, logs.logs());
            let (totals, gaps) = aix::analyse(logs, options, monitor, Some(&mut observer))?;
            let latency = observer.into_matcher().finish(totals.span.1, &gaps);
            Ok(Latency { n_events: totals.n_events, n_damaged: totals.n_damaged, ..latency })
        }
        AnyTrace::Kev(log) => {
            let mut observer = observers::RecordPairs::new(matcher, catalog, log.header());
            let (totals, gaps) = qnx::analyse(log, options, monitor, Some(&mut observer))?;
            let latency = observer.into_matcher().finish(totals.span.1, &gaps);
            Ok(Latency { n_events: totals.n_events, n_damaged: totals.n_damaged, ..latency })
        }
    }
}

/// Names of the fields of keys and groups, as [`latency`] will use them.
///
/// # Errors
/// The trace has no such events or fields.
pub fn field_names(
    trace: &mut Trace,
    options: &AnalysisOptions,
    pairs: &PairOptions,
) -> Result<FieldNames, AnalysisError> {
    let Plan { key, by, .. } = plan(source_mut(trace), options, pairs)?;
    Ok(FieldNames {
        key: key.into_iter().map(|key| key.name).collect(),
        by: by.into_iter().map(|by| by.name).collect(),
    })
}

/// Looks up the events and fields of pairs.
pub(crate) fn plan(source: &AnyTrace, options: &AnalysisOptions, pairs: &PairOptions) -> Result<Plan, AnalysisError> {
    let (system, release) = match source {
        AnyTrace::Aix(_) => (System::Aix, None),
        AnyTrace::Kev(log) => (System::Qnx, log.header().release),
    };
    let of_timers = matches!(pairs.source, PairSource::Timers);
    if of_timers && system == System::Qnx {
        let text = "templates of QNX have no timers; name two events, as in `--start THREADY --end THRUNNING`";
        return Err(AnalysisError::Pairs(String::from(text)));
    }
    let usual = if system == System::Aix { "tid" } else { "thread" };
    let (events, key, by) = match &pairs.source {
        PairSource::Events { start, end } => (Some((start, end)), usual, ""),
        PairSource::Named(name) => {
            let pair = options.context.pair(name, system).ok_or_else(|| {
                let names: Vec<&str> = options.context.pair_names(system).collect();
                let text = format!("unknown pair `{name}`{}: expected {}", hint(name, &names), names.join(", "));
                AnalysisError::Pairs(format!("{text}, or a `pair` line of --context FILE"))
            })?;
            (Some((&pair.start, &pair.end)), pair.key.as_str(), pair.by.as_str())
        }
        PairSource::Timers => (None, "a,b", "a"),
    };
    let (key, by) = (pairs.key.as_deref().unwrap_or(key), pairs.by.as_deref().unwrap_or(by));
    let plan = || -> Result<Plan, String> {
        let bind = |expression: &Expression, side: &str| -> Result<Bound<EventField>, String> {
            let bound = expression.bind(system, release, |name| {
                let own = name.strip_prefix(side).and_then(|rest| rest.strip_prefix('.'));
                EventField::parse(own.unwrap_or(name), system, false)
            });
            bound.map_err(|error| format!("--{side}: {error}"))
        };
        let events = match events {
            Some((start, end)) => Some((bind(start, "start")?, bind(end, "end")?)),
            None => None,
        };
        let field = |flag: &str, name: &str| {
            EventField::parse(name, system, of_timers).map_err(|error| format!("{flag}: {error}"))
        };
        let key = names(key).map(|name| {
            let (start, end) = name.split_once('=').unwrap_or((name, name));
            let (start, end) = (start.strip_prefix("start.").unwrap_or(start), end.strip_prefix("end.").unwrap_or(end));
            Ok(KeyField { name: start.to_owned(), start: field("--key", start)?, end: field("--key", end)? })
        });
        let by = names(by).map(|name| {
            let of_end = name.strip_prefix("end.");
            let own = of_end.or_else(|| name.strip_prefix("start.")).unwrap_or(name);
            let field = field("--by", own)?;
            Ok(GroupField { name: name.to_owned(), of_end: of_end.is_some(), field })
        });
        let (key, by) = (key.collect::<Result<_, String>>()?, by.collect::<Result<_, String>>()?);
        Ok(Plan { events, key, by })
    };
    plan().map_err(AnalysisError::Pairs)
}

/// Names of a list.
fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|name| !name.is_empty())
}
