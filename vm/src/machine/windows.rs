//! Numbers at fixed offsets: reading them from a window, also if the event ends inside it.

use super::Run;
use crate::mem::{OutPtr, Pc, unchecked, window};
use crate::op::{Instr, form};

/// Byte order that a handler is compiled for: big-endian, little-endian, or as the form says.
pub(super) const BIG: u8 = 0;
pub(super) const LITTLE: u8 = 1;
pub(super) const EITHER: u8 = 2;
/// As the form says, and without running further instructions.
pub(super) const ALONE: u8 = 3;

/// Events that a handler is compiled for: those long enough for the routine, any event, or one whose window was already
/// loaded ([`Run::cut_window`]).
pub(super) const WHOLE: u8 = 0;
pub(super) const ANY: u8 = 1;
pub(super) const GIVEN: u8 = 2;

impl<'r> Run<'r> {
    /// Takes the bits of a form from a window. Returns `None` if the event does not contain the whole window, which
    /// only happens in the checked loop; [`Run::read_cut_window`] continues then.
    #[inline(always)]
    pub(super) fn field<const MODE: u8, const ORDER: u8>(&mut self, at: u32, how: u32) -> Option<u64> {
        Some(self.left_aligned::<MODE, ORDER>(at, how)? >> (how >> form::RIGHT & 63))
    }

    /// Takes the bits of a form from a window, sign-extended.
    #[inline(always)]
    pub(super) fn signed<const MODE: u8, const ORDER: u8>(&mut self, at: u32, how: u32) -> Option<u64> {
        Some((self.left_aligned::<MODE, ORDER>(at, how)? as i64 >> (how >> form::RIGHT & 63)) as u64)
    }

    #[inline(always)]
    pub(super) fn left_aligned<const MODE: u8, const ORDER: u8>(&mut self, at: u32, how: u32) -> Option<u64> {
        // Two shifts cut any field out of the eight bytes: to the left, which drops the bits before it, then to the
        // right, which extends it by zeros or by its sign.
        let bytes = self.window::<MODE>(at)?;
        let number = if is_little::<ORDER>(how) { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) };
        Some(number << (how & form::LEFT))
    }

    /// Bytes of a number, most significant first. The number must begin at a byte boundary.
    #[inline(always)]
    pub(super) fn high_first<const MODE: u8, const ORDER: u8>(&mut self, at: u32, how: u32) -> Option<[u8; 8]> {
        let bytes = u64::from_le_bytes(self.window::<MODE>(at)?);
        // Hex digits are printed from bytes, so the number need not be shifted to the low end of the word.
        let left = how & form::LEFT;
        Some(if is_little::<ORDER>(how) { (bytes << left).to_be_bytes() } else { (bytes >> left).to_le_bytes() })
    }

    #[inline(always)]
    fn window<const MODE: u8>(&mut self, at: u32) -> Option<[u8; 8]> {
        match MODE {
            WHOLE => Some(unchecked!(FixedReads: window(self.cursor.bytes, at))),
            ANY => self.cursor.bytes.get(at as usize..at as usize + 8).and_then(|whole| whole.first_chunk()).copied(),
            _ => Some(self.cut_window),
        }
    }

    pub(super) fn cut_window(&mut self, at: usize, how: u32) -> Option<[u8; 8]> {
        // At most seven bytes are left: with eight, the window would not be cut.
        let held = self.cursor.bytes.get(at..).unwrap_or(&[]);
        let mut bytes = [0; 8];
        bytes[..held.len()].copy_from_slice(held);
        if held.len() < form::end(how) as usize {
            match form::mode(how) {
                form::LOAD => self.cursor.truncated = true,
                // `$D1` to `$D5` are 0 as a whole, and do not mark the event: short hooks simply have fewer words.
                form::WORD => bytes = [0; 8],
                _ => return None,
            }
        }
        Some(bytes)
    }

    /// Jumps to the target for a missing field, and removes the field's text.
    pub(super) fn short(&mut self, instr: &Instr, at: OutPtr) -> (OutPtr, Pc) {
        (at.back(form::back(instr.c) as usize), unchecked!(Targets: self.stage.place(instr.d.into())))
    }

    /// Reads a number at a fixed offset. Outside of the checked loop the event is long enough (rule V6).
    #[inline(always)]
    pub(super) fn load<const MODE: u8>(&mut self, at: u32, width: u32) -> u64 {
        if MODE == WHOLE {
            self.cursor.number_if_whole(at, width).unwrap_or(0)
        } else {
            self.cursor.number(at.into(), width)
        }
    }
}

/// True if the number is little-endian.
#[inline(always)]
pub(super) fn is_little<const ORDER: u8>(how: u32) -> bool {
    match ORDER {
        BIG => false,
        LITTLE => true,
        _ => how & form::LITTLE != 0,
    }
}
