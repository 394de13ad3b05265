//! Timelines: what CPUs and threads did, for viewers such as Perfetto.
//!
//! ```text
//! trace ─aix, qnx─> Machine ─changes─> Timeline ─slices─> Slices ─Sink─> chrome, perfetto, collected
//! ```
//!
//! After each event the `Timeline` compares the state of the event's CPU with the slices that are open on its track:
//! it ends those that no longer apply, and begins the new ones. The time of the slices of a CPU, without the ones inside
//! them, is the time that a summary charges to their categories.

mod chrome;
mod collected;
mod counters;
mod events;
mod pairs;
mod perfetto;
mod sink;
mod slices;

use crate::latency::HookSource;
use crate::machine::{
    Base, CallEnding, Change, Machine, MessageStep, OTHERS, Returned, RunningThread, ThreadSlot, ThreadState,
};
use crate::{AnalysisError, AnalysisOptions, EventCpu, InterruptRules, Observer, aix, qnx};
use chrome::Chrome;
use collected::Collector;
pub use collected::{TimelineSlice, TimelineTrack, TimelineTracks};
use counters::Counters;
use events::Instants;
use foldhash::HashMap;
use pairs::PairTracks;
use perfetto::Perfetto;
use sink::{Arg, FlowPoint, Sink, Track, TrackKind};
use slices::Slices;
use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;
use tfbc::aix::ContextTable;
use tfbc::internal::analysis::{ContextRules, TimedEvent};
use tfbc::internal::templates::Catalog;
use tfbc::internal::{AnyTrace, KevRecord, source_mut};
use tfbc::{Expression, Monitor, System, Trace};

/// Limit on changes of CPUs that wait for an event that proves their times.
const MAX_HELD: usize = 1 << 16;
/// Number that no track has.
const NO_TRACK: Track = Track { group: 0, id: 0 };

/// Format of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimelineForm {
    /// JSON of Chrome's trace event format.
    Chrome,
    /// Perfetto's protobuf.
    Perfetto,
}

/// Names of the groups of tracks.
pub const TRACKS: [&str; 8] = ["cpus", "calls", "states", "timers", "counters", "events", "marks", "flows"];

/// Events that are shown as instants.
#[derive(Debug, Clone, Default)]
pub enum InstantChoice {
    /// AIX: hooks that a format file names. QNX: events of the class USER.
    #[default]
    Defined,
    /// None.
    Never,
    /// Events of an expression.
    Events(Expression),
}

/// Options of a timeline.
#[derive(Debug, Clone)]
pub struct TimelineOptions {
    /// Format of the file.
    pub form: TimelineForm,
    /// Groups of tracks, of [`TRACKS`].
    pub tracks: Vec<&'static str>,
    /// Events that are shown as instants.
    pub instants: InstantChoice,
    /// True if the format files are the user's, so that their timers and hooks are shown.
    pub has_formats: bool,
    /// Names of pairs that are shown.
    pub pairs: Vec<String>,
    /// The user's context table. All of its pairs are shown.
    pub own_context: Option<ContextTable>,
    /// Limit on slices, instants and counter values.
    pub max_slices: u64,
}

/// Result of a timeline.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimelineCounts {
    /// Number of events.
    pub n_events: u64,
    /// Number of damaged places.
    pub n_damaged: u64,
    /// True if slices were left out because of the limit.
    pub is_full: bool,
    /// True if CPUs have gaps because too many changes were held.
    pub has_unproven: bool,
    /// Number of pairs, events and values of counters that were left out because there are too many tracks.
    pub n_left_out: u64,
}

/// Writes a timeline of a trace. The output is a trait object, so that the code for all outputs is compiled and optimised
/// with this package.
///
/// # Errors
/// The trace cannot be read, the output cannot be written, or the trace has no such pairs.
pub fn timeline(
    trace: &mut Trace,
    options: &AnalysisOptions,
    what: &TimelineOptions,
    catalog: &Catalog<'_>,
    monitor: &mut dyn Monitor,
    out: &mut dyn Write,
) -> Result<TimelineCounts, AnalysisError> {
    match what.form {
        TimelineForm::Chrome => run(trace, options, what, catalog, monitor, Box::new(Chrome::new(out))),
        TimelineForm::Perfetto => run(trace, options, what, catalog, monitor, Box::new(Perfetto::new(out))),
    }
}

/// Collects the slices and instants of a timeline. Flows and counters are left out, and the form of the options has no
/// effect.
///
/// # Errors
/// The trace cannot be read, or has no such pairs.
pub fn tracks(
    trace: &mut Trace,
    options: &AnalysisOptions,
    what: &TimelineOptions,
    catalog: &Catalog<'_>,
    monitor: &mut dyn Monitor,
) -> Result<(TimelineTracks, TimelineCounts), AnalysisError> {
    let mut tracks = TimelineTracks::default();
    let counts = run(trace, options, what, catalog, monitor, Box::new(Collector::new(&mut tracks)))?;
    Ok((tracks, counts))
}

