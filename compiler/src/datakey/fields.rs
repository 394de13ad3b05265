//! Fields of QNX events: each label of the datakeys that name an event is a field with a name and a type.
//!
//! ```text
//! labels ─draft→ names, types ─comments→ ─place_cells→ cells ─┬→ schema
//!                                                             └→ `lower`: code that stores fields
//! ```

use super::model::{Definition, EnumSearch, EventPlan, FormatField, Model, NumberStyle, PayloadType, Test};
use crate::codes::{FIELD_ENTRY, SURPLUS_FIELDS, TOO_MANY_FIELDS};
use crate::fields::comment::{Refused, chosen_name, code, split};
use crate::fields::form::Form;
use crate::fields::names::{self, Besides};
use crate::fields::{FieldRoutine, MAX_FIELDS, MAX_STEPS};
use crate::ir::{FieldInst, Inst, IrEntry, Node};
use std::collections::{HashMap, HashSet};
use tfbc_grammar::trcfmt::ast::Code;
use tfbc_grammar::{Diagnostic, Source, SourceId, Span, Spanned};
use tfbc_vm::{
    FieldKind, FieldShown, FormatShown, Hint, Labels, NameRule, Notation, Schema, SchemaField, Shape, Space,
};

/// Cells of an event's fields, by key and field.
pub(super) type EventCells = Vec<KeyCells>;

/// Cells of a datakey.
#[derive(Debug)]
pub(super) struct KeyCells {
    /// Cell that is set if the record ends before one of the fields.
    pub cut: u16,
    pub fields: Vec<FieldCells>,
}

/// Cells of a field.
#[derive(Debug)]
pub(super) struct FieldCells {
    /// Cell of the value.
    pub value: u16,
    /// Cell of a character as a number.
    pub raw: Option<u16>,
    /// Cell of the text.
    pub words: Option<u16>,
    /// Texts of the enums, with their indices.
    pub texts: Texts,
    /// Code from a comment, with the cells of the recoded value and of its text.
    pub recode: Option<(Code, u16, Option<u16>)>,
}

/// Distinct texts of a field's enums in document order.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// True if one event can have several of the texts.
    pub is_list: bool,
    all: Vec<String>,
    numbers: HashMap<Vec<u8>, u32>,
}

impl Texts {
    fn of(field: &FormatField) -> Self {
        let is_mask = |test: &Test| matches!(test, Test::Mask { .. });
        let is_list = field.search == EnumSearch::All || field.enums.iter().any(|label| is_mask(&label.test));
        let default = field.default.as_ref().map(|text| (field.default_tag.start, text));
        let mut found: Vec<_> = field.enums.iter().map(|label| (label.tag.start, &label.text)).chain(default).collect();
        found.sort_by_key(|(start, _)| *start);
        let mut texts = Texts { is_list, ..Texts::default() };
        for (_, text) in found {
            if !texts.numbers.contains_key(text) {
                texts.numbers.insert(text.clone(), texts.all.len() as u32);
                texts.all.push(String::from_utf8_lossy(text).into_owned());
            }
        }
        texts
    }

    /// Index of an enum's text.
    pub fn number(&self, text: &[u8]) -> u32 {
        self.numbers.get(text).copied().unwrap_or_default()
    }
}

/// Field under construction.
struct Draft<'m> {
    definition: &'m Definition,
    field: &'m FormatField,
    name: String,
    rule: NameRule,
    shape: Shape,
    texts: Texts,
    recode: Option<Code>,
    is_omitted: bool,
}

impl<'m> Draft<'m> {
    fn new(definition: &'m Definition, field: &'m FormatField, at: usize) -> Self {
        let (mut name, rule) = match names::from_label(&field.label) {
            Some(name) => (name, NameRule::Text),
            None => (format!("f{}", at + 1), NameRule::Position),
        };
        if names::COLUMNS.contains(&&*name) {
            name.insert_str(0, "arg_");
        }
        let (shape, texts) = (shape(field), Texts::of(field));
        Draft { definition, field, name, rule, shape, texts, recode: None, is_omitted: false }
    }

    fn has_enums(&self) -> bool {
        !self.texts.all.is_empty()
    }

    fn is_char(&self) -> bool {
        self.field.show == NumberStyle::Char && matches!(self.field.shape, PayloadType::Number { .. })
    }

    fn has_code_texts(&self) -> bool {
        self.recode.is_some_and(|code| Form::Code(code).has_texts()) && !self.texts.is_list
    }

