//! Loaded format files, and the lookup from a hook id or QNX event to the program that formats it.

use crate::reader::aix::{compressed, hooks, is_trace, may_be_stream32};
use crate::reader::{Input, MaxRatio, System, TraceKind};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use tfbc_vm::{BlobError, Hook, Level, Program, Space};

#[cfg(feature = "compile")]
use crate::cache::{Cache, CachedBlob};
#[cfg(feature = "compile")]
use tfbc_compiler::coverage::{self, CoveragePoint};
#[cfg(feature = "compile")]
use tfbc_compiler::{Compiled, Dialect, LeftOut, Options};
#[cfg(feature = "compile")]
use tfbc_grammar::{Diagnostic, Severity, Source, SourceId, Sources, Span, trcfmt};

/// Name that selects the built-in format file, as in `-t default`.
pub(crate) const BUILT_IN: &str = "default";

/// Source of the built-in format file, used if no format file is given.
#[cfg(feature = "compile")]
const BUILT_IN_SOURCE: &[u8] = include_bytes!("../formats/default.trcfmt");

/// The built-in format file compiled with default options, so that most runs need no compiler.
static BUILT_IN_BLOB: &[u8] = include_bytes!("../built_in/default.tfbc");

/// Size in bytes from which a blob is verified lazily, each routine before its first run. About a third of a blob is code
/// that stores fields, which is never verified when the blob is opened for a report.
const LARGE_BLOB: usize = 96 << 10;

/// Size of the largest blob that can be loaded, in bytes.
pub(crate) const MAX_BLOB: u64 = 1 << 30;

/// Reason why format files cannot be loaded.
#[derive(Debug)]
pub enum LoadError {
    /// Reading a file failed.
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error from the operating system.
        error: io::Error,
    },
    /// The verifier refused a blob.
    Blob {
        /// Path of the file.
        path: PathBuf,
        /// Rule and offset of the first violation.
        error: BlobError,
    },
    /// A file is larger than its limit.
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// The limit, in bytes.
        max: u64,
        /// Flag that raises the limit, if there is one.
        flag: Option<&'static str>,
    },
    /// The file is not a format file.
    Other {
        /// Path of the file.
        path: PathBuf,
        /// Kind of the file, and the command to use for it.
        what: &'static str,
    },
    /// The file is an update file of `trcupdate`.
    #[cfg(feature = "compile")]
    Update(PathBuf),
    /// The sources do not compile.
    #[cfg(feature = "compile")]
    Source(Findings),
    /// The file is a source, but this build contains no compiler.
    #[cfg(not(feature = "compile"))]
    NoCompiler(PathBuf),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Io { path, error } => write!(f, "cannot read {}: {error}", path.display()),
            LoadError::Blob { path, error } => write!(f, "{}: {error} [{}]", path.display(), error.code()),
            LoadError::TooLarge { path, max, flag } => {
                write!(f, "{} has more than {max} bytes", path.display())?;
                flag.map_or(Ok(()), |flag| write!(f, " ({flag} raises the limit)"))
            }
            LoadError::Other { path, what } => write!(f, "{} is not a format file but a {what}", path.display()),
            #[cfg(feature = "compile")]
            LoadError::Update(path) => {
                write!(f, "{} is an update file; apply it to a format file with `trcupdate`", path.display())
            }
            #[cfg(feature = "compile")]
            LoadError::Source(findings) => {
                f.write_str("the format files do not compile")?;
                let errors = findings.diagnostics.iter().filter(|found| found.severity == Severity::Error);
                errors.take(1).try_for_each(|first| write!(f, ": {}", findings.line(first)))
            }
            #[cfg(not(feature = "compile"))]
            LoadError::NoCompiler(path) => {
                write!(
                    f,
                    "{} is not a compiled blob; compile it with `tfbc compile` first, since this program contains no compiler",
                    path.display()
                )
            }
        }
    }
}

impl std::error::Error for LoadError {}

