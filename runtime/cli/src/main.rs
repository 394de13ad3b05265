//! The commands: `tfbc`, and AIX's and QNX's commands by the name that the program is called by.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    tfbc_cli::by_name(std::env::args_os())
}
