//! Slots: logs consist of units of 16 bytes.

use super::classes;

/// Bytes of a slot.
pub(crate) const SLOT_BYTES: usize = 16;
/// Bytes of payload in a slot.
pub(super) const PAYLOAD_BYTES: usize = 8;
/// Payload of a slot.
pub(super) type Payload = [u8; PAYLOAD_BYTES];

/// Number of CPUs that a slot's header can name.
pub(super) const N_CPUS: usize = 64;

/// Bits of a header that name class, event and CPU.
const IDENTITY: u32 = 0x3F00_7FFF;

/// Bits of a header that are zero in all known logs.
const UNUSED: u32 = 0x00FE_8000;
/// Mask of the CPU, and its shift.
const CPU: (u32, u32) = (0x3F, 24);

/// Masks for headers in the file's byte order, which classify a slot without decoding it.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlotMasks {
    /// Bits that are zero in the header of a simple slot.
    not_simple: u32,
    foreign: u32,
    class: u32,
    control: u32,
}

impl SlotMasks {
    /// Masks for a byte order and, if known, a number of CPUs.
    pub fn new(big_endian: bool, n_cpus: Option<u32>) -> Self {
        let cpus = n_cpus.unwrap_or(u32::MAX).clamp(1, N_CPUS as u32).next_power_of_two() - 1;
        let foreign = UNUSED | (CPU.0 & !cpus) << CPU.1;
        let [kind, foreign, class, control] = [3 << 30, foreign, 0x1F << 10, u32::from(classes::CONTROL) << 10]
            .map(|bits: u32| if big_endian { bits.swap_bytes() } else { bits });
        Self { not_simple: kind | foreign, foreign, class, control }
    }

    /// True for a simple slot whose header has only known bits.
    #[inline]
    pub fn is_simple(self, bytes: &[u8; SLOT_BYTES]) -> bool {
        word(bytes, 0, false) & self.not_simple == 0
    }

    /// True if a header has unknown bits, so that it is damaged or not a header.
    #[inline]
    pub fn is_foreign(self, bytes: &[u8; SLOT_BYTES]) -> bool {
        word(bytes, 0, false) & self.foreign != 0
    }

    #[inline]
    pub fn is_control(self, bytes: &[u8; SLOT_BYTES]) -> bool {
        word(bytes, 0, false) & self.class == self.control
    }
}

/// Role of a slot in its event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotKind {
    /// The whole event.
    Simple,
    /// The first slot of a combine.
    Begin,
    /// A slot in the middle.
    Continuation,
    /// The last slot.
    End,
}

/// Header and stamp of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    pub header: u32,
    pub stamp: u32,
}

impl Slot {
    #[inline]
    pub fn read(bytes: &[u8; SLOT_BYTES], big_endian: bool) -> Self {
        Self { header: word(bytes, 0, big_endian), stamp: word(bytes, 1, big_endian) }
    }

    #[inline]
    pub fn kind(self) -> SlotKind {
        match self.header >> 30 {
            0 => SlotKind::Simple,
            1 => SlotKind::Begin,
            2 => SlotKind::Continuation,
            _ => SlotKind::End,
        }
    }

    #[inline]
    pub fn is_simple(self) -> bool {
        self.header >> 30 == 0
    }

    #[inline]
    pub fn class(self) -> u8 {
        (self.header >> 10 & 0x1F) as u8
    }

    #[inline]
    pub fn event(self) -> u16 {
        (self.header & 0x3FF) as u16
    }

    #[inline]
    pub fn cpu(self) -> u8 {
        (self.header >> 24 & 0x3F) as u8
    }

    /// Index of the CPU in tables.
    #[inline]
    pub fn place(self) -> usize {
        usize::from(self.cpu()) % N_CPUS
    }

    /// Key that all slots of a combine share: CPU, class, event and stamp.
    #[inline]
    pub fn key(self) -> u64 {
        u64::from(self.header & IDENTITY) << 32 | u64::from(self.stamp)
    }

    /// Slot with a given key.
    pub fn of_key(key: u64) -> Self {
        Slot { header: (key >> 32) as u32, stamp: key as u32 }
    }
}

/// One of the four words of a slot.
#[inline]
pub(super) fn word(bytes: &[u8; SLOT_BYTES], at: usize, big_endian: bool) -> u32 {
    let word = [bytes[4 * at], bytes[4 * at + 1], bytes[4 * at + 2], bytes[4 * at + 3]];
    if big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
}