/// Diagnostics of the compiler for the sources of a [`FormatSet`].
#[cfg(feature = "compile")]
#[derive(Debug, Default)]
pub struct Findings {
    /// Sources that the diagnostics point into.
    pub sources: Sources,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// Stanzas that were left out because of errors.
    pub left_out: Vec<LeftOut>,
}

#[cfg(feature = "compile")]
impl Findings {
    /// Findings for sources that were compiled completely.
    #[doc(hidden)]
    pub fn new(sources: Sources, diagnostics: Vec<Diagnostic>) -> Self {
        Self { sources, diagnostics, left_out: Vec::new() }
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
#[cfg(feature = "compile")]
impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnostics.iter().try_for_each(|diagnostic| writeln!(f, "{}", self.line(diagnostic)))
    }
}

/// Options for loading format files.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// Largest decompression ratio of compressed files.
    pub max_ratio: MaxRatio,
    /// True to verify all of a large blob at once. Otherwise each of its routines is verified before its first run.
    pub verify_whole: bool,
    /// Options of the compiler.
    #[cfg(feature = "compile")]
    pub compile: Options,
    /// True to refuse update files of `trcupdate`. Otherwise their stanzas are loaded.
    #[cfg(feature = "compile")]
    pub refuse_updates: bool,
    /// Cache of compiled sources.
    #[cfg(feature = "compile")]
    pub cache: Option<Cache>,
    /// True to compile sources with coverage probes ([`tfbc_compiler::coverage`]). The cache is not used then.
    #[cfg(feature = "compile")]
    pub instrument: bool,
    /// True to compile without fused instructions ([`tfbc_compiler::compile_plainly`]). The cache is not used then.
    #[cfg(feature = "compile")]
    pub plain: bool,
}

/// Loaded format files. All sources are compiled into one blob; compiled files stay blobs of their own.
#[derive(Debug, Default)]
pub struct FormatSet {
    blobs: Vec<LoadedBlob>,
    #[cfg(feature = "compile")]
    findings: Findings,
    #[cfg(feature = "compile")]
    points: Vec<CoveragePoint>,
    #[cfg(feature = "compile")]
    places: Vec<Vec<(SourceId, Span)>>,
}

#[derive(Debug)]
struct LoadedBlob {
    path: PathBuf,
    blob: Vec<u8>,
    /// Position in the list of files; later files override earlier ones.
    rank: Rank,
}

#[derive(Debug)]
enum Rank {
    File(usize),
    /// Name and position per source that was compiled into the blob.
    #[cfg(feature = "compile")]
    Sources(Vec<(String, usize)>),
}

/// A loaded format file, and the systems whose traces it formats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatFile {
    /// Path as the user wrote it.
    pub name: String,
    /// One system for a source. A blob may contain entries for both.
    pub systems: Vec<System>,
    /// True if the file is a compiled blob.
    pub is_blob: bool,
}

/// Format file to load.
#[derive(Debug, Clone)]
pub enum FormatInput {
    /// File to read; `default` is the built-in format file.
    Path(PathBuf),
    /// Source or blob in memory.
    Memory {
        /// Name used in messages.
        name: String,
        /// Content.
        bytes: Vec<u8>,
    },
}

/// Inputs for [`Formats::load_with`](crate::Formats::load_with): the files, or the built-in file if there are none.
pub fn format_inputs(paths: &[PathBuf]) -> Vec<FormatInput> {
    if paths.is_empty() {
        return vec![FormatInput::Path(BUILT_IN.into())];
    }
    paths.iter().cloned().map(FormatInput::Path).collect()
}

/// Source of a format file that is not compiled yet.
#[derive(Debug)]
#[cfg_attr(not(feature = "compile"), expect(dead_code, reason = "without the compiler, only the path is used"))]
struct SourceFile {
    path: PathBuf,
    bytes: Vec<u8>,
    /// Position among the files of the command.
    rank: usize,
}

/// Content of a format file.
enum FileContent {
    Blob(Vec<u8>),
    Source(Vec<u8>),
}

