//! Worked examples of the specification, and traces written by people who did not know the code.

use crate::traces::{
    PseudoRandom, Record, RecordedHook, call, check, check_conservation, dispatch, generic, hook, log, numbers, record,
    stream, summary,
};
use tfbc::{Notice, Trace};
use tfbc_analysis::{AnalysisOptions, summarise};

/// Example of one CPU.
pub fn one_cpu() -> Vec<RecordedHook> {
    vec![
        hook(0, 0x001, 0, 9, &[]),
        dispatch(1000, 0x106, 0, 100, 11),
        call(3000, 0x101, 11, "kread"),
        dispatch(4000, 0x10C, 0, 516, 517),
        hook(9000, 0x100, 0, 517, &[4, 0]),
        hook(9400, 0x102, 0, 517, &[0x52A80, 3]),
        hook(10_400, 0x103, 0, 517, &[]),
        dispatch(10_600, 0x106, 0, 100, 11),
        hook(10_900, 0x200, 0, 11, &[0]),
        call(11_500, 0x104, 11, "kread"),
        call(14_500, 0x101, 11, "kwrite"),
        hook(15_000, 0x002, 0, 9, &[]),
    ]
}

#[test]
fn one_cpu_with_calls_and_interrupts() {
    let summary = summary(stream(1, &one_cpu()), &AnalysisOptions::default());
    check_conservation(&summary);
    let expected = "span_ns=15000 busy_ns=9000 application_ns=5000 syscall_ns=2100 mode_ns=0 flih_ns=600 slih_ns=1000 \
                    dispatch_ns=300 idle_dispatch_ns=0 idle_ns=5000 unknown_ns=1000 lost_ns=0 off_ns=0 dispatches=2";
    check(&summary, "cpu", &["cpu"], "0", expected);
    let kread = "count=1 cpu_total_ns=1600 elapsed_total_ns=8500 elapsed_mean_ns=8500";
    check(&summary, "call", &["call"], "kread", kread);
    check(&summary, "pending", &["call"], "kwrite", "cpu_ns=500 elapsed_ns=500");
    check(&summary, "interrupt", &["class", "type", "name"], "FLIH.4.I/O", "count=1 total_ns=600");
    check(&summary, "interrupt", &["class", "address"], "SLIH.52A80", "count=1 total_ns=1000");
    let thread = "total_ns=7100 application_ns=5000 syscall_ns=2100 dispatches=2 affinity_same=1 affinity_known=1 \
                  waited_ns=6600";
    check(&summary, "thread", &["pid", "tid"], "100.11", thread);
    check(&summary, "thread", &["pid", "tid"], "516.517", "idle_ns=5000");
}

#[test]
fn time_is_listed_by_the_priority_that_dispatches_state() {
    let dispatch = |t, id, pid, tid, priority| hook(t, id, 0, tid, &[pid, tid, priority, 0, 0]);
    let hooks = [
        hook(0, 0x1A0, 0, 11, &[]),
        dispatch(100, 0x106, 100, 11, 60),
        dispatch(400, 0x10C, 516, 517, 255),
        hook(500, 0x100, 0, 517, &[4, 0]),
        hook(520, 0x200, 0, 517, &[0]),
        dispatch(600, 0x106, 100, 11, 58),
        hook(900, 0x1A0, 0, 11, &[]),
    ];
    let priorities = |hooks: &[RecordedHook]| {
        let options = AnalysisOptions { sections: Some(vec![String::from("priority")]), ..AnalysisOptions::default() };
        summary(stream(1, hooks), &options)
    };
    let found = priorities(&hooks);
    for (priority, total) in [("60", 300), ("255", 180), ("58", 300)] {
        check(&found, "priority", &["priority"], priority, &format!("total_ns={total}"));
    }
    assert_eq!(found.section("priority").unwrap().rows().len(), 3);
    // Without a dispatch of other threads, all time is unknown.
    assert_eq!(priorities(&hooks[2..5]).section("priority").unwrap().rows().len(), 0);
}

#[test]
fn the_span_can_be_narrowed() {
    let narrow = |from, until| {
        let summary = summary(stream(1, &one_cpu()), &AnalysisOptions { from, until, ..AnalysisOptions::default() });
        check_conservation(&summary);
        summary
    };
    let late = narrow(Some(9200), None);
    let expected = "span_ns=5800 application_ns=3000 syscall_ns=1100 flih_ns=400 slih_ns=1000 dispatch_ns=300";
    check(&late, "cpu", &["cpu"], "all", expected);
    check(&late, "call", &["call"], "kread", "count=1 cpu_total_ns=600 elapsed_total_ns=8500");
    // The returns are after the end of the span, so the mode of the thread is unknown.
    let early = narrow(None, Some(2500));
    check(&early, "cpu", &["cpu"], "all", "span_ns=2500 mode_ns=1500 unknown_ns=1000");
    check(&narrow(Some(20_000), None), "cpu", &["cpu"], "all", "span_ns=0");
}

