//! Everything that precedes an event's text, compiled once per report into a list of cells: columns, the delimiters and
//! keys of tables, and the marks of colours.
//!
//! ```text
//! --columns id,exec,pid,elapsed,delta,text      Id  Context(0)  Times
//! --to tsv                                      Id  "\t"  Elapsed  "\t"  Delta  "\t"
//! ```
//!
//! Columns of the context are rendered once per thread and context, not per event: neighbours share them.

use super::batch::{Batch, EventRef};
use crate::catalog::Catalog;
use crate::columns::{AixWriter, Column, ColumnWriter, Columns, ContextRow, ContextValue, ValueType, left, right};
use crate::ids::display_id;
use crate::json;
use crate::literal::{Literal, store};
use crate::output_format::Form;
use crate::reader::aix::LogInfo;
use crate::terminal::ReportColour;
use tfbc_vm::{COLUMNS, Level, TextBuf, num};

/// The cells of a report.
pub(super) struct Cells {
    list: Box<[Cell]>,
    /// Context columns per [`CellContent::Context`], in the order of the cells.
    segments: Box<[Segment]>,
    form: Form,
    colour: ReportColour,
    quick: FastLayout,
    fixed: Fixed,
    /// Values of a table's row, each with the bytes before it.
    table: Box<[(Literal, CellContent)]>,
}

/// Fast path of [`Cells::put`], which writes all cells of an event into a buffer of [`COLUMNS`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FastLayout {
    /// Id and times in their common forms, at fixed offsets.
    Plain,
    /// Any cells at fixed offsets.
    Fixed,
    Table,
    /// Cells one after the other.
    InOrder,
    /// None: the cells may need a larger buffer.
    Never,
}

/// Fixed offsets of cells. A missing cell gets the offset after the last one, so the text overwrites it: no branch
/// needed.
#[derive(Debug, Default)]
struct Fixed {
    len: u8,
    id_at: u8,
    /// Width of the id's column; 0 without one.
    id_width: u8,
    elapsed_at: u8,
    delta_at: u8,
    /// Form of the times if they do not have nine and six decimals.
    is_short: bool,
    is_micro: bool,
    /// True if a newline follows the columns, and trailing blanks are removed.
    ends_line: bool,
    /// Offset, cell and width of literals and context columns, in order. Writing one stores more bytes than its width.
    /// A wide context value shifts all later cells but the id.
    rest: Box<[(u8, CellContent, usize)]>,
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    put: CellContent,
    /// True if a blank is inserted before a value that would touch the one before it.
    apart: bool,
}

/// Content of a cell.
#[derive(Debug, Clone, Copy)]
enum CellContent {
    Literal(Literal),
    /// Hook id in a column of this width.
    Id(u8),
    /// Hook id without blanks.
    BareId,
    /// Start of a JSON object, up to the end of the label.
    Label,
    /// Columns of one segment.
    Context(u8),
    /// Elapsed time and delta in their usual columns.
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

/// Context columns in a row, each with the bytes before it.
#[derive(Debug, Default)]
struct Segment(Vec<(Vec<u8>, Column, usize)>);

impl Cells {
    /// Cells for a report's columns. No cells if nothing of an event is written.
    pub fn new(columns: &Columns, form: Form, colour: ReportColour) -> Self {
        let mut cells = Builder { columns, form, list: Vec::new(), segments: Vec::new() };
        match form {
            Form::Text => cells.text(colour),
            Form::Tsv | Form::Csv => cells.table(),
            Form::Ndjson => cells.object(),
        }
        let Builder { list, segments, .. } = cells;
        let fits = || {
            let mut at = 0;
            list.iter().all(|cell| {
                let (len, stored) = cell.max_len();
                at += len;
                at - len + stored <= COLUMNS
            })
        };
        // Values of tables have no widths.
        let fixed = if form == Form::Text { Fixed::of(&list, &segments) } else { None };
        let quick = match &fixed {
            Some(fixed) if fixed.is_plain() => FastLayout::Plain,
            Some(_) => FastLayout::Fixed,
            None if !fits() => FastLayout::Never,
            None if form == Form::Text => FastLayout::InOrder,
            None => FastLayout::Table,
        };
        let table = if quick == FastLayout::Table { row(&list) } else { Vec::new() };
        let (list, segments, table) = (list.into(), segments.into(), table.into());
        Self { list, segments, form, colour, quick, fixed: fixed.unwrap_or_default(), table }
    }

    /// No cells.
    pub fn none() -> Self {
        Self {
            list: Box::default(),
            segments: Box::default(),
            form: Form::Text,
            colour: ReportColour::Off,
            quick: FastLayout::Plain,
            fixed: Fixed::default(),
            table: Box::default(),
        }
    }

    /// True if nothing precedes a text.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// True if there are columns of the context.
    pub fn has_context(&self) -> bool {
        !self.segments.is_empty()
    }

    /// True if something precedes the texts of a level.
    pub fn precede(&self, level: Level) -> bool {
        let is_bare = self.form == Form::Text && level == Level::Zero;
        !(self.list.is_empty() || is_bare)
    }

