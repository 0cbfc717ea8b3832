//! Fields around the list of events in a file, in the spelling of the file.

use ferrum_trace_format::chrome::read::Text;
use hashbrown::HashMap;

/// Default limit of bytes that are kept.
const BYTES_MAX: usize = 1 << 20;

/// Fields of the object around the list of events, up to a size limit.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    /// Keys, without quotes, and values, as JSON.
    pub kept: Vec<(Vec<u8>, Vec<u8>)>,
    /// Number of fields beyond the limit.
    pub n_lost: u64,
    bytes_left: usize,
    /// Index of the first field of each key in `kept`.
    places: HashMap<Vec<u8>, usize>,
}

impl Default for Fields {
    fn default() -> Self {
        Self::within(BYTES_MAX)
    }
}

impl Fields {
    /// Creates an empty list. Keys and values may take `bytes_max` bytes.
    pub(crate) fn within(bytes_max: usize) -> Self {
        Self { kept: Vec::new(), n_lost: 0, bytes_left: bytes_max, places: HashMap::new() }
    }

    /// Adds a field.
    pub(crate) fn push(&mut self, key: Text<'_>, value: &[u8]) {
        match self.bytes_left.checked_sub(key.raw.len() + value.len()) {
            Some(bytes_left) => {
                self.bytes_left = bytes_left;
                self.places.entry(key.raw.to_vec()).or_insert(self.kept.len());
                self.kept.push((key.raw.to_vec(), value.to_vec()));
            }
            None => self.n_lost += 1,
        }
    }

    /// Returns the value of a key, both in the spelling of the file.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.places.get(key).map(|&place| &self.kept[place].1[..])
    }
}
