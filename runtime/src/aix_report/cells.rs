//! Everything that precedes an event's text, compiled once per report into a list of cells: columns, the delimiters and
//! keys of tables, and colour codes.
//!
//! ```text
//! --columns id,exec,pid,svc,elapsed,delta,text      Id  Context(0)  Svc  Times
//! --to tsv                                          Hook  Elapsed "\t"  Delta "\t"
//! ```
//!
//! Parts that all events of a hook share are rendered once per hook. Context columns are rendered once per thread and
//! context, because neighbouring events share them.

use super::batch::{BLOCK, Batch, EventRef, SharedContext, SvcBlock, SvcText};
use crate::catalog::Catalog;
use crate::columns::{
    AixWriter, Column, ColumnWriter, Columns, ContextRow, ContextValue, ValueType, left, push_right_aligned,
};
use crate::ids::display_id;
use crate::json;
use crate::literal::{self, Literal, store};
use crate::output_format::Form;
use crate::reader::aix::LogInfo;
use crate::terminal::ReportColour;
use tfbc_vm::{COLUMNS, Level, TextBuf, num};

/// The cells of a report.
pub(super) struct Cells {
    list: Box<[Cell]>,
    /// Groups of context columns, by the index in [`CellContent::Context`].
    segments: Box<[Segment]>,
    form: Form,
    colour: ReportColour,
    quick: FastLayout,
    frame: Frame,
    /// True if there are context columns.
    has_context: bool,
    has_svc: bool,
    /// Width of the system call column; 0 without one.
    svc_width: u8,
    /// Bytes before and after the id in [`CellContent::Hook`].
    around_id: [Box<[u8]>; 2],
}

/// Fast path of [`Cells::put`], which writes all cells of an event into a buffer of [`COLUMNS`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FastLayout {
    /// Id and times in their common forms, at fixed offsets.
    Plain(Plain),
    /// Id and times with context columns: all offsets are equal for a thread's events, see [`Head`]. The number is the
    /// width of the id column, 0 without one.
    Headed(u8),
    /// Id, columns of the context if there are any, elapsed time and delta of a table.
    TableRow(RowEnd),
    /// Cells written one by one.
    InOrder,
    /// Cells written one by one, with the fields after this number of cells.
    AroundFields(u8),
    /// No fast path: the cells may need a larger buffer.
    Never,
}

/// Path of [`Cells::put_on`] that a caller knows in advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellsPath {
    /// Id and times at fixed offsets, or nothing.
    Plain,
    /// Id, times and columns of the context at fixed offsets, see [`Head`].
    Headed,
    /// Row of a table, see [`RowEnd`].
    TableRow,
    Any,
}

/// Texts before and after all cells: colour codes and the end of a line.
#[derive(Debug, Clone, Default)]
struct Frame {
    before: Literal,
    /// Cells between the texts.
    cells: Box<[Cell]>,
    after: Literal,
}

/// Fixed offsets of cells. A missing cell gets the offset after the last one, where the text overwrites it, so no
/// branch is needed. An elapsed time of 6 decimals is written with 9, one byte earlier: its first blank replaces a blank
/// before it, and the next cell or the text its last digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Plain {
    len: u8,
    id_at: u8,
    /// Width of the id column; 0 without one.
    id_width: u8,
    elapsed_at: u8,
    delta_at: u8,
}

/// Bytes after the elapsed time of a table row, with a place for the delta: `,"delta":0.000000,"text":"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RowEnd {
    text: [u8; RowEnd::MAX],
    len: u8,
    /// Offset of the delta's point.
    point: u8,
}

/// Start of all lines of a thread: its context columns, and blanks for the other cells, which have fixed offsets. Times
/// come last, so that a wide system call moves only them.
#[derive(Debug, Clone, Copy)]
struct Head {
    text: HeadText,
    /// Length of the columns before the times.
    len: u8,
    /// Offset of the depth; outside of the text without one, like `svc_at`.
    depth_at: u8,
    svc_at: u8,
    plain: Plain,
}

/// Text of a [`Head`], with room for any system call that fits.
type HeadText = [u8; Head::MAX + BLOCK];

/// A value, and the bytes after it.
#[derive(Debug, Clone, Copy)]
struct Cell {
    put: CellContent,
    /// Function that writes the value and the bytes after it. A call costs less than one large `match`.
    write: Write,
    /// Width of the column, or index of the segment.
    number: u8,
    /// True if a blank must separate the value from the previous one when they would touch.
    apart: bool,
    after: Literal,
}

