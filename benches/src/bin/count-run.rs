//! Does one side of a case some number of times, for a tool that counts instructions; see `benches/gate.sh`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use tfbc_benches::cases::{self, Side};

/// Run one side of a case again and again.
#[derive(Debug, Parser)]
struct Cli {
    /// The case, such as `run/mix200`; without one, all are listed.
    case: Option<String>,
    /// Who does it.
    #[arg(value_enum, default_value = "engine")]
    who: Who,
    /// How many times; 0 prepares only.
    #[arg(default_value_t = 1)]
    passes: usize,
    /// Events of the load.
    #[arg(long, default_value_t = 2000)]
    events: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Who {
    /// The project.
    Engine,
    /// The same, looking ahead.
    Ahead,
    /// The machine's checked twin.
    Checked,
    /// Code written by hand.
    Native,
    /// The standard library.
    Plain,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let Some(name) = cli.case else {
        cases::names().iter().for_each(|name| println!("{name}"));
        return ExitCode::SUCCESS;
    };
    let Some(measure) = cases::find(&name) else {
        eprintln!("there is no case {name}");
        return ExitCode::FAILURE;
    };
    let side = match cli.who {
        Who::Engine => Side::Engine,
        Who::Ahead => Side::Ahead,
        Who::Checked => Side::Checked,
        Who::Native => Side::Native,
        Who::Plain => Side::Plain,
    };
    let mut case = measure.case(cli.events);
    // This pass makes room for text; those that are counted do not.
    if case.pass(side).is_none() {
        eprintln!("{name} has no such side");
        return ExitCode::FAILURE;
    }
    let sum: usize = (0..cli.passes).filter_map(|_| case.measured_pass(side)).fold(0, usize::wrapping_add);
    println!("{} units a pass, sum {sum}", case.units);
    ExitCode::SUCCESS
}
