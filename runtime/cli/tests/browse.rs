//! Tests of `tfbc browse` on a pseudo-terminal, whose screen a terminal emulator shows.

use crate::common::{STREAM64, command as piped, factors64, generic_by64, process, program, run};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tfbc::{Formats, ReportOptions, Trace};
use tfbc_browse::{Opened, Settings, browse};

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples")
}

/// Time to wait for the screen; a busy machine may need long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Emulated terminal with all bytes that it got.
struct Emulated {
    screen: vt100::Parser,
    bytes: Vec<u8>,
}

/// `tfbc browse` on a terminal.
struct Session {
    terminal: File,
    emulated: Arc<Mutex<Emulated>>,
    child: Child,
}

impl Session {
    fn start(folder: &Path, args: &[&str], columns: u16, lines: u16) -> Self {
        Self::start_with(folder, args, columns, lines, &[])
    }

    fn start_with(folder: &Path, args: &[&str], columns: u16, lines: u16, variables: &[(&str, &str)]) -> Self {
        let tfbc = program("tfbc");
        Self::start_program(&[tfbc.as_os_str(), OsStr::new("browse")], folder, args, columns, lines, variables)
    }

    fn start_program(
        program: &[&OsStr],
        folder: &Path,
        args: &[&str],
        columns: u16,
        lines: u16,
        variables: &[(&str, &str)],
    ) -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        tcsetwinsize(&terminal, size(columns, lines)).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        let side = OpenOptions::new().read(true).write(true).open(OsStr::from_bytes(name.as_bytes())).unwrap();
        // The terminal controls the command, as that of a user does: signals, size and keys come from it.
        let mut command = Command::new("setsid");
        command.arg("--ctty").args(program).args(args).current_dir(folder);
        command.env("TFBC_CACHE", "off").env("TERM", "xterm-256color");
        command.env_remove("NO_COLOR").envs(variables.iter().copied());
        command.stdin(side.try_clone().unwrap()).stdout(side.try_clone().unwrap()).stderr(side);
        let child = command.spawn().unwrap();
        drop(command);
        let terminal = File::from(terminal);
        let emulated =
            Emulated { screen: vt100::Parser::new(positive(lines), positive(columns), 0), bytes: Vec::new() };
        let emulated = Arc::new(Mutex::new(emulated));
        let (mut from, to) = (terminal.try_clone().unwrap(), emulated.clone());
        thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(n @ 1..) = from.read(&mut chunk) {
                let mut to = to.lock().unwrap();
                to.screen.process(&chunk[..n]);
                to.bytes.extend_from_slice(&chunk[..n]);
            }
        });
        Self { terminal, emulated, child }
    }

    /// Text on the screen.
    fn text(&self) -> String {
        self.emulated.lock().unwrap().screen.screen().contents()
    }

    /// Last line of the screen.
    fn status(&self) -> String {
        self.text().lines().last().unwrap_or_default().to_owned()
    }

    /// Chosen line: the only one in reverse video between the first and the last.
    fn chosen(&self) -> String {
        let emulated = self.emulated.lock().unwrap();
        let screen = emulated.screen.screen();
        let (lines, columns) = screen.size();
        let (lines, columns) = (lines.get(), columns.get());
        let is_chosen = |line: &u16| screen.cell(*line, columns / 2).is_some_and(|cell| cell.inverse());
        let line = (1..lines - 1).find(is_chosen);
        line.map_or(String::new(), |line| screen.contents_between(line, 0, line, columns))
    }

    /// Waits until the screen is as `is_right` says.
    fn until(&self, what: &str, is_right: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !is_right(self) {
            assert!(begun.elapsed() < PATIENCE, "{what}:\n{}", self.text());
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn until_text(&self, text: &str) {
        self.until(text, |session| session.text().contains(text));
    }

    fn until_chosen(&self, text: &str) {
        self.until(text, |session| session.chosen().contains(text));
    }

    fn until_status(&self, text: &str) {
        self.until(text, |session| session.status().contains(text));
    }

    fn keys(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn resize(&mut self, columns: u16, lines: u16) {
        self.emulated.lock().unwrap().screen.screen_mut().set_size(positive(lines), positive(columns));
        tcsetwinsize(&self.terminal, size(columns, lines)).unwrap();
    }

    /// True if the terminal has no mode of a list: it echoes, waits for whole lines, and shows the main screen.
    fn is_restored(&self) -> bool {
        let modes = tcgetattr(&self.terminal).unwrap().local_modes;
        let emulated = self.emulated.lock().unwrap();
        let screen = emulated.screen.screen();
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
            && !screen.alternate_screen()
            && !screen.hide_cursor()
            && !screen.bracketed_paste()
            && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
    }

    /// State of the process, such as `T` if it is stopped.
    fn state(&self) -> Option<char> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    }

    fn bytes(&self) -> Vec<u8> {
        self.emulated.lock().unwrap().bytes.clone()
    }

    /// Waits for the end; returns the exit status and what remains on the screen.
    fn end(mut self) -> (ExitStatus, String) {
        let begun = Instant::now();
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if begun.elapsed() > PATIENCE => panic!("it does not end:\n{}", self.text()),
                None => thread::sleep(Duration::from_millis(20)),
            }
        };
        self.until("the modes of the terminal are restored", Self::is_restored);
        (status, self.text())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn positive(number: u16) -> NonZero<u16> {
    NonZero::new(number).unwrap()
}

fn size(ws_col: u16, ws_row: u16) -> Winsize {
    Winsize { ws_col, ws_row, ws_xpixel: 0, ws_ypixel: 0 }
}

fn quit(mut session: Session) -> (Option<i32>, String) {
    session.keys("q");
    let (status, text) = session.end();
    (status.code(), text)
}

#[test]
fn a_list_is_scrolled_and_searched() {
    let mut session = Session::start(&samples(), &["shell.trc"], 80, 24);
    session.until_status("1/288");
    session.until_chosen("TRACE ON channel 0");
    session.keys("jj");
    session.until_chosen("return from kwrite");
    session.keys("G");
    session.until_status("288/288");
    session.keys("g");
    session.until_status("1/288");
    session.keys("fb10j");
    session.until_status("11/288");
    session.keys("100G");
    session.until_status("100/288");
    session.keys("50%");
    session.until_status("145/288");
    session.keys(":7\r");
    session.until_status("7/288");
    session.keys("g/exec: .*ls\r");
    session.until_chosen("exec: cmd=/usr/bin/ls");
    session.keys("/exec:\r");
    session.until_chosen("/usr/bin/sort");
    session.keys("N");
    session.until_chosen("/usr/bin/ls");
    session.keys("n/no such text\r");
    session.until_status("no match up to the end");
    session.keys("/(\r");
    session.until_status("`(` is not a regular expression");
    session.keys("t0.0100\r");
    session.until("a time", |session| session.chosen().trim_start().starts_with("0.01"));
    session.keys("t99\r");
    session.until_status("the list ends at 0.036975666 s");
    session.keys("tx\r");
    session.until_status("`x` is not a time");
    session.keys("?");
    session.until_text("draw again, stop");
    session.keys("?");
    session.until("no keys", |session| !session.text().contains("draw again, stop"));
    assert_eq!(quit(session).0, Some(0));
}

#[test]
fn a_filter_reads_the_trace_again() {
    let mut session = Session::start(&samples(), &["--pid", "4522", "shell.trc"], 100, 24);
    session.until("some events", |session| session.status().contains("1/") && !session.status().contains("/288"));
    session.keys("&--cpu 0 --only 106\r");
    session.until_status("/20 ");
    session.until_text("filter: --cpu 0 --only 106");
    session.keys("&\x15--where 'cmd == \"/usr/bin/ls\"'\r");
    session.until_chosen("/usr/bin/ls");
    session.keys("&\x15exec\r");
    session.until_text("filter: exec");
    session.keys("&\x15--nothing\r");
    session.until_status("unexpected argument '--nothing'");
    session.keys("&\x15--only 'xyz\r");
    session.until_status("a quote is not closed");
    session.keys("&\x15--only 134\r");
    session.until_chosen("134");
    session.keys("gi");
    session.until_status("the filter already has --only 134");
    session.keys("p");
    session.until_text("--only 134 --pid 6418");
    session.until_chosen("/usr/bin/ls");
    session.keys("c");
    session.until_text("--pid 6418 --cpu 0");
    session.keys("&\x15--only 0AB\r");
    session.until_text("no event matches the filter: x removes it");
    session.keys("x");
    session.until("the filter of the command line", |session| !session.text().contains("filter:"));
    assert_eq!(quit(session).0, Some(0));
}

#[test]
fn an_event_is_shown_with_its_bytes_fields_and_template() {
    let mut session = Session::start(&samples(), &["shell.trc"], 160, 40);
    session.until_status("1/288");
    session.keys("/exec: cmd=/usr/bin/ls\r\r");
    session.until_text("hook 134, 64-bit");
    session.until_text("process ls, pid 6418, tid 10011");
    session.resize(80, 24);
    session.until_text("134 EXEC");
    session.keys("JJ");
    session.until("the description moves", |session| !session.text().contains("134 EXEC"));
    session.keys("\x1b");
    session.until("no description", |session| !session.text().contains("64-bit"));
    session.resize(40, 10);
    session.until_chosen("exec: cmd");
    assert!(session.text().lines().count() <= 10);
    session.keys("\r");
    session.until_text("134 EXEC");
    // A narrow screen cuts nothing of the description, and nothing of the keys.
    session.until_text("process ls, pid 6418, tid 10011");
    session.keys("\x1b");
    session.resize(40, 30);
    session.keys("?");
    for text in ["move them", "Ctrl-L Ctrl-Z draw again, stop", "q quit"] {
        session.until_text(text);
    }
    session.keys("?");
    session.resize(8, 2);
    session.until_text("too");
    session.resize(80, 24);
    session.until_chosen("exec: cmd=/usr/bin/ls");
    assert_eq!(quit(session).0, Some(0));
}

#[test]
fn a_log_of_qnx_is_shown() {
    let mut session = Session::start(&samples(), &["-t", "user.xml", "user.kev"], 120, 24);
    session.until_status("1/60");
    session.keys("/frame 17\r");
    session.until_chosen("text:frame 17 of 60");
    session.keys("\r");
    session.until_text("event 6:170");
    session.keys("\r&USER\r");
    session.until_text("filter: USER");
    session.keys("&\x15--only USER:65\r");
    session.until_chosen("ipicmd");
    assert_eq!(quit(session).0, Some(0));
}

#[test]
fn damage_is_marked_and_makes_the_status_2() {
    let folder = tempfile::tempdir().unwrap();
    let trace = fs::read(samples().join("shell.trc")).unwrap();
    fs::write(folder.path().join("damaged.trc"), [&trace[..], &[0xFF; 24]].concat()).unwrap();
    let mut session = Session::start(folder.path(), &["damaged.trc"], 80, 24);
    session.until_status("1 damaged");
    session.keys("g]");
    session.until_chosen("damage: ");
    session.keys("]");
    session.until_status("no damage or gap after this");
    let (status, _) = quit(session);
    assert_eq!(status, Some(2));
}

#[test]
fn a_trace_without_events_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("empty.trc"), STREAM64).unwrap();
    let mut session = Session::start(folder.path(), &["empty.trc"], 80, 24);
    session.until_text("the trace has no events");
    session.keys("jkGgfbn]y\ri");
    session.until_text("the trace has no events");
    assert_eq!(quit(session).0, Some(0));
}

