//! Flags of every command that reads traces.

use clap::{Args, ValueEnum};
use tfbc::aix::{AfterDamage, AixKind, CpuidWord, ReadOptions};
use tfbc::{MaxRatio, TraceKind};

/// Flags of every command that reads traces.
#[derive(Debug, Clone, Default, Args)]
pub struct TraceArgs {
    /// Kind of the traces, instead of detecting it from their first bytes
    #[arg(long, value_name = "KIND", help_heading = "Traces")]
    pub format: Option<KindArg>,
    /// Position of the CPU id of `trace -p`: last word of the event, first after the hook word, or after the thread id
    #[arg(long, value_name = "PLACE", default_value = "last", help_heading = "Traces")]
    pub cpuid_word: CpuidWordArg,
    /// Accept generic events that are longer than a trace buffer allows
    #[arg(long, help_heading = "Traces")]
    pub lenient: bool,
    /// After a malformed event in an AIX trace, continue: with `resync`, at the next place where eight events are
    /// well-formed, or at the next entry of a log; with `next-entry`, only at the next entry, so that a stream ends
    /// there, as in AIX's trcrpt
    #[arg(long, value_name = "WHERE", default_value = "resync", help_heading = "Traces")]
    pub after_damage: AfterDamageArg,
    /// Read bytes outside the range in a log's header as events if they are well-formed, for example after a full disk
    /// or with a damaged header; the exit status is still 2
    #[arg(long, help_heading = "Traces")]
    pub salvage: bool,
    /// True if a 32-bit program's generic hook in a 64-bit trace has a data word of 4 bytes (`--dialect`).
    #[arg(skip)]
    pub short_generic_word: bool,
    /// True if the trace is read while it grows.
    #[arg(skip)]
    pub follow: bool,
    /// Part of a split trace that is read; the path leads to the split file.
    #[arg(skip)]
    pub part: Option<u64>,
    /// True if directories are searched with all directories below them. `None` in commands without `--recursive`.
    #[arg(skip)]
    pub recursive: Option<bool>,
    /// CPUs whose files are read, for a log with one file per CPU; ranges include both ends.
    #[arg(skip)]
    pub cpus: Option<Vec<(u64, u64)>>,
    /// Limit of the decompression ratio.
    #[arg(skip)]
    pub max_ratio: MaxRatio,
}

/// Command-line form of [`TraceKind`].
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum KindArg {
    Stream32,
    Stream64,
    Log32,
    Log64,
    Kev,
}

/// Command-line form of [`CpuidWord`].
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub enum CpuidWordArg {
    #[default]
    Last,
    First,
    AfterTid,
    None,
}

/// Command-line form of [`AfterDamage`].
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub enum AfterDamageArg {
    #[default]
    Resync,
    NextEntry,
}

impl TraceArgs {
    /// Options of the reader.
    pub fn options(&self) -> ReadOptions {
        ReadOptions {
            format: self.format.map(|kind| match kind {
                KindArg::Stream32 => TraceKind::Aix(AixKind::Stream32),
                KindArg::Stream64 => TraceKind::Aix(AixKind::Stream64),
                KindArg::Log32 => TraceKind::Aix(AixKind::Log32),
                KindArg::Log64 => TraceKind::Aix(AixKind::Log64),
                KindArg::Kev => TraceKind::Kev,
            }),
            cpuid_word: match self.cpuid_word {
                CpuidWordArg::Last => CpuidWord::Last,
                CpuidWordArg::First => CpuidWord::First,
                CpuidWordArg::AfterTid => CpuidWord::AfterTid,
                CpuidWordArg::None => CpuidWord::None,
            },
            lenient: self.lenient,
            short_generic_word: self.short_generic_word,
            follow: self.follow,
            cpus: self.cpus.clone(),
            after_damage: match self.after_damage {
                AfterDamageArg::Resync => AfterDamage::Resync,
                AfterDamageArg::NextEntry => AfterDamage::NextEntry,
            },
            salvage: self.salvage,
            max_ratio: self.max_ratio,
            ..ReadOptions::default()
        }
    }
}
