//! Reports do not depend on the number of threads, the batch size, or the kind of input.

use crate::common::*;
use std::fs;
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use tfbc::aix::{AixReportOptions, AixSummary, IdSet, ReadOptions, Timestamp};
use tfbc::internal::filter::{Filter, Numbers, Processes};
use tfbc::testing::aix::{Logs, Trace, report};
use tfbc::testing::formats::{Catalog, FormatSet};
use tfbc::testing::input::Input;
use tfbc::{Column, Columns, Form, LoadOptions, Notice, Pattern, ReportColour, ReportError};

const FORMATS: &str = r#"
010 1.0 L=APPL "@USER HOOK" "hook = " $D1%U4
011 1.0 L=KERN "@SOME" "odd, " $D1%U4 $D1%1, 0 { $SKIP } "more"
012 1.0 L=SVC "@MANY" "first " X4 \n "second" X4 \n
013 1.0 L=INT "@EMPTY" ""
014 1.0 L=APPL "@KNOWN" "pid=" $PID "cpu=" $CPUID "pri=" $PRI "svc=" $SVC " path=" $EXECPATH
015 1.0 L=0 "@PATH" "path of " P4
016 1.0 L=APPL "@DIVIDED" {{ $A = 100 / $D1 }} "by" $A
017 1.0 L=APPL "@CUT" X4 X4 X4 X4 X4
100 1.0 L=INT "@RAISE" "interrupt"
101 1.0 L=SVC "@ENTER" "enter"
102 1.0 L=INT "@LOWER" "back"
104 1.0 L=SVC "@RETURN" "return"
106 1.0 L=KERN "@DISPATCH" "dispatch " $D2
"#;

/// Templates whose text depends on earlier events, and one that ends the report.
const IN_ORDER: &str = r#"
020 1.0 L=APPL "@BEGIN" starttimer($TID,1) "begin"
021 1.0 L=KERN "@END" "took " endtimer($TID,1)
022 1.0 L=0 "@HIDDEN" starttimer($TID,1) $SKIP
023 1.0 L=APPL "@STOP" "the end" $D1, 999 { $STOP }
"#;

const CONTEXT: &str = "106 dispatch pid=D1 tid=D2 cpu=HD\n100 raise\n102 lower\n101 enter address=D1\n104 return\n\
                       134 generic exec pid=D1 path=P@W2\n135 exit pid=D1\n";

fn formats() -> FormatSet {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.trcfmt");
    fs::write(&path, [FORMATS, IN_ORDER].concat()).unwrap();
    FormatSet::load(&[path], &LoadOptions::default()).unwrap()
}

/// Events of a few threads, a tenth of which change the context.
fn events(noise: &mut Noise, n: u64, wide: bool) -> Vec<Vec<u8>> {
    const IDS: [u16; 20] = [
        0x010, 0x010, 0x010, 0x010, 0x011, 0x011, 0x012, 0x013, 0x014, 0x014, 0x015, 0x016, 0x017, 0x020, 0x021, 0x022,
        0x023, 0x106, 0x100, 0x999,
    ];
    let mut ticks = 1000;
    let mut all = Vec::new();
    for _ in 0..n {
        ticks += noise.below(3000);
        let (tid, word) = (noise.below(5) + 1, noise.below(8));
        let id = match noise.below(40) {
            0 => noise.pick(&[0x101, 0x102, 0x104, 0x135]),
            _ => noise.pick(&IDS),
        };
        all.push(match (wide, noise.below(60)) {
            (true, 0) => generic_by64(0x1340, word, b"/usr/bin/some_program\0", tid, ticks),
            (false, 0) => generic_by32(0x134, word as u32, b"/usr/bin/some_program\0", tid as u32, ticks as u32),
            (true, 1) => generic_by64(0x0030, 2, b"trace -a\0", tid, ticks),
            (false, 1) => generic_by32(0x003, 2, b"trace -a\0", tid as u32, ticks as u32),
            // Unstamped, with a CPU number, or with registers.
            (true, 2) => words64(&[0x0000_0008_0000_0000 | u64::from(id) << 20, word, tid]),
            (true, 3) => words64(&[0x9000_0008_0000_0000 | u64::from(id) << 20, word, tid, ticks, word % 3]),
            (true, 4) => words64(&[0x8801_0008_0000_0000 | u64::from(id) << 20, word, tid, ticks, 1, 2]),
            (false, 2) => words32(&[u32::from(id) << 20 | 2 << 16, word as u32, tid as u32]),
            (true, _) => plain64(id << 4, 1, &[word, word + 1, 60], tid, ticks),
            (false, _) => words32(&[u32::from(id) << 20 | 0xB << 16, word as u32, 7, tid as u32, ticks as u32]),
        });
    }
    all
}

