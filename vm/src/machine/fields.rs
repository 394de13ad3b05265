//! Fields of an event: instructions that store a value and its validity in the event's row, and the loop that runs
//! them.
//!
//! The loop knows which registers hold a value. A register has none if the instruction that wrote it read past the
//! event's end, or used a register without value. The instruction table says what each instruction reads and writes,
//! so no handler needs to know about this.
//!
//! In most events, all registers have values. So an event that is long enough first runs in the ordinary loop. It runs
//! again in this loop if a read passed the event's end. Routines that use timers or the context run only in this loop,
//! because a first run could change these. Routines of QNX records never need it, because they check the record's
//! length before each read.

use super::texts::{low_bits, matching_texts};
use super::{End, Run, STEP};
use crate::mem::{ExecState, OutPtr, Pc};
use crate::op::{Instr, N_REGS, Op, OperandKind, Reads, Slot, StateUse, for_each_op};
use crate::program::PreparedEntry;
use crate::row::RowFull;
use crate::verify::UNCOUNTED;
use crate::{Context, Event, EventContext, EventInput, Outcome, Row, TextBuf, Unobserved, table};

/// Limit on the text that is not stored yet, and on the line ends that templates with `$RELLINENO` count.
const MAX_TEXT: usize = 1 << 24;

/// Registers without value.
#[derive(Debug, Default)]
pub(super) struct Missing {
    registers: [u64; N_REGS / 64],
    /// True if any register ever lacked a value in this event.
    any: bool,
    /// True if an instruction since the last mark read past the event's end or used a register without value. Outside
    /// the loop, only data words and `field.missing` set it.
    gap: bool,
    /// True while fields are stored. In the routine of a text, the instructions do nothing.
    is_active: bool,
}

impl Missing {
    fn begin(&mut self) {
        if self.any {
            self.registers = [0; N_REGS / 64];
        }
        (self.any, self.gap, self.is_active) = (false, false, true);
    }

    fn has(&self, register: u32) -> bool {
        self.registers[register as usize / 64 % (N_REGS / 64)] >> (register % 64) & 1 == 1
    }

    fn set(&mut self, register: u32, is_missing: bool) {
        if is_missing || self.any {
            let word = &mut self.registers[register as usize / 64 % (N_REGS / 64)];
            *word = *word & !(1 << (register % 64)) | u64::from(is_missing) << (register % 64);
            self.any |= is_missing;
        }
    }
}

/// Properties of an instruction that the loop needs.
#[derive(Clone, Copy)]
struct Effect {
    reads_event: bool,
    /// Slots of registers that it reads.
    sources: [Option<Slot>; 3],
    /// Slot of the register that it writes.
    target: Option<Slot>,
}

const NO_EFFECT: Effect = Effect { reads_event: false, sources: [None; 3], target: None };

const fn effect(op: Op) -> Effect {
    let info = op.info();
    let mut effect = Effect { reads_event: !matches!(info.reads, Reads::Nothing), ..NO_EFFECT };
    let (mut at, mut n_sources) = (0, 0);
    while at < info.operands.len() {
        let (_, slot, kind) = info.operands[at];
        match kind {
            OperandKind::Src if n_sources < 3 => {
                effect.sources[n_sources] = Some(slot);
                n_sources += 1;
            }
            OperandKind::Dst => effect.target = Some(slot),
            _ => {}
        }
        at += 1;
    }
    effect
}

