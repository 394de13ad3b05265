//! `tfbc event`: one event, given in hex.

use super::console::{Console, Ending, Failure, Message};
use super::formats::{self, LanguageArgs};
use super::limits::LimitArgs;
use crate::ids::display_id;
use crate::reader::kev::KevRecord;
use crate::records::{RecordIds, RecordPrinter};
use clap::{Args, ValueEnum};
use std::fmt::Write;
use std::path::PathBuf;
use tfbc_vm::{Context, Event, Job, Layout, Machine, Program, Space, Step, TextBuf, Timers, list_instr};

/// Flags of `tfbc event`.
#[derive(Debug, Clone, Args)]
pub struct EventArgs {
    /// Format file, source or blob; later ones win
    #[arg(short = 't', long = "formats", value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    /// AIX: width of the hook
    #[arg(long, value_name = "BITS", required_unless_present_any = ["dialect", "class"])]
    env: Option<HookWidth>,
    /// QNX: class of the record, a number or a name such as USER
    #[arg(long, value_name = "CLASS", conflicts_with = "env", requires = "id")]
    class: Option<String>,
    /// QNX: the event's number in its class, or its label
    #[arg(long, value_name = "EVENT", requires = "class")]
    id: Option<String>,
    /// QNX: the record is a combine
    #[arg(long, requires = "class")]
    wide: bool,
    /// QNX: the payload is big-endian
    #[arg(long, requires = "class")]
    big_endian: bool,
    /// Print each instruction before it runs, with its pc, the data pointer, the registers that it changed and the text
    #[arg(long)]
    trace: bool,
    #[command(flatten)]
    language: LanguageArgs,
    #[command(flatten)]
    limits: LimitArgs,
    /// AIX: the event's buffer in hex, hook word and data, as templates see it. QNX: the record's payload. Blanks do not
    /// count
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
        if let (Some(class), Some(id)) = (&self.class, &self.id) {
            return self.run_record(console, class, id);
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
        let ending = super::print(out, None)?.max(formats::loaded(&set));
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

impl EventArgs {
    /// Prints a record of QNX as a report's data column does.
    fn run_record(&self, console: &Console, class: &str, id: &str) -> Ending {
        let usage = |text: String| Failure::Say(Message::Usage, text);
        let (class, event) = record_id(class, id).map_err(usage)?;
        let bytes = parse_hex(&self.hex.concat())?;
        let set = formats::load(console, &self.formats, &self.language)?;
        let catalog = set.catalog().map_err(|error| formats::refusal(console, error, false))?;
        let record = KevRecord {
            number: 1,
            offset: 0,
            class,
            event,
            cpu: 0,
            wide: self.wide,
            stamp: 0,
            msb: None,
            bytes: &bytes,
        };
        let mut printer = RecordPrinter::new(&catalog, self.big_endian, None, self.limits.limits());
        let (mut out, mut text) = (Vec::new(), TextBuf::new());
        if self.trace {
            for entry in catalog.records(Space::Record, class, event) {
                let mut listing = Listing::new(catalog.record_program(entry));
                let mut shown = TextBuf::new();
                printer.one(entry, &record, &mut shown, &mut |step: Step<'_>| listing.step(&step));
                out.extend_from_slice(listing.text.as_bytes());
            }
        }
        let defined = printer.definitions(&record, &mut text);
        if !defined {
            printer.arguments(&record, &mut text);
        }
        out.extend_from_slice(text.as_bytes());
        out.push(b'\n');
        let ending = super::print(out, None)?.max(formats::loaded(&set));
        if !defined {
            console.note(format_args!("no definition applies to event {event} of class {class}"));
        }
        Ok(ending)
    }
}

/// A class and event by number, name or label.
fn record_id(class: &str, event: &str) -> Result<(u8, u16), String> {
    let mut ids = RecordIds::default();
    ids.add(&format!("{class}:{event}"), None)?;
    let mut found = ids.iter();
    match (found.next(), found.next()) {
        (Some((13, event)), None) => Ok((5, event)),
        (Some(id), None) => Ok(id),
        _ => Err(format!("`{event}` stands for several events of class {class}: give the number")),
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
