//! Row of one event's fields: a cell per field, and the items and texts that cells refer to.
//!
//! ```text
//! cells   field 0 │ field 1 │ list ─────┐ │ … │ next ─┐ │ member 0 │ member 1 │ … │ next │ member 0 │ member 1
//!                                       └───────────> └──────────────────────────>
//! bytes   texts and bytes, to which cells refer by offset and length
//! ```
//!
//! The first cell of a list item contains the index of the next item and the item's number of cells. Instructions
//! number cells from the start of the innermost open item, or of the row. A thread reuses one row for all events, so
//! that storing fields does not allocate.

/// Limit on the cells of a row.
const MAX_CELLS: usize = 1 << 22;
/// Limit on the texts and bytes of a row.
const MAX_BYTES: usize = 1 << 24;
/// Size of an encoded cell.
const CELL_BYTES: usize = 13;
/// Limit on lists inside lists.
const MAX_OPEN: usize = 32;

/// Values of one event's fields.
#[derive(Debug, Clone, Default)]
pub struct Row {
    cells: Vec<Cell>,
    bytes: Vec<u8>,
    /// Lists being stored, innermost last.
    open: Vec<OpenList>,
    /// First cell of the current list item, or of the row, and its number of cells.
    base: usize,
    width: usize,
    /// Number of cells of the row itself, without list items.
    n_own: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    kind: Kind,
    /// By kind: a number; the offset of bytes; the first and last item of a list, in the low and high half; the next
    /// item.
    value: u64,
    /// By kind: the length of bytes; the number of items; the number of cells of an item.
    len: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Null,
    Number,
    Bytes,
    Label,
    List,
}

#[derive(Debug, Clone, Copy)]
struct OpenList {
    /// Cell of the list; `None` if the list is not stored.
    list: Option<usize>,
    /// Number of cells of an item.
    n_members: usize,
    /// State to restore at the end of the list.
    base: usize,
    width: usize,
}

/// Value of a cell.
#[derive(Debug, Clone, Copy)]
pub enum CellValue<'r> {
    /// No value.
    Null,
    /// Number, or bits of a float.
    Number(u64),
    /// Text or bytes.
    Bytes(&'r [u8]),
    /// Index of a text in [`Labels::texts`](crate::Labels::texts).
    Label(u32),
    /// Items of a list.
    List(Items<'r>),
}

/// Cells of a row or of a list item.
#[derive(Debug, Clone, Copy)]
pub struct Cells<'r> {
    row: &'r Row,
    base: usize,
    width: usize,
}

/// Items of a list.
#[derive(Debug, Clone, Copy)]
pub struct Items<'r> {
    row: &'r Row,
    next: usize,
    left: u32,
}

/// Error: the row has reached a limit, so the event ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowFull;

