//! Lint for template subroutines that read past the end of short events.
//!
//! A stanza knows its own event, but a subroutine is called for several. An event with five data words has 24 bytes for
//! a 32-bit hook and 48 for a 64-bit hook; only generic events are longer. A subroutine that goes to a fixed place past
//! byte 24 reads nothing in the shorter event, so it should check the size first.

use crate::codes::PAST_SMALLEST;
use crate::ir::ShowId;
use crate::names::{NameTable, Unit, for_each_item};
use foldhash::{HashSet, HashSetExt};
use tfbc_grammar::trcfmt::ast::*;
use tfbc_grammar::{Diagnostic, Span};

/// Bytes of a 32-bit hook's event with five data words, including the hook word.
const SMALLEST: u64 = 24;

/// Macros that reveal the size of the event.
const SIZES: &[&[u8]] = &[b"GENERIC", b"HOOKENV", b"TRACEENV", b"WORDSIZE", b"HL"];

/// Warns about template subroutines that move the data pointer past the end of the shortest event.
pub(crate) fn check(units: &[Unit<'_>], names: &NameTable<'_>) -> Vec<Diagnostic> {
    let careful = ids_after_size_checks(units, names);
    let mut found = Vec::new();
    for unit in units.iter().filter(|unit| !unit.builtin) {
        for stanza in unit.file.stanzas {
            let id = stanza.id.node.0;
            if !names.inserted.contains(&id) || careful.contains(&id) || checks_size(stanza.body) {
                continue;
            }
            if let Some((span, end)) = PointerPosition::default().first_past_end(stanza.body) {
                let text = format!("template subroutine ${} goes to byte {end} of the event", ShowId(id));
                let text = format!("{text}, but an event of five 32-bit words has {SMALLEST}");
                let warning = Diagnostic::warning(&PAST_SMALLEST, unit.id, span, text);
                found.push(warning.with_help(
                    "check `$GENERIC`, `$HOOKENV` or `$HL` first, or move relative to the caller's position",
                ));
            }
        }
    }
    found
}

/// Ids inserted by stanzas that check the event's size: their callers presumably call them only for long events.
fn ids_after_size_checks(units: &[Unit<'_>], names: &NameTable<'_>) -> HashSet<u16> {
    let mut ids = HashSet::new();
    for stanza in units.iter().flat_map(|unit| unit.file.stanzas) {
        if checks_size(stanza.body) {
            for_each_item(stanza.body, &mut |item| names.insertions(item, &mut ids));
        }
    }
    ids
}

fn checks_size(items: Descriptor<'_>) -> bool {
    let mut found = false;
    let is_size = |name: &[u8]| SIZES.contains(&name);
    for_each_item(items, &mut |item| {
        found |= match item {
            DescriptorItem::Macro(node) => is_size(node.name),
            DescriptorItem::Code(code) => matches!(code.node, Code::HookBytes | Code::HookType),
            DescriptorItem::Assign(assign) => reads_size(assign.value, &is_size),
            DescriptorItem::Switch(Switch { selector, .. }) | DescriptorItem::Loop(Loop { count: selector, .. }) => {
                match selector {
                    Selector::Macro(node) => is_size(node.name),
                    Selector::Code(code) => matches!(code.node, Code::HookBytes | Code::HookType),
                }
            }
            _ => false,
        };
    });
    found
}

fn reads_size(expr: &Expr<'_>, is_size: &impl Fn(&[u8]) -> bool) -> bool {
    match expr {
        Expr::Const(_) => false,
        Expr::Code(code) => matches!(code.node, Code::HookBytes | Code::HookType),
        Expr::Macro(node) => is_size(node.name),
        Expr::Binary { left, right, .. } => reads_size(left, is_size) || reads_size(right, is_size),
    }
}

/// Position of the data pointer in a descriptor, known after a `G` or `W`.
#[derive(Default, Clone, Copy)]
struct PointerPosition {
    at: Option<u64>,
}

impl PointerPosition {
    /// First item that goes past the shortest event, and the byte it goes to.
    fn first_past_end(&mut self, items: Descriptor<'_>) -> Option<(Span, u64)> {
        items.iter().find_map(|item| match item {
            DescriptorItem::Move(step) => self.step(step),
            DescriptorItem::Code(code) => self.read(code.node, code.span),
            DescriptorItem::Assign(assign) => {
                let found = self.expr(assign.value);
                if matches!(assign.name.node, b"DATAPOINTER" | b"BASEPOINTER") {
                    // The position of a computed pointer is not known, so reads after it cannot be checked.
                    self.at = None;
                }
                found
            }
            DescriptorItem::Switch(switch) => self.switch(switch),
            DescriptorItem::Loop(node) => {
                let found = self.selector(&node.count).or_else(|| self.first_past_end(node.body.items));
                self.at = None;
                found
            }
            DescriptorItem::Bitflags(node) => self.selector(&node.selector),
            DescriptorItem::Call(_) | DescriptorItem::Backquoted(_) => {
                self.at = None;
                None
            }
            DescriptorItem::Macro(node) => {
                // A hex name may be a subroutine, which may move the pointer.
                let may_move = node.name == b"DEFAULT" || node.name.iter().all(u8::is_ascii_hexdigit);
                self.at = self.at.filter(|_| !may_move);
                None
            }
            _ => None,
        })
    }

    fn switch(&mut self, switch: &Switch<'_>) -> Option<(Span, u64)> {
        let found = self.selector(&switch.selector);
        let before = *self;
        let in_case = |case: &SwitchCase<'_>| match &case.body {
            Body::Group(group) => before.clone().first_past_end(group.items),
            _ => None,
        };
        let found = found.or_else(|| switch.cases.iter().find_map(in_case));
        let moves = |case: &SwitchCase<'_>| !matches!(case.body, Body::Text(_));
        // Cases may end at different places.
        if switch.cases.iter().any(moves) {
            self.at = None;
        }
        found
    }

    fn selector(&mut self, selector: &Selector<'_>) -> Option<(Span, u64)> {
        match selector {
            Selector::Code(code) => self.read(code.node, code.span),
            Selector::Macro(_) => None,
        }
    }

    fn expr(&mut self, expr: &Expr<'_>) -> Option<(Span, u64)> {
        match expr {
            Expr::Code(code) => self.read(code.node, code.span),
            Expr::Binary { left, right, .. } => self.expr(left).or_else(|| self.expr(right)),
            _ => None,
        }
    }

    fn step(&mut self, step: &tfbc_grammar::Spanned<Move>) -> Option<(Span, u64)> {
        self.at = match step.node {
            Move::Goto { bytes, bits } => Some(u64::from(bytes) + u64::from(bits) / 8),
            Move::Omit { bytes, bits } => self.at.map(|at| at + u64::from(bytes) + u64::from(bits) / 8),
            Move::Reverse { bytes } => self.at.map(|at| at.saturating_sub(bytes.into())),
            // Words of 4 bytes, because the lint is about the event of a 32-bit hook.
            Move::Word { words } => Some(u64::from(words) * 4),
        };
        // The end of the event itself is a valid position.
        self.at.filter(|at| *at > SMALLEST).map(|at| (step.span, at))
    }

    fn read(&mut self, code: Code, span: Span) -> Option<(Span, u64)> {
        let end = match code {
            // The text may end earlier.
            Code::Ascii { len, .. } => {
                self.at = self.at.map(|at| at + u64::from(len));
                return None;
            }
            Code::Counted(_) => {
                self.at = None;
                return None;
            }
            code => self.at? + len(code),
        };
        self.at = Some(end);
        (end > SMALLEST).then_some((span, end))
    }
}

/// Bytes that a code reads; 0 for a text, which may end earlier.
fn len(code: Code) -> u64 {
    let bytes = |size: Size| match size {
        Size::Bytes(n) => u64::from(n),
        Size::Word => 4,
    };
    match code {
        Code::Hex(size) | Code::Signed(size) | Code::Unsigned(size) | Code::Octal(size) => bytes(size),
        Code::Errno(size) | Code::Time(size) | Code::Path(size) => bytes(size),
        Code::HexByte => 1,
        Code::Float(n) => n.into(),
        Code::Binary { bits } => u64::from(bits) / 8,
        Code::HookBytes | Code::HookType | Code::Ascii { .. } | Code::Counted(_) => 0,
    }
}