type Write = fn(&Cell, &EventValues<'_>, &mut Room, usize) -> usize;

/// Buffer of the cells of an event.
type Room = [u8; COLUMNS];

/// Content of a cell.
#[derive(Debug, Clone, Copy)]
enum CellContent {
    Nothing,
    /// Hook id in a column of this width.
    Id(u8),
    /// Part of a table row that depends on the hook alone: id, label, and the bytes around them.
    Hook,
    /// Columns of one segment.
    Context(u8),
    /// Depth of interrupts in a column of this width, blank at 0.
    Depth(u8),
    BareDepth,
    /// System call in a column of this width.
    Svc(u8),
    BareSvc,
    JsonSvc,
    /// Fields as JSON.
    Fields,
    /// Elapsed time and delta in their default columns.
    Times,
    Elapsed,
    ElapsedShort,
    Delta,
    DeltaMicro,
    BareElapsed,
    BareElapsedShort,
    BareDelta,
    BareDeltaMicro,
    /// End of a line, without the blanks before it.
    EndLine,
}

/// Adjacent context columns, each with the bytes before it and its width.
#[derive(Debug, Default)]
struct Segment(Vec<(Vec<u8>, Column, usize)>);

impl Cells {
    /// Cells for a report's columns. Empty if nothing but the text is written.
    pub fn new(columns: &Columns, form: Form, colour: ReportColour) -> Self {
        Self::build(columns, form, colour, false)
    }

    /// Cells of a JSON line before the value of its last column, which contains the fields.
    pub fn before_fields(columns: &Columns) -> Self {
        Self::build(columns, Form::Ndjson, ReportColour::Off, true)
    }

    fn build(columns: &Columns, form: Form, colour: ReportColour, before_fields: bool) -> Self {
        let (list, segments, around_id) = (Vec::new(), Vec::new(), Default::default());
        let mut cells = Builder { columns, form, before_fields, list, segments, around_id };
        match form {
            Form::Text => cells.text(colour),
            Form::Tsv | Form::Csv => cells.table(),
            Form::Ndjson => cells.object(),
        }
        let Builder { list, segments, around_id, .. } = cells;
        // A cell may store more than its text, because it stores whole blocks. The next cell overwrites the rest.
        let fit = |list: &[Cell]| {
            let mut at = 1;
            list.iter().all(|cell| {
                let (len, stored) = cell.max_len();
                at += len;
                at - len + stored <= COLUMNS
            })
        };
        let fits = fit(&list);
        let is_field = |cell: &Cell| matches!(cell.put, CellContent::Fields);
        let around_fields =
            list.iter().position(is_field).filter(|n| fit(&list[..*n]) && fit(&list[n + 1..])).map(|n| n as u8);
        // Tries the fastest path first. The choice is made once per report, not per event.
        let frame = if form == Form::Text { Frame::of(&list) } else { Frame::default() };
        let quick = match Plain::of(&frame) {
            Some(plain) if form == Form::Text => FastLayout::Plain(plain),
            _ if !fits => around_fields.map_or(FastLayout::Never, FastLayout::AroundFields),
            _ if form == Form::Text => Head::id_width(&frame.cells).map_or(FastLayout::InOrder, FastLayout::Headed),
            _ => RowEnd::of(&list).map_or(FastLayout::InOrder, FastLayout::TableRow),
        };
        let any = |is: fn(CellContent) -> bool| list.iter().any(|cell| is(cell.put));
        Self {
            svc_width: list.iter().find(|cell| matches!(cell.put, CellContent::Svc(_))).map_or(0, |cell| cell.number),
            has_svc: any(|put| matches!(put, CellContent::Svc(_) | CellContent::BareSvc | CellContent::JsonSvc)),
            has_context: !segments.is_empty()
                || any(|put| {
                    matches!(
                        put,
                        CellContent::Depth(_)
                            | CellContent::BareDepth
                            | CellContent::Svc(_)
                            | CellContent::BareSvc
                            | CellContent::JsonSvc
                    )
                }),
            list: list.into(),
            segments: segments.into(),
            form,
            colour,
            quick,
            frame,
            around_id: around_id.map(Vec::into_boxed_slice),
        }
    }

    /// No cells.
    pub fn none() -> Self {
        Self {
            list: Box::default(),
            segments: Box::default(),
            form: Form::Text,
            colour: ReportColour::Off,
            quick: FastLayout::Plain(Plain::default()),
            frame: Frame::default(),
            has_context: false,
            has_svc: false,
            svc_width: 0,
            around_id: Default::default(),
        }
    }

    /// True if nothing precedes a text.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// True if there are context columns.
    pub fn has_context(&self) -> bool {
        self.has_context
    }

    /// True if something precedes the texts of a level.
    pub fn precede(&self, level: Level) -> bool {
        let is_bare = self.form == Form::Text && level == Level::Zero;
        !(self.list.is_empty() || is_bare)
    }

    /// Cells of a canonical hook id.
    pub fn id(&self, id: u16, catalog: &Catalog<'_>) -> IdCells {
        let hook = catalog.lookup(id).and_then(|entry| catalog.program(entry).hook(entry.id()));
        self.id_with(id, hook.as_ref().map_or(b"", |hook| hook.label))
    }

    fn id_with(&self, id: u16, label: &[u8]) -> IdCells {
        if !self.list.iter().any(|cell| matches!(cell.put, CellContent::Hook)) {
            return IdCells::new(id, b"");
        }
        // The label belongs to the hook too, so JSON rows store both with the bytes around them, and an event copies
        // them in one piece.
        let mut text = TextBuf::new();
        let [before, after] = &self.around_id;
        text.push(before);
        if self.form == Form::Ndjson {
            json::string(display_id(id).as_bytes(), &mut text);
            text.push(b",\"label\":");
            json::string(label, &mut text);
        } else {
            text.push(display_id(id).as_bytes());
        }
        text.push(after);
        IdCells::new(id, text.as_bytes())
    }

    /// True if [`Cells::put`] can write the cells of a hook's events, unless a value is wider than its column.
    pub fn fit(&self, id: &IdCells) -> bool {
        match self.quick {
            FastLayout::Plain(Plain { id_width, .. }) | FastLayout::Headed(id_width) => {
                id_width == 0 || id.text.len() < id_width.into()
            }
            FastLayout::TableRow(_) | FastLayout::InOrder | FastLayout::AroundFields(_) => {
                id.text_of_hook.len() <= IdCells::MAX_LEN
            }
            FastLayout::Never => false,
        }
    }

    /// True if all times of an event leave at least one blank in their columns. Always true for tables, which have no
    /// columns.
    #[inline(always)]
    pub fn times_fit(&self, times: &mut Times, event: EventTimes) -> bool {
        times.advance(event) || self.form != Form::Text
    }

    /// Fast path: writes the cells of an event for which [`Cells::fit`] and [`Cells::times_fit`] are true, and returns
    /// their length. `values` is called only if cells other than id and times are written.
    #[inline(always)]
    pub fn put<'v>(
        &self,
        id: &IdCells,
        values: impl Fn() -> EventValues<'v>,
        event: EventTimes,
        times: &Times,
        room: &mut Room,
    ) -> usize {
        let Frame { before, after, .. } = &self.frame;
        match &self.quick {
            FastLayout::Plain(plain) => {
                before.put(room, 0);
                let end = plain.put(id, event, times, room);
                after.put(room, end)
            }
            FastLayout::Headed(_) => self.put_headed::<true>(id, values, event, times, room),
            FastLayout::TableRow(end) => self.put_table_row(end, id, values, event, times, room),
            FastLayout::InOrder | FastLayout::AroundFields(_) | FastLayout::Never => self.put_in_order(&values(), room),
        }
    }

    /// Writes the cells of [`FastLayout::Headed`], which have a text after them only if they are `FRAMED`.
    #[inline(always)]
    fn put_headed<'v, const FRAMED: bool>(
        &self,
        id: &IdCells,
        values: impl Fn() -> EventValues<'v>,
        event: EventTimes,
        times: &Times,
        room: &mut Room,
    ) -> usize {
        // A thread whose values do not fit has no head, but its lines can still be written cell by cell.
        let texts = values().texts;
        if !texts.has_head {
            return self.put_in_order(&values(), room);
        }
        let end = texts.headed.put(id, event, times, room);
        if FRAMED { self.frame.after.put(room, end) } else { end }
    }

    /// Writes the cells of [`FastLayout::TableRow`] without a call for each, unless a time is rare.
    #[inline(always)]
    fn put_table_row<'v>(
        &self,
        end: &RowEnd,
        id: &IdCells,
        values: impl Fn() -> EventValues<'v>,
        EventTimes { elapsed_ns, last_ns }: EventTimes,
        times: &Times,
        room: &mut Room,
    ) -> usize {
        let since_ns = elapsed_ns.wrapping_sub(times.since_ns);
        let delta_ns = elapsed_ns.checked_sub(last_ns).unwrap_or(MS);
        if since_ns >= MS || delta_ns >= MS {
            return self.put_any_row(&values(), room);
        }
        let mut at = id.put(room, 0);
        if self.has_context {
            match values().texts.put_row(room, at) {
                Some(end) => at = end,
                None => return self.put_any_row(&values(), room),
            }
        }
        at = literal::start(times.put_bare(since_ns as u32, room, literal::start(at)));
        store(room, at, end.text);
        if let Some(digits) = room[literal::start(at + usize::from(end.point))..].first_chunk_mut() {
            num::point6(digits, delta_ns as u32);
        }
        at + usize::from(end.len)
    }

    #[inline(never)]
    fn put_any_row(&self, values: &EventValues<'_>, room: &mut Room) -> usize {
        self.put_in_order(values, room)
    }

    /// Path that [`Cells::put_on`] takes to write the cells.
    pub fn path(&self) -> CellsPath {
        match self.quick {
            _ if !self.frame.is_empty() => CellsPath::Any,
            FastLayout::Plain(_) => CellsPath::Plain,
            FastLayout::TableRow(_) => CellsPath::TableRow,
            FastLayout::Headed(_) => CellsPath::Headed,
            FastLayout::InOrder | FastLayout::AroundFields(_) | FastLayout::Never => CellsPath::Any,
        }
    }

    /// Like [`Cells::put`], on a known path: the result of [`Cells::path`], or any path.
    #[inline(always)]
    pub fn put_on<'v>(
        &self,
        path: CellsPath,
        id: &IdCells,
        values: impl Fn() -> EventValues<'v>,
        event: EventTimes,
        times: &Times,
        room: &mut Room,
    ) -> usize {
        match (path, &self.quick) {
            (CellsPath::Plain, FastLayout::Plain(plain)) => plain.put(id, event, times, room),
            (CellsPath::Headed, _) => self.put_headed::<false>(id, values, event, times, room),
            (CellsPath::TableRow, FastLayout::TableRow(end)) => self.put_table_row(end, id, values, event, times, room),
            (CellsPath::Plain | CellsPath::TableRow, _) => 0,
            (CellsPath::Any, _) => self.put(id, values, event, times, room),
        }
    }

    #[inline(always)]
    fn put_in_order(&self, values: &EventValues<'_>, room: &mut Room) -> usize {
        self.list.iter().fold(0, |at, cell| (cell.write)(cell, values, room, at))
    }

    /// Writes the cells before the fields, and returns their length.
    pub fn put_before_fields(&self, values: &EventValues<'_>, room: &mut Room) -> usize {
        let FastLayout::AroundFields(n) = self.quick else { return 0 };
        let Some((cells, [fields, ..])) = self.list.split_at_checked(n.into()) else { return 0 };
        let at = cells.iter().fold(0, |at, cell| (cell.write)(cell, values, room, at));
        fields.begin(values, room, at)
    }

    /// Writes the cells after the fields, whose last byte is in the room, and returns the length of both.
    pub fn put_after_fields(&self, values: &EventValues<'_>, room: &mut Room) -> usize {
        let FastLayout::AroundFields(n) = self.quick else { return 1 };
        // The cell of the fields writes only the bytes after them.
        self.list.iter().skip(n.into()).fold(1, |at, cell| (cell.write)(cell, values, room, at))
    }

    /// Slow path: appends the cells of any event.
    #[inline(never)]
    pub fn append(&self, values: &EventValues<'_>, is_narrow: bool, out: &mut TextBuf) {
        let line = out.len() + self.colour_len();
        // `room[0]` is a copy of the last byte appended, so that a cell can detect if it touches the previous one.
        let mut room = [b' '; COLUMNS];
        let mut at = 1;
        // Cells that fit still use their fast writer, in `room`. The others are appended directly, after the contents
        // of `room`.
        for cell in &self.list {
            let svc = values.svc();
            let long = match cell.put {
                CellContent::Hook => Some(&values.id.text_of_hook[..]),
                CellContent::Context(n) => values.context(n).long.as_deref(),
                CellContent::Svc(_) | CellContent::BareSvc | CellContent::JsonSvc if !self.fits_svc(svc.name()) => {
                    Some(svc.name())
                }
                CellContent::Fields => Some(values.fields),
                _ => None,
            };
            // Half the room is more than the longest cell that fits, so no cell can run past its end.
            if long.is_some() || at > COLUMNS / 2 || matches!(cell.put, CellContent::EndLine) {
                out.push(&room[1..at]);
                (room[0], at) = (room[at - 1], 1);
            }
            match cell.put {
                CellContent::EndLine => {
                    crate::columns::trim(line.min(out.len()), out);
                    out.push(b"\n");
                }
                CellContent::Times
                | CellContent::Elapsed
                | CellContent::ElapsedShort
                | CellContent::Delta
                | CellContent::DeltaMicro
                    if !is_narrow =>
                {
                    out.push(&room[1..at]);
                    let columns = if matches!(cell.put, CellContent::Times) {
                        &[CellContent::Elapsed, CellContent::Delta][..]
                    } else {
                        &[cell.put]
                    };
                    // The first cell has no previous value to touch.
                    let line = if cell.apart { line } else { out.len() };
                    columns.iter().for_each(|put| put.wide_time(values, line, out));
                    (room[0], at) = (out.as_bytes().last().copied().unwrap_or(b' '), 1);
                }
                put if long.is_some() => {
                    let text = long.unwrap_or_default();
                    if cell.apart && room[0] != b' ' && !values.starts_blank(put) {
                        out.push(b" ");
                    }
                    match put {
                        CellContent::BareSvc | CellContent::JsonSvc => self.form.value(text, out),
                        CellContent::Fields if matches!(self.form, Form::Tsv | Form::Csv) => self.form.value(text, out),
                        _ => out.push(text),
                    }
                    room[0] = out.as_bytes().last().copied().unwrap_or(b' ');
                }
                _ => {
                    at = (cell.write)(cell, values, &mut room, at);
                    continue;
                }
            }
            at = cell.after.put(&mut room, at);
        }
        out.push(&room[1..at]);
    }

    /// System call of an event; empty if no cell shows it.
    #[inline(always)]
    fn svc<'b>(&self, batch: &'b Batch, shared: &SharedContext) -> SvcBlock<'b> {
        if self.has_svc { batch.svc(shared) } else { SvcBlock::EMPTY }
    }

    /// True if [`Cells::put`] can write a system call.
    #[inline]
    fn fits_svc(&self, svc: &[u8]) -> bool {
        svc.len() < BLOCK && (self.form == Form::Text || self.form.is_plain(svc))
    }

    /// Length of the colour code before the first column.
    fn colour_len(&self) -> usize {
        match self.list.first() {
            Some(Cell { put: CellContent::Nothing, after, .. }) if after.as_bytes() == self.colour.dim() => after.len(),
            _ => 0,
        }
    }
}

