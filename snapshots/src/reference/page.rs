//! Text of one event: margins, soft blanks, tabs and the limit on its size.

use tfbc_vm::Layout;

/// Distance between tab stops.
const TAB: usize = 8;

/// Column of the first tab stop in an `L=0` stanza.
const FIRST_TAB_OF_LEVEL_0: usize = 3;

/// Printed text of an event.
///
/// The margin is printed with the first byte of text on a line, so lines without text are empty.
pub(super) struct Page {
    text: Vec<u8>,
    layout: Layout,
    level_0: bool,
    /// Bytes of text on the current line, without margin.
    column: usize,
    /// True if the current line contains text, and so a margin.
    started: bool,
    /// True if a soft blank is pending.
    pending: bool,
    /// Number of the current line, from 1.
    line: u64,
    /// Maximum bytes of text, without margins.
    limit: usize,
    /// Bytes of text so far, without margins.
    n_bytes: usize,
    /// True if the text limit was exceeded; further text is dropped.
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

    /// Removes the limit on the size.
    pub(super) fn without_limit(&mut self) {
        self.limit = usize::MAX;
    }

    /// Number of the current line, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// True if the text limit was exceeded.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Prints bytes from the event or its context. A pending soft blank is printed first.
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

    /// Prints text of the template. A pending soft blank is dropped if the text begins with a blank.
    pub(super) fn own_text(&mut self, bytes: &[u8]) {
        if bytes.starts_with(b" ") || bytes.starts_with(b"\t") {
            self.pending = false;
        }
        self.value(bytes);
    }

    /// Adds a soft blank after the last output.
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

    /// Prints the mark of an event that reached a limit.
    pub(super) fn limit_mark(&mut self) {
        self.pending = false;
        self.limit = usize::MAX;
        self.started |= self.full;
        self.full = false;
        self.put(b" [limit]");
    }

    /// Finished text after `columns`, with a final newline. If the first line has no text, the blanks at the end of the
    /// columns are removed.
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
