//! The command `tfbc`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    tfbc::cli::tfbc(std::env::args_os())
}
