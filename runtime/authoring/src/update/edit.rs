//! Edits: byte ranges and their replacements.

use std::ops::Range;
use tfbc_grammar::Span;
use tfbc_grammar::trcfmt::ast::HookId;

/// One replaced range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    /// Range in the old file; empty if a stanza is added.
    pub old: Range<usize>,
    /// Replacement; empty if a stanza is deleted.
    pub new: Vec<u8>,
    /// Id of the stanza.
    pub id: HookId,
    /// Index of the last entry of the update file that changed it.
    pub order: usize,
    /// Text of the stanza: its offset in `new`, and its span in the update file.
    pub text: Option<(usize, Span)>,
}

/// A file after its edits.
#[derive(Debug)]
pub(super) struct Spliced {
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Offset of the replacement, per edit.
    pub starts: Vec<usize>,
}

/// Applies edits that are sorted and do not overlap.
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

/// Offsets of the inserted stanzas in the result, with their spans in the update file.
pub(super) fn inserted(edits: &[Edit], starts: &[usize]) -> Vec<(usize, Span)> {
    let both = edits.iter().zip(starts);
    both.filter_map(|(edit, start)| edit.text.map(|(offset, place)| (start + offset, place))).collect()
}
