//! Reads event definitions from XML, and reports everything that is invalid in them.

use super::format::{self, FieldKind, FormatField, label};
use super::names;
use super::number::{self, NumberLiteral};
use super::xml::{Document, Element, LineColumn};

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The element is refused.
    Error,
    /// The element stays in use.
    Warning,
}

/// A problem in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Index of the file.
    pub file: usize,
    /// Severity.
    pub severity: Severity,
    /// Position of the tag.
    pub place: LineColumn,
    /// Text of the problem.
    pub message: &'static str,
}

/// A datakey, or an event of an eventclass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Index of the file.
    pub file: usize,
    /// Position of the tag.
    pub place: LineColumn,
    /// True if it is refused.
    pub refused: bool,
    /// Class and id per valid event, without duplicates.
    pub events: Vec<(u8, u16)>,
    /// Fields; empty if the format is invalid.
    pub fields: Vec<KeyField>,
    /// `offset`
    pub offset: u64,
    /// `wide_offset`
    pub wide_offset: Option<u64>,
    /// `show_masked_value`
    pub show_masked_value: bool,
    /// Conditions, except those on its own labels.
    pub conditions: Vec<KeyCondition>,
    /// Entries of its `fields` comments.
    pub comment: Vec<String>,
}

/// A field with its bitmasks and enums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyField {
    /// Field from the format.
    pub field: FormatField,
    /// Values of its bitmasks.
    pub masks: Vec<u64>,
    /// Enums except defaults, in order.
    pub enums: Vec<Enum>,
    /// First default.
    pub default: Option<String>,
}

/// Enum with a value or a mask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enum {
    /// True if it has a mask.
    pub is_mask: bool,
    /// Value or mask.
    pub literal: NumberLiteral,
    /// Text to show.
    pub string: String,
}

/// A condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyCondition {
    /// Label that is tested.
    pub label: String,
    /// `value`
    pub value: Option<NumberLiteral>,
    /// `mask`
    pub mask: Option<NumberLiteral>,
    /// Position of the tag.
    pub place: LineColumn,
}

/// Contents of all files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// In order of declaration.
    pub keys: Vec<Key>,
    /// In no particular order.
    pub findings: Vec<Finding>,
}

/// Reader of one file.
pub struct DocumentReader<'c> {
    /// Index of the file.
    pub file: usize,
    /// Destination of the contents.
    pub contents: &'c mut Contents,
}

