//! Predefined macros of trcfmt.

use crate::ir::{Value, ValueFormat};
use tfbc_grammar::trcfmt::ast::Size;
use tfbc_vm::{EnvText, EnvValue};

/// Meaning of a predefined name.
#[derive(Debug, Clone)]
pub(crate) enum Predefined {
    /// Number, and its output format without a cast.
    Number(Value, ValueFormat),
    Text(EnvText),
    /// `$DATAPOINTER`; can be assigned.
    Pointer,
    /// `$BASEPOINTER`; can be assigned.
    Base,
    /// `$DEFAULT`: inserts template 008.
    Default,
    Stop,
    Break,
    Skip,
    Error,
}

/// Predefined names of more than two letters.
pub(crate) const NAMES: &[&str] = &[
    "HOOKENV",
    "WORDSIZE",
    "GENERIC",
    "IPADDR",
    "TRACEENV",
    "RELLINENO",
    "TOTALCPUS",
    "TRACEDCPUS",
    "REPORTEDCPUS",
    "LARGEDATATYPES",
    "BUFF",
    "PID",
    "TID",
    "CPUID",
    "PRI",
    "LOGIDX",
    "LOGIDX0",
    "DATAPOINTER",
    "BASEPOINTER",
    "SVC",
    "EXECPATH",
    "LOGFILE",
    "TRACEID",
    "DEFAULT",
    "STOP",
    "BREAK",
    "SKIP",
    "ERROR",
];

/// Looks up a predefined name.
pub(crate) fn predefined(name: &[u8]) -> Option<Predefined> {
    let env = |value| Some(Predefined::Number(Value::Env(value), ValueFormat::Dec));
    match name {
        b"HOOKENV" => Some(Predefined::Number(Value::HookEnv, ValueFormat::Dec)),
        b"WORDSIZE" => Some(Predefined::Number(Value::WordSize, ValueFormat::Dec)),
        b"GENERIC" => Some(Predefined::Number(Value::Generic, ValueFormat::Dec)),
        [letter @ (b'D' | b'L'), digit @ b'1'..=b'5'] => {
            let size = if *letter == b'D' { Size::Word } else { Size::Bytes(8) };
            Some(Predefined::Number(Value::DataWord(digit - b'0'), ValueFormat::Hex(size)))
        }
        b"HD" => Some(Predefined::Number(Value::Env(EnvValue::HookData), ValueFormat::HexFit)),
        b"IPADDR" => Some(Predefined::Number(Value::Env(EnvValue::IpAddress), ValueFormat::Hex(Size::Bytes(4)))),
        b"HL" => env(EnvValue::HookLen),
        b"TRACEENV" => env(EnvValue::TraceEnv),
        b"RELLINENO" => env(EnvValue::RelLine),
        b"TOTALCPUS" => env(EnvValue::TotalCpus),
        b"TRACEDCPUS" => env(EnvValue::TracedCpus),
        b"REPORTEDCPUS" => env(EnvValue::ReportedCpus),
        b"LARGEDATATYPES" => env(EnvValue::LargeDataTypes),
        b"BUFF" => env(EnvValue::Buffering),
        b"PID" => env(EnvValue::Pid),
        b"TID" => env(EnvValue::Tid),
        b"CPUID" => env(EnvValue::Cpu),
        b"PRI" => env(EnvValue::Priority),
        b"LOGIDX" => env(EnvValue::LogIndex),
        b"LOGIDX0" => env(EnvValue::LogIndex0),
        b"DATAPOINTER" => Some(Predefined::Pointer),
        b"BASEPOINTER" => Some(Predefined::Base),
        b"SVC" => Some(Predefined::Text(EnvText::Svc)),
        b"EXECPATH" => Some(Predefined::Text(EnvText::ExecPath)),
        b"LOGFILE" => Some(Predefined::Text(EnvText::LogFile)),
        b"TRACEID" => Some(Predefined::Text(EnvText::TraceId)),
        b"DEFAULT" => Some(Predefined::Default),
        b"STOP" => Some(Predefined::Stop),
        b"BREAK" => Some(Predefined::Break),
        b"SKIP" => Some(Predefined::Skip),
        b"ERROR" => Some(Predefined::Error),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_list_is_predefined() {
        for name in NAMES {
            assert!(predefined(name.as_bytes()).is_some(), "{name}");
        }
    }
}
