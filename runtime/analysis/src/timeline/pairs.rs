//! Tracks of pairs of events: timers of templates, and pairs of the context table.

use super::TimelineOptions;
use super::sink::{Arg, Sink, Track, TrackKind};
use super::slices::Slices;
use crate::latency::{self, HookPairs, Matcher, Matching, Pair, PairOptions, PairSource, Plan, RecordPairs, values};
use crate::machine::Machine;
use crate::{AnalysisError, Observer, Options, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use tfbc::System;
use tfbc::internal::analysis::{ContextRules, KevHeader, LogInfo, TimedEvent};
use tfbc::internal::templates::Catalog;
use tfbc::internal::{AnyTrace, KevRecord};

/// Limit on lanes of a track, for formats in which the slices of a track nest.
const MAX_LANES: usize = 1024;
/// Limit on tracks of timers.
const MAX_TRACKS: usize = 4096;

/// Kind of pairs that is shown.
pub struct Measured {
    options: PairOptions,
    /// Name of the pair; `None` for the timers of templates.
    name: Option<String>,
    n_key: usize,
    key: Vec<String>,
    n_by: usize,
}

/// Pair that has ended.
struct Finished {
    name: Option<String>,
    start: u64,
    end: u64,
    key: Vec<(String, Value)>,
    by: Vec<Value>,
}

/// Pairs that have ended since the last event.
#[derive(Default)]
pub struct FinishedPairs(RefCell<Vec<Finished>>);

impl FinishedPairs {
    /// Visitor that keeps pairs of a kind.
    pub fn visit<'m>(&'m self, measured: &'m Measured) -> impl FnMut(&Pair<'_>) + 'm {
        |pair| {
            let key = measured.key.iter().cloned().zip(values(pair.key, measured.n_key)).collect();
            let by = values(pair.by, measured.n_by);
            let name = measured.name.clone();
            self.0.borrow_mut().push(Finished { name, start: pair.start, end: pair.end, key, by });
        }
    }
}

/// Pairs to show.
pub fn sources(source: &AnyTrace, options: &Options, what: &TimelineOptions) -> Result<Vec<Measured>, AnalysisError> {
    if !what.tracks.contains(&"timers") {
        return Ok(Vec::new());
    }
    let system = if matches!(source, AnyTrace::Aix(_)) { System::Aix } else { System::Qnx };
    let mut names = Vec::new();
    if what.has_formats && system == System::Aix {
        names.push(None);
    }
    names.extend(what.pairs.iter().cloned().map(Some));
    names.extend(what.own_context.iter().flat_map(|own| own.pair_names(system)).map(|name| Some(name.to_owned())));
    let mut found = Vec::new();
    for name in names {
        let options_of_pairs = PairOptions {
            source: name.clone().map_or(PairSource::Timers, PairSource::Named),
            key: None,
            by: None,
            matching: Matching::Newest,
            across_gaps: false,
            range: (0, u64::MAX),
            outliers: 0,
            max_open: 1 << 20,
            max_groups: 1,
            max_values: 0,
        };
        let Plan { key, by, .. } = latency::plan(source, options, &options_of_pairs)?;
        let (n_key, n_by) = (key.len(), by.len());
        let key = key.into_iter().map(|key| key.name).collect();
        found.push(Measured { options: options_of_pairs, name, n_key, key, n_by });
    }
    Ok(found)
}

/// Tracks of pairs.
#[derive(Default)]
pub struct PairTracks<'o> {
    hooks: Vec<HookPairs<'o>>,
    records: Vec<RecordPairs<'o>>,
    finished: Option<&'o FinishedPairs>,
    group: Option<u32>,
    /// Tracks by name, with the time at which each lane becomes free.
    lanes: HashMap<String, Vec<(Track, u64)>>,
}

