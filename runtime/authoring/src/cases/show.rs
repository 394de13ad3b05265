//! Text of one event with its notes, as snapshots contain it.

use super::event::{HookContext, HookEvent, RecordEvent};
use tfbc::internal::templates::{Catalog, RecordEntry, RecordPrinter};
use tfbc::internal::terminal::visible;
use tfbc::internal::{FieldReader, KevRecord};
use tfbc::{EventId, MaxWork};
use tfbc_vm::{
    Context, Event, EventInput, Job, Layout, Limits, Machine, Observer, Outcome, Program, Space, TextBuf, Timers,
};

/// Text of one event.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct EventText {
    /// Printed text, with its line ends.
    pub text: String,
    /// Fields as in JSON lines, if they were asked for.
    pub fields: Option<String>,
    /// Notes on the text, such as "truncated".
    pub notes: Vec<String>,
    /// True if a limit stopped the event.
    pub limited: bool,
    /// Reason why there is no text.
    pub failure: Option<String>,
}

impl EventText {
    /// Result of an event that cannot be formatted.
    pub fn failed(why: impl Into<String>) -> Self {
        Self { failure: Some(why.into()), ..Self::default() }
    }

    /// Result of a finished run.
    fn of(out: &TextBuf, outcome: Outcome) -> Self {
        let notes = [
            (outcome.truncated, "reads past the end of the event"),
            (outcome.limited, "reached a limit"),
            (outcome.divided_by_zero, "divided by zero"),
            (outcome.refused, "refused by the verifier"),
            (outcome.skipped, "dropped by $SKIP"),
            (outcome.stop, "ends the report by $STOP"),
        ];
        let notes = notes.into_iter().filter(|(applies, _)| *applies).map(|(_, text)| text.to_owned());
        let (text, notes) = (printable(out.as_bytes()), notes.collect());
        Self { text, fields: None, notes, limited: outcome.limited, failure: None }
    }
}

/// Bytes as UTF-8 lines. Invalid UTF-8 and control characters become escapes such as `\x1b`.
pub fn printable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(&visible(chunk.valid()));
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

/// Formats the events of one case file in order. Timers keep their state between events.
pub struct EventPrinter<'c> {
    catalog: &'c Catalog<'c>,
    limits: Limits,
    machine: Machine,
    timers: Timers,
    fields: FieldReader,
}

/// Observes, instruction by instruction, the programs that run.
pub trait ProgramObserver {
    /// Observer for one run of a program.
    fn observer(&mut self, program: &Program<'_>) -> impl Observer;
}

/// Observer that does nothing.
pub struct NoObserver;

impl ProgramObserver for NoObserver {
    fn observer(&mut self, _: &Program<'_>) -> impl Observer {
        tfbc_vm::Unobserved
    }
}

impl<'c> EventPrinter<'c> {
    /// Creates a printer for the events of one case file.
    pub fn new(catalog: &'c Catalog<'c>, limits: Limits) -> Self {
        let fields = FieldReader::new(limits, MaxWork::default());
        Self { catalog, limits, machine: Machine::new(limits), timers: Timers::new(), fields }
    }

    /// Fields of an AIX hook, with the timers as they are before its text.
    pub fn hook_fields(&mut self, hook: &HookEvent) -> String {
        let HookEvent { bytes, wide, time_ns, offset, context, .. } = hook;
        let event = Event { bytes, wide: *wide, record: None, time_ns: *time_ns, offset: *offset };
        let Some(entry) = self.catalog.lookup(event.hook_id()) else { return String::new() };
        let mut out = TextBuf::new();
        self.fields.write_json(
            self.catalog,
            entry,
            &mut self.timers,
            &EventInput { event: &event, context: &context.borrow() },
            &mut out,
        );
        printable(out.as_bytes())
    }

