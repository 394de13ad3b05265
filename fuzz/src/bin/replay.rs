//! `replay TARGET FILE…`: runs a target on files, as libFuzzer does.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let target = args.next().and_then(|name| tfbc_fuzz::target(&name.to_string_lossy()));
    let Some(target) = target else {
        let names = tfbc_fuzz::TARGETS.map(|target| target.name).join(", ");
        eprintln!("usage: replay TARGET FILE...; targets: {names}");
        return ExitCode::FAILURE;
    };
    for path in args {
        match std::fs::read(&path) {
            Ok(bytes) => {
                eprintln!("{}: {}", target.name, path.display());
                (target.body)(&bytes);
            }
            Err(error) => {
                eprintln!("{}: {error}", path.display());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
