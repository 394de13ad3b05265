//! Expands a stanza to steps. Functions and subroutines are inlined, and every printed value becomes a step.

use crate::fields::form::{Form, NumberWidth, code_shown, macro_shown};
use crate::ir::{self, Block, FieldInst, Flag, If, Inst, Node, SwitchSelector, Value, VarSlot};
use crate::lower::{AssignTarget, ResolvedName, UnitLowerer};
use crate::names::{NameTable, Unit};
use crate::predefined::Predefined;
use foldhash::{HashSet, HashSetExt};
use std::ops::ControlFlow;
use tfbc_grammar::trcfmt::ast::*;
use tfbc_grammar::{SourceId, Span};
use tfbc_vm::EnvValue;

/// Limit on the steps of one stanza.
const MAX_STEPS: usize = 1 << 18;
/// Limit on nested calls. Checked templates nest at most 10, so this only stops recursion.
const MAX_DEPTH: usize = 12;

/// Source position.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepSpan {
    pub source: SourceId,
    pub span: Span,
}

/// Index of a field in the deriver's list.
pub(super) type FieldId = usize;

/// Part of an expanded stanza.
pub(super) enum ExpandedItem<'ast> {
    Text(&'ast [u8]),
    /// A soft blank.
    Soft,
    Tab,
    Newline(Span),
    /// Assignment to a macro.
    Assign(Subject<'ast>, Node),
    /// Any other instruction that prints nothing.
    Inst(Node),
    /// The message of `$ERROR`.
    Message,
    /// `$BREAK`
    Break(Span),
    Printed(Printed<'ast>),
    Switch(Box<SwitchStep<'ast>>),
    Loop(Box<LoopStep<'ast>>),
    Flags(Box<FlagsStep<'ast>>),
}

/// Identity of a macro: equal if two places refer to the same macro, under any name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject<'ast> {
    Slot(VarSlot),
    /// Predefined macro.
    Name(&'ast [u8]),
    /// Macro that is never assigned, with the number of the stanza or function that uses it.
    Unassigned(usize, &'ast [u8]),
}

/// Relation of a printed value to the fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The value is not a field.
    None,
    /// The value is a field.
    Field(FieldId),
    /// The value belongs to the field of an enclosing switch on the same macro. True if it sets the type of the field.
    Own(FieldId, bool),
}

/// Printed value.
pub(super) struct Printed<'ast> {
    pub place: StepSpan,
    pub shown: String,
    pub subject: Option<Subject<'ast>>,
    /// Name of the macro, if it can name the field.
    pub own_name: Option<&'ast [u8]>,
    pub form: Form,
    pub what: PrintedSource,
    pub role: Role,
}

/// Source of a printed value.
pub(super) enum PrintedSource {
    /// Metadata, or a value that is a column of every table anyway. Never a field.
    Nothing,
    /// Number, before its cast.
    Number(Value),
    /// Number at the data pointer.
    Read,
    /// Text that the block prints.
    Text(Block),
    /// Bytes at the data pointer.
    Bytes(u8),
    Timer([Value; 2]),
}

/// `SWITCH`, or a printed value with cases.
pub(super) struct SwitchStep<'ast> {
    pub place: StepSpan,
    pub shown: String,
    pub subject: Option<Subject<'ast>>,
    pub own_name: Option<&'ast [u8]>,
    pub form: Form,
    pub has_mask: bool,
    /// True if the selector can be a field.
    pub is_field: bool,
    pub on: SwitchSelector,
    pub default: Option<usize>,
    pub cases: Vec<Vec<ExpandedItem<'ast>>>,
    /// True if the only case is for the value 1.
    pub is_for_one: bool,
    /// Width of the compared number; `None` if it compares a text. Without a cast, it comes from the first printed
    /// value of the macro in the cases, or from the macro.
    pub width: Option<NumberWidth>,
    pub role: Role,
    /// True if the switch prints the name of a flag, so that the text of its case is the name of the field.
    pub is_flag: bool,
}

/// `LOOP`.
pub(super) struct LoopStep<'ast> {
    pub place: StepSpan,
    pub count: Value,
    pub all: bool,
    /// Code of a body that is exactly `X0`, `X1` or `A1`.
    pub single: Option<Code>,
    pub body: Vec<ExpandedItem<'ast>>,
    pub role: Role,
}

/// `BITFLAGS`.
pub(super) struct FlagsStep<'ast> {
    pub place: StepSpan,
    pub own_name: Option<&'ast [u8]>,
    pub form: Form,
    pub is_field: bool,
    pub value: Value,
    pub entries: Vec<Flag>,
    pub role: Role,
}

pub(super) struct Expander<'s, 'ast> {
    pub units: &'s [Unit<'ast>],
    pub names: &'s NameTable<'ast>,
    next_local: u16,
    /// Number of locals of the stanza and everything inserted into it.
    pub n_locals: u16,
    n_steps: usize,
    /// Number of stanzas and functions inserted so far.
    n_instances: usize,
    depth: usize,
    /// True if the current brace group contains `$ERROR`.
    error: bool,
    /// Local that a conditional `$ERROR` sets, if there is one.
    error_flag: Option<u16>,
    /// True if `$RELLINENO` is used.
    pub uses_lines: bool,
}

