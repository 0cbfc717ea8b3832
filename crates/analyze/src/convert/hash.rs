//! Hashes that are the same in every run.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Returns a hash that is the same in every run, so that the same input gives the same output.
pub(super) fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
