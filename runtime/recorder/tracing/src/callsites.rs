//! Callsites of a program, and their numbers in a trace.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tracing_core::Metadata;

/// Slots of the number cache, a power of two. Numbers of callsites without a slot are computed each time.
const N_SLOTS: usize = 4096;
/// Number of slots that a callsite may use.
const N_TRIES: usize = 8;

/// All callsites seen so far.
#[derive(Debug)]
pub struct Callsites {
    known: Mutex<Vec<&'static Metadata<'static>>>,
    slots: Box<[NumberSlot]>,
}

/// Cached number of a callsite, by its address; both are 0 at first. The number is stored before the address.
#[derive(Debug, Default)]
struct NumberSlot {
    address: AtomicUsize,
    number: AtomicU64,
}

impl Default for Callsites {
    fn default() -> Self {
        Self { known: Mutex::default(), slots: (0..N_SLOTS).map(|_| NumberSlot::default()).collect() }
    }
}

impl Callsites {
    fn known(&self) -> MutexGuard<'_, Vec<&'static Metadata<'static>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a callsite.
    pub fn add(&self, callsite: &'static Metadata<'static>) {
        let mut known = self.known();
        if known.iter().any(|known| std::ptr::eq(*known, callsite)) {
            return;
        }
        known.push(callsite);
        // The lock is held, so no other thread fills slots.
        let address = std::ptr::from_ref(callsite).addr();
        if let Some(slot) = self.slots(address).find(|slot| slot.address.load(Ordering::Relaxed) == 0) {
            slot.number.store(number(callsite), Ordering::Relaxed);
            slot.address.store(address, Ordering::Release);
        }
    }

    /// Number of a callsite, found without a lock.
    pub fn number(&self, callsite: &'static Metadata<'static>) -> u64 {
        let address = std::ptr::from_ref(callsite).addr();
        match self.slots(address).find(|slot| slot.address.load(Ordering::Acquire) == address) {
            Some(slot) => slot.number.load(Ordering::Relaxed),
            None => number(callsite),
        }
    }

    fn slots(&self, address: usize) -> impl Iterator<Item = &NumberSlot> {
        let first = (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - N_SLOTS.trailing_zeros());
        (0..N_TRIES).map(move |n| &self.slots[(first as usize + n) % N_SLOTS])
    }

    /// Callsites with their numbers, in source order.
    pub fn sorted(&self) -> Vec<(u64, &'static Metadata<'static>)> {
        let mut sorted: Vec<_> = self.known().iter().map(|callsite| (number(callsite), *callsite)).collect();
        sorted.sort_by_key(|(number, callsite)| (callsite.file(), callsite.line(), *number));
        // A macro that expands twice on one line gives equal numbers and equal texts.
        sorted.dedup_by_key(|(number, _)| *number);
        sorted
    }
}

/// Number of a callsite: FNV-1a of everything that the format file says about it. It is the same in every run.
fn number(callsite: &Metadata) -> u64 {
    let mut hash = Fnv(0xCBF2_9CE4_8422_2325);
    hash.add(&[u8::from(callsite.is_span())]);
    for text in [callsite.level().as_str(), callsite.target(), callsite.name(), callsite.file().unwrap_or_default()] {
        hash.add(text.as_bytes());
    }
    hash.add(&callsite.line().unwrap_or_default().to_be_bytes());
    for field in callsite.fields() {
        hash.add(field.name().as_bytes());
    }
    // 0 means "no callsite".
    hash.0.max(1)
}

struct Fnv(u64);

impl Fnv {
    /// Hashes bytes and a terminator, so that `ab` `c` differs from `a` `bc`.
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&[0xFF]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
}
