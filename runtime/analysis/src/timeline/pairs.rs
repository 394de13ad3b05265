//! Tracks of pairs of events: timers of templates, and pairs of the context table.

use super::TimelineOptions;
use super::sink::{Arg, Track, TrackKind};
use super::slices::Slices;
use crate::latency::{
    self, HookPairs, HookSource, Matcher, Matching, Pair, PairOptions, PairSource, Plan, RecordPairs, values,
};
use crate::machine::Machine;
use crate::{AnalysisError, AnalysisOptions, EventCpu, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use tfbc::System;
use tfbc::internal::analysis::{ContextRules, KevHeader, TimedEvent};
use tfbc::internal::templates::Catalog;
use tfbc::internal::{AnyTrace, KevRecord};

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
    lane: Option<u16>,
}

/// Pairs that have ended since the last event.
#[derive(Default)]
pub struct FinishedPairs(RefCell<Vec<Finished>>);

impl FinishedPairs {
    /// Visitor that collects pairs of one kind.
    pub fn visit<'m>(&'m self, measured: &'m Measured) -> impl FnMut(&Pair<'_>) + 'm {
        |pair| {
            let key = measured.key.iter().cloned().zip(values(pair.key, measured.n_key)).collect();
            let by = values(pair.by, measured.n_by);
            let name = measured.name.clone();
            // CPUs of QNX have their own order of times. A pair whose end is earlier has no length.
            let end = pair.end.max(pair.start);
            self.0.borrow_mut().push(Finished { name, start: pair.start, end, key, by, lane: pair.lane });
        }
    }
}

/// Pairs to show, and their events and fields.
pub fn sources(
    source: &AnyTrace,
    options: &AnalysisOptions,
    what: &TimelineOptions,
) -> Result<(Vec<Measured>, Vec<Plan>), AnalysisError> {
    if !what.tracks.contains(&"timers") {
        return Ok((Vec::new(), Vec::new()));
    }
    let system = if matches!(source, AnyTrace::Aix(_)) { System::Aix } else { System::Qnx };
    let mut names = Vec::new();
    if what.has_formats && system == System::Aix {
        names.push(None);
    }
    names.extend(what.pairs.iter().cloned().map(Some));
    names.extend(what.own_context.iter().flat_map(|own| own.pair_names(system)).map(|name| Some(name.to_owned())));
    let (mut found, mut plans): (Vec<Measured>, _) = (Vec::new(), Vec::new());
    for name in names {
        if found.iter().any(|other| other.name == name) {
            continue;
        }
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
        let plan = latency::plan(source, options, &options_of_pairs)?;
        let key = plan.key.iter().map(|key| key.name.clone()).collect();
        found.push(Measured { options: options_of_pairs, name, n_key: plan.key.len(), key, n_by: plan.by.len() });
        plans.push(plan);
    }
    Ok((found, plans))
}

/// Tracks of pairs.
#[derive(Default)]
pub struct PairTracks<'o> {
    hooks: Vec<HookPairs<'o>>,
    records: Vec<RecordPairs<'o>>,
    finished: Option<&'o FinishedPairs>,
    group: Option<u32>,
    /// Tracks by name and lane.
    tracks: HashMap<(String, u16), Track>,
}

type Visit<'o> = &'o mut dyn FnMut(&Pair<'_>);

impl<'o> PairTracks<'o> {
    pub fn of_hooks(matchers: Vec<Matcher<'o>>, finished: &'o FinishedPairs) -> Self {
        let hooks = matchers.into_iter().map(HookPairs::new).collect();
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

    /// True if there are pairs of AIX events.
    pub fn has_hooks(&self) -> bool {
        !self.hooks.is_empty()
    }

    /// True if templates that use timers must run.
    pub fn runs_timers(&self) -> bool {
        self.hooks.iter().any(HookPairs::runs_timers)
    }

    /// Number of starts that were not kept because too many were open.
    pub fn n_dropped(&self) -> u64 {
        let matchers = self.hooks.iter().map(HookPairs::matcher).chain(self.records.iter().map(RecordPairs::matcher));
        matchers.map(Matcher::n_dropped).sum()
    }

    pub fn hook(
        &mut self,
        timed: &TimedEvent<'_>,
        cpu: EventCpu,
        machine: &Machine,
        rules: &ContextRules,
        source: &mut HookSource<'o>,
        slices: &mut Slices<'_>,
    ) {
        for pairs in &mut self.hooks {
            pairs.take(timed, cpu, machine, rules, source);
        }
        self.write(slices);
    }

    pub fn record(
        &mut self,
        record: &KevRecord<'_>,
        now: u64,
        machine: &mut Machine,
        at: usize,
        slices: &mut Slices<'_>,
    ) {
        for pairs in &mut self.records {
            pairs.take(record, now, machine, at);
        }
        self.write(slices);
    }

    /// Writes the pairs that have ended.
    fn write(&mut self, slices: &mut Slices<'_>) {
        let Some(finished) = self.finished else { return };
        for pair in finished.0.borrow_mut().drain(..) {
            let group = *self.group.get_or_insert_with(|| slices.new_group(b"timers"));
            let by = pair.by.iter().map(shown).collect::<Vec<_>>().join(" ");
            let (track, name) = match (&pair.name, &pair.by[..]) {
                (None, [Value::Number(timer), ..]) => (format!("0x{timer:X}"), format!("0x{timer:X}")),
                (Some(name), _) => (name.clone(), if by.is_empty() { name.clone() } else { by }),
                (None, _) => (String::from("timer"), by),
            };
            let (kind, lane) = match slices.sink.has_overlapping() {
                true => (TrackKind::Overlapping, Some(0)),
                false => (TrackKind::Slices, pair.lane),
            };
            let lane = lane
                .map(|lane| (track, lane))
                .filter(|lane| self.tracks.contains_key(lane) || self.tracks.len() < MAX_TRACKS);
            let Some(lane) = lane else {
                slices.n_left_out += 1;
                continue;
            };
            let new = |(name, _): &(String, u16)| slices.new_track(group, kind, name.as_bytes());
            let track = *self.tracks.entry(lane).or_insert_with_key(new);
            let mut body = Vec::new();
            let key: Vec<(&str, Value)> = pair.key.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
            let args: Vec<(&str, Arg<'_>)> = key.iter().map(|(name, value)| (*name, arg(value))).collect();
            slices.sink.encode(name.as_bytes(), "timer", &args, &mut body);
            slices.slice(track, pair.start..pair.end, &body);
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
    options: &AnalysisOptions,
    measured: &'o [Measured],
    plans: Vec<Plan>,
    visits: &'o mut [impl FnMut(&Pair<'_>)],
) -> Vec<Matcher<'o>> {
    let matchers = measured.iter().zip(plans).zip(visits).map(|((measured, plan), visit)| {
        let mut matcher = Matcher::new(plan, &measured.options, options.from.unwrap_or(0), visit as Visit<'o>);
        matcher.keep_lanes();
        matcher
    });
    matchers.collect()
}
