//! Format files, ready to format events.

use crate::catalog::{Catalog, FormatSet, LoadError, LoadOptions};
use crate::ids::display_id;
use self_cell::self_cell;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(feature = "compile")]
use tfbc_grammar::Diagnostic;

self_cell!(
    struct Loaded {
        owner: FormatSet,
        #[covariant]
        dependent: Catalog,
    }
);

/// Format files of AIX, event definitions of QNX, or blobs of either: loaded, verified, and looked up by event.
///
/// Immutable and cheap to clone; threads may share one.
///
/// ```
/// use tfbc::Formats;
///
/// let formats = Formats::builtin();
/// let dispatch = formats.events().find(|event| event.id == "106").unwrap();
/// assert_eq!(dispatch.label, "DISPATCH");
/// ```
#[derive(Clone)]
pub struct Formats(Arc<Loaded>);

/// An event that format files describe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFormat {
    /// The id as trcrpt prints it, such as `106` or `F5F1`; of QNX, class and event such as `USER:65`.
    pub id: String,
    /// The label; empty for events of QNX, whose definitions have none.
    pub label: String,
}

impl Formats {
    /// The built-in format file, for AIX; logs of QNX are formatted by tables of the library itself.
    pub fn builtin() -> Self {
        Self::load::<&Path>([]).expect("the built-in format file loads")
    }

    /// Loads format files, event definitions and blobs, told apart by their content. Later files win over earlier ones;
    /// no files mean the built-in one.
    ///
    /// # Errors
    /// A file that cannot be read, or is refused by the compiler or the verifier.
    pub fn load<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, LoadError> {
        let paths: Vec<PathBuf> = paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
        Self::load_with(&paths, &LoadOptions::default())
    }

    /// Loads format files as [`Formats::load`] does, with a dialect, limits or a cache.
    ///
    /// # Errors
    /// As of [`Formats::load`].
    pub fn load_with(paths: &[PathBuf], options: &LoadOptions) -> Result<Self, LoadError> {
        Self::verify(FormatSet::load(paths, options)?)
    }

    /// Verifies a compiled blob.
    ///
    /// # Errors
    /// The verifier's reason.
    pub fn from_blob(blob: impl Into<Vec<u8>>) -> Result<Self, LoadError> {
        Self::verify(FormatSet::from_blob(blob.into()))
    }

    fn verify(set: FormatSet) -> Result<Self, LoadError> {
        Loaded::try_new(set, FormatSet::catalog_to_run).map(|loaded| Self(Arc::new(loaded)))
    }

    /// The compiler's warnings, and the errors of stanzas that were left out.
    #[cfg(feature = "compile")]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.0.borrow_owner().findings().diagnostics
    }

    /// The events that the files describe, by id.
    pub fn events(&self) -> impl Iterator<Item = EventFormat> {
        let catalog = self.catalog();
        let hooks = catalog.hooks().map(|hook| EventFormat {
            id: display_id(hook.id),
            label: String::from_utf8_lossy(hook.label).into_owned(),
        });
        hooks.chain(
            catalog
                .defined_records()
                .map(|(class, event)| EventFormat { id: crate::event::qnx_id(class, event), label: String::new() }),
        )
    }

    /// The programs by event.
    pub(crate) fn catalog(&self) -> &Catalog<'_> {
        self.0.borrow_dependent()
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
