//! Names that are defined in chunks of events of a ring.

use super::definition::Definition;
use super::dictionary::{Dictionary, Site};
use crate::ReadAt;
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes that contain every such definition: the recorder defines only shorter names in this way.
const DEFINITION_BYTES_MAX: usize = 2048;
/// Maximum number of names that are kept for the next events.
const KEPT_MAX: usize = 1024;

/// Reads names, and keeps the latest ones.
pub(crate) struct ChunkNames<'a, R: ?Sized> {
    source: &'a R,
    kept: HashMap<u64, Arc<Site>>,
}

impl<'a, R: ReadAt + ?Sized> ChunkNames<'a, R> {
    pub(crate) fn new(source: &'a R) -> Self {
        Self { source, kept: HashMap::new() }
    }

    /// Returns the name of an event of a thread that began at `start` in ticks, if a chunk defines it.
    pub(crate) fn find(&mut self, dictionary: &Dictionary, id: u32, thread: u32, start: u64) -> Option<Arc<Site>> {
        let offset = dictionary.name_in_chunk(id, thread, start)?;
        if let Some(known) = self.kept.get(&offset) {
            return Some(Arc::clone(known));
        }
        let mut bytes = [0; DEFINITION_BYTES_MAX];
        let n_bytes = self.source.read_at(&mut bytes, offset).ok()?;
        // In a spool that is being recorded, the chunk may have been overwritten since.
        let Ok((Some(Definition::Site { id: found, name, category, keys }), _)) = Definition::read(&bytes[..n_bytes])
        else {
            return None;
        };
        if found != id {
            return None;
        }
        if self.kept.len() >= KEPT_MAX {
            self.kept.clear();
        }
        let site = Arc::new(Site::new(&name, &category, &keys));
        self.kept.insert(offset, Arc::clone(&site));
        Some(site)
    }
}
