//! Corpus cases for trcfmt: format sources, events, and the expected result.
//!
//! A case begins with comments that say what it shows. Sections follow, each after a `==== ` line:
//!
//! - `trcfmt`: a format file. With several, later ones win. `trcfmt crlf` has the other line ends.
//! - `event 32` or `event 64`: one event in hex, mixed with quoted texts. Settings such as `time=105984` (ns), `tid=4`,
//!   `path:4711=/usr/bin/ksh` follow on the section's line.
//! - `expect`: the lines of the report, written by hand from the specification. With `marked`, every line ends with
//!   `|`, so that trailing blanks are visible. `truncated=2` and similar settings count the events that end this way;
//!   `stop` refers to the last event.
//! - `diagnostics`: all lines with errors, and at least these lines with warnings.

use std::path::Path;

use tfbc_grammar::{Diagnostic, Severity, Source, Sources};
use tfbc_vm::{Context, Event, Limits, ProcessNames};

use crate::reference::{Line, Printed, Reference, Timers, layout_without_columns};

/// One corpus file.
#[derive(Debug, Clone, Default)]
pub struct CorpusCase {
    /// File name without suffix.
    pub name: String,
    /// Comments at the start of the case.
    pub comment: String,
    /// The format files.
    pub files: Vec<Vec<u8>>,
    /// The events in order.
    pub events: Vec<CaseEvent>,
    /// Expected report.
    pub expect: Option<Expect>,
    /// Lines with expected diagnostics; `None` if the case does not say.
    pub diagnostics: Option<Vec<(Severity, Option<u32>)>>,
}

/// Expected report of a case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expect {
    /// The text of all events.
    pub text: Vec<u8>,
    /// Number of events by outcome.
    pub ends: Ends,
}

/// Number of events per outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ends {
    /// Events that read past their end.
    pub truncated: u32,
    /// Events that reached a limit.
    pub limited: u32,
    /// Skipped events.
    pub skipped: u32,
    /// Events with a division by zero.
    pub divided: u32,
    /// Events that ended the report.
    pub stop: u32,
}

/// One event of a case, with its context.
#[derive(Debug, Clone, Default)]
pub struct CaseEvent {
    bytes: Vec<u8>,
    wide: bool,
    time: u64,
    offset: u64,
    trace_env: u8,
    cpus: [u32; 3],
    large: u8,
    buffering: u8,
    address: u32,
    pid: u64,
    tid: u64,
    cpu: u64,
    priority: u64,
    svc: Vec<u8>,
    exec: Vec<u8>,
    paths: ProcessNames,
}

impl CaseEvent {
    /// The event.
    pub fn event(&self) -> Event<'_> {
        Event { bytes: &self.bytes, wide: self.wide, record: None, time_ns: self.time, offset: self.offset }
    }

    /// Context of the event.
    pub fn context(&self) -> Context<'_> {
        Context {
            trace_env: self.trace_env,
            total_cpus: self.cpus[0],
            traced_cpus: self.cpus[1],
            reported_cpus: self.cpus[2],
            large_data_types: self.large,
            buffering: self.buffering,
            ip_address: self.address,
            pid: self.pid,
            tid: self.tid,
            cpu: self.cpu,
            priority: self.priority,
            svc: &self.svc,
            exec_path: &self.exec,
            log_file: b"trace.raw",
            processes: &self.paths,
        }
    }

    /// 16-bit hook id.
    pub fn hook(&self) -> u16 {
        let at = if self.wide { 4 } else { 0 };
        let byte = |at: usize| u16::from(self.bytes.get(at).copied().unwrap_or(0));
        let id = byte(at) << 8 | byte(at + 1);
        if self.wide { id } else { id & 0xFFF0 }
    }

    fn new(options: &[&str], body: &str) -> Self {
        let mut event = CaseEvent { bytes: bytes(body), wide: options.contains(&"64"), ..CaseEvent::default() };
        event.trace_env = if event.wide { 64 } else { 32 };
        for (name, value) in options.iter().filter_map(|option| option.split_once('=')) {
            event.set(name, value);
        }
        event
    }

    fn set(&mut self, name: &str, value: &str) {
        match name {
            "time" => self.time = number(value),
            "offset" => self.offset = number(value),
            "env" => self.trace_env = number(value) as u8,
            "cpus" => {
                for (cpus, value) in self.cpus.iter_mut().zip(value.split('/')) {
                    *cpus = number(value) as u32;
                }
            }
            "large" => self.large = number(value) as u8,
            "buff" => self.buffering = number(value) as u8,
            "ip" => self.address = number(value) as u32,
            "pid" => self.pid = number(value),
            "tid" => self.tid = number(value),
            "cpu" => self.cpu = number(value),
            "pri" => self.priority = number(value),
            "svc" => self.svc = value.into(),
            "exec" => self.exec = value.into(),
            _ => match name.strip_prefix("path:") {
                Some(pid) => _ = self.paths.insert(number(pid), value.into()),
                None => panic!("unknown setting {name}"),
            },
        }
    }
}

