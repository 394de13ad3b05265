//! Actions of the grammar: they build nodes and check rules that the grammar cannot express.
//!
//! A failed check reports an error and returns a placeholder, so that the rest of the stanza is still parsed. The
//! stanza is then left out of the tree.

use std::cell::{Cell, RefCell};

use bumpalo::collections::Vec;

use super::ast::*;
use super::lines::{PhysicalLine, join_len};
use super::text::QuotedText;
use super::word;
use crate::excerpt::excerpt;
use crate::reports::Reports;
use crate::{Arena, Edit, Fix, Span, Spanned, codes};

/// State shared by the actions of one stanza.
pub(crate) struct Actions<'ast, 's> {
    pub(super) arena: &'ast Arena,
    pub(super) reports: &'s Reports<'s>,
    stacks: &'s NodeStacks<'ast>,
    pub(super) line: Span,
    /// True if codes in backquotes expand anywhere in a word, unless a letter, digit or `_` touches them.
    pub(super) codes_anywhere: bool,
    /// Cache of the last physical line searched for a remark.
    pub(super) searched: Cell<PhysicalLine>,
    /// Outermost functions defined so far in the stanza.
    functions: RefCell<std::vec::Vec<Span>>,
}

/// Stacks for the nodes of unfinished sequences. A nested sequence grows on top of the outer one; a finished sequence
/// moves into the arena.
#[derive(Default)]
pub(crate) struct NodeStacks<'ast> {
    items: RefCell<std::vec::Vec<DescriptorItem<'ast>>>,
    cases: RefCell<std::vec::Vec<SwitchCase<'ast>>>,
    entries: RefCell<std::vec::Vec<FlagEntry<'ast>>>,
}

impl NodeStacks<'_> {
    /// Drops the nodes left over from a stanza with an error.
    pub fn clear(&self) {
        self.items.borrow_mut().clear();
        self.cases.borrow_mut().clear();
        self.entries.borrow_mut().clear();
    }
}

/// Start of a sequence on its stack in [`NodeStacks`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct SequenceStart(usize);

/// Head of a stanza.
pub(crate) struct StanzaHead {
    pub id: Spanned<HookId>,
    pub version: Spanned<(u32, u32)>,
    pub level: Option<Spanned<Level>>,
}

/// BITFLAGS whose entries are not complete yet.
pub(crate) struct FlagList<'ast> {
    start: u32,
    end: u32,
    selector: Selector<'ast>,
    entries: SequenceStart,
}

impl<'ast, 's> Actions<'ast, 's> {
    /// Actions for the stanza at `line`.
    pub fn new(arena: &'ast Arena, reports: &'s Reports<'s>, stacks: &'s NodeStacks<'ast>, line: Span) -> Self {
        stacks.clear();
        Self {
            arena,
            reports,
            stacks,
            line,
            codes_anywhere: false,
            searched: Cell::default(),
            functions: RefCell::default(),
        }
    }

