//! Reference logs of 1 to 4 KiB, damage to them, and the results of reading them.

use super::*;
use std::io::{self, Cursor};
use tfbc::aix::{AfterDamage, AixKind};
use tfbc::testing::qnx::{KevItem, KevLog, KevOptions};
use tfbc::{Notice, Tally, TraceKind};

/// An undamaged log.
#[derive(Debug, Clone)]
pub struct Reference {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    /// Size of header and tables in bytes; damage in them may affect every event.
    pub head: usize,
    /// Kind of a log without a header, or of one whose header the damage may destroy.
    pub kind: Option<AixKind>,
}

/// Typical events of a 64-bit kernel: most have words, some a text or a CPU.
pub fn events64(noise: &mut Noise, n: u64, first_ticks: u64) -> Vec<Vec<u8>> {
    let mut ticks = first_ticks;
    let mut events = Vec::new();
    for _ in 0..n {
        ticks += 1 + noise.below(5000);
        let tid = 0x1a2b + noise.below(4);
        let id = noise.pick(&[0x1010, 0x1040, 0x1060, 0x5000, 0x0100]);
        let words: Vec<u64> = (0..noise.below(6)).map(|_| 0xF100_0A00_0000_0000 | noise.below(1 << 20)).collect();
        events.push(match noise.below(8) {
            0 => generic_by64(id, 7, &b"/usr/bin/some_program"[..noise.below(21) as usize], tid, ticks),
            1 => words64(&[0x9000_0008_0000_0000 | u64::from(id) << 16, noise.below(100), tid, ticks, noise.below(4)]),
            2 => words64(&[0xA000_0004_0000_0000 | u64::from(id) << 16, 5 << 32, tid, ticks]),
            _ => plain64(id, noise.below(100) as u16, &words, tid, ticks),
        });
    }
    events
}

/// Typical events of a 32-bit kernel.
pub fn events32(noise: &mut Noise, n: u64, first_ticks: u32) -> Vec<Vec<u8>> {
    let mut ticks = first_ticks;
    let mut events = Vec::new();
    for _ in 0..n {
        ticks += 1 + noise.below(5000) as u32;
        let tid = 0x1a2b + noise.below(4) as u32;
        let id = noise.pick(&[0x101, 0x104, 0x106, 0x500, 0x010]);
        let words = (noise.below(1 << 20) as u32, 0x2ff2_0000 | noise.below(1 << 16) as u32);
        events.push(match noise.below(8) {
            0 => generic_by32(id, 7, &b"/usr/bin/some_program"[..noise.below(21) as usize], tid, ticks),
            1 => words32(&[id << 20 | 9 << 16 | 3, tid, ticks]),
            2 => words32(&[id << 20 | 0xE << 16, 1, 2, 3, words.0, words.1, tid, ticks]),
            3 => words32(&[0x00B8_000C, 0x8000_0008, id << 20, 0, words.0, tid, ticks]),
            _ => words32(&[id << 20 | 0xA << 16, words.0, tid, ticks]),
        });
    }
    events
}

/// One AIX trace per kind, with about `min_bytes` bytes of events.
pub fn references(min_bytes: usize) -> Vec<Reference> {
    let mut noise = Noise::new(11);
    let n = min_bytes as u64 / 24;
    let until = |events: Vec<Vec<u8>>, room: usize| {
        let mut kept = Vec::new();
        events
            .into_iter()
            .take_while(|event| {
                kept.push(event.len());
                kept.iter().sum::<usize>() <= room
            })
            .collect::<Vec<_>>()
    };
    let wide = until(events64(&mut noise, n, 1000), min_bytes);
    let narrow = until(events32(&mut noise, 2 * n, 1000), min_bytes);
    let log = |events: &[Vec<u8>], wide| LogBuilder {
        wide,
        current: 3,
        wraps: 0,
        ic: if wide { factors64(3, 2, 2) } else { factors32(3, 2, 2) },
        entries: events.chunks(events.len().div_ceil(3)).map(|chunk| chunk.concat()).collect(),
    };
    let (log32, log64) = (log(&narrow, false), log(&wide, true));
    vec![
        Reference {
            name: "stream32",
            bytes: [factors32(3, 2, 2), narrow.concat()].concat(),
            head: 0,
            kind: Some(AixKind::Stream32),
        },
        Reference {
            name: "stream64",
            bytes: [STREAM64.to_vec(), factors64(3, 2, 2), wide.concat()].concat(),
            head: 4,
            kind: Some(AixKind::Stream64),
        },
        Reference { name: "log32", head: log32.head_len(), bytes: log32.bytes(), kind: None },
        Reference { name: "log64", head: log64.head_len(), bytes: log64.bytes(), kind: None },
    ]
}

