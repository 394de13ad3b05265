//! Which program prints which hook: format files, loaded and looked up by hook id.

use crate::reader::aix::{compressed, hooks, is_trace, may_be_stream32};
use crate::reader::{AnyTrace, Input, MaxRatio, System};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use tfbc_vm::{BlobError, Hook, Level, Program, Space};

#[cfg(feature = "compile")]
use crate::cache::{Cache, Slot};
#[cfg(feature = "compile")]
use tfbc_compiler::coverage::{self, Point};
#[cfg(feature = "compile")]
use tfbc_compiler::{Compiled, Dialect, LeftOut, Options};
#[cfg(feature = "compile")]
use tfbc_grammar::{Diagnostic, Source, SourceId, SourceLimits, Sources, Span, datakey, trcfmt};

/// The name that `-t` takes for the format file that is part of the program.
pub const BUILT_IN: &str = "default";

/// The stanzas of the well-known hooks, used where no format file is named.
#[cfg(feature = "compile")]
const BUILT_IN_SOURCE: &[u8] = include_bytes!("../formats/default.trcfmt");

/// What they compile to, where nothing of the language is set otherwise.
static BUILT_IN_BLOB: &[u8] = include_bytes!("../built_in/default.tfbc");

/// Blobs of at least so many bytes are verified routine by routine as they run.
const LARGE_BLOB: usize = 64 << 10;

/// The largest blob that is loaded, in bytes.
pub const MAX_BLOB: u64 = 1 << 30;

/// Why format files could not be loaded.
#[derive(Debug)]
pub enum LoadError {
    /// A file cannot be read.
    Io {
        /// The file as it was named.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A blob was refused.
    Blob {
        /// The file as it was named.
        path: PathBuf,
        /// Why.
        error: BlobError,
    },
    /// The file is too large.
    TooLarge {
        /// The file as it was named.
        path: PathBuf,
        /// The most that is read, in bytes.
        max: u64,
        /// The flag that raises the limit.
        flag: Option<&'static str>,
    },
    /// The file is of another kind, named here with what to do.
    Other {
        /// The file as it was named.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// The file is an update file of `trcupdate`.
    #[cfg(feature = "compile")]
    Update(PathBuf),
    /// Sources do not compile.
    #[cfg(feature = "compile")]
    Source(Findings),
    /// A source, where only blobs can be loaded.
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
                write!(f, "{} is an update file: `trcupdate` applies it to a format file", path.display())
            }
            #[cfg(feature = "compile")]
            LoadError::Source(_) => f.write_str("the format files do not compile"),
            #[cfg(not(feature = "compile"))]
            LoadError::NoCompiler(path) => {
                write!(f, "{} is no blob, and this program was built without the compiler", path.display())
            }
        }
    }
}

impl std::error::Error for LoadError {}

/// What the compiler found in the sources of a [`FormatSet`].
#[cfg(feature = "compile")]
#[derive(Debug, Default)]
pub struct Findings {
    /// The sources that the diagnostics point into.
    pub sources: Sources,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// Stanzas that were left out because of errors.
    pub left_out: Vec<LeftOut>,
}

#[cfg(feature = "compile")]
impl Findings {
    /// Findings of sources of which nothing was left out.
    pub fn new(sources: Sources, diagnostics: Vec<Diagnostic>) -> Self {
        Self { sources, diagnostics, left_out: Vec::new() }
    }
}

/// How format files are loaded.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// What compressed files may come to.
    pub max_ratio: MaxRatio,
    /// How sources are compiled.
    #[cfg(feature = "compile")]
    pub compile: Options,
    /// True if update files of `trcupdate` are refused; otherwise their stanzas are used.
    #[cfg(feature = "compile")]
    pub refuse_updates: bool,
    /// Where what sources compile to is kept.
    #[cfg(feature = "compile")]
    pub cache: Option<Cache>,
    /// Whether sources are compiled with probes ([`tfbc_compiler::coverage`]); what they compile to is not kept then.
    #[cfg(feature = "compile")]
    pub instrument: bool,
    /// Whether each step of a template stays an instruction of its own ([`tfbc_compiler::compile_plainly`]); what sources
    /// compile to is not kept then.
    #[cfg(feature = "compile")]
    pub plain: bool,
}

