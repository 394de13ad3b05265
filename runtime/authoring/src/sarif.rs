//! Diagnostics as a SARIF 2.1.0 log, for build servers and editors.
//!
//! Columns count characters (`unicodeCodePoints`); an invalid UTF-8 byte counts as one. Lines and columns start at 1,
//! and a region ends after its last character.

use serde_json::{Value, json};
use tfbc_grammar::{CodeInfo, Diagnostic, Edit, Fix, Label, Severity, Source, SourceId, Sources, Span};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Writes all diagnostics as one log: JSON text that ends with a newline.
///
/// ```
/// use tfbc_grammar::{Source, Sources};
/// let mut sources = Sources::new();
/// sources.add(Source::new("a.trcfmt", "010 1.0 X17\n"));
/// let found = tfbc_compiler::compile(&sources, &Default::default()).diagnostics;
/// let log: serde_json::Value = serde_json::from_str(&tfbc_authoring::sarif::log(&sources, &found))?;
/// assert_eq!(log["runs"][0]["results"][0]["ruleId"], "S07");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn log(sources: &Sources, diagnostics: &[Diagnostic]) -> String {
    let places: Vec<CharIndex> = sources.iter().map(|(_, source)| CharIndex::new(source)).collect();
    let mut rules: Vec<&CodeInfo> = diagnostics.iter().map(|found| found.code).collect();
    rules.sort_by_key(|info| info.code);
    rules.dedup();
    let writer = LogWriter { places: &places, rules: &rules };
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "tfbc",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|info| rule(info)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "artifacts": places.iter().map(CharIndex::artifact).collect::<Vec<_>>(),
            "invocations": [{ "executionSuccessful": true }],
            "results": diagnostics.iter().map(|found| writer.result(found)).collect::<Vec<_>>(),
        }],
    });
    format!("{log:#}\n")
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn rule(info: &CodeInfo) -> Value {
    let text = crate::explanation::explanation(info.explain);
    let first = text.split("\n\n").next().unwrap_or_default();
    json!({
        "id": info.code,
        "shortDescription": { "text": info.title },
        "fullDescription": { "text": first },
        "help": { "text": text },
        "defaultConfiguration": { "level": level(info.severity) },
    })
}

struct LogWriter<'w> {
    places: &'w [CharIndex<'w>],
    rules: &'w [&'w CodeInfo],
}

impl LogWriter<'_> {
    fn result(&self, found: &Diagnostic) -> Value {
        let text = match &found.help {
            Some(help) => format!("{}\nhelp: {help}", found.message),
            None => found.message.clone(),
        };
        let mut result = json!({
            "ruleId": found.code.code,
            "ruleIndex": self.rules.binary_search_by_key(&found.code.code, |info| info.code).unwrap_or(0),
            "level": level(found.severity),
            "message": { "text": text },
            "locations": self.location(&found.primary).into_iter().collect::<Vec<_>>(),
        });
        let related: Vec<Value> = found.secondary.iter().filter_map(|label| self.location(label)).collect();
        if !related.is_empty() {
            result["relatedLocations"] = related.into();
        }
        if let Some(fix) = found.fix.as_ref().and_then(|fix| self.fix(found.primary.source, fix)) {
            result["fixes"] = json!([fix]);
        }
        result
    }

    fn location(&self, label: &Label) -> Option<Value> {
        let places = self.places.get(usize::from(label.source.0))?;
        let physical = json!({
            "artifactLocation": places.location(label.source),
            "region": places.region(label.span),
        });
        Some(match label.text.is_empty() {
            true => json!({ "physicalLocation": physical }),
            false => json!({ "physicalLocation": physical, "message": { "text": label.text } }),
        })
    }

    fn fix(&self, source: SourceId, fix: &Fix) -> Option<Value> {
        let places = self.places.get(usize::from(source.0))?;
        let replacement = |edit: &Edit| json!({ "deletedRegion": places.region(edit.span), "insertedContent": { "text": edit.text } });
        Some(json!({
            "description": { "text": fix.title },
            "artifactChanges": [{
                "artifactLocation": places.location(source),
                "replacements": fix.edits.iter().map(replacement).collect::<Vec<_>>(),
            }],
            "properties": { "safe": fix.safe },
        }))
    }
}

