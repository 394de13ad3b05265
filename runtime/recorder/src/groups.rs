//! Event groups: named lists of hooks, in the file of `trcevgrp`.
//!
//! A group consists of up to three objects of AIX's class `SWservAt`, in the text form in which AIX exports them:
//!
//! ```text
//! SWservAt:
//!         attribute = "io_trcgrp"            and io_trcgrpdesc, io_trcgrptype
//!         default = " "
//!         value = "\"10B,10C,15B\""
//! ```
//!
//! Several `_trcgrp` objects of one name form one list. Everything else in the file, such as other classes and
//! attributes, is preserved byte for byte.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use tfbc::Compression;
use tfbc::aix::{IdListError, IdSet};
use tfbc::internal::{Input, Unpacker};

/// Environment variable with the path of the groups file.
pub const FILE_VARIABLE: &str = "TRCEVGRP_FILE";

/// Type of groups that cannot be changed.
pub const RESERVED: &str = "reserved";
/// Type of all other groups, and the default.
pub const USER: &str = "user";

/// Predefined groups: name, description, hooks.
const BUILT_IN: [(&str, &str, &str); 2] = [
    ("tidhk", "hooks that show which process a thread belongs to", "106,10C,134,139,465"),
    (
        "gka",
        "general kernel activity: files, programs, dispatches",
        "106,10C,134,139,465,107,135,15b,12e,116,117,200,20E,20F",
    ),
];

/// Longest excerpt of a line in a message, in bytes.
const MAX_SHOWN: usize = 40;
/// Largest accepted groups file, in bytes.
pub const MAX_FILE: u64 = 16 << 20;

/// An event group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Name of the group.
    pub name: String,
    /// Purpose, for listings.
    pub description: String,
    /// Type: [`RESERVED`], [`USER`], or any other word from the file.
    pub kind: String,
    /// List of hooks, as written in the file. May be empty.
    pub hooks: String,
}

impl Group {
    /// True if the group cannot be changed or removed.
    pub fn is_reserved(&self) -> bool {
        self.kind == RESERVED || BUILT_IN.iter().any(|(name, ..)| *name == self.name)
    }
}

impl fmt::Display for Group {
    /// Formats the group's line in a listing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = format!("{} - {} ({}) \"{}\"", self.name, self.description, self.kind, self.hooks);
        f.write_str(&line.replace(char::is_control, " "))
    }
}

/// Reason why a group cannot be used or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupError {
    /// A group of this name exists.
    Exists(String),
    /// No group of this name exists.
    Unknown(String),
    /// The group is reserved.
    Reserved(String),
    /// The name is not valid.
    BadName(String),
    /// The group has no hooks.
    Empty(String),
    /// The list of hooks is not valid.
    BadHooks {
        /// Name of the group.
        name: String,
        /// First problem of the list.
        error: IdListError,
    },
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupError::Exists(name) => write!(f, "event group `{name}` already exists"),
            GroupError::Unknown(name) => write!(f, "event group `{name}` does not exist"),
            GroupError::Reserved(name) => {
                write!(f, "event group `{name}` is reserved and cannot be changed or removed")
            }
            GroupError::BadName(name) => write!(
                f,
                "`{name}` is not a valid name of an event group; expected a word without blanks, commas, quotes, `\\\\` and `*`"
            ),
            GroupError::Empty(name) => write!(f, "event group `{name}` has no hooks"),
            GroupError::BadHooks { name, error } => write!(f, "event group `{name}`: {error}"),
        }
    }
}

impl std::error::Error for GroupError {}

/// Syntax error in a groups file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupsSyntaxError {
    /// Line, from 1.
    pub line: usize,
    /// Expected text.
    pub expected: &'static str,
    /// Text found instead.
    pub found: String,
}

impl fmt::Display for GroupsSyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected {}, found `{}`", self.line, self.expected, self.found)
    }
}

impl std::error::Error for GroupsSyntaxError {}