macro_rules! define_effects {
    ($($(#[doc = $doc:literal])* $number:literal $name:ident = $mnemonic:literal $form:ident
        { $($operand:ident: $slot:ident $kind:ident),* }
        reads $reads:ident, uses $uses:ident, by $($handler:ident)::+ $(<$mode:ident, $order:ident>)? $(, $effects:ident)?;)*) => {
        /// Effects by opcode.
        static EFFECTS: [Effect; 256] = {
            let mut all = [NO_EFFECT; 256];
            $(all[$number] = effect(Op::$name);)*
            all
        };
    };
}

for_each_op!(define_effects);

impl<'r> Run<'r> {
    /// Stores an event's fields in the run's row ([`Run::row`]), by a prepared entry of [`Space::HookFields`]. With
    /// `is_trial`, restores the timers afterwards, because the event's text runs after its fields. `out` is scratch
    /// space.
    ///
    /// [`Space::HookFields`]: crate::Space::HookFields
    pub fn fields(
        &mut self,
        prepared: &PreparedEntry<'r>,
        input: &impl EventContext<'r>,
        is_trial: bool,
        out: &mut TextBuf,
    ) -> Outcome {
        self.program = prepared.program;
        if input.bytes().len() >= prepared.need as usize
            && prepared.uses < StateUse::Context
            && prepared.body <= UNCOUNTED
            && let Some(outcome) = self.run_fields::<false, false>(prepared, input, out)
        {
            return outcome;
        }
        if is_trial {
            self.timers.begin_trial();
        }
        let outcome = self.run_fields::<true, false>(prepared, input, out);
        self.timers.end_trial();
        outcome.unwrap_or_default()
    }

    /// Stores a QNX record's fields in the run's row, by a prepared entry of [`Space::RecordFields`]. `out` is scratch
    /// space.
    ///
    /// [`Space::RecordFields`]: crate::Space::RecordFields
    pub fn record_fields(&mut self, prepared: &PreparedEntry<'r>, event: &Event<'r>, out: &mut TextBuf) -> Outcome {
        self.program = prepared.program;
        let input = EventInput { event, context: &Context::EMPTY };
        self.run_fields::<false, true>(prepared, &input, out).unwrap_or_default()
    }

    /// Fields of the last event.
    pub fn row(&self) -> &Row {
        &self.scratch.row
    }

    /// Runs a routine of fields. With `TRACKS`, tracks which registers have no value. Without it, the result is `None`
    /// if any value may be missing. With `RECORD`, the event is a QNX record, which may be shorter than its routine
    /// needs.
    #[inline(always)]
    fn run_fields<const TRACKS: bool, const RECORD: bool>(
        &mut self,
        prepared: &PreparedEntry<'r>,
        input: &impl EventContext<'r>,
        out: &mut TextBuf,
    ) -> Option<Outcome> {
        if TRACKS || self.dirty {
            self.reset();
        }
        self.scratch.row.begin(0);
        self.scratch.missing.begin();
        if TRACKS || prepared.uses != StateUse::Nothing {
            self.cursor.go_to(0);
        }
        let before = out.len();
        if TRACKS || prepared.uses >= StateUse::Event {
            (self.event, self.start_index, self.margin) = (input.event(), prepared.start_index as usize, 0);
        }
        if TRACKS || RECORD && (prepared.uses == StateUse::Context || prepared.body > UNCOUNTED) {
            self.look_around(prepared.body, prepared.zeroed, input.context());
        } else if prepared.zeroed > 0 {
            self.scratch.regs[..prepared.zeroed.into()].fill(0);
        }
        self.cursor.bytes = input.bytes();
        #[cfg(feature = "paranoid")]
        self.watch_event(prepared);
        let nothing = None::<fn(&mut [u8; crate::COLUMNS]) -> usize>;
        let at = ExecState::begin_line(out, nothing, 0);
        let len = ExecState::length(out, at);
        self.text_limit = len + MAX_TEXT;
        let mut at = self.stage.begin((prepared.code, prepared.body as usize), out, at, 0, self.text_limit);
        (self.first.start, self.first.text) = (len, len);
        let pc = self.stage.start();
        at = if TRACKS {
            self.run_until_end(pc, at, out)
        } else {
            let is_long = !RECORD || input.bytes().len() >= prepared.need as usize;
            let orders = prepared.orders;
            let handlers = if is_long { self.long[orders as usize] } else { super::checked(orders) };
            self.go(handlers, pc, at, out, &mut Unobserved)
        };
        self.scratch.missing.is_active = false;
        self.stage.close(out, at);
        out.truncate(before);
        if !TRACKS && !(self.dirty | self.cursor.truncated | self.scratch.missing.gap) {
            return Some(Outcome::default());
        }
        let state = *self.state();
        let outcome =
            Outcome { skipped: state.end == End::Skip, limited: state.end == End::Limit, ..self.outcome_so_far() };
        let is_complete = TRACKS || RECORD || !(outcome.truncated | self.scratch.missing.gap);
        if is_complete {
            self.n_steps += u64::from(self.initial.steps.saturating_sub(state.steps));
        }
        self.reset();
        is_complete.then_some(outcome)
    }

    /// Runs instructions from `pc` to the end of the routine.
    fn run_until_end(&mut self, mut pc: Pc, mut at: OutPtr, out: &mut TextBuf) -> OutPtr {
        while let Some(instr) = self.instr(pc) {
            let effect = EFFECTS[usize::from(instr.op)];
            let was_cut = self.cursor.truncated;
            self.cursor.truncated &= !effect.reads_event;
            let mut is_missing =
                effect.sources.iter().flatten().any(|slot| self.scratch.missing.has(instr.slot(*slot)));
            (at, pc) = if self.stage.has_room(at) {
                self.step(super::observed(), at, instr, out)
            } else {
                self.step_making_room(super::observed(), at, instr, out)
            };
            if effect.reads_event {
                is_missing |= self.cursor.truncated || instr.op == Op::Word as u8 && self.lacks_word(instr);
                self.cursor.truncated |= was_cut;
            }
            is_missing |= instr.op == Op::FieldMissing as u8;
            self.scratch.missing.gap |= is_missing;
            if let Some(slot) = effect.target {
                self.scratch.missing.set(instr.slot(slot), is_missing);
            }
            if instr.op == Op::Mark as u8 {
                self.scratch.missing.gap = false;
            }
        }
        at
    }

    /// Notes that a value is missing.
    #[cold]
    pub(super) fn mark_missing(&mut self) {
        self.scratch.missing.gap = true;
    }

    /// True if the event does not contain all of a data word.
    fn lacks_word(&self, instr: &Instr) -> bool {
        self.cursor.bytes.len() < instr.b as usize + instr.c as usize
    }

    /// True if a register has a value.
    fn is_known(&self, register: u32) -> bool {
        !self.scratch.missing.has(register)
    }

    /// True if a list with this count is null.
    fn is_null_list(&self, count: u32) -> bool {
        !self.is_known(count) || (self.reg(count) as i64) > 0 && self.cursor.truncated
    }
}

/// Defines handlers that print nothing. The event ends if its row is full.
macro_rules! storing {
    ($($name:ident |$run:ident, $instr:ident| $does:expr;)*) => {$(
        pub(super) fn $name<'r>($run: &mut Run<'r>, at: OutPtr, $instr: &'r Instr, _: &mut TextBuf) -> (OutPtr, Pc) {
            let result: Result<(), RowFull> = if $run.scratch.missing.is_active { $does } else { Ok(()) };
            match result {
                Ok(()) => (at, $run.stage.after($instr)),
                Err(RowFull) => $run.stop(End::Limit, at),
            }
        }
    )*};
}

