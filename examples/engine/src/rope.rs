//! Rotary embeddings.

use crate::config::Config;
use candle_core::{Device, Result, Tensor};
use candle_nn::rotary_emb::rope_thd;

/// Sines and cosines of all positions.
#[derive(Debug)]
pub struct Rope {
    cos: Tensor,
    sin: Tensor,
}

/// Sines and cosines of some tokens.
#[derive(Debug)]
pub struct Angles {
    cos: Tensor,
    sin: Tensor,
}

impl Rope {
    pub fn new(config: &Config, n_positions: usize) -> Result<Self> {
        let half = config.head_size() / 2;
        let speed = |n: usize| config.rope_theta.powf(-(n as f64) / half as f64);
        let angles: Vec<f64> = (0..n_positions * half).map(|n| (n / half) as f64 * speed(n % half)).collect();
        let table = |of: fn(f64) -> f64| {
            let numbers: Vec<f32> = angles.iter().map(|&angle| of(angle) as f32).collect();
            Tensor::from_vec(numbers, (n_positions, half), &Device::Cpu)
        };
        Ok(Self { cos: table(f64::cos)?, sin: table(f64::sin)? })
    }

    pub fn at(&self, positions: &Tensor) -> Result<Angles> {
        Ok(Angles { cos: self.cos.index_select(positions, 0)?, sin: self.sin.index_select(positions, 0)? })
    }
}

impl Angles {
    /// Rotates the heads of each row by the angles of its position.
    pub fn turn(&self, x: &Tensor, n_heads: usize) -> Result<Tensor> {
        let (n_rows, width) = x.dims2()?;
        let heads = x.reshape((1, n_rows, n_heads, width / n_heads))?;
        rope_thd(&heads, &self.cos, &self.sin)?.reshape((n_rows, width))
    }
}
