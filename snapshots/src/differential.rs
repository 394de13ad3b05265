//! Compares the machine with the reference: one template with its events.

use std::collections::HashMap;
use std::fmt::Write;

use tfbc_compiler::{Options, compile};
use tfbc_grammar::trcfmt::ast::Stanza;
use tfbc_grammar::{Arena, Diagnostic, Severity, Source, Sources};
use tfbc_vm::{Event, Layout, Limits, Machine};

use crate::generate::{Facts, GeneratedEvent, Rng, Template, event, facts, template, with_comments};
use crate::reference::{FieldRow, FieldSchema, Line, Printed, Reference, Timers, layout_without_columns};
use crate::runner::Runner;

/// Events per template.
const EVENTS: usize = 8;

/// Limits that an event may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitKind {
    /// Iterations, and sometimes text.
    Turns,
    /// Text only.
    Text,
}

/// Small limits in some cases, so that reaching them is compared too.
fn limits(rng: &mut Rng, reach: LimitKind) -> Limits {
    match (reach, rng.below(4)) {
        (LimitKind::Text, _) => Limits { turns: 1000, text: rng.below(200) as u32, ..Limits::default() },
        (LimitKind::Turns, 0) => Limits { turns: rng.below(20) as u32, ..Limits::default() },
        (LimitKind::Turns, _) => Limits { turns: 1000, ..Limits::default() },
    }
}

/// A template and events.
#[derive(Debug)]
pub struct TemplateCase {
    /// The template.
    pub template: Template,
    /// Events, each with its hook id.
    pub events: Vec<(u16, GeneratedEvent)>,
    /// Context of the events.
    pub facts: Facts,
    /// Limits per event.
    pub limits: Limits,
    columns: &'static [u8],
    reach: LimitKind,
}

impl TemplateCase {
    /// Creates a random template of about `size` items, and events for it.
    pub fn new(rng: &mut Rng, size: usize, reach: LimitKind) -> TemplateCase {
        let template = template(rng, size);
        let hooks: Vec<u16> = (0..EVENTS)
            .map(|_| if rng.chance(90) { *rng.pick(&template.hooks) } else { *rng.pick(&[0x5550, 0x0010, 0, 0xE5E5]) })
            .collect();
        let events = hooks.iter().map(|hook| (*hook, event(rng, *hook))).collect();
        let columns = match reach {
            LimitKind::Turns => *rng.pick::<&[u8]>(&[b"", b"010 ", b"ID  col "]),
            LimitKind::Text => b"",
        };
        TemplateCase { template, events, facts: facts(rng), limits: limits(rng, reach), columns, reach }
    }

    /// Adds `fields` comments to the template.
    pub fn commented(mut self, rng: &mut Rng) -> TemplateCase {
        self.template.source = with_comments(rng, &self.template.source);
        self
    }

    /// Template as a set of sources.
    pub fn sources(&self) -> Sources {
        let mut sources = Sources::new();
        sources.add(Source::new("generated.trcfmt", self.template.source.as_str()));
        sources
    }

    /// Stanza that formats an event, and the position of its text.
    pub fn place<'r, 'ast>(&self, reference: &'r Reference<'ast>, hook: u16) -> (&'r Stanza<'ast>, Line<'static>) {
        let stanza = reference.stanza(hook).expect("there is always 007");
        let mut layout = layout_without_columns(stanza.level.map(|level| level.node));
        layout.further += self.columns.len() as u16;
        if self.reach == LimitKind::Text {
            // This test does not compare how margins count towards the limit.
            layout = Layout::default();
        }
        (stanza, Line { columns: self.columns, layout, limits: self.limits })
    }

    /// Prints one event with the reference.
    pub fn with_reference(&self, reference: &Reference, at: usize, timers: &mut Timers) -> Printed {
        let (hook, event) = &self.events[at];
        let (stanza, line) = self.place(reference, *hook);
        reference.format(stanza, &as_event(event), &self.facts.context(), timers, line)
    }

