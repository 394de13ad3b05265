//! The command `trace`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    tfbc::cli::trace(std::env::args_os())
}
