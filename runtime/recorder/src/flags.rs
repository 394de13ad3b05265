//! Flags of `trace`, and the rules that turn them into [`TraceOptions`].

use crate::groups;
use crate::groups::{GroupError, Groups};
use crate::options::{Chosen, CpuLogs, Hooks, Mode, Output, Propagation, TraceOptions};
use crate::record::Width;
use std::fmt;
use std::path::{Path, PathBuf};
use tfbc::aix::IdSet;

/// Minimum of `-T`, in bytes.
pub const MIN_BUFFER: u64 = 8192;
/// Maximum of `-T`, in bytes.
pub const MAX_BUFFER: u64 = (256 << 20) - 272;
/// Maximum size of a 32-bit log, whose offsets have 32 bits.
const MAX_LOG_32: u64 = u32::MAX as u64;

/// Message number for unknown flags; ours, since AIX's number is not public.
const USAGE: u16 = 900;
/// Message number for a flag of AIX that is not supported here.
const UNSUPPORTED: u16 = 901;
/// Message number for an unreadable input.
const UNREADABLE: u16 = 902;

/// Message about flags, with AIX's number if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Number after `0454-`.
    pub number: u16,
    /// Text, on one line without a line end.
    pub text: String,
}

impl Notice {
    fn new(number: u16, text: impl Into<String>) -> Self {
        Self { number, text: text.into() }
    }

    /// Message about an unknown flag or value.
    pub fn usage(text: impl Into<String>) -> Self {
        Self::new(USAGE, text)
    }
}

impl fmt::Display for Notice {
    /// Writes the line as AIX's commands do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0454-{:03} {}", self.number, self.text)
    }
}

impl std::error::Error for Notice {}

/// Program to run during a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Command line of the program.
    pub command: String,
    /// True if the session continues after the program ends, for the processes that it started (`-X`).
    pub outlived: bool,
}

/// Flags from a command line, not yet checked for consistency.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flags {
    /// `-a`: in the background, without a prompt.
    pub background: bool,
    /// `-d`: start with collection off.
    pub off: bool,
    /// `-f`: one buffer; events after it is full are lost.
    pub single: bool,
    /// `-l`: one buffer, whose oldest events are overwritten.
    pub circular: bool,
    /// `-g`: use a free channel from 1 to 7 instead of channel 0.
    pub generic: bool,
    /// `-h`: no date, system and message events.
    pub headless: bool,
    /// `-j`: lists of ids.
    pub only: Vec<String>,
    /// `-J`: lists of event groups.
    pub only_groups: Vec<String>,
    /// `-k`: lists of ids.
    pub except: Vec<String>,
    /// `-K`: lists of event groups.
    pub except_groups: Vec<String>,
    /// `-m`: text for the header.
    pub message: Option<String>,
    /// `-n`: store the symbols of the traced programs in the log.
    pub symbols: bool,
    /// `-o`; `-` is standard output.
    pub output: Option<PathBuf>,
    /// `-c`: keep an old log of the same name as `NAME.old`.
    pub keeps_old: bool,
    /// `-p`: each event contains its CPU.
    pub cpu_ids: bool,
    /// `-s`: stop when the log is full instead of wrapping.
    pub stops_when_full: bool,
    /// `-L`, as given.
    pub log_size: Option<String>,
    /// `-T`, as given.
    pub buffer_size: Option<String>,
    /// `--bits`: 32 or 64.
    pub bits: Option<String>,
    /// `-S`: print the sizes of buffers and log.
    pub shows_sizes: bool,
    /// `-x`, `-X`.
    pub program: Option<Program>,
    /// `-r`: registers.
    pub registers: Option<String>,
    /// `-A`: lists of processes.
    pub processes: Vec<String>,
    /// `-t`: lists of threads, or `all`.
    pub threads: Vec<String>,
    /// `-P`: `n`, `t` or `p`.
    pub propagation: Option<String>,
    /// `-C`: lists of CPUs, or `all`.
    pub cpus: Vec<String>,
    /// `-b` or `-B`.
    pub allocation: Option<char>,
    /// First flag on the command line that AIX has and this command does not.
    pub refused: Option<&'static str>,
    /// Command line, for the header of the trace.
    pub command: String,
}