    fn besides(&self) -> Besides {
        Besides { labels: self.has_enums() || self.has_code_texts(), raw: self.is_char() }
    }
}

/// Type of a number. Hexadecimal and octal numbers are unsigned: their bit pattern counts.
fn number(style: NumberStyle, bytes: u8, is_signed: bool) -> Shape {
    let (is_signed, hint) = match style {
        NumberStyle::Decimal | NumberStyle::Char => (is_signed, Hint::None),
        NumberStyle::Hex => (false, Hint::Hex),
        NumberStyle::Octal => (false, Hint::Oct),
    };
    Shape::new(if is_signed || bytes < 8 { FieldKind::Int64 } else { FieldKind::UInt64 }, hint)
}

fn shape(field: &FormatField) -> Shape {
    match field.shape {
        PayloadType::Number { .. } if field.show == NumberStyle::Char => Shape::new(FieldKind::Utf8, Hint::None),
        PayloadType::Number { bytes, signed } => number(field.show, bytes, signed && field.mask.is_none()),
        PayloadType::Array { bytes, signed, .. } => {
            let items = Some(Box::new(number(field.show, bytes, signed)));
            Shape { items, ..Shape::new(FieldKind::List, Hint::None) }
        }
        PayloadType::Chars { .. } | PayloadType::Text => Shape::new(FieldKind::Utf8, Hint::None),
    }
}

/// Spec of a field with all its parts, such as `%2u1x`.
fn spec(field: &FormatField) -> String {
    let letter = notation(field.show).name();
    let sign = |signed| if signed { 's' } else { 'u' };
    match field.shape {
        PayloadType::Number { bytes, signed } => format!("%{bytes}{}1{letter}", sign(signed)),
        PayloadType::Array { bytes, signed, count } => format!("%{bytes}{}{count}{letter}", sign(signed)),
        PayloadType::Chars { count } => format!("%1u{count}c"),
        PayloadType::Text => "%1s0".into(),
    }
}

fn notation(style: NumberStyle) -> Notation {
    match style {
        NumberStyle::Decimal => Notation::Decimal,
        NumberStyle::Hex => Notation::Hex,
        NumberStyle::Octal => Notation::Octal,
        NumberStyle::Char => Notation::Char,
    }
}

/// Derives the fields of all events in `entries`. `lower` makes the code that stores them.
pub(super) fn derive(
    model: &Model,
    entries: &[IrEntry],
    sources: &[&Source],
    lower: impl Fn(&EventPlan, &EventCells) -> Option<(Vec<Node>, u16)>,
) -> (Vec<FieldRoutine>, Vec<Diagnostic>) {
    let records = entries.iter().enumerate().filter(|(_, entry)| entry.space == Space::Record);
    let index: HashMap<u16, usize> = records.map(|(at, entry)| (entry.id, at)).collect();
    let mut derivation = Derivation { sources, found: Vec::new(), reported: HashSet::new() };
    let mut routines = Vec::new();
    let mut n_steps = 0;
    for plan in &model.events {
        let Some(stanza) = index.get(&Space::record_id(plan.class, plan.id)).copied() else { continue };
        let definitions = || plan.keys.iter().map(|key| &model.definitions[key.definition]);
        let n_fields: usize = definitions().map(|definition| definition.fields.len()).sum();
        n_steps += n_fields;
        if n_fields > MAX_FIELDS || n_steps > MAX_STEPS {
            derivation.too_large(plan, &entries[stanza]);
            continue;
        }
        let mut drafts: Vec<Draft> = Vec::with_capacity(n_fields);
        for definition in definitions() {
            for field in &definition.fields {
                drafts.push(Draft::new(definition, field, drafts.len()));
            }
        }
        let mut names: Vec<_> = drafts.iter().map(|draft| (draft.name.clone(), draft.besides())).collect();
        names::number(&mut names);
        drafts.iter_mut().zip(names).for_each(|(draft, (name, _))| draft.name = name);
        derivation.comments(&mut drafts);
        let (cells, n_cells) = place_cells(plan, model, &mut drafts);
        let Some((body, n_locals)) = lower(plan, &cells) else { continue };
        let schema = derivation.schema(&drafts, &cells);
        let whole = Inst::Field(Box::new(FieldInst::Whole { n_cells, body, last: Vec::new() }));
        let body = vec![Node { inst: whole, span: entries[stanza].span }];
        routines.push(FieldRoutine { stanza, schema, n_locals, body });
    }
    (routines, derivation.found)
}