fn run(
    trace: &mut Trace,
    options: &AnalysisOptions,
    what: &TimelineOptions,
    catalog: &Catalog<'_>,
    monitor: &mut dyn Monitor,
    sink: Box<dyn Sink + '_>,
) -> Result<TimelineCounts, AnalysisError> {
    let source = source_mut(trace);
    let finished = pairs::FinishedPairs::default();
    let (measured, plans) = pairs::sources(source, options, what)?;
    let mut visits: Vec<_> = measured.iter().map(|pair| finished.visit(pair)).collect();
    let matchers = pairs::matchers(options, &measured, plans, &mut visits);
    let mut timeline = Timeline::new(options, what, sink);
    let totals = match source {
        AnyTrace::Aix(logs) => {
            timeline.pairs = PairTracks::of_hooks(matchers, &finished);
            if what.tracks.contains(&"counters") {
                timeline.counters = Counters::new(options, None)?;
            }
            timeline.instants = Instants::of_hooks(what, catalog)?;
            let has_instants = timeline.instants.has_hooks();
            if has_instants || timeline.pairs.has_hooks() {
                let runs_timers = has_instants || timeline.pairs.runs_timers();
                timeline.source = Some(HookSource::new(options, catalog, logs.logs(), runs_timers));
            }
            aix::analyse(logs, options, monitor, Some(&mut timeline))?.0
        }
        AnyTrace::Kev(log) => {
            timeline.system = System::Qnx;
            timeline.state_names = qnx::state_names(log.header());
            timeline.pairs = PairTracks::of_records(matchers, catalog, log.header(), &finished);
            if what.tracks.contains(&"counters") {
                timeline.counters = Counters::new(options, Some(log.header()))?;
            }
            timeline.instants = Instants::of_records(what, catalog, log.header())?;
            qnx::analyse(log, options, monitor, Some(&mut timeline))?.0
        }
    };
    let counts = TimelineCounts {
        n_events: totals.n_events,
        n_damaged: totals.n_damaged,
        is_full: timeline.slices.is_full,
        has_unproven: timeline.has_unproven,
        n_left_out: timeline.slices.n_left_out + timeline.pairs.n_dropped(),
    };
    timeline.slices.sink.finish().map_err(AnalysisError::Write)?;
    Ok(counts)
}

/// Slices that are open on the track of a CPU.
#[derive(Default)]
struct CpuTrack {
    track: Option<Track>,
    base: Option<Base>,
    /// Track of states of the thread that runs (AIX).
    state: Option<Track>,
    frames: Vec<OpenFrame>,
}

/// Interrupt on the track of a CPU.
struct OpenFrame {
    number: u64,
    /// Row of its body in [`Timeline::frame_bodies`].
    row: usize,
}

/// Tracks of a thread.
#[derive(Clone, Copy)]
struct ThreadTracks {
    process: Option<u32>,
    group: u32,
    calls: Track,
    states: Track,
    /// True if a call, or a state, is open on its track.
    has_call: bool,
    has_state: bool,
    /// Number of the gap that cut the open call. Its slice lasts until the mark of the loss.
    cut: Option<u64>,
}

/// Change of the track of a CPU.
struct Held {
    track: Track,
    time: u64,
    /// Body of the slice that begins; `None` for an end.
    body: Option<CpuBody>,
    proof: Proof,
}

/// Slice that is open while changes are held.
struct HeldSlice {
    body: CpuBody,
    has_proof: bool,
    /// True if it is written. A slice around one without proof is not: it ends before, and begins again after.
    is_shown: bool,
}

/// Evidence that a slice needs before it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// None.
    Given,
    /// A dispatch somewhere in the trace.
    Dispatch,
    /// A dispatch, and an end of an interrupt of this class.
    End(u32),
}

/// Body of a slice on the track of a CPU, or of a thread's states.
#[derive(Clone, Copy)]
enum CpuBody {
    Fixed(FixedBody),
    /// Interrupt, by row.
    Frame(u32),
    /// State of a thread that runs on a CPU, by the CPU's index.
    OnCpu(u32),
    /// Thread that runs, by slot.
    Run(ThreadSlot),
    /// Copy of the body of a thread, which may change before the slice is written: its place in [`CpuBodies::copies`].
    Copy {
        start: u32,
        end: u32,
    },
}

/// Body that does not depend on the trace.
#[derive(Clone, Copy)]
enum FixedBody {
    Switch,
    Lost,
    Off,
    Dispatch,
    IdleDispatch,
}

impl FixedBody {
    /// Names and categories, in the order of the variants.
    const NAMES: [(&str, &str); 5] = [
        ("switch", "switch"),
        ("lost", "lost"),
        ("off", "off"),
        ("dispatch", "dispatch"),
        ("idle dispatch", "idle_dispatch"),
    ];
}

/// Encoded bodies of the slices on the tracks of CPUs.
#[derive(Default)]
struct CpuBodies {
    fixed: Vec<Vec<u8>>,
    frames: Bodies,
    on_cpu: Vec<Vec<u8>>,
    runs: Vec<RunBody>,
    /// Bodies of threads in held slices, one after the other.
    copies: Vec<u8>,
}

impl CpuBodies {
    fn get(&self, body: CpuBody) -> &[u8] {
        self.get_from(&self.copies, body)
    }

    fn get_from<'b>(&'b self, copies: &'b [u8], body: CpuBody) -> &'b [u8] {
        match body {
            CpuBody::Fixed(fixed) => &self.fixed[fixed as usize],
            CpuBody::Frame(row) => self.frames.get(row as usize),
            CpuBody::OnCpu(at) => &self.on_cpu[at as usize],
            CpuBody::Run(slot) => &self.runs[slot as usize].bytes,
            CpuBody::Copy { start, end } => &copies[start as usize..end as usize],
        }
    }

    /// Body of a held slice: a copy, if it may change. At most [`MAX_HELD`] names of limited length are copied.
    fn hold(&mut self, body: CpuBody) -> CpuBody {
        let CpuBody::Run(slot) = body else { return body };
        let start = self.copies.len() as u32;
        self.copies.extend_from_slice(&self.runs[slot as usize].bytes);
        CpuBody::Copy { start, end: self.copies.len() as u32 }
    }
}

/// Body of the slices of a thread, and the version of the names for which it is valid.
#[derive(Default)]
struct RunBody {
    version: u64,
    idle: bool,
    /// Body without a priority.
    plain: Vec<u8>,
    priority: Option<u8>,
    bytes: Vec<u8>,
}

/// Encoded bodies of slices, by row.
#[derive(Default)]
struct Bodies {
    bytes: Vec<u8>,
    /// Place in `bytes` per row; empty if it is not encoded yet.
    places: Vec<Range<usize>>,
}

impl Bodies {
    /// Body of a row, which `encode` appends if it is needed for the first time.
    fn of(&mut self, row: usize, encode: impl FnOnce(&mut Vec<u8>)) -> &[u8] {
        if self.places.len() <= row {
            self.places.resize(row + 1, 0..0);
        }
        if self.places[row].is_empty() {
            let start = self.bytes.len();
            encode(&mut self.bytes);
            self.places[row] = start..self.bytes.len();
        }
        &self.bytes[self.places[row].clone()]
    }

