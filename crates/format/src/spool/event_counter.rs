//! Counts the events of a growing spool.

use super::diagnostic::events_max;
use super::layout::{CHUNK_BYTES, chunk};
use super::progress::{Piece, Progress, missing_bytes, read_chunk_into};
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
            self.n_events += self.count_piece(piece, &bytes);
        }
        self.progress.summary(source, self.n_events)
    }

    /// Counts the events of a piece that the trace will have: those whose thread and name are defined.
    fn count_piece(&mut self, piece: Piece, bytes: &[u8]) -> u64 {
        let start = piece.chunk * CHUNK_BYTES as u64;
        let whole = &bytes[..piece.to.min(bytes.len())];
        if whole.len() < piece.to {
            let n_missing = piece.to - whole.len();
            let end = start + whole.len() as u64;
            self.progress.damage.add_missing(end, events_max(n_missing), missing_bytes(n_missing));
        }
        let mut at = 8 * chunk::HEADER_WORDS;
        let (mut has_thread, mut n_events) = (false, 0);
        while at < whole.len() {
            let is_new = at >= piece.from;
            let record = match Record::read(&whole[at..]) {
                Ok(record) => record,
                Err(bad) => {
                    if is_new {
                        let n_missing = events_max(whole.len() - at);
                        let message = format!("{}; the rest of the chunk was skipped: up to {n_missing} events", bad.0);
                        self.progress.damage.add_missing(start + at as u64, n_missing, message);
                    }
                    break;
                }
            };
            at += record.size;
            if record.kind == RecordKind::Segment {
                has_thread = self.progress.dictionary.thread(record.thread()).is_some();
            } else if has_thread && is_new && record.is_event() {
                n_events += u64::from(self.has_name(record.site));
            }
        }
        n_events
    }

    fn has_name(&self, site: u32) -> bool {
        let dictionary = &self.progress.dictionary;
        site == SITE_INLINE || dictionary.site(site).is_some() || dictionary.overwritten_name(site).is_some()
    }
}
