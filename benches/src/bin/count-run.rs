//! Formats a load some number of times, for a tool that counts instructions; see `benches/instructions.sh`.

use clap::{Parser, ValueEnum};
use tfbc_benches::{
    Engine, Load, NativeText, Pick, RecordLoad, Shape, UserEvent, assert_same_text, blob, definitions, run_native,
    templates,
};
use tfbc_vm::Event;

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
    /// The user event that the load of datakeys holds; without one, a mix of all.
    #[arg(long, value_parser = user_event)]
    event: Option<UserEvent>,
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
    /// QNX user events.
    Datakeys,
}

fn user_event(name: &str) -> Result<UserEvent, String> {
    let mut events = UserEvent::SHARES.into_iter().map(|(event, _)| event);
    events.find(|event| event.name() == name).ok_or_else(|| "no such event".to_owned())
}

fn main() {
    let cli = Cli::parse();
    let pick = match cli.load {
        LoadName::DiskRead => Pick::Only(Shape::DiskRead),
        LoadName::Ioctl => Pick::Only(Shape::Ioctl),
        LoadName::Wakeup => Pick::Only(Shape::Wakeup),
        LoadName::Dump => Pick::Only(Shape::Dump),
        LoadName::Mix => Pick::Mix(cli.templates),
        LoadName::Datakeys => {
            let load = RecordLoad::new(cli.event, cli.events);
            return run(&cli, &blob("load.xml", &definitions()), load.events(), NativeText::record);
        }
    };
    let load = Load::new(pick, cli.events);
    run(&cli, &blob("load.trcfmt", &templates(pick.n_templates())), load.events(), NativeText::event);
}

fn run<'e>(
    cli: &Cli,
    blob: &[u8],
    load: impl Iterator<Item = Event<'e>> + Clone,
    format: impl Fn(&mut NativeText, &Event<'e>) -> Option<()>,
) {
    let mut engine = if cli.who == Who::Checked { Engine::checked(blob) } else { Engine::new(blob) };
    let mut native = NativeText::new();
    assert_same_text(&mut engine, load.clone(), &format);
    let mut pass = || match cli.who {
        Who::Native => run_native(load.clone(), &mut native, &format),
        Who::Engine | Who::Checked => engine.run(load.clone()),
    };
    let n_bytes: usize = (0..cli.passes).map(|_| pass()).sum();
    println!("{n_bytes} bytes of text");
}
