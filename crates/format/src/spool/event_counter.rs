//! Counts the events of a growing spool.

use super::dictionary::Dictionary;
use super::layout::chunk;
use super::progress::{Piece, Progress, read_chunk_into};
use super::record::{Record, RecordKind, SITE_INLINE};
use super::summary::Summary;
use crate::{Error, ReadAt};

/// Counts the events of a spool without writing them anywhere.
#[derive(Debug)]
pub struct EventCounter {
    progress: Progress,
    n_events: u64,
}

impl EventCounter {
    /// Creates a counter and checks that `source` is a spool.
    pub fn open<R: ReadAt + ?Sized>(source: &R) -> Result<Self, Error> {
        Ok(Self { progress: Progress::start(source)?, n_events: 0 })
    }

    /// Returns the facts about the spool so far. Each call reads only the part that is new since the last one.
    pub fn summary<R: ReadAt + ?Sized>(&mut self, source: &R) -> Result<Summary, Error> {
        let mut bytes = Vec::new();
        for piece in self.progress.advance(source, || ())? {
            read_chunk_into(source, piece.chunk, &mut bytes)?;
            self.n_events += count_piece(piece, &bytes, &self.progress.dictionary);
        }
        self.progress.summary(source, self.n_events)
    }
}

/// Counts the events of a piece that the trace will have: those whose thread and name are defined.
fn count_piece(piece: Piece, bytes: &[u8], dictionary: &Dictionary) -> u64 {
    let whole = &bytes[..piece.to.min(bytes.len())];
    let mut at = 8 * chunk::HEADER_WORDS;
    let (mut has_thread, mut n_events) = (false, 0);
    while let Some(Ok(record)) = whole.get(at..).filter(|rest| !rest.is_empty()).map(Record::read) {
        let is_new = at >= piece.from;
        at += record.size;
        if record.kind == RecordKind::Segment {
            has_thread = dictionary.thread(record.thread()).is_some();
        } else if has_thread && is_new && record.is_event() {
            let site = record.site;
            let is_named = dictionary.site(site).is_some() || dictionary.overwritten_name(site).is_some();
            n_events += u64::from(site == SITE_INLINE || is_named);
        }
    }
    n_events
}
