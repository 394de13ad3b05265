//! Properties of the text that a verified program prints.
//!
//! Events are printed into one shared buffer, and each one alone. Both texts of an event must be equal: they must not
//! depend on other events, their text, registers they wrote, or old bytes in the buffers.

use crate::programs::{ProgramDraft, Routine, strings_len, table_lens};
use std::sync::LazyLock;
use tfbc_snapshots::generate::{Facts, Rng, facts};
use tfbc_vm::{
    COLUMNS, Context, Event, EventInput, FlatRoutine, Hook, HookRow, Instr, Layout, Limits, LineStart, Machine,
    Observer, Op, Outcome, Program, RecordHeader, Run, Space, Step, TextBuf, Timers, list_instr,
};

/// Bytes that may follow the text limit: ` [limit]` and the line end.
const AFTER_LIMIT: usize = 9;
/// Bytes of a selector's text, which does not count towards the limit.
const SELECTOR: usize = 1 << 20;
/// Capacity of a buffer beyond its text.
const SLACK: usize = 512;
/// Capacity of a buffer for all but the longest texts.
const ROOM: usize = 8000;
/// Capacity of a new buffer.
const FIRST_ROOM: usize = 3600;
/// Old bytes in a buffer after its text.
static STALE: [u8; ROOM] = [0xaa; ROOM];
static OTHER_STALE: [u8; ROOM] = [0x55; ROOM];
/// Words per entry of a BITFLAGS table.
const FLAG_WORDS: usize = 5;
/// Bytes of text per step.
const STEP: usize = 32;
/// Bytes of text that an instruction prints for free.
const FREE: usize = 256;
/// Number of entries of a program to run.
const ENTRIES: usize = 3;
/// Maximum number of bytes that an event contains because its routine needs them.
const MOST_NEEDED: u32 = 4096;
/// Maximum number of events in a case.
const EVENTS: usize = 6;

/// Raw material for events: numbers of every width, texts, floats.
static MATERIAL: LazyLock<Vec<u8>> = LazyLock::new(|| {
    const EXTREMES: [u64; 6] = [1, 0x7f, 0xffff, 0x8000_0000, i64::MIN as u64, u64::MAX];
    let rng = &mut Rng::new(1);
    let mut bytes = Vec::new();
    let texts: [&[u8]; 8] =
        [b"hello\0", b"a", b"/bin/ksh\0", b"\x05hello", b"two words\0", b"READ\0", b"b\0c\n", b"\xe9t\x7f"];
    while bytes.len() < 12 << 10 {
        match rng.below(8) {
            0 => bytes.extend(rng.pick(&EXTREMES).to_be_bytes()),
            1 => bytes.extend((rng.below(300) as u32).to_be_bytes()),
            2 => bytes.extend((rng.below(300) as u16).to_le_bytes()),
            3 => bytes.extend([0; 5]),
            4 => bytes.extend((rng.below(1000) as f64 / 8.0).to_be_bytes()),
            _ => bytes.extend(*rng.pick(&texts)),
        }
    }
    bytes
});

/// Contexts that differ in every value.
static CONTEXTS: LazyLock<Vec<Facts>> = LazyLock::new(|| (0..8).map(|seed| facts(&mut Rng::new(seed))).collect());

/// An event with everything its text depends on.
struct OracleJob<'p> {
    entry: Hook<'p>,
    bytes: Vec<u8>,
    wide: bool,
    record: Option<RecordHeader>,
    time_ns: u64,
    offset: u64,
    context: Context<'static>,
    layout: Layout,
    columns: &'static [u8],
}

impl<'p> OracleJob<'p> {
    /// Start of the event's line in a buffer of the given length.
    fn start(&self, line: usize) -> LineStart {
        LineStart { layout: self.layout, line }
    }

