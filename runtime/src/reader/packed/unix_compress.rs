//! The `.Z` format of compress(1): LZW with codes of 9 to 16 bits.
//!
//! ```text
//! 1F 9D  flags        flags: low 5 bits = largest width of a code, 80h = block mode
//! codes               least significant bit first, from 9 bits on, in groups of eight codes
//! ```
//!
//! Codes below 256 are bytes. In block mode, code 256 is CLEAR and empties the table. Each code adds an entry to the
//! table, except the first one and the first after a CLEAR: the text of the previous code plus the first byte of its
//! own text. After a CLEAR, or when codes become wider, the rest of a group of eight codes is unused. The format has
//! neither an end mark nor a checksum, so the only detectable damage is an impossible code.

use std::io::{self, BufReader, Read};

/// First bytes of a compressed file.
pub const MAGIC: [u8; 2] = [0x1F, 0x9D];

/// Width of the first codes in bits.
const MIN_WIDTH: u32 = 9;
/// Largest width of a code in bits.
const MAX_WIDTH: u32 = 16;
/// Code that empties the table in block mode.
const CLEAR: u16 = 256;
/// Flag of block mode.
const BLOCK_MODE: u8 = 0x80;
/// Undefined flags.
const RESERVED: u8 = 0x60;

/// Largest code width in the header of a compressed file; `None` if the bytes are not such a header.
pub fn max_width(bytes: &[u8]) -> Option<u32> {
    match bytes {
        [first, second, flags, ..] if [*first, *second] == MAGIC => Some(u32::from(flags & !BLOCK_MODE & !RESERVED)),
        _ => None,
    }
}

/// Streaming decoder that needs 1 MiB of memory.
///
/// All bytes before a damaged place are decoded first. Every later read returns the error, whose text contains the
/// offset in the compressed file.
///
/// ```
/// use std::io::Read;
/// let packed = tfbc::testing::unix_compress::compress(b"TRACE ON, TRACE OFF");
/// let mut text = Vec::new();
/// tfbc::testing::unix_compress::Reader::new(&packed[..]).read_to_end(&mut text)?;
/// assert_eq!(text, b"TRACE ON, TRACE OFF");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Reader<R: Read> {
    codes: Codes<R>,
    /// Created after the header has been read.
    table: Option<CodeTable>,
    /// Text of the last code if it did not fit into the caller's buffer. The bytes before `at` have been returned.
    text: Vec<u8>,
    at: usize,
    /// Set at the end of the input, to the error if there was one.
    end: Option<Option<(io::ErrorKind, String)>>,
}

impl<R: Read> Reader<R> {
    /// Creates a decoder. The header is read at the first call of `read`.
    pub fn new(inner: R) -> Self {
        let codes = Codes { inner: BufReader::new(inner), group: [0; GROUP_BYTES], n_bits: 0, at_bit: 0, offset: 0 };
        Self { codes, table: None, text: Vec::new(), at: 0, end: None }
    }