storing! {
    row |run, instr| {
        run.scratch.row.begin(instr.b);
        Ok(())
    };
    top |run, instr| {
        run.scratch.row.leave_lists();
        Ok(())
    };
    put |run, instr| {
        if run.is_known(instr.b) {
            run.scratch.row.put_number(instr.a, run.reg(instr.b));
        } else {
            run.scratch.row.put_null(instr.a);
        }
        Ok(())
    };
    begin |run, instr| {
        if run.is_null_list(instr.b) {
            run.scratch.row.put_null(instr.a);
            Ok(())
        } else {
            run.scratch.row.put_bytes(instr.a, b"")
        }
    };
    byte |run, instr| {
        if run.is_known(instr.b) { run.scratch.row.append(instr.a, &[run.reg(instr.b) as u8]) } else { Ok(()) }
    };
    bytes |run, instr| {
        let bytes = run.cursor.take_raw(instr.c);
        if bytes.len() == instr.c as usize {
            run.scratch.row.put_bytes(instr.a, bytes)
        } else {
            run.scratch.row.put_null(instr.a);
            Ok(())
        }
    };
    wide |run, instr| {
        if run.is_known(instr.b) {
            let mut bytes = [0; 16];
            bytes[8..].copy_from_slice(&run.reg(instr.b).to_be_bytes());
            run.scratch.row.put_bytes(instr.a, &bytes[16 - (instr.c as usize).min(16)..])
        } else {
            run.scratch.row.put_null(instr.a);
            Ok(())
        }
    };
    label |run, instr| {
        if instr.c == 0 || run.scratch.row.is_null(instr.a) {
            run.scratch.row.put_label(instr.a, instr.b);
        }
        Ok(())
    };
    case |run, instr| {
        let (kind, words) = run.program.table(instr.c);
        let label = table::find_label(kind, words, run.reg(instr.b));
        if let Some(label) = label.filter(|_| instr.d == 0 || run.scratch.row.is_null(instr.a)) {
            run.scratch.row.put_label(instr.a, label);
        }
        Ok(())
    };
    errno |run, instr| {
        let name = crate::errno_name(low_bits(run.reg(instr.b), instr.c.min(8) * 8));
        match name.filter(|_| run.is_known(instr.b) && (instr.d == 0 || run.scratch.row.is_null(instr.a))) {
            Some(name) => run.scratch.row.put_bytes(instr.a, name.as_bytes()),
            None => Ok(()),
        }
    };
    path |run, instr| {
        let is_wanted = run.is_known(instr.b) && (instr.c == 0 || run.scratch.row.is_null(instr.a));
        let pid = run.reg(instr.b);
        run.timers.note_pid(pid);
        match run.context.as_ref().and_then(|context| context.processes.get(&pid)) {
            Some(path) if is_wanted => run.scratch.row.put_bytes(instr.a, path),
            _ => Ok(()),
        }
    };
    flags |run, instr| {
        run.charge(run.program.table(instr.c).1.len() / table::FLAG_WORDS);
        let is_null = !run.is_known(instr.b);
        let value = run.reg(instr.b);
        let texts = matching_texts(run.program, instr.c, value).filter(|text| !text.is_empty() && !is_null);
        let row = &mut run.scratch.row;
        row.begin_list(instr.a, is_null, 1);
        let mut stored = Ok(());
        for text in texts {
            stored = stored.and_then(|()| row.begin_item()).and_then(|()| row.put_bytes(0, text));
        }
        row.end_list();
        stored
    };
    list |run, instr| {
        run.scratch.row.begin_list(instr.a, run.is_null_list(instr.b), instr.c);
        Ok(())
    };
    item |run, instr| run.scratch.row.begin_item();
    end_list |run, instr| {
        run.scratch.row.end_list();
        Ok(())
    };
    timer |run, instr| {
        let key = run.timer_key(instr.b, instr.c);
        match run.timers.end(key, run.event.time_ns) {
            Some(ns) => run.scratch.row.put_number(instr.a, ns),
            None => run.scratch.row.put_null(instr.a),
        }
        Ok(())
    };
    call |run, instr| if run.count_iteration() { Ok(()) } else { Err(RowFull) };
}

