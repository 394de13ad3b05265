//! Converts compiler diagnostics to diagnostics and code actions of the protocol.

use super::check::Checked;
use super::project::Project;
use super::protocol::Encoding;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use tfbc_grammar::{Diagnostic, Edit, Severity, Span};

/// Diagnostics of one version of a file.
#[derive(Debug, Default)]
pub struct FileDiagnostics {
    pub version: Option<i32>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Groups diagnostics by file, in the order of the files.
pub fn by_file(checked: &mut Checked) -> BTreeMap<String, FileDiagnostics> {
    let mut found: BTreeMap<String, FileDiagnostics> = BTreeMap::new();
    for (key, version, _) in &checked.files {
        found.insert(key.clone(), FileDiagnostics { version: *version, diagnostics: Vec::new() });
    }
    for diagnostic in std::mem::take(&mut checked.diagnostics) {
        let file = checked.files.get(usize::from(diagnostic.primary.source.0));
        if let Some(found) = file.and_then(|(key, ..)| found.get_mut(key)) {
            found.diagnostics.push(diagnostic);
        }
    }
    found
}

/// Converts one diagnostic. `keys` are the files, indexed by source id.
pub fn shown(project: &Project, keys: &[String], key: &str, found: &Diagnostic, encoding: Encoding) -> Value {
    let Some(document) = project.get(key) else { return Value::Null };
    let mut message = found.message.clone();
    if !found.primary.text.is_empty() && !message.contains(&found.primary.text) {
        message.push_str(&format!(" ({})", found.primary.text));
    }
    if let Some(help) = &found.help {
        message.push_str(&format!("\nhelp: {help}"));
    }
    let related = found.secondary.iter().filter_map(|label| {
        let document = project.get(keys.get(usize::from(label.source.0))?)?;
        let text = if label.text.is_empty() { "see here" } else { &label.text };
        Some(json!({
            "location": { "uri": document.uri, "range": document.range(label.span, encoding) },
            "message": text,
        }))
    });
    json!({
        "range": document.range(found.primary.span, encoding),
        "severity": match found.severity { Severity::Error => 1, Severity::Warning => 2 },
        "code": found.code.code,
        "source": "tfbc",
        "message": message,
        "relatedInformation": related.collect::<Vec<_>>(),
    })
}

/// Explanation of a diagnostic's code, in Markdown.
pub fn explained(found: &Diagnostic) -> String {
    let text: Vec<&str> = found.code.explain.lines().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    format!("**{}: {}**\n\n{}", found.code.code, found.code.title, text.join("\n"))
}

/// Text edits of one file.
pub fn changes<'e>(
    project: &Project,
    key: &str,
    edits: impl IntoIterator<Item = &'e Edit>,
    encoding: Encoding,
) -> Option<Value> {
    let document = project.get(key)?;
    let edits = edits.into_iter();
    let edits: Vec<Value> =
        edits.map(|edit| json!({ "range": document.range(edit.span, encoding), "newText": edit.text })).collect();
    let mut changes = Map::new();
    changes.insert(document.uri.as_str().to_owned(), Value::Array(edits));
    Some(json!({ "changes": changes }))
}

/// Quick fixes for the diagnostics in a range. If the file has several safe fixes, there is also one action that
/// applies them all.
pub fn actions(
    project: &Project,
    keys: &[String],
    key: &str,
    found: &FileDiagnostics,
    within: Span,
    encoding: Encoding,
) -> Vec<Value> {
    let touches = |span: Span| span.start <= within.end && within.start <= span.end;
    let mut actions = Vec::new();
    for diagnostic in found.diagnostics.iter().filter(|found| touches(found.primary.span)) {
        let Some(fix) = &diagnostic.fix else { continue };
        actions.push(json!({
            "title": fix.title,
            "kind": "quickfix",
            "isPreferred": fix.safe,
            "diagnostics": [shown(project, keys, key, diagnostic, encoding)],
            "edit": changes(project, key, &fix.edits, encoding),
        }));
    }
    let edits = all_safe(&found.diagnostics);
    if !edits.is_empty() {
        actions.push(json!({
            "title": "fix everything that tfbc can fix safely",
            "kind": "source.fixAll",
            "edit": changes(project, key, edits, encoding),
        }));
    }
    actions
}

/// Edits of all safe fixes, in order. If fixes overlap, the first one is used.
fn all_safe(diagnostics: &[Diagnostic]) -> Vec<&Edit> {
    let fixes = diagnostics.iter().filter_map(|found| found.fix.as_ref()).filter(|fix| fix.safe);
    let mut fixes: Vec<&[Edit]> = fixes.map(|fix| &fix.edits[..]).filter(|edits| !edits.is_empty()).collect();
    fixes.sort_by_key(|edits| edits[0].span);
    let mut all: Vec<&Edit> = Vec::new();
    for edits in fixes {
        // Two insertions at one position have no defined order.
        let end = all.last().map(|last| last.span);
        let is_free = |end: Span| {
            edits[0].span.start > end.end
                || (edits[0].span.start == end.end && !edits[0].span.is_empty() && !end.is_empty())
        };
        if end.is_none_or(is_free) {
            all.extend(edits);
        }
    }
    all
}
