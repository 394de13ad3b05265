//! Hover texts.

use super::document::Document;
use super::facts::StanzaFacts;
use super::labels;
use super::project::{Project, Symbol, shifted};
use super::vocabulary;
use super::xml::{self, TagContext, XmlFacts};
use tfbc::EventId;
use tfbc_grammar::Span;
use tfbc_grammar::trcfmt::Lexeme;

/// Maximum bytes shown of a definition.
const MAX_SHOWN: u32 = 2000;

/// Markdown text about the word at an offset, and the span of the word.
pub fn hover(project: &Project, key: &str, offset: u32) -> Option<(String, Span)> {
    let document = project.get(key)?;
    if let Some(facts) = document.xml() {
        return in_xml(project, key, facts, offset);
    }
    let index = document.line_at(offset)?;
    let (line, facts) = document.stanza(index)?;
    let (lexeme, span) = facts.word_at(offset.checked_sub(line.start)?)?;
    let place = shifted(span, line);
    let word = document.slice(place);
    let text = match lexeme {
        Lexeme::HookId(id) => head(project, id.0),
        Lexeme::Version => {
            String::from("Version and release. If stanzas have the same id, `trcupdate` keeps the newest.")
        }
        Lexeme::Level => vocabulary::level(&word)?.to_owned(),
        Lexeme::Keyword | Lexeme::Escape => vocabulary::keyword(&word)?.to_owned(),
        Lexeme::Code | Lexeme::Move => format!("**`{word}`** {}", vocabulary::code(&word)?),
        Lexeme::Cast => cast(&word),
        Lexeme::Value | Lexeme::Number => vocabulary::number(&word)?,
        Lexeme::Macro | Lexeme::Function | Lexeme::Name => named(project, key, document, facts, offset)?,
        Lexeme::Text | Lexeme::Word | Lexeme::Mark | Lexeme::Bad => return None,
    };
    Some((text, place))
}

fn fenced(language: &str, text: &str) -> String {
    let text = text.replace("```", "` ` `");
    format!("```{language}\n{}\n```", text.trim_end())
}

fn shown(document: &Document, span: Span) -> String {
    let cut = span.len() > MAX_SHOWN;
    let text = document.slice(Span::new(span.start, span.end.min(span.start + MAX_SHOWN)));
    if cut { format!("{text}…") } else { text }
}

fn head(project: &Project, id: u16) -> String {
    let places = project.places_of(&Symbol::Stanza(id));
    let n_used = places.iter().filter(|(_, makes)| !makes).count();
    let n_stanzas = places.len() - n_used;
    let used = match n_used {
        0 => String::from("No template inserts it."),
        1 => String::from("1 template inserts it."),
        n => format!("It is inserted in {n} places."),
    };
    let several =
        if n_stanzas > 1 { format!(" {n_stanzas} stanzas have this id: the last wins.") } else { String::new() };
    format!("Stanza of hook `{}`. {used}{several}", id_text(id))
}

/// Spelling of a hook id: three digits if the fourth is 0.
pub fn id_text(id: u16) -> String {
    if id & 0xF == 0 { format!("{:03X}", id >> 4) } else { format!("{id:04X}") }
}

fn cast(word: &str) -> String {
    let inner = word.trim_start_matches('%');
    match inner.strip_prefix('W').and_then(|range| range.split_once('.')) {
        Some((low, high)) => {
            format!("**`{word}`** Bits {low} to {high} of the value, bit 0 the lowest, moved down to bit 0.")
        }
        None => match vocabulary::code(inner) {
            Some(text) => {
                format!("**`{word}`** Shows the value in the format of `{inner}`: {text}")
            }
            None => format!("**`{word}`** Unknown cast: the value prints without it."),
        },
    }
}

