//! `tfbc fields` and the fields of AIX events in JSON lines.

use super::common::*;

/// Cases of fields, shared with the tests of the reference interpreter.
fn cases() -> std::path::PathBuf {
    root().join("snapshots/data/fields")
}

#[test]
fn field_cases_match_results_worked_out_by_hand() {
    let cases = cases();
    let mut n_cases = 0;
    for name in names(&cases) {
        let read = |file: &str| std::fs::read_to_string(cases.join(&name).join(file)).unwrap();
        for (arguments, expected) in [
            ("fields --to json t.trcfmt", "fields.json"),
            ("report --to ndjson --columns id,fields -t t.trcfmt s.stream", "fields.ndjson"),
        ] {
            let (out, err, status) = run(command("tfbc").args(arguments.split(' ')).current_dir(cases.join(&name)));
            assert_eq!((out, status), (read(expected), 0), "{name}: {arguments}: {err}");
        }
        n_cases += 1;
    }
    assert_eq!(n_cases, 12);
}

#[test]
fn fields_of_event_definitions_are_pointed_to() {
    let (out, err, status) = run(command("tfbc").args(["fields"]).arg(root().join("runtime/samples/user.xml")));
    assert_eq!((out.as_str(), status), ("", 0));
    assert_eq!(err, "only AIX stanzas are listed; `tfbc report --to ndjson` shows the fields of QNX events\n");
}
