//! Enum texts of a field, resolved at compile time where possible. Each value named by an enum becomes a case of a
//! switch; only masks are left to test on other values.

use super::fields::Texts;
use super::model::{EnumSearch, FormatField, PayloadType, Test};
use crate::ir::{
    Block, FieldInst, Flag, FlagText, Flags, If, Inst, LabelCases, Node, Switch, SwitchSelector, Value, VarSlot,
};
use crate::number::Number;
use std::collections::HashMap;
use tfbc_grammar::Span;
use tfbc_grammar::trcfmt::ast::BinaryOp;

/// Limit on the pairs of a value and a mask that are resolved for one field.
pub(crate) const MAX_PAIRS: usize = 1 << 18;

/// Enum texts of one field.
pub(crate) struct Labels<'f> {
    field: &'f FormatField,
    /// Each value named by an enum, with the enums it matches.
    cases: Vec<(u64, Vec<usize>)>,
    /// Enums that may match values that no enum names.
    others: Vec<DefaultEnum<'f>>,
    default: Option<&'f [u8]>,
}

/// Output parameters of a field with enum texts.
pub(crate) struct LabelOutput<'l> {
    /// Slot of the field's value.
    pub value: VarSlot,
    /// True if the value is printed before the texts. Otherwise it is printed only if there are no texts.
    pub with_value: bool,
    /// Emits the code that prints the value.
    pub shown: &'l dyn Fn() -> Block,
    pub span: Span,
    /// Coverage probe of an enum or default, given its tag.
    pub probe: &'l dyn Fn(Span) -> Option<Node>,
}

/// Enum as it applies to values that no enum names.
struct DefaultEnum<'f> {
    /// Bits that must all be set or, with `not`, must not all be set. 0 always matches.
    mask: u64,
    not: bool,
    text: &'f [u8],
    tag: Span,
}

impl<'f> Labels<'f> {
    /// Resolves the enums of a number; `None` if there are more than [`MAX_PAIRS`] pairs.
    pub fn of(field: &'f FormatField) -> Option<Self> {
        debug_assert!(matches!(field.shape, PayloadType::Number { .. }));
        let default = field.default.as_deref();
        let mut by_value: HashMap<u64, Vec<usize>> = HashMap::new();
        // Enums that can match values besides the one they name.
        let mut loose = Vec::new();
        for (at, label) in field.enums.iter().enumerate() {
            match label.test {
                Test::Value { bits: Some(bits), not } => {
                    let named = by_value.entry(bits).or_default();
                    if not { loose.push(at) } else { named.push(at) }
                }
                _ => loose.push(at),
            }
        }
        // 512 values and 512 masks have as many pairs as this; a hostile file could have billions.
        if by_value.len().saturating_mul(loose.len()) > MAX_PAIRS {
            return None;
        }
        let mut cases: Vec<_> = by_value
            .into_iter()
            .map(|(value, named)| {
                let mut met: Vec<usize> = named;
                met.extend(loose.iter().copied().filter(|at| passes(field.enums[*at].test, value)));
                met.sort_unstable();
                if field.search == EnumSearch::Value {
                    let last = met.iter().position(|at| matches!(field.enums[*at].test, Test::Value { .. }));
                    // The first matching `value` ends the search (`enum-search` in docs/readings.md), also for the
                    // masks after it.
                    met.truncate(last.map_or(met.len(), |last| last + 1));
                }
                (value, met)
            })
            .collect();
        // The map has no order, but the same source must give the same blob.
        cases.sort_unstable_by_key(|(value, _)| *value);
        let mut others = Vec::new();
        for label in loose.iter().map(|at| &field.enums[*at]) {
            let other = |mask, not| DefaultEnum { mask, not, text: &label.text, tag: label.tag };
            match label.test {
                Test::Mask { bits: Some(mask), not } if mask != 0 => others.push(other(mask, not)),
                Test::Mask { bits, not } if bits.is_some() != not => others.push(other(0, false)),
                Test::Value { not: true, .. } => {
                    others.push(other(0, false));
                    if field.search == EnumSearch::Value {
                        break;
                    }
                }
                _ => {}
            }
        }
        Some(Labels { field, cases, others, default })
    }

