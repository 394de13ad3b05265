//! Listing of a syntax tree: a line per node, indented, with its position.

use std::fmt::{Display, Write};

use super::ast::*;
use crate::{Source, Span};

/// Lists the tree of a file. Each line has the node's line and column, its kind, and its attributes.
///
/// ```
/// use tfbc_grammar::{Arena, Source, SourceId, datakey};
///
/// let arena = Arena::new();
/// let source = Source::new("a.xml", "<eventdefinitions>
/// <datakey format=\"%2u1x state\"><event class=\"6\" id=\"65\"/><enum value=\"!0x1\" string=\"on\"/></datakey>
/// </eventdefinitions>");
/// let (file, _) = datakey::parse(&arena, SourceId(0), &source);
/// assert_eq!(datakey::show(&file, &source), "\
/// 2:1 datakey
///   2:18 field %2u1x \"state\"
///   2:31 event 6 65
///   2:57 enum value !1 \"on\"
/// ");
/// ```
pub fn show(file: &File, source: &Source) -> String {
    let mut printer = TreePrinter { out: String::new(), source };
    for setting in file.settings {
        let (name, value) = (setting.name.node.escape_ascii(), setting.value.node.escape_ascii());
        printer.node(0, setting.name.span, format_args!("setting \"{name}\" \"{value}\""));
    }
    for item in file.items {
        match item {
            TopLevelElement::Datakey(datakey) => printer.datakey(datakey),
            TopLevelElement::EventClass(class) => printer.event_class(class),
        }
    }
    printer.out
}

struct TreePrinter<'s> {
    out: String,
    source: &'s Source,
}

impl TreePrinter<'_> {
    fn node(&mut self, depth: usize, span: Span, text: impl Display) {
        let (line, column) = self.source.line_column(span.start);
        let _ = writeln!(self.out, "{:indent$}{line}:{column} {text}", "", indent = depth * 2);
    }

    fn datakey(&mut self, datakey: &Datakey) {
        let offset = datakey.offset.map_or(String::new(), |offset| format!(" offset {}", offset.node));
        let wide = datakey.wide_offset.map_or(String::new(), |offset| format!(" wide_offset {}", offset.node));
        let shown = if datakey.show_masked_value { "" } else { " without masked value" };
        let refused = refused(datakey.refused);
        self.node(0, datakey.tag, format_args!("datakey{offset}{wide}{shown}{refused}"));
        self.fields(1, datakey.format);
        for event in datakey.events {
            self.node(1, event.tag, format_args!("event {} {}", key(event.class), key(event.id)));
        }
        for bitmask in datakey.bitmasks {
            let text = format!("bitmask{} {}", name(bitmask.name), literal(bitmask.value));
            self.node(1, bitmask.tag, text);
        }
        for node in datakey.enums {
            let test = match node.test {
                EnumTest::Value(value) => format!("value {}", literal(value)),
                EnumTest::Mask(mask) => format!("mask {}", literal(mask)),
                EnumTest::Default => "default".into(),
            };
            self.node(1, node.tag, format_args!("enum{} {test} \"{}\"", name(node.name), node.text.escape_ascii()));
        }
        for condition in datakey.conditions {
            let part =
                |what: &str, value: Option<Literal>| value.map_or(String::new(), |v| format!(" {what} {}", literal(v)));
            let (value, mask) = (part("value", condition.value), part("mask", condition.mask));
            self.node(1, condition.tag, format_args!("condition{}{value}{mask}", name(Some(condition.name))));
        }
    }

    fn event_class(&mut self, class: &EventClass) {
        self.node(0, class.tag, format_args!("eventclass {}", class.id.map_or("?".into(), key)));
        for event in class.events {
            let (id, refused) = (event.id.map_or("?".into(), key), refused(event.refused));
            self.node(1, event.tag, format_args!("event {id}{refused}"));
            self.fields(2, event.format);
        }
    }

    fn fields(&mut self, depth: usize, format: Option<Format>) {
        for field in format.map_or(&[][..], |format| format.fields) {
            let text = format!("field %{} \"{}\"", spec(field.spec), field.label.node.escape_ascii());
            self.node(depth, field.span, text);
        }
    }
}

fn refused(refused: bool) -> &'static str {
    if refused { " refused" } else { "" }
}

fn key(key: Key) -> String {
    match key.kind {
        KeyKind::Number(number) => number.to_string(),
        KeyKind::Name(name) => format!("\"{}\"", name.escape_ascii()),
    }
}

fn name(name: Option<Name>) -> String {
    name.map_or(String::new(), |name| format!(" \"{}\"", name.node.escape_ascii()))
}

fn literal(literal: Literal) -> String {
    format!("{}{}", if literal.not { "!" } else { "" }, literal.value)
}

fn spec(spec: Spec) -> String {
    let size = spec.size.map_or(String::new(), |size| size.to_string());
    let sign = spec.sign.map_or("", |sign| match sign {
        Sign::Signed => "s",
        Sign::Unsigned => "u",
    });
    let count = spec.count.map_or(String::new(), |count| count.to_string());
    let show = spec.show.map_or("", |show| match show {
        NumberStyle::Decimal => "d",
        NumberStyle::Hex => "x",
        NumberStyle::Octal => "o",
        NumberStyle::Char => "c",
    });
    format!("{size}{sign}{count}{show}")
}
