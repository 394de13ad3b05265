//! Tests of I/O faults: short reads, interrupted calls, broken disks, full disks, and logs that change while they are
//! read.

#![cfg(unix)]

use crate::common::*;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::fs;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tfbc::aix::{AixReportOptions, OpenError, ReadOptions};
use tfbc::qnx::KevRefusalKind;
use tfbc::testing::aix::{AixItem, Logs, Trace, report};
use tfbc::testing::formats::FormatSet;
use tfbc::testing::input::{Input, ReadSeek, Unpacker};
use tfbc::testing::qnx::{KevItem, KevLog, KevOptions};
use tfbc::{Compression, LoadOptions, ReportError};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// File or device with one failing call.
#[derive(Clone)]
struct Faulty<T> {
    inner: T,
    /// Maximum bytes per call.
    max: usize,
    /// Index of the failing call.
    at: usize,
    /// Error number; `None` for an interrupted call.
    errno: Option<i32>,
    n_calls: usize,
    hit: Arc<AtomicBool>,
}

impl<T> Faulty<T> {
    fn new(inner: T, max: usize, at: usize, errno: Option<i32>) -> Self {
        Self { inner, max, at, errno, n_calls: 0, hit: Arc::default() }
    }

    /// Counts a call, and fails if it is the chosen one.
    fn call(&mut self) -> io::Result<()> {
        let is_it = self.n_calls == self.at;
        self.n_calls += 1;
        if !is_it {
            return Ok(());
        }
        self.hit.store(true, Ordering::Relaxed);
        Err(self.errno.map_or_else(|| io::ErrorKind::Interrupted.into(), io::Error::from_raw_os_error))
    }
}

impl<R: Read> Read for Faulty<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.call()?;
        let n = into.len().min(self.max);
        self.inner.read(&mut into[..n])
    }
}

impl<S: Seek> Seek for Faulty<S> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        // This call cannot be interrupted.
        if self.errno.is_some() {
            self.call()?;
        }
        self.inner.seek(to)
    }
}

impl Write for Faulty<Vec<u8>> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.call()?;
        self.inner.write(&bytes[..bytes.len().min(self.max)])
    }

    fn flush(&mut self) -> io::Result<()> {
        // Only writes are interrupted.
        if self.errno.is_some() { self.call() } else { Ok(()) }
    }
}

type FaultySource = Faulty<Cursor<Vec<u8>>>;

/// Items from a reader, and how reading ended.
type ReadResult = (Vec<String>, io::Result<()>);

/// Function that reads an input.
type Reads = fn(Input) -> ReadResult;

fn aix(input: Input) -> ReadResult {
    let mut items = Vec::new();
    let read = || {
        let mut trace = Trace::from_input("test", input, &ReadOptions::default()).map_err(|error| match error {
            OpenError::Io(error) => error,
            error => panic!("{error}"),
        })?;
        while let Some(item) = trace.next()? {
            items.push(match item {
                AixItem::Event(event) => format!("{} {:?} {:?}", event.offset, event.bytes, event.ticks),
                AixItem::Notice(notice) => notice.message,
            });
        }
        let tally = trace.tally();
        assert_eq!(tally.read, tally.header + tally.events + tally.skipped);
        Ok(())
    };
    let end = read();
    (items, end)
}

fn kev(input: Input) -> ReadResult {
    let mut items = Vec::new();
    let read = || {
        let mut log = KevLog::from_input("test", input, &KevOptions::default()).map_err(|error| match error.kind {
            KevRefusalKind::Io(error) => error,
            _ => panic!("{error}"),
        })?;
        while let Some(item) = log.next()? {
            items.push(match item {
                KevItem::Record(record) => format!("{} {:?} {}", record.offset, record.bytes, record.stamp),
                KevItem::Slot(slot) => format!("{slot:?}"),
                KevItem::Notice(notice) => notice.message,
            });
        }
        Ok(())
    };
    let end = read();
    (items, end)
}

fn stream() -> Vec<u8> {
    let events = (0..60).map(|n| plain64(0x0100, 0, &vec![n; n as usize % 5], 7, 100 * n));
    let mut bytes = [STREAM64.to_vec(), factors64(1, 1, 2), events.collect::<Vec<_>>().concat()].concat();
    // The last event is cut.
    bytes.truncate(bytes.len() - 5);
    bytes
}

fn log32() -> Vec<u8> {
    let entries = (0..4).map(|k| (0..12).flat_map(|n| event32(12 * k + n, 100 * (12 * k + n))).collect()).collect();
    LogBuilder { wide: false, current: 2, wraps: 1, ic: factors32(1, 1, 2), entries }.bytes()
}

