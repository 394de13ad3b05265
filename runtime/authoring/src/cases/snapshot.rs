//! Kept texts: files as the crate `insta` writes them, so that its tools serve for ours, too.
//!
//! ```text
//! ---
//! source: sensor.case.toml
//! expression: sensor.trcfmt
//! ---
//! ==== a door opens
//! SENSOR door 1
//! ```
//!
//! What is accepted stands in `NAME.case.snap`; what waits for a decision beside it, in `NAME.case.snap.new`. As in
//! insta, blanks and line ends behind the last line do not count.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tfbc::output::Output;
use tfbc::reader::Input;

/// The largest snapshot that is read, in bytes.
const MAX_SNAPSHOT: u64 = 64 << 20;
/// What a snapshot's name ends with.
pub const SUFFIX: &str = ".case.snap";
/// What the name of a pending one ends with.
pub const PENDING_SUFFIX: &str = ".case.snap.new";
/// Between the head and the text.
const RULE: &str = "---";
/// Ahead of an event's name.
const HEADING: &str = "==== ";

/// The places of a case file's kept texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotPaths {
    /// The accepted text.
    pub accepted: PathBuf,
    /// The text that waits.
    pub pending: PathBuf,
}

impl SnapshotPaths {
    /// The places for a case file whose name without suffix is `name`.
    pub fn of(directory: &Path, name: &str) -> Self {
        Self {
            accepted: directory.join(format!("{name}{SUFFIX}")),
            pending: directory.join(format!("{name}{PENDING_SUFFIX}")),
        }
    }
}

/// The text of a snapshot file; `None` where there is no such file.
///
/// # Errors
/// The file cannot be read, or is no UTF-8.
pub fn read(path: &Path) -> io::Result<Option<String>> {
    let mut input = match Input::open(path) {
        Ok(input) => input,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let bytes = input.read_whole(MAX_SNAPSHOT)?;
    let text = String::from_utf8(bytes).map_err(|_| io::Error::other("a snapshot is UTF-8, and this file is not"))?;
    Ok(Some(normal(body(&text))))
}

/// What stands behind the head.
fn body(text: &str) -> &str {
    let Some(rest) = text.strip_prefix(RULE).and_then(|rest| rest.strip_prefix('\n').or(rest.strip_prefix("\r\n")))
    else {
        return text;
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        at += line.len();
        if line.trim_end() == RULE {
            return &rest[at..];
        }
    }
    ""
}

/// The text as it is compared: with plain line ends, and nothing behind the last line.
pub fn normal(text: &str) -> String {
    let text = text.trim_end();
    if text.contains("\r\n") { text.replace("\r\n", "\n") } else { text.to_owned() }
}

/// Writes a snapshot, whole or not at all.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, source: &str, expression: &str, text: &str) -> io::Result<()> {
    let mut out = Output::open(Some(path))?;
    write!(out, "{RULE}\nsource: {}\nexpression: {}\n{RULE}\n{}\n", yaml(source), yaml(expression), normal(text))?;
    out.commit()
}

/// Removes a file that may not be there.
///
/// # Errors
/// It is there, and stays.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A text as a value of YAML: in the quotes of JSON, which YAML reads alike, unless it is plain.
fn yaml(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/ ".contains(&byte);
    let word = text.starts_with(|char: char| char.is_ascii_alphabetic()) && !text.ends_with(' ');
    let reserved = ["true", "false", "null", "yes", "no", "on", "off"];
    if word && text.bytes().all(plain) && !reserved.contains(&text.to_ascii_lowercase().as_str()) {
        text.to_owned()
    } else {
        serde_json::Value::from(text).to_string()
    }
}

/// One event's part of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The event's name.
    pub name: String,
    /// What is kept of it.
    pub text: String,
}

/// The text of a snapshot from its parts: each under its name, a blank line between two.
pub fn join<'s>(sections: impl IntoIterator<Item = &'s Section>) -> String {
    let mut text = String::new();
    for Section { name, text: part } in sections {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(HEADING);
        text.push_str(name);
        text.push('\n');
        text.push_str(part);
        if !part.is_empty() && !part.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

/// The parts of a snapshot, as far as its headings tell.
pub fn split(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in text.split_inclusive('\n') {
        match (line.strip_prefix(HEADING), sections.last_mut()) {
            (Some(name), _) => sections.push(Section { name: name.trim_end().to_owned(), text: String::new() }),
            (None, Some(section)) => section.text.push_str(line),
            (None, None) => {}
        }
    }
    for section in &mut sections {
        section.text.truncate(section.text.trim_end().len());
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_no_part_of_the_text() {
        for (file, text) in [
            ("---\nsource: a\n---\nx\ny \n\n", "x\ny"),
            ("---\r\nsource: a\r\n---\r\nx\r\n", "x"),
            ("---\nsource: a\n---\n---\nx\n", "---\nx"),
            ("---\nno end\n", ""),
            ("x\n", "x"),
            ("", ""),
        ] {
            assert_eq!(normal(body(file)), text, "{file:?}");
        }
    }

    #[test]
    fn sections_come_back() {
        let section = |name: &str, text: &str| Section { name: name.to_owned(), text: text.to_owned() };
        let sections = vec![section("a", "one\ntwo"), section("b", ""), section("c d", "x")];
        let text = join(&sections);
        assert_eq!(text, "==== a\none\ntwo\n\n==== b\n\n==== c d\nx\n");
        assert_eq!(split(&text), sections);
        assert_eq!(split("no heading\n"), []);
    }

    #[test]
    fn values_of_yaml_are_quoted_where_they_must_be() {
        for (text, shown) in
            [("a/b.trcfmt", "a/b.trcfmt"), ("a: b", "\"a: b\""), ("true", "\"true\""), ("1", "\"1\""), ("", "\"\"")]
        {
            assert_eq!(yaml(text), shown);
        }
    }
}