/// Converts byte offsets of one source to character offsets.
struct CharIndex<'s> {
    source: &'s Source,
    /// One bit per byte, set if a character begins there.
    starts: Vec<u64>,
    /// Number of characters before each block of 64 bytes.
    before: Vec<u32>,
}

impl<'s> CharIndex<'s> {
    fn new(source: &'s Source) -> Self {
        let bytes = source.bytes();
        let mut starts = vec![0u64; bytes.len() / 64 + 1];
        let mut mark = |at: usize| starts[at / 64] |= 1 << (at % 64);
        let mut at = 0;
        for chunk in bytes.utf8_chunks() {
            chunk.valid().char_indices().for_each(|(offset, _)| mark(at + offset));
            at += chunk.valid().len();
            (at..at + chunk.invalid().len()).for_each(&mut mark);
            at += chunk.invalid().len();
        }
        let mut n = 0;
        let mut before = Vec::with_capacity(starts.len());
        for run in &starts {
            before.push(n);
            n += run.count_ones();
        }
        Self { source, starts, before }
    }

    /// Number of characters before an offset.
    fn characters(&self, offset: u32) -> u32 {
        let at = (offset as usize).min(self.source.bytes().len());
        let below = self.starts[at / 64] & ((1 << (at % 64)) - 1);
        self.before[at / 64] + below.count_ones()
    }

    fn line_column(&self, offset: u32) -> (u32, u32) {
        let offset = offset.min(self.source.bytes().len() as u32);
        let (line, column) = self.source.line_column(offset);
        (line, self.characters(offset) - self.characters(offset - (column - 1)) + 1)
    }

    fn region(&self, span: Span) -> Value {
        let ((start_line, start_column), (end_line, end_column)) =
            (self.line_column(span.start), self.line_column(span.end.max(span.start)));
        json!({
            "startLine": start_line,
            "startColumn": start_column,
            "endLine": end_line,
            "endColumn": end_column,
            "byteOffset": span.start,
            "byteLength": span.len(),
        })
    }

    fn location(&self, source: SourceId) -> Value {
        json!({ "uri": uri(self.source.name()), "index": source.0 })
    }

    fn artifact(&self) -> Value {
        json!({ "location": { "uri": uri(self.source.name()) }, "length": self.source.bytes().len() })
    }
}

/// File name as a URI reference: relative, or `file:` if it is absolute.
fn uri(name: &str) -> String {
    let mut out = String::from(if name.starts_with('/') { "file://" } else { "" });
    // A `:` in the first segment of a relative reference would read as a URI scheme.
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_references() {
        for (name, expected) in [
            ("a/b.trcfmt", "a/b.trcfmt"),
            ("/tmp/a b%.trcfmt", "file:///tmp/a%20b%25.trcfmt"),
            ("a:b\u{e9}", "a%3Ab%C3%A9"),
            ("-", "-"),
        ] {
            assert_eq!(uri(name), expected);
        }
    }

    #[test]
    fn columns_count_characters() {
        let long = format!("{}\u{e9}X", "\u{e9}".repeat(100));
        let source = Source::new("a", [b"x\r\n\xff".as_slice(), long.as_bytes(), b"\ny"].concat());
        let places = CharIndex::new(&source);
        for (offset, expected) in
            [(0, (1, 1)), (1, (1, 2)), (3, (2, 1)), (4, (2, 2)), (206, (2, 103)), (208, (3, 1)), (9999, (3, 2))]
        {
            assert_eq!(places.line_column(offset), expected, "{offset}");
        }
    }

    #[test]
    fn a_region_of_no_characters_ends_where_it_begins() {
        let source = Source::new("a", "xy\n");
        let region = CharIndex::new(&source).region(Span::new(1, 1));
        assert_eq!(
            (&region["startColumn"], &region["endColumn"], &region["byteLength"]),
            (&2.into(), &2.into(), &0.into())
        );
    }
}
