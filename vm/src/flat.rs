//! Routines flattened to texts and numbers at fixed places, which are printed without the machine.
//!
//! Most QNX records print text and a few numbers, and nothing depends on anything else. Only the layout of traceprinter
//! 1.02 is printed this way: a slot takes 350 instructions, and 477 by the machine (`traceprinter --compat 1.02`, with
//! `--max-text 383` for the machine). `tfbc report` does not use it: arguments there come from tables, not from bytecode.
//! AIX's routines do not either: they have prepared entries.
//!
//! ```text
//! THREAD  :THREADY       pid:   int  tid:   int  \n
//! head                         step       step
//! ```

use crate::machine::prints;
use crate::mem::{unchecked, window};
use crate::op::form;
use crate::{Env, Hook, Instr, Op, Program, TextBuf, num};

/// Maximum size of the bytes before a routine's text.
const MAX_BEFORE: usize = 32;
/// Room for the text at the start, and for the text after a number.
const HEAD: usize = 64;
const TEXT: usize = 32;
/// Maximum size of a line in bytes.
const ROOM: usize = TextBuf::TEXT_ROOM;
/// Maximum size of a printed number, and of a word printed both in quotes and in hex.
const NUMBER: usize = 20;
const WORD: usize = 16;
/// Maximum number of words printed as one text.
const MAX_WORDS: u32 = 4;

/// Routine that prints only text and numbers at fixed offsets, for events that contain all of them.
///
/// [`Program::flat_routine`] returns it. It prints the text of [`Machine::run`](crate::Machine::run) without margins and with
/// room for [`FlatRoutine::MAX_TEXT`] bytes.
#[derive(Debug, Clone)]
pub struct FlatRoutine {
    /// Minimum size of the event in bytes.
    need: usize,
    big_endian: bool,
    /// Value of the event for which the machine runs the routine instead.
    unless: Option<Guard>,
    head: [u8; HEAD],
    head_len: usize,
    steps: Box<[NumberAndText]>,
}

/// Number in the event for which the routine takes another path.
#[derive(Debug, Clone, Copy)]
struct Guard {
    window: Window,
    value: u64,
}

/// Number, and the text after it.
#[derive(Debug, Clone, Copy)]
struct NumberAndText {
    put: Notation,
    /// Number of hex digits, or of words, as `put` says.
    count: u8,
    text_len: u8,
    window: Window,
    text: [u8; TEXT],
}

/// Notation of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notation {
    /// No number.
    Nothing,
    Dec,
    Int,
    Hex,
    HexMin,
    /// Like `take.words`.
    Words,
}

/// Position of a number in the event: the bits that remain of eight bytes when they are shifted left, then right.
#[derive(Debug, Clone, Copy, Default)]
struct Window {
    at: u32,
    left: u8,
    right: u8,
}

impl Window {
    /// Returns the number at the high end of its word. The event is as long as its routine needs.
    #[inline(always)]
    fn left_aligned(self, bytes: &[u8], big_endian: bool) -> u64 {
        let number = u64::from_le_bytes(unchecked!(FixedReads: window(bytes, self.at)));
        let number = if big_endian { number.swap_bytes() } else { number };
        number << (self.left & 63)
    }
}

impl FlatRoutine {
    /// Maximum length of a printed text.
    pub const MAX_TEXT: u32 = ROOM as u32;

    /// Appends `before` and the text of an event. Returns false, and appends nothing, if the machine must run the routine.
    #[inline(always)]
    pub fn write<const N: usize>(&self, before: [u8; N], bytes: &[u8], out: &mut TextBuf) -> bool {
        const { assert!(N <= MAX_BEFORE) };
        if bytes.len() < self.need || self.unless.is_some_and(|unless| unless.matches(bytes, self.big_endian)) {
            return false;
        }
        out.room(0);
        let Some(room) = out.buf[out.len..].first_chunk_mut::<ROOM>() else { return false };
        num::store(room, 0, before);
        num::store(room, N, self.head);
        let mut at = N + self.head_len;
        for step in &self.steps {
            at = step.write(bytes, self.big_endian, room, at);
        }
        out.len += at;
        true
    }
}

impl Guard {
    #[inline(always)]
    fn matches(self, bytes: &[u8], big_endian: bool) -> bool {
        self.window.left_aligned(bytes, big_endian) >> (self.window.right & 63) == self.value
    }
}