    fn new(entry: Hook<'p>, need: usize, rng: &mut Rng) -> Self {
        let len = match rng.below(16) {
            0 => 0,
            1 => rng.below(9),
            2 => need.saturating_sub(1),
            3..=6 => need,
            15 => need + rng.below(1200),
            _ => need + rng.below(33),
        };
        let mut bytes = MATERIAL[rng.below(MATERIAL.len() / 2)..][..len].to_vec();
        let (wide, other) = (rng.below(2) == 1, rng.below(2) == 1);
        let of_hook = matches!(entry.space, Space::Hook | Space::HookFields);
        let record = (!of_hook).then_some(RecordHeader { event: entry.id & 1023, big_endian: other });
        if record.is_none() {
            let head = match (wide, other) {
                (false, false) => [(entry.id >> 8) as u8, entry.id as u8 & 0xf0 | 9],
                (false, true) => [(entry.id >> 8) as u8, entry.id as u8 & 0xf0 | 8],
                (true, generic) => [if generic { 0x40 } else { 0 }, 0],
            };
            bytes.iter_mut().zip(head).for_each(|(byte, of_head)| *byte = of_head);
            if wide {
                bytes.iter_mut().skip(4).zip(entry.id.to_be_bytes()).for_each(|(byte, of_id)| *byte = of_id);
            }
        }
        OracleJob {
            entry,
            bytes,
            wide,
            record,
            time_ns: rng.below(100) as u64 * 50_000,
            offset: rng.below(256) as u64 * 0x1234,
            context: CONTEXTS[rng.below(CONTEXTS.len())].context(),
            layout: Layout { first: *rng.pick(&[0, 0, 1, 5, 33, 40]), further: *rng.pick(&[0, 9, 33]) },
            columns: rng.pick::<&[u8]>(&[b"", b"010 ", b"010   ", b"columns\n"]),
        }
    }

    fn event(&self) -> Event<'_> {
        let OracleJob { bytes, wide, record, time_ns, offset, .. } = self;
        Event { bytes, wide: *wide, record: *record, time_ns: *time_ns, offset: *offset }
    }
}

/// A program with its events and their limits.
struct FuzzCase<'p> {
    program: &'p Program<'p>,
    limits: Limits,
    jobs: Vec<OracleJob<'p>>,
    blob: &'p [u8],
    /// Text at the start of the shared buffer.
    before: &'static [u8],
}

/// Text of an event with its columns, and its outcome.
type PrintedText = (Vec<u8>, Outcome);

/// Checks the text of a verified program for events that `rng` chooses. `rng` also decides about the slower
/// comparisons.
pub fn check(program: &Program<'_>, blob: &[u8], rng: &mut Rng) {
    let case = FuzzCase::new(program, blob, rng);
    let expected = case.each_alone();
    case.in_one_buffer(&expected);
    match rng.below(8) {
        0 => case.check_observed(&expected),
        1 => case.lazily(blob, &expected, rng.below(2) == 1),
        2 => case.between_others(&expected),
        3 => case.flat(&expected),
        4 if rng.below(4) == 0 => case.listed(),
        _ => {}
    }
}

/// Runs a refused program: some of its routines may be valid.
pub fn check_refused(blob: &[u8], rng: &mut Rng) {
    let Ok(program) = Program::open_lazily(blob) else { return };
    let case = FuzzCase::new(&program, blob, rng);
    let (mut machine, mut timers) = (Machine::new(case.limits), Timers::new());
    let mut run = machine.start(&program, &mut timers);
    for job in &case.jobs {
        let mut out = TextBuf::new();
        let outcome = run.event(
            job.entry.index,
            EventInput { event: &job.event(), context: &job.context },
            job.start(0),
            &mut out,
        );
        case.keeps_limits(job, out.as_bytes(), outcome);
    }
    if rng.below(8) == 0 {
        program.disassemble(None);
    }
}

