//! Parquet files: what was written is read back, with statistics and indexes that describe it.

use crate::tools::rows_of;
use arrow_array::types::{Int16Type, Int32Type};
use arrow_array::{ArrayRef, DictionaryArray, Int16Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};
use std::fs::File;
use std::sync::Arc;
use tfbc_data::{BatchSink, ParquetFile};

fn words(keys: DataType) -> DataType {
    DataType::Dictionary(Box::new(keys), Box::new(DataType::Utf8))
}

/// Makes a dictionary column.
fn dictionary(keys: impl Iterator<Item = Option<i32>>, texts: &[String]) -> ArrayRef {
    let texts = Arc::new(StringArray::from_iter_values(texts));
    Arc::new(DictionaryArray::<Int32Type>::new(Int32Array::from_iter(keys), texts))
}

/// Writes batches as a file. Returns the rows that `selection` selects, all by default, and the metadata.
fn read_back(
    batches: &[RecordBatch],
    change: impl FnOnce(ParquetFile<Vec<u8>>) -> ParquetFile<Vec<u8>>,
    selection: Option<RowSelection>,
) -> (Vec<RecordBatch>, Arc<ParquetMetaData>) {
    let mut file = change(ParquetFile::new(Vec::new()));
    file.begin(&batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| file.batch(batch.clone()).unwrap());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    std::fs::write(&path, file.finish().unwrap()).unwrap();
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
    let mut builder =
        ParquetRecordBatchReaderBuilder::try_new_with_options(File::open(path).unwrap(), options).unwrap();
    if let Some(selection) = selection {
        builder = builder.with_row_selection(selection);
    }
    let metadata = Arc::clone(builder.metadata());
    (builder.build().unwrap().map(Result::unwrap).collect(), metadata)
}

/// A batch with columns of all types of text. `seed` changes texts, keys and their order.
fn batch(seed: usize, n_rows: usize) -> RecordBatch {
    let schema = Schema::new(vec![
        Field::new("seq", DataType::Int64, false),
        Field::new("id", words(DataType::Int32), false),
        Field::new("process", words(DataType::Int32), true),
        Field::new("thread", words(DataType::Int32), true),
        Field::new("case", words(DataType::Int16), true),
        Field::new("name", DataType::Utf8, true),
        Field::new("fields", DataType::Utf8, false),
    ]);
    let ids: Vec<_> = (0..37).map(|n| format!("{:03X}", (n * 11 + seed) % 40)).collect();
    let processes: Vec<_> = (0..seed + 1).map(|n| format!("/usr/bin/{}", seed + n)).collect();
    let cases = Arc::new(StringArray::from_iter_values(["off", "on", "no row has it"]));
    let rows = || 0..n_rows;
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(rows().map(|row| (seed * n_rows + row) as i64))),
        dictionary(rows().map(|row| Some((row * row % 37) as i32)), &ids),
        dictionary(rows().map(|row| (row / 100 % 3 > 0).then_some((row / 500 % (seed + 1)) as i32)), &processes),
        dictionary(rows().map(|_| None), &[]),
        Arc::new(DictionaryArray::<Int16Type>::new(
            Int16Array::from_iter(rows().map(|row| (row % 5 > 0).then_some((row % 2) as i16))),
            cases,
        )),
        Arc::new(StringArray::from_iter(rows().map(|row| (row % 7 > 2).then(|| "n".repeat(row % 9))))),
        Arc::new(StringArray::from_iter_values(rows().map(|row| format!("{{\"n\":{}}}", row * seed)))),
    ];
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

