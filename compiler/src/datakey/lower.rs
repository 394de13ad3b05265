//! Lowers checked event definitions to IR: an entry per event for its text, and code that stores its fields.

use super::enums::{LabelOutput, Labels, MAX_PAIRS};
use super::fields::{self, EventCells, FieldCells};
use super::model::*;
use crate::codes::TOO_LARGE;
use crate::fields::FieldRoutine;
use crate::fields::form::Form;
use crate::fields::store;
use crate::ir::{
    Block, BlockByForm, BlockWithFallback, EventField as Read, FieldInst, If, Inst, IrEntry, Loop, Node, Switch,
    SwitchSelector, Value, ValueFormat, VarSlot,
};
use crate::number::Number;
use crate::probes::{PointKind, Probes};
use std::collections::{HashSet, VecDeque};
use tfbc_grammar::trcfmt::ast::{BinaryOp, Move, Size};
use tfbc_grammar::{Diagnostic, Source, Span};
use tfbc_vm::{Level, Space};

/// Arrays up to this count are unrolled; longer ones become loops.
const MAX_UNROLLED: u64 = 8;

/// Lowers every event. An event whose enums need too much memory is reported and left out.
pub(crate) fn lower(model: &Model, probes: &mut Probes) -> (Vec<IrEntry>, Vec<Diagnostic>) {
    let (mut stanzas, mut diagnostics) = (Vec::new(), Vec::new());
    points(model, probes);
    probes.on = probes.wanted;
    for plan in &model.events {
        match EventLowerer::new(model, plan, None, probes).stanza() {
            Ok(stanza) => stanzas.push(stanza),
            Err(found) => diagnostics.push(*found),
        }
    }
    (stanzas, diagnostics)
}

/// Lowers the fields of every event with an entry.
pub(crate) fn lower_fields(
    model: &Model,
    entries: &[IrEntry],
    sources: &[&Source],
) -> (Vec<FieldRoutine>, Vec<Diagnostic>) {
    let probes = Probes::default();
    fields::derive(model, entries, sources, |plan, cells| {
        let mut lowerer = EventLowerer::new(model, plan, Some(cells), &probes);
        lowerer.keys().ok()?;
        Some((lowerer.block, lowerer.n_locals))
    })
}

/// Numbers the coverage points of all definitions in file order, so that the numbers do not depend on events.
fn points(model: &Model, probes: &mut Probes) {
    if !probes.wanted {
        return;
    }
    for definition in &model.definitions {
        let mut point = |kind, span, name: &[u8]| {
            probes.element(kind, definition.source, span, name);
        };
        point(PointKind::Datakey, definition.span, &definition.format);
        for ((class, id), tag) in &definition.event_tags {
            point(PointKind::Event, *tag, format!("{class}:{id}").as_bytes());
        }
        for field in &definition.fields {
            field.bitmasks.iter().for_each(|tag| point(PointKind::Bitmask, *tag, &field.label));
            field.enums.iter().for_each(|label| point(PointKind::Enum, label.tag, &label.text));
            if let Some(default) = &field.default {
                point(PointKind::EnumDefault, field.default_tag, default);
            }
        }
    }
    for plan in &model.events {
        for key in &plan.keys {
            let source = model.definitions[key.definition].source;
            for condition in &key.conditions {
                let field = condition
                    .field
                    .map(|(key, field)| &model.definitions[plan.keys[key].definition].fields[field].label[..]);
                for kind in [PointKind::ConditionTrue, PointKind::ConditionFalse] {
                    probes.element(kind, source, condition.tag, field.unwrap_or_default());
                }
            }
        }
    }
}

/// Lowering of one event.
struct EventLowerer<'m> {
    model: &'m Model,
    plan: &'m EventPlan,
    /// Cells of its fields, which are stored instead of printed; `None` for the text.
    cells: Option<&'m EventCells>,
    probes: &'m Probes,
    /// Condition tests, one per key.
    applies: Vec<Applicability>,
    n_locals: u16,
    span: Span,
    block: Block,
}

/// Test that decides if a key applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Applicability {
    /// The key has no condition.
    Always,
    /// The key has one condition, tested just before its fields.
    Tested,
    /// The result is in a local, set before any output.
    Local(u16),
}

