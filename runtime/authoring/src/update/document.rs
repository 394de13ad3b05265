//! Format file during an update: a list of stanzas, and the bytes between them.

use super::edit::Edit;
use super::script::content_end;
use std::collections::HashMap;
use tfbc_grammar::trcfmt::ast::HookId;
use tfbc_grammar::trcfmt::{LineKind, LogicalLine, first_line_end, head, raw_lines};
use tfbc_grammar::{Source, Span};

/// Format file with the changes made so far.
#[derive(Debug)]
pub(super) struct FormatDocument<'a> {
    bytes: &'a [u8],
    /// Stanzas of the file that have an id, in order, followed by added ones.
    slots: Vec<StanzaSlot>,
    /// Slots per id, in order. The last one is in force.
    by_id: HashMap<HookId, Vec<usize>>,
    /// Bytes that end the file's last line before a stanza is added after it.
    closing: Vec<u8>,
    newline: &'static [u8],
}

/// Position and state of one stanza.
#[derive(Debug)]
struct StanzaSlot {
    id: HookId,
    version: (u32, u32),
    /// Offsets of the stanza, of its line end, and after the line end. Added stanzas are at the end of the file.
    start: usize,
    text_end: usize,
    end: usize,
    state: SlotState,
    /// Index of the entry that last changed it.
    order: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotState {
    Kept,
    /// Replaced by a stanza of the update file.
    New(Span),
    Gone,
}

impl<'a> FormatDocument<'a> {
    pub fn new(source: &'a Source) -> Self {
        let bytes = source.bytes();
        let newline = first_line_end(bytes);
        let mut document = Self { bytes, slots: Vec::new(), by_id: HashMap::new(), closing: Vec::new(), newline };
        for line in raw_lines(source) {
            if line.end as usize == bytes.len() {
                document.closing = closing(bytes, &line, newline);
            }
            if line.kind == LineKind::Stanza {
                let head = head(source, line.span);
                let Some(id) = head.id else { continue };
                let slot = StanzaSlot {
                    id,
                    version: head.version.unwrap_or_default(),
                    start: line.span.start as usize,
                    text_end: content_end(bytes, &line) as usize,
                    end: line.end as usize,
                    state: SlotState::Kept,
                    order: 0,
                };
                document.insert(slot);
            }
        }
        document
    }

    fn insert(&mut self, slot: StanzaSlot) {
        self.by_id.entry(slot.id).or_default().push(self.slots.len());
        self.slots.push(slot);
    }

    /// Replaces the stanza with this id, or adds it at the end. Returns the entry whose stanza is lost, if that came
    /// from the same update.
    ///
    /// # Errors
    /// The version of the stanza in force, if it is newer.
    pub fn put(
        &mut self,
        id: HookId,
        version: (u32, u32),
        text: Span,
        order: usize,
        any_version: bool,
    ) -> Result<Option<usize>, (u32, u32)> {
        let found = self.by_id.get(&id).and_then(|all| all.last()).map(|index| &mut self.slots[*index]);
        let Some(slot) = found else {
            let end = self.bytes.len();
            let state = SlotState::New(text);
            self.insert(StanzaSlot { id, version, start: end, text_end: end, end, state, order });
            return Ok(None);
        };
        if version < slot.version && !any_version {
            return Err(slot.version);
        }
        let lost = matches!(slot.state, SlotState::New(_)).then_some(slot.order);
        (slot.version, slot.state, slot.order) = (version, SlotState::New(text), order);
        Ok(lost)
    }

    /// Deletes all stanzas with an id; false if there are none.
    pub fn delete(&mut self, id: HookId, order: usize) -> bool {
        let Some(found) = self.by_id.get_mut(&id).filter(|found| !found.is_empty()) else { return false };
        for index in found.drain(..) {
            let slot = &mut self.slots[index];
            (slot.state, slot.order) = (SlotState::Gone, order);
        }
        true
    }

    /// True if the file has, or had before this update, a stanza with this id.
    pub fn has_or_had(&self, id: HookId) -> bool {
        self.by_id.contains_key(&id)
    }

    /// All edits, in the order of the file. `update` is the text of the update file.
    pub fn edits(&self, update: &[u8]) -> Vec<Edit> {
        let mut closing = self.closing();
        let mut edits = Vec::new();
        for slot in &self.slots {
            let is_added = slot.start == slot.end;
            let (new, text) = match slot.state {
                SlotState::Kept => continue,
                SlotState::Gone if is_added => continue,
                SlotState::Gone => (Vec::new(), None),
                SlotState::New(place) => {
                    let (before, after) = if is_added {
                        (std::mem::take(&mut closing), self.newline)
                    } else {
                        (Vec::new(), self.line_end(slot))
                    };
                    let text = &update[place.start as usize..place.end as usize];
                    let offset = before.len();
                    ([&before[..], text, after].concat(), Some((offset, place)))
                }
            };
            let old = slot.start..slot.end;
            if self.bytes[old.clone()] != new[..] {
                edits.push(Edit { old, new, id: slot.id, order: slot.order, text });
            }
        }
        edits
    }

    /// Bytes between the end of the file and the first added stanza.
    fn closing(&self) -> Vec<u8> {
        let last = self.slots.iter().rfind(|slot| slot.start < slot.end);
        match last.filter(|slot| slot.end == self.bytes.len()) {
            None => self.closing.clone(),
            Some(slot) => match slot.state {
                SlotState::Kept => self.closing.clone(),
                SlotState::New(_) if self.line_end(slot).is_empty() => self.newline.to_vec(),
                SlotState::New(_) | SlotState::Gone => Vec::new(),
            },
        }
    }

    /// Line end of a slot; a `\` that continues nothing is not part of it.
    fn line_end(&self, slot: &StanzaSlot) -> &'a [u8] {
        let after = &self.bytes[slot.text_end..slot.end];
        [&b"\r\n"[..], b"\n"].into_iter().find(|end| after.ends_with(end)).unwrap_or_default()
    }
}

/// Bytes to add before another stanza can follow: a line end if the last line has none, and one more after a `\`.
fn closing(bytes: &[u8], line: &LogicalLine, newline: &[u8]) -> Vec<u8> {
    // A `\r` after the `\` would turn the added line end into a continuation.
    let before_return = bytes.strip_suffix(b"\r").unwrap_or_default().trim_ascii_end();
    let is_joined =
        line.dangling.is_some() || content_end(bytes, line) < line.span.end || before_return.ends_with(b"\\");
    newline.repeat(usize::from(!bytes.ends_with(b"\n")) + usize::from(is_joined))
}
