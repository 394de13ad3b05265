//! The command `trcstop`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    tfbc::cli::trcstop(std::env::args_os())
}
