//! The command `trcrpt`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    tfbc::cli::trcrpt(std::env::args_os())
}
