//! Runs of bytes replaced by others.

use std::ops::Range;
use tfbc_grammar::Span;
use tfbc_grammar::trcfmt::ast::HookId;

/// One run of a file, and what stands in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    /// The bytes of the old file that go; none where a stanza is added.
    pub old: Range<usize>,
    /// What comes; nothing where a stanza is deleted.
    pub new: Vec<u8>,
    /// The stanza.
    pub id: HookId,
    /// Index of the entry of the update file that had the last word.
    pub order: usize,
    /// The stanza's text: offset in `new`, and place in the update file.
    pub text: Option<(usize, Span)>,
}

/// A file after edits.
#[derive(Debug)]
pub(super) struct Spliced {
    /// All of it.
    pub bytes: Vec<u8>,
    /// Where each edit's new bytes begin.
    pub starts: Vec<usize>,
}

/// Applies edits, which stand in the order of the file and do not overlap.
pub(super) fn splice(old: &[u8], edits: &[Edit]) -> Spliced {
    let n_new: usize = edits.iter().map(|edit| edit.new.len()).sum();
    let mut bytes = Vec::with_capacity(old.len() + n_new);
    let mut starts = Vec::with_capacity(edits.len());
    let mut at = 0;
    for edit in edits {
        bytes.extend_from_slice(&old[at..edit.old.start]);
        starts.push(bytes.len());
        bytes.extend_from_slice(&edit.new);
        at = edit.old.end;
    }
    bytes.extend_from_slice(&old[at..]);
    Spliced { bytes, starts }
}

/// Where the texts of an update file stand in the result: offset, and place in the update file.
pub(super) fn inserted(edits: &[Edit], starts: &[usize]) -> Vec<(usize, Span)> {
    let both = edits.iter().zip(starts);
    both.filter_map(|(edit, start)| edit.text.map(|(offset, place)| (start + offset, place))).collect()
}
