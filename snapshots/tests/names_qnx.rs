//! Symbolic event names: each name of the event table means the number in the table, and an ambiguous name is
//! refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Severity, Source, Sources};
use tfbc_snapshots::datakey::class_name;
use tfbc_vm::Program;

/// Event numbers by class and name.
type EventNumbers = BTreeMap<(u8, String), BTreeSet<u16>>;

fn class_number(name: &str) -> u8 {
    (0..12).find(|class| class_name(*class) == name).unwrap_or_else(|| panic!("class {name}"))
}

/// Reads the names from the table, line by line.
fn names() -> EventNumbers {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../compiler/src/events/qnx-events.toml");
    let table = std::fs::read_to_string(path).expect("the event table");
    let mut names = EventNumbers::new();
    for section in table.split("\n[[").skip(1) {
        let value = |key: &str| {
            let line = section.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            line.map(|value| value.trim_matches('"').to_string())
        };
        let number = || value("number").and_then(|number| number.parse().ok()).expect("a number");
        let mut add = |class, name: Option<String>, number: u16| {
            let Some(name) = name else { return };
            names.entry((class, name)).or_default().insert(number);
        };
        if section.starts_with("event]]") {
            let class = class_number(&value("class").expect("a class"));
            add(class, value("name"), number());
            // One row has the label of all user events.
            let last = value("last_number").and_then(|last| last.parse().ok()).unwrap_or(number());
            (number()..=last).for_each(|number| add(class, value("traceprinter"), number));
        } else if section.starts_with("kercall]]") {
            // A call without label is named without `__KER_`.
            let name = value("name").expect("a name");
            let label = value("label").unwrap_or_else(|| name.trim_start_matches("__KER_").into());
            for name in [name, label] {
                add(2, Some(name.clone()), number());
                for (ending, more) in [("enter", 0), ("exit", 128), ("int", 256), ("enter64", 512), ("exit64", 640)] {
                    add(2, Some(format!("{name}:{ending}")), number() + more);
                }
            }
        }
    }
    names
}

#[test]
fn every_table_name_is_its_number_or_refused() {
    let names = names();
    assert!(names.len() > 1000, "{} names", names.len());
    // One file for all names is faster than one each; the line number identifies the name.
    let mut file = String::from("<eventdefinitions>\n");
    for (class, name) in names.keys() {
        let _ = writeln!(file, "<datakey format=\"%x a\"><event class=\"{class}\" id=\"{name}\"/></datakey>");
    }
    file += "</eventdefinitions>\n";
    let mut sources = Sources::new();
    sources.add(Source::new("names.xml", file));
    let compiled = compile(&sources, &Options::default());
    let source = sources.iter().next().expect("a source").1;
    let errors = compiled.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let refused: BTreeSet<usize> =
        errors.map(|found| source.line_column(found.primary.span.start).0 as usize - 2).collect();
    let mut failures = Vec::new();
    for (at, ((class, name), numbers)) in names.iter().enumerate() {
        if (numbers.len() > 1) != refused.contains(&at) {
            failures.push(format!("class {class} {name}: {numbers:?}, refused: {}", refused.contains(&at)));
        }
    }
    let blob = compiled.blob.expect("most names are good");
    let program = Program::open(&blob).expect("a blob of the compiler's opens");
    let good = names.iter().filter(|(_, numbers)| numbers.len() == 1);
    let wanted: BTreeSet<(u8, u16)> =
        good.flat_map(|((class, _), numbers)| numbers.iter().map(|n| (*class, *n))).collect();
    for class in 0..32 {
        for number in 0..1024 {
            let is = program.record(class, number).is_some();
            if is != wanted.contains(&(class, number)) {
                failures.push(format!("class {class} event {number}: there {is}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}\n{} failures", failures.join("\n"), failures.len());
}
