//! All programs of up to three instructions over a reduced instruction set. The verifier must accept exactly those that
//! a model accepts, which follows every path; accepted programs must print the same as a simple interpreter, in both
//! loops.

use std::collections::BTreeSet;
use tfbc_vm::{
    BlobBuilder, BlobError, Context, Event, EventInput, HookRow, Instr, Layout, Limits, LineStart, Machine, Op,
    Program, RoutineRow, Rule, Slot, SourcePos, TextBuf, Timers,
};

/// Number of registers that a program may name, besides invalid ones.
const N: usize = 2;
/// Event bytes that each program declares as needed.
const NEED: u32 = 4;
/// Called routine next to the program: reads register 0 and writes register 1.
const CALLEE: u32 = 0;
/// Index of the program's own routine.
const OWN: u32 = 1;
const TEXT: &[u8] = b"text";
const LIMITS: Limits = Limits { turns: 7, steps: 1 << 20, text: 1 << 10 };

/// Building block of the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Atom {
    Unknown,
    Const(u32),
    Put(u32),
    /// Four bytes at an offset.
    Load(u32),
    /// Text of a length.
    Lit(u32),
    Jump(u32),
    JumpZero(u32),
    /// Counts register 1 down from register 0.
    Loop(u32),
    LoopNext(u32),
    Back(u32),
    /// Switch by one of two tables.
    Switch(u32),
    Call(u32),
    Ret,
    End,
}

use Atom::*;

/// Targets of the tables: for the default and for 0.
const TABLES: [[u32; 2]; 2] = [[1, 2], [3, 3]];

/// All atoms for a program of `len` instructions.
fn atoms(len: u32) -> Vec<Atom> {
    let mut all = vec![Unknown, Const(0), Const(1), Const(1024), Put(0), Put(1), Load(0), Load(1)];
    all.extend([Lit(4), Lit(1000), Switch(0), Switch(1), Switch(2), Call(CALLEE), Call(OWN), Ret, End]);
    for to in 0..=len + 1 {
        all.extend([Jump(to), JumpZero(to), Loop(to), LoopNext(to), Back(to)]);
    }
    all
}

fn instr(atom: Atom) -> Instr {
    match atom {
        Unknown => Instr { op: 255, ..Instr::new(Op::End) },
        Const(dst) => Instr::of(Op::Const, &[dst, 2 - dst.min(2)]),
        Put(src) => Instr::of(Op::PutDec, &[src]),
        Load(at) => Instr::of(Op::Load, &[0, at, 4]),
        Lit(len) => Instr::of(Op::Lit, &[0]).with(Slot::C, len),
        Jump(to) => Instr::of(Op::Jump, &[to]),
        JumpZero(to) => Instr::of(Op::JumpZero, &[0, to]),
        Loop(exit) => Instr::of(Op::Loop, &[1, 0, exit]),
        LoopNext(top) => Instr::of(Op::LoopNext, &[1, top]),
        Back(to) => Instr::of(Op::Back, &[to]),
        Switch(table) => Instr::of(Op::Switch, &[0, table]),
        Call(routine) => Instr::of(Op::Call, &[routine]),
        Ret => Instr::new(Op::Ret),
        End => Instr::new(Op::End),
    }
}

/// Program: instructions, length of the body, and if it is called.
#[derive(Debug, Clone)]
struct Code {
    atoms: Vec<Atom>,
    body: usize,
    called: bool,
}

/// Property that a program violates.
#[derive(Debug, PartialEq, Eq)]
enum Violation {
    /// An operand of an instruction.
    Operand,
    /// A jump target.
    Target,
    /// A register that is read before it is written.
    UnwrittenRegister,
}

/// Set of written registers, as bits.
type Written = u8;

impl Code {
    /// Successors of an instruction, with the registers written then.
    fn successors(&self, pc: usize, written: Written) -> Vec<(usize, Written)> {
        let next = pc + 1;
        match self.atoms[pc] {
            Const(dst) => vec![(next, written | 1 << dst)],
            Load(_) => vec![(next, written | 1)],
            Jump(to) | Back(to) => vec![(to as usize, written)],
            JumpZero(to) => vec![(next, written), (to as usize, written)],
            Loop(exit) => vec![(next, written | 2), (exit as usize, written)],
            LoopNext(top) => vec![(next, written), (top as usize, written)],
            Switch(table) => TABLES[table as usize].map(|to| (to as usize, written)).to_vec(),
            Ret | End => vec![],
            Unknown | Put(_) | Lit(_) | Call(_) => vec![(next, written)],
        }
    }

    /// Registers that an instruction reads.
    fn reads(&self, pc: usize) -> Written {
        match self.atoms[pc] {
            Put(src) => 1 << src,
            JumpZero(_) | Loop(_) | Switch(_) | Call(_) => 1,
            LoopNext(_) => 2,
            _ => 0,
        }
    }

