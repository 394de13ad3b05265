//! Runs one implementation of a case several times, for a tool that counts instructions; see `benches/gate.sh`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use tfbc_benches::cases::{self, Side};

/// Run one implementation of a case.
#[derive(Debug, Parser)]
struct CountRunArgs {
    /// Case, such as `run/mix200`; without one, all are listed.
    case: Option<String>,
    /// Implementation.
    #[arg(value_enum, default_value = "engine")]
    who: Implementation,
    /// Number of passes; 0 only prepares.
    #[arg(default_value_t = 1)]
    passes: usize,
    /// Number of events in the load.
    #[arg(long, default_value_t = 2000)]
    events: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Implementation {
    /// The project.
    Engine,
    /// The project, with lookahead.
    Ahead,
    /// The project, with the loop for all routines.
    Loop,
    /// The checked interpreter.
    Checked,
    /// Hand-written code.
    Native,
    /// The standard library.
    Plain,
}

fn main() -> ExitCode {
    let cli = CountRunArgs::parse();
    let Some(name) = cli.case else {
        cases::names().iter().for_each(|name| println!("{name}"));
        return ExitCode::SUCCESS;
    };
    let Some(measure) = cases::find(&name) else {
        eprintln!("there is no case {name}");
        return ExitCode::FAILURE;
    };
    let side = match cli.who {
        Implementation::Engine => Side::Engine,
        Implementation::Ahead => Side::Ahead,
        Implementation::Loop => Side::Loop,
        Implementation::Checked => Side::Checked,
        Implementation::Native => Side::Native,
        Implementation::Plain => Side::Plain,
    };
    let mut case = measure.case(cli.events);
    // This uncounted pass allocates the text buffers.
    if case.pass(side).is_none() {
        eprintln!("{name} has no such side");
        return ExitCode::FAILURE;
    }
    let sum: usize = (0..cli.passes).filter_map(|_| case.measured_pass(side)).fold(0, usize::wrapping_add);
    println!("{} units a pass, sum {sum}", case.units);
    ExitCode::SUCCESS
}