    /// Body of a row that has been encoded.
    fn get(&self, row: usize) -> &[u8] {
        &self.bytes[self.places[row].clone()]
    }
}

/// Hex digits of an address, in capitals.
struct HexDigits {
    digits: [u8; 16],
    len: usize,
}

impl HexDigits {
    fn new(address: u64) -> Self {
        let len = (67 - (address | 1).leading_zeros() as usize) / 4;
        let (high, low) = (hex_digits((address >> 32) as u32), hex_digits(address as u32));
        Self { digits: (u128::from(high) << 64 | u128::from(low)).to_be_bytes(), len }
    }

    fn as_bytes(&self) -> &[u8] {
        &self.digits[16 - self.len..]
    }
}

/// Hex digits of a number in capitals, the first one in the highest byte. A loop over them would take three times as
/// long.
#[inline(always)]
fn hex_digits(number: u32) -> u64 {
    // Moves the groups of four bits to bytes of their own.
    let wide = u64::from(number);
    let pairs = (wide | wide << 16) & 0x0000_FFFF_0000_FFFF;
    let bytes = (pairs | pairs << 8) & 0x00FF_00FF_00FF_00FF;
    let values = (bytes | bytes << 4) & 0x0F0F_0F0F_0F0F_0F0F;
    // 6 carries the values from 10 into the next group. The letters come 7 after the digits.
    let are_letters = (values + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    values + 0x3030_3030_3030_3030 + 7 * are_letters
}

/// State of a timeline.
struct Timeline<'o> {
    system: System,
    slices: Slices<'o>,
    shows: Shown,
    changes: Vec<Change>,
    cpus: Vec<CpuTrack>,
    threads: Vec<Option<ThreadTracks>>,
    /// Threads with calls that a loss has cut, by the number of the gap.
    cut: BTreeMap<u64, Vec<ThreadSlot>>,
    /// Groups of processes, by slot; the last one is for threads without a process.
    groups: HashMap<Option<u32>, (u32, Vec<u8>)>,
    cpu_group: Option<u32>,
    mark_group: Option<u32>,
    mark_tracks: HashMap<Option<u64>, Track>,
    bodies: CpuBodies,
    /// Name and tail of the body that is being encoded.
    frame_name: Vec<u8>,
    frame_tail: Vec<u8>,
    /// Bodies of calls by row, and their tails by class.
    call_bodies: Bodies,
    call_tails: Bodies,
    /// Body of the instant or state that is being written.
    body: Vec<u8>,
    /// Held changes of CPU tracks, until the trace shows what their times mean.
    held: Option<Vec<Held>>,
    /// Slices that were open when the first of the changes was held, by the id of their track.
    held_open: Vec<Vec<HeldSlice>>,
    /// Classes of interrupts that the held changes wait for, each once.
    held_classes: Vec<usize>,
    /// Number of proofs of the trace when the held changes were last compared with them.
    n_proofs: Option<u64>,
    /// True if CPUs have gaps because too many changes were held.
    has_unproven: bool,
    proven: Vec<bool>,
    state_names: Vec<String>,
    /// Templates of AIX events; `None` if no track needs them.
    source: Option<HookSource<'o>>,
    pairs: PairTracks<'o>,
    instants: Instants<'o>,
    counters: Counters,
    flow_body: Vec<u8>,
    ends: CallEnds,
    /// Encoded arguments of the end of a call.
    more: Vec<u8>,
}

/// Encoded arguments of calls that do not return.
struct CallEnds {
    cut: Vec<u8>,
    not_returned: Vec<u8>,
    ended: Vec<u8>,
    open: Vec<u8>,
}

/// Groups of tracks that are shown.
#[derive(Clone, Copy, Default)]
struct Shown {
    cpus: bool,
    calls: bool,
    states: bool,
    marks: bool,
    flows: bool,
}

impl<'o> Timeline<'o> {
    fn new(options: &AnalysisOptions, what: &TimelineOptions, mut sink: Box<dyn Sink + 'o>) -> Self {
        let shows = |name: &str| what.tracks.contains(&name);
        let mut fixed = |name: &str, category: &str| {
            let mut body = Vec::new();
            sink.encode(name.as_bytes(), category, &[], &mut body);
            body
        };
        let bodies = FixedBody::NAMES.map(|(name, category)| fixed(name, category)).to_vec();
        let flow_body = fixed("message", "message");
        let [cut, not_returned, ended, open] = ["cut", "not_returned", "ended", "open"].map(|name| {
            let mut args = Vec::new();
            sink.encode_more(&[(name, Arg::Flag(true))], &mut args);
            args
        });
        Self {
            system: System::Aix,
            slices: Slices::new(sink, options.from.unwrap_or(0), what.max_slices),
            shows: Shown {
                cpus: shows("cpus"),
                calls: shows("calls"),
                states: shows("states"),
                marks: shows("marks"),
                flows: shows("flows"),
            },
            changes: Vec::new(),
            cpus: Vec::new(),
            threads: Vec::new(),
            cut: BTreeMap::new(),
            groups: HashMap::default(),
            cpu_group: None,
            mark_group: None,
            mark_tracks: HashMap::default(),
            bodies: CpuBodies { fixed: bodies, ..CpuBodies::default() },
            frame_name: Vec::new(),
            frame_tail: Vec::new(),
            call_bodies: Bodies::default(),
            call_tails: Bodies::default(),
            body: Vec::new(),
            held: None,
            held_open: Vec::new(),
            held_classes: Vec::new(),
            n_proofs: None,
            has_unproven: false,
            proven: Vec::new(),
            state_names: Vec::new(),
            source: None,
            pairs: PairTracks::default(),
            instants: Instants::default(),
            counters: Counters::default(),
            flow_body,
            ends: CallEnds { cut, not_returned, ended, open },
            more: Vec::new(),
        }
    }

    /// Applies the changes since the last event.
    #[inline(always)]
    fn apply(&mut self, machine: &mut Machine, rules: &dyn InterruptRules) {
        if machine.has_changes() {
            self.apply_changes(machine, rules);
        }
    }

