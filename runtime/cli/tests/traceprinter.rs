//! Tests of `traceprinter`: the texts of QNX's tool byte for byte, and every row of the event table in every layout,
//! compared with a simple reading of the same table.

use crate::common::{command, run};
use assert_cmd::Command;
use std::fmt::Write as _;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tfbc::MaxWork;
use tfbc::testing::qnx::{KevLog, KevOptions};
use tfbc::testing::traceprinter::print;
use tfbc::traceprinter::{Layout, LineFormat, PrintOptions};
use tfbc_vm::Limits;
use toml::{Table, Value};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/qnx");
const TABLE: &str = include_str!("../../../compiler/src/events/qnx-events.toml");
const ONE_LINE: Layout = Layout::Compat { one_line: true };
const OWN_LINES: Layout = Layout::Compat { one_line: false };

fn traceprinter() -> Command {
    command("traceprinter")
}

fn sample(name: &str) -> PathBuf {
    Path::new(DATA).join(name)
}

fn samples() -> Vec<PathBuf> {
    let files = std::fs::read_dir(DATA).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|kind| kind == "kev")).collect()
}

/// A log while it is built.
struct KevBuilder {
    big_endian: bool,
    bytes: Vec<u8>,
}

impl KevBuilder {
    fn new(big_endian: bool, release: &str) -> Self {
        let endian = if big_endian { "BIG" } else { "LITTLE" };
        let header = format!(
            "TRACE_HEADER_BEGIN::TRACE_FILE_NAME::a.kevTRACE_VER_MAJOR::1TRACE_VER_MINOR::01TRACE_{endian}_ENDIAN::TRUE\
             TRACE_CYCLES_PER_SEC::1000000TRACE_SYS_RELEASE::{release}TRACE_HEADER_END::"
        );
        KevBuilder { big_endian, bytes: header.into_bytes() }
    }

    fn word(&self, word: u32) -> [u8; 4] {
        if self.big_endian { word.to_be_bytes() } else { word.to_le_bytes() }
    }

    fn payload(&self, words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| self.word(*word)).collect()
    }

    /// Adds a record on CPU 1 with stamp 0x10: simple if it has 8 bytes, otherwise a combine record.
    fn record(&mut self, class: u32, event: u32, payload: &[u8]) {
        let slots = payload.chunks_exact(8);
        let last = slots.len() - 1;
        for (at, data) in slots.enumerate() {
            let kind = match at {
                _ if last == 0 => 0,
                0 => 1,
                _ if at == last => 3,
                _ => 2,
            };
            let header = kind << 30 | 1 << 24 | class << 10 | event;
            let head = [self.word(header), self.word(0x10)].concat();
            self.bytes.extend(head.iter().chain(data));
        }
    }

    /// Printed text of the records, after the header.
    fn printed(&self, layout: Layout) -> String {
        let read = Cursor::new(self.bytes.clone());
        let mut log = KevLog::from_read(read, "a.kev", None, &KevOptions::default()).unwrap();
        let (limits, max_work) = (Limits::default(), MaxWork::default());
        let options = PrintOptions { layout, verbose: false, sort: false, limits, max_work, threads: None };
        let mut out = Vec::new();
        let mut none = |notice: &tfbc::Notice| panic!("{notice:?}");
        print(&mut log, None, &options, &mut out, &mut none).unwrap();
        let text = String::from_utf8(out).unwrap();
        text.split_once(" -- KERNEL EVENTS -- \n").unwrap().1.to_owned()
    }
}

/// Printed text of a single record with this payload.
fn printed(layout: &Layout, release: &str, big_endian: bool, class: u32, event: u32, payload: &[u8]) -> String {
    let mut log = KevBuilder::new(big_endian, release);
    log.record(class, event, payload);
    log.printed(layout.clone())
}

// Simple reading of the table

struct Reading {
    big_endian: bool,
    /// True if each argument of a combine record has its own line.
    own_lines: bool,
    /// True for 7.x, which prints all digits of 64-bit values.
    all_digits: bool,
}

fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| (0x20..=0x7e).contains(byte) || *byte == b'\n')
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap()
}

impl Reading {
    fn u32(&self, bytes: &[u8]) -> u32 {
        let bytes = bytes[..4].try_into().unwrap();
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    fn u64(&self, bytes: &[u8]) -> u64 {
        let bytes = bytes[..8].try_into().unwrap();
        if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    }

    /// Prints an argument list.
    fn list(&self, args: &[&str], payload: &[u8], own_lines: bool) -> String {
        let mut out = String::new();
        let (mut at, mut index) = (0, 0);
        while let Some((letter, name)) = args.get(index).map(|arg| arg.split_once(':').unwrap()) {
            let rest = &payload[at..];
            index += 1;
            let (size, value) = match letter {
                "E" | "X" if rest.len() < 8 => break,
                _ if rest.len() < 4 => break,
                "D" => (4, (self.u32(rest) as i32).to_string()),
                "H" => (4, format!("0x{:08x}", self.u32(rest))),
                "P" => (4, format!("{:x}", self.u32(rest))),
                "E" => (8, (self.u64(rest) as i64).to_string()),
                "X" if self.all_digits => (8, format!("0x{:016x}", self.u64(rest))),
                "X" => (8, format!("0x{:x}", self.u64(rest))),
                "S" => {
                    let more = args[index..].iter().take_while(|arg| arg.starts_with("s:")).count();
                    index += more;
                    let words: Vec<_> = rest.chunks_exact(4).take(1 + more).collect();
                    (words.len() * 4, self.text(&words))
                }
                "N" if is_text(until_nul(rest)) => (rest.len(), String::from_utf8(until_nul(rest).to_vec()).unwrap()),
                "N" => (rest.len(), String::new()),
                _ => panic!("{letter}"),
            };
            let _ = if own_lines { write!(out, "\n{name:>26}:{value}") } else { write!(out, " {name}:{value}") };
            at += size;
        }
        out
    }

    /// Words of a message: text, and hex in the byte order of the printing host.
    fn text(&self, words: &[&[u8]]) -> String {
        let shown = words.iter().flat_map(|word| if is_text(until_nul(word)) { *word } else { &[0; 4] });
        let shown: Vec<u8> = shown.copied().collect();
        let hex = words.iter().map(|word| format!("0x{:08x}", u32::from_le_bytes((*word).try_into().unwrap())));
        let hex = hex.collect::<Vec<_>>().join(" ");
        format!("\"{}\" ({hex})", String::from_utf8(until_nul(&shown).to_vec()).unwrap())
    }

    /// Simple records use the fast list on one line; combine records use the wide list.
    fn by_form(&self, fast: &[&str], wide: &[&str], payload: &[u8]) -> String {
        if payload.len() == 8 { self.list(fast, payload, false) } else { self.list(wide, payload, self.own_lines) }
    }

    /// Names and values of the listed arguments in the default layout, then the remaining words: all of them without a
    /// list, otherwise up to the last nonzero one.
    fn explained(&self, args: Option<&[&str]>, open: bool, payload: &[u8]) -> Vec<(String, String)> {
        let mut shown = Vec::new();
        let mut at = 0;
        let list = args.unwrap_or_default();
        for (index, arg) in list.iter().enumerate() {
            let (letter, name) = arg.split_once(':').unwrap();
            let rest = &payload[at * 4..];
            let n_needed = if matches!(letter, "E" | "X") { 2 } else { 1 };
            if letter == "s" {
                continue;
            }
            if rest.len() < n_needed * 4 {
                break;
            }
            let more = list[index + 1..].iter().take_while(|arg| arg.starts_with("s:")).count();
            let (value, used) = match letter {
                "S" => {
                    let words: Vec<_> = rest.chunks_exact(4).take(1 + more).collect();
                    (self.text(&words), words.len())
                }
                "N" => {
                    let name = until_nul(rest);
                    let used =
                        if name.is_empty() || !is_text(name) { 0 } else { (name.len() / 4 + 1).min(rest.len() / 4) };
                    (if used > 0 { String::from_utf8(name.to_vec()).unwrap() } else { String::new() }, used)
                }
                _ => {
                    let one = self.list(&[arg], rest, false);
                    (one.split_once(':').unwrap().1.to_owned(), n_needed)
                }
            };
            shown.push((name.to_owned(), value));
            at += used;
        }
        let words: Vec<u32> = payload.chunks_exact(4).map(|word| self.u32(word)).collect();
        let is_padding = |at: usize| words[at..].iter().all(|word| *word == 0);
        for (index, word) in words.iter().enumerate().skip(at) {
            if args.is_some() && !open && is_padding(index) {
                break;
            }
            shown.push((format!("w{index}"), format!("0x{word:08x}")));
        }
        shown
    }

    /// Arguments on the event's line, or each on its own line if the record has more than two words.
    fn arguments_text(&self, arguments: &[(String, String)], own_lines: bool) -> String {
        let arguments_text = |(name, value): &(String, String)| {
            if own_lines { format!("\n{name:>26}:{value}") } else { format!(" {name}:{value}") }
        };
        arguments.iter().map(arguments_text).collect()
    }
}

fn table() -> &'static Table {
    static PARSED: LazyLock<Table> = LazyLock::new(|| TABLE.parse().unwrap());
    &PARSED
}

