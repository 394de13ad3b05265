//! Tests of language features in trcfmt files.

use crate::client::{Client, at, changed, lines, position};
use serde_json::{Value, json};

const URI: &str = "file:///work/a.trcfmt";
const TEXT: &str = "\
# functions
010 1.0 L=KERN \"FUNCTIONS\" {{ state(value) $value, 0 \"DOWN\", 1 \"UP\", \\* { \"?\" $value%U4 } }}

90F 1.0 \"\" G4 {{ $return }} G16 {{ $return = X2 }}
900 1.0 \"ESDI STRATEGY\" {{ $rv = 0 }} {{ $stat = X2 + 0x10 }} $90F \\
    \"stat=\" $stat%W0.3 state($D1) state(X4) \\
    BITFLAGS $stat, 0x1 \"busy\" LOOP $rv { X0 }
";

fn hover(marker: &str) -> String {
    let mut client = Client::with(URI, TEXT);
    let answer = client.ask("textDocument/hover", URI, TEXT, marker, json!({})).unwrap();
    answer["contents"]["value"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn hover_describes_the_word_at_the_cursor() {
    for (marker, expected) in [
        ("G|4 {{", "Goes to byte 4 of the event."),
        ("(X|4)", "4 bytes in hexadecimal"),
        ("$st|at%W0", "{{ $stat = X2 + 0x10 }}"),
        ("%W|0.3", "Bits 0 to 3"),
        ("0x|10 }}", "16 = `0x10` = `o20` = binary `10000`"),
        ("$D|1", "the first data word"),
        ("$9|0F", "90F 1.0 \"\" G4"),
        ("9|0F 1.0 \"\"", "1 template inserts it."),
        ("st|ate(X4", "{{ state(value) $value"),
        ("$v|alue, 0", "parameter of `state(value)`"),
        ("LO|OP", "`LOOP count { … }`"),
        ("BIT|FLAGS", "tests every entry"),
        ("0x|1 \"busy", "1 = `0x1`"),
        ("L=|KERN", "Kernel level"),
    ] {
        let found = hover(marker);
        assert!(found.contains(expected), "{marker}: {found}");
    }
    assert_eq!(hover("\"st|at=\""), "", "text is what it is");
}

#[test]
fn hover_names_the_field_of_a_table() {
    let mut client = Client::with(URI, TEXT);
    client.diagnostics(URI, 1);
    let mut hover = |marker: &str| {
        let answer = client.ask("textDocument/hover", URI, TEXT, marker, json!({})).unwrap();
        answer["contents"]["value"].as_str().unwrap_or_default().to_owned()
    };
    for (marker, expected) in [
        ("\"stat=\" $st|at%W0.3", "Field `stat` of tables: uint64 (hex)."),
        ("$v|alue, 0", "Field `value` of tables: int64.\n\nField `value_text` of tables: dictionary."),
        ("LO|OP", "Field `f5` of tables: binary (hex)."),
    ] {
        let found = hover(marker);
        assert!(found.contains(expected), "{marker}: {found}");
    }
    assert!(!hover("{{ $stat = X|2 + 0x10").contains("Field"), "assignments are no fields");
}

#[test]
fn definitions_and_references_are_found() {
    let mut client = Client::with(URI, TEXT);
    client.open("file:///work/b.trcfmt", "100 1.0 state(X2) $90F\n");
    let mut ask = |method: &str, marker: &str| {
        let more = json!({ "context": { "includeDeclaration": true } });
        lines(&client.ask(method, URI, TEXT, marker, more).unwrap())
    };
    assert_eq!(ask("textDocument/definition", "st|ate(X4"), ["a.trcfmt:1"]);
    assert_eq!(ask("textDocument/definition", "$9|0F"), ["a.trcfmt:3"]);
    assert_eq!(ask("textDocument/definition", "$st|at%W"), ["a.trcfmt:4"]);
    assert_eq!(ask("textDocument/definition", "$v|alue%U4"), ["a.trcfmt:1"]);
    assert_eq!(ask("textDocument/references", "st|ate(X4"), ["a.trcfmt:1", "a.trcfmt:5", "a.trcfmt:5", "b.trcfmt:0"]);
    assert_eq!(ask("textDocument/references", "|90F 1.0"), ["a.trcfmt:3", "a.trcfmt:4", "b.trcfmt:0"]);
    assert_eq!(ask("textDocument/references", "$va|lue, 0"), ["a.trcfmt:1"; 3]);
    assert_eq!(ask("textDocument/references", "$s|tat,"), ["a.trcfmt:4", "a.trcfmt:5", "a.trcfmt:6"]);
}

#[test]
fn renaming_keeps_what_names_mean() {
    let mut client = Client::with(URI, TEXT);
    let mut rename = |marker: &str, new: &str| {
        let answer = client.ask("textDocument/rename", URI, TEXT, marker, json!({ "newName": new }));
        answer.map(|answer| changed(TEXT, &answer["changes"][URI]))
    };
    assert_eq!(rename("$st|at%W", "status").unwrap(), TEXT.replace("$stat", "$status"));
    assert_eq!(rename("$v|alue, 0", "$v").unwrap(), TEXT.replace("value", "v"));
    assert_eq!(rename("st|ate(X4", "link").unwrap(), TEXT.replace("state(", "link("));
    for (marker, new) in [
        ("$D|1", "x"),
        ("$9|0F", "x"),
        ("$st|at%W", "D1"),
        ("$st|at%W", "abc"),
        ("$st|at%W", "rv"),
        ("$st|at%W", "a b"),
        ("st|ate(X4", "starttimer"),
        ("\"st|at=\"", "x"),
    ] {
        assert_eq!(rename(marker, new), Err(-32803), "{marker} {new}");
    }
}

#[test]
fn a_place_that_can_be_renamed_is_shown() {
    let mut client = Client::with(URI, TEXT);
    let range = client.ask("textDocument/prepareRename", URI, TEXT, "$st|at%W", json!({})).unwrap();
    assert_eq!(range, json!({ "start": position(TEXT, "|$stat%W"), "end": position(TEXT, "$stat|%W") }));
}

fn complete(text: &str, marker: &str) -> Vec<String> {
    let mut client = Client::with(URI, text);
    let answer = client.ask("textDocument/completion", URI, text, marker, json!({})).unwrap();
    answer.as_array().unwrap().iter().map(|item| item["label"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn completion_offers_what_is_valid_at_the_cursor() {
    let has = |found: &[String], wanted: &[&str]| wanted.iter().all(|name| found.iter().any(|found| found == name));
    let found = complete(TEXT, "$|stat%W");
    assert!(has(&found, &["D1", "PID", "stat", "rv", "90F", "900"]), "{found:?}");
    assert!(!has(&found, &["value"]), "a parameter belongs to its function");
    assert!(has(&complete(TEXT, "$|value%U4"), &["value", "D1"]));
    let found = complete(TEXT, "%W|0.3");
    assert!(has(&found, &["U4", "X4", "W0.3"]) && !has(&found, &["G8"]), "{found:?}");
    let found = complete(TEXT, "LOO|P");
    assert!(has(&found, &["LOOP", "BITFLAGS", "X4", "G8", "state", "starttimer"]), "{found:?}");
    assert!(complete(TEXT, "\"st|at=\"").is_empty());
    let found = complete("# tfbc: \n", "# tfbc: |");
    assert!(has(&found, &["level=APPL"]), "{found:?}");
}

#[test]
fn completion_replaces_the_typed_text() {
    let mut client = Client::with(URI, "010 1.0 \"A\" BIT\n");
    let answer = client.ask("textDocument/completion", URI, "010 1.0 \"A\" BIT\n", "BIT|", json!({})).unwrap();
    let item = answer.as_array().unwrap().iter().find(|item| item["label"] == "BITFLAGS").unwrap();
    assert_eq!(item["textEdit"]["newText"], "BITFLAGS", "no snippet for a client that knows none");
    assert_eq!(item["textEdit"]["range"]["start"]["character"], 12);
}

#[test]
fn stanzas_are_listed_and_fold() {
    let mut client = Client::with(URI, TEXT);
    let document = json!({ "textDocument": { "uri": URI } });
    let symbols = client.request("textDocument/documentSymbol", document.clone()).unwrap();
    let names: Vec<_> = symbols.as_array().unwrap().iter().map(|symbol| (&symbol["name"], &symbol["detail"])).collect();
    assert_eq!(json!(names), json!([["010", "FUNCTIONS"], ["90F", ""], ["900", "ESDI STRATEGY"]]));
    assert_eq!(symbols[0]["children"][0]["name"], "state");
    let folds = client.request("textDocument/foldingRange", document).unwrap();
    assert_eq!(folds, json!([{ "startLine": 4, "endLine": 6, "kind": "region" }]));
    let found = client.request("workspace/symbol", json!({ "query": "esdi" })).unwrap();
    assert_eq!(found[0]["name"], "900 ESDI STRATEGY");
}

#[test]
fn findings_come_with_fixes_and_explanations() {
    let text = "010 1.0 \"A\" $D1, 1 \"a\",\n020 1.0 \"B\" X17\n";
    let mut client = Client::with(URI, text);
    let found = client.diagnostics(URI, 1);
    let codes: Vec<_> =
        found.iter().map(|found| (&found["severity"], found["range"]["start"]["line"].clone())).collect();
    assert_eq!(json!(codes), json!([[2, 0], [1, 1]]));
    let hover = client.ask("textDocument/hover", URI, text, "X|17", json!({})).unwrap();
    assert!(hover["contents"]["value"].as_str().unwrap().contains("**S07:"), "{hover}");
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 99 } });
    let params = json!({ "textDocument": { "uri": URI }, "range": range, "context": { "diagnostics": [] } });
    let actions = client.request("textDocument/codeAction", params).unwrap();
    let kinds: Vec<_> = actions.as_array().unwrap().iter().map(|action| action["kind"].clone()).collect();
    assert_eq!(kinds, ["quickfix", "source.fixAll"]);
    for action in actions.as_array().unwrap() {
        assert_eq!(changed(text, &action["edit"]["changes"][URI]), text.replace("\"a\",", "\"a\""), "{action}");
    }
}

#[test]
fn a_change_is_checked_with_the_other_files() {
    let mut client = Client::with(URI, "010 1.0 \"A\" f(X4)\n");
    assert_eq!(client.diagnostics(URI, 1).len(), 1, "nobody defines f");
    client.open("file:///work/b.trcfmt", "020 1.0 \"B\" {{ f(a) $a }}\n");
    client.diagnostics("file:///work/b.trcfmt", 1);
    let range = json!({ "start": { "line": 0, "character": 17 }, "end": { "line": 0, "character": 17 } });
    let changes = json!([{ "range": range, "text": " X17" }]);
    client.notify(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": URI, "version": 2 }, "contentChanges": changes }),
    );
    let found = client.diagnostics(URI, 2);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["code"], "S07");
    client.notify("textDocument/didClose", json!({ "textDocument": { "uri": URI } }));
    client.diagnostics("file:///work/b.trcfmt", 1);
    assert!(client.stop());
}

#[test]
fn a_file_is_laid_out() {
    let text = "# one\n\n\n010   1.0 \"A\"\\\n X4\n020   1.0 \"é\"\n";
    let mut client = Client::with(URI, text);
    let options = json!({ "tabSize": 4, "insertSpaces": true });
    let edits = client
        .request("textDocument/formatting", json!({ "textDocument": { "uri": URI }, "options": options }))
        .unwrap();
    assert_eq!(changed(text, &edits), "# one\n\n010 1.0 \"A\" X4\n020 1.0 \"é\"\n");
    let range = json!({ "start": { "line": 5, "character": 0 }, "end": { "line": 5, "character": 5 } });
    let params = json!({ "textDocument": { "uri": URI }, "options": options, "range": range });
    let edits = client.request("textDocument/rangeFormatting", params).unwrap();
    assert_eq!(changed(text, &edits), text.replace("020   1.0", "020 1.0"));
}

#[test]
fn words_are_coloured() {
    let text = "# é\n010 1.0 \"a \\\nb\" $x%U4 LOOP 2\n";
    let mut client = Client::with(URI, text);
    let answer = client.request("textDocument/semanticTokens/full", json!({ "textDocument": { "uri": URI } })).unwrap();
    let data: Vec<u64> = answer["data"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    let tokens: Vec<&[u64]> = data.chunks(5).map(|token| &token[..4]).collect();
    let expected: [&[u64]; 8] = [
        &[0, 0, 3, 3],
        &[1, 0, 3, 9],
        &[0, 4, 3, 2],
        &[0, 4, 4, 1],
        &[1, 0, 2, 1],
        &[0, 3, 2, 7],
        &[0, 2, 3, 8],
        &[0, 4, 4, 0],
    ];
    assert_eq!(tokens[..8], expected);
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 1 } });
    let params = json!({ "textDocument": { "uri": URI }, "range": range });
    let answer = client.request("textDocument/semanticTokens/range", params).unwrap();
    assert_eq!(answer["data"], json!([0, 0, 3, 3, 0]));
}

