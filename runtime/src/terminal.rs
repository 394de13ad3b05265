//! Output to a terminal: text from a trace cannot control it.
//!
//! Strings in a trace cannot be trusted. Their control characters and escape sequences could move the cursor, change
//! colours or the window title, and bidirectional overrides could reorder the text. On a terminal they are printed as
//! `\x1b` or `\u{202e}`. Files and pipes get all bytes unchanged.

use crate::pattern::Pattern;
use memchr::{memchr_iter, memmem};
use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::sync::OnceLock;

/// Length of a mark in bytes.
const MARK_LEN: usize = 18;

/// Placeholders for terminal styles in a report's text, replaced at the terminal. They are random per process, so that
/// no trace can contain them.
struct StyleMarks {
    /// Start of dimmed columns.
    dim: [u8; MARK_LEN],
    /// End of dimmed columns.
    plain: [u8; MARK_LEN],
}

/// Colours of a report: its columns and heading are dimmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReportColour {
    /// No colours.
    #[default]
    Off,
    /// Escape sequences of ANSI terminals.
    Ansi,
    /// Marks that the commands replace at a terminal. So the text of a trace cannot set colours itself.
    Marked,
}

impl ReportColour {
    /// Start of dimmed text; empty without colours.
    pub(crate) fn dim(self) -> &'static [u8] {
        match self {
            ReportColour::Off => b"",
            ReportColour::Ansi => DIM,
            ReportColour::Marked => &marks().dim,
        }
    }

    /// End of dimmed text; empty without colours.
    pub(crate) fn plain(self) -> &'static [u8] {
        match self {
            ReportColour::Off => b"",
            ReportColour::Ansi => PLAIN,
            ReportColour::Marked => &marks().plain,
        }
    }
}

const DIM: &[u8; 4] = b"\x1b[2m";
const PLAIN: &[u8; 4] = b"\x1b[0m";
/// Start of a match of a pattern.
const HIT: &[u8] = b"\x1b[1;31m";

/// Marks of this process.
fn marks() -> &'static StyleMarks {
    static MARKS: OnceLock<StyleMarks> = OnceLock::new();
    MARKS.get_or_init(|| {
        let secret = RandomState::new().hash_one(0u8);
        let mark = |kind: char| {
            let mut mark = [0; MARK_LEN];
            mark.copy_from_slice(format!("\x1b{kind}{secret:016x}").as_bytes());
            mark
        };
        StyleMarks { dim: mark('d'), plain: mark('p') }
    })
}

/// Output that makes control characters visible and replaces the marks of [`ReportColour::Marked`] by escape sequences.
#[derive(Debug)]
pub struct TerminalWriter<W> {
    out: W,
    shows: bool,
    text: Vec<u8>,
    hits: Option<Hits>,
}

/// Pattern whose matches are coloured.
#[derive(Debug)]
struct Hits {
    pattern: Pattern,
    /// Line that has no end yet.
    line: Vec<u8>,
    /// True inside dimmed columns.
    is_dim: bool,
}

impl<W: Write> TerminalWriter<W> {
    /// Wraps an output. Unless `shows` is true, all bytes pass unchanged.
    pub fn new(out: W, shows: bool) -> Self {
        Self { out, shows, text: Vec::new(), hits: None }
    }

    /// Colours the matches of a pattern in the text of a report, but not in its columns, which are dimmed. Lines that
    /// have no end yet wait for it or for [`Write::flush`].
    #[must_use]
    pub fn with_hits(mut self, pattern: Pattern) -> Self {
        self.hits = Some(Hits { pattern, line: Vec::new(), is_dim: false });
        self
    }

    /// Returns the wrapped output.
    pub fn into_inner(self) -> W {
        self.out
    }
}