/// Boxed, because a diagnostic is large.
type LowerResult<T> = Result<T, Box<Diagnostic>>;

/// Register of the current field's value.
const VALUE: VarSlot = VarSlot::Row(0);
/// Register of one condition's result.
const CONDITION: VarSlot = VarSlot::Row(1);

impl<'m> EventLowerer<'m> {
    fn new(model: &'m Model, plan: &'m EventPlan, cells: Option<&'m EventCells>, probes: &'m Probes) -> Self {
        let always = |key: usize| plan.keys[key].conditions.is_empty();
        let any_always = (0..plan.keys.len()).any(always);
        let reads = plan.keys.iter().flat_map(|key| &key.conditions).filter_map(|condition| condition.field);
        let read: HashSet<usize> = reads.map(|(key, _)| key).collect();
        let mut n_locals = 0;
        let applies = plan.keys.iter().enumerate().map(|(key, plan)| match &plan.conditions[..] {
            [] => Applicability::Always,
            [ResolvedCondition { field: Some((from, _)), .. }]
                if any_always && always(*from) && !read.contains(&key) =>
            {
                // The common case: one condition on a datakey that is always printed. It is tested directly, without a
                // variable.
                Applicability::Tested
            }
            _ => {
                n_locals = u16::saturating_add(n_locals, 1);
                Applicability::Local(n_locals - 1)
            }
        });
        let applies = applies.collect();
        EventLowerer { model, plan, cells, probes, applies, n_locals, span: Span::default(), block: Block::new() }
    }

    /// Coverage probe of an element in a key's definition.
    fn probe(&self, key: usize, kind: PointKind, tag: Span) -> Option<Node> {
        let point = self.probes.known(kind, self.definition(key).source, tag)?;
        Some(Node { inst: Inst::Probe(point), span: tag })
    }

    /// Coverage probes of a condition: for true and for false.
    fn probes_of(&self, key: usize, condition: &ResolvedCondition) -> [Block; 2] {
        [PointKind::ConditionTrue, PointKind::ConditionFalse]
            .map(|kind| self.probe(key, kind, condition.tag).into_iter().collect())
    }

    /// Emits the coverage probes of a condition, selected by `on`.
    fn probe_condition(&mut self, key: usize, condition: &ResolvedCondition, on: Value) {
        let [then, otherwise] = self.probes_of(key, condition);
        if !then.is_empty() {
            self.push(Inst::If(If { on, then, otherwise }.into()));
        }
    }

    /// Emits all keys.
    fn keys(&mut self) -> LowerResult<()> {
        for key in self.in_order() {
            self.span = self.definition(key).span;
            self.conditions(key);
        }
        self.skip_unless_any();
        for key in 0..self.plan.keys.len() {
            self.span = self.definition(key).span;
            let shown = self.inside(|inside| inside.key(key))?;
            match (self.applies[key], &self.plan.keys[key].conditions[..]) {
                (Applicability::Local(local), _) => {
                    let on = Value::Slot(VarSlot::Local(local));
                    self.push(Inst::If(If { on, then: shown, otherwise: Block::new() }.into()));
                }
                (Applicability::Tested, [condition @ ResolvedCondition { field: Some((from, field)), test, .. }]) => {
                    // Both branches leave the data pointer at the same place, so that the emitter knows it afterwards.
                    let start = || Node { inst: Inst::Move(Move::Goto { bytes: 0, bits: 0 }), span: self.span };
                    let ([on_true, on_false], [_, short]) =
                        (self.probes_of(key, condition), self.probes_of(key, condition));
                    let then = on_true.into_iter().chain(shown).chain([start()]).collect();
                    let otherwise = on_false.into_iter().chain([start()]).collect();
                    let test = Inst::If(If { on: tested(*test), then, otherwise }.into());
                    let body = self.condition(*from, *field, test);
                    self.push(Inst::Guarded(BlockWithFallback { body, short }.into()));
                }
                _ => self.block.extend(shown),
            }
        }
        Ok(())
    }