/// Flags that AIX has and this command does not: flag, true if it takes a value, and reason.
pub const REFUSED: [(&str, bool, &str); 5] = [
    ("M", false, "only AIX's kernel knows the address maps of all processes: -n records the traced programs' symbols"),
    ("N", false, "what it does on AIX is not public"),
    ("W", false, WPARS),
    ("@", true, WPARS),
    ("e", true, "it controls the component traces of AIX's kernel"),
];
const WPARS: &str = "workload partitions exist only on AIX";

impl Flags {
    /// Parses a command line without the command name, like `getopt`: flags can share a word (`-ad`), and a value can
    /// follow its flag directly (`-ofile`) or as the next word.
    ///
    /// # Errors
    /// An unknown flag, a missing value, or a word that is not a flag.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, Notice> {
        let words: Vec<String> = words.into_iter().collect();
        let mut flags = Flags {
            command: ["trace"].into_iter().chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join(" "),
            ..Flags::default()
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if word == "--" {
                break;
            }
            if let Some(bits) = word.strip_prefix("--bits") {
                let value = match bits.strip_prefix('=') {
                    Some(value) => Some(value.to_owned()),
                    None if bits.is_empty() => words.next(),
                    None => return Err(Notice::usage(format!("unknown flag `{word}`"))),
                };
                flags.bits = Some(value.ok_or_else(|| Notice::usage("--bits: the value is missing: 32 or 64"))?);
                continue;
            }
            let mut letters = match word.strip_prefix('-') {
                Some(letters) if !letters.is_empty() && !letters.starts_with('-') => letters.chars(),
                Some(_) if word.starts_with("--") => return Err(Notice::usage(format!("unknown flag `{word}`"))),
                _ => return Err(not_a_flag(&word)),
            };
            // As getopt: `-adl` is three flags, `-ofile` one with its value.
            while let Some(flag) = letters.next() {
                if flags.switch(flag) {
                    continue;
                }
                if !takes_value(flag) {
                    return Err(Notice::usage(format!("unknown flag `-{flag}`")));
                }
                let rest: String = letters.by_ref().collect();
                let value = if rest.is_empty() { words.next() } else { Some(rest) };
                let value = value.ok_or_else(|| Notice::usage(format!("-{flag}: the value is missing")))?;
                flags.set(flag, value);
            }
        }
        words.next().map_or(Ok(flags), |word| Err(not_a_flag(&word)))
    }

    /// Sets a flag without a value; false if it does not exist.
    fn switch(&mut self, flag: char) -> bool {
        match flag {
            'a' => self.background = true,
            'b' | 'B' => self.allocation = Some(flag),
            'c' => self.keeps_old = true,
            'd' => self.off = true,
            'f' => self.single = true,
            'g' => self.generic = true,
            'h' => self.headless = true,
            'l' => self.circular = true,
            'n' => self.symbols = true,
            'p' => self.cpu_ids = true,
            's' => self.stops_when_full = true,
            'S' => self.shows_sizes = true,
            // Accepted without effect: programs record no interrupts.
            'I' => {}
            _ => return refused(flag).is_some_and(|(flag, has_value, _)| !has_value && self.refuse(flag)),
        }
        true
    }

    /// Sets a flag that [takes a value](takes_value).
    fn set(&mut self, flag: char, value: String) {
        match flag {
            'j' => self.only.push(value),
            'J' => self.only_groups.push(value),
            'k' => self.except.push(value),
            'K' => self.except_groups.push(value),
            'm' => self.message = Some(value),
            'o' => self.output = Some(value.into()),
            'L' => self.log_size = Some(value),
            'T' => self.buffer_size = Some(value),
            'r' => self.registers = Some(value),
            'A' => self.processes.push(value),
            't' => self.threads.push(value),
            'P' => self.propagation = Some(value),
            'C' => self.cpus.push(value),
            'x' | 'X' => self.program = Some(Program { command: value, outlived: flag == 'X' }),
            _ => drop(refused(flag).map(|(flag, ..)| self.refuse(flag))),
        }
    }

    fn refuse(&mut self, flag: &'static str) -> bool {
        self.refused.get_or_insert(flag);
        true
    }

    /// Options for the flags, and warnings about ignored flags.
    ///
    /// # Errors
    /// The first rule that the flags violate.
    pub fn options(&self) -> Result<(TraceOptions, Vec<Notice>), Notice> {
        // Checked before anything is opened, because a refused flag must have no effect at all.
        self.refuse_flags()?;
        let trace = match self.bits.as_deref() {
            None | Some("64") => Width::W64,
            Some("32") => Width::W32,
            Some(other) => return Err(Notice::usage(format!("--bits: expected 32 or 64, found `{other}`"))),
        };
        let mode = self.mode();
        let (log_size, buffer_size) = self.sizes(mode, trace)?;
        let mut options = TraceOptions {
            background: self.background,
            off: self.off,
            mode,
            generic: self.generic,
            headless: self.headless,
            hooks: self.hooks()?,
            message: self.message.as_ref().map(|message| message.clone().into_bytes()),
            symbols: self.symbols,
            output: match &self.output {
                None => Output::Default,
                Some(path) if path == Path::new("-") => Output::Stdout,
                Some(path) => Output::File(path.clone()),
            },
            keeps_old: self.keeps_old,
            cpu_ids: self.cpu_ids,
            cpu_logs: self.cpu_logs()?,
            chosen: self.chosen()?,
            stops_when_full: self.stops_when_full,
            log_size,
            buffer_size,
            trace,
            command: self.command.clone().into_bytes(),
        };
        let warnings = self.leave_out(&mut options);
        Ok((options, warnings))
    }

    fn refuse_flags(&self) -> Result<(), Notice> {
        if let Some((flag, _, why)) = REFUSED.iter().find(|(flag, ..)| self.refused == Some(flag)) {
            return Err(Notice::new(UNSUPPORTED, format!("flag -{flag} is refused: {why}")));
        }
        if self.single && self.circular {
            return Err(Notice::usage(
                "-f and -l cannot be combined: a single buffer either stops when it is full or wraps",
            ));
        }
        if self.generic && !self.background && self.program.is_none() {
            return Err(Notice::usage("-g needs -a: a generic channel is recorded in the background"));
        }
        Ok(())
    }

    /// Thread filter of `-A`, `-t` and `-P`; `None` for all threads.
    fn chosen(&self) -> Result<Option<Chosen>, Notice> {
        let propagation = match self.propagation.as_deref() {
            None | Some("n") => Propagation::None,
            Some("t") => Propagation::Threads,
            Some("p") => Propagation::Processes,
            Some(other) => {
                let text = format!("-P: expected n (none), t (threads) or p (processes), found `{other}`");
                return Err(Notice::usage(text));
            }
        };
        let is_all = |list: &String| matches!(list.trim(), "all" | "*");
        let named = self.threads.iter().filter(|list| !is_all(list));
        let processes = numbers("-A", "a process", self.processes.iter())?;
        let threads = numbers("-t", "a thread", named)?;
        if let Some(missing) = processes.iter().chain(&threads).find(|id| !Path::new(&format!("/proc/{id}")).exists()) {
            let (flag, what) = if processes.contains(missing) { ("-A", "process") } else { ("-t", "thread") };
            return Err(Notice::usage(format!("{flag}: there is no {what} {missing}")));
        }
        if self.propagation.is_some() && processes.is_empty() && self.threads.is_empty() {
            return Err(Notice::usage("-P needs -A or -t, which name the processes or threads to start from"));
        }
        if processes.is_empty() && (threads.is_empty() || self.threads.iter().any(is_all)) {
            return Ok(None);
        }
        if self.generic {
            return Err(Notice::usage("-A and -t cannot be used with -g: a generic channel records all programs"));
        }
        Ok(Some(Chosen { processes, threads, propagation }))
    }

    /// CPUs of `-C`.
    fn cpu_logs(&self) -> Result<Option<CpuLogs>, Notice> {
        if self.cpus.is_empty() {
            return Ok(None);
        }
        if self.output.as_deref() == Some(Path::new("-")) {
            return Err(Notice::new(9, "-C and -o - cannot be combined: a stream cannot have one log per CPU"));
        }
        if self.cpus.iter().any(|list| list.trim() == "all") {
            return Ok(Some(CpuLogs::All));
        }
        let cpus = numbers("-C", "a CPU", self.cpus.iter())?;
        let n_cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        match cpus.iter().find(|cpu| **cpu >= n_cpus) {
            Some(cpu) => Err(Notice::usage(format!("-C: there is no CPU {cpu}: the last one is {}", n_cpus - 1))),
            None => Ok(Some(CpuLogs::Only(cpus.into_iter().map(|cpu| cpu as u16).collect()))),
        }
    }

    fn mode(&self) -> Mode {
        match (self.single, self.circular) {
            (true, _) => Mode::Single,
            (_, true) => Mode::Circular,
            _ => Mode::Alternate,
        }
    }

    /// Sizes of log and buffer. If only one is given, the other is adjusted to it.
    fn sizes(&self, mode: Mode, trace: Width) -> Result<(u64, u64), Notice> {
        let (default_log, default_buffer) = default_sizes(trace);
        let n_buffers = if mode == Mode::Alternate { 2 } else { 1 };
        let given = |flag, text: &Option<String>| text.as_deref().map(|text| size(flag, text)).transpose();
        let (log, buffer) = match (given('L', &self.log_size)?, given('T', &self.buffer_size)?) {
            (None, None) => (default_log, default_buffer),
            (Some(log), None) => (log, default_buffer.min(log / n_buffers).max(MIN_BUFFER)),
            (None, Some(buffer)) => (default_log.max(buffer.saturating_mul(n_buffers)), buffer),
            (Some(log), Some(buffer)) => (log, buffer),
        };
        if !(MIN_BUFFER..=MAX_BUFFER).contains(&buffer) {
            let text = format!("-T: a buffer has {MIN_BUFFER} to {MAX_BUFFER} bytes, found {buffer}");
            return Err(Notice::usage(text));
        }
        if log < n_buffers * buffer {
            let (number, need) = if n_buffers == 2 { (40, "two buffers") } else { (41, "its buffer") };
            let text = format!("a log of {log} bytes (-L) has no room for {need} of {buffer} bytes (-T)");
            return Err(Notice::new(number, text));
        }
        if trace == Width::W32 && log > MAX_LOG_32 {
            return Err(Notice::usage(format!("-L: a 32-bit log has at most {MAX_LOG_32} bytes, found {log}")));
        }
        Ok((log, buffer))
    }

    fn hooks(&self) -> Result<Hooks, Notice> {
        let only = chosen(&self.only, &self.only_groups)?;
        let except = chosen(&self.except, &self.except_groups)?;
        Ok(match (only, except) {
            (None, None) => Hooks::All,
            (None, Some(except)) => Hooks::Except(except.iter().collect()),
            (Some(only), except) => {
                let is_left_out = |id| except.as_ref().is_some_and(|except| except.contains(id));
                Hooks::Only(only.iter().filter(|id| !is_left_out(*id)).collect())
            }
        })
    }

    /// Removes options that have no effect with other flags or on this system, and returns a warning for each.
    fn leave_out(&self, options: &mut TraceOptions) -> Vec<Notice> {
        let mut warnings = Vec::new();
        let mut warn = |number, text: &str| warnings.push(Notice::new(number, text));
        if let Some(flag) = self.allocation {
            warn(8, &format!("-{flag} is ignored: the location of kernel buffers does not exist on this system"));
        }
        // A warning and not an error, because scripts for AIX give these flags.
        if options.cpu_ids && options.trace == Width::W32 {
            warn(17, "-p is ignored: only events of a 64-bit trace have room for a CPU");
            options.cpu_ids = false;
        }
        if options.keeps_old && options.output == Output::Stdout {
            warn(42, "-c is ignored: with -o - there is no log to keep");
            options.keeps_old = false;
        }
        if options.symbols && options.headless {
            warn(43, "-n is ignored: -h leaves out symbols with the rest of the header");
            options.symbols = false;
        }
        if let Some(registers) = &self.registers {
            warn(47, &format!("-r {registers} is ignored: programs cannot read these registers on this system"));
        }
        warnings
    }
}

