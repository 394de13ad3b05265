//! Context of an event: process, thread, CPU and trace properties that templates can print.

use std::collections::BTreeMap;

/// Paths of executables by process id.
pub type ProcessNames = BTreeMap<u64, Vec<u8>>;

/// Context of an event that templates can print. Unknown values are zero or empty.
#[derive(Debug, Clone, Copy)]
pub struct Context<'c> {
    /// `$TRACEENV`: 32 or 64.
    pub trace_env: u8,
    /// `$TOTALCPUS`
    pub total_cpus: u32,
    /// `$TRACEDCPUS`
    pub traced_cpus: u32,
    /// `$REPORTEDCPUS`
    pub reported_cpus: u32,
    /// `$LARGEDATATYPES`: 0 or 1.
    pub large_data_types: u8,
    /// `$BUFF`: 1 kernel heap, 2 separate segment.
    pub buffering: u8,
    /// `$IPADDR`
    pub ip_address: u32,
    /// `$PID`
    pub pid: u64,
    /// `$TID`
    pub tid: u64,
    /// `$CPUID`
    pub cpu: u64,
    /// `$PRI`
    pub priority: u64,
    /// `$SVC`
    pub svc: &'c [u8],
    /// `$EXECPATH`
    pub exec_path: &'c [u8],
    /// `$LOGFILE`: name of the log, as the report prints it.
    pub log_file: &'c [u8],
    /// Paths for the `P` code.
    pub processes: &'c ProcessNames,
}

/// Empty map for [`Context::EMPTY`].
static NO_PROCESSES: ProcessNames = BTreeMap::new();

impl Context<'static> {
    /// Context without any known value.
    pub const EMPTY: Context<'static> = Context {
        trace_env: 0,
        total_cpus: 0,
        traced_cpus: 0,
        reported_cpus: 0,
        large_data_types: 0,
        buffering: 0,
        ip_address: 0,
        pid: 0,
        tid: 0,
        cpu: 0,
        priority: 0,
        svc: b"",
        exec_path: b"",
        log_file: b"",
        processes: &NO_PROCESSES,
    };
}
