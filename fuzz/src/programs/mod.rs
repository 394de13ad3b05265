//! Editable programs, and their conversion to and from blobs.
//!
//! Row offsets, section lengths and the checksum are computed when a program is written, so the blob of any edit
//! reaches the verifier.

mod compact;
mod edit;
mod generate;

pub use edit::edit;
pub use generate::generate;

use bytemuck::{Pod, cast_slice, pod_read_unaligned};
use tfbc_vm::{HookRow, Instr, LABEL, Op, RoutineRow, SourcePos, SourceRow, TableRow, VERSION, write_checksum};

/// Bytes of the header, and of a section table row.
const HEAD_LEN: usize = 32;
const ROW_LEN: usize = 16;
/// Sections of a blob.
const N_SECTIONS: usize = 9;

/// Program that may violate the verifier's rules.
#[derive(Debug, Clone, Default)]
pub struct ProgramDraft {
    pub routines: Vec<Routine>,
    /// Sorted by space and id, as a blob requires.
    pub hooks: Vec<HookRow>,
    pub tables: Vec<TableWords>,
    /// Words that instructions refer to by offset: short texts and nibble texts.
    pub words: Vec<u64>,
    pub strings: Vec<u8>,
    pub dialect: Vec<u8>,
}

/// Row of a routine without offsets, and its code.
#[derive(Debug, Clone)]
pub struct Routine {
    /// Bytes of the event that it needs.
    pub need: u32,
    /// Registers zeroed before an event.
    pub zeroed: u16,
    /// 1 if it is called.
    pub called: u8,
    /// Number that routines with the same opcodes share; any value is valid.
    pub shape: u8,
    /// Instructions of the body. The remaining code is reached only by jumps.
    pub body: u32,
    pub code: Vec<Instr>,
}

/// Kind number and words of a table.
#[derive(Debug, Clone)]
pub struct TableWords {
    pub kind: u32,
    pub words: Vec<u64>,
}

impl ProgramDraft {
    /// Blob of the program.
    pub fn write(&self) -> Vec<u8> {
        let n_instrs = self.routines.iter().map(|routine| routine.code.len()).sum();
        let mut code: Vec<Instr> = Vec::with_capacity(n_instrs);
        let mut routines = Vec::with_capacity(self.routines.len());
        for Routine { need, zeroed, called, shape, body, code: own } in &self.routines {
            let (start, len) = (code.len() as u32, own.len() as u32);
            let (body, need, zeroed, called, shape) = (*body, *need, *zeroed, *called, *shape);
            routines.push(RoutineRow { start, len, body, need, zeroed, called, shape, name: [0; 2] });
            code.extend_from_slice(own);
        }
        let mut words = self.words.clone();
        let mut tables = Vec::with_capacity(self.tables.len());
        for TableWords { kind, words: own } in &self.tables {
            tables.push(TableRow { kind: *kind, start: words.len() as u32, len: own.len() as u32 });
            words.extend_from_slice(own);
        }
        let places = vec![SourcePos::default(); code.len()];
        let sources = [SourceRow { name: [0; 2], crc: 0, len: 0 }];
        sections([
            cast_slice(&code),
            cast_slice(&places),
            cast_slice(&routines),
            cast_slice(&self.hooks),
            cast_slice(&tables),
            cast_slice(&words),
            &self.strings,
            cast_slice(&sources),
            &self.dialect,
        ])
    }

    /// Reads a valid blob.
    pub fn read(blob: &[u8]) -> ProgramDraft {
        let code: Vec<Instr> = rows(blob, 1);
        let words: Vec<u64> = rows(blob, 6);
        let routines = rows::<RoutineRow>(blob, 3).into_iter().map(|row| Routine {
            need: row.need,
            zeroed: row.zeroed,
            called: row.called,
            shape: row.shape,
            body: row.body,
            code: code[row.start as usize..(row.start + row.len) as usize].to_vec(),
        });
        let tables = rows::<TableRow>(blob, 5);
        let table = |row: &TableRow| TableWords {
            kind: row.kind,
            words: words[row.start as usize..(row.start + row.len) as usize].to_vec(),
        };
        ProgramDraft {
            routines: routines.collect(),
            hooks: rows(blob, 4),
            tables: tables.iter().map(table).collect(),
            strings: section(blob, 7).to_vec(),
            dialect: section(blob, 9).to_vec(),
            words,
        }
    }

