//! All parts of a file that could not be read.

use super::loss::Loss;

/// Maximum number of losses that are kept with offset and reason; all are counted.
const LOSSES_KEPT: usize = 1000;

/// The losses of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// The first thousand losses.
    pub first: Vec<Loss>,
    /// Number of losses.
    pub n: u64,
    /// Number of skipped bytes.
    pub n_bytes: u64,
}

impl Losses {
    /// Adds a loss.
    pub fn push(&mut self, loss: Loss) {
        self.n += 1;
        self.n_bytes += loss.n_bytes;
        if self.first.len() < LOSSES_KEPT {
            self.first.push(loss);
        }
    }

    /// Adds the losses of a later piece of the file.
    pub fn append(&mut self, later: Self) {
        self.n += later.n;
        self.n_bytes += later.n_bytes;
        let n_free = LOSSES_KEPT - self.first.len();
        self.first.extend(later.first.into_iter().take(n_free));
    }
}
