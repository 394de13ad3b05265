//! `trcevgrp`: lists, adds, changes and removes event groups.

use super::CommonArgs;
use super::console::{CommandResult, Console, Failure, Message, Status};
use super::files::Output;
use clap::{ArgAction, Args};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tfbc::aix::IdSet;
use tfbc_recorder::groups;
use tfbc_recorder::groups::{FILE_VARIABLE, GroupError, Groups};

/// Flags and names of `trcevgrp`.
#[derive(Debug, Clone, Args)]
#[command(
    disable_help_flag = true,
    about = "List, add, change and remove event groups, as AIX's trcevgrp does",
    after_help = AFTER_HELP
)]
pub struct TrcevgrpArgs {
    /// List all groups, or the given ones: name - description (type) "hooks"
    #[arg(short = 'l')]
    list: bool,
    /// Remove groups
    #[arg(short = 'r')]
    remove: bool,
    /// Add a group; requires -d and -h
    #[arg(short = 'a')]
    add: bool,
    /// Change a group; requires -d, -h or both
    #[arg(short = 'u')]
    update: bool,
    /// Description of the group
    #[arg(short = 'd', value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// Hooks of the group: hh, hhh or hhhh, separated by commas or blanks
    #[arg(short = 'h', value_name = "IDS")]
    hooks: Option<String>,
    /// File with the groups, instead of the one from the environment or your own
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
Groups are names for lists of hooks: trcrpt -D GROUP reports only these hooks, -K GROUP all others.
They are stored as SWservAt stanzas, as odmget exports them on AIX. The file is the one of --file,
or of the environment variable TRCEVGRP_FILE, or tfbc/trcevgrp in the configuration directory
($XDG_CONFIG_HOME or ~/.config). The reserved groups tidhk and gka are built in.

Examples:
  trcevgrp -l                                         list all groups
  trcevgrp -a -d \"disk requests\" -h 10B,10C,15B io    add a group
  trcevgrp -u -h 10B,10C,15B,221 io                   give it other hooks
  trcevgrp -r io                                      remove it
  trcrpt -D io trace.log                              use it";

/// Actions; exactly one is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupAction {
    List,
    Remove,
    Add,
    Update,
}

impl TrcevgrpArgs {
    /// Runs the command.
    pub fn run(self, common: CommonArgs) -> (Console, CommandResult) {
        let console = Console::new(true, common);
        let ending = self.dispatch(&console);
        (console, ending)
    }

    fn dispatch(&self, console: &Console) -> CommandResult {
        let action = self.action()?;
        self.check(action)?;
        let path = self.path()?;
        let _lock = (action != GroupAction::List).then(|| lock(&path)).transpose()?;
        let (groups, compression) = groups::load(&path).map_err(|error| unreadable(&path, &error))?;
        if let (Some(compression), true) = (compression, action != GroupAction::List) {
            let text = format!("cannot write {}: it is compressed by {compression}: unpack it first", path.display());
            return Err(Failure::Error(Message::Unwritable, text));
        }
        match action {
            GroupAction::List => self.list(console, &groups),
            GroupAction::Remove => match groups.without(&self.groups) {
                Ok(bytes) => save(&path, &bytes),
                Err(_) => {
                    // Reports all names that cannot be removed, not only the first.
                    let each = self.groups.iter().map(std::slice::from_ref);
                    each.filter_map(|name| groups.without(name).err()).for_each(|error| {
                        console.end(Err(refusal(&groups, &error)));
                    });
                    Ok(Status::Failed)
                }
            },
            GroupAction::Add | GroupAction::Update => {
                let (description, hooks) = (self.description.as_deref(), self.hooks.as_deref());
                let name = &self.groups[0];
                let bytes = match (action, description, hooks) {
                    (GroupAction::Add, Some(description), Some(hooks)) => groups.with_added(name, description, hooks),
                    _ => groups.with_updated(name, description, hooks),
                };
                save(&path, &bytes.map_err(|error| refusal(&groups, &error))?)
            }
        }
    }