/// Default path of the groups file: `$TRCEVGRP_FILE`, else `tfbc/trcevgrp` in the user's configuration directory.
///
/// `None` if there is no home directory.
pub fn default_path() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable(FILE_VARIABLE).or_else(|| {
        let configuration = variable("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        let configuration = configuration.or_else(|| variable("HOME").map(|home| home.join(".config")));
        configuration.map(|path| path.join("tfbc/trcevgrp"))
    })
}

/// Event groups: the predefined ones and those of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    bytes: Vec<u8>,
    objects: Vec<GroupStanza>,
    groups: Vec<Group>,
    by_name: HashMap<String, usize>,
}

impl Groups {
    /// Reads a groups file. A missing file has no groups.
    ///
    /// # Errors
    /// The file cannot be read, is too large, or has a syntax error.
    pub fn load(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        match File::open(path) {
            Ok(file) => drop(file.take(MAX_FILE + 1).read_to_end(&mut bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        if bytes.len() as u64 > MAX_FILE {
            return Err(io::Error::other(format!("it has more than {MAX_FILE} bytes")));
        }
        Self::parse(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Parses the content of a groups file.
    ///
    /// ```
    /// use tfbc_recorder::groups::Groups;
    /// let file = "SWservAt:\n\tattribute = \"io_trcgrp\"\n\tvalue = \"\\\"10B,15B\\\"\"\n";
    /// let groups = Groups::parse(file.into())?;
    /// assert_eq!(groups.get("io").unwrap().to_string(), "io -  (user) \"10B,15B\"");
    /// assert!(groups.hooks("io").unwrap().contains(0x10B0));
    /// assert!(groups.get("tidhk").unwrap().is_reserved());
    /// # Ok::<(), tfbc_recorder::groups::GroupsSyntaxError>(())
    /// ```
    ///
    /// # Errors
    /// The error of the first line with a syntax error.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, GroupsSyntaxError> {
        let objects = GroupParser { bytes: &bytes, at: 0, line: 0 }.objects()?;
        let mut groups = Self { bytes, objects: Vec::new(), groups: Vec::new(), by_name: HashMap::new() };
        for (name, description, hooks) in BUILT_IN {
            let group = groups.entry(name);
            (group.description, group.hooks) = (description.to_owned(), hooks.to_owned());
            group.kind = RESERVED.to_owned();
        }
        // Hooks in the file replace the hooks of a predefined group.
        objects.iter().filter(|object| object.property == Some(GroupProperty::Hooks)).for_each(|object| {
            groups.entry(&object.name).hooks.clear();
        });
        for object in &objects {
            let Some(property) = object.property else { continue };
            let group = groups.entry(&object.name);
            let text = object.value.as_ref().map_or("", |(_, text)| text);
            match property {
                GroupProperty::Hooks => append_hooks(&mut group.hooks, text),
                GroupProperty::Description => group.description = text.to_owned(),
                GroupProperty::Type if text.trim().is_empty() => {}
                GroupProperty::Type => group.kind = text.trim().to_owned(),
            }
        }
        groups.objects = objects;
        Ok(groups)
    }

    fn entry(&mut self, name: &str) -> &mut Group {
        let index = self.by_name.get(name).copied().unwrap_or_else(|| {
            let (description, hooks) = (String::new(), String::new());
            self.groups.push(Group { name: name.to_owned(), description, kind: USER.to_owned(), hooks });
            self.by_name.insert(name.to_owned(), self.groups.len() - 1);
            self.groups.len() - 1
        });
        &mut self.groups[index]
    }

    /// All groups: the predefined ones, then the others in the order of the file.
    pub fn all(&self) -> &[Group] {
        &self.groups
    }

    /// Looks up a group by name.
    pub fn get(&self, name: &str) -> Option<&Group> {
        self.by_name.get(name).map(|index| &self.groups[*index])
    }

    /// Returns the hooks of a group.
    ///
    /// # Errors
    /// The group does not exist, has no hooks, or has a list that is not valid.
    pub fn hooks(&self, name: &str) -> Result<IdSet, GroupError> {
        let group = self.get(name).ok_or_else(|| GroupError::Unknown(name.to_owned()))?;
        if group.hooks.trim_matches(SEPARATORS).is_empty() {
            return Err(GroupError::Empty(name.to_owned()));
        }
        IdSet::parse(&group.hooks).map_err(|error| GroupError::BadHooks { name: name.to_owned(), error })
    }

    /// Returns the file with a group added.
    ///
    /// # Errors
    /// The group exists already, or its name or list of hooks is not valid.
    pub fn with_added(&self, name: &str, description: &str, hooks: &str) -> Result<Vec<u8>, GroupError> {
        check_name(name)?;
        if self.get(name).is_some() {
            return Err(GroupError::Exists(name.to_owned()));
        }
        check_hooks(name, hooks)?;
        let mut bytes = self.bytes.clone();
        for (property, text) in
            [(GroupProperty::Hooks, hooks), (GroupProperty::Description, description), (GroupProperty::Type, USER)]
        {
            append_object(&mut bytes, name, property, text);
        }
        Ok(bytes)
    }

    /// Returns the file with a new description or new hooks for a group; `None` leaves the old value.
    ///
    /// # Errors
    /// The group does not exist or is reserved, or the list of hooks is not valid.
    pub fn with_updated(
        &self,
        name: &str,
        description: Option<&str>,
        hooks: Option<&str>,
    ) -> Result<Vec<u8>, GroupError> {
        self.check_changeable(name)?;
        hooks.map_or(Ok(()), |hooks| check_hooks(name, hooks))?;
        let mut edits = Vec::new();
        let mut appended = Vec::new();
        for (property, text) in [(GroupProperty::Hooks, hooks), (GroupProperty::Description, description)] {
            let Some(text) = text else { continue };
            let mut is_set = false;
            for object in self.objects.iter().filter(|object| object.property == Some(property) && object.name == name)
            {
                match &object.value {
                    Some((range, _)) if !is_set => edits.push((range.clone(), value(property, text))),
                    _ => edits.push((object.range.clone(), String::new())),
                }
                is_set |= object.value.is_some();
            }
            if !is_set {
                appended.push((property, text));
            }
        }
        let mut bytes = self.edited(edits);
        appended.into_iter().for_each(|(property, text)| append_object(&mut bytes, name, property, text));
        Ok(bytes)
    }

    /// Returns the file without the named groups.
    ///
    /// # Errors
    /// One of the groups does not exist or is reserved.
    pub fn without(&self, names: &[String]) -> Result<Vec<u8>, GroupError> {
        names.iter().try_for_each(|name| self.check_changeable(name))?;
        let gone = self.objects.iter().filter(|object| object.property.is_some() && names.contains(&object.name));
        Ok(self.edited(gone.map(|object| (object.range.clone(), String::new())).collect()))
    }

    fn check_changeable(&self, name: &str) -> Result<(), GroupError> {
        check_name(name)?;
        match self.get(name) {
            None => Err(GroupError::Unknown(name.to_owned())),
            Some(group) if group.is_reserved() => Err(GroupError::Reserved(name.to_owned())),
            Some(_) => Ok(()),
        }
    }

    fn edited(&self, mut edits: Vec<(Range<usize>, String)>) -> Vec<u8> {
        // Bytes outside of the edits stay as they are: the file has comments and objects of other programs.
        edits.sort_by_key(|(range, _)| range.start);
        let mut bytes = Vec::with_capacity(self.bytes.len());
        let mut at = 0;
        for (range, text) in edits {
            bytes.extend_from_slice(&self.bytes[at..range.start]);
            bytes.extend_from_slice(text.as_bytes());
            at = range.end;
        }
        bytes.extend_from_slice(&self.bytes[at..]);
        bytes
    }
}

/// Characters between hooks.
const SEPARATORS: [char; 3] = [',', ' ', '\t'];

fn append_hooks(hooks: &mut String, text: &str) {
    let text = text.replace(['"', '\r', '\n'], "");
    let text = text.trim_matches(SEPARATORS);
    if !hooks.is_empty() && !text.is_empty() {
        hooks.push(',');
    }
    hooks.push_str(text);
}

fn check_name(name: &str) -> Result<(), GroupError> {
    let is_bad = |char: char| char.is_whitespace() || char.is_control() || ",\"\\*".contains(char);
    if name.is_empty() || name.contains(is_bad) { Err(GroupError::BadName(name.to_owned())) } else { Ok(()) }
}

fn check_hooks(name: &str, hooks: &str) -> Result<(), GroupError> {
    let bad = |error| GroupError::BadHooks { name: name.to_owned(), error };
    IdSet::parse(hooks).map(drop).map_err(bad)
}

fn append_object(bytes: &mut Vec<u8>, name: &str, property: GroupProperty, text: &str) {
    if !bytes.is_empty() {
        let n_missing = 2 - bytes.iter().rev().take(2).take_while(|byte| **byte == b'\n').count();
        bytes.extend_from_slice(&b"\n\n"[..n_missing]);
    }
    let (attribute, value) = (quoted(&format!("{name}{}", property.suffix())), value(property, text));
    let object = format!("{CLASS}:\n\tattribute = {attribute}\n\tdefault = \" \"\n\tvalue = {value}\n");
    bytes.extend_from_slice(object.as_bytes());
}

/// Quotes a value for the file. AIX stores a list of hooks with quotes of its own inside the file's quotes.
fn value(property: GroupProperty, text: &str) -> String {
    match property {
        // AIX reads only commas between hook ids.
        GroupProperty::Hooks => {
            let ids: Vec<&str> = text.split(SEPARATORS).filter(|id| !id.is_empty()).collect();
            quoted(&format!("\"{}\"", ids.join(",")))
        }
        GroupProperty::Description | GroupProperty::Type => quoted(text),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// Class of the objects that define groups.
const CLASS: &str = "SWservAt";

/// A stanza of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GroupStanza {
    /// Byte range of the stanza, with the blank lines after it.
    range: Range<usize>,
    /// Property of a group that the object defines; `None` for objects that do not define a group.
    property: Option<GroupProperty>,
    /// Name of the group.
    name: String,
    /// Byte range of the value with its quotes, and its unquoted text.
    value: Option<(Range<usize>, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupProperty {
    Hooks,
    Description,
    Type,
}

impl GroupProperty {
    const ALL: [Self; 3] = [GroupProperty::Hooks, GroupProperty::Description, GroupProperty::Type];

    fn suffix(self) -> &'static str {
        match self {
            GroupProperty::Hooks => "_trcgrp",
            GroupProperty::Description => "_trcgrpdesc",
            GroupProperty::Type => "_trcgrptype",
        }
    }
}

struct GroupParser<'b> {
    bytes: &'b [u8],
    at: usize,
    /// Number of the current line, from 1.
    line: usize,
}

impl<'b> GroupParser<'b> {
    fn objects(mut self) -> Result<Vec<GroupStanza>, GroupsSyntaxError> {
        let mut objects: Vec<GroupStanza> = Vec::new();
        let mut is_class = false;
        // True if blank lines belong to the last object.
        let mut is_open = false;
        while self.at < self.bytes.len() {
            let start = self.at;
            self.line += 1;
            self.at = self.line_end(start);
            let text = self.bytes[start..self.at].trim_ascii();
            if let Some(class) = header(text) {
                objects.push(GroupStanza { range: start..self.at, property: None, name: String::new(), value: None });
                (is_class, is_open) = (class == CLASS.as_bytes(), true);
                continue;
            }
            match (text.first(), objects.last_mut()) {
                (None, Some(object)) if is_open => object.range.end = self.at,
                (None, _) => {}
                (Some(b'#' | b'*'), _) => is_open = false,
                (Some(_), None) => return Err(self.error(text, "a class such as `SWservAt:`")),
                (Some(_), Some(object)) => {
                    let (name, range, text) = self.attribute(start)?;
                    if is_class {
                        object.set(name, range, text);
                    }
                    (object.range.end, is_open) = (self.at, true);
                }
            }
        }
        Ok(objects)
    }

    /// Offset after the next line end.
    fn line_end(&self, at: usize) -> usize {
        self.bytes[at..].iter().position(|byte| *byte == b'\n').map_or(self.bytes.len(), |n| at + n + 1)
    }

    /// Parses `name = value` on the line at `start`. Returns the name, and the byte range and text of the value.
    fn attribute(&mut self, start: usize) -> Result<(&'b [u8], Range<usize>, String), GroupsSyntaxError> {
        let line = &self.bytes[start..self.at];
        let equals = line.iter().position(|byte| *byte == b'=').unwrap_or(0);
        let name = line[..equals].trim_ascii();
        if name.is_empty() || !name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            return Err(self.error(line, "`NAME = VALUE`"));
        }
        let value = &line[equals + 1..];
        let from = self.at - value.trim_ascii_start().len();
        if self.bytes.get(from) != Some(&b'"') {
            let value = value.trim_ascii();
            return Ok((name, from..from + value.len(), String::from_utf8_lossy(value).into_owned()));
        }
        let (end, text) = self.quoted(from)?;
        Ok((name, from..end, text))
    }

    /// Parses a quoted value that starts at `from`, and moves to the next line. Returns the end and the text of the
    /// value.
    fn quoted(&mut self, from: usize) -> Result<(usize, String), GroupsSyntaxError> {
        let mut text = Vec::new();
        let mut at = from + 1;
        loop {
            // The file is an ODM stanza file; `\` at the end of a line continues a value.
            match self.bytes[at..] {
                [b'"', ..] => break,
                [b'\\', b'\n', ..] => {
                    self.line += 1;
                    at += 2;
                }
                [b'\\', b'\r', b'\n', ..] => {
                    self.line += 1;
                    at += 3;
                }
                [b'\\', escaped, ..] => {
                    text.push(match escaped {
                        b'n' => b'\n',
                        b't' => b'\t',
                        other => other,
                    });
                    at += 2;
                }
                [] | [b'\n', ..] => {
                    let line = &self.bytes[from..at];
                    return Err(self.error(line, "a `\"` that ends the value"));
                }
                [byte, ..] => {
                    text.push(byte);
                    at += 1;
                }
            }
        }
        at += 1;
        self.at = self.line_end(at);
        // Some files do not escape the inner quotes of a list; there, the last quote of the line ends the value.
        let rest = &self.bytes[at..self.at];
        if let Some(last) = rest.iter().rposition(|byte| *byte == b'"') {
            text.push(b'"');
            text.extend_from_slice(&rest[..last]);
            at += last + 1;
        }
        let rest = &self.bytes[at..self.at];
        if rest.trim_ascii().is_empty() {
            Ok((at, String::from_utf8_lossy(&text).into_owned()))
        } else {
            Err(self.error(rest, "the end of the line after the value"))
        }
    }

    fn error(&self, found: &[u8], expected: &'static str) -> GroupsSyntaxError {
        let found = found.trim_ascii();
        let found = found.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let found = String::from_utf8_lossy(&found[..found.len().min(MAX_SHOWN)]);
        GroupsSyntaxError { line: self.line, expected, found: found.replace(char::is_control, ".") }
    }
}

impl GroupStanza {
    fn set(&mut self, attribute: &[u8], range: Range<usize>, text: String) {
        match attribute {
            b"attribute" => {
                let name =
                    |property: &GroupProperty| text.strip_suffix(property.suffix()).filter(|name| !name.is_empty());
                self.property = GroupProperty::ALL.into_iter().find(|property| name(property).is_some());
                self.name = self.property.as_ref().and_then(name).unwrap_or_default().to_owned();
            }
            b"value" => self.value = Some((range, text)),
            _ => {}
        }
    }
}

/// Class name of a line such as `SWservAt:`.
fn header(text: &[u8]) -> Option<&[u8]> {
    let class = text.strip_suffix(b":")?;
    let is_word = !class.is_empty() && class.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    is_word.then_some(class)
}

/// Reads a groups file. Returns its compression too, because a compressed file cannot be changed. A missing file has no
/// groups.
///
/// # Errors
/// The file cannot be read, or has a syntax error.
pub fn load(path: &Path) -> io::Result<(Groups, Option<Compression>)> {
    let (bytes, compression) = match Input::open(path) {
        Ok(mut input) => (input.read_whole(MAX_FILE)?, input.unpacker().map(Unpacker::compression)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (Vec::new(), None),
        Err(error) => return Err(error),
    };
    let groups = Groups::parse(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok((groups, compression))
}