    /// Cells of a canonical hook id.
    pub fn id(&self, id: u16, catalog: &Catalog<'_>) -> IdCells {
        let mut opening = TextBuf::new();
        if let Some(at) = self.list.iter().position(|cell| matches!(cell.put, CellContent::Label)) {
            let hook = catalog.lookup(id).and_then(|entry| catalog.program(entry).hook(entry.id()));
            opening.push(if at == 0 { b"{" } else { b"," });
            opening.push(Column::Id.info().key.as_bytes());
            json::string(display_id(id).as_bytes(), &mut opening);
            opening.push(b",\"label\":");
            json::string(hook.as_ref().map_or(&b""[..], |hook| hook.label), &mut opening);
        }
        IdCells::new(id, opening.as_bytes())
    }

    /// True if [`Cells::put`] writes the cells of a hook's events, unless a value is wider than its column.
    pub fn fit(&self, id: &IdCells) -> bool {
        match self.quick {
            FastLayout::Plain | FastLayout::Fixed => {
                self.fixed.id_width == 0 || id.text.len() < self.fixed.id_width.into()
            }
            FastLayout::Table | FastLayout::InOrder => id.opening.len() <= IdCells::MAX_OPENING,
            FastLayout::Never => false,
        }
    }

    /// True if all times of an event leave a blank free in their columns. Tables have no columns.
    #[inline(always)]
    pub fn holds(&self, times: &mut Times, elapsed_ns: u64, last_ns: u64) -> bool {
        times.advance(elapsed_ns, last_ns) || self.form != Form::Text
    }

    /// Fast path: writes the cells of an event for which [`Cells::fit`] and [`Cells::holds`] are true, and returns
    /// their length. `values` is called only if cells other than id and times are written.
    #[inline(always)]
    pub fn put<'v>(
        &self,
        id: &IdCells,
        values: impl Fn() -> EventValues<'v>,
        (elapsed_ns, last_ns): (u64, u64),
        times: &Times,
        room: &mut [u8; COLUMNS],
    ) -> usize {
        if self.quick != FastLayout::Plain {
            return self.put_other(&values(), times, room);
        }
        self.fixed.put(id, (elapsed_ns, last_ns), times, room)
    }

    #[inline(never)]
    fn put_other(&self, values: &EventValues<'_>, times: &Times, room: &mut [u8; COLUMNS]) -> usize {
        match self.quick {
            FastLayout::Plain | FastLayout::Fixed => self.fixed.put_other(values, times, room),
            FastLayout::Table => self.put_row(values, times, room),
            FastLayout::InOrder | FastLayout::Never => self.put_each(values, times, room),
        }
    }

    fn put_row(&self, values: &EventValues<'_>, times: &Times, room: &mut [u8; COLUMNS]) -> usize {
        let mut at = 0;
        for (before, put) in &self.table {
            at = before.put(room, at);
            at = match put {
                CellContent::BareId => {
                    store(room, at, values.id.text.0.to_le_bytes());
                    at + values.id.text.len()
                }
                CellContent::Label => {
                    store_blocks(room, at, &values.id.opening);
                    at + values.id.opening_len
                }
                CellContent::Context(n) => {
                    let text = values.context(*n);
                    text.store(room, at);
                    at + usize::from(text.len)
                }
                CellContent::BareElapsed => values.bare_elapsed(times, room, at),
                CellContent::BareElapsedShort => values.bare_elapsed_short(room, at),
                CellContent::BareDelta => values.bare_delta(room, at),
                CellContent::BareDeltaMicro => values.bare_delta_micro(room, at),
                _ => at,
            };
        }
        at
    }

    #[inline(never)]
    fn put_each(&self, values: &EventValues<'_>, times: &Times, room: &mut [u8; COLUMNS]) -> usize {
        self.list.iter().fold(0, |at, cell| cell.put(values, times, room, at))
    }

    /// Slow path: appends the cells of any event.
    #[inline(never)]
    pub fn append(&self, values: &EventValues<'_>, times: &mut Times, out: &mut TextBuf) {
        const ROOM: usize = COLUMNS;
        let is_narrow = times.advance(values.elapsed_ns, values.last_ns);
        let line = out.len() + self.colour_len();
        // `room[0]` is a copy of the last byte appended, so that a cell can see if it touches the previous one.
        let mut room = [b' '; ROOM];
        let mut at = 1;
        for cell in &self.list {
            let long = match cell.put {
                CellContent::Label => Some(values.id.opening()),
                CellContent::Context(n) => values.context(n).long.as_deref(),
                _ => None,
            };
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
                    // A first cell touches nothing.
                    let line = if cell.apart { line } else { out.len() };
                    columns.iter().for_each(|put| put.wide_time(values, line, out));
                    (room[0], at) = (out.as_bytes().last().copied().unwrap_or(b' '), 1);
                }
                CellContent::Label | CellContent::Context(_) if long.is_some() => {
                    let text = long.unwrap_or_default();
                    if cell.apart && room[0] != b' ' && !values.starts_blank(cell.put) {
                        out.push(b" ");
                    }
                    out.push(text);
                    room[0] = text.last().copied().unwrap_or(b' ');
                }
                _ => at = cell.put(values, times, &mut room, at),
            }
        }
        out.push(&room[1..at]);
    }

    /// Length of the mark before the first column.
    fn colour_len(&self) -> usize {
        match self.list.first() {
            Some(Cell { put: CellContent::Literal(literal), .. }) if literal.as_bytes() == self.colour.dim() => {
                literal.len()
            }
            _ => 0,
        }
    }
}

