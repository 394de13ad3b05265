//! Layout of an event in a trace, and the buffer that templates see.
//!
//! ```text
//! 32-bit kernel   hookword u32 | data | fill to 4 | tid u32 | stamp u32 if t
//! 64-bit kernel   hookword u64 | data | fill to 8 | tid u64 | stamp u64 if T | registers if R | cpu id u64 if P
//! ```
//!
//! All fields are big-endian, and fill counts from the start of the event. Every size follows from the hook word, so
//! reading needs no look-ahead. On the other hand, nothing marks the start of the next event after a malformed one.

use std::fmt;

/// Kernel of the traced system. It determines the width of hook words, thread ids and time stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// 32-bit: 4-byte fields.
    Bits32,
    /// 64-bit: 8-byte fields.
    Bits64,
}

impl Kernel {
    /// Value of `$TRACEENV`: 32 or 64.
    pub const fn env(self) -> u8 {
        match self {
            Kernel::Bits32 => 32,
            Kernel::Bits64 => 64,
        }
    }

    /// Size of a hook word in bytes.
    pub const fn word(self) -> usize {
        self.env() as usize / 8
    }
}

/// Position of the CPU id that `trace -p` adds to events with the P flag. IBM has not published it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CpuidWord {
    /// Last word of the event, after the registers.
    #[default]
    Last,
    /// Between the hook word and the data.
    First,
    /// Between the thread id and the time stamp.
    AfterTid,
    /// The flag adds no word.
    None,
}

/// Longest variable data of a generic event in bytes: the 4096 of a trace buffer, and 12 more for the event of a 64-bit
/// program on a 32-bit kernel.
pub const MAX_GENERIC: usize = 4108;

/// Most data of a non-generic 64-bit event, in bytes.
const MAX_DATA_64: usize = 40;
/// Most data of a non-generic event of a 32-bit program, in bytes; its registers have 4 bytes.
const MAX_DATA_NARROW: usize = 20;

const FLAG_STAMPED: u16 = 0x8000;
const FLAG_GENERIC: u16 = 0x4000;
const FLAG_NARROW: u16 = 0x2000;
const FLAG_CPUID: u16 = 0x1000;
const FLAG_REGISTERS: u16 = 0x0800;
const FLAGS_UNKNOWN: u16 = 0x07F8;

/// Hook that wraps an event of a 64-bit program on a 32-bit kernel.
const HOOK_WRAPPED: u32 = 0x00B;

/// Properties of a trace that determine the layout of events: the kernel's, and the user's options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepRules {
    /// Kernel of the traced system.
    pub kernel: Kernel,
    /// Position of the CPU id.
    pub cpuid_word: CpuidWord,
    /// True to accept generic events longer than `MAX_GENERIC`.
    pub lenient: bool,
    /// True if the data word of a 32-bit program's generic hook in a 64-bit trace has 4 bytes, otherwise 8.
    pub short_generic_word: bool,
}

/// Conversion from the recorded bytes to the buffer that templates see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferConversion {
    /// No conversion: hook word and data, as recorded.
    Plain,
    /// The CPU id between hook word and data is removed.
    Split,
    /// A 32-bit program on a 64-bit kernel (B flag): the event gets a 32-bit hook word.
    Narrow,
    /// A 64-bit program on a 32-bit kernel (hook 00B): the outer hook word is removed.
    Wrapped,
}

/// Parts of a whole event, as byte offsets from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// Size of the event in bytes.
    pub size: usize,
    /// Canonical 16-bit hook id; of the rebuilt hook, if it is rebuilt.
    pub id: u16,
    /// True if templates see a 64-bit hook.
    pub wide: bool,
    /// Conversion to the buffer that templates see.
    pub form: BufferConversion,
    /// Start of the data after the hook word.
    pub data: usize,
    /// Size of the data in bytes, including the data word of a generic event.
    pub n_data: usize,
    /// Thread id.
    pub tid: usize,
    /// Time stamp, if there is one.
    pub stamp: Option<usize>,
    /// CPU id, if there is one.
    pub cpu: Option<usize>,
}

