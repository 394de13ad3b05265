//! Loaded format files: sources and blobs, on disk or in memory.
//!
//! `sources.rs` compiles sources. Without the feature `compile`, `no_sources.rs` refuses them instead.

#[cfg_attr(not(feature = "compile"), path = "no_sources.rs")]
mod sources;

use crate::catalog::{BUILT_IN, Catalog, Rank};
use crate::reader::aix::{compressed, is_trace, may_be_stream32};
use crate::reader::{Input, MaxRatio, System, TraceKind};
use sources::{CompiledSources, built_in, max_source, source_limit};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use tfbc_vm::{BlobError, Program, Space};

#[cfg(feature = "compile")]
pub use sources::Findings;

/// The built-in format file compiled with default options, so that most runs need no compiler.
static BUILT_IN_BLOB: &[u8] = include_bytes!("../../built_in/default.tfbc");

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
        /// Flag of `tfbc` that raises the limit; `None` if it is fixed.
        flag: Option<&'static str>,
    },
    /// The file is not a format file.
    Other {
        /// Path of the file.
        path: PathBuf,
        /// Text with the kind of the file and the command to use for it.
        what: &'static str,
    },
    /// The file is an update file of `trcupdate`.
    Update(PathBuf),
    /// The sources do not compile.
    #[cfg(feature = "compile")]
    Source(Findings),
    /// The file is a source, but this build contains no compiler (feature `compile`).
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
            LoadError::Update(path) => {
                write!(f, "{} is an update file; apply it to a format file with `trcupdate`", path.display())
            }
            #[cfg(feature = "compile")]
            LoadError::Source(findings) => {
                f.write_str("the format files do not compile")?;
                findings.first_error().map_or(Ok(()), |error| write!(f, ": {error}"))
            }
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

/// Options for loading format files.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// Largest decompression ratio of compressed files.
    pub max_ratio: MaxRatio,
    /// True to verify all of a large blob at once. Otherwise each of its routines is verified before its first run.
    pub verify_whole: bool,
    /// Options of the compiler.
    #[cfg(feature = "compile")]
    pub compile: tfbc_compiler::Options,
    /// True to refuse update files of `trcupdate`. Otherwise their stanzas are loaded.
    pub refuse_updates: bool,
    /// Cache of compiled sources; `None` to compile them at every load.
    #[cfg(feature = "compile")]
    pub cache: Option<crate::Cache>,
    /// True to compile sources with coverage probes ([`tfbc_compiler::coverage`]), without the cache.
    pub instrument: bool,
    /// True to compile without fused instructions ([`tfbc_compiler::compile_plainly`]), without the cache.
    pub plain: bool,
}

/// Loaded format files. All sources are compiled into one blob; compiled files stay blobs of their own.
#[derive(Debug, Default)]
pub struct FormatSet {
    blobs: Vec<LoadedBlob>,
    sources: CompiledSources,
}

#[derive(Debug)]
struct LoadedBlob {
    path: PathBuf,
    blob: Vec<u8>,
    rank: Rank,
}

impl LoadedBlob {
    /// A blob that was compiled before.
    fn of_file(path: PathBuf, blob: Vec<u8>, rank: usize) -> Self {
        Self { path, blob, rank: Rank { file: rank, sources: Vec::new() } }
    }
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

impl FormatInput {
    /// Inputs for [`Formats::load_with`](crate::Formats::load_with): the files, or the built-in file if there are none.
    pub fn of_paths(paths: &[PathBuf]) -> Vec<Self> {
        if paths.is_empty() {
            return vec![FormatInput::Path(BUILT_IN.into())];
        }
        paths.iter().cloned().map(FormatInput::Path).collect()
    }

    /// Reads the source of a file; `default` is the built-in one. Returns `None` for a blob.
    ///
    /// # Errors
    /// The file cannot be read or is too large.
    #[doc(hidden)]
    #[cfg(feature = "compile")]
    pub fn read_source(path: &Path, options: &LoadOptions) -> Result<Option<tfbc_grammar::Source>, LoadError> {
        sources::read_source(path, options)
    }
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
        Self::load_inputs(FormatInput::of_paths(paths), options)
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
                FileContent::Blob(blob) => blobs.push(LoadedBlob::of_file(path, blob, rank)),
                FileContent::Source(bytes) => sources.push(SourceFile { path, bytes, rank }),
            }
        }
        let mut set = Self { blobs, sources: CompiledSources::default() };
        if !sources.is_empty() {
            let compiled = CompiledSources::compile(sources, options)?;
            set.sources = compiled.0;
            set.blobs.push(compiled.1);
        }
        Ok(set)
    }

    /// Creates a set of one blob, not yet verified; [`FormatSet::catalog`] does that.
    pub fn from_blob(blob: Vec<u8>) -> Self {
        let blobs = vec![LoadedBlob::of_file(PathBuf::from("blob"), blob, 0)];
        Self { blobs, sources: CompiledSources::default() }
    }

    /// Results of the compiler for the sources.
    #[cfg(feature = "compile")]
    pub(crate) fn sources(&self) -> &CompiledSources {
        &self.sources
    }

    /// Compiled programs, not yet verified: one for all sources, and one per file that was compiled before.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &[u8]> {
        self.blobs.iter().map(|part| &*part.blob)
    }

    /// The user's files, without the built-in one. `catalog` is the catalog of this set.
    pub fn files(&self, catalog: &Catalog<'_>) -> Vec<FormatFile> {
        let blobs = self.blobs.iter().zip(catalog.programs()).filter(|(part, _)| part.rank.sources.is_empty());
        let blobs = blobs.map(|(part, program)| {
            let has_hooks = program.hooks().any(|hook| !hook.builtin);
            let has_records = program.entries(Space::Record).next().is_some();
            let systems = [has_hooks.then_some(System::Aix), has_records.then_some(System::Qnx)];
            let name = part.path.to_string_lossy().into_owned();
            FormatFile { name, systems: systems.into_iter().flatten().collect(), is_blob: true }
        });
        let mut files: Vec<FormatFile> = blobs.collect();
        files.extend(self.sources.files());
        files.retain(|file| file.name != BUILT_IN);
        files
    }

    /// Names and contents of the files, the built-in one included, in the order in which they were given.
    pub fn contents(&self) -> Vec<(String, &[u8])> {
        let mut files: Vec<(usize, String, &[u8])> = Vec::new();
        for part in &self.blobs {
            if part.rank.sources.is_empty() {
                files.push((part.rank.file, part.path.to_string_lossy().into_owned(), &part.blob));
            }
            files.extend(self.sources.contents().filter_map(|(name, bytes)| {
                let (_, at) = part.rank.sources.iter().find(|(known, _)| known == name)?;
                Some((*at, name.to_owned(), bytes))
            }));
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
        return Ok(built_in());
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