/// Assigns cells to the fields. Also returns the number of cells.
fn place_cells(plan: &EventPlan, model: &Model, drafts: &mut [Draft<'_>]) -> (EventCells, u16) {
    let mut n_cells = 0;
    let mut next = || {
        n_cells += 1;
        n_cells - 1
    };
    let mut drafts = drafts.iter_mut();
    let keys = plan.keys.iter().map(|key| {
        let n_fields = model.definitions[key.definition].fields.len();
        let fields = drafts.by_ref().take(n_fields).map(|draft| {
            let (value, raw) = (next(), draft.is_char().then(&mut next));
            let words = draft.has_enums().then(&mut next);
            let has_code_texts = draft.has_code_texts();
            let recode = draft.recode.map(|code| {
                let texts = has_code_texts.then(|| words.unwrap_or_else(&mut next));
                (code, next(), texts)
            });
            FieldCells { value, raw, words, texts: std::mem::take(&mut draft.texts), recode }
        });
        let fields = fields.collect();
        KeyCells { fields, cut: next() }
    });
    (keys.collect(), n_cells)
}

/// Derivation of the fields of all events.
struct Derivation<'s> {
    sources: &'s [&'s Source],
    found: Vec<Diagnostic>,
    /// Comment entries that have been reported. A datakey can apply to many events, but a mistake in it is reported
    /// once.
    reported: HashSet<(SourceId, Span)>,
}