/// A QNX log of about `min_bytes` bytes: simple slots, interleaved combines, times and buffers.
pub fn reference_kev(big: bool, min_bytes: usize) -> Reference {
    let endian = if big { "BIG_ENDIAN" } else { "LITTLE_ENDIAN" };
    let mut bytes = format!(
        "TRACE_HEADER_BEGIN::TRACE_FILE_NAME::a.kevTRACE_VER_MAJOR::1TRACE_VER_MINOR::01TRACE_{endian}::TRUE\
         TRACE_CYCLES_PER_SEC::1000000000TRACE_CPU_NUM::4TRACE_SYS_RELEASE::6.4.1TRACE_HEADER_END::"
    )
    .into_bytes();
    let head = bytes.len();
    let mut noise = Noise::new(5);
    let mut stamp = 1000;
    let mut slot = |kind: u32, cpu: u32, class: u32, event: u32, stamp: u32, words: [u32; 2]| {
        for word in [kind << 30 | cpu << 24 | class << 10 | event, stamp, words[0], words[1]] {
            bytes.extend(if big { word.to_be_bytes() } else { word.to_le_bytes() });
        }
        bytes.len()
    };
    let mut n = 0;
    while n < min_bytes {
        stamp += 1 + noise.below(4000) as u32;
        let (cpu, words) = (noise.below(4) as u32, [noise.below(1 << 20) as u32, noise.below(1 << 12) as u32]);
        n = match noise.below(8) {
            0 => slot(0, cpu, 1, 1, stamp, [3, stamp]),
            1 => {
                let other = (cpu + 1) % 4;
                slot(1, cpu, 7, 0, stamp, words);
                slot(1, other, 4, 64, stamp, words);
                slot(2, cpu, 7, 0, stamp, words);
                slot(3, other, 4, 64, stamp, *&[0x6161_6161, 0]);
                slot(3, cpu, 7, 0, stamp, words)
            }
            2 => slot(0, cpu, 6, 3, stamp, words),
            3 => slot(0, cpu, 2, 11 + 128, stamp, words),
            _ => slot(0, cpu, 4, noise.below(20) as u32, stamp, words),
        };
    }
    Reference { name: if big { "big-endian kev" } else { "little-endian kev" }, bytes, head, kind: None }
}

/// Damage at an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    Cut(usize),
    Flip(usize, u8),
    Insert(usize, u8),
    Delete(usize),
    Overwrite(usize, usize, u8),
}

impl Damage {
    /// Offset of the first changed byte.
    pub fn at(self) -> usize {
        match self {
            Damage::Cut(at) | Damage::Flip(at, _) | Damage::Insert(at, _) | Damage::Delete(at) => at,
            Damage::Overwrite(at, ..) => at,
        }
    }

    /// Returns the damaged log.
    pub fn of(self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        match self {
            Damage::Cut(at) => bytes.truncate(at),
            Damage::Flip(at, bit) => bytes[at] ^= 1 << bit,
            Damage::Insert(at, byte) => bytes.insert(at, byte),
            Damage::Delete(at) => drop(bytes.remove(at)),
            Damage::Overwrite(at, n, byte) => bytes.iter_mut().skip(at).take(n).for_each(|old| *old = byte),
        }
        bytes
    }
}

/// An event with its byte range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    pub from: u64,
    pub to: u64,
    pub event: OwnedEvent,
}

/// Result of reading a damaged trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedRead {
    pub events: Vec<Placed>,
    pub notices: Vec<Notice>,
    pub tally: Tally,
}

