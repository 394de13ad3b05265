//! The dispatch loop and what it touches.

use crate::blob::HookRow;
use crate::cursor::{Cursor, low_first};
use crate::num::{self, store, store_slice};
use crate::op::{EnvText, EnvValue, Instr, Op, form, number};
use crate::table::{self, FLAG_WORDS};
use crate::verify::{MAX_DEPTH, N_REGS};
use crate::{Context, Event, Observer, Program, Step, TextBuf, Timers, Unobserved};

/// Where an event's text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// Blanks between what stands in the buffer already (the columns) and the text of the first line.
    pub first: u16,
    /// Blanks before the text of every further line.
    pub further: u16,
}

/// What one event may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Loop turns and calls together.
    pub turns: u32,
    /// Bytes of text, margins included.
    pub text: u32,
}

impl Default for Limits {
    /// 1,048,576 turns and 1 MiB.
    fn default() -> Self {
        Self { turns: 1 << 20, text: 1 << 20 }
    }
}

/// How an event ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// `$SKIP`: nothing was appended, and the event has no part in delta.
    pub skipped: bool,
    /// `$STOP`: no later event is to be read.
    pub stop: bool,
    /// A read went past the event's end.
    pub truncated: bool,
    /// A limit was reached; the text says so.
    pub limited: bool,
    /// A division by zero gave 0.
    pub divided_by_zero: bool,
}

/// The reusable scratch of one thread: its registers. One event's values never reach the next.
#[derive(Debug)]
pub struct Machine {
    limits: Limits,
    checked_only: bool,
    regs: Box<[u64; N_REGS]>,
    calls: Vec<Return>,
}

impl Default for Machine {
    fn default() -> Self {
        Machine::new(Limits::default())
    }
}

/// Where and how one event is printed.
#[derive(Debug)]
pub struct Job<'j> {
    /// The event.
    pub event: &'j Event<'j>,
    /// What a template may ask beyond the event's bytes.
    pub context: &'j Context<'j>,
    /// The report's running timers.
    pub timers: &'j mut Timers,
    /// The margins.
    pub layout: Layout,
    /// The length that `out` had before the event's columns: a skipped event cuts it to that, and a first line
    /// without text loses the blanks at its end down to there.
    pub line: usize,
    /// Where the columns stand, and the text goes.
    pub out: &'j mut TextBuf,
}

impl Machine {
    /// A machine with the given limits.
    pub fn new(limits: Limits) -> Self {
        Machine { limits, checked_only: false, regs: Box::new([0; N_REGS]), calls: Vec::with_capacity(MAX_DEPTH) }
    }

    /// A machine that runs every event through the checked twin of the loop: the oracle for the fast one.
    pub fn checked(limits: Limits) -> Self {
        Machine { checked_only: true, ..Machine::new(limits) }
    }

    /// Prints one event by the hook with index `hook` ([`crate::Hook::index`]): appends its text, and a newline at
    /// its end. An index that the program does not have prints an empty line.
    #[inline]
    pub fn run(&mut self, program: &Program<'_>, hook: u32, job: Job<'_>) -> Outcome {
        self.run_observed(program, hook, job, &mut Unobserved)
    }

    /// The same, with every instruction shown to `observer` first.
    // A call would cost a short event a tenth of its time.
    #[inline(always)]
    pub fn run_observed<O: Observer>(
        &mut self,
        program: &Program<'_>,
        hook: u32,
        job: Job<'_>,
        observer: &mut O,
    ) -> Outcome {
        let Job { event, context, timers, layout, line, out } = job;
        let Some(row) = program.hook_row(hook) else {
            out.push(b"\n");
            return Outcome::default();
        };
        let routine = row.routines[event.env().index()];
        let (needed, zeroed) = program.demands(routine);
        let checks = self.checked_only || event.bytes.len() < needed;
        if zeroed > 0 {
            self.regs[..zeroed].fill(0);
        }
        self.calls.clear();
        let text_limit = out.len().saturating_add(self.limits.text as usize);
        out.room(0);
        if layout.first > 0 {
            out.pad(layout.first.into());
        }
        let mut run = Run {
            program,
            event,
            context,
            timers,
            regs: &mut self.regs,
            cursor: Cursor::new(event.bytes),
            line: Line { start: line, text: out.len(), number: 1, margin: layout.further.into() },
            calls: &mut self.calls,
            hook: row,
            event_start: line,
            soft_end: usize::MAX,
            selecting: false,
            turns: self.limits.turns,
            text_limit,
            outcome: Outcome::default(),
        };
        let end = if checks {
            run.exec::<true, O>(routine, out, observer)
        } else {
            run.exec::<false, O>(routine, out, observer)
        };
        run.finish(end, out)
    }
}

/// The line being printed.
struct Line {
    /// Where it starts in the buffer, columns or margin included.
    start: usize,
    /// Where its text starts.
    text: usize,
    /// Its number within the event, from 1.
    number: u64,
    /// Blanks before the text of the lines that follow.
    margin: usize,
}

/// The longest text that the room of every instruction holds.
const SHORT: usize = 64;

/// The longest text of a selector. Events are shorter.
const SELECTOR: usize = 1 << 20;

/// Why the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    Skip,
    Limit,
}

