//! Formats a load some number of times, for a tool that counts instructions; see `benches/instructions.sh`.

use clap::{Parser, ValueEnum};
use tfbc_benches::{Engine, Load, NativeText, Pick, Shape, assert_same_text, blob, run_native, templates};

/// Format one benchmark load again and again.
#[derive(Debug, Parser)]
struct Cli {
    /// Who formats.
    #[arg(value_enum)]
    who: Who,
    /// How many times the load is formatted; 0 prepares only.
    passes: usize,
    /// What the load holds.
    #[arg(long, value_enum, default_value = "mix")]
    load: LoadName,
    /// How many templates a mix is spread over.
    #[arg(long, default_value_t = 200)]
    templates: usize,
    /// Events of the load.
    #[arg(long, default_value_t = 2000)]
    events: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Who {
    /// The machine.
    Engine,
    /// The machine's checked twin.
    Checked,
    /// The hand-written formatter.
    Native,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LoadName {
    DiskRead,
    Ioctl,
    Wakeup,
    Dump,
    Mix,
}

impl Cli {
    fn pick(&self) -> Pick {
        match self.load {
            LoadName::DiskRead => Pick::Only(Shape::DiskRead),
            LoadName::Ioctl => Pick::Only(Shape::Ioctl),
            LoadName::Wakeup => Pick::Only(Shape::Wakeup),
            LoadName::Dump => Pick::Only(Shape::Dump),
            LoadName::Mix => Pick::Mix(self.templates),
        }
    }
}

fn main() {
    let cli = Cli::parse();
    let load = Load::new(cli.pick(), cli.events);
    let blob = blob(&templates(cli.pick().n_templates()));
    let mut engine = if cli.who == Who::Checked { Engine::checked(&blob) } else { Engine::new(&blob) };
    let mut native = NativeText::new();
    assert_same_text(&mut engine, &load);
    let mut pass = || match cli.who {
        Who::Native => run_native(&load, &mut native),
        Who::Engine | Who::Checked => engine.run(&load),
    };
    let n_bytes: usize = (0..cli.passes).map(|_| pass()).sum();
    println!("{n_bytes} bytes of text");
}