/// One trace, or several to merge.
fn traces(noise: &mut Noise) -> Vec<Vec<u8>> {
    let stream64 =
        |events: Vec<Vec<u8>>| [STREAM64.to_vec(), factors64(3, 2, 2), process64(), events.concat()].concat();
    let stream32 = |events: Vec<Vec<u8>>| [factors32(1000, 512, 2), events.concat()].concat();
    let log = |events: &[Vec<u8>], wide| {
        let entries = events.chunks(40).map(|chunk| chunk.concat()).collect();
        LogBuilder {
            wide,
            current: 0,
            wraps: 1,
            ic: if wide { factors64(1, 1, 2) } else { factors32(1, 1, 2) },
            entries,
        }
    };
    let n = 100 + noise.below(300);
    match noise.below(6) {
        0 => vec![stream64(events(noise, n, true))],
        1 => vec![stream32(events(noise, n, false))],
        2 => vec![log(&events(noise, n, true), true).bytes()],
        3 => vec![log(&events(noise, n, false), false).bytes()],
        4 => vec![stream64(events(noise, n, true)), stream64(events(noise, n / 2, true))],
        _ => vec![stream64(events(noise, n, true)), stream32(events(noise, n, false)), stream64(Vec::new())],
    }
}

fn process64() -> Vec<u8> {
    generic_by64(0x00A0, 1, &process(3, 2, "/usr/sbin/first"), 0, 0)
}

/// Overwrites some bytes.
fn damage(noise: &mut Noise, bytes: &mut [u8]) {
    for _ in 0..noise.below(4) {
        let at = 200 + noise.below(bytes.len().max(201) as u64 - 200) as usize;
        if let Some(byte) = bytes.get_mut(at) {
            *byte = noise.below(256) as u8;
        }
    }
}

fn options(noise: &mut Noise) -> AixReportOptions {
    const LISTS: [&[Column]; 4] = [
        &[Column::Id],
        &[Column::Id, Column::Exec, Column::Pid, Column::Svc],
        &[Column::Cpu, Column::Tid, Column::File],
        &[Column::ReportedCpus],
    ];
    let timestamp = noise.pick(&[Timestamp::Milli, Timestamp::Micro, Timestamp::Short, Timestamp::None]);
    let columns = match noise.below(6) {
        0 => Columns::parse("text", timestamp).unwrap(),
        1 => Columns::parse("delta,pid,id", timestamp).unwrap(),
        2 => Columns::new(LISTS[1], timestamp).on_two_lines(true),
        _ => Columns::new(noise.pick(&LISTS), timestamp),
    };
    let ids = |text: &str| IdSet::parse(text).unwrap();
    let mut filter = Filter::default();
    match noise.below(8) {
        0 => filter.only = Some(ids("010,011,021")),
        1 => filter.except = ids("010,020,022,023"),
        2 => filter.cpus = Some(Numbers(vec![(0, 1)])),
        3 => filter.processes = Some(Processes { pids: [1, 3].into(), interrupts: true, ..Processes::default() }),
        4 => (filter.from_ns, filter.to_ns) = (Some(50_000), Some(400_000)),
        5 => filter.except = ids("023"),
        _ => {}
    }
    let with = |n: u64, noise: &mut Noise| noise.below(n) == 0;
    AixReportOptions {
        columns,
        filter,
        page_size: if with(6, noise) { 10 } else { 0 },
        no_heading: with(3, noise),
        defined: with(5, noise),
        grep: with(5, noise).then(|| Pattern::new("[13]|^more").unwrap()),
        form: if with(3, noise) { noise.pick(&[Form::Tsv, Form::Csv, Form::Ndjson]) } else { Form::Text },
        colour: if with(8, noise) { ReportColour::Marked } else { ReportColour::Ansi },
        stats: with(10, noise),
        histogram: with(8, noise),
        context: Arc::new(CONTEXT.parse().unwrap()),
        ..AixReportOptions::default()
    }
}

/// Pipe that returns few bytes at a time.
struct Trickle(io::Cursor<Vec<u8>>, Noise);

impl Read for Trickle {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = into.len().min(1 + self.1.below(900) as usize);
        self.0.read(&mut into[..n])
    }
}

