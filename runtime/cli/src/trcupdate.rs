//! `trcupdate`: adds, replaces, deletes and extracts stanzas of a format file.

use super::CommonArgs;
use super::console::{CommandResult, Console, Failure, Message, Status};
use super::files;
use super::formats;
use super::limits::SourceLimitArgs;
use super::overwrite;
use clap::Args;
use std::io;
use std::path::{Path, PathBuf};
use tfbc::aix::IdSet;
use tfbc_authoring::update::{self, Change, FormatFile, OpenError, UpdateFault, UpdateResult, with_suffix};
use tfbc_grammar::Source;

/// Format file of an AIX system.
const SYSTEM_FORMATS: &str = "/etc/trcfmt";

/// Flags and files of `trcupdate`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Add, replace and delete stanzas of a format file, as AIX's trcupdate does",
    after_help = AFTER_HELP,
    args_override_self = true
)]
pub struct TrcupdateArgs {
    /// Replace stanzas even by older ones
    #[arg(short = 'o')]
    any_version: bool,
    /// Format file, plain or packed by compress, instead of /etc/trcfmt
    #[arg(short = 't', value_name = "FORMAT", default_value = SYSTEM_FORMATS, hide_default_value = true)]
    format: PathBuf,
    /// Print the name of every opened file
    #[arg(short = 'v')]
    verbose: bool,
    /// Write these stanzas to standard output unchanged: hh, hhh or hhhh, separated by commas or blanks
    #[arg(short = 'x', value_name = "IDS")]
    ids: Option<String>,
    #[command(flatten)]
    limits: SourceLimitArgs,
    /// Update file, without its suffix .trc
    #[arg(value_name = "FILE", required_unless_present = "ids")]
    update: Option<PathBuf>,
}

/// Explanation and examples of the help page.
const AFTER_HELP: &str = "\
The update is read from FILE.trc:
  * /etc/trcfmt              the first line, always
  + 010 1.1 L=APPL \"LABEL\" \\
      X4                     add this stanza, or replace the one of hook 010
  - 020                      delete the stanza of hook 020
  # text                     comment; * works like #

A stanza replaces one of the same or an older version. The whole resulting format file is compiled
before anything is written; if anything is wrong, the file stays unchanged. FILE.undo.trc undoes the
update: given to trcupdate with -o, it restores the format file byte for byte.

Examples:
  trcupdate -t my.trcfmt driver          apply driver.trc to a format file of your own
  trcupdate -o -t my.trcfmt driver.undo  undo that
  trcupdate -t my.trcfmt -x 010,15b      write two stanzas to standard output
  trcupdate driver                       apply driver.trc to /etc/trcfmt";

impl TrcupdateArgs {
    /// Runs the command.
    pub fn run(self, common: CommonArgs) -> (Console, CommandResult) {
        let console = Console::new(true, common);
        let ending = self.dispatch(&console);
        (console, ending)
    }

    fn dispatch(&self, console: &Console) -> CommandResult {
        let ids = self.ids.as_deref().map(id_words).transpose()?;
        self.refuse_outputs()?;
        let format = FormatFile::open(&self.format, &self.limits.limits()).map_err(|error| self.unreadable(&error))?;
        self.name(console, format.path());
        let mut status = Status::Well;
        if let Some(ids) = ids {
            status = extract(console, &format, &ids)?;
        }
        if let Some(update) = &self.update {
            status = status.max(self.apply(console, format, update)?);
        }
        Ok(status)
    }

    /// Refuses an undo file that is also the format file or update file, and a format file that is also the update
    /// file.
    fn refuse_outputs(&self) -> Result<(), Failure> {
        let Some(update) = &self.update else { return Ok(()) };
        let (undo, packed) = (with_suffix(update, ".undo.trc"), with_suffix(&self.format, ".Z"));
        let update = with_suffix(update, ".trc");
        overwrite::refuse([Some(&*undo)], [&*self.format, &packed, &update])?;
        overwrite::refuse([Some(&*self.format), Some(&packed)], [&*update])
    }

    fn apply(&self, console: &Console, format: FormatFile, update: &Path) -> CommandResult {
        let path = with_suffix(update, ".trc");
        let source = read_update(&path, self.limits.limits().source)
            .map_err(|error| unreadable_update(update, &path, &error))?;
        self.name(console, &path);
        let undo = with_suffix(update, ".undo.trc");
        let UpdateResult { problems, findings, change, n_bystanders } =
            update::apply(format.source(), source, self.any_version, self.limits.limits());
        for problem in problems {
            let text = format!("{}:{}: {}", path.display(), problem.line, problem.fault);
            let message = message(&problem.fault);
            if problem.fault.is_warning() { console.warning(message, text) } else { console.error(message, text) }
        }
        formats::show(console, &findings, false);
        if n_bystanders > 0 && change.is_some() {
            let name = format.path().display();
            let n = super::count(n_bystanders as u64, "stanza");
            console.note(format_args!("{name}: {n} with errors, unchanged; trcrpt -c -t {name} shows them"));
        }
        match change {
            Some(change) if change.is_empty() => {
                console.note(format_args!("{} already contains all of this", format.path().display()));
                Ok(Status::Well)
            }
            Some(change) => self.write(console, &format, &undo, &change),
            None => {
                let text = format!("{} is unchanged", format.path().display());
                Err(Failure::Error(Message::NotUpdated, text))
            }
        }
    }

