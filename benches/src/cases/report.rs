//! Benchmarks of whole lines, from the bytes of a stream to the text of a report.

use super::case::{BenchCase, Measure, Side, assert_same};
use crate::{
    Files, NativeReport, Pick, ReportRun, STREAM64_MAGIC, Shape, StreamEvents, TraceKind, TraceLength, TraceLoad, blob,
    mix_buffers, templates,
};
use std::num::NonZeroU64;
use tfbc::aix::{AixReportOptions, ReadOptions, Timestamp};
use tfbc::testing::aix::{AixItem, LogItem, Logs, Trace};
use tfbc::testing::input::Input;
use tfbc::{Column, Columns, Form, Formats, PartSize, ReportColour};

/// Number of merged logs.
const N_MERGED: u32 = 64;

fn stream(pick: Pick, n_events: usize) -> &'static [u8] {
    let buffers: Vec<Vec<u8>> = mix_buffers(pick, n_events, 1).collect();
    [STREAM64_MAGIC.to_vec(), buffers.concat()].concat().leak()
}

fn trace(stream: &'static [u8]) -> Trace {
    Trace::from_input("load", Input::from_bytes(stream), &ReadOptions::default()).expect("the load is a trace")
}

/// Stepping over events, with and without their times.
pub(super) fn step() -> Vec<Measure> {
    let native = |stream: &'static [u8]| {
        let sum = |sum: usize, event: crate::StreamEvent<'_>| {
            sum + usize::from(event.id) + event.bytes.len() + event.ticks.unwrap_or_default() as usize
        };
        move || StreamEvents::new(stream).fold(0, sum)
    };
    let events = move |n_events| {
        let stream = stream(Pick::Mix(200), n_events);
        let engine = move || {
            let (mut trace, mut sum) = (trace(stream), 0);
            while let Some(item) = trace.next().expect("memory can be read") {
                if let AixItem::Event(event) = item {
                    sum += usize::from(event.id) + event.bytes.len() + event.ticks.unwrap_or_default() as usize;
                }
            }
            sum
        };
        assert_eq!(engine(), native(stream)(), "both see all events");
        BenchCase::new(n_events).side(Side::Engine, engine).side(Side::Native, native(stream))
    };
    let timed = move |n_events| {
        let stream = stream(Pick::Mix(200), n_events);
        let engine = move || {
            let (mut logs, mut sum) = (Logs::from(trace(stream)), 0);
            while let Some(item) = logs.next().expect("memory can be read") {
                if let LogItem::Event(timed) = item {
                    sum += usize::from(timed.event.id) + timed.event.bytes.len() + timed.time.time_ns as usize;
                }
            }
            sum
        };
        assert_eq!(engine(), native(stream)(), "both see all events; a tick is a nanosecond");
        BenchCase::new(n_events).side(Side::Engine, engine).side(Side::Native, native(stream))
    };
    vec![Measure::new("events", events), Measure::new("timed", timed)]
}

/// Stepping, columns and text of an event in the default layout.
pub(super) fn line() -> Vec<Measure> {
    let loads = [
        ("disk-read", Pick::Only(Shape::DiskRead)),
        ("dump", Pick::Only(Shape::Dump)),
        ("mix4", Pick::Mix(4)),
        ("mix200", Pick::Mix(200)),
        ("mix4096", Pick::Mix(4096)),
    ];
    let measure = |(name, pick): (&str, Pick)| Measure::new(name, move |n_events| lines(pick, n_events));
    loads.into_iter().map(measure).collect()
}