fn rows<'t>(table: &'t Table, key: &str) -> Vec<&'t Table> {
    table[key].as_array().unwrap().iter().map(|row| row.as_table().unwrap()).collect()
}

fn list<'t>(row: &'t Table, key: &str) -> Option<Vec<&'t str>> {
    Some(row.get(key)?.as_array()?.iter().map(|arg| arg.as_str().unwrap()).collect())
}

fn text<'t>(row: &'t Table, key: &str) -> &'t str {
    row.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn number(row: &Table, key: &str) -> u32 {
    row[key].as_integer().unwrap() as u32
}

/// Words for every kind of value, different at every position.
fn words(n: u32, salt: u32) -> Vec<u32> {
    let mut state = salt.wrapping_mul(2654435761) | 1;
    let mut word = |at: u32| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        match at.wrapping_add(salt) % 5 {
            0 => state % 100,
            1 => 0x6162_6300 | (state % 26 + 0x61),
            2 => state | 0x8000_0000,
            3 => 0,
            _ => 0xffff_fff0 | state & 14,
        }
    };
    (0..n).map(&mut word).collect()
}

/// Payloads for a simple record, and for combine records of several lengths.
fn payloads(log: &KevBuilder, salt: u32) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = [2, 4, 6, 8, 18, 24].map(|n| log.payload(&words(n, salt + n))).to_vec();
    let mut named = log.payload(&[7, 9, 11, 13]);
    named.extend(b"/dev/ser1234567/");
    all.push(named.clone());
    named.extend(b"a name\nof two lines\0rest");
    named.truncate(named.len() / 8 * 8);
    all.push(named);
    all
}

const PREFIX: &str = "t:0x00000010 CPU:01 ";

/// Class text and width of labels, by external class.
fn heading(row: &Table) -> String {
    let label = row.get("label_6_4").or(row.get("traceprinter")).unwrap().as_str().unwrap();
    let (class, width) = match text(row, "external_class") {
        "_NTO_TRACE_THREAD" => ("THREAD  ", 13),
        "_NTO_TRACE_VTHREAD" => ("VTHREAD ", 13),
        "_NTO_TRACE_PROCESS" => ("PROCESS ", 13),
        "_NTO_TRACE_SYSTEM" => ("SYSTEM  ", 15),
        "_NTO_TRACE_COMM" => ("COMM    ", 13),
        "_NTO_TRACE_CONTROL" => ("CONTROL ", 0),
        other => panic!("{other}"),
    };
    let unpadded = matches!(label, "ADDRESS" | "FUNC_ENTER" | "FUNC_EXIT" | "SLOG" | "MSG_ERROR");
    let width = if unpadded || (label.starts_with("PROC") && label.ends_with("_NAME")) { 0 } else { width };
    format!("{class}:{label:<width$}")
}

/// True for the row of a thread state.
fn is_state(row: &Table) -> bool {
    let thread = text(row, "external_class") == "_NTO_TRACE_THREAD";
    thread && !text(row, "name").ends_with("CREATE") && !text(row, "name").ends_with("DESTROY")
}

fn state_arguments(reading: &Reading, payload: &[u8]) -> String {
    let mut out = reading.list(&["D:pid", "D:tid"], payload, false) + " ";
    if payload.len() > 8 {
        let more = ["D:priority", "D:policy", "D:partition", "H:sched_flags"];
        out += reading.list(&more, &payload[8..], false).trim_start();
    }
    out
}

/// Expected text of a log. There is no `n.txt` if `-n` changes nothing.
fn layout(log: &Path, kind: &str) -> std::io::Result<Vec<u8>> {
    let path = log.with_extension(kind);
    std::fs::read(if kind == "n.txt" && !path.exists() { log.with_extension("txt") } else { path })
}

