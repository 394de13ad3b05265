//! Builders of traces, byte by byte, and helpers that read them.
#![allow(dead_code, clippy::allow_attributes, reason = "every test file uses a part of this")]

pub mod damage;

use tfbc::aix::ReadOptions;
use tfbc::testing::aix::{AixItem, RawEvent, Trace};
use tfbc::testing::input::Input;

/// An event in owned form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedEvent {
    pub offset: u64,
    pub id: u16,
    pub bytes: Vec<u8>,
    pub tid: u64,
    pub ticks: Option<u64>,
    pub cpu: Option<u64>,
}

/// Everything read from a trace, in owned form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceContents {
    pub events: Vec<OwnedEvent>,
    /// Messages about damage.
    pub damage: Vec<String>,
    /// Other messages.
    pub warnings: Vec<String>,
}

impl TraceContents {
    /// Last bytes of the events, which identify them in these tests.
    pub fn marks(&self) -> Vec<u8> {
        self.events.iter().map(|event| *event.bytes.last().unwrap()).collect()
    }
}

/// Reads a trace to its end and checks that every byte is accounted for.
pub fn drain(mut trace: Trace) -> TraceContents {
    let mut read = TraceContents::default();
    while let Some(item) = trace.next().unwrap() {
        match item {
            AixItem::Event(event) => {
                let RawEvent { offset, id, bytes, tid, ticks, cpu, .. } = event;
                read.events.push(OwnedEvent { offset, id, bytes: bytes.to_vec(), tid, ticks, cpu });
            }
            AixItem::Notice(notice) if notice.damage => read.damage.push(notice.message),
            AixItem::Notice(notice) => read.warnings.push(notice.message),
        }
    }
    let tally = trace.tally();
    assert_eq!(tally.read, tally.header + tally.events + tally.skipped);
    read
}

/// Reads bytes in memory.
pub fn read_with(bytes: &[u8], options: &ReadOptions) -> TraceContents {
    drain(Trace::from_input("test", Input::from_bytes(bytes.to_vec()), options).unwrap())
}

/// Reads bytes in memory, with default options.
pub fn read(bytes: &[u8]) -> TraceContents {
    read_with(bytes, &ReadOptions::default())
}

/// Joins words into bytes.
pub fn words32(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Joins words into bytes.
pub fn words64(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Stamped 32-bit event of hook 010 with one word.
pub fn event32(word: u32, ticks: u32) -> Vec<u8> {
    words32(&[0x010A_0000, word, 0x1a2b, ticks])
}

/// Stamped 64-bit event of hook 010 with one word.
pub fn event64(word: u64, ticks: u64) -> Vec<u8> {
    words64(&[0x8000_0008_0100_0000, word, 0x1a2b, ticks])
}

/// Time factors of a 32-bit trace.
pub fn factors32(multiplier: u64, divisor: u64, kind: u64) -> Vec<u8> {
    let mut bytes = words32(&[0x00A8_0018, 0x25C]);
    bytes.extend(words64(&[multiplier, divisor, kind]));
    bytes.extend(words32(&[1, 0]));
    bytes
}

/// Time factors of a 64-bit trace.
pub fn factors64(multiplier: u64, divisor: u64, kind: u64) -> Vec<u8> {
    words64(&[0xC000_0018_00A0_0000, 0x25C, multiplier, divisor, kind, 1, 0])
}

/// Builder of a log file.
#[derive(Debug, Clone, Default)]
pub struct LogBuilder {
    /// True for a 64-bit kernel.
    pub wide: bool,
    /// Next entry to write.
    pub current: u32,
    /// Number of wraps.
    pub wraps: u32,
    /// Content of the `ic` area.
    pub ic: Vec<u8>,
    /// Buffer contents by entry; empty for unused entries.
    pub entries: Vec<Vec<u8>>,
}

impl LogBuilder {
    /// Size of header and table in bytes.
    pub fn head_len(&self) -> usize {
        let (fixed, row) = if self.wide { (48, 16) } else { (36, 8) };
        fixed + row * self.entries.len()
    }

    /// Offset of a table entry.
    pub fn row(&self, slot: usize) -> usize {
        if self.wide { 48 + 16 * slot } else { 36 + 8 * slot }
    }

    /// The file: header, table, `ic` area, buffers.
    pub fn bytes(&self) -> Vec<u8> {
        let magic = if self.wide { 0xEFDF_1113 } else { 0xEFDF_1112 };
        let n = self.entries.len() as u32;
        let mut head = words32(&[magic, n, self.current, 0, self.wraps, 0xDEAD, 0xBEEF]);
        if self.wide {
            head.extend([0; 4]);
        }
        let mut body = Vec::new();
        let base = self.head_len();
        for area in std::iter::once(&self.ic).chain(&self.entries) {
            let (offset, size) = ((base + body.len()) as u64, area.len() as u64);
            let offset = if size == 0 { 0 } else { offset };
            head.extend(if self.wide { words64(&[offset, size]) } else { words32(&[offset as u32, size as u32]) });
            body.extend_from_slice(area);
        }
        head.extend(body);
        head
    }
}

/// Overwrites an entry of the table.
pub fn set_row(bytes: &mut [u8], log: &LogBuilder, slot: usize, offset: u64, size: u64) {
    let row = if log.wide { words64(&[offset, size]) } else { words32(&[offset as u32, size as u32]) };
    let at = log.row(slot);
    bytes[at..at + row.len()].copy_from_slice(&row);
}

/// Pseudo-random numbers, determined by a seed.
#[derive(Debug, Clone)]
pub struct Noise(u64);

impl Noise {
    /// Starts the sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D)
    }

    /// Returns a number from 0 to `n` - 1.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// Returns one of the given values.
    pub fn pick<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.below(things.len() as u64) as usize]
    }
}

/// First bytes of a 64-bit stream.
pub const STREAM64: [u8; 4] = [0xEF, 0xDF, 0x11, 0x14];

/// A stamped plain event of a 64-bit trace.
pub fn plain64(id: u16, subhook: u16, words: &[u64], tid: u64, ticks: u64) -> Vec<u8> {
    let head = 0x8000_0000_0000_0000 | (words.len() as u64 * 8) << 32 | u64::from(id) << 16 | u64::from(subhook);
    words64(&[&[head], words, &[tid, ticks]].concat())
}

/// A stamped generic event of a 64-bit trace.
pub fn generic_by64(id: u16, word: u64, bytes: &[u8], tid: u64, ticks: u64) -> Vec<u8> {
    let head = 0xC000_0000_0000_0000 | (bytes.len() as u64) << 32 | u64::from(id) << 16;
    let mut event = words64(&[head, word]);
    event.extend(bytes);
    event.resize(event.len().next_multiple_of(8), 0);
    event.extend(words64(&[tid, ticks]));
    event
}

/// A stamped generic event of a 32-bit trace; the id has three digits.
pub fn generic_by32(id: u32, word: u32, bytes: &[u8], tid: u32, ticks: u32) -> Vec<u8> {
    let mut event = words32(&[id << 20 | 8 << 16 | bytes.len() as u32, word]);
    event.extend(bytes);
    event.resize(event.len().next_multiple_of(4), 0);
    event.extend(words32(&[tid, ticks]));
    event
}

/// Payload of hook 00A, kinds 1 and 16: a process and its path.
pub fn process(pid: u64, tid: u64, path: &str) -> Vec<u8> {
    [&words64(&[pid, tid])[..], path.as_bytes(), &[0]].concat()
}