impl NumberAndText {
    /// Writes the number and its text at an offset. Returns the offset after them.
    #[inline(always)]
    fn write(&self, bytes: &[u8], big_endian: bool, room: &mut [u8; ROOM], at: usize) -> usize {
        let right = self.window.right & 63;
        let number = || self.window.left_aligned(bytes, big_endian);
        let at = match self.put {
            Notation::Nothing => at,
            Notation::Int => num::int(room, at, (number() as i64 >> right) as u64),
            Notation::Hex => num::hex_low_first(room, at, number().to_be_bytes(), self.count.into()),
            Notation::Dec => num::dec(room, at, number() >> right),
            Notation::HexMin => num::hex_min(room, at, number() >> right),
            Notation::Words => {
                let words = bytes.get(self.window.at as usize..).unwrap_or_default().as_chunks().0;
                put_words(room, at, words.get(..self.count.into()).unwrap_or_default())
            }
        };
        num::store(room, at, self.text);
        at + usize::from(self.text_len)
    }
}

/// Writes words as text in quotes, then in hex in parentheses. Returns the offset after them.
#[inline(always)]
fn put_words(room: &mut [u8; ROOM], at: usize, words: &[[u8; 4]]) -> usize {
    num::store(room, at, [b'"']);
    let mut at = at + 1;
    for word in words {
        let n = n_printed(*word);
        num::store(room, at, *word);
        at += n;
        if n < 4 {
            break;
        }
    }
    num::store(room, at, *b"\" (0x");
    at += 3;
    for word in words {
        num::store(room, at, *b"0x");
        at = num::hex_low(room, at + 2, u32::from_le_bytes(*word).into(), 8);
        num::store(room, at, [b' ']);
        at += 1;
    }
    num::store(room, at - 1, [b')']);
    at
}

/// Number of bytes of a word that are printed: those before a NUL, or none if one of them is not printable.
#[inline(always)]
fn n_printed(word: [u8; 4]) -> usize {
    const BLANKS: u32 = 0x2020_2020;
    const DELETES: u32 = 0x7F7F_7F7F;
    const HIGH_BITS: u32 = 0x8080_8080;
    let n = u32::from_le_bytes(word);
    let deletes = n ^ DELETES;
    let below_blank = n.wrapping_sub(BLANKS) & !n;
    let is_delete = deletes.wrapping_sub(0x0101_0101) & !deletes;
    if (n | below_blank | is_delete) & HIGH_BITS == 0 { 4 } else { n_printed_one_by_one(word) }
}

#[cold]
fn n_printed_one_by_one(word: [u8; 4]) -> usize {
    let n = word.iter().position(|byte| *byte == 0).unwrap_or(4);
    if word[..n].iter().all(|byte| prints(*byte)) { n } else { 0 }
}

impl Program<'_> {
    /// Flattens the routine of an entry in an environment, with its label as first text; `None` if the routine does more than
    /// print text and numbers.
    pub fn flat_routine(&self, hook: &Hook<'_>, env: Env, label: &[u8]) -> Option<FlatRoutine> {
        if !hook.space.envs().contains(&env) {
            return None;
        }
        let start_index = Program::start_index(hook.index, env.index());
        let start = self.verified_start(start_index)?;
        let (code, body) = self.code_at(&start);
        let mut draft = FlatRoutineBuilder::new(start.need as usize, label);
        let mut pc = 0;
        while pc != body {
            let instr = code.get(pc)?;
            draft.push(&instr.lit[..usize::from(instr.lit_len).min(16)]);
            // Nothing jumps back, so this ends.
            pc = draft.add(instr)?.map_or(Some(pc + 1), |to| (to > pc).then_some(to))?;
        }
        draft.finish()
    }
}

/// Flat routine under construction.
struct FlatRoutineBuilder {
    need: usize,
    little_endian: Option<bool>,
    unless: Option<Guard>,
    head: Vec<u8>,
    /// Numbers, each with the text after it.
    numbers: Vec<(Notation, u8, Window, Vec<u8>)>,
    /// Data pointer, if it has been set.
    pointer: Option<u32>,
}

impl FlatRoutineBuilder {
    fn new(need: usize, label: &[u8]) -> Self {
        let head = label.to_vec();
        FlatRoutineBuilder { need, little_endian: None, unless: None, head, numbers: Vec::new(), pointer: None }
    }

