//! The calibration points of a ring, in one chunk.
//!
//! Points are added for as long as the program runs. When the chunk is full, another one gets every second of the older
//! points and all recent ones, and the old chunk goes back to the ring. A reader that finds both ignores the points
//! that it knows already.

use crate::memory::segment::MappedChunk;
use crate::recording::definitions::append_to;
use ferrum_trace_format::spool::Definition;

/// Number of points at the start of a recording that are in the first chunk of the spool and stay there: the origin of
/// all times, and a second one for the rate of the clock.
const N_FIRST: u32 = 2;
/// Number of the latest points that a new chunk gets without exception.
const N_RECENT: usize = 64;

/// The calibration points after the first ones.
#[derive(Debug, Default)]
pub(super) struct PointLog {
    pub n_first: u32,
    chunk: Option<MappedChunk>,
    /// The points in the chunk, as ticks and nanoseconds.
    points: Vec<(u64, u64)>,
}

impl PointLog {
    /// Returns true if the next point is one of the first of the recording.
    pub(super) fn is_first_of_recording(&self) -> bool {
        self.n_first < N_FIRST
    }

    /// Adds a point. `fresh` returns another chunk; `retire` takes the one before. Returns `None` if there is no chunk.
    pub(super) fn add(
        &mut self,
        point: (u64, u64),
        retire: impl FnOnce(MappedChunk),
        fresh: impl FnOnce() -> Option<MappedChunk>,
    ) -> Option<()> {
        let is_added = self.chunk.as_ref().is_some_and(|chunk| write(chunk, point).is_some());
        if !is_added {
            let fresh = fresh()?;
            self.thin();
            self.points.iter().try_for_each(|&point| write(&fresh, point))?;
            write(&fresh, point)?;
            if let Some(before) = self.chunk.replace(fresh) {
                retire(before);
            }
        }
        self.points.push(point);
        Some(())
    }

    /// Removes every second of the older points.
    fn thin(&mut self) {
        let n_older = self.points.len().saturating_sub(N_RECENT);
        let mut n = 0;
        self.points.retain(|_| {
            n += 1;
            n > n_older || n % 2 == 0
        });
    }
}

fn write(chunk: &MappedChunk, (ticks, nanos): (u64, u64)) -> Option<()> {
    append_to(chunk, &Definition::Calibration { ticks, nanos }.to_bytes()).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::chunk::{self, ChunkMemory};
    use crate::memory::spool::Spool;
    use ferrum_trace_format::spool::layout::{CHUNK_BYTES, DEFINITIONS_MAGIC, chunk as words};
    use std::sync::atomic::Ordering;

    /// The times in ticks of the points in a chunk.
    fn ticks(chunk: &MappedChunk) -> Vec<u64> {
        let n_points = (chunk::len(chunk) as usize / 8 - words::HEADER_WORDS) / 3;
        (0..n_points).map(|n| chunk.load(words::HEADER_WORDS + 3 * n + 1, Ordering::Relaxed)).collect()
    }

    #[test]
    fn the_points_are_in_one_chunk_with_the_latest_ones_complete() {
        let spool = Spool::new(tempfile::tempfile().unwrap(), 1 << 20, None);
        let fresh = || {
            let chunk = spool.take_fresh().unwrap();
            chunk::activate(&chunk, DEFINITIONS_MAGIC, chunk.index(), words::HEADER_WORDS);
            Some(chunk)
        };
        let mut log = PointLog::default();
        let mut retired = Vec::new();
        let mut n_added = 0;
        while retired.len() < 3 {
            n_added += 1;
            log.add((n_added, n_added), |chunk| retired.push(chunk), fresh).unwrap();
            let kept = ticks(log.chunk.as_ref().unwrap());
            let n_latest = (n_added as usize).min(N_RECENT);
            let first_of_latest = n_added + 1 - n_latest as u64;
            assert!(kept.is_sorted() && kept.len() >= n_latest);
            assert!(kept[kept.len() - n_latest..].iter().copied().eq(first_of_latest..=n_added));
        }
        let n_full = (CHUNK_BYTES - 8 * words::HEADER_WORDS) / 24;
        assert!(retired.iter().all(|chunk| ticks(chunk).len() == n_full), "a chunk was retired before it was full");
        // Older points are thinned out, not cut off.
        let kept = ticks(log.chunk.as_ref().unwrap());
        assert!(kept[0] < n_added / 8 && kept.len() < n_full);
    }

    #[test]
    fn a_point_without_a_chunk_is_left_out() {
        let mut log = PointLog::default();
        assert_eq!(log.add((1, 1), |_| panic!("there is no chunk to retire"), || None), None);
        assert!(log.points.is_empty());
    }
}
