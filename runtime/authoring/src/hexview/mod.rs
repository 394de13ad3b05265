//! Hex view: which part of a template reads which bytes of an event, and prints which text.
//!
//! The template is compiled without fused instructions ([`tfbc_compiler::compile_plainly`]), so that each step has its
//! own source position. A [`Recorder`] observes the run and notes, for each step, the bytes it reads and the text it
//! appends.
//!
//! ```text
//! format files ─compile plainly─> program, places ─event, observed─> View ─show─> dump with labels, list of parts
//! ```

mod explain;
mod reads;
mod rows;
mod show;

pub use explain::{Explainer, ViewCollector, hook_views, record_views};
pub use show::show;

use reads::reads;
use std::ops::Range;
use tfbc::EventId;
use tfbc_grammar::{SourceId, Span};
use tfbc_vm::{Observer, Op, Program, Slot, Space, Step};

/// Maximum number of parts; later steps count as the last part.
const MAX_PARTS: usize = 1 << 16;

/// Bytes at the end of the text that a step may remove again.
const TAKEN_BACK: usize = 256;

/// Maximum number of parts that one value can come from.
const MAX_ORIGINS: usize = 4;

/// Indices of parts.
type Origins = Vec<usize>;

/// One formatted event.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// Bytes of the event as the template sees them. For a hook these are hook word and data.
    pub bytes: Vec<u8>,
    /// Name of the event: `hook 10A, 32-bit`, `event 6:65`.
    pub name: String,
    /// Id of the event, as in [`EventFormat::id`](tfbc::EventFormat::id); empty if no class is known.
    pub id: String,
    /// Executed steps, in order.
    pub parts: Vec<ExecutedStep>,
    /// Printed text, without the final line end.
    pub text: Vec<u8>,
}

/// One execution of a template's step.
#[derive(Debug, Clone, Default)]
pub struct ExecutedStep {
    /// Position in the source; `None` for steps outside any template, such as reading the hook word.
    pub place: Option<(SourceId, Span)>,
    /// Bit ranges of the event that the step read. Bit 0 is the first bit of the first byte.
    pub reads: Vec<Range<u64>>,
    /// Ranges of the text that it printed.
    pub text: Vec<Range<usize>>,
    /// Parts whose values the step used.
    pub from: Vec<usize>,
    /// Lowest and highest bit of the value that mattered; the lowest bit is 0.
    pub bits: Option<(u32, u32)>,
}

impl View {
    /// Bytes of the event that no part read.
    pub fn unread(&self) -> Vec<usize> {
        let mut read = vec![false; self.bytes.len()];
        for range in self.parts.iter().flat_map(|part| &part.reads) {
            let bytes = (range.start / 8) as usize..range.end.div_ceil(8) as usize;
            if let Some(run) = read.get_mut(bytes) {
                run.fill(true);
            }
        }
        (0..self.bytes.len()).filter(|at| !read[*at]).collect()
    }
}

/// Observer that notes reads and text per step.
#[derive(Debug)]
pub struct Recorder<'v, 'r, 'p> {
    program: &'r Program<'p>,
    places: &'v [Vec<(SourceId, Span)>],
    /// Receives one view per complete event.
    done: &'v mut Vec<View>,
    view: View,
    /// Routine and instruction of the last step.
    last: Option<(u32, u32)>,
    /// True if the last step only changed the case of existing text.
    in_place: bool,
    /// Ranges of the text in order, each with the part that printed it.
    pieces: Vec<(usize, Range<usize>)>,
    /// Parts that each register's value comes from.
    origins: Vec<Origins>,
}

impl<'v, 'r, 'p> Recorder<'v, 'r, 'p> {
    /// Creates a recorder. `places` contains the source positions of the program's instructions, by routine.
    pub fn new(program: &'r Program<'p>, places: &'v [Vec<(SourceId, Span)>], done: &'v mut Vec<View>) -> Self {
        Self {
            program,
            places,
            done,
            view: View::default(),
            last: None,
            in_place: false,
            pieces: Vec::new(),
            origins: Vec::new(),
        }
    }