    fn apply_changes(&mut self, machine: &mut Machine, rules: &dyn InterruptRules) {
        let mut changes = std::mem::take(&mut self.changes);
        machine.take_changes(&mut changes);
        for change in &changes {
            // Nearly all changes are calls.
            match *change {
                Change::Entered { thread, row, address, time } if self.shows.calls => {
                    self.begin_call(thread, row, address, time, machine);
                }
                Change::Left { thread, time, ending } if self.shows.calls => self.end_call(thread, time, ending),
                _ => self.change(change, machine, rules),
            }
        }
        self.changes = changes;
    }

    /// Applies a change that is not about a call.
    #[inline(never)]
    fn change(&mut self, change: &Change, machine: &Machine, rules: &dyn InterruptRules) {
        match *change {
            Change::Ended { at, time } => self.set_base(at, None, time, machine),
            Change::Base { at, time, base } => self.set_base(at, base, time, machine),
            Change::Touched { at, time } => self.sync(at, time, machine, rules),
            Change::Dropped { time } => {
                // Slices that are written already stay.
                if let Some(held) = &mut self.held {
                    held.clear();
                    self.bodies.copies.clear();
                    self.held_open.clear();
                    self.held_classes.clear();
                } else if !self.cpus.is_empty() {
                    self.set_base(0, None, time, machine);
                }
                self.cpus.clear();
                // The next CPU gets the index of the one that is dropped, and its interrupts get their rows.
                self.bodies.on_cpu.clear();
                self.bodies.frames = Bodies::default();
            }
            Change::Dispatched { at, from, to, idle } => {
                if let Some(track) = self.cpus.get(at).and_then(|cpu| cpu.track) {
                    let body = if idle { FixedBody::IdleDispatch } else { FixedBody::Dispatch };
                    self.begin(track, from, CpuBody::Fixed(body), Proof::Dispatch);
                    self.end(track, to);
                }
            }
            Change::LossEnded { number, time } => {
                for (gap, threads) in self.cut.split_off(&number) {
                    threads.into_iter().for_each(|thread| self.end_cut(thread, Some(gap), time));
                }
            }
            Change::State { thread, state, time } if self.shows.states => self.state(thread, state, time, machine),
            Change::Lifetime { thread, name, time } if self.shows.calls && self.slices.is_in_span(time) => {
                let tracks = self.thread_tracks(thread, machine);
                let calls = self.call_track(thread, tracks, machine);
                let Self { slices, body, .. } = self;
                body.clear();
                slices.sink.encode(name.as_bytes(), "lifetime", &[], body);
                slices.instant(calls, time, body);
            }
            Change::Message { thread, step, id, time } if self.shows.flows && self.shows.calls => {
                let tracks = self.thread_tracks(thread, machine);
                let track = self.call_track(thread, tracks, machine);
                let point = match step {
                    MessageStep::Sent => FlowPoint::Start,
                    MessageStep::Received => FlowPoint::Step,
                    MessageStep::Replied => FlowPoint::End,
                };
                self.slices.flow(track, time, point, id, &self.flow_body);
            }
            Change::Mark { cpu, name, missed, time } if self.shows.marks && self.slices.is_in_span(time) => {
                let Self { slices, mark_group, mark_tracks, body, .. } = self;
                let group = *mark_group.get_or_insert_with(|| slices.new_group(b"marks"));
                let named = cpu.map_or(String::from("all CPUs"), |cpu| format!("CPU {cpu}"));
                let new = || slices.new_track(group, TrackKind::Slices, named.as_bytes());
                let track = *mark_tracks.entry(cpu).or_insert_with(new);
                let args = missed.map(|missed| ("missed", Arg::Number(missed.into())));
                body.clear();
                slices.sink.encode(name.as_bytes(), "mark", args.as_slice(), body);
                slices.instant(track, time, body);
            }
            _ => {}
        }
    }

    // Tracks of CPUs.

    /// Updates the open slices of a CPU to match its state.
    #[inline(always)]
    fn sync(&mut self, at: usize, time: u64, machine: &Machine, rules: &dyn InterruptRules) {
        if !self.shows.cpus {
            return;
        }
        if let Some(CpuTrack { base: Some(Base::Thread(running)), frames, .. }) = self.cpus.get(at)
            && machine.runs_within(at, *running, frames.len(), frames.last().map(|frame| frame.number))
        {
            return;
        }
        self.sync_changed(at, time, machine, rules);
    }

    #[inline(never)]
    fn sync_changed(&mut self, at: usize, time: u64, machine: &Machine, rules: &dyn InterruptRules) {
        // The CPU may have been charged up to a later event of another CPU.
        let time = time.max(machine.last_event(at));
        let base = machine.base(at);
        if self.cpus.get(at).is_none_or(|cpu| cpu.base != base) {
            self.set_base(at, base, time, machine);
        }
        let open = &self.cpus[at].frames;
        let n_same = machine.frames(at).zip(open).take_while(|((number, ..), open)| *number == open.number).count();
        if n_same == open.len() && n_same == machine.frames(at).len() {
            return;
        }
        self.set_frames(at, n_same, time, machine, rules);
    }

    /// Ends the slices of a CPU, and begins one for its state.
    fn set_base(&mut self, at: usize, base: Option<Base>, time: u64, machine: &Machine) {
        if !self.shows.cpus {
            return;
        }
        if self.cpus.len() <= at {
            self.cpus.resize_with(at + 1, CpuTrack::default);
        }
        let track = self.cpu_track(at, machine);
        let cpu = &mut self.cpus[at];
        let n_open = cpu.frames.len() + usize::from(cpu.base.is_some());
        cpu.frames.clear();
        cpu.base = base;
        let state = cpu.state.take();
        (0..n_open).for_each(|_| self.end(track, time));
        if let Some(state) = state {
            self.end(state, time);
        }
        match base {
            None => {}
            Some(Base::Thread(running)) => self.begin_run(at, running, time, machine),
            Some(fixed) => {
                let (body, proof) = match fixed {
                    Base::Lost => (FixedBody::Lost, Proof::Given),
                    Base::Off => (FixedBody::Off, Proof::Given),
                    _ => (FixedBody::Switch, Proof::Dispatch),
                };
                self.begin(track, time, CpuBody::Fixed(body), proof);
            }
        }
    }

