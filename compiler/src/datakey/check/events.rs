//! Checks classes and events: ranges of numbers, and names from the table.

use super::{EventKey, Findings};
use crate::codes::{BAD_CLASS, BAD_EVENT_ID, CLASS_13, SAME_EVENT};
use crate::events::{class_names, class_number, event_labels, event_numbers};
use std::collections::HashSet;
use tfbc_grammar::datakey::ast;
use tfbc_grammar::datakey::ast::{Key, KeyKind};
use tfbc_grammar::{CodeInfo, Diagnostic, Edit, Fix, SourceId, Span};

/// Class of user events.
pub(crate) const USER: u8 = 6;

/// Class 13 is another number of class 5, system events, in the records of some kernels.
const SYSTEM_ALIAS: u8 = 13;
const SYSTEM: u8 = 5;

const MAX_CLASS: i128 = 31;
const MAX_ID: i128 = 1023;

/// Events of one datakey, without duplicates.
#[derive(Default)]
pub(crate) struct DatakeyEvents {
    list: Vec<(EventKey, Span)>,
    known: HashSet<EventKey>,
}

impl DatakeyEvents {
    /// Adds the event named by `<event class= id=>`.
    pub fn name(&mut self, source: SourceId, event: &ast::EventElement, findings: &mut Findings) {
        let class = class(source, event.tag, &event.class, findings);
        let id = id(source, event.tag, class, &event.id, findings);
        let Some(found) = class.zip(id) else { return };
        if self.known.insert(found) {
            self.list.push((found, event.tag));
            return;
        }
        let message = format!("datakey names class {} id {} twice", found.0, found.1);
        let warning = Diagnostic::warning(&SAME_EVENT, source, event.tag, message);
        let fix = Fix::safe("delete the element", [Edit::delete(event.whole)]);
        findings.add(warning.with_help("delete this one: the datakey applies once").with_fix(fix));
    }

    /// The events with the spans of their start tags.
    pub fn finish(self) -> Vec<(EventKey, Span)> {
        self.list
    }
}

/// Resolves a class to its number; class 13 becomes 5.
pub(crate) fn class(source: SourceId, tag: Span, key: &Key, findings: &mut Findings) -> Option<u8> {
    let number = match key.kind {
        // A record has five bits for its class and ten for its event.
        KeyKind::Number(number) if (0..=MAX_CLASS).contains(&number) => number as u8,
        KeyKind::Number(number) => {
            let message = format!("class must be 0 to {MAX_CLASS}, found {number}");
            findings.add(error(&BAD_CLASS, source, tag, key, message));
            return None;
        }
        KeyKind::Name(name) => {
            let text = String::from_utf8_lossy(name);
            let Some(number) = class_number(&text) else {
                let error = error(&BAD_CLASS, source, tag, key, format!("unknown class `{text}`"));
                let near = findings.near(name, class_names().map(|(_, name)| name.as_bytes()));
                let names: Vec<&str> = class_names().map(|(_, name)| name).collect();
                findings.add(match near {
                    Some(near) => with_suggestion(error, key.span, &near),
                    None => error.with_help(format!("use 0 to {MAX_CLASS}, {}", names.join(", "))),
                });
                return None;
            };
            number
        }
    };
    if number != SYSTEM_ALIAS {
        return Some(number);
    }
    let message = format!("class {SYSTEM_ALIAS} is read as class {SYSTEM}");
    let warning = Diagnostic::warning(&CLASS_13, source, tag, message);
    let help = format!("write `{SYSTEM}`");
    let fix = Fix::safe(help.clone(), [Edit::replace(key.span, SYSTEM.to_string())]);
    findings.add(warning.with_secondary(source, key.span, "").with_help(help).with_fix(fix));
    Some(SYSTEM)
}

/// Resolves an event to its number. If the class is unknown, a name cannot be resolved and is not reported.
pub(crate) fn id(source: SourceId, tag: Span, class: Option<u8>, key: &Key, findings: &mut Findings) -> Option<u16> {
    let name = match key.kind {
        KeyKind::Number(number) if (0..=MAX_ID).contains(&number) => return Some(number as u16),
        KeyKind::Number(number) => {
            let message = format!("event id must be 0 to {MAX_ID}, found {number}");
            findings.add(error(&BAD_EVENT_ID, source, tag, key, message));
            return None;
        }
        KeyKind::Name(name) => String::from_utf8_lossy(name),
    };
    // A name has a meaning only within its class.
    let class = class?;
    let numbers = event_numbers(class, &name);
    if let [number] = numbers[..] {
        return Some(number);
    }
    if numbers.is_empty() {
        let error = error(&BAD_EVENT_ID, source, tag, key, format!("class {class} has no event `{name}`"));
        let labels = event_labels(class);
        // Offers no guess, because it would drop the suffix after the colon.
        let near = Some(&name).filter(|name| !name.contains(':'));
        let near = near.and_then(|name| findings.near(name.as_bytes(), labels.iter().map(|label| label.as_bytes())));
        findings.add(match near {
            Some(near) => with_suggestion(error, key.span, &near),
            None => error.with_help(listed(&labels)),
        });
        return None;
    }
    // Some labels mean several events. Choosing one would print the others under a wrong name.
    let listed: Vec<String> = numbers.iter().take(5).map(u16::to_string).collect();
    let more = if numbers.len() > listed.len() { ", …" } else { "" };
    let message = format!("`{name}` is the name of {} events of class {class}", numbers.len());
    let error = error(&BAD_EVENT_ID, source, tag, key, message);
    findings.add(error.with_help(format!("write one of the numbers {}{more}", listed.join(", "))));
    None
}

/// Help for an unknown event: the first labels of its class.
fn listed(labels: &[&str]) -> String {
    const MAX_LISTED: usize = 40;
    let more = labels.len().saturating_sub(MAX_LISTED);
    let list = labels[..labels.len() - more].join(", ");
    let more = if more > 0 { format!(" and {more} more, which `tfbc list` shows") } else { String::new() };
    let names = if labels.is_empty() { String::new() } else { format!(", {list}{more}") };
    format!("use 0 to {MAX_ID}{names}")
}

/// Adds the name that was probably meant, with a fix.
pub(crate) fn with_suggestion(error: Diagnostic, place: Span, name: &str) -> Diagnostic {
    let fix = Fix::guess(format!("write `{name}`"), [Edit::replace(place, name)]);
    error.with_help(format!("did you mean `{name}`?")).with_fix(fix)
}

fn error(code: &'static CodeInfo, source: SourceId, tag: Span, key: &Key, message: String) -> Diagnostic {
    Diagnostic::error(code, source, tag, message).with_secondary(source, key.span, "")
}
