//! Tests of `tfbc timeline`: its slices have the times of `tfbc summary`, in both formats, and Perfetto reads them.

use crate::common::{command, run, words64};
use crate::logs::{BASE, CPU, cpu_file, directory, factors64, log, utility64};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples")
}

fn timeline(args: &[&str], output: &Path) -> (String, String, i32) {
    run(command("tfbc").arg("timeline").args(args).arg("-o").arg(output).current_dir(samples()))
}

/// Times of the slices of CPUs in a JSON timeline, per track and category.
fn cpu_slices(path: &Path) -> BTreeMap<(String, String), u64> {
    let json: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let named = events.iter().filter(|event| event["name"] == "thread_name" && event["ph"] == "M");
    let names: BTreeMap<u64, &str> =
        named.map(|event| (event["tid"].as_u64().unwrap(), event["args"]["name"].as_str().unwrap())).collect();
    let ns = |value: &Value| (value.as_f64().unwrap() * 1000.0).round() as u64;
    let slices = events.iter().filter(|event| event["ph"] == "X").filter_map(|event| {
        let (name, begin) = (names[&event["tid"].as_u64().unwrap()], ns(&event["ts"]));
        let slice = (name.to_owned(), begin, begin + ns(&event["dur"]), event["cat"].as_str().unwrap().to_owned());
        name.starts_with("CPU ").then_some(slice)
    });
    own_times(slices.collect())
}

