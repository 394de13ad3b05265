//! The text of one event: margins, soft blanks, tabs and the limit on its size.

use tfbc_vm::Layout;

/// Blanks between two tab stops.
const TAB: usize = 8;

/// The place of the first tab stop of an `L=0` stanza.
const FIRST_TAB_OF_LEVEL_0: usize = 3;

/// What an event has printed so far.
///
/// Margins are printed when the first byte of text arrives on a line, so lines without text hold nothing.
pub(super) struct Page {
    text: Vec<u8>,
    layout: Layout,
    level_0: bool,
    /// Bytes of text on the current line, margin not counted.
    column: usize,
    /// Whether the current line holds text (its margin is printed).
    started: bool,
    /// A soft blank waits for something to follow.
    pending: bool,
    /// Number of the current line, from 1.
    line: u64,
    /// The most bytes of text, margins not counted.
    limit: usize,
    /// Bytes of text so far, margins not counted.
    n_bytes: usize,
    /// The text limit was passed; whatever comes is dropped.
    full: bool,
}

impl Page {
    pub(super) fn new(layout: Layout, level_0: bool, limit: usize) -> Self {
        Page {
            text: Vec::new(),
            layout,
            level_0,
            column: 0,
            started: false,
            pending: false,
            line: 1,
            limit,
            n_bytes: 0,
            full: false,
        }
    }

    /// Number of the current line, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Whether the text limit was passed.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Prints bytes that come from the event or its context: a waiting soft blank is printed before them.
    pub(super) fn value(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.pending {
            self.put(b" ");
        }
        self.pending = false;
        self.put(bytes);
    }

    /// Prints text of the template's own: a waiting soft blank is dropped when the text itself begins with a blank.
    pub(super) fn own_text(&mut self, bytes: &[u8]) {
        if bytes.starts_with(b" ") || bytes.starts_with(b"\t") {
            self.pending = false;
        }
        self.value(bytes);
    }

    /// A soft blank follows what was printed last.
    pub(super) fn soft_blank(&mut self) {
        self.pending = true;
    }

    /// `\n`
    pub(super) fn newline(&mut self) {
        self.pending = false;
        self.store(b"\n");
        if self.full {
            return;
        }
        self.column = 0;
        self.started = false;
        self.line += 1;
    }

    /// `\t`
    pub(super) fn tab(&mut self) {
        self.pending = false;
        let stop = if !self.level_0 {
            (self.column / TAB + 1) * TAB
        } else if self.column < FIRST_TAB_OF_LEVEL_0 {
            FIRST_TAB_OF_LEVEL_0
        } else {
            ((self.column - FIRST_TAB_OF_LEVEL_0) / TAB + 1) * TAB + FIRST_TAB_OF_LEVEL_0
        };
        self.put(&vec![b' '; stop - self.column]);
    }

    /// The mark of an event that reached a limit.
    pub(super) fn limit_mark(&mut self) {
        self.pending = false;
        self.limit = usize::MAX;
        self.started |= self.full;
        self.full = false;
        self.put(b" [limit]");
    }

    /// The finished text behind `columns`, with a newline at its end. A first line without text loses the blanks at
    /// the columns' end.
    pub(super) fn finish(self, columns: &[u8]) -> Vec<u8> {
        let columns = match self.text.first() {
            None | Some(b'\n') => columns.trim_ascii_end(),
            Some(_) => columns,
        };
        [columns, &self.text, b"\n"].concat()
    }

    fn put(&mut self, bytes: &[u8]) {
        if self.full {
            return;
        }
        if !self.started {
            self.started = true;
            let margin = if self.line == 1 { self.layout.first } else { self.layout.further };
            self.text.extend(std::iter::repeat_n(b' ', margin as usize));
        }
        self.store(bytes);
        self.column += bytes.len();
    }

    fn store(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.n_bytes == self.limit {
                self.full = true;
                return;
            }
            self.n_bytes += 1;
            self.text.push(*byte);
        }
    }
}
