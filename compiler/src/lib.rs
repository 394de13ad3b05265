//! Compiler from syntax trees to blobs: lower, check, emit, link. The only package that knows both the languages and
//! the bytecode.
//!
//! Sources are AIX trcfmt files or QNX XML event definitions, distinguished by their content.
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

mod build;
mod codes;
mod convert;
pub mod coverage;
mod datakey;
mod dialect;
mod emit;
pub mod events;
mod fields;
mod fixes;
mod graph;
mod ir;
mod left_out;
mod levels;
mod link;
mod lower;
mod names;
mod number;
mod predefined;
mod probes;
mod short_event;
mod show;

pub use codes::{DEFINES_NOTHING, FIELD_ENTRY};
pub use convert::{ConvertOptions, Converted, convert};
pub use dialect::{Dialect, DialectError};
pub use left_out::LeftOut;
pub use levels::{Levels, LintLevel};

use build::{Built, CodeForm};
use codes::{BAD_SETTING, NO_FUNCTION, NO_SUBROUTINE};
use datakey::XmlUnit;
use names::{NameTable, Unit};
use probes::Probes;
use tfbc_grammar::codes::{LEFT_OUT, SOURCE_TOO_LARGE, TOO_MANY_TEMPLATES};
use tfbc_grammar::datakey as datakey_tree;
use tfbc_grammar::trcfmt;
use tfbc_grammar::{Arena, CodeInfo, Diagnostic, Severity, Source, SourceId, SourceLimits, Sources, Span};

/// All codes of the compiler's diagnostics, in order.
pub static CODES: &[&CodeInfo] = codes::ALL;

/// Options of a compilation.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Choices that the languages leave open.
    pub dialect: Dialect,
    /// Limits on sources.
    pub limits: SourceLimits,
    /// Levels of warnings.
    pub levels: Levels,
    /// True if stanzas with errors are left out and the others used; false if one error refuses everything.
    pub keep_going: bool,
    /// True if an undefined format code is text, with a warning, where a bare word is valid.
    pub codes_as_text: bool,
    /// True if an update file may call stanzas and functions that no source contains, because they may be in the format
    /// file it updates. No blob is made if there are such calls.
    pub updates_call_out: bool,
}

/// Result of a compilation.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The blob; `None` if a trcfmt file has errors that are not left out, or if an XML file is refused as a whole. A
    /// datakey or event with an error is always left out on its own.
    pub blob: Option<Vec<u8>>,
    /// All diagnostics, sorted by source and position. A warning that [`Options::levels`] turns into an error does not
    /// affect the blob.
    pub diagnostics: Vec<Diagnostic>,
    /// Stanzas left out because of errors ([`Options::keep_going`]), sorted by source and position.
    pub left_out: Vec<LeftOut>,
}

/// Parses and compiles sources into one blob. Of several stanzas with the same id the last is used; all definitions of
/// XML files apply. Every blob includes the built-in stanzas of the reserved hooks.
pub fn compile(sources: &Sources, options: &Options) -> Compiled {
    let take = |_: &_, built: Option<Built<'_>>| built.map(|built| built.blob.finish());
    let (blob, diagnostics, left_out) = run(sources, options, CodeForm::Linked, &mut Probes::default(), take);
    Compiled { blob, diagnostics, left_out }
}

/// Result of [`compile_plainly`].
#[derive(Debug, Clone)]
pub struct CompiledPlain {
    /// Blob and diagnostics.
    pub compiled: Compiled,
    /// Per routine of the blob: the source positions of its instructions. The source id after the last given one refers
    /// to [`BUILT_IN_STANZAS`].
    pub places: Vec<Vec<(SourceId, Span)>>,
}

/// Format file of the stanzas included in every blob.
pub const BUILT_IN_STANZAS: &str = include_str!("core.trcfmt");

/// Compiles sources without fusing instructions: each step of a template is one instruction, for tracing runs.
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
pub fn compile_plainly(sources: &Sources, options: &Options) -> CompiledPlain {
    let mut places = Vec::new();
    let take = |_: &_, built: Option<Built<'_>>| {
        built.map(|built| {
            places = built.places;
            built.blob.finish()
        })
    };
    let (blob, diagnostics, left_out) = run(sources, options, CodeForm::Plain, &mut Probes::default(), take);
    CompiledPlain { compiled: Compiled { blob, diagnostics, left_out }, places }
}

/// Stage of the compiler whose output can be listed.
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