impl Frame {
    /// Splits the texts off the cells. The text after the cells is that of all cells after the last time.
    fn of(list: &[Cell]) -> Self {
        let (before, cells) = match list {
            [Cell { put: CellContent::Nothing, after, .. }, cells @ ..] => (*after, cells),
            cells => (Literal::default(), cells),
        };
        let is_time = |cell: &Cell| matches!(cell.put, CellContent::Times | CellContent::Elapsed | CellContent::Delta);
        let n = cells.iter().rposition(is_time).map_or(0, |last| last + 1);
        let (mut cells, rest) = (cells[..n].to_vec(), &cells[n..]);
        let mut after = cells.last_mut().map(|last| std::mem::take(&mut last.after));
        for cell in rest {
            let end: &[u8] = match cell.put {
                CellContent::Nothing => b"",
                // No blanks precede it: times end in digits.
                CellContent::EndLine => b"\n",
                _ => return Self::unsplit(list),
            };
            let text = [end, cell.after.as_bytes()].concat();
            let is_whole = after.as_mut().is_some_and(|after| after.append(&text).is_empty());
            if !is_whole || text.contains(&b' ') {
                return Self::unsplit(list);
            }
        }
        match after {
            Some(after) => Self { before, cells: cells.into(), after },
            None => Self::unsplit(list),
        }
    }

    fn unsplit(list: &[Cell]) -> Self {
        Self { cells: list.into(), ..Self::default() }
    }

    /// True if there are no texts.
    fn is_empty(&self) -> bool {
        self.before.len() == 0 && self.after.len() == 0
    }
}

impl Plain {
    /// Computes the offsets; `None` if there are cells other than an id and times in their default columns.
    fn of(Frame { before, cells, .. }: &Frame) -> Option<Self> {
        let start = before.len() as u8;
        let (mut plain, mut at) = (Self::default(), start);
        let (mut elapsed_at, mut delta_at) = (None, None);
        for cell in cells {
            match cell.put {
                // An id is stored with blanks after it, so its column must come first.
                CellContent::Id(width) if at == start => (plain.id_width, plain.id_at, at) = (width, at, at + width),
                // The elapsed column has 14 bytes and the delta column 15. Both together are one cell.
                CellContent::Times => (elapsed_at, delta_at, at) = (Some(at), Some(at + 14), at + Times::WIDTH as u8),
                CellContent::Elapsed => (elapsed_at, at) = (Some(at), at + 14),
                CellContent::ElapsedShort if at > start => (elapsed_at, at) = (Some(at - 1), at + 10),
                CellContent::Delta => (delta_at, at) = (Some(at), at + 15),
                _ => return None,
            }
            if cell.after.len() > 0 {
                return None;
            }
        }
        plain.len = at;
        (plain.elapsed_at, plain.delta_at) = (elapsed_at.unwrap_or(at), delta_at.unwrap_or(at));
        if plain.id_width == 0 {
            plain.id_at = at;
        }
        Some(plain)
    }

    /// Writes the cells. An id is stored with blanks after it, which the other cells replace.
    #[inline(always)]
    fn put(&self, id: &IdCells, event: EventTimes, times: &Times, room: &mut Room) -> usize {
        store(room, self.id_at.into(), id.text.0.to_le_bytes());
        self.put_times(event, times, room)
    }

    /// Writes the times, and returns the length of all cells.
    #[inline(always)]
    fn put_times(&self, event: EventTimes, times: &Times, room: &mut Room) -> usize {
        // Offsets come from this report's layout and always fit. `first_chunk_mut` proves the length to the compiler,
        // so that the digits are stored without checks.
        if let Some(room) = room[usize::from(self.elapsed_at)..].first_chunk_mut() {
            times.elapsed(event.elapsed_ns, room);
        }
        if let Some(room) = room[usize::from(self.delta_at)..].first_chunk_mut() {
            times.delta(event.delta_ns(), room);
        }
        self.len.into()
    }

    /// Moves the times, and with them the end of all cells.
    #[inline(always)]
    fn moved(self, n: u8) -> Self {
        let Self { elapsed_at, delta_at, len, .. } = self;
        Self { elapsed_at: elapsed_at + n, delta_at: delta_at + n, len: len + n, ..self }
    }
}

impl RowEnd {
    const MAX: usize = 32;

    /// Bytes after the elapsed time; `None` if the cells are not those of [`FastLayout::TableRow`], or if there are
    /// more bytes than fit.
    fn of(list: &[Cell]) -> Option<Self> {
        use CellContent::{BareDelta, BareDepth, BareElapsed, BareSvc, Context, Hook, JsonSvc};
        let [hook, context @ .., elapsed, delta] = list else { return None };
        let is_context = |cell: &Cell| matches!(cell.put, Context(_) | BareDepth | BareSvc | JsonSvc);
        let is_row = matches!((hook.put, elapsed.put, delta.put), (Hook, BareElapsed, BareDelta));
        if !is_row || !context.iter().all(is_context) {
            return None;
        }
        let (before, after) = (elapsed.after.as_bytes(), delta.after.as_bytes());
        let bytes = [before, b"0.000000", after].concat();
        let mut text = [0; Self::MAX];
        text.get_mut(..bytes.len())?.copy_from_slice(&bytes);
        Some(Self { text, len: bytes.len() as u8, point: before.len() as u8 + 1 })
    }
}

impl Head {
    /// Maximum length of the columns before the times: enough for the default context columns. Wider ones are written
    /// cell by cell.
    const MAX: usize = 128;

    /// Width of the id column; `None` if the cells have no fixed offsets.
    fn id_width(list: &[Cell]) -> Option<u8> {
        let (mut width, mut n_ended) = (0, 0);
        let mut is_after_svc = false;
        for (at, cell) in list.iter().enumerate() {
            // A cell after a system call or a time has no fixed offset, unless it is a time too.
            match cell.put {
                CellContent::Times | CellContent::Elapsed | CellContent::Delta => n_ended += 1,
                // A wide system call may have no blank after it.
                CellContent::ElapsedShort if at > 0 && !is_after_svc => n_ended += 1,
                CellContent::Svc(_) if n_ended == 0 => n_ended += 1,
                CellContent::Id(number) if n_ended == 0 => width = number,
                CellContent::Context(_) | CellContent::Depth(_) if n_ended == 0 => {}
                _ => return None,
            }
            is_after_svc = matches!(cell.put, CellContent::Svc(_));
            if cell.after.len() > 0 {
                return None;
            }
        }
        Some(width)
    }

    /// Head of a thread's lines; `None` if a value touches the next cell, or if the head would be too long.
    fn new(Frame { before, cells, .. }: &Frame, texts: &[ContextText]) -> Option<Self> {
        let mut head = Self {
            text: [b' '; Self::MAX + BLOCK],
            len: 0,
            depth_at: u8::MAX,
            svc_at: u8::MAX,
            plain: Plain::default(),
        };
        let (text, plain) = (&mut head.text[..Self::MAX], &mut head.plain);
        let start = before.len();
        text.get_mut(..start)?.copy_from_slice(before.as_bytes());
        let (mut at, mut copied) = (start, start);
        let (mut id_at, mut elapsed_at, mut delta_at) = (None, None, None);
        for cell in cells {
            if cell.apart && at > 0 && text.get(at - 1) != Some(&b' ') {
                return None;
            }
            let place = Some(at);
            match cell.put {
                CellContent::Context(n) => {
                    let found = texts.get(usize::from(n)).filter(|text| text.long.is_none())?;
                    let found = found.text.get(..found.len.into())?;
                    text.get_mut(at..at + found.len())?.copy_from_slice(found);
                    at += found.len();
                }
                CellContent::Id(width) => (id_at, at) = (place, at + usize::from(width)),
                CellContent::Depth(width) => (head.depth_at, at) = (u8::try_from(at).ok()?, at + usize::from(width)),
                CellContent::Svc(width) => (head.svc_at, at) = (u8::try_from(at).ok()?, at + usize::from(width)),
                CellContent::Elapsed => (elapsed_at, at) = (place, at + 14),
                CellContent::ElapsedShort => (elapsed_at, at) = (Some(at.checked_sub(1)?), at + 10),
                CellContent::Delta => (delta_at, at) = (place, at + 15),
                _ => (elapsed_at, delta_at, at) = (place, Some(at + 14), at + Times::WIDTH),
            }
            use CellContent::{Delta, Elapsed, ElapsedShort};
            if !matches!(cell.put, CellContent::Times | Elapsed | ElapsedShort | Delta) {
                copied = at;
            }
        }
        // A wide system call may move the times by almost a block.
        if copied > Self::MAX || at + BLOCK > u8::MAX.into() {
            return None;
        }
        let offset = |place: Option<usize>| place.unwrap_or(at) as u8;
        (plain.len, head.len) = (at as u8, copied as u8);
        (plain.id_at, plain.elapsed_at, plain.delta_at) = (offset(id_at), offset(elapsed_at), offset(delta_at));
        Some(head)
    }
}

impl Cell {
    /// Maximum length of the cell if its value fits, and the number of bytes that writing it stores.
    fn max_len(&self) -> (usize, usize) {
        let blank = usize::from(self.apart);
        let (len, stored) = match self.put {
            CellContent::Nothing => (0, 0),
            CellContent::Id(width) => (width.into(), 8),
            CellContent::Hook => (IdCells::MAX_LEN, IdCells::MAX_LEN),
            CellContent::Context(_) => (ContextText::MAX, ContextText::MAX),
            CellContent::Depth(_) | CellContent::BareDepth => (2, 16),
            CellContent::Svc(width) => (BLOCK.max(width.into()), BLOCK.max(width.into())),
            CellContent::BareSvc | CellContent::JsonSvc => (BLOCK + 2, BLOCK + 2),
            CellContent::Times => (Times::WIDTH, Times::WIDTH),
            CellContent::Elapsed => (14, 14),
            CellContent::ElapsedShort => (10, 10),
            CellContent::Delta | CellContent::DeltaMicro => (15, 15),
            CellContent::BareElapsed
            | CellContent::BareElapsedShort
            | CellContent::BareDelta
            | CellContent::BareDeltaMicro => (22, 32),
            CellContent::EndLine => (1, 1),
            // Fields have no limit, so the slow path writes them.
            CellContent::Fields => (COLUMNS + 1, COLUMNS + 1),
        };
        (blank + len + self.after.len(), (blank + stored).max(blank + len + Literal::MAX))
    }