    /// Rows of the events by the reference; `None` for a skipped event.
    pub fn rows(&self, reference: &Reference) -> Vec<Option<FieldRow>> {
        let mut timers = Timers::default();
        let mut schemas: HashMap<u16, FieldSchema> = HashMap::new();
        let row = |(hook, event): &(u16, GeneratedEvent)| {
            let (stanza, line) = self.place(reference, *hook);
            let schema = schemas.entry(stanza.id.node.0).or_insert_with(|| reference.schema(stanza));
            reference.row(stanza, schema, &as_event(event), &self.facts.context(), &mut timers, line)
        };
        self.events.iter().map(row).collect()
    }

    /// Prints every event with the machine, the checked interpreter and the reference.
    ///
    /// # Errors
    /// The first difference.
    pub fn compare(&self) -> Result<(), String> {
        let sources = self.sources();
        let compiled = compile(&sources, &Options::default());
        let Some(blob) = compiled.blob else {
            return Err(format!("does not compile:\n{}{}", messages(&compiled.diagnostics), self.template.source));
        };
        let arena = Arena::new();
        let reference = Reference::parse(&arena, &sources).map_err(|found| messages(&found))?;
        let open = |machine| Runner::new(&blob, machine).map_err(|error| format!("{error}\n{}", self.template.source));
        let mut fast = open(Machine::new(self.limits))?;
        let mut checked = open(Machine::checked(self.limits))?;
        let (mut fast, mut checked) = (fast.begin(), checked.begin());
        let mut timers = Timers::default();
        for (at, (hook, event)) in self.events.iter().enumerate() {
            let expected = self.with_reference(&reference, at, &mut timers);
            let (stanza, line) = self.place(&reference, *hook);
            for (name, machine) in [("fast", &mut fast), ("checked", &mut checked)] {
                let got = machine.print(stanza.id.node.0, &as_event(event), &self.facts.context(), line);
                if comparable(&got) != comparable(&expected) {
                    return Err(format!("{name} {}", self.describe(at, &expected, &got)));
                }
            }
        }
        Ok(())
    }

    fn describe(&self, at: usize, reference: &Printed, machine: &Printed) -> String {
        let (hook, event) = &self.events[at];
        let show = |printed: &Printed| {
            let Printed { text, skipped, stop, truncated, limited, divided_by_zero } = printed;
            format!(
                "skipped {skipped} stop {stop} truncated {truncated} limited {limited} divided {divided_by_zero}\n{}",
                text.escape_ascii().to_string().replace("\\n", "\n")
            )
        };
        format!(
            "event {at} of hook {hook:04X}, wide {}, time {} ns, offset {}: {}\nlimits {:?}\n{:?}\n\
             ---- template\n{}---- reference\n{}\n---- machine\n{}\n",
            event.wide,
            event.time_ns,
            event.offset,
            hex(&event.bytes),
            self.limits,
            self.facts,
            self.template.source,
            show(reference),
            show(machine),
        )
    }
}

/// Generated event as the machine's type.
pub fn as_event(event: &GeneratedEvent) -> Event<'_> {
    Event { bytes: &event.bytes, wide: event.wide, record: None, time_ns: event.time_ns, offset: event.offset }
}

/// Error messages among diagnostics.
pub fn messages(diagnostics: &[Diagnostic]) -> String {
    let errors = diagnostics.iter().filter(|found| found.severity == Severity::Error);
    errors.map(|found| format!("{} {:?} {}\n", found.code.code, found.primary.span, found.message)).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Part of a result that must be equal. After a limit, later outcomes of the event are ignored.
fn comparable(printed: &Printed) -> Printed {
    let ended = printed.limited;
    Printed {
        truncated: printed.truncated && !ended,
        divided_by_zero: printed.divided_by_zero && !ended,
        ..printed.clone()
    }
}
