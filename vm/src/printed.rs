//! Analysis of the text that routines can print.

use crate::op::OperandKind;
use crate::program::PreparedEntry;
use crate::table::{self, FLAG_WORDS, LONG_TEXTS};
use crate::{Instr, Op};

impl PreparedEntry<'_> {
    /// True if the routine prints only numbers and texts for which `is_wanted` is true, on one line. Then a text needs
    /// no search for bytes that a table must escape. False if it prints text of the event or of its context.
    ///
    /// `is_wanted` sees the texts in pieces, so it must be true for two pieces in a row if it is true for each.
    pub fn prints_only(&self, is_wanted: impl Fn(&[u8]) -> bool) -> bool {
        let code = self.code.get(..self.body as usize).unwrap_or_default();
        !code.is_empty() && code.iter().all(|instr| self.instruction_prints_only(instr, &is_wanted).unwrap_or(false))
    }

    /// Like [`PreparedEntry::prints_only`], for one instruction; `None` if its texts are not known.
    fn instruction_prints_only(&self, instr: &Instr, is_wanted: &impl Fn(&[u8]) -> bool) -> Option<bool> {
        let op = Op::from_u8(instr.op).filter(|op| prints_known_text(*op))?;
        let string = |word: u64| {
            let (offset, len) = table::unpack_str(word);
            self.program.strings().get(offset..offset.checked_add(len)?)
        };
        let mut is_known = is_wanted(instr.lit.get(..instr.lit_len.into())?);
        for (_, slot, kind) in op.info().operands {
            let value = instr.slot(*slot);
            is_known &= match kind {
                OperandKind::Str => is_wanted(string(table::pack_str(value, instr.c))?),
                OperandKind::CaseTexts => {
                    let (kind, words) = self.program.table(value);
                    table::targets(kind, words).all(|word| string(word).is_some_and(is_wanted))
                }
                OperandKind::Flags => {
                    let (entries, _) = self.program.table(value).1.as_chunks::<FLAG_WORDS>();
                    let texts = entries.iter().flat_map(|&[_, _, yes, no, _]| [yes, no]);
                    texts.into_iter().all(|word| string(word).is_some_and(is_wanted))
                }
                // A count, then texts of 16 or 32 bytes, with the default after the last.
                OperandKind::Lits => {
                    let (head, texts) = self.program.words().get(value as usize..)?.split_first()?;
                    let width = if head & LONG_TEXTS == 0 { 2 } else { 4 };
                    let n = (head & !LONG_TEXTS) as usize + 1;
                    texts.get(..n * width)?.chunks_exact(width).all(|text| is_wanted(&packed(text)))
                }
                // A count and a shift, then texts of 32 bytes: the default, then 16 per nibble.
                OperandKind::Nibbles => {
                    let (head, texts) = self.program.words().get(value as usize..)?.split_first()?;
                    let n = 1 + (head & 0xff) as usize * 16;
                    texts.get(..n * 4)?.chunks_exact(4).all(|text| is_wanted(&packed(text)))
                }
                _ => true,
            };
        }
        Some(is_known)
    }
}

/// Text in words, whose last byte is its length.
fn packed(words: &[u64]) -> Vec<u8> {
    let mut text: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let len = text.last().copied().unwrap_or(0).into();
    text.truncate(len);
    text
}

/// True if an instruction prints only numbers, its literal and texts of its tables, or nothing.
fn prints_known_text(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        // Texts.
        Print | Lit | Soft | SoftDrop | SwitchLit | SwitchLitHex | PutCase | Flags | FlagsList | Nibbles | LitAt
            | HexCLitAt | LitHexAt | CaseAt | HexCCaseAt | NibblesAt | HexCNibblesAt
            // Numbers.
            | PutHex | PutHexFit | PutDec | PutInt | PutHexLow | PutHexMin | PutHexC | PutOctC | PutOct | PutBin
            | HexBytes | TakeHexBytes | Dump | HexAt | HexLowAt | HexFullAt | HexLowFullAt | HexCAt | HexMinAt | OctCAt
            | DecAt | IntAt
            // Names of errors.
            | PutErrno
            // Nothing.
            | Const | Move | Env | Load | LoadBits | Word | Take | TakeBits | LoadLe | TakeLe | Reach | TakeReach | Sext
            | Bits | Add | Sub | Mul | Div | And | Equal | Differ | PtrSet | PtrAdd | PtrBack | PtrFloor | PtrCeil
            | PtrGet | PtrTo | BaseGet | BaseTo | Get | Jump | JumpZero | JumpEqual | JumpDiffer | JumpEqualAt
            | JumpDifferAt | Switch | FlagsAny | Loop | LoopNext | Back | End | Skip | Cut
    )
}
