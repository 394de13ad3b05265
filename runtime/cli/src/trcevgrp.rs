//! `trcevgrp`: event groups listed, added, changed and removed.

use super::CommonArgs;
use super::console::{Console, Ending, Failure, Message, Status};
use clap::{ArgAction, Args};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tfbc::groups::{self, FILE_VARIABLE, GroupError, Groups};
use tfbc::ids::IdSet;
use tfbc::output::{self, Output};

/// Flags and names of `trcevgrp`.
#[derive(Debug, Clone, Args)]
#[command(
    disable_help_flag = true,
    about = "List, add, change and remove event groups, as AIX's trcevgrp does",
    after_help = AFTER_HELP
)]
pub struct TrcevgrpArgs {
    /// List all groups, or these: name - description (type) "hooks"
    #[arg(short = 'l')]
    list: bool,
    /// Remove groups
    #[arg(short = 'r')]
    remove: bool,
    /// Add a group; takes -d and -h
    #[arg(short = 'a')]
    add: bool,
    /// Change a group; takes -d, -h or both
    #[arg(short = 'u')]
    update: bool,
    /// Description of the group
    #[arg(short = 'd', value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// Hooks of the group: hh, hhh or hhhh, separated by commas or blanks
    #[arg(short = 'h', value_name = "IDS")]
    hooks: Option<String>,
    /// File of the groups, in place of that of the environment or your own
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
    /// Groups
    #[arg(value_name = "GROUP")]
    groups: Vec<String>,
}

/// Explanation and examples of the help page.
const AFTER_HELP: &str = "\
Groups are names for lists of hooks: trcrpt -D GROUP reports these hooks alone, -K GROUP all
others. They are kept as SWservAt stanzas, as odmget exports them on AIX, in the file of --file,
else of the environment variable TRCEVGRP_FILE, else in tfbc/trcevgrp of the configuration
directory ($XDG_CONFIG_HOME or ~/.config). The reserved groups tidhk and gka are built in.

Examples:
  trcevgrp -l                                         list all groups
  trcevgrp -a -d \"disk requests\" -h 10B,10C,15B io    add a group
  trcevgrp -u -h 10B,10C,15B,221 io                   give it other hooks
  trcevgrp -r io                                      remove it
  trcrpt -D io trace.log                              use it";

/// The actions, of which there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    List,
    Remove,
    Add,
    Update,
}

impl TrcevgrpArgs {
    /// Runs the command.
    pub fn run(self, common: CommonArgs) -> (Console, Ending) {
        let console = Console::new(true, common);
        let ending = self.dispatch(&console);
        (console, ending)
    }

    fn dispatch(&self, console: &Console) -> Ending {
        let action = self.action()?;
        self.check(action)?;
        let path = self.path()?;
        let _lock = (action != Action::List).then(|| lock(&path)).transpose()?;
        let (groups, compression) = groups::load(&path).map_err(|error| unreadable(&path, &error))?;
        if let (Some(compression), true) = (compression, action != Action::List) {
            let text = format!("cannot write {}: it is compressed by {compression}: unpack it first", path.display());
            return Err(Failure::Say(Message::Unwritable, text));
        }
        match action {
            Action::List => self.list(console, &groups),
            Action::Remove => match groups.without(&self.groups) {
                Ok(bytes) => save(&path, &bytes),
                Err(_) => {
                    // All the names that cannot be removed are told.
                    let each = self.groups.iter().map(std::slice::from_ref);
                    each.filter_map(|name| groups.without(name).err()).for_each(|error| {
                        console.end(Err(refusal(&groups, &error)));
                    });
                    Ok(Status::Failed)
                }
            },
            Action::Add | Action::Update => {
                let (description, hooks) = (self.description.as_deref(), self.hooks.as_deref());
                let name = &self.groups[0];
                let bytes = match (action, description, hooks) {
                    (Action::Add, Some(description), Some(hooks)) => groups.with_added(name, description, hooks),
                    _ => groups.with_updated(name, description, hooks),
                };
                save(&path, &bytes.map_err(|error| refusal(&groups, &error))?)
            }
        }
    }

    fn action(&self) -> Result<Action, Failure> {
        let given = [
            (self.list, Action::List),
            (self.remove, Action::Remove),
            (self.add, Action::Add),
            (self.update, Action::Update),
        ];
        let given: Vec<_> = given.into_iter().filter_map(|(given, action)| given.then_some(action)).collect();
        match given[..] {
            [action] => Ok(action),
            [] => Err(Failure::Say(Message::NoAction, String::from("no action: expected one of -l, -r, -a and -u"))),
            _ => {
                let text = "several actions: expected only one of -l, -r, -a and -u";
                Err(Failure::Say(Message::SeveralActions, text.to_owned()))
            }
        }
    }