impl<'p> FuzzCase<'p> {
    fn new(program: &'p Program<'p>, blob: &'p [u8], rng: &mut Rng) -> Self {
        let limits = Limits {
            turns: *rng.pick(&[0, 3, 40, 300]),
            steps: *rng.pick(&[0, 20, 100, 1000, 1 << 16]),
            text: *rng.pick(&[0, 1, 7, 40, 200, 1000, 3000, 3000]),
        };
        let entries = entries(program, rng);
        let job = |rng: &mut Rng| {
            let (entry, need) = *entries.get(rng.below(entries.len()))?;
            Some(OracleJob::new(entry, need, rng))
        };
        let jobs = (0..2 + rng.below(EVENTS - 1)).map_while(|_| job(rng)).collect();
        let before = *rng.pick(&[b"" as &[u8], b"ANOTHER event\n", b"  ", b"No line end"]);
        FuzzCase { program, limits, jobs, blob, before }
    }

    /// Prints each event with the checked interpreter, into a separate buffer and after different events. An event sees
    /// only timers of earlier events that run even if they are filtered out.
    fn each_alone(&self) -> Vec<PrintedText> {
        let (mut machine, mut timers, mut out) = (Machine::checked(self.limits), Timers::new(), TextBuf::new());
        let (mut all, mut most) = (vec![PrintedText::default(); self.jobs.len()], 0);
        let carries_timers = |job: &OracleJob<'_>| job.record.is_none() && job.entry.has_effects;
        let (first, rest): (Vec<_>, Vec<_>) = self.jobs.iter().zip(&mut all).partition(|(job, _)| carries_timers(job));
        for (job, printed) in first.into_iter().chain(rest.into_iter().rev()) {
            self.fill(&mut out, &OTHER_STALE);
            out.push(job.columns);
            let run = tfbc_vm::Job {
                event: &job.event(),
                context: &job.context,
                timers: if carries_timers(job) { &mut timers } else { &mut Timers::new() },
                layout: job.layout,
                line: 0,
                out: &mut out,
            };
            let outcome = machine.run(self.program, job.entry.index, run);
            self.keeps_limits(job, out.as_bytes(), outcome);
            // The buffer keeps the room that an earlier event needed.
            if out.capacity() > most {
                most = self.most_room(job, &out);
                assert!(out.capacity() <= most, "an event takes {} bytes: {}", out.capacity(), self.shown(job));
            }
            assert!(!outcome.refused, "a verified program is refused as it runs");
            *printed = (out.as_bytes().to_vec(), outcome);
        }
        all
    }

    /// Checks that the text of an event keeps its limits.
    fn keeps_limits(&self, job: &OracleJob<'_>, text: &[u8], outcome: Outcome) {
        if outcome.refused {
            return;
        }
        let n = text.len().saturating_sub(job.columns.len());
        // Margins do not count.
        let n_further = text.iter().filter(|byte| **byte == b'\n').count();
        let margins = usize::from(job.layout.first) + n_further * usize::from(job.layout.further);
        assert!(
            n <= self.limits.text as usize + AFTER_LIMIT + margins,
            "an event prints {n} bytes: {}",
            self.shown(job)
        );
        assert_eq!(
            outcome.skipped,
            text.is_empty(),
            "what is skipped prints nothing, all else a line: {}",
            self.shown(job)
        );
        assert!(outcome.skipped || text.ends_with(b"\n"), "an event's last line ends: {}", self.shown(job));
        assert!(!outcome.limited || text.ends_with(b" [limit]\n"), "a limited event says so: {}", self.shown(job));
        let stops = outcome.stop && job.record.is_none();
        assert!(!stops || job.entry.has_effects, "`stop` is an effect beyond text: {}", self.shown(job));
    }

    /// Clears a buffer, and fills its capacity with `bytes`.
    fn fill(&self, out: &mut TextBuf, bytes: &[u8; ROOM]) {
        out.clear();
        out.push(&bytes[..if self.limits.text > 1000 { ROOM } else { FIRST_ROOM }]);
        out.clear();
    }

    fn instrs(&self) -> impl Iterator<Item = &Instr> {
        self.program.routines().flat_map(|routine| routine.code)
    }

