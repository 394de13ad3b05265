//! Fields of a QNX event: names and types of its columns, and their values in a record.

use super::document::Key;
use super::format::{FieldKind, Show};
use super::number::mask;
use super::show::{RecordView, ReferenceField, ReferenceValue};
use super::{Definitions, ReferenceRecord};
use crate::reference::fields::json_text;
use crate::reference::fields::name::{COLUMNS, from_phrase};

/// Field of an event.
struct RecordField<'k> {
    /// Index of the datakey, and of the field in it.
    place: (usize, usize),
    key: &'k Key,
    name: String,
    /// Code that a comment applies.
    code: Option<String>,
    is_omitted: bool,
}

impl RecordField<'_> {
    fn spec(&self) -> &super::KeyField {
        &self.key.fields[self.place.1]
    }

    fn is_signed(&self) -> bool {
        self.spec().field.signed && self.spec().masks.is_empty()
    }

    fn has_words(&self) -> bool {
        !self.spec().enums.is_empty() || self.spec().default.is_some()
    }

    fn has_word_list(&self) -> bool {
        self.spec().enums.iter().any(|entry| entry.is_mask)
    }

    fn has_errno(&self) -> bool {
        self.code.as_deref().is_some_and(|code| code.starts_with('E')) && !self.has_word_list()
    }

    fn is_character(&self) -> bool {
        self.spec().field.kind == FieldKind::Number && self.spec().field.show == Show::Character
    }

    /// Names of all its columns, if the field were called `name`.
    fn columns(&self, name: &str) -> Vec<String> {
        let words = (self.has_words() || self.has_errno()).then(|| format!("{name}_text"));
        let raw = self.is_character().then(|| format!("{name}_raw"));
        std::iter::once(name.to_owned()).chain(words).chain(raw).collect()
    }

    /// Type of a number that is shown in a notation.
    fn number_type(&self, show: Show) -> String {
        let spec = &self.spec().field;
        let (is_signed, hint) = match show {
            Show::Decimal | Show::Character => (self.is_signed(), ""),
            Show::Hex => (false, " hex"),
            Show::Octal => (false, " oct"),
        };
        format!("{}{hint}", if is_signed || spec.size < 8 { "int64" } else { "uint64" })
    }

    fn value_type(&self) -> String {
        if let Some(code) = &self.code {
            return code_type(code).into();
        }
        let spec = &self.spec().field;
        match spec.kind {
            FieldKind::Text | FieldKind::Characters(_) => "utf8".into(),
            FieldKind::Number if spec.show == Show::Character => "utf8".into(),
            FieldKind::Number => self.number_type(spec.show),
            FieldKind::Array(_) => format!("list of {}", self.number_type(spec.show)),
        }
    }

    /// Value of a number as a table has it: the bit pattern unless the notation is decimal.
    fn pattern(&self, value: i128) -> i128 {
        match self.spec().field.show {
            Show::Decimal | Show::Character => value,
            Show::Hex | Show::Octal => i128::from(value as u64 & mask(self.spec().field.size)),
        }
    }

    /// Members of a JSON object for the field as it is shown.
    fn members(&self, shown: &ReferenceField) -> Vec<String> {
        let name = &self.name;
        let mut members = Vec::new();
        let mut add = |name: &str, value: String| members.push(format!("\"{name}\":{value}"));
        match &shown.value {
            ReferenceValue::Cut => return Vec::new(),
            ReferenceValue::Text(_) => add(name, json_text(&shown.text)),
            ReferenceValue::Numbers(values) => {
                let values: Vec<_> =
                    values.iter().map(|value| json_number(self.pattern(*value), &self.value_type())).collect();
                add(name, format!("[{}]", values.join(",")));
            }
            ReferenceValue::Number(value) if self.is_character() => {
                let bits = *value as u64 & mask(self.spec().field.size);
                if (0x20..=0x7e).contains(&bits) {
                    add(name, json_text(&[bits as u8]));
                    self.words(shown).into_iter().for_each(|words| add(&format!("{name}_text"), words));
                }
                add(&format!("{name}_raw"), json_number(*value, &self.number_type(Show::Character)));
            }
            ReferenceValue::Number(value) => {
                let pattern = self.pattern(*value);
                let number = match &self.code {
                    Some(code) => json_by_code(code, pattern),
                    None => json_number(pattern, &self.value_type()),
                };
                add(name, number);
                let errno = self.errno(pattern).map(|errno| format!("\"{errno}\""));
                self.words(shown).or(errno).into_iter().for_each(|words| add(&format!("{name}_text"), words));
            }
        }
        members
    }

    fn words(&self, shown: &ReferenceField) -> Option<String> {
        if !self.has_words() {
            return None;
        }
        let words: Vec<_> = shown.strings.iter().map(|text| json_text(text)).collect();
        if self.has_word_list() { Some(format!("[{}]", words.join(","))) } else { words.first().cloned() }
    }

    fn errno(&self, pattern: i128) -> Option<&'static str> {
        let code = self.code.as_deref().filter(|_| self.has_errno())?;
        tfbc_vm::errno_name(low(pattern, &code[1..]))
    }
}