fn named(project: &Project, key: &str, document: &Document, facts: &StanzaFacts, offset: u32) -> Option<String> {
    let (symbol, _) = project.symbol_at(key, offset)?;
    Some(match &symbol {
        Symbol::Predefined(name) => {
            let (kind, text) = vocabulary::predefined(name)?;
            format!("**`${name}`** predefined, {kind}: {text}.")
        }
        Symbol::Stanza(id) => match project.stanzas_of(*id).last() {
            Some((place, line)) => {
                let text = shown(project.get(&place.key)?, *line);
                format!("Inserts stanza `{}`:\n\n{}", id_text(*id), fenced("trcfmt", &text))
            }
            None => format!("Inserts stanza `{}`, which is not in any of the files.", id_text(*id)),
        },
        Symbol::Function(name) => match project.functions_of(name).last() {
            Some((place, whole)) => fenced("trcfmt", &shown(project.get(&place.key)?, *whole)),
            None => format!("No file defines the function `{name}`."),
        },
        Symbol::Local { line, within, name, .. } => {
            let function = within.and_then(|index| facts.functions.get(index));
            if let Some(function) = function.filter(|function| function.params.contains(name)) {
                let head = format!("{}({})", function.name, function.params.join(","));
                return Some(format!("**`${name}`** parameter of `{head}`: a number of 64 bits."));
            }
            let (at, _) = document.stanza(*line)?;
            let whose =
                function.map_or(String::from("this stanza"), |function| format!("the function `{}`", function.name));
            let assigned = project.places_of(&symbol).into_iter().find(|(_, makes)| *makes);
            let value = assigned.and_then(|(place, _)| assignment(document, facts, at, place.span));
            let value = value.map_or(String::from("It is never assigned, so it is 0."), |text| fenced("trcfmt", &text));
            format!("**`${name}`** macro of {whose}: a number of 64 bits, 0 at first.\n\n{value}")
        }
    })
}

/// Text between the braces around an assignment.
fn assignment(document: &Document, facts: &StanzaFacts, line: Span, name: Span) -> Option<String> {
    let has_name = |pair: &&Span| shifted(**pair, line).start < name.start && name.end < shifted(**pair, line).end;
    let mut pairs: Vec<&Span> = facts.pairs.iter().filter(has_name).collect();
    pairs.sort_by_key(|pair| pair.len());
    pairs.get(1).map(|outer| shown(document, shifted(**outer, line)))
}

fn in_xml(project: &Project, key: &str, facts: &XmlFacts, offset: u32) -> Option<(String, Span)> {
    if let Some((found, span)) = labels::label_at(project, key, offset)
        && let Some(field) = found.first().and_then(|label| labels::field(project, label))
    {
        return Some((about_field(field), span));
    }
    if let Some(field) = facts.fields.iter().find(|field| field.whole.start <= offset && offset <= field.whole.end) {
        return Some((about_field(field), field.whole));
    }
    match facts.place(offset) {
        TagContext::Name(Some(index)) => {
            let element = &facts.elements[index];
            let (_, _, text, _) = vocabulary::ELEMENTS.iter().find(|(name, ..)| *name == element.name)?;
            Some((format!("**`{}`** {text}", element.name), element.name_span))
        }
        TagContext::Attribute(index, Some(attribute)) => {
            let text = vocabulary::attribute(&facts.elements[index].name, &attribute.name)?;
            Some((format!("**`{}`** {text}", attribute.name), attribute.name_span))
        }
        TagContext::Value(index, attribute) => {
            let number = vocabulary::number(attribute.value.trim().trim_start_matches('!'));
            let class = event_class(&attribute.name, &facts.elements[index].name, &attribute.value);
            let about = vocabulary::attribute(&facts.elements[index].name, &attribute.name);
            let parts: Vec<String> = number.into_iter().chain(class).chain(about.map(str::to_owned)).collect();
            (!parts.is_empty()).then(|| (parts.join("\n\n"), attribute.span))
        }
        _ => None,
    }
}

/// Name of a class that is given by number.
fn event_class(attribute: &str, element: &str, value: &str) -> Option<String> {
    let is_class = attribute == "class" || (element == "eventclass" && attribute == "id");
    let number = value.trim().parse().ok().filter(|_| is_class)?;
    EventId::class_name(number).map(|name| format!("Class `{name}`."))
}

fn about_field(field: &xml::XmlField) -> String {
    let place = match (field.offset, field.width) {
        (Some(offset), Some(width)) => format!("bytes {offset} to {}", offset.saturating_add(width).saturating_sub(1)),
        (Some(offset), None) => format!("from byte {offset}"),
        (None, _) => String::from("after the preceding string"),
    };
    format!("**`{}`** {}; {place} of the payload.", field.label, xml::describe(field))
}
