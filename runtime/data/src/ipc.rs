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
    DictionaryTracker, EncodedData, IpcDataGenerator, IpcWriteContext, IpcWriteOptions, write_message,
};
use arrow_ipc::{
    Buffer, CompressionType, FieldNode, KeyValue, KeyValueArgs, MessageBuilder, MessageHeader, RecordBatchBuilder,
};
use arrow_schema::SchemaRef;
use flatbuffers::FlatBufferBuilder;
use std::io::{self, Write};
use std::sync::Arc;

/// Metadata key of the end mark.
pub const END_KEY: &str = "tfbc:end";
/// End of a stream: a message of length 0.
const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// Writer of an Arrow stream.
pub struct IpcStream<W> {
    out: W,
    options: IpcWriteOptions,
    tracker: DictionaryTracker,
    context: IpcWriteContext,
    schema: Option<SchemaRef>,
    /// Previous batch, whose dictionaries the empty last batch reuses.
    last: Option<RecordBatch>,
}

impl<W: Write> IpcStream<W> {
    /// Creates a stream.
    pub fn new(out: W) -> Self {
        Self::with_options(out, IpcWriteOptions::default())
    }

    /// Creates a stream whose columns are compressed by LZ4.
    ///
    /// # Errors
    /// Arrow refuses the compression.
    pub fn compressed(out: W) -> io::Result<Self> {
        let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME));
        Ok(Self::with_options(out, options.map_err(io::Error::other)?))
    }

    fn with_options(out: W, options: IpcWriteOptions) -> Self {
        Self {
            out,
            options,
            tracker: DictionaryTracker::new(false),
            context: IpcWriteContext::default(),
            schema: None,
            last: None,
        }
    }

    /// Writes the end mark and ends the stream. Returns the output.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(mut self, summary: &str) -> io::Result<W> {
        if let Some(schema) = &self.schema {
            let empty = match &self.last {
                Some(batch) => batch.slice(0, 0),
                None => RecordBatch::new_empty(Arc::clone(schema)),
            };
            let message = self.encode(&empty)?;
            let ipc_message = marked(&message.ipc_message, summary).map_err(io::Error::other)?;
            self.write(EncodedData { ipc_message, ..message })?;
        }
        self.out.write_all(&END_OF_STREAM)?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Writes the dictionaries of a batch. Returns the message with its rows, not yet written.
    fn encode(&mut self, batch: &RecordBatch) -> io::Result<EncodedData> {
        let encoded = IpcDataGenerator::default().encode(batch, &mut self.tracker, &self.options, &mut self.context);
        let (dictionaries, message) = encoded.map_err(io::Error::other)?;
        dictionaries.into_iter().try_for_each(|dictionary| self.write(dictionary))?;
        Ok(message)
    }

    fn write(&mut self, message: EncodedData) -> io::Result<()> {
        write_message(&mut self.out, message, &self.options).map(drop).map_err(|error| match error {
            arrow_schema::ArrowError::IoError(_, error) => error,
            error => io::Error::other(error),
        })
    }
}

impl<W: Write + Send> BatchSink for IpcStream<W> {
    fn begin(&mut self, schema: &SchemaRef) -> io::Result<()> {
        self.schema = Some(Arc::clone(schema));
        let generator = IpcDataGenerator::default();
        let message = generator.schema_to_bytes_with_dictionary_tracker(schema, &mut self.tracker, &self.options);
        self.write(message)
    }

    fn batch(&mut self, batch: RecordBatch) -> io::Result<()> {
        let message = self.encode(&batch)?;
        self.write(message)?;
        self.last = Some(batch);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
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
