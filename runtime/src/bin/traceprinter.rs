//! The command `traceprinter`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    tfbc::cli::traceprinter(std::env::args_os())
}