impl DocumentReader<'_> {
    fn warn(&mut self, place: LineColumn, message: &'static str) {
        self.contents.findings.push(Finding { file: self.file, severity: Severity::Warning, place, message });
    }

    /// Adds an error.
    pub fn error(&mut self, place: LineColumn, message: &'static str) {
        self.contents.findings.push(Finding { file: self.file, severity: Severity::Error, place, message });
    }

    /// Reads a document; false if it does not contain event definitions.
    pub fn document(&mut self, document: &Document) -> bool {
        if let Some(place) = document.doctype {
            self.warn(place, "DOCTYPE is ignored");
        }
        let root = &document.root;
        if !["eventdefinitions", "eventdefinition", "eventformatting"].contains(&root.name.as_str()) {
            self.error(root.place, "unknown root");
            return false;
        }
        self.warn_of_unknown(root, &[], &["datakey", "eventclass"]);
        for child in &root.children {
            match child.name.as_str() {
                "datakey" => self.datakey(child),
                "eventclass" => self.eventclass(child),
                _ => {}
            }
        }
        true
    }

    /// Warns about unknown attributes and children.
    fn warn_of_unknown(&mut self, element: &Element, attributes: &[&str], children: &[&str]) {
        for (name, _) in &element.attributes {
            if !attributes.contains(&name.as_str()) {
                self.warn(element.place, "unknown attribute");
            }
        }
        for child in &element.children {
            if !children.contains(&child.name.as_str()) {
                self.warn(child.place, "unknown element");
            }
        }
        if let Some(place) = element.text {
            self.warn(place, "text between elements");
        }
    }

    /// Reads a number. Leading zeros cause a warning, invalid text an error.
    fn number(&mut self, element: &Element, name: &str) -> Option<i128> {
        let read = number::number(element.attribute(name)?);
        let Some((value, zeros)) = read else {
            self.error(element.place, "no number");
            return None;
        };
        if zeros {
            self.warn(element.place, "leading zeros");
        }
        Some(value)
    }

    /// Reads a number that may have a `!`.
    fn literal(&mut self, element: &Element, name: &str) -> Option<NumberLiteral> {
        let Some((literal, zeros)) = NumberLiteral::read(element.attribute(name)?) else {
            self.error(element.place, "no number");
            return None;
        };
        if zeros {
            self.warn(element.place, "leading zeros");
        }
        Some(literal)
    }

    fn class(&mut self, element: &Element, name: &str) -> Option<u8> {
        let Some(text) = element.attribute(name) else {
            self.error(element.place, "no class");
            return None;
        };
        let class = match names::class(number::trim(text)) {
            Some(class) => class,
            None => match self.number(element, name)? {
                class @ 0..=31 => class as u8,
                _ => {
                    self.error(element.place, "class out of range");
                    return None;
                }
            },
        };
        if class == 13 {
            self.warn(element.place, "class 13 counts as 5");
            return Some(5);
        }
        Some(class)
    }

    fn id(&mut self, element: &Element, class: Option<u8>) -> Option<u16> {
        let Some(text) = element.attribute("id") else {
            self.error(element.place, "no id");
            return None;
        };
        if let Some(id) = class.and_then(|class| names::event(class, number::trim(text))) {
            return Some(id);
        }
        if class.is_none() && number::number(text).is_none() {
            return None;
        }
        match self.number(element, "id")? {
            id @ 0..=1023 => Some(id as u16),
            _ => {
                self.error(element.place, "id out of range");
                None
            }
        }
    }

    fn errors(&self) -> usize {
        self.contents.findings.iter().filter(|finding| finding.severity == Severity::Error).count()
    }

    fn eventclass(&mut self, element: &Element) {
        self.warn_of_unknown(element, &["id", "name"], &["event"]);
        let class = self.class(element, "id");
        for child in element.children.iter().filter(|child| child.name == "event") {
            self.warn_of_unknown(child, &["id", "sformat", "format", "name"], &[]);
            let errors = self.errors();
            let id = self.id(child, class);
            if child.attribute("format").is_some() {
                self.warn(child.place, "format instead of sformat");
            }
            let fields = self.fields(child);
            self.contents.keys.push(Key {
                file: self.file,
                place: child.place,
                refused: self.errors() > errors || class.is_none(),
                events: class.zip(id).into_iter().collect(),
                fields,
                offset: 0,
                wide_offset: None,
                show_masked_value: true,
                conditions: Vec::new(),
                comment: Vec::new(),
            });
        }
    }

    /// Fields of `format` or `sformat`; empty if the format is invalid.
    fn fields(&mut self, element: &Element) -> Vec<KeyField> {
        let (text, arrays) = match (element.attribute("format"), element.attribute("sformat")) {
            (Some(text), _) => (text, false),
            (None, Some(text)) => (text, true),
            (None, None) => {
                self.error(element.place, "no format");
                return Vec::new();
            }
        };
        match format::read(text, arrays) {
            Err(message) => {
                self.error(element.place, message);
                Vec::new()
            }
            Ok((fields, hint)) => {
                if hint {
                    self.warn(element.place, "%1s0 is a string");
                }
                let new = |field| KeyField { field, masks: Vec::new(), enums: Vec::new(), default: None };
                fields.into_iter().map(new).collect()
            }
        }
    }

    fn datakey(&mut self, element: &Element) {
        let attributes = ["format", "sformat", "offset", "wide_offset", "show_masked_value"];
        self.warn_of_unknown(element, &attributes, &["event", "bitmask", "condition", "enum"]);
        let errors = self.errors();
        if element.attribute("sformat").is_some() {
            self.warn(element.place, "sformat in a datakey");
        }
        let fields = self.fields(element);
        let mut key = Key {
            file: self.file,
            place: element.place,
            refused: false,
            events: Vec::new(),
            fields,
            offset: self.offset(element, "offset").unwrap_or(0),
            wide_offset: self.offset(element, "wide_offset"),
            show_masked_value: self.boolean(element, "show_masked_value").unwrap_or(true),
            conditions: Vec::new(),
            comment: element.comments.iter().flat_map(|comment| comment_entries(comment)).collect(),
        };
        for child in &element.children {
            match child.name.as_str() {
                "event" => self.event(child, &mut key),
                "bitmask" => self.bitmask(child, &mut key),
                "enum" => self.enumeration(child, &mut key),
                "condition" => self.condition(child, &mut key),
                _ => {}
            }
        }
        if !element.children.iter().any(|child| child.name == "event") {
            self.error(element.place, "no event");
        }
        let elsewhere = key.events.iter().any(|(class, _)| *class != 6);
        if key.offset != 0 && key.wide_offset.is_none() && elsewhere {
            self.warn(element.place, "offset is not used for wide records");
        }
        key.refused = self.errors() > errors;
        self.contents.keys.push(key);
    }

    fn offset(&mut self, element: &Element, name: &str) -> Option<u64> {
        let offset = self.number(element, name)?;
        if offset < 0 {
            self.error(element.place, "negative offset");
        }
        u64::try_from(offset).ok()
    }

    fn boolean(&mut self, element: &Element, name: &str) -> Option<bool> {
        match number::trim(element.attribute(name)?).to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                self.error(element.place, "neither true nor false");
                None
            }
        }
    }

    fn event(&mut self, element: &Element, key: &mut Key) {
        self.warn_of_unknown(element, &["class", "id"], &[]);
        let class = self.class(element, "class");
        let id = self.id(element, class);
        let Some(event) = class.zip(id) else { return };
        if key.events.contains(&event) {
            return self.warn(element.place, "an event twice");
        }
        key.events.push(event);
    }

    /// Label that an element refers to.
    fn label(&mut self, element: &Element) -> Option<String> {
        let [name, key] = ["name", "key"].map(|attribute| element.attribute(attribute));
        if name.is_some() && key.is_some() {
            self.warn(element.place, "name and key");
        }
        name.or(key).map(label)
    }

    /// Number field that a bitmask or enum refers to.
    fn target<'k>(&mut self, element: &Element, key: &'k mut Key) -> Option<&'k mut KeyField> {
        let label = self.label(element);
        if key.fields.is_empty() {
            return None;
        }
        let found = match &label {
            None if key.fields.len() == 1 => key.fields.first_mut(),
            None => None,
            Some(label) => key.fields.iter_mut().find(|field| field.field.label == *label),
        };
        let Some(field) = found else {
            self.error(element.place, "no such field");
            return None;
        };
        if field.field.kind != FieldKind::Number {
            self.error(element.place, "a string or an array");
            return None;
        }
        Some(field)
    }

    fn bitmask(&mut self, element: &Element, key: &mut Key) {
        self.warn_of_unknown(element, &["name", "key", "value"], &[]);
        if element.attribute("value").is_none() {
            self.error(element.place, "a bitmask without a value");
        }
        let value = self.number(element, "value");
        let Some((field, value)) = self.target(element, key).zip(value) else { return };
        let size = field.field.size;
        if (NumberLiteral { not: false, value }).pattern(size).is_none() {
            self.warn(element.place, "a mask wider than its field");
        }
        let pattern = value as u64 & number::mask(size);
        if pattern == 0 {
            self.warn(element.place, "mask 0");
        }
        if !field.masks.is_empty() {
            self.warn(element.place, "several masks");
        }
        field.masks.push(pattern);
    }

    fn enumeration(&mut self, element: &Element, key: &mut Key) {
        self.warn_of_unknown(element, &["name", "key", "value", "mask", "string", "default"], &[]);
        let [value, mask, string, default] = ["value", "mask", "string", "default"].map(|name| element.attribute(name));
        let numbers = usize::from(value.is_some()) + usize::from(mask.is_some());
        let complete = match default {
            Some(default) => !default.is_empty() && numbers == 0 && string.is_none(),
            None => numbers == 1 && string.is_some_and(|string| !string.is_empty()),
        };
        if !complete {
            self.error(element.place, "an enum with too much or too little");
        }
        let literal = match (value, mask) {
            (Some(_), _) => self.literal(element, "value"),
            (None, _) => self.literal(element, "mask"),
        };
        let Some(field) = self.target(element, key) else { return };
        if !complete {
            return;
        }
        if let Some(default) = default {
            if field.default.is_some() {
                return self.warn(element.place, "a second default");
            }
            field.default = Some(default.into());
        } else if let Some((literal, string)) = literal.zip(string) {
            let size = field.field.size;
            if literal.pattern(size).is_none() {
                self.warn(element.place, "never matches");
            }
            let is_mask = mask.is_some();
            let unreachable = !is_mask && field.enums.iter().any(|other| other.hides(literal, size));
            if unreachable {
                self.warn(element.place, "unreachable");
            }
            field.enums.push(Enum { is_mask, literal, string: string.into() });
        }
    }

    fn condition(&mut self, element: &Element, key: &mut Key) {
        self.warn_of_unknown(element, &["name", "key", "value", "mask"], &[]);
        let label = self.label(element);
        if label.is_none() && key.fields.len() > 1 {
            self.error(element.place, "a condition without a name");
        }
        if element.attribute("value").is_none() && element.attribute("mask").is_none() {
            self.error(element.place, "a condition without value and mask");
        }
        let [value, mask] = ["value", "mask"].map(|name| self.literal(element, name));
        if value.is_some_and(|value| value.not) && mask.is_some_and(|mask| mask.not) {
            self.warn(element.place, "two ! cancel");
        }
        let only = (key.fields.len() == 1).then(|| key.fields[0].field.label.clone());
        let Some(label) = label.or(only) else { return };
        if key.fields.iter().any(|field| field.field.label == label) {
            return self.warn(element.place, "a condition on its own field");
        }
        key.conditions.push(KeyCondition { label, value, mask, place: element.place });
    }
}

impl Enum {
    /// True if a later value can never match because of this enum.
    fn hides(&self, later: NumberLiteral, size: u32) -> bool {
        let (Some(own), Some(other)) = (self.literal.pattern(size), later.pattern(size)) else { return false };
        !self.is_mask && !later.not && (own == other) != self.literal.not
    }
}

/// Entries of a comment such as ` tfbc: fields=a, b:T4 `.
fn comment_entries(comment: &str) -> Vec<String> {
    let Some(list) = comment.trim().strip_prefix("tfbc:").and_then(|rest| rest.trim().strip_prefix("fields=")) else {
        return Vec::new();
    };
    list.split(',').map(|entry| entry.trim().to_owned()).collect()
}
