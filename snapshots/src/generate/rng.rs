/// Small repeatable random generator (splitmix64), which can also take its choices from bytes.
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
    /// Choices that are used first.
    choices: std::vec::IntoIter<u8>,
}

impl Rng {
    /// Generator for a seed.
    pub fn new(seed: u64) -> Self {
        Self::of_choices(seed, &[])
    }

    /// Generator that takes its choices from bytes, one for each number below 257, and continues with a seed.
    pub fn of_choices(seed: u64, bytes: &[u8]) -> Self {
        Rng { state: seed, choices: Vec::from(bytes).into_iter() }
    }

    /// Random 64 bits.
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

    /// Number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        let choice = if n <= 256 { self.choices.next().map(u64::from) } else { None };
        if n == 0 { 0 } else { (choice.unwrap_or_else(|| self.bits()) % n as u64) as usize }
    }

    /// True in `percent` of 100 calls.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Random element of a list that is not empty.
    pub fn pick<'t, T>(&mut self, list: &'t [T]) -> &'t T {
        &list[self.below(list.len())]
    }
}
