//! Fast path for the common encodings, plain and generic events of the kernel's own width: a run of them is decoded in
//! one loop.

use super::{LARGE_EVENT, RawEvent, Trace};
use crate::general_path;
use crate::reader::aix::step::{CpuidWord, Kernel, MAX_GENERIC, Parts, Step};
use crate::reader::window::SharedBuf;
use tfbc_vm::Env;

/// Treatment of the common events of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SkipAction {
    /// Left to the slow path.
    #[default]
    Leave,
    /// Passed to the visitor.
    Take,
    /// Skipped.
    Pass,
}

/// Treatment of common events by id.
#[derive(Debug, Clone)]
pub(crate) struct SkipPolicy([SkipAction; 1 << 16]);

impl Default for SkipPolicy {
    fn default() -> Self {
        Self([SkipAction::Leave; 1 << 16])
    }
}

impl SkipPolicy {
    /// Treatment of the events of a canonical id.
    #[inline]
    pub fn of(&self, id: u16) -> SkipAction {
        self.0[usize::from(id)]
    }

    /// Sets the treatment of the events of a canonical id.
    pub fn set(&mut self, id: u16, action: SkipAction) {
        self.0[usize::from(id)] = action;
    }
}

/// Verdict of the caller on an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VisitResult {
    /// The event is not consumed, and the run ends before it.
    Leave,
    /// The event is consumed, and the run continues.
    Next,
    /// The event is consumed, and the run ends after it.
    Last,
}

/// A whole event in a common encoding.
#[derive(Debug, Clone, Copy)]
pub(in crate::reader::aix) struct CommonEvent<'t> {
    /// Recorded bytes; templates see the first `n_presented` of them.
    pub recorded: &'t [u8],
    /// Number of bytes that templates see.
    pub n_presented: usize,
    pub id: u16,
    pub env: Env,
    pub tid: u64,
    /// Raw time stamp.
    pub ticks: Option<u64>,
    pub cpu: Option<u64>,
}

/// Size of the largest event that [`CommonEvent::fast64`] decodes, in bytes.
const MAX_FAST: usize = 64;

const STAMPED: u64 = 0x8000;
const GENERIC: u64 = 0x4000;
const CPUID: u64 = 0x1000;

impl<'t> CommonEvent<'t> {
    /// Decodes the event at the start of some bytes, if its encoding is common.
    ///
    /// ```text
    /// flags 16 | length 16 | id 16 | subhook 16
    /// ```
    #[inline]
    fn first64(bytes: &'t [u8], takes_cpu: bool) -> Option<Self> {
        let word = u64::from_be_bytes(*bytes.first_chunk()?);
        let (flags, len, id) = (word >> 48, (word >> 32) as usize & 0xFFFF, (word >> 16) as u16);
        let has_cpu = flags & CPUID != 0;
        // Registers, 32-bit programs and unknown flags are left to the slow path. So is a CPU word in any but the usual
        // place.
        if flags & !(STAMPED | GENERIC | CPUID) != 0 || (has_cpu && !takes_cpu) {
            return None;
        }
        let generic = flags & GENERIC != 0;
        if generic && len > MAX_GENERIC || !generic && (len & 7 != 0 || len > 40) {
            return None;
        }
        let n_presented = 8 + len + if generic { 8 } else { 0 };
        // Data is padded to whole words. An event that is cut ends here as `None`: it is reported by the slow path.
        let (tid, rest) = bytes.get((n_presented + 7) & !7..)?.split_first_chunk()?;
        let (ticks, rest) = if flags & STAMPED != 0 {
            let (ticks, rest) = rest.split_first_chunk()?;
            (Some(u64::from_be_bytes(*ticks)), rest)
        } else {
            (None, rest)
        };
        let (cpu, rest) = if has_cpu {
            let (cpu, rest) = rest.split_first_chunk()?;
            (Some(u64::from_be_bytes(*cpu) & 0xFFFF_FFFF), rest)
        } else {
            (None, rest)
        };
        let recorded = &bytes[..bytes.len() - rest.len()];
        let env = if generic { Env::Generic64 } else { Env::Hook64 };
        Some(Self { recorded, n_presented, id, env, tid: u64::from_be_bytes(*tid), ticks, cpu })
    }

