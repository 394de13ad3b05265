//! Creates an input and runs its operation once, for a tool that counts instructions; see `benches/doubling.sh`.
#![forbid(unsafe_code)]

use clap::Parser;
use std::process::ExitCode;
use tfbc_benches::shapes::{input_shape, input_shapes};

/// Run an operation on an input of some size.
#[derive(Debug, Parser)]
struct CountShapeArgs {
    /// Kind of input, such as `xml/enums`; without one, all are listed.
    shape: Option<String>,
    /// Approximate size in bytes.
    #[arg(default_value_t = 1 << 16)]
    size: usize,
    /// Write the input to standard output instead.
    #[arg(long)]
    write: bool,
}

fn main() -> ExitCode {
    let cli = CountShapeArgs::parse();
    let Some(name) = cli.shape else {
        input_shapes().iter().for_each(|shape| println!("{}", shape.name));
        return ExitCode::SUCCESS;
    };
    let Some(shape) = input_shape(&name) else {
        eprintln!("there is no kind {name}");
        return ExitCode::FAILURE;
    };
    let bytes = shape.make(cli.size);
    if cli.write {
        let written = std::io::Write::write_all(&mut std::io::stdout(), &bytes);
        return if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let n_bytes = bytes.len();
    let done = shape.run(bytes);
    if shape.should_be_sound(cli.size).is_some_and(|expected| expected != done.is_sound) {
        let outcome = if done.is_sound { "no error" } else { "an error" };
        eprintln!("{name} should not have {outcome} at {n_bytes} bytes");
        return ExitCode::FAILURE;
    }
    println!("{n_bytes} bytes, sum {}", done.sum);
    ExitCode::SUCCESS
}