fn open(traces: &[Vec<u8>], piped: bool) -> Option<Logs> {
    let mut logs = Vec::new();
    for (at, bytes) in traces.iter().enumerate() {
        let input = if piped {
            Input::from_read(Trickle(io::Cursor::new(bytes.clone()), Noise::new(at as u64))).unwrap()
        } else {
            Input::from_bytes(bytes.clone())
        };
        logs.push(Logs::from(Trace::from_input(format!("log{at}"), input, &ReadOptions::default()).ok()?));
    }
    match <[Logs; 1]>::try_from(logs) {
        Ok([log]) => Some(log),
        Err(logs) => Some(Logs::merged(logs, true).unwrap()),
    }
}

/// Output whose length can be read while it is written.
#[derive(Clone, Default)]
struct SharedOutput(Arc<Mutex<Vec<u8>>>);

impl SharedOutput {
    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl Write for SharedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Text; notices with the length of the text before each; and how the run ended.
type RunOutput = (String, Vec<(usize, String)>, Result<AixSummary, String>);

fn run(logs: &mut Logs, catalog: &Catalog<'_>, options: &AixReportOptions) -> RunOutput {
    let mut out = SharedOutput::default();
    let mut notices = Vec::new();
    let written = out.clone();
    let mut monitor = |notice: &Notice| notices.push((written.len(), notice.message.clone()));
    let ended = report(logs, catalog, options, &mut out, &mut monitor).map_err(|error: ReportError| error.to_string());
    let text = String::from_utf8_lossy(&out.0.lock().unwrap()).into_owned();
    assert_eq!(ended.as_ref().ok().and_then(|summary| summary.imbalance), None);
    (text, notices, ended)
}

fn number(n: usize) -> Option<NonZeroUsize> {
    NonZeroUsize::new(n)
}

#[test]
fn reports_do_not_depend_on_threads_batches_and_pipes() {
    let set = formats();
    let catalog = set.catalog().unwrap();
    let n_cases = std::env::var("TFBC_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(24);
    for seed in 0..n_cases {
        let mut noise = Noise::new(seed);
        let mut traces = traces(&mut noise);
        if noise.below(3) == 0 {
            traces.iter_mut().for_each(|bytes| damage(&mut noise, bytes));
        }
        let options = AixReportOptions { threads: number(1), ..options(&mut noise) };
        let Some(mut logs) = open(&traces, false) else { continue };
        let expected = run(&mut logs, &catalog, &options);
        for (threads, batch) in [(1, 1), (1, 7), (2, 0), (2, 1), (2, 3), (3, 2), (8, 1), (8, 5)] {
            let options = AixReportOptions { threads: number(threads), batch: number(batch), ..options.clone() };
            let mut logs = open(&traces, false).unwrap();
            let found = run(&mut logs, &catalog, &options);
            assert!(
                found == expected,
                "seed {seed}, {threads} threads, batches of {batch}: {}",
                difference(&found, &expected)
            );
            let Some(mut piped) = open(&traces, true) else { continue };
            let (text, notices, ended) = run(&mut piped, &catalog, &options);
            assert!(text == expected.0, "seed {seed}, {threads} threads, from pipes");
            // A pipe does not count the bytes after a damaged place before it has read them.
            assert_eq!((notices.len(), ended.is_ok()), (expected.1.len(), expected.2.is_ok()), "seed {seed}");
        }
    }
}

/// Reports of traces with many buffers. Events of a merge are copied one by one, even if all but one log are empty.
#[test]
fn events_read_alike_in_place_and_copied() {
    let set = formats();
    let catalog = set.catalog().unwrap();
    for seed in 0..8 {
        let mut noise = Noise::new(seed);
        let wide = seed % 2 == 0;
        let mut events = events(&mut noise, 12_000, wide);
        if wide {
            // Larger than the others, up to the size of a trace buffer.
            (0..12)
                .for_each(|n| events[700 * n] = generic_by64(0x0100, 7, &[n as u8; 4000], 1, 1000 + 2100 * n as u64));
        }
        let factors = if wide { factors64(1, 1, 2) } else { factors32(1, 1, 2) };
        let mut bytes = match seed / 2 % 2 {
            0 if wide => [STREAM64.to_vec(), factors, events.concat()].concat(),
            0 => [factors, events.concat()].concat(),
            // Reading starts in the middle of the file and returns to its beginning.
            _ => {
                let entries = events.chunks(2500).map(|chunk| chunk.concat()).collect();
                LogBuilder { wide, current: 3, wraps: 1, ic: factors, entries }.bytes()
            }
        };
        if seed >= 4 {
            let at = bytes.len() / 2;
            bytes[at..at + 300].fill(0xFF);
        }
        let options = AixReportOptions { threads: number(1), ..options(&mut noise) };
        let open_merged = || {
            let empty = if wide { STREAM64.to_vec() } else { factors32(1, 1, 2) };
            let open = |bytes: &Vec<u8>| open(std::slice::from_ref(bytes), false).unwrap();
            Logs::merged(vec![open(&bytes), open(&empty)], false).unwrap()
        };
        let (expected, ..) = run(&mut open_merged(), &catalog, &options);
        for (threads, batch, piped) in [(1, 0, false), (2, 0, false), (3, 900, false), (2, 0, true), (1, 1, false)] {
            let options = AixReportOptions { threads: number(threads), batch: number(batch), ..options.clone() };
            let (text, ..) = run(&mut open(std::slice::from_ref(&bytes), piped).unwrap(), &catalog, &options);
            assert!(text == expected, "seed {seed}, {threads} threads, batches of {batch}, piped {piped}");
        }
    }
}

/// First difference between two runs.
fn difference(found: &RunOutput, expected: &RunOutput) -> String {
    let mut lines = found.0.lines().zip(expected.0.lines());
    match lines.find(|(found, expected)| found != expected) {
        Some((found, expected)) => format!("\n{found}\nexpected\n{expected}"),
        None => format!("{:?} {:?}\nexpected\n{:?} {:?}", found.1, found.2, expected.1, expected.2),
    }
}

#[test]
fn a_report_ends_where_a_template_says_so() {
    let set = formats();
    let catalog = set.catalog().unwrap();
    let event = |word, ticks| plain64(0x0230, 0, &[word], 1, ticks);
    let trace = [STREAM64.to_vec(), factors64(1, 1, 2), event(1, 10), event(0x999, 20), event(2, 30)].concat();
    for (threads, batch) in [(1, 0), (2, 1), (8, 2)] {
        let columns = Columns::parse("text", Timestamp::None).unwrap();
        let options =
            AixReportOptions { columns, threads: number(threads), batch: number(batch), ..AixReportOptions::default() };
        let mut logs = open(std::slice::from_ref(&trace), false).unwrap();
        let (text, _, summary) = run(&mut logs, &catalog, &options);
        let summary = summary.unwrap();
        assert_eq!(text, "the end\nthe end\n");
        assert_eq!((summary.stopped, summary.n_events, summary.n_reported), (true, 3, 2));
    }
}

/// Output that fails after some bytes.
struct Failing(usize);

impl Write for Failing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Input that fails after some bytes.
struct Broken(io::Cursor<Vec<u8>>);

impl Read for Broken {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.0.read(into)? {
            0 => Err(io::ErrorKind::TimedOut.into()),
            n => Ok(n),
        }
    }
}

#[test]
fn first_error_ends_run_and_keeps_earlier_text() {
    let set = formats();
    let catalog = set.catalog().unwrap();
    let mut noise = Noise::new(7);
    let trace = [STREAM64.to_vec(), factors64(1, 1, 2), events(&mut noise, 5000, true).concat()].concat();
    let columns = Columns::parse("id,text", Timestamp::None).unwrap();
    let mut texts = Vec::new();
    for threads in [1, 2, 8] {
        let options =
            AixReportOptions { columns: columns.clone(), threads: number(threads), ..AixReportOptions::default() };
        let mut logs = open(std::slice::from_ref(&trace), false).unwrap();
        let ended = report(&mut logs, &catalog, &options, &mut Failing(9000), &mut |_: &Notice| {});
        assert!(matches!(ended, Err(ReportError::Write(_))), "{ended:?}");
        let input = Input::from_read(Broken(io::Cursor::new(trace.clone()))).unwrap();
        let mut logs = Logs::from(Trace::from_input("x", input, &ReadOptions::default()).unwrap());
        let (text, _, ended) = run(&mut logs, &catalog, &options);
        assert!(ended.unwrap_err().starts_with("cannot continue reading"));
        texts.push(text);
    }
    assert!(texts[0].lines().count() > 3000);
    assert!(texts[1] == texts[0] && texts[2] == texts[0]);
}

#[cfg(unix)]
#[test]
fn closed_output_ends_the_wait_for_input() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    for threads in ["1", "2", "8"] {
        let mut child = Command::new(program("tfbc"))
            .args(["report", "--threads", threads, "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut stdin = child.stdin.take().unwrap();
        let events = events(&mut Noise::new(1), 2000, true).concat();
        // The run may end before it has read everything.
        let _ = stdin.write_all(&[STREAM64.to_vec(), factors64(1, 1, 2), events].concat());
        let begin = Instant::now();
        while child.try_wait().unwrap().is_none() {
            assert!(begin.elapsed() < Duration::from_secs(300), "{threads} threads go on");
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(stdin);
    }
}
