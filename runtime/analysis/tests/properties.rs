//! Properties on random traces of AIX, against a second implementation of the rules that keeps every interval.

use crate::traces::{PseudoRandom, RecordedHook, call, check_conservation, dispatch, hook, numbers, stream, summary};
use std::collections::BTreeMap;
use tfbc::{Notice, Trace};
use tfbc_analysis::{AnalysisOptions, summarise};

/// Category of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    Unknown,
    Lost,
    Off,
    Dispatch,
    IdleDispatch,
    Flih,
    Slih,
    Idle,
    User,
    Call,
    /// A thread ran in an unknown mode.
    Mode,
}

impl Category {
    const ALL: [(Category, &'static str); 11] = [
        (Category::Unknown, "unknown_ns"),
        (Category::Lost, "lost_ns"),
        (Category::Off, "off_ns"),
        (Category::Dispatch, "dispatch_ns"),
        (Category::IdleDispatch, "idle_dispatch_ns"),
        (Category::Flih, "flih_ns"),
        (Category::Slih, "slih_ns"),
        (Category::Idle, "idle_ns"),
        (Category::User, "application_ns"),
        (Category::Call, "syscall_ns"),
        (Category::Mode, "mode_ns"),
    ];

    fn is_name(self) -> bool {
        !matches!(self, Category::Unknown | Category::Lost | Category::Off | Category::Mode)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Interval {
    cpu: usize,
    from: u64,
    to: u64,
    label: Category,
    /// True if the interval starts with a dispatch and ends with a gap or the end of the trace.
    is_exempt: bool,
}

const IDLE_PID: u64 = 516;

/// Simulates a system. Returns its events, and the intervals that it really went through.
pub fn system(noise: &mut PseudoRandom, n_cpus: usize, n_events: usize) -> (Vec<RecordedHook>, Vec<Interval>) {
    #[derive(Clone)]
    struct Cpu {
        thread: u64,
        frames: Vec<Category>,
        since: u64,
        resumes: bool,
    }
    let n_threads = n_cpus as u64 * 2 + 1;
    let idle = |cpu: usize| 1000 + cpu as u64;
    let mut cpus: Vec<Cpu> =
        (0..n_cpus).map(|cpu| Cpu { thread: idle(cpu), frames: vec![], since: 0, resumes: false }).collect();
    let mut calls: BTreeMap<u64, &'static str> = BTreeMap::new();
    let (mut events, mut truth) = (vec![hook(0, 0x001, 0, 9, &[])], Vec::new());
    let mut now = 0;
    let mut fresh: Vec<Option<bool>> = vec![None; n_cpus];
    while events.len() < n_events {
        now += noise.below(20);
        let at = noise.below(n_cpus as u64) as usize;
        let state = cpus[at].clone();
        let label = match (state.frames.last(), state.resumes) {
            (Some(label), _) => *label,
            (None, true) => {
                if fresh[at] == Some(true) {
                    Category::IdleDispatch
                } else {
                    Category::Dispatch
                }
            }
            (None, false) if state.thread >= 1000 => Category::Idle,
            (None, false) if calls.contains_key(&state.thread) => Category::Call,
            (None, false) => Category::User,
        };
        truth.push(Interval { cpu: at, from: state.since, to: now, label, is_exempt: false });
        cpus[at].since = now;
        let (cpu, tid) = (at as u16, state.thread);
        if std::mem::take(&mut cpus[at].resumes) {
            events.push(hook(now, 0x200, cpu, tid, &[0]));
            continue;
        }
        let choice = noise.below(10);
        if state.frames.last() == Some(&Category::Slih) {
            cpus[at].frames.pop();
            events.push(hook(now, 0x103, cpu, tid, &[]));
        } else if choice < 3 {
            // A thread that runs on no CPU, or the CPU's idle thread.
            let mut next = 1 + noise.below(n_threads);
            if noise.below(4) == 0 || cpus.iter().any(|cpu| cpu.thread == next) {
                next = idle(at);
            }
            cpus[at].thread = next;
            cpus[at].frames.clear();
            cpus[at].resumes = noise.below(3) == 0;
            let is_idle = next >= 1000;
            fresh[at] = Some(is_idle);
            let (id, pid) = if is_idle { (0x10C, IDLE_PID) } else { (0x106, next / 2 + 1) };
            events.push(dispatch(now, id, cpu, pid, next));
        } else if !state.frames.is_empty() {
            if choice < 6 {
                cpus[at].frames.push(Category::Slih);
                events.push(hook(now, 0x102, cpu, tid, &[0x100 + choice, 0]));
            } else {
                cpus[at].frames.clear();
                events.push(hook(now, 0x200, cpu, tid, &[0]));
            }
        } else if choice < 5 {
            cpus[at].frames.push(Category::Flih);
            events.push(hook(now, 0x100, cpu, tid, &[1 + choice, 0]));
        } else if state.thread >= 1000 || choice == 5 {
            // An event without rules: it only shows that its thread runs.
            events.push(hook(now, 0x15B, cpu, tid, &[1]));
        } else if let Some(name) = calls.remove(&tid) {
            events.push(RecordedHook { sub: cpu, ..call(now, 0x104, tid, name) });
        } else {
            let name = ["kread", "kwrite", "kopen"][noise.below(3) as usize];
            calls.insert(tid, name);
            events.push(RecordedHook { sub: cpu, ..call(now, 0x101, tid, name) });
        }
    }
    (events, truth)
}

/// Removes runs of events. A mark replaces the last event of a run.
fn cut(noise: &mut PseudoRandom, mut events: Vec<RecordedHook>, n_cuts: u64) -> Vec<RecordedHook> {
    for _ in 0..n_cuts {
        let from = 1 + noise.below(events.len() as u64 - 1) as usize;
        let to = (from + 1 + noise.below(12) as usize).min(events.len());
        let t = events[to - 1].t;
        events.splice(from..to, [hook(t, 0x006, 0, 9, &[0, (to - from) as u64])]);
    }
    events
}

/// Second implementation of the rules. It keeps a list of all intervals, and corrects them when it learns more.
#[derive(Default)]
struct Naive {
    cpus: Vec<NaiveCpu>,
    threads: BTreeMap<u64, NaiveThread>,
    intervals: Vec<Interval>,
    has_dispatch: bool,
    has: BTreeMap<u16, bool>,
    n_contradictions: i128,
    last: u64,
    is_off: bool,
}

#[derive(Default, Clone)]
struct NaiveCpu {
    since: u64,
    thread: Option<u64>,
    known: bool,
    frames: Vec<Category>,
    fresh: Option<bool>,
    dark: Option<Category>,
}

#[derive(Default)]
struct NaiveThread {
    mode: Option<Category>,
    is_idle: bool,
    /// Intervals of an unknown mode.
    undecided: Vec<usize>,
}

impl Naive {
    fn charge(&mut self, at: usize, now: u64, resumes: bool, contradicts: bool, ends: bool) {
        let cpu = &mut self.cpus[at];
        if now <= cpu.since {
            return;
        }
        let from = std::mem::replace(&mut cpu.since, now);
        let thread = cpu.thread.map(|thread| &*self.threads.entry(thread).or_default());
        let mut undecided = false;
        let label = if let Some(dark) = cpu.dark {
            dark
        } else if contradicts {
            Category::Unknown
        } else if let (Some(idle), true, true) = (cpu.fresh, resumes, cpu.frames.is_empty()) {
            if idle { Category::IdleDispatch } else { Category::Dispatch }
        } else if let Some(frame) = cpu.frames.last() {
            *frame
        } else if let (true, Some(thread)) = (cpu.known, thread) {
            undecided = !thread.is_idle && thread.mode.is_none();
            if thread.is_idle { Category::Idle } else { thread.mode.unwrap_or(Category::Mode) }
        } else {
            Category::Unknown
        };
        let is_exempt = cpu.fresh.is_some() && ends;
        if let (true, Some(thread)) = (undecided, cpu.thread) {
            let index = self.intervals.len();
            self.threads.entry(thread).or_default().undecided.push(index);
        }
        self.intervals.push(Interval { cpu: at, from, to: now, label, is_exempt });
    }

    fn contradict(&mut self, at: usize, now: u64) {
        self.charge(at, now, false, true, false);
        self.n_contradictions += 1;
        let cpu = &mut self.cpus[at];
        *cpu = NaiveCpu { since: cpu.since, dark: cpu.dark, ..NaiveCpu::default() };
    }

    fn come(&mut self, at: usize, tid: u64, now: u64) {
        for other in (0..self.cpus.len()).filter(|other| *other != at) {
            if self.cpus[other].thread == Some(tid) {
                self.contradict(other, now);
            }
        }
        self.cpus[at].thread = Some(tid);
    }

    fn decide(&mut self, tid: u64, label: Category) {
        for at in std::mem::take(&mut self.threads.entry(tid).or_default().undecided) {
            self.intervals[at].label = label;
        }
    }

    fn begin(&mut self, now: u64, dark: Category) {
        for at in 0..self.cpus.len() {
            self.charge(at, now, false, false, true);
            let cpu = &mut self.cpus[at];
            *cpu = NaiveCpu { since: cpu.since, dark: Some(dark), ..NaiveCpu::default() };
        }
        for thread in self.threads.values_mut() {
            thread.mode = None;
            thread.undecided.clear();
        }
    }

    fn end(&mut self, now: u64, dark: Option<Category>) {
        for at in 0..self.cpus.len() {
            self.charge(at, now, false, false, false);
            let cpu = &mut self.cpus[at];
            *cpu = NaiveCpu { since: cpu.since, dark, ..NaiveCpu::default() };
        }
    }

    fn take(&mut self, event: &RecordedHook) {
        let (now, tid) = (event.t, event.tid);
        let last = std::mem::replace(&mut self.last, now);
        match event.id {
            0x006 => {
                self.begin(last, Category::Lost);
                return self.end(now, self.is_off.then_some(Category::Off));
            }
            0x002 => {
                if !std::mem::replace(&mut self.is_off, true) {
                    self.begin(now, Category::Off);
                }
                return;
            }
            _ if std::mem::take(&mut self.is_off) => self.end(now, None),
            _ => {}
        }
        if event.id == 0x001 {
            return;
        }
        self.has.insert(event.id, true);
        let is_call = matches!(event.id, 0x101 | 0x104 | 0x15B);
        let is_dispatch = matches!(event.id, 0x106 | 0x10C);
        let at = if self.cpus.len() == 1 {
            Some(0)
        } else if is_call {
            self.cpus.iter().position(|cpu| cpu.thread == Some(tid))
        } else {
            Some(event.sub as usize)
        };
        if let (Some(at), false) = (at, is_dispatch) {
            match self.cpus[at].thread {
                Some(known) if known != tid => {
                    self.contradict(at, now);
                    self.come(at, tid, now);
                }
                known => {
                    self.charge(at, now, event.id == 0x200, false, false);
                    if known.is_none() {
                        self.come(at, tid, now);
                    }
                }
            }
            self.cpus[at].fresh = None;
        }
        match event.id {
            0x106 | 0x10C => {
                let (at, idle) = (event.sub as usize, event.id == 0x10C);
                self.has_dispatch |= !idle;
                self.charge(at, now, false, false, false);
                self.threads.entry(tid).or_default().is_idle |= idle;
                self.cpus[at].thread = None;
                self.come(at, tid, now);
                let cpu = &mut self.cpus[at];
                (cpu.frames, cpu.known, cpu.fresh) = (vec![], true, Some(idle));
            }
            0x100 => self.cpus[event.sub as usize].frames.push(Category::Flih),
            0x102 => self.cpus[event.sub as usize].frames.push(Category::Slih),
            0x103 => {
                let frames = &mut self.cpus[event.sub as usize].frames;
                if let Some(from) = frames.iter().rposition(|frame| *frame == Category::Slih) {
                    frames.truncate(from);
                }
            }
            0x200 => {
                let cpu = &mut self.cpus[event.sub as usize];
                (cpu.frames, cpu.known) = (vec![], true);
            }
            0x101 | 0x104 => {
                let (before, after) =
                    if event.id == 0x101 { (Category::User, Category::Call) } else { (Category::Call, Category::User) };
                self.decide(tid, before);
                self.threads.entry(tid).or_default().mode = Some(after);
                if let Some(at) = at.filter(|at| self.cpus[*at].frames.is_empty()) {
                    self.cpus[at].known = true;
                }
            }
            _ => {}
        }
    }

    fn run(n_cpus: usize, events: &[RecordedHook]) -> Self {
        let mut naive = Self { cpus: vec![NaiveCpu::default(); n_cpus], ..Self::default() };
        events.iter().for_each(|event| naive.take(event));
        let end = naive.last;
        (0..n_cpus).for_each(|at| naive.charge(at, end, false, false, true));
        let has = |id: u16| naive.has.contains_key(&id);
        let has_dispatch = naive.has_dispatch;
        let (flih, slih, modes) = (has(0x200), has(0x103), has(0x101) && has(0x104));
        for interval in &mut naive.intervals {
            let is_dark = matches!(interval.label, Category::Lost | Category::Off);
            match interval.label {
                Category::Flih if !flih => interval.label = Category::Unknown,
                Category::Slih if !slih => interval.label = Category::Unknown,
                Category::User | Category::Call if !modes => interval.label = Category::Mode,
                _ => {}
            }
            if !has_dispatch && !is_dark {
                interval.label = Category::Unknown;
            }
        }
        naive
    }
}

/// Rows of the section of CPUs, computed without the others.
pub fn cpus_alone(bytes: Vec<u8>) -> BTreeMap<String, BTreeMap<String, i128>> {
    let options = AnalysisOptions { sections: Some(vec![String::from("cpu")]), ..AnalysisOptions::default() };
    let mut trace = Trace::from_bytes("t", bytes).unwrap();
    let summary = summarise(&mut trace, &options, &mut |_: &Notice| {}).unwrap();
    numbers(summary.section("cpu").unwrap(), &["cpu"])
}

/// Compares the state machine with the second implementation, whose intervals it returns.
fn compare(n_cpus: usize, events: &[RecordedHook]) -> Vec<Interval> {
    let summary = summary(stream(n_cpus as u32, events), &AnalysisOptions::default());
    check_conservation(&summary);
    let naive = Naive::run(n_cpus, events);
    let rows = numbers(summary.section("cpu").unwrap(), &["cpu"]);
    assert_eq!(cpus_alone(stream(n_cpus as u32, events)), rows, "the section alone takes a faster path\n{events:#?}");
    for cpu in 0..n_cpus {
        for (label, name) in Category::ALL {
            let intervals = naive.intervals.iter().filter(|interval| interval.cpu == cpu && interval.label == label);
            let sum: u64 = intervals.map(|interval| interval.to - interval.from).sum();
            let row = &rows[&cpu.to_string()];
            assert_eq!(row[name], i128::from(sum), "{name} of CPU {cpu}\n{row:?}\n{events:#?}");
        }
    }
    let head = numbers(summary.section("head").unwrap(), &["system"]);
    assert_eq!(head["aix"]["contradictions"], naive.n_contradictions);
    naive.intervals
}

/// Asserts that every interval with a known category has its true category. Returns the time of these intervals.
fn refines(found: &[Interval], truth: &[Interval]) -> u64 {
    let mut named = 0;
    for interval in found.iter().filter(|interval| interval.label.is_name() && !interval.is_exempt) {
        for own in truth.iter().filter(|own| own.cpu == interval.cpu) {
            let common = own.to.min(interval.to).saturating_sub(own.from.max(interval.from));
            if common > 0 {
                assert_eq!(interval.label, own.label, "{interval:?} {own:?}");
                named += common;
            }
        }
    }
    named
}

#[test]
fn whole_traces_are_summarised_as_they_were() {
    let mut named = 0;
    for seed in 0..300 {
        let mut noise = PseudoRandom(seed);
        let n_cpus = 1 + noise.below(3) as usize;
        let (events, truth) = system(&mut noise, n_cpus, 80);
        named += refines(&compare(n_cpus, &events), &truth);
    }
    assert!(named > 200_000, "{named}");
}

#[test]
fn removed_events_never_give_time_another_name() {
    let mut named = 0;
    for seed in 0..1500 {
        let mut noise = PseudoRandom(seed);
        let n_cpus = 1 + noise.below(3) as usize;
        let (events, truth) = system(&mut noise, n_cpus, 80);
        let n_cuts = 1 + noise.below(4);
        let events = cut(&mut noise, events, n_cuts);
        named += refines(&compare(n_cpus, &events), &truth);
    }
    assert!(named > 300_000, "{named}");
}

#[test]
fn meaningless_events_follow_the_same_rules() {
    for seed in 0..1500 {
        let mut noise = PseudoRandom(seed);
        let n_cpus = 1 + noise.below(3);
        let mut now = 0;
        let mut events = vec![hook(0, 0x001, 0, 9, &[])];
        for _ in 0..60 {
            now += noise.below(9);
            let (cpu, tid) = (noise.below(n_cpus) as u16, 1 + noise.below(5));
            let id = [0x100, 0x101, 0x102, 0x103, 0x104, 0x106, 0x106, 0x10C, 0x200, 0x15B, 0x001, 0x002, 0x006];
            events.push(match id[noise.below(if seed % 2 == 0 { 10 } else { 13 }) as usize] {
                id @ (0x101 | 0x104) => call(now, id, tid, "kread"),
                id @ (0x106 | 0x10C) => dispatch(now, id, cpu, 1, tid),
                id => hook(now, id, cpu, tid, &[1, 2]),
            });
        }
        compare(n_cpus as usize, &events);
    }
}

#[test]
fn categories_sum_to_the_span_for_any_input() {
    for seed in 0..600 {
        let mut noise = PseudoRandom(seed);
        let (events, _) = system(&mut noise, 2, 60);
        let mut bytes = stream(noise.below(3) as u32, &events);
        for _ in 0..noise.below(6) {
            let at = 4 + noise.below(bytes.len() as u64 - 4) as usize;
            bytes[at] = noise.below(256) as u8;
        }
        bytes.truncate(bytes.len() - noise.below(40) as usize);
        let last = 20 * 60;
        let mut bound = || (noise.below(3) > 0).then(|| noise.below(last));
        let (one, other) = (bound(), bound());
        let (from, until) = match (one, other) {
            (Some(one), Some(other)) => (Some(one.min(other)), Some(one.max(other))),
            bounds => bounds,
        };
        check_conservation(&summary(bytes, &AnalysisOptions { from, until, ..AnalysisOptions::default() }));
    }
}

#[test]
fn two_spans_sum_to_the_whole() {
    for seed in 0..200 {
        let mut noise = PseudoRandom(seed);
        let (events, _) = system(&mut noise, 2, 80);
        let between = events[40].t;
        let cpu = |from, until| {
            let summary = summary(stream(2, &events), &AnalysisOptions { from, until, ..AnalysisOptions::default() });
            numbers(summary.section("cpu").unwrap(), &["cpu"]).remove("all").unwrap()
        };
        let early = events.iter().take_while(|event| event.t <= between).map(|event| event.id).collect::<Vec<_>>();
        if [0x106, 0x103, 0x200].iter().any(|id| !early.contains(id)) {
            continue;
        }
        let (first, second, whole) = (cpu(None, Some(between)), cpu(Some(between), None), cpu(None, None));
        for name in ["unknown_ns", "lost_ns", "off_ns", "flih_ns", "slih_ns", "span_ns"] {
            assert_eq!(first[name] + second[name], whole[name], "{name} {seed}");
        }
    }
}
