//! Names and types chosen by the author: `# tfbc: fields=` comments.

use tfbc_grammar::trcfmt::ast::{Code, Stanza};

use super::super::macros_in_order;
use super::build::distinct;
use super::expand::{data_macro, predefined_form};
use super::form::{self, FieldType, PrintForm};
use super::name;
use super::schema::{CommentProblem, FieldOrigin, FieldSchema, ItemPlace, NameRule, TextKind, TypedField};

/// One entry of a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct CommentEntry {
    text: String,
    file: Option<usize>,
    /// Offset of its first byte.
    offset: u32,
}

impl CommentEntry {
    /// Entry outside of any file.
    pub(super) fn new(text: &str, offset: u32) -> CommentEntry {
        CommentEntry { text: text.into(), file: None, offset }
    }
}

/// Entries of the comment lines directly before the stanza at an offset.
pub(in super::super) fn entries(file: Option<usize>, source: &[u8], stanza: u32) -> Vec<CommentEntry> {
    let mut found = Vec::new();
    for (start, line) in logical_lines(source) {
        if (start..start + line.len()).contains(&(stanza as usize)) {
            return found;
        }
        match line.trim_ascii_start().first() {
            Some(b'#') => found.extend(entries_of_line(file, line, start)),
            _ => found.clear(),
        }
    }
    Vec::new()
}

/// Logical lines with their offsets, without line ends.
fn logical_lines(source: &[u8]) -> Vec<(usize, &[u8])> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut at = 0;
    for physical in source.split_inclusive(|byte| *byte == b'\n') {
        at += physical.len();
        if !physical.trim_ascii_end().ends_with(b"\\") {
            lines.push((start, &source[start..at]));
            start = at;
        }
    }
    lines.push((start, &source[start..]));
    lines
}

/// Entries of a comment line; `start` is its offset in the file.
fn entries_of_line(file: Option<usize>, line: &[u8], start: usize) -> Vec<CommentEntry> {
    let first = line.split(|byte| *byte == b'\n').next().unwrap_or(line);
    let text = String::from_utf8_lossy(first).into_owned();
    let text = text.trim_end().trim_end_matches('\\');
    let after = |text: &str, word: &str| text.trim_start().strip_prefix(word).map(str::to_owned);
    let value = after(text, "#")
        .and_then(|text| after(&text, "tfbc:"))
        .and_then(|text| after(&text, "fields"))
        .and_then(|text| after(&text, "="));
    let Some(value) = value else { return Vec::new() };
    let mut entries = Vec::new();
    let mut rest = &value[..];
    loop {
        rest = rest.trim_start();
        let len = rest.find(|letter: char| letter == ',' || letter.is_ascii_whitespace()).unwrap_or(rest.len());
        let offset = (start + text.len() - rest.len()) as u32;
        entries.push(CommentEntry { text: rest[..len].into(), file, offset });
        match rest[len..].trim_start().strip_prefix(',') {
            Some(next) => rest = next,
            None => return entries,
        }
    }
}

/// Changes the fields of a stanza as its comment says.
pub(super) fn apply(schema: &mut FieldSchema, entries: &[CommentEntry], stanza: &Stanza) {
    let n_fields = schema.fields.len();
    let mut at = 0;
    let mut too_many = false;
    for entry in entries {
        let result = if entry.text.contains('=') {
            add(schema, entry, stanza)
        } else if at < n_fields {
            at += 1;
            change(&mut schema.fields, at - 1, &entry.text)
        } else {
            if !std::mem::replace(&mut too_many, true) {
                let message = "more entries than fields";
                schema.problems.push(CommentProblem { offset: entry.offset, is_error: false, message });
            }
            Ok(())
        };
        if let Err(message) = result {
            schema.problems.push(CommentProblem { offset: entry.offset, is_error: true, message });
        }
    }
}

/// Applies an entry to the field at an index.
fn change(fields: &mut [TypedField], at: usize, entry: &str) -> Result<(), &'static str> {
    match entry {
        "*" => return Ok(()),
        "-" => {
            fields[at].omitted = true;
            return Ok(());
        }
        _ => {}
    }
    let (name, how) = match entry.split_once(':') {
        Some((name, how)) => (name, Some(how)),
        None => (entry, None),
    };
    let mut field = fields[at].clone();
    match how {
        None => {}
        Some("enum") => by_case(&mut field)?,
        Some(code) => apply_code(&mut field, form::parse(code).ok_or("no code that can be applied to a value")?)?,
    }
    field.name = name.into();
    field.rule = NameRule::Comment;
    check_name(fields, Some(at), &field)?;
    fields[at] = field;
    Ok(())
}