    fn action(&self) -> Result<GroupAction, Failure> {
        let given = [
            (self.list, GroupAction::List),
            (self.remove, GroupAction::Remove),
            (self.add, GroupAction::Add),
            (self.update, GroupAction::Update),
        ];
        let given: Vec<_> = given.into_iter().filter_map(|(given, action)| given.then_some(action)).collect();
        match given[..] {
            [action] => Ok(action),
            [] => Err(Failure::Error(Message::NoAction, String::from("no action: expected one of -l, -r, -a and -u"))),
            _ => {
                let text = "several actions: expected only one of -l, -r, -a and -u";
                Err(Failure::Error(Message::SeveralActions, text.to_owned()))
            }
        }
    }

    /// Checks that an action has the flags and names that it needs.
    fn check(&self, action: GroupAction) -> Result<(), Failure> {
        let usage = |text: &str| Err(Failure::Error(Message::Usage, text.to_owned()));
        let (has_description, has_hooks) = (self.description.is_some(), self.hooks.is_some());
        match action {
            GroupAction::List | GroupAction::Remove if has_description || has_hooks => {
                usage("-d and -h are only for -a and -u")
            }
            GroupAction::Remove if self.groups.is_empty() => usage("-r: expected names of event groups"),
            GroupAction::Add if !(has_description && has_hooks) => {
                usage("-a: expected both a description (-d) and hooks (-h)")
            }
            GroupAction::Update if !(has_description || has_hooks) => {
                usage("-u: expected a description (-d), hooks (-h) or both")
            }
            GroupAction::Add | GroupAction::Update if self.groups.len() != 1 => {
                let text = format!("expected one event group, found {}", self.groups.len());
                Err(Failure::Error(Message::OneGroup, text))
            }
            _ => Ok(()),
        }
    }

    fn path(&self) -> Result<PathBuf, Failure> {
        self.file.clone().or_else(groups::default_path).ok_or_else(|| {
            let text =
                format!("there is no home directory to keep event groups in: set {FILE_VARIABLE}, or give --file");
            Failure::Error(Message::Usage, text)
        })
    }

    fn list(&self, console: &Console, groups: &Groups) -> CommandResult {
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

/// Keeps other processes from changing the groups while the result lives. The directory is locked, because the file may
/// not exist yet and is replaced by each change. Systems without locks skip this.
fn lock(path: &Path) -> Result<Option<File>, Failure> {
    let directory = Output::directory(path);
    fs::create_dir_all(directory).map_err(|error| Failure::write(&error, path.display()))?;
    let opened = File::open(directory).ok();
    opened.iter().for_each(|directory| drop(directory.lock()));
    Ok(opened)
}

fn save(path: &Path, bytes: &[u8]) -> CommandResult {
    let write = || -> io::Result<()> {
        let mut out = Output::open(Some(path))?;
        out.write_all(bytes)?;
        out.commit_durably()
    };
    write().map_err(|error| Failure::write(&error, path.display()))?;
    Ok(Status::Well)
}

/// Loads the groups that reports use.
pub fn load() -> Result<Groups, Failure> {
    match groups::default_path() {
        Some(path) => groups::load(&path).map(|(groups, _)| groups).map_err(|error| unreadable(&path, &error)),
        None => Groups::parse(Vec::new()).map_err(|error| Failure::Error(Message::Internal, error.to_string())),
    }
}

/// Lists all groups, one per line.
pub fn listing(groups: &Groups) -> String {
    groups.all().iter().map(|group| format!("{group}\n")).collect()
}

/// Hooks of the groups in `lists`, separated by commas or blanks; `None` if there are no lists.
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
    Failure::Error(Message::Unreadable, format!("cannot read {}: {error}", path.display()))
}

/// Failure for a group error, with a suggestion for an unknown name.
fn refusal(groups: &Groups, error: &GroupError) -> Failure {
    let names: Vec<_> = groups.all().iter().map(|group| group.name.as_str()).collect();
    let hint = match error {
        GroupError::Unknown(name) => match tfbc_grammar::closest(name, &names) {
            Some(name) => format!("; did you mean `{name}`?"),
            None => String::from(": `trcevgrp -l` lists the existing groups"),
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
    Failure::Error(message, format!("{error}{hint}"))
}