    /// Fields of a QNX record: those of the definitions that apply, or its arguments.
    pub fn record_fields(&self, record: &RecordEvent) -> String {
        let mut printer = RecordPrinter::new(self.catalog, record.big_endian, None, self.limits);
        let (record, mut out) = (kev_record(record), TextBuf::new());
        let defined = printer.definitions(&record, &mut out);
        out.clear();
        out.push(b"{");
        printer.members(&record, defined, &mut out);
        out.push(b"}");
        printable(out.as_bytes())
    }

    /// Formats an AIX hook.
    pub fn hook(&mut self, hook: &HookEvent, watch: &mut impl ProgramObserver) -> EventText {
        let HookEvent { bytes, wide, time_ns, offset, margin, context } = hook;
        let event = Event { bytes, wide: *wide, record: None, time_ns: *time_ns, offset: *offset };
        let Some(entry) = self.catalog.lookup(event.hook_id()) else {
            return EventText::failed(format!("no stanza formats hook {}", EventId::Hook(event.hook_id()).name()));
        };
        let mut out = TextBuf::new();
        let job = Job {
            event: &event,
            context: &context.borrow(),
            timers: &mut self.timers,
            layout: Layout { first: *margin, further: *margin },
            line: 0,
            out: &mut out,
        };
        let program = self.catalog.program(entry);
        let outcome = self.machine.run_observed(program, entry.hook, job, &mut watch.observer(program));
        EventText::of(&out, outcome)
    }

    /// Formats a QNX record with the definitions that apply to it. Without one, it prints the arguments.
    pub fn record(&mut self, record: &RecordEvent, watch: &mut impl ProgramObserver) -> EventText {
        let mut printer = RecordPrinter::new(self.catalog, record.big_endian, None, self.limits);
        let record = kev_record(record);
        let mut out = TextBuf::new();
        let mut outcome = Outcome::default();
        let (mut defined, mut any) = (false, false);
        for entry in self.catalog.records(Space::Record, record.class, record.event) {
            any = true;
            let before = out.len();
            if defined {
                out.push(b" ");
            }
            let ended = run_observed(&mut printer, self.catalog, entry, &record, &mut out, watch);
            if ended.skipped {
                out.truncate(before);
                continue;
            }
            defined = true;
            outcome.truncated |= ended.truncated;
            outcome.limited |= ended.limited;
            outcome.refused |= ended.refused;
        }
        if !defined {
            printer.arguments(&record, &mut out);
        }
        out.push(b"\n");
        let mut shown = EventText::of(&out, outcome);
        if !defined {
            let why =
                if any { "no definition applies: no condition is true" } else { "no definition names this event" };
            shown.notes.push(why.to_owned());
        }
        shown
    }
}

/// A record as the reader returns it.
fn kev_record(record: &RecordEvent) -> KevRecord<'_> {
    let RecordEvent { bytes, class, event, wide, .. } = record;
    let (class, event, wide) = (*class, *event, *wide);
    KevRecord { number: 1, offset: 0, class, event, cpu: 0, wide, stamp: 0, msb: None, bytes }
}

/// Runs one definition of a record under an observer.
pub fn run_observed(
    printer: &mut RecordPrinter<'_>,
    catalog: &Catalog<'_>,
    entry: &RecordEntry,
    record: &KevRecord<'_>,
    out: &mut TextBuf,
    watch: &mut impl ProgramObserver,
) -> Outcome {
    printer.one(entry, record, out, &mut watch.observer(catalog.record_program(entry)))
}

impl HookContext {
    fn borrow(&self) -> Context<'_> {
        Context {
            trace_env: self.trace_env,
            total_cpus: self.total_cpus,
            traced_cpus: self.traced_cpus,
            reported_cpus: self.reported_cpus,
            large_data_types: self.large_data_types,
            buffering: self.buffering,
            ip_address: self.ip_address,
            pid: self.pid,
            tid: self.tid,
            cpu: self.cpu,
            priority: self.priority,
            svc: &self.svc,
            exec_path: &self.exec_path,
            log_file: &self.log_file,
            processes: &self.processes,
        }
    }
}
