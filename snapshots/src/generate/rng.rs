/// A small repeatable random source (splitmix64), or one that bytes choose.
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
    /// What is taken first.
    choices: std::vec::IntoIter<u8>,
}

impl Rng {
    /// The source that a seed gives.
    pub fn new(seed: u64) -> Self {
        Self::of_choices(seed, &[])
    }

    /// The source that takes its choices from bytes, one for each number below 257, and behind them goes on from a seed.
    pub fn of_choices(seed: u64, bytes: &[u8]) -> Self {
        Rng { state: seed, choices: Vec::from(bytes).into_iter() }
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        if let Some((word, _)) = self.choices.as_slice().split_first_chunk() {
            let word = u64::from_le_bytes(*word);
            self.choices.nth(7);
            return word;
        }
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// A number below `n`; 0 when `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        let choice = if n <= 256 { self.choices.next().map(u64::from) } else { None };
        if n == 0 { 0 } else { (choice.unwrap_or_else(|| self.bits()) % n as u64) as usize }
    }

    /// True `percent` times of a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of a list that is not empty.
    pub fn pick<'t, T>(&mut self, list: &'t [T]) -> &'t T {
        &list[self.below(list.len())]
    }
}
