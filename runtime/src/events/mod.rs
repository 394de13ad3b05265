//! The built-in events of QNX: what they are called, and the programs that print them.
//!
//! The programs are compiled when this package is built, and checked when they are first used.

mod printer;

pub use printer::EventPrinter;

use crate::reader::kev::{KevRecord, classes};
use std::sync::OnceLock;
use tfbc_vm::{Hook, Limits, Program, Space, TextBuf, num};

/// Names of the classes by their number.
static CLASS_NAMES: &[(u8, &str)] = include!(concat!(env!("OUT_DIR"), "/class_names.rs"));

/// Every event and kernel call of the tables, a line each: event, label, IDE label, releases, and the arguments of simple
/// and of wide records.
pub static LISTING: &str = include_str!(concat!(env!("OUT_DIR"), "/events.txt"));

/// The name of a class, such as `USER`.
///
/// ```
/// assert_eq!(tfbc::events::class_name(6), Some("USER"));
/// ```
pub fn class_name(class: u8) -> Option<&'static str> {
    CLASS_NAMES.iter().find(|(number, _)| *number == class).map(|(_, name)| *name)
}

/// The class with a name.
pub fn class_number(name: &str) -> Option<u8> {
    CLASS_NAMES.iter().find(|(_, known)| *known == name).map(|(number, _)| *number)
}

/// Bytes at an address that blobs are used at without copying.
#[repr(C, align(16))]
struct Aligned<B: ?Sized>(B);

macro_rules! blobs {
    ($($name:ident = $file:literal),* $(,)?) => {
        $(static $name: Blob = Blob {
            bytes: &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/", $file))),
            opened: OnceLock::new(),
        };)*
    };
}

blobs! {
    COMPAT = "compat.tfbc",
    COMPAT_ONE_LINE = "compat_one_line.tfbc",
    COMPAT_HEADING = "compat_heading.tfbc",
    ARGUMENTS_6_4 = "arguments_6_4.tfbc",
    ARGUMENTS_7_1 = "arguments_7_1.tfbc",
    ARGUMENTS_8_0 = "arguments_8_0.tfbc",
}

/// One of the blobs, opened at its first use.
struct Blob {
    bytes: &'static Aligned<[u8]>,
    opened: OnceLock<Opened>,
}

/// A program with the number of the entry of each class and event; [`NONE`] where it has none.
#[derive(Debug)]
struct Opened {
    program: Program<'static>,
    numbers: Box<[u16; N_IDS]>,
    entries: Vec<Entry>,
}

/// An entry of a program.
#[derive(Debug)]
struct Entry {
    /// Its number in the program.
    index: u32,
    /// Its label, and how long that is.
    start: [u8; MAX_START],
    start_len: usize,
}

/// Classes and events together.
pub(crate) const N_IDS: usize = 32 << 10;
const NONE: u16 = u16::MAX;
/// Bytes of a label. A test of the compiler's keeps them.
const MAX_START: usize = TextBuf::SPARE - 20;

impl Entry {
    fn new(hook: &Hook<'_>) -> Self {
        let mut start = [0; MAX_START];
        let start_len = hook.label.len().min(MAX_START);
        start[..start_len].copy_from_slice(&hook.label[..start_len]);
        Entry { index: hook.index, start, start_len }
    }

    fn label(&self) -> Option<&str> {
        std::str::from_utf8(self.start.get(..self.start_len)?).ok()
    }

    #[inline]
    fn push_label(&self, out: &mut TextBuf) {
        out.spare()[..MAX_START].copy_from_slice(&self.start);
        out.advance(self.start_len);
    }
}

impl Opened {
    #[inline]
    fn entry(&self, class: u8, event: u16) -> Option<&Entry> {
        self.entries.get(self.number(class, event))
    }

    /// The number of an event's entry; that of none where it has none.
    #[inline(always)]
    fn number(&self, class: u8, event: u16) -> usize {
        let id = usize::from(Space::record_id(class, event));
        usize::from(self.numbers[id % N_IDS])
    }
}

impl Blob {
    #[expect(clippy::expect_used, reason = "the package's own blobs were written beside this code")]
    fn open(&'static self) -> &'static Opened {
        self.opened.get_or_init(|| {
            let program = Program::open(&self.bytes.0).expect("built-in blobs are sound");
            let mut numbers = Box::new([NONE; N_IDS]);
            let mut entries = Vec::new();
            for hook in program.entries(Space::Record) {
                numbers[usize::from(hook.id) % N_IDS] = entries.len() as u16;
                entries.push(Entry::new(&hook));
            }
            Opened { program, numbers, entries }
        })
    }
}

/// What is printed of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// What traceprinter 1.02 prints behind time and CPU, with the arguments of combines on lines of their own.
    Compat,
    /// The same on one line.
    CompatOneLine,
    /// Of that, class and event alone.
    CompatHeading,
    /// The arguments, each behind a blank.
    Arguments,
}

/// The events of the logs of one release and byte order.
///
/// ```
/// use tfbc::events::{Events, Part};
/// use tfbc::reader::kev::KevRecord;
/// let bytes = [1, 0, 0, 0, 2, 0, 0, 0];
/// let record = KevRecord {
///     number: 1, offset: 0, class: 4, event: 24, cpu: 0, wide: false, stamp: 0, msb: None, bytes: &bytes,
/// };
/// let events = Events::of(Some((6, 4)), false);
/// let mut out = tfbc_vm::TextBuf::new();
/// assert!(events.printer(Part::CompatOneLine, Default::default()).print(&record, &mut out));
/// assert_eq!(out.as_bytes(), b"THREAD  :THCREATE      pid:1 tid:2\n");
/// assert_eq!(events.label(4, 24), Some("THCREATE"));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Events {
    release: Release,
    big_endian: bool,
}

