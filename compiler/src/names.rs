//! Names of a set of files: stanzas, functions, and macros.

use crate::Dialect;
use crate::predefined::{Predefined, predefined};
use foldhash::{HashMap, HashSet, HashSetExt};
use std::cell::Cell;
use tfbc_grammar::trcfmt::ast::*;
use tfbc_grammar::{SourceId, Span};

/// One parsed source.
pub(crate) struct Unit<'ast> {
    pub id: SourceId,
    pub text: &'ast [u8],
    pub file: File<'ast>,
    pub dialect: Dialect,
    /// True for the source of the built-in stanzas.
    pub builtin: bool,
}

/// Definition of a function.
#[derive(Clone, Copy)]
pub(crate) struct Definition<'ast> {
    pub unit: usize,
    pub function: &'ast Function<'ast>,
}

/// Names of a set of files.
#[derive(Default)]
pub(crate) struct NameTable<'ast> {
    /// Stanza used for each id: unit and index in its file.
    pub stanzas: HashMap<u16, (usize, usize)>,
    /// All definitions of functions, in source order.
    pub definitions: Vec<Definition<'ast>>,
    /// Definition used for each function name.
    pub functions: HashMap<&'ast [u8], usize>,
    /// Ids of stanzas that did not parse.
    pub broken: HashSet<u16>,
    /// Names of functions that did not parse.
    pub broken_functions: HashSet<&'ast [u8]>,
    /// Ids that templates insert as subroutines.
    pub inserted: HashSet<u16>,
    n_suggestions: Cell<usize>,
}

/// Limit on the lookups of similar names, which are slow if many names are unknown.
const MAX_SUGGESTIONS: usize = 100;

/// Meaning of a `$name` that is not a parameter.
pub(crate) enum Meaning {
    Predefined(Predefined),
    /// Template subroutine, by canonical id.
    Subroutine(u16),
    User,
}

impl<'ast> NameTable<'ast> {
    pub fn collect(units: &[Unit<'ast>]) -> Self {
        let mut names = NameTable::default();
        for (at, unit) in units.iter().enumerate() {
            names.broken.extend(unit.file.broken.iter().filter_map(|broken| broken.id).map(|id| id.0));
            names.broken_functions.extend(unit.file.broken_functions);
            for (index, stanza) in unit.file.stanzas.iter().enumerate() {
                names.stanzas.insert(stanza.id.node.0, (at, index));
                for_each_item(stanza.body, &mut |item| {
                    if let DescriptorItem::Function(function) = item {
                        names.functions.insert(function.name.node, names.definitions.len());
                        names.definitions.push(Definition { unit: at, function });
                    }
                });
            }
        }
        let mut inserted = HashSet::new();
        for stanza in units.iter().flat_map(|unit| unit.file.stanzas) {
            for_each_item(stanza.body, &mut |item| names.insertions(item, &mut inserted));
        }
        names.inserted = inserted;
        names
    }

    /// Adds the ids of the template subroutines that an item calls.
    pub fn insertions(&self, item: &DescriptorItem<'ast>, inserted: &mut HashSet<u16>) {
        self.each_insertion(item, &mut |id, _| {
            inserted.insert(id);
        });
    }

    /// Visits every template subroutine that an item calls, by id and position.
    pub fn each_insertion(&self, item: &DescriptorItem<'ast>, visit: &mut impl FnMut(u16, Span)) {
        let mut name = |node: &MacroRef<'_>| match self.meaning(node.name) {
            Meaning::Subroutine(id) => visit(id, node.span),
            Meaning::Predefined(Predefined::Default) => visit(0x0080, node.span),
            _ => {}
        };
        let mut parts = |text: &Backquoted<'_>| {
            for part in text.parts {
                if let BackquotedPart::Macro(node) = part {
                    name(node);
                }
            }
        };
        match item {
            DescriptorItem::Backquoted(text) => parts(text),
            DescriptorItem::Switch(switch) => {
                for case in switch.cases {
                    if let Body::Backquoted(text) = &case.body {
                        parts(text);
                    }
                }
            }
            DescriptorItem::Macro(node) => name(node),
            _ => {}
        }
    }

    /// Runs `look` to find a similar name, unless there were too many lookups.
    pub fn suggestion<T>(&self, look: impl FnOnce() -> Option<T>) -> Option<T> {
        // A suggestion compares with all names. A file of unknown names would take quadratic time.
        let n = self.n_suggestions.get() + 1;
        self.n_suggestions.set(n);
        if n <= MAX_SUGGESTIONS { look() } else { None }
    }

    /// Meaning of a name that is not a parameter.
    pub fn meaning(&self, name: &[u8]) -> Meaning {
        if let Some(predefined) = predefined(name) {
            return Meaning::Predefined(predefined);
        }
        match subroutine_id(name) {
            // Three hex digits always name a subroutine. Four, such as `$face`, only if there is such a stanza.
            Some(id) if name.len() == 3 || self.stanzas.contains_key(&id) || self.broken.contains(&id) => {
                Meaning::Subroutine(id)
            }
            _ => Meaning::User,
        }
    }
}

/// Canonical id of a name of 3 or 4 hex digits.
fn subroutine_id(name: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(name).ok().filter(|text| text.chars().all(|c| c.is_ascii_hexdigit()))?;
    let number = u16::from_str_radix(text, 16).ok()?;
    match name.len() {
        3 => Some(number << 4),
        4 => Some(number),
        _ => None,
    }
}

/// Visits all items of a descriptor and of nested groups, in source order.
pub(crate) fn for_each_item<'ast>(items: Descriptor<'ast>, visit: &mut impl FnMut(&DescriptorItem<'ast>)) {
    for item in items {
        visit(item);
        match item {
            DescriptorItem::Function(function) => for_each_item(function.body, visit),
            DescriptorItem::Loop(node) => for_each_item(node.body.items, visit),
            DescriptorItem::Switch(switch) => {
                for case in switch.cases {
                    if let Body::Group(group) = &case.body {
                        for_each_item(group.items, visit);
                    }
                }
            }
            _ => {}
        }
    }
}
