//! Completion: words that can be inserted at a position.

use super::document::Document;
use super::hover::id_text;
use super::project::{Project, shifted};
use super::protocol::CompletionKind;
use super::vocabulary;
use super::xml::{TagContext, XmlFacts};
use std::collections::BTreeMap;
use tfbc::EventId;
use tfbc_compiler::Dialect;
use tfbc_grammar::Span;
use tfbc_grammar::trcfmt::{CodeWord, KEYWORDS, Lexeme, LineKind, code_word};

/// One completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub label: String,
    pub kind: CompletionKind,
    pub detail: String,
    /// Inserted text; a snippet if it contains `$0`.
    pub text: String,
}

impl Choice {
    fn new(label: impl Into<String>, kind: CompletionKind, detail: impl Into<String>) -> Self {
        let label = label.into();
        Self { text: label.clone(), label, kind, detail: detail.into() }
    }

    fn writes(self, text: impl Into<String>) -> Self {
        Self { text: text.into(), ..self }
    }

    /// True if the text is a snippet, with `$0` for the cursor.
    pub fn is_snippet(&self) -> bool {
        self.text.contains("$0")
    }
}

/// Completions at an offset, and the span of the word that they replace.
pub fn complete(project: &Project, key: &str, offset: u32) -> Option<(Vec<Choice>, Span)> {
    let document = project.get(key)?;
    match document.xml() {
        Some(facts) => in_xml(project, document, facts, offset),
        None => in_trcfmt(project, document, offset),
    }
}

fn in_trcfmt(project: &Project, document: &Document, offset: u32) -> Option<(Vec<Choice>, Span)> {
    let index = document.line_at(offset)?;
    let line = &document.lines()[index];
    if line.kind == LineKind::Comment {
        return setting(document, line.span, offset);
    }
    let (span, facts) = document.stanza(index)?;
    let at = offset.checked_sub(span.start)?;
    let word = word_before(document.bytes(), span.start, offset);
    let before = document.bytes().get(..word.start as usize).and_then(|before| before.last().copied());
    let inside = facts.words.iter().find(|(_, place)| place.start < at && at < place.end);
    let is_text = |place: &Span| document.source.slice(shifted(*place, span)).starts_with(b"\"");
    // Nothing is offered inside of a string: any word is valid there.
    if matches!(inside, Some((Lexeme::Text | Lexeme::Bad, place)) if is_text(place)) {
        return None;
    }
    let choices = match before {
        Some(b'$') => macros(project, document, index, at),
        Some(b'%') => casts(),
        _ if facts.words.first().is_none_or(|(_, first)| at <= first.end) => return None,
        _ => descriptors(project),
    };
    Some((choices, word))
}

/// Letters, digits and marks of the word before an offset.
fn word_before(bytes: &[u8], from: u32, offset: u32) -> Span {
    let text = &bytes[from as usize..offset as usize];
    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    let n = text.iter().rev().take_while(is_word).count() as u32;
    Span::new(offset - n, offset)
}

fn macros(project: &Project, document: &Document, index: usize, at: u32) -> Vec<Choice> {
    let predefined = vocabulary::MACROS.iter();
    let mut found: BTreeMap<String, Choice> = predefined
        .map(|(name, kind, text)| {
            ((*name).to_owned(), Choice::new(*name, CompletionKind::Constant, format!("{kind}: {text}")))
        })
        .collect();
    let mut add = |name: &str, kind, detail: String| {
        found.entry(name.to_owned()).or_insert_with(|| Choice::new(name, kind, detail));
    };
    if let Some((_, facts)) = document.stanza(index) {
        // A function sees its own macros and parameters only.
        let within = facts.function_at(at);
        // The word that is being typed is itself a name of the stanza.
        for name in facts.names.iter().filter(|name| name.within == within && name.span.end != at) {
            use super::facts::NameRole;
            match name.role {
                NameRole::Param => add(&name.text, CompletionKind::Variable, String::from("parameter")),
                NameRole::Assigned => add(&name.text, CompletionKind::Variable, String::from("macro")),
                NameRole::Used | NameRole::Defined | NameRole::Called => {}
            }
        }
    }
    for (_, other) in project.documents() {
        for (_, _, facts) in other.stanzas() {
            let Some((id, _)) = facts.id else { continue };
            let label = facts.label.as_ref().map_or("", |(label, _)| label);
            add(&id_text(id), CompletionKind::Reference, format!("stanza {label}"));
        }
    }
    found.into_values().collect()
}