    /// Decodes the most frequent 64-bit events: stamped, with up to five words. Their flags are 8000 and their length
    /// is
    /// 8 times 0 to 5.
    #[inline(always)]
    fn fast64(bytes: &'t [u8; MAX_FAST]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_be_bytes(*bytes[at..].first_chunk()?));
        let word = number(0)?;
        // One comparison tests flags and length: the rotation moves bits that must be zero above the 5.
        let n_words = ((word >> 32) as u32 ^ 0x8000_0000).rotate_right(3) as usize;
        if n_words > 5 {
            return None;
        }
        let n_presented = 8 + 8 * n_words;
        Some(Self {
            recorded: &bytes[..n_presented + 16],
            n_presented,
            id: (word >> 16) as u16,
            env: Env::Hook64,
            tid: number(n_presented)?,
            ticks: Some(number(n_presented + 8)?),
            cpu: None,
        })
    }

    /// The event as the slow path returns it. `input_cpu` is the CPU of the file, if the file is one of a CPU.
    #[inline(always)]
    pub fn raw(&self, wide: bool, position: Position, input_cpu: Option<u64>) -> RawEvent<'t> {
        let Self { recorded, n_presented, id, tid, ticks, cpu, .. } = *self;
        let Position { number, offset, .. } = position;
        let bytes = &recorded[..n_presented];
        RawEvent { number, offset, bytes, wide, id, tid, ticks, cpu: cpu.or(input_cpu), recorded }
    }

    /// Decodes the event of a 32-bit kernel at the start of some bytes, if its encoding is common.
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
        // Type 7 is undefined, and hook 00B contains an event of a 64-bit program.
        if n_words == 7 || (generic && (len > MAX_GENERIC || word & 0xFFF0_0000 == WRAPPED)) {
            return None;
        }
        let n_presented = if generic { 8 + len } else { 4 * n_words };
        let (tid, rest) = bytes.get((n_presented + 3) & !3..)?.split_first_chunk()?;
        let (ticks, rest) = if word & 0x8_0000 != 0 {
            let (ticks, rest) = rest.split_first_chunk()?;
            (Some(u32::from_be_bytes(*ticks).into()), rest)
        } else {
            (None, rest)
        };
        let recorded = &bytes[..bytes.len() - rest.len()];
        let (id, tid) = ((word >> 16) as u16 & 0xFFF0, u32::from_be_bytes(*tid).into());
        let env = if generic { Env::Generic32 } else { Env::Hook32 };
        Some(Self { recorded, n_presented, id, env, tid, ticks, cpu: None })
    }
}

/// Position of a decoded event.
#[derive(Debug, Clone, Copy)]
pub(in crate::reader::aix) struct Position {
    /// Number in the trace, from 1.
    pub number: u64,
    /// File offset.
    pub offset: u64,
    /// Offset of its bytes in the window's buffer.
    pub place: usize,
}

/// Next event of a trace, if its encoding is common.
#[derive(Debug, Clone, Copy)]
pub(in crate::reader::aix) struct FoundCommon {
    n_presented: u32,
    pub id: u16,
    wide: bool,
    tid: u64,
    pub ticks: Option<u64>,
    pub cpu: Option<u64>,
}

/// One of the most frequent 64-bit events: those of [`CommonEvent::fast64`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FastEvent {
    /// Number of bytes.
    size: usize,
    pub id: u16,
    pub tid: u64,
    pub ticks: u64,
}

/// Position in a run of events of [`Trace::step_fast`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FastPosition {
    number: u64,
    /// [`Trace::pending`] at it.
    pending: usize,
}

impl FastPosition {
    /// Number of events since an earlier position of the run, and number of bytes that templates see of them.
    pub fn presented_since(self, start: Self) -> (u64, u64) {
        let (n_events, n_recorded) = (self.number - start.number, (self.pending - start.pending) as u64);
        (n_events, n_recorded - n_events * AFTER_PRESENTED as u64)
    }
}