#[test]
fn columns_are_those_that_were_agreed_on() {
    let text = "010 1.0 \"é😀\" $D1\n";
    for (encodings, expected) in [(json!(["utf-16", "utf-8"]), ("utf-8", 17)), (json!(["utf-16"]), ("utf-16", 14))] {
        let capabilities = json!({ "general": { "positionEncodings": encodings } });
        let mut client = Client::start(json!({ "capabilities": capabilities }));
        client.open(URI, text);
        let params = json!({ "textDocument": { "uri": URI }, "position": { "line": 0, "character": expected.1 } });
        let answer = client.request("textDocument/hover", params).unwrap();
        assert!(answer["contents"]["value"].as_str().unwrap().contains("first data word"), "{answer}");
        assert_eq!(answer["range"]["end"]["character"], expected.1 + 3, "{}", expected.0);
    }
}

#[test]
fn files_that_the_project_names_belong_to_it() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("tfbc.toml"), "formats = [\"lib.trcfmt\"]\n").unwrap();
    std::fs::write(directory.path().join("lib.trcfmt"), b"0A0 1.0 \"\xff\" {{ f(a) $a }}\n").unwrap();
    let root = format!("file://{}", directory.path().display());
    let mut client = Client::start(json!({ "workspaceFolders": [{ "uri": root, "name": "w" }] }));
    let (uri, text) = (format!("{root}/my.trcfmt"), "010 1.0 \"A\" f(X4)\n");
    client.open(&uri, text);
    assert_eq!(client.diagnostics(&uri, 1), Vec::<Value>::new());
    let found = client.request("textDocument/definition", at(&uri, text, "f|(X4", json!({}))).unwrap();
    assert_eq!(lines(&found), ["lib.trcfmt:0"]);
    assert_eq!(found[0]["range"]["start"]["character"], 15, "a byte that is no UTF-8 counts one");
}

