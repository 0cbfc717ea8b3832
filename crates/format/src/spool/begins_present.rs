//! Async events and flows whose begin is in this spool. In a ring, begins may be overwritten; in a part of a rotating
//! recording, they may be in an earlier part.

use super::dictionary::{Dictionary, Site};
use super::layout::chunk;
use super::open_asyncs::{AsyncKey, async_key};
use super::progress::{Piece, read_chunk_into};
use super::record::{Record, RecordKind, SITE_INLINE};
use crate::{Error, ReadAt};
use std::collections::HashSet;

/// The begins of async events and flows in a spool.
#[derive(Debug, Default)]
pub(crate) struct BeginsPresent {
    asyncs: HashSet<AsyncKey>,
    flows: HashSet<u64>,
    /// The first tick in the spool.
    pub first_tick: u64,
}

impl BeginsPresent {
    /// Creates an empty set.
    pub(crate) fn new() -> Self {
        Self { first_tick: u64::MAX, ..Self::default() }
    }

    /// Adds the begins in some pieces.
    pub(crate) fn find<R: ReadAt + ?Sized>(
        &mut self,
        source: &R,
        pieces: &[Piece],
        dictionary: &Dictionary,
    ) -> Result<(), Error> {
        let mut bytes = Vec::new();
        for piece in pieces {
            read_chunk_into(source, piece.chunk, &mut bytes)?;
            self.read(&bytes[..piece.to.min(bytes.len())], dictionary);
        }
        Ok(())
    }

    /// Returns true if the async event of this record begins in the spool. Always true if the record carries its own
    /// name, since these are not tracked.
    pub(crate) fn has_async(&self, site: &Site, record: &Record<'_>) -> bool {
        record.site == SITE_INLINE || self.asyncs.contains(&async_key(site, record))
    }

    /// Returns true if a flow begins in the spool.
    pub(crate) fn has_flow(&self, id: u64) -> bool {
        self.flows.contains(&id)
    }

    fn read(&mut self, whole: &[u8], dictionary: &Dictionary) {
        let mut at = 8 * chunk::HEADER_WORDS;
        // Damage is reported when the events are written.
        while let Some(Ok(record)) = whole.get(at..).filter(|rest| !rest.is_empty()).map(Record::read) {
            at += record.size;
            match record.kind {
                RecordKind::Segment => self.first_tick = self.first_tick.min(record.leading(0)),
                RecordKind::FlowStart => drop(self.flows.insert(record.leading(0))),
                RecordKind::AsyncBegin => {
                    if let Some(site) = dictionary.site(record.site) {
                        self.asyncs.insert(async_key(site, &record));
                    }
                }
                _ => {}
            }
        }
    }
}
