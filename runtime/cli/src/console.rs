//! What commands say on standard error, and how they end.

use super::CommonArgs;
use clap::ValueEnum;
use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tfbc::output::Output;
use tfbc::screen::{Screen, visible};

/// When there is colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Colour {
    // `auto` is on a terminal, unless NO_COLOR is set. Comments would become lines of every help page.
    #[default]
    Auto,
    Always,
    Never,
}

/// Exit statuses, by severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// 0: all well.
    Well,
    /// 2: the output is complete, but the trace held damaged or cut events.
    Damaged,
    /// 1: usage, unreadable input, format errors.
    Failed,
    /// 255: what traceprinter 1.02 ends with in place of 1.
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

/// Numbers of the messages of the compatible commands: up to 899 those that scripts written for AIX may know, from 900
/// ours, where no number is public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// `trace -b` and `-B` have no effect.
    NoAllocation = 8,
    /// A list of hook ids with a form that is none.
    BadIdList = 13,
    /// `trace -p` has no effect.
    NoCpuIds = 17,
    /// A stanza stands twice.
    DuplicateId = 22,
    /// Where a hook id belongs, there is none.
    BadHookId = 25,
    /// A line of a file that has no such lines.
    BadFormat = 27,
    /// A stanza's version cannot be read.
    BadVersion = 28,
    /// A date that is none.
    BadDate = 32,
    /// A log is too small for two buffers.
    SmallLog = 40,
    /// A log is too small for its buffer.
    SmallSingleLog = 41,
    /// `trace -c` has no effect.
    NothingToKeep = 42,
    /// `trace -n` has no effect.
    NoSymbols = 43,
    /// `trace -r` has no effect.
    NoRegisters = 47,
    /// Times of the PURR register are asked for, and the trace has none.
    NoPurr = 48,
    /// Events are chosen by CPU, and so not by date.
    DatesIgnored = 51,
    /// An update was refused.
    NotUpdated = 65,
    /// A stanza is older than the one that it is to replace.
    OlderVersion = 66,
    /// A stanza that is needed is missing.
    NoSuchStanza = 67,
    /// An interactive session is stopped where it was started.
    Interactive = 70,
    /// The channel is being recorded.
    Active = 72,
    /// Templates read past the end of events.
    PastEnd = 75,
    /// The channel is not being recorded.
    NotActive = 76,
    /// A trace event that is none.
    InvalidEvent = 77,
    /// An event group has no hooks.
    EmptyGroup = 78,
    /// No action on event groups is asked for.
    NoAction = 101,
    /// One event group is added or changed at a time.
    OneGroup = 105,
    /// More than one action on event groups is asked for.
    SeveralActions = 109,
    /// There is an event group of this name.
    GroupExists = 110,
    /// There is no event group of this name.
    UnknownGroup = 111,
    /// A reserved event group stays as it is.
    ReservedGroup = 113,
    /// This is no name of an event group.
    BadGroupName = 114,
    /// There is no session to recover.
    NothingToRecover = 121,
    /// Options stand before files.
    OptionBehindFile = 187,
    /// A flag or value that does not exist.
    Usage = 900,
    /// A flag that exists on AIX, and not here.
    Unsupported = 901,
    /// An input that cannot be read.
    Unreadable = 902,
    /// An output that cannot be written.
    Unwritable = 903,
    /// Format files with errors.
    Formats = 904,
    /// Something about the trace that is worth knowing.
    Notable = 905,
    /// A fault of this program.
    Internal = 906,
}

impl Message {
    /// The message of a number that the rules of `trace`'s flags give.
    #[cfg(target_os = "linux")]
    pub fn of(number: u16) -> Self {
        use Message::*;
        let of_flags = [
            NoAllocation,
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

/// Why a command ended early.
#[derive(Debug)]
pub enum Failure {
    /// To be said.
    Say(Message, String),
    /// It has been said.
    Said,
    /// Nobody reads the output any more: no failure at all.
    ClosedPipe,
}

impl Failure {
    /// A failed write, of which a closed pipe is one.
    pub fn write(error: &io::Error, what: impl Display) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failure::ClosedPipe
        } else {
            Failure::Say(Message::Unwritable, format!("cannot write {what}: {error}"))
        }
    }
}

/// How a command ends.
pub type Ending = Result<Status, Failure>;

/// Standard error, spoken to in the manner of one command.
#[derive(Debug, Clone, Copy)]
pub struct Console {
    /// Messages are `0454-nnn text`.
    pub compatible: bool,
    /// Whether standard error takes colour.
    pub colour: bool,
    /// When there is colour.
    when: Colour,
    /// Whether summaries, warnings about counts and progress stay away.
    pub quiet: bool,
    /// Whether a terminal gets what a trace holds as it is.
    raw_text: bool,
    /// Whether findings about format files are shown without their source lines.
    pub terse: bool,
}

impl Console {
    /// A console by what the command line says.
    pub fn new(compatible: bool, common: CommonArgs) -> Self {
        let CommonArgs { color: when, quiet, raw_text } = common;
        let colour = match when {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never,
        };
        Self { compatible, colour, when, quiet, raw_text, terse: false }
    }