impl FileContent {
    fn of(bytes: Vec<u8>) -> Self {
        if bytes.starts_with(&tfbc_vm::LABEL) { FileContent::Blob(bytes) } else { FileContent::Source(bytes) }
    }
}

impl FormatSet {
    /// Loads format files; later files override earlier ones. Sources are compiled together, so that they can call each
    /// other's functions. An empty list loads the built-in format file, as does the name `default`.
    ///
    /// # Errors
    /// The first file that cannot be read, or all errors in the sources.
    pub fn load(paths: &[PathBuf], options: &LoadOptions) -> Result<Self, LoadError> {
        Self::load_inputs(format_inputs(paths), options)
    }

    /// Like [`FormatSet::load`], but files may be in memory. An empty list loads nothing.
    ///
    /// # Errors
    /// The first file that cannot be read, or all errors in the sources.
    pub fn load_inputs(
        inputs: impl IntoIterator<Item = FormatInput>,
        options: &LoadOptions,
    ) -> Result<Self, LoadError> {
        let mut blobs = Vec::new();
        let mut sources = Vec::new();
        for (rank, input) in inputs.into_iter().enumerate() {
            let (path, content) = match input {
                FormatInput::Path(path) => read(&path, options).map(|content| (path, content))?,
                FormatInput::Memory { name, bytes } => (PathBuf::from(name), FileContent::of(bytes)),
            };
            match content {
                FileContent::Blob(blob) => blobs.push(LoadedBlob { path, blob, rank: Rank::File(rank) }),
                FileContent::Source(bytes) => sources.push(SourceFile { path, bytes, rank }),
            }
        }
        let mut set = Self {
            blobs,
            #[cfg(feature = "compile")]
            findings: Findings::default(),
            #[cfg(feature = "compile")]
            points: Vec::new(),
            #[cfg(feature = "compile")]
            places: Vec::new(),
        };
        set.compile(sources, options)?;
        Ok(set)
    }

    /// Creates a set of one blob, not yet verified; [`FormatSet::catalog`] does that.
    pub fn from_blob(blob: Vec<u8>) -> Self {
        let mut formats = Self::default();
        formats.blobs.push(LoadedBlob { path: PathBuf::from("blob"), blob, rank: Rank::File(0) });
        formats
    }