    /// True if the operands of an instruction are valid, even if it never runs.
    fn has_valid_operands(&self, atom: Atom) -> bool {
        match atom {
            Unknown => false,
            Const(register) | Put(register) => (register as usize) < N,
            Load(at) => at + 4 <= NEED,
            Lit(len) => len == 4,
            Switch(table) => (table as usize) < TABLES.len(),
            Call(routine) => routine == CALLEE,
            Ret => self.called,
            _ => true,
        }
    }

    /// True if the jump targets of an instruction are valid, even if it never runs: forward to an instruction or an
    /// event's end, or back from a loop's end to its start.
    fn has_valid_target(&self, pc: usize) -> bool {
        let len = self.atoms.len();
        let is_place = |to: usize| to < len || (to == self.body && !self.called);
        let jumps = |to: u32| is_place(to as usize) && to as usize > pc;
        match self.atoms[pc] {
            Jump(to) | JumpZero(to) | Loop(to) => jumps(to),
            Back(to) => is_place(to as usize),
            LoopNext(top) => {
                let top = top as usize;
                top >= 1 && top <= pc && matches!(self.atoms[top - 1], Loop(_))
            }
            Switch(table) => TABLES[table as usize].into_iter().all(jumps),
            _ => true,
        }
    }

    /// True if control never falls off the last instruction, except at an event's end.
    fn ends(&self) -> bool {
        let last = *self.atoms.last().expect("no program is empty");
        let whole = self.body == self.atoms.len();
        match (self.called, whole) {
            (true, _) => whole && matches!(last, Ret | End),
            (false, true) => true,
            (false, false) => matches!(last, End | Back(_)),
        }
    }

    /// Property that the program violates, if any.
    fn fault(&self) -> Option<Violation> {
        if !self.atoms.iter().all(|atom| self.has_valid_operands(*atom)) {
            return Some(Violation::Operand);
        }
        if !(0..self.atoms.len()).all(|pc| self.has_valid_target(pc)) || !self.ends() {
            return Some(Violation::Target);
        }
        // A called routine may read registers that its caller wrote.
        let begin = if self.called { Written::MAX } else { 0 };
        let (mut known, mut open) = (BTreeSet::new(), vec![(0, begin)]);
        while let Some((pc, written)) = open.pop() {
            if pc >= self.atoms.len() || (pc == self.body && !self.called) || !known.insert((pc, written)) {
                continue;
            }
            if self.reads(pc) & !written != 0 {
                return Some(Violation::UnwrittenRegister);
            }
            open.extend(self.successors(pc, written));
        }
        None
    }

    fn blob(&self) -> Vec<u8> {
        let mut blob = BlobBuilder::new();
        blob.string(TEXT);
        blob.source("test", b"");
        for [default, zero] in TABLES {
            let (kind, words) = tfbc_vm::table::number_table(&[(0, zero.into())], default.into());
            blob.table(kind, &words);
        }
        let callee = [Instr::of(Op::PutDec, &[0]), Instr::of(Op::Const, &[1, 5]), Instr::new(Op::Ret)];
        let called = RoutineRow { called: 1, ..RoutineRow::default() };
        assert_eq!(blob.routine(called, &callee, &[SourcePos::default(); 3]), CALLEE);
        let code: Vec<_> = self.atoms.iter().map(|atom| instr(*atom)).collect();
        let row =
            RoutineRow { need: NEED, body: self.body as u32, called: self.called.into(), ..RoutineRow::default() };
        assert_eq!(blob.routine(row, &code, &vec![SourcePos::default(); code.len()]), OWN);
        if !self.called {
            blob.hook(HookRow { id: 0x0100, routines: [OWN; 4], ..HookRow::default() });
        }
        blob.finish()
    }