/// One event's run: everything the loop touches but the buffer, the instruction pointer and the routine.
struct Run<'r> {
    program: &'r Program<'r>,
    event: &'r Event<'r>,
    context: &'r Context<'r>,
    timers: &'r mut Timers,
    regs: &'r mut [u64; N_REGS],
    calls: &'r mut Vec<Return>,
    hook: &'r HookRow,
    cursor: Cursor<'r>,
    line: Line,
    /// Where the event's columns start.
    event_start: usize,
    /// Where the text ended when a soft blank was printed last.
    soft_end: usize,
    turns: u32,
    /// Whether what is printed is a selector's text, which goes again and does not count.
    selecting: bool,
    text_limit: usize,
    outcome: Outcome,
}

/// The caller of a routine.
#[derive(Debug)]
struct Return {
    routine: u32,
    pc: usize,
}

impl Run<'_> {
    fn reg(&self, register: u32) -> u64 {
        self.regs[register as usize % N_REGS]
    }

    fn set(&mut self, register: u16, value: u64) {
        self.regs[register as usize % N_REGS] = value;
    }

    /// The loop. `CHECK` is the twin for events shorter than the routine needs: only there can a fixed read go past
    /// the event's end (rule V6).
    #[inline(never)]
    fn exec<const CHECK: bool, O: Observer>(&mut self, routine: u32, out: &mut TextBuf, observer: &mut O) -> End {
        let program = self.program;
        let mut routine = routine;
        let mut code = program.code_of(routine);
        let mut pc = 0;
        let mut o = out.len;
        let mut buf = within(&mut out.buf, self.text_limit);

        // Gives the buffer to a function that may let it grow, and takes it back.
        macro_rules! slow {
            (|$out:ident| $body:expr) => {{
                out.len = o;
                let $out = &mut *out;
                $body;
                o = out.len;
                buf = within(&mut out.buf, self.text_limit);
            }};
        }
        // Reads a checked field and prints it, or goes where the routine goes without it.
        macro_rules! field {
            ($b:ident, $c:ident, $d:ident, |$value:ident| $print:expr) => {
                match self.field::<CHECK>($b, $c) {
                    Some($value) => $print,
                    None => {
                        o -= ($c >> form::BACK) as usize;
                        pc = $d as usize;
                    }
                }
            };
        }
        while let Some(instr) = code.get(pc) {
            if O::ACTIVE {
                let text = &buf[self.event_start.min(o)..o];
                let (regs, pointer) = (&self.regs[..], self.cursor.byte());
                observer.before(Step { routine, pc: pc as u32, instr, regs, pointer, text });
            }
            // Room for any instruction: its size is known to the compiler, which leaves out the checks below.
            let Some(room) = buf.get_mut(o..).and_then(|rest| rest.first_chunk_mut::<{ TextBuf::SLACK }>()) else {
                if o > self.text_limit {
                    return self.stop_at(o, out);
                }
                slow!(|out| out.room(0));
                continue;
            };
            pc += 1;
            store(room, 0, instr.lit);
            let n = usize::from(instr.lit_len & 31);
            let room = &mut room[n..];
            o += n;
            let Instr { a, b, c, d, .. } = *instr;
            match instr.op {
                number::Print => {}
                number::Soft => {
                    store(room, 0, [b' ']);
                    o += 1;
                    self.soft_end = o;
                }
                number::SoftDrop => {
                    if self.soft_end == o {
                        o -= 1;
                        self.soft_end = usize::MAX;
                    }
                }

                number::Const => self.set(a, instr.wide()),
                number::Move => self.set(a, self.reg(b)),
                number::Load => {
                    let value = self.load::<CHECK>(b, c);
                    self.set(a, value);
                }
                number::Word => self.set(a, self.word(b, c)),
                number::Take => {
                    let value = self.cursor.take(c);
                    self.set(a, value);
                }
                number::LoadLe => {
                    let value = low_first(self.load::<CHECK>(b, c), c);
                    self.set(a, value);
                }
                number::TakeLe => {
                    let value = self.cursor.take_le(c);
                    self.set(a, value);
                }
                number::Reach => {
                    if self.cursor.bytes.len() < b as usize {
                        pc = d as usize;
                    }
                }
                number::TakeReach => {
                    if !self.cursor.reaches(b) {
                        pc = d as usize;
                    }
                }
                number::Sext => self.set(a, sext(self.reg(b), c)),
                number::Bits => self.set(a, low_bits(self.reg(b) >> (c & 63), d)),
                number::And => self.set(a, self.reg(b) & self.reg(c)),
                number::Equal => self.set(a, u64::from(self.reg(b) == self.reg(c))),
                number::Differ => self.set(a, u64::from(self.reg(b) != self.reg(c))),
                number::PtrSet => self.cursor.set(b, c),
                number::PtrAdd => self.cursor.add(b.into(), c.into()),

                number::PutHex => o += num::hex(room, 0, self.reg(b), c as usize),
                number::PutHexFit => o += num::hex_fit(room, 0, self.reg(b)),
                number::PutHexLow => o += num::hex_low(room, 0, self.reg(b), c as usize),
                number::PutHexC => o += put_hex_c(room, self.reg(b)),
                number::PutHexMin => o += num::hex_min(room, 0, self.reg(b)),
                number::PutOctC => o += put_oct_c(room, self.reg(b)),
                number::PutAscii => o += put_ascii(room, self.reg(b)),
                number::PutDec => o += num::dec(room, 0, self.reg(b)),
                number::PutInt => o += num::int(room, 0, self.reg(b)),
                number::Text => {
                    let text = self.cursor.text(b.into(), c.into());
                    if text.len() <= SHORT && d == 0 {
                        o += copy_printable(room, 0, text);
                    } else {
                        slow!(|out| self.put_text(out, text, d as usize));
                    }
                }

                number::Jump => pc = d as usize,
                number::JumpZero => {
                    if self.reg(b) == 0 {
                        pc = d as usize;
                    }
                }
                number::Switch => {
                    let (kind, table) = program.table(c);
                    let Some(to) = table::find_number(kind, table, self.reg(b)) else { break };
                    pc = to as usize;
                }
                number::SwitchText => {
                    let to;
                    slow!(|out| to = self.switch_text(out, b, c));
                    let Some(to) = to else { break };
                    pc = to as usize;
                }
                number::PutCase => {
                    let text = case_text(program, c, self.reg(b));
                    if text.len() <= SHORT {
                        o += store_slice(room, 0, text);
                    } else {
                        slow!(|out| out.push(text));
                    }
                }
                number::FlagsAny => {
                    let met = met_texts(program, c, self.reg(b)).next().is_some();
                    self.set(a, met.into());
                }
                number::Nibbles if d == 2 && a == 0 => o += put_two_nibbles(room, program.words(), c, self.reg(b)),
                number::SwitchLit => o += put_indexed(room, program.words(), c, d, self.reg(b)),
                number::Loop => {
                    let count = self.reg(b) as i64;
                    if count <= 0 || self.cursor.truncated {
                        pc = d as usize;
                    } else {
                        self.set(a, count as u64);
                        if !self.turn() {
                            return self.stop_at(o, out);
                        }
                    }
                }
                number::LoopNext => {
                    let left = self.regs[a as usize % N_REGS].wrapping_sub(1);
                    self.set(a, left);
                    if left != 0 && !self.cursor.truncated {
                        pc = d as usize;
                        if !self.turn() {
                            return self.stop_at(o, out);
                        }
                    }
                }
                number::Dump => {
                    let count = self.reg(b);
                    let whole;
                    slow!(|out| whole = self.dump(out, count, a == 1));
                    if !whole {
                        return End::Limit;
                    }
                }
                number::Call => {
                    if self.calls.len() >= MAX_DEPTH || !self.turn() {
                        return self.stop_at(o, out);
                    }
                    self.calls.push(Return { routine, pc });
                    routine = b;
                    code = program.code_of(routine);
                    pc = 0;
                }
                number::Ret => {
                    let Some(back) = self.calls.pop() else { break };
                    routine = back.routine;
                    code = program.code_of(routine);
                    pc = back.pc;
                }
                number::End => break,
                number::Skip => {
                    out.len = o;
                    return End::Skip;
                }

                number::HexAt => o += num::hex(room, 0, self.load::<CHECK>(b, c), c as usize * 2),
                number::Hex4At => {
                    o += match self.cursor.four(b) {
                        Some(bytes) => num::hex4(room, 0, bytes),
                        None => num::hex(room, 0, self.load::<CHECK>(b, 4), 8),
                    }
                }
                number::DecAt => o += num::dec(room, 0, self.load::<CHECK>(b, c)),
                number::Dec4At => o += num::dec(room, 0, self.load::<CHECK>(b, 4)),
                number::IntAt => o += num::int(room, 0, sext(self.load::<CHECK>(b, c), c * 8)),
                number::WordHex => o += num::hex(room, 0, self.word(b, c), a as usize * 2),
                number::WordDec => o += num::dec(room, 0, low_bits(self.word(b, c), u32::from(a) * 8)),
                number::Word8Dec => o += num::dec(room, 0, low_bits(self.word(b, 8), u32::from(a) * 8)),
                number::Field => field!(b, c, d, |value| self.set(a, value)),
                number::FieldHexC => field!(b, c, d, |value| o += put_hex_c(room, value)),
                number::FieldHexMin => field!(b, c, d, |value| o += num::hex_min(room, 0, value)),
                number::FieldHexLow => {
                    field!(b, c, d, |value| o += num::hex_low(room, 0, value, (c & form::WIDTH) as usize * 2));
                }
                number::FieldDec => field!(b, c, d, |value| o += num::dec(room, 0, value)),
                number::FieldInt => {
                    field!(b, c, d, |value| o += num::int(room, 0, sext(value, (c & form::WIDTH) * 8)));
                }
                number::SwitchLitAt => {
                    let value = self.load::<CHECK>(b, a.into());
                    o += put_indexed(room, program.words(), c, d, value);
                }
                number::SwitchLitWord => o += put_indexed(room, program.words(), c, d, self.word(b, a.into())),
                // Two nibbles' texts fit the room that every instruction has.
                number::NibblesAt if d == 2 => {
                    let value = self.load::<CHECK>(b, a.into());
                    o += put_two_nibbles(room, program.words(), c, value);
                }
                number::NibblesWord if d == 2 => {
                    o += put_two_nibbles(room, program.words(), c, self.word(b, a.into()));
                }
                _ => slow!(|out| self.aside::<CHECK>(instr, out)),
            }
        }
        // Behind a routine's last instruction the event ends, as at `end`.
        out.len = o;
        End::Done
    }

    /// The instructions that are kept out of the loop's way: they are rare, or cost more than a call. None of them
    /// says where the routine goes on.
    #[inline(never)]
    fn aside<const CHECK: bool>(&mut self, instr: &Instr, out: &mut TextBuf) {
        // The literal has reached the text limit: the event ends before anything else happens.
        if out.len > self.text_limit {
            return;
        }
        let Some(op) = Op::from_u8(instr.op) else { return };
        let Instr { a, b, c, d, .. } = *instr;
        let (buf, o) = (&mut out.buf[..], out.len);
        match op {
            Op::Lit => out.push(self.program.string([b, c])),
            Op::Newline => self.newline(out),
            Op::Tab => {
                let column = o.saturating_sub(self.line.text) + usize::from(self.hook.tab_origin);
                store(buf, o, [b' '; 8]);
                out.len += 8 - column % 8;
            }

            Op::Env => {
                let value = self.env(b);
                self.set(a, value);
            }
            Op::LoadBits => {
                let value = self.cursor.bit_field(i64::from(b / 8), b % 8, c);
                self.set(a, value);
            }
            Op::TakeBits => {
                let value = self.cursor.take_bits(c);
                self.set(a, value);
            }
            Op::Add => self.set(a, self.reg(b).wrapping_add(self.reg(c))),
            Op::Sub => self.set(a, self.reg(b).wrapping_sub(self.reg(c))),
            Op::Mul => self.set(a, self.reg(b).wrapping_mul(self.reg(c))),
            Op::Div => {
                let value = self.divide(self.reg(b), self.reg(c));
                self.set(a, value);
            }
            Op::PtrBack => self.cursor.back(b),
            Op::PtrFloor => self.cursor.floor(),
            Op::PtrCeil => self.cursor.ceil(),
            Op::PtrGet => self.set(a, self.cursor.byte()),
            Op::PtrTo => self.cursor.go_to(self.reg(b)),
            Op::BaseGet => self.set(a, self.cursor.base),
            Op::BaseTo => self.cursor.base = self.reg(b),

            Op::PutOct => out.len = num::oct(buf, o, self.reg(b)),
            Op::PutBin => out.len = num::bin(buf, o, self.reg(b), c as usize),
            Op::PutFloat => out.len = put_float(buf, o, self.reg(b), c),
            Op::PutErrno => out.len = self.put_errno(buf, o, self.reg(b), c),
            Op::PutTime => out.len = num::time(buf, o, self.reg(b) as u32),
            Op::PutPath => self.put_path(out, self.reg(b)),
            Op::PutChars => {
                let bytes = self.reg(b).to_be_bytes();
                let field = &bytes[8 - (c as usize).min(8)..];
                let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
                self.put_text(out, &field[..end], d as usize);
            }
            Op::TakeText => {
                let text = self.cursor.take_text(c.into());
                self.put_text(out, text, d as usize);
            }
            Op::TakeCounted => {
                let len = self.cursor.take(c);
                let text = self.cursor.take_text(len);
                self.put_text(out, text, 0);
            }
            Op::TextBy => {
                let text = self.cursor.take_text(self.reg(b));
                self.put_text(out, text, 0);
            }
            Op::HexBytes => {
                let bytes = self.cursor.raw(b.into(), c);
                out.len = put_hex_bytes(buf, o, bytes, c as usize);
            }
            Op::TakeHexBytes => {
                let bytes = self.cursor.take_raw(c);
                out.len = put_hex_bytes(buf, o, bytes, c as usize);
            }
            Op::PutName => self.put_name(out, b),
            Op::TakeString => {
                let text = self.cursor.take_string();
                put_escaped(out, text);
            }
            Op::PassString => drop(self.cursor.take_string()),
            Op::TakeEscaped => {
                let truncated = self.cursor.truncated;
                let text = self.cursor.take_text(b.into());
                self.cursor.truncated = truncated;
                put_escaped(out, text);
            }
            Op::TakeWords => self.put_words(out, b as usize),
            Op::TakeName => self.put_record_name(out, b as usize),

            Op::Mark => {
                self.set(a, o as u64);
                self.select(true);
            }
            Op::Lower => {
                buf[(self.reg(b) as usize).min(o)..o].make_ascii_lowercase();
                self.select(false);
            }
            Op::FlagsList => {
                for (at, text) in met_texts(self.program, c, self.reg(b)).enumerate() {
                    out.push(if at > 0 { b" " } else { b"" });
                    out.push(text);
                }
            }
            // No read went too far: what else is read, and its loops, go on.
            Op::Cut => self.outcome.truncated = true,
            Op::Flags => self.put_flags(out, self.program.table(c).1, self.reg(b)),
            Op::Nibbles => {
                self.put_many_nibbles(out, instr, self.reg(b));
                if a == 1 && out.len > o {
                    self.soft_end = out.len;
                }
            }
            Op::NibblesAt => {
                let value = self.load::<CHECK>(b, a.into());
                self.put_many_nibbles(out, instr, value);
            }
            Op::NibblesWord => self.put_many_nibbles(out, instr, self.word(b, a.into())),
            Op::Stop => self.outcome.stop = true,
            Op::Error => self.put_error(out),
            Op::TimerStart => {
                let key = self.timer_key(b, c);
                self.timers.start(key, self.event.time_ns);
            }
            Op::TimerEnd => {
                let key = self.timer_key(b, c);
                if let Some(ns) = self.timers.end(key, self.event.time_ns) {
                    out.len = put_elapsed(buf, o, ns, self.program.settings.msec_from_usec);
                }
            }
            Op::And
            | Op::Bits
            | Op::Call
            | Op::Const
            | Op::Dec4At
            | Op::DecAt
            | Op::Dump
            | Op::Differ
            | Op::End
            | Op::Equal
            | Op::Field
            | Op::FieldDec
            | Op::FieldHexC
            | Op::FieldHexLow
            | Op::FieldHexMin
            | Op::FieldInt
            | Op::FlagsAny
            | Op::Hex4At
            | Op::HexAt
            | Op::IntAt
            | Op::Jump
            | Op::JumpZero
            | Op::Load
            | Op::LoadLe
            | Op::Loop
            | Op::LoopNext
            | Op::Move
            | Op::Print
            | Op::PtrAdd
            | Op::PtrSet
            | Op::PutAscii
            | Op::PutCase
            | Op::PutDec
            | Op::PutHex
            | Op::PutHexC
            | Op::PutHexFit
            | Op::PutHexLow
            | Op::PutHexMin
            | Op::PutInt
            | Op::PutOctC
            | Op::Reach
            | Op::Ret
            | Op::Sext
            | Op::Skip
            | Op::Soft
            | Op::SoftDrop
            | Op::Switch
            | Op::SwitchLit
            | Op::SwitchLitAt
            | Op::SwitchLitWord
            | Op::SwitchText
            | Op::Take
            | Op::TakeLe
            | Op::TakeReach
            | Op::Word
            | Op::Word8Dec
            | Op::WordDec
            | Op::WordHex
            | Op::Text => debug_assert!(false, "{op:?} belongs to the loop"),
        }
    }

    fn put_many_nibbles(&self, out: &mut TextBuf, instr: &Instr, value: u64) {
        out.room(instr.d as usize * 32);
        out.len += put_nibbles(&mut out.buf[out.len..], self.program.words(), instr.c, instr.d, value);
    }

    /// Takes back a selector's text; where its table sends it.
    fn switch_text(&mut self, out: &mut TextBuf, mark: u32, table: u32) -> Option<u64> {
        let start = (self.reg(mark) as usize).min(out.len);
        let (_, words) = self.program.table(table);
        let to = table::find_text(words, self.program.strings(), &out.buf[start..out.len]);
        out.len = start;
        self.select(false);
        to
    }

    /// A fixed read. Outside the checked twin the event is long enough (rule V6).
    #[inline(always)]
    fn load<const CHECK: bool>(&mut self, at: u32, width: u32) -> u64 {
        if CHECK { self.cursor.number(at.into(), width) } else { self.cursor.whole(at, width).unwrap_or(0) }
    }

    /// A checked field at a fixed place; `None` where the event does not hold it, which only the checked twin meets
    /// (rule V6).
    #[inline(always)]
    fn field<const CHECK: bool>(&self, at: u32, how: u32) -> Option<u64> {
        let width = how & form::WIDTH;
        // Nearly all fields are words.
        if width == 4
            && let Some(word) = self.cursor.four(at)
        {
            let little = how & form::LITTLE != 0;
            return Some(if little { u32::from_le_bytes(word) } else { u32::from_be_bytes(word) }.into());
        }
        let value = self.cursor.whole(at, width);
        let value = if CHECK { value? } else { value.unwrap_or(0) };
        Some(if how & form::LITTLE != 0 { low_first(value, width) } else { value })
    }

    /// A data word: 0 where the event does not hold it whole.
    #[inline(always)]
    fn word(&self, at: u32, width: u32) -> u64 {
        self.cursor.whole(at, width).unwrap_or(0)
    }

    fn env(&self, what: u32) -> u64 {
        let (event, context) = (self.event, self.context);
        match EnvValue::from_u32(what) {
            Some(EnvValue::TraceEnv) => context.trace_env.into(),
            Some(EnvValue::HookData) => event.hook_data().into(),
            Some(EnvValue::HookLen) => event.hook_len().into(),
            Some(EnvValue::HookType) => event.hook_type().into(),
            Some(EnvValue::RelLine) => self.line.number,
            Some(EnvValue::TotalCpus) => context.total_cpus.into(),
            Some(EnvValue::TracedCpus) => context.traced_cpus.into(),
            Some(EnvValue::ReportedCpus) => context.reported_cpus.into(),
            Some(EnvValue::LargeDataTypes) => context.large_data_types.into(),
            Some(EnvValue::Buffering) => context.buffering.into(),
            Some(EnvValue::IpAddress) => context.ip_address.into(),
            Some(EnvValue::Pid) => context.pid,
            Some(EnvValue::Tid) => context.tid,
            Some(EnvValue::Cpu) => context.cpu,
            Some(EnvValue::Priority) => context.priority,
            Some(EnvValue::LogIndex) => event.offset.wrapping_add(self.cursor.byte()),
            Some(EnvValue::LogIndex0) => event.offset,
            Some(EnvValue::PayloadLen) => event.bytes.len() as u64,
            Some(EnvValue::EventNumber) => event.record.map_or(0, |record| record.event.into()),
            None => 0,
        }
    }

    fn divide(&mut self, left: u64, right: u64) -> u64 {
        self.outcome.divided_by_zero |= right == 0;
        if right == 0 { 0 } else { (left as i64).wrapping_div(right as i64) as u64 }
    }

    fn timer_key(&self, first: u32, second: u32) -> [u64; 3] {
        let thread = if self.program.settings.timer_by_thread { self.context.tid } else { 0 };
        [self.reg(first), self.reg(second), thread]
    }

    /// Begins or ends printing what does not count towards the text limit.
    fn select(&mut self, selecting: bool) {
        if std::mem::replace(&mut self.selecting, selecting) != selecting {
            let limit = if selecting {
                self.text_limit.saturating_add(SELECTOR)
            } else {
                self.text_limit.saturating_sub(SELECTOR)
            };
            self.text_limit = limit;
        }
    }

    /// Pays for a loop turn or call; false where none are left.
    #[inline]
    fn turn(&mut self) -> bool {
        let paid = self.turns > 0;
        self.turns = self.turns.saturating_sub(1);
        paid
    }

    #[cold]
    fn stop_at(&mut self, o: usize, out: &mut TextBuf) -> End {
        out.len = o;
        End::Limit
    }

    /// Removes a first or further line's blanks where no text follows them.
    fn close_line(&self, out: &mut TextBuf) {
        if out.len == self.line.text {
            while out.len > self.line.start && out.buf[out.len - 1] == b' ' {
                out.len -= 1;
            }
        }
    }

    fn newline(&mut self, out: &mut TextBuf) {
        self.close_line(out);
        out.push(b"\n");
        self.line.start = out.len;
        out.pad(self.line.margin);
        self.line.text = out.len;
        self.line.number += 1;
        self.soft_end = usize::MAX;
    }

    /// Text of the event's: unprintable bytes as dots, padded.
    fn put_text(&self, out: &mut TextBuf, text: &[u8], pad: usize) {
        out.room(text.len());
        let start = out.len;
        out.len = copy_printable(&mut out.buf, start, text);
        let pad = pad.saturating_sub(text.len());
        // A padding of gigabytes is cut at the text limit like any other text.
        out.pad(pad.min((self.text_limit + 1).saturating_sub(out.len)));
    }

    /// Up to `count` words as QNX prints the first bytes of a message: the text, then each word as a little-endian
    /// number.
    fn put_words(&mut self, out: &mut TextBuf, count: usize) {
        let rest = self.cursor.rest();
        let (words, _) = rest[..rest.len().min(count.saturating_mul(4))].as_chunks::<4>();
        self.cursor.add(words.len() as u64 * 4, 0);
        out.push(b"\"");
        for word in words {
            let end = word.iter().position(|byte| *byte == 0).unwrap_or(4);
            if !word[..end].iter().all(|byte| prints(*byte)) {
                break;
            }
            out.push(&word[..end]);
            if end < 4 {
                break;
            }
        }
        out.push(b"\" (");
        for (at, word) in words.iter().enumerate() {
            out.push(if at > 0 { b" 0x" } else { b"0x" });
            out.room(0);
            out.len = num::hex_low(&mut out.buf, out.len, u32::from_le_bytes(*word).into(), 8);
        }
        out.push(b")");
    }

    /// A name at the end of a record: nothing where a byte of it does not print.
    fn put_record_name(&mut self, out: &mut TextBuf, spare: usize) {
        let rest = self.cursor.rest();
        let field = &rest[..rest.len().saturating_sub(spare)];
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
        if field[..end].iter().all(|byte| prints(*byte)) {
            out.push(&field[..end]);
        }
        self.cursor.add(rest.len() as u64, 0);
    }

    fn put_path(&self, out: &mut TextBuf, pid: u64) {
        match self.context.processes.get(&pid) {
            Some(path) => out.push(path),
            None => {
                out.room(0);
                store(&mut out.buf, out.len, [b'-']);
                let end = num::dec(&mut out.buf, out.len + 1, pid);
                store(&mut out.buf, end, [b'-']);
                out.len = end + 1;
            }
        }
    }

    fn put_name(&self, out: &mut TextBuf, what: u32) {
        match EnvText::from_u32(what) {
            Some(EnvText::Svc) => out.push(self.context.svc),
            Some(EnvText::ExecPath) => out.push(self.context.exec_path),
            Some(EnvText::LogFile) => out.push(self.context.log_file),
            Some(EnvText::TraceId) => self.put_trace_id(out),
            None => {}
        }
    }

    /// The hook id as the report's ID column prints it: `hhh` for `hhh0`.
    fn put_trace_id(&self, out: &mut TextBuf) {
        let id = self.event.hook_id();
        out.room(0);
        out.len = if id.is_multiple_of(16) {
            num::hex(&mut out.buf, out.len, u64::from(id >> 4), 3)
        } else {
            num::hex(&mut out.buf, out.len, id.into(), 4)
        };
    }

    fn put_error(&self, out: &mut TextBuf) {
        out.push(b"ERROR: log file ");
        out.push(self.context.log_file);
        out.push(b", offset 0x");
        let offset = self.event.offset;
        let digits = (64 - offset.leading_zeros()).div_ceil(4).max(1) as usize;
        out.room(0);
        out.len = num::hex(&mut out.buf, out.len, offset, digits);
        out.push(b", traceid ");
        self.put_trace_id(out);
    }

    fn put_errno(&self, buf: &mut [u8], o: usize, value: u64, width: u32) -> usize {
        match crate::errno_name(low_bits(value, width * 8)).filter(|_| self.program.settings.errno_names) {
            Some(name) => store_slice(buf, o, name.as_bytes()),
            None => num::int(buf, o, sext(value, width * 8)),
        }
    }

    fn put_flags(&mut self, out: &mut TextBuf, table: &[u64], value: u64) {
        for entry in table.chunks_exact(FLAG_WORDS) {
            let &[mask, field, yes, no, soft] = entry else { return };
            let (string, soft) = if value & mask == field { (yes, soft & 1) } else { (no, soft >> 1 & 1) };
            let (offset, len) = table::unpack_str(string);
            let text = self.program.strings().get(offset..offset + len).unwrap_or(b"");
            if matches!(text, [b' ' | b'\t', ..]) && self.soft_end == out.len {
                out.len -= 1;
                self.soft_end = usize::MAX;
            }
            out.push(text);
            if soft == 1 {
                out.push(b" ");
                self.soft_end = out.len;
            }
        }
    }

    /// `LOOP count { X0 }` or `{ X1 }`: stops behind the first byte that the event does not hold. False where a
    /// limit is reached.
    fn dump(&mut self, out: &mut TextBuf, count: u64, soft: bool) -> bool {
        let mut left = if (count as i64) < 0 || self.cursor.truncated { 0 } else { count };
        let text_left = (self.text_limit + 1).saturating_sub(out.len);
        let whole = self.cursor.take_whole(left.min(self.turns.into()).min(text_left as u64));
        self.put_pairs(out, whole, soft);
        left -= whole.len() as u64;
        self.turns -= whole.len() as u32;
        // The byte behind the event's end, or the limit.
        while left > 0 && !self.cursor.truncated {
            if out.len > self.text_limit || !self.turn() {
                return false;
            }
            let byte = [self.cursor.take(1) as u8];
            self.put_pairs(out, &byte, soft);
            left -= 1;
        }
        true
    }

    fn put_pairs(&mut self, out: &mut TextBuf, bytes: &[u8], soft: bool) {
        out.room(bytes.len() * 3 + 32);
        if !soft {
            out.len = num::hex_run::<2>(&mut out.buf, out.len, bytes);
        } else if !bytes.is_empty() {
            out.len = num::hex_run::<3>(&mut out.buf, out.len, bytes);
            self.soft_end = out.len;
        }
    }

    /// Closes the last line and says what the event met.
    #[inline]
    fn finish(&mut self, end: End, out: &mut TextBuf) -> Outcome {
        let plain = end == End::Done && !self.selecting && out.len <= self.text_limit && out.len > self.line.text;
        if plain {
            self.outcome.truncated |= self.cursor.truncated;
            out.room(1);
            store(&mut out.buf, out.len, [b'\n']);
            out.len += 1;
            return self.outcome;
        }
        self.finish_slow(end, out)
    }

    /// The same where a line may be empty, a limit was reached or the event is dropped.
    #[cold]
    fn finish_slow(&mut self, end: End, out: &mut TextBuf) -> Outcome {
        self.select(false);
        self.outcome.truncated |= self.cursor.truncated;
        self.outcome.skipped = end == End::Skip;
        if self.outcome.skipped {
            out.truncate(self.event_start);
            return self.outcome;
        }
        if end == End::Limit && self.soft_end == out.len {
            out.len -= 1;
        }
        let limited = end == End::Limit || out.len > self.text_limit;
        if limited {
            out.truncate(self.text_limit);
            out.push(b" [limit]");
            self.outcome.limited = true;
        }
        self.close_line(out);
        out.push(b"\n");
        self.outcome
    }
}