#[test]
fn a_loss_without_a_mark_is_a_contradiction() {
    let hooks =
        [dispatch(0, 0x106, 0, 100, 5), call(100, 0x101, 5, "a"), call(300, 0x101, 6, "b"), call(400, 0x104, 6, "b")];
    let summary = summary(stream(1, &hooks), &AnalysisOptions::default());
    check_conservation(&summary);
    check(&summary, "cpu", &["cpu"], "0", "application_ns=100 unknown_ns=200 syscall_ns=100");
    check(&summary, "head", &["system"], "aix", "contradictions=1");
    check(&summary, "call", &["call"], "b", "count=1 cpu_total_ns=100 elapsed_total_ns=100");
    check(&summary, "pending", &["call"], "a", "cpu_ns=0 elapsed_ns=300");
}

#[test]
fn a_thread_without_charged_time_has_no_cpus() {
    let hooks = [dispatch(0, 0x10C, 0, 516, 517), hook(100, 0x100, 0, 517, &[4, 0])];
    let summary = summary(stream(1, &hooks), &AnalysisOptions::default());
    check(&summary, "thread", &["tid"], "517", "total_ns=0 cpus=0");
}

#[test]
fn times_that_go_back_are_those_of_the_cpus_last_event() {
    let hooks = [
        dispatch(0, 0x106, 0, 100, 11),
        dispatch(1000, 0x106, 0, 100, 12),
        dispatch(400, 0x106, 0, 100, 11),
        dispatch(1500, 0x106, 0, 100, 12),
        call(2000, 0x101, 12, "a"),
        call(1700, 0x104, 12, "a"),
        call(1600, 0x101, 12, "b"),
        call(2300, 0x104, 12, "b"),
        hook(2200, 0x1A0, 0, 12, &[]),
        hook(3000, 0x006, 0, 9, &[0, 1]),
        dispatch(3200, 0x106, 0, 100, 12),
    ];
    let of = |bytes| {
        let summary = summary(bytes, &AnalysisOptions::default());
        check_conservation(&summary);
        summary
    };
    let summary = of(stream(1, &hooks));
    check(&summary, "thread", &["tid"], "11", "total_ns=1500 waited_ns=0");
    check(&summary, "thread", &["tid"], "12", "waited_ns=500");
    check(&summary, "call", &["call"], "a", "count=1 elapsed_total_ns=0");
    check(&summary, "call", &["call"], "b", "count=1 cpu_total_ns=300 elapsed_total_ns=300");
    check(&summary, "cpu", &["cpu"], "0", "lost_ns=700");
    check(&summary, "gap", &["category"], "lost", "from_ns=2300 to_ns=3000");
    // The event of CPU 0 is not before its own last one, but before one of CPU 1 that took its thread.
    let hooks = [
        dispatch(0, 0x106, 0, 100, 11),
        dispatch(0, 0x106, 1, 100, 12),
        dispatch(0, 0x106, 2, 100, 15),
        dispatch(50, 0x106, 2, 100, 16),
        dispatch(105, 0x106, 1, 100, 11),
        dispatch(100, 0x106, 0, 100, 15),
    ];
    let summary = of(stream(3, &hooks));
    check(&summary, "thread", &["tid"], "15", "waited_ns=50");
    let records = [
        record(0, 1, 1, &[0, 0]),
        record(100, 4, 1, &[7, 1]),
        record(1000, 2, 11, &[0, 0]),
        record(600, 2, 128 + 11, &[0, 0]),
        record(700, 2, 14, &[0, 0]),
        record(1500, 2, 128 + 14, &[0, 0]),
        record(800, 4, 2, &[7, 1]),
        record(2000, 4, 1, &[7, 1]),
    ];
    let summary = of(log(1, &records));
    check(&summary, "call", &["call"], "MSG_SENDV", "count=1 elapsed_total_ns=0");
    check(&summary, "call", &["call"], "MSG_RECEIVEV", "count=1 cpu_total_ns=500 elapsed_total_ns=500");
    check(&summary, "thread", &["tid"], "1", "waited_ns=500");
    check(&summary, "state", &["tid", "state"], "1.RUNNING", "count=2 total_ns=1400");
}

