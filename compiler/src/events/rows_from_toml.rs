//! Turns the table of QNX's events, `qnx-events.toml`, into the static rows of `rows.rs`.
//!
//! The rows are in the repository, so that building the package reads no TOML. To update them, run
//! `TFBC_BUILT_IN=update cargo test -p tfbc-compiler rows`.

use std::fmt::Write;
use std::path::Path;
use toml::{Table, Value};

#[test]
fn rows_are_up_to_date() {
    let table: Table = include_str!("qnx-events.toml").parse().expect("the event table is TOML");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/events/rows.rs");
    if std::env::var_os("TFBC_BUILT_IN").is_some_and(|value| value == "update") {
        std::fs::write(path, rows(&table)).expect("the rows are writable");
    } else {
        let is_same = std::fs::read_to_string(path).is_ok_and(|kept| kept == rows(&table));
        assert!(is_same, "rows.rs is out of date: TFBC_BUILT_IN=update cargo test -p tfbc-compiler rows");
    }
}

/// All rows as Rust items.
fn rows(table: &Table) -> String {
    let mut out = String::new();
    list(&mut out, "CLASSES: &[Class]", array(table, "class").iter().map(|row| class(row)));
    let events = array(table, "event");
    list(&mut out, "EVENTS: &[EventRow]", events.iter().map(|row| event(row, table)));
    let calls = array(table, "kercall");
    list(&mut out, "CALLS: &[CallRow]", calls.iter().map(|row| call(row, &calls)));
    out
}

fn list(out: &mut String, head: &str, rows: impl Iterator<Item = String>) {
    writeln!(out, "pub(crate) static {head} = &[").expect("strings take text");
    rows.for_each(|row| writeln!(out, "    {row},").expect("strings take text"));
    out.push_str("];\n");
}

fn class(row: &Table) -> String {
    format!("Class {{ number: {}, name: {:?} }}", number(row, "internal"), text(row, "name"))
}

fn event(row: &Table, table: &Table) -> String {
    let named = |list: &str, name: &str, key: &str| {
        let rows = array(table, list);
        let found = rows.iter().find(|row| text(row, "name") == name);
        number(found.unwrap_or_else(|| panic!("{list} {name} is in the table")), key)
    };
    let print_only = row.get("print_only_args");
    let wide = print_only.or(row.get("wide"));
    let first = number(row, "number");
    let fields = [
        format!("class: {}", named("class", text(row, "class"), "internal")),
        format!("external_class: {}", named("external_class", text(row, "external_class"), "number")),
        format!("number: {first}"),
        format!("last_number: {}", row.get("last_number").map_or(first, integer)),
        format!("name: {:?}", text(row, "name")),
        format!("label: {:?}", optional(row, "traceprinter")),
        format!("aliases: &{:?}", texts(row, "aliases")),
        format!("ide: {:?}", optional(row, "ide")),
        format!("label_6_4: {:?}", optional(row, "label_6_4")),
        format!("class_text: {:?}", optional(row, "class_text")),
        format!("since: {}", release(text(row, "since"))),
        format!("until: {}", optional(row, "until").map_or("None".into(), |until| format!("Some({})", release(until)))),
        format!("fast: {}", arguments(row.get("fast"))),
        format!("wide: {}", arguments(wide)),
        format!("wide_from_7: {}", arguments(row.get("wide_71").filter(|_| print_only.is_none()))),
        format!("known_prefix: {}", arguments(row.get("known_prefix"))),
    ];
    format!("EventRow {{ {} }}", fields.join(", "))
}

