//! Tables of the parts of a trace, one after another, are the tables of the whole.

use crate::tools::{SAMPLES, formats, kev, rows_of, sample};
use serde_json::{Map, Value};
use std::num::NonZeroU64;
use tfbc::{Formats, PartSize, ReportOptions, Split, Trace};
use tfbc_data::{EventColumn, Summary, TableOptions};

type Rows = Vec<Map<String, Value>>;

/// Rows of both tables.
#[derive(Debug, Default, PartialEq)]
struct Tables {
    /// Events, with all columns.
    events: Rows,
    /// Notices, without the summary.
    notices: Rows,
    /// Rows, and bytes read, as the summary counts them.
    counts: [u64; 2],
}

impl Tables {
    /// Reads both tables of a trace that `open` opens.
    fn of(open: &dyn Fn() -> Trace, formats: &Formats) -> Self {
        let report = ReportOptions::default;
        let columns = Some(EventColumn::ALL.to_vec());
        let options = TableOptions { columns, batch_rows: 50, ..TableOptions::default() };
        let events = tfbc_data::events(open(), formats.clone(), report(), options).unwrap();
        let events: Rows = events.flat_map(|batch| rows_of(&batch.unwrap())).collect();
        let mut reader = tfbc_data::notices(open(), formats.clone(), report(), TableOptions::default()).unwrap();
        let mut notices: Rows = reader.by_ref().flat_map(|batch| rows_of(&batch.unwrap())).collect();
        let Summary { rows, tally, .. } = reader.outcome().unwrap().summary;
        assert_eq!(tally.check(), Ok(()));
        assert_eq!(notices.pop().unwrap()["kind"], "summary");
        assert_eq!(rows, events.len() as u64);
        Self { events, notices, counts: [rows, tally.read] }
    }

    fn add(&mut self, part: Self) {
        self.events.extend(part.events);
        self.notices.extend(part.notices);
        (0..2).for_each(|at| self.counts[at] += part.counts[at]);
    }
}

/// Compares the tables of the parts with those of the whole. Returns the number of rows; 0 if the trace cannot be
/// opened.
fn check(name: &str, bytes: &[u8], formats: &Formats) -> usize {
    let open = || Trace::from_bytes(name, bytes.to_vec());
    if open().is_err() {
        return 0;
    }
    let whole = Tables::of(&|| open().unwrap(), formats);
    for n in [1, 2, 3, 7, 64] {
        let split = open().unwrap().parts(formats, PartSize::Count(NonZeroU64::new(n).unwrap())).unwrap();
        let split = Split::decode(&split.encode()).unwrap();
        let mut all = Tables::default();
        for part in split.parts() {
            all.add(Tables::of(&|| split.open_part_in(part.number, bytes.to_vec()).unwrap(), formats));
        }
        let place = format!("{name}, {n} parts");
        assert_eq!(all.counts, whole.counts, "{place}");
        for (all, whole) in [(&all.events, &whole.events), (&all.notices, &whole.notices)] {
            assert_eq!(all.len(), whole.len(), "{place}");
            all.iter().zip(whole).for_each(|(row, expected)| assert_eq!(row, expected, "{place}"));
        }
    }
    whole.events.len() + whole.notices.len()
}

#[test]
fn rows_of_all_parts_are_those_of_the_whole() {
    for (name, files) in SAMPLES {
        let bytes = std::fs::read(sample(name)).unwrap();
        let n_rows = check(name, &bytes, &formats(files));
        assert!(n_rows > 20, "{name}: {n_rows} rows");
    }
}

#[test]
fn damage_and_gaps_are_rows_of_one_part() {
    let mut n_rows = 0;
    for (name, files) in SAMPLES {
        let (whole, formats) = (std::fs::read(sample(name)).unwrap(), formats(files));
        let n = whole.len();
        for at in (n / 6..n - 60).step_by(n / 5) {
            let mut overwritten = whole.clone();
            overwritten[at..at + 50].fill(0xFF);
            let deleted = [&whole[..at], &whole[at + 3..]].concat();
            let inserted = [&whole[..at], &[0x55; 5], &whole[at..]].concat();
            for damaged in [&overwritten, &deleted, &inserted, &whole[..at]] {
                n_rows += check(name, damaged, &formats);
            }
        }
    }
    assert!(n_rows > 2000, "{n_rows} rows");
    // Ordinary and long records, buffers that are missing, and a record that says so.
    const RECORDS: [(u32, &[u32]); 5] = [
        (6 << 10 | 1, &[1, 2]),
        (1 << 10 | 2, &[5, 9]),
        (6 << 10, &[1, 2, 3, 4, 5]),
        (1 << 10 | 8, &[0, 0]),
        (6 << 10 | 1, &[3, 4]),
    ];
    let records: Vec<_> = (0..40).map(|n| RECORDS[n % RECORDS.len()]).collect();
    let mut log = kev("8.0.0", &records);
    // The start of a combine that never ends.
    [6 << 10 | 1 << 30, 90, 0, 0].iter().for_each(|word: &u32| log.extend_from_slice(&word.to_le_bytes()));
    assert!(check("t.kev", &log, &formats(&[])) > 40);
}
