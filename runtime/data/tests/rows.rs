//! The table of events has the rows, texts and fields of the report.

use crate::tools::{SAMPLES, batches, formats, kev, objects, sample, stream, with_threads};
use serde_json::{Map, Value, json};
use tfbc::internal::filter::Filter;
use tfbc::internal::rows::rows;
use tfbc::{Column, Columns, Form, Item, Notice, ReportOptions, Trace, report};
use tfbc_data::{EventColumn, EventTable, IpcStream, TableOptions};

fn open(name: &str) -> Trace {
    Trace::open(sample(name)).unwrap()
}

/// Options that select events, for AIX.
fn filters() -> Vec<ReportOptions> {
    let with = |filter: Filter| {
        let mut options = ReportOptions::default();
        options.aix.filter = filter;
        options
    };
    let mut all = vec![ReportOptions::default()];
    let mut only = tfbc::aix::IdSet::default();
    [0x1060, 0x1340, 0x1000].into_iter().for_each(|id| only.insert(id));
    all.push(with(Filter { only: Some(only), ..Filter::default() }));
    all.push(with(Filter { from_ns: Some(1_000_000), to_ns: Some(20_000_000), ..Filter::default() }));
    let mut grep = ReportOptions::default();
    let pattern = || Some(tfbc::Pattern::new("cmd|name|e").unwrap());
    (grep.aix.grep, grep.qnx.grep) = (pattern(), pattern());
    all.push(grep);
    let mut defined = ReportOptions::default();
    (defined.aix.defined, defined.qnx.defined) = (true, true);
    all.push(defined);
    all
}

#[test]
fn rows_are_the_events_of_the_report() {
    for (name, files) in SAMPLES {
        let formats = formats(files);
        for options in filters() {
            let (bytes, ..) = stream(&mut open(name), &formats, &options, &TableOptions::default());
            let rows = objects(&bytes);
            let mut trace = open(name);
            let mut events = trace.events(&formats).with_options(options.clone()).with_context();
            let mut n_rows = 0;
            while let Some(item) = events.next().unwrap() {
                let Item::Event(event) = item else { continue };
                let row = &rows[n_rows];
                n_rows += 1;
                assert_eq!(row["id"], json!(event.id()));
                assert_eq!(row["label"], json!(event.label()));
                assert_eq!(row["text"], json!(event.text()), "{name}, {}", event.id());
                assert_eq!(row["pid"], json!(event.pid()));
                assert_eq!(row["tid"], json!(event.tid()));
                assert_eq!(row["cpu"], json!(event.cpu()));
                assert_eq!(row["elapsed_ns"], json!(event.elapsed_ns()), "{name}");
                let process = event.process();
                assert_eq!(row["process"].is_null(), process.is_none());
                if let (Some(path), Some(process)) = (row["process"].as_str(), process) {
                    assert!(path.contains(&*process), "{path} {process}");
                }
            }
            assert_eq!(rows.len(), n_rows, "{name}");
            assert!(rows.is_sorted_by_key(|row| row["seq"].as_i64()), "{name}");
        }
    }
}

#[test]
fn fields_are_those_of_json_lines() {
    for name in ["shell.trc", "copy.trc"] {
        let formats = formats(&[]);
        let (bytes, ..) = stream(&mut open(name), &formats, &ReportOptions::default(), &TableOptions::default());
        let mut options = ReportOptions::default();
        options.aix.columns = Columns::new(&[Column::Id, Column::Fields], tfbc::aix::Timestamp::None);
        options.aix.form = Form::Ndjson;
        let mut lines = Vec::new();
        report(&mut open(name), &formats, &options, &mut lines).unwrap();
        let lines: Vec<Map<String, Value>> = lines
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        let rows = objects(&bytes);
        assert_eq!(rows.len(), lines.len());
        for (row, line) in rows.iter().zip(&lines) {
            assert_eq!(row["id"], line["id"]);
            let fields: Value = serde_json::from_str(row["fields"].as_str().unwrap()).unwrap();
            assert_eq!(fields, line["fields"]);
        }
        assert!(rows.iter().any(|row| row["fields"] != "{}"));
    }
}

#[test]
fn the_stream_does_not_depend_on_threads() {
    for (name, files) in SAMPLES {
        let formats = formats(files);
        let lists = [None, Some("seq,id"), Some("id,fields"), Some("note,time"), Some("elapsed,cpu,exec,svc,int")];
        for list in lists {
            let columns = list.map(|list| EventColumn::parse(list).unwrap());
            let options = TableOptions { columns, batch_rows: 100, ..TableOptions::default() };
            let run = |n| stream(&mut open(name), &formats, &with_threads(n), &options).0;
            let alone = run(1);
            assert!(batches(&alone).iter().rev().skip(2).all(|batch| batch.num_rows() == 100));
            for n in [2, 8] {
                assert_eq!(run(n), alone, "{name} by {n} threads");
            }
        }
    }
}

#[test]
fn every_choice_of_columns_has_the_same_rows() {
    for (name, files) in SAMPLES {
        let formats = formats(files);
        let all = EventColumn::ALL.to_vec();
        let with = |columns: Vec<EventColumn>| {
            let options = TableOptions { columns: Some(columns), ..TableOptions::default() };
            objects(&stream(&mut open(name), &formats, &ReportOptions::default(), &options).0)
        };
        let rows = with(all.clone());
        for column in all {
            let alone = with(vec![column]);
            assert_eq!(alone.len(), rows.len());
            for (one, row) in alone.iter().zip(&rows) {
                assert_eq!(one[column.name()], row[column.name()], "{} of {name}", column.name());
            }
        }
    }
}