/// Type of a value by the code of a comment.
fn code_type(code: &str) -> &'static str {
    match (&code[..1], &code[1..]) {
        ("U" | "D", "8") if code == "U8" => "uint64",
        ("U" | "D", _) => "int64",
        ("X", "8") => "uint64 hex",
        ("X", _) => "int64 hex",
        ("o", "8") => "uint64 oct",
        ("o", _) => "int64 oct",
        ("T", _) => "timestamp",
        ("E", _) => "int64 errno",
        _ => panic!("a code that the generator does not write: {code}"),
    }
}

/// Low bytes of a value.
fn low(value: i128, bytes: &str) -> u64 {
    value as u64 & mask(bytes.parse().expect("a number of bytes"))
}

/// Value by the code of a comment, as JSON.
fn json_by_code(code: &str, value: i128) -> String {
    let bits = low(value, &code[1..]);
    let bytes: u32 = code[1..].parse().expect("a number of bytes");
    match &code[..1] {
        "D" | "E" => {
            let is_negative = bits >> (8 * bytes - 1) == 1;
            (i128::from(bits) - if is_negative { 1 << (8 * bytes) } else { 0 }).to_string()
        }
        "T" => crate::reference::fields::json_time(bits as u32),
        _ => json_number(bits.into(), code_type(code)),
    }
}

/// Number of a type. A `uint64` above 2^53 becomes a string.
fn json_number(value: i128, ty: &str) -> String {
    if ty.contains("uint64") && value > 1 << 53 { format!("\"{value}\"") } else { value.to_string() }
}

impl Definitions {
    /// Fields of an event, with their final names.
    fn fields(&self, class: u8, event: u16) -> Vec<RecordField<'_>> {
        let keys = self.keys().iter().enumerate();
        let keys = keys.filter(|(_, key)| !key.refused && key.events.contains(&(class, event)));
        let mut fields: Vec<RecordField> = Vec::new();
        for (at, key) in keys {
            for (place, field) in key.fields.iter().enumerate() {
                let name = from_phrase(field.field.label.as_bytes());
                let mut name = name.unwrap_or_else(|| format!("f{}", fields.len() + 1));
                if COLUMNS.contains(&&*name) {
                    name.insert_str(0, "arg_");
                }
                fields.push(RecordField { place: (at, place), key, name, code: None, is_omitted: false });
            }
        }
        number(&mut fields);
        for field in &mut fields {
            let Some(entry) = field.key.comment.get(field.place.1) else { continue };
            match entry.split_once(':') {
                _ if entry == "*" => {}
                _ if entry == "-" => field.is_omitted = true,
                Some((name, "enum")) => field.name = name.into(),
                Some((name, code)) => {
                    field.name = name.into();
                    field.code = Some(code.into());
                }
                None => field.name.clone_from(entry),
            }
        }
        fields.retain(|field| !field.is_omitted);
        fields
    }

    /// A line per column of an event: name, type, and the texts of enums.
    pub fn columns(&self, class: u8, event: u16) -> Vec<String> {
        let mut lines = Vec::new();
        for field in self.fields(class, event) {
            lines.push(format!("{} {}", field.name, field.value_type()));
            if field.has_words() || field.has_errno() {
                let list = if field.has_word_list() { "list of " } else { "" };
                lines.push(format!("{}_text {list}dictionary", field.name));
            }
            if field.is_character() {
                lines.push(format!("{}_raw {}", field.name, field.number_type(Show::Character)));
            }
        }
        lines
    }

    /// JSON object of a record's fields; `None` if no datakey applies.
    pub fn row(&self, record: &ReferenceRecord) -> Option<String> {
        let class = if record.class == 13 { 5 } else { record.class };
        let shown = RecordView::new(&self.keys, &self.links, record).show_by_key()?;
        let mut members = Vec::new();
        for field in self.fields(class, record.id) {
            let (key, at) = field.place;
            let found = shown.iter().find(|(shown, _)| *shown == key).and_then(|(_, fields)| fields.get(at));
            members.extend(found.into_iter().flat_map(|shown| field.members(shown)));
        }
        Some(format!("{{{}}}", members.join(",")))
    }
}

/// Makes the names of fields differ.
fn number(fields: &mut [RecordField<'_>]) {
    let mut used: Vec<String> = Vec::new();
    let mut waiting = Vec::new();
    for (at, field) in fields.iter().enumerate() {
        let columns = field.columns(&field.name);
        if columns.iter().any(|column| used.contains(column)) { waiting.push(at) } else { used.extend(columns) }
    }
    for at in waiting {
        let field = &fields[at];
        let names = (2..).map(|n| format!("{}_{n}", field.name));
        let free = names.into_iter().find(|name| !field.columns(name).iter().any(|column| used.contains(column)));
        let name = free.expect("there is always another number");
        used.extend(field.columns(&name));
        fields[at].name = name;
    }
}
