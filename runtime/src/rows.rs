//! Rows of tables: the events of a report as values instead of lines.
//!
//! ```text
//! Producer ─Chunk─> rows as bytes, in parallel ─in order─> RowSink
//! ```
//!
//! The engine passes bytes from workers to the writer, so workers encode rows and the writer decodes them. A row
//! contains the event's id, times, context, text and fields. A sink turns rows into columns.

use crate::catalog::Catalog;
use crate::events::{BuiltInEvents, EventColumns};
use crate::fields::{RecordSchema, record_schemas};
use crate::ids::EventId;
use crate::reader::kev::classes;
use std::io::{self, Write};
use tfbc_vm::{Outcome, Program, Schema, SchemaField, Space, TextBuf};

/// Options for the contents of rows. Values that are not selected are not computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowOptions {
    /// True if rows contain the text of the event.
    pub text: bool,
    /// Form of the events' fields.
    pub fields: RowFields,
    /// True to set [`EventRow::note`]. It describes the fields if rows contain them, otherwise the text.
    pub note: bool,
    /// True to track processes, threads and CPUs.
    pub context: bool,
    /// True to track the nesting depth of interrupts (AIX).
    pub depth: bool,
    /// True to track system calls (AIX).
    pub svc: bool,
    /// True if events that show gaps in the recording give notices too.
    pub gaps: bool,
}

/// Form of the fields in rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowFields {
    /// No fields.
    #[default]
    No,
    /// A JSON object of the fields with a value.
    Json,
    /// Encoded cells, which [`split_cells`] separates.
    Cells,
}

/// Facts from the header of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceFacts {
    /// UTC nanoseconds of elapsed time 0, if the trace contains its start time.
    pub zero_ns: Option<i128>,
    /// Source of the start time: `003` or `boot_time`; empty if it is unknown.
    pub basis: &'static str,
    /// Names and values of the known properties of the system.
    pub system: Vec<(&'static str, String)>,
}

/// First reason why the text or the fields of an event are incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowNote {
    /// Text and fields are complete.
    #[default]
    None,
    /// The event is shorter than its template expects.
    Truncated,
    /// A limit was reached.
    Limit,
    /// The verifier refuses the template.
    Refused,
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRow<'r> {
    /// Position in the input, from 0.
    pub seq: u64,
    /// Id.
    pub id: EventId,
    /// Time in microseconds since 1970, UTC.
    pub time_us: Option<i64>,
    /// Time in nanoseconds since the start of the trace.
    pub elapsed_ns: Option<i64>,
    /// CPU.
    pub cpu: Option<u32>,
    /// Process id.
    pub pid: Option<i64>,
    /// Thread id.
    pub tid: Option<i64>,
    /// Path of the executable (AIX) or name of the process (QNX); empty if unknown.
    pub process: &'r [u8],
    /// Name of the thread; empty if unknown.
    pub thread: &'r [u8],
    /// System call that the thread is in; empty if there is none.
    pub svc: &'r [u8],
    /// Nesting depth of interrupts (AIX).
    pub depth: Option<u32>,
    /// Text, without columns, margins and the newline at its end.
    pub text: &'r [u8],
    /// Fields in the form of [`RowOptions::fields`]; empty if there are none.
    pub fields: &'r [u8],
    /// Reason why text or fields are incomplete.
    pub note: RowNote,
    /// Index of the log, if several are merged.
    pub log: u32,
    /// Offset in its file.
    pub offset: u64,
    /// Size in bytes.
    pub n_bytes: u32,
}

/// Receiver of rows, in the order of the report.
pub trait RowSink: Send {
    /// Receives facts about the trace. Called once, before the first row, or at the end if there are no rows.
    ///
    /// # Errors
    /// The sink fails; the report ends.
    fn begin(&mut self, facts: &TraceFacts) -> io::Result<()>;

    /// Receives a row.
    ///
    /// # Errors
    /// The sink fails; the report ends.
    fn row(&mut self, row: &EventRow<'_>, names: &Names<'_>) -> io::Result<()>;

    /// Passes on buffered rows, because the next event may come late. Called before a wait, and at the end.
    ///
    /// # Errors
    /// The sink fails; the report ends.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Labels and schemas of a trace's events.
pub struct Names<'c> {
    catalog: &'c Catalog<'c>,
    /// Built-in events of a QNX log.
    events: Option<BuiltInEvents>,
}

impl<'c> Names<'c> {
    pub(crate) fn new(catalog: &'c Catalog<'c>, events: Option<BuiltInEvents>) -> Self {
        Self { catalog, events }
    }

