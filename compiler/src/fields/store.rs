//! Code that stores a stanza's fields: the steps without their text, each value stored in a cell.

use super::comment::{Extra, ExtraSource};
use super::derive::{Deriver, NO_CELL, case_text, first_text, trimmed};
use super::expand::{ExpandedItem, FieldId, FlagsStep, LoopStep, Printed, PrintedSource, Role, SwitchStep};
use super::form::Form;
use crate::ir::{self, Block, FieldInst, FlagText, Inst, Node, SwitchSelector, Value, ValueFormat, VarSlot};
use tfbc_grammar::Span;
use tfbc_grammar::trcfmt::ast::{Code, Move, Size};

pub(super) struct Storer<'d, 'ast> {
    pub deriver: &'d Deriver<'ast>,
    /// Local variable for a value that is used twice.
    pub scratch: u16,
    /// True if newlines are kept, because some template reads the number of the current line.
    pub keeps_lines: bool,
}

/// Properties of a selector that is stored.
#[derive(Clone, Copy)]
struct SelectorTraits {
    form: Form,
    /// True if the selector is a code that reads, not a macro.
    is_code: bool,
    has_mask: bool,
}

impl<'ast> Storer<'_, 'ast> {
    pub fn block(&self, steps: Vec<ExpandedItem<'ast>>) -> Block {
        let mut out = Vec::new();
        for step in steps {
            match step {
                ExpandedItem::Text(_) | ExpandedItem::Soft | ExpandedItem::Tab | ExpandedItem::Message => {}
                ExpandedItem::Newline(span) if self.keeps_lines => push(&mut out, span, Inst::Newline),
                ExpandedItem::Newline(_) => {}
                ExpandedItem::Assign(_, node) | ExpandedItem::Inst(node) => out.push(node),
                ExpandedItem::Break(span) => push(&mut out, span, Inst::Break),
                ExpandedItem::Printed(show) => self.show(show, &mut out),
                ExpandedItem::Switch(switch) => self.switch(*switch, &mut out),
                ExpandedItem::Loop(looping) => self.repeat(*looping, &mut out),
                ExpandedItem::Flags(flags) => self.flags(*flags, &mut out),
            }
        }
        out
    }

    /// Code that stores the fields that comments add.
    pub fn store_comment_fields(&self, extras: Vec<Extra>) -> Block {
        let mut out = Vec::new();
        for extra in extras {
            let span = self.deriver.drafts[extra.id].place.span;
            match extra.source {
                ExtraSource::Number(value) => self.number(extra.id, value, extra.form, false, span, &mut out),
                ExtraSource::Text(body) => {
                    let cell = self.cell(extra.id);
                    field(&mut out, span, FieldInst::Text { cell, body, keep: false, some: true });
                }
            }
        }
        out
    }

    fn cell(&self, id: FieldId) -> u16 {
        self.deriver.drafts[self.deriver.root(id)].cell
    }

    fn label_cell(&self, id: FieldId) -> u16 {
        self.deriver.drafts[self.deriver.root(id)].label_cell
    }

    fn scratch(&self) -> VarSlot {
        VarSlot::Local(self.scratch)
    }

    /// Stores a printed number. `is_stored` is true if it is already cut to the width of its form.
    fn number(&self, id: FieldId, value: Value, form: Form, is_stored: bool, span: Span, out: &mut Block) {
        let draft = &self.deriver.drafts[self.deriver.root(id)];
        let mut value = if is_stored { value } else { form.stored(value) };
        let form = match draft.recode {
            Some(code) => {
                value = Form::Code(code).stored(value);
                Form::Code(code)
            }
            None => form,
        };
        if draft.has_code_texts && draft.label_cell != NO_CELL && !matches!(value, Value::Slot(_)) {
            push(out, span, Inst::Assign(self.scratch(), value));
            value = Value::Slot(self.scratch());
        }
        field(out, span, stored(draft.cell, value.clone(), form, span));
        if draft.has_code_texts && draft.label_cell != NO_CELL {
            self.code_text(draft.label_cell, value, form, false, span, out);
        }
    }

    /// Stores the text of a number, if the form has texts.
    fn code_text(&self, cell: u16, value: Value, form: Form, weak: bool, span: Span, out: &mut Block) {
        out.extend(code_text(cell, value, form, weak).map(|inst| Node { inst: Inst::Field(Box::new(inst)), span }));
    }

    /// True if the text of a value that a case prints is stored in addition to the text of the field's code. Both are
    /// equal if the value sets the field's type, unless a comment replaces the code.
    fn has_own_text(&self, id: FieldId, sets_type: bool) -> bool {
        let draft = &self.deriver.drafts[self.deriver.root(id)];
        draft.label_cell != NO_CELL && (!sets_type || draft.recode.is_some())
    }

    fn show(&self, show: Printed<'ast>, out: &mut Block) {
        let (span, form) = (show.place.span, show.form);
        let id = match show.role {
            Role::None => return,
            Role::Own(id, sets_type) => {
                if let PrintedSource::Number(value) = show.what
                    && self.has_own_text(id, sets_type)
                {
                    self.code_text(self.label_cell(id), form.stored(value), form, true, span, out);
                }
                return;
            }
            Role::Field(id) => id,
        };
        let cell = self.cell(id);
        match show.what {
            PrintedSource::Nothing => {}
            PrintedSource::Number(value) => self.number(id, value, form, false, span, out),
            PrintedSource::Read => self.number(id, form.read(), form, true, span, out),
            PrintedSource::Text(body) => field(out, span, FieldInst::Text { cell, body, keep: false, some: false }),
            PrintedSource::Bytes(width) => field(out, span, FieldInst::Bytes { cell, width }),
            PrintedSource::Timer(pair) => field(out, span, FieldInst::Timer { cell, pair }),
        }
    }

    /// Stores a selector of more than 8 bytes as bytes, and moves the data pointer back. Returns true if it did.
    fn wide_selector(&self, id: FieldId, form: Form, is_code: bool, span: Span, out: &mut Block) -> bool {
        let Form::Code(Code::Hex(Size::Bytes(width @ 9..))) = form else { return false };
        if is_code {
            field(out, span, FieldInst::Bytes { cell: self.cell(id), width });
            push(out, span, Inst::Move(Move::Reverse { bytes: width.into() }));
        }
        is_code
    }

    fn switch(&self, switch: SwitchStep<'ast>, out: &mut Block) {
        let (span, form) = (switch.place.span, switch.form);
        let mut on = switch.on;
        if let Role::Field(id) = switch.role {
            let traits = SelectorTraits { form, is_code: switch.subject.is_none(), has_mask: switch.has_mask };
            on = self.selector(id, on, traits, span, out);
        }
        let labels = match switch.role {
            Role::Field(id) => Some((id, false)),
            Role::Own(id, _) => Some((id, true)),
            Role::None => None,
        };
        // The switch shares the field of another switch. Its case texts come first; the text of its code is the
        // fallback.
        let own_text = match (switch.role, own_number(&on)) {
            (Role::Own(id, sets_type), Some(value)) if form.has_texts() && self.has_own_text(id, sets_type) => {
                Some((self.label_cell(id), form.stored(value)))
            }
            _ => None,
        };
        let add_own_text = |out: &mut Block| {
            if let Some((cell, value)) = &own_text {
                self.code_text(*cell, value.clone(), form, true, span, out);
            }
        };
        let (mut bodies, mut case_labels) = (Vec::new(), Vec::with_capacity(switch.cases.len()));
        let (mut cell, mut weak) = (NO_CELL, false);
        for case in switch.cases {
            let mut label = None;
            if let Some((id, is_own)) = labels {
                let draft = &self.deriver.drafts[self.deriver.root(id)];
                (cell, weak) = (draft.label_cell, is_own);
                if cell != NO_CELL && (!switch.is_flag || draft.is_enum && !is_own) {
                    let text = if draft.is_enum && !weak { first_text(&case) } else { case_text(&case) };
                    label = text.and_then(|text| draft.texts.number(&text));
                }
            }
            case_labels.push(label);
            bodies.push(self.block(case));
        }
        let default = switch.default;
        match on {
            // Cases that do nothing but give the field its text need no code of their own.
            SwitchSelector::Number { value, width, keys } if own_text.is_none() && bodies.iter().all(Vec::is_empty) => {
                if case_labels.iter().any(Option::is_some) {
                    let cases = ir::LabelCases { cell, weak, value, width, keys, labels: case_labels, default };
                    field(out, span, FieldInst::Cases(cases));
                } else if !matches!(value, Value::Slot(_)) {
                    // Reads move the data pointer in any case.
                    push(out, span, Inst::Assign(self.scratch(), value));
                }
            }
            on => {
                for (body, label) in bodies.iter_mut().zip(case_labels) {
                    let mut start = Vec::new();
                    if let Some(label) = label {
                        field(&mut start, span, FieldInst::Label { cell, label, weak });
                    }
                    add_own_text(&mut start);
                    body.splice(0..0, start);
                }
                push(out, span, Inst::Switch(ir::Switch { on, bodies, default }.into()));
                add_own_text(out);
            }
        }
    }

    /// Stores a selector's value. Returns a selector that reuses the stored value.
    fn selector(
        &self,
        id: FieldId,
        on: SwitchSelector,
        SelectorTraits { form, is_code, has_mask }: SelectorTraits,
        span: Span,
        out: &mut Block,
    ) -> SwitchSelector {
        let slot = Value::Slot(self.scratch());
        match on {
            SwitchSelector::Number { value, width, keys } => {
                let is_stored = !has_mask && self.wide_selector(id, form, is_code, span, out);
                push(out, span, Inst::Assign(self.scratch(), value));
                match self.deriver.typed.get(&id) {
                    _ if is_stored => {}
                    Some((Some(value), form)) => self.selector_number(id, value.clone(), *form, span, out),
                    Some((None, form)) => self.selector_number(id, slot.clone(), *form, span, out),
                    // `%Wm.n` is already cut.
                    None if matches!(form, Form::Bits { .. }) => {
                        self.selector_number(id, slot.clone(), Form::Plain, span, out);
                    }
                    None => self.selector_number(id, slot.clone(), form, span, out),
                }
                SwitchSelector::Number { value: slot, width, keys }
            }
            SwitchSelector::Text(mut block, keys) => {
                if let [Node { inst: Inst::Put(value, ValueFormat::Time | ValueFormat::Path), .. }] = &mut block[..] {
                    push(out, span, Inst::Assign(self.scratch(), std::mem::replace(value, slot.clone())));
                    self.selector_number(id, slot, form, span, out);
                    return SwitchSelector::Text(block, keys);
                }
                let cell = self.cell(id);
                let mut text = Vec::new();
                field(&mut text, span, FieldInst::Text { cell, body: block, keep: true, some: false });
                SwitchSelector::Text(text, keys)
            }
        }
    }

    /// Stores a number without changing the scratch local.
    fn selector_number(&self, id: FieldId, value: Value, form: Form, span: Span, out: &mut Block) {
        let draft = &self.deriver.drafts[self.deriver.root(id)];
        let mut stored = form.stored(value);
        let form = match draft.recode {
            Some(code) => {
                stored = Form::Code(code).stored(stored);
                Form::Code(code)
            }
            None => form,
        };
        field(out, span, self::stored(draft.cell, stored.clone(), form, span));
        if draft.has_code_texts && draft.label_cell != NO_CELL {
            self.code_text(draft.label_cell, stored, form, false, span, out);
        }
    }

    fn repeat(&self, looping: LoopStep<'ast>, out: &mut Block) {
        let (span, all) = (looping.place.span, looping.all);
        let Role::Field(id) = looping.role else {
            let body = self.block(looping.body);
            return push(out, span, Inst::Loop(ir::Loop { all, count: looping.count, body }.into()));
        };
        let (cell, count) = (self.cell(id), Value::Slot(self.scratch()));
        push(out, span, Inst::Assign(self.scratch(), looping.count));
        let mut body = Vec::new();
        let is_list = looping.single.is_none();
        match looping.single {
            Some(Code::Ascii { len, .. }) => {
                let text = vec![Node { inst: Inst::Ascii { len, width: 0 }, span }];
                field(&mut body, span, FieldInst::Append { cell, body: text });
                field(out, span, FieldInst::Begin { cell, count: count.clone() });
            }
            Some(code) => {
                field(&mut body, span, FieldInst::Byte { cell, value: Form::Code(code).read() });
                field(out, span, FieldInst::Begin { cell, count: count.clone() });
            }
            None => {
                let draft = &self.deriver.drafts[self.deriver.root(id)];
                let members = draft.members.iter().map(|id| &self.deriver.drafts[self.deriver.root(*id)]);
                let n_members = members.map(|draft| 1 + u16::from(draft.has_labels())).sum();
                field(out, span, FieldInst::List { cell, count: count.clone(), n_members });
                field(&mut body, span, FieldInst::Item);
                body.append(&mut self.block(looping.body));
            }
        }
        push(out, span, Inst::Loop(ir::Loop { all, count, body }.into()));
        if is_list {
            field(out, span, FieldInst::End);
        }
    }

    fn flags(&self, flags: FlagsStep<'ast>, out: &mut Block) {
        let (span, form) = (flags.place.span, flags.form);
        let Role::Field(id) = flags.role else {
            // The value is not stored, but reading it must move the data pointer.
            return push(out, span, Inst::Assign(self.scratch(), flags.value));
        };
        let is_stored = self.wide_selector(id, form, flags.own_name.is_none(), span, out);
        push(out, span, Inst::Assign(self.scratch(), flags.value));
        let value = Value::Slot(self.scratch());
        let label_cell = self.label_cell(id);
        let mut entries = flags.entries;
        for entry in &mut entries {
            entry.yes = FlagText { text: trimmed(&entry.yes.text).to_vec(), soft: false };
            entry.no = FlagText::default();
        }
        if !is_stored {
            let form = if matches!(form, Form::Bits { .. }) { Form::Plain } else { form };
            self.selector_number(id, value.clone(), form, span, out);
        }
        if label_cell != NO_CELL {
            field(out, span, FieldInst::Flags { cell: label_cell, flags: ir::Flags { value, entries } });
        }
    }
}

