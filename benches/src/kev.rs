//! Writes QNX .kev logs.
//!
//! A [`KevEvent`] is an event recorded by a kernel. A [`KevWriter`] lays it out in slots of 16 bytes: one if the
//! payload fits into 8 bytes, otherwise a begin, continuations and an end with the same stamp. [`KevHead`] writes the
//! part before the slots.
//!
//! ```text
//! header u32: event 0-9, class 10-14, CPU 24-29, kind 30-31   stamp u32   payload 8 bytes
//! ```
//!
//! Words are in the target's byte order, text is never swapped. The writer serves generators and tests, so it panics on
//! input that cannot be written.

/// Bytes of a slot.
pub const SLOT_BYTES: usize = 16;

const PAYLOAD_BYTES: usize = 8;
const BEGIN: u32 = 1 << 30;
const CONTINUATION: u32 = 2 << 30;
const END: u32 = 3 << 30;

/// One slot as stored in a log.
pub type SlotBytes = [u8; SLOT_BYTES];

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KevEvent {
    /// CPU, below 64.
    pub cpu: u8,
    /// Class number as stored in slots, below 32.
    pub class: u8,
    /// Event in its class, below 1024.
    pub event: u16,
    /// Low half of the clock.
    pub stamp: u32,
    /// Payload in memory order; zeros fill it to a multiple of 8 bytes.
    pub payload: Vec<u8>,
}

/// Encodes events and words in one byte order.
///
/// ```
/// use tfbc_benches::{KevEvent, KevWriter};
///
/// let writer = KevWriter { big_endian: true };
/// let event = KevEvent { cpu: 1, class: 6, event: 7, stamp: 16, payload: b"text".to_vec() };
/// assert_eq!(writer.slots(&event), [[1, 0, 0x18, 7, 0, 0, 0, 16, b't', b'e', b'x', b't', 0, 0, 0, 0]]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KevWriter {
    /// True if the target is big-endian.
    pub big_endian: bool,
}

impl KevWriter {
    /// Slots of an event; at least one.
    ///
    /// # Panics
    /// If a number of the event does not fit into its bits.
    pub fn slots(self, event: &KevEvent) -> Vec<SlotBytes> {
        let KevEvent { cpu, class, event, stamp, ref payload } = *event;
        let mut slots = Vec::new();
        self.each_slot(cpu, class, event, stamp, payload, |slot| slots.push(slot));
        slots
    }

    /// Passes each slot of an event to `put`.
    ///
    /// # Panics
    /// See [`KevWriter::slots`].
    #[inline]
    pub(crate) fn each_slot(
        self,
        cpu: u8,
        class: u8,
        event: u16,
        stamp: u32,
        payload: &[u8],
        mut put: impl FnMut(SlotBytes),
    ) {
        assert!(
            cpu < 64 && class < 32 && event < 1024,
            "CPU {cpu}, class {class}, event {event}: too large for a header"
        );
        let header = u32::from(cpu) << 24 | u32::from(class) << 10 | u32::from(event);
        let (wholes, rest) = payload.as_chunks::<PAYLOAD_BYTES>();
        let mut last = [0; PAYLOAD_BYTES];
        last[..rest.len()].copy_from_slice(rest);
        let n = wholes.len() + usize::from(!rest.is_empty() || wholes.is_empty());
        for (at, payload) in wholes.iter().chain([&last]).take(n).enumerate() {
            let kind = match at {
                _ if n == 1 => 0,
                0 => BEGIN,
                _ if at == n - 1 => END,
                _ => CONTINUATION,
            };
            put(self.slot(header | kind, stamp, *payload));
        }
    }

    #[inline]
    fn slot(self, header: u32, stamp: u32, payload: [u8; PAYLOAD_BYTES]) -> SlotBytes {
        let mut slot = [0; SLOT_BYTES];
        slot[..4].copy_from_slice(&self.word(header));
        slot[4..8].copy_from_slice(&self.word(stamp));
        slot[8..].copy_from_slice(&payload);
        slot
    }

