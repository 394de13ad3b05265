//! Benchmarks of QNX logs: the layout of traceprinter 1.02, one line per slot, and tables of defined user events.

use super::case::{BenchCase, Measure, Side, assert_same};
use crate::report_run::catalog;
use crate::{KevLoad, NativeKev, NativeText, definitions, simple_log, user_log};
use std::io::{Cursor, Write};
use std::num::NonZeroUsize;
use tfbc::qnx::QnxReportOptions;
use tfbc::testing::formats::Catalog;
use tfbc::testing::qnx::{KevLog, KevOptions, report};
use tfbc::testing::traceprinter::print;
use tfbc::traceprinter::{Layout, PrintOptions};
use tfbc::{Form, MaxWork, Notice};
use tfbc_vm::Limits;

pub(super) fn measures() -> Vec<Measure> {
    let simple = |n_events: usize| {
        let (head, slots) = simple_log(n_events);
        let log: &'static [u8] = [head, slots.clone()].concat().leak();
        let (native, mut by_hand) = (NativeKev::default(), NativeText::new());
        let mut text = Vec::new();
        printed(log, &mut text);
        assert_eq!(native.slots(&slots, &mut by_hand), 0, "all are printed by hand");
        let from = text.windows(HEADING.len()).position(|part| part == HEADING).expect("the header is shown");
        assert_same(&text[from + HEADING.len()..], by_hand.as_bytes());
        BenchCase::new(n_events).side(Side::Engine, move || printed(log, &mut std::io::sink())).side(
            Side::Native,
            move || {
                by_hand.clear();
                native.slots(&slots, &mut by_hand);
                by_hand.as_bytes().len()
            },
        )
    };
    let all = |n_events: usize| {
        let load = KevLoad { slots: n_events as u64, big_endian: false, seed: 1, combines: true };
        let log: &'static [u8] = load.pieces().flatten().collect::<Vec<u8>>().leak();
        BenchCase::new(n_events).side(Side::Engine, move || printed(log, &mut std::io::sink()))
    };
    let defined = |name: &'static str, form: Form| {
        Measure::new(name, move |n_events: usize| {
            let log: &'static [u8] = user_log(n_events as u64).flatten().collect::<Vec<u8>>().leak();
            let catalog = catalog("xml", &definitions());
            assert_eq!(table(log, &catalog, form), n_events);
            BenchCase::new(n_events).side(Side::Engine, move || table(log, &catalog, form))
        })
    };
    let (simple, all) = (Measure::new("simple", simple), Measure::new("all", all));
    vec![simple, all, defined("defined", Form::Tsv), defined("objects", Form::Ndjson)]
}

/// Writes the defined records as a table.
fn table(log: &'static [u8], catalog: &Catalog<'_>, form: Form) -> usize {
    let threads = NonZeroUsize::new(1);
    let options = QnxReportOptions { form, no_heading: true, defined: true, threads, ..QnxReportOptions::default() };
    let summary = report(&mut open(log), catalog, &options, &mut std::io::sink(), &mut refuse);
    summary.expect("memory can be read and written").n_reported as usize
}

const HEADING: &[u8] = b" -- KERNEL EVENTS -- \n";

fn printed(log: &'static [u8], out: &mut (impl Write + Send)) -> usize {
    let options = PrintOptions {
        layout: Layout::Compat { one_line: true },
        verbose: false,
        sort: false,
        limits: Limits::default(),
        max_work: MaxWork::default(),
        threads: NonZeroUsize::new(1),
    };
    let summary = print(&mut open(log), None, &options, out, &mut refuse);
    summary.expect("memory can be read and written").counts.slots as usize
}

fn open(log: &'static [u8]) -> KevLog {
    KevLog::from_read(Cursor::new(log), "load", None, &KevOptions::default()).expect("the load is a log")
}

/// Panics at a damaged place, because loads have none.
fn refuse(notice: &Notice) {
    panic!("{}", notice.message);
}
