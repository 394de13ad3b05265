//! Tables as text: a line per row.

use crate::events::BatchSink;
use crate::metadata::quoted;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::SchemaRef;
use std::io::{self, Write};
use tfbc::internal::iso_time;

/// Form of a table as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextForm {
    /// One JSON object per line, including nulls.
    Ndjson,
    /// Values between tabs under a heading. A null is `-`.
    Tsv,
}

/// Writer of a table as text, for the types of a table of notices.
pub struct TextTable<W> {
    out: W,
    form: TextForm,
}

impl<W: Write> TextTable<W> {
    /// Creates a table.
    pub fn new(out: W, form: TextForm) -> Self {
        Self { out, form }
    }

    /// Returns the output.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Value of a text table.
enum TextValue {
    Null,
    Number(String),
    Text(String),
}

/// Value of a column in a row.
fn value(column: &dyn Array, row: usize) -> TextValue {
    if column.is_null(row) {
        return TextValue::Null;
    }
    if let Some(column) = column.as_primitive_opt::<Int64Type>() {
        TextValue::Number(column.value(row).to_string())
    } else if let Some(column) = column.as_primitive_opt::<Int32Type>() {
        TextValue::Number(column.value(row).to_string())
    } else if let Some(column) = column.as_primitive_opt::<TimestampMicrosecondType>() {
        TextValue::Text(iso_time::format_us(column.value(row)))
    } else if let Some(column) = column.as_string_opt::<i32>() {
        TextValue::Text(column.value(row).to_owned())
    } else if let Some(column) = column.as_dictionary_opt::<Int32Type>()
        && let Some(texts) = column.values().as_string_opt::<i32>()
    {
        TextValue::Text(texts.value(column.keys().value(row) as usize).to_owned())
    } else {
        TextValue::Null
    }
}

impl<W: Write + Send> BatchSink for TextTable<W> {
    fn begin(&mut self, schema: &SchemaRef) -> io::Result<()> {
        match self.form {
            TextForm::Ndjson => Ok(()),
            TextForm::Tsv => {
                let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
                writeln!(self.out, "{}", names.join("\t"))
            }
        }
    }

    fn batch(&mut self, batch: RecordBatch) -> io::Result<()> {
        let schema = batch.schema();
        for row in 0..batch.num_rows() {
            for (at, (field, column)) in schema.fields().iter().zip(batch.columns()).enumerate() {
                let value = value(column, row);
                match self.form {
                    TextForm::Ndjson => {
                        let value = match value {
                            TextValue::Null => String::from("null"),
                            TextValue::Number(number) => number,
                            TextValue::Text(text) => quoted(&text),
                        };
                        let before = if at == 0 { "{" } else { "," };
                        write!(self.out, "{before}{}:{value}", quoted(field.name()))?;
                    }
                    TextForm::Tsv => {
                        let value = match value {
                            TextValue::Null => String::from("-"),
                            TextValue::Number(number) => number,
                            TextValue::Text(text) => escaped(&text),
                        };
                        write!(self.out, "{}{value}", if at == 0 { "" } else { "\t" })?;
                    }
                }
            }
            self.out.write_all(if self.form == TextForm::Ndjson { b"}\n" } else { b"\n" })?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Text with the escapes of TSV in reports.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n")
}
