//! The arithmetic: rows of floats, one for each token.

use crate::random::Random;

/// Sums that go on side by side, so that the compiler can use vector registers: it may not reorder a single sum.
const LANES: usize = 16;

/// A matrix that is multiplied from the left: one row of weights for each output.
#[derive(Debug)]
pub struct Matrix {
    columns: usize,
    weights: Vec<f32>,
}

impl Matrix {
    /// Random weights that keep the size of what they are multiplied with.
    pub fn random(rows: usize, columns: usize, random: &mut Random) -> Self {
        Self { columns, weights: random.fill(rows * columns, 1.0 / (columns as f32).sqrt()) }
    }

    /// How many outputs it has.
    pub fn rows(&self) -> usize {
        self.weights.len() / self.columns
    }

    /// One row of weights.
    pub fn row(&self, n: usize) -> &[f32] {
        &self.weights[n * self.columns..][..self.columns]
    }

    /// The product with every row of `input`.
    pub fn apply(&self, input: &[f32]) -> Vec<f32> {
        let rows = self.rows();
        let mut output = vec![0.0; input.len() / self.columns * rows];
        // Weights outside, tokens inside: the weights, which are much more, come from memory only once.
        for (n, weights) in self.weights.chunks_exact(self.columns).enumerate() {
            for (token, input) in input.chunks_exact(self.columns).enumerate() {
                output[token * rows + n] = dot(weights, input);
            }
        }
        output
    }
}

/// The scalar product.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(a, b)| a * b).sum::<f32>();
    for (a, b) in a_chunks.zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// Adds `b` to `a`.
pub fn add(a: &mut [f32], b: &[f32]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
}

/// Adds `b`, `factor` times, to `a`.
pub fn add_scaled(a: &mut [f32], b: &[f32], factor: f32) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += factor * b);
}

/// Every row of `width` brought to a mean square of 1. The gains, which training would find, are all 1.
pub fn rms_norm(input: &[f32], width: usize) -> Vec<f32> {
    let mut output = input.to_vec();
    for row in output.chunks_exact_mut(width) {
        let mean_square = dot(row, row) / width as f32;
        let factor = 1.0 / (mean_square + 1e-5).sqrt();
        row.iter_mut().for_each(|x| *x *= factor);
    }
    output
}

/// Scores to probabilities.
pub fn softmax(scores: &mut [f32]) {
    // Without the largest, large scores would overflow.
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    scores.iter_mut().for_each(|score| *score = (*score - largest).exp());
    let sum: f32 = scores.iter().sum();
    scores.iter_mut().for_each(|score| *score /= sum);
}

/// `silu(gate) * up`, in place of `gate`.
pub fn silu_mul(gate: &mut [f32], up: &[f32]) {
    gate.iter_mut().zip(up).for_each(|(gate, up)| *gate = *gate / (1.0 + (-*gate).exp()) * up);
}

/// Rotary embedding: turns each pair of numbers of a head by an angle that grows with the position.
#[derive(Debug)]
pub struct Rope {
    /// Radians a position, one for each pair.
    frequencies: Vec<f32>,
}

impl Rope {
    /// For heads of this size.
    pub fn new(head_size: usize) -> Self {
        let frequency = |pair: usize| 10_000f32.powf(-2.0 * pair as f32 / head_size as f32);
        Self { frequencies: (0..head_size / 2).map(frequency).collect() }
    }

    /// Turns all heads of one token.
    pub fn rotate(&self, heads: &mut [f32], position: usize) {
        let n_pairs = self.frequencies.len();
        for (pair, frequency) in self.frequencies.iter().enumerate() {
            let (sine, cosine) = (position as f32 * frequency).sin_cos();
            for head in heads.chunks_exact_mut(2 * n_pairs) {
                let (x, y) = (head[pair], head[pair + n_pairs]);
                head[pair] = x * cosine - y * sine;
                head[pair + n_pairs] = x * sine + y * cosine;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(a: f32, b: f32) {
        assert!((a - b).abs() <= 1e-4 * (1.0 + a.abs()), "{a} {b}");
    }

    #[test]
    fn a_product_is_what_two_plain_loops_compute() {
        let mut random = Random::new(3);
        // 37 is no multiple of the lanes.
        let (matrix, input) = (Matrix::random(5, 37, &mut random), random.fill(2 * 37, 1.0));
        let output = matrix.apply(&input);
        assert_eq!(output.len(), 2 * 5);
        for (token, row) in (0..2).flat_map(|token| (0..5).map(move |row| (token, row))) {
            let mut naive = 0.0;
            for column in 0..37 {
                naive += matrix.row(row)[column] * input[token * 37 + column];
            }
            assert_close(output[token * 5 + row], naive);
        }
    }

    #[test]
    fn probabilities_sum_to_one_even_for_scores_that_overflow() {
        let mut scores = vec![1000.0, 999.0, -1000.0, 0.0];
        softmax(&mut scores);
        assert_close(scores.iter().sum(), 1.0);
        assert_close(scores[0] / scores[1], 1f32.exp());
    }

    #[test]
    fn rotation_keeps_norms() {
        let before = Random::new(4).fill(3 * 8, 1.0);
        let mut after = before.clone();
        Rope::new(8).rotate(&mut after, 17);
        assert_ne!(before, after);
        before.chunks(8).zip(after.chunks(8)).for_each(|(before, after)| {
            assert_close(dot(before, before), dot(after, after));
        });
    }

    #[test]
    fn rotated_products_depend_on_the_distance_alone() {
        let (rope, mut random) = (Rope::new(8), Random::new(5));
        let (query, key) = (random.fill(8, 1.0), random.fill(8, 1.0));
        let product_at = |query_position, key_position| {
            let (mut query, mut key) = (query.clone(), key.clone());
            rope.rotate(&mut query, query_position);
            rope.rotate(&mut key, key_position);
            dot(&query, &key)
        };
        assert_close(product_at(7, 4), product_at(23, 20));
    }

    #[test]
    fn a_normed_row_has_a_mean_square_of_one() {
        for row in rms_norm(&Random::new(6).fill(2 * 64, 5.0), 64).chunks(64) {
            assert_close(dot(row, row) / 64.0, 1.0);
        }
    }
}