fn qnx() -> Vec<u8> {
    let text = b"TRACE_HEADER_BEGIN::TRACE_LITTLE_ENDIAN::TRUETRACE_CPU_NUM::2TRACE_HEADER_END::".to_vec();
    let slot = |n: u32| [0x1807 | (n % 4) << 30 | (n % 2) << 24, 16 * n, n, n].map(u32::to_le_bytes).concat();
    let mut bytes = [text, (0..60).flat_map(slot).collect()].concat();
    bytes.truncate(bytes.len() - 3);
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

fn seekable(source: FaultySource) -> Input {
    Input::Seekable(Box::new(source))
}

fn piped(source: FaultySource) -> Input {
    Input::Stream(Box::new(source))
}

fn packed(compression: Compression) -> impl Fn(FaultySource) -> Input {
    move |source| Input::Packed(Box::new(Unpacker::new(compression, source, None)))
}

/// Name of a log kind, its bytes, its input, and its reader.
type ReaderCase = (&'static str, Vec<u8>, Box<dyn Fn(FaultySource) -> Input>, Reads);

fn reader_cases() -> Vec<ReaderCase> {
    let mut ways: Vec<ReaderCase> = Vec::new();
    let kinds: [(&str, Vec<u8>, Reads); 3] = [("stream", stream(), aix), ("log", log32(), aix), ("kev", qnx(), kev)];
    for (name, bytes, read) in kinds {
        ways.push((name, bytes.clone(), Box::new(seekable), read));
        ways.push((name, bytes.clone(), Box::new(piped), read));
        ways.push((name, gzip(&bytes), Box::new(packed(Compression::Gzip)), read));
        ways.push((name, zstd(&bytes), Box::new(packed(Compression::Zstd)), read));
        let packed_by_z = tfbc::testing::unix_compress::compress(&bytes);
        ways.push((name, packed_by_z, Box::new(packed(Compression::Compress)), read));
    }
    ways
}

#[test]
fn short_reads_change_nothing() {
    for (name, bytes, input, read) in reader_cases() {
        let source = |max| Faulty::new(Cursor::new(bytes.clone()), max, usize::MAX, None);
        let (expected, end) = read(input(source(usize::MAX)));
        assert!(end.is_ok() && expected.len() > 10, "{name}: {end:?}, {} items", expected.len());
        for max in [1, 2, 7, 100] {
            let (items, end) = read(input(source(max)));
            assert!(end.is_ok() && items == expected, "{name} by {max}");
        }
    }
}

/// Makes each call fail in turn, and passes the readers' results to `check`, together with the results of a run without
/// failures.
fn fail_each_call(errno: Option<i32>, check: impl Fn(&str, ReadResult, &[String])) {
    for (name, bytes, input, read) in reader_cases() {
        let source = |at| Faulty::new(Cursor::new(bytes.clone()), 29, at, errno);
        let (expected, _) = read(input(source(usize::MAX)));
        let mut n = 0;
        loop {
            let faulty = source(n);
            let hit = Arc::clone(&faulty.hit);
            let given = read(input(faulty));
            if !hit.load(Ordering::Relaxed) {
                break;
            }
            check(&format!("{name}, call {n}"), given, &expected);
            n += 1;
        }
        assert!(n > 3, "{name}: {n} calls");
    }
}

#[test]
fn interrupted_reads_are_made_again() {
    fail_each_call(None, |place, (items, end), expected| {
        assert!(end.is_ok(), "{place}: {end:?}");
        assert!(items == expected, "{place}: {items:#?}");
    });
}

#[test]
fn failed_reads_end_the_log_without_other_changes() {
    fail_each_call(Some(EIO), |place, (items, end), expected| {
        let error = end.expect_err(place);
        assert!(error.raw_os_error() == Some(EIO) || error.to_string().contains("os error 5"), "{place}: {error}");
        assert!(expected.starts_with(&items), "{place}: {items:#?}");
    });
}

/// Report to a device: the bytes it received, and true if the report succeeded.
fn reported(threads: usize, max: usize, at: usize, errno: Option<i32>) -> (Vec<u8>, bool, Result<(), ReportError>) {
    let set = FormatSet::load(&[], &LoadOptions::default()).unwrap();
    let catalog = set.catalog().unwrap();
    let options = AixReportOptions {
        threads: NonZeroUsize::new(threads),
        batch: NonZeroUsize::new(4),
        ..AixReportOptions::default()
    };
    let mut logs = Logs::from(Trace::from_input("test", Input::from_bytes(stream()), &ReadOptions::default()).unwrap());
    let mut out = Faulty::new(Vec::new(), max, at, errno);
    let ended = report(&mut logs, &catalog, &options, &mut out, &mut |_: &_| {});
    (out.inner, out.hit.load(Ordering::Relaxed), ended.map(drop))
}

#[test]
fn each_failed_write_ends_a_report_at_once() {
    let (expected, ..) = reported(1, usize::MAX, usize::MAX, None);
    for threads in [1, 3] {
        for errno in [None, Some(ENOSPC), Some(EIO)] {
            let mut n = 0;
            loop {
                let (text, hit, ended) = reported(threads, 40, n, errno);
                if !hit {
                    break;
                }
                match (errno, ended) {
                    (None, Ok(())) => assert!(text == expected, "call {n}"),
                    (Some(errno), Err(ReportError::Write(error))) => {
                        assert_eq!(error.raw_os_error(), Some(errno));
                        assert!(expected.starts_with(&text), "call {n}");
                    }
                    (_, ended) => panic!("call {n}: {ended:?}"),
                }
                n += 1;
            }
            assert!(n > 10, "{n} calls");
        }
    }
}

/// File that changes after some reads.
struct Changing {
    bytes: Vec<u8>,
    later: Vec<u8>,
    n_left: usize,
    at: usize,
}

impl Read for Changing {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.n_left == 0 {
            self.bytes = std::mem::take(&mut self.later);
        }
        self.n_left = self.n_left.wrapping_sub(1);
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let n = rest.len().min(into.len()).min(64);
        into[..n].copy_from_slice(&rest[..n]);
        self.at += n;
        Ok(n)
    }
}

impl Seek for Changing {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = match to {
            SeekFrom::Start(at) => at as usize,
            SeekFrom::End(by) => (self.bytes.len() as i64 + by) as usize,
            SeekFrom::Current(by) => (self.at as i64 + by) as usize,
        };
        Ok(self.at as u64)
    }
}

