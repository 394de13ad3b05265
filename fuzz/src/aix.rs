//! Fuzz target for AIX logs and streams.

use crate::reports::{
    FORMATS, LIMITS, PATTERN, ReportMode, ReportResult, TEMPLATES, catalog, is_part_of, is_well_formed,
};
use crate::seed::seed_of;
use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock};
use tfbc::aix::{AixKind, AixReportOptions, AixSummary, ContextTable, CpuidWord, IdSet, ReadOptions, Timestamp};
use tfbc::internal::filter::{Filter, Numbers, Processes};
use tfbc::testing::aix::{Logs, Trace, report};
use tfbc::{Column, Columns, Form, Item, Notice, ReportOptions, TraceKind};

/// Context table for the hooks of `data/all.trcfmt`.
static CONTEXT: LazyLock<Arc<ContextTable>> = LazyLock::new(|| {
    let table = "106 dispatch pid=D1 tid=D2 cpu=HD\n100 raise\n102 lower\n101 enter address=D1\n104 return\n\
                 134 generic exec pid=D1 path=P@W2\n135 exit pid=D1\n";
    Arc::new(table.parse().expect("a context table"))
});

/// Reports one trace, or two merged. Every byte is formatted or reported, and the result is the same for a file and a
/// pipe, and for one and two threads.
///
/// The first three bytes choose the options.
pub fn aix(data: &[u8]) {
    let Some((&[form, filter, reading], bytes)) = data.split_first_chunk() else { return };
    let read_options = read_options(reading);
    let traces = match reading >> 6 {
        3 => {
            let (first, second) = bytes.split_at(bytes.len() / 2);
            vec![first, second]
        }
        _ => vec![bytes],
    };
    let options = options(form, filter);
    let seed = seed_of(bytes);
    if traces.len() == 1 && seed >> 56 & 3 == 0 {
        events_without_texts(bytes, &read_options, &options);
    }
    let catalog = catalog(&TEMPLATES, seed);
    let report = |way: ReportMode, options: &AixReportOptions| {
        let mut logs = open(&traces, way, &read_options)?;
        let (mut text, mut notices) = (Vec::new(), Vec::new());
        let batch = NonZeroUsize::new((seed >> 32 & 7) as usize).filter(|_| way != ReportMode::File);
        let options = AixReportOptions { threads: way.threads(), batch, ..options.clone() };
        let mut monitor = |notice: &Notice| notices.push(notice.clone());
        let summary = report(&mut logs, catalog, &options, &mut text, &mut monitor);
        let ran = ReportResult::new(text, notices, summary, |summary| summary.imbalance);
        if !options.histogram {
            is_well_formed(options.form, &ran.text);
        }
        Some(ran)
    };
    let run = |way: ReportMode| report(way, &options);
    let from_file = run(ReportMode::File);
    if let Some(ReportResult { summary: Ok(summary), notices, .. }) = &from_file {
        let AixSummary { n_events, n_reported, n_damaged, bytes: (read, skipped), .. } = *summary;
        assert!(n_reported <= n_events && skipped <= read, "{summary:?}");
        assert_eq!(notices.iter().filter(|notice| notice.damage).count() as u64, n_damaged, "{notices:?}");
        assert!(skipped == 0 || n_damaged > 0, "what is skipped is damage");
    }
    if let Some(whole) = from_file.as_ref().filter(|_| seed >> 44 & 7 == 0 && has_lines_alone(&options)) {
        let except = IdSet::parse("010,012,014,020,100,234").expect("a list of ids");
        let filter = Filter { except, ..options.filter.clone() };
        let part =
            report(ReportMode::File, &AixReportOptions { filter, ..options.clone() }).expect("a trace that opened");
        is_part_of(&whole.text, &part.text);
    }
    let Some(way) = ReportMode::other(seed) else { return };
    let other = run(way);
    match (from_file, other) {
        (Some(expected), Some(found)) if way == ReportMode::Threads => assert_eq!(found, expected, "two threads"),
        (Some(expected), Some(found)) => {
            assert_eq!(found.text, expected.text, "from a pipe");
            // A pipe does not count the bytes after a damaged place before it has read them.
            let counts =
                |ran: &ReportResult<AixSummary>| (ran.notices.len(), ran.summary.as_ref().map(|it| it.n_events).ok());
            assert_eq!(counts(&found), counts(&expected), "{:?} {:?}", found.notices, expected.notices);
        }
        (expected, found) => assert!(expected.is_none() && found.is_none(), "one way reads it, {way:?} or a file"),
    }
}

