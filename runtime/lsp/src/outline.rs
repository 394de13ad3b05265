//! Outline, folding and semantic tokens.

use super::document::Document;
use super::hover::id_text;
use super::project::shifted;
use super::protocol::Encoding;
use super::protocol::{SemanticToken, SymbolKind};
use super::text::{columns, without_line_end};
use tfbc_grammar::Span;
use tfbc_grammar::trcfmt::{Lexeme, LineKind};

/// Named item of the outline, with the items in it.
#[derive(Debug)]
pub struct OutlineEntry {
    pub name: String,
    pub detail: String,
    pub kind: SymbolKind,
    pub whole: Span,
    /// Span of the name.
    pub span: Span,
    pub children: Vec<OutlineEntry>,
}

/// Stanzas and functions, or datakeys and fields.
pub fn entries(document: &Document) -> Vec<OutlineEntry> {
    if document.xml().is_some() {
        return xml_entries(document);
    }
    let stanzas = document.stanzas().filter_map(|(_, line, facts)| {
        let (id, span) = facts.id?;
        let functions = facts.functions.iter().map(|function| OutlineEntry {
            name: function.name.clone(),
            detail: format!("({})", function.params.join(",")),
            kind: SymbolKind::Function,
            whole: shifted(function.whole, line),
            span: shifted(function.span, line),
            children: Vec::new(),
        });
        Some(OutlineEntry {
            name: id_text(id),
            detail: facts.label.as_ref().map_or(String::new(), |(label, _)| label.clone()),
            kind: SymbolKind::Event,
            whole: line,
            span: shifted(span, line),
            children: functions.collect(),
        })
    });
    stanzas.collect()
}

fn xml_entries(document: &Document) -> Vec<OutlineEntry> {
    let Some(facts) = document.xml() else { return Vec::new() };
    let owners = facts.elements.iter().enumerate().filter(|(index, _)| facts.owner(*index) == Some(*index));
    let entry = |(index, element): (usize, &super::xml::Element)| {
        let events: Vec<_> = facts.events(index).iter().map(|(class, id)| format!("{class}:{id}")).collect();
        let fields = facts.fields_of(index).map(|field| OutlineEntry {
            name: field.label.clone(),
            detail: super::xml::describe(field),
            kind: SymbolKind::Field,
            whole: field.whole,
            span: field.span,
            children: Vec::new(),
        });
        OutlineEntry {
            name: if events.is_empty() { element.name.clone() } else { events.join(", ") },
            detail: element.name.clone(),
            kind: SymbolKind::Event,
            whole: element.whole,
            span: element.name_span,
            children: fields.collect(),
        }
    };
    owners.map(entry).collect()
}

/// Spans of several lines that can be folded; true for comments.
pub fn folds(document: &Document) -> Vec<(Span, bool)> {
    if let Some(facts) = document.xml() {
        let elements = facts.elements.iter().map(|element| (element.whole, false));
        return elements.chain(facts.comments.iter().map(|comment| (*comment, true))).collect();
    }
    let mut found: Vec<(Span, bool)> = Vec::new();
    let mut in_comments = false;
    for (index, line) in document.lines().iter().enumerate() {
        match line.kind {
            LineKind::Comment => match found.last_mut().filter(|_| in_comments) {
                Some((last, _)) => last.end = line.span.end,
                None => found.push((line.span, true)),
            },
            LineKind::Stanza => {
                found.push((line.span, false));
                let pairs = document.stanza(index).map(|(span, facts)| (span, &facts.pairs));
                found.extend(
                    pairs.into_iter().flat_map(|(at, pairs)| pairs.iter().map(move |pair| (shifted(*pair, at), false))),
                );
            }
            LineKind::Blank | LineKind::Deletion | LineKind::Unknown => {}
        }
        in_comments = line.kind == LineKind::Comment;
    }
    found
}

/// Token types; their indices are the numbers in the protocol.
pub const TOKEN_TYPES: [&str; 11] = [
    "keyword",
    "string",
    "number",
    "comment",
    "function",
    "parameter",
    "variable",
    "macro",
    "type",
    "class",
    "property",
];