    fn write(&self, console: &Console, format: &FormatFile, undo: &Path, change: &Change) -> CommandResult {
        let path = format.path();
        self.name(console, undo);
        let failed = |path: &Path, error| Failure::write(&error, path.display());
        let new = format.replacement(&change.format).map_err(|error| failed(path, error))?;
        // The undo file must be complete before the format file changes.
        let back = update::staged(undo, &change.undo).map_err(|error| failed(undo, error))?;
        match format.is_unchanged() {
            Ok(true) => back.commit_durably().map_err(|error| failed(undo, error))?,
            Ok(false) => return Err(failed(path, update::changed())),
            Err(error) => return Err(failed(path, error)),
        }
        new.commit_durably().map_err(|error| failed(path, error))?;
        let Change { n_added, n_replaced, n_deleted, .. } = change;
        let done = [(n_added, "added"), (n_replaced, "replaced"), (n_deleted, "deleted")];
        let done: Vec<_> = done.iter().filter(|(n, _)| **n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        console.note(format_args!("{}: {}; {} undoes this", path.display(), done.join(", "), undo.display()));
        Ok(Status::Well)
    }

    fn name(&self, console: &Console, path: &Path) {
        if self.verbose {
            console.note(path.display());
        }
    }

    fn unreadable(&self, error: &OpenError) -> Failure {
        let hint = match error {
            OpenError::Io(error)
                if error.kind() == io::ErrorKind::NotFound && self.format == Path::new(SYSTEM_FORMATS) =>
            {
                ": name your format file with -t"
            }
            _ => "",
        };
        let text = format!("cannot read {}: {error}{hint}", self.format.display());
        let message = match error {
            OpenError::Io(_) => Message::Unreadable,
            OpenError::Other(_) | OpenError::TooLarge(_) => Message::Formats,
        };
        Failure::Error(message, text)
    }
}

/// Words of a list, each with its ids.
fn id_words(list: &str) -> Result<Vec<(String, IdSet)>, Failure> {
    let refused = |error: tfbc::aix::IdListError| Failure::Error(Message::BadIdList, error.to_string());
    // The whole list is parsed first, so that positions in messages count from its start.
    IdSet::parse(list).map_err(refused)?;
    let words = list.split([',', ' ', '\t']).filter(|word| !word.is_empty());
    words.map(|word| Ok((word.to_owned(), IdSet::parse(word).map_err(refused)?))).collect()
}

fn extract(console: &Console, format: &FormatFile, words: &[(String, IdSet)]) -> CommandResult {
    let mut status = Status::Well;
    let mut all = IdSet::default();
    let known = update::ids(format.source());
    for (word, ids) in words {
        if !ids.iter().any(|id| known.contains(id)) {
            console.error(Message::NoSuchStanza, format_args!("no stanza of {word} in {}", format.path().display()));
            status = Status::Failed;
        }
        all.extend(ids);
    }
    super::print(console, update::extract(format.source(), &all), None)?;
    Ok(status)
}

fn read_update(path: &Path, max: usize) -> io::Result<Source> {
    let bytes = files::read(path, max as u64).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => io::Error::other(format!("{error} (--max-source raises the limit)")),
        _ => error,
    })?;
    Ok(Source::new(path.to_string_lossy(), bytes))
}

fn unreadable_update(given: &Path, path: &Path, error: &io::Error) -> Failure {
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    let has_suffix = given.extension().is_some_and(|extension| extension == "trc");
    let hint = if is_missing && has_suffix {
        format!(": the suffix .trc is added, so give `{}`", given.with_extension("").display())
    } else if is_missing && given.is_file() {
        String::from(": the name of an update file ends in .trc")
    } else {
        String::new()
    };
    Failure::Error(Message::Unreadable, format!("cannot read {}: {error}{hint}", path.display()))
}

fn message(fault: &UpdateFault) -> Message {
    match fault {
        UpdateFault::NoMagic { .. } | UpdateFault::BadLine { .. } => Message::BadFormat,
        UpdateFault::BadId { .. } => Message::BadHookId,
        UpdateFault::BadVersion { .. } => Message::BadVersion,
        UpdateFault::Older { .. } => Message::OlderVersion,
        UpdateFault::Missing { .. } => Message::NoSuchStanza,
        UpdateFault::Repeated { .. } => Message::DuplicateId,
        UpdateFault::RepeatedMagic | UpdateFault::Swallowed | UpdateFault::Changed => Message::Notable,
    }
}
