//! Lowers trcfmt syntax trees to IR: resolves names, types match values, places soft blanks. All semantic errors of
//! trcfmt are found here.

use crate::codes::*;
use crate::fixes;
use crate::ir::{
    self, Block, Flag, FlagText, Inst, LeadingPart, Node, ShowId, SwitchSelector, Value, ValueFormat, VarSlot,
};
use crate::names::{Meaning, NameTable, Unit};
use crate::number::{self, Base};
use crate::predefined::Predefined;
use crate::probes::{PointKind, Probes};
use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use tfbc_grammar::trcfmt::ast::{self, *};
use tfbc_grammar::{CodeInfo, Diagnostic, Edit, Fix, SourceId, Span, Spanned};
use tfbc_vm::{EnvValue, Space};

/// Limit on the macros that a template may define.
const MAX_MACROS: usize = 255;

/// Lowers the stanzas and functions of a set of files. Those replaced by later ones are only checked.
pub(crate) fn lower(
    units: &[Unit<'_>],
    names: &NameTable<'_>,
    probes: &mut Probes,
) -> (ir::IrProgram, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let mut program = ir::IrProgram::default();
    let mut called = HashSet::new();
    for (at, unit) in units.iter().enumerate() {
        for (index, stanza) in unit.file.stanzas.iter().enumerate() {
            // A stanza that a later one replaces is lowered for its diagnostics only. Built-in stanzas get none.
            let mut found = Vec::new();
            let wins = names.stanzas.get(&stanza.id.node.0) == Some(&(at, index));
            // Coverage counts only code that a report can run; a replaced stanza could never be covered.
            probes.on = probes.wanted && wins && !unit.builtin;
            let mut scope = UnitLowerer::new(unit, names, &mut found, &mut called, probes);
            let lowered = scope.stanza(stanza);
            if !unit.builtin {
                redefinition(units, names, at, index, &mut found);
                diagnostics.append(&mut found);
            }
            if wins {
                program.stanzas.push(lowered);
            }
        }
    }
    for (index, definition) in names.definitions.iter().enumerate() {
        let unit = &units[definition.unit];
        let wins = names.functions[definition.function.name.node] == index;
        probes.on = probes.wanted && wins && !unit.builtin;
        let mut scope = UnitLowerer::new(unit, names, &mut diagnostics, &mut called, probes);
        program.functions.push(scope.function(definition.function));
        if !wins {
            let name = definition.function.name;
            let text = format!("function `{}` is defined again; the last definition is used", show(name.node));
            let winner = &names.definitions[names.functions[name.node]];
            let place = (units[winner.unit].id, winner.function.name.span);
            diagnostics.push(Diagnostic::warning(&REDEFINED_FUNCTION, unit.id, name.span, text).with_secondary(
                place.0,
                place.1,
                "this one is used",
            ));
        }
    }
    probes.on = probes.wanted;
    // Calls are known only after all bodies are lowered.
    for definition in &names.definitions {
        let name = definition.function.name;
        if !called.contains(name.node) {
            let text = format!("function `{}` is never called", show(name.node));
            diagnostics.push(Diagnostic::warning(&UNUSED_FUNCTION, units[definition.unit].id, name.span, text));
        }
    }
    (program, diagnostics)
}

/// Warns about stanzas with the same id, and about reserved ids.
fn redefinition(units: &[Unit<'_>], names: &NameTable<'_>, at: usize, index: usize, found: &mut Vec<Diagnostic>) {
    let unit = &units[at];
    let stanza = &unit.file.stanzas[index];
    let id = stanza.id.node.0;
    let winner = names.stanzas[&id];
    if winner != (at, index) {
        let other = units[winner.0].file.stanzas[winner.1].id.span;
        let text = format!("stanza {} is defined again; the later one is used", ShowId(id));
        found.push(Diagnostic::warning(&REDEFINED_STANZA, unit.id, stanza.id.span, text).with_secondary(
            units[winner.0].id,
            other,
            "this one is used",
        ));
    }
    if id < 0x0100 {
        let text = format!("id {} is reserved for the trace facility", ShowId(id));
        found.push(Diagnostic::warning(&RESERVED_ID, unit.id, stanza.id.span, text));
    }
}

fn show(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// Lowering of one stanza or function.
pub(crate) struct UnitLowerer<'s, 'ast> {
    /// Number that distinguishes stanzas and functions that are expanded in place.
    pub instance: usize,
    pub unit: &'s Unit<'ast>,
    pub names: &'s NameTable<'ast>,
    diagnostics: &'s mut Vec<Diagnostic>,
    called: &'s mut HashSet<&'ast [u8]>,
    probes: &'s mut Probes,
    variables: HashMap<&'ast [u8], Variable>,
    in_function: bool,
    /// True if the current brace group contains `$ERROR`.
    error: bool,
    /// Local that a conditional `$ERROR` sets, if there is one.
    error_flag: Option<u16>,
    /// Local for the tested value of BITFLAGS, if coverage probes test it too.
    tested: Option<u16>,
    n_locals: u16,
    /// True if `$RELLINENO` is used.
    pub uses_lines: bool,
}

struct Variable {
    slot: VarSlot,
    defined: Span,
    is_parameter: bool,
    read: bool,
}

/// Selector: a number with width and base of its match values, or a text.
pub(crate) enum LoweredSelector {
    Number { value: Value, width: Option<u32>, base: Base },
    Errno { value: Value, width: Option<u32> },
    Text(Block),
}

impl<'s, 'ast> UnitLowerer<'s, 'ast> {
    pub fn new(
        unit: &'s Unit<'ast>,
        names: &'s NameTable<'ast>,
        diagnostics: &'s mut Vec<Diagnostic>,
        called: &'s mut HashSet<&'ast [u8]>,
        probes: &'s mut Probes,
    ) -> Self {
        UnitLowerer {
            instance: 0,
            unit,
            names,
            diagnostics,
            called,
            probes,
            variables: HashMap::new(),
            in_function: false,
            error: false,
            error_flag: None,
            tested: None,
            n_locals: 0,
            uses_lines: false,
        }
    }

    /// Adds a coverage probe for a part.
    fn probe(&mut self, kind: PointKind, span: Span, name: &[u8]) -> Option<Node> {
        let point = self.probes.point(kind, self.unit.id, span, name)?;
        Some(Node { inst: Inst::Probe(point), span })
    }

    fn source(&self) -> SourceId {
        self.unit.id
    }

    fn error(&mut self, code: &'static CodeInfo, span: Span, text: impl Into<String>) -> &mut Diagnostic {
        self.diagnostics.push(Diagnostic::error(code, self.unit.id, span, text));
        self.diagnostics.last_mut().expect("just pushed")
    }

    fn warn(&mut self, code: &'static CodeInfo, span: Span, text: impl Into<String>) -> &mut Diagnostic {
        self.diagnostics.push(Diagnostic::warning(code, self.unit.id, span, text));
        self.diagnostics.last_mut().expect("just pushed")
    }

    fn stanza(&mut self, stanza: &Stanza<'ast>) -> ir::IrEntry {
        let id = stanza.id.node.0;
        // Numbers macros before the body is lowered, because an expression may use a macro that is only assigned later;
        // it is 0 until then.
        self.begin_stanza(stanza);
        let n_slots = self.variables.len() as u16;
        let dialect = &self.unit.dialect;
        let level = stanza.level.map_or(dialect.level, |level| level.node);
        // `first-tab` and `tabs` in docs/readings.md.
        let zero = level == ast::Level::Zero;
        let tab_origin = match dialect.line_tabs {
            _ if zero => 8 - dialect.first_tab,
            true => tfbc_vm::TABS_FROM_LINE,
            false => 0,
        };
        let subroutine_labels = dialect.subroutine_labels;
        let lower_hex = dialect.lower_hex;
        let name = if self.probes.on { ShowId(id).to_string() } else { String::new() };
        let probe = self.probe(PointKind::Stanza, stanza.span, name.as_bytes());
        let body = prepend(probe, self.group(stanza.body));
        // Caller and subroutine share macros by position, so an unused macro may be a placeholder.
        let shared = self.names.inserted.contains(&id) || calls_stanzas(&body);
        self.unused_macros(shared);
        let label = stanza.label.as_ref();
        let text = label.map_or(&b""[..], |label| label.text.bytes);
        let hidden = label.is_some_and(|label| label.hidden);
        // A label is printed before the text as if it were its first word, with its soft blank.
        let heading = || label.map_or(Vec::new(), heading);
        ir::IrEntry {
            space: Space::Hook,
            id,
            source: self.source(),
            span: stanza.id.span,
            version: stanza.version.node,
            level: match level {
                ast::Level::Appl => tfbc_vm::Level::Appl,
                ast::Level::Svc => tfbc_vm::Level::Svc,
                ast::Level::Kern => tfbc_vm::Level::Kern,
                ast::Level::Int => tfbc_vm::Level::Int,
                ast::Level::Zero => tfbc_vm::Level::Zero,
            },
            label: text.strip_prefix(b"@").filter(|_| hidden).unwrap_or(text).to_vec(),
            hidden,
            builtin: self.unit.builtin,
            tab_origin,
            n_slots,
            n_locals: self.n_locals,
            heading: heading(),
            // `subroutine-labels` in docs/readings.md.
            called_heading: if subroutine_labels { heading() } else { Vec::new() },
            body,
            lower_hex,
        }
    }

    /// True if the stanza or function has a macro or parameter with this name.
    pub fn is_own(&self, name: &[u8]) -> bool {
        self.variables.contains_key(name)
    }

    /// Numbers the macros of a stanza.
    pub fn begin_stanza(&mut self, stanza: &Stanza<'ast>) {
        self.number_macros(stanza.body, VarSlot::Row);
    }

    /// Numbers the parameters and macros of a function, from its first local on. Returns the local after the last
    /// parameter and the one after the last macro.
    pub fn begin_function(&mut self, function: &ast::Function<'ast>, first_local: u16) -> (u16, u16) {
        self.in_function = true;
        self.n_locals = first_local;
        for param in function.params {
            let slot = VarSlot::Local(self.n_locals);
            // A parameter would hide the macro in the whole function.
            let clash = match self.names.meaning(param.node) {
                Meaning::Predefined(_) => Some("a predefined macro"),
                Meaning::Subroutine(_) => Some("a template subroutine"),
                Meaning::User => self.variables.contains_key(param.node).then_some("another parameter"),
            };
            if let Some(clash) = clash {
                let text = format!("parameter `{}` has the name of {clash}", show(param.node));
                self.error(&BAD_PARAMETER, param.span, text);
            }
            let variable = Variable { slot, defined: param.span, is_parameter: true, read: false };
            self.variables.insert(param.node, variable);
            self.n_locals += 1;
        }
        let n_params = self.n_locals;
        self.number_macros(function.body, VarSlot::Local);
        (n_params, self.n_locals)
    }

    fn function(&mut self, function: &ast::Function<'ast>) -> ir::Function {
        let (n_params, _) = self.begin_function(function, 0);
        let probe = self.probe(PointKind::Function, function.span, function.name.node);
        let body = prepend(probe, self.group(function.body));
        self.unused_macros(false);
        ir::Function {
            name: function.name.node.to_vec(),
            source: self.source(),
            span: function.name.span,
            n_params,
            n_locals: self.n_locals,
            body,
            lower_hex: self.unit.dialect.lower_hex,
        }
    }

    /// Numbers the macros that a descriptor assigns or declares, in order of first appearance.
    fn number_macros(&mut self, items: Descriptor<'ast>, slot: fn(u16) -> VarSlot) {
        let mut found = Vec::new();
        // The order matters: stanza and subroutine share their macros by position (docs/trcfmt.md, "Subroutines").
        own_items(items, &mut |item| match item {
            DescriptorItem::Assign(assign) => found.push(assign.name),
            DescriptorItem::Declare(name) => found.push(*name),
            _ => {}
        });
        let mut next = if self.in_function { self.n_locals } else { 0 };
        for name in found {
            let user = matches!(self.names.meaning(name.node), Meaning::User);
            if !user || self.variables.contains_key(name.node) {
                continue;
            }
            // One report is enough. A generated file could exceed the limit thousands of times.
            if self.variables.len() == MAX_MACROS {
                let text = format!("`${}` is macro number {}, at most {MAX_MACROS}", show(name.node), MAX_MACROS + 1);
                self.error(&TOO_MANY_MACROS, name.span, text);
                return;
            }
            let variable = Variable { slot: slot(next), defined: name.span, is_parameter: false, read: false };
            self.variables.insert(name.node, variable);
            next += 1;
        }
        if self.in_function {
            self.n_locals = next;
        }
    }

    /// Warns about unused macros, unless a subroutine shares the event's row and may use them.
    fn unused_macros(&mut self, shared: bool) {
        if shared {
            return;
        }
        let unused = self.variables.iter().filter(|(_, variable)| !variable.read && !variable.is_parameter);
        let mut unused: Vec<_> = unused.map(|(name, variable)| (variable.defined, *name)).collect();
        // The map has no order, but messages must be in the same order in every run.
        unused.sort_unstable();
        for (span, name) in unused {
            self.warn(&UNUSED_MACRO, span, format!("macro `${}` is never used", show(name)));
        }
    }

    /// Lowers a brace group, function body or stanza. If it contains `$ERROR`, the event ends after the group.
    fn group(&mut self, items: Descriptor<'ast>) -> Block {
        let (outer, outer_flag) = (std::mem::take(&mut self.error), self.error_flag.take());
        let mut block = Vec::with_capacity(items.len() + 4);
        let end = items.last().map_or(Span::default(), DescriptorItem::span);
        for (at, item) in items.iter().enumerate() {
            let n_before = block.len();
            self.item(item, &mut block);
            if let Some(next) = items.get(at + 1)
                && self.probes.on
                && may_end(&block[n_before..])
            {
                let probe = self.probe(PointKind::Rest, next.span().to(end), b"");
                block.extend(probe);
            }
        }
        // `$ERROR` in backquotes of a case: whether the event ends is only known at run time, so a local remembers it.
        if let Some(flag) = self.error_flag {
            let value = Value::Slot(VarSlot::Local(flag));
            let clear = Inst::Assign(VarSlot::Local(flag), Value::Const(0));
            block.insert(0, Node { inst: clear, span: end });
            let stop = vec![Node { inst: Inst::Break, span: end }];
            let one = number::Number { negative: false, magnitude: 1 };
            let on = SwitchSelector::Number { value, width: Some(64), keys: vec![(one, 0)] };
            push(&mut block, end, Inst::Switch(ir::Switch { on, bodies: vec![stop], default: None }.into()));
        }
        // The rest of the group is still printed; only then the event ends.
        if self.error {
            push(&mut block, end, Inst::Break);
        }
        (self.error, self.error_flag) = (outer, outer_flag);
        block
    }

    fn item(&mut self, item: &DescriptorItem<'ast>, out: &mut Block) {
        match item {
            DescriptorItem::Text(text) => self.text(text, out),
            DescriptorItem::Backquoted(text) => self.backquoted(text, out),
            DescriptorItem::Newline(span) => push(out, *span, Inst::Newline),
            DescriptorItem::Tab(span) => push(out, *span, Inst::Tab),
            DescriptorItem::Move(step) => push(out, step.span, Inst::Move(step.node)),
            DescriptorItem::Code(code) => self.code(code.node, code.span, out, true),
            DescriptorItem::Macro(node) => self.print_macro(node, out, true),
            DescriptorItem::Assign(assign) => self.assign(assign, out),
            // Numbered already; this only reports names that cannot be assigned.
            DescriptorItem::Declare(name) => {
                self.assignable(name);
            }
            // Functions are lowered separately; the parser refuses nested ones.
            DescriptorItem::Function(_) => {}
            DescriptorItem::Call(call) => self.call(call, out),
            DescriptorItem::Switch(switch) => self.switch(switch, out),
            DescriptorItem::Loop(node) => {
                let (all, count) = (self.unit.dialect.loop_counts, self.number_of(&node.count));
                let probe = self.probe(PointKind::Loop, node.body.span, b"LOOP");
                let body = prepend(probe, self.group(node.body.items));
                push(out, node.span, Inst::Loop(ir::Loop { all, count, body }.into()));
            }
            DescriptorItem::Bitflags(node) => self.bitflags(node, out),
            DescriptorItem::Timer(timer) => {
                let pair = Box::new([self.expr(timer.first), self.expr(timer.second)]);
                let inst = match timer.action {
                    TimerAction::Start => Inst::TimerStart(pair),
                    TimerAction::End => Inst::TimerEnd(pair),
                };
                push(out, timer.span, inst);
            }
        }
    }

    fn text(&self, text: &Text<'ast>, out: &mut Block) {
        if !text.bytes.is_empty() {
            push(out, text.span, Inst::Text(text.bytes.to_vec()));
        }
        if text.kind == (TextKind::Word { soft: true }) {
            push(out, text.span, Inst::Soft);
        }
    }

    fn backquoted(&mut self, text: &Backquoted<'ast>, out: &mut Block) {
        for part in text.parts {
            match part {
                BackquotedPart::Text(text) if text.node.is_empty() => {}
                BackquotedPart::Text(text) => push(out, text.span, Inst::Text(text.node.to_vec())),
                BackquotedPart::Code(code) => self.code(code.node, code.span, out, false),
                BackquotedPart::Move(step) => push(out, step.span, Inst::Move(step.node)),
                BackquotedPart::Macro(node) => self.print_macro(node, out, false),
            }
        }
    }

    /// Lowers a printing code at the data pointer.
    pub fn code(&mut self, code: Code, span: Span, out: &mut Block, soft: bool) {
        let read = |size, signed| Value::Read(ir::EventField::Bytes { size, signed });
        let inst = match code {
            Code::Ascii { len, width } => Inst::Ascii { len, width },
            Code::Counted(size) => Inst::Counted(size),
            // More bytes than a register has, so they are printed without becoming a number.
            Code::Hex(Size::Bytes(n)) if n > 8 => Inst::HexBytes(n),
            Code::Binary { bits } => Inst::Put(Value::Read(ir::EventField::Bits(bits)), ValueFormat::Bin(bits)),
            Code::HexByte => Inst::Put(read(Size::Bytes(1), false), ValueFormat::Hex(Size::Bytes(1))),
            Code::Hex(size) => Inst::Put(read(size, false), ValueFormat::Hex(size)),
            Code::Signed(size) => Inst::Put(read(size, true), ValueFormat::Int),
            Code::Unsigned(size) => Inst::Put(read(size, false), ValueFormat::Dec),
            Code::Octal(size) => Inst::Put(read(size, false), ValueFormat::Oct),
            Code::Float(n) => Inst::Put(read(Size::Bytes(n), false), ValueFormat::Float(n, self.decimals(n))),
            Code::HookBytes => Inst::Put(Value::Env(EnvValue::HookLen), ValueFormat::Dec),
            // Prints one digit for a 32-bit hook, four for a 64-bit hook.
            Code::HookType => return self.hook_type(span, out, soft),
            Code::Time(size) => Inst::Put(read(size, false), ValueFormat::Time),
            Code::Errno(size) => Inst::Put(read(size, false), ValueFormat::Errno(size)),
            Code::Path(size) => Inst::Put(read(size, false), ValueFormat::Path),
        };
        push(out, span, inst);
        if soft && self.unit.dialect.soft_after(code) {
            push(out, span, Inst::Soft);
        }
    }

    fn hook_type(&mut self, span: Span, out: &mut Block, soft: bool) {
        push(out, span, Inst::Put(Value::Env(EnvValue::HookType), ValueFormat::HookType));
        if soft && self.unit.dialect.soft_after(Code::HookType) {
            push(out, span, Inst::Soft);
        }
    }

    fn print_macro(&mut self, node: &MacroRef<'ast>, out: &mut Block, soft: bool) {
        // A cast decides everything: text, width, and if a soft blank follows. The macro's default form does not
        // matter.
        if let Some(cast) = node.cast {
            if let Some(value) = self.castable(node) {
                self.print_cast(value, cast.node, node.span, out, soft);
            }
            return;
        }
        let soft = soft && self.unit.dialect.soft_after_macro();
        let inst = match self.resolve(node.name) {
            ResolvedName::Variable(slot) => Inst::Put(Value::Slot(slot), ValueFormat::HexFit),
            // Only a warning: a macro that is never assigned is 0, which the author may know.
            ResolvedName::Unassigned => {
                self.never_assigned(node);
                Inst::Put(Value::Const(0), ValueFormat::HexFit)
            }
            ResolvedName::Subroutine(id) => return self.insert(id, node, out),
            // Stanza 008 is the hex dump; a file may replace it.
            ResolvedName::Predefined(Predefined::Default) => return self.insert(0x0080, node, out),
            ResolvedName::Predefined(Predefined::Number(value, how)) => Inst::Put(value, how),
            ResolvedName::Predefined(Predefined::Pointer) => Inst::Put(Value::Pointer, ValueFormat::Dec),
            ResolvedName::Predefined(Predefined::Base) => Inst::Put(Value::Base, ValueFormat::Int),
            // Names print text without a soft blank, as a string does.
            ResolvedName::Predefined(Predefined::Text(text)) => return push(out, node.span, Inst::Name(text)),
            ResolvedName::Predefined(Predefined::Stop) => return push(out, node.span, Inst::Stop),
            ResolvedName::Predefined(Predefined::Break) => return push(out, node.span, Inst::Break),
            ResolvedName::Predefined(Predefined::Skip) => return push(out, node.span, Inst::Skip),
            ResolvedName::Predefined(Predefined::Error) => {
                // The event does not end here but after the group; `group` adds that.
                self.error = true;
                return push(out, node.span, Inst::Error);
            }
        };
        push(out, node.span, inst);
        if soft {
            push(out, node.span, Inst::Soft);
        }
    }

    /// Inserts a template subroutine.
    fn insert(&mut self, id: u16, node: &MacroRef<'ast>, out: &mut Block) {
        if self.names.stanzas.contains_key(&id) {
            push(out, node.span, Inst::CallStanza(id));
        // A stanza with an error of its own was already reported.
        } else if !self.names.broken.contains(&id) {
            let text = format!("no stanza {} for template subroutine `${}`", ShowId(id), show(node.name));
            self.error(&NO_SUBROUTINE, node.span, text);
        }
    }

    pub fn print_cast(&mut self, value: Value, cast: Cast<'ast>, span: Span, out: &mut Block, soft: bool) {
        let low = |size, signed| Value::Low { value: Box::new(value.clone()), size, signed };
        // A cast prints like the code of the same name, but from a value: nothing is read, and wider codes are cut to
        // 64 bits.
        let (inst, followed) = match cast {
            Cast::Bits { low, high } => {
                let bits = Value::Bits { value: Box::new(value), low, count: high - low + 1 };
                (Inst::Put(bits, ValueFormat::HexFit), self.unit.dialect.soft_after_macro())
            }
            Cast::Unknown(_) => (Inst::Put(value, ValueFormat::HexFit), self.unit.dialect.soft_after_macro()),
            Cast::Code(code) => {
                let inst = match code {
                    Code::Ascii { len, width } => Inst::Put(value, ValueFormat::Chars { len: len.min(8) as u8, width }),
                    Code::Counted(size) => Inst::CountedBy(low(size, false)),
                    Code::Binary { bits } => {
                        let bits_of = Value::Bits { value: Box::new(value), low: 0, count: bits };
                        Inst::Put(bits_of, ValueFormat::Bin(bits))
                    }
                    Code::HexByte => Inst::Put(low(Size::Bytes(1), false), ValueFormat::Hex(Size::Bytes(1))),
                    Code::Hex(size) => Inst::Put(low(size, false), ValueFormat::Hex(size)),
                    Code::Signed(size) => Inst::Put(low(size, true), ValueFormat::Int),
                    Code::Unsigned(size) => Inst::Put(low(size, false), ValueFormat::Dec),
                    Code::Octal(size) => Inst::Put(low(size, false), ValueFormat::Oct),
                    Code::Float(n) => Inst::Put(low(Size::Bytes(n), false), ValueFormat::Float(n, self.decimals(n))),
                    Code::Time(size) => Inst::Put(low(size, false), ValueFormat::Time),
                    Code::Errno(size) => Inst::Put(low(size, false), ValueFormat::Errno(size)),
                    Code::Path(size) => Inst::Put(low(size, false), ValueFormat::Path),
                    // The parser returns these as unknown casts.
                    Code::HookBytes | Code::HookType => Inst::Put(value, ValueFormat::HexFit),
                };
                (inst, self.unit.dialect.soft_after(code))
            }
        };
        push(out, span, inst);
        if soft && followed {
            push(out, span, Inst::Soft);
        }
    }

    fn never_assigned(&mut self, node: &MacroRef<'ast>) {
        let text = format!("macro `${}` is never assigned: it is 0", show(node.name));
        let variables = self.variables.keys().copied();
        let meant = fixes::predefined_in_another_case(node.name)
            .or_else(|| self.names.suggestion(|| fixes::macro_meant(node.name, variables)));
        let warning = self.warn(&NEVER_ASSIGNED, node.span, text);
        if let Some(meant) = meant {
            warning.help = Some(format!("did you mean `${meant}`?"));
            warning.fix = Some(fixes::rename_macro(node, &meant));
        }
    }

    pub fn resolve(&mut self, name: &[u8]) -> ResolvedName {
        if let Some(variable) = self.variables.get_mut(name) {
            variable.read = true;
            return ResolvedName::Variable(variable.slot);
        }
        match self.names.meaning(name) {
            Meaning::Predefined(predefined) => {
                self.uses_lines |= matches!(predefined, Predefined::Number(Value::Env(EnvValue::RelLine), _));
                ResolvedName::Predefined(predefined)
            }
            Meaning::Subroutine(id) => ResolvedName::Subroutine(id),
            Meaning::User => ResolvedName::Unassigned,
        }
    }

    /// Number of decimals of a float with `n_bytes` bytes.
    fn decimals(&self, n_bytes: u8) -> u8 {
        if n_bytes == 8 && self.unit.dialect.long_f8 { 8 } else { 4 }
    }

    /// Value of a macro that has a cast, cut to the bytes that the cast takes.
    pub fn castable(&mut self, node: &MacroRef<'ast>) -> Option<Value> {
        let value = self.whole_castable(node)?;
        // `cast-bytes=high` in docs/readings.md; by default a cast takes the low bytes.
        let code = match node.cast {
            Some(Spanned { node: Cast::Code(code), .. }) if self.unit.dialect.high_casts => code,
            _ => return Some(value),
        };
        let taken = match code {
            Code::Ascii { len: 0, .. } | Code::HookBytes | Code::HookType => return Some(value),
            Code::Ascii { len, .. } => LeadingPart::Bytes(Size::Bytes(len.min(8) as u8)),
            Code::Binary { bits } => LeadingPart::Bits(bits),
            Code::HexByte => LeadingPart::Bytes(Size::Bytes(1)),
            Code::Float(n) => LeadingPart::Bytes(Size::Bytes(n)),
            Code::Counted(size)
            | Code::Hex(size)
            | Code::Signed(size)
            | Code::Unsigned(size)
            | Code::Octal(size)
            | Code::Time(size)
            | Code::Errno(size)
            | Code::Path(size) => LeadingPart::Bytes(size),
        };
        // Other macros have 64 bits, so their bytes start at the top of a 64-bit number.
        let of = if matches!(node.name, [b'D', b'1'..=b'5']) { Size::Word } else { Size::Bytes(8) };
        Some(Value::First { value: Box::new(value), of, taken })
    }

    /// Value of a macro, before its cast.
    fn whole_castable(&mut self, node: &MacroRef<'ast>) -> Option<Value> {
        match self.resolve(node.name) {
            ResolvedName::Variable(slot) => Some(Value::Slot(slot)),
            ResolvedName::Unassigned => {
                self.never_assigned(node);
                Some(Value::Const(0))
            }
            ResolvedName::Predefined(Predefined::Number(value, _)) => Some(value),
            ResolvedName::Predefined(Predefined::Pointer) => Some(Value::Pointer),
            ResolvedName::Predefined(Predefined::Base) => Some(Value::Base),
            _ => {
                let text = format!("`${}` has no value to cast", show(node.name));
                self.error(&BAD_CAST, node.span, text);
                None
            }
        }
    }

    /// Target of an assignment or declaration. Reports an error and returns `None` if the macro cannot be assigned.
    pub fn assignable(&mut self, name: &Name<'ast>) -> Option<AssignTarget> {
        if let Some(variable) = self.variables.get(name.node) {
            return Some(AssignTarget::Slot(variable.slot));
        }
        match self.names.meaning(name.node) {
            Meaning::Predefined(Predefined::Pointer) => Some(AssignTarget::Pointer),
            Meaning::Predefined(Predefined::Base) => Some(AssignTarget::Base),
            Meaning::Predefined(_) => {
                let text = format!("`${}` is predefined and cannot be assigned", show(name.node));
                self.error(&ASSIGN_PREDEFINED, name.span, text);
                None
            }
            Meaning::Subroutine(_) => {
                let text = format!("`${}` is a template subroutine and cannot be assigned", show(name.node));
                self.error(&ASSIGN_SUBROUTINE, name.span, text).help =
                    Some("choose a name that is not 3 hex digits".to_string());
                None
            }
            // Exceeds the limit on macros, which was already reported.
            Meaning::User => None,
        }
    }

    fn assign(&mut self, assign: &Assign<'ast>, out: &mut Block) {
        let target = self.assignable(&assign.name);
        let value = self.expr(assign.value);
        let inst = match target {
            Some(AssignTarget::Slot(slot)) => Inst::Assign(slot, value),
            Some(AssignTarget::Pointer) => Inst::SetPointer(value),
            Some(AssignTarget::Base) => Inst::SetBase(value),
            None => return,
        };
        push(out, assign.span, inst);
    }

    pub fn expr(&mut self, expr: &Expr<'ast>) -> Value {
        match expr {
            Expr::Const(constant) => Value::Const(constant.node),
            Expr::Code(code) => self.code_value(code.node, code.span),
            Expr::Macro(node) => self.macro_value(node),
            Expr::Binary { op, left, right } => {
                let left = self.expr(left);
                Value::Binary(op.node, Box::new(left), Box::new(self.expr(right)))
            }
        }
    }

    pub fn number_of(&mut self, selector: &Selector<'ast>) -> Value {
        match selector {
            Selector::Code(code) => self.code_value(code.node, code.span),
            Selector::Macro(node) => self.macro_value(node),
        }
    }

    /// Value of a code as a number.
    pub fn code_value(&mut self, code: Code, span: Span) -> Value {
        let (size, signed) = match code {
            Code::Binary { bits } => return Value::Read(ir::EventField::Bits(bits)),
            Code::HookBytes => return Value::Env(EnvValue::HookLen),
            Code::HookType => return Value::Env(EnvValue::HookType),
            Code::HexByte => (Size::Bytes(1), false),
            Code::Hex(size) | Code::Unsigned(size) | Code::Octal(size) | Code::Errno(size) => (size, false),
            Code::Signed(size) => (size, true),
            Code::Ascii { .. } | Code::Counted(_) | Code::Float(_) | Code::Time(_) | Code::Path(_) => {
                self.error(&TEXT_VALUE, span, "expected a number, found a code that prints text");
                return Value::Const(0);
            }
        };
        Value::Read(ir::EventField::Bytes { size, signed })
    }

    /// Value of a macro as a number.
    pub fn macro_value(&mut self, node: &MacroRef<'ast>) -> Value {
        if let Some(cast) = node.cast {
            let Some(value) = self.castable(node) else { return Value::Const(0) };
            return self.cast_value(value, cast.node, node.span);
        }
        match self.resolve(node.name) {
            ResolvedName::Variable(slot) => Value::Slot(slot),
            ResolvedName::Unassigned => {
                self.never_assigned(node);
                Value::Const(0)
            }
            ResolvedName::Predefined(Predefined::Number(value, _)) => value,
            ResolvedName::Predefined(Predefined::Pointer) => Value::Pointer,
            ResolvedName::Predefined(Predefined::Base) => Value::Base,
            ResolvedName::Predefined(Predefined::Text(_)) => {
                let text = format!("expected a number, found the text `${}`", show(node.name));
                self.error(&TEXT_VALUE, node.span, text);
                Value::Const(0)
            }
            ResolvedName::Predefined(_) | ResolvedName::Subroutine(_) => {
                self.error(
                    &NO_VALUE,
                    node.span,
                    format!("expected a number, found `${}`, which has no value", show(node.name)),
                );
                Value::Const(0)
            }
        }
    }

    pub fn cast_value(&mut self, value: Value, cast: Cast<'ast>, span: Span) -> Value {
        let value = Box::new(value);
        match cast {
            Cast::Bits { low, high } => Value::Bits { value, low, count: high - low + 1 },
            Cast::Unknown(_) => *value,
            Cast::Code(code) => match code {
                Code::Binary { bits } => Value::Bits { value, low: 0, count: bits },
                Code::HexByte => Value::Low { value, size: Size::Bytes(1), signed: false },
                Code::Hex(size) | Code::Unsigned(size) | Code::Octal(size) | Code::Errno(size) => {
                    Value::Low { value, size, signed: false }
                }
                Code::Signed(size) => Value::Low { value, size, signed: true },
                Code::HookBytes | Code::HookType => *value,
                Code::Ascii { .. } | Code::Counted(_) | Code::Float(_) | Code::Time(_) | Code::Path(_) => {
                    self.error(&TEXT_VALUE, span, "expected a number, found a cast to text");
                    Value::Const(0)
                }
            },
        }
    }

    fn call(&mut self, call: &Call<'ast>, out: &mut Block) {
        let name = call.name;
        let arguments: Vec<_> = call.arguments.iter().map(|argument| self.expr(argument)).collect();
        let Some(&function) = self.names.functions.get(name.node) else {
            if !self.names.broken_functions.contains(name.node) {
                let meant = self.names.suggestion(|| fixes::function_meant(name.node, self.names));
                let error =
                    self.error(&NO_FUNCTION, name.span, format!("function `{}` is not defined", show(name.node)));
                if let Some(help) = tfbc_grammar::trcfmt::foreign_word(name.node) {
                    error.help = Some(help.into());
                } else if let Some(meant) = meant {
                    error.help = Some(format!("did you mean `{meant}`?"));
                    error.fix = Some(Fix::guess(format!("write `{meant}`"), [Edit::replace(name.span, meant)]));
                }
            }
            return;
        };
        self.called.insert(name.node);
        let params = self.names.definitions[function].function.params.len();
        if params != arguments.len() {
            let plural = if params == 1 { "" } else { "s" };
            let text =
                format!("function `{}` takes {params} argument{plural}, found {}", show(name.node), arguments.len());
            self.error(&ARGUMENT_COUNT, call.span, text);
            return;
        }
        push(out, call.span, Inst::CallFunction { function, arguments });
    }

    /// Lowers a selector.
    pub fn select(&mut self, selector: &Selector<'ast>) -> LoweredSelector {
        match selector {
            Selector::Code(code) => self.select_code(code.node, code.span),
            Selector::Macro(node) => self.select_macro(node),
        }
    }

    fn select_code(&mut self, code: Code, span: Span) -> LoweredSelector {
        match code {
            Code::Float(_) => {
                self.error(&FLOAT_SELECTOR, span, "a floating point number cannot select a case");
                LoweredSelector::Text(Vec::new())
            }
            Code::Ascii { len, .. } => LoweredSelector::Text(one(span, Inst::Ascii { len, width: 0 })),
            Code::Counted(_) | Code::Time(_) | Code::Path(_) => {
                // The text is printed and compared, because its length is not known before.
                let mut text = Vec::new();
                self.code(code, span, &mut text, false);
                LoweredSelector::Text(text)
            }
            Code::Errno(size) => LoweredSelector::Errno { value: self.code_value(code, span), width: width_of(size) },
            _ => {
                let (width, base) = width_and_base(code);
                // Bit patterns are compared, so the sign does not matter.
                let value = match self.code_value(code, span) {
                    Value::Read(ir::EventField::Bytes { size, .. }) => {
                        Value::Read(ir::EventField::Bytes { size, signed: false })
                    }
                    value => value,
                };
                LoweredSelector::Number { value, width, base }
            }
        }
    }

    fn select_macro(&mut self, node: &MacroRef<'ast>) -> LoweredSelector {
        let hex = if self.unit.dialect.decimal_matches { Base::Decimal } else { Base::Hex };
        if let Some(cast) = node.cast {
            let Some(value) = self.castable(node) else { return LoweredSelector::Text(Vec::new()) };
            return self.select_cast(value, cast.node, node.span);
        }
        let (value, base) = match self.resolve(node.name) {
            ResolvedName::Predefined(Predefined::Text(text)) => {
                return LoweredSelector::Text(one(node.span, Inst::Name(text)));
            }
            // Match values have the base in which the macro prints (`match-base` in docs/readings.md).
            ResolvedName::Predefined(Predefined::Number(value, ValueFormat::Dec)) => (value, Base::Decimal),
            ResolvedName::Predefined(Predefined::Number(value, _)) => (value, hex),
            ResolvedName::Predefined(Predefined::Pointer) => (Value::Pointer, Base::Decimal),
            ResolvedName::Predefined(Predefined::Base) => (Value::Base, Base::Decimal),
            _ => (self.macro_value(node), hex),
        };
        LoweredSelector::Number { value, width: Some(64), base }
    }

    fn select_cast(&mut self, value: Value, cast: Cast<'ast>, span: Span) -> LoweredSelector {
        let code = match cast {
            Cast::Code(code) => code,
            // Both print in hex, so their match values are hex.
            Cast::Bits { .. } | Cast::Unknown(_) => {
                let value = self.cast_value(value, cast, span);
                return LoweredSelector::Number { value, width: Some(64), base: Base::Hex };
            }
        };
        match code {
            // Two floating point numbers that print alike may differ in their last bit, so a case could not match
            // reliably.
            Code::Float(_) => {
                self.error(&FLOAT_SELECTOR, span, "a floating point number cannot select a case");
                LoweredSelector::Text(Vec::new())
            }
            Code::Ascii { len, .. } => {
                // Compared without padding: `%A4.8` selects by the text, not by the blanks after it.
                let how = ValueFormat::Chars { len: len.min(8) as u8, width: 0 };
                LoweredSelector::Text(one(span, Inst::Put(value, how)))
            }
            Code::Counted(_) | Code::Time(_) | Code::Path(_) => {
                let mut text = Vec::new();
                self.print_cast(value, cast, span, &mut text, false);
                LoweredSelector::Text(text)
            }
            Code::Errno(size) => {
                // Cases of an error number may be names, so this selector is a kind of its own.
                LoweredSelector::Errno { value: self.cast_value(value, cast, span), width: width_of(size) }
            }
            _ => {
                let (width, base) = width_and_base(code);
                let value = match self.cast_value(value, cast, span) {
                    // Compared as unsigned, so that -1 and FFFF are the same bit pattern (docs/readings.md).
                    Value::Low { value, size, .. } => Value::Low { value, size, signed: false },
                    value => value,
                };
                LoweredSelector::Number { value, width, base }
            }
        }
    }

    fn switch(&mut self, switch: &ast::Switch<'ast>, out: &mut Block) {
        let (on, default) = self.selection(switch);
        let mut bodies = Vec::with_capacity(switch.cases.len());
        for case in switch.cases {
            let probe =
                self.probe(PointKind::Case, case.value.span().to(body_span(&case.body)), match_text(&case.value));
            bodies.push(prepend(probe, self.body(&case.body)));
        }
        push(out, switch.span, Inst::Switch(ir::Switch { on, bodies, default }.into()));
    }

    /// Selector of a switch with its keys, and the index of the case for all other values.
    pub fn selection(&mut self, switch: &ast::Switch<'ast>) -> (SwitchSelector, Option<usize>) {
        let errors = self.diagnostics.len();
        let selected = self.select(&switch.selector);
        // If the selector has an error, the type of its match values is unknown. They are not checked, so that one
        // mistake gives one report.
        let broken = self.diagnostics[errors..].iter().any(|found| found.severity == tfbc_grammar::Severity::Error);
        let mut default = None;
        let mut keys = CaseKeys::with_capacity(switch.cases.len());
        for (index, case) in switch.cases.iter().enumerate() {
            if default.is_some() {
                let text = "case after `\\*` is never reached";
                self.warn(&UNREACHABLE_CASE, case.value.span(), text).fix =
                    fixes::delete_case(self.unit.text, switch, index);
            } else if let MatchValue::Any(_) = case.value {
                default = Some(index);
            } else if !broken {
                self.case(&selected, switch, index, &mut keys);
            }
        }
        let on = match selected {
            LoweredSelector::Text(text) => {
                if let Some(mask) = switch.mask.filter(|_| !broken) {
                    self.error(&TEXT_MASK, mask.span, "mask needs a number, but the selector is text");
                }
                SwitchSelector::Text(text, keys.texts)
            }
            LoweredSelector::Number { value, width, base } => {
                if base == Base::Hex {
                    self.decimal_looking(switch);
                }
                SwitchSelector::Number {
                    value: self.masked(value, width, base, switch.mask),
                    width,
                    keys: keys.numbers,
                }
            }
            LoweredSelector::Errno { value, width } => {
                let value = self.masked(value, width, Base::Decimal, switch.mask);
                SwitchSelector::Number { value, width, keys: keys.numbers }
            }
        };
        (on, default)
    }

    fn masked(&mut self, value: Value, width: Option<u32>, base: Base, mask: Option<ast::RawValue<'ast>>) -> Value {
        let Some(mask) = mask else { return value };
        let Some(number) = self.numeral(&mask, base) else { return value };
        let bits = number.pattern(width.unwrap_or(64)).unwrap_or(number.magnitude);
        Value::Binary(BinaryOp::And, Box::new(value), Box::new(Value::Const(bits)))
    }

    /// Adds a case under its key.
    fn case(&mut self, selected: &LoweredSelector, switch: &ast::Switch<'ast>, index: usize, keys: &mut CaseKeys) {
        let value = &switch.cases[index].value;
        // The first case of a value is used, so a later one only gets a warning.
        let fresh = match (selected, value) {
            (_, MatchValue::Any(_)) => true,
            (LoweredSelector::Text(_), MatchValue::Word(word)) => keys.text(word.node, index),
            (LoweredSelector::Text(_), MatchValue::Quoted(text)) => keys.text(text.bytes, index),
            (_, MatchValue::Quoted(text)) => {
                self.error(&BAD_NUMBER, text.span, "a string cannot match a number");
                return;
            }
            (LoweredSelector::Errno { width, .. }, MatchValue::Word(word)) => {
                let Some(number) = self.errno(word) else { return };
                let Some(fresh) = keys.number(number, *width, index) else { return self.never_matches(word, *width) };
                fresh
            }
            (LoweredSelector::Number { width, base, .. }, MatchValue::Word(word)) => {
                let Some(number) = self.numeral(word, *base) else { return };
                let Some(fresh) = keys.number(number, *width, index) else { return self.never_matches(word, *width) };
                fresh
            }
        };
        if !fresh {
            let text = "value has a case already; the first case is used";
            self.warn(&DUPLICATE_VALUE, value.span(), text).fix = fixes::delete_case(self.unit.text, switch, index);
        }
    }

    fn never_matches(&mut self, word: &ast::RawValue<'ast>, width: Option<u32>) {
        let width = width.unwrap_or(64);
        let text = format!("`{}` does not fit {width} bits and never matches", show(word.node));
        self.warn(&NEVER_MATCHES, word.span, text);
    }

    fn errno(&mut self, word: &ast::RawValue<'ast>) -> Option<number::Number> {
        if let Some(value) = tfbc_vm::errno_value(word.node) {
            return Some(number::Number { negative: false, magnitude: value.into() });
        }
        let number = number::parse(word.node, Base::Decimal);
        if number.is_none() {
            let text = format!("`{}` is neither an AIX error name nor a decimal number", show(word.node));
            let meant = self.names.suggestion(|| fixes::errno_meant(word.node));
            let error = self.error(&UNKNOWN_ERRNO, word.span, text);
            if let Some(meant) = meant {
                error.help = Some(format!("did you mean `{meant}`?"));
                error.fix = Some(Fix::guess(format!("write `{meant}`"), [Edit::replace(word.span, meant)]));
            }
        }
        number
    }

    fn numeral(&mut self, word: &ast::RawValue<'ast>, base: Base) -> Option<number::Number> {
        let number = number::parse(word.node, base);
        if number.is_none() {
            self.bad_number(word, base);
        }
        number
    }

    fn bad_number(&mut self, word: &ast::RawValue<'ast>, base: Base) {
        let text = format!("`{}` is not a 64-bit {} number", show(word.node), base.name());
        self.error(&BAD_NUMBER, word.span, text);
    }

    /// Parses a number of BITFLAGS, and warns if it is hexadecimal only because of its digits.
    fn flag_numeral(&mut self, word: &ast::RawValue<'ast>, base: Base) -> Option<number::Number> {
        let Some((number, in_base)) = number::parse_flag(word.node, base) else {
            self.bad_number(word, base);
            return None;
        };
        if !in_base {
            let kind = base.name();
            let article = if base == Base::Octal { "an" } else { "a" };
            let text = format!("`{}` is not {article} {kind} number and is read as hex", show(word.node));
            self.warn(&FLAG_BASE, word.span, text);
        }
        Some(number)
    }

    /// Warns about hex match values that were probably meant as decimal: all have only decimal digits, one is `10`, one
    /// has a single digit, and they are not all single bits, as flags are.
    fn decimal_looking(&mut self, switch: &ast::Switch<'ast>) {
        let words = || {
            switch.cases.iter().filter_map(|case| match &case.value {
                MatchValue::Word(word) => Some(word),
                _ => None,
            })
        };
        let decimal = words().all(|word| word.node.iter().all(u8::is_ascii_digit));
        let has = |text: &[u8]| words().any(|word| word.node == text);
        let hex = |word: &ast::RawValue<'_>| number::parse(word.node, Base::Hex).map_or(0, |number| number.magnitude);
        // 1, 2, 4, 8, 10 are the bits of a hex number, where `10` really means sixteen.
        let is_flag = |value: u64| value == 0 || value.is_power_of_two();
        let has_digit = words().any(|word| matches!(word.node, [b'3'..=b'9']));
        if decimal && has(b"10") && has_digit && !words().all(|word| is_flag(hex(word))) {
            let span = switch.selector.span();
            let decimal = fixes::decimal_selector(&switch.selector);
            let text = "values of a hex selector look decimal, but `10` means sixteen";
            let warning = self.warn(&DECIMAL_LOOKING, span, text);
            warning.help = Some(match &decimal {
                Some((text, _)) => format!("write `{text}` to compare decimal numbers, otherwise `0x10`"),
                None => "cast the selector to compare decimal numbers, such as `%UW`, otherwise write `0x10`".into(),
            });
            warning.fix = decimal.map(|(text, edit)| Fix::guess(format!("write `{text}`"), [edit]));
        }
    }

    fn body(&mut self, body: &Body<'ast>) -> Block {
        // Most bodies are one text.
        let mut out = Vec::with_capacity(1);
        match body {
            Body::Text(text) => self.text(text, &mut out),
            Body::Backquoted(text) => {
                // Backquotes are not a brace group: `$ERROR` in them ends the event after the group around the switch.
                let outer = std::mem::take(&mut self.error);
                self.backquoted(text, &mut out);
                if std::mem::replace(&mut self.error, outer) {
                    let flag = self.error_flag.unwrap_or(self.n_locals);
                    self.n_locals = self.n_locals.max(flag + 1);
                    self.error_flag = Some(flag);
                    push(&mut out, text.span, Inst::Assign(VarSlot::Local(flag), Value::Const(1)));
                }
            }
            Body::Group(group) => out = self.group(group.items),
        }
        out
    }

    pub fn bitflags(&mut self, node: &Bitflags<'ast>, out: &mut Block) {
        let value = self.number_of(&node.selector);
        let (width, base) = flag_width_and_base(&node.selector);
        let pattern = |scope: &mut Self, value: &ast::RawValue<'ast>| {
            let number = scope.flag_numeral(value, base)?;
            Some(number.pattern(width).unwrap_or(number.magnitude))
        };
        let mut entries = Vec::with_capacity(node.entries.len());
        let mut probes = Vec::new();
        for entry in node.entries {
            let flag = match entry {
                FlagEntry::Flag { flag, yes, no } => pattern(self, flag).map(|mask| Flag {
                    mask,
                    // A flag of 0 never matches.
                    field: if mask == 0 { 1 } else { mask },
                    yes: flag_text(yes),
                    no: no.as_ref().map(flag_text).unwrap_or_default(),
                }),
                FlagEntry::Field { mask, field, text } => {
                    let (mask, field) = (pattern(self, mask), pattern(self, field));
                    mask.zip(field).map(|(mask, field)| Flag {
                        mask,
                        field,
                        yes: flag_text(text),
                        no: FlagText::default(),
                    })
                }
            };
            if let Some(flag) = &flag {
                self.probe_flag(entry, flag, &mut probes);
            }
            entries.extend(flag);
        }
        if probes.is_empty() {
            return push(out, node.span, Inst::Flags(ir::Flags { value, entries }.into()));
        }
        // The value may be read at the data pointer, so it must be read only once.
        let local = *self.tested.get_or_insert(self.n_locals);
        self.n_locals = self.n_locals.max(local + 1);
        push(out, node.span, Inst::Assign(VarSlot::Local(local), value));
        out.extend(probes.into_iter().map(|probe| probe(VarSlot::Local(local))));
        let value = Value::Slot(VarSlot::Local(local));
        push(out, node.span, Inst::Flags(ir::Flags { value, entries }.into()));
    }

    /// Adds the coverage probes of an entry, for matching and for clear bits.
    fn probe_flag(&mut self, entry: &FlagEntry<'ast>, flag: &Flag, probes: &mut Vec<FlagProbe>) {
        let (name, text, clear) = match entry {
            FlagEntry::Flag { flag, yes, no } => (flag, yes, no.as_ref()),
            FlagEntry::Field { mask, text, .. } => (mask, text, None),
        };
        let span = name.span.to(text.span);
        let yes = self.probe(PointKind::FlagSet, span, name.node);
        let no = clear.and_then(|clear| self.probe(PointKind::FlagClear, clear.span, name.node));
        let (mask, field) = (flag.mask, flag.field);
        let Some(yes) = yes else { return };
        probes.push(Box::new(move |slot| {
            let masked = Value::Binary(BinaryOp::And, Box::new(Value::Slot(slot)), Box::new(Value::Const(mask)));
            let on = Value::Compare { equal: true, left: Box::new(masked), right: Box::new(Value::Const(field)) };
            let test = ir::If { on, then: vec![yes], otherwise: no.into_iter().collect() };
            Node { inst: Inst::If(test.into()), span }
        }));
    }
}

/// Builds the test of one BITFLAGS entry's probes from the slot of the value.
type FlagProbe = Box<dyn FnOnce(VarSlot) -> Node>;

/// True if a node may end the event, directly or in a callee.
fn may_end(nodes: &[Node]) -> bool {
    let mut found = false;
    for node in nodes {
        ir::walk_node(node, &mut |node| {
            found |= matches!(
                node.inst,
                Inst::Break | Inst::Skip | Inst::CallStanza(_) | Inst::CallFunction { .. } | Inst::Loop(_)
            );
        });
    }
    found
}

/// Span of a case's body.
fn body_span(body: &Body<'_>) -> Span {
    match body {
        Body::Text(text) => text.span,
        Body::Backquoted(text) => text.span,
        Body::Group(group) => group.span,
    }
}

/// Match value as written, without quotes.
fn match_text<'ast>(value: &MatchValue<'ast>) -> &'ast [u8] {
    match value {
        MatchValue::Any(_) => b"\\*",
        MatchValue::Word(word) => word.node,
        MatchValue::Quoted(text) => text.bytes,
    }
}