/// The buffer as far as an event's text may go.
#[inline(always)]
fn within(buf: &mut [u8], text_limit: usize) -> &mut [u8] {
    let end = buf.len().min(text_limit.saturating_add(TextBuf::SLACK));
    &mut buf[..end]
}

fn low_bits(value: u64, count: u32) -> u64 {
    if count >= 64 { value } else { value & ((1 << count) - 1) }
}

fn sext(value: u64, count: u32) -> u64 {
    let spare = 64 - count.clamp(1, 64);
    ((value << spare) as i64 >> spare) as u64
}

/// Hex as C's `%#x` prints it, but zero as `0x0`.
#[inline(always)]
fn put_hex_c(buf: &mut [u8], value: u64) -> usize {
    store(buf, 0, *b"0x");
    num::hex_min(buf, 2, value)
}

/// Octal as C's `%#o` prints it.
fn put_oct_c(buf: &mut [u8], value: u64) -> usize {
    if value == 0 {
        store(buf, 0, [b'0']);
        return 1;
    }
    store(buf, 0, [b'0']);
    num::oct(buf, 1, value)
}

/// A character where it prints, else hex.
fn put_ascii(buf: &mut [u8], value: u64) -> usize {
    if (0x20..=0x7e).contains(&value) {
        store(buf, 0, [value as u8]);
        return 1;
    }
    put_hex_c(buf, value)
}

