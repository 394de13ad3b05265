//! The programs that print built-in events, embedded as blobs.

use super::table::N_IDS;
use std::sync::OnceLock;
use tfbc_vm::{Hook, Program, Space, TextBuf};

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
pub(super) struct OpenedProgram {
    pub(super) program: Program<'static>,
    numbers: Box<[u16; N_IDS]>,
    pub(super) entries: Vec<BuiltInEntry>,
}

/// An entry of a program, with a copy of its label.
#[derive(Debug)]
pub(super) struct BuiltInEntry {
    /// Index of the entry in the program.
    pub(super) index: u32,
    /// Label, padded to a fixed size so that it is copied in one piece; `start_len` is its length.
    pub(super) start: [u8; MAX_START],
    pub(super) start_len: usize,
}

const NONE: u16 = u16::MAX;
/// Size of a label's buffer in bytes. A test of the compiler checks that all labels fit.
const MAX_START: usize = 140;

impl BuiltInEntry {
    fn new(hook: &Hook<'_>) -> Self {
        let mut start = [0; MAX_START];
        let start_len = hook.label.len().min(MAX_START);
        start[..start_len].copy_from_slice(&hook.label[..start_len]);
        BuiltInEntry { index: hook.index, start, start_len }
    }

    #[inline]
    pub(super) fn push_label(&self, out: &mut TextBuf) {
        out.spare()[..MAX_START].copy_from_slice(&self.start);
        out.advance(self.start_len);
    }
}

impl OpenedProgram {
    #[cfg(test)]
    pub(super) fn entry(&self, class: u8, event: u16) -> Option<&BuiltInEntry> {
        self.entries.get(self.number(class, event))
    }

    /// Index of an event's entry; out of range if it has none.
    #[inline(always)]
    pub(super) fn number(&self, class: u8, event: u16) -> usize {
        let id = usize::from(Space::record_id(class, event));
        usize::from(self.numbers[id % N_IDS])
    }
}

impl Blob {
    #[expect(clippy::expect_used, reason = "the package's own blobs were written with this code")]
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

impl LayoutPart {
    /// Program that prints this part.
    pub(super) fn opened(self) -> &'static OpenedProgram {
        let blob = match self {
            LayoutPart::Compat => &COMPAT,
            LayoutPart::CompatOneLine => &COMPAT_ONE_LINE,
            LayoutPart::CompatHeading => &COMPAT_HEADING,
        };
        blob.open()
    }
}