#[test]
fn messages_of_qnx() {
    const SEND: u32 = 11;
    const RECEIVE: u32 = 14;
    const REPLY: u32 = 15;
    let records = [
        record(0, 1, 1, &[0, 0]),
        record(100, 4, 1, &[1, 1, 0, 0]),
        record(1000, 3, 1, &[0x8C, 0]),
        record(1100, 3, 3, &[0, 0x8C, 0, 0]),
        record(1500, 3, 4, &[0x8C, 0]),
        record(1600, 4, 2, &[7, 1, 10, 0]),
        record(1700, 4, 2, &[1, 1, 0, 0]),
        record(1800, 4, 1, &[7, 1, 10, 0]),
        record(2000, 3, 2, &[0x8C, 0]),
        record(2600, 2, SEND, &[0, 0]),
        record(2800, 7, 0, &[1, 8]),
        record(2900, 4, 6, &[7, 1, 10, 0]),
        record(3000, 4, 1, &[8, 2, 10, 0]),
        record(3100, 7, 2, &[1, 7]),
        record(3200, 2, 128 + RECEIVE, &[0, 0]),
        record(5200, 2, REPLY, &[0, 0]),
        record(5300, 7, 10, &[1, 7]),
        record(5400, 4, 2, &[7, 1, 10, 0]),
        record(5600, 2, 128 + REPLY, &[0, 0]),
        record(6000, 2, RECEIVE, &[0, 0]),
        record(6200, 4, 5, &[8, 2, 10, 0]),
        record(6300, 4, 1, &[7, 1, 10, 0]),
        record(6500, 2, 128 + SEND, &[0, 0]),
        record(8000, 6, 1, &[0, 0]),
    ];
    let summary = summary(log(1, &records), &AnalysisOptions::default());
    check_conservation(&summary);
    let cpu = "unknown_ns=100 idle_ns=900 int_ns=600 handler_ns=400 system_ns=1300 switch_ns=200 user_ns=4500 \
               span_ns=8000 dispatches=3 idle_dispatches=1";
    check(&summary, "cpu", &["cpu"], "0", cpu);
    for (state, total) in [
        ("1.1.unknown", 100),
        ("1.1.RUNNING", 1600),
        ("1.1.READY", 6300),
        ("7.1.unknown", 1600),
        ("7.1.READY", 1100),
        ("7.1.RUNNING", 2800),
        ("7.1.REPLY", 2500),
        ("8.2.unknown", 3000),
        ("8.2.RUNNING", 3200),
        ("8.2.RECEIVE", 1800),
    ] {
        check(&summary, "state", &["pid", "tid", "state"], state, &format!("total_ns={total}"));
    }
    check(&summary, "thread", &["pid", "tid"], "7.1", "user_ns=2100 system_ns=500 waited_ns=1100");
    check(&summary, "thread", &["pid", "tid"], "8.2", "user_ns=2400 system_ns=800");
    check(&summary, "call", &["call"], "MSG_SENDV", "count=1 cpu_total_ns=500 elapsed_total_ns=3900");
    check(&summary, "call", &["call"], "MSG_REPLYV", "count=1 cpu_total_ns=400 elapsed_total_ns=400");
    check(&summary, "call", &["call"], "MSG_RECEIVEV", "count=0 begun_before=1 pending=1");
    check(&summary, "pending", &["call"], "MSG_RECEIVEV", "cpu_ns=200 elapsed_ns=2000");
    check(&summary, "priority", &["priority"], "10", "total_ns=5800");
    check(&summary, "client", &["pid", "tid"], "7.1", "self_ns=2800 imposed_ns=2200 total_ns=5000");
    check(&summary, "client", &["pid", "tid"], "8.2", "self_ns=3200 imposed_ns=0 total_ns=3200");
    let by_server =
        self::summary(log(1, &records), &AnalysisOptions { per_server: true, ..AnalysisOptions::default() });
    let row = "7.1.8.2";
    check(&by_server, "client", &["pid", "tid", "server_pid", "server_tid"], row, "imposed_ns=2200");
}

#[test]
fn an_answer_ends_the_work_of_all_servers_for_a_client() {
    let runs = |t, pid, tid| record(t, 4, 1, &[pid, tid, 10, 0]);
    let records = [
        record(0, 1, 1, &[0, 0]),
        runs(100, 7, 1),
        record(200, 7, 0, &[1, 8]),
        runs(300, 8, 2),
        record(400, 7, 2, &[1, 7]),
        runs(500, 7, 1),
        // The client sends again, although the log shows no answer.
        record(600, 7, 0, &[2, 8]),
        runs(700, 8, 3),
        record(800, 7, 2, &[2, 7]),
        record(900, 7, 10, &[1, 7]),
        runs(1000, 8, 2),
        record(1500, 6, 1, &[0, 0]),
    ];
    let summary = summary(log(1, &records), &AnalysisOptions::default());
    check(&summary, "client", &["pid", "tid"], "7.1", "self_ns=400 imposed_ns=200 total_ns=600");
}

#[test]
fn an_answer_to_an_id_that_is_used_again_ends_the_work_for_its_earlier_owner() {
    let runs = |t, pid, tid| record(t, 4, 1, &[pid, tid, 10, 0]);
    let records = [
        record(0, 1, 1, &[0, 0]),
        runs(100, 7, 1),
        record(200, 7, 0, &[1, 8]),
        runs(300, 8, 2),
        record(400, 7, 2, &[1, 7]),
        record(500, 4, 128, &[1, 7]),
        record(600, 4, 64, &[1, 7]),
        runs(700, 7, 1),
        runs(800, 8, 2),
        record(900, 7, 10, &[1, 7]),
        record(1500, 6, 1, &[0, 0]),
    ];
    let summary = summary(log(1, &records), &AnalysisOptions::default());
    let key = &["pid", "generation", "tid"];
    check(&summary, "client", key, "7.1.1", "self_ns=200 imposed_ns=400 total_ns=600");
    check(&summary, "client", key, "7.2.1", "self_ns=100 imposed_ns=0 total_ns=100");
}