    /// Begins the slices of a thread that runs: on the track of its CPU and, for AIX, on that of its states.
    fn begin_run(&mut self, at: usize, running: RunningThread, time: u64, machine: &Machine) {
        let RunningThread { thread, idle, .. } = running;
        let track = self.cpu_track(at, machine);
        let slot = thread as usize;
        if self.bodies.runs.len() <= slot {
            self.bodies.runs.resize_with(slot + 1, RunBody::default);
        }
        let version = machine.names_version(thread);
        let run = &self.bodies.runs[slot];
        if run.version != version || run.idle != idle || thread == OTHERS || run.plain.is_empty() {
            let plain = self.run_body(running, machine);
            self.bodies.runs[slot] = RunBody { version, idle, bytes: plain.clone(), plain, priority: None };
        }
        let (run, priority) = (&mut self.bodies.runs[slot], machine.priority_of(thread));
        if run.priority != priority {
            run.priority = priority;
            run.bytes.clear();
            run.bytes.extend_from_slice(&run.plain);
            if let Some(priority) = priority {
                self.slices.sink.append("priority", priority.into(), &mut run.bytes);
            }
        }
        self.begin(track, time, CpuBody::Run(thread), Proof::Dispatch);
        if self.system == System::Aix && self.shows.states {
            let tracks = self.thread_tracks(thread, machine);
            let states = self.state_track(thread, tracks, machine);
            if self.bodies.on_cpu.len() <= at {
                self.bodies.on_cpu.resize_with(at + 1, Vec::new);
            }
            if self.bodies.on_cpu[at].is_empty() {
                let (name, mut body) = (format!("on {}", cpu_name(machine.cpu_id(at))), Vec::new());
                let number = machine.cpu_id(at).map(|cpu| ("cpu", Arg::Number(cpu.into())));
                self.slices.sink.encode(name.as_bytes(), "state", number.as_slice(), &mut body);
                self.bodies.on_cpu[at] = body;
            }
            // Threads that share a row run at the same time.
            if thread != OTHERS {
                self.begin(states, time, CpuBody::OnCpu(at as u32), Proof::Dispatch);
                self.cpus[at].state = Some(states);
            }
        }
    }

    fn run_body(&mut self, running: RunningThread, machine: &Machine) -> Vec<u8> {
        let RunningThread { id, thread, idle } = running;
        let process = machine.process_of(thread).map(|process| machine.process_at(process));
        let (pid, tid) = match self.system {
            System::Aix => (process.map(|process| process.pid), id),
            System::Qnx => (Some(id >> 32), id & 0xFFFF_FFFF),
        };
        let name = match (idle, process.and_then(|process| process.name.as_deref()), pid) {
            (true, ..) => b"idle".to_vec(),
            (_, Some(name), Some(pid)) if self.system == System::Qnx => {
                [name, format!(" {pid}.{tid}").as_bytes()].concat()
            }
            (_, Some(name), _) => [name, format!(" {tid}").as_bytes()].concat(),
            (_, None, Some(pid)) if self.system == System::Qnx => format!("{pid}.{tid}").into_bytes(),
            (_, None, Some(pid)) => format!("-{pid}- {tid}").into_bytes(),
            (_, None, None) => format!("- {tid}").into_bytes(),
        };
        let pid = pid.map(|pid| ("pid", Arg::Number(pid.into())));
        let tid = Some(("tid", Arg::Number(tid.into())));
        let args: Vec<_> = [pid, tid].into_iter().flatten().collect();
        let mut body = Vec::new();
        self.slices.sink.encode(&name, if idle { "idle" } else { "run" }, &args, &mut body);
        body
    }

    /// Ends the interrupts of a CPU after the first `n_same`, and begins the ones that are new.
    fn set_frames(&mut self, at: usize, n_same: usize, time: u64, machine: &Machine, rules: &dyn InterruptRules) {
        let track = self.cpu_track(at, machine);
        let n_open = self.cpus[at].frames.len();
        self.cpus[at].frames.truncate(n_same);
        (n_same..n_open).for_each(|_| self.end(track, time));
        if self.held.is_none() && machine.frames(at).skip(n_same).any(|(_, class, _)| !self.is_proven(class)) {
            self.start_holding();
        }
        for (number, class, row) in machine.frames(at).skip(n_same) {
            let mut bodies = std::mem::take(&mut self.bodies.frames);
            bodies.of(row, |out| self.frame_body(class, row, machine, rules, out));
            self.bodies.frames = bodies;
            self.begin(track, time, CpuBody::Frame(row as u32), Proof::End(class as u32));
            self.cpus[at].frames.push(OpenFrame { number, row });
        }
    }

    fn frame_body(
        &mut self,
        class: usize,
        row: usize,
        machine: &Machine,
        rules: &dyn InterruptRules,
        out: &mut Vec<u8>,
    ) {
        let (found, class) = (machine.interrupt_row(row), machine.class_name(class));
        let label = found.kind.and_then(|kind| rules.label(class, kind));
        let name = found.name.as_deref().or_else(|| label.map(str::as_bytes));
        let address = found.address.map(HexDigits::new);
        let address = address.as_ref().map(HexDigits::as_bytes);
        let Self { frame_name, frame_tail, slices, .. } = self;
        frame_name.clear();
        frame_name.extend_from_slice(class.as_str().as_bytes());
        match (name, found.kind, address) {
            (Some(name), ..) | (None, None, Some(name)) => {
                frame_name.push(b' ');
                frame_name.extend_from_slice(name);
            }
            (None, Some(kind), _) => frame_name.extend(format!(" {kind}").bytes()),
            (None, None, None) => {}
        }
        let args = [
            ("type", Arg::Number(found.kind.unwrap_or(0).into())),
            ("address", Arg::Text(address.unwrap_or_default())),
        ];
        let shown = usize::from(found.kind.is_none())..1 + usize::from(address.is_some());
        frame_tail.clear();
        slices.sink.encode_tail(class.as_str(), &args[shown], frame_tail);
        slices.sink.encode_once(frame_name, frame_tail, out);
    }