    /// Decodes the next code into `out`, or into `self.text` if `out` may be too short, and returns the number of bytes
    /// in `out`; `None` at the end.
    fn next_text(&mut self, out: &mut [u8]) -> io::Result<Option<usize>> {
        let table = match &mut self.table {
            Some(table) => table,
            None => self.table.insert(CodeTable::new(self.codes.header()?)),
        };
        loop {
            // compress(1) writes codes in groups of eight and pads the group when the width changes.
            if table.next >= table.widen_at {
                table.widen();
                self.codes.drop_group();
            }
            let Some(code) = self.codes.next(table.width)? else { return Ok(None) };
            if code == CLEAR && table.block_mode {
                table.clear();
                self.codes.drop_group();
                continue;
            }
            if !table.add_entry(code) {
                let text = format!(
                    "damaged .Z data at offset 0x{:x}: found code {code}, expected at most {}",
                    self.codes.offset_before(table.width),
                    table.greatest()
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            let len = table.len(code);
            if len + TAIL <= out.len() {
                table.expand(code, out);
                return Ok(Some(len));
            }
            self.text.resize(len + TAIL, 0);
            table.expand(code, &mut self.text);
            self.text.truncate(len);
            self.at = 0;
            return Ok(Some(0));
        }
    }
}

impl<R: Read> Read for Reader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut n = 0;
        while n < out.len() {
            let left = &self.text[self.at..];
            let n_copied = left.len().min(out.len() - n);
            out[n..n + n_copied].copy_from_slice(&left[..n_copied]);
            self.at += n_copied;
            n += n_copied;
            if self.at < self.text.len() || self.end.is_some() {
                break;
            }
            match self.next_text(&mut out[n..]) {
                Ok(Some(len)) => n += len,
                Ok(None) => self.end = Some(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.end = Some(Some((error.kind(), error.to_string()))),
            }
        }
        match &self.end {
            Some(Some((kind, text))) if n == 0 && !out.is_empty() => Err(io::Error::new(*kind, text.clone())),
            _ => Ok(n),
        }
    }
}

/// Size of the widest group, and three bytes more, so that four bytes can be read from any place of it.
const GROUP_BYTES: usize = MAX_WIDTH as usize + 3;

/// Reader of codes, one group at a time.
#[derive(Debug)]
struct Codes<R> {
    inner: BufReader<R>,
    /// Current group of eight codes. The last group of a file may be shorter.
    group: [u8; GROUP_BYTES],
    n_bits: u32,
    at_bit: u32,
    /// Offset in the file after the group.
    offset: u64,
}

impl<R: Read> Codes<R> {
    /// Reads the header and returns its flags.
    fn header(&mut self) -> io::Result<u8> {
        let n = self.fill(3)?;
        let refused = |text: String| Err(io::Error::new(io::ErrorKind::InvalidData, text));
        match self.group {
            [first, second, flags, ..] if n == 3 && [first, second] == MAGIC => {
                let width = u32::from(flags & !BLOCK_MODE & !RESERVED);
                if flags & RESERVED != 0 || !(MIN_WIDTH..=MAX_WIDTH).contains(&width) {
                    return refused(format!(
                        "damaged .Z data at offset 0x2: found flags {flags:02X}, expected codes of 9 to 16 bits"
                    ));
                }
                Ok(flags)
            }
            [first, second, ..] if n == 3 || (n == 2 && [first, second] != MAGIC) => {
                refused(format!("not .Z data: found first bytes {first:02X} {second:02X}, expected 1F 9D"))
            }
            _ => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!(".Z data cut short: found {n} bytes, expected a header of 3"),
            )),
        }
    }

    /// Skips the rest of the group.
    fn drop_group(&mut self) {
        self.at_bit = self.n_bits;
    }

    /// Offset of the last code, which had `width` bits, in the file.
    fn offset_before(&self, width: u32) -> u64 {
        self.offset - u64::from(self.n_bits / 8 - (self.at_bit - width) / 8)
    }

    /// Reads the next code of `width` bits; `None` at the end.
    fn next(&mut self, width: u32) -> io::Result<Option<u16>> {
        if self.at_bit >= self.n_bits {
            self.n_bits = 8 * self.fill(width as usize)? as u32;
            self.at_bit = 0;
        }
        let left = self.n_bits - self.at_bit;
        if left < width {
            self.at_bit = self.n_bits;
            // The last code is padded to a whole byte, so fewer than eight bits are no code.
            return if left < 8 {
                Ok(None)
            } else {
                let text = format!(".Z data cut short at offset 0x{:x}, inside a code of {width} bits", self.offset);
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, text))
            };
        }
        let byte = (self.at_bit / 8) as usize;
        let window = self.group[byte..].first_chunk().copied().map_or(0, u32::from_le_bytes);
        let code = window >> (self.at_bit % 8) & ((1 << width) - 1);
        self.at_bit += width;
        Ok(Some(code as u16))
    }

    /// Reads up to `n` bytes into the group and returns their number.
    fn fill(&mut self, n: usize) -> io::Result<usize> {
        let mut at = 0;
        while at < n {
            match self.inner.read(&mut self.group[at..n]) {
                Ok(0) => break,
                Ok(more) => at += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.offset += at as u64;
        Ok(at)
    }
}

/// Number of bytes at the end of a text that an entry contains.
const TAIL: usize = 8;

/// Text of a code: its last one to eight bytes, and the code for the bytes before them. Texts rarely have more than
/// eight bytes, so most are one copy.
#[derive(Debug, Clone, Copy)]
struct Entry {
    tail: [u8; TAIL],
    /// Length of the text.
    len: u32,
    /// Code for the text before the tail, if there is any. That text fills its own tail.
    before: u16,
    tail_len: u8,
    /// First byte of the text.
    first: u8,
}

impl Entry {
    /// Text of a code below 256.
    fn of_byte(byte: u8) -> Self {
        Self { tail: [byte, 0, 0, 0, 0, 0, 0, 0], len: 1, before: 0, tail_len: 1, first: byte }
    }

    /// Text of this entry, which has the given code, and one byte more.
    fn and(mut self, code: u16, byte: u8) -> Self {
        self.len += 1;
        if usize::from(self.tail_len) == TAIL {
            (self.before, self.tail_len) = (code, 0);
        }
        self.tail[usize::from(self.tail_len)] = byte;
        self.tail_len += 1;
        self
    }
}

/// Meaning of the codes.
#[derive(Debug)]
struct CodeTable {
    /// Entry per code.
    entries: Vec<Entry>,
    block_mode: bool,
    /// Largest number of entries.
    max_entries: u32,
    max_width: u32,
    /// Width of the next code.
    width: u32,
    /// Code of the next entry.
    next: u32,
    /// Value of `next` from which codes are one bit wider.
    widen_at: u32,
    /// Previous code.
    last: Option<u16>,
}

impl CodeTable {
    fn new(flags: u8) -> Self {
        let width = u32::from(flags & !BLOCK_MODE);
        let max_entries = 1 << width;
        let mut entries = vec![Entry::of_byte(0); max_entries as usize];
        for byte in 0..=u8::MAX {
            entries[usize::from(byte)] = Entry::of_byte(byte);
        }
        let mut table = Self {
            entries,
            block_mode: flags & BLOCK_MODE != 0,
            max_entries,
            // compress(1) continues to 10 bits even if 9 are requested.
            max_width: width.max(MIN_WIDTH + 1),
            width: MIN_WIDTH,
            next: 0,
            widen_at: 0,
            last: None,
        };
        table.clear();
        table
    }

    fn clear(&mut self) {
        self.width = MIN_WIDTH;
        self.widen_at = 1 << MIN_WIDTH;
        self.next = if self.block_mode { u32::from(CLEAR) + 1 } else { u32::from(CLEAR) };
        self.last = None;
    }

    fn widen(&mut self) {
        self.width += 1;
        self.widen_at = if self.width == self.max_width { u32::MAX } else { 1 << self.width };
    }

    /// Largest possible next code.
    fn greatest(&self) -> u32 {
        match self.last {
            None => 255,
            Some(_) => self.next.min(self.max_entries - 1),
        }
    }

    /// Adds the entry that a code completes: the text of the code before it and the first byte of its own text. Returns
    /// false if the code is impossible.
    fn add_entry(&mut self, code: u16) -> bool {
        if u32::from(code) > self.greatest() {
            return false;
        }
        if let Some(last) = self.last
            && self.next < self.max_entries
        {
            let before = self.entries[usize::from(last)];
            // A code may refer to the entry that it completes. Both texts then begin with the same byte.
            let first = if u32::from(code) == self.next { before.first } else { self.entries[usize::from(code)].first };
            self.entries[self.next as usize] = before.and(last, first);
            self.next += 1;
        }
        self.last = Some(code);
        true
    }

    /// Length of a code's text.
    fn len(&self, code: u16) -> usize {
        self.entries[usize::from(code)].len as usize
    }

    /// Writes the text of a code to the start of `out`, which has [`TAIL`] bytes more than that; these are overwritten.
    fn expand(&self, code: u16, out: &mut [u8]) {
        let mut entry = self.entries[usize::from(code)];
        loop {
            let at = entry.len as usize - usize::from(entry.tail_len);
            out[at..at + TAIL].copy_from_slice(&entry.tail);
            if at == 0 {
                return;
            }
            entry = self.entries[usize::from(entry.before)];
        }
    }
}

/// Compresses bytes like compress(1) by default: block mode, codes of up to 16 bits.
pub fn compress(bytes: &[u8]) -> Vec<u8> {
    compress_to(bytes, MAX_WIDTH)
}

/// Compresses bytes in block mode with codes of up to `max_width` bits, from 10 to 16.
pub fn compress_to(bytes: &[u8], max_width: u32) -> Vec<u8> {
    let mut encoder = Encoder::new(max_width.clamp(MIN_WIDTH + 1, MAX_WIDTH));
    let mut rest = bytes.iter();
    if let Some(first) = rest.next() {
        let mut code = u16::from(*first);
        for (n, byte) in rest.enumerate() {
            code = match encoder.slot(code, *byte) {
                Ok(longer) => longer,
                Err(slot) => {
                    encoder.put(code);
                    encoder.add(slot, code, *byte, n + 1);
                    u16::from(*byte)
                }
            };
        }
        encoder.put(code);
    }
    encoder.finish()
}

/// Number of input bytes between two checks of a full table's compression ratio.
const CHECK_GAP: usize = 10_000;
/// Size of the encoder's hash table, a power of two.
const N_SLOTS: usize = 1 << 18;

/// Encoder of a compressed file.
struct Encoder {
    out: Vec<u8>,
    /// Offset in `out` of the current group of eight codes.
    group: usize,
    /// Bits after the last whole byte.
    bits: u32,
    n_bits: u32,
    max_width: u32,
    width: u32,
    widen_at: u32,
    next: u32,
    /// Hash table. A slot contains 24 bits of code and byte as the key, then the code of their text; 0 if it is empty.
    slots: Vec<u64>,
    check_at: usize,
    /// Number of input bytes per 256 bytes of output, at the last check.
    ratio: usize,
}

impl Encoder {
    fn new(max_width: u32) -> Self {
        let mut encoder = Self {
            out: vec![MAGIC[0], MAGIC[1], BLOCK_MODE | max_width as u8],
            max_width,
            group: 3,
            bits: 0,
            n_bits: 0,
            width: 0,
            widen_at: 0,
            next: 0,
            slots: Vec::new(),
            check_at: CHECK_GAP,
            ratio: 0,
        };
        encoder.clear();
        encoder
    }

    fn clear(&mut self) {
        self.width = MIN_WIDTH;
        self.widen_at = 1 << MIN_WIDTH;
        self.next = u32::from(CLEAR) + 1;
        self.slots.clear();
        self.slots.resize(N_SLOTS, 0);
    }

    /// Looks up the code for a code's text plus a byte. The error is the empty slot for it.
    fn slot(&self, code: u16, byte: u8) -> Result<u16, usize> {
        let key = key(code, byte);
        let mut slot = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize >> (u64::BITS - N_SLOTS.ilog2());
        // At most a quarter of the slots is used, so an empty one is always found.
        loop {
            match self.slots[slot] {
                0 => return Err(slot),
                found if found >> 16 == key => return Ok(found as u16),
                _ => slot = (slot + 1) % N_SLOTS,
            }
        }
    }

    /// Adds an entry. If the table is full and the ratio has become worse, clears it. `n` is the number of input bytes.
    fn add(&mut self, slot: usize, code: u16, byte: u8, n: usize) {
        if self.next < 1 << self.max_width {
            self.slots[slot] = key(code, byte) << 16 | u64::from(self.next);
            self.next += 1;
        } else if n >= self.check_at {
            self.check_at = n + CHECK_GAP;
            let ratio = n.saturating_mul(256) / self.out.len();
            if ratio > self.ratio {
                self.ratio = ratio;
            } else {
                self.ratio = 0;
                self.put(CLEAR);
                self.end_group();
                self.clear();
            }
        }
    }

    fn put(&mut self, code: u16) {
        self.bits |= u32::from(code) << self.n_bits;
        self.n_bits += self.width;
        while self.n_bits >= 8 {
            self.out.push(self.bits as u8);
            self.bits >>= 8;
            self.n_bits -= 8;
        }
        if self.n_bits == 0 && self.out.len() - self.group == self.width as usize {
            self.group = self.out.len();
        }
        if self.next >= self.widen_at {
            self.end_group();
            self.width += 1;
            self.widen_at = if self.width == self.max_width { u32::MAX } else { 1 << self.width };
        }
    }

    /// Pads the group, unless it is empty.
    fn end_group(&mut self) {
        self.flush_bits();
        if self.out.len() > self.group {
            self.out.resize(self.group + self.width as usize, 0);
        }
        self.group = self.out.len();
    }

    fn flush_bits(&mut self) {
        if self.n_bits > 0 {
            self.out.push(self.bits as u8);
        }
        (self.bits, self.n_bits) = (0, 0);
    }

    fn finish(mut self) -> Vec<u8> {
        self.flush_bits();
        self.out
    }
}

/// Key of a code and a byte; never 0.
fn key(code: u16, byte: u8) -> u64 {
    u64::from(code) << 8 | u64::from(byte) | 1 << 24
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudo-random bytes with `n_values` different values.
    fn noise(len: usize, n_values: u64, seed: u64) -> Vec<u8> {
        let mut state = seed.wrapping_mul(2).wrapping_add(1);
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % n_values) as u8
        };
        std::iter::repeat_with(next).take(len).collect()
    }

    fn unpack(packed: &[u8]) -> (Vec<u8>, io::Result<()>) {
        let mut text = Vec::new();
        let end = Reader::new(packed).read_to_end(&mut text);
        (text, end.map(drop))
    }

    fn check(bytes: &[u8]) {
        let packed = compress(bytes);
        let (text, end) = unpack(&packed);
        end.unwrap();
        assert!(text == bytes, "{} bytes", bytes.len());
    }

    #[test]
    fn packed_bytes_unpack_to_the_same() {
        for len in (0..40).chain([255, 256, 257, 511, 512, 513, 1000, 4095, 70_000]) {
            for n_values in [1, 2, 3, 17, 256] {
                check(&noise(len, n_values, len as u64));
            }
        }
    }

    #[test]
    fn lengths_around_the_first_width_changes_round_trip() {
        let bytes = noise(1200, 256, 7);
        (200..1200).for_each(|len| check(&bytes[..len]));
    }

    #[test]
    fn a_full_table_is_cleared_when_the_data_changes() {
        let mut bytes = noise(400_000, 4, 1);
        bytes.extend(noise(400_000, 250, 2));
        bytes.extend(vec![b'x'; 3_000_000]);
        check(&bytes);
    }

    #[test]
    fn the_encoder_writes_what_compress_writes() {
        // Bytes from the output of compress(1).
        assert_eq!(compress(b""), [0x1F, 0x9D, 0x90]);
        assert_eq!(compress(b"a"), [0x1F, 0x9D, 0x90, 0x61, 0x00]);
        assert_eq!(compress(b"aaaaaa"), [0x1F, 0x9D, 0x90, 0x61, 0x02, 0x0A, 0x04]);
    }

    #[test]
    fn small_reads_give_the_same() {
        let bytes = noise(3000, 3, 9);
        let packed = compress(&bytes);
        let mut reader = Reader::new(&packed[..]);
        let mut text = Vec::new();
        let mut part = [0; 7];
        loop {
            let n = reader.read(&mut part).unwrap();
            if n == 0 {
                break;
            }
            text.extend_from_slice(&part[..n]);
        }
        assert_eq!(text, bytes);
        assert_eq!(reader.read(&mut []).unwrap(), 0);
    }

    #[test]
    fn bad_headers_are_refused() {
        for (bytes, kind, part) in [
            (&b""[..], io::ErrorKind::UnexpectedEof, "0 bytes"),
            (&[0x1F], io::ErrorKind::UnexpectedEof, "1 bytes"),
            (&MAGIC, io::ErrorKind::UnexpectedEof, "2 bytes"),
            (&[0x1F, 0x8B, 8], io::ErrorKind::InvalidData, "1F 8B"),
            (&[0x1F, 0x9D, 0x91], io::ErrorKind::InvalidData, "flags 91"),
            (&[0x1F, 0x9D, 0x88], io::ErrorKind::InvalidData, "flags 88"),
            (&[0x1F, 0x9D, 0xB0], io::ErrorKind::InvalidData, "flags B0"),
        ] {
            let (text, end) = unpack(bytes);
            let error = end.unwrap_err();
            assert!(text.is_empty() && error.kind() == kind && error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn bytes_before_a_damaged_code_are_decoded() {
        // a, b, then code 300; the largest possible code is 258.
        let codes = u32::from(b'a') | u32::from(b'b') << 9 | 300 << 18;
        let packed: Vec<u8> = [0x1F, 0x9D, 0x90].into_iter().chain(codes.to_le_bytes()).collect();
        let mut reader = Reader::new(&packed[..]);
        let mut text = [0; 8];
        assert_eq!(reader.read(&mut text).unwrap(), 2);
        assert_eq!(&text[..2], b"ab");
        for _ in 0..2 {
            let error = reader.read(&mut text).unwrap_err();
            assert_eq!(error.to_string(), "damaged .Z data at offset 0x5: found code 300, expected at most 258");
        }
        // The first code must be a byte.
        let (text, end) = unpack(&[0x1F, 0x9D, 0x90, 0x01, 0x01]);
        assert_eq!(text, b"");
        assert!(end.unwrap_err().to_string().contains("found code 257, expected at most 255"));
    }

    #[test]
    fn a_cut_code_is_an_error() {
        let packed = compress(&noise(2000, 200, 3));
        for len in 3..packed.len() {
            let (text, end) = unpack(&packed[..len]);
            assert!(noise(2000, 200, 3).starts_with(&text));
            if let Err(error) = end {
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
            }
        }
    }

    #[test]
    fn any_bytes_are_read_without_harm() {
        for seed in 0..300 {
            let mut packed = compress(&noise(5000, 20, seed));
            for at in noise(6, 256, seed) {
                let at = usize::from(at) * 13 % packed.len();
                packed[at] ^= 1 << (seed % 8);
            }
            drop(unpack(&packed));
            let mut bytes = vec![0x1F, 0x9D, 0x89 + (seed % 8) as u8 - 128 * (seed / 8 % 2) as u8];
            bytes.extend(noise(3000, 256, seed));
            drop(unpack(&bytes));
        }
    }
}