impl Fixed {
    /// Computes the offsets; `None` if a list of cells has no fixed offsets.
    fn of(list: &[Cell], segments: &[Segment]) -> Option<Self> {
        let (mut fixed, mut at, mut rest) = (Self::default(), 0usize, Vec::new());
        let (mut elapsed_at, mut delta_at) = (None, None);
        // True if the previous cell ends with a value that may touch the next one.
        let mut touches = false;
        for (n, cell) in list.iter().enumerate() {
            let place = u8::try_from(at).ok()?;
            match cell.put {
                CellContent::Literal(literal) => {
                    rest.push((place, cell.put, literal.len()));
                    (at, touches) = (at + literal.len(), true);
                }
                CellContent::Id(_) | CellContent::Context(_)
                    if rest.iter().any(|(_, put, _)| matches!(put, CellContent::Context(_))) =>
                {
                    return None;
                }
                CellContent::Id(width) => {
                    let blank = usize::from(cell.apart && touches);
                    if blank > 0 {
                        rest.push((place, CellContent::Literal(Literal::of(b" ")), 1));
                    }
                    (fixed.id_at, fixed.id_width) = (u8::try_from(at + blank).ok()?, width);
                    (at, touches) = (at + blank + usize::from(width), false);
                }
                // An empty value touches nothing.
                CellContent::Context(_) if cell.apart && touches => return None,
                CellContent::Context(segment) => {
                    let width = segments[usize::from(segment)].width();
                    rest.push((place, cell.put, width));
                    (at, touches) = (at + width, false);
                }
                CellContent::Times => {
                    (elapsed_at, delta_at) = (Some(place), Some(u8::try_from(at + 14).ok()?));
                    (at, touches) = (at + Times::WIDTH, true);
                }
                CellContent::Elapsed | CellContent::ElapsedShort => {
                    fixed.is_short = matches!(cell.put, CellContent::ElapsedShort);
                    (elapsed_at, at, touches) = (Some(place), at + if fixed.is_short { 10 } else { 14 }, true);
                }
                CellContent::Delta | CellContent::DeltaMicro => {
                    fixed.is_micro = matches!(cell.put, CellContent::DeltaMicro);
                    (delta_at, at, touches) = (Some(place), at + 15, true);
                }
                CellContent::EndLine if n + 1 == list.len() => fixed.ends_line = true,
                _ => return None,
            }
        }
        fixed.len = u8::try_from(at).ok()?;
        (fixed.elapsed_at, fixed.delta_at) = (elapsed_at.unwrap_or(fixed.len), delta_at.unwrap_or(fixed.len));
        if fixed.id_width == 0 {
            fixed.id_at = fixed.len;
        }
        fixed.rest = rest.into();
        Some(fixed)
    }

    /// True if there is nothing but an id and times in their usual forms.
    fn is_plain(&self) -> bool {
        self.rest.is_empty() && !(self.is_short || self.is_micro || self.ends_line)
    }

    /// Writes plain cells. An id is stored with blanks after it, which the other cells replace.
    #[inline(always)]
    fn put(&self, id: &IdCells, (elapsed_ns, last_ns): (u64, u64), times: &Times, room: &mut [u8; COLUMNS]) -> usize {
        store(room, self.id_at.into(), id.text.0.to_le_bytes());
        if let Some(room) = room[self.elapsed_at.into()..].first_chunk_mut() {
            times.elapsed(elapsed_ns, room);
        }
        if let Some(room) = room[self.delta_at.into()..].first_chunk_mut() {
            times.delta(elapsed_ns - last_ns, room);
        }
        self.len.into()
    }

    /// Writes any cells.
    fn put_other(&self, values: &EventValues<'_>, times: &Times, room: &mut [u8; COLUMNS]) -> usize {
        let mut moved = 0;
        for (at, put, width) in &self.rest {
            let at = usize::from(*at) + moved;
            match put {
                CellContent::Context(n) => {
                    let text = values.context(*n);
                    text.store(room, at);
                    moved = usize::from(text.len).saturating_sub(*width);
                }
                CellContent::Literal(literal) => _ = literal.put(room, at),
                _ => {}
            }
        }
        if self.id_width > 0 {
            store(room, self.id_at.into(), (values.id.text.0 as u32).to_le_bytes());
        }
        if self.id_width > 4 {
            store(room, usize::from(self.id_at) + 4, [b' ']);
        }
        let (elapsed_ns, delta_ns) = (values.elapsed_ns, values.elapsed_ns - values.last_ns);
        let (elapsed_at, delta_at) = (usize::from(self.elapsed_at) + moved, usize::from(self.delta_at) + moved);
        let mut len = usize::from(self.len) + moved;
        if elapsed_at < len {
            if self.is_short {
                let [_, short @ .., _, _, _] = times.elapsed_apart(elapsed_ns);
                store(room, elapsed_at, short);
            } else if let Some(room) = room.get_mut(elapsed_at..).and_then(|room| room.first_chunk_mut()) {
                times.elapsed(elapsed_ns, room);
            }
        }
        if delta_at < len {
            if self.is_micro {
                store(room, delta_at, times.delta_micro(delta_ns));
            } else if let Some(room) = room.get_mut(delta_at..).and_then(|room| room.first_chunk_mut()) {
                times.delta(delta_ns, room);
            }
        }
        if self.ends_line {
            while len > 0 && room[len - 1] == b' ' {
                len -= 1;
            }
            store(room, len, [b'\n']);
            len += 1;
        }
        len
    }
}

