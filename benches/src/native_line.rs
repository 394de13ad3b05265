//! Hand-written report: the baseline for the path from a stream's bytes to the lines of a report.
//!
//! ```text
//! ffffllllhhhhssss  words or data word + bytes, filled to 8   tid   stamp        an event of a 64-bit stream
//! 100    0.000123456       0.000800                   DISK READ dev=…            its line
//! ```
//!
//! Like [`crate::native`], it knows the templates at compile time. It also knows the default layout: id, elapsed time,
//! delta, and text at the margin of level KERN. It does the checks that any trace needs: it verifies each event's
//! length, converts its time stamp, and skips the header's events. The columns are one template, into which digits are
//! stored, and seconds are counted instead of divided.
#![expect(unsafe_code, reason = "the limit that the report is compared with has no bounds checks")]

use crate::native::{LineWindow, NativeText, WINDOW};
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
        let end = tid_at + 8 + (word >> 63 << 3) as usize;
        let (event, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        // SAFETY: `data` is at most `tid_at`, which is at least eight bytes before the event's end.
        let (bytes, tid, last) = unsafe {
            let word = |at: usize| event.as_ptr().add(at).cast::<u64>().read_unaligned().to_be();
            (event.get_unchecked(..data), word(tid_at), word(end - 8))
        };
        let ticks = (word & STAMPED != 0).then_some(last);
        Some(StreamEvent { id: (word >> 16) as u16, bytes, tid, ticks })
    }
}

/// Text kept before it is written.
const TEXT_BYTES: usize = 512 << 10;

/// A report while it is written.
#[derive(Debug, Clone)]
pub struct NativeReport {
    text: NativeText,
    /// True if ids take five characters, because a template has a four-digit id.
    has_wide_ids: bool,
    state: ReportTimes,
}

/// State of the columns: times of the events before.
#[derive(Debug, Clone, Copy)]
struct ReportTimes {
    /// Multiplier and divisor of ticks.
    factors: (u64, u64),
    /// True if ticks are not nanoseconds.
    is_scaled: bool,
    /// Time of elapsed 0; [`u64::MAX`] before the first event.
    zero_ns: u64,
    elapsed_ns: u64,
    last_elapsed_ns: u64,
    /// Whole seconds of the elapsed time in ns, and their four characters.
    seconds_ns: u64,
    seconds: [u8; 4],
    /// Delta from which the columns are wider: 0 where the elapsed time alone makes them so.
    longest_delta_ns: u64,
}

impl ReportTimes {
    const START: Self = Self {
        factors: (1, 1),
        is_scaled: false,
        zero_ns: u64::MAX,
        elapsed_ns: 0,
        last_elapsed_ns: 0,
        seconds_ns: 0,
        seconds: *b"   0",
        longest_delta_ns: SECOND,
    };

    #[inline(always)]
    fn advance(&mut self, ticks: u64) {
        let time_ns = if self.is_scaled {
            (u128::from(ticks) * u128::from(self.factors.0) / u128::from(self.factors.1)) as u64
        } else {
            ticks
        };
        if time_ns < self.zero_ns {
            *self = self.with_zero(time_ns);
        } else {
            self.elapsed_ns = time_ns - self.zero_ns;
        }
        if self.elapsed_ns.wrapping_sub(self.seconds_ns) >= SECOND {
            *self = self.with_seconds();
        }
    }

    /// Columns of the first event, or of one before it.
    #[cold]
    #[inline(never)]
    fn with_zero(self, time_ns: u64) -> Self {
        Self { zero_ns: if self.zero_ns == u64::MAX { time_ns } else { self.zero_ns }, elapsed_ns: 0, ..self }
    }

    #[cold]
    #[inline(never)]
    fn with_seconds(self) -> Self {
        let seconds = self.elapsed_ns / SECOND;
        let (longest_delta_ns, digits) = RIGHT.get(seconds as usize).map_or((0, *b"    "), |digits| (SECOND, *digits));
        Self { seconds_ns: seconds * SECOND, seconds: digits, longest_delta_ns, ..self }
    }
}

const SECOND: u64 = 1_000_000_000;

impl NativeReport {
    /// Creates a report for a format file with this many templates.
    pub fn new(n_templates: usize) -> Self {
        let has_wide_ids = (0..n_templates).any(|index| template_id(index) & 15 != 0);
        Self { text: NativeText::new(), has_wide_ids, state: ReportTimes::START }
    }

    /// Prints the lines of a stream, up to its end or an event that it does not know, in pieces of half a megabyte.
    /// Returns the bytes of text.
    pub fn run(&mut self, stream: &[u8], write: impl FnMut(&[u8])) -> usize {
        self.text.clear();
        self.state = ReportTimes::START;
        if self.has_wide_ids { self.lines::<true>(stream, write) } else { self.lines::<false>(stream, write) }
    }