    #[cfg(feature = "compile")]
    fn compile(&mut self, files: Vec<SourceFile>, options: &LoadOptions) -> Result<(), LoadError> {
        if files.is_empty() {
            return Ok(());
        }
        // The built-in file is compiled in advance, unless an option changes what it compiles to.
        if let [SourceFile { path, rank, .. }] = &files[..]
            && path == Path::new(BUILT_IN)
            && options.compile.dialect == Dialect::default()
            && !options.instrument
            && !options.plain
        {
            let (path, rank) = (path.clone(), Rank::File(*rank));
            self.blobs.push(LoadedBlob { path, blob: BUILT_IN_BLOB.to_vec(), rank });
            return Ok(());
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
        let Compiled { blob, diagnostics, left_out } = match kept {
            Some(blob) => Compiled { blob: Some(blob), diagnostics: Vec::new(), left_out: Vec::new() },
            None if options.instrument => {
                let made = coverage::instrument(&sources, &options.compile);
                self.points = made.points;
                made.compiled
            }
            None if options.plain => {
                let made = tfbc_compiler::compile_plainly(&sources, &options.compile);
                self.places = made.places;
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
        self.findings = findings;
        self.blobs.push(LoadedBlob { path: PathBuf::from(&ranks[0].0), blob, rank: Rank::Sources(ranks) });
        Ok(())
    }

    #[cfg(not(feature = "compile"))]
    fn compile(&mut self, files: Vec<SourceFile>, _options: &LoadOptions) -> Result<(), LoadError> {
        files.into_iter().next().map_or(Ok(()), |file| Err(LoadError::NoCompiler(file.path)))
    }

    /// Diagnostics for the sources.
    #[cfg(feature = "compile")]
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Coverage points of the sources, if they were compiled with probes. Their program is the last one of the catalog.
    #[cfg(feature = "compile")]
    pub fn points(&self) -> &[CoveragePoint] {
        &self.points
    }

    /// Source spans per routine and instruction, if the sources were compiled plainly. Their program is the last one of
    /// the catalog.
    #[cfg(feature = "compile")]
    pub fn places(&self) -> &[Vec<(SourceId, Span)>] {
        &self.places
    }

    /// Compiled programs, not yet verified: one for all sources, and one per file that was compiled before.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &[u8]> {
        self.blobs.iter().map(|part| &*part.blob)
    }

    /// The user's files, without the built-in one. `catalog` is the catalog of this set.
    pub fn files(&self, catalog: &Catalog<'_>) -> Vec<FormatFile> {
        let blobs = self.blobs.iter().zip(catalog.programs()).filter(|(part, _)| matches!(part.rank, Rank::File(_)));
        let blobs = blobs.map(|(part, program)| {
            let has_hooks = program.hooks().any(|hook| !hook.builtin);
            let has_records = program.entries(Space::Record).next().is_some();
            let systems = [has_hooks.then_some(System::Aix), has_records.then_some(System::Qnx)];
            let name = part.path.to_string_lossy().into_owned();
            FormatFile { name, systems: systems.into_iter().flatten().collect(), is_blob: true }
        });
        let mut files: Vec<FormatFile> = blobs.collect();
        #[cfg(feature = "compile")]
        files.extend(self.findings.sources.iter().map(|(_, source)| {
            let is_xml = tfbc_grammar::datakey::is_xml(source);
            let systems = vec![if is_xml { System::Qnx } else { System::Aix }];
            FormatFile { name: source.name().to_owned(), systems, is_blob: false }
        }));
        files.retain(|file| file.name != BUILT_IN);
        files
    }

    /// Names and contents of the files, the built-in one included, in the order in which they were given.
    pub fn contents(&self) -> Vec<(String, &[u8])> {
        let mut files: Vec<(usize, String, &[u8])> = Vec::new();
        for part in &self.blobs {
            match &part.rank {
                Rank::File(at) => files.push((*at, part.path.to_string_lossy().into_owned(), &part.blob)),
                #[cfg(feature = "compile")]
                Rank::Sources(names) => files.extend(self.findings.sources.iter().map(|(_, source)| {
                    let at = names.iter().find(|(name, _)| name == source.name()).map_or(usize::MAX, |(_, at)| *at);
                    (at, source.name().to_owned(), source.bytes())
                })),
            }
        }
        files.sort_by_key(|(at, ..)| *at);
        files.into_iter().map(|(_, name, bytes)| (name, bytes)).collect()
    }

    /// Verifies the blobs and builds the lookup table.
    ///
    /// # Errors
    /// The first blob that the verifier refuses.
    pub fn catalog(&self) -> Result<Catalog<'_>, LoadError> {
        self.catalog_by(Program::open)
    }

    /// Like [`FormatSet::catalog`], but verifies fields when they are asked for ([`Program::open_for_text`]), and opens
    /// large blobs lazily ([`Program::open_lazily`]). Faster for commands that run few of the programs.
    ///
    /// # Errors
    /// The first blob that the verifier refuses.
    pub fn catalog_to_run(&self) -> Result<Catalog<'_>, LoadError> {
        self.catalog_by(
            |blob| {
                if blob.len() < LARGE_BLOB { Program::open_for_text(blob) } else { Program::open_lazily(blob) }
            },
        )
    }

    fn catalog_by<'b>(
        &'b self,
        open: impl Fn(&'b [u8]) -> Result<Program<'b>, BlobError>,
    ) -> Result<Catalog<'b>, LoadError> {
        let mut catalog = Catalog::new();
        for part in &self.blobs {
            let refused = |error| LoadError::Blob { path: part.path.clone(), error };
            catalog.add(open(&part.blob).map_err(refused)?, &part.rank);
        }
        Ok(catalog)
    }
}

