//! Hand-written lines of traceprinter 1.02, for the simple events of [`crate::KevLoad`] without combine records.
//!
//! ```text
//! t:0x4f829f56 CPU:02 THREAD  :THRECEIVE     pid:4098 tid:2
//! ```
//!
//! Each class and event has a row: text, first word, text, second word, text. Only little-endian logs are supported.
#![expect(unsafe_code, reason = "the limit that the printer is compared with has no bounds checks")]

use crate::native::{LOWER, LineWindow, NativeText, hex_digits};
use crate::{KevLoad, SLOT_BYTES};

/// Format of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    /// Decimal.
    Dec,
    /// `0x` and eight hex digits.
    Hex,
    /// Hex digits without leading zeros.
    Pointer,
    /// Hex, and decimal in parentheses.
    Both,
    /// Characters of the word in quotes, and hex in parentheses.
    Letters,
    /// The low 13 bits, decimal.
    Sequence,
}

use Word::{Both, Dec, Hex, Letters, Pointer, Sequence};

type LayoutRow = (u8, u16, &'static str, Word, &'static str, Word, &'static str);

const ROWS: [LayoutRow; 36] = [
    (1, 1, "CONTROL :TIME msb:", Hex, " lsb(offset):", Hex, ""),
    (1, 2, "CONTROL: BUFFER sequence = ", Sequence, ", num_events = ", Dec, ""),
    (2, 11, "KER_CALL:MSG_SENDV/11 coid:", Hex, " msg:", Letters, ""),
    (2, 14, "KER_CALL:MSG_RECEIVEV/14 chid:", Hex, " rparts:", Dec, ""),
    (2, 15, "KER_CALL:MSG_REPLYV/15 rcvid:", Hex, " status:", Hex, ""),
    (2, 16, "KER_CALL:MSG_READV/16 rcvid:", Hex, " offset:", Hex, ""),
    (2, 17, "KER_CALL:MSG_WRITEV/17 rcvid:", Hex, " offset:", Hex, ""),
    (2, 39, "KER_CALL:CONNECT_ATTACH/39 nd:", Hex, " pid:", Dec, ""),
    (2, 75, "KER_CALL:TIMER_TIMEOUT/75 timeout_flags:", Hex, " ntime(sec):", Dec, ""),
    (2, 81, "KER_CALL:SYNC_MUTEX_UNLOCK/81 sync_p:", Pointer, " owner:", Dec, ""),
    (2, 82, "KER_CALL:SYNC_CONDVAR_WAIT/82 sync_p:", Pointer, " mutex_p:", Pointer, ""),
    (2, 139, "KER_EXIT:MSG_SENDV/11 status:", Dec, " rmsg:", Letters, ""),
    (2, 142, "KER_EXIT:MSG_RECEIVEV/14 rcvid:", Hex, " rmsg:", Letters, ""),
    (2, 143, "KER_EXIT:MSG_REPLYV/15 ret_val:", Dec, " empty:", Hex, ""),
    (2, 144, "KER_EXIT:MSG_READV/16 rbytes:", Dec, " rmsg:", Letters, ""),
    (2, 145, "KER_EXIT:MSG_WRITEV/17 wbytes:", Dec, " empty:", Hex, ""),
    (2, 167, "KER_EXIT:CONNECT_ATTACH/39 coid:", Hex, " empty:", Hex, ""),
    (2, 203, "KER_EXIT:TIMER_TIMEOUT/75 prev_timeout_flags:", Hex, " otime(sec):", Dec, ""),
    (2, 209, "KER_EXIT:SYNC_MUTEX_UNLOCK/81 ret_val:", Dec, " empty:", Hex, ""),
    (2, 210, "KER_EXIT:SYNC_CONDVAR_WAIT/82 ret_val:", Dec, " empty:", Hex, ""),
    (3, 1, "INT_ENTR:", Both, "       IP:", Hex, ""),
    (3, 2, "INT_EXIT:", Both, " inkernel:", Hex, ""),
    (4, 1, "THREAD  :THRUNNING     pid:", Dec, " tid:", Dec, " "),
    (4, 2, "THREAD  :THREADY       pid:", Dec, " tid:", Dec, " "),
    (4, 4, "THREAD  :THSEND        pid:", Dec, " tid:", Dec, " "),
    (4, 5, "THREAD  :THRECEIVE     pid:", Dec, " tid:", Dec, " "),
    (4, 6, "THREAD  :THREPLY       pid:", Dec, " tid:", Dec, " "),
    (4, 12, "THREAD  :THNANOSLEEP   pid:", Dec, " tid:", Dec, " "),
    (4, 13, "THREAD  :THMUTEX       pid:", Dec, " tid:", Dec, " "),
    (4, 14, "THREAD  :THCONDVAR     pid:", Dec, " tid:", Dec, " "),
    (4, 17, "THREAD  :THSEM         pid:", Dec, " tid:", Dec, " "),
    (7, 0, "COMM    :SND_MESSAGE   rcvid:", Hex, " pid:", Dec, ""),
    (7, 1, "COMM    :SND_PULSE     scoid:", Hex, " pid:", Dec, ""),
    (7, 2, "COMM    :REC_MESSAGE   rcvid:", Hex, " pid:", Dec, ""),
    (7, 3, "COMM    :REC_PULSE     scoid:", Hex, " pid:", Dec, ""),
    (7, 4, "COMM    :SND_PULSE_EXE scoid:", Hex, " pid:", Dec, ""),
];

/// A row with its texts in fixed-size arrays, each with its length.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct PaddedRow {
    head: ([u8; 48], u8),
    middle: ([u8; 16], u8),
    /// Text at the end of the line.
    tail: ([u8; 2], u8),
    first: Word,
    second: Word,
}

