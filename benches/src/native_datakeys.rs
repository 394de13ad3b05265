//! Hand-written decoder of the user event load, the baseline for the machine.
//!
//! It prints the same as the datakeys of [`crate::definitions`], and knows their labels, enums and layouts at compile
//! time. An enum is a table lookup, and the texts of mask enums are joined beforehand. It stores without bounds checks into
//! the line of `native.rs`.
#![expect(unsafe_code, reason = "the limit that the machine is compared with has no bounds checks")]

use std::ops::ControlFlow;

use tfbc_vm::Event;

use crate::UserEvent;
use crate::datakeys::{AREAS, FAULTS, N_CODES, code};
use crate::native::{ASCII_ZEROS, LOWER, LineWindow, NativeText, WINDOW, hex_digits};

/// Texts by index, each after `before`; the last byte is the length.
const fn labels<const N: usize, const LEN: usize>(before: &str, texts: [&str; N]) -> [[u8; LEN]; N] {
    let mut table = [[0; LEN]; N];
    let mut i = 0;
    while i < N {
        table[i] = append([0; LEN], &[before, texts[i]]);
        i += 1;
    }
    table
}

/// Appends other texts to a text; the last byte is the length.
const fn append<const LEN: usize>(mut text: [u8; LEN], others: &[&str]) -> [u8; LEN] {
    let mut at = text[LEN - 1] as usize;
    let mut i = 0;
    while i < others.len() {
        let bytes = others[i].as_bytes();
        let mut from = 0;
        while from < bytes.len() {
            text[at] = bytes[from];
            (at, from) = (at + 1, from + 1);
        }
        i += 1;
    }
    assert!(at < LEN);
    text[LEN - 1] = at as u8;
    text
}

/// For each bit pattern, the texts of the set bits, each after a blank.
const fn flags<const N: usize, const LEN: usize>(texts: &[&str], none: &str) -> [[u8; LEN]; N] {
    let mut table = [[0; LEN]; N];
    let mut bits = 0;
    while bits < N {
        let mut bit = 0;
        while bit < texts.len() {
            if bits >> bit & 1 == 1 {
                table[bits] = append(table[bits], &[" ", texts[bit]]);
            }
            bit += 1;
        }
        if bits == 0 {
            table[bits] = append(table[bits], &[none]);
        }
        bits += 1;
    }
    table
}

static VALUES: [[u8; 8]; 8] = labels(" ", ["zero", "one", "two", "three", "four", "five", "six", "seven"]);
static COMMANDS: [[u8; 32]; 8] = flags(&["1_bit_8", "1_bit_9", "1_bit_10"], " 1_default");
static SECOND_COMMANDS: [[u8; 16]; 5] = labels(" ", ["2_default", "2_val_1", "2_val_2", "2_default", "2_val_3"]);
static STATUSES: [[u8; 16]; 6] = labels(" ", ["idle", "starting", "ready", "busy", "draining", "stopped"]);
static STATES: [[u8; 32]; 8] =
    labels(" ", ["IDLE", "ATTACH", "ALLOCATE_BUFFER", "REQUEST_RENDER", "RENDER_DONE", "POST", "VSYNC_WAIT", "DETACH"]);
static FLAGS: [[u8; 48]; 64] = flags(&["READ", "WRITE", "ASYNC", "URGENT", "LAST", "ERROR"], "");
static PHASES: [[u8; 16]; 6] = labels(":", ["INIT", "CONFIGURE", "RUN", "SUSPEND", "RESUME", "SHUTDOWN"]);

/// Names of the codes, each after a blank.
static CODE_NAMES: [[u8; 16]; N_CODES] = {
    let mut table = [[0; 16]; N_CODES];
    let mut i = 0;
    while i < N_CODES {
        table[i] = append([0; 16], &[" ", AREAS[i % 8], "_", FAULTS[i / 8]]);
        i += 1;
    }
    table
};

