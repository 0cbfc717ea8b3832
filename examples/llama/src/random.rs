//! Numbers that look random and are the same in every run.

/// SplitMix64: one addition and three multiplications a number, which is plenty for weights nobody has trained.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Any number.
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to 1, without 1.
    pub fn unit(&mut self) -> f32 {
        // A float holds 24 bits exactly.
        (self.next() >> 40) as f32 / (1u32 << 24) as f32
    }

    /// From 0 to `end`, without `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Numbers of mean 0 and this deviation.
    pub fn fill(&mut self, n: usize, deviation: f32) -> Vec<f32> {
        let half_width = deviation * 3f32.sqrt();
        (0..n).map(|_| (2.0 * self.unit() - 1.0) * half_width).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_to_their_range_and_fill_it() {
        let mut random = Random::new(1);
        let numbers = random.fill(10_000, 2.0);
        let mean = numbers.iter().sum::<f32>() / 10_000.0;
        let variance = numbers.iter().map(|number| number * number).sum::<f32>() / 10_000.0;
        assert!(mean.abs() < 0.1 && (variance - 4.0).abs() < 0.2, "{mean} {variance}");
        assert!((0..1000).all(|_| (0.0..1.0).contains(&random.unit()) && random.below(7) < 7));
    }
}