/// Lists the output of one stage, without built-in stanzas and stanzas with errors.
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
            let show = |program: &ir::IrProgram, built: Option<Built<'_>>| match stage {
                Stage::Ir => show::ir(program),
                _ => built.map_or(String::new(), |built| show::bytecode(&built)),
            };
            let (text, diagnostics, _) = run(sources, options, CodeForm::Listed, &mut Probes::default(), show);
            (text, diagnostics)
        }
    }
}

/// Language of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Trcfmt,
    Xml,
}

impl Language {
    /// Detects the language by content.
    fn of(source: &Source) -> Self {
        if datakey_tree::is_xml(source) { Language::Xml } else { Language::Trcfmt }
    }
}

/// Runs all passes in order. `take` gets the IR and the built code, `None` if the files have errors.
fn run<T: Default>(
    sources: &Sources,
    options: &Options,
    form: CodeForm,
    probes: &mut Probes,
    mut take: impl FnMut(&ir::IrProgram, Option<Built<'_>>) -> T,
) -> (T, Vec<Diagnostic>, Vec<LeftOut>) {
    let mut taken = T::default();
    let (diagnostics, left_out) =
        run_passes(sources, options, form, probes, &mut |program, built| taken = take(program, built));
    (taken, diagnostics, left_out)
}

/// Non-generic part of [`run`], so that the passes are compiled only once.
fn run_passes(
    sources: &Sources,
    options: &Options,
    form: CodeForm,
    probes: &mut Probes,
    take: &mut dyn FnMut(&ir::IrProgram, Option<Built<'_>>),
) -> (Vec<Diagnostic>, Vec<LeftOut>) {
    // The built-in source is last in the list, so that the caller's source ids stay valid.
    let core = Source::new("built-in", BUILT_IN_STANZAS);
    let core_id = SourceId(sources.iter().count().min(u16::MAX.into()) as u16);
    let arena = Arena::new();
    let mut diagnostics = Vec::new();
    // Diagnostics of definitions, which are refused individually and never refuse the blob.
    let mut alone = Vec::new();
    let mut xml_units = Vec::new();
    // The built-in stanzas are the first unit: any later stanza with the same id replaces them.
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
                let reading = trcfmt::WordOptions { codes_as_text, codes_anywhere };
                let (file, found) = trcfmt::parse_with(&arena, id, source, &options.limits, reading);
                diagnostics.extend(found);
                n_templates += file.stanzas.len();
                // An update file may consist of deletions, which are not stanzas.
                let is_empty = file.stanzas.is_empty() && file.broken.is_empty() && !trcfmt::is_update(source);
                empty.extend(is_empty.then_some((id, "no stanza")));
                let dialect = settings(&options.dialect, id, file.settings, &mut diagnostics);
                allows.push((id, file.allows));
                units.push(Unit { id, text: source.bytes(), file, dialect, builtin: false });
            }
            Language::Xml => {
                let (file, found) = datakey_tree::parse_within(&arena, id, source, &options.limits);
                // Only a file that is not well-formed XML refuses the whole blob. Otherwise, only the bad datakeys are
                // left out.
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
    // Checked once, before the rounds, because leaving out AIX stanzas does not change the meaning of QNX definitions.
    let (model, found) = datakey::check(&xml_units);
    alone.extend(found);
    let texts: Vec<_> = sources.iter().map(|(_, source)| source).chain([&core]).collect();
    let mut is_refused =
        if options.keep_going { diagnostics.iter().any(refuses_file) } else { has_errors(&diagnostics) };
    let mut left_out = Vec::new();
    let mut round = 0;
    // Leaving out a stanza can break the stanzas that call it, so the passes run again until nothing breaks. The number
    // of rounds is limited, because a chain of calls would take one for each link.
    loop {
        round += 1;
        // Collects all names of all files before any body, because a function may be defined in a later file.
        let names = NameTable::collect(&units);
        let (mut program, mut found) = lower::lower(&units, &names, probes);
        found.extend(short_event::check(&units, &names));
        let (records, of_records) = datakey::lower(&model, probes);
        program.stanzas.extend(records);
        program.probed = probes.wanted;
        let (graph, of_graph) = graph::Graph::new(&program);
        found.extend(of_graph);
        let is_broken = options.keep_going && units.iter().any(|unit| !unit.file.broken.is_empty());
        let mut built = None;
        // Fields are derived from the lowered program. A program with errors may contain only half a stanza.
        let (routines, of_fields) = if is_refused || is_broken || probes.wanted || has_errors(&found) {
            Default::default()
        } else {
            let (mut routines, mut found) = fields::derive(&units, &names, &program, &texts);
            let (of_records, of_comments) = datakey::lower_fields(&model, &program.stanzas, &texts);
            routines.extend(of_records);
            found.extend(of_comments);
            (routines, found)
        };
        if !is_refused && !is_broken && !has_errors(&found) {
            let dialect = blob_dialect(&options.dialect, &units);
            let mut done = build::build(&program, &graph, &routines, &texts, &dialect, form);
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
        // Later rounds repeat the warnings of the first round, so only the first round's are kept.
        diagnostics.extend(found.into_iter().filter(|_| round == 1));
        alone.extend(of_records);
        // Bad entries of comments refuse no stanza. Without a blob there are no fields.
        alone.extend(of_fields.into_iter().filter(|_| built.is_some()));
        take(&program, built);
        break;
    }
    // Rounds find stanzas in the order of calls; people read files from the top.
    left_out.sort_by_key(|left_out| (left_out.source, left_out.span));
    diagnostics.append(&mut alone);
    // Applied after all passes, because a comment can allow the warning of any of them.
    for (id, allows) in allows {
        levels::allow(id, allows, &mut diagnostics);
    }
    for (id, what) in empty {
        // Errors already explain why nothing is defined.
        let is_error = |found: &Diagnostic| found.primary.source == id && found.severity == Severity::Error;
        if !diagnostics.iter().any(is_error) {
            let message = format!("file defines nothing: it has {what}");
            diagnostics.push(Diagnostic::warning(&DEFINES_NOTHING, id, Span::default(), message));
        }
    }
    // The format file to be updated may define the functions that they call.
    if options.updates_call_out {
        let is_update = |id| sources.get(id).is_some_and(trcfmt::is_update);
        let is_missing = |found: &Diagnostic| [&NO_SUBROUTINE, &NO_FUNCTION].contains(&found.code);
        diagnostics.retain(|found| !(is_missing(found) && is_update(found.primary.source)));
    }
    options.levels.apply(&mut diagnostics);
    diagnostics.sort_by_key(|found| (found.primary.source, found.primary.span));
    // Dropped last, when all are sorted, so that the dropped ones do not depend on the order of the passes.
    drop_surplus(&mut diagnostics);
    (diagnostics, left_out)
}

/// True if an error concerns a whole file, so that no stanza of it can be used.
fn refuses_file(found: &Diagnostic) -> bool {
    let of_file = [&SOURCE_TOO_LARGE, &TOO_MANY_TEMPLATES, &LEFT_OUT];
    let is_xml = found.code.code.starts_with('X');
    found.severity == Severity::Error && (is_xml || of_file.contains(&found.code))
}

/// Limit on the errors, and on the warnings, shown per source.
const MAX_FINDINGS: usize = 10_000;

/// Drops diagnostics above the limit per source, and adds a last one with the number of dropped ones. Diagnostics must
/// be sorted by source.
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
        // The parser's own note about dropped diagnostics is kept.
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

/// Diagnostic with the number of dropped ones, at the last diagnostic that is kept.
fn left_out(kept: &[Diagnostic], n: usize) -> Option<Diagnostic> {
    let place = &kept.last().filter(|_| n > 0)?.primary;
    let severity = kept.iter().map(|found| found.severity).max();
    let make = if severity == Some(Severity::Error) { Diagnostic::error } else { Diagnostic::warning };
    let message = format!("{n} more errors and warnings are not shown");
    Some(make(&LEFT_OUT, place.source, place.span, message))
}

/// Error for the source that brings the number of templates above the limit.
fn too_many(id: SourceId, n_before: usize, n: usize, limits: &SourceLimits) -> Option<Diagnostic> {
    let max = limits.templates;
    (n_before <= max && n > max).then(|| {
        let text = format!("with this source, the files have {n} templates, more than {max}");
        let error = Diagnostic::error(&TOO_MANY_TEMPLATES, id, Span::default(), text);
        error.with_help("raise the limit with `--max-templates`")
    })
}

fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|found| found.severity == Severity::Error)
}

/// Dialect of one source: the given one, modified by the source's own settings.
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

/// Dialect recorded in the blob: the dialect of the sources, if they agree. Otherwise the given one, with those
/// settings of the last source that apply to a whole blob.
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
