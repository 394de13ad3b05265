//! Tables per event have the same fields as JSON output, with types.

use crate::tools::{SAMPLES, batches, formats, kev, objects, sample, stream, with_threads};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex};
use tfbc::internal::rows::rows;
use tfbc::{Formats, Notice, ReportOptions, Trace};
use tfbc_data::{BY_EVENT, BatchSink, EventColumn, EventTables, IpcStream, OpenTables, TableOptions};

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

/// True if a column has the value of JSON output, which has large numbers as texts.
fn is_equal(column: &Value, value: &Value) -> bool {
    match value {
        Value::String(text) if column.is_u64() => column.as_u64() == text.parse().ok(),
        value => column == value,
    }
}

/// Table of an event that no definition names, by its id and label.
fn table_of(id: &Value, label: &Value) -> String {
    let (id, label) = (id.as_str().unwrap(), label.as_str().unwrap());
    let Some(number) = id.strip_prefix("KER_CALL:").and_then(|number| number.parse::<usize>().ok()) else {
        return id.to_owned();
    };
    let call = label.split('/').next().unwrap();
    format!("{}.{call}", ["KER_CALL", "KER_EXIT", "INT_CALL"][number >> 7 & 3])
}

/// Checks that the tables of a trace have the fields of the table of events. Returns the number of values by column.
fn check_fields(open: impl Fn() -> Trace, formats: &Formats) -> BTreeMap<String, usize> {
    let options = ReportOptions::default();
    let tables = tables(&mut open(), formats, &options);
    let all = objects(&stream(&mut open(), formats, &options, &TableOptions::default()).0);
    let mut n_rows = 0;
    let mut n_values = BTreeMap::new();
    for (id, table) in &tables {
        let typed = objects(table);
        n_rows += typed.len();
        let is_own = |row: &&Map<String, Value>| table_of(&row["id"], &row["label"]) == **id;
        let own: Vec<_> = all.iter().filter(is_own).collect();
        assert_eq!(typed.len(), own.len());
        for (typed, row) in typed.iter().zip(own) {
            for column in ["seq", "time", "elapsed_ns", "cpu", "pid", "tid", "process", "note"] {
                assert_eq!(typed[column], row[column]);
            }
            let fields: Value = serde_json::from_str(row["fields"].as_str().unwrap()).unwrap();
            let known = typed.iter().filter(|(name, value)| !is_common(name) && !value.is_null()).count();
            assert_eq!(known, fields.as_object().unwrap().len(), "{id}: {fields} {typed:?}");
            for (name, value) in fields.as_object().unwrap() {
                assert!(is_equal(&typed[name], value), "{name} of {id}: {} and {value}", typed[name]);
                *n_values.entry(format!("{id} {name}")).or_default() += 1;
            }
        }
    }
    assert_eq!(n_rows, all.len());
    n_values
}

#[test]
fn fields_are_those_of_the_table_of_events() {
    for (name, files) in SAMPLES {
        check_fields(|| Trace::open(sample(name)).unwrap(), &formats(files));
    }
}

#[test]
fn short_events_are_between_long_ones() {
    let text = r#"101 1.0 "CALL" "low=" $D1%B1 " name=" $D1%X1 & 7, 0 "none", 1 "one", 4 "four", 5 "five" \
        " flags=" BITFLAGS $D1%X4, 1 "odd " "even ", & 6 2 "two ", & 6 4 "four ", 8 "eight " "" \
        " error=" $D1%E4 " word=" $D5%UW
"#;
    let file = tempfile::Builder::new().suffix(".trcfmt").tempfile().unwrap();
    std::fs::write(&file, text).unwrap();
    let formats = Formats::load([file.path()]).unwrap();
    // Events of other hooks become events of hook 101; they have up to five words.
    let mut bytes = std::fs::read(sample("shell.trc")).unwrap();
    let columns = EventColumn::parse("id,file_offset").unwrap();
    let options = TableOptions { columns: Some(columns), ..TableOptions::default() };
    let open = |bytes: &Vec<u8>| Trace::from_bytes("shell.trc", bytes.clone()).unwrap();
    for row in objects(&stream(&mut open(&bytes), &formats, &ReportOptions::default(), &options).0) {
        if ["106", "104", "100", "200"].map(Value::from).contains(&row["id"]) {
            // The id is after the flags and the length.
            let at = row["file_offset"].as_u64().unwrap() as usize;
            bytes[at + 4..at + 6].copy_from_slice(&0x1010_u16.to_be_bytes());
        }
    }
    let n_values = check_fields(|| open(&bytes), &formats);
    let n = |name: &str| n_values.get(&format!("101 {name}")).copied().unwrap_or_default();
    assert!(n("word") > 0 && n("word") < n("low"), "{n_values:?}");
    for name in ["low", "name_text", "flags_text", "error_text"] {
        assert!(n(name) > 0, "{name}: {n_values:?}");
    }
}