#[test]
fn made_logs_print_as_an_independent_reading_has_it() {
    let logs: Vec<_> = std::fs::read_dir(sample("made")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let logs: Vec<_> = logs.iter().filter(|path| path.extension().is_some_and(|kind| kind == "kev")).collect();
    assert_eq!(logs.len(), 10);
    let layouts: [(&str, &[&str]); 3] =
        [("txt", &["--compat=1.02"]), ("n.txt", &["--compat=1.02", "-n"]), ("default.txt", &["-n"])];
    for log in logs {
        for (kind, flags) in layouts {
            let Ok(expected) = layout(log, kind) else { continue };
            let run = traceprinter().args(flags).arg("-f").arg(log).assert();
            let printed = &run.get_output().stdout;
            let [lines, expected] = [printed, &expected].map(|text| String::from_utf8_lossy(text).into_owned());
            let differs = lines.lines().zip(expected.lines()).find(|(line, expected)| line != expected);
            assert!(lines == expected, "{} {flags:?}: {differs:?}", log.display());
        }
    }
}

#[test]
fn samples_are_byte_for_byte_those_of_qnx() {
    let all = samples();
    assert_eq!(all.len(), 5);
    for log in all {
        for (flags, suffix) in [(&["--compat=1.02"][..], "txt"), (&["--compat=1.02", "-n"], "n.txt")] {
            let expected = layout(&log, suffix).unwrap();
            let run = traceprinter().args(flags).arg("-f").arg(&log).assert().success();
            assert!(run.get_output().stdout == expected, "{} {flags:?}", log.display());
            // From a pipe, and to a file.
            let run = traceprinter().args(flags).args(["-f", "-"]).pipe_stdin(&log).unwrap().assert().success();
            assert!(run.get_output().stdout == expected, "{} {flags:?} from a pipe", log.display());
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("out.txt");
            traceprinter().args(flags).arg("-f").arg(&log).arg("-o").arg(&file).assert().success().stdout("");
            assert!(std::fs::read(&file).unwrap() == expected, "{} {flags:?} -o", log.display());
        }
    }
}

#[test]
fn every_event_of_6_4() {
    let table = table();
    let skipped = ["_NTO_TRACE_CONTROLBUFFER", "_NTO_TRACE_USERFIRST"];
    let mut n = 0;
    for row in rows(table, "event") {
        let number = number(row, "number");
        let class = rows(table, "class").iter().position(|class| class["name"] == row["class"]).unwrap() as u32;
        if skipped.contains(&text(row, "name")) || text(row, "class") == "INT" {
            continue;
        }
        for (layout, big_endian) in [(ONE_LINE, false), (ONE_LINE, true), (OWN_LINES, false), (OWN_LINES, true)] {
            let reading = Reading { big_endian, own_lines: layout == OWN_LINES, all_digits: false };
            let known = text(row, "since") == "6.x" && row.contains_key("traceprinter");
            let newer_has_number = |other: &&Table| other["class"] == row["class"] && other["number"] == row["number"];
            if !known && rows(table, "event").iter().copied().filter(newer_has_number).count() > 1 {
                continue;
            }
            for payload in payloads(&KevBuilder::new(big_endian, "6.4"), number) {
                let wide = list(row, "print_only_args").or(list(row, "wide")).unwrap_or_default();
                let fast = list(row, "fast").unwrap_or(wide.clone());
                let arguments = match text(row, "name") {
                    _ if is_state(row) => state_arguments(&reading, &payload),
                    "_NTO_TRACE_SYS_APS_NAME" => reading.list(&wide, &payload, reading.own_lines),
                    _ => reading.by_form(&fast, &wide, &payload),
                };
                let expected = if known { format!("{PREFIX}{}{arguments}\n", heading(row)) } else { String::new() };
                let found = printed(&layout, "6.4.1", big_endian, class, number, &payload);
                assert_eq!(found, expected, "{} {} bytes, big endian {big_endian}", text(row, "name"), payload.len());
                n += 1;
            }
        }
    }
    assert!(n > 100 * 4 * 8, "{n}");
}

#[test]
fn every_kernel_call_of_6_4() {
    let table = table();
    let calls: Vec<_> = rows(table, "kercall").into_iter().filter(|row| text(row, "os") == "6.4").collect();
    assert_eq!(calls.len(), 101);
    for row in calls {
        let (n, label) = (number(row, "number"), text(row, "label"));
        for (layout, big_endian) in [(ONE_LINE, false), (ONE_LINE, true), (OWN_LINES, false), (OWN_LINES, true)] {
            let reading = Reading { big_endian, own_lines: layout == OWN_LINES, all_digits: false };
            let log = KevBuilder::new(big_endian, "6.4");
            let found = |event, payload: &[u8]| printed(&layout, "6.4", big_endian, 2, event, payload);
            for mut payload in payloads(&log, n) {
                for (side, class, add) in [("enter", "KER_CALL", 0), ("exit", "KER_EXIT", 128)] {
                    if reading.u32(&payload) == u32::MAX {
                        payload[0] = 1;
                        payload[3] = 1;
                    }
                    let lists = row[side].as_table().unwrap();
                    let (fast, wide) = (list(lists, "fast_print").unwrap(), list(lists, "print").unwrap());
                    let label = if side == "exit" {
                        row.get("label_exit").map_or(label, |l| l.as_str().unwrap())
                    } else {
                        label
                    };
                    let arguments = reading.by_form(&fast, &wide, &payload);
                    assert_eq!(found(n + add, &payload), format!("{PREFIX}{class}:{label}/{n:02}{arguments}\n"));
                }
                assert_eq!(found(n + 256, &payload), format!("{PREFIX}INT_CALL:KER_{label}/{n}\n"));
                // 64-bit records were added later.
                assert_eq!(found(n + 512, &payload), "");
            }
            let label = row.get("label_exit").map_or(label, |label| label.as_str().unwrap());
            let failed = log.payload(&[u32::MAX, 110]);
            assert_eq!(found(n + 128, &failed), format!("{PREFIX}KER_EXIT:{label}/{n:02} ret_val:-1, errno:110\n"));
        }
    }
    for n in 101..128 {
        for add in [0, 128, 256, 384] {
            assert_eq!(printed(&ONE_LINE, "6.4", false, 2, n + add, &[0; 8]), "");
        }
    }
}

#[test]
fn interrupts_buffers_and_user_events_of_6_4() {
    for big_endian in [false, true] {
        let log = KevBuilder::new(big_endian, "6.4");
        let check = |class, event, words: &[u32], expected: &str| {
            let expected = if expected.is_empty() { String::new() } else { format!("{PREFIX}{expected}\n") };
            for layout in [ONE_LINE, OWN_LINES] {
                assert_eq!(printed(&layout, "6.4", big_endian, class, event, &log.payload(words)), expected);
            }
        };
        check(1, 2, &[33 | 3 << 13, 714], "CONTROL: BUFFER sequence = 33, num_events = 714");
        check(3, 1, &[0x8000_0000, 0x2d_8b18], "INT_ENTR:0x80000000 (-2147483648)       IP:0x002d8b18");
        check(3, 2, &[5, 1], "INT_EXIT:0x00000005 (5) inkernel:0x00000001");
        let entry = "INT_HANDLER_ENTR:0x0000004d (77)       PID:8200 IP:0x00000000 AREA:0x0bf9b290";
        check(3, 3, &[8200, 77, 0, 0x0bf9_b290], entry);
        for event in [5, 6, 7, 8] {
            check(3, event, &[1, 2], "");
        }
        check(6, 0, &[u32::MAX, 1], "USREVENT:EVENT:0, d0:0xffffffff d1:0x00000001");
        check(6, 1023, &[1, 2], "USREVENT:EVENT:1023, d0:0x00000001 d1:0x00000002");
        check(13, 10, &[1, 2], "");
        check(14, 10, &[1, 2], "");
        check(0, 0, &[1, 2], "");
        // Strings: the last byte counts as a NUL, and an invalid text prints nothing.
        for (bytes, shown) in [
            (&b"hello from logf\0"[..], "hello from logf"),
            (b"0123456789abcdef", "0123456789abcde"),
            (b"ab\x01d\0\0\0\0\0\0\0\0\0\0\0\0", ""),
            (b"two\nlines\0\x01\x02\x03\x04\x05\x06", "two\nlines"),
        ] {
            let found = printed(&ONE_LINE, "6.4", big_endian, 6, 208, bytes);
            assert_eq!(found, format!("{PREFIX}USREVENT:EVENT:208 STR:\"{shown}\"\n"));
        }
    }
}

#[test]
fn sigevents_of_interrupt_handlers() {
    for big_endian in [false, true] {
        let log = KevBuilder::new(big_endian, "6.4");
        let half = |value: i16| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
        let check = |notify, signo, value, code, priority, expected: &str| {
            let mut payload = log.payload(&[77, notify, signo, value]);
            payload.extend([half(code), half(priority), [0; 2], [0; 2]].concat());
            let found = printed(&ONE_LINE, "6.4", big_endian, 3, 4, &payload);
            assert_eq!(found, format!("{PREFIX}INT_HANDLER_EXIT:0x0000004d (77) SIGEVENT:{expected}\n"));
        };
        check(0, 1, 2, 3, 4, "NONE");
        check(0x100, 1, 2, 3, 4, "NONE CRITICAL");
        check(1, 0xffff_ffff, 2, 3, 4, "SIGNAL 4294967295");
        check(2, 16, 0x20, 3, 4, "SIGNAL_CODE 16 0x3:0x20");
        check(3, 16, 0, -2, 4, "SIGNAL_THREAD 16 0xfffffffe:0");
        check(0x104, 0x4000_0001, 0, 0, -1, "PULSE 0x40000001:-1 0:0 CRITICAL");
        check(4, 0, 9, 5, 21, "PULSE 0:21 0x5:0x9");
        check(5, 1, 2, 3, 4, "UNBLOCK");
        check(6, 1, 2, 3, 4, "INTR");
        check(7, 1, 0x1f, -1, 4, "THREAD ffffffff:1f");
        check(8, 1, 2, 3, 4, "UNKNOWN(0x8)");
    }
}

// Default layout

/// Order of a release in a row's `since`, `until` or `os`.
fn rank(release: &str) -> usize {
    match release {
        "6.x" | "6.4" => 0,
        "8.0" => 2,
        _ => 1,
    }
}

/// Row that applies to logs of a release: of the rows that have begun and not ended by then, the newest; otherwise the
/// first.
fn row_for<'t>(rows: &[&'t Table], release: usize) -> &'t Table {
    let since = |row: &Table| rank(row.get("since").or(row.get("os")).unwrap().as_str().unwrap());
    let fits = |row: &&&Table| {
        since(row) <= release && row.get("until").is_none_or(|until| release <= rank(until.as_str().unwrap()))
    };
    rows.iter().filter(fits).max_by_key(|row| since(row)).or(rows.iter().min_by_key(|row| since(row))).unwrap()
}