    /// Label of an event, without `@`; empty if there is none.
    pub fn label(&self, id: EventId) -> String {
        match (id, &self.events) {
            (EventId::Hook(id), _) => {
                let hook = self.stanza(id).and_then(|(program, id)| program.hook(id));
                String::from_utf8_lossy(hook.map_or(&b""[..], |hook| hook.label)).into_owned()
            }
            (EventId::Record(class, event), Some(events)) => {
                events.distinct_label(class, event).unwrap_or_default().into_owned()
            }
            (EventId::Record(..), None) => String::new(),
        }
    }

    /// Fields of an event, by the programs that define it, in the order of [`split_cells`].
    pub fn fields(&self, id: EventId) -> Vec<ProgramFields<'c>> {
        match (id, &self.events) {
            (EventId::Hook(id), _) => {
                let schema = self.stanza(id).and_then(|(program, id)| Some((program.schema(id)?, program)));
                let fields =
                    |(schema, program): (Schema, _)| ProgramFields { fields: schema.fields, program: Some(program) };
                schema.map(fields).into_iter().collect()
            }
            (EventId::Record(class, event), Some(events)) if !self.is_defined(class, event) => {
                vec![ProgramFields { fields: EventColumns::of(events, class, event).fields(), program: None }]
            }
            (EventId::Record(class, event), _) => {
                let schemas = record_schemas(self.catalog, class, event).into_iter();
                let fields = |known: RecordSchema<'c>| ProgramFields {
                    fields: known.schema.fields,
                    program: Some(known.program),
                };
                schemas.map(fields).collect()
            }
        }
    }

    /// Name of the table with an event's fields: its id, or `KER_EXIT.MSG_SENDV` for all records of a kernel call in a
    /// direction, unless a definition names the event.
    pub fn table(&self, id: EventId) -> String {
        match (id, &self.events) {
            (EventId::Record(class, event), Some(events)) if !self.is_defined(class, event) => {
                events.table_name(class, event)
            }
            _ => id.name(),
        }
    }

    /// Kernel call of QNX by the name of its table, such as `KER_EXIT.MSG_SENDV`.
    pub fn kernel_call(&self, table: &str) -> Option<EventId> {
        let event = self.events?.call_of_table(table)?;
        Some(EventId::Record(classes::KER_CALL, event))
    }

    /// Events whose rows are in the table of an event.
    pub fn same_table(&self, id: EventId) -> Vec<EventId> {
        match (id, &self.events) {
            (EventId::Record(class, event), Some(events)) if !self.is_defined(class, event) => {
                let same = events.same_table(class, event).into_iter();
                same.map(|event| EventId::Record(class, event))
                    .filter(|other| self.table(*other) == self.table(id))
                    .collect()
            }
            _ => vec![id],
        }
    }

    /// True if a definition names a record's event.
    fn is_defined(&self, class: u8, event: u16) -> bool {
        !self.catalog.records(Space::Record, class, event).is_empty()
    }

    /// Stanza that prints an event.
    fn stanza(&self, id: u16) -> Option<(&'c Program<'c>, u16)> {
        let entry = self.catalog.lookup(id)?;
        Some((self.catalog.program(entry), entry.id()))
    }
}

/// Fields of an event in one program.
pub struct ProgramFields<'c> {
    /// The fields.
    pub fields: Vec<SchemaField>,
    /// Program that contains the names of their sources; `None` for a built-in event of QNX.
    pub program: Option<&'c Program<'c>>,
}

/// Separates the cells of a row by programs. Each part is an encoded [`Row`](tfbc_vm::Row), or empty if it is
/// null.
pub fn split_cells(cells: &[u8], n_programs: usize) -> impl Iterator<Item = &[u8]> {
    let mut rest = cells;
    (0..n_programs).map(move |_| {
        if n_programs == 1 {
            return cells;
        }
        let split = rest
            .split_first_chunk()
            .and_then(|(len, others)| others.split_at_checked(u32::from_le_bytes(*len) as usize));
        let (own, others) = split.unwrap_or_default();
        rest = others;
        own
    })
}

impl RowNote {
    /// Converts the outcome of a template.
    pub(crate) fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome { truncated: true, .. } => RowNote::Truncated,
            Outcome { limited: true, .. } => RowNote::Limit,
            Outcome { refused: true, .. } => RowNote::Refused,
            _ => RowNote::None,
        }
    }

    /// Word in the column `note`; `None` for a complete event.
    pub fn name(self) -> Option<&'static str> {
        match self {
            RowNote::None => None,
            RowNote::Truncated => Some("truncated"),
            RowNote::Limit => Some("limit"),
            RowNote::Refused => Some("refused"),
        }
    }
}

