//! Hashes that are the same in every run.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The same each time, so that the same input gives the same output.
pub(super) fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
