//! The command `trcoff`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    tfbc::cli::trcoff(std::env::args_os())
}
