//! Hand-written report: the baseline for the path from a stream's bytes to the lines of a report.
//!
//! ```text
//! ffffllllhhhhssss  words or data word + bytes, filled to 8   tid   stamp        an event of a 64-bit stream
//! 100    0.000123456       0.000800                   DISK READ dev=…            its line
//! ```
//!
//! Like [`crate::native`], it knows the templates at compile time. It also knows the default layout: id, elapsed time,
//! delta, and text at the margin of level KERN. It does the checks that any trace needs: it verifies each event's
//! length, converts its time stamp, and skips the header's events.

use crate::native::{HEX_BYTE, LineWindow, NativeText};
use crate::{STREAM64_MAGIC, template_id};

const TRACE_ON: u16 = 0x0010;
const HEADER: u16 = 0x0030;
const UTILITY: u16 = 0x00A0;
const TIME_FACTORS: u64 = 0x25C;

const GENERIC: u64 = 0x4000 << 48;
const STAMPED: u64 = 0x8000 << 48;
const OTHER_FLAGS: u64 = 0x3FFF << 48;

/// Number below 1000, right-aligned in four bytes.
static RIGHT: [[u8; 4]; 1000] = {
    let mut table = [[b' '; 4]; 1000];
    let mut n = 0;
    while n < 1000 {
        table[n][3] = b'0' + (n % 10) as u8;
        if n >= 10 {
            table[n][2] = b'0' + (n / 10 % 10) as u8;
        }
        if n >= 100 {
            table[n][1] = b'0' + (n / 100) as u8;
        }
        n += 1;
    }
    table
};

/// Number below 1000 with leading zeros, and a byte that the next number overwrites.
static ZEROED: [[u8; 4]; 1000] = {
    let mut table = [[b' '; 4]; 1000];
    let mut n = 0;
    while n < 1000 {
        (table[n][0], table[n][1], table[n][2]) =
            (b'0' + (n / 100) as u8, b'0' + (n / 10 % 10) as u8, b'0' + (n % 10) as u8);
        n += 1;
    }
    table
};

/// One event of a 64-bit stream.
#[derive(Debug, Clone, Copy)]
pub struct StreamEvent<'s> {
    /// The hook id.
    pub id: u16,
    /// Hook word and data, without padding.
    pub bytes: &'s [u8],
    /// The thread.
    pub tid: u64,
    /// Raw time.
    pub ticks: Option<u64>,
}

/// Iterator over the events of a 64-bit stream. It stops at the end, or at an event that it does not know.
#[derive(Debug, Clone)]
pub struct StreamEvents<'s> {
    rest: &'s [u8],
}

impl<'s> StreamEvents<'s> {
    /// Events of a stream; empty without the magic number.
    pub fn new(stream: &'s [u8]) -> Self {
        Self { rest: stream.strip_prefix(&STREAM64_MAGIC).unwrap_or_default() }
    }

    /// True if the whole stream was read.
    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}

impl<'s> Iterator for StreamEvents<'s> {
    type Item = StreamEvent<'s>;

    #[inline(always)]
    fn next(&mut self) -> Option<StreamEvent<'s>> {
        let word = u64::from_be_bytes(*self.rest.first_chunk()?);
        let (len, is_generic) = ((word >> 32) as usize & 0xFFFF, word & GENERIC != 0);
        if word & OTHER_FLAGS != 0 || (!is_generic && (len > 40 || len & 7 != 0)) {
            return None;
        }
        let data = len + if is_generic { 16 } else { 8 };
        let tid_at = data.next_multiple_of(8);
        let is_stamped = word & STAMPED != 0;
        let (event, rest) = self.rest.split_at_checked(tid_at + if is_stamped { 16 } else { 8 })?;
        self.rest = rest;
        let (bytes, added) = (event.get(..data)?, event.get(tid_at..)?);
        let tid = u64::from_be_bytes(*added.first_chunk()?);
        let ticks = if is_stamped { Some(u64::from_be_bytes(*added.last_chunk()?)) } else { None };
        Some(StreamEvent { id: (word >> 16) as u16, bytes, tid, ticks })
    }
}

/// A report while it is written.
#[derive(Debug, Clone)]
pub struct NativeReport {
    text: NativeText,
    /// True if ids take five characters, because a template has a four-digit id.
    wide_ids: bool,
    /// Multiplier and divisor of ticks.
    factors: (u64, u64),
    /// Time of elapsed 0.
    zero_ns: Option<u64>,
    elapsed_ns: u64,
    last_elapsed_ns: u64,
}

impl NativeReport {
    /// Creates a report for a format file with this many templates.
    pub fn new(n_templates: usize) -> Self {
        let wide_ids = (0..n_templates).any(|index| template_id(index) & 15 != 0);
        Self { text: NativeText::new(), wide_ids, factors: (1, 1), zero_ns: None, elapsed_ns: 0, last_elapsed_ns: 0 }
    }

    /// Text that has not been taken yet.
    pub fn as_bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// Clears the text.
    pub fn clear(&mut self) {
        self.text.clear();
    }

