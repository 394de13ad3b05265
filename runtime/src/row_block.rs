//! Rows of a chunk by column.
//!
//! ```text
//! texts of all rows │ fields │ flat fields │ names │ a column of numbers each │ facts │ sizes
//! ```
//!
//! Workers fill a block while they format a chunk, and the writer passes it on as slices. So a table copies columns, and
//! little is done per row. The sizes come last, because the text is formatted in place, before anything else is known.

use crate::ids::EventId;
use crate::row_facts::{RowNote, TraceFacts};
use std::collections::HashMap;
use std::ops::Range;
use tfbc_vm::TextBuf;

/// Column of 64-bit numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Long {
    /// Position in the input, from 0.
    Seq,
    /// Time in nanoseconds since the start of the trace.
    ElapsedNs,
    /// Time in microseconds since 1970, UTC.
    TimeUs,
    /// Process id.
    Pid,
    /// Thread id.
    Tid,
    /// Offset in the file.
    Offset,
}

/// Column of 32-bit numbers. Null is [`NULL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Short {
    /// Event id, see [`RowBlock::id`].
    Id,
    /// CPU.
    Cpu,
    /// Nesting depth of interrupts.
    Depth,
    /// Index of the log; without values unless several are merged.
    Log,
    /// Size of the event in bytes.
    Bytes,
    /// Process, as an index of [`RowBlock::name`].
    Process,
    /// Thread, as an index of [`RowBlock::name`].
    Thread,
    /// System call, as an index of [`RowBlock::name`].
    Svc,
    /// Reason why text or fields are incomplete, see [`RowBlock::note`].
    Note,
    /// End of the text.
    TextEnd,
    /// End of the fields.
    FieldsEnd,
    /// Table of the row; without values unless the block comes from a [`RowStore`](crate::rows::RowStore).
    Table,
}

/// Null in a [`Short`] column.
pub const NULL: u32 = u32::MAX;

const N_LONG: usize = Long::Offset as usize + 1;
const N_SHORT: usize = Short::Table as usize + 1;
/// Number of sizes at the end of a block: of text, fields, flat fields, names, their ends, numbers, nulls and facts.
const N_SIZES: usize = 6 + 2 * N_LONG + N_SHORT;
/// Bit of an encoded id of a QNX event.
const RECORD: u32 = 1 << 31;

/// Writer of a block. Columns without a value stay empty.
#[derive(Debug, Default)]
pub(crate) struct BlockWriter {
    longs: [Vec<i64>; N_LONG],
    /// A byte per row of a [`Long`] column, 0 for null; empty if no row is null.
    valid: [Vec<u8>; N_LONG],
    shorts: [Vec<u32>; N_SHORT],
    names: Vec<u8>,
    name_ends: Vec<u32>,
    known_names: HashMap<Box<[u8]>, u32>,
}

impl BlockWriter {
    /// Removes all rows.
    pub fn clear(&mut self) {
        self.longs.iter_mut().for_each(Vec::clear);
        self.valid.iter_mut().for_each(Vec::clear);
        self.shorts.iter_mut().for_each(Vec::clear);
        self.names.clear();
        self.name_ends.clear();
        self.known_names.clear();
    }

    /// Appends a number.
    #[inline]
    pub fn push_long(&mut self, column: Long, value: Option<i64>) {
        self.fill_long(column, value, 1);
    }

    /// Appends a number or [`NULL`].
    #[inline]
    pub fn push_short(&mut self, column: Short, value: u32) {
        self.shorts[column as usize].push(value);
    }

    /// Appends numbers that are not null.
    pub fn extend_long(&mut self, column: Long, values: impl Iterator<Item = i64>) {
        self.longs[column as usize].extend(values);
    }

    /// Appends numbers or [`NULL`].
    pub fn extend_short(&mut self, column: Short, values: impl Iterator<Item = u32>) {
        self.shorts[column as usize].extend(values);
    }

