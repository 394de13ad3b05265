//! Syntax trees in, blobs out: lower, check, emit, link. The only package that knows both sides.
//!
//! Sources are trcfmt files of AIX or XML event definitions of QNX, told apart by content.
//!
//! ```
//! use tfbc_compiler::{Options, compile};
//! use tfbc_grammar::{Source, Sources};
//! let mut sources = Sources::new();
//! sources.add(Source::new("a.trcfmt", "010 1.0 L=APPL \"SENSOR\" \"pid=\" X4\n"));
//! let compiled = compile(&sources, &Options::default());
//! let blob = compiled.blob.expect("no errors");
//! let program = tfbc_vm::Program::open(&blob)?;
//! assert_eq!(program.hook(0x0100).unwrap().label, b"SENSOR");
//! # Ok::<(), tfbc_vm::BlobError>(())
//! ```
#![forbid(unsafe_code)]

mod advice;
mod build;
mod codes;
mod convert;
pub mod coverage;
mod datakey;
mod dialect;
mod emit;
pub mod events;
mod graph;
mod ir;
mod left_out;
mod levels;
mod link;
mod lower;
mod names;
mod number;
mod predefined;
mod reach;
mod show;

pub use codes::DEFINES_NOTHING;
pub use convert::{ConvertOptions, Converted, convert};
pub use dialect::{Dialect, DialectError};
pub use left_out::LeftOut;
pub use levels::{Level, Levels};

use build::{Built, Form};
use codes::{BAD_SETTING, NO_FUNCTION, NO_SUBROUTINE};
use coverage::Probes;
use datakey::XmlUnit;
use names::{Names, Unit};
use tfbc_grammar::codes::{LEFT_OUT, SOURCE_TOO_LARGE, TOO_MANY_TEMPLATES};
use tfbc_grammar::datakey as datakey_tree;
use tfbc_grammar::trcfmt;
use tfbc_grammar::{Arena, CodeInfo, Diagnostic, Severity, Source, SourceId, SourceLimits, Sources, Span};

/// Every code of the compiler's diagnostics, in order.
pub static CODES: &[&CodeInfo] = codes::ALL;

/// How to compile.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What the language leaves open.
    pub dialect: Dialect,
    /// What sources may ask for.
    pub limits: SourceLimits,
    /// Which warnings are said, and as what.
    pub levels: Levels,
    /// True if stanzas with errors are left out, so that the others can be used; otherwise they refuse the whole.
    pub keep_going: bool,
    /// True if an undefined format code is text, with a warning, if a bare word is allowed at its place.
    pub codes_as_text: bool,
    /// True if an update file may call stanzas and functions that no source contains: they may be in the format file that
    /// it updates. No blob comes of such calls.
    pub updates_call_out: bool,
}

/// What a compilation gave.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The blob; `None` if there is an error in a trcfmt file that is not left out, or an XML file of which nothing can be
    /// used. A datakey or event of an XML file that is in error is left out alone.
    pub blob: Option<Vec<u8>>,
    /// Everything found, by source and place. What [`Options::levels`] makes an error of a warning leaves the blob as it is.
    pub diagnostics: Vec<Diagnostic>,
    /// Stanzas that were left out because of errors ([`Options::keep_going`]), by source and place.
    pub left_out: Vec<LeftOut>,
}

/// Parses and compiles a set of sources into one blob. Of trcfmt stanzas with one id the last wins; all definitions of
/// XML files act together. The built-in stanzas of the reserved hooks are part of every blob.
pub fn compile(sources: &Sources, options: &Options) -> Compiled {
    let take = |_: &_, built: Option<Built<'_>>| built.map(|built| built.blob.finish());
    let (blob, diagnostics, left_out) = run(sources, options, Form::Linked, &mut Probes::default(), take);
    Compiled { blob, diagnostics, left_out }
}

/// What [`compile_plainly`] gave.
#[derive(Debug, Clone)]
pub struct Plain {
    /// Blob and findings.
    pub compiled: Compiled,
    /// For each routine of the blob, the place of each of its instructions. The source behind the last one that was given is
    /// [`BUILT_IN_STANZAS`].
    pub places: Vec<Vec<(SourceId, Span)>>,
}

/// The format file of the stanzas that are part of every blob.
pub const BUILT_IN_STANZAS: &str = include_str!("core.trcfmt");

