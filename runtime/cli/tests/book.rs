//! Tests of the book (`docs/`): every page is in the table of contents, every link has a target, and every example does
//! what it shows.
//!
//! A fence ` ```LANGUAGE,file=NAME ` is written to a file of that name in the page's scratch directory, where
//! `samples/` contains copies of `runtime/samples`. A fence ` ```console ` contains `$ command` lines, each followed by
//! its standard output and standard error. A line `...` matches any lines, and `[N]` at the end is an exit status
//! other than 0. A fence ` ```sh,setup ` is run in the clone of the sources, and the page continues in the directory in
//! which it ends; the home directory is the scratch directory. Other fences are not checked.
//!
//! `TFBC_BOOK=update` writes the commands' output into the pages; `TFBC_BOOK=NAME` runs one page.

#![cfg(unix)]

use crate::common::{names, program};
use std::fmt::Write;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn pages() -> Vec<String> {
    names(&docs()).into_iter().filter(|name| name.ends_with(".md") && name != "SUMMARY.md").collect()
}

/// A fenced block: the text after its opening marks, and the lines between the marks.
struct Fence<'p> {
    info: &'p str,
    lines: Vec<&'p str>,
    /// Line numbers in the page, from 0.
    at: Range<usize>,
}

fn fences(page: &str) -> Vec<Fence<'_>> {
    let mut found = Vec::new();
    let mut open: Option<(&str, Fence<'_>)> = None;
    for (number, line) in page.lines().enumerate() {
        let marks = &line[..line.len() - line.trim_start_matches('`').len()];
        match &mut open {
            Some((begun, fence)) if line == *begun => {
                fence.at.end = number;
                found.extend(open.take().map(|(_, fence)| fence));
            }
            Some((_, fence)) => fence.lines.push(line),
            None if marks.len() >= 3 => {
                let info = &line[marks.len()..];
                open = Some((marks, Fence { info, lines: Vec::new(), at: number + 1..number + 1 }));
            }
            None => {}
        }
    }
    assert!(open.is_none(), "a fence has no end");
    found
}

/// Directory in which a page's commands run.
struct Scratch {
    directory: tempfile::TempDir,
    /// Directory of files and commands.
    current: PathBuf,
    path: String,
    /// Prefix of librts, for pages that compile C programs.
    librts: Option<PathBuf>,
}

impl Scratch {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (samples, copies) =
            (Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples"), directory.path().join("samples"));
        fs::create_dir(&copies).unwrap();
        for name in names(&samples) {
            fs::copy(samples.join(&name), copies.join(name)).unwrap();
        }
        let built = program("tfbc").parent().unwrap().display().to_string();
        let current = directory.path().to_owned();
        Self { directory, current, path: format!("{built}:{}", std::env::var("PATH").unwrap()), librts: None }
    }

    fn write(&self, name: &str, lines: &[&str]) {
        let path = self.current.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }

    /// Output of a command, with its exit status unless that is 0.
    fn run(&self, command: &str) -> String {
        let installed = |part: &str| self.librts.as_ref().map_or(PathBuf::new(), |prefix| prefix.join(part));
        let output = Command::new("bash")
            .args(["-c", &format!("exec 2>&1; {command}")])
            .current_dir(&self.current)
            .stdin(Stdio::null())
            .env("PATH", &self.path)
            .env("NO_COLOR", "1")
            .env("LC_ALL", "C.UTF-8")
            .env_remove("TZ")
            .env("TFBC_CACHE", "off")
            .env("HOME", self.directory.path())
            .env("TFBC_TRACE_DIR", self.directory.path().join(".memory"))
            .env("CPATH", installed("include"))
            .env("LIBRARY_PATH", installed("lib"))
            .env("LD_LIBRARY_PATH", installed("lib"))
            .env_remove("CI")
            .env_remove("XDG_STATE_HOME")
            .output()
            .unwrap();
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        match output.status.code() {
            Some(0) => {}
            status => writeln!(text, "[{}]", status.unwrap_or(-1)).unwrap(),
        }
        text
    }
}

/// Runs a `sh,setup` fence in the clone of the sources, and continues in the directory in which it ends.
fn set_up(scratch: &mut Scratch, fence: &Fence<'_>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    scratch.current = root.canonicalize().unwrap();
    let text = scratch.run(&format!("set -e\n{}\npwd", fence.lines.join("\n")));
    let last = text.lines().last().map(PathBuf::from);
    let Some(current) = last.filter(|last| last.starts_with(scratch.directory.path())) else {
        panic!("the setup does not end in a directory below the home directory: {text}");
    };
    scratch.current = current;
}

/// True if a text matches what a page shows; a line `...` matches any lines.
fn is_as_shown(shown: &[&str], text: &[&str]) -> bool {
    let Some((first, rest)) = shown.split_first() else { return text.is_empty() };
    if *first == "..." {
        return (0..=text.len()).any(|n| is_as_shown(rest, &text[n..]));
    }
    text.split_first().is_some_and(|(line, text)| line == first && is_as_shown(rest, text))
}