fn read(path: &Path, options: &LoadOptions) -> Result<FileContent, LoadError> {
    if path == Path::new(BUILT_IN) {
        return built_in();
    }
    let fail = |error| LoadError::Io { path: path.to_owned(), error };
    let mut file = Input::open(path).map_err(fail)?.within(options.max_ratio);
    let mut bytes = Vec::new();
    file.read_on(&mut bytes, tfbc_vm::LABEL.len() as u64).map_err(fail)?;
    // No source starts with the first byte of a blob's label, so even one byte of it means a truncated blob.
    let is_blob = !bytes.is_empty() && tfbc_vm::LABEL.starts_with(&bytes);
    // A 32-bit stream has no first word and is recognised by its events. It is tested last, because that test reads the
    // file.
    let is_stream32 =
        || may_be_stream32(&bytes) && path.is_file() && TraceKind::of_file(path).is_ok_and(|it| it.is_some());
    let other = if is_trace(&bytes) || bytes.starts_with(b"TRACE_HE") || is_stream32() {
        Some("trace: `tfbc report` formats it, `tfbc info` describes it")
    } else {
        compressed(&bytes)
    };
    if let Some(what) = other {
        return Err(LoadError::Other { path: path.to_owned(), what });
    }
    let max = if is_blob { MAX_BLOB } else { max_source(options) };
    // The limit depends on the language, which the first bytes may not show.
    file.read_on(&mut bytes, 4 << 10).map_err(fail)?;
    file.read_rest(&mut bytes, max).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => {
            let (max, flag) = if is_blob { (max, None) } else { source_limit(&bytes, options) };
            LoadError::TooLarge { path: path.to_owned(), max, flag }
        }
        _ => fail(error),
    })?;
    Ok(if is_blob { FileContent::Blob(bytes) } else { FileContent::Source(bytes) })
}

#[cfg(feature = "compile")]
fn built_in() -> Result<FileContent, LoadError> {
    Ok(FileContent::Source(BUILT_IN_SOURCE.to_vec()))
}

#[cfg(not(feature = "compile"))]
fn built_in() -> Result<FileContent, LoadError> {
    Ok(FileContent::Blob(BUILT_IN_BLOB.to_vec()))
}

#[cfg(feature = "compile")]
fn max_source(options: &LoadOptions) -> u64 {
    let limits = &options.compile.limits;
    limits.source.max(limits.xml) as u64
}

#[cfg(not(feature = "compile"))]
fn max_source(_options: &LoadOptions) -> u64 {
    64 << 20
}

/// Size limit of a source in bytes, which depends on its language, and the flag that raises the limit.
#[cfg(feature = "compile")]
fn source_limit(bytes: &[u8], options: &LoadOptions) -> (u64, Option<&'static str>) {
    let (max, flag) = options.compile.limits.of_language(bytes);
    (max as u64, Some(flag))
}

/// Size limit of a source in bytes. Without the compiler, no flag raises it.
#[cfg(not(feature = "compile"))]
fn source_limit(_bytes: &[u8], options: &LoadOptions) -> (u64, Option<&'static str>) {
    (max_source(options), None)
}

/// Reads one source; `default` is the built-in one. Returns `None` for a blob.
///
/// # Errors
/// The file cannot be read or is too large.
#[cfg(feature = "compile")]
pub fn read_source(path: &Path, options: &LoadOptions) -> Result<Option<Source>, LoadError> {
    Ok(match read(path, options)? {
        FileContent::Blob(_) => None,
        FileContent::Source(bytes) => Some(Source::new(path.to_string_lossy(), bytes)),
    })
}

/// The template of one hook id.
#[derive(Debug, Clone, Copy)]
pub struct HookEntry {
    /// Index of the program in [`Catalog::programs`].
    program: u32,
    /// Index of the entry in its program.
    pub hook: u32,
    /// Column in which the event's text starts.
    pub level: Level,
    /// True if the template must run even for hidden events, because it starts timers or skips and stops the report.
    pub has_effects: bool,
    builtin: bool,
    /// True if the stanza is from the built-in format file, which guesses the layouts of AIX's own hooks.
    pub is_guess: bool,
    rank: usize,
    id: u16,
}

