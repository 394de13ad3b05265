//! Encodes AIX events: hook word, data, thread id and time stamp, in the layout of a 32-bit or 64-bit kernel.
//!
//! ```text
//! 32-bit trace   iiitdddd  words or data word + bytes, filled to 4   tid u32   [stamp u32]
//! 64-bit trace   ffffllllhhhhssss  words or data word + bytes, filled to 8   tid u64   [stamp u64]   [cpu u64]
//! ```
//!
//! All fields are big-endian. In a 64-bit trace, the hook of a 32-bit program has flag B and packed words. In a 32-bit
//! trace, the hook of a 64-bit program is stored inside a hook 00B.

use crate::record::{Data, EventContent, Record, Width};

/// Flags of a 64-bit hook word.
const STAMPED: u64 = 0x8000 << 48;
const GENERIC: u64 = 0x4000 << 48;
const NARROW: u64 = 0x2000 << 48;
const CPU: u64 = 0x1000 << 48;

/// Bit of a 32-bit hook word: a time stamp follows.
const STAMPED_32: u32 = 8 << 16;

/// Maximum number of data words.
const MAX_WORDS: usize = 5;
/// Maximum bytes of a generic hook.
pub(super) const MAX_BYTES: usize = 4096;
/// Size of the longest event: a generic hook with data word, thread id, time stamp and CPU id, or one inside a hook
/// 00B.
pub(super) const MAX_EVENT: usize = MAX_BYTES + 48;

/// Reason why an event cannot be encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncodeError {
    /// The record is not an AIX hook.
    NoHook,
    /// The id has four digits, but a 32-bit hook word or trace has room for three.
    Id(u16),
    /// More than five data words.
    Words(usize),
    /// More than 4096 bytes of variable data.
    Bytes(usize),
}

/// Encoder for one kind of trace.
///
/// ```
/// use tfbc_recorder::record::{Data, EventContent, Record, Width};
/// use tfbc_recorder::write::Encoder;
///
/// let data = Data::Words(&[10]);
/// let event = EventContent::Hook { width: Width::W32, stamped: true, id: 0x0100, subhook: 0, data };
/// let record = Record { ticks: 0x0f00_ba50, pid: 1, tid: 0x1a2b, cpu: 0, event };
/// let mut bytes = Vec::new();
/// Encoder { trace: Width::W32, cpu_ids: false }.encode(&record, record.ticks, &mut bytes)?;
/// assert_eq!(bytes, [1, 0x0A, 0, 0, 0, 0, 0, 10, 0, 0, 0x1a, 0x2b, 0x0f, 0, 0xba, 0x50]);
/// # Ok::<(), tfbc_recorder::write::EncodeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoder {
    /// Width of the kernel, and so of hook words, thread ids and time stamps.
    pub trace: Width,
    /// True if events of a 64-bit trace end with the CPU id (flag P).
    pub cpu_ids: bool,
}

/// A hook with the fields that the kernel adds.
#[derive(Debug, Clone, Copy)]
pub(super) struct EncodedHook<'h> {
    pub width: Width,
    pub id: u16,
    pub subhook: u16,
    pub data: Data<'h>,
    pub tid: u64,
    pub ticks: Option<u64>,
    pub cpu: Option<u16>,
}

impl Encoder {
    /// Appends an event with the time stamp `ticks`; a 32-bit trace stores the low half.
    ///
    /// # Errors
    /// The layout has no room for the event; nothing is appended.
    #[inline]
    pub fn encode(self, record: &Record<'_>, ticks: u64, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.put(&self.hook(record, ticks)?, out)
    }