    /// Program with some of the hooks, and the routines that they need.
    pub fn with_hooks(&self, hooks: &[HookRow]) -> ProgramDraft {
        let mut used = vec![false; self.routines.len()];
        let mut waiting: Vec<u32> = hooks.iter().flat_map(|hook| hook.routines).collect();
        while let Some(index) = waiting.pop() {
            if !std::mem::replace(&mut used[index as usize], true) {
                let calls = self.routines[index as usize].code.iter().filter(|instr| instr.op == Op::Call as u8);
                waiting.extend(calls.map(|instr| instr.b));
            }
        }
        let renumbered: Vec<u32> =
            used.iter().scan(0, |next, used| Some(std::mem::replace(next, *next + u32::from(*used)))).collect();
        let mut kept = ProgramDraft { routines: Vec::new(), hooks: hooks.to_vec(), ..self.clone() };
        for (routine, _) in self.routines.iter().zip(used).filter(|(_, used)| *used) {
            let mut routine = routine.clone();
            let calls = routine.code.iter_mut().filter(|instr| instr.op == Op::Call as u8);
            calls.for_each(|instr| instr.b = renumbered[instr.b as usize]);
            kept.routines.push(routine);
        }
        for hook in &mut kept.hooks {
            hook.routines = hook.routines.map(|routine| renumbered[routine as usize]);
            hook.source = 0;
        }
        kept
    }
}

/// Writes sections as a blob.
fn sections(sections: [&[u8]; N_SECTIONS]) -> Vec<u8> {
    let mut blob = vec![0; HEAD_LEN + N_SECTIONS * ROW_LEN];
    for ((kind, section), row) in (1u32..).zip(sections).zip((HEAD_LEN..).step_by(ROW_LEN)) {
        blob.resize(blob.len().next_multiple_of(8), 0);
        for (field, number) in [kind, blob.len() as u32, section.len() as u32].into_iter().enumerate() {
            blob[row + field * 4..][..4].copy_from_slice(&number.to_le_bytes());
        }
        blob.extend_from_slice(section);
    }
    let len = blob.len() as u64;
    blob[..8].copy_from_slice(&LABEL);
    blob[8..10].copy_from_slice(&VERSION.to_le_bytes());
    blob[10..12].copy_from_slice(&0x1234u16.to_le_bytes());
    blob[12..16].copy_from_slice(&(N_SECTIONS as u32).to_le_bytes());
    blob[16..24].copy_from_slice(&len.to_le_bytes());
    write_checksum(&mut blob);
    blob
}

/// Bytes of strings in a valid blob.
pub fn strings_len(blob: &[u8]) -> usize {
    section(blob, 7).len()
}

/// Number of words per table in a valid blob.
pub fn table_lens(blob: &[u8]) -> Vec<usize> {
    rows::<TableRow>(blob, 5).iter().map(|row| row.len as usize).collect()
}

/// A section of a valid blob.
fn section(blob: &[u8], kind: usize) -> &[u8] {
    let number = |at: usize| pod_read_unaligned::<u32>(&blob[at..at + 4]) as usize;
    let row = HEAD_LEN + (kind - 1) * ROW_LEN;
    &blob[number(row + 4)..][..number(row + 8)]
}

fn rows<T: Pod>(blob: &[u8], kind: usize) -> Vec<T> {
    section(blob, kind).chunks_exact(size_of::<T>()).map(pod_read_unaligned).collect()
}