/// Whether a byte stands in a text that QNX prints.
fn prints(byte: u8) -> bool {
    (0x20..=0x7e).contains(&byte) || byte == b'\n'
}

/// The text with escapes for what would break a line or does not print; bytes from 0x80 up stay.
fn put_escaped(out: &mut TextBuf, text: &[u8]) {
    let special = |byte: &u8| *byte < 0x20 || *byte == 0x7f;
    let mut rest = text;
    while let Some(at) = rest.iter().position(special) {
        out.push(&rest[..at]);
        match rest[at] {
            b'\t' => out.push(b"\\t"),
            b'\n' => out.push(b"\\n"),
            b'\r' => out.push(b"\\r"),
            byte => {
                out.push(b"\\x");
                out.room(0);
                out.len = num::hex_low(&mut out.buf, out.len, byte.into(), 2);
            }
        }
        rest = &rest[at + 1..];
    }
    out.push(rest);
}

/// The text that a table has for a number.
#[inline(always)]
fn case_text<'p>(program: &'p Program<'_>, table: u32, value: u64) -> &'p [u8] {
    let (kind, words) = program.table(table);
    let (offset, len) = table::unpack_str(table::find_number(kind, words, value).unwrap_or(0));
    program.strings().get(offset..offset + len).unwrap_or(b"")
}