pub(crate) enum ResolvedName {
    Variable(VarSlot),
    Predefined(Predefined),
    Subroutine(u16),
    Unassigned,
}

pub(crate) enum AssignTarget {
    Slot(VarSlot),
    Pointer,
    Base,
}

/// Keys of a switch, each with its first case.
#[derive(Default)]
struct CaseKeys {
    numbers: Vec<(number::Number, usize)>,
    texts: Vec<(Vec<u8>, usize)>,
    known_numbers: HashSet<u64>,
    known_texts: HashSet<Vec<u8>>,
}

impl CaseKeys {
    fn with_capacity(n_cases: usize) -> Self {
        let numbers = Vec::with_capacity(n_cases);
        Self { numbers, known_numbers: HashSet::with_capacity(n_cases), ..Self::default() }
    }

    /// Adds a key. Returns false if it is a duplicate, `None` if it does not fit the width.
    fn number(&mut self, number: number::Number, width: Option<u32>, index: usize) -> Option<bool> {
        let fresh = self.known_numbers.insert(number.pattern(width.unwrap_or(64))?);
        if fresh {
            self.numbers.push((number, index));
        }
        Some(fresh)
    }

    fn text(&mut self, key: &[u8], index: usize) -> bool {
        let fresh = self.known_texts.insert(key.to_vec());
        if fresh {
            self.texts.push((key.to_vec(), index));
        }
        fresh
    }
}

