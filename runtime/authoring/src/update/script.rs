//! Parser for update files.
//!
//! ```text
//! * /etc/trcfmt          first line
//! + 010 1.1 "A" \        adds a stanza, or replaces the one with its id; continues as in format files
//!   X4
//! - 020                  deletes
//! # or *                 comment
//! ```

use super::undo_comments::{Stamps, UndoPlace};
use std::fmt;
use tfbc::EventId;
use tfbc_grammar::trcfmt::ast::HookId;
use tfbc_grammar::trcfmt::{LineKind, LogicalLine, begins_update, head, is_update, raw_lines};
use tfbc_grammar::{Source, Span};

/// Maximum bytes of a line that a message quotes.
const MAX_SHOWN: usize = 40;

/// A parsed update file.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Entries in order, without the invalid ones.
    pub entries: Vec<UpdateEntry>,
    /// Sizes and checksums in an undo file.
    pub undoes: Option<Stamps>,
}

/// One `+` or `-` entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UpdateEntry {
    /// Line number, from 1.
    pub line: u32,
    /// Change that the entry asks for.
    pub action: UpdateAction,
    /// Position from an undo file.
    pub place: Option<UndoPlace>,
    /// Offsets after `+ `, and of the end of the logical line.
    pub body: (usize, usize),
}

/// Change of one stanza.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UpdateAction {
    /// Adds or replaces a stanza.
    Put {
        /// Id of the stanza.
        id: HookId,
        /// Version, if it is readable.
        version: Option<(u32, u32)>,
        /// Span in the update file, from the id to the last byte before the line end.
        text: Span,
    },
    /// Deletes all stanzas with this id.
    Delete(HookId),
}

/// A problem in an update file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line number, from 1.
    pub line: u32,
    /// Kind of problem.
    pub fault: UpdateFault,
}

/// Kind of problem in an update file. The text does not include the line number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateFault {
    /// The first line is not `* /etc/trcfmt`.
    NoMagic {
        /// Actual first line.
        found: String,
    },
    /// Warning: another line is `* /etc/trcfmt`.
    RepeatedMagic,
    /// The line is neither an entry nor a comment.
    BadLine {
        /// Text of the line.
        found: String,
    },
    /// The entry has no valid id.
    BadId {
        /// Text found instead of an id.
        found: String,
    },
    /// The version of the stanza is not readable.
    BadVersion {
        /// Id of the stanza.
        id: HookId,
    },
    /// The stanza is older than the one it replaces.
    Older {
        /// Id of the stanza.
        id: HookId,
        /// Version and release in the update file.
        version: (u32, u32),
        /// Version and release in the format file.
        known: (u32, u32),
    },
    /// The stanza to delete does not exist.
    Missing {
        /// Id of the stanza.
        id: HookId,
    },
    /// Warning: a stanza replaces another one of the same update.
    Repeated {
        /// Id of the stanza.
        id: HookId,
        /// Line of the replaced stanza.
        first: u32,
    },
    /// Warning: a comment ends in `\`, so the next entry is part of it.
    Swallowed,
    /// Warning: the undo file was written for another version of the format file.
    Changed,
}

impl UpdateFault {
    /// True if the update continues despite the problem.
    pub fn is_warning(&self) -> bool {
        matches!(
            self,
            UpdateFault::RepeatedMagic | UpdateFault::Repeated { .. } | UpdateFault::Swallowed | UpdateFault::Changed
        )
    }
}

impl fmt::Display for UpdateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UpdateFault::NoMagic { found } => write!(f, "expected `* /etc/trcfmt` in the first line, found `{found}`"),
            UpdateFault::RepeatedMagic => f.write_str("`* /etc/trcfmt` is repeated here"),
            UpdateFault::BadLine { found } => write!(
                f,
                "expected `+ stanza`, `- id` or a comment, found `{found}` (a stanza continues only after a `\\` at the line end)"
            ),
            UpdateFault::BadId { found } => write!(f, "expected 3 or 4 hex digits of a hook id, found `{found}`"),
            UpdateFault::BadVersion { id } => {
                write!(f, "stanza {}: expected version and release such as `1.0` after the id", EventId::Hook(id.0).name())
            }
            UpdateFault::Older { id, version, known } => write!(
                f,
                "stanza {} has version {}.{}, older than {}.{} in the format file (-o replaces it anyway)",
                EventId::Hook(id.0).name(),
                version.0,
                version.1,
                known.0,
                known.1
            ),
            UpdateFault::Missing { id } => write!(f, "stanza {} is not in the format file", EventId::Hook(id.0).name()),
            UpdateFault::Repeated { id, first } => {
                write!(f, "stanza {} is repeated here: the one in line {first} is lost", EventId::Hook(id.0).name())
            }
            UpdateFault::Swallowed => f.write_str("the comment ends in `\\`, so the next line is a comment too"),
            UpdateFault::Changed => f.write_str(
                "the format file differs from the one that this undo file belongs to: deleted stanzas are put back at its end",
            ),
        }
    }
}

