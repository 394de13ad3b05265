//! The `.Z` form of compress(1): LZW with codes of 9 to 16 bits.
//!
//! ```text
//! 1F 9D  flags        flags: low 5 bits the greatest width of a code, 80h block mode
//! codes               least significant bit first, from 9 bits on, in groups of eight codes
//! ```
//!
//! Codes below 256 are bytes; in block mode 256 is CLEAR, which empties the table. Each code but the first behind the
//! start or a CLEAR adds an entry: the text of the code before it and the first byte of its own. Where the next entry needs a
//! wider code, and behind CLEAR, the rest of the group of eight codes is unused. Nothing marks the end, and nothing sums up
//! the content: only codes that cannot be are seen as damage.

use std::io::{self, BufReader, Read};

/// The first bytes of a compressed file.
pub const MAGIC: [u8; 2] = [0x1F, 0x9D];

/// Width of the first codes.
const MIN_WIDTH: u32 = 9;
/// Width past which no code grows.
const MAX_WIDTH: u32 = 16;
/// The code that empties the table, in block mode.
const CLEAR: u16 = 256;
/// Block mode in the flags.
const BLOCK_MODE: u8 = 0x80;
/// Bits of the flags that mean nothing.
const RESERVED: u8 = 0x60;

/// The greatest width of a code that a compressed file's first bytes tell; `None` where these are not its.
pub fn max_width(bytes: &[u8]) -> Option<u32> {
    match bytes {
        [first, second, flags, ..] if [*first, *second] == MAGIC => Some(u32::from(flags & !BLOCK_MODE & !RESERVED)),
        _ => None,
    }
}

/// Unpacks as it reads: the text of one code at a time, in 256 KiB of memory.
///
/// What stands before a damaged place is given out first; then every read gives the error, whose text names the
/// offset in the compressed file.
///
/// ```
/// use std::io::Read;
/// let packed = tfbc::unix_compress::compress(b"TRACE ON, TRACE OFF");
/// let mut text = Vec::new();
/// tfbc::unix_compress::Reader::new(&packed[..]).read_to_end(&mut text)?;
/// assert_eq!(text, b"TRACE ON, TRACE OFF");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Reader<R: Read> {
    codes: Codes<R>,
    /// Made when the header has been read.
    table: Option<Table>,
    /// The text of the last code, last byte first; bytes are taken from the end.
    text: Vec<u8>,
    /// What ended the reading.
    end: Option<Option<(io::ErrorKind, String)>>,
}

impl<R: Read> Reader<R> {
    /// Unpacks what `inner` gives; the header is read with the first bytes.
    pub fn new(inner: R) -> Self {
        let codes = Codes { inner: BufReader::new(inner), group: [0; 16], n_bits: 0, at_bit: 0, offset: 0 };
        Self { codes, table: None, text: Vec::new(), end: None }
    }

    /// The text of the next code, into `self.text`; `false` at the end.
    fn next_text(&mut self) -> io::Result<bool> {
        let table = match &mut self.table {
            Some(table) => table,
            None => self.table.insert(Table::new(self.codes.header()?)),
        };
        loop {
            if table.next >= table.widen_at {
                table.widen();
                self.codes.drop_group();
            }
            let Some((code, offset)) = self.codes.next(table.width)? else { return Ok(false) };
            if code == CLEAR && table.block_mode {
                table.clear();
                self.codes.drop_group();
                continue;
            }
            return if table.expand(code, &mut self.text) {
                Ok(true)
            } else {
                let text = format!(
                    "damaged .Z data at offset 0x{offset:x}: code {code}, where {} is the greatest",
                    table.greatest()
                );
                Err(io::Error::new(io::ErrorKind::InvalidData, text))
            };
        }
    }
}

