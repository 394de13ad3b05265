//! Reports of programs that use `tracing`.
//!
//! Each program, and `trcrpt`, is this test binary in another process, with its own shared memory.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tfbc_grammar::{Source, Sources};
use tfbc_recorder::hooks;
use tfbc_recorder::options::{Output, TraceOptions};
use tfbc_recorder::session::{self, Task};
use tfbc_tracing::Recorder;
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::prelude::*;

/// Directory given to a child process; `None` in the test itself.
fn part() -> Option<PathBuf> {
    std::env::var_os("TFBC_TEST_PART").map(PathBuf::from)
}

/// Runs a test of this file again, in the role of the program.
fn run(test: &str, folder: &Path) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env("TFBC_TEST_PART", folder);
    let output = command.env("TFBC_TRACE_DIR", folder.join("memory")).output().unwrap();
    let said = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", said(&output.stdout), said(&output.stderr));
}

/// Traces `program`, and writes log and format file.
fn record(folder: &Path, recorder: &Recorder, program: impl FnOnce()) {
    hooks::prepare();
    let output = Output::File(folder.join("log"));
    let channel =
        session::start(&Task::Aix(TraceOptions { output, background: true, ..TraceOptions::default() })).unwrap();
    tracing_subscriber::registry().with(recorder.layer()).set_default_for(program);
    session::stop(channel, false).unwrap();
    recorder.formats().write(folder.join("formats")).unwrap();
}

trait SetDefaultFor {
    fn set_default_for(self, program: impl FnOnce());
}

impl<S: tracing::Subscriber + Send + Sync + 'static> SetDefaultFor for S {
    fn set_default_for(self, program: impl FnOnce()) {
        tracing::subscriber::with_default(self, program);
    }
}

/// Runs `trcrpt` in this process.
#[test]
fn trcrpt() {
    if let Some(folder) = part() {
        let at = |name| folder.join(name).into_os_string();
        let flags = ["trcrpt", "-h", "-O", "timestamp=3,ids=off", "-t"].map(Into::into);
        let files = [at("formats"), "-d".into(), "0f0".into(), "-o".into(), at("report"), at("log")];
        let _ = tfbc_cli::trcrpt(flags.into_iter().chain(files));
    }
}

/// Lines of the report for a recorded test, without times. The format file must have no diagnostics.
fn report(test: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    run(test, folder.path());
    let formats = std::fs::read(folder.path().join("formats")).unwrap();
    let mut sources = Sources::new();
    sources.add(Source::new("formats", formats.clone()));
    let findings = tfbc_compiler::compile(&sources, &tfbc_compiler::Options::default()).diagnostics;
    assert!(findings.is_empty(), "{findings:#?}\n{}", String::from_utf8_lossy(&formats));
    run("trcrpt", folder.path());
    let report = std::fs::read_to_string(folder.path().join("report")).unwrap();
    report.lines().map(|line| without_time(line.trim())).filter(|line| !line.is_empty()).collect()
}

/// Line without the number in `[12 usec]`.
fn without_time(line: &str) -> String {
    let numbers = |c: char| c.is_ascii_digit();
    match line.rsplit_once('[') {
        Some((before, time)) => format!("{before}[{}", time.trim_start_matches(numbers).trim_start()),
        None => line.to_owned(),
    }
}

#[test]
fn spans_and_events_are_reported_as_written() {
    if let Some(folder) = part() {
        return record(&folder, &Recorder::default(), || {
            let request = tracing::info_span!("request", peer = "10.0.0.7", status = tracing::field::Empty);
            request.in_scope(|| {
                tracing::info!(bytes = 512, "answered {}", "all");
                tracing::warn!(target: "disk", free = 0.25, full = true, offset = -1i64, "slow");
                let inner = tracing::debug_span!("inner").entered();
                tracing::error!(wide = u128::MAX, kind = ?Some(3), "say \"no\"");
                drop(inner);
                request.record("status", 200);
            });
            drop(request);
            tracing::trace!("alone");
        });
    }
    let line = |what: &str| {
        let (start, end) = what.split_once(" @").map_or((what, None), |(start, end)| (start, Some(end)));
        end.map_or(start.to_owned(), |_| format!("{start} (runtime/recorder/tracing/tests/layer.rs:N)"))
    };
    let expected = [
        "INFO  layer: request#1 begins peer=10.0.0.7 @",
        "INFO  layer: answered all bytes=512 in request#1 @",
        "WARN  disk: slow free=2.5000E-01 full=true offset=-1 in request#1 @",
        "DEBUG layer: inner#2 begins in request#1 @",
        "ERROR layer: say \"no\" wide=0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF kind=Some(3) in inner#2 @",
        "DEBUG layer: inner#2 ends [usec]",
        "INFO  layer: request#1 has status=200",
        "INFO  layer: request#1 ends [usec]",
        "TRACE layer: alone @",
    ];
    let places = |line: String| match line.rsplit_once(':') {
        Some((before, number)) if number.ends_with(')') => format!("{before}:N)"),
        _ => line,
    };
    let found: Vec<String> = report("spans_and_events_are_reported_as_written").into_iter().map(places).collect();
    assert_eq!(found, expected.map(line));
}