/// Number of bytes of a [`FastEvent`] that templates do not see: thread id and time stamp.
const AFTER_PRESENTED: usize = 16;

impl FastEvent {
    /// Decodes an event, like [`CommonEvent::fast64`]. In a loop that needs most registers, these reads cost more.
    #[inline(always)]
    fn of(bytes: &[u8; MAX_FAST]) -> Option<Self> {
        let n_words = u32::from_le_bytes(*bytes.first_chunk()?).wrapping_sub(0x80).rotate_right(27) as usize;
        if n_words > 5 {
            return None;
        }
        let number = |at: usize| Some(u64::from_be_bytes(*bytes[at..].first_chunk()?));
        let id = u16::from_be_bytes(*bytes[4..].first_chunk()?);
        let size = 8 + 8 * n_words + AFTER_PRESENTED;
        Some(Self { size, id, tid: number(size - 16)?, ticks: number(size - 8)? })
    }

    /// Number of bytes that templates see.
    #[inline(always)]
    pub fn n_presented(&self) -> usize {
        self.size - AFTER_PRESENTED
    }
}

/// Progress of the loop over a run.
struct Stepping<'t> {
    left: &'t [u8],
    /// Number of the previous event.
    number: u64,
}

impl Stepping<'_> {
    /// Applies a verdict to an event of `size` bytes; true if the run ends.
    #[inline(always)]
    fn ends(&mut self, visited: VisitResult, size: usize) -> bool {
        if visited == VisitResult::Leave {
            return true;
        }
        self.number += 1;
        self.left = &self.left[size..];
        visited == VisitResult::Last
    }
}

