//! Joins programs, and removes tables, words and strings that no instruction uses.

use super::{ProgramDraft, TableWords};
use std::collections::BTreeMap;
use tfbc_vm::table::{LONG_TEXTS, TableKind, pack_str, unpack_str};
use tfbc_vm::{Instr, Op, OperandKind};

/// New positions of copied tables and words, by their old positions.
#[derive(Default)]
struct Copied {
    /// By index; true if the targets are texts.
    tables: BTreeMap<(u32, bool), u32>,
    words: BTreeMap<u32, u32>,
}

impl ProgramDraft {
    /// Removes everything that no instruction uses.
    pub fn compact(&self) -> ProgramDraft {
        let mut small = ProgramDraft { dialect: self.dialect.clone(), ..ProgramDraft::default() };
        small.add(self);
        small
    }

    /// Adds the routines and hooks of a valid program. Hooks lose their labels.
    pub fn add(&mut self, other: &ProgramDraft) {
        let mut copied = Copied::default();
        let first = self.routines.len() as u32;
        for routine in &other.routines {
            let mut routine = routine.clone();
            for instr in &mut routine.code {
                self.add_operands(other, instr, first, &mut copied);
            }
            self.routines.push(routine);
        }
        for hook in &other.hooks {
            let mut hook = *hook;
            (hook.label, hook.source) = ([0; 2], 0);
            hook.routines = hook.routines.map(|routine| routine + first);
            self.hooks.push(hook);
        }
    }

    fn add_operands(&mut self, other: &ProgramDraft, instr: &mut Instr, first: u32, copied: &mut Copied) {
        let operands = Op::from_u8(instr.op).map_or(&[][..], |op| op.info().operands);
        for (_, slot, kind) in operands {
            let old = instr.slot(*slot);
            let new = match kind {
                OperandKind::Str => self.add_string(other, [old, instr.c]),
                OperandKind::Table
                | OperandKind::TextTable
                | OperandKind::CaseTexts
                | OperandKind::Labels
                | OperandKind::Flags => {
                    let of_texts = *kind == OperandKind::CaseTexts;
                    *copied.tables.entry((old, of_texts)).or_insert_with(|| self.add_table(other, old, of_texts))
                }
                OperandKind::Lits | OperandKind::Nibbles => {
                    *copied.words.entry(old).or_insert_with(|| self.add_words(other, old as usize, *kind))
                }
                OperandKind::Routine => old + first,
                _ => continue,
            };
            *instr = instr.with(*slot, new);
        }
    }

    fn add_string(&mut self, other: &ProgramDraft, [offset, len]: [u32; 2]) -> u32 {
        let at = self.strings.len() as u32;
        self.strings.extend_from_slice(&other.strings[offset as usize..][..len as usize]);
        at
    }

    fn add_words(&mut self, other: &ProgramDraft, at: usize, kind: OperandKind) -> u32 {
        let head = other.words[at];
        let n = match kind {
            OperandKind::Nibbles => 5 + (head & 0xff) * 64,
            _ => 1 + ((head & !LONG_TEXTS) + 1) * if head & LONG_TEXTS != 0 { 4 } else { 2 },
        };
        self.words.extend_from_slice(&other.words[at..][..n as usize]);
        self.words.len() as u32 - n as u32
    }

    /// Adds a table. Its targets are texts if `of_texts`.
    fn add_table(&mut self, other: &ProgramDraft, index: u32, of_texts: bool) -> u32 {
        let TableWords { kind, mut words } = other.tables[index as usize].clone();
        for word in strings(kind, &mut words, of_texts) {
            let (offset, len) = unpack_str(*word);
            *word = pack_str(self.add_string(other, [offset as u32, len as u32]), len as u32);
        }
        self.tables.push(TableWords { kind, words });
        self.tables.len() as u32 - 1
    }
}

/// Words of a table that refer to strings.
fn strings(kind: u32, words: &mut [u64], of_texts: bool) -> impl Iterator<Item = &mut u64> {
    let n_buckets = words.get(1).map_or(0, |shift| 1usize << (64 - shift.clamp(&32, &63)));
    let slots = 4 + n_buckets;
    let in_slot = move |at: usize, width: usize, word: usize| at >= slots && (at - slots) % width == word;
    let names = move |at: usize| match TableKind::from_u32(kind) {
        Some(TableKind::Dense) => of_texts && at >= 2,
        Some(TableKind::Hash) => of_texts && (at == 3 || in_slot(at, 2, 1)),
        Some(TableKind::Text) => in_slot(at, 3, 2),
        Some(TableKind::Flags) => [2, 3].contains(&(at % 5)),
        None => false,
    };
    words.iter_mut().enumerate().filter(move |(at, _)| names(*at)).map(|(_, word)| word)
}