/// Header of a record.
fn header(class: u32, event: u32) -> u32 {
    class << 10 | event
}

/// The columns of a table after those that every event has, and its rows.
fn own_columns(stream: &[u8]) -> (Vec<String>, Vec<Vec<Value>>) {
    let schema = batches(stream)[0].schema();
    let names = schema.fields().iter().map(|field| field.name().clone());
    let names: Vec<_> = names.filter(|name| !is_common(name)).collect();
    let rows = objects(stream).into_iter();
    let rows = rows.map(|row| names.iter().map(|name| row[name].clone()).collect()).collect();
    (names, rows)
}

#[test]
fn events_of_qnx_have_the_columns_of_all_lists() {
    let thread = header(4, 24);
    let records: [(u32, &[u32]); 5] = [
        (header(1, 1), &[0, 1]),
        (thread, &[5, u32::MAX]),
        (thread, &[5, 1, 7, 9]),
        (header(6, 65), &[0xffff_ffff, 2]),
        (header(6, 65), &[u32::from_le_bytes(*b"text"), u32::from_le_bytes(*b" of "), 0x6e, 0]),
    ];
    let mut trace = Trace::from_bytes("t.kev", kev("7.1.0", &records)).unwrap();
    let tables = tables(&mut trace, &formats(&[]), &ReportOptions::default());
    assert_eq!(tables.keys().collect::<Vec<_>>(), ["CONTROL:1", "PR_TH:24", "USER:65"]);
    let (names, rows) = own_columns(&tables["USER:65"]);
    assert_eq!(names, ["str", "d0", "d1", "words"]);
    assert_eq!(rows[0], [Value::Null, 0xffff_ffff_u64.into(), 2.into(), Value::Null]);
    assert_eq!(rows[1], ["text of n".into(), Value::Null, Value::Null, Value::Null]);
    let (names, rows) = own_columns(&tables["PR_TH:24"]);
    assert_eq!(names[..2], ["arg_pid", "arg_tid"]);
    assert_eq!(rows[0][..2], [5, -1].map(Value::from));
    // The list of THCREATE has two words.
    assert_eq!(rows[1][names.len() - 1], Value::from(vec![7, 9]));
}

#[test]
fn a_kernel_call_has_a_table_per_direction() {
    let names = |release: &str, call: u32, is_64: u32| {
        let records: [(u32, &[u32]); 3] =
            [(header(2, call + is_64), &[1, 2, 3, 4]), (header(2, call + 128), &[0, 0]), (header(2, call), &[1, 2])];
        let mut trace = Trace::from_bytes("t.kev", kev(release, &records)).unwrap();
        let tables = tables(&mut trace, &formats(&[]), &ReportOptions::default());
        assert_eq!(tables.keys().collect::<Vec<_>>(), ["KER_CALL.MSG_SENDV", "KER_EXIT.MSG_SENDV"]);
        let (names, rows) = own_columns(&tables["KER_CALL.MSG_SENDV"]);
        assert_eq!(rows.len(), 2);
        names
    };
    assert_eq!(names("6.4.1", 11, 0), names("8.0.0", 11, 512));
}