/// Default sizes of the log and of a buffer, in bytes.
pub fn default_sizes(trace: Width) -> (u64, u64) {
    match trace {
        Width::W32 => (5 << 18, 128 << 10),
        Width::W64 => (5 << 19, 256 << 10),
    }
}

/// Numbers from lists separated by commas or blanks.
fn numbers<'l>(flag: &str, what: &str, lists: impl Iterator<Item = &'l String>) -> Result<Vec<u32>, Notice> {
    let words = lists.flat_map(|list| list.split([',', ' ', '\t'])).filter(|word| !word.is_empty());
    let number = |word: &str| {
        word.parse().map_err(|_| Notice::usage(format!("{flag}: `{word}` is not the number of {what}, such as 4711")))
    };
    words.map(number).collect()
}

fn refused(flag: char) -> Option<&'static (&'static str, bool, &'static str)> {
    REFUSED.iter().find(|(letter, ..)| letter.starts_with(flag))
}

fn takes_value(flag: char) -> bool {
    "jJkKmoLTrxXAtPC".contains(flag) || refused(flag).is_some_and(|(_, has_value, _)| *has_value)
}

fn not_a_flag(word: &str) -> Notice {
    Notice::usage(format!("`{word}` is not a flag: name the log with -o"))
}

/// Parses a number of bytes.
fn size(flag: char, text: &str) -> Result<u64, Notice> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_number);
    number.ok_or_else(|| Notice::usage(format!("-{flag}: expected a number of bytes, found `{text}`")))
}

