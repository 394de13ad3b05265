//! Runs one event over the syntax tree.

use std::collections::HashMap;

use tfbc_grammar::trcfmt::ast::*;
use tfbc_grammar::{Span, Spanned};
use tfbc_vm::{Context, Event, Limits, errno_name, errno_value};

use super::buffer::{Buffer, Read};
use super::datum::{Datum, Frame, PrintedValue, bits_of};
use super::literal::{self, NumberBase};
use super::number;
use super::page::Page;
use super::{MAX_MACROS, Reference, Timers};

/// Maximum of the data pointer, in bits; it saturates.
const POINTER_MAX: i128 = 8 << 31;

/// Control flow after an item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// Continue with the next item.
    Next,
    /// `$ERROR`: continue to the end of the brace group, then end the event.
    FinishGroup,
    /// End the event.
    End,
}

/// Scope of macro names.
enum Scope<'ast> {
    /// A stanza: macros in order of first appearance, which is also their slot number.
    Stanza(Vec<&'ast [u8]>),
    /// A function call: parameters and local macros.
    Call(HashMap<&'ast [u8], MacroNumber>),
}

/// Value of a macro.
#[derive(Clone, Copy, Default)]
pub(super) struct MacroNumber {
    value: u64,
    /// True if it depends on something that the event does not contain.
    null: bool,
}

/// Value of a macro, with its format if it has no cast.
enum MacroValue {
    Number { value: u64, shown: MacroForm },
    Text(Vec<u8>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MacroForm {
    /// This many hex digits.
    HexDigits(usize),
    /// Hex as with X2: at least 4 digits.
    HexAtLeast4,
    /// Unsigned decimal.
    Decimal,
    /// Signed decimal.
    SignedDecimal,
}

/// Meaning of a `$name`.
enum Meaning {
    Value(MacroValue),
    Subroutine(u16),
    Error,
    Stop,
    Break,
    Skip,
}

/// Value of a selector, for comparison.
enum Selected {
    Number { value: u64, bits: u32, base: NumberBase, errno: bool },
    Text(Vec<u8>),
}

pub(super) struct Run<'r, 'ast> {
    pub(super) reference: &'r Reference<'ast>,
    pub(super) buffer: Buffer<'r>,
    pub(super) event: &'r Event<'r>,
    pub(super) context: &'r Context<'r>,
    pub(super) timers: &'r mut Timers,
    pub(super) limits: Limits,
    pub(super) page: Page,
    /// In bits.
    pub(super) pointer: i128,
    /// In bytes.
    pub(super) base: i64,
    pub(super) slots: [MacroNumber; MAX_MACROS],
    pub(super) turns: u32,
    /// Parts of the user's templates that ran: an entry for every execution.
    pub(super) reached: Vec<Span>,
    pub(super) truncated: bool,
    pub(super) stop: bool,
    pub(super) skipped: bool,
    pub(super) limited: bool,
    /// True if `$ERROR` ended the event.
    pub(super) ended_by_error: bool,
    pub(super) divided_by_zero: bool,
    /// True if a value used since the flag was cleared is null.
    pub(super) null: bool,
    /// Offsets of the calls that are active.
    pub(super) calls: Vec<u32>,
    /// Printed values of the event, then of the current iteration, per active loop. `None` if no row is needed.
    pub(super) frames: Option<Vec<Frame>>,
}

impl<'ast> Run<'_, 'ast> {
    /// Prints the event with its stanza.
    pub(super) fn event(&mut self, stanza: &Stanza<'ast>) {
        self.stanza(stanza);
        self.limited |= self.page.is_full();
        if self.limited {
            self.page.limit_mark();
        }
    }

    fn stanza(&mut self, stanza: &Stanza<'ast>) -> Flow {
        if self.reference.builtin.contains(&stanza.id.node.0) {
            // Parts of the built-in stanzas do not count as reached. They call nothing, so their parts are the last
            // ones.
            let n_before = self.reached.len();
            let flow = self.items(stanza);
            self.reached.truncate(n_before);
            return flow;
        }
        self.reached.push(stanza.span);
        self.items(stanza)
    }

    fn items(&mut self, stanza: &Stanza<'ast>) -> Flow {
        if let Some(label) = stanza.label
            && !label.hidden
            && !label.text.bytes.is_empty()
        {
            self.page.own_text(label.text.bytes);
            if self.page.is_full() {
                return Flow::End;
            }
            self.page.soft_blank();
        }
        let mut scope = Scope::Stanza(super::macros_in_order(stanza.body));
        self.group(stanza.body, &mut scope)
    }

    /// Runs the items of a brace group, function body or stanza.
    fn group(&mut self, items: &[DescriptorItem<'ast>], scope: &mut Scope<'ast>) -> Flow {
        let mut end = Flow::Next;
        for item in items {
            match self.item(item, scope) {
                Flow::Next => {}
                Flow::FinishGroup => end = Flow::End,
                Flow::End => return Flow::End,
            }
            if self.page.is_full() {
                return Flow::End;
            }
        }
        self.ended_by_error |= end == Flow::End;
        end
    }

    fn item(&mut self, item: &DescriptorItem<'ast>, scope: &mut Scope<'ast>) -> Flow {
        match item {
            DescriptorItem::Text(text) => self.text(text),
            DescriptorItem::Backquoted(text) => return self.backquoted(text, scope),
            DescriptorItem::Newline(_) => self.page.newline(),
            DescriptorItem::Tab(_) => self.page.tab(),
            DescriptorItem::Move(node) => self.move_pointer(node.node),
            DescriptorItem::Code(node) => self.print_code(node, true),
            DescriptorItem::Macro(node) => return self.print_macro(node, scope, true),
            DescriptorItem::Assign(node) => self.assign(node, scope),
            DescriptorItem::Declare(_) | DescriptorItem::Function(_) => {}
            DescriptorItem::Call(node) => return self.call(node, scope),
            DescriptorItem::Switch(node) => return self.switch(node, scope),
            DescriptorItem::Loop(node) => return self.repeat(node, scope),
            DescriptorItem::Bitflags(node) => self.bitflags(node, scope),
            DescriptorItem::Timer(node) => self.timer(node, scope),
        }
        Flow::Next
    }

    fn text(&mut self, text: &Text<'ast>) {
        self.page.own_text(text.bytes);
        if text.kind == (TextKind::Word { soft: true }) {
            self.page.soft_blank();
        }
    }

    fn backquoted(&mut self, text: &Backquoted<'ast>, scope: &mut Scope<'ast>) -> Flow {
        let mut end = Flow::Next;
        for part in text.parts {
            let flow = match part {
                BackquotedPart::Text(text) => {
                    self.page.own_text(text.node);
                    Flow::Next
                }
                BackquotedPart::Code(code) => {
                    self.print_code(code, false);
                    Flow::Next
                }
                BackquotedPart::Move(node) => {
                    self.move_pointer(node.node);
                    Flow::Next
                }
                BackquotedPart::Macro(node) => self.print_macro(node, scope, false),
            };
            match flow {
                Flow::Next => {}
                Flow::FinishGroup => end = Flow::FinishGroup,
                Flow::End => return Flow::End,
            }
        }
        end
    }

    // Data pointer

    fn set_pointer(&mut self, bits: i128) {
        self.pointer = bits.clamp(0, POINTER_MAX);
    }

    fn advance(&mut self, bits: i128) {
        self.set_pointer(self.pointer + bits);
    }

    fn round_up(&mut self) {
        self.set_pointer((self.pointer + 7) / 8 * 8);
    }

    /// Bit address of the next read.
    fn address(&self) -> i128 {
        self.pointer + i128::from(self.base) * 8
    }

    fn move_pointer(&mut self, code: Move) {
        match code {
            Move::Goto { bytes, bits } => self.set_pointer(i128::from(bytes) * 8 + i128::from(bits)),
            Move::Omit { bytes, bits } => self.advance(i128::from(bytes) * 8 + i128::from(bits)),
            Move::Reverse { bytes: 0 } => self.set_pointer(self.pointer / 8 * 8),
            Move::Reverse { bytes } => self.advance(-i128::from(bytes) * 8),
            Move::Word { words } => self.set_pointer(i128::from(words) * self.buffer.word() as i128 * 8),
        }
    }

    fn found<T>(&mut self, read: Read<T>) -> T {
        self.truncated |= read.past_end;
        self.null |= read.past_end;
        read.found
    }

    fn take_bits(&mut self, bits: u32) -> u128 {
        let read = self.buffer.bits(self.address(), bits);
        self.advance(i128::from(bits));
        self.found(read)
    }

    fn take_number(&mut self, bytes: u32) -> Datum {
        self.round_up();
        Datum::Number { raw: self.take_bits(8 * bytes), bits: 8 * bytes }
    }

    fn take_text(&mut self, len: u64) -> Datum {
        self.round_up();
        let read = self.buffer.text(self.address() / 8, len);
        self.advance(i128::from(len) * 8);
        let bytes = self.found(read);
        Datum::Text(number::ascii(&bytes))
    }

    fn bytes_of(&self, size: Size) -> u32 {
        match size {
            Size::Bytes(bytes) => u32::from(bytes),
            Size::Word => self.buffer.word() as u32,
        }
    }

    // Codes and casts

    /// Reads the value for a code at the data pointer, and moves the pointer.
    fn read(&mut self, code: Code) -> Datum {
        match code {
            Code::Ascii { len, .. } => self.take_text(u64::from(len)),
            Code::Counted(size) => match self.take_number(self.bytes_of(size)) {
                Datum::Number { raw, .. } => self.take_text(raw as u64),
                text => text,
            },
            Code::Binary { bits } => Datum::Number { raw: self.take_bits(u32::from(bits)), bits: u32::from(bits) },
            Code::HexByte => self.take_number(1),
            Code::Float(bytes) => self.take_number(u32::from(bytes)),
            Code::HookBytes => Datum::Number { raw: self.buffer.hook_len().into(), bits: 64 },
            Code::HookType => Datum::Number { raw: self.buffer.hook_type().into(), bits: 64 },
            Code::Hex(size)
            | Code::Signed(size)
            | Code::Unsigned(size)
            | Code::Octal(size)
            | Code::Time(size)
            | Code::Errno(size)
            | Code::Path(size) => self.take_number(self.bytes_of(size)),
        }
    }

    /// Converts a value with a cast; `%S` reads text at the data pointer.
    fn cast(&mut self, code: Code, value: u64) -> Datum {
        let low = |bits: u32| Datum::Number { raw: u128::from(value) & ((1 << bits) - 1), bits };
        match code {
            Code::Ascii { len, .. } => {
                let bytes = value.to_be_bytes();
                Datum::Text(number::ascii(&bytes[8 - len.min(8) as usize..]))
            }
            Code::Counted(size) => match low(8 * self.bytes_of(size)) {
                Datum::Number { raw, .. } => self.take_text(raw as u64),
                text => text,
            },
            Code::Binary { bits } => low(u32::from(bits)),
            Code::HexByte => low(8),
            Code::Float(bytes) => low(8 * u32::from(bytes)),
            Code::HookBytes | Code::HookType => Datum::Number { raw: value.into(), bits: 64 },
            Code::Hex(Size::Bytes(bytes @ 9..)) => Datum::Number { raw: value.into(), bits: 8 * u32::from(bytes) },
            Code::Hex(size)
            | Code::Signed(size)
            | Code::Unsigned(size)
            | Code::Octal(size)
            | Code::Time(size)
            | Code::Errno(size)
            | Code::Path(size) => low(8 * self.bytes_of(size)),
        }
    }

    /// Text of a value, without padding.
    fn shown(&self, code: Code, datum: &Datum) -> Vec<u8> {
        let (raw, bits) = match datum {
            Datum::Text(text) => return text.clone(),
            Datum::Number { raw, bits } => (*raw, *bits),
        };
        match code {
            Code::Binary { .. } => number::binary(raw, bits),
            Code::HexByte => number::hex(raw, 2),
            Code::Hex(_) => number::hex(raw, bits as usize / 4),
            Code::Signed(_) => number::sign_extend(raw, bits).to_string().into_bytes(),
            Code::Octal(_) => format!("{raw:o}").into_bytes(),
            Code::Float(4) => number::scientific(f64::from(f32::from_bits(raw as u32))),
            Code::Float(_) => number::scientific(f64::from_bits(raw as u64)),
            Code::HookType => number::hex(raw, if self.buffer.wide() { 4 } else { 1 }),
            Code::Time(_) => number::ctime(raw as u32),
            Code::Errno(_) => match errno_name(raw as u64) {
                Some(name) => name.as_bytes().to_vec(),
                None => number::sign_extend(raw, bits).to_string().into_bytes(),
            },
            Code::Path(_) => match self.context.processes.get(&(raw as u64)) {
                Some(path) => path.clone(),
                None => format!("-{raw}-").into_bytes(),
            },
            Code::Unsigned(_) | Code::HookBytes | Code::Ascii { .. } | Code::Counted(_) => raw.to_string().into_bytes(),
        }
    }

    /// Prints the value of a code or cast; `soft` is false in backquotes.
    fn print(&mut self, code: Code, datum: &Datum, soft: bool) {
        let mut text = self.shown(code, datum);
        if let Code::Ascii { width, .. } = code {
            let width = (width as usize).min(text.len() + self.limits.text as usize + 1);
            text.resize(text.len().max(width), b' ');
        }
        self.page.value(&text);
        if soft && soft_blank_follows(code) {
            self.page.soft_blank();
        }
    }

    fn print_code(&mut self, code: &Spanned<Code>, soft: bool) {
        self.null = false;
        let datum = self.read(code.node);
        self.record_value(code.span, PrintedValue::of(&datum, None));
        self.print(code.node, &datum, soft);
    }

    // Printed values

    /// Fields are not affected by the text limit.
    pub(super) fn without_text_limit(&mut self) {
        self.page.without_limit();
    }

    /// Records a printed value of the item at a span. It is null if the last value was.
    fn record_value(&mut self, span: Span, seen: PrintedValue) {
        let null = self.null;
        let path = self.path(span);
        if let Some(frame) = self.frames.as_mut().and_then(|frames| frames.last_mut()) {
            frame.insert(path, PrintedValue { null: null || seen.null, ..seen });
        }
    }

    /// Place of an item in the stanza with all calls expanded.
    fn path(&self, span: Span) -> Vec<u32> {
        self.calls.iter().copied().chain([span.start]).collect()
    }

    /// Value of a user or predefined macro at the end of the event, with its text if it is a text macro.
    pub(super) fn at_end(&mut self, name: &[u8], stanza: &Stanza<'ast>) -> PrintedValue {
        self.null = false;
        let seen = match self.meaning(name, &Scope::Stanza(super::macros_in_order(stanza.body))) {
            Meaning::Value(MacroValue::Number { value, .. }) => {
                PrintedValue::of(&Datum::Number { raw: value.into(), bits: 64 }, Some(value))
            }
            Meaning::Value(MacroValue::Text(text)) => {
                PrintedValue { null: text.is_empty(), ..PrintedValue::of(&Datum::Text(text), None) }
            }
            _ => PrintedValue { null: true, ..PrintedValue::default() },
        };
        PrintedValue { null: self.null || seen.null, ..seen }
    }

    // Macros

    fn print_macro(&mut self, node: &MacroRef<'ast>, scope: &mut Scope<'ast>, soft: bool) -> Flow {
        self.null = false;
        match self.meaning(node.name, scope) {
            Meaning::Value(MacroValue::Text(text)) => self.page.value(&text),
            Meaning::Value(MacroValue::Number { value, shown }) => self.print_value(value, shown, node, soft),
            Meaning::Subroutine(id) => return self.subroutine(id, node.span),
            Meaning::Stop => self.stop = true,
            Meaning::Error => {
                self.page.value(&self.error_message());
                return Flow::FinishGroup;
            }
            Meaning::Break => return Flow::End,
            Meaning::Skip => {
                self.skipped = true;
                return Flow::End;
            }
        }
        Flow::Next
    }

    fn print_value(&mut self, value: u64, shown: MacroForm, node: &MacroRef<'ast>, soft: bool) {
        let number = value;
        let (value, shown) = match node.cast.map(|cast| cast.node) {
            None => (value, shown),
            Some(Cast::Bits { low, high }) => (bits_of(value, low, high), MacroForm::HexAtLeast4),
            Some(Cast::Unknown(_)) => (value, MacroForm::HexAtLeast4),
            Some(Cast::Code(code)) => {
                let datum = self.cast(code, value);
                self.record_value(node.span, PrintedValue::of(&datum, Some(number)));
                return self.print(code, &datum, soft);
            }
        };
        self.record_value(node.span, PrintedValue::of(&Datum::Number { raw: value.into(), bits: 64 }, Some(number)));
        self.page.value(&match shown {
            MacroForm::HexDigits(digits) => number::hex(value.into(), digits),
            MacroForm::HexAtLeast4 => number::hex_at_least_4(value),
            MacroForm::Decimal => value.to_string().into_bytes(),
            MacroForm::SignedDecimal => (value as i64).to_string().into_bytes(),
        });
        if soft {
            self.page.soft_blank();
        }
    }

    fn error_message(&self) -> Vec<u8> {
        let head = b"ERROR: log file ".as_slice();
        let tail = format!(", offset 0x{:X}, traceid ", self.event.offset).into_bytes();
        [head, self.context.log_file, &tail, &self.trace_id()].concat()
    }

    fn trace_id(&self) -> Vec<u8> {
        super::shown_id(self.buffer.id()).into_bytes()
    }

    fn meaning(&mut self, name: &[u8], scope: &Scope<'ast>) -> Meaning {
        match name {
            b"STOP" => return Meaning::Stop,
            b"BREAK" => return Meaning::Break,
            b"SKIP" => return Meaning::Skip,
            b"ERROR" => return Meaning::Error,
            b"DEFAULT" => return Meaning::Subroutine(0x0080),
            _ => {}
        }
        if let Some(value) = self.predefined(name) {
            if let [b'D' | b'L', n @ b'1'..=b'5'] = name {
                self.null |= !self.buffer.has_data_word((n - b'0').into());
            }
            return Meaning::Value(value);
        }
        if let Scope::Call(locals) = scope
            && let Some(value) = locals.get(name)
        {
            self.null |= value.null;
            return Meaning::Value(MacroValue::Number { value: value.value, shown: MacroForm::HexAtLeast4 });
        }
        if let Some(id) = self.reference.subroutine(name) {
            return Meaning::Subroutine(id);
        }
        let MacroNumber { value, null } = self.user(name, scope);
        self.null |= null;
        Meaning::Value(MacroValue::Number { value, shown: MacroForm::HexAtLeast4 })
    }

    /// Value of a user macro; 0 if it was never assigned.
    fn user(&self, name: &[u8], scope: &Scope<'ast>) -> MacroNumber {
        match scope {
            Scope::Stanza(names) => {
                let slot = names.iter().position(|known| *known == name).and_then(|at| self.slots.get(at));
                slot.copied().unwrap_or_default()
            }
            Scope::Call(locals) => locals.get(name).copied().unwrap_or_default(),
        }
    }

    fn predefined(&self, name: &[u8]) -> Option<MacroValue> {
        let number = |value, shown| Some(MacroValue::Number { value, shown });
        let decimal = |value| number(value, MacroForm::Decimal);
        let text = |text: &[u8]| Some(MacroValue::Text(text.to_vec()));
        let (buffer, context) = (&self.buffer, self.context);
        match name {
            b"HOOKENV" => decimal(buffer.word() as u64 * 8),
            b"TRACEENV" => decimal(context.trace_env.into()),
            b"WORDSIZE" => decimal(buffer.word() as u64),
            [b'D', n @ b'1'..=b'5'] => {
                number(buffer.data_word((n - b'0').into()), MacroForm::HexDigits(buffer.word() * 2))
            }
            [b'L', n @ b'1'..=b'5'] => number(buffer.data_word((n - b'0').into()), MacroForm::HexDigits(16)),
            b"HD" => number(buffer.hook_data(), MacroForm::HexAtLeast4),
            b"HL" => decimal(buffer.hook_len()),
            b"GENERIC" => decimal(buffer.generic().into()),
            b"DATAPOINTER" => decimal((self.pointer / 8) as u64),
            b"BASEPOINTER" => number(self.base as u64, MacroForm::SignedDecimal),
            b"RELLINENO" => decimal(self.page.line()),
            b"TOTALCPUS" => decimal(context.total_cpus.into()),
            b"TRACEDCPUS" => decimal(context.traced_cpus.into()),
            b"REPORTEDCPUS" => decimal(context.reported_cpus.into()),
            b"LARGEDATATYPES" => decimal(context.large_data_types.into()),
            b"BUFF" => decimal(context.buffering.into()),
            b"IPADDR" => number(context.ip_address.into(), MacroForm::HexDigits(8)),
            b"PID" => decimal(context.pid),
            b"TID" => decimal(context.tid),
            b"CPUID" => decimal(context.cpu),
            b"PRI" => decimal(context.priority),
            b"SVC" => text(context.svc),
            b"EXECPATH" => text(context.exec_path),
            b"LOGFILE" => text(context.log_file),
            b"LOGIDX" => decimal(self.event.offset.wrapping_add((self.pointer / 8) as u64)),
            b"LOGIDX0" => decimal(self.event.offset),
            b"TRACEID" => text(&self.trace_id()),
            _ => None,
        }
    }

    fn assign(&mut self, node: &Assign<'ast>, scope: &mut Scope<'ast>) {
        let number = self.number(node.value, scope);
        let value = number.value;
        match (node.name.node, scope) {
            (b"DATAPOINTER", _) => self.set_pointer(i128::from(value as i64) * 8),
            (b"BASEPOINTER", _) => self.base = value as i64,
            (name, Scope::Call(locals)) => {
                locals.insert(name, number);
            }
            (name, Scope::Stanza(names)) => {
                if let Some(slot) = names.iter().position(|known| *known == name).and_then(|at| self.slots.get_mut(at))
                {
                    *slot = number;
                }
            }
        }
    }

    // Values in expressions, counts, selectors and arguments.

    /// Value of an expression; null if a part of it is.
    fn number(&mut self, expr: &Expr<'ast>, scope: &mut Scope<'ast>) -> MacroNumber {
        self.null = false;
        MacroNumber { value: self.value(expr, scope), null: self.null }
    }

    fn value(&mut self, expr: &Expr<'ast>, scope: &mut Scope<'ast>) -> u64 {
        match expr {
            Expr::Code(code) => self.selector_value(&Selector::Code(*code), scope),
            Expr::Macro(node) => self.selector_value(&Selector::Macro(node), scope),
            Expr::Const(value) => value.node,
            Expr::Binary { op, left, right } => {
                let left = self.value(left, scope);
                let right = self.value(right, scope);
                self.arithmetic(op.node, left, right)
            }
        }
    }

    fn arithmetic(&mut self, op: BinaryOp, left: u64, right: u64) -> u64 {
        match op {
            BinaryOp::Add => left.wrapping_add(right),
            BinaryOp::Sub => left.wrapping_sub(right),
            BinaryOp::Mul => left.wrapping_mul(right),
            BinaryOp::And => left & right,
            BinaryOp::Div if right == 0 => {
                self.divided_by_zero = true;
                0
            }
            BinaryOp::Div => (left as i64).wrapping_div(right as i64) as u64,
        }
    }

    /// Value of a selector as a 64-bit two's complement number.
    fn selector_value(&mut self, selector: &Selector<'ast>, scope: &mut Scope<'ast>) -> u64 {
        let (code, datum) = match self.selected(selector, scope) {
            (Some(code), datum) => (code, datum),
            (None, Datum::Number { raw, .. }) => return raw as u64,
            (None, Datum::Text(_)) => return 0,
        };
        match (code, datum) {
            (Code::Signed(_), Datum::Number { raw, bits }) => number::sign_extend(raw, bits) as u64,
            (_, Datum::Number { raw, .. }) => raw as u64,
            (_, Datum::Text(_)) => 0,
        }
    }

    /// Value of a selector, with the code or cast that determines the comparison.
    fn selected(&mut self, selector: &Selector<'ast>, scope: &mut Scope<'ast>) -> (Option<Code>, Datum) {
        let node = match selector {
            Selector::Code(code) => return (Some(code.node), self.read(code.node)),
            Selector::Macro(node) => node,
        };
        let value = match self.meaning(node.name, scope) {
            Meaning::Value(MacroValue::Number { value, .. }) => value,
            Meaning::Value(MacroValue::Text(text)) => return (None, Datum::Text(text)),
            _ => 0,
        };
        match node.cast.map(|cast| cast.node) {
            Some(Cast::Code(code)) => (Some(code), self.cast(code, value)),
            Some(Cast::Bits { low, high }) => (None, Datum::Number { raw: bits_of(value, low, high).into(), bits: 64 }),
            None | Some(Cast::Unknown(_)) => (None, Datum::Number { raw: value.into(), bits: 64 }),
        }
    }

    // Switches

    fn switch(&mut self, node: &Switch<'ast>, scope: &mut Scope<'ast>) -> Flow {
        self.null = false;
        let (selected, datum) = self.select(&node.selector, scope);
        let (selected, datum) = match (selected, &node.mask) {
            (Selected::Number { value, bits, base, errno }, Some(mask)) => {
                let mask = literal::number(mask.node, base).unwrap_or(0) as u64;
                let raw = u128::from(value & mask);
                (Selected::Number { value: value & mask, bits, base, errno }, Datum::Number { raw, bits })
            }
            (selected, _) => (selected, datum),
        };
        let case = node.cases.iter().position(|case| matches(&selected, &case.value));
        let number = self.uncast(&node.selector, scope);
        self.record_value(node.span, PrintedValue { case, ..PrintedValue::of(&datum, number) });
        match case.map(|case| &node.cases[case]) {
            None => Flow::Next,
            Some(case) => {
                let body = match &case.body {
                    Body::Text(text) => text.span,
                    Body::Backquoted(text) => text.span,
                    Body::Group(group) => group.span,
                };
                self.reached.push(case.value.span().to(body));
                self.body(case, scope)
            }
        }
    }

    fn body(&mut self, case: &SwitchCase<'ast>, scope: &mut Scope<'ast>) -> Flow {
        match &case.body {
            Body::Text(text) => {
                self.text(text);
                Flow::Next
            }
            Body::Backquoted(text) => self.backquoted(text, scope),
            Body::Group(group) => self.group(group.items, scope),
        }
    }

    /// Value of a macro without its cast.
    fn uncast(&mut self, selector: &Selector<'ast>, scope: &Scope<'ast>) -> Option<u64> {
        let Selector::Macro(node) = selector else { return None };
        match self.meaning(node.name, scope) {
            Meaning::Value(MacroValue::Number { value, .. }) => Some(value),
            _ => None,
        }
    }

    fn select(&mut self, selector: &Selector<'ast>, scope: &mut Scope<'ast>) -> (Selected, Datum) {
        let base = self.base_of(selector, scope);
        let (code, datum) = self.selected(selector, scope);
        let selected = match (code, &datum) {
            (_, Datum::Text(text)) => Selected::Text(text.clone()),
            (Some(code @ (Code::Time(_) | Code::Path(_))), _) => Selected::Text(self.shown(code, &datum)),
            (_, Datum::Number { raw, bits }) => Selected::Number {
                value: *raw as u64,
                bits: (*bits).min(64),
                base,
                errno: matches!(code, Some(Code::Errno(_))),
            },
        };
        (selected, datum)
    }

    /// Number base of match values without a prefix.
    fn base_of(&mut self, selector: &Selector<'ast>, scope: &Scope<'ast>) -> NumberBase {
        let node = match selector {
            Selector::Code(code) => return base_of_code(code.node),
            Selector::Macro(node) => node,
        };
        match node.cast.map(|cast| cast.node) {
            Some(Cast::Code(code)) => base_of_code(code),
            Some(Cast::Bits { .. } | Cast::Unknown(_)) => NumberBase::Hex,
            None => match self.meaning(node.name, scope) {
                Meaning::Value(MacroValue::Number { shown: MacroForm::Decimal | MacroForm::SignedDecimal, .. }) => {
                    NumberBase::Decimal
                }
                _ => NumberBase::Hex,
            },
        }
    }

    // Loops, flags, calls, timers

    /// Counts a loop iteration or call; false if the limit was exceeded.
    fn count_iteration(&mut self) -> bool {
        if self.turns == self.limits.turns {
            self.limited = true;
            return false;
        }
        self.turns += 1;
        true
    }

    fn repeat(&mut self, node: &Loop<'ast>, scope: &mut Scope<'ast>) -> Flow {
        self.null = false;
        let count = self.selector_value(&node.count, scope) as i64;
        let null = self.null || count > 0 && self.truncated;
        let mut turns = Vec::new();
        let mut flow = Flow::Next;
        for _ in 0..count.max(0) {
            if self.truncated {
                break;
            }
            if !self.count_iteration() {
                flow = Flow::End;
                break;
            }
            self.reached.push(node.body.span);
            if let Some(frames) = &mut self.frames {
                frames.push(Frame::new());
            }
            flow = self.group(node.body.items, scope);
            turns.extend(self.frames.as_mut().and_then(Vec::pop));
            if flow == Flow::End {
                break;
            }
        }
        self.null = null;
        self.record_value(node.span, PrintedValue { turns, ..PrintedValue::default() });
        flow
    }

    fn bitflags(&mut self, node: &Bitflags<'ast>, scope: &mut Scope<'ast>) {
        let base = match node.selector {
            Selector::Macro(MacroRef { cast: Some(cast), .. }) => match cast.node {
                Cast::Code(Code::Octal(_)) => NumberBase::Octal,
                Cast::Code(Code::Signed(_) | Code::Unsigned(_)) => NumberBase::Decimal,
                Cast::Code(Code::Binary { .. }) => NumberBase::Binary,
                _ => NumberBase::Hex,
            },
            _ => NumberBase::Hex,
        };
        self.null = false;
        let pointer = self.pointer;
        let datum = self.selected(&node.selector, scope).1;
        self.pointer = pointer;
        let value = self.selector_value(&node.selector, scope);
        let (null, mut flags) = (self.null, Vec::new());
        // A number beyond 64 bits never matches.
        let bits = |word: &RawValue| literal::flag(word.node, base).and_then(|number| literal::pattern(number, 64));
        for entry in node.entries {
            match entry {
                FlagEntry::Flag { flag, yes, no } => {
                    let set = bits(flag).is_some_and(|flag| flag != 0 && value & flag == flag);
                    let part = if set { Some(flag.span.to(yes.span)) } else { no.map(|no| no.span) };
                    self.reached.extend(part);
                    flags.extend(set.then(|| yes.bytes.to_vec()));
                    if let Some(text) = if set { Some(yes) } else { no.as_ref() } {
                        self.text(text);
                    }
                }
                FlagEntry::Field { mask, field, text } => {
                    if bits(mask).is_some_and(|mask| bits(field) == Some(value & mask)) {
                        self.reached.push(mask.span.to(text.span));
                        flags.push(text.bytes.to_vec());
                        self.text(text);
                    }
                }
            }
        }
        let number = self.uncast(&node.selector, scope);
        self.null = null;
        self.record_value(node.span, PrintedValue { flags: Some(flags), ..PrintedValue::of(&datum, number) });
    }

    fn subroutine(&mut self, id: u16, call: Span) -> Flow {
        if !self.count_iteration() {
            return Flow::End;
        }
        let Some(stanza) = self.reference.stanzas.get(&id) else { return Flow::Next };
        self.calls.push(call.start);
        let flow = self.stanza(stanza);
        self.calls.pop();
        flow
    }

    fn call(&mut self, node: &Call<'ast>, scope: &mut Scope<'ast>) -> Flow {
        let Some(function) = self.reference.functions.get(node.name.node) else { return Flow::Next };
        let values: Vec<MacroNumber> = node.arguments.iter().map(|argument| self.number(argument, scope)).collect();
        let names = function.params.iter().map(|name| name.node);
        let mut locals = Scope::Call(names.zip(values).collect());
        if !self.count_iteration() {
            return Flow::End;
        }
        self.reached.push(function.span);
        self.calls.push(node.span.start);
        let flow = self.group(function.body, &mut locals);
        self.calls.pop();
        flow
    }

    fn timer(&mut self, node: &Timer<'ast>, scope: &mut Scope<'ast>) {
        let first = self.value(node.first, scope);
        let second = self.value(node.second, scope);
        match node.action {
            TimerAction::Start => self.timers.start(first, second, self.event.time_ns),
            TimerAction::End => {
                let started = self.timers.end(first, second);
                let since = started.map(|started| self.event.time_ns.saturating_sub(started));
                let raw = since.unwrap_or(0).into();
                self.null = since.is_none();
                self.record_value(node.span, PrintedValue::of(&Datum::Number { raw, bits: 64 }, None));
                if let Some(since) = since {
                    let usec = since / 1000;
                    let text = if usec < 1000 { format!("[{usec} usec]") } else { format!("[{} msec]", usec / 1000) };
                    self.page.value(text.as_bytes());
                }
            }
        }
    }
}

/// True if a soft blank follows the output of a code or cast.
fn soft_blank_follows(code: Code) -> bool {
    match code {
        Code::Ascii { .. } | Code::Counted(_) | Code::Time(_) | Code::Errno(_) | Code::Path(_) | Code::HexByte => false,
        Code::Binary { .. }
        | Code::Hex(_)
        | Code::Signed(_)
        | Code::Unsigned(_)
        | Code::Octal(_)
        | Code::Float(_)
        | Code::HookBytes
        | Code::HookType => true,
    }
}

fn base_of_code(code: Code) -> NumberBase {
    match code {
        Code::Binary { .. } => NumberBase::Binary,
        Code::Octal(_) => NumberBase::Octal,
        Code::Signed(_) | Code::Unsigned(_) | Code::HookBytes | Code::Errno(_) => NumberBase::Decimal,
        _ => NumberBase::Hex,
    }
}

/// True if a case's value matches the selected one.
fn matches(selected: &Selected, value: &MatchValue) -> bool {
    match (selected, value) {
        (_, MatchValue::Any(_)) => true,
        (Selected::Text(text), MatchValue::Word(word)) => text == word.node,
        (Selected::Text(text), MatchValue::Quoted(quoted)) => text == quoted.bytes,
        (Selected::Number { .. }, MatchValue::Quoted(_)) => false,
        (Selected::Number { value, bits, base, errno }, MatchValue::Word(word)) => {
            let named = errno.then(|| errno_value(word.node)).flatten().map(i128::from);
            let number = named.or_else(|| literal::number(word.node, *base));
            number.and_then(|number| literal::pattern(number, *bits)) == Some(*value)
        }
    }
}
