//! Tests of `tfbc view`: pages have the events of the report, nothing of a trace leaves its place, and files that were
//! not named are kept.

use crate::common::*;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::GzDecoder;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples")
}

/// Page of a trace, with what the command printed and its exit status.
struct Viewed {
    html: String,
    errors: String,
    status: i32,
}

fn view(folder: &Path, args: &[&str]) -> Viewed {
    let mut command = command("tfbc");
    command.arg("view").args(args).args(["-o", "-"]).current_dir(folder).env("TFBC_CACHE", "off");
    let (html, errors, status) = run(&mut command);
    Viewed { html, errors, status }
}

impl Viewed {
    /// Text of a data element, before it is decoded.
    fn block(&self, id: &str) -> Option<&str> {
        let start = format!("<script type=\"application/gzip\" id=\"{id}\">");
        Some(self.html.split_once(&start)?.1.split_once("</script>")?.0)
    }

    /// JSON of a data element.
    fn json(&self, id: &str) -> String {
        let packed = BASE64_STANDARD.decode(self.block(id).unwrap()).unwrap();
        let mut json = String::new();
        GzDecoder::new(&packed[..]).read_to_string(&mut json).unwrap();
        json
    }

    fn data(&self, id: &str) -> Value {
        serde_json::from_str(&self.json(id)).unwrap()
    }

    fn events(&self) -> Value {
        self.data("events-data")
    }

    /// Page with readable data, without the style and the script.
    fn readable(&self) -> String {
        let mut page = self.html.clone();
        for id in ["events-data", "timeline-data"] {
            if let Some(block) = self.block(id) {
                page = page.replace(block, &format!("\n{}\n", self.json(id)));
            }
        }
        for (start, end) in [("<style>", "</style>"), ("<script>", "</script>"), ("Policy\" content=\"", "\">")] {
            let (before, rest) = page.split_once(start).unwrap();
            page = format!("{before}{start}…{end}{}", rest.split_once(end).unwrap().1);
        }
        page.replace(concat!("tfbc ", env!("CARGO_PKG_VERSION")), "tfbc VERSION")
    }
}

#[test]
fn pages_of_the_samples_are_as_accepted() {
    for (name, args) in [("shell", &["shell.trc"][..]), ("user", &["-t", "user.xml", "user.kev"])] {
        let viewed = view(&samples(), args);
        assert_eq!(viewed.status, 0, "{}", viewed.errors);
        insta::with_settings!(
            { snapshot_path => "view", prepend_module_to_snapshot => false, omit_expression => true },
            { insta::assert_snapshot!(name, viewed.readable()) }
        );
    }
}

#[test]
fn a_page_has_the_events_of_the_report() {
    for (args, column) in [
        (&["shell.trc"][..], "text"),
        (&["--only", "106,10C", "--from", "0.002", "shell.trc"], "text"),
        (&["--grep", "exec", "shell.trc"], "text"),
        (&["--where", "cmd == /usr/bin/ls", "shell.trc"], "text"),
        (&["--cpu", "0", "--pid", "6418", "shell.trc"], "text"),
        (&["-t", "user.xml", "--only", "USER:65,USER:100", "user.kev"], "data"),
    ] {
        let events = view(&samples(), args).events();
        let mut report = command("tfbc");
        report.args(["report", "--no-heading", "--columns", column]).args(args).current_dir(samples());
        let (lines, errors, _) = run(&mut report);
        let texts: Vec<&str> = events["text"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
        assert!(!texts.is_empty(), "{args:?}: {errors}");
        assert_eq!(texts.join("\n"), lines.trim_end_matches('\n'), "{args:?}");
    }
}

#[test]
fn the_timeline_has_the_slices_of_tfbc_timeline() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    let args = ["timeline", "--tracks", "cpus,calls,states,timers,events,marks", "shell.trc", "-o"];
    let (_, errors, status) = run(command("tfbc").args(args).arg(&path).current_dir(samples()));
    assert_eq!(status, 0, "{errors}");
    let chrome: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let ns = |value: &Value| value.as_f64().map_or(0, |time| (time * 1000.0).round() as u64);
    let events = chrome["traceEvents"].as_array().unwrap().iter();
    let slices = events.filter(|event| event["ph"] == "X" || event["ph"] == "i");
    let mut expected: Vec<_> =
        slices.map(|event| (ns(&event["ts"]), ns(&event["dur"]), event["name"].as_str().unwrap().to_owned())).collect();
    let timeline = view(&samples(), &["shell.trc"]).data("timeline-data");
    let mut found = Vec::new();
    for track in timeline["tracks"].as_array().unwrap() {
        for at in 0..track["start"].as_array().unwrap().len() {
            let name = &timeline["texts"][track["text"][at].as_u64().unwrap() as usize];
            let times = [&track["start"][at], &track["length"][at]].map(|time| time.as_u64().unwrap());
            found.push((times[0], times[1], name.as_str().unwrap().to_owned()));
        }
    }
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
}