/// Loaded format files: blobs, and the blob that the sources among them were compiled into.
#[derive(Debug, Default)]
pub struct FormatSet {
    parts: Vec<Part>,
    #[cfg(feature = "compile")]
    findings: Findings,
    #[cfg(feature = "compile")]
    points: Vec<Point>,
    #[cfg(feature = "compile")]
    places: Vec<Vec<(SourceId, Span)>>,
}

#[derive(Debug)]
struct Part {
    path: PathBuf,
    blob: Vec<u8>,
    /// Place in the list of files, or of each source of a compiled set.
    rank: Rank,
}

#[derive(Debug)]
enum Rank {
    File(usize),
    /// Name and place of each source.
    #[cfg(feature = "compile")]
    Sources(Vec<(String, usize)>),
}

/// A format file of a set, and the systems whose traces it formats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatFile {
    /// The name as it was given.
    pub name: String,
    /// One of the two for a source; a blob may format traces of both.
    pub systems: Vec<System>,
}

/// The bytes of one file, told apart by content.
enum Content {
    Blob(Vec<u8>),
    Source(Vec<u8>),
}

impl FormatSet {
    /// Loads format files; later ones win. Sources are compiled together, so that their functions see each other. No
    /// files at all mean the built-in one, which is also named `default`.
    ///
    /// # Errors
    /// The first file that cannot be read or opened, or all that is wrong with the sources.
    pub fn load(paths: &[PathBuf], options: &LoadOptions) -> Result<Self, LoadError> {
        let built_in = [PathBuf::from(BUILT_IN)];
        let paths = if paths.is_empty() { &built_in } else { paths };
        let mut parts = Vec::new();
        let mut sources = Vec::new();
        for (rank, path) in paths.iter().enumerate() {
            match read(path, options)? {
                Content::Blob(blob) => parts.push(Part { path: path.clone(), blob, rank: Rank::File(rank) }),
                Content::Source(source) => sources.push((path.clone(), source, rank)),
            }
        }
        let mut set = Self {
            parts,
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

    /// A set of one blob, which [`FormatSet::catalog`] verifies.
    pub fn from_blob(blob: Vec<u8>) -> Self {
        let mut formats = Self::default();
        formats.parts.push(Part { path: PathBuf::from("blob"), blob, rank: Rank::File(0) });
        formats
    }

    #[cfg(feature = "compile")]
    fn compile(&mut self, files: Vec<(PathBuf, Vec<u8>, usize)>, options: &LoadOptions) -> Result<(), LoadError> {
        if files.is_empty() {
            return Ok(());
        }
        if let [(path, _, rank)] = &files[..]
            && path == Path::new(BUILT_IN)
            && options.compile.dialect == Dialect::default()
            && !options.instrument
            && !options.plain
        {
            let (path, rank) = (path.clone(), Rank::File(*rank));
            self.parts.push(Part { path, blob: BUILT_IN_BLOB.to_vec(), rank });
            return Ok(());
        }
        let mut sources = Sources::new();
        let mut ranks = Vec::new();
        for (path, bytes, rank) in files {
            let name = path.to_string_lossy().into_owned();
            ranks.push((name.clone(), rank));
            let source = Source::new(name, bytes);
            if options.refuse_updates && trcfmt::is_update(&source) {
                return Err(LoadError::Update(path));
            }
            sources.add(source);
        }
        let cache = options.cache.as_ref().filter(|_| !options.instrument && !options.plain);
        let slot = cache.and_then(|cache| cache.slot(&sources, &options.compile));
        let kept = slot.as_ref().and_then(Slot::read);
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
        if let (Some(slot), Some(blob), true) = (slot, &blob, diagnostics.is_empty() && !is_kept) {
            slot.write(blob);
        }
        let findings = Findings { sources, diagnostics, left_out };
        let Some(blob) = blob else { return Err(LoadError::Source(findings)) };
        self.findings = findings;
        self.parts.push(Part { path: PathBuf::from(&ranks[0].0), blob, rank: Rank::Sources(ranks) });
        Ok(())
    }

    #[cfg(not(feature = "compile"))]
    fn compile(&mut self, files: Vec<(PathBuf, Vec<u8>, usize)>, _options: &LoadOptions) -> Result<(), LoadError> {
        files.into_iter().next().map_or(Ok(()), |(path, ..)| Err(LoadError::NoCompiler(path)))
    }

    /// Warnings about the sources.
    #[cfg(feature = "compile")]
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// The points of the sources, where they were compiled with probes: their program is the last one of the catalog.
    #[cfg(feature = "compile")]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The place of each instruction of each routine, where the sources were compiled plainly: their program is the last
    /// one of the catalog.
    #[cfg(feature = "compile")]
    pub fn places(&self) -> &[Vec<(SourceId, Span)>] {
        &self.places
    }

    /// The files that were blobs already.
    #[cfg(feature = "compile")]
    pub fn blobs(&self) -> impl Iterator<Item = &Path> {
        self.parts.iter().filter(|part| matches!(part.rank, Rank::File(_))).map(|part| &*part.path)
    }

    /// The files that were given, the built-in one left out; `catalog` is that of the set.
    pub fn files(&self, catalog: &Catalog<'_>) -> Vec<FormatFile> {
        let blobs = self.parts.iter().zip(catalog.programs()).filter(|(part, _)| matches!(part.rank, Rank::File(_)));
        let blobs = blobs.map(|(part, program)| {
            let has_hooks = program.hooks().any(|hook| !hook.builtin);
            let has_records = program.entries(Space::Record).next().is_some();
            let systems = [has_hooks.then_some(System::Aix), has_records.then_some(System::Qnx)];
            let name = part.path.to_string_lossy().into_owned();
            FormatFile { name, systems: systems.into_iter().flatten().collect() }
        });
        let mut files: Vec<FormatFile> = blobs.collect();
        #[cfg(feature = "compile")]
        files.extend(self.findings.sources.iter().map(|(_, source)| {
            let is_xml = tfbc_grammar::datakey::is_xml(source);
            let systems = vec![if is_xml { System::Qnx } else { System::Aix }];
            FormatFile { name: source.name().to_owned(), systems }
        }));
        files.retain(|file| file.name != BUILT_IN);
        files
    }

    /// Verifies the blobs and gives the lookup by hook id.
    ///
    /// # Errors
    /// The first blob that is refused.
    pub fn catalog(&self) -> Result<Catalog<'_>, LoadError> {
        self.catalog_by(Program::open)
    }

    /// The same for commands that run the programs: large blobs are opened lazily ([`Program::open_lazily`]).
    ///
    /// # Errors
    /// The first blob that is refused.
    pub fn catalog_to_run(&self) -> Result<Catalog<'_>, LoadError> {
        self.catalog_by(|blob| if blob.len() < LARGE_BLOB { Program::open(blob) } else { Program::open_lazily(blob) })
    }

