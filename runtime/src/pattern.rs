//! Patterns that are searched in the texts of events.
//!
//! A text has a few dozen bytes, so a call of a regular expression engine costs more than its search. If the automaton
//! of a pattern is small, it becomes a table with the next state for each state and byte, and a search is one lookup
//! per byte.

use crate::general_path;
use regex::bytes::{Regex, RegexBuilder};
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::{start, syntax};
use regex_automata::{Anchored, Input, MatchKind};
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

/// Lazy automaton of a pattern, which reads texts from their end if it `is_reverse`.
fn dfa(pattern: &str, kind: MatchKind, is_reverse: bool) -> Option<DFA> {
    let config = DFA::config().unicode_word_boundary(true).minimum_cache_clear_count(Some(0)).match_kind(kind);
    let nfa = thompson::Config::new().utf8(false).reverse(is_reverse).nfa_size_limit(Some(MAX_BYTES));
    let syntax = syntax::Config::new().multi_line(true).utf8(false);
    DFA::builder().configure(config).syntax(syntax).thompson(nfa).build(pattern).ok()
}

impl Automaton {
    /// `None` if the pattern needs more than 256 states.
    fn new(pattern: &str) -> Option<Self> {
        let dfa = dfa(pattern, MatchKind::LeftmostFirst, false)?;
        let mut cache = dfa.create_cache();
        let mut states = States::default();
        let start = states.number(dfa.start_state_forward(&mut cache, &Input::new("")).ok()?)?;
        let (mut table, ends) = states.table(&dfa, &mut cache)?;
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

/// Finder of all matches in a text, to colour them.
#[derive(Debug)]
pub(crate) struct MatchFinder {
    regex: Regex,
    tables: Option<FinderTables>,
}

/// Tables that find a match in two passes.
struct FinderTables {
    /// From the start of a search to the end of the first match.
    forward: MatchTable,
    /// From the end of a match to its start.
    backward: MatchTable,
    /// Uses of bytes at the start of a search, if they do not depend on the byte before.
    bytes: Option<Box<[u8; 256]>>,
}

/// Use of a byte with which no match starts.
const NO_MATCH: u8 = 0;
/// Use of a byte that is a whole match, no matter what follows.
const WHOLE_MATCH: u8 = 1;
/// Use of other bytes. It has no bit in common with the others, so blocks of bytes are tested at once.
const BY_TABLE: u8 = 2;

/// Number of bytes at the start of a text that have a use, which is not [`BY_TABLE`].
#[inline(always)]
fn count<const USE: u8>(uses: &[u8; 256], text: &[u8]) -> usize {
    let of = |byte: u8| uses[usize::from(byte)];
    let has_use = |&[a, b, c, d, e, f, g, h]: &[u8; 8]| match USE {
        NO_MATCH => of(a) | of(b) | of(c) | of(d) | of(e) | of(f) | of(g) | of(h) == NO_MATCH,
        _ => of(a) & of(b) & of(c) & of(d) & of(e) & of(f) & of(g) & of(h) == WHOLE_MATCH,
    };
    let (mut n, mut rest) = (0, text);
    while let Some((block, after)) = rest.split_first_chunk()
        && has_use(block)
    {
        (n, rest) = (n + block.len(), after);
    }
    n + rest.iter().take_while(|byte| of(**byte) == USE).count()
}

/// Deterministic automaton that says where a match ends.
struct MatchTable {
    /// Next state by state and byte. A state is the index of its row, with [`NOTED`] if it is `FAILED` or `UNKNOWN`, or
    /// if a match ended before the last byte.
    table: Box<[u16; 1 << 16]>,
    /// True for the rows of states in which a match ends at the end of the text.
    ends: [bool; 256],
    /// State before a search by the byte before it; the last is for the start of a text.
    starts: [u16; 257],
}

/// Flag of states that need more than the next step.
const NOTED: u16 = 1;

/// The table cannot decide.
struct Undecided;

impl MatchFinder {
    pub fn new(pattern: &Pattern) -> Self {
        let regex = pattern.regex.clone();
        let tables = if general_path::is_required() { None } else { FinderTables::new(regex.as_str()) };
        Self { regex, tables }
    }

    /// Visits the ranges of the matches in a text, in order. Matches without a gap between them are one range.
    #[inline]
    pub fn each(&self, text: &[u8], mut visit: impl FnMut(Range<usize>)) {
        let (mut range, mut from) = (0..0, 0);
        while let Some(found) = self.find(text, from) {
            // A search at the place of an empty match would find it again.
            from = found.end + usize::from(found.is_empty());
            if found.start == range.end {
                range.end = found.end;
            } else if !found.is_empty() {
                let before = std::mem::replace(&mut range, found);
                if !before.is_empty() {
                    visit(before);
                }
            }
        }
        if !range.is_empty() {
            visit(range);
        }
    }

    /// The first match from an offset on, perhaps with others that follow without a gap.
    #[inline]
    fn find(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        let rest = text.get(from..)?;
        let Some(tables) = &self.tables else { return self.find_by_regex(text, from) };
        let Some(bytes) = &tables.bytes else { return self.find_by_tables(tables, text, from) };
        let start = from + count::<NO_MATCH>(bytes, rest);
        match count::<WHOLE_MATCH>(bytes, &text[start..]) {
            0 if start == text.len() => None,
            0 => self.find_by_tables(tables, text, start),
            n => Some(start..start + n),
        }
    }

    #[inline(never)]
    fn find_by_tables(&self, tables: &FinderTables, text: &[u8], from: usize) -> Option<Range<usize>> {
        tables.find(text, from).unwrap_or_else(|Undecided| self.find_by_regex(text, from))
    }

    #[inline(never)]
    fn find_by_regex(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        (from <= text.len()).then(|| self.regex.find_at(text, from)).flatten().map(|found| found.range())
    }
}

impl FinderTables {
    /// `None` if one of the tables needs more than 256 states.
    fn new(pattern: &str) -> Option<Self> {
        let forward = MatchTable::new(&dfa(pattern, MatchKind::LeftmostFirst, false)?, Anchored::No)?;
        let backward = MatchTable::new(&dfa(pattern, MatchKind::All, true)?, Anchored::Yes)?;
        let bytes = forward.uses_at_start();
        Some(Self { forward, backward, bytes })
    }

    /// The first match from an offset on.
    #[inline(always)]
    fn find(&self, text: &[u8], from: usize) -> Result<Option<Range<usize>>, Undecided> {
        let Some(end) = self.forward.end_of_first(self.bytes.as_deref(), text, from)? else { return Ok(None) };
        Ok(Some(self.backward.start_of_longest(text, from, end)?..end))
    }
}

impl fmt::Debug for FinderTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FinderTables").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl MatchTable {
    /// `None` if the automaton has more than 256 states.
    fn new(dfa: &DFA, anchored: Anchored) -> Option<Self> {
        let mut cache = dfa.create_cache();
        let mut states = States { finds_ends: true, ..States::default() };
        let mut starts = [0; 257];
        for (before, start) in (0..=u8::MAX).map(Some).chain([None]).zip(&mut starts) {
            let config = start::Config::new().look_behind(before).anchored(anchored);
            *start = states.number(dfa.start_state(&mut cache, &config).ok()?)?;
        }
        let (table, ends) = states.table(dfa, &mut cache)?;
        Some(Self { table, ends, starts })
    }

    /// Uses of bytes at the start of a search, if they do not depend on the byte before.
    fn uses_at_start(&self) -> Option<Box<[u8; 256]>> {
        let start = self.starts[0];
        if self.starts.iter().any(|other| *other != start) || self.ends_after(start) || start & NOTED > 0 {
            return None;
        }
        let row = |state: u16| self.table[usize::from(state)..].iter().take(ROW.into());
        let mut is_last = [false; 256];
        for (state, is_last) in (FIRST..=u16::MAX).step_by(ROW.into()).zip(&mut is_last[usize::from(FIRST / ROW)..]) {
            *is_last = row(state).all(|next| *next == FAILED | NOTED) && !self.ends_after(state);
        }
        // A match is noted at the next byte.
        let is_match = |state: u16| state & NOTED > 0 && is_last[usize::from(state / ROW)];
        let is_whole = |state: u16| self.ends_after(state) && row(state).all(|next| is_match(*next));
        let mut uses = Box::new([BY_TABLE; 256]);
        for (next, byte_use) in row(start).zip(uses.iter_mut()) {
            *byte_use = match *next {
                next if next == start => NO_MATCH,
                next if next & NOTED == 0 && is_whole(next) => WHOLE_MATCH,
                _ => BY_TABLE,
            };
        }
        Some(uses)
    }

    fn ends_after(&self, state: u16) -> bool {
        self.ends[usize::from(state / ROW)]
    }

    #[inline(always)]
    fn after(&self, state: u16, byte: u8) -> u16 {
        self.table[usize::from(state & !(ROW - 1) | u16::from(byte))]
    }

    /// State before a search, given the byte before it.
    #[inline(always)]
    fn start(&self, before: Option<&u8>) -> u16 {
        self.starts[before.map_or(256, |byte| usize::from(*byte))]
    }

    /// End of the first match from an offset on. `bytes` are the [uses](MatchTable::uses_at_start) of bytes.
    #[inline(always)]
    fn end_of_first(&self, bytes: Option<&[u8; 256]>, text: &[u8], from: usize) -> Result<Option<usize>, Undecided> {
        let start = self.start(text[..from].last());
        let (mut state, mut at, mut end) = (start, from, None);
        while let Some(byte) = text.get(at) {
            state = self.after(state, *byte);
            if state & NOTED > 0 {
                match state & !NOTED {
                    FAILED => return Ok(end),
                    UNKNOWN => return Err(Undecided),
                    _ => end = Some(at),
                }
            }
            at += 1;
            if state == start
                && let Some(bytes) = bytes
            {
                at += count::<NO_MATCH>(bytes, &text[at..]);
            }
        }
        Ok(if self.ends_after(state) { Some(text.len()) } else { end })
    }

    /// Start of the longest match that ends at an offset, and starts at `from` or later.
    #[inline(always)]
    fn start_of_longest(&self, text: &[u8], from: usize, end: usize) -> Result<usize, Undecided> {
        let mut state = self.start(text.get(end));
        let mut start = end;
        for (at, byte) in text[from..end].iter().enumerate().rev() {
            state = self.after(state, *byte);
            if state & NOTED > 0 {
                match state & !NOTED {
                    FAILED => return Ok(start),
                    UNKNOWN => return Err(Undecided),
                    _ => start = from + at + 1,
                }
            }
        }
        let is_match = match text[..from].last() {
            Some(before) => match self.after(state, *before) {
                state if state == UNKNOWN | NOTED => return Err(Undecided),
                state => state & NOTED > 0 && state != FAILED | NOTED,
            },
            None => self.ends_after(state),
        };
        Ok(if is_match { from } else { start })
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
    /// True if a search continues after a match, and states are [`NOTED`].
    finds_ends: bool,
}

impl States {
    /// Number of a state; `None` if there are too many.
    fn number(&mut self, id: LazyStateID) -> Option<u16> {
        let note = if self.finds_ends { NOTED } else { 0 };
        if id.is_match() && !self.finds_ends {
            return Some(MATCHED);
        }
        if id.is_dead() {
            return Some(FAILED | note);
        }
        if id.is_quit() {
            return Some(UNKNOWN | note);
        }
        if let Some(number) = self.numbers.get(&id) {
            return Some(*number);
        }
        let row = u16::try_from(self.list.len() + 3).ok().filter(|row| *row < 256)? * ROW;
        let number = if id.is_match() { row | NOTED } else { row };
        self.list.push(id);
        self.numbers.insert(id, number);
        Some(number)
    }

    /// Table of the states that an automaton reaches, and the rows of those in which the end of the text completes a
    /// match; `None` if there are too many states.
    fn table(&mut self, dfa: &DFA, cache: &mut Cache) -> Option<(Box<[u16; 1 << 16]>, [bool; 256])> {
        let mut table: Box<[u16; 1 << 16]> = vec![0; 1 << 16].into_boxed_slice().try_into().ok()?;
        let mut ends = [false; 256];
        let note = if self.finds_ends { NOTED } else { 0 };
        let mut rows = (0..=u16::MAX).step_by(ROW.into()).zip(table.chunks_exact_mut(ROW.into()));
        rows.by_ref().take(usize::from(FIRST / ROW)).for_each(|(state, row)| row.fill(state | note));
        for (next, (state, row)) in rows.enumerate() {
            let Some(id) = self.list.get(next).copied() else { break };
            for (byte, to) in (0..=u8::MAX).zip(row) {
                *to = self.number(dfa.next_state(cache, id, byte).ok()?)?;
            }
            ends[usize::from(state / ROW)] = dfa.next_eoi_state(cache, id).ok()?.is_match();
        }
        Some((table, ends))
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
        let (mut n_tables, mut n_finders) = (0, 0);
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
            "a+",
            "ab?|b",
            "|a",
            "a|",
            r"\b",
            "(?-m)$|b",
            "[ab]",
            "x*",
        ];
        for pattern in patterns {
            let pattern = Pattern::new(pattern).unwrap();
            n_tables += usize::from(pattern.automaton.is_some());
            let finder = MatchFinder::new(&pattern);
            n_finders += usize::from(finder.tables.is_some());
            for text in &texts {
                let mut found = vec![false; text.len()];
                finder.each(text, |range| found[range].fill(true));
                let mut expected = vec![false; text.len()];
                pattern.regex.find_iter(text).for_each(|of| expected[of.range()].fill(true));
                assert_eq!(found, expected, "{pattern:?} in {:?}", text.escape_ascii().to_string());
                assert_eq!(
                    pattern.is_match(text),
                    pattern.regex.is_match(text),
                    "{pattern:?} in {:?}",
                    text.escape_ascii().to_string()
                );
            }
        }
        assert!((patterns.len() - 4..patterns.len()).contains(&n_tables), "{n_tables} of {}", patterns.len());
        assert!((patterns.len() - 5..patterns.len()).contains(&n_finders), "{n_finders} of {}", patterns.len());
    }
}
