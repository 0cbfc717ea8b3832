//! What stands around the list of events in a file, kept as the file spells it.

use ferrum_trace_format::chrome::read::Text;
use hashbrown::HashMap;

/// Number of bytes that are kept if nobody says.
const BYTES_MAX: usize = 1 << 20;

/// Fields of the object around the list of events, as many as there is room for.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    /// Keys, without quotes, and values, as JSON.
    pub kept: Vec<(Vec<u8>, Vec<u8>)>,
    /// Number of there that was no room for.
    pub n_lost: u64,
    bytes_left: usize,
    /// The places of the keys in `kept`, the first of each.
    places: HashMap<Vec<u8>, usize>,
}

impl Default for Fields {
    fn default() -> Self {
        Self::within(BYTES_MAX)
    }
}

impl Fields {
    /// None yet. Keys and values may take that many bytes.
    pub(crate) fn within(bytes_max: usize) -> Self {
        Self { kept: Vec::new(), n_lost: 0, bytes_left: bytes_max, places: HashMap::new() }
    }

    /// Keeps one.
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

    /// The value of a key, as the file spells both.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.places.get(key).map(|&place| &self.kept[place].1[..])
    }
}
