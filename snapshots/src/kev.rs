//! Simple reference reader for QNX logs.

use std::collections::BTreeMap;

/// One record, assembled from its slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// Class in its header.
    pub class: u8,
    /// Event number.
    pub event: u16,
    /// The CPU.
    pub cpu: u8,
    /// True for a combine record.
    pub wide: bool,
    /// Low half of the clock.
    pub stamp: u32,
    /// High half at the first slot, or else at the last; `None` before the CPU's first TIME record.
    pub high: Option<u32>,
    /// Data of its slots.
    pub payload: Vec<u8>,
}

/// Key without its `TRACE_`, and its value.
pub type LogAttribute = (String, Vec<u8>);

/// A whole log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// Attributes of the header, without `TRACE_`.
    pub header: Vec<LogAttribute>,
    /// True if its numbers are big-endian.
    pub big_endian: bool,
    /// Records in the order of their last slots.
    pub records: Vec<LogRecord>,
    /// Combine records with missing parts: replaced by a second begin, or open at the end.
    pub incomplete: u64,
    /// Continuations and ends without a begin.
    pub stray: u64,
    /// Gaps in the sequence numbers of buffers.
    pub lost_buffers: u64,
}

impl Log {
    /// Value of a header attribute.
    pub fn attribute(&self, key: &str) -> Option<&[u8]> {
        self.header.iter().find(|(is, _)| is == key).map(|(_, value)| value.as_slice())
    }
}

/// Position of the first `needle`.
fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

/// Length of a `TRACE_KEY::` at the start of some bytes.
fn key_length(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.strip_prefix(b"TRACE_")?;
    let name = rest.iter().take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b'_');
    let name = name.count();
    (name > 0 && rest[name..].starts_with(b"::")).then_some(name + 8)
}

/// Reads the header, and returns the bytes after it.
fn header(file: &[u8]) -> Result<(Vec<LogAttribute>, &[u8]), &'static str> {
    let head = &file[..file.len().min(64 << 10)];
    const BEGIN: &[u8] = b"TRACE_HEADER_BEGIN::";
    let mut rest = &file[find(head, BEGIN).ok_or("no header")? + BEGIN.len()..];
    let mut attributes = Vec::new();
    loop {
        let length = key_length(rest).ok_or("no key")?;
        let key = String::from_utf8_lossy(&rest[6..length - 2]).into_owned();
        rest = &rest[length..];
        if key == "HEADER_END" {
            return Ok((attributes, rest));
        }
        let end = (0..rest.len()).find(|at| key_length(&rest[*at..]).is_some()).ok_or("a cut header")?;
        attributes.push((key, rest[..end].to_vec()));
        rest = &rest[end..];
    }
}

fn half(bytes: &[u8], at: usize, big_endian: bool) -> u16 {
    let pair = [bytes[at], bytes[at + 1]];
    if big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
}

fn word(bytes: &[u8], at: usize, big_endian: bool) -> u32 {
    let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    if big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
}

/// True if all CPUs share one clock: flag 8 of qtime.
fn one_clock(syspage: &[u8], big_endian: bool) -> bool {
    if syspage.len() < 36 {
        return false;
    }
    let is_versioned = half(syspage, 4, big_endian) & 0x1000 != 0;
    if is_versioned && half(syspage, 12, big_endian) != 2 {
        return false;
    }
    let (entry, flags) = if is_versioned { (20, 48) } else { (32, 60) };
    let at = usize::from(half(syspage, entry, big_endian)) + flags;
    at > flags && at + 4 <= syspage.len() && word(syspage, at, big_endian) & 8 != 0
}

/// Reads a log.
///
/// # Errors
/// The reason why the header is invalid.
pub fn read(file: &[u8]) -> Result<Log, &'static str> {
    let (attributes, rest) = header(file)?;
    let mut log = Log { header: attributes, ..Log::default() };
    let length = log.attribute("SYSPAGE_LEN").and_then(|value| std::str::from_utf8(value).ok());
    let length: usize = length.and_then(|value| value.trim().parse().ok()).unwrap_or(0);
    let syspage = rest.get(..length).ok_or("a cut syspage")?;
    let keys = ["LITTLE_ENDIAN", "BIG_ENDIAN"].map(|key| log.attribute(key).is_some());
    let fits = |big_endian: bool| {
        let size = |at| usize::from(half(syspage, at, big_endian));
        syspage.len() >= 4 && 0 < size(0) && size(0) <= size(2) && size(2) <= syspage.len()
    };
    log.big_endian = match keys {
        [true, false] => false,
        [false, true] => true,
        [false, false] => return Err("no byte order"),
        [true, true] => match [fits(false), fits(true)] {
            [true, false] => false,
            [false, true] => true,
            _ => return Err("both byte orders"),
        },
    };
    let one_clock = one_clock(syspage, log.big_endian);
    slots(&mut log, &rest[length..], one_clock);
    Ok(log)
}

/// Open combine records by CPU, class, event and stamp.
type OpenCombines = BTreeMap<(u8, u8, u16, u32), (Option<u32>, Vec<u8>)>;

fn slots(log: &mut Log, bytes: &[u8], one_clock: bool) {
    let mut open = OpenCombines::new();
    let mut high = BTreeMap::new();
    let mut last_buffer = None;
    for slot in bytes.chunks_exact(16) {
        let word = |at| word(slot, at, log.big_endian);
        let head = word(0);
        let (event, class, cpu) = ((head & 0x3ff) as u16, (head >> 10 & 0x1f) as u8, (head >> 24 & 0x3f) as u8);
        let key = (cpu, class, event, word(4));
        let clock = if one_clock { 0 } else { cpu };
        let wide = head >> 30 != 0;
        let at_begin = high.get(&clock).copied();
        let (of_begin, payload) = match head >> 30 {
            0 => (None, slot[8..].to_vec()),
            1 => {
                log.incomplete += u64::from(open.insert(key, (at_begin, slot[8..].to_vec())).is_some());
                continue;
            }
            end => {
                let Some((_, payload)) = open.get_mut(&key) else {
                    log.stray += 1;
                    continue;
                };
                payload.extend(&slot[8..]);
                if end == 2 {
                    continue;
                }
                open.remove(&key).unwrap_or_default()
            }
        };
        if (class, event, wide) == (1, 1, false) {
            high.insert(clock, word(8));
        }
        if (class, event, wide) == (1, 2, false) {
            let number = word(8) & 0x7ff;
            if let Some(last) = last_buffer.replace(number) {
                log.lost_buffers += u64::from((number + 2 * 2048 - last - 1) % 2048);
            }
        }
        let high = of_begin.or_else(|| high.get(&clock).copied());
        log.records.push(LogRecord { class, event, cpu, wide, stamp: word(4), high, payload });
    }
    log.incomplete += open.len() as u64;
}