    fn stanza(mut self) -> LowerResult<IrEntry> {
        self.keys()?;
        let first = self.definition(0);
        let formats: Vec<&[u8]> = (0..self.plan.keys.len()).map(|key| &self.definition(key).format[..]).collect();
        Ok(IrEntry {
            space: Space::Record,
            id: Space::record_id(self.plan.class, self.plan.id),
            source: first.source,
            span: first.span,
            version: (1, 0),
            level: Level::Zero,
            label: formats.join(&b"; "[..]),
            hidden: false,
            builtin: false,
            tab_origin: 0,
            n_slots: 0,
            n_locals: self.n_locals,
            heading: Block::new(),
            called_heading: Block::new(),
            body: self.block,
            lower_hex: false,
        })
    }

    fn definition(&self, key: usize) -> &'m Definition {
        &self.model.definitions[self.plan.keys[key].definition]
    }

    fn push(&mut self, inst: Inst) {
        self.block.push(Node { inst, span: self.span });
    }

    fn text(&mut self, text: &[u8]) {
        self.push(Inst::Text(text.to_vec()));
    }

    /// Collects the code pushed by `fill` into a block of its own.
    fn inside(&mut self, fill: impl FnOnce(&mut Self) -> LowerResult<()>) -> LowerResult<Block> {
        let outer = std::mem::take(&mut self.block);
        let filled = fill(self);
        let inner = std::mem::replace(&mut self.block, outer);
        filled.map(|()| inner)
    }

    /// Keys that have locals; each after the keys whose fields it reads.
    fn in_order(&self) -> Vec<usize> {
        let reads = |key: usize| {
            let fields = self.plan.keys[key].conditions.iter().filter_map(|condition| condition.field);
            fields.map(|(key, _)| key).filter(|read| self.has_local(*read))
        };
        let conditional = || (0..self.applies.len()).filter(|key| self.has_local(*key));
        let mut waiting = vec![0usize; self.applies.len()];
        let mut readers = vec![Vec::new(); self.applies.len()];
        for key in conditional() {
            for read in reads(key) {
                waiting[key] += 1;
                readers[read].push(key);
            }
        }
        // The checks have refused cycles, so every key becomes ready.
        let mut ready: VecDeque<usize> = conditional().filter(|key| waiting[*key] == 0).collect();
        let mut order = Vec::new();
        while let Some(key) = ready.pop_front() {
            order.push(key);
            for reader in &readers[key] {
                waiting[*reader] -= 1;
                if waiting[*reader] == 0 {
                    ready.push_back(*reader);
                }
            }
        }
        order
    }

    fn has_local(&self, key: usize) -> bool {
        matches!(self.applies[key], Applicability::Local(_))
    }

    /// Sets the local of a key to 1 if all its conditions are true.
    fn conditions(&mut self, key: usize) {
        let Applicability::Local(local) = self.applies[key] else { return };
        let all = VarSlot::Local(local);
        let conditions = &self.plan.keys[key].conditions;
        if conditions.iter().any(|condition| condition.field.is_none()) {
            // No definition has the field: the condition is false and the local stays 0.
            for condition in conditions.iter().filter(|condition| condition.field.is_none()) {
                self.probe_condition(key, condition, Value::Const(0));
            }
            return;
        }
        if let [condition @ ResolvedCondition { field: Some((from, field)), test, .. }] = &conditions[..]
            && self.applies[*from] == Applicability::Always
        {
            // Locals start at 0, so nothing is stored if the payload is too short.
            let body = self.condition(*from, *field, Inst::Assign(all, tested(*test)));
            self.push(Inst::Guarded(BlockWithFallback { body, short: Block::new() }.into()));
            return self.probe_condition(key, condition, Value::Slot(all));
        }
        self.push(Inst::Assign(all, Value::Const(1)));
        for condition in conditions {
            let Some((from, field)) = condition.field else { continue };
            self.push(Inst::Assign(CONDITION, Value::Const(0)));
            let body = self.condition(from, field, Inst::Assign(CONDITION, tested(condition.test)));
            self.push(Inst::Guarded(BlockWithFallback { body, short: Block::new() }.into()));
            // A field of a datakey that does not apply has no value, so a condition on it is false.
            let applies = match self.applies[from] {
                Applicability::Local(applies) => and(Value::Slot(CONDITION), Value::Slot(VarSlot::Local(applies))),
                _ => Value::Slot(CONDITION),
            };
            self.probe_condition(key, condition, applies);
            self.push(Inst::Assign(all, and(Value::Slot(all), Value::Slot(CONDITION))));
            if let Applicability::Local(applies) = self.applies[from] {
                self.push(Inst::Assign(all, and(Value::Slot(all), Value::Slot(VarSlot::Local(applies)))));
            }
        }
    }

    /// Reads a field and runs `test` on it. Leaves the guarded block if the payload is too short.
    fn condition(&mut self, key: usize, field: usize, test: Inst) -> Block {
        let outer = std::mem::take(&mut self.block);
        self.seek(key);
        let definition = self.definition(key);
        for before in &definition.fields[..field] {
            self.pass(before.shape);
        }
        let field = &definition.fields[field];
        self.push(Inst::Demand(field.shape.len()));
        self.push(Inst::Assign(VALUE, masked(field)));
        self.push(test);
        std::mem::replace(&mut self.block, outer)
    }

    /// Moves the data pointer to the first field of a key.
    fn seek(&mut self, key: usize) {
        let [simple, wide] = self.plan.keys[key].offsets;
        let goto = |bytes: u64| Inst::Move(Move::Goto { bytes: bytes.min(u32::MAX.into()) as u32, bits: 0 });
        // Most definitions read simple and wide records at the same offset. Then both share one routine.
        if simple == wide {
            return self.push(goto(simple));
        }
        let block = |bytes| vec![Node { inst: goto(bytes), span: self.span }];
        self.push(Inst::ByForm(BlockByForm { simple: block(simple), wide: block(wide) }.into()));
    }

    /// Moves the data pointer past a field.
    fn pass(&mut self, shape: PayloadType) {
        match shape {
            PayloadType::Text => {
                self.push(Inst::Demand(1));
                self.push(Inst::String { print: false });
            }
            _ => self.push(Inst::Move(Move::Omit { bytes: shape.len().min(u32::MAX.into()) as u32, bits: 0 })),
        }
    }

    /// Skips the event if no key applies.
    fn skip_unless_any(&mut self) {
        let local =
            |applies: &Applicability| if let Applicability::Local(local) = applies { Some(*local) } else { None };
        let locals: Option<Vec<u16>> = self.applies.iter().map(local).collect();
        let Some(locals) = locals else { return };
        self.push(Inst::Assign(CONDITION, Value::Const(0)));
        for local in locals {
            let (sum, applies) = (Value::Slot(CONDITION), Value::Slot(VarSlot::Local(local)));
            self.push(Inst::Assign(CONDITION, Value::Binary(BinaryOp::Add, Box::new(sum), Box::new(applies))));
        }
        let skip = vec![Node { inst: Inst::Skip, span: self.span }];
        self.push(Inst::If(If { on: Value::Slot(CONDITION), then: Block::new(), otherwise: skip }.into()));
    }

    /// Emits the fields of a key.
    fn key(&mut self, key: usize) -> LowerResult<()> {
        // After a key that is always printed, the next one always begins with a blank.
        let shown = |keys: std::ops::Range<usize>| self.applies[keys].contains(&Applicability::Always);
        let (blank, soft) = (shown(0..key), !shown(0..key + 1));
        let body = self.inside(|inside| {
            inside.seek(key);
            let definition = inside.definition(key);
            inside.block.extend(inside.probe(key, PointKind::Datakey, definition.span));
            let event = (inside.plan.class, inside.plan.id);
            let tag = definition.event_tags.iter().find(|(named, _)| *named == event);
            inside.block.extend(tag.and_then(|(_, tag)| inside.probe(key, PointKind::Event, *tag)));
            for (at, field) in definition.fields.iter().enumerate() {
                inside.span = field.span;
                match inside.cells {
                    Some(cells) => inside.stored(key, field, &cells[key].fields[at])?,
                    None => inside.field(key, field, at > 0 || blank)?,
                }
            }
            Ok(())
        })?;
        self.span = self.definition(key).span;
        let short = self.inside(|inside| {
            match inside.cells {
                Some(cells) => inside.store(FieldInst::Put { cell: cells[key].cut, value: Value::Const(1) }),
                None => inside.text(b"<truncated>"),
            }
            inside.push(Inst::Cut);
            Ok(())
        })?;
        self.push(Inst::Guarded(BlockWithFallback { body, short }.into()));
        if self.cells.is_none() && soft {
            self.push(Inst::Soft);
        }
        Ok(())
    }

    fn field(&mut self, key: usize, field: &FormatField, further: bool) -> LowerResult<()> {
        self.text(&[if further { &b" "[..] } else { b"" }, &field.label, b":"].concat());
        self.push(Inst::Demand(field.shape.len()));
        match field.shape {
            PayloadType::Number { .. } => self.number(key, field)?,
            PayloadType::Array { count, bytes, signed } => {
                self.array(NumberFormat { show: field.show, bytes, signed }, count, b", ");
            }
            PayloadType::Chars { .. } | PayloadType::Text => self.push(printed_text(field.shape)),
        }
        Ok(())
    }

    fn store(&mut self, inst: FieldInst) {
        self.push(Inst::Field(Box::new(inst)));
    }

    /// Emits code that stores a field instead of printing it.
    fn stored(&mut self, key: usize, field: &FormatField, cells: &FieldCells) -> LowerResult<()> {
        self.push(Inst::Demand(field.shape.len()));
        match field.shape {
            PayloadType::Number { bytes, signed } => {
                let how = NumberFormat { show: field.show, bytes, signed: signed && field.mask.is_none() };
                self.stored_number(key, field, how, cells)?;
            }
            PayloadType::Array { count, bytes, signed } => {
                let item = NumberFormat { show: field.show, bytes, signed }.pattern();
                self.store(FieldInst::List { cell: cells.value, count: Value::Const(count), n_members: 1 });
                let body = self.inside(|inside| {
                    inside.store(FieldInst::Item);
                    inside.store(FieldInst::Put { cell: 0, value: item.read() });
                    Ok(())
                })?;
                self.push(Inst::Loop(Loop { all: true, count: Value::Const(count), body }.into()));
                self.store(FieldInst::End);
            }
            PayloadType::Chars { .. } | PayloadType::Text => {
                let body = vec![Node { inst: printed_text(field.shape), span: self.span }];
                self.store(FieldInst::Text { cell: cells.value, body, keep: false, some: false });
            }
        }
        Ok(())
    }

    fn stored_number(
        &mut self,
        key: usize,
        field: &FormatField,
        how: NumberFormat,
        cells: &FieldCells,
    ) -> LowerResult<()> {
        let how = how.pattern();
        let cell = cells.raw.unwrap_or(cells.value);
        let is_read_once = cells.raw.is_none() && cells.words.is_none() && cells.recode.is_none();
        if is_read_once && field.mask.is_none() {
            self.store(FieldInst::Put { cell, value: how.read() });
            return Ok(());
        }
        self.push(Inst::Assign(VALUE, masked(field)));
        self.store(FieldInst::Put { cell, value: how.register_value() });
        if cells.raw.is_some() {
            self.character(cells.value);
        }
        if let Some(words) = cells.words {
            let definition = self.definition(key);
            let labels = Labels::of(field).ok_or_else(|| Box::new(too_large(definition, field)))?;
            self.block.extend(labels.stored(VALUE, words, &cells.texts, self.span));
        }
        if let Some((code, cell, texts)) = cells.recode {
            let form = Form::Code(code);
            let value = || form.stored(how.register_value());
            self.store(store::stored(cell, value(), form, self.span));
            if let Some(inst) = texts.and_then(|cell| store::code_text(cell, value(), form, true)) {
                self.store(inst);
            }
        }
        Ok(())
    }

    /// Stores the value as a character if it is printable.
    fn character(&mut self, cell: u16) {
        let put = Inst::Put(Value::Slot(VALUE), ValueFormat::Chars { len: 1, width: 0 });
        let body = vec![Node { inst: put, span: self.span }];
        let text = Inst::Field(Box::new(FieldInst::Text { cell, body, keep: false, some: false }));
        let keys = (0x20..=0x7e).map(|magnitude| (Number { negative: false, magnitude }, 0)).collect();
        let on = SwitchSelector::Number { value: Value::Slot(VALUE), width: Some(64), keys };
        let bodies = vec![vec![Node { inst: text, span: self.span }]];
        self.push(Inst::Switch(Switch { on, bodies, default: None }.into()));
    }

    fn array(&mut self, how: NumberFormat, count: u64, between: &[u8]) {
        let item = || how.put(how.read(), self.span);
        let comma = || Node { inst: Inst::Text(between.to_vec()), span: self.span };
        let mut block = vec![Node { inst: Inst::Text(b"[".to_vec()), span: self.span }];
        block.extend(item());
        // Unrolled reads stay at fixed offsets. A loop needs the machine's pointer, but a hostile count must not become
        // code.
        if count <= MAX_UNROLLED {
            for _ in 1..count {
                block.push(comma());
                block.extend(item());
            }
        } else {
            let body = std::iter::once(comma()).chain(item()).collect();
            let again = Loop { all: false, count: Value::Const(count - 1), body };
            block.push(Node { inst: Inst::Loop(again.into()), span: self.span });
        }
        self.block.extend(block);
        self.text(b"]");
    }

    fn number(&mut self, key: usize, field: &FormatField) -> LowerResult<()> {
        let definition = self.definition(key);
        let PayloadType::Number { bytes, signed } = field.shape else { return Ok(()) };
        let how = NumberFormat { show: field.show, bytes, signed: signed && field.mask.is_none() };
        // Nothing tests the value, so it is printed as it is read, without a register.
        let plain = field.mask.is_none() && field.enums.is_empty() && field.default.is_none();
        if plain {
            self.block.extend(how.put(how.read(), self.span));
            return Ok(());
        }
        self.push(Inst::Assign(VALUE, masked(field)));
        let masks: Block = field.bitmasks.iter().filter_map(|tag| self.probe(key, PointKind::Bitmask, *tag)).collect();
        self.block.extend(masks);
        // The only limit that a correct definition may reach: values times masks.
        let labels = Labels::of(field).ok_or_else(|| Box::new(too_large(definition, field)))?;
        let shown = || how.put(how.register_value(), self.span);
        let probe = |tag: Span| {
            let default = field.default.is_some() && tag == field.default_tag;
            self.probe(key, if default { PointKind::EnumDefault } else { PointKind::Enum }, tag)
        };
        let with_value = definition.show_masked_value;
        let block =
            labels.block(&LabelOutput { value: VALUE, with_value, shown: &shown, span: self.span, probe: &probe });
        self.block.extend(block);
        Ok(())
    }
}

