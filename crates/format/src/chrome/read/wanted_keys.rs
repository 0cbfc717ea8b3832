//! Keys of the arguments to keep.

/// Keys of the arguments to keep, with a quick test for the others: most arguments of a file are not wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WantedKeys<'w> {
    keys: &'w [String],
    /// Bit [`filter_bit`] of each key is set.
    filter: u64,
}

impl<'w> WantedKeys<'w> {
    pub(super) fn new(keys: &'w [String]) -> Self {
        Self { keys, filter: keys.iter().fold(0, |filter, key| filter | filter_bit(key.as_bytes())) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    #[inline]
    pub(super) fn contains(&self, key: &[u8]) -> bool {
        self.filter & filter_bit(key) != 0 && self.keys.iter().any(|wanted| wanted.as_bytes() == key)
    }
}

/// Returns a bit that depends on the length and the first byte of a key.
#[inline]
fn filter_bit(key: &[u8]) -> u64 {
    let first = key.first().copied().unwrap_or(0);
    1 << ((key.len() * 7 + usize::from(first)) % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_wanted_keys_are_contained() {
        let keys = ["correlation", "layer", "", "External id"].map(str::to_owned);
        let wanted = WantedKeys::new(&keys);
        assert!(keys.iter().all(|key| wanted.contains(key.as_bytes())));
        assert!(["Correlation", "laye", "layers", "External_id"].iter().all(|key| !wanted.contains(key.as_bytes())));
        assert!(!WantedKeys::default().contains(b"") && WantedKeys::default().is_empty());
    }
}