    /// Code that prints the texts of a field, with its value if needed.
    pub fn block(&self, layout: &LabelOutput<'_>) -> Block {
        let &LabelOutput { value, with_value, shown, span, .. } = layout;
        let others = self.unmatched_output(layout);
        let mut block = if with_value { shown() } else { Block::new() };
        if self.cases.is_empty() {
            block.extend(others);
            return block;
        }
        let mut bodies: Vec<Block> = self.cases.iter().map(|(_, met)| self.matched_output(met, layout)).collect();
        bodies.push(others);
        block.push(Node { inst: Inst::Switch(self.switch(value, bodies).into()), span });
        block
    }

    /// Code that stores the words of a field.
    pub fn stored(&self, value: VarSlot, cell: u16, texts: &Texts, span: Span) -> Block {
        if !texts.is_list {
            return self.stored_label(value, cell, texts, span);
        }
        let words = |words: &[&[u8]]| stored_words(words, value, cell, span);
        let or_default = |met: &[&[u8]]| words(if met.is_empty() { self.default.as_slice() } else { met });
        let loose: Vec<&[u8]> = self.others.iter().map(|other| other.text).collect();
        let others = if self.others.iter().all(|other| other.mask == 0) {
            or_default(&loose)
        } else {
            let entries: Vec<Flag> = self.others.iter().map(|other| other.flag(false)).collect();
            let flags = Flags { value: Value::Slot(value), entries };
            let list = |flags| vec![Node { inst: Inst::Field(Box::new(FieldInst::Flags { cell, flags })), span }];
            let on = Value::AnyFlag(Box::new(flags.clone()));
            let otherwise = or_default(&[]);
            let branch = If { on, then: list(flags), otherwise };
            vec![Node { inst: Inst::If(branch.into()), span }]
        };
        if self.cases.is_empty() {
            return others;
        }
        let texts_of = |met: &[usize]| met.iter().map(|at| &self.field.enums[*at].text[..]).collect::<Vec<_>>();
        let mut bodies: Vec<Block> = self.cases.iter().map(|(_, met)| or_default(&texts_of(met))).collect();
        bodies.push(others);
        vec![Node { inst: Inst::Switch(self.switch(value, bodies).into()), span }]
    }

    /// Code that stores the label of a field whose enums have no masks, so that a value has at most one label.
    fn stored_label(&self, value: VarSlot, cell: u16, texts: &Texts, span: Span) -> Block {
        let label = |first: Option<&[u8]>| first.or(self.default).map(|word| texts.number(word));
        let of_case = |met: &[usize]| label(met.first().map(|at| &self.field.enums[*at].text[..]));
        let mut labels: Vec<_> = self.cases.iter().map(|(_, met)| of_case(met)).collect();
        labels.push(label(self.others.first().map(|other| other.text)));
        let (value, default) = (Value::Slot(value), Some(labels.len() - 1));
        let cases = LabelCases { cell, weak: false, value, width: Some(64), keys: self.keys(), labels, default };
        vec![Node { inst: Inst::Field(Box::new(FieldInst::Cases(cases))), span }]
    }

    /// Switch on the values that enums name; the last body is for all others.
    fn switch(&self, value: VarSlot, bodies: Vec<Block>) -> Switch {
        let on = SwitchSelector::Number { value: Value::Slot(value), width: Some(64), keys: self.keys() };
        // Values that no enum names are the default of the switch; only there masks are tested at run time.
        let default = Some(bodies.len() - 1);
        Switch { on, bodies, default }
    }

    /// Values that enums name, with their cases.
    fn keys(&self) -> Vec<(Number, usize)> {
        let number = |value: &u64| Number { negative: false, magnitude: *value };
        self.cases.iter().enumerate().map(|(body, (value, _))| (number(value), body)).collect()
    }

    /// Code for a value that matches these enums.
    fn matched_output(&self, met: &[usize], layout: &LabelOutput<'_>) -> Block {
        let enums = met.iter().map(|at| &self.field.enums[*at]);
        let (tags, texts): (Vec<_>, Vec<_>) = enums.map(|met| (met.tag, &met.text[..])).unzip();
        self.or_default(&tags, &texts, layout)
    }