/// Output form of a number.
#[derive(Clone, Copy)]
struct NumberFormat {
    show: NumberStyle,
    bytes: u8,
    signed: bool,
}

impl NumberFormat {
    fn is_signed(self) -> bool {
        self.signed && self.show == NumberStyle::Decimal
    }

    /// Number for a table: characters as numbers, decimal fields by value, and others as bit patterns.
    fn pattern(self) -> Self {
        let is_char = self.show == NumberStyle::Char;
        NumberFormat { show: if is_char { NumberStyle::Decimal } else { self.show }, ..self }
    }

    /// The number at the data pointer.
    fn read(self) -> Value {
        Value::Read(Read::Bytes { size: Size::Bytes(self.bytes), signed: self.is_signed() })
    }

    /// The number in the value register, sign-extended if it prints signed.
    fn register_value(self) -> Value {
        let value = Value::Slot(VALUE);
        if !self.is_signed() {
            return value;
        }
        Value::Low { value: Box::new(value), size: Size::Bytes(self.bytes), signed: true }
    }

    fn put(self, value: Value, span: Span) -> Block {
        let how = match self.show {
            NumberStyle::Decimal if self.is_signed() => ValueFormat::Int,
            NumberStyle::Decimal => ValueFormat::Dec,
            NumberStyle::Hex => ValueFormat::HexC,
            NumberStyle::Octal => ValueFormat::OctC,
            NumberStyle::Char => ValueFormat::Ascii,
        };
        vec![Node { inst: Inst::Put(value, how), span }]
    }
}

