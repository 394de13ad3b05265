//! What inputs and events may cost: the flags of docs/limits.md.

use clap::Args;
use clap::builder::RangedU64ValueParser;
use std::num::NonZeroUsize;
use tfbc::reader::MaxRatio;
use tfbc::report::{MaxWork, TableLimits};
use tfbc_grammar::SourceLimits;
use tfbc_vm::Limits;

/// Flags of the commands that print events.
#[derive(Debug, Clone, Copy, Args)]
pub struct LimitArgs {
    /// Loop turns, function and subroutine calls that one event may make; past them it ends with ` [limit]`
    #[arg(long, value_name = "N", default_value_t = Limits::default().turns, help_heading = "Limits")]
    max_turns: u32,
    /// Steps that one event may run: instructions, pieces of 32 bytes of text, and BITFLAGS entries; past them it ends
    /// with ` [limit]`
    #[arg(long, value_name = "N", default_value_t = Limits::default().steps, help_heading = "Limits")]
    max_steps: u32,
    /// Bytes of text that one event may print; it is cut there, and ` [limit]` follows
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().text, help_heading = "Limits")]
    max_text: u32,
    /// Steps that all events together may run for each byte of theirs; past them an event prints nothing but ` [limit]`
    #[arg(long, value_name = "N", default_value_t = MaxWork::default().0, help_heading = "Limits")]
    max_work: u32,
}

impl LimitArgs {
    /// The flags as the machine takes them.
    pub fn limits(self) -> Limits {
        Limits { turns: self.max_turns, steps: self.max_steps, text: self.max_text }
    }

    /// The flags for an event of so many bytes that is the only one.
    pub fn of_one(self, bytes: usize) -> Limits {
        let steps = self.max_work().allowance(bytes as u64).min(self.max_steps.into()) as u32;
        Limits { steps, ..self.limits() }
    }

    /// The flag of all events together.
    pub fn max_work(self) -> MaxWork {
        MaxWork(self.max_work)
    }
}

impl Default for LimitArgs {
    fn default() -> Self {
        let Limits { turns, steps, text } = Limits::default();
        Self { max_turns: turns, max_steps: steps, max_text: text, max_work: MaxWork::default().0 }
    }
}

/// A value of `--threads`.
///
/// # Errors
/// Expected text.
pub fn threads(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| String::from("expected a number from 1; leave --threads out for all cores"))
}

/// Flags of the commands that report traces of AIX.
#[derive(Debug, Clone, Copy, Args)]
pub struct TableArgs {
    /// Timers of templates that may run at once; those started beyond are not kept (AIX)
    #[arg(long, value_name = "N", default_value_t = TableLimits::default().timers, help_heading = "Limits")]
    max_timers: u32,
    /// Processes, and threads, that are remembered at once; those beyond count as unknown (AIX)
    #[arg(long, value_name = "N", default_value_t = TableLimits::default().processes, help_heading = "Limits")]
    max_processes: u32,
}

impl TableArgs {
    /// The flags as a report takes them.
    pub fn limits(self) -> TableLimits {
        TableLimits { timers: self.max_timers, processes: self.max_processes }
    }
}

impl Default for TableArgs {
    fn default() -> Self {
        let TableLimits { timers, processes } = TableLimits::default();
        Self { max_timers: timers, max_processes: processes }
    }
}

/// Flags of the commands that read compressed files.
#[derive(Debug, Clone, Copy, Args)]
pub struct RatioArgs {
    /// Bytes that a byte of a compressed file may come to, behind the first 16 MiB
    #[arg(long, value_name = "N", default_value_t = MaxRatio::default().0, help_heading = "Limits")]
    max_ratio: u32,
}

impl RatioArgs {
    /// The flag as a reader takes it.
    pub fn ratio(self) -> MaxRatio {
        MaxRatio(self.max_ratio)
    }
}

impl Default for RatioArgs {
    fn default() -> Self {
        Self { max_ratio: MaxRatio::default().0 }
    }
}

/// Flags of the commands that compile format files.
#[derive(Debug, Clone, Copy, Args)]
pub struct SourceLimitArgs {
    /// Bytes of a format file
    #[arg(long, value_name = "BYTES", default_value_t = SourceLimits::default().source, value_parser = bytes(), help_heading = "Limits")]
    max_source: usize,
    /// Bytes of a format file that is XML
    #[arg(long, value_name = "BYTES", default_value_t = SourceLimits::default().xml, value_parser = bytes(), help_heading = "Limits")]
    max_xml: usize,
    /// Braces and parentheses, or elements of XML, that may be open at once; up to 200
    #[arg(long, value_name = "N", default_value_t = SourceLimits::default().nesting, value_parser = up_to(SourceLimits::MAX_NESTING), help_heading = "Limits")]
    max_nesting: usize,
    /// Stanzas, datakeys and events of eventclasses in all format files together
    #[arg(long, value_name = "N", default_value_t = SourceLimits::default().templates, value_parser = up_to(1 << 24), help_heading = "Limits")]
    max_templates: usize,
}

fn bytes() -> RangedU64ValueParser<usize> {
    up_to(SourceLimits::MAX_BYTES)
}

fn up_to(max: usize) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=max as u64)
}

impl SourceLimitArgs {
    /// The flags as the compiler takes them.
    pub fn limits(self) -> SourceLimits {
        let Self { max_source, max_xml, max_nesting, max_templates } = self;
        SourceLimits { source: max_source, xml: max_xml, nesting: max_nesting, templates: max_templates }
    }
}

impl Default for SourceLimitArgs {
    fn default() -> Self {
        let SourceLimits { source, xml, nesting, templates } = SourceLimits::default();
        Self { max_source: source, max_xml: xml, max_nesting: nesting, max_templates: templates }
    }
}