/// Cells of a table with the literals before each.
fn row(list: &[Cell]) -> Vec<(Literal, CellContent)> {
    let (mut row, mut before) = (Vec::new(), Literal::default());
    for cell in list {
        match cell.put {
            CellContent::Literal(literal) if before.len() > 0 => {
                row.push((std::mem::replace(&mut before, literal), cell.put))
            }
            CellContent::Literal(literal) => before = literal,
            put => row.push((std::mem::take(&mut before), put)),
        }
    }
    if before.len() > 0 {
        row.push((before, CellContent::Literal(before)));
    }
    row
}

impl Cell {
    /// Maximum length of the cell if its value fits, and the number of bytes that writing it stores.
    fn max_len(&self) -> (usize, usize) {
        let blank = usize::from(self.apart);
        let (len, stored) = match self.put {
            CellContent::Literal(literal) => (literal.len(), Literal::MAX),
            CellContent::Id(width) => (width.into(), 8),
            CellContent::BareId => (4, 8),
            CellContent::Label => (IdCells::MAX_OPENING, IdCells::MAX_OPENING),
            CellContent::Context(_) => (ContextText::MAX, ContextText::MAX),
            CellContent::Times => (Times::WIDTH, Times::WIDTH),
            CellContent::Elapsed => (14, 14),
            CellContent::ElapsedShort => (10, 10),
            CellContent::Delta | CellContent::DeltaMicro => (15, 15),
            CellContent::BareElapsed
            | CellContent::BareElapsedShort
            | CellContent::BareDelta
            | CellContent::BareDeltaMicro => (22, 32),
            CellContent::EndLine => (1, 1),
        };
        (blank + len, blank + stored)
    }

    #[inline(always)]
    fn put<const N: usize>(&self, values: &EventValues<'_>, times: &Times, room: &mut [u8; N], mut at: usize) -> usize {
        // Right-aligned values that fit begin with a blank.
        if self.apart
            && matches!(self.put, CellContent::Id(_) | CellContent::Context(_))
            && room[at.wrapping_sub(1) % N] != b' '
            && !values.starts_blank(self.put)
        {
            store(room, at, [b' ']);
            at += 1;
        }
        match self.put {
            CellContent::Literal(literal) => literal.put(room, at),
            CellContent::Id(width) => {
                store(room, at, values.id.text.0.to_le_bytes());
                at + usize::from(width)
            }
            CellContent::BareId => {
                store(room, at, values.id.text.0.to_le_bytes());
                at + values.id.text.len()
            }
            CellContent::Context(n) => {
                let text = values.context(n);
                text.store(room, at);
                at + usize::from(text.len)
            }
            CellContent::Times => {
                times.both_apart(values.elapsed_ns, values.delta(), room, at);
                at + Times::WIDTH
            }
            CellContent::Elapsed => {
                store(room, at, times.elapsed_apart(values.elapsed_ns));
                at + 14
            }
            CellContent::ElapsedShort => {
                let [_, short @ .., _, _, _] = times.elapsed_apart(values.elapsed_ns);
                store(room, at, short);
                at + 10
            }
            CellContent::Delta => {
                store(room, at, times.delta_apart(values.delta()));
                at + 15
            }
            CellContent::DeltaMicro => {
                store(room, at, times.delta_micro(values.delta()));
                at + 15
            }
            CellContent::BareElapsed => values.bare_elapsed(times, room, at),
            CellContent::BareElapsedShort => values.bare_elapsed_short(room, at),
            CellContent::BareDelta => values.bare_delta(room, at),
            CellContent::BareDeltaMicro => values.bare_delta_micro(room, at),
            CellContent::EndLine => {
                while at > 0 && room[at - 1] == b' ' {
                    at -= 1;
                }
                store(room, at, [b'\n']);
                at + 1
            }
            CellContent::Label => {
                store_blocks(room, at, &values.id.opening);
                at + values.id.opening_len
            }
        }
    }
}

