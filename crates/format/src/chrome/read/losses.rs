//! All that could not be read of a file.

use super::loss::Loss;

/// How many losses are kept with their places and reasons; all are counted.
const LOSSES_KEPT: usize = 1000;

/// The losses of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// The first thousand.
    pub first: Vec<Loss>,
    /// How many there are.
    pub n: u64,
    /// How many bytes were passed over.
    pub n_bytes: u64,
}

impl Losses {
    /// Adds one.
    pub fn push(&mut self, loss: Loss) {
        self.n += 1;
        self.n_bytes += loss.n_bytes;
        if self.first.len() < LOSSES_KEPT {
            self.first.push(loss);
        }
    }

    /// Adds those of a later part of the file.
    pub fn append(&mut self, later: Self) {
        self.n += later.n;
        self.n_bytes += later.n_bytes;
        let n_free = LOSSES_KEPT - self.first.len();
        self.first.extend(later.first.into_iter().take(n_free));
    }
}
