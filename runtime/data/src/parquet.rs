//! Parquet files.

use crate::column_chunk::TextChunk;
use crate::events::BatchSink;
use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
#[cfg(feature = "zstd")]
use ::parquet::basic::ZstdLevel;
use ::parquet::basic::{Compression, Encoding};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::SerializedFileWriter;
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
    Open(Box<OpenFile<W>>),
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

    /// Compresses by zstd.
    #[cfg(feature = "zstd")]
    #[must_use]
    pub fn with_zstd(self) -> Self {
        Self { compression: Compression::ZSTD(ZstdLevel::default()), ..self }
    }

    /// Completes the file. Returns the output.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(self) -> io::Result<W> {
        match self.state {
            State::New(out) => Ok(out),
            State::Open(file) => file.finish().map_err(to_io),
            State::Failed => Err(io::Error::other("writing the file failed earlier")),
        }
    }
}

/// File with its current row group.
struct OpenFile<W: Write + Send> {
    file: SerializedFileWriter<W>,
    groups: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    compression: Compression,
    /// Chunks of the row group by column; none before its first row.
    chunks: Vec<ColumnChunk>,
    /// Rows of the row group.
    n_rows: usize,
}

/// Column of a row group.
enum ColumnChunk {
    Texts(Box<TextChunk>),
    /// Written by the library, with a chunk for each member of a nested type.
    Any(Vec<ArrowColumnWriter>),
}

impl<W: Write + Send> OpenFile<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        let mut first = 0;
        while first < batch.num_rows() {
            if self.chunks.is_empty() {
                self.chunks = self.new_chunks()?;
            }
            let rows = batch.slice(first, (GROUP_ROWS - self.n_rows).min(batch.num_rows() - first));
            for ((field, column), chunk) in self.schema.fields().iter().zip(rows.columns()).zip(&mut self.chunks) {
                match chunk {
                    ColumnChunk::Texts(texts) => texts.push(column)?,
                    ColumnChunk::Any(writers) => {
                        let leaves = compute_leaves(field, column)?;
                        leaves.iter().zip(writers).try_for_each(|(leaf, writer)| writer.write(leaf))?;
                    }
                }
            }
            first += rows.num_rows();
            self.n_rows += rows.num_rows();
            if self.n_rows >= GROUP_ROWS {
                self.end_group()?;
            }
        }
        Ok(())
    }

    /// Creates the chunks of a row group.
    fn new_chunks(&self) -> Result<Vec<ColumnChunk>, ParquetError> {
        let writers = self.groups.create_column_writers(self.file.flushed_row_groups().len())?;
        let columns = self.file.schema_descr();
        let mut chunks: Vec<ColumnChunk> = Vec::new();
        for (at, writer) in writers.into_iter().enumerate() {
            let of_field = columns.get_column_root_idx(at);
            if let Some(ColumnChunk::Any(writers)) = chunks.get_mut(of_field) {
                writers.push(writer);
                continue;
            }
            let field = self.schema.field(of_field);
            // The library begins a dictionary of texts, and ends it if the texts do not repeat.
            let texts = match field.name() == "text" {
                true => None,
                false => {
                    let is_indexed = INDEXED.contains(&field.name().as_str());
                    TextChunk::new(&columns.column(at), field.data_type(), self.compression, is_indexed)?
                }
            };
            chunks.push(match texts {
                Some(texts) => ColumnChunk::Texts(Box::new(texts)),
                None => ColumnChunk::Any(vec![writer]),
            });
        }
        Ok(chunks)
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for chunk in self.chunks.drain(..) {
            match chunk {
                ColumnChunk::Texts(texts) => {
                    let (bytes, closed) = texts.finish()?;
                    group.append_column(&bytes, closed)?;
                }
                ColumnChunk::Any(writers) => {
                    writers.into_iter().try_for_each(|writer| writer.close()?.append_to_row_group(&mut group))?;
                }
            }
        }
        group.close()?;
        self.n_rows = 0;
        Ok(())
    }

    fn finish(mut self) -> Result<W, ParquetError> {
        if self.n_rows > 0 {
            self.end_group()?;
        }
        self.file.into_inner()
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
            let (file, groups) = writer.into_serialized_writer().map_err(to_io)?;
            let (schema, compression) = (Arc::clone(schema), self.compression);
            let open = OpenFile { file, groups, schema, compression, chunks: Vec::new(), n_rows: 0 };
            self.state = State::Open(Box::new(open));
        }
        Ok(())
    }

    fn batch(&mut self, batch: RecordBatch) -> io::Result<()> {
        match &mut self.state {
            State::Open(file) => file.write(&batch).map_err(to_io),
            _ => Err(io::Error::other("the file was not started")),
        }
    }
}