/// Error: the stanza expands to too many steps.
pub(super) struct TooLarge;

type Steps<'ast> = Result<Vec<ExpandedItem<'ast>>, TooLarge>;

impl<'s, 'ast> Expander<'s, 'ast> {
    pub fn new(units: &'s [Unit<'ast>], names: &'s NameTable<'ast>) -> Self {
        Expander {
            units,
            names,
            next_local: 0,
            n_locals: 0,
            n_steps: 0,
            n_instances: 0,
            depth: 0,
            error: false,
            error_flag: None,
            uses_lines: false,
        }
    }

    /// Number of steps so far.
    pub fn n_steps(&self) -> usize {
        self.n_steps
    }

    /// Calls `then` with the scope of a stanza, in which names are resolved.
    pub fn with_stanza<T>(
        &mut self,
        unit: &'s Unit<'ast>,
        stanza: &Stanza<'ast>,
        then: impl FnOnce(&mut Self, &mut UnitLowerer<'_, 'ast>) -> T,
    ) -> T {
        let (mut found, mut called, mut probes) = (Vec::new(), HashSet::new(), Default::default());
        let mut scope = UnitLowerer::new(unit, self.names, &mut found, &mut called, &mut probes);
        self.n_instances += 1;
        scope.instance = self.n_instances;
        scope.begin_stanza(stanza);
        let result = then(self, &mut scope);
        self.uses_lines |= scope.uses_lines;
        result
    }

    /// Expands a brace group, function body or stanza.
    pub fn group(&mut self, scope: &mut UnitLowerer<'_, 'ast>, items: Descriptor<'ast>) -> Steps<'ast> {
        let (outer, outer_flag) = (std::mem::take(&mut self.error), self.error_flag.take());
        let mut steps = Vec::with_capacity(items.len());
        for item in items {
            self.item(scope, item, &mut steps)?;
        }
        let end = items.last().map_or(Span::default(), DescriptorItem::span);
        if let Some(flag) = self.error_flag {
            let slot = VarSlot::Local(flag);
            steps.insert(0, ExpandedItem::Inst(Node { inst: Inst::Assign(slot, Value::Const(0)), span: end }));
            let then = vec![abort(end)];
            let stop = If { on: Value::Slot(slot), then, otherwise: Vec::new() };
            steps.push(ExpandedItem::Inst(Node { inst: Inst::If(stop.into()), span: end }));
        }
        if self.error {
            steps.push(ExpandedItem::Inst(abort(end)));
        }
        (self.error, self.error_flag) = (outer, outer_flag);
        Ok(steps)
    }

    fn local(&mut self, n: u16) -> u16 {
        let first = self.next_local;
        self.next_local = first.saturating_add(n);
        self.n_locals = self.n_locals.max(self.next_local);
        first
    }

    fn item(
        &mut self,
        scope: &mut UnitLowerer<'_, 'ast>,
        item: &DescriptorItem<'ast>,
        out: &mut Vec<ExpandedItem<'ast>>,
    ) -> Result<(), TooLarge> {
        self.n_steps += 1;
        // Inlining can make a small file arbitrarily large.
        if self.n_steps > MAX_STEPS {
            return Err(TooLarge);
        }
        match item {
            DescriptorItem::Text(text) => push_text(text, out),
            DescriptorItem::Backquoted(text) => self.backquoted(scope, text, out)?,
            DescriptorItem::Newline(span) => out.push(ExpandedItem::Newline(*span)),
            DescriptorItem::Tab(_) => out.push(ExpandedItem::Tab),
            DescriptorItem::Move(step) => out.push(inst(step.span, Inst::Move(step.node))),
            DescriptorItem::Code(code) => out.push(show_code(scope, code.node, code.span)),
            DescriptorItem::Macro(node) => self.print_macro(scope, node, out)?,
            DescriptorItem::Assign(node) => {
                let target = scope.assignable(&node.name);
                let value = scope.expr(node.value);
                out.push(match target {
                    Some(AssignTarget::Slot(slot)) => {
                        let inst = Inst::Assign(slot, value);
                        ExpandedItem::Assign(Subject::Slot(slot), Node { inst, span: node.span })
                    }
                    Some(AssignTarget::Pointer) => inst(node.span, Inst::SetPointer(value)),
                    Some(AssignTarget::Base) => inst(node.span, Inst::SetBase(value)),
                    None => return Ok(()),
                });
            }
            DescriptorItem::Declare(_) | DescriptorItem::Function(_) => {}
            DescriptorItem::Call(call) => self.call(scope, call, out)?,
            DescriptorItem::Switch(switch) => {
                let step = self.switch(scope, switch)?;
                out.push(ExpandedItem::Switch(Box::new(step)));
            }
            DescriptorItem::Loop(node) => {
                let single = match node.body.items {
                    // A loop over single bytes is one binary value, not a list of bytes.
                    [DescriptorItem::Code(code)] => match code.node {
                        Code::HexByte | Code::Hex(Size::Bytes(1)) | Code::Ascii { len: 1, width: 0 } => Some(code.node),
                        _ => None,
                    },
                    _ => None,
                };
                let place = StepSpan { source: scope.unit.id, span: node.span };
                let (count, all) = (scope.number_of(&node.count), scope.unit.dialect.loop_counts);
                let body = self.group(scope, node.body.items)?;
                out.push(ExpandedItem::Loop(Box::new(LoopStep { place, count, all, single, body, role: Role::None })));
            }
            DescriptorItem::Bitflags(node) => {
                let mut block = Vec::new();
                scope.bitflags(node, &mut block);
                let Some(Node { inst: Inst::Flags(flags), .. }) = block.pop() else { return Ok(()) };
                let selector = selector(scope, &node.selector);
                out.push(ExpandedItem::Flags(Box::new(FlagsStep {
                    place: StepSpan { source: scope.unit.id, span: node.span },
                    own_name: selector.own_name,
                    form: selector.form,
                    is_field: selector.is_field,
                    value: flags.value,
                    entries: flags.entries,
                    role: Role::None,
                })));
            }
            DescriptorItem::Timer(timer) => {
                let pair = [scope.expr(timer.first), scope.expr(timer.second)];
                out.push(match timer.action {
                    TimerAction::Start => inst(timer.span, Inst::TimerStart(Box::new(pair))),
                    TimerAction::End => ExpandedItem::Printed(Printed {
                        place: StepSpan { source: scope.unit.id, span: timer.span },
                        shown: "endtimer".into(),
                        subject: None,
                        own_name: None,
                        form: Form::Timer,
                        what: PrintedSource::Timer(pair),
                        role: Role::None,
                    }),
                });
            }
        }
        Ok(())
    }

    fn backquoted(
        &mut self,
        scope: &mut UnitLowerer<'_, 'ast>,
        text: &Backquoted<'ast>,
        out: &mut Vec<ExpandedItem<'ast>>,
    ) -> Result<(), TooLarge> {
        for part in text.parts {
            match part {
                BackquotedPart::Text(text) if text.node.is_empty() => {}
                BackquotedPart::Text(text) => out.push(ExpandedItem::Text(text.node)),
                BackquotedPart::Code(code) => out.push(show_code(scope, code.node, code.span)),
                BackquotedPart::Move(step) => out.push(inst(step.span, Inst::Move(step.node))),
                BackquotedPart::Macro(node) => self.print_macro(scope, node, out)?,
            }
        }
        Ok(())
    }

    fn print_macro(
        &mut self,
        scope: &mut UnitLowerer<'_, 'ast>,
        node: &MacroRef<'ast>,
        out: &mut Vec<ExpandedItem<'ast>>,
    ) -> Result<(), TooLarge> {
        if node.cast.is_none() {
            let action = match scope.resolve(node.name) {
                ResolvedName::Subroutine(id) => return self.insert(id, node.span, out),
                ResolvedName::Predefined(Predefined::Default) => return self.insert(0x0080, node.span, out),
                ResolvedName::Predefined(Predefined::Stop) => inst(node.span, Inst::Stop),
                ResolvedName::Predefined(Predefined::Break) => ExpandedItem::Break(node.span),
                ResolvedName::Predefined(Predefined::Skip) => inst(node.span, Inst::Skip),
                ResolvedName::Predefined(Predefined::Error) => {
                    self.error = true;
                    ExpandedItem::Message
                }
                _ => {
                    out.push(show_macro(scope, node));
                    return Ok(());
                }
            };
            out.push(action);
        } else {
            out.push(show_macro(scope, node));
        }
        Ok(())
    }

    /// Inlines a template subroutine.
    fn insert(&mut self, id: u16, span: Span, out: &mut Vec<ExpandedItem<'ast>>) -> Result<(), TooLarge> {
        let Some((unit, index)) = self.names.stanzas.get(&id).copied() else { return Ok(()) };
        let unit = &self.units[unit];
        let stanza = &unit.file.stanzas[index];
        out.push(inst(span, Inst::Field(Box::new(FieldInst::Call))));
        if let Some(label) = stanza.label.filter(|_| unit.dialect.subroutine_labels)
            && !label.hidden
            && !label.text.bytes.is_empty()
        {
            out.extend([ExpandedItem::Text(label.text.bytes), ExpandedItem::Soft]);
        }
        self.expand_callee(|expander| {
            let steps = expander.with_stanza(unit, stanza, |expander, scope| expander.group(scope, stanza.body))?;
            out.extend(steps);
            Ok(())
        })
    }

    /// Expands a callee. Its locals can be reused afterwards.
    fn expand_callee(&mut self, expand: impl FnOnce(&mut Self) -> Result<(), TooLarge>) -> Result<(), TooLarge> {
        if self.depth > MAX_DEPTH {
            return Err(TooLarge);
        }
        self.depth += 1;
        let (next_local, error, flag) = (self.next_local, std::mem::take(&mut self.error), self.error_flag.take());
        let result = expand(self);
        (self.next_local, self.error, self.error_flag) = (next_local, error, flag);
        self.depth -= 1;
        result
    }

    fn call(
        &mut self,
        scope: &mut UnitLowerer<'_, 'ast>,
        call: &Call<'ast>,
        out: &mut Vec<ExpandedItem<'ast>>,
    ) -> Result<(), TooLarge> {
        let Some(definition) = self.names.functions.get(call.name.node) else { return Ok(()) };
        let definition = self.names.definitions[*definition];
        let (unit, function) = (&self.units[definition.unit], definition.function);
        let arguments: Vec<_> = call.arguments.iter().map(|argument| scope.expr(argument)).collect();
        self.expand_callee(|expander| {
            let (mut found, mut called, mut probes) = (Vec::new(), HashSet::new(), Default::default());
            let mut scope = UnitLowerer::new(unit, expander.names, &mut found, &mut called, &mut probes);
            expander.n_instances += 1;
            scope.instance = expander.n_instances;
            let (first_macro, end) = scope.begin_function(function, expander.next_local);
            let first = expander.local(end - expander.next_local);
            let set = |slot, value| inst(call.span, Inst::Assign(VarSlot::Local(slot), value));
            out.extend((first..).zip(arguments).map(|(slot, value)| set(slot, value)));
            out.extend((first_macro..end).map(|slot| set(slot, Value::Const(0))));
            out.push(inst(call.span, Inst::Field(Box::new(FieldInst::Call))));
            out.extend(expander.group(&mut scope, function.body)?);
            expander.uses_lines |= scope.uses_lines;
            Ok(())
        })
    }

    fn switch(
        &mut self,
        scope: &mut UnitLowerer<'_, 'ast>,
        switch: &Switch<'ast>,
    ) -> Result<SwitchStep<'ast>, TooLarge> {
        let (on, default) = scope.selection(switch);
        let mut cases = Vec::with_capacity(switch.cases.len());
        for case in switch.cases {
            cases.push(self.body(scope, &case.body)?);
        }
        let is_for_one = match (&on, default) {
            (SwitchSelector::Number { keys, .. }, None) => {
                let one = |key: &crate::number::Number| !key.negative && key.magnitude == 1;
                switch.cases.len() == 1 && matches!(&keys[..], [(key, _)] if one(key))
            }
            _ => false,
        };
        let Selected { subject, own_name, form, is_field, shown } = selector(scope, &switch.selector);
        // The cases compare the text of a date or process, but the field is its number.
        let is_number =
            matches!(on, SwitchSelector::Number { .. }) || matches!(form, Form::Code(Code::Time(_) | Code::Path(_)));
        let shown_width = || {
            let subject = subject.filter(|_| form.is_uncast())?;
            cases.iter().find_map(|case| match first_width(case, subject, true) {
                ControlFlow::Break(width) => width,
                ControlFlow::Continue(()) => None,
            })
        };
        let width = if is_number { shown_width().or_else(|| form.width()) } else { None };
        Ok(SwitchStep {
            place: StepSpan { source: scope.unit.id, span: switch.span },
            shown,
            subject,
            own_name,
            form,
            has_mask: switch.mask.is_some(),
            is_field,
            on,
            default,
            cases,
            is_for_one,
            width,
            role: Role::None,
            is_flag: false,
        })
    }

    fn body(&mut self, scope: &mut UnitLowerer<'_, 'ast>, body: &Body<'ast>) -> Steps<'ast> {
        let mut steps = Vec::with_capacity(1);
        self.n_steps += 1;
        match body {
            Body::Text(text) => push_text(text, &mut steps),
            Body::Backquoted(text) => {
                // Backquotes are not a brace group. `$ERROR` in them takes effect at the end of the group around the
                // switch.
                let outer = std::mem::take(&mut self.error);
                self.backquoted(scope, text, &mut steps)?;
                if std::mem::replace(&mut self.error, outer) {
                    let flag = match self.error_flag {
                        Some(flag) => flag,
                        None => self.local(1),
                    };
                    self.error_flag = Some(flag);
                    steps.push(inst(text.span, Inst::Assign(VarSlot::Local(flag), Value::Const(1))));
                }
            }
            Body::Group(group) => steps = self.group(scope, group.items)?,
        }
        Ok(steps)
    }
}

