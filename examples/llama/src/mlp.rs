//! Each token by itself: the larger part of the weights.

use crate::math::{Matrix, silu_mul};
use crate::model::Config;
use crate::random::Random;
use ferrum_trace::span;

/// What one worker has of the MLP of one layer: some of the hidden numbers, with all that goes in and out of them.
#[derive(Debug)]
pub struct Shard {
    width: usize,
    gate: Matrix,
    up: Matrix,
    down: Matrix,
}

impl Shard {
    /// One of `n_shards`, with random weights.
    pub fn random(config: &Config, n_shards: usize, random: &mut Random) -> Self {
        let (width, hidden) = (config.width, config.hidden / n_shards);
        let [gate, up] = [(); 2].map(|()| Matrix::random(hidden, width, random));
        Self { width, gate, up, down: Matrix::random(width, hidden, random) }
    }

    /// Its part of the sum that the MLP is.
    pub fn apply(&self, input: &[f32]) -> Vec<f32> {
        let m = input.len() / self.width;
        let (mut gate, up) = {
            let _span = span!("gate_up_proj", "gemm", m, n = 2 * self.gate.rows(), k = self.width);
            (self.gate.apply(input), self.up.apply(input))
        };
        {
            let _span = span!("silu_mul", "act");
            silu_mul(&mut gate, &up);
        }
        let _span = span!("down_proj", "gemm", m, n = self.width, k = self.gate.rows());
        self.down.apply(&gate)
    }
}