/// Reason why an event is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Hook type 7 of a 32-bit hook word.
    HookType,
    /// Generic event longer than a trace buffer allows.
    GenericLength(usize),
    /// Unknown flags.
    Flags(u16),
    /// Data of a non-generic event that is not a whole number of words.
    Words {
        /// Length in the hook word.
        len: usize,
        /// Size of a word.
        word: usize,
    },
    /// More data than a non-generic event may have.
    TooLong {
        /// Length in the hook word.
        len: usize,
        /// Largest valid length.
        max: usize,
    },
    /// 16-bit id in an event whose rebuilt hook word has room for 12 bits.
    NarrowId(u16),
    /// Hook 00B whose two lengths disagree.
    WrappedLength {
        /// Length in the outer hook word.
        outer: usize,
        /// Length in the inner hook word.
        inner: usize,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Fault::HookType => write!(f, "undefined event type 7, expected 0 to 6"),
            Fault::GenericLength(len) => {
                write!(f, "generic event of {len} bytes, expected at most {MAX_GENERIC}")
            }
            Fault::Flags(flags) => {
                write!(f, "undefined event flags {flags:04X}, expected none of {FLAGS_UNKNOWN:04X}")
            }
            Fault::Words { len, word } => write!(f, "data length {len}, expected a multiple of {word}"),
            Fault::TooLong { len, max } => write!(f, "data length {len}, expected at most {max}"),
            Fault::NarrowId(id) => write!(f, "32-bit hook with the id {id:04X}, expected one that ends in 0"),
            Fault::WrappedLength { outer, inner } => {
                write!(f, "hook 00B of {outer} bytes around an event of {inner}, expected equal lengths")
            }
        }
    }
}

/// Result of parsing the event at the start of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A whole event.
    Whole(Parts),
    /// Start of an event that needs at least this many bytes.
    Short(usize),
    /// Not an event.
    Malformed {
        /// Reason.
        fault: Fault,
        /// Size of the event if it is known anyway, so that it can be skipped.
        size: Option<usize>,
    },
}

const fn round_up(n: usize, multiple: usize) -> usize {
    n.div_ceil(multiple) * multiple
}

#[inline]
fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[inline]
fn be64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

impl StepRules {
    /// Parses the event at the start of `bytes`.
    ///
    /// ```
    /// use tfbc::aix::CpuidWord;
    /// use tfbc::testing::aix::{Kernel, Step, StepRules};
    /// let rules = StepRules { kernel: Kernel::Bits32, cpuid_word: CpuidWord::Last, lenient: false, short_generic_word: false };
    /// let event = [0x01, 0x0a, 0, 0, 0, 0, 0, 10, 0, 0, 0x1a, 0x2b, 0x0f, 0, 0xba, 0x50];
    /// let Step::Whole(parts) = rules.step(&event) else { panic!() };
    /// assert_eq!((parts.size, parts.id, parts.tid, parts.stamp), (16, 0x0100, 8, Some(12)));
    /// assert_eq!(rules.step(&event[..10]), Step::Short(16));
    /// ```
    #[inline]
    pub fn step(&self, bytes: &[u8]) -> Step {
        let stepped = match self.kernel {
            Kernel::Bits32 => self.step32(bytes),
            Kernel::Bits64 => self.step64(bytes),
        };
        match stepped {
            Ok(parts) if parts.size > bytes.len() => Step::Short(parts.size),
            Ok(parts) => Step::Whole(parts),
            // A malformed event of known size is skipped only if all of it is buffered. Otherwise more bytes decide.
            Err(Step::Malformed { fault, size: Some(size) }) if size <= bytes.len() => {
                Step::Malformed { fault, size: Some(size) }
            }
            Err(Step::Malformed { size: Some(size), .. }) => Step::Short(size),
            Err(step) => step,
        }
    }