impl CellContent {
    /// Appends a time with too many digits for the fast path, which may be wider than its column.
    fn wide_time(&self, values: &EventValues<'_>, line: usize, out: &mut TextBuf) {
        let mut text = [0; 32];
        let at = values.sign(&mut text, 0);
        let (len, width) = match self {
            CellContent::Elapsed => (num::decimal::<9>(&mut text, 0, values.elapsed_ns), 14),
            CellContent::ElapsedShort => (num::decimal::<6>(&mut text, 0, values.elapsed_ns / 1000), 10),
            CellContent::Delta => (num::decimal::<6>(&mut text, at, values.delta()), 15),
            _ => (num::decimal::<3>(&mut text, at, values.delta()), 15),
        };
        right(&text[..len], width, line, out);
    }
}

/// Values of one event.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventValues<'e> {
    pub id: &'e IdCells,
    pub elapsed_ns: u64,
    /// Elapsed time that the delta is measured from.
    pub last_ns: u64,
    /// Texts of the context's segments.
    pub context: &'e [ContextText],
}

impl EventValues<'_> {
    #[inline(always)]
    fn context(&self, n: u8) -> &ContextText {
        &self.context[usize::from(n)]
    }

    /// Time since the event before, without its sign.
    #[inline(always)]
    fn delta(&self) -> u64 {
        self.elapsed_ns.abs_diff(self.last_ns)
    }

    /// Writes a minus if time went back, and returns its end.
    #[inline(always)]
    fn sign(&self, room: &mut [u8], at: usize) -> usize {
        let is_negative = self.elapsed_ns < self.last_ns;
        store(room, at, [b'-']);
        at + usize::from(is_negative)
    }

    // These four write values without blanks and return their end. They are not inlined, because the compiler would
    // move their divisions before the loop over cells, even for cells that are not shown.

    #[inline(never)]
    fn bare_elapsed(&self, times: &Times, room: &mut [u8], at: usize) -> usize {
        if self.elapsed_ns.wrapping_sub(times.since_ns) >= MS {
            return num::decimal::<9>(room, at, self.elapsed_ns);
        }
        store(room, at, times.bare);
        let at = at + usize::from(times.bare_len);
        if let Some(text) = room.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
            num::six(text, (self.elapsed_ns - times.since_ns) as u32);
        }
        at + 6
    }

    #[inline(never)]
    fn bare_elapsed_short(&self, room: &mut [u8], at: usize) -> usize {
        num::decimal::<6>(room, at, self.elapsed_ns / 1000)
    }

    #[inline(never)]
    fn bare_delta(&self, room: &mut [u8], at: usize) -> usize {
        let at = self.sign(room, at);
        if self.delta() < MS {
            store(room, at, *b"0.");
            if let Some(text) = room.get_mut(at + 2..).and_then(|rest| rest.first_chunk_mut()) {
                num::six(text, self.delta() as u32);
            }
            return at + 8;
        }
        num::decimal::<6>(room, at, self.delta())
    }

    #[inline(never)]
    fn bare_delta_micro(&self, room: &mut [u8], at: usize) -> usize {
        let at = self.sign(room, at);
        num::decimal::<3>(room, at, self.delta())
    }

    /// True if the first value of a cell is empty, so the cell starts with a blank.
    #[inline(always)]
    fn starts_blank(&self, put: CellContent) -> bool {
        matches!(put, CellContent::Context(n) if self.context(n).starts_blank)
    }
}

/// Compiles cells.
struct Builder<'c> {
    columns: &'c Columns,
    form: Form,
    list: Vec<Cell>,
    segments: Vec<Segment>,
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
                AixWriter::Context(_) => {
                    self.context(*column, at > 0);
                    continue;
                }
                AixWriter::Text => continue,
            };
            match (put, self.list.last_mut()) {
                (CellContent::Delta, Some(last)) if matches!(last.put, CellContent::Elapsed) => {
                    last.put = CellContent::Times
                }
                _ => self.list.push(Cell { put, apart: at > 0 }),
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
        if list.first() != Some(&Column::Id) {
            self.literal(b"{");
        }
        for (at, column) in list.iter().enumerate() {
            if *column == Column::Id {
                // The label's cell begins with the byte before its key.
                self.put(CellContent::Label);
                continue;
            }
            if at > 0 {
                self.literal(b",");
            }
            self.literal(column.info().key.as_bytes());
            self.value(*column);
        }
        match (self.columns.has_text(), list) {
            (false, _) => self.literal(b"}\n"),
            (true, []) => self.literal(b"\"text\":\""),
            (true, _) => self.literal(b",\"text\":\""),
        }
    }

    fn value(&mut self, column: Column) {
        let ColumnWriter::Aix(writer) = column.info().writer else { return };
        self.put(match writer {
            AixWriter::HookId => CellContent::BareId,
            AixWriter::Elapsed => CellContent::BareElapsed,
            AixWriter::ElapsedShort => CellContent::BareElapsedShort,
            AixWriter::Delta => CellContent::BareDelta,
            AixWriter::DeltaMicro => CellContent::BareDeltaMicro,
            AixWriter::Context(_) => return self.context(column, false),
            AixWriter::Text => return,
        });
    }

    /// Adds a context column, to the last segment if nothing but literals is between.
    fn context(&mut self, column: Column, apart: bool) {
        let is_literal = |cell: &&Cell| matches!(cell.put, CellContent::Literal(_));
        let n_literals = self.list.iter().rev().take_while(is_literal).count();
        let first = self.list.len() - n_literals;
        let follows = first > 0 && matches!(self.list[first - 1].put, CellContent::Context(_));
        let width = self.columns.width(column);
        match self.segments.last_mut() {
            Some(segment) if follows => {
                let before = self.list.drain(first..).flat_map(|cell| match cell.put {
                    CellContent::Literal(literal) => literal.as_bytes().to_vec(),
                    _ => Vec::new(),
                });
                segment.0.push((before.collect(), column, width));
            }
            _ => {
                self.list.push(Cell { put: CellContent::Context(self.segments.len() as u8), apart });
                self.segments.push(Segment(vec![(Vec::new(), column, width)]));
            }
        }
    }

    fn put(&mut self, put: CellContent) {
        self.list.push(Cell { put, apart: false });
    }

    /// Adds bytes, to the last literal if there is room.
    fn literal(&mut self, bytes: &[u8]) {
        let rest = match self.list.last_mut() {
            Some(Cell { put: CellContent::Literal(last), .. }) => last.append(bytes),
            _ => bytes,
        };
        Literal::all(rest).for_each(|literal| self.put(CellContent::Literal(literal)));
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
    /// Opening of the hook's JSON objects up to the value after the label: `{"id":"010","label":"…"`. Zeros fill its
    /// last block.
    opening: Box<[u8]>,
    opening_len: usize,
}

