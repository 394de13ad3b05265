//! `tfbc event`: formats one event given in hex.

use super::console::{CommandResult, Console, Failure, Message};
use super::formats::{self, LanguageArgs};
use super::limits::LimitArgs;
use super::terminal::visible;
use clap::{Args, ValueEnum};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tfbc::{EventId, Formats, System};
use tfbc_authoring::cases::ProgramObserver;
use tfbc_authoring::record::GivenRecord;
use tfbc_vm::{
    Context, Event, Job, Layout, Machine, Observer, Program, Routine, Space, Step, TextBuf, Timers, list_instr,
};

/// Flags of `tfbc event`.
#[derive(Debug, Clone, Args)]
pub struct EventArgs {
    /// Format file, source or blob; later ones win. `default` is the built-in file
    #[arg(short = 't', long = "formats", value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    /// AIX: width of the hook
    #[arg(long, value_name = "BITS")]
    env: Option<HookWidth>,
    #[command(flatten)]
    record: RecordArgs,
    /// Print each executed instruction: its number, its position in the format file, the data pointer, the changed
    /// registers, and the printed text
    #[arg(long)]
    trace: bool,
    #[command(flatten)]
    language: LanguageArgs,
    #[command(flatten)]
    limits: LimitArgs,
    /// Event in hex. AIX: hook word and data, as templates see them. QNX: payload of the record. Blanks are ignored
    #[arg(value_name = "HEX", required_unless_present = "dialect")]
    hex: Vec<String>,
}

/// Identity of the QNX record whose payload is given in hex.
#[derive(Debug, Clone, Args)]
pub(super) struct RecordArgs {
    /// QNX: class of the record, as a number or a name such as USER
    #[arg(long, value_name = "CLASS", conflicts_with = "env")]
    pub class: Option<String>,
    /// QNX: event number in its class, or its label
    #[arg(long, value_name = "EVENT", conflicts_with = "env")]
    pub id: Option<String>,
    /// QNX: the record is a combine record
    #[arg(long, requires = "class", conflicts_with = "env")]
    pub wide: bool,
    /// QNX: the payload is big-endian
    #[arg(long, requires = "class", conflicts_with = "env")]
    pub big_endian: bool,
}

impl RecordArgs {
    /// Class and event as given; `None` if both are missing.
    ///
    /// # Errors
    /// Only one of them is given.
    pub fn ids(&self) -> Result<Option<(&str, &str)>, Failure> {
        let usage = |text: String| Err(Failure::Error(Message::Usage, text));
        match (self.class.as_deref(), self.id.as_deref()) {
            (Some(class), Some(id)) => Ok(Some((class, id))),
            (None, None) => Ok(None),
            (Some(class), None) => usage(format!("--class {class} needs the number of an event in its class: --id N")),
            (None, Some(id)) => usage(format!(
                "--id {id} needs the class of the event, by number or name, such as `--class USER --id {id}`"
            )),
        }
    }

    /// Record of an event with this payload.
    pub fn record<'b>(&self, class: u8, event: u16, bytes: &'b [u8], limits: LimitArgs) -> GivenRecord<'b> {
        let (wide, big_endian) = (self.wide, self.big_endian);
        let (limits, max_work) = (limits.limits(), limits.max_work());
        GivenRecord { class, event, wide, big_endian, bytes, limits, max_work }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum HookWidth {
    /// 32-bit hook
    #[value(name = "32")]
    Bits32,
    /// 64-bit hook
    #[value(name = "64")]
    Bits64,
}

impl HookWidth {
    /// True for a 64-bit hook.
    pub fn is_wide(self) -> bool {
        self == HookWidth::Bits64
    }
}