    #[inline]
    fn step32(&self, bytes: &[u8]) -> Result<Parts, Step> {
        let word = be32(bytes, 0).ok_or(Step::Short(4))?;
        let generic_len = (word & 0xFFFF) as usize;
        let n_data = match word >> 16 & 7 {
            7 => return Err(malformed(Fault::HookType)),
            // A generic hook has one data word before its variable bytes, whose length is in the subhook.
            0 => 4 + self.generic_len(generic_len)?,
            n => 4 * (n as usize - 1),
        };
        let tid = 4 + round_up(n_data, 4);
        let stamp = (word & 0x8_0000 != 0).then_some(tid + 4);
        let parts = Parts {
            size: tid + 4 + if stamp.is_some() { 4 } else { 0 },
            id: ((word >> 20) << 4) as u16,
            wide: false,
            form: BufferConversion::Plain,
            data: 4,
            n_data,
            tid,
            stamp,
            cpu: None,
        };
        if word >> 20 == HOOK_WRAPPED && word >> 16 & 7 == 0 {
            self.unwrap(parts, generic_len, bytes)
        } else {
            Ok(parts)
        }
    }

    /// Unwraps the event in a hook 00B. Its hook word consists of the outer data word and the first variable word.
    fn unwrap(&self, outer: Parts, outer_len: usize, bytes: &[u8]) -> Result<Parts, Step> {
        let skip = |fault| Step::Malformed { fault, size: Some(outer.size) };
        let high = be32(bytes, 4).ok_or(Step::Short(outer.size))?;
        let (flags, len) = ((high >> 16) as u16, (high & 0xFFFF) as usize);
        let generic = flags & FLAG_GENERIC != 0;
        let n_data = len + if generic { 8 } else { 0 };
        // Two lengths describe one event. If they differ, one of them is damaged; the outer one is trusted for the
        // step.
        if outer_len != 4 + n_data {
            return Err(skip(Fault::WrappedLength { outer: outer_len, inner: 4 + n_data }));
        }
        check_flags(flags).map_err(skip)?;
        if !generic {
            check_words(len, 8, MAX_DATA_64).map_err(skip)?;
        }
        let low = be32(bytes, 8).ok_or(Step::Short(outer.size))?;
        Ok(Parts { id: (low >> 16) as u16, wide: true, form: BufferConversion::Wrapped, data: 12, n_data, ..outer })
    }

    #[inline]
    fn step64(&self, bytes: &[u8]) -> Result<Parts, Step> {
        let word = be64(bytes, 0).ok_or(Step::Short(8))?;
        let (flags, len, id) = ((word >> 48) as u16, (word >> 32) as u16 as usize, (word >> 16) as u16);
        check_flags(flags).map_err(malformed)?;
        let narrow = flags & FLAG_NARROW != 0;
        // `b-generic-word` in docs/readings.md.
        let n_data = if flags & FLAG_GENERIC != 0 {
            let word = if narrow && self.short_generic_word { 4 } else { 8 };
            word + self.generic_len(len)?
        } else {
            let (word, max) = if narrow { (4, MAX_DATA_NARROW) } else { (8, MAX_DATA_64) };
            check_words(len, word, max).map_err(malformed)?;
            len
        };
        if narrow && id & 15 != 0 {
            return Err(malformed(Fault::NarrowId(id)));
        }
        Ok(self.place64(flags, id, n_data))
    }

    /// Computes the offsets of the parts. The positions of the P and R words are defined here only.
    #[inline]
    fn place64(&self, flags: u16, id: u16, n_data: usize) -> Parts {
        // IBM has not published where the CPU word is, so it can be moved (`--cpuid-word` in docs/readings.md).
        let place = if flags & FLAG_CPUID != 0 { self.cpuid_word } else { CpuidWord::None };
        let mut at = 8;
        let mut cpu = None;
        // The parts come in a fixed order, and only some are optional. So this code reads like the layout itself.
        let mut take = |bytes: usize| {
            at += bytes;
            at - bytes
        };
        if place == CpuidWord::First {
            cpu = Some(take(8));
        }
        let data = take(round_up(n_data, 8));
        let tid = take(8);
        if place == CpuidWord::AfterTid {
            cpu = Some(take(8));
        }
        let stamp = (flags & FLAG_STAMPED != 0).then(|| take(8));
        // Reports do not show registers, but the CPU word follows them.
        if flags & FLAG_REGISTERS != 0 {
            take(8 * ((flags & 7) as usize + 1));
        }
        if place == CpuidWord::Last {
            cpu = Some(take(8));
        }
        let narrow = flags & FLAG_NARROW != 0;
        // Templates see one buffer of hook word and data. If the CPU word is between the two, it has to be rebuilt.
        let form = match (narrow, place) {
            (true, _) => BufferConversion::Narrow,
            (false, CpuidWord::First) => BufferConversion::Split,
            (false, _) => BufferConversion::Plain,
        };
        Parts { size: at, id, wide: !narrow, form, data, n_data, tid, stamp, cpu }
    }

