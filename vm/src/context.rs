use std::collections::BTreeMap;

/// Executable paths by process id.
pub type ProcessNames = BTreeMap<u64, Vec<u8>>;

/// What a template may ask beyond the event's own bytes. Zero or empty where unknown.
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
    /// `$LOGFILE`: the log's name as the report shows it.
    pub log_file: &'c [u8],
    /// Paths for the `P` code.
    pub processes: &'c ProcessNames,
}

/// No process is known.
static NO_PROCESSES: ProcessNames = BTreeMap::new();

impl Context<'static> {
    /// Nothing is known.
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