    fn catalog_by<'b>(
        &'b self,
        open: impl Fn(&'b [u8]) -> Result<Program<'b>, BlobError>,
    ) -> Result<Catalog<'b>, LoadError> {
        let mut catalog = Catalog::new();
        for part in &self.parts {
            let refused = |error| LoadError::Blob { path: part.path.clone(), error };
            catalog.add(open(&part.blob).map_err(refused)?, &part.rank);
        }
        Ok(catalog)
    }
}

fn read(path: &Path, options: &LoadOptions) -> Result<Content, LoadError> {
    if path == Path::new(BUILT_IN) {
        return built_in();
    }
    let fail = |error| LoadError::Io { path: path.to_owned(), error };
    let mut file = Input::open(path).map_err(fail)?.within(options.max_ratio);
    let mut bytes = Vec::new();
    file.read_on(&mut bytes, tfbc_vm::LABEL.len() as u64).map_err(fail)?;
    // No source begins with the label's first byte: what is cut within the label is a blob cut short.
    let is_blob = !bytes.is_empty() && tfbc_vm::LABEL.starts_with(&bytes);
    let is_stream32 =
        || may_be_stream32(&bytes) && path.is_file() && AnyTrace::system_of(path).is_ok_and(|it| it.is_some());
    let other = if is_trace(&bytes) || bytes.starts_with(b"TRACE_HE") || is_stream32() {
        Some("trace: `tfbc report` formats it, `tfbc info` describes it")
    } else {
        compressed(&bytes)
    };
    if let Some(what) = other {
        return Err(LoadError::Other { path: path.to_owned(), what });
    }
    let max = if is_blob { MAX_BLOB } else { max_source(options) };
    // Which language a source is in may not show in its first bytes.
    file.read_on(&mut bytes, 4 << 10).map_err(fail)?;
    file.read_rest(&mut bytes, max).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => {
            let (max, flag) = if is_blob { (max, None) } else { source_limit(&bytes, options) };
            LoadError::TooLarge { path: path.to_owned(), max, flag }
        }
        _ => fail(error),
    })?;
    Ok(if is_blob { Content::Blob(bytes) } else { Content::Source(bytes) })
}