    #[inline(always)]
    fn lines<const WIDE: bool>(&mut self, stream: &[u8], mut write: impl FnMut(&[u8])) -> usize {
        // Room for a piece, and for an event of the maximum length after it.
        const ROOM: usize = TEXT_BYTES + 3 * (1 << 16) + 2 * WINDOW;
        let mut n_bytes = 0;
        let mut state = self.state;
        // SAFETY: a piece ends where it has its length, and one line more fits into the room.
        let mut line = unsafe { self.text.window(ROOM) };
        for event in StreamEvents::new(stream) {
            if event.id < 0x100 && matches!(event.id, HEADER | UTILITY) {
                state = header(event.id, event.bytes, state);
                continue;
            }
            if let Some(ticks) = event.ticks {
                state.advance(ticks);
            }
            let begin = line.mark();
            native_columns::<WIDE>(&mut line, event.id, &state);
            state.last_elapsed_ns = state.elapsed_ns;
            if event.id < 0x100 {
                line = trace_on(event.id, event.bytes, line.lend());
            } else if line.body(event.id, event.bytes).is_none() {
                line.return_to(begin);
            }
            if line.n_bytes() >= TEXT_BYTES {
                n_bytes += written(line.as_bytes(), &mut write);
                line.clear();
            }
        }
        write(line.as_bytes());
        n_bytes + line.n_bytes()
    }
}

/// Writes a piece; returns its length. Far from the loop, which keeps its state in registers.
#[cold]
#[inline(never)]
fn written(text: &[u8], write: &mut impl FnMut(&[u8])) -> usize {
    write(text);
    text.len()
}

#[cold]
#[inline(never)]
fn header(id: u16, bytes: &[u8], state: ReportTimes) -> ReportTimes {
    let words = bytes.as_chunks::<8>().0;
    let word = |index: usize| words.get(index).map(|word| u64::from_be_bytes(*word));
    match (id, word(1), word(2), word(3)) {
        (UTILITY, Some(TIME_FACTORS), Some(multiplier), Some(divisor)) => {
            let factors = (multiplier.max(1), divisor.max(1));
            ReportTimes { factors, is_scaled: factors.0 != factors.1, ..state }
        }
        _ => state,
    }
}

/// Appends the text of an event that the built-in templates print.
#[cold]
#[inline(never)]
fn trace_on<'t>(id: u16, bytes: &[u8], mut line: LineWindow<'t>) -> LineWindow<'t> {
    let channel = bytes.get(6..).and_then(|rest| rest.first_chunk()).map_or(0, |two| u16::from_be_bytes(*two));
    assert_eq!(id, TRACE_ON, "the load has no other events");
    line.literal(b"TRACE ON channel ");
    line.decimal(channel.into());
    line.literal(b"\n");
    line
}

/// First three digits of an id, and a blank.
static ID: [[u8; 4]; 4096] = {
    let digits = b"0123456789ABCDEF";
    let mut table = [[b' '; 4]; 4096];
    let mut id = 0;
    while id < 4096 {
        table[id] = [digits[id >> 8], digits[id >> 4 & 15], digits[id & 15], b' '];
        id += 1;
    }
    table
};

/// Writes id, elapsed seconds, delta milliseconds, and the blanks before text of level KERN.
#[inline(always)]
fn native_columns<const WIDE: bool>(line: &mut LineWindow<'_>, id: u16, state: &ReportTimes) {
    let ReportTimes { elapsed_ns, last_elapsed_ns: last_ns, seconds, seconds_ns, longest_delta_ns, .. } = *state;
    line.put(&ID[usize::from(id >> 4)], 4);
    if WIDE {
        let digit = b" 123456789ABCDEF"[usize::from(id & 15)];
        line.overwrite(0, b"  ");
        line.rewrite_last(digit);
        line.skip(1);
    }
    let delta_ns = elapsed_ns.wrapping_sub(last_ns);
    if delta_ns >= longest_delta_ns {
        *line = long_times(line.lend(), elapsed_ns, last_ns);
        return;
    }
    let (fraction, delta) = ((elapsed_ns - seconds_ns) as u32, delta_ns as u32);
    let (usec, delta_usec) = (fraction / 1000, delta / 1000);
    line.overwrite(0, b"    .                 .                         ");
    line.overwrite(0, &seconds);
    line.overwrite(5, three(usec / 1000));
    line.overwrite(8, three(usec % 1000));
    line.overwrite(11, three(fraction % 1000));
    line.overwrite(18, row(&RIGHT, delta_usec / 1000));
    line.overwrite(23, three(delta_usec % 1000));
    line.overwrite(26, three(delta % 1000));
    line.skip(48);
}

/// Three digits and a blank.
#[inline(always)]
fn three(n: u32) -> &'static [u8; 4] {
    row(&ZEROED, n)
}

/// Digits of a number below 1000.
#[inline(always)]
fn row(table: &'static [[u8; 4]; 1000], n: u32) -> &'static [u8; 4] {
    // SAFETY: seconds are whole, and a fraction and a delta are less than a second, so that each group is below 1000.
    unsafe { table.get_unchecked(n as usize) }
}

/// Slow path for rare times: above 1000 s, more than 1 s after the last event, or before it.
#[cold]
#[inline(never)]
fn long_times<'t>(mut line: LineWindow<'t>, elapsed_ns: u64, last_ns: u64) -> LineWindow<'t> {
    let delta_ns = i128::from(elapsed_ns) - i128::from(last_ns);
    let (seconds, fraction) = (elapsed_ns / SECOND, elapsed_ns % SECOND);
    let (sign, delta) = (if delta_ns < 0 { "-" } else { "" }, delta_ns.unsigned_abs());
    let delta = format!("{sign}{}.{:06}", delta / 1_000_000, delta % 1_000_000);
    let elapsed = format!("{seconds}.{fraction:09}");
    let apart = if delta.len() < 15 { "" } else { " " };
    let text = format!("{elapsed:>14}{apart}{delta:>15}{:19}", "");
    text.bytes().for_each(|byte| line.literal(&[byte]));
    line
}