    /// Most capacity that a buffer may have after an event: a text at its limit and one instruction's output.
    fn most_room(&self, job: &OracleJob<'_>, out: &TextBuf) -> usize {
        let Context { svc, exec_path, log_file, .. } = job.context;
        let names = [svc, exec_path, log_file].map(<[u8]>::len).iter().sum::<usize>();
        let piece = strings_len(self.blob) + 4 * job.bytes.len() + names + SLACK;
        let selects = self.instrs().any(|instr| instr.op == Op::Mark as u8);
        let selector = if selects { SELECTOR } else { 0 };
        let most = out.len() + self.limits.text as usize + selector + 2 * piece;
        most.max(ROOM + SLACK).next_power_of_two()
    }

    /// Prints all events in one run of the fast machine, into one buffer.
    fn in_one_buffer(&self, expected: &[PrintedText]) {
        let (mut machine, mut timers) = (Machine::new(self.limits), Timers::new());
        let mut shared = SharedText::new(self);
        let events: Vec<_> = self.jobs.iter().map(OracleJob::event).collect();
        let mut run = machine.start(self.program, &mut timers);
        for ((job, event), expected) in self.jobs.iter().zip(&events).zip(expected) {
            shared.print(job, expected, |line, out| {
                out.push(job.columns);
                run.event(job.entry.index, EventInput { event, context: &job.context }, job.start(line), out)
            });
        }
    }

    /// Prints all events in one run of a program. Opening it verified only the code that prints text, or no code.
    fn lazily(&self, blob: &[u8], expected: &[PrintedText], looked_up: bool) {
        let open = if self.jobs.len().is_multiple_of(2) { Program::open_for_text } else { Program::open_lazily };
        let lazy = open(blob).expect("what is verified as a whole is opened lazily");
        let (mut machine, mut timers) = (Machine::new(self.limits), Timers::new());
        let mut shared = SharedText::new(self);
        let events: Vec<_> = self.jobs.iter().map(OracleJob::event).collect();
        let mut run = machine.start(&lazy, &mut timers);
        for ((job, event), expected) in self.jobs.iter().zip(&events).zip(expected) {
            shared.print(job, expected, |line, out| {
                if looked_up {
                    return run_prepared(&mut run, &lazy, job, event, line, out);
                }
                out.push(job.columns);
                run.event(job.entry.index, EventInput { event, context: &job.context }, job.start(line), out)
            });
        }
    }

    /// Prints all events with events of another program in between.
    fn between_others(&self, expected: &[PrintedText]) {
        let (mut machine, mut timers) = (Machine::new(self.limits), Timers::new());
        let mut shared = SharedText::new(self);
        let events: Vec<_> = self.jobs.iter().map(OracleJob::event).collect();
        let other = Program::open(&OTHER).expect("a sound program");
        let theirs = OracleJob::new(other.hooks().next().expect("a hook"), 16, &mut Rng::new(0));
        let their_event = theirs.event();
        let mut run = machine.start(self.program, &mut timers);
        let mut their_out = TextBuf::new();
        for ((job, event), expected) in self.jobs.iter().zip(&events).zip(expected) {
            their_out.clear();
            run_prepared(&mut run, &other, &theirs, &their_event, 0, &mut their_out);
            shared.print(job, expected, |line, out| {
                if event.time_ns % 100_000 == 0 {
                    return run_prepared(&mut run, self.program, job, event, line, out);
                }
                out.push(job.columns);
                run.event(job.entry.index, EventInput { event, context: &job.context }, job.start(line), out)
            });
        }
    }

    /// Prints all events under an observer that counts every instruction.
    fn check_observed(&self, expected: &[PrintedText]) {
        let (tables, uncounted) = (table_lens(self.blob), self.instrs().count());
        let (mut machine, mut timers) = (Machine::new(self.limits), Timers::new());
        let mut shared = SharedText::new(self);
        let events: Vec<_> = self.jobs.iter().map(OracleJob::event).collect();
        let mut run = machine.start(self.program, &mut timers);
        for ((job, event), expected) in self.jobs.iter().zip(&events).zip(expected) {
            let mut meter = CostMeter {
                case: self,
                job,
                tables: &tables,
                uncounted,
                steps: 0,
                last: 0,
                len: 0,
                pads: false,
                turns: 0,
            };
            shared.print(job, expected, |line, out| {
                out.push(job.columns);
                run.observed(
                    job.entry.index,
                    EventInput { event, context: &job.context },
                    job.start(line),
                    out,
                    &mut meter,
                )
            });
        }
    }