impl<R: Read> Read for Reader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut n = 0;
        while n < out.len() {
            let n_taken = self.text.len().min(out.len() - n);
            let kept = self.text.len() - n_taken;
            out[n..n + n_taken].iter_mut().zip(self.text[kept..].iter().rev()).for_each(|(to, from)| *to = *from);
            self.text.truncate(kept);
            n += n_taken;
            if !self.text.is_empty() || self.end.is_some() {
                break;
            }
            match self.next_text() {
                Ok(true) => {}
                Ok(false) => self.end = Some(None),
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

/// The codes of a compressed file.
#[derive(Debug)]
struct Codes<R> {
    inner: BufReader<R>,
    /// A group of eight codes; the last one of the file may be shorter.
    group: [u8; MAX_WIDTH as usize],
    n_bits: u32,
    at_bit: u32,
    /// Offset in the file behind the group.
    offset: u64,
}

impl<R: Read> Codes<R> {
    /// The flags.
    fn header(&mut self) -> io::Result<u8> {
        let n = self.fill(3)?;
        let refused = |text: String| Err(io::Error::new(io::ErrorKind::InvalidData, text));
        match self.group {
            [first, second, flags, ..] if n == 3 && [first, second] == MAGIC => {
                let width = u32::from(flags & !BLOCK_MODE & !RESERVED);
                if flags & RESERVED != 0 || !(MIN_WIDTH..=MAX_WIDTH).contains(&width) {
                    return refused(format!(
                        "damaged .Z data at offset 0x2: flags {flags:02X}, expected codes of 9 to 16 bits"
                    ));
                }
                Ok(flags)
            }
            [first, second, ..] if n == 3 || (n == 2 && [first, second] != MAGIC) => {
                refused(format!("no .Z data: it begins with {first:02X} {second:02X}, expected 1F 9D"))
            }
            _ => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!(".Z data cut short: {n} bytes, the header has 3"),
            )),
        }
    }

    /// Leaves out the rest of the group.
    fn drop_group(&mut self) {
        self.at_bit = self.n_bits;
    }

    /// The next code of `width` bits with its offset, `None` at the end.
    fn next(&mut self, width: u32) -> io::Result<Option<(u16, u64)>> {
        if self.at_bit >= self.n_bits {
            self.n_bits = 8 * self.fill(width as usize)? as u32;
            self.at_bit = 0;
        }
        let byte = self.at_bit / 8;
        let offset = self.offset - u64::from(self.n_bits / 8 - byte);
        let left = self.n_bits - self.at_bit;
        if left < width {
            self.at_bit = self.n_bits;
            // The last code is filled up to a whole byte.
            return if left < 8 {
                Ok(None)
            } else {
                let text = format!(".Z data cut short at offset 0x{:x}, inside a code of {width} bits", self.offset);
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, text))
            };
        }
        let mut window = [0; 4];
        let end = (byte as usize + 4).min(self.group.len());
        window[..end - byte as usize].copy_from_slice(&self.group[byte as usize..end]);
        let code = u32::from_le_bytes(window) >> (self.at_bit % 8) & ((1 << width) - 1);
        self.at_bit += width;
        Ok(Some((code as u16, offset)))
    }

    /// Reads up to `n` bytes to the front of the group, and tells how many there were.
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

/// What the codes from 257 on stand for.
#[derive(Debug)]
struct Table {
    /// By code: the code of the text before the last byte, and that byte.
    entries: Vec<(u16, u8)>,
    block_mode: bool,
    /// Entries that the table may have.
    max_entries: u32,
    max_width: u32,
    /// Width of the next code.
    width: u32,
    /// The code of the next entry.
    next: u32,
    /// The value of `next` that makes codes wider.
    widen_at: u32,
    /// The code before, and the first byte of its text.
    last: Option<(u16, u8)>,
}

