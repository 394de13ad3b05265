//! Events of a case file: an AIX hook or QNX record in hex, or part of a trace.

use super::codes::{BAD_VALUE, NO_EVENT};
use super::fields::{Diagnostics, Fields, Located, of_others, resolve_path};
use crate::times::seconds;
use std::path::{Path, PathBuf};
use tfbc::EventId;
use tfbc::internal::terminal::visible;
use tfbc_grammar::Span;
use tfbc_vm::ProcessNames;

/// One `[[event]]` table.
#[derive(Debug)]
pub struct CaseEvent {
    /// Name in reports and headings.
    pub name: String,
    /// Bytes or trace that the event comes from.
    pub source: EventSource,
    /// True if the snapshot has the event's fields after its text.
    pub fields: bool,
}

/// Source of an event's bytes.
#[derive(Debug)]
pub enum EventSource {
    /// AIX hook in hex.
    Hook(Box<HookEvent>),
    /// QNX record in hex.
    Record(RecordEvent),
    /// Part of a trace.
    Slice(Box<Slice>),
}

/// AIX hook.
#[derive(Debug, Default)]
pub struct HookEvent {
    /// Hook word and data, as a template sees them.
    pub bytes: Vec<u8>,
    /// True for a 64-bit hook.
    pub wide: bool,
    /// Time on the trace's clock, in nanoseconds.
    pub time_ns: u64,
    /// Offset of the event in the trace file.
    pub offset: u64,
    /// Blanks before each line of text.
    pub margin: u16,
    /// System, process, thread and CPU of the event.
    pub context: HookContext,
}

/// Owned form of [`tfbc_vm::Context`].
#[derive(Debug, Default)]
#[expect(missing_docs, reason = "the fields are those of `tfbc_vm::Context`")]
pub struct HookContext {
    pub trace_env: u8,
    pub total_cpus: u32,
    pub traced_cpus: u32,
    pub reported_cpus: u32,
    pub large_data_types: u8,
    pub buffering: u8,
    pub ip_address: u32,
    pub pid: u64,
    pub tid: u64,
    pub cpu: u64,
    pub priority: u64,
    pub svc: Vec<u8>,
    pub exec_path: Vec<u8>,
    pub log_file: Vec<u8>,
    pub processes: ProcessNames,
}

/// QNX record.
#[derive(Debug, Default)]
pub struct RecordEvent {
    /// Payload of the record.
    pub bytes: Vec<u8>,
    /// Class number; class 13 is stored as 5.
    pub class: u8,
    /// Event number in its class.
    pub event: u16,
    /// True for a combine record.
    pub wide: bool,
    /// True if its numbers are big-endian.
    pub big_endian: bool,
}

/// Part of a trace. Lists have the syntax of the flags of `tfbc report`.
#[derive(Debug, Default, Clone)]
#[expect(missing_docs, reason = "each is the flag of its name, or counts events")]
pub struct Slice {
    pub trace: PathBuf,
    pub only: Option<String>,
    pub except: Option<String>,
    pub pid: Option<String>,
    pub exec: Option<String>,
    pub tid: Option<String>,
    pub cpu: Option<String>,
    pub from_ns: Option<u64>,
    pub to_ns: Option<u64>,
    pub defined: bool,
    pub columns: Option<String>,
    pub timestamp: u64,
    pub skip: u64,
    pub first: Option<u64>,
}

/// Keys that are valid in a single event only, not for the whole file.
pub const OWN: &[&str] = &["name", "hex"];
/// Keys of events in hex.
const OF_HEX: &[&str] = &["fields"];
/// Keys that only hooks have.
const OF_HOOKS: &[&str] = &[
    "env",
    "trace-env",
    "time",
    "offset",
    "margin",
    "priority",
    "svc",
    "log-file",
    "total-cpus",
    "traced-cpus",
    "reported-cpus",
    "large-data-types",
    "buffering",
    "ip-address",
    "processes",
];
/// Keys of hooks that also filter the events of a trace.
const OF_PLACES: &[&str] = &["pid", "tid", "cpu", "exec"];
/// Keys that only records have.
const OF_RECORDS: &[&str] = &["class", "id", "wide", "big-endian"];
/// Keys that only parts of traces have.
const OF_SLICES: &[&str] =
    &["trace", "only", "except", "from", "to", "defined", "columns", "timestamp", "skip", "first"];
/// All keys of an event.
pub fn keys() -> Vec<&'static str> {
    [OWN, OF_HEX, OF_HOOKS, OF_PLACES, OF_RECORDS, OF_SLICES].concat()
}

/// Keys of one event, and defaults from the top of the file.
struct EventKeys<'f, 't> {
    own: &'f Fields<'t>,
    top: &'f Fields<'t>,
}

