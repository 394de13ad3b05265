//! Event groups: names for lists of hooks, kept as `trcevgrp` keeps them.
//!
//! A group is up to three objects of AIX's class `SWservAt`, in the text form in which that system exports them:
//!
//! ```text
//! SWservAt:
//!         attribute = "io_trcgrp"            and io_trcgrpdesc, io_trcgrptype
//!         default = " "
//!         value = "\"10B,10C,15B\""
//! ```
//!
//! Several `_trcgrp` objects of one name are one list. What else the file holds, other classes and attributes too, stays
//! as it is, byte for byte.

use crate::ids::{IdListError, IdSet};
use crate::reader::{Compression, Input, Unpacker};
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Names the file, where it is not the user's own.
pub const FILE_VARIABLE: &str = "TRCEVGRP_FILE";

/// The type of groups that nobody changes.
pub const RESERVED: &str = "reserved";
/// The type of all others, also where the file names none.
pub const USER: &str = "user";

/// The groups that are there from the start: name, description, hooks.
const BUILT_IN: [(&str, &str, &str); 2] = [
    ("tidhk", "hooks that tell which process a thread is of", "106,10C,134,139,465"),
    (
        "gka",
        "general kernel activity: files, programs, dispatches",
        "106,10C,134,139,465,107,135,15b,12e,116,117,200,20E,20F",
    ),
];

/// Bytes of a line that a message shows.
const MAX_SHOWN: usize = 40;
/// The largest file that is read, in bytes.
pub const MAX_FILE: u64 = 16 << 20;

/// One event group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// [`RESERVED`], [`USER`] or what the file says.
    pub kind: String,
    /// The list of hooks as it was given; may be empty.
    pub hooks: String,
}

impl Group {
    /// Whether it is left as it is.
    pub fn is_reserved(&self) -> bool {
        self.kind == RESERVED || BUILT_IN.iter().any(|(name, ..)| *name == self.name)
    }
}

impl fmt::Display for Group {
    /// The line of a listing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = format!("{} - {} ({}) \"{}\"", self.name, self.description, self.kind, self.hooks);
        f.write_str(&line.replace(char::is_control, " "))
    }
}

/// Why a group cannot be used or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupError {
    /// There is a group of this name.
    Exists(String),
    /// There is none.
    Unknown(String),
    /// It is reserved.
    Reserved(String),
    /// This cannot be a group's name.
    BadName(String),
    /// It has no hooks.
    Empty(String),
    /// Its list of hooks is none.
    BadHooks {
        /// The group.
        name: String,
        /// What is wrong.
        error: IdListError,
    },
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupError::Exists(name) => write!(f, "event group `{name}` exists already"),
            GroupError::Unknown(name) => write!(f, "event group `{name}` does not exist"),
            GroupError::Reserved(name) => {
                write!(f, "event group `{name}` is reserved: it can be neither changed nor removed")
            }
            GroupError::BadName(name) => write!(
                f,
                "`{name}` cannot be the name of an event group: expected a word without blanks, commas, quotes and `*`"
            ),
            GroupError::Empty(name) => write!(f, "event group `{name}` has no hooks"),
            GroupError::BadHooks { name, error } => write!(f, "event group `{name}`: {error}"),
        }
    }
}

impl std::error::Error for GroupError {}

/// Why a file is no file of groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormError {
    /// Line, from 1.
    pub line: usize,
    /// What belongs there.
    pub expected: &'static str,
    /// What stands there.
    pub found: String,
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected {}, found `{}`", self.line, self.expected, self.found)
    }
}

impl std::error::Error for FormError {}

/// The file of groups that holds where none is named: that of the environment, else the user's own. `None` where there
/// is no home.
pub fn place() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable(FILE_VARIABLE).or_else(|| {
        let configuration = variable("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        let configuration = configuration.or_else(|| variable("HOME").map(|home| home.join(".config")));
        configuration.map(|path| path.join("tfbc/trcevgrp"))
    })
}

