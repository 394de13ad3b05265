//! Tests of the protocol: states, errors, and invalid messages.

use crate::client::{Client, message, result};
use crossbeam_channel::unbounded;
use serde_json::{Value, json};
use tfbc_lsp::Message;

const URI: &str = "file:///work/a.trcfmt";

fn request(id: i32, method: &str, params: Value) -> Message {
    Message::Request { id: json!(id), method: method.into(), params }
}

fn notification(method: &str, params: Value) -> Message {
    Message::Notification { method: method.into(), params }
}

#[test]
fn a_session_ends_as_the_protocol_says() {
    assert!(Client::start(json!({})).stop());
    assert!(!Client::start(json!({})).exit(), "without shutdown");
    assert!(!Client::start(json!({})).hang_up());
    let mut client = Client::start(json!({}));
    client.request("shutdown", Value::Null).unwrap();
    assert_eq!(client.request("textDocument/hover", json!({})), Err(-32600));
    assert!(client.exit());
}

#[test]
fn requests_that_cannot_be_answered_get_errors() {
    let mut client = Client::start(json!({}));
    assert_eq!(client.request("textDocument/colour", json!({})), Err(-32601));
    assert_eq!(client.request("textDocument/hover", json!({})), Err(-32602));
    assert_eq!(client.request("textDocument/hover", json!([1, "a"])), Err(-32602));
    let unopened = json!({ "textDocument": { "uri": URI }, "position": { "line": 0, "character": 0 } });
    assert_eq!(client.request("textDocument/hover", unopened), Err(-32602));
    assert_eq!(client.request("initialize", json!({ "capabilities": {} })), Err(-32600));
    client.notify("textDocument/didChange", json!({ "no": "such" }));
    client.notify("$/unknown", json!({}));
    assert!(client.stop());
}

#[test]
fn nothing_is_answered_before_initialize() {
    let (to_server, incoming) = unbounded();
    let (outgoing, from_server) = unbounded();
    let server = std::thread::spawn(move || tfbc_lsp::serve(incoming, outgoing));
    to_server.send(request(1, "shutdown", Value::Null)).unwrap();
    assert_eq!(result(message(&from_server.recv().unwrap())), Err(-32002));
    to_server.send(notification("exit", Value::Null)).unwrap();
    assert!(!server.join().unwrap());
}

#[test]
fn a_request_that_waits_can_be_cancelled() {
    let (to_server, incoming) = unbounded();
    let (outgoing, from_server) = unbounded();
    let send = |message: Message| to_server.send(message).unwrap();
    // All messages are in the queue before the server starts.
    send(request(1, "initialize", json!({ "capabilities": {} })));
    send(request(2, "workspace/symbol", json!({ "query": "" })));
    send(request(3, "workspace/symbol", json!({ "query": "" })));
    send(notification("$/cancelRequest", json!({ "id": 3 })));
    send(request(4, "shutdown", Value::Null));
    send(notification("exit", Value::Null));
    assert!(tfbc_lsp::serve(incoming, outgoing));
    let responses = from_server.try_iter().map(|text| message(&text)).filter(|message| message.get("id").is_some());
    let mut codes: Vec<_> =
        responses.map(|response| (response["id"].as_i64().unwrap(), result(response).err())).collect();
    codes.sort();
    assert_eq!(codes, [(1, None), (2, None), (3, Some(-32800)), (4, None)]);
}

/// Pseudorandom numbers with a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

const METHODS: [&str; 16] = [
    "textDocument/hover",
    "textDocument/definition",
    "textDocument/references",
    "textDocument/documentHighlight",
    "textDocument/prepareRename",
    "textDocument/rename",
    "textDocument/completion",
    "textDocument/documentSymbol",
    "workspace/symbol",
    "textDocument/foldingRange",
    "textDocument/formatting",
    "textDocument/rangeFormatting",
    "textDocument/codeAction",
    "textDocument/semanticTokens/full",
    "textDocument/semanticTokens/full/delta",
    "textDocument/semanticTokens/range",
];

#[test]
fn any_text_and_any_place_have_an_answer() {
    let pieces = [
        "010 1.0 ",
        "\"text\" ",
        "$x",
        "%U4 ",
        "{{ ",
        "}} ",
        "{",
        "}",
        "f(",
        ")",
        ", ",
        "\\\n",
        "\n",
        "`$D1 X4`",
        "$90F ",
        "é😀",
        "\r\n",
        "LOOP ",
        "BITFLAGS X4, ",
        "0x1 ",
        "\"",
        "# tfbc: ",
        "<datakey format=\"%4u1x a\" ",
        "<enum name=\"a\" ",
        "<event class=\"6\" id=\"1\"",
        "/>",
        "</datakey>",
        "<!--",
        "\u{0}",
        "&",
        "<eventdefinitions>",
    ];
    let mut random = Random(11);
    let mut client = Client::with(URI, "");
    for version in 2..400 {
        let number = |random: &mut Random| [random.below(4), random.below(30), usize::MAX >> 33][random.below(3)];
        let place = |random: &mut Random| json!({ "line": number(random), "character": number(random) });
        let range = json!({ "start": place(&mut random), "end": place(&mut random) });
        let text: String = (0..random.below(6)).map(|_| pieces[random.below(pieces.len())]).collect();
        let begins = ["", "<eventdefinitions>", "010 1.0 "][random.below(3)];
        let change = match random.below(12) {
            0 => json!({ "text": format!("{begins}{text}") }),
            _ => json!({ "range": range, "text": text }),
        };
        let document = json!({ "uri": URI, "version": version });
        client.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": [change] }));
        let params = json!({
            "textDocument": { "uri": URI },
            "position": place(&mut random),
            "range": range,
            "context": { "includeDeclaration": true, "diagnostics": [], "triggerKind": 1 },
            "options": { "tabSize": 4, "insertSpaces": true },
            "newName": (["b", "", "$x", "a b"][random.below(4)]),
            "query": "a",
            "previousResultId": number(&mut random).to_string(),
        });
        let method = METHODS[random.below(METHODS.len())];
        let answer = client.request(method, params);
        assert!(answer.as_ref().is_ok_and(|_| true) || answer == Err(-32803), "{method}: {answer:?}");
    }
    assert!(client.stop());
}

#[test]
fn parameters_of_any_shape_are_answered() {
    let values =
        [json!(null), json!(1), json!("x"), json!([]), json!({}), json!({ "uri": "::" }), json!({ "line": -1 })];
    let mut random = Random(5);
    let mut client = Client::with(URI, "010 1.0 \"A\" X4\n");
    for _ in 0..300 {
        let mut value = || values[random.below(values.len())].clone();
        let params =
            json!({ "textDocument": value(), "position": value(), "range": value(), "context": value(), "x": value() });
        let method = METHODS[random.below(METHODS.len())];
        if let Err(code) = client.request(method, params) {
            assert!(matches!(code, -32602 | -32803), "{method}: {code}");
        }
    }
    assert!(client.stop());
}