    /// Output of a simple interpreter for an event.
    fn printed(&self, event: &[u8]) -> String {
        let (mut regs, mut text, mut turns, mut pc, mut cut) = ([0u64; N], String::new(), LIMITS.turns, 0, false);
        let mut limited = false;
        let mut turn = || {
            limited |= turns == 0;
            turns = turns.saturating_sub(1);
            !limited
        };
        while pc < self.body.max(self.atoms.len()) && pc != self.body {
            let mut to = pc + 1;
            match self.atoms[pc] {
                Const(dst) => regs[dst as usize] = (2 - dst).into(),
                Put(src) => text += &regs[src as usize].to_string(),
                Load(_) => {
                    let byte = |at: usize| event.get(at).copied().unwrap_or(0);
                    regs[0] = u32::from_be_bytes([0, 1, 2, 3].map(byte)).into();
                    cut |= event.len() < 4;
                }
                Lit(_) => text += "text",
                Jump(at) => to = at as usize,
                JumpZero(at) if regs[0] == 0 => to = at as usize,
                Loop(exit) if regs[0] == 0 || cut => to = exit as usize,
                Loop(_) => {
                    regs[1] = regs[0];
                    if !turn() {
                        break;
                    }
                }
                LoopNext(top) => {
                    regs[1] = regs[1].wrapping_sub(1);
                    if regs[1] != 0 && !cut {
                        to = top as usize;
                        if !turn() {
                            break;
                        }
                    }
                }
                Back(at) => {
                    to = at as usize;
                    if !turn() {
                        break;
                    }
                }
                Switch(table) => to = TABLES[table as usize][usize::from(regs[0] == 0)] as usize,
                Call(_) => {
                    if !turn() {
                        break;
                    }
                    text += &regs[0].to_string();
                    regs[1] = 5;
                }
                End => break,
                Unknown | Ret => unreachable!("the verifier refuses them here"),
                JumpZero(_) => {}
            }
            pc = to;
        }
        text + if limited { " [limit]\n" } else { "\n" }
    }
}

/// Output of a program for an event; a second run must print the same.
fn run(machine: &mut Machine, program: &Program<'_>, bytes: &[u8]) -> String {
    let event = Event { bytes, wide: false, record: None, time_ns: 0, offset: 0 };
    let mut timers = Timers::new();
    let mut run = machine.start(program, &mut timers);
    let [first, second] = [(); 2].map(|()| {
        let mut out = TextBuf::new();
        let outcome = run.event(
            0,
            EventInput { event: &event, context: &Context::EMPTY },
            LineStart { layout: Layout::default(), line: 0 },
            &mut out,
        );
        (outcome, String::from_utf8_lossy(out.as_bytes()).into_owned())
    });
    assert_eq!(first, second);
    first.1
}

/// Number of programs accepted, and refused for each reason.
#[derive(Debug, Default)]
struct Verdicts {
    accepted: usize,
    bad_operand: usize,
    bad_target: usize,
    unwritten_register: usize,
}

/// Checks one program.
fn check(code: &Code, machines: &mut [Machine; 2], seen: &mut Verdicts) {
    let blob = code.blob();
    let verdict = Program::open(&blob);
    let fault = code.fault();
    match (&verdict, &fault) {
        (Ok(_), None) => seen.accepted += 1,
        // Another violation may be found first.
        (Err(BlobError::Instr { .. }), Some(Violation::Operand)) => seen.bad_operand += 1,
        (
            Err(BlobError::Instr { rule: Rule::Targets | Rule::Loops | Rule::Ends | Rule::TableTargets, .. }),
            Some(Violation::Target),
        ) => seen.bad_target += 1,
        (Err(BlobError::Instr { rule: Rule::Initialized, .. }), Some(Violation::UnwrittenRegister)) => {
            seen.unwritten_register += 1
        }
        _ => panic!("{code:?}: {fault:?}, and the verifier says {:?}", verdict.err()),
    }
    let Ok(program) = verdict else { return };
    if code.called {
        return;
    }
    for event in [&[0, 0, 0, 0][..], &[0, 0, 0, 3], &[0, 0, 1]] {
        let expected = code.printed(event);
        for machine in &mut *machines {
            assert_eq!(run(machine, &program, event), expected, "{code:?}, {event:?}");
        }
    }
}

/// All programs of a length.
fn sweep(len: usize) -> Verdicts {
    let (all, mut seen) = (atoms(len as u32), Verdicts::default());
    let mut machines = [Machine::new(LIMITS), Machine::checked(LIMITS)];
    let mut digits = vec![0; len];
    loop {
        let atoms: Vec<_> = digits.iter().map(|digit| all[*digit]).collect();
        for (called, bodies) in [(false, 1..=len), (true, len..=len)] {
            for body in bodies {
                check(&Code { atoms: atoms.clone(), body, called }, &mut machines, &mut seen);
            }
        }
        // Next program, counting like an odometer.
        let Some(at) = digits.iter().position(|digit| *digit + 1 < all.len()) else { return seen };
        digits[..at].fill(0);
        digits[at] += 1;
    }
}

#[test]
fn programs_of_one_and_two_instructions() {
    let one = sweep(1);
    assert!(one.accepted >= 10 && one.bad_operand >= 10 && one.unwritten_register >= 3, "{one:?}");
    let two = sweep(2);
    assert!(two.accepted > 150 && two.bad_target > 200 && two.unwritten_register > 50, "{two:?}");
}

#[test]
fn programs_of_three_instructions() {
    let seen = sweep(3);
    assert!(
        seen.accepted > 4000 && seen.bad_operand > 10_000 && seen.bad_target > 10_000 && seen.unwritten_register > 5000,
        "{seen:?}"
    );
}
