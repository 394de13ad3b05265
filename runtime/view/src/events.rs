//! Events of a page: the rows of the report, in columns, with notices between them.

use super::MAX_NOTICES;
use super::data::{push_number, push_text, write_texts};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};
use tfbc::{Event, EventId, Events, Item, Notice, ReportError};

/// Limit on the text of a page, in bytes. A trace chooses how long its texts are.
const MAX_BYTES: usize = 64 << 20;
/// Limit on the text of one event, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// Names of the columns in the page's data.
const COLUMNS: [&str; 9] = ["seq", "time", "cpu", "process", "pid", "tid", "id", "text", "note"];

/// Events of a page.
#[derive(Debug, Default)]
pub struct EventTable {
    n_events: usize,
    /// JSON per column of [`COLUMNS`], without the brackets of the array.
    columns: [Vec<u8>; COLUMNS.len()],
    processes: TextList,
    notes: TextList,
    /// Ids and labels, in pairs, by the id and the label.
    ids: Vec<String>,
    known_ids: HashMap<(EventId, String), usize>,
    /// Notices as JSON, and their number.
    notices: Vec<u8>,
    n_notices: usize,
    left_out: Option<LeftOut>,
}

/// Events that a page does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    /// Limit that was reached.
    pub limit: TableLimit,
    /// Time of the first event that is left out, in nanoseconds since the start of the trace.
    pub from_ns: Option<i64>,
}

/// Limit of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableLimit {
    /// Number of events.
    Events,
    /// Bytes of text.
    Text,
}

/// Texts that rows refer to by index.
#[derive(Debug, Default)]
struct TextList {
    texts: Vec<String>,
    known: HashMap<String, usize>,
}

impl TextList {
    fn index_of(&mut self, text: &str) -> usize {
        if let Some(at) = self.known.get(text) {
            return *at;
        }
        self.texts.push(text.to_owned());
        self.known.insert(text.to_owned(), self.texts.len() - 1);
        self.texts.len() - 1
    }
}

/// Text up to the limit of one event.
fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_TEXT {
        return Cow::Borrowed(text);
    }
    let end = (0..=MAX_TEXT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    Cow::Owned(format!("{} […]", &text[..end]))
}

impl EventTable {
    /// Reads events until the end of the trace or a limit. Processes are known if the iterator tracks them.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn read(events: &mut Events<'_>, max_events: usize) -> Result<Self, ReportError> {
        let (mut table, mut n_bytes) = (Self::default(), 0);
        while let Some(item) = events.next()? {
            match item {
                Item::Notice(notice) => table.push_notice(&notice),
                Item::Event(event) => {
                    let limit = match () {
                        () if table.n_events >= max_events => Some(TableLimit::Events),
                        () if n_bytes >= MAX_BYTES => Some(TableLimit::Text),
                        () => None,
                    };
                    if let Some(limit) = limit {
                        table.left_out = Some(LeftOut { limit, from_ns: event.elapsed_ns() });
                        break;
                    }
                    n_bytes += table.push(&event);
                }
            }
        }
        Ok(table)
    }

    /// Number of events.
    pub fn n_events(&self) -> usize {
        self.n_events
    }

    /// Reason why the table ends before the trace.
    pub fn left_out(&self) -> Option<LeftOut> {
        self.left_out
    }

    /// Adds an event. Returns the number of bytes of its texts.
    fn push(&mut self, event: &Event<'_>) -> usize {
        let (process, label, text) = (event.process(), event.label(), event.text());
        let n_bytes = process.as_ref().map_or(0, |name| name.len()) + label.len() + text.len().min(MAX_TEXT);
        let text = shortened(&text);
        let process = process.map(|name| self.processes.index_of(&name));
        let note = event.note().map(|note| self.notes.index_of(note));
        let id = self.id(event.event_id(), &label);
        if self.n_events > 0 {
            self.columns.iter_mut().for_each(|column| column.push(b','));
        }
        self.n_events += 1;
        let [seq_out, time_out, cpu_out, process_out, pid_out, tid_out, id_out, text_out, note_out] = &mut self.columns;
        push_number(Some(event.seq()), seq_out);
        match event.elapsed_ns() {
            Some(ns) => time_out.extend(ns.to_string().bytes()),
            None => push_number(None, time_out),
        }
        push_number(event.cpu(), cpu_out);
        push_number(process.map(|at| at as u64), process_out);
        push_number(event.pid(), pid_out);
        push_number(event.tid(), tid_out);
        push_number(Some(id as u64), id_out);
        push_text(&text, text_out);
        push_number(note.map(|at| at as u64), note_out);
        n_bytes
    }

    /// Index of an id with its label.
    fn id(&mut self, id: EventId, label: &str) -> usize {
        let n_known = self.known_ids.len();
        *self.known_ids.entry((id, label.to_owned())).or_insert_with(|| {
            self.ids.extend([id.name(), label.to_owned()]);
            n_known
        })
    }

    fn push_notice(&mut self, notice: &Notice) {
        if self.n_notices == MAX_NOTICES {
            return;
        }
        self.notices.extend_from_slice(if self.n_notices > 0 { b"," } else { b"" });
        self.notices.extend(format!("[{},{},", self.n_events, notice.damage).bytes());
        push_text(&notice.message, &mut self.notices);
        self.notices.push(b']');
        self.n_notices += 1;
    }

    /// Writes the table as JSON.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"{\"processes\":")?;
        write_texts(self.processes.texts.iter().map(String::as_str), out)?;
        out.write_all(b",\n\"notes\":")?;
        write_texts(self.notes.texts.iter().map(String::as_str), out)?;
        out.write_all(b",\n\"ids\":")?;
        write_texts(self.ids.iter().map(String::as_str), out)?;
        for (name, column) in COLUMNS.iter().zip(&self.columns) {
            write!(out, ",\n\"{name}\":[")?;
            out.write_all(column)?;
            out.write_all(b"]")?;
        }
        out.write_all(b",\n\"notices\":[")?;
        out.write_all(&self.notices)?;
        out.write_all(b"]}")
    }
}