/// Searches a case for the first printed value of a macro that can set the width of the switch on that macro. An
/// assignment to the macro ends the search. `is_own` is false in loops and in other switches on the macro.
fn first_width<'ast>(
    steps: &[ExpandedItem<'ast>],
    of: Subject<'ast>,
    is_own: bool,
) -> ControlFlow<Option<NumberWidth>> {
    let found = |subject: Option<Subject<'ast>>, width: Option<NumberWidth>| match width {
        Some(NumberWidth::Range(..)) | None => ControlFlow::Continue(()),
        width if is_own && subject == Some(of) => ControlFlow::Break(width),
        _ => ControlFlow::Continue(()),
    };
    for step in steps {
        match step {
            ExpandedItem::Assign(subject, _) if *subject == of => return ControlFlow::Break(None),
            ExpandedItem::Printed(show) if !matches!(show.what, PrintedSource::Nothing) => {
                found(show.subject, show.form.width())?
            }
            ExpandedItem::Switch(switch) => {
                found(switch.subject, switch.width.filter(|_| !switch.has_mask))?;
                let is_own = is_own && switch.subject != Some(of);
                switch.cases.iter().try_for_each(|case| first_width(case, of, is_own))?;
            }
            ExpandedItem::Loop(looping) => first_width(&looping.body, of, false)?,
            _ => {}
        }
    }
    ControlFlow::Continue(())
}