/// Ids from lists and groups, combined; `None` if there are neither.
fn chosen(lists: &[String], group_lists: &[String]) -> Result<Option<IdSet>, Notice> {
    let mut ids = IdSet::default();
    for list in lists {
        ids.extend(&IdSet::parse(list).map_err(|error| Notice::new(13, error.to_string()))?);
    }
    if !group_lists.is_empty() {
        let groups = load_groups()?;
        for name in group_lists.iter().flat_map(|list| list.split([',', ' ', '\t'])).filter(|name| !name.is_empty()) {
            ids.extend(&groups.hooks(name).map_err(|error| wrong_group(&error))?);
        }
    }
    Ok((!lists.is_empty() || !group_lists.is_empty()).then_some(ids))
}

fn load_groups() -> Result<Groups, Notice> {
    let Some(path) = groups::default_path() else {
        return Groups::parse(Vec::new()).map_err(|error| Notice::new(UNREADABLE, error.to_string()));
    };
    Groups::load(&path).map_err(|error| Notice::new(UNREADABLE, format!("cannot read {}: {error}", path.display())))
}

fn wrong_group(error: &GroupError) -> Notice {
    match error {
        GroupError::Unknown(_) => Notice::new(111, format!("{error}: `trcevgrp -l` lists the existing groups")),
        GroupError::Empty(_) => Notice::new(78, error.to_string()),
        _ => Notice::new(13, error.to_string()),
    }
}

