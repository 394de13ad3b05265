//! `tfbc event`: one event, given in hex.

use super::console::{Console, Ending, Failure, Message};
use super::formats::{self, LanguageArgs};
use super::limits::LimitArgs;
use crate::ids::display_id;
use clap::{Args, ValueEnum};
use std::fmt::Write;
use std::path::PathBuf;
use tfbc_vm::{Context, Event, Job, Layout, Machine, Program, Step, TextBuf, Timers, list_instr};

/// Flags of `tfbc event`.
#[derive(Debug, Clone, Args)]
pub struct EventArgs {
    /// Format file, source or blob; later ones win
    #[arg(short = 't', long = "formats", value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    /// Width of the hook
    #[arg(long, value_name = "BITS", required_unless_present = "dialect")]
    env: Option<HookWidth>,
    /// Print each instruction before it runs, with its pc, the data pointer, the registers that it changed and the text
    #[arg(long)]
    trace: bool,
    #[command(flatten)]
    language: LanguageArgs,
    #[command(flatten)]
    limits: LimitArgs,
    /// The event's buffer in hex: hook word and data, as templates see it. Blanks do not count
    #[arg(value_name = "HEX", required_unless_present = "dialect")]
    hex: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum HookWidth {
    /// 32-bit hook
    #[value(name = "32")]
    Bits32,
    /// 64-bit hook
    #[value(name = "64")]
    Bits64,
}

impl EventArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> Ending {
        if self.language.asks_for_help() {
            return super::print(formats::dialect_help(), None);
        }
        let wide = self.env == Some(HookWidth::Bits64);
        let (trace_env, word) = if wide { (64, 8) } else { (32, 4) };
        let bytes = parse_hex(&self.hex.concat())?;
        if bytes.len() < word {
            let text = format!("{} bytes, expected at least the {word} of a hook word", bytes.len());
            return Err(Failure::Say(Message::Usage, text));
        }
        let set = formats::load(console, &self.formats, &self.language)?;
        let catalog = set.catalog().map_err(|error| formats::refusal(console, error, false))?;
        let event = Event { bytes: &bytes, wide, record: None, time_ns: 0, offset: 0 };
        let Some(entry) = catalog.lookup(event.hook_id()) else {
            let text = format!("no stanza formats hook {}", display_id(event.hook_id()));
            return Err(Failure::Say(Message::Formats, text));
        };
        let program = catalog.program(entry);
        let mut out = Vec::new();
        let mut text = TextBuf::new();
        let mut timers = Timers::new();
        let job = Job {
            event: &event,
            context: &Context { trace_env, ..Context::EMPTY },
            timers: &mut timers,
            layout: Layout::default(),
            line: 0,
            out: &mut text,
        };
        let mut machine = Machine::new(self.limits.limits());
        let outcome = if self.trace {
            let mut listing = Listing::new(program);
            let outcome = machine.run_observed(program, entry.hook, job, &mut |step: Step<'_>| listing.step(&step));
            out.extend_from_slice(listing.text.as_bytes());
            outcome
        } else {
            machine.run(program, entry.hook, job)
        };
        out.extend_from_slice(text.as_bytes());
        let ending = super::print(out, None)?;
        if outcome.truncated {
            console.warning(Message::PastEnd, "the template reads past the end of the event");
        }
        if outcome.limited {
            console.warning(Message::Notable, "the event reached a limit");
        }
        if outcome.divided_by_zero {
            console.warning(Message::Notable, "the template divided by zero");
        }
        if outcome.skipped {
            console.note("the template drops the event ($SKIP)");
        }
        Ok(ending)
    }
}

/// The instructions of a run, a line each.
struct Listing<'p> {
    program: &'p Program<'p>,
    regs: Vec<u64>,
    text: String,
}

impl<'p> Listing<'p> {
    fn new(program: &'p Program<'p>) -> Self {
        Self { program, regs: Vec::new(), text: String::new() }
    }

    fn step(&mut self, step: &Step<'_>) {
        let instr = list_instr(step.instr, Some(self.program));
        let (routine, pc, pointer) = (step.routine, step.pc, step.pointer);
        let _ = write!(self.text, "{routine:>4}.{pc:<4} @{pointer:<4} {instr:<40}");
        for (at, value) in step.regs.iter().enumerate() {
            if self.regs.get(at).copied().unwrap_or(0) != *value {
                let _ = write!(self.text, " r{at}={value:#x}");
            }
        }
        self.regs.clear();
        self.regs.extend_from_slice(step.regs);
        let _ = writeln!(self.text, " \"{}\"", step.text.escape_ascii());
    }
}

fn parse_hex(text: &str) -> Result<Vec<u8>, Failure> {
    let usage = |text: String| Failure::Say(Message::Usage, text);
    let digits: Vec<char> = text.trim_start_matches("0x").chars().filter(|char| !char.is_whitespace()).collect();
    if let Some(other) = digits.iter().find(|char| !char.is_ascii_hexdigit()) {
        return Err(usage(format!("`{other}` is no hex digit")));
    }
    if !digits.len().is_multiple_of(2) {
        return Err(usage(format!("{} hex digits, expected an even number", digits.len())));
    }
    let value = |char: &char| char.to_digit(16).unwrap_or(0) as u8;
    Ok(digits.chunks(2).map(|pair| value(&pair[0]) << 4 | value(&pair[1])).collect())
}
