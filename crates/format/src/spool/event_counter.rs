//! Counts the events of a growing spool.

use super::layout::{CHUNK_BYTES, chunk};
use super::progress::{Piece, Progress, missing_bytes, read_chunk_into};
use super::record::{Record, RecordKind};
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

    fn count_piece(&mut self, piece: Piece, bytes: &[u8]) -> u64 {
        let start = piece.chunk * CHUNK_BYTES as u64;
        let whole = &bytes[..piece.to.min(bytes.len())];
        if whole.len() < piece.to {
            self.progress.damage.add(start + whole.len() as u64, missing_bytes(piece.to - whole.len()));
        }
        let mut at = piece.from.max(8 * chunk::HEADER_WORDS);
        let mut n_events = 0;
        while at < whole.len() {
            let record = match Record::read(&whole[at..]) {
                Ok(record) => record,
                Err(bad) => {
                    self.progress
                        .damage
                        .add(start + at as u64, format!("{}; the rest of the chunk was skipped", bad.0));
                    break;
                }
            };
            at += record.size;
            let is_event = !matches!(record.kind, RecordKind::Segment | RecordKind::Text | RecordKind::LongDuration);
            n_events += u64::from(is_event);
        }
        n_events
    }
}