impl Trace {
    /// Passes a run of common events to `visit`: those that are buffered and in the next `room` bytes. Returns the
    /// size of the run in bytes. To refer to the events in the buffer, call [`Trace::retain`] next; [`Trace::next`]
    /// continues with the event after the run.
    #[inline(always)]
    pub(in crate::reader::aix) fn visit_common<const WIDE: bool>(
        &mut self,
        room: usize,
        mut visit: impl FnMut(&CommonEvent<'_>, Position) -> VisitResult,
    ) -> usize {
        if general_path::is_required() {
            return 0;
        }
        self.consume_pending();
        let Some(place) = self.window.place().filter(|_| self.in_area && self.notices.is_empty()) else { return 0 };
        let takes_cpu = self.rules.cpuid_word == CpuidWord::Last;
        let (bytes, offset) = (self.window.bytes(), self.window.offset());
        let left_to_read = usize::try_from(self.read_limit.saturating_sub(self.tally.read)).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(room).min(left_to_read)];
        let (place_after, offset_after) = (place + bytes.len(), offset + bytes.len() as u64);
        let mut run = Stepping { left: bytes, number: self.number };
        let position = |run: &Stepping<'_>| Position {
            number: run.number + 1,
            offset: offset_after - run.left.len() as u64,
            place: place_after - run.left.len(),
        };
        'run: loop {
            // The most frequent events have their own loop, since their layout is nearly constant.
            while WIDE && let Some(event) = run.left.first_chunk().and_then(CommonEvent::fast64) {
                if run.ends(visit(&event, position(&run)), event.recorded.len()) {
                    break 'run;
                }
            }
            let event = if WIDE { CommonEvent::first64(run.left, takes_cpu) } else { CommonEvent::first32(run.left) };
            let Some(event) = event else { break };
            if run.ends(visit(&event, position(&run)), event.recorded.len()) {
                break;
            }
        }
        let Stepping { left, number } = run;
        let n_bytes = bytes.len() - left.len();
        self.number = number;
        self.window.consume(n_bytes);
        self.tally.read += n_bytes as u64;
        self.tally.events += n_bytes as u64;
        n_bytes
    }

    /// Moves to the next event if it is one of the most frequent ones, and is in the part of the window that
    /// [`Trace::allow_fast_steps`] has checked. `None` if it is not, or if `accepts` refuses its id.
    #[inline(always)]
    pub(in crate::reader::aix) fn step_fast(&mut self, accepts: impl FnOnce(u16) -> bool) -> Option<FastEvent> {
        let place = self.window.start() + self.pending;
        if place >= self.fast_end {
            return None;
        }
        debug_assert!(self.in_area && self.notices.is_empty() && self.pending + MAX_FAST <= self.window.bytes().len());
        let found = FastEvent::of(self.window.buffer_from(place)?.first_chunk()?)?;
        if !accepts(found.id) {
            return None;
        }
        self.last = found.size;
        self.pending += self.last;
        self.number += 1;
        Some(found)
    }

    /// Determines how far [`Trace::step_fast`] may step: as long as everything else is as now.
    pub(in crate::reader::aix) fn allow_fast_steps(&mut self) {
        self.fast_end = 0;
        if self.rules.kernel == Kernel::Bits64
            && self.in_area
            && self.notices.is_empty()
            && !general_path::is_required()
        {
            let left_to_read = usize::try_from(self.read_limit.saturating_sub(self.tally.read)).unwrap_or(usize::MAX);
            let n_bytes = self.window.bytes().len().min(left_to_read);
            self.fast_end = (self.window.start() + n_bytes + 1).saturating_sub(MAX_FAST);
        }
    }

    /// Position of the last event of a run.
    pub(in crate::reader::aix) fn fast_position(&self) -> FastPosition {
        FastPosition { number: self.number, pending: self.pending }
    }

    /// Decodes the event to which [`Trace::step_fast`] moved again.
    pub(in crate::reader::aix) fn last_fast(&self) -> Option<FastEvent> {
        let bytes = self.window.buffer_from(self.window.start() + self.n_passed())?;
        FastEvent::of(bytes.first_chunk()?)
    }

    /// The event to which [`Trace::step_fast`] moved.
    #[inline(always)]
    pub(in crate::reader::aix) fn fast_event(&self, event: &FastEvent) -> RawEvent<'_> {
        let FastEvent { id, tid, ticks, .. } = *event;
        let from = self.window.buffer_from(self.window.start() + self.n_passed());
        // The size that was checked before, so that nothing has to be checked again.
        let from = from.and_then(|from| from.first_chunk::<MAX_FAST>()).unwrap_or(&[0; MAX_FAST]);
        let recorded = from.get(..self.last).unwrap_or_default();
        let bytes = from.get(..event.n_presented()).unwrap_or_default();
        let (number, offset) = (self.number, self.offset());
        RawEvent { number, offset, bytes, wide: true, id, tid, ticks: Some(ticks), cpu: None, recorded }
    }

    /// Like [`Trace::find`], but only for a buffered event in a common encoding: the first of a run.
    #[inline(always)]
    pub(in crate::reader::aix) fn find_common(&mut self) -> Option<FoundCommon> {
        let wide = self.rules.kernel == Kernel::Bits64;
        let mut found = None;
        // Uses the decoder of runs and consumes nothing, so that both agree on what is common.
        let visit = |event: &CommonEvent<'_>, _| {
            let CommonEvent { recorded, n_presented, id, tid, ticks, cpu, .. } = *event;
            found = Some((FoundCommon { n_presented: n_presented as u32, id, wide, tid, ticks, cpu }, recorded.len()));
            VisitResult::Leave
        };
        if wide {
            self.visit_common::<true>(usize::MAX, visit)
        } else {
            self.visit_common::<false>(usize::MAX, visit)
        };
        let (found, size) = found?;
        (self.pending, self.last) = (size, size);
        self.number += 1;
        Some(found)
    }

    /// The event that was found.
    #[inline(always)]
    pub(in crate::reader::aix) fn common_event(&self, found: &FoundCommon) -> RawEvent<'_> {
        let FoundCommon { n_presented, id, wide, tid, ticks, cpu } = *found;
        let recorded = &self.window.bytes()[..self.pending];
        let bytes = &recorded[..n_presented as usize];
        RawEvent { number: self.number, offset: self.window.offset(), bytes, wide, id, tid, ticks, cpu, recorded }
    }

    /// Parts of the event that was found.
    pub(in crate::reader::aix) fn parts(&self) -> Option<Parts> {
        if let Step::Whole(parts) = self.rules.step(self.window.bytes()) { Some(parts) } else { None }
    }

    /// Retains the last bytes of the run in the buffer.
    pub(in crate::reader::aix) fn retain(&mut self, n_bytes: usize) {
        self.window.retain(n_bytes);
    }

    /// Gives the window the buffer of an empty batch to read into.
    pub(in crate::reader::aix) fn recycle(&mut self, own: &mut SharedBuf) {
        self.fast_end = 0;
        self.window.recycle(own);
    }

    /// Moves the buffer with the retained events to a batch.
    pub(in crate::reader::aix) fn detach(&mut self, to: &mut SharedBuf) {
        self.fast_end = 0;
        self.window.detach(to);
    }

    /// True if the retained events should be detached, because the buffer has no room for the next event.
    pub(in crate::reader::aix) fn should_detach(&self) -> bool {
        let left = self.window.bytes().get(self.pending..).unwrap_or_default();
        let may_be_cut = left.len() < LARGE_EVENT || self.rules.lenient;
        let is_cut = || self.in_area && self.notices.is_empty() && matches!(self.rules.step(left), Step::Short(_));
        self.window.has_moved_on() || (may_be_cut && self.window.would_move_on() && is_cut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::Input;
    use crate::reader::Tally;
    use crate::reader::aix::step::{BufferConversion, Kernel, StepRules, present};
    use crate::reader::aix::trace::NextItem;
    use crate::reader::aix::{AixItem, ReadOptions};
    use tfbc_vm::Event;

    const PLACES: [CpuidWord; 4] = [CpuidWord::Last, CpuidWord::First, CpuidWord::AfterTid, CpuidWord::None];

    /// Lengths and subhooks of small events, and of generic events around the size limit.
    fn lengths() -> impl Iterator<Item = u16> {
        (0..50).chain([4095, 4096, 4107, 4108, 4109, 4110, 0xFFFF])
    }

    /// Checks that fast and slow path agree on the event at the start of some bytes, whole or truncated near its end.
    fn check(rules: &StepRules, bytes: &[u8], is_common: impl Fn(BufferConversion) -> bool) {
        let size = match rules.step(bytes) {
            Step::Whole(parts) => parts.size,
            _ => bytes.len(),
        };
        for len in [0, 3, 4, 7, 8, size - 8, size - 5, size - 4, size - 1, size, bytes.len()] {
            let bytes = &bytes[..len];
            let found = match rules.kernel {
                Kernel::Bits32 => CommonEvent::first32(bytes),
                Kernel::Bits64 => CommonEvent::first64(bytes, rules.cpuid_word == CpuidWord::Last),
            };
            let told = |event| {
                let CommonEvent { recorded, n_presented, id, env, tid, ticks, cpu } = event;
                (recorded.len(), &recorded[..n_presented], id, env, tid, ticks, cpu)
            };
            let found = found.map(told);
            if rules.kernel == Kernel::Bits64
                && let Some(bytes) = bytes.first_chunk()
            {
                let usual = CommonEvent::fast64(bytes);
                assert!(usual.is_none() || usual.map(told) == found);
                let of_usual =
                    usual.map(|event| (event.recorded.len(), event.n_presented, event.id, event.tid, event.ticks));
                let of_fast = FastEvent::of(bytes)
                    .map(|event| (event.size, event.n_presented(), event.id, event.tid, Some(event.ticks)));
                assert_eq!(of_fast, of_usual);
            }
            let mut scratch = Vec::new();
            let expected = match rules.step(bytes) {
                Step::Whole(parts) if is_common(parts.form) => {
                    let number = |at| rules.number(bytes, at);
                    let cpu = parts.cpu.map(|at| number(at) & 0xFFFF_FFFF);
                    let presented = present(bytes, &parts, &mut scratch);
                    let hook = Event { bytes: presented, wide: parts.wide, record: None, time_ns: 0, offset: 0 };
                    let (tid, ticks) = (number(parts.tid), parts.stamp.map(number));
                    Some((parts.size, presented, parts.id, hook.env(), tid, ticks, cpu))
                }
                _ => None,
            };
            assert_eq!(found, expected, "{:02x?} of {len} bytes, {rules:?}", &bytes[..len.min(8)]);
        }
    }

    /// Bytes for the part after a hook word; no two words are equal.
    fn filling() -> Vec<u8> {
        (0..600u64).flat_map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 << 63).to_be_bytes()).collect()
    }

    #[test]
    fn fast_and_slow_path_agree_for_64_bits() {
        let filling = filling();
        for flags in (0..32u16).flat_map(|flags| [0, 1, 7, 8, 0x400].map(|low| flags << 11 | low)) {
            for (len, id) in lengths().flat_map(|len| [0x0100, 0x5001].map(|id| (len, id))) {
                let word = u64::from(flags) << 48 | u64::from(len) << 32 | id << 16 | 9;
                let bytes = [&word.to_be_bytes(), &filling[..]].concat();
                for cpuid_word in PLACES {
                    let rules =
                        StepRules { kernel: Kernel::Bits64, cpuid_word, lenient: false, short_generic_word: false };
                    // Events with registers, or with a CPU id that is not the last word, are left to the slow path.
                    let plain_flags = flags & 0x0800 == 0 && (flags & 0x1000 == 0 || cpuid_word == CpuidWord::Last);
                    check(&rules, &bytes, |form| form == BufferConversion::Plain && plain_flags && flags & 7 == 0);
                }
            }
        }
    }

    #[test]
    fn fast_and_slow_path_agree_for_32_bits() {
        let filling = filling();
        for (hook_type, id) in (0..16).flat_map(|hook_type| [0x010, 0x00B, 0x500, 0xFFF].map(|id| (hook_type, id))) {
            for len in lengths() {
                let word = id << 20 | hook_type << 16 | u32::from(len);
                let bytes = [&word.to_be_bytes(), &filling[..]].concat();
                let rules = StepRules {
                    kernel: Kernel::Bits32,
                    cpuid_word: CpuidWord::Last,
                    lenient: false,
                    short_generic_word: false,
                };
                check(&rules, &bytes, |form| form == BufferConversion::Plain);
            }
        }
    }

    #[test]
    fn retained_events_are_at_the_reported_offsets() {
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
        // Notices about the trace come before its events.
        trace.visit_common::<true>(usize::MAX, |_, _| panic!("the events have not begun"));
        assert!(matches!(trace.next().unwrap(), Some(AixItem::Notice(_))));
        trace.visit_common::<true>(usize::MAX, |_, _| panic!("the events have not begun"));
        assert!(matches!(trace.next().unwrap(), Some(AixItem::Event(first)) if first.number == 1));

        let visits = [VisitResult::Next; 7];
        let mut seen = Vec::new();
        let n_bytes = trace.visit_common::<true>(usize::MAX, |event, position| {
            seen.push((event.recorded.to_vec(), position));
            visits.get(seen.len() - 1).copied().unwrap_or(VisitResult::Leave)
        });
        let mut taken = SharedBuf::default();
        trace.retain(n_bytes);
        trace.detach(&mut taken);
        for (at, (recorded, Position { number, offset, place })) in seen.iter().enumerate() {
            assert_eq!((recorded, *number, *offset), (&events[at + 1], at as u64 + 2, offset_of(at + 1)));
            if at < visits.len() {
                assert!(taken.bytes[*place..].starts_with(recorded), "event {number} is not kept at {place}");
                assert_eq!(taken.offset + *place as u64, *offset);
            }
        }
        assert_eq!(seen.len(), visits.len() + 1);
        // The event that was not consumed comes next.
        assert!(
            matches!(trace.next().unwrap(), Some(AixItem::Event(left)) if (left.number, left.offset) == (9, offset_of(8)))
        );

        let mut visited = 0;
        trace.visit_common::<true>(usize::MAX, |_, _| {
            visited += 1;
            VisitResult::Last
        });
        trace.visit_common::<true>(events[10].len(), |_, _| {
            visited += 1;
            VisitResult::Next
        });
        assert_eq!((visited, trace.n_events()), (2, 11));
        trace.visit_common::<true>(usize::MAX, |_, _| VisitResult::Next);
        assert_eq!(trace.n_events(), 12);
        assert!(trace.next().unwrap().is_none());
        let n: u64 = events.iter().map(|event| event.len() as u64).sum();
        assert_eq!(trace.tally(), Tally { read: 4 + n, header: 4, events: n, skipped: 0 });
    }

    #[test]
    fn the_reader_returns_the_events_of_the_slow_path() {
        let filling = filling();
        // Plain, generic, stamped or not, with registers or with a CPU id; the last event is cut.
        let mut bytes = vec![0xEF, 0xDF, 0x11, 0x14];
        for n in 0..2000_usize {
            let (flags, len) = [(0x8000, 8 * (n % 6)), (0xC000, n % 50), (0, 16), (0x8800, 8), (0x9000, 24)][n / 3 % 5];
            let head: u64 = flags << 48 | (len as u64) << 32 | (n as u64 % 300) << 20;
            let event = [&head.to_be_bytes(), &filling[..]].concat();
            let rules = StepRules {
                kernel: Kernel::Bits64,
                cpuid_word: CpuidWord::Last,
                lenient: false,
                short_generic_word: false,
            };
            let Step::Whole(parts) = rules.step(&event) else { panic!("an event of {len} bytes is whole") };
            bytes.extend_from_slice(&event[..parts.size]);
        }
        bytes.truncate(bytes.len() - 3);
        let open = || Trace::from_input("x", Input::from_bytes(bytes.clone()), &ReadOptions::default()).unwrap();
        let told = |event: RawEvent<'_>| format!("{event:?}");
        let (mut trace, mut slow, mut n_events) = (open(), open(), 0);
        loop {
            let expected = match slow.find().unwrap() {
                NextItem::Event(parts) => told(slow.event(&parts)),
                NextItem::Notice(notice) => notice.message,
                NextItem::End => break,
            };
            match trace.next().unwrap() {
                Some(AixItem::Event(event)) => assert_eq!(told(event), expected),
                Some(AixItem::Notice(notice)) => assert_eq!(notice.message, expected),
                None => panic!("{expected} is missing"),
            }
            n_events += 1;
        }
        assert!(trace.next().unwrap().is_none());
        assert_eq!(trace.tally(), slow.tally());
        assert!(n_events > 1900, "{n_events}");
    }

    #[test]
    fn events_with_a_last_cpu_id_are_common() {
        let event = [0x9000_0000_0100_0000, 7, 10, 3].map(u64::to_be_bytes).concat();
        for cpuid_word in PLACES {
            let event = if cpuid_word == CpuidWord::None { &event[..24] } else { &event };
            let bytes = [&[0xEF, 0xDF, 0x11, 0x14], event, event].concat();
            let options = ReadOptions { cpuid_word, ..ReadOptions::default() };
            let begun = || {
                let mut trace = Trace::from_input("x", Input::from_bytes(bytes.clone()), &options).unwrap();
                while !matches!(trace.next().unwrap(), Some(AixItem::Event(_))) {}
                trace
            };
            let (mut trace, mut cpus) = (begun(), Vec::new());
            trace.visit_common::<true>(usize::MAX, |event, _| {
                cpus.push(event.cpu);
                VisitResult::Next
            });
            let expected: &[_] = if cpuid_word == CpuidWord::Last { &[Some(3)] } else { &[] };
            assert_eq!(cpus, expected, "{cpuid_word:?}");
            let found = begun().find_common().map(|found| found.cpu);
            assert_eq!(found.as_slice(), expected, "{cpuid_word:?}");
        }
    }
}