impl Table {
    fn new(flags: u8) -> Self {
        let width = u32::from(flags & !BLOCK_MODE);
        let max_entries = 1 << width;
        let mut table = Self {
            entries: vec![(0, 0); max_entries as usize],
            block_mode: flags & BLOCK_MODE != 0,
            max_entries,
            // compress(1) goes on to 10 bits even when asked for 9.
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

    /// The greatest code that may follow.
    fn greatest(&self) -> u32 {
        match self.last {
            None => 255,
            Some(_) => self.next.min(self.max_entries - 1),
        }
    }

    /// Writes the text of a code, last byte first, and adds the entry that the code completes. `false` for a code that
    /// cannot be.
    fn expand(&mut self, code: u16, text: &mut Vec<u8>) -> bool {
        if u32::from(code) > self.greatest() {
            return false;
        }
        let mut at = code;
        if let Some((last, first)) = self.last
            && u32::from(code) == self.next
        {
            // The entry is being made by this very code: the text before it, and its first byte again.
            text.push(first);
            at = last;
        }
        while at > 255 {
            let (before, byte) = self.entries[usize::from(at)];
            text.push(byte);
            at = before;
        }
        let first = at as u8;
        text.push(first);
        if let Some((last, _)) = self.last
            && self.next < self.max_entries
        {
            self.entries[self.next as usize] = (last, first);
            self.next += 1;
        }
        self.last = Some((code, first));
        true
    }
}

/// Packs bytes in block mode, with codes of up to 16 bits, as compress(1) does by default.
pub fn compress(bytes: &[u8]) -> Vec<u8> {
    compress_to(bytes, MAX_WIDTH)
}

/// Packs bytes in block mode, with codes of up to `max_width` bits, from 10 to 16.
pub fn compress_to(bytes: &[u8], max_width: u32) -> Vec<u8> {
    let mut packer = Packer::new(max_width.clamp(MIN_WIDTH + 1, MAX_WIDTH));
    let mut rest = bytes.iter();
    if let Some(first) = rest.next() {
        let mut code = u16::from(*first);
        for (n, byte) in rest.enumerate() {
            code = match packer.slot(code, *byte) {
                Ok(longer) => longer,
                Err(slot) => {
                    packer.put(code);
                    packer.add(slot, code, *byte, n + 1);
                    u16::from(*byte)
                }
            };
        }
        packer.put(code);
    }
    packer.finish()
}

/// Input bytes between two looks at whether a full table still serves.
const CHECK_GAP: usize = 10_000;
/// Slots of the table of texts, a power of two.
const N_SLOTS: usize = 1 << 18;

/// A compressed file in the making.
struct Packer {
    out: Vec<u8>,
    /// Where the group of eight codes begins in `out`.
    group: usize,
    /// Bits behind the last whole byte.
    bits: u32,
    n_bits: u32,
    max_width: u32,
    width: u32,
    widen_at: u32,
    next: u32,
    /// By hash of a code and a byte: 24 bits of these two, then the code that they make; 0 for none.
    slots: Vec<u64>,
    check_at: usize,
    /// Input bytes for 256 bytes of output, at the last look.
    ratio: usize,
}

impl Packer {
    fn new(max_width: u32) -> Self {
        let mut packer = Self {
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
        packer.clear();
        packer
    }

    fn clear(&mut self) {
        self.width = MIN_WIDTH;
        self.widen_at = 1 << MIN_WIDTH;
        self.next = u32::from(CLEAR) + 1;
        self.slots.clear();
        self.slots.resize(N_SLOTS, 0);
    }

    /// The code of a code's text and a byte behind it, or the slot where it would be.
    fn slot(&self, code: u16, byte: u8) -> Result<u16, usize> {
        let key = key(code, byte);
        let mut slot = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize >> (u64::BITS - N_SLOTS.ilog2());
        // A quarter of the slots is used at most.
        loop {
            match self.slots[slot] {
                0 => return Err(slot),
                found if found >> 16 == key => return Ok(found as u16),
                _ => slot = (slot + 1) % N_SLOTS,
            }
        }
    }

    /// Adds an entry, or begins anew where the table is full and serves worse than before. `n` bytes were read.
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

    /// Fills the group up, unless it is empty.
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

/// A code and a byte behind it, never 0.
fn key(code: u16, byte: u8) -> u64 {
    u64::from(code) << 8 | u64::from(byte) | 1 << 24
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes from a linear congruence; `n_values` of them differ.
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
    fn what_is_packed_unpacks() {
        for len in (0..40).chain([255, 256, 257, 511, 512, 513, 1000, 4095, 70_000]) {
            for n_values in [1, 2, 3, 17, 256] {
                check(&noise(len, n_values, len as u64));
            }
        }
    }

    #[test]
    fn every_length_around_the_first_width_changes() {
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
    fn known_bytes() {
        // As compress(1) writes them.
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
    fn headers_that_are_none_are_refused() {
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
    fn what_stands_before_a_damaged_code_is_given_out() {
        // a, b, then code 300 where 258 is the entry in the making.
        let codes = u32::from(b'a') | u32::from(b'b') << 9 | 300 << 18;
        let packed: Vec<u8> = [0x1F, 0x9D, 0x90].into_iter().chain(codes.to_le_bytes()).collect();
        let mut reader = Reader::new(&packed[..]);
        let mut text = [0; 8];
        assert_eq!(reader.read(&mut text).unwrap(), 2);
        assert_eq!(&text[..2], b"ab");
        for _ in 0..2 {
            let error = reader.read(&mut text).unwrap_err();
            assert_eq!(error.to_string(), "damaged .Z data at offset 0x5: code 300, where 258 is the greatest");
        }
        // The first code stands for itself.
        let (text, end) = unpack(&[0x1F, 0x9D, 0x90, 0x01, 0x01]);
        assert_eq!(text, b"");
        assert!(end.unwrap_err().to_string().contains("code 257, where 255"));
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
