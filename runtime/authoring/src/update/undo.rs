//! Undo files: update files that restore a format file byte for byte.
//!
//! ```text
//! # undo: 5120 bytes 9AE16A3B -> 5000 bytes 0011AABB      the file that the update made, and the one before it
//! # place: 4711+56 -> 4700+80                             56 bytes at 4711 become 80 at 4700 of the old file,
//! + 020 1.0 "OLD" X4                                      which are the first 80 after `+ `
//! ```
//!
//! The sums are CRC-32. A line end that was added before the stanza appears as a word in the comment, such as `\r\n`.
//! It comes before the bytes after `+ ` and is included in the length.

use super::edit::{Edit, splice};
use super::script::{Script, UpdateAction};
use super::undo_comments::{LEADS, Stamp, UndoPlace};
use tfbc::EventId;

/// Writes the undo file of the edits that turned `old` into `new`.
pub(super) fn write(old: &[u8], new: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut out = b"* /etc/trcfmt\n# Undoes an update: apply it with `trcupdate -o`.\n".to_vec();
    out.extend_from_slice(format!("# undo: {} -> {}\n", Stamp::of(new), Stamp::of(old)).as_bytes());
    let mut shift = 0_i64;
    let mut entries = Vec::new();
    for edit in edits {
        let at = (edit.old.start as i64 + shift) as usize;
        shift += edit.new.len() as i64 - edit.old.len() as i64;
        entries.push((at, edit));
    }
    // If one entry deleted several stanzas, the last of them was in force.
    entries.sort_by_key(|(_, edit)| std::cmp::Reverse(edit.order));
    for (at, edit) in entries {
        let bytes = &old[edit.old.clone()];
        let lead = LEADS.into_iter().find(|(_, lead)| bytes.starts_with(lead)).map_or(&b""[..], |(_, lead)| lead);
        let place = UndoPlace { at, len: edit.new.len(), to: edit.old.start, len_after: bytes.len(), lead };
        out.extend_from_slice(format!("# place: {place}\n").as_bytes());
        if bytes.is_empty() {
            out.extend_from_slice(format!("- {}\n", EventId::Hook(edit.id.0).name()).as_bytes());
        } else {
            write_stanza(&bytes[lead.len()..], &mut out);
        }
    }
    out
}

/// Writes `+ ` and a stanza, and a line end if the stanza had none.
fn write_stanza(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"+ ");
    out.extend_from_slice(bytes);
    let is_ended = bytes.ends_with(b"\n");
    if !is_ended {
        out.push(b'\n');
    }
    let line = bytes.trim_ascii_end();
    if line.ends_with(b"\\") {
        out.push(b'\n');
    }
}

/// Edits of an undo file and their result, if `old` is the file it was written for and all positions match.
pub(super) fn exact_edits(old: &[u8], update: &[u8], script: &Script) -> Option<(Vec<Edit>, Vec<u8>)> {
    let stamps = script.undoes?;
    if Stamp::of(old) != stamps.before {
        return None;
    }
    let mut edits = Vec::new();
    for (order, entry) in script.entries.iter().enumerate() {
        let place = entry.place?;
        let old = place.at..place.at.checked_add(place.len)?;
        let (id, new) = match entry.action {
            UpdateAction::Delete(id) => (id, Vec::new()),
            UpdateAction::Put { id, .. } => {
                let (start, line_end) = entry.body;
                let end = start.checked_add(place.len_after.checked_sub(place.lead.len())?)?;
                let is_exact = update.get(..start)?.ends_with(b"+ ") && end <= line_end;
                let text = update.get(start..end).filter(|_| is_exact)?;
                (id, [place.lead, text].concat())
            }
        };
        edits.push((place.to, Edit { old, new, id, order, text: None }));
    }
    edits.sort_by_key(|(to, edit)| (edit.old.start, *to));
    let edits: Vec<_> = edits.into_iter().map(|(_, edit)| edit).collect();
    let ends = std::iter::once(0).chain(edits.iter().map(|edit| edit.old.end));
    let fits = ends.zip(&edits).all(|(end, edit)| end <= edit.old.start && edit.old.end <= old.len());
    let new = fits.then(|| splice(old, &edits).bytes)?;
    (Stamp::of(&new) == stamps.after).then_some((edits, new))
}
