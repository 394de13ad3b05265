//! Tests of language features in event definitions.

use crate::client::{Client, changed, lines, position};
use serde_json::{Value, json};

const URI: &str = "file:///work/defs.xml";
const TEXT: &str = r#"<eventdefinitions>
  <datakey format="%2u1x state %1s0 name" offset="4">
    <event class="USER" id="65"/>
    <enum name="state" value="0x10" string="ON"/>
    <bitmask name="state" value="0xff"/>
  </datakey>
  <datakey format="%4u1x more">
    <event class="USER" id="65"/>
    <condition name="state" value="1"/>
  </datakey>
</eventdefinitions>
"#;

#[test]
fn hover_describes_the_word_at_the_cursor() {
    let mut client = Client::with(URI, TEXT);
    client.diagnostics(URI, 1);
    for (marker, expected) in [
        ("%2u1x sta|te", "Field `state` of tables: int64 (hex)."),
        ("%2u1x sta|te", "unsigned number of 2 bytes, shown in hexadecimal; bytes 4 to 5 of the payload"),
        ("%1s0 na|me", "text up to its NUL; from byte 6"),
        ("enum name=\"st|ate", "bytes 4 to 5"),
        ("condition name=\"st|ate", "bytes 4 to 5"),
        ("0x|10", "16 = `0x10`"),
        ("<bit|mask", "Bits of a field"),
        ("off|set", "Bytes from the start of the payload"),
        ("class=\"US|ER", "The class"),
    ] {
        let answer = client.ask("textDocument/hover", URI, TEXT, marker, json!({})).unwrap();
        let found = answer["contents"]["value"].as_str().unwrap_or_default();
        assert!(found.contains(expected), "{marker}: {found}");
    }
}

#[test]
fn labels_are_found_and_renamed() {
    let mut client = Client::with(URI, TEXT);
    let more = || json!({ "context": { "includeDeclaration": true }, "newName": "level" });
    let mut ask = |method: &str, marker: &str| client.ask(method, URI, TEXT, marker, more()).unwrap();
    assert_eq!(lines(&ask("textDocument/definition", "enum name=\"st|ate")), ["defs.xml:1"]);
    assert_eq!(lines(&ask("textDocument/definition", "condition name=\"st|ate")), ["defs.xml:1"]);
    let references = ["defs.xml:1", "defs.xml:3", "defs.xml:4", "defs.xml:8"];
    assert_eq!(lines(&ask("textDocument/references", "%2u1x st|ate")), references);
    let answer = ask("textDocument/rename", "enum name=\"st|ate");
    let expected = TEXT.replace("%2u1x state", "%2u1x level").replace("name=\"state\"", "name=\"level\"");
    assert_eq!(changed(TEXT, &answer["changes"][URI]), expected);
    for bad in ["name", "a%b", "", "a  b", "a<b"] {
        let answer = client.ask("textDocument/rename", URI, TEXT, "%2u1x st|ate", json!({ "newName": bad }));
        assert_eq!(answer, Err(-32803), "{bad}");
    }
}

#[test]
fn completion_offers_what_is_valid_at_the_cursor() {
    let check = |text: &str, marker: &str, wanted: &[&str], others: &[&str]| {
        let mut client = Client::with(URI, text);
        let answer = client.ask("textDocument/completion", URI, text, marker, json!({})).unwrap();
        let found: Vec<_> = answer.as_array().unwrap().iter().filter_map(|item| item["label"].as_str()).collect();
        assert!(wanted.iter().all(|name| found.contains(name)), "{marker}: {found:?}");
        assert!(others.iter().all(|name| !found.contains(name)), "{marker}: {found:?}");
    };
    check("<eventdefinitions><d", "<d|", &["datakey", "eventclass"], &["enum"]);
    check("<eventdefinitions><datakey format=\"%x a\"><e", "a\"><e|", &["event", "enum", "condition"], &["datakey"]);
    check("<", "<|", &["eventdefinitions"], &["enum"]);
    check(TEXT, "<datakey |format", &["wide_offset"], &["format", "offset"]);
    check(TEXT, "class=\"|USER", &["USER", "KER_CALL"], &[]);
    check("<a><event class=\"PR_TH\" id=\"\"/></a>", "id=\"|\"", &["THREADY (2)"], &[]);
    check(TEXT, "enum name=\"|state", &["state", "name"], &["more"]);
    check(TEXT, "condition name=\"|state", &["state", "name"], &["more"]);
}