/// The same as [`compile`], but each step of a template stays an instruction of its own: for looking at runs.
///
/// ```
/// use tfbc_compiler::{Options, compile_plainly};
/// use tfbc_grammar::{Source, Sources};
/// let mut sources = Sources::new();
/// let id = sources.add(Source::new("a.trcfmt", "010 1.0 \"SENSOR\" X4\n"));
/// let plain = compile_plainly(&sources, &Options::default());
/// let texts = plain.places.concat().into_iter().filter(|(source, _)| *source == id);
/// let texts: Vec<&[u8]> = texts.map(|(id, span)| sources.get(id).unwrap().slice(span)).collect();
/// assert!(texts.contains(&b"X4".as_slice()));
/// ```
pub fn compile_plainly(sources: &Sources, options: &Options) -> Plain {
    let mut places = Vec::new();
    let take = |_: &_, built: Option<Built<'_>>| {
        built.map(|built| {
            places = built.places;
            built.blob.finish()
        })
    };
    let (blob, diagnostics, left_out) = run(sources, options, Form::Plain, &mut Probes::default(), take);
    Plain { compiled: Compiled { blob, diagnostics, left_out }, places }
}

/// One stage of the compiler, for looking at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The lexer's tokens.
    Tokens,
    /// The syntax tree.
    Ast,
    /// The lowered tree.
    Ir,
    /// Plain bytecode, before linking.
    Bytecode,
}

/// The text of one stage of a compilation, as far as errors let it come. The built-in stanzas are left out.
pub fn emit(sources: &Sources, options: &Options, stage: Stage) -> (String, Vec<Diagnostic>) {
    match stage {
        Stage::Tokens => {
            let tokens = |source: &Source| match Language::of(source) {
                Language::Trcfmt => trcfmt::tokens(source),
                Language::Xml => datakey_tree::tokens(source),
            };
            (sources.iter().map(|(_, source)| tokens(source)).collect(), Vec::new())
        }
        Stage::Ast => {
            let (arena, mut diagnostics) = (Arena::new(), Vec::new());
            let mut text = String::new();
            for (id, source) in sources.iter() {
                match Language::of(source) {
                    Language::Trcfmt => {
                        let (file, found) = trcfmt::parse_within(&arena, id, source, &options.limits);
                        diagnostics.extend(found);
                        text.push_str(&trcfmt::show(&file, source));
                    }
                    Language::Xml => {
                        let (file, found) = datakey_tree::parse_within(&arena, id, source, &options.limits);
                        diagnostics.extend(found);
                        text.push_str(&datakey_tree::show(&file, source));
                    }
                }
            }
            (text, diagnostics)
        }
        Stage::Ir | Stage::Bytecode => {
            let show = |program: &ir::Program, built: Option<Built<'_>>| match stage {
                Stage::Ir => show::ir(program),
                _ => built.map_or(String::new(), |built| show::bytecode(&built)),
            };
            let (text, diagnostics, _) = run(sources, options, Form::Listed, &mut Probes::default(), show);
            (text, diagnostics)
        }
    }
}

/// The language of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Trcfmt,
    Xml,
}

impl Language {
    /// The language, by content.
    fn of(source: &Source) -> Self {
        if datakey_tree::is_xml(source) { Language::Xml } else { Language::Trcfmt }
    }
}