#[cfg(feature = "compile")]
fn built_in() -> Result<Content, LoadError> {
    Ok(Content::Source(BUILT_IN_SOURCE.to_vec()))
}

#[cfg(not(feature = "compile"))]
fn built_in() -> Result<Content, LoadError> {
    Ok(Content::Blob(BUILT_IN_BLOB.to_vec()))
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

/// The limit of a format file by its language, in bytes, and the flag that raises it.
#[cfg(feature = "compile")]
fn source_limit(bytes: &[u8], options: &LoadOptions) -> (u64, Option<&'static str>) {
    let (max, flag) = limit_of(bytes, &options.compile.limits);
    (max as u64, Some(flag))
}

/// The limit of a format file by its language, in bytes, and the flag that raises it.
#[cfg(not(feature = "compile"))]
fn source_limit(_bytes: &[u8], options: &LoadOptions) -> (u64, Option<&'static str>) {
    (max_source(options), None)
}

/// The most bytes that a format file may have by its language, and the flag that raises the limit.
#[cfg(feature = "compile")]
pub fn limit_of(bytes: &[u8], limits: &SourceLimits) -> (usize, &'static str) {
    if datakey::looks_like_xml(bytes) { (limits.xml, "--max-xml") } else { (limits.source, "--max-source") }
}

/// Reads one source, `default` being the built-in one; `None` for a blob.
///
/// # Errors
/// The file cannot be read or is too large.
#[cfg(feature = "compile")]
pub fn read_source(path: &Path, options: &LoadOptions) -> Result<Option<Source>, LoadError> {
    Ok(match read(path, options)? {
        Content::Blob(_) => None,
        Content::Source(bytes) => Some(Source::new(path.to_string_lossy(), bytes)),
    })
}

/// What prints one hook id.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Index of the program in [`Catalog::program`].
    program: u32,
    /// Index for the machine.
    pub hook: u32,
    /// Text column.
    pub level: Level,
    /// Whether it must run even when the event is filtered out.
    pub has_effects: bool,
    builtin: bool,
    /// True if the stanza is one of the built-in format file, whose layouts are guesses.
    pub is_guess: bool,
    rank: usize,
    id: u16,
}

impl Entry {
    /// The canonical id of the stanza, which for hook 000 and for ids without a stanza is another than the event's.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// Index of the program in [`Catalog::programs`].
    pub(crate) fn program_index(&self) -> usize {
        self.program as usize
    }
}

/// What shows the records of one class and event, by the definitions of one program.
#[derive(Debug, Clone, Copy)]
pub struct RecordEntry {
    /// Index of the program.
    program: u32,
    /// Index for the machine.
    pub hook: u32,
    rank: usize,
}

