//! Editors: files of the extension parse, fit each other, and know the words of the language; recipes name the server.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tfbc_grammar::trcfmt::KEYWORDS;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/vscode")
}

fn read(name: &str) -> Value {
    let text = fs::read_to_string(directory().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Every `match`, `begin` and `end` in a grammar.
fn patterns(grammar: &Value, found: &mut Vec<String>) {
    match grammar {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str().filter(|_| ["match", "begin", "end"].contains(&name.as_str())) {
                    Some(pattern) => found.push(pattern.to_owned()),
                    None => patterns(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| patterns(value, found)),
        _ => {}
    }
}

#[test]
fn every_file_that_the_extension_names_is_there() {
    let package = read("package.json");
    let contributes = &package["contributes"];
    let mut names = vec![package["main"].as_str().unwrap().to_owned()];
    for (list, field) in [("languages", "configuration"), ("grammars", "path")] {
        let entries = contributes[list].as_array().unwrap();
        names.extend(entries.iter().map(|entry| entry[field].as_str().unwrap().to_owned()));
    }
    for name in &names {
        assert!(directory().join(name).is_file(), "{name}");
        if name.ends_with(".json") {
            read(name);
        }
    }
    for grammar in contributes["grammars"].as_array().unwrap() {
        assert_eq!(read(grammar["path"].as_str().unwrap())["scopeName"], grammar["scopeName"]);
        let mut languages = contributes["languages"].as_array().unwrap().iter();
        assert!(languages.any(|language| language["id"] == grammar["language"]));
    }
    assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn every_setting_that_the_client_reads_is_declared() {
    let client = fs::read_to_string(directory().join("extension.js")).unwrap();
    let package = read("package.json");
    let declared = package["contributes"]["configuration"]["properties"].as_object().unwrap();
    for part in client.split("settings.get('").skip(1) {
        let name = format!("tfbc.{}", part.split('\'').next().unwrap());
        assert!(declared.contains_key(&name), "{name}");
    }
    assert!(client.contains("'lsp', '--stdio'"));
}

#[test]
fn the_grammar_knows_the_words_of_the_language() {
    let grammar = read("syntaxes/trcfmt.tmLanguage.json");
    let mut found = Vec::new();
    patterns(&grammar, &mut found);
    let all = found.join("\n");
    for word in KEYWORDS {
        assert!(
            all.contains(&format!("|{word}|"))
                || all.contains(&format!("({word}|"))
                || all.contains(&format!("|{word})")),
            "{word}"
        );
    }
    for word in ["APPL", "SVC", "KERN", "INT", "tfbc:", "\\\\[nt*]", "[ABSXDUoFTEPGORW]", "[SXDUoTEP]W|HB|HT"] {
        assert!(all.contains(word), "{word}");
    }
}

#[test]
fn every_rule_that_a_grammar_includes_exists() {
    for name in ["syntaxes/trcfmt.tmLanguage.json", "syntaxes/eventdefinitions.tmLanguage.json"] {
        let grammar = read(name);
        for part in grammar.to_string().split("\"include\":\"#").skip(1) {
            let rule = part.split('"').next().unwrap();
            assert!(grammar["repository"].get(rule).is_some(), "{name}: {rule}");
        }
    }
}

#[test]
fn the_recipe_for_helix_names_the_server_that_it_defines() {
    let page = fs::read_to_string(directory().join("../../docs/lsp.md")).unwrap();
    let recipe = page.split("**Helix**").nth(1).unwrap().split("```toml\n").nth(1).unwrap();
    let recipe: toml::Table = recipe.split("```").next().unwrap().parse().unwrap();
    let server = &recipe["language-server"]["tfbc"];
    assert_eq!(server["command"].as_str(), Some("tfbc"));
    assert_eq!(server["args"].as_array().unwrap()[0].as_str(), Some("lsp"));
    let language = &recipe["language"].as_array().unwrap()[0];
    assert_eq!(language["language-servers"].as_array().unwrap()[0].as_str(), Some("tfbc"));
}