    fn begin(&mut self, step: &Step<'_>) {
        let event = step.event;
        self.view.bytes = event.bytes.to_vec();
        self.origins = vec![Origins::new(); step.regs.len()];
        self.view.name = match event.record {
            Some(record) => {
                let is_it = |hook: &tfbc_vm::Hook<'_>| {
                    let routine = self.program.routine_of(hook, event.env());
                    hook.id & 1023 == record.event && routine.is_some_and(|routine| routine.index == step.routine)
                };
                let class = self.program.entries(Space::Record).find(is_it).map(|hook| hook.id >> 10);
                let form = if event.wide { "wide" } else { "simple" };
                match class {
                    Some(class) => {
                        self.view.id = EventId::Record(class as u8, record.event).name();
                        format!("event {class}:{}, {form}", record.event)
                    }
                    None => format!("event {}, {form}", record.event),
                }
            }
            None => {
                let (bits, word) = if event.wide { (64, 8) } else { (32, 4) };
                let read = 0..8 * event.bytes.len().min(word) as u64;
                self.view.parts.push(ExecutedStep { reads: vec![read], ..ExecutedStep::default() });
                let form = if event.is_generic() { ", generic" } else { "" };
                self.view.id = EventId::Hook(event.hook_id()).name();
                format!("hook {}, {bits}-bit{form}", self.view.id)
            }
        };
    }

    /// Index of the part that a step belongs to: the last part if the step continues it, otherwise a new part.
    fn part(&mut self, step: &Step<'_>) -> usize {
        let at = (step.routine as usize, step.pc as usize);
        let place = self.places.get(at.0).and_then(|places| places.get(at.1)).copied();
        let goes_on = self.last.is_some_and(|(routine, pc)| routine == step.routine && pc < step.pc);
        self.last = Some((step.routine, step.pc));
        let parts = &mut self.view.parts;
        let is_same = goes_on && parts.last().is_some_and(|last| last.place == place);
        if !is_same && (parts.len() < MAX_PARTS || parts.is_empty()) {
            parts.push(ExecutedStep { place, ..ExecutedStep::default() });
        }
        parts.len() - 1
    }

    /// Assigns the text printed since the last call to the last part.
    fn assign_text(&mut self, text: &[u8]) {
        let old = &mut self.view.text;
        if std::mem::take(&mut self.in_place) && old.len() == text.len() {
            old.copy_from_slice(text);
            return;
        }
        let shorter = old.len().min(text.len());
        let from = shorter.saturating_sub(TAKEN_BACK);
        let same = old[from..shorter].iter().zip(&text[from..shorter]).take_while(|(old, new)| old == new).count();
        let same = from + same;
        old.truncate(same);
        old.extend_from_slice(&text[same..]);
        while let Some((_, run)) = self.pieces.last_mut().filter(|(_, run)| run.end > same) {
            if run.start >= same {
                self.pieces.pop();
            } else {
                run.end = same;
            }
        }
        if text.len() > same {
            let part = self.view.parts.len().saturating_sub(1);
            match self.pieces.last_mut().filter(|(last, run)| *last == part && run.end == same) {
                Some((_, run)) => run.end = text.len(),
                None => self.pieces.push((part, same..text.len())),
            }
        }
    }

    /// Tracks where the values that the step uses and produces come from.
    fn follow(&mut self, step: &Step<'_>, part: usize, has_read: bool) {
        let Some(op) = Op::from_u8(step.instr.op) else { return };
        let mut used = Origins::new();
        let mut made = None;
        for (_, slot, kind) in op.info().operands {
            let register = step.instr.slot(*slot) as usize;
            match kind {
                tfbc_vm::OperandKind::Dst => made = Some(register),
                tfbc_vm::OperandKind::Src => {
                    let origins = self.origins.get(register).cloned().unwrap_or_default();
                    add(&mut used, &origins);
                }
                _ => {}
            }
        }
        let part_of = &mut self.view.parts[part];
        if op == Op::Bits && used.len() == 1 {
            let low = step.instr.slot(Slot::C);
            part_of.bits = Some((low, low + step.instr.slot(Slot::D).max(1) - 1));
        }
        for origin in used.iter().filter(|origin| **origin != part) {
            if !part_of.from.contains(origin) && part_of.from.len() < MAX_ORIGINS {
                part_of.from.push(*origin);
            }
        }
        if has_read {
            add(&mut used, &[part]);
        }
        if let Some(origins) = made.and_then(|made| self.origins.get_mut(made)) {
            *origins = used;
        }
    }
}

fn add(origins: &mut Origins, more: &[usize]) {
    for origin in more {
        if !origins.contains(origin) && origins.len() < MAX_ORIGINS {
            origins.push(*origin);
        }
    }
}

impl Observer for Recorder<'_, '_, '_> {
    fn before(&mut self, step: Step<'_>) {
        if self.last.is_none() {
            self.begin(&step);
        } else {
            self.assign_text(step.text);
        }
        let part = self.part(&step);
        let mut ranges = reads(&step);
        let end = step.event.bytes.len() as u64 * 8;
        ranges.iter_mut().for_each(|range| range.end = range.end.min(end));
        ranges.retain(|range| range.start < range.end);
        let has_read = !ranges.is_empty();
        self.view.parts[part].reads.extend(ranges);
        self.follow(&step, part, has_read);
        self.in_place = step.instr.op == Op::Lower as u8;
    }

    fn after(&mut self, text: &[u8]) {
        if self.last.is_none() {
            return;
        }
        self.assign_text(text.strip_suffix(b"\n").unwrap_or(text));
        for (part, run) in std::mem::take(&mut self.pieces) {
            self.view.parts[part].text.push(run);
        }
        self.done.push(std::mem::take(&mut self.view));
    }
}