    /// Fields to write for a record.
    #[inline]
    pub(super) fn hook<'r>(self, record: &Record<'r>, ticks: u64) -> Result<EncodedHook<'r>, EncodeError> {
        let EventContent::Hook { width, stamped, id, subhook, data } = record.event else {
            return Err(EncodeError::NoHook);
        };
        let hook = EncodedHook {
            width,
            id,
            subhook,
            data,
            tid: record.tid.into(),
            ticks: stamped.then_some(ticks),
            cpu: self.cpu_ids.then_some(record.cpu),
        };
        self.check(&hook)?;
        Ok(hook)
    }

    #[inline]
    pub(super) fn put(self, hook: &EncodedHook<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.check(hook)?;
        self.put_checked(hook, out);
        Ok(())
    }

    /// Appends a hook that [`check`](Self::check) has accepted.
    #[inline]
    pub(super) fn put_checked(self, hook: &EncodedHook<'_>, out: &mut Vec<u8>) {
        match (self.trace, hook.width) {
            (Width::W64, Width::W64) => put64(hook, out),
            (Width::W64, Width::W32) => put_narrow(hook, out),
            (Width::W32, Width::W32) => put32(hook, out),
            (Width::W32, Width::W64) => put_wrapped(hook, out),
        }
    }

    /// Checks everything that the layouts require, so that encoding cannot fail later.
    #[inline]
    pub(super) fn check(self, hook: &EncodedHook<'_>) -> Result<(), EncodeError> {
        // A 32-bit hook word has twelve bits for its id.
        let short_id = self.trace == Width::W32 || hook.width == Width::W32;
        match hook.data {
            _ if short_id && hook.id & 15 != 0 => Err(EncodeError::Id(hook.id)),
            Data::Words(words) if words.len() > MAX_WORDS => Err(EncodeError::Words(words.len())),
            Data::Generic { bytes, .. } if bytes.len() > MAX_BYTES => Err(EncodeError::Bytes(bytes.len())),
            _ => Ok(()),
        }
    }
}

/// 64-bit hook word: flags, bytes of data, id, subhook.
#[inline]
fn word64(hook: &EncodedHook<'_>, flags: u64, n_bytes: usize) -> u64 {
    let stamped = if hook.ticks.is_some() { STAMPED } else { 0 };
    flags | stamped | (n_bytes as u64) << 32 | u64::from(hook.id) << 16 | u64::from(hook.subhook)
}

#[inline]
fn cpu_flag(hook: &EncodedHook<'_>) -> u64 {
    if hook.cpu.is_some() { CPU } else { 0 }
}

#[inline]
fn put64(hook: &EncodedHook<'_>, out: &mut Vec<u8>) {
    match hook.data {
        Data::Words(words) => {
            let n = words.len().min(MAX_WORDS);
            // Copying a fixed size is faster than copying exactly the used part.
            let mut event = [[0; 8]; 1 + MAX_WORDS + 3];
            event[0] = word64(hook, cpu_flag(hook), 8 * n).to_be_bytes();
            for (at, word) in event[1..1 + MAX_WORDS].iter_mut().zip(words) {
                *at = word.to_be_bytes();
            }
            event[1 + n] = hook.tid.to_be_bytes();
            let mut len = 2 + n;
            for word in [hook.ticks, hook.cpu.map(u64::from)].into_iter().flatten() {
                event[len] = word.to_be_bytes();
                len += 1;
            }
            let start = out.len();
            out.extend_from_slice(event.as_flattened());
            out.truncate(start + 8 * len);
        }
        Data::Generic { word, bytes } => put_generic64(hook, cpu_flag(hook), word, bytes, out),
    }
}

/// Appends a generic event of a 64-bit trace. The data word takes 8 bytes for either program width.
fn put_generic64(hook: &EncodedHook<'_>, flags: u64, word: u64, bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&word64(hook, flags | GENERIC, bytes.len()).to_be_bytes());
    // A whole word for either width (`b-generic-word` in docs/readings.md).
    out.extend_from_slice(&word.to_be_bytes());
    put_filled(bytes, 8, out);
    put_added64(hook, out);
}

/// Appends thread id, time stamp and CPU id.
fn put_added64(hook: &EncodedHook<'_>, out: &mut Vec<u8>) {
    for word in [Some(hook.tid), hook.ticks, hook.cpu.map(u64::from)].into_iter().flatten() {
        out.extend_from_slice(&word.to_be_bytes());
    }
}

fn put_filled(bytes: &[u8], align: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(bytes);
    let fill = bytes.len().next_multiple_of(align) - bytes.len();
    out.extend_from_slice(&[0; 8][..fill]);
}

/// Appends the hook of a 32-bit program on a 64-bit kernel.
fn put_narrow(hook: &EncodedHook<'_>, out: &mut Vec<u8>) {
    let flags = NARROW | cpu_flag(hook);
    match hook.data {
        Data::Words(words) => {
            let n_bytes = 4 * n_recorded(words);
            out.extend_from_slice(&word64(hook, flags, n_bytes).to_be_bytes());
            put_filled(&words32(words)[..n_bytes], 8, out);
            put_added64(hook, out);
        }
        Data::Generic { word, bytes } => put_generic64(hook, flags, word & 0xFFFF_FFFF, bytes, out),
    }
}

