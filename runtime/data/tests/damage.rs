//! Damaged traces: every row and every byte is accounted for.

use crate::tools::{formats, kev, objects, rows_of, sample, stream};
use serde_json::{Map, Value};
use tfbc::{Formats, Item, ReportOptions, ReportSummary, Trace};
use tfbc_data::{EventColumn, Summary, TableOptions};

/// Reads a damaged trace as events and as tables, and compares the two. False if it cannot be opened as a trace.
fn check(name: &str, bytes: Vec<u8>, formats: &Formats) -> bool {
    let Ok(mut trace) = Trace::from_bytes(name, bytes.clone()) else { return false };
    let (table, notices, summary) = stream(&mut trace, formats, &ReportOptions::default(), &TableOptions::default());
    let rows = objects(&table);
    let mut trace = Trace::from_bytes(name, bytes.clone()).unwrap();
    let mut events = trace.events(formats);
    let (mut n_events, mut messages) = (0, Vec::new());
    while let Some(item) = events.next().unwrap() {
        match item {
            Item::Event(event) => {
                assert_eq!(rows[n_events]["text"].as_str().unwrap(), event.text());
                n_events += 1;
            }
            Item::Notice(notice) => messages.push(notice.message),
        }
    }
    assert_eq!((rows.len(), &notices), (n_events, &messages));
    let imbalance = match &summary {
        ReportSummary::Aix(summary) => summary.imbalance,
        ReportSummary::Qnx(summary) => summary.imbalance,
    };
    assert_eq!(imbalance, None);
    let tally = Summary::of(&summary, rows.len() as u64).tally;
    assert_eq!(tally.check(), Ok(()));
    assert_eq!(tally.read, bytes.len() as u64);
    // All places are rows of the other table, and account for the skipped bytes.
    let found = notices_of(name, bytes, formats);
    let listed: Vec<_> = found.iter().map(|row| row["message"].as_str().unwrap()).collect();
    let mut rest = listed.iter();
    assert!(notices.iter().all(|notice| rest.any(|message| message == notice)), "{notices:?} {listed:?}");
    let (last, others) = found.split_last().unwrap();
    assert_eq!(last["kind"], "summary");
    let n_bytes: u64 = others.iter().filter_map(|row| row["bytes"].as_u64()).sum();
    assert!(n_bytes <= tally.skipped, "{others:?}");
    true
}

/// Rows of the table of notices.
fn notices_of(name: &str, bytes: Vec<u8>, formats: &Formats) -> Vec<Map<String, Value>> {
    let trace = Trace::from_bytes(name, bytes).unwrap();
    let (report, options) = (ReportOptions::default(), TableOptions::default());
    let reader = tfbc_data::notices(trace, formats.clone(), report, options).unwrap();
    reader.flat_map(|batch| rows_of(&batch.unwrap())).collect()
}

#[test]
fn events_that_show_gaps_are_notices() {
    let mut bytes = std::fs::read(sample("shell.trc")).unwrap();
    let columns = EventColumn::parse("seq,id,time,elapsed_ns,cpu,file_offset").unwrap();
    let options = TableOptions { columns: Some(columns), ..TableOptions::default() };
    let mut trace = Trace::from_bytes("shell.trc", bytes.clone()).unwrap();
    let rows = objects(&stream(&mut trace, &formats(&[]), &ReportOptions::default(), &options).0);
    let ordinary: Vec<_> = rows.iter().filter(|row| row["id"] == "101").take(3).collect();
    // The id is after the flags and the length.
    for (row, id) in ordinary.iter().zip([0x0060_u16, 0x0020, 0x0010]) {
        let at = row["file_offset"].as_u64().unwrap() as usize;
        bytes[at + 4..at + 6].copy_from_slice(&id.to_be_bytes());
    }
    let found = notices_of("shell.trc", bytes, &formats(&[]));
    let gaps: Vec<_> = found.iter().filter(|row| row["kind"] == "gap").collect();
    assert_eq!(gaps.len(), 2, "{found:?}");
    for (gap, shown) in gaps.iter().zip([ordinary[0], ordinary[2]]) {
        assert_eq!((&gap["offset"], &gap["bytes"]), (&shown["file_offset"], &0.into()));
        // Seq and time are those of the next event.
        let next = rows.iter().find(|row| row["seq"].as_u64() > shown["seq"].as_u64()).unwrap();
        for name in ["seq", "time", "elapsed_ns"] {
            assert_eq!(gap[name], next[name], "{name}");
        }
    }
    assert!(gaps[0]["count"].is_number() && gaps[1]["count"].is_null());
    assert!(gaps[1]["message"].as_str().unwrap().contains("switched off for"));
}

