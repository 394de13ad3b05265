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

mod build;
mod codes;
mod datakey;
mod dialect;
mod emit;
pub mod events;
mod graph;
mod ir;
mod link;
mod lower;
mod names;
mod number;
mod predefined;
mod show;

pub use dialect::{Dialect, DialectError};

use build::Built;
use codes::BAD_SETTING;
use datakey::XmlUnit;
use names::{Names, Unit};
use tfbc_grammar::datakey as datakey_tree;
use tfbc_grammar::trcfmt;
use tfbc_grammar::{Arena, CodeInfo, Diagnostic, Severity, Source, SourceId, Sources};

/// Every code of the compiler's diagnostics, in order.
pub static CODES: &[&CodeInfo] = codes::ALL;

/// How to compile.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What the language leaves open.
    pub dialect: Dialect,
}

/// What a compilation gave.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The blob; `None` where there is an error in a trcfmt file, or an XML file of which nothing can be used. A datakey
    /// or event of an XML file that is in error is left out alone.
    pub blob: Option<Vec<u8>>,
    /// Everything found, by source and place.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses and compiles a set of sources into one blob. Of trcfmt stanzas with one id the last wins; all definitions of
/// XML files act together. The built-in stanzas of the reserved hooks are part of every blob.
pub fn compile(sources: &Sources, options: &Options) -> Compiled {
    let (blob, diagnostics) = run(sources, options, false, |_, built| built.map(|built| built.blob.finish()));
    Compiled { blob, diagnostics }
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
                        let (file, mut found) = trcfmt::parse(&arena, id, source);
                        diagnostics.append(&mut found);
                        text.push_str(&trcfmt::show(&file, source));
                    }
                    Language::Xml => {
                        let (file, mut found) = datakey_tree::parse(&arena, id, source);
                        diagnostics.append(&mut found);
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
            run(sources, options, true, show)
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
        if datakey_tree::looks_like_xml(source.bytes()) { Language::Xml } else { Language::Trcfmt }
    }
}

/// The passes, in order; plain code is kept where `listed`. `take` is given the IR and what it was built to, nothing
/// where the files have errors.
fn run<T>(
    sources: &Sources,
    options: &Options,
    listed: bool,
    take: impl FnOnce(&ir::Program, Option<Built<'_>>) -> T,
) -> (T, Vec<Diagnostic>) {
    let core = Source::new("built-in", include_str!("core.trcfmt"));
    let core_id = SourceId(sources.iter().count().min(u16::MAX.into()) as u16);
    let arena = Arena::new();
    let mut diagnostics = Vec::new();
    // What is refused alone, with everything that is said of definitions.
    let mut alone = Vec::new();
    let mut xml_units = Vec::new();
    let mut units = vec![Unit {
        id: core_id,
        file: trcfmt::parse(&arena, core_id, &core).0,
        dialect: Dialect::default(),
        builtin: true,
    }];
    for (id, source) in sources.iter() {
        match Language::of(source) {
            Language::Trcfmt => {
                let (file, mut found) = trcfmt::parse(&arena, id, source);
                diagnostics.append(&mut found);
                let dialect = settings(&options.dialect, id, file.settings, &mut diagnostics);
                units.push(Unit { id, file, dialect, builtin: false });
            }
            Language::Xml => {
                let (file, mut found) = datakey_tree::parse(&arena, id, source);
                if file.refused { &mut diagnostics } else { &mut alone }.append(&mut found);
                let dialect = settings(&options.dialect, id, file.settings, &mut diagnostics);
                xml_units.push(XmlUnit { id, file, dialect });
            }
        }
    }
    let names = Names::collect(&units);
    let (mut program, mut found) = lower::lower(&units, &names);
    diagnostics.append(&mut found);
    let (model, mut found) = datakey::check(&xml_units);
    alone.append(&mut found);
    let (records, mut found) = datakey::lower(&model);
    alone.append(&mut found);
    program.stanzas.extend(records);
    let (graph, mut found) = graph::Graph::new(&program);
    diagnostics.append(&mut found);
    let texts: Vec<_> = sources.iter().map(|(_, source)| source).chain([&core]).collect();
    let mut built = None;
    if !has_errors(&diagnostics) {
        let mut done = build::build(&program, &graph, &texts, &blob_dialect(&options.dialect, &units), listed);
        diagnostics.append(&mut done.diagnostics);
        built = Some(done).filter(|_| !has_errors(&diagnostics));
    }
    let taken = take(&program, built);
    diagnostics.append(&mut alone);
    diagnostics.sort_by_key(|found| (found.primary.source, found.primary.span));
    (taken, diagnostics)
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

/// The dialect that the blob records: of the settings that act on a whole blob, the last source's.
fn blob_dialect(given: &Dialect, units: &[Unit<'_>]) -> Dialect {
    let mut dialect = given.clone();
    for unit in units.iter().filter(|unit| !unit.builtin && !unit.file.settings.is_empty()) {
        dialect.msec = unit.dialect.msec;
        dialect.timer_by_thread = unit.dialect.timer_by_thread;
        dialect.errno_names = unit.dialect.errno_names;
    }
    dialect
}
