//! Arrow streams (IPC).
//!
//! ```text
//! schema │ dictionaries, batch │ dictionaries, batch │ … │ empty batch with the end mark │ end of stream
//! ```
//!
//! A stream that was cut between two batches looks complete to a reader. So the last batch is an empty one with an end
//! mark: its metadata contains the summary of the input.

use crate::events::BatchSink;
use arrow_array::RecordBatch;
use arrow_ipc::writer::{
    DictionaryTracker, EncodedData, IpcDataGenerator, IpcWriteContext, IpcWriteOptions, StreamWriter, write_message,
};
use arrow_ipc::{
    Buffer, CompressionType, FieldNode, KeyValue, KeyValueArgs, MessageBuilder, MessageHeader, RecordBatchBuilder,
};
use arrow_schema::{ArrowError, SchemaRef};
use flatbuffers::FlatBufferBuilder;
use std::io::{self, BufWriter, IntoInnerError, Write};
use std::sync::Arc;

/// Metadata key of the end mark.
pub const END_KEY: &str = "tfbc:end";
/// End of a stream: a message of length 0.
const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// Size in bytes from which a column's buffer is written by itself. Smaller ones are collected.
const MIN_WRITE: usize = 16 << 10;

/// Writer of an Arrow stream.
pub struct IpcStream<W: Write> {
    state: State<W>,
    options: IpcWriteOptions,
    /// Previous batch, whose dictionaries the empty last batch reuses.
    last: Option<RecordBatch>,
}

enum State<W: Write> {
    /// Nothing has been written yet.
    New(W),
    Open(Box<StreamWriter<BufWriter<W>>>, SchemaRef),
    Failed,
}

impl<W: Write> IpcStream<W> {
    /// Creates a stream.
    pub fn new(out: W) -> Self {
        Self { state: State::New(out), options: IpcWriteOptions::default(), last: None }
    }

    /// Creates a stream whose columns are compressed by LZ4.
    ///
    /// # Errors
    /// Arrow refuses the compression.
    pub fn compressed(out: W) -> io::Result<Self> {
        let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME));
        Ok(Self { options: options.map_err(io::Error::other)?, ..Self::new(out) })
    }

    /// Writes the end mark and ends the stream. Returns the output.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(self, summary: &str) -> io::Result<W> {
        match self.state {
            State::New(mut out) => {
                out.write_all(&END_OF_STREAM)?;
                out.flush()?;
                Ok(out)
            }
            State::Open(mut stream, schema) => {
                let options = &self.options;
                let mut write = |message| write_message(stream.get_mut(), message, options).map(drop);
                let written = match &self.last {
                    Some(batch) => encode_end(&batch.slice(0, 0), summary, options).and_then(|(_, end)| write(end)),
                    None => encode_end(&RecordBatch::new_empty(schema), summary, options)
                        .and_then(|(dictionaries, end)| dictionaries.into_iter().chain([end]).try_for_each(&mut write)),
                };
                let out = written.and_then(|()| stream.into_inner()).map_err(to_io)?;
                out.into_inner().map_err(IntoInnerError::into_error)
            }
            State::Failed => Err(io::Error::other("writing the stream failed earlier")),
        }
    }
}

fn to_io(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        error => io::Error::other(error),
    }
}

impl<W: Write + Send> BatchSink for IpcStream<W> {
    fn begin(&mut self, schema: &SchemaRef) -> io::Result<()> {
        if let State::New(out) = std::mem::replace(&mut self.state, State::Failed) {
            let out = BufWriter::with_capacity(MIN_WRITE, out);
            let stream = StreamWriter::try_new_with_options(out, schema, self.options.clone()).map_err(to_io)?;
            self.state = State::Open(Box::new(stream), Arc::clone(schema));
        }
        Ok(())
    }

    fn batch(&mut self, batch: RecordBatch) -> io::Result<()> {
        let State::Open(stream, _) = &mut self.state else {
            return Err(io::Error::other("the stream was not started"));
        };
        stream.write(&batch).map_err(to_io)?;
        self.last = Some(batch);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.state {
            State::New(out) => out.flush(),
            State::Open(stream, _) => stream.flush().map_err(to_io),
            State::Failed => Ok(()),
        }
    }
}

/// Encodes an empty batch with the end mark: its dictionaries, and its message.
fn encode_end(
    empty: &RecordBatch,
    summary: &str,
    options: &IpcWriteOptions,
) -> Result<(Vec<EncodedData>, EncodedData), ArrowError> {
    let (mut tracker, mut context) = (DictionaryTracker::new(false), IpcWriteContext::default());
    let generator = IpcDataGenerator::default();
    // Numbers the dictionaries as at the start of the stream.
    generator.schema_to_bytes_with_dictionary_tracker(&empty.schema(), &mut tracker, options);
    let (dictionaries, message) = generator.encode(empty, &mut tracker, options, &mut context)?;
    let ipc_message = marked(&message.ipc_message, summary).map_err(ArrowError::IpcError)?;
    Ok((dictionaries, EncodedData { ipc_message, ..message }))
}

/// Adds the end mark to the message of an empty batch, as metadata.
fn marked(message: &[u8], summary: &str) -> Result<Vec<u8>, String> {
    let message = arrow_ipc::root_as_message(message).map_err(|error| error.to_string())?;
    let batch = message.header_as_record_batch().ok_or("no batch")?;
    let nodes: Vec<FieldNode> = batch.nodes().iter().flatten().copied().collect();
    let buffers: Vec<Buffer> = batch.buffers().iter().flatten().copied().collect();
    let mut builder = FlatBufferBuilder::new();
    let (nodes, buffers) = (builder.create_vector(&nodes), builder.create_vector(&buffers));
    let compression = batch.compression().map(|compression| {
        let codec = arrow_ipc::BodyCompressionArgs { codec: compression.codec(), method: compression.method() };
        arrow_ipc::BodyCompression::create(&mut builder, &codec)
    });
    let mut header = RecordBatchBuilder::new(&mut builder);
    header.add_length(batch.length());
    header.add_nodes(nodes);
    header.add_buffers(buffers);
    compression.into_iter().for_each(|compression| header.add_compression(compression));
    let header = header.finish();
    let (key, value) = (builder.create_string(END_KEY), builder.create_string(summary));
    let pair = KeyValue::create(&mut builder, &KeyValueArgs { key: Some(key), value: Some(value) });
    let pairs = builder.create_vector(&[pair]);
    let mut marked = MessageBuilder::new(&mut builder);
    marked.add_version(message.version());
    marked.add_header_type(MessageHeader::RecordBatch);
    marked.add_bodyLength(message.bodyLength());
    marked.add_header(header.as_union_value());
    marked.add_custom_metadata(pairs);
    let marked = marked.finish();
    builder.finish(marked, None);
    Ok(builder.finished_data().to_vec())
}