    /// Word in the target's byte order.
    pub fn word(self, word: u32) -> [u8; 4] {
        if self.big_endian { word.to_be_bytes() } else { word.to_le_bytes() }
    }

    fn half(self, half: u16) -> [u8; 2] {
        if self.big_endian { half.to_be_bytes() } else { half.to_le_bytes() }
    }

    /// Words in the target's byte order.
    pub fn words(self, words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|&word| self.word(word)).collect()
    }
}

/// Part of a log before the slots: the attributes of tracelogger, and a system page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KevHead {
    /// Byte order of the target.
    pub writer: KevWriter,
    /// Clock cycles per second.
    pub cycles_per_sec: u32,
    /// Number of processors.
    pub n_cpus: u16,
    /// True if all processors share one clock.
    pub one_clock: bool,
}

impl KevHead {
    /// Text header and system page.
    pub fn to_bytes(&self) -> Vec<u8> {
        let page = self.syspage();
        let endian = if self.writer.big_endian { "BIG_ENDIAN" } else { "LITTLE_ENDIAN" };
        let (rate, n_cpus, len) = (self.cycles_per_sec.to_string(), self.n_cpus.to_string(), page.len().to_string());
        let attributes = [
            ("HEADER_BEGIN", ""),
            ("FILE_NAME", "/dev/shmem/tracebuffer.kev"),
            ("DATE", "Wed Jun 24 10:52:58 2009"),
            ("VER_MAJOR", "1"),
            ("VER_MINOR", "01"),
            (endian, "TRUE"),
            ("ENCODING", "16 byte events"),
            ("BOOT_DATE", "Tue Jun 23 11:47:46 2009"),
            ("CYCLES_PER_SEC", &rate),
            ("CPU_NUM", &n_cpus),
            ("SYSNAME", "QNX"),
            ("NODENAME", "localhost"),
            ("SYS_RELEASE", "6.4.1"),
            ("SYS_VERSION", "2009/05/20-17:35:56EDT"),
            ("MACHINE", "x86pc"),
            ("SYSPAGE_LEN", &len),
            ("TRACELOGGER_ARGS", "tracelogger -n 0 -w"),
            ("HEADER_END", ""),
        ];
        let text: String = attributes.iter().map(|(key, value)| format!("TRACE_{key}::{value}")).collect();
        [text.as_bytes(), &page].concat()
    }

    /// System page with the sections that readers use: processors, clock, strings.
    fn syspage(&self) -> Vec<u8> {
        const HEAD: u16 = 64;
        const STRINGS: &[u8] = b"generated CPU\0\0\0";
        let cpus = HEAD..HEAD + 32 * self.n_cpus;
        let qtime = cpus.end..cpus.end + 64;
        let strings = qtime.end..qtime.end + STRINGS.len() as u16;
        let mut page = vec![0; usize::from(strings.end)];
        let mut put = |at: u16, bytes: &[u8]| page[usize::from(at)..][..bytes.len()].copy_from_slice(bytes);
        let (half, word) = (|half| self.writer.half(half), |word| self.writer.word(word));
        for (at, value) in [(0, HEAD), (2, strings.end), (6, self.n_cpus)] {
            put(at, &half(value));
        }
        for (entry, section) in [(24, &cpus), (32, &qtime), (48, &strings)] {
            put(entry, &half(section.start));
            put(entry + 2, &half(section.end - section.start));
        }
        for cpu in cpus.step_by(32) {
            put(cpu + 4, &word(self.cycles_per_sec / 1_000_000));
        }
        put(qtime.start + if self.writer.big_endian { 4 } else { 0 }, &word(self.cycles_per_sec));
        put(qtime.start + 60, &word(if self.one_clock { 8 } else { 0 }));
        put(strings.start, STRINGS);
        page
    }
}
