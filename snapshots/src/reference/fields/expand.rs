//! Items of a stanza with functions and subroutines expanded in place.

use tfbc_grammar::Span;
use tfbc_grammar::trcfmt::ast::*;

use super::super::{Reference, literal, macros_in_order};
use super::form::{self, PrintForm};
use super::schema::ItemPlace;

/// Item of an expanded stanza.
#[derive(Debug, Clone)]
pub(super) enum ExpandedItem {
    /// Bytes of the template.
    Text(Vec<u8>),
    SoftBlank,
    /// `\t`
    Tab,
    /// `\n`
    Newline,
    /// Prints a value that is not a field.
    Value,
    PrintedItem(PrintedItem),
    Assign(MacroId),
    Switch(SwitchNode),
    Loop(LoopNode),
    /// `$BREAK`
    Break,
}

/// Identity of a macro, which can have several names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MacroId {
    Predefined(Vec<u8>),
    /// Number among the macros that stanzas share.
    Slot(usize),
    /// Parameter, local macro of a function, or macro that is never assigned, in a call.
    Local(Vec<u32>, Vec<u8>),
}

/// Item that prints something from the event's data.
#[derive(Debug, Clone)]
pub(super) struct PrintedItem {
    pub(super) path: Vec<u32>,
    pub(super) place: ItemPlace,
    pub(super) form: PrintForm,
    /// True for a macro without a cast.
    pub(super) uncast: bool,
    pub(super) id: Option<MacroId>,
    /// Macro that gives a name if nothing else does.
    pub(super) macro_name: Option<Vec<u8>>,
    /// Text of the listing.
    pub(super) shown: String,
    /// True texts of BITFLAGS.
    pub(super) flags: Option<Vec<Vec<u8>>>,
}

#[derive(Debug, Clone)]
pub(super) struct SwitchNode {
    /// `None` if the selector is not a field.
    pub(super) selector: Option<PrintedItem>,
    pub(super) masked: bool,
    pub(super) cases: Vec<CaseNode>,
}

#[derive(Debug, Clone)]
pub(super) struct CaseNode {
    /// True if the match value is 1.
    pub(super) is_one: bool,
    pub(super) body: Vec<ExpandedItem>,
}

#[derive(Debug, Clone)]
pub(super) struct LoopNode {
    pub(super) path: Vec<u32>,
    pub(super) place: ItemPlace,
    /// Code that is the whole body.
    pub(super) only: Option<Code>,
    pub(super) body: Vec<ExpandedItem>,
}

/// Macros without a field: they are columns or metadata.
const FACTS: [&[u8]; 22] = [
    b"TID",
    b"PID",
    b"CPUID",
    b"PRI",
    b"LOGIDX",
    b"LOGIDX0",
    b"HOOKENV",
    b"TRACEENV",
    b"WORDSIZE",
    b"GENERIC",
    b"HL",
    b"RELLINENO",
    b"DATAPOINTER",
    b"BASEPOINTER",
    b"BUFF",
    b"LARGEDATATYPES",
    b"TOTALCPUS",
    b"TRACEDCPUS",
    b"REPORTEDCPUS",
    b"IPADDR",
    b"ERROR",
    b"STOP",
];

const TEXTS: [&[u8]; 4] = [b"SVC", b"EXECPATH", b"TRACEID", b"LOGFILE"];

/// Kind of a predefined macro with a value.
pub(super) fn predefined_form(name: &[u8]) -> Option<PrintForm> {
    match name {
        b"IPADDR" => Some(PrintForm::Address),
        b"ERROR" | b"STOP" => None,
        _ if TEXTS.contains(&name) => Some(PrintForm::FactText),
        _ if FACTS.contains(&name) => Some(PrintForm::Fact),
        _ => None,
    }
}

/// Form of `$D1`, `$L1` and `$HD` without a cast.
pub(super) fn data_macro(name: &[u8]) -> Option<PrintForm> {
    match name {
        b"HD" => Some(PrintForm::HookData),
        [b'D' | b'L', b'1'..=b'5'] => Some(PrintForm::Uncast),
        _ => None,
    }
}

/// Expands a stanza.
pub(super) fn expand<'ast>(reference: &Reference<'ast>, stanza: &Stanza<'ast>) -> Vec<ExpandedItem> {
    let mut expander = Expander { reference, calls: Vec::new(), nodes: Vec::new() };
    expander.body(stanza);
    expander.nodes
}

struct Expander<'r, 'ast> {
    reference: &'r Reference<'ast>,
    calls: Vec<u32>,
    nodes: Vec<ExpandedItem>,
}

/// Names of a body.
struct BodyScope<'ast> {
    /// File that contains the body.
    file: Option<usize>,
    /// Macros of a stanza, in the order of their slots; `None` in a function.
    slots: Option<Vec<&'ast [u8]>>,
    params: Vec<&'ast [u8]>,
}

