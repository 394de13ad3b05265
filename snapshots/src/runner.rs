//! Runs the machine through the interface of the reference.

use tfbc_vm::{
    BlobError, Context, Event, EventInput, Layout, LineStart, Machine, Program, Run, Space, TextBuf, Timers,
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
    pub fn show(&mut self, record: &datakey::Record) -> Option<(Vec<u8>, bool)> {
        self.begin().show(record)
    }

    /// Lists one record's fields as [`EventRun::fields`] does, in a separate run.
    pub fn fields(&mut self, record: &datakey::Record) -> Option<Vec<[Vec<u8>; 3]>> {
        self.begin().fields(record)
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
    pub fn show(&mut self, record: &datakey::Record<'r>) -> Option<(Vec<u8>, bool)> {
        self.run_record(Space::Record, record)
    }

    /// Label, raw value and text per field of a QNX record.
    pub fn fields(&mut self, record: &datakey::Record<'r>) -> Option<Vec<[Vec<u8>; 3]>> {
        let (text, _) = self.run_record(Space::Fields, record)?;
        let fields = text.split(|byte| *byte == Space::FIELD).filter(|field| !field.is_empty());
        let parts = |field: &[u8]| {
            let mut parts = field.splitn(3, |byte| *byte == Space::UNIT).map(<[u8]>::to_vec);
            std::array::from_fn(|_| parts.next().unwrap_or_default())
        };
        Some(fields.map(parts).collect())
    }

    fn run_record(&mut self, space: Space, record: &datakey::Record<'r>) -> Option<(Vec<u8>, bool)> {
        // Callers of a program map class 13 to class 5.
        let class = if record.class == 13 { 5 } else { record.class };
        let hook = self.program.entry(space, Space::record_id(class, record.id))?;
        let header = tfbc_vm::RecordHeader { event: record.id, big_endian: record.big_endian };
        let event = Event { bytes: record.payload, wide: record.wide, record: Some(header), time_ns: 0, offset: 0 };
        let start = self.out.len();
        let input = EventInput { event: &event, context: &Context::EMPTY };
        let line = LineStart { layout: Layout::default(), line: start };
        let outcome = self.run.event(hook.index, input, line, self.out);
        let text = &self.out.as_bytes()[start..];
        (!outcome.skipped).then(|| (text.strip_suffix(b"\n").unwrap_or(text).to_vec(), outcome.truncated))
    }
}
