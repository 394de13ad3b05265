//! The bits of an event that an instruction of a plain program is about to read.

use std::ops::Range;
use tfbc_vm::{EnvText, EnvValue, Event, Op, Slot, Step};

/// Runs of bits.
type Reads = Vec<Range<u64>>;

/// The bits that a step reads. They may go past the event's end.
pub(super) fn reads(step: &Step<'_>) -> Reads {
    let slot = |slot| step.instr.slot(slot);
    let (b, c) = (slot(Slot::B), slot(Slot::C));
    let register = |register: u32| step.regs.get(register as usize).copied().unwrap_or(0);
    let here = Place::of(step);
    let one = |range: Range<u64>| vec![range];
    let Some(op) = Op::from_u8(step.instr.op) else { return Reads::new() };
    match op {
        Op::Load | Op::LoadLe | Op::HexBytes => one(bytes(b.into(), c.into())),
        Op::LoadBits => one(b.into()..u64::from(b) + u64::from(c)),
        // A data word that the event does not hold whole is 0, whatever there is of it.
        Op::Word if u64::from(b) + u64::from(c) <= step.event.bytes.len() as u64 => one(bytes(b.into(), c.into())),
        Op::Take | Op::TakeLe | Op::TakeHexBytes => one(here.bytes(slot(width(op)).into())),
        Op::TakeBits => one(here.bits(slot(width(op)).into())),
        Op::Text => one(text(step.event, b.into(), c.into())),
        Op::TakeText | Op::TakeEscaped => one(here.text(slot(first(op)).into())),
        Op::TextBy => one(here.text(register(b))),
        Op::TakeCounted => {
            let width = u64::from(slot(first(op)));
            let length = here.bytes(width);
            let len = step.event.bytes.get((length.start / 8) as usize..).unwrap_or_default();
            let len = len.iter().take(width as usize).fold(0u64, |len, byte| len << 8 | u64::from(*byte));
            // Missing bytes of the length read as zeros.
            let n_missing = (length.end / 8).saturating_sub(step.event.bytes.len() as u64).min(8);
            let len = len.checked_shl(8 * n_missing as u32).unwrap_or(0);
            let behind = text(step.event, length.end / 8, len);
            vec![length, behind]
        }
        Op::TakeString | Op::PassString => one(here.text(u64::MAX)),
        Op::TakeName => {
            let rest = here.rest().len() as u64;
            one(here.text(rest.saturating_sub(b.into())))
        }
        Op::TakeWords => one(here.bytes(u64::from(b).min(here.rest().len() as u64 / 4) * 4)),
        Op::Dump => {
            let count = register(b);
            one(here.bytes(if (count as i64) < 0 { 0 } else { count.min(here.rest().len() as u64) }))
        }
        Op::Env => env(step.event, EnvValue::from_u32(b)),
        Op::PutName if EnvText::from_u32(b) == Some(EnvText::TraceId) => one(id(step.event)),
        Op::Error => one(id(step.event)),
        _ => Reads::new(),
    }
}

/// The slot of an instruction's first operand that is no register.
fn first(op: Op) -> Slot {
    op.info().operands.first().map_or(Slot::B, |(_, slot, _)| *slot)
}

/// The slot of a number of bytes or bits.
fn width(op: Op) -> Slot {
    let is_width = |kind| matches!(kind, tfbc_vm::Kind::Width | tfbc_vm::Kind::Bits | tfbc_vm::Kind::WideWidth);
    op.info().operands.iter().find(|(.., kind)| is_width(*kind)).map_or(Slot::C, |(_, slot, _)| *slot)
}

fn bytes(at: u64, len: u64) -> Range<u64> {
    at.saturating_mul(8)..at.saturating_add(len).saturating_mul(8)
}

/// A text of at most `len` bytes: up to its NUL, which is read too.
fn text(event: &Event<'_>, at: u64, len: u64) -> Range<u64> {
    let rest = usize::try_from(at).ok().and_then(|at| event.bytes.get(at..)).unwrap_or_default();
    let field = &rest[..rest.len().min(usize::try_from(len).unwrap_or(usize::MAX))];
    let n = field.iter().position(|byte| *byte == 0).map_or(field.len(), |nul| nul + 1);
    bytes(at, n as u64)
}

/// What the header tells.
fn env(event: &Event<'_>, value: Option<EnvValue>) -> Reads {
    if event.record.is_some() {
        return Reads::new();
    }
    let range = match (value, event.wide) {
        (Some(EnvValue::HookData), true) => 48..64,
        (Some(EnvValue::HookData), false) => 16..32,
        (Some(EnvValue::HookType), true) => 0..16,
        (Some(EnvValue::HookType), false) => 12..16,
        (Some(EnvValue::HookLen), true) => 16..32,
        (Some(EnvValue::HookLen), false) if event.is_generic() => 12..32,
        (Some(EnvValue::HookLen), false) => 12..16,
        _ => return Reads::new(),
    };
    Reads::from_iter([range])
}

/// The hook id.
fn id(event: &Event<'_>) -> Range<u64> {
    match (event.record, event.wide) {
        (Some(_), _) => 0..0,
        (None, true) => 32..48,
        (None, false) => 0..12,
    }
}

/// The place of the data pointer, base included.
struct Place<'e> {
    event: &'e Event<'e>,
    /// Bytes, `None` before the event's first.
    at: Option<u64>,
    bit: u32,
}

impl<'e> Place<'e> {
    fn of(step: &Step<'e>) -> Self {
        let at = (step.pointer as i64).saturating_add(step.base as i64);
        Self { event: step.event, at: u64::try_from(at).ok(), bit: step.bit }
    }

    /// The next whole byte.
    fn byte(&self) -> Option<u64> {
        Some(self.at? + u64::from(self.bit > 0))
    }

    fn rest(&self) -> &'e [u8] {
        let at = self.byte().and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.event.bytes.get(at..)).unwrap_or_default()
    }

    fn bytes(&self, len: u64) -> Range<u64> {
        self.byte().map_or(0..0, |at| bytes(at, len))
    }

    fn bits(&self, count: u64) -> Range<u64> {
        let start = self.at.map(|at| at.saturating_mul(8).saturating_add(self.bit.into()));
        start.map_or(0..0, |start| start..start.saturating_add(count))
    }

    fn text(&self, len: u64) -> Range<u64> {
        self.byte().map_or(0..0, |at| text(self.event, at, len))
    }
}