/// Size of an encoded row without its texts.
const HEAD: usize = 96;
/// First byte of encoded facts, which a row never starts with.
const FACTS: u8 = 1;

impl EventRow<'_> {
    /// Appends the encoded row.
    pub(crate) fn encode(&self, out: &mut TextBuf) {
        let mut head = [0; HEAD];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            head[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        let texts = [self.text, self.fields, self.process, self.thread, self.svc];
        let known = [self.time_us, self.elapsed_ns, self.pid, self.tid].map(|value| value.is_some());
        let others = [self.cpu.is_some(), self.depth.is_some(), matches!(self.id, EventId::Record(..))];
        let flags = known.iter().chain(&others).rev().fold(0, |flags: u8, known| flags << 1 | u8::from(*known));
        let id = match self.id {
            EventId::Hook(id) => u32::from(id),
            EventId::Record(class, event) => u32::from(class) << 16 | u32::from(event),
        };
        for number in [self.time_us, self.elapsed_ns, self.pid, self.tid] {
            put(&number.unwrap_or_default().to_le_bytes());
        }
        put(&self.seq.to_le_bytes());
        put(&self.offset.to_le_bytes());
        for number in [self.cpu.unwrap_or_default(), self.depth.unwrap_or_default(), id, self.log, self.n_bytes] {
            put(&number.to_le_bytes());
        }
        for text in texts {
            put(&(text.len() as u32).to_le_bytes());
        }
        put(&[flags, self.note as u8, 0]);
        out.push(&head);
        texts.into_iter().filter(|text| !text.is_empty()).for_each(|text| out.push(text));
    }
}

impl TraceFacts {
    /// Appends the encoded facts.
    pub(crate) fn encode(&self, out: &mut TextBuf) {
        let mut text = Vec::new();
        text.extend_from_slice(&self.zero_ns.unwrap_or_default().to_le_bytes());
        text.push(u8::from(self.zero_ns.is_some()) | u8::from(self.basis == BOOT_TIME) << 1);
        for (name, value) in &self.system {
            text.push(SYSTEM.iter().position(|known| known == name).unwrap_or_default() as u8);
            text.extend_from_slice(&(value.len() as u32).to_le_bytes());
            text.extend_from_slice(value.as_bytes());
        }
        let mut head = [0; HEAD];
        head[HEAD - 2] = FACTS;
        head[..4].copy_from_slice(&(text.len() as u32).to_le_bytes());
        out.push(&head);
        out.push(&text);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (zero, rest) = bytes.split_first_chunk()?;
        let (flags, mut rest) = rest.split_first()?;
        let mut system = Vec::new();
        while let Some((name, value)) = rest.split_first() {
            let (len, value) = value.split_first_chunk()?;
            let (value, others) = value.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            system.push((*SYSTEM.get(usize::from(*name))?, String::from_utf8_lossy(value).into_owned()));
            rest = others;
        }
        let zero_ns = (flags & 1 != 0).then_some(i128::from_le_bytes(*zero));
        let basis = match (zero_ns, flags & 2) {
            (None, _) => "",
            (_, 0) => HOOK_003,
            _ => BOOT_TIME,
        };
        Some(Self { zero_ns, basis, system })
    }
}

/// Value of [`TraceFacts::basis`] for a start time from hook 003.
pub(crate) const HOOK_003: &str = "003";
pub(crate) const BOOT_TIME: &str = "boot_time";
/// Names in [`TraceFacts::system`].
pub(crate) const SYSTEM: [&str; 7] = ["system", "node", "machine", "release", "version", "cpus", "traced_cpus"];

/// Decoder of encoded rows. Each write contains whole rows.
pub(crate) struct RowDecoder<'s> {
    sink: &'s mut dyn RowSink,
    names: Names<'s>,
    has_begun: bool,
}

impl<'s> RowDecoder<'s> {
    pub fn new(sink: &'s mut dyn RowSink, names: Names<'s>) -> Self {
        Self { sink, names, has_begun: false }
    }

    /// Passes on the facts if there was no row.
    pub fn end(&mut self, facts: impl FnOnce() -> TraceFacts) -> io::Result<()> {
        if std::mem::replace(&mut self.has_begun, true) { Ok(()) } else { self.sink.begin(&facts()) }
    }

