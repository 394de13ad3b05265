//! Sources of format files, and what the compiler makes of them.

use super::{BUILT_IN_BLOB, FileContent, FormatFile, LoadError, LoadOptions, LoadedBlob, SourceFile, read};
use crate::cache::CachedBlob;
use crate::catalog::{BUILT_IN, Rank};
use crate::reader::System;
use std::fmt;
use std::path::{Path, PathBuf};
use tfbc_compiler::coverage::{self, CoveragePoint};
use tfbc_compiler::{Compiled, Dialect, LeftOut};
use tfbc_grammar::{Diagnostic, Severity, Source, SourceId, Sources, Span, datakey, trcfmt};

/// Source of the built-in format file, used if no format file is given.
const BUILT_IN_SOURCE: &[u8] = include_bytes!("../../formats/default.trcfmt");

/// Diagnostics of the compiler, with the sources that they point into. Displayed, a line per diagnostic.
#[derive(Debug, Default)]
pub struct Findings {
    /// Sources that the diagnostics point into.
    pub sources: Sources,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// Stanzas that were left out because of errors, so that the others could be compiled.
    pub left_out: Vec<LeftOut>,
}

impl Findings {
    /// Findings for sources that were compiled completely.
    #[doc(hidden)]
    pub fn new(sources: Sources, diagnostics: Vec<Diagnostic>) -> Self {
        Self { sources, diagnostics, left_out: Vec::new() }
    }

    /// The first error as one line.
    pub(super) fn first_error(&self) -> Option<String> {
        let mut errors = self.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        errors.next().map(|error| self.line(error))
    }

    /// A diagnostic as one line: `file:line:column: error[S07]: message`.
    fn line(&self, diagnostic: &Diagnostic) -> String {
        let Diagnostic { severity, code, message, primary, .. } = diagnostic;
        let text = format!("{severity}[{}]: {message}", code.code);
        self.sources.get(primary.source).map_or_else(
            || text.clone(),
            |source| {
                let (line, column) = source.line_column(primary.span.start);
                format!("{}:{line}:{column}: {text}", source.name())
            },
        )
    }
}

/// A line per diagnostic: `file:line:column: error[S07]: message`. Columns are counted in bytes.
impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnostics.iter().try_for_each(|diagnostic| writeln!(f, "{}", self.line(diagnostic)))
    }
}

/// Sources of a set of format files, which are compiled into one blob.
#[derive(Debug, Default)]
pub struct CompiledSources {
    /// Diagnostics, and the sources.
    pub findings: Findings,
    /// Coverage points, if the sources were compiled with probes. Their program is the last one of the catalog.
    pub points: Vec<CoveragePoint>,
    /// Source spans per routine and instruction, if the sources were compiled plainly. Their program is the last one of
    /// the catalog.
    pub places: Vec<Vec<(SourceId, Span)>>,
}

impl CompiledSources {
    /// Compiles one or more sources.
    ///
    /// # Errors
    /// All errors in the sources.
    pub(super) fn compile(files: Vec<SourceFile>, options: &LoadOptions) -> Result<(Self, LoadedBlob), LoadError> {
        // The built-in file is compiled in advance, unless an option changes what it compiles to.
        if let [SourceFile { path, rank, .. }] = &files[..]
            && path == Path::new(BUILT_IN)
            && options.compile.dialect == Dialect::default()
            && !options.instrument
            && !options.plain
        {
            let blob = LoadedBlob::of_file(path.clone(), BUILT_IN_BLOB.to_vec(), *rank);
            return Ok((Self::default(), blob));
        }
        let mut sources = Sources::new();
        let mut ranks = Vec::new();
        for SourceFile { path, bytes, rank } in files {
            let name = path.to_string_lossy().into_owned();
            ranks.push((name.clone(), rank));
            let source = Source::new(name, bytes);
            if options.refuse_updates && trcfmt::is_update(&source) {
                return Err(LoadError::Update(path));
            }
            sources.add(source);
        }
        let cache = options.cache.as_ref().filter(|_| !options.instrument && !options.plain);
        let cached = cache.and_then(|cache| cache.blob(&sources, &options.compile));
        let kept = cached.as_ref().and_then(CachedBlob::read);
        let is_kept = kept.is_some();
        let (mut points, mut places) = (Vec::new(), Vec::new());
        let Compiled { blob, diagnostics, left_out } = match kept {
            Some(blob) => Compiled { blob: Some(blob), diagnostics: Vec::new(), left_out: Vec::new() },
            None if options.instrument => {
                let made = coverage::instrument(&sources, &options.compile);
                points = made.points;
                made.compiled
            }
            None if options.plain => {
                let made = tfbc_compiler::compile_plainly(&sources, &options.compile);
                places = made.places;
                made.compiled
            }
            None => tfbc_compiler::compile(&sources, &options.compile),
        };
        // Sources with warnings are not cached: the next run must print the warnings again.
        if let (Some(cached), Some(blob), true) = (cached, &blob, diagnostics.is_empty() && !is_kept) {
            cached.write(blob);
        }
        let findings = Findings { sources, diagnostics, left_out };
        let Some(blob) = blob else { return Err(LoadError::Source(findings)) };
        let blob =
            LoadedBlob { path: PathBuf::from(&ranks[0].0), blob, rank: Rank { file: usize::MAX, sources: ranks } };
        Ok((Self { findings, points, places }, blob))
    }

    pub(super) fn files(&self) -> impl Iterator<Item = FormatFile> {
        self.findings.sources.iter().map(|(_, source)| {
            let systems = vec![if datakey::is_xml(source) { System::Qnx } else { System::Aix }];
            FormatFile { name: source.name().to_owned(), systems, is_blob: false }
        })
    }

    /// Name and content per source.
    pub(super) fn contents(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.findings.sources.iter().map(|(_, source)| (source.name(), source.bytes()))
    }
}

pub(super) fn built_in() -> FileContent {
    FileContent::Source(BUILT_IN_SOURCE.to_vec())
}

/// Size limit in bytes of a source in any language.
pub(super) fn max_source(options: &LoadOptions) -> u64 {
    let limits = &options.compile.limits;
    limits.source.max(limits.xml) as u64
}

/// Size limit of a source in bytes, which depends on its language, and the flag that raises the limit.
pub(super) fn source_limit(bytes: &[u8], options: &LoadOptions) -> (u64, Option<&'static str>) {
    let (max, flag) = options.compile.limits.of_language(bytes);
    (max as u64, Some(flag))
}

/// Reads one source; `default` is the built-in one. Returns `None` for a blob.
///
/// # Errors
/// The file cannot be read or is too large.
pub(super) fn read_source(path: &Path, options: &LoadOptions) -> Result<Option<Source>, LoadError> {
    Ok(match read(path, options)? {
        FileContent::Blob(_) => None,
        FileContent::Source(bytes) => Some(Source::new(path.to_string_lossy(), bytes)),
    })
}