    /// Appends a number `n` times.
    #[inline]
    pub fn fill_long(&mut self, column: Long, value: Option<i64>, n: usize) {
        fill(&mut self.longs[column as usize], &mut self.valid[column as usize], value, n);
    }

    /// Appends a number or [`NULL`] `n` times.
    pub fn fill_short(&mut self, column: Short, value: u32, n: usize) {
        let values = &mut self.shorts[column as usize];
        values.resize(values.len() + n, value);
    }

    /// Index of a name, [`NULL`] for an empty one.
    pub fn name(&mut self, name: &[u8]) -> u32 {
        if name.is_empty() {
            return NULL;
        }
        if let Some(index) = self.known_names.get(name) {
            return *index;
        }
        let index = self.new_name(name);
        self.known_names.insert(name.into(), index);
        index
    }

    /// Index of a name that is probably new; [`NULL`] for an empty one.
    pub fn new_name(&mut self, name: &[u8]) -> u32 {
        if name.is_empty() {
            return NULL;
        }
        self.names.extend_from_slice(name);
        self.name_ends.push(self.names.len() as u32);
        self.name_ends.len() as u32 - 1
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.longs[Long::Seq as usize].len()
    }

    /// Appends the rest of a block to the texts of its rows, which have `n_text` bytes, and their fields.
    pub fn finish(&mut self, n_text: usize, flat: &[u64], facts: &TraceFacts, out: &mut TextBuf) {
        let mut sizes = Vec::with_capacity(N_SIZES);
        sizes.push(n_text as u32);
        let mut before = n_text;
        let mut end_part = |out: &TextBuf| {
            sizes.push((out.len() - before) as u32);
            before = out.len();
        };
        end_part(out);
        push_numbers(flat, u64::to_le_bytes, out);
        end_part(out);
        out.push(&self.names);
        end_part(out);
        for column in std::iter::once(&self.name_ends).chain(&self.shorts) {
            push_numbers(column, u32::to_le_bytes, out);
            end_part(out);
        }
        for (values, valid) in self.longs.iter().zip(&self.valid) {
            push_numbers(values, i64::to_le_bytes, out);
            end_part(out);
            out.push(valid);
            end_part(out);
        }
        facts.encode(out);
        end_part(out);
        debug_assert_eq!(sizes.len(), N_SIZES);
        push_numbers(&sizes, u32::to_le_bytes, out);
        self.clear();
    }
}

/// Appends a number `n` times to the values of a column, and to the bytes that say which are not null.
#[inline]
fn fill(values: &mut Vec<i64>, valid: &mut Vec<u8>, value: Option<i64>, n: usize) {
    let len = values.len() + n;
    if value.is_none() && valid.is_empty() {
        valid.resize(values.len(), 1);
    }
    if value.is_none() || !valid.is_empty() {
        valid.resize(len, value.is_some().into());
    }
    values.resize(len, value.unwrap_or_default());
}

/// Rows that are copied from blocks without their texts, to be read later as a block.
#[derive(Debug, Default)]
pub struct RowCopies {
    columns: BlockWriter,
    fields: Vec<u8>,
    flat: Vec<u64>,
}

impl RowCopies {
    /// Copies a row; `flat` are the flat rows with its fields, if there are any. `table` becomes its number in
    /// [`Short::Table`].
    pub fn push(&mut self, block: &RowBlock<'_>, row: usize, flat: Option<FlatRows<'_>>, table: u32) {
        match flat.and_then(|flat| Some((flat, flat.position(row)?))) {
            Some((flat, position)) => {
                self.flat.extend([1, flat.n_columns() as u64, self.columns.len() as u64]);
                let words = flat.columns(position..position + 1).flatten();
                self.flat.extend(words.map(|word| u64::from_le_bytes(*word)));
            }
            None => self.fields.extend_from_slice(block.fields(row)),
        }
        self.push_columns(block, row);
        self.columns.push_short(Short::FieldsEnd, self.fields.len() as u32);
        self.columns.push_short(Short::Table, table);
    }

