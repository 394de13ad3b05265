//! What a field's enums print, settled at compile time as far as the value is known: values that an enum names become
//! the cases of a switch, and only what masks say of the other values is left to be tested.

use super::model::{Field, Search, Shape, Test};
use crate::ir::{Block, Flag, FlagText, Inst, Node, Select, Slot, Switch, Value};
use crate::number::Number;
use std::collections::HashMap;
use tfbc_grammar::Span;

/// The most pairs of a value and a mask that are settled for one field.
pub(crate) const MAX_PAIRS: usize = 1 << 22;

/// The texts of one field.
pub(crate) struct Labels<'f> {
    /// Every value that an enum names, with the texts of the enums that it meets.
    cases: Vec<(u64, Vec<&'f [u8]>)>,
    /// The enums that a value may meet that no enum names.
    others: Vec<Other<'f>>,
    default: Option<&'f [u8]>,
}

/// An enum as it acts on values that no enum names.
struct Other<'f> {
    /// The bits that must all be set (or, with `not`, not all); 0 always is met.
    mask: u64,
    not: bool,
    text: &'f [u8],
}

impl<'f> Labels<'f> {
    /// The labels of a number; `None` where there are more than [`MAX_PAIRS`] pairs.
    pub fn of(field: &'f Field) -> Option<Self> {
        debug_assert!(matches!(field.shape, Shape::Number { .. }));
        let default = field.default.as_deref();
        let mut by_value: HashMap<u64, Vec<usize>> = HashMap::new();
        // The enums that values may meet which they do not name.
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
        if by_value.len().saturating_mul(loose.len()) > MAX_PAIRS {
            return None;
        }
        let mut cases: Vec<_> = by_value
            .into_iter()
            .map(|(value, named)| {
                let mut met: Vec<usize> = named;
                met.extend(loose.iter().copied().filter(|at| meets(field.enums[*at].test, value)));
                met.sort_unstable();
                if field.search == Search::Value {
                    let last = met.iter().position(|at| matches!(field.enums[*at].test, Test::Value { .. }));
                    met.truncate(last.map_or(met.len(), |last| last + 1));
                }
                (value, met.into_iter().map(|at| &field.enums[at].text[..]).collect())
            })
            .collect();
        cases.sort_unstable_by_key(|(value, _)| *value);
        let mut others = Vec::new();
        for label in loose.iter().map(|at| &field.enums[*at]) {
            let other = |mask, not| Other { mask, not, text: &label.text };
            match label.test {
                Test::Mask { bits: Some(mask), not } if mask != 0 => others.push(other(mask, not)),
                Test::Mask { bits, not } if bits.is_some() != not => others.push(other(0, false)),
                Test::Value { not: true, .. } => {
                    others.push(other(0, false));
                    if field.search == Search::Value {
                        break;
                    }
                }
                _ => {}
            }
        }
        Some(Labels { cases, others, default })
    }

    /// What is shown of a field whose value stands in `value`: with the value itself before the texts, or instead of
    /// them where there are none.
    pub fn block(&self, value: Slot, with_value: bool, shown: impl Fn() -> Block, span: Span) -> Block {
        let node = |inst| Node { inst, span };
        let texts = |texts: &[&[u8]]| match (texts, with_value) {
            ([], true) => Block::new(),
            ([], false) => shown(),
            (texts, true) => vec![node(Inst::Text([&b" "[..], &texts.join(&b" "[..])].concat()))],
            (texts, false) => vec![node(Inst::Text(texts.join(&b" "[..])))],
        };
        let or_default = |met: &[&[u8]]| if met.is_empty() { texts(self.default.as_slice()) } else { texts(met) };
        let others = self.others(value, with_value, &or_default, span);
        let mut block = if with_value { shown() } else { Block::new() };
        if self.cases.is_empty() {
            block.extend(others);
            return block;
        }
        let mut bodies: Vec<Block> = self.cases.iter().map(|(_, met)| or_default(met)).collect();
        bodies.push(others);
        let number = |value: &u64| Number { negative: false, magnitude: *value };
        let keys = self.cases.iter().enumerate().map(|(body, (value, _))| (number(value), body)).collect();
        let on = Select::Number { value: Value::Slot(value), width: Some(64), keys };
        let default = Some(bodies.len() - 1);
        block.push(node(Inst::Switch(Switch { on, bodies, default })));
        block
    }

    fn others(&self, value: Slot, with_value: bool, or_default: &impl Fn(&[&[u8]]) -> Block, span: Span) -> Block {
        let node = |inst| Node { inst, span };
        if self.others.iter().all(|other| other.mask == 0) {
            let met: Vec<&[u8]> = self.others.iter().map(|other| other.text).collect();
            return or_default(&met);
        }
        let entries: Vec<Flag> = self.others.iter().map(|other| other.flag(with_value)).collect();
        let any = Value::AnyFlag(Box::new(Value::Slot(value)), entries.clone());
        let value = Value::Slot(value);
        let list = if with_value { Inst::Flags { value, entries } } else { Inst::FlagList { value, entries } };
        let otherwise = or_default(&[]);
        if self.others.iter().any(|other| other.mask == 0) || otherwise.is_empty() {
            return vec![node(list)];
        }
        vec![node(Inst::If { on: any, then: vec![node(list)], otherwise })]
    }
}

impl Other<'_> {
    fn flag(&self, behind_blank: bool) -> Flag {
        let blank = if behind_blank { &b" "[..] } else { b"" };
        let text = FlagText { text: [blank, self.text].concat(), soft: false };
        let (yes, no) = if self.not { (FlagText::default(), text) } else { (text, FlagText::default()) };
        Flag { mask: self.mask, field: self.mask, yes, no }
    }
}

/// Whether a value meets a test.
fn meets(test: Test, value: u64) -> bool {
    match test {
        Test::Value { bits, not } => (bits == Some(value)) != not,
        Test::Mask { bits, not } => bits.is_some_and(|mask| value & mask == mask) != not,
        Test::Both { mask, bits, not } => mask.is_some_and(|mask| bits.is_some_and(|bits| value & mask == bits)) != not,
    }
}