/// Stores a number that is already cut to the width of its form.
pub(crate) fn stored(cell: u16, value: Value, form: Form, span: Span) -> FieldInst {
    match form {
        Form::Code(Code::Ascii { len, .. }) => {
            let put = Inst::Put(value, ValueFormat::Chars { len: len.min(8) as u8, width: 0 });
            FieldInst::Text { cell, body: vec![Node { inst: put, span }], keep: false, some: false }
        }
        Form::Code(Code::Hex(Size::Bytes(width))) if width > 8 => FieldInst::Wide { cell, value, width },
        _ => FieldInst::Put { cell, value },
    }
}

/// Stores the text of a number; `None` if the form has no texts. With `weak`, only if the cell is null.
pub(crate) fn code_text(cell: u16, value: Value, form: Form, weak: bool) -> Option<FieldInst> {
    match form.errno_size() {
        Some(size) => Some(FieldInst::Errno { cell, value, size, weak }),
        None => form.has_texts().then_some(FieldInst::Path { cell, value, weak }),
    }
}

/// Number that a selector compares or prints.
fn own_number(on: &SwitchSelector) -> Option<Value> {
    match on {
        SwitchSelector::Number { value, .. } => Some(value.clone()),
        SwitchSelector::Text(block, _) => match &block[..] {
            [Node { inst: Inst::Put(value, _), .. }] => Some(value.clone()),
            _ => None,
        },
    }
}

fn push(out: &mut Block, span: Span, inst: Inst) {
    out.push(Node { inst, span });
}

fn field(out: &mut Block, span: Span, inst: FieldInst) {
    push(out, span, Inst::Field(Box::new(inst)));
}