impl HookEntry {
    /// Canonical id of the stanza. Differs from the event's id for hook 000 and for ids without a stanza.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// Index of the program in [`Catalog::programs`].
    pub(crate) fn program_index(&self) -> usize {
        self.program as usize
    }
}

/// Definition of one QNX event in one program.
#[derive(Debug, Clone, Copy)]
pub struct RecordEntry {
    /// Index of the program in [`Catalog::programs`].
    program: u32,
    /// Index of the entry in its program.
    pub hook: u32,
    rank: usize,
}

/// Lookup table from hook ids and QNX events to the programs that format them.
#[derive(Debug)]
pub struct Catalog<'b> {
    programs: Vec<Program<'b>>,
    /// Entries per defined QNX event, in the order of the files.
    records: Vec<Vec<RecordEntry>>,
    /// Index into `records` plus 1, by space and event id; 0 if the event is not defined. Empty if no event is.
    by_record: Vec<u32>,
    entries: Vec<HookEntry>,
    /// Index into `entries` plus 1, by canonical id; 0 if no stanza defines the id.
    by_id: Vec<u32>,
}

impl<'b> Catalog<'b> {
    fn new() -> Self {
        Self {
            programs: Vec::new(),
            records: Vec::new(),
            by_record: Vec::new(),
            entries: Vec::new(),
            by_id: vec![0; 1 << 16],
        }
    }

    fn add(&mut self, program: Program<'b>, rank: &Rank) {
        let index = self.programs.len() as u32;
        for hook in program.hooks() {
            let entry = HookEntry {
                program: index,
                hook: hook.index,
                level: hook.level,
                has_effects: hook.has_effects,
                builtin: hook.builtin,
                is_guess: !hook.builtin && hook.source == BUILT_IN.as_bytes(),
                rank: rank_of(rank, hook.source),
                id: hook.id,
            };
            self.add_entry(entry);
        }
        let spaces = [Some(Space::Record), program.has_record_fields().then_some(Space::RecordFields)];
        for space in spaces.into_iter().flatten() {
            for hook in program.entries(space) {
                let entry = RecordEntry { program: index, hook: hook.index, rank: rank_of(rank, hook.source) };
                self.add_record(record_index(space, hook.id), entry);
            }
        }
        self.programs.push(program);
    }

    fn add_record(&mut self, place: usize, entry: RecordEntry) {
        self.by_record.resize(2 << 15, 0);
        let at = &mut self.by_record[place];
        if *at == 0 {
            self.records.push(Vec::new());
            *at = self.records.len() as u32;
        }
        let all = &mut self.records[*at as usize - 1];
        all.insert(all.partition_point(|known| known.rank <= entry.rank), entry);
    }

    /// Adds a stanza. A file's stanza overrides a built-in one, and a later file an earlier one.
    fn add_entry(&mut self, entry: HookEntry) {
        let at = &mut self.by_id[usize::from(entry.id)];
        match at.checked_sub(1) {
            None => {
                self.entries.push(entry);
                *at = self.entries.len() as u32;
            }
            Some(old) => {
                let old = &mut self.entries[old as usize];
                // Every blob contains the built-in stanzas, and they must not override stanzas of an earlier file.
                if (!entry.builtin, entry.rank) >= (!old.builtin, old.rank) {
                    *old = entry;
                }
            }
        }
    }

    /// Returns the entry of a canonical id; `None` if no stanza defines it.
    #[inline]
    pub fn get(&self, id: u16) -> Option<&HookEntry> {
        self.by_id[usize::from(id)].checked_sub(1).map(|at| &self.entries[at as usize])
    }

    /// All entries, one per id with a stanza.
    pub fn entries(&self) -> impl Iterator<Item = &HookEntry> {
        self.entries.iter()
    }

    /// True if a stanza of the loaded files, not a built-in rule, formats events of a canonical id.
    pub fn defines(&self, id: u16) -> bool {
        self.get(id).is_some_and(|entry| !entry.builtin)
    }

