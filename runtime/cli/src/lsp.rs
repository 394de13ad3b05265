//! `tfbc lsp`: the language server, which editors start.

use super::console::{Console, Ending, Status};
use clap::Args;
use std::io::{self, IsTerminal};

/// Flags of `tfbc lsp`.
#[derive(Debug, Clone, Args)]
pub struct LspArgs {
    /// Speak over standard input and output, as is done without it; many editors give this flag
    #[arg(long)]
    stdio: bool,
}

impl LspArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> Ending {
        if io::stdin().is_terminal() {
            console.note("a language server: an editor starts it and speaks to it (Control-D ends it)");
        }
        Ok(if tfbc_lsp::serve_stdio() { Status::Well } else { Status::Failed })
    }
}
