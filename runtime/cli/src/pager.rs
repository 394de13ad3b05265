//! Pager of reports and other long output on a terminal.
//!
//! The output goes to the pager through a pipe. Messages wait until the pager has ended, because they would be drawn
//! over its screen. The exit status is that of the report; a pager that was closed early is no error.

use super::console::{CommandResult, Console, Failure, HeldMessages, Message, Status, hold_messages};
use super::files::Output;
use super::terminal::TerminalWriter;
use clap::{Args, ValueEnum};
use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use unicode_width::UnicodeWidthChar;

/// Pager if the environment names none: one screen is printed without waiting, colours are kept, and the report remains
/// on the screen.
const DEFAULT: &str = "less -FRX";

/// Shows a manual page on a terminal with `man`, which has a pager of its own. Returns false if the page was not shown:
/// there is no terminal or no `man`, or `TFBC_PAGER` is empty.
pub fn shows_manual(page: &[u8]) -> bool {
    let is_wanted = is_for_people() && env::var_os("TFBC_PAGER").is_none_or(|pager| !pager.is_empty());
    is_wanted && run_man(page).unwrap_or(false)
}

fn run_man(page: &[u8]) -> io::Result<bool> {
    let mut man = Command::new("man").args(["-l", "-"]).stdin(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    // A `man` that does not know `-l` ends before it has read the page.
    let written = man.stdin.take().map(|mut input| input.write_all(page));
    Ok(man.wait()?.success() && written.is_some_and(|written| written.is_ok()))
}

/// True if standard output is a terminal that can show a pager.
fn is_for_people() -> bool {
    io::stdout().is_terminal() && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Flags of the commands that have a pager.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct PagerArgs {
    /// When to show the output in a pager: `$TFBC_PAGER`, `$PAGER` or `less -FRX`; `auto` means on a terminal
    #[arg(long, value_name = "WHEN", default_value = "auto", value_enum, help_heading = "Messages")]
    pager: PagerChoice,
    /// Same as --pager never
    #[arg(long, conflicts_with = "pager", help_heading = "Messages")]
    no_pager: bool,
    /// Cut long lines at the edge of the terminal. In less, the right arrow shows the rest
    #[arg(long, help_heading = "Messages")]
    chop: bool,
}

/// When to use a pager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum PagerChoice {
    #[default]
    Auto,
    Always,
    Never,
}

impl PagerArgs {
    /// Flags of an output that has no pager.
    pub fn never(self) -> Self {
        Self { no_pager: true, ..self }
    }

    /// True if a pager may show standard output.
    fn is_wanted(self) -> bool {
        match self.pager {
            _ if self.no_pager => false,
            PagerChoice::Never => false,
            PagerChoice::Always => true,
            PagerChoice::Auto => is_for_people(),
        }
    }

    /// Keeps messages back if a pager may show the output, so that they follow an output that is made as a whole.
    pub fn hold(self, path: Option<&Path>) -> Option<HeldMessages> {
        (is_stdout(path) && self.is_wanted()).then(hold_messages)
    }

    /// Command of the pager; `None` if there is to be none.
    fn command(self, console: &Console) -> Option<PagerCommand> {
        if !self.is_wanted() {
            return None;
        }
        let named = ["TFBC_PAGER", "PAGER"].into_iter().find_map(|name| Some((name, env::var(name).ok()?)));
        let (name, line) = named.unwrap_or(("", String::from(DEFAULT)));
        let program = line.split_whitespace().next().unwrap_or_default();
        // As in git and man, an empty name and `cat` mean no pager.
        if matches!(line.trim(), "" | "cat") {
            return None;
        }
        // A shell would only say that the program is missing after the report has been lost.
        let is_plain = program.chars().all(|letter| letter.is_alphanumeric() || "/._-+".contains(letter));
        if is_plain && !is_program(Path::new(program)) {
            if !name.is_empty() {
                console.warning(Message::Notable, format!("there is no pager `{program}`, which {name} names"));
            }
            return None;
        }
        let is_less = Path::new(program).file_name().is_some_and(|name| name == "less");
        Some(PagerCommand { line, is_less })
    }
}

/// Command line of a pager.
struct PagerCommand {
    line: String,
    is_less: bool,
}

impl PagerCommand {
    fn start(&self, chops: bool) -> io::Result<Child> {
        let mut command = if cfg!(windows) { Command::new("cmd") } else { Command::new("sh") };
        command.arg(if cfg!(windows) { "/C" } else { "-c" }).arg(&self.line).stdin(Stdio::piped());
        if self.is_less && chops {
            let mut options = env::var_os("LESS").unwrap_or_default();
            options.push(OsString::from(" -S"));
            command.env("LESS", options);
        }
        // Otherwise less shows letters that the locale does not know as bytes in brackets.
        if self.is_less && env::var_os("LESSCHARSET").is_none() {
            command.env("LESSCHARSET", "utf-8");
        }
        command.spawn()
    }
}

/// True if an output is standard output.
fn is_stdout(path: Option<&Path>) -> bool {
    path.is_none_or(|path| path == Path::new("-"))
}

/// True if a program of this name can be found.
fn is_program(name: &Path) -> bool {
    if name.components().count() > 1 {
        return name.is_file();
    }
    let ending = env::consts::EXE_SUFFIX;
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .any(|folder| folder.join(name).is_file() || folder.join(name).with_extension(ending).is_file())
}

/// Running pager. Dropping it waits until the user has closed it.
pub struct Pager {
    child: Child,
    is_less: bool,
    held: Option<HeldMessages>,
}

impl Pager {
    /// True if the pager is known to pass links to the terminal.
    pub fn has_links(&self) -> bool {
        self.is_less
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        let _ = self.child.wait();
        // Messages appear where the pager was.
        self.held.take();
    }
}

/// Output of a report: a file, standard output, or a pager.
pub struct ReportOutput {
    to: Target,
    chopper: Option<Chopper>,
}

enum Target {
    Plain(Output),
    Pager(ChildStdin),
}

impl ReportOutput {
    /// Opens the output of a report, and starts the pager if there is to be one. The output must be dropped before the
    /// pager.
    ///
    /// # Errors
    /// See [`Output::open`].
    pub fn open(
        console: &Console,
        path: Option<&Path>,
        args: PagerArgs,
    ) -> io::Result<(TerminalWriter<Self>, Option<Pager>)> {
        let is_stdout = is_stdout(path);
        let shows = is_stdout && console.shows_controls();
        let command = is_stdout.then(|| args.command(console)).flatten();
        // Ctrl-C is for the pager: it stops a search there, and must not end the report under it.
        #[cfg(unix)]
        if command.is_some() {
            let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, std::sync::Arc::default());
        }
        let started = command.and_then(|command| match command.start(args.chop) {
            Ok(child) => Some((child, command.is_less)),
            Err(error) => {
                console.warning(Message::Notable, format!("cannot start the pager `{}`: {error}", command.line));
                None
            }
        });
        let chopper = (args.chop && is_stdout && io::stdout().is_terminal())
            .then(|| terminal_size::terminal_size_of(io::stdout()))
            .flatten()
            .map(|(width, _)| Chopper::new(width.0.into()));
        let Some((mut child, is_less)) = started else {
            let output = Self { to: Target::Plain(Output::open(path)?), chopper };
            return Ok((TerminalWriter::new(output, shows), None));
        };
        let Some(input) = child.stdin.take() else { return Err(io::Error::other("the pager has no input")) };
        let output = Self { to: Target::Pager(input), chopper: chopper.filter(|_| !is_less) };
        Ok((TerminalWriter::new(output, shows), Some(Pager { child, is_less, held: Some(hold_messages()) })))
    }

    /// Ends the output. A file gets its name.
    ///
    /// # Errors
    /// The rest cannot be written, or the file cannot be renamed.
    pub fn commit(mut self) -> io::Result<()> {
        if let Some(chopper) = &mut self.chopper {
            let rest = chopper.finish();
            self.to.write_all(&rest)?;
        }
        match self.to {
            Target::Plain(output) => output.commit(),
            Target::Pager(mut input) => input.flush(),
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(output) => output.write(bytes),
            Self::Pager(input) => input.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(output) => output.flush(),
            Self::Pager(input) => input.flush(),
        }
    }
}