    /// Cell without bytes after it.
    fn new(put: CellContent, apart: bool) -> Self {
        let number = match put {
            CellContent::Id(number)
            | CellContent::Context(number)
            | CellContent::Depth(number)
            | CellContent::Svc(number) => number,
            _ => 0,
        };
        Self { put, write: put.writer(), number, apart, after: Literal::default() }
    }

    /// Writes the bytes after the value.
    #[inline(always)]
    fn end(&self, room: &mut Room, at: usize) -> usize {
        self.after.put(room, at)
    }

    /// Separates a value from the previous one. Right-aligned values that fit start with a blank anyway.
    #[inline(always)]
    fn begin(&self, values: &EventValues<'_>, room: &mut Room, at: usize) -> usize {
        // For the first cell of a line, `wrapping_sub` gives an index outside of `room`, where no value can touch it.
        let touches = self.apart && room.get(at.wrapping_sub(1)).is_some_and(|byte| *byte != b' ');
        if touches && !values.starts_blank(self.put) {
            store(room, at, [b' ']);
            return at + 1;
        }
        at
    }
}

/// Functions that write a cell at an offset and return its end.
impl CellContent {
    fn writer(self) -> Write {
        match self {
            CellContent::Nothing => |cell, _, room, at| cell.end(room, at),
            CellContent::Id(_) => |cell, values, room, at| {
                let at = cell.begin(values, room, at);
                store(room, at, values.id.text.0.to_le_bytes());
                cell.end(room, at + usize::from(cell.number))
            },
            // The bytes after the id are part of the text.
            CellContent::Hook => |_, values, room, at| values.id.put(room, at),
            CellContent::Context(_) => |cell, values, room, at| values.put_context(cell, room, at),
            CellContent::Depth(_) => |cell, values, room, at| {
                let at = cell.begin(values, room, at);
                let len = values.depth(room, at);
                store(room, at + len, [b' '; 8]);
                cell.end(room, at + len.max(cell.number.into()))
            },
            CellContent::BareDepth => |cell, values, room, at| {
                let at = put_depth(room, at, values.shared().depth);
                cell.end(room, at)
            },
            CellContent::Svc(_) => |cell, values, room, at| {
                let at = cell.begin(values, room, at);
                let (block, len) = values.svc().block();
                store(room, at, block);
                cell.end(room, at + len.max(cell.number.into()))
            },
            CellContent::BareSvc => |cell, values, room, at| {
                let at = put_svc(room, at, &values.svc());
                cell.end(room, at)
            },
            CellContent::JsonSvc => |cell, values, room, at| {
                let at = put_json_svc(room, at, &values.svc());
                cell.end(room, at)
            },
            CellContent::Times => |cell, values, room, at| {
                if let Some(both) = room.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<{ Times::WIDTH }>())
                    && let Some((elapsed, delta)) = both.split_first_chunk_mut()
                    && let Some(delta) = delta.first_chunk_mut()
                {
                    values.times.elapsed(values.time.elapsed_ns, elapsed);
                    values.times.delta(values.time.abs_delta_ns(), delta);
                }
                cell.end(room, at + Times::WIDTH)
            },
            CellContent::Elapsed => |cell, values, room, at| {
                if let Some(text) = room.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
                    values.times.elapsed(values.time.elapsed_ns, text);
                }
                cell.end(room, at + 14)
            },
            CellContent::ElapsedShort => |cell, values, room, at| {
                let mut text = [0; 14];
                values.times.elapsed(values.time.elapsed_ns, &mut text);
                let [_, short @ .., _, _, _] = text;
                store(room, at, short);
                cell.end(room, at + 10)
            },
            CellContent::Delta => |cell, values, room, at| {
                if let Some(text) = room.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
                    values.times.delta(values.time.abs_delta_ns(), text);
                }
                cell.end(room, at + 15)
            },
            CellContent::DeltaMicro => |cell, values, room, at| {
                store(room, at, values.times.delta_micro(values.time.abs_delta_ns()));
                cell.end(room, at + 15)
            },
            CellContent::BareElapsed => |cell, values, room, at| {
                let at = values.bare_elapsed(room, at);
                cell.end(room, at)
            },
            CellContent::BareElapsedShort => |cell, values, room, at| {
                let at = num::decimal::<6>(room, at, values.time.elapsed_ns / 1000);
                cell.end(room, at)
            },
            CellContent::BareDelta => |cell, values, room, at| {
                let at = values.bare_delta(room, at);
                cell.end(room, at)
            },
            CellContent::BareDeltaMicro => |cell, values, room, at| {
                let at = values.sign(room, at);
                let at = num::decimal::<3>(room, at, values.time.abs_delta_ns());
                cell.end(room, at)
            },
            CellContent::EndLine => |cell, _, room, mut at| {
                while at > 0 && room[at - 1] == b' ' {
                    at -= 1;
                }
                store(room, at, [b'\n']);
                cell.end(room, at + 1)
            },
            CellContent::Fields => |cell, _, room, at| cell.end(room, at),
        }
    }
}

/// Writes the depth of interrupts in a table, and returns its end.
#[inline(always)]
fn put_depth(room: &mut Room, at: usize, depth: u32) -> usize {
    at + num::decimal_short(room.get_mut(at..).unwrap_or_default(), depth.into())
}

/// Writes a short system call, and returns its end.
#[inline(always)]
fn put_svc(room: &mut Room, at: usize, svc: &SvcBlock<'_>) -> usize {
    let (block, len) = svc.block();
    store(room, at, block);
    at + len
}

/// Writes a short system call as JSON, and returns its end.
#[inline(always)]
fn put_json_svc(room: &mut Room, at: usize, svc: &SvcBlock<'_>) -> usize {
    let (block, len) = svc.block();
    if len == 0 {
        store(room, at, *b"null");
        return at + 4;
    }
    store(room, at, [b'"']);
    store(room, at + 1, block);
    store(room, at + 1 + len, [b'"']);
    at + 2 + len
}

impl CellContent {
    /// Appends a time with too many digits for the fast path, which may be wider than its column.
    fn wide_time(&self, values: &EventValues<'_>, line: usize, out: &mut TextBuf) {
        let mut text = [0; 32];
        let at = values.sign(&mut text, 0);
        let (len, width) = match self {
            CellContent::Elapsed => (num::decimal::<9>(&mut text, 0, values.time.elapsed_ns), 14),
            CellContent::ElapsedShort => (num::decimal::<6>(&mut text, 0, values.time.elapsed_ns / 1000), 10),
            CellContent::Delta => (num::decimal::<6>(&mut text, at, values.time.abs_delta_ns()), 15),
            _ => (num::decimal::<3>(&mut text, at, values.time.abs_delta_ns()), 15),
        };
        push_right_aligned(&text[..len], width, line, out);
    }
}

/// Elapsed times of an event and of the event before it, from which the delta is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventTimes {
    pub elapsed_ns: u64,
    pub last_ns: u64,
}

impl EventTimes {
    /// Time since the event before, which must not be later.
    #[inline(always)]
    fn delta_ns(self) -> u64 {
        self.elapsed_ns - self.last_ns
    }

    /// Time between the two events, whichever is later.
    #[inline(always)]
    fn abs_delta_ns(self) -> u64 {
        self.elapsed_ns.abs_diff(self.last_ns)
    }

    /// True if the event before is later, as in a merged trace whose clocks differ: its delta gets a minus sign.
    #[inline(always)]
    fn is_negative(self) -> bool {
        self.elapsed_ns < self.last_ns
    }
}

/// Values of one event.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventValues<'e> {
    pub id: &'e IdCells,
    pub time: EventTimes,
    pub times: &'e Times,
    pub texts: &'e ContextTexts,
    pub batch: &'e Batch,
    /// Index of the event's context.
    pub setting: u32,
    /// Fields of the event as JSON, if a column shows them.
    pub fields: &'e [u8],
}

