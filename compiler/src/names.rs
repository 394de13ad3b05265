//! What the names of a file set stand for: stanzas, functions, and each stanza's macros.

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
    /// Whether this is the source of the built-in stanzas.
    pub builtin: bool,
}

/// A function's definition.
#[derive(Clone, Copy)]
pub(crate) struct Definition<'ast> {
    pub unit: usize,
    pub function: &'ast Function<'ast>,
}

/// The names of a file set.
#[derive(Default)]
pub(crate) struct Names<'ast> {
    /// The winning stanza of each id: unit and index in its file.
    pub stanzas: HashMap<u16, (usize, usize)>,
    /// All definitions, in source order.
    pub definitions: Vec<Definition<'ast>>,
    /// The winning definition of each name.
    pub functions: HashMap<&'ast [u8], usize>,
    /// Ids whose stanza did not parse.
    pub broken: HashSet<u16>,
    /// Functions whose definition did not parse.
    pub broken_functions: HashSet<&'ast [u8]>,
    /// Ids that some template inserts.
    pub inserted: HashSet<u16>,
    n_suggestions: Cell<usize>,
}

/// The most unknown names for which the nearest known one is looked up: that is slow where there are many of both.
const MAX_SUGGESTIONS: usize = 100;

/// What a `$name` is, apart from parameters.
pub(crate) enum Meaning {
    Predefined(Predefined),
    /// A template subroutine, by canonical id.
    Subroutine(u16),
    User,
}

impl<'ast> Names<'ast> {
    pub fn collect(units: &[Unit<'ast>]) -> Self {
        let mut names = Names::default();
        for (at, unit) in units.iter().enumerate() {
            names.broken.extend(unit.file.broken.iter().filter_map(|broken| broken.id).map(|id| id.0));
            names.broken_functions.extend(unit.file.broken_functions);
            for (index, stanza) in unit.file.stanzas.iter().enumerate() {
                names.stanzas.insert(stanza.id.node.0, (at, index));
                for_each_item(stanza.body, &mut |item| {
                    if let Item::Function(function) = item {
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
    pub fn insertions(&self, item: &Item<'ast>, inserted: &mut HashSet<u16>) {
        self.each_insertion(item, &mut |id, _| {
            inserted.insert(id);
        });
    }

    /// Calls `visit` with the id and place of each template subroutine that an item calls.
    pub fn each_insertion(&self, item: &Item<'ast>, visit: &mut impl FnMut(u16, Span)) {
        let mut name = |node: &MacroRef<'_>| match self.meaning(node.name) {
            Meaning::Subroutine(id) => visit(id, node.span),
            Meaning::Predefined(Predefined::Default) => visit(0x0080, node.span),
            _ => {}
        };
        let mut parts = |text: &Backquoted<'_>| {
            for part in text.parts {
                if let Part::Macro(node) = part {
                    name(node);
                }
            }
        };
        match item {
            Item::Backquoted(text) => parts(text),
            Item::Switch(switch) => {
                for case in switch.cases {
                    if let Body::Backquoted(text) = &case.body {
                        parts(text);
                    }
                }
            }
            Item::Macro(node) => name(node),
            _ => {}
        }
    }

    /// What `look` finds to be meant by an unknown name, unless there are too many of these.
    pub fn suggestion<T>(&self, look: impl FnOnce() -> Option<T>) -> Option<T> {
        let n = self.n_suggestions.get() + 1;
        self.n_suggestions.set(n);
        if n <= MAX_SUGGESTIONS { look() } else { None }
    }

    /// What a name stands for outside parameters.
    pub fn meaning(&self, name: &[u8]) -> Meaning {
        if let Some(predefined) = predefined(name) {
            return Meaning::Predefined(predefined);
        }
        match subroutine_id(name) {
            Some(id) if name.len() == 3 || self.stanzas.contains_key(&id) || self.broken.contains(&id) => {
                Meaning::Subroutine(id)
            }
            _ => Meaning::User,
        }
    }
}

/// The canonical id that a name of 3 or 4 hex digits would have.
fn subroutine_id(name: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(name).ok().filter(|text| text.chars().all(|c| c.is_ascii_hexdigit()))?;
    let number = u16::from_str_radix(text, 16).ok()?;
    match name.len() {
        3 => Some(number << 4),
        4 => Some(number),
        _ => None,
    }
}

/// Calls `visit` on every item of a descriptor and of the groups inside it, in source order.
pub(crate) fn for_each_item<'ast>(items: Descriptor<'ast>, visit: &mut impl FnMut(&Item<'ast>)) {
    for item in items {
        visit(item);
        match item {
            Item::Function(function) => for_each_item(function.body, visit),
            Item::Loop(node) => for_each_item(node.body.items, visit),
            Item::Switch(switch) => {
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
