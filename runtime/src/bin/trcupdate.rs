//! The command `trcupdate`.

fn main() -> std::process::ExitCode {
    tfbc::cli::trcupdate(std::env::args_os())
}