#[test]
fn marks_and_copies_are_made() {
    let mut session = Session::start(&samples(), &["shell.trc"], 80, 24);
    session.until_status("1/288");
    session.keys("5Gma");
    session.until_status("mark a is set");
    session.keys("G'a");
    session.until_status("5/288");
    session.keys("''");
    session.until_status("288/288");
    session.keys("'b");
    session.until_status("there is no mark b: mb sets it");
    session.keys("gy");
    session.until_status("copied the text: 18 bytes");
    // "TRACE ON channel 0" in base64.
    let sequence = b"\x1b]52;c;VFJBQ0UgT04gY2hhbm5lbCAw\x07";
    session.until("the sequence of the clipboard", |session| {
        session.bytes().windows(sequence.len()).any(|window| window == sequence)
    });
    assert_eq!(quit(session).0, Some(0));
}

#[test]
fn the_mouse_scrolls_and_chooses() {
    let mut session = Session::start(&samples(), &["shell.trc"], 80, 24);
    session.until_status("1/288");
    // A click on the fifth line of the screen.
    session.keys("\x1b[<0;10;5M\x1b[<0;10;5m");
    session.until_status("4/288");
    session.keys("\x1b[<65;10;5M\x1b[<65;10;5M");
    session.until_status("7/288");
    session.keys("\x1b[<0;10;2M\x1b[<0;10;2m");
    session.until_status("7/288");
    session.until_text("hook ");
    assert_eq!(quit(session).0, Some(0));
}

