//! `tfbc lsp`: the language server for editors.

use super::console::{CommandResult, Console, Status};
use clap::Args;
use std::io::{self, IsTerminal};

/// Flags of `tfbc lsp`.
#[derive(Debug, Clone, Args)]
pub struct LspArgs {
    /// Use standard input and output, which is the default; many editors pass this flag
    #[arg(long)]
    stdio: bool,
}

impl LspArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        if io::stdin().is_terminal() {
            console.note("this is a language server, which editors start; press Control-D to end it");
        }
        Ok(if tfbc_lsp::serve_stdio() { Status::Well } else { Status::Failed })
    }
}