    fn push(&mut self, text: &[u8]) {
        self.numbers.last_mut().map_or(&mut self.head, |(.., after)| after).extend_from_slice(text);
    }

    /// Adds an instruction without its literal, and returns its jump target if it jumps; `None` if it cannot be flattened.
    fn add(&mut self, instr: &Instr) -> Option<Option<usize>> {
        match Op::from_u8(instr.op)? {
            Op::Print => {}
            // An event that is too short for any field of the line is printed by the machine. So the checks of all
            // fields become one check before the line.
            Op::Reach => self.need = self.need.max(instr.b as usize),
            Op::Jump => return Some(Some(instr.d as usize)),
            // One condition is enough for the built-in events: an argument that is printed differently for one value.
            Op::JumpDifferAt if self.unless.is_none() => {
                let window = self.window(instr.a.into(), instr.c)?;
                self.unless = Some(Guard { window, value: instr.b.into() });
                return Some(Some(instr.d as usize));
            }
            Op::HexLowFullAt if instr.a <= 16 => self.number(Notation::Hex, instr.a as u8, instr)?,
            Op::HexMinAt => self.number(Notation::HexMin, 0, instr)?,
            Op::DecAt => self.number(Notation::Dec, 0, instr)?,
            Op::IntAt => self.number(Notation::Int, 0, instr)?,
            Op::PtrSet if instr.c == 0 => self.pointer = Some(instr.b),
            Op::TakeWords if (1..=MAX_WORDS).contains(&instr.b) => {
                let at = self.pointer?;
                let end = at.checked_add(instr.b * 4)?;
                self.need = self.need.max(end as usize);
                self.pointer = Some(end);
                self.numbers.push((Notation::Words, instr.b as u8, Window { at, ..Window::default() }, Vec::new()));
            }
            _ => return None,
        }
        Some(None)
    }

    fn number(&mut self, put: Notation, count: u8, instr: &Instr) -> Option<()> {
        let window = self.window(instr.b, instr.c)?;
        self.numbers.push((put, count, window, Vec::new()));
        Some(())
    }

    /// Returns the window of a form; `None` if its byte order differs from earlier windows.
    fn window(&mut self, at: u32, how: u32) -> Option<Window> {
        let little_endian = how & form::LITTLE != 0;
        let left = (how & form::LEFT) as u8;
        let right = (how >> form::RIGHT & 63) as u8;
        (*self.little_endian.get_or_insert(little_endian) == little_endian).then_some(Window { at, left, right })
    }

    fn finish(mut self) -> Option<FlatRoutine> {
        self.push(b"\n");
        let FlatRoutineBuilder { need, little_endian, unless, head, numbers, .. } = self;
        let (start, rest) = head.split_at(head.len().min(HEAD));
        let mut steps: Vec<NumberAndText> = rest.chunks(TEXT).map(NumberAndText::text).collect();
        for (put, count, window, text) in numbers {
            let (text, rest) = text.split_at(text.len().min(TEXT));
            steps.push(NumberAndText { put, count, window, ..NumberAndText::text(text) });
            steps.extend(rest.chunks(TEXT).map(NumberAndText::text));
        }
        // The line must fit the slack of the buffer, because the steps do not test for room.
        let room: usize = steps.iter().map(NumberAndText::room).sum();
        let mut head = [0; HEAD];
        head[..start.len()].copy_from_slice(start);
        let big_endian = little_endian == Some(false);
        let (head_len, steps) = (start.len(), steps.into());
        (MAX_BEFORE + start.len() + room + TEXT <= ROOM).then_some(FlatRoutine {
            need,
            big_endian,
            unless,
            head,
            head_len,
            steps,
        })
    }
}

impl NumberAndText {
    /// Creates a step with a text of up to [`TEXT`] bytes and no number.
    fn text(text: &[u8]) -> Self {
        let mut room = [0; TEXT];
        room[..text.len()].copy_from_slice(text);
        NumberAndText {
            put: Notation::Nothing,
            count: 0,
            text_len: text.len() as u8,
            window: Window::default(),
            text: room,
        }
    }

    /// Maximum number of bytes that the step prints.
    fn room(&self) -> usize {
        let number = match self.put {
            Notation::Nothing => 0,
            Notation::Words => WORD * usize::from(self.count) + WORD,
            _ => NUMBER,
        };
        number + usize::from(self.text_len)
    }
}
