//! Tests of output formats: tables for programs, text filters, counts, colour.

use crate::common::*;
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

const FORMATS: &str = "\
010 1.0 L=KERN \"@USER HOOK\" \"hook = \" $D1%U4 \\n \"more\\of it\"
011 1.0 L=APPL \"@QUIET\" \"quiet, \" $D1%U4
012 1.0 L=INT \"@EMPTY\" \"\"
";

fn event(id: u16, tid: u64, word: u64, ticks: u64) -> Vec<u8> {
    words64(&[0x8000_0008_0000_0000 | u64::from(id) << 20, word, tid, ticks])
}

fn trace() -> Vec<u8> {
    let events = [
        event(0x010, 7, 1, 1_000_000),
        event(0x011, 7, 5, 3_500_000),
        event(0x012, 8, 0, 4_000_000),
        event(0x010, 8, 2, 6_000_000),
        event(0x010, 8, 12, 6_000_500),
        event(0x013, 8, 0xAB, 7_000_000),
    ];
    [words32(&[0xEFDF_1114]), factors64(1, 1, 1), events.concat()].concat()
}

struct Fixture(TempDir);

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("f"), FORMATS).unwrap();
        fs::write(directory.path().join("t"), trace()).unwrap();
        fs::copy(data("qnx/user_le.kev"), directory.path().join("t.kev")).unwrap();
        Self(directory)
    }

    /// Standard output of a successful report.
    fn report(&self, args: &[&str]) -> String {
        let (out, err, status) = self.run(args);
        assert_eq!(status, 0, "{args:?}: {err}");
        out
    }

    fn run(&self, args: &[&str]) -> (String, String, i32) {
        let mut command = command("tfbc");
        run(command.arg("report").args(args).current_dir(&self.0))
    }
}

#[test]
fn tsv_has_a_line_of_names_and_no_margins() {
    let desk = Fixture::new();
    let out = desk.report(&[
        "-t",
        "f",
        "--to",
        "tsv",
        "--columns",
        "id,tid,pid,elapsed,delta,text",
        "--only",
        "010,012",
        "t",
    ]);
    let expected = "id\ttid\tpid\telapsed\tdelta\ttext\n\
                    010\t7\t\t0.001000000\t1.000000\thook = 1\\nmore\\\\of it\n\
                    012\t8\t\t0.004000000\t3.000000\t\n\
                    010\t8\t\t0.006000000\t2.000000\thook = 2\\nmore\\\\of it\n\
                    010\t8\t\t0.006000500\t0.000500\thook = 12\\nmore\\\\of it\n";
    assert_eq!(out, expected);
    let bare = desk.report(&["-t", "f", "--to", "tsv", "--columns", "text", "--only", "010", "--no-heading", "t"]);
    assert_eq!(bare.lines().next(), Some("hook = 1\\nmore\\\\of it"));
    let columns = desk.report(&["-t", "f", "--to", "tsv", "--columns", "tid,id", "--only", "012", "t"]);
    assert_eq!(columns, "tid\tid\n8\t012\n");
}

#[test]
fn csv_quotes_where_it_must() {
    let desk = Fixture::new();
    let out = desk.report(&["-t", "f", "--to", "csv", "--columns", "id,text", "--only", "010,011", "t"]);
    assert!(out.starts_with("id,text\n010,\"hook = 1\nmore\\of it\"\n011,\"quiet, "), "{out}");
}

#[test]
fn ndjson_has_numbers_labels_and_nulls() {
    let desk = Fixture::new();
    let columns = "id,exec,cpu,pid,tid,int,svc,elapsed,delta,text";
    let out = desk.report(&["-t", "f", "--to", "ndjson", "--columns", columns, "--timestamp", "2", "t"]);
    let rows: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 6);
    let expected = serde_json::json!({
        "id": "010", "label": "USER HOOK", "exec": null, "cpu": null, "pid": null, "tid": 8, "int": 0, "svc": null,
        "elapsed": 0.006, "delta": 2000.0, "text": "hook = 2\nmore\\of it",
    });
    assert_eq!(rows[3], expected);
    // An id without a stanza is formatted as undefined, under its own id.
    assert_eq!(rows[5]["id"], "013");
}

#[test]
fn only_texts_that_match_are_reported() {
    let desk = Fixture::new();
    let all = desk.report(&["-t", "f", "t"]);
    assert_eq!(desk.report(&["-t", "f", "--grep", "", "t"]), all, "every text has an empty match");
    // The text includes further lines, but not columns and margins.
    let out = desk.report(&["-t", "f", "--columns", "id,delta,text", "--no-heading", "--grep", "^hook = .?2$", "t"]);
    let expected = "010        6.000000                   hook = 2\n\
                    \x20                                     more\\of it\n\
                    010        0.000500                   hook = 12\n\
                    \x20                                     more\\of it\n";
    assert_eq!(out, expected);
    assert_eq!(desk.report(&["-t", "f", "--no-heading", "--grep", "^more", "t"]).lines().count(), 6);
    for (pattern, n) in [("^ ", 0), ("010", 0), ("(?i)HOOK = 1$", 1), ("^$", 1)] {
        let out =
            desk.report(&["-t", "f", "--no-heading", "--columns", "id", "--only", "010,012", "--grep", pattern, "t"]);
        assert_eq!(out.lines().count(), n, "{pattern}: {out}");
    }
    let tsv = desk.report(&["-t", "f", "--no-heading", "--to", "tsv", "--columns", "text", "--grep", "12", "t"]);
    assert_eq!(tsv, "hook = 12\\nmore\\\\of it\n");
    let (out, err, status) = desk.run(&["--grep", "(", "t"]);
    assert_eq!((out.as_str(), status), ("", 1));
    assert!(err.contains("--grep") && err.contains("unclosed group"), "{err}");
}

