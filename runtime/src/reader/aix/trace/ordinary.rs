//! Ordinary events: plain or generic ones of their kernel, of which whole runs are stepped over without looking back.

use super::Trace;
use crate::reader::aix::step::{CpuidWord, Kernel, MAX_GENERIC};

/// What is done with the ordinary events of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Way {
    /// They are left to be read one by one.
    #[default]
    Leave,
    /// They are passed over.
    Pass,
    /// They are given out.
    Take,
}

/// What is done with the ordinary events of every id.
#[derive(Debug, Clone)]
pub(crate) struct Ways([Way; 1 << 16]);

impl Default for Ways {
    fn default() -> Self {
        Self([Way::Leave; 1 << 16])
    }
}

impl Ways {
    /// What is done with the events of a canonical id.
    #[inline]
    pub fn of(&self, id: u16) -> Way {
        self.0[usize::from(id)]
    }

    /// Settles what is done with them.
    pub fn set(&mut self, id: u16, way: Way) {
        self.0[usize::from(id)] = way;
    }
}

/// What comes of an event that was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visit {
    /// It is left where it stands, and the run ends before it.
    Leave,
    /// It is passed over.
    Pass,
    /// Its bytes are kept.
    Keep,
    /// Its bytes are kept, and the run ends behind it.
    KeepLast,
}

/// An ordinary event, whole.
#[derive(Debug, Clone, Copy)]
pub(in crate::reader::aix) struct Ordinary<'t> {
    /// The event as it stands in the file; templates see its first bytes.
    pub recorded: &'t [u8],
    /// How many of them templates see.
    pub n_presented: usize,
    pub id: u16,
    pub wide: bool,
    pub tid: u64,
    /// The raw time stamp.
    pub ticks: Option<u64>,
    pub cpu: Option<u64>,
}

const STAMPED: u64 = 0x8000;
const GENERIC: u64 = 0x4000;
const CPUID: u64 = 0x1000;

impl<'t> Ordinary<'t> {
    /// The event at the start of some bytes, if it is one.
    ///
    /// ```text
    /// flags 16 | length 16 | id 16 | subhook 16
    /// ```
    #[inline(always)]
    fn first64(bytes: &'t [u8], takes_cpu: bool) -> Option<Self> {
        let word = u64::from_be_bytes(*bytes.first_chunk()?);
        let (flags, len, id) = (word >> 48, (word >> 32) as usize & 0xFFFF, (word >> 16) as u16);
        let has_cpu = flags & CPUID != 0;
        if flags & !(STAMPED | GENERIC | CPUID) != 0 || (has_cpu && !takes_cpu) {
            return None;
        }
        let generic = flags & GENERIC != 0;
        if generic && len > MAX_GENERIC || !generic && (len & 7 != 0 || len > 40) {
            return None;
        }
        let n_presented = 8 + len + if generic { 8 } else { 0 };
        let (tid, behind) = bytes.get((n_presented + 7) & !7..)?.split_first_chunk()?;
        let (ticks, behind) = if flags & STAMPED != 0 {
            let (ticks, behind) = behind.split_first_chunk()?;
            (Some(u64::from_be_bytes(*ticks)), behind)
        } else {
            (None, behind)
        };
        let (cpu, behind) = if has_cpu {
            let (cpu, behind) = behind.split_first_chunk()?;
            (Some(u64::from_be_bytes(*cpu) & 0xFFFF_FFFF), behind)
        } else {
            (None, behind)
        };
        let recorded = &bytes[..bytes.len() - behind.len()];
        Some(Self { recorded, n_presented, id, wide: true, tid: u64::from_be_bytes(*tid), ticks, cpu })
    }

    /// The same for a 32-bit kernel.
    ///
    /// ```text
    /// id 12 | stamped 1 | words and 1, or 0 for a generic event: 3 | length or subhook 16
    /// ```
    #[inline(always)]
    fn first32(bytes: &'t [u8]) -> Option<Self> {
        const WRAPPED: u32 = 0x00B0_0000;
        let word = u32::from_be_bytes(*bytes.first_chunk()?);
        let (n_words, len) = ((word >> 16 & 7) as usize, (word & 0xFFFF) as usize);
        let generic = n_words == 0;
        if n_words == 7 || (generic && (len > MAX_GENERIC || word & 0xFFF0_0000 == WRAPPED)) {
            return None;
        }
        let n_presented = if generic { 8 + len } else { 4 * n_words };
        let (tid, behind) = bytes.get((n_presented + 3) & !3..)?.split_first_chunk()?;
        let (ticks, behind) = if word & 0x8_0000 != 0 {
            let (ticks, behind) = behind.split_first_chunk()?;
            (Some(u32::from_be_bytes(*ticks).into()), behind)
        } else {
            (None, behind)
        };
        let recorded = &bytes[..bytes.len() - behind.len()];
        let (id, tid) = ((word >> 16) as u16 & 0xFFF0, u32::from_be_bytes(*tid).into());
        Some(Self { recorded, n_presented, id, wide: false, tid, ticks, cpu: None })
    }
}

/// Where a visited event stands.
#[derive(Debug, Clone, Copy)]
pub(in crate::reader::aix) struct Stand {
    /// Place in the trace, from 1.
    pub number: u64,
    /// Offset in the file.
    pub offset: u64,
    /// Where its bytes are kept, if they are.
    pub kept: usize,
}

impl Trace {
    /// Visits ordinary events in a row, as far as they are at hand. Kept bytes are appended to `kept`. What follows is
    /// for [`Trace::next`].
    #[inline]
    pub(in crate::reader::aix) fn ordinary(
        &mut self,
        kept: &mut Vec<u8>,
        mut visit: impl FnMut(&Ordinary<'_>, Stand) -> Visit,
    ) {
        self.step_on();
        if !self.in_area || !self.notices.is_empty() {
            return;
        }
        let wide = self.rules.kernel == Kernel::Bits64;
        let takes_cpu = self.rules.cpuid_word == CpuidWord::Last;
        let (bytes, offset) = (self.window.bytes(), self.window.offset());
        let (mut at, mut number) = (0, self.number);
        // Where the bytes begin that are to be kept.
        let mut run = 0;
        while let Some(left) = bytes.get(at..)
            && let Some(event) = if wide { Ordinary::first64(left, takes_cpu) } else { Ordinary::first32(left) }
        {
            let stand = Stand { number: number + 1, offset: offset + at as u64, kept: kept.len() + (at - run) };
            let visited = visit(&event, stand);
            if visited == Visit::Leave {
                break;
            }
            let end = at + event.recorded.len();
            number += 1;
            if visited == Visit::Pass {
                if run < at {
                    kept.extend_from_slice(&bytes[run..at]);
                }
                run = end;
            }
            at = end;
            if visited == Visit::KeepLast {
                break;
            }
        }
        kept.extend_from_slice(&bytes[run..at]);
        self.number = number;
        self.window.consume(at);
        self.tally.read += at as u64;
        self.tally.events += at as u64;
    }
}
