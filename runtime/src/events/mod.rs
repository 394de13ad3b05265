//! Built-in QNX events: their names, their arguments, and the programs that format them.
//!
//! The programs are compiled ahead into `built_in/`. Each is verified at its first use.

mod arguments;
mod columns;
mod flat;
mod printer;
#[cfg(test)]
pub(crate) mod samples;
pub mod spelling;
mod table;

pub use arguments::{Argument, ArgumentName, ArgumentPrinter, Arguments, Value, text_of_words};
pub(crate) use columns::{EventColumns, WORDS};
pub(crate) use flat::{ArgNotation as ArgumentForm, FlatArguments};
pub use printer::EventPrinter;

use crate::reader::kev::{KevRecord, classes};
use std::borrow::Cow;
use std::sync::OnceLock;
use table::{ArgLayout, Release, Row, Table};
use tfbc_vm::{Hook, Limits, Program, Space, TextBuf, num};

/// Class numbers and names.
static CLASS_NAMES: &[(u8, &str)] = include!("../../built_in/class_names.rs");

/// Listing of all events and kernel calls, one per line: event, label, IDE label, releases, and the arguments of simple
/// and wide records.
pub static LISTING: &str = include_str!("../../built_in/events.txt");

/// Returns the name of a class, such as `USER`.
///
/// ```
/// assert_eq!(tfbc::qnx::class_name(6), Some("USER"));
/// ```
pub fn class_name(class: u8) -> Option<&'static str> {
    CLASS_NAMES.iter().find(|(number, _)| *number == class).map(|(_, name)| *name)
}

/// Label of an event in a release of QNX (major, minor), such as `MSG_SENDV/11` or `THREADY`; `None` if the event is
/// unknown. Without a release, returns the label of 6.4.
pub fn label(release: Option<(u32, u32)>, class: u8, event: u16) -> Option<&'static str> {
    BuiltInEvents::of(release, false).label(class, event)
}

/// Class and number of an event as reports print them, such as `USER:65`. A class without a name is printed as a number.
pub fn display_id(class: u8, event: u16) -> String {
    match class_name(class) {
        Some(name) => format!("{name}:{event}"),
        None => format!("{class}:{event}"),
    }
}

/// Aligns embedded bytes, because a blob at an unaligned address would have to be copied.
#[repr(C, align(16))]
struct Aligned<B: ?Sized>(B);

macro_rules! blobs {
    ($($name:ident = $file:literal),* $(,)?) => {
        $(static $name: Blob = Blob {
            bytes: &Aligned(*include_bytes!(concat!("../../built_in/", $file))),
            opened: OnceLock::new(),
        };)*
    };
}

blobs! {
    COMPAT = "compat.tfbc",
    COMPAT_ONE_LINE = "compat_one_line.tfbc",
    COMPAT_HEADING = "compat_heading.tfbc",
}

/// An embedded blob, verified at its first use.
struct Blob {
    bytes: &'static Aligned<[u8]>,
    opened: OnceLock<OpenedProgram>,
}

/// A verified program with a lookup table from event to entry. [`NONE`] marks events without an entry.
#[derive(Debug)]
struct OpenedProgram {
    program: Program<'static>,
    numbers: Box<[u16; N_IDS]>,
    entries: Vec<BuiltInEntry>,
}

/// An entry of a program, with a copy of its label.
#[derive(Debug)]
struct BuiltInEntry {
    /// Index of the entry in the program.
    index: u32,
    /// Label, padded to a fixed size so that it is copied in one piece; `start_len` is its length.
    start: [u8; MAX_START],
    start_len: usize,
}

/// Number of event ids: 32 classes of 1024 events.
pub(crate) const N_IDS: usize = 32 << 10;
const NONE: u16 = u16::MAX;
/// Size of a label's buffer in bytes. A test of the compiler checks that all labels fit.
const MAX_START: usize = TextBuf::SPARE - 20;

impl BuiltInEntry {
    fn new(hook: &Hook<'_>) -> Self {
        let mut start = [0; MAX_START];
        let start_len = hook.label.len().min(MAX_START);
        start[..start_len].copy_from_slice(&hook.label[..start_len]);
        BuiltInEntry { index: hook.index, start, start_len }
    }

    #[inline]
    fn push_label(&self, out: &mut TextBuf) {
        out.spare()[..MAX_START].copy_from_slice(&self.start);
        out.advance(self.start_len);
    }
}