impl CorpusCase {
    /// Reads a corpus file.
    ///
    /// # Panics
    /// If the file does not have the form described at the top of the module.
    pub fn read(path: &Path) -> CorpusCase {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut case = CorpusCase { name, ..CorpusCase::default() };
        let mut sections = text.split("==== ");
        let comment = sections.next().unwrap_or_default();
        assert!(comment.lines().all(|line| line.starts_with("# ")), "{}: no comment first", case.name);
        case.comment = comment.lines().map(|line| &line[2..]).collect::<Vec<_>>().join(" ");
        for section in sections {
            let (head, body) = section.split_once('\n').unwrap_or((section, ""));
            let options: Vec<&str> = head.split_whitespace().collect();
            match options[0] {
                "trcfmt" if options.contains(&"crlf") => case.files.push(body.replace('\n', "\r\n").into()),
                "trcfmt" => case.files.push(body.into()),
                "event" => case.events.push(CaseEvent::new(&options[1..], body)),
                "expect" => case.expect = Some(expect(&options[1..], body)),
                "diagnostics" => case.diagnostics = Some(body.lines().map(diagnostic).collect()),
                other => panic!("{}: unknown section {other}", case.name),
            }
        }
        case
    }

    /// The format files as sources.
    pub fn sources(&self) -> Sources {
        let mut sources = Sources::new();
        for (at, file) in self.files.iter().enumerate() {
            let name = if at == 0 { "case.trcfmt".into() } else { format!("case{}.trcfmt", at + 1) };
            sources.add(Source::new(name, file.clone()));
        }
        sources
    }

    /// Prints all events up to a `$STOP`. `format` prints one event.
    pub fn report(&self, mut format: impl FnMut(&CaseEvent) -> Printed) -> Expect {
        let mut report = Expect::default();
        for event in &self.events {
            let printed = format(event);
            report.text.extend(&printed.text);
            report.ends.truncated += u32::from(printed.truncated);
            report.ends.limited += u32::from(printed.limited);
            report.ends.skipped += u32::from(printed.skipped);
            report.ends.divided += u32::from(printed.divided_by_zero);
            report.ends.stop += u32::from(printed.stop);
            if printed.stop {
                break;
            }
        }
        report
    }

    /// Report printed by the reference.
    pub fn reference_report(&self, reference: &Reference) -> Expect {
        let mut timers = Timers::default();
        self.report(|event| {
            let stanza = reference.stanza(event.hook()).expect("007 formats what nothing else does");
            let layout = layout_without_columns(stanza.level.map(|level| level.node));
            let line = Line { columns: b"", layout, limits: Limits::default() };
            reference.format(stanza, &event.event(), &event.context(), &mut timers, line)
        })
    }

    /// Compares diagnostics with those that the case expects.
    ///
    /// # Errors
    /// The first difference.
    pub fn check_diagnostics(&self, sources: &Sources, found: &[Diagnostic]) -> Result<(), String> {
        let place = |found: &Diagnostic| {
            let line = sources.get(found.primary.source).map(|source| source.line_column(found.primary.span.start).0);
            (found.severity, line)
        };
        let found: Vec<(Severity, Option<u32>)> = found.iter().map(place).collect();
        let wanted = self.diagnostics.as_deref().unwrap_or(&[]);
        for (severity, line) in wanted {
            let there = found.iter().any(|(is, at)| is == severity && (line.is_none() || at == line));
            if !there {
                return Err(format!("no {severity:?} in line {line:?}"));
            }
        }
        for (severity, line) in found.iter().filter(|(severity, _)| *severity == Severity::Error) {
            if !wanted.contains(&(*severity, *line)) && !wanted.contains(&(*severity, None)) {
                return Err(format!("an error in line {line:?} that the case does not know of"));
            }
        }
        Ok(())
    }

    /// True if the files must be refused.
    pub fn is_refused(&self) -> bool {
        let errors = |wanted: &Vec<(Severity, Option<u32>)>| wanted.iter().any(|(is, _)| *is == Severity::Error);
        self.diagnostics.as_ref().is_some_and(errors)
    }
}

fn diagnostic(line: &str) -> (Severity, Option<u32>) {
    let (severity, line) = line.split_once(' ').unwrap_or((line, ""));
    let severity = match severity {
        "error" => Severity::Error,
        "warning" => Severity::Warning,
        other => panic!("unknown severity {other}"),
    };
    (severity, line.parse().ok())
}

fn expect(options: &[&str], body: &str) -> Expect {
    let mut expect = Expect { text: body.into(), ends: Ends::default() };
    if options.contains(&"marked") {
        let line = |line: &str| format!("{}\n", line.strip_suffix('|').expect("a marked line ends in |"));
        expect.text = body.lines().map(line).collect::<String>().into();
    }
    let ends = &mut expect.ends;
    for option in options {
        match option.split_once('=').unwrap_or((option, "1")) {
            ("truncated", n) => ends.truncated = number(n) as u32,
            ("limited", n) => ends.limited = number(n) as u32,
            ("skipped", n) => ends.skipped = number(n) as u32,
            ("divided", n) => ends.divided = number(n) as u32,
            ("stop", n) => ends.stop = number(n) as u32,
            ("marked", _) => {}
            (other, _) => panic!("unknown option {other}"),
        }
    }
    expect
}

pub(crate) fn number(text: &str) -> u64 {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |digits| (digits, 16));
    u64::from_str_radix(digits, radix).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Bytes of hex digits and quoted texts.
pub(crate) fn bytes(body: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (at, part) in body.split('"').enumerate() {
        if at % 2 == 1 {
            bytes.extend(part.as_bytes());
            continue;
        }
        let digits: String = part.split_whitespace().collect();
        let pair = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("hex digits");
        bytes.extend((0..digits.len()).step_by(2).map(pair));
    }
    bytes
}
