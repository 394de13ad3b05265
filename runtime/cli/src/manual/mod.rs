//! `tfbc completions` and `tfbc man`: completion scripts and manual pages, generated from the commands' flags.

mod lines;
mod sections;
mod values;

use super::console::{CommandResult, Console, Failure, Message, Status};
use super::pager;
use crate::files::Output;
use clap::Args;
use clap_complete::Shell;
use clap_mangen::Man;
use lines::write_lines;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tfbc_grammar::hint;

/// Flags of `tfbc completions`.
#[derive(Debug, Clone, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
    /// Installed command to complete, such as trcrpt
    #[arg(value_name = "COMMAND", default_value = "tfbc")]
    command: String,
}

impl CompletionsArgs {
    /// Runs the command. `programs` are the installed commands.
    pub fn run(&self, console: &Console, programs: Vec<clap::Command>) -> CommandResult {
        let names: Vec<String> = programs.iter().map(|program| program.get_name().to_owned()).collect();
        let Some(program) = programs.into_iter().find(|program| program.get_name() == self.command) else {
            return Err(unknown(&self.command, &names));
        };
        super::print(console, completions(self.shell, program), None)
    }
}

/// Text in every manual page and completion script, by which [`super::install`] recognises our files.
pub const MARK: &str = "`tfbc install` replaces this file";

/// Completion script for a program.
pub fn completions(shell: Shell, program: clap::Command) -> Vec<u8> {
    let name = program.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut values::add_possible_values(program), name, &mut script);
    script.extend_from_slice(format!("\n# {MARK}.\n").as_bytes());
    script
}

/// Flags of `tfbc man`.
#[derive(Debug, Clone, Args)]
pub struct ManArgs {
    /// Command whose page is printed, such as `report` or `trcrpt`; or directory for all pages, such as
    /// /usr/local/share/man/man1
    #[arg(value_name = "COMMAND|DIR", default_value = "tfbc")]
    what: PathBuf,
}

impl ManArgs {
    /// Runs the command. `programs` are the installed commands.
    pub fn run(&self, console: &Console, programs: Vec<clap::Command>) -> CommandResult {
        let pages: Vec<ManualPage> = programs.into_iter().flat_map(pages).collect();
        let what = self.what.to_string_lossy();
        let named = |name: &str| pages.iter().find(|page| page.name == name);
        if let Some(page) = named(&what).or_else(|| named(&format!("tfbc-{what}"))) {
            return if pager::shows_manual(&page.text) {
                Ok(Status::Well)
            } else {
                super::print(console, &page.text, None)
            };
        }
        if !self.what.is_dir() && !what.contains('/') {
            let mut names: Vec<String> = pages.into_iter().map(|page| page.name.replacen("tfbc-", "", 1)).collect();
            names.sort();
            names.dedup();
            return Err(unknown(&what, &names));
        }
        for page in &pages {
            page.write_to(&self.what).map_err(|error| Failure::write(&error, self.what.display()))?;
        }
        Ok(Status::Well)
    }
}

/// A manual page.
pub struct ManualPage {
    /// Page name, such as `tfbc-report` for `tfbc report`.
    pub name: String,
    pub text: Vec<u8>,
}

impl ManualPage {
    fn write_to(&self, directory: &Path) -> io::Result<()> {
        fs::create_dir_all(directory)?;
        let mut out = Output::open(Some(&directory.join(format!("{}.1", self.name))))?;
        out.write_all(&self.text)?;
        out.commit()
    }
}

/// Pages of a program and its subcommands.
pub fn pages(program: clap::Command) -> Vec<ManualPage> {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let commands = program.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    std::iter::once(program.clone()).chain(commands).map(page).collect()
}

fn page(mut command: clap::Command) -> ManualPage {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let (has_flags, has_commands) = (command.get_arguments().count() > 0, command.has_subcommands());
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (notes, examples) = after.split_once("Examples:\n").unwrap_or(("", &after));
    let usage = command.render_usage().to_string();
    let man = Man::new(command).title(&name).source(concat!("tfbc ", env!("CARGO_PKG_VERSION")));
    let mut text = format!(".\\\" {MARK}.\n").into_bytes();
    let rendered = man
        .render_title(&mut text)
        .and_then(|()| man.render_name_section(&mut text))
        .and_then(|()| lines::write_synopsis(&usage, &mut text))
        .and_then(|()| man.render_description_section(&mut text))
        .and_then(|()| if has_flags { man.render_options_section(&mut text) } else { Ok(()) })
        .and_then(|()| if has_commands { man.render_subcommands_section(&mut text) } else { Ok(()) });
    debug_assert!(rendered.is_ok(), "writing into memory does not fail");
    sections::write(&name, &mut text);
    write_lines("NOTES", notes.trim_end(), &mut text);
    write_lines("EXAMPLES", examples, &mut text);
    sections::write_see_also(&name, &mut text);
    ManualPage { name, text }
}

fn unknown(name: &str, names: &[String]) -> Failure {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let hint = hint(name, &names);
    Failure::Error(Message::Usage, format!("there is no command `{name}`: expected one of {}{hint}", names.join(", ")))
}