/// Splits a text into words at blanks, except in quotes and after a backslash.
///
/// ```
/// let words = tfbc_recorder::flags::words(r#"-ad -m 'two words' "a\"b" "#)?;
/// assert_eq!(words, ["-ad", "-m", "two words", "a\"b"]);
/// # Ok::<(), tfbc_recorder::flags::Notice>(())
/// ```
///
/// # Errors
/// A missing closing quote.
pub fn words(text: &str) -> Result<Vec<String>, Notice> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match (char, quote) {
            (_, Some(mark)) if char == mark => quote = None,
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(chars.next()),
            ('\'' | '"', None) => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (' ' | '\t' | '\n', None) => words.extend(word.take()),
            _ => word.get_or_insert_default().push(char),
        }
    }
    if let Some(mark) = quote {
        return Err(Notice::usage(format!("the {mark} in `{text}` is not closed")));
    }
    words.extend(word);
    Ok(words)
}

impl TraceOptions {
    /// Parses options as text, in the form that `trcstart` takes: flags of `trace` separated by blanks. Quotes protect
    /// blanks, and a backslash protects the next character. The session always runs in the background.
    ///
    /// ```
    /// use tfbc_recorder::options::{Hooks, TraceOptions};
    /// let options = TraceOptions::parse("-ad -j 010 -m 'a message'")?;
    /// assert!(options.background && options.off && options.message == Some(b"a message".to_vec()));
    /// assert_eq!(options.hooks, Hooks::Only(vec![0x0100]));
    /// assert_eq!(TraceOptions::parse("-j xyz").unwrap_err().number, 13);
    /// # Ok::<(), tfbc_recorder::flags::Notice>(())
    /// ```
    ///
    /// # Errors
    /// The first rule that the flags violate.
    pub fn parse(text: &str) -> Result<Self, Notice> {
        Self::parse_with(text, |_| {})
    }

    /// Parses options as [`parse`](Self::parse) does, and passes each warning to `warn`.
    ///
    /// # Errors
    /// The first rule that the flags violate.
    pub fn parse_with(text: &str, warn: impl FnMut(&Notice)) -> Result<Self, Notice> {
        let mut flags = Flags::parse(words(text)?)?;
        flags.background = true;
        if flags.shows_sizes || flags.program.is_some() {
            return Err(Notice::usage("-S, -x and -X are only for the command `trace`"));
        }
        let (options, warnings) = flags.options()?;
        warnings.iter().for_each(warn);
        Ok(options)
    }
}