impl EventArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        if self.language.asks_for_help() {
            return super::print(console, formats::dialect_help(), None);
        }
        if let Some((class, id)) = self.record.ids()? {
            return self.run_record(console, class, id);
        }
        let Some(env) = self.env else {
            let text = "which event? Give --env 32 or --env 64 for an AIX hook, --class and --id for a QNX event";
            return Err(Failure::Error(Message::Usage, String::from(text)));
        };
        let wide = env.is_wide();
        let trace_env = if wide { 64 } else { 32 };
        let bytes = parse_event(&self.hex, wide)?;
        // The event is parsed before the files are compiled: a wrong digit is reported at once.
        let set = formats::load(console, &self.formats, &self.language)?;
        let catalog = set.catalog();
        let event = Event { bytes: &bytes, wide, record: None, time_ns: 0, offset: 0 };
        // A stanza cannot format a QNX event, and a definition cannot format an AIX event. The user probably gave the
        // wrong file.
        formats::warn_of_others(console, &set.files(), &[System::Aix], Some("the event"));
        warn_of_unknown(console, &set, &self.formats, &event);
        let entry = catalog.lookup(event.hook_id()).ok_or_else(|| no_stanza(event.hook_id()))?;
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
        let mut machine = Machine::new(self.limits.of_one(bytes.len()));
        let outcome = if self.trace {
            let mut listing = String::new();
            let outcome = machine.run_observed(program, entry.hook, job, &mut Listing::new(program, &mut listing));
            out.extend_from_slice(listing.as_bytes());
            outcome
        } else {
            machine.run(program, entry.hook, job)
        };
        out.extend_from_slice(text.as_bytes());
        let ending = super::print(console, out, None)?.max(formats::loaded(&set));
        if outcome.truncated {
            console.warning(Message::PastEnd, "the template reads past the end of the event");
        }
        if outcome.limited {
            console.warning(Message::Notable, "the event reached a limit (--max-turns, --max-steps, --max-text)");
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
    /// Prints a QNX record as the data column of a report.
    fn run_record(&self, console: &Console, class: &str, id: &str) -> CommandResult {
        let usage = |text: String| Failure::Error(Message::Usage, text);
        let (class, event) = EventId::of_record(class, id).map_err(usage)?;
        let bytes = parse_hex(&self.hex)?;
        let set = formats::load(console, &self.formats, &self.language)?;
        formats::warn_of_others(console, &set.files(), &[System::Qnx], Some("the event"));
        let record = self.record.record(class, event, &bytes, self.limits);
        let (mut out, mut text) = (Vec::new(), TextBuf::new());
        // Several datakeys may format one event. Each is listed by a run of its own, whose text is discarded, because
        // the data column below joins their texts.
        if self.trace {
            let mut listings = Listings(String::new());
            record.observe(&set, &mut listings);
            out.extend_from_slice(listings.0.as_bytes());
        }
        let defined = record.print(&set, &mut text);
        out.extend_from_slice(text.as_bytes());
        out.push(b'\n');
        let ending = super::print(console, out, None)?.max(formats::loaded(&set));
        if !defined {
            let text = format!("event {} has no definition that applies", EventId::Record(class, event).name());
            console.note(format!("{text}{}", known_events(&set)));
        }
        Ok(ending)
    }
}

/// Parses the bytes of an AIX event in hex.
pub(super) fn parse_event(hex: &[String], wide: bool) -> Result<Vec<u8>, Failure> {
    let word = if wide { 8 } else { 4 };
    let bytes = parse_hex(hex)?;
    if bytes.len() < word {
        let env = if wide { 64 } else { 32 };
        let text = format!("{} bytes, expected at least the {word} of a hook word (--env {env})", bytes.len());
        return Err(Failure::Error(Message::Usage, text));
    }
    Ok(bytes)
}

/// Warns if the stanza for undefined hooks formats an event, or none.
pub(super) fn warn_of_unknown(console: &Console, set: &Formats, formats: &[PathBuf], event: &Event<'_>) {
    let (catalog, id) = (set.catalog(), event.hook_id());
    if catalog.get(id).is_some() && id != 0 {
        return;
    }
    // With the other width, the same bytes are another hook id. A forgotten `--env` is the usual reason for an unknown
    // hook.
    let other = Event { wide: !event.wide, ..*event };
    let known = if catalog.defines(other.hook_id()) {
        let (env, id) = (if other.wide { 64 } else { 32 }, EventId::Hook(other.hook_id()).name());
        format!(": with --env {env} it is an event of hook {id}")
    } else if formats.is_empty() {
        String::from(" in the built-in format file: give yours with -t")
    } else {
        let own = catalog.hooks().into_iter().filter(|hook| !hook.builtin).map(|hook| EventId::Hook(hook.id).name());
        listed(own.collect())
    };
    console.warning(Message::Notable, format!("no stanza formats hook {}{known}", EventId::Hook(id).name()));
}

/// Failure for a hook that not even the stanza for undefined hooks formats.
pub(super) fn no_stanza(id: u16) -> Failure {
    Failure::Error(Message::Formats, format!("no stanza formats hook {}", EventId::Hook(id).name()))
}

/// QNX events defined by the format files, as part of a message.
pub(super) fn known_events(set: &Formats) -> String {
    let records = set.catalog().programs().iter().flat_map(|program| program.entries(Space::Record));
    let mut ids: Vec<u16> = records.map(|record| record.id).collect();
    ids.sort_unstable();
    ids.dedup();
    listed(ids.into_iter().map(|id| EventId::Record((id >> 10) as u8, id & 1023).name()).collect())
}

/// Maximum number of ids in a message.
const MAX_LISTED: usize = 8;

/// End of a message, such as `: there are 0A1, 0A2`. A long list refers to `tfbc list`.
fn listed(ids: Vec<String>) -> String {
    match ids.len() {
        0 => String::new(),
        1..=MAX_LISTED => format!(": the format files have {}", ids.join(", ")),
        n => format!(
            ": the format files have {} and {} more (`tfbc list`)",
            ids[..MAX_LISTED].join(", "),
            n - MAX_LISTED
        ),
    }
}

