//! What of a ring, or of one file of several, has its beginning in it: of other things, the beginning was overwritten, or is in the
//! file before.

use super::dictionary::{Dictionary, Site};
use super::layout::chunk;
use super::open_asyncs::{AsyncKey, async_key};
use super::progress::{Piece, read_chunk_into};
use super::record::{Record, RecordKind, SITE_INLINE};
use crate::{Error, ReadAt};
use std::collections::HashSet;

/// The beginnings of asynchronous things and of flows in a ring.
#[derive(Debug, Default)]
pub struct Begun {
    asyncs: HashSet<AsyncKey>,
    flows: HashSet<u64>,
    /// The first tick that is in the ring.
    pub first_tick: u64,
}

impl Begun {
    /// Nothing yet.
    pub fn new() -> Self {
        Self { first_tick: u64::MAX, ..Self::default() }
    }

    /// Reads all events of some pieces once.
    pub fn find<R: ReadAt + ?Sized>(
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

    /// Whether an asynchronous thing, of which this is an event, began in the ring. Of those whose names are in the event itself nothing is known.
    pub fn has_async(&self, site: &Site, record: &Record<'_>) -> bool {
        record.site == SITE_INLINE || self.asyncs.contains(&async_key(site, record))
    }

    /// Whether a flow began in the ring.
    pub fn has_flow(&self, id: u64) -> bool {
        self.flows.contains(&id)
    }

    fn read(&mut self, whole: &[u8], dictionary: &Dictionary) {
        let mut at = 8 * chunk::HEADER_WORDS;
        // Damage is told when the events are written.
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
