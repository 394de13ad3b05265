//! `tfbc install`: installs the program, its other names, manual pages and completions below a prefix.
//!
//! Every file must be new or one of ours, unless `--force` is given; this is checked before the first write. The
//! program and all texts contain [`MARK`], which identifies our files. Each file is written under a temporary name and
//! then renamed.

use super::console::{CommandResult, Console, Failure, Message, Status};
use super::files::Output;
use super::manual::{self, MARK};
use super::{PROGRAMS, programs};
use clap::Args;
use clap_complete::Shell;
use std::collections::BTreeSet;
use std::env::consts::EXE_SUFFIX;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Flags of `tfbc install`.
#[derive(Debug, Clone, Args)]
pub struct InstallArgs {
    /// Directory to install below, such as ~/.local or /usr/local
    #[arg(long, value_name = "DIR")]
    prefix: PathBuf,
    /// Replace files of other programs with the same names
    #[arg(long)]
    force: bool,
    /// List the files without writing them
    #[arg(long)]
    dry_run: bool,
}

/// File to install.
struct InstallItem {
    path: PathBuf,
    content: FileContent,
}

enum FileContent {
    /// The running program.
    Program,
    /// Link to the program in the same directory.
    Link,
    /// A manual page or completion script.
    Text(Vec<u8>),
}

impl InstallArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        let program = std::env::current_exe().map_err(|error| {
            Failure::Error(Message::Unreadable, format!("cannot find the running program: {error}"))
        })?;
        let items = items(&self.prefix);
        // Everything is checked before anything is written, because a half-installed set of names would mix two
        // versions.
        self.refuse_foreign(&items)?;
        if self.dry_run {
            return super::print(console, list(&items), None);
        }
        let directories: BTreeSet<&Path> = items.iter().map(|item| Output::directory(&item.path)).collect();
        for directory in directories {
            fs::create_dir_all(directory).map_err(|error| Failure::write(&error, directory.display()))?;
        }
        // The program comes first: the other names are links to it.
        for item in &items {
            item.write(&program).map_err(|error| Failure::write(&error, item.path.display()))?;
        }
        super::print(console, self.summary(&items), None)?;
        let bin = self.prefix.join("bin");
        let search = std::env::var_os("PATH").unwrap_or_default();
        if !std::env::split_paths(&search).any(|directory| directory == bin) {
            console.note(format_args!("add {} to PATH to call the programs by their names", bin.display()));
        }
        Ok(Status::Well)
    }

    /// Refuses files of other programs, and directories at the path of a file.
    fn refuse_foreign(&self, items: &[InstallItem]) -> Result<(), Failure> {
        let mut foreign = Vec::new();
        for InstallItem { path, .. } in items {
            match fs::symlink_metadata(path) {
                Ok(found) if found.is_dir() => {
                    let text = format!("cannot write {}: it is a directory", path.display());
                    return Err(Failure::Error(Message::Unwritable, text));
                }
                Ok(_) if self.force || is_ours(path) => {}
                Ok(_) => foreign.push(path.display().to_string()),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(Failure::write(&error, path.display())),
            }
        }
        if foreign.is_empty() {
            return Ok(());
        }
        let text = format!("not installed by tfbc: {}; `--force` replaces them", foreign.join(", "));
        Err(Failure::Error(Message::Unwritable, text))
    }

    /// One line for each kind of file.
    fn summary(&self, items: &[InstallItem]) -> String {
        let links = items.iter().filter(|item| matches!(item.content, FileContent::Link));
        let names: Vec<_> = links.filter_map(|item| item.path.file_stem()?.to_str()).collect();
        let n_pages = items.iter().filter(|item| item.path.extension().is_some_and(|kind| kind == "1")).count();
        let mut text = String::new();
        let _ = writeln!(text, "{}: tfbc, and its other names {}", self.prefix.join("bin").display(), names.join(", "));
        let _ = writeln!(text, "{}: {n_pages} manual pages", self.prefix.join("share/man/man1").display());
        let _ = writeln!(text, "{}: completions for bash, zsh and fish", self.prefix.join("share").display());
        text
    }
}

impl InstallItem {
    fn write(&self, program: &Path) -> io::Result<()> {
        match &self.content {
            FileContent::Program => write_program(program, &self.path),
            #[cfg(unix)]
            FileContent::Link => Output::replace_by_link(Path::new("tfbc"), &self.path),
            #[cfg(not(unix))]
            FileContent::Link => write_program(program, &self.path),
            FileContent::Text(text) => {
                let mut out = Output::replace(&self.path, false)?;
                out.write_all(text)?;
                out.commit()
            }
        }
    }
}

fn write_program(program: &Path, path: &Path) -> io::Result<()> {
    let mut source = File::open(program)?;
    let mut out = Output::replace(path, true)?;
    io::copy(&mut source, &mut out)?;
    out.commit()
}

/// All files to install, the program first.
fn items(prefix: &Path) -> Vec<InstallItem> {
    let at = |path: String, content| InstallItem { path: prefix.join(path), content };
    let text = |path: String, text| at(path, FileContent::Text(text));
    let mut items = vec![at(format!("bin/tfbc{EXE_SUFFIX}"), FileContent::Program)];
    items.extend(PROGRAMS.iter().map(|program| at(format!("bin/{}{EXE_SUFFIX}", program.name), FileContent::Link)));
    for program in programs() {
        let name = program.get_name().to_owned();
        let script = |shell| manual::completions(shell, program.clone());
        items.push(text(format!("share/bash-completion/completions/{name}"), script(Shell::Bash)));
        items.push(text(format!("share/zsh/site-functions/_{name}"), script(Shell::Zsh)));
        items.push(text(format!("share/fish/vendor_completions.d/{name}.fish"), script(Shell::Fish)));
        let pages = manual::pages(program).into_iter();
        items.extend(pages.map(|page| text(format!("share/man/man1/{}.1", page.name), page.text)));
    }
    items
}

fn list(items: &[InstallItem]) -> String {
    let mut text = String::new();
    for InstallItem { path, content } in items {
        let target = if cfg!(unix) && matches!(content, FileContent::Link) { " -> tfbc" } else { "" };
        let _ = writeln!(text, "{}{target}", path.display());
    }
    text
}

/// True for our own programs, links, pages and scripts.
fn is_ours(path: &Path) -> bool {
    if fs::read_link(path).is_ok_and(|target| target == Path::new("tfbc")) {
        return true;
    }
    let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
    // The mark must be one constant in the program. `black_box` keeps the optimiser from splitting it.
    let mark = std::hint::black_box(MARK).as_bytes();
    is_file && fs::read(path).is_ok_and(|bytes| memchr::memmem::find(&bytes, mark).is_some())
}