/// The texts of a BITFLAGS table's entries that a value meets, without the empty ones.
fn met_texts<'p>(program: &'p Program<'_>, table: u32, value: u64) -> impl Iterator<Item = &'p [u8]> {
    let (entries, _) = program.table(table).1.as_chunks::<FLAG_WORDS>();
    entries.iter().filter_map(move |&[mask, field, yes, no, _]| {
        let (offset, len) = table::unpack_str(if value & mask == field { yes } else { no });
        program.strings().get(offset..offset + len).filter(|text| !text.is_empty())
    })
}

fn put_float(buf: &mut [u8], o: usize, value: u64, width: u32) -> usize {
    if width == 4 {
        num::float(buf, o, f32::from_bits(value as u32).into())
    } else {
        num::float(buf, o, f64::from_bits(value))
    }
}

/// Hex digits of a field; bytes that the event does not hold are zero.
fn put_hex_bytes(buf: &mut [u8], o: usize, bytes: &[u8], len: usize) -> usize {
    let end = num::hex_run::<2>(buf, o, bytes);
    num::hex_run::<2>(buf, end, &[0; 16][..len.saturating_sub(bytes.len()).min(16)])
}

/// The text with an index, or the default behind the last: 15 bytes and a length in two words.
#[inline(always)]
fn put_indexed(buf: &mut [u8], words: &[u64], base: u32, count: u32, index: u64) -> usize {
    let at = base as usize + index.min(count.into()) as usize * 2;
    let Some(text) = words.get(at..).and_then(|rest| rest.first_chunk::<2>()) else { return 0 };
    store(buf, 0, bytemuck::cast::<_, [u8; 16]>(text.map(u64::to_le)));
    (text[1] >> 56) as usize
}