#[test]
fn a_signal_restores_the_terminal() {
    for (signal, number) in [(Signal::TERM, 15), (Signal::HUP, 1), (Signal::INT, 2)] {
        let session = Session::start(&samples(), &["shell.trc"], 80, 24);
        session.until_status("1/288");
        session.signal(signal);
        let (status, _) = session.end();
        assert_eq!(status.signal(), Some(number));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_stopped_list_restores_the_terminal_and_continues() {
    let mut session = Session::start(&samples(), &["shell.trc"], 80, 24);
    session.until_status("1/288");
    session.keys("5G");
    session.until_status("5/288");
    for (columns, lines) in [(80, 24), (60, 12)] {
        // Ctrl-Z.
        session.keys("\x1a");
        session.until("the program is stopped", |session| session.state() == Some('T'));
        session.until("the terminal is restored", Session::is_restored);
        session.resize(columns, lines);
        session.signal(Signal::CONT);
        session.until_status("5/288");
        session.until("the list is back", |session| {
            !session.is_restored() && session.text().lines().count() <= lines.into()
        });
    }
    session.keys("j");
    session.until_status("6/288");
    assert_eq!(quit(session).0, Some(0));
}

/// Variable that makes [`list_that_panics`] a list.
const PANICS: &str = "TFBC_TEST_PANICS";

/// Program of the next test: a list whose descriptions panic.
#[test]
fn list_that_panics() {
    if std::env::var_os(PANICS).is_none() {
        return;
    }
    let open =
        || Opened { trace: Trace::open(samples().join("shell.trc")).unwrap(), options: ReportOptions::default() };
    let settings = Settings {
        title: String::from("shell.trc"),
        formats: Arc::new(Formats::builtin()),
        max_bytes: 1 << 20,
        has_colour: false,
    };
    let _ = browse(settings, open(), &|_| Ok(open()), &|_| panic!("no description, on purpose"));
}

#[test]
fn a_panic_restores_the_terminal_and_its_message_remains() {
    let own = std::env::current_exe().unwrap();
    let args = ["browse::list_that_panics", "--exact", "--nocapture", "--test-threads=1"];
    let mut session = Session::start_program(
        &[own.as_os_str()],
        &samples(),
        &args,
        100,
        24,
        &[(PANICS, "1"), ("RUST_BACKTRACE", "0")],
    );
    session.until_status("1/288");
    session.keys("\r");
    // The test harness ends with this status if a test fails, and prints where the cursor is.
    let (status, text) = session.end();
    assert_eq!(status.code(), Some(101));
    assert!(text.contains("no description, on purpose"), "{text}");
    let rest = text.split("no description, on purpose").nth(1).unwrap();
    assert!(rest.contains("test result: FAILED"), "{text}");
}

#[test]
fn colours_are_left_out_on_request() {
    let colours = |variables: &[(&str, &str)]| {
        let session = Session::start_with(&samples(), &["shell.trc"], 80, 24, variables);
        session.until_chosen("TRACE ON");
        let bytes = String::from_utf8_lossy(&session.bytes()).into_owned();
        assert_eq!(quit(session).0, Some(0));
        ["[36m", ";36m", "38;5;6"].iter().any(|colour| bytes.contains(colour))
    };
    assert!(colours(&[]));
    assert!(!colours(&[("NO_COLOR", "1")]));
}

#[test]
fn the_file_of_rows_has_a_limit() {
    let mut session = Session::start(&samples(), &["--max-spill", "10", "shell.trc"], 80, 24);
    session.until_status("the rest does not fit: --max-spill");
    session.keys("Gjk/x\r");
    session.until_status("no match up to the end");
    assert_eq!(quit(session).0, Some(0));
}

#[test]
fn text_of_a_trace_controls_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let text = b"\x1b]0;owned\x07\x1b[2J\x1b[31mred\r\x9b1m\xe2\x80\xae";
    let mut exec = process(5, 9, "");
    exec.pop();
    exec.extend([&text[..], &[0]].concat());
    let sized = [&[text.len() as u8], &text[..]].concat();
    let trace = [
        &STREAM64[..],
        &factors64(1, 1, 2),
        &generic_by64(0x00A0, 1, &exec, 9, 1),
        &generic_by64(0x0100, 1, &sized, 9, 2),
    ];
    let name = "x\x1b]0;owned\x07\u{202e}.trc";
    fs::write(folder.path().join(name), trace.concat()).unwrap();
    fs::write(folder.path().join("x.trcfmt"), "010 1.0 L=APPL \"@A\" $EXECPATH \" text \" G16 S1\n").unwrap();
    let mut session = Session::start(folder.path(), &["-t", "x.trcfmt", name], 160, 24);
    session.until_text("\\x1b]0;owned\\x07\\x1b[2J\\x1b[31mred");
    session.keys("/text\r\r");
    session.until_text("hook 010");
    let bytes = session.bytes();
    for wrong in [&b"\x1b]0;"[..], b"\x1b[2J\x1b[31m", b"\xe2\x80\xae", b"\xc2\x9b"] {
        assert!(!bytes.windows(wrong.len()).any(|window| window == wrong), "{wrong:?}");
    }
    assert_eq!(quit(session).0, Some(0));
}

#[test]
fn other_outputs_and_wrong_files_are_refused() {
    let (out, errors, status) = run(piped("tfbc").args(["browse", "shell.trc"]).current_dir(samples()));
    assert_eq!((out.as_str(), status), ("", 1));
    assert!(errors.contains("tfbc browse needs a terminal, but standard output is none: `tfbc report`"), "{errors}");
    let session = Session::start(&samples(), &["none.trc"], 80, 24);
    session.until_text("cannot read none.trc");
}