/// Listing of a run, one line per instruction: its index and source position, the byte of the data pointer, the
/// instruction, changed registers, and printed text.
struct Listing<'p, 'b, 't> {
    program: &'p Program<'b>,
    /// Names of the routines, and source positions of their instructions.
    routines: Vec<Routine<'p>>,
    regs: Vec<u64>,
    /// Text of the event before the current instruction.
    before: Vec<u8>,
    /// Current routine.
    routine: Option<u32>,
    text: &'t mut String,
}

/// Listings of all definitions of a record.
struct Listings(String);

impl ProgramObserver for Listings {
    fn observer(&mut self, program: &Program<'_>) -> impl Observer {
        Listing::new(program, &mut self.0)
    }
}

impl<'p, 'b, 't> Listing<'p, 'b, 't> {
    fn new(program: &'p Program<'b>, text: &'t mut String) -> Self {
        let routines = program.routines().collect();
        Self { program, routines, regs: Vec::new(), before: Vec::new(), routine: None, text }
    }

    /// Prints the name of the routine that continues, and its source.
    fn head(&mut self, step: &Step<'_>) {
        if self.routine.replace(step.routine) == Some(step.routine) {
            return;
        }
        let Some(routine) = self.routines.get(step.routine as usize) else { return };
        let source = routine.places.first().map_or(&b""[..], |place| self.program.source_name(place.source));
        let (name, source) = (String::from_utf8_lossy(routine.name), String::from_utf8_lossy(source));
        let _ = writeln!(self.text, "{} {}", visible(&name), visible(&source));
    }

    /// Prints what the last instruction changed, and ends its line.
    fn changes(&mut self, regs: &[u64], text: &[u8]) {
        let begun = self.text.trim_end().len();
        let mut changes = String::new();
        for (at, value) in regs.iter().enumerate() {
            if self.regs.get(at).copied().unwrap_or(0) != *value {
                let _ = write!(changes, " r{at}={value:#x}");
            }
        }
        // A template can also remove text: a pending blank, or the label of an empty switch.
        let same = self.before.iter().zip(text).take_while(|(old, new)| old == new).count();
        if same < self.before.len() {
            let _ = write!(changes, " -\"{}\"", self.before[same..].escape_ascii());
        }
        if same < text.len() {
            let _ = write!(changes, " +\"{}\"", text[same..].escape_ascii());
        }
        if changes.is_empty() {
            self.text.truncate(begun);
        }
        self.text.push_str(&changes);
        self.text.push('\n');
        self.before.truncate(same);
        self.before.extend_from_slice(&text[same..]);
    }
}

impl Observer for Listing<'_, '_, '_> {
    fn before(&mut self, step: Step<'_>) {
        if self.routine.is_some() {
            self.changes(step.regs, step.text);
        }
        self.regs.clear();
        self.regs.extend_from_slice(step.regs);
        self.head(&step);
        let place = self.routines.get(step.routine as usize).and_then(|routine| routine.places.get(step.pc as usize));
        let place = place.filter(|place| place.line > 0);
        let place = place.map_or(String::new(), |place| format!("{}:{}", place.line, place.column));
        let instr = list_instr(step.instr, Some(self.program));
        let _ = write!(self.text, "{:>6}  {place:<8} @{:<4} {instr:<44}", step.pc, step.pointer);
    }

    fn after(&mut self, text: &[u8]) {
        if self.routine.is_some() {
            // `changes` compares with the registers before the instruction; after the last one no state is passed, so
            // registers count as unchanged.
            let regs = self.regs.clone();
            self.changes(&regs, text.strip_suffix(b"\n").unwrap_or(text));
        }
    }
}

/// Bytes of words in hex. Each word may begin with `0x`.
pub(super) fn parse_hex(words: &[String]) -> Result<Vec<u8>, Failure> {
    let usage = |text: String| Failure::Error(Message::Usage, text);
    let mut digits = Vec::new();
    for word in words.iter().flat_map(|words| words.split_whitespace()) {
        let word_digits = word.strip_prefix("0x").unwrap_or(word);
        if let Some(other) = word_digits.chars().find(|char| !char.is_ascii_hexdigit()) {
            let hint = if Path::new(word).is_file() {
                "; it is a file: HEX is one event, a format file is given with -t, and `tfbc report` formats traces"
            } else {
                ""
            };
            return Err(usage(format!("`{other}` in `{word}` is not a hex digit{hint}")));
        }
        digits.extend(word_digits.chars().filter_map(|char| char.to_digit(16)));
    }
    if !digits.len().is_multiple_of(2) {
        return Err(usage(format!("{} hex digits, expected an even number: two for each byte", digits.len())));
    }
    Ok(digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}