/// The texts of nibble tables: 31 bytes and a length in four words, 16 texts a nibble.
fn put_nibbles(buf: &mut [u8], words: &[u64], base: u32, count: u32, value: u64) -> usize {
    let (texts, _) = words.get(base as usize..).unwrap_or(&[]).as_chunks::<4>();
    let mut o = 0;
    for nibble in 0..count {
        let index = (value >> ((nibble * 4) & 63) & 15) as usize;
        let Some(text) = texts.get(nibble as usize * 16 + index) else { break };
        store(buf, o, bytemuck::cast::<_, [u8; 32]>(text.map(u64::to_le)));
        o += (text[3] >> 56) as usize & 31;
    }
    o
}

/// The same for two nibbles.
#[inline(always)]
fn put_two_nibbles(buf: &mut [u8], words: &[u64], base: u32, value: u64) -> usize {
    let Some(words) = words.get(base as usize..).and_then(|rest| rest.first_chunk::<128>()) else { return 0 };
    let texts: &[[u64; 4]; 32] = bytemuck::cast_ref(words);
    let (low, high) = (&texts[(value & 15) as usize], &texts[16 + (value >> 4 & 15) as usize]);
    let len = (low[3] >> 56) as usize & 31;
    store(buf, 0, bytemuck::cast::<_, [u8; 32]>(low.map(u64::to_le)));
    store(buf, len, bytemuck::cast::<_, [u8; 32]>(high.map(u64::to_le)));
    len + ((high[3] >> 56) as usize & 31)
}

