//! Keys of the arguments to keep.

/// Keys of the arguments to keep, with a quick test for the others: most arguments of a file are not wanted.
#[derive(Clone, Debug, Default)]
pub(super) struct WantedKeys<'w> {
    keys: &'w [String],
    /// Bit [`filter_bit`] of each key is set.
    filter: u64,
    /// Indices of the keys by [`filter_bit`], the first of equal keys only.
    by_bit: Vec<Vec<u32>>,
}

impl<'w> WantedKeys<'w> {
    pub(super) fn new(keys: &'w [String]) -> Self {
        let (mut filter, mut by_bit) = (0, vec![Vec::new(); u64::BITS as usize]);
        for (index, key) in keys.iter().enumerate() {
            let bit = filter_bit(key.as_bytes());
            filter |= 1 << bit;
            if !keys[..index].contains(key) {
                by_bit[bit as usize].push(index as u32);
            }
        }
        Self { keys, filter, by_bit }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the index of a key, if it is wanted; of equal keys that of the first.
    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> Option<u32> {
        let bit = filter_bit(key);
        if self.filter & 1 << bit == 0 {
            return None;
        }
        self.by_bit[bit as usize].iter().copied().find(|&index| self.keys[index as usize].as_bytes() == key)
    }
}

/// Returns the number of a bit that depends on the length and the first byte of a key.
#[inline]
fn filter_bit(key: &[u8]) -> u32 {
    let first = key.first().copied().unwrap_or(0);
    ((key.len() * 7 + usize::from(first)) % 64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_wanted_keys_are_found() {
        let keys = ["correlation", "layer", "", "External id", "layer"].map(str::to_owned);
        let wanted = WantedKeys::new(&keys);
        let found = keys.each_ref().map(|key| wanted.find(key.as_bytes()));
        assert_eq!(found, [Some(0), Some(1), Some(2), Some(3), Some(1)]);
        let others = ["Correlation", "laye", "layers", "External_id", "reyal"];
        assert_eq!(others.map(|key| wanted.find(key.as_bytes())), [None; 5]);
        assert!(WantedKeys::default().find(b"").is_none() && WantedKeys::default().is_empty());
    }

    #[test]
    fn keys_with_the_same_filter_bit_are_told_apart() {
        let keys: Vec<String> = (0..200).map(|n| format!("key {n}")).collect();
        let wanted = WantedKeys::new(&keys);
        for (key, index) in keys.iter().zip(0..) {
            assert_eq!(wanted.find(key.as_bytes()), Some(index));
        }
    }
}
