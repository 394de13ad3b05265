//! Lowers rows of the event table to IR: the output of one event.
//!
//! Records may be cut short, so each field checks for its bytes first. If they are missing, the line ends.

use super::layout::EventLayout;
use super::table::{Arg, ArgType, Args, CallRow, EventRow, PROCESS, Release, THREAD, VTHREAD, call};
use crate::ir::{
    Block, BlockByForm, BlockWithFallback, EventField, If, Inst, Node, Switch, SwitchSelector, Value, ValueFormat,
    VarSlot,
};
use crate::number::Number;
use tfbc_grammar::Span;
use tfbc_grammar::trcfmt::ast::{Move, Size};

/// Output and label of one event.
#[derive(Debug)]
pub(super) struct EventRoutine {
    /// Text at the start of the line.
    pub label: String,
    /// Number of variables that `body` uses.
    pub n_locals: u16,
    pub body: Block,
}

/// Column at which argument names end if each argument has a line of its own.
const NAME_END: usize = 26;

/// Registers of a routine's variables.
const FIRST: VarSlot = VarSlot::Local(0);
const SECOND: VarSlot = VarSlot::Local(1);

/// Offsets from a call's number to the event numbers of its other records.
pub(super) const EXIT: u16 = 128;
pub(super) const INTERRUPTED: u16 = 256;
pub(super) const WITH_64_BITS: u16 = 512;

/// Builder for a block.
struct BlockBuilder {
    layout: EventLayout,
    block: Block,
}

impl BlockBuilder {
    fn new(layout: EventLayout) -> Self {
        BlockBuilder { layout, block: Vec::new() }
    }

    /// Builds a nested block.
    fn nested(&self, print: impl FnOnce(&mut BlockBuilder)) -> Block {
        let mut inner = BlockBuilder::new(self.layout);
        print(&mut inner);
        inner.block
    }

    /// Block that ends at the first missing field.
    fn guarded(&mut self, print: impl FnOnce(&mut BlockBuilder)) {
        let body = self.nested(print);
        self.push(Inst::Guarded(BlockWithFallback { body, short: Block::new() }.into()));
    }

    fn by_form(&mut self, simple: impl FnOnce(&mut BlockBuilder), wide: impl FnOnce(&mut BlockBuilder)) {
        let (simple, wide) = (self.nested(simple), self.nested(wide));
        self.push(Inst::ByForm(BlockByForm { simple, wide }.into()));
    }

    fn if_else(&mut self, on: Value, then: impl FnOnce(&mut BlockBuilder), otherwise: impl FnOnce(&mut BlockBuilder)) {
        let (then, otherwise) = (self.nested(then), self.nested(otherwise));
        self.push(Inst::If(If { on, then, otherwise }.into()));
    }

    fn push(&mut self, inst: Inst) {
        self.block.push(Node { inst, span: Span::default() });
    }

    fn text(&mut self, text: impl AsRef<str>) {
        self.push(Inst::Text(text.as_ref().as_bytes().to_vec()));
    }

    fn put(&mut self, value: Value, how: ValueFormat) {
        self.push(Inst::Put(value, how));
    }

    fn go_to(&mut self, bytes: u32) {
        self.push(Inst::Move(Move::Goto { bytes, bits: 0 }));
    }

    fn demand(&mut self, bytes: u64) {
        self.push(Inst::Demand(bytes));
    }

    /// Prints the word at offset `at` as `0x` and eight digits, after the text `before`.
    fn hex(&mut self, at: u32, before: &str) {
        self.go_to(at);
        // Checked before the label is printed: traceprinter ends the line before a field that is missing.
        self.demand(4);
        self.text(format!("{before}0x"));
        self.put(WORD, ValueFormat::HexLow(Size::Bytes(4)));
    }

    /// Prints the word at offset `at` as signed decimal, after the text `before`.
    fn decimal(&mut self, at: u32, before: &str) {
        self.go_to(at);
        self.demand(4);
        self.text(before);
        self.put(SIGNED_WORD, ValueFormat::Int);
    }

    /// Prints like C's `%#x`.
    fn alternate_hex(&mut self, value: Value) {
        self.if_else(
            value.clone(),
            |then| {
                then.text("0x");
                then.put(value, ValueFormat::HexMin);
            },
            |otherwise| otherwise.text("0"),
        );
    }
}

/// Reads of the next word, half word or two words.
const WORD: Value = Value::Read(EventField::Bytes { size: Size::Bytes(4), signed: false });
const SIGNED_WORD: Value = Value::Read(EventField::Bytes { size: Size::Bytes(4), signed: true });
const SIGNED_HALF: Value = Value::Read(EventField::Bytes { size: Size::Bytes(2), signed: true });
const TWO_WORDS: Value = Value::Read(EventField::Bytes { size: Size::Bytes(8), signed: false });
const SIGNED_TWO_WORDS: Value = Value::Read(EventField::Bytes { size: Size::Bytes(8), signed: true });

