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
                _ => self.table_row(subject, entry, carried, out),
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

    fn table_row(&mut self, subject: &Subject<'_>, entry: &Entry, carried: &mut Carried, out: &mut TextBuf) {
        self.page_break(subject, carried, out);
        let (row, cell) = (subject.row(carried.last_elapsed_ns), &mut self.cell);
        let text = without_margins(self.unseen.as_bytes(), Layout::default());
        if self.options.form == Form::Ndjson {
            let hook = self.catalog.program(entry).hook(entry.id());
            write_object(self.columns, &row, hook.as_ref().map_or(&b""[..], |hook| hook.label), &text, cell, out);
        } else {
            write_row(self.options.form, self.columns, &row, &text, cell, out);
        }
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

/// A row of a table; each value stands in `cell` first.
fn write_row(form: Form, columns: &Columns, row: &Row<'_>, text: &[u8], cell: &mut TextBuf, out: &mut TextBuf) {
    for (at, column) in columns.list().iter().enumerate() {
        out.push(if at > 0 { form.separator() } else { b"" });
        cell.clear();
        columns.write_value(*column, row, cell);
        form.value(cell.as_bytes(), out);
    }
    if columns.has_text() {
        out.push(if columns.list().is_empty() { b"" } else { form.separator() });
        form.value(text, out);
    }
    out.push(form.line_end());
}

/// `{"id":"010","label":"…","elapsed":0.000105984,…,"text":"…"}`; what is not known is null.
fn write_object(columns: &Columns, row: &Row<'_>, label: &[u8], text: &[u8], cell: &mut TextBuf, out: &mut TextBuf) {
    out.push(b"{");
    let mut separator: &[u8] = b"";
    for column in columns.list() {
        out.push(separator);
        separator = b",";
        json::string(column.name().as_bytes(), out);
        out.push(b":");
        cell.clear();
        columns.write_value(*column, row, cell);
        match cell.as_bytes() {
            b"" => out.push(b"null"),
            number if column.is_number() => out.push(number),
            word => json::string(word, out),
        }
        if *column == Column::Id {
            out.push(b",\"label\":");
            json::string(label, out);
        }
    }
    if columns.has_text() {
        out.push(separator);
        out.push(b"\"text\":");
        json::string(text, out);
    }
    out.push(b"}\n");
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