/// File that changes after `n_left` reads.
fn changing(bytes: &[u8], later: &[u8], n_left: usize) -> Input {
    let later = later.to_vec();
    Input::Seekable(Box::new(Changing { bytes: bytes.to_vec(), later, n_left, at: 0 }) as Box<dyn ReadSeek>)
}

#[test]
fn log_truncated_while_read_ends_there() {
    let kinds: [(Vec<u8>, Reads); 3] = [(stream(), aix), (log32(), aix), (qnx(), kev)];
    for (bytes, read) in kinds {
        let (expected, _) = read(Input::from_bytes(bytes.clone()));
        for n_reads in 0..bytes.len() / 64 + 10 {
            for len in [0, 100, bytes.len() / 2, bytes.len() - 1] {
                // A log that is cut before its header was read cannot be read at all.
                if len < 200 && n_reads < 6 {
                    continue;
                }
                let (items, end) = read(changing(&bytes, &bytes[..len], n_reads));
                assert!(end.is_ok(), "{end:?}");
                // A log begins with the rest of its oldest buffer.
                let (events, notices): (Vec<_>, Vec<_>) = items.iter().partition(|item| item.contains('['));
                assert!(notices.len() <= 8, "{n_reads} reads, cut to {len}: {notices:#?}");
                assert!(events.iter().all(|event| expected.contains(event)), "events are made up: {items:#?}");
            }
        }
    }
}

#[test]
fn growing_stream_is_read_to_its_present_end() {
    let bytes = stream();
    let cut = bytes.len() - 200;
    let (expected, _) = aix(Input::from_bytes(bytes.clone()));
    let (items, end) = aix(changing(&bytes[..cut], &bytes, 4));
    assert!(end.is_ok() && items == expected, "{items:#?}");
}

#[test]
fn replaced_log_is_read_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("log"), directory.path().join("other"));
    let events: Vec<u8> = (0..20_000).flat_map(|n| plain64(0x0100, 0, &[n], 7, n)).collect();
    fs::write(&path, [&STREAM64[..], &events].concat()).unwrap();
    fs::write(&other, b"something else").unwrap();
    let mut trace = Trace::open(&path, &ReadOptions::default()).unwrap();
    let has_begun = matches!(trace.next().unwrap(), Some(AixItem::Event(_)));
    fs::rename(other, &path).unwrap();
    assert_eq!(drain(trace).events.len(), 20_000 - usize::from(has_begun));
}

