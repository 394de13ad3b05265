//! `tfbc fields` and the fields of events in JSON lines.

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
fn fields_of_event_definitions_are_listed() {
    let listed = |arguments: &[&str]| {
        let (out, err, status) =
            run(command("tfbc").arg("fields").args(arguments).current_dir(root().join("runtime/samples")));
        assert_eq!((err.as_str(), status), ("", 0));
        out
    };
    let all = listed(&["user.xml"]);
    let one = listed(&["user.xml", "--id", "USER:65"]);
    assert!(all.contains(&one) && one.starts_with("USER:65\n"), "{one}");
    assert_eq!(listed(&["user.xml", "--id", "6:65"]), one);
    let json = listed(&["user.xml", "--id", "USER:65", "--to", "json"]);
    assert!(json.starts_with("[\n{\"id\":\"USER:65\",\"label\":\"\",\"fields\":[{\"name\":"), "{json}");
}
