//! Products with weights.

use candle_core::{Result, Tensor};

/// A matrix of weights: one row for each number that comes out.
#[derive(Debug)]
pub struct Linear {
    weight: Tensor,
}

impl Linear {
    pub fn new(weight: Tensor) -> Self {
        Self { weight }
    }

    /// Multiplies each row of `x`. What comes out has a column for each of them: this way around it is fastest.
    pub fn columns(&self, x: &Tensor) -> Result<Tensor> {
        if x.dim(0)? > 1 {
            return self.weight.matmul(&x.t()?);
        }
        // A product with a single row takes another way and rounds otherwise. This one does not, so that what a request gets
        // does not depend on who else is in the batch.
        let twice = Tensor::cat(&[x, x], 0)?;
        self.weight.matmul(&twice.t()?)?.narrow(1, 0, 1)?.contiguous()
    }

    /// The same with rows.
    pub fn rows(&self, x: &Tensor) -> Result<Tensor> {
        self.columns(x)?.t()?.contiguous()
    }
}