/// Hand-written printer of slots.
#[derive(Debug, Clone)]
pub struct NativeKev {
    rows: Vec<PaddedRow>,
    /// Index into `rows` by class and event, or [`NONE`].
    by_event: Box<[u8; 1 << 15]>,
}

const NONE: u8 = u8::MAX;

/// CPU as two digits after a blank and its name, and a blank.
static CPUS: [[u8; 8]; 64] = {
    let mut table = [*b" CPU:00 "; 64];
    let mut cpu = 0;
    while cpu < 64 {
        (table[cpu][5], table[cpu][6]) = (b'0' + cpu as u8 / 10, b'0' + cpu as u8 % 10);
        cpu += 1;
    }
    table
};

fn room<const N: usize>(text: &str) -> ([u8; N], u8) {
    let mut bytes = [0; N];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    (bytes, text.len() as u8)
}

impl Default for NativeKev {
    fn default() -> Self {
        let mut printer = Self { rows: Vec::new(), by_event: Box::new([NONE; 1 << 15]) };
        for (class, event, head, first, middle, second, tail) in ROWS {
            printer.by_event[usize::from(class) << 10 | usize::from(event)] = printer.rows.len() as u8;
            let tail = room(&format!("{tail}\n"));
            printer.rows.push(PaddedRow { head: room(head), first, middle: room(middle), second, tail });
        }
        printer
    }
}

impl NativeKev {
    /// Appends the lines of slots; returns how many it could not print.
    pub fn slots(&self, slots: &[u8], text: &mut NativeText) -> usize {
        let (slots, rest) = slots.as_chunks::<SLOT_BYTES>();
        slots.iter().filter(|slot| self.slot(slot, text).is_none()).count() + rest.len()
    }

    #[inline(always)]
    fn slot(&self, slot: &[u8; SLOT_BYTES], text: &mut NativeText) -> Option<()> {
        let [header, stamp, first, second] = *slot.as_chunks::<4>().0 else { return None };
        let header = u32::from_le_bytes(header);
        if header >> 30 != 0 {
            return None;
        }
        let row = self.rows.get(usize::from(self.by_event[header as usize & 0x7FFF]))?;
        // SAFETY: a line takes less than 200 bytes.
        unsafe {
            text.line(|line| {
                line.literal(b"t:0x");
                line.literal(&hex_digits::<LOWER>(u32::from_le_bytes(stamp)));
                line.literal(&CPUS[(header >> 24 & 63) as usize]);
                line.put(&row.head.0, row.head.1.into());
                word(line, row.first, first);
                line.put(&row.middle.0, row.middle.1.into());
                word(line, row.second, second);
                line.put(&row.tail.0, row.tail.1.into());
            });
        }
        Some(())
    }
}

#[inline(always)]
fn word(line: &mut LineWindow<'_>, kind: Word, bytes: [u8; 4]) {
    let value = u32::from_le_bytes(bytes);
    let hex = |line: &mut LineWindow<'_>| {
        line.literal(b"0x");
        line.literal(&hex_digits::<LOWER>(value));
    };
    match kind {
        Dec => line.decimal(value),
        Sequence => line.decimal(value & 0x1FFF),
        Hex => hex(line),
        Pointer => {
            let zeros = (value | 1).leading_zeros() / 4;
            line.put(&hex_digits::<LOWER>(value << (4 * zeros)), 8 - zeros as usize);
        }
        Both => {
            hex(line);
            line.literal(b" (");
            line.decimal(value);
            line.literal(b")");
        }
        Letters => {
            line.literal(b"\"");
            line.literal(&bytes);
            line.literal(b"\" (");
            hex(line);
            line.literal(b")");
        }
    }
}

/// Log of simple events: the part before its slots, and the slots.
pub fn simple_log(n_slots: usize) -> (Vec<u8>, Vec<u8>) {
    let load = KevLoad { slots: n_slots as u64, big_endian: false, seed: 1, combines: false };
    let mut pieces = load.pieces();
    let head = pieces.next().unwrap_or_default();
    (head, pieces.flatten().collect())
}
