//! Helpers that write tables and read them back.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{Array, RecordBatch};
use serde_json::{Map, Value, json};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use tfbc::internal::rows::rows;
use tfbc::{Formats, Notice, ReportOptions, ReportSummary, Trace};
use tfbc_data::{EventTable, IpcStream, Summary, TableOptions};

/// Samples of the library, with the format files that print them.
pub const SAMPLES: [(&str, &[&str]); 4] =
    [("shell.trc", &[]), ("copy.trc", &[]), ("user.kev", &["user.xml"]), ("user.kev", &[])];

pub fn sample(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../samples").join(name)
}

pub fn formats(names: &[&str]) -> Formats {
    Formats::load(names.iter().map(|name| sample(name))).unwrap()
}

/// Writes the table of events as an Arrow stream. Returns the bytes, the messages, and the counts.
pub fn stream(
    trace: &mut Trace,
    formats: &Formats,
    report: &ReportOptions,
    options: &TableOptions,
) -> (Vec<u8>, Vec<String>, ReportSummary) {
    let mut stream = IpcStream::new(Vec::new());
    let mut table = EventTable::new(options.clone(), &mut stream);
    let mut notices = Vec::new();
    let mut monitor = |notice: &Notice| notices.push(notice.message.clone());
    let summary = rows(trace, formats, report, options.wanted(), &mut table, &mut monitor).unwrap();
    let n_rows = table.n_rows();
    table.finish().unwrap();
    let bytes = stream.finish(&Summary::of(&summary, n_rows).to_json()).unwrap();
    (bytes, notices, summary)
}

pub fn batches(stream: &[u8]) -> Vec<RecordBatch> {
    let reader = arrow_ipc::reader::StreamReader::try_new(stream, None).unwrap();
    reader.map(Result::unwrap).collect()
}

/// Rows as JSON objects, with nulls.
pub fn objects(stream: &[u8]) -> Vec<Map<String, Value>> {
    batches(stream).iter().flat_map(rows_of).collect()
}

/// Rows of a batch.
pub fn rows_of(batch: &RecordBatch) -> Vec<Map<String, Value>> {
    let schema = batch.schema();
    let row = |row: usize| {
        let values = schema.fields().iter().zip(batch.columns());
        values.map(|(field, column)| (field.name().clone(), value(column, row))).collect()
    };
    (0..batch.num_rows()).map(row).collect()
}

fn value(column: &dyn Array, row: usize) -> Value {
    if column.is_null(row) {
        return Value::Null;
    }
    if let Some(column) = column.as_primitive_opt::<Int64Type>() {
        json!(column.value(row))
    } else if let Some(column) = column.as_primitive_opt::<Int32Type>() {
        json!(column.value(row))
    } else if let Some(column) = column.as_primitive_opt::<TimestampMicrosecondType>() {
        json!(column.value(row))
    } else if let Some(column) = column.as_primitive_opt::<UInt64Type>() {
        json!(column.value(row))
    } else if let Some(column) = column.as_boolean_opt() {
        json!(column.value(row))
    } else if let Some(column) = column.as_binary_opt::<i32>() {
        json!(column.value(row).iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    } else if let Some(column) = column.as_list_opt::<i32>() {
        let items = column.value(row);
        (0..items.len()).map(|at| value(&items, at)).collect()
    } else if let Some(column) = column.as_dictionary_opt::<Int16Type>() {
        let key = column.keys().value(row) as usize;
        json!(column.values().as_string::<i32>().value(key))
    } else if let Some(column) = column.as_string_opt::<i32>() {
        json!(column.value(row))
    } else if let Some(column) = column.as_dictionary_opt::<Int32Type>() {
        let key = column.keys().value(row) as usize;
        json!(column.values().as_string::<i32>().value(key))
    } else {
        panic!("a column of another type: {:?}", column.data_type())
    }
}

/// Report options for a number of threads.
pub fn with_threads(n: usize) -> ReportOptions {
    let mut options = ReportOptions::default();
    options.aix.threads = NonZeroUsize::new(n);
    options.qnx.threads = NonZeroUsize::new(n);
    options
}

/// A log of QNX with records of a class, number and words. Two words are a simple record, more a combine.
pub fn kev(release: &str, records: &[(u32, &[u32])]) -> Vec<u8> {
    let mut log = format!(
        "TRACE_HEADER_BEGIN::TRACE_VER_MAJOR::1TRACE_VER_MINOR::01TRACE_LITTLE_ENDIAN::TRUETRACE_ENCODING::16 byte \
         eventsTRACE_CYCLES_PER_SEC::1000000000TRACE_CPU_NUM::1TRACE_SYS_RELEASE::{release}TRACE_SYSPAGE_LEN::0\
         TRACE_HEADER_END::"
    )
    .into_bytes();
    let mut stamp = 0;
    for (header, words) in records {
        stamp += 1;
        let n_slots = words.len().div_ceil(2);
        for (at, pair) in words.chunks(2).enumerate() {
            let part = match at {
                _ if n_slots == 1 => 0,
                0 => 1,
                at if at + 1 == n_slots => 3,
                _ => 2,
            };
            let slot = [header | part << 30, stamp, pair[0], pair.get(1).copied().unwrap_or_default()];
            slot.iter().for_each(|word| log.extend_from_slice(&word.to_le_bytes()));
        }
    }
    log
}