const RELEASES: [&str; 3] = ["6.4.1", "7.1.0", "8.0.0"];

fn default(one_line: bool) -> Layout {
    Layout::Default { format: LineFormat::default(), one_line }
}

fn line(class: &str, event: &str, arguments: &str) -> String {
    format!("{PREFIX}{class:<16}:{event:<18}{arguments}\n")
}

#[test]
fn every_event_in_the_default_layout() {
    let table = table();
    let events = rows(table, "event");
    let skipped = ["_NTO_TRACE_CONTROLBUFFER", "_NTO_TRACE_USERFIRST"];
    for (release, name) in RELEASES.iter().enumerate() {
        for any in &events {
            let same = |row: &&&Table| row["class"] == any["class"] && row["number"] == any["number"];
            let all: Vec<_> = events.iter().filter(same).copied().collect();
            let row = row_for(&all, release);
            let known_elsewhere = skipped.contains(&text(row, "name"));
            if known_elsewhere || (text(row, "class") == "INT" && number(row, "number") < 7) {
                continue;
            }
            let class = rows(table, "class").iter().position(|class| class["name"] == row["class"]).unwrap() as u32;
            let class_text = match text(row, "external_class") {
                "_NTO_TRACE_THREAD" => "THREAD",
                "_NTO_TRACE_VTHREAD" => "VTHREAD",
                "_NTO_TRACE_PROCESS" => "PROCESS",
                _ => row.get("class_text").map_or(text(row, "class"), |text| text.as_str().unwrap()),
            };
            let from_name = text(row, "name").trim_start_matches("_NTO_TRACE_").split_once('_').unwrap_or_default().1;
            let label = row.get("traceprinter").map_or(from_name, |label| label.as_str().unwrap());
            for big_endian in [false, true] {
                let reading = Reading { big_endian, own_lines: false, all_digits: true };
                for payload in payloads(&KevBuilder::new(big_endian, name), number(row, "number")) {
                    let newer = list(row, "wide_71").filter(|_| release > 0);
                    let long = list(row, "print_only_args").or(newer).or(list(row, "wide"));
                    let is_short = payload.len() == 8;
                    let short = list(row, "fast").filter(|_| is_short).or(long);
                    let prefix = list(row, "known_prefix").filter(|_| short.is_none());
                    let (list, open) = (short.or(prefix.clone()), prefix.is_some());
                    let is_aps_name = text(row, "name") == "_NTO_TRACE_SYS_APS_NAME";
                    for one_line in [true, false] {
                        let own_lines = !one_line && (!is_short || is_aps_name) && text(row, "class") != "CONTROL";
                        let arguments = if is_state(row) {
                            state_in_default(&reading, &payload, number(row, "number") < 24)
                        } else {
                            reading.arguments_text(&reading.explained(list.as_deref(), open, &payload), own_lines)
                        };
                        let found =
                            printed(&default(one_line), name, big_endian, class, number(row, "number"), &payload);
                        assert_eq!(found, line(class_text, label, &arguments), "{} {name}", text(row, "name"));
                    }
                }
            }
        }
    }
}

/// Arguments of a thread state, always on the event's line; `old` ones have a blank after the tid.
fn state_in_default(reading: &Reading, payload: &[u8], old: bool) -> String {
    let list = ["D:pid", "D:tid", "D:priority", "D:policy", "D:partition", "H:sched_flags"];
    let all = reading.explained(Some(&list), false, payload);
    let arguments_text = reading.arguments_text(&all, false);
    match arguments_text.split_once(" priority:") {
        Some((before, after)) if old => format!("{before} priority:{after}"),
        None if old => arguments_text + " ",
        _ => arguments_text,
    }
}