/// The passes, in order; what is built has a form. `take` is given the IR and what it was built to, nothing
/// where the files have errors.
fn run<T>(
    sources: &Sources,
    options: &Options,
    form: Form,
    probes: &mut Probes,
    take: impl FnOnce(&ir::Program, Option<Built<'_>>) -> T,
) -> (T, Vec<Diagnostic>, Vec<LeftOut>) {
    let core = Source::new("built-in", BUILT_IN_STANZAS);
    let core_id = SourceId(sources.iter().count().min(u16::MAX.into()) as u16);
    let arena = Arena::new();
    let mut diagnostics = Vec::new();
    // What is refused alone, with everything that is said of definitions.
    let mut alone = Vec::new();
    let mut xml_units = Vec::new();
    let mut units = vec![Unit {
        id: core_id,
        text: core.bytes(),
        file: trcfmt::parse(&arena, core_id, &core).0,
        dialect: Dialect::default(),
        builtin: true,
    }];
    let mut n_templates = 0usize;
    let mut empty = Vec::new();
    let mut allows: Vec<(SourceId, &[trcfmt::ast::Allow<'_>])> = Vec::new();
    for (id, source) in sources.iter() {
        let n_before = n_templates;
        match Language::of(source) {
            Language::Trcfmt => {
                let (codes_as_text, codes_anywhere) = (options.codes_as_text, options.dialect.codes_anywhere);
                let reading = trcfmt::Reading { codes_as_text, codes_anywhere };
                let (file, found) = trcfmt::parse_with(&arena, id, source, &options.limits, reading);
                diagnostics.extend(found);
                n_templates += file.stanzas.len();
                let is_empty = file.stanzas.is_empty() && file.broken.is_empty() && !trcfmt::is_update(source);
                empty.extend(is_empty.then_some((id, "no stanza")));
                let dialect = settings(&options.dialect, id, file.settings, &mut diagnostics);
                allows.push((id, file.allows));
                units.push(Unit { id, text: source.bytes(), file, dialect, builtin: false });
            }
            Language::Xml => {
                let (file, found) = datakey_tree::parse_within(&arena, id, source, &options.limits);
                if file.refused { &mut diagnostics } else { &mut alone }.extend(found);
                n_templates += file.n_templates();
                empty.extend((file.n_templates() == 0).then_some((id, "neither `datakey` nor `eventclass`")));
                let dialect = settings(&options.dialect, id, file.settings, &mut diagnostics);
                allows.push((id, file.allows));
                xml_units.push(XmlUnit { id, file, dialect });
            }
        }
        diagnostics.extend(too_many(id, n_before, n_templates, &options.limits));
    }
    let (model, found) = datakey::check(&xml_units);
    alone.extend(found);
    let texts: Vec<_> = sources.iter().map(|(_, source)| source).chain([&core]).collect();
    let mut is_refused =
        if options.keep_going { diagnostics.iter().any(refuses_file) } else { has_errors(&diagnostics) };
    let mut left_out = Vec::new();
    let mut round = 0;
    let taken = loop {
        round += 1;
        let names = Names::collect(&units);
        let (mut program, mut found) = lower::lower(&units, &names, probes);
        found.extend(reach::check(&units, &names));
        let (records, of_records) = datakey::lower(&model, probes);
        program.stanzas.extend(records);
        program.probed = probes.wanted;
        let (graph, of_graph) = graph::Graph::new(&program);
        found.extend(of_graph);
        let is_broken = options.keep_going && units.iter().any(|unit| !unit.file.broken.is_empty());
        let mut built = None;
        if !is_refused && !is_broken && !has_errors(&found) {
            let mut done = build::build(&program, &graph, &texts, &blob_dialect(&options.dialect, &units), form);
            found.append(&mut done.diagnostics);
            built = Some(done).filter(|_| !has_errors(&found));
        }
        if built.is_none() && !is_refused && options.keep_going {
            let callers = left_out::leave_out(&arena, &mut units, &names, &found, &mut left_out);
            is_refused = callers.is_none() || round == left_out::MAX_ROUNDS;
            found.extend(callers.unwrap_or_default());
            diagnostics.extend(found.into_iter().filter(|found| round == 1 || found.severity == Severity::Error));
            continue;
        }
        // Later rounds say of the rest what the first has said of all.
        diagnostics.extend(found.into_iter().filter(|_| round == 1));
        alone.extend(of_records);
        break take(&program, built);
    };
    left_out.sort_by_key(|left_out| (left_out.source, left_out.span));
    diagnostics.append(&mut alone);
    for (id, allows) in allows {
        levels::allow(id, allows, &mut diagnostics);
    }
    for (id, what) in empty {
        // Errors tell why.
        let is_error = |found: &Diagnostic| found.primary.source == id && found.severity == Severity::Error;
        if !diagnostics.iter().any(is_error) {
            let message = format!("file defines nothing: it has {what}");
            diagnostics.push(Diagnostic::warning(&DEFINES_NOTHING, id, Span::default(), message));
        }
    }
    if options.updates_call_out {
        let is_update = |id| sources.get(id).is_some_and(trcfmt::is_update);
        let is_missing = |found: &Diagnostic| [&NO_SUBROUTINE, &NO_FUNCTION].contains(&found.code);
        diagnostics.retain(|found| !(is_missing(found) && is_update(found.primary.source)));
    }
    options.levels.apply(&mut diagnostics);
    diagnostics.sort_by_key(|found| (found.primary.source, found.primary.span));
    drop_surplus(&mut diagnostics);
    (taken, diagnostics, left_out)
}

/// True if an error is about a whole file, so that no stanza of it can be used.
fn refuses_file(found: &Diagnostic) -> bool {
    let of_file = [&SOURCE_TOO_LARGE, &TOO_MANY_TEMPLATES, &LEFT_OUT];
    let is_xml = found.code.code.starts_with('X');
    found.severity == Severity::Error && (is_xml || of_file.contains(&found.code))
}

/// The most errors, and the most warnings, that are shown of one source.
const MAX_FINDINGS: usize = 10_000;

/// Drops what is too much of a source's findings, which stand together, and says how many these are.
fn drop_surplus(diagnostics: &mut Vec<Diagnostic>) {
    if diagnostics.len() <= MAX_FINDINGS {
        return;
    }
    let mut kept: Vec<Diagnostic> = Vec::new();
    let mut n_left_out = 0usize;
    let mut counts = [0; 2];
    for found in std::mem::take(diagnostics) {
        if kept.last().is_some_and(|last| last.primary.source != found.primary.source) {
            kept.extend(left_out(&kept, n_left_out));
            (n_left_out, counts) = (0, [0; 2]);
        }
        let count = &mut counts[usize::from(found.severity == Severity::Error)];
        // What the parser says of its own findings stays.
        *count += usize::from(found.code != &LEFT_OUT);
        if *count <= MAX_FINDINGS {
            kept.push(found);
        } else {
            n_left_out += 1;
        }
    }
    kept.extend(left_out(&kept, n_left_out));
    *diagnostics = kept;
}

/// Says that more was found in the source that the last finding is about.
fn left_out(kept: &[Diagnostic], n: usize) -> Option<Diagnostic> {
    let place = &kept.last().filter(|_| n > 0)?.primary;
    let severity = kept.iter().map(|found| found.severity).max();
    let make = if severity == Some(Severity::Error) { Diagnostic::error } else { Diagnostic::warning };
    let message = format!("{n} more errors and warnings are not shown");
    Some(make(&LEFT_OUT, place.source, place.span, message))
}

/// The complaint about the source with which the templates of all come to too many.
fn too_many(id: SourceId, n_before: usize, n: usize, limits: &SourceLimits) -> Option<Diagnostic> {
    let max = limits.templates;
    (n_before <= max && n > max).then(|| {
        let text = format!("with this source, the files have {n} templates, more than {max}");
        let error = Diagnostic::error(&TOO_MANY_TEMPLATES, id, Span::default(), text);
        error.with_help("`--max-templates` raises the limit")
    })
}

fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|found| found.severity == Severity::Error)
}

/// The dialect of one source: the given one with its own settings.
fn settings(
    given: &Dialect,
    id: SourceId,
    settings: &[trcfmt::ast::Setting<'_>],
    diagnostics: &mut Vec<Diagnostic>,
) -> Dialect {
    let mut dialect = given.clone();
    for setting in settings {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if let Err(error) = dialect.set(&text(setting.name.node), &text(setting.value.node)) {
            let span = setting.name.span.to(setting.value.span);
            diagnostics.push(Diagnostic::error(&BAD_SETTING, id, span, error.to_string()));
        }
    }
    dialect
}

/// The dialect that the blob records: that of its sources if they have the same; otherwise the given one, with the last
/// source's settings that act on a whole blob.
fn blob_dialect(given: &Dialect, units: &[Unit<'_>]) -> Dialect {
    let mut own = units.iter().filter(|unit| !unit.builtin).map(|unit| &unit.dialect);
    if let Some(first) = own.next()
        && own.all(|dialect| dialect == first)
    {
        return first.clone();
    }
    let mut dialect = given.clone();
    for unit in units.iter().filter(|unit| !unit.builtin && !unit.file.settings.is_empty()) {
        dialect.msec = unit.dialect.msec;
        dialect.timer_by_thread = unit.dialect.timer_by_thread;
        dialect.errno_names = unit.dialect.errno_names;
    }
    dialect
}