    /// Returns the entry that formats events of a canonical id. Stanza 004 formats hook 000, and stanza 007 formats ids
    /// without a stanza.
    #[inline]
    pub fn lookup(&self, id: u16) -> Option<&HookEntry> {
        // Stanzas 004 and 007 format events without a stanza. A format file can replace them.
        if id == hooks::ZERO {
            self.get(hooks::ID_IS_ZERO)
        } else {
            self.get(id).or_else(|| self.get(hooks::UNDEFINED))
        }
    }

    /// Returns the definitions of a QNX event: one entry per program that defines it, in the order of the files.
    #[inline]
    pub fn records(&self, space: Space, class: u8, event: u16) -> &[RecordEntry] {
        let at =
            self.by_record.get(record_index(space, Space::record_id(class, event))).and_then(|at| at.checked_sub(1));
        at.map_or(&[], |at| &self.records[at as usize])
    }

    /// True if any QNX event has a definition.
    pub fn has_records(&self) -> bool {
        !self.records.is_empty()
    }

    /// Names of a QNX event's definitions, separated by `; `.
    pub fn names_of_record(&self, class: u8, event: u16) -> String {
        let names = self.records(Space::Record, class, event).iter().filter_map(|entry| {
            let record = self.record_program(entry).record(class, event)?;
            Some(String::from_utf8_lossy(record.label).into_owned())
        });
        names.collect::<Vec<_>>().join("; ")
    }

    /// Program of a QNX event's entry.
    #[inline]
    pub fn record_program(&self, entry: &RecordEntry) -> &Program<'b> {
        &self.programs[entry.program as usize]
    }

    /// Program of a hook's entry.
    #[inline]
    pub fn program(&self, entry: &HookEntry) -> &Program<'b> {
        &self.programs[entry.program as usize]
    }

    /// Name of a hook for messages: its id and label, such as `hook 010 SENSOR`.
    pub(crate) fn name_of(&self, id: u16) -> String {
        let hook = self.lookup(id).and_then(|entry| self.program(entry).hook(entry.id()));
        let label = hook.map_or(String::new(), |hook| format!(" {}", String::from_utf8_lossy(hook.label)));
        format!("hook {}{label}", crate::ids::display_id(id))
    }

    /// All programs, in the order of loading.
    pub fn programs(&self) -> &[Program<'b>] {
        &self.programs
    }

    /// Properties of all hooks with a stanza, ordered by id.
    // A list, because an iterator would be compiled in the package that uses it, and commands are not optimised.
    pub fn hooks(&self) -> Vec<Hook<'_>> {
        let found = self.by_id.iter().filter_map(|at| at.checked_sub(1));
        let hooks = found.filter_map(|at| {
            let entry = &self.entries[at as usize];
            self.program(entry).hook(entry.id)
        });
        hooks.collect()
    }

    /// Class and number per QNX event with a definition, in ascending order.
    pub(crate) fn defined_records(&self) -> Vec<(u8, u16)> {
        let known = self.by_record.iter().take(1 << 15).enumerate().filter(|(_, at)| **at != 0);
        known.map(|(id, _)| ((id >> 10) as u8, (id & 1023) as u16)).collect()
    }

    /// True if a stanza has a four-digit id.
    pub fn has_wide_ids(&self) -> bool {
        self.entries.iter().any(|entry| entry.id & 15 != 0)
    }
}

/// Index into [`Catalog::by_record`] for a 15-bit event id; the second half of the table is for fields.
fn record_index(space: Space, id: u16) -> usize {
    usize::from(id & 0x7fff) | usize::from(space == Space::RecordFields) << 15
}

#[cfg_attr(not(feature = "compile"), expect(unused_variables, reason = "a blob ranks as a whole"))]
fn rank_of(rank: &Rank, source: &[u8]) -> usize {
    match rank {
        Rank::File(rank) => *rank,
        #[cfg(feature = "compile")]
        Rank::Sources(names) => {
            names.iter().filter(|(name, _)| name.as_bytes() == source).map(|(_, rank)| *rank).max().unwrap_or(0)
        }
    }
}
