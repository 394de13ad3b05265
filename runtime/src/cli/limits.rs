//! What one event may cost.

use clap::Args;
use tfbc_vm::Limits;

/// Flags of the commands that print events.
#[derive(Debug, Clone, Copy, Args)]
pub struct LimitArgs {
    /// Loop turns, function and subroutine calls that one event may make; past them it ends with ` [limit]`
    #[arg(long, value_name = "N", default_value_t = Limits::default().turns, help_heading = "Limits")]
    max_turns: u32,
    /// Bytes of text that one event may print; it is cut there, and ` [limit]` follows
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().text, help_heading = "Limits")]
    max_text: u32,
}

impl LimitArgs {
    /// The flags as the machine takes them.
    pub fn limits(self) -> Limits {
        Limits { turns: self.max_turns, text: self.max_text }
    }
}
