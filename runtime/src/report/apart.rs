//! Events whose text is formatted apart from the report: since it decides whether they are reported, since they are
//! only counted, or since they are rows of a table for programs.

use super::format::{Carried, LineFormat, Subject};
use crate::catalog::{Catalog, Entry};
use crate::columns::{Column, Columns, Row, trim};
use crate::forms::{Counted, Form, write_counts};
use crate::ids::display_id;
use crate::json;
use std::borrow::Cow;
use tfbc_vm::{Layout, Level, TextBuf};

impl LineFormat<'_> {
    /// Formats an event that the filter admits, and reports it if its text is wanted.
    pub(super) fn apart(&mut self, subject: &Subject<'_>, entry: &Entry, carried: &mut Carried, out: &mut TextBuf) {
        if self.options.form != Form::Text && self.grep.is_none() && !self.options.stats {
            return self.table_row(subject, entry, carried, out);
        }
        let as_text = self.options.has_lines();
        let layout = if as_text { self.layouts[entry.level as usize] } else { Layout::default() };
        let outcome = self.run_unseen(subject, entry, layout);
        if !outcome.skipped {
            let text = without_margins(self.unseen.as_bytes(), layout);
            if self.grep.as_ref().is_some_and(|wanted| !wanted.is_match(&text)) {
                return;
            }
            match self.options.form {
                _ if self.options.stats => {}
                Form::Text if as_text => self.take_line(subject, entry.level, carried, out),
                Form::Text => self.columns_line(subject, entry.level, carried, out),
                _ => {
                    self.page_break(subject, carried, out);
                    let start = self.begin_row(subject, entry, carried, out);
                    out.push(&without_margins(self.unseen.as_bytes(), layout));
                    self.end_row(start, out);
                }
            }
        }
        self.count(subject, outcome, carried);
    }

    /// Appends an event with the text that was formatted apart.
    pub(super) fn take_line(&mut self, subject: &Subject<'_>, level: Level, carried: &mut Carried, out: &mut TextBuf) {
        self.page_break(subject, carried, out);
        let line = out.len();
        self.columns_of(subject, level, carried, out);
        let text = self.unseen.as_bytes();
        if !(self.columns.has_two_lines() && text == b"\n" && level != Level::Zero) {
            if text.starts_with(b"\n") {
                trim(line, out);
            }
            out.push(text);
        }
        self.count_lines(line, carried, out);
    }

    /// Formats an event that the filter admits, as a row of a table. Its text is printed into the row, and written otherwise
    /// where the form asks for it.
    fn table_row(&mut self, subject: &Subject<'_>, entry: &Entry, carried: &mut Carried, out: &mut TextBuf) {
        self.page_break(subject, carried, out);
        let row = out.len();
        let start = self.begin_row(subject, entry, carried, out);
        let outcome = self.run_behind(subject, entry, out);
        if outcome.skipped {
            out.truncate(row);
        } else {
            let n_ends = usize::from(out.as_bytes()[start..].ends_with(b"\n"));
            out.truncate(out.len() - n_ends);
            self.end_row(start, out);
        }
        self.count(subject, outcome, carried);
    }

    /// Appends what stands before the text in a row of a table; where the text begins.
    fn begin_row(&mut self, subject: &Subject<'_>, entry: &Entry, carried: &Carried, out: &mut TextBuf) -> usize {
        let (form, row, cell) = (self.options.form, subject.row(carried.last_elapsed_ns), &mut self.cell);
        if form == Form::Ndjson {
            let called = self.called.of(row.id, self.catalog, entry);
            begin_object(self.columns, &row, called, cell, out);
        } else {
            begin_row(form, self.columns, &row, cell, out);
        }
        if self.columns.has_text() { form.begin_value(out) } else { out.len() }
    }

    /// Ends a row whose text begins at `start`, if its table has texts.
    fn end_row(&mut self, start: usize, out: &mut TextBuf) {
        let form = self.options.form;
        if self.columns.has_text() {
            form.end_value(start, &mut self.cell, out);
        } else {
            out.truncate(start);
        }
        out.push(if form == Form::Ndjson { b"}\n" } else { form.line_end() });
    }
}

/// The text of an event without the blanks of its margins, and without the newline at its end.
pub(super) fn without_margins(text: &[u8], layout: Layout) -> Cow<'_, [u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let (first, further) = (usize::from(layout.first), usize::from(layout.further));
    let text = behind_blanks(text, first);
    if further == 0 || !text.contains(&b'\n') {
        return Cow::Borrowed(text);
    }
    let lines: Vec<_> = text.split(|byte| *byte == b'\n').collect();
    let further = lines[1..].iter().map(|line| behind_blanks(line, further));
    Cow::Owned(std::iter::once(lines[0]).chain(further).collect::<Vec<_>>().join(&b'\n'))
}

/// A line without its first `n` bytes, where these are blanks.
fn behind_blanks(line: &[u8], n: usize) -> &[u8] {
    match line.split_at_checked(n) {
        Some((blanks, rest)) if blanks.iter().all(|byte| *byte == b' ') => rest,
        _ => line,
    }
}