impl<'e> EventValues<'e> {
    #[inline(always)]
    fn shared(&self) -> &'e SharedContext {
        self.batch.shared_context(self.setting)
    }

    /// Text of a group of context columns.
    #[inline(always)]
    fn context(&self, n: u8) -> &'e ContextText {
        self.texts.of(n)
    }

    /// Writes a cell of context columns, and returns its end.
    #[inline(always)]
    fn put_context(&self, cell: &Cell, room: &mut Room, at: usize) -> usize {
        let at = cell.begin(self, room, at);
        let text = self.context(cell.number);
        if let Some((first, more)) = text.text.split_first_chunk()
            && let Some(more) = more.first_chunk::<{ 2 * BLOCKS }>()
        {
            store_blocks(room, at, text.len.into(), first, more);
        }
        cell.end(room, at + usize::from(text.len))
    }

    /// System call of the thread.
    #[inline(always)]
    fn svc(&self) -> SvcBlock<'e> {
        self.batch.svc(self.shared())
    }

    /// Writes the depth of interrupts, and up to three more bytes that are overwritten later. Returns the length, 0 for
    /// no depth.
    #[inline(always)]
    fn depth(&self, room: &mut [u8], at: usize) -> usize {
        match self.shared().depth {
            0 => 0,
            depth => num::decimal_short(room.get_mut(at..).unwrap_or_default(), depth.into()),
        }
    }

    /// Writes a minus sign if time went back, and returns its end.
    #[inline(always)]
    fn sign(&self, room: &mut [u8], at: usize) -> usize {
        store(room, at, [b'-']);
        at + usize::from(self.time.is_negative())
    }

    /// Writes an elapsed time without blanks, and returns its end.
    #[inline(always)]
    fn bare_elapsed(&self, room: &mut Room, at: usize) -> usize {
        let (times, elapsed_ns) = (self.times, self.time.elapsed_ns);
        if elapsed_ns.wrapping_sub(times.since_ns) >= MS {
            return any_decimal::<9>(room, at, elapsed_ns);
        }
        times.put_bare((elapsed_ns - times.since_ns) as u32, room, at)
    }

    /// Writes a delta without blanks, and returns its end.
    #[inline(always)]
    fn bare_delta(&self, room: &mut Room, at: usize) -> usize {
        let at = self.sign(room, at);
        let delta_ns = self.time.abs_delta_ns();
        if delta_ns >= MS {
            return any_decimal::<6>(room, at, delta_ns);
        }
        store(room, at, *b"0.");
        if let Some(text) = room.get_mut(at + 2..).and_then(|rest| rest.first_chunk_mut()) {
            num::six(text, delta_ns as u32);
        }
        at + 8
    }

    /// True if the first value of a cell is empty, so that the cell starts with a blank.
    #[inline(always)]
    fn starts_blank(&self, put: CellContent) -> bool {
        match put {
            CellContent::Context(n) => self.context(n).starts_blank,
            CellContent::Depth(_) => self.shared().depth == 0,
            CellContent::Svc(_) => self.shared().svc == SvcText::None,
            _ => false,
        }
    }
}

/// Compiles cells.
struct Builder<'c> {
    columns: &'c Columns,
    form: Form,
    /// True if the value of the last column is left out.
    before_fields: bool,
    list: Vec<Cell>,
    segments: Vec<Segment>,
    around_id: [Vec<u8>; 2],
}

impl Builder<'_> {
    fn text(&mut self, colour: ReportColour) {
        self.literal(colour.dim());
        for (at, column) in self.columns.list().iter().enumerate() {
            let ColumnWriter::Aix(writer) = column.info().writer else { continue };
            let put = match writer {
                AixWriter::HookId => CellContent::Id(self.columns.width(*column) as u8),
                AixWriter::Elapsed => CellContent::Elapsed,
                AixWriter::ElapsedShort => CellContent::ElapsedShort,
                AixWriter::Delta => CellContent::Delta,
                AixWriter::DeltaMicro => CellContent::DeltaMicro,
                AixWriter::Depth => CellContent::Depth(self.columns.width(*column) as u8),
                AixWriter::Svc => CellContent::Svc(self.columns.width(*column) as u8),
                AixWriter::Context(_) => {
                    self.context(*column, at > 0);
                    continue;
                }
                AixWriter::Fields => CellContent::Fields,
                AixWriter::Text => continue,
            };
            match (put, self.list.last_mut()) {
                (CellContent::Delta, Some(last)) if matches!(last.put, CellContent::Elapsed) => {
                    *last = Cell::new(CellContent::Times, last.apart)
                }
                _ => self.list.push(Cell::new(put, at > 0)),
            }
        }
        if self.columns.has_two_lines() {
            self.put(CellContent::EndLine);
        }
        self.literal(colour.plain());
        if !self.columns.has_text() {
            self.put(CellContent::EndLine);
        }
    }

    fn table(&mut self) {
        let delimiter = self.form.delimiter();
        for (at, column) in self.columns.list().iter().enumerate() {
            if at > 0 {
                self.literal(&delimiter);
            }
            self.value(*column);
        }
        match (self.columns.has_text(), self.columns.list()) {
            (false, _) => self.literal(self.form.line_end()),
            (true, []) => {}
            (true, _) => self.literal(&delimiter),
        }
    }

    /// `{"id":"010","label":"…","elapsed":0.000105984,…,"text":`, and the quote before the text.
    fn object(&mut self) {
        let list = self.columns.list();
        self.literal(b"{");
        for (at, column) in list.iter().enumerate() {
            if at > 0 {
                self.literal(b",");
            }
            self.literal(column.info().key.as_bytes());
            if !self.before_fields || at + 1 < list.len() {
                self.value(*column);
            }
        }
        match (self.columns.has_text(), list) {
            (false, _) if self.before_fields => {}
            (false, _) => self.literal(b"}\n"),
            (true, []) => self.literal(b"\"text\":\""),
            (true, _) => self.literal(b",\"text\":\""),
        }
    }

    fn value(&mut self, column: Column) {
        let ColumnWriter::Aix(writer) = column.info().writer else { return };
        let put = match writer {
            AixWriter::HookId => {
                self.around_id[0] = self.take_literals();
                CellContent::Hook
            }
            AixWriter::Elapsed => CellContent::BareElapsed,
            AixWriter::ElapsedShort => CellContent::BareElapsedShort,
            AixWriter::Delta => CellContent::BareDelta,
            AixWriter::DeltaMicro => CellContent::BareDeltaMicro,
            AixWriter::Depth => CellContent::BareDepth,
            AixWriter::Svc if self.form == Form::Ndjson => CellContent::JsonSvc,
            AixWriter::Svc => CellContent::BareSvc,
            AixWriter::Context(_) => return self.context(column, false),
            AixWriter::Fields => CellContent::Fields,
            AixWriter::Text => return,
        };
        self.put(put);
    }

    /// Adds a context column. It joins the last group if only literals are between them.
    fn context(&mut self, column: Column, apart: bool) {
        let width = self.columns.width(column);
        let is_nothing = |cell: &&Cell| matches!(cell.put, CellContent::Nothing);
        // Adjacent context columns are stored as one text per thread, so that an event copies them at once.
        let last = self.list.iter().rev().find(|cell| !is_nothing(cell));
        if !last.is_some_and(|cell| matches!(cell.put, CellContent::Context(_))) {
            let put = CellContent::Context(self.segments.len() as u8);
            self.list.push(Cell::new(put, apart));
            return self.segments.push(Segment(vec![(Vec::new(), column, width)]));
        }
        let before = self.take_literals();
        if let Some(segment) = self.segments.last_mut() {
            segment.0.push((before, column, width));
        }
    }

    /// Removes the bytes after the last value, and returns them.
    fn take_literals(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while let Some(last) = self.list.last_mut() {
            bytes.splice(..0, std::mem::take(&mut last.after).as_bytes().iter().copied());
            if !matches!(last.put, CellContent::Nothing) {
                break;
            }
            self.list.pop();
        }
        bytes
    }

    fn put(&mut self, put: CellContent) {
        self.list.push(Cell::new(put, false));
    }

    /// Adds bytes after the last value.
    fn literal(&mut self, bytes: &[u8]) {
        let rest = match self.list.last_mut() {
            Some(Cell { put: CellContent::Hook, .. }) => return self.around_id[1].extend_from_slice(bytes),
            Some(last) => last.after.append(bytes),
            None => bytes,
        };
        let cell = |after| Cell { after, ..Cell::new(CellContent::Nothing, false) };
        self.list.extend(Literal::all(rest).map(cell));
    }
}

/// A canonical hook id as its column shows it: three digits, or four if the last is not 0, and blanks. The first
/// character is the lowest byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IdText(u64);

impl IdText {
    /// Text of an id.
    #[inline]
    pub fn new(id: u16) -> Self {
        let [a, b, c, d] = num::hex4(id);
        let d = if id & 15 == 0 { b' ' } else { d };
        Self(u64::from_le_bytes([a, b, c, d, b' ', b' ', b' ', b' ']))
    }

    /// Number of digits.
    #[inline(always)]
    fn len(self) -> usize {
        3 + usize::from(self.0 >> 24 & 0xFF != u64::from(b' '))
    }
}

/// Cells of a hook id, made once per hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IdCells {
    text: IdText,
    /// Text of [`CellContent::Hook`], such as `{"id":"010","label":"…","elapsed":`.
    text_of_hook: Box<[u8]>,
    /// `text_of_hook` in blocks, followed by zeros.
    blocks: Box<[[u8; BLOCKS]; 2]>,
}

impl IdCells {
    /// Longest text of a hook that [`Cells::put`] can write.
    const MAX_LEN: usize = 2 * BLOCKS;

    fn new(id: u16, text_of_hook: &[u8]) -> Self {
        let mut blocks = Box::new([[0; BLOCKS]; 2]);
        blocks.as_flattened_mut().iter_mut().zip(text_of_hook).for_each(|(to, byte)| *to = *byte);
        Self { text: IdText::new(id), text_of_hook: text_of_hook.into(), blocks }
    }

    /// Writes the text of the hook, which contains the bytes after the id, and returns its end.
    #[inline(always)]
    fn put(&self, room: &mut Room, at: usize) -> usize {
        let [first, more] = &*self.blocks;
        store_blocks(room, at, self.text_of_hook.len(), first, more);
        at + self.text_of_hook.len()
    }
}

/// A millisecond.
const MS: u64 = 1_000_000;

/// Cache of the text of elapsed times: consecutive events share their millisecond.
#[derive(Debug)]
pub(super) struct Times {
    /// Start of the millisecond.
    since_ns: u64,
    /// Text of the millisecond, seconds included.
    text: [u8; 8],
    /// Text of the millisecond without blanks.
    bare: [u8; 8],
    bare_len: u8,
    /// True if elapsed times have 6 decimals.
    is_short: bool,
}

impl Times {
    /// Width of both columns in bytes.
    const WIDTH: usize = 14 + 15;

    pub fn new(columns: &Columns) -> Self {
        let (text, bare) = (*b"   0.000", *b"0.000   ");
        Self { since_ns: 0, text, bare, bare_len: 5, is_short: columns.list().contains(&Column::ElapsedShort) }
    }

    /// Moves the cache to an elapsed time. Returns false if the time or the delta may fill its whole column.
    #[inline(always)]
    pub fn advance(&mut self, event: EventTimes) -> bool {
        (event.elapsed_ns.wrapping_sub(self.since_ns) < MS || self.go_to(event.elapsed_ns)) && !event.is_negative()
    }

