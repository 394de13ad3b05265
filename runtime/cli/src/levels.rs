//! Which findings are said, and as what: `--allow`, `--warn`, `--deny`.

use super::console::{Failure, Message};
use clap::Args;
use tfbc_compiler::{Level, Levels};

/// Flags of the commands that compile format files.
#[derive(Debug, Clone, Default, Args)]
pub struct LevelArgs {
    /// Say nothing of these warnings: codes such as S47, a ten such as C4x, a letter, or `all`
    #[arg(long, value_name = "CODE", value_delimiter = ',', help_heading = "Format files")]
    allow: Vec<String>,
    /// Warn of these, whatever --allow or --deny say of larger groups
    #[arg(long, value_name = "CODE", value_delimiter = ',', help_heading = "Format files")]
    warn: Vec<String>,
    /// Take these warnings for errors
    #[arg(long, value_name = "CODE", value_delimiter = ',', help_heading = "Format files")]
    deny: Vec<String>,
}

impl LevelArgs {
    /// The flags as the compiler takes them.
    pub fn levels(&self) -> Result<Levels, Failure> {
        let mut levels = Levels::default();
        for (codes, level) in [(&self.allow, Level::Allow), (&self.warn, Level::Warn), (&self.deny, Level::Deny)] {
            for code in codes.iter().map(|code| code.trim()).filter(|code| !code.is_empty()) {
                levels.set(code, level).map_err(|text| Failure::Say(Message::Usage, text))?;
            }
        }
        Ok(levels)
    }
}