    fn cpu_track(&mut self, at: usize, machine: &Machine) -> Track {
        if let Some(track) = self.cpus[at].track {
            return track;
        }
        let Self { slices, cpu_group, .. } = self;
        let group = *cpu_group.get_or_insert_with(|| slices.new_group(b"CPUs"));
        let track = slices.new_track(group, TrackKind::Slices, cpu_name(machine.cpu_id(at)).as_bytes());
        self.cpus[at].track = Some(track);
        track
    }

    // Times whose meaning is not known yet.

    fn is_proven(&self, class: usize) -> bool {
        self.proven.get(class).copied().unwrap_or(false)
    }

    /// Begins a slice on the track of a CPU, or keeps it until the trace shows what its time means.
    fn begin(&mut self, track: Track, time: u64, body: CpuBody, proof: Proof) {
        if self.held.is_none() {
            return self.slices.begin(track, time, self.bodies.get(body));
        }
        let body = self.bodies.hold(body);
        self.hold(Held { track, time, body: Some(body), proof });
    }

    /// Holds the changes of CPU tracks from now on.
    #[cold]
    fn start_holding(&mut self) {
        self.held = Some(Vec::new());
        let cpus = std::mem::take(&mut self.cpus);
        for (at, cpu) in cpus.iter().enumerate() {
            if let Some(track) = cpu.track {
                let base = cpu.base.map(|base| match base {
                    Base::Thread(running) => CpuBody::Run(running.thread),
                    Base::Lost => CpuBody::Fixed(FixedBody::Lost),
                    Base::Off => CpuBody::Fixed(FixedBody::Off),
                    Base::Switch => CpuBody::Fixed(FixedBody::Switch),
                });
                let frames = cpu.frames.iter().map(|frame| CpuBody::Frame(frame.row as u32));
                self.hold_open(track, base.into_iter().chain(frames));
            }
            if let Some(state) = cpu.state {
                self.hold_open(state, [CpuBody::OnCpu(at as u32)].into_iter());
            }
        }
        self.cpus = cpus;
    }

    fn hold_open(&mut self, track: Track, bodies: impl Iterator<Item = CpuBody>) {
        let Self { held_open, bodies: known, .. } = self;
        let held = |body| HeldSlice { body: known.hold(body), has_proof: true, is_shown: true };
        *of_track(held_open, track) = bodies.map(held).collect();
    }

    fn end(&mut self, track: Track, time: u64) {
        match &self.held {
            Some(_) => self.hold(Held { track, time, body: None, proof: Proof::Given }),
            None => self.slices.end(track, time, &[]),
        }
    }

    fn hold(&mut self, change: Held) {
        if let Proof::End(class) = change.proof
            && !self.held_classes.contains(&(class as usize))
        {
            self.held_classes.push(class as usize);
            self.n_proofs = None;
        }
        self.held.get_or_insert_default().push(change);
    }

    /// Writes the changes that were held, if the trace has shown what all of their times mean, or if there are too many.
    #[inline(always)]
    fn release_proven(&mut self, machine: &Machine, rules: &dyn InterruptRules) {
        if let Some(held) = &self.held
            && (held.len() >= MAX_HELD || self.n_proofs != Some(machine.n_proofs()))
        {
            self.prove(machine, rules);
        }
    }

    fn prove(&mut self, machine: &Machine, rules: &dyn InterruptRules) {
        let Some(held) = &self.held else { return };
        self.n_proofs = Some(machine.n_proofs());
        let has_dispatch = machine.has_dispatch();
        let mut is_proven = has_dispatch;
        for &class in &self.held_classes {
            if self.proven.len() <= class {
                self.proven.resize(class + 1, false);
            }
            let ends = || machine.has_end(class, |name| rules.lowers(name));
            self.proven[class] = self.proven[class] || ends();
            is_proven &= self.proven[class];
        }
        if is_proven {
            self.release(true);
        } else if held.len() >= MAX_HELD {
            self.has_unproven = true;
            self.release(has_dispatch);
        }
    }

    /// Writes the changes that were held. Slices without proof are left out: no slice shows unknown time.
    fn release(&mut self, has_dispatch: bool) {
        self.held_classes.clear();
        let (held, copies) = (self.held.take().unwrap_or_default(), std::mem::take(&mut self.bodies.copies));
        let mut open = std::mem::take(&mut self.held_open);
        let has_proof = |change: &Held| self.has_proof(change.proof, has_dispatch);
        let are_proven =
            has_dispatch && open.iter().flatten().all(|slice| slice.has_proof) && held.iter().all(has_proof);
        if are_proven {
            for Held { track, time, body, .. } in held {
                match body {
                    Some(body) => self.slices.begin(track, time, self.bodies.get_from(&copies, body)),
                    None => self.slices.end(track, time, &[]),
                }
            }
            return;
        }
        for Held { track, time, body, proof } in held {
            let open = of_track(&mut open, track);
            match body {
                Some(body) => {
                    let has_proof = self.has_proof(proof, has_dispatch);
                    if has_proof {
                        self.slices.begin(track, time, self.bodies.get_from(&copies, body));
                    } else {
                        for outer in open.iter_mut().filter(|outer| outer.is_shown) {
                            outer.is_shown = false;
                            self.slices.end(track, time, &[]);
                        }
                    }
                    open.push(HeldSlice { body, has_proof, is_shown: has_proof });
                }
                None => {
                    let Some(HeldSlice { has_proof, is_shown, .. }) = open.pop() else { continue };
                    if is_shown {
                        self.slices.end(track, time, &[]);
                    }
                    if !has_proof {
                        let first = open.iter().rposition(|outer| !outer.has_proof).map_or(0, |last| last + 1);
                        for outer in &mut open[first..] {
                            outer.is_shown = true;
                            self.slices.begin(track, time, self.bodies.get_from(&copies, outer.body));
                        }
                    }
                }
            }
        }
        // The ends of slices that were left out are still to come.
        if !has_dispatch || open.iter().flatten().any(|slice| !slice.has_proof) {
            self.held = Some(Vec::new());
            for slice in open.iter_mut().flatten() {
                if let CpuBody::Copy { start, end } = &mut slice.body {
                    let new_start = self.bodies.copies.len() as u32;
                    self.bodies.copies.extend_from_slice(&copies[*start as usize..*end as usize]);
                    (*start, *end) = (new_start, self.bodies.copies.len() as u32);
                }
            }
            self.held_open = open;
        }
    }

