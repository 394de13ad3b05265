//! Translates format files between the two languages, and lists the parts that cannot be translated.
//!
//! The payload of a record corresponds to the data of a hook, from data word 1. An event corresponds to hook `1000 +
//! 400 * class + event` (hex), so that translating back restores the ids.

mod ids;
mod losses;
mod to_trcfmt;
mod to_xml;

pub use to_xml::ConvertOptions;

use crate::datakey::{self, XmlUnit};
use crate::names::{NameTable, Unit};
use crate::probes::Probes;
use crate::{Language, Options, has_errors, settings};
use losses::Losses;
use tfbc_grammar::datakey as datakey_tree;
use tfbc_grammar::{Arena, Diagnostic, Source, SourceId, Sources, format, trcfmt};

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