#[test]
fn every_kernel_call_in_the_default_layout() {
    let table = table();
    let calls = rows(table, "kercall");
    for (release, name) in RELEASES.iter().enumerate() {
        for n in 0..128 {
            let all: Vec<_> = calls.iter().filter(|row| number(row, "number") == n).copied().collect();
            let big_endian = n % 2 == 1;
            let reading = Reading { big_endian, own_lines: false, all_digits: true };
            for payload in payloads(&KevBuilder::new(big_endian, name), n + 3) {
                for one_line in [true, false] {
                    let found = |event| printed(&default(one_line), name, big_endian, 2, event, &payload);
                    let own_lines = !one_line && payload.len() > 8;
                    let shown = |list: Option<&[&str]>| {
                        reading.arguments_text(&reading.explained(list, false, &payload), own_lines)
                    };
                    if all.is_empty() {
                        assert_eq!(found(n), line("KER_CALL", &format!("EVENT {n}"), &shown(None)));
                        continue;
                    }
                    let row = row_for(&all, release);
                    let label = text(row, "name").trim_start_matches("__KER_");
                    let event = format!("{label}/{n:02}");
                    assert_eq!(found(n + 256), line("INT_CALL", &event, &shown(Some(&[]))));
                    for (side, class, add) in [("enter", "KER_CALL", 0), ("exit", "KER_EXIT", 128)] {
                        if add == 128 && reading.u32(&payload) == u32::MAX {
                            continue;
                        }
                        let lists = lists_32(row, &all, side);
                        let of_length = |(short, long): &(Vec<&'static str>, Vec<&'static str>)| {
                            if payload.len() == 8 { short.clone() } else { long.clone() }
                        };
                        let arguments = shown(lists.as_ref().map(of_length).as_deref());
                        assert_eq!(found(n + add), line(class, &event, &arguments), "{side} {name}");
                        // 64-bit values: a 6.4 log has none, so the first release that has them applies.
                        let wide_row = if release == 0 { row_for(&all[1.min(all.len() - 1)..], 1) } else { row };
                        let list = list_64(wide_row, &all, side, payload.len() / 4);
                        let arguments = shown(list.as_deref());
                        assert_eq!(found(n + add + 512), line(class, &event, &arguments), "64 {side} {name}");
                    }
                }
            }
        }
    }
}

/// Number of words that a list needs.
fn n_words(list: &[&str]) -> usize {
    list.iter().map(|arg| if arg.starts_with(['X', 'E']) { 2 } else { 1 }).sum()
}

/// 64-bit list of a call for a record with this many words.
fn list_64(row: &'static Table, all: &[&'static Table], side: &str, words: usize) -> Option<Vec<&'static str>> {
    let lists = row.get(side).and_then(Value::as_table);
    let of = |key| lists.and_then(|lists| list(lists, key));
    let fits = |list: &Vec<&str>| n_words(list).next_multiple_of(2) == words;
    let wide = of("wide64");
    // A wide list that shows one of two words: its second value needs two.
    let shows_one = |list: &Vec<&str>| list.len() > 1 && n_words(&list[..1]) == 1 && n_words(&list[..2]) > 2;
    let plain = |list: &Vec<&str>| list.iter().all(|arg| arg.starts_with(['D', 'H', 'S', 's']));
    let fast_32 = lists_32(row, all, side).map(|(short, _)| short);
    let fast_32 = fast_32.filter(|list| plain(list) && words == 2 && wide.as_ref().is_some_and(shows_one));
    of("fast64").filter(fits).or(wide.clone().filter(fits)).or(fast_32).or(wide)
}

/// 32-bit lists of a side, for records of up to two words and for longer ones. Rows of 7.1 and 8.0 without a list use
/// the one of 6.4.
fn lists_32(row: &'static Table, all: &[&'static Table], side: &str) -> Option<(Vec<&'static str>, Vec<&'static str>)> {
    let same = row.get("same_32bit_layout_as").map(|_| *all.iter().find(|row| text(row, "os") == "6.4").unwrap());
    let of = |row: &'static Table, key| row.get(side).and_then(Value::as_table).and_then(|lists| list(lists, key));
    let either = |print, plain| {
        let own = of(row, print).or(of(row, plain));
        own.or(same.and_then(|same| of(same, print).or(of(same, plain))))
    };
    let long = either("print", "wide").or(either("fast_print", "fast"))?;
    let short = either("fast_print", "fast").unwrap_or(long.clone());
    Some((short, long))
}

#[test]
fn reports_and_counts_name_events_as_traceprinter_does() {
    let mut log = KevBuilder::new(false, "6.4");
    // Too short for its form, unknown, and class 13, which is SYSTEM.
    log.record(3, 3, &log.payload(&[7, 0x8c]));
    log.record(4, 321, &log.payload(&[1, 2]));
    log.record(13, 9, &log.payload(&[1, 2]));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.kev");
    std::fs::write(&path, log.bytes).unwrap();
    let tfbc = |args: &[&str]| run(command("tfbc").args(args).arg(&path));
    let (types, _, _) = tfbc(&["report", "--no-heading", "--to", "tsv", "--columns", "type"]);
    assert_eq!(types.lines().take(2).collect::<Vec<_>>(), ["EVENT 3", "EVENT 321"]);
    let (counts, _, _) = tfbc(&["report", "--stats", "--no-heading"]);
    assert!(counts.lines().any(|line| line.contains("PR_TH:321") && line.ends_with("EVENT 321")), "{counts}");
    for only in ["13", "13:9", "0x0d", "SYSTEM", "5:9"] {
        let (rows, _, status) = tfbc(&["report", "--no-heading", "--columns", "event", "--only", only]);
        assert_eq!((rows.trim(), status), ("3", 0), "{only}");
    }
}

