//! A record of a log.

use super::classes;

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KevRecord<'k> {
    /// Number of the record, from 1.
    pub number: u64,
    /// Offset in the file of its first slot.
    pub offset: u64,
    /// Class as the header numbers it, 0 to 31.
    pub class: u8,
    /// Event in its class, 0 to 1023.
    pub event: u16,
    /// CPU, 0 to 63.
    pub cpu: u8,
    /// True if it has several slots, or a begin and an end.
    pub wide: bool,
    /// Low half of the clock.
    pub stamp: u32,
    /// High half of the clock; `None` before the first `TIME` record that counts for its CPU.
    pub msb: Option<u32>,
    /// Payload in memory order, 8 bytes per slot.
    pub bytes: &'k [u8],
}

impl KevRecord<'_> {
    /// The clock, if its high half is known.
    #[inline]
    pub fn cycles(&self) -> Option<u64> {
        self.msb.map(|msb| u64::from(msb) << 32 | u64::from(self.stamp))
    }

    /// Class, with [`classes::STRAY_SYSTEM`] of QNX 6.4 corrected to [`classes::SYSTEM`].
    #[inline]
    pub fn meant_class(&self) -> u8 {
        if self.class == classes::STRAY_SYSTEM { classes::SYSTEM } else { self.class }
    }
}
