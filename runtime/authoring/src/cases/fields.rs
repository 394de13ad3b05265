//! Typed access to the keys of one table of a case file. A value of the wrong type becomes a diagnostic at its
//! position.

use super::codes::{BAD_VALUE, KEY_OF_OTHERS, UNKNOWN_KEY};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use tfbc::Formats;
use tfbc_grammar::closest;
use tfbc_grammar::{CodeInfo, Diagnostic, SourceId, Span};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A table of a case file.
pub struct Fields<'t> {
    pub table: &'t DeTable<'t>,
    pub source: SourceId,
    /// Span of the table.
    pub span: Span,
}

/// A value with its span.
#[derive(Debug, Clone, Copy)]
pub struct Located<T> {
    pub value: T,
    pub span: Span,
}

/// Diagnostics found so far.
pub type Diagnostics = Vec<Diagnostic>;

/// Converts a byte range to a span.
pub fn span_of(range: Range<usize>) -> Span {
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span::new(offset(range.start), offset(range.end))
}

impl<'t> Fields<'t> {
    /// Reports every key that is not in `known`.
    pub fn only(&self, known: &[&str], found: &mut Diagnostics) {
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                continue;
            }
            let text = format!("unknown key `{name}`");
            let mut error = Diagnostic::error(&UNKNOWN_KEY, self.source, span_of(key.span()), text);
            error.help = Some(match closest(name, known) {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!("the keys are {}", known.join(", ")),
            });
            found.push(error);
        }
    }

    /// Span of a key; `None` if the table does not contain it.
    pub fn key(&self, name: &str) -> Option<Span> {
        self.table.keys().find(|key| key.get_ref() == name).map(|key| span_of(key.span()))
    }

    /// Value of any type.
    pub fn value(&self, name: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.table.get(name)
    }

    /// Reports a problem with a value.
    pub fn refuse(&self, code: &'static CodeInfo, span: Span, text: impl Into<String>, found: &mut Diagnostics) {
        found.push(Diagnostic::error(code, self.source, span, text));
    }

    fn other_type(&self, name: &str, value: &Spanned<DeValue<'_>>, expected: &str, found: &mut Diagnostics) {
        let text = format!("`{name}`: expected {expected}, found {}", article(value.get_ref().type_str()));
        self.refuse(&BAD_VALUE, span_of(value.span()), text, found);
    }

    /// String value.
    pub fn text(&self, name: &str, found: &mut Diagnostics) -> Option<Located<&'t str>> {
        let value = self.value(name)?;
        match value.get_ref().as_str() {
            Some(text) => Some(Located { value: text, span: span_of(value.span()) }),
            None => {
                self.other_type(name, value, "a text in quotes", found);
                None
            }
        }
    }

    /// String value, or a number in the author's spelling: `only = 106` and `only = "106,15b"`.
    pub fn word(&self, name: &str, found: &mut Diagnostics) -> Option<Located<&'t str>> {
        let value = self.value(name)?;
        let text = match value.get_ref() {
            DeValue::String(text) => text,
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => {
                self.other_type(name, value, "a text in quotes or a number", found);
                return None;
            }
        };
        Some(Located { value: text, span: span_of(value.span()) })
    }

    /// Number from 0 to `max`.
    pub fn number(&self, name: &str, max: u64, found: &mut Diagnostics) -> Option<u64> {
        let value = self.value(name)?;
        let Some(number) = value.get_ref().as_integer() else {
            self.other_type(name, value, "a number", found);
            return None;
        };
        let parsed = u64::from_str_radix(number.as_str(), number.radix()).ok().filter(|number| *number <= max);
        if parsed.is_none() {
            let text = format!("`{name}` is a number from 0 to {max}, found {number}");
            self.refuse(&BAD_VALUE, span_of(value.span()), text, found);
        }
        parsed
    }

    /// Boolean value.
    pub fn flag(&self, name: &str, found: &mut Diagnostics) -> Option<bool> {
        let value = self.value(name)?;
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            self.other_type(name, value, "true or false", found);
        }
        flag
    }

    /// One string, or a list of strings.
    pub fn texts(&self, name: &str, found: &mut Diagnostics) -> Vec<Located<&'t str>> {
        let Some(value) = self.value(name) else { return Vec::new() };
        let Some(list) = value.get_ref().as_array() else { return self.text(name, found).into_iter().collect() };
        let mut texts = Vec::new();
        for item in list.iter() {
            match item.get_ref().as_str() {
                Some(text) => texts.push(Located { value: text, span: span_of(item.span()) }),
                None => self.other_type(name, item, "a list of texts in quotes", found),
            }
        }
        texts
    }

    /// Table inside this table.
    pub fn table(&self, name: &str, found: &mut Diagnostics) -> Option<Fields<'t>> {
        let value = self.value(name)?;
        match value.get_ref().as_table() {
            Some(table) => Some(Fields { table, source: self.source, span: span_of(value.span()) }),
            None => {
                self.other_type(name, value, "a table", found);
                None
            }
        }
    }
}

fn article(kind: &str) -> String {
    let vowel = kind.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {kind}", if vowel { "an" } else { "a" })
}

/// Reports keys that belong to another kind of event.
pub fn of_others(own: &Fields<'_>, keys: &[&str], why: &str, found: &mut Diagnostics) {
    for (key, span) in keys.iter().filter_map(|key| Some((key, own.key(key)?))) {
        own.refuse(&KEY_OF_OTHERS, span, format!("`{key}` is {why}"), found);
    }
}

/// Resolves a path relative to the case file; the name of the built-in format file stays as it is.
pub fn resolve_path(directory: &Path, path: &str) -> PathBuf {
    if path == Formats::BUILT_IN {
        return PathBuf::from(path);
    }
    let mut joined = directory.to_owned();
    for part in Path::new(path).components() {
        match part {
            // `..` stays in the path: if the directory is a link, its parent is elsewhere.
            Component::ParentDir
                if matches!(joined.components().next_back(), Some(Component::Normal(_))) && !joined.is_symlink() =>
            {
                joined.pop();
            }
            Component::CurDir => {}
            part => joined.push(part),
        }
    }
    joined
}

/// Text as a TOML string.
pub fn quoted(text: &str) -> String {
    // JSON's escapes are valid in TOML, except `\/`, which this JSON writer never emits.
    serde_json::Value::from(text).to_string()
}