impl IdCells {
    /// Longest opening that [`Cells::put`] writes, zeros included.
    const MAX_OPENING: usize = 3 * BLOCK;

    fn new(id: u16, opening: &[u8]) -> Self {
        let mut blocks = opening.to_vec();
        blocks.resize(opening.len().next_multiple_of(BLOCK), 0);
        Self { text: IdText::new(id), opening: blocks.into(), opening_len: opening.len() }
    }

    fn opening(&self) -> &[u8] {
        &self.opening[..self.opening_len]
    }
}

/// A millisecond.
const MS: u64 = 1_000_000;

/// Cache of the text of elapsed times: consecutive events share their millisecond.
#[derive(Debug)]
pub(super) struct Times {
    /// Start of the millisecond.
    since_ns: u64,
    /// Its text, seconds included.
    text: [u8; 8],
    /// The text without its blanks.
    bare: [u8; 8],
    bare_len: u8,
    /// True if elapsed times have the short form.
    is_short: bool,
}

impl Times {
    /// Bytes of both columns.
    const WIDTH: usize = 14 + 15;

    pub fn new(columns: &Columns) -> Self {
        let (text, bare) = (*b"   0.000", *b"0.000   ");
        Self { since_ns: 0, text, bare, bare_len: 5, is_short: columns.list().contains(&Column::ElapsedShort) }
    }

    /// Moves the cache to an elapsed time. Returns false if the time or its delta may need its whole column.
    #[inline(always)]
    fn advance(&mut self, elapsed_ns: u64, last_ns: u64) -> bool {
        (elapsed_ns.wrapping_sub(self.since_ns) < MS || self.go_to(elapsed_ns)) && last_ns <= elapsed_ns
    }

    /// Writes an elapsed time in the cached millisecond.
    #[inline(always)]
    fn elapsed(&self, elapsed_ns: u64, text: &mut [u8; 14]) {
        if let Some(text) = text.last_chunk_mut() {
            num::point6(text, (elapsed_ns - self.since_ns) as u32);
        }
        text[..8].copy_from_slice(&self.text);
    }

