//! Entry point of all commands: `tfbc`, or the AIX or QNX command that the program is called as.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    tfbc_cli::by_name(std::env::args_os())
}