    fn has_proof(&self, proof: Proof, has_dispatch: bool) -> bool {
        match proof {
            Proof::Given => true,
            Proof::Dispatch => has_dispatch,
            Proof::End(class) => has_dispatch && self.is_proven(class as usize),
        }
    }

    // Tracks of threads.

    fn thread_tracks(&mut self, thread: ThreadSlot, machine: &Machine) -> ThreadTracks {
        let process = machine.process_of(thread);
        if let Some(Some(tracks)) = self.threads.get(thread as usize)
            && tracks.process == process
        {
            return *tracks;
        }
        let group = match self.groups.get(&process) {
            Some((group, _)) => *group,
            None => {
                let name = group_name(process, machine);
                let group = self.slices.new_group(&name);
                self.groups.insert(process, (group, name));
                group
            }
        };
        let slot = thread as usize;
        if self.threads.len() <= slot {
            self.threads.resize_with(slot + 1, || None);
        }
        let new = ThreadTracks {
            process,
            group,
            calls: NO_TRACK,
            states: NO_TRACK,
            has_call: false,
            has_state: false,
            cut: None,
        };
        let tracks = self.threads[slot].get_or_insert(new);
        // A thread whose process was not known gets other tracks, as soon as nothing is open on its old ones.
        if tracks.group != group && !tracks.has_call && !tracks.has_state {
            *tracks = new;
        }
        *tracks
    }

    fn call_track(&mut self, thread: ThreadSlot, tracks: ThreadTracks, machine: &Machine) -> Track {
        if tracks.calls != NO_TRACK {
            return tracks.calls;
        }
        let name = self.thread_name(thread, machine);
        let track = self.slices.new_track(tracks.group, TrackKind::Slices, &name);
        if let Some(tracks) = &mut self.threads[thread as usize] {
            tracks.calls = track;
        }
        track
    }

    fn state_track(&mut self, thread: ThreadSlot, tracks: ThreadTracks, machine: &Machine) -> Track {
        if tracks.states != NO_TRACK {
            return tracks.states;
        }
        let name = [&self.thread_name(thread, machine)[..], b" state"].concat();
        let track = self.slices.new_track(tracks.group, TrackKind::Slices, &name);
        if let Some(tracks) = &mut self.threads[thread as usize] {
            tracks.states = track;
        }
        track
    }

    fn thread_name(&self, thread: ThreadSlot, machine: &Machine) -> Vec<u8> {
        let found = machine.thread_at(thread);
        let tid = if self.system == System::Qnx { found.tid & 0xFFFF_FFFF } else { found.tid };
        match &found.name {
            _ if thread == OTHERS => b"(others)".to_vec(),
            Some(name) => [format!("tid {tid} ").as_bytes(), name].concat(),
            None => format!("tid {tid}").into_bytes(),
        }
    }

    fn begin_call(&mut self, thread: ThreadSlot, row: usize, address: Option<u64>, time: u64, machine: &Machine) {
        let process = machine.process_of(thread);
        let track = match self.threads.get_mut(thread as usize) {
            Some(Some(tracks)) if tracks.process == process && tracks.calls != NO_TRACK && tracks.cut.is_none() => {
                tracks.has_call = true;
                tracks.calls
            }
            _ => self.begin_first_call(thread, time, machine),
        };
        let Self { call_bodies, call_tails, slices, .. } = self;
        if let Some(address) = address {
            let (call, class) = machine.call_row(row);
            let tail = call_tails.of(call.class, |out| slices.sink.encode_tail(class.as_str(), &[], out));
            return slices.begin_encoded(track, time, |sink, out| sink.encode_address(address, tail, out));
        }
        let body = call_bodies.of(row, |out| {
            let (call, class) = machine.call_row(row);
            let sink = &mut slices.sink;
            let tail = call_tails.of(call.class, |out| sink.encode_tail(class.as_str(), &[], out));
            let name = call.name.as_deref().unwrap_or(class.as_str().as_bytes());
            sink.encode_once(name, tail, out);
        });
        slices.begin(track, time, body);
    }

    /// Creates the track of a thread's calls, or ends a call on it that a loss has cut.
    #[cold]
    fn begin_first_call(&mut self, thread: ThreadSlot, time: u64, machine: &Machine) -> Track {
        // The thread has been seen again before the mark.
        self.end_cut(thread, None, time);
        let tracks = self.thread_tracks(thread, machine);
        let track = self.call_track(thread, tracks, machine);
        self.set_open(thread, true, tracks.has_state);
        track
    }

    fn set_open(&mut self, thread: ThreadSlot, has_call: bool, has_state: bool) {
        if let Some(Some(tracks)) = self.threads.get_mut(thread as usize) {
            (tracks.has_call, tracks.has_state) = (has_call, has_state);
        }
    }

    fn end_call(&mut self, thread: ThreadSlot, time: u64, ending: CallEnding) {
        let Some(Some(tracks)) = self.threads.get_mut(thread as usize).filter(|tracks| tracks.is_some()) else {
            return;
        };
        if !tracks.has_call {
            return;
        }
        let ends = &self.ends;
        let more = match ending {
            CallEnding::Returned(returned) => {
                self.more.clear();
                match returned {
                    Returned { result: None, errno: 0, interrupted: false } => {}
                    Returned { result: Some(result), errno: 0, interrupted: false } => {
                        self.slices.sink.encode_result(result, &mut self.more);
                    }
                    Returned { result, errno, interrupted } => {
                        let result = result.map(|result| ("result", Arg::Number(result.into())));
                        let errno = (errno != 0).then(|| ("errno", Arg::Number(errno.into())));
                        let interrupted = interrupted.then_some(("interrupted", Arg::Flag(true)));
                        let args: Vec<_> = [result, errno, interrupted].into_iter().flatten().collect();
                        self.slices.sink.encode_more(&args, &mut self.more);
                    }
                }
                &self.more
            }
            CallEnding::Cut(Some(gap)) => {
                tracks.cut = Some(gap);
                self.cut.entry(gap).or_default().push(thread);
                return;
            }
            CallEnding::Cut(None) => &ends.cut,
            CallEnding::NotReturned => &ends.not_returned,
            CallEnding::Ended => &ends.ended,
        };
        tracks.has_call = false;
        self.slices.end(tracks.calls, time, more);
    }

