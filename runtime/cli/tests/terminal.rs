//! Runs commands on a pseudo-terminal.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

/// Streams that are connected to the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalStreams {
    Output,
    Errors,
    Both,
}

/// Size of a terminal.
#[derive(Debug, Clone, Copy)]
pub struct TerminalSize {
    pub columns: u16,
    pub lines: u16,
}

/// Runs a command with some of its streams on a terminal; returns the terminal's output and the exit status. With
/// `until`, the command is ended when that text appears, and has no status.
pub fn on_terminal(command: &mut Command, shown: TerminalStreams, until: Option<&str>) -> (Vec<u8>, Option<i32>) {
    on_sized_terminal(command, shown, until, TerminalSize { columns: 0, lines: 0 })
}

/// Like [`on_terminal`], on a terminal of some size. There are no pager and no links unless the command's environment
/// asks for them.
pub fn on_sized_terminal(
    command: &mut Command,
    shown: TerminalStreams,
    until: Option<&str>,
    size: TerminalSize,
) -> (Vec<u8>, Option<i32>) {
    if !command.get_envs().any(|(name, _)| name == "TFBC_PAGER") {
        command.env("TFBC_PAGER", "");
    }
    // The terminal of whoever runs the tests has no effect.
    if !command.get_envs().any(|(name, _)| name == "FORCE_HYPERLINK") {
        command.env("FORCE_HYPERLINK", "0");
    }
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let TerminalSize { columns: ws_col, lines: ws_row } = size;
    tcsetwinsize(&terminal, Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let side = OpenOptions::new().read(true).write(true).open(OsStr::from_bytes(name.as_bytes())).unwrap();
    let stream = |is_shown: bool| if is_shown { side.try_clone().unwrap().into() } else { Stdio::null() };
    command.env_remove("NO_COLOR").env("TERM", "xterm").stdin(Stdio::null());
    command.stdout(stream(shown != TerminalStreams::Errors)).stderr(stream(shown != TerminalStreams::Output));
    let mut child = command.spawn().unwrap();
    // Only the command has the other side of the terminal open, so that its end is noticed.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    drop(side);
    let (mut terminal, mut text, mut chunk) = (File::from(terminal), Vec::new(), [0; 4096]);
    // At the end of a terminal, reading fails.
    while let Ok(n @ 1..) = terminal.read(&mut chunk) {
        text.extend_from_slice(&chunk[..n]);
        if until.is_some_and(|until| String::from_utf8_lossy(&text).contains(until)) {
            child.kill().unwrap();
            child.wait().unwrap();
            return (lines(&text), None);
        }
    }
    let status = child.wait().unwrap().code();
    (lines(&text), status)
}

/// Text with each CR LF from the terminal as one newline.
fn lines(text: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(text).replace("\r\r\n", "\n").replace("\r\n", "\n").into_bytes()
}