#[test]
fn nothing_is_left_out_of_the_default_layout() {
    let check_in = |release: &str, class, event, words: &[u32], expected: &str| {
        let payload = KevBuilder::new(false, release).payload(words);
        let found = printed(&default(true), release, false, class, event, &payload);
        assert_eq!(found, format!("{PREFIX}{expected}\n"));
    };
    let check = |class, event, words: &[u32], expected: &str| check_in("7.1", class, event, words, expected);
    check(2, 384, &[1, 0], "KER_CALL        :EVENT 384          w0:0x00000001 w1:0x00000000");
    check(
        3,
        9,
        &[1, 2, 3, 0],
        "INT             :EVENT 9            w0:0x00000001 w1:0x00000002 w2:0x00000003 w3:0x00000000",
    );
    check(4, 23, &[1, 2], "THREAD          :EVENT 23           w0:0x00000001 w1:0x00000002");
    check(4, 49, &[1, 2], "THREAD          :EVENT 49           w0:0x00000001 w1:0x00000002");
    check(4, 1000, &[1, 2], "PROCESS         :EVENT 1000         w0:0x00000001 w1:0x00000002");
    check(12, 3, &[1, 2], "12              :EVENT 3            w0:0x00000001 w1:0x00000002");
    check(31, 1023, &[1, 2], "31              :EVENT 1023         w0:0x00000001 w1:0x00000002");
    check(0, 0, &[1, 2], "EMPTY           :EVENT 0            w0:0x00000001 w1:0x00000002");
    check(10, 99, &[1, 2], "QVM             :EVENT 99           w0:0x00000001 w1:0x00000002");
    // 6.4 writes these as class 13.
    check(13, 10, &[1, 2], "SYSTEM          :FUNC_ENTER         thisfn:0x00000001 call_site:0x00000002");
    check(1, 2, &[33 | 3 << 13, 714], "CONTROL         :BUFFER             sequence = 33, num_events = 714");
    check(3, 1, &[77, 2], "INT_ENTR        :0x0000004d (77)          IP:0x00000002");
    check(3, 1, &[77, 2, 0, 4], "INT_ENTR        :0x0000004d (77)          IP:0x00000002 w2:0x00000000 w3:0x00000004");
    check(3, 2, &[77, 2], "INT_EXIT        :0x0000004d (77)    inkernel:0x00000002");
    check(3, 3, &[9, 77, 1, 2], "INT_HANDLER_ENTR:0x0000004d (77)          PID:9 IP:0x00000001 AREA:0x00000002");
    check(3, 4, &[77, 6, 0, 0, 0, 0], "INT_HANDLER_EXIT:0x0000004d (77)    SIGEVENT:INTR");
    check(3, 4, &[77, 6, 0, 0, 0, 1], "INT_HANDLER_EXIT:0x0000004d (77)    SIGEVENT:INTR w5:0x00000001");
    check(3, 5, &[77, 0, 2, 1], "INT_ENTR        :0x0000004d (77)          IP:0x0000000100000002");
    let entry = "INT_HANDLER_ENTR:0x0000004d (77)          PID:9 IP:0x0000000000000001 AREA:0x0000000000000002";
    check(3, 6, &[9, 77, 1, 0, 2, 0], entry);
    // Too short for its format.
    check(3, 3, &[9, 0], "INT_HANDLER_ENTR:EVENT 3            w0:0x00000009 w1:0x00000000");
    check_in("8.0", 3, 7, &[1, 2], "INTERRUPT       :INT_DELIVER        w0:0x00000001 w1:0x00000002");
    check(6, 7, &[1, 2], "USREVENT        :EVENT:7            d0:0x00000001 d1:0x00000002");
    check(6, 7, &[0x6463_6261, 0, 0, 0], "USREVENT        :EVENT:7            STR:\"abcd\"");
    check(
        6,
        7,
        &[0x6463_6261, 0x6463_6261, 0x6463_6261, 0x6463_6261],
        "USREVENT        :EVENT:7            STR:\"abcdabcdabcdabcd\"",
    );
    check(6, 7, &[0x61, 0, 9, 0], "USREVENT        :EVENT:7            STR:\"a\" w1:0x00000000 w2:0x00000009");
    check(4, 28, &[1, 2], "VTHREAD         :VTHREADY           pid:1 tid:2");
    check_in("8.0", 4, 28, &[1, 2, 3, 4], "THREAD          :THINTR_ATTACH_EV   pid:1 tid:2 priority:3 policy:4");
    check(2, 139, &[u32::MAX, 3], "KER_EXIT        :MSG_SENDV/11       ret_val:-1, errno:3");
    check(
        2,
        651,
        &[u32::MAX, 3, 0, 5],
        "KER_EXIT        :MSG_SENDV/11       ret_val:-1, errno:3 w2:0x00000000 w3:0x00000005",
    );
}

#[test]
fn default_layout_prints_sigevents_of_6_4() {
    for big_endian in [false, true] {
        let log = KevBuilder::new(big_endian, "6.4");
        for notify in 0..9 {
            let payload = log.payload(&[77, notify | 0x100, 16, 0x20, 0xfffe_0003, 0]);
            let old = printed(&ONE_LINE, "6.4", big_endian, 3, 4, &payload);
            let new = printed(&default(false), "6.4", big_endian, 3, 4, &payload);
            assert_eq!(new.split_once("SIGEVENT:").unwrap().1, old.split_once("SIGEVENT:").unwrap().1);
        }
    }
}

#[test]
fn times_count_from_the_trace_s_start() {
    let mut log = KevBuilder::new(false, "6.4");
    let words = |words: &[u32]| log.payload(words);
    let (event, time) = (words(&[1, 2]), words(&[0x37b0, 0x10]));
    log.record(6, 1, &event);
    log.record(1, 1, &time);
    log.record(6, 1, &event);
    let slot = |log: &mut KevBuilder, stamp: u32| {
        let head = [log.word(1 << 24 | 6 << 10 | 1), log.word(stamp)].concat();
        log.bytes.extend(head.iter().chain(&event));
    };
    // One million cycles per second: a cycle is 1 us.
    slot(&mut log, 0x10 + 1_234_567);
    slot(&mut log, 0x10 - 3);
    let format = |text: &str| Layout::Default { format: LineFormat::parse(text).unwrap(), one_line: true };
    let found = log.printed(format("%c %08c %t %e %C %.-4c"));
    let lines: Vec<_> = found.lines().collect();
    assert!(lines[0].starts_with("10 00000010 0.000.000us 0000000001 1 10 d0:"), "{found}");
    assert!(lines[1].starts_with("37b000000010 37b000000010 0.000.000us 0000000002 1 0010"), "{found}");
    assert!(lines[2].starts_with("37b000000010 "), "{found}");
    assert!(lines[3].contains(" 1.234.567us 0000000004 "), "{found}");
    assert!(lines[4].contains(" -0.000.003us 0000000005 "), "{found}");
    let found = log.printed(format("%-10Z|%.3z|%%"));
    assert!(found.starts_with("USREVENT  |EVE|% d0:"), "{found}");
    let rate = log.bytes.windows(7).position(|text| text == b"1000000").unwrap();
    log.bytes[rate..rate + 7].copy_from_slice(b"0000000");
    assert!(log.printed(format("%t|")).lines().all(|line| line.starts_with("-|")));
}

// Command

/// Header of a log, with replaced parts.
fn header(little: &str, version: &str, syspage: &str) -> Vec<u8> {
    format!(
        "TRACE_HEADER_BEGIN::TRACE_FILE_NAME::a.kevTRACE_VER_MAJOR::1TRACE_VER_MINOR::{version}TRACE_{little}::TRUE\
         TRACE_SYSPAGE_LEN::{syspage}TRACE_HEADER_END::"
    )
    .into_bytes()
}

const HEAD: &str = "TRACEPRINTER version 1.02\nTRACEPARSER LIBRARY version 1.02\n -- HEADER FILE INFORMATION -- \n";

#[test]
fn refused_logs_end_as_in_6_4() {
    for (little, version, syspage, complaint, code) in [
        ("LITTLE_INDIAN", "01", "0", "TRACEPARSER: Wrong input trace file endian type\n", 11),
        ("LITTLE_ENDIAN", "00", "0", "", 13),
        ("LITTLE_ENDIAN", "01", "440", "TRACEPARSER: couldn't read syspage entry from input trace file\n", 12),
    ] {
        let bytes = header(little, version, syspage);
        let lines = format!(
            "       TRACE_FILE_NAME:: a.kev\n       TRACE_VER_MAJOR:: 1\n       TRACE_VER_MINOR:: {version}\n{:>22}:: TRUE\n     \
             TRACE_SYSPAGE_LEN:: {syspage}\n",
            format!("TRACE_{little}")
        );
        let run = traceprinter().args(["--compat=1.02", "-f", "-"]).write_stdin(bytes.clone()).assert();
        run.code(255)
            .stdout(format!("{HEAD}{lines}{complaint}"))
            .stderr(format!("TRACEPARSER: function call traceparser() failed, internal error code({code})\n"));
        // The default layout names the cause, and reads logs of older versions.
        let run = traceprinter().args(["-f", "-"]).write_stdin(bytes).assert().code(if code == 13 { 0 } else { 1 });
        let cause: &[u8] =
            if code == 13 { b"warning: -: version 1.00 of .kev logs" } else { b"error: cannot read -: " };
        assert!(run.get_output().stderr.starts_with(cause));
    }
}