/// Instruction that prints a text.
fn printed_text(shape: PayloadType) -> Inst {
    match shape {
        PayloadType::Chars { count } => Inst::Escaped(count.min(u32::MAX.into()) as u32),
        _ => Inst::String { print: true },
    }
}

/// Reads a field at the data pointer and applies its mask.
fn masked(field: &FormatField) -> Value {
    let PayloadType::Number { bytes, .. } = field.shape else { return Value::Const(0) };
    let read = Value::Read(Read::Bytes { size: Size::Bytes(bytes), signed: false });
    match field.mask {
        None => read,
        Some(0) => and(read, Value::Const(0)),
        Some(mask) => {
            let low = mask.trailing_zeros() as u8;
            let ones = (mask >> low).trailing_ones() as u8;
            // A mask of adjacent bits is a bit field, which the linker fuses with the read.
            let one_run = mask >> low == u64::MAX >> (64 - ones);
            let value = if one_run { read } else { and(read, Value::Const(mask)) };
            let count = if one_run { ones } else { 64 - low };
            if low == 0 && !one_run { value } else { Value::Bits { value: Box::new(value), low, count } }
        }
    }
}

/// Result of a test on the value register: 1 or 0.
fn tested(test: Test) -> Value {
    let value = Value::Slot(VALUE);
    let compare = |left, bits, not: bool| Value::Compare {
        equal: !not,
        left: Box::new(left),
        right: Box::new(Value::Const(bits)),
    };
    match test {
        Test::Value { bits: Some(bits), not } => compare(value, bits, not),
        Test::Mask { bits: Some(bits), not: false } if bits.is_power_of_two() => {
            Value::Bits { value: Box::new(value), low: bits.trailing_zeros() as u8, count: 1 }
        }
        Test::Mask { bits: Some(bits), not } => {
            let (masked, bits) = of_mask(value, bits, bits);
            compare(masked, bits, not)
        }
        Test::Both { mask: Some(mask), bits: Some(bits), not } => {
            let (masked, bits) = of_mask(value, mask, bits);
            compare(masked, bits, not)
        }
        // The literal is wider than the field: no value equals it, so the test is constant.
        Test::Value { not, .. } | Test::Mask { not, .. } | Test::Both { not, .. } => Value::Const(not.into()),
    }
}