/// Number of words recorded by the macros of a 32-bit program: none, one or five.
#[inline]
fn n_recorded(words: &[u64]) -> usize {
    if words.len() < 2 { words.len() } else { MAX_WORDS }
}

/// Low halves of up to five words, padded with zeros.
#[inline]
fn words32(words: &[u64]) -> [u8; 4 * MAX_WORDS] {
    let mut bytes = [0; 4 * MAX_WORDS];
    for (at, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *at = (*word as u32).to_be_bytes();
    }
    bytes
}

#[inline]
fn put32(hook: &EncodedHook<'_>, out: &mut Vec<u8>) {
    let id = u32::from(hook.id) << 16;
    match hook.data {
        Data::Words(words) => {
            let n = n_recorded(words);
            let mut event = [[0; 4]; 1 + MAX_WORDS + 2];
            event[0] = (id | stamped32(hook) | (1 + n as u32) << 16 | u32::from(hook.subhook)).to_be_bytes();
            for (at, word) in event[1..1 + MAX_WORDS].iter_mut().zip(words) {
                *at = (*word as u32).to_be_bytes();
            }
            event[1 + n] = (hook.tid as u32).to_be_bytes();
            event[2 + n] = (hook.ticks.unwrap_or(0) as u32).to_be_bytes();
            let start = out.len();
            out.extend_from_slice(event.as_flattened());
            out.truncate(start + 4 * (2 + n + usize::from(hook.ticks.is_some())));
        }
        Data::Generic { word, bytes } => {
            out.extend_from_slice(&(id | stamped32(hook) | bytes.len() as u32).to_be_bytes());
            out.extend_from_slice(&(word as u32).to_be_bytes());
            put_filled(bytes, 4, out);
            put_added32(hook, out);
        }
    }
}

#[inline]
fn stamped32(hook: &EncodedHook<'_>) -> u32 {
    if hook.ticks.is_some() { STAMPED_32 } else { 0 }
}

fn put_added32(hook: &EncodedHook<'_>, out: &mut Vec<u8>) {
    for word in [Some(hook.tid), hook.ticks].into_iter().flatten() {
        out.extend_from_slice(&(word as u32).to_be_bytes());
    }
}

/// Appends the hook of a 64-bit program on a 32-bit kernel: a generic hook 00B, whose data word is the high half of the
/// inner hook word.
fn put_wrapped(hook: &EncodedHook<'_>, out: &mut Vec<u8>) {
    const WRAPPER: u32 = 0x00B << 20;
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    match hook.data {
        Data::Words(words) => {
            out.extend_from_slice(&word64(hook, 0, 8 * words.len()).to_be_bytes());
            words.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
        }
        Data::Generic { word, bytes } => {
            out.extend_from_slice(&word64(hook, GENERIC, bytes.len()).to_be_bytes());
            out.extend_from_slice(&word.to_be_bytes());
            out.extend_from_slice(bytes);
        }
    }
    let len = out.len() - start - 8;
    out[start..start + 4].copy_from_slice(&(WRAPPER | stamped32(hook) | len as u32).to_be_bytes());
    let fill = len.next_multiple_of(4) - len;
    out.extend_from_slice(&[0; 4][..fill]);
    put_added32(hook, out);
}

/// Length of the event that begins with these 8 bytes; at least 8, so that a loop over events always advances.
pub(super) fn event_len(trace: Width, head: [u8; 8]) -> usize {
    let word = u64::from_be_bytes(head);
    match trace {
        Width::W64 => {
            let flag = |flag: u64, size: usize| if word & flag != 0 { size } else { 0 };
            let data = 8 + flag(GENERIC, 8) + (word >> 32 & 0xFFFF) as usize;
            data.next_multiple_of(8) + 8 + flag(STAMPED, 8) + flag(CPU, 8)
        }
        Width::W32 => {
            let word = (word >> 32) as u32;
            let data = match word >> 16 & 7 {
                0 => 8 + (word & 0xFFFF) as usize,
                n => 4 * n as usize,
            };
            data.next_multiple_of(4) + 4 + if word & STAMPED_32 != 0 { 4 } else { 0 }
        }
    }
}

/// 16-bit id of the event that begins with these bytes.
pub(super) fn event_id(trace: Width, head: [u8; 8]) -> u16 {
    match trace {
        Width::W64 => u16::from_be_bytes([head[4], head[5]]),
        Width::W32 => u16::from_be_bytes([head[0], head[1]]) & 0xFFF0,
    }
}