fn casts() -> Vec<Choice> {
    let prints = |word: &str| matches!(code_word(word.as_bytes()), Some(CodeWord::Prints(_))) && !word.starts_with('H');
    let casts = vocabulary::CODES.iter().filter(|(word, _)| prints(word));
    let casts = casts.map(|(word, text)| Choice::new(*word, CompletionKind::TypeParameter, *text));
    casts.chain([Choice::new("W0.3", CompletionKind::TypeParameter, "bits 0 to 3 of the value")]).collect()
}

fn descriptors(project: &Project) -> Vec<Choice> {
    let codes = vocabulary::CODES.iter().map(|(word, text)| Choice::new(*word, CompletionKind::Unit, *text));
    let mut found: Vec<Choice> = codes.collect();
    for keyword in KEYWORDS {
        let text = match keyword {
            "LOOP" => "LOOP ${1:X1} { $0 }",
            "BITFLAGS" => "BITFLAGS ${1:X4}, ${2:0x1} \"${3:text}\"$0",
            _ => "",
        };
        let choice = Choice::new(keyword, CompletionKind::Keyword, vocabulary::keyword(keyword).unwrap_or_default());
        found.push(match text {
            "" => choice.writes(format!("{keyword}(${{1:a}},${{2:b}})$0")),
            text => choice.writes(text),
        });
    }
    let mut functions = BTreeMap::new();
    for (_, document) in project.documents() {
        for (_, _, facts) in document.stanzas() {
            for function in &facts.functions {
                let holes = function.params.iter().zip(1..).map(|(param, at)| format!("${{{at}:{param}}}"));
                let text = format!("{}({})$0", function.name, holes.collect::<Vec<_>>().join(","));
                let detail = format!("{}({})", function.name, function.params.join(","));
                let choice = Choice::new(&function.name, CompletionKind::Function, detail).writes(text);
                functions.insert(function.name.clone(), choice);
            }
        }
    }
    found.extend(functions.into_values());
    found
}

/// Completions of settings in a `# tfbc: ` comment.
fn setting(document: &Document, line: Span, offset: u32) -> Option<(Vec<Choice>, Span)> {
    let before = document.slice(Span::new(line.start, offset.max(line.start)));
    let written = before.trim_start().strip_prefix('#')?.trim_start().strip_prefix("tfbc:")?.trim_start();
    let choices = Dialect::SETTINGS.iter().flat_map(|(name, values, what)| {
        values.iter().map(move |value| Choice::new(format!("{name}={value}"), CompletionKind::Property, *what))
    });
    Some((choices.collect(), Span::new(offset.saturating_sub(written.len() as u32), offset)))
}

fn in_xml(project: &Project, document: &Document, facts: &XmlFacts, offset: u32) -> Option<(Vec<Choice>, Span)> {
    let bytes = document.bytes();
    match facts.place(offset) {
        TagContext::Value(index, attribute) => {
            let choices = values(project, document, facts, index, &attribute.name);
            Some((choices, attribute.span))
        }
        TagContext::Attribute(index, attribute) => {
            let element = &facts.elements[index];
            let parent = element.parent.map_or("", |parent| facts.elements[parent].name.as_str());
            let known = vocabulary::attributes(&element.name, parent).iter().filter(|name| element.get(name).is_none());
            let choice = |name: &&str| {
                let text = vocabulary::attribute(&element.name, name).unwrap_or_default();
                Choice::new(*name, CompletionKind::Property, text).writes(format!("{name}=\"$0\""))
            };
            let span = attribute.map_or(Span::new(offset, offset), |attribute| attribute.name_span);
            Some((known.map(choice).collect(), span))
        }
        TagContext::Name(_) | TagContext::Outside => {
            let word = word_before(bytes, 0, offset);
            // Elements are offered after a `<`; elsewhere every word would open the list.
            let has_open = bytes.get(..word.start as usize).is_some_and(|before| before.ends_with(b"<"));
            let parent = facts.element_at(word.start.saturating_sub(2)).map(|index| &facts.elements[index]);
            let parent =
                parent.filter(|parent| parent.tag.start + 1 < word.start).map_or("", |parent| parent.name.as_str());
            has_open.then(|| (elements(parent), word))
        }
    }
}