    fn push_columns(&mut self, block: &RowBlock<'_>, row: usize) {
        let own = &mut self.columns;
        let n_rows = own.len();
        for (column, (values, valid)) in block.longs.iter().zip(own.longs.iter_mut().zip(&mut own.valid)) {
            let value = column.get(row);
            if value.is_some() && values.len() < n_rows {
                fill(values, valid, None, n_rows - values.len());
            }
            if value.is_some() || !values.is_empty() {
                fill(values, valid, value, 1);
            }
        }
        for column in [Short::Id, Short::Cpu, Short::Depth, Short::Log, Short::Bytes, Short::Note] {
            own.push_short(column, block.short(column).value(row));
        }
        for column in [Short::Process, Short::Thread, Short::Svc] {
            let name = own.name(block.name(block.short(column).value(row)));
            own.push_short(column, name);
        }
    }

    /// True if there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.columns.len() == 0
    }

    /// Approximate number of bytes of the rows.
    pub(crate) fn n_bytes(&self) -> usize {
        self.columns.len() * (9 * N_LONG + 4 * N_SHORT)
            + self.fields.len()
            + 8 * self.flat.len()
            + self.columns.names.len()
    }

    /// Encodes the rows as a block, and removes them.
    pub(crate) fn encode(&mut self, out: &mut TextBuf) {
        out.clear();
        out.push(&self.fields);
        self.columns.finish(0, &self.flat, &TraceFacts::default(), out);
        self.fields.clear();
        self.flat.clear();
    }
}

/// Appends numbers as bytes.
fn push_numbers<T: Copy, const SIZE: usize>(numbers: &[T], bytes: impl Fn(T) -> [u8; SIZE], out: &mut TextBuf) {
    let mut block = [[0; SIZE]; 64];
    for numbers in numbers.chunks(block.len()) {
        block.iter_mut().zip(numbers).for_each(|(to, number)| *to = bytes(*number));
        out.push(block[..numbers.len()].as_flattened());
    }
}

/// Rows of a chunk by column, in the order of the report.
#[derive(Debug, Clone, Copy)]
pub struct RowBlock<'b> {
    text: &'b [u8],
    fields: &'b [u8],
    flat: &'b [[u8; 8]],
    names: &'b [u8],
    name_ends: &'b [[u8; 4]],
    shorts: [&'b [[u8; 4]]; N_SHORT],
    longs: [LongColumn<'b>; N_LONG],
}

/// Column of 64-bit numbers of a block.
#[derive(Debug, Clone, Copy, Default)]
pub struct LongColumn<'b> {
    values: &'b [[u8; 8]],
    valid: &'b [u8],
}

/// Column of 32-bit numbers of a block.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShortColumn<'b>(&'b [[u8; 4]]);

/// Fields at fixed places of the rows of one event, by column. They are encoded as their numbers of rows and columns,
/// the rows, and a word per column and row.
#[derive(Debug, Clone, Copy)]
pub struct FlatRows<'b> {
    place: usize,
    rows: &'b [[u8; 8]],
    words: &'b [[u8; 8]],
}

/// Texts or fields of consecutive rows.
#[derive(Debug, Clone, Copy)]
pub struct JoinedTexts<'b> {
    /// Texts of all rows.
    pub bytes: &'b [u8],
    /// End of the text of the row before.
    pub start: u32,
    /// Ends of the rows' texts, as little-endian bytes.
    pub ends: &'b [[u8; 4]],
}