    /// Decodes the first row and passes it on. Returns the remaining bytes.
    fn next<'b>(&mut self, bytes: &'b [u8]) -> io::Result<Option<&'b [u8]>> {
        let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() else { return Ok(None) };
        let long = |at: usize| head[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let short = |at: usize| head[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        if head[HEAD - 2] == FACTS {
            let Some((facts, rest)) = rest.split_at_checked(short(0) as usize) else { return Ok(None) };
            if !std::mem::replace(&mut self.has_begun, true)
                && let Some(facts) = TraceFacts::decode(facts)
            {
                self.sink.begin(&facts)?;
            }
            return Ok(Some(rest));
        }
        let [flags, note, ..] = head[88..] else { return Ok(None) };
        let mut rest = rest;
        let mut texts = [&b""[..]; 5];
        for (at, text) in texts.iter_mut().enumerate() {
            let Some((own, others)) = rest.split_at_checked(short(68 + 4 * at) as usize) else { return Ok(None) };
            (*text, rest) = (own, others);
        }
        let [text, fields, process, thread, svc] = texts;
        let number = |at: usize| (flags >> at & 1 != 0).then(|| long(8 * at) as i64);
        let id = short(56);
        let row = EventRow {
            seq: long(32),
            id: match flags >> 6 & 1 {
                0 => EventId::Hook(id as u16),
                _ => EventId::Record((id >> 16) as u8, id as u16),
            },
            time_us: number(0),
            elapsed_ns: number(1),
            pid: number(2),
            tid: number(3),
            cpu: (flags >> 4 & 1 != 0).then(|| short(48)),
            depth: (flags >> 5 & 1 != 0).then(|| short(52)),
            process,
            thread,
            svc,
            text,
            fields,
            note: match note {
                0 => RowNote::None,
                1 => RowNote::Truncated,
                2 => RowNote::Limit,
                _ => RowNote::Refused,
            },
            log: short(60),
            offset: long(40),
            n_bytes: short(64),
        };
        self.sink.row(&row, &self.names)?;
        Ok(Some(rest))
    }
}

impl Write for RowDecoder<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = self.next(rest)?.ok_or_else(|| io::Error::other("a row is cut"))?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.has_begun { self.sink.flush() } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{FormatSet, LoadOptions};

    /// Sink that compares facts and rows with the expected ones.
    struct Expected<'r>(TraceFacts, Vec<EventRow<'r>>);

    impl RowSink for Expected<'_> {
        fn begin(&mut self, facts: &TraceFacts) -> io::Result<()> {
            assert_eq!(*facts, self.0);
            Ok(())
        }

        fn row(&mut self, row: &EventRow<'_>, _: &Names<'_>) -> io::Result<()> {
            assert_eq!(*row, self.1.remove(0));
            Ok(())
        }
    }

    #[test]
    fn rows_are_decoded_as_they_were_encoded() {
        let full = EventRow {
            seq: u64::MAX - 1,
            id: EventId::Record(31, 1023),
            time_us: Some(-1),
            elapsed_ns: Some(i64::MIN),
            cpu: Some(3),
            pid: Some(-2),
            tid: Some(i64::MAX),
            process: b"/usr/bin/ls",
            thread: b"t",
            svc: b"kwrite",
            depth: Some(7),
            text: b"two\nlines",
            fields: b"{}",
            note: RowNote::Refused,
            log: 9,
            offset: 1 << 40,
            n_bytes: 44,
        };
        let others = EventRow {
            id: EventId::Hook(0xffff),
            time_us: None,
            pid: None,
            depth: None,
            text: b"",
            thread: b"",
            note: RowNote::Limit,
            ..full
        };
        let none = EventRow { elapsed_ns: None, tid: None, cpu: None, note: RowNote::None, svc: b"", ..others };
        let system = vec![("node", String::from("n")), ("cpus", String::from("2"))];
        let facts = TraceFacts { zero_ns: Some(-5), basis: BOOT_TIME, system };
        let mut text = TextBuf::new();
        facts.encode(&mut text);
        [full, others, none].iter().for_each(|row| row.encode(&mut text));
        let mut sink = Expected(facts, vec![full, others, none]);
        let formats = FormatSet::load(&[], &LoadOptions::default()).unwrap();
        let catalog = formats.catalog().unwrap();
        let names = Names { catalog: &catalog, events: None };
        let mut decoder = RowDecoder { sink: &mut sink, names, has_begun: false };
        decoder.write_all(text.as_bytes()).unwrap();
        assert!(sink.1.is_empty());
    }
}