    /// Whether a report takes colour that goes to `output`, or to standard output.
    pub fn colours_output(&self, output: Option<&Path>) -> bool {
        output.is_none_or(|path| path == Path::new("-"))
            && match self.when {
                Colour::Always => true,
                Colour::Never => false,
                Colour::Auto => anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
            }
    }

    /// True if control characters of traces and files are made visible on standard output.
    pub fn shows_controls(&self) -> bool {
        !self.raw_text && io::stdout().is_terminal()
    }

    /// Opens `path`, or standard output for `None` and `-`. A terminal gets no control characters of a trace.
    ///
    /// # Errors
    /// As of [`Output::open`].
    pub fn open(&self, path: Option<&Path>) -> io::Result<Screen<Output>> {
        let out = Output::open(path)?;
        let shows = !self.raw_text && out.is_terminal();
        Ok(Screen::new(out, shows, self.colours_output(path)))
    }

    /// Writes text as it is, which has no control characters of a trace or file. A standard error that is closed is nobody's loss.
    pub fn write(&self, text: &str) {
        let _ = io::stderr().write_all(text.as_bytes());
    }

    /// Says what went wrong.
    pub fn error(&self, message: Message, text: impl Display) {
        self.say("error", anstyle::AnsiColor::BrightRed, message, &text);
    }

    /// Says what is probably not meant.
    pub fn warning(&self, message: Message, text: impl Display) {
        if !self.quiet {
            self.say("warning", anstyle::AnsiColor::Yellow, message, &text);
        }
    }

    /// A summary.
    pub fn note(&self, text: impl Display) {
        if !self.quiet {
            self.write(&visible(&format!("{text}\n")));
        }
    }

    /// A word to somebody who watches: on a terminal only.
    pub fn note_on_terminal(&self, text: impl Display) {
        if io::stderr().is_terminal() {
            self.note(text);
        }
    }

    fn say(&self, word: &str, colour: anstyle::AnsiColor, message: Message, text: &dyn Display) {
        let text = text.to_string();
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

    /// Turns a command's ending into its exit status, and says what is to be said.
    pub fn end(&self, ending: Ending) -> Status {
        match ending {
            Ok(status) => status,
            Err(Failure::ClosedPipe) => Status::Well,
            Err(Failure::Said) => Status::Failed,
            Err(Failure::Say(message, text)) => {
                self.error(message, text);
                Status::Failed
            }
        }
    }

    /// The progress of a run through `size` bytes: a bar on a terminal, once the run takes more than a second.
    pub fn progress(&self, size: Option<u64>) -> Progress {
        Progress {
            wanted: !self.quiet && io::stderr().is_terminal(),
            size,
            begun: Instant::now(),
            bar: None,
            place: String::new(),
            slow: String::new(),
            events: String::new(),
        }
    }
}

/// The bar of one run.
#[derive(Debug)]
pub struct Progress {
    wanted: bool,
    size: Option<u64>,
    begun: Instant,
    bar: Option<ProgressBar>,
    /// Which one of several inputs it is.
    place: String,
    /// Text that names a template that takes most of the time.
    slow: String,
    /// Events, rate and time left.
    events: String,
}

impl Progress {
    /// The bar of one of several inputs, counted from 1.
    pub fn among(&mut self, at: usize, n: usize) {
        if n > 1 {
            self.place = format!("{at} of {n} ");
        }
    }

    /// Takes the bar away for good: the run has no end that could be told.
    pub fn leave_out(&mut self) {
        self.wanted = false;
    }

    /// Moves the bar.
    pub fn advance(&mut self, offset: u64, n_events: u64) {
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
        if !self.wanted || self.begun.elapsed() < Duration::from_secs(1) {
            return;
        }
        self.slow = format!(", slow: {}", visible(template));
        let bar = self.bar.get_or_insert_with(|| bar(self.size).with_prefix(self.place.clone()));
        bar.set_message(format!("{}{}", self.events, self.slow));
        bar.tick();
    }

    /// Runs `say` with the bar out of the way.
    pub fn suspend(&self, say: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(say),
            None => say(),
        }
    }

    /// Takes the bar away.
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

/// Events, rate and time left of a run that has read `done` bytes in `elapsed`. The rate is that of the whole run: one
/// that follows the last moments jumps, since chunks of a trace arrive in bursts.
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
        // Nothing is known before the first byte, and nothing is left of a file that has grown.
        assert_eq!(text(0, Some(MIB), 2.0), "12,345 events 0 B/s");
        assert_eq!(text(3 * MIB, Some(MIB), 3.0), "12,345 events 1.00 MiB/s 0s left");
    }
}
