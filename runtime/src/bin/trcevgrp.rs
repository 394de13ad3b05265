//! The command `trcevgrp`.

fn main() -> std::process::ExitCode {
    tfbc::cli::trcevgrp(std::env::args_os())
}