/// Placement of arguments: on the event's line, or one line each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArgPlacement {
    One,
    Own,
}

// Argument lists.

impl BlockBuilder {
    /// Placement of the arguments of a combine event.
    fn list_lines(&self) -> ArgPlacement {
        if self.layout == EventLayout::Compat { ArgPlacement::Own } else { ArgPlacement::One }
    }

    /// Prints an argument list, up to the first missing word.
    fn list(&mut self, args: &[Arg], lines: ArgPlacement) {
        self.guarded(|list| {
            let mut at = 0;
            list.go_to(at);
            let mut rest = args;
            while let [arg, following @ ..] = rest {
                // A text is one argument, although it has a row per word in the table.
                let more = following.iter().take_while(|arg| arg.letter == ArgType::MoreText).count();
                let text = matches!(arg.letter, ArgType::Text | ArgType::MoreText);
                let n_words = if text { 1 + more as u64 } else { arg.letter.words() };
                // A text prints even if only its first word is present.
                list.demand(if text { 4 } else { n_words * 4 });
                match lines {
                    ArgPlacement::One => list.text(format!(" {}:", arg.name)),
                    ArgPlacement::Own => list.text(format!("\n{:>NAME_END$}:", arg.name)),
                }
                list.value(arg.letter, n_words as u32);
                at += n_words as u32 * 4;
                list.go_to(at);
                rest = if text { &following[more..] } else { following };
            }
        });
    }

    fn value(&mut self, letter: ArgType, n_words: u32) {
        match letter {
            ArgType::Decimal => self.put(SIGNED_WORD, ValueFormat::Int),
            ArgType::Hex => {
                self.text("0x");
                self.put(WORD, ValueFormat::HexLow(Size::Bytes(4)));
            }
            ArgType::Pointer => self.put(WORD, ValueFormat::HexMin),
            ArgType::Decimal64 => self.put(SIGNED_TWO_WORDS, ValueFormat::Int),
            ArgType::Hex64 => {
                self.text("0x");
                self.put(TWO_WORDS, ValueFormat::HexMin);
            }
            ArgType::Text | ArgType::MoreText => self.push(Inst::Words(n_words)),
            ArgType::Name => self.push(Inst::NameText { spare: 0 }),
        }
    }

    /// Prints the list of a simple or a combine record.
    fn arguments(&mut self, fast: Args, wide: Args) {
        let lines = self.list_lines();
        self.by_form(|simple| simple.known(fast, ArgPlacement::One), |combine| combine.known(wide, lines));
    }

    fn known(&mut self, args: Args, lines: ArgPlacement) {
        self.list(args.unwrap_or_default(), lines);
    }
}

// Kernel calls.

/// Routine of a kernel call's event number; `None` if traceprinter 1.02 does not print it.
pub(super) fn ker_call(layout: EventLayout, number: u16) -> Option<EventRoutine> {
    let record = number & (EXIT | INTERRUPTED);
    let row = call(Release::Qnx6_4, number & 127)?;
    // traceprinter 1.02 is older than these events.
    if number & WITH_64_BITS != 0 || row.release > Release::Qnx6_4 {
        return None;
    }
    let mut printer = BlockBuilder::new(layout);
    let label = match record {
        0 | EXIT => format!("{}/{:02}", call_label(row, record == EXIT), row.number),
        INTERRUPTED => format!("KER_{}/{}", row.label(), row.number),
        _ => return None,
    };
    let class = ["KER_CALL", "KER_EXIT", "INT_CALL"][usize::from(record / EXIT)];
    let label = format!("{class}:{label}");
    if layout == EventLayout::CompatHeading {
        return Some(EventRoutine { label, n_locals: 0, body: printer.block });
    }
    let side = if record == EXIT { row.exit } else { row.enter };
    match record {
        0 => printer.arguments(side.fast, side.wide),
        EXIT => printer.unless_failed(|printer| printer.arguments(side.fast, side.wide)),
        _ => {}
    }
    Some(EventRoutine { label, n_locals: 0, body: printer.block })
}

fn call_label(row: &CallRow, exit: bool) -> &'static str {
    row.exit_label_6_4.filter(|_| exit).unwrap_or(row.label())
}

impl BlockBuilder {
    /// Prints the return value and errno of a failed call, otherwise runs `print`. A missing word does not count as -1.
    fn unless_failed(&mut self, print: impl FnOnce(&mut BlockBuilder)) {
        let (left, right) = (Box::new(WORD), Box::new(Value::Const(u32::MAX.into())));
        let failed = |failed: &mut BlockBuilder| {
            failed.text(" ret_val:-1");
            failed.guarded(|failed| failed.decimal(4, ", errno:"));
            failed.go_to(0);
        };
        self.if_else(Value::Compare { equal: true, left, right }, failed, print);
    }
}