/// Instruction by which `$ERROR` ends the event.
fn abort(span: Span) -> Node {
    Node { inst: Inst::Field(Box::new(FieldInst::Abort)), span }
}

fn inst<'ast>(span: Span, inst: Inst) -> ExpandedItem<'ast> {
    ExpandedItem::Inst(Node { inst, span })
}

fn push_text<'ast>(text: &Text<'ast>, out: &mut Vec<ExpandedItem<'ast>>) {
    if !text.bytes.is_empty() {
        out.push(ExpandedItem::Text(text.bytes));
    }
    if text.kind == (TextKind::Word { soft: true }) {
        out.push(ExpandedItem::Soft);
    }
}

fn show_code<'ast>(scope: &mut UnitLowerer<'_, 'ast>, code: Code, span: Span) -> ExpandedItem<'ast> {
    let place = StepSpan { source: scope.unit.id, span };
    let shown = code_shown(&scope.unit.text[span.start as usize..span.end as usize]);
    let what = match code {
        Code::Ascii { len, .. } => PrintedSource::Text(vec![Node { inst: Inst::Ascii { len, width: 0 }, span }]),
        Code::Counted(size) => PrintedSource::Text(vec![Node { inst: Inst::Counted(size), span }]),
        Code::Hex(Size::Bytes(n)) if n > 8 => PrintedSource::Bytes(n),
        Code::HookBytes => PrintedSource::Number(Value::Env(EnvValue::HookLen)),
        Code::HookType => PrintedSource::Number(Value::Env(EnvValue::HookType)),
        _ => PrintedSource::Read,
    };
    ExpandedItem::Printed(Printed {
        place,
        shown,
        subject: None,
        own_name: None,
        form: Form::Code(code),
        what,
        role: Role::None,
    })
}

