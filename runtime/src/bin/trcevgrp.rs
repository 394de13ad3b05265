//! The command `trcevgrp`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    tfbc::cli::trcevgrp(std::env::args_os())
}
