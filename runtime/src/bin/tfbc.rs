//! The command `tfbc`.

fn main() -> std::process::ExitCode {
    tfbc::cli::tfbc(std::env::args_os())
}