/// `[n usec]` below the threshold in µs, `[n msec]` from there, truncated.
fn put_elapsed(buf: &mut [u8], o: usize, ns: u64, msec_from: u64) -> usize {
    let usec = ns / 1000;
    let (n, unit) = if usec < msec_from { (usec, b" usec]") } else { (usec / 1000, b" msec]") };
    store(buf, o, [b'[']);
    let o = num::dec(buf, o + 1, n);
    store(buf, o, *unit);
    o + unit.len()
}

/// Copies a text, bytes below 0x20 and above 0x7e as dots. The buffer holds room for it.
#[inline(always)]
fn copy_printable(buf: &mut [u8], at: usize, text: &[u8]) -> usize {
    let Some(room) = buf.get_mut(at..at + text.len()) else { return at };
    let (chunks, rest) = text.as_chunks::<8>();
    let (to, to_rest) = room.as_chunks_mut::<8>();
    for (to, from) in to.iter_mut().zip(chunks) {
        *to = if all_printable(u64::from_le_bytes(*from)) { *from } else { dotted(*from) };
    }
    for (to, from) in to_rest.iter_mut().zip(rest) {
        *to = printable(*from);
    }
    at + text.len()
}

#[cold]
fn dotted(bytes: [u8; 8]) -> [u8; 8] {
    bytes.map(printable)
}

