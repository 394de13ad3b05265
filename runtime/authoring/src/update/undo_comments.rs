//! Comments of undo files: sums of the files before and after, and the place of every edit.

use std::fmt;

/// Length and checksum of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub len: usize,
    pub crc: u32,
}

impl Stamp {
    pub fn of(bytes: &[u8]) -> Self {
        Self { len: bytes.len(), crc: crc32fast::hash(bytes) }
    }

    fn parse(len: &str, crc: &str) -> Option<Self> {
        Some(Self { len: len.parse().ok()?, crc: u32::from_str_radix(crc, 16).ok()? })
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes {:08X}", self.len, self.crc)
    }
}

/// Stamps of the file before and after an undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamps {
    pub before: Stamp,
    pub after: Stamp,
}

impl Stamps {
    /// Parses the text of a comment.
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<_> = text.split_ascii_whitespace().collect();
        match words[..] {
            ["undo:", n, "bytes", crc, "->", n_after, "bytes", crc_after] => {
                Some(Self { before: Stamp::parse(n, crc)?, after: Stamp::parse(n_after, crc_after)? })
            }
            _ => None,
        }
    }
}

/// Position of an edit: a range of the current file, and the range of the restored file that replaces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UndoPlace {
    pub at: usize,
    pub len: usize,
    pub to: usize,
    pub len_after: usize,
    /// Line ends before the stanza.
    pub lead: &'static [u8],
}

/// Line ends that can precede a stanza, and their names in comments. Longer ones come first, so that the match is the
/// longest.
pub(super) const LEADS: [(&str, &[u8]); 5] =
    [("\\r\\n\\r\\n", b"\r\n\r\n"), ("\\r\\n", b"\r\n"), ("\\n\\n", b"\n\n"), ("\\n", b"\n"), ("", b"")];

impl UndoPlace {
    /// Parses the text of a comment.
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<_> = text.split_ascii_whitespace().collect();
        let (run, run_after, lead) = match words[..] {
            ["place:", run, "->", run_after] => (run, run_after, ""),
            ["place:", run, "->", run_after, lead] => (run, run_after, lead),
            _ => return None,
        };
        let numbers = |run: &str| {
            let (at, len) = run.split_once('+')?;
            Some((at.parse().ok()?, len.parse().ok()?))
        };
        let ((at, len), (to, len_after)) = (numbers(run)?, numbers(run_after)?);
        let (_, lead) = LEADS.into_iter().find(|(word, _)| *word == lead)?;
        Some(Self { at, len, to, len_after, lead })
    }
}

impl fmt::Display for UndoPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, len, to, len_after, lead } = self;
        write!(f, "{at}+{len} -> {to}+{len_after}")?;
        match LEADS.into_iter().find(|(_, bytes)| bytes == lead) {
            Some((word, _)) if !word.is_empty() => write!(f, " {word}"),
            _ => Ok(()),
        }
    }
}