/// Line, column, severity (1 error, 2 warning) and message per diagnostic. Lines and columns start at 1.
fn findings(uri: &str, text: &str) -> Vec<(u64, u64, u64, String)> {
    let mut client = Client::with(uri, text);
    let found = client.diagnostics(uri, 1);
    let place = |found: &Value| {
        let start = &found["range"]["start"];
        let at = |name: &str| start[name].as_u64().unwrap() + 1;
        let message = found["message"].as_str().unwrap().to_owned();
        (at("line"), at("character"), found["severity"].as_u64().unwrap(), message)
    };
    let mut found: Vec<_> = found.iter().map(place).collect();
    found.sort();
    found
}

#[test]
fn update_files_are_known_by_their_first_line() {
    let text = "* /etc/trcfmt\n# our events\n+ 0A1 1.1 L=APPL \"one\" $D1%U8 $0FE \\\n    f($D2)\n- 0A2\n\
                + 0A3 1.0 \"three\" x4\n+ 0A4 1.0 L=FOO \"four\"\n";
    let found: Vec<_> = findings("file:///work/u.trc", text)
        .into_iter()
        .map(|(line, column, severity, _)| (line, column, severity))
        .collect();
    assert_eq!(found, [(6, 19, 2), (7, 11, 1)]);
}

#[test]
fn a_trace_is_named_once() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/shell.trc");
    // Decoded as an editor would.
    let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let found = findings(&format!("file://{path}"), &text);
    let [(1, 1, 2, message)] = &found[..] else { panic!("{found:?}") };
    assert!(message.starts_with("this is a trace"), "{message}");
}