/// The line of names above a table.
pub(super) fn write_names(form: Form, columns: &Columns, out: &mut TextBuf) {
    let names = columns.list().iter().map(|column| column.name()).chain(columns.has_text().then_some("text"));
    for (at, name) in names.enumerate() {
        out.push(if at > 0 { form.separator() } else { b"" });
        out.push(name.as_bytes());
    }
    out.push(form.line_end());
}

/// Appends the columns of a row, and the delimiter before the text.
fn begin_row(form: Form, columns: &Columns, row: &Row<'_>, scratch: &mut TextBuf, out: &mut TextBuf) {
    let delimiter = form.delimiter();
    for (at, column) in columns.list().iter().enumerate() {
        if at > 0 {
            out.push(&delimiter);
        }
        let start = out.len();
        columns.write_value(*column, row, out);
        if !column.is_number() && *column != Column::Id {
            form.end_value(start, scratch, out);
        }
    }
    if columns.has_text() && !columns.list().is_empty() {
        out.push(&delimiter);
    }
}

/// Appends `{"id":"010","label":"…","elapsed":0.000105984,…,"text":`; what is not known is null. Id and label are given.
fn begin_object(columns: &Columns, row: &Row<'_>, called: &[u8], scratch: &mut TextBuf, out: &mut TextBuf) {
    let form = Form::Ndjson;
    out.push(b"{");
    for (at, column) in columns.list().iter().enumerate() {
        if at > 0 {
            out.push(b",");
        }
        out.push(key(*column));
        let start = out.len();
        if *column == Column::Id {
            out.push(called);
        } else if column.is_number() {
            columns.write_value(*column, row, out);
            if out.len() == start {
                out.push(b"null");
            }
        } else {
            let text = form.begin_value(out);
            columns.write_value(*column, row, out);
            if out.len() == text {
                out.truncate(start);
                out.push(b"null");
            } else {
                form.end_value(text, scratch, out);
            }
        }
    }
    if columns.has_text() {
        out.push(if columns.list().is_empty() { b"\"text\":" } else { b",\"text\":" });
    }
}

/// What each id is called in objects, put together once.
#[derive(Default)]
pub(super) struct Called {
    /// By canonical id, an index of `known` and 1; 0 where it is not known.
    places: Vec<u32>,
    known: Vec<Box<[u8]>>,
}

impl Called {
    /// `"010","label":"…"`, of an id with the stanza that prints it.
    fn of(&mut self, id: u16, catalog: &Catalog<'_>, entry: &Entry) -> &[u8] {
        let place = self.places.get(usize::from(id)).and_then(|place| place.checked_sub(1));
        let place = place.unwrap_or_else(|| self.learn(id, catalog, entry));
        self.known.get(place as usize).map_or(&b""[..], |called| called)
    }

    #[cold]
    fn learn(&mut self, id: u16, catalog: &Catalog<'_>, entry: &Entry) -> u32 {
        let hook = catalog.program(entry).hook(entry.id());
        let mut text = TextBuf::new();
        json::string(display_id(id).as_bytes(), &mut text);
        text.push(b",\"label\":");
        json::string(hook.as_ref().map_or(&b""[..], |hook| hook.label), &mut text);
        self.places.resize(1 << 16, 0);
        self.known.push(text.as_bytes().into());
        self.places[usize::from(id)] = self.known.len() as u32;
        self.known.len() as u32 - 1
    }
}

/// A column's name as a key of JSON.
fn key(column: Column) -> &'static [u8] {
    match column {
        Column::Id => b"\"id\":",
        Column::File => b"\"filename\":",
        Column::Exec => b"\"exec\":",
        Column::Cpu => b"\"cpu\":",
        Column::ReportedCpus => b"\"reportedcpus\":",
        Column::Pid => b"\"pid\":",
        Column::Tid => b"\"tid\":",
        Column::Int => b"\"int\":",
        Column::Svc => b"\"svc\":",
        Column::Elapsed => b"\"elapsed\":",
        Column::Delta => b"\"delta\":",
    }
}

/// Writes how often each hook was reported.
pub(super) fn write_stats(counts: &[u64], catalog: &Catalog<'_>, form: Form, heading: bool, out: &mut TextBuf) {
    let rows = (0..=u16::MAX).zip(counts).filter(|(_, n)| **n > 0).map(|(id, n)| {
        let hook = catalog.lookup(id).and_then(|entry| catalog.program(entry).hook(entry.id()));
        Counted { n: *n, id: display_id(id), label: hook.map_or(Vec::new(), |hook| hook.label.to_vec()) }
    });
    write_counts(rows.collect(), form, heading, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_no_text() {
        let layout = Layout { first: 3, further: 5 };
        assert_eq!(&*without_margins(b"   one\n      two\n\n", layout), b"one\n two\n");
        assert_eq!(&*without_margins(b"\n     two\n", layout), b"\ntwo");
        assert_eq!(&*without_margins(b"  one\n two\n", Layout::default()), b"  one\n two");
        assert_eq!(&*without_margins(b"\n", layout), b"");
    }
}
