//! The library's type for loaded format files.

use crate::catalog::{BUILT_IN, Catalog};
use crate::events;
use crate::fields::{FieldFormat, describe, list_json, list_text, record_schemas};
use crate::format_files::{FormatFile, FormatInput, FormatSet, LoadError, LoadOptions, MAX_BLOB};
use crate::ids::{EventId, display_id};
use self_cell::self_cell;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

self_cell!(
    struct LoadedFormats {
        owner: FormatSet,
        #[covariant]
        dependent: Catalog,
    }
);

/// Loaded and verified format files: AIX templates, QNX event definitions, or blobs compiled from them.
///
/// Immutable, cheap to clone, and safe to share between threads.
///
/// ```
/// use tfbc::Formats;
///
/// let formats = Formats::builtin();
/// let dispatch = formats.events().find(|event| event.id == "106").unwrap();
/// assert_eq!(dispatch.label, "DISPATCH");
/// ```
#[derive(Clone)]
pub struct Formats(Arc<LoadedFormats>);

/// An event that a format file describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFormat {
    /// Id as reports print it: `106` or `F5F1` for AIX, class and number such as `USER:65` for QNX.
    pub id: String,
    /// Label of an AIX template; names of a QNX event's definitions, separated by `; `.
    pub label: String,
    /// Fields, in the order of [`Event::fields`](crate::Event::fields).
    pub fields: Vec<FieldFormat>,
}

impl Formats {
    /// Name of the built-in format file, for [`Formats::load`].
    pub const BUILT_IN: &str = BUILT_IN;

    /// Size of the largest blob that can be loaded, in bytes.
    pub const MAX_BLOB: u64 = MAX_BLOB;

    /// The built-in format file for AIX. Kernel events of QNX need no format file.
    pub fn builtin() -> Self {
        Self::load::<&Path>([]).expect("the built-in format file loads")
    }

    /// Loads format files, event definitions and blobs, which are recognised by their content.
    ///
    /// Later files override earlier ones. An empty list loads the built-in format file.
    ///
    /// # Errors
    /// A file cannot be read, does not compile, or is a blob that the verifier refuses.
    pub fn load<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, LoadError> {
        let paths: Vec<PathBuf> = paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
        Self::load_with(FormatInput::of_paths(&paths), &LoadOptions::default())
    }

    /// Like [`Formats::load`], with a dialect, limits or a cache. Files may be in memory. An empty list loads nothing.
    ///
    /// ```
    /// use tfbc::{FormatInput, Formats, LoadOptions};
    ///
    /// let bytes = b"015 1.0 \"STATE\" \"state=\" $D1%U4\n".to_vec();
    /// let source = FormatInput::Memory { name: "state.trcfmt".into(), bytes };
    /// let formats = Formats::load_with([source], &LoadOptions::default())?;
    /// assert_eq!(formats.events().find(|event| event.id == "015").unwrap().fields[0].name, "state");
    /// # Ok::<(), tfbc::LoadError>(())
    /// ```
    ///
    /// # Errors
    /// A file cannot be read, does not compile, or is a blob that the verifier refuses.
    pub fn load_with(inputs: impl IntoIterator<Item = FormatInput>, options: &LoadOptions) -> Result<Self, LoadError> {
        Self::verify(FormatSet::load_inputs(inputs, options)?, options.verify_whole)
    }

    /// Verifies a compiled blob (`.tfbc`).
    ///
    /// # Errors
    /// The verifier refuses the blob; the error contains the rule and the offset.
    pub fn from_blob(blob: impl Into<Vec<u8>>) -> Result<Self, LoadError> {
        Self::verify(FormatSet::from_blob(blob.into()), false)
    }

    fn verify(set: FormatSet, whole: bool) -> Result<Self, LoadError> {
        let verify = if whole { FormatSet::catalog } else { FormatSet::catalog_to_run };
        LoadedFormats::try_new(set, verify).map(|loaded| Self(Arc::new(loaded)))
    }

    /// The loaded files, without the built-in one.
    pub fn files(&self) -> Vec<FormatFile> {
        self.set().files(self.catalog())
    }

    /// Blobs: one that was compiled from all sources, and the files that were compiled before.
    pub fn blobs(&self) -> impl Iterator<Item = &[u8]> {
        self.set().programs()
    }

    /// Fields of events as text, like `tfbc fields`: of one event, or of all that are not built in.
    #[doc(hidden)]
    pub fn fields_text(&self, id: Option<EventId>) -> String {
        list_text(self.catalog(), id)
    }

    /// Fields of events as one JSON array, like `tfbc fields --to json`.
    #[doc(hidden)]
    pub fn fields_json(&self, id: Option<EventId>) -> Vec<u8> {
        list_json(self.catalog(), id)
    }

    /// The described events, ordered by id.
    pub fn events(&self) -> impl Iterator<Item = EventFormat> {
        let catalog = self.catalog();
        let fields = |id| {
            let program = catalog.get(id).map(|entry| catalog.program(entry));
            let schema = program.and_then(|program| Some((program, program.schema(id)?)));
            schema.map_or_else(Vec::new, |(program, schema)| describe(&schema.fields, program))
        };
        let hooks = catalog.hooks().into_iter().map(move |hook| EventFormat {
            id: display_id(hook.id),
            label: String::from_utf8_lossy(hook.label).into_owned(),
            fields: fields(hook.id),
        });
        hooks.chain(catalog.defined_records().into_iter().map(|(class, event)| {
            EventFormat {
                id: events::display_id(class, event),
                label: catalog.names_of_record(class, event),
                fields: record_schemas(catalog, class, event)
                    .iter()
                    .flat_map(|found| describe(&found.schema.fields, found.program))
                    .collect(),
            }
        }))
    }

    /// The blobs and their sources.
    pub(crate) fn set(&self) -> &FormatSet {
        self.0.borrow_owner()
    }

    /// Templates of the format files, looked up by event.
    #[doc(hidden)]
    pub fn catalog(&self) -> &Catalog<'_> {
        self.0.borrow_dependent()
    }
}

#[cfg(feature = "compile")]
impl Formats {
    /// Warnings of the compiler, and errors of stanzas that were left out.
    pub fn diagnostics(&self) -> &[tfbc_grammar::Diagnostic] {
        &self.findings().diagnostics
    }

    /// Warnings and errors together with the sources that they point into.
    pub fn findings(&self) -> &crate::Findings {
        &self.set().sources().findings
    }

    /// Coverage points of the sources, if they were compiled with [`LoadOptions::instrument`]. The last blob contains
    /// their probes.
    #[doc(hidden)]
    pub fn points(&self) -> &[tfbc_compiler::coverage::CoveragePoint] {
        &self.set().sources().points
    }

    /// Source spans per routine and instruction of the last blob, if it was compiled with [`LoadOptions::plain`].
    #[doc(hidden)]
    pub fn spans(&self) -> &[Vec<(tfbc_grammar::SourceId, tfbc_grammar::Span)>] {
        &self.set().sources().places
    }
}

impl fmt::Debug for Formats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Formats").field("n_events", &self.events().count()).finish_non_exhaustive()
    }
}

const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Formats>();
};
