//! A map from the values of an argument.

use ferrum_trace_model::{ArgColumn, ArgValue};
use hashbrown::HashMap;

/// Values by the value of an argument. Profilers number calls and kernels in order, and such numbers are an index here,
/// which is several times as fast as hashing them.
#[derive(Clone, Debug)]
pub(crate) struct ByArg<V> {
    /// The integer at index 0 of `dense`.
    first: u32,
    dense: Vec<Option<V>>,
    others: HashMap<ArgValue, V>,
}

/// Entries of the list per value of the argument that are worth their memory.
const ENTRIES_PER_VALUE: usize = 2;

impl<V: Clone> ByArg<V> {
    /// Creates an empty map for values of this column.
    pub(crate) fn new(column: Option<&ArgColumn>) -> Self {
        let values = || column.into_iter().flat_map(|column| &column.value);
        let integers = || values().filter_map(|&value| if let ArgValue::Integer(it) = value { Some(it) } else { None });
        let (first, last) = (integers().min().unwrap_or(0), integers().max().unwrap_or(0));
        let n_entries = (last - first) as usize + 1;
        let is_dense = n_entries <= ENTRIES_PER_VALUE * values().count();
        Self { first, dense: vec![None; if is_dense { n_entries } else { 0 }], others: HashMap::new() }
    }

    /// Sets the value for `key`.
    pub(crate) fn insert(&mut self, key: ArgValue, value: V) {
        match self.place(key).and_then(|place| self.dense.get_mut(place)) {
            Some(entry) => *entry = Some(value),
            None => {
                self.others.insert(key, value);
            }
        }
    }

    /// Returns the value for `key`.
    pub(crate) fn get(&self, key: ArgValue) -> Option<&V> {
        match self.place(key).and_then(|place| self.dense.get(place)) {
            Some(entry) => entry.as_ref(),
            None => self.others.get(&key),
        }
    }

    /// Returns all values, those of integers in order first.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.dense.iter().flatten().chain(self.others.values())
    }

    fn place(&self, key: ArgValue) -> Option<usize> {
        match key {
            ArgValue::Integer(number) => number.checked_sub(self.first).map(|place| place as usize),
            ArgValue::Text(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrum_trace_model::StringId;
    use proptest::prelude::*;

    fn column(value: &[ArgValue]) -> ArgColumn {
        ArgColumn { key: "correlation".to_owned(), order: (0..value.len() as u32).collect(), value: value.to_vec() }
    }

    fn value() -> impl Strategy<Value = ArgValue> {
        prop_oneof![
            (100_u32..120).prop_map(ArgValue::Integer),
            any::<u32>().prop_map(ArgValue::Integer),
            (0_u32..3).prop_map(|id| ArgValue::Text(StringId(id))),
        ]
    }

    proptest! {
        #[test]
        fn it_equals_a_hash_map(known in prop::collection::vec(value(), 0..40), inserted in prop::collection::vec((value(), 0..9), 0..40)) {
            let mut map = ByArg::new(Some(&column(&known)));
            let mut expected = HashMap::new();
            for &(key, value) in &inserted {
                map.insert(key, value);
                expected.insert(key, value);
            }
            for key in known.iter().copied().chain(inserted.iter().map(|&(key, _)| key)) {
                prop_assert_eq!(map.get(key), expected.get(&key));
            }
        }
    }

    #[test]
    fn consecutive_integers_are_an_index_and_distant_ones_are_not() {
        let integers = |numbers: &[u32]| column(&numbers.iter().copied().map(ArgValue::Integer).collect::<Vec<_>>());
        assert_eq!(ByArg::<()>::new(Some(&integers(&[7, 5, 6]))).dense.len(), 3);
        assert!(ByArg::<()>::new(Some(&integers(&[0, u32::MAX]))).dense.is_empty());
        assert!(ByArg::<()>::new(None).dense.is_empty());
    }
}
