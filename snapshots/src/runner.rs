//! The machine, asked as the reference is.

use tfbc_vm::{BlobError, Context, Event, Job, Machine, Program, TextBuf, Timers};

use crate::reference::{Line, Printed};

/// Runs one program's hooks for a report.
pub struct Runner<'p> {
    program: Program<'p>,
    machine: Machine,
    timers: Timers,
    out: TextBuf,
}

impl<'p> Runner<'p> {
    /// Opens a blob for a machine.
    ///
    /// # Errors
    /// What `Program::open` finds.
    pub fn new(blob: &'p [u8], machine: Machine) -> Result<Self, BlobError> {
        Ok(Runner { program: Program::open(blob)?, machine, timers: Timers::new(), out: TextBuf::new() })
    }

    /// Prints an event by the stanza with a canonical id; the machine's own limits hold. An id without a stanza prints
    /// nothing.
    pub fn print(&mut self, stanza: u16, event: &Event, context: &Context, line: Line) -> Printed {
        let Some(hook) = self.program.hook(stanza) else { return Printed::default() };
        let start = self.out.len();
        self.out.push(line.columns);
        let job =
            Job { event, context, timers: &mut self.timers, layout: line.layout, line: start, out: &mut self.out };
        let outcome = self.machine.run(&self.program, hook.index, job);
        Printed {
            text: self.out.as_bytes()[start..].to_vec(),
            skipped: outcome.skipped,
            stop: outcome.stop,
            truncated: outcome.truncated,
            limited: outcome.limited,
            divided_by_zero: outcome.divided_by_zero,
        }
    }
}
