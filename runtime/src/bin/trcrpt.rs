//! The command `trcrpt`.

fn main() -> std::process::ExitCode {
    tfbc::cli::trcrpt(std::env::args_os())
}