    /// Prints all events with the flattened routine, if there is one.
    fn flat(&self, expected: &[PrintedText]) {
        for (job, (text, outcome)) in self.jobs.iter().zip(expected) {
            let event = job.event();
            let (is_bare, room) = (job.layout.first == 0, self.limits.text >= FlatRoutine::MAX_TEXT);
            let Some(flat) = self.program.flat_routine(&job.entry, event.env(), b"").filter(|_| is_bare && room) else {
                continue;
            };
            let mut out = TextBuf::new();
            self.fill(&mut out, &STALE);
            if flat.write([], event.bytes, &mut out) && out.len() > 1 {
                let expected = (&text[job.columns.len()..], false);
                assert_eq!((out.as_bytes(), outcome.truncated), expected, "what is laid out once: {}", self.shown(job));
            }
        }
    }

    fn listed(&self) {
        let n_instrs: usize = self.program.routines().map(|routine| routine.code.len()).sum();
        let listing = self.program.disassemble(None);
        assert!(listing.lines().count() >= n_instrs, "every instruction is listed");
    }

    /// Program and event, for the reader of a finding.
    #[cold]
    fn shown(&self, job: &OracleJob<'_>) -> String {
        let OracleJob { entry, bytes, wide, record, layout, .. } = job;
        let routines = self.program.disassemble(Some(entry));
        format!("{entry:?} {layout:?} {:?}\nwide {wide} {record:?} {bytes:02x?}\n{routines}", self.limits)
    }
}

/// Prints an event through a cached entry, after columns.
fn run_prepared<'r>(
    run: &mut Run<'r>,
    program: &'r Program<'r>,
    job: &'r OracleJob<'_>,
    event: &'r Event<'r>,
    line: usize,
    out: &mut TextBuf,
) -> Outcome {
    let begin = program.prepare(job.entry.index, event.env_index()).expect("a routine of a verified program");
    let columns = |room: &mut [u8; COLUMNS]| {
        room[..job.columns.len()].copy_from_slice(job.columns);
        job.columns.len()
    };
    let is_usual =
        run.run_prepared(&begin, &EventInput { event, context: &job.context }, job.start(line), columns, out);
    if is_usual { Outcome::default() } else { run.outcome() }
}

/// Buffer that several events are printed into, and its expected contents.
struct SharedText<'c> {
    case: &'c FuzzCase<'c>,
    out: TextBuf,
    expected: Vec<u8>,
}

impl<'c> SharedText<'c> {
    fn new(case: &'c FuzzCase<'_>) -> Self {
        let mut out = TextBuf::new();
        case.fill(&mut out, &STALE);
        out.push(case.before);
        SharedText { case, out, expected: case.before.to_vec() }
    }

    /// Prints an event with `print`, which receives the start of its line.
    fn print(
        &mut self,
        job: &OracleJob<'_>,
        expected: &PrintedText,
        print: impl FnOnce(usize, &mut TextBuf) -> Outcome,
    ) {
        let outcome = print(self.out.len(), &mut self.out);
        self.expected.extend_from_slice(&expected.0);
        let differs = self.out.as_bytes() != self.expected || comparable(outcome) != comparable(expected.1);
        if differs {
            panic!(
                "text depends on more than the event: {outcome:?}\n{}\n--- alone: {:?}\n{}\n---\n{}",
                self.out.as_bytes().escape_ascii(),
                expected.1,
                self.expected.escape_ascii(),
                self.case.shown(job)
            );
        }
    }
}

