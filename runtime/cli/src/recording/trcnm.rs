//! `trcnm`: lists names and addresses for `trcrpt -n`.

use crate::console::{CommandResult, CommonArgs, Console, Failure, Message};
use crate::context_args::MAX_NAMES;
use crate::files;
use clap::Args;
use object::elf::ELFMAG;
use object::{Object, ObjectSymbol, SymbolKind};
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Maximum size of an ELF file, in bytes.
const MAX_FILE: u64 = 1 << 30;

/// Names of the running kernel.
const KERNEL: &str = "/proc/kallsyms";

/// Flags of `trcnm`.
#[derive(Debug, Clone, Args)]
#[command(about = "List names and addresses of symbols, as AIX's trcnm does", after_help = AFTER_HELP)]
pub struct TrcnmArgs {
    /// Only the loader's symbols of this ELF file, instead of all its functions and data
    #[arg(short = 'a', value_name = "FILE", conflicts_with = "file")]
    loader: Option<PathBuf>,
    /// Only these names; give it after FILE
    #[arg(short = 'K', value_name = "NAME", num_args = 1..)]
    names: Vec<String>,
    /// ELF file; the running kernel by default
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Explanation and examples of the help page.
const AFTER_HELP: &str = "\
Each line contains a name and an address in hex, sorted by address. trcrpt -n reads such a list to
show addresses by name.

Examples:
  trcnm ./sample > sample.names; trcrpt -x -n sample.names
  trcnm -a /lib/libc.so.6              what a library offers
  trcnm -K vfs_read vfs_write          two addresses of the kernel (as root)";

impl TrcnmArgs {
    /// Runs the command.
    pub fn run(self, common: CommonArgs) -> (Console, CommandResult) {
        let console = Console::new(true, common);
        let ending = self.list().and_then(|list| crate::print(&console, list, None));
        (console, ending)
    }

    fn list(&self) -> Result<String, Failure> {
        let mut symbols = match (&self.loader, &self.file) {
            (Some(path), _) => of_file(path, true)?,
            (None, Some(path)) => of_file(path, false)?,
            (None, None) => of_kernel(Path::new(KERNEL))?,
        };
        for name in &self.names {
            if !symbols.iter().any(|(_, known)| known == name) {
                let place = self.loader.as_ref().or(self.file.as_ref()).map_or(Path::new(KERNEL), PathBuf::as_path);
                return Err(Failure::Error(Message::Usage, format!("-K: there is no `{name}` in {}", place.display())));
            }
        }
        symbols.retain(|(_, name)| self.names.is_empty() || self.names.contains(name));
        symbols.sort();
        symbols.dedup();
        Ok(symbols.iter().fold(String::new(), |mut list, (address, name)| {
            let _ = writeln!(list, "{name} {address:016x}");
            list
        }))
    }
}

type Symbols = Vec<(u64, String)>;

/// Functions and data of an ELF file. If it has no symbol table, the loader's symbols are used.
fn of_file(path: &Path, of_loader: bool) -> Result<Symbols, Failure> {
    let bytes = read(path).map_err(|error| unreadable(path, &error.to_string()))?;
    let file =
        object::File::parse(&*bytes).map_err(|error| unreadable(path, &format!("it is not an ELF file: {error}")))?;
    let refused = |why: String| unreadable(path, &why);
    let mut symbols = if of_loader { Vec::new() } else { defined(file.symbols()).map_err(refused)? };
    if symbols.is_empty() {
        symbols = defined(file.dynamic_symbols()).map_err(refused)?;
    }
    if symbols.is_empty() {
        let why = if of_loader {
            "the loader has no symbols for it"
        } else {
            "it has no symbols: it was linked with -s, or stripped"
        };
        return Err(unreadable(path, why));
    }
    Ok(symbols)
}

/// Reads an ELF file. Of any other file, only the first bytes are read.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = files::read_of_kind(path, &ELFMAG, MAX_FILE)?;
    if bytes.starts_with(&ELFMAG) { Ok(bytes) } else { Err(io::Error::other("it is not an ELF file")) }
}

/// Functions and data among symbols. Names may overlap in a hostile file, so their total size is limited.
fn defined<'f>(symbols: impl Iterator<Item = impl ObjectSymbol<'f>>) -> Result<Symbols, String> {
    let is_listed = |kind| matches!(kind, SymbolKind::Text | SymbolKind::Data | SymbolKind::Unknown);
    let mut listed = Symbols::new();
    let mut n_bytes = 0;
    for symbol in symbols.filter(|symbol| symbol.is_definition() && is_listed(symbol.kind())) {
        let name = symbol.name_bytes().map_err(|error| format!("a symbol's name is damaged: {error}"))?;
        n_bytes += name.len() as u64 + 1;
        if n_bytes > MAX_NAMES {
            return Err(format!("the names of its symbols have more than {MAX_NAMES} bytes"));
        }
        if let Some(name) = str::from_utf8(name).ok().filter(|name| is_word(name)) {
            listed.push((symbol.address(), name.to_owned()));
        }
    }
    Ok(listed)
}

/// True if a name can appear in a line of the list.
fn is_word(name: &str) -> bool {
    !name.is_empty() && !name.contains(|char: char| char.is_whitespace() || char.is_control())
}

/// Parses the kernel's list of `address type name [module]` lines.
fn of_kernel(path: &Path) -> Result<Symbols, Failure> {
    let list = fs::read_to_string(path).map_err(|error| unreadable(path, &error.to_string()))?;
    let symbol = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let address = u64::from_str_radix(words.next()?, 16).ok()?;
        Some((address, words.nth(1)?.to_owned()))
    };
    let symbols: Symbols = list.lines().filter_map(symbol).collect();
    if symbols.iter().all(|(address, _)| *address == 0) {
        return Err(unreadable(path, "it hides its addresses from this user: run trcnm as root, or name an ELF file"));
    }
    Ok(symbols)
}

fn unreadable(path: &Path, why: &str) -> Failure {
    Failure::Error(Message::Unreadable, format!("cannot read {}: {why}", path.display()))
}
