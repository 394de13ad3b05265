//! Settings of `trace` and `trcstart`.

use crate::record::Width;
use std::path::PathBuf;

/// Use of a session's buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Two buffers in turn: one is written to the log while the other fills. The log wraps when it is full.
    #[default]
    Alternate,
    /// `-l`: one buffer whose oldest events are overwritten, written to the log at the stop.
    Circular,
    /// `-f`: one buffer, written to the log at the stop; events after it is full are lost.
    Single,
}

/// Destination of the events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Output {
    /// Default log.
    #[default]
    Default,
    /// Log with this name.
    File(PathBuf),
    /// A stream to standard output (`-o -`).
    Stdout,
}

/// Filter of hook ids.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Hooks {
    /// All ids.
    #[default]
    All,
    /// Only these canonical 16-bit ids (`-j`, `-J`).
    Only(Vec<u16>),
    /// All ids except these (`-k`, `-K`).
    Except(Vec<u16>),
}

impl Hooks {
    /// True if events of a canonical id are recorded. The trace's own events, 001 to 00B, always are.
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

/// Filter of threads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chosen {
    /// `-A`: the threads that these processes have at the start.
    pub processes: Vec<u32>,
    /// `-t`: these threads.
    pub threads: Vec<u32>,
    /// `-P`: which later threads are added.
    pub propagation: Propagation,
}

/// Later threads and processes to record if selected ones start them (`-P`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Propagation {
    /// `n`: no later threads or processes.
    #[default]
    None,
    /// `t`: later threads of the same processes.
    Threads,
    /// `p`: those, and child processes.
    Processes,
}

/// CPUs with separate log files (`-C`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CpuLogs {
    /// All CPUs of the machine.
    All,
    /// Only these; events of other CPUs are not written.
    Only(Vec<u16>),
}

/// Flags of `trace`, which `trcstart` also takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceOptions {
    /// `-a`: in the background, without a prompt.
    pub background: bool,
    /// `-d`: start with collection off.
    pub off: bool,
    /// `-f`, `-l` or neither.
    pub mode: Mode,
    /// `-g`: use a free channel from 1 to 7 instead of channel 0.
    pub generic: bool,
    /// `-h`: no date, system and message events.
    pub headless: bool,
    /// `-j`, `-J`, `-k`, `-K`.
    pub hooks: Hooks,
    /// `-m`: text for the header.
    pub message: Option<Vec<u8>>,
    /// `-n`: store names and addresses of the traced programs' symbols in the log.
    pub symbols: bool,
    /// `-o`.
    pub output: Output,
    /// `-c`: keep an old log of the same name as `NAME.old`.
    pub keeps_old: bool,
    /// `-p`: each event contains its CPU.
    pub cpu_ids: bool,
    /// `-C`: one log per CPU, and a base file that names them.
    pub cpu_logs: Option<CpuLogs>,
    /// `-A`, `-t`, `-P`; `None` for all threads.
    pub chosen: Option<Chosen>,
    /// `-s`: stop when the log is full instead of wrapping.
    pub stops_when_full: bool,
    /// `-L`: size of the log in bytes.
    pub log_size: u64,
    /// `-T`: size of a buffer in bytes.
    pub buffer_size: u64,
    /// Kernel width of the log: it determines the widths of thread ids and time stamps.
    pub trace: Width,
    /// Command line, for the header.
    pub command: Vec<u8>,
}

impl Default for TraceOptions {
    /// A 64-bit trace of channel 0 with the default sizes of `trace`: 256 KiB per buffer, 2.5 MiB for the log.
    fn default() -> Self {
        TraceOptions {
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