/// Masks a value for a comparison with `bits`. If the mask is one run of bits, both are shifted down, which needs one
/// instruction less.
fn of_mask(value: Value, mask: u64, bits: u64) -> (Value, u64) {
    let low = mask.trailing_zeros();
    let count = if mask == 0 { 0 } else { (mask >> low).trailing_ones() };
    let one_run = count > 0 && mask.count_ones() == count && bits & !mask == 0;
    if !one_run {
        return (and(value, Value::Const(mask)), bits);
    }
    (Value::Bits { value: Box::new(value), low: low as u8, count: count as u8 }, bits >> low)
}

fn and(left: Value, right: Value) -> Value {
    Value::Binary(BinaryOp::And, Box::new(left), Box::new(right))
}

fn too_large(definition: &Definition, field: &FormatField) -> Diagnostic {
    let label = String::from_utf8_lossy(&field.label);
    let text = format!("field `{label}` has too many enums: values times masks exceed {MAX_PAIRS}");
    Diagnostic::error(&TOO_LARGE, definition.source, definition.span, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::ir::IrProgram;
    use tfbc_grammar::{Source, SourceId};
    use tfbc_vm::{Context, Event, Job, Layout, Machine, RecordHeader, TextBuf, Timers};

    fn field(label: &str, bytes: u8, show: NumberStyle) -> FormatField {
        FormatField {
            span: Span::default(),
            label: label.into(),
            shape: PayloadType::Number { bytes, signed: false },
            show,
            mask: None,
            search: EnumSearch::Value,
            bitmasks: Vec::new(),
            enums: Vec::new(),
            default: None,
            default_tag: Span::default(),
        }
    }

    fn label(test: Test, text: &str) -> EnumLabel {
        EnumLabel { tag: Span::default(), test, text: text.into() }
    }

    fn model(keys: Vec<(Vec<FormatField>, Vec<ResolvedCondition>)>) -> Model {
        let mut model = Model::default();
        let mut plan = EventPlan { class: 6, id: 65, keys: Vec::new() };
        for (at, (fields, conditions)) in keys.into_iter().enumerate() {
            model.definitions.push(Definition {
                source: SourceId(0),
                span: Span::default(),
                format: Vec::new(),
                fields,
                show_masked_value: true,
                event_tags: Vec::new(),
                comment: Vec::new(),
            });
            plan.keys.push(AppliedDefinition { definition: at, offsets: [0, 0], conditions });
        }
        model.events.push(plan);
        model
    }

    fn shown(model: &Model, payload: &[u8]) -> Option<String> {
        let (stanzas, diagnostics) = lower(model, &mut Probes::default());
        assert!(diagnostics.is_empty());
        let program = IrProgram { stanzas, ..IrProgram::default() };
        let source = Source::new("a.xml", "");
        let (graph, _) = Graph::new(&program);
        let sources = [&source];
        let built =
            crate::build::build(&program, &graph, &[], &sources, &Default::default(), crate::build::CodeForm::Listed);
        let blob = built.blob.finish();
        let program = tfbc_vm::Program::open(&blob).unwrap();
        let entry = program.entry(Space::Record, Space::record_id(6, 65)).unwrap();
        let mut texts = [Machine::default(), Machine::checked(Default::default())].map(|mut machine| {
            let mut out = TextBuf::new();
            let record = Some(RecordHeader { event: 65, big_endian: false });
            let event = Event { bytes: payload, wide: false, record, time_ns: 0, offset: 0 };
            let job = Job {
                event: &event,
                context: &Context::EMPTY,
                timers: &mut Timers::new(),
                layout: Layout::default(),
                line: 0,
                out: &mut out,
            };
            let outcome = machine.run(&program, entry.index, job);
            let text = String::from_utf8_lossy(out.as_bytes()).into_owned();
            (!outcome.skipped).then_some(text)
        });
        assert_eq!(texts[0], texts[1]);
        texts[0].take()
    }

    #[test]
    fn masks_and_values_follow_their_number() {
        let mask = |bits| Test::Mask { bits: Some(bits), not: false };
        let value = |bits| Test::Value { bits: Some(bits), not: false };
        let mut first = field("ipicmd", 2, NumberStyle::Hex);
        first.enums =
            vec![label(mask(0x100), "1_bit_8"), label(mask(0x200), "1_bit_9"), label(mask(0x400), "1_bit_10")];
        first.default = Some(b"1_default".to_vec());
        let mut second = field("ipicmd2", 2, NumberStyle::Hex);
        second.enums = vec![label(value(1), "2_val_1"), label(value(2), "2_val_2"), label(value(4), "2_val_3")];
        let model = model(vec![(vec![first, second], Vec::new())]);
        let text = |payload: &[u8]| shown(&model, payload).unwrap();
        assert_eq!(text(&[0, 3, 4, 0]), "ipicmd:0x300 1_bit_8 1_bit_9 ipicmd2:0x4 2_val_3\n");
        assert_eq!(text(&[1, 0, 3, 0]), "ipicmd:0x1 1_default ipicmd2:0x3\n");
        assert_eq!(text(&[1, 0, 3]), "ipicmd:0x1 1_default ipicmd2:<truncated>\n");
        assert_eq!(text(&[]), "ipicmd:<truncated>\n");
    }

    #[test]
    fn conditions_choose_between_keys() {
        let text = |label: &str| FormatField { shape: PayloadType::Text, ..field(label, 1, NumberStyle::Decimal) };
        let on = |not| {
            vec![ResolvedCondition {
                field: Some((0, 0)),
                test: Test::Mask { bits: Some(1), not },
                tag: Span::default(),
            }]
        };
        let keys = vec![
            (vec![field("ipicmd", 2, NumberStyle::Hex)], Vec::new()),
            (vec![text("dstring1")], on(false)),
            (vec![text("dstring2")], on(true)),
        ];
        let both = model(keys);
        assert_eq!(shown(&both, &[1, 0]).unwrap(), "ipicmd:0x1 dstring1:\\x01\n");
        assert_eq!(shown(&both, &[2, 0]).unwrap(), "ipicmd:0x2 dstring2:\\x02\n");
        let mut none = both;
        none.events[0].keys[0].conditions =
            vec![ResolvedCondition { field: None, test: Test::Value { bits: None, not: true }, tag: Span::default() }];
        assert_eq!(shown(&none, &[2, 0]), None);
    }
}