/// The releases with tables of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Release {
    Qnx6_4,
    Qnx7_1,
    Qnx8_0,
}

impl Events {
    /// The events of logs of a release (major, minor), and in a byte order.
    pub fn of(release: Option<(u32, u32)>, big_endian: bool) -> Self {
        let release = match release {
            Some((7, _)) => Release::Qnx7_1,
            Some((8.., _)) => Release::Qnx8_0,
            _ => Release::Qnx6_4,
        };
        Events { release, big_endian }
    }

    fn opened(&self, part: Part) -> &'static Opened {
        let blob = match (part, self.release) {
            (Part::Compat, _) => &COMPAT,
            (Part::CompatOneLine, _) => &COMPAT_ONE_LINE,
            (Part::CompatHeading, _) => &COMPAT_HEADING,
            (Part::Arguments, Release::Qnx6_4) => &ARGUMENTS_6_4,
            (Part::Arguments, Release::Qnx7_1) => &ARGUMENTS_7_1,
            (Part::Arguments, Release::Qnx8_0) => &ARGUMENTS_8_0,
        };
        blob.open()
    }

    /// What prints a part of records.
    pub fn printer(&self, part: Part, limits: Limits) -> EventPrinter {
        EventPrinter::new(part, self.opened(part), self.big_endian, limits)
    }

    /// The label of an event, such as `MSG_SENDV/11` or `THREADY`; `None` where the tables do not know it.
    pub fn label(&self, class: u8, event: u16) -> Option<&'static str> {
        self.entry(class, event).and_then(Entry::label)
    }

    /// What the tables know of an event.
    #[inline]
    fn entry(&self, class: u8, event: u16) -> Option<&'static Entry> {
        let known = Space::record_id(class, event) != 0;
        self.opened(Part::Arguments).entry(class, event).filter(|_| known)
    }

    /// The labels of a class, those of kernel calls without their numbers.
    pub fn labels(&self, class: u8) -> Vec<&'static str> {
        let labels = (0..1024).filter_map(|event| self.label(class, event));
        labels.map(|label| label.split_once('/').map_or(label, |(name, _)| name)).collect()
    }

    /// The events of a class with a label. A kernel call's may stand without its number and in front of one of
    /// `:enter`, `:exit` and `:int`; without those, all its records are meant.
    pub fn numbers(&self, class: u8, label: &str) -> Vec<u16> {
        let is_call = class == classes::KER_CALL;
        let (label, kind) = match label.rsplit_once(':') {
            Some((label, kind)) if is_call => (label, Some(kind)),
            _ => (label, None),
        };
        let kinds = |event: u16| ["enter", "exit", "int", ""][usize::from(event >> 7 & 3)];
        let named = |event: &u16| {
            let known = self.label(class, *event);
            known == Some(label)
                || (is_call && known.and_then(|known| known.split_once('/')).map(|(name, _)| name) == Some(label))
        };
        (0..1024).filter(named).filter(|event| kind.is_none_or(|kind| kind == kinds(*event))).collect()
    }

    /// Appends a record's label, or `EVENT n`; behind that of an interrupt, its number.
    pub fn type_text(&self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let class = record.meant_class();
        push_label(self.entry(class, record.event), record.event, out);
        if is_interrupt(class, record.event) {
            out.push(b" ");
            self.interrupt(record.event, record.bytes, out);
        }
    }

    /// Appends what stands for a record's class in traceprinter's default layout: `THREAD`, `KER_EXIT`, `USREVENT`.
    pub fn class_text(&self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let class = record.meant_class();
        let label = || self.label(class, record.event).unwrap_or_default();
        let text = match (class, record.event) {
            (classes::KER_CALL, event) => match event >> 7 & 3 {
                1 => "KER_EXIT",
                2 => "INT_CALL",
                _ => "KER_CALL",
            },
            (class, event) if is_interrupt(class, event) => label(),
            (classes::USER, _) => "USREVENT",
            (classes::PR_TH, event) => match (label(), event) {
                (label, _) if label.starts_with("VTH") => "VTHREAD",
                (label, _) if label.starts_with("TH") => "THREAD",
                (label, _) if label.starts_with("PROC") => "PROCESS",
                (_, 26..52) => "VTHREAD",
                (_, ..64) => "THREAD",
                _ => "PROCESS",
            },
            (class, _) => match class_name(class) {
                Some(name) => name,
                None => return out.dec(class.into()),
            },
        };
        out.push(text.as_bytes());
    }

    /// Appends what stands for a record's event in that layout: its label; `EVENT n` where the tables do not know it;
    /// of interrupts their number, of user events theirs.
    pub fn event_text(&self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let class = record.meant_class();
        match (class, record.event) {
            (classes::USER, event) => {
                out.push(b"EVENT:");
                out.dec(event.into());
            }
            (class, event) if is_interrupt(class, event) => self.interrupt(event, record.bytes, out),
            (class, event) => push_label(self.entry(class, event), event, out),
        }
    }

    /// `0x0000004d (77)`; nothing where the record is too short.
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

/// Whether an event's argument list begins with an interrupt's number, which stands in the event's place.
pub(crate) fn is_interrupt(class: u8, event: u16) -> bool {
    class == classes::INT && (1..=6).contains(&event)
}

/// A label, or the number of an event that has none.
#[inline]
fn push_label(entry: Option<&Entry>, event: u16, out: &mut TextBuf) {
    match entry {
        Some(entry) => entry.push_label(out),
        None => {
            out.push(b"EVENT ");
            out.dec(event.into());
        }
    }
}