/// Program that leaves as much state as possible: registers, pointers, a soft blank, a call.
static OTHER: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut code: Vec<Instr> = (0..9).chain([1023]).map(|register| Instr::of(Op::Const, &[register, 7])).collect();
    code.extend([
        Instr::of(Op::PtrSet, &[5, 3]),
        Instr::of(Op::BaseTo, &[0]),
        Instr::new(Op::Newline),
        Instr::new(Op::Stop),
        Instr::new(Op::Soft),
        Instr::of(Op::Mark, &[1022]),
        Instr::of(Op::Call, &[0]),
    ]);
    let called = [Instr::of(Op::Take, &[0, 16]), Instr::new(Op::End)];
    let routine = |called, code: &[Instr]| Routine {
        need: 16,
        zeroed: 0,
        called,
        shape: 0,
        body: code.len() as u32,
        code: code.to_vec(),
    };
    let hook = HookRow { id: 0x0200, flags: 4, tab_origin: 3, routines: [1; 4], ..HookRow::default() };
    let routines = vec![routine(1, &called), routine(0, &code)];
    ProgramDraft { routines, hooks: vec![hook], ..ProgramDraft::default() }.write()
});

/// Outcome to compare. After a limit, later outcomes of the event are ignored.
fn comparable(outcome: Outcome) -> Outcome {
    let ended = outcome.limited;
    Outcome { truncated: outcome.truncated && !ended, divided_by_zero: outcome.divided_by_zero && !ended, ..outcome }
}

/// Some entries of a program with the bytes they need: its own, and a built-in one if there are any.
fn entries<'p>(program: &'p Program<'_>, rng: &mut Rng) -> Vec<(Hook<'p>, usize)> {
    let all = || Space::ALL.into_iter().flat_map(|space| program.entries(space));
    let own: Vec<_> = all().filter(|entry| !entry.builtin).collect();
    let built_in: Vec<_> = all().filter(|entry| entry.builtin).collect();
    let from = if own.len() > ENTRIES { rng.below(own.len() - ENTRIES) } else { 0 };
    let one = built_in.get(rng.below(built_in.len()));
    let some = own.into_iter().skip(from).take(ENTRIES).chain(one.copied());
    some.map(|entry| {
        let envs = entry.space.envs().into_iter();
        let need = envs.filter_map(|env| program.routine_of(&entry, env)).map(|routine| routine.need).max();
        (entry, need.unwrap_or(0).min(MOST_NEEDED) as usize)
    })
    .collect()
}

/// Counts the cost of an event, and panics if it exceeds its limits.
struct CostMeter<'c> {
    case: &'c FuzzCase<'c>,
    job: &'c OracleJob<'c>,
    /// Number of words per table.
    tables: &'c [usize],
    /// Maximum number of steps since the last jump, call or return, which no limit has counted yet.
    uncounted: usize,
    /// Steps of all executed instructions, and of the last one.
    steps: usize,
    last: usize,
    /// Bytes of text before the last instruction.
    len: usize,
    /// True if the last instruction printed padding, which costs no steps.
    pads: bool,
    turns: usize,
}

impl CostMeter<'_> {
    /// Steps of an instruction without its text: one, and the entries of its BITFLAGS table.
    fn steps_of(&self, instr: &Instr) -> usize {
        let flags = [Op::Flags, Op::FlagsAny, Op::FlagsList].map(|op| op as u8).contains(&instr.op);
        1 + if flags { self.tables[instr.c as usize] / FLAG_WORDS } else { 0 }
    }
}

impl Observer for CostMeter<'_> {
    fn before(&mut self, step: Step<'_>) {
        let FuzzCase { program, limits, .. } = self.case;
        let shown = || format!("{}\n{}", list_instr(step.instr, Some(program)), self.case.shown(self.job));
        if !self.pads {
            self.last += step.text.len().saturating_sub(self.len + FREE) / STEP;
        }
        self.len = step.text.len();
        self.pads = step.instr.op == Op::Text as u8;
        self.steps += self.last;
        let most = limits.steps as usize + self.uncounted + self.last;
        assert!(self.steps <= most, "{} steps before {}", self.steps, shown());
        assert!(self.turns <= limits.turns as usize + 1, "{} turns before {}", self.turns, shown());
        self.last = self.steps_of(step.instr);
        self.turns += usize::from([Op::Back, Op::Call].map(|op| op as u8).contains(&step.instr.op));
    }
}
