//! One log file per CPU, and a base file that names them (`trace -C`).

use super::aix;
use super::log_file::{AixLog, LogRole};
use super::note::{Note, WriteSummary};
use super::setup::{self, Setup};
use crate::options;
use crate::record::Record;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Base file `F`, with session and processes, and files `F-0`, `F-1` and so on with the events.
#[derive(Debug)]
pub(super) struct CpuLogs {
    base: AixLog<File>,
    logs: BTreeMap<u16, AixLog<File>>,
}

impl CpuLogs {
    /// Creates all files. The base file is last, so that a reader that finds it also finds the others.
    pub fn create(cpus: &options::CpuLogs, setup: &Setup, path: &Path) -> io::Result<Self> {
        let (options, _) = aix::options(setup)?;
        let cpus: Vec<u16> = match cpus {
            options::CpuLogs::All => (0..setup.machine.n_cpus.min(0x1000) as u16).collect(),
            options::CpuLogs::Only(cpus) => cpus.clone(),
        };
        let create = |role: LogRole, path: &Path| {
            setup::new_file(path, options.keeps_old, |file| AixLog::create_as(&role, file, setup))
        };
        let file = |cpu: u16| {
            let mut name = path.as_os_str().to_owned();
            name.push(format!("-{cpu}"));
            PathBuf::from(name)
        };
        let log = |cpu: &u16| create(LogRole::Cpu, &file(*cpu)).map(|log| (*cpu, log));
        let logs = cpus.iter().map(log).collect::<io::Result<_>>()?;
        let name = |cpu: &u16| (*cpu, file(*cpu).file_name().unwrap_or_default().as_encoded_bytes().to_owned());
        let base = create(LogRole::Base(cpus.iter().map(name).collect()), path)?;
        Ok(Self { base, logs })
    }

    /// Writes an event to the log of its CPU; CPUs without a log are not recorded.
    #[inline]
    pub fn record(&mut self, record: &Record<'_>) -> io::Result<()> {
        self.logs.get_mut(&record.cpu).map_or(Ok(()), |log| log.record(record))
    }

    /// Writes a note to the base file.
    pub fn note(&mut self, note: Note<'_>) -> io::Result<()> {
        self.base.note(note)
    }

    /// Applies an operation to all files, and returns the first error.
    pub fn each(&mut self, work: fn(&mut AixLog<File>) -> io::Result<()>) -> io::Result<()> {
        let done = self.logs.values_mut().map(work).fold(Ok(()), io::Result::and);
        done.and(work(&mut self.base))
    }

    /// Total counts of all files.
    pub fn summary(&self) -> WriteSummary {
        self.logs.values().map(AixLog::summary).fold(self.base.summary(), |sum, log| WriteSummary {
            events: sum.events + log.events,
            lost: sum.lost + log.lost,
            refused: sum.refused + log.refused,
            over: sum.over + log.over,
            overwritten: sum.overwritten + log.overwritten,
            clamped: sum.clamped + log.clamped,
            wraps: sum.wraps + log.wraps,
            buffers: sum.buffers + log.buffers,
        })
    }

    /// True if no log has room for more events.
    pub fn are_full(&self) -> bool {
        self.logs.values().all(AixLog::is_full)
    }
}