impl Derivation<'_> {
    fn too_large(&mut self, plan: &EventPlan, entry: &IrEntry) {
        let text = format!("event {}:{} has no fields: its formats have too many", plan.class, plan.id);
        self.found.push(Diagnostic::warning(&TOO_MANY_FIELDS, entry.source, entry.span, text));
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if self.reported.insert((diagnostic.primary.source, diagnostic.primary.span)) {
            self.found.push(diagnostic);
        }
    }

    /// Applies the comments of all datakeys.
    fn comments(&mut self, drafts: &mut [Draft<'_>]) {
        if drafts.iter().all(|draft| draft.definition.comment.is_empty()) {
            return;
        }
        let columns = |drafts: &[Draft<'_>]| {
            let mut taken: HashMap<String, u32> = HashMap::new();
            let columns = drafts.iter().flat_map(|draft| draft.besides().columns(&draft.name));
            columns.for_each(|column| *taken.entry(column).or_default() += 1);
            taken
        };
        let mut taken = columns(drafts);
        let mut start = 0;
        while let Some(first) = drafts.get(start) {
            let definition = first.definition;
            let end = start + definition.fields.len().max(1);
            for (at, entry) in definition.comment.iter().enumerate() {
                let entry = Spanned::new(&entry.node[..], entry.span);
                let result = match drafts[start..end].get_mut(at) {
                    _ if entry.node.contains(&b'=') => {
                        Err(Refused::new(entry.span, "event definitions have no macros: expected a name, `-` or `*`"))
                    }
                    Some(draft) => change(draft, entry, &mut taken),
                    None if at == definition.fields.len() => {
                        self.warn_of_surplus(definition, entry, &drafts[start..end]);
                        Ok(())
                    }
                    None => Ok(()),
                };
                if let Err(Refused { span, message }) = result {
                    let error = Diagnostic::error(&FIELD_ENTRY, definition.source, span, message);
                    self.report(error.with_help("the field keeps the name and type that it has without the entry"));
                }
            }
            start = end;
        }
    }

    fn warn_of_surplus(&mut self, definition: &Definition, entry: Spanned<&[u8]>, drafts: &[Draft<'_>]) {
        let n = drafts.len();
        let plural = if n == 1 { "" } else { "s" };
        let message = format!("entry for field {}, but the datakey has {n} field{plural}", n + 1);
        let names: Vec<_> = drafts.iter().map(|draft| &draft.name[..]).collect();
        let warning = Diagnostic::warning(&SURPLUS_FIELDS, definition.source, entry.span, message);
        self.report(warning.with_help(format!("fields: {}", names.join(", "))));
    }

    fn schema(&self, drafts: &[Draft<'_>], cells: &EventCells) -> Schema {
        let mut schema = Schema::default();
        let mut drafts = drafts.iter();
        for key in cells {
            let mut shown = Vec::with_capacity(key.fields.len());
            let mut shows_value = true;
            for (cells, draft) in key.fields.iter().zip(drafts.by_ref()) {
                shows_value = draft.definition.show_masked_value;
                shown.push(shown_field(draft.field, cells));
                let fields = if draft.is_omitted { &mut schema.omitted } else { &mut schema.fields };
                fields.push(self.field(draft, cells));
                if let (Some(cell), PayloadType::Number { bytes, signed }) = (cells.raw, draft.field.shape) {
                    let shape = number(NumberStyle::Decimal, bytes, signed && draft.field.mask.is_none());
                    let name = names::raw_of(&draft.name);
                    fields.push(SchemaField { name, shape, labels: None, cell, ..self.field(draft, cells) });
                }
            }
            schema.formats.push(FormatShown { cut: key.cut, shows_value, fields: shown });
        }
        schema
    }

    fn field(&self, draft: &Draft<'_>, cells: &FieldCells) -> SchemaField {
        let source = draft.definition.source;
        let place = self.sources.get(usize::from(source.0)).map(|text| text.line_column(draft.field.span.start));
        let (line, column) = place.unwrap_or((1, 1));
        let (mut shape, mut cell, mut words) = (draft.shape.clone(), cells.value, cells.words);
        if let Some((code, recoded, texts)) = cells.recode {
            let (kind, size, hint) = Form::Code(code).shape();
            shape = Shape { size, ..Shape::new(kind, hint) };
            (cell, words) = (recoded, words.or(texts));
        }
        let labels = words.map(|cell| Labels {
            name: names::labels_of(&draft.name),
            cell,
            is_list: cells.texts.is_list,
            texts: cells.texts.all.clone(),
        });
        SchemaField {
            name: draft.name.clone(),
            shape,
            labels,
            shown: spec(draft.field),
            source: Some(source.0),
            line,
            column,
            rule: draft.rule,
            cell,
        }
    }
}

fn shown_field(field: &FormatField, cells: &FieldCells) -> FieldShown {
    let (size, is_signed) = match field.shape {
        PayloadType::Number { bytes, signed } => (bytes, signed && field.mask.is_none()),
        PayloadType::Array { bytes, signed, .. } => (bytes, signed),
        PayloadType::Chars { .. } | PayloadType::Text => (1, false),
    };
    FieldShown {
        label: String::from_utf8_lossy(&field.label).into_owned(),
        cell: cells.raw.unwrap_or(cells.value),
        words: cells.words,
        notation: notation(field.show),
        size,
        is_signed,
    }
}

/// Applies an entry of a comment to a field. `taken` counts how often each column name is used.
fn change(draft: &mut Draft<'_>, entry: Spanned<&[u8]>, taken: &mut HashMap<String, u32>) -> Result<(), Refused> {
    let remove = |draft: &Draft<'_>, taken: &mut HashMap<String, u32>| {
        for column in draft.besides().columns(&draft.name) {
            taken.entry(column).and_modify(|n| *n = n.saturating_sub(1));
        }
    };
    let add = |draft: &Draft<'_>, taken: &mut HashMap<String, u32>| {
        draft.besides().columns(&draft.name).for_each(|column| *taken.entry(column).or_default() += 1);
    };
    match entry.node {
        b"*" => return Ok(()),
        b"-" => {
            remove(draft, taken);
            draft.is_omitted = true;
            return Ok(());
        }
        _ => {}
    }
    let (name, kind) = split(entry, b':');
    let recode = match kind {
        Some(kind) if kind.node == b"enum" => {
            if !draft.has_enums() {
                return Err(Refused::new(kind.span, format!("`{}` has no enums", draft.name)));
            }
            None
        }
        Some(kind) => {
            let what = match draft.shape.kind {
                FieldKind::Utf8 => Some("a text"),
                FieldKind::List => Some("an array"),
                _ => None,
            };
            if let Some(what) = what {
                return Err(Refused::new(
                    kind.span,
                    format!("`{}` is {what}, whose code cannot be changed", draft.name),
                ));
            }
            Some(code(&kind)?)
        }
        None => None,
    };
    let chosen = chosen_name(&name)?;
    remove(draft, taken);
    let before = (std::mem::replace(&mut draft.name, chosen), std::mem::replace(&mut draft.recode, recode));
    let known = draft.besides().columns(&draft.name).find(|column| taken.get(column).is_some_and(|n| *n > 0));
    if let Some(known) = known {
        (draft.name, draft.recode) = before;
        add(draft, taken);
        return Err(Refused::new(name.span, format!("another field has the name `{known}`")));
    }
    draft.rule = NameRule::Comment;
    add(draft, taken);
    Ok(())
}