    /// Ends the slice of a call that a loss has cut. `gap` is the number of the gap, `None` for any.
    fn end_cut(&mut self, thread: ThreadSlot, gap: Option<u64>, time: u64) {
        let Some(Some(tracks)) = self.threads.get_mut(thread as usize) else { return };
        if tracks.cut.is_some_and(|cut| gap.is_none_or(|gap| gap == cut)) {
            (tracks.cut, tracks.has_call) = (None, false);
            self.slices.end(tracks.calls, time, &self.ends.cut);
        }
    }

    /// Ends the slice of a thread's state, and begins one for the next state if it is known.
    fn state(&mut self, thread: ThreadSlot, state: Option<ThreadState>, time: u64, machine: &Machine) {
        let tracks = self.thread_tracks(thread, machine);
        if tracks.has_state {
            self.slices.end(tracks.states, time, &[]);
            self.set_open(thread, tracks.has_call, false);
        }
        let Some(Some(state)) = state else { return };
        let tracks = self.thread_tracks(thread, machine);
        let track = self.state_track(thread, tracks, machine);
        let name = self.state_names.get(usize::from(state)).map_or("", String::as_str).to_owned();
        let cpu = machine.cpu_of(thread).filter(|_| name == "RUNNING");
        let cpu = cpu.map(|cpu| ("cpu", Arg::Number(cpu.into())));
        let Self { slices, body, .. } = self;
        body.clear();
        slices.sink.encode(name.as_bytes(), "state", cpu.as_slice(), body);
        slices.begin(track, time, body);
        self.set_open(thread, tracks.has_call, true);
    }
}

/// Held slices of a track that are open.
fn of_track(open: &mut Vec<Vec<HeldSlice>>, track: Track) -> &mut Vec<HeldSlice> {
    let at = track.id as usize;
    if open.len() <= at {
        open.resize_with(at + 1, Vec::new);
    }
    &mut open[at]
}

/// Name of a CPU's track.
fn cpu_name(id: Option<u64>) -> String {
    id.map_or(String::from("CPU -"), |id| format!("CPU {id}"))
}

/// Name of a process's tracks.
fn group_name(process: Option<u32>, machine: &Machine) -> Vec<u8> {
    let Some(process) = process else { return b"(unknown process)".to_vec() };
    let found = machine.process_at(process);
    match &found.name {
        _ if process == OTHERS => b"(others)".to_vec(),
        Some(name) => [name, format!(" ({})", found.pid).as_bytes()].concat(),
        None => format!("-{}-", found.pid).into_bytes(),
    }
}

impl Observer for Timeline<'_> {
    fn begin(&mut self, machine: &mut Machine) {
        machine.keep_changes();
        if self.system == System::Aix {
            self.held = Some(Vec::new());
        }
    }

    fn sees_unchanged(&self) -> bool {
        self.source.is_some() || self.counters.has_any()
    }

    fn hook(&mut self, timed: &TimedEvent<'_>, cpu: EventCpu, machine: &mut Machine, rules: &ContextRules) {
        if !machine.is_unchanged() {
            self.apply(machine, rules);
            if let Some(at) = cpu.index(machine) {
                self.sync(at, timed.time.elapsed_ns, machine, rules);
            }
            self.release_proven(machine, rules);
        }
        self.counters.hook(timed, &mut self.slices);
        if let Some(source) = &mut self.source {
            source.advance(timed);
            self.pairs.hook(timed, cpu, machine, rules, source, &mut self.slices);
            self.instants.hook(timed, source, &mut self.slices);
        }
    }

    fn record(
        &mut self,
        record: &KevRecord<'_>,
        now: u64,
        machine: &mut Machine,
        at: usize,
        rules: &dyn InterruptRules,
    ) {
        self.apply(machine, rules);
        self.sync(at, now, machine, rules);
        self.release_proven(machine, rules);
        self.pairs.record(record, now, machine, at, &mut self.slices);
        self.counters.record(record, now, machine, at, &mut self.slices);
        self.instants.record(record, now, machine, at, &mut self.slices);
    }

    fn finish(&mut self, machine: &mut Machine, end: u64, rules: &dyn InterruptRules) {
        self.apply(machine, rules);
        if self.held.is_some() {
            self.release(machine.has_dispatch());
        }
        for slot in 0..self.threads.len() {
            if let Some(tracks) = self.threads[slot].filter(|tracks| tracks.has_call) {
                let ending = if tracks.cut.is_some() { &self.ends.cut } else { &self.ends.open };
                self.slices.end(tracks.calls, end, ending);
            }
        }
        self.slices.end_all(end);
        // A process may have got its name after its first slice.
        let mut groups: Vec<_> = std::mem::take(&mut self.groups).into_iter().collect();
        groups.sort();
        for (process, (group, name)) in groups {
            let last = group_name(process, machine);
            if last != name {
                self.slices.sink.group(group, &last);
            }
        }
        for slot in 0..self.threads.len() {
            let Some(tracks) = self.threads[slot] else { continue };
            if machine.thread_at(slot as ThreadSlot).name.is_some() {
                let name = self.thread_name(slot as ThreadSlot, machine);
                for (track, suffix) in [(tracks.calls, &b""[..]), (tracks.states, b" state")] {
                    if track != NO_TRACK {
                        self.slices.sink.track(track, TrackKind::Slices, &[&name[..], suffix].concat());
                    }
                }
            }
        }
    }
}