impl<'ast> Expander<'_, 'ast> {
    /// Items of a stanza, without its label.
    fn body(&mut self, stanza: &Stanza<'ast>) {
        let file = self.reference.file_of(stanza.id.node.0);
        let slots = Some(macros_in_order(stanza.body));
        self.items(stanza.body, &BodyScope { file, slots, params: Vec::new() });
    }

    fn items(&mut self, items: Descriptor<'ast>, scope: &BodyScope<'ast>) {
        for item in items {
            self.item(item, scope);
        }
    }

    fn item(&mut self, item: &DescriptorItem<'ast>, scope: &BodyScope<'ast>) {
        match item {
            DescriptorItem::Text(text) => self.text(text),
            DescriptorItem::Backquoted(text) => self.backquoted(text, scope),
            DescriptorItem::Newline(_) => self.nodes.push(ExpandedItem::Newline),
            DescriptorItem::Tab(_) => self.nodes.push(ExpandedItem::Tab),
            DescriptorItem::Code(code) => {
                let printed = self.code(code.node, code.span, scope);
                self.nodes.push(ExpandedItem::PrintedItem(printed));
            }
            DescriptorItem::Macro(node) => self.print_macro(node, scope),
            DescriptorItem::Assign(node) => {
                let id = self.id(node.name.node, scope);
                self.nodes.push(ExpandedItem::Assign(id));
            }
            DescriptorItem::Move(_) | DescriptorItem::Declare(_) | DescriptorItem::Function(_) => {}
            DescriptorItem::Call(node) => self.call(node),
            DescriptorItem::Switch(node) => {
                let selector = self.selector(&node.selector, node.span, scope);
                let cases = node.cases.iter().map(|case| self.case(case, scope)).collect();
                self.nodes.push(ExpandedItem::Switch(SwitchNode { selector, masked: node.mask.is_some(), cases }));
            }
            DescriptorItem::Loop(node) => {
                let only = match node.body.items {
                    [DescriptorItem::Code(code)] => Some(code.node),
                    _ => None,
                };
                let body = self.expand_separately(|inside| inside.items(node.body.items, scope));
                let (path, place) = (self.path(node.span), self.place(node.span, scope));
                self.nodes.push(ExpandedItem::Loop(LoopNode { path, place, only, body }));
            }
            DescriptorItem::Bitflags(node) => self.bitflags(node, scope),
            DescriptorItem::Timer(node) => {
                if node.action == TimerAction::End {
                    let printed = PrintedItem {
                        form: PrintForm::Duration,
                        shown: "endtimer".into(),
                        ..self.code(Code::HookBytes, node.span, scope)
                    };
                    self.nodes.push(ExpandedItem::PrintedItem(printed));
                }
            }
        }
    }

    /// Expands items into a list of their own.
    fn expand_separately(&mut self, expand: impl FnOnce(&mut Self)) -> Vec<ExpandedItem> {
        let outer = std::mem::take(&mut self.nodes);
        expand(self);
        std::mem::replace(&mut self.nodes, outer)
    }

    fn text(&mut self, text: &Text<'ast>) {
        self.nodes.push(ExpandedItem::Text(text.bytes.to_vec()));
        if text.kind == (TextKind::Word { soft: true }) {
            self.nodes.push(ExpandedItem::SoftBlank);
        }
    }

    fn backquoted(&mut self, text: &Backquoted<'ast>, scope: &BodyScope<'ast>) {
        for part in text.parts {
            match part {
                BackquotedPart::Text(text) => self.nodes.push(ExpandedItem::Text(text.node.to_vec())),
                BackquotedPart::Code(code) => {
                    let printed = self.code(code.node, code.span, scope);
                    self.nodes.push(ExpandedItem::PrintedItem(printed));
                }
                BackquotedPart::Move(_) => {}
                BackquotedPart::Macro(node) => self.print_macro(node, scope),
            }
        }
    }

    fn case(&mut self, case: &SwitchCase<'ast>, scope: &BodyScope<'ast>) -> CaseNode {
        // Only needed for switches on one bit, whose numbers are binary.
        let is_one = match case.value {
            MatchValue::Word(word) => literal::number(word.node, literal::NumberBase::Binary) == Some(1),
            MatchValue::Any(_) | MatchValue::Quoted(_) => false,
        };
        let body = self.expand_separately(|inside| match &case.body {
            Body::Text(text) => inside.text(text),
            Body::Backquoted(text) => inside.backquoted(text, scope),
            Body::Group(group) => inside.items(group.items, scope),
        });
        CaseNode { is_one, body }
    }

    fn print_macro(&mut self, node: &MacroRef<'ast>, scope: &BodyScope<'ast>) {
        match node.name {
            b"STOP" | b"SKIP" => return,
            b"BREAK" => return self.nodes.push(ExpandedItem::Break),
            b"DEFAULT" => return self.subroutine(0x0080, node.span),
            _ => {}
        }
        let is_param = scope.params.contains(&node.name);
        match self.reference.subroutine(node.name) {
            Some(id) if !is_param => self.subroutine(id, node.span),
            _ => match self.macro_item(node, node.span, scope) {
                Some(printed) => self.nodes.push(ExpandedItem::PrintedItem(printed)),
                None => self.nodes.push(ExpandedItem::Value),
            },
        }
    }

    fn subroutine(&mut self, id: u16, call: Span) {
        let Some(stanza) = self.reference.stanzas.get(&id).copied() else { return };
        if let Some(label) = stanza.label
            && !label.hidden
            && !label.text.bytes.is_empty()
        {
            self.nodes.push(ExpandedItem::Text(label.text.bytes.to_vec()));
            self.nodes.push(ExpandedItem::SoftBlank);
        }
        self.calls.push(call.start);
        self.body(&stanza);
        self.calls.pop();
    }

    fn call(&mut self, node: &Call<'ast>) {
        let Some(function) = self.reference.functions.get(node.name.node).copied() else { return };
        let file = self.reference.file_of_function(node.name.node);
        let params = function.params.iter().map(|name| name.node).collect();
        self.calls.push(node.span.start);
        self.items(function.body, &BodyScope { file, slots: None, params });
        self.calls.pop();
    }

    // Printed values

    fn path(&self, span: Span) -> Vec<u32> {
        self.calls.iter().copied().chain([span.start]).collect()
    }

    fn place(&self, span: Span, scope: &BodyScope<'ast>) -> ItemPlace {
        ItemPlace { file: scope.file, offset: span.start }
    }

    fn code(&self, code: Code, span: Span, scope: &BodyScope<'ast>) -> PrintedItem {
        PrintedItem {
            path: self.path(span),
            place: self.place(span, scope),
            form: PrintForm::Code(code),
            uncast: false,
            id: None,
            macro_name: None,
            shown: form::shown(code),
            flags: None,
        }
    }

    /// Printed value of a macro with a number; `None` if it is not a field.
    fn macro_item(&self, node: &MacroRef<'ast>, span: Span, scope: &BodyScope<'ast>) -> Option<PrintedItem> {
        let cast = node.cast.map(|cast| cast.node);
        let is_text = matches!(cast, Some(Cast::Code(Code::Counted(_))));
        if TEXTS.contains(&node.name) || FACTS.contains(&node.name) && !is_text {
            return None;
        }
        let name = String::from_utf8_lossy(node.name);
        let (form, shown) = match cast {
            Some(Cast::Code(code)) => (PrintForm::Code(code), format!("${name}%{}", form::shown(code))),
            Some(Cast::Bits { low, high }) => (PrintForm::Bits { low, high }, format!("${name}%W{low}.{high}")),
            Some(Cast::Unknown(_)) => (PrintForm::Uncast, format!("${name}%X2")),
            None => (data_macro(node.name).unwrap_or(PrintForm::Uncast), format!("${name}")),
        };
        Some(PrintedItem {
            form,
            uncast: cast.is_none(),
            id: Some(self.id(node.name, scope)),
            macro_name: (!is_text).then(|| node.name.to_vec()),
            shown,
            ..self.code(Code::HookBytes, span, scope)
        })
    }

    fn selector(&self, selector: &Selector<'ast>, span: Span, scope: &BodyScope<'ast>) -> Option<PrintedItem> {
        match selector {
            Selector::Code(code) => Some(self.code(code.node, span, scope)),
            Selector::Macro(node) => self.macro_item(node, span, scope),
        }
    }

    fn bitflags(&mut self, node: &Bitflags<'ast>, scope: &BodyScope<'ast>) {
        let texts = node.entries.iter().map(|entry| match entry {
            FlagEntry::Flag { yes: text, .. } | FlagEntry::Field { text, .. } => text.bytes.to_vec(),
        });
        let flags = Some(texts.collect());
        match self.selector(&node.selector, node.span, scope) {
            Some(printed) => {
                self.nodes.push(ExpandedItem::PrintedItem(PrintedItem { flags, shown: "BITFLAGS".into(), ..printed }));
            }
            None => self.nodes.push(ExpandedItem::Value),
        }
    }

    fn id(&self, name: &[u8], scope: &BodyScope<'ast>) -> MacroId {
        if data_macro(name).is_some() || predefined_form(name).is_some() {
            return MacroId::Predefined(name.to_vec());
        }
        let slot = scope.slots.as_ref().and_then(|names| names.iter().position(|known| *known == name));
        slot.map_or_else(|| MacroId::Local(self.calls.clone(), name.to_vec()), MacroId::Slot)
    }
}