#[test]
fn every_class_and_event_that_is_offered_exists() {
    let text = "<eventdefinitions><datakey format=\"%x a\"><event class=\"\" id=\"\"/></datakey></eventdefinitions>";
    let mut client = Client::with(URI, text);
    let classes = client.ask("textDocument/completion", URI, text, "class=\"|", json!({})).unwrap();
    let mut definitions = String::from("<eventdefinitions>");
    let mut n = 0;
    for class in classes.as_array().unwrap() {
        let class = class["label"].as_str().unwrap();
        let text = text.replace("class=\"\"", &format!("class=\"{class}\""));
        let uri = format!("file:///work/{class}.xml");
        client.open(&uri, &text);
        let events = client.ask("textDocument/completion", &uri, &text, "id=\"|", json!({})).unwrap();
        for event in events.as_array().unwrap() {
            let id = event["textEdit"]["newText"].as_str().unwrap();
            definitions += &format!("<datakey format=\"%x a\"><event class=\"{class}\" id=\"{id}\"/></datakey>");
            n += 1;
        }
    }
    assert!(n > 300, "{n}");
    definitions += "</eventdefinitions>";
    client.open("file:///work/all.xml", &definitions);
    let found = client.diagnostics("file:///work/all.xml", 1);
    let errors: Vec<_> = found.iter().filter(|found| found["severity"] == 1).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn datakeys_are_listed_and_fold() {
    let mut client = Client::with(URI, TEXT);
    let document = json!({ "textDocument": { "uri": URI } });
    let symbols = client.request("textDocument/documentSymbol", document.clone()).unwrap();
    assert_eq!(symbols[0]["name"], "USER:65");
    let fields: Vec<_> = symbols[0]["children"].as_array().unwrap().iter().map(|field| field["name"].clone()).collect();
    assert_eq!(fields, ["state", "name"]);
    let folds = client.request("textDocument/foldingRange", document.clone()).unwrap();
    let starts: Vec<_> = folds.as_array().unwrap().iter().map(|fold| fold["startLine"].clone()).collect();
    assert_eq!(starts, [0, 1, 6]);
    let answer = client.request("textDocument/semanticTokens/full", document).unwrap();
    assert_eq!(
        answer["data"].as_array().unwrap()[..10],
        json!([0, 1, 16, 9, 0, 1, 3, 7, 9, 0]).as_array().unwrap()[..]
    );
}

#[test]
fn findings_and_layout() {
    let text = "<eventdefinitions><datakey format='%x a'>\n<event class=\"6\" id=\"1\"/><enum value=\"007\" string=\"x\"/></datakey></eventdefinitions>";
    let mut client = Client::with(URI, text);
    let found = client.diagnostics(URI, 1);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["severity"], 2);
    let place = position(text, "value=\"|007");
    let params = json!({
        "textDocument": { "uri": URI },
        "range": { "start": place, "end": place },
        "context": { "diagnostics": [] },
    });
    let actions = client.request("textDocument/codeAction", params).unwrap();
    let fixed: Vec<String> =
        actions.as_array().unwrap().iter().map(|action| changed(text, &action["edit"]["changes"][URI])).collect();
    assert!(fixed.iter().all(|fixed| *fixed == text.replace("007", "7")), "{fixed:?}");
    let options = json!({ "tabSize": 2, "insertSpaces": true });
    let edits: Value = client
        .request("textDocument/formatting", json!({ "textDocument": { "uri": URI }, "options": options }))
        .unwrap();
    let expected = "<eventdefinitions>\n  <datakey format=\"%x a\">\n    <event class=\"6\" id=\"1\"/>\n    \
                    <enum value=\"007\" string=\"x\"/>\n  </datakey>\n</eventdefinitions>\n";
    assert_eq!(changed(text, &edits), expected);
}