#[test]
fn texts_are_read_back_with_every_compression() {
    let batches: Vec<_> = (0..4).map(|seed| batch(seed, 13_000)).collect();
    let expected: Vec<_> = batches.iter().flat_map(rows_of).collect();
    type Change = fn(ParquetFile<Vec<u8>>) -> ParquetFile<Vec<u8>>;
    let changes: &[Change] = &[
        |file| file,
        ParquetFile::uncompressed,
        ParquetFile::with_lz4,
        #[cfg(feature = "zstd")]
        ParquetFile::with_zstd,
    ];
    for change in changes {
        let (stored, metadata) = read_back(&batches, change, None);
        let stored: Vec<_> = stored.iter().flat_map(rows_of).collect();
        assert_eq!(stored.len(), expected.len());
        stored.iter().zip(&expected).for_each(|(row, expected)| assert_eq!(row, expected));
        let columns = metadata.row_group(0).columns();
        let of_column = |name: &str| {
            let statistics = columns.iter().find(|column| column.column_descr().name() == name)?.statistics()?;
            let text = |bytes: Option<&[u8]>| bytes.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
            Some((text(statistics.min_bytes_opt()), text(statistics.max_bytes_opt()), statistics.null_count_opt()))
        };
        let some = |text: &str| Some(String::from(text));
        assert_eq!(of_column("id"), Some((some("000"), some("027"), Some(0))));
        assert_eq!(of_column("case"), Some((some("off"), some("on"), Some(4 * 2600))));
        assert_eq!(of_column("thread"), Some((None, None, Some(52_000))));
        assert_eq!(of_column("name").map(|(least, most, _)| (least, most)), Some((some(""), some("nnnnnnnn"))));
        assert!(columns.iter().all(|column| column.offset_index_offset().is_some()));
    }
}

#[test]
fn rows_are_found_by_the_page_index() {
    let batches: Vec<_> = (0..4).map(|seed| batch(seed, 13_000)).collect();
    let expected: Vec<_> = batches.iter().flat_map(rows_of).skip(45_003).take(10).collect();
    let selection = RowSelection::from(vec![RowSelector::skip(45_003), RowSelector::select(10)]);
    let (stored, metadata) = read_back(&batches, |file| file, Some(selection));
    assert_eq!(stored.iter().flat_map(rows_of).collect::<Vec<_>>(), expected);
    let has_index = |column: usize| metadata.row_group(0).column(column).column_index_offset().is_some();
    assert_eq!([1, 2, 6].map(has_index), [true, false, false], "only `id` has statistics of pages");
}

#[test]
fn large_dictionaries_end_in_plain_pages() {
    let schema = Arc::new(Schema::new(vec![Field::new("process", words(DataType::Int32), true)]));
    let batches: Vec<_> = (0..3)
        .map(|seed| {
            let texts: Vec<_> = (0..30).map(|n| format!("{seed}.{n}.").repeat(8 << 10)).collect();
            let keys = (0..60).map(|row| (row != 7).then_some(row % 30));
            RecordBatch::try_new(Arc::clone(&schema), vec![dictionary(keys, &texts)]).unwrap()
        })
        .collect();
    let (stored, metadata) = read_back(&batches, |file| file, None);
    let expected: Vec<_> = batches.iter().flat_map(rows_of).collect();
    assert!(stored.iter().flat_map(rows_of).eq(expected), "rows differ");
    let column = metadata.row_group(0).column(0);
    assert!(column.dictionary_page_offset().is_some());
    let texts = |bytes: Option<&[u8]>| bytes.map(|bytes| bytes[..4].to_vec());
    let statistics = column.statistics().unwrap();
    assert_eq!(texts(statistics.min_bytes_opt()), Some(b"0.0.".to_vec()));
    assert_eq!(texts(statistics.max_bytes_opt()), Some(b"2.9.".to_vec()));
}

#[test]
fn row_groups_have_a_limit() {
    let schema = Arc::new(Schema::new(vec![Field::new("id", words(DataType::Int32), false)]));
    let texts = [String::from("100"), String::from("200")];
    let n_rows = (1 << 20) + 5;
    let keys = || (0..n_rows).map(|row| row / 3 % 2);
    let column = dictionary(keys().map(Some), &texts);
    let all = RecordBatch::try_new(schema, vec![column]).unwrap();
    let (stored, metadata) = read_back(&[all], |file| file, None);
    let n_rows_of: Vec<_> = metadata.row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!(n_rows_of, [1 << 20, 5]);
    let mut next = 0;
    for batch in &stored {
        for at in (0..batch.num_rows()).step_by(37) {
            let expected = &texts[(next + at) / 3 % 2];
            assert_eq!(rows_of(&batch.slice(at, 1))[0]["id"], expected.as_str(), "{}", next + at);
        }
        next += batch.num_rows();
    }
    assert_eq!(next, n_rows as usize);
}
