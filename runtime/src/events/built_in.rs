//! Built-in events of a release.

use super::arguments::{self, ArgumentPrinter, Arguments};
use super::class::class_name;
use super::printer::EventPrinter;
use super::programs::LayoutPart;
use super::table::{ArgLayout, Release, Row, Table};
use crate::reader::kev::{KevRecord, QnxRelease, classes};
use std::borrow::Cow;
use tfbc_vm::{Limits, TextBuf, num};

/// Label of an event in a release of QNX, such as `MSG_SENDV/11` or `THREADY`; `None` if the event is
/// unknown. Without a release, returns the label of 6.4.
pub fn label(release: Option<QnxRelease>, class: u8, event: u16) -> Option<&'static str> {
    BuiltInEvents::of(release, false).label(class, event)
}

/// The built-in events of one QNX release, for logs of one byte order.
#[derive(Debug, Clone, Copy)]
pub struct BuiltInEvents {
    pub(super) table: &'static Table,
    pub(super) big_endian: bool,
}

impl BuiltInEvents {
    /// Events of a release. Unknown releases use the table of 6.4.
    pub fn of(release: Option<QnxRelease>, big_endian: bool) -> Self {
        let release = match release.map(|release| release.major) {
            Some(7) => Release::Qnx7_1,
            Some(8..) => Release::Qnx8_0,
            _ => Release::Qnx6_4,
        };
        BuiltInEvents { table: Table::of(release), big_endian }
    }

    /// Creates a printer for one part of the line.
    pub fn printer(&self, part: LayoutPart, limits: Limits) -> EventPrinter {
        EventPrinter::new(part.opened(), self.big_endian, limits)
    }

    /// Creates a printer for the arguments in the default layout. `one_line` keeps them all on the event's line.
    pub fn argument_printer(&self, one_line: bool) -> ArgumentPrinter {
        ArgumentPrinter { table: self.table, big_endian: self.big_endian, one_line }
    }

    /// Iterates over the arguments of a record.
    #[inline]
    pub fn arguments<'r>(&self, record: &KevRecord<'r>) -> Arguments<'r> {
        arguments::arguments(self.row(record.meant_class(), record.event), record, self.big_endian)
    }

    /// Label of an event, such as `MSG_SENDV/11` or `THREADY`; `None` if the event is unknown.
    pub fn label(&self, class: u8, event: u16) -> Option<&'static str> {
        self.row(class, event).map(|row| row.label)
    }

    /// Label that is unique among the records of a kernel call: `MSG_SENDV/11 exit`, `MSG_SENDV/11 enter64`.
    pub fn distinct_label(&self, class: u8, event: u16) -> Option<Cow<'static, str>> {
        let label = self.label(class, event)?;
        let kind = match (class, event >> 7) {
            (classes::KER_CALL, 1) => "exit",
            (classes::KER_CALL, 2) => "int",
            (classes::KER_CALL, 4) => "enter64",
            (classes::KER_CALL, 5) => "exit64",
            (classes::KER_CALL, 6) => "int64",
            _ => return Some(Cow::Borrowed(label)),
        };
        Some(Cow::Owned(format!("{label} {kind}")))
    }

    /// Table row of an event.
    #[inline]
    pub(super) fn row(&self, class: u8, event: u16) -> Option<&'static Row> {
        self.table.row(class, event)
    }

    /// Labels of a class. Kernel calls appear without their numbers.
    pub fn labels(&self, class: u8) -> Vec<&'static str> {
        let labels = (0..1024).filter_map(|event| self.label(class, event));
        labels.map(|label| label.split_once('/').map_or(label, |(name, _)| name)).collect()
    }

    /// Appends the label of a record, or `EVENT n` if it is unknown or too short. An interrupt's number follows its label.
    pub fn type_text(&self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let class = record.meant_class();
        let row = self.row(class, record.event).filter(|_| self.arguments(record).named);
        push_label(row, record.event, out);
        if row.is_some() && is_interrupt(class, record.event) {
            out.push(b" ");
            self.interrupt(record.event, record.bytes, out);
        }
    }

    /// Appends the class as in traceprinter's default layout: `THREAD`, `KER_EXIT`, `USREVENT`.
    pub fn class_text(&self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let class = record.meant_class();
        let text = match (self.row(class, record.event), class) {
            (Some(Row { form: ArgLayout::Interrupt, label, .. }), _) => label,
            (_, classes::USER) => "USREVENT",
            (Some(row), _) => row.class_text,
            (None, classes::KER_CALL) => {
                ["KER_CALL", "KER_EXIT", "INT_CALL", "KER_CALL"][usize::from(record.event >> 7 & 3)]
            }
            (None, classes::PR_TH) if record.event < 64 => "THREAD",
            (None, classes::PR_TH) => "PROCESS",
            (None, class) => match class_name(class) {
                Some(name) => name,
                None => return out.dec(class.into()),
            },
        };
        out.push(text.as_bytes());
    }

    /// Appends the event as in traceprinter's default layout: its label, or the number of an interrupt or user event.
    ///
    /// Unknown events and records that are too short appear as `EVENT n`.
    pub fn event_text(&self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let row = self.row(record.meant_class(), record.event).filter(|_| self.arguments(record).named);
        match row.map(|row| row.form) {
            Some(ArgLayout::User) => {
                out.push(b"EVENT:");
                out.dec(record.event.into());
            }
            Some(ArgLayout::Interrupt) => self.interrupt(record.event, record.bytes, out),
            _ => push_label(row, record.event, out),
        }
    }

    /// Appends an interrupt number, such as `0x0000004d (77)`. Appends nothing if the record is too short.
    fn interrupt(&self, event: u16, bytes: &[u8], out: &mut TextBuf) {
        let at = if matches!(event, 3 | 6) { 4 } else { 0 };
        let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()) else { return };
        let number = if self.big_endian { u32::from_be_bytes(*word) } else { u32::from_le_bytes(*word) };
        let mut text = *b"0x                                                              ";
        let end = num::hex_low(&mut text, 2, number.into(), 8);
        text[end..end + 2].copy_from_slice(b" (");
        let end = num::int(&mut text, end + 2, i64::from(number as i32) as u64);
        text[end] = b')';
        out.push(&text[..=end]);
    }
}

/// True if the event's arguments start with an interrupt number, which traceprinter prints instead of the event.
pub(crate) fn is_interrupt(class: u8, event: u16) -> bool {
    class == classes::INT && (1..=6).contains(&event)
}

/// Appends the label of an event, or `EVENT n` if it is unknown.
#[inline]
fn push_label(row: Option<&Row>, event: u16, out: &mut TextBuf) {
    match row {
        Some(row) => out.push(row.label.as_bytes()),
        None => {
            out.push(b"EVENT ");
            out.dec(event.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::thread_created;
    use super::*;

    #[test]
    fn an_event_is_printed_by_its_row() {
        let bytes = [1, 0, 0, 0, 2, 0, 0, 0];
        let events = BuiltInEvents::of(Some(QnxRelease { major: 6, minor: 4 }), false);
        let mut out = TextBuf::new();
        let mut printer = events.printer(LayoutPart::CompatOneLine, Default::default());
        assert!(printer.print(&thread_created(&bytes, false), &mut out));
        assert_eq!(out.as_bytes(), b"THREAD  :THCREATE      pid:1 tid:2\n");
        assert_eq!(events.label(4, 24), Some("THCREATE"));
    }
}
