//! Rows of tables: the events of a report as values instead of lines.
//!
//! ```text
//! Producer ─Chunk─> block of rows, in parallel ─in order─> RowSink
//! ```
//!
//! The engine passes bytes from workers to the writer, so workers encode blocks and the writer decodes them. A row
//! contains the event's id, times, context, text and fields. A [block](RowBlock) contains the rows of a chunk by column.

use crate::catalog::Catalog;
use crate::events::{BuiltInEvents, EventColumns};
use crate::fields::{RecordSchema, record_schemas};
use crate::ids::EventId;
use crate::reader::kev::classes;
use crate::row_block::{RowBlock, RowCopies};
use crate::row_facts::TraceFacts;
use crate::temporary::temporary;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use tempfile::SpooledTempFile;
use tfbc_vm::{Program, Schema, SchemaField, Space, TextBuf};

/// Options for the contents of rows. Values that are not selected are not computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowOptions {
    /// True if rows contain the text of the event.
    pub text: bool,
    /// Form of the events' fields.
    pub fields: RowFields,
    /// True if rows contain a [note](crate::row_facts::RowNote). It describes the fields if rows contain them, otherwise the text.
    pub note: bool,
    /// True if rows contain the time in microseconds since 1970.
    pub time: bool,
    /// True if rows contain the event's offset and size.
    pub origins: bool,
    /// True if rows contain the event's log, if there are several.
    pub logs: bool,
    /// True to track processes, threads and CPUs.
    pub context: bool,
    /// True to track the nesting depth of interrupts (AIX).
    pub depth: bool,
    /// True to track system calls (AIX).
    pub svc: bool,
    /// True if events that show gaps in the recording also cause notices.
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
    /// Encoded cells, which [`split_cells`] separates, or [flat rows](RowBlock::flat_rows).
    Cells,
}

/// Receiver of rows, in the order of the report.
pub trait RowSink: Send {
    /// Receives facts about the trace. Called once, before the first row, or at the end if there are no rows.
    ///
    /// # Errors
    /// The sink fails; the report ends.
    fn begin(&mut self, facts: &TraceFacts) -> io::Result<()>;

    /// Receives the next rows.
    ///
    /// # Errors
    /// The sink fails; the report ends.
    fn rows(&mut self, rows: &RowBlock<'_>, names: &Names<'_>) -> io::Result<()>;

    /// Passes on buffered rows, because the next event may be delayed. Called before a wait, and at the end.
    ///
    /// # Errors
    /// The sink fails; the report ends.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Rows that are read again later, table by table. Each group of tables has blocks of its own.
///
/// The rows are in memory at first, and in an unnamed file once there are many.
pub struct RowStore {
    groups: Vec<StoredGroup>,
    blocks: SpooledTempFile,
    n_bytes: u64,
    encoded: TextBuf,
}

/// Rows of some tables.
#[derive(Default)]
struct StoredGroup {
    /// Rows that are not in a block yet.
    last: RowCopies,
    blocks: Vec<StoredBlock>,
    input: usize,
}

/// Place of a block.
struct StoredBlock {
    bytes: Range<u64>,
    input: usize,
}

impl RowStore {
    /// Size of all blocks up to which they are in memory.
    const IN_MEMORY: usize = 32 << 20;
    /// Size at which a block ends.
    const BLOCK_BYTES: usize = 64 << 10;

    /// Creates a store without rows.
    pub fn new() -> Self {
        Self { groups: Vec::new(), blocks: temporary(Self::IN_MEMORY), n_bytes: 0, encoded: TextBuf::new() }
    }

    /// Returns the rows of a group, to which rows of an input can be added.
    ///
    /// # Errors
    /// A block cannot be written.
    pub fn group(&mut self, group: usize, input: usize) -> io::Result<&mut RowCopies> {
        if self.groups.len() <= group {
            self.groups.resize_with(group + 1, StoredGroup::default);
        }
        let StoredGroup { last, blocks, input: of_last } = &mut self.groups[group];
        if last.n_bytes() >= Self::BLOCK_BYTES || (*of_last != input && !last.is_empty()) {
            last.encode(&mut self.encoded);
            self.blocks.write_all(self.encoded.as_bytes())?;
            let end = self.n_bytes + self.encoded.len() as u64;
            blocks.push(StoredBlock { bytes: self.n_bytes..end, input: *of_last });
            self.n_bytes = end;
        }
        *of_last = input;
        Ok(last)
    }

    /// Passes the rows of a group and their input to `use_rows`, in order.
    ///
    /// # Errors
    /// A block cannot be read, or `use_rows` fails.
    pub fn read(
        &mut self,
        group: usize,
        mut use_rows: impl FnMut(&RowBlock<'_>, usize) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(StoredGroup { mut last, blocks, input }) = self.groups.get_mut(group).map(std::mem::take) else {
            return Ok(());
        };
        let mut use_bytes = |bytes: &[u8], input| {
            let (block, _) = RowBlock::read(bytes).ok_or_else(|| io::Error::other("a block of rows is cut"))?;
            use_rows(&block, input)
        };
        let mut bytes = Vec::new();
        for block in blocks {
            bytes.resize((block.bytes.end - block.bytes.start) as usize, 0);
            self.blocks.seek(SeekFrom::Start(block.bytes.start))?;
            self.blocks.read_exact(&mut bytes)?;
            use_bytes(&bytes, block.input)?;
        }
        last.encode(&mut self.encoded);
        use_bytes(self.encoded.as_bytes(), input)
    }
}

impl Default for RowStore {
    fn default() -> Self {
        Self::new()
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

/// Time in microseconds, rounded down. A division of 128 bits is slow, and hardly any time needs it.
#[inline]
pub(crate) fn micros(ns: i128) -> i64 {
    i64::try_from(ns).map_or_else(|_| ns.div_euclid(1000) as i64, |ns| ns.div_euclid(1000))
}

/// Reader of encoded blocks. Each write is a whole block.
pub(crate) struct RowDecoder<'s> {
    sink: &'s mut dyn RowSink,
    names: Names<'s>,
    has_begun: bool,
    /// False if rows of another part follow.
    is_last: bool,
}

impl<'s> RowDecoder<'s> {
    pub fn new(sink: &'s mut dyn RowSink, names: Names<'s>) -> Self {
        Self { sink, names, has_begun: false, is_last: true }
    }

    /// Reads the rows of one of several parts. `has_begun` is true if a part before it passed on the facts.
    pub fn of_part(self, has_begun: bool, is_last: bool) -> Self {
        Self { has_begun, is_last, ..self }
    }

    /// True if the facts were passed on.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Passes on the facts if there was no row, and none follows.
    pub fn end(&mut self, facts: impl FnOnce() -> TraceFacts) -> io::Result<()> {
        if !self.is_last || std::mem::replace(&mut self.has_begun, true) { Ok(()) } else { self.sink.begin(&facts()) }
    }
}

impl Write for RowDecoder<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (block, facts) = RowBlock::read(bytes).ok_or_else(|| io::Error::other("a block of rows is cut"))?;
        if !std::mem::replace(&mut self.has_begun, true) {
            self.sink.begin(&facts)?;
        }
        self.sink.rows(&block, &self.names)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.has_begun { self.sink.flush() } else { Ok(()) }
    }
}