impl<'t> EventKeys<'_, 't> {
    /// Table that contains the key. The event's own table takes precedence.
    fn table(&self, name: &str) -> &Fields<'t> {
        if self.own.key(name).is_some() { self.own } else { self.top }
    }

    fn has(&self, name: &str) -> bool {
        self.table(name).key(name).is_some()
    }

    fn number(&self, name: &str, max: u64, found: &mut Diagnostics) -> u64 {
        self.table(name).number(name, max, found).unwrap_or(0)
    }

    fn flag(&self, name: &str, found: &mut Diagnostics) -> bool {
        self.table(name).flag(name, found).unwrap_or(false)
    }

    fn bytes(&self, name: &str, found: &mut Diagnostics) -> Vec<u8> {
        self.table(name).text(name, found).map_or_else(Vec::new, |text| text.value.as_bytes().to_vec())
    }

    fn word(&self, name: &str, found: &mut Diagnostics) -> Option<Located<&'t str>> {
        self.table(name).word(name, found)
    }

    fn list(&self, name: &str, found: &mut Diagnostics) -> Option<String> {
        self.word(name, found).map(|word| word.value.to_owned())
    }

    fn time_ns(&self, name: &str, found: &mut Diagnostics) -> Option<u64> {
        let word = self.word(name, found)?;
        let ns = seconds(word.value);
        if let Err(text) = &ns {
            self.own.refuse(&BAD_VALUE, word.span, format!("`{name}`: {text}"), found);
        }
        ns.ok()
    }
}

impl CaseEvent {
    /// Reads event `number`, counted from 1. `top` contains the defaults of the file.
    pub fn read(
        own: &Fields<'_>,
        top: &Fields<'_>,
        directory: &Path,
        number: usize,
        found: &mut Diagnostics,
    ) -> Option<Self> {
        let given = EventKeys { own, top };
        let name = own.text("name", found).map(|name| title(name.value));
        let source = match (own.key("hex"), own.key("trace")) {
            (Some(_), Some(trace)) => {
                let text = "an event has `hex` or `trace`, not both";
                own.refuse(&NO_EVENT, trace, text, found);
                return None;
            }
            (Some(_), None) => given.of_hex(found)?,
            (None, _) if given.has("trace") => given.slice(directory, found)?,
            _ => {
                // The author may have misspelled any of these, so all of them are suggested.
                let known = keys();
                if own.table.keys().all(|key| known.contains(&&**key.get_ref())) {
                    let text = "this event has neither `hex` nor `trace`";
                    own.refuse(&NO_EVENT, first_line(own.span), text, found);
                }
                return None;
            }
        };
        let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("event {number}"));
        let fields = given.flag("fields", found) && !matches!(source, EventSource::Slice(_));
        Some(CaseEvent { name, source, fields })
    }
}

impl EventKeys<'_, '_> {
    fn of_hex(&self, found: &mut Diagnostics) -> Option<EventSource> {
        let hex = self.own.text("hex", found)?;
        let bytes = match parse_hex(hex.value) {
            Ok(bytes) => bytes,
            Err((at, text)) => {
                // Skips the opening quote.
                let start = hex.span.start + 1 + at;
                let span = if at == 0 { hex.span } else { Span::new(start, start + 1) };
                self.own.refuse(&BAD_VALUE, span, text, found);
                return None;
            }
        };
        // A key that would be ignored is an error: its author expects an effect.
        of_others(self.own, OF_SLICES, "for parts of a trace, and this event is given in hex", found);
        if self.has("class") && self.own.key("env").is_none() {
            of_others(self.own, OF_HOOKS, "for AIX hooks, and this is a QNX record", found);
            of_others(self.own, OF_PLACES, "for AIX hooks, and this is a QNX record", found);
            return self.record(bytes, found).map(EventSource::Record);
        }
        of_others(self.own, OF_RECORDS, "for QNX records, and this is an AIX hook (no `class`)", found);
        self.hook(bytes, hex.span, found).map(|hook| EventSource::Hook(Box::new(hook)))
    }