/// Reads the events of a trace with and without texts: they are the same.
fn events_without_texts(bytes: &[u8], read_options: &ReadOptions, options: &AixReportOptions) {
    let read = |has_texts: bool| {
        let mut trace = tfbc::Trace::from_bytes_with("log", bytes.to_vec(), read_options).ok()?;
        let report_options = ReportOptions { aix: options.clone(), ..ReportOptions::default() };
        let events = trace.events(&FORMATS).with_options(report_options);
        let mut events = if has_texts { events } else { events.without_texts() };
        let mut all = Vec::new();
        while let Ok(Some(item)) = events.next() {
            all.push(match item {
                Item::Event(event) => {
                    let ids = (event.event_id(), event.seq(), event.tid(), event.cpu(), event.pid());
                    format!("{ids:?} {:?} {:?} {:?}", event.elapsed_ns(), event.unix_us(), event.bytes())
                }
                Item::Notice(notice) => format!("{notice:?}"),
            });
        }
        Some(all)
    };
    assert_eq!(read(false), read(true));
}

/// True if a report consists of event lines, each of which depends only on its own event and context.
fn has_lines_alone(options: &AixReportOptions) -> bool {
    let AixReportOptions { form, stats, histogram, page_size, no_heading, columns, .. } = options;
    let times = [Column::Elapsed, Column::ElapsedShort, Column::Delta, Column::DeltaMicro];
    let is_timed = times.iter().any(|column| columns.list().contains(column));
    *form == Form::Text && !stats && !histogram && *page_size == 0 && *no_heading && !is_timed
}

/// Opens the logs; `None` if one of them is not a trace.
fn open(traces: &[&[u8]], way: ReportMode, options: &ReadOptions) -> Option<Logs> {
    let log = |(at, bytes): (usize, &&[u8])| {
        Trace::from_input(format!("log{at}"), way.input(bytes), options).ok().map(Logs::from)
    };
    let logs: Vec<_> = traces.iter().enumerate().map(log).collect::<Option<_>>()?;
    match <[Logs; 1]>::try_from(logs) {
        Ok([log]) => Some(log),
        Err(logs) => Some(Logs::merged(logs, true).expect("bytes in memory can be read")),
    }
}

fn read_options(choice: u8) -> ReadOptions {
    let kinds = [AixKind::Stream32, AixKind::Stream64, AixKind::Log32, AixKind::Log64];
    let words = [CpuidWord::Last, CpuidWord::First, CpuidWord::AfterTid, CpuidWord::None];
    ReadOptions {
        format: kinds.get(usize::from(choice & 7)).copied().map(TraceKind::Aix),
        cpuid_word: words[usize::from(choice >> 3 & 3)],
        lenient: choice & 32 != 0,
        salvage: choice >> 6 == 1,
        ..ReadOptions::default()
    }
}

fn options(form: u8, filter: u8) -> AixReportOptions {
    const LISTS: [&[Column]; 4] = [
        &[Column::Id],
        &[Column::Id, Column::Exec, Column::Pid, Column::Svc],
        &[Column::Cpu, Column::Tid, Column::File],
        &[Column::ReportedCpus],
    ];
    let stamps = [Timestamp::Milli, Timestamp::Micro, Timestamp::Short, Timestamp::None];
    let columns = match form & 15 {
        0 => Columns::parse("text", Timestamp::None).expect("a list of columns"),
        1 => Columns::parse("delta,pid,id", Timestamp::Micro).expect("a list of columns"),
        n => Columns::new(LISTS[usize::from(n & 3)], stamps[usize::from(n >> 2 & 3)]).on_two_lines(n > 12),
    };
    AixReportOptions {
        columns,
        filter: events(filter),
        page_size: if filter & 16 != 0 { 10 } else { 0 },
        no_heading: filter & 32 != 0,
        defined: filter & 64 != 0,
        grep: (filter & 128 != 0).then(|| PATTERN.clone()),
        form: [Form::Text, Form::Tsv, Form::Csv, Form::Ndjson][usize::from(form >> 4 & 3)],
        stats: form >> 6 == 3,
        histogram: form >> 6 == 2,
        context: Arc::clone(&CONTEXT),
        limits: LIMITS,
        ..AixReportOptions::default()
    }
}

fn events(choice: u8) -> Filter {
    let ids = |text: &str| IdSet::parse(text).expect("a list of ids");
    let all = Filter::default();
    match choice & 15 {
        0 => Filter { only: Some(ids("010,011,021")), ..all },
        1 => Filter { except: ids("010,020,022,023"), ..all },
        2 => Filter { cpus: Some(Numbers(vec![(0, 1)])), ..all },
        3 => {
            let processes = Processes { pids: [1, 3].into(), interrupts: true, ..Processes::default() };
            Filter { processes: Some(processes), ..all }
        }
        4 => Filter { from_ns: Some(50_000), to_ns: Some(400_000), ..all },
        5 => Filter { except: ids("023"), ..all },
        _ => all,
    }
}
