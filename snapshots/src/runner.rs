//! Runs the machine through the interface of the reference.

use tfbc::testing::fields::{write_objects, write_record_text, write_row};
use tfbc_vm::{
    BlobError, Context, Event, EventInput, Layout, LineStart, Machine, Outcome, Program, Run, Schema, Shape, Space,
    TextBuf, Timers,
};

use crate::datakey;
use crate::reference::{Line, Printed};

/// Runs the hooks of one program for a report.
pub struct Runner<'p> {
    program: Program<'p>,
    machine: Machine,
    timers: Timers,
    out: TextBuf,
}

impl<'p> Runner<'p> {
    /// Opens a blob.
    ///
    /// # Errors
    /// The error of `Program::open`.
    pub fn new(blob: &'p [u8], machine: Machine) -> Result<Self, BlobError> {
        Ok(Runner { program: Program::open(blob)?, machine, timers: Timers::new(), out: TextBuf::new() })
    }

    /// Starts a run over many events.
    pub fn begin(&mut self) -> EventRun<'_> {
        let Runner { program, machine, timers, out } = self;
        EventRun { program, run: machine.start(program, timers), out }
    }

    /// Prints one event as [`EventRun::print`] does, in a separate run.
    pub fn print(&mut self, stanza: u16, event: &Event, context: &Context, line: Line) -> Printed {
        self.begin().print(stanza, event, context, line)
    }

    /// Shows one record as [`EventRun::show`] does, in a separate run.
    pub fn show(&mut self, record: &datakey::ReferenceRecord) -> Option<(Vec<u8>, bool)> {
        self.begin().show(record)
    }

    /// Lists one record's fields as [`EventRun::objects`] does, in a separate run.
    pub fn objects(&mut self, record: &datakey::ReferenceRecord) -> Option<String> {
        self.begin().objects(record)
    }

    /// Lists one record's fields as [`EventRun::row`] does, in a separate run.
    pub fn row(&mut self, record: &datakey::ReferenceRecord) -> Option<String> {
        self.begin().row(record)
    }

    /// A line per column of an event: name and type.
    pub fn columns(&self, class: u8, event: u16) -> Vec<String> {
        let schema = self.program.record_schema(class, event).unwrap_or_default();
        let shown = |shape: &Shape| format!("{} {}", shape.kind.name(), shape.hint.name()).trim_end().to_owned();
        let mut lines = Vec::new();
        for field in &schema.fields {
            let kind = match &field.shape.items {
                Some(items) => format!("list of {}", shown(items)),
                None => shown(&field.shape),
            };
            lines.push(format!("{} {kind}", field.name));
            if let Some(labels) = &field.labels {
                lines.push(format!("{} {}dictionary", labels.name, if labels.is_list { "list of " } else { "" }));
            }
        }
        lines
    }
}

/// A run over many events.
pub struct EventRun<'r> {
    program: &'r Program<'r>,
    run: Run<'r>,
    out: &'r mut TextBuf,
}

impl<'r> EventRun<'r> {
    /// Prints an event with the stanza of a canonical id, within the machine's limits. Without such a stanza, nothing
    /// is printed.
    pub fn print(&mut self, stanza: u16, event: &Event<'r>, context: &Context<'r>, line: Line) -> Printed {
        let Some(hook) = self.program.hook(stanza) else { return Printed::default() };
        let start = self.out.len();
        self.out.push(line.columns);
        let outcome = self.run.event(
            hook.index,
            EventInput { event, context },
            LineStart { layout: line.layout, line: start },
            self.out,
        );
        Printed {
            text: self.out.as_bytes()[start..].to_vec(),
            skipped: outcome.skipped,
            stop: outcome.stop,
            truncated: outcome.truncated,
            limited: outcome.limited,
            divided_by_zero: outcome.divided_by_zero,
        }
    }

    /// Text of a QNX record without the line end; true if it counts as truncated. `None` if no definition names the
    /// record, or all conditions fail.
    pub fn show(&mut self, record: &datakey::ReferenceRecord<'r>) -> Option<(Vec<u8>, bool)> {
        self.run_record(record)
    }

    /// JSON object of a QNX record's fields; `None` if no definition applies.
    pub fn row(&mut self, record: &datakey::ReferenceRecord<'r>) -> Option<String> {
        let (schema, outcome) = self.run_fields(record)?;
        let mut json = TextBuf::new();
        write_row(&schema, self.run.row(), &mut json);
        (!outcome.skipped).then(|| String::from_utf8_lossy(json.as_bytes()).into_owned())
    }

    /// Text of a QNX record by its fields, as a JSON string; `None` if no definition applies.
    pub fn text_by_row(&mut self, record: &datakey::ReferenceRecord<'r>) -> Option<String> {
        let (schema, outcome) = self.run_fields(record)?;
        let mut json = TextBuf::new();
        write_record_text(&schema, self.run.row(), &mut json);
        (!outcome.skipped).then(|| format!("\"{}\"", String::from_utf8_lossy(json.as_bytes())))
    }

    /// JSON array of a QNX record's fields, as `tfbc report` prints it; `None` if no definition applies.
    pub fn objects(&mut self, record: &datakey::ReferenceRecord<'r>) -> Option<String> {
        let (schema, outcome) = self.run_fields(record)?;
        let mut json = TextBuf::new();
        write_objects(&schema, self.run.row(), &mut json);
        (!outcome.skipped).then(|| String::from_utf8_lossy(json.as_bytes()).into_owned())
    }

    fn run_fields(&mut self, record: &datakey::ReferenceRecord<'r>) -> Option<(Schema, Outcome)> {
        let class = if record.class == 13 { 5 } else { record.class };
        let hook = self.program.entry(Space::RecordFields, Space::record_id(class, record.id))?;
        let event = event(record);
        let prepared = self.program.prepare(hook.index, event.env_index())?;
        let outcome = self.run.record_fields(&prepared, &event, &mut TextBuf::new());
        Some((self.program.record_schema(class, record.id)?, outcome))
    }

    fn run_record(&mut self, record: &datakey::ReferenceRecord<'r>) -> Option<(Vec<u8>, bool)> {
        // Callers of a program map class 13 to class 5.
        let class = if record.class == 13 { 5 } else { record.class };
        let hook = self.program.entry(Space::Record, Space::record_id(class, record.id))?;
        let event = event(record);
        let start = self.out.len();
        let input = EventInput { event: &event, context: &Context::EMPTY };
        let line = LineStart { layout: Layout::default(), line: start };
        let outcome = self.run.event(hook.index, input, line, self.out);
        let text = &self.out.as_bytes()[start..];
        (!outcome.skipped).then(|| (text.strip_suffix(b"\n").unwrap_or(text).to_vec(), outcome.truncated))
    }
}

/// Record as definitions see it.
fn event<'r>(record: &datakey::ReferenceRecord<'r>) -> Event<'r> {
    let header = tfbc_vm::RecordHeader { event: record.id, big_endian: record.big_endian };
    Event { bytes: record.payload, wide: record.wide, record: Some(header), time_ns: 0, offset: 0 }
}
