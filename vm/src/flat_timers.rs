//! Fast path for timers that every event of a routine starts and ends: they change without the machine and without
//! text.
//!
//! ```text
//! mark r255; put.name $SVC; switch.text …
//! const r255 0x101; env r256 $TID; timer.start r255 r256      ──>   start (0x101, $TID)
//! ```

use crate::op::form;
use crate::program::{PreparedEntry, Program};
use crate::{EnvValue, Instr, Op, OperandKind, TimerUse, Timers, table};

/// Timers of a routine that depend on the hook word and the thread only.
///
/// Made by [`PreparedEntry::flat_timers`]. The timers are those that a run of the routine leaves.
#[derive(Debug, Clone)]
pub struct FlatTimers {
    /// Minimum size of the event in bytes.
    need: usize,
    /// Bits of the thread id that every key has as its third number: all or none.
    thread: u64,
    uses: Box<[FlatUse]>,
}

/// Start or end of a timer, with the first two numbers of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FlatUse {
    is_start: bool,
    first: KeyNumber,
    second: KeyNumber,
}

/// Number in the key of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyNumber {
    Const(u64),
    Tid,
    /// Bits of `$HD`.
    HookData {
        low: u32,
        count: u32,
    },
}

/// Maximum number of instructions with those of called routines. Few short texts stay below any limit of the text.
const MAX_INSTRS: usize = 64;
/// Maximum number of instructions that print a name or path, whose length the trace decides.
const MAX_NAMES: usize = 4;
/// Maximum size of an event in bytes.
const MAX_SIZE: usize = 1 << 12;

impl FlatTimers {
    /// True if an event of this size in bytes needs no run of the routine.
    pub fn fits(&self, n_bytes: usize) -> bool {
        (self.need..=MAX_SIZE).contains(&n_bytes)
    }

    /// Number of timers that an event starts or ends.
    pub fn n_uses(&self) -> usize {
        self.uses.len()
    }

    /// Starts and ends the timers of an event that fits.
    pub fn run(&self, hook_data: u64, tid: u64, time_ns: u64, timers: &mut Timers) {
        for TimerUse { key, is_end } in self.uses(hook_data, tid) {
            timers.set(key, (!is_end).then_some(time_ns));
        }
    }

    /// Timers that an event that fits starts and ends, in order. Events with equal `$HD` and thread use the same
    /// timers.
    pub fn uses(&self, hook_data: u64, tid: u64) -> impl Iterator<Item = TimerUse> {
        self.uses.iter().map(move |FlatUse { is_start, first, second }| TimerUse {
            key: [first.read(tid, hook_data), second.read(tid, hook_data), tid & self.thread],
            is_end: !is_start,
        })
    }
}

impl KeyNumber {
    fn read(self, tid: u64, hook_data: u64) -> u64 {
        match self {
            Self::Const(number) => number,
            Self::Tid => tid,
            Self::HookData { low, count } => hook_data >> low & (u64::MAX >> (64 - count)),
        }
    }

    /// Number of these bits.
    fn part(self, low: u32, count: u32) -> Option<Self> {
        match self {
            Self::Const(number) => Some(Self::Const(number >> low & (u64::MAX >> (64 - count)))),
            Self::HookData { low: 0, count: all } if low < all => {
                Some(Self::HookData { low, count: count.min(all - low) })
            }
            _ => None,
        }
    }
}

impl PreparedEntry<'_> {
    /// Timers that every event of the routine starts and ends, whatever it contains; `None` if that depends on the
    /// event's data, or cannot be told.
    pub fn flat_timers(&self) -> Option<FlatTimers> {
        let mut walk =
            TimerWalk { program: self.program, registers: Vec::new(), uses: Vec::new(), n_instrs: 0, n_names: 0 };
        walk.routine(self.program.routine_in(self.start_index as usize), false)?;
        let thread = if self.program.settings.timer_by_thread { u64::MAX } else { 0 };
        Some(FlatTimers { need: self.need as usize, thread, uses: walk.uses.into_boxed_slice() })
    }
}

/// Walk over the instructions of a routine in the order of their numbers.
struct TimerWalk<'p, 'r> {
    program: &'p Program<'r>,
    /// Registers that have the same source on every path.
    registers: Vec<(u32, KeyNumber)>,
    uses: Vec<FlatUse>,
    n_instrs: usize,
    n_names: usize,
}