pub(super) fn missing<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, _: &mut TextBuf) -> (OutPtr, Pc) {
    run.set(instr.a, 0);
    run.mark_missing();
    (at, run.stage.after(instr))
}

pub(super) fn text<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    storing_text(run, at, instr, out, |row, instr, text| {
        if instr.d == 1 && text.is_empty() {
            row.put_null(instr.a);
            return Ok(());
        }
        row.put_bytes(instr.a, text)
    })
}

pub(super) fn append<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    storing_text(run, at, instr, out, |row, instr, text| row.append(instr.a, text))
}

/// Stores the text since a mark and removes it.
fn storing_text<'r>(
    run: &mut Run<'r>,
    at: OutPtr,
    instr: &'r Instr,
    out: &mut TextBuf,
    store: fn(&mut Row, &Instr, &[u8]) -> Result<(), RowFull>,
) -> (OutPtr, Pc) {
    if !run.scratch.missing.is_active {
        return (at, run.stage.after(instr));
    }
    run.stage.close(out, at);
    let start = run.marked(instr.b, out.len);
    let text = &out.buf[start..out.len];
    let n_steps = text.len() / STEP;
    let row = &mut run.scratch.row;
    let stored = if run.scratch.missing.gap {
        if instr.op == Op::FieldText as u8 {
            row.put_null(instr.a);
        }
        Ok(())
    } else {
        store(row, instr, text)
    };
    if instr.c == 0 {
        out.len = start;
        run.select(false);
    }
    run.charge(n_steps);
    let at = run.reopen(out);
    match stored {
        Ok(()) => (at, run.stage.after(instr)),
        Err(RowFull) => run.stop(End::Limit, at),
    }
}
