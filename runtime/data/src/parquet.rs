//! Parquet files.

use crate::events::BatchSink;
use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, Encoding};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::schema::types::ColumnPath;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use std::io::{self, Write};
use std::sync::Arc;

/// Number of rows in a row group.
const GROUP_ROWS: usize = 1 << 20;
/// Size of a page in bytes.
const PAGE_BYTES: usize = 1 << 20;
/// Columns whose values rise in small steps, for which differences are stored.
const RISING: [&str; 3] = ["seq", "time", "elapsed_ns"];
/// Columns with a page index: queries usually select by them.
const INDEXED: [&str; 3] = ["seq", "elapsed_ns", "id"];

/// Writer of a Parquet file.
pub struct ParquetFile<W: Write + Send> {
    state: State<W>,
    compression: Compression,
}

enum State<W: Write + Send> {
    /// Nothing has been written yet.
    New(W),
    Open(Box<ArrowWriter<W>>),
    Failed,
}

impl<W: Write + Send> ParquetFile<W> {
    /// Creates a file, compressed by Snappy.
    pub fn new(out: W) -> Self {
        Self { state: State::New(out), compression: Compression::SNAPPY }
    }

    /// Turns compression off.
    #[must_use]
    pub fn uncompressed(self) -> Self {
        Self { compression: Compression::UNCOMPRESSED, ..self }
    }

    /// Compresses by LZ4.
    #[must_use]
    pub fn with_lz4(self) -> Self {
        Self { compression: Compression::LZ4_RAW, ..self }
    }

    /// Completes the file. Returns the output.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(self) -> io::Result<W> {
        match self.state {
            State::New(out) => Ok(out),
            State::Open(writer) => writer.into_inner().map_err(to_io),
            State::Failed => Err(io::Error::other("writing the file failed earlier")),
        }
    }
}

fn to_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}

/// Encodings and compression of the columns.
fn properties(schema: &SchemaRef, compression: Compression) -> WriterProperties {
    let mut pairs: Vec<_> = schema.metadata().iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    pairs.sort();
    let pairs = pairs.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect();
    let mut builder = WriterProperties::builder()
        .set_created_by(format!("tfbc {}", env!("CARGO_PKG_VERSION")))
        .set_compression(compression)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_data_page_size_limit(PAGE_BYTES)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(pairs));
    for field in schema.fields() {
        let path = ColumnPath::from(field.name().as_str());
        if RISING.contains(&field.name().as_str()) {
            builder = builder.set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED);
        }
        if INDEXED.contains(&field.name().as_str()) {
            builder = builder.set_column_statistics_enabled(path.clone(), EnabledStatistics::Page);
        }
        if matches!(field.data_type(), DataType::Dictionary(..)) || field.name() == "text" {
            builder = builder.set_column_dictionary_enabled(path, true);
        }
    }
    builder.build()
}

impl<W: Write + Send> BatchSink for ParquetFile<W> {
    fn begin(&mut self, schema: &SchemaRef) -> io::Result<()> {
        if let State::New(out) = std::mem::replace(&mut self.state, State::Failed) {
            let properties = properties(schema, self.compression);
            let writer = ArrowWriter::try_new(out, Arc::clone(schema), Some(properties)).map_err(to_io)?;
            self.state = State::Open(Box::new(writer));
        }
        Ok(())
    }

    fn batch(&mut self, batch: RecordBatch) -> io::Result<()> {
        match &mut self.state {
            State::Open(writer) => writer.write(&batch).map_err(to_io),
            _ => Err(io::Error::other("the file was not started")),
        }
    }
}
