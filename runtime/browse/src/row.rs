//! Rows of the list, and their form in a page of the spill file.

use std::borrow::Cow;
use tfbc::internal::terminal::visible;
use tfbc::{Event, EventId, Notice};

/// Limit on the text of a row, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// Row of the list: an event or a notice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    /// Kind.
    pub kind: RowKind,
    /// Position of the event in the input, from 0.
    pub seq: u64,
    /// Nanoseconds since the start of the trace.
    pub time_ns: Option<i64>,
    /// CPU, if it is known.
    pub cpu: Option<u64>,
    /// Process id, if it is known.
    pub pid: Option<u64>,
    /// Thread id, if it is known.
    pub tid: Option<u64>,
    /// Canonical hook id, or class and number of a QNX event.
    pub id: (u8, u16),
    /// Name of the process; empty if it is unknown.
    pub process: String,
    /// Label of the template; empty if there is none.
    pub label: String,
    /// Text of the event, or message of the notice.
    pub text: String,
    /// Reason why the text is incomplete; empty if it is complete.
    pub note: String,
    /// Bytes of the event.
    pub bytes: Vec<u8>,
}

/// Kind of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowKind {
    /// Event of an AIX trace.
    #[default]
    Hook,
    /// Event of a QNX log.
    Record,
    /// Notice that is no damage, such as a gap in the recording.
    Notice,
    /// Damaged place.
    Damage,
}

impl Row {
    /// Row of an event.
    pub fn of_event(event: &Event<'_>) -> Self {
        let (kind, id) = match event.event_id() {
            EventId::Hook(id) => (RowKind::Hook, (0, id)),
            EventId::Record(class, number) => (RowKind::Record, (class, number)),
        };
        let text = event.text();
        let text = match text.len() > MAX_TEXT {
            true => {
                let end = (0..=MAX_TEXT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
                Cow::Owned(format!("{} […]", &text[..end]))
            }
            false => text,
        };
        Self {
            kind,
            seq: event.seq(),
            time_ns: event.elapsed_ns(),
            cpu: event.cpu(),
            pid: event.pid(),
            tid: event.tid(),
            id,
            process: harmless(event.process().unwrap_or_default()),
            label: harmless(event.label()),
            text: harmless(text),
            note: event.note().unwrap_or_default().to_owned(),
            bytes: event.bytes().to_vec(),
        }
    }

    /// Row of a notice.
    pub fn of_notice(notice: &Notice) -> Self {
        let kind = if notice.damage { RowKind::Damage } else { RowKind::Notice };
        Self { kind, text: harmless(Cow::Borrowed(&notice.message)), ..Self::default() }
    }

    /// True for an event.
    pub fn is_event(&self) -> bool {
        matches!(self.kind, RowKind::Hook | RowKind::Record)
    }

    /// Id as reports print it; empty for a notice.
    pub fn id_name(&self) -> String {
        match self.kind {
            RowKind::Hook => EventId::Hook(self.id.1).name(),
            RowKind::Record => EventId::Record(self.id.0, self.id.1).name(),
            RowKind::Notice | RowKind::Damage => String::new(),
        }
    }

    /// Text on one line.
    pub fn line(&self) -> String {
        let note = if self.note.is_empty() { String::new() } else { format!(" [{}]", self.note) };
        format!("{}{note}", self.text.replace('\n', " ⏎ ").replace('\t', " "))
    }

    /// Time as seconds with nine decimals; empty if it is unknown.
    pub fn time(&self) -> String {
        self.time_ns.map_or(String::new(), seconds)
    }

    /// Appends the row to a page.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(match self.kind {
            RowKind::Hook => 0,
            RowKind::Record => 1,
            RowKind::Notice => 2,
            RowKind::Damage => 3,
        });
        out.extend(self.seq.to_le_bytes());
        for number in [self.time_ns.map(|ns| ns as u64), self.cpu, self.pid, self.tid] {
            out.push(number.is_some().into());
            out.extend(number.unwrap_or(0).to_le_bytes());
        }
        out.push(self.id.0);
        out.extend(self.id.1.to_le_bytes());
        for part in [&self.process, &self.label, &self.text, &self.note].map(String::as_bytes) {
            push_bytes(part, out);
        }
        push_bytes(&self.bytes, out);
    }

    /// Reads the row at the start of `bytes`, which continue after it. `None` if they are not a row.
    pub fn read(bytes: &mut &[u8]) -> Option<Self> {
        let kind = match take::<1>(bytes)?[0] {
            0 => RowKind::Hook,
            1 => RowKind::Record,
            2 => RowKind::Notice,
            _ => RowKind::Damage,
        };
        let seq = u64::from_le_bytes(take(bytes)?);
        let mut numbers = [None; 4];
        for number in &mut numbers {
            let is_known = take::<1>(bytes)? != [0];
            let value = u64::from_le_bytes(take(bytes)?);
            *number = is_known.then_some(value);
        }
        let [time, cpu, pid, tid] = numbers;
        let id = (take::<1>(bytes)?[0], u16::from_le_bytes(take(bytes)?));
        let mut texts = [const { String::new() }; 4];
        for text in &mut texts {
            *text = String::from_utf8_lossy(take_bytes(bytes)?).into_owned();
        }
        let [process, label, text, note] = texts;
        let bytes = take_bytes(bytes)?.to_vec();
        let time_ns = time.map(|ns| ns as i64);
        Some(Self { kind, seq, time_ns, cpu, pid, tid, id, process, label, text, note, bytes })
    }
}

/// Seconds with nine decimals.
pub fn seconds(ns: i64) -> String {
    let (sign, ns) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
    format!("{sign}{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// Bytes as a dump: lines of an offset and sixteen bytes.
pub fn dump(bytes: &[u8]) -> String {
    let lines = bytes.chunks(16).enumerate().map(|(at, line)| format!("{:04x}  {}\n", 16 * at, hex(line)));
    lines.collect()
}

/// Bytes in hex, in groups of four.
pub fn hex(bytes: &[u8]) -> String {
    let groups = bytes.chunks(4).map(|group| group.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    groups.collect::<Vec<_>>().join(" ")
}

/// Text that cannot control the terminal.
fn harmless(text: Cow<'_, str>) -> String {
    match visible(&text) {
        Cow::Borrowed(_) => text.into_owned(),
        Cow::Owned(shown) => shown,
    }
}

fn push_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend((bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

fn take_bytes<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = u32::from_le_bytes(take(bytes)?) as usize;
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let full = Row {
            kind: RowKind::Record,
            seq: 7,
            time_ns: Some(-5),
            cpu: Some(3),
            pid: Some(u64::MAX),
            tid: None,
            id: (6, 65),
            process: String::from("ksh"),
            label: String::from("LABEL"),
            text: String::from("a\nb"),
            note: String::from("truncated"),
            bytes: vec![1, 2, 3],
        };
        let rows = [full, Row { kind: RowKind::Damage, ..Row::default() }];
        let mut page = Vec::new();
        rows.iter().for_each(|row| row.write(&mut page));
        let mut rest = &page[..];
        assert_eq!([Row::read(&mut rest).unwrap(), Row::read(&mut rest).unwrap()], rows);
        assert_eq!(Row::read(&mut rest), None);
        assert_eq!((rows[0].line().as_str(), rows[0].time().as_str()), ("a ⏎ b [truncated]", "-0.000000005"));
        for length in 0..page.len() {
            let mut cut = &page[..length];
            while Row::read(&mut cut).is_some() {}
        }
    }
}