impl<'b> LongColumn<'b> {
    /// All numbers, as bytes in little-endian order, 0 for null. Empty if every number is null.
    #[inline]
    pub fn values(&self) -> &'b [[u8; 8]] {
        self.values
    }

    /// Number of a row.
    #[inline]
    pub fn get(&self, row: usize) -> Option<i64> {
        let value = self.values.get(row)?;
        self.is_valid(row).then(|| i64::from_le_bytes(*value))
    }

    /// Number of a row, 0 for null.
    #[inline]
    pub fn value(&self, row: usize) -> i64 {
        self.values.get(row).map_or(0, |value| i64::from_le_bytes(*value))
    }

    /// True if the number of a row is not null.
    #[inline]
    pub fn is_valid(&self, row: usize) -> bool {
        self.valid.get(row).map_or(row < self.values.len(), |valid| *valid != 0)
    }

    /// True if no number is null.
    pub fn has_no_nulls(&self) -> bool {
        self.valid.is_empty() && !self.values.is_empty()
    }
}

impl<'b> ShortColumn<'b> {
    /// All numbers, as bytes in little-endian order, or [`NULL`]. Empty if every number is null.
    #[inline]
    pub fn values(&self) -> &'b [[u8; 4]] {
        self.0
    }

    /// True if every number is null.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of a row, or [`NULL`].
    #[inline]
    pub fn value(&self, row: usize) -> u32 {
        self.0.get(row).map_or(NULL, |value| u32::from_le_bytes(*value))
    }

    /// Number of a row.
    #[inline]
    pub fn get(&self, row: usize) -> Option<u32> {
        Some(self.value(row)).filter(|value| *value != NULL)
    }
}

impl<'b> FlatRows<'b> {
    /// Indices of the rows, in ascending order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = usize> {
        self.rows.iter().map(|row| u64::from_le_bytes(*row) as usize)
    }

    /// Position of a row in [`FlatRows::rows`].
    pub fn position(&self, row: usize) -> Option<usize> {
        self.rows.binary_search_by_key(&(row as u64), |row| u64::from_le_bytes(*row)).ok()
    }

    /// Argument of [`RowBlock::flat_rows_at`].
    pub fn place(&self) -> usize {
        self.place
    }

    /// Words of the columns in the order of the schema, for each field and then for its label. `range` selects rows by
    /// their position in [`FlatRows::rows`].
    pub fn columns(&self, range: Range<usize>) -> impl Iterator<Item = &'b [[u8; 8]]> {
        let columns = self.words.chunks_exact(self.rows.len().max(1));
        columns.map(move |column| column.get(range.clone()).unwrap_or_default())
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        self.words.len().checked_div(self.rows.len()).unwrap_or(0)
    }
}

impl<'b> JoinedTexts<'b> {
    #[inline]
    fn of(all: &'b [u8], ends: &'b [[u8; 4]], rows: Range<usize>) -> Option<Self> {
        let end = |index: usize| ends.get(index).map(|end| u32::from_le_bytes(*end));
        let start = if rows.start == 0 { 0 } else { end(rows.start - 1)? };
        let last = if rows.is_empty() { start } else { end(rows.end - 1)? };
        Some(Self { bytes: all.get(start as usize..last as usize)?, start, ends: ends.get(rows)? })
    }
}

impl<'b> RowBlock<'b> {
    /// Reads a block, and the facts about its trace. `None` if it is cut.
    pub(crate) fn read(bytes: &'b [u8]) -> Option<(Self, TraceFacts)> {
        let (parts, sizes) = bytes.split_at_checked(bytes.len().checked_sub(4 * N_SIZES)?)?;
        let (mut rest, mut sizes) = (parts, sizes.as_chunks::<4>().0.iter());
        let mut part = || {
            let (own, others) = rest.split_at_checked(u32::from_le_bytes(*sizes.next()?) as usize)?;
            rest = others;
            Some(own)
        };
        let mut block = RowBlock {
            text: part()?,
            fields: part()?,
            flat: part()?.as_chunks().0,
            names: part()?,
            name_ends: part()?.as_chunks().0,
            shorts: [&[]; N_SHORT],
            longs: [LongColumn::default(); N_LONG],
        };
        for column in &mut block.shorts {
            *column = part()?.as_chunks().0;
        }
        for LongColumn { values, valid } in &mut block.longs {
            (*values, *valid) = (part()?.as_chunks().0, part()?);
        }
        Some((block, TraceFacts::decode(part()?)?))
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.longs[Long::Seq as usize].values.len()
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Column of 64-bit numbers.
    pub fn long(&self, column: Long) -> LongColumn<'b> {
        self.longs[column as usize]
    }