#[test]
fn several_traces_are_drawn_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    let (_, err, status) = timeline(&["shell.trc", "shell.trc"], &path);
    assert_eq!((err.as_str(), status), ("", 0));
    let found = cpu_slices(&path);
    let merged = ["--merge", "shell.trc", "shell.trc"];
    assert_eq!(found, charged(&merged));
    let head = ["summary", "--to", "ndjson", "--sections", "head"];
    let (rows, ..) = run(command("tfbc").args(head).args(merged).current_dir(samples()));
    assert!(rows.contains(r#""files":["shell.trc","shell.trc"]"#) && rows.contains("\"events\":576,"), "{rows}");
}

/// Writes a log in which 7.1 sends a message to 8.2, which answers it, and a record of the class USER.
fn messages(folder: &Path) -> PathBuf {
    let mut bytes = b"TRACE_HEADER_BEGIN::TRACE_VER_MAJOR::1TRACE_VER_MINOR::01TRACE_LITTLE_ENDIAN::TRUE\
        TRACE_CYCLES_PER_SEC::1000000000TRACE_CPU_NUM::1TRACE_HEADER_END::"
        .to_vec();
    let records: [(u32, u32, u32, [u32; 2]); 10] = [
        (0, 1, 1, [0, 0]),
        (100, 4, 1, [7, 1]),
        (200, 2, 11, [0, 0]),
        (300, 7, 0, [1, 8]),
        (400, 4, 4, [7, 1]),
        (500, 4, 1, [8, 2]),
        (600, 7, 2, [1, 7]),
        (700, 3, 1, [5, 0]),
        (900, 3, 2, [5, 0]),
        (1000, 7, 10, [1, 7]),
    ];
    for (t, class, event, words) in records.into_iter().chain([(1500, 6, 7, [1, 2])]) {
        for word in [class << 10 | event, t, words[0], words[1]] {
            bytes.extend(word.to_le_bytes());
        }
    }
    let path = folder.join("messages.kev");
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Logs of two CPUs with calls, interrupts, lost events and times without tracing, and of one without events.
fn cpu_logs() -> tempfile::TempDir {
    let hook = |t, id: u64, tid, words: &[u64]| {
        let head = 0x8000_0000_0000_0000 | (8 * words.len() as u64) << 32 | id << 20;
        words64(&[&[head][..], words, &[tid, t]].concat())
    };
    let dispatch = |t, id, tid| hook(t, id, tid, &[tid / 10 + 100, tid, 10, 0, 0]);
    let first = [
        hook(1000, 0x001, 9, &[0]),
        dispatch(3000, 0x106, 21),
        hook(4000, 0x100, 21, &[4, 0]),
        hook(4200, 0x102, 21, &[0x52A80, 3]),
        hook(4900, 0x103, 21, &[]),
        hook(5000, 0x200, 21, &[0]),
        hook(6000, 0x101, 21, &[0x2F00, 0]),
        hook(6500, 0x104, 21, &[0, 0]),
        hook(11_000, 0x002, 9, &[0]),
        hook(15_000, 0x001, 9, &[0]),
        dispatch(17_000, 0x10C, 517),
        hook(21_000, 0x002, 9, &[0]),
    ];
    let second = [
        dispatch(1500, 0x106, 22),
        hook(4000, 0x101, 22, &[0x3F00, 0]),
        hook(7000, 0x006, 9, &[0, 40]),
        hook(8000, 0x104, 22, &[0, 0]),
        dispatch(16_000, 0x106, 22),
        // The thread of the other CPU: its switch was not seen.
        dispatch(19_000, 0x106, 517),
        hook(19_500, 0x200, 517, &[0]),
    ];
    let names: Vec<_> = (0..3).map(|cpu| cpu_file(cpu, &format!("t-{cpu}"))).collect();
    let base = [vec![factors64(1, 1, 2), utility64(0x1E, b"tfbc\0")], names].concat();
    directory(&[
        ("t", log(true, BASE, &base, &[])),
        ("t-0", log(true, CPU, &[], &first)),
        ("t-1", log(true, CPU, &[], &second)),
        ("t-2", log(true, CPU, &[], &[])),
    ])
}

#[test]
fn slices_of_files_per_cpu_have_the_times_of_the_summary() {
    let folder = cpu_logs();
    let (base, path) = (folder.path().join("t"), folder.path().join("t.json"));
    let base = base.to_str().unwrap();
    assert_eq!(timeline(&[base], &path).2, 0);
    let expected = charged(&[base]);
    let of = |cpu: &str, category: &str| expected[&(cpu.to_owned(), category.to_owned())];
    assert_eq!((of("CPU 1", "lost"), of("CPU 0", "off"), of("CPU 0", "SLIH")), (3000, 4000, 700));
    assert_eq!(cpu_slices(&path), expected);
}

/// Slice of a track: its name, begin, end and category.
type TrackSlice = (String, u64, u64, String);

/// Time per track and category, without the slices inside. Panics if slices overlap.
fn own_times(mut slices: Vec<TrackSlice>) -> BTreeMap<(String, String), u64> {
    // Readers sort by begin and, among equal ones, keep the order of the file.
    slices.sort_by(|one, other| (&one.0, one.1).cmp(&(&other.0, other.1)));
    let mut times = BTreeMap::new();
    let mut open: Vec<TrackSlice> = Vec::new();
    for slice in slices {
        open.retain(|outer| outer.0 == slice.0 && outer.2 > slice.1);
        if let Some(outer) = open.last() {
            assert!(slice.2 <= outer.2, "{slice:?} and {outer:?} overlap");
            *times.get_mut(&(outer.0.clone(), outer.3.clone())).unwrap() -= slice.2 - slice.1;
        }
        *times.entry((slice.0.clone(), slice.3.clone())).or_insert(0) += slice.2 - slice.1;
        open.push(slice);
    }
    times.retain(|_, ns| *ns > 0);
    times
}

/// Times of the summary, by track and category of the timeline.
fn charged(args: &[&str]) -> BTreeMap<(String, String), u64> {
    let args = [&["summary", "--to", "ndjson", "--sections", "cpu"], args].concat();
    let (rows, ..) = run(command("tfbc").args(args).current_dir(samples()));
    let mut times = BTreeMap::new();
    for row in rows.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        for (name, ns) in row.as_object().unwrap().iter().filter(|_| row["cpu"] != "all") {
            let category = match name.strip_suffix("_ns") {
                None | Some("span" | "busy" | "unknown") => continue,
                Some(own @ ("idle" | "lost" | "off" | "switch" | "dispatch" | "idle_dispatch")) => own.to_owned(),
                Some(class @ ("flih" | "slih" | "int" | "handler")) => class.to_uppercase(),
                Some(_) => String::from("run"),
            };
            *times.entry((format!("CPU {}", row["cpu"]), category)).or_insert(0) += ns.as_u64().unwrap();
        }
    }
    times.retain(|_, ns| *ns > 0);
    times
}

#[test]
fn limits_and_mistakes_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (_, err, status) = timeline(&["--max-slices", "10", "shell.trc"], &path("t.json"));
    assert!(status == 2 && err.contains("--max-slices raises the limit"), "{err}");
    let json = std::fs::read_to_string(path("t.json")).unwrap();
    assert_eq!(json.matches("\"ph\":\"X\"").count() + json.matches("\"ph\":\"i\"").count(), 10);
    let _: Value = serde_json::from_str(&json).unwrap();
    std::os::unix::fs::symlink("/dev/full", path("full.json")).unwrap();
    for (args, name, expected) in [
        (&["shell.trc"][..], "full.json", "full.json: No space left"),
        (&["shell.trc"], "t.txt", "add `--to chrome` or `--to perfetto`"),
        (&["--tracks", "cpu", "shell.trc"], "t.json", "did you mean `cpus`?"),
        (&["shell.trc", "user.kev"], "t.json", "only AIX traces can be merged"),
        (&["--pair", "scv", "shell.trc"], "t.json", "did you mean `svc`?"),
    ] {
        let (_, err, status) = timeline(args, &path(name));
        assert!(status == 1 && err.contains(expected), "{args:?}: {err}");
    }
    let (_, _, status) = timeline(&["shell.trc"], &path("t.json.gz"));
    let mut text = String::new();
    let packed = flate2::read::GzDecoder::new(std::fs::File::open(path("t.json.gz")).unwrap());
    std::io::Read::read_to_string(&mut { packed }, &mut text).unwrap();
    assert!(status == 0 && text.ends_with("]}\n"));
}

