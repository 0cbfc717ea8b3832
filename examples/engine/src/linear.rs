//! Matrix products with weights.

use candle_core::{Result, Tensor};

/// A matrix of weights, with one row per output.
#[derive(Debug)]
pub struct Linear {
    weight: Tensor,
}

impl Linear {
    pub fn new(weight: Tensor) -> Self {
        Self { weight }
    }

    /// Number of columns of a result.
    pub fn n_out(&self) -> usize {
        self.weight.dims().first().copied().unwrap_or(0)
    }

    /// Number of columns of an input.
    pub fn n_in(&self) -> usize {
        self.weight.dims().last().copied().unwrap_or(0)
    }

    /// Multiplies each row of `x`. The result has a column for each of them, which is the fastest layout.
    pub fn columns(&self, x: &Tensor) -> Result<Tensor> {
        if x.dim(0)? > 1 {
            return self.weight.matmul(&x.t()?);
        }
        // A product with a single row uses another algorithm with different rounding. Two rows avoid that, so that the
        // tokens of a request do not depend on the rest of the batch.
        let twice = Tensor::cat(&[x, x], 0)?;
        self.weight.matmul(&twice.t()?)?.narrow(1, 0, 1)?.contiguous()
    }

    /// The same with rows.
    pub fn rows(&self, x: &Tensor) -> Result<Tensor> {
        self.columns(x)?.t()?.contiguous()
    }
}