impl Script {
    /// Parses an update file and reports all problems. If the first line is wrong, only that is reported.
    pub fn parse(source: &Source) -> (Self, Vec<Problem>) {
        let mut parser = ScriptParser { source, script: Self::default(), problems: Vec::new(), place: None };
        let mut lines = raw_lines(source);
        let first = lines.next();
        if is_update(source) {
            lines.for_each(|line| parser.line(&line));
        } else {
            let found = first.map_or(String::new(), |line| excerpt(source.slice(line.span)));
            parser.problems.push(Problem { line: 1, fault: UpdateFault::NoMagic { found } });
        }
        (parser.script, parser.problems)
    }
}

struct ScriptParser<'s> {
    source: &'s Source,
    script: Script,
    problems: Vec<Problem>,
    /// Position for the next entry.
    place: Option<UndoPlace>,
}

impl ScriptParser<'_> {
    fn line(&mut self, line: &LogicalLine) {
        let text = self.source.slice(line.span);
        let indent = text.len() - text.trim_ascii_start().len();
        let text = &text[indent..];
        match text.first() {
            _ if line.kind == LineKind::Blank => {}
            Some(b'#') => self.comment(line, text),
            Some(b'*') if begins_update(text) => self.report(line, UpdateFault::RepeatedMagic),
            Some(b'*') => self.comment(line, text),
            Some(b'+') => self.put(line, line.span.start + indent as u32 + 1),
            Some(b'-') => self.delete(line, line.span.start + indent as u32 + 1),
            // A `#` comment may continue.
            _ if line.kind == LineKind::Comment => {}
            _ => self.report(line, UpdateFault::BadLine { found: excerpt(text) }),
        }
    }

    fn comment(&mut self, line: &LogicalLine, text: &[u8]) {
        let lines = text.split(|byte| *byte == b'\n').skip(1).map(<[u8]>::trim_ascii_start);
        if lines.into_iter().any(|line| matches!(line.first(), Some(b'+' | b'-'))) {
            self.report(line, UpdateFault::Swallowed);
        }
        let Some(text) = std::str::from_utf8(&text[1..]).ok() else { return };
        if let Some(place) = UndoPlace::parse(text) {
            self.place = Some(place);
        } else if let Some(stamps) = Stamps::parse(text) {
            self.script.undoes = Some(stamps);
        }
    }

    fn put(&mut self, line: &LogicalLine, at: u32) {
        let text = self.trimmed(at, line);
        let head = head(self.source, text);
        match head.id {
            Some(id) => self.enter(line, UpdateAction::Put { id, version: head.version, text }),
            None => self.report(line, UpdateFault::BadId { found: self.word(text) }),
        }
    }

    /// `- id`; a version after the id is ignored.
    fn delete(&mut self, line: &LogicalLine, at: u32) {
        let text = self.trimmed(at, line);
        let head = head(self.source, text);
        let n_words = self.source.slice(text).split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
        match head.id {
            Some(id) if n_words == 1 || (n_words == 2 && head.version.is_some()) => {
                self.enter(line, UpdateAction::Delete(id));
            }
            Some(_) => self.report(line, UpdateFault::BadLine { found: excerpt(self.source.slice(line.span)) }),
            None => self.report(line, UpdateFault::BadId { found: self.word(text) }),
        }
    }

    fn enter(&mut self, line: &LogicalLine, action: UpdateAction) {
        let body = (line.span.start as usize + 2, line.end as usize);
        let entry = UpdateEntry { line: self.line_of(line), action, place: self.place.take(), body };
        self.script.entries.push(entry);
    }

    /// Rest of a line from `at`, without leading blanks and without a `\` that continues nothing.
    fn trimmed(&self, at: u32, line: &LogicalLine) -> Span {
        let bytes = self.source.bytes();
        let n_blanks = bytes[at as usize..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let start = at + n_blanks as u32;
        Span::new(start, content_end(bytes, line).max(start))
    }

    fn word(&self, text: Span) -> String {
        let text = self.source.slice(text);
        excerpt(text.split(u8::is_ascii_whitespace).next().unwrap_or_default())
    }

    fn report(&mut self, line: &LogicalLine, fault: UpdateFault) {
        self.problems.push(Problem { line: self.line_of(line), fault });
    }

    fn line_of(&self, line: &LogicalLine) -> u32 {
        self.source.line_column(line.span.start).0
    }
}

/// End of a logical line's content, without continuations that only the end of the file follows.
pub(super) fn content_end(bytes: &[u8], line: &LogicalLine) -> u32 {
    let mut end = line.span.end;
    for join in line.joins.iter().rev() {
        let after = &bytes[join.end as usize..end as usize];
        if !matches!(after, b"\n" | b"\r\n") {
            break;
        }
        end = join.start;
    }
    end
}

/// First line of a text, shortened for a message.
fn excerpt(text: &[u8]) -> String {
    let line = text.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    let shown = String::from_utf8_lossy(&line[..line.len().min(MAX_SHOWN)]);
    let shown: String = shown.chars().map(|char| if char.is_control() { '.' } else { char }).collect();
    if line.len() > MAX_SHOWN { format!("{shown}…") } else { shown }
}