impl Row {
    /// Cells of the row.
    pub fn cells(&self) -> Cells<'_> {
        Cells { row: self, base: 0, width: self.n_own }
    }

    /// Passes the row as bytes to `out`, piece by piece. [`Row::decode`] reads them back. The encoding is for use
    /// within one process.
    ///
    /// ```
    /// use tfbc_vm::{CellValue, Row};
    /// let (mut bytes, mut row) = (Vec::new(), Row::default());
    /// row.encode(|piece| bytes.extend_from_slice(piece));
    /// assert!(row.decode(&bytes));
    /// assert!(matches!(row.cells().get(0), CellValue::Null));
    /// assert!(!row.decode(&bytes[1..]));
    /// ```
    pub fn encode(&self, mut out: impl FnMut(&[u8])) {
        out(&(self.cells.len() as u32).to_le_bytes());
        out(&(self.n_own as u32).to_le_bytes());
        for Cell { kind, value, len } in &self.cells {
            let mut cell = [0; CELL_BYTES];
            cell[..8].copy_from_slice(&value.to_le_bytes());
            cell[8..12].copy_from_slice(&len.to_le_bytes());
            cell[12] = *kind as u8;
            out(&cell);
        }
        out(&self.bytes);
    }

    /// Replaces the row by an encoded one. Returns false and clears the row if the bytes are invalid.
    pub fn decode(&mut self, bytes: &[u8]) -> bool {
        self.begin(0);
        self.decoded(bytes).is_some()
    }

    fn decoded(&mut self, bytes: &[u8]) -> Option<()> {
        let (head, rest) = bytes.split_first_chunk::<8>()?;
        let [n_cells, n_own] =
            [0, 4].map(|at| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
        let (cells, texts) = rest.split_at_checked((n_cells as usize).checked_mul(CELL_BYTES)?)?;
        for cell in cells.as_chunks::<CELL_BYTES>().0 {
            let [value @ .., l0, l1, l2, l3, kind] = *cell;
            let kind = match kind {
                0 => Kind::Null,
                1 => Kind::Number,
                2 => Kind::Bytes,
                3 => Kind::Label,
                _ => Kind::List,
            };
            self.cells.push(Cell { kind, value: u64::from_le_bytes(value), len: u32::from_le_bytes([l0, l1, l2, l3]) });
        }
        self.bytes.extend_from_slice(texts);
        self.n_own = n_own as usize;
        Some(())
    }

    /// Clears the row and gives it `n` null cells.
    pub fn begin(&mut self, n: u32) {
        let n = (n as usize).min(usize::from(u16::MAX));
        self.cells.clear();
        if n > 0 {
            self.cells.resize(n, Cell::default());
        }
        self.bytes.clear();
        self.open.clear();
        (self.base, self.width, self.n_own) = (0, n, n);
    }

    /// Ends all open lists.
    pub(crate) fn leave_lists(&mut self) {
        self.open.clear();
        (self.base, self.width) = (0, self.n_own);
    }

    fn index(&self, cell: u16) -> Option<usize> {
        let cell = usize::from(cell);
        (cell < self.width).then(|| self.base + cell)
    }

    fn set(&mut self, cell: u16, value: Cell) {
        if let Some(place) = self.index(cell).and_then(|index| self.cells.get_mut(index)) {
            *place = value;
        }
    }

    /// True if the cell is null.
    pub(crate) fn is_null(&self, cell: u16) -> bool {
        self.index(cell).and_then(|index| self.cells.get(index)).is_none_or(|cell| cell.kind == Kind::Null)
    }

    pub(crate) fn put_null(&mut self, cell: u16) {
        self.set(cell, Cell::default());
    }

    /// Sets a number.
    pub fn put_number(&mut self, cell: u16, value: u64) {
        self.set(cell, Cell { kind: Kind::Number, value, len: 0 });
    }

    pub(crate) fn put_label(&mut self, cell: u16, label: u32) {
        self.set(cell, Cell { kind: Kind::Label, value: label.into(), len: 0 });
    }

    /// Sets a text.
    ///
    /// # Errors
    /// The row is full.
    pub fn put_bytes(&mut self, cell: u16, bytes: &[u8]) -> Result<(), RowFull> {
        self.set(cell, Cell { kind: Kind::Bytes, value: self.bytes.len() as u64, len: bytes.len() as u32 });
        self.push(bytes)
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), RowFull> {
        if self.bytes.len() + bytes.len() > MAX_BYTES {
            return Err(RowFull);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Appends to the bytes that were stored last.
    pub(crate) fn append(&mut self, cell: u16, bytes: &[u8]) -> Result<(), RowFull> {
        let n = self.bytes.len() as u64;
        if let Some(place) = self.index(cell).and_then(|index| self.cells.get_mut(index))
            && place.kind == Kind::Bytes
            && place.value + u64::from(place.len) == n
        {
            place.len += bytes.len() as u32;
            return self.push(bytes);
        }
        Ok(())
    }

    /// Starts a list whose items have `n_members` cells. The list is null with `is_null`.
    pub fn begin_list(&mut self, cell: u16, is_null: bool, n_members: u32) {
        self.set(cell, Cell { kind: if is_null { Kind::Null } else { Kind::List }, ..Cell::default() });
        let list = self.index(cell).filter(|_| !is_null);
        if self.open.len() < MAX_OPEN {
            let n_members = (n_members as usize).min(usize::from(u16::MAX));
            self.open.push(OpenList { list, n_members, base: self.base, width: self.width });
        }
    }

    /// Starts an item of the innermost list.
    ///
    /// # Errors
    /// The row is full.
    pub fn begin_item(&mut self) -> Result<(), RowFull> {
        let Some(OpenList { list, n_members, .. }) = self.open.last().copied() else { return Ok(()) };
        let head = self.cells.len();
        if head + n_members >= MAX_CELLS {
            return Err(RowFull);
        }
        self.cells.resize(head + 1 + n_members, Cell::default());
        self.cells[head].len = n_members as u32;
        (self.base, self.width) = (head + 1, n_members);
        let Some(list) = list else { return Ok(()) };
        let Cell { value, len, .. } = self.cells[list];
        let first = if len == 0 { head as u64 } else { value & u64::from(u32::MAX) };
        if len > 0
            && let Some(last) = self.cells.get_mut((value >> 32) as usize)
        {
            last.value = head as u64;
        }
        self.cells[list] = Cell { kind: Kind::List, value: first | (head as u64) << 32, len: len + 1 };
        Ok(())
    }

    /// Ends the innermost list.
    pub fn end_list(&mut self) {
        if let Some(OpenList { base, width, .. }) = self.open.pop() {
            (self.base, self.width) = (base, width);
        }
    }
}

impl<'r> Cells<'r> {
    /// Value of a cell; null if there is no such cell.
    #[inline]
    pub fn get(&self, cell: u16) -> CellValue<'r> {
        let row = self.row;
        let found = row.cells.get(self.base + usize::from(cell)).filter(|_| usize::from(cell) < self.width);
        let Some(Cell { kind, value, len }) = found.copied() else { return CellValue::Null };
        match kind {
            Kind::Null => CellValue::Null,
            Kind::Number => CellValue::Number(value),
            Kind::Label => CellValue::Label(value as u32),
            Kind::Bytes => {
                CellValue::Bytes(row.bytes.get(value as usize..value as usize + len as usize).unwrap_or(&[]))
            }
            Kind::List => CellValue::List(Items { row, next: value as u32 as usize, left: len }),
        }
    }
}

impl<'r> Iterator for Items<'r> {
    type Item = Cells<'r>;

    #[inline]
    fn next(&mut self) -> Option<Cells<'r>> {
        self.left = self.left.checked_sub(1)?;
        let head = self.row.cells.get(self.next)?;
        let item = Cells { row: self.row, base: self.next + 1, width: head.len as usize };
        self.next = head.value as usize;
        Some(item)
    }
}
