//! `trcnm`: names and addresses, for `trcrpt -n`.

use crate::cli::console::{Console, Ending, Failure, Message};
use crate::cli::{self, CommonArgs};
use clap::Args;
use object::{Object, ObjectSymbol, SymbolKind};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The running kernel's names.
const KERNEL: &str = "/proc/kallsyms";

/// Flags of `trcnm`.
#[derive(Debug, Clone, Args)]
#[command(about = "List names and addresses, as AIX's trcnm does", after_help = AFTER_HELP)]
pub struct TrcnmArgs {
    /// The symbols that the loader knows of an ELF file, in place of all its functions and data
    #[arg(short = 'a', value_name = "FILE", conflicts_with = "file")]
    loader: Option<PathBuf>,
    /// Only these names
    #[arg(short = 'K', value_name = "NAME", num_args = 1..)]
    names: Vec<String>,
    /// ELF file; without, the running kernel
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Explanation and examples of the help page.
const AFTER_HELP: &str = "\
Each line is a name and an address in hex, in the order of the addresses: trcrpt -n reads such a
list to show addresses by name.

Examples:
  trcnm ./sample > sample.names; trcrpt -x -n sample.names
  trcnm -a /lib/libc.so.6              what a library offers
  trcnm -K vfs_read vfs_write          two addresses of the kernel (as root)";

impl TrcnmArgs {
    /// Runs the command.
    pub fn run(self, common: CommonArgs) -> (Console, Ending) {
        let console = Console::new(true, common);
        let ending = self.list().and_then(|list| cli::print(&console, list, None));
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
                return Err(Failure::Say(Message::Usage, format!("-K: there is no `{name}` in {}", place.display())));
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

/// The functions and data of an ELF file. One without a table of its own has the loader's.
fn of_file(path: &Path, of_loader: bool) -> Result<Symbols, Failure> {
    let bytes = fs::read(path).map_err(|error| unreadable(path, &error.to_string()))?;
    let file =
        object::File::parse(&*bytes).map_err(|error| unreadable(path, &format!("it is no ELF file: {error}")))?;
    let mut symbols = if of_loader { Vec::new() } else { defined(file.symbols()) };
    if symbols.is_empty() {
        symbols = defined(file.dynamic_symbols());
    }
    if symbols.is_empty() {
        let why = if of_loader {
            "the loader knows no symbols of it"
        } else {
            "it has no symbols: it was linked with -s, or stripped"
        };
        return Err(unreadable(path, why));
    }
    Ok(symbols)
}

fn defined<'f>(symbols: impl Iterator<Item = impl ObjectSymbol<'f>>) -> Symbols {
    let is_listed = |kind| matches!(kind, SymbolKind::Text | SymbolKind::Data | SymbolKind::Unknown);
    let symbols = symbols.filter(|symbol| symbol.is_definition() && is_listed(symbol.kind()));
    let named = symbols.filter_map(|symbol| Some((symbol.address(), symbol.name().ok()?.to_owned())));
    named.filter(|(_, name)| is_word(name)).collect()
}

/// Whether a line of the list can have such a name.
fn is_word(name: &str) -> bool {
    !name.is_empty() && !name.contains(|char: char| char.is_whitespace() || char.is_control())
}

/// The kernel's list: `address type name [module]` lines.
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
    Failure::Say(Message::Unreadable, format!("cannot read {}: {why}", path.display()))
}
