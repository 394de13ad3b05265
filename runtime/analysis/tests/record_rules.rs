//! Rules for QNX records, from the section `[qnx]` of a context table.

use crate::traces::{Record, check, check_conservation, log, numbers, record, summary};
use std::sync::Arc;
use tfbc::aix::ContextTable;
use tfbc_analysis::{AnalysisOptions, Summary};

const USER: u32 = 6;
const SEND: u32 = 11;

/// Summary with a table of its own.
fn by(table: &str, records: &[Record]) -> Summary {
    let own: ContextTable = table.parse().unwrap();
    let context = Arc::new(ContextTable::default().overlay(own));
    let summary = summary(log(1, records), &AnalysisOptions { context, ..AnalysisOptions::default() });
    check_conservation(&summary);
    summary
}

#[test]
fn user_events_are_modes_and_interrupts() {
    let table = "[qnx]\nUSER:1 enter class=REQUEST name=W1\nUSER:2 return class=REQUEST errno=W0\n\
                 USER:3 if W0=7 raise class=DRIVER type=W1\nUSER:4 lower class=DRIVER\nlabel DRIVER 9 disk\n";
    let records = [
        record(0, 1, 1, &[0, 0]),
        record(100, 4, 1, &[7, 1]),
        record(200, USER, 1, &[0, u32::from_le_bytes(*b"read"), 0, 0]),
        record(500, USER, 2, &[22, 0]),
        record(600, USER, 3, &[7, 9]),
        record(700, USER, 4, &[0, 0]),
        record(750, USER, 3, &[8, 9]),
        record(1000, USER, 0, &[0, 0]),
    ];
    let summary = by(table, &records);
    let expected = "unknown_ns=100 user_ns=500 request_ns=300 driver_ns=100 system_ns=0 mode_ns=0";
    check(&summary, "cpu", &["cpu"], "0", expected);
    check(&summary, "call", &["class", "call"], "REQUEST.read", "count=1 cpu_total_ns=300 elapsed_total_ns=300");
    let interrupt = "count=1 total_ns=100 unfinished=0";
    check(&summary, "interrupt", &["class", "type", "name"], "DRIVER.9.disk", interrupt);
}

#[test]
fn user_events_switch_tracing_off() {
    let table = "[qnx]\nUSER:6 lost count=W0\nUSER:7 off\nUSER:8 on\nUSER:9 kproc pid=W0\n";
    let records = [
        record(0, 1, 1, &[0, 0]),
        record(0, USER, 9, &[7, 0]),
        record(100, 4, 1, &[7, 1]),
        record(300, USER, 7, &[0, 0]),
        record(400, USER, 8, &[0, 0]),
        record(500, 4, 1, &[7, 1]),
        record(600, USER, 6, &[12, 0]),
        record(700, 4, 1, &[7, 1]),
        record(800, USER, 7, &[0, 0]),
        // A record ends the interval, too.
        record(900, 4, 1, &[7, 1]),
        record(1000, USER, 0, &[0, 0]),
    ];
    let summary = by(table, &records);
    // Unknown: before the first switch, from the mark at 400 to the next one, and after the loss. The loss lies between
    // the record before the mark and the mark.
    check(&summary, "cpu", &["cpu"], "0", "unknown_ns=300 kproc_ns=400 off_ns=200 lost_ns=100 user_ns=0");
    check(&summary, "gap", &["category", "from_ns"], "lost.500", "to_ns=600 missed_events=12");
    check(&summary, "gap", &["category", "from_ns"], "off.800", "to_ns=900");
    check(&summary, "head", &["system"], "qnx", "marks=4");
}

/// Log with messages and interrupts.
fn server() -> Vec<Record> {
    vec![
        record(0, 1, 1, &[0, 0]),
        record(100, 4, 1, &[7, 1, 10, 0]),
        record(300, 2, SEND, &[0, 0]),
        record(400, 3, 1, &[0x8C, 0]),
        record(500, 3, 3, &[0, 0x8C, 0, 0]),
        record(650, 3, 4, &[0x8C, 0]),
        record(700, 3, 2, &[0x8C, 0]),
        record(900, 2, 128 + SEND, &[0, 0]),
        record(1000, 4, 1, &[1, 1, 0, 0]),
        record(1200, 4, 1, &[7, 1, 10, 0]),
        record(1500, USER, 0, &[0, 0]),
    ]
}

#[test]
fn a_table_can_state_the_built_in_rules() {
    let table = "[qnx]\nKERCALLENTER enter name=call\nKERCALLEXIT return name=call\nINT:1 raise class=INT type=vector\n\
                 INT:2 lower class=INT\nINT:3 raise class=HANDLER type=interrupt_number\nINT:4 lower class=HANDLER\n\
                 THRUNNING dispatch pid=pid tid=tid priority=priority\n";
    let (own, built_in) = (by(table, &server()), by("", &server()));
    for (section, key) in [
        ("cpu", &["cpu"][..]),
        ("call", &["class", "call"]),
        ("interrupt", &["class", "type"]),
        ("thread", &["pid", "tid"]),
        ("state", &["pid", "tid", "state"]),
    ] {
        let rows = |summary: &Summary| numbers(summary.section(section).unwrap(), key);
        assert_eq!(rows(&own), rows(&built_in), "{section}");
    }
    check(&own, "cpu", &["cpu"], "0", "idle_ns=200 int_ns=150 handler_ns=150 system_ns=300 user_ns=600");
}

#[test]
fn an_entry_replaces_the_built_in_rule_of_its_event_only() {
    let summary = by("[qnx]\nINT:3 none\nINT:4 none\n", &server());
    check(&summary, "cpu", &["cpu"], "0", "int_ns=300 handler_ns=0 system_ns=300");
}

#[test]
fn a_rule_without_a_thread_is_counted() {
    let records = [record(0, 1, 1, &[0, 0]), record(100, USER, 1, &[0, 0]), record(200, USER, 2, &[0, 0])];
    let summary = by("[qnx]\nUSER:1 enter class=REQUEST\nUSER:2 undispatch\n", &records);
    check(&summary, "head", &["system"], "qnx", "without_thread=1");
    check(&summary, "cpu", &["cpu"], "0", "unknown_ns=200");
}

#[test]
fn processes_and_threads_come_and_go_by_rules() {
    let table =
        "[qnx]\nUSER:1 process pid=W0 path=W1\nUSER:2 exit\nUSER:3 undispatch\nUSER:4 dispatch idle pid=W0 tid=W1\n";
    let records = [
        record(0, 1, 1, &[0, 0]),
        record(0, USER, 1, &[7, u32::from_le_bytes(*b"ksh\0")]),
        record(0, 4, 1, &[7, 1]),
        record(300, USER, 4, &[3, 2]),
        record(500, 4, 1, &[7, 1]),
        record(600, USER, 2, &[0, 0]),
        record(700, USER, 3, &[0, 0]),
        record(1000, USER, 0, &[0, 0]),
    ];
    let summary = by(table, &records);
    check(&summary, "process", &["pid", "name"], "7.ksh", "total_ns=400");
    check(&summary, "cpu", &["cpu"], "0", "idle_ns=200 switch_ns=100 unknown_ns=300");
}
