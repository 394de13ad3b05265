//! Output to a terminal: text from a trace cannot control it.
//!
//! Strings in a trace cannot be trusted. Their control characters and escape sequences could move the cursor, change
//! colours or the window title, and bidirectional overrides could reorder the text. On a terminal they are printed as
//! `\x1b` or `\u{202e}`. Files and pipes get all bytes unchanged.

use crate::columns::{Column, Columns};
use crate::pattern::{MatchFinder, Pattern};
use crate::reader::System;
use memchr::{memchr, memchr_iter, memchr2, memrchr};
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::ops::Range;
use std::sync::OnceLock;
use tfbc_vm::contains_any;

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

const ESCAPE: u8 = b'\x1b';
const DIM: &[u8; 4] = b"\x1b[2m";
const PLAIN: &[u8; 4] = b"\x1b[0m";
/// Start of a match of a pattern.
const HIT: &[u8; 7] = b"\x1b[1;31m";

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
    /// Finder of the matches that are coloured.
    hits: Option<MatchFinder>,
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
    pub fn with_hits(mut self, pattern: &Pattern) -> Self {
        self.lines.get_or_insert_default().hits = Some(MatchFinder::new(pattern));
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
            let Some(end) = memrchr(b'\n', bytes).map(|at| at + 1) else {
                lines.line.extend_from_slice(bytes);
                return Ok(bytes.len());
            };
            self.text.clear();
            let mut whole = &bytes[..end];
            if !lines.line.is_empty() {
                let first = memchr(b'\n', bytes).map_or(end, |at| at + 1);
                let mut line = std::mem::take(&mut lines.line);
                line.extend_from_slice(&bytes[..first]);
                lines.push_lines(&line, self.shows, &mut self.text);
                whole = &bytes[first..end];
            }
            lines.push_lines(whole, self.shows, &mut self.text);
            lines.line.extend_from_slice(&bytes[end..]);
            self.out.write_all(&self.text)?;
            return Ok(bytes.len());
        }
        if !self.shows {
            return self.out.write(bytes);
        }
        self.text.clear();
        let mut shown = 0;
        for at in memchr_iter(ESCAPE, bytes) {
            if let Some((style, len)) = marked_style(&bytes[at..]) {
                show(&bytes[shown..at], &mut self.text);
                self.text.extend_from_slice(style);
                shown = at + len;
            }
        }
        show(&bytes[shown..], &mut self.text);
        self.out.write_all(&self.text)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(lines) = &mut self.lines {
            self.text.clear();
            let line = std::mem::take(&mut lines.line);
            lines.push_lines(&line, self.shows, &mut self.text);
            self.out.write_all(&self.text)?;
        }
        self.out.flush()
    }
}

impl LineStyles {
    /// Appends lines with coloured matches and links. Only the last may have no end.
    fn push_lines(&mut self, lines: &[u8], shows: bool, out: &mut Vec<u8>) {
        let new_link = |links| LineLink { links, column: 0, class: String::new() };
        let Self { hits, links, is_dim, .. } = self;
        let (hits, links) = (hits.as_ref(), links.as_ref().filter(|_| shows));
        let style_at = if shows { marked_style } else { plain_style };
        let (mut from, mut at, mut link) = (0, 0, new_link(links));
        loop {
            // Most lines begin with a style.
            at += match lines.get(at) {
                Some(&ESCAPE) => 0,
                _ => match memchr2(ESCAPE, b'\n', &lines[at..]) {
                    Some(n) => n,
                    None => break,
                },
            };
            if lines[at] == b'\n' {
                at += 1;
                push_part(&lines[from..at], *is_dim, hits, &mut link, shows, out);
                (from, link) = (at, new_link(links));
            } else if let Some((style, len)) = style_at(&lines[at..]) {
                push_part(&lines[from..at], *is_dim, hits, &mut link, shows, out);
                out.extend_from_slice(style);
                at += len;
                (from, *is_dim) = (at, style == DIM);
            } else {
                at += 1;
            }
        }
        push_part(&lines[from..], *is_dim, hits, &mut link, shows, out);
    }
}

/// Appends a part of a line that has one style.
fn push_part(
    part: &[u8],
    is_dim: bool,
    hits: Option<&MatchFinder>,
    link: &mut LineLink<'_>,
    shows: bool,
    out: &mut Vec<u8>,
) {
    let push = |bytes: &[u8], out: &mut Vec<u8>| if shows { show(bytes, out) } else { out.extend_from_slice(bytes) };
    if is_dim {
        return link.push_column(part, push, out);
    }
    let text = part.strip_suffix(b"\n").unwrap_or(part);
    let mut from = 0;
    if let Some(hits) = hits {
        hits.each(text, |hit| {
            push(&text[from..hit.start], out);
            out.extend_from_slice(HIT);
            push(&text[hit.clone()], out);
            out.extend_from_slice(PLAIN);
            from = hit.end;
        });
    }
    push(&text[from..], out);
    out.extend_from_slice(&part[text.len()..]);
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

/// Style that an escape sequence of [`ReportColour::Ansi`] at the start of some bytes sets, and its length.
fn plain_style(bytes: &[u8]) -> Option<(&'static [u8; 4], usize)> {
    match bytes.first_chunk()? {
        DIM => Some((DIM, DIM.len())),
        PLAIN => Some((PLAIN, PLAIN.len())),
        _ => None,
    }
}

/// Style of the mark at the start of some bytes, and the length of the mark.
fn marked_style(bytes: &[u8]) -> Option<(&'static [u8; 4], usize)> {
    let StyleMarks { dim, plain } = marks();
    match bytes.first_chunk()? {
        mark if mark == dim => Some((DIM, MARK_LEN)),
        mark if mark == plain => Some((PLAIN, MARK_LEN)),
        _ => None,
    }
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
    // Most lines are printable ASCII. A longer run of them is copied at once.
    let (mut from, mut at) = (0, 0);
    while at < bytes.len() {
        let text = match memchr(b'\n', &bytes[at..]) {
            Some(n) => &bytes[at..at + n],
            None => &bytes[at..],
        };
        let end = (at + text.len() + 1).min(bytes.len());
        if contains_any::<DELETE, 0x20>(text) {
            out.extend_from_slice(&bytes[from..at]);
            show_any(&bytes[at..end], out);
            from = end;
        }
        at = end;
    }
    out.extend_from_slice(&bytes[from..]);
}

const DELETE: u32 = u32::from_be_bytes([0x7f; 4]);

#[inline(never)]
fn show_any(bytes: &[u8], out: &mut Vec<u8>) {
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
        let mut screen = TerminalWriter::new(Vec::new(), true).with_hits(&pattern("^b|k.h"));
        screen.write_all(&[&dim[..], b"ksh 1 ", plain, b"bksh\x1b[0m"].concat()).unwrap();
        assert_eq!(screen.out, b"");
        screen.write_all(b"b\nno ksh").unwrap();
        let first = b"\x1b[2mksh 1 \x1b[0m\x1b[1;31mbksh\x1b[0m\\x1b[0mb\n";
        assert_eq!(String::from_utf8_lossy(&screen.out), String::from_utf8_lossy(first));
        screen.flush().unwrap();
        assert!(screen.into_inner().ends_with(b"no \x1b[1;31mksh\x1b[0m"));
        let mut pipe = TerminalWriter::new(Vec::new(), false).with_hits(&pattern("k"));
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