    fn bytes(&self, span: Span) -> &'s [u8] {
        self.reports.source.slice(span)
    }

    /// Copies the bytes at `span` into the arena.
    fn copy(&self, span: Span) -> &'ast [u8] {
        self.arena.slice(self.bytes(span))
    }

    pub fn stanza(&self, head: StanzaHead, items: Descriptor<'ast>) -> Stanza<'ast> {
        let StanzaHead { id, version, level } = head;
        let (label, body) = match items {
            // The grammar cannot distinguish a label from a first text: both are strings or words.
            [DescriptorItem::Text(text), body @ ..] => (Some(label(*text)), body),
            body => (None, body),
        };
        Stanza { span: self.line, id, version, level, label, body, fields: &[] }
    }

    /// Empty list that grows in the arena.
    pub fn list<T>(&self) -> Vec<'ast, T> {
        self.arena.list()
    }

    pub fn no_items(&self) -> SequenceStart {
        SequenceStart(self.stacks.items.borrow().len())
    }

    pub fn then(&self, items: SequenceStart, item: DescriptorItem<'ast>) -> SequenceStart {
        self.stacks.items.borrow_mut().push(item);
        items
    }

    pub fn descriptor(&self, items: SequenceStart) -> Descriptor<'ast> {
        self.take_from(&self.stacks.items, items)
    }

    pub fn first_case(&self, case: SwitchCase<'ast>) -> SequenceStart {
        let begun = SequenceStart(self.stacks.cases.borrow().len());
        self.next_case(begun, case)
    }

    pub fn next_case(&self, cases: SequenceStart, case: SwitchCase<'ast>) -> SequenceStart {
        self.stacks.cases.borrow_mut().push(case);
        cases
    }

    /// Moves a finished sequence into the arena.
    fn take_from<T: Copy>(&self, stacks: &RefCell<std::vec::Vec<T>>, SequenceStart(start): SequenceStart) -> &'ast [T] {
        let mut stacks = stacks.borrow_mut();
        let nodes = self.arena.slice(stacks.get(start..).unwrap_or_default());
        stacks.truncate(start);
        nodes
    }

    pub fn selected(&self, selector: Selector<'ast>) -> DescriptorItem<'ast> {
        match selector {
            Selector::Code(code) => DescriptorItem::Code(code),
            Selector::Macro(node) => DescriptorItem::Macro(node),
        }
    }

    pub fn switch(
        &self,
        selector: Selector<'ast>,
        mask: Option<RawValue<'ast>>,
        cases: SequenceStart,
    ) -> DescriptorItem<'ast> {
        let cases = self.take_from(&self.stacks.cases, cases);
        let last = cases.last().map_or(selector.span(), |case| body_span(&case.body));
        let span = selector.span().to(last);
        DescriptorItem::Switch(self.arena.alloc(Switch { selector, mask, cases, span }))
    }

    pub fn mask(&self, mark: Span, value: RawValue<'ast>) -> RawValue<'ast> {
        // The grammar accepts any word here, so that the message can name it.
        if !is_number(value.node) {
            let message = format!("expected a mask after `&`, found `{}`", excerpt(value.node));
            let error = self.reports.error(&codes::STRAY_AMPERSAND, mark, message);
            self.reports.add(error.with_help("write a number before the comma of the switch, such as `HT & 0x07,`"));
        }
        value
    }

    /// Warns about a comma after the last case of a switch.
    pub fn trailing_comma(&self, comma: Span) {
        self.needless_comma(comma, Edit::delete(comma));
    }

    /// Warns about a comma after the last entry of BITFLAGS.
    pub fn trailing_flag_comma(&self, comma: Span) {
        let rest = self.bytes(Span::new(comma.end, self.line.end));
        let has_false = !matches!(self.stacks.entries.borrow().last(), Some(FlagEntry::Flag { no: None, .. }));
        // Without the comma, a following string would become the text for "false".
        let edit = match next_byte(rest) {
            Some(b'"') if !has_false => Edit::replace(comma, " \"\""),
            _ => Edit::delete(comma),
        };
        self.needless_comma(comma, edit);
    }

    fn needless_comma(&self, comma: Span, edit: Edit) {
        let warning = self.reports.warning(&codes::TRAILING_COMMA, comma, "comma after the last entry");
        let warning = warning.with_help("delete it: a comma announces another entry");
        self.reports.add(warning.with_fix(Fix::safe("delete the comma", [edit])));
    }

    /// Reports a code or macro as the body of a case.
    pub fn bare_body(&self, span: Span) -> Body<'ast> {
        let text = excerpt(self.bytes(span));
        let message = format!("`{text}` needs braces as the body of a case");
        let error = self.reports.error(&codes::CASE_BODY, span, message);
        let error = error.with_help(format!("write `{{ {text} }}`, or `\"{text}\"` to print these letters"));
        let braces = [Edit::insert(span.start, "{ "), Edit::insert(span.end, " }")];
        self.reports.add(error.with_fix(Fix::guess("put it in braces", braces)));
        Body::Group(Group { items: &[], span })
    }

    pub fn repeat(&self, start: u32, count: Selector<'ast>, body: Group<'ast>) -> DescriptorItem<'ast> {
        DescriptorItem::Loop(self.arena.alloc(Loop { count, body, span: Span::new(start, body.span.end) }))
    }

    pub fn flags(&self, start: u32, selector: Selector<'ast>) -> FlagList<'ast> {
        FlagList { start, end: start, selector, entries: SequenceStart(self.stacks.entries.borrow().len()) }
    }

    pub fn flag(&self, mut flags: FlagList<'ast>, flag: RawValue<'ast>, yes: Text<'ast>) -> FlagList<'ast> {
        flags.end = yes.span.end;
        self.stacks.entries.borrow_mut().push(FlagEntry::Flag { flag, yes, no: None });
        flags
    }

    pub fn flag_without_comma(&self, flags: FlagList<'ast>, flag: Span, yes: Text<'ast>) -> FlagList<'ast> {
        self.missing_comma(flags.end, flag);
        self.flag(flags, self.value(flag), yes)
    }

    pub fn flag_false(&self, mut flags: FlagList<'ast>, text: Text<'ast>) -> FlagList<'ast> {
        if let Some(FlagEntry::Flag { no, .. }) = self.stacks.entries.borrow_mut().last_mut() {
            *no = Some(text);
        }
        flags.end = text.span.end;
        flags
    }

    pub fn field(
        &self,
        mut flags: FlagList<'ast>,
        mask: RawValue<'ast>,
        field: RawValue<'ast>,
        text: Text<'ast>,
    ) -> FlagList<'ast> {
        flags.end = text.span.end;
        self.stacks.entries.borrow_mut().push(FlagEntry::Field { mask, field, text });
        flags
    }

    pub fn field_without_comma(
        &self,
        flags: FlagList<'ast>,
        mark: Span,
        mask: RawValue<'ast>,
        field: RawValue<'ast>,
        text: Text<'ast>,
    ) -> FlagList<'ast> {
        self.missing_comma(flags.end, mark);
        self.field(flags, mask, field, text)
    }

    /// Warns about a missing comma between an entry that ends at `end` and the one at `next`.
    fn missing_comma(&self, end: u32, next: Span) {
        let warning = self.reports.warning(&codes::MISSING_COMMA, next, "no comma before this entry of BITFLAGS");
        let fix = Fix::safe("add the comma", [Edit::insert(end, ",")]);
        self.reports.add(warning.with_help("separate entries by commas").with_fix(fix));
    }

    pub fn bitflags(&self, flags: FlagList<'ast>) -> DescriptorItem<'ast> {
        let FlagList { start, end, selector, entries } = flags;
        let entries = self.take_from(&self.stacks.entries, entries);
        DescriptorItem::Bitflags(self.arena.alloc(Bitflags { selector, entries, span: Span::new(start, end) }))
    }

    pub fn word(&self, span: Span) -> Text<'ast> {
        let soft = !self.is_before_item(span);
        self.lint_word(span, soft);
        Text { bytes: self.copy(span), span, kind: TextKind::Word { soft } }
    }

    /// True if an item is directly adjacent to the end of the word.
    fn is_before_item(&self, word: Span) -> bool {
        let next = self.bytes(Span::new(word.end, word.end.saturating_add(2).min(self.line.end)));
        matches!(next, [b'$' | b'"' | b'`' | b'{', ..] | [b'\\', b'n' | b't'])
    }

    pub fn quoted(&self, span: Span) -> Text<'ast> {
        let inner = Span::new(span.start + 1, span.end - 1);
        self.lint_escapes(inner, b"nt");
        let text = QuotedText::new(self.bytes(inner), inner.start);
        Text { bytes: self.arena.slice(text.bytes()), span, kind: TextKind::Quoted }
    }

    pub fn value(&self, span: Span) -> RawValue<'ast> {
        Spanned::new(self.copy(span), span)
    }

    pub fn illegal_code(&self, span: Span) -> Spanned<Code> {
        let word = self.bytes(span);
        let message = format!("`{}` is not a format code: its size is invalid", excerpt(word));
        let error = self.reports.error(&codes::CODE_SIZE, span, message).with_label("invalid size");
        let sizes = word::legal_sizes(word.first().copied().unwrap_or(b' '));
        self.reports.add(error.with_help(format!("{sizes}; put the word in quotes to print it")));
        Spanned::new(Code::HexByte, span)
    }

    pub fn macro_ref(&self, span: Span) -> &'ast MacroRef<'ast> {
        self.macro_in(&QuotedText::Whole { bytes: self.bytes(span), start: span.start }, 0..span.len() as usize)
    }

    /// Parses the macro at `range` of a text.
    pub(super) fn macro_in(&self, text: &QuotedText, range: std::ops::Range<usize>) -> &'ast MacroRef<'ast> {
        let bytes = &text.bytes()[range.clone()];
        let percent = bytes.iter().position(|b| *b == b'%');
        let name = &bytes[1..percent.unwrap_or(bytes.len())];
        let cast = percent.map(|percent| {
            let span = text.span(range.start + percent + 1..range.end);
            Spanned::new(self.cast(&bytes[percent + 1..], span), span)
        });
        self.arena.alloc(MacroRef { name: self.arena.slice(name), cast, span: text.span(range) })
    }

    pub fn assign(&self, span: Span, name: Span, value: Expr<'ast>) -> DescriptorItem<'ast> {
        let (name, value) = (self.assigned_name(name), self.arena.alloc(value));
        DescriptorItem::Assign(self.arena.alloc(Assign { name, value, span }))
    }

    /// Name of a macro that is assigned or declared; a cast on it is an error.
    pub fn assigned_name(&self, span: Span) -> Name<'ast> {
        let node = self.macro_ref(span);
        if let Some(cast) = node.cast {
            let message = format!("`${}` is assigned or declared with a cast", excerpt(node.name));
            let span = Span::new(cast.span.start - 1, cast.span.end);
            let error = self.reports.error(&codes::CAST, span, message);
            let error = error.with_help("delete the cast here, and cast the value where it is used");
            self.reports.add(error.with_fix(Fix::guess("delete the cast", [Edit::delete(span)])));
        }
        Spanned::new(node.name, span)
    }

    pub fn function(
        &self,
        span: Span,
        name: Span,
        params: Vec<'ast, Name<'ast>>,
        body: Descriptor<'ast>,
    ) -> DescriptorItem<'ast> {
        let mut functions = self.functions.borrow_mut();
        while let Some(inner) = functions.pop_if(|inner| inner.start > span.start) {
            let error =
                self.reports.error(&codes::NESTED_FUNCTION, inner, "function is defined inside another function");
            let error = error.with_secondary(self.reports.id(), name, "inside this one");
            self.reports.add(error.with_help("move it out: functions are visible in every stanza"));
        }
        functions.push(name);
        let (name, params) = (self.value(name), params.into_bump_slice());
        DescriptorItem::Function(self.arena.alloc(Function { name, params, body, span }))
    }

    pub fn param(&self, span: Span) -> Name<'ast> {
        if self.bytes(span).contains(&b'.') {
            let message = format!("`{}` is not a parameter name", excerpt(self.bytes(span)));
            let error = self.reports.error(&codes::PARAMETER, span, message);
            self.reports.add(error.with_help("use only letters, digits and `_`"));
        }
        self.value(span)
    }

    pub fn timer(
        &self,
        span: Span,
        action: TimerAction,
        first: Expr<'ast>,
        second: Expr<'ast>,
    ) -> DescriptorItem<'ast> {
        let (first, second) = (self.arena.alloc(first), self.arena.alloc(second));
        DescriptorItem::Timer(self.arena.alloc(Timer { action, first, second, span }))
    }

    pub fn call(&self, span: Span, name: Span, arguments: Vec<'ast, Expr<'ast>>) -> DescriptorItem<'ast> {
        let (name, arguments) = (self.value(name), arguments.into_bump_slice());
        DescriptorItem::Call(self.arena.alloc(Call { name, arguments, span }))
    }

    /// Checks an argument: it must be a code, macro or number without parentheses.
    pub fn argument(&self, argument: Spanned<Expr<'ast>>) -> Expr<'ast> {
        let is_simple = !matches!(argument.node, Expr::Binary { .. }) && argument.node.span() == argument.span;
        if !is_simple {
            let message = "argument is neither a format code nor a macro nor a number";
            let error = self.reports.error(&codes::ARGUMENT, argument.span, message).with_label("an expression");
            self.reports.add(error.with_help("assign it first, such as `{{ $x = $D1 + 1 }}`, and pass `$x`"));
        }
        argument.node
    }

    pub fn binary(&self, op: Spanned<BinaryOp>, left: Expr<'ast>, right: Expr<'ast>) -> Expr<'ast> {
        Expr::Binary { op, left: self.arena.alloc(left), right: self.arena.alloc(right) }
    }

    pub fn position_in_expr(&self, span: Span) -> Expr<'ast> {
        let message = format!("`{}` moves the data pointer and has no value", excerpt(self.bytes(span)));
        let error = self.reports.error(&codes::POSITION_VALUE, span, message);
        self.reports.add(error.with_help("move it before the expression, as an item of its own"));
        Expr::Const(Spanned::new(0, span))
    }

    pub fn large_constant(&self, span: Span) -> Expr<'ast> {
        let error = self.reports.error(&codes::CONSTANT, span, "constant does not fit in 64 bits");
        self.reports.add(error.with_help("use at most 0xFFFFFFFFFFFFFFFF"));
        Expr::Const(Spanned::new(0, span))
    }

    pub fn bad_constant(&self, span: Span) -> Expr<'ast> {
        let message = format!("`{}` is not a constant", excerpt(self.bytes(span)));
        let error = self.reports.error(&codes::CONSTANT, span, message);
        self.reports.add(error.with_help("write decimal digits, `0x` and hexadecimal digits, or `o` and octal digits"));
        Expr::Const(Spanned::new(0, span))
    }
}

fn label(text: Text<'_>) -> Label<'_> {
    let kind = match text.kind {
        TextKind::Quoted => TextKind::Quoted,
        TextKind::Word { .. } => TextKind::Word { soft: true },
    };
    Label { text: Text { kind, ..text }, hidden: text.bytes.starts_with(b"@") }
}

/// The next byte that is neither blank nor part of a continuation.
fn next_byte(mut text: &[u8]) -> Option<u8> {
    loop {
        match text.first()? {
            b' ' | b'\t' => text = &text[1..],
            byte => match join_len(text) {
                Some(len) => text = &text[len..],
                None => return Some(*byte),
            },
        }
    }
}

fn body_span(body: &Body) -> Span {
    match body {
        Body::Text(text) => text.span,
        Body::Backquoted(text) => text.span,
        Body::Group(group) => group.span,
    }
}

/// True if the word is a number in any base, with an optional sign.
fn is_number(word: &[u8]) -> bool {
    let word = word.strip_prefix(b"-").unwrap_or(word);
    let digits = match word {
        [b'0', b'x' | b'X', digits @ ..] | [b'o', digits @ ..] => digits,
        digits => digits,
    };
    !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit)
}