fn push(out: &mut Block, span: Span, inst: Inst) {
    out.push(Node { inst, span });
}

/// Prepends a probe to a block.
fn prepend(probe: Option<Node>, mut block: Block) -> Block {
    if let Some(probe) = probe {
        block.insert(0, probe);
    }
    block
}

fn one(span: Span, inst: Inst) -> Block {
    vec![Node { inst, span }]
}

fn flag_text(text: &Text<'_>) -> FlagText {
    FlagText { text: text.bytes.to_vec(), soft: text.kind == TextKind::Word { soft: true } }
}

/// Code that prints a label with its soft blank; empty for an empty or hidden label.
fn heading(label: &Label<'_>) -> Block {
    if label.hidden || label.text.bytes.is_empty() {
        return Vec::new();
    }
    let span = label.text.span;
    vec![Node { inst: Inst::Text(label.text.bytes.to_vec()), span }, Node { inst: Inst::Soft, span }]
}

fn calls_stanzas(block: &Block) -> bool {
    let mut found = false;
    ir::walk(block, &mut |node| found |= matches!(node.inst, Inst::CallStanza(_)));
    found
}

/// Width of a size in bits; `None` for a word, whose width depends on the environment.
fn width_of(size: Size) -> Option<u32> {
    match size {
        Size::Bytes(n) => Some(u32::from(n.min(8)) * 8),
        Size::Word => None,
    }
}