    /// Writes an elapsed time that is in the cached millisecond.
    #[inline(always)]
    fn elapsed(&self, elapsed_ns: u64, text: &mut [u8; 14]) {
        if let Some(text) = text.last_chunk_mut() {
            num::point6(text, (elapsed_ns - self.since_ns) as u32);
        }
        text[..8].copy_from_slice(&self.text);
    }

    /// Writes an elapsed time in the cached millisecond without blanks, and returns its end.
    #[inline(always)]
    fn put_bare(&self, since_ns: u32, room: &mut Room, at: usize) -> usize {
        store(room, at, self.bare);
        let at = at + usize::from(self.bare_len & 15);
        if let Some(text) = room.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
            num::six(text, since_ns);
        }
        at + 6
    }

    /// Writes a delta in milliseconds.
    #[inline(always)]
    fn delta(&self, delta_ns: u64, text: &mut [u8; 15]) {
        if delta_ns >= MS {
            return Self::long_delta(delta_ns, text);
        }
        text[..8].copy_from_slice(b"       0");
        if let Some(text) = text.last_chunk_mut() {
            num::point6(text, delta_ns as u32);
        }
    }

    /// Text of a delta in microseconds.
    #[inline(never)]
    fn delta_micro(&self, delta_ns: u64) -> [u8; 15] {
        let mut text = [b' '; 15];
        if !text.last_chunk_mut().is_some_and(|text| num::fixed::<12, 3>(text, delta_ns)) {
            let mut digits = [0; 32];
            let len = num::decimal::<3>(&mut digits, 0, delta_ns).min(15);
            text = [b' '; 15];
            text[15 - len..].copy_from_slice(&digits[..len]);
        }
        text
    }

    /// Caches the millisecond of an elapsed time. Returns false if its text is too long.
    #[inline(never)]
    fn go_to(&mut self, elapsed_ns: u64) -> bool {
        let mut text = [0; 14];
        let fits = num::fixed::<14, 9>(&mut text, elapsed_ns) && !(self.is_short && text[1] != b' ');
        if fits && let Some(first) = text.first_chunk() {
            (self.text, self.since_ns) = (*first, elapsed_ns - elapsed_ns % MS);
            let n_blanks = first.iter().take_while(|byte| **byte == b' ').count();
            self.bare = *first;
            self.bare.rotate_left(n_blanks);
            self.bare_len = (first.len() - n_blanks) as u8;
        }
        fits
    }

    #[inline(never)]
    fn long_delta(delta_ns: u64, text: &mut [u8; 15]) {
        num::fixed::<15, 6>(text, delta_ns);
    }
}

/// Text of a group of context columns.
#[derive(Debug, Clone)]
pub(super) struct ContextText {
    text: [u8; Self::MAX],
    len: u8,
    /// True if the first value is empty.
    starts_blank: bool,
    /// The whole text, if it is longer than `text`.
    long: Option<Box<[u8]>>,
}

impl ContextText {
    /// Maximum size of a table's context columns with their keys, in bytes, unless names are long.
    const MAX: usize = 3 * BLOCKS;
}

/// Context of an event whose thread has a [`Head`].
#[derive(Debug, Clone, Copy)]
struct HeadedContext {
    /// Index of the thread.
    thread: u32,
    /// Number of bytes before the times, in blocks of 32.
    n_blocks: u8,
    depth_at: u8,
    svc_at: u8,
    /// Length of the columns before the times, if the system call fits into its column.
    len: u8,
    /// Bytes by which the system call is wider than its column.
    excess: u8,
    /// Offsets, if the system call fits into its column.
    narrow: Plain,
    plain: Plain,
    /// Start of the line.
    text: HeadText,
}

impl HeadedContext {
    /// Context of no event.
    fn new() -> Self {
        let (narrow, text) = (Plain::default(), [b' '; Head::MAX + BLOCK]);
        Self { thread: 0, n_blocks: 0, depth_at: 0, svc_at: 0, len: 0, excess: 0, narrow, plain: narrow, text }
    }

    /// Changes the thread; [`HeadedContext::set`] must follow.
    #[inline(always)]
    fn go_to(&mut self, thread: u32, head: &Head) {
        (self.thread, self.depth_at, self.svc_at, self.len) = (thread, head.depth_at, head.svc_at, head.len);
        (self.narrow, self.text) = (head.plain, head.text);
        self.widen(0);
    }

    /// Moves the times after a system call that is wider than its column.
    #[inline(always)]
    fn widen(&mut self, excess: u8) {
        (self.excess, self.plain) = (excess, self.narrow.moved(excess));
        self.n_blocks = (self.len + excess).div_ceil(32);
    }

    /// Changes depth and system call; false if a value touches the next cell.
    #[inline(always)]
    fn set(&mut self, depth: u32, svc: &SvcBlock<'_>, svc_width: u8) -> bool {
        let SvcBlock::Short { block, len } = svc else { return false };
        // A missing cell has an offset outside of the text.
        if let Some(cell) = self.text.get_mut(usize::from(self.depth_at)) {
            *cell = if depth == 0 { b' ' } else { b'0'.wrapping_add(depth as u8) };
        }
        if let Some(cell) = self.text.get_mut(usize::from(self.svc_at)..).and_then(|rest| rest.first_chunk_mut()) {
            *cell = *block;
        }
        let excess = (*len as u8).saturating_sub(svc_width);
        if excess != self.excess {
            self.widen(excess);
        }
        depth < 10
    }

    /// Writes the cells. A missing cell gets the offset after the last one, as in [`Plain`].
    #[inline(always)]
    fn put(&self, id: &IdCells, event: EventTimes, times: &Times, room: &mut Room) -> usize {
        let ([first, second, third, fourth, fifth], _) = self.text.as_chunks::<32>() else { return 0 };
        store(room, 0, *first);
        store(room, 32, *second);
        if self.n_blocks > 2 {
            store(room, 64, *third);
            if self.n_blocks > 3 {
                store(room, 96, *fourth);
                store(room, 128, *fifth);
            }
        }
        let [id @ .., _, _, _, _] = id.text.0.to_le_bytes();
        store(room, self.plain.id_at.into(), id);
        self.plain.put_times(event, times, room)
    }
}

/// Index that no context of a batch has.
const NO_SETTING: u32 = u32::MAX;

/// Texts of a thread's context.
#[derive(Debug, Clone, Copy, Default)]
struct ThreadTexts {
    /// Thread id of the texts.
    tid: u64,
    is_known: bool,
    /// True if [`Cells::put`] can write the texts.
    is_quick: bool,
    /// True if the thread has a [`Head`].
    has_head: bool,
}

/// Cache of the texts of a batch's contexts.
#[derive(Debug)]
pub(super) struct ContextTexts {
    /// Texts by [`SharedContext::thread`].
    threads: Vec<ThreadTexts>,
    n_segments: usize,
    /// Texts by thread and group of columns.
    texts: Vec<ContextText>,
    /// Index of the first text of the last event.
    first: usize,
    /// Heads by thread, if all cells have fixed offsets.
    heads: Vec<Head>,
    /// Index of the context of the last event, [`NO_SETTING`] if [`Cells::put`] cannot write its texts, and its thread
    /// id.
    last: (u32, u64),
    /// Context of the last event, if its thread has a [`Head`].
    headed: HeadedContext,
    has_head: bool,
    /// Columns of the last context in a table's row, for [`FastLayout::TableRow`], and their length.
    row: Box<Room>,
    row_len: usize,
    scratch: TextBuf,
    value: TextBuf,
}

impl ContextTexts {
    /// Creates an empty cache.
    pub fn new() -> Self {
        Self {
            threads: Vec::new(),
            n_segments: 0,
            texts: Vec::new(),
            first: 0,
            heads: Vec::new(),
            last: (NO_SETTING, 0),
            headed: HeadedContext::new(),
            has_head: false,
            row: Box::new([b' '; COLUMNS]),
            row_len: 0,
            scratch: TextBuf::new(),
            value: TextBuf::new(),
        }
    }

    /// Finds the texts for an event; false if [`Cells::put`] cannot write them.
    #[inline(always)]
    pub fn find(&mut self, batch: &Batch, event: &EventRef, cells: &Cells, logs: &[LogInfo]) -> bool {
        let (setting, tid) = self.last;
        setting == event.setting && tid == event.tid || self.find_again(batch, event, cells, logs)
    }

    /// Finds the texts for the next context. Usually only the depth and the system call of the thread have changed.
    #[inline(always)]
    fn find_again(&mut self, batch: &Batch, event: &EventRef, cells: &Cells, logs: &[LogInfo]) -> bool {
        let (setting, tid) = &mut self.last;
        if self.has_head && *setting != NO_SETTING && *tid == event.tid {
            let shared = batch.shared_context(event.setting);
            if self.headed.thread == shared.thread
                && self.headed.set(shared.depth, &cells.svc(batch, shared), cells.svc_width)
            {
                *setting = event.setting;
                return true;
            }
        }
        self.look_up(batch, event, cells, logs)
    }

    #[inline(never)]
    fn look_up(&mut self, batch: &Batch, event: &EventRef, cells: &Cells, logs: &[LogInfo]) -> bool {
        let shared = batch.shared_context(event.setting);
        let thread = shared.thread as usize;
        let texts = match self.threads.get(thread) {
            Some(texts) if texts.is_known && texts.tid == event.tid => *texts,
            _ => self.render(batch, event, cells, logs),
        };
        self.first = self.n_segments * thread;
        let svc = cells.svc(batch, shared);
        let is_quick = texts.is_quick && cells.fits_svc(svc.name());
        self.last = (if is_quick { event.setting } else { NO_SETTING }, event.tid);
        self.has_head = false;
        if texts.has_head
            && let Some(head) = self.heads.get(thread)
        {
            self.headed.go_to(shared.thread, head);
            self.has_head = self.headed.set(shared.depth, &svc, cells.svc_width);
        }
        if let FastLayout::TableRow(_) = cells.quick {
            self.fill_row(cells, shared.depth, &svc);
        }
        is_quick
    }

