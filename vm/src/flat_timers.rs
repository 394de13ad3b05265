//! Fast path for timers that every event of a routine starts and ends: they change without the machine and without
//! text.
//!
//! ```text
//! mark r255; put.name $SVC; switch.text …
//! const r255 0x101; env r256 $TID; timer.start r255 r256      ──>   start (0x101, $TID)
//! ```

use crate::op::form;
use crate::program::{PreparedEntry, Program};
use crate::{EnvValue, Event, Instr, Op, OperandKind, Timers, table};

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
    last: LastUse,
    first: KeyMask,
    second: KeyMask,
}

/// Sum of a constant and of bits of `$TID` and `$HD`. At most one of the three is not 0, so a sum needs no branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct KeyMask {
    constant: u64,
    of_tid: u64,
    of_data: u64,
    /// Bits of `$HD` below those of the number.
    low: u32,
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
    /// Starts and ends the timers of an event, whose thread is `tid`. Returns false, and changes nothing, if the
    /// routine must run. [`TimerCache::flush`] passes the changes on to `timers`.
    #[inline(always)]
    pub fn run(&self, event: &Event<'_>, tid: u64, cache: &mut TimerCache, timers: &mut Timers) -> bool {
        if !(self.need..=MAX_SIZE).contains(&event.bytes.len()) {
            return false;
        }
        let (data, thread) = (u64::from(event.hook_data()), tid & self.thread);
        for FlatUse { last, first, second } in &self.uses {
            cache.put([first.read(tid, data), second.read(tid, data), thread], *last, event.time_ns, timers);
        }
        true
    }
}

/// Write-back cache of the timers that were started and ended last: threads use the same few timers again and again, and
/// a change of the map of all timers costs more.
#[derive(Debug, Clone)]
pub struct TimerCache {
    /// By hash of the key.
    entries: Box<[CachedTimer; CACHE_SIZE]>,
    /// Indices of the entries in use.
    used: Vec<u16>,
}

/// Timer whose last start or end is not in the map yet.
#[derive(Debug, Clone, Copy)]
struct CachedTimer {
    key: [u64; 3],
    time_ns: u64,
    last: LastUse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastUse {
    /// The entry is not in use.
    None,
    Start,
    End,
}

const CACHE_BITS: u32 = 9;
const CACHE_SIZE: usize = 1 << CACHE_BITS;

impl Default for TimerCache {
    fn default() -> Self {
        let unused = CachedTimer { key: [0; 3], time_ns: 0, last: LastUse::None };
        Self { entries: Box::new([unused; CACHE_SIZE]), used: Vec::new() }
    }
}

impl TimerCache {
    /// Starts or ends a timer.
    #[inline(always)]
    fn put(&mut self, key: [u64; 3], last: LastUse, time_ns: u64, timers: &mut Timers) {
        let mixed = key[0] ^ key[1].rotate_left(21) ^ key[2].rotate_left(42);
        let at = (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - CACHE_BITS)) as usize;
        let entry = &mut self.entries[at % CACHE_SIZE];
        let differs = (entry.key[0] ^ key[0]) | (entry.key[1] ^ key[1]) | (entry.key[2] ^ key[2]);
        if entry.last == LastUse::None || differs != 0 {
            return self.replace(at, CachedTimer { key, time_ns, last }, timers);
        }
        (entry.time_ns, entry.last) = (time_ns, last);
    }

    /// Puts another timer into an entry.
    #[inline(never)]
    fn replace(&mut self, at: usize, timer: CachedTimer, timers: &mut Timers) {
        let entry = &mut self.entries[at];
        entry.apply(timers);
        let was_used = std::mem::replace(entry, timer).last != LastUse::None;
        if !was_used {
            self.used.push(at as u16);
        }
        // A start above the limit is dropped, so the order of changes matters there.
        if !timers.has_room(self.used.len()) {
            self.entries[at].last = LastUse::None;
            self.flush(timers);
            timer.apply(timers);
        }
    }

    /// Passes all changes on to the timers.
    pub fn flush(&mut self, timers: &mut Timers) {
        for at in self.used.drain(..) {
            let entry = &mut self.entries[usize::from(at)];
            entry.apply(timers);
            entry.last = LastUse::None;
        }
    }
}

impl CachedTimer {
    fn apply(&self, timers: &mut Timers) {
        match self.last {
            LastUse::None => {}
            LastUse::Start => timers.start(self.key, self.time_ns),
            LastUse::End => drop(timers.end(self.key, self.time_ns)),
        }
    }
}

impl KeyMask {
    #[inline]
    fn read(self, tid: u64, data: u64) -> u64 {
        self.constant | tid & self.of_tid | data >> self.low & self.of_data
    }
}

impl KeyNumber {
    fn mask(self) -> KeyMask {
        match self {
            Self::Const(constant) => KeyMask { constant, ..KeyMask::default() },
            Self::Tid => KeyMask { of_tid: u64::MAX, ..KeyMask::default() },
            Self::HookData { low, count } => KeyMask { low, of_data: u64::MAX >> (64 - count), ..KeyMask::default() },
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
        let uses = walk.uses.into_iter();
        let uses = uses.map(|(last, first, second)| FlatUse { last, first: first.mask(), second: second.mask() });
        Some(FlatTimers { need: self.need as usize, thread, uses: uses.collect() })
    }
}

/// Walk over the instructions of a routine in the order of their numbers.
struct TimerWalk<'p, 'r> {
    program: &'p Program<'r>,
    /// Registers that have the same source on every path.
    registers: Vec<(u32, KeyNumber)>,
    /// Starts and ends with the numbers of their keys.
    uses: Vec<(LastUse, KeyNumber, KeyNumber)>,
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
                    let last = if op == Op::TimerEnd { LastUse::End } else { LastUse::Start };
                    self.uses.push((last, first, second));
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
