//! Writers for large results. They write JSON text directly, because building JSON trees would take most of the time.

use super::outline::OutlineEntry;
use super::protocol::{Position, Range, SemanticToken};
use std::fmt::Write;
use tfbc_grammar::Span;

/// Growing JSON text.
#[derive(Debug, Default)]
pub struct Json {
    out: String,
}

impl Json {
    pub fn finish(self) -> String {
        self.out
    }

    fn number(&mut self, number: u32) {
        match number {
            0..10 => self.out.push(char::from(b'0' + number as u8)),
            10..100 => self.out.extend([number / 10, number % 10].map(|digit| char::from(b'0' + digit as u8))),
            _ => _ = write!(self.out, "{number}"),
        }
    }

    fn text(&mut self, text: &str) {
        if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
            self.out.extend(["\"", text, "\""]);
        } else {
            // Strings always serialize.
            self.out.push_str(&serde_json::to_string(text).unwrap_or_default());
        }
    }

    fn position(&mut self, place: Position) {
        self.out.push_str("{\"line\":");
        self.number(place.line);
        self.out.push_str(",\"character\":");
        self.number(place.character);
        self.out.push('}');
    }

    fn range(&mut self, range: Range) {
        self.out.push_str("{\"start\":");
        self.position(range.start);
        self.out.push_str(",\"end\":");
        self.position(range.end);
        self.out.push('}');
    }

    /// Array; `item` writes each element.
    pub fn list<T>(&mut self, items: impl IntoIterator<Item = T>, mut item: impl FnMut(&mut Self, T)) {
        self.out.push('[');
        for (index, one) in items.into_iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            item(self, one);
        }
        self.out.push(']');
    }

    /// `Location` in the file with this URI.
    pub fn location(&mut self, uri: &str, range: Range) {
        self.out.push_str("{\"uri\":");
        self.text(uri);
        self.out.push_str(",\"range\":");
        self.range(range);
        self.out.push('}');
    }

    /// A `TextEdit`.
    pub fn change(&mut self, range: Range, text: &str) {
        self.out.push_str("{\"newText\":");
        self.text(text);
        self.out.push_str(",\"range\":");
        self.range(range);
        self.out.push('}');
    }

    /// A `FoldingRange`.
    pub fn fold(&mut self, lines: Range, kind: &str) {
        self.out.push_str("{\"startLine\":");
        self.number(lines.start.line);
        self.out.push_str(",\"endLine\":");
        self.number(lines.end.line);
        self.out.push_str(",\"kind\":");
        self.text(kind);
        self.out.push('}');
    }

    /// A `DocumentSymbol`.
    pub fn symbol(&mut self, entry: &OutlineEntry, range: &impl Fn(Span) -> Range) {
        self.out.push_str("{\"name\":");
        self.text(&entry.name);
        self.out.push_str(",\"detail\":");
        self.text(&entry.detail);
        _ = write!(self.out, ",\"kind\":{},\"range\":", entry.kind as u32);
        self.range(range(entry.whole));
        self.out.push_str(",\"selectionRange\":");
        self.range(range(entry.span));
        self.out.push_str(",\"children\":");
        self.list(&entry.children, |json, child| json.symbol(child, range));
        self.out.push('}');
    }

    /// Semantic tokens, five numbers each.
    pub fn words(&mut self, words: &[SemanticToken]) {
        self.list(words, |json, word| {
            for number in [word.delta_line, word.delta_start, word.length, word.token_type] {
                json.number(number);
                json.out.push(',');
            }
            json.out.push('0');
        });
    }

    /// Object with `"resultId"` and one more member, which `value` writes.
    pub fn result(&mut self, id: u64, name: &str, value: impl FnOnce(&mut Self)) {
        _ = write!(self.out, "{{\"resultId\":\"{id}\",\"{name}\":");
        value(self);
        self.out.push('}');
    }

    /// A `SemanticTokensEdit`.
    pub fn words_edit(&mut self, start: usize, n_gone: usize, come: &[SemanticToken]) {
        _ = write!(self.out, "{{\"start\":{start},\"deleteCount\":{n_gone},\"data\":");
        self.words(come);
        self.out.push('}');
    }
}

/// JSON text of an array; `item` writes each element.
pub fn list<T>(items: impl IntoIterator<Item = T>, item: impl FnMut(&mut Json, T)) -> String {
    let mut json = Json::default();
    json.list(items, item);
    json.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::SymbolKind;
    use serde_json::{Value, json};

    #[test]
    fn texts_and_numbers_are_those_of_json() {
        let names = ["", "a", "\"\\\n\u{7f}\u{1}", "\u{e9}\u{1F600}"];
        for (name, number) in names.into_iter().zip([0, 9, 10, 4_000_000_000]) {
            let whole = Span::new(1, 2);
            let (kind, detail) = (SymbolKind::Event, String::from(name));
            let entry = OutlineEntry { name: name.to_owned(), detail, kind, whole, span: whole, children: Vec::new() };
            let range = Range::new(Position::new(number, 0), Position::new(99, number));
            let text = list([&entry], |json, entry| json.symbol(entry, &|_| range));
            let expected = json!([{
                "name": name, "detail": name, "kind": 24, "range": range, "selectionRange": range, "children": [],
            }]);
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
        }
    }
}