#[test]
fn timers_counters_and_events_have_tracks() {
    let folder = tempfile::tempdir().unwrap();
    let context = folder.path().join("own.context");
    std::fs::write(&context, "101 counter caller value=TID\npair svc2 start=101 end=104 key=tid by=svc\n").unwrap();
    let path = folder.path().join("t.json");
    let context = context.to_str().unwrap();
    let (_, err, status) = timeline(&["--context", context, "-t", "default", "shell.trc"], &path);
    assert_eq!((err.as_str(), status), ("", 0));
    let json = std::fs::read_to_string(&path).unwrap();
    let count = |text: &str| json.matches(text).count();
    // 73 calls, each as a timer of the templates and as a pair, and the timers of 102 and 106.
    assert_eq!((count("\"args\":{\"name\":\"svc2\"}"), count("\"args\":{\"name\":\"0x101\"}")), (1, 1));
    assert_eq!(count("\"ph\":\"b\""), count("\"ph\":\"e\""));
    assert_eq!((count("\"ph\":\"C\""), count("\"cat\":\"SYSCALL\"")), (76, 76));
    assert!(json.contains(r#""cat":"event","args":{"text":""#), "{json}");
    let slices = |category: &str| json.lines().filter(|line| line.contains(category)).collect::<Vec<_>>();
    let n_results = slices(r#""cat":"SYSCALL""#).iter().filter(|line| line.contains("\"result\":")).count();
    assert_eq!(n_results, 73);
    // The first thread runs before its first dispatch.
    let without = slices(r#""cat":"run""#).iter().filter(|line| !line.contains("\"priority\":")).count();
    assert_eq!(without, 1);
    let log = messages(folder.path());
    let (_, err, status) = timeline(&["-t", "user.xml", log.to_str().unwrap()], &path);
    let json = std::fs::read_to_string(&path).unwrap();
    assert!(status == 0 && json.contains(r#""cat":"event""#), "{err}{json}");
    assert_eq!(["s", "t", "f"].map(|phase| json.matches(&format!("\"ph\":\"{phase}\"")).count()), [1; 3], "{json}");
}

/// Rows of a query in Perfetto's trace processor; `None` if `TFBC_PERFETTO` does not name it.
fn query(file: &Path, sql: &str) -> Option<Vec<Value>> {
    let package = std::env::var_os("TFBC_PERFETTO")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perfetto/query.js");
    let output = Command::new("node").arg(script).arg(package).arg(file).arg(sql).output().expect("node runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = String::from_utf8(output.stdout).unwrap();
    Some(rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[test]
fn perfetto_reads_timelines() {
    let folder = tempfile::tempdir().unwrap();
    let log = messages(folder.path());
    let log = ["-t", "user.xml", log.to_str().unwrap()];
    let of_cpus = cpu_logs();
    let base = of_cpus.path().join("t");
    let of_cpus = ["-t", "default", base.to_str().unwrap()];
    for (args, table) in [
        (&["-t", "default", "shell.trc"][..], "t.json"),
        (&["-t", "default", "shell.trc"], "t.pftrace"),
        (&log, "t.json"),
        (&log, "t.pftrace"),
        (&of_cpus, "t.json"),
        (&of_cpus, "t.pftrace"),
    ] {
        let path = folder.path().join(table);
        assert_eq!(timeline(args, &path).2, 0);
        let errors = "select name, value from stats where severity = 'error' and value > 0";
        let Some(errors) = query(&path, errors) else {
            eprintln!("not checked: TFBC_PERFETTO does not name the trace processor; .ci/perfetto fetches it");
            return;
        };
        assert_eq!(errors, [] as [Value; 0], "{args:?} {table}");
        let tracks = if table == "t.json" {
            "select thread_track.id, thread.name from thread_track join thread using (utid) join process using (upid)
             where process.name = 'CPUs'"
        } else {
            "select process_track.id, process_track.name from process_track join process using (upid)
             where process.name = 'CPUs'"
        };
        let sql = format!(
            "with track_names(id, name) as ({tracks}) select n.name, s.ts, s.ts + s.dur, s.category
             from slice s join track_names n on s.track_id = n.id order by s.id"
        );
        let rows = query(&path, &sql).unwrap();
        let slices = rows.iter().map(|row| {
            let text = |at: usize| row[at].as_str().unwrap().to_owned();
            (text(0), row[1].as_u64().unwrap(), row[2].as_u64().unwrap(), text(3))
        });
        let (found, expected) = (own_times(slices.collect()), charged(&args[2..]));
        // It reads JSON's times as floats, so each slice may be a nanosecond longer or shorter.
        let room = if table == "t.json" { rows.len() as u64 } else { 0 };
        let is_near = |(key, ns): (&_, &u64)| found.get(key).is_some_and(|found| found.abs_diff(*ns) <= room);
        assert!(found.len() == expected.len() && expected.iter().all(is_near), "{table} {found:?} {expected:?}");
        // A process has the name of the last program that it ran.
        let names = query(&path, "select name from process where name like '%(6418)'").unwrap();
        let of_shell = args[2] == "shell.trc";
        assert_eq!(names, if of_shell { vec![serde_json::json!(["ls (6418)"])] } else { vec![] }, "{table}");
        let flows = query(&path, "select count(*) from flow").unwrap();
        assert_eq!(flows, [serde_json::json!([if args == log { 2 } else { 0 }])], "{table}");
    }
}