/// Expected lines of a `console` fence.
fn replay(scratch: &Scratch, fence: &Fence<'_>) -> Vec<String> {
    assert!(fence.lines.first().is_some_and(|line| line.starts_with("$ ")), "a console fence begins with a command");
    let mut lines = Vec::new();
    for part in fence.lines.chunk_by(|_, next| !next.starts_with("$ ")) {
        // A command continues after a `\`.
        let n_command = 1 + part.iter().take_while(|line| line.ends_with('\\')).count();
        let (command, shown) = part.split_at(n_command.min(part.len()));
        let text = scratch.run(&command.join("\n")[2..]);
        let text: Vec<&str> = text.lines().collect();
        let kept = if is_as_shown(shown, &text) { shown } else { &text };
        lines.extend(command.iter().chain(kept).map(|line| (*line).to_owned()));
    }
    lines
}

/// Expected text of a page.
fn replayed(page: &str) -> String {
    let mut scratch = Scratch::new();
    if page.contains("-l rts") {
        scratch.librts = Some(crate::librts::PREFIX.path().to_owned());
    }
    let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
    let mut shift = 0;
    for fence in fences(page) {
        if let Some((_, name)) = fence.info.split_once(",file=") {
            scratch.write(name, &fence.lines);
        } else if fence.info == "sh,setup" {
            set_up(&mut scratch, &fence);
        } else if fence.info == "console" {
            let (new, n_old) = (replay(&scratch, &fence), fence.lines.len());
            let at = fence.at.start.wrapping_add_signed(shift);
            shift += new.len() as isize - n_old as isize;
            lines.splice(at..at + n_old, new);
        } else {
            // Examples in Rust and Python are run by the package that the page belongs to.
            let known = ["text", "sh", "json", "lua", "toml", "c", "xml", "rust", "rust,no_run", "python"];
            let engines = ["python,dask", "python,sail", "python,spark"];
            assert!(
                known.contains(&fence.info) || engines.contains(&fence.info),
                "line {}: `{}` is no kind of fence",
                fence.at.start,
                fence.info
            );
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn every_example_does_what_it_shows() {
    let wanted = std::env::var("TFBC_BOOK").unwrap_or_default();
    let is_wanted = |name: &String| wanted.is_empty() || wanted == "update" || *name == wanted;
    let mut wrong = Vec::new();
    let found: Vec<_> = std::thread::scope(|scope| {
        let runs: Vec<_> = pages()
            .into_iter()
            .filter(is_wanted)
            .map(|name| {
                scope.spawn(move || {
                    let page = fs::read_to_string(docs().join(&name)).unwrap();
                    let replayed = replayed(&page);
                    (name, page, replayed)
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    for (name, page, replayed) in found {
        if page == replayed {
            continue;
        }
        if wanted == "update" {
            fs::write(docs().join(name), replayed).unwrap();
            continue;
        }
        let differs = |(shown, is): &(&str, &str)| shown != is;
        let at = page.lines().zip(replayed.lines()).take_while(|pair| !differs(pair)).count();
        let around = |text: &str| text.lines().skip(at).take(6).map(|line| format!("    {line}\n")).collect::<String>();
        wrong.push(format!(
            "{name}:{}: shown is\n{}and the command prints\n{}",
            at + 1,
            around(&page),
            around(&replayed)
        ));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Targets of the links in a text.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

#[test]
fn the_contents_name_every_page_once() {
    let summary = fs::read_to_string(docs().join("SUMMARY.md")).unwrap();
    let mut named: Vec<&str> = links(&summary).collect();
    named.sort_unstable();
    assert_eq!(named, pages());
}

#[test]
fn every_link_leads_to_a_page() {
    let mut n_links = 0;
    for name in pages() {
        let page = fs::read_to_string(docs().join(&name)).unwrap();
        for target in links(&page).filter(|target| !target.contains("://")) {
            let file = target.split('#').next().unwrap();
            assert!(file.is_empty() || docs().join(file).exists(), "{name}: {target}");
            n_links += 1;
        }
    }
    assert!(n_links > 0);
}

#[test]
fn what_is_shown_is_compared() {
    let lines = |text: &'static str| text.lines().collect::<Vec<_>>();
    for (shown, text, is_right) in [
        ("a\nb", "a\nb", true),
        ("a", "a\nb", false),
        ("a\nb", "a", false),
        ("...", "", true),
        ("a\n...\nd", "a\nb\nc\nd", true),
        ("a\n...\nd", "a\nb\nc", false),
    ] {
        assert_eq!(is_as_shown(&lines(shown), &lines(text)), is_right, "{shown:?} {text:?}");
    }
    let page = "```sh,file=a b\nword\n```\n```console\n$ cat 'a b'; false\nwrong\n$ echo x \\\n  y\nx y\n```\n";
    let right = "```sh,file=a b\nword\n```\n```console\n$ cat 'a b'; false\nword\n[1]\n$ echo x \\\n  y\nx y\n```\n";
    assert_eq!(replayed(page), right);
    assert_eq!(replayed(right), right);
}
