//! Messages on standard error, and exit statuses.

use super::files::Output;
use super::terminal::{TerminalWriter, visible};
use clap::{Args, ValueEnum};
use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tfbc::ReportColour;

/// Flags of every command.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct CommonArgs {
    /// When to use colour; `auto` means on a terminal unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true, value_enum, help_heading = "Messages")]
    pub color: Colour,
    /// Hide warnings, summaries and progress
    #[arg(long, global = true, help_heading = "Messages")]
    pub quiet: bool,
    /// Send control characters from traces to a terminal unchanged instead of showing them as \x07 or \u{9b}. Files and
    /// pipes always get them unchanged
    #[arg(long = "raw", global = true, help_heading = "Messages")]
    pub raw_text: bool,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Colour {
    // `auto` uses colour on a terminal unless NO_COLOR is set. A doc comment here would add lines to every help page.
    #[default]
    Auto,
    Always,
    Never,
}

/// Exit statuses, in order of severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// 0: success.
    Well,
    /// 2: the output is complete, but the trace contains damaged or truncated events.
    Damaged,
    /// 1: wrong usage, unreadable input, or errors in format files.
    Failed,
    /// 255: traceprinter 1.02 uses it instead of 1.
    CompatFailed,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Well => ExitCode::SUCCESS,
            Status::Failed => ExitCode::from(1),
            Status::Damaged => ExitCode::from(2),
            Status::CompatFailed => ExitCode::from(255),
        }
    }
}

/// Message numbers of the AIX commands. Numbers up to 899 are AIX's, since scripts may look for them. Numbers from 900
/// are ours, for messages whose AIX number is not public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// `trace -b` and `-B` have no effect.
    NoAllocation = 8,
    /// `trace -C` needs files, but `-o -` is a stream.
    NoStream = 9,
    /// A list of hook ids has a syntax error.
    BadIdList = 13,
    /// `trace -p` has no effect.
    NoCpuIds = 17,
    /// A stanza is defined twice.
    DuplicateId = 22,
    /// A hook id is expected.
    BadHookId = 25,
    /// A line of a file has an unknown form.
    BadFormat = 27,
    /// The version of a stanza is not readable.
    BadVersion = 28,
    /// A date is invalid.
    BadDate = 32,
    /// The log is too small for two buffers.
    SmallLog = 40,
    /// The log is too small for its buffer.
    SmallSingleLog = 41,
    /// `trace -c` has no effect.
    NothingToKeep = 42,
    /// `trace -n` has no effect.
    NoSymbols = 43,
    /// `trace -r` has no effect.
    NoRegisters = 47,
    /// PURR times are requested, but the trace has none.
    NoPurr = 48,
    /// Dates are ignored because events are selected by CPU.
    DatesIgnored = 51,
    /// The update was refused.
    NotUpdated = 65,
    /// A stanza is older than the one it replaces.
    OlderVersion = 66,
    /// A required stanza is missing.
    NoSuchStanza = 67,
    /// An interactive session can only be stopped at its own prompt.
    Interactive = 70,
    /// The channel already has a session.
    Active = 72,
    /// Templates read past the end of events.
    PastEnd = 75,
    /// The channel has no session.
    NotActive = 76,
    /// A trace event is invalid.
    InvalidEvent = 77,
    /// An event group has no hooks.
    EmptyGroup = 78,
    /// No action for event groups is given.
    NoAction = 101,
    /// Only one event group can be added or changed at a time.
    OneGroup = 105,
    /// More than one action for event groups is given.
    SeveralActions = 109,
    /// The event group already exists.
    GroupExists = 110,
    /// The event group does not exist.
    UnknownGroup = 111,
    /// A reserved event group cannot be changed.
    ReservedGroup = 113,
    /// The name of an event group is invalid.
    BadGroupName = 114,
    /// No session left events to recover.
    NothingToRecover = 121,
    /// Options must come before files.
    OptionBehindFile = 187,
    /// Unknown flag, or invalid value.
    Usage = 900,
    /// AIX has this flag, but this command does not.
    Unsupported = 901,
    /// An input cannot be read.
    Unreadable = 902,
    /// An output cannot be written.
    Unwritable = 903,
    /// Format files contain errors.
    Formats = 904,
    /// A fact about the trace that users should know.
    Notable = 905,
    /// An internal error.
    Internal = 906,
}

impl Message {
    /// Message for a number from the flag rules of `trace`.
    #[cfg(target_os = "linux")]
    pub fn of(number: u16) -> Self {
        use Message::*;
        let of_flags = [
            NoAllocation,
            NoStream,
            BadIdList,
            NoCpuIds,
            SmallLog,
            SmallSingleLog,
            NothingToKeep,
            NoSymbols,
            NoRegisters,
            EmptyGroup,
            UnknownGroup,
            Unsupported,
            Unreadable,
        ];
        of_flags.into_iter().find(|message| *message as u16 == number).unwrap_or(Usage)
    }
}