    /// Code for the texts of enums, or for the default if there are none.
    fn or_default(&self, tags: &[Span], texts: &[&[u8]], layout: &LabelOutput<'_>) -> Block {
        let by_default = texts.is_empty() && self.default.is_some();
        let default_tag = [self.field.default_tag];
        let tags = if by_default { &default_tag[..] } else { tags };
        let mut block: Block = tags.iter().filter_map(|tag| (layout.probe)(*tag)).collect();
        block.extend(layout.texts(if by_default { self.default.as_slice() } else { texts }));
        block
    }

    fn unmatched_output(&self, layout: &LabelOutput<'_>) -> Block {
        let node = |inst| Node { inst, span: layout.span };
        // All remaining enums always match, so the text is known at compile time.
        if self.others.iter().all(|other| other.mask == 0) {
            let (tags, met): (Vec<_>, Vec<_>) = self.others.iter().map(|other| (other.tag, other.text)).unzip();
            return self.or_default(&tags, &met, layout);
        }
        let mut block: Block = self.others.iter().filter_map(|other| other.probe(layout)).collect();
        let entries: Vec<Flag> = self.others.iter().map(|other| other.flag(layout.with_value)).collect();
        let flags = Box::new(Flags { value: Value::Slot(layout.value), entries });
        let any = Value::AnyFlag(flags.clone());
        let list = if layout.with_value { Inst::Flags(flags) } else { Inst::FlagList(flags) };
        let otherwise = self.or_default(&[], &[], layout);
        if self.others.iter().any(|other| other.mask == 0) || otherwise.is_empty() {
            block.push(node(list));
        } else {
            block.push(node(Inst::If(If { on: any, then: vec![node(list)], otherwise }.into())));
        }
        block
    }
}

/// Code that stores a list of words.
fn stored_words(words: &[&[u8]], value: VarSlot, cell: u16, span: Span) -> Block {
    // A mask of 0 always matches.
    let always = |text: &&[u8]| Flag {
        mask: 0,
        field: 0,
        yes: FlagText { text: text.to_vec(), soft: false },
        no: FlagText::default(),
    };
    let flags = Flags { value: Value::Slot(value), entries: words.iter().map(always).collect() };
    vec![Node { inst: Inst::Field(Box::new(FieldInst::Flags { cell, flags })), span }]
}

impl LabelOutput<'_> {
    fn texts(&self, texts: &[&[u8]]) -> Block {
        let node = |inst| Node { inst, span: self.span };
        match (texts, self.with_value) {
            ([], true) => Block::new(),
            ([], false) => (self.shown)(),
            (texts, true) => vec![node(Inst::Text([&b" "[..], &texts.join(&b" "[..])].concat()))],
            (texts, false) => vec![node(Inst::Text(texts.join(&b" "[..])))],
        }
    }
}

impl DefaultEnum<'_> {
    /// Emits the coverage probe of the enum, guarded by its test.
    fn probe(&self, layout: &LabelOutput<'_>) -> Option<Node> {
        let probe = (layout.probe)(self.tag)?;
        let masked =
            Value::Binary(BinaryOp::And, Box::new(Value::Slot(layout.value)), Box::new(Value::Const(self.mask)));
        // With a mask of 0 the comparison is always true.
        let on = Value::Compare { equal: !self.not, left: Box::new(masked), right: Box::new(Value::Const(self.mask)) };
        Some(Node { inst: Inst::If(If { on, then: vec![probe], otherwise: Block::new() }.into()), span: layout.span })
    }

    fn flag(&self, after_blank: bool) -> Flag {
        let blank = if after_blank { &b" "[..] } else { b"" };
        let text = FlagText { text: [blank, self.text].concat(), soft: false };
        let (yes, no) = if self.not { (FlagText::default(), text) } else { (text, FlagText::default()) };
        Flag { mask: self.mask, field: self.mask, yes, no }
    }
}

/// True if the value passes the test.
fn passes(test: Test, value: u64) -> bool {
    match test {
        Test::Value { bits, not } => (bits == Some(value)) != not,
        Test::Mask { bits, not } => bits.is_some_and(|mask| value & mask == mask) != not,
        Test::Both { mask, bits, not } => mask.is_some_and(|mask| bits.is_some_and(|bits| value & mask == bits)) != not,
    }
}