#[test]
fn a_process_runs_while_its_thread_does_in_any_order_of_records() {
    let on = |cpu, record: Record| Record { cpu, ..record };
    let of = |records: &[Record]| {
        let start = [record(0, 1, 1, &[0, 0]), on(1, record(0, 1, 1, &[0, 0]))];
        let records = [&start, records, &[record(3000, 6, 0, &[0, 0])]].concat();
        summary(log(2, &records), &AnalysisOptions::default())
    };
    // A record before the thread's last one counts with that one's time.
    let moved =
        of(&[record(1000, 4, 2, &[7, 1]), on(1, record(600, 4, 1, &[7, 1])), on(1, record(1400, 4, 2, &[7, 1]))]);
    check(&moved, "process", &["pid"], "7", "running_ns=400 running_sum_ns=400");
    check(&moved, "state", &["tid", "state"], "1.RUNNING", "total_ns=400");
    // A thread of a new process runs from its record on, although another CPU's record of the process is later.
    let again = of(&[
        record(100, 4, 1, &[7, 1]),
        record(300, 4, 128, &[1, 7]),
        record(1000, 4, 64, &[1, 7]),
        on(1, record(600, 4, 1, &[7, 1])),
        on(1, record(1500, 4, 2, &[7, 1])),
    ]);
    check(&again, "process", &["pid", "generation"], "7.2", "running_ns=900 running_sum_ns=900");
    check(&again, "thread", &["pid", "generation"], "7.2", "mode_ns=900");
    // A new process gets the id while a thread of the old one still runs.
    let reused = of(&[
        record(100, 4, 1, &[7, 1]),
        record(300, 4, 128, &[1, 7]),
        record(400, 4, 1, &[7, 1]),
        record(1000, 4, 64, &[1, 7]),
        record(1100, 4, 2, &[7, 1]),
    ]);
    check(&reused, "process", &["pid", "generation"], "7.1", "running_ns=900 running_sum_ns=900");
    // Records of one CPU that come after those of the other one.
    let late = of(&[
        record(1000, 4, 1, &[7, 1]),
        record(1400, 4, 2, &[7, 1]),
        record(1800, 4, 1, &[7, 1]),
        record(2000, 4, 2, &[7, 1]),
        on(1, record(1200, 4, 1, &[7, 2])),
        on(1, record(1500, 4, 2, &[7, 2])),
        on(1, record(1600, 4, 1, &[7, 2])),
        on(1, record(1900, 4, 2, &[7, 2])),
    ]);
    check(&late, "process", &["pid"], "7", "running_ns=900 running_sum_ns=1200");
    // A thread that runs all the time, and many turns of another one.
    let turns =
        (0..5000).flat_map(|n| [1, 2].map(|state| on(1, record(200 + 2 * n + u64::from(state), 4, state, &[7, 2]))));
    let records: Vec<Record> = [record(100, 4, 1, &[7, 1])].into_iter().chain(turns).collect();
    let long = of(&[&records[..], &[record(11_000, 4, 2, &[7, 1])]].concat());
    check(&long, "process", &["pid"], "7", "running_ns=10900 running_sum_ns=15900");
}

#[test]
fn a_loss_that_outlasts_the_span_is_lost() {
    let until = |until| AnalysisOptions { until: Some(until), ..AnalysisOptions::default() };
    let hooks = [
        dispatch(0, 0x106, 0, 100, 11),
        hook(1000, 0x1A0, 0, 11, &[]),
        hook(3000, 0x006, 0, 9, &[0, 1]),
        dispatch(4000, 0x106, 0, 100, 11),
    ];
    let of_hooks = summary(stream(1, &hooks), &until(2000));
    check(&of_hooks, "cpu", &["cpu"], "0", "mode_ns=1000 lost_ns=1000");
    let records = [
        record(0, 1, 1, &[0, 0]),
        record(0, 1, 2, &[1, 0]),
        record(100, 4, 1, &[7, 1]),
        record(1000, 6, 1, &[0, 0]),
        record(3000, 1, 2, &[3, 0]),
        record(3000, 1, 1, &[0, 3000]),
        record(4000, 6, 1, &[0, 0]),
    ];
    let of_records = summary(log(1, &records), &until(2000));
    check(&of_records, "cpu", &["cpu"], "0", "unknown_ns=100 mode_ns=900 lost_ns=1000");
    // The record of the loss has the time from before it.
    let early = [&records[..4], &[record(1000, 1, 2, &[3, 0])], &records[5..]].concat();
    let of_records = summary(log(1, &early), &until(2000));
    check(&of_records, "cpu", &["cpu"], "0", "unknown_ns=100 mode_ns=900 lost_ns=1000");
    check(&of_records, "gap", &["category"], "lost", "from_ns=1000 to_ns=2000");
}