impl TimerWalk<'_, '_> {
    fn routine(&mut self, index: u32, is_called: bool) -> Option<()> {
        let program = self.program;
        let (code, body) = program.code_of(index);
        // Instructions before this one may be left out by a jump.
        let mut joined = 0;
        let mut has_ended = false;
        for (at, instr) in code.iter().enumerate() {
            self.n_instrs += 1;
            if self.n_instrs > MAX_INSTRS {
                return None;
            }
            has_ended |= at >= body;
            let op = Op::from_u8(instr.op)?;
            // What follows an end belongs to a jump.
            let is_certain = joined <= at && !has_ended;
            for (_, slot, kind) in op.info().operands {
                let operand = instr.slot(*slot);
                match kind {
                    OperandKind::Target => joined = joined.max(forward(at, operand.into())?),
                    OperandKind::Short if form::mode(instr.c) == form::FIELD => {
                        joined = joined.max(forward(at, operand.into())?);
                    }
                    OperandKind::Table | OperandKind::TextTable => {
                        let (kind, words) = program.table(operand);
                        for to in table::targets(kind, words) {
                            joined = joined.max(forward(at, to)?);
                        }
                    }
                    OperandKind::Dst | OperandKind::NewMark => self.registers.retain(|(known, _)| *known != operand),
                    _ => {}
                }
            }
            match op {
                Op::Const | Op::Move | Op::Env | Op::Bits => {
                    let number = self.number(op, instr);
                    self.registers.retain(|(known, _)| *known != u32::from(instr.a));
                    self.registers.extend(number.filter(|_| is_certain).map(|number| (u32::from(instr.a), number)));
                }
                Op::TimerStart | Op::TimerEnd if is_certain => {
                    let (first, second) = (self.get(instr.b)?, self.get(instr.c)?);
                    self.uses.push(FlatUse { is_start: op == Op::TimerStart, first, second });
                }
                Op::Call if is_certain => self.routine(instr.b, true)?,
                Op::PutName | Op::PutPath => {
                    self.n_names += 1;
                    if self.n_names > MAX_NAMES {
                        return None;
                    }
                }
                Op::End if !is_called => has_ended = true,
                Op::Ret => has_ended = true,
                op if is_short(op) => {}
                _ => return None,
            }
        }
        Some(())
    }

    /// Number that an instruction stores.
    fn number(&self, op: Op, instr: &Instr) -> Option<KeyNumber> {
        match op {
            Op::Const => Some(KeyNumber::Const(instr.wide())),
            Op::Move => self.get(instr.b),
            Op::Env => match EnvValue::from_u32(instr.b)? {
                EnvValue::Tid => Some(KeyNumber::Tid),
                EnvValue::HookData => Some(KeyNumber::HookData { low: 0, count: 16 }),
                _ => None,
            },
            _ => self.get(instr.b)?.part(instr.c & 63, instr.d.clamp(1, 64)),
        }
    }

    fn get(&self, register: u32) -> Option<KeyNumber> {
        self.registers.iter().find(|(known, _)| *known == register).map(|(_, number)| *number)
    }
}

/// Target of a jump; `None` if it goes back.
fn forward(at: usize, to: u64) -> Option<usize> {
    usize::try_from(to).ok().filter(|to| *to > at)
}

/// True if an instruction prints a short text or none, does not end the event, and jumps forward only.
fn is_short(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        Print
            | Soft
            | SoftDrop
            | Load
            | Word
            | LoadBits
            | Sext
            | Add
            | Sub
            | PtrSet
            | PutHex
            | PutHexFit
            | PutDec
            | PutInt
            | PutHexLow
            | PutHexMin
            | PutHexC
            | PutErrno
            | Reach
            | Jump
            | JumpZero
            | JumpEqual
            | JumpDiffer
            | Switch
            | Mark
            | SwitchText
            | Get
            | HexAt
            | HexLowAt
            | HexFullAt
            | HexLowFullAt
            | HexCAt
            | HexMinAt
            | DecAt
            | IntAt
            | JumpEqualAt
            | JumpDifferAt
    )
}
