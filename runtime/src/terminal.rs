//! Output to a terminal: text from a trace cannot control it.
//!
//! Strings in a trace cannot be trusted. Their control characters and escape sequences could move the cursor, change
//! colours or the window title, and bidirectional overrides could reorder the text. On a terminal they are printed as
//! `\x1b` or `\u{202e}`. Files and pipes get all bytes unchanged.

use crate::columns::{Column, Columns};
use crate::pattern::Pattern;
use crate::reader::System;
use memchr::{memchr_iter, memmem};
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::ops::Range;
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
    /// Plain text.
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
    lines: Option<LineStyles>,
}

/// Styles that depend on the text of a line.
#[derive(Debug, Default)]
struct LineStyles {
    /// Pattern whose matches are coloured.
    pattern: Option<Pattern>,
    links: Option<Links>,
    /// Line that has no end yet.
    line: Vec<u8>,
    /// True inside dimmed columns.
    is_dim: bool,
}

/// Links from the id of an event in a report to an address, such as the file of its template (OSC 8).
#[derive(Debug)]
pub struct Links {
    /// Addresses by event: `105` for a hook, `USER:65` for an event of QNX. They contain no control characters.
    pub addresses: HashMap<String, String>,
    /// Place of the id in a line.
    pub place: LinkPlace,
}

/// Place of an event's id in a line of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkPlace {
    /// The first word of a line of an AIX report.
    Start,
    /// Two dimmed columns of a QNX report, counted from 0.
    Columns {
        /// Column of the class.
        class: usize,
        /// Column of the number in the class.
        id: usize,
    },
}

impl LinkPlace {
    /// Place of the id in the lines of a report with these columns; `None` if they do not show it.
    pub fn of(columns: &Columns, system: System) -> Option<Self> {
        if system == System::Aix {
            return (columns.list().first() == Some(&Column::Id)).then_some(Self::Start);
        }
        let is_dim = |column: &&Column| !matches!(column, Column::EventType | Column::Data);
        let dim: Vec<_> = columns.list().iter().filter(is_dim).collect();
        let at = |wanted| dim.iter().position(|column| **column == wanted);
        let (class, id) = (at(Column::Class)?, at(Column::EventId)?);
        (class < id).then_some(Self::Columns { class, id })
    }
}

/// Start of a link before its address, and end of the address. A link without an address ends a link.
const LINK: (&[u8], &[u8]) = (b"\x1b]8;;", b"\x1b\\");

impl<W: Write> TerminalWriter<W> {
    /// Wraps an output. Unless `shows` is true, all bytes pass unchanged.
    pub fn new(out: W, shows: bool) -> Self {
        Self { out, shows, text: Vec::new(), lines: None }
    }

    /// Colours the matches of a pattern in the text of a report, but not in its columns, which are dimmed. Lines that
    /// have no end yet wait for it or for [`Write::flush`].
    #[must_use]
    pub fn with_hits(mut self, pattern: Pattern) -> Self {
        self.lines.get_or_insert_default().pattern = Some(pattern);
        self
    }

    /// Makes the ids of events links. They are found in dimmed columns, which a report with
    /// [`ReportColour::Marked`] has.
    #[must_use]
    pub fn with_links(mut self, links: Links) -> Self {
        self.lines.get_or_insert_default().links = Some(links);
        self
    }

    /// Returns the wrapped output.
    pub fn into_inner(self) -> W {
        self.out
    }
}

impl<W: Write> Write for TerminalWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(lines) = &mut self.lines {
            lines.line.extend_from_slice(bytes);
            let end = lines.line.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let rest = lines.line.split_off(end);
            self.text.clear();
            lines.push_lines(self.shows, &mut self.text);
            lines.line = rest;
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
        if let Some(lines) = &mut self.lines {
            self.text.clear();
            lines.push_lines(self.shows, &mut self.text);
            lines.line.clear();
            self.out.write_all(&self.text)?;
        }
        self.out.flush()
    }
}