/// Reports of a realistic 64-bit trace: default, other columns, colour, tables, counts, and 64 merged logs; and its parts.
pub(super) fn realistic() -> Vec<Measure> {
    let of_processes = || Columns::new(&[Column::Id, Column::Exec, Column::Cpu, Column::Pid], Timestamp::Milli);
    let parse = |list: &str| Columns::parse(list, Timestamp::Milli).expect("a list of columns");
    let with = |columns: Columns| AixReportOptions { columns, ..AixReportOptions::default() };
    let to = |form: Form| AixReportOptions { form, ..AixReportOptions::default() };
    let loads = [
        ("default", AixReportOptions::default()),
        ("short", with(parse("id,elapsed,text"))),
        ("turned", with(parse("elapsed,id,text"))),
        ("bare", with(parse("text"))),
        ("processes", with(of_processes())),
        ("colour", AixReportOptions { colour: ReportColour::Ansi, ..AixReportOptions::default() }),
        ("table", to(Form::Tsv)),
        ("csv", to(Form::Csv)),
        ("ndjson", to(Form::Ndjson)),
        ("stats", AixReportOptions { stats: true, ..AixReportOptions::default() }),
    ];
    let measure = |(name, options): (&str, AixReportOptions)| {
        Measure::new(name, move |n_events| {
            let stream = realistic_stream(n_events, 0, 1);
            let mut engine = ReportRun::with(&TraceKind::Realistic.format_file(), options.clone());
            BenchCase::new(n_events).side(Side::Engine, move || engine.run(stream, &mut std::io::sink()))
        })
    };
    let merged = Measure::new("merged", |n_events| {
        let streams: Vec<_> = (0..N_MERGED).map(|cpu| realistic_stream(n_events, cpu, N_MERGED)).collect();
        let mut engine = ReportRun::new(&TraceKind::Realistic.format_file());
        BenchCase::new(n_events).side(Side::Engine, move || engine.run_merged(&streams, &mut std::io::sink()))
    });
    let others = [merged, iterated("events", true), iterated("stepped", false), split()];
    loads.into_iter().map(measure).chain(others).collect()
}

/// Splitting into 64 parts with the built-in templates, whose timers belong to the state at a border.
fn split() -> Measure {
    Measure::new("split", |n_events| {
        let (stream, formats) = (realistic_stream(n_events, 0, 1), Formats::builtin());
        let size = PartSize::Count(const { NonZeroU64::new(64).unwrap() });
        let engine = move || {
            let trace = tfbc::Trace::from_bytes("load", stream).expect("the load is a trace");
            trace.parts(&formats, size).expect("a trace in memory can be split").parts().len()
        };
        BenchCase::new(n_events).side(Side::Engine, engine)
    })
}

/// Events from the library's public iterator, each with its id and times, with or without its text.
fn iterated(name: &'static str, has_texts: bool) -> Measure {
    Measure::new(name, move |n_events| {
        let stream = realistic_stream(n_events, 0, 1);
        let formats =
            Formats::from_blob(blob("load", &TraceKind::Realistic.format_file())).expect("the load's templates verify");
        let engine = move || {
            let mut trace = tfbc::Trace::from_bytes("load", stream).expect("the load is a trace");
            let (mut events, mut sum) = (trace.events(&formats), 0);
            if !has_texts {
                events = events.without_texts();
            }
            while let Some(item) = events.next().expect("memory can be read") {
                if let tfbc::Item::Event(event) = item {
                    let tfbc::EventId::Hook(id) = event.event_id() else { continue };
                    sum += usize::from(id) + event.text_bytes().len() + event.elapsed_ns().unwrap_or_default() as usize;
                }
            }
            sum
        };
        BenchCase::new(n_events).side(Side::Engine, engine)
    })
}

/// Stream of one of several CPUs.
pub(super) fn realistic_stream(n_events: usize, cpu: u32, cpus: u32) -> &'static [u8] {
    let extent = TraceLength::Events(n_events as u64).share(cpu.into(), cpus.into());
    let load = TraceLoad { kind: TraceKind::Realistic, extent, seed: 1, cpu, cpus };
    let events = load.buffers().flatten().collect();
    [STREAM64_MAGIC.to_vec(), load.header(Files::One), events].concat().leak()
}

fn lines(pick: Pick, n_events: usize) -> BenchCase {
    let stream = stream(pick, n_events);
    let mut engine = ReportRun::new(&templates(pick.n_templates()));
    let mut text = Vec::new();
    let n_bytes = engine.run(stream, &mut text);
    let (mut by_hand, mut native_report) = (Vec::new(), NativeReport::new(pick.n_templates()));
    assert_eq!(native_report.run(stream, |text| by_hand.extend_from_slice(text)), n_bytes);
    assert_same(&text, &by_hand);
    BenchCase::new(n_events)
        .side(Side::Engine, move || engine.run(stream, &mut std::io::sink()))
        .side(Side::Native, move || native_report.run(stream, |_| {}))
}
