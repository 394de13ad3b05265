//! The command `trcdead`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    tfbc::cli::trcdead(std::env::args_os())
}
