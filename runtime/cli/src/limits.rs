//! Flags for the limits in docs/limits.md.

use clap::Args;
use clap::builder::RangedU64ValueParser;
use std::num::NonZeroUsize;
use tfbc::aix::TableLimits;
use tfbc::{MaxRatio, MaxWork};
use tfbc_grammar::SourceLimits;
use tfbc_vm::Limits;

/// Flags of the commands that print events.
#[derive(Debug, Clone, Copy, Args)]
pub struct LimitArgs {
    /// Loop iterations, function calls and subroutine calls per event; an event that exceeds them ends with ` [limit]`
    #[arg(long, value_name = "N", default_value_t = Limits::default().turns, help_heading = "Limits")]
    max_turns: u32,
    /// Steps per event: instructions, pieces of 32 bytes of text, and BITFLAGS entries; an event that exceeds them ends
    /// with ` [limit]`
    #[arg(long, value_name = "N", default_value_t = Limits::default().steps, help_heading = "Limits")]
    max_steps: u32,
    /// Bytes of text per event; longer text is cut and ends with ` [limit]`
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().text, help_heading = "Limits")]
    max_text: u32,
    /// Steps of all events together, per byte of their data; later events print only ` [limit]`
    #[arg(long, value_name = "N", default_value_t = MaxWork::default().0, help_heading = "Limits")]
    max_work: u32,
}

impl LimitArgs {
    /// Limits of one event.
    pub fn limits(self) -> Limits {
        Limits { turns: self.max_turns, steps: self.max_steps, text: self.max_text }
    }

    /// Limits for a run of a single event of `bytes` bytes.
    pub fn of_one(self, bytes: usize) -> Limits {
        let steps = self.max_work().allowance(bytes as u64).min(self.max_steps.into()) as u32;
        Limits { steps, ..self.limits() }
    }

    /// Limit of all events together.
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

/// Parses a value of `--threads`.
///
/// # Errors
/// The expected form, as text.
pub fn threads(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| String::from("expected a number from 1; leave --threads out for all cores"))
}

/// Parses a number of bytes, with `k`, `m` or `g` after it for powers of 1024, in either case.
pub fn byte_count(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return None,
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse::<u64>().ok().filter(|_| is_number).and_then(|n| n.checked_mul(1 << shift))
}

/// Flags of the commands that report AIX traces.
#[derive(Debug, Clone, Copy, Args)]
pub struct TableArgs {
    /// Limit on running timers of templates; further timers are ignored (AIX)
    #[arg(long, value_name = "N", default_value_t = TableLimits::default().timers, help_heading = "Limits")]
    max_timers: u32,
    /// Limit on processes, and on threads, that are tracked; others count as unknown (AIX)
    #[arg(long, value_name = "N", default_value_t = TableLimits::default().processes, help_heading = "Limits")]
    max_processes: u32,
}

impl TableArgs {
    /// Limits of a report's tables.
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
    /// Maximum decompression ratio, after the first 16 MiB
    #[arg(long, value_name = "N", default_value_t = MaxRatio::default().0, help_heading = "Limits")]
    max_ratio: u32,
}

impl RatioArgs {
    /// Limit for the reader.
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
    /// Maximum bytes of a format file
    #[arg(long, value_name = "BYTES", default_value_t = SourceLimits::default().source, value_parser = bytes(), help_heading = "Limits")]
    max_source: usize,
    /// Maximum bytes of an XML format file
    #[arg(long, value_name = "BYTES", default_value_t = SourceLimits::default().xml, value_parser = bytes(), help_heading = "Limits")]
    max_xml: usize,
    /// Maximum depth of nested braces, parentheses or XML elements; up to 200
    #[arg(long, value_name = "N", default_value_t = SourceLimits::default().nesting, value_parser = up_to(SourceLimits::MAX_NESTING), help_heading = "Limits")]
    max_nesting: usize,
    /// Maximum number of stanzas, datakeys and events of eventclasses in all format files
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
    /// Limits for the compiler.
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