impl<W: Write> Write for TerminalWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(hits) = &mut self.hits {
            hits.line.extend_from_slice(bytes);
            let end = hits.line.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let rest = hits.line.split_off(end);
            self.text.clear();
            hits.push_line(self.shows, &mut self.text);
            hits.line = rest;
            self.out.write_all(&self.text)?;
            return Ok(bytes.len());
        }
        if !self.shows {
            return self.out.write(bytes);
        }
        self.text.clear();
        let mut shown = 0;
        for (at, style) in styles(bytes) {
            show(&bytes[shown..at], &mut self.text);
            self.text.extend_from_slice(style);
            shown = at + MARK_LEN;
        }
        show(&bytes[shown..], &mut self.text);
        self.out.write_all(&self.text)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(hits) = &mut self.hits {
            self.text.clear();
            hits.push_line(self.shows, &mut self.text);
            hits.line.clear();
            self.out.write_all(&self.text)?;
        }
        self.out.flush()
    }
}

impl Hits {
    /// Appends the collected lines, with coloured matches.
    fn push_line(&mut self, shows: bool, out: &mut Vec<u8>) {
        let lines = std::mem::take(&mut self.line);
        let push =
            |bytes: &[u8], out: &mut Vec<u8>| if shows { show(bytes, out) } else { out.extend_from_slice(bytes) };
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let mut from = 0;
            let marks: Vec<(usize, usize, &[u8; 4])> = match shows {
                true => styles(line).map(|(at, style)| (at, MARK_LEN, style)).collect(),
                false => plain_styles(line).map(|(at, style)| (at, style.len(), style)).collect(),
            };
            for (at, length, style) in marks {
                self.push_part(&line[from..at], push, out);
                out.extend_from_slice(style);
                (from, self.is_dim) = (at + length, style == DIM);
            }
            self.push_part(&line[from..], push, out);
        }
        self.line = lines;
    }

    /// Appends a part of a line that has one style.
    fn push_part(&self, part: &[u8], push: impl Fn(&[u8], &mut Vec<u8>), out: &mut Vec<u8>) {
        let text = part.strip_suffix(b"\n").unwrap_or(part);
        let mut from = 0;
        for hit in self.pattern.matches(text).take_while(|_| !self.is_dim) {
            push(&text[from..hit.start], out);
            out.extend_from_slice(HIT);
            push(&text[hit.clone()], out);
            out.extend_from_slice(PLAIN);
            from = hit.end;
        }
        push(&text[from..], out);
        out.extend_from_slice(&part[text.len()..]);
    }
}

/// Finds the escape sequences of [`ReportColour::Ansi`]: their offsets and styles.
fn plain_styles(bytes: &[u8]) -> impl Iterator<Item = (usize, &'static [u8; 4])> {
    memmem::find_iter(bytes, b"\x1b[").filter_map(move |at| match bytes[at..].first_chunk() {
        Some(DIM) => Some((at, DIM)),
        Some(PLAIN) => Some((at, PLAIN)),
        _ => None,
    })
}

/// Finds the marks in some bytes: their offsets and styles.
fn styles(bytes: &[u8]) -> impl Iterator<Item = (usize, &'static [u8; 4])> {
    let StyleMarks { dim, plain } = marks();
    memchr_iter(dim[0], bytes).filter_map(move |at| match bytes[at..].first_chunk() {
        Some(mark) if mark == dim => Some((at, DIM)),
        Some(mark) if mark == plain => Some((at, PLAIN)),
        _ => None,
    })
}

/// Makes control characters visible, except newline and tab, and also overrides of the writing direction.
///
/// ```
/// use tfbc::internal::terminal::visible;
/// assert_eq!(visible("a\x1b[31mb\u{9b}\u{202e}\t\n"), "a\\x1b[31mb\\u{9b}\\u{202e}\t\n");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        if is_hidden(char) {
            shown.push_str(&name(char));
        } else {
            shown.push(char);
        }
    }
    Cow::Owned(shown)
}

/// True if a character controls a terminal instead of being printed.
fn is_hidden(char: char) -> bool {
    match char {
        '\n' | '\t' => false,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => char.is_control(),
    }
}

