//! Levels of diagnostics: `--allow`, `--warn`, `--deny`.

use super::console::{Failure, Message};
use clap::Args;
use tfbc_compiler::{Levels, LintLevel};

/// Flags of the commands that compile format files.
#[derive(Debug, Clone, Default, Args)]
pub struct LevelArgs {
    /// Hide these warnings: codes such as S47, groups of ten such as C4x, a letter, or `all`
    #[arg(long, value_name = "CODE", value_delimiter = ',', help_heading = "Format files")]
    allow: Vec<String>,
    /// Show these as warnings, even if --allow or --deny names a larger group
    #[arg(long, value_name = "CODE", value_delimiter = ',', help_heading = "Format files")]
    warn: Vec<String>,
    /// Treat these warnings as errors
    #[arg(long, value_name = "CODE", value_delimiter = ',', help_heading = "Format files")]
    deny: Vec<String>,
}

impl LevelArgs {
    /// Levels as compiler options.
    pub fn levels(&self) -> Result<Levels, Failure> {
        let mut levels = Levels::default();
        for (codes, level) in
            [(&self.allow, LintLevel::Allow), (&self.warn, LintLevel::Warn), (&self.deny, LintLevel::Deny)]
        {
            for code in codes.iter().map(|code| code.trim()).filter(|code| !code.is_empty()) {
                levels.set(code, level).map_err(|text| Failure::Error(Message::Usage, text))?;
            }
        }
        Ok(levels)
    }
}