#[test]
fn function_entries_are_recorded_if_wanted() {
    if let Some(folder) = part() {
        return record(&folder, &Recorder::default().with_enters(true), || {
            let span = tracing::info_span!("turn");
            span.in_scope(|| {});
            span.in_scope(|| {});
        });
    }
    let found: Vec<String> = report("function_entries_are_recorded_if_wanted");
    let found: Vec<&str> = found.iter().map(|line| line.split(" (").next().unwrap()).collect();
    let turn = ["INFO  layer: turn#1 is entered", "INFO  layer: turn#1 is left [usec]"];
    let ends = ["INFO  layer: turn#1 ends [usec]"];
    assert_eq!(found, [&["INFO  layer: turn#1 begins"][..], &turn, &turn, &ends].concat());
}

#[test]
fn texts_are_cut_to_a_hooks_maximum() {
    if let Some(folder) = part() {
        return record(&folder, &Recorder::default(), || {
            let long = "x".repeat(5000);
            tracing::info!(a = 1, long, b = 2, "m");
            tracing::info!(first = &long[..4096 - 21 - 4 - 3], last = 7, end = true, "n");
            tracing::info!("{:4060}|", "o");
            tracing::info!(text = "a\0b\nc", "");
        });
    }
    let found = report("texts_are_cut_to_a_hooks_maximum");
    assert_eq!(found.len(), 4, "{found:?}");
    // The message is visited first.
    assert!(found[0].starts_with("INFO  layer: m a=1 long=xxx") && !found[0].contains("b=2"), "{}", found[0]);
    assert!(found[0].matches('x').count() > 4000);
    assert!(found[1].starts_with("INFO  layer: n first=xxx") && !found[1].contains("last="), "{}", found[1]);
    assert!(found[2].contains("o  ") && found[2].contains("|"), "{}", found[2]);
    assert!(found[3].contains("text=a"), "{}", found[3]);
}

#[test]
fn a_format_file_is_the_same_in_every_run() {
    if let Some(folder) = part() {
        let recorder = Recorder::default().with_id(0x123);
        let program = |turn: usize| {
            for at in [turn, 1 - turn] {
                match at {
                    0 => tracing::info!(n = 1, "first"),
                    _ => drop(tracing::info_span!("second \"span\"\n", m = 2).entered()),
                }
            }
        };
        let texts = [0, 1].map(|turn| {
            record(&folder, &recorder, || program(turn));
            recorder.formats().text()
        });
        assert_eq!(texts[0], texts[1]);
        // Another recorder, which sees the callsites in reverse order.
        let other = Recorder::default().with_id(0x123);
        tracing_subscriber::registry().with(other.layer()).set_default_for(|| program(1));
        tracing::callsite::rebuild_interest_cache();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    run("a_format_file_is_the_same_in_every_run", folder.path());
    let text = std::fs::read_to_string(folder.path().join("formats")).unwrap();
    assert!(text.contains("\n123 1.0 L=APPL") && text.contains("tracing_123_head($D1)"), "{text}");
    let (first, second) = (text.find("first").is_some(), text.find("second 'span'.").is_some());
    assert!(!first && second, "messages stand in the trace: {text}");
}

/// Counts the events it receives.
struct Counter(Arc<AtomicUsize>);

impl<S: tracing::Subscriber> Layer<S> for Counter {
    fn on_event(&self, _: &tracing::Event<'_>, _: Context<'_, S>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn while_the_channel_is_off_other_layers_go_on() {
    let count = Arc::new(AtomicUsize::new(0));
    let recorder = Recorder::default().with_channel(7);
    let layers = tracing_subscriber::registry().with(recorder.layer()).with(Counter(count.clone()));
    layers.set_default_for(|| {
        for _ in 0..3 {
            tracing::info!("counted");
        }
    });
    assert_eq!(count.load(Ordering::Relaxed), 3);
    let alone = tracing_subscriber::registry().with(Recorder::default().with_channel(8).alone());
    alone.set_default_for(|| {
        assert!(!tracing::enabled!(tracing::Level::ERROR));
        tracing::error!("dropped");
    });
}

#[test]
fn a_format_file_is_written_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.trcfmt");
    let recorder = Recorder::default();
    let at_end = recorder.formats().at_end(&path);
    tracing_subscriber::registry().with(recorder.layer()).set_default_for(|| tracing::info!(place = 1, "here"));
    assert!(!path.exists());
    drop(at_end);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), recorder.formats().text());
    assert!(recorder.formats().text().contains("\" place=\""));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert!(recorder.formats().write("/nowhere/at/all").is_err());
}