/// Reason why a command ended early.
#[derive(Debug)]
pub enum Failure {
    /// An error that is not printed yet.
    Error(Message, String),
    /// An error that has already been printed.
    AlreadyReported,
    /// The reader has closed the output, which is not an error.
    ClosedPipe,
}

impl Failure {
    /// Failure for a write error; a closed pipe is recognised. The output `-` is standard output.
    pub fn write(error: &io::Error, what: impl Display) -> Self {
        let what = what.to_string();
        let what = if what == "-" { "standard output" } else { &what };
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failure::ClosedPipe
        } else {
            Failure::Error(Message::Unwritable, format!("cannot write {what}: {error}"))
        }
    }
}

/// Result of a command.
pub type CommandResult = Result<Status, Failure>;

/// Messages that wait while another program, or a list, has the screen; `None` if they are written at once.
static HELD: Mutex<Option<String>> = Mutex::new(None);

fn held() -> MutexGuard<'static, Option<String>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps messages back until it is dropped. Messages that do not go to a terminal are not kept back.
#[derive(Debug)]
pub struct HeldMessages(());

/// Keeps messages back, because they would be drawn over a screen.
pub fn hold_messages() -> HeldMessages {
    if io::stderr().is_terminal() {
        held().get_or_insert_default();
    }
    HeldMessages(())
}

impl Drop for HeldMessages {
    fn drop(&mut self) {
        if let Some(text) = held().take() {
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }
}

/// Standard error, with the message style of one command.
#[derive(Debug, Clone, Copy)]
pub struct Console {
    /// True if messages have the form `0454-nnn text`.
    pub compatible: bool,
    /// True if standard error shows colour.
    pub colour: bool,
    /// When to use colour.
    when: Colour,
    /// True if summaries, warnings with counts, and progress are hidden.
    pub quiet: bool,
    /// True if control characters from traces are sent to a terminal unchanged.
    raw_text: bool,
    /// True if diagnostics are shown without source lines.
    pub terse: bool,
}

impl Console {
    /// Creates a console from the common flags.
    pub fn new(compatible: bool, common: CommonArgs) -> Self {
        let CommonArgs { color: when, quiet, raw_text } = common;
        // Standard error and standard output are decided separately: `tfbc report > file` still has coloured messages.
        let colour = match when {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never,
        };
        Self { compatible, colour, when, quiet, raw_text, terse: false }
    }

    /// True if a report to `output`, or to standard output, uses colour.
    pub fn colours_output(&self, output: Option<&Path>) -> bool {
        output.is_none_or(|path| path == Path::new("-"))
            && match self.when {
                Colour::Always => true,
                Colour::Never => false,
                Colour::Auto => anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
            }
    }

    /// Colours of a report to `output`, which [`Console::open`] opens.
    pub fn report_colour(&self, output: Option<&Path>) -> ReportColour {
        match self.colours_output(output) {
            false => ReportColour::Off,
            true if self.shows_controls() => ReportColour::Marked,
            true => ReportColour::Ansi,
        }
    }

    /// True if control characters from traces and files are shown as escapes on standard output.
    pub fn shows_controls(&self) -> bool {
        !self.raw_text && io::stdout().is_terminal()
    }

    /// Opens `path`, or standard output for `None` and `-`. A terminal never receives control characters from a trace.
    ///
    /// # Errors
    /// See [`Output::open`].
    pub fn open(&self, path: Option<&Path>) -> io::Result<TerminalWriter<Output>> {
        let out = Output::open(path)?;
        let shows = !self.raw_text && out.is_terminal();
        Ok(TerminalWriter::new(out, shows))
    }

    /// Writes text that contains no control characters from a trace or file. A closed standard error is ignored.
    pub fn write(&self, text: &str) {
        if let Some(held) = held().as_mut() {
            return held.push_str(text);
        }
        let _ = io::stderr().write_all(text.as_bytes());
    }

    /// Prints an error.
    pub fn error(&self, message: Message, text: impl Display) {
        self.print_message("error", anstyle::AnsiColor::BrightRed, message, &text);
    }

    /// Prints a warning.
    pub fn warning(&self, message: Message, text: impl Display) {
        if !self.quiet {
            self.print_message("warning", anstyle::AnsiColor::Yellow, message, &text);
        }
    }

    /// Prints a summary, unless `--quiet` is given.
    pub fn note(&self, text: impl Display) {
        if !self.quiet {
            self.write(&visible(&format!("{text}\n")));
        }
    }

    /// Prints a note if standard error is a terminal.
    pub fn note_on_terminal(&self, text: impl Display) {
        if io::stderr().is_terminal() {
            self.note(text);
        }
    }

    fn print_message(&self, word: &str, colour: anstyle::AnsiColor, message: Message, text: &dyn Display) {
        let text = text.to_string();
        // Messages quote names and labels from files. Control characters in them could rewrite the terminal's screen.
        let text = visible(&text);
        let line = if self.compatible {
            format!("0454-{:03} {text}\n", message as u16)
        } else if self.colour {
            let style = colour.on_default().bold();
            format!("{style}{word}{style:#}: {text}\n")
        } else {
            format!("{word}: {text}\n")
        };
        self.write(&line);
    }

