//! Refusal of sources: this build has no compiler.

use super::{BUILT_IN_BLOB, FileContent, FormatFile, LoadError, LoadOptions, LoadedBlob, SourceFile};

/// Sources of a set of format files: none.
#[derive(Debug, Default)]
pub struct CompiledSources {}

impl CompiledSources {
    pub(super) fn compile(mut files: Vec<SourceFile>, _: &LoadOptions) -> Result<(Self, LoadedBlob), LoadError> {
        Err(LoadError::NoCompiler(files.remove(0).path))
    }

    pub(super) fn files(&self) -> impl Iterator<Item = FormatFile> {
        std::iter::empty()
    }

    pub(super) fn contents(&self) -> impl Iterator<Item = (&str, &[u8])> {
        std::iter::empty()
    }
}

pub(super) fn built_in() -> FileContent {
    FileContent::Blob(BUILT_IN_BLOB.to_vec())
}

/// Size limit in bytes of a file that is read to say that it is a source.
pub(super) fn max_source(_: &LoadOptions) -> u64 {
    64 << 20
}

/// Size limit of a source in bytes; no flag raises it.
pub(super) fn source_limit(_: &[u8], options: &LoadOptions) -> (u64, Option<&'static str>) {
    (max_source(options), None)
}