/// Hook ids and the programs that print them.
#[derive(Debug)]
pub struct Catalog<'b> {
    programs: Vec<Program<'b>>,
    /// The entries of each class and event that has any, in the order of the files.
    records: Vec<Vec<RecordEntry>>,
    /// By space and id: an index of `records` and 1, or 0. Empty where there are none.
    by_record: Vec<u32>,
    entries: Vec<Entry>,
    /// By canonical id: an index of `entries` and 1, or 0.
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
            let entry = Entry {
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
        for space in [Space::Record, Space::Fields] {
            for hook in program.entries(space) {
                let entry = RecordEntry { program: index, hook: hook.index, rank: rank_of(rank, hook.source) };
                self.add_record(record_place(space, hook.id), entry);
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

    /// A stanza of a file wins over a built-in one, a later file over an earlier.
    fn add_entry(&mut self, entry: Entry) {
        let at = &mut self.by_id[usize::from(entry.id)];
        match at.checked_sub(1) {
            None => {
                self.entries.push(entry);
                *at = self.entries.len() as u32;
            }
            Some(old) => {
                let old = &mut self.entries[old as usize];
                if (!entry.builtin, entry.rank) >= (!old.builtin, old.rank) {
                    *old = entry;
                }
            }
        }
    }

    /// The entry of a canonical id, `None` where no stanza defines it.
    #[inline]
    pub fn get(&self, id: u16) -> Option<&Entry> {
        self.by_id[usize::from(id)].checked_sub(1).map(|at| &self.entries[at as usize])
    }

    /// The entries of all ids that have a stanza.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Whether a stanza of the given files formats events of a canonical id.
    pub fn defines(&self, id: u16) -> bool {
        self.get(id).is_some_and(|entry| !entry.builtin)
    }

    /// The entry that prints events of a canonical id: hook 000 is printed by stanza 004, an id without a stanza by
    /// 007.
    #[inline]
    pub fn lookup(&self, id: u16) -> Option<&Entry> {
        if id == hooks::ZERO {
            self.get(hooks::ID_IS_ZERO)
        } else {
            self.get(id).or_else(|| self.get(hooks::UNDEFINED))
        }
    }

    /// What shows the records of a class and event: an entry for each program with definitions of it, in the order of
    /// the files.
    #[inline]
    pub fn records(&self, space: Space, class: u8, event: u16) -> &[RecordEntry] {
        let at =
            self.by_record.get(record_place(space, Space::record_id(class, event))).and_then(|at| at.checked_sub(1));
        at.map_or(&[], |at| &self.records[at as usize])
    }

    /// Whether any event of QNX has a definition.
    pub fn has_records(&self) -> bool {
        !self.records.is_empty()
    }

    /// The program of a record's entry.
    #[inline]
    pub fn record_program(&self, entry: &RecordEntry) -> &Program<'b> {
        &self.programs[entry.program as usize]
    }

    /// The program of an entry.
    #[inline]
    pub fn program(&self, entry: &Entry) -> &Program<'b> {
        &self.programs[entry.program as usize]
    }

    /// The hook of an id and its label, such as `hook 010 SENSOR`.
    pub(crate) fn name_of(&self, id: u16) -> String {
        let hook = self.lookup(id).and_then(|entry| self.program(entry).hook(entry.id()));
        let label = hook.map_or(String::new(), |hook| format!(" {}", String::from_utf8_lossy(hook.label)));
        format!("hook {}{label}", crate::ids::display_id(id))
    }

    /// All programs, in the order in which they were loaded.
    pub fn programs(&self) -> &[Program<'b>] {
        &self.programs
    }

    /// What is known of every id that has a stanza, by id.
    pub fn hooks(&self) -> impl Iterator<Item = Hook<'_>> {
        let found = self.by_id.iter().filter_map(|at| at.checked_sub(1));
        found.filter_map(|at| {
            let entry = &self.entries[at as usize];
            self.program(entry).hook(entry.id)
        })
    }

    /// Class and number of each QNX event that has definitions, in order.
    pub(crate) fn defined_records(&self) -> impl Iterator<Item = (u8, u16)> {
        let known = self.by_record.iter().take(1 << 15).enumerate().filter(|(_, at)| **at != 0);
        known.map(|(id, _)| ((id >> 10) as u8, (id & 1023) as u16))
    }

    /// Whether a stanza has an id that takes four digits.
    pub fn has_wide_ids(&self) -> bool {
        self.entries.iter().any(|entry| entry.id & 15 != 0)
    }
}

/// The place in [`Catalog::by_record`] of a record's id, 15 bits, or of its fields.
fn record_place(space: Space, id: u16) -> usize {
    usize::from(id & 0x7fff) | usize::from(space == Space::Fields) << 15
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