#[test]
fn other_refusals() {
    traceprinter().args(["-f", "/nonexistent.kev"]).assert().code(1).stdout("");
    traceprinter().args(["--compat=1.02", "-f", "/nonexistent.kev"]).assert().code(255).stdout("");
    traceprinter().args(["-f", "-"]).write_stdin("no log").assert().code(1).stdout("");
    let cut = &header("LITTLE_ENDIAN", "01", "0")[..60];
    traceprinter().args(["-f", "-"]).write_stdin(cut).assert().code(1).stdout("");
    traceprinter().args(["--compat=1.02", "-f", "-"]).write_stdin(cut).assert().code(255);
    let log = sample("user_le.kev");
    traceprinter().args(["-p", "%x", "-f"]).arg(&log).assert().code(1).stdout("");
    traceprinter().args(["--compat=1.03", "-f"]).arg(&log).assert().code(1).stdout("");
    traceprinter().args(["--compat=1.02", "-p", "%c", "-f"]).arg(&log).assert().code(1).stdout("");
}

#[test]
fn verbose_shows_header_and_slots() {
    let run = traceprinter().args(["-v", "--compat=1.02", "-f"]).arg(sample("user_le.kev")).assert().success();
    let text = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
    assert!(text.contains("       TRACE_FILE_NAME:: (len=26) -> \"/dev/shmem/tracebuffer.kev\" \n"));
    assert!(text.contains("\n -- SYSPAGE INFORMATION -- \n"));
    assert!(text.contains("\nTRACEPRINTER: header file and syspage have been processed\n -- KERNEL EVENTS -- \n"));
    let slot = "event => h:0x0000186f d0:0x00001011 d1:0x00000001 d2:0x00000002\n";
    assert!(text.contains(&format!("{slot}t:0x00001011 CPU:00 USREVENT:EVENT:111, d0:0x00000001 d1:0x00000002\n")));
}

/// System page of 160 bytes: one processor at 64, qtime at 96.
fn small_page(log: &KevBuilder) -> Vec<u8> {
    let mut page = vec![0; 172];
    let half = |n: u16| if log.big_endian { n.to_be_bytes() } else { n.to_le_bytes() };
    let halves = [(0, 64), (2, 172), (4, 1), (6, 2), (24, 64), (26, 32), (32, 96), (34, 64), (44, 160), (46, 12)];
    for (at, n) in halves {
        page[at..at + 2].copy_from_slice(&half(n));
    }
    let words = [
        (64, 7),
        (68, 1000),
        (72, 0x4000_0021),
        (96 + 24, 999),
        (96 + 40, u32::MAX),
        (96 + 44, u32::MAX),
        (160, 0x102),
    ];
    for (at, n) in words {
        page[at..at + 4].copy_from_slice(&log.word(n));
    }
    page[164..168].copy_from_slice(b"host");
    page
}

#[test]
fn verbose_shows_page_and_slots_in_both_byte_orders() {
    for big_endian in [false, true] {
        let mut log = KevBuilder::new(big_endian, "6.4");
        let page = small_page(&log);
        let text = String::from_utf8(log.bytes).unwrap();
        let head = text.replace("TRACE_HEADER_END::", &format!("TRACE_SYSPAGE_LEN::{}TRACE_HEADER_END::", page.len()));
        log.bytes = [head.into_bytes(), page].concat();
        let payload = log.payload(&[0x0102_0304, 5]);
        log.record(6, 3, &payload);
        // A continuation and an end without a combine record; the next end comes while one is open.
        for kind in [2u32, 3, 1, 3] {
            let event = if kind == 1 { 9 } else { 8 };
            log.bytes.extend([log.word(kind << 30 | 6 << 10 | event), log.word(0x20)].concat());
            log.bytes.extend(&payload);
        }
        let raw = if big_endian { "d1:0x04030201 d2:0x05000000" } else { "d1:0x01020304 d2:0x00000005" };
        let expected = format!(
            " -- SYSPAGE INFORMATION -- \n size=64 total_size=172 system_private:off/size=0,0\n asinfo:off/size=0,0 \
             meminfo:off/size=0,0 hwinfo:off/size=0,0\n cpuinfo:off/size=64,32 cacheattr:off/size=0,0 qtime:off/size=96,64\n \
             callout:off/size=0,0 callin:off/size=0,0 intrinfo:off/size=0,0\n typed_strings:off/size=160,12 \
             strings:off/size=0,0\n processor=PPC num_cpus=2\n  cpu 1 cpu=7 name= speed=1000\n  flags=0x40000021 MMU EAR ALTIVEC\n  \
             cpu 2 cpu=0 name= speed=0\n  flags=00000000\n cyc/sec=0 tod_adj=0 nsec=0  inc=999\n boot=0 epoch=0 intr=0\n \
             rate=4294967295 scale=-1 load=0\n   HOSTNAME=\"host\"\nTRACEPRINTER: header file and syspage have been \
             processed\n -- KERNEL EVENTS -- \nevent => h:0x01001803 d0:0x00000010 {raw}\nEVENT\n\
             event => h:0x80001808 d0:0x00000020 {raw}\nTRACEPARSER: unbalanced continuation of combine event ignored\n\
             event => h:0xc0001808 d0:0x00000020 {raw}\nTRACEPARSER: unbalanced end of combine event ignored\n\
             event => h:0x40001809 d0:0x00000020 {raw}\nevent => h:0xc0001808 d0:0x00000020 {raw}\n"
        );
        let old = "t:0x00000010 CPU:01 USREVENT:EVENT:3, d0:0x01020304 d1:0x00000005";
        let new = "t:0x00000010 CPU:01 USREVENT        :EVENT:3            d0:0x01020304 d1:0x00000005";
        for (flags, line) in [(&["-v", "--compat=1.02"][..], old), (&["-v"], new)] {
            let run = traceprinter().args(flags).args(["-f", "-"]).write_stdin(log.bytes.clone()).assert();
            let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
            let block = &text[text.find(" -- SYSPAGE").unwrap()..];
            assert_eq!(block, expected.replace("EVENT\n", &format!("{line}\n")));
        }
    }
}