/// The event groups of a file, behind those that are built in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    bytes: Vec<u8>,
    objects: Vec<Object>,
    groups: Vec<Group>,
    by_name: HashMap<String, usize>,
}

impl Groups {
    /// Reads a file of groups; one that does not exist is empty.
    ///
    /// # Errors
    /// The file cannot be read, or is none.
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

    /// Reads the bytes of a file of groups.
    ///
    /// ```
    /// use tfbc::groups::Groups;
    /// let file = "SWservAt:\n\tattribute = \"io_trcgrp\"\n\tvalue = \"\\\"10B,15B\\\"\"\n";
    /// let groups = Groups::parse(file.into())?;
    /// assert_eq!(groups.get("io").unwrap().to_string(), "io -  (user) \"10B,15B\"");
    /// assert!(groups.hooks("io").unwrap().contains(0x10B0));
    /// assert!(groups.get("tidhk").unwrap().is_reserved());
    /// # Ok::<(), tfbc::groups::FormError>(())
    /// ```
    ///
    /// # Errors
    /// The first line that is not in the form.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, FormError> {
        let objects = Parser { bytes: &bytes, at: 0, line: 0 }.objects()?;
        let mut groups = Self { bytes, objects: Vec::new(), groups: Vec::new(), by_name: HashMap::new() };
        for (name, description, hooks) in BUILT_IN {
            let group = groups.entry(name);
            (group.description, group.hooks) = (description.to_owned(), hooks.to_owned());
            group.kind = RESERVED.to_owned();
        }
        // The hooks of the file take the place of built-in ones.
        objects.iter().filter(|object| object.role == Some(Role::Hooks)).for_each(|object| {
            groups.entry(&object.name).hooks.clear();
        });
        for object in &objects {
            let Some(role) = object.role else { continue };
            let group = groups.entry(&object.name);
            let text = object.value.as_ref().map_or("", |(_, text)| text);
            match role {
                Role::Hooks => append_hooks(&mut group.hooks, text),
                Role::Description => group.description = text.to_owned(),
                Role::Kind if text.trim().is_empty() => {}
                Role::Kind => group.kind = text.trim().to_owned(),
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

    /// All groups: the built-in ones, then the others in the order of the file.
    pub fn all(&self) -> &[Group] {
        &self.groups
    }

    /// The group of a name.
    pub fn get(&self, name: &str) -> Option<&Group> {
        self.by_name.get(name).map(|index| &self.groups[*index])
    }

    /// The hooks of a group.
    ///
    /// # Errors
    /// The group does not exist, is empty, or its list is none.
    pub fn hooks(&self, name: &str) -> Result<IdSet, GroupError> {
        let group = self.get(name).ok_or_else(|| GroupError::Unknown(name.to_owned()))?;
        if group.hooks.trim_matches(SEPARATORS).is_empty() {
            return Err(GroupError::Empty(name.to_owned()));
        }
        IdSet::parse(&group.hooks).map_err(|error| GroupError::BadHooks { name: name.to_owned(), error })
    }

    /// The file with one group more.
    ///
    /// # Errors
    /// There is such a group, the name can be none, or the list of hooks is none.
    pub fn with_added(&self, name: &str, description: &str, hooks: &str) -> Result<Vec<u8>, GroupError> {
        check_name(name)?;
        if self.get(name).is_some() {
            return Err(GroupError::Exists(name.to_owned()));
        }
        check_hooks(name, hooks)?;
        let mut bytes = self.bytes.clone();
        for (role, text) in [(Role::Hooks, hooks), (Role::Description, description), (Role::Kind, USER)] {
            append_object(&mut bytes, name, role, text);
        }
        Ok(bytes)
    }

    /// The file with another description or other hooks of a group.
    ///
    /// # Errors
    /// There is no such group, it is reserved, or the list of hooks is none.
    pub fn with_updated(
        &self,
        name: &str,
        description: Option<&str>,
        hooks: Option<&str>,
    ) -> Result<Vec<u8>, GroupError> {
        self.changeable(name)?;
        hooks.map_or(Ok(()), |hooks| check_hooks(name, hooks))?;
        let mut edits = Vec::new();
        let mut behind = Vec::new();
        for (role, text) in [(Role::Hooks, hooks), (Role::Description, description)] {
            let Some(text) = text else { continue };
            let mut is_set = false;
            for object in self.objects.iter().filter(|object| object.role == Some(role) && object.name == name) {
                match &object.value {
                    Some((place, _)) if !is_set => edits.push((place.clone(), value(role, text))),
                    _ => edits.push((object.place.clone(), String::new())),
                }
                is_set |= object.value.is_some();
            }
            if !is_set {
                behind.push((role, text));
            }
        }
        let mut bytes = self.edited(edits);
        behind.into_iter().for_each(|(role, text)| append_object(&mut bytes, name, role, text));
        Ok(bytes)
    }

    /// The file without some groups.
    ///
    /// # Errors
    /// One of them does not exist or is reserved.
    pub fn without(&self, names: &[String]) -> Result<Vec<u8>, GroupError> {
        names.iter().try_for_each(|name| self.changeable(name))?;
        let gone = self.objects.iter().filter(|object| object.role.is_some() && names.contains(&object.name));
        Ok(self.edited(gone.map(|object| (object.place.clone(), String::new())).collect()))
    }

    fn changeable(&self, name: &str) -> Result<(), GroupError> {
        check_name(name)?;
        match self.get(name) {
            None => Err(GroupError::Unknown(name.to_owned())),
            Some(group) if group.is_reserved() => Err(GroupError::Reserved(name.to_owned())),
            Some(_) => Ok(()),
        }
    }

    fn edited(&self, mut edits: Vec<(Range<usize>, String)>) -> Vec<u8> {
        edits.sort_by_key(|(place, _)| place.start);
        let mut bytes = Vec::with_capacity(self.bytes.len());
        let mut at = 0;
        for (place, text) in edits {
            bytes.extend_from_slice(&self.bytes[at..place.start]);
            bytes.extend_from_slice(text.as_bytes());
            at = place.end;
        }
        bytes.extend_from_slice(&self.bytes[at..]);
        bytes
    }
}

/// What stands between hooks.
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

fn append_object(bytes: &mut Vec<u8>, name: &str, role: Role, text: &str) {
    if !bytes.is_empty() {
        let n_missing = 2 - bytes.iter().rev().take(2).take_while(|byte| **byte == b'\n').count();
        bytes.extend_from_slice(&b"\n\n"[..n_missing]);
    }
    let (attribute, value) = (quoted(&format!("{name}{}", role.suffix())), value(role, text));
    let object = format!("{CLASS}:\n\tattribute = {attribute}\n\tdefault = \" \"\n\tvalue = {value}\n");
    bytes.extend_from_slice(object.as_bytes());
}

/// A value as the file has it: a list of hooks is in quotes inside those of the file.
fn value(role: Role, text: &str) -> String {
    match role {
        Role::Hooks => quoted(&format!("\"{text}\"")),
        Role::Description | Role::Kind => quoted(text),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// The class of the objects that make groups.
const CLASS: &str = "SWservAt";

/// One stanza of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Object {
    /// From its first line to the blank lines behind it.
    place: Range<usize>,
    /// What it says of a group; `None` for what has to do with none.
    role: Option<Role>,
    /// The group's name.
    name: String,
    /// Where the value stands, quotes included, and its text.
    value: Option<(Range<usize>, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Hooks,
    Description,
    Kind,
}

impl Role {
    const ALL: [Self; 3] = [Role::Hooks, Role::Description, Role::Kind];

    fn suffix(self) -> &'static str {
        match self {
            Role::Hooks => "_trcgrp",
            Role::Description => "_trcgrpdesc",
            Role::Kind => "_trcgrptype",
        }
    }
}

struct Parser<'b> {
    bytes: &'b [u8],
    at: usize,
    /// The line read last, from 1.
    line: usize,
}

impl<'b> Parser<'b> {
    fn objects(mut self) -> Result<Vec<Object>, FormError> {
        let mut objects: Vec<Object> = Vec::new();
        let mut is_class = false;
        // Whether blank lines belong to the last object.
        let mut is_open = false;
        while self.at < self.bytes.len() {
            let start = self.at;
            self.line += 1;
            self.at = self.line_end(start);
            let text = self.bytes[start..self.at].trim_ascii();
            if let Some(class) = header(text) {
                objects.push(Object { place: start..self.at, role: None, name: String::new(), value: None });
                (is_class, is_open) = (class == CLASS.as_bytes(), true);
                continue;
            }
            match (text.first(), objects.last_mut()) {
                (None, Some(object)) if is_open => object.place.end = self.at,
                (None, _) => {}
                (Some(b'#' | b'*'), _) => is_open = false,
                (Some(_), None) => return Err(self.error(text, "a class such as `SWservAt:`")),
                (Some(_), Some(object)) => {
                    let (name, place, text) = self.attribute(start)?;
                    if is_class {
                        object.set(name, place, text);
                    }
                    (object.place.end, is_open) = (self.at, true);
                }
            }
        }
        Ok(objects)
    }

    /// Behind the line end that follows `at`.
    fn line_end(&self, at: usize) -> usize {
        self.bytes[at..].iter().position(|byte| *byte == b'\n').map_or(self.bytes.len(), |n| at + n + 1)
    }

    /// `name = value`, from the start of its line; gives the value's place and text.
    fn attribute(&mut self, start: usize) -> Result<(&'b [u8], Range<usize>, String), FormError> {
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

    /// A value in quotes that begins at `from`; moves behind its line.
    fn quoted(&mut self, from: usize) -> Result<(usize, String), FormError> {
        let mut text = Vec::new();
        let mut at = from + 1;
        loop {
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
        // Where the quotes of a list are written without `\`, the last one of the line ends the value.
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
            Err(self.error(rest, "the line's end behind the value"))
        }
    }

    fn error(&self, found: &[u8], expected: &'static str) -> FormError {
        let found = found.trim_ascii();
        let found = found.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let found = String::from_utf8_lossy(&found[..found.len().min(MAX_SHOWN)]);
        FormError { line: self.line, expected, found: found.replace(char::is_control, ".") }
    }
}

impl Object {
    fn set(&mut self, attribute: &[u8], place: Range<usize>, text: String) {
        match attribute {
            b"attribute" => {
                let name = |role: &Role| text.strip_suffix(role.suffix()).filter(|name| !name.is_empty());
                self.role = Role::ALL.into_iter().find(|role| name(role).is_some());
                self.name = self.role.as_ref().and_then(name).unwrap_or_default().to_owned();
            }
            b"value" => self.value = Some((place, text)),
            _ => {}
        }
    }
}

/// The class that a line names.
fn header(text: &[u8]) -> Option<&[u8]> {
    let class = text.strip_suffix(b":")?;
    let is_word = !class.is_empty() && class.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    is_word.then_some(class)
}

/// Reads a file of groups, and how it is compressed: a compressed file can only be read. A missing file has no groups.
///
/// # Errors
/// The file cannot be read, or is not a file of groups.
pub fn load(path: &Path) -> io::Result<(Groups, Option<Compression>)> {
    let (bytes, compression) = match Input::open(path) {
        Ok(mut input) => (input.read_whole(MAX_FILE)?, input.unpacker().map(Unpacker::compression)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (Vec::new(), None),
        Err(error) => return Err(error),
    };
    let groups = Groups::parse(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok((groups, compression))
}