    /// Prints the error of a command, if any, and returns its exit status.
    pub fn end(&self, ending: CommandResult) -> Status {
        match ending {
            Ok(status) => status,
            Err(Failure::ClosedPipe) => Status::Well,
            Err(Failure::AlreadyReported) => Status::Failed,
            Err(Failure::Error(message, text)) => {
                self.error(message, text);
                Status::Failed
            }
        }
    }

    /// Progress of a run over `size` bytes: a bar on a terminal, shown if the run takes more than a second.
    pub fn progress(&self, size: Option<u64>) -> Progress {
        Progress {
            wanted: !self.quiet && io::stderr().is_terminal() && held().is_none(),
            size,
            begun: Instant::now(),
            bar: None,
            place: String::new(),
            slow: String::new(),
            events: String::new(),
        }
    }
}

/// Progress bar of one run.
#[derive(Debug)]
pub struct Progress {
    wanted: bool,
    size: Option<u64>,
    begun: Instant,
    bar: Option<ProgressBar>,
    /// Number of this input, if there are several.
    place: String,
    /// Note that names a slow template.
    slow: String,
    /// Events, rate and time left.
    events: String,
}

impl Progress {
    /// Sets the number of this input, counted from 1.
    pub fn set_input(&mut self, at: usize, n: usize) {
        if n > 1 {
            self.place = format!("{at} of {n} ");
        }
    }

    /// Removes the bar permanently, because the length of the run is not known.
    pub fn leave_out(&mut self) {
        self.wanted = false;
    }

    /// Moves the bar.
    pub fn advance(&mut self, offset: u64, n_events: u64) {
        // A bar that appears for a fraction of a second only flickers.
        if !self.wanted || (self.bar.is_none() && self.begun.elapsed() < Duration::from_secs(1)) {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| bar(self.size).with_prefix(self.place.clone()));
        self.events = progress_text(offset, self.size, n_events, self.begun.elapsed());
        bar.set_message(format!("{}{}", self.events, std::mem::take(&mut self.slow)));
        bar.set_position(offset);
    }

    /// Names a template that takes most of the time.
    pub fn slow(&mut self, template: &str) {
        // A slow template stops the progress bar, so its name is shown.
        if !self.wanted || self.begun.elapsed() < Duration::from_secs(1) {
            return;
        }
        self.slow = format!(", slow: {}", visible(template));
        let bar = self.bar.get_or_insert_with(|| bar(self.size).with_prefix(self.place.clone()));
        bar.set_message(format!("{}{}", self.events, self.slow));
        bar.tick();
    }

    /// Runs `say` while the bar is hidden.
    pub fn suspend(&self, say: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(say),
            None => say(),
        }
    }

    /// Removes the bar.
    pub fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn bar(size: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(size, ProgressDrawTarget::stderr());
    let template = match size {
        Some(_) => "{prefix}{wide_bar} {bytes}/{total_bytes} {msg}",
        None => "{prefix}{spinner} {bytes} {msg}",
    };
    let style = match size {
        Some(_) => ProgressStyle::default_bar(),
        None => ProgressStyle::default_spinner(),
    };
    bar.set_style(style.clone().template(template).unwrap_or(style));
    bar
}

/// Events, rate and time left after reading `done` bytes in `elapsed`. The rate is the average of the whole run: chunks
/// of a trace arrive in bursts, so a rate of the last moments would jump.
fn progress_text(done: u64, size: Option<u64>, n_events: u64, elapsed: Duration) -> String {
    let rate = done as f64 / elapsed.as_secs_f64().max(1e-9);
    let text = format!("{} events {}/s", HumanCount(n_events), HumanBytes(rate as u64));
    match size {
        Some(size) if done > 0 => {
            let seconds = size.saturating_sub(done) as f64 / rate;
            let left = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
            format!("{text} {:#} left", HumanDuration(left))
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_and_time_left_are_of_the_whole_run() {
        const MIB: u64 = 1 << 20;
        let text = |done, size, seconds| progress_text(done, size, 12_345, Duration::from_secs_f64(seconds));
        assert_eq!(text(500 * MIB, Some(2000 * MIB), 5.0), "12,345 events 100.00 MiB/s 15s left");
        assert_eq!(text(512, Some(1024), 0.5), "12,345 events 1.00 KiB/s 1s left");
        assert_eq!(text(6 * MIB, Some(30 * MIB), 600.0), "12,345 events 10.24 KiB/s 40m left");
        assert_eq!(text(30 * MIB, None, 10.0), "12,345 events 3.00 MiB/s");
        // No rate is known before the first byte. A file that has grown past its size has no time left.
        assert_eq!(text(0, Some(MIB), 2.0), "12,345 events 0 B/s");
        assert_eq!(text(3 * MIB, Some(MIB), 3.0), "12,345 events 1.00 MiB/s 0s left");
    }
}