/// Multiplier with which no two codes share a slot of [`CODE_SLOTS`].
const CODE_MULTIPLIER: u32 = {
    let mut multiplier: u32 = 0x9E37_79B1;
    while !tells_codes_apart(multiplier) {
        multiplier = multiplier.wrapping_mul(0x0019_660D).wrapping_add(2);
    }
    multiplier
};

const CODE_BITS: u32 = 11;

const fn tells_codes_apart(multiplier: u32) -> bool {
    let mut taken = [false; 1 << CODE_BITS];
    let mut i = 0;
    while i < N_CODES {
        let slot = code_slot(code(i), multiplier);
        if taken[slot] {
            return false;
        }
        taken[slot] = true;
        i += 1;
    }
    true
}

const fn code_slot(code: u32, multiplier: u32) -> usize {
    (code.wrapping_mul(multiplier) >> (32 - CODE_BITS)) as usize
}

/// Index of the code in each slot.
static CODE_SLOTS: [u8; 1 << CODE_BITS] = {
    let mut slots = [0; 1 << CODE_BITS];
    let mut i = 0;
    while i < N_CODES {
        slots[code_slot(code(i), CODE_MULTIPLIER)] = i as u8;
        i += 1;
    }
    slots
};

static CODES: [u32; N_CODES] = {
    let mut codes = [0; N_CODES];
    let mut i = 0;
    while i < N_CODES {
        codes[i] = code(i);
        i += 1;
    }
    codes
};

/// Maximum bytes of a payload that are read, so that the line fits into its window.
const LONGEST: usize = 96;

/// Byte as lower-case hex digits, and their count.
static HEX_BYTE: [[u8; 4]; 256] = {
    let digits = b"0123456789abcdef";
    let mut table = [[0; 4]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (high, low) = (digits[byte >> 4], digits[byte & 15]);
        table[byte] = if byte < 16 { [low, 0, 0, 1] } else { [high, low, 0, 2] };
        byte += 1;
    }
    table
};

impl NativeText {
    /// Appends the line of one record. Returns `None`, without output, for a record that is too short, of another
    /// event, or with a text that needs escapes.
    pub fn record(&mut self, event: &Event<'_>) -> Option<()> {
        const VALUE: u16 = UserEvent::Value.id();
        const MASKS: u16 = UserEvent::Masks.id();
        const BITS: u16 = UserEvent::Bits.id();
        const STATE: u16 = UserEvent::State.id();
        const NUMBERS: u16 = UserEvent::Numbers.id();
        const NAME: u16 = UserEvent::Name.id();
        const CONDITIONS: u16 = UserEvent::Conditions.id();
        const CODES: u16 = UserEvent::Codes.id();
        const OCTAL: u16 = UserEvent::Octal.id();
        const ADDRESS: u16 = UserEvent::Address.id();
        const MESSAGE: u16 = UserEvent::Message.id();
        const PHASES: u16 = UserEvent::Phases.id();

        let (payload, rest): (&[u8; 8], _) = event.bytes.get(..event.bytes.len().min(LONGEST))?.split_first_chunk()?;
        let payload = u64::from_le_bytes(*payload);
        // SAFETY: a line takes less than 300 bytes, since the payload is cut.
        let mut line = unsafe { self.window(WINDOW) };
        match event.record?.event {
            VALUE => value(payload, &mut line),
            MASKS => masks(payload, &mut line),
            BITS => bits(payload, &mut line),
            STATE => state(payload, &mut line),
            NUMBERS => numbers(payload, &mut line),
            NAME => name(payload, rest, &mut line)?,
            CONDITIONS => conditions(payload, &mut line),
            CODES => codes(payload, &mut line),
            OCTAL => octal(payload, &mut line),
            ADDRESS => address(payload, &mut line),
            MESSAGE => message(payload, rest, &mut line)?,
            PHASES => phases(payload, &mut line),
            _ => return None,
        }
        line.literal(b"\n");
        let n = line.n_bytes();
        self.len += n;
        Some(())
    }
}

fn value(payload: u64, line: &mut LineWindow<'_>) {
    let value = payload as u32;
    line.literal(b"mydata:0x");
    line.hex_min(value);
    line.label(VALUES.get(value as usize));
}

