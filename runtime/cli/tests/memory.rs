//! Reports use bounded memory, for traces of any length and events with any amount of text.
#![cfg(target_os = "linux")]

use crate::common::*;
use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

const THREADS: u64 = 3;
/// Memory limit of a run.
const MOST_KB: u64 = (16 + 4 * THREADS) << 10;

const FORMATS: &str = "\
010 1.0 L=APPL \"@PLAIN\" \"hook = \" $D1%U4 \"and some text behind it\"
011 1.0 L=APPL \"@LONG\" {{ $n = 40000 }} LOOP $n { \"ten bytes.\" }
";

/// Starts a report of a pipe, with its output discarded.
fn start(directory: &std::path::Path) -> Child {
    Command::new(program("tfbc"))
        .args(["report", "-t", "x.trcfmt", "--threads", "3", "-o", "/dev/null", "-"])
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn peak_kb(child: &Child) -> u64 {
    status_kb(child, "VmHWM:")
}

/// Value from a process's status; 0 after it has ended.
fn status_kb(child: &Child, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0, |line| line.trim().split(' ').next().unwrap().parse().unwrap())
}

/// Peak memory in KB of a report of `n_bytes` of repeated events.
fn peak(events: &[u8], n_bytes: usize) -> u64 {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("x.trcfmt"), FORMATS).unwrap();
    let mut child = start(directory.path());
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&[&STREAM64[..], &factors64(1, 1, 2)].concat()).unwrap();
    let chunk = events.repeat((64 << 10) / events.len());
    for _ in 0..n_bytes / chunk.len() {
        stdin.write_all(&chunk).unwrap();
    }
    // The pipe contains less than what was read.
    let peak = peak_kb(&child);
    drop(stdin);
    assert!(child.wait().unwrap().success());
    peak
}

#[test]
fn long_traces_take_no_more_memory_than_short_ones() {
    let event = plain64(0x0100, 0, &[42], 7, 1000);
    let (short, long) = (peak(&event, 4 << 20), peak(&event, 40 << 20));
    assert!(long <= MOST_KB && long < short + (2 << 10), "{short} KB, then {long} KB");
}

#[test]
fn long_texts_take_no_more_memory_than_their_share() {
    let long = plain64(0x0110, 0, &[42], 7, 1000);
    let found = peak(&long, 64 << 10);
    assert!(found <= MOST_KB, "{found} KB");
}

#[test]
fn many_logs_that_are_merged_share_their_buffers() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("x.trcfmt"), FORMATS).unwrap();
    let logs: Vec<String> = (0..64).map(|log| format!("log{log}")).collect();
    for (log, name) in (0..).zip(&logs) {
        let events = (0..20_000).map(|n| plain64(0x0100, 0, &[n], 7, 1000 * n + log));
        let bytes: Vec<u8> = [STREAM64.to_vec(), factors64(1, 1, 2)].into_iter().chain(events).flatten().collect();
        fs::write(directory.path().join(name), bytes).unwrap();
    }
    let peak = |logs: &[String]| {
        let mut child = Command::new(program("trcrpt"))
            .args(["-m", "-t", "x.trcfmt"])
            .args(logs)
            .current_dir(directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // All logs are read before the first line; then nobody reads the output, so the report waits.
        child.stdout.as_mut().unwrap().read_exact(&mut vec![0; 1 << 20]).unwrap();
        let peak = peak_kb(&child);
        child.kill().unwrap();
        child.wait().unwrap();
        peak
    };
    let (two, all) = (peak(&logs[..2]), peak(&logs));
    assert!(all <= two + (13 << 10), "{two} KB, then {all} KB");
}

/// Peak memory in KB of a report of a pipe, without the program's own pages, which are many in a debug build.
fn own_peak(head: &[u8], chunks: impl Iterator<Item = Vec<u8>>) -> u64 {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("x.trcfmt"), FORMATS).unwrap();
    let mut child = start(directory.path());
    let mut stdin = child.stdin.take().unwrap();
    let mut most = 0;
    for chunk in std::iter::once(head.to_vec()).chain(chunks) {
        // A report that refuses its input ends early.
        if stdin.write_all(&chunk).is_err() {
            break;
        }
        let (peak, program) = (status_kb(&child, "VmHWM:"), status_kb(&child, "RssFile:"));
        most = most.max(peak.saturating_sub(program));
    }
    drop(stdin);
    child.wait().unwrap();
    most
}

#[test]
fn pipes_of_anything_take_bounded_memory() {
    const KEV: &[u8] = b"TRACE_HEADER_BEGIN::TRACE_LITTLE_ENDIAN::TRUETRACE_CPU_NUM::2TRACE_HEADER_END::";
    let mut noise = Noise::new(22);
    let random: Vec<Vec<u8>> = (0..4).map(|_| (0..1 << 20).map(|_| noise.below(256) as u8).collect()).collect();
    let random = || random.iter().cycle().take(20).cloned();
    let open_combines = (0..20u32).map(|chunk| {
        let begin = |n: u32| [1 << 30 | 6 << 10, chunk << 16 | n, n, n].map(u32::to_le_bytes).concat();
        (0..1 << 16).flat_map(begin).collect()
    });
    let attributes = std::iter::repeat_n(b"TRACE_A::".repeat(100_000), 16).chain([b"TRACE_HEADER_END::".to_vec()]);
    let found = [
        ("random bytes of a stream", own_peak(&STREAM64, random())),
        ("a stream without an event", own_peak(&STREAM64, std::iter::repeat_n(vec![0xFF; 1 << 20], 20))),
        ("a stream without time factors", own_peak(&STREAM64, std::iter::repeat_n(event64(1, 1).repeat(1 << 15), 20))),
        ("random bytes of a log", own_peak(KEV, random())),
        ("combines without end", own_peak(KEV, open_combines)),
        ("a header without end", own_peak(b"TRACE_HEADER_BEGIN::", random())),
        (
            "a header of attributes",
            own_peak(KEV.strip_suffix(b"TRACE_HEADER_END::").unwrap(), attributes.chain(random())),
        ),
    ];
    for (input, peak) in found {
        assert!(peak <= MOST_KB, "{input}: {peak} KB");
    }
}