    /// Column of 32-bit numbers.
    pub fn short(&self, column: Short) -> ShortColumn<'b> {
        ShortColumn(self.shorts[column as usize])
    }

    /// Number of names.
    pub fn n_names(&self) -> usize {
        self.name_ends.len()
    }

    /// Name of a process, thread or system call; empty for [`NULL`].
    pub fn name(&self, index: u32) -> &'b [u8] {
        part(self.names, self.name_ends, index as usize)
    }

    /// Text of a row, without the newline at its end; empty if there are no texts.
    #[inline]
    pub fn text(&self, row: usize) -> &'b [u8] {
        part(self.text, self.shorts[Short::TextEnd as usize], row)
    }

    /// Fields of a row in the form of [`RowOptions::fields`](crate::rows::RowOptions::fields).
    #[inline]
    pub fn fields(&self, row: usize) -> &'b [u8] {
        part(self.fields, self.shorts[Short::FieldsEnd as usize], row)
    }

    /// Fields at fixed places. Other rows have their fields in [`RowBlock::fields`].
    pub fn flat_rows(&self) -> impl Iterator<Item = FlatRows<'b>> + '_ {
        let next = |last: &FlatRows<'b>| last.place + 2 + last.rows.len() + last.words.len();
        std::iter::successors(self.flat_rows_at(0), move |last| self.flat_rows_at(next(last)))
    }

    /// Fields at a [place](FlatRows::place).
    pub fn flat_rows_at(&self, place: usize) -> Option<FlatRows<'b>> {
        let ([n_rows, n_columns], rest) = self.flat.get(place..)?.split_first_chunk()?;
        let [n_rows, n_columns] = [n_rows, n_columns].map(|number| u64::from_le_bytes(*number) as usize);
        let (rows, rest) = rest.split_at_checked(n_rows)?;
        Some(FlatRows { place, rows, words: rest.get(..n_rows.checked_mul(n_columns)?)? })
    }

    /// Texts of consecutive rows; `None` if there are no texts.
    #[inline]
    pub fn texts_of(&self, rows: Range<usize>) -> Option<JoinedTexts<'b>> {
        JoinedTexts::of(self.text, self.shorts[Short::TextEnd as usize], rows)
    }

    /// Fields of consecutive rows; `None` if there are no fields.
    #[inline]
    pub fn fields_of(&self, rows: Range<usize>) -> Option<JoinedTexts<'b>> {
        JoinedTexts::of(self.fields, self.shorts[Short::FieldsEnd as usize], rows)
    }

    /// Upper bound on the bytes in texts and fields of consecutive rows.
    #[inline]
    pub fn max_text(&self, rows: Range<usize>) -> usize {
        let len = |column: Short| {
            let ends = self.short(column);
            let end = |row: Option<usize>| row.and_then(|row| ends.get(row)).unwrap_or(0) as usize;
            end(rows.end.checked_sub(1)).saturating_sub(end(rows.start.checked_sub(1)))
        };
        len(Short::TextEnd) + len(Short::FieldsEnd)
    }

    /// Event id from a number of [`Short::Id`].
    #[inline]
    pub fn id(id: u32) -> EventId {
        match id & RECORD {
            0 => EventId::Hook(id as u16),
            _ => EventId::Record((id >> 16) as u8 & 0x7f, id as u16),
        }
    }

    /// Reason from a number of [`Short::Note`].
    #[inline]
    pub fn note(note: u32) -> RowNote {
        match note {
            1 => RowNote::Truncated,
            2 => RowNote::Limit,
            3 => RowNote::Refused,
            _ => RowNote::None,
        }
    }
}

