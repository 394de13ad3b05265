//! What `trace` and `trcstart` are told.

use crate::flags::{Flags, Notice};
use crate::record::Width;
use std::path::PathBuf;

/// How a session uses its buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Two buffers in turn: one is written to the log while the other fills. The log wraps when it is full.
    #[default]
    Alternate,
    /// `-l`: one buffer whose oldest events give way, written to the log at the stop.
    Circular,
    /// `-f`: one buffer that is written to the log at the stop; what comes when it is full is missed.
    Single,
}

/// Where the events go.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Output {
    /// The default log.
    #[default]
    Default,
    /// A log of this name.
    File(PathBuf),
    /// A stream to standard output (`-o -`).
    Stdout,
}

/// Which hook ids are recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Hooks {
    /// All of them.
    #[default]
    All,
    /// These canonical 16-bit ids (`-j`, `-J`).
    Only(Vec<u16>),
    /// All but these (`-k`, `-K`).
    Except(Vec<u16>),
}

impl Hooks {
    /// Whether events of a canonical id are recorded. The trace's own events, 001 to 00B, always are.
    ///
    /// ```
    /// use tfbc_recorder::options::Hooks;
    /// assert!(Hooks::Only(vec![0x0100]).contains(0x0010) && !Hooks::Only(vec![0x0100]).contains(0x0110));
    /// assert!(Hooks::Except(vec![0x00A0]).contains(0x00A0) && Hooks::All.contains(0xF5F1));
    /// ```
    pub fn contains(&self, id: u16) -> bool {
        let is_internal = (0x0010..=0x00BF).contains(&id);
        is_internal
            || match self {
                Hooks::All => true,
                Hooks::Only(ids) => ids.contains(&id),
                Hooks::Except(ids) => !ids.contains(&id),
            }
    }
}

/// Threads whose events are recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chosen {
    /// `-A`: the threads that these processes have at the start.
    pub processes: Vec<u32>,
    /// `-t`: these threads.
    pub threads: Vec<u32>,
    /// `-P`: what else follows from them.
    pub propagation: Propagation,
}

/// Threads and processes that are recorded because chosen ones started them (`-P`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Propagation {
    /// `n`: none.
    #[default]
    None,
    /// `t`: later threads of the same processes.
    Threads,
    /// `p`: those, and the processes that these start.
    Processes,
}

/// CPUs with a log file each (`-C`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CpuLogs {
    /// All CPUs of the machine.
    All,
    /// These; events of other CPUs are not written.
    Only(Vec<u16>),
}

/// The flags of `trace`, as `trcstart` takes them too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// `-a`: in the background, without a prompt.
    pub background: bool,
    /// `-d`: begin with collection off.
    pub off: bool,
    /// `-f`, `-l` or neither.
    pub mode: Mode,
    /// `-g`: a free channel from 1 to 7 instead of channel 0.
    pub generic: bool,
    /// `-h`: no date, system and message events.
    pub headless: bool,
    /// `-j`, `-J`, `-k`, `-K`.
    pub hooks: Hooks,
    /// `-m`: a text for the header.
    pub message: Option<Vec<u8>>,
    /// `-n`: the names and addresses of the tracing programs' own symbols go into the log.
    pub symbols: bool,
    /// `-o`.
    pub output: Output,
    /// `-c`: an old log of the same name is kept as `NAME.old`.
    pub keeps_old: bool,
    /// `-p`: each event tells its CPU.
    pub cpu_ids: bool,
    /// `-C`: a log for each CPU beside a base file that names them.
    pub cpu_logs: Option<CpuLogs>,
    /// `-A`, `-t`, `-P`; `None` for all threads.
    pub chosen: Option<Chosen>,
    /// `-s`: stop when the log is full instead of wrapping.
    pub stops_when_full: bool,
    /// `-L`: bytes of the log.
    pub log_size: u64,
    /// `-T`: bytes of a buffer.
    pub buffer_size: u64,
    /// The kernel that the log is written as: fixes the widths of thread ids and time stamps.
    pub trace: Width,
    /// The command line, for the header.
    pub command: Vec<u8>,
}

impl Options {
    /// Options from the text that `trcstart` takes: flags of `trace`, separated by blanks, where quotes keep blanks and a
    /// backslash keeps the next character. The session runs in the background, with `-a` or without.
    ///
    /// ```
    /// use tfbc_recorder::options::{Hooks, Options};
    /// let options = Options::parse("-ad -j 010 -m 'a message'")?;
    /// assert!(options.background && options.off && options.message == Some(b"a message".to_vec()));
    /// assert_eq!(options.hooks, Hooks::Only(vec![0x0100]));
    /// assert_eq!(Options::parse("-j xyz").unwrap_err().number, 13);
    /// # Ok::<(), tfbc_recorder::flags::Notice>(())
    /// ```
    ///
    /// # Errors
    /// The first rule that the flags break.
    pub fn parse(text: &str) -> Result<Self, Notice> {
        Self::parse_with(text, |_| {})
    }

    /// The same, with each warning given to `warn`.
    ///
    /// # Errors
    /// The first rule that the flags break.
    pub fn parse_with(text: &str, warn: impl FnMut(&Notice)) -> Result<Self, Notice> {
        let mut flags = Flags::parse(crate::flags::words(text)?)?;
        flags.background = true;
        if flags.shows_sizes || flags.program.is_some() {
            return Err(Notice::usage("-S, -x and -X are for the command `trace` alone"));
        }
        let (options, warnings) = flags.options()?;
        warnings.iter().for_each(warn);
        Ok(options)
    }
}

impl Default for Options {
    /// A 64-bit trace of channel 0 with `trace`'s default sizes: 256 KiB a buffer, 2.5 MiB the log.
    fn default() -> Self {
        Options {
            background: false,
            off: false,
            mode: Mode::default(),
            generic: false,
            headless: false,
            hooks: Hooks::default(),
            message: None,
            symbols: false,
            output: Output::default(),
            keeps_old: false,
            cpu_ids: false,
            cpu_logs: None,
            chosen: None,
            stops_when_full: false,
            log_size: 5 << 19,
            buffer_size: 256 << 10,
            trace: Width::W64,
            command: b"trace".to_vec(),
        }
    }
}