/// Time stamp of the event that begins with these bytes. `at` returns 8 bytes at an offset in the event.
pub(super) fn event_stamp(trace: Width, head: [u8; 8], at: impl Fn(usize) -> [u8; 8]) -> Option<u64> {
    let word = u64::from_be_bytes(head);
    let len = event_len(trace, head);
    match trace {
        Width::W64 if word & STAMPED != 0 => Some(u64::from_be_bytes(at(len - if word & CPU != 0 { 16 } else { 8 }))),
        Width::W32 if (word >> 32) as u32 & STAMPED_32 != 0 => Some(u64::from_be_bytes(at(len - 8)) & 0xFFFF_FFFF),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Width::{W32, W64};

    const TID: &str = "00001a2b";
    const STAMP: u64 = 0x0000_0123_0f00_ba50;

    fn words<'w>(width: Width, id: u16, subhook: u16, words: &'w [u64]) -> EncodedHook<'w> {
        EncodedHook { width, id, subhook, data: Data::Words(words), tid: 0x1a2b, ticks: Some(STAMP), cpu: None }
    }

    fn generic<'b>(width: Width, id: u16, subhook: u16, word: u64, bytes: &'b [u8]) -> EncodedHook<'b> {
        EncodedHook { data: Data::Generic { word, bytes }, ..words(width, id, subhook, &[]) }
    }

    /// Compares encoded bytes with hex, where `i` is the thread id and `t` the time stamp, and tests the functions that
    /// step over events.
    fn check(trace: Width, hook: &EncodedHook<'_>, expected: &str) {
        let (i, t) = match trace {
            W32 => (TID.to_owned(), "0f00ba50".to_owned()),
            W64 => (format!("00000000{TID}"), format!("{STAMP:016x}")),
        };
        let expected = expected.replace('i', &i).replace('t', &t).replace(' ', "");
        let mut bytes = vec![0xFF];
        Encoder { trace, cpu_ids: false }.put(hook, &mut bytes).unwrap();
        let event = &bytes[1..];
        assert_eq!(event.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), expected);
        let head = *event.first_chunk().unwrap();
        assert_eq!(event_len(trace, head), event.len());
        let stamp = hook.ticks.map(|ticks| if trace == W32 { ticks & 0xFFFF_FFFF } else { ticks });
        let at = |at: usize| *event[at..].first_chunk().unwrap();
        assert_eq!(event_stamp(trace, head, at), stamp);
        let id = if (trace, hook.width) == (W32, W64) { 0x00B0 } else { hook.id };
        assert_eq!(event_id(trace, head), id);
    }

    fn unstamped(hook: EncodedHook<'_>) -> EncodedHook<'_> {
        EncodedHook { ticks: None, ..hook }
    }

    #[test]
    fn a_32_bit_kernel_writes_its_programs_hooks() {
        check(W32, &words(W32, 0x0100, 0, &[10]), "010a0000 0000000a i t");
        check(W32, &words(W32, 0x0100, 0xABCD, &[]), "0109abcd i t");
        check(W32, &unstamped(words(W32, 0x0100, 0xABCD, &[])), "0101abcd i");
        let five = "00000001 00000002 00000003 00000004 00000005";
        check(W32, &words(W32, 0x5000, 5, &[1, 2, 3, 4, 5]), &format!("500e0005 {five} i t"));
        check(W32, &words(W32, 0x5000, 5, &[1, 2]), "500e0005 00000001 00000002 00000000 00000000 00000000 i t");
        check(W32, &generic(W32, 0x0100, 9, 1, b"hello\0"), "01080006 00000001 68656c6c6f00 0000 i t");
        check(W32, &unstamped(generic(W32, 0x0100, 9, 1, b"")), "01000000 00000001 i");
    }

    #[test]
    fn a_32_bit_kernel_wraps_64_bit_programs_hooks() {
        let five = (1..=5).map(|n| format!("{n:016x}")).collect::<String>();
        check(W32, &words(W64, 0x5000, 5, &[1, 2, 3, 4, 5]), &format!("00b8002c 80000028 50000005 {five} i t"));
        let hello = "00b00012 40000006 50000005 0000000000000001 68656c6c6f00 0000 i";
        check(W32, &unstamped(generic(W64, 0x5000, 5, 1, b"hello\0")), hello);
        check(W32, &words(W64, 0x5000, 5, &[]), "00b80004 80000000 50000005 i t");
    }

    #[test]
    fn a_64_bit_kernel_writes_its_programs_hooks() {
        let five = (1..=5).map(|n| format!("{n:016x}")).collect::<String>();
        check(W64, &words(W64, 0x5000, 5, &[1, 2, 3, 4, 5]), &format!("8000002850000005 {five} i t"));
        check(W64, &unstamped(words(W64, 0xF5F1, 5, &[])), "00000000f5f10005 i");
        let hello = "4000000650000005 0000000000000001 68656c6c6f00 0000 i";
        check(W64, &unstamped(generic(W64, 0x5000, 5, 1, b"hello\0")), hello);
        let factors = [1u64, 1, 2].map(u64::to_be_bytes).concat();
        let payload = [1, 1, 2].map(|n: u64| format!("{n:016x}")).concat();
        check(
            W64,
            &generic(W64, 0x00A0, 0, 0x25C, &factors),
            &format!("c000001800a00000 000000000000025c {payload} i t"),
        );
        check(W32, &generic(W32, 0x00A0, 0, 0x25C, &factors), &format!("00a80018 0000025c {payload} i t"));
    }

    #[test]
    fn a_64_bit_kernel_flags_32_bit_programs_hooks() {
        let five = "00000001 00000002 00000003 00000004 00000005 00000000";
        check(W64, &words(W32, 0x5000, 5, &[1, 2, 3, 4, 5]), &format!("a000001450000005 {five} i t"));
        check(W64, &words(W32, 0x5000, 5, &[1 << 32 | 7]), "a000000450000005 0000000700000000 i t");
        check(W64, &words(W32, 0x5000, 5, &[]), "a000000050000005 i t");
        let hello = "e000000650000005 0000000000000001 68656c6c6f00 0000 i t";
        check(W64, &generic(W32, 0x5000, 5, 7 << 32 | 1, b"hello\0"), hello);
    }

    #[test]
    fn cpu_is_the_last_word_of_64_bit_traces() {
        let record = |width, data| {
            let event = EventContent::Hook { width, stamped: true, id: 0x5000, subhook: 5, data };
            Record { ticks: 0, pid: 1, tid: 0x1a2b, cpu: 3, event }
        };
        for (width, data, flags, middle) in [
            (W64, Data::Words(&[]), "9000", ""),
            (W64, Data::Generic { word: 1, bytes: b"" }, "d000", "0000000000000001"),
            (W32, Data::Words(&[]), "b000", ""),
            (W32, Data::Generic { word: 1, bytes: b"" }, "f000", "0000000000000001"),
        ] {
            let mut bytes = Vec::new();
            Encoder { trace: W64, cpu_ids: true }.encode(&record(width, data), STAMP, &mut bytes).unwrap();
            let expected = format!("{flags}000050000005{middle}00000000{TID}{STAMP:016x}0000000000000003");
            assert_eq!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), expected);
            let head = *bytes.first_chunk().unwrap();
            assert_eq!(event_len(W64, head), bytes.len());
            assert_eq!(event_stamp(W64, head, |at| *bytes[at..].first_chunk().unwrap()), Some(STAMP));
        }
    }

    #[test]
    fn unsupported_events_are_refused_and_write_nothing() {
        let long = [0; MAX_BYTES + 1];
        for (trace, hook, refusal) in [
            (W32, words(W64, 0x5001, 0, &[]), EncodeError::Id(0x5001)),
            (W32, words(W32, 0x5001, 0, &[]), EncodeError::Id(0x5001)),
            (W64, words(W32, 0x5001, 0, &[]), EncodeError::Id(0x5001)),
            (W64, words(W64, 0x5000, 0, &[0; 6]), EncodeError::Words(6)),
            (W64, generic(W64, 0x5000, 0, 0, &long), EncodeError::Bytes(4097)),
        ] {
            let mut bytes = Vec::new();
            assert_eq!(Encoder { trace, cpu_ids: false }.put(&hook, &mut bytes), Err(refusal));
            assert!(bytes.is_empty());
        }
        let mut bytes = Vec::new();
        Encoder { trace: W64, cpu_ids: true }.put(&generic(W64, 0x5001, 0, 0, &long[1..]), &mut bytes).unwrap();
        assert!(bytes.len() <= MAX_EVENT, "{}", bytes.len());
    }
}
