//! Tests of requests about a whole file after small edits: only the difference is sent.

use crate::client::{Client, changed};
use serde_json::{Value, json};

const URI: &str = "file:///work/a.trcfmt";

fn of_file(more: Value) -> Value {
    let mut params = json!({ "textDocument": { "uri": URI } });
    if let (Value::Object(params), Value::Object(more)) = (&mut params, more) {
        params.extend(more);
    }
    params
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

/// Replaces a part of the text, both here and at the server.
fn edit(client: &Client, text: &mut String, version: u32, old: &str, new: &str) {
    let at = text.find(old).unwrap();
    let line = text[..at].matches('\n').count();
    let character = at - text[..at].rfind('\n').map_or(0, |at| at + 1);
    let end = json!({ "line": line, "character": character + old.len() });
    let range = json!({ "start": { "line": line, "character": character }, "end": end });
    let document = json!({ "uri": URI, "version": version });
    let changes = json!([{ "range": range, "text": new }]);
    client.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    text.replace_range(at..at + old.len(), new);
}

#[test]
fn semantic_tokens_are_sent_as_changes() {
    let mut text: String = (0..50).map(|at| format!("{:03X} 1.0 \"L{at}\" X4 $x\n", 0x100 + at)).collect();
    let mut client = Client::with(URI, &text);
    let first = client.request("textDocument/semanticTokens/full", of_file(json!({}))).unwrap();
    let mut id = first["resultId"].clone();
    let mut data = numbers(&first["data"]);
    let edits =
        [("\"L25\"", "L=APPL \"L25\""), ("11A ", "# 11A "), ("# 11A", "11A"), ("100 1.0", ""), ("L25", "\u{e9}")];
    for (version, (old, new)) in (2..).zip(edits) {
        edit(&client, &mut text, version, old, new);
        let since = of_file(json!({ "previousResultId": id }));
        let answer = client.request("textDocument/semanticTokens/full/delta", since).unwrap();
        assert!(answer["data"].is_null(), "{answer}");
        for edit in answer["edits"].as_array().unwrap() {
            let start = edit["start"].as_u64().unwrap() as usize;
            let n_gone = edit["deleteCount"].as_u64().unwrap() as usize;
            let new = numbers(&edit["data"]);
            assert!(n_gone <= 40 && new.len() <= 40, "{edit}");
            data.splice(start..start + n_gone, new);
        }
        let all = Client::with(URI, &text).request("textDocument/semanticTokens/full", of_file(json!({}))).unwrap();
        assert_eq!(data, numbers(&all["data"]), "{old} -> {new}");
        id = answer["resultId"].clone();
    }
    let same = client.request("textDocument/semanticTokens/full/delta", of_file(json!({ "previousResultId": id })));
    assert_eq!(same.unwrap()["edits"], json!([]));
    let unknown = of_file(json!({ "previousResultId": "no such" }));
    let all = client.request("textDocument/semanticTokens/full/delta", unknown).unwrap();
    assert_eq!(numbers(&all["data"]), data);
    assert!(client.stop());
}

#[test]
fn formatting_applies_to_the_current_text() {
    let mut text: String = (0..50).map(|at| format!("{:03X}  1.0 \"L{at}\"   X4 $x\n\n\n", 0x100 + at)).collect();
    let mut client = Client::with(URI, &text);
    let edits = [("L25", "L2 5"), ("11A  1.0 ", "11A 1.0 X17 "), ("X17", "X1"), ("100", "# 100"), ("X4 $x\n", "X4 ")];
    for (version, (old, new)) in (2..).zip(edits) {
        edit(&client, &mut text, version, old, new);
        let options = json!({ "options": { "tabSize": 4, "insertSpaces": true } });
        let answer = client.request("textDocument/formatting", of_file(options)).unwrap();
        let source = tfbc_grammar::Source::new("a", text.as_bytes());
        let formatted = tfbc_grammar::format(tfbc_grammar::SourceId(0), &source, &Default::default());
        assert_eq!(changed(&text, &answer).into_bytes(), formatted.text(&source), "{old} -> {new}");
    }
    assert!(client.stop());
}