#[test]
fn untraced_time_that_begins_at_the_end_is_none() {
    let hooks = |last: [RecordedHook; 2]| {
        let [first, second] = last;
        [
            dispatch(0, 0x106, 0, 100, 11),
            call(100, 0x101, 11, "a"),
            dispatch(200, 0x106, 0, 100, 12),
            call(300, 0x101, 12, "b"),
            first,
            second,
        ]
    };
    let (off, on, lost) = (0x002, 0x001, 0x006);
    let mark = |t, id| hook(t, id, 0, 9, &[0, 7]);
    for last in [
        [mark(400, off), mark(400, on)],
        [mark(400, off), mark(400, lost)],
        [hook(400, 0x1A0, 0, 12, &[]), mark(400, lost)],
    ] {
        let summary = summary(stream(1, &hooks(last)), &AnalysisOptions::default());
        check(&summary, "pending", &["call"], "a", "elapsed_ns=300");
        check(&summary, "pending", &["call"], "b", "elapsed_ns=100");
        check(&summary, "call", &["call"], "a", "pending=1 cut=0");
        check(&summary, "call", &["call"], "b", "pending=1 cut=0");
        assert!(summary.section("gap").is_none_or(|gaps| gaps.rows().len() == 0));
    }
}

#[test]
fn untraced_time_that_ends_where_the_span_begins_is_no_part_of_it() {
    let hooks = [
        dispatch(0, 0x106, 0, 100, 11),
        hook(100, 0x006, 0, 9, &[0, 7]),
        hook(200, 0x002, 0, 9, &[0]),
        hook(300, 0x001, 0, 9, &[0]),
        dispatch(400, 0x106, 0, 100, 11),
    ];
    for from in [100, 300] {
        let options = AnalysisOptions { from: Some(from), ..AnalysisOptions::default() };
        let summary = summary(stream(1, &hooks), &options);
        let gaps = numbers(summary.section("gap").unwrap(), &["category", "from_ns"]);
        let expected: &[&str] = if from == 100 { &["off.200"] } else { &[] };
        assert_eq!(gaps.keys().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_server_works_for_all_clients_that_it_owes_an_answer() {
    let runs = |t, pid, tid| record(t, 4, 1, &[pid, tid, 10, 0]);
    let records = [
        record(0, 1, 1, &[0, 0]),
        runs(100, 7, 1),
        record(200, 7, 0, &[1, 8]),
        runs(300, 9, 1),
        record(400, 7, 0, &[2, 8]),
        runs(500, 8, 2),
        record(600, 7, 2, &[1, 7]),
        // The server receives the second message before it answers the first one.
        record(700, 7, 2, &[2, 9]),
        record(1000, 7, 10, &[1, 7]),
        record(1100, 7, 10, &[1, 9]),
        record(1500, 6, 1, &[0, 0]),
    ];
    let summary = summary(log(1, &records), &AnalysisOptions::default());
    check(&summary, "client", &["pid", "tid"], "7.1", "self_ns=200 imposed_ns=400");
    check(&summary, "client", &["pid", "tid"], "9.1", "self_ns=200 imposed_ns=400");
}

#[test]
fn calls_on_a_cpu_without_a_thread_tell_that_calls_were_recorded() {
    let records = [
        record(0, 1, 1, &[0, 0]),
        record(100, 2, 128 + 14, &[0, 0]),
        record(200, 4, 1, &[7, 1]),
        record(300, 2, 11, &[0, 0]),
        record(500, 6, 0, &[0, 0]),
    ];
    let summary = summary(log(1, &records), &AnalysisOptions::default());
    check(&summary, "cpu", &["cpu"], "0", "unknown_ns=200 user_ns=100 system_ns=200 mode_ns=0");
    check(&summary, "pending", &["call"], "MSG_SENDV", "cpu_ns=200 elapsed_ns=200");
    check(&summary, "head", &["system"], "qnx", "without_thread=1");
}

#[test]
fn states_of_a_thread_are_never_longer_than_its_life() {
    let on = |cpu, record: Record| Record { cpu, ..record };
    let records = [
        record(0, 1, 1, &[0, 0]),
        on(1, record(0, 1, 1, &[0, 0])),
        record(100, 4, 2, &[7, 1]),
        record(500, 4, 25, &[7, 1]),
        // A record of another CPU, with a time before the end.
        on(1, record(400, 4, 4, &[7, 1])),
        record(1000, 6, 0, &[0, 0]),
    ];
    let summary = summary(log(2, &records), &AnalysisOptions::default());
    check(&summary, "state", &["state"], "READY", "total_ns=400");
    check(&summary, "state", &["state"], "SEND", "total_ns=500");
}

#[test]
fn a_lost_buffer_of_qnx_forgets_everything() {
    let records = [
        record(0, 1, 1, &[0, 0]),
        record(0, 1, 2, &[7, 0]),
        record(100, 4, 1, &[7, 1]),
        record(200, 2, 14, &[0, 0]),
        record(300, 1, 2, &[10, 0]),
        record(900, 1, 1, &[0, 0]),
        record(1000, 2, 14, &[0, 0]),
        record(1100, 4, 1, &[7, 1]),
        record(1200, 2, 142, &[0, 0]),
        record(1300, 6, 1, &[0, 0]),
    ];
    let summary = summary(log(1, &records), &AnalysisOptions::default());
    check_conservation(&summary);
    let cpu = "lost_ns=700 unknown_ns=300 user_ns=200 system_ns=100 mode_ns=0";
    check(&summary, "cpu", &["cpu"], "0", cpu);
    check(&summary, "gap", &["category"], "lost", "from_ns=200 to_ns=900 missed_buffers=2");
    check(&summary, "head", &["system"], "qnx", "without_thread=1");
    check(&summary, "call", &["call"], "MSG_RECEIVEV", "cut=1 begun_before=1");
    check(&summary, "state", &["state"], "RUNNING", "count=2 total_ns=300");
}

#[test]
fn an_interrupted_call_that_began_before_the_log_counts_as_interrupted() {
    let records = [
        record(0, 1, 1, &[0, 0]),
        record(100, 4, 1, &[7, 1]),
        record(200, 2, 256 + 11, &[0, 0]),
        record(300, 2, 11, &[0, 0]),
        record(500, 2, 256 + 11, &[0, 0]),
        record(600, 6, 0, &[0, 0]),
    ];
    let summary = summary(log(1, &records), &AnalysisOptions::default());
    check(&summary, "call", &["call"], "MSG_SENDV", "count=1 interrupted=2 begun_before=1");
}

#[test]
fn a_thread_that_is_created_again_is_in_an_unknown_state_until_its_first_record() {
    let records = [
        record(0, 1, 1, &[0, 0]),
        record(100, 4, 24, &[7, 2]),
        record(150, 4, 2, &[7, 2]),
        record(300, 4, 25, &[7, 2]),
        record(400, 4, 24, &[7, 2]),
        record(600, 4, 2, &[7, 2]),
        record(1000, 6, 0, &[0, 0]),
    ];
    let summary = summary(log(1, &records), &AnalysisOptions::default());
    check(&summary, "state", &["tid", "state"], "2.unknown", "count=2 total_ns=250 min_ns=50 max_ns=200");
    check(&summary, "state", &["tid", "state"], "2.READY", "count=2 total_ns=550");
}

#[test]
fn a_new_thread_of_a_process_that_has_ended_begins_the_next_generation() {
    let dispatched = |event, tid| {
        let records = [
            record(0, 1, 1, &[0, 0]),
            record(100, 4, 1, &[7, 1]),
            record(300, 4, 128, &[1, 7]),
            record(400, 4, event, &[7, tid]),
            record(500, 4, 1, &[7, tid]),
            record(1000, 6, 0, &[0, 0]),
        ];
        summary(log(1, &records), &AnalysisOptions::default())
    };
    let key = &["pid", "generation"];
    // A dispatch of a thread that the old process did not have, and a creation.
    for (event, tid) in [(1, 2), (24, 2), (24, 1)] {
        let summary = dispatched(event, tid);
        check(&summary, "process", key, "7.1", "running_ns=200");
        check(&summary, "process", key, "7.2", if event == 1 { "running_ns=600" } else { "running_ns=500" });
        if event == 24 {
            check(&summary, "state", &["pid", "generation", "state"], "7.2.unknown", "total_ns=100");
        }
    }
    // The old process's own thread finishes.
    check(&dispatched(1, 1), "process", key, "7.1", "running_ns=800");
}

#[test]
fn states_at_a_time_are_of_the_last_records() {
    let records = [
        record(0, 1, 1, &[0, 0]),
        record(100, 4, 1, &[1, 1]),
        record(150, 4, 2, &[7, 1]),
        record(300, 4, 2, &[1, 1]),
        record(300, 4, 1, &[7, 1]),
        record(500, 4, 0, &[7, 1]),
        record(900, 6, 1, &[0, 0]),
    ];
    let ready = ("1.1.READY", "since_ns=300");
    for (time, expected) in [
        (120, &[("1.1.RUNNING", "since_ns=100")][..]),
        (200, &[("1.1.RUNNING", "since_ns=100"), ("7.1.READY", "since_ns=150")]),
        (300, &[ready, ("7.1.RUNNING", "since_ns=300")]),
        (400, &[ready, ("7.1.RUNNING", "since_ns=300")]),
        // A thread that has ended has no state.
        (600, &[ready]),
    ] {
        let summary = summary(log(1, &records), &AnalysisOptions { until: Some(time), ..AnalysisOptions::default() });
        assert_eq!(summary.section("snapshot").unwrap().rows().len(), expected.len(), "{time}");
        for (row, since) in expected {
            check(&summary, "snapshot", &["pid", "tid", "state"], row, since);
        }
    }
}

#[test]
fn the_bundled_shell_trace() {
    let mut trace = Trace::open("../samples/shell.trc").unwrap();
    let summary = summarise(&mut trace, &AnalysisOptions::default(), &mut |_: &Notice| {}).unwrap();
    check_conservation(&summary);
    let cpu = "span_ns=36975666 application_ns=1436793 syscall_ns=540570 flih_ns=123611 slih_ns=76935 \
               idle_ns=34796863 unknown_ns=894 dispatch_ns=0";
    check(&summary, "cpu", &["cpu"], "all", cpu);
    for (name, expected) in [
        ("kread", "count=10 cpu_total_ns=34004 elapsed_total_ns=27520888"),
        ("kwrite", "count=8 cpu_total_ns=28503 elapsed_total_ns=3961222"),
        ("kfork", "count=3 cpu_total_ns=281919 elapsed_total_ns=281919"),
        ("execve", "count=3 cpu_total_ns=14931 elapsed_total_ns=33597"),
        ("kwaitpid", "count=3 cpu_total_ns=12947 elapsed_total_ns=28420864"),
        ("statx", "count=14 cpu_total_ns=45975 elapsed_total_ns=45975"),
        ("getdirent", "count=2 cpu_total_ns=7905 elapsed_total_ns=3469280"),
        ("_exit", "count=0 ended=3"),
    ] {
        check(&summary, "call", &["call"], name, expected);
    }
    for (name, expected) in [
        ("FLIH.decrementer.", "count=7 total_ns=7782"),
        ("FLIH.data access page fault.", "count=17 total_ns=107814"),
        ("FLIH.I/O.", "count=7 total_ns=8015"),
        ("SLIH..52A80", "count=7 total_ns=38633"),
        ("SLIH..1417D20", "count=7 total_ns=38302"),
    ] {
        check(&summary, "interrupt", &["class", "name", "address"], name, expected);
    }
    check(&summary, "thread", &["tid"], "8191", "application_ns=50749 syscall_ns=334840 dispatches=7");
    check(&summary, "head", &["system"], "aix", "contradictions=0");
}

#[test]
fn strangers_traces_keep_memory_and_time_bounded() {
    // 2^20 threads, each dispatched once and inside a call.
    let many: Vec<RecordedHook> = (0..1u64 << 20)
        .flat_map(|n| [dispatch(2 * n, 0x106, 0, n, n), call(2 * n + 1, 0x101, n, "a")])
        .chain([call(1 << 22, 0x104, 1, "a")])
        .collect();
    let told = summary(stream(1, &many), &AnalysisOptions::default());
    check_conservation(&told);
    let section = told.section("thread").unwrap();
    assert!(section.rows().len() <= (1 << 16) + 1);
    assert!(section.rows().any(|row| section.get(row, "name").unwrap().to_string() == "(others)"));

    // Interrupts that end without a beginning, and nested interrupts.
    let mut nested: Vec<RecordedHook> = vec![dispatch(0, 0x106, 0, 1, 5)];
    nested.extend((1..1000).map(|t| hook(t, 0x103, 0, 5, &[])));
    nested.extend((1000..11_000).map(|t| hook(t, 0x102, 0, 5, &[t])));
    nested.push(hook(11_000, 0x200, 0, 5, &[0]));
    let told = summary(stream(1, &nested), &AnalysisOptions::default());
    check_conservation(&told);
    check(&told, "head", &["system"], "aix", "unmatched_lowers=999");
    check(&told, "cpu", &["cpu"], "0", "slih_ns=10000");

    // Times that jump back and forth.
    let jumps = [0, 1 << 63, 5, u64::MAX, 1, 1 << 63];
    let jumping: Vec<RecordedHook> =
        jumps.into_iter().enumerate().map(|(n, t)| dispatch(t, 0x106, n as u16 % 3, 1, n as u64 % 2)).collect();
    for cpus in [0, 2, 3] {
        check_conservation(&summary(stream(cpus, &jumping), &AnalysisOptions::default()));
    }

    // CPUs up to the limit, and beyond.
    let wide: Vec<RecordedHook> = (0..3000).map(|t| dispatch(t, 0x106, t as u16, 1, t)).collect();
    let told = summary(stream(0, &wide), &AnalysisOptions::default());
    check_conservation(&told);
    assert_eq!(told.section("cpu").unwrap().rows().len(), 1025);

    // Only marks, and an empty trace.
    let marks: Vec<RecordedHook> =
        (0..100).map(|t| hook(t, [0x001, 0x002, 0x006][t as usize % 3], 0, 9, &[0, 7])).collect();
    let told = summary(stream(0, &marks), &AnalysisOptions::default());
    check_conservation(&told);
    let rows = numbers(told.section("cpu").unwrap(), &["cpu"]);
    assert!(rows["-"]["lost_ns"] > 0 && rows["-"]["off_ns"] > 0);
    check_conservation(&summary(stream(0, &[]), &AnalysisOptions::default()));
    check_conservation(&summary(stream(4, &[]), &AnalysisOptions::default()));
    check_conservation(&summary(log(2, &[]), &AnalysisOptions::default()));
}

#[test]
fn interrupts_of_many_cpus_have_a_row_per_handler() {
    let events = |cpu| {
        let handlers = (0..65).flat_map(move |handler| {
            let t = 100 * u64::from(cpu) + handler;
            [hook(t, 0x102, cpu, 11, &[0x1000 + handler, 3]), hook(t + 1, 0x103, cpu, 11, &[])]
        });
        [dispatch(100 * u64::from(cpu), 0x106, cpu, 100, 11)].into_iter().chain(handlers)
    };
    let summary = summary(stream(1024, &(0..1024).flat_map(events).collect::<Vec<_>>()), &AnalysisOptions::default());
    assert_eq!(summary.section("interrupt").unwrap().rows().len(), 65);
    check(&summary, "interrupt", &["address"], "1040", "count=1024 total_ns=1024");
}

#[test]
fn a_log_without_times_is_refused() {
    let mut trace = Trace::from_bytes("t", log(1, &[record(5, 4, 1, &[1, 1])])).unwrap();
    let error = summarise(&mut trace, &AnalysisOptions::default(), &mut |_: &Notice| {}).unwrap_err();
    assert!(error.to_string().starts_with("no record has a time"), "{error}");
}

#[test]
fn any_records_of_qnx_are_charged_once() {
    for seed in 0..400 {
        let mut noise = PseudoRandom(seed);
        let n_cpus = 1 + noise.below(3) as u32;
        let mut now = 0;
        let mut records: Vec<_> = (0..n_cpus).map(|cpu| Record { cpu, ..record(0, 1, 1, &[0, 0]) }).collect();
        let mut buffer = 0;
        for _ in 0..80 {
            now += noise.below(50);
            let (pid, tid) = (1 + noise.below(3) as u32, 1 + noise.below(2) as u32);
            let call = noise.below(3) as u32 + 11;
            let next = match noise.below(14) {
                0..5 => record(now, 4, 1, &[pid, tid, noise.below(3) as u32, 0]),
                5..7 => record(now, 4, [2, 5, 6, 14][noise.below(4) as usize], &[pid, tid]),
                7 => record(now, 4, [0, 24, 25, 64, 128, 192][noise.below(6) as usize], &[0, pid]),
                8..10 => record(now, 2, call + 128 * noise.below(3) as u32, &[u32::MAX, 5]),
                10..12 => record(now, 3, 1 + noise.below(6) as u32, &[0x8C, 0x8C, 0, 0]),
                12 => {
                    buffer += 1 + noise.below(6) as u32 / 5;
                    record(now, 1, 2, &[buffer, 0])
                }
                _ => record(now, 1, [1, 8][noise.below(8) as usize / 7], &[0, 0]),
            };
            records.push(Record { cpu: noise.below(n_cpus.into()) as u32, ..next });
        }
        let last = now;
        for (from, until) in [(None, None), (Some(last / 3), None), (Some(last / 3), Some(last / 2))] {
            let summary =
                summary(log(n_cpus, &records), &AnalysisOptions { from, until, ..AnalysisOptions::default() });
            check_conservation(&summary);
            // A thread cannot run longer than the span.
            let span = numbers(summary.section("head").unwrap(), &["system"])["qnx"]["span_ns"];
            let states = numbers(summary.section("state").unwrap(), &["pid", "generation", "tid", "state"]);
            let mut lives = std::collections::BTreeMap::<&str, i128>::new();
            for (state, row) in &states {
                *lives.entry(state.rsplit_once('.').unwrap().0).or_default() += row["total_ns"];
            }
            assert!(lives.values().all(|life| *life <= span), "{seed} {span} {lives:?}");
        }
    }
}

#[test]
fn notes_are_about_kinds_that_were_not_recorded() {
    let notes = |header: Option<(u64, Vec<u8>)>, from| {
        let header = header.map(|(kind, bytes)| generic(0, 0x003, 1, kind, &bytes));
        let hooks = header.into_iter().chain([
            dispatch(0, 0x10C, 0, 516, 517),
            dispatch(1000, 0x106, 0, 100, 11),
            hook(2000, 0x1A0, 0, 11, &[]),
        ]);
        let hooks: Vec<_> = hooks.collect();
        let summary = summary(stream(1, &hooks), &AnalysisOptions { from, ..AnalysisOptions::default() });
        let head = summary.section("head").unwrap();
        format!("{:?}", head.rows().next().unwrap().last())
    };
    let ids = |ids: &[u16]| ids.iter().flat_map(|id| id.to_be_bytes()).collect::<Vec<u8>>();
    let map = |ids: &[u16]| {
        let mut map = vec![0; 512];
        ids.iter().for_each(|id| map[usize::from(id >> 4) / 8] |= 1 << (id >> 4 & 7));
        map
    };
    // The idle dispatch is before the span.
    let unknown = notes(None, Some(1500));
    assert!(unknown.contains("no system calls") && unknown.contains("no interrupts"), "{unknown}");
    assert!(!unknown.contains("no idle dispatch"), "{unknown}");
    for all in [(3, Vec::new()), (5, ids(&[0x1050])), (4, ids(&[0x1000, 0x2000, 0x1010, 0x1040, 0x1060, 0x10C0]))] {
        let notes = notes(Some(all), None);
        assert!(!notes.contains("no system calls") && !notes.contains("no interrupts"), "{notes}");
    }
    let calls = notes(Some((6, map(&[0x1010, 0x1040, 0x1060]))), None);
    assert!(!calls.contains("no system calls") && calls.contains("no interrupts"), "{calls}");
}
