//! Rows of the hex view: parts of an event, with texts joined to the field after them and the iterations of a loop in
//! one row.

use super::{ExecutedStep, View};
use std::ops::Range;
use tfbc_grammar::{SourceId, Sources, Span};

/// Maximum characters shown of a template.
const MAX_EXCERPT: usize = 44;

/// One or more parts that are listed together.
#[derive(Debug, Clone)]
pub(super) struct PartRow {
    /// Source position, from the start of the first part to the end of the last.
    pub place: Option<(SourceId, Span)>,
    /// Source position of the part that prints the value, after a text before it.
    pub value_start: Option<(SourceId, u32)>,
    /// Bit ranges that were read, in order.
    pub reads: Vec<Range<u64>>,
    pub text: Vec<Range<usize>>,
    /// Parts whose values were used.
    pub from: Vec<usize>,
    pub bits: Option<(u32, u32)>,
    /// Parts that this row shows.
    pub parts: Vec<usize>,
    /// Number of executions.
    pub n: usize,
    /// True for the row of the hook word.
    pub is_header: bool,
}

impl PartRow {
    fn new(at: usize, part: &ExecutedStep) -> Self {
        let ExecutedStep { place, text, from, bits, .. } = part.clone();
        let is_header = place.is_none() && !part.reads.is_empty();
        let value_start = place.map(|(source, span)| (source, span.start));
        let mut row =
            Self { place, value_start, reads: Vec::new(), text, from, bits, parts: vec![at], n: 1, is_header };
        row.read(&part.reads);
        row
    }

    /// Adds bit ranges; adjacent ones are merged.
    fn read(&mut self, reads: &[Range<u64>]) {
        for read in reads {
            match self.reads.last_mut().filter(|last| last.end == read.start) {
                Some(last) => last.end = read.end,
                None => self.reads.push(read.clone()),
            }
        }
    }

    /// True if the row reads any bit of the event.
    pub fn reads_any(&self) -> bool {
        !self.reads.is_empty()
    }

    fn is_text(&self) -> bool {
        self.place.is_some() && self.reads.is_empty() && self.from.is_empty() && !self.text.is_empty()
    }

    /// Adds a later part to the row.
    fn join(&mut self, later: PartRow) {
        self.read(&later.reads);
        for run in later.text {
            match self.text.last_mut().filter(|last| last.end == run.start) {
                Some(last) => last.end = run.end,
                None => self.text.push(run),
            }
        }
        self.from.extend(later.from);
        self.parts.extend(later.parts);
        self.bits = self.bits.or(later.bits);
        self.value_start = later.value_start.or(self.value_start);
        if let (Some(place), Some((_, span))) = (self.place.as_mut(), later.place) {
            place.1 = Span::new(place.1.start.min(span.start), place.1.end.max(span.end));
        }
    }
}

/// Rows of an event.
pub(super) fn rows(view: &View, sources: &Sources) -> Vec<PartRow> {
    let parts = view.parts.iter().enumerate().map(|(at, part)| PartRow::new(at, part));
    let mut rows: Vec<PartRow> = Vec::new();
    for mut row in parts.filter(|row| row.reads_any() || !row.text.is_empty() || !row.from.is_empty()) {
        let Some(last) = rows.last_mut() else {
            rows.push(row);
            continue;
        };
        let follows = row.reads.first().zip(last.reads.last()).is_some_and(|(next, last)| next.start == last.end);
        let is_turn = last.place.is_some() && last.place == row.place && follows && row.from.is_empty();
        if is_turn {
            last.n += 1;
            last.join(row);
        } else if last.is_text() && !row.is_text() && !row.text.is_empty() && follows_text(sources, last, &row) {
            let text = rows.pop();
            if let Some(mut text) = text {
                text.n = row.n;
                row.place = row.place.or(text.place);
                text.join(row);
                rows.push(text);
            }
        } else {
            rows.push(row);
        }
    }
    rows
}

/// True if a field directly follows a text on the same line.
fn follows_text(sources: &Sources, text: &PartRow, field: &PartRow) -> bool {
    let (Some((source, text)), Some((other, field))) = (text.place, field.place) else { return false };
    let Some(source) = sources.get(source).filter(|_| source == other && text.end <= field.start) else { return false };
    let between = source.slice(Span::new(text.end, field.start));
    // Escapes such as `\\n` and `\\t` do not belong to a field.
    let is_escape = source.slice(text).starts_with(b"\\");
    let is_near = (field.end - text.start) as usize <= MAX_EXCERPT;
    is_near && !is_escape && between.iter().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// Source text at a position. Continuations and runs of blanks become one blank, and long text is cut.
pub(super) fn excerpt(sources: &Sources, id: SourceId, span: Span) -> String {
    let Some(source) = sources.get(id) else { return String::new() };
    let text = String::from_utf8_lossy(source.slice(span)).replace("\\\n", " ").replace("\\\r\n", " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    if text.chars().count() <= MAX_EXCERPT {
        return text;
    }
    let cut: String = text.chars().take(MAX_EXCERPT - 2).collect();
    cut + " …"
}
