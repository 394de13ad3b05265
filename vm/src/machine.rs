use crate::{Context, Event, Program, TextBuf, Timers};

/// Where an event's text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Blanks between what stands in the buffer already (the columns) and the text of the first line.
    pub first: u16,
    /// Blanks before the text of every further line.
    pub further: u16,
}

/// What one event may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Loop turns and calls together.
    pub turns: u32,
    /// Bytes of text.
    pub text: u32,
}

impl Default for Limits {
    /// 1,048,576 turns and 1 MiB (`trcfmt.md` section 14).
    fn default() -> Self {
        Self { turns: 1 << 20, text: 1 << 20 }
    }
}

/// How an event ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// `$SKIP`: nothing was appended, and the event has no part in delta.
    pub skipped: bool,
    /// `$STOP`: no later event is to be read.
    pub stop: bool,
    /// A read went past the event's end.
    pub truncated: bool,
    /// A limit was reached; the text says so.
    pub limited: bool,
    /// A division by zero gave 0.
    pub divided_by_zero: bool,
}

/// The reusable scratch of one thread: registers and call stack.
#[derive(Debug, Default)]
pub struct Machine {
    limits: Limits,
}

impl Machine {
    /// A machine with the given limits.
    pub fn new(limits: Limits) -> Self {
        Self { limits }
    }

    /// Prints one event by the hook with index `hook` (of [`crate::Hook::index`]): appends the text behind the
    /// columns that stand in `out` already, and a newline at its end. A skipped event leaves `out` cut to `line`,
    /// the length it had before the columns. A first line without text loses the blanks at its end, down to `line`.
    #[expect(clippy::too_many_arguments, reason = "one call an event; a struct would be built for each")]
    pub fn run(
        &mut self,
        _program: &Program<'_>,
        _hook: u32,
        _event: &Event<'_>,
        _context: &Context<'_>,
        _timers: &mut Timers,
        _layout: Layout,
        _line: usize,
        _out: &mut TextBuf,
    ) -> Outcome {
        let _ = self.limits;
        Outcome::default()
    }
}
