//! Patterns that are searched in the texts of events.
//!
//! A text has a few dozen bytes, so a call of a regular expression engine costs more than its search. If the automaton
//! of a pattern is small, it becomes a table with the next state for each state and byte, and a search is one lookup
//! per byte.

use crate::general_path;
use regex::bytes::{Regex, RegexBuilder};
use regex_automata::Input;
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::DFA;
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use tfbc_vm::first_equal;

/// Regular expression over bytes; `^` and `$` match at line ends.
#[derive(Clone)]
pub struct Pattern {
    regex: Regex,
    automaton: Option<Arc<Automaton>>,
}

impl Pattern {
    /// Compiles a regular expression in the syntax of the package `regex`.
    ///
    /// # Errors
    /// The text is not a regular expression, or too large.
    pub fn new(text: &str) -> Result<Self, regex::Error> {
        let regex = RegexBuilder::new(text).multi_line(true).build()?;
        Ok(Self { regex, automaton: Automaton::new(text).map(Arc::new) })
    }

    /// True if a text has a match.
    #[doc(hidden)]
    #[inline]
    pub fn is_match(&self, text: &[u8]) -> bool {
        self.is_match_in_line(text).unwrap_or_else(|| self.is_match_by_regex(text))
    }

    /// Ranges of the matches in a text, in order.
    pub(crate) fn matches(&self, text: &[u8]) -> impl Iterator<Item = Range<usize>> {
        self.regex.find_iter(text).map(|found| found.range()).filter(|range| !range.is_empty())
    }

    /// True if a line has a match; `None` if the table cannot decide, as for a text of several lines.
    #[inline(always)]
    pub(crate) fn is_match_in_line(&self, text: &[u8]) -> Option<bool> {
        let automaton = self.automaton.as_ref().filter(|_| !general_path::is_required());
        automaton.and_then(|automaton| automaton.search(text))
    }

    #[inline(never)]
    pub(crate) fn is_match_by_regex(&self, text: &[u8]) -> bool {
        self.regex.is_match(text)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pattern").field(&self.regex.as_str()).finish()
    }
}

/// Deterministic automaton that decides if a text has a match.
struct Automaton {
    /// Next state by state and byte. A state is the index of its row.
    table: Box<[u16; 1 << 16]>,
    /// True for the rows of states in which the end of the text completes a match.
    ends: [bool; 256],
    start: u16,
    /// Block of copies of the only byte that leads from `start` to another state.
    leaving: Option<[u8; 16]>,
}

/// Bytes in a row.
const ROW: u16 = 256;
/// State after a match.
const MATCHED: u16 = 0;
/// State in which no match is possible.
const FAILED: u16 = ROW;
/// State after a byte that the table cannot handle: a newline, or next to `\b` a byte from 128 on.
const UNKNOWN: u16 = 2 * ROW;
/// First of the other states. No byte leaves the states before it.
const FIRST: u16 = 3 * ROW;

/// Maximum bytes of the automaton that the table is made from.
const MAX_BYTES: usize = 1 << 16;

impl Automaton {
    /// `None` if the pattern needs more than 256 states.
    fn new(pattern: &str) -> Option<Self> {
        let dfa = DFA::builder()
            .configure(DFA::config().unicode_word_boundary(true).minimum_cache_clear_count(Some(0)))
            .syntax(syntax::Config::new().multi_line(true).utf8(false))
            .thompson(thompson::Config::new().utf8(false).nfa_size_limit(Some(MAX_BYTES)))
            .build(pattern)
            .ok()?;
        let mut cache = dfa.create_cache();
        let mut states = States::default();
        let start = states.number(dfa.start_state_forward(&mut cache, &Input::new("")).ok()?)?;
        let mut table: Box<[u16; 1 << 16]> = vec![0; 1 << 16].into_boxed_slice().try_into().ok()?;
        let mut ends = [false; 256];
        let mut rows = (0..=u16::MAX).step_by(ROW.into()).zip(table.chunks_exact_mut(ROW.into()));
        rows.by_ref().take(usize::from(FIRST / ROW)).for_each(|(state, row)| row.fill(state));
        for (next, (state, row)) in rows.enumerate() {
            let Some(id) = states.list.get(next).copied() else { break };
            for (byte, to) in (0..=u8::MAX).zip(row) {
                *to = states.number(dfa.next_state(&mut cache, id, byte).ok()?)?;
            }
            ends[usize::from(state / ROW)] = dfa.next_eoi_state(&mut cache, id).ok()?.is_match();
        }
        // Blanks after a newline may be a margin, which is not part of the text. They do not matter if the automaton is
        // at its start and remains there.
        let after = |state: u16, byte: u8| usize::from(state | u16::from(byte));
        let passes = [b'\n', b' '].iter().all(|byte| table[after(start, *byte)] == start);
        for state in (FIRST..=u16::MAX).step_by(ROW.into()).filter(|state| *state != start || !passes) {
            table[after(state, b'\n')] = UNKNOWN;
        }
        let mut bytes = (0..=u8::MAX).zip(&table[start.into()..]).filter(|(_, to)| **to != start);
        let leaving = bytes.next().map(|(byte, _)| [byte; 16]).filter(|_| bytes.next().is_none());
        Some(Self { table, ends, start, leaving })
    }

