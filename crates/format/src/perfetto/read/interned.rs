//! Texts that a sequence refers to by number.

use crate::perfetto::field::interned;
use crate::perfetto::wire::{Broken, Fields};
use std::collections::HashMap;

/// Maximum size of the texts of all sequences. The largest seen so far is a few megabytes.
pub(crate) const DEFINED_BYTES_MAX: usize = 96 << 20;
/// Size of a definition in addition to its text.
const DEFINITION_BYTES: usize = 64;

/// The texts of one sequence.
#[derive(Debug, Default)]
pub(crate) struct Interned {
    categories: HashMap<u64, Box<str>>,
    names: HashMap<u64, Box<str>>,
    annotation_names: HashMap<u64, Box<str>>,
    annotation_strings: HashMap<u64, Box<str>>,
    n_bytes: usize,
}

impl Interned {
    pub(crate) fn category(&self, id: u64) -> Option<&str> {
        self.categories.get(&id).map(|text| &**text)
    }

    pub(crate) fn name(&self, id: u64) -> Option<&str> {
        self.names.get(&id).map(|text| &**text)
    }

    pub(crate) fn annotation_name(&self, id: u64) -> Option<&str> {
        self.annotation_names.get(&id).map(|text| &**text)
    }

    pub(crate) fn annotation_string(&self, id: u64) -> Option<&str> {
        self.annotation_strings.get(&id).map(|text| &**text)
    }

    /// Returns the used size.
    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Reads an `InternedData`; returns the number of definitions that did not fit into `room`.
    pub(crate) fn define(&mut self, data: &[u8], mut room: usize) -> Result<u64, Broken> {
        let mut n_undefined = 0;
        let mut fields = Fields::new(data);
        while let Some((field, payload)) = fields.next()? {
            let table = match field {
                interned::EVENT_CATEGORIES => &mut self.categories,
                interned::EVENT_NAMES => &mut self.names,
                interned::ANNOTATION_NAMES => &mut self.annotation_names,
                interned::ANNOTATION_STRINGS => &mut self.annotation_strings,
                _ => continue,
            };
            let (id, text) = definition(payload.bytes())?;
            let n_bytes = text.len() + DEFINITION_BYTES;
            if n_bytes > room {
                n_undefined += 1;
                continue;
            }
            room -= n_bytes;
            self.n_bytes += n_bytes;
            table.insert(id, text.into());
        }
        Ok(n_undefined)
    }
}

fn definition(data: &[u8]) -> Result<(u64, String), Broken> {
    let (mut id, mut text) = (0, String::new());
    let mut fields = Fields::new(data);
    while let Some((field, payload)) = fields.next()? {
        match field {
            interned::IID => id = payload.number(),
            interned::TEXT => text = String::from_utf8_lossy(payload.bytes()).into_owned(),
            _ => {}
        }
    }
    Ok((id, text))
}
