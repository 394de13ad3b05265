//! Entries of a program that print events, by the fast loop and by its checked twin.

use tfbc_snapshots::generate::{Facts, Rng, event, facts};
use tfbc_vm::{Event, Hook, Job, Layout, Limits, Machine, Outcome, Program, Record, Space, TextBuf, Timers};

/// What an event may cost.
pub const LIMITS: Limits = Limits { turns: 2000, steps: 1 << 20, text: 10_000 };
/// Bytes that a report may have behind its text limit: ` [limit]` and the line's end.
const BEHIND_LIMIT: usize = 16;
/// Entries of one program that are run.
const ENTRIES: usize = 6;
/// Events for each of them.
const EVENTS: usize = 3;
/// One of so many programs is listed, which takes longer than to run it.
const LISTED: usize = 8;

/// One event of an entry.
struct Owned {
    bytes: Vec<u8>,
    wide: bool,
    record: Option<Record>,
    time_ns: u64,
    offset: u64,
}

impl Owned {
    fn of(entry: &Hook<'_>, rng: &mut Rng) -> Self {
        if entry.space == Space::Hook {
            let event = event(rng, entry.id);
            return Owned {
                bytes: event.bytes,
                wide: event.wide,
                record: None,
                time_ns: event.time_ns,
                offset: event.offset,
            };
        }
        let bytes = (0..rng.below(96)).map(|_| rng.below(256) as u8).collect();
        let record = Record { event: entry.id & 1023, big_endian: rng.chance(50) };
        Owned { bytes, wide: rng.chance(50), record: Some(record), time_ns: 0, offset: 0 }
    }

    fn event(&self) -> Event<'_> {
        let Owned { bytes, wide, record, time_ns, offset } = self;
        Event { bytes, wide: *wide, record: *record, time_ns: *time_ns, offset: *offset }
    }
}

/// A machine with what it carries from event to event.
struct Printer<'p, 'b> {
    program: &'p Program<'b>,
    machine: Machine,
    timers: Timers,
    out: TextBuf,
}

impl<'p, 'b> Printer<'p, 'b> {
    fn new(program: &'p Program<'b>, machine: Machine) -> Self {
        Printer { program, machine, timers: Timers::new(), out: TextBuf::new() }
    }

    /// What an entry prints for an event. It keeps to the limits.
    fn print(&mut self, entry: &Hook<'_>, event: &Owned, facts: &Facts) -> (Vec<u8>, Outcome) {
        self.out.clear();
        let layout = Layout { first: 1, further: 9 };
        let job = Job {
            event: &event.event(),
            context: &facts.context(),
            timers: &mut self.timers,
            layout,
            line: 0,
            out: &mut self.out,
        };
        let outcome = self.machine.run(self.program, entry.index, job);
        let text = self.out.as_bytes().to_vec();
        assert!(text.len() <= LIMITS.text as usize + BEHIND_LIMIT, "an event prints {} bytes", text.len());
        assert_eq!(outcome.skipped, text.is_empty(), "what is skipped prints nothing, all else at least a line");
        assert!(outcome.skipped || text.ends_with(b"\n"), "an event's last line ends");
        (text, outcome)
    }
}

/// Where a limit ended an event, what the rest of it would have met does not count.
fn comparable((text, outcome): &(Vec<u8>, Outcome)) -> (&[u8], Outcome) {
    let ended = outcome.limited;
    let outcome = Outcome {
        truncated: outcome.truncated && !ended,
        divided_by_zero: outcome.divided_by_zero && !ended,
        ..*outcome
    };
    (text, outcome)
}

/// What is laid out of an entry for an event, where that is done.
fn straight(program: &Program<'_>, entry: &Hook<'_>, event: &Event<'_>) -> Option<Vec<u8>> {
    let mut out = TextBuf::new();
    let printed = program.straight(entry, event.env(), b" ")?.write([], event.bytes, &mut out);
    (printed && out.as_bytes() != b" \n").then(|| out.as_bytes().to_vec())
}

/// Some entries of a program: its own, and of the built-in ones one.
fn entries<'p>(program: &'p Program<'_>, rng: &mut Rng) -> Vec<Hook<'p>> {
    let all = || Space::ALL.into_iter().flat_map(|space| program.entries(space));
    let own: Vec<_> = all().filter(|entry| !entry.builtin).collect();
    let built_in: Vec<_> = all().filter(|entry| entry.builtin).collect();
    let from = if own.len() > ENTRIES { rng.below(own.len() - ENTRIES) } else { 0 };
    let one = built_in.get(rng.below(built_in.len()));
    own.into_iter().skip(from).take(ENTRIES).chain(one.copied()).collect()
}

/// Now and then, the listing of a program.
fn list(program: &Program<'_>, rng: &mut Rng) -> Option<String> {
    (rng.below(LISTED) == 0).then(|| program.disassemble(None))
}

/// Runs a verified program on events that `rng` makes: the fast loop and the checked twin print the same within the
/// limits, and so does what is laid out; nothing is refused, and now and then the program is listed.
pub fn run(program: &Program<'_>, rng: &mut Rng) {
    let facts = facts(rng);
    let mut fast = Printer::new(program, Machine::new(LIMITS));
    let mut checked = Printer::new(program, Machine::checked(LIMITS));
    for entry in entries(program, rng) {
        for _ in 0..EVENTS {
            let event = Owned::of(&entry, rng);
            let (fast, checked) = (fast.print(&entry, &event, &facts), checked.print(&entry, &event, &facts));
            assert_eq!(comparable(&fast), comparable(&checked), "the fast loop and its twin print the same");
            assert!(!fast.1.refused, "a verified program is not refused as it runs");
            if let Some(text) = straight(program, &entry, &event.event()) {
                assert_eq!((&text, false), (&fast.0, fast.1.truncated), "what is laid out is what the machine prints");
            }
        }
    }
    if let Some(listing) = list(program, rng) {
        let n_instrs: usize = program.routines().map(|routine| routine.code.len()).sum();
        assert!(listing.lines().count() >= n_instrs, "every instruction is listed");
    }
}

/// Runs a program that was opened lazily. Where the whole of it was verified, too, it prints the same.
pub fn run_lazily(lazy: &Program<'_>, verified: Option<&Program<'_>>, rng: &mut Rng) {
    let facts = facts(rng);
    let mut printer = Printer::new(lazy, Machine::new(LIMITS));
    let mut of_verified = verified.map(|program| Printer::new(program, Machine::new(LIMITS)));
    for entry in entries(lazy, rng) {
        let event = Owned::of(&entry, rng);
        let printed = printer.print(&entry, &event, &facts);
        if let Some(verified) = &mut of_verified {
            assert_eq!(printed, verified.print(&entry, &event, &facts), "what is opened lazily prints the same");
        }
    }
    let _ = list(lazy, rng);
}