fn masks(payload: u64, line: &mut LineWindow<'_>) {
    let (first, second) = (payload as u16, (payload >> 16) as u16);
    line.literal(b"ipicmd:0x");
    line.hex_min(first.into());
    line.label(Some(&COMMANDS[usize::from(first >> 8 & 7)]));
    line.literal(b" ipicmd2:0x");
    line.hex_min(second.into());
    line.label(Some(SECOND_COMMANDS.get(usize::from(second)).unwrap_or(&SECOND_COMMANDS[0])));
}

fn bits(payload: u64, line: &mut LineWindow<'_>) {
    line.literal(b"command:0x");
    line.hex_byte((payload >> 8) as u8);
    line.literal(b" argument:0x");
    line.hex_byte(payload as u8);
    line.literal(b" status:0x");
    let status = (payload >> 36) as u8 & 7;
    line.hex_byte(status);
    line.label(STATUSES.get(usize::from(status)));
}

fn state(payload: u64, line: &mut LineWindow<'_>) {
    let state = payload as u32;
    line.literal(b"state:0x");
    line.hex_min(state);
    line.label(STATES.get(state as usize));
    line.literal(b" seq_id:");
    line.signed((payload >> 32) as i32);
}

fn numbers(payload: u64, line: &mut LineWindow<'_>) {
    line.literal(b"seq_id:");
    line.signed(payload as i32);
    line.literal(b" latency:");
    line.signed((payload >> 32) as i32);
}

fn name(payload: u64, rest: &[u8], line: &mut LineWindow<'_>) -> Option<()> {
    line.literal(b"pid:");
    line.decimal(payload as u32);
    line.literal(b" name:");
    // The first four bytes of the text are in the same word as the number.
    match line.piece::<4>(payload >> 32 | 0x2020_2020 << 32) {
        ControlFlow::Continue(()) => line.text(rest),
        ControlFlow::Break(end) => end,
    }
}

fn conditions(payload: u64, line: &mut LineWindow<'_>) {
    let (kind, second) = (payload as u8, (payload >> 32) as u32);
    line.literal(b"kind:0x");
    line.hex_byte(kind);
    line.literal(b" unit:");
    line.decimal((payload >> 8) as u8 as u32);
    if kind & 1 == 1 {
        line.literal(b" length:");
        line.decimal(second);
    } else {
        line.literal(b" error:");
        line.signed(second as i32);
    }
}

fn codes(payload: u64, line: &mut LineWindow<'_>) {
    let code = payload as u32;
    line.literal(b"code:0x");
    line.hex_min(code);
    let index = usize::from(CODE_SLOTS[code_slot(code, CODE_MULTIPLIER)]);
    match CODES.get(index) {
        Some(known) if *known == code => line.label(CODE_NAMES.get(index)),
        _ => line.literal(b" unknown"),
    }
}

fn octal(payload: u64, line: &mut LineWindow<'_>) {
    line.literal(b"mode:0");
    line.octal(payload as u32);
    line.literal(b" uid:");
    line.decimal((payload >> 32) as u32);
}

fn address(payload: u64, line: &mut LineWindow<'_>) {
    line.literal(b"address:0x");
    line.hex_min_long(payload);
}

fn message(payload: u64, rest: &[u8], line: &mut LineWindow<'_>) -> Option<()> {
    let (address, text) = rest.split_first_chunk()?;
    line.literal(b"channel:");
    line.decimal(payload as u32);
    line.literal(b" flags:0x");
    let flags = (payload >> 32) as u32;
    line.hex_min(flags);
    line.label(Some(&FLAGS[(flags & 63) as usize]));
    line.literal(b" address:0x");
    line.hex_min_long(u64::from_le_bytes(*address));
    line.literal(b" text:");
    line.text(text)
}

fn phases(payload: u64, line: &mut LineWindow<'_>) {
    line.literal(b"phase");
    line.phase(payload as u8);
    line.literal(b" next");
    line.phase((payload >> 8) as u8);
    line.literal(b" level:");
    line.signed(((payload >> 16) as i16).into());
}