const KEYWORD: u32 = 0;
const STRING: u32 = 1;
const NUMBER: u32 = 2;
const COMMENT: u32 = 3;
const FUNCTION: u32 = 4;
const PARAMETER: u32 = 5;
const VARIABLE: u32 = 6;
const MACRO: u32 = 7;
const TYPE: u32 = 8;
const CLASS: u32 = 9;
const PROPERTY: u32 = 10;

/// Semantic tokens in a range.
pub fn tokens(document: &Document, within: Span, encoding: Encoding) -> Vec<SemanticToken> {
    let mut found: Vec<(Span, u32)> = Vec::new();
    if let Some(facts) = document.xml() {
        for element in &facts.elements {
            found.push((element.name_span, CLASS));
            for attribute in &element.attributes {
                found.push((attribute.name_span, PROPERTY));
                found.push((attribute.span, STRING));
            }
        }
        found.extend(facts.comments.iter().map(|comment| (*comment, COMMENT)));
        found.sort_by_key(|(span, _)| span.start);
        found.retain(|(span, _)| span.end >= within.start && span.start <= within.end);
    } else {
        let first = document.line_at(within.start).unwrap_or(0);
        for (index, line) in document.lines().iter().enumerate().skip(first) {
            if line.span.start > within.end {
                break;
            }
            if line.kind == LineKind::Comment {
                found.push((line.span, COMMENT));
            } else if let Some((at, facts)) = document.stanza(index) {
                let mut names = facts.names.iter().peekable();
                for (lexeme, span) in &facts.words {
                    while names.next_if(|name| name.span.start < span.start).is_some() {}
                    let params = names.peek().filter(|name| name.span.start == span.start).and_then(|name| {
                        let function = facts.functions.get(name.within?)?;
                        Some(function.params.contains(&name.text))
                    });
                    found.extend(token_type(*lexeme, params == Some(true)).map(|kind| (shifted(*span, at), kind)));
                }
            }
        }
    }
    relative(document, &found, encoding)
}

fn token_type(lexeme: Lexeme, is_param: bool) -> Option<u32> {
    Some(match lexeme {
        Lexeme::HookId(_) => CLASS,
        Lexeme::Version | Lexeme::Value | Lexeme::Number => NUMBER,
        Lexeme::Level => PROPERTY,
        Lexeme::Keyword | Lexeme::Escape => KEYWORD,
        Lexeme::Code | Lexeme::Move | Lexeme::Cast => TYPE,
        Lexeme::Text => STRING,
        Lexeme::Function => FUNCTION,
        Lexeme::Macro | Lexeme::Name if is_param => PARAMETER,
        Lexeme::Macro => MACRO,
        Lexeme::Name => VARIABLE,
        Lexeme::Mark | Lexeme::Word | Lexeme::Bad => return None,
    })
}

/// Encodes tokens as the protocol does, each relative to the one before. A token of several lines is split.
fn relative(document: &Document, found: &[(Span, u32)], encoding: Encoding) -> Vec<SemanticToken> {
    let (bytes, starts) = (document.bytes(), document.line_starts());
    let mut tokens = Vec::with_capacity(found.len());
    // Line and column of the last token, and the offset of that column.
    let (mut line, mut column, mut at) = (0usize, 0u32, 0usize);
    let (mut last_line, mut last_column) = (0usize, 0u32);
    for (span, kind) in found {
        let mut start = span.start as usize;
        while start < span.end as usize {
            while let Some(next) = starts.get(line + 1).filter(|next| **next as usize <= start) {
                (line, column, at) = (line + 1, 0, *next as usize);
            }
            column += columns(&bytes[at..start], encoding) as u32;
            at = start;
            let end = starts.get(line + 1).map_or(span.end, |next| span.end.min(*next)) as usize;
            let length = columns(without_line_end(&bytes[start..end]), encoding) as u32;
            if length > 0 {
                let delta_start = if line == last_line { column - last_column } else { column };
                tokens.push(SemanticToken {
                    delta_line: (line - last_line) as u32,
                    delta_start,
                    length,
                    token_type: *kind,
                });
                (last_line, last_column) = (line, column);
            }
            start = end;
        }
    }
    tokens
}
