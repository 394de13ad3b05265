//! Damaged traces: every row and every byte is accounted for.

use crate::tools::{formats, objects, sample, stream};
use tfbc::{Formats, Item, ReportOptions, ReportSummary, Trace};
use tfbc_data::{Summary, TableOptions};

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
    // The same places are rows of the other table.
    let trace = Trace::from_bytes(name, bytes).unwrap();
    let mut reader =
        tfbc_data::notices(trace, formats.clone(), ReportOptions::default(), TableOptions::default()).unwrap();
    let n_notices: usize = reader.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(n_notices, notices.len() + 1);
    true
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