    /// Clears everything except the text buffer, for another report.
    pub fn begin(&mut self) {
        self.text.clear();
        (self.factors, self.zero_ns, self.elapsed_ns, self.last_elapsed_ns) = ((1, 1), None, 0, 0);
    }

    /// Appends the line of an event, if it has one; `None` if no template prints the event.
    #[inline(always)]
    pub fn event(&mut self, event: &StreamEvent<'_>) -> Option<()> {
        if matches!(event.id, HEADER | UTILITY) {
            return self.header(event);
        }
        if let Some(ticks) = event.ticks {
            let time_ns = self.time_ns(ticks);
            let zero_ns = *self.zero_ns.get_or_insert(time_ns);
            self.elapsed_ns = time_ns.saturating_sub(zero_ns);
        }
        let mut line = self.text.window();
        native_columns(&mut line, event.id, self.elapsed_ns, self.last_elapsed_ns, self.wide_ids);
        let at = line.at;
        self.last_elapsed_ns = self.elapsed_ns;
        if event.id == TRACE_ON { self.trace_on(event, at) } else { self.text.body(event.id, event.bytes, at) }
    }

    #[inline(always)]
    fn time_ns(&self, ticks: u64) -> u64 {
        match self.factors {
            (1, 1) => ticks,
            (multiplier, divisor) => (u128::from(ticks) * u128::from(multiplier) / u128::from(divisor)) as u64,
        }
    }

    #[cold]
    fn header(&mut self, event: &StreamEvent<'_>) -> Option<()> {
        let words = event.bytes.as_chunks::<8>().0;
        let word = |index: usize| words.get(index).map(|word| u64::from_be_bytes(*word));
        if event.id == UTILITY && word(1) == Some(TIME_FACTORS) {
            self.factors = (word(2)?.max(1), word(3)?.max(1));
        }
        Some(())
    }

    #[cold]
    fn trace_on(&mut self, event: &StreamEvent<'_>, at: usize) -> Option<()> {
        let channel = u16::from_be_bytes(*event.bytes.get(6..)?.first_chunk()?);
        let mut line = self.text.window_at(at);
        line.literal(b"TRACE ON channel ");
        line.decimal(channel.into());
        line.literal(b"\n");
        let len = line.at;
        self.text.len += len;
        Some(())
    }
}

/// Writes id, elapsed seconds, delta milliseconds, and the blanks before text of level KERN.
#[inline(always)]
fn native_columns(line: &mut LineWindow<'_>, id: u16, elapsed_ns: u64, last_ns: u64, wide_ids: bool) {
    let [[_, a, b, _], [_, c, mut last, _]] = id.to_be_bytes().map(|byte| HEX_BYTE[usize::from(byte)]);
    if id & 15 == 0 {
        last = b' ';
    }
    line.put(&[a, b, c, last, b' '], 4 + usize::from(wide_ids));
    let delta_ns = elapsed_ns.wrapping_sub(last_ns);
    let (seconds, milliseconds) = (elapsed_ns / 1_000_000_000, delta_ns / 1_000_000);
    let (Some(whole), Some(delta_whole)) = (RIGHT.get(seconds as usize), RIGHT.get(milliseconds as usize)) else {
        return long_times(line, elapsed_ns, i128::from(elapsed_ns) - i128::from(last_ns));
    };
    let (fraction, delta_fraction) = ((elapsed_ns % 1_000_000_000) as u32, (delta_ns % 1_000_000) as u32);
    let mut text = *b"    .                 .                         ";
    text[..4].copy_from_slice(whole);
    text[5..9].copy_from_slice(&ZEROED[(fraction / 1_000_000) as usize]);
    text[8..12].copy_from_slice(&ZEROED[(fraction / 1000 % 1000) as usize]);
    text[11..15].copy_from_slice(&ZEROED[(fraction % 1000) as usize]);
    text[18..22].copy_from_slice(delta_whole);
    text[23..27].copy_from_slice(&ZEROED[(delta_fraction / 1000) as usize]);
    text[26..30].copy_from_slice(&ZEROED[(delta_fraction % 1000) as usize]);
    line.put(&text, 48);
}

/// Slow path for rare times: above 1000 s, more than 1 s after the last event, or before it.
#[cold]
fn long_times(line: &mut LineWindow<'_>, elapsed_ns: u64, delta_ns: i128) {
    let (seconds, fraction) = (elapsed_ns / 1_000_000_000, elapsed_ns % 1_000_000_000);
    let (sign, delta) = (if delta_ns < 0 { "-" } else { "" }, delta_ns.unsigned_abs());
    let delta = format!("{sign}{}.{:06}", delta / 1_000_000, delta % 1_000_000);
    let elapsed = format!("{seconds}.{fraction:09}");
    let apart = if delta.len() < 15 { "" } else { " " };
    let text = format!("{elapsed:>14}{apart}{delta:>15}{:19}", "");
    text.bytes().for_each(|byte| line.literal(&[byte]));
}
