//! `tfbc disasm` and `tfbc verify`: inspect blobs.

use super::console::{CommandResult, Console, Failure, Message, Status};
use super::files;
use super::formats::{self, LanguageArgs};
use clap::Args;
use std::path::PathBuf;
use tfbc::aix::IdSet;
use tfbc::{EventFilter, Formats};
use tfbc_vm::{Program, Space};

/// Flags of `tfbc disasm`.
#[derive(Debug, Clone, Args)]
pub struct DisasmArgs {
    #[command(flatten)]
    language: LanguageArgs,
    /// Blob or format file
    #[arg(value_name = "FORMAT")]
    format: PathBuf,
    /// Only these hooks: hh, hhh or hhhh, separated by commas; or QNX events, such as USER:65
    #[arg(value_name = "ID")]
    ids: Option<String>,
}

impl DisasmArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        let set = formats::load(console, std::slice::from_ref(&self.format), &self.language)?;
        let catalog = set.catalog();
        let mut out = String::new();
        match &self.ids {
            None => catalog.programs().iter().for_each(|program| out.push_str(&program.disassemble(None))),
            Some(event) if event.contains(':') => {
                let filter = EventFilter { only: vec![event.clone()], ..EventFilter::default() }.qnx(None);
                let filter = filter.map_err(|error| Failure::Error(Message::BadIdList, error.message))?;
                for (class, event) in filter.only.unwrap_or_default().iter() {
                    for entry in catalog.records(Space::Record, class, event) {
                        let program = catalog.record_program(entry);
                        out.extend(program.record(class, event).map(|record| program.disassemble(Some(&record))));
                    }
                }
            }
            Some(list) => {
                let ids = IdSet::parse(list).map_err(|error| Failure::Error(Message::BadIdList, error.to_string()))?;
                for id in ids.iter() {
                    let Some(program) = catalog.get(id).map(|entry| catalog.program(entry)) else { continue };
                    out.extend(program.hook(id).map(|hook| program.disassemble(Some(&hook))));
                }
            }
        }
        if out.is_empty() {
            let ids = self.ids.as_deref().unwrap_or_default();
            let format = self.format.display();
            let text = format!("{format} has no template for {ids}: `tfbc list -t {format}` lists its templates");
            return Err(Failure::Error(Message::Formats, text));
        }
        super::print(console, out, None)
    }
}

/// Flags of `tfbc verify`.
#[derive(Debug, Clone, Args)]
pub struct VerifyArgs {
    /// Blobs
    #[arg(value_name = "BLOB", required = true)]
    blobs: Vec<PathBuf>,
}

impl VerifyArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        let mut status = Status::Well;
        let mut out = String::new();
        for path in &self.blobs {
            let name = path.display();
            let bytes = files::read_of_kind(path, &tfbc_vm::LABEL, Formats::MAX_BLOB);
            let verdict = bytes.as_deref().map(|bytes| Program::open(bytes).map(|program| describe(&program)));
            match verdict {
                Ok(Ok(text)) => out.push_str(&format!("{name}: verified, {text}\n")),
                Ok(Err(error)) => {
                    let is_source = error.code() == "B01";
                    let hint = if is_source { "; `tfbc check` checks format files that are not blobs" } else { "" };
                    console.error(Message::Formats, format_args!("{name}: {error} [{}]{hint}", error.code()));
                    status = Status::Failed;
                }
                Err(error) => {
                    console.error(Message::Unreadable, format_args!("cannot read {name}: {error}"));
                    status = Status::Failed;
                }
            }
        }
        super::print(console, out, None)?;
        Ok(status)
    }
}

fn describe(program: &Program<'_>) -> String {
    let n_instrs: usize = program.routines().map(|routine| routine.code.len()).sum();
    let sources: Vec<_> = program.sources().map(String::from_utf8_lossy).collect();
    format!(
        "{} hooks, {} QNX events, {} routines, {n_instrs} instructions, from {}",
        program.hooks().count(),
        program.entries(Space::Record).count(),
        program.routines().count(),
        sources.join(", ")
    )
}