/// Width in bits, and base of the match values, of a numeric code or cast.
fn width_and_base(code: Code) -> (Option<u32>, Base) {
    match code {
        Code::Binary { bits } => (Some(bits.into()), Base::Binary),
        Code::HexByte => (Some(8), Base::Hex),
        Code::Hex(size) => (width_of(size), Base::Hex),
        Code::Octal(size) => (width_of(size), Base::Octal),
        Code::Signed(size) | Code::Unsigned(size) | Code::Errno(size) => (width_of(size), Base::Decimal),
        Code::HookBytes => (Some(64), Base::Decimal),
        _ => (Some(64), Base::Hex),
    }
}

/// Width in bits and base of BITFLAGS: hex, except for the casts `%o`, `%D`, `%U` and `%B`.
fn flag_width_and_base(selector: &Selector<'_>) -> (u32, Base) {
    let (code, cast) = match selector {
        Selector::Code(code) => (code.node, false),
        Selector::Macro(MacroRef { cast: Some(Spanned { node: Cast::Code(code), .. }), .. }) => (*code, true),
        Selector::Macro(_) => return (64, Base::Hex),
    };
    let (width, base) = width_and_base(code);
    let base = if cast && !matches!(code, Code::Errno(_)) { base } else { Base::Hex };
    (width.unwrap_or(64), base)
}

/// Visits the items of a stanza or function, without the bodies of functions defined in it.
fn own_items<'ast>(items: Descriptor<'ast>, visit: &mut impl FnMut(&DescriptorItem<'ast>)) {
    for item in items {
        visit(item);
        match item {
            DescriptorItem::Loop(node) => own_items(node.body.items, visit),
            DescriptorItem::Switch(switch) => {
                for case in switch.cases {
                    if let Body::Group(group) = &case.body {
                        own_items(group.items, visit);
                    }
                }
            }
            _ => {}
        }
    }
}
