//! Tests of `tfbc lsp` over pipes, as editors start it.

use crate::common::program;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

const URI: &str = "file:///work/a.trcfmt";

fn framed(message: &Value) -> Vec<u8> {
    let text = message.to_string();
    format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
}

fn read(out: &mut impl BufRead) -> Value {
    let mut length = 0;
    loop {
        let mut line = String::new();
        assert!(out.read_line(&mut line).unwrap() > 0, "the server has gone");
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut bytes = vec![0; length];
    out.read_exact(&mut bytes).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn the_command_speaks_over_pipes() {
    for (messages, expected) in [
        (
            vec![
                json!({ "jsonrpc": "2.0", "id": 9, "method": "shutdown" }),
                json!({ "jsonrpc": "2.0", "method": "exit" }),
            ],
            0,
        ),
        (vec![json!({ "jsonrpc": "2.0", "method": "exit" })], 1),
        (vec![], 1),
    ] {
        let mut server = Command::new(program("tfbc"))
            .args(["lsp", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = server.stdin.take().unwrap();
        let mut out = BufReader::new(server.stdout.take().unwrap());
        input.write_all(b"Content-Length: 5\r\n\r\n{no}\n").unwrap();
        assert_eq!(read(&mut out)["error"]["code"], -32700);
        let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "capabilities": {} } });
        input.write_all(&framed(&initialize)).unwrap();
        assert_eq!(read(&mut out)["result"]["serverInfo"]["name"], "tfbc");
        let document = json!({ "uri": URI, "languageId": "trcfmt", "version": 1, "text": "010 1.0 X17\n" });
        let open =
            json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": { "textDocument": document } });
        input.write_all(&framed(&open)).unwrap();
        assert_eq!(read(&mut out)["params"]["diagnostics"][0]["code"], "S07");
        messages.iter().for_each(|message| input.write_all(&framed(message)).unwrap());
        drop(input);
        assert_eq!(server.wait().unwrap().code(), Some(expected), "{messages:?}");
    }
}
