//! Tables per event have the same fields as JSON output, with types.

use crate::tools::{SAMPLES, formats, objects, sample, stream, with_threads};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use tfbc::internal::rows::rows;
use tfbc::{Formats, Notice, ReportOptions, Trace};
use tfbc_data::{BY_EVENT, BatchSink, EventTables, IpcStream, OpenTables, TableOptions};

type Files = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// A table in memory.
struct InMemory {
    name: String,
    stream: IpcStream<Vec<u8>>,
    files: Files,
}

impl BatchSink for InMemory {
    fn begin(&mut self, schema: &arrow_schema::SchemaRef) -> io::Result<()> {
        self.stream.begin(schema)
    }

    fn batch(&mut self, batch: arrow_array::RecordBatch) -> io::Result<()> {
        self.stream.batch(batch)
    }

    fn end(self: Box<Self>, _: u64) -> io::Result<()> {
        let bytes = self.stream.finish("{}")?;
        assert!(self.files.lock().unwrap().insert(self.name, bytes).is_none());
        Ok(())
    }
}

#[derive(Default)]
struct Opener {
    files: Files,
    n_open: usize,
}

impl OpenTables for Opener {
    fn open(&mut self, id: &str) -> io::Result<Box<dyn BatchSink>> {
        self.n_open += 1;
        assert!(self.n_open <= 256);
        let (name, files) = (id.to_owned(), Arc::clone(&self.files));
        Ok(Box::new(InMemory { name, stream: IpcStream::new(Vec::new()), files }))
    }

    fn close(&mut self, _: &str, table: Box<dyn BatchSink>, n_rows: u64) -> io::Result<()> {
        self.n_open -= 1;
        table.end(n_rows)
    }
}

fn tables(trace: &mut Trace, formats: &Formats, options: &ReportOptions) -> BTreeMap<String, Vec<u8>> {
    let mut opener = Opener::default();
    let table = TableOptions::default();
    let mut sink = EventTables::new(table.clone(), &mut opener);
    rows(trace, formats, options, EventTables::wanted(&table), &mut sink, &mut |_: &Notice| {}).unwrap();
    sink.finish().unwrap();
    std::mem::take(&mut opener.files.lock().unwrap())
}

/// True if every event has the column.
fn is_common(name: &str) -> bool {
    BY_EVENT.iter().any(|column| column.name() == name)
}

/// Converts a field of JSON output to the value in a column.
fn as_column(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > 15 && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Value::from(text.parse::<u64>().unwrap())
        }
        value => value.clone(),
    }
}

#[test]
fn fields_are_those_of_the_table_of_events() {
    for name in ["shell.trc", "copy.trc"] {
        let (formats, options) = (formats(&[]), ReportOptions::default());
        let open = || Trace::open(sample(name)).unwrap();
        let tables = tables(&mut open(), &formats, &options);
        let all = objects(&stream(&mut open(), &formats, &options, &TableOptions::default()).0);
        let mut n_rows = 0;
        for (id, table) in &tables {
            let typed = objects(table);
            n_rows += typed.len();
            let own: Vec<_> = all.iter().filter(|row| row["id"] == **id).collect();
            assert_eq!(typed.len(), own.len());
            for (typed, row) in typed.iter().zip(own) {
                for column in ["seq", "time", "elapsed_ns", "cpu", "pid", "tid", "process", "note"] {
                    assert_eq!(typed[column], row[column]);
                }
                let fields: Value = serde_json::from_str(row["fields"].as_str().unwrap()).unwrap();
                let known = typed.iter().filter(|(name, value)| !is_common(name) && !value.is_null()).count();
                assert_eq!(known, fields.as_object().unwrap().len(), "{id}: {fields} {typed:?}");
                for (name, value) in fields.as_object().unwrap() {
                    assert_eq!(typed[name], as_column(value), "{name} of {id}");
                }
            }
        }
        assert_eq!(n_rows, all.len());
    }
}

#[test]
fn tables_do_not_depend_on_threads() {
    for (name, files) in SAMPLES {
        let formats = formats(files);
        let run = |n| tables(&mut Trace::open(sample(name)).unwrap(), &formats, &with_threads(n));
        let alone = run(1);
        assert!(run(2) == alone && run(8) == alone, "{name}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_reads_back_what_was_written() {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use tfbc_data::{EventTable, ParquetFile};
    let run = |n| {
        let mut file = ParquetFile::new(Vec::new());
        let mut table = EventTable::new(TableOptions { batch_rows: 50, ..TableOptions::default() }, &mut file);
        let wanted = TableOptions::default().wanted();
        let mut trace = Trace::open(sample("shell.trc")).unwrap();
        rows(&mut trace, &formats(&[]), &with_threads(n), wanted, &mut table, &mut |_: &Notice| {}).unwrap();
        table.finish().unwrap();
        file.finish().unwrap()
    };
    let bytes = run(1);
    assert!(run(2) == bytes && run(8) == bytes);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    std::fs::write(&path, &bytes).unwrap();
    let builder = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path).unwrap()).unwrap();
    assert_eq!(builder.schema().metadata()["tfbc:version"], "1");
    let batches: Vec<_> = builder.build().unwrap().map(Result::unwrap).collect();
    let stored: Vec<_> = batches.iter().flat_map(crate::tools::rows_of).collect();
    let trace = &mut Trace::open(sample("shell.trc")).unwrap();
    let (stream, ..) = stream(trace, &formats(&[]), &ReportOptions::default(), &TableOptions::default());
    assert_eq!(stored, objects(&stream));
}