fn name(char: char) -> String {
    if char.is_ascii() { format!("\\x{:02x}", char as u32) } else { format!("\\u{{{:x}}}", char as u32) }
}

/// Appends bytes with control characters made visible. Bytes that are not UTF-8 stay, except 8-bit terminal controls.
pub fn show(bytes: &[u8], out: &mut Vec<u8>) {
    for chunk in bytes.utf8_chunks() {
        out.extend_from_slice(visible_lines(chunk.valid()).as_bytes());
        for byte in chunk.invalid() {
            match byte {
                0x80..=0x9F => out.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
                _ => out.push(*byte),
            }
        }
    }
}

/// Like [`visible`], but keeps the line ends of tables.
fn visible_lines(text: &str) -> Cow<'_, str> {
    if !text.contains("\r\n") {
        return visible(text);
    }
    Cow::Owned(text.split("\r\n").map(visible).collect::<Vec<_>>().join("\r\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8], shows: bool) -> Vec<u8> {
        let mut screen = TerminalWriter::new(Vec::new(), shows);
        screen.write_all(bytes).unwrap();
        screen.into_inner()
    }

    #[test]
    fn no_control_reaches_a_terminal() {
        for byte in 0..=255 {
            let shown = shown(&[b'a', byte, b'b'], true);
            let controls = shown.iter().filter(|byte| matches!(byte, 0..32 | 0x7F..=0x9F)).count();
            assert_eq!(controls, usize::from(matches!(byte, b'\n' | b'\t')), "{byte:#x}");
        }
        for char in ('\0'..='\u{ffff}').filter(|char| char.is_control() && !matches!(char, '\n' | '\t')) {
            let text = shown(format!("a{char}b").as_bytes(), true);
            assert!(!String::from_utf8(text).unwrap().contains(char), "{char:?}");
        }
    }

    #[test]
    fn other_text_is_as_it_was() {
        for text in ["", "plain\ttext\n", "Grüße, 世界\n", "a,b\r\nc,d\r\n"] {
            assert_eq!(shown(text.as_bytes(), true), text.as_bytes());
        }
        assert_eq!(shown(b"\xe9\xff\xc3", true), b"\xe9\xff\xc3");
        assert_eq!(shown(b"over\rwritten", true), b"over\\x0dwritten");
    }

    #[test]
    fn a_file_gets_every_byte() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(shown(&all, false), all);
    }

    #[test]
    fn matches_are_coloured_in_texts_alone() {
        let pattern = |text| Pattern::new(text).unwrap();
        let StyleMarks { dim, plain } = marks();
        let mut screen = TerminalWriter::new(Vec::new(), true).with_hits(pattern("^b|k.h"));
        screen.write_all(&[&dim[..], b"ksh 1 ", plain, b"bksh\x1b[0m"].concat()).unwrap();
        assert_eq!(screen.out, b"");
        screen.write_all(b"b\nno ksh").unwrap();
        let first = b"\x1b[2mksh 1 \x1b[0m\x1b[1;31mb\x1b[0m\x1b[1;31mksh\x1b[0m\\x1b[0mb\n";
        assert_eq!(String::from_utf8_lossy(&screen.out), String::from_utf8_lossy(first));
        screen.flush().unwrap();
        assert!(screen.into_inner().ends_with(b"no \x1b[1;31mksh\x1b[0m"));
        let mut pipe = TerminalWriter::new(Vec::new(), false).with_hits(pattern("k"));
        pipe.write_all(b"\x1b[2mk\x1b[0mk\xff\n").unwrap();
        assert_eq!(pipe.into_inner(), b"\x1b[2mk\x1b[0m\x1b[1;31mk\x1b[0m\xff\n");
    }

    #[test]
    fn marks_become_styles_and_styles_do_not_pass() {
        let StyleMarks { dim, plain } = marks();
        let text = [&dim[..], b"a\x1b[0m", plain, b"b\x1b[2m"].concat();
        assert_eq!(shown(&text, true), b"\x1b[2ma\\x1b[0m\x1b[0mb\\x1b[2m");
    }
}