fn show_macro<'ast>(scope: &mut UnitLowerer<'_, 'ast>, node: &MacroRef<'ast>) -> ExpandedItem<'ast> {
    let Selected { subject, own_name, form, is_field, shown } = selected_macro(scope, node);
    let what = match form {
        // A counted text is read at the data pointer and does not depend on the macro.
        Form::Code(Code::Counted(_)) => {
            let mut block = Vec::new();
            if let (Some(value), Some(cast)) = (scope.castable(node), node.cast) {
                scope.print_cast(value, cast.node, node.span, &mut block, false);
            }
            PrintedSource::Text(block)
        }
        _ if !is_field => PrintedSource::Nothing,
        Form::Code(Code::Ascii { .. }) => {
            let mut block = Vec::new();
            if let (Some(value), Some(cast)) = (scope.castable(node), node.cast) {
                scope.print_cast(value, cast.node, node.span, &mut block, false);
            }
            for node in &mut block {
                if let Inst::Put(_, ir::ValueFormat::Chars { width, .. }) = &mut node.inst {
                    *width = 0;
                }
            }
            PrintedSource::Text(block)
        }
        _ => PrintedSource::Number(number(scope, node)),
    };
    let place = StepSpan { source: scope.unit.id, span: node.span };
    ExpandedItem::Printed(Printed { place, shown, subject, own_name, form, what, role: Role::None })
}

