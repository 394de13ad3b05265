//! `tfbc browse`: a report as a list on the terminal.

use super::console::{self, CommandResult, Console, Failure, Message, Status};
use super::events_args::EventsArgs;
use super::filter_args::FilterArgs;
use super::formats;
use super::inputs;
use super::terminal::visible;
use super::trace;
use clap::{Args, Parser};
use std::cell::OnceCell;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::NamedTempFile;
use tfbc::aix::AixKind;
use tfbc::{Formats, Pattern, TraceInfo, TraceKind};
use tfbc_authoring::hexview::Explainer;
use tfbc_browse::{Opened, Reading, Row, RowKind, Settings, browse, dump};

/// Flags of `tfbc browse`.
#[derive(Debug, Clone, Args)]
pub struct BrowseArgs {
    /// Bytes of the temporary file that keeps the rows, compressed. The list ends there
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 30, help_heading = "Limits")]
    max_spill: u64,
    #[command(flatten)]
    events: EventsArgs,
    /// Trace; `-` is standard input. Compressed files (.gz, .zst, .Z) are unpacked
    #[arg(value_name = "TRACE", required_unless_present = "dialect")]
    trace: Option<PathBuf>,
}

/// Flags that are typed as a filter.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct FilterLine {
    #[command(flatten)]
    filter: FilterArgs,
}

/// Parses a typed filter: flags, or a pattern as for `--grep`.
fn typed_filter(line: &str) -> Result<FilterArgs, String> {
    if !line.starts_with('-') {
        let grep = Pattern::new(line).map_err(|_| format!("`{line}` is not a regular expression"))?;
        return Ok(FilterArgs::of_pattern(grep));
    }
    let words = shlex::split(line).ok_or_else(|| String::from("a quote is not closed"))?;
    let parsed = FilterLine::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        first.strip_prefix("error: ").unwrap_or(first).to_owned()
    })?;
    Ok(parsed.filter)
}

/// Message of a failure.
fn message_of(failure: Failure) -> String {
    match failure {
        Failure::Error(_, text) => text,
        Failure::AlreadyReported | Failure::ClosedPipe => String::from("the trace cannot be read again"),
    }
}

impl BrowseArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        let (true, Some(path)) = (!self.events.language.asks_for_help(), &self.trace) else {
            return super::print(console, formats::dialect_help(), None);
        };
        if !io::stdout().is_terminal() {
            let text = "tfbc browse needs a terminal, but standard output is none: `tfbc report` writes to files and \
                        pipes, `tfbc view` writes a page";
            return Err(Failure::Error(Message::Usage, String::from(text)));
        }
        let args = self.events.trace_args()?;
        let set = Arc::new(self.events.load(console)?);
        // A filter reads the trace again, which standard input cannot be.
        let copy = (path == Path::new("-")).then(inputs::copy_of_stdin).transpose()?;
        let file = copy.as_ref().map_or(&**path, NamedTempFile::path);
        let open = |events: &EventsArgs| -> Result<(TraceInfo, Opened), Failure> {
            let trace = trace::open(file, &args)?;
            let info = trace.info();
            let options = events.report_options(&set, &info)?;
            Ok((info, Opened { trace, options }))
        };
        let (info, first) = open(&self.events)?;
        formats::warn_of_others(console, &set.files(), &[info.system], Some(&path.to_string_lossy()));
        let again = |line: &str| {
            let mut events = self.events.clone();
            if !line.is_empty() {
                events.filter = typed_filter(line)?;
                events.filter.check(console).map_err(message_of)?;
            }
            open(&events).map(|(_, opened)| opened).map_err(message_of)
        };
        let explainer = OnceCell::new();
        let wide = matches!(info.kind, TraceKind::Aix(AixKind::Stream64 | AixKind::Log64));
        let big_endian = info.qnx_header.as_ref().is_some_and(|header| header.big_endian);
        let describe = |row: &Row| {
            let explainer = explainer.get_or_init(|| self.explainer(console));
            describe(row, wide, big_endian, explainer.as_ref())
        };
        let settings = Settings {
            title: visible(&inputs::title(path)).into_owned(),
            formats: set.clone(),
            max_bytes: self.max_spill,
            has_colour: console.colours_output(None),
        };
        // Messages would be drawn over.
        let held = console::hold_messages();
        let ended = browse(settings, first, &again, &describe);
        drop(held);
        let ended = ended.map_err(|error| {
            Failure::Error(Message::Unwritable, format!("cannot show the list on the terminal: {error}"))
        })?;
        #[cfg(unix)]
        if let Some(signal) = ended.signal {
            drop(copy);
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
        if let Reading::Failed(why) = ended.facts.reading {
            return Err(Failure::Error(Message::Unreadable, format!("cannot read {}: {why}", path.display())));
        }
        let status = if ended.facts.n_damaged > 0 { Status::Damaged } else { Status::Well };
        Ok(status.max(formats::loaded(&set)))
    }

    /// Formats whose parts have places in their sources; `None` if there are only blobs, or errors.
    fn explainer(&self, console: &Console) -> Option<Explainer> {
        let set: Formats = formats::load_plainly(console, &self.events.formats, &self.events.language).ok()?;
        let has_blob = set.files().iter().any(|file| file.is_blob);
        let limits = self.events.limits();
        (!has_blob).then(|| Explainer::new(set, limits.limits(), limits.max_work()))
    }
}

/// Description of an event: its properties, text, bytes and template.
fn describe(row: &Row, wide: bool, big_endian: bool, explainer: Option<&Explainer>) -> String {
    let mut facts = vec![format!("event {}", row.seq)];
    let mut push = |name: &str, value: Option<String>| {
        facts.extend(value.filter(|value| !value.is_empty()).map(|value| format!("{name} {value}")));
    };
    push("at", Some(row.time()).map(|time| if time.is_empty() { time } else { format!("{time} s") }));
    push("CPU", row.cpu.map(|cpu| cpu.to_string()));
    push("process", Some(row.process.clone()));
    push("pid", row.pid.map(|pid| pid.to_string()));
    push("tid", row.tid.map(|tid| tid.to_string()));
    push("note:", Some(row.note.clone()));
    let head = format!("{} {}\n{}\n\n{}\n\n", row.id_name(), row.label, facts.join(", "), row.text);
    let explained = explainer.and_then(|explainer| match row.kind {
        RowKind::Record => explainer.record(row.id.0, row.id.1, &row.bytes, big_endian),
        _ => explainer.hook(&row.bytes, wide),
    });
    match explained {
        Some(text) => format!("{head}{}", visible(&text)),
        None => format!("{head}{}", dump(&row.bytes)),
    }
}
