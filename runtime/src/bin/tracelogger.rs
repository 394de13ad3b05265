//! The command `tracelogger`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    tfbc::cli::tracelogger(std::env::args_os())
}