/// Gives every case of a switch a text.
fn by_case(field: &mut TypedField) -> Result<(), &'static str> {
    let switches = field.sources.iter().filter_map(|source| match source {
        FieldOrigin::Shown(shown) => shown.texts.as_ref(),
        FieldOrigin::Loop { .. } => None,
    });
    let texts: Vec<_> = switches.map(|texts| texts.in_order(true)).collect();
    if texts.is_empty() {
        return Err("not a switch");
    }
    field.texts = distinct(texts.concat());
    if !field.texts.is_empty() {
        field.text = TextKind::One;
    }
    field.by_case = true;
    Ok(())
}

/// Applies a code to the value.
fn apply_code(field: &mut TypedField, code: Code) -> Result<(), &'static str> {
    let can_be_cast = match field.ty {
        FieldType::Bool | FieldType::Int64 | FieldType::Uint64 | FieldType::Timestamp => field.hint != Some("ns"),
        _ => false,
    };
    if !can_be_cast {
        return Err("this type has no other form");
    }
    let form = PrintForm::Code(code);
    field.code = Some(code);
    (field.ty, field.hint) = (form.type_of(), form.hint());
    let own_text = field.sources.iter().any(|source| match source {
        FieldOrigin::Shown(shown) => shown.texts.as_ref().is_some_and(|texts| {
            let own = texts.own.iter().any(|(_, own)| own.has_text());
            own || !texts.is_flag && texts.cases.iter().any(Option::is_some)
        }),
        FieldOrigin::Loop { .. } => false,
    });
    if field.text != TextKind::List {
        field.text = if own_text || form.has_text() { TextKind::One } else { TextKind::None };
    }
    Ok(())
}

/// Adds a field that is not shown.
fn add(schema: &mut FieldSchema, entry: &CommentEntry, stanza: &Stanza) -> Result<(), &'static str> {
    let (name, shown) = entry.text.split_once('=').ok_or("no macro")?;
    let text = shown.strip_prefix('$').ok_or("no macro")?;
    let (macro_name, cast) = match text.split_once('%') {
        Some((macro_name, cast)) => (macro_name.as_bytes(), Some(cast)),
        None => (text.as_bytes(), None),
    };
    let own = macros_in_order(stanza.body).contains(&macro_name).then_some(PrintForm::Uncast);
    let form = predefined_form(macro_name).or_else(|| data_macro(macro_name)).or(own);
    let form = form.ok_or("neither a macro of the stanza nor a predefined one with a value")?;
    let (form, shown) = match cast {
        None => (form, shown.to_owned()),
        Some(_) if form == PrintForm::FactText => return Err("a text has no cast"),
        Some(cast) => {
            let code = form::parse(cast).ok_or("no code that can be applied to a value")?;
            (PrintForm::Code(code), format!("${}%{}", String::from_utf8_lossy(macro_name), form::shown(code)))
        }
    };
    let place = ItemPlace { file: entry.file, offset: entry.offset };
    let field = TypedField {
        ty: form.type_of(),
        hint: form.hint(),
        text: if form.has_text() { TextKind::One } else { TextKind::None },
        shown,
        at_end: Some((macro_name.to_vec(), form)),
        ..TypedField::empty(name.into(), NameRule::Comment, place)
    };
    check_name(&schema.fields, None, &field)?;
    schema.fields.push(field);
    Ok(())
}

/// Checks a name against the table's columns and the names that the other fields have now.
fn check_name(fields: &[TypedField], own: Option<usize>, field: &TypedField) -> Result<(), &'static str> {
    let letters = field.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let first_is_digit = field.name.starts_with(|first: char| first.is_ascii_digit());
    if field.name.is_empty() || !letters || first_is_digit || field.name.len() > 64 {
        return Err("not a name");
    }
    if name::COLUMNS.contains(&&field.name[..]) {
        return Err("the name of a column");
    }
    let others = fields.iter().enumerate().filter(|(at, other)| Some(*at) != own && !other.omitted);
    let used: Vec<String> = others.flat_map(|(_, other)| other.names(&other.name)).collect();
    match field.names(&field.name).iter().any(|name| used.contains(name)) {
        true => Err("the name of another field"),
        false => Ok(()),
    }
}