    fn generic_len(&self, len: usize) -> Result<usize, Step> {
        if len > MAX_GENERIC && !self.lenient { Err(malformed(Fault::GenericLength(len))) } else { Ok(len) }
    }

    /// Reads the number at one of the offsets of [`Parts`].
    #[inline]
    pub fn number(&self, event: &[u8], at: usize) -> u64 {
        match self.kernel {
            Kernel::Bits32 => be32(event, at).unwrap_or(0).into(),
            Kernel::Bits64 => be64(event, at).unwrap_or(0),
        }
    }
}

fn malformed(fault: Fault) -> Step {
    Step::Malformed { fault, size: None }
}

#[inline]
fn check_flags(flags: u16) -> Result<(), Fault> {
    if flags & FLAGS_UNKNOWN != 0 { Err(Fault::Flags(flags)) } else { Ok(()) }
}

#[inline]
fn check_words(len: usize, word: usize, max: usize) -> Result<(), Fault> {
    if !len.is_multiple_of(word) {
        Err(Fault::Words { len, word })
    } else if len > max {
        Err(Fault::TooLong { len, max })
    } else {
        Ok(())
    }
}

/// Returns the buffer that templates see: hook word and data, rebuilt in `scratch` if the recorded bytes differ.
///
/// ```
/// use tfbc::aix::CpuidWord;
/// use tfbc::testing::aix::{Kernel, Step, StepRules, present};
/// let rules = StepRules { kernel: Kernel::Bits64, cpuid_word: CpuidWord::Last, lenient: false, short_generic_word: false };
/// // A 32-bit program's event with one word on a 64-bit kernel.
/// let mut event = vec![0x20, 0, 0, 4, 0x50, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0];
/// event.extend([0; 8]);
/// let Step::Whole(parts) = rules.step(&event) else { panic!() };
/// assert_eq!(present(&event, &parts, &mut Vec::new()), [0x50, 0x02, 0, 5, 0, 0, 0, 1]);
/// ```
#[inline]
pub fn present<'e>(event: &'e [u8], parts: &Parts, scratch: &'e mut Vec<u8>) -> &'e [u8] {
    match parts.form {
        BufferConversion::Plain => &event[..parts.data + parts.n_data],
        BufferConversion::Wrapped => &event[4..parts.data + parts.n_data],
        BufferConversion::Split => {
            scratch.clear();
            scratch.extend_from_slice(&event[..8]);
            scratch.extend_from_slice(&event[parts.data..parts.data + parts.n_data]);
            scratch
        }
        BufferConversion::Narrow => {
            present_narrow(event, parts, scratch);
            scratch
        }
    }
}

/// Rebuilds an event with a 32-bit hook word and 4-byte data words. The data word of a generic event is the low half of
/// the recorded one.
fn present_narrow(event: &[u8], parts: &Parts, scratch: &mut Vec<u8>) {
    // The 64-bit kernel records such an event with its own hook word; the template was written for one of 32 bits.
    let word = be64(event, 0).unwrap_or(0);
    let (flags, len, subhook) = ((word >> 48) as u16, (word >> 32) as u16, word as u16);
    let stamped = if flags & FLAG_STAMPED != 0 { 8 } else { 0 };
    let generic = flags & FLAG_GENERIC != 0;
    // The length of a generic event does not count its data word, of which only the low half is shown.
    let skip = if generic { parts.n_data.saturating_sub(usize::from(len) + 4) } else { 0 };
    let (hook_type, low) = if generic { (stamped, len) } else { (stamped | (1 + len / 4), subhook) };
    let hook_word = u32::from(parts.id) << 16 | u32::from(hook_type) << 16 | u32::from(low);
    scratch.clear();
    scratch.extend_from_slice(&hook_word.to_be_bytes());
    scratch.extend_from_slice(&event[parts.data + skip..parts.data + parts.n_data]);
}
