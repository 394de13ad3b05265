use crate::{Event, Instr};

/// What an observer sees before an instruction runs.
#[derive(Debug, Clone, Copy)]
pub struct Step<'s> {
    /// The running routine's number.
    pub routine: u32,
    /// The instruction's index in it.
    pub pc: u32,
    /// The instruction.
    pub instr: &'s Instr,
    /// All registers.
    pub regs: &'s [u64],
    /// The data pointer's byte; of no meaning while the routine reads at fixed offsets only.
    pub pointer: u64,
    /// The data pointer's bit in that byte, 0 to 7.
    pub bit: u32,
    /// The base pointer, in bytes; two's complement.
    pub base: u64,
    /// The event.
    pub event: &'s Event<'s>,
    /// The event's text so far.
    pub text: &'s [u8],
}

/// Watches a run instruction by instruction (`tfbc event --trace`).
pub trait Observer {
    /// Whether anything is watched; false lets the loop skip the call.
    const ACTIVE: bool = true;

    /// Called before every instruction.
    fn before(&mut self, step: Step<'_>);

    /// Called behind the last one, with the event's whole text; of one that is skipped, nothing.
    fn after(&mut self, _text: &[u8]) {}
}

/// Watches nothing and compiles to nothing.
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