// Everything else.

/// Routine of a row; `None` if traceprinter 1.02 does not print it.
pub(super) fn event(layout: EventLayout, row: &EventRow, number: u16) -> Option<EventRoutine> {
    if row.since > Release::Qnx6_4 || row.label.is_none() {
        return None;
    }
    let mut printer = BlockBuilder::new(layout);
    match EventForm::of(row) {
        EventForm::Buffer => printer.buffer(),
        EventForm::Interrupt(event) => printer.interrupt(event),
        EventForm::User => printer.user(),
        EventForm::State => printer.state(),
        EventForm::Listed => printer.listed(row),
    }
    let n_locals = if matches!(EventForm::of(row), EventForm::Interrupt(Interrupt::HandlerExit)) { 2 } else { 0 };
    Some(EventRoutine { label: heading(row, number), n_locals, body: printer.block })
}

/// Output forms of events.
enum EventForm {
    Buffer,
    Interrupt(Interrupt),
    User,
    /// State of a thread.
    State,
    /// Label and argument list.
    Listed,
}

/// Interrupt records with a known layout.
#[derive(Clone, Copy)]
enum Interrupt {
    Entry,
    Exit,
    HandlerEntry,
    HandlerExit,
}

impl EventForm {
    fn of(row: &EventRow) -> EventForm {
        match row.name {
            "_NTO_TRACE_CONTROLBUFFER" => EventForm::Buffer,
            "_TRACE_INT_ENTRY" => EventForm::Interrupt(Interrupt::Entry),
            "_TRACE_INT_EXIT" => EventForm::Interrupt(Interrupt::Exit),
            "_TRACE_INT_HANDLER_ENTRY" => EventForm::Interrupt(Interrupt::HandlerEntry),
            "_TRACE_INT_HANDLER_EXIT" => EventForm::Interrupt(Interrupt::HandlerExit),
            "_NTO_TRACE_USERFIRST" => EventForm::User,
            name if row.external_class == THREAD => {
                let whole_life = name.ends_with("CREATE") || name.ends_with("DESTROY");
                if whole_life { EventForm::Listed } else { EventForm::State }
            }
            _ => EventForm::Listed,
        }
    }
}

/// Class and label at the start of a line, in the layouts of 1.02.
fn heading(row: &EventRow, number: u16) -> String {
    const SYSTEM: u8 = 13;
    const COMM: u8 = 14;
    match EventForm::of(row) {
        EventForm::Buffer => return "CONTROL: BUFFER".into(),
        EventForm::User => return format!("USREVENT:EVENT:{number}"),
        EventForm::Interrupt(_) => return format!("{}:", row.label()),
        EventForm::State | EventForm::Listed => {}
    }
    let (class, width) = match row.external_class {
        PROCESS => ("PROCESS", 13),
        THREAD => ("THREAD", 13),
        VTHREAD => ("VTHREAD", 13),
        SYSTEM => ("SYSTEM", 15),
        COMM => ("COMM", 13),
        _ => ("CONTROL", 0),
    };
    let label = row.label_6_4.unwrap_or(row.label());
    // 1.02 pads the other labels, but not these.
    let unpadded = ["ADDRESS", "FUNC_ENTER", "FUNC_EXIT", "SLOG", "MSG_ERROR"];
    let width = if unpadded.contains(&label) || (row.external_class == PROCESS && label.ends_with("_NAME")) {
        0
    } else {
        width
    };
    format!("{class:<8}:{label:<width$}")
}

impl BlockBuilder {
    fn listed(&mut self, row: &EventRow) {
        if self.layout == EventLayout::CompatHeading {
            return;
        }
        // The record has the partition's name from the second word on, even if it is simple.
        let always_list = row.name == "_NTO_TRACE_SYS_APS_NAME";
        if always_list {
            return self.known(row.wide, self.list_lines());
        }
        self.arguments(row.fast.or(row.wide), row.wide);
    }

    /// Prints pid and tid, then the extra fields of combine events, on one line.
    fn state(&mut self) {
        if self.layout == EventLayout::CompatHeading {
            return;
        }
        let more = |printer: &mut BlockBuilder| {
            printer.decimal(8, "priority:");
            printer.decimal(12, " policy:");
            printer.decimal(16, " partition:");
            printer.hex(20, " sched_flags:");
        };
        self.guarded(|state| {
            state.decimal(0, " pid:");
            state.decimal(4, " tid:");
            state.text(" ");
            state.by_form(|_| {}, more);
        });
    }