#[test]
fn definitions_replace_the_columns_of_an_event() {
    let records: [(u32, &[u32]); 2] = [(header(6, 65), &[1, 2]), (header(6, 66), &[3, 4])];
    let directory = tempfile::tempdir().unwrap();
    let definition = |name: &str, format: &str| {
        let text = format!(
            "<eventdefinitions><datakey format=\"{format}\"><event class=\"6\" id=\"65\"/></datakey></eventdefinitions>"
        );
        let path = directory.path().join(format!("{name}.xml"));
        std::fs::write(&path, text).unwrap();
        path
    };
    let one = definition("one", "%4u1x value %4u1d other");
    let two = definition("two", "%4s1d value");
    let columns = |files: &[&std::path::Path]| {
        let mut trace = Trace::from_bytes("t.kev", kev("7.1.0", &records)).unwrap();
        let formats = Formats::load(files).unwrap();
        own_columns(&tables(&mut trace, &formats, &ReportOptions::default())["USER:65"])
    };
    let (names, rows) = columns(&[&one]);
    assert_eq!((names, rows), (vec!["value".into(), "other".into()], vec![vec![1.into(), 2.into()]]));
    // Files have programs of their own.
    let (names, rows) = columns(&[&one, &two]);
    assert_eq!(names, ["value", "other", "value_2"]);
    assert_eq!(rows, [[1, 2, 1].map(Value::from)]);
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

/// Numbers below a limit in an order without a pattern.
fn scattered(n: usize, limit: u32) -> impl Iterator<Item = u32> {
    let next = |last: &u32| Some(last.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    std::iter::successors(Some(1), next).map(move |number| (number >> 12) % limit).take(n)
}

/// Number of different [`scattered`] numbers.
fn n_distinct(n: usize, limit: u32) -> usize {
    scattered(n, limit).collect::<BTreeSet<_>>().len()
}

/// A 32-bit stream of AIX. Its events have hooks from 0x100 in an order without a pattern, and up to five words.
fn hooks_of_aix(n: usize, n_ids: u32) -> Vec<u8> {
    let mut bytes: Vec<u8> =
        [0x00A8_0018_u32, 0x25C, 0, 1, 0, 1, 0, 0, 1, 0].into_iter().flat_map(u32::to_be_bytes).collect();
    for (at, number) in scattered(n, n_ids).enumerate() {
        let at = at as u32;
        let n_words = 1 + at % 5;
        let header = (0x100 + number) << 20 | (9 + n_words) << 16 | 7;
        let words = [header].into_iter().chain((0..n_words).map(|word| at + word)).chain([0x1a2b, at + 1]);
        bytes.extend(words.flat_map(u32::to_be_bytes));
    }
    bytes
}

#[test]
fn more_events_than_open_tables_have_one_table_each() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.trcfmt");
    // One template in three reads fields at fixed places, one shows a text and a list.
    let template = |id: u32| match id % 3 {
        0 => format!("{id:03X} 1.0 \"A\" \"a=\" $D1%U4 \" b=\" $D3%X4 \" c=\" $D2%X1, 1 \"one\", 2 \"two\"\n"),
        1 => format!("{id:03X} 1.0 \"B\" {{{{ $n = 3 }}}} W1 \"n=\" B0.2 R1 \" list=\" LOOP $n {{ X4 }} \" end=\" S\n"),
        _ => format!("{id:03X} 1.0 \"C\" \"size=\" $D1%D8\n"),
    };
    std::fs::write(&path, (0x100..0x100 + 700).map(template).collect::<String>()).unwrap();
    let templates = Formats::load([&path]).unwrap();
    let aix = hooks_of_aix(3000, 800);
    let records: Vec<_> = scattered(3000, 700).map(|event| (header(6, event), [event, 1, 2, 3])).collect();
    let records: Vec<_> =
        records.iter().map(|(header, words)| (*header, &words[..2 + (*header as usize & 2)])).collect();
    let qnx = kev("7.1.0", &records);
    for (name, bytes, formats, limit) in [("a", aix, &templates, 800), ("t.kev", qnx, &formats(&[]), 700)] {
        let open = || Trace::from_bytes(name, bytes.clone()).unwrap();
        check_fields(open, formats);
        let run = |n| tables(&mut open(), formats, &with_threads(n));
        let alone = run(1);
        assert!(run(2) == alone && run(8) == alone, "{name}");
        assert_eq!(alone.len(), n_distinct(3000, limit));
    }
}

#[test]
fn rows_of_late_tables_name_their_input() {
    let formats = formats(&[]);
    let options = TableOptions { files: vec!["one".into()], has_file: true, ..TableOptions::default() };
    let mut opener = Opener::default();
    let mut sink = EventTables::new(options.clone(), &mut opener);
    let bytes = hooks_of_aix(1200, 300);
    let mut inputs = Vec::new();
    for name in ["one", "two"] {
        sink.set_files(vec![name.into()]);
        let trace = &mut Trace::from_bytes(name, bytes.clone()).unwrap();
        rows(trace, &formats, &with_threads(1), EventTables::wanted(&options), &mut sink, &mut |_: &Notice| {})
            .unwrap();
        inputs.push(sink.n_rows());
    }
    assert_eq!(inputs, [1200, 2400]);
    sink.finish().unwrap();
    let files = std::mem::take(&mut *opener.files.lock().unwrap());
    assert_eq!(files.len(), n_distinct(1200, 300));
    for table in files.values() {
        let found: Vec<_> = objects(table).into_iter().map(|row| row["file"].clone()).collect();
        let (one, two) = found.split_at(found.len() / 2);
        assert!(!one.is_empty() && one.iter().all(|file| file == "one") && two.iter().all(|file| file == "two"));
    }
}

#[test]
fn a_batch_ends_before_every_wait() {
    let n_batches = |follow| {
        let options = TableOptions { follow, ..TableOptions::default() };
        let mut opener = Opener::default();
        let mut sink = EventTables::new(options.clone(), &mut opener);
        // The end of an input counts as a wait.
        for _ in 0..2 {
            let trace = &mut Trace::open(sample("shell.trc")).unwrap();
            let wanted = EventTables::wanted(&options);
            rows(trace, &formats(&[]), &with_threads(1), wanted, &mut sink, &mut |_: &Notice| {}).unwrap();
        }
        sink.finish().unwrap();
        let files = std::mem::take(&mut *opener.files.lock().unwrap());
        // The last one is the end mark.
        batches(&files["106"]).len() - 1
    };
    assert_eq!([false, true].map(n_batches), [1, 2]);
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