fn call(row: &Table, calls: &[&Table]) -> String {
    let number_ = number(row, "number");
    let same = optional(row, "same_32bit_layout_as").map(|os| {
        let same = calls.iter().find(|row| text(row, "os") == os && number(row, "number") == number_);
        *same.unwrap_or_else(|| panic!("{os} has call {number_}"))
    });
    let fields = [
        format!("release: {}", release(text(row, "os"))),
        format!("number: {number_}"),
        format!("name: {:?}", text(row, "name")),
        format!("label: {:?}", optional(row, "label")),
        format!("exit_label_6_4: {:?}", optional(row, "label_exit")),
        format!("enter: {}", side(row, same, "enter")),
        format!("exit: {}", side(row, same, "exit")),
    ];
    format!("CallRow {{ {} }}", fields.join(", "))
}

fn side(row: &Table, same: Option<&Table>, side: &str) -> String {
    let own = |key: &str| row.get(side).and_then(|lists| lists.get(key));
    let shared = |key: &str| same?.get(side)?.get(key);
    let either = |keys: [&str; 2]| {
        let [print, plain] = keys;
        own(print).or(own(plain)).or(shared(print)).or(shared(plain))
    };
    let fast = either(["fast_print", "fast"]);
    let wide = either(["print", "wide"]).or(fast);
    let fields = [
        format!("fast: {}", arguments(fast)),
        format!("wide: {}", arguments(wide)),
        format!("fast_64: {}", arguments(own("fast64"))),
        format!("wide_64: {}", arguments(own("wide64"))),
    ];
    format!("CallArgs {{ {} }}", fields.join(", "))
}

/// A list of `<letter>:<name>` as `Option<&[Arg]>`.
fn arguments(list: Option<&Value>) -> String {
    let Some(list) = list else { return "None".into() };
    let one = |argument: &Value| {
        let text = argument.as_str().expect("arguments are texts");
        let (letter, name) = text.split_once(':').expect("an argument is letter and name");
        format!("Arg {{ letter: {}, name: {name:?} }}", kind(letter))
    };
    let list: Vec<_> = list.as_array().expect("arguments are a list").iter().map(one).collect();
    format!("Some(&[{}])", list.join(", "))
}

fn kind(letter: &str) -> &'static str {
    match letter {
        "D" => "ArgType::Decimal",
        "H" => "ArgType::Hex",
        "P" => "ArgType::Pointer",
        "E" => "ArgType::Decimal64",
        "X" => "ArgType::Hex64",
        "S" => "ArgType::Text",
        "s" => "ArgType::MoreText",
        "N" => "ArgType::Name",
        _ => panic!("argument letter {letter}"),
    }
}

/// The table that a release belongs to: rows of 6.5 and 6.6 are known from 7.1 on.
fn release(text: &str) -> &'static str {
    match text {
        "6.x" | "6.4" => "Release::Qnx6_4",
        "6.5" | "6.6" | "7.0" | "7.1" => "Release::Qnx7_1",
        "8.0" => "Release::Qnx8_0",
        _ => panic!("release {text}"),
    }
}

fn array<'t>(table: &'t Table, key: &str) -> Vec<&'t Table> {
    let rows = table.get(key).and_then(Value::as_array).unwrap_or_else(|| panic!("the table has {key}"));
    rows.iter().map(|row| row.as_table().expect("rows are tables")).collect()
}

fn optional<'t>(row: &'t Table, key: &str) -> Option<&'t str> {
    row.get(key).map(|value| value.as_str().unwrap_or_else(|| panic!("{key} is text")))
}

fn text<'t>(row: &'t Table, key: &str) -> &'t str {
    optional(row, key).unwrap_or_else(|| panic!("{key} is missing in {row:?}"))
}

fn texts<'t>(row: &'t Table, key: &str) -> Vec<&'t str> {
    let list = row.get(key).map_or(&[][..], |value| value.as_array().expect("a list"));
    list.iter().map(|text| text.as_str().expect("a list of texts")).collect()
}

fn integer(value: &Value) -> i64 {
    value.as_integer().expect("a number")
}

fn number(row: &Table, key: &str) -> i64 {
    integer(row.get(key).unwrap_or_else(|| panic!("{key} is missing in {row:?}")))
}