    /// Writes the columns of the last context for a row of a table, and returns their end. `None` if they are long.
    // Not inlined, because rows without a context would take more instructions.
    #[inline(never)]
    fn put_row(&self, room: &mut Room, at: usize) -> Option<usize> {
        let (first, more) = self.row.split_first_chunk()?;
        if self.row_len > 3 * BLOCKS {
            return None;
        }
        store_blocks(room, at, self.row_len, first, more.first_chunk::<{ 2 * BLOCKS }>()?);
        Some(at + self.row_len)
    }

    /// Prepares the columns of a context for the rows of a table. Values are already escaped, or need no escapes.
    fn fill_row(&mut self, cells: &Cells, depth: u32, svc: &SvcBlock<'_>) {
        let Self { row, row_len, texts, first, .. } = self;
        let (room, mut at) = (&mut **row, 0);
        for Cell { put, after, .. } in &cells.list {
            match put {
                CellContent::Context(n) => {
                    let text = &texts[*first + usize::from(*n)];
                    store(room, at, text.text);
                    at += usize::from(text.len);
                }
                CellContent::BareDepth => at = put_depth(room, at, depth),
                CellContent::BareSvc => at = put_svc(room, at, svc),
                CellContent::JsonSvc => at = put_json_svc(room, at, svc),
                _ => continue,
            }
            at = after.put(room, at);
        }
        *row_len = at;
    }

    /// Text of a group of columns, in the context that [`ContextTexts::find`] has looked for last.
    #[inline(always)]
    fn of(&self, n: u8) -> &ContextText {
        &self.texts[self.first + usize::from(n)]
    }

    #[inline(never)]
    fn render(&mut self, batch: &Batch, event: &EventRef, cells: &Cells, logs: &[LogInfo]) -> ThreadTexts {
        let row = ContextRow::of(batch, event, logs);
        self.n_segments = cells.segments.len();
        let (thread, n) = (batch.shared_context(event.setting).thread as usize, cells.segments.len());
        if thread >= self.threads.len() {
            self.threads.resize(thread + 1, ThreadTexts::default());
            let empty = ContextText { text: [b' '; ContextText::MAX], len: 0, starts_blank: true, long: None };
            self.texts.resize(n * (thread + 1), empty);
        }
        let texts = &mut self.texts[n * thread..n * (thread + 1)];
        for (segment, text) in cells.segments.iter().zip(&mut *texts) {
            let quick = if cells.form == Form::Text { segment.columns(&row) } else { None };
            *text = quick.unwrap_or_else(|| segment.text(&row, cells.form, &mut self.scratch, &mut self.value));
        }
        let is_quick = texts.iter().all(|text| text.long.is_none());
        let mut has_head = false;
        if let FastLayout::Headed(_) = cells.quick
            && let Some(head) = Head::new(&cells.frame, texts)
        {
            self.heads.resize(self.threads.len(), head);
            (self.heads[thread], has_head) = (head, true);
        }
        self.threads[thread] = ThreadTexts { tid: event.tid, is_known: true, is_quick, has_head };
        self.threads[thread]
    }

    /// Clears the cache at the end of a batch: the next one has other contexts.
    pub fn forget(&mut self) {
        (self.last.0, self.has_head) = (NO_SETTING, false);
        self.threads.clear();
        self.texts.clear();
    }
}

impl<'r> ContextRow<'r> {
    fn of(batch: &'r Batch, event: &EventRef, logs: &'r [LogInfo]) -> Self {
        let shared = batch.shared_context(event.setting);
        let (thread, facts) = (batch.thread(shared), batch.facts(shared, event.tid));
        Self {
            facts,
            file: logs[thread.log as usize].name.as_bytes(),
            reported_cpus: batch.system(shared).reported_cpus(thread.reported_cpus),
        }
    }
}

impl Segment {
    /// Texts of the values, if each is shorter than its column.
    fn columns(&self, row: &ContextRow<'_>) -> Option<ContextText> {
        let mut text = ContextText { text: [b' '; ContextText::MAX], len: 0, starts_blank: false, long: None };
        let mut at = 0;
        for (n, (_, column, width)) in self.0.iter().enumerate() {
            let room = text.text.get_mut(at..at + width + 8)?;
            let ColumnWriter::Aix(AixWriter::Context(fact)) = column.info().writer else { return None };
            let len = match fact(row) {
                ContextValue::Text(value) if value.len() < *width => {
                    room.get_mut(..value.len())?.copy_from_slice(value);
                    value.len()
                }
                ContextValue::Number(Some(number)) if number < 10_000_000 && *column != Column::Exec => {
                    let len = num::decimal_short(room, number);
                    store(room, len, [b' '; 8]);
                    len
                }
                ContextValue::Number(None) if *column != Column::Exec => 0,
                _ => return None,
            };
            if len >= *width {
                return None;
            }
            text.starts_blank |= n == 0 && len == 0;
            at += width;
        }
        text.len = at as u8;
        Some(text)
    }

    /// Text in any form. `out` and `value` are reused buffers, whose contents do not matter.
    fn text(&self, row: &ContextRow<'_>, form: Form, out: &mut TextBuf, value: &mut TextBuf) -> ContextText {
        out.clear();
        let mut starts_blank = false;
        for (at, (before, column, width)) in self.0.iter().enumerate() {
            out.push(before);
            let ColumnWriter::Aix(AixWriter::Context(fact)) = column.info().writer else { continue };
            let fact = fact(row);
            if form == Form::Text {
                value.clear();
                fact.push(*column, value);
                starts_blank |= at == 0 && value.is_empty();
                left(value.as_bytes(), *width, 0, out);
            } else {
                fact.push_value(*column, form, out);
            }
        }
        let mut text = ContextText { text: [b' '; ContextText::MAX], len: 0, starts_blank, long: None };
        let found = out.as_bytes();
        match text.text.get_mut(..found.len()) {
            Some(room) => {
                room.copy_from_slice(found);
                text.len = found.len() as u8;
            }
            None => text.long = Some(found.into()),
        }
        text
    }
}

impl ContextValue<'_> {
    /// Appends the value in text form.
    fn push(&self, column: Column, out: &mut TextBuf) {
        match (self, column) {
            (ContextValue::Number(None), Column::Exec) => out.push(b"-?-"),
            (ContextValue::Number(Some(pid)), Column::Exec) => {
                out.push(b"-");
                out.dec(*pid);
                out.push(b"-");
            }
            (ContextValue::Number(None), _) => {}
            (ContextValue::Number(Some(number)), _) => out.dec(*number),
            (ContextValue::Text(text), _) => out.push(text),
        }
    }

    /// Appends the value in a table's form: JSON, CSV or TSV.
    fn push_value(&self, column: Column, form: Form, out: &mut TextBuf) {
        let is_text = column.info().value == ValueType::Text;
        let text = match self {
            ContextValue::Text(text) => *text,
            ContextValue::Number(Some(number)) if !is_text => return out.dec(*number),
            ContextValue::Number(_) => b"",
        };
        if form == Form::Ndjson && text.is_empty() {
            return out.push(b"null");
        }
        if is_text {
            let start = form.begin_value(out);
            out.push(text);
            form.end_value(start, out);
        }
    }
}

/// Number of bytes that one store writes.
const BLOCKS: usize = 64;

/// Like [`num::decimal`], but not inlined, for rare values.
#[cold]
#[inline(never)]
fn any_decimal<const DECIMALS: usize>(room: &mut Room, at: usize, units: u64) -> usize {
    num::decimal::<DECIMALS>(room, at, units)
}

