//! The command `trcupdate`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    tfbc::cli::trcupdate(std::env::args_os())
}