#[test]
fn damage_is_counted_on_standard_error() {
    let mut log = KevBuilder::new(false, "6.4");
    // An end without a begin, and a begin without an end.
    let event = log.payload(&[1, 2]);
    for kind in [3u32, 0, 1] {
        let header = kind << 30 | 6 << 10 | 5;
        let slot = [&header.to_le_bytes()[..], &16u32.to_le_bytes(), &event].concat();
        log.bytes.extend(slot);
    }
    let expected = "t:0x00000010 CPU:00 USREVENT:EVENT:5, d0:0x00000001 d1:0x00000002\n";
    for (flags, code) in [(&["--compat=1.02", "-f", "-"][..], 0), (&["-f", "-"], 2)] {
        let run = traceprinter().args(flags).write_stdin(log.bytes.clone()).assert().code(code);
        let stderr = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
        assert!(stderr.contains("ends without begin: 1, open at the end: 1"), "{stderr}");
        if code == 0 {
            assert!(run.get_output().stdout.ends_with(expected.as_bytes()));
        }
    }
}

#[test]
fn the_command_is_also_part_of_tfbc() {
    let log = sample("rollover.kev");
    let expected = std::fs::read(sample("rollover.txt")).unwrap();
    let run = command("tfbc").args(["traceprinter", "--compat=1.02", "-f"]).arg(&log).assert();
    assert!(run.success().get_output().stdout == expected);
}

// Rows and threads

/// Log of many records: simple ones, interleaved combine records on two CPUs, times, lost buffers and broken combine
/// records.
fn long_log() -> KevBuilder {
    let mut log = KevBuilder::new(false, "7.1");
    for n in 0..40_000u32 {
        let (cpu, stamp) = (n % 2, n);
        let event = log.payload(&[n, n ^ 0x5555]);
        let mut slot = |kind: u32, class: u32, event: u32, stamp: u32, payload: &[u8]| {
            let header = kind << 30 | cpu << 24 | class << 10 | event;
            log.bytes.extend([&header.to_le_bytes()[..], &stamp.to_le_bytes(), payload].concat());
        };
        match n % 97 {
            0 => slot(0, 1, 1, stamp, &event),
            1 | 2 => slot(1, 7, 9, stamp, &event),
            3 | 4 => slot(3, 7, 9, stamp - 2, &event),
            5 if n % 5 == 0 => slot(0, 1, 2, stamp, &event),
            6 if n % 11 == 0 => slot(3, 7, 9, stamp, &event),
            _ => slot(0, n % 12, n % 70, stamp, &event),
        }
    }
    log
}

#[test]
fn records_in_rows_equal_single_records() {
    use tfbc::testing::qnx::{KevItem, KevRecord};
    let log = long_log();
    let shown = |record: &KevRecord<'_>| format!("{record:?}");
    let open = || KevLog::from_read(Cursor::new(log.bytes.clone()), "a.kev", None, &KevOptions::default()).unwrap();
    let (mut single, mut one_by_one) = (open(), Vec::new());
    while let Some(item) = single.next().unwrap() {
        if let KevItem::Record(record) = item {
            one_by_one.push(shown(&record));
        }
    }
    for max in [0, 1, 7, 1 << 20] {
        let (mut rows, mut in_rows) = (open(), Vec::new());
        loop {
            rows.row(max).each(|record| in_rows.push(shown(record)));
            match rows.next().unwrap() {
                Some(KevItem::Record(record)) => in_rows.push(shown(&record)),
                Some(_) => {}
                None => break,
            }
        }
        assert!(in_rows == one_by_one, "rows of {max}");
        assert_eq!((rows.counts(), rows.tally()), (single.counts(), single.tally()));
    }
}

#[test]
fn the_text_does_not_depend_on_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.kev");
    std::fs::write(&path, long_log().bytes).unwrap();
    for flags in [&["--compat=1.02"][..], &["--compat=1.02", "-n"], &[], &["-p", "%c %t %Z %z"]] {
        let run = |threads: &str| {
            let run = traceprinter().args(flags).args(["--threads", threads, "-f"]).arg(&path).assert();
            (run.get_output().stdout.clone(), run.get_output().stderr.clone())
        };
        let one = run("1");
        assert!(one.0.iter().filter(|byte| **byte == b'\n').count() > 9000);
        assert!(run("2") == one && run("3") == one, "{flags:?}");
        let piped = traceprinter().args(flags).args(["-f", "-"]).pipe_stdin(&path).unwrap().assert();
        assert!(piped.get_output().stdout == one.0, "{flags:?}");
    }
}

#[test]
fn built_in_events_have_labels_releases_and_arguments() {
    let run = command("tfbc").arg("list").assert().success();
    let text = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|column| !column.is_empty()).collect())
        .collect();
    for expected in [
        ["KER_CALL:11", "MSG_SENDV/11", "-", "6.4", "coid,msg", "coid,sparts,rparts,msg,msg[1],msg[2]"],
        ["KER_CALL:93", "NET_CRED/93", "-", "6.4", "coid,info_p", "coid,info_p"],
        ["KER_CALL:93", "MSG_QUEUE_OPEN/93", "-", "8.0", "-", "-"],
        ["PR_TH:2", "THREADY", "Ready", "6.4 7.1 8.0", "pid,tid", "pid,tid,priority,policy"],
        ["USER:0-1023", "USREVENT", "User Event", "6.4 7.1 8.0", "-", "-"],
        ["QVM:0", "GUEST_ENTER", "-", "7.1 8.0", "guest_ip", "guest_ip"],
    ] {
        assert!(lines.contains(&expected.to_vec()), "{expected:?}");
    }
}

#[test]
fn definitions_take_the_place_of_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let xml = folder.path().join("a.xml");
    let text = "<eventdefinitions>\
        <datakey format=\"%4u1x first %4u1d second\"><event class=\"6\" id=\"111\"/><event class=\"2\" id=\"120\"/>\
        <event class=\"5\" id=\"10\"/></datakey></eventdefinitions>";
    std::fs::write(&xml, text).unwrap();
    let mut log = KevBuilder::new(false, "6.4");
    let payload = log.payload(&[1, 2]);
    // 1.02 does not know the last two events; class 13 counts as 5.
    for (class, event) in [(6, 111), (6, 112), (2, 120), (13, 10)] {
        log.record(class, event, &payload);
    }
    let run = |flags: &[&str]| {
        let mut command = traceprinter();
        let run = command.args(flags).arg("-t").arg(&xml).args(["-f", "-"]).write_stdin(log.bytes.clone()).assert();
        let text = String::from_utf8(run.success().get_output().stdout.clone()).unwrap();
        text.split_once(" -- KERNEL EVENTS -- \n").unwrap().1.to_owned()
    };
    let compat = [
        "USREVENT:EVENT:111 first:0x1 second:2",
        "USREVENT:EVENT:112, d0:0x00000001 d1:0x00000002",
        "KER_CALL:EVENT 120 first:0x1 second:2",
        "SYSTEM  :FUNC_ENTER first:0x1 second:2",
    ];
    assert_eq!(run(&["--compat=1.02"]), compat.map(|line| format!("{PREFIX}{line}\n")).concat());
    let default = [
        line("USREVENT", "EVENT:111", " first:0x1 second:2"),
        line("USREVENT", "EVENT:112", " d0:0x00000001 d1:0x00000002"),
        line("KER_CALL", "EVENT 120", " first:0x1 second:2"),
        line("SYSTEM", "FUNC_ENTER", " first:0x1 second:2"),
    ];
    assert_eq!(run(&[]), default.concat());
}