/// Writes a text of `len` bytes, which may fill all blocks.
#[inline(always)]
fn store_blocks<const MORE: usize>(room: &mut Room, at: usize, len: usize, first: &[u8; BLOCKS], more: &[u8; MORE]) {
    store(room, at, *first);
    if len > BLOCKS {
        store(room, at + BLOCKS, *more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Timestamp;
    use crate::context::{SvcName, ThreadContext};

    const NOBODY: ContextRow<'static> = ContextRow {
        facts: ThreadContext { tid: 0, pid: None, path: b"", name: b"", cpu: None, depth: 0, priority: 0, svc: b"" },
        file: b"",
        reported_cpus: 0,
    };

    const AT_START: EventTimes = EventTimes { elapsed_ns: 0, last_ns: 0 };

    /// Cells of an event, written by the fast and the slow path. The fast one is `None` if they do not fit.
    fn both(
        cells: &Cells,
        times: &mut Times,
        id: u16,
        time: EventTimes,
        row: &ContextRow<'_>,
    ) -> (Option<String>, String) {
        let mut scratch = TextBuf::new();
        let context: Vec<_> = cells
            .segments
            .iter()
            .map(|segment| {
                let text = segment.text(row, cells.form, &mut scratch, &mut TextBuf::new());
                if cells.form == Form::Text
                    && let Some(quick) = segment.columns(row)
                {
                    assert_eq!((&quick.text[..], quick.len), (&text.text[..], text.len));
                    assert_eq!((quick.starts_blank, &quick.long), (text.starts_blank, &None));
                    return quick;
                }
                text
            })
            .collect();
        let id = cells.id_with(id, b"LABEL");
        let mut batch = Batch::default();
        let mut svc = SvcName::default();
        svc.set(row.facts.svc);
        let svc = batch.push_svc(&svc);
        let setting = batch.push_context(SharedContext { thread: 0, depth: row.facts.depth, svc });
        let is_narrow = times.advance(time);
        let mut texts = ContextTexts { n_segments: context.len(), texts: context, ..ContextTexts::new() };
        if let FastLayout::Headed(_) = cells.quick
            && let Some(head) = Head::new(&cells.frame, &texts.texts)
        {
            let svc = cells.svc(&batch, batch.shared_context(setting));
            texts.headed.go_to(0, &head);
            texts.has_head = texts.headed.set(row.facts.depth, &svc, cells.svc_width);
        }
        if let FastLayout::TableRow(_) = cells.quick {
            texts.fill_row(cells, row.facts.depth, &cells.svc(&batch, batch.shared_context(setting)));
        }
        let texts = &texts;
        let values = EventValues { id: &id, time, times, texts, batch: &batch, setting, fields: b"" };
        let put = (cells.fit(&id)
            && texts.texts.iter().all(|text| text.long.is_none())
            && (!cells.has_svc || cells.fits_svc(row.facts.svc))
            && (is_narrow || cells.form != Form::Text))
            .then(|| {
                let mut room = [b'?'; COLUMNS];
                let len = cells.put(&id, || values, time, times, &mut room);
                String::from_utf8_lossy(&room[..len]).into_owned()
            });
        let mut out = TextBuf::new();
        out.push(b"line before");
        let start = out.len();
        cells.append(&values, is_narrow, &mut out);
        (put, String::from_utf8_lossy(&out.as_bytes()[start..]).into_owned())
    }

    fn row(columns: &Columns, id: u16, time: EventTimes, row: &ContextRow<'_>) -> String {
        let cells = Cells::new(columns, Form::Text, ReportColour::Off);
        let (put, appended) = both(&cells, &mut Times::new(columns), id, time, row);
        assert!(put.is_none_or(|put| put == appended), "{appended:?}");
        appended
    }

    fn line(columns: &Columns, id: u16, elapsed_ns: u64, delta_ns: i64) -> String {
        row(columns, id, EventTimes { elapsed_ns, last_ns: elapsed_ns.wrapping_sub(delta_ns as u64) }, &NOBODY)
    }

    #[test]
    fn times_in_every_form() {
        assert_eq!(line(&Columns::default(), 0x0100, 105_984, 105_984), "010    0.000105984       0.105984");
        assert_eq!(line(&Columns::new(&[Column::Id], Timestamp::Short), 0x0100, 1_999_999_999, 0), "010   1.999999");
        assert_eq!(
            line(&Columns::new(&[], Timestamp::Micro), 0x0100, 105_984, 105_984),
            "   0.000105984        105.984"
        );
        assert_eq!(line(&Columns::default(), 0x0100, 1, -2_500_000), "010    0.000000001      -2.500000");
    }

    #[test]
    fn values_are_never_cut_and_never_touch() {
        let columns = Columns::default();
        assert_eq!(line(&columns, 0xF5F1, 12_345_678_901_234, 5), "F5F1 12345.678901234       0.000005");
        assert_eq!(line(&columns, 0x0100, 1_000_000_000_000, 5), "010 1000.000000000       0.000005");
        assert_eq!(line(&columns, 0xF5F1, 1_000_000_000_000, 5), "F5F1 1000.000000000       0.000005");
        let wide = row(&columns, 0x0100, EventTimes { elapsed_ns: u64::MAX, last_ns: 0 }, &NOBODY);
        assert_eq!(wide, "010 18446744073.709551615 18446744073709.551615");
        let wide = columns.with_wide_ids(true);
        assert_eq!(line(&wide, 0xF5F1, 0, 0), "F5F1    0.000000000       0.000000");
        let turned = Columns::parse("delta,id,text", Timestamp::Milli).unwrap();
        assert_eq!(line(&turned, 0x0100, 7, 7), "       0.000007 010 ");
    }

    #[test]
    fn cells_that_fit_are_written_as_any_others() {
        let names: [&[u8]; 5] = [b"", b"sh", b"fourteen bytes", b"fifteen letters", b" blank first"];
        let calls: [&[u8]; 7] =
            [b"", b"kread", b"fifteen letters", b"F1000A056DCACEE8", b"\\", &[b'x'; 31], &[b'x'; 32]];
        let numbers = [None, Some(0), Some(7), Some(100), Some(99_999_999), Some(u64::MAX)];
        let lists = [
            "id,filename,exec,cpu,reportedcpus,pid,tid,int,svc,elapsed,delta,text",
            "id,elapsed,delta,text",
            "id,exec,cpu,pid,elapsed,delta",
            "delta,id,tid,elapsed",
            "cpu,id,pid,elapsed,exec,svc,text",
            "elapsed,id,exec,text",
            "svc",
            "text",
        ];
        let (mut n_fit, mut last_ns) = (0, 0u64);
        for n in 0..6000usize {
            let pick = |k: usize| numbers[(n / (k + 1) + k) % numbers.len()];
            let facts = ThreadContext {
                tid: pick(0).unwrap_or(5),
                pid: pick(1),
                cpu: pick(2),
                depth: pick(3).unwrap_or(0).min(99) as u32,
                name: names[n % 5],
                svc: calls[n / 5 % 7],
                ..NOBODY.facts
            };
            let context = ContextRow { facts, file: names[n / 2 % 5], reported_cpus: n as u32 };
            let timestamp = [Timestamp::Milli, Timestamp::Short, Timestamp::Micro, Timestamp::None][n % 4];
            let columns = Columns::parse(lists[n % lists.len()], timestamp).unwrap();
            let columns = columns.with_wide_ids(n % 3 == 0).on_two_lines(n % 11 == 0);
            let form = [Form::Text, Form::Tsv, Form::Csv, Form::Ndjson][n / 7 % 4];
            let cells = Cells::new(
                &columns,
                form,
                [ReportColour::Ansi, ReportColour::Marked, ReportColour::Off][(n % 5).min(2)],
            );
            let elapsed_ns =
                last_ns.wrapping_add([1, 999, 1_000_000, 31_000_000, 2_000_000_000, 10u64.pow(n as u32 % 20)][n % 6]);
            let id = if n % 3 == 0 { 0x0100 } else { 0xF5F1 };
            let time = EventTimes { elapsed_ns, last_ns: if n % 13 == 0 { elapsed_ns + 8 } else { last_ns } };
            let (put, appended) = both(&cells, &mut Times::new(&columns), id, time, &context);
            n_fit += usize::from(put.is_some());
            assert!(put.as_ref().is_none_or(|put| *put == appended), "{put:?} {appended:?} {form:?} {columns:?}");
            last_ns = if elapsed_ns > 1_100_000_000_000 { 0 } else { elapsed_ns };
        }
        assert!(n_fit > 2000, "{n_fit}");
    }

    #[test]
    fn values_of_tables_have_no_blanks() {
        let columns = |timestamp| Columns::parse("id,elapsed,delta,pid,exec,text", timestamp).unwrap();
        let table = |form, timestamp| {
            let cells = Cells::new(&columns(timestamp), form, ReportColour::Off);
            let facts = ThreadContext { pid: Some(7), name: b"a\tb", ..NOBODY.facts };
            both(
                &cells,
                &mut Times::new(&columns(timestamp)),
                0xF5F1,
                EventTimes { elapsed_ns: 1_999_999, last_ns: 2_000_000 },
                &ContextRow { facts, ..NOBODY },
            )
            .1
        };
        assert_eq!(table(Form::Tsv, Timestamp::Milli), "F5F1\t0.001999999\t-0.000001\t7\ta\\tb\t");
        assert_eq!(table(Form::Csv, Timestamp::Short), "F5F1,0.001999,-0.000001,7,a\tb,");
        let expected =
            r#"{"id":"F5F1","label":"LABEL","elapsed":0.001999999,"delta":-0.001,"pid":7,"exec":"a\tb","text":""#;
        assert_eq!(table(Form::Ndjson, Timestamp::Micro), expected);
    }

    fn ksh() -> ContextRow<'static> {
        let facts = ThreadContext {
            tid: 8191,
            pid: Some(4522),
            name: b"ksh",
            cpu: Some(3),
            depth: 1,
            svc: b"kread",
            ..NOBODY.facts
        };
        ContextRow { facts, file: b"trcfile", reported_cpus: 2 }
    }

    #[test]
    fn columns_have_their_places() {
        let all = "id,filename,exec,cpu,reportedcpus,pid,tid,int,svc,elapsed,delta,text";
        let columns = Columns::parse(all, Timestamp::Milli).unwrap();
        assert_eq!(
            row(&columns, 0x1060, AT_START, &ksh()),
            "106 trcfile        ksh            3   2     4522     8191     1 kread             0.000000000       0.000000"
        );
        let columns = Columns::new(&[Column::Id, Column::Exec, Column::Pid], Timestamp::Milli);
        let line = row(&columns, 0x1060, EventTimes { elapsed_ns: 3_109_888, last_ns: 2_947_072 }, &ksh());
        assert_eq!((&line[33..44], &line[51..59], line.len()), ("0.003109888", "0.162816", 59));
    }

    #[test]
    fn unknown_values_are_blank_or_marked() {
        let columns = Columns::new(&[Column::Exec, Column::Cpu, Column::Pid, Column::Svc], Timestamp::None);
        assert_eq!(row(&columns, 0, AT_START, &NOBODY).trim_end(), "-?-");
        let unnamed = ContextRow { facts: ThreadContext { pid: Some(4522), ..NOBODY.facts }, ..NOBODY };
        assert_eq!(row(&columns, 0, AT_START, &unnamed).trim_end(), "-4522-             4522");
    }

    #[test]
    fn wide_values_move_the_rest_of_their_line() {
        let columns = Columns::new(&[Column::File, Column::Pid, Column::Tid], Timestamp::None);
        let facts = ThreadContext { pid: Some(123_456_789), tid: u64::MAX, ..ksh().facts };
        let line = row(&columns, 0, AT_START, &ContextRow { facts, file: b"a/rather/long/name", ..NOBODY });
        assert_eq!(line, "a/rather/long/name 123456789 18446744073709551615 1 ");
    }

    #[test]
    fn the_text_may_have_a_line_of_its_own() {
        let columns = Columns::new(&[Column::Id, Column::Cpu], Timestamp::None).on_two_lines(true);
        assert_eq!(row(&columns, 0x1060, AT_START, &NOBODY), "106\n");
    }
}
