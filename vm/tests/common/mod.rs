//! Instructions with literals.

use tfbc_vm::{Instr, Op};

/// Instruction that only prints a text of at most 16 bytes.
pub fn printed(text: impl AsRef<[u8]>) -> Instr {
    after_text(text, Instr::new(Op::Print))
}

/// Adds a literal of at most 16 bytes to an instruction.
pub fn after_text(text: impl AsRef<[u8]>, mut instr: Instr) -> Instr {
    let text = text.as_ref();
    instr.lit[..text.len()].copy_from_slice(text);
    instr.lit_len = text.len() as u8;
    instr
}