type Visit<'o> = &'o mut dyn FnMut(&Pair<'_>);

impl<'o> PairTracks<'o> {
    pub fn of_hooks(
        matchers: Vec<Matcher<'o>>,
        options: &Options,
        catalog: &'o Catalog<'o>,
        logs: &[LogInfo],
        finished: &'o FinishedPairs,
    ) -> Self {
        let hooks = matchers.into_iter().map(|matcher| HookPairs::new(matcher, options, catalog, logs)).collect();
        Self { hooks, finished: Some(finished), ..Self::default() }
    }

    pub fn of_records(
        matchers: Vec<Matcher<'o>>,
        catalog: &'o Catalog<'o>,
        header: &KevHeader,
        finished: &'o FinishedPairs,
    ) -> Self {
        let records = matchers.into_iter().map(|matcher| RecordPairs::new(matcher, catalog, header)).collect();
        Self { records, finished: Some(finished), ..Self::default() }
    }

    pub fn hook<S: Sink>(
        &mut self,
        timed: &TimedEvent<'_>,
        cpu: Option<Option<u64>>,
        machine: &mut Machine,
        rules: &ContextRules,
        slices: &mut Slices<S>,
    ) {
        for pairs in &mut self.hooks {
            pairs.hook(timed, cpu, machine, rules);
        }
        self.write(slices);
    }

    pub fn record<S: Sink>(
        &mut self,
        record: &KevRecord<'_>,
        now: u64,
        machine: &mut Machine,
        at: usize,
        slices: &mut Slices<S>,
    ) {
        for pairs in &mut self.records {
            pairs.record(record, now, machine, at);
        }
        self.write(slices);
    }

    /// Writes the pairs that have ended.
    fn write<S: Sink>(&mut self, slices: &mut Slices<S>) {
        let Some(finished) = self.finished else { return };
        for pair in finished.0.borrow_mut().drain(..) {
            let group = *self.group.get_or_insert_with(|| slices.new_group(b"timers"));
            let by = pair.by.iter().map(shown).collect::<Vec<_>>().join(" ");
            let (track, name) = match (&pair.name, &pair.by[..]) {
                (None, [Value::Number(timer), ..]) => (format!("0x{timer:X}"), format!("0x{timer:X}")),
                (Some(name), _) => (name.clone(), if by.is_empty() { name.clone() } else { by }),
                (None, _) => (String::from("timer"), by),
            };
            if !self.lanes.contains_key(&track) && self.lanes.len() >= MAX_TRACKS {
                continue;
            }
            let has_overlapping = slices.sink.has_overlapping();
            let lanes = self.lanes.entry(track.clone()).or_default();
            let free = lanes.iter().position(|(_, free_at)| has_overlapping || *free_at <= pair.start);
            let lane = free.unwrap_or_else(|| {
                let kind = if has_overlapping { TrackKind::Overlapping } else { TrackKind::Slices };
                if lanes.len() < MAX_LANES {
                    lanes.push((slices.new_track(group, kind, track.as_bytes()), 0));
                }
                lanes.len() - 1
            });
            if free.is_none() && lanes[lane].1 > pair.start {
                continue;
            }
            lanes[lane].1 = pair.end;
            let mut body = Vec::new();
            let key: Vec<(&str, Value)> = pair.key.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
            let args: Vec<(&str, Arg<'_>)> = key.iter().map(|(name, value)| (*name, arg(value))).collect();
            slices.sink.encode(name.as_bytes(), "timer", &args, &mut body);
            slices.slice(lanes[lane].0, (pair.start, pair.end), &body);
        }
    }
}

fn shown(value: &Value) -> String {
    if *value == Value::Null { String::from("-") } else { value.to_string() }
}

fn arg(value: &Value) -> Arg<'_> {
    match value {
        Value::Number(number) => Arg::Number(*number),
        Value::Text(text) => Arg::Text(text.as_bytes()),
        _ => Arg::Text(b"-"),
    }
}

/// Matchers of pairs, which pass the finished ones to the visitors.
pub fn matchers<'o>(
    source: &AnyTrace,
    options: &Options,
    measured: &'o [Measured],
    visits: &'o mut [impl FnMut(&Pair<'_>)],
) -> Result<Vec<Matcher<'o>>, AnalysisError> {
    let mut matchers = Vec::new();
    for (measured, visit) in measured.iter().zip(visits) {
        let plan = latency::plan(source, options, &measured.options)?;
        matchers.push(Matcher::new(plan, &measured.options, options.from.unwrap_or(0), visit as Visit<'o>));
    }
    Ok(matchers)
}