impl Write for ReportOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(chopper) = &mut self.chopper else { return self.to.write(bytes) };
        let chopped = chopper.chop(bytes);
        self.to.write_all(&chopped)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Writes the whole output of a command: to a file, standard output, or a pager.
///
/// # Errors
/// The output cannot be written.
pub fn print(console: &Console, text: &[u8], path: Option<&Path>, args: PagerArgs) -> CommandResult {
    let what = path.map_or(String::from("standard output"), |path| path.display().to_string());
    let failed = |error| Failure::write(&error, &what);
    let (opened, _pager) = ReportOutput::open(console, path, args).map_err(failed)?;
    // Declared after the pager, which ends when its input is dropped.
    let mut out = opened;
    out.write_all(text).map_err(failed)?;
    out.into_inner().commit().map_err(failed)?;
    Ok(Status::Well)
}

/// Cuts lines at a number of columns. Escape sequences of our own styles take no columns and are kept.
struct Chopper {
    width: usize,
    /// Line that has no end yet.
    line: Vec<u8>,
}

impl Chopper {
    fn new(width: usize) -> Self {
        Self { width: width.max(1), line: Vec::new() }
    }

    /// Lines of `bytes`, each cut. An unfinished line is kept.
    fn chop(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        self.line.extend_from_slice(bytes);
        let end = self.line.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let rest = self.line.split_off(end);
        for line in std::mem::replace(&mut self.line, rest).split_inclusive(|byte| *byte == b'\n') {
            self.push(line, &mut out);
        }
        out
    }

