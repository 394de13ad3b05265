//! Computes the bits of an event that an instruction is about to read.

use std::ops::Range;
use tfbc_vm::{EnvText, EnvValue, Event, Op, OperandKind, Reads, Step, form};

/// Bits that a step reads. They may extend past the end of the event.
pub(super) fn reads(step: &Step<'_>) -> Vec<Range<u64>> {
    let Some(op) = Op::from_u8(step.instr.op) else { return Vec::new() };
    let operand = |kinds: &[OperandKind]| operand(step, op, kinds);
    let register = || step.regs.get(operand(&[OperandKind::Src]) as usize).copied().unwrap_or(0);
    let width = || u64::from(operand(&[OperandKind::Width, OperandKind::WideWidth]));
    let at = || u64::from(operand(&[OperandKind::Off, OperandKind::BitOff, OperandKind::Window]));
    let b = u64::from(step.instr.b);
    let here = DataPointer::of(step);
    let one = |range: Range<u64>| vec![range];
    match op.info().reads {
        Reads::Nothing => Vec::new(),
        Reads::Bytes => one(bytes(at(), width())),
        Reads::Bits => one(at()..at() + u64::from(operand(&[OperandKind::Bits]))),
        // A data word that is cut by the end of the event is 0, so no byte of it is read.
        Reads::Word if at() + width() > step.event.bytes.len() as u64 => Vec::new(),
        Reads::Word => one(bytes(at(), width())),
        Reads::Window => {
            // The bits of a little-endian number may be scattered in the event, so whole bytes are reported.
            let bits = form::bits(step.instr.c);
            one(bytes(at() + u64::from(bits.start / 8), u64::from(bits.end.div_ceil(8) - bits.start / 8)))
        }
        Reads::Text => one(text(step.event, at(), operand(&[OperandKind::Len, OperandKind::Width]).into())),
        Reads::String => one(text(step.event, b, u64::MAX)),
        Reads::NextBytes => one(here.bytes(width())),
        Reads::NextBits => one(here.bits(operand(&[OperandKind::Bits]).into())),
        Reads::NextText => one(here.text(operand(&[OperandKind::Len]).into())),
        Reads::NextTextBy => one(here.text(register())),
        Reads::NextCounted => {
            let length = here.bytes(width());
            let len = step.event.bytes.get((length.start / 8) as usize..).unwrap_or_default();
            let len = len.iter().take(width() as usize).fold(0u64, |len, byte| len << 8 | u64::from(*byte));
            // Missing bytes of the length are read as zeros.
            let n_missing = (length.end / 8).saturating_sub(step.event.bytes.len() as u64).min(8);
            let len = len.checked_shl(8 * n_missing as u32).unwrap_or(0);
            let counted = text(step.event, length.end / 8, len);
            vec![length, counted]
        }
        Reads::NextString => one(here.text(u64::MAX)),
        Reads::NextName => one(here.text((here.rest().len() as u64).saturating_sub(b))),
        Reads::NextWords => one(here.bytes(b.min(here.rest().len() as u64 / 4) * 4)),
        Reads::NextDump => {
            let count = register();
            one(here.bytes(if (count as i64) < 0 { 0 } else { count.min(here.rest().len() as u64) }))
        }
        Reads::Value => env(step.event, EnvValue::from_u32(operand(&[OperandKind::Value]))),
        Reads::Name if EnvText::from_u32(operand(&[OperandKind::Name])) != Some(EnvText::TraceId) => Vec::new(),
        Reads::Name | Reads::HookId => one(id(step.event)),
    }
}

/// First operand of the given kinds; 0 if there is none.
fn operand(step: &Step<'_>, op: Op, kinds: &[OperandKind]) -> u32 {
    let found = op.info().operands.iter().find(|(.., kind)| kinds.contains(kind));
    found.map_or(0, |(_, slot, _)| step.instr.slot(*slot))
}

fn bytes(at: u64, len: u64) -> Range<u64> {
    at.saturating_mul(8)..at.saturating_add(len).saturating_mul(8)
}

/// Text of at most `len` bytes, up to and including its NUL.
fn text(event: &Event<'_>, at: u64, len: u64) -> Range<u64> {
    let rest = usize::try_from(at).ok().and_then(|at| event.bytes.get(at..)).unwrap_or_default();
    let field = &rest[..rest.len().min(usize::try_from(len).unwrap_or(usize::MAX))];
    let n = field.iter().position(|byte| *byte == 0).map_or(field.len(), |nul| nul + 1);
    bytes(at, n as u64)
}

/// Bits of the header that a value comes from.
fn env(event: &Event<'_>, value: Option<EnvValue>) -> Vec<Range<u64>> {
    if event.record.is_some() {
        return Vec::new();
    }
    let range = match (value, event.wide) {
        (Some(EnvValue::HookData), true) => 48..64,
        (Some(EnvValue::HookData), false) => 16..32,
        (Some(EnvValue::HookType), true) => 0..16,
        (Some(EnvValue::HookType), false) => 12..16,
        (Some(EnvValue::HookLen), true) => 16..32,
        (Some(EnvValue::HookLen), false) if event.is_generic() => 12..32,
        (Some(EnvValue::HookLen), false) => 12..16,
        _ => return Vec::new(),
    };
    Vec::from([range])
}

/// Bits of the hook id.
fn id(event: &Event<'_>) -> Range<u64> {
    match (event.record, event.wide) {
        (Some(_), _) => 0..0,
        (None, true) => 32..48,
        (None, false) => 0..12,
    }
}

/// Data pointer of the step, with its base.
struct DataPointer<'e> {
    event: &'e Event<'e>,
    /// Offset in bytes; `None` before the first byte of the event.
    at: Option<u64>,
    bit: u32,
}

impl<'e> DataPointer<'e> {
    fn of(step: &Step<'e>) -> Self {
        let at = (step.pointer as i64).saturating_add(step.base as i64);
        Self { event: step.event, at: u64::try_from(at).ok(), bit: step.bit }
    }

    /// Offset of the next whole byte.
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