impl OpenedProgram {
    #[cfg(test)]
    fn entry(&self, class: u8, event: u16) -> Option<&BuiltInEntry> {
        self.entries.get(self.number(class, event))
    }

    /// Index of an event's entry; out of range if it has none.
    #[inline(always)]
    fn number(&self, class: u8, event: u16) -> usize {
        let id = usize::from(Space::record_id(class, event));
        usize::from(self.numbers[id % N_IDS])
    }
}

impl Blob {
    #[expect(clippy::expect_used, reason = "the package's own blobs were written beside this code")]
    fn open(&'static self) -> &'static OpenedProgram {
        self.opened.get_or_init(|| {
            let program = Program::open(&self.bytes.0).expect("built-in blobs are sound");
            let mut numbers = Box::new([NONE; N_IDS]);
            let mut entries = Vec::new();
            for hook in program.entries(Space::Record) {
                numbers[usize::from(hook.id) % N_IDS] = entries.len() as u16;
                entries.push(BuiltInEntry::new(&hook));
            }
            OpenedProgram { program, numbers, entries }
        })
    }
}

/// Part of an event's line in the layout of traceprinter 1.02.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LayoutPart {
    /// Text after time and CPU. The arguments of combine events are on lines of their own.
    Compat,
    /// Text after time and CPU, on one line.
    CompatOneLine,
    /// Class and event only.
    CompatHeading,
}

/// The built-in events of one QNX release, for logs of one byte order.
#[derive(Debug, Clone, Copy)]
pub struct BuiltInEvents {
    table: &'static Table,
    big_endian: bool,
}

impl BuiltInEvents {
    /// Events of a release (major, minor). Unknown releases use the table of 6.4.
    pub fn of(release: Option<(u32, u32)>, big_endian: bool) -> Self {
        let release = match release {
            Some((7, _)) => Release::Qnx7_1,
            Some((8.., _)) => Release::Qnx8_0,
            _ => Release::Qnx6_4,
        };
        BuiltInEvents { table: Table::of(release), big_endian }
    }

    fn opened(part: LayoutPart) -> &'static OpenedProgram {
        let blob = match part {
            LayoutPart::Compat => &COMPAT,
            LayoutPart::CompatOneLine => &COMPAT_ONE_LINE,
            LayoutPart::CompatHeading => &COMPAT_HEADING,
        };
        blob.open()
    }

    /// Creates a printer for one part of the line.
    pub fn printer(&self, part: LayoutPart, limits: Limits) -> EventPrinter {
        EventPrinter::new(Self::opened(part), self.big_endian, limits)
    }

    /// Creates a printer for the arguments in the default layout. `one_line` keeps them all on the event's line.
    pub fn argument_printer(&self, one_line: bool) -> ArgumentPrinter {
        ArgumentPrinter { events: *self, one_line }
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
    fn row(&self, class: u8, event: u16) -> Option<&'static Row> {
        self.table.row(class, event)
    }

    /// Labels of a class. Kernel calls appear without their numbers.
    pub fn labels(&self, class: u8) -> Vec<&'static str> {
        let labels = (0..1024).filter_map(|event| self.label(class, event));
        labels.map(|label| label.split_once('/').map_or(label, |(name, _)| name)).collect()
    }

    /// Appends the label of a record, or `EVENT n` if it is unknown. An interrupt's number follows its label.
    pub fn type_text(&self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let class = record.meant_class();
        push_label(self.row(class, record.event), record.event, out);
        if is_interrupt(class, record.event) {
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
    use super::*;
    use crate::reader::kev::KevRecord;
    use tfbc_vm::TextBuf;

    #[test]
    fn an_event_is_printed_by_its_row() {
        let bytes = [1, 0, 0, 0, 2, 0, 0, 0];
        let record = KevRecord {
            number: 1,
            offset: 0,
            class: 4,
            event: 24,
            cpu: 0,
            wide: false,
            stamp: 0,
            msb: None,
            bytes: &bytes,
        };
        let events = BuiltInEvents::of(Some((6, 4)), false);
        let mut out = TextBuf::new();
        assert!(events.printer(LayoutPart::CompatOneLine, Default::default()).print(&record, &mut out));
        assert_eq!(out.as_bytes(), b"THREAD  :THCREATE      pid:1 tid:2\n");
        assert_eq!(events.label(4, 24), Some("THCREATE"));
    }
}
