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
        // Most are stamped and have up to five words: flags 8000, and a length of 8 times 0 to 5.
        let n_words = ((word >> 32) as u32 ^ 0x8000_0000).rotate_right(3) as usize;
        if n_words <= 5 {
            let n_presented = 8 + 8 * n_words;
            let recorded = bytes.get(..n_presented + 16)?;
            let (tid, ticks) = recorded.last_chunk::<16>()?.split_at(8);
            let [tid, ticks] = [tid, ticks].map(|word| word.first_chunk().map_or(0, |word| u64::from_be_bytes(*word)));
            let id = (word >> 16) as u16;
            return Some(Self { recorded, n_presented, id, wide: true, tid, ticks: Some(ticks), cpu: None });
        }
        Self::any64(bytes, word, takes_cpu)
    }

    /// Any other ordinary event with a hook word.
    #[inline]
    fn any64(bytes: &'t [u8], word: u64, takes_cpu: bool) -> Option<Self> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::Tally;
    use crate::reader::aix::step::{Form, Step, StepRules, present};
    use crate::reader::aix::{Input, Item, ReadOptions};

    const PLACES: [CpuidWord; 4] = [CpuidWord::Last, CpuidWord::First, CpuidWord::AfterTid, CpuidWord::None];

    /// Lengths and subhooks: those of small events, and those about the limit of generic ones.
    fn lengths() -> impl Iterator<Item = u16> {
        (0..50).chain([4095, 4096, 4107, 4108, 4109, 4110, 0xFFFF])
    }

    /// Both ways of stepping agree on the event at the start of some bytes, whole or cut anywhere about its end.
    fn check(rules: &StepRules, bytes: &[u8], is_ordinary: impl Fn(Form) -> bool) {
        let size = match rules.step(bytes) {
            Step::Whole(parts) => parts.size,
            _ => bytes.len(),
        };
        for len in [0, 3, 4, 7, 8, size - 8, size - 5, size - 4, size - 1, size, bytes.len()] {
            let bytes = &bytes[..len];
            let found = match rules.kernel {
                Kernel::Bits32 => Ordinary::first32(bytes),
                Kernel::Bits64 => Ordinary::first64(bytes, rules.cpuid_word == CpuidWord::Last),
            };
            let found = found.map(|event| {
                let Ordinary { recorded, n_presented, id, wide, tid, ticks, cpu } = event;
                (recorded.len(), &recorded[..n_presented], id, wide, tid, ticks, cpu)
            });
            let mut scratch = Vec::new();
            let expected = match rules.step(bytes) {
                Step::Whole(parts) if is_ordinary(parts.form) => {
                    let number = |at| rules.number(bytes, at);
                    let cpu = parts.cpu.map(|at| number(at) & 0xFFFF_FFFF);
                    let presented = present(bytes, &parts, &mut scratch);
                    Some((parts.size, presented, parts.id, parts.wide, number(parts.tid), parts.stamp.map(number), cpu))
                }
                _ => None,
            };
            assert_eq!(found, expected, "{:02x?} of {len} bytes, {rules:?}", &bytes[..len.min(8)]);
        }
    }

    /// Bytes to stand behind a hook word, of which no two words are the same.
    fn filling() -> Vec<u8> {
        (0..600u64).flat_map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 << 63).to_be_bytes()).collect()
    }

    #[test]
    fn ordinary_events_of_64_bit_kernels_are_those_that_stepping_presents_as_they_stand() {
        let filling = filling();
        for flags in (0..32u16).flat_map(|flags| [0, 1, 7, 8, 0x400].map(|low| flags << 11 | low)) {
            for (len, id) in lengths().flat_map(|len| [0x0100, 0x5001].map(|id| (len, id))) {
                let word = u64::from(flags) << 48 | u64::from(len) << 32 | id << 16 | 9;
                let bytes = [&word.to_be_bytes(), &filling[..]].concat();
                for cpuid_word in PLACES {
                    let rules = StepRules { kernel: Kernel::Bits64, cpuid_word, lenient: false };
                    // Registers, and cpu ids that are looked for elsewhere, are left to stepping.
                    let plain_flags = flags & 0x0800 == 0 && (flags & 0x1000 == 0 || cpuid_word == CpuidWord::Last);
                    check(&rules, &bytes, |form| form == Form::Plain && plain_flags && flags & 7 == 0);
                }
            }
        }
    }

    #[test]
    fn ordinary_events_of_32_bit_kernels_are_those_that_stepping_presents_as_they_stand() {
        let filling = filling();
        for (hook_type, id) in (0..16).flat_map(|hook_type| [0x010, 0x00B, 0x500, 0xFFF].map(|id| (hook_type, id))) {
            for len in lengths() {
                let word = id << 20 | hook_type << 16 | u32::from(len);
                let bytes = [&word.to_be_bytes(), &filling[..]].concat();
                let rules = StepRules { kernel: Kernel::Bits32, cpuid_word: CpuidWord::Last, lenient: false };
                check(&rules, &bytes, |form| form == Form::Plain);
            }
        }
    }

    #[test]
    fn events_that_are_kept_stand_where_their_visits_were_told() {
        let event = |n: u64| {
            let n_words = n % 3;
            let head = 0x8000_0000_0100_0000 | (n_words * 8) << 32;
            [&[head][..], &[n; 3][..n_words as usize], &[7, n]]
                .concat()
                .iter()
                .flat_map(|word| word.to_be_bytes())
                .collect()
        };
        let events: Vec<Vec<u8>> = (0..12).map(event).collect();
        let offset_of = |n: usize| 4 + events[..n].iter().map(|event| event.len() as u64).sum::<u64>();
        let bytes = [&[0xEF, 0xDF, 0x11, 0x14], &events.concat()[..]].concat();
        let mut trace = Trace::from_input("x", Input::from_bytes(bytes), &ReadOptions::default()).unwrap();
        let mut kept = b"before".to_vec();
        // What is said of the trace comes before its events.
        trace.ordinary(&mut kept, |_, _| panic!("the events have not begun"));
        assert!(matches!(trace.next().unwrap(), Some(Item::Notice(_))));
        trace.ordinary(&mut kept, |_, _| panic!("the events have not begun"));
        assert!(matches!(trace.next().unwrap(), Some(Item::Event(first)) if first.number == 1));

        let visits = [Visit::Keep, Visit::Pass, Visit::Keep, Visit::Keep, Visit::Pass, Visit::Pass, Visit::Keep];
        let mut seen = Vec::new();
        trace.ordinary(&mut kept, |event, stand| {
            seen.push((event.recorded.to_vec(), stand));
            visits.get(seen.len() - 1).copied().unwrap_or(Visit::Leave)
        });
        let kept_ones = [1, 3, 4, 7].map(|n: usize| events[n].clone()).concat();
        assert_eq!(kept, [b"before", &kept_ones[..]].concat());
        for (at, (recorded, Stand { number, offset, kept: place })) in seen.iter().enumerate() {
            assert_eq!((recorded, *number, *offset), (&events[at + 1], at as u64 + 2, offset_of(at + 1)));
            if visits.get(at) == Some(&Visit::Keep) {
                assert!(kept[*place..].starts_with(recorded), "event {number} is not kept at {place}");
            }
        }
        assert_eq!(seen.len(), visits.len() + 1);
        // The one that was left comes next.
        assert!(
            matches!(trace.next().unwrap(), Some(Item::Event(left)) if (left.number, left.offset) == (9, offset_of(8)))
        );

        kept.clear();
        trace.ordinary(&mut kept, |_, _| Visit::KeepLast);
        assert_eq!(kept, events[9]);
        kept.clear();
        trace.ordinary(&mut kept, |_, _| Visit::Pass);
        assert_eq!((kept.len(), trace.n_events()), (0, 12));
        assert!(trace.next().unwrap().is_none());
        let n: u64 = events.iter().map(|event| event.len() as u64).sum();
        assert_eq!(trace.tally(), Tally { read: 4 + n, header: 4, events: n, skipped: 0 });
    }

    #[test]
    fn events_with_a_cpu_id_are_ordinary_where_it_is_their_last_word() {
        let event = [0x9000_0000_0100_0000, 7, 10, 3].map(u64::to_be_bytes).concat();
        for cpuid_word in PLACES {
            let event = if cpuid_word == CpuidWord::None { &event[..24] } else { &event };
            let bytes = [&[0xEF, 0xDF, 0x11, 0x14], event, event].concat();
            let options = ReadOptions { cpuid_word, ..ReadOptions::default() };
            let mut trace = Trace::from_input("x", Input::from_bytes(bytes), &options).unwrap();
            while !matches!(trace.next().unwrap(), Some(Item::Event(_))) {}
            let mut cpus = Vec::new();
            trace.ordinary(&mut Vec::new(), |event, _| {
                cpus.push(event.cpu);
                Visit::Pass
            });
            let expected: &[_] = if cpuid_word == CpuidWord::Last { &[Some(3)] } else { &[] };
            assert_eq!(cpus, expected, "{cpuid_word:?}");
        }
    }
}