#[inline]
fn printable(byte: u8) -> u8 {
    if (0x20..=0x7e).contains(&byte) { byte } else { b'.' }
}

/// Whether all eight bytes are from 0x20 to 0x7e: the sign bits of `x - 0x20` where x is small, of `x + 1` and x
/// where it is large.
#[inline(always)]
fn all_printable(bytes: u64) -> bool {
    const ONES: u64 = u64::MAX / 255;
    let low = bytes.wrapping_sub(ONES * 0x20) & !bytes;
    let high = bytes.wrapping_add(ONES) | bytes;
    (low | high) & (ONES * 0x80) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable_bytes_are_told_in_every_place() {
        for place in 0..8 {
            for byte in 0..=255 {
                let mut bytes = *b"printed.";
                bytes[place] = byte;
                assert_eq!(all_printable(u64::from_le_bytes(bytes)), printable(byte) == byte, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn texts_are_copied_with_dots() {
        let text: Vec<u8> = (0..=255).collect();
        for len in 0..=256 {
            let mut buf = vec![0; 512];
            let end = copy_printable(&mut buf, 3, &text[..len]);
            let expected: Vec<u8> = text[..len].iter().map(|byte| printable(*byte)).collect();
            assert_eq!(&buf[3..end], expected);
        }
    }
}