    fn buffer(&mut self) {
        if self.layout == EventLayout::CompatHeading {
            return;
        }
        self.guarded(|buffer| {
            buffer.demand(4);
            buffer.text(" sequence = ");
            // The upper bits are the index of the buffer.
            buffer.put(Value::Bits { value: Box::new(WORD), low: 0, count: 11 }, ValueFormat::Dec);
            buffer.decimal(4, ", num_events = ");
        });
    }

    fn user(&mut self) {
        if self.layout == EventLayout::CompatHeading {
            return;
        }
        self.by_form(
            |simple| {
                simple.guarded(|simple| {
                    simple.hex(0, ", d0:");
                    simple.hex(4, " d1:");
                });
            },
            |combine| {
                combine.text(" STR:\"");
                // The printer of 6.4 overwrites the last byte with a NUL.
                combine.push(Inst::NameText { spare: 1 });
                combine.text("\"");
            },
        );
    }
}

// Interrupts.

impl BlockBuilder {
    fn interrupt(&mut self, event: Interrupt) {
        let vector = match event {
            Interrupt::HandlerEntry => 4,
            _ => 0,
        };
        self.guarded(|printer| {
            printer.hex(vector, "");
            printer.decimal(vector, " (");
            printer.text(")");
            if printer.layout != EventLayout::CompatHeading {
                printer.interrupt_arguments(event);
            }
        });
    }

    fn interrupt_arguments(&mut self, event: Interrupt) {
        match event {
            Interrupt::Entry => self.hex(4, "       IP:"),
            Interrupt::Exit => self.hex(4, " inkernel:"),
            Interrupt::HandlerEntry => {
                self.decimal(0, "       PID:");
                self.hex(8, " IP:");
                self.hex(12, " AREA:");
            }
            Interrupt::HandlerExit => {
                self.text(" SIGEVENT:");
                self.sigevent();
            }
        }
    }

    /// Prints the sigevent after the interrupt's number. Words lost with a slot of the record read as 0.
    fn sigevent(&mut self) {
        let notify = |low, count| Value::Bits { value: Box::new(WORD), low, count };
        self.go_to(4);
        // The low byte is the kind of notification, in the order of the bodies below.
        self.push(Inst::Assign(FIRST, notify(0, 8)));
        let bodies = [
            self.nested(|it| it.text("NONE")),
            self.nested(|it| it.signal("SIGNAL ", false)),
            self.nested(|it| it.signal("SIGNAL_CODE ", true)),
            self.nested(|it| it.signal("SIGNAL_THREAD ", true)),
            self.nested(BlockBuilder::pulse),
            self.nested(|it| it.text("UNBLOCK")),
            self.nested(|it| it.text("INTR")),
            self.nested(BlockBuilder::thread),
            self.nested(|it| {
                it.text("UNKNOWN(");
                it.alternate_hex(Value::Slot(FIRST));
                it.text(")");
            }),
        ];
        let key = |n: usize| (Number { negative: false, magnitude: n as u64 }, n);
        let unknown = bodies.len() - 1;
        let keys = (0..unknown).map(key).collect();
        let on = SwitchSelector::Number { value: Value::Slot(FIRST), width: Some(8), keys };
        self.push(Inst::Switch(Switch { on, bodies: bodies.into(), default: Some(unknown) }.into()));
        self.go_to(4);
        self.if_else(notify(8, 1), |critical| critical.text(" CRITICAL"), |_| {});
        self.go_to(0);
    }

    fn signal(&mut self, text: &str, with_code: bool) {
        self.go_to(8);
        self.text(text);
        self.put(WORD, ValueFormat::Dec);
        if with_code {
            self.code_and_value();
        }
        self.go_to(0);
    }

    /// Prints ` code:value`, each like C's `%#x`.
    fn code_and_value(&mut self) {
        self.go_to(12);
        self.text(" ");
        self.push(Inst::Assign(SECOND, WORD));
        self.push(Inst::Assign(FIRST, code()));
        self.alternate_hex(Value::Slot(FIRST));
        self.text(":");
        self.alternate_hex(Value::Slot(SECOND));
    }

    fn pulse(&mut self) {
        self.go_to(8);
        self.text("PULSE ");
        self.push(Inst::Assign(FIRST, WORD));
        self.alternate_hex(Value::Slot(FIRST));
        self.text(":");
        self.go_to(18);
        self.put(SIGNED_HALF, ValueFormat::Int);
        self.code_and_value();
        self.go_to(0);
    }

    fn thread(&mut self) {
        self.go_to(12);
        self.text("THREAD ");
        self.go_to(16);
        self.put(code(), ValueFormat::HexMin);
        self.text(":");
        self.go_to(12);
        self.put(WORD, ValueFormat::HexMin);
        self.go_to(0);
    }
}

/// Code of a sigevent as C passes it: 16 bits, sign-extended to 32.
fn code() -> Value {
    Value::Low { value: Box::new(SIGNED_HALF), size: Size::Bytes(4), signed: false }
}