/// Encodes an event id for [`Short::Id`].
#[inline]
pub(crate) fn id_number(id: EventId) -> u32 {
    match id {
        EventId::Hook(id) => id.into(),
        EventId::Record(class, event) => RECORD | u32::from(class) << 16 | u32::from(event),
    }
}

/// Part of a text, which starts at the end of the previous one; empty if it does not exist.
#[inline]
fn part<'b>(all: &'b [u8], ends: &[[u8; 4]], index: usize) -> &'b [u8] {
    let end = |index: usize| ends.get(index).map(|end| u32::from_le_bytes(*end) as usize);
    let start = if index == 0 { Some(0) } else { end(index - 1) };
    start.zip(end(index)).and_then(|(start, end)| all.get(start..end)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_as_they_were_written() {
        let mut writer = BlockWriter::default();
        let mut text = TextBuf::new();
        let ids = [EventId::Hook(0xffff), EventId::Record(31, 1023), EventId::Hook(0)];
        let pids = [Some(-2), None, Some(i64::MAX)];
        for (at, (id, pid)) in ids.into_iter().zip(pids).enumerate() {
            text.push([&b"two\nlines"[..], b"", b"third"][at]);
            writer.push_long(Long::Seq, Some(at as i64));
            writer.push_long(Long::Pid, pid);
            writer.push_long(Long::TimeUs, None);
            writer.push_short(Short::Id, id_number(id));
            let name = writer.name([&b"/usr/bin/ls"[..], b"", b"cp"][at]);
            writer.push_short(Short::Process, name);
            writer.push_short(Short::Note, RowNote::Refused as u32);
            writer.push_short(Short::TextEnd, text.len() as u32);
            writer.push_short(Short::FieldsEnd, 2 * at as u32);
        }
        let facts = TraceFacts { system: vec![("node", String::from("n"))], ..TraceFacts::default() };
        assert_eq!(writer.len(), 3);
        let n_text = text.len();
        text.push(b"{}[]");
        writer.finish(n_text, &[1, 0, 2, 2, 3, 0, 1, 10, 11, 20, 21, 30, 31], &facts, &mut text);
        assert_eq!(writer.len(), 0);
        let (block, found) = RowBlock::read(text.as_bytes()).unwrap();
        assert_eq!((block.len(), found), (3, facts));
        for (at, (id, pid)) in ids.into_iter().zip(pids).enumerate() {
            let short = |column| block.short(column).value(at);
            assert_eq!((RowBlock::id(short(Short::Id)), block.long(Long::Pid).get(at)), (id, pid));
            assert_eq!((block.long(Long::Seq).value(at), block.long(Long::TimeUs).get(at)), (at as i64, None));
            assert_eq!((short(Short::Cpu), block.long(Long::Tid).get(at)), (NULL, None));
            assert_eq!(block.name(short(Short::Process)), [&b"/usr/bin/ls"[..], b"", b"cp"][at]);
            assert_eq!(RowBlock::note(short(Short::Note)), RowNote::Refused);
            assert_eq!(block.text(at), [&b"two\nlines"[..], b"", b"third"][at]);
            assert_eq!(block.fields(at), [&b""[..], b"{}", b"[]"][at]);
        }
        let flat = block.flat_rows().map(|flat| {
            let words = flat.columns(1..2).map(|column| column.iter().map(|word| word[0]).collect::<Vec<_>>());
            (flat.rows().collect::<Vec<_>>(), flat.n_columns(), words.collect::<Vec<_>>())
        });
        let expected = [(vec![2], 0, vec![]), (vec![0, 1], 3, vec![vec![11], vec![21], vec![31]])];
        assert_eq!(flat.collect::<Vec<_>>(), expected);
        assert!(block.long(Long::Seq).has_no_nulls() && !block.long(Long::Pid).has_no_nulls());
        assert!(!block.long(Long::Tid).has_no_nulls());
        let bytes = text.as_bytes();
        assert!(RowBlock::read(&bytes[..bytes.len() - 1]).is_none() && RowBlock::read(&[]).is_none());
    }
}
