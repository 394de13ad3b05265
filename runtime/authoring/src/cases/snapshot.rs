//! Snapshot files in the format of the crate `insta`, so that its tools can read ours.
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
//! `NAME.case.snap` contains the accepted text, and `NAME.case.snap.new` the text to review. As in insta, white space
//! at the end of the text is ignored.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tfbc::internal::{Input, Output};

/// Maximum size of a snapshot, in bytes.
const MAX_SNAPSHOT: u64 = 64 << 20;
/// Suffix of an accepted snapshot.
pub const SUFFIX: &str = ".case.snap";
/// Suffix of a pending snapshot.
pub const PENDING_SUFFIX: &str = ".case.snap.new";
/// Line that ends the header.
const RULE: &str = "---";
/// Prefix of the line with an event's name.
const HEADING: &str = "==== ";

/// Paths of the two snapshots of a case file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotPaths {
    /// The accepted snapshot.
    pub accepted: PathBuf,
    /// The pending snapshot.
    pub pending: PathBuf,
}

impl SnapshotPaths {
    /// Paths for the case file `name`, without suffix, in `directory`.
    pub fn of(directory: &Path, name: &str) -> Self {
        Self {
            accepted: directory.join(format!("{name}{SUFFIX}")),
            pending: directory.join(format!("{name}{PENDING_SUFFIX}")),
        }
    }
}

/// Text of a snapshot file; `None` if the file does not exist.
///
/// # Errors
/// The file cannot be read, or is not UTF-8.
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

/// Text after the header.
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

/// Normal form for comparison: `\n` as line end, no white space at the end.
pub fn normal(text: &str) -> String {
    let text = text.trim_end();
    if text.contains("\r\n") { text.replace("\r\n", "\n") } else { text.to_owned() }
}

/// Writes a snapshot completely or not at all.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, source: &str, expression: &str, text: &str) -> io::Result<()> {
    let mut out = Output::open(Some(path))?;
    write!(out, "{RULE}\nsource: {}\nexpression: {}\n{RULE}\n{}\n", yaml(source), yaml(expression), normal(text))?;
    out.commit()
}

/// Removes a file if it exists.
///
/// # Errors
/// The file exists and cannot be removed.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Text as a YAML value. Text that is not plain is quoted as in JSON, which YAML accepts.
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

/// Part of a snapshot that belongs to one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventSnapshot {
    /// Name of the event.
    pub name: String,
    /// Accepted text of the event.
    pub text: String,
}

/// Joins sections into the text of a snapshot: each after its heading, with a blank line between two.
pub fn join<'s>(sections: impl IntoIterator<Item = &'s EventSnapshot>) -> String {
    let mut text = String::new();
    for EventSnapshot { name, text: part } in sections {
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

/// Splits a snapshot at its headings.
pub fn split(text: &str) -> Vec<EventSnapshot> {
    let mut sections: Vec<EventSnapshot> = Vec::new();
    for line in text.split_inclusive('\n') {
        match (line.strip_prefix(HEADING), sections.last_mut()) {
            (Some(name), _) => sections.push(EventSnapshot { name: name.trim_end().to_owned(), text: String::new() }),
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
        let section = |name: &str, text: &str| EventSnapshot { name: name.to_owned(), text: text.to_owned() };
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
