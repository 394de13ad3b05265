//! Observers: callbacks before each instruction, for coverage and the hex view.

use crate::{Event, Instr};

/// State that an observer sees before an instruction runs.
#[derive(Debug, Clone, Copy)]
pub struct Step<'s> {
    /// Index of the current routine.
    pub routine: u32,
    /// Index of the instruction in it.
    pub pc: u32,
    /// The instruction.
    pub instr: &'s Instr,
    /// All registers.
    pub regs: &'s [u64],
    /// Byte of the data pointer; meaningless while the routine only reads at fixed offsets.
    pub pointer: u64,
    /// Bit of the data pointer in that byte, 0 to 7.
    pub bit: u32,
    /// Base pointer in bytes, two's complement.
    pub base: u64,
    /// The event.
    pub event: &'s Event<'s>,
    /// Text of the event so far.
    pub text: &'s [u8],
}

/// Watches a run instruction by instruction (`tfbc event --trace`).
pub trait Observer {
    /// True if the observer needs calls; false removes them from the loop at compile time.
    const ACTIVE: bool = true;

    /// Called before every instruction.
    fn before(&mut self, step: Step<'_>);

    /// Called after the last instruction with the event's whole text, which is empty if the event is skipped.
    fn after(&mut self, _text: &[u8]) {}
}

/// Observer that does nothing and has no cost.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    const ACTIVE: bool = false;

    #[inline(always)]
    fn before(&mut self, _: Step<'_>) {}
}

impl<F: FnMut(Step<'_>)> Observer for F {
    fn before(&mut self, step: Step<'_>) {
        self(step);
    }
}
