//! First column of a table made from several inputs: the file that a row comes from.

use std::io::{self, Write};
use std::path::Path;
use tfbc::Form;
use tfbc_vm::TextBuf;

/// Writes the table of one input and adds the file name to each row.
///
/// ```text
/// id,text        file,id,text
/// 010,hook = 1   a.trc,010,hook = 1
/// ```
#[derive(Debug)]
pub struct FileColumn<'o, W> {
    out: &'o mut W,
    form: Form,
    /// File name as a cell of the output format, with its separator.
    cell: Vec<u8>,
    /// True if the next row contains the column names.
    is_header: bool,
    /// True at the start of a row.
    begins_row: bool,
    /// True inside a quoted csv value, which may span lines.
    is_quoted: bool,
    /// Buffer for one write.
    text: Vec<u8>,
}

impl<'o, W: Write> FileColumn<'o, W> {
    /// Creates a writer for a table in `form`, which is not [`Form::Text`]. `has_header` says that the first row
    /// contains column names.
    pub fn new(out: &'o mut W, form: Form, has_header: bool, path: &Path) -> Self {
        let mut cell = TextBuf::new();
        if form == Form::Ndjson {
            cell.push(b"{\"file\":");
        }
        form.value(path.to_string_lossy().as_bytes(), &mut cell);
        cell.push(&form.delimiter());
        let is_header = has_header && form != Form::Ndjson;
        let cell = cell.as_bytes().to_vec();
        Self { out, form, cell, is_header, begins_row: true, is_quoted: false, text: Vec::new() }
    }

    fn begin_row(&mut self) {
        self.begins_row = false;
        if std::mem::take(&mut self.is_header) {
            self.text.extend_from_slice(b"file");
            self.text.extend_from_slice(&self.form.delimiter());
        } else {
            self.text.extend_from_slice(&self.cell);
        }
    }
}

impl<W: Write> Write for FileColumn<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.clear();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let mut rest = line;
            if self.begins_row {
                self.begin_row();
                // The file name comes after the opening brace.
                rest = if self.form == Form::Ndjson { &line[1..] } else { line };
            }
            self.text.extend_from_slice(rest);
            if self.form == Form::Csv {
                self.is_quoted ^= line.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
            }
            self.begins_row = line.ends_with(b"\n") && !self.is_quoted;
        }
        self.out.write_all(&self.text)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a table in pieces of `n` bytes.
    fn written(form: Form, has_header: bool, path: &str, table: &str, n: usize) -> String {
        let mut out = Vec::new();
        let mut column = FileColumn::new(&mut out, form, has_header, Path::new(path));
        table.as_bytes().chunks(n).for_each(|piece| column.write_all(piece).unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_row_begins_with_the_file() {
        for n in 1..30 {
            let table = "id,text\n010,\"two\nlines, \"\"quoted\"\"\"\n011,x\n";
            let expected = "file,id,text\n\"a,b\",010,\"two\nlines, \"\"quoted\"\"\"\n\"a,b\",011,x\n";
            assert_eq!(written(Form::Csv, true, "a,b", table, n), expected);
            let expected = "a\\tb\t010\tx\na\\tb\t011\ty\n";
            assert_eq!(written(Form::Tsv, false, "a\tb", "010\tx\n011\ty\n", n), expected);
            let expected = "{\"file\":\"a\\\"\",\"id\":1}\n{\"file\":\"a\\\"\",\"id\":2}\n";
            assert_eq!(written(Form::Ndjson, true, "a\"", "{\"id\":1}\n{\"id\":2}\n", n), expected);
        }
    }
}
