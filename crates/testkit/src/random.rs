//! A small random number generator whose whole state is a seed.
//!
//! Tests print the seed when they fail; the same seed gives the same run on every machine and with
//! every version of every crate.

/// The generator (xorshift64*).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator for `seed`. Neighbouring seeds give unrelated numbers.
    pub fn new(seed: u64) -> Self {
        // SplitMix64's finaliser; the state must not be zero.
        let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self((z ^ (z >> 31)) | 1)
    }

    /// The next 64 bits.
    pub fn next_number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`; zero when `limit` is zero.
    pub fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { ((self.next_number() >> 11) % limit as u64) as usize }
    }

    /// A number in 0..1.
    pub fn unit(&mut self) -> f64 {
        (self.next_number() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of the choices.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// `length` random bytes.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| (self.next_number() >> 32) as u8).collect()
    }

    /// A number around zero with spread one (Box–Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_again() {
        let numbers = |seed| {
            let mut random = Random::new(seed);
            [random.next_number(), random.next_number(), random.next_number()]
        };
        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
    }

    #[test]
    fn normal_numbers_are_centred_and_finite() {
        let mut random = Random::new(1);
        let sum: f64 = (0..10_000).map(|_| random.normal()).sum();
        assert!(sum.is_finite() && (sum / 10_000.0).abs() < 0.05, "{sum}");
    }
}