/// Number of a macro before its cast.
pub(super) fn number<'ast>(scope: &mut UnitLowerer<'_, 'ast>, node: &MacroRef<'ast>) -> Value {
    if node.cast.is_some() {
        return scope.castable(node).unwrap_or(Value::Const(0));
    }
    scope.macro_value(node)
}

/// Value that a switch or `BITFLAGS` tests, or that a macro prints.
struct Selected<'ast> {
    subject: Option<Subject<'ast>>,
    own_name: Option<&'ast [u8]>,
    form: Form,
    is_field: bool,
    shown: String,
}

fn selector<'ast>(scope: &mut UnitLowerer<'_, 'ast>, selector: &Selector<'ast>) -> Selected<'ast> {
    match selector {
        Selector::Code(code) => Selected {
            subject: None,
            own_name: None,
            form: Form::Code(code.node),
            is_field: true,
            shown: code_shown(&scope.unit.text[code.span.start as usize..code.span.end as usize]),
        },
        Selector::Macro(node) => selected_macro(scope, node),
    }
}

fn selected_macro<'ast>(scope: &mut UnitLowerer<'_, 'ast>, node: &MacroRef<'ast>) -> Selected<'ast> {
    let form = Form::of_macro(node);
    let is_counted = matches!(form, Form::Code(Code::Counted(_)));
    let (subject, is_data) = match scope.resolve(node.name) {
        ResolvedName::Variable(slot) => (Subject::Slot(slot), true),
        ResolvedName::Unassigned => (Subject::Unassigned(scope.instance, node.name), true),
        _ => (Subject::Name(node.name), is_data_macro(node.name)),
    };
    Selected {
        subject: Some(subject),
        own_name: Some(node.name).filter(|_| !is_counted),
        form,
        is_field: is_data || is_counted,
        shown: macro_shown(node, &scope.unit.text[node.span.start as usize..node.span.end as usize]),
    }
}

/// True for predefined macros that contain data of the event.
pub(super) fn is_data_macro(name: &[u8]) -> bool {
    matches!(name, [b'D' | b'L', b'1'..=b'5'] | b"HD")
}