    /// The unfinished line.
    fn finish(&mut self) -> Vec<u8> {
        let (line, mut out) = (std::mem::take(&mut self.line), Vec::new());
        self.push(&line, &mut out);
        out
    }

    fn push(&self, line: &[u8], out: &mut Vec<u8>) {
        let text = String::from_utf8_lossy(line);
        let (mut column, mut escape) = (0, Escape::None);
        for letter in text.chars() {
            let mut bytes = [0; 4];
            let is_escape = letter == '\x1b' || escape != Escape::None;
            escape = escape.after(letter);
            let is_kept = match letter {
                _ if is_escape => true,
                '\n' | '\r' => true,
                '\t' => {
                    column += 8 - column % 8;
                    column <= self.width
                }
                letter => {
                    column += letter.width().unwrap_or(0);
                    column <= self.width
                }
            };
            if is_kept {
                out.extend_from_slice(letter.encode_utf8(&mut bytes).as_bytes());
            }
        }
    }
}

/// Part of an escape sequence of our own styles and links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    /// After the escape character.
    Begun,
    /// A style, which ends with a letter.
    Style,
    /// A link, which ends with an escape character and a backslash.
    Link,
}

impl Escape {
    fn after(self, letter: char) -> Self {
        match (self, letter) {
            (_, '\x1b') => Self::Begun,
            (Self::Begun, ']') => Self::Link,
            (Self::Begun, '[') => Self::Style,
            (Self::Style, letter) if !letter.is_ascii_alphabetic() => Self::Style,
            (Self::Link, _) => Self::Link,
            _ => Self::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_and_styles_are_kept() {
        let mut chopper = Chopper::new(4);
        assert_eq!(
            chopper.chop(b"abcdef\nab\n\x1b[2mabc\x1b[0mdefg\n\xe4\xb8\x96\xe4\xb8\x96x\nab"),
            "abcd\nab\n\x1b[2mabc\x1b[0md\n世世\n".as_bytes()
        );
        let link = b"\x1b]8;;file:///abcdef\x1b\\abc\x1b]8;;\x1b\\defg\n";
        assert_eq!(chopper.chop(link), b"ab\x1b]8;;file:///abcdef\x1b\\ab\x1b]8;;\x1b\\\n");
        assert_eq!(chopper.chop(b"abcdef"), b"");
        assert_eq!(chopper.finish(), b"abcd");
    }
}
