//! Flags of the commands that show the events of one trace: `tfbc view` and `tfbc browse`.

use super::console::{Console, Failure};
use super::context_args;
use super::filter_args::FilterArgs;
use super::formats::{self, LanguageArgs};
use super::limits::{LimitArgs, TableArgs};
use super::trace_args::TraceArgs;
use clap::Args;
use std::path::{Path, PathBuf};
use tfbc::aix::AixReportOptions;
use tfbc::qnx::QnxReportOptions;
use tfbc::{Formats, QnxHeader, ReportOptions, TraceInfo};

/// Flags of the commands that show the events of one trace.
#[derive(Debug, Clone, Args)]
pub struct EventsArgs {
    /// Format file, source or blob; later ones win. `default` is the built-in file, which is also used if none is given
    #[arg(short = 't', long = "formats", value_name = "FORMAT")]
    pub formats: Vec<PathBuf>,
    #[command(flatten)]
    pub filter: FilterArgs,
    /// List of system call names by address, from trcnm (AIX)
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// Table of the hooks that name processes and threads, added to the built-in one (AIX; docs/context.md)
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,
    #[command(flatten)]
    pub language: LanguageArgs,
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    tables: TableArgs,
}

impl EventsArgs {
    /// Files that the flags name, other than format files.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.names, &self.context].into_iter().flatten()
    }

    /// Context table of `--context`.
    pub fn context(&self) -> Option<&Path> {
        self.context.as_deref()
    }

    /// List of names of `--names`.
    pub fn names(&self) -> Option<&Path> {
        self.names.as_deref()
    }

    /// Checks the filter and loads the format files.
    pub fn load(&self, console: &Console) -> Result<Formats, Failure> {
        self.filter.check(console)?;
        formats::load_for_report(console, &self.formats, &self.language)
    }

    /// Flags of the reader.
    pub fn trace_args(&self) -> Result<TraceArgs, Failure> {
        let short_generic_word = self.language.report_dialect()?.short_generic_word;
        Ok(TraceArgs { max_ratio: self.language.ratio.ratio(), short_generic_word, ..self.trace.clone() })
    }

    /// Limits of an event.
    pub fn limits(&self) -> LimitArgs {
        self.limits
    }

    /// Limit on processes, and on threads.
    pub fn max_processes(&self) -> usize {
        self.tables.limits().processes as usize
    }

    /// Options of the report of a trace.
    pub fn report_options(&self, set: &Formats, info: &TraceInfo) -> Result<ReportOptions, Failure> {
        Ok(match &info.qnx_header {
            None => ReportOptions { aix: self.aix(set)?, ..ReportOptions::default() },
            Some(header) => ReportOptions { qnx: self.qnx(set, header)?, ..ReportOptions::default() },
        })
    }

    fn aix(&self, set: &Formats) -> Result<AixReportOptions, Failure> {
        Ok(AixReportOptions {
            delta_of_all: self.language.report_dialect()?.delta_of_all,
            context: context_args::context(self.context.as_deref())?,
            names: context_args::names(self.names.as_deref())?,
            limits: self.limits.limits(),
            max_work: self.limits.max_work(),
            tables: self.tables.limits(),
            ..self.filter.aix(set)?
        })
    }

    fn qnx(&self, set: &Formats, header: &QnxHeader) -> Result<QnxReportOptions, Failure> {
        Ok(QnxReportOptions {
            limits: self.limits.limits(),
            max_work: self.limits.max_work(),
            ..self.filter.qnx(set, header)?
        })
    }
}