/// Reads a trace to its end; `None` if it is refused.
pub fn outcome(input: Input, kind: Option<AixKind>, after_damage: AfterDamage) -> Option<DamagedRead> {
    outcome_with(input, &ReadOptions { format: kind.map(TraceKind::Aix), after_damage, ..ReadOptions::default() })
}

/// Like [`outcome`], with any options.
pub fn outcome_with(input: Input, options: &ReadOptions) -> Option<DamagedRead> {
    let mut trace = Trace::from_input("x", input, options).ok()?;
    let (mut events, mut notices) = (Vec::new(), Vec::new());
    while let Some(item) = trace.next().unwrap() {
        match item {
            AixItem::Event(event) => {
                let RawEvent { offset, id, bytes, tid, ticks, cpu, recorded, .. } = event;
                let event = OwnedEvent { offset, id, bytes: bytes.to_vec(), tid, ticks, cpu };
                events.push(Placed { from: offset, to: offset + recorded.len() as u64, event });
            }
            AixItem::Notice(notice) => notices.push(notice),
        }
    }
    assert!(trace.next().unwrap().is_none(), "a trace that has ended has ended");
    Some(DamagedRead { events, notices, tally: trace.tally() })
}

/// Checks that each of a trace's bytes is in one event, in a header, or in a notice about skipped bytes.
pub fn check_bytes(outcome: &DamagedRead, n_bytes: usize) {
    let DamagedRead { events, notices, tally } = outcome;
    tally.check().unwrap();
    assert_eq!(tally.read, n_bytes as u64, "all bytes are read: {notices:?}");
    let skipped = notices.iter().filter_map(|notice| notice.skipped);
    let mut ranges: Vec<(u64, u64)> = events.iter().map(|event| (event.from, event.to)).chain(skipped).collect();
    ranges.sort_unstable();
    assert!(ranges.is_sorted_by(|one, next| one.1 <= next.0), "no byte is read twice: {ranges:?}");
    assert!(ranges.iter().all(|(from, to)| from < to && *to <= tally.read));
    let n_named: u64 = ranges.iter().map(|(from, to)| to - from).sum();
    let n_places = notices.iter().filter(|notice| notice.message.starts_with("the header does not refer to")).count();
    if n_places == 0 || notices.iter().all(|notice| notice.skipped.is_some()) {
        assert_eq!(n_named, tally.events + tally.skipped, "what is skipped is named: {notices:?}");
    }
}

/// Reader that returns few bytes at a time, like a pipe.
pub struct ShortReader {
    bytes: Cursor<Vec<u8>>,
    max_read: usize,
}

impl ShortReader {
    pub fn new(bytes: Vec<u8>, max_read: usize) -> Self {
        ShortReader { bytes: Cursor::new(bytes), max_read }
    }
}

impl io::Read for ShortReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = into.len().min(self.max_read);
        self.bytes.read(&mut into[..n])
    }
}

/// Input that behaves like a pipe.
pub fn pipe(bytes: &[u8], piece: usize) -> Input {
    Input::Stream(Box::new(ShortReader::new(bytes.to_vec(), piece)))
}

/// A record of a QNX log: offset; class, event and CPU; time; payload.
pub type OwnedRecord = (u64, (u8, u16, u8), (Option<u32>, u32), Vec<u8>);

/// Reads a QNX log to its end: records, notices and byte counts. `None` if it is refused.
pub fn kev_outcome(input: Input, options: &KevOptions) -> Option<(Vec<OwnedRecord>, Vec<Notice>, Tally)> {
    let mut log = KevLog::from_input("x", input, options).ok()?;
    let (mut records, mut notices) = (Vec::new(), Vec::new());
    while let Some(item) = log.next().unwrap() {
        match item {
            KevItem::Record(record) => {
                let key = (record.class, record.event, record.cpu);
                records.push((record.offset, key, (record.msb, record.stamp), record.bytes.to_vec()));
            }
            KevItem::Slot(_) => {}
            KevItem::Notice(notice) => notices.push(notice),
        }
    }
    let tally = log.tally();
    tally.check().unwrap();
    let n_event_bytes: u64 = records.iter().map(|record| record.3.len() as u64 * 2).sum();
    assert_eq!(tally.events, n_event_bytes);
    Some((records, notices, tally))
}
