//! What stands under the pointer, in words.

use super::document::Document;
use super::facts::Facts;
use super::labels;
use super::project::{Project, Symbol, shifted};
use super::words;
use super::xml::{self, Place, XmlFacts};
use tfbc_grammar::Span;
use tfbc_grammar::trcfmt::Lexeme;

/// Bytes of a definition that are shown.
const MAX_SHOWN: u32 = 2000;

/// What is to say of an offset, in Markdown, and the place that it is about.
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
            String::from("Version and release: of several stanzas of one id, `trcupdate` keeps the newest.")
        }
        Lexeme::Level => words::level(&word)?.to_owned(),
        Lexeme::Keyword | Lexeme::Escape => words::keyword(&word)?.to_owned(),
        Lexeme::Code | Lexeme::Move => format!("**`{word}`** {}", words::code(&word)?),
        Lexeme::Cast => cast(&word),
        Lexeme::Value | Lexeme::Number => words::number(&word)?,
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
    format!("Stanza of hook `{}`. {used}{several}", spelt(id))
}

/// An id as hooks are named: three digits where the fourth is 0.
pub fn spelt(id: u16) -> String {
    if id & 0xF == 0 { format!("{:03X}", id >> 4) } else { format!("{id:04X}") }
}

fn cast(word: &str) -> String {
    let inner = word.trim_start_matches('%');
    match inner.strip_prefix('W').and_then(|range| range.split_once('.')) {
        Some((low, high)) => {
            format!("**`{word}`** Bits {low} to {high} of the value, bit 0 the lowest, moved down to bit 0.")
        }
        None => match words::code(inner) {
            Some(text) => {
                format!("**`{word}`** The value is shown as this code shows what it reads. `{inner}`: {text}")
            }
            None => format!("**`{word}`** An unknown cast: the value prints as without one."),
        },
    }
}

fn named(project: &Project, key: &str, document: &Document, facts: &Facts, offset: u32) -> Option<String> {
    let (symbol, _) = project.symbol_at(key, offset)?;
    Some(match &symbol {
        Symbol::Predefined(name) => {
            let (kind, text) = words::predefined(name)?;
            format!("**`${name}`** predefined, {kind}: {text}.")
        }
        Symbol::Stanza(id) => match project.stanzas_of(*id).last() {
            Some((place, line)) => {
                let text = shown(project.get(&place.key)?, *line);
                format!("Inserts stanza `{}`:\n\n{}", spelt(*id), fenced("trcfmt", &text))
            }
            None => format!("Inserts stanza `{}`, which none of the files has.", spelt(*id)),
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
            let value = value.map_or(String::from("It is never assigned, and so 0."), |text| fenced("trcfmt", &text));
            format!("**`${name}`** macro of {whose}: a number of 64 bits, 0 at first.\n\n{value}")
        }
    })
}

/// The braces around an assigned name.
fn assignment(document: &Document, facts: &Facts, line: Span, name: Span) -> Option<String> {
    let holds = |pair: &&Span| shifted(**pair, line).start < name.start && name.end < shifted(**pair, line).end;
    let mut pairs: Vec<&Span> = facts.pairs.iter().filter(holds).collect();
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
        Place::Name(Some(index)) => {
            let element = &facts.elements[index];
            let (_, _, text, _) = words::ELEMENTS.iter().find(|(name, ..)| *name == element.name)?;
            Some((format!("**`{}`** {text}", element.name), element.name_span))
        }
        Place::Attribute(index, Some(attribute)) => {
            let text = words::attribute(&facts.elements[index].name, &attribute.name)?;
            Some((format!("**`{}`** {text}", attribute.name), attribute.name_span))
        }
        Place::Value(index, attribute) => {
            let number = words::number(attribute.value.trim().trim_start_matches('!'));
            let class = event_class(&attribute.name, &facts.elements[index].name, &attribute.value);
            let about = words::attribute(&facts.elements[index].name, &attribute.name);
            let parts: Vec<String> = number.into_iter().chain(class).chain(about.map(str::to_owned)).collect();
            (!parts.is_empty()).then(|| (parts.join("\n\n"), attribute.span))
        }
        _ => None,
    }
}

/// The name of a class that is given by its number.
fn event_class(attribute: &str, element: &str, value: &str) -> Option<String> {
    let is_class = attribute == "class" || (element == "eventclass" && attribute == "id");
    let number = value.trim().parse().ok().filter(|_| is_class)?;
    tfbc::events::class_name(number).map(|name| format!("Class `{name}`."))
}

fn about_field(field: &xml::Field) -> String {
    let place = match (field.offset, field.width) {
        (Some(offset), Some(width)) => format!("bytes {offset} to {}", offset.saturating_add(width).saturating_sub(1)),
        (Some(offset), None) => format!("from byte {offset}"),
        (None, _) => String::from("behind the text before it"),
    };
    format!("**`{}`** {}; {place} of the payload.", field.label, xml::describe(field))
}
