/// Small deterministic generator (xorshift64*): the same seed gives the same trace on every machine.
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// Creates a generator; seed 0 counts as 1.
    pub fn new(seed: u64) -> Self {
        Rng { state: seed.max(1) }
    }

    /// Next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// Number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.next_u32()) * u64::from(n)) >> 32) as u32
    }

    /// Number from `low` up to, but not including, `high`.
    pub fn range(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high.saturating_sub(low))
    }
}