impl LineWindow<'_> {
    /// Appends lower-case hex without leading zeros.
    #[inline(always)]
    fn hex_min(&mut self, value: u32) {
        if let Some(byte) = HEX_BYTE.get(value as usize) {
            return self.put(byte, usize::from(byte[3]));
        }
        let n_digits = (35 - (value | 1).leading_zeros()) / 4;
        self.put(&hex_digits::<LOWER>(value << (32 - 4 * n_digits)), n_digits as usize);
    }

    #[inline(always)]
    fn hex_min_long(&mut self, value: u64) {
        let high = (value >> 32) as u32;
        if high == 0 {
            return self.hex_min(value as u32);
        }
        self.hex_min(high);
        self.literal(&hex_digits::<LOWER>(value as u32));
    }

    #[inline(always)]
    fn hex_byte(&mut self, byte: u8) {
        let digits = &HEX_BYTE[usize::from(byte)];
        self.put(digits, usize::from(digits[3]));
    }

    #[inline(always)]
    fn signed(&mut self, value: i32) {
        if value < 0 {
            self.literal(b"-");
        }
        self.decimal(value.unsigned_abs());
    }

    /// Appends the digits of an octal number after its `0`; none for zero.
    #[inline(always)]
    fn octal(&mut self, value: u32) {
        if value >> 24 == 0 {
            let digits = octal_digits(value);
            let leading_zeros = digits.trailing_zeros() & !7;
            let text = (digits | ASCII_ZEROS).checked_shr(leading_zeros).unwrap_or(0);
            return self.put(&text.to_le_bytes(), 8 - leading_zeros as usize / 8);
        }
        self.octal(value >> 24);
        self.put(&(octal_digits(value & 0xff_ffff) | ASCII_ZEROS).to_le_bytes(), 8);
    }

    /// Appends an enum's text after a blank, if there is one.
    #[inline(always)]
    fn label<const LEN: usize>(&mut self, label: Option<&[u8; LEN]>) {
        if let Some(label) = label {
            self.put(label, usize::from(label[LEN - 1]));
        }
    }

    /// Appends the name of a phase after a colon, or its number.
    #[inline(always)]
    fn phase(&mut self, phase: u8) {
        let label = PHASES.get(usize::from(phase));
        self.label(label);
        if label.is_none() {
            self.literal(b":0x");
            self.hex_byte(phase);
        }
    }

    /// Appends a text up to its NUL or end; `None` if a byte needs an escape.
    #[inline(always)]
    fn text(&mut self, text: &[u8]) -> Option<()> {
        for eight in text.as_chunks::<8>().0 {
            if let ControlFlow::Break(end) = self.piece::<8>(u64::from_le_bytes(*eight)) {
                return end;
            }
        }
        Some(())
    }

    /// Appends the first `N` bytes of eight. Breaks at a NUL, or with `None` at a byte that needs an escape.
    #[inline(always)]
    fn piece<const N: usize>(&mut self, piece: u64) -> ControlFlow<Option<()>> {
        const EACH: u64 = u64::MAX / 255;
        let low = piece & (EACH * 0x7F);
        let special = (!(low + EACH * 0x60) | (low + EACH)) & !piece & EACH << 7;
        let n = (special.trailing_zeros() / 8) as usize;
        self.put(&piece.to_le_bytes(), n.min(N));
        if n >= N {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(((piece >> (8 * n)) as u8 == 0).then_some(()))
    }
}

/// Eight octal digits of a number below 2^24, one per byte, the first in the lowest byte.
#[inline(always)]
pub(crate) fn octal_digits(value: u32) -> u64 {
    let value = u64::from(value);
    let fours = value >> 12 | (value & 0o7777) << 32;
    let twos = fours >> 6 & 0x0000_003F_0000_003F | (fours & 0x0000_003F_0000_003F) << 16;
    twos >> 3 & 0x0007_0007_0007_0007 | (twos & 0x0007_0007_0007_0007) << 8
}
