//! Definitions, references and new names.

use super::labels::{self, label_at};
use super::project::{Place, Project, Symbol, subroutine};
use super::words;
use tfbc_grammar::Span;
use tfbc_grammar::trcfmt::KEYWORDS;

/// Where what stands at an offset is defined.
pub fn definition(project: &Project, key: &str, offset: u32) -> Vec<Place> {
    if let Some((found, _)) = label_at(project, key, offset) {
        let place = |label: &labels::Label| {
            let field = labels::field(project, label)?;
            Some(Place { key: label.key.clone(), span: field.span })
        };
        return found.iter().filter_map(place).collect();
    }
    match project.symbol_at(key, offset) {
        // The last one wins; editors show the first first.
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

/// Where what stands at an offset is named, with its definitions if they are wanted.
pub fn references(project: &Project, key: &str, offset: u32, with_definitions: bool) -> Vec<Place> {
    let places = match label_at(project, key, offset) {
        Some((found, _)) => found.iter().flat_map(|label| labels::places_of(project, label)).collect(),
        None => project.symbol_at(key, offset).map_or(Vec::new(), |(symbol, _)| project.places_of(&symbol)),
    };
    places.into_iter().filter(|(_, makes)| with_definitions || !makes).map(|(place, _)| place).collect()
}

/// The name at an offset that can be given another.
///
/// # Errors
/// There is none; the text says why.
pub fn renamed(project: &Project, key: &str, offset: u32) -> Result<Span, String> {
    if let Some((found, span)) = label_at(project, key, offset) {
        return match found.len() {
            1 => Ok(span),
            0 => Err(String::from("no field has this label")),
            _ => Err(String::from("several fields may be meant: rename the label in a format")),
        };
    }
    match project.symbol_at(key, offset) {
        Some((Symbol::Local { .. } | Symbol::Function(_), span)) => Ok(span),
        Some((Symbol::Predefined(name), _)) => Err(format!("`${name}` is predefined")),
        Some((Symbol::Stanza(_), _)) => Err(String::from("the id of a stanza is the hook's")),
        None => Err(String::from("no name that can be changed stands here")),
    }
}

/// The places to change for a new name, with the text of each.
///
/// # Errors
/// The name cannot be changed, or the new one cannot be used; the text says why.
pub fn rename(project: &Project, key: &str, offset: u32, new: &str) -> Result<Vec<(Place, String)>, String> {
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
    Ok(places.map(|(place, _)| (place.clone(), spelt(project, &place, new))).collect())
}

/// A name with the `$` that stood there.
fn spelt(project: &Project, place: &Place, new: &str) -> String {
    let has_dollar =
        project.get(&place.key).is_some_and(|document| document.source.slice(place.span).starts_with(b"$"));
    if has_dollar { format!("${new}") } else { new.to_owned() }
}

/// Why a symbol cannot have a name.
fn refuse(project: &Project, symbol: &Symbol, new: &str) -> Option<String> {
    if new.is_empty() || !new.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Some(String::from("use only letters, digits and `_`"));
    }
    match symbol {
        Symbol::Function(_) if KEYWORDS.contains(&new) => Some(format!("`{new}` is a keyword")),
        Symbol::Function(_) => {
            let is_taken = !project.functions_of(new).is_empty();
            is_taken.then(|| format!("there is a function `{new}` already"))
        }
        Symbol::Local { key, line, within, .. } => {
            if words::predefined(new).is_some() {
                return Some(format!("`${new}` is predefined"));
            }
            if subroutine(new).is_some_and(|id| new.len() == 3 || project.has_stanza(id)) {
                return Some(format!("`${new}` is the stanza of that id"));
            }
            let (_, facts) = project.get(key)?.stanza(*line)?;
            let is_taken =
                facts.names.iter().any(|name| name.text == new && name.within == *within && !is_function(name));
            is_taken.then(|| format!("`{new}` is another name here already"))
        }
        Symbol::Predefined(_) | Symbol::Stanza(_) => None,
    }
}

fn is_function(name: &super::facts::Name) -> bool {
    use super::facts::Role;
    matches!(name.role, Role::Defined | Role::Called)
}