    fn hook(&self, bytes: Vec<u8>, span: Span, found: &mut Diagnostics) -> Option<HookEvent> {
        let env = if self.has("env") { self.number("env", 64, found) } else { 64 };
        if !matches!(env, 32 | 64) {
            let fields = self.table("env");
            let text = format!("`env` is 32 or 64, found {env}");
            fields.refuse(&BAD_VALUE, fields.key("env").unwrap_or_default(), text, found);
            return None;
        }
        let word = env as usize / 8;
        if bytes.len() < word {
            let text = format!("{} bytes, expected at least the {word} of a hook word (`env = {env}`)", bytes.len());
            self.own.refuse(&BAD_VALUE, span, text, found);
            return None;
        }
        let trace_env = if self.has("trace-env") { self.number("trace-env", 64, found) } else { env };
        Some(HookEvent {
            bytes,
            wide: env == 64,
            time_ns: self.time_ns("time", found).unwrap_or(0),
            offset: self.number("offset", u64::MAX, found),
            margin: self.number("margin", 200, found) as u16,
            context: HookContext {
                trace_env: trace_env as u8,
                total_cpus: self.number("total-cpus", u32::MAX.into(), found) as u32,
                traced_cpus: self.number("traced-cpus", u32::MAX.into(), found) as u32,
                reported_cpus: self.number("reported-cpus", u32::MAX.into(), found) as u32,
                large_data_types: self.number("large-data-types", 1, found) as u8,
                buffering: self.number("buffering", 2, found) as u8,
                ip_address: self.number("ip-address", u32::MAX.into(), found) as u32,
                pid: self.number("pid", u64::MAX, found),
                tid: self.number("tid", u64::MAX, found),
                cpu: self.number("cpu", u64::MAX, found),
                priority: self.number("priority", u64::MAX, found),
                svc: self.bytes("svc", found),
                exec_path: self.bytes("exec", found),
                log_file: self.bytes("log-file", found),
                processes: self.processes(found),
            },
        })
    }

    fn processes(&self, found: &mut Diagnostics) -> ProcessNames {
        let mut names = ProcessNames::new();
        let Some(table) = self.table("processes").table("processes", found) else { return names };
        for key in table.table.keys() {
            let name: &str = key.get_ref();
            match (name.parse(), table.text(name, found)) {
                (Ok(pid), Some(path)) => drop(names.insert(pid, path.value.as_bytes().to_vec())),
                (Err(_), _) => {
                    let text = format!("`{name}` is not a process id: expected a number");
                    table.refuse(&BAD_VALUE, super::fields::span_of(key.span()), text, found);
                }
                _ => {}
            }
        }
        names
    }

    fn record(&self, bytes: Vec<u8>, found: &mut Diagnostics) -> Option<RecordEvent> {
        let class = self.word("class", found)?;
        let Some(id) = self.word("id", found) else {
            let text = "a QNX record has `class` and `id`, and this one has no `id`";
            self.own.refuse(&BAD_VALUE, class.span, text, found);
            return None;
        };
        match EventId::of_record(class.value, id.value) {
            Ok((class, event)) => {
                let (wide, big_endian) = (self.flag("wide", found), self.flag("big-endian", found));
                Some(RecordEvent { bytes, class, event, wide, big_endian })
            }
            Err(text) => {
                self.own.refuse(&BAD_VALUE, id.span, text, found);
                None
            }
        }
    }

    fn slice(&self, directory: &Path, found: &mut Diagnostics) -> Option<EventSource> {
        of_others(self.own, OF_HOOKS, "for hooks given in hex, and this event is a part of a trace", found);
        of_others(self.own, OF_RECORDS, "for records given in hex, and this event is a part of a trace", found);
        let columns = "for events given in hex; `columns = \"id,fields\"` shows the fields of an AIX trace";
        of_others(self.own, OF_HEX, columns, found);
        let trace = self.table("trace").text("trace", found)?;
        Some(EventSource::Slice(Box::new(Slice {
            trace: resolve_path(directory, trace.value),
            only: self.list("only", found),
            except: self.list("except", found),
            pid: self.list("pid", found),
            exec: self.list("exec", found),
            tid: self.list("tid", found),
            cpu: self.list("cpu", found),
            from_ns: self.time_ns("from", found),
            to_ns: self.time_ns("to", found),
            defined: self.flag("defined", found),
            columns: self.list("columns", found),
            timestamp: self.number("timestamp", 3, found),
            skip: self.number("skip", u64::MAX, found),
            first: self.has("first").then(|| self.number("first", u64::MAX, found)),
        })))
    }
}

/// Name as a heading shows it: on one line and trimmed.
fn title(name: &str) -> String {
    visible(&name.lines().collect::<Vec<_>>().join(" ")).trim().to_owned()
}

/// First line of a table's span, which may otherwise cover everything that follows.
fn first_line(span: Span) -> Span {
    Span::new(span.start, span.end.min(span.start.saturating_add(9)))
}

/// Parses bytes in hex. Blanks and a leading `0x` are ignored.
///
/// # Errors
/// The offset of the problem in the text (0 for the whole text), and its description.
pub fn parse_hex(text: &str) -> Result<Vec<u8>, (u32, String)> {
    let start = if text.starts_with("0x") { 2 } else { 0 };
    let mut digits = Vec::with_capacity(text.len());
    for (at, char) in text.char_indices().skip(start).filter(|(_, char)| !char.is_whitespace()) {
        match char.to_digit(16) {
            Some(digit) => digits.push(digit as u8),
            None => return Err((at as u32, format!("`{char}` is not a hex digit"))),
        }
    }
    if !digits.len().is_multiple_of(2) {
        return Err((0, format!("{} hex digits, expected an even number", digits.len())));
    }
    Ok(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