    /// Whether an action has the flags and names that it takes.
    fn check(&self, action: Action) -> Result<(), Failure> {
        let usage = |text: &str| Err(Failure::Say(Message::Usage, text.to_owned()));
        let (has_description, has_hooks) = (self.description.is_some(), self.hooks.is_some());
        match action {
            Action::List | Action::Remove if has_description || has_hooks => usage("-d and -h go with -a and -u alone"),
            Action::Remove if self.groups.is_empty() => usage("-r: expected names of event groups"),
            Action::Add if !(has_description && has_hooks) => {
                usage("-a: expected both a description (-d) and hooks (-h)")
            }
            Action::Update if !(has_description || has_hooks) => {
                usage("-u: expected a description (-d), hooks (-h) or both")
            }
            Action::Add | Action::Update if self.groups.len() != 1 => {
                let text = format!("expected one event group, found {}", self.groups.len());
                Err(Failure::Say(Message::OneGroup, text))
            }
            _ => Ok(()),
        }
    }

    fn path(&self) -> Result<PathBuf, Failure> {
        self.file.clone().or_else(groups::place).ok_or_else(|| {
            let text =
                format!("there is no home directory to keep event groups in: set {FILE_VARIABLE}, or give --file");
            Failure::Say(Message::Usage, text)
        })
    }

    fn list(&self, console: &Console, groups: &Groups) -> Ending {
        let mut status = Status::Well;
        let mut text = String::new();
        if self.groups.is_empty() {
            text = listing(groups);
        }
        for name in &self.groups {
            match groups.get(name) {
                Some(group) => text.push_str(&format!("{group}\n")),
                None => {
                    console.end(Err(refusal(groups, &GroupError::Unknown(name.clone()))));
                    status = Status::Failed;
                }
            }
        }
        super::print(console, text, None)?;
        Ok(status)
    }
}

/// Keeps other processes from changing the groups as long as it lives. The file may not exist yet, and is replaced by
/// another one: it is its directory that is locked. Where the system knows no locks, nothing is kept away.
fn lock(path: &Path) -> Result<Option<File>, Failure> {
    let directory = output::directory(path);
    fs::create_dir_all(directory).map_err(|error| Failure::write(&error, path.display()))?;
    let opened = File::open(directory).ok();
    opened.iter().for_each(|directory| drop(directory.lock()));
    Ok(opened)
}

fn save(path: &Path, bytes: &[u8]) -> Ending {
    let write = || -> io::Result<()> {
        let mut out = Output::open(Some(path))?;
        out.write_all(bytes)?;
        out.commit_durably()
    };
    write().map_err(|error| Failure::write(&error, path.display()))?;
    Ok(Status::Well)
}

/// The groups that reports know.
pub fn load() -> Result<Groups, Failure> {
    match groups::place() {
        Some(path) => groups::load(&path).map(|(groups, _)| groups).map_err(|error| unreadable(&path, &error)),
        None => Groups::parse(Vec::new()).map_err(|error| Failure::Say(Message::Internal, error.to_string())),
    }
}

/// All groups, a line each.
pub fn listing(groups: &Groups) -> String {
    groups.all().iter().map(|group| format!("{group}\n")).collect()
}

/// The hooks of lists of groups, whose names commas or blanks separate; `None` where there are no lists.
pub fn hooks(lists: &[String]) -> Result<Option<IdSet>, Failure> {
    if lists.is_empty() {
        return Ok(None);
    }
    let groups = load()?;
    let mut ids = IdSet::default();
    let names = lists.iter().flat_map(|list| list.split([',', ' ', '\t'])).filter(|name| !name.is_empty());
    for name in names {
        ids.extend(&groups.hooks(name).map_err(|error| refusal(&groups, &error))?);
    }
    Ok(Some(ids))
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::Say(Message::Unreadable, format!("cannot read {}: {error}", path.display()))
}

/// Says what is wrong with a group; one that does not exist may be misspelt.
fn refusal(groups: &Groups, error: &GroupError) -> Failure {
    let names: Vec<_> = groups.all().iter().map(|group| group.name.as_str()).collect();
    let hint = match error {
        GroupError::Unknown(name) => match super::closest(name, &names) {
            Some(name) => format!("; did you mean `{name}`?"),
            None => String::from(": `trcevgrp -l` lists those that do"),
        },
        _ => String::new(),
    };
    let message = match error {
        GroupError::Exists(_) => Message::GroupExists,
        GroupError::Unknown(_) => Message::UnknownGroup,
        GroupError::Reserved(_) => Message::ReservedGroup,
        GroupError::BadName(_) => Message::BadGroupName,
        GroupError::Empty(_) => Message::EmptyGroup,
        GroupError::BadHooks { .. } => Message::BadIdList,
    };
    Failure::Say(message, format!("{error}{hint}"))
}