#[test]
fn headings_of_pages_are_the_same_with_grep() {
    let desk = Fixture::new();
    for args in [&["--pagesize", "2"][..], &["--columns", "id"], &["--columns", "text"], &["--timestamp", "3"]] {
        let args = [&["-t", "f"], args, &["t"]].concat();
        assert_eq!(desk.report(&[&args[..], &["--grep", ""]].concat()), desk.report(&args), "{args:?}");
    }
}

#[test]
fn filtered_events_still_change_what_others_show() {
    let desk = Fixture::new();
    let formats = "010 1.0 L=APPL \"A\" starttimer(1,1) \"begin\"\n012 1.0 L=APPL \"B\" \"took \" endtimer(1,1)\n";
    fs::write(desk.0.path().join("timers"), formats).unwrap();
    let args = ["-t", "timers", "--no-heading", "--columns", "text", "--only", "012"];
    let took = desk.report(&[&args[..], &["t"]].concat());
    assert!(took.contains("3.0") || took.contains("3 ms") || took.contains("0.003"), "{took}");
    assert_eq!(desk.report(&["-t", "timers", "--no-heading", "--columns", "text", "--grep", "took", "t"]), took);
}

#[test]
fn qnx_data_are_searched_and_counted_too() {
    let desk = Fixture::new();
    let all = desk.report(&["--no-heading", "--columns", "class,id,data", "t.kev"]);
    let wanted = all.lines().next_back().unwrap().split_whitespace().next_back().unwrap();
    let some = desk.report(&[
        "--no-heading",
        "--columns",
        "class,id,data",
        "--grep",
        &wanted.replace(['(', ')'], "."),
        "t.kev",
    ]);
    assert!(!some.is_empty() && some.lines().all(|line| line.contains(wanted) && all.contains(line)), "{some}");
    let stats = desk.report(&["--stats", "--to", "tsv", "t.kev"]);
    let counts: Vec<u64> =
        stats.lines().skip(1).map(|line| line.split('\t').next().unwrap().parse().unwrap()).collect();
    assert!(stats.starts_with("count\tid\tlabel\n"), "{stats}");
    assert!(counts.is_sorted_by(|one, other| one >= other), "{stats}");
    let rows = desk.report(&["--no-heading", "--to", "tsv", "t.kev"]);
    assert_eq!(counts.iter().sum::<u64>() as usize, rows.lines().count());
    assert_eq!(desk.report(&["--stats", "--to", "tsv", "--threads", "3", "t.kev"]), stats);
    let first = all.lines().next().unwrap().split_whitespace().take(2).collect::<Vec<_>>().join(":");
    assert!(stats.contains(&format!("\t{first}\t")), "{first}: {stats}");
}

#[test]
fn events_are_counted_by_id() {
    let desk = Fixture::new();
    let stats = desk.report(&["-t", "f", "--stats", "t"]);
    let rows: Vec<Vec<&str>> = stats.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["count", "id", "label"]);
    assert_eq!(rows[1], ["3", "010", "USER", "HOOK"]);
    assert_eq!(rows[2..].iter().map(|row| row[1]).collect::<Vec<_>>(), ["011", "012", "013"]);
    let some = desk.report(&[
        "-t",
        "f",
        "--stats",
        "--no-heading",
        "--except",
        "012",
        "--grep",
        "hook = .*2",
        "--to",
        "csv",
        "t",
    ]);
    assert_eq!(some, "2,010,USER HOOK\n");
    let objects = desk.report(&["-t", "f", "--stats", "--only", "012", "--to", "ndjson", "t"]);
    assert_eq!(objects, "{\"count\":1,\"id\":\"012\",\"label\":\"EMPTY\"}\n");
    let (_, err, status) = desk.run(&["--stats", "--follow", "t"]);
    assert!(status == 1 && err.contains("--follow"), "{err}");
}

#[test]
fn tables_of_several_traces_have_one_line_of_names() {
    let desk = Fixture::new();
    let one = desk.report(&["-t", "f", "--to", "tsv", "t"]);
    let (names, rows) = one.split_once('\n').unwrap();
    let rows: String = rows.lines().map(|row| format!("t\t{row}\n")).collect();
    assert_eq!(desk.report(&["-t", "f", "--to", "tsv", "--quiet", "t", "t"]), format!("file\t{names}\n{rows}{rows}"));
}

#[test]
fn colour_is_for_those_who_ask() {
    let desk = Fixture::new();
    for trace in ["t", "t.kev"] {
        let plain = desk.report(&["-t", "f", trace]);
        assert!(!plain.contains('\x1b'));
        let colours = desk.report(&["-t", "f", "--color", "always", trace]);
        assert!(colours.contains("\x1b[2m") && colours.contains("\x1b[0m"));
        let stripped = colours.replace("\x1b[2m", "").replace("\x1b[0m", "");
        assert_eq!(trimmed(&stripped), trimmed(&plain));
        let table = desk.report(&["-t", "f", "--color", "always", "--to", "csv", trace]);
        assert!(!table.contains('\x1b'));
        desk.report(&["-t", "f", "--color", "always", "-o", "out", trace]);
        assert_eq!(fs::read_to_string(desk.0.path().join("out")).unwrap(), plain);
    }
}

fn trimmed(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