/// Runs a shell line in a directory; `$tfbc` and similar variables are the commands.
fn shell(directory: &Path, line: &str) -> (String, String, i32) {
    let mut command = assert_cmd::Command::new("bash");
    for name in ["tfbc", "trcrpt", "trcupdate", "trcevgrp", "traceprinter"] {
        command.env(name, program(name));
    }
    command.env("TRCEVGRP_FILE", directory.join("groups")).env("TFBC_CACHE", "off");
    run(command.args(["-c", line]).current_dir(directory))
}

/// Directory with a trace, a log, a format file and an update.
fn test_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| fs::write(directory.path().join(name), bytes).unwrap();
    let events: Vec<u8> = (0..400).flat_map(|n| plain64(0x0100, 0, &[n], 7, 100 * n)).collect();
    put("trace", &[&STREAM64[..], &events].concat());
    put("a.kev", &qnx());
    put("formats", "010 1.0 L=APPL \"SOME EVENT\" X4 D4\n".repeat(60).as_bytes());
    put("driver.trc", b"* /etc/trcfmt\n+ 010 1.1 \"A\" X4\n");
    put("sub.trcfmt", b"010 1.0 \"A\" X4\n");
    directory
}

#[test]
fn full_disk_error_names_the_file_and_leaves_nothing() {
    let lines = [
        ("$tfbc report trace -o product", "product"),
        ("$trcrpt -o product trace", "product"),
        ("$trcrpt -r -o product trace", "product"),
        ("$tfbc compile sub.trcfmt -o product", "product"),
        ("$traceprinter -f a.kev -o product", "product"),
        ("$trcupdate -t formats driver", "formats"),
        ("$trcevgrp -a -d \"$(printf %3000s)\" -h 010 io", "groups"),
    ];
    for (line, product) in lines {
        let mut n_full = 0;
        for blocks in 0.. {
            let world = test_directory();
            let before = names(world.path());
            let old = fs::read(world.path().join(product)).ok();
            let (_, error, status) = shell(world.path(), &format!("ulimit -f {blocks}; {line}"));
            if matches!(status, 0 | 2) {
                break;
            }
            n_full += 1;
            assert_eq!(status, 1, "{line}, {blocks}: {error}");
            assert!(error.contains("cannot write") && error.contains("File too large"), "{line}: {error}");
            assert!(error.contains(product) || error.contains("driver.undo.trc"), "{line}: {error}");
            assert_eq!(fs::read(world.path().join(product)).ok(), old, "{line}");
            let mut left = names(world.path());
            left.retain(|name| name != "driver.undo.trc");
            assert_eq!(left, before, "{line}");
        }
        assert!(n_full > 0, "{line}: nothing was too large");
    }
}

#[test]
fn a_full_device_is_an_error() {
    let world = test_directory();
    for line in [
        "$tfbc report trace >/dev/full",
        "$tfbc report trace -o /dev/full",
        "$tfbc report trace -o - >/dev/full",
        "$trcrpt trace >/dev/full",
        "$traceprinter -f a.kev >/dev/full",
        "$tfbc ops >/dev/full",
        "$tfbc info trace >/dev/full",
        "$tfbc list >/dev/full",
        "$tfbc compile sub.trcfmt -o /dev/full",
        "$tfbc --help >/dev/full",
        "$trcevgrp -l >/dev/full",
        "$trcupdate -t formats -x 010 >/dev/full",
    ] {
        let (_, error, status) = shell(world.path(), line);
        assert_eq!(status, 1, "{line}: {error}");
        let name = if line.ends_with("-o /dev/full") { "/dev/full" } else { "standard output" };
        assert!(error.contains(&format!("cannot write {name}")), "{line}: {error}");
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let world = test_directory();
    for line in ["$tfbc report trace", "$trcrpt trace", "$traceprinter -f a.kev", "$tfbc ops", "$trcrpt -r trace"] {
        let (_, error, status) = shell(world.path(), &format!("{line} | sleep 0.05; exit ${{PIPESTATUS[0]}}"));
        let damaged = line.contains("kev");
        assert!(status == 0 || damaged, "{line}: {status}");
        assert!(!error.contains("cannot write"), "{line}: {error}");
    }
}

#[test]
fn a_pipe_may_give_a_byte_at_a_time() {
    let world = test_directory();
    let trace = fs::read(world.path().join("trace")).unwrap()[..3000].to_vec();
    fs::write(world.path().join("short"), &trace).unwrap();
    let (expected, ..) = shell(world.path(), "$tfbc report short");
    let mut child = Command::new(program("tfbc"))
        .args(["report", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        for piece in trace.chunks(3) {
            stdin.write_all(piece).unwrap();
            stdin.flush().unwrap();
        }
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(collected(output).0, expected);
    assert!(!expected.is_empty());
}
