//! Translates format files between the two languages, and lists the parts that cannot be translated.
//!
//! The payload of a record corresponds to the data of a hook, from data word 1. An event corresponds to hook `1000 +
//! 400 * class + event` (hex), so that translating back restores the ids.

mod to_trcfmt;
mod to_xml;

use crate::codes::{NOT_CARRIED, OTHERWISE_SHOWN};
use crate::coverage::Probes;
use crate::datakey::{self, XmlUnit};
use crate::names::{NameTable, Unit};
use crate::{Language, Options, has_errors, settings};
use tfbc_grammar::datakey as datakey_tree;
use tfbc_grammar::{Arena, Diagnostic, Source, SourceId, Sources, Span, format, trcfmt};

/// Choices that the target language needs but the source language does not contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConvertOptions {
    /// Word size of the hooks in bytes, 4 or 8.
    pub word: u8,
    /// Class of the events for hooks whose id corresponds to no event.
    pub class: u8,
    /// Number of the first such event; the others follow.
    pub first_event: u16,
}

impl Default for ConvertOptions {
    fn default() -> Self {
        Self { word: 8, class: 6, first_event: 0 }
    }
}

/// Result of a translation.
#[derive(Debug, Clone)]
pub struct Converted {
    /// New source; `None` if the files have errors or are of both languages.
    pub text: Option<Vec<u8>>,
    /// Errors of the files, or a list of parts that cannot be translated (`V01`) or are shown differently (`V02`).
    pub diagnostics: Vec<Diagnostic>,
    /// True if the new source is XML.
    pub is_xml: bool,
}

/// Translates a set of files of one language into the other.
///
/// ```
/// use tfbc_compiler::{ConvertOptions, Options, convert};
/// use tfbc_grammar::{Source, Sources};
/// let mut sources = Sources::new();
/// sources.add(Source::new("a.trcfmt", "2841 1.0 \"STATE\" W1 \"level=\" D4\n"));
/// let converted = convert(&sources, &Options::default(), ConvertOptions::default());
/// let text = String::from_utf8(converted.text.unwrap())?;
/// assert!(text.contains(r#"<datakey format="%4s1d level">"#));
/// assert!(text.contains(r#"<event class="6" id="65"/>"#));
/// # Ok::<(), std::string::FromUtf8Error>(())
/// ```
pub fn convert(sources: &Sources, options: &Options, convert: ConvertOptions) -> Converted {
    let n_xml = sources.iter().filter(|(_, source)| Language::of(source) == Language::Xml).count();
    let (arena, mut diagnostics) = (Arena::new(), Vec::new());
    let text = match n_xml {
        0 => from_trcfmt(&arena, sources, options, convert, &mut diagnostics),
        n if n == sources.iter().count() => from_xml(&arena, sources, options, &mut diagnostics),
        _ => None,
    };
    diagnostics.sort_by_key(|found| (found.primary.source, found.primary.span));
    // A datakey with several events reports each problem once per event.
    diagnostics.dedup();
    let laid_out = |text: Vec<u8>| {
        let source = Source::new("converted", text);
        format(SourceId(0), &source, &options.limits).text(&source)
    };
    Converted { text: text.map(laid_out), diagnostics, is_xml: n_xml == 0 }
}

fn from_xml(arena: &Arena, sources: &Sources, options: &Options, diagnostics: &mut Vec<Diagnostic>) -> Option<Vec<u8>> {
    let mut units = Vec::new();
    for (id, source) in sources.iter() {
        let (file, mut found) = datakey_tree::parse_within(arena, id, source, &options.limits);
        diagnostics.append(&mut found);
        let dialect = settings(&options.dialect, id, file.settings, diagnostics);
        units.push(XmlUnit { id, file, dialect });
    }
    let (model, found) = datakey::check(&units);
    diagnostics.extend(found);
    diagnostics.retain(|found| found.severity == tfbc_grammar::Severity::Error);
    if has_errors(diagnostics) {
        return None;
    }
    let mut losses = Losses::default();
    let text = to_trcfmt::convert(&model, &mut losses);
    diagnostics.append(&mut losses.found);
    Some(text)
}

fn from_trcfmt(
    arena: &Arena,
    sources: &Sources,
    options: &Options,
    convert: ConvertOptions,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Vec<u8>> {
    let mut units = Vec::new();
    for (id, source) in sources.iter() {
        let (file, mut found) = trcfmt::parse_within(arena, id, source, &options.limits);
        diagnostics.append(&mut found);
        let dialect = settings(&options.dialect, id, file.settings, diagnostics);
        units.push(Unit { id, text: source.bytes(), file, dialect, builtin: false });
    }
    let names = NameTable::collect(&units);
    let (_, found) = crate::lower::lower(&units, &names, &mut Probes::default());
    diagnostics.extend(found);
    diagnostics.retain(|found| found.severity == tfbc_grammar::Severity::Error);
    if has_errors(diagnostics) {
        return None;
    }
    let mut losses = Losses::default();
    let text = to_xml::convert(&units, &names, convert, &mut losses);
    diagnostics.append(&mut losses.found);
    Some(text)
}

/// Problems of a translation.
#[derive(Default)]
struct Losses {
    found: Vec<Diagnostic>,
}

impl Losses {
    /// Reports a part that cannot be translated.
    fn left_out(&mut self, source: SourceId, span: Span, text: impl Into<String>) {
        self.found.push(Diagnostic::warning(&NOT_CARRIED, source, span, text));
    }

    /// Reports a part that is shown differently.
    fn otherwise(&mut self, source: SourceId, span: Span, text: impl Into<String>) {
        self.found.push(Diagnostic::warning(&OTHERWISE_SHOWN, source, span, text));
    }
}

/// First hook that corresponds to an event.
const FIRST_HOOK: u32 = 0x1000;

/// Hook that corresponds to an event.
fn hook_of(class: u8, event: u16) -> u32 {
    FIRST_HOOK + (u32::from(class) << 10) + u32::from(event & 0x3ff)
}

/// Event that a hook corresponds to.
fn event_of(hook: u16) -> Option<(u8, u16)> {
    let n = u32::from(hook).checked_sub(FIRST_HOOK)?;
    (n < 32 << 10).then_some(((n >> 10) as u8, (n & 0x3ff) as u16))
}
