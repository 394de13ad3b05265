//! The command `traceprinter`.

fn main() -> std::process::ExitCode {
    tfbc::cli::traceprinter(std::env::args_os())
}
