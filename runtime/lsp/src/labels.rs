//! Labels in XML formats: definitions and uses.

use super::project::{FileSpan, Project};
use super::xml::{XmlFacts, XmlField};
use tfbc_grammar::Span;

/// Identity of a field: file, the datakey or event with its format, and label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldLabel {
    pub key: String,
    pub owner: usize,
    pub text: String,
}

/// Fields defined or named at an offset, and the span of the name.
pub fn label_at(project: &Project, key: &str, offset: u32) -> Option<(Vec<FieldLabel>, Span)> {
    let facts = project.get(key)?.xml()?;
    if let Some(field) = facts.fields.iter().find(|field| field.span.start <= offset && offset <= field.span.end) {
        let label = FieldLabel { key: key.to_owned(), owner: field.owner, text: field.label.clone() };
        return Some((vec![label], field.span));
    }
    let index = facts.element_at(offset)?;
    let element = &facts.elements[index];
    let attribute = element.label().filter(|found| found.span.start <= offset && offset <= found.span.end)?;
    if !matches!(element.name.as_str(), "enum" | "bitmask" | "condition") {
        return None;
    }
    let text = canonical(&attribute.value);
    let labels = match element.name.as_str() {
        "condition" => fields_for_condition(project, key, facts, index, &text),
        _ => vec![FieldLabel { key: key.to_owned(), owner: facts.owner(index)?, text }],
    };
    Some((labels, attribute.span))
}

/// Trims a label and reduces white space to single blanks; labels are compared in this form.
fn canonical(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

/// Fields that a condition may refer to: those with this label in other datakeys of the same events.
fn fields_for_condition(
    project: &Project,
    key: &str,
    facts: &XmlFacts,
    condition: usize,
    text: &str,
) -> Vec<FieldLabel> {
    let Some(own) = facts.owner(condition) else { return Vec::new() };
    let events = facts.events(own);
    let mut found = Vec::new();
    for (other_key, document) in project.documents() {
        let Some(other) = document.xml() else { continue };
        for field in other.fields.iter().filter(|field| field.label == text) {
            let is_own = other_key == key && field.owner == own;
            if !is_own && other.events(field.owner).iter().any(|event| events.contains(event)) {
                found.push(FieldLabel { key: other_key.clone(), owner: field.owner, text: text.to_owned() });
            }
        }
    }
    found
}

/// Field with a label.
pub fn field<'p>(project: &'p Project, label: &FieldLabel) -> Option<&'p XmlField> {
    project.get(&label.key)?.xml()?.fields_of(label.owner).find(|field| field.label == label.text)
}

/// All uses of a label; true for its definition.
pub fn places_of(project: &Project, label: &FieldLabel) -> Vec<(FileSpan, bool)> {
    let mut found = Vec::new();
    if let Some(field) = field(project, label) {
        found.push((FileSpan { key: label.key.clone(), span: field.span }, true));
    }
    for (key, document) in project.documents() {
        let Some(facts) = document.xml() else { continue };
        for (index, element) in facts.elements.iter().enumerate() {
            let Some(attribute) = element.label().filter(|found| canonical(&found.value) == label.text) else {
                continue;
            };
            let is_named = match element.name.as_str() {
                "enum" | "bitmask" => *key == label.key && facts.owner(index) == Some(label.owner),
                "condition" => fields_for_condition(project, key, facts, index, &label.text).contains(label),
                _ => false,
            };
            if is_named {
                found.push((FileSpan { key: key.clone(), span: attribute.span }, false));
            }
        }
    }
    found
}

/// Reason why a text cannot be a label in this format.
pub fn refuse(project: &Project, label: &FieldLabel, new: &str) -> Option<String> {
    let facts = project.get(&label.key)?.xml()?;
    let bad = new.chars().find(|c| matches!(c, '%' | '<' | '>' | '&' | '"' | '\'') || c.is_control());
    if let Some(bad) = bad {
        return Some(format!("a label cannot contain `{bad}`"));
    }
    if canonical(new) != new || new.is_empty() {
        return Some(String::from("a label needs at least one word, and single blanks between words"));
    }
    let is_taken = facts.fields_of(label.owner).any(|field| field.label == new);
    is_taken.then(|| format!("the format already has a field `{new}`"))
}