#[test]
fn metadata_has_the_hashes_of_format_files() {
    let trace = Trace::open(sample("user.kev")).unwrap();
    let (report, options) = (ReportOptions::default(), TableOptions::default());
    let reader = tfbc_data::events(trace, formats(&["user.xml"]), report, options).unwrap();
    let schema = arrow_array::RecordBatchReader::schema(&reader);
    let listed: Value = serde_json::from_str(&schema.metadata()["tfbc:formats"]).unwrap();
    let hash = blake3::hash(&std::fs::read(sample("user.xml")).unwrap()).to_hex().to_string();
    let known = listed.as_array().unwrap();
    assert!(known.contains(&json!({"name": "user.xml", "blake3": hash})), "{listed}");
}

#[test]
fn records_before_the_start_have_negative_times() {
    let mut log = kev("7.1.0", &[]);
    // The second record was stored later than the first, but is older.
    for slot in [[1 << 10 | 1, 100, 0, 100], [6 << 10 | 65, 50, 1, 2]] {
        slot.iter().for_each(|word: &u32| log.extend_from_slice(&word.to_le_bytes()));
    }
    let mut trace = Trace::from_bytes("t.kev", log.clone()).unwrap();
    let rows = objects(&stream(&mut trace, &formats(&[]), &ReportOptions::default(), &TableOptions::default()).0);
    assert_eq!([&rows[0]["elapsed_ns"], &rows[1]["elapsed_ns"]], [&json!(0), &json!(-50)]);
    let mut trace = Trace::from_bytes("t.kev", log).unwrap();
    let formats = formats(&[]);
    let mut events = trace.events(&formats);
    let mut times = Vec::new();
    while let Some(item) = events.next().unwrap() {
        if let Item::Event(event) = item {
            times.push(event.elapsed_ns());
        }
    }
    assert_eq!(times, [Some(0), Some(-50)]);
}

#[test]
fn times_are_absolute() {
    let options =
        TableOptions { columns: Some(EventColumn::parse("time,elapsed").unwrap()), ..TableOptions::default() };
    let (bytes, ..) = stream(&mut open("shell.trc"), &formats(&[]), &ReportOptions::default(), &options);
    let batches = batches(&bytes);
    let metadata = batches[0].schema().metadata().clone();
    assert_eq!(metadata["tfbc:time_basis"], "003");
    let zero: i128 = metadata["tfbc:time_zero"].parse().unwrap();
    for row in objects(&bytes) {
        let elapsed = i128::from(row["elapsed_ns"].as_i64().unwrap());
        assert_eq!(i128::from(row["time"].as_i64().unwrap()), (zero + elapsed).div_euclid(1000));
    }
    let given = TableOptions { time_zero: Some(1_000_000_000), ..options };
    let (bytes, ..) = stream(&mut open("shell.trc"), &formats(&[]), &ReportOptions::default(), &given);
    let row = &objects(&bytes)[5];
    assert_eq!(row["time"].as_i64().unwrap(), 1_000_000 + row["elapsed_ns"].as_i64().unwrap() / 1000);
}

#[test]
fn the_end_has_a_mark() {
    let (bytes, _, summary) =
        stream(&mut open("shell.trc"), &formats(&[]), &ReportOptions::default(), &TableOptions::default());
    let tfbc::ReportSummary::Aix(summary) = summary else { panic!() };
    // The last message is before the end of the stream, 8 bytes.
    let text = String::from_utf8_lossy(&bytes[bytes.len() - 2048..]).into_owned();
    assert!(text.contains("tfbc:end"));
    assert!(text.contains(&format!("\"rows\":{}", summary.n_reported)), "{text}");
    let batches = batches(&bytes);
    assert_eq!(batches.last().unwrap().num_rows(), 0);
}

#[test]
fn readers_can_stop_early() {
    let mut reader = tfbc_data::events(
        open("shell.trc"),
        formats(&[]),
        ReportOptions::default(),
        TableOptions { batch_rows: 7, ..TableOptions::default() },
    )
    .unwrap();
    assert_eq!(reader.next().unwrap().unwrap().num_rows(), 7);
    drop(reader);
    let mut reader =
        tfbc_data::notices(open("shell.trc"), formats(&[]), ReportOptions::default(), TableOptions::default()).unwrap();
    let n_rows: usize = reader.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
    assert!(n_rows >= 1);
    assert!(reader.outcome().unwrap().summary.rows > 100);
}

#[test]
fn a_compressed_stream_has_the_same_rows() {
    let (formats, report, options) = (formats(&[]), ReportOptions::default(), TableOptions::default());
    let (plain, ..) = stream(&mut open("shell.trc"), &formats, &report, &options);
    let mut compressed = IpcStream::compressed(Vec::new()).unwrap();
    let mut table = EventTable::new(options.clone(), &mut compressed);
    let mut monitor = |_: &Notice| {};
    rows(&mut open("shell.trc"), &formats, &report, options.wanted(), &mut table, &mut monitor).unwrap();
    table.finish().unwrap();
    let bytes = compressed.finish("{}").unwrap();
    assert_eq!(objects(&bytes), objects(&plain));
    assert!(bytes.len() < plain.len(), "{} {}", bytes.len(), plain.len());
}
