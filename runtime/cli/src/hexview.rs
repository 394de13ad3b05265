//! `tfbc hexview`: shows an event's bytes with the parts of the template that read them.

use super::console::{CommandResult, Console, Failure, Message, Status};
use super::event::{HookWidth, RecordArgs, known_events, no_stanza, parse_event, parse_hex, warn_of_unknown};
use super::formats::{self, LanguageArgs};
use super::limits::LimitArgs;
use clap::Args;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use tfbc::{EventId, FieldFormat, Formats, System, TraceKind};
use tfbc_authoring::cases::{Slice, SliceOptions, slice_watch};
use tfbc_authoring::hexview::{View, ViewCollector, hook_views, record_views, show};
use tfbc_compiler::BUILT_IN_STANZAS;
use tfbc_grammar::Source;
use tfbc_vm::Event;

/// Flags of `tfbc hexview`.
#[derive(Debug, Clone, Args)]
pub struct HexviewArgs {
    /// Format file in source form; later ones win. `default` is the built-in file
    #[arg(short = 't', long = "formats", value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    /// Width of the hook, for an AIX event given in hex
    #[arg(long, value_name = "BITS")]
    env: Option<HookWidth>,
    #[command(flatten)]
    record: RecordArgs,
    /// From a trace: only these hooks or events
    #[arg(long, value_name = "IDS", conflicts_with_all = ["env", "class"])]
    only: Option<String>,
    /// From a trace: the first N selected events
    #[arg(long, value_name = "N", conflicts_with_all = ["env", "class"])]
    first: Option<u64>,
    /// From a trace: the N-th selected event, from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["env", "class", "first"])]
    entry: Option<u64>,
    #[command(flatten)]
    language: LanguageArgs,
    #[command(flatten)]
    limits: LimitArgs,
    /// Trace; or, with --env or --class, the event in hex as for `tfbc event`
    #[arg(value_name = "TRACE|HEX", required_unless_present = "dialect")]
    input: Vec<String>,
}

impl HexviewArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        if self.language.asks_for_help() {
            return super::print(console, formats::dialect_help(), None);
        }
        let set = self.load(console)?;
        if let Some(blob) = set.files().iter().find(|file| file.is_blob) {
            let text = format!("{} is a blob: hexview needs the source of the template", blob.name);
            return Err(Failure::Error(Message::Formats, text));
        }
        let views = match (self.env, self.record.ids()?) {
            (Some(width), _) => self.hook(console, &set, width)?,
            (None, Some((class, id))) => self.record(console, &set, class, id)?,
            (None, None) => self.trace(console, &set)?,
        };
        let mut sources = set.findings().sources.clone();
        sources.add(Source::new("built-in", BUILT_IN_STANZAS));
        let colour = console.colours_output(None);
        let ids: HashSet<&str> = views.iter().map(|view| view.id.as_str()).collect();
        let events = set.events().filter(|event| ids.contains(event.id.as_str()));
        let fields: HashMap<String, Vec<FieldFormat>> = events.map(|event| (event.id, event.fields)).collect();
        let of_event = |view: &View| fields.get(&view.id).map_or(&[][..], Vec::as_slice);
        let shown: Vec<String> = views.iter().map(|view| show(view, &sources, of_event(view), colour)).collect();
        let ending = super::print_styled(shown.join("\n"))?.max(formats::loaded(&set));
        if views.is_empty() {
            console.note(self.nothing_shown(&set));
            return Ok(ending.max(Status::Failed));
        }
        Ok(ending)
    }

    /// Reason why there is nothing to show.
    fn nothing_shown(&self, set: &Formats) -> String {
        match (&self.record.class, &self.record.id) {
            (Some(class), Some(id)) => format!("no definition applies to event {class}:{id}{}", known_events(set)),
            _ => {
                let chosen = self.only.as_ref().map_or(String::new(), |ids| format!(" that --only {ids} names"));
                format!("no event of {}{chosen} has a template: `tfbc info` lists its events", self.input.join(" "))
            }
        }
    }

    fn load(&self, console: &Console) -> Result<Formats, Failure> {
        formats::load_plainly(console, &self.formats, &self.language)
    }

    fn hook(&self, console: &Console, set: &Formats, width: HookWidth) -> Result<Vec<View>, Failure> {
        formats::warn_of_others(console, &set.files(), &[System::Aix], Some("the event"));
        let wide = width.is_wide();
        let bytes = parse_event(&self.input, wide)?;
        let event = Event { bytes: &bytes, wide, record: None, time_ns: 0, offset: 0 };
        warn_of_unknown(console, set, &self.formats, &event);
        let views = hook_views(set, &event, self.limits.of_one(event.bytes.len()));
        views.ok_or_else(|| no_stanza(event.hook_id()))
    }

    fn record(&self, console: &Console, set: &Formats, class: &str, id: &str) -> Result<Vec<View>, Failure> {
        formats::warn_of_others(console, &set.files(), &[System::Qnx], Some("the event"));
        let (class, event) = EventId::of_record(class, id).map_err(|text| Failure::Error(Message::Usage, text))?;
        let bytes = parse_hex(&self.input)?;
        Ok(record_views(set, &self.record.record(class, event, &bytes, self.limits)))
    }

    fn trace(&self, console: &Console, set: &Formats) -> Result<Vec<View>, Failure> {
        let [trace] = &self.input[..] else {
            let text = "give one trace, or an event in hex with --env (AIX) or --class and --id (QNX)";
            return Err(Failure::Error(Message::Usage, text.into()));
        };
        // Hex without `--env` looks like a missing file. The message names both, because either may be meant.
        if !Path::new(trace).exists() && parse_hex(&self.input).is_ok() {
            let text =
                format!("there is no file {trace}; as an event in hex it needs --env (AIX) or --class and --id (QNX)");
            return Err(Failure::Error(Message::Usage, text));
        }
        if Path::new(trace).is_file()
            && let Ok(Some(kind)) = TraceKind::of_file(trace)
        {
            formats::warn_of_others(console, &set.files(), &[kind.system()], Some(trace));
        }
        let slice = Slice {
            trace: Path::new(trace).to_owned(),
            only: self.only.clone(),
            defined: true,
            skip: self.entry.map_or(0, |entry| entry - 1),
            first: Some(if self.entry.is_some() { 1 } else { self.first.unwrap_or(1) }),
            ..Slice::default()
        };
        let options = SliceOptions {
            limits: self.limits.limits(),
            max_work: self.limits.max_work(),
            max_ratio: self.language.ratio.ratio(),
            ..SliceOptions::default()
        };
        let mut seen = ViewCollector::new(set);
        let failed = |text: String| Failure::Error(Message::Unreadable, text);
        slice_watch(&slice, set.catalog(), &options, &mut seen).map_err(failed)?;
        Ok(seen.views)
    }
}
