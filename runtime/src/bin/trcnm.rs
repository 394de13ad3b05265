//! The command `trcnm`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    tfbc::cli::trcnm(std::env::args_os())
}