/// Text that would end an element, an attribute, a string or a comment, and control a terminal.
const HOSTILE: &[u8] = b"</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'`--><!--{{script}}{{title}}\xe2\x80\xa8\xe2\x80\xa9\xff\x1b[31m\0\xe2\x80\xae";
const SHOWN: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'`--><!--{{script}}{{title}}\u{2028}\u{2029}\u{fffd}\\x1b[";

#[test]
fn nothing_of_a_trace_leaves_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let name = "<img src=x onerror=alert(1)>{{script}}.trc";
    let mut exec = process(5, 9, "");
    exec.pop();
    exec.extend([&HOSTILE[..100], &[0]].concat());
    let sized = [&[HOSTILE.len() as u8], HOSTILE].concat();
    let trace = [
        &STREAM64[..],
        &factors64(1, 1, 2),
        &generic_by64(0x00A0, 1, &exec, 9, 1),
        &generic_by64(0x0100, 1, &sized, 9, 2),
        &generic_by64(0x0110, 1, b"", 9, 3),
        // A damaged place.
        &[0xFF; 24],
        &generic_by64(0x0100, 1, &sized, 9, 4),
    ];
    fs::write(folder.path().join(name), trace.concat()).unwrap();
    let format =
        "010 1.0 L=APPL \"</script><b>@LABEL\" \"<i>\" $EXECPATH \" text \" G16 S1\n011 1.0 L=APPL \"x\" \"&amp;\"\n";
    fs::write(folder.path().join("<script>.trcfmt"), format).unwrap();
    let viewed = view(folder.path(), &["-t", "<script>.trcfmt", name]);
    assert_eq!(viewed.status, 2, "{}", viewed.errors);
    let html = &viewed.html;
    // Two elements with data, and the script.
    let n_blocks = if viewed.block("timeline-data").is_some() { 2 } else { 1 };
    assert_eq!(html.matches("<script").count(), n_blocks + 1);
    assert_eq!(html.matches("</script>").count(), n_blocks + 1);
    for wrong in ["<img", "<b>@", "onerror=alert(1)>", "\0", "\x1b", "\u{202e}"] {
        let script = html.rsplit_once("<script>").unwrap().0;
        assert!(!script.contains(wrong), "{wrong:?}");
    }
    assert!(
        html.contains("<title>&lt;img src=x onerror=alert(1)&gt;{{script}}.trc</title>")
            || html.contains("&lt;img src=x onerror=alert(1)&gt;")
    );
    let events = viewed.events();
    let texts = events["text"].as_array().unwrap();
    assert!(texts.iter().any(|text| text.as_str().unwrap().contains(SHOWN)), "{texts:#?}");
    assert!(events["notices"].as_array().unwrap().iter().any(|notice| notice[1] == true), "{events:#}");
    assert!(html.contains("class=\"damage\""));
}

#[test]
fn a_page_loads_nothing() {
    let viewed = view(&samples(), &["shell.trc"]);
    let policy = "default-src 'none'; script-src 'sha256-";
    assert!(viewed.html.contains(policy), "{}", &viewed.html[..500]);
    let page = viewed.html.replace(viewed.block("events-data").unwrap(), "");
    for word in ["http:", "https:", "//cdn", "@import", "url(", "fetch(", "XMLHttpRequest", "innerHTML", "eval(", " on"]
    {
        let found = page.match_indices(word).find(|(at, _)| word != " on" || page[at + 3..].starts_with("click="));
        assert_eq!(found, None, "{word}");
    }
}

#[test]
fn limits_are_named_on_the_page_and_in_messages() {
    let viewed = view(&samples(), &["--limit", "10", "shell.trc"]);
    assert_eq!(viewed.status, 0);
    let text = "Only the first 10 events are on this page; the trace has 288. Events from 0.";
    assert!(viewed.errors.contains(text) && viewed.errors.contains("--limit raises the limit"), "{}", viewed.errors);
    assert!(viewed.html.contains(text));
    assert!(viewed.errors.contains("The timeline ends after 10 slices"), "{}", viewed.errors);
    assert_eq!(viewed.events()["seq"].as_array().unwrap().len(), 10);
    let viewed = view(&samples(), &["--limit", "288", "--quiet", "shell.trc"]);
    assert!(!viewed.html.contains("Only the first"));
    // A trace decides how long the text of an event is, but a page does not follow.
    let folder = tempfile::tempdir().unwrap();
    fs::copy(samples().join("shell.trc"), folder.path().join("shell.trc")).unwrap();
    fs::write(folder.path().join("long.trcfmt"), "134 1.0 L=APPL \"LONG\" {{ $n = 100000 }} LOOP $n { \"é\" }\n")
        .unwrap();
    let viewed = view(folder.path(), &["-t", "long.trcfmt", "--only", "134", "shell.trc"]);
    let events = viewed.events();
    let text = events["text"][0].as_str().unwrap();
    assert!(text.ends_with("é […]") && text.len() <= (64 << 10) + 6, "{}", text.len());
}

