//! Seed of the choices that a target makes.

/// Hash of the input, for choices that are not taken from its bytes.
pub fn seed_of(data: &[u8]) -> u64 {
    // FNV-1a.
    data.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
