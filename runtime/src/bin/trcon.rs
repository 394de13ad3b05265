//! The command `trcon`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    tfbc::cli::trcon(std::env::args_os())
}