#[test]
fn a_file_that_was_not_named_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(samples().join("shell.trc"), folder.path().join("shell.trc")).unwrap();
    let view = || run(command("tfbc").args(["view", "shell.trc"]).current_dir(folder.path()));
    let (out, errors, status) = view();
    assert_eq!((out.as_str(), status), ("", 0), "{errors}");
    assert!(errors.contains("shell.trc.html: 288 events, "), "{errors}");
    let page = fs::read(folder.path().join("shell.trc.html")).unwrap();
    fs::write(folder.path().join("shell.trc.html"), "mine").unwrap();
    let (_, errors, status) = view();
    assert_eq!(status, 1);
    assert!(errors.contains("shell.trc.html exists already: replace it with -o shell.trc.html"), "{errors}");
    assert_eq!(fs::read(folder.path().join("shell.trc.html")).unwrap(), b"mine");
    let named = ["view", "shell.trc", "-o", "shell.trc.html"];
    let (_, errors, status) = run(command("tfbc").args(named).current_dir(folder.path()));
    assert_eq!(status, 0, "{errors}");
    assert_eq!(fs::read(folder.path().join("shell.trc.html")).unwrap(), page);
    assert_eq!(names(folder.path()), ["shell.trc", "shell.trc.html"]);
}

#[test]
fn standard_input_gives_the_same_page() {
    let args = ["view", "-", "-o", "-"];
    let trace = fs::read(samples().join("shell.trc")).unwrap();
    let (html, errors, status) = run(command("tfbc").args(args).write_stdin(trace));
    assert_eq!(status, 0, "{errors}");
    let piped = Viewed { html, errors, status };
    assert!(piped.html.contains("<title>standard input</title>"));
    let file = view(&samples(), &["shell.trc"]);
    assert_eq!(piped.events(), file.events());
    assert_eq!(piped.data("timeline-data"), file.data("timeline-data"));
}

#[test]
fn a_trace_without_times_or_events_has_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let head = b"TRACE_HEADER_BEGIN::TRACE_LITTLE_ENDIAN::TRUETRACE_HEADER_END::";
    let mut log = head.to_vec();
    for word in [6u32 << 10 | 7, 77, 1, 2] {
        log.extend(word.to_le_bytes());
    }
    fs::write(folder.path().join("untimed.kev"), log).unwrap();
    let viewed = view(folder.path(), &["untimed.kev"]);
    assert_eq!(viewed.status, 0, "{}", viewed.errors);
    assert!(viewed.errors.contains("There is no summary and no timeline: no record has a time"), "{}", viewed.errors);
    assert_eq!(viewed.events()["time"], Value::Array(vec![Value::Null]));
    fs::write(folder.path().join("empty.trc"), STREAM64).unwrap();
    let viewed = view(folder.path(), &["empty.trc"]);
    assert_eq!(viewed.status, 0, "{}", viewed.errors);
    assert_eq!(viewed.events()["seq"], Value::Array(Vec::new()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_page_opens_in_the_browser() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let browser = folder.path().join("xdg-open");
    fs::write(&browser, "#!/bin/sh\necho \"$1\" > opened\n").unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let trace = samples().join("shell.trc");
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let mut command = command("tfbc");
    command.arg("view").arg(trace).args(["--open", "-o", "page.html"]).env("PATH", path).current_dir(folder.path());
    let (_, errors, status) = run(&mut command);
    assert_eq!(status, 0, "{errors}");
    let opened = folder.path().join("opened");
    let waited = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        fs::read_to_string(&opened).is_ok_and(|name| name == "page.html\n")
    });
    assert!(waited, "{:?}", fs::read_to_string(&opened));
    let (_, errors, status) = run(crate::common::command("tfbc").args(["view", "x.trc", "--open", "-o", "-"]));
    assert_eq!(status, 1);
    assert!(errors.contains("--open needs a file: name one with -o"), "{errors}");
}