    #[inline(never)]
    fn both_apart<const N: usize>(&self, elapsed_ns: u64, delta_ns: u64, room: &mut [u8; N], at: usize) {
        if let Some(both) = room.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<{ Times::WIDTH }>())
            && let Some((elapsed, delta)) = both.split_first_chunk_mut()
            && let Some(delta) = delta.first_chunk_mut()
        {
            self.elapsed(elapsed_ns, elapsed);
            self.delta(delta_ns, delta);
        }
    }

    #[inline(never)]
    fn elapsed_apart(&self, elapsed_ns: u64) -> [u8; 14] {
        let mut text = [0; 14];
        self.elapsed(elapsed_ns, &mut text);
        text
    }

    #[inline(never)]
    fn delta_apart(&self, delta_ns: u64) -> [u8; 15] {
        let mut text = [0; 15];
        self.delta(delta_ns, &mut text);
        text
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

/// Text of the context columns of one segment.
#[derive(Debug, Clone)]
pub(super) struct ContextText {
    text: [u8; Self::MAX],
    len: u8,
    /// True if the first value is empty.
    starts_blank: bool,
    /// The text, if it is longer than `text`.
    long: Option<Box<[u8]>>,
}

impl ContextText {
    /// Bytes of all context columns of a table with their keys, unless names are long.
    const MAX: usize = 5 * BLOCK;

    /// Writes the text, and blanks or zeros up to a multiple of a block.
    #[inline(always)]
    fn store(&self, room: &mut [u8], at: usize) {
        store_blocks(room, at, &self.text[..usize::from(self.len).next_multiple_of(BLOCK)]);
    }
}

/// Cache of the texts of a batch's contexts.
#[derive(Default)]
pub(super) struct ContextTexts {
    /// By context: thread of the texts, and true if [`Cells::put`] may write them.
    threads: Vec<Option<(u64, bool)>>,
    /// Texts by context and segment.
    texts: Vec<ContextText>,
    scratch: TextBuf,
    value: TextBuf,
}

impl ContextTexts {
    /// Finds the texts for an event; false if [`Cells::put`] cannot write them.
    #[inline(always)]
    pub fn find(&mut self, batch: &Batch, event: &EventRef, cells: &Cells, logs: &[LogInfo]) -> bool {
        match self.threads.get(event.setting as usize) {
            Some(Some((tid, is_quick))) if *tid == event.tid => *is_quick,
            _ => self.render(batch, event, cells, logs),
        }
    }

    /// The texts for an event that [`ContextTexts::find`] has found.
    #[inline(always)]
    pub fn of(&self, event: &EventRef, cells: &Cells) -> &[ContextText] {
        let n = cells.segments.len();
        self.texts.get(n * event.setting as usize..).unwrap_or_default()
    }

    #[inline(never)]
    fn render(&mut self, batch: &Batch, event: &EventRef, cells: &Cells, logs: &[LogInfo]) -> bool {
        let (context, n) = (event.setting as usize, cells.segments.len());
        if context >= self.threads.len() {
            self.threads.resize(context + 1, None);
            let empty = ContextText { text: [b' '; ContextText::MAX], len: 0, starts_blank: true, long: None };
            self.texts.resize(n * (context + 1), empty);
        }
        let row = ContextRow::of(batch, event, logs);
        let texts = &mut self.texts[n * context..n * (context + 1)];
        for (segment, text) in cells.segments.iter().zip(&mut *texts) {
            let quick = if cells.form == Form::Text { segment.columns(&row) } else { None };
            *text = quick.unwrap_or_else(|| segment.text(&row, cells.form, (&mut self.scratch, &mut self.value)));
        }
        let is_quick = texts.iter().all(|text| text.long.is_none());
        self.threads[context] = Some((event.tid, is_quick));
        is_quick
    }

    /// Clears the cache at the end of a batch: the next one has other contexts.
    pub fn forget(&mut self) {
        self.threads.clear();
        self.texts.clear();
    }
}

impl<'r> ContextRow<'r> {
    fn of(batch: &'r Batch, event: &EventRef, logs: &'r [LogInfo]) -> Self {
        let setting = batch.shared_context(event.setting);
        Self {
            facts: batch.facts(setting, event.tid),
            file: logs[setting.log as usize].name.as_bytes(),
            reported_cpus: batch.system(setting).reported_cpus(setting.reported_cpus),
        }
    }
}

impl Segment {
    /// Width of all columns.
    fn width(&self) -> usize {
        self.0.iter().map(|(_, _, width)| width).sum()
    }

    /// Text of values that are shorter than their columns.
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
                ContextValue::Number(Some(0)) if *column == Column::Int => 0,
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

    fn text(&self, row: &ContextRow<'_>, form: Form, (out, value): (&mut TextBuf, &mut TextBuf)) -> ContextText {
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
            (ContextValue::Number(Some(0)), Column::Int) | (ContextValue::Number(None), _) => {}
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

/// Bytes that are stored at once.
const BLOCK: usize = 32;

/// Copies `bytes` block by block, as far as there is room.
#[inline(always)]
fn store_blocks(room: &mut [u8], at: usize, text: &[u8]) {
    let room = room.get_mut(at..).unwrap_or_default();
    for (room, block) in room.as_chunks_mut::<BLOCK>().0.iter_mut().zip(text.as_chunks::<BLOCK>().0) {
        *room = *block;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Timestamp;
    use crate::context::ThreadContext;

    const NOBODY: ContextRow<'static> = ContextRow {
        facts: ThreadContext { tid: 0, pid: None, path: b"", name: b"", cpu: None, depth: 0, priority: 0, svc: b"" },
        file: b"",
        reported_cpus: 0,
    };

    /// Id, elapsed time and the time that the delta is measured from.
    type ElapsedInput = (u16, u64, u64);

    /// Cells of an event by both ways; `None` for [`Cells::put`] if they do not fit.
    fn both(
        cells: &Cells,
        times: &mut Times,
        (id, elapsed_ns, last_ns): ElapsedInput,
        row: &ContextRow<'_>,
    ) -> (Option<String>, String) {
        let mut scratch = TextBuf::new();
        let context: Vec<_> = cells
            .segments
            .iter()
            .map(|segment| {
                let text = segment.text(row, cells.form, (&mut scratch, &mut TextBuf::new()));
                if cells.form == Form::Text
                    && let Some(quick) = segment.columns(row)
                {
                    assert_eq!((&quick.text[..], quick.len), (&text.text[..], text.len));
                    assert_eq!((quick.starts_blank, quick.long), (text.starts_blank, None));
                }
                text
            })
            .collect();
        let id = IdCells::new(id, b"{label");
        let values = EventValues { id: &id, elapsed_ns, last_ns, context: &context };
        let put = (cells.fit(&id)
            && context.iter().all(|text| text.long.is_none())
            && cells.holds(times, elapsed_ns, last_ns))
        .then(|| {
            let mut room = [b'?'; COLUMNS];
            let len = cells.put(&id, || values, (elapsed_ns, last_ns), times, &mut room);
            String::from_utf8_lossy(&room[..len]).into_owned()
        });
        let mut out = TextBuf::new();
        out.push(b"line before");
        let start = out.len();
        cells.append(&values, times, &mut out);
        (put, String::from_utf8_lossy(&out.as_bytes()[start..]).into_owned())
    }

    fn row(columns: &Columns, event: ElapsedInput, row: &ContextRow<'_>) -> String {
        let cells = Cells::new(columns, Form::Text, ReportColour::Off);
        let (put, appended) = both(&cells, &mut Times::new(columns), event, row);
        assert!(put.is_none_or(|put| put == appended), "{appended:?}");
        appended
    }

    fn line(columns: &Columns, id: u16, elapsed_ns: u64, delta_ns: i64) -> String {
        row(columns, (id, elapsed_ns, elapsed_ns.wrapping_sub(delta_ns as u64)), &NOBODY)
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
        let wide = row(&columns, (0x0100, u64::MAX, 0), &NOBODY);
        assert_eq!(wide, "010 18446744073.709551615 18446744073709.551615");
        let wide = columns.with_wide_ids(true);
        assert_eq!(line(&wide, 0xF5F1, 0, 0), "F5F1    0.000000000       0.000000");
        let turned = Columns::parse("delta,id,text", Timestamp::Milli).unwrap();
        assert_eq!(line(&turned, 0x0100, 7, 7), "       0.000007 010 ");
    }

    #[test]
    fn cells_that_fit_are_written_as_any_others() {
        let names: [&[u8]; 5] = [b"", b"sh", b"fourteen bytes", b"fifteen letters", b" blank first"];
        let numbers = [None, Some(0), Some(7), Some(100), Some(99_999_999), Some(u64::MAX)];
        let lists = [
            "id,filename,exec,cpu,reportedcpus,pid,tid,int,svc,elapsed,delta,text",
            "id,elapsed,delta,text",
            "id,exec,cpu,pid,elapsed,delta",
            "delta,id,tid,elapsed",
            "cpu,id,pid,elapsed,exec,svc,text",
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
                svc: names[n / 5 % 5],
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
            let event = (
                if n % 3 == 0 { 0x0100 } else { 0xF5F1 },
                elapsed_ns,
                if n % 13 == 0 { elapsed_ns + 8 } else { last_ns },
            );
            let (put, appended) = both(&cells, &mut Times::new(&columns), event, &context);
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
                (0xF5F1, 1_999_999, 2_000_000),
                &ContextRow { facts, ..NOBODY },
            )
            .1
        };
        assert_eq!(table(Form::Tsv, Timestamp::Milli), "F5F1\t0.001999999\t-0.000001\t7\ta\\tb\t");
        assert_eq!(table(Form::Csv, Timestamp::Short), "F5F1,0.001999,-0.000001,7,a\tb,");
        let expected = r#"{label,"elapsed":0.001999999,"delta":-0.001,"pid":7,"exec":"a\tb","text":""#;
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
            row(&columns, (0x1060, 0, 0), &ksh()),
            "106 trcfile        ksh            3   2     4522     8191     1 kread             0.000000000       0.000000"
        );
        let columns = Columns::new(&[Column::Id, Column::Exec, Column::Pid], Timestamp::Milli);
        let line = row(&columns, (0x1060, 3_109_888, 2_947_072), &ksh());
        assert_eq!((&line[33..44], &line[51..59], line.len()), ("0.003109888", "0.162816", 59));
    }

    #[test]
    fn unknown_values_are_blank_or_told_so() {
        let columns = Columns::new(&[Column::Exec, Column::Cpu, Column::Pid, Column::Svc], Timestamp::None);
        assert_eq!(row(&columns, (0, 0, 0), &NOBODY).trim_end(), "-?-");
        let unnamed = ContextRow { facts: ThreadContext { pid: Some(4522), ..NOBODY.facts }, ..NOBODY };
        assert_eq!(row(&columns, (0, 0, 0), &unnamed).trim_end(), "-4522-             4522");
    }

    #[test]
    fn wide_values_move_the_rest_of_their_line() {
        let columns = Columns::new(&[Column::File, Column::Pid, Column::Tid], Timestamp::None);
        let facts = ThreadContext { pid: Some(123_456_789), tid: u64::MAX, ..ksh().facts };
        let line = row(&columns, (0, 0, 0), &ContextRow { facts, file: b"a/rather/long/name", ..NOBODY });
        assert_eq!(line, "a/rather/long/name 123456789 18446744073709551615 1 ");
    }

    #[test]
    fn the_text_may_have_a_line_of_its_own() {
        let columns = Columns::new(&[Column::Id, Column::Cpu], Timestamp::None).on_two_lines(true);
        assert_eq!(row(&columns, (0x1060, 0, 0), &NOBODY), "106\n");
    }
}
