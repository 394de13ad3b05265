//! Definitions, references and renaming.

use super::labels::{self, label_at};
use super::project::{FileSpan, Project, Symbol, subroutine};
use super::vocabulary;
use tfbc_grammar::Span;
use tfbc_grammar::trcfmt::KEYWORDS;

/// Definitions of the symbol at an offset.
pub fn definition(project: &Project, key: &str, offset: u32) -> Vec<FileSpan> {
    if let Some((found, _)) = label_at(project, key, offset) {
        let place = |label: &labels::FieldLabel| {
            let field = labels::field(project, label)?;
            Some(FileSpan { key: label.key.clone(), span: field.span })
        };
        return found.iter().filter_map(place).collect();
    }
    match project.symbol_at(key, offset) {
        // The last definition is in force, and editors show the first result first.
        Some((Symbol::Stanza(id), _)) => project.stanzas_of(id).into_iter().rev().map(|(place, _)| place).collect(),
        Some((Symbol::Function(name), _)) => {
            project.functions_of(&name).into_iter().rev().map(|(place, _)| place).collect()
        }
        Some((symbol @ Symbol::Local { .. }, _)) => {
            let places = project.places_of(&symbol);
            let first = places.iter().find(|(_, makes)| *makes).map(|(place, _)| place.clone());
            first.into_iter().collect()
        }
        Some((Symbol::Predefined(_), _)) | None => Vec::new(),
    }
}

/// References to the symbol at an offset, including its definitions if `with_definitions`.
pub fn references(project: &Project, key: &str, offset: u32, with_definitions: bool) -> Vec<FileSpan> {
    let places = match label_at(project, key, offset) {
        Some((found, _)) => found.iter().flat_map(|label| labels::places_of(project, label)).collect(),
        None => project.symbol_at(key, offset).map_or(Vec::new(), |(symbol, _)| project.places_of(&symbol)),
    };
    places.into_iter().filter(|(_, makes)| with_definitions || !makes).map(|(place, _)| place).collect()
}

/// Span of the name at an offset, if it can be renamed.
///
/// # Errors
/// Reason why nothing at the offset can be renamed.
pub fn renamed(project: &Project, key: &str, offset: u32) -> Result<Span, String> {
    if let Some((found, span)) = label_at(project, key, offset) {
        return match found.len() {
            1 => Ok(span),
            0 => Err(String::from("no field has this label")),
            _ => Err(String::from("several fields have this label: rename it in a format")),
        };
    }
    match project.symbol_at(key, offset) {
        Some((Symbol::Local { .. } | Symbol::Function(_), span)) => Ok(span),
        Some((Symbol::Predefined(name), _)) => Err(format!("`${name}` is predefined")),
        Some((Symbol::Stanza(_), _)) => Err(String::from("a stanza cannot be renamed: its name is the hook id")),
        None => Err(String::from("there is no name here that can be renamed")),
    }
}

/// Spans to change for a new name, with their new texts.
///
/// # Errors
/// Reason why the name cannot change, or why the new name is invalid.
pub fn rename(project: &Project, key: &str, offset: u32, new: &str) -> Result<Vec<(FileSpan, String)>, String> {
    renamed(project, key, offset)?;
    if let Some((found, _)) = label_at(project, key, offset) {
        let label = &found[0];
        if let Some(why) = labels::refuse(project, label, new) {
            return Err(why);
        }
        let places = labels::places_of(project, label);
        return Ok(places.into_iter().map(|(place, _)| (place, new.to_owned())).collect());
    }
    let Some((symbol, _)) = project.symbol_at(key, offset) else { return Ok(Vec::new()) };
    let new = new.strip_prefix('$').unwrap_or(new);
    if let Some(why) = refuse(project, &symbol, new) {
        return Err(why);
    }
    let places = project.places_of(&symbol).into_iter();
    Ok(places.map(|(place, _)| (place.clone(), new_text(project, &place, new))).collect())
}

/// New name, with a `$` if the old one had it.
fn new_text(project: &Project, place: &FileSpan, new: &str) -> String {
    let has_dollar =
        project.get(&place.key).is_some_and(|document| document.source.slice(place.span).starts_with(b"$"));
    if has_dollar { format!("${new}") } else { new.to_owned() }
}

/// Reason why a symbol cannot have this name.
fn refuse(project: &Project, symbol: &Symbol, new: &str) -> Option<String> {
    if new.is_empty() || !new.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Some(String::from("use only letters, digits and `_`"));
    }
    match symbol {
        Symbol::Function(_) if KEYWORDS.contains(&new) => Some(format!("`{new}` is a keyword")),
        Symbol::Function(_) => {
            let is_taken = !project.functions_of(new).is_empty();
            is_taken.then(|| format!("a function `{new}` already exists"))
        }
        Symbol::Local { key, line, within, .. } => {
            if vocabulary::predefined(new).is_some() {
                return Some(format!("`${new}` is predefined"));
            }
            if subroutine(new).is_some_and(|id| new.len() == 3 || project.has_stanza(id)) {
                return Some(format!("`${new}` already names the stanza with this id"));
            }
            let (_, facts) = project.get(key)?.stanza(*line)?;
            let is_taken =
                facts.names.iter().any(|name| name.text == new && name.within == *within && !is_function(name));
            is_taken.then(|| format!("the name `{new}` is already used here"))
        }
        Symbol::Predefined(_) | Symbol::Stanza(_) => None,
    }
}

fn is_function(name: &super::facts::NameUse) -> bool {
    use super::facts::NameRole;
    matches!(name.role, NameRole::Defined | NameRole::Called)
}