    /// True if a text has a match; `None` if the table cannot decide.
    #[inline(always)]
    fn search(&self, text: &[u8]) -> Option<bool> {
        // Bytes before the first one that leaves the start do not matter.
        let text = match &self.leaving {
            Some(copies) => from_first(copies, text),
            None => text,
        };
        let (blocks, rest) = text.as_chunks::<BLOCK>();
        let mut state = self.start;
        for block in blocks {
            state = block.iter().fold(state, |state, byte| self.after(state, *byte));
            if state < FIRST {
                return Self::found(state);
            }
        }
        state = rest.iter().fold(state, |state, byte| self.after(state, *byte));
        if state < FIRST { Self::found(state) } else { Some(self.ends[usize::from(state / ROW)]) }
    }

    #[inline(always)]
    fn after(&self, state: u16, byte: u8) -> u16 {
        self.table[usize::from(state | u16::from(byte))]
    }

    fn found(state: u16) -> Option<bool> {
        (state != UNKNOWN).then_some(state == MATCHED)
    }
}

/// Number of bytes after which a search may end.
const BLOCK: usize = 8;

/// The rest of a text from the first byte that is in the block of its copies; the whole text if it is short.
#[inline(always)]
fn from_first<'t>(copies: &[u8; 16], text: &'t [u8]) -> &'t [u8] {
    let mut rest = text;
    while let Some((block, after)) = rest.split_first_chunk() {
        if let Some(first) = first_equal(block, copies) {
            return &rest[first..];
        }
        rest = after;
    }
    // The last block overlaps the one before, because only whole blocks can be tested.
    match text.last_chunk() {
        Some(block) => &block[first_equal(block, copies).unwrap_or(block.len())..],
        None => text,
    }
}

/// States that were found, from [`FIRST`] on.
#[derive(Default)]
struct States {
    list: Vec<LazyStateID>,
    numbers: HashMap<LazyStateID, u16>,
}

impl States {
    /// Number of a state; `None` if there are too many.
    fn number(&mut self, id: LazyStateID) -> Option<u16> {
        if id.is_match() {
            return Some(MATCHED);
        }
        if id.is_dead() {
            return Some(FAILED);
        }
        if id.is_quit() {
            return Some(UNKNOWN);
        }
        if let Some(number) = self.numbers.get(&id) {
            return Some(*number);
        }
        let number = u16::try_from(self.list.len() + 3).ok().filter(|row| *row < 256)? * ROW;
        self.list.push(id);
        self.numbers.insert(id, number);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_find_what_regular_expressions_find() {
        let words: Vec<&[u8]> = vec![
            b"",
            b"a",
            b"ab",
            b"7F3",
            b" ",
            b"\n",
            b"no",
            b"_",
            b"x=1",
            "é".as_bytes(),
            b"\xff",
            b"Kk",
            "\u{212a}".as_bytes(),
        ];
        let mut noise = 1u64;
        let mut below = |n: usize| {
            noise = noise.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            (noise >> 33) as usize % n
        };
        let texts: Vec<Vec<u8>> =
            (0..400).map(|_| (0..below(20)).flat_map(|_| words[below(words.len())].to_vec()).collect()).collect();
        let mut n_tables = 0;
        let patterns = [
            "",
            ".",
            "a",
            "ab",
            "7[0-9a-f]*3",
            "^a",
            "a$",
            "^$",
            "^ab$",
            r"\Aa",
            r"a\z",
            r"\bno\b",
            r"\Bno",
            r"\w+=\d",
            "(?i)k",
            "(?i)7f3",
            "a.b",
            "(?s)a.b",
            r"\s",
            r"[^a-z ]",
            "é",
            r"\xff",
            r"(?-u)\xff",
            "(?-u)[^a]",
            "a|no|7F",
            "(ab){3}",
            "[a-z]{200}",
            r"\w{40}",
            "(?x) a b",
            "x=1,y",
            "[[:^alpha:]]$",
            "^.*$",
            "(?-m)^a",
            "(?-m)a$",
            "a??b",
            r"\n",
            "(a|b)*[13]",
        ];
        for pattern in patterns {
            let pattern = Pattern::new(pattern).unwrap();
            n_tables += usize::from(pattern.automaton.is_some());
            for text in &texts {
                assert_eq!(
                    pattern.is_match(text),
                    pattern.regex.is_match(text),
                    "{pattern:?} in {:?}",
                    text.escape_ascii().to_string()
                );
            }
        }
        assert!((patterns.len() - 4..patterns.len()).contains(&n_tables), "{n_tables} of {}", patterns.len());
    }
}