impl LineStyles {
    /// Appends the collected lines, with coloured matches and links.
    fn push_lines(&mut self, shows: bool, out: &mut Vec<u8>) {
        let lines = std::mem::take(&mut self.line);
        let push =
            |bytes: &[u8], out: &mut Vec<u8>| if shows { show(bytes, out) } else { out.extend_from_slice(bytes) };
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let mut from = 0;
            let marks: Vec<(usize, usize, &[u8; 4])> = match shows {
                true => styles(line).map(|(at, style)| (at, MARK_LEN, style)).collect(),
                false => plain_styles(line).map(|(at, style)| (at, style.len(), style)).collect(),
            };
            let mut link = LineLink { links: self.links.as_ref().filter(|_| shows), column: 0, class: String::new() };
            for (at, length, style) in marks {
                self.push_part(&line[from..at], &mut link, push, out);
                out.extend_from_slice(style);
                (from, self.is_dim) = (at + length, style == DIM);
            }
            self.push_part(&line[from..], &mut link, push, out);
        }
        self.line = lines;
    }

    /// Appends a part of a line that has one style.
    fn push_part(&self, part: &[u8], link: &mut LineLink<'_>, push: impl Fn(&[u8], &mut Vec<u8>), out: &mut Vec<u8>) {
        if self.is_dim {
            return link.push_column(part, push, out);
        }
        let text = part.strip_suffix(b"\n").unwrap_or(part);
        let mut from = 0;
        for hit in self.pattern.iter().flat_map(|pattern| pattern.matches(text)) {
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

/// Finds the id of an event in the dimmed columns of one line.
struct LineLink<'l> {
    links: Option<&'l Links>,
    /// Dimmed columns before the next one.
    column: usize,
    /// Class of the event, once its column is reached.
    class: String,
}

impl<'l> LineLink<'l> {
    /// Appends a dimmed column, in which an id becomes a link.
    fn push_column(&mut self, text: &[u8], push: impl Fn(&[u8], &mut Vec<u8>), out: &mut Vec<u8>) {
        let found = self.address(text);
        self.column += 1;
        let Some((address, at)) = found else { return push(text, out) };
        push(&text[..at.start], out);
        for part in [LINK.0, address.as_bytes(), LINK.1] {
            out.extend_from_slice(part);
        }
        push(&text[at.clone()], out);
        out.extend_from_slice(LINK.0);
        out.extend_from_slice(LINK.1);
        push(&text[at.end..], out);
    }

    /// Address of the id in a column, and the place of the id.
    fn address(&mut self, text: &[u8]) -> Option<(&'l str, Range<usize>)> {
        let links = self.links?;
        let key = match links.place {
            LinkPlace::Start if self.column == 0 => {
                let n = text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
                let key = std::str::from_utf8(&text[..n]).ok()?;
                return Some((links.addresses.get(key)?, 0..n));
            }
            LinkPlace::Columns { class, .. } if self.column == class => {
                self.class = String::from_utf8_lossy(text.trim_ascii()).into_owned();
                return None;
            }
            LinkPlace::Columns { id, .. } if self.column == id => {
                format!("{}:{}", self.class, std::str::from_utf8(text.trim_ascii()).ok()?)
            }
            _ => return None,
        };
        let start = text.len() - text.trim_ascii_start().len();
        Some((links.addresses.get(&key)?, start..start + text.trim_ascii().len()))
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
    use crate::columns::Timestamp;

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
    fn ids_become_links() {
        let StyleMarks { dim, plain } = marks();
        let (dim, plain): (&[u8], &[u8]) = (dim, plain);
        let addresses = |id: &str| HashMap::from([(id.to_owned(), String::from("file:///a"))]);
        let linked = |id, place, text: &[&[u8]]| {
            let links = Links { addresses: addresses(id), place };
            let mut screen = TerminalWriter::new(Vec::new(), true).with_links(links);
            text.iter().for_each(|part| screen.write_all(part).unwrap());
            screen.flush().unwrap();
            String::from_utf8(screen.into_inner()).unwrap()
        };
        let aix: &[&[u8]] = &[dim, b"105    0.1 ", plain, b"105 \x1b]8;;x\n    105\n", dim, b"1050 ", plain, b"105\n"];
        assert_eq!(
            linked("105", LinkPlace::Start, aix),
            "\x1b[2m\x1b]8;;file:///a\x1b\\105\x1b]8;;\x1b\\    0.1 \x1b[0m105 \\x1b]8;;x\n    105\n\x1b[2m1050 \x1b[0m105\n"
        );
        let qnx: &[&[u8]] = &[dim, b"  105", plain, b" ", dim, b"USER    ", plain, b" ", dim, b"  65", plain, b" 65\n"];
        assert_eq!(
            linked("USER:65", LinkPlace::Columns { class: 1, id: 2 }, qnx),
            "\x1b[2m  105\x1b[0m \x1b[2mUSER    \x1b[0m \x1b[2m  \x1b]8;;file:///a\x1b\\65\x1b]8;;\x1b\\\x1b[0m 65\n"
        );
        assert!(!linked("105", LinkPlace::Start, qnx).contains("file:"));
        let mut file = TerminalWriter::new(Vec::new(), false)
            .with_links(Links { addresses: addresses("105"), place: LinkPlace::Start });
        file.write_all(b"\x1b[2m105 \x1b[0m\n").unwrap();
        assert_eq!(file.into_inner(), b"\x1b[2m105 \x1b[0m\n");
    }

    #[test]
    fn the_columns_show_the_place_of_an_id() {
        let place = |list, system| {
            let columns = match system {
                System::Aix => Columns::parse(list, Timestamp::default()),
                System::Qnx => Columns::parse_qnx(list),
            };
            LinkPlace::of(&columns.unwrap(), system)
        };
        assert_eq!(place("id,pid,text", System::Aix), Some(LinkPlace::Start));
        assert_eq!(place("pid,id,text", System::Aix), None);
        assert_eq!(LinkPlace::of(&Columns::qnx(), System::Qnx), Some(LinkPlace::Columns { class: 3, id: 4 }));
        assert_eq!(place("type,class,data,id", System::Qnx), Some(LinkPlace::Columns { class: 0, id: 1 }));
        assert_eq!(place("id,class", System::Qnx), None);
        assert_eq!(place("event,id", System::Qnx), None);
    }

    #[test]
    fn marks_become_styles_and_styles_do_not_pass() {
        let StyleMarks { dim, plain } = marks();
        let text = [&dim[..], b"a\x1b[0m", plain, b"b\x1b[2m"].concat();
        assert_eq!(shown(&text, true), b"\x1b[2ma\\x1b[0m\x1b[0mb\\x1b[2m");
    }
}