#[test]
fn damage_has_the_number_and_time_of_the_next_event() {
    let columns = EventColumn::parse("seq,time,elapsed_ns,cpu,file_offset").unwrap();
    let mut bytes = std::fs::read(sample("shell.trc")).unwrap();
    for place in 1..=6 {
        let at = bytes.len() * place / 8;
        bytes[at..at + 40].fill(0xFF);
    }
    let options = TableOptions { columns: Some(columns), batch_rows: 50, ..TableOptions::default() };
    let mut trace = Trace::from_bytes("shell.trc", bytes.clone()).unwrap();
    let rows = objects(&stream(&mut trace, &formats(&[]), &ReportOptions::default(), &options).0);
    let notices = notices_of("shell.trc", bytes, &formats(&[]));
    let damage: Vec<_> = notices.iter().filter(|row| row["kind"] == "damage").collect();
    // Some of the places are data of events.
    assert!(damage.len() >= 3, "{notices:?}");
    for notice in damage {
        let next = rows.iter().find(|row| row["file_offset"].as_u64() > notice["offset"].as_u64()).unwrap();
        for column in ["seq", "time", "elapsed_ns", "cpu"] {
            assert_eq!(notice[column], next[column], "{column} of {notice:?}");
        }
    }
}

#[test]
fn lost_buffers_and_combines_are_gaps() {
    let records: [(u32, &[u32]); 5] = [
        (1 << 10 | 1, &[0, 1]),
        (1 << 10 | 2, &[5, 9]),
        (1 << 10 | 2, &[9, 9]),
        (1 << 10 | 8, &[0, 0]),
        (6 << 10, &[1, 2]),
    ];
    let mut log = kev("8.0.0", &records);
    // The start of a combine that never ends.
    [6 << 10 | 1 << 30, 9, 0, 0].iter().for_each(|word: &u32| log.extend_from_slice(&word.to_le_bytes()));
    let found = notices_of("t.kev", log, &formats(&[]));
    let gaps: Vec<_> = found.iter().filter(|row| row["kind"] == "gap").collect();
    let counts: Vec<_> =
        gaps.iter().map(|row| (row["count"].as_u64(), row["seq"].as_u64(), row["bytes"].as_u64())).collect();
    assert_eq!(counts, [(Some(3), Some(3), Some(0)), (None, Some(4), Some(0)), (Some(1), Some(5), Some(16))]);
    assert_eq!((&gaps[0]["elapsed_ns"], &gaps[1]["elapsed_ns"]), (&3.into(), &4.into()));
    assert!(gaps[2]["elapsed_ns"].is_null());
}

#[test]
fn a_log_cut_anywhere_keeps_its_rows() {
    for (name, n_bytes) in [("copy.trc", 1640), ("user.kev", 1738)] {
        let whole = std::fs::read(sample(name)).unwrap();
        let formats = formats(&[]);
        let n_read = (0..n_bytes.min(whole.len())).filter(|len| check(name, whole[..*len].to_vec(), &formats)).count();
        assert!(n_read > 500, "{name}: {n_read}");
    }
}

#[test]
fn changed_bytes_are_no_danger() {
    for (name, n_bytes) in [("copy.trc", 1640), ("user.kev", 1738)] {
        let whole = std::fs::read(sample(name)).unwrap();
        let formats = formats(&[]);
        let start = whole[..n_bytes.min(whole.len())].to_vec();
        for at in 0..start.len() {
            let mut bytes = start.clone();
            bytes[at] ^= 1 << (at % 8);
            check(name, bytes, &formats);
        }
    }
}