fn elements(parent: &str) -> Vec<Choice> {
    if parent == "eventclass" {
        let text = "event id=\"${1:1}\" sformat=\"${2:%4u1x label}\"/>$0";
        return vec![Choice::new("event", CompletionKind::Class, "An event of the class.").writes(text)];
    }
    let fits = |parents: &[&str]| if parent.is_empty() { parents.is_empty() } else { parents.contains(&parent) };
    let known = vocabulary::ELEMENTS.iter().filter(|(_, parents, ..)| fits(parents));
    let choice = |(name, _, text, _): &(&str, &[&str], &'static str, &[&str])| {
        let written = match *name {
            "eventdefinitions" => "eventdefinitions>\n  $0\n</eventdefinitions>",
            "datakey" => {
                "datakey format=\"${1:%4u1x label}\">\n  <event class=\"${2:6}\" id=\"${3:1}\"/>$0\n</datakey>"
            }
            "eventclass" => "eventclass id=\"${1:6}\">\n  $0\n</eventclass>",
            "event" => "event class=\"${1:6}\" id=\"${2:1}\"/>$0",
            "bitmask" => "bitmask name=\"${1:label}\" value=\"${2:0xff}\"/>$0",
            "enum" => "enum name=\"${1:label}\" value=\"${2:0}\" string=\"${3:text}\"/>$0",
            _ => "condition name=\"${1:label}\" value=\"${2:0}\"/>$0",
        };
        Choice::new(*name, CompletionKind::Class, *text).writes(written)
    };
    known.map(choice).collect()
}

fn values(project: &Project, document: &Document, facts: &XmlFacts, index: usize, attribute: &str) -> Vec<Choice> {
    let element = &facts.elements[index];
    let parent = element.parent.map_or("", |parent| facts.elements[parent].name.as_str());
    match (element.name.as_str(), attribute) {
        ("event", "class") | ("eventclass", "id") => {
            let class = |number: u8| {
                let name = EventId::class_name(number)?;
                Some(Choice::new(name, CompletionKind::Enum, format!("class {number}")))
            };
            (0..32).filter_map(class).collect()
        }
        ("event", "id") => {
            let holder =
                if parent == "eventclass" { element.parent.map(|at| (at, "id")) } else { Some((index, "class")) };
            let class =
                holder.and_then(|(at, name)| facts.elements[at].get(name)).map_or("", |class| class.value.trim());
            event_ids(class)
        }
        ("datakey", "show_masked_value") => {
            ["true", "false"].map(|value| Choice::new(value, CompletionKind::Value, "")).to_vec()
        }
        ("datakey" | "event", "format" | "sformat") => {
            let specs = [
                ("%4u1x label", "4 bytes in hexadecimal"),
                ("%4s1d label", "4 bytes, signed decimal"),
                ("%1s0 label", "text up to its NUL"),
            ];
            specs.map(|(spec, text)| Choice::new(spec, CompletionKind::Unit, text)).to_vec()
        }
        ("enum" | "bitmask", "name" | "key") => {
            let fields = facts.owner(index).into_iter().flat_map(|owner| facts.fields_of(owner));
            fields.map(|field| Choice::new(&field.label, CompletionKind::Field, super::xml::describe(field))).collect()
        }
        ("condition", "name" | "key") => labels_for_condition(project, document, facts, index),
        _ => Vec::new(),
    }
}

/// Labels in other datakeys of the same events.
fn labels_for_condition(project: &Project, document: &Document, facts: &XmlFacts, index: usize) -> Vec<Choice> {
    let Some(own) = facts.owner(index) else { return Vec::new() };
    let wanted = facts.events(own);
    let mut found = BTreeMap::new();
    for (_, other) in project.documents() {
        let Some(theirs) = other.xml() else { continue };
        for field in &theirs.fields {
            let is_own = other.uri == document.uri && field.owner == own;
            if !is_own && theirs.events(field.owner).iter().any(|event| wanted.contains(event)) {
                let detail = super::xml::describe(field);
                found.insert(field.label.clone(), Choice::new(&field.label, CompletionKind::Field, detail));
            }
        }
    }
    found.into_values().collect()
}

/// Events of a class by number, with their names.
fn event_ids(class: &str) -> Vec<Choice> {
    let name = class.parse().ok().and_then(EventId::class_name).unwrap_or(class);
    let choice = |line: &str| {
        let mut columns = line.split("  ").filter(|column| !column.is_empty()).map(str::trim);
        let (id, label) = (columns.next()?, columns.next()?);
        let number = id.strip_prefix(name)?.strip_prefix(':')?.split('-').next()?;
        Some(Choice::new(format!("{label} ({number})"), CompletionKind::EnumMember, id).writes(number))
    };
    EventId::QNX_LISTING.lines().filter_map(choice).collect()
}
